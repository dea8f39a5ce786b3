/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet interface: registers and the receive ring. The main loop uses it with the
 * BQL held, also if the engine runs in an iothread.
 */
#ifndef ERNIC_NET_ETHERNET_H
#define ERNIC_NET_ETHERNET_H

#include "device/registers.h"

ErnicRegBlock ernic_pci_eth_block(ErnicPci *d);
void ernic_pci_eth_init(ErnicPci *d);
void ernic_pci_eth_reset(ErnicPci *d);
/* Whether frames that are not for an engine may be received. Any thread. */
bool ernic_pci_eth_receives(const ErnicPci *d);
/* Receives a frame that is not for an engine. */
void ernic_pci_eth_receive(ErnicPci *d, const uint8_t *frame, size_t len);
void ernic_pci_eth_link_changed(ErnicPci *d);
void ernic_pci_eth_show_mac(ErnicPci *d);
/* Checks and completes migrated state; false: it is invalid. */
bool ernic_pci_eth_valid(ErnicPci *d);

#endif /* ERNIC_NET_ETHERNET_H */
