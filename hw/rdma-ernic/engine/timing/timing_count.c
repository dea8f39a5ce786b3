/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of the timing model, extrapolated to the present.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "timing/timing.h"
#include "timing/timing_count.h"

#define PS_PER_NS   1000

QEMU_BUILD_BUG_ON(ERNIC_STAGE_COUNT != ERNIC_TIMING_NUM_STAGES);
QEMU_BUILD_BUG_ON(ERNIC_TIMED_QUEUES != ERNIC_TIMING_NUM_QUEUES);
QEMU_BUILD_BUG_ON(sizeof(struct ernic_timing_stage) != sizeof(ErnicStageCount));
QEMU_BUILD_BUG_ON(sizeof(struct ernic_timing_queue) != sizeof(ErnicQueueCount));

/* ps from the origin to @now: 0 before it, saturated if too many for 64 bits. */
static uint64_t present(const ErnicTiming *t, uint64_t now)
{
    bool begun = t->since != ERNIC_NEVER && now > t->epoch;
    uint64_t ns = begun ? now - t->epoch : 0;

    return ns > UINT64_MAX / PS_PER_NS ? UINT64_MAX : ns * PS_PER_NS;
}

/* @now: ps since the origin. */
static void count_stage(const ErnicStageState *s, uint64_t now, ErnicStageCount *c)
{
    *c = (ErnicStageCount) {
        .items = s->items, .busy = s->busy, .stalled = s->stalled,
        .idle = s->idle + (now > s->free ? now - s->free : 0),
        .waited = s->waited,
    };
}

static void count_line(const ErnicDelayFifo *l, uint64_t now, ErnicQueueCount *c)
{
    *c = (ErnicQueueCount) {
        .size = l->slots, .count = l->count, .peak = l->peak,
        .area = ernic_delay_fifo_area(l, now) * PS_PER_NS,
    };
}

/* @now: ps since the origin. */
static void count_limit(const ErnicLimit *l, uint64_t now, ErnicQueueCount *c)
{
    *c = (ErnicQueueCount) {
        .size = l->size, .count = ernic_limit_count(l, now),
        .peak = l->peak, .area = l->area,
    };
}

static void count_level(const ErnicLevel *l, uint64_t now, ErnicQueueCount *c)
{
    *c = (ErnicQueueCount) {
        .size = l->size, .count = l->count, .peak = l->peak,
        .area = ernic_level_area(l, now) * PS_PER_NS,
    };
}

/* The member of ErnicTiming, and its kind, for each row of ERNIC_TIMING_QUEUES. */
#define LINE(member)    { offsetof(ErnicTiming, member), IS_LINE }
#define LIMIT(member)   { offsetof(ErnicTiming, member), IS_LIMIT }
#define LEVEL(member)   { offsetof(ErnicTiming, member), IS_LEVEL }
static const struct {
    size_t offset;
    enum { IS_LINE, IS_LIMIT, IS_LEVEL } kind;
} queues[ERNIC_TIMED_QUEUES] = {
    [ERNIC_TIMED_DOORBELLS] = LINE(doorbells),
    [ERNIC_TIMED_TX] = LINE(tx),
    [ERNIC_TIMED_RX] = LINE(rx),
    [ERNIC_TIMED_CQES] = LINE(cqes),
    [ERNIC_TIMED_FETCHES] = LIMIT(fetch),
    [ERNIC_TIMED_READS] = LIMIT(dma),
    [ERNIC_TIMED_RESPONSES] = LIMIT(rsp),
    [ERNIC_TIMED_WRITES] = LIMIT(posted),
    [ERNIC_TIMED_REQUESTS] = LEVEL(requests),
    [ERNIC_TIMED_RETRY] = LEVEL(retry.kept),
};
#undef LINE
#undef LIMIT
#undef LEVEL

static void count_queue(const ErnicTiming *t, uint64_t now,
                        ErnicTimedQueue queue, ErnicQueueCount *c)
{
    const void *at = (const uint8_t *)t + queues[queue].offset;

    switch (queues[queue].kind) {
    case IS_LINE:
        count_line(at, now, c);
        break;
    case IS_LIMIT:
        count_limit(at, present(t, now), c);
        break;
    default:
        count_level(at, now, c);
    }
}

uint32_t ernic_timing_queued(const Ernic *e, ErnicTimedQueue queue)
{
    ErnicQueueCount c;

    count_queue(e->timing, e->now, queue, &c);
    return c.count;
}

bool ernic_timing_count(const Ernic *e, uint64_t now, ErnicTimingCount *c)
{
    const ErnicTiming *t = e->timing;
    uint32_t i;

    if (!t) {
        return false;
    }
    c->since = MIN(t->since, now);
    c->now = now;
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        count_stage(&t->server[i], present(t, now), &c->stage[i]);
    }
    for (i = 0; i < ERNIC_TIMED_QUEUES; i++) {
        count_queue(t, now, i, &c->queue[i]);
    }
    return true;
}

/* ---- for software ---------------------------------------------------------- */

/* Store @num counters from @from on in little-endian order. */
static void put(ernic_le64 *to, const void *from, uint32_t num)
{
    const uint64_t *v = from;
    uint32_t i;

    for (i = 0; i < num; i++) {
        to[i] = cpu_to_le64(v[i]);
    }
}

void ernic_timing_info(const Ernic *e, struct ernic_timing_info *info)
{
    ErnicTimingCount c;

    memset(info, 0, sizeof(*info));
    if (!ernic_timing_count(e, e->now, &c)) {
        return;
    }
    *info = (struct ernic_timing_info) {
        .since = cpu_to_le64(c.since), .now = cpu_to_le64(c.now),
        .num_stages = cpu_to_le16(ERNIC_STAGE_COUNT),
        .stage_size = cpu_to_le16(sizeof(info->stage[0])),
        .num_queues = cpu_to_le16(ERNIC_TIMED_QUEUES),
        .queue_size = cpu_to_le16(sizeof(info->queue[0])),
    };
    put(&info->stage[0].items, c.stage, sizeof(c.stage) / (sizeof(uint64_t)));
    put(&info->queue[0].size, c.queue, sizeof(c.queue) / (sizeof(uint64_t)));
}

uint32_t ernic_timing_word(const Ernic *e, uint32_t offset)
{
    struct ernic_timing_info info;

    if (offset > sizeof(info) - sizeof(uint32_t)) {
        return 0;
    }
    ernic_timing_info(e, &info);
    return ldl_le_p((const uint8_t *)&info + offset);
}
