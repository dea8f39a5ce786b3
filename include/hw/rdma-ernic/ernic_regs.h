/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The register map of AMD's Embedded RDMA NIC (product guide PG332), versions 3.1, 4.0
 * and 4.2: offsets of the registers and meaning of their bits, for device, drivers and
 * tests. docs/registers.md has tables of it. Registers have 32 bits and are
 * little-endian; bits without a name read 0.
 */
#ifndef ERNIC_REGS_H
#define ERNIC_REGS_H

/* BAR of the registers. */
#define ERNIC_BAR_PG332         0

/*
 * Addresses with this tag in 63:52 are in the card's own memory, for all accesses of the
 * ERNIC. In BAR 4 that memory is the upper half, with a shell all of it.
 */
#define ERNIC_CARD_TAG          0xa35
#define ERNIC_CARD_TAG_SHIFT    52
#define ERNIC_BAR_CARD          4

/* A shell: the function of a card with RecoNIC or OpenNIC. */
#define ERNIC_RECONIC_VENDOR    0x10ee
#define ERNIC_RECONIC_DEVICE    0x903f
#define ERNIC_RECONIC_BAR_QDMA  0
#define ERNIC_RECONIC_QDMA_SIZE 0x40000
#define ERNIC_RECONIC_MSIX      0x30000
#define ERNIC_RECONIC_PBA       0x34000
#define ERNIC_RECONIC_BAR_USER  2       /* shell registers and ERNIC */
#define ERNIC_XIB_DEVICE        0x9038  /* of the same vendor */
#define ERNIC_XIB_BAR           0
#define ERNIC_XIB_VECTORS       3       /* MM2S and ERNIC, S2MM, none */
#define ERNIC_SHELL_BUILD       0x20260000

enum pg332_version {
    PG332_V3_1,
    PG332_V4_0,
    PG332_V4_2,
    PG332_VERSIONS
};

/*
 * Three blocks: the entries of the memory region table at offset 0, PG332_SLOT apart;
 * the global registers; and a slot for each queue pair, PG332_SLOT apart.
 */
#define PG332_SLOT              0x100
#define PG332_V3_SIZE           0x40000
#define PG332_V3_GLOBAL         0x20000
#define PG332_V3_QP             0x20200     /* slot of queue pair 1 */
#define PG332_V3_REGIONS        256
#define PG332_V3_MAX_QP         255
#define PG332_V4_SIZE           0x200000
#define PG332_V4_GLOBAL         0x100000
#define PG332_V4_0_QP           0x180100    /* slot of queue pair 1 */
#define PG332_V4_2_QP           0x180000
#define PG332_V4_REGIONS        2048
#define PG332_V4_MAX_QP         2047

/* ---- an entry of the memory region table; its number is R_Key[31:8] -------- */

enum pg332_region_reg {
    PG332_PDPDNUM               = 0x00,     /* protection domain, 24 bits */
    PG332_VIRTADDRLSB           = 0x04,
    PG332_VIRTADDRMSB           = 0x08,
    PG332_BUFBASEADDRLSB        = 0x0c,
    PG332_BUFBASEADDRMSB        = 0x10,
    PG332_BUFRKEY               = 0x14,     /* R_Key[7:0] */
    PG332_WRRDBUFLEN            = 0x18,
    PG332_ACCESSDESC            = 0x1c
};

#define PG332_ACCESS            0x0000000f
#define PG332_ACCESS_READ       0
#define PG332_ACCESS_WRITE      1
#define PG332_ACCESS_READ_WRITE 2
#define PG332_ACCESS_LEN_SHIFT  16          /* length[47:32] */

/* ---- global registers ------------------------------------------------------- */

enum pg332_global_reg {
    PG332_XRNICCONF             = 0x000,
    PG332_XRNICADCONF           = 0x004,
    PG332_XRNIC_BUF_THRESHOLD_ROCE = 0x008,
    PG332_XRNIC_PAUSE_CONF      = 0x00c,
    PG332_MACXADDLSB            = 0x010,    /* bytes 2 to 5, byte 5 in [7:0] */
    PG332_MACXADDMSB            = 0x014,    /* bytes 0 and 1, byte 1 in [7:0] */
    PG332_XRNIC_BUF_THRESHOLD_NON_ROCE = 0x018,
    PG332_XRNIC_VERSION         = 0x01c,    /* 4.x */
    PG332_IPv6XADD1             = 0x020,    /* the last 32 bits */
    PG332_IPv6XADD2             = 0x024,
    PG332_IPv6XADD3             = 0x028,
    PG332_IPv6XADD4             = 0x02c,
    PG332_XRNIC_CONF_QP_EN      = 0x044,    /* 4.x */
    PG332_ERRBUFBA              = 0x060,
    PG332_ERRBUFBAMSB           = 0x064,
    PG332_ERRBUFSZ              = 0x068,
    PG332_ERRBUFWPTR            = 0x06c,
    PG332_IPv4XADD              = 0x070,    /* the first octet in [31:24] */
    PG332_OPKTERRQBA            = 0x078,
    PG332_OPKTERRQBAMSB         = 0x07c,
    PG332_OUTERRSTSQSZ          = 0x080,
    PG332_OPTERRSTSQQPTRDB      = 0x084,
    PG332_IPKTERRQBA            = 0x088,
    PG332_IPKTERRQBAMSB         = 0x08c,
    PG332_IPKTERRQSZ            = 0x090,
    PG332_IPKTERRQWPTR          = 0x094,
    PG332_DATBUFBA              = 0x0a0,
    PG332_DATBUFBAMSB           = 0x0a4,
    PG332_DATBUFSZ              = 0x0a8,
    PG332_CON_IO_CONF           = 0x0ac,
    PG332_RESPERRPKTBA          = 0x0b0,
    PG332_RESPERRPKTBAMSB       = 0x0b4,
    PG332_RESPERRSZ             = 0x0b8,
    PG332_RESPERRSZMSB          = 0x0bc,    /* 3.1 */
    PG332_RESPERRBUFWPTR        = 0x0bc,    /* 4.x */
    PG332_INSRRPKTCNT           = 0x100,
    PG332_INAMPKTCNT            = 0x104,
    PG332_OUTIOPKTCNT           = 0x108,
    PG332_OUTAMPKTCNT           = 0x10c,
    PG332_LSTINPKT              = 0x110,
    PG332_LSTOUTPKT             = 0x114,
    PG332_ININVDUPCNT           = 0x118,
    PG332_INNCKPKTSTS           = 0x11c,
    PG332_OUTRNRPKTSTS          = 0x120,
    PG332_WQEPROCSTS            = 0x124,
    PG332_QPMSTS                = 0x12c,
    PG332_INALLDRPPKTCNT        = 0x130,
    PG332_INNAKPKTCNT           = 0x134,
    PG332_OUTNAKPKTCNT          = 0x138,
    PG332_RESPHNDSTS            = 0x13c,
    PG332_RETRYCNTSTS           = 0x140,
    PG332_INCNPPKTCNT           = 0x174,
    PG332_OUTCNPPKTCNT          = 0x178,
    PG332_OUTRDRSPPKTCNT        = 0x17c,
    PG332_INTEN                 = 0x180,
    PG332_INTSTS                = 0x184,
    /*
     * Banks: bit b of register k, both from 0 on, belongs to queue pair 32 k + b. In
     * 4.x queue pair C_NUM_QP, a power of two, has bit 0 of register 0.
     */
    PG332_V3_RQINTSTS           = 0x190,
    PG332_V3_CQINTSTS           = 0x1b0,
    PG332_V3_CNPSCHDSTS         = 0x1d0,
    PG332_V4_RQINTSTS           = 0x190,
    PG332_V4_CQINTSTS           = 0x290,
    PG332_V4_CNPSCHDSTS         = 0x390
};

#define PG332_V3_BANKS          8
#define PG332_V4_BANKS          64

/* XRNICCONF */
#define PG332_CONF_ENABLE       0x00000001
#define PG332_CONF_ACK          0x00000018
#define PG332_CONF_ACK_ANY      0x00000000  /* on request, or after the time-out */
#define PG332_CONF_ACK_TIMEOUT  0x00000008  /* after the time-out only */
#define PG332_CONF_ACK_EXPLICIT 0x00000010  /* on request only */
#define PG332_CONF_ERRBUF       0x00000020  /* all errors, not only fatal ones */
#define PG332_V3_CONF_QPS       0x0000ff00
#define PG332_V3_CONF_SPORT     0xffff0000
#define PG332_V4_CONF_SPORT     0x00ffff00

/* XRNICADCONF */
#define PG332_ADCONF_OVERRIDE   0x00000001  /* software may write the pointers */
#define PG332_ADCONF_NO_FATAL   0x00000004  /* exhausted retries are not fatal */
#define PG332_ADCONF_TICK_WIDTH 0x000f0000
#define PG332_V3_ADCONF_QP      0xff000000
#define PG332_V4_ADCONF_QP      0x7ff00000

/* XRNIC_PAUSE_CONF; sources differ on which bit of NO_CHECK it is. */
#define PG332_PAUSE_ROCE        0x00000001
#define PG332_PAUSE_OTHER       0x00000002
#define PG332_PAUSE_PRIO_ROCE   0x000000f0
#define PG332_PAUSE_PRIO_OTHER  0x00000f00
#define PG332_PAUSE_NO_CHECK    0x00003000

/* XRNIC_CONF_QP_EN, CON_IO_CONF */
#define PG332_QP_EN             0x00000fff
#define PG332_CON_IO_READY      0x80000000

/* RESPHNDSTS: [7:0] a queue pair, [13:8] state of the FSM. */
#define PG332_RESPHND_WAITS     0x00000200  /* FSM state 2: waits for a response */
#define PG332_RESPHND_PTR_DONE  0x00010000  /* no pointer update is pending */
#define PG332_RESPHND_ACKS      0x00020000  /* responses are outstanding */

/* WQEPROCSTS: [2:0] and [15:12] are states; head and tail are packet buffers. */
#define PG332_WQEPROC_NO_BUFFER 0x00000010  /* retry buffers unavailable */
#define PG332_WQEPROC_EMPTY     0x00000020
#define PG332_WQEPROC_BUSY      0x00000040
#define PG332_WQEPROC_PRESSED   0x00001000  /* the MAC was busy once; stays set */
#define PG332_WQEPROC_HEADER    0x00002000  /* header manager FSM, state 2 */
#define PG332_WQEPROC_TAIL_SHIFT 16
#define PG332_WQEPROC_HEAD_SHIFT 24

/* QPMSTS */
#define PG332_QPM_CACHE_FULL    0x00000001
#define PG332_QPM_CACHE_EMPTY   0x00000002
#define PG332_QPM_WQE           0x00010000  /* one, in [31:16]: WQEs processed */
#define PG332_QPM_WQES          0xffff0000

/* INTEN, INTSTS */
#define PG332_INT_VALIDATION    0x00000001  /* a packet was refused */
#define PG332_INT_MAD           0x00000002  /* a MAD arrived */
#define PG332_INT_RNR           0x00000008  /* an RNR NAK was sent */
#define PG332_INT_COMPLETION    0x00000010  /* a request is complete */
#define PG332_INT_OPCODE        0x00000020  /* a WQE has an unknown opcode */
#define PG332_INT_RECEIVE       0x00000040  /* a message is in its buffer */
#define PG332_INT_FATAL         0x00000080
#define PG332_INT_CNP           0x00000100  /* software has to send a CNP */
#define PG332_INT_ALL           0x000001fb

/* ---- the slot of a queue pair ------------------------------------------------ */

enum pg332_qp_reg {
    PG332_QPCONF                = 0x00,
    PG332_QPADVCONF             = 0x04,
    PG332_RQBA                  = 0x08,     /* 256-byte aligned */
    PG332_SQBA                  = 0x10,     /* 32-byte aligned */
    PG332_CQBA                  = 0x18,     /* 32-byte aligned */
    PG332_RQWPTRDBADD           = 0x20,
    PG332_RQWPTRDBADDMSB        = 0x24,
    PG332_CQDBADD               = 0x28,
    PG332_CQDBADDMSB            = 0x2c,
    PG332_CQHEAD                = 0x30,
    PG332_RQCI                  = 0x34,
    PG332_SQPI                  = 0x38,
    PG332_QDEPTH                = 0x3c,     /* [15:0] SQ and CQ, [31:16] RQ */
    PG332_SQPSN                 = 0x40,
    PG332_LSTRQREQ              = 0x44,     /* [23:0] PSN, [31:24] opcode */
    PG332_DESTQPCONF            = 0x48,
    PG332_TIMEOUTCONF           = 0x4c,
    PG332_MACDESADDLSB          = 0x50,
    PG332_MACDESADDMSB          = 0x54,
    PG332_IPDESADDR1            = 0x60,     /* IPv4, or the last 32 bits of IPv6 */
    PG332_IPDESADDR2            = 0x64,
    PG332_IPDESADDR3            = 0x68,
    PG332_IPDESADDR4            = 0x6c,
    PG332_OUT_ERR_STAT_BA_LSB   = 0x78,
    PG332_OUT_ERR_STAT_BA_MSB   = 0x7c,
    PG332_STATSSN               = 0x80,
    PG332_STATMSN               = 0x84,
    PG332_STATQP                = 0x88,
    PG332_STATCURSQPTR          = 0x8c,
    PG332_STATRESPSN            = 0x90,
    PG332_STATRQBUFCA           = 0x94,
    PG332_STATWQE               = 0x98,
    PG332_STATRQPIDB            = 0x9c,
    PG332_PD                    = 0xb0,
    PG332_RQBAMSB               = 0xc0,
    PG332_SQBAMSB               = 0xc8,
    PG332_CQBAMSB               = 0xd0,
    PG332_STATRQBUFCAMSB        = 0xd8
};

/* QPCONF */
#define PG332_QPCONF_ENABLE     0x00000001
#define PG332_QPCONF_RQ_INT     0x00000004
#define PG332_QPCONF_CQ_INT     0x00000008
#define PG332_QPCONF_NO_HS      0x00000010  /* indices to words in memory instead */
#define PG332_QPCONF_CQE        0x00000020  /* write completion entries */
#define PG332_QPCONF_RECOVERY   0x00000040
#define PG332_QPCONF_IPV6       0x00000080
#define PG332_QPCONF_PMTU_SHIFT 8           /* 0: 256 ... 4: 4096 */
#define PG332_QPCONF_PMTU       0x00000700
#define PG332_QPCONF_RQ_BUF_SHIFT 16        /* units of 256 bytes */
#define PG332_QPCONF_RQ_BUF     0xffff0000

/* QPADVCONF */
#define PG332_QPADV_TC          0x0000003f
#define PG332_QPADV_TTL         0x0000ff00
#define PG332_QPADV_PKEY        0xffff0000

/* TIMEOUTCONF */
#define PG332_TIMEOUT_ACK       0x0000003f
#define PG332_TIMEOUT_RETRY     0x00000700
#define PG332_TIMEOUT_RNR_RETRY 0x00003800
#define PG332_TIMEOUT_RNR_TIMER 0x001f0000

/* STATQP */
#define PG332_STATQP_FATAL      0x00000001
#define PG332_STATQP_RQ_FULL    0x00000002
#define PG332_STATQP_SQ_FULL    0x00000004
#define PG332_STATQP_OSQ_FULL   0x00000008
#define PG332_STATQP_CQ_FULL    0x00000010
#define PG332_STATQP_SQ_EMPTY   0x00000200
#define PG332_STATQP_OSQ_EMPTY  0x00000400
#define PG332_STATQP_RETRIED    0x00000800
#define PG332_STATQP_SYNDROME   0x007f0000
#define PG332_STATQP_RETRY      0x07000000
#define PG332_STATQP_RNR_RETRY  0x70000000

/* Greatest message length of a request, in bytes. */
#define PG332_MESSAGE_MAX       0x00800000

/* ---- the side stream --------------------------------------------------------- */

/*
 * The S2MM channel of an AXI DMA with scatter/gather (PG021) writes immediate data and
 * keys to invalidate to memory. Its registers follow the window of PG332; the last two
 * are specific to this model.
 */
enum pg332_side_reg {
    PG332_SIDE_DMACR            = 0x30,
    PG332_SIDE_DMASR            = 0x34,
    PG332_SIDE_CURDESC          = 0x38,
    PG332_SIDE_CURDESC_MSB      = 0x3c,
    PG332_SIDE_TAILDESC         = 0x40,
    PG332_SIDE_TAILDESC_MSB     = 0x44,
    PG332_SIDE_WAITING          = 0x80,     /* entries that wait for a descriptor */
    PG332_SIDE_LOST             = 0x84      /* entries lost while halted */
};

/*
 * Offset after the window of the timing model's counters, struct ernic_timing_info of
 * ernic_counters.h: read-only, 64 bits each, the low half first.
 */
#define PG332_SIDE_TIMING           0x10000

/* DMACR */
#define PG332_DMACR_RUN         0x00000001
#define PG332_DMACR_ONES        0x00000002  /* always 1 */
#define PG332_DMACR_RESET       0x00000004
#define PG332_DMACR_CYCLIC      0x00000010
#define PG332_DMACR_THRESHOLD   0x00ff0000  /* entries per IOC */
#define PG332_DMACR_THRESHOLD_SHIFT 16
#define PG332_DMACR_DELAY       0xff000000
#define PG332_DMACR_DELAY_SHIFT 24
#define PG332_DMACR_WRITE       0xff007011  /* and the threshold, except to 0 */
#define PG332_DMACR_RESET_VALUE 0x00010002

/* DMASR; [23:16] entries until IOC, [31:24] delay */
#define PG332_DMASR_HALTED      0x00000001
#define PG332_DMASR_IDLE        0x00000002
#define PG332_DMASR_SG_INCLUDED 0x00000008
#define PG332_DMASR_INTERNAL    0x00000010  /* a buffer of less than 8 bytes */
#define PG332_DMASR_DECODE      0x00000040  /* the buffer is not memory */
#define PG332_DMASR_SG_INTERNAL 0x00000100  /* the descriptor was complete */
#define PG332_DMASR_SG_DECODE   0x00000400  /* the descriptor is not memory */
#define PG332_DMASR_ERRORS      0x00000550

/* Causes in DMASR, and their enable bits in DMACR. */
#define PG332_DMA_IOC_IRQ       0x00001000
#define PG332_DMA_DELAY_IRQ     0x00002000
#define PG332_DMA_ERROR_IRQ     0x00004000
#define PG332_DMA_IRQS          0x00007000

/*
 * A descriptor, aligned to 64 bytes: address of the next descriptor at 0, of the buffer
 * at 8, the low halves first; control at 18, status at 1c.
 */
#define PG332_DESC_CONTROL      0x18
#define PG332_DESC_STATUS       0x1c
#define PG332_DESC_LENGTH       0x03ffffff
#define PG332_DESC_EOF          0x04000000
#define PG332_DESC_SOF          0x08000000
#define PG332_DESC_COMPLETE     0x80000000

/* An entry of the stream, 64 bits: [31:0] immediate data or R_Key, then */
#define PG332_SIDE_TYPE_SHIFT   32          /* [39:32] */
#define PG332_SIDE_SEND_INV     1
#define PG332_SIDE_SEND_IMM     2
#define PG332_SIDE_WRITE_IMM    3
#define PG332_SIDE_QPN_SHIFT    40          /* [47:40] QPN[7:0] */
#define PG332_SIDE_RQ_PI_SHIFT  48          /* [55:48] STATRQPIDB after the message */
#define PG332_SIDE_QPN_HI_SHIFT 56          /* [63:56] QPN[15:8] */

/* ---- the port of user logic --------------------------------------------------- */

/*
 * The ports of the hardware handshake as a stream of bytes, each way: records of 8 bytes,
 * little-endian, of queue pairs with QPCONF[4] clear. Byte 0 is the kind and byte 1 is 0;
 * the queue pair is in bytes 2 and 3, the value in bytes 4 to 7.
 */
#define PG332_USER_RECORD       8           /* bytes */

enum pg332_user_kind {
    PG332_USER_RECEIVED         = 1,        /* to user logic: the new STATRQPIDB */
    PG332_USER_COMPLETED        = 2,        /* completions since the last record */
    PG332_USER_SQPI             = 3,        /* from user logic: the new SQPI */
    PG332_USER_RQCI             = 4         /* the new RQCI */
};

/* ---- requests in memory -------------------------------------------------------- */

/* Byte 16 of a WQE, and bits 23:16 of a completion entry. */
enum pg332_opcode {
    PG332_OP_WRITE              = 0x00,
    PG332_OP_WRITE_IMM          = 0x01,
    PG332_OP_SEND               = 0x02,
    PG332_OP_SEND_IMM           = 0x03,
    PG332_OP_READ               = 0x04,
    PG332_OP_SEND_INV           = 0x0c
};

#endif /* ERNIC_REGS_H */
