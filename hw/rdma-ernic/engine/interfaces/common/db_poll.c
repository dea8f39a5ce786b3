/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send queues that have run empty while the environment polls. Their records are read
 * again and again, so that software need not ring.
 */
#include "qemu/osdep.h"
#include "interfaces/common/db_pages.h"
#include "trace.h"

bool ernic_db_watch(Ernic *e, uint32_t number)
{
    ErnicDbPages *pages = e->db_pages;
    uint32_t i;

    if (!pages->polled) {
        return false;
    }
    for (i = 0; i < pages->num_watched; i++) {
        if (pages->watched[i] == number) {
            return true;
        }
    }
    if (pages->num_watched == ERNIC_DB_WATCHED) {
        return false;
    }
    pages->watched[pages->num_watched++] = number;
    return true;
}

/* While held, nothing is read; a turn that is held asks later. */
bool ernic_db_poll(Ernic *e, bool on)
{
    ErnicDbPages *pages = e->db_pages;
    uint32_t i, left = 0, before = pages->num_watched;

    pages->polled = on;
    if (on && pages->held) {
        return false;
    }
    for (i = 0; i < before; i++) {
        if (e->interface->db_pages->watch(e, pages->watched[i], on)) {
            pages->watched[left++] = pages->watched[i];
        } else {
            trace_ernic_db_polled(pages->watched[i], on);
        }
    }
    pages->num_watched = left;
    return left != before;
}
