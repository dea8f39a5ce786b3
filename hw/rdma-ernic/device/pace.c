/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time that the DMA engines of a shell take under the timing model.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "migration/vmstate.h"
#include "device/clock.h"
#include "device/life.h"
#include "device/pace.h"
#include "engine/timing/profile.h"
#include "hw/rdma-ernic/trace.h"

#define PS_PER_NS   1000u

static uint64_t work(const ErnicProfile *profile, uint32_t len)
{
    const ErnicCost *cost = &profile->shell;
    uint64_t cycles = cost->packet + (cost->width ? DIV_ROUND_UP(len, cost->width) : 0);

    return cycles * profile->host_ps;
}

static void begin(ErnicPci *d, ErnicPace *p, uint32_t owner, uint32_t len)
{
    uint64_t now = ernic_pci_now() * PS_PER_NS;
    uint64_t from = p->last ? MIN(p->last, now) : now + d->profile->shell.latency;

    p->owner = owner;
    p->due = MAX(from + work(d->profile, len), 1);
    trace_ernic_pace(ernic_pci_id(d), owner, len, p->due);
}

bool ernic_pace_waits(ErnicPci *d, ErnicPace *p, uint32_t owner, uint32_t len)
{
    QEMUTimer *timer = &d->shell.worker.paced;
    int64_t at;

    if (!d->profile || ernic_pci_gone(d)) {
        return false;
    }
    if (!p->due || p->owner != owner) {
        begin(d, p, owner, len);
    }
    at = MIN(DIV_ROUND_UP(p->due, PS_PER_NS), INT64_MAX);
    if (at <= ernic_pci_now()) {
        return false;
    }
    if (!timer_pending(timer) || at < timer_expire_time_ns(timer)) {
        timer_mod_ns(timer, at);
    }
    return true;
}

void ernic_pace_done(ErnicPace *p)
{
    p->last = p->due;
    p->due = 0;
}

void ernic_pace_idle(ErnicPace *p)
{
    p->last = 0;
}

void ernic_pace_cancel(ErnicPace *p)
{
    p->due = 0;
}

void ernic_pace_stall(ErnicPace *p)
{
    p->due = p->last = 0;
}

void ernic_pace_reset(ErnicPci *d)
{
    memset(d->shell.pace, 0, sizeof(d->shell.pace));
}

void ernic_pace_no_power(ErnicPci *d)
{
    if (!ernic_pci_powered(d)) {
        ernic_pace_reset(d);
    }
}

/* ---- migration ------------------------------------------------------------------- */

static bool has_pace(void *opaque)
{
    const ErnicPci *d = opaque;

    return d->profile && !buffer_is_zero(d->shell.pace, sizeof(d->shell.pace));
}

static void costs_of(const ErnicPci *d, uint64_t costs[ERNIC_PACE_COSTS])
{
    costs[0] = d->profile->shell.latency;
    costs[1] = d->profile->shell.packet;
    costs[2] = d->profile->shell.width;
}

static int pace_pre_save(void *opaque)
{
    ErnicPci *d = opaque;

    costs_of(d, d->shell.pace_costs);
    return 0;
}

/* Compares this part of the profile. The engine compares the rest. */
static int pace_post_load(void *opaque, int version)
{
    ErnicPci *d = opaque;
    uint64_t costs[ERNIC_PACE_COSTS];

    costs_of(d, costs);
    if (memcmp(costs, d->shell.pace_costs, sizeof(costs))) {
        error_report("ernic: the incoming state has other costs of a shell");
        return -EINVAL;
    }
    return 0;
}

static int pace_pre_load(void *opaque)
{
    const ErnicPci *d = opaque;

    return d->profile ? 0 : -EINVAL;
}

static const VMStateDescription state_vmstate = ERNIC_VMSTATE(
    "ernic/pace-state",
    VMSTATE_UINT64(due, ErnicPace),
    VMSTATE_UINT64(last, ErnicPace),
    VMSTATE_UINT32(owner, ErnicPace));

/* Any values will do: an engine that waits for ever is one of the guest alone. */
const VMStateDescription ernic_pace_vmstate = {
    ERNIC_VMSTATE_V1("ernic/pace"),
    .needed = has_pace,
    .pre_save = pace_pre_save,
    .pre_load = pace_pre_load,
    .post_load = pace_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(shell.pace_costs, ErnicPci, ERNIC_PACE_COSTS),
        VMSTATE_STRUCT_ARRAY(shell.pace, ErnicPci, ERNIC_PACES, 1, state_vmstate,
                             ErnicPace),
        VMSTATE_END_OF_LIST()
    }
};
