/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC face: the registers of PG332 as a region of the device.
 */
#ifndef ERNIC_PCI_PG332_H
#define ERNIC_PCI_PG332_H

#include "core/engine.h"

typedef struct ErnicPci ErnicPci;

/* The ERNIC face: an engine of its own, under the same lock. */
typedef struct ErnicPg332 {
    char *version;              /* properties; NULL: no such face */
    char *strict;               /* NULL: off */
    uint32_t num_qp;            /* 0: the default */
    uint32_t warned;            /* violations that the user was told */
    ErnicConfig cfg;
    MemoryRegion bar;
    Ernic *engine;              /* NULL: no such face */
    uint64_t wake;              /* as ErnicPci.wake */
    uint32_t risen;             /* atomic; bits of irq(): irq_bh is to tell */
    bool first;                 /* it had the first turn, the last time */
    uint32_t state_len;
    uint8_t *state;
} ErnicPg332;

/* The properties, and the registers as a region, if there are to be any. */
bool ernic_pci_pg332_open(ErnicPci *d, Error **errp);
void ernic_pci_pg332_start(ErnicPci *d);
void ernic_pci_pg332_close(ErnicPci *d);
/* Inside enter and leave; nothing, where the face is not there. */
void ernic_pci_pg332_run(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_link(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now);
/* INTx as its interrupt is, while MSI-X is off. BQL held, outside enter and leave. */
void ernic_pci_pg332_intx(ErnicPci *d);
/* Tell the user of a rule that the guest, or a peer, breaks. */
void ernic_pci_pg332_warn(ErnicPci *d, const ErnicReport *report);
/* The property "ernic-violations". */
void ernic_pci_pg332_class_init(ObjectClass *oc);

#endif /* ERNIC_PCI_PG332_H */
