/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work that the registers of PG332 cause: a write is executed by the processor that
 * stores, so its work is charged, and bounded by the number of queue pairs.
 */
#include "qemu/osdep.h"
#include <time.h>
#include "base/work.h"
#include "objects/qp.h"
#include "pg332_card.h"

#define SHORT_COPY      2       /* units for a copy of a few bytes */
#define NUM     2048            /* the most that PG332 has, and one that it has not */

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

/* A register of the queue pair in slot @i. */
static void put_at(Card *c, uint32_t i, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_QP, i, reg), value);
}

/* Writes XRNICCONF; returns the work. */
static uint64_t configure(Card *c, uint32_t conf, const char *what)
{
    uint64_t before = c->e->work_done;
    int64_t start = cpu_us();

    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF),
                    conf);
    g_test_message("%s: %" PRIu64 " units, %" PRId64 " us", what,
                   c->e->work_done - before, cpu_us() - start);
    card_check(c);
    return c->e->work_done - before;
}

/* All queue pairs start, and stop, by one write. */
static void test_enable(void)
{
    uint32_t conf, i;
    ErnicConfig cfg;
    uint64_t work;
    Card c = { .version = PG332_V4_0 };

    fake_env_init(&c.env);
    card_config(&cfg, c.version);
    cfg.max_qp = NUM;
    c.e = ernic_new(&cfg, &fake_env_ops, &c.env);
    put(&c, PG332_XRNIC_CONF_QP_EN, NUM);
    for (i = 0; i < NUM - 1; i++) {
        put_at(&c, i, PG332_QDEPTH, 64 << 16 | 64);
        put_at(&c, i, PG332_QPCONF, QPCONF);
    }
    conf = get(&c, PG332_XRNICCONF);
    work = configure(&c, conf | PG332_CONF_ENABLE, "start");
    g_assert_true(c.e->qp[1].used && c.e->qp[NUM - 1].used);
    g_assert_cmpuint(work, >=, (NUM - 1) * ERNIC_WORK_LOCAL);
    g_assert_cmpuint(configure(&c, conf | PG332_CONF_ENABLE, "again"), >=,
                     (NUM - 1) * ERNIC_WORK_LOCAL);
    work = configure(&c, conf & ~PG332_CONF_ENABLE, "stop");
    g_assert_false(c.e->qp[1].used || c.e->qp[NUM - 1].used);
    g_assert_cmpuint(work, >=, (NUM - 1) * ERNIC_WORK_LOCAL);
    card_close(&c);
}

/*
 * A request that fails costs the read of its slot, a completion and an entry of the error
 * queue, beside two turns.
 */
static void test_request(void)
{
    uint64_t before, turn;
    Card c;

    card_open(&c, 0, PG332_V3_1);
    before = c.e->work_done;
    card_ring(&c);                      /* there is no request */
    fake_run(c.e);
    turn = c.e->work_done - before;
    before = c.e->work_done;
    card_wqe(&c, (Wqe) { .opcode = 0x3f });             /* there is no such operation */
    card_ring(&c);
    fake_run(c.e);
    g_test_message("turn %" PRIu64 ", request %" PRIu64, turn, c.e->work_done - before);
    g_assert_cmpuint(c.e->work_done - before, >=,
                     2 * turn + 2 * SHORT_COPY + ERNIC_WORK_COMPLETE);
    card_close(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pg332-work/enable", test_enable);
    g_test_add_func("/pg332-work/request", test_request);
    return g_test_run();
}
