/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work that the registers of PG332 cause. A write is executed by the processor that
 * stores: what it does to all queue pairs is done in slices, and nobody sees that.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "cpu_time.h"
#include "objects/qp.h"
#include "pg332_card.h"
#include "wire/headers.h"

#define SHORT_COPY      2       /* units for a copy of a few bytes */
/* A queue pair starts or stops. */
#define MOST_STEP       16
#define NUM     2048            /* the most that PG332 has, and one that it has not */
#define LAST    (NUM - 2)       /* its slot */

/* A register of the queue pair in slot @i. */
static void put_at(Card *c, uint32_t i, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_QP, i, reg), value);
}

static uint32_t get_at(Card *c, uint32_t i, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, ERNIC_REG_QP, i, reg));
}

/* Each is set up, and none is enabled. The last one has a request, of no known opcode. */
static void open_wide(Card *c)
{
    *c = (Card) { .version = PG332_V4_0 };
    c->e = FAKE_ERNIC(&c->env, card_config(&cfg, c->version); cfg.max_qp = NUM);
    ernic_set_link(c->e, c->env.now, true);
    c->sq = fake_alloc(&c->env, DEPTH * 64, 256);
    put(c, PG332_XRNIC_CONF_QP_EN, NUM);
    for (uint32_t i = 0; i < NUM - 1; i++) {
        put_at(c, i, PG332_SQBA, c->sq);
        put_at(c, i, PG332_SQBAMSB, c->sq >> 32);
        put_at(c, i, PG332_QDEPTH, DEPTH << 16 | DEPTH);
        put_at(c, i, PG332_QPCONF, QPCONF);
    }
    card_wqe(c, (Wqe) { .opcode = 0x3f });
}

/* Writes XRNICCONF: that is no more than a look at each queue pair. */
static void configure(Card *c, bool enable)
{
    uint32_t conf = get(c, PG332_XRNICCONF) & ~PG332_CONF_ENABLE;
    uint64_t before = c->e->work.done;
    int64_t start = cpu_us();

    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF),
                    conf | (enable ? PG332_CONF_ENABLE : 0));
    g_test_message("write: %" PRId64 " us", cpu_us() - start);
    fake_check(c->e);
    g_assert_cmpuint(c->e->work.done - before, <=, 2 + NUM / 8);
}

/* One slice; false: there is nothing left to start or to stop. */
static bool run_slice(Card *c)
{
    uint64_t before = c->e->work.done;
    int64_t start = cpu_us();

    g_assert_cmpuint(c->env.wake, <=, c->env.now);
    ernic_run(c->e, c->env.now);
    g_test_message("run: %" PRIu64 " units, %" PRId64 " us", c->e->work.done - before,
                   cpu_us() - start);
    fake_check(c->e);
    g_assert_cmpuint(c->e->work.done - before, <=, ERNIC_WORK_SLICE + MOST_STEP);
    return c->e->unsettled;
}

/* Returns the number of slices. */
static uint32_t run_all(Card *c)
{
    uint32_t n = 1;

    while (run_slice(c)) {
        n++;
    }
    return n;
}

static uint32_t num_running(const Card *c)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < NUM; i++) {
        n += c->e->qp[i].used;
    }
    return n;
}

#define WIDE_TEST(path, fn) WORLD_TEST(path, fn, Card, c, open_wide(c), card_close(c))

/* All start, and stop, by one write: in slices. */
WIDE_TEST("/pg332-work/enable", test_enable)
{
    configure(c, true);
    IS(num_running(c), 0);
    g_assert_cmpuint(run_all(c), >, 8);
    IS(num_running(c), NUM - 1);
    configure(c, true);
    IS(run_all(c), 1);
    configure(c, false);
    g_assert_cmpuint(run_all(c), >, 4);
    IS(num_running(c), 0);
}

/* A queue pair's register reads as if the write had started, or stopped, it at once. */
WIDE_TEST("/pg332-work/seen", test_seen)
{
    configure(c, true);
    g_assert_cmphex(get_at(c, LAST, PG332_STATQP) & PG332_STATQP_SQ_EMPTY, !=, 0);
    IS(num_running(c), 1);
    put_at(c, LAST, PG332_SQPI, 1);
    IS(get_at(c, LAST, PG332_STATQP) & PG332_STATQP_SQ_EMPTY, 0);
    run_all(c);
    configure(c, false);
    put_at(c, LAST, PG332_SQPSN, PSN);
    IS(num_running(c), NUM - 2);
    run_all(c);
    IS(get_at(c, LAST, PG332_SQPSN), PSN);
}

/* After the write, a queue pair that it stops reads no request. */
WIDE_TEST("/pg332-work/still", test_still)
{
    uint64_t reads;

    configure(c, true);
    run_all(c);
    put_at(c, LAST, PG332_SQPI, 1);
    configure(c, false);
    reads = c->env.reads;
    run_all(c);
    fake_run(c->e);
    IS(c->env.reads, reads);
    configure(c, true);
    run_all(c);
    fake_run(c->e);
    g_assert_cmpuint(c->env.reads, >, reads);
}

/* Off and on at once: each queue pair stops and starts, also one in Error. */
WIDE_TEST("/pg332-work/again", test_again)
{
    configure(c, true);
    run_all(c);
    put_at(c, LAST, PG332_QPCONF, QPCONF | PG332_QPCONF_RECOVERY);
    put_at(c, LAST, PG332_QPCONF, QPCONF);
    IS(c->e->qp[NUM - 1].state, ERNIC_QPS_ERR);
    configure(c, false);
    configure(c, true);
    g_assert_cmpuint(run_all(c), >, 8);
    IS(c->e->qp[NUM - 1].state, ERNIC_QPS_RTS);
    IS(num_running(c), NUM - 1);
}

/* A state of the middle has the same end. */
WIDE_TEST("/pg332-work/save", test_save)
{
    g_autoptr(GByteArray) middle = g_byte_array_new(), end = g_byte_array_new();

    configure(c, true);
    run_all(c);
    configure(c, false);
    run_slice(c);
    configure(c, true);
    run_slice(c);
    g_assert_true(c->e->qp[NUM - 1].stopping);   /* and most of the others */
    ernic_save(c->e, middle);
    run_all(c);
    ernic_save(c->e, end);
    g_assert_true(ernic_load(c->e, c->env.now, middle->data, middle->len));
    g_assert_true(run_slice(c));
    run_all(c);
    fake_state_is(c->e, end);
}

/* A packet that arrives after the write finds its queue pair started, or stopped. */
CARDS_TEST("/pg332-work/packet", PG332_V4_0, test_packet)
{
    uint32_t conf = get(b, PG332_XRNICCONF);

    settle();
    POST(a, SEND, 64);
    fake_run(a->e);
    WRITES(b, REG(XRNICCONF, conf & ~PG332_CONF_ENABLE), REG(XRNICCONF, conf));
    IS(b->e->unsettled, 1);
    settle();
    check_received(b, 1);
    check_done(a, 1);

    POST(a, SEND, 64);
    fake_run(a->e);
    put(b, PG332_XRNICCONF, conf & ~PG332_CONF_ENABLE);
    IS(fake_deliver(a->e, b->e), 1);
    IS(card_word(b, b->rq_db), card_index(1));
}

/* A queue pair that starts because a link asks has the time of the question. */
WIDE_TEST("/pg332-work/asked", test_asked)
{
    uint8_t packet[ERNIC_BTH_LEN] = { 0 };
    ErnicTrain train = { .data = packet, .len = sizeof(packet), .seg = sizeof(packet) };

    stl_be_p(packet + 4, NUM - 1);
    configure(c, true);
    c->env.now += 5000;
    g_assert_false(ernic_expects(c->e, c->env.now, &train));     /* not to this address */
    IS(num_running(c), 1);
    IS(c->e->now, c->env.now);
}

/* The time-out of one that is to stop passes without effect, also in an earlier slice. */
TEST("/pg332-work/timer", test_timer)
{
    Card *c = &cards[0];

    setup(PG332_V3_1);
    put_qp(c, PG332_TIMEOUTCONF, 7 << 8 | 10);
    POST(c, SEND, 64);
    fake_run(c->e);
    fake_lose_trains(&c->env);
    c->env.now += 50000000;
    put(c, PG332_XRNICCONF, get(c, PG332_XRNICCONF) & ~PG332_CONF_ENABLE);
    ernic_slice(c->e);
    c->e->work.done = c->e->work.end;
    ernic_run_within(c->e, c->env.now);
    g_assert_true(c->e->qp[QPN].stopping);
    settle();
    g_assert_false(c->e->qp[QPN].used);
    IS(c->e->stats.ack_timeouts, 0);
    teardown();
}

/*
 * A request that fails costs the read of its slot, a completion and an entry of the error
 * queue, beside two turns.
 */
CARD_TEST("/pg332-work/request", PG332_V3_1, test_request)
{
    uint64_t before, turn;

    fake_run(c->e);
    before = c->e->work.done;
    card_ring(c);                      /* there is no request */
    fake_run(c->e);
    turn = c->e->work.done - before;
    before = c->e->work.done;
    card_wqe(c, (Wqe) { .opcode = 0x3f });             /* there is no such operation */
    card_ring(c);
    fake_run(c->e);
    g_test_message("turn %" PRIu64 ", request %" PRIu64, turn, c->e->work.done - before);
    g_assert_cmpuint(c->e->work.done - before, >=,
                     2 * turn + 2 * SHORT_COPY + ERNIC_WORK_COMPLETE);
}
