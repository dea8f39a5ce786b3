/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Congestion control of one queue pair: the DCQCN reaction point (rate after
 * CNPs), evaluated when something is sent rather than by timers of its own.
 */
#ifndef ERNIC_TRANSPORT_CC_H
#define ERNIC_TRANSPORT_CC_H

#include "objects/qp.h"

/*
 * The greatest line rate of any device, bytes per second: a profile's wire.rate
 * goes up to 10 Tb/s, link-speed not so far.
 */
#define ERNIC_LINK_RATE_MAX     1250000000000ull

void ernic_cc_reset(ErnicCc *cc);
/* A CNP has come to a device of @cfg, whose line rate is the greatest there is. */
void ernic_cc_cnp(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now);
/* @bytes are sent now: brings the rate up to date and sets send_at. */
void ernic_cc_sent(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now,
                   uint32_t bytes);
/* Earliest time of the next packet; 0: at once. */
static inline uint64_t ernic_cc_send_at(const ErnicCc *cc)
{
    return cc->limited ? cc->send_at : 0;
}

#endif /* ERNIC_TRANSPORT_CC_H */
