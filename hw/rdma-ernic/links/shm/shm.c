/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link in QEMU: the port of port.c as a link of the host. It
 * announces the addresses of the device as long as packets may reach it here. With lab=,
 * it carries the frames of the network card too.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/runstate.h"
#include "system/system.h"
#include "capture/dump.h"
#include "device/life.h"
#include "engine/wire/frame.h"
#include "links/host_link.h"
#include "links/shm/cable.h"
#include "links/shm/port.h"
#include "links/shm/ring.h"
#include "hw/rdma-ernic/trace.h"

QEMU_BUILD_BUG_ON(ERNIC_SHM_ADDRESSES != ERNIC_PCI_ENGINES * ERNIC_LIM_GID);

typedef struct ShmLink {
    ErnicShm *shm;
    ErnicTrain train;           /* received last */
    /* gid_changes of each engine when its addresses were announced. */
    uint64_t gids[ERNIC_PCI_ENGINES];
    bool reachable;
    bool waits;                 /* for packets while it does not work */
    uint32_t reported;          /* bits of ErnicShmEvent that the user knows of */
    ErnicShmCable *cable;       /* owned; NULL: the link carries no frames */
    ErnicDump dump;
    Notifier exit;              /* removes its socket when QEMU ends */
} ShmLink;

static const ErnicPciLinkOps shm_link, lab_link;

/* NULL: the device uses another link. */
static ShmLink *shm_of(const ErnicPci *d)
{
    return d->link == &shm_link || d->link == &lab_link ? d->link_state : NULL;
}

static const char *folder_of(const ErnicPci *d)
{
    return ernic_pci_link_option(d, d->link->name);
}

static int shm_fd(const ErnicPci *d)
{
    return ernic_shm_fd(shm_of(d)->shm);
}

static void shm_serve(ErnicPci *d)
{
    ernic_shm_serve(shm_of(d)->shm);
}

/* ---- the capture ----------------------------------------------------------- */

static void dump_packet(ErnicDump *dump, bool sent, uint64_t ns, const ErnicTrain *train,
                        const uint8_t *data, uint32_t len)
{
    uint8_t frame[ERNIC_NET_HDR_MAX + ERNIC_SHM_TRAIN_BYTES];
    uint32_t head = train->frame ? 0 : ernic_net_emit(&train->path, len, frame);

    memcpy(frame + head, data, len);
    ernic_dump_frame(dump, 0, sent, ns, frame, head + len);
}

/* Times are those of the host, so that captures of several machines can be merged. */
static void dump_train(ShmLink *l, const ErnicTrain *train, bool sent)
{
    uint64_t ns;
    uint32_t pos;

    if (!l->dump.file) {
        return;
    }
    ns = qemu_clock_get_ns(QEMU_CLOCK_HOST);
    for (pos = 0; pos < train->len; pos += train->seg) {
        dump_packet(&l->dump, sent, ns, train, train->data + pos,
                    MIN(train->seg, train->len - pos));
    }
    ernic_dump_flush(&l->dump);
}

static bool dump_open(ErnicPci *d, ShmLink *l, Error **errp)
{
    g_autofree char *owner = g_strdup_printf("ernic %s", ernic_pci_id(d));
    const char *limit = ernic_pci_link_option(d, "dump-limit");
    uint64_t bytes = GiB;

    if (limit && qemu_strtosz(limit, NULL, &bytes) < 0) {
        error_setg(errp, "dump-limit is %s, not a size", limit);
        return false;
    }
    return ernic_dump_open(&l->dump, owner, ernic_pci_link_option(d, "dump"), bytes, 1,
                           errp);
}

/* ---- trains ---------------------------------------------------------------- */

/* One train at a time, as the port has one buffer. Without a cable it is lost. */
static uint32_t shm_recv(ErnicPci *d, const ErnicTrain **trains, bool *more)
{
    ShmLink *l = shm_of(d);
    bool got = ernic_shm_recv(l->shm, &l->train);

    *trains = &l->train;
    *more = got || (!d->polling.on && !ernic_shm_sleep(l->shm));
    got = got && d->link->is_up(d);
    if (got) {
        dump_train(l, &l->train, false);
    }
    return got;
}

/* Peers need not wake a thread that polls; one that has ended to asks them to. */
static bool shm_ready(ErnicPci *d)
{
    const ErnicShm *shm = shm_of(d)->shm;

    if (!d->polling.on && !ernic_shm_is_asleep(shm)) {
        return true;
    }
    if (!ernic_shm_ready(shm)) {
        return false;
    }
    trace_ernic_pci_shm_polled(ernic_pci_id(d));
    return true;
}

/* A group and new addresses of peers take more than the copy of the train. */
static bool shm_send(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    uint64_t work = ernic_shm_work(shm_of(d)->shm);
    bool up = d->link->is_up(d), sent = !up || ernic_shm_send(shm_of(d)->shm, train);

    if (up && sent) {
        dump_train(shm_of(d), train, true);
    }
    ernic_link_work(engine == ERNIC_PCI_PG332 ? d->pg332.engine : d->engine, 0,
                    ernic_shm_work(shm_of(d)->shm) - work);
    return sent;
}

/* The card has one cable for its frames and RoCEv2. */
static bool lab_is_up(const ErnicPci *d)
{
    return d->card->is_up(d);
}

/* Without a cable nothing waits. */
static void shm_room(ErnicPci *d)
{
    if (shm_of(d)->cable) {
        ernic_shm_cable_room(shm_of(d)->cable);
    }
}

/* ---- addresses ------------------------------------------------------------- */

static uint32_t add_addresses(const Ernic *e, ErnicGid *gid)
{
    static const ErnicGid none;
    uint32_t i, n = 0;

    for (i = 0; e && i < e->num_gids; i++) {
        if (memcmp(&e->gid[i].gid, &none, sizeof(none)) != 0) {
            gid[n++] = e->gid[i].gid;
        }
    }
    return n;
}

/*
 * Packets to a machine that is stopped wait in its ring. During a migration, there are
 * two machines with the same addresses: those of the one that does not run are not
 * announced. The state of the machine is the main loop's; with the device's lock alone,
 * that counts which the main loop saw last.
 */
static bool is_reachable(const ErnicPci *d)
{
    ShmLink *link = shm_of(d);

    if (ernic_pci_working(d)) {
        return true;
    }
    if (bql_locked()) {
        link->waits = ernic_pci_powered(d) && !runstate_check(RUN_STATE_INMIGRATE) &&
                      !runstate_check(RUN_STATE_FINISH_MIGRATE) &&
                      !runstate_check(RUN_STATE_POSTMIGRATE);
    }
    return ernic_pci_exists(d) && link->waits;
}

/* Called often: the list is made only of tables that have changed. */
static void shm_changed(ErnicPci *d)
{
    const Ernic *engine[ERNIC_PCI_ENGINES] = {
        [ERNIC_PCI_VERBS] = d->engine, [ERNIC_PCI_PG332] = d->pg332.engine,
    };
    bool reachable = is_reachable(d), changed = reachable != shm_of(d)->reachable;
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t i, n = 0;

    for (i = 0; i < ERNIC_PCI_ENGINES; i++) {
        changed |= engine[i] && engine[i]->gid_changes != shm_of(d)->gids[i];
    }
    if (!changed) {
        return;
    }
    shm_of(d)->reachable = reachable;
    for (i = 0; i < ERNIC_PCI_ENGINES; i++) {
        shm_of(d)->gids[i] = engine[i] ? engine[i]->gid_changes : 0;
        n += reachable ? add_addresses(engine[i], gid + n) : 0;
    }
    ernic_shm_announce(shm_of(d)->shm, gid, n, reachable);
}

/* ---- counters -------------------------------------------------------------- */

#define SHM(name) { #name, offsetof(ErnicShmStats, name) }
static const ErnicPciCounter shm_numbers[] = {
    SHM(tx_trains), SHM(tx_packets), SHM(tx_bytes),
    SHM(rx_trains), SHM(rx_packets), SHM(rx_bytes), SHM(tx_busy),
    SHM(tx_flooded), SHM(bells), SHM(peers), SHM(refused), SHM(broken),
    SHM(unreachable), SHM(duplicates),
};
#undef SHM

static const void *shm_stats(const ErnicPci *d)
{
    return shm_of(d) ? ernic_shm_stats(shm_of(d)->shm) : NULL;
}

static const ErnicPciLinkCounters shm_counters = {
    .name = "shm",
    .counters = shm_numbers,
    .num = ARRAY_SIZE(shm_numbers),
    .size = sizeof(ErnicShmStats),
    .drops = offsetof(ErnicShmStats, drop),
    .num_drops = ERNIC_SHM_DROP_COUNT,
    .drop_name = ernic_shm_drop_name,
    .get = shm_stats,
};

/* ---- life ------------------------------------------------------------------ */

static void shm_event(void *opaque, uint32_t peer, ErnicShmEvent event)
{
    ErnicPci *d = opaque;

    trace_ernic_pci_shm_peer(ernic_pci_id(d), peer, ernic_shm_event_name(event));
    if (shm_of(d)->reported & BIT(event)) {
        return;
    }
    shm_of(d)->reported |= BIT(event);
    if (event == ERNIC_SHM_PEER_REFUSED) {
        warn_report("ernic %s: a peer in %s was refused: it has another release, "
                    "another icrc= or not %s=, or there are more than %u",
                    ernic_pci_id(d), folder_of(d), d->link->name, ERNIC_SHM_PEERS);
    } else if (event == ERNIC_SHM_PEER_DUPLICATE) {
        warn_report("ernic %s: two peers in %s have the same address; the first one "
                    "gets its packets", ernic_pci_id(d), folder_of(d));
    }
}

static void shm_warn(void *opaque, const char *text)
{
    ErnicPci *d = opaque;

    warn_report("ernic %s: %s: %s", ernic_pci_id(d), d->link->name, text);
}

/* QEMU ends without unplugging its devices. */
static void shm_exit(Notifier *notifier, void *data)
{
    ernic_shm_hide(container_of(notifier, ShmLink, exit)->shm);
}

static const ErnicHostOps shm_ops = {
    .fd = shm_fd,
    .serve = shm_serve,
    .recv = shm_recv,
    .ready = shm_ready,
    .send = shm_send,
    .room = shm_room,
    .changed = shm_changed,
};

static void shm_class_init(ObjectClass *oc)
{
    ernic_pci_link_add_option(oc, "roce-shm",
        "Folder of the host: machines that name the same one exchange packets");
}

static void lab_class_init(ObjectClass *oc)
{
    ernic_pci_link_add_option(oc, "lab",
        "Folder of the host: machines that name the same one have one network");
    ernic_pci_link_add_option(oc, "dump", "File for a capture of lab= or roce-shm=");
    ernic_pci_link_add_option(oc, "dump-limit", "Maximum size of that file");
}

static void shm_close(ErnicPci *d)
{
    ShmLink *l = shm_of(d);

    if (l && l->shm) {
        qemu_remove_exit_notifier(&l->exit);
        d->host = (ErnicHostLink) { };
        ernic_shm_free(l->shm);
    }
    if (l) {
        g_clear_pointer(&l->cable, ernic_shm_cable_free);
        ernic_dump_close(&l->dump);
        g_clear_pointer(&d->link_state, g_free);
    }
}

static bool shm_link_open(ErnicPci *d, Error **errp);
static bool lab_link_open(ErnicPci *d, Error **errp);

static const ErnicPciLinkOps shm_link = {
    .name = "roce-shm",
    .icrc_optional = true,
    .counters = &shm_counters,
    .class_init = shm_class_init,
    .open = shm_link_open,
    .close = shm_close,
    .poll = ernic_host_poll,
    ERNIC_HOST_LINK,
};

static const ErnicPciLinkOps lab_link = {
    .name = "lab",
    .icrc_optional = true,
    .carries_frames = true,
    .class_init = lab_class_init,
    .open = lab_link_open,
    .close = shm_close,
    .poll = ernic_host_poll,
    ERNIC_HOST_LINK,
    .is_up = lab_is_up,
};

/* The user has named a folder. */
static bool open_link(ErnicPci *d, const ErnicPciLinkOps *ops, Error **errp)
{
    ErnicShmConfig cfg = {
        .folder = ernic_pci_link_option(d, ops->name), .icrc = d->icrc == ON_OFF_AUTO_ON,
        .frames = ops->carries_frames, .event = shm_event, .warn = shm_warn, .opaque = d,
    };
    g_autofree char *err = NULL;
    ShmLink *l;

    if (!*cfg.folder) {
        error_setg(errp, "%s= names no folder", ops->name);
        return false;
    }
    if (!ernic_pci_link_take(d, ops, errp)) {
        return false;
    }
    d->link_state = l = g_new0(ShmLink, 1);
    l->shm = ernic_shm_new(&cfg, &err);
    if (!l->shm) {
        error_setg(errp, "%s: %s", ops->name, err);
        return false;
    }
    l->exit.notify = shm_exit;
    qemu_add_exit_notifier(&l->exit);
    if (!dump_open(d, l, errp)) {
        return false;
    }
    d->cfg.no_icrc = !cfg.icrc;
    d->host.ops = &shm_ops;
    d->host.more = true;        /* look at the rings before the first sleep */
    return true;
}

static bool shm_link_open(ErnicPci *d, Error **errp)
{
    return !ernic_pci_link_option(d, shm_link.name) || open_link(d, &shm_link, errp);
}

/* Other links have no capture. */
static bool check_dump(const ErnicPci *d, Error **errp)
{
    static const char *const options[] = { "dump", "dump-limit" };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(options); i++) {
        if (ernic_pci_link_option(d, options[i]) && !shm_of(d)) {
            error_setg(errp, "%s= needs lab= or roce-shm=", options[i]);
            return false;
        }
    }
    return true;
}

static bool lab_link_open(ErnicPci *d, Error **errp)
{
    const char *folder = ernic_pci_link_option(d, lab_link.name);

    if (!folder) {
        return check_dump(d, errp);
    }
    if (d->net.conf.peers.ncs[0] || d->net.wire) {
        error_setg(errp, "%s= and %s= exclude each other",
                   d->net.wire ? "wire" : "netdev", lab_link.name);
        return false;
    }
    if (!open_link(d, &lab_link, errp)) {
        return false;
    }
    ernic_shm_cable_address(&d->net.conf.macaddr, folder,
                            ernic_shm_number(shm_of(d)->shm));
    shm_of(d)->cable = ernic_shm_cable_new(d, folder);
    return true;
}

/* In this order: lab= comes last, and looks at what roce-shm= has opened. */
static void register_shm(void)
{
    ernic_pci_link_register(&shm_link);
    ernic_pci_link_register(&lab_link);
}

type_init(register_shm)
