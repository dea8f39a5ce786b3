/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The DCQCN reaction point (Zhu et al., SIGCOMM 2015): a CNP cuts the rate by
 * half the congestion estimate; without CNPs the estimate decays and the rate
 * recovers, first towards where it was, then beyond.
 */
#include "qemu/osdep.h"
#include "cc.h"
#include "limits.h"

#define CC_ONE          (1u << 16)
#define CC_G_SHIFT      8               /* gain g = 1/256 */
#define CC_ALPHA_NS     55000
#define CC_RATE_NS      300000
#define CC_FAST_STEPS   5
#define CC_HYPER_STEPS  10
#define CC_ADD_RATE     5000000ull      /* 40 Mb/s */
#define CC_HYPER_RATE   50000000ull     /* 400 Mb/s */
#define CC_MIN_RATE     1250000ull      /* 10 Mb/s */
/* Steps of catching up after a pause; by then the rate is at the line's. */
#define CC_CATCH_UP     512

void ernic_cc_reset(ErnicCc *cc)
{
    memset(cc, 0, sizeof(*cc));
}

static void cc_increase(ErnicCc *cc)
{
    cc->stage++;
    if (cc->stage > CC_HYPER_STEPS) {
        cc->target += CC_HYPER_RATE;
    } else if (cc->stage > CC_FAST_STEPS) {
        cc->target += CC_ADD_RATE;
    }
    cc->target = MIN(cc->target, ERNIC_LINE_RATE);
    cc->rate = (cc->rate + cc->target + 1) / 2;
}

static void cc_update(ErnicCc *cc, uint64_t now)
{
    uint64_t steps = (now - cc->alpha_at) / CC_ALPHA_NS;
    uint64_t i;

    cc->alpha_at += steps * CC_ALPHA_NS;
    for (i = 0; i < MIN(steps, CC_CATCH_UP); i++) {
        cc->alpha -= cc->alpha >> CC_G_SHIFT;
    }
    steps = (now - cc->rate_at) / CC_RATE_NS;
    cc->rate_at += steps * CC_RATE_NS;
    for (i = 0; i < MIN(steps, CC_CATCH_UP) && cc->rate < ERNIC_LINE_RATE;
         i++) {
        cc_increase(cc);
    }
    if (cc->rate >= ERNIC_LINE_RATE) {
        cc->limited = false;
    }
}

void ernic_cc_cnp(ErnicCc *cc, uint64_t now)
{
    if (!cc->limited) {
        *cc = (ErnicCc) {
            .limited = true, .rate = ERNIC_LINE_RATE,
            .target = ERNIC_LINE_RATE, .alpha = CC_ONE,
            .send_at = now,
        };
    } else {
        cc_update(cc, now);
        if (now - cc->cut_at < ERNIC_CNP_INTERVAL_NS) {
            return;
        }
        cc->alpha += (CC_ONE - cc->alpha) >> CC_G_SHIFT;
    }
    cc->limited = true;
    cc->target = cc->rate;
    cc->rate -= cc->rate * (cc->alpha / 2) / CC_ONE;
    cc->rate = MAX(cc->rate, CC_MIN_RATE);
    cc->stage = 0;
    cc->alpha_at = cc->rate_at = cc->cut_at = now;
}

void ernic_cc_sent(ErnicCc *cc, uint64_t now, uint32_t bytes)
{
    if (!cc->limited) {
        return;
    }
    cc_update(cc, now);
    cc->send_at = MAX(cc->send_at, now) +
                  (uint64_t)bytes * 1000000000ull / cc->rate;
}
