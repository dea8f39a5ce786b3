/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames between an engine and a netdev: those that the engine sends, those that may be
 * for an engine, and those of them that are for the Ethernet interface after all. The
 * last ones go back, because that interface belongs to the main loop. So do those of a
 * link that carries frames. Without a thread of the engine, a netdev needs the first
 * queue only.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "engine/base/budget.h"
#include "engine/wire/frame.h"
#include "device/clock.h"
#include "device/link.h"
#include "device/traffic.h"
#include "net/ethernet.h"
#include "net/frames.h"
#include "net/queues.h"

/* Accesses to guest memory and headers, for a frame. */
#define FRAME_ACCESSES  2

QEMU_BUILD_BUG_ON(ERNIC_TRAIN_BYTES + ERNIC_TRAIN_PACKETS *
                  (ERNIC_NET_HDR_MAX + sizeof(ErnicFrameHead)) > ERNIC_FRAME_QUEUE_BYTES);
QEMU_BUILD_BUG_ON(NET_BUFSIZE + sizeof(ErnicFrameHead) > ERNIC_FRAME_QUEUE_BYTES);
QEMU_BUILD_BUG_ON(ERNIC_PCI_ENGINES != ERNIC_FRAME_SENDERS);

/* ---- in the main loop ------------------------------------------------------ */

void ernic_pci_netq_kick(ErnicPci *d)
{
    if (!d->thread) {
        ernic_pci_kick(d);
    } else if (!ernic_pci_gone(d)) {
        qemu_bh_schedule(d->net.queues->bh);
    }
}

bool ernic_pci_netq_unsent(const ErnicPci *d)
{
    return !d->thread && d->net.queues->unsent;
}

void ernic_pci_netq_work(ErnicPci *d, uint32_t accesses, uint32_t bytes)
{
    ernic_budget_charge(&d->net.queues->work, ERNIC_WORK_ACCESS * accesses, bytes);
}

bool ernic_pci_netq_room(ErnicPci *d)
{
    return ernic_frame_queue_room(&d->net.queues->in, 1, NET_BUFSIZE);
}

void ernic_pci_netq_receive(ErnicPci *d, const uint8_t *buf, size_t size)
{
    if (ernic_frame_queue_put(&d->net.queues->in,
                              &(struct iovec) { (void *)buf, size }, 1, 0, 0)) {
        ernic_pci_kick(d);
    }
}

/* ---- in the thread of the engine, or inside enter and leave -------------------- */

bool ernic_pci_netq_tx(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    ErnicFrameQueue *out = &d->net.queues->out;
    uint32_t packets = ernic_train_packets(train), pos;
    uint8_t head[ERNIC_NET_HDR_MAX];
    struct iovec iov[2];
    bool wake = false;

    if (!ernic_frame_queue_room(out, packets, train->len + packets * sizeof(head))) {
        d->net.blocked = true;
        return false;
    }
    for (pos = 0; pos < train->len;) {
        pos += ernic_pci_frame_of(train, pos, head, iov);
        wake |= ernic_frame_queue_put(out, iov, ARRAY_SIZE(iov), engine,
                                      pos == train->len ? train->serial : 0);
    }
    if (wake && d->thread) {
        ernic_pci_netq_kick(d);
    } else if (wake) {
        d->net.queues->unsent = true;
    }
    return true;
}

/* A frame goes back only if there is room for it: else it is not taken at all. */
static bool may_take(ErnicPci *d)
{
    return ernic_pci_rx_room(d) &&
           ernic_frame_queue_room(&d->net.queues->back, 1, NET_BUFSIZE);
}

/* To the Ethernet interface; returns whether the main loop has to be woken. */
static bool give_back(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    return ernic_frame_queue_put(&d->net.queues->back,
                                 &(struct iovec) { (void *)frame, len }, 1, 0, 0);
}

/* Packets of the same link must not wait for the main loop: a frame may be lost. */
void ernic_pci_netq_frame(ErnicPci *d, uint64_t now, const uint8_t *frame, uint32_t len)
{
    ernic_link_work(d->engine, FRAME_ACCESSES, len);
    if (ernic_pci_frame_to_engine(d, now, frame, len) ||
        !ernic_pci_eth_receives(d)) {
        return;
    }
    if (!ernic_frame_queue_room(&d->net.queues->back, 1, len)) {
        qatomic_inc(&d->net.eth.rx_no_buffer);      /* the main loop counts there too */
    } else if (give_back(d, frame, len)) {
        ernic_pci_netq_kick(d);
    }
}

void ernic_pci_netq_deliver(ErnicPci *d, uint64_t now)
{
    ErnicNetq *q = d->net.queues;
    bool room = false, wake = false;
    uint32_t len;

    if (!d->thread) {
        return;
    }
    ernic_pci_rx_slice(d);
    while (ernic_pci_rx_slice_left(d) && ernic_frame_queue_has(&q->in) &&
           ernic_pci_rx_doorbells(d, now) && may_take(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&q->in, &len, &room);

        ernic_link_work(d->engine, FRAME_ACCESSES, len);
        if (!ernic_pci_frame_to_engine(d, now, frame, len)) {
            wake |= give_back(d, frame, len);
        }
    }
    if (room || wake) {
        ernic_pci_netq_kick(d);
    }
}

bool ernic_pci_netq_waits(ErnicPci *d)
{
    return d->thread && ernic_frame_queue_has(&d->net.queues->in) && may_take(d);
}

/* ---- life ------------------------------------------------------------------ */

void ernic_pci_netq_init(ErnicPci *d, QEMUBHFunc *run)
{
    ErnicNetq *q = d->net.queues = g_new0(ErnicNetq, 1);

    q->work = ernic_budget_new(ernic_pci_clock(d));
    ernic_frame_queue_init(&q->out);
    ernic_frame_queue_init(&q->in);
    ernic_frame_queue_init(&q->back);
    if (d->thread) {
        q->bh = qemu_bh_new_guarded(run, d, &DEVICE(d)->mem_reentrancy_guard);
    }
}

void ernic_pci_netq_stop(ErnicPci *d)
{
    g_clear_pointer(&d->net.queues->bh, qemu_bh_delete);
}

void ernic_pci_netq_reset(ErnicPci *d)
{
    ErnicNetq *q = d->net.queues;

    ernic_frame_queue_purge(&q->out);
    ernic_frame_queue_purge(&q->in);
    ernic_frame_queue_purge(&q->back);
    if (d->thread) {
        ernic_pci_netq_kick(d);         /* there is room for frames again */
    }
}

void ernic_pci_netq_fini(ErnicPci *d)
{
    ErnicNetq *q = d->net.queues;

    ernic_frame_queue_fini(&q->out);
    ernic_frame_queue_fini(&q->in);
    ernic_frame_queue_fini(&q->back);
    g_free(q);
}
