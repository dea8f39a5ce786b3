/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sends page lists and spans of objects of the verbs and the mlx5 interface while the
 * machine runs. The engine says which, and puts the whole state together
 * (engine/state/precopy.h).
 */
#ifndef ERNIC_PCI_PRECOPY_H
#define ERNIC_PCI_PRECOPY_H

#include "migration/register.h"
#include "device/device.h"

void ernic_pci_precopy_open(ErnicPci *d);
void ernic_pci_precopy_close(ErnicPci *d);
/*
 * The state of the engine without what was sent, which is *@skipped bytes. False: this
 * host has no memory for the places of these. Lock held.
 */
bool ernic_pci_precopy_save(ErnicPci *d, GByteArray *bytes, uint64_t *skipped);
/* Puts the whole into d->state; false: it does not fit together. */
bool ernic_pci_precopy_fill(ErnicPci *d);
/* The state was saved or loaded, or another one comes. */
void ernic_pci_precopy_done(ErnicPci *d);
/* The device ends; it still has its engine. */
void ernic_pci_precopy_free(ErnicPci *d);

/*
 * @opaque is the device. The bytes that are still to be sent while the machine runs; an
 * exact answer looks at all objects first.
 */
uint64_t ernic_pci_precopy_left(void *opaque, bool exact);

/* The live section. QEMU calls these, and so does its fuzzer of the device. */
extern const SaveVMHandlers ernic_pci_precopy_handlers;
/* Subsections of ernic_pci_vmstate. */
extern const VMStateDescription ernic_pci_lists_vmstate, ernic_pci_spans_vmstate;

#endif /* ERNIC_PCI_PRECOPY_H */
