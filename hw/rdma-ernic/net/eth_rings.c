/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The common part of the rings of the Ethernet interface: the places of descriptors, and
 * the reports to the driver.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "device/dma.h"
#include "device/irq.h"
#include "net/eth_rings.h"
#include "hw/rdma-ernic/ernic_abi.h"

QEMU_BUILD_BUG_ON(sizeof(struct ernic_eth_txd) != ERNIC_ETH_DESC);
QEMU_BUILD_BUG_ON(sizeof(struct ernic_eth_rxd) != ERNIC_ETH_DESC);

uint64_t ernic_pci_eth_slot(uint64_t ring, uint32_t index, uint32_t shift)
{
    return ring + (uint64_t)(index & ((1u << shift) - 1)) * ERNIC_ETH_DESC;
}

void ernic_pci_eth_raise(ErnicPci *d)
{
    if (d->net.eth.vector < d->cfg.num_vectors) {
        ernic_pci_irq(d, d->net.eth.vector);
    }
}

void ernic_pci_eth_interrupt(ErnicPci *d)
{
    ErnicEth *eth = &d->net.eth;
    bool tx = eth->tx_armed && eth->tx_ci != eth->tx_arm;
    bool rx = eth->rx_armed && eth->rx_ci != eth->rx_arm;

    eth->tx_armed &= !tx;
    eth->rx_armed &= !rx;
    if (tx || rx) {
        ernic_pci_eth_raise(d);
    }
}

void ernic_pci_eth_report(ErnicPci *d)
{
    struct ernic_eth_state state = {
        .tx_ci = cpu_to_le32(d->net.eth.tx_ci),
        .rx_ci = cpu_to_le32(d->net.eth.rx_ci),
    };

    ernic_pci_dma(d, d->net.eth.state_addr, &state, sizeof(state), true);
    ernic_pci_eth_interrupt(d);
}
