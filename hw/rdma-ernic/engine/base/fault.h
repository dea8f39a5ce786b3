/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The faults of requests and their consequences. Checks return an ErnicFault; only the
 * table in fault.c defines which NAK, completion, event and state change it causes.
 */
#ifndef ERNIC_BASE_FAULT_H
#define ERNIC_BASE_FAULT_H

#include "base/types.h"

typedef enum ErnicFault {
    ERNIC_FAULT_NONE,

    /* Found by the responder in an inbound request. */
    ERNIC_FAULT_PSN_AHEAD,          /* request packets are missing */
    ERNIC_FAULT_RNR,                /* no receive request is posted */
    ERNIC_FAULT_OP_SEQ,             /* First, Middle, Last out of turn */
    ERNIC_FAULT_OP_UNSUPPORTED,     /* not on this service, or disabled */
    ERNIC_FAULT_RD_ATOMIC_OVERFLOW, /* more reads than agreed on */
    ERNIC_FAULT_ATOMIC_ALIGN,       /* address not a multiple of 8 */
    ERNIC_FAULT_PACKET_LENGTH,      /* payload against MTU or RETH length */
    ERNIC_FAULT_RECV_LENGTH,        /* message exceeds the receive buffer */
    ERNIC_FAULT_SRQ_LENGTH,         /* the same, and the buffer is an SRQ's */
    ERNIC_FAULT_REM_ACCESS,         /* rkey, range or rights */
    ERNIC_FAULT_REM_DMA,            /* DMA to the memory of the rkey failed */
    ERNIC_FAULT_INV_RKEY,           /* SEND with Invalidate of a bad key */
    ERNIC_FAULT_RECV_WQE,           /* receive request malformed */
    ERNIC_FAULT_RECV_PROT,          /* lkey of a receive request */
    ERNIC_FAULT_RECV_DMA,           /* memory of a receive request failed */

    /* Found in a send request before or while it is sent. */
    ERNIC_FAULT_SEND_WQE,           /* malformed, or not on this service */
    ERNIC_FAULT_SEND_FETCH,         /* DMA from the ring failed */
    ERNIC_FAULT_SEND_LENGTH,        /* over 2 GiB, over the MTU on UD */
    ERNIC_FAULT_SEND_PROT,          /* lkey of a send request */
    ERNIC_FAULT_SEND_DMA,           /* memory of a send request failed */
    ERNIC_FAULT_SEND_AV,            /* address vector names no GID */
    ERNIC_FAULT_MW_BIND,            /* bind refused */
    ERNIC_FAULT_REG_MR,             /* fast registration refused */
    ERNIC_FAULT_LOCAL_INV,          /* key cannot be invalidated */

    /* Reported by the peer, or found by missing responses. */
    ERNIC_FAULT_NAK_INV_REQ,
    ERNIC_FAULT_NAK_REM_ACCESS,
    ERNIC_FAULT_NAK_REM_OP,
    ERNIC_FAULT_BAD_RESPONSE,
    ERNIC_FAULT_RETRY_EXC,
    ERNIC_FAULT_RNR_RETRY_EXC,

    /* Faults of the queues themselves. */
    ERNIC_FAULT_FLUSH,              /* the queue pair is in error */
    ERNIC_FAULT_CQ_OVERRUN,

    /* Found by the responder too; numbers keep their meaning. */
    ERNIC_FAULT_PAGE,               /* software is asked for a page */
    ERNIC_FAULT_XRC_SRQ,            /* XRCETH names no SRQ of the domain */
    ERNIC_FAULT_COUNT
} ErnicFault;

/* Consequence for the request, per transport. */
typedef enum ErnicAct {
    ERNIC_ACT_DROP,             /* drop the packet, silently */
    ERNIC_ACT_DROP_MESSAGE,     /* and the rest of its message */
    ERNIC_ACT_NAK,              /* NAK once, drop, stay in the state */
    ERNIC_ACT_QP_ERROR,         /* NAK if the row has a syndrome, then Error */
    ERNIC_ACT_SQ_ERROR,         /* complete in error, send queue to SQE */
    ERNIC_ACT_COMPLETE,         /* complete in error, drop the rest of the
                                   message, stay in the state */
    ERNIC_ACT_COUNT
} ErnicAct;

/* Consequences of a fault; a row of the table. */
typedef struct ErnicFaultInfo {
    const char *name;
    const char *cite;           /* IBTA volume 1, or "model": our choice */
    uint8_t syndrome;           /* AETH; 0: no NAK */
    uint8_t wc;                 /* ERNIC_WC_* of the local request: send, or
                                   the receive that the message holds, if it
                                   holds one; SUCCESS: none completes */
    uint8_t peer_wc;            /* ERNIC_WC_* at the requester that gets the
                                   NAK; SUCCESS: it retries, or none */
    uint8_t act[ERNIC_XRC];     /* ErnicAct for RC, UC, UD */
    uint8_t event;              /* ERNIC_EV_* when the QP enters Error, for a fault
                                   that no completion reports; 0: none */
} ErnicFaultInfo;

const ErnicFaultInfo *ernic_fault_info(ErnicFault fault);
/* ErnicAct on @transport; XRC acts as RC. */
uint8_t ernic_fault_act(ErnicFault fault, ErnicTransport transport);
/* The fault that a NAK syndrome reports; NONE for retries and unknown ones. */
ErnicFault ernic_fault_of_syndrome(uint8_t syndrome);

#endif /* ERNIC_BASE_FAULT_H */
