/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pairs that software creates and destroys, whatever its interface.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/qp_create.h"
#include "transport/qp_life.h"

/* Add @delta, +1 or -1, to the reference counts of the objects that @qp uses. */
static void refer(Ernic *e, const ErnicQp *qp, int delta)
{
    g_assert(delta > 0 || ((!qp->pd || e->pd[qp->pd].refs) &&
                           (!qp->srq || e->srq[qp->srq].refs)));
    g_assert(delta > 0 || ((!qp->send_cq || e->cq[qp->send_cq].refs) &&
                           (!qp->recv_cq || e->cq[qp->recv_cq].refs)));
    if (qp->pd) {
        e->pd[qp->pd].refs += delta;
    }
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

static uint32_t take_number(Ernic *e, uint8_t type)
{
    if (type == ERNIC_QPT_GSI) {
        return e->qp[ERNIC_QPN_GSI].used ? 0 : ERNIC_QPN_GSI;   /* one per port */
    }
    return ernic_ids_alloc(&e->qp_ids);
}

static void give_number(Ernic *e, uint32_t qpn)
{
    if (qpn != ERNIC_QPN_GSI) {
        ernic_ids_free(&e->qp_ids, qpn);
    }
}

uint8_t ernic_qp_add(Ernic *e, const ErnicQpInit *init, ErnicWq *sq, ErnicWq *rq,
                     uint32_t *qpn)
{
    ErnicQp *qp;

    *qpn = take_number(e, init->type);
    if (*qpn == 0) {
        drop_rings(e, sq, rq);
        return ERNIC_ERR_NO_RESOURCE;
    }
    qp = ernic_qp_open(e, *qpn, init->type, sq, rq);
    if (!qp) {
        drop_rings(e, sq, rq);
        give_number(e, *qpn);
        return ERNIC_ERR_NO_RESOURCE;
    }
    qp->uctx = init->uctx;
    qp->flags = init->flags;
    qp->pd = init->pd;
    qp->send_cq = init->send_cq;
    qp->recv_cq = init->recv_cq;
    qp->srq = init->srq;
    refer(e, qp, 1);
    trace_ernic_qp_create(qp->qpn, qp->type, qp->uctx, qp->pd, sq->depth,
                          rq->depth, qp->srq);
    return ERNIC_OK;
}

void ernic_qp_set_pd(Ernic *e, ErnicQp *qp, uint32_t pd)
{
    if (qp->pd != pd) {
        g_assert(!qp->pd);
        qp->pd = pd;
        e->pd[pd].refs++;
    }
}

uint8_t ernic_qp_remove(Ernic *e, ErnicQp *qp)
{
    uint32_t qpn = qp->qpn;

    if (qp->type == ERNIC_QPT_RWQ && ernic_rss_uses(e, qpn)) {
        return ERNIC_ERR_BUSY;
    }
    ernic_charge_walk(e, ERNIC_MCAST_BUCKETS + ERNIC_LIM_FLOW);
    ernic_ack_last(e, qp, true);
    ernic_mcast_forget(e, qpn);
    ernic_flow_forget(e, qpn);
    refer(e, qp, -1);
    ernic_qp_close(e, qp);
    give_number(e, qpn);
    trace_ernic_qp_destroy(qpn);
    return ERNIC_OK;
}
