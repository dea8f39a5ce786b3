/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of packets in the registers of PG332, with the values seen on hardware.
 */
#include "qemu/osdep.h"
#include "pg332_card.h"

/*
 * Register values that were read on hardware (3.1, 32 queue pairs, peers set up by
 * RecoNIC's library with SQPSN abd).
 */
CARDS_TEST("/pg332-count/observed-read", PG332_V3_1, test_observed_read)
{
    put_qp(a, PG332_SQPSN, 0xabd);
    put_qp(b, PG332_LSTRQREQ, 0x0a000abc);
    POST(a, READ, 64);
    fake_run(a->e);                     /* and no answer */
    READS(a, REG(OUTIOPKTCNT, 0x00010000), REG(LSTOUTPKT, 0x0157a204),
             REG(QPMSTS, 0x00010002), REG(WQEPROCSTS, 0x01012040),
             REG(RESPHNDSTS, 0x00030202), REG(INTSTS, 0));
}

CARDS_TEST("/pg332-count/counters", PG332_V3_1, test_counters)
{
    DO(a, SEND, 300);
    DO(a, WRITE, 0x2100);
    DO(a, READ, 0x2100);
    READS(a, REG(OUTIOPKTCNT, 4 << 16 | 1), REG(INAMPKTCNT, 2), REG(INSRRPKTCNT, 3 << 16),
             REG(INALLDRPPKTCNT, 5), REG(QPMSTS, 3 << 16 | 2));
    IS(get(a, PG332_LSTINPKT) & 0x1fff, QPN << 8 | 5);
    READS(b, REG(INSRRPKTCNT, 1), REG(OUTAMPKTCNT, 2), REG(OUTRDRSPPKTCNT, 3),
             REG(INALLDRPPKTCNT, 5), REG_BITS(LSTINPKT, 0x1fff, QPN << 8 | READ));
}

/* Status of the pipeline, now and sticky. */
CARDS_TEST("/pg332-count/pipeline", PG332_V4_2, test_pipeline)
{
    static const Wqe write = { .opcode = WRITE, .len = 0x2000, .rkey = KEY, .raddr = VA };
    Wqe w = write;

    put(a, PG332_XRNICCONF, 0);
    IS(get(a, PG332_WQEPROCSTS), 0);
    put(a, PG332_XRNICCONF, 0x0012b721);
    IS(get(a, PG332_WQEPROCSTS), PG332_WQEPROC_EMPTY);
    IS(get(a, PG332_RESPHNDSTS), PG332_RESPHND_PTR_DONE);

    /* A link that accepts no packet: one train is held, the rest waits. */
    a->env.tx_busy = true;
    w.laddr = a->mem;
    for (uint32_t i = 0; i < 3; i++) {
        card_wqe(a, w);
    }
    card_ring(a);
    fake_run(a->e);
    IS(get(a, PG332_WQEPROCSTS) & 0xffff, PG332_WQEPROC_BUSY | PG332_WQEPROC_HEADER |
       PG332_WQEPROC_PRESSED);
    g_assert_cmphex(get(a, PG332_WQEPROCSTS) >> 24, >,
                    get(a, PG332_WQEPROCSTS) >> 16 & 0xff);
    fake_tx_ready(a->e);
    settle();
    check_done(a, 3);
    READS(a, REG(WQEPROCSTS, 0x06060000 | PG332_WQEPROC_EMPTY | PG332_WQEPROC_PRESSED),
             REG(QPMSTS, 3 << 16 | PG332_QPM_CACHE_EMPTY));

    /* Under recovery, the pointer moves until all posted requests have ended. */
    POST(a, WRITE, 64);
    fake_run(a->e);
    put_qp(a, PG332_QPCONF, QPCONF | PG332_QPCONF_RECOVERY);
    IS(get(a, PG332_RESPHNDSTS) & PG332_RESPHND_PTR_DONE, 0);
    fake_run(a->e);
    IS(get(a, PG332_RESPHNDSTS), PG332_RESPHND_PTR_DONE);
    fake_lose_trains(&a->env);
}

/* Post as many requests as may be outstanding, and more after them. */
CARD_TEST("/pg332-count/window", PG332_V3_1, test_window)
{
    enum { MANY = 64 };

    card_fill_sq(c, MANY, (Wqe) { .opcode = SEND, .laddr = c->mem, .len = 64 });
    put_qp(c, PG332_SQPI, 15);
    fake_run(c->e);
    IS(get(c, PG332_WQEPROCSTS) & PG332_WQEPROC_NO_BUFFER, 0);
    IS(get_qp(c, PG332_STATQP) & PG332_STATQP_OSQ_FULL, 0);
    put_qp(c, PG332_SQPI, 16);
    fake_run(c->e);
    g_assert_cmphex(get_qp(c, PG332_STATQP) & PG332_STATQP_OSQ_FULL, !=, 0);
    IS(get(c, PG332_QPMSTS), 16 << 16 | PG332_QPM_CACHE_EMPTY);
    g_assert_cmphex(get(c, PG332_WQEPROCSTS) & PG332_WQEPROC_NO_BUFFER, !=, 0);
    put_qp(c, PG332_SQPI, 17);
    fake_run(c->e);
    IS(get(c, PG332_QPMSTS), 17 << 16);
    put_qp(c, PG332_SQPI, MANY);
    fake_run(c->e);
    IS(get(c, PG332_QPMSTS), 17 << 16 | PG332_QPM_CACHE_FULL);
    fake_lose_trains(&c->env);
}

/* Entries as XRNICCONF selects them: the syndrome, then the packet's headers. */
CARDS_TEST("/pg332-count/error-buffer", PG332_V3_1, test_error_buffer)
{
    FakeTrain *train, *again;
    uint64_t ring = card_errors(b, 2, 128);

    POST(a, SEND, 300);
    fake_run(a->e);
    train = fake_take_train(&a->env);
    ((uint8_t *)train->train.data)[20] ^= 1;
    ernic_rx(b->e, b->env.now, &train->train);
    IS(card_word(b, ring), 1u << 30);           /* ICRC */
    READS(b, REG(ERRBUFWPTR, 1), REG(INTSTS, PG332_INT_VALIDATION), REG(ININVDUPCNT, 1),
             REG(INALLDRPPKTCNT, 1 << 16 | 1));
    /* Ethernet, IPv4, UDP; then the packet. */
    g_assert_cmpmem(fake_ptr(&b->env, ring + 4 + 42, 64), 64, train->train.data, 64);

    ((uint8_t *)train->train.data)[20] ^= 1;
    put_qp(b, PG332_LSTRQREQ, 0x0a000000 | ((PSN - 2) & 0xffffff));
    ernic_rx(b->e, b->env.now, &train->train);
    IS(card_word(b, ring + 128), 1u << 21);     /* sequence */
    IS(get(b, PG332_ERRBUFWPTR), 2);
    put_qp(b, PG332_QPCONF, 0);
    ernic_rx(b->e, b->env.now, &train->train);
    IS(card_word(b, ring), 1u << 15);           /* not enabled */
    IS(get(b, PG332_ERRBUFWPTR), 1);

    /* Without the bit it has only fatal errors: here none. */
    put(b, PG332_XRNICCONF, get(b, PG332_XRNICCONF) & ~PG332_CONF_ERRBUF);
    ernic_rx(b->e, b->env.now, &train->train);
    IS(get(b, PG332_ERRBUFWPTR), 1);
    WRITES(b, SLOT(QPCONF, QPCONF), SLOT(LSTRQREQ, 0x0a000000 | ((PSN - 1) & 0xffffff)),
              SLOT(QPCONF, QPCONF & ~PG332_QPCONF_ENABLE));
    put_qp(b, PG332_QPCONF, (QPCONF & ~PG332_QPCONF_PMTU));     /* 256 */
    again = train;
    ernic_rx(b->e, b->env.now, &again->train);
    IS(card_word(b, ring + 128), 1u << 19);     /* length */
    IS(get(b, PG332_ERRBUFWPTR), 2);
    fake_run(b->e);
    IS(card_word(b, b->errq), QPN << 16 | 0x02);
    g_assert_cmphex(get_qp(b, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);
    fake_train_free(train);
    fake_lose_trains(&b->env);
}
