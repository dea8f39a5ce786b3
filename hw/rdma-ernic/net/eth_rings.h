/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The common part of the rings of the Ethernet interface. The main loop uses it with the
 * BQL held.
 */
#ifndef ERNIC_NET_ETH_RINGS_H
#define ERNIC_NET_ETH_RINGS_H

#include "device/device.h"

#define ERNIC_ETH_DESC  16      /* bytes of a descriptor */

/* The address of descriptor @index of a ring at @ring of 2^@shift. */
uint64_t ernic_pci_eth_slot(uint64_t ring, uint32_t index, uint32_t shift);
/* Raises the vector of the interface, if it names one. */
void ernic_pci_eth_raise(ErnicPci *d);
/* Raises it if an armed ring has moved past its arm index. */
void ernic_pci_eth_interrupt(ErnicPci *d);
/* Writes the consumer indices to memory, then raises due interrupts. */
void ernic_pci_eth_report(ErnicPci *d);

#endif /* ERNIC_NET_ETH_RINGS_H */
