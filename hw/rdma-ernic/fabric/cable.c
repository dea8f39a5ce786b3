/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of a cable. Times are kept as ns and ps, so that nothing is
 * rounded from frame to frame and nothing overflows.
 */
#include "qemu/osdep.h"
#include "fabric/cable.h"

#define PS_PER_NS       1000
#define PS_PER_S        1000000000000ull

void ernic_cable_send(ErnicCable *c, uint64_t now, uint64_t rate, bool paced,
                      ErnicCarried *f)
{
    uint64_t bits = (MAX(f->len, ERNIC_CABLE_MIN) + ERNIC_CABLE_EXTRA) * 8ull;
    uint64_t work = bits * PS_PER_S / rate;
    uint64_t back = paced ? DIV_ROUND_UP(work, PS_PER_NS) : 0;
    uint64_t ps;

    /*
     * The cable is idle when this frame begins: the rest of a ns does not
     * count.
     */
    if (c->free_ns + back < now) {
        c->free_ns = now - back;
        c->free_ps = back * PS_PER_NS - (paced ? work : 0);
    }
    c->start = c->free_ns + (c->free_ps != 0);
    ps = c->free_ps + work;
    c->free_ns += ps / PS_PER_NS;
    c->free_ps = ps % PS_PER_NS;
    f->due = c->free_ns + (c->free_ps != 0);
    ernic_carried_append(&c->sending, f);
}

ErnicCarried *ernic_cable_take(ErnicCable *c)
{
    ErnicCarried *f = ernic_carried_take(&c->flying);

    f->due = MAX(f->due, c->resumed);
    return f;
}

void ernic_cable_resume(ErnicCable *c, uint64_t now)
{
    c->resumed = MAX(c->resumed, now);
}

void ernic_cable_settle(ErnicCable *c)
{
    ErnicCarried *f;

    for (f = c->flying.head; f && f->due < c->resumed; f = f->next) {
        f->due = c->resumed;
    }
}

uint32_t ernic_cable_clear(ErnicCable *c, ErnicCarriedStore *st)
{
    uint32_t frames = ernic_carried_drop(st, &c->sending) +
                      ernic_carried_drop(st, &c->flying);

    *c = (ErnicCable) { };
    return frames;
}
