/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The card that PG332 and its shell are on: its memory, and the worker of its engines.
 */
#ifndef ERNIC_DEVICE_CARD_H
#define ERNIC_DEVICE_CARD_H

#include "device/device.h"

/* Accesses card memory from offset @at on; false: beyond its end. */
bool ernic_pci_card_rw(ErnicPci *d, uint64_t at, void *buf, uint64_t len, bool write);

/*
 * Opens the worker of the shell's engines, which calls @run, and @delay when a delay
 * ends; NULL: @run, too.
 */
void ernic_pci_card_open(ErnicPci *d, QEMUBHFunc *run, QEMUTimerCB *delay);
/* Ends all work of the engines; their state remains. */
void ernic_pci_card_stop(ErnicPci *d);
/* Schedules the engines, for any port of a card; without engines it does nothing. */
void ernic_pci_card_kick(ErnicPci *d);
/* The same at the end of a run that has left work to do. */
void ernic_pci_card_continue(ErnicPci *d);

#endif /* ERNIC_DEVICE_CARD_H */
