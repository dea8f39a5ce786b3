/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupts by event notifiers. QEMU's MSI-X reports when the guest masks and unmasks a
 * vector. An interrupt is in ErnicPci.irq_pending until the lock is dropped, and then in
 * the notifier of its vector if that is open; if not, the bottom half of irq.c sends it.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "system/kvm.h"
#include "compat/qemu.h"
#include "device/clock.h"
#include "device/irq.h"
#include "device/irqfd.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

/* Addresses of interrupts of x86, and the bit of a level (Intel SDM, 3A, 11.11). */
#define APIC_MESSAGES   0xfee00000
#define APIC_MASK       ~0xfffffull
#define APIC_LEVEL      (1 << 15)

static bool wanted(const ErnicPci *d)
{
    return d->ioeventfd == ON_OFF_AUTO_ON ||
           (d->ioeventfd == ON_OFF_AUTO_AUTO && d->thread && !d->pg332.engine &&
            kvm_msi_via_irqfd_enabled());
}

/*
 * QEMU gives the messages of all routes to KVM again when the guest changes a table of
 * an IOMMU. The guest may have changed them meanwhile, and QEMU ends if KVM refuses one.
 */
static bool kernel_sends(void)
{
    return kvm_msi_via_irqfd_enabled() &&
           !object_resolve_path_type("", "x86-iommu", NULL);
}

/*
 * KVM takes every message for an interrupt, whatever its address, and refuses some. Any
 * other message is a write to memory, which the bottom half does.
 */
static bool is_interrupt(MSIMessage msg)
{
#ifdef __x86_64__
    return (msg.address & APIC_MASK) == APIC_MESSAGES && !(msg.data & APIC_LEVEL);
#else
    return false;
#endif
}

/* ---- one vector ------------------------------------------------------------ */

/* Called without KVM. The message may eject the function: nothing is used after it. */
static void send_message(EventNotifier *n)
{
    ErnicIrqVector *v = container_of(n, ErnicIrqVector, event);

    if (event_notifier_test_and_clear(n)) {
        qatomic_or(&v->d->irq_pending, 1ull << v->number);
        ernic_pci_guarded(v->d, ernic_pci_send_irqs);
    }
}

/*
 * Makes what a vector keeps while it is masked: the notifier, and with KVM a route, which
 * the caller commits. False: the bottom half has to send this message.
 */
static bool prepare(ErnicIrqVector *v, MSIMessage msg, ErnicRouteChange *c)
{
    PCIDevice *pci = PCI_DEVICE(v->d);

    if (v->d->irqfd_kernel && !is_interrupt(msg)) {
        return false;
    }
    v->made = v->made || event_notifier_init(&v->event, 0) == 0;
    if (!v->made || !v->d->irqfd_kernel) {
        return v->made;
    }
    if (v->virq < 0) {
        v->virq = kvm_irqchip_add_msi_route(c, v->number, pci);
    } else if (v->msg.address != msg.address || v->msg.data != msg.data) {
        kvm_irqchip_update_msi_route(kvm_state, v->virq, msg, pci);
        c->changes++;
    }
    v->msg = msg;
    return v->virq >= 0;
}

static void commit(const ErnicRouteChange *c)
{
    if (c->changes) {
        kvm_irqchip_commit_routes(kvm_state);
    }
}

/* A reset may come from inside an engine. */
static void set_open(ErnicPci *d, unsigned vector, bool open)
{
    bool locked = ernic_pci_inside(d);

    if (!locked) {
        ernic_pci_lock(d);
    }
    d->irqfd_open = deposit64(d->irqfd_open, vector, 1, open);
    if (!locked) {
        ernic_pci_unlock(d);
    }
}

/* A MSIVectorUseNotifier. */
static int open_vector(PCIDevice *pci, unsigned vector, MSIMessage msg)
{
    ErnicPci *d = ERNIC(pci);
    ErnicIrqVector *v = &d->irqfd[vector];
    ErnicRouteChange c = ERNIC_ROUTE_CHANGE;

    assert(bql_locked());
    if (d->irqfd_open >> vector & 1 || !prepare(v, msg, &c)) {
        return 0;
    }
    commit(&c);
    if (!d->irqfd_kernel) {
        event_notifier_set_handler(&v->event, send_message);
    } else if (kvm_irqchip_add_irqfd_notifier_gsi(kvm_state, &v->event, NULL,
                                                  v->virq) < 0) {
        return 0;
    }
    trace_ernic_pci_irqfd(ernic_pci_id(d), vector, true);
    set_open(d, vector, true);
    return 0;
}

/*
 * A MSIVectorReleaseNotifier. An interrupt that was raised and not sent yet is pending
 * again.
 */
static void close_vector(PCIDevice *pci, unsigned vector)
{
    ErnicPci *d = ERNIC(pci);
    ErnicIrqVector *v = &d->irqfd[vector];

    assert(bql_locked());
    if (!(d->irqfd_open >> vector & 1)) {
        return;
    }
    set_open(d, vector, false);
    if (d->irqfd_kernel) {
        kvm_irqchip_remove_irqfd_notifier_gsi(kvm_state, &v->event, v->virq);
    } else {
        event_notifier_set_handler(&v->event, NULL);
    }
    if (event_notifier_test_and_clear(&v->event)) {
        ernic_pci_irq(d, vector);
    }
    trace_ernic_pci_irqfd(ernic_pci_id(d), vector, false);
}

/* ---- the function ---------------------------------------------------------- */

void ernic_pci_irqfd_close(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    ErnicIrqVector *v;

    assert(bql_locked());
    if (!d->irqfd) {
        return;
    }
    for (v = d->irqfd; v < d->irqfd + d->cfg.num_vectors; v++) {
        close_vector(pci, v->number);
        if (v->virq >= 0) {
            kvm_irqchip_release_virq(kvm_state, v->virq);
        }
        if (v->made) {
            event_notifier_cleanup(&v->event);
        }
    }
    msix_unset_vector_notifiers(pci);
    g_clear_pointer(&d->irqfd, g_free);
}

/* One change of KVM's routes for all vectors: each costs more than all else. */
static void open_vectors(ErnicPci *d)
{
    ErnicRouteChange c = ERNIC_ROUTE_CHANGE;
    PCIDevice *pci = PCI_DEVICE(d);
    ErnicIrqVector *v;

    d->irqfd_kernel = kernel_sends();
    d->irqfd = g_new0(ErnicIrqVector, d->cfg.num_vectors);
    for (v = d->irqfd; v < d->irqfd + d->cfg.num_vectors; v++) {
        v->d = d;
        v->number = v - d->irqfd;
        v->virq = -1;
        if (!msix_is_masked(pci, v->number)) {
            prepare(v, msix_get_message(pci, v->number), &c);
        }
    }
    commit(&c);
    msix_set_vector_notifiers(pci, open_vector, close_vector, NULL);
}

void ernic_pci_irqfd_update(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    bool on = ernic_pci_working(d) && msix_enabled(pci) &&
              pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;

    assert(bql_locked());
    if (!on) {
        ernic_pci_irqfd_close(d);
    } else if (!d->irqfd && wanted(d)) {
        open_vectors(d);
    }
}

void ernic_pci_irqfd_raise(ErnicPci *d)
{
    uint64_t todo;

    assert(ernic_pci_locked(d));
    if (!d->irqfd_open) {
        return;
    }
    todo = qatomic_fetch_and(&d->irq_pending, ~d->irqfd_open) & d->irqfd_open;
    for (; todo; todo &= todo - 1) {
        event_notifier_set(&d->irqfd[ctz64(todo)].event);
    }
}

void ernic_pci_irqfd_drop(ErnicPci *d)
{
    uint64_t open;

    assert(ernic_pci_locked(d));
    for (open = d->irqfd_open; open; open &= open - 1) {
        event_notifier_test_and_clear(&d->irqfd[ctz64(open)].event);
    }
}
