/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The numbers that this model chose, with their reasons. Numbers of the specification
 * are in ib_spec.h, numbers that the guest sees in ernic_abi.h.
 */
#ifndef ERNIC_BASE_LIMITS_H
#define ERNIC_BASE_LIMITS_H

/* Objects: the most that a configuration may have. */
#define ERNIC_LIM_QP            16384
#define ERNIC_LIM_CQ            16384
#define ERNIC_LIM_SRQ           4096
#define ERNIC_LIM_EQ            64
#define ERNIC_LIM_MR            (1u << 24)  /* regions and windows: a key has 32 bits */
/* More keys than these are charged to the account, so many at a time. */
#define ERNIC_MR_UNCHARGED      65536
#define ERNIC_MR_STEP           4096
/* Keys that hold a region at a time: when a queue pair ends, all are looked at. */
#define ERNIC_LIM_HOLDERS       65536
#define ERNIC_LIM_PD            16384
#define ERNIC_LIM_UCTX          1024
#define ERNIC_LIM_MCAST_GROUP   256
#define ERNIC_LIM_MCAST_MEMBER  48          /* of each group, if all have as many */
#define ERNIC_LIM_MCAST_ATTACH  (ERNIC_LIM_MCAST_GROUP * ERNIC_LIM_MCAST_MEMBER)
#define ERNIC_MCAST_BUCKETS     256         /* a power of two */
#define ERNIC_LIM_FLOW          256         /* searched one by one */
#define ERNIC_LIM_RSS           64
/*
 * Flow tables (mlx5): one entry for each VLAN and address that Linux filters. A bridge
 * has 4094 VLANs.
 */
#define ERNIC_LIM_FLOW_TABLE    64
#define ERNIC_LIM_FLOW_GROUP    256
#define ERNIC_LIM_FLOW_ENTRY    16384
#define ERNIC_LIM_FLOW_COUNTER  256
/* Ethernet queues of mlx5, and what distributes frames to them. */
#define ERNIC_LIM_ETH_QUEUE     256         /* of each direction */
#define ERNIC_LIM_TIR           256
#define ERNIC_LIM_TIS           64
#define ERNIC_LIM_RQT           256
#define ERNIC_RQT_ENTRIES       256
#define ERNIC_LIM_COUNTER       1024
#define ERNIC_LIM_GID           64
#define ERNIC_LIM_PKEY          16

#define ERNIC_MAX_EQ_DEPTH      (1u << 16)
#define ERNIC_MAX_CQ_DEPTH      (1u << 20)
#define ERNIC_MAX_WQ_DEPTH      (1u << 15)
#define ERNIC_MAX_FRWR_PAGES    4096
/* Page addresses that one guest can make the host store: 8 bytes each. */
#define ERNIC_MAX_PAGES         (1u << 24)
#define ERNIC_MAX_MR_SIZE       (1ull << 46)
/* An on-demand region may be as large as the address space of a process. */
#define ERNIC_MAX_ODP_SIZE      (1ull << 57)
#define ERNIC_PAGE_SHIFT_MIN    12
#define ERNIC_PAGE_SHIFT_MAX    31

/*
 * Flow tables: a frame visits at most this many tables, in each of which it is looked
 * up in at most so many groups.
 */
#define ERNIC_FLOW_STEPS        64
#define ERNIC_FLOW_TABLE_GROUPS 32

/*
 * Adaptive retransmission, ns. A busy host keeps a peer from its processor for some tens
 * of milliseconds; waits over a second would delay a peer that is back again.
 */
#define ERNIC_ACK_TIMEOUT_FLOOR 16777216ull     /* the transport timeout 12 */
#define ERNIC_ACK_TIMEOUT_STEP  1000000000ull
#define ERNIC_RNR_STEP          50000000ull

/* Requests of one send queue that are decoded and not yet completed. */
#define ERNIC_SQ_WINDOW         64
/* Outstanding reads and atomics per queue pair, at either end. */
#define ERNIC_MAX_RD_ATOMIC     16
/* PG332: outstanding requests of a queue pair; half as many after a CNP. */
#define ERNIC_PG332_OUTSTANDING 16
/* PG332: delay of an ACK without a request: four ticks of 4.096 us. */
#define ERNIC_PG332_ACK_NS      16384

/*
 * A train is at most one UDP_SEGMENT datagram: 64 segments, and an IPv4
 * datagram of 65535 bytes less its headers.
 */
#define ERNIC_TRAIN_BYTES       65000
#define ERNIC_TRAIN_PACKETS     64

/*
 * Bytes in flight per queue pair. The maximum is an eighth of the 4 MiB receive buffer
 * that the UDP link requests; the minimum still fills a train.
 */
#define ERNIC_CWND_MAX          (512u * 1024)
#define ERNIC_CWND_INIT         (256u * 1024)
#define ERNIC_CWND_MIN          (16u * 1024)
/* A long READ is requested in chunks, so that the window bounds it as well. */
#define ERNIC_READ_CHUNK        (128u * 1024)

/*
 * A UC packet with a PSN at most this much lower than the expected one is a duplicate.
 * A packet with a lower PSN follows a long loss.
 */
#define ERNIC_UC_DUP_WINDOW     65536

/*
 * A queue pair in Error polls for receive requests that are posted without a doorbell:
 * after so many ns if it has found some or has just begun; each time that there are none,
 * the time doubles, up to ERNIC_FLUSH_POLL_MAX times it.
 */
#define ERNIC_FLUSH_POLL_NS     (100 * 1000)
#define ERNIC_FLUSH_POLL_MAX    8192

/* Capacity of the loopback store, bytes. */
#define ERNIC_LOOPBACK_BYTES    (256u * 1024)

/* DCQCN: least time between CNPs of a queue pair (50 us, as NICs do). */
#define ERNIC_CNP_INTERVAL_NS   50000

#endif /* ERNIC_BASE_LIMITS_H */
