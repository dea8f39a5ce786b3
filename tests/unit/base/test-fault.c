/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every row of the fault table: complete, possible, and consistent with the peer's
 * reaction.
 */
#include "qemu/osdep.h"
#include "base/fault.h"
#include "base/ib_spec.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "test.h"

#define FIRST_RECV  ERNIC_FAULT_PSN_AHEAD
#define LAST_RECV   ERNIC_FAULT_RECV_DMA
#define FIRST_SEND  ERNIC_FAULT_SEND_WQE
#define LAST_SEND   ERNIC_FAULT_LOCAL_INV
#define FIRST_PEER  ERNIC_FAULT_NAK_INV_REQ
#define LAST_PEER   ERNIC_FAULT_RNR_RETRY_EXC

#define BIT(n) (1u << (n))

static const uint32_t known_wc =
    BIT(ERNIC_WC_SUCCESS) | BIT(ERNIC_WC_LOC_LEN_ERR) |
    BIT(ERNIC_WC_LOC_QP_OP_ERR) | BIT(ERNIC_WC_LOC_PROT_ERR) |
    BIT(ERNIC_WC_WR_FLUSH_ERR) | BIT(ERNIC_WC_MW_BIND_ERR) |
    BIT(ERNIC_WC_BAD_RESP_ERR) | BIT(ERNIC_WC_LOC_ACCESS_ERR) |
    BIT(ERNIC_WC_REM_INV_REQ_ERR) | BIT(ERNIC_WC_REM_ACCESS_ERR) |
    BIT(ERNIC_WC_REM_OP_ERR) | BIT(ERNIC_WC_RETRY_EXC_ERR) |
    BIT(ERNIC_WC_RNR_RETRY_EXC_ERR) | BIT(ERNIC_WC_REM_ABORT_ERR) |
    BIT(ERNIC_WC_FATAL_ERR) | BIT(ERNIC_WC_GENERAL_ERR);

static const uint32_t qp_events =
    BIT(ERNIC_EV_QP_FATAL) | BIT(ERNIC_EV_QP_REQ_ERR) |
    BIT(ERNIC_EV_QP_ACCESS_ERR);

static bool within(ErnicFault fault, ErnicFault first, ErnicFault last)
{
    return fault >= first && fault <= last;
}

TEST("/fault/rows", test_rows)
{
    for (int fault = 0; fault < ERNIC_FAULT_COUNT; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);

        g_assert_nonnull(info->name);
        g_assert_nonnull(info->cite);
        g_assert_true(g_str_has_prefix(info->cite, "model") ||
                      g_str_has_prefix(info->cite, "A14") ||
                      g_ascii_isdigit(info->cite[0]));
        g_assert_true(known_wc & BIT(info->wc));
        g_assert_true(known_wc & BIT(info->peer_wc));
        g_assert_true(!info->event || (qp_events & BIT(info->event)));
        for (int transport = ERNIC_RC; transport <= ERNIC_UD; transport++) {
            g_assert_cmpuint(info->act[transport], <, ERNIC_ACT_COUNT);
            IS(ernic_fault_act(fault, transport), info->act[transport]);
        }
        IS(ernic_fault_act(fault, ERNIC_XRC), info->act[ERNIC_RC]);
        for (int other = 0; other < fault; other++) {
            g_assert_cmpstr(info->name, !=, ernic_fault_info(other)->name);
        }
    }
}

/* A NAK is for RC alone, and only faults of requests are answered by one. */
TEST("/fault/syndromes", test_syndromes)
{
    for (int fault = 0; fault < ERNIC_FAULT_COUNT; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);
        uint8_t rc = info->act[ERNIC_RC];

        if (!within(fault, FIRST_RECV, LAST_RECV) &&
            fault != ERNIC_FAULT_PAGE && fault != ERNIC_FAULT_XRC_SRQ) {
            IS(info->syndrome, 0);
            IS(info->peer_wc, ERNIC_WC_SUCCESS);
            continue;
        }
        switch (info->syndrome) {
        case ERNIC_AETH_RNR_NAK:
        case ERNIC_NAK_PSN_SEQ:
            /* The peer retries and our queue pair stays in its state. */
            IS(rc, ERNIC_ACT_NAK);
            IS(info->wc, ERNIC_WC_SUCCESS);
            IS(info->peer_wc, ERNIC_WC_SUCCESS);
            IS(info->event, 0);
            break;
        case ERNIC_NAK_INV_REQ:
        case ERNIC_NAK_REM_ACC:
        case ERNIC_NAK_REM_OP:
            IS(rc, ERNIC_ACT_QP_ERROR);
            g_assert_cmpuint(info->wc, !=, ERNIC_WC_SUCCESS);
            break;
        default:
            g_assert_not_reached();
        }
        /* An unreliable service neither answers nor retries. */
        g_assert_cmpuint(info->act[ERNIC_UC], !=, ERNIC_ACT_NAK);
        g_assert_cmpuint(info->act[ERNIC_UD], !=, ERNIC_ACT_NAK);
    }
}

/* A queue pair that enters Error reports the reason by a completion or an event. */
TEST("/fault/decoded", test_reported)
{
    for (int fault = 0; fault < ERNIC_FAULT_COUNT; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);
        bool stops = false;

        for (int transport = ERNIC_RC; transport <= ERNIC_UD; transport++) {
            uint8_t act = info->act[transport];

            stops |= act == ERNIC_ACT_QP_ERROR;
            if (act == ERNIC_ACT_SQ_ERROR || act == ERNIC_ACT_COMPLETE) {
                g_assert_cmpuint(info->wc, !=, ERNIC_WC_SUCCESS);
            }
            if (act == ERNIC_ACT_QP_ERROR) {
                g_assert_true(info->wc != ERNIC_WC_SUCCESS || info->event);
            }
        }
        if (info->event) {
            g_assert_true(stops);
        }
    }
}

/* A fault of a message that may hold no receive request needs an event. */
TEST("/fault/responder", test_responder)
{
    static const uint32_t holds_receive =
        BIT(ERNIC_FAULT_RECV_LENGTH) | BIT(ERNIC_FAULT_SRQ_LENGTH) |
        BIT(ERNIC_FAULT_INV_RKEY) |
        BIT(ERNIC_FAULT_RECV_WQE) | BIT(ERNIC_FAULT_RECV_PROT);

    for (int fault = FIRST_RECV; fault <= LAST_RECV; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);

        if (info->act[ERNIC_RC] == ERNIC_ACT_QP_ERROR) {
            g_assert_true(!info->event == !!(holds_receive & BIT(fault)));
        }
        g_assert_cmpuint(info->act[ERNIC_UC], !=, ERNIC_ACT_SQ_ERROR);
        g_assert_cmpuint(info->act[ERNIC_UD], !=, ERNIC_ACT_SQ_ERROR);
        g_assert_cmpuint(info->act[ERNIC_UD], !=, ERNIC_ACT_DROP_MESSAGE);
    }
}

TEST("/fault/requester", test_requester)
{
    for (int fault = FIRST_SEND; fault <= LAST_SEND; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);
        bool catastrophic = fault == ERNIC_FAULT_SEND_FETCH;
        uint8_t unreliable = catastrophic ? ERNIC_ACT_QP_ERROR :
                                            ERNIC_ACT_SQ_ERROR;

        g_assert_cmpuint(info->wc, !=, ERNIC_WC_SUCCESS);
        IS(info->act[ERNIC_RC], ERNIC_ACT_QP_ERROR);
        IS(info->act[ERNIC_UC], unreliable);
        IS(info->act[ERNIC_UD], unreliable);
        IS(info->event, catastrophic ? ERNIC_EV_QP_FATAL : 0);
    }
    for (int fault = FIRST_PEER; fault <= LAST_PEER; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);

        g_assert_cmpuint(info->wc, !=, ERNIC_WC_SUCCESS);
        IS(info->act[ERNIC_RC], ERNIC_ACT_QP_ERROR);
        IS(info->act[ERNIC_UC], ERNIC_ACT_DROP);
        IS(info->act[ERNIC_UD], ERNIC_ACT_DROP);
        IS(info->event, 0);
    }
}

/* Single faults as the specification's tables describe them. */
TEST("/fault/facts", test_facts)
{
    static const struct {
        ErnicFault fault;
        uint8_t syndrome, wc, peer_wc, rc, uc, ud, event;
    } facts[] = {
#define FACT(fault, syndrome, wc, peer_wc, rc, uc, ud, event)                       \
        { ERNIC_FAULT_##fault, syndrome, ERNIC_WC_##wc, ERNIC_WC_##peer_wc,         \
          ERNIC_ACT_##rc, ERNIC_ACT_##uc, ERNIC_ACT_##ud, event }
        FACT(PSN_AHEAD, 0x60, SUCCESS, SUCCESS, NAK, DROP_MESSAGE, DROP, 0),
        FACT(RNR, 0x20, SUCCESS, SUCCESS, NAK, DROP_MESSAGE, DROP, 0),
        FACT(OP_SEQ, 0x61, REM_INV_REQ_ERR, REM_INV_REQ_ERR, QP_ERROR, DROP_MESSAGE, DROP,
             ERNIC_EV_QP_REQ_ERR),
        FACT(RECV_LENGTH, 0x61, LOC_LEN_ERR, REM_INV_REQ_ERR, QP_ERROR, DROP_MESSAGE,
             DROP, 0),
        FACT(SRQ_LENGTH, 0x61, LOC_LEN_ERR, REM_INV_REQ_ERR, QP_ERROR, COMPLETE,
             COMPLETE, 0),
        FACT(REM_ACCESS, 0x62, LOC_ACCESS_ERR, REM_ACCESS_ERR, QP_ERROR, DROP_MESSAGE,
             DROP, ERNIC_EV_QP_ACCESS_ERR),
        FACT(RECV_WQE, 0x63, LOC_QP_OP_ERR, REM_OP_ERR, QP_ERROR, QP_ERROR, QP_ERROR, 0),
        FACT(RECV_PROT, 0x63, LOC_PROT_ERR, REM_OP_ERR, QP_ERROR, QP_ERROR, QP_ERROR, 0),
        FACT(FLUSH, 0, WR_FLUSH_ERR, SUCCESS, COMPLETE, COMPLETE, COMPLETE, 0),
        FACT(CQ_OVERRUN, 0, SUCCESS, SUCCESS, QP_ERROR, QP_ERROR, QP_ERROR,
             ERNIC_EV_QP_FATAL),
#undef FACT
    };

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
        const ErnicFaultInfo *info = ernic_fault_info(facts[i].fault);

        IS(info->syndrome, facts[i].syndrome);
        IS(info->wc, facts[i].wc);
        IS(info->peer_wc, facts[i].peer_wc);
        IS(info->act[ERNIC_RC], facts[i].rc);
        IS(info->act[ERNIC_UC], facts[i].uc);
        IS(info->act[ERNIC_UD], facts[i].ud);
        IS(info->event, facts[i].event);
    }
}

/* All 256 syndromes: three end a request, the others retry or mean nothing. */
TEST("/fault/of-syndrome", test_of_syndrome)
{
    for (int syndrome = 0; syndrome < 256; syndrome++) {
        ErnicFault decoded = ernic_fault_of_syndrome(syndrome);

        if (syndrome < 0x61 || syndrome > 0x63) {
            IS(decoded, ERNIC_FAULT_NONE);
        } else {
            g_assert_true(within(decoded, ERNIC_FAULT_NAK_INV_REQ,
                                 ERNIC_FAULT_NAK_REM_OP));
        }
    }
    /* The peer's completion status matches the syndrome that the responder sends. */
    for (int fault = FIRST_RECV; fault <= LAST_RECV; fault++) {
        const ErnicFaultInfo *info = ernic_fault_info(fault);
        ErnicFault decoded = ernic_fault_of_syndrome(info->syndrome);

        IS(ernic_fault_info(decoded)->wc, info->peer_wc);
    }
}
