/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Time of the device, and when its work runs.
 */
#ifndef ERNIC_DEVICE_CLOCK_H
#define ERNIC_DEVICE_CLOCK_H

#include "device/device.h"

/* ns of the virtual clock */
uint64_t ernic_pci_now(void);
/* Whether runs have to be repeatable in virtual time (timing model, -icount). */
bool ernic_pci_virtual_time(const ErnicPci *d);
/* The clock by which slices of work end as well; NULL: runs have to be repeatable. */
ErnicClock *ernic_pci_clock(const ErnicPci *d);
/*
 * ns of adaptive retransmission, of the ERNIC interface or the other one, once the timing
 * model is known; 0: it is off.
 */
uint64_t ernic_pci_retry_time(const ErnicPci *d, bool pg332);
/*
 * Schedules @timer or @bh, which do the same work: the timer in virtual time.
 */
void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* The same at the end of a run that has left work to do. */
void ernic_pci_continue(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* Schedules the device's work. */
void ernic_pci_kick(ErnicPci *d);
/* Calls @work with the re-entrancy guard set: its accesses to the device fail. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work);
/*
 * Calls @work of the device's AioContext. In the main loop the guard is set: an IOMMU
 * that reports a fault of our DMA may store to our registers, which need the lock that
 * the work holds. In a thread, which no device behind an IOMMU has, it is not: it would
 * refuse the accesses of processors.
 */
void ernic_pci_in_context(ErnicPci *d, QEMUBHFunc *work);

#endif /* ERNIC_DEVICE_CLOCK_H */
