/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slice of work of the QDMA: timers of completions, then all engines in turns.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "engine/base/budget.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/mm.h"
#include "bars/qdma/slice.h"
#include "bars/qdma/stream.h"
#include "device/card.h"
#include "device/clock.h"
#include "device/pace.h"

static bool may_run(ErnicPci *d)
{
    return ernic_pci_working(d) && runstate_is_running();
}

/*
 * A packet of each port. False: the card that has received a frame may have stopped this
 * function, or the machine.
 */
static bool streams(ErnicPci *d, ErnicBudget *work, bool *more)
{
    uint32_t port;
    QdmaStep did;

    for (port = 0; port < ERNIC_QDMA_PORTS; port++) {
        did = qdma_h2c_step(d, port, work);
        if (did == QDMA_GONE || !may_run(d)) {
            return false;
        }
        *more |= did == QDMA_WORKED;
    }
    return true;
}

void qdma_slice_run(ErnicPci *d)
{
    bool more = true;
    ErnicBudget work = ernic_budget_new(ernic_pci_clock(d));

    assert(bql_locked());
    if (!may_run(d)) {
        ernic_pace_no_power(d);
        return;
    }
    qdma_cmpt_timers(d, &work);
    while (ernic_budget_left(&work) && more) {
        more = false;
        if (!streams(d, &work, &more)) {
            return;
        }
        more |= qdma_mm_step(d, ERNIC_QDMA_H2C, &work);
        more |= qdma_mm_step(d, ERNIC_QDMA_C2H, &work);
    }
    if (!ernic_budget_left(&work)) {
        ernic_pci_card_continue(d);
    }
}
