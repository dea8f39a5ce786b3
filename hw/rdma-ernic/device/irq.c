/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupts: messages (MSI-X, MSI in a shell) from a bottom half, and INTx of the ERNIC
 * interface. Masks of MSI are here, those of MSI-X in QEMU and, for events, in irqfd.c.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "device/clock.h"
#include "device/irq.h"
#include "device/life.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

bool ernic_pci_irq_at_once(const ErnicPci *d)
{
    return ernic_pci_virtual_time(d) && !d->thread;
}

/* The function of a shell has no INTx. A function in D3hot asserts no interrupt. */
void ernic_pci_intx(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    bool level;

    assert(bql_locked());
    if (!d->pg332.engine || ernic_pci_gone(d) ||
        !pci_get_byte(pci->config + PCI_INTERRUPT_PIN)) {
        return;
    }
    ernic_pci_lock(d);                  /* ernic_pci_leave() would recurse */
    level = ernic_irq_level(d->pg332.engine);
    ernic_pci_unlock(d);
    pci_set_irq(pci, level && !msix_enabled(pci) && ernic_pci_powered(d));
}

/* The ERNIC interface has a vector, and its side stream the one before it. */
static uint64_t pg332_vectors(const ErnicPci *d, uint32_t risen)
{
    uint32_t first = d->pg332.vector;
    uint64_t vectors = 0;

    for (; risen; risen &= risen - 1) {
        vectors |= 1ull << (first - MIN(ctz32(risen), first));
    }
    return vectors;
}

static uint64_t pending_vectors(const ErnicPci *d)
{
    return qatomic_read(&d->irq_pending) |
           pg332_vectors(d, qatomic_read(&d->pg332.risen));
}

/* Messages write memory: there are none in D3hot, nor without bus mastering. */
static bool may_send(const ErnicPci *d)
{
    const ErnicPci *function = ernic_pci_function(d);

    return ernic_pci_powered(d) &&
           (pci_get_word(PCI_DEVICE(function)->config + PCI_COMMAND) &
            PCI_COMMAND_MASTER);
}

/* Takes the interrupts of @vector; false: there is none, or not any more. */
static bool take_irqs(ErnicPci *d, uint32_t vector)
{
    uint32_t first = d->pg332.vector, risen = 0, i;

    for (i = 0; i < 32; i++) {
        risen |= first - MIN(i, first) == vector ? 1u << i : 0;
    }
    risen &= qatomic_fetch_and(&d->pg332.risen, ~risen);
    return (qatomic_fetch_and(&d->irq_pending, ~(1ull << vector)) >> vector & 1) ||
           risen;
}

/* A function with fewer messages of MSI than vectors has the last one for all others. */
static uint32_t message(const PCIDevice *pci, uint32_t vector)
{
    return MIN(vector, msi_nr_vectors_allocated(pci) - 1);
}

static void notify(ErnicPci *function, uint32_t vector)
{
    PCIDevice *pci = PCI_DEVICE(function);

    if (!msi_present(pci)) {
        msix_notify(pci, vector);
    } else if (msi_enabled(pci)) {
        msi_notify(pci, message(pci, vector));
    }
}

/*
 * A message is a write to any address. It may reset or eject this function, or change
 * its power state, before notify() returns: nothing is remembered across it, and
 * calls from inside return at once. A vector is sent at most once in a run. Those
 * that the function may not send stay pending until ernic_pci_irqs_resume().
 */
void ernic_pci_send_irqs(void *opaque)
{
    ErnicPci *d = opaque, *function = ernic_pci_function(d);
    uint64_t todo = pending_vectors(d);

    assert(bql_locked());
    if (d->irq_sending) {
        return;
    }
    d->irq_sending = true;
    for (; todo && may_send(d); todo &= todo - 1) {
        if (take_irqs(d, ctz64(todo)) && ctz64(todo) < function->cfg.num_vectors) {
            notify(function, ctz64(todo));
        }
    }
    d->irq_sending = false;
    if (pending_vectors(d) && may_send(d)) {
        ernic_pci_irqs_later(d);        /* from a call inside, or a thread, meanwhile */
    }
    ernic_pci_intx(d);
}

static void irq_timer(void *opaque)
{
    ernic_pci_guarded(opaque, ernic_pci_send_irqs);
}

void ernic_pci_irqs_later(ErnicPci *d)
{
    if (!ernic_pci_gone(d)) {
        qemu_bh_schedule(d->irq_bh);
    }
}

static void schedule_irqs(ErnicPci *d)
{
    if (ernic_pci_gone(d)) {
        return;
    }
    if (ernic_pci_irq_at_once(d)) {
        timer_mod_ns(&d->irq_timer, ernic_pci_now());
    } else {
        qemu_bh_schedule(d->irq_bh);
    }
}

void ernic_pci_irqs_resume(ErnicPci *d)
{
    if (!ernic_pci_gone(d) && pending_vectors(d) && may_send(d)) {
        schedule_irqs(d);
    }
}

void ernic_pci_irq(ErnicPci *d, uint16_t vector)
{
    trace_ernic_pci_irq(ernic_pci_id(d), vector);
    qatomic_or(&d->irq_pending, 1ull << vector);
    if (!(d->irqfd_open >> vector & 1) || !ernic_pci_locked(d)) {
        schedule_irqs(d);       /* ernic_pci_leave() may send it earlier */
    }
}

/*
 * QEMU sends what a write of the capability unmasks, one vector after the other, and
 * goes on with the next one also if the first message ejects the function. So there is
 * nothing to send below the write.
 */
uint32_t ernic_pci_msi_hold(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    uint32_t held = 0;

    if (msi_present(pci)) {
        held = pci_get_long(pci->config + pci->msi_cap + PCI_MSI_PENDING_64);
        pci_set_long(pci->config + pci->msi_cap + PCI_MSI_PENDING_64, 0);
    }
    return held;
}

void ernic_pci_msi_release(ErnicPci *d, uint32_t held)
{
    PCIDevice *pci = PCI_DEVICE(d);
    const uint8_t *mask = pci->config + pci->msi_cap + PCI_MSI_MASK_64;
    uint32_t stay;

    if (held) {
        stay = msi_enabled(pci) ? held & pci_get_long(mask) : held;
        pci_set_long(pci->config + pci->msi_cap + PCI_MSI_PENDING_64, stay);
        qatomic_or(&d->irq_pending, held & ~stay);
    }
}

bool ernic_pci_msi_waits(const ErnicPci *d)
{
    const PCIDevice *pci = PCI_DEVICE(d);

    return pending_vectors(d) ||
           pci_get_long(pci->config + pci->msi_cap + PCI_MSI_PENDING_64);
}

void ernic_pci_msi_keep(ErnicPci *d, uint64_t raised)
{
    PCIDevice *pci = PCI_DEVICE(d);
    uint8_t *pending = pci->config + pci->msi_cap + PCI_MSI_PENDING_64;
    uint32_t messages = 0;
    uint64_t todo;

    assert(bql_locked() && ernic_pci_locked(d));
    for (todo = raised; todo; todo &= todo - 1) {
        messages |= 1u << message(pci, ctz64(todo));
    }
    pci_set_long(pending, pci_get_long(pending) & messages);
    qatomic_and(&d->irq_pending, raised);
    if (!(raised >> d->pg332.vector & 1)) {
        qatomic_set(&d->pg332.risen, 0);
    }
}

/* Kept apart from irq_pending, which a reset of the verbs interface clears. */
void ernic_pci_pg332_irq(ErnicPci *d, uint16_t interrupt)
{
    qatomic_or(&d->pg332.risen, 1u << interrupt);
    schedule_irqs(d);           /* ernic_pci_leave() may send it earlier */
}

void ernic_pci_irq_init(ErnicPci *d)
{
    timer_init_ns(&d->irq_timer, QEMU_CLOCK_VIRTUAL, irq_timer, d);
    d->irq_bh = qemu_bh_new_guarded(ernic_pci_send_irqs, d,
                                    &DEVICE(d)->mem_reentrancy_guard);
}

void ernic_pci_irq_stop(ErnicPci *d)
{
    timer_del(&d->irq_timer);
    g_clear_pointer(&d->irq_bh, qemu_bh_delete);
}
