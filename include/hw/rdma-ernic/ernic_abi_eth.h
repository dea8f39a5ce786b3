/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract of the Ethernet interface: registers in the control page, and one
 * ring of descriptors for each direction. Ring counters run freely. A part of
 * ernic_abi.h, which has the types.
 */
#ifndef ERNIC_ABI_ETH_H
#define ERNIC_ABI_ETH_H

#define ERNIC_ETH_OFFSET        0x100   /* of the registers in the control page */

/* ctrl */
#define ERNIC_ETH_TX            0x1     /* 0 -> 1 begins to use the ring */
#define ERNIC_ETH_RX            0x2     /* likewise */
#define ERNIC_ETH_PROMISC       0x4     /* receive all frames */
#define ERNIC_ETH_ALLMULTI      0x8     /* receive the frames of all groups */
#define ERNIC_ETH_CTRL          0xf

#define ERNIC_ETH_SHIFT_MAX     12      /* a ring has 2^n entries */
#define ERNIC_ETH_FRAME_DESC    64      /* the most descriptors of a frame */
#define ERNIC_ETH_LSO_MAX       65536   /* bytes of data of a large packet */
#define ERNIC_ETH_LSO_HEAD_MAX  256     /* bytes of its headers */
#define ERNIC_ETH_MTU           9000
/* Header, one VLAN tag and payload. Frames in memory have no FCS. */
#define ERNIC_ETH_FRAME_MAX     (14 + 4 + ERNIC_ETH_MTU)

struct ernic_eth_regs {
    ernic_le32 ctrl;            /* RW ERNIC_ETH_* */
    ernic_le32 link;            /* RO 1: up */
    ernic_le32 mtu;             /* RO greatest payload of a frame, bytes */
    ernic_le32 mac_lo;          /* RW bytes 0 to 3 of the MAC address */
    ernic_le32 mac_hi;          /* RW bytes 4 and 5 */
    ernic_le32 reserved;
    ernic_le64 mc_hash;         /* RW groups to receive: bit n for addresses
                                   with n in the low 6 bits of their CRC-32,
                                   computed like the FCS, but without the
                                   final inversion */
    ernic_le64 tx_addr;         /* RW this and the next five: writable while
                                   TX and RX are 0. Addresses are multiples
                                   of 64 */
    ernic_le64 rx_addr;         /* RW */
    ernic_le64 state_addr;      /* RW struct ernic_eth_state in memory */
    ernic_le32 tx_shift;        /* RW the ring has 2^n entries, n <= 12 */
    ernic_le32 rx_shift;        /* RW */
    ernic_le32 vector;          /* RW MSI-X vector */
    ernic_le32 tx_pi;           /* RW doorbell: descriptors written */
    ernic_le32 rx_pi;           /* RW doorbell: descriptors written */
    ernic_le32 tx_arm;          /* RW raise vector when tx_ci differs */
    ernic_le32 rx_arm;          /* RW raise vector when rx_ci differs */
    ernic_le32 tx_ci;           /* RO descriptors completed */
    ernic_le32 rx_ci;           /* RO descriptors filled */
    ernic_le32 reserved2;
    ernic_le64 tx_packets;      /* RO counters, until a reset */
    ernic_le64 tx_bytes;
    ernic_le64 tx_errors;       /* too long, too many descriptors, no end in
                                   the ring, or no memory */
    ernic_le64 rx_packets;
    ernic_le64 rx_bytes;
    ernic_le64 rx_no_buffer;    /* the posted buffers did not suffice */
    ernic_le64 rx_errors;       /* too long, too many descriptors, or no
                                   memory */
};
ERNIC_ABI_SIZE(struct ernic_eth_regs, 0x98);
ERNIC_ABI_OFFSET(struct ernic_eth_regs, mc_hash, 0x18);
ERNIC_ABI_OFFSET(struct ernic_eth_regs, vector, 0x40);
ERNIC_ABI_OFFSET(struct ernic_eth_regs, tx_packets, 0x60);

/* The device writes both counters to memory before the interrupt. */
struct ernic_eth_state {
    ernic_le32 tx_ci;
    ernic_le32 rx_ci;
};
ERNIC_ABI_SIZE(struct ernic_eth_state, 8);

#define ERNIC_ETH_EOP           0x1     /* end of the frame */
/* Transmit: compute a checksum; on the last descriptor of a frame. */
#define ERNIC_ETH_CSUM          0x2
/*
 * Transmit: divide a large packet into frames; on the last descriptor, in place of CSUM,
 * if ERNIC_FEATURE_ETH_LSO is set.
 */
#define ERNIC_ETH_LSO           0x8
/* Receive: the frame is TCP or UDP over IPv4 or IPv6 with correct checksums. */
#define ERNIC_ETH_CSUM_OK       0x4

struct ernic_eth_txd {
    ernic_le64 addr;
    ernic_le16 len;
    uint8_t flags;              /* EOP, CSUM, LSO */
    uint8_t reserved;
    union {
        ernic_le16 csum_start;  /* first byte of the sum, which ends with the
                                   frame */
        ernic_le16 head_len;    /* LSO: bytes of headers, up to the data of TCP
                                   or UDP */
    };
    union {
        ernic_le16 csum_offset; /* position of its complement after csum_start */
        ernic_le16 mss;         /* LSO: bytes of data of each frame but the last */
    };
};
ERNIC_ABI_SIZE(struct ernic_eth_txd, 16);

struct ernic_eth_rxd {
    ernic_le64 addr;
    ernic_le16 size;            /* of the buffer */
    ernic_le16 len;             /* written by the device: bytes in it */
    uint8_t flags;              /* written by the device: EOP, CSUM_OK */
    uint8_t reserved[3];
};
ERNIC_ABI_SIZE(struct ernic_eth_rxd, 16);

#endif /* ERNIC_ABI_ETH_H */
