/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as a QEMU NIC.
 *
 * Without a link of the host it is also the netdev link: a frame to UDP port 4791 goes
 * to the engine if it is addressed to an enabled face, in the VLAN of that
 * address. All other frames go to the raw packet queue pairs whose rules match,
 * and else to the Ethernet face; or to the flow tables of the mlx5 interface.
 * That part is the same with a link of the host.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "engine/wire/frame.h"
#include "links/host_link.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "device/device.h"
#include "pci/env.h"
#include "hw/rdma-ernic/trace.h"

/* A frame is copied, and its headers are parsed. */
#define FRAME_ACCESSES  2

bool ernic_pci_netdev_link(const ErnicPci *d)
{
    return !d->net.nic || !qemu_get_queue(d->net.nic)->link_down;
}

/* ---- out ------------------------------------------------------------------ */

bool ernic_pci_netdev_waits(const ErnicPci *d)
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

void ernic_pci_netdev_send(ErnicPci *d, const struct iovec *iov, int num)
{
    if (qemu_sendv_packet_async(qemu_get_queue(d->net.nic), iov, num, roce_sent) == 0) {
        d->net.pending++;
    }
}

uint32_t ernic_pci_netdev_frame(const ErnicTrain *train, uint32_t pos, uint8_t *head,
                                struct iovec iov[2])
{
    uint32_t len = MIN(train->seg, train->len - pos);

    iov[0] = (struct iovec) {
        head, train->frame ? 0 : ernic_net_emit(&train->path, len, head),
    };
    iov[1] = (struct iovec) { (void *)(train->data + pos), len };
    return len;
}

static bool send_to_wire(ErnicPci *d, ErnicPciFace face, const ErnicTrain *train)
{
    uint8_t head[ERNIC_NET_HDR_MAX];
    struct iovec iov[2];
    uint32_t pos;

    if (ernic_pci_netdev_waits(d)) {
        d->net.blocked = true;
        return false;
    }
    d->net.train = train->serial;
    d->net.sender = face;
    for (pos = 0; pos < train->len;) {
        pos += ernic_pci_netdev_frame(train, pos, head, iov);
        ernic_pci_netdev_send(d, iov, ARRAY_SIZE(iov));
    }
    return true;
}

bool ernic_pci_netdev_tx(ErnicPci *d, ErnicPciFace face,
                         const ErnicTrain *train)
{
    if (!d->net.nic) {
        return true;            /* no cable: the train is lost */
    }
    return on_wire(d) ? send_to_wire(d, face, train) : ernic_pci_netq_tx(d, face, train);
}

/* The wire takes a train when it holds none: only the last one can still be there. */
static uint64_t wire_departed(const ErnicPci *d, ErnicPciFace face)
{
    return d->net.sender == face && ernic_pci_netdev_waits(d) ? d->net.train - 1 :
                                                                UINT64_MAX;
}

uint64_t ernic_pci_netdev_departed(const ErnicPci *d, ErnicPciFace face)
{
    return on_wire(d) ? wire_departed(d, face) : ernic_pci_netq_departed(d, face);
}

void ernic_pci_netdev_run(ErnicPci *d, uint64_t now)
{
    bool waits = on_wire(d) ? ernic_pci_netdev_waits(d) : ernic_pci_netq_blocked(d);

    if (d->net.blocked && !waits) {
        d->net.blocked = false;
        ernic_pci_tx_ready(d, now);
    }
}

/* ---- in ------------------------------------------------------------------- */

/*
 * Is @path to an address of @e, or to a group in a VLAN where @e has an
 * address? Free entries of the table are all 0, which is no address.
 */
static bool is_ours(const Ernic *e, const ErnicPath *path)
{
    static const ErnicGid none;
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_GID; i++) {
        const ErnicGidEntry *own = &e->gid[i];

        if (memcmp(&own->gid, &none, sizeof(none)) != 0 &&
            ERNIC_VLAN_ID(own->vlan) == ERNIC_VLAN_ID(path->vlan) &&
            ((path->dmac[0] & 1) ||
             memcmp(&own->gid, &path->dgid, sizeof(own->gid)) == 0)) {
            return true;
        }
    }
    return false;
}

/* Is it for the ERNIC face, once software has enabled that? */
static bool is_pg332s(const ErnicPci *d, const ErnicPath *path)
{
    return d->pg332.engine && ernic_reg_enabled(d->pg332.engine) &&
           is_ours(d->pg332.engine, path);
}

/*
 * Is it a frame for an engine? Malformed RoCEv2 frames go to the verbs engine,
 * which counts them. The mlx5 interface has flow tables for them, as for every frame
 * that is not for one of its addresses.
 */
static bool roce_frame(ErnicPci *d, ErnicFrame *f, const uint8_t *buf,
                       size_t size, ErnicDrop *drop)
{
    if (ernic_pci_host_link(d) || (!ernic_pci_verbs_enabled(d) && !d->pg332.engine)) {
        return false;
    }
    *drop = ernic_net_parse(f, buf, size);
    if (*drop == ERNIC_DROP_NOT_ROCE) {
        return false;
    }
    if (*drop && d->mlx5.on) {
        return false;
    }
    return (ernic_pci_verbs_enabled(d) && (*drop || is_ours(d->engine, &f->path))) ||
           is_pg332s(d, &f->path);
}

/*
 * Drop a malformed frame: the face that it is addressed to records the reason.
 */
static void bad_frame(ErnicPci *d, uint64_t now, const ErnicFrame *f, ErnicDrop drop,
                      const uint8_t *buf, size_t size)
{
    if (is_pg332s(d, &f->path)) {
        ernic_rx_bad_frame(d->pg332.engine, now, buf, size);
    } else {
        d->engine->stats.drop[drop]++;
    }
    trace_ernic_pci_frame_drop(ernic_pci_id(d), drop, size);
}

/*
 * Deliver a frame that the engine's software receives: by a rule for a queue pair, or
 * with the mlx5 interface each one. False: there is no such rule.
 */
static bool raw_receive(ErnicPci *d, uint64_t now, const uint8_t *buf, size_t size)
{
    if (!ernic_pci_verbs_enabled(d) || !ernic_wants_frame(d->engine, buf, size)) {
        return false;
    }
    ernic_rx_raw(d->engine, now, buf, size);
    return true;
}

bool ernic_pci_netdev_to_engine(ErnicPci *d, uint64_t now, const uint8_t *buf,
                                size_t size)
{
    ErnicDrop drop = ERNIC_DROP_NONE;
    ErnicFrame f;

    if (!roce_frame(d, &f, buf, size, &drop)) {
        return raw_receive(d, now, buf, size);
    }
    if (drop != ERNIC_DROP_NONE) {
        bad_frame(d, now, &f, drop, buf, size);
    } else {
        ernic_pci_rx(d, now, &(ErnicTrain) {
            .path = f.path, .ip = f.ip, .data = f.ib, .len = f.ib_len, .seg = f.ib_len,
        });
    }
    return true;
}

/* May an engine receive the frame? If it may, the engine decides with the lock held. */
static bool may_be_engines(ErnicPci *d, const uint8_t *buf, size_t size)
{
    ErnicFrame f;

    if (!ernic_pci_verbs_enabled(d) && !d->pg332.engine) {
        return false;
    }
    return d->cfg.mlx5 || qatomic_read(&d->net.flow_rules) ||
           (!ernic_pci_host_link(d) &&
            ernic_net_parse(&f, buf, size) != ERNIC_DROP_NOT_ROCE);
}

static void receive(ErnicPci *d, const uint8_t *buf, size_t size)
{
    bool its = may_be_engines(d, buf, size);
    uint64_t now;

    if (its && d->thread) {
        ernic_pci_netq_receive(d, buf, size);
        return;
    }
    if (its) {
        now = ernic_pci_enter(d);
        its = ernic_pci_netdev_to_engine(d, now, buf, size);
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
bool ernic_pci_netdev_slice_left(const ErnicPci *d)
{
    return d->thread ? ernic_pci_netq_slice_left(d) : ernic_pci_rx_slice_left(d);
}

static bool slice_left(ErnicPci *d)
{
    if (ernic_pci_netdev_slice_left(d)) {
        return true;
    }
    trace_ernic_pci_frames_wait(ernic_pci_id(d));
    if (!d->net.resuming) {
        ernic_pci_netq_kick(d);
    }
    return false;
}

static bool has_room(ErnicPci *d)
{
    if (d->thread) {
        return ernic_pci_netq_room(d);
    }
    return ernic_pci_host_link(d) || ernic_pci_rx_room(d);
}

/*
 * A frame waits while the engine has no room for it, as with a PAUSE frame. Then all
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
                     (!has_room(d) || !slice_left(d));
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
    return size;
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

/*
 * While the machine is stopped, guest memory must not change: report a link
 * change after it.
 */
void ernic_pci_netdev_report_link(ErnicPci *d)
{
    uint64_t now;

    if (!ernic_pci_working(d) || !d->net.link_moved) {
        return;
    }
    d->net.link_moved = false;
    now = ernic_pci_enter(d);
    if (ernic_pci_verbs_enabled(d)) {
        ernic_set_link(d->engine, now, ernic_pci_link(d));
    }
    ernic_pci_pg332_link(d, now);
    ernic_pci_leave(d);
    ernic_pci_eth_link_changed(d);
}

static void netdev_link_changed(NetClientState *nc)
{
    ErnicPci *d = qemu_get_nic_opaque(nc);

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

bool ernic_pci_netdev_open(ErnicPci *d, Error **errp)
{
    qemu_macaddr_default_if_unset(&d->net.conf.macaddr);
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
    ernic_pci_netq_init(d);
    if (d->net.conf.peers.ncs[0]) {
        d->net.nic = qemu_new_nic(&netdev_info, &d->net.conf, TYPE_ERNIC,
                                  dev->id, &dev->mem_reentrancy_guard, d);
        ernic_pci_eth_show_mac(d);
    }
}

void ernic_pci_netdev_reset(ErnicPci *d)
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

void ernic_pci_netdev_close(ErnicPci *d)
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
