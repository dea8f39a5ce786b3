/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of the InfiniBand architecture (IBTA vol. 1) and of its RoCEv2
 * annex (A17), and of the headers below them. Nothing here is our choice.
 */
#ifndef ERNIC_BASE_IB_SPEC_H
#define ERNIC_BASE_IB_SPEC_H

/* Header sizes in bytes (IBTA vol. 1, chapter 9; XRCETH: A14; FETH: A19). */
#define ERNIC_BTH_LEN           12
#define ERNIC_XRCETH_LEN        4
#define ERNIC_DETH_LEN          8
#define ERNIC_FETH_LEN          4
#define ERNIC_RETH_LEN          16
#define ERNIC_ATOMICETH_LEN     28
#define ERNIC_AETH_LEN          4
#define ERNIC_ATOMICACK_LEN     8
#define ERNIC_IMM_LEN           4
#define ERNIC_IETH_LEN          4
#define ERNIC_CNP_RSVD_LEN      16      /* reserved bytes after BTH in a CNP */
#define ERNIC_ICRC_LEN          4
#define ERNIC_GRH_LEN           40

/* The longest BTH and extension headers: an XRC atomic request. */
#define ERNIC_PKT_HDR_MAX \
    (ERNIC_BTH_LEN + ERNIC_XRCETH_LEN + ERNIC_ATOMICETH_LEN)

/* BTH OpCode: transport in the top three bits, operation in the low five. */
#define ERNIC_BTH_OP_MASK       0x1f
#define ERNIC_BTH_RC            0x00
#define ERNIC_BTH_UC            0x20
#define ERNIC_BTH_RD            0x40    /* not implemented */
#define ERNIC_BTH_UD            0x60
#define ERNIC_BTH_XRC           0xa0
#define ERNIC_BTH_CNP           0x81    /* congestion notification, A17.9 */

/* BTH byte 1 and 4 and 8. */
#define ERNIC_BTH_SE            0x80
#define ERNIC_BTH_MIGREQ        0x40
#define ERNIC_BTH_PAD_SHIFT     4
#define ERNIC_BTH_PAD_MASK      0x03
#define ERNIC_BTH_TVER_MASK     0x0f
#define ERNIC_BTH_FECN          0x80
#define ERNIC_BTH_BECN          0x40
#define ERNIC_BTH_ACKREQ        0x80

/* 24-bit quantities: packet sequence, message sequence, QP and SRQ numbers. */
#define ERNIC_PSN_MASK          0xffffffu
#define ERNIC_MSN_MASK          0xffffffu
#define ERNIC_QPN_MASK          0xffffffu

#define ERNIC_QPN_GSI           1u
#define ERNIC_QPN_MULTICAST     0xffffffu
#define ERNIC_QKEY_GSI          0x80010000u
#define ERNIC_QKEY_PRIVILEGED   0x80000000u  /* set: privileged Q_Key */

#define ERNIC_PKEY_DEFAULT      0xffffu
#define ERNIC_PKEY_FULL         0x8000u /* full membership */
#define ERNIC_PKEY_BASE_MASK    0x7fffu

/* AETH syndrome: kind in bits 7:5, of which 7 is reserved, value in 4:0. */
#define ERNIC_AETH_KIND_MASK    0xe0
#define ERNIC_AETH_VALUE_MASK   0x1f
#define ERNIC_AETH_ACK          0x00    /* | credit code */
#define ERNIC_AETH_RNR_NAK      0x20    /* | RNR timer code */
#define ERNIC_AETH_NAK          0x60    /* | NAK code */
#define ERNIC_AETH_CREDIT_NONE  0x1f    /* no end-to-end flow control */

/* FETH: placement types in bits 3:0, of which two exist, level in 5:4. */
#define ERNIC_FETH_GLOBAL       0x1
#define ERNIC_FETH_PERSISTENT   0x2
#define ERNIC_FETH_TYPE_MASK    0xf
#define ERNIC_FETH_LEVEL_SHIFT  4
#define ERNIC_FETH_LEVEL_MASK   0x3
#define ERNIC_FETH_RANGE        0
#define ERNIC_FETH_MR           1

/* The five NAKs, whole syndromes. */
#define ERNIC_NAK_PSN_SEQ       0x60    /* PSN sequence error */
#define ERNIC_NAK_INV_REQ       0x61    /* invalid request */
#define ERNIC_NAK_REM_ACC       0x62    /* remote access error */
#define ERNIC_NAK_REM_OP        0x63    /* remote operational error */
#define ERNIC_NAK_INV_RD        0x64    /* invalid RD request */

/* Path MTU, message and packet limits in bytes. */
#define ERNIC_MTU_MIN           256
#define ERNIC_MTU_MAX           4096
#define ERNIC_MSG_MAX           0x80000000u /* 2 GiB */
#define ERNIC_ATOMIC_LEN        8

/* QP attributes with values of their own. */
#define ERNIC_RNR_RETRY_FOREVER 7
#define ERNIC_RNR_TIMER_COUNT   32
#define ERNIC_ACK_TIMEOUT_COUNT 32

/* Ethernet, IP, UDP. */
#define ERNIC_ETH_LEN           14
#define ERNIC_VLAN_LEN          4
#define ERNIC_IP4_LEN           20
#define ERNIC_IP6_LEN           40
#define ERNIC_UDP_LEN           8
#define ERNIC_ETHERTYPE_IP4     0x0800
#define ERNIC_ETHERTYPE_IP6     0x86dd
#define ERNIC_ETHERTYPE_VLAN    0x8100
#define ERNIC_IPPROTO_UDP       17
#define ERNIC_UDP_PORT          4791    /* RoCEv2 */
#define ERNIC_ECN_MASK          0x03    /* of a traffic class, RFC 3168 */
#define ERNIC_ECN_ECT0          0x02
#define ERNIC_ECN_CE            0x03

#endif /* ERNIC_BASE_IB_SPEC_H */
