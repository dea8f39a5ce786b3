/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model with the registers of PG332: when a store arrives, and an entry, an
 * index and an interrupt appear, compared with times calculated by hand.
 */
#include "qemu/osdep.h"
#include "cpu_time.h"
#include "hand_profile.h"
#include "pg332_card.h"
#include "timing/timing.h"
#include "transport/qp.h"

static uint64_t start;          /* the times of a test begin here */

/* Run both cards until @ns after the start. */
static void until(uint64_t ns)
{
    uint64_t end = start + ns, next;

    do {
        fake_run(cards[0].e);
        fake_run(cards[1].e);
        if (fake_deliver(cards[0].e, cards[1].e) + fake_deliver(cards[1].e, cards[0].e)) {
            continue;
        }
        next = MIN(cards[0].env.wake, cards[1].env.wake);
        if (next > end) {
            break;
        }
        cards[0].env.now = cards[1].env.now = MAX(next, cards[0].env.now);
    } while (true);
    cards[0].env.now = cards[1].env.now = end;
    fake_check(cards[0].e);
    fake_check(cards[1].e);
}

static void open_cards(unsigned version)
{
    card_timing = &hand;
    setup(version);
    settle();
    /* The stores of the set-up arrived long ago. */
    cards[0].env.now += 1000000;
    cards[1].env.now = start = cards[0].env.now;
    until(0);
}

static void close_cards(void)
{
    teardown();
    card_timing = NULL;
}

/*
 * A SEND of 64 bytes, a frame of 122. The store is there at 102; from then:
 *
 *   wqe          fetched: 1000 + 10, 2 of work         1112 to 1114
 *   tx-context   20, 1 of work                         1132 to 1134
 *   dma-read     300; 3 cycles: 6                      1432 to 1438
 *   build        40; 2 + 3 + 2 = 7                     1472 to 1479
 *   mac          7, 122 + 24 = 146                     1479 to 1625
 *   flight       50                                            1675
 *   receive      60; 4 + 9 + 4 = 17                    1735 to 1752
 *   rx-context   15, 1 of work, waits for the tail     1750 to 1767
 *   dma-write    80; 5 cycles: 10, as well             1830 to 1847
 *   cqe          90; 5 cycles: 10                              1947
 *   interrupt    200; 1 cycle: 2                               2149
 *
 * The ACK is built at 1847, arrives after 20 + 40 + 7 + 86 + 50 = 203, and passes
 * receive (60, 6 cycles) and rx-context (15); the entry is there 100 later.
 */
#define RECEIVED    1947
#define ACKED       (1847 + 203 + 60 + 6 + 15)
#define COMPLETED   (ACKED + 100)
#define INTERRUPT   202

TEST("/pg332-timing/send", test_send)
{
    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        open_cards(version);
        card_fill(&cards[0], 0, 64, 3);
        POST(&cards[0], SEND, 64);
        /* The store is in the register, and its effect is still on its way. */
        IS(get_qp(&cards[0], PG332_SQPI), 1);
        until(101);
        IS(cards[0].e->qp[QPN].sq.wq.pi, 0);
        until(102);
        IS(cards[0].e->qp[QPN].sq.wq.pi, 1);
        until(RECEIVED - 1);
        check_received(&cards[1], 0);
        until(RECEIVED);
        check_received(&cards[1], 1);
        g_assert_cmpmem(card_mem(&cards[0], 0), 64,
                        fake_ptr(&cards[1].env, cards[1].rq, 64), 64);
        IS(cards[1].env.irqs->len, 0);
        until(RECEIVED + INTERRUPT - 1);
        IS(cards[1].env.irqs->len, 0);
        until(RECEIVED + INTERRUPT);
        IS(cards[1].env.irqs->len, 1);
        /* The completer sees the ACK before software does. */
        until(COMPLETED - 1);
        IS(cards[0].e->qp[QPN].sq.wq.ci, 1);
        check_done(&cards[0], 0);
        IS(card_cqe(&cards[0], 0), 0);
        until(COMPLETED);
        check_done(&cards[0], 1);
        IS(card_cqe(&cards[0], 0), SEND << 16 | 0x100);
        IS(cards[0].env.irqs->len, 0);
        until(COMPLETED + INTERRUPT);
        IS(cards[0].env.irqs->len, 1);
        close_cards();
    }
}

/* Each opcode is executed, and passes the stages that it should. */
TEST("/pg332-timing/opcodes", test_opcodes)
{
    static const struct {
        uint8_t opcode;
        /* Payload arrives; a receive buffer is used; a key is checked. */
        bool read, message, key;
    } rows[] = {
        { WRITE, .key = true }, { WRITE_IMM, .key = true },
        { SEND, .message = true }, { SEND_IMM, .message = true },
        { READ, .read = true, .key = true },
        { SEND_INV, .message = true, .key = true },
    };
    const ErnicStageState *a, *b;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        open_cards(PG332_V4_2);
        DO(&cards[0], rows[i].opcode, 64);
        check_done(&cards[0], 1);
        IS(card_cqe(&cards[0], 0), rows[i].opcode << 16 | 0x100);
        a = cards[0].e->timing->server;
        b = cards[1].e->timing->server;
        IS(a[ERNIC_STAGE_WQE].items, 1);
        IS(a[ERNIC_STAGE_TX_CONTEXT].items, 1);
        IS(a[ERNIC_STAGE_DMA_READ].items, !rows[i].read);
        IS(a[ERNIC_STAGE_DMA_WRITE].items, rows[i].read);
        IS(a[ERNIC_STAGE_MAC].items, 1);
        IS(a[ERNIC_STAGE_RECEIVE].items, 1);
        IS(a[ERNIC_STAGE_CQE].items, 1);
        IS(a[ERNIC_STAGE_INTERRUPT].items, 1);
        IS(b[ERNIC_STAGE_READ_RSP].items, rows[i].read);
        IS(b[ERNIC_STAGE_DMA_WRITE].items, !rows[i].read);
        IS(b[ERNIC_STAGE_KEY].items, rows[i].key);
        /* The side stream reports a WRITE_IMM. */
        IS(b[ERNIC_STAGE_CQE].items, rows[i].message || rows[i].opcode == WRITE_IMM);
        close_cards();
    }
}

/*
 * Configuration stores arrive after those of doorbells, and software that stops a queue
 * pair sees all earlier completions.
 */
TEST("/pg332-timing/set-up", test_set_up)
{
    open_cards(PG332_V4_0);
    POST(&cards[0], SEND, 64);
    until(50);
    put_qp(&cards[0], PG332_QPADVCONF, 0x12344001);
    IS(cards[0].e->qp[QPN].sq.wq.pi, 1);
    until(4000);
    check_done(&cards[0], 1);
    POST(&cards[0], SEND, 64);
    while (cards[0].e->qp[QPN].sq.wq.ci != 2) {
        until(cards[0].env.now - start + 10);
    }
    check_done(&cards[0], 1);
    put_qp(&cards[0], PG332_QPCONF, QPCONF & ~1);
    check_done(&cards[0], 2);
    close_cards();
}

/* More stores than the delay FIFO holds: the oldest arrive early, and none is lost. */
TEST("/pg332-timing/many", test_many)
{
    open_cards(PG332_V3_1);
    for (uint32_t i = 0; i < ERNIC_TIMING_DOORBELLS + 10; i++) {
        put_qp(&cards[0], PG332_RQCI, 0);
    }
    POST(&cards[0], SEND, 64);
    IS(cards[0].e->timing->doorbells.count, ERNIC_TIMING_DOORBELLS);
    settle();
    check_done(&cards[0], 1);
    check_received(&cards[1], 1);
    close_cards();
}

/* us for a read of RESPHNDSTS, which has its PTR_DONE only if @done. */
static int64_t cost_of_status(Card *c, bool done)
{
    int64_t least = INT64_MAX, from;

    for (uint32_t i = 0; i < 8; i++) {
        from = cpu_us();
        IS(get(c, PG332_RESPHNDSTS) & PG332_RESPHND_PTR_DONE,
           done ? PG332_RESPHND_PTR_DONE : 0);
        least = MIN(least, cpu_us() - from);
    }
    g_test_message("%u completions: %" PRId64 " us", c->e->timing->cqes.count, least);
    return least;
}

/* Many queue pairs and many completions under way do not multiply. */
TEST("/pg332-timing/status", test_status)
{
    Card *c = &cards[0];
    uint32_t i, slot;
    int64_t before;

    *c = (Card) { .version = PG332_V4_0 };
    card_timing = &hand;
    c->e = FAKE_ERNIC(&c->env, card_config(&cfg, c->version);
                      cfg.max_qp = PG332_V4_MAX_QP + 1);
    c->sq = fake_alloc(&c->env, DEPTH * 64, 256);
    WRITES(c, REG(XRNIC_CONF_QP_EN, PG332_V4_MAX_QP), REG(XRNICCONF, 0x0012b721));
    for (i = 0; i < DEPTH; i++) {
        card_wqe(c, (Wqe) { .opcode = 0x3f });
    }
    for (i = 0; i < PG332_V4_MAX_QP; i++) {
        slot = card_at(c, ERNIC_REG_QP, i, 0);
        ernic_reg_write(c->e, 0, slot + PG332_SQBA, c->sq);
        ernic_reg_write(c->e, 0, slot + PG332_SQBAMSB, c->sq >> 32);
        ernic_reg_write(c->e, 0, slot + PG332_QDEPTH, DEPTH << 16 | DEPTH);
        ernic_reg_write(c->e, 0, slot + PG332_QPCONF, QPCONF);
    }
    fake_run(c->e);
    before = cost_of_status(c, true);
    for (i = 0; i < PG332_V4_MAX_QP; i++) {
        ernic_reg_write(c->e, 0, card_at(c, ERNIC_REG_QP, i, PG332_SQPI), DEPTH);
    }
    c->env.now += 1000000000;
    while (c->e->timing->cqes.count < ERNIC_TIMING_CQES) {
        ernic_run(c->e, c->env.now);
    }
    g_assert_cmpint(cost_of_status(c, false), <=, 10 * before + 200);
    ernic_free(c->e);
    fake_env_fini(&c->env);
    card_timing = NULL;
}
