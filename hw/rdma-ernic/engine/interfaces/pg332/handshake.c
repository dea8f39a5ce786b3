/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: indices for user logic.
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
