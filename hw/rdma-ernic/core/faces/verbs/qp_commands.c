/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue pair commands: create, modify, query, destroy. A command is checked
 * completely before anything changes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "base/work.h"
#include "faces/verbs/qp_commands.h"
#include "objects/cq.h"
#include "objects/job.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/completer.h"
#include "transport/qp.h"
#include "transport/qp_life.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/rate.h"
#include "transport/rd_resources.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/sched.h"
#include "transport/turn.h"
#include "wire/ib_tables.h"

#define NO_SRQ 0xffffffffu
#define FLOW_LABEL_MASK 0xfffffu
#define ALL_ATTRS ((1u << ERNIC_QPA_COUNT) - 1)

/*
 * The attributes that are one number each, with their offsets in the command and in
 * the context, and their ranges. STATE, CUR_STATE and AV have no row.
 */
typedef struct ErnicQpAttrRow {
    uint32_t bit;
    uint8_t src, src_size;      /* struct ernic_qp_attr */
    uint8_t dst, dst_size;      /* ErnicQpAttr; size 0: not stored, always lo */
    uint32_t lo, hi;
} ErnicQpAttrRow;

#define SRC(field) offsetof(struct ernic_qp_attr, field), \
                   sizeof_field(struct ernic_qp_attr, field)
#define BOTH(field) SRC(field), offsetof(ErnicQpAttr, field), \
                    sizeof_field(ErnicQpAttr, field)

static const ErnicQpAttrRow attr_rows[] = {
    { ERNIC_QPA_SQD_NOTIFY, BOTH(sqd_notify), 0, 1 },
    { ERNIC_QPA_ACCESS, BOTH(access), 0, ERNIC_ACCESS_QP },
    { ERNIC_QPA_PKEY_INDEX, BOTH(pkey_index), 0, ERNIC_LIM_PKEY - 1 },
    { ERNIC_QPA_PORT, SRC(port), 0, 0, 1, 1 },
    { ERNIC_QPA_QKEY, BOTH(qkey), 0, UINT32_MAX },
    { ERNIC_QPA_PATH_MTU, BOTH(path_mtu), ERNIC_MTU_256, ERNIC_MTU_4096 },
    { ERNIC_QPA_TIMEOUT, BOTH(timeout), 0, ERNIC_ACK_TIMEOUT_COUNT - 1 },
    { ERNIC_QPA_RETRY_CNT, BOTH(retry_cnt), 0, 7 },
    { ERNIC_QPA_RNR_RETRY, BOTH(rnr_retry), 0, ERNIC_RNR_RETRY_FOREVER },
    { ERNIC_QPA_RQ_PSN, BOTH(rq_psn), 0, ERNIC_PSN_MASK },
    { ERNIC_QPA_MAX_RD_ATOMIC, BOTH(max_rd_atomic), 0, ERNIC_MAX_RD_ATOMIC },
    { ERNIC_QPA_MIN_RNR_TIMER, BOTH(min_rnr_timer), 0,
      ERNIC_RNR_TIMER_COUNT - 1 },
    { ERNIC_QPA_SQ_PSN, BOTH(sq_psn), 0, ERNIC_PSN_MASK },
    { ERNIC_QPA_MAX_DEST_RD_ATOMIC, BOTH(max_dest_rd_atomic), 0,
      ERNIC_MAX_RD_ATOMIC },
    { ERNIC_QPA_DEST_QPN, BOTH(dest_qpn), 0, ERNIC_QPN_MASK },
    { ERNIC_QPA_RATE_LIMIT, BOTH(rate_limit), 0, UINT32_MAX },
    { ERNIC_QPA_RATE_LIMIT, BOTH(rate_burst), 0, UINT32_MAX },
};
/* All attributes but STATE, CUR_STATE and AV; one has two numbers. */
QEMU_BUILD_BUG_ON(ARRAY_SIZE(attr_rows) != ERNIC_QPA_COUNT - 3 + 1);

#undef SRC
#undef BOTH

/* ---- values in structures, by size ---------------------------------------- */

static uint32_t load_le(const void *p, uint32_t size)
{
    return size == 1 ? ldub_p(p) : size == 2 ? lduw_le_p(p) : ldl_le_p(p);
}

static void store_le(void *p, uint32_t size, uint32_t v)
{
    if (size == 1) {
        stb_p(p, v);
    } else if (size == 2) {
        stw_le_p(p, v);
    } else {
        stl_le_p(p, v);
    }
}

static uint32_t load_host(const void *p, uint32_t size)
{
    return size == 1 ? *(const uint8_t *)p :
           size == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

static void store_host(void *p, uint32_t size, uint32_t v)
{
    if (size == 1) {
        *(uint8_t *)p = v;
    } else if (size == 2) {
        *(uint16_t *)p = v;
    } else {
        *(uint32_t *)p = v;
    }
}

/* ---- create, destroy ------------------------------------------------------ */

/* Are the depth and stride of a ring valid? */
static bool ring_size_ok(uint32_t depth, uint8_t stride, uint8_t max_stride)
{
    return ernic_depth_ok(depth, 1, ERNIC_MAX_WQ_DEPTH) &&
           stride >= 1 && stride <= max_stride;
}

/* With an SRQ the queue pair has no receive queue, and none may be described. */
static uint8_t check_no_rq(const struct ernic_qp_init *init)
{
    if (!ernic_all_zero(&init->rq_buf, sizeof(init->rq_buf))) {
        return ERNIC_ERR_RESERVED;
    }
    return init->rq_depth || init->rq_stride ? ERNIC_ERR_PARAM : ERNIC_OK;
}

/*
 * An XRC target has nothing but its domain. Several contexts share it, and it may
 * outlive the one that created it, so it belongs to context 0.
 */
static uint8_t check_xrc_tgt(Ernic *e, uint32_t uctx,
                             const struct ernic_qp_init *init)
{
    struct ernic_qp_init bare = {
        .pd = init->pd, .srq = cpu_to_le32(NO_SRQ), .type = init->type,
    };

    if (uctx != 0) {
        return ERNIC_ERR_PERM;
    }
    if (memcmp(init, &bare, sizeof(bare)) != 0) {
        return ERNIC_ERR_RESERVED;
    }
    return ernic_pd_get(e, 0, le32_to_cpu(init->pd)) ? ERNIC_OK :
                                                       ERNIC_ERR_HANDLE;
}

/* A receive work queue cannot send. */
static uint8_t check_rwq(Ernic *e, uint32_t uctx,
                         const struct ernic_qp_init *init)
{
    if (!e->cfg.raw) {
        return ERNIC_ERR_PARAM;
    }
    if (init->send_cq || le32_to_cpu(init->srq) != NO_SRQ || init->flags ||
        init->sq_depth || init->sq_stride ||
        !ernic_all_zero(&init->sq_buf, sizeof(init->sq_buf)) ||
        !ernic_all_zero(init->reserved, sizeof(init->reserved))) {
        return ERNIC_ERR_RESERVED;
    }
    if (!ernic_pd_get(e, uctx, le32_to_cpu(init->pd)) ||
        !ernic_cq_get(e, uctx, le32_to_cpu(init->recv_cq))) {
        return ERNIC_ERR_HANDLE;
    }
    return ring_size_ok(le32_to_cpu(init->rq_depth), init->rq_stride,
                        ERNIC_RQ_STRIDE_MAX) ? ERNIC_OK : ERNIC_ERR_PARAM;
}

/* An XRC initiator cannot receive. */
static uint8_t check_xrc_ini(Ernic *e, uint32_t uctx,
                             const struct ernic_qp_init *init)
{
    if (init->recv_cq || le32_to_cpu(init->srq) != NO_SRQ) {
        return ERNIC_ERR_RESERVED;
    }
    return ernic_pd_get(e, uctx, le32_to_cpu(init->pd)) &&
           ernic_cq_get(e, uctx, le32_to_cpu(init->send_cq)) ?
           check_no_rq(init) : ERNIC_ERR_HANDLE;
}

/* All checks that allocate nothing. */
static uint8_t create_check(Ernic *e, uint32_t uctx,
                            const struct ernic_qp_init *init)
{
    uint32_t srq = le32_to_cpu(init->srq);

    if (!ernic_all_zero(init->reserved, sizeof(init->reserved))) {
        return ERNIC_ERR_RESERVED;
    }
    if (init->type == ERNIC_QPT_XRC_TGT) {
        return check_xrc_tgt(e, uctx, init);
    }
    if (init->type == ERNIC_QPT_RWQ) {
        return check_rwq(e, uctx, init);
    }
    if (init->type >= ERNIC_QPT_COUNT || (init->flags & ~ERNIC_QPF_SQ_SIG_ALL) ||
        !ring_size_ok(le32_to_cpu(init->sq_depth), init->sq_stride,
                      ERNIC_SQ_STRIDE_MAX)) {
        return ERNIC_ERR_PARAM;
    }
    if (init->type == ERNIC_QPT_RAW && !e->cfg.raw) {
        return ERNIC_ERR_PARAM;
    }
    if (init->type == ERNIC_QPT_XRC_INI) {
        return check_xrc_ini(e, uctx, init);
    }
    if (!ernic_pd_get(e, uctx, le32_to_cpu(init->pd)) ||
        !ernic_cq_get(e, uctx, le32_to_cpu(init->send_cq)) ||
        !ernic_cq_get(e, uctx, le32_to_cpu(init->recv_cq)) ||
        (srq != NO_SRQ && !ernic_srq_get(e, uctx, srq))) {
        return ERNIC_ERR_HANDLE;
    }
    if (srq != NO_SRQ && e->srq[srq].xrcd) {
        return ERNIC_ERR_PARAM;     /* for XRC targets only */
    }
    if (init->type == ERNIC_QPT_GSI) {
        if (uctx != 0) {
            return ERNIC_ERR_PERM;
        }
        if (e->qp[ERNIC_QPN_GSI].used) {
            return ERNIC_ERR_NO_RESOURCE;       /* one per port */
        }
    }
    if (srq != NO_SRQ) {
        return check_no_rq(init);
    }
    return ring_size_ok(le32_to_cpu(init->rq_depth), init->rq_stride,
                        ERNIC_RQ_STRIDE_MAX) ? ERNIC_OK : ERNIC_ERR_PARAM;
}

/* A ring of the command in progress that an earlier slice has read; false: none. */
static bool take_ready(Ernic *e, ErnicBuf *buf)
{
    if (!e->job->ready_valid) {
        return false;
    }
    *buf = e->job->ready;
    memset(&e->job->ready, 0, sizeof(e->job->ready));
    e->job->ready_valid = false;
    return true;
}

static void keep_ready(Ernic *e, ErnicBuf *buf)
{
    e->job->ready = *buf;
    e->job->ready_valid = true;
    memset(buf, 0, sizeof(*buf));
}

static uint8_t wq_init(Ernic *e, ErnicWq *wq, const struct ernic_buf_desc *desc,
                       uint32_t depth, uint32_t stride, bool first)
{
    memset(wq, 0, sizeof(*wq));
    wq->depth = depth;
    wq->stride = stride * 64;
    if (first && take_ready(e, &wq->buf)) {
        return ERNIC_OK;
    }
    return ernic_buf_init(e, &wq->buf, desc, (uint64_t)depth * wq->stride);
}

static uint8_t create_rings(Ernic *e, const struct ernic_qp_init *init,
                            ErnicWq *send, ErnicWq *recv)
{
    uint8_t status = ERNIC_OK;

    memset(send, 0, sizeof(*send));
    memset(recv, 0, sizeof(*recv));
    if (init->type == ERNIC_QPT_XRC_TGT) {
        return ERNIC_OK;
    }
    if (init->type != ERNIC_QPT_RWQ) {
        status = wq_init(e, send, &init->sq_buf, le32_to_cpu(init->sq_depth),
                         init->sq_stride, true);
    }
    if (status || le32_to_cpu(init->srq) != NO_SRQ ||
        init->type == ERNIC_QPT_XRC_INI) {
        return status;
    }
    status = wq_init(e, recv, &init->rq_buf, le32_to_cpu(init->rq_depth),
                     init->rq_stride, false);
    if (status == ERNIC_AGAIN) {
        keep_ready(e, &send->buf);
    } else if (status) {
        ernic_buf_fini(e, &send->buf);
    }
    return status;
}

/* Add @delta, +1 or -1, to the reference counts of the objects that @qp uses. */
static void refer(Ernic *e, const ErnicQp *qp, int delta)
{
    e->pd[qp->pd].refs += delta;
    if (qp->send_cq) {
        e->cq[qp->send_cq].refs += delta;
    }
    if (qp->recv_cq) {
        e->cq[qp->recv_cq].refs += delta;
    }
    if (qp->srq) {
        e->srq[qp->srq].refs += delta;
    }
}

static void drop_rings(Ernic *e, ErnicWq *sq, ErnicWq *rq)
{
    ernic_buf_fini(e, &sq->buf);
    ernic_buf_fini(e, &rq->buf);
}

uint8_t ernic_qp_create(Ernic *e, uint32_t uctx,
                        const struct ernic_qp_init *init, uint32_t *qpn)
{
    uint8_t status = create_check(e, uctx, init);
    uint32_t srq = le32_to_cpu(init->srq);
    ErnicWq sq, rq;
    ErnicQp *qp;

    if (status) {
        return status;
    }
    status = create_rings(e, init, &sq, &rq);
    if (status) {
        return status;
    }
    *qpn = init->type == ERNIC_QPT_GSI ? ERNIC_QPN_GSI
                                       : ernic_ids_alloc(&e->qp_ids);
    if (*qpn == 0) {
        drop_rings(e, &sq, &rq);
        return ERNIC_ERR_NO_RESOURCE;
    }
    qp = ernic_qp_open(e, *qpn, init->type, &sq, &rq);
    if (!qp) {
        drop_rings(e, &sq, &rq);
        if (init->type != ERNIC_QPT_GSI) {
            ernic_ids_free(&e->qp_ids, *qpn);
        }
        return ERNIC_ERR_NO_RESOURCE;
    }
    qp->uctx = uctx;
    qp->flags = init->flags;
    qp->pd = le32_to_cpu(init->pd);
    qp->send_cq = le32_to_cpu(init->send_cq);
    qp->recv_cq = le32_to_cpu(init->recv_cq);
    qp->srq = srq == NO_SRQ ? 0 : srq;
    refer(e, qp, 1);
    trace_ernic_qp_create(qp->qpn, qp->type, qp->uctx, qp->pd, sq.depth,
                          rq.depth, qp->srq);
    return ERNIC_OK;
}

uint8_t ernic_qp_destroy(Ernic *e, uint32_t uctx, uint32_t qpn)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    if (qp->type == ERNIC_QPT_RWQ && ernic_rss_uses(e, qpn)) {
        return ERNIC_ERR_BUSY;
    }
    ernic_charge_walk(e, ERNIC_LIM_MCAST_ATTACH + ERNIC_LIM_FLOW);
    ernic_ack_last(e, qp, true);
    ernic_mcast_forget(e, qpn);
    ernic_flow_forget(e, qpn);
    refer(e, qp, -1);
    ernic_qp_close(e, qp);
    if (qpn != ERNIC_QPN_GSI) {
        ernic_ids_free(&e->qp_ids, qpn);
    }
    trace_ernic_qp_destroy(qpn);
    return ERNIC_OK;
}

/* ---- modify --------------------------------------------------------------- */

static uint8_t check_av(const Ernic *e, const struct ernic_av *av)
{
    static const ErnicGid none;
    const ErnicGid *sgid;
    ErnicGid dgid;

    if (!ernic_all_zero(av->reserved, sizeof(av->reserved))) {
        return ERNIC_ERR_RESERVED;
    }
    if (av->sgid_index >= ERNIC_LIM_GID ||
        le32_to_cpu(av->flow_label) > FLOW_LABEL_MASK) {
        return ERNIC_ERR_PARAM;
    }
    memcpy(dgid.raw, av->dgid, sizeof(dgid.raw));
    sgid = &e->gid[av->sgid_index].gid;
    /* A connection has one peer, reached by the IP version of our address. */
    if (memcmp(sgid, &none, sizeof(none)) == 0 ||
        memcmp(&dgid, &none, sizeof(none)) == 0 || ernic_gid_is_mcast(&dgid) ||
        ernic_gid_is_v4(sgid) != ernic_gid_is_v4(&dgid)) {
        return ERNIC_ERR_PARAM;
    }
    return ERNIC_OK;
}

/* Check the ranges of the values that @mask selects. */
static uint8_t check_values(const Ernic *e, const struct ernic_qp_attr *attr,
                            uint32_t mask)
{
    uint32_t i, v;

    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        if (!(mask & row->bit)) {
            continue;
        }
        v = load_le((const uint8_t *)attr + row->src, row->src_size);
        if (v < row->lo || v > row->hi) {
            return ERNIC_ERR_PARAM;
        }
    }
    if (((mask & ERNIC_QPA_ACCESS) &&
         (le32_to_cpu(attr->access) & ~ERNIC_ACCESS_QP)) ||
        ((mask & ERNIC_QPA_PATH_MTU) && attr->path_mtu > e->cfg.mtu) ||
        ((mask & ERNIC_QPA_PKEY_INDEX) &&
         !e->pkey[le16_to_cpu(attr->pkey_index)])) {
        return ERNIC_ERR_PARAM;
    }
    return mask & ERNIC_QPA_AV ? check_av(e, &attr->av) : ERNIC_OK;
}

/*
 * Do @size entries for inbound READs and atomics hold every response that is still to
 * be sent? The newest entries stay. An older one may be pending because of a duplicate
 * request, or hold a FLUSH whose own entry was overwritten.
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

static uint8_t modify_check(const Ernic *e, const ErnicQp *qp,
                            const struct ernic_qp_attr *attr, uint8_t to)
{
    uint32_t mask = le32_to_cpu(attr->mask);
    uint8_t status;

    if (attr->sq_draining || !ernic_all_zero(attr->reserved, sizeof(attr->reserved)) ||
        !ernic_all_zero(attr->reserved1, sizeof(attr->reserved1))) {
        return ERNIC_ERR_RESERVED;
    }
    if (mask & ~ALL_ATTRS) {
        return ERNIC_ERR_ATTR_MASK;
    }
    /* IBTA vol. 1, 11.2.5.2: the state that software assumes is the current one. */
    if ((mask & ERNIC_QPA_CUR_STATE) && attr->cur_state != qp->state) {
        return ERNIC_ERR_STATE;
    }
    status = ernic_qp_edge_check(qp->type, qp->state, to, mask);
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

static void av_load(ErnicAv *av, const struct ernic_av *from)
{
    memcpy(av->dgid.raw, from->dgid, sizeof(av->dgid.raw));
    memcpy(av->dmac, from->dmac, sizeof(av->dmac));
    av->sgid_index = from->sgid_index;
    av->hop_limit = from->hop_limit;
    av->tclass = from->tclass;
    av->flow_label = le32_to_cpu(from->flow_label);
}

static void apply_values(ErnicQp *qp, const struct ernic_qp_attr *attr,
                         uint32_t mask)
{
    uint32_t i, v;

    if (mask & ERNIC_QPA_MAX_DEST_RD_ATOMIC) {
        ernic_rd_resize(qp, attr->max_dest_rd_atomic);
    }
    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        if ((mask & row->bit) && row->dst_size) {
            v = load_le((const uint8_t *)attr + row->src, row->src_size);
            store_host((uint8_t *)&qp->attr + row->dst, row->dst_size, v);
        }
    }
    if (mask & ERNIC_QPA_AV) {
        av_load(&qp->attr.av, &attr->av);
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

uint8_t ernic_qp_modify(Ernic *e, uint32_t uctx, uint32_t qpn,
                        const struct ernic_qp_attr *attr)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint32_t mask = le32_to_cpu(attr->mask);
    uint8_t from, to, status;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    from = qp->state;
    to = mask & ERNIC_QPA_STATE ? attr->state : from;
    status = modify_check(e, qp, attr, to);
    if (status) {
        trace_ernic_guest_qp_modify(qpn, ernic_qp_state_name(from),
                                    ernic_qp_state_name(to), mask, status);
        return status;
    }
    if (!(ernic_qp_state_may(to) & ERNIC_MAY_PROC_RECV)) {
        ernic_ack_last(e, qp, to == ERNIC_QPS_RESET);
    }
    apply_values(qp, attr, mask);
    enter(e, qp, from, to, mask);
    if (to != from) {
        ernic_qp_set_state(e, qp, to);          /* marks work */
    } else if (mask & ERNIC_QPA_RATE_LIMIT) {
        ernic_sched_mark(e, qp);
    }
    trace_ernic_qp_modify(qpn, ernic_qp_state_name(from),
                          ernic_qp_state_name(to), mask);
    ernic_qp_timer(e, qp);
    return ERNIC_OK;
}

/* ---- query ---------------------------------------------------------------- */

uint8_t ernic_qp_query(Ernic *e, uint32_t uctx, uint32_t qpn,
                       struct ernic_qp_attr *attr)
{
    const ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    const ErnicAv *av;
    uint32_t i, v;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    memset(attr, 0, sizeof(*attr));
    attr->mask = cpu_to_le32(ALL_ATTRS);
    attr->state = qp->state;
    attr->cur_state = qp->state;
    attr->sq_draining = qp->state == ERNIC_QPS_SQD && !qp->sq_drained;
    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        v = row->dst_size ? load_host((const uint8_t *)&qp->attr + row->dst,
                                      row->dst_size) : row->lo;
        store_le((uint8_t *)attr + row->src, row->src_size, v);
    }
    av = &qp->attr.av;
    memcpy(attr->av.dgid, av->dgid.raw, sizeof(attr->av.dgid));
    memcpy(attr->av.dmac, av->dmac, sizeof(attr->av.dmac));
    attr->av.sgid_index = av->sgid_index;
    attr->av.hop_limit = av->hop_limit;
    attr->av.tclass = av->tclass;
    attr->av.flow_label = cpu_to_le32(av->flow_label);
    return ERNIC_OK;
}
