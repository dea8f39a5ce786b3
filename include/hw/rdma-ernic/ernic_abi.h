/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract of the verbs interface, which device, kernel driver, provider and
 * tests share byte for byte; docs/verbs-interface.md explains its use. This header has
 * the registers and doorbells, and includes the other parts: the Ethernet interface,
 * queue formats, commands and raw packets.
 *
 * All fields are little-endian unless the comment says otherwise. Software writes 0
 * to reserved fields; the device refuses anything else.
 */
#ifndef ERNIC_ABI_H
#define ERNIC_ABI_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#define ERNIC_ABI_SIZE(type, size) static_assert(sizeof(type) == (size))
#define ERNIC_ABI_OFFSET(type, field, off) \
    static_assert(__builtin_offsetof(type, field) == (off))
#else
#include <stdint.h>
#define ERNIC_ABI_SIZE(type, size) \
    _Static_assert(sizeof(type) == (size), #type " is not " #size " bytes")
#define ERNIC_ABI_OFFSET(type, field, off) \
    _Static_assert(__builtin_offsetof(type, field) == (off), \
                   #field " is not at " #off)
#endif

#define ERNIC_ABI_VERSION 1

#ifdef __KERNEL__               /* types that sparse distinguishes */
typedef __le16 ernic_le16;
typedef __le32 ernic_le32;
typedef __le64 ernic_le64;
#else
typedef uint16_t ernic_le16;
typedef uint32_t ernic_le32;
typedef uint64_t ernic_le64;
#endif

/* ------------------------------------------------------------------------
 * The PCI function. BAR 2 begins with the control page, which holds these
 * registers; the doorbell pages begin at db_offset. BAR 4 holds the MSI-X table.
 * BAR 0 belongs to the ERNIC interface (ernic_regs.h).
 *
 * Software accesses 32-bit registers in one access of 32 bits, and 64-bit registers
 * in one of 64 bits or as two halves in any order. Any other read returns 0, any
 * other write is ignored.
 */
#define ERNIC_PCI_VENDOR    0x1af4
#define ERNIC_PCI_DEVICE    0x10f4

#define ERNIC_BAR_REGS      2
#define ERNIC_BAR_MSIX      4

#define ERNIC_MAGIC         0x43494e45      /* "ENIC" in memory */

/* features */
#define ERNIC_FEATURE_ETH       0x1     /* the Ethernet interface is present */
#define ERNIC_FEATURE_ROCE_ETH  0x2     /* RoCEv2 packets are its frames */
#define ERNIC_FEATURE_XRC       0x4     /* XRC queue pairs and SRQs */
#define ERNIC_FEATURE_ATOMIC_WRITE 0x8  /* ATOMIC_WRITE requests */
#define ERNIC_FEATURE_SRQ_RESIZE 0x10   /* SRQ_MODIFY accepts a depth */
#define ERNIC_FEATURE_FLUSH     0x20    /* FLUSH requests and rights */
#define ERNIC_FEATURE_RECORDS   0x40    /* queues may have a struct ernic_record */
#define ERNIC_FEATURE_DB_RECORD 0x80    /* doorbell pages have ERNIC_DB_RECORD */
#define ERNIC_FEATURE_ETH_LSO   0x100   /* ERNIC_ETH_LSO */

/* control; software writes 0 to the other bits */
#define ERNIC_CONTROL_ENABLE    0x1     /* 0 -> 1 begins to use the ring
                                           registers, 1 -> 0 resets the device */
#define ERNIC_CONTROL_RESET     0x2     /* resets the device; reads 0 */

/* status */
#define ERNIC_STATUS_ENABLED    0x1     /* commands and doorbells are executed */
#define ERNIC_STATUS_FATAL      0x2     /* neither are, until a reset */
#define ERNIC_STATUS_LINK       0x4     /* the link is up */

/* error: why ENABLE or a write to cmd_pi was refused, or the device is FATAL */
enum ernic_dev_error {
    ERNIC_DEVERR_NONE,
    ERNIC_DEVERR_RING,          /* ring registers out of range, on ENABLE */
    ERNIC_DEVERR_CMD_INDEX,     /* cmd_pi more than a ring ahead of cmd_ci */
    ERNIC_DEVERR_CMD_DMA,       /* fatal: an access to a ring failed */
    ERNIC_DEVERR_COUNT
};

#define ERNIC_RING_SHIFT_MAX    10      /* a command ring has 2^n entries */

struct ernic_regs {
    ernic_le32 magic;           /* RO ERNIC_MAGIC */
    ernic_le32 abi_version;     /* RO ERNIC_ABI_VERSION */
    ernic_le32 features;        /* RO ERNIC_FEATURE_* */
    ernic_le32 status;          /* RO ERNIC_STATUS_* */
    ernic_le32 control;         /* RW ERNIC_CONTROL_* */
    ernic_le32 error;           /* RO enum ernic_dev_error, kept until a reset */
    ernic_le32 num_vectors;     /* RO MSI-X vectors */
    ernic_le32 num_uctx;        /* RO doorbell pages, including that of context 0 */
    ernic_le32 db_offset;       /* RO offset of the page of context 0 in this BAR */
    ernic_le32 db_shift;        /* RO doorbell pages are 2^n bytes apart */
    ernic_le64 time;            /* RO ns, the clock of all timestamps */
    ernic_le64 cmd_addr;        /* RW command ring; a multiple of 64. This
                                   and the next two: writable while disabled */
    ernic_le64 rsp_addr;        /* RW response ring, likewise */
    ernic_le32 ring_shift;      /* RW each ring has 2^n entries, n <= 10 */
    ernic_le32 cmd_pi;          /* RW doorbell: commands written, modulo 2^32 */
    ernic_le32 cmd_ci;          /* RO commands executed */
    ernic_le32 link_speed;      /* RO Mb/s */
    ernic_le64 mem_offset;      /* RO offset of the device's memory in this BAR */
    ernic_le64 mem_size;        /* RO its bytes, a multiple of 4096; 0: none */
};
ERNIC_ABI_SIZE(struct ernic_regs, 0x60);
ERNIC_ABI_OFFSET(struct ernic_regs, status, 0x0c);
ERNIC_ABI_OFFSET(struct ernic_regs, num_vectors, 0x18);
ERNIC_ABI_OFFSET(struct ernic_regs, time, 0x28);
ERNIC_ABI_OFFSET(struct ernic_regs, ring_shift, 0x40);
ERNIC_ABI_OFFSET(struct ernic_regs, link_speed, 0x4c);
ERNIC_ABI_OFFSET(struct ernic_regs, mem_offset, 0x50);

/*
 * Bus addresses from this one on name the device's own memory: this one is its first
 * byte, which is at mem_offset in BAR 2.
 */
#define ERNIC_ADDR_MEMORY       0x8000000000000000ull

/* ------------------------------------------------------------------------
 * Doorbells: one 64-bit store to the beginning of a doorbell page. The device ignores
 * it unless the queue belongs to the context of that page.
 *   31:0   index: a free-running counter of entries, modulo 2^32
 *   55:32  queue number
 *   59:56  kind
 *   63:60  reserved, 0
 */
enum ernic_db_kind {
    ERNIC_DB_SQ,                /* send queue producer */
    ERNIC_DB_RQ,                /* receive queue producer */
    ERNIC_DB_SRQ,               /* shared receive queue producer */
    ERNIC_DB_CQ,                /* completion queue consumer */
    ERNIC_DB_CQ_ARM,            /* consumer (with ci_addr: entries seen), and
                                   arm for the next completion */
    ERNIC_DB_CQ_ARM_SOLICITED,  /* consumer, and arm for solicited or error */
    ERNIC_DB_EQ,                /* event queue consumer */
    ERNIC_DB_KIND_COUNT
};

/*
 * Offset in every doorbell page: a 64-bit read returns the time of struct ernic_regs,
 * for processes, which cannot access the control page.
 */
#define ERNIC_DB_TIME   8
/*
 * The same for the doorbells of send queues with a record (ERNIC_FEATURE_DB_RECORD). The
 * value is that of a doorbell at offset 0, but the device may ignore it and look at the
 * records of all queues of the page. It is near the end of the page because KVM has one
 * event at an address, and those of virtio and NVMe are from its beginning on.
 */
#define ERNIC_DB_RECORD 0xff0

#define ERNIC_DB(kind, queue, index)                                        \
    (((uint64_t)(kind) << 56) | ((uint64_t)((queue) & 0xffffff) << 32) |    \
     (uint32_t)(index))

#include "ernic_abi_eth.h"
#include "ernic_abi_queue.h"
#include "ernic_abi_raw.h"
#include "ernic_abi_cmd.h"

#endif /* ERNIC_ABI_H */
