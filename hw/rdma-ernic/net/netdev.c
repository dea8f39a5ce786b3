/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as a QEMU NIC.
 *
 * Without a link of the host it is also the link of RoCEv2; frames.c has the way of a
 * frame to the engines.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "engine/wire/frame.h"
#include "device/clock.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/life.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/traffic.h"
#include "net/ethernet.h"
#include "net/transmit.h"
#include "net/frames.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "hw/rdma-ernic/trace.h"

/* A frame is copied, and its headers are parsed. */
#define FRAME_ACCESSES  2

static bool netdev_is_up(const ErnicPci *d)
{
    return !qatomic_read(&d->net.link_down);
}

/* ---- out ------------------------------------------------------------------ */

/* Whether the backend, or the cable, still holds frames of ours. */
static bool waits(const ErnicPci *d)
{
    return d->net.pending || (d->net.port && ernic_wire_waits(d->net.port));
}

/* Our own wire reaches no other device before its timer runs. */
static bool on_wire(const ErnicPci *d)
{
    return d->net.port && !d->thread;
}

static void roce_sent(NetClientState *nc, ssize_t len)
{
    ErnicPci *d = qemu_get_nic_opaque(nc);

    if (d->net.pending && --d->net.pending == 0) {
        ernic_pci_netq_kick(d);
    }
}

static void wire_ready(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_pci_netq_kick(d);     /* the engine asks us what has left */
    ernic_pci_eth_sent(d);
}

/*
 * Send a frame of the engine, which is copied if the backend sends it later. BQL held;
 * inside enter and leave to a wire only.
 */
static void send_frame(ErnicPci *d, const struct iovec *iov, int num)
{
    if (qemu_sendv_packet_async(qemu_get_queue(d->net.nic), iov, num, roce_sent) == 0) {
        d->net.pending++;
    }
}

static bool send_to_wire(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    uint8_t head[ERNIC_NET_HDR_MAX];
    struct iovec iov[2];
    uint32_t pos;

    if (waits(d)) {
        d->net.blocked = true;
        return false;
    }
    d->net.train = train->serial;
    d->net.sender = engine;
    for (pos = 0; pos < train->len;) {
        pos += ernic_pci_frame_of(train, pos, head, iov);
        send_frame(d, iov, ARRAY_SIZE(iov));
    }
    return true;
}

static bool netdev_tx(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    if (!d->net.nic) {
        return true;            /* no cable: the train is lost */
    }
    return on_wire(d) ? send_to_wire(d, engine, train) :
                        ernic_pci_netq_tx(d, engine, train);
}

/* The wire takes a train when it holds none: only the last one can still be there. */
static uint64_t wire_departed(const ErnicPci *d, ErnicPciEngine engine)
{
    return d->net.sender == engine && waits(d) ? d->net.train - 1 :
                                                                UINT64_MAX;
}

/* The engine runs when what has left the queue has grown. */
static uint64_t netdev_departed(const ErnicPci *d, ErnicPciEngine engine)
{
    return on_wire(d) ? wire_departed(d, engine) :
                        ernic_frame_queue_departed(&d->net.queues->out, engine);
}

void ernic_pci_netdev_run(ErnicPci *d, uint64_t now)
{
    bool full = on_wire(d) ? waits(d) : ernic_frame_queue_full(&d->net.queues->out);

    if (d->net.blocked && !full) {
        d->net.blocked = false;
        ernic_pci_tx_ready(d, now);
    }
}

/* ---- in ------------------------------------------------------------------- */

static void receive(ErnicPci *d, const uint8_t *buf, size_t size)
{
    uint64_t now;
    bool its;

    if (d->interface->control && d->interface->control(d, buf, size)) {
        return;
    }
    its = ernic_pci_frame_may_be_engines(d, buf, size);
    if (its && d->thread) {
        ernic_pci_netq_receive(d, buf, size);
        return;
    }
    if (its) {
        now = ernic_pci_enter(d);
        its = ernic_pci_frame_to_engine(d, now, buf, size);
        ernic_pci_leave(d);
    }
    if (!its) {
        ernic_pci_eth_receive(d, buf, size);
    }
}

/*
 * A backend may have a thousand frames, and would deliver all of them in one call. The
 * frames that do not fit into a slice wait until the device's work has run again, which
 * begins the next one. With an engine in a thread, the main loop has slices of its own.
 */
static bool slice_of_frames_left(const ErnicPci *d)
{
    return d->thread ? ernic_budget_left(&d->net.queues->work) :
                       ernic_pci_rx_slice_left(d);
}

static bool slice_left(ErnicPci *d)
{
    if (slice_of_frames_left(d)) {
        return true;
    }
    trace_ernic_pci_frames_wait(ernic_pci_id(d));
    if (!d->net.resuming) {
        ernic_pci_netq_kick(d);
    }
    return false;
}

static bool interface_has_room(const ErnicPci *d)
{
    return !d->interface->frame_room || d->interface->frame_room(d);
}

static bool has_room(ErnicPci *d)
{
    if (!interface_has_room(d)) {
        return false;
    }
    if (d->thread) {
        return ernic_pci_netq_room(d);
    }
    return d->link != d->card || ernic_pci_rx_room(d);
}

/* QEMU asks whether frames can be received outside its own guard. */
static bool run_doorbells(ErnicPci *d)
{
    MemReentrancyGuard *guard = &DEVICE(d)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io, done;

    guard->engaged_in_io = true;
    d->net.busy++;
    done = ernic_pci_rx_doorbells(d, ernic_pci_enter(d));
    ernic_pci_leave(d);
    d->net.busy--;
    guard->engaged_in_io = engaged;
    return done;
}

/*
 * Whether the doorbells have been executed that were rung before. When the machine
 * starts, QEMU delivers frames before the device knows of it.
 */
static bool after_doorbells(ErnicPci *d)
{
    if (d->thread) {
        return true;            /* ernic_pci_netq_deliver() executes them */
    }
    return d->net.started && (!ernic_pci_working(d) || !ernic_pci_doorbells_wait(d) ||
                              run_doorbells(d));
}

/* A frame from inside an engine waits until its work has run. */
static bool comes_from_inside(ErnicPci *d)
{
    if (!ernic_pci_inside_card(d)) {
        return false;
    }
    ernic_pci_kick(d);
    return true;
}

/*
 * A frame waits while there is no room for it, as with a PAUSE frame. Then all
 * others wait as well. QEMU does not look whether its queue is empty: a frame that fits
 * because the engine has just made room would overtake those in it.
 */
static bool netdev_can_receive(NetClientState *nc)
{
    ErnicPci *d = qemu_get_nic_opaque(nc);

    if (d->net.rx_full && !d->net.resuming && ernic_pci_powered(d)) {
        return false;
    }
    d->net.rx_full = ernic_pci_powered(d) &&
                     (comes_from_inside(d) || !has_room(d) || !slice_left(d) ||
                      !after_doorbells(d));
    return !d->net.rx_full;
}

/*
 * In D3hot, and after unplug, every frame is lost. QEMU delivers the frames of a queue
 * without asking whether the next one can be received. A frame is copied before it is
 * read: a hub hands over the memory of the guest that sends it.
 */
static ssize_t netdev_receive(NetClientState *nc, const uint8_t *buf,
                              size_t size)
{
    ErnicPci *d = qemu_get_nic_opaque(nc);

    if (!netdev_can_receive(nc)) {
        return 0;
    }
    if (ernic_pci_powered(d) && size <= NET_BUFSIZE) {
        g_autofree uint8_t *frame = g_memdup2(buf, size);

        ernic_pci_rx_work(d, FRAME_ACCESSES, size);
        d->net.busy++;
        receive(d, frame, size);
        d->net.busy--;
    }
    return MAX(size, 1);        /* 0 would mean that the frame waits, also an empty one */
}

void ernic_pci_netdev_resume(ErnicPci *d)
{
    if (d->net.rx_full && !ernic_pci_gone(d) &&
        (!ernic_pci_powered(d) || has_room(d))) {
        d->net.rx_full = false;
        d->net.busy++;
        d->net.resuming = true;
        qemu_flush_queued_packets(qemu_get_queue(d->net.nic));
        if (d->net.port) {
            ernic_wire_resume(d->net.port);
        }
        d->net.resuming = false;
        d->net.busy--;
    }
}

/* ---- the work of the main loop ----------------------------------------------- */

static bool may_run(const ErnicPci *d)
{
    return ernic_pci_working(d) && runstate_is_running();
}

/*
 * Sending may reach any device, whose DMA may reset or eject this function, which
 * empties the queues. A frame that the backend keeps is the last one: it has left when
 * the next one is taken. Returns whether there may be more to do.
 */
static bool send_frames(ErnicPci *d)
{
    ErnicNetq *q = d->net.queues;
    bool wake = false;
    uint32_t len;

    while (ernic_budget_left(&q->work) && may_run(d) && !waits(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&q->out, &len, &wake);

        if (!frame) {
            break;
        }
        ernic_budget_charge(&q->work, ERNIC_WORK_FRAME, len);
        send_frame(d, &(struct iovec) { (void *)frame, len }, 1);
    }
    if (wake) {                 /* once for all of them */
        ernic_pci_continue(d, &d->kick, d->bh);
    }
    return !ernic_budget_left(&q->work);
}

/* The same for the Ethernet interface, whose interrupts may do that. */
static bool take_back(ErnicPci *d)
{
    ErnicNetq *q = d->net.queues;
    bool room = false;
    uint32_t len;

    while (ernic_budget_left(&q->work) && may_run(d) && interface_has_room(d)) {
        const uint8_t *frame = ernic_frame_queue_next(&q->back, &len, &room);

        if (!frame) {
            break;
        }
        ernic_budget_charge(&q->work, ERNIC_WORK_FRAME, len);
        ernic_pci_eth_receive(d, frame, len);
    }
    if (room) {                 /* the engine goes on with the next frame */
        ernic_pci_continue(d, &d->kick, d->bh);
    }
    return !ernic_budget_left(&q->work);
}

/* The rest of the work, in the next slice. */
static void run_on(ErnicPci *d)
{
    if (d->thread) {
        ernic_pci_netq_kick(d);
    } else {
        ernic_pci_continue(d, &d->kick, d->bh);
    }
}

/*
 * A device that our frame reaches may poll the bottom halves of the main loop, so this
 * work too: the frame is still in use, and the next one waits until it is not.
 */
static void run(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicNetq *q = d->net.queues;
    bool more;

    if (q->running || !runstate_is_running()) {
        q->again = q->running;
        return;
    }
    q->unsent = false;
    q->running = true;
    ernic_budget_start(&q->work);
    d->net.busy++;
    more = take_back(d);
    more |= send_frames(d);
    d->net.busy--;
    ernic_budget_start(&q->work);       /* for frames of the netdev, until the next run */
    ernic_pci_netdev_resume(d);
    q->running = false;
    if (more || q->again || (d->net.rx_full && !slice_of_frames_left(d))) {
        q->again = false;
        run_on(d);
    }
}

void ernic_pci_netdev_run_main(ErnicPci *d)
{
    assert(bql_locked());
    ernic_pci_guarded(d, run);
}

static void report_link(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t now;

    if (!ernic_pci_working(d) || !d->net.link_moved) {
        return;
    }
    d->net.link_moved = false;
    now = ernic_pci_enter(d);
    ernic_pci_links_report(d, now);
    ernic_pci_leave(d);
    ernic_pci_eth_link_changed(d);
    if (d->interface->link) {
        d->interface->link(d);
    }
}

/*
 * While the machine is stopped, guest memory must not change: report a link
 * change after it.
 */
void ernic_pci_netdev_report_link(ErnicPci *d)
{
    ernic_pci_guarded(d, report_link);
}

static void netdev_link_changed(NetClientState *nc)
{
    ErnicPci *d = qemu_get_nic_opaque(nc);

    qatomic_set(&d->net.link_down, nc->link_down);
    d->net.link_moved = true;
    ernic_pci_netdev_report_link(d);
}

static NetClientInfo netdev_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = netdev_can_receive,
    .receive = netdev_receive,
    .link_status_changed = netdev_link_changed,
};

/* ---- life ----------------------------------------------------------------- */

static const ErnicPciLinkOps netdev_link;

static bool netdev_open(ErnicPci *d, Error **errp)
{
    d->card = &netdev_link;
    d->link = d->link ?: d->card;
    if (d->net.conf.peers.ncs[0] && d->net.wire) {
        error_setg(errp, "netdev= and wire= exclude each other");
        return false;
    }
    return !d->net.wire || ernic_wire_has_room(d->net.wire, errp);
}

/* Create the NIC; called when nothing can fail any more. */
void ernic_pci_netdev_start(ErnicPci *d)
{
    DeviceState *dev = DEVICE(d);

    ernic_pci_eth_init(d);
    if (d->net.wire) {
        object_ref(OBJECT(d->net.wire));        /* until netdev_close() */
        d->net.port = ernic_wire_plug(d->net.wire, dev->id ?: "", d->profile,
                                      wire_ready, d);
        d->net.conf.peers.ncs[0] = d->net.port;
    }
    ernic_pci_netq_init(d, run);
    if (d->net.conf.peers.ncs[0]) {
        d->net.nic = qemu_new_nic(&netdev_info, &d->net.conf, TYPE_ERNIC,
                                  dev->id, &dev->mem_reentrancy_guard, d);
        ernic_pci_eth_show_mac(d);
    }
}

static void netdev_reset(ErnicPci *d)
{
    if (d->net.nic) {
        qemu_purge_queued_packets(qemu_get_queue(d->net.nic));
    }
    if (d->net.port) {
        ernic_wire_purge(d->net.port);
    }
    ernic_pci_netq_reset(d);
    d->net.pending = 0;
    d->net.blocked = false;
    if (d->net.rx_full && !d->thread && ernic_pci_working(d)) {
        ernic_pci_kick(d);              /* the engine has room for frames again */
    }
    ernic_pci_eth_reset(d);
}

static void netdev_close(ErnicPci *d)
{
    if (d->net.nic) {
        /* Frames in the backend would be reported to a NIC that is gone. */
        qemu_purge_queued_packets(qemu_get_queue(d->net.nic));
        qemu_del_nic(d->net.nic);
        d->net.nic = NULL;
    }
    if (d->net.port) {
        ernic_wire_unplug(d->net.wire, d->net.port);
        d->net.port = d->net.conf.peers.ncs[0] = NULL;
        object_unref(OBJECT(d->net.wire));
    }
}

static const ErnicPciLinkOps netdev_link = {
    .name = "netdev",
    .open = netdev_open,
    .close = netdev_close,
    .is_up = netdev_is_up,
    .tx = netdev_tx,
    .departed = netdev_departed,
    .waits = ernic_pci_netq_waits,
    .unsent = ernic_pci_netq_unsent,
    .work = ernic_pci_netq_work,
    .frame = ernic_pci_netq_frame,
    .reset = netdev_reset,
};

ERNIC_PCI_LINK(netdev_link)
