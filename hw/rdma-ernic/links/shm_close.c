/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread that closes descriptors of peers.
 */
#include "qemu/osdep.h"
#include <unistd.h>
#include "links/shm_close.h"

/* Each descriptor that waits has a reference. */
struct ErnicShmCloser {
    GThreadPool *pool;
    gint closing;
};

static gint all_closing;

/* The pool takes no NULL. */
static void close_one(gpointer data, gpointer opaque)
{
    ErnicShmCloser *c = opaque;

    close(GPOINTER_TO_INT(data) - 1);
    g_atomic_int_add(&c->closing, -1);
    g_atomic_int_add(&all_closing, -1);
    g_atomic_rc_box_release(c);
}

ErnicShmCloser *ernic_shm_closer_new(void)
{
    ErnicShmCloser *c = g_atomic_rc_box_new0(ErnicShmCloser);

    c->pool = g_thread_pool_new(close_one, c, 1, false, NULL);
    return c;
}

void ernic_shm_closer_free(ErnicShmCloser *c)
{
    g_thread_pool_free(c->pool, false, false);
    g_atomic_rc_box_release(c);
}

void ernic_shm_close(ErnicShmCloser *c, int fd)
{
    g_atomic_int_inc(&c->closing);
    g_atomic_int_inc(&all_closing);
    g_atomic_rc_box_acquire(c);
    /* If there can be no thread now, it waits for a later one. */
    g_thread_pool_push(c->pool, GINT_TO_POINTER(fd + 1), NULL);
}

uint32_t ernic_shm_closing(const ErnicShmCloser *c)
{
    return g_atomic_int_get(c ? &c->closing : &all_closing);
}
