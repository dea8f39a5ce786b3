/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue of frames between two threads: order, room, wake-ups, departure, the lock,
 * and both threads at once.
 */
#include "qemu/osdep.h"
#include "net/frame_queue.h"
#include "test.h"

#define FRAME   1500

/* Frame number @i: its length and its bytes follow from the number. */
static uint32_t length_of(uint32_t i)
{
    return i % FRAME;
}

/* Train @serial of @sender ends with it. */
static bool put_train(ErnicFrameQueue *q, uint32_t i, uint32_t sender, uint64_t serial)
{
    uint8_t frame[FRAME];
    uint32_t len = length_of(i), head = len / 3;

    memset(frame, i, len);
    return ernic_frame_queue_put(q, (struct iovec[]) {
        { frame, head }, { frame + head, len - head },
    }, 2, sender, serial);
}

static bool put(ErnicFrameQueue *q, uint32_t i)
{
    return put_train(q, i, 0, 0);
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

/* The head of a test of an empty ErnicFrameQueue *q. */
#define QUEUE_TEST(path, fn) \
    WORLD_TEST(path, fn, ErnicFrameQueue, q, ernic_frame_queue_init(q), \
               ernic_frame_queue_fini(q))

QUEUE_TEST("/frame-queue/order", test_order)
{
    bool room = false;
    uint32_t i;

    g_assert_false(ernic_frame_queue_has(q));
    g_assert_false(take(q, 0, &room));
    g_assert_true(put(q, 0));
    g_assert_true(ernic_frame_queue_has(q));
    for (i = 1; i < 50; i++) {
        g_assert_false(put(q, i));              /* the reader has been woken */
    }
    g_assert_true(take(q, 0, &room));
    /* The reader has one buffer, so the other one is empty again. */
    g_assert_true(put(q, 50));
    g_assert_false(put(q, 51));
    for (i = 1; i < 52; i++) {
        g_assert_true(take(q, i, &room));
    }
    g_assert_false(take(q, i, &room));
    g_assert_false(ernic_frame_queue_has(q));
    g_assert_false(room);
}

QUEUE_TEST("/frame-queue/room", test_room)
{
    bool room = false;
    uint32_t n;

    g_assert_false(ernic_frame_queue_room(q, 1, ERNIC_FRAME_QUEUE_BYTES));
    g_assert_false(take(q, 0, &room));
    g_assert_true(room);
    g_assert_true(ernic_frame_queue_room(q, 64, ERNIC_FRAME_QUEUE_BYTES -
                                         64 * sizeof(ErnicFrameHead)));
    g_assert_false(ernic_frame_queue_full(q));
    for (n = 0; ernic_frame_queue_room(q, 1, length_of(n)); n++) {
        put(q, n);
    }
    g_assert_true(ernic_frame_queue_full(q));
    for (uint32_t i = 0; i < n; i++) {
        room = false;
        g_assert_true(take(q, i, &room));
        IS(room, i == 0);      /* it is reported once */
    }
    g_assert_false(ernic_frame_queue_full(q));
    g_assert_true(ernic_frame_queue_room(q, 1, FRAME));
}

/* Both buffers, however full, are the memory that the queue began with. */
QUEUE_TEST("/frame-queue/memory", test_memory)
{
    const uint8_t *data[] = { q->fill->data, q->read->data };
    bool room = false;

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t n;

        for (n = 0; ernic_frame_queue_room(q, 1, length_of(n)); n++) {
            put(q, n);
        }
        g_assert_true(q->fill->data == data[i % 2]);
        for (uint32_t k = 0; k < n; k++) {
            g_assert_true(take(q, k, &room));
        }
        g_assert_true(q->read->data == data[i % 2]);
    }
}

/* A small frame that fits does not take away the wake-up for a greater one. */
QUEUE_TEST("/frame-queue/two", test_two)
{
    bool room = false;

    put(q, 1);
    g_assert_false(ernic_frame_queue_room(q, 1, ERNIC_FRAME_QUEUE_BYTES -
                                          sizeof(ErnicFrameHead)));
    g_assert_true(ernic_frame_queue_room(q, 1, 100));
    g_assert_true(take(q, 1, &room));
    g_assert_true(room);
}

QUEUE_TEST("/frame-queue/purge", test_purge)
{
    const uint8_t *frame;
    bool room = false;
    uint32_t len;

    put(q, 7);
    put(q, 8);
    frame = ernic_frame_queue_next(q, &len, &room);
    put(q, 9);
    g_assert_false(ernic_frame_queue_room(q, 1, ERNIC_FRAME_QUEUE_BYTES));
    ernic_frame_queue_purge(q);
    g_assert_cmpmem(frame, len, "\7\7\7\7\7\7\7", 7);
    g_assert_false(ernic_frame_queue_has(q));
    g_assert_false(ernic_frame_queue_full(q));
    g_assert_false(take(q, 8, &room));
    g_assert_true(put(q, 10));
    g_assert_true(take(q, 10, &room));
}

/* ---- departure -------------------------------------------------------------- */

/* Take frame @i. Returns true if the writer was to be woken for what had left before. */
static bool woken(ErnicFrameQueue *q, uint32_t i)
{
    bool wake = false;

    take(q, i, &wake);
    return wake;
}

/* A train has left when its last frame has: when the reader comes for the next one. */
QUEUE_TEST("/frame-queue/departure", test_departure)
{
    IS(ernic_frame_queue_departed(q, 0), UINT64_MAX);
    put(q, 1);
    put_train(q, 2, 0, 7);              /* two frames; 1 to 6 did not come here */
    IS(ernic_frame_queue_departed(q, 0), 6);
    IS(ernic_frame_queue_departed(q, 1), UINT64_MAX);
    put_train(q, 3, 0, 9);
    IS(woken(q, 1), false);
    IS(woken(q, 2), false);
    IS(ernic_frame_queue_departed(q, 0), 6);
    IS(woken(q, 3), true);
    IS(ernic_frame_queue_departed(q, 0), 7);
    put_train(q, 4, 0, 10);            /* the last frame is still the reader's */
    IS(ernic_frame_queue_departed(q, 0), 7);
    IS(woken(q, 4), true);
    IS(woken(q, 5), false);            /* nobody has asked since */
    IS(ernic_frame_queue_departed(q, 0), UINT64_MAX);
    IS(woken(q, 5), false);
}

QUEUE_TEST("/frame-queue/departure/senders", test_senders)
{
    put_train(q, 1, 0, 100);
    put_train(q, 2, 1, 5);
    put_train(q, 3, 0, 101);
    woken(q, 1);
    IS(ernic_frame_queue_departed(q, 0), 99);
    woken(q, 2);
    IS(ernic_frame_queue_departed(q, 0), 100);
    IS(ernic_frame_queue_departed(q, 1), 4);
    IS(woken(q, 3), true);
    IS(ernic_frame_queue_departed(q, 1), UINT64_MAX);
    IS(ernic_frame_queue_departed(q, 0), 100);
}

/* Frames that are purged have left. The numbers may begin anew, below the last ones. */
QUEUE_TEST("/frame-queue/departure/purge", test_departure_purge)
{
    put_train(q, 1, 0, 100);
    put_train(q, 2, 0, UINT64_MAX - 1);
    put_train(q, 3, 1, 5);
    woken(q, 1);
    IS(ernic_frame_queue_departed(q, 0), 99);
    ernic_frame_queue_purge(q);        /* the reader has frame 1 */
    IS(ernic_frame_queue_departed(q, 0), UINT64_MAX);
    IS(ernic_frame_queue_departed(q, 1), UINT64_MAX);
    put_train(q, 4, 0, 1);
    put_train(q, 5, 0, 2);
    IS(ernic_frame_queue_departed(q, 0), 0);
    IS(woken(q, 4), false);            /* not by frame 1 */
    IS(ernic_frame_queue_departed(q, 0), 0);
    IS(woken(q, 5), true);
    IS(ernic_frame_queue_departed(q, 0), 1);
}

/* A reader that is gone: the writer learns that nothing leaves, and no call waits. */
QUEUE_TEST("/frame-queue/departure/stuck", test_stuck)
{
    uint64_t serial = 0;

    while (ernic_frame_queue_room(q, 1, FRAME)) {
        put_train(q, FRAME - 1, 0, ++serial);
        IS(ernic_frame_queue_departed(q, 0), 0);
    }
    IS(woken(q, FRAME - 1), true);     /* there is room */
    IS(ernic_frame_queue_departed(q, 0), 0);
    ernic_frame_queue_purge(q);
    IS(ernic_frame_queue_departed(q, 0), UINT64_MAX);
}

/* ---- two threads ------------------------------------------------------------- */

static void do_room(ErnicFrameQueue *q)
{
    ernic_frame_queue_room(q, 1, 1);
}

static void do_put(ErnicFrameQueue *q)
{
    put(q, 1);
}

static void do_next(ErnicFrameQueue *q)
{
    bool wake = false;
    uint32_t len;

    ernic_frame_queue_next(q, &len, &wake);
}

static void do_departed(ErnicFrameQueue *q)
{
    ernic_frame_queue_departed(q, 0);
}

static void do_full(ErnicFrameQueue *q)
{
    ernic_frame_queue_full(q);
}

static void do_has(ErnicFrameQueue *q)
{
    ernic_frame_queue_has(q);
}

/* Operations of one thread on an empty queue that another one may change. */
static const struct {
    const char *name;
    void (*act)(ErnicFrameQueue *q);
} acts[] = {
    { "room", do_room }, { "put", do_put }, { "next", do_next },
    { "departed", do_departed }, { "full", do_full }, { "has", do_has },
    { "purge", ernic_frame_queue_purge },
};

typedef struct Act {
    ErnicFrameQueue *q;
    size_t i;
    bool done;                  /* atomic */
} Act;

static gpointer act(gpointer opaque)
{
    Act *a = opaque;

    acts[a->i].act(a->q);
    __atomic_store_n(&a->done, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Each of them waits for the lock. */
QUEUE_TEST("/frame-queue/lock", test_lock)
{
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
        unsigned waited = q->lock.waited;
        Act a = { .q = q, .i = i };
        GThread *thread;

        g_test_message("%s", acts[i].name);
        qemu_mutex_lock(&q->lock);
        thread = g_thread_new("act", act, &a);
        while (__atomic_load_n(&q->lock.waited, __ATOMIC_SEQ_CST) == waited) {
            g_assert_false(__atomic_load_n(&a.done, __ATOMIC_SEQ_CST));
            g_usleep(100);
        }
        qemu_mutex_unlock(&q->lock);
        g_thread_join(thread);
        ernic_frame_queue_purge(q);
    }
}

#define FRAMES  200000

typedef struct World {
    ErnicFrameQueue q;
    GMutex lock;
    GCond bell;
    bool rung, wake;            /* for the reader, and for the writer */
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
            await(w, &w->wake);
        }
        if (put_train(&w->q, i, i % 2, i + 1)) {
            ring(w, &w->rung);
        }
        if (i % 5001 == 0) {   /* of both senders */
            while (ernic_frame_queue_departed(&w->q, i % 2) <= i) {
                await(w, &w->wake);
            }
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
        bool wake = false, got = take(&w.q, i, &wake);

        i += got;
        if (wake) {
            ring(&w, &w.wake);
        }
        if (!got) {
            await(&w, &w.rung);
        }
    }
    g_thread_join(thread);
    g_assert_false(ernic_frame_queue_has(&w.q));
    ernic_frame_queue_fini(&w.q);
}
