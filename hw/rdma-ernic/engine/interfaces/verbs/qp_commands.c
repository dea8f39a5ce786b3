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
#include "interfaces/common/db_pages.h"
#include "interfaces/verbs/commands.h"
#include "interfaces/verbs/records.h"
#include "objects/cq.h"
#include "objects/job.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "trace.h"
#include "transport/qp_create.h"
#include "transport/qp_modify.h"
#include "transport/qp_transitions.h"

#define NO_SRQ 0xffffffffu
#define ALL_ATTRS ((1u << ERNIC_QPA_COUNT) - 1)

/*
 * The attributes that are one number each, with their offsets in the command and in
 * the context. Both have the same size. STATE, CUR_STATE, PORT and AV have no row.
 */
typedef struct ErnicQpAttrRow {
    uint8_t src;                /* struct ernic_qp_attr, little-endian */
    uint8_t dst;                /* ErnicQpAttr, host */
    uint8_t size;
} ErnicQpAttrRow;

#define ROW(field) \
    { offsetof(struct ernic_qp_attr, field), offsetof(ErnicQpAttr, field), \
      sizeof_field(ErnicQpAttr, field) + \
      QEMU_BUILD_BUG_ON_ZERO(sizeof_field(struct ernic_qp_attr, field) != \
                             sizeof_field(ErnicQpAttr, field)) }

static const ErnicQpAttrRow attr_rows[] = {
    ROW(sqd_notify), ROW(access), ROW(pkey_index), ROW(qkey), ROW(path_mtu),
    ROW(timeout), ROW(retry_cnt), ROW(rnr_retry), ROW(rq_psn), ROW(max_rd_atomic),
    ROW(min_rnr_timer), ROW(sq_psn), ROW(max_dest_rd_atomic), ROW(dest_qpn),
    ROW(rate_limit), ROW(rate_burst),
};
/* All attributes but STATE, CUR_STATE, PORT and AV; one has two numbers. */
QEMU_BUILD_BUG_ON(ARRAY_SIZE(attr_rows) != ERNIC_QPA_COUNT - 4 + 1);

#undef ROW

/* The number of the one port. */
#define PORT 1

/* ---- create, destroy ------------------------------------------------------ */

/* Whether the depth and stride of a ring are valid. */
static bool ring_size_ok(uint32_t depth, uint8_t stride, uint8_t max_stride)
{
    return ernic_depth_ok(depth, 1, ERNIC_MAX_WQ_DEPTH) &&
           stride >= 1 && stride <= max_stride;
}

/* With an SRQ the queue pair has no receive queue, and none may be described. */
static uint8_t check_no_rq(const struct ernic_qp_init *init)
{
    if (!ernic_all_zero(&init->rq_buf, sizeof(init->rq_buf)) || init->rq_record) {
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
        init->sq_depth || init->sq_stride || init->sq_record ||
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
    uint8_t status = ernic_wq_check_record(e, le64_to_cpu(init->sq_record)) ?:
                     ernic_wq_check_record(e, le64_to_cpu(init->rq_record));

    if (!ernic_all_zero(init->reserved, sizeof(init->reserved))) {
        return ERNIC_ERR_RESERVED;
    }
    if (status) {
        return status;
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
                       uint32_t depth, uint32_t stride, ernic_le64 record, bool first)
{
    memset(wq, 0, sizeof(*wq));
    wq->depth = depth;
    wq->stride = stride * ERNIC_SLOT_UNIT;
    wq->record = le64_to_cpu(record);
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
                         init->sq_stride, init->sq_record, true);
    }
    if (status || le32_to_cpu(init->srq) != NO_SRQ ||
        init->type == ERNIC_QPT_XRC_INI) {
        return status;
    }
    status = wq_init(e, recv, &init->rq_buf, le32_to_cpu(init->rq_depth),
                     init->rq_stride, init->rq_record, false);
    if (status == ERNIC_AGAIN) {
        keep_ready(e, &send->buf);
    } else if (status) {
        ernic_buf_fini(e, &send->buf);
    }
    return status;
}

uint8_t ernic_qp_create(Ernic *e, uint32_t uctx,
                        const struct ernic_qp_init *init, uint32_t *qpn)
{
    uint8_t status = create_check(e, uctx, init);
    uint32_t srq = le32_to_cpu(init->srq);
    ErnicQpInit add;
    ErnicWq sq, rq;

    if (status) {
        return status;
    }
    status = create_rings(e, init, &sq, &rq);
    if (status) {
        return status;
    }
    add = (ErnicQpInit) {
        .type = init->type, .flags = init->flags, .uctx = uctx,
        .pd = le32_to_cpu(init->pd), .send_cq = le32_to_cpu(init->send_cq),
        .recv_cq = le32_to_cpu(init->recv_cq), .srq = srq == NO_SRQ ? 0 : srq,
    };
    status = ernic_qp_add(e, &add, &sq, &rq, qpn);
    if (status == ERNIC_OK) {
        ernic_db_page_add(e, ernic_verbs_page(e, *qpn), *qpn);
    }
    return status;
}

uint8_t ernic_qp_destroy(Ernic *e, uint32_t uctx, uint32_t qpn)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint32_t page;
    uint8_t status;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    page = ernic_verbs_page(e, qpn);
    status = ernic_qp_remove(e, qp);
    if (status == ERNIC_OK) {
        ernic_db_page_remove(e, page, qpn);
    }
    return status;
}

/* ---- modify --------------------------------------------------------------- */

static void av_load(ErnicAv *av, const struct ernic_av *from)
{
    memcpy(av->dgid.raw, from->dgid, sizeof(av->dgid.raw));
    memcpy(av->dmac, from->dmac, sizeof(av->dmac));
    av->sgid_index = from->sgid_index;
    av->hop_limit = from->hop_limit;
    av->tclass = from->tclass;
    av->flow_label = le32_to_cpu(from->flow_label);
}

static void attr_load(ErnicQpAttr *attr, const struct ernic_qp_attr *from)
{
    uint32_t i;

    memset(attr, 0, sizeof(*attr));
    for (i = 0; i < ARRAY_SIZE(attr_rows); i++) {
        const ErnicQpAttrRow *row = &attr_rows[i];

        stn_he_p((uint8_t *)attr + row->dst, row->size,
                 ldn_le_p((const uint8_t *)from + row->src, row->size));
    }
    av_load(&attr->av, &from->av);
}

static uint8_t modify_check(const Ernic *e, const ErnicQp *qp,
                            const struct ernic_qp_attr *attr, uint8_t to,
                            const ErnicQpAttr *values)
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
    status = ernic_qp_modify_check(e, qp, to, mask, values);
    if (status) {
        return status;
    }
    if ((mask & ERNIC_QPA_PORT) && attr->port != PORT) {
        return ERNIC_ERR_PARAM;
    }
    return (mask & ERNIC_QPA_AV) &&
           !ernic_all_zero(attr->av.reserved, sizeof(attr->av.reserved)) ?
           ERNIC_ERR_RESERVED : ERNIC_OK;
}

uint8_t ernic_qp_modify(Ernic *e, uint32_t uctx, uint32_t qpn,
                        const struct ernic_qp_attr *attr)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint32_t mask = le32_to_cpu(attr->mask);
    ErnicQpAttr values;
    uint8_t to, status;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    to = mask & ERNIC_QPA_STATE ? attr->state : qp->state;
    attr_load(&values, attr);
    status = modify_check(e, qp, attr, to, &values);
    if (status) {
        trace_ernic_guest_qp_modify(qpn, ernic_qp_state_name(qp->state),
                                    ernic_qp_state_name(to), mask, status);
        return status;
    }
    if (qp->state == ERNIC_QPS_SQE) {
        ernic_verbs_look_sends(e, qp);      /* those posted so far are still flushed */
    }
    ernic_qp_change(e, qp, to, mask, &values);
    return ERNIC_OK;
}

/* ---- query ---------------------------------------------------------------- */

uint8_t ernic_qp_query(Ernic *e, uint32_t uctx, uint32_t qpn,
                       struct ernic_qp_attr *attr)
{
    const ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    const ErnicAv *av;
    uint32_t i;

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

        stn_le_p((uint8_t *)attr + row->src, row->size,
                 ldn_he_p((const uint8_t *)&qp->attr + row->dst, row->size));
    }
    attr->port = PORT;
    av = &qp->attr.av;
    memcpy(attr->av.dgid, av->dgid.raw, sizeof(attr->av.dgid));
    memcpy(attr->av.dmac, av->dmac, sizeof(attr->av.dmac));
    attr->av.sgid_index = av->sgid_index;
    attr->av.hop_limit = av->hop_limit;
    attr->av.tclass = av->tclass;
    attr->av.flow_label = cpu_to_le32(av->flow_label);
    return ERNIC_OK;
}
