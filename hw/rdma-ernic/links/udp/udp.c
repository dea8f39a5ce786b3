/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link in QEMU: the socket of socket.c as a link of the host, and the
 * properties for its address and its peers.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/error-report.h"
#include "device/lock.h"
#include "links/host_link.h"
#include "links/udp/socket.h"

typedef struct UdpLink {
    ErnicUdp *udp;
    uint32_t reported;          /* bits of ErnicUdpDrop that the user knows of */
} UdpLink;

static const ErnicPciLinkOps udp_link;

/* NULL: the device uses another link. */
static UdpLink *udp_of(const ErnicPci *d)
{
    return d->link == &udp_link ? d->link_state : NULL;
}

/* ---- drops that the user can do something about --------------------------- */

/* Whether the link has dropped packets for this reason: true once, for a warning. */
static bool to_be_reported(ErnicPci *d, ErnicUdpDrop reason)
{
    UdpLink *l = udp_of(d);

    if (l->reported & BIT(reason) || !ernic_udp_stats(l->udp)->drop[reason]) {
        return false;
    }
    l->reported |= BIT(reason);
    return true;
}

/*
 * The guest sees these drops only as exhausted retries. They come from a wrong
 * configuration, so each kind is reported to the user once.
 */
static void warn_tx_drops(ErnicPci *d, const ErnicTrain *train)
{
    char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

    if (to_be_reported(d, ERNIC_UDP_DROP_UNKNOWN_DEST)) {
        warn_report("ernic %s: roce-peers has no host address for packets from "
                    "%s to %s", ernic_pci_id(d),
                    ernic_udp_addr_text(&train->path.sgid, src),
                    ernic_udp_addr_text(&train->path.dgid, dst));
    }
    if (to_be_reported(d, ERNIC_UDP_DROP_TOO_BIG)) {
        warn_report("ernic %s: the host's network does not carry datagrams of "
                    "%u bytes to %s; roce-mtu= would keep them smaller",
                    ernic_pci_id(d), train->seg,
                    ernic_udp_addr_text(&train->path.dgid, dst));
    }
}

static void warn_rx_drops(ErnicPci *d)
{
    if (to_be_reported(d, ERNIC_UDP_DROP_UNKNOWN_SOURCE)) {
        warn_report("ernic %s: datagrams arrive at %s from a host address that "
                    "roce-peers does not have", ernic_pci_id(d),
                    ernic_pci_link_option(d, "roce-udp"));
    }
}

/* ---- the socket ------------------------------------------------------------ */

static int udp_fd(const ErnicPci *d)
{
    return ernic_udp_fd(udp_of(d)->udp);
}

static uint32_t udp_recv(ErnicPci *d, const ErnicTrain **trains, bool *more)
{
    uint32_t n = ernic_udp_recv(udp_of(d)->udp, trains, NULL);

    warn_rx_drops(d);
    *more = false;              /* the socket stays readable */
    return n;
}

static bool udp_send(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    bool sent = ernic_udp_send(udp_of(d)->udp, engine, train);

    if (sent) {
        warn_tx_drops(d, train);
    }
    return sent;
}

static void udp_forget(ErnicPci *d, ErnicPciEngine engine)
{
    ernic_udp_forget(udp_of(d)->udp, engine);
}

static const ErnicHostOps udp_ops = {
    .fd = udp_fd,
    .recv = udp_recv,
    .send = udp_send,
    .forget = udp_forget,
};

/* ---- peers ---------------------------------------------------------------- */

static bool add_peer(ErnicPci *d, const char *property, const char *peer, Error **errp)
{
    g_autofree char *err = NULL;

    if (!ernic_udp_add_peer(udp_of(d)->udp, peer, &err)) {
        error_setg(errp, "%s: %s", property, err);
        return false;
    }
    return true;
}

static bool add_peers(ErnicPci *d, const char *list, Error **errp)
{
    g_auto(GStrv) peers = g_strsplit(list, "+", -1);
    char **peer;

    for (peer = peers; *peer; peer++) {
        if (!add_peer(d, "roce-peers", *peer, errp)) {
            return false;
        }
    }
    return true;
}

static bool has_udp(const ErnicPci *d, const char *property, Error **errp)
{
    if (!udp_of(d)) {
        error_setg(errp, "%s: the device has no roce-udp link", property);
    }
    return udp_of(d);
}

static void set_add_peer(Object *obj, const char *value, Error **errp)
{
    ErnicPci *d = ERNIC(obj);

    if (has_udp(d, "add-peer", errp)) {
        ernic_pci_enter(d);
        add_peer(d, "add-peer", value, errp);
        ernic_pci_leave(d);
    }
}

static void set_remove_peer(Object *obj, const char *value, Error **errp)
{
    g_autofree char *err = NULL;
    ErnicPci *d = ERNIC(obj);

    if (has_udp(d, "remove-peer", errp)) {
        ernic_pci_enter(d);
        if (!ernic_udp_remove_peer(udp_of(d)->udp, value, &err)) {
            error_setg(errp, "remove-peer: %s", err);
        }
        ernic_pci_leave(d);
    }
}

static char *get_port(Object *obj, Error **errp)
{
    ErnicPci *d = ERNIC(obj);

    return g_strdup_printf("%u", udp_of(d) ? ernic_udp_port(udp_of(d)->udp) : 0);
}

static void udp_class_init(ObjectClass *oc)
{
    ernic_pci_link_add_option(oc, "roce-udp",
        "ADDRESS[:PORT] of the host that RoCEv2 packets leave from");
    ernic_pci_link_add_option(oc, "roce-peers",
        "GUEST=HOST[:PORT], joined by +: where packets to the address GUEST go");
    object_class_property_add_str(oc, "add-peer", NULL, set_add_peer);
    object_class_property_set_description(oc, "add-peer",
        "Write GUEST=HOST[:PORT] to add a peer of the UDP link at run time");
    object_class_property_add_str(oc, "remove-peer", NULL, set_remove_peer);
    object_class_property_set_description(oc, "remove-peer",
        "Write GUEST to remove a peer of the UDP link at run time");
    object_class_property_add_str(oc, "roce-port", get_port, NULL);
    object_class_property_set_description(oc, "roce-port",
        "The host's UDP port that the link is bound to");
}

/* ---- counters -------------------------------------------------------------- */

#define UDP(name) { #name, offsetof(ErnicUdpStats, name) }
static const ErnicPciCounter udp_numbers[] = {
    UDP(tx_trains), UDP(tx_packets), UDP(tx_bytes),
    UDP(rx_trains), UDP(rx_packets), UDP(rx_bytes), UDP(tx_busy),
};
#undef UDP

static const void *udp_stats(const ErnicPci *d)
{
    return udp_of(d) ? ernic_udp_stats(udp_of(d)->udp) : NULL;
}

static const ErnicPciLinkCounters udp_counters = {
    .name = "udp",
    .counters = udp_numbers,
    .num = ARRAY_SIZE(udp_numbers),
    .size = sizeof(ErnicUdpStats),
    .drops = offsetof(ErnicUdpStats, drop),
    .num_drops = ERNIC_UDP_DROP_COUNT,
    .drop_name = ernic_udp_drop_name,
    .get = udp_stats,
};

/* ---- life ----------------------------------------------------------------- */

static void udp_close(ErnicPci *d)
{
    UdpLink *l = udp_of(d);

    if (l) {
        d->host = (ErnicHostLink) { };
        g_clear_pointer(&l->udp, ernic_udp_free);
        g_clear_pointer(&d->link_state, g_free);
    }
}

static bool udp_open(ErnicPci *d, Error **errp);

static const ErnicPciLinkOps udp_link = {
    .name = "roce-udp",
    .counters = &udp_counters,
    .class_init = udp_class_init,
    .open = udp_open,
    .close = udp_close,
    ERNIC_HOST_LINK,
};

static bool udp_open(ErnicPci *d, Error **errp)
{
    const char *address = ernic_pci_link_option(d, "roce-udp");
    const char *peers = ernic_pci_link_option(d, "roce-peers");
    ErnicUdpConfig cfg = { .bind = address };
    UdpLink *l;
    g_autofree char *err = NULL;

    if (!address) {
        if (peers) {
            error_setg(errp, "roce-peers= needs roce-udp=");
        }
        return !peers;
    }
    if (!ernic_pci_link_take(d, &udp_link, errp)) {
        return false;
    }
    d->link_state = l = g_new0(UdpLink, 1);
    l->udp = ernic_udp_new(&cfg, &err);
    if (!l->udp) {
        error_setg(errp, "roce-udp: %s", err);
        return false;
    }
    if (peers && !add_peers(d, peers, errp)) {
        return false;
    }
    d->cfg.udp_sport = ernic_udp_port(l->udp);
    d->host.ops = &udp_ops;
    return true;
}

ERNIC_PCI_LINK(udp_link)
