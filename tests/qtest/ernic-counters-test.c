/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of the timing model: they have the same values in registers, in the
 * command's response and in QMP.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "hw/rdma-ernic/ernic_counters.h"
#include "ernic-card.h"

#define WORDS       (PG332_V4_SIZE + PG332_SIDE_TIMING)

static const char *const stages[] = {
#define X(symbol, name) name,
    ERNIC_TIMING_STAGES(X)
#undef X
};

static const char *const queues[] = {
#define X(symbol, name) name,
    ERNIC_TIMING_QUEUES(X)
#undef X
};

typedef struct Pair {
    QErnicMachine *m;
    QErnic *a, *b;
} Pair;

static void open_pair(Pair *p, const char *more)
{
    p->m = qernic_machine(" -global ernic.ernic-version=4.2 -global ernic.timing=on"
                          " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
                          VERBS_NIC ",id=ernic0,addr=06.0,netdev=h0"
                          VERBS_NIC ",id=ernic1,addr=07.0,netdev=h1%s", more);
    p->a = qernic_at(p->m, "ernic0", 6);
    p->b = qernic_at(p->m, "ernic1", 7);
}

/* A counter of the answer of QMP; @interface is "" or "pg332.". */
static uint64_t reported(const QDict *all, const char *interface, const char *table,
                         const char *row, const char *counter)
{
    g_autofree char *spelt = g_strdelimit(g_strdup(row), "- ", '_');
    g_autofree char *name = g_strdup_printf("%stiming.%s.%s.%s", interface, table,
                                            spelt, counter);

    return qernic_stat_of(all, name);
}

/* @info agrees with QMP; unless time stands @still, the idle counter may be larger. */
static void agree(QErnic *q, const char *interface, const struct ernic_timing_info *info,
                  bool still)
{
#define SAME(table, row, of, counter) \
    g_assert_cmpuint(reported(all, interface, table, row, #counter), ==, \
                     le64_to_cpu((of)->counter))
    g_autoptr(QDict) all = qernic_stats(q);

    g_assert_cmpuint(le16_to_cpu(info->num_stages), ==, ARRAY_SIZE(stages));
    g_assert_cmpuint(le16_to_cpu(info->num_queues), ==, ARRAY_SIZE(queues));
    for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
        const struct ernic_timing_stage *s = &info->stage[i];
        uint64_t idle = reported(all, interface, "stages", stages[i], "idle");

        g_test_message("%s%s", interface, stages[i]);
        g_assert_cmpuint(le64_to_cpu(s->busy) + le64_to_cpu(s->stalled) +
                         le64_to_cpu(s->idle), ==,
                         1000 * (le64_to_cpu(info->now) - le64_to_cpu(info->since)));
        SAME("stages", stages[i], s, items);
        SAME("stages", stages[i], s, busy);
        SAME("stages", stages[i], s, stalled);
        SAME("stages", stages[i], s, waited);
        g_assert_cmpuint(idle, >=, le64_to_cpu(s->idle));
        g_assert_true(!still || idle == le64_to_cpu(s->idle));
    }
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        SAME("queues", queues[i], &info->queue[i], size);
        g_assert_cmpuint(reported(all, interface, "queues", queues[i], "count"), ==, 0);
        SAME("queues", queues[i], &info->queue[i], peak);
        SAME("queues", queues[i], &info->queue[i], area);
    }
#undef SAME
}

static void read_words(Card *c, struct ernic_timing_info *info)
{
    uint32_t word;

    for (uint32_t off = 0; off < sizeof(*info); off += 4) {
        word = cpu_to_le32(card_get_at(c, WORDS + off));
        memcpy((uint8_t *)info + off, &word, 4);
    }
}

WORLD_KINDS("/ernic-counters/interface", test_interface, Pair, p, open_pair, { "", "" })
{
    struct ernic_timing_info info;
    Card a, b;

    card_open(&a, p->a, PG332_V4_2, 1);
    card_open(&b, p->b, PG332_V4_2, 2);
    card_open_qp(&a, 2, CARD_QPN);
    card_open_qp(&b, 1, CARD_QPN);
    card_post(&a, CARD_SEND, 0, 64, 0, 0);
    card_done(&a, CARD_SEND);
    qtest_clock_step(p->m->qts, 1000000);
    read_words(&a, &info);
    agree(p->a, "pg332.", &info, true);
    g_assert_cmpuint(qernic_stat(p->a, "pg332.timing.stages.build.items"), ==, 1);
    g_assert_cmpuint(qernic_stat(p->a, "pg332.timing.stages.cqe.items"), ==, 1);
    g_assert_cmpuint(qernic_stat(p->a, "timing.stages.build.items"), ==, 0);
    read_words(&b, &info);
    agree(p->b, "pg332.", &info, true);
}

WORLD_KINDS("/ernic-counters/verbs", test_verbs, Pair, p, open_pair, { "", "" })
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QUERY_TIMING };
    struct ernic_timing_info info;

    qernic_setup(p->a, 1);
    qernic_setup(p->b, 2);
    qernic_transfers(p->a, p->b);
    qtest_clock_step(p->m->qts, 1000000);
    cmd.query.addr = cpu_to_le64(p->a->scratch);
    cmd.query.length = cpu_to_le32(sizeof(info));
    qernic_make(p->a, &cmd);
    qtest_memread(p->m->qts, p->a->scratch, &info, sizeof(info));
    g_assert_cmpuint(qernic_stat(p->a, "timing.stages.build.items"), >, 10);
    agree(p->a, "", &info, false);
    g_assert_cmpuint(qernic_stat(p->a, "pg332.timing.stages.build.items"), ==, 0);
}
