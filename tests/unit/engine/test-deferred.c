/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deferred free: a reset of the greatest number of objects takes a slice, a thread frees
 * them while the engine goes on, and what waits does not add up.
 */
#include "qemu/osdep.h"
#include <sys/resource.h>
#include <unistd.h>
#include "base/work.h"
#include "counted_pages.h"
#include "cpu_time.h"
#include "deferred.h"
#include "fake_verbs.h"
#include "hand_profile.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "lifecycle.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/qp.h"
#include "state/check.h"
#include "test.h"
#include "timing/timing.h"

#define LIST        2048            /* pages of a region */
#define REGIONS     4000
#define QPS         4000

/* The environment of all engines here: memory that they have handed over. */
static GQueue jobs = G_QUEUE_INIT;
static uint32_t handed_over;
static bool busy;                   /* the engine is to wait */
static ErnicEnvOps ops;

static void free_later(void *env, ErnicDeferred *d)
{
    g_queue_push_tail(&jobs, d);
    handed_over++;
    busy = true;
}

static bool freeing(void *env)
{
    return busy;
}

/* Time that does not pass. */
static uint64_t still(void)
{
    return 1;
}

/* The thread of the environment. */
static void *free_all(void *unused)
{
    ErnicDeferred *d;

    while ((d = g_queue_pop_head(&jobs))) {
        ernic_deferred_free(d);
    }
    return NULL;
}

static void run_jobs(void)
{
    g_thread_join(g_thread_new("free", free_all, NULL));
    busy = false;
}

typedef struct Rig {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
} Rig;

/* The greatest limits. */
static void greatest(ErnicConfig *cfg)
{
    fake_config(cfg);
    cfg->clock = still;
    cfg->max_qp = ERNIC_LIM_QP;
    cfg->max_cq = ERNIC_LIM_CQ;
    cfg->max_srq = ERNIC_LIM_SRQ;
    cfg->max_eq = ERNIC_LIM_EQ;
    cfg->max_mr = ERNIC_MR_UNCHARGED;
    cfg->max_pd = ERNIC_LIM_PD;
}

static void rig_start(Rig *r, const ErnicConfig *cfg)
{
    *r = (Rig) { };
    handed_over = 0;
    ops = fake_env_ops;
    ops.free_later = free_later;
    ops.freeing = freeing;
    fake_env_init(&r->env);
    r->e = ernic_new(cfg, &ops, &r->env);
}

/* With the greatest limits, and these changes of @cfg. */
#define RIG_START(r, ...) \
    ({ ErnicConfig cfg; greatest(&cfg); __VA_ARGS__; rig_start(r, &cfg); })

static void rig_open(Rig *r)
{
    RIG_START(r);
    r->pd = fake_create_pd(r->e);
}

/* The engine ends before its memory is free. */
static void rig_close(Rig *r)
{
    fake_ernic_done(&r->env, r->e);
    run_jobs();
}

#define RIG_TEST(path, fn) WORLD_TEST(path, fn, Rig, r, rig_open(r), rig_close(r))

/* A command; it waits while anything is freed. */
static uint8_t command(Rig *r, struct ernic_cmd *cmd, struct ernic_rsp *rsp)
{
    for (;;) {
        ernic_slice(r->e);
        if (ernic_cmd(r->e, r->env.now, cmd, rsp)) {
            return rsp->status;
        }
        if (busy) {
            ernic_run(r->e, r->env.now);
            IS(r->env.wake, UINT64_MAX);
            run_jobs();
        }
    }
}

/* It frees the few tables that every engine has, of which few pages were used. */
static void reset(Rig *r)
{
    bool touched = r->e->touched;
    int64_t start = cpu_us();

    ernic_reset(r->e);
    /* Printed only: now and then the host takes its time for pages. */
    g_test_message("%" PRId64 " us of a processor", cpu_us() - start);
    /* 1 ms, as the host is slow; a new engine alone takes more than a slice. */
    g_assert_true(!touched || r->e->work.done > ERNIC_WORK_SLICE);
    g_assert_cmpuint(r->e->work.done, <=, 2 * ERNIC_WORK_SLICE);
    IS(r->e->mem.used, 0);
    g_assert_true(ernic_check(r->e, NULL));
}

/* The command that registers @npages pages, whose list has two levels and one leaf. */
static struct ernic_cmd region(Rig *r, uint32_t npages)
{
    uint32_t leaves = DIV_ROUND_UP(npages, 512);
    uint64_t leaf = fake_alloc(&r->env, 4096, 4096);
    uint64_t dir = fake_alloc(&r->env, leaves * 8, 4096);

    for (uint32_t i = 0; i < leaves; i++) {
        stq_le_p(fake_ptr(&r->env, dir + i * 8, 8), leaf);
    }
    return fake_reg_list(r->pd, dir, npages, 2);
}

/* Regions of @npages pages each; the handle of the last one. */
static uint32_t add_regions(Rig *r, uint32_t n, uint32_t npages)
{
    struct ernic_cmd cmd = region(r, npages);
    uint32_t key = 0;

    while (n--) {
        key = fake_make(r->e, &cmd);
    }
    return key;
}

static void add_qps(Rig *r, uint32_t n)
{
    uint64_t mark = r->env.next;
    FakeCq cq;
    FakeQp qp;

    fake_create_cq(r->e, &cq, 64, FAKE_NONE);
    while (n--) {
        fake_create_deep_qp(r->e, &qp, ERNIC_QPT_RC, r->pd, cq.cqn, cq.cqn, 64);
        /* Requests that were decoded once: the host has provided the pages. */
        memset(r->e->qp[qp.qpn].sq.wqe, 0, 64 * 600);
        r->env.next = mark + 65536;
    }
}

static void add_all(Rig *r)
{
    r->pd = fake_create_pd(r->e);
    add_regions(r, 1, 1 << 22);
    add_regions(r, REGIONS, LIST);
    add_regions(r, REGIONS, 1);
    add_qps(r, QPS);
}

/*
 * The engine is as new at once, but executes no command before its old objects are free.
 * Resets meanwhile change nothing, and hand over nothing.
 */
RIG_TEST("/deferred/reset", test_reset)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    g_autoptr(GByteArray) fresh = NULL;
    struct ernic_rsp rsp;
    uint64_t before;

    reset(r);
    run_jobs();
    fresh = fake_saved(r->e);
    for (uint32_t i = 1; i < 3; i++) {
        add_all(r);
        handed_over = 0;
        before = returned;
        reset(r);
        /* Tables that are not handed over, of which few pages were used, and a probe. */
        g_assert_cmpuint(returned - before, <, 64 * ERNIC_PIECE);
        IS(handed_over, 1);
        fake_state_is(r->e, fresh);
        g_assert_false(ernic_cmd(r->e, r->env.now, &cmd, &rsp));
        reset(r);
        reset(r);
        IS(handed_over, 1);
        fake_state_is(r->e, fresh);
        OK(command(r, &cmd, &rsp));
        reset(r);
        run_jobs();
    }
}

/* The thread frees the old objects while the engine makes new ones. */
RIG_TEST("/deferred/beside", test_beside)
{
    GThread *thread;

    for (uint32_t i = 0; i < 3; i++) {
        add_regions(r, 1000, 64);
        add_qps(r, 500);
        reset(r);
        thread = g_thread_new("free", free_all, NULL);
        busy = false;               /* the engine does not wait for it */
        r->pd = fake_create_pd(r->e);
        add_regions(r, 1000, 64);
        ernic_run(r->e, r->env.now);
        g_assert_true(ernic_check(r->e, NULL));
        g_thread_join(thread);
        g_assert_true(ernic_check(r->e, NULL));
        reset(r);
        run_jobs();
        r->pd = fake_create_pd(r->e);
    }
}

/*
 * A region ends whose list has 2^23 pages. As much can be registered again: the command
 * waits until the memory is free.
 */
RIG_TEST("/deferred/list", test_list)
{
    struct ernic_cmd drop = { .opcode = ERNIC_CMD_MR_FREE }, again;
    struct ernic_rsp rsp;
    uint64_t before;

    drop.handle.handle = cpu_to_le32(add_regions(r, 1, 1 << 23));
    r->e->mem.bound = r->e->mem.used;
    again = region(r, 1 << 23);
    for (uint32_t i = 0; i < 3; i++) {
        before = returned;
        OK(command(r, &drop, &rsp));
        IS(returned, before);
        IS(handed_over, i + 1);
        g_assert_false(ernic_cmd(r->e, r->env.now, &again, &rsp));
        OK(command(r, &again, &rsp));
        g_assert_true(!ERNIC_OWN_PAGES || returned - before >= 64 << 20);
        drop.handle.handle = rsp.handle;
    }
    /* A reset meanwhile hands over its objects as well. */
    OK(command(r, &drop, &rsp));
    reset(r);
    IS(handed_over, 5);
}

/*
 * A queue pair ends whose completions are on their way, by a command that had to wait.
 * None of them comes after the answer, when software has forgotten it.
 */
TEST("/deferred/completion", test_completion)
{
    struct ernic_cmd drop = { .opcode = ERNIC_CMD_QP_DESTROY };
    struct ernic_rsp rsp;
    uint32_t key, seen;
    FakeCq cq;
    FakeQp qp;
    Rig r;

    RIG_START(&r, cfg.timing = &hand);
    ernic_set_link(r.e, r.env.now, true);
    fake_set_gid(r.e, 0, 1);
    r.pd = fake_create_pd(r.e);
    key = fake_reg_mr(r.e, r.pd, r.env.base, 64, ERNIC_ACCESS_LOCAL_WRITE |
                      ERNIC_ACCESS_REMOTE_WRITE);
    fake_create_cq(r.e, &cq, 64, FAKE_NONE);
    fake_create_qp(r.e, &qp, ERNIC_QPT_RC, r.pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_connect(r.e, &qp, qp.qpn, 1);
    OK(fake_destroy(r.e, ERNIC_CMD_MR_FREE, add_regions(&r, 1, 1 << 20)));
    IS(busy, true);
    fake_rdma(r.e, &qp, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, r.env.base, 64, key,
              r.env.base, key);
    drop.handle.handle = cpu_to_le32(qp.qpn);
    ernic_slice(r.e);
    g_assert_false(ernic_cmd(r.e, r.env.now, &drop, &rsp));
    while (!r.e->timing->cqes.count) {
        fake_advance(r.e, 1);
    }
    run_jobs();
    OK(command(&r, &drop, &rsp));
    seen = r.e->cq[cq.cqn].pi;
    fake_advance(r.e, 1000000);
    IS(r.e->cq[cq.cqn].pi, seen);
    rig_close(&r);
}

/* Bytes of this process that the host has in memory. */
static uint64_t resident(void)
{
    uint64_t total, pages;
    FILE *f = fopen("/proc/self/statm", "r");

    g_assert_nonnull(f);
    IS(fscanf(f, "%" SCNu64 " %" SCNu64, &total, &pages), 2);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* A guest that fills the engine and resets it, over and over. */
RIG_TEST("/deferred/loop", test_loop)
{
    enum { ROUNDS = 60, PAGES = 1000, N = 2000, BYTES = PAGES * N * 8 };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_rsp rsp;
    uint64_t most = 0;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        add_regions(r, N, PAGES);
        if (i < 10) {
            most = MAX(most, resident());
        } else if (ERNIC_OWN_PAGES) {       /* a sanitizer keeps what is freed */
            g_assert_cmpuint(resident(), <, most + BYTES);
        }
        ernic_reset(r->e);
        OK(command(r, &cmd, &rsp));
        r->pd = le32_to_cpu(rsp.handle);
    }
}

/* The same of software that has no commands: its second engine is freed at once. */
TEST("/deferred/registers", test_registers)
{
    Rig r;

    RIG_START(&r, cfg.pg332 = 1 + PG332_V4_0; cfg.max_qp = 2048);
    for (uint32_t i = 0; i < 10; i++) {
        r.e->touched = true;
        ernic_reset(r.e);
        IS(handed_over, 1);
    }
    rig_close(&r);
    IS(handed_over, 1);
}

/* Runs that have to repeat do not depend on a thread. */
TEST("/deferred/no-clock", test_no_clock)
{
    Rig r;

    RIG_START(&r, cfg.clock = NULL);
    r.pd = fake_create_pd(r.e);
    OK(fake_destroy(r.e, ERNIC_CMD_MR_FREE, add_regions(&r, 1, 1 << 20)));
    add_regions(&r, 100, LIST);
    ernic_reset(r.e);
    fake_create_pd(r.e);
    rig_close(&r);
    IS(handed_over, 0);
}

/*
 * A processor resets over and over: an engine that nobody has used is not made anew. The
 * reset undoes all that the link and runs did to it meanwhile.
 */
RIG_TEST("/deferred/again", test_again)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    g_autoptr(GByteArray) fresh = NULL;

    reset(r);
    run_jobs();
    fresh = fake_saved(r->e);
    for (int i = 0; i < 3; i++) {
        ernic_set_link(r->e, r->env.now, true);
        ernic_run(r->e, r->env.now);
        reset(r);
        IS(r->e->work.done, 0);
        g_assert_false(r->e->port_active);
        fake_state_is(r->e, fresh);
    }
    OK(command(r, &cmd, &(struct ernic_rsp) { }));
    reset(r);
    g_assert_cmpuint(r->e->work.done, >, ERNIC_WORK_SLICE);
    fake_state_is(r->e, fresh);
}

/* The interfaces, and the most pages that the host may provide for a reset. */
static const struct {
    const char *name;
    uint8_t pg332;
    bool mlx5;
    uint32_t most;
} interfaces[] = {
    { "verbs", 0, false, 32 },
    { "pg332", 1 + PG332_V4_0, false, 32 },
    { "mlx5", 0, true, 32 },
};

/*
 * The same when a call of software comes before each reset: a new engine has tables of
 * which no page exists.
 */
ROW_TEST("/deferred/used", interfaces, interface, test_used)
{
    enum { RESETS = 30 };
    ErnicMlx5Config mlx5 = { .max_mtu = 9022 };
    struct rusage before, after;
    int64_t start, ns = 0;
    ErnicConfig cfg;
    FakeEnv env;
    Ernic *e;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("the tables have no pages of their own");
        return;
    }
    greatest(&cfg);
    fake_env_init(&env);
    cfg.pg332 = interface->pg332;
    cfg.max_qp = interface->pg332 ? 2048 : cfg.max_qp;
    cfg.mlx5 = interface->mlx5 ? &mlx5 : NULL;
    e = ernic_new(&cfg, &fake_env_ops, &env);
    for (int i = 0; i < RESETS + 3; i++) {
        if (i == 3) {                   /* the host's allocator has what it needs */
            getrusage(RUSAGE_SELF, &before);
        }
        ernic_set_link(e, env.now, true);
        ernic_mmio_read(e, env.now);
        g_assert_true(e->touched);
        start = cpu_ns();
        ernic_reset(e);
        ns += i < 3 ? 0 : cpu_ns() - start;
    }
    getrusage(RUSAGE_SELF, &after);
    g_test_message("%ld pages and %" PRId64 " us of a processor for each reset",
                   (after.ru_minflt - before.ru_minflt) / RESETS, ns / 1000 / RESETS);
    g_assert_cmpint(after.ru_minflt - before.ru_minflt, <=, interface->most * RESETS);
    fake_ernic_done(&env, e);
}

/* A state finds all the room, whatever the engine has, or had before a reset. */
RIG_TEST("/deferred/load", test_load)
{
    g_autoptr(GByteArray) state = NULL;

    add_regions(r, 1, 1 << 22);
    state = fake_saved(r->e);
    r->e->cfg.max_memory = r->e->mem.bound = r->e->mem.used;
    reset(r);
    g_assert_true(ernic_load(r->e, r->env.now, state->data, state->len));
    IS(r->e->mem.used, r->e->mem.bound);
    g_assert_true(ernic_load(r->e, r->env.now, state->data, state->len));
    IS(handed_over, 1);
}

/* A state in which an object with memory is free is refused, and the memory is freed. */
RIG_TEST("/deferred/refused", test_refused)
{
    g_autoptr(GByteArray) state = NULL;
    uint32_t key = add_regions(r, 1, 4096);

    ernic_ids_free(&r->e->mr_ids, key >> 8);
    state = fake_saved(r->e);
    g_assert_false(ernic_load(r->e, r->env.now, state->data, state->len));
    IS(r->e->mem.used, 0);
}

/*
 * Many keys: neither a reset nor the thread walks those that never existed, of which the
 * host would have to provide the pages.
 */
TEST("/deferred/keys", test_keys)
{
    enum { KEYS = 1 << 19, TOUCHED = 1000 };
    ErnicMlx5Config mlx5 = { .max_mtu = 9022 };
    struct rusage before, after;
    uint8_t in_memory;
    uintptr_t last;
    uint32_t key;
    Rig r;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("the tables have no pages of their own");
        return;
    }
    RIG_START(&r, cfg.mlx5 = &mlx5; cfg.max_mr = KEYS);
    OK(ernic_pd_alloc(r.e, 0, &r.pd));
    r.e->touched = true;
    for (uint32_t i = 0; i < TOUCHED; i++) {
        OK(ernic_mr_alloc(r.e, 0, r.pd, 1, &key));
    }
    last = (uintptr_t)&r.e->mr[KEYS - 1] & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    ernic_reset(r.e);
    IS(mincore((void *)last, 1, &in_memory), 0);
    IS(in_memory & 1, 0);
    getrusage(RUSAGE_SELF, &before);
    free_all(NULL);
    busy = false;
    getrusage(RUSAGE_SELF, &after);
    g_assert_cmpint(after.ru_minflt - before.ru_minflt, <, 100);
    IS(mincore((void *)last, 1, &in_memory), -1);
    rig_close(&r);
}

/* From now on the process gets no more than @bytes of address space. */
static void limit_memory(uint64_t bytes)
{
    struct rlimit limit;
    uint64_t pages;
    FILE *f = fopen("/proc/self/statm", "r");

    g_assert_nonnull(f);
    IS(fscanf(f, "%" SCNu64, &pages), 1);
    fclose(f);
    IS(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) + bytes;
    IS(setrlimit(RLIMIT_AS, &limit), 0);
}

/*
 * A host that limits memory, or locks it with a limit: an engine has no room beside the
 * old one, and a reset needs none. Commands fail, and work when there is room again.
 */
TEST("/deferred/limited", test_limited)
{
    Rig r;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("a sanitizer needs address space");
        return;
    }
    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        return;
    }
    rig_open(&r);
    add_regions(&r, REGIONS, LIST);
    for (uint32_t i = 0; i < 3; i++) {
        limit_memory(4 << 20);
        ernic_reset(r.e);
        IS(handed_over, 0);
        IS(r.e->mem.used, 0);
        g_assert_true(ernic_check(r.e, NULL));
        r.pd = fake_create_pd(r.e);
        add_regions(&r, 100, 1);
    }
    fake_ernic_done(&r.env, r.e);
}
