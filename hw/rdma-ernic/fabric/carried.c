/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames: their lists and their memory.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "fabric/carried.h"

/* ---- lists ----------------------------------------------------------------- */

void ernic_carried_append(ErnicCarriedList *l, ErnicCarried *f)
{
    f->next = NULL;
    *(l->head ? &l->tail->next : &l->head) = f;
    l->tail = f;
    l->frames += f->len != 0;
}

uint32_t ernic_carried_insert(ErnicCarriedList *l, ErnicCarried *f, bool late)
{
    ErnicCarried **at = &l->head;
    uint32_t looks = 0;

    if (l->on_time && l->on_time->due <= f->due) {
        at = &l->on_time->next;
    }
    if (!l->head || l->tail->due <= f->due) {
        ernic_carried_append(l, f);
    } else {
        for (; (*at)->due <= f->due; at = &(*at)->next) {
            looks++;
        }
        f->next = *at;
        *at = f;
        l->frames += f->len != 0;
    }
    l->on_time = late ? l->on_time : f;
    return looks;
}

ErnicCarried *ernic_carried_take(ErnicCarriedList *l)
{
    ErnicCarried *f = l->head;

    l->head = f->next;
    l->frames -= f->len != 0;
    if (l->on_time == f) {
        l->on_time = NULL;
    }
    return f;
}

/* ---- memory ---------------------------------------------------------------- */

void ernic_carried_init(ErnicCarriedStore *st)
{
    *st = (ErnicCarriedStore) { };
}

void ernic_carried_fini(ErnicCarriedStore *st)
{
    ErnicBudget all = { .end = UINT64_MAX };

    ernic_carried_reap(st, &all);
    g_assert(!st->used);
}

static size_t size_of(uint32_t len)
{
    return sizeof(ErnicCarried) + len;
}

/* So frames that wait to be freed do not add up. */
static void make_room(ErnicCarriedStore *st, size_t bytes)
{
    size_t freed = 0;
    ErnicCarried *f;

    while (freed < bytes && st->dropped.head) {
        f = ernic_carried_take(&st->dropped);
        freed += size_of(f->len);
        ernic_carried_free(st, f);
    }
}

/*
 * Signals are few: their senders stop. They do not depend on this memory, or a sender
 * would never go on.
 */
ErnicCarried *ernic_carried_new(ErnicCarriedStore *st, const uint8_t *data,
                                uint32_t len, uint32_t from)
{
    size_t bytes = size_of(len);
    ErnicCarried *f = NULL;

    if (!len) {
        f = g_malloc(bytes);
    } else {
        make_room(st, bytes);
        f = ernic_block_new(bytes, false);
    }
    if (!f) {
        return NULL;
    }
    *f = (ErnicCarried) { .len = len, .from = from };
    if (len) {
        st->used += bytes;
    }
    if (data) {
        memcpy(f->data, data, len);
    }
    return f;
}

void ernic_carried_free(ErnicCarriedStore *st, ErnicCarried *f)
{
    if (!f->len) {
        g_free(f);
        return;
    }
    st->used -= size_of(f->len);
    ernic_block_free(f, size_of(f->len));
}

uint32_t ernic_carried_drop(ErnicCarriedStore *st, ErnicCarriedList *l)
{
    ErnicCarriedList *to = &st->dropped;
    uint32_t frames = l->frames;

    if (l->head) {
        *(to->head ? &to->tail->next : &to->head) = l->head;
        to->tail = l->tail;
        to->frames += frames;
    }
    *l = (ErnicCarriedList) { };
    return frames;
}

bool ernic_carried_waits(const ErnicCarriedStore *st)
{
    return st->dropped.head;
}

bool ernic_carried_reap(ErnicCarriedStore *st, ErnicBudget *work)
{
    ErnicCarried *f;
    uint32_t len;

    while (ernic_carried_waits(st)) {
        if (!ernic_budget_left(work)) {
            return false;
        }
        f = ernic_carried_take(&st->dropped);
        len = f->len;
        ernic_carried_free(st, f);
        ernic_budget_charge(work, ERNIC_WORK_ACCESS, len / 4);      /* its pages go */
    }
    return true;
}
