/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: indices for user logic, and from it.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/pg332.h"
#include "trace.h"

ErnicHandshake *ernic_handshake_new(const ErnicConfig *cfg)
{
    ErnicHandshake *h;

    if (!cfg->user_logic) {
        return NULL;
    }
    h = g_new0(ErnicHandshake, 1);
    h->qp = g_new0(ErnicHandshakeQp, cfg->max_qp);
    return h;
}

void ernic_handshake_free(ErnicHandshake *h)
{
    if (h) {
        g_free(h->qp);
        g_free(h);
    }
}

/* ---- to user logic ------------------------------------------------------------- */

void ernic_handshake_completed(Ernic *e, uint32_t qpn)
{
    ErnicHandshakeQp *qp;

    if (e->handshake) {
        qp = &e->handshake->qp[qpn];
        qp->completed += qp->completed != UINT32_MAX;
        e->ops->user_logic(e->env);
    }
}

void ernic_handshake_received(Ernic *e, uint32_t qpn, uint32_t index)
{
    ErnicHandshakeQp *qp;

    if (e->handshake) {
        qp = &e->handshake->qp[qpn];
        qp->received = index;
        qp->again = true;
        e->ops->user_logic(e->env);
    }
}

void ernic_handshake_begin(Ernic *e, uint32_t qpn, uint32_t head, uint32_t pi)
{
    ErnicHandshakeQp *qp;

    if (e->handshake) {
        qp = &e->handshake->qp[qpn];
        qp->completed = head ? qp->completed : 0;
        qp->received = pi ? qp->received : 0;
    }
}

/* The two ports of each queue pair, which are served in turn. */
static ErnicUserRecord record_at(const Ernic *e, uint32_t port)
{
    const ErnicHandshakeQp *qp = &e->handshake->qp[port / 2];

    return port % 2 ?
           (ErnicUserRecord) { PG332_USER_COMPLETED, port / 2, qp->completed } :
           (ErnicUserRecord) { PG332_USER_RECEIVED, port / 2, qp->received };
}

bool ernic_handshake_next(Ernic *e, ErnicUserRecord *r)
{
    uint32_t ports = 2 * e->cfg.max_qp, i;

    for (i = 0; i < ports; i++) {
        *r = record_at(e, (e->handshake->turn + i) % ports);
        if (r->value) {
            if (r->kind == PG332_USER_RECEIVED) {
                e->handshake->qp[r->qpn].again = false;
            }
            return true;
        }
    }
    return false;
}

void ernic_handshake_taken(Ernic *e, const ErnicUserRecord *r)
{
    ErnicHandshakeQp *qp = &e->handshake->qp[r->qpn];

    if (r->kind == PG332_USER_COMPLETED) {
        qp->completed -= MIN(qp->completed, r->value);
    } else if (!qp->again) {    /* an index that is the same may be a lap later */
        qp->received = 0;
    }
    e->handshake->turn = 2 * r->qpn + (r->kind == PG332_USER_COMPLETED) + 1;
    trace_ernic_user_taken(r->kind, r->qpn, r->value);
}

/* ---- from user logic ----------------------------------------------------------- */

static bool refuse(const ErnicUserRecord *r, const char *why)
{
    trace_ernic_guest_user_record(r->kind, r->qpn, r->value, why);
    return false;
}

/* The ports have 16 bits for an index. Their addresses name queue pairs that exist. */
bool ernic_handshake_permits(const Ernic *e, const ErnicUserRecord *r)
{
    uint32_t conf;

    if (r->kind != PG332_USER_SQPI && r->kind != PG332_USER_RQCI) {
        return refuse(r, "no such kind");
    }
    if (!r->qpn || r->qpn >= e->cfg.max_qp) {
        return refuse(r, "no such queue pair");
    }
    if (r->value > UINT16_MAX) {
        return refuse(r, "an index of more than 16 bits");
    }
    conf = *ernic_pg332_qp_reg(e, r->qpn, PG332_QPCONF);
    if (!(conf & PG332_QPCONF_ENABLE)) {
        return refuse(r, "software has not enabled the queue pair");
    }
    if (conf & PG332_QPCONF_NO_HS) {
        return refuse(r, "its doorbells are registers");
    }
    return true;
}

bool ernic_handshake_ring(Ernic *e, const ErnicUserRecord *r)
{
    uint32_t reg = r->kind == PG332_USER_SQPI ? PG332_SQPI : PG332_RQCI;

    trace_ernic_user_ring(r->kind, r->qpn, r->value);
    return ernic_pg332_ring(e, r->qpn, reg, r->value) || refuse(r, "strict mode");
}
