/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The DCQCN reaction point (Zhu et al., SIGCOMM 2015): a CNP cuts the rate by half the
 * congestion estimate. Without CNPs the estimate decays and the rate recovers, first
 * to its value before the cut, then beyond.
 */
#include "qemu/osdep.h"
#include "base/limits.h"
#include "timing/profile.h"
#include "transport/cc.h"

#define CC_ONE          (1u << 16)
#define CC_G_SHIFT      8               /* gain g = 1/256 */
#define CC_ALPHA_NS     55000
#define CC_RATE_NS      300000
#define CC_FAST_STEPS   5
#define CC_HYPER_STEPS  10
#define CC_ADD_RATE     5000000ull      /* 40 Mb/s */
#define CC_HYPER_RATE   50000000ull     /* 400 Mb/s */
#define CC_MIN_RATE     1250000ull      /* 10 Mb/s */
/* Bytes per second of 1 Mb/s. */
#define CC_MBPS         125000ull
/* Increase steps to catch up after a pause; they reach the rate of any link. */
#define CC_CATCH_UP     (ERNIC_LINK_RATE_MAX / CC_HYPER_RATE + 64)

uint32_t ernic_link_mbps(const ErnicConfig *cfg)
{
    return cfg->timing ? cfg->timing->wire_mbps : cfg->link_speed;
}

/* The link rate in bytes per second. A rate limit is below it. */
static uint64_t cc_link_rate(const ErnicConfig *cfg)
{
    return ernic_link_mbps(cfg) * CC_MBPS;
}

void ernic_cc_reset(ErnicCc *cc)
{
    memset(cc, 0, sizeof(*cc));
}

static void cc_increase(ErnicCc *cc, uint64_t link_rate)
{
    cc->stage++;
    if (cc->stage > CC_HYPER_STEPS) {
        cc->target += CC_HYPER_RATE;
    } else if (cc->stage > CC_FAST_STEPS) {
        cc->target += CC_ADD_RATE;
    }
    cc->target = MIN(cc->target, link_rate);
    cc->rate = (cc->rate + cc->target + 1) / 2;
}

static void cc_update(ErnicCc *cc, uint64_t link_rate, uint64_t now)
{
    uint64_t steps = (now - cc->alpha_at) / CC_ALPHA_NS;
    uint64_t i;

    cc->alpha_at += steps * CC_ALPHA_NS;
    /* It does not decay below 1 / g. */
    for (i = 0; i < steps && cc->alpha >> CC_G_SHIFT; i++) {
        cc->alpha -= cc->alpha >> CC_G_SHIFT;
    }
    steps = (now - cc->rate_at) / CC_RATE_NS;
    cc->rate_at += steps * CC_RATE_NS;
    for (i = 0; i < MIN(steps, CC_CATCH_UP) && cc->rate < link_rate; i++) {
        cc_increase(cc, link_rate);
    }
    /* A higher rate comes only from the saved state of a device with a faster link. */
    cc->rate = MIN(cc->rate, link_rate);
    if (cc->rate == link_rate) {
        cc->limited = false;
    }
}

bool ernic_cc_cnp(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now)
{
    uint64_t link_rate = cc_link_rate(cfg);

    if (!cc->limited) {
        *cc = (ErnicCc) {
            .rate = link_rate, .alpha = CC_ONE, .send_at = now,
        };
    } else {
        cc_update(cc, link_rate, now);
        if (now - cc->cut_at < ERNIC_CNP_INTERVAL_NS) {
            return false;
        }
        cc->alpha += (CC_ONE - cc->alpha) >> CC_G_SHIFT;
    }
    cc->limited = true;
    cc->target = cc->rate;
    cc->rate -= cc->rate * (cc->alpha / 2) / CC_ONE;
    cc->rate = MAX(cc->rate, MIN(CC_MIN_RATE, link_rate / 2));
    cc->stage = 0;
    cc->alpha_at = cc->rate_at = cc->cut_at = now;
    return cc->rate < cc->target;
}

void ernic_cc_sent(ErnicCc *cc, const ErnicConfig *cfg, uint64_t now,
                   uint32_t bytes)
{
    if (!cc->limited) {
        return;
    }
    cc_update(cc, cc_link_rate(cfg), now);
    cc->send_at = MAX(cc->send_at, now) +
                  (uint64_t)bytes * 1000000000ull / cc->rate;
}
