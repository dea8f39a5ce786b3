/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers, queues and keys of PG332 on the engine, between two cards.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "pg332_card.h"
#include "transport/qp.h"

/* SEND, WRITE and READ, of one packet and of several. */
VERSIONS_TEST("/pg332/transfer", test_transfer)
{
    uint32_t cq_bank = a->version == PG332_V3_1 ? PG332_V3_CQINTSTS : PG332_V4_CQINTSTS;

    IS(get_qp(a, PG332_STATQP) & 0xffff, 0x600);
    card_fill(a, 0, 0x6000, 3);
    POST(a, SEND, 200);
    IS(get_qp(a, PG332_STATQP) & 0x600, 0x400);
    fake_run(a->e);
    IS(get_qp(a, PG332_STATQP) & 0x600, 0x200);
    settle();
    check_done(a, 1);
    check_received(b, 1);
    IS(card_cqe(a, 0), SEND << 16 | 0x100);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq, 200), 200, card_mem(a, 0), 200);
    IS(get_qp(a, PG332_STATQP) & 0xffff, 0x600);

    /* Five packets there and back again. */
    DO(a, WRITE, 0x4100, .raddr = VA + 0x1000);
    check_done(a, 2);
    check_received(b, 1);
    g_assert_cmpmem(card_mem(b, 0x1000), 0x4100, card_mem(a, 0), 0x4100);
    DO(a, READ, 0x4100, .laddr = a->mem + 0x8000, .raddr = VA + 0x1000);
    check_done(a, 3);
    IS(card_cqe(a, 2), READ << 16 | 0x102);
    g_assert_cmpmem(card_mem(a, 0x8000), 0x4100, card_mem(a, 0), 0x4100);

    READS(a, SLOT(SQPSN, (PSN + 1 + 5 + 5) & 0xffffff),
             SLOT(STATRESPSN, get_qp(a, PG332_SQPSN)), SLOT(STATSSN, 4));
    IS(get_qp(b, PG332_STATMSN), 3);
    IS(get_qp(a, PG332_STATCURSQPTR), 4);
    IS(get_qp(b, PG332_LSTRQREQ), 0x0a000000 | ((PSN + 10) & 0xffffff));

    /* Causes stay until 1 is written; each bank by itself. */
    IS(get(a, PG332_INTSTS), PG332_INT_COMPLETION);
    IS(get(b, PG332_INTSTS), PG332_INT_RECEIVE);
    IS(get(a, cq_bank), 1u << QPN);
    IS(get(b, PG332_V3_RQINTSTS), 1u << QPN);
    g_assert(ernic_irq_level(a->e));
    IS(a->env.irqs->len, 1);
    put(a, PG332_INTSTS, PG332_INT_RECEIVE);
    IS(a->env.irqs->len, 2);      /* it is still there */
    put(a, PG332_INTSTS, get(a, PG332_INTSTS));
    g_assert(!ernic_irq_level(a->e));
    put(a, cq_bank, 1u << QPN);
    IS(get(a, cq_bank), 0);
}

/* Inline bytes, immediate data, and the opcodes that consume a receive buffer. */
VERSIONS_TEST("/pg332/opcodes", test_opcodes)
{
    static const char sdata[16] = "inline payload!";

    card_fill(a, 0, 64, 9);
    POST(a, SEND, 16, .sdata = sdata);
    POST(a, SEND_IMM, 5, .imm = 7, .sdata = sdata);
    POST(a, SEND_INV, 17);
    POST(a, WRITE_IMM, 64, .imm = 8);
    POST(a, WRITE, 16, .raddr = VA + 256, .sdata = sdata);
    /* PG332 has no SEND of 0 bytes; here it is a message like any other. */
    DO(a, SEND, 0, .laddr = 0);
    check_done(a, 6);
    check_received(b, 4);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq, 16), 16, sdata, 16);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq + SLOT_BYTES, 5), 5, sdata, 5);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq + 2 * SLOT_BYTES, 17), 17,
                    card_mem(a, 0), 17);
    g_assert_cmpmem(card_mem(b, 0), 64, card_mem(a, 0), 64);
    g_assert_cmpmem(card_mem(b, 256), 16,
                    a->version == PG332_V4_0 ? (const void *)sdata : card_mem(a, 0), 16);
    IS(card_cqe(a, 2), SEND_INV << 16 | 0x102);
    IS(card_cqe(a, 3), WRITE_IMM << 16 | 0x103);
}

/* Indices run from 1 to the depth; a write of the same index posts no work. */
CARDS_TEST("/pg332/indices", PG332_V3_1, test_indices)
{
    for (uint32_t i = 0; i < DEPTH; i++) {
        card_wqe(a, (Wqe) { .opcode = SEND, .laddr = a->mem, .len = 32 });
    }
    card_ring(a);                            /* the first time: all of them */
    g_assert_cmphex(get_qp(a, PG332_STATQP) & PG332_STATQP_SQ_FULL, !=, 0);
    settle();
    check_done(a, DEPTH);
    check_received(b, DEPTH);
    card_ring(a);                            /* the same index again */
    settle();
    check_done(a, DEPTH);
    put_qp(b, PG332_RQCI, DEPTH);
    for (uint32_t i = DEPTH; i < 3 * DEPTH; i++) {
        DO(a, SEND, 32);
        check_done(a, i + 1);
        check_received(b, i + 1);
        IS(card_cqe(a, i), SEND << 16 | (0x100 + i));
        IS(get_qp(b, PG332_STATRQBUFCA),
           (uint32_t)(b->rq + (i + 1) % DEPTH * SLOT_BYTES));
        put_qp(b, PG332_RQCI, card_index(i + 1));
    }
    /* RecoNIC never wraps its index: it counts modulo the depth. */
    card_wqe(a, (Wqe) { .opcode = SEND, .laddr = a->mem, .len = 32 });
    put_qp(a, PG332_SQPI, 8 * DEPTH + 1);
    settle();
    check_done(a, 3 * DEPTH + 1);
}

/* Indices go on after 2^32 requests and messages: here soon after the first ones. */
CARDS_TEST("/pg332/many", PG332_V4_2, test_many)
{
    ErnicSendQueue *sq = &a->e->qp[QPN].sq;
    ErnicWq *rq = &b->e->qp[QPN].rq.wq;

    for (uint32_t i = 0; i < DEPTH - 2; i++) {
        DO(a, SEND, 32);
    }
    put_qp(b, PG332_RQCI, DEPTH - 2);
    sq->wq.pi -= DEPTH;
    sq->taken -= DEPTH;
    sq->wq.ci = sq->next = sq->started = sq->fetched = sq->wq.pi;
    rq->pi -= DEPTH;
    rq->ci -= DEPTH;
    DO(a, SEND, 32);
    IS(get_qp(a, PG332_STATCURSQPTR), DEPTH);
    check_done(a, DEPTH - 1);
    DO(a, SEND, 32);
    IS(sq->wq.ci, 0);
    IS(rq->ci, 0);
    check_done(a, DEPTH);
    check_received(b, DEPTH);
    put_qp(b, PG332_RQCI, DEPTH);
    card_ring(a);                            /* the same index again */
    settle();
    check_done(a, DEPTH);
    check_received(b, DEPTH);
    for (uint32_t i = DEPTH; i < 3 * DEPTH; i++) {
        DO(a, SEND, 32);
        check_done(a, i + 1);
        check_received(b, i + 1);
        put_qp(b, PG332_RQCI, card_index(i + 1));
    }
}

/* Without their bits in QPCONF, neither entries nor doorbells are written. */
CARDS_TEST("/pg332/gates", PG332_V4_2, test_gates)
{
    put_qp(a, PG332_QPCONF, QPCONF & ~(PG332_QPCONF_CQE | PG332_QPCONF_CQ_INT));
    put_qp(b, PG332_QPCONF, QPCONF & ~(PG332_QPCONF_NO_HS | PG332_QPCONF_RQ_INT));
    DO(a, SEND, 32);
    check_done(a, 1);
    IS(card_cqe(a, 0), 0);
    IS(get(a, PG332_INTSTS), 0);
    IS(get_qp(b, PG332_STATRQPIDB), 1);
    IS(card_word(b, b->rq_db), 0);
    IS(get(b, PG332_INTSTS), 0);
}

/* The hardware reposts its buffers, as far as RQCI allows. */
CARDS_TEST("/pg332/receive-full", PG332_V3_1, test_receive_full)
{
    put_qp(a, PG332_TIMEOUTCONF, 7 << 11);          /* RNR: for ever */
    for (uint32_t i = 0; i < DEPTH; i++) {
        DO(a, SEND, 32);
    }
    g_assert_cmphex(get_qp(b, PG332_STATQP) & PG332_STATQP_RQ_FULL, !=, 0);
    IS(get(b, PG332_INTSTS), PG332_INT_RECEIVE);
    card_fill(a, 0, 32, 99);
    DO(a, SEND, 32);
    check_done(a, DEPTH);
    check_received(b, DEPTH);
    IS(get(b, PG332_INTSTS), PG332_INT_RECEIVE | PG332_INT_RNR | PG332_INT_VALIDATION);
    put_qp(b, PG332_RQCI, 7 * DEPTH + 3);           /* no more than there are */
    IS(get_qp(b, PG332_STATQP) & PG332_STATQP_RQ_FULL, 0);
    fake_advance(a->e, 1000000000);
    settle();
    check_done(a, DEPTH + 1);
    check_received(b, DEPTH + 1);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq, 32), 32, card_mem(a, 0), 32);
}

/*
 * Bit b of bank k is queue pair 32 k + b; in 4.x only as far as the numbers have bits,
 * so that queue pair C_NUM_QP, a power of two, is bit 0 of bank 0.
 */
TEST("/pg332/banks", test_banks)
{
    static const struct {
        uint8_t version;
        uint16_t num, qpn, bit;
    } cases[] = {
        { PG332_V3_1, 8, 1, 1 }, { PG332_V3_1, 8, 8, 8 },
        { PG332_V3_1, 32, 31, 31 }, { PG332_V3_1, 32, 32, 32 },
        { PG332_V3_1, 255, 255, 255 },
        { PG332_V4_0, 8, 7, 7 }, { PG332_V4_0, 8, 8, 0 },
        { PG332_V4_0, 32, 31, 31 }, { PG332_V4_0, 32, 32, 0 },
        { PG332_V4_2, 32, 32, 0 }, { PG332_V4_2, 33, 32, 32 },
        { PG332_V4_2, 33, 33, 33 }, { PG332_V4_2, 64, 63, 63 },
        { PG332_V4_2, 64, 64, 0 }, { PG332_V4_2, 2047, 1024, 1024 },
        { PG332_V4_2, 2047, 2047, 2047 },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t bank = cases[i].version == PG332_V3_1 ? PG332_V3_CQINTSTS :
                                                         PG332_V4_CQINTSTS;
        Card *c = &cards[0];

        c->version = cases[i].version;
        c->e = FAKE_ERNIC(&c->env, card_config(&cfg, c->version);
                          cfg.max_qp = cases[i].num + 1);
        ernic_pg332_bank(c->e, bank, cases[i].qpn);
        IS(get(c, bank + cases[i].bit / 32 * 4), 1u << cases[i].bit % 32);
        card_close(c);
    }
}

/* Each check of the memory region table refuses; both ends get the reason. */
TEST("/pg332/keys", test_keys)
{
    static const struct {
        uint32_t reg, value;            /* instead of what opens */
        uint32_t key, off, len;
        uint8_t opcode;
        bool ok;
    } cases[] = {
        { PG332_PDPDNUM, PD, KEY, 0, MEM, WRITE, true },
        { PG332_PDPDNUM, PD, KEY, 0, MEM, READ, true },
        { PG332_PDPDNUM, PD, KEY, MEM - 64, 64, WRITE, true },
        { PG332_PDPDNUM, PD, KEY, MEM - 64, 65, WRITE, false },
        { PG332_PDPDNUM, PD, KEY, -1u, 64, WRITE, false },
        { PG332_PDPDNUM, PD + 1, KEY, 0, 64, WRITE, false },
        { PG332_PDPDNUM, PD, KEY + 1, 0, 64, READ, false },
        { PG332_PDPDNUM, PD, KEY + 0x100, 0, 64, WRITE, false },
        { PG332_PDPDNUM, PD, 0xffffff5c, 0, 64, WRITE, false },
        { PG332_BUFRKEY, 0, KEY, 0, 64, WRITE, false },
        { PG332_ACCESSDESC, PG332_ACCESS_READ, KEY, 0, 64, READ, true },
        { PG332_ACCESSDESC, PG332_ACCESS_READ, KEY, 0, 64, WRITE, false },
        { PG332_ACCESSDESC, PG332_ACCESS_WRITE, KEY, 0, 64, WRITE, true },
        { PG332_ACCESSDESC, PG332_ACCESS_WRITE, KEY, 0, 64, READ, false },
        { PG332_ACCESSDESC, 0xf, KEY, 0, 64, READ, false },
        { PG332_ACCESSDESC, 1 << 16 | 2, KEY, MEM, 64, WRITE, true },
        { PG332_VIRTADDRLSB, (uint32_t)VA + 1, KEY, 0, 64, WRITE, false },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Card *a = &cards[0], *b = &cards[1];

        g_test_message("case %u", i);
        setup(PG332_V3_1);
        put_region(b, cases[i].reg, cases[i].value);
        DO(a, cases[i].opcode, cases[i].len, .rkey = cases[i].key,
           .raddr = VA + (int32_t)cases[i].off);
        check_done(a, 1);
        IS(get_qp(b, PG332_STATQP) & PG332_STATQP_FATAL, !cases[i].ok);
        if (cases[i].ok) {
            IS(card_cqe(a, 0), cases[i].opcode << 16 | 0x100);
        } else {
            IS(card_cqe(a, 0), CQE_ERROR | cases[i].opcode << 16 | 0x100);
            IS(card_word(a, a->errq), QPN << 16 | 0x0a);
            IS(card_word(b, b->errq), QPN << 16 | 0x15);
            READS(b, REG(IPKTERRQWPTR, 1), REG(INTSTS, PG332_INT_FATAL));
        }
        teardown();
    }
}

/* An invalid opcode ends the queue pair; later requests are flushed. */
TEST("/pg332/illegal", test_illegal)
{
    Card *a = &cards[0];

    /* Each costs two cards; above the valid ones some of each pattern of bits. */
    for (uint32_t op = 0; op < 256; op += g_test_slow() || op < 16 ? 1 : 15) {
        if (op <= READ || op == SEND_INV) {
            continue;
        }
        setup(PG332_V4_0);
        card_wqe(a, (Wqe) { .opcode = op, .laddr = a->mem, .len = 32 });
        card_wqe(a, (Wqe) { .opcode = SEND, .laddr = a->mem, .len = 32 });
        card_ring(a);
        settle();
        check_done(a, 2);
        IS(card_cqe(a, 0), CQE_ERROR | op << 16 | 0x100);
        IS(card_cqe(a, 1), CQE_ERROR | SEND << 16 | 0x101);
        IS(get_qp(a, PG332_STATQP) & 0x601, 0x601);
        IS(card_word(a, a->errq), QPN << 16 | 0x05);
        IS(get(a, PG332_INTSTS), PG332_INT_OPCODE | PG332_INT_COMPLETION |
           PG332_INT_FATAL);
        check_received(&cards[1], 0);
        teardown();
    }
}

/* After a request that fails: checked once, and not again when it is flushed. */
CARDS_TEST("/pg332/illegal-behind", PG332_V3_1, test_illegal_behind)
{
    card_wqe(a, (Wqe) { .opcode = WRITE, .laddr = a->mem, .len = 64,
                        .rkey = KEY + 1, .raddr = VA });
    card_wqe(a, (Wqe) { .opcode = 0x55, .laddr = a->mem, .len = 64 });
    card_ring(a);
    fake_run(a->e);
    IS(get(a, PG332_INTSTS), PG332_INT_OPCODE);
    put(a, PG332_INTSTS, PG332_INT_OPCODE);
    settle();
    check_done(a, 2);
    IS(card_cqe(a, 1), CQE_ERROR | 0x55 << 16 | 0x101);
    IS(get(a, PG332_INTSTS) & PG332_INT_OPCODE, 0);
    IS(get(a, PG332_QPMSTS), 2 << 16 | PG332_QPM_CACHE_EMPTY);
}

/* Queues without memory: an error, and no other effect. */
CARDS_TEST("/pg332/no-memory", PG332_V3_1, test_no_memory)
{
    WRITES(a, SLOT(CQBAMSB, 0), SLOT(CQDBADDMSB, 0));
    put_qp(b, PG332_RQWPTRDBADDMSB, 0);
    put(a, PG332_IPKTERRQBAMSB, 0);
    DO(a, SEND, 32);
    IS(get_qp(a, PG332_CQHEAD), 1);
    IS(get_qp(b, PG332_STATRQPIDB), 1);
    put_qp(b, PG332_RQBAMSB, 0);
    DO(a, SEND, 32);
    IS(get_qp(a, PG332_CQHEAD), 2);
    IS(get_qp(b, PG332_STATRQPIDB), 1);
    IS(card_word(b, b->errq), QPN << 16 | 0x15);
    g_assert_cmphex(get_qp(a, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);

    WRITES(b, SLOT(QPCONF, QPCONF & ~PG332_QPCONF_ENABLE), SLOT(SQBAMSB, 0),
              SLOT(QPCONF, QPCONF), SLOT(SQPI, 2));
    settle();
    check_done(b, 2);
    IS(card_word(b, b->errq + 8), QPN << 16 | 0x05);
}

/* Act as the xib driver does: enable and recovery change in one write. */
CARDS_TEST("/pg332/stop-under-recovery", PG332_V4_2, test_stop_under_recovery)
{
    POST(a, SEND, 32);
    POST(a, READ, 64);
    fake_run(a->e);
    fake_lose_trains(&a->env);
    put_qp(a, PG332_QPCONF, (QPCONF & ~PG332_QPCONF_ENABLE) | PG332_QPCONF_RECOVERY);
    READS(a, SLOT_BITS(STATQP, 0x600, 0x600), SLOT(CQHEAD, 2));
    IS(card_word(a, a->cq_db), 0);
}

/* Disabled, the registers keep all counters, and the queue pair continues from them. */
CARDS_TEST("/pg332/stop-and-go", PG332_V3_1, test_stop_and_go)
{
    static const uint8_t kept[] = {
        PG332_CQHEAD, PG332_SQPI, PG332_RQCI, PG332_SQPSN, PG332_LSTRQREQ,
        PG332_STATMSN, PG332_STATCURSQPTR, PG332_STATRESPSN, PG332_STATRQPIDB,
        PG332_STATRQBUFCA, PG332_STATRQBUFCAMSB,
    };

    for (uint32_t n = 0; n < 20; n++) {
        DO(a, SEND, 32);
        check_done(a, n + 1);
        check_received(b, n + 1);
        put_qp(b, PG332_RQCI, card_index(n));     /* one is always held */
        for (uint32_t c = 0; c < 2; c++) {
            uint32_t before[ARRAY_SIZE(kept)];

            for (uint32_t i = 0; i < ARRAY_SIZE(kept); i++) {
                before[i] = get_qp(&cards[c], kept[i]);
            }
            put_qp(&cards[c], PG332_QPCONF, QPCONF & ~PG332_QPCONF_ENABLE);
            for (uint32_t i = 0; i < ARRAY_SIZE(kept); i++) {
                IS(get_qp(&cards[c], kept[i]), before[i]);
            }
            put_qp(&cards[c], PG332_QPCONF, QPCONF);
            for (uint32_t i = 0; i < ARRAY_SIZE(kept); i++) {
                IS(get_qp(&cards[c], kept[i]), before[i]);
            }
        }
    }
    /* Posted while disabled: executed once enabled. */
    put(a, PG332_XRNICCONF, get(a, PG332_XRNICCONF) & ~1);
    DO(a, SEND, 32);
    IS(get_qp(a, PG332_CQHEAD), card_index(20));
    put(a, PG332_XRNICCONF, get(a, PG332_XRNICCONF) | 1);
    settle();
    check_done(a, 21);
}

/* An RQCI of the depth, written again after a start, returns no buffer. */
CARDS_TEST("/pg332/start-returned", PG332_V4_2, test_start_returned)
{
    const ErnicWq *rq = &b->e->qp[QPN].rq.wq;

    for (uint32_t i = 0; i < DEPTH; i++) {
        DO(a, SEND, 32);
    }
    put_qp(b, PG332_QPCONF, 0);
    put_qp(b, PG332_QPCONF, QPCONF);
    IS(rq->pi - rq->ci, 0);
    put_qp(b, PG332_RQCI, DEPTH);
    IS(rq->pi - rq->ci, DEPTH);
    DO(a, SEND, 32);
    DO(a, SEND, 32);
    put_qp(b, PG332_QPCONF, 0);
    put_qp(b, PG332_QPCONF, QPCONF);
    put_qp(b, PG332_RQCI, DEPTH);
    IS(rq->pi - rq->ci, DEPTH - 2);
    put_qp(b, PG332_RQCI, 1);
    IS(rq->pi - rq->ci, DEPTH - 1);
    check_received(b, DEPTH + 2);
}

/*
 * A time-out that is set while a packet is under way counts from then; one that is turned
 * off while the link is busy does not expire later.
 */
CARDS_TEST("/pg332/timeout-gone", PG332_V3_1, test_timeout_gone)
{
    uint32_t psn;

    put_qp(a, PG332_TIMEOUTCONF, 0);
    POST(a, SEND, 32);
    fake_run(a->e);
    psn = get_qp(a, PG332_SQPSN);
    put_qp(a, PG332_SQPSN, 5);                  /* not while one is under way */
    IS(get_qp(a, PG332_SQPSN), psn);
    IS(a->e->qp[QPN].sq.ack_due, ERNIC_NEVER);
    put_qp(a, PG332_TIMEOUTCONF, 2 << 8 | 10);
    IS(a->e->qp[QPN].sq.ack_due, a->env.now + (4096 << 10));
    put_qp(a, PG332_TIMEOUTCONF, 2 << 8 | 11);  /* for the next one */
    IS(a->e->qp[QPN].sq.ack_due, a->env.now + (4096 << 10));
    a->env.tx_keeps = true;
    put_qp(a, PG332_TIMEOUTCONF, 0);
    for (int i = 0; i < 3 && a->env.wake != UINT64_MAX; i++) {
        a->env.now = MAX(a->env.now, a->env.wake);
        ernic_run(a->e, a->env.now);
    }
    IS(a->env.wake, UINT64_MAX);
    fake_tx_leave(&a->env);
    settle();
    check_done(a, 1);
}

/* 4.0 and 4.2 have as many registers, at other offsets. */
TEST("/pg332/load-other-version", test_load_other_version)
{
    Card a, b;

    for (uint32_t from = 0; from < PG332_VERSIONS; from++) {
        for (uint32_t to = 0; to < PG332_VERSIONS; to++) {
            g_autoptr(GByteArray) state = g_byte_array_new();

            card_open(&a, 0, from);
            card_open(&b, 0, to);
            ernic_save(a.e, state);
            g_assert(ernic_load(b.e, b.env.now, state->data, state->len) == (from == to));
            card_close(&a);
            card_close(&b);
        }
    }
}

/* Software reads what it wrote, but 0 in a hole; the engine has the counts. */
CARD_TEST("/pg332/registers", PG332_V3_1, test_registers)
{
    const uint32_t key = card_at(c, ERNIC_REG_REGION, REGION, PG332_BUFRKEY);

    put_region(c, PG332_BUFRKEY, 0x77);
    IS(ernic_reg_read(c->e, c->env.now, key), 0x77);
    put(c, 0x1fc, 1);
    IS(get(c, 0x1fc), 0);
    put_qp(c, PG332_STATQP, 0x35000000);
    IS(c->e->qp[QPN].sq.retry_left, 5);
    IS(c->e->qp[QPN].sq.rnr_left, 3);
    put(c, PG332_IPv4XADD, 0xe0000001);         /* no address is multicast */
    IS(c->e->num_gids, 0);
    c->e->stats.rx_naks = 0xffff;
    c->e->stats.rx_rnr_naks = 3;
    IS(get(c, PG332_INNAKPKTCNT), 2);
    c->e->stats.tx_naks = 4;
    c->e->stats.tx_rnr_naks = 0xffff;
    IS(get(c, PG332_OUTNAKPKTCNT), 3);
    c->e->stats.retransmits = 0x12345;
    IS(get(c, PG332_RETRYCNTSTS), 0x12345);
}
