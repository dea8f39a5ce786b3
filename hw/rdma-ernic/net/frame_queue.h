/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of Ethernet frames from one thread to another. The writer fills one buffer
 * while the reader empties the other one; then they change places. So a burst of frames
 * needs one wake-up, and its frames are copied once. The queue knows which trains of the
 * writer have left it, by their serial numbers.
 */
#ifndef ERNIC_NET_FRAME_QUEUE_H
#define ERNIC_NET_FRAME_QUEUE_H

#include <sys/uio.h>
#include "qemu/thread.h"

/* Bytes of each buffer. The greatest train and the greatest frame fit. */
#define ERNIC_FRAME_QUEUE_BYTES (256u * 1024)

/* Engines that may share a queue; the serial numbers of each are its own. */
#define ERNIC_FRAME_SENDERS 2

/* A frame in a buffer: its bytes follow. */
typedef struct ErnicFrameHead {
    uint32_t len;
    uint32_t sender;
    uint64_t serial;            /* of the train that ends with it; 0: none does */
} ErnicFrameHead;

typedef struct ErnicFrameQueue {
    QemuMutex lock;             /* of these; ThreadSanitizer knows it */
    GByteArray *fill;
    bool full;                  /* the writer waits for room, */
    bool asked;                 /* and for a train to leave */
    uint64_t put[ERNIC_FRAME_SENDERS];          /* the last train, */
    uint64_t left[ERNIC_FRAME_SENDERS];         /* and the last one that has left */
    GByteArray *read;           /* the reader's */
    uint32_t pos;               /* of the next frame in it */
    ErnicFrameHead last;        /* of the frame that was taken last */
} ErnicFrameQueue;

void ernic_frame_queue_init(ErnicFrameQueue *q);
void ernic_frame_queue_fini(ErnicFrameQueue *q);
/*
 * Whether there is room for @frames frames of @bytes in all. If not,
 * ernic_frame_queue_next() reports once that there is room again.
 */
bool ernic_frame_queue_room(ErnicFrameQueue *q, uint32_t frames, uint32_t bytes);
/*
 * Add a frame, for which there is room. Train @serial of @sender ends with it; 0: none
 * does. True: the reader may have to be woken.
 */
bool ernic_frame_queue_put(ErnicFrameQueue *q, const struct iovec *iov, int num,
                           uint32_t sender, uint64_t serial);
/*
 * Take the next frame, which stays valid until the next call; NULL: there is none. The
 * frame that was taken before has left. Sets *@wake if the writer waited for that, or
 * for room, and there is room again.
 */
const uint8_t *ernic_frame_queue_next(ErnicFrameQueue *q, uint32_t *len, bool *wake);
/*
 * The writer: as ErnicEnvOps.tx_departed, of @sender. Unless all of its trains have left,
 * ernic_frame_queue_next() reports once when the next one has.
 */
uint64_t ernic_frame_queue_departed(ErnicFrameQueue *q, uint32_t sender);
/* Whether the writer has asked for room that is not there yet. */
bool ernic_frame_queue_full(ErnicFrameQueue *q);
/* The reader: whether ernic_frame_queue_next() has a frame. */
bool ernic_frame_queue_has(ErnicFrameQueue *q);
/*
 * The reader, while the writer does nothing: drop all frames. The one that was taken last
 * stays valid. Their trains have left, which is not reported.
 */
void ernic_frame_queue_purge(ErnicFrameQueue *q);

#endif /* ERNIC_NET_FRAME_QUEUE_H */
