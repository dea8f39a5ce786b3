/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pair states as two tables: which transition is allowed with which attributes,
 * and which work is allowed in which state.
 */
#include "qemu/osdep.h"
#include "transport/qp_transitions.h"

/* A row of the transition table; masks by enum ernic_qp_type. */
typedef struct ErnicQpEdge {
    uint8_t types;              /* bit per enum ernic_qp_type; 0: no edge */
    uint32_t required[ERNIC_QPT_COUNT];
    uint32_t optional[ERNIC_QPT_COUNT];
} ErnicQpEdge;

#define A(name) ERNIC_QPA_##name
#define T(name) (1 << ERNIC_QPT_##name)
#define ALL_TYPES ((1 << ERNIC_QPT_COUNT) - 1)
#define UNRELIABLE (T(UC) | T(UD) | T(GSI) | T(RAW))

/* Attributes that a transition into Init sets, and that may change in Init. */
#define IN_INIT {                                                           \
        [ERNIC_QPT_RC] = A(PKEY_INDEX) | A(PORT) | A(ACCESS),               \
        [ERNIC_QPT_UC] = A(PKEY_INDEX) | A(PORT) | A(ACCESS),               \
        [ERNIC_QPT_UD] = A(PKEY_INDEX) | A(PORT) | A(QKEY),                 \
        [ERNIC_QPT_GSI] = A(PKEY_INDEX) | A(QKEY),                          \
        [ERNIC_QPT_XRC_INI] = A(PKEY_INDEX) | A(PORT) | A(ACCESS),          \
        [ERNIC_QPT_XRC_TGT] = A(PKEY_INDEX) | A(PORT) | A(ACCESS),          \
        [ERNIC_QPT_RAW] = A(PORT),                                          \
        [ERNIC_QPT_RWQ] = A(PORT),                                          \
    }
/* Attributes that may change in every transition into RTS, and in RTS. */
#define IN_RTS {                                                            \
        [ERNIC_QPT_RC] = A(CUR_STATE) | A(ACCESS) | A(MIN_RNR_TIMER),       \
        [ERNIC_QPT_UC] = A(CUR_STATE) | A(ACCESS),                          \
        [ERNIC_QPT_UD] = A(CUR_STATE) | A(QKEY),                            \
        [ERNIC_QPT_GSI] = A(CUR_STATE) | A(QKEY),                           \
        [ERNIC_QPT_XRC_INI] = A(CUR_STATE) | A(ACCESS),                     \
        [ERNIC_QPT_XRC_TGT] = A(CUR_STATE) | A(ACCESS) | A(MIN_RNR_TIMER),  \
        [ERNIC_QPT_RAW] = A(CUR_STATE) | A(RATE_LIMIT),                     \
        [ERNIC_QPT_RWQ] = A(CUR_STATE),                                     \
    }

/*
 * IBTA vol. 1, 11.2.5.2 (XRC: A14), for the services and attributes that are
 * implemented: no alternate path, no path migration, no resizing of work queues. QP1 is
 * like UD, but its port is chosen when it is created (11.2.4.1 and 3.9). Raw packet
 * queue pairs have no keys and no PSNs: they need a port, and may have a rate limit,
 * which is not of InfiniBand.
 *
 * Software may enter Reset from any state, and Error from any state but Reset (10.3.1,
 * state diagram). From Reset only the transition to Init is allowed: texts that allow
 * Error "from any other state" mean states in which a queue can hold requests to flush.
 *
 * In SQD an address vector may come with its port. UC allows it too, because Linux adds
 * the port to each address vector that it sets.
 */
static const ErnicQpEdge edges[ERNIC_QPS_COUNT][ERNIC_QPS_COUNT] = {
    [ERNIC_QPS_RESET] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_INIT] = {
            .types = ALL_TYPES,
            .required = IN_INIT,
        },
    },
    [ERNIC_QPS_INIT] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_ERR] = { .types = ALL_TYPES },
        [ERNIC_QPS_INIT] = {
            .types = ALL_TYPES,
            .optional = IN_INIT,
        },
        [ERNIC_QPS_RTR] = {
            .types = ALL_TYPES,
            .required = {
                [ERNIC_QPT_RC] = A(AV) | A(PATH_MTU) | A(DEST_QPN) |
                                 A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) |
                                 A(MIN_RNR_TIMER),
                [ERNIC_QPT_UC] = A(AV) | A(PATH_MTU) | A(DEST_QPN) |
                                 A(RQ_PSN),
                [ERNIC_QPT_XRC_INI] = A(AV) | A(PATH_MTU) | A(DEST_QPN) |
                                      A(RQ_PSN),
                [ERNIC_QPT_XRC_TGT] = A(AV) | A(PATH_MTU) | A(DEST_QPN) |
                                      A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) |
                                      A(MIN_RNR_TIMER),
            },
            .optional = {
                [ERNIC_QPT_RC] = A(PKEY_INDEX) | A(ACCESS),
                [ERNIC_QPT_UC] = A(PKEY_INDEX) | A(ACCESS),
                [ERNIC_QPT_UD] = A(PKEY_INDEX) | A(QKEY),
                [ERNIC_QPT_GSI] = A(PKEY_INDEX) | A(QKEY),
                [ERNIC_QPT_XRC_INI] = A(PKEY_INDEX) | A(ACCESS),
                [ERNIC_QPT_XRC_TGT] = A(PKEY_INDEX) | A(ACCESS),
            },
        },
    },
    [ERNIC_QPS_RTR] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_ERR] = { .types = ALL_TYPES },
        [ERNIC_QPS_RTS] = {
            .types = ALL_TYPES,
            .required = {
                [ERNIC_QPT_RC] = A(SQ_PSN) | A(TIMEOUT) | A(RETRY_CNT) |
                                 A(RNR_RETRY) | A(MAX_RD_ATOMIC),
                [ERNIC_QPT_UC] = A(SQ_PSN),
                [ERNIC_QPT_UD] = A(SQ_PSN),
                [ERNIC_QPT_GSI] = A(SQ_PSN),
                [ERNIC_QPT_XRC_INI] = A(SQ_PSN) | A(TIMEOUT) | A(RETRY_CNT) |
                                      A(RNR_RETRY) | A(MAX_RD_ATOMIC),
                [ERNIC_QPT_XRC_TGT] = A(SQ_PSN) | A(TIMEOUT),
            },
            .optional = IN_RTS,
        },
    },
    [ERNIC_QPS_RTS] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_ERR] = { .types = ALL_TYPES },
        [ERNIC_QPS_RTS] = {
            .types = ALL_TYPES,
            .optional = IN_RTS,
        },
        [ERNIC_QPS_SQD] = {
            .types = ALL_TYPES,
            .optional = {
                [ERNIC_QPT_RC] = A(SQD_NOTIFY),
                [ERNIC_QPT_UC] = A(SQD_NOTIFY),
                [ERNIC_QPT_UD] = A(SQD_NOTIFY),
                [ERNIC_QPT_GSI] = A(SQD_NOTIFY),
                [ERNIC_QPT_XRC_INI] = A(SQD_NOTIFY),
                [ERNIC_QPT_XRC_TGT] = A(SQD_NOTIFY),
                [ERNIC_QPT_RAW] = A(SQD_NOTIFY),
            },
        },
    },
    [ERNIC_QPS_SQD] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_ERR] = { .types = ALL_TYPES },
        [ERNIC_QPS_RTS] = {
            .types = ALL_TYPES,
            .optional = IN_RTS,
        },
        [ERNIC_QPS_SQD] = {
            .types = ALL_TYPES,
            .optional = {
                [ERNIC_QPT_RC] = A(PORT) | A(AV) | A(TIMEOUT) | A(RETRY_CNT) |
                                 A(RNR_RETRY) | A(MAX_RD_ATOMIC) |
                                 A(MAX_DEST_RD_ATOMIC) | A(ACCESS) |
                                 A(PKEY_INDEX) | A(MIN_RNR_TIMER),
                [ERNIC_QPT_UC] = A(PORT) | A(AV) | A(ACCESS) | A(PKEY_INDEX),
                [ERNIC_QPT_UD] = A(PKEY_INDEX) | A(QKEY),
                [ERNIC_QPT_GSI] = A(PKEY_INDEX) | A(QKEY),
                [ERNIC_QPT_XRC_INI] = A(PORT) | A(AV) | A(TIMEOUT) |
                                      A(RETRY_CNT) | A(RNR_RETRY) |
                                      A(MAX_RD_ATOMIC) | A(ACCESS) |
                                      A(PKEY_INDEX),
                [ERNIC_QPT_XRC_TGT] = A(PORT) | A(AV) | A(TIMEOUT) |
                                      A(MAX_DEST_RD_ATOMIC) | A(ACCESS) |
                                      A(PKEY_INDEX) | A(MIN_RNR_TIMER),
            },
        },
    },
    [ERNIC_QPS_SQE] = {
        [ERNIC_QPS_RESET] = { .types = UNRELIABLE },
        [ERNIC_QPS_ERR] = { .types = UNRELIABLE },
        /* RC and XRC never enter SQE: their send errors lead to Error (10.3.1.6). */
        [ERNIC_QPS_RTS] = {
            .types = UNRELIABLE,
            .optional = {
                [ERNIC_QPT_UC] = A(CUR_STATE) | A(ACCESS),
                [ERNIC_QPT_UD] = A(CUR_STATE) | A(QKEY),
                [ERNIC_QPT_GSI] = A(CUR_STATE) | A(QKEY),
                [ERNIC_QPT_RAW] = A(CUR_STATE),
            },
        },
    },
    [ERNIC_QPS_ERR] = {
        [ERNIC_QPS_RESET] = { .types = ALL_TYPES },
        [ERNIC_QPS_ERR] = { .types = ALL_TYPES },
    },
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(edges) != ERNIC_QPS_COUNT);

#undef IN_INIT
#undef IN_RTS
#undef A
#undef T

/* IBTA vol. 1, 10.3.1.1 to 10.3.1.7. */
const ErnicQpStateInfo ernic_qp_states[ERNIC_QPS_COUNT] = {
    /* Posting is an immediate error, packets are dropped silently. */
    [ERNIC_QPS_RESET] = { "RESET", 0 },
    /* Receives may be posted, and wait for RTR. */
    [ERNIC_QPS_INIT] = { "INIT", ERNIC_MAY_POST_RECV },
    [ERNIC_QPS_RTR] = { "RTR", ERNIC_MAY_POST_RECV | ERNIC_MAY_PROC_RECV },
    [ERNIC_QPS_RTS] = { "RTS", ERNIC_MAY_POST_RECV | ERNIC_MAY_PROC_RECV |
                        ERNIC_MAY_POST_SEND | ERNIC_MAY_PROC_SEND |
                        ERNIC_MAY_NEXT_SEND },
    /* Requests that have started complete; posted ones wait for RTS. */
    [ERNIC_QPS_SQD] = { "SQD", ERNIC_MAY_POST_RECV | ERNIC_MAY_PROC_RECV |
                        ERNIC_MAY_POST_SEND | ERNIC_MAY_PROC_SEND },
    [ERNIC_QPS_SQE] = { "SQE", ERNIC_MAY_POST_RECV | ERNIC_MAY_PROC_RECV |
                        ERNIC_MAY_POST_SEND | ERNIC_MAY_FLUSH_SEND },
    [ERNIC_QPS_ERR] = { "ERR", ERNIC_MAY_POST_RECV | ERNIC_MAY_POST_SEND |
                        ERNIC_MAY_FLUSH_RECV | ERNIC_MAY_FLUSH_SEND },
};

bool ernic_qp_edge(uint8_t type, uint8_t from, uint8_t to, uint32_t *required,
                   uint32_t *optional)
{
    const ErnicQpEdge *edge;

    if (type >= ERNIC_QPT_COUNT || from >= ERNIC_QPS_COUNT ||
        to >= ERNIC_QPS_COUNT) {
        return false;
    }
    edge = &edges[from][to];
    if (!(edge->types & (1 << type))) {
        return false;
    }
    *required = edge->required[type];
    *optional = edge->optional[type];
    return true;
}

uint8_t ernic_qp_edge_check(uint8_t type, uint8_t from, uint8_t to,
                            uint32_t mask)
{
    uint32_t required, optional;

    if (!ernic_qp_edge(type, from, to, &required, &optional)) {
        return ERNIC_ERR_STATE;
    }
    if ((mask & required) != required ||
        (mask & ~(required | optional | ERNIC_QPA_STATE))) {
        return ERNIC_ERR_ATTR_MASK;
    }
    return ERNIC_OK;
}

const char *ernic_qp_state_name(uint8_t state)
{
    return state < ERNIC_QPS_COUNT ? ernic_qp_states[state].name : "invalid";
}
