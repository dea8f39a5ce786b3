/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Adaptive retransmission.
 */
#include "qemu/osdep.h"
#include "base/limits.h"
#include "transport/adaptive_retry.h"
#include "wire/ib_tables.h"

uint64_t ernic_adaptive_ack_ns(const Ernic *e, const ErnicQp *qp)
{
    uint64_t ns = ernic_ack_timeout_ns(qp->attr.timeout);
    uint64_t waited = MIN(qp->sq.waited, ERNIC_ACK_TIMEOUT_STEP);

    if (!ns || !e->cfg.retry_time) {
        return ns;
    }
    return MAX(MAX(ns, ERNIC_ACK_TIMEOUT_FLOOR), waited);
}

uint64_t ernic_adaptive_rnr_ns(const Ernic *e, const ErnicQp *qp, uint64_t asked)
{
    uint64_t waited = MIN(qp->sq.waited / 4, ERNIC_RNR_STEP);

    return e->cfg.retry_time && !qp->sq.rnr_left ? MAX(asked, waited) : asked;
}

void ernic_adaptive_waited(const Ernic *e, ErnicQp *qp, uint64_t ns)
{
    if (!ernic_adaptive_over(e, qp)) {
        qp->sq.waited += ns;
    }
}

void ernic_adaptive_renew(ErnicQp *qp)
{
    qp->sq.waited = 0;
}

bool ernic_adaptive_over(const Ernic *e, const ErnicQp *qp)
{
    return qp->sq.waited >= e->cfg.retry_time;
}
