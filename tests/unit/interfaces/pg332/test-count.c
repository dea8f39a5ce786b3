/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of packets in the registers of PG332, with the values seen on hardware.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "pg332_card.h"
#include "test.h"

/*
 * Register values that were read on hardware (3.1, 32 queue pairs, peers set up by
 * RecoNIC's library with SQPSN abd).
 */
TEST("/pg332-count/observed", test_observed)
{
    Card *a = &cards[0], *b = &cards[1];

    setup(PG332_V3_1);
    put_qp(a, PG332_SQPSN, 0xabd);
    put_qp(b, PG332_LSTRQREQ, 0x0a000abc);
    POST(a, .opcode = READ, .laddr = a->mem, .len = 64, .rkey = KEY, .raddr = VA);
    fake_run(a->e);                     /* and no answer */
    g_assert_cmphex(get(a, PG332_OUTIOPKTCNT), ==, 0x00010000);
    g_assert_cmphex(get(a, PG332_LSTOUTPKT), ==, 0x0157a204);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 0x00010002);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS), ==, 0x01012040);
    g_assert_cmphex(get(a, PG332_RESPHNDSTS), ==, 0x00030202);
    g_assert_cmphex(get(a, PG332_INTSTS), ==, 0);
    teardown();

    setup(PG332_V3_1);
    put_qp(a, PG332_SQPSN, 0xabd);
    put_qp(b, PG332_LSTRQREQ, 0x0a000abc);
    POST(a, .opcode = WRITE, .laddr = a->mem, .len = 64, .rkey = KEY, .raddr = VA);
    settle();
    POST(a, .opcode = WRITE, .laddr = a->mem, .len = 64, .rkey = KEY, .raddr = VA);
    fake_run(a->e);                     /* one of two is complete */
    g_assert_cmphex(get(a, PG332_V3_CQINTSTS), ==, 0x4);
    g_assert_cmpuint(get_qp(a, PG332_CQHEAD), ==, 1);
    g_assert_cmpuint(get_qp(a, PG332_STATSSN), ==, 3);
    g_assert_cmpuint(get_qp(a, PG332_STATMSN), ==, 0);
    g_assert_cmphex(get_qp(a, PG332_STATQP), ==, 0x001f0200);
    g_assert_cmpuint(get_qp(a, PG332_STATCURSQPTR), ==, 2);
    g_assert_cmphex(get_qp(a, PG332_STATRESPSN), ==, 0xabe);
    g_assert_cmphex(get_qp(a, PG332_STATRQBUFCA), ==, (uint32_t)a->rq);
    teardown();
}

TEST("/pg332-count/counters", test_counters)
{
    Card *a = &cards[0], *b = &cards[1];

    setup(PG332_V3_1);
    POST(a, .opcode = SEND, .laddr = a->mem, .len = 300);
    settle();
    POST(a, .opcode = WRITE, .laddr = a->mem, .len = 0x2100, .rkey = KEY, .raddr = VA);
    settle();
    POST(a, .opcode = READ, .laddr = a->mem, .len = 0x2100, .rkey = KEY, .raddr = VA);
    settle();
    g_assert_cmphex(get(a, PG332_OUTIOPKTCNT), ==, 4 << 16 | 1);
    g_assert_cmphex(get(a, PG332_INAMPKTCNT), ==, 2);
    g_assert_cmphex(get(a, PG332_INSRRPKTCNT), ==, 3 << 16);
    g_assert_cmphex(get(a, PG332_INALLDRPPKTCNT), ==, 5);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 3 << 16 | 2);
    g_assert_cmphex(get(a, PG332_LSTINPKT) & 0x1fff, ==, QPN << 8 | 5);
    g_assert_cmphex(get(b, PG332_INSRRPKTCNT), ==, 1);
    g_assert_cmphex(get(b, PG332_OUTAMPKTCNT), ==, 2);
    g_assert_cmphex(get(b, PG332_OUTRDRSPPKTCNT), ==, 3);
    g_assert_cmphex(get(b, PG332_INALLDRPPKTCNT), ==, 5);
    g_assert_cmphex(get(b, PG332_LSTINPKT) & 0x1fff, ==, QPN << 8 | READ);
    teardown();
}

/* Status of the pipeline, now and sticky. */
TEST("/pg332-count/pipeline", test_pipeline)
{
    static const Wqe write = { .opcode = WRITE, .len = 0x2000, .rkey = KEY, .raddr = VA };
    Card *a = &cards[0];
    Wqe w = write;

    setup(PG332_V4_2);
    put(a, PG332_XRNICCONF, 0);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS), ==, 0);
    put(a, PG332_XRNICCONF, 0x0012b721);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS), ==, PG332_WQEPROC_EMPTY);
    g_assert_cmphex(get(a, PG332_RESPHNDSTS), ==, PG332_RESPHND_PTR_DONE);

    /* A link that accepts no packet: one train is held, the rest waits. */
    a->env.tx_busy = true;
    w.laddr = a->mem;
    for (uint32_t i = 0; i < 3; i++) {
        card_wqe(a, w);
    }
    card_ring(a);
    fake_run(a->e);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS) & 0xffff, ==, PG332_WQEPROC_BUSY |
                    PG332_WQEPROC_HEADER | PG332_WQEPROC_PRESSED);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS) >> 24, >,
                    get(a, PG332_WQEPROCSTS) >> 16 & 0xff);
    a->env.tx_busy = false;
    ernic_tx_ready(a->e, a->env.now);
    settle();
    check_done(a, 3);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS), ==, 0x06060000 |
                    PG332_WQEPROC_EMPTY | PG332_WQEPROC_PRESSED);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 3 << 16 | PG332_QPM_CACHE_EMPTY);

    /* Under recovery, the pointer moves until all posted requests have ended. */
    POST(a, .opcode = WRITE, .laddr = a->mem, .len = 64, .rkey = KEY, .raddr = VA);
    fake_run(a->e);
    put_qp(a, PG332_QPCONF, QPCONF | PG332_QPCONF_RECOVERY);
    g_assert_cmphex(get(a, PG332_RESPHNDSTS) & PG332_RESPHND_PTR_DONE, ==, 0);
    fake_run(a->e);
    g_assert_cmphex(get(a, PG332_RESPHNDSTS), ==, PG332_RESPHND_PTR_DONE);
    lose_all(a);
    teardown();
}

/* As many requests as may be outstanding, and more posted after them. */
TEST("/pg332-count/window", test_window)
{
    enum { MANY = 64 };
    Card *a = &cards[0];
    uint64_t sq;

    card_open(a, 0, PG332_V3_1);
    put_qp(a, PG332_QPCONF, 0);
    sq = fake_alloc(&a->env, MANY * 64, 256);
    for (uint32_t i = 0; i < MANY; i++) {
        uint8_t *slot = fake_ptr(&a->env, sq + i * 64, 64);

        stq_le_p(slot + 4, a->mem);
        stl_le_p(slot + 12, 64);
        slot[16] = SEND;
    }
    put_qp(a, PG332_SQBA, sq);
    put_qp(a, PG332_SQBAMSB, sq >> 32);
    put_qp(a, PG332_QDEPTH, DEPTH << 16 | MANY);
    put_qp(a, PG332_QPCONF, QPCONF & ~PG332_QPCONF_CQE);
    put_qp(a, PG332_SQPI, 15);
    fake_run(a->e);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS) & PG332_WQEPROC_NO_BUFFER, ==, 0);
    g_assert_cmphex(get_qp(a, PG332_STATQP) & PG332_STATQP_OSQ_FULL, ==, 0);
    put_qp(a, PG332_SQPI, 16);
    fake_run(a->e);
    g_assert_cmphex(get_qp(a, PG332_STATQP) & PG332_STATQP_OSQ_FULL, !=, 0);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 16 << 16 | PG332_QPM_CACHE_EMPTY);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS) & PG332_WQEPROC_NO_BUFFER, !=, 0);
    put_qp(a, PG332_SQPI, 17);
    fake_run(a->e);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 17 << 16);
    put_qp(a, PG332_SQPI, MANY);
    fake_run(a->e);
    g_assert_cmphex(get(a, PG332_QPMSTS), ==, 17 << 16 | PG332_QPM_CACHE_FULL);
    lose_all(a);
    card_close(a);
}

/* Entries as XRNICCONF selects them: the syndrome, then the packet's headers. */
TEST("/pg332-count/error-buffer", test_error_buffer)
{
    Card *a = &cards[0], *b = &cards[1];
    FakeTrain *train, *again;
    uint64_t ring;

    setup(PG332_V3_1);
    ring = fake_alloc(&b->env, 2 * 128, 256);
    put(b, PG332_ERRBUFBA, ring);
    put(b, PG332_ERRBUFBAMSB, ring >> 32);
    put(b, PG332_ERRBUFSZ, 128 << 16 | 2);
    POST(a, .opcode = SEND, .laddr = a->mem, .len = 300);
    fake_run(a->e);
    train = fake_take_train(&a->env);
    ((uint8_t *)train->train.data)[20] ^= 1;
    ernic_rx(b->e, b->env.now, &train->train);
    g_assert_cmphex(card_word(b, ring), ==, 1u << 30);           /* ICRC */
    g_assert_cmpuint(get(b, PG332_ERRBUFWPTR), ==, 1);
    g_assert_cmphex(get(b, PG332_INTSTS), ==, PG332_INT_VALIDATION);
    g_assert_cmphex(get(b, PG332_ININVDUPCNT), ==, 1);
    g_assert_cmphex(get(b, PG332_INALLDRPPKTCNT), ==, 1 << 16 | 1);
    /* Ethernet, IPv4, UDP; then the packet. */
    g_assert_cmpmem(fake_ptr(&b->env, ring + 4 + 42, 64), 64, train->train.data, 64);

    ((uint8_t *)train->train.data)[20] ^= 1;
    put_qp(b, PG332_LSTRQREQ, 0x0a000000 | ((PSN - 2) & 0xffffff));
    ernic_rx(b->e, b->env.now, &train->train);
    g_assert_cmphex(card_word(b, ring + 128), ==, 1u << 21);     /* sequence */
    g_assert_cmpuint(get(b, PG332_ERRBUFWPTR), ==, 2);
    put_qp(b, PG332_QPCONF, 0);
    ernic_rx(b->e, b->env.now, &train->train);
    g_assert_cmphex(card_word(b, ring), ==, 1u << 15);           /* not enabled */
    g_assert_cmpuint(get(b, PG332_ERRBUFWPTR), ==, 1);

    /* Without the bit, only fatal errors: here none. */
    put(b, PG332_XRNICCONF, get(b, PG332_XRNICCONF) & ~PG332_CONF_ERRBUF);
    ernic_rx(b->e, b->env.now, &train->train);
    g_assert_cmpuint(get(b, PG332_ERRBUFWPTR), ==, 1);
    put_qp(b, PG332_QPCONF, QPCONF);
    put_qp(b, PG332_LSTRQREQ, 0x0a000000 | ((PSN - 1) & 0xffffff));
    put_qp(b, PG332_QPCONF, QPCONF & ~PG332_QPCONF_ENABLE);
    put_qp(b, PG332_QPCONF, (QPCONF & ~PG332_QPCONF_PMTU));     /* 256 */
    again = train;
    ernic_rx(b->e, b->env.now, &again->train);
    g_assert_cmphex(card_word(b, ring + 128), ==, 1u << 19);     /* length */
    g_assert_cmpuint(get(b, PG332_ERRBUFWPTR), ==, 2);
    fake_run(b->e);
    g_assert_cmphex(card_word(b, b->errq), ==, QPN << 16 | 0x02);
    g_assert_cmphex(get_qp(b, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);
    fake_train_free(train);
    lose_all(b);
    teardown();
}
