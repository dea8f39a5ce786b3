/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fault table. Classes are those of IBTA vol. 1, 9.9.2 (requester) and
 * 9.9.3 (responder); completion statuses those of 11.6.2; events of 11.6.3.
 */
#include "qemu/osdep.h"
#include "base/fault.h"
#include "base/ib_spec.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define DROP            ERNIC_ACT_DROP
#define DROP_MESSAGE    ERNIC_ACT_DROP_MESSAGE
#define NAK             ERNIC_ACT_NAK
#define QP_ERROR        ERNIC_ACT_QP_ERROR
#define SQ_ERROR        ERNIC_ACT_SQ_ERROR
#define COMPLETE        ERNIC_ACT_COMPLETE
/* A transport that cannot have the fault drops the packet. */
#define CANNOT          DROP

#define ACTS(RC, UC, UD) \
    { [ERNIC_RC] = RC, [ERNIC_UC] = UC, [ERNIC_UD] = UD }

static const ErnicFaultInfo faults[] = {
    [ERNIC_FAULT_NONE] = {
        "none", "model", .act = ACTS(DROP, DROP, DROP),
    },

    /*
     * Responder, class B: a NAK, and no other effect. UC has no NAK and loses the
     * message (class D).
     */
    [ERNIC_FAULT_PSN_AHEAD] = {
        "psn-ahead", "9.9.3 class B, UC class D; 9.7.5.2",
        .syndrome = ERNIC_NAK_PSN_SEQ,
        .act = ACTS(NAK, DROP_MESSAGE, CANNOT),
    },
    /* The low bits are the QP's minimum RNR NAK timer. */
    [ERNIC_FAULT_RNR] = {
        "rnr", "9.9.3 class B, UC and UD class D; 9.7.5.2",
        .syndrome = ERNIC_AETH_RNR_NAK,
        .act = ACTS(NAK, DROP_MESSAGE, DROP),
    },
    /*
     * A page of an on-demand region is absent: the responder is not ready. The
     * requester retries, so its software sees nothing of it.
     */
    [ERNIC_FAULT_PAGE] = {
        "page-absent", "9.7.5.2 RNR NAK; UC and UD: model",
        .syndrome = ERNIC_AETH_RNR_NAK,
        .act = ACTS(NAK, DROP_MESSAGE, DROP),
    },

    /*
     * Responder, class C: NAK and Error. A receive request of the message completes in
     * error; without one, an affiliated asynchronous error reports the fault. UC and UD
     * drop the message (class D).
     */
    [ERNIC_FAULT_OP_SEQ] = {
        "op-sequence", "9.9.3 class C, UC class D",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, DROP_MESSAGE, CANNOT),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
    [ERNIC_FAULT_OP_UNSUPPORTED] = {
        "op-unsupported", "9.9.3 class C, UC and UD class D",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, DROP_MESSAGE, DROP),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
    [ERNIC_FAULT_RD_ATOMIC_OVERFLOW] = {
        "rd-atomic-overflow", "9.9.3 class C",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
    [ERNIC_FAULT_ATOMIC_ALIGN] = {
        "atomic-align", "9.9.3 class C; 9.4.5",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
    [ERNIC_FAULT_PACKET_LENGTH] = {
        "packet-length", "9.9.3 class C, UC and UD class D",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, DROP_MESSAGE, DROP),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
    /*
     * The short buffer is a fault of the receive request, whose completion reports it:
     * Local Length Error, not the Remote Invalid Request that the peer gets. UC and UD
     * drop the message (class D), and the request serves the next one: datagrams of
     * strangers cannot use up the requests that QP1 has posted.
     */
    [ERNIC_FAULT_RECV_LENGTH] = {
        "recv-length", "11.6.2; 9.9.3 class C, UC and UD class D",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_LOC_LEN_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, DROP_MESSAGE, DROP),
    },
    /* A request of an SRQ cannot be returned: it completes in error (class E). */
    [ERNIC_FAULT_SRQ_LENGTH] = {
        "srq-length", "11.6.2; 9.9.3 class C, UC and UD class E",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_LOC_LEN_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, COMPLETE, COMPLETE),
    },
    /* Local Access Error: WRITE with immediate that had taken its receive. */
    [ERNIC_FAULT_REM_ACCESS] = {
        "remote-access", "9.9.3 class C, UC class D; 9.7.5.2; 11.6.2",
        .syndrome = ERNIC_NAK_REM_ACC,
        .wc = ERNIC_WC_LOC_ACCESS_ERR, .peer_wc = ERNIC_WC_REM_ACCESS_ERR,
        .act = ACTS(QP_ERROR, DROP_MESSAGE, CANNOT),
        .event = ERNIC_EV_QP_ACCESS_ERR,
    },
    /* Responder, class A: a local fault ends the queue pair. */
    [ERNIC_FAULT_REM_DMA] = {
        "remote-dma", "9.9.3 class A; 11.6.3",
        .syndrome = ERNIC_NAK_REM_OP,
        .wc = ERNIC_WC_LOC_QP_OP_ERR, .peer_wc = ERNIC_WC_REM_OP_ERR,
        .act = ACTS(QP_ERROR, QP_ERROR, CANNOT),
        .event = ERNIC_EV_QP_FATAL,
    },
    /*
     * The data of the message is in place, and class J permits to end the queue pair
     * without a NAK. The peer would then retry in vain, so the model sends the NAK of
     * any other invalid key.
     */
    [ERNIC_FAULT_INV_RKEY] = {
        "invalidate-rkey", "9.9.3 class J; NAK: model",
        .syndrome = ERNIC_NAK_REM_ACC,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_ACCESS_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_RECV_WQE] = {
        "recv-wqe", "9.9.3 class A",
        .syndrome = ERNIC_NAK_REM_OP,
        .wc = ERNIC_WC_LOC_QP_OP_ERR, .peer_wc = ERNIC_WC_REM_OP_ERR,
        .act = ACTS(QP_ERROR, QP_ERROR, QP_ERROR),
    },
    [ERNIC_FAULT_RECV_PROT] = {
        "recv-protection", "9.9.3 class A; 11.6.2",
        .syndrome = ERNIC_NAK_REM_OP,
        .wc = ERNIC_WC_LOC_PROT_ERR, .peer_wc = ERNIC_WC_REM_OP_ERR,
        .act = ACTS(QP_ERROR, QP_ERROR, QP_ERROR),
    },
    [ERNIC_FAULT_RECV_DMA] = {
        "recv-dma", "9.9.3 class A",
        .syndrome = ERNIC_NAK_REM_OP,
        .wc = ERNIC_WC_LOC_QP_OP_ERR, .peer_wc = ERNIC_WC_REM_OP_ERR,
        .act = ACTS(QP_ERROR, QP_ERROR, QP_ERROR),
        .event = ERNIC_EV_QP_FATAL,
    },

    /*
     * Requester, class B: the request completes in error. RC enters Error; UC and UD
     * enter SQE, in which receiving continues (10.3.1).
     */
    [ERNIC_FAULT_SEND_WQE] = {
        "send-wqe", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_LOC_QP_OP_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    /*
     * Later requests cannot be read either: a catastrophic error of the work queue. The
     * completion has no wr_id, but the index.
     */
    [ERNIC_FAULT_SEND_FETCH] = {
        "send-fetch", "11.6.3 local work queue catastrophic error",
        .wc = ERNIC_WC_LOC_QP_OP_ERR,
        .act = ACTS(QP_ERROR, QP_ERROR, QP_ERROR),
        .event = ERNIC_EV_QP_FATAL,
    },
    [ERNIC_FAULT_SEND_LENGTH] = {
        "send-length", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_LOC_LEN_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    [ERNIC_FAULT_SEND_PROT] = {
        "send-protection", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_LOC_PROT_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    [ERNIC_FAULT_SEND_DMA] = {
        "send-dma", "9.9.2 class B",
        .wc = ERNIC_WC_LOC_QP_OP_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    [ERNIC_FAULT_SEND_AV] = {
        "send-av", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_LOC_QP_OP_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    /* Verbs have one status for all three: Memory Management Operation. */
    [ERNIC_FAULT_MW_BIND] = {
        "mw-bind", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_MW_BIND_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    [ERNIC_FAULT_REG_MR] = {
        "reg-mr", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_MW_BIND_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },
    [ERNIC_FAULT_LOCAL_INV] = {
        "local-invalidate", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_MW_BIND_ERR,
        .act = ACTS(QP_ERROR, SQ_ERROR, SQ_ERROR),
    },

    /* Requester, by responses: RC only. */
    [ERNIC_FAULT_NAK_INV_REQ] = {
        "nak-invalid-request", "9.9.2 class B; 9.7.5.2",
        .wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_NAK_REM_ACCESS] = {
        "nak-remote-access", "9.9.2 class B; 9.7.5.2",
        .wc = ERNIC_WC_REM_ACCESS_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_NAK_REM_OP] = {
        "nak-remote-operation", "9.9.2 class B; 9.7.5.2",
        .wc = ERNIC_WC_REM_OP_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_BAD_RESPONSE] = {
        "bad-response", "9.9.2 class B; 11.6.2",
        .wc = ERNIC_WC_BAD_RESP_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_RETRY_EXC] = {
        "retry-exceeded", "9.9.2 class A, then B; 11.6.2",
        .wc = ERNIC_WC_RETRY_EXC_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },
    [ERNIC_FAULT_RNR_RETRY_EXC] = {
        "rnr-retry-exceeded", "9.9.2 class A, then B; 11.6.2",
        .wc = ERNIC_WC_RNR_RETRY_EXC_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
    },

    [ERNIC_FAULT_FLUSH] = {
        "flush", "10.3.1 Error state; 11.6.2",
        .wc = ERNIC_WC_WR_FLUSH_ERR,
        .act = ACTS(COMPLETE, COMPLETE, COMPLETE),
    },
    /* The completion that would report it cannot be written. */
    [ERNIC_FAULT_CQ_OVERRUN] = {
        "cq-overrun", "9.9.3 class G; 11.6.3",
        .act = ACTS(QP_ERROR, QP_ERROR, QP_ERROR),
        .event = ERNIC_EV_QP_FATAL,
    },

    /* Responder, class C; XRC only, which acts like RC. */
    [ERNIC_FAULT_XRC_SRQ] = {
        "xrc-srq", "A14 (XRCETH, XRC domain); 9.9.3 class C",
        .syndrome = ERNIC_NAK_INV_REQ,
        .wc = ERNIC_WC_REM_INV_REQ_ERR, .peer_wc = ERNIC_WC_REM_INV_REQ_ERR,
        .act = ACTS(QP_ERROR, CANNOT, CANNOT),
        .event = ERNIC_EV_QP_REQ_ERR,
    },
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(faults) != ERNIC_FAULT_COUNT);

const ErnicFaultInfo *ernic_fault_info(ErnicFault fault)
{
    g_assert((unsigned)fault < ERNIC_FAULT_COUNT);
    return &faults[fault];
}

uint8_t ernic_fault_act(ErnicFault fault, ErnicTransport transport)
{
    static const uint8_t as[] = {
        [ERNIC_RC] = ERNIC_RC, [ERNIC_UC] = ERNIC_UC, [ERNIC_UD] = ERNIC_UD,
        [ERNIC_XRC] = ERNIC_RC, [ERNIC_RAW] = ERNIC_UD,
    };

    return ernic_fault_info(fault)->act[as[transport]];
}

ErnicFault ernic_fault_of_syndrome(uint8_t syndrome)
{
    switch (syndrome) {
    case ERNIC_NAK_INV_REQ:
        return ERNIC_FAULT_NAK_INV_REQ;
    case ERNIC_NAK_REM_ACC:
        return ERNIC_FAULT_NAK_REM_ACCESS;
    case ERNIC_NAK_REM_OP:
        return ERNIC_FAULT_NAK_REM_OP;
    default:
        return ERNIC_FAULT_NONE;
    }
}
