/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Services of a queue pair for all roles: its path, its completions, its deadline.
 */
#include "qemu/osdep.h"
#include "base/timer.h"
#include "interfaces/interface.h"
#include "objects/srq.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/qp.h"
#include "transport/rate.h"

/*
 * The source port selects one of several equal paths (IBTA A17.4.5.3), so it is the
 * same for every packet of a connection. Software may have chosen it.
 */
static uint16_t qp_udp_sport(const Ernic *e, const ErnicQp *qp, const ErnicAv *av)
{
    uint32_t v = (qp->qpn * 0x9e3779b1u) ^ (qp->attr.dest_qpn * 0x85ebca6bu);

    return e->udp_sport ?: av->udp_sport ?: 0xc000 | (v >> 18);
}

uint16_t ernic_qp_pkey(const Ernic *e, const ErnicQp *qp)
{
    return e->interface->pkey(e, qp);
}

bool ernic_qp_path(Ernic *e, const ErnicQp *qp, const ErnicAv *av,
                   ErnicPath *path)
{
    static const ErnicGid none;
    const ErnicGidEntry *src;

    if (av->sgid_index >= ERNIC_LIM_GID) {
        return false;
    }
    src = &e->gid[av->sgid_index];
    if (memcmp(&src->gid, &none, sizeof(none)) == 0 ||
        ernic_gid_is_v4(&src->gid) != ernic_gid_is_v4(&av->dgid)) {
        return false;
    }
    /* Paths are compared with memcmp(), so clear the padding as well. */
    memset(path, 0, sizeof(*path));
    path->sgid = src->gid;
    path->dgid = av->dgid;
    memcpy(path->smac, src->mac, sizeof(path->smac));
    memcpy(path->dmac, av->dmac, sizeof(path->dmac));
    path->vlan = src->vlan == ERNIC_NO_VLAN ? ERNIC_NO_VLAN :
                 src->vlan | ERNIC_VLAN_PRIORITY(av->priority);
    path->udp_sport = qp_udp_sport(e, qp, av);
    path->flow_label = av->flow_label;
    /* Congestion control needs marks, so every packet is ECN-capable. */
    path->tclass = (av->tclass & ~ERNIC_ECN_MASK) | ERNIC_ECN_ECT0;
    path->hop_limit = av->hop_limit;
    return true;
}

bool ernic_qp_remote_pd(const Ernic *e, const ErnicQp *qp, uint32_t xrc_srq,
                        uint32_t *pd)
{
    *pd = qp->pd;
    if (qp->type != ERNIC_QPT_XRC_TGT) {
        return true;
    }
    if (!ernic_srq_in_domain(e, xrc_srq, qp->pd)) {
        trace_ernic_xrc_srq(qp->qpn, xrc_srq, qp->pd);
        return false;
    }
    *pd = e->srq[xrc_srq].pd;
    return true;
}

void ernic_qp_event(Ernic *e, ErnicQp *qp, uint8_t type)
{
    trace_ernic_qp_event(qp->qpn, type);
    ernic_event_raise(e, e->async_eq, ERNIC_EVC_QP, qp->qpn, &qp->events,
                      type, 0);
}

void ernic_qp_note_fault(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                         ErnicFault fault)
{
    qp->ack.code = e->interface->fault_code(e, qp, pkt, fault);
}

void ernic_qp_post_due(Ernic *e, uint64_t until)
{
    ErnicDelayFifo *fifo = &e->timing->cqes;
    const ErnicTimedCqe *head;
    ErnicTimedCqe cqe;

    while ((head = ernic_delay_fifo_peek(fifo, until))) {
        cqe = *head;
        ernic_timing_taken(e, ERNIC_TIMED_CQE, fifo->count);
        ernic_delay_fifo_pop(fifo, e->now);
        e->interface->post(e, cqe.cqn, &cqe.wc);
    }
    ernic_timing_taken(e, ERNIC_TIMED_CQE, 0);
}

void ernic_qp_post(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                   ErnicTimedAfter after)
{
    if (ernic_timed_cqes_full(e)) {
        ernic_qp_post_due(e, ernic_delay_fifo_due(&e->timing->cqes));
    }
    if (!ernic_timed_cqe(e, cqn, wc, after)) {
        e->interface->post(e, cqn, wc);
    }
}

uint8_t ernic_qp_fault_status(Ernic *e, ErnicFault fault)
{
    if (fault == ERNIC_FAULT_NONE) {
        return ERNIC_WC_SUCCESS;
    }
    if (fault == ERNIC_FAULT_FLUSH) {
        e->stats.flushed++;
    }
    e->stats.fault[fault]++;
    return ernic_fault_info(fault)->wc;
}

void ernic_qp_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                            ErnicFault fault)
{
    e->interface->complete_send(e, qp, wqe, fault);
    ernic_timing_completed(e, qp->qpn, wqe->index);
}

void ernic_qp_complete_recv(Ernic *e, ErnicQp *qp, ErnicWc *wc,
                            ErnicFault fault)
{
    const ErnicRecv *recv = qp->rq.recv_valid ? &qp->rq.recv : NULL;

    qp->rq.recv_valid = false;
    e->interface->complete_recv(e, qp, recv, wc, fault);
}

bool ernic_qp_take_recv(Ernic *e, ErnicQp *qp)
{
    if (!qp->rq.recv_valid) {
        qp->rq.recv.fault = ERNIC_FAULT_NONE;
        qp->rq.recv_valid = e->interface->take_recv(e, qp, &qp->rq.recv);
    }
    return qp->rq.recv_valid;
}

void ernic_qp_drop_recv(ErnicQp *qp)
{
    qp->rq.recv_valid = false;
    memset(&qp->rq.recv, 0, sizeof(qp->rq.recv));
}

void ernic_qp_timer_expired(ErnicQp *qp)
{
    qp->timer_due = ERNIC_NEVER;
}

void ernic_qp_timer(Ernic *e, ErnicQp *qp)
{
    uint64_t due = MIN(qp->sq.ack_due, qp->sq.rnr_due);

    if (qp->ack.due) {
        due = MIN(due, qp->ack.due);
    }
    if (ernic_rate_send_at(qp) > e->now &&
        (qp->sq.blocked_on == ERNIC_BLOCKED_RATE || qp->ack.rd_pending)) {
        due = MIN(due, ernic_rate_send_at(qp));
    }
    if (qp->flush_wait) {
        /* A multiple: all that have waited for long wake the engine once. */
        due = MIN(due, (e->now / qp->flush_wait + 1) * qp->flush_wait);
    }
    /*
     * A deadline that moved to a later time stays in the heap and fires early. That
     * costs one look; moving it would cost one update for each acknowledgement.
     */
    if (due < qp->timer_due) {
        qp->timer_due = due;
        ernic_timer_set(e->timers, qp->qpn, due);
    }
}
