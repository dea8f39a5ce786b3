/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue of frames between two threads: order, room, wake-ups, and both threads at
 * once.
 */
#include "qemu/osdep.h"
#include "links/frame_queue.h"
#include "test.h"

#define FRAME   1500

/* Frame number @i: its length and its bytes follow from the number. */
static uint32_t length_of(uint32_t i)
{
    return i % FRAME;
}

static bool put(ErnicFrameQueue *q, uint32_t i)
{
    uint8_t frame[FRAME];
    uint32_t len = length_of(i), head = len / 3;

    memset(frame, i, len);
    return ernic_frame_queue_put(q, (struct iovec[]) {
        { frame, head }, { frame + head, len - head },
    }, 2);
}

/* Takes frame @i, or finds that there is none. */
static bool take(ErnicFrameQueue *q, uint32_t i, bool *room)
{
    uint8_t expected[FRAME];
    uint32_t len;
    const uint8_t *frame = ernic_frame_queue_next(q, &len, room);

    if (!frame) {
        return false;
    }
    memset(expected, i, sizeof(expected));
    g_assert_cmpmem(frame, len, expected, length_of(i));
    return true;
}

TEST("/frame-queue/order", test_order)
{
    ErnicFrameQueue q;
    bool room = false;
    uint32_t i;

    ernic_frame_queue_init(&q);
    g_assert_false(ernic_frame_queue_has(&q));
    g_assert_false(take(&q, 0, &room));
    g_assert_true(put(&q, 0));
    g_assert_true(ernic_frame_queue_has(&q));
    for (i = 1; i < 50; i++) {
        g_assert_false(put(&q, i));             /* the reader has been woken */
    }
    g_assert_true(take(&q, 0, &room));
    /* The reader has one buffer, so the other one is empty again. */
    g_assert_true(put(&q, 50));
    g_assert_false(put(&q, 51));
    for (i = 1; i < 52; i++) {
        g_assert_true(take(&q, i, &room));
    }
    g_assert_false(take(&q, i, &room));
    g_assert_false(ernic_frame_queue_has(&q));
    g_assert_false(room);
    ernic_frame_queue_fini(&q);
}

TEST("/frame-queue/room", test_room)
{
    ErnicFrameQueue q;
    bool room = false;
    uint32_t n;

    ernic_frame_queue_init(&q);
    g_assert_false(ernic_frame_queue_room(&q, 1, ERNIC_FRAME_QUEUE_BYTES));
    g_assert_false(take(&q, 0, &room));
    g_assert_true(room);
    g_assert_true(ernic_frame_queue_room(&q, 64, ERNIC_FRAME_QUEUE_BYTES - 64 * 4));
    g_assert_false(ernic_frame_queue_full(&q));
    for (n = 0; ernic_frame_queue_room(&q, 1, length_of(n)); n++) {
        put(&q, n);
    }
    g_assert_true(ernic_frame_queue_full(&q));
    for (uint32_t i = 0; i < n; i++) {
        room = false;
        g_assert_true(take(&q, i, &room));
        IS(room, i == 0);      /* it is reported once */
    }
    g_assert_false(ernic_frame_queue_full(&q));
    g_assert_true(ernic_frame_queue_room(&q, 1, FRAME));
    ernic_frame_queue_fini(&q);
}

/* A small frame that fits does not take away the wake-up for a greater one. */
TEST("/frame-queue/two", test_two)
{
    ErnicFrameQueue q;
    bool room = false;

    ernic_frame_queue_init(&q);
    put(&q, 1);
    g_assert_false(ernic_frame_queue_room(&q, 1, ERNIC_FRAME_QUEUE_BYTES - 4));
    g_assert_true(ernic_frame_queue_room(&q, 1, 100));
    g_assert_true(take(&q, 1, &room));
    g_assert_true(room);
    ernic_frame_queue_fini(&q);
}

TEST("/frame-queue/purge", test_purge)
{
    const uint8_t *frame;
    ErnicFrameQueue q;
    bool room = false;
    uint32_t len;

    ernic_frame_queue_init(&q);
    put(&q, 7);
    put(&q, 8);
    frame = ernic_frame_queue_next(&q, &len, &room);
    put(&q, 9);
    g_assert_false(ernic_frame_queue_room(&q, 1, ERNIC_FRAME_QUEUE_BYTES));
    ernic_frame_queue_purge(&q);
    g_assert_cmpmem(frame, len, "\7\7\7\7\7\7\7", 7);
    g_assert_false(ernic_frame_queue_has(&q));
    g_assert_false(ernic_frame_queue_full(&q));
    g_assert_false(take(&q, 8, &room));
    g_assert_true(put(&q, 10));
    g_assert_true(take(&q, 10, &room));
    ernic_frame_queue_fini(&q);
}

/* ---- two threads ------------------------------------------------------------- */

#define FRAMES  50000

typedef struct World {
    ErnicFrameQueue q;
    GMutex lock;
    GCond bell;
    bool rung, room;            /* for the reader, and for the writer */
} World;

static void ring(World *w, bool *flag)
{
    g_mutex_lock(&w->lock);
    *flag = true;
    g_cond_broadcast(&w->bell);
    g_mutex_unlock(&w->lock);
}

/* Sleeps until the other thread rings: a wake-up that is lost never ends it. */
static void await(World *w, bool *flag)
{
    gint64 end = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;

    g_mutex_lock(&w->lock);
    while (!*flag) {
        g_assert_true(g_cond_wait_until(&w->bell, &w->lock, end));
    }
    *flag = false;
    g_mutex_unlock(&w->lock);
}

static gpointer writer(gpointer opaque)
{
    World *w = opaque;

    for (uint32_t i = 0; i < FRAMES; i++) {
        while (!ernic_frame_queue_room(&w->q, 1, length_of(i))) {
            await(w, &w->room);
        }
        if (put(&w->q, i)) {
            ring(w, &w->rung);
        }
    }
    return NULL;
}

TEST("/frame-queue/threads", test_threads)
{
    World w = { };
    GThread *thread;
    uint32_t i = 0;

    ernic_frame_queue_init(&w.q);
    thread = g_thread_new("writer", writer, &w);
    while (i < FRAMES) {
        bool room = false, got = take(&w.q, i, &room);

        i += got;
        if (room) {
            ring(&w, &w.room);
        }
        if (!got) {
            await(&w, &w.rung);
        }
    }
    g_thread_join(thread);
    g_assert_false(ernic_frame_queue_has(&w.q));
    ernic_frame_queue_fini(&w.q);
}
