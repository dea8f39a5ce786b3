/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory of objects that are gone: with the greatest limits, no call frees more than a
 * slice of it, and it is charged until it is free.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/work.h"
#include "cpu_time.h"
#include "fake_verbs.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "lifecycle.h"
#include "objects/mr.h"
#include "objects/qp.h"
#include "remains.h"
#include "state/check.h"
#include "test.h"

/* The work of a call may exceed its slice by one step. */
#define STEP        ERNIC_WORK_PIECE
#define LIST        2048            /* pages of a region */
#define REGIONS     4000
#define QPS         4000

/* Bytes that the host got back; malloc() does not call this function. */
static uint64_t returned;

/* A table, and bytes of it that the host got back. */
typedef struct Watched {
    char *table;
    size_t bytes;
    uint64_t returned;
} Watched;

static Watched watched[3];

#if ERNIC_OWN_PAGES
int munmap(void *addr, size_t len)
{
    returned += len;
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
        Watched *w = &watched[i];

        if ((char *)addr >= w->table && (char *)addr < w->table + w->bytes) {
            w->returned += len;
        }
    }
    return syscall(SYS_munmap, addr, len);
}
#endif

typedef struct Rig {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
    int64_t worst;              /* us, of a call since rig_open() */
} Rig;

/* The greatest limits. */
static void greatest(ErnicConfig *cfg)
{
    fake_config(cfg);
    cfg->max_qp = ERNIC_LIM_QP;
    cfg->max_cq = ERNIC_LIM_CQ;
    cfg->max_srq = ERNIC_LIM_SRQ;
    cfg->max_eq = ERNIC_LIM_EQ;
    cfg->max_mr = ERNIC_MR_UNCHARGED;
    cfg->max_pd = ERNIC_LIM_PD;
}

static void rig_open(Rig *r)
{
    ErnicConfig cfg;

    *r = (Rig) { };
    fake_env_init(&r->env);
    greatest(&cfg);
    r->e = ernic_new(&cfg, &fake_env_ops, &r->env);
    r->pd = fake_create_pd(r->e);
}

static void rig_close(Rig *r)
{
    /* Printed only: now and then the host takes its time for pages. */
    g_test_message("the longest call took %" PRId64 " us of a processor", r->worst);
    fake_ernic_done(&r->env, r->e);
}

#define RIG_TEST(path, fn) WORLD_TEST(path, fn, Rig, r, rig_open(r), rig_close(r))

static void took(Rig *r, int64_t start, uint64_t work)
{
    r->worst = MAX(r->worst, cpu_us() - start);
    g_assert_cmpuint(r->e->work.done - work, <=, ERNIC_WORK_SLICE + STEP);
}

/* Runs until the memory is free; returns how often. */
static uint32_t run_free(Rig *r)
{
    uint64_t used = r->e->mem.used, work;
    uint32_t runs = 0;
    int64_t start;

    while (ernic_has_remains(r->e)) {
        r->env.wake = UINT64_MAX;
        start = cpu_us();
        work = r->e->work.done;
        ernic_run(r->e, r->env.now);
        took(r, start, work);
        g_assert_cmpuint(r->e->mem.used, <=, used);
        used = r->e->mem.used;
        g_assert_true(ernic_check(r->e, NULL));
        g_assert_cmpuint(++runs, <, 100000);
        g_assert_true(!ernic_has_remains(r->e) || r->env.wake <= r->env.now);
    }
    IS(used, 0);
    return runs;
}

/* One command, slice by slice, of which each is timed; its status. */
static uint8_t command(Rig *r, struct ernic_cmd *cmd, struct ernic_rsp *rsp)
{
    int64_t start;
    uint64_t work;
    bool done;

    do {
        ernic_slice(r->e);
        work = r->e->work.done;
        start = cpu_us();
        done = ernic_cmd(r->e, r->env.now, cmd, rsp);
        took(r, start, work);
    } while (!done);
    return rsp->status;
}

static void reset(Rig *r)
{
    bool touched = r->e->touched;
    int64_t start = cpu_us();

    ernic_reset(r->e);
    /* 1 ms, as the host is slow; a new engine alone takes more than a slice. */
    g_assert_true(!touched || r->e->work.done > ERNIC_WORK_SLICE);
    g_assert_cmpuint(r->e->work.done, <=, 2 * ERNIC_WORK_SLICE);
    r->worst = MAX(r->worst, cpu_us() - start);
}

/* The command that registers @npages pages, whose list has two levels and one leaf. */
static struct ernic_cmd region(Rig *r, uint32_t npages)
{
    uint32_t leaves = DIV_ROUND_UP(npages, 512);
    uint64_t leaf = fake_alloc(&r->env, 4096, 4096);
    uint64_t dir = fake_alloc(&r->env, leaves * 8, 4096);
    struct ernic_cmd cmd;

    for (uint32_t i = 0; i < leaves; i++) {
        stq_le_p(fake_ptr(&r->env, dir + i * 8, 8), leaf);
    }
    /* Its end is reserved, and beyond the members that an initializer names. */
    memset(&cmd, 0, sizeof(cmd));
    cmd.opcode = ERNIC_CMD_MR_REG;
    cmd.mr_reg.buf.addr = cpu_to_le64(dir);
    cmd.mr_reg.buf.npages = cpu_to_le32(npages);
    cmd.mr_reg.buf.page_shift = 12;
    cmd.mr_reg.buf.levels = 2;
    cmd.mr_reg.length = cpu_to_le64((uint64_t)npages << 12);
    cmd.mr_reg.pd = cpu_to_le32(r->pd);
    return cmd;
}

/* Regions of @npages pages each; the handle of the last one. */
static uint32_t add_regions(Rig *r, uint32_t n, uint32_t npages)
{
    struct ernic_cmd cmd = region(r, npages);
    struct ernic_rsp rsp = { };

    while (n--) {
        OK(fake_cmd(r->e, &cmd, &rsp));
    }
    return le32_to_cpu(rsp.handle);
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

/* The list of 2^23 pages of a region that is freed. */
RIG_TEST("/remains/list", test_list)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_FREE };
    uint64_t used;

    cmd.handle.handle = cpu_to_le32(add_regions(r, 1, 1 << 23));
    used = r->e->mem.used;
    OK(command(r, &cmd, &(struct ernic_rsp) { }));
    IS(r->e->mem.used, used);          /* not yet free */
    g_assert_cmpuint(run_free(r), >, 10);
}

/* As much again can be registered at once: the command waits for the room. */
RIG_TEST("/remains/room", test_room)
{
    struct ernic_cmd drop = { .opcode = ERNIC_CMD_MR_FREE }, again;
    struct ernic_rsp rsp;

    drop.handle.handle = cpu_to_le32(add_regions(r, 1, 1 << 23));
    r->e->mem.bound = r->e->mem.used;
    again = region(r, 1 << 23);
    for (int i = 0; i < 3; i++) {
        OK(command(r, &drop, &rsp));
        OK(command(r, &again, &rsp));
        drop.handle.handle = rsp.handle;
    }
}

static GByteArray *saved(Ernic *e)
{
    GByteArray *bytes = g_byte_array_new();

    ernic_save(e, bytes);
    return bytes;
}

/*
 * The engine is as new at once, and executes no command before its old objects have left
 * their memory. Resets meanwhile change nothing.
 */
static void check_reset(Rig *r, bool list)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    GByteArray *fresh = saved(r->e), *now;
    struct ernic_rsp rsp;
    uint64_t used;

    r->pd = fake_create_pd(r->e);
    if (list) {
        add_regions(r, 1, 1 << 22);
    }
    add_regions(r, REGIONS, LIST);
    add_regions(r, REGIONS, 1);
    add_qps(r, QPS);
    used = r->e->mem.used;
    reset(r);
    IS(r->e->mem.used, used);
    g_assert_true(ernic_check(r->e, NULL));
    while (r->e->mem.used == used) {
        ernic_slice(r->e);
        g_assert_false(ernic_cmd(r->e, r->env.now, &cmd, &rsp));
    }
    used = r->e->mem.used;
    reset(r);
    reset(r);
    IS(r->e->mem.used, used);
    now = saved(r->e);
    g_assert_cmpmem(now->data, now->len, fresh->data, fresh->len);
    g_byte_array_free(now, true);
    g_byte_array_free(fresh, true);
}

RIG_TEST("/remains/reset", test_reset)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };

    reset(r);
    reset(r);
    run_free(r);
    check_reset(r, true);
    g_assert_cmpuint(run_free(r), >, 10);
    reset(r);
    check_reset(r, false);
    OK(command(r, &cmd, &(struct ernic_rsp) { }));
    IS(r->e->mem.used, 0);
}

/*
 * A processor resets over and over: an engine that nobody has used is not made anew. The
 * reset undoes all that the link and runs did to it meanwhile.
 */
RIG_TEST("/remains/again", test_again)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    GByteArray *fresh, *now;

    reset(r);
    run_free(r);
    fresh = saved(r->e);
    for (int i = 0; i < 3; i++) {
        ernic_set_link(r->e, r->env.now, true);
        ernic_run(r->e, r->env.now);
        reset(r);
        IS(r->e->work.done, 0);
        g_assert_false(r->e->port_active);
        now = saved(r->e);
        g_assert_cmpmem(now->data, now->len, fresh->data, fresh->len);
        g_byte_array_free(now, true);
    }
    OK(command(r, &cmd, &(struct ernic_rsp) { }));
    reset(r);
    g_assert_cmpuint(r->e->work.done, >, ERNIC_WORK_SLICE);
    now = saved(r->e);
    g_assert_cmpmem(now->data, now->len, fresh->data, fresh->len);
    g_byte_array_free(now, true);
    g_byte_array_free(fresh, true);
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
ROW_TEST("/remains/used", interfaces, test_used)
{
    enum { RESETS = 30 };
    const typeof(interfaces[0]) *interface = data;
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

/* A state finds all the room, and an engine that ends while it has remains leaks none. */
RIG_TEST("/remains/load", test_load)
{
    GByteArray *state;

    add_regions(r, 1, 1 << 22);
    state = saved(r->e);
    r->e->cfg.max_memory = r->e->mem.bound = r->e->mem.used;
    reset(r);
    g_assert_true(ernic_load(r->e, r->env.now, state->data, state->len));
    IS(r->e->mem.used, r->e->mem.bound);
    g_assert_true(ernic_load(r->e, r->env.now, state->data, state->len));
    g_byte_array_free(state, true);
    reset(r);
    g_assert_cmpuint(r->e->mem.used, >, 0);
}

/* A state in which an object with memory is free is refused, and the memory is freed. */
RIG_TEST("/remains/refused", test_refused)
{
    GByteArray *state;
    uint32_t key = add_regions(r, 1, 4096);

    ernic_ids_free(&r->e->mr_ids, key >> 8);
    state = saved(r->e);
    g_assert_false(ernic_load(r->e, r->env.now, state->data, state->len));
    IS(r->e->mem.used, 0);
    g_byte_array_free(state, true);
}

/*
 * Many keys: neither a reset nor a slice after it frees much of their tables, nor walks
 * all of them. Half of the numbers are free, in no order.
 */
TEST("/remains/keys", test_keys)
{
    enum { KEYS = 1 << 19, PIECES = 2 * ERNIC_WORK_SLICE / ERNIC_WORK_PIECE };
    ErnicMlx5Config mlx5 = { .max_mtu = 9022 };
    uint64_t sum = 0, before;
    ErnicConfig cfg;
    uint32_t key;
    Rig r = { };

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("the tables have no pages of their own");
        return;
    }
    fake_env_init(&r.env);
    greatest(&cfg);
    cfg.mlx5 = &mlx5;
    cfg.max_mr = KEYS;
    r.e = ernic_new(&cfg, &fake_env_ops, &r.env);
    OK(ernic_pd_alloc(r.e, 0, &r.pd));
    r.e->touched = true;
    for (uint32_t i = 2; i < KEYS; i++) {
        OK(ernic_mr_alloc(r.e, 0, r.pd, 1, &key));
    }
    for (uint32_t i = 0; i < KEYS; i += 2) {
        key = i * 0x2545u % KEYS;
        IS(ernic_mr_free(r.e, 0, key << 8, false), key ? ERNIC_OK : ERNIC_ERR_HANDLE);
    }
    watched[0] = (Watched) { (char *)r.e->mr, KEYS * sizeof(*r.e->mr) };
    watched[1] = (Watched) { (char *)r.e->mr_ids.fifo, KEYS * sizeof(uint32_t) };
    watched[2] = (Watched) { (char *)r.e->mlx5->contexts.mkey, KEYS * ERNIC_MLX5_MKC };
    reset(&r);
    while (ernic_has_remains(r.e)) {
        int64_t start = cpu_us();
        uint64_t work = r.e->work.done;

        ernic_run(r.e, r.env.now);
        r.worst = MAX(r.worst, cpu_us() - start);
        /* The step at the end of a run comes after that before its commands. */
        g_assert_cmpuint(r.e->work.done - work, <=, ERNIC_WORK_SLICE + 2 * STEP);
        before = sum;
        sum = watched[0].returned + watched[1].returned + watched[2].returned;
        g_assert_cmpuint(sum - before, <=, PIECES * ERNIC_PIECE);
    }
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
        g_assert_cmpuint(watched[i].returned, >=, watched[i].bytes);
        watched[i] = (Watched) { };
    }
    IS(r.e->mem.used, 0);
    rig_close(&r);
}

/*
 * A reset while all objects are gone and their chunks wait frees no more than a slice,
 * also if the new engine has memory already.
 */
TEST("/remains/chunks", test_chunks)
{
    uint64_t before;
    uint32_t pd, key;
    Rig r;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("there are no chunks");
        return;
    }
    rig_open(&r);
    add_regions(&r, 60000, 256);
    reset(&r);
    while (r.e->mem.used) {
        ernic_run(r.e, r.env.now);
    }
    g_assert_cmpuint(ernic_remains_bytes(r.e->remains), >, 100 * ERNIC_PIECE);
    /* No command would be executed yet. These calls do not say that they use it. */
    r.e->touched = true;
    OK(ernic_pd_alloc(r.e, 0, &pd));
    OK(ernic_mr_alloc(r.e, 0, pd, 512, &key));
    before = returned;
    reset(&r);
    /* The tables of the new engine, of which few pages were used, and a probe. */
    g_assert_cmpuint(returned - before, <, 64 * ERNIC_PIECE);
    run_free(&r);
    g_assert_cmpuint(returned - before, >, 100 * ERNIC_PIECE);
    rig_close(&r);
}

/* Objects that never existed are not looked at: the host would provide their pages. */
TEST("/remains/untouched", test_untouched)
{
    uintptr_t page = sysconf(_SC_PAGESIZE), last;
    uint8_t resident = 0;
    uint32_t runs;
    Rig r;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("the tables have no pages of their own");
        return;
    }
    rig_open(&r);
    add_regions(&r, 1, 1 << 20);        /* is freed last */
    last = (uintptr_t)&r.e->qp[ERNIC_LIM_QP - 1] & ~(page - 1);
    IS(mincore((void *)last, 1, &resident), 0);
    IS(resident & 1, 0);
    reset(&r);
    /* Until the table is unmapped. */
    for (runs = 0; mincore((void *)last, 1, &resident) == 0; runs++) {
        IS(resident & 1, 0);
        ernic_run(r.e, r.env.now);
    }
    g_assert_cmpuint(runs, >, 1);
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
TEST("/remains/limited", test_limited)
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
        g_assert_null(r.e->remains);
        IS(r.e->mem.used, 0);
        g_assert_true(ernic_check(r.e, NULL));
        r.pd = fake_create_pd(r.e);
        add_regions(&r, 100, 1);
    }
    fake_ernic_done(&r.env, r.e);
}

/* A block that waits to be freed stays where it is. */
TEST("/remains/hand-over", test_hand_over)
{
    ErnicMem from = { .bound = UINT64_MAX }, to = { .bound = UINT64_MAX };
    void *gone = ernic_mem_new(&from, ERNIC_MEM_MESSAGES, 2 * ERNIC_PIECE, 1);
    void *kept = ernic_mem_new(&from, ERNIC_MEM_MESSAGES, 4096, 1);

    ernic_mem_free(&from, ERNIC_MEM_MESSAGES, gone, 2 * ERNIC_PIECE, 1);
    ernic_mem_hand_over(&from, &to, ERNIC_MEM_MESSAGES);
    IS(to.used, 4096);
    IS(from.used, 2 * ERNIC_PIECE);
    while (ernic_mem_reap(&from)) {
    }
    IS(from.used, 0);
    ernic_mem_free(&to, ERNIC_MEM_MESSAGES, kept, 4096, 1);
    IS(to.used, 0);
    while (ernic_mem_reap(&to)) {
    }
    ernic_mem_end(&from);
    ernic_mem_end(&to);
}

/* An engine that goes after a reset: what the reset left is still freed in slices. */
TEST("/remains/bury", test_bury)
{
    ErnicRemains *remains;
    uint32_t slices;
    uint64_t used;
    Rig r;

    rig_open(&r);
    add_regions(&r, REGIONS, LIST);
    reset(&r);
    used = r.e->mem.used;
    remains = ernic_bury(r.e);
    g_assert_nonnull(remains);
    g_assert_cmpuint(ernic_remains_mem(remains)->used, >, used / 2);
    for (slices = 1; !ernic_remains_run(remains); slices++) {
        continue;
    }
    g_assert_cmpuint(slices, >, 10);
    fake_env_fini(&r.env);
}
