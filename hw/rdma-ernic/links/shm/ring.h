/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A ring of trains in memory that two processes share: one writes, the other one reads.
 * Neither trusts the other one. Each keeps its own position in private memory, reads
 * that of the other side once for each decision, and copies a record before it looks at
 * it.
 */
#ifndef ERNIC_LINKS_SHM_RING_H
#define ERNIC_LINKS_SHM_RING_H

#include "engine/base/types.h"

/*
 * The layout of shared memory and of messages has this version: another layout is
 * another version.
 */
#define ERNIC_SHM_VERSION       3

/* A power of two, with room for several trains in its half. */
#define ERNIC_SHM_RING_BYTES    (512u * 1024)
/* The greatest train. */
#define ERNIC_SHM_TRAIN_BYTES   65536u
#define ERNIC_SHM_TRAIN_PACKETS 64u
/* The greatest packet that is no frame: what an engine sends, and UDP has room for. */
#define ERNIC_SHM_PACKET_BYTES  65000u
/* The least frame: the header of Ethernet. */
#define ERNIC_SHM_FRAME_MIN     14u

#define ERNIC_SHM_LINE          64

/* These are in shared memory. Each word has one writer, or is a flag that both clear. */
typedef struct ErnicShmWords {
    uint32_t head QEMU_ALIGNED(ERNIC_SHM_LINE); /* bytes written so far, modulo 2^32 */
    uint32_t full;              /* the writer waits for room */
    uint32_t tail QEMU_ALIGNED(ERNIC_SHM_LINE); /* bytes read so far */
    uint32_t asleep;            /* the reader waits to be woken */
} ErnicShmWords;

/* One end. */
typedef struct ErnicShmRing {
    ErnicShmWords *words;
    uint8_t *data;
    uint32_t pos;               /* of the writer: head; of the reader: tail */
    uint32_t taken;             /* of the writer: the reader's tail, seen last */
    bool frames;                /* of the reader: trains may be Ethernet frames */
} ErnicShmRing;

typedef enum ErnicShmResult {
    ERNIC_SHM_DONE,
    ERNIC_SHM_NOT_NOW,          /* no room, or nothing there */
    ERNIC_SHM_BROKEN,           /* the other side does not keep to the format */
} ErnicShmResult;

/*
 * Write @train, which is not larger than the greatest. NOT_NOW: there is no room; the
 * reader will report half a ring of it.
 */
ErnicShmResult ernic_shm_ring_put(ErnicShmRing *r, const ErnicTrain *train);
/*
 * Whether the reader has to be woken, after trains were written: true once for each
 * sleep.
 */
bool ernic_shm_ring_wakes_reader(ErnicShmRing *r);

/* Read a train into @buf, of ERNIC_SHM_TRAIN_BYTES; @train->data is @buf. */
ErnicShmResult ernic_shm_ring_take(ErnicShmRing *r, uint8_t *buf, ErnicTrain *train);
/* Whether there is something to read. */
bool ernic_shm_ring_ready(const ErnicShmRing *r);
/*
 * Whether the writer has to be woken, because there is room again: true once for each
 * wait.
 */
bool ernic_shm_ring_wakes_writer(ErnicShmRing *r);
/* Before the reader sleeps. False: there is something to read, so it may not. */
bool ernic_shm_ring_sleep(ErnicShmRing *r);
void ernic_shm_ring_awake(ErnicShmRing *r);

#endif /* ERNIC_LINKS_SHM_RING_H */
