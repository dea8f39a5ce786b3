/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI function: identity, BARs, and the device's lifecycle: realize, reset, unplug.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_aer.h"
#include "system/runstate.h"
#include "system/system.h"
#include "bars/shell.h"
#include "compat/qemu.h"
#include "device/capabilities.h"
#include "device/clock.h"
#include "device/env.h"
#include "device/interface.h"
#include "device/ioeventfd.h"
#include "device/irq.h"
#include "device/irqfd.h"
#include "device/life.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/memory.h"
#include "device/mutex.h"
#include "device/polling.h"
#include "device/reset.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "net/transmit.h"
#include "pci/engine_thread.h"
#include "pci/migration.h"
#include "pci/power.h"
#include "pci/precopy.h"
#include "pci/properties.h"
#include "pci/statistics.h"
#include "pci/timing.h"
#include "pci/work.h"
#include "hw/rdma-ernic/trace.h"

/* ---- life ----------------------------------------------------------------- */

static void close_interface(ErnicPci *d)
{
    if (d->interface->close) {
        d->interface->close(d);
    }
}

static void ernic_pci_realize(PCIDevice *pci, Error **errp)
{
    ERRP_GUARD();
    ErnicPci *d = ERNIC(pci);

    if (ernic_pci_gone(d)) {
        error_setg(errp, "the device was unplugged; add a new one");
        return;
    }
    ernic_pci_interface_select(d);
    if (!ernic_pci_check_properties(d, errp) || !d->interface->check(d, errp) ||
        !ernic_pci_links_open(d, errp)) {
        return;
    }
    if (!ernic_pci_timing_open(d, errp)) {
        goto no_timing;
    }
    d->cfg.retry_time = ernic_pci_retry_time(d, false);
    d->cfg.clock = ernic_pci_clock(d);
    d->cfg.flow_rules = &d->net.flow_rules;
    if ((d->interface->open && !d->interface->open(d, errp)) ||
        !ernic_pci_engine_thread_open(d, errp)) {
        goto no_interface;
    }
    if (!ernic_pci_mem_open(d, errp)) {
        goto no_engine;
    }
    d->interface->add_bars(d);
    if (!ernic_pci_add_capabilities(d, errp)) {
        pcie_aer_exit(pci);
        pcie_cap_exit(pci);
        goto no_engine;
    }
    ernic_pci_work_init(d);
    d->engine = ernic_new(&d->cfg, &ernic_pci_env_ops, d);
    if (d->interface->start) {
        d->interface->start(d);
    }
    ernic_pci_netdev_start(d);
    if (d->interface->reset) {
        d->interface->reset(d, 0);
    }
    d->vm_state = qemu_add_vm_change_state_handler(ernic_pci_vm_changed, d);
    ernic_pci_precopy_open(d);
    ernic_pci_engine_thread_start(d);
    ernic_pci_lock(d);
    ernic_pci_life_set(d, ERNIC_PCI_STOPPED);
    ernic_pci_unlock(d);
    d->net.started = runstate_is_running();
    ernic_pci_set_working(d, d->net.started);
    trace_ernic_pci_realize(ernic_pci_id(d), d->cfg.max_qp, d->cfg.num_vectors,
                            ernic_pci_link_option(d, d->link->name) ?: "");
    return;

no_engine:
    ernic_pci_engine_thread_close(d);
no_interface:
    ernic_pci_mem_close(d);
    close_interface(d);
    ernic_pci_timing_close(d);
no_timing:
    ernic_pci_links_close(d);
}

/*
 * Ends everything that could begin work. It frees nothing that a frame below may use:
 * see life.h. The links are closed here, unless QEMU's network layer or an engine is
 * below.
 */
static void ernic_pci_exit(PCIDevice *pci)
{
    ErnicPci *d = ERNIC(pci);
    bool inside = ernic_pci_inside(d);

    trace_ernic_pci_exit(ernic_pci_id(d));
    ernic_pci_irqfd_close(d);
    ernic_pci_precopy_close(d);
    if (!inside) {
        ernic_pci_lock(d);
    }
    ernic_pci_life_set(d, ERNIC_PCI_GONE);
    d->resets++;
    ernic_pci_links_update(d);
    ernic_pci_timing_flush(d);
    if (!inside) {
        ernic_pci_unlock(d);
    }
    ernic_pci_engine_thread_stop(d);
    ernic_pci_work_stop(d);
    ernic_pci_netq_stop(d);
    ernic_pci_eth_tx_fini(d);
    if (!d->net.busy && !inside) {
        ernic_pci_links_close(d);
    }
    ernic_pci_life_detach(d);
    close_interface(d);
    if (!d->precopy.kept) {
        ernic_pci_mem_close(d);
    }
    msix_uninit(pci, &d->msix_bar, &d->msix_bar);
    msi_uninit(pci);
    pcie_aer_exit(pci);
    pcie_cap_exit(pci);
    ernic_pci_life_keep(d);
}

/*
 * Nobody uses the device any more. The handler is removed here because QEMU may be
 * walking the list of handlers below ernic_pci_exit().
 */
static void ernic_pci_finalize(Object *obj)
{
    ErnicPci *d = ERNIC(obj);

    g_clear_pointer(&d->options, g_hash_table_unref);
    if (!ernic_pci_gone(d)) {
        return;                         /* never realized */
    }
    trace_ernic_pci_free(ernic_pci_id(d));
    ernic_stream_bytes_clear(&d->state);        /* of a stream that ended early */
    ernic_stream_bytes_clear(&d->pg332.state);
    ernic_pci_precopy_free(d);
    g_free(d->db_saved);
    qemu_del_vm_change_state_handler(d->vm_state);
    ernic_pci_links_close(d);
    ernic_free(d->engine);
    if (d->interface->finalize) {
        d->interface->finalize(d);
    }
    ernic_pci_timing_close(d);
    ernic_pci_netq_fini(d);
    ernic_pci_work_fini(d);
    ernic_pci_engine_thread_close(d);
}

static void device_reset(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);

    d->resets++;
    if (d->interface->reset_function) {
        d->interface->reset_function(d, now);
    }
    ernic_pci_reset(d, now);
    ernic_pci_leave(d);
}

static void function_reset(ErnicPci *d)
{
    ErnicPci *part;

    trace_ernic_pci_reset(ernic_pci_id(d));
    ernic_pci_irqfd_close(d);           /* QEMU resets MSI-X next, */
    ernic_pci_ioeventfd_move(d);      /* and unmaps the BARs */
    ernic_pci_guarded(d, device_reset);
    part = ernic_pci_hidden_part(d);
    if (part) {
        ernic_pci_guarded(part, device_reset);
    }
}

static void reset_later(void *opaque)
{
    ErnicPci *d = opaque;

    if (ernic_pci_exists(d)) {
        function_reset(d);
    }
    object_unref(OBJECT(d));
}

/*
 * The whole reset happens in the enter phase: it has no effect outside the device,
 * and the bus lowers INTx. The function is in D0 afterwards. ernic_pci_update_power()
 * notices at the next write to configuration space; until then no BAR is mapped. An
 * engine below is reset after its work, in which it accesses no memory any more.
 */
static void ernic_pci_reset_enter(Object *obj, ResetType type)
{
    ErnicPci *d = ERNIC(obj);

    if (ernic_pci_exists(d) && ernic_pci_inside_card(d)) {
        object_ref(OBJECT(d));
        aio_bh_schedule_oneshot(qemu_get_aio_context(), reset_later, d);
    } else if (ernic_pci_exists(d)) {
        function_reset(d);
    }
}

/* Whether a write of the configuration space may map, unmap or move BARs. */
static bool moves_bars(const PCIDevice *pci, uint32_t addr, int len)
{
    return ranges_overlap(addr, len, PCI_COMMAND, 2) ||
           ranges_overlap(addr, len, PCI_BASE_ADDRESS_0, 6 * 4) ||
           ranges_overlap(addr, len, pci->pm_cap + PCI_PM_CTRL, 2) ||
           ranges_overlap(addr, len, pci->exp.exp_cap + PCI_EXP_DEVCTL, 2);
}

/* A hidden device reads as a function that does not exist. */
static uint32_t ernic_pci_config_read(PCIDevice *pci, uint32_t addr, int len)
{
    return ernic_pci_hidden(ERNIC(pci)) ? UINT32_MAX >> (32 - 8 * len) :
                                          pci_default_read_config(pci, addr, len);
}

/*
 * Before a write, which may take Bus Master away, and after it. ernic_pci_leave() would
 * send messages here in virtual time, and one may eject the function.
 */
static void hold_pages(ErnicPci *d, bool on)
{
    ernic_pci_lock(d);
    ernic_pages_hold(d->engine, ernic_pci_now(), on);
    ernic_pci_kick(d);
    ernic_pci_unlock(d);
}

static bool sends_messages(const PCIDevice *pci)
{
    return msix_enabled((PCIDevice *)pci) || msi_enabled(pci);
}

/* A write that unmasks vectors of MSI-X sends messages, which may eject the function. */
static void ernic_pci_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                                   int len)
{
    bool command = ranges_overlap(addr, len, PCI_COMMAND, 2);
    bool messages;
    uint32_t held;

    if (ernic_pci_hidden(ERNIC(pci))) {
        return;
    }
    if (ernic_pci_inside_card(ERNIC(pci))) {
        ernic_pci_guest_error(ERNIC(pci), "a write to 0x%x from inside is refused", addr);
        return;
    }
    messages = sends_messages(pci);
    if (command && ernic_pci_exists(ERNIC(pci))) {
        hold_pages(ERNIC(pci), true);
    }
    if (ernic_pci_exists(ERNIC(pci)) && moves_bars(pci, addr, len)) {
        ernic_pci_ioeventfd_move(ERNIC(pci));
    }
    held = ernic_pci_msi_hold(ERNIC(pci));
    pci_default_write_config(pci, addr, value, len);
    if (ernic_pci_gone(ERNIC(pci))) {
        return;
    }
    if (command && ernic_pci_exists(ERNIC(pci))) {
        hold_pages(ERNIC(pci), !ernic_pci_is_master(pci));
    }
    ernic_pci_msi_release(ERNIC(pci), held);
    if (!messages && sends_messages(pci)) {
        ernic_pci_shell_raise(ERNIC(pci));
    }
    pcie_cap_flr_write_config(pci, addr, value, len);
    ernic_pci_update_power(ERNIC(pci));
    ernic_pci_irqfd_update(ERNIC(pci));
    ernic_pci_resume_irqs(ERNIC(pci));
    ernic_pci_intx(ERNIC(pci));
}

static void ernic_pci_instance_init(Object *obj)
{
    device_add_bootindex_property(obj, &ERNIC(obj)->net.conf.bootindex,
                                  "bootindex", "/ethernet-phy@0", DEVICE(obj));
}

static void ernic_pci_class_init(ObjectClass *oc, ErnicClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    pc->realize = ernic_pci_realize;
    pc->exit = ernic_pci_exit;
    pc->config_read = ernic_pci_config_read;
    pc->config_write = ernic_pci_config_write;
    pc->vendor_id = ERNIC_PCI_VENDOR;
    pc->device_id = ERNIC_PCI_DEVICE;
    pc->class_id = PCI_CLASS_NETWORK_ETHERNET;
    rc->phases.enter = ernic_pci_reset_enter;
    dc->desc = "Embedded RDMA NIC (RoCEv2)";
    dc->vmsd = &ernic_pci_vmstate;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    ernic_pci_properties_class_init(oc);
    ernic_pci_links_class_init(oc);
    ernic_pci_interfaces_class_init(oc);
    ernic_pci_stats_class_init(oc);
}

static const TypeInfo ernic_pci_types[] = {
    {
        .name = TYPE_ERNIC,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(ErnicPci),
        .instance_init = ernic_pci_instance_init,
        .instance_finalize = ernic_pci_finalize,
        .class_init = ernic_pci_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(ernic_pci_types)
