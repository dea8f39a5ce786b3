/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work is charged: the longest commands end with the right result, no call does more
 * than a slice, and a reset or a migration may come between two slices.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "fake_verbs.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "test.h"

/* The work of a call may exceed its slice by one step. */
#define STEP        64
#define LEAF        512
#define IOVA        0x700000000000ull
#define CHUNKS      (ERNIC_MAX_PAGES / ERNIC_ODP_CHUNK)

typedef struct Work {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key, cqn;
    uint64_t leaf, dir, init;
    struct ernic_cmd cmd;
} Work;

/* A two-level list of @npages, all of whose leaves are one and the same. */
static struct ernic_buf_desc pages(Work *w, uint32_t npages)
{
    struct ernic_buf_desc desc = {
        .addr = cpu_to_le64(w->dir), .npages = cpu_to_le32(npages),
        .page_shift = 12, .levels = 2,
    };

    return desc;
}

static void set_up(Work *w)
{
    uint64_t page;

    memset(w, 0, sizeof(*w));
    w->e = fake_ernic_new(&w->env);
    w->pd = fake_create_pd(w->e);
    w->leaf = fake_alloc(&w->env, LEAF * 8, 4096);
    w->dir = fake_alloc(&w->env, ERNIC_MAX_PAGES / LEAF * 8, 4096);
    page = fake_alloc(&w->env, 4096, 4096);
    for (uint32_t i = 0; i < LEAF; i++) {
        fake_put64(&w->env, w->leaf + i * 8, page);
    }
    for (uint32_t i = 0; i < ERNIC_MAX_PAGES / LEAF; i++) {
        fake_put64(&w->env, w->dir + i * 8, w->leaf);
    }
}

static void reg(Work *w)
{
    w->cmd = (struct ernic_cmd) {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf = pages(w, ERNIC_MAX_PAGES),
                    .length = cpu_to_le64((uint64_t)ERNIC_MAX_PAGES << 12),
                    .iova = cpu_to_le64(IOVA), .pd = cpu_to_le32(w->pd) },
    };
}

/* The last page is wrong: one entry of a leaf of its own. */
static void reg_wrong(Work *w)
{
    uint64_t leaf = fake_alloc(&w->env, LEAF * 8, 4096);

    fake_put64(&w->env, leaf + (LEAF - 1) * 8, 1);
    fake_put64(&w->env, w->dir + (ERNIC_MAX_PAGES / LEAF - 1) * 8, leaf);
    reg(w);
}

static void rereg(Work *w)
{
    uint64_t page = fake_alloc(&w->env, 4096, 4096);

    w->key = fake_reg_mr(w->e, w->pd, page, 4096, 0);
    reg(w);
    w->cmd.opcode = ERNIC_CMD_MR_REREG;
    w->cmd.mr_reg.pd = 0;
    w->cmd.mr_reg.key = cpu_to_le32(w->key);
    w->cmd.mr_reg.flags = cpu_to_le32(ERNIC_REREG_TRANS);
}

static void create_cq(Work *w)
{
    w->cmd.opcode = ERNIC_CMD_CQ_CREATE;
    w->cmd.cq_create.buf = pages(w, ERNIC_MAX_PAGES);
    w->cmd.cq_create.depth = cpu_to_le32(4);
    w->cmd.cq_create.eq = cpu_to_le32(FAKE_NONE);
}

static void create_eq(Work *w)
{
    w->cmd.opcode = ERNIC_CMD_EQ_CREATE;
    w->cmd.eq_create.buf = pages(w, ERNIC_MAX_PAGES);
    w->cmd.eq_create.depth = cpu_to_le32(4);
}

static void create_srq(Work *w)
{
    w->cmd.opcode = ERNIC_CMD_SRQ_CREATE;
    w->cmd.srq.buf = pages(w, ERNIC_MAX_PAGES);
    w->cmd.srq.depth = cpu_to_le32(4);
    w->cmd.srq.pd = cpu_to_le32(w->pd);
    w->cmd.srq.stride = cpu_to_le16(1);
}

static void create_qp(Work *w)
{
    struct ernic_qp_init init = {
        .sq_buf = pages(w, ERNIC_MAX_PAGES / 2), .rq_buf = pages(w, ERNIC_MAX_PAGES / 2),
        .pd = cpu_to_le32(w->pd), .srq = cpu_to_le32(FAKE_NONE),
        .sq_depth = cpu_to_le32(4), .rq_depth = cpu_to_le32(4), .sq_stride = 1,
        .rq_stride = 1, .type = ERNIC_QPT_RC,
    };
    FakeCq cq;

    fake_create_cq(w->e, &cq, 16, FAKE_NONE);
    init.send_cq = init.recv_cq = cpu_to_le32(cq.cqn);
    w->init = fake_alloc(&w->env, sizeof(init), 8);
    memcpy(fake_ptr(&w->env, w->init, sizeof(init)), &init, sizeof(init));
    w->cmd.opcode = ERNIC_CMD_QP_CREATE;
    w->cmd.qp.addr = cpu_to_le64(w->init);
    w->cmd.qp.length = cpu_to_le32(sizeof(init));
}

/* A full ring of the greatest depth, whose pages are all the same. */
static void resize(Work *w)
{
    uint32_t npages = ERNIC_MAX_CQ_DEPTH * sizeof(struct ernic_cqe) / 4096, cqn;

    create_cq(w);
    w->cmd.cq_create.buf = pages(w, npages);
    w->cmd.cq_create.depth = cpu_to_le32(ERNIC_MAX_CQ_DEPTH);
    cqn = fake_make(w->e, &w->cmd);
    w->e->cq[cqn].pi = ERNIC_MAX_CQ_DEPTH;
    w->cmd.opcode = ERNIC_CMD_CQ_RESIZE;
    w->cmd.cq_create.handle = cpu_to_le32(cqn);
    w->cmd.cq_create.eq = 0;
}

/* A region on demand with all the pages that the device stores, far apart. */
static void demand(Work *w)
{
    uint64_t page = fake_alloc(&w->env, 4096, 4096);

    w->key = fake_reg_demand(w->e, w->pd, IOVA,
                             (uint64_t)CHUNKS * ERNIC_ODP_CHUNK << 12, 0);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        OK(fake_set_pages(w->e, w->key, (uint64_t)i * ERNIC_ODP_CHUNK, 1, page,
                          ERNIC_PAGE_READ));
    }
}

static void unmap(Work *w)
{
    demand(w);
    w->cmd = (struct ernic_cmd) {
        .opcode = ERNIC_CMD_MR_PAGES,
        .mr_pages = { .npages = cpu_to_le64((uint64_t)CHUNKS * ERNIC_ODP_CHUNK),
                      .key = cpu_to_le32(w->key) },
    };
}

static void free_demand(Work *w)
{
    demand(w);
    w->cmd = (struct ernic_cmd) {
        .opcode = ERNIC_CMD_MR_FREE, .handle.handle = cpu_to_le32(w->key),
    };
}

typedef struct Longest {
    const char *name;
    void (*prepare)(Work *w);
    uint8_t status;
    uint32_t pages;             /* e->num_pages after it, beside those before it */
    bool removes;               /* it removes pages step by step */
} Longest;

static const Longest longest[] = {
    { "mr-reg", reg, ERNIC_OK, ERNIC_MAX_PAGES },
    { "mr-reg-wrong", reg_wrong, ERNIC_ERR_PARAM },
    { "mr-rereg", rereg, ERNIC_OK, ERNIC_MAX_PAGES },
    { "cq-create", create_cq, ERNIC_OK, ERNIC_MAX_PAGES },
    { "eq-create", create_eq, ERNIC_OK, ERNIC_MAX_PAGES },
    { "srq-create", create_srq, ERNIC_OK, ERNIC_MAX_PAGES },
    { "qp-create", create_qp, ERNIC_OK, ERNIC_MAX_PAGES },
    { "cq-resize", resize, ERNIC_OK,
      ERNIC_MAX_CQ_DEPTH * sizeof(struct ernic_cqe) / 4096 },
    { "mr-pages", unmap, ERNIC_OK, 0, true },
    { "mr-free", free_demand, ERNIC_OK, 0, true },
};

/* One slice of the command; true: it has ended with @rsp. */
static bool slice(Work *w, struct ernic_rsp *rsp)
{
    g_autoptr(GString) why = g_string_new(NULL);
    uint64_t before = w->e->work.done;
    bool done;

    ernic_slice(w->e);
    done = ernic_cmd(w->e, w->env.now, &w->cmd, rsp);
    g_assert_cmpuint(w->e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
    g_assert_true(done == !ernic_cmd_active(w->e));
    ernic_check(w->e, why);
    g_assert_cmpstr(why->str, ==, "");
    /* It works from its copies: what software changes now has no effect. */
    if (w->init) {
        memset(fake_ptr(&w->env, w->init, sizeof(struct ernic_qp_init)), 0xff,
               sizeof(struct ernic_qp_init));
    }
    memset(&w->cmd, 0xff, sizeof(w->cmd));
    return done;
}

static void finish(Work *w, const Longest *l)
{
    struct ernic_rsp rsp;
    uint32_t slices = 1;

    while (!slice(w, &rsp)) {
        slices++;
    }
    IS(rsp.status, l->status);
    g_assert_cmpuint(slices, >, 2);
    IS(w->e->num_pages, l->pages);
    g_test_message("%s: %u slices", l->name, slices);
}

/* The head of a test of a Work *w with each command *l of these. */
#define LONGEST_TEST(path, fn) \
    WORLD_ROW_TEST(path, longest, l, fn, Work, w, set_up(w); l->prepare(w), \
                   fake_ernic_done(&w->env, w->e))

LONGEST_TEST("/slices/end", test_long)
{
    finish(w, l);
}

/* A reset drops the command and what it holds. */
LONGEST_TEST("/slices/reset", test_reset)
{
    uint32_t slices = 0;
    struct ernic_rsp rsp;

    g_assert_false(slice(w, &rsp));
    ernic_reset(w->e);
    g_assert_false(ernic_cmd_active(w->e));
    IS(w->e->num_pages, 0);
    w->cmd = (struct ernic_cmd) { .opcode = ERNIC_CMD_NOP };
    w->init = 0;
    /* It waits until the memory of the dropped one is free. */
    while (!slice(w, &rsp)) {
        g_assert_cmpuint(++slices, <, 100);
    }
    OK(rsp.status);
}

/* The state does not contain the command: the destination executes and counts it. */
LONGEST_TEST("/slices/save", test_save)
{
    struct ernic_rsp rsp;
    g_autoptr(GByteArray) before = NULL, state = NULL;
    struct ernic_qp_init init;
    struct ernic_cmd cmd = w->cmd;

    if (w->init) {
        memcpy(&init, fake_ptr(&w->env, w->init, sizeof(init)), sizeof(init));
    }
    before = fake_saved(w->e);
    g_assert_false(slice(w, &rsp));
    state = fake_saved(w->e);
    if (!l->removes) {
        g_assert_cmpmem(before->data, before->len, state->data, state->len);
    }
    g_assert_true(ernic_load(w->e, w->env.now, state->data, state->len));
    w->cmd = cmd;
    if (w->init) {
        memcpy(fake_ptr(&w->env, w->init, sizeof(init)), &init, sizeof(init));
    }
    finish(w, l);
}

/*
 * Completions come and are consumed between the slices. All are in the new ring, in
 * order, and none twice.
 */
TEST("/slices/cq-resize/in-use", test_resize_in_use)
{
    enum { FROM = 1024, TO = 4096, BURST = 30 };
    FakeCq cq, ring;
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_RESIZE };
    struct ernic_rsp rsp;
    struct ernic_cqe cqe;
    uint64_t posted = 0, seen = 0;
    uint32_t slices = 0;
    bool done;
    Work w;

    set_up(&w);
    fake_create_cq(w.e, &cq, FROM, FAKE_NONE);
    fake_create_cq(w.e, &ring, TO, FAKE_NONE);      /* for its memory */
    for (; posted < 900; posted++) {
        g_assert_true(ernic_cq_post(w.e, cq.cqn, &(ErnicWc) { .wr_id = posted }));
    }
    cmd.cq_create.buf.addr = cpu_to_le64(ring.buf);
    cmd.cq_create.depth = cpu_to_le32(TO);
    cmd.cq_create.handle = cpu_to_le32(cq.cqn);
    do {
        w.e->work.end = w.e->work.done + 1;             /* one batch */
        done = ernic_cmd(w.e, w.env.now, &cmd, &rsp);
        slices++;
        for (uint32_t i = 0; !done && i < BURST; i++, posted++) {
            g_assert_true(ernic_cq_post(w.e, cq.cqn, &(ErnicWc) { .wr_id = posted }));
        }
        /* Once more than was copied. */
        for (uint32_t i = 0; !done && i < (slices == 4 ? 600 : BURST); i++, seen++) {
            g_assert_true(fake_poll_cq(w.e, &cq, &cqe));
            IS(cqe.wr_id, seen);
        }
        fake_ring_cq(w.e, &cq);
    } while (!done);
    OK(rsp.status);
    g_assert_cmpuint(slices, >, 10);
    cq.buf = ring.buf;
    cq.depth = TO;
    for (; posted < 6000; posted++) {
        while (fake_poll_cq(w.e, &cq, &cqe)) {
            IS(cqe.wr_id, seen++);
        }
        fake_ring_cq(w.e, &cq);
        g_assert_true(ernic_cq_post(w.e, cq.cqn, &(ErnicWc) { .wr_id = posted }));
    }
    IS(seen, posted - 1);
    fake_ernic_done(&w.env, w.e);
}
