/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of Ethernet frames between two threads. In a buffer, the length of a frame
 * precedes it.
 */
#include "qemu/osdep.h"
#include "links/frame_queue.h"

typedef uint32_t Length;

void ernic_frame_queue_init(ErnicFrameQueue *q)
{
    *q = (ErnicFrameQueue) {
        .fill = g_byte_array_new(), .read = g_byte_array_new(),
    };
    qemu_mutex_init(&q->lock);
}

void ernic_frame_queue_fini(ErnicFrameQueue *q)
{
    g_byte_array_unref(q->fill);
    g_byte_array_unref(q->read);
    qemu_mutex_destroy(&q->lock);
}

bool ernic_frame_queue_room(ErnicFrameQueue *q, uint32_t frames, uint32_t bytes)
{
    uint64_t need = (uint64_t)frames * sizeof(Length) + bytes;
    bool room;

    qemu_mutex_lock(&q->lock);
    room = q->fill->len + need <= ERNIC_FRAME_QUEUE_BYTES;
    if (!room) {
        q->full = true;         /* also if a smaller frame fits after this */
    }
    qemu_mutex_unlock(&q->lock);
    return room;
}

bool ernic_frame_queue_put(ErnicFrameQueue *q, const struct iovec *iov, int num)
{
    Length len = 0;
    bool was_empty;
    int i;

    for (i = 0; i < num; i++) {
        len += iov[i].iov_len;
    }
    qemu_mutex_lock(&q->lock);
    was_empty = q->fill->len == 0;
    g_byte_array_append(q->fill, (const uint8_t *)&len, sizeof(len));
    for (i = 0; i < num; i++) {
        g_byte_array_append(q->fill, iov[i].iov_base, iov[i].iov_len);
    }
    qemu_mutex_unlock(&q->lock);
    return was_empty;
}

/* Exchange the buffers; returns whether the writer waited for that. */
static bool swap(ErnicFrameQueue *q)
{
    GByteArray *empty = q->read;
    bool room;

    g_byte_array_set_size(empty, 0);
    q->pos = 0;
    qemu_mutex_lock(&q->lock);
    q->read = q->fill;
    q->fill = empty;
    room = q->full;
    q->full = false;
    qemu_mutex_unlock(&q->lock);
    return room;
}

const uint8_t *ernic_frame_queue_next(ErnicFrameQueue *q, uint32_t *len, bool *room)
{
    const uint8_t *frame;
    Length n;

    if (q->pos == q->read->len && swap(q)) {
        *room = true;
    }
    if (q->pos == q->read->len) {
        return NULL;
    }
    memcpy(&n, q->read->data + q->pos, sizeof(n));
    frame = q->read->data + q->pos + sizeof(n);
    q->pos += sizeof(n) + n;
    *len = n;
    return frame;
}

bool ernic_frame_queue_full(ErnicFrameQueue *q)
{
    bool full;

    qemu_mutex_lock(&q->lock);
    full = q->full;
    qemu_mutex_unlock(&q->lock);
    return full;
}

bool ernic_frame_queue_has(ErnicFrameQueue *q)
{
    bool filled;

    if (q->pos < q->read->len) {
        return true;
    }
    qemu_mutex_lock(&q->lock);
    filled = q->fill->len;
    qemu_mutex_unlock(&q->lock);
    return filled;
}

void ernic_frame_queue_purge(ErnicFrameQueue *q)
{
    q->pos = q->read->len;
    qemu_mutex_lock(&q->lock);
    g_byte_array_set_size(q->fill, 0);
    q->full = false;
    qemu_mutex_unlock(&q->lock);
}
