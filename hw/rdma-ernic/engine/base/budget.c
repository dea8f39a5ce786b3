/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time of a slice.
 */
#include "qemu/osdep.h"
#include "base/budget.h"
#include "trace.h"

void ernic_budget_look(ErnicBudget *b)
{
    uint64_t now;

    if (!b->clock) {
        b->look = UINT64_MAX;
        return;
    }
    now = b->clock();
    b->look = b->done + ERNIC_WORK_LOOK;
    if (!b->until) {
        b->until = now + ERNIC_WORK_NS;
    } else if (now >= b->until && ernic_budget_left(b)) {
        trace_ernic_slice_late(b->end - b->done);
        b->end = b->done;
    }
}
