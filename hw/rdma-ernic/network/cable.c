/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of a cable. Times are kept as ns and ps, so that nothing is
 * rounded from frame to frame and nothing overflows.
 */
#include "qemu/osdep.h"
#include "network/cable.h"

#define PS_PER_NS       1000
#define PS_PER_S        1000000000000ull

/* ---- lists ----------------------------------------------------------------- */

ErnicCarried *ernic_carried_new(const uint8_t *data, uint32_t len,
                                uint32_t from)
{
    ErnicCarried *f = g_malloc(sizeof(*f) + len);

    *f = (ErnicCarried) { .len = len, .from = from };
    if (len) {
        memcpy(f->data, data, len);
    }
    return f;
}

void ernic_carried_append(ErnicCarriedList *l, ErnicCarried *f)
{
    f->next = NULL;
    *(l->head ? &l->tail->next : &l->head) = f;
    l->tail = f;
}

void ernic_carried_insert(ErnicCarriedList *l, ErnicCarried *f)
{
    ErnicCarried **at = &l->head;

    if (!l->head || l->tail->due <= f->due) {
        ernic_carried_append(l, f);
        return;
    }
    while ((*at)->due <= f->due) {
        at = &(*at)->next;
    }
    f->next = *at;
    *at = f;
}

ErnicCarried *ernic_carried_take(ErnicCarriedList *l)
{
    ErnicCarried *f = l->head;

    l->head = f->next;
    return f;
}

uint32_t ernic_carried_drop(ErnicCarriedList *l)
{
    uint32_t frames = 0;
    ErnicCarried *f;

    while (l->head) {
        f = ernic_carried_take(l);
        frames += f->len != 0;
        g_free(f);
    }
    return frames;
}

/* ---- the cable ------------------------------------------------------------- */

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

uint32_t ernic_cable_clear(ErnicCable *c)
{
    uint32_t frames = ernic_carried_drop(&c->sending) +
                      ernic_carried_drop(&c->flying);

    *c = (ErnicCable) { };
    return frames;
}
