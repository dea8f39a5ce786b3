/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Adaptive retransmission.
 */
#include "qemu/osdep.h"
#include "base/limits.h"
#include "transport/patience.h"
#include "wire/ib_tables.h"

uint64_t ernic_patience_ack_ns(const Ernic *e, const ErnicQp *qp)
{
    uint64_t ns = ernic_ack_timeout_ns(qp->attr.timeout);
    uint64_t waited = MIN(qp->sq.waited, ERNIC_ACK_TIMEOUT_STEP);

    if (!ns || !e->cfg.retry_time) {
        return ns;
    }
    return MAX(MAX(ns, ERNIC_ACK_TIMEOUT_FLOOR), waited);
}

uint64_t ernic_patience_rnr_ns(const Ernic *e, const ErnicQp *qp, uint64_t asked)
{
    uint64_t waited = MIN(qp->sq.waited / 4, ERNIC_RNR_STEP);

    return e->cfg.retry_time && !qp->sq.rnr_left ? MAX(asked, waited) : asked;
}

void ernic_patience_waited(const Ernic *e, ErnicQp *qp, uint64_t ns)
{
    if (!ernic_patience_over(e, qp)) {
        qp->sq.waited += ns;
    }
}

void ernic_patience_renew(ErnicQp *qp)
{
    qp->sq.waited = 0;
}

bool ernic_patience_over(const Ernic *e, const ErnicQp *qp)
{
    return qp->sq.waited >= e->cfg.retry_time;
}
