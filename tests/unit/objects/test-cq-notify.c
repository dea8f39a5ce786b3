/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion queues: when software is notified. Doorbells and their races, arming,
 * and moderation.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "cq_fixture.h"

/* Each raises @n events. */
static void post_raises(Fixture *f, uint32_t n)
{
    post(f);
    IS(events(f), n);
}

static void arm_raises(Fixture *f, bool solicited, uint32_t n)
{
    arm(f, solicited);
    IS(events(f), n);
}

FIXTURE_TEST("/cq-notify/doorbell-refused", test_doorbell_refused)
{
    static const int32_t wrong[] = { 3, 4, 1000, INT32_MAX, INT32_MIN, -3, -4, -1000 };
    uint32_t base = 0xffffffff;

    start_at(f, base);
    post(f);
    post(f);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        IS(ernic_cq_consume(&f->e, f->cqn, base + wrong[i]), ERNIC_ERR_FULL);
        IS(ernic_cq_arm(&f->e, f->cqn, base + wrong[i], i % 2), ERNIC_ERR_FULL);
        IS(cq(f)->ci, base);
        IS(cq(f)->arm, ERNIC_CQ_DISARMED);
    }
    IS(ernic_trace_count("ernic_guest_cq_ci"), 2 * ARRAY_SIZE(wrong));
    IS(events(f), 0);
}

/* A late doorbell does not move the index back, and its arming counts. */
FIXTURE_TEST("/cq-notify/doorbell-late", test_doorbell_late)
{
    post_solicited(f);
    post(f);
    OK(ernic_cq_consume(&f->e, f->cqn, 2));
    OK(ernic_cq_consume(&f->e, f->cqn, 1));
    IS(cq(f)->ci, 2);
    OK(ernic_cq_arm(&f->e, f->cqn, 1, false));
    IS(events(f), 1);
    OK(ernic_cq_arm(&f->e, f->cqn, 0, true));
    IS(events(f), 1);
    IS(cq(f)->ci, 2);
}

/* The entry was added between the last poll and the arming. */
FIXTURE_TEST("/cq-notify/arm-race", test_arm_race)
{
    expect_none(f);
    post(f);
    arm_raises(f, false, 1);
    post_raises(f, 0);
    expect_many(f, 0, 2);
    arm(f, false);
    arm_raises(f, false, 0);
    post_raises(f, 1);
}

/* 11.4.2.2: entries added before the arming raise no event, even if not consumed. */
FIXTURE_TEST("/cq-notify/arm-seen", test_arm_seen)
{
    recreate(f, 4, true);
    post_solicited(f);
    post(f);
    for (uint32_t i = 0; i < 2; i++) {
        OK(ernic_cq_arm(&f->e, f->cqn, 2, i));
        IS(events(f), 0);
        IS(cq(f)->ci, 0);
    }
    post_solicited(f);
    IS(events(f), 1);
    /* One that was added while the doorbell was in flight. */
    OK(ernic_cq_arm(&f->e, f->cqn, 2, true));
    IS(events(f), 1);
    IS(ernic_cq_arm(&f->e, f->cqn, 4, false), ERNIC_ERR_FULL);
    IS(cq(f)->arm, ERNIC_CQ_DISARMED);
    /* No entry was overwritten: the ring is full with one more. */
    post(f);
    post_fails(f);
    g_assert_true(cq(f)->overrun);
    expect_many(f, 0, 4);
}

/*
 * The thread that arms was delayed, and others have consumed more than a ring since:
 * its doorbell is late, and does not arm.
 */
FIXTURE_TEST("/cq-notify/arm-overtaken", test_arm_overtaken)
{
    uint32_t late = 0xfffffffeu;

    recreate(f, 4, true);
    start_at(f, late);
    for (uint32_t i = 0; i < 9; i++) {
        post(f);
        expect(f, i);
        put_ci(f, f->seen);
    }
    for (uint32_t i = 0; i < 2; i++) {
        OK(ernic_cq_arm(&f->e, f->cqn, late, i));
        IS(events(f), 1);
        IS(cq(f)->arm, ERNIC_CQ_DISARMED);
    }
    /* An index past the last entry is refused. */
    IS(ernic_cq_arm(&f->e, f->cqn, f->seen + 1, false), ERNIC_ERR_FULL);
    IS(cq(f)->arm, ERNIC_CQ_DISARMED);
}

FIXTURE_TEST("/cq-notify/arm-solicited-race", test_arm_solicited_race)
{
    /* Unseen, but not solicited. */
    post(f);
    arm_raises(f, true, 0);
    /* Software has seen the solicited entry: it does not count again. */
    post_solicited(f);
    IS(events(f), 1);
    post(f);
    f->seen = 2;
    arm_raises(f, true, 0);
    post_error(f);
    IS(events(f), 1);
    /* Unseen and solicited, with a later one that is not. */
    f->seen = 3;
    consume(f);
    post(f);
    arm_raises(f, true, 1);
}

/* Armed for any entry, then for solicited ones: it stays armed for any until it fires. */
FIXTURE_TEST("/cq-notify/arm-stronger", test_arm_stronger)
{
    arm(f, false);
    arm(f, true);
    post_raises(f, 1);
    expect(f, 0);
    arm(f, true);
    arm(f, false);
    post_raises(f, 1);
    expect(f, 1);
    arm(f, true);
    post_raises(f, 0);
}

/* The event queue is full: the completion event waits and is not lost. */
FIXTURE_TEST("/cq-notify/eq-full", test_eq_full)
{
    ErnicEq *eq = &f->e.eq[f->eqn];

    eq->ci = eq->pi - eq->depth;
    arm(f, false);
    post(f);
    IS(f->env.irqs->len, 0);
    IS(eq->line_count, 1);
    OK(ernic_eq_consume(&f->e, f->eqn, eq->pi));
    IS(f->env.irqs->len, 1);
    IS(events(f), 1);

    /* A destroyed queue leaves no pending event. */
    eq->ci = eq->pi - eq->depth;
    expect(f, 0);
    arm(f, false);
    post(f);
    IS(eq->line_count, 1);
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    IS(eq->line_count, 0);
    f->cqn = 0;
    eq->ci = eq->pi;
}

static void moderate(Fixture *f, uint16_t count, uint16_t period_us)
{
    struct ernic_cmd_cq_moderate cmd = {
        .handle = cpu_to_le32(f->cqn), .count = cpu_to_le16(count),
        .period_us = cpu_to_le16(period_us),
    };

    OK(ernic_cq_moderate(&f->e, 0, &cmd));
}

FIXTURE_TEST("/cq-notify/moderate-period", test_moderate_period)
{
    uint64_t start = f->e.now;

    moderate(f, 100, 50);
    arm(f, false);
    post(f);
    f->e.now += 20 * US;
    post(f);                    /* the first one's deadline stands */
    ernic_cq_moderation_run(&f->e);
    IS(ernic_timers_next(f->e.cq_timers), start + 50 * US);
    IS(events(f), 0);
    f->e.now = start + 50 * US - 1;
    ernic_cq_moderation_run(&f->e);
    IS(ernic_timers_next(f->e.cq_timers), start + 50 * US);
    IS(events(f), 0);
    f->e.now = start + 50 * US;
    ernic_cq_moderation_run(&f->e);
    IS(ernic_timers_next(f->e.cq_timers), ERNIC_NEVER);
    IS(events(f), 1);
    IS(cq(f)->arm, ERNIC_CQ_DISARMED);
}

/* A count without a period, or a count of 0 or 1, holds nothing back. */
FIXTURE_TEST("/cq-notify/moderate-off", test_moderate_off)
{
    static const uint16_t rows[][2] = {
        { 0, 0 }, { 1, 0 }, { 100, 0 }, { 0, 100 }, { 1, 100 },
    };

    recreate(f, 8, false);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        moderate(f, rows[i][0], rows[i][1]);
        arm(f, false);
        post_raises(f, 1);
        f->seen++;
    }
}

/* A change of the moderation applies to entries that it already holds back. */
FIXTURE_TEST("/cq-notify/moderate-change", test_moderate_change)
{
    recreate(f, 8, false);
    moderate(f, 100, 1000);
    arm(f, false);
    post(f);
    post(f);
    moderate(f, 3, 100);
    IS(ernic_timers_next(f->e.cq_timers), f->e.now + 100 * US);
    IS(events(f), 0);
    moderate(f, 2, 100);
    IS(events(f), 1);
    IS(ernic_timers_next(f->e.cq_timers), ERNIC_NEVER);

    f->seen = 2;
    moderate(f, 100, 1000);
    arm(f, false);
    post(f);
    moderate(f, 0, 0);
    IS(events(f), 1);

    /* Arming again with unseen entries raises the event at once. */
    f->seen = 3;
    moderate(f, 100, 1000);
    arm(f, false);
    post_raises(f, 0);
    arm_raises(f, false, 1);
    IS(ernic_timers_next(f->e.cq_timers), ERNIC_NEVER);
    moderate(f, 100, 1000);
    f->seen = 4;
    arm(f, false);
    post(f);        /* teardown destroys it with a deadline set */
}

/* A device with more completion queues than one run notifies. */
static void many_cqs(Ernic *e, uint32_t size)
{
    ernic_ids_fini(&e->cq_ids);
    ernic_ids_init(&e->cq_ids, 1, size);
    ernic_timers_free(e->cq_timers);
    e->cq_timers = ernic_timers_new(size);
    g_free(e->cq);
    e->cq = g_new0(ErnicCq, size);
    e->events_at[ERNIC_EVC_CQ].base = &e->cq->events;
    e->cfg.max_cq = size;
}

/* All queues that are due raise their event: a share of a slice, and one at least. */
FIXTURE_TEST("/cq-notify/moderate-many", test_moderate_many)
{
    struct ernic_cmd_cq_moderate mod = {
        .count = cpu_to_le16(9), .period_us = cpu_to_le16(5),
    };
    enum { MOST = ERNIC_WORK_SHARE / ERNIC_WORK_TURN };
    uint32_t cqn, raised = 0, n = 3 * MOST, runs = 0;
    struct ernic_cmd_cq_create cmd = command(f, 2);
    ErnicWc wc = { .wr_id = 1 };

    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    f->cqn = 0;
    many_cqs(&f->e, n + 1);
    /* The backlog of the event queue holds one entry per object: create a new one. */
    OK(ernic_eq_destroy(&f->e, 0, f->eqn));
    create_eq(f, 4 * MOST);
    cmd.eq = cpu_to_le32(f->eqn);
    while (ernic_cq_create(&f->e, 0, &cmd, &cqn) == ERNIC_OK) {
        mod.handle = cpu_to_le32(cqn);
        OK(ernic_cq_moderate(&f->e, 0, &mod));
        OK(ernic_cq_arm(&f->e, cqn, 0, false));
        g_assert_true(ernic_cq_post(&f->e, cqn, &wc));
    }
    f->e.now += 5 * US;
    for (; raised < n; runs++) {
        uint64_t before = f->e.work.done;

        IS(ernic_timers_next(f->e.cq_timers), f->e.now);
        /* One slice has no room. */
        f->e.work.end = runs == 1 ? 0 : UINT64_MAX;
        ernic_cq_moderation_run(&f->e);
        g_assert_cmpuint(f->e.stats.events - raised, <=, runs == 1 ? 1 : MOST);
        g_assert_cmpuint(f->e.stats.events, >, raised);
        g_assert_cmpuint(f->e.work.done - before, <, 2 * ERNIC_WORK_SHARE);
        raised = f->e.stats.events;
    }
    g_assert_cmpuint(runs, >, 3);
    IS(raised, n);
    IS(ernic_timers_next(f->e.cq_timers), ERNIC_NEVER);
    for (cqn = 1; cqn <= n; cqn++) {
        IS(f->e.cq[cqn].arm, ERNIC_CQ_DISARMED);
        OK(ernic_cq_destroy(&f->e, 0, cqn));
    }
}
