/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The reading side of the guest: completions and events by phase. Each is
 * handed to the rules; consumer counters are returned to the device.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

SimQp *sim_find_qp(SimHost *h, uint32_t qpn)
{
    SIM_EACH(SimQp, qp, h->qps) {
        if (qp->qpn == qpn && qp->life != SIM_QP_NONE) {
            return qp;
        }
    }
    return NULL;
}

static SimCq *find_cq(SimHost *h, uint32_t cqn)
{
    SIM_EACH(SimCq, cq, h->cqs) {
        if (cq->cqn == cqn) {
            return cq;
        }
    }
    return NULL;
}

static SimSrq *find_srq(SimHost *h, uint32_t srqn)
{
    SIM_EACH(SimSrq, srq, h->srqs) {
        if (srq->srqn == srqn) {
            return srq;
        }
    }
    return NULL;
}

/* ---- completions --------------------------------------------------------- */

void sim_poll_soon(SimCq *cq)
{
    SimHost *h = cq->host;

    if (!cq->pending) {
        cq->pending = true;
        sim_at(h->sim, h->sim->now + sim_range(&h->rng, 100, cq->poll_ns),
               SIM_EV_POLL, h, cq, 0);
    }
}

static bool next_cqe(SimCq *cq, struct ernic_cqe *cqe)
{
    uint64_t at = cq->ring + (uint64_t)(cq->ci % cq->depth) * sizeof(*cqe);
    uint8_t phase = cq->ci / cq->depth % 2 == 0 ? ERNIC_CQE_PHASE : 0;

    memcpy(cqe, sim_mem(cq->host, at), sizeof(*cqe));
    return (cqe->flags & ERNIC_CQE_PHASE) == phase;
}

static void report_consumed(SimCq *cq)
{
    SimHost *h = cq->host;
    uint8_t status = ERNIC_OK;

    if (cq->ci_addr) {
        stl_le_p(sim_mem(h, cq->ci_addr), cq->ci);
    } else {
        status = sim_doorbell(h, h->uctx, ERNIC_DB_CQ, cq->cqn, cq->ci);
    }
    if (!cq->evented && !cq->overrun && sim_percent(&h->rng, 5)) {
        cq->arms++;
        status = sim_doorbell(h, h->uctx, ERNIC_DB_CQ_ARM_SOLICITED, cq->cqn,
                              cq->ci);
    }
    if (status != ERNIC_OK && !cq->overrun && !cq->tiny &&
        !h->sim->plan.bad_rings) {
        sim_fail(h->sim, "doorbell", "host %u: CQ %u: doorbell %u: status %u",
                 h->id, cq->cqn, cq->ci, status);
    }
}

void sim_poll_cq(SimCq *cq)
{
    Sim *s = cq->host->sim;
    struct ernic_cqe cqe;
    uint32_t was = cq->ci, n = 0;

    if (cq->host->reset) {
        return;
    }
    while (!s->failed && next_cqe(cq, &cqe)) {
        uint64_t w[sizeof(cqe) / 8];

        memcpy(w, &cqe, sizeof(cqe));
        sim_note(s, w[0] ^ w[1] ^ w[3] ^ w[7]);
        cq->ci++;
        if (++n > cq->depth) {
            sim_fail(s, "completion", "host %u: CQ %u: more entries than it has "
                     "room for", cq->host->id, cq->cqn);
        }
        s->stats.completions++;
        if (s->stats.completions > 10 && cqe.status == ERNIC_WC_SUCCESS &&
            sim_sabotage(s, SIM_SAB_SKIP_CQE)) {
            continue;
        }
        sim_check_cqe(cq, &cqe);
        if (s->stats.completions > 10 && sim_sabotage(s, SIM_SAB_TWICE_CQE)) {
            sim_check_cqe(cq, &cqe);
        }
    }
    if (cq->ci != was) {
        report_consumed(cq);
        sim_think_soon(cq->host);
    }
    if (cq->evented && !cq->arms) {
        sim_cq_arm(cq);
    }
}

/* ---- events -------------------------------------------------------------- */

static void unexpected(SimHost *h, const struct ernic_eqe *e)
{
    sim_fail(h->sim, "event", "host %u: event %u of element %u, which nothing "
             "explains", h->id, e->type, le32_to_cpu(e->element));
}

static void cq_event(SimHost *h, const struct ernic_eqe *e)
{
    SimCq *cq = find_cq(h, le32_to_cpu(e->element));

    if (!cq) {
        unexpected(h, e);
    } else if (e->type == ERNIC_EV_COMPLETION) {
        if (!cq->arms) {
            unexpected(h, e);
            return;
        }
        cq->arms--;
        sim_poll_soon(cq);
    } else if (!cq->tiny && !h->sim->plan.bad_memory) {
        unexpected(h, e);
    } else {
        cq->overrun = true;
        SIM_EACH(SimQp, qp, h->qps) {
            if ((qp->scq == cq || qp->rcq == cq) && qp->life != SIM_QP_NONE) {
                qp->excused = true;
                if (qp->peer) {
                    qp->peer->loss_excuse = true;
                }
                if (qp->life == SIM_QP_LIVE) {
                    sim_qp_failed(qp, "its CQ has overrun");
                }
            }
        }
    }
}

static void qp_event(SimHost *h, const struct ernic_eqe *e)
{
    SimQp *qp = sim_find_qp(h, le32_to_cpu(e->element));

    if (!qp) {
        return;                     /* destroyed while its event was queued */
    }
    switch (e->type) {
    case ERNIC_EV_SQ_DRAINED:
        if (!qp->sqd || !qp->sqd_asked) {
            unexpected(h, e);
        }
        sim_qp_sqd_back(qp);
        break;
    case ERNIC_EV_LAST_WQE:
        if (!qp->srq || (!sim_may_have_failed(qp) && !qp->doom_recv &&
                         !qp->excused && !h->sim->plan.bad_memory)) {
            unexpected(h, e);
        }
        break;
    case ERNIC_EV_COMM_EST:
        if (!qp->established) {
            unexpected(h, e);
        }
        qp->established = false;
        if (qp->life == SIM_QP_LIVE && qp->rtr) {
            sim_qp_to_rts(qp);
        }
        break;
    default:
        if (!qp->doom_recv && !qp->excused && !h->sim->plan.bad_memory) {
            unexpected(h, e);
        }
        if (qp->life == SIM_QP_LIVE) {
            sim_qp_failed(qp, "fatal event");
        }
    }
}

static void srq_event(SimHost *h, const struct ernic_eqe *e)
{
    SimSrq *srq = find_srq(h, le32_to_cpu(e->element));

    if (e->type == ERNIC_EV_SRQ_ERR && h->sim->plan.bad_memory) {
        return;
    }
    if (!srq || e->type != ERNIC_EV_SRQ_LIMIT || !srq->limit_armed) {
        unexpected(h, e);
        return;
    }
    srq->limit_armed = false;
    sim_think_soon(h);
}

static void handle_event(SimHost *h, const struct ernic_eqe *e)
{
    sim_log(h->sim, "host %u: event %u of %u", h->id, e->type,
            le32_to_cpu(e->element));
    h->sim->stats.events++;
    switch (e->type) {
    case ERNIC_EV_COMPLETION:
    case ERNIC_EV_CQ_ERR:
        cq_event(h, e);
        break;
    case ERNIC_EV_SRQ_ERR:
    case ERNIC_EV_SRQ_LIMIT:
        srq_event(h, e);
        break;
    case ERNIC_EV_BAD_DOORBELL:
        if (!h->bad_doorbell) {
            unexpected(h, e);
        }
        break;
    case ERNIC_EV_PORT_ACTIVE:
    case ERNIC_EV_PORT_ERR:
    case ERNIC_EV_GID_CHANGE:
        break;
    default:
        if (e->type >= ERNIC_EV_COUNT) {
            unexpected(h, e);
        } else {
            qp_event(h, e);
        }
    }
}

void sim_poll_eq(SimHost *h, SimEq *eq)
{
    struct ernic_eqe e;

    while (!h->sim->failed && !h->reset) {
        uint64_t at = eq->ring + (uint64_t)(eq->ci % eq->depth) * sizeof(e);

        memcpy(&e, sim_mem(h, at), sizeof(e));
        if (e.phase != (eq->ci / eq->depth + 1) % 2) {
            break;
        }
        eq->ci++;
        if (sim_sabotage(h->sim, SIM_SAB_EVENT)) {
            handle_event(h, &e);
        }
        handle_event(h, &e);
        sim_note(h->sim, e.type ^ (uint64_t)e.element << 8);
        sim_ring(h, 0, ERNIC_DB_EQ, eq->eqn, eq->ci);
    }
}

void sim_poll_all(SimHost *h)
{
    struct ernic_cmd nop = sim_cmd_new(h, ERNIC_CMD_NOP);
    uint32_t i;

    /* Before a command, the timing model delivers everything that it holds. */
    if (h->sim->plan.timed && !h->reset) {
        sim_cmd(h, &nop, NULL);
    }
    for (i = 0; i < h->eqs; i++) {
        sim_poll_eq(h, &h->eq[i]);
    }
    for (i = 0; i < h->cqs->len; i++) {
        sim_poll_cq(g_ptr_array_index(h->cqs, i));
    }
}
