/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Fake environment: guest memory is an array, the rest is written down.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <sys/mman.h>
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/job.h"
#include "fake_env.h"
#include "trace-mark.h"
#include "base/timer.h"
#include "interfaces/interface.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "transport/qp.h"

#define GUARD   (64u << 10)     /* bytes around guest memory; pages of any host */

static bool inside(const FakeEnv *env, uint64_t addr, uint64_t len)
{
    return addr >= env->base && addr - env->base <= env->size &&
           len <= env->size - (addr - env->base);
}

/* Count one more access; return whether it fails on purpose or misses memory. */
static bool refuse(FakeEnv *env, uint64_t addr, uint64_t len)
{
    bool fail = env->fail_on || !inside(env, addr, len);

    if (env->fail_in && --env->fail_in == 0) {
        fail = true;
        env->fail_on = env->fail_for_good;
    }
    env->refused += fail;
    return fail;
}

static bool fake_dma_read(void *opaque, uint64_t addr, void *buf, uint64_t len)
{
    FakeEnv *env = opaque;

    env->reads++;
    if (refuse(env, addr, len)) {
        return false;
    }
    memcpy(buf, env->mem + (addr - env->base), len);
    return true;
}

static bool fake_dma_write(void *opaque, uint64_t addr, const void *buf, uint64_t len)
{
    FakeEnv *env = opaque;

    env->writes++;
    if (refuse(env, addr, len)) {
        return false;
    }
    memcpy(env->mem + (addr - env->base), buf, len);
    return true;
}

static bool fake_dma_atomic64(void *opaque, uint64_t addr, ErnicAtomicOp op,
                              uint64_t arg, uint64_t compare, uint64_t *old)
{
    FakeEnv *env = opaque;
    uint64_t word;

    env->atomics++;
    g_assert_cmpuint(addr % 8, ==, 0);
    if (refuse(env, addr, 8)) {
        return false;
    }
    word = fake_get64(env, addr);
    *old = word;
    if (op == ERNIC_ATOMIC_FETCH_ADD) {
        fake_put64(env, addr, word + arg);
    } else if (op == ERNIC_ATOMIC_WRITE || word == compare) {
        fake_put64(env, addr, arg);
    }
    return true;
}

static bool fake_tx(void *opaque, const ErnicTrain *train)
{
    FakeEnv *env = opaque;
    FakeTrain *copy;

    g_assert(train->data && train->len > 0 && train->seg > 0);
    if (env->tx_busy && !(train->frame && env->frames_pass)) {
        return false;
    }
    if (env->tx_keeps && (!env->tx_kept || env->tx_keeps_one)) {
        env->tx_kept = train->serial;
    }
    copy = g_new0(FakeTrain, 1);
    copy->train = *train;
    copy->train.ip = NULL;
    copy->train.data = g_memdup2(train->data, train->len);
    copy->now = env->now;
    g_ptr_array_add(env->trains, copy);
    return true;
}

static uint64_t fake_tx_departed(void *opaque)
{
    FakeEnv *env = opaque;

    return env->tx_kept ? env->tx_kept - 1 : UINT64_MAX;
}

void fake_tx_leave(FakeEnv *env)
{
    env->tx_keeps = env->tx_keeps_one = false;
    env->tx_kept = 0;
}

static void fake_irq(void *opaque, uint16_t vector)
{
    FakeEnv *env = opaque;

    g_array_append_val(env->irqs, vector);
}

static void fake_user_logic(void *opaque)
{
    FakeEnv *env = opaque;

    env->user_calls++;
}

static void fake_wake_at(void *opaque, uint64_t ns)
{
    FakeEnv *env = opaque;

    g_array_append_val(env->wakes, ns);
    env->wake = ns;
}

const ErnicEnvOps fake_env_ops = {
    .dma_read = fake_dma_read,
    .dma_write = fake_dma_write,
    .dma_atomic64 = fake_dma_atomic64,
    .tx = fake_tx,
    .tx_departed = fake_tx_departed,
    .irq = fake_irq,
    .user_logic = fake_user_logic,
    .wake_at = fake_wake_at,
};

/*
 * Pages that nothing touches cost nothing, as they would under ASan, which marks each
 * byte that it gives out. The pages before and after cannot be touched.
 */
static uint8_t *map_memory(uint64_t bytes)
{
    uint8_t *p = mmap(NULL, bytes + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);

    int ret;

    g_assert(p != MAP_FAILED && bytes % GUARD == 0);
    ret = mprotect(p + GUARD, bytes, PROT_READ | PROT_WRITE);
    g_assert(ret == 0);
    return p + GUARD;
}

static void unmap_memory(uint8_t *p, uint64_t bytes)
{
    munmap(p - GUARD, bytes + 2 * GUARD);
}

void fake_env_init(FakeEnv *env)
{
    fake_env_init_sized(env, FAKE_MEM_SIZE);
}

void fake_env_init_sized(FakeEnv *env, uint64_t bytes)
{
    *env = (FakeEnv) {
        .mem = map_memory(bytes),
        .size = bytes,
        .base = FAKE_MEM_BASE,
        .next = FAKE_SCRATCH,
        .now = 1000000,
        .trains = g_ptr_array_new(),
        .irqs = g_array_new(false, false, sizeof(uint16_t)),
        .wakes = g_array_new(false, false, sizeof(uint64_t)),
        .wake = ERNIC_NEVER,
    };
}

void fake_env_fini(FakeEnv *env)
{
    FakeTrain *train;

    while ((train = fake_take_train(env))) {
        fake_train_free(train);
    }
    g_ptr_array_free(env->trains, true);
    g_array_free(env->irqs, true);
    g_array_free(env->wakes, true);
    unmap_memory(env->mem, env->size);
    memset(env, 0, sizeof(*env));
}

void fake_fail_dma(FakeEnv *env, uint64_t nth, bool for_good)
{
    env->fail_in = nth;
    env->fail_for_good = for_good;
    env->fail_on = false;
    env->refused = 0;
}

uint64_t fake_alloc(FakeEnv *env, uint64_t bytes, uint64_t align)
{
    uint64_t at = ROUND_UP(env->next, align);

    g_assert(align && !(align & (align - 1)));
    g_assert(at <= env->size && bytes <= env->size - at);
    env->next = at + bytes;
    memset(env->mem + at, 0, bytes);
    return env->base + at;
}

void *fake_ptr(FakeEnv *env, uint64_t addr, uint64_t len)
{
    g_assert(inside(env, addr, len));
    return env->mem + (addr - env->base);
}

void fake_put64(FakeEnv *env, uint64_t addr, uint64_t value)
{
    stq_le_p(fake_ptr(env, addr, 8), value);
}

uint64_t fake_get64(FakeEnv *env, uint64_t addr)
{
    return ldq_le_p(fake_ptr(env, addr, 8));
}

FakeTrain *fake_take_train(FakeEnv *env)
{
    return env->trains->len ? g_ptr_array_steal_index(env->trains, 0) : NULL;
}

void fake_train_free(FakeTrain *train)
{
    g_free((void *)train->train.data);
    g_free(train);
}

uint32_t fake_lose_trains(FakeEnv *env)
{
    FakeTrain *train;
    uint32_t n;

    for (n = 0; (train = fake_take_train(env)); n++) {
        fake_train_free(train);
    }
    return n;
}

uint64_t fake_clock(void)
{
    static uint64_t ns;

    return ns += ERNIC_WORK_NS;
}

void fake_config(ErnicConfig *cfg)
{
    *cfg = (ErnicConfig) {
        .max_qp = 64,
        .max_cq = 64,
        .max_srq = 16,
        .max_eq = 8,
        .max_mr = 256,
        .max_pd = 32,
        .max_uctx = 8,
        .num_vectors = 8,
        .mtu = 5,
        .link_speed = 40000,
        .raw = true,
        .clock = g_getenv("ERNIC_FAKE_CLOCK") ? fake_clock : NULL,
    };
}

void fake_bare_init(Ernic *e, FakeEnv *env)
{
    fake_env_init(env);
    ernic_trace_set_mode(ERNIC_TRACE_RING);
    ernic_trace_reset();
    memset(e, 0, sizeof(*e));
    e->ops = &fake_env_ops;
    e->env = env;
    e->interface = &ernic_interface_verbs;
    e->keys = e->interface->keys;
    e->cqes = e->interface->cqes;
    e->eqs = e->interface->eqs;
    e->now = env->now;
    e->mem.bound = UINT64_MAX;
    fake_config(&e->cfg);
    ernic_ids_init(&e->pd_ids, 1, e->cfg.max_pd);
    ernic_ids_init(&e->eq_ids, 1, e->cfg.max_eq);
    ernic_ids_init(&e->cq_ids, 1, e->cfg.max_cq);
    ernic_ids_init(&e->srq_ids, 1, e->cfg.max_srq);
    ernic_ids_init(&e->mr_ids, 1, e->cfg.max_mr);
    ernic_ids_init(&e->qp_ids, 2, e->cfg.max_qp);
    ernic_ids_init(&e->uctx_ids, 1, e->cfg.max_uctx);
    e->job = ernic_job_new();
    e->work.end = UINT64_MAX;           /* one slice for everything */
    e->pd = g_new0(ErnicPd, e->pd_ids.size);
    e->eq = g_new0(ErnicEq, e->eq_ids.size);
    e->cq = g_new0(ErnicCq, e->cq_ids.size);
    e->srq = g_new0(ErnicSrq, e->srq_ids.size);
    e->mr = g_new0(ErnicMr, e->mr_ids.size);
    e->qp = g_new0(ErnicQp, e->qp_ids.size);
    e->mcast = g_new0(ErnicMcast, ERNIC_LIM_MCAST_ATTACH);
    e->flow = g_new0(ErnicFlow, ERNIC_LIM_FLOW + 1);
    e->rss = g_new0(ErnicRss, ERNIC_LIM_RSS + 1);
    e->counter = g_new0(ErnicCounter, ERNIC_LIM_COUNTER + 1);
    e->counter[0].used = true;
    e->timers = ernic_timers_new(e->qp_ids.size);
    e->cq_timers = ernic_timers_new(e->cq_ids.size);
    e->events_at[ERNIC_EVC_CQ] = (ErnicEventsAt) { &e->cq->events, sizeof(*e->cq) };
    e->events_at[ERNIC_EVC_QP] = (ErnicEventsAt) { &e->qp->events, sizeof(*e->qp) };
    e->events_at[ERNIC_EVC_SRQ] = (ErnicEventsAt) { &e->srq->events, sizeof(*e->srq) };
    e->events_at[ERNIC_EVC_PORT] = (ErnicEventsAt) { &e->port_events, 0 };
}

void fake_bare_fini(Ernic *e)
{
    ErnicIds *ids[] = {
        &e->pd_ids, &e->eq_ids, &e->cq_ids, &e->srq_ids, &e->mr_ids,
        &e->qp_ids, &e->uctx_ids,
    };

    ernic_job_free(e);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        ernic_ids_fini(ids[i]);
    }
    g_free(e->pd);
    g_free(e->eq);
    g_free(e->cq);
    g_free(e->srq);
    g_free(e->mr);
    g_free(e->qp);
    g_free(e->mcast);
    g_free(e->flow);
    g_free(e->rss);
    g_free(e->counter);
    ernic_timers_free(e->timers);
    ernic_timers_free(e->cq_timers);
    fake_env_fini(e->env);
    memset(e, 0, sizeof(*e));
}
