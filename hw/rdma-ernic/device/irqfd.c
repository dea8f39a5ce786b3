/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupts by event notifiers. QEMU's MSI-X reports when the guest masks and unmasks a
 * vector. ErnicPci.irq_pending remains the only record of what is to be raised: an open
 * vector leaves it when the lock is dropped, any other one by the bottom half of irq.c.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "system/kvm.h"
#include "device/clock.h"
#include "device/irq.h"
#include "device/irqfd.h"
#include "device/life.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

bool ernic_pci_irqfd_wanted(const ErnicPci *d)
{
    return d->ioeventfd == ON_OFF_AUTO_ON ||
           (d->ioeventfd == ON_OFF_AUTO_AUTO && d->thread &&
            kvm_msi_via_irqfd_enabled());
}

/* ---- one vector ------------------------------------------------------------ */

/* Without KVM. The message may eject the function: nothing is used after it. */
static void send_message(EventNotifier *n)
{
    ErnicIrqVector *v = container_of(n, ErnicIrqVector, event);

    if (event_notifier_test_and_clear(n)) {
        qatomic_or(&v->d->irq_pending, 1ull << v->number);
        ernic_pci_guarded(v->d, ernic_pci_send_irqs);
    }
}

/* Lets the kernel send the message of @v; false: KVM has no room for it. */
static bool add_route(ErnicIrqVector *v)
{
    KVMRouteChange c = kvm_irqchip_begin_route_changes(kvm_state);

    v->virq = kvm_irqchip_add_msi_route(&c, v->number, PCI_DEVICE(v->d));
    if (v->virq < 0) {
        return false;
    }
    kvm_irqchip_commit_route_changes(&c);
    if (kvm_irqchip_add_irqfd_notifier_gsi(kvm_state, &v->event, NULL, v->virq) < 0) {
        kvm_irqchip_release_virq(kvm_state, v->virq);
        return false;
    }
    return true;
}

static void remove_route(ErnicIrqVector *v)
{
    kvm_irqchip_remove_irqfd_notifier_gsi(kvm_state, &v->event, v->virq);
    kvm_irqchip_release_virq(kvm_state, v->virq);
}

static void set_open(ErnicPci *d, unsigned vector, bool open)
{
    ernic_pci_lock(d);
    d->irqfd_open = deposit64(d->irqfd_open, vector, 1, open);
    ernic_pci_unlock(d);
}

/* A vector that cannot be opened is sent by the bottom half. */
static int open_vector(PCIDevice *pci, unsigned vector, MSIMessage msg)
{
    ErnicPci *d = ERNIC(pci);
    ErnicIrqVector *v = &d->irqfd[vector];

    assert(bql_locked());
    if (d->irqfd_open >> vector & 1 || event_notifier_init(&v->event, 0) < 0) {
        return 0;
    }
    v->d = d;
    v->number = vector;
    v->kernel = kvm_msi_via_irqfd_enabled();
    if (!v->kernel) {
        event_notifier_set_handler(&v->event, send_message);
    } else if (!add_route(v)) {
        event_notifier_cleanup(&v->event);
        return 0;
    }
    trace_ernic_pci_irqfd(ernic_pci_id(d), vector, true);
    set_open(d, vector, true);
    return 0;
}

/* An interrupt that was raised and not sent yet becomes pending again. */
static void close_vector(PCIDevice *pci, unsigned vector)
{
    ErnicPci *d = ERNIC(pci);
    ErnicIrqVector *v = &d->irqfd[vector];

    assert(bql_locked());
    if (!(d->irqfd_open >> vector & 1)) {
        return;
    }
    set_open(d, vector, false);
    if (v->kernel) {
        remove_route(v);
    } else {
        event_notifier_set_handler(&v->event, NULL);
    }
    if (event_notifier_test_and_clear(&v->event)) {
        ernic_pci_irq(d, vector);
    }
    event_notifier_cleanup(&v->event);
    trace_ernic_pci_irqfd(ernic_pci_id(d), vector, false);
}

/* ---- the function ---------------------------------------------------------- */

void ernic_pci_irqfd_close(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    unsigned i;

    assert(bql_locked());
    if (!d->irqfd) {
        return;
    }
    for (i = 0; i < d->cfg.num_vectors; i++) {
        close_vector(pci, i);
    }
    msix_unset_vector_notifiers(pci);
    g_clear_pointer(&d->irqfd, g_free);
}

void ernic_pci_irqfd_update(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    bool on = ernic_pci_working(d) && msix_enabled(pci) &&
              pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;

    assert(bql_locked());
    if (!on) {
        ernic_pci_irqfd_close(d);
    } else if (!d->irqfd && ernic_pci_irqfd_wanted(d)) {
        d->irqfd = g_new0(ErnicIrqVector, d->cfg.num_vectors);
        msix_set_vector_notifiers(pci, open_vector, close_vector, NULL);
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
