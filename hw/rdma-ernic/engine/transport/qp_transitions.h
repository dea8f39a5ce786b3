/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The states of queue pairs: which transition is allowed with which attributes, and
 * which work is allowed in a state.
 */
#ifndef ERNIC_TRANSPORT_QP_TRANSITIONS_H
#define ERNIC_TRANSPORT_QP_TRANSITIONS_H

#include "objects/qp.h"

/* Work that a state may allow (IBTA vol. 1, 10.3.1); see ernic_qp_may(). */
typedef enum ErnicQpMay {
    ERNIC_MAY_POST_RECV = 1 << 0,
    ERNIC_MAY_PROC_RECV = 1 << 1,   /* serve inbound packets */
    ERNIC_MAY_POST_SEND = 1 << 2,
    ERNIC_MAY_PROC_SEND = 1 << 3,   /* send, retransmit, take responses */
    ERNIC_MAY_NEXT_SEND = 1 << 4,   /* start another send request */
    ERNIC_MAY_FLUSH_RECV = 1 << 5,
    ERNIC_MAY_FLUSH_SEND = 1 << 6,
} ErnicQpMay;

/*
 * Check that a queue pair of @type may go from @from to @to with attribute mask @mask
 * (ERNIC_QPA_*). Returns ERNIC_OK, ERNIC_ERR_STATE or ERNIC_ERR_ATTR_MASK.
 */
uint8_t ernic_qp_edge_check(uint8_t type, uint8_t from, uint8_t to,
                            uint32_t mask);
/*
 * The attribute masks of a transition, for documentation and tests; false: not allowed.
 */
bool ernic_qp_edge(uint8_t type, uint8_t from, uint8_t to, uint32_t *required,
                   uint32_t *optional);
const char *ernic_qp_state_name(uint8_t state);

typedef struct ErnicQpStateInfo {
    const char *name;
    uint8_t may;                    /* ErnicQpMay */
} ErnicQpStateInfo;

/* Rows by state. */
extern const ErnicQpStateInfo ernic_qp_states[ERNIC_QPS_COUNT];

/*
 * ErnicQpMay bits of @state, which exists: transitions and state/ have checked it.
 * Inline, because each packet asks several times.
 */
static inline uint32_t ernic_qp_state_may(uint8_t state)
{
    return ernic_qp_states[state].may;
}

static inline bool ernic_qp_may(const ErnicQp *qp, uint32_t what)
{
    return (ernic_qp_state_may(qp->state) & what) == what;
}

#endif /* ERNIC_TRANSPORT_QP_TRANSITIONS_H */
