/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * State of the Ethernet face and of its QEMU NIC. Both are used by the main loop
 * with the BQL held, also if the engine runs in an iothread.
 */
#ifndef ERNIC_PCI_FACES_ETHERNET_H
#define ERNIC_PCI_FACES_ETHERNET_H

#include "net/net.h"
#include "fabric/wire_device.h"
#include "device/registers.h"

typedef struct ErnicPci ErnicPci;
typedef struct ErnicNetq ErnicNetq;

/* The registers of struct ernic_eth_regs, in host byte order. */
typedef struct ErnicEth {
    uint32_t ctrl;
    uint32_t mac_lo, mac_hi;
    uint64_t mc_hash;
    uint64_t tx_addr, rx_addr, state_addr;
    uint32_t tx_shift, rx_shift, vector;
    uint32_t tx_pi, tx_ci, rx_pi, rx_ci;
    uint32_t tx_arm, rx_arm;
    bool tx_armed, rx_armed;
    bool tx_wait;               /* the backend has not taken the last frame yet */
    uint64_t tx_packets, tx_bytes, tx_errors;
    uint64_t rx_packets, rx_bytes, rx_no_buffer, rx_errors;
} ErnicEth;

typedef struct ErnicNetdev {
    NICConf conf;
    NICState *nic;
    ErnicWire *wire;            /* property "wire", in place of a netdev */
    NetClientState *port;       /* the device's port of the wire */
    QEMUBH *bh;                 /* transmission of the Ethernet face */
    QEMUTimer kick;             /* runs in place of bh: ernic_pci_schedule() */
    ErnicNetq *queues;
    uint32_t pending;           /* RoCE frames the backend has not taken yet */
    bool blocked;               /* the engine waits for the wire, or for the queue */
    uint32_t busy;              /* calls into or from QEMU's network layer below */
    bool rx_full;               /* frames wait for room, or for a slice */
    bool resuming;              /* those frames are being delivered */
    bool link_moved;            /* link change not reported to the guest yet */
    ErnicEth eth;
    uint64_t train;             /* serial of the train that was taken last, */
    uint8_t sender;             /* and whose it is: ErnicPciFace */
    uint32_t flow_rules;        /* of the engine; atomic */
} ErnicNetdev;

ErnicRegBlock ernic_pci_eth_block(ErnicPci *d);
void ernic_pci_eth_init(ErnicPci *d);
void ernic_pci_eth_fini(ErnicPci *d);
void ernic_pci_eth_reset(ErnicPci *d);
/* Receives a frame that is not for an engine. */
void ernic_pci_eth_receive(ErnicPci *d, const uint8_t *frame, size_t len);
void ernic_pci_eth_link_changed(ErnicPci *d);
/* The link accepts frames again; resumes transmission if it was waiting. */
void ernic_pci_eth_sent(ErnicPci *d);
/* Schedules transmission of the frames in the ring. */
void ernic_pci_eth_kick(ErnicPci *d);
void ernic_pci_eth_show_mac(ErnicPci *d);
/* Checks and completes migrated state; false: it is invalid. */
bool ernic_pci_eth_valid(ErnicPci *d);

#endif /* ERNIC_PCI_FACES_ETHERNET_H */
