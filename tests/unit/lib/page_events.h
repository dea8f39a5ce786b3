/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The doorbell pages that have an event, as the engine said to its environment.
 */
#ifndef PAGE_EVENTS_H
#define PAGE_EVENTS_H

#include "fake_env.h"
#include "interfaces/common/db_pages.h"

static GHashTable *pages;

static inline void page_event(void *env, uint32_t page, bool on)
{
    /* It says only what changes. */
    g_assert_true(on ? g_hash_table_add(pages, GUINT_TO_POINTER(page)) :
                       g_hash_table_remove(pages, GUINT_TO_POINTER(page)));
}

static inline bool has_event(uint32_t page)
{
    return g_hash_table_contains(pages, GUINT_TO_POINTER(page));
}

/* From now on, the environment of @e has events; it must not have had queues. */
static inline void listen_pages(Ernic *e)
{
    static ErnicEnvOps ops;

    g_clear_pointer(&pages, g_hash_table_unref);
    pages = g_hash_table_new(NULL, NULL);
    ops = *e->ops;
    ops.page_event = page_event;
    e->ops = &ops;
    ernic_db_pages_derive(e);
}

#endif /* PAGE_EVENTS_H */
