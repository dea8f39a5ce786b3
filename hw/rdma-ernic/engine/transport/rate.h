/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rate limit that software sets for a raw packet queue pair: frames leave no
 * faster, except for a burst after a pause.
 */
#ifndef ERNIC_TRANSPORT_RATE_H
#define ERNIC_TRANSPORT_RATE_H

#include "transport/cc.h"
#include "objects/qp.h"

/* Delay of a wake-up that a burst may compensate, if software sets no burst. */
#define ERNIC_RATE_SLACK_NS 1000000ull

/* Duration of @bytes at @kbps (not 0), ns. */
static inline uint64_t ernic_rate_ns(uint32_t kbps, uint32_t bytes)
{
    return bytes * 8000000ull / kbps;
}

/* Account for a frame of @bytes that was sent. */
static inline void ernic_rate_sent(ErnicQp *qp, uint64_t now, uint32_t bytes)
{
    uint32_t kbps = qp->attr.rate_limit;
    uint64_t slack;

    if (!kbps) {
        return;
    }
    slack = qp->attr.rate_burst ? ernic_rate_ns(kbps, qp->attr.rate_burst) :
                                  ERNIC_RATE_SLACK_NS;
    qp->sq.rate_at = MAX(qp->sq.rate_at, now - MIN(now, slack)) +
                     ernic_rate_ns(kbps, bytes);
}

/* The next frame may leave at once. */
static inline void ernic_rate_reset(ErnicQp *qp)
{
    qp->sq.rate_at = 0;
}

/* Earliest time of the next packet by this limit and by congestion control; 0: now. */
static inline uint64_t ernic_rate_send_at(const ErnicQp *qp)
{
    return MAX(qp->sq.rate_at, ernic_cc_send_at(&qp->cc));
}

#endif /* ERNIC_TRANSPORT_RATE_H */
