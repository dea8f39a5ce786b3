/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link in QEMU: the port of shm_port.c as a link of the host. It
 * announces the addresses of the device as long as packets may reach it here.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/error-report.h"
#include "system/runstate.h"
#include "system/system.h"
#include "device/life.h"
#include "links/host_link.h"
#include "links/shm/port.h"
#include "hw/rdma-ernic/trace.h"

QEMU_BUILD_BUG_ON(ERNIC_SHM_ADDRESSES != ERNIC_PCI_ENGINES * ERNIC_LIM_GID);

static int shm_fd(const ErnicPci *d)
{
    return ernic_shm_fd(d->shm);
}

static void shm_serve(ErnicPci *d)
{
    ernic_shm_serve(d->shm);
}

/* One train at a time, as the port has one buffer. */
static uint32_t shm_recv(ErnicPci *d, const ErnicTrain **trains, bool *more)
{
    bool got = ernic_shm_recv(d->shm, &d->shm_train);

    *trains = &d->shm_train;
    *more = got || !ernic_shm_sleep(d->shm);
    return got;
}

/* A group and new addresses of peers take more than the copy of the train. */
static bool shm_send(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    uint64_t work = ernic_shm_work(d->shm);
    bool sent = ernic_shm_send(d->shm, train);

    ernic_link_work(engine == ERNIC_PCI_PG332 ? d->pg332.engine : d->engine, 0,
                    ernic_shm_work(d->shm) - work);
    return sent;
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
 * announced.
 */
static bool is_reachable(const ErnicPci *d)
{
    return ernic_pci_working(d) ||
           (ernic_pci_exists(d) && ernic_pci_powered(d) &&
            !runstate_check(RUN_STATE_INMIGRATE) &&
            !runstate_check(RUN_STATE_FINISH_MIGRATE) &&
            !runstate_check(RUN_STATE_POSTMIGRATE));
}

/* Called often: the list is made only of tables that have changed. */
static void shm_changed(ErnicPci *d)
{
    const Ernic *engine[ERNIC_PCI_ENGINES] = {
        [ERNIC_PCI_VERBS] = d->engine, [ERNIC_PCI_PG332] = d->pg332.engine,
    };
    bool reachable = is_reachable(d), changed = reachable != d->shm_reachable;
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t i, n = 0;

    for (i = 0; i < ERNIC_PCI_ENGINES; i++) {
        changed |= engine[i] && engine[i]->gid_changes != d->shm_gids[i];
    }
    if (!changed) {
        return;
    }
    d->shm_reachable = reachable;
    for (i = 0; i < ERNIC_PCI_ENGINES; i++) {
        d->shm_gids[i] = engine[i] ? engine[i]->gid_changes : 0;
        n += reachable ? add_addresses(engine[i], gid + n) : 0;
    }
    ernic_shm_announce(d->shm, gid, n);
}

/* ---- life ------------------------------------------------------------------ */

static void shm_event(void *opaque, uint32_t peer, ErnicShmEvent event)
{
    ErnicPci *d = opaque;

    trace_ernic_pci_shm_peer(ernic_pci_id(d), peer, ernic_shm_event_name(event));
    if (d->shm_reported & BIT(event)) {
        return;
    }
    d->shm_reported |= BIT(event);
    if (event == ERNIC_SHM_PEER_REFUSED) {
        warn_report("ernic %s: a peer in %s was refused: it has another release, or "
                    "another icrc=, or there are more than %u", ernic_pci_id(d),
                    ernic_pci_link_option(d, "roce-shm"), ERNIC_SHM_PEERS);
    } else if (event == ERNIC_SHM_PEER_DUPLICATE) {
        warn_report("ernic %s: two peers in %s have the same address; the first one "
                    "gets its packets", ernic_pci_id(d),
                    ernic_pci_link_option(d, "roce-shm"));
    }
}

static void shm_warn(void *opaque, const char *text)
{
    warn_report("ernic %s: roce-shm: %s", ernic_pci_id(opaque), text);
}

/* QEMU ends without unplugging its devices. */
static void shm_exit(Notifier *notifier, void *data)
{
    ernic_shm_hide(container_of(notifier, ErnicPci, shm_exit)->shm);
}

static const ErnicHostOps shm_ops = {
    .fd = shm_fd,
    .serve = shm_serve,
    .recv = shm_recv,
    .send = shm_send,
    .changed = shm_changed,
};

static void shm_class_init(ObjectClass *oc)
{
    ernic_pci_link_add_option(oc, "roce-shm",
        "Folder of the host: machines that name the same one exchange packets");
}

static void shm_close(ErnicPci *d)
{
    if (d->shm) {
        qemu_remove_exit_notifier(&d->shm_exit);
        d->host = (ErnicHostLink) { };
        g_clear_pointer(&d->shm, ernic_shm_free);
    }
}

/* The part for devices without roce-shm: refuses what needs it. */
static bool no_shm(const ErnicPci *d, Error **errp)
{
    if (d->icrc == ON_OFF_AUTO_OFF) {
        error_setg(errp, "icrc=off needs roce-shm=");
        return false;
    }
    return true;
}

static bool shm_link_open(ErnicPci *d, Error **errp);

static const ErnicPciLinkOps shm_link = {
    .name = "roce-shm",
    .class_init = shm_class_init,
    .open = shm_link_open,
    .close = shm_close,
    ERNIC_HOST_LINK,
};

static bool shm_link_open(ErnicPci *d, Error **errp)
{
    ErnicShmConfig cfg = {
        .folder = ernic_pci_link_option(d, "roce-shm"), .icrc = d->icrc == ON_OFF_AUTO_ON,
        .event = shm_event, .warn = shm_warn, .opaque = d,
    };
    g_autofree char *err = NULL;

    if (!cfg.folder) {
        return no_shm(d, errp);
    }
    if (!ernic_pci_link_take(d, &shm_link, errp)) {
        return false;
    }
    d->shm = ernic_shm_new(&cfg, &err);
    if (!d->shm) {
        error_setg(errp, "roce-shm: %s", err);
        return false;
    }
    d->cfg.no_icrc = !cfg.icrc;
    d->host.ops = &shm_ops;
    d->shm_exit.notify = shm_exit;
    qemu_add_exit_notifier(&d->shm_exit);
    d->host.more = true;        /* look at the rings before the first sleep */
    return true;
}

static void register_shm(void)
{
    ernic_pci_link_register(&shm_link);
}

type_init(register_shm)
