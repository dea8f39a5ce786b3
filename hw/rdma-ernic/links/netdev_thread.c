/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The netdev of an engine that has a thread of its own: frames that the engine sends,
 * frames that may be for an engine, and those of them that are for the Ethernet face
 * after all. The last ones go back, because that face belongs to the main loop.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "core/wire/frame.h"
#include "links/frame_queue.h"
#include "links/netdev.h"
#include "links/netdev_thread.h"
#include "pci/env.h"
#include "hw/rdma-ernic/trace.h"

/*
 * Units of work, as the engine counts it (core/base/work.h): a slice of the main loop, an
 * access to guest memory, a frame without its accesses, and the bytes that are copied in
 * one unit.
 */
#define SLICE           2048
#define ACCESS          2
#define FRAME           8
#define BYTES           512
/* Of guest memory and headers, for a frame: as in netdev.c. */
#define FRAME_ACCESSES  2

QEMU_BUILD_BUG_ON(ERNIC_TRAIN_BYTES + ERNIC_TRAIN_PACKETS * (ERNIC_NET_HDR_MAX + 4) >
                  ERNIC_FRAME_QUEUE_BYTES);
QEMU_BUILD_BUG_ON(NET_BUFSIZE + 4 > ERNIC_FRAME_QUEUE_BYTES);

struct ErnicNetThread {
    ErnicFrameQueue out;        /* from the engine to the netdev */
    ErnicFrameQueue in;         /* from the netdev to the engine */
    ErnicFrameQueue back;       /* from the engine to the Ethernet face */
    QEMUBH *bh;                 /* in the main loop */
    bool running;               /* frames of the queues are in use below */
    bool again;                 /* the bottom half was due meanwhile */
    uint32_t work;              /* units of the main loop in this slice */
};

/* ---- in the main loop ------------------------------------------------------ */

static bool may_run(const ErnicPci *d)
{
    return ernic_pci_working(d) && runstate_is_running();
}

/*
 * Sending may reach any device, whose DMA may reset or eject this function, which
 * empties the queues. Returns whether there may be more to do.
 */
static bool send_frames(ErnicPci *d)
{
    ErnicNetThread *t = d->net.thread;
    bool room = false;
    uint32_t len;

    while (t->work < SLICE && may_run(d) && !ernic_pci_netdev_waits(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&t->out, &len, &room);

        if (!frame) {
            break;
        }
        t->work += FRAME + len / BYTES;
        ernic_pci_netdev_send(d, &(struct iovec) { (void *)frame, len }, 1);
    }
    if (room) {
        ernic_pci_kick(d);      /* the engine waits for it: ernic_pci_netdev_run() */
    }
    return t->work >= SLICE;
}

/* The same for the Ethernet face, whose interrupts may do that. */
static bool take_back(ErnicPci *d)
{
    ErnicNetThread *t = d->net.thread;
    bool room = false;
    uint32_t len;

    while (t->work < SLICE && may_run(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&t->back, &len, &room);

        if (!frame) {
            break;
        }
        t->work += FRAME + len / BYTES;
        ernic_pci_eth_receive(d, frame, len);
    }
    if (room) {
        ernic_pci_kick(d);      /* the engine goes on with the next frame */
    }
    return t->work >= SLICE;
}

/*
 * A device that our frame reaches may poll the bottom halves of the main loop, so this
 * one too: the frame is still in use, and the next one waits until it is not.
 */
static void main_loop_run(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicNetThread *t = d->net.thread;
    bool more;

    if (t->running || !runstate_is_running()) {
        t->again = t->running;
        return;
    }
    t->running = true;
    t->work = 0;
    d->net.busy++;
    more = take_back(d);
    more |= send_frames(d);
    d->net.busy--;
    t->work = 0;                /* a slice for frames of the netdev, until the next run */
    ernic_pci_netdev_resume(d);
    t->running = false;
    if (more || t->again || (d->net.rx_full && t->work >= SLICE)) {
        t->again = false;
        ernic_pci_netdev_thread_kick(d);
    }
}

void ernic_pci_netdev_thread_kick(ErnicPci *d)
{
    if (d->net.thread && !ernic_pci_gone(d)) {
        qemu_bh_schedule(d->net.thread->bh);
    }
}

void ernic_pci_netdev_thread_work(ErnicPci *d, uint32_t accesses, uint32_t bytes)
{
    d->net.thread->work += ACCESS * accesses + bytes / BYTES;
}

bool ernic_pci_netdev_thread_slice_left(const ErnicPci *d)
{
    return d->net.thread->work < SLICE;
}

bool ernic_pci_netdev_thread_room(ErnicPci *d)
{
    return ernic_frame_queue_room(&d->net.thread->in, 1, NET_BUFSIZE);
}

void ernic_pci_netdev_thread_receive(ErnicPci *d, const uint8_t *buf, size_t size)
{
    if (ernic_frame_queue_put(&d->net.thread->in,
                              &(struct iovec) { (void *)buf, size }, 1)) {
        ernic_pci_kick(d);
    }
}

/* ---- in the thread of the engine -------------------------------------------- */

bool ernic_pci_netdev_thread_tx(ErnicPci *d, const ErnicTrain *train)
{
    ErnicFrameQueue *out = &d->net.thread->out;
    uint32_t packets = ernic_train_packets(train), pos, len;
    uint8_t head[ERNIC_NET_HDR_MAX];
    struct iovec iov[2] = { { head, 0 } };
    bool wake = false;

    if (!ernic_frame_queue_room(out, packets, train->len + packets * sizeof(head))) {
        d->net.blocked = true;
        return false;
    }
    for (pos = 0; pos < train->len; pos += len) {
        len = MIN(train->seg, train->len - pos);
        iov[0].iov_len = train->frame ? 0 : ernic_net_emit(&train->path, len, head);
        iov[1] = (struct iovec) { (void *)(train->data + pos), len };
        wake |= ernic_frame_queue_put(out, iov, 2);
    }
    if (wake) {
        ernic_pci_netdev_thread_kick(d);
    }
    return true;
}

bool ernic_pci_netdev_thread_blocked(ErnicPci *d)
{
    return ernic_frame_queue_full(&d->net.thread->out);
}

/* A frame goes back only if there is room for it: else it is not taken at all. */
static bool may_take(ErnicPci *d)
{
    return ernic_pci_rx_room(d) &&
           ernic_frame_queue_room(&d->net.thread->back, 1, NET_BUFSIZE);
}

void ernic_pci_netdev_thread_run(ErnicPci *d, uint64_t now)
{
    ErnicNetThread *t = d->net.thread;
    bool room = false, wake = false;
    uint32_t len;

    if (!t) {
        return;
    }
    ernic_pci_rx_slice(d);
    while (ernic_pci_rx_slice_left(d) && may_take(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&t->in, &len, &room);

        if (!frame) {
            break;
        }
        ernic_link_work(d->engine, FRAME_ACCESSES, len);
        if (!ernic_pci_netdev_to_engine(d, now, frame, len)) {
            wake |= ernic_frame_queue_put(&t->back,
                                          &(struct iovec) { (void *)frame, len }, 1);
        }
    }
    if (room || wake) {
        ernic_pci_netdev_thread_kick(d);
    }
}

bool ernic_pci_netdev_thread_waits(ErnicPci *d)
{
    return d->net.thread && ernic_frame_queue_has(&d->net.thread->in) && may_take(d);
}

/* ---- life ------------------------------------------------------------------ */

void ernic_pci_netdev_thread_init(ErnicPci *d)
{
    ErnicNetThread *t;

    if (!d->thread) {
        return;
    }
    t = d->net.thread = g_new0(ErnicNetThread, 1);
    ernic_frame_queue_init(&t->out);
    ernic_frame_queue_init(&t->in);
    ernic_frame_queue_init(&t->back);
    t->bh = qemu_bh_new_guarded(main_loop_run, d, &DEVICE(d)->mem_reentrancy_guard);
}

void ernic_pci_netdev_thread_stop(ErnicPci *d)
{
    if (d->net.thread) {
        g_clear_pointer(&d->net.thread->bh, qemu_bh_delete);
    }
}

void ernic_pci_netdev_thread_reset(ErnicPci *d)
{
    ErnicNetThread *t = d->net.thread;

    if (t) {
        ernic_frame_queue_purge(&t->out);
        ernic_frame_queue_purge(&t->in);
        ernic_frame_queue_purge(&t->back);
        ernic_pci_netdev_thread_kick(d);        /* there is room for frames again */
    }
}

void ernic_pci_netdev_thread_fini(ErnicPci *d)
{
    ErnicNetThread *t = d->net.thread;

    if (t) {
        ernic_frame_queue_fini(&t->out);
        ernic_frame_queue_fini(&t->in);
        ernic_frame_queue_fini(&t->back);
        g_free(t);
    }
}
