/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface: the registers of PG332 as a memory region of the device.
 */
#ifndef ERNIC_BARS_PG332_H
#define ERNIC_BARS_PG332_H

#include "device/device.h"

/* Refuses the properties of the ERNIC interface, for another one. */
bool ernic_pci_pg332_unused(const ErnicPci *d, Error **errp);
bool ernic_pci_pg332_check(const ErnicPci *d, Error **errp);
/* Configures the engine, and makes the region of the registers, if there is an ERNIC. */
void ernic_pci_pg332_open(ErnicPci *d);
void ernic_pci_pg332_start(ErnicPci *d);
void ernic_pci_pg332_close(ErnicPci *d);
/* Inside enter and leave; without the interface it does nothing. */
void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now);
/* A method of the interface: frames of MAC control. */
bool ernic_pci_pg332_control(ErnicPci *d, const uint8_t *frame, uint32_t len);
/* The property "ernic-violations". */
void ernic_pci_pg332_class_init(ObjectClass *oc);

#endif /* ERNIC_BARS_PG332_H */
