/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A ring of trains in shared memory. A record is a header of one cache line and the
 * bytes of the train, rounded up to lines, so that a header is never divided. A flag says
 * that the reader sleeps; pair.c wakes it.
 */
#include "qemu/osdep.h"
#include "links/shm/ring.h"

#define MASK            (ERNIC_SHM_RING_BYTES - 1)
#define FLOW_LABEL_MASK 0xfffff

/* It has host layout: it never leaves the host, and both sides have one version. */
typedef struct Record {
    uint32_t len;
    uint32_t seg : 31, frame : 1;       /* frame: the packets are Ethernet frames, */
    ErnicPath path;                     /* and this is 0 */
} QEMU_ALIGNED(ERNIC_SHM_LINE) Record;

/* A failure here needs another ERNIC_SHM_VERSION. */
#define PATH_AT(field, at) \
    QEMU_BUILD_BUG_ON(offsetof(Record, path) + offsetof(ErnicPath, field) != (at))
PATH_AT(sgid, 8);
PATH_AT(dgid, 24);
PATH_AT(smac, 40);
PATH_AT(dmac, 46);
PATH_AT(vlan, 52);
PATH_AT(udp_sport, 54);
PATH_AT(flow_label, 56);
PATH_AT(tclass, 60);
PATH_AT(hop_limit, 61);
QEMU_BUILD_BUG_ON(offsetof(ErnicShmWords, tail) != ERNIC_SHM_LINE);
QEMU_BUILD_BUG_ON(sizeof(Record) != ERNIC_SHM_LINE);
QEMU_BUILD_BUG_ON(ERNIC_SHM_RING_BYTES & MASK);
QEMU_BUILD_BUG_ON(ERNIC_SHM_RING_BYTES / 2 < sizeof(Record) + ERNIC_SHM_TRAIN_BYTES);

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * Clear a flag after a change that the other side waits for. Returns true if it was set.
 */
static bool take_flag(uint32_t *flag)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(flag, __ATOMIC_RELAXED) &&
           __atomic_exchange_n(flag, 0, __ATOMIC_RELAXED);
}

/* Set a flag; the caller then looks again whether it has to wait. */
static void set_flag(uint32_t *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Bytes that a train of @len takes. */
static uint32_t record_bytes(uint32_t len)
{
    return sizeof(Record) + ROUND_UP(len, ERNIC_SHM_LINE);
}

/* ---- the writer ------------------------------------------------------------ */

static void copy_in(ErnicShmRing *r, uint32_t pos, const void *buf, uint32_t len)
{
    uint32_t at = pos & MASK, first = MIN(len, ERNIC_SHM_RING_BYTES - at);

    memcpy(r->data + at, buf, first);
    memcpy(r->data, (const uint8_t *)buf + first, len - first);
}

/* Look for room for @bytes. A reader that goes back has broken the ring. */
static ErnicShmResult check_room(ErnicShmRing *r, uint32_t bytes)
{
    uint32_t tail = load(&r->words->tail), used = r->pos - tail;

    if (used > r->pos - r->taken) {
        return ERNIC_SHM_BROKEN;
    }
    r->taken = tail;
    return bytes <= ERNIC_SHM_RING_BYTES - used ? ERNIC_SHM_DONE : ERNIC_SHM_NOT_NOW;
}

ErnicShmResult ernic_shm_ring_put(ErnicShmRing *r, const ErnicTrain *train)
{
    Record rec = { .len = train->len, .seg = train->seg, .frame = train->frame };
    uint32_t bytes = record_bytes(train->len);
    ErnicShmResult found = check_room(r, bytes);

    g_assert(train->len && train->len <= ERNIC_SHM_TRAIN_BYTES);
    if (found == ERNIC_SHM_NOT_NOW) {
        set_flag(&r->words->full);
        found = check_room(r, bytes);
    }
    if (found != ERNIC_SHM_DONE) {
        return found;
    }
    if (!train->frame) {
        rec.path = train->path;
    }
    copy_in(r, r->pos, &rec, sizeof(rec));
    copy_in(r, r->pos + sizeof(rec), train->data, train->len);
    r->pos += bytes;
    store(&r->words->head, r->pos);
    return ERNIC_SHM_DONE;
}

bool ernic_shm_ring_wakes_reader(ErnicShmRing *r)
{
    return take_flag(&r->words->asleep);
}

/* ---- the reader ------------------------------------------------------------ */

static void copy_out(const ErnicShmRing *r, uint32_t pos, void *buf, uint32_t len)
{
    uint32_t at = pos & MASK, first = MIN(len, ERNIC_SHM_RING_BYTES - at);

    memcpy(buf, r->data + at, first);
    memcpy((uint8_t *)buf + first, r->data, len - first);
    /* From here on the copy is used, and the memory is not read again. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Frames without a whole header, or where none are sent. */
static bool is_bad_frame(const ErnicShmRing *r, const Record *rec)
{
    uint32_t last = (rec->len - 1) % rec->seg + 1;

    return !r->frames || last < ERNIC_SHM_FRAME_MIN;
}

/* Packets longer than those of an engine, for which UDP has no length; or a bad path. */
static bool is_bad_packet(const Record *rec)
{
    const ErnicPath *path = &rec->path;

    return rec->seg > ERNIC_SHM_PACKET_BYTES ||
           ernic_gid_is_v4(&path->sgid) != ernic_gid_is_v4(&path->dgid) ||
           path->flow_label > FLOW_LABEL_MASK;
}

/* A record that no engine writes; @rec is a copy. */
static bool is_malformed(const ErnicShmRing *r, const Record *rec, uint32_t there)
{
    return rec->len == 0 || rec->len > ERNIC_SHM_TRAIN_BYTES || rec->seg == 0 ||
           rec->seg > rec->len || record_bytes(rec->len) > there ||
           DIV_ROUND_UP(rec->len, rec->seg) > ERNIC_SHM_TRAIN_PACKETS ||
           (rec->frame ? is_bad_frame(r, rec) : is_bad_packet(rec));
}

ErnicShmResult ernic_shm_ring_take(ErnicShmRing *r, uint8_t *buf, ErnicTrain *train)
{
    uint32_t there = load(&r->words->head) - r->pos;
    Record rec;

    if (there == 0) {
        return ERNIC_SHM_NOT_NOW;
    }
    if (there > ERNIC_SHM_RING_BYTES || there % ERNIC_SHM_LINE) {
        return ERNIC_SHM_BROKEN;
    }
    copy_out(r, r->pos, &rec, sizeof(rec));
    if (is_malformed(r, &rec, there)) {
        return ERNIC_SHM_BROKEN;
    }
    copy_out(r, r->pos + sizeof(rec), buf, rec.len);
    r->pos += record_bytes(rec.len);
    store(&r->words->tail, r->pos);
    *train = (ErnicTrain) {
        .path = rec.path, .path_final = true, .data = buf, .len = rec.len,
        .seg = rec.seg, .frame = rec.frame,
    };
    return ERNIC_SHM_DONE;
}

bool ernic_shm_ring_ready(const ErnicShmRing *r)
{
    return load(&r->words->head) != r->pos;
}

/* A writer that waits is woken once half of the ring is free, not for each train. */
bool ernic_shm_ring_wakes_writer(ErnicShmRing *r)
{
    uint32_t there = load(&r->words->head) - r->pos;

    return there <= ERNIC_SHM_RING_BYTES / 2 && take_flag(&r->words->full);
}

bool ernic_shm_ring_sleep(ErnicShmRing *r)
{
    set_flag(&r->words->asleep);
    if (!ernic_shm_ring_ready(r)) {
        return true;
    }
    ernic_shm_ring_awake(r);
    return false;
}

void ernic_shm_ring_awake(ErnicShmRing *r)
{
    __atomic_store_n(&r->words->asleep, 0, __ATOMIC_RELAXED);
}
