/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slice of work ends when its units are used up, and by the clock if it has one.
 */
#include "qemu/osdep.h"
#include "base/budget.h"
#include "test.h"

static uint64_t ns;             /* of the clock */
static uint32_t looks;

static uint64_t host_clock(void)
{
    looks++;
    return ns;
}

/* Without a clock units alone count, and none is looked at. */
TEST("/budget/units", test_units)
{
    ErnicBudget b = ernic_budget_new(NULL);

    ns = looks = 0;
    ernic_budget_charge(&b, ERNIC_WORK_SLICE - 1, 0);
    ns += 100 * ERNIC_WORK_NS;
    g_assert_true(ernic_budget_left(&b));
    ernic_budget_charge(&b, 0, ERNIC_WORK_BYTES);
    g_assert_false(ernic_budget_left(&b));
    ernic_budget_start(&b);
    g_assert_true(ernic_budget_left(&b));
    IS(b.end, 2 * ERNIC_WORK_SLICE);
    IS(looks, 0);
}

/* Neither has one that only has an end. */
TEST("/budget/end", test_end)
{
    ErnicBudget b = { .end = UINT64_MAX };

    ernic_budget_charge(&b, 1000 * ERNIC_WORK_SLICE, 0);
    g_assert_true(ernic_budget_left(&b));
    ernic_budget_look(&b);
    g_assert_true(ernic_budget_left(&b));
}

/* Work that takes longer than its units stand for: the time ends the slice. */
TEST("/budget/slow", test_slow)
{
    enum { STEP_NS = 50000 };
    ErnicBudget b = ernic_budget_new(host_clock);
    uint64_t before = 0;

    ns = 1;
    looks = 0;
    for (uint32_t slice = 0; slice < 3; slice++) {
        while (ernic_budget_left(&b)) {
            ns += STEP_NS;
            ernic_budget_charge(&b, ERNIC_WORK_LOOK, 0);
        }
        /* The first step begins the time. */
        IS(b.done - before, (1 + ERNIC_WORK_NS / STEP_NS) * ERNIC_WORK_LOOK);
        before = b.done;
        ernic_budget_start(&b);
        g_assert_true(ernic_budget_left(&b));
    }
    /* Work beyond the end does not begin a new slice. */
    ns += 2 * ERNIC_WORK_NS;
    ernic_budget_charge(&b, 1, 0);
    ns += 2 * ERNIC_WORK_NS;
    ernic_budget_charge(&b, ERNIC_WORK_LOOK, 0);
    g_assert_false(ernic_budget_left(&b));
    ernic_budget_charge(&b, ERNIC_WORK_LOOK, 0);
    g_assert_false(ernic_budget_left(&b));
}

/* Work as fast as its units say costs a look for each few of them. */
TEST("/budget/fast", test_fast)
{
    ErnicBudget b = ernic_budget_new(host_clock);

    ns = looks = 0;
    while (ernic_budget_left(&b)) {
        ns += 250;
        ernic_budget_charge(&b, 1, 0);
    }
    IS(b.done, ERNIC_WORK_SLICE);
    IS(looks, ERNIC_WORK_SLICE / ERNIC_WORK_LOOK);
}

/* The time before the first work is not that of the slice. */
TEST("/budget/idle", test_idle)
{
    ErnicBudget b = ernic_budget_new(host_clock);

    ns = 100 * ERNIC_WORK_NS;
    ernic_budget_charge(&b, ERNIC_WORK_LOOK, 0);
    g_assert_true(ernic_budget_left(&b));
}

/* A step of the host's kernel may be looked at by itself. */
TEST("/budget/step", test_step)
{
    ErnicBudget b = ernic_budget_new(host_clock);

    ns = 1;
    ernic_budget_charge(&b, 1, 0);
    ns += ERNIC_WORK_NS;
    ernic_budget_charge(&b, 1, 0);
    g_assert_true(ernic_budget_left(&b));
    ernic_budget_look(&b);
    g_assert_false(ernic_budget_left(&b));
}
