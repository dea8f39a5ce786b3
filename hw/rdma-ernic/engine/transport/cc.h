/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Congestion control of one queue pair: the DCQCN reaction point, which sets the rate
 * after CNPs. It is evaluated when a packet is sent and needs no timers.
 */
#ifndef ERNIC_TRANSPORT_CC_H
#define ERNIC_TRANSPORT_CC_H

#include "objects/qp.h"

/*
 * The highest link rate of any device in bytes per second: wire.rate of a profile is at
 * most 10 Tb/s, link-speed is lower.
 */
#define ERNIC_LINK_RATE_MAX     1250000000000ull

/* The rate of the link: link-speed, or that of the timing model. */
uint32_t ernic_link_mbps(const ErnicConfig *cfg);

void ernic_cc_reset(ErnicCc *cc);
/*
 * A device of @cfg, whose link rate is the limit, has received a CNP. True: it has
 * reduced the rate. It does not if the last cut is too recent, or at the lowest rate.
 */
bool ernic_cc_cnp(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now);
/* @bytes are sent now: update the rate, and set send_at. */
void ernic_cc_sent(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now,
                   uint32_t bytes);
/* Earliest time of the next packet; 0: at once. */
static inline uint64_t ernic_cc_send_at(const ErnicCc *cc)
{
    return cc->limited ? cc->send_at : 0;
}

#endif /* ERNIC_TRANSPORT_CC_H */
