/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slices of work on a host that is slow: each ends by the clock although units are left,
 * and the rest is done in later ones, with the same result. The clock jumps at each look
 * by the time of a slice.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "fake_verbs.h"
#include "lifecycle.h"
#include "state/check.h"
#include "test.h"

#define PAGES   (1u << 18)
#define CHUNKS  1024
#define DEPTH   4096

typedef struct World {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
    struct ernic_cmd cmd;       /* in progress */
} World;

typedef struct Kind {
    const char *name;
    void (*begin)(World *w);
    bool (*slice)(World *w);    /* true: all is done */
} Kind;

static bool run(World *w)
{
    w->env.wake = UINT64_MAX;
    ernic_run(w->e, w->env.now);
    g_array_set_size(w->env.wakes, 0);
    return w->env.wake > w->env.now;
}

static bool command(World *w)
{
    struct ernic_rsp rsp;

    ernic_slice(w->e);
    if (!ernic_cmd(w->e, w->env.now, &w->cmd, &rsp)) {
        return false;
    }
    OK(rsp.status);
    return true;
}

static void begin_list(World *w)
{
    w->cmd = fake_reg_list(w->pd, fake_alloc(&w->env, PAGES * 8, 4096), PAGES, 1);
}

/* Chunks of an on-demand region go: the host gets a page back for each. */
static void begin_chunks(World *w)
{
    uint64_t page = fake_alloc(&w->env, 4096, 4096), mark = w->env.next;
    uint32_t key = fake_reg_demand(w->e, w->pd, 0,
                                   (uint64_t)CHUNKS * ERNIC_PAGES_MAX << 12,
                                   ERNIC_ACCESS_LOCAL_WRITE);

    for (uint32_t i = 0; i < CHUNKS; i++) {
        OK(fake_set_pages(w->e, key, (uint64_t)i * ERNIC_PAGES_MAX, 1, page,
                          ERNIC_PAGE_READ));
        w->env.next = mark;
    }
    memset(&w->cmd, 0, sizeof(w->cmd));
    w->cmd.opcode = ERNIC_CMD_MR_PAGES;
    w->cmd.mr_pages.npages = cpu_to_le64((uint64_t)CHUNKS * ERNIC_PAGES_MAX);
    w->cmd.mr_pages.key = cpu_to_le32(key);
}

/* A long send queue is flushed. */
static void begin_flush(World *w)
{
    FakeCq cq;
    FakeQp qp;

    fake_create_cq(w->e, &cq, 2 * DEPTH, FAKE_NONE);
    fake_create_deep_qp(w->e, &qp, ERNIC_QPT_RC, w->pd, cq.cqn, cq.cqn, DEPTH);
    fake_connect(w->e, &qp, 5, 0);
    OK(fake_modify_qp(w->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    qp.sq_pi = DEPTH;
    fake_ring_sq(w->e, &qp);
}

static void open_world(World *w, ErnicClock *clock)
{
    *w = (World) { };
    w->e = FAKE_ERNIC(&w->env, cfg.max_mr = 4096; cfg.clock = clock);
    fake_set_gid(w->e, 0, 1);
    w->pd = fake_create_pd(w->e);
}

/* All of the work of @k; returns what is then in guest memory and in the engine. */
static GByteArray *work(const Kind *k, ErnicClock *clock, uint32_t *slices)
{
    GByteArray *end = g_byte_array_new();
    World w;

    open_world(&w, clock);
    k->begin(&w);
    for (*slices = 1; !k->slice(&w); ++*slices) {
        g_assert_true(ernic_check(w.e, NULL));
    }
    ernic_save(w.e, end);
    g_byte_array_append(end, w.env.mem, FAKE_MEM_SIZE);
    fake_ernic_done(&w.env, w.e);
    return end;
}

static const Kind kinds[] = {
    { "command", begin_list, command },
    { "chunks", begin_chunks, command },
    { "turns", begin_flush, run },
};

ROW_TEST("/clock/slices", kinds, k, test_slices)
{
    uint32_t plain, clocked;
    g_autoptr(GByteArray) want = work(k, NULL, &plain);
    g_autoptr(GByteArray) got = work(k, fake_clock, &clocked);

    g_test_message("%u slices, and %u by the clock", plain, clocked);
    g_assert_cmpuint(plain, >, 1);
    g_assert_cmpuint(clocked, >=, plain + plain / 2);
    g_assert_cmpmem(got->data, got->len, want->data, want->len);
}
