/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread that closes descriptors of peers.
 */
#include "qemu/osdep.h"
#include <unistd.h>
#include "links/shm_close.h"

static gint closing;

/* The pool takes no NULL. */
static void close_one(gpointer data, gpointer opaque)
{
    close(GPOINTER_TO_INT(data) - 1);
    g_atomic_int_add(&closing, -1);
}

void ernic_shm_close(int fd)
{
    static gsize pool;

    if (g_once_init_enter(&pool)) {
        g_once_init_leave(&pool, (gsize)g_thread_pool_new(close_one, NULL, 1, false,
                                                          NULL));
    }
    g_atomic_int_inc(&closing);
    /* If there can be no thread now, it waits for a later one. */
    g_thread_pool_push((GThreadPool *)pool, GINT_TO_POINTER(fd + 1), NULL);
}

uint32_t ernic_shm_closing(void)
{
    return g_atomic_int_get(&closing);
}
