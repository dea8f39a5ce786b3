/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface as the only face of the device (property "personality"): BAR 0,
 * and the properties that fit it. The engine of the verbs face has this face instead.
 */
#ifndef ERNIC_PCI_FACES_MLX5_H
#define ERNIC_PCI_FACES_MLX5_H

#include "engine/engine.h"

typedef struct ErnicPci ErnicPci;

typedef struct ErnicPciMlx5 {
    char *personality;          /* property; NULL: verbs */
    uint32_t vendor, device;    /* properties, PCI ids; 0: of the personality */
    bool on;                    /* the personality is mlx5 */
    ErnicMlx5Config cfg;
} ErnicPciMlx5;

/* Checks the properties, and sets what the personality decides. */
bool ernic_pci_mlx5_open(ErnicPci *d, Error **errp);
/* Sets the PCI ids of the personality. */
void ernic_pci_mlx5_start(ErnicPci *d);
/* Adds BAR 0 and the BAR of MSI-X. */
void ernic_pci_mlx5_add_bars(ErnicPci *d);
/* The engine was created or reset: it takes part in the traffic. */
void ernic_pci_mlx5_reset(ErnicPci *d, uint64_t now);
/* Executes a doorbell of ErnicPci.db; inside enter and leave. */
void ernic_pci_mlx5_doorbell(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value);
/* Of a saved state: can a doorbell be at @where? */
bool ernic_pci_mlx5_doorbell_ok(uint32_t where);
/*
 * Of a saved state: are the registers of the verbs face, which this personality does not
 * present, as after a reset?
 */
bool ernic_pci_mlx5_valid(const ErnicPci *d);

#endif /* ERNIC_PCI_FACES_MLX5_H */
