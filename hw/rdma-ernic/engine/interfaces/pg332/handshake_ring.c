/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: indices from user logic.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/pg332.h"
#include "trace.h"

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
