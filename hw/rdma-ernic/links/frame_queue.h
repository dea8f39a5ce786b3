/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of Ethernet frames from one thread to another. The writer fills one buffer
 * while the reader empties the other one; then they change places. So a burst of frames
 * needs one wake-up, and its frames are copied once.
 */
#ifndef ERNIC_LINKS_FRAME_QUEUE_H
#define ERNIC_LINKS_FRAME_QUEUE_H

#include <sys/uio.h>
#include "qemu/thread.h"

/* Bytes of each buffer. The greatest train and the greatest frame fit. */
#define ERNIC_FRAME_QUEUE_BYTES (256u * 1024)

typedef struct ErnicFrameQueue {
    QemuMutex lock;             /* of these two; ThreadSanitizer knows it */
    GByteArray *fill;
    bool full;                  /* the writer waits for room */
    GByteArray *read;           /* the reader's */
    uint32_t pos;               /* of the next frame in it */
} ErnicFrameQueue;

void ernic_frame_queue_init(ErnicFrameQueue *q);
void ernic_frame_queue_fini(ErnicFrameQueue *q);
/*
 * Is there room for @frames frames of @bytes in all? If not, ernic_frame_queue_next()
 * reports once that there is room again.
 */
bool ernic_frame_queue_room(ErnicFrameQueue *q, uint32_t frames, uint32_t bytes);
/* Add a frame, for which there is room. True: the reader may have to be woken. */
bool ernic_frame_queue_put(ErnicFrameQueue *q, const struct iovec *iov, int num);
/*
 * Take the next frame, which stays valid until the next call; NULL: there is none.
 * Sets *@room if the writer waited, and there is room again.
 */
const uint8_t *ernic_frame_queue_next(ErnicFrameQueue *q, uint32_t *len, bool *room);
/* Has the writer asked for room that is not there yet? */
bool ernic_frame_queue_full(ErnicFrameQueue *q);
/* The reader: does ernic_frame_queue_next() have a frame? */
bool ernic_frame_queue_has(ErnicFrameQueue *q);
/* The reader: drop all frames. The one that was taken last stays valid. */
void ernic_frame_queue_purge(ErnicFrameQueue *q);

#endif /* ERNIC_LINKS_FRAME_QUEUE_H */
