/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs face: control page, command ring, doorbell pages.
 */
#ifndef ERNIC_PCI_VERBS_H
#define ERNIC_PCI_VERBS_H

#include "core/engine.h"

typedef struct ErnicPci ErnicPci;

/* Doorbells rung and not yet seen by the engine. */
#define ERNIC_DB_QUEUE      1024

typedef struct ErnicDbEntry {
    uint32_t uctx;
    uint32_t cmd_pi;            /* when it was rung: these come first */
    uint64_t value;
} ErnicDbEntry;

/* The control page, as far as the guest writes it, and the command ring. */
typedef struct ErnicVerbs {
    uint64_t cmd_addr, rsp_addr;
    uint32_t ring_shift;
    uint32_t cmd_pi, cmd_ci;
    uint32_t error;             /* enum ernic_dev_error */
    bool enabled, fatal;        /* atomic */
} ErnicVerbs;

extern const MemoryRegionOps ernic_pci_bar_ops;

/* Bytes of control page and doorbell pages, rounded up to a power of two. */
uint64_t ernic_pci_regs_size(const ErnicPci *d);
/* To the state of power-on; inside enter and leave. */
void ernic_pci_verbs_reset(ErnicPci *d, uint64_t now);
/* Commands and doorbells; inside enter and leave, in the AioContext. */
void ernic_pci_verbs_run(ErnicPci *d, uint64_t now);
/* All doorbells: none is left when the virtual machine stops. */
void ernic_pci_doorbells_run(ErnicPci *d, uint64_t now);
/* Is the link up? */
bool ernic_pci_link(const ErnicPci *d);

#endif /* ERNIC_PCI_VERBS_H */
