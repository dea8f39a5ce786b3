/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cable from the network card to the port of lab=. A frame that the port refuses
 * waits in QEMU's queue, and the card's transmission with it.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "net/net.h"
#include "device/lock.h"
#include "device/traffic.h"
#include "links/shm/cable.h"
#include "links/shm/ring.h"

struct ErnicShmCable {
    NetClientState nc;
    ErnicPci *d;
    QEMUBH *bh;                 /* offers the frame that waits again */
    bool waits;                 /* device's lock */
};

/* A frame of the card, which belongs to the main loop. 0: it waits. */
static ssize_t cable_receive(NetClientState *nc, const uint8_t *frame, size_t len)
{
    ErnicShmCable *c = DO_UPCAST(ErnicShmCable, nc, nc);
    ErnicTrain train = { .frame = true, .data = frame, .len = len, .seg = len };
    bool sent;

    if (len < ERNIC_SHM_FRAME_MIN || len > ERNIC_SHM_TRAIN_BYTES) {
        return len;
    }
    c->d->net.busy++;           /* an interrupt may eject the function meanwhile */
    ernic_pci_enter(c->d);
    sent = ernic_pci_to_link(c->d, ERNIC_PCI_VERBS, &train);
    c->waits |= !sent;
    ernic_pci_leave(c->d);
    c->d->net.busy--;
    return sent ? len : 0;
}

static void flush(void *opaque)
{
    ErnicShmCable *c = opaque;

    qemu_flush_queued_packets(&c->nc);
}

void ernic_shm_cable_room(ErnicShmCable *c)
{
    if (c->waits) {
        c->waits = false;
        qemu_bh_schedule(c->bh);
    }
}

static NetClientInfo cable_info = {
    .type = NET_CLIENT_DRIVER_NONE,
    .size = sizeof(ErnicShmCable),
    .receive = cable_receive,
};

/* QEMU deletes clients by their names: no id has this character. */
ErnicShmCable *ernic_shm_cable_new(ErnicPci *d, const char *folder)
{
    static unsigned count;
    g_autofree char *name = g_strdup_printf("%s#lab%u", ernic_pci_id(d), count++);
    NetClientState *nc = qemu_new_net_client(&cable_info, NULL, "ernic-lab", name);
    ErnicShmCable *c = DO_UPCAST(ErnicShmCable, nc, nc);

    qemu_set_info_str(nc, "lab=%s", folder);
    c->d = d;
    c->bh = qemu_bh_new_guarded(flush, c, &DEVICE(d)->mem_reentrancy_guard);
    d->net.conf.peers.ncs[0] = nc;
    return c;
}

void ernic_shm_cable_free(ErnicShmCable *c)
{
    qemu_bh_delete(c->bh);
    c->d->net.conf.peers.ncs[0] = NULL;
    qemu_del_net_client(&c->nc);
}

void ernic_shm_cable_address(MACAddr *mac, const char *folder, uint32_t number)
{
    static const MACAddr unset;
    bool fits = number && number <= UINT8_MAX;
    uint32_t hash = fits ? g_str_hash(folder) : g_random_int();

    if (memcmp(mac, &unset, sizeof(unset)) == 0) {
        *mac = (MACAddr) { { 0x52, 0x54, 0x00, hash >> 8, hash,
                             fits ? number : hash >> 16 } };
    }
}
