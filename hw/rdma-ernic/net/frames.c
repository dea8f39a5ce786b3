/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames of the network card, and the engines.
 *
 * Without a link of the host, a frame to UDP port 4791 goes to the engine if it is
 * addressed to an enabled interface, in the VLAN of that address. All other frames go
 * to the raw packet queue pairs whose rules match, and else to the Ethernet interface;
 * or to the flow tables of the mlx5 interface. That part is the same with a link of the
 * host.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "engine/wire/frame.h"
#include "device/link.h"
#include "device/traffic.h"
#include "net/frames.h"
#include "hw/rdma-ernic/trace.h"

uint32_t ernic_pci_frame_of(const ErnicTrain *train, uint32_t pos, uint8_t *head,
                                struct iovec iov[2])
{
    uint32_t len = MIN(train->seg, train->len - pos);

    iov[0] = (struct iovec) {
        head, train->frame ? 0 : ernic_net_emit(&train->path, len, head),
    };
    iov[1] = (struct iovec) { (void *)(train->data + pos), len };
    return len;
}

/*
 * Whether @path is to an address of @e, or to a group in a VLAN where @e has an address.
 * Free entries of the table are all 0, which is no address.
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

/* Whether @path is to the ERNIC interface, and software has enabled that. */
static bool is_pg332s(const ErnicPci *d, const ErnicPath *path)
{
    return d->pg332.engine && ernic_reg_enabled(d->pg332.engine) &&
           is_ours(d->pg332.engine, path);
}

/*
 * Whether the frame is for an engine. Malformed RoCEv2 frames go to the verbs engine,
 * which counts them. The mlx5 interface has flow tables for them, as for every frame
 * that is not for one of its addresses.
 */
static bool roce_frame(ErnicPci *d, ErnicFrame *f, const uint8_t *buf,
                       size_t size, ErnicDrop *drop)
{
    if (d->link != d->card || (!ernic_pci_verbs_enabled(d) && !d->pg332.engine)) {
        return false;
    }
    *drop = ernic_net_parse(f, buf, size);
    if (*drop == ERNIC_DROP_NOT_ROCE) {
        return false;
    }
    if (*drop && d->cfg.mlx5) {
        return false;
    }
    return (ernic_pci_verbs_enabled(d) && (*drop || is_ours(d->engine, &f->path))) ||
           is_pg332s(d, &f->path);
}

/*
 * Drop a malformed frame: the interface that it is addressed to records the reason.
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

bool ernic_pci_frame_to_engine(ErnicPci *d, uint64_t now, const uint8_t *buf,
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

/*
 * Whether an engine may receive the frame. If so, the engine decides with the lock held.
 */
bool ernic_pci_frame_may_be_engines(const ErnicPci *d, const uint8_t *buf, size_t size)
{
    ErnicFrame f;

    if (!ernic_pci_verbs_enabled(d) && !d->pg332.engine) {
        return false;
    }
    return d->cfg.mlx5 || qatomic_read(&d->net.flow_rules) ||
           (d->link == d->card &&
            ernic_net_parse(&f, buf, size) != ERNIC_DROP_NOT_ROCE);
}
