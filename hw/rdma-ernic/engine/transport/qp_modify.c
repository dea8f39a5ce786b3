/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Changes of a queue pair's attributes and state by software, whatever its interface. A
 * change is checked completely before anything changes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/qp.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/completer.h"
#include "transport/qp.h"
#include "transport/qp_life.h"
#include "transport/qp_modify.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/rate.h"
#include "transport/responder_resources.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/sched.h"
#include "transport/turn.h"
#include "wire/ib_tables.h"

#define FLOW_LABEL_MASK 0xfffffu

/*
 * The attributes that are one number each, with their offsets in the context, and their
 * ranges. STATE, CUR_STATE, PORT and AV have no row.
 */
typedef struct ErnicQpAttrRow {
    uint32_t bit;
    uint8_t offset, size;       /* ErnicQpAttr */
    uint32_t lo, hi;
} ErnicQpAttrRow;

#define AT(field) offsetof(ErnicQpAttr, field), sizeof_field(ErnicQpAttr, field)

static const ErnicQpAttrRow attr_rows[] = {
    { ERNIC_QPA_SQD_NOTIFY, AT(sqd_notify), 0, 1 },
    { ERNIC_QPA_ACCESS, AT(access), 0, ERNIC_ACCESS_QP },
    { ERNIC_QPA_PKEY_INDEX, AT(pkey_index), 0, ERNIC_LIM_PKEY - 1 },
    { ERNIC_QPA_QKEY, AT(qkey), 0, UINT32_MAX },
    { ERNIC_QPA_PATH_MTU, AT(path_mtu), ERNIC_MTU_256, ERNIC_MTU_4096 },
    { ERNIC_QPA_TIMEOUT, AT(timeout), 0, ERNIC_ACK_TIMEOUT_COUNT - 1 },
    { ERNIC_QPA_RETRY_CNT, AT(retry_cnt), 0, 7 },
    { ERNIC_QPA_RNR_RETRY, AT(rnr_retry), 0, ERNIC_RNR_RETRY_FOREVER },
    { ERNIC_QPA_RQ_PSN, AT(rq_psn), 0, ERNIC_PSN_MASK },
    { ERNIC_QPA_MAX_RD_ATOMIC, AT(max_rd_atomic), 0, ERNIC_MAX_RD_ATOMIC },
    { ERNIC_QPA_MIN_RNR_TIMER, AT(min_rnr_timer), 0, ERNIC_RNR_TIMER_COUNT - 1 },
    { ERNIC_QPA_SQ_PSN, AT(sq_psn), 0, ERNIC_PSN_MASK },
    { ERNIC_QPA_MAX_DEST_RD_ATOMIC, AT(max_dest_rd_atomic), 0, ERNIC_MAX_RD_ATOMIC },
    { ERNIC_QPA_DEST_QPN, AT(dest_qpn), 0, ERNIC_QPN_MASK },
    { ERNIC_QPA_RATE_LIMIT, AT(rate_limit), 0, UINT32_MAX },
    { ERNIC_QPA_RATE_LIMIT, AT(rate_burst), 0, UINT32_MAX },
};
/* All attributes but STATE, CUR_STATE, PORT and AV; one has two numbers. */
QEMU_BUILD_BUG_ON(ARRAY_SIZE(attr_rows) != ERNIC_QPA_COUNT - 4 + 1);

#undef AT

/* ---- checks ------------------------------------------------------------------- */

static uint8_t check_av(const Ernic *e, const ErnicAv *av)
{
    static const ErnicGid none;
    const ErnicGid *sgid;

    if (av->sgid_index >= ERNIC_LIM_GID || av->flow_label > FLOW_LABEL_MASK) {
        return ERNIC_ERR_PARAM;
    }
    sgid = &e->gid[av->sgid_index].gid;
    /* A connection has one peer, reached by the IP version of our address. */
    if (memcmp(sgid, &none, sizeof(none)) == 0 ||
        memcmp(&av->dgid, &none, sizeof(none)) == 0 || ernic_gid_is_mcast(&av->dgid) ||
        ernic_gid_is_v4(sgid) != ernic_gid_is_v4(&av->dgid)) {
        return ERNIC_ERR_PARAM;
    }
    return ERNIC_OK;
}

/* Check the ranges of the values that @mask selects. */
static uint8_t check_values(const Ernic *e, const ErnicQpAttr *attr, uint32_t mask)
{
    uint32_t i, v;

    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        v = ldn_he_p((const uint8_t *)attr + row->offset, row->size);
        if ((mask & row->bit) && (v < row->lo || v > row->hi)) {
            return ERNIC_ERR_PARAM;
        }
    }
    if (((mask & ERNIC_QPA_ACCESS) && (attr->access & ~ERNIC_ACCESS_QP)) ||
        ((mask & ERNIC_QPA_PATH_MTU) && attr->path_mtu > e->cfg.mtu) ||
        ((mask & ERNIC_QPA_PKEY_INDEX) && !e->pkey[attr->pkey_index])) {
        return ERNIC_ERR_PARAM;
    }
    return mask & ERNIC_QPA_AV ? check_av(e, &attr->av) : ERNIC_OK;
}

/*
 * Whether @size entries for inbound READs and atomics hold every response that is still
 * to be sent. The newest entries stay. An older one may be pending because of a
 * duplicate request, or hold a FLUSH whose own entry was overwritten.
 */
static bool resize_keeps_pending(const ErnicQp *qp, uint32_t size)
{
    uint32_t old = qp->attr.max_dest_rd_atomic, i;

    for (i = 0; i + size < old; i++) {
        if (qp->rd[(qp->rq.rd_head + i) % old].pending) {
            return false;
        }
    }
    return true;
}

uint8_t ernic_qp_modify_check(const Ernic *e, const ErnicQp *qp, uint8_t to,
                              uint32_t mask, const ErnicQpAttr *attr)
{
    uint8_t status = ernic_qp_edge_check(qp->type, qp->state, to, mask);

    if (status) {
        return status;
    }
    /* 10.3.1.5: attributes may change only once the send queue has drained. */
    if (qp->state == ERNIC_QPS_SQD && to == ERNIC_QPS_SQD && !qp->sq_drained) {
        return ERNIC_ERR_STATE;
    }
    if ((mask & ERNIC_QPA_MAX_DEST_RD_ATOMIC) &&
        !resize_keeps_pending(qp, attr->max_dest_rd_atomic)) {
        return ERNIC_ERR_BUSY;
    }
    return check_values(e, attr, mask);
}

/* ---- the change --------------------------------------------------------------- */

static void apply_values(ErnicQp *qp, const ErnicQpAttr *attr, uint32_t mask)
{
    uint32_t i;

    if (mask & ERNIC_QPA_MAX_DEST_RD_ATOMIC) {
        ernic_rd_resize(qp, attr->max_dest_rd_atomic);
    }
    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        if (mask & row->bit) {
            memcpy((uint8_t *)&qp->attr + row->offset,
                   (const uint8_t *)attr + row->offset, row->size);
        }
    }
    if (mask & ERNIC_QPA_AV) {
        qp->attr.av = attr->av;
    }
    /* Restart the retry budgets: no retry is in progress in these transitions. */
    if (mask & ERNIC_QPA_RETRY_CNT) {
        ernic_completer_set_retry(qp, qp->attr.retry_cnt);
    }
    if (mask & ERNIC_QPA_RNR_RETRY) {
        ernic_completer_set_rnr_retry(qp, qp->attr.rnr_retry);
    }
    /* Delays at the old rate do not apply to the new one. */
    if (mask & ERNIC_QPA_RATE_LIMIT) {
        ernic_rate_reset(qp);
    }
}

/* Initialize the context for state @to; the new attributes are already stored. */
static void enter(Ernic *e, ErnicQp *qp, uint8_t from, uint8_t to,
                  uint32_t mask)
{
    if (to == ERNIC_QPS_RESET) {
        ernic_qp_reset_context(e, qp);
    } else if (to == ERNIC_QPS_RTR) {
        ernic_responder_expect(qp, qp->attr.rq_psn);
    } else if (from == ERNIC_QPS_RTR && to == ERNIC_QPS_RTS) {
        ernic_requester_begin(qp, qp->attr.sq_psn);
        ernic_completer_begin(qp, qp->attr.sq_psn);
    } else if (from == ERNIC_QPS_SQE && to == ERNIC_QPS_RTS) {
        /* Requests posted before the recovery are still flushed. */
        ernic_turn_flush_posted(qp);
    } else if (from != ERNIC_QPS_SQD && to == ERNIC_QPS_SQD) {
        /* SQD_NOTIFY has to be requested for each transition. */
        qp->attr.sqd_notify &= !!(mask & ERNIC_QPA_SQD_NOTIFY);
    }
}

void ernic_qp_change(Ernic *e, ErnicQp *qp, uint8_t to, uint32_t mask,
                     const ErnicQpAttr *attr)
{
    uint8_t from = qp->state;

    if (!(ernic_qp_state_may(to) & ERNIC_MAY_PROC_RECV)) {
        ernic_ack_last(e, qp, to == ERNIC_QPS_RESET);
    }
    apply_values(qp, attr, mask);
    enter(e, qp, from, to, mask);
    /* A change from Error to Error flushes requests that were posted since. */
    if (to != from || to == ERNIC_QPS_ERR) {
        ernic_qp_set_state(e, qp, to);          /* marks work */
    } else if (mask & ERNIC_QPA_RATE_LIMIT) {
        ernic_sched_mark(e, qp);
    }
    trace_ernic_qp_modify(qp->qpn, ernic_qp_state_name(from),
                          ernic_qp_state_name(to), mask);
    ernic_qp_timer(e, qp);
}
