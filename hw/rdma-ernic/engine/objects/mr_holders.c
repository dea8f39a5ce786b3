/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys that hold a region: bound windows, and lists of its pieces. They are in one
 * list, because the table of keys is large and few of them hold another one; the list has
 * a limit, because it is walked in one call.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/mr.h"

/* Whether @mr, which is in use, holds a region. */
static bool holds(const ErnicMr *mr)
{
    return mr->buf.used || (mr->valid && (mr->kind == ERNIC_MR_WINDOW_1 ||
                                          mr->kind == ERNIC_MR_WINDOW_2));
}

static void join(Ernic *e, ErnicMr *mr)
{
    uint32_t number = mr - e->mr;

    mr->holder = (ErnicMrLink) { .next = e->holders };
    if (e->holders) {
        e->mr[e->holders].holder.prev = number;
    }
    e->holders = number;
    e->num_holders++;
}

bool ernic_mr_may_hold(const Ernic *e, const ErnicMr *mr)
{
    return holds(mr) || e->num_holders < ERNIC_LIM_HOLDERS;
}

void ernic_mr_hold(Ernic *e, ErnicMr *mr, uint32_t number)
{
    g_assert(!mr->region && ernic_mr_may_hold(e, mr));
    g_assert(number && e->mr[number].valid);
    mr->region = number;
    e->mr[number].refs++;
    join(e, mr);
}

static void release(Ernic *e, ErnicMr *mr)
{
    g_assert(e->mr[mr->region].refs > 0 && e->num_holders > 0);
    e->mr[mr->region].refs--;
    mr->region = 0;
    if (mr->holder.prev) {
        e->mr[mr->holder.prev].holder.next = mr->holder.next;
    } else {
        e->holders = mr->holder.next;
    }
    if (mr->holder.next) {
        e->mr[mr->holder.next].holder.prev = mr->holder.prev;
    }
    mr->holder = (ErnicMrLink) { };
    e->num_holders--;
}

void ernic_mr_drop_pieces(Ernic *e, ErnicMr *mr)
{
    if (mr->buf.used) {
        release(e, mr);
        mr->buf.used = 0;
    }
}

void ernic_mw_unbind(Ernic *e, ErnicMr *mw)
{
    if (!mw->valid) {
        return;
    }
    release(e, mw);
    if (mw->kind == ERNIC_MR_WINDOW_2) {
        g_assert(e->num_bound > 0);
        e->num_bound--;
    }
    mw->valid = false;
    mw->access = 0;
    mw->iova = mw->length = mw->offset = 0;
    mw->qpn = 0;
}

/* Unbind the windows of regions that are closed. */
static uint32_t unbind_closed(Ernic *e)
{
    uint32_t id, next, walked = 0;

    for (id = e->holders; id; id = next, walked++) {
        ErnicMr *of = &e->mr[id];

        next = of->holder.next;
        if (!of->buf.used && !e->mr[of->region].valid) {
            ernic_mw_unbind(e, of);
        }
    }
    return walked;
}

void ernic_mr_abandon(Ernic *e, ErnicMr *mr)
{
    uint32_t number = mr - e->mr, id, next, walked = 0;
    bool held = false;

    for (id = e->holders; id && mr->refs; id = next, walked++) {
        ErnicMr *of = &e->mr[id];

        next = of->holder.next;
        if (of->region != number) {
            continue;
        }
        if (of->buf.used) {
            ernic_mr_drop_pieces(e, of);
            of->valid = false;
            held |= of->refs;
        } else {
            ernic_mw_unbind(e, of);
        }
    }
    if (held) {
        walked += unbind_closed(e);
    }
    ernic_charge_objects(e, walked);
}

void ernic_mw_forget_qp(Ernic *e, uint32_t qpn)
{
    uint32_t id, next, walked = 0;

    for (id = e->holders; id && e->num_bound; id = next, walked++) {
        next = e->mr[id].holder.next;
        if (e->mr[id].kind == ERNIC_MR_WINDOW_2 && e->mr[id].qpn == qpn) {
            ernic_mw_unbind(e, &e->mr[id]);
        }
    }
    ernic_charge_objects(e, walked);
}

void ernic_mr_derive(Ernic *e)
{
    uint32_t i;

    e->num_bound = e->holders = e->num_holders = 0;
    for (i = 1; i < e->mr_ids.fresh; i++) {
        e->num_bound += e->mr[i].valid && e->mr[i].kind == ERNIC_MR_WINDOW_2;
        if (e->mr[i].kind != ERNIC_MR_FREE && holds(&e->mr[i])) {
            join(e, &e->mr[i]);
        }
    }
}

bool ernic_mr_holders_ok(const Ernic *e)
{
    uint32_t left = 0, last = 0, i;

    for (i = 1; i < e->mr_ids.fresh; i++) {
        left += e->mr[i].kind != ERNIC_MR_FREE && holds(&e->mr[i]);
    }
    if (left != e->num_holders || left > ERNIC_LIM_HOLDERS) {
        return false;
    }
    for (i = e->holders; i && left; i = e->mr[i].holder.next, left--) {
        if (i >= e->mr_ids.fresh || !holds(&e->mr[i]) ||
            e->mr[i].holder.prev != last) {
            return false;
        }
        last = i;
    }
    return !i && !left;
}
