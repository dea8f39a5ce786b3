/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface as the only face of the device (property "personality"): BAR 0,
 * and the properties that fit it. The engine of the verbs face has this face instead.
 */
#ifndef ERNIC_PCI_FACES_MLX5_H
#define ERNIC_PCI_FACES_MLX5_H

#include "core/engine.h"

typedef struct ErnicPci ErnicPci;

typedef struct ErnicPciMlx5 {
    char *personality;          /* property; NULL: verbs */
    uint32_t vendor, device;    /* properties, PCI ids; 0: of the personality */
    bool on;                    /* the personality is mlx5 */
    ErnicMlx5Config cfg;
    Error *blocker;             /* of migration; owned */
} ErnicPciMlx5;

/* Checks the properties, and sets what the personality decides. */
bool ernic_pci_mlx5_open(ErnicPci *d, Error **errp);
/* The same after everything else was opened: PCI ids, and migration. */
bool ernic_pci_mlx5_start(ErnicPci *d, Error **errp);
void ernic_pci_mlx5_close(ErnicPci *d);
/* Adds BAR 0 and the BAR of MSI-X. */
void ernic_pci_mlx5_add_bars(ErnicPci *d);
/* The engine was created or reset: it takes part in the traffic. */
void ernic_pci_mlx5_reset(ErnicPci *d, uint64_t now);
/* Executes a doorbell of ErnicPci.db; inside enter and leave. */
void ernic_pci_mlx5_doorbell(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value);

#endif /* ERNIC_PCI_FACES_MLX5_H */
