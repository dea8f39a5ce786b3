/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's environment in QEMU, and who may enter the engine.
 */
#ifndef ERNIC_PCI_ENV_H
#define ERNIC_PCI_ENV_H

#include "core/engine.h"
#include "pci/device.h"

extern const ErnicEnvOps ernic_pci_env_ops;
extern const ErnicEnvOps ernic_pci_pg332_env_ops;

void ernic_pci_env_init(ErnicPci *d);
void ernic_pci_env_fini(ErnicPci *d);
/* Around every call into the engine. Returns the time. */
uint64_t ernic_pci_enter(ErnicPci *d);
void ernic_pci_leave(ErnicPci *d);
/* Guest memory; false: the address is not all RAM that may be reached so. */
bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write);
/* A message; from inside enter and leave, or with the BQL held. */
void ernic_pci_irq(ErnicPci *d, uint16_t vector);
/* Let the device's work be done, as soon as may be. */
void ernic_pci_kick(ErnicPci *d);
/* One of the two, which do the same: the one that repeats, if time is to. */
void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* As a guarded bottom half of the device would: its own registers are not reached. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work);
/* Packets of the link, for the face that they name; inside enter and leave. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train);
/* Packets for which there is room, in whichever engine. */
uint32_t ernic_pci_rx_room(const ErnicPci *d);
/* The link takes trains again. */
void ernic_pci_tx_ready(ErnicPci *d, uint64_t now);
/* Both engines. */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now);
/* Wait until nothing of the device runs in its AioContext. BQL held. */
void ernic_pci_drain(ErnicPci *d);

#endif /* ERNIC_PCI_ENV_H */
