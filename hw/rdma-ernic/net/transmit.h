/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The transmit ring of the Ethernet interface. The main loop uses it with the BQL held.
 */
#ifndef ERNIC_NET_TRANSMIT_H
#define ERNIC_NET_TRANSMIT_H

#include "device/device.h"

void ernic_pci_eth_tx_init(ErnicPci *d);
void ernic_pci_eth_tx_fini(ErnicPci *d);
/* Sends a frame now. False: the function was reset or ejected meanwhile. */
bool ernic_pci_eth_transmit(ErnicPci *d, const uint8_t *frame, uint32_t len);
/* Whether a frame still waits for the link, and no other can be sent. */
bool ernic_pci_eth_waits(const ErnicPci *d);
/* The link accepts frames again; resumes transmission if it was waiting. */
void ernic_pci_eth_sent(ErnicPci *d);
/* Schedules transmission of the frames in the ring. */
void ernic_pci_eth_kick(ErnicPci *d);

#endif /* ERNIC_NET_TRANSMIT_H */
