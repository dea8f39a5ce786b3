/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's environment in QEMU, and the functions around calls into the engine.
 */
#ifndef ERNIC_PCI_ENV_H
#define ERNIC_PCI_ENV_H

#include "engine/engine.h"
#include "device/device.h"

extern const ErnicEnvOps ernic_pci_env_ops;
extern const ErnicEnvOps ernic_pci_pg332_env_ops;

void ernic_pci_env_init(ErnicPci *d);
/* The engine leaves its thread for the main loop; nothing has run yet, BQL held. */
void ernic_pci_env_to_main(ErnicPci *d);
/*
 * The device is gone: ends its timers and bottom halves, and waits for its AioContext.
 * Locks and the iothread remain until ernic_pci_env_fini().
 */
void ernic_pci_env_stop(ErnicPci *d);
void ernic_pci_env_fini(ErnicPci *d);
/*
 * Around changes that need the lock and no call into an engine. A thread that waits gets
 * it before one that has just released it.
 */
void ernic_pci_lock(ErnicPci *d);
void ernic_pci_unlock(ErnicPci *d);
/*
 * Around every call into an engine: enter takes the lock and returns the time in ns;
 * leave sets the wake-up timer and drops the lock.
 */
uint64_t ernic_pci_enter(ErnicPci *d);
void ernic_pci_leave(ErnicPci *d);
/* Accesses guest or device memory; false: part of the range is not RAM. */
bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write);
/* Raises MSI-X @vector soon. Call it inside enter and leave, or with the BQL held. */
void ernic_pci_irq(ErnicPci *d, uint16_t vector);
/* Raises pending interrupts, and updates INTx, from a bottom half. */
void ernic_pci_irqs_later(ErnicPci *d);
/* Schedules the device's work. */
void ernic_pci_kick(ErnicPci *d);
/* Do runs have to be repeatable in virtual time (timing model, -icount)? */
bool ernic_pci_virtual_time(const ErnicPci *d);
/* The clock by which slices of work end as well; NULL: runs have to be repeatable. */
ErnicClock *ernic_pci_clock(const ErnicPci *d);
/*
 * Schedules @timer or @bh, which do the same work: the timer in virtual time.
 */
void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* The same at the end of a run that has left work to do. */
void ernic_pci_continue(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* Calls @work with the re-entrancy guard set: its accesses to the device fail. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work);
/* Delivers packets of the link to the face they address; inside enter and leave. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train);
/* Number of packets that each engine has room for. */
uint32_t ernic_pci_rx_room(const ErnicPci *d);
/* The link accepts trains again. */
void ernic_pci_tx_ready(ErnicPci *d, uint64_t now);
/* Begin a slice of work for received packets; is something left of it? */
void ernic_pci_rx_slice(ErnicPci *d);
bool ernic_pci_rx_slice_left(const ErnicPci *d);
/* Charge to it, or to the slice of the main loop, what the main loop did for a frame. */
void ernic_pci_rx_work(ErnicPci *d, uint32_t accesses, uint32_t bytes);
/* Runs both engines. */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now);
/* Waits until no work of the device runs in its AioContext. BQL held. */
void ernic_pci_drain(ErnicPci *d);

#endif /* ERNIC_PCI_ENV_H */
