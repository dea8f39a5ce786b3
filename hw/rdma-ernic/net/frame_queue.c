/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of Ethernet frames between two threads. In a buffer, each frame follows its
 * head.
 */
#include "qemu/osdep.h"
#include "net/frame_queue.h"

typedef ErnicFrameHead Head;

void ernic_frame_queue_init(ErnicFrameQueue *q)
{
    *q = (ErnicFrameQueue) {
        .fill = g_byte_array_sized_new(ERNIC_FRAME_QUEUE_BYTES),
        .read = g_byte_array_sized_new(ERNIC_FRAME_QUEUE_BYTES),
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
    uint64_t need = (uint64_t)frames * sizeof(Head) + bytes;
    bool room;

    qemu_mutex_lock(&q->lock);
    room = q->fill->len + need <= ERNIC_FRAME_QUEUE_BYTES;
    if (!room) {
        q->full = true;         /* also if a smaller frame fits after this */
    }
    qemu_mutex_unlock(&q->lock);
    return room;
}

/* A sender whose trains have all left may begin with its numbers anew. */
static void count_train(ErnicFrameQueue *q, const Head *head)
{
    uint64_t *put = &q->put[head->sender], *left = &q->left[head->sender];

    if (*left == *put) {
        *left = head->serial - 1;
    }
    *put = head->serial;
}

bool ernic_frame_queue_put(ErnicFrameQueue *q, const struct iovec *iov, int num,
                           uint32_t sender, uint64_t serial)
{
    Head head = { .sender = sender, .serial = serial };
    bool was_empty;
    int i;

    for (i = 0; i < num; i++) {
        head.len += iov[i].iov_len;
    }
    qemu_mutex_lock(&q->lock);
    was_empty = q->fill->len == 0;
    g_byte_array_append(q->fill, (const uint8_t *)&head, sizeof(head));
    for (i = 0; i < num; i++) {
        g_byte_array_append(q->fill, iov[i].iov_base, iov[i].iov_len);
    }
    if (serial) {
        count_train(q, &head);
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

/* The frame that was taken last has left; returns whether the writer waited for that. */
static bool leave(ErnicFrameQueue *q)
{
    bool asked;

    if (!q->last.serial) {
        return false;
    }
    qemu_mutex_lock(&q->lock);
    q->left[q->last.sender] = q->last.serial;
    asked = q->asked;
    q->asked = false;
    qemu_mutex_unlock(&q->lock);
    q->last.serial = 0;
    return asked;
}

const uint8_t *ernic_frame_queue_next(ErnicFrameQueue *q, uint32_t *len, bool *wake)
{
    const uint8_t *frame;

    *wake |= leave(q);
    if (q->pos == q->read->len) {
        *wake |= swap(q);
    }
    if (q->pos == q->read->len) {
        return NULL;
    }
    memcpy(&q->last, q->read->data + q->pos, sizeof(q->last));
    frame = q->read->data + q->pos + sizeof(q->last);
    q->pos += sizeof(q->last) + q->last.len;
    *len = q->last.len;
    return frame;
}

uint64_t ernic_frame_queue_departed(ErnicFrameQueue *q, uint32_t sender)
{
    uint64_t left;

    qemu_mutex_lock(&q->lock);
    left = q->left[sender];
    if (left == q->put[sender]) {
        left = UINT64_MAX;
    } else {
        q->asked = true;
    }
    qemu_mutex_unlock(&q->lock);
    return left;
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
    q->last.serial = 0;
    qemu_mutex_lock(&q->lock);
    g_byte_array_set_size(q->fill, 0);
    q->full = q->asked = false;
    memcpy(q->left, q->put, sizeof(q->left));
    qemu_mutex_unlock(&q->lock);
}
