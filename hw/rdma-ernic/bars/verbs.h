/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs face: control page, command ring, doorbell pages.
 */
#ifndef ERNIC_PCI_FACES_VERBS_H
#define ERNIC_PCI_FACES_VERBS_H

#include "engine/engine.h"

typedef struct ErnicPci ErnicPci;

/* Maximum number of doorbells that wait for the engine. */
#define ERNIC_DB_QUEUE      1024

typedef struct ErnicDbEntry {
    uint32_t uctx;
    uint32_t cmd_pi;            /* commands up to here are executed before it */
    uint64_t value;
} ErnicDbEntry;

/* The writable registers of the control page, and the command ring. */
typedef struct ErnicVerbs {
    uint64_t cmd_addr, rsp_addr;
    uint32_t ring_shift;
    uint32_t cmd_pi, cmd_ci;
    uint32_t error;             /* enum ernic_dev_error */
    bool enabled, fatal;        /* atomic */
} ErnicVerbs;

extern const MemoryRegionOps ernic_pci_bar_ops;

/* Bytes of the control page and the doorbell pages together. */
uint64_t ernic_pci_regs_size(const ErnicPci *d);
/* Resets to the power-on state; inside enter and leave. */
void ernic_pci_verbs_reset(ErnicPci *d, uint64_t now);
/* Processes commands and doorbells; inside enter and leave, in the AioContext. */
void ernic_pci_verbs_run(ErnicPci *d, uint64_t now);
/*
 * Queues a doorbell for the engine; a vCPU calls it with the BQL held. @where: the
 * doorbell page, or what the face of the engine makes of it.
 */
void ernic_pci_doorbell(ErnicPci *d, uint32_t where, uint64_t value);
/* True if the link is up. */
bool ernic_pci_link(const ErnicPci *d);

#endif /* ERNIC_PCI_FACES_VERBS_H */
