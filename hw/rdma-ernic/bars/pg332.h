/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC face: the registers of PG332 as a memory region of the device.
 */
#ifndef ERNIC_PCI_FACES_PG332_H
#define ERNIC_PCI_FACES_PG332_H

#include "engine/engine.h"
#include "fabric/stream_bytes.h"

typedef struct ErnicPci ErnicPci;

/* The ERNIC face has its own engine, which the device's lock protects too. */
typedef struct ErnicPg332 {
    char *version;              /* properties; NULL: no ERNIC face */
    char *strict;               /* NULL: off */
    uint32_t num_qp;            /* 0: the default */
    uint32_t reads;             /* depth of the queue of READs; 0: the default */
    uint32_t warned;            /* number of violations reported to the user */
    ErnicConfig cfg;
    MemoryRegion bar;
    Ernic *engine;              /* NULL: no ERNIC face */
    uint64_t wake;              /* like ErnicPci.wake */
    uint32_t risen;             /* atomic; interrupts (bits) for irq_bh to raise */
    bool first;                 /* this engine was the first to run last time */
    ErnicStreamBytes state;     /* like ErnicPci.state */
} ErnicPg332;

/* Checks the properties and, with ernic-version, creates the memory region. */
bool ernic_pci_pg332_open(ErnicPci *d, Error **errp);
void ernic_pci_pg332_start(ErnicPci *d);
void ernic_pci_pg332_close(ErnicPci *d);
/* Inside enter and leave; without the face, these do nothing. */
void ernic_pci_pg332_run(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_link(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now);
/* Updates INTx, if MSI-X is off. Call it with the BQL held, outside enter and leave. */
void ernic_pci_pg332_intx(ErnicPci *d);
/* Warns the user of a rule that the guest or a peer has broken. */
void ernic_pci_pg332_warn(ErnicPci *d, const ErnicReport *report);
/* The property "ernic-violations". */
void ernic_pci_pg332_class_init(ObjectClass *oc);

#endif /* ERNIC_PCI_FACES_PG332_H */
