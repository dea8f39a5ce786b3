/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread that closes descriptors of peers.
 */
#include "qemu/osdep.h"
#include <unistd.h>
#include "links/shm/close.h"

static gint closing;

/* The pool takes no NULL. */
static void close_one(gpointer data, gpointer opaque)
{
    close(GPOINTER_TO_INT(data) - 1);
    g_atomic_int_add(&closing, -1);
}

ErnicShmCloser *ernic_shm_closer_new(void)
{
    return g_thread_pool_new(close_one, NULL, 1, false, NULL);
}

void ernic_shm_closer_free(ErnicShmCloser *c)
{
    g_thread_pool_free(c, false, false);
}

void ernic_shm_close(ErnicShmCloser *c, int fd)
{
    g_atomic_int_inc(&closing);
    /* If there can be no thread now, it waits for a later one. */
    g_thread_pool_push(c, GINT_TO_POINTER(fd + 1), NULL);
}

uint32_t ernic_shm_closing(ErnicShmCloser *c)
{
    return c ? g_thread_pool_unprocessed(c) : g_atomic_int_get(&closing);
}
