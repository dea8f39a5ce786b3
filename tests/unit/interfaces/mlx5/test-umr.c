/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * UMR requests as Linux's mlx5_ib and the provider write them: fast registration, local
 * invalidation, requests of the queue pair for UMR, and windows.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "mlx5_umr_fixture.h"

/* @n pages of the fixture in reverse order, at @at, in a list that has room for @room. */
static void list_pages(Fixture *f, uint8_t *at, uint32_t n, uint32_t room)
{
    for (uint32_t i = 0; i < n; i++) {
        stq_be_p(at + i * 8, (f->pages + (n - 1 - i) * 4096) | PRESENT);
    }
    /* Linux does not clear the rest. */
    memset(at + n * 8, 0xa5, (room - n) * 8);
}

/* A fast registration of @n pages with key @key, inline or by a list in memory. */
static void fast_register(Fixture *f, uint32_t key, uint32_t n, bool in)
{
    uint32_t octowords = ROUND_UP(n * 8, 64) / 16;

    start(f, key, FLAG_WANT_FREE | (in ? FLAG_INLINE : 0), MASK_FAST, octowords);
    rights(f, true);
    CONTEXT(mkey_7_0, key);
    CONTEXT(qpn, 0xffffff);
    CONTEXT(en_rinval, 1);
    CONTEXT(start_addr, IOVA + 0x123);
    CONTEXT(len, n * 4096 - 0x123);
    CONTEXT(log_page_size, 12);
    if (in) {
        list_pages(f, mlx5_segment(&f->wr, octowords * 16), n, octowords * 2);
    } else {
        list_pages(f, fake_ptr(&f->end.env, f->end.mem + 4096, octowords * 16), n,
                   octowords * 2);
        mlx5_data(&f->wr, f->end.mem + 4096, octowords * 16, f->end.key);
    }
}

static void test_fast(Fixture *f, gconstpointer data)
{
    bool in = GPOINTER_TO_UINT(data);
    uint32_t n = in ? 5 : PAGES - 3, key = (f->key & ~0xffu) | 0x42;

    fast_register(f, key, n, in);
    IS(result(f), 0);
    g_assert_true(mr_of(f)->valid);
    IS(mr_of(f)->kind, ERNIC_MR_FAST);
    IS(mr_of(f)->variant, 0x42);
    /* The first and the last byte; pages are in reverse order. */
    IS(write_to(f, key, IOVA + 0x123, "first"), 0);
    assert_text(f, f->pages + (n - 1) * 4096 + 0x123, "first");
    IS(write_to(f, key, IOVA + n * 4096 - 4, "last"), 0);
    assert_text(f, f->pages + 4096 - 4, "last");
    /* Software has to invalidate it first; the key then opens nothing. */
    invalidate(f, key);
    assert_closed(f, key, IOVA + 0x123);
}

/* Only a queue pair of the kernel registers pages. */
FIXTURE_TEST("/mlx5-umr/fast/user", test_fast_user)
{
    ernic_mlx5_qp(f->end.e, f->q.qpn)->fast_register = false;
    fast_register(f, f->key, 5, true);
    IS(result(f), BIND_ERROR);
    g_assert_false(mr_of(f)->valid);
}

/* A registration of @pages pages, by default 5, that is refused; @list: not inline. */
typedef struct Bad {
    const char *name;
    Spoil spoil[2];
    bool list, foreign;         /* foreign: of a key in another domain */
    uint32_t pages, cut;        /* cut: bytes that are missing at the end */
    uint8_t syndrome;           /* 0: BIND_ERROR */
} Bad;

static const Bad bad[] = {
    { "number", { { 0, &ernic_mlx5_wqe_ctrl_seg.imm, 0xffffff00 } } },
    { "page", { POINTER(lkey, 0x803) } },
    { "list", { POINTER(lkey, 0x77777700) }, .list = true, .syndrome = PROT_ERROR },
    { "short-list", { POINTER(byte_count, 40) }, .list = true },
    { "no-list", .cut = 64 }, { "long-inline", .pages = PAGES },
    { "offset", { CONTROL(flags, FLAG_WANT_FREE | FLAG_INLINE | FLAG_OFFSET),
                  CONTROL(xlt_offset_47_16, 0xffffffff) } },
    { "few-pages", { KEY(len, PAGES * 4096) } },
    { "wraps", { KEY(start_addr, UINT64_MAX - 4095), KEY(len, 8192) } },
    { "local-write", { KEY(lw, 0) } }, { "page-size", { KEY(log_page_size, 63) } },
    { "small-page-size", { KEY(log_page_size, 3) } },
    { "unknown-mask", { CONTROL(mkey_mask, MASK_FAST | 1ull << 12) } },
    { "half-mask", { CONTROL(mkey_mask, MASK_FAST & ~MASK_LEN) } },
    { "no-domain", { CONTROL(mkey_mask, MASK_FAST | MASK_PD), KEY(pd, 0xffffff) } },
    { "foreign-domain", .foreign = true },
};

static void test_bad(Fixture *f, gconstpointer data)
{
    const Bad *b = data;

    if (b->foreign) {
        f->key = fake_alloc_mr(f->end.e, fake_create_pd(f->end.e), PAGES);
    }
    fast_register(f, f->key, b->pages ?: 5, !b->list);
    spoil(f, b->spoil, ARRAY_SIZE(b->spoil));
    f->wr.len -= b->cut;
    IS(result(f), b->syndrome ?: BIND_ERROR);
    g_assert_false(mr_of(f)->valid);
}

/*
 * A queue pair of datagrams neither invalidates a key nor binds a window (IBTA vol. 1,
 * 11.4.1.1), also while the request waits for another one to leave.
 */
static void test_datagrams(Fixture *f, gconstpointer data)
{
    enum { OPERATION_ERROR = 0x02 };
    bool window = GPOINTER_TO_UINT(data);
    uint32_t key = window ? fake_alloc_mw(f->end.e, f->end.pd, 2) : f->key;
    Mlx5Cqe cqe;
    Mlx5Wr send;

    mlx5_create_qp(&f->end, &f->q, ERNIC_QPT_UD, NULL);
    mlx5_connect(&f->end, &f->q, 0x77, 2);
    mlx5_wr(&send, ERNIC_MLX5_OP_SEND, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_av(&send, 2, 0x77);
    mlx5_inline(&send, "text", 4);
    f->end.env.tx_busy = true;
    mlx5_write(&f->end, &f->q, &send);
    mlx5_write(&f->end, &f->q, &send);
    start(f, key, FLAG_INLINE, window ? MASK_FAST : MASK_FREE, 0);
    CONTEXT(free, !window);
    CONTEXT(len, 16);
    CONTEXT(start_addr, f->end.mem);
    mlx5_data(&f->wr, f->end.mem, 16, f->end.key);
    mlx5_write(&f->end, &f->q, &f->wr);
    mlx5_ring(&f->end, &f->q);
    fake_check(f->end.e);
    fake_take_over(&f->end.e);
    fake_tx_ready(f->end.e);
    fake_run(f->end.e);
    g_assert_true(mlx5_poll(&f->end, &cqe) && cqe.opcode == REQ);
    g_assert_true(mlx5_poll(&f->end, &cqe) && cqe.opcode == REQ);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    IS(cqe.syndrome, OPERATION_ERROR);
    IS(cqe.sent, ERNIC_MLX5_OP_UMR);
    g_assert_false(f->end.e->mr[key >> 8].valid);
}

TESTS(add_datagrams)
{
    g_test_add("/mlx5-umr/datagrams/invalidate", Fixture, GUINT_TO_POINTER(0), setup,
               test_datagrams, teardown);
    g_test_add("/mlx5-umr/datagrams/bind", Fixture, GUINT_TO_POINTER(1), setup,
               test_datagrams, teardown);
}

/* The queue pair for UMR sends no messages. */
FIXTURE_TEST("/mlx5-umr/send", test_send)
{
    enum { OPERATION_ERROR = 0x02 };
    Mlx5Cqe cqe;

    mlx5_create_qp(&f->end, &f->q, ERNIC_QPT_UD, NULL);
    mlx5_connect(&f->end, &f->q, f->q.qpn, 1);
    mlx5_wr(&f->wr, ERNIC_MLX5_OP_SEND, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_av(&f->wr, 1, f->q.qpn);
    mlx5_data(&f->wr, f->end.mem, 64, f->end.key);
    mlx5_post_wr(&f->end, &f->q, &f->wr);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    IS(cqe.syndrome, 0);
    ernic_mlx5_qp(f->end.e, f->q.qpn)->umr = true;
    mlx5_post_wr(&f->end, &f->q, &f->wr);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    IS(cqe.syndrome, OPERATION_ERROR);
}

/* Load pages in two requests; the second one opens the region, in another domain. */
FIXTURE_TEST("/mlx5-umr/load", test_load)
{
    uint64_t first = MASK_FREE | MASK_KEY | MASK_LR | MASK_RIGHTS | MASK_PD | MASK_SHAPE;
    uint32_t pd = fake_create_pd(f->end.e);
    uint8_t *list = fake_ptr(&f->end.env, f->end.mem, PAGES * 8);

    /* Linux creates it without a peer; here it is one of UD. */
    mlx5_create_qp(&f->end, &f->q, ERNIC_QPT_UD, NULL);
    mlx5_connect(&f->end, &f->q, f->q.qpn, 1);
    ernic_mlx5_qp(f->end.e, f->q.qpn)->umr = true;
    list_pages(f, list, PAGES, PAGES);
    start(f, f->key, FLAG_WANT_FREE, 0, 4);
    mlx5_data(&f->wr, f->end.mem, 64, f->end.key);
    IS(result(f), 0);
    g_assert_false(mr_of(f)->valid);
    start(f, f->key, FLAG_WANT_FREE | FLAG_OFFSET, first, 4);
    ernic_mlx5_put(f->control, &ernic_mlx5_wqe_umr_ctrl_seg.bsf_octowords, 4);
    rights(f, true);
    CONTEXT(mkey_7_0, 0x99);
    CONTEXT(pd, pd);
    CONTEXT(start_addr, IOVA);
    CONTEXT(len, PAGES * 4096);
    CONTEXT(log_page_size, 12);
    mlx5_data(&f->wr, f->end.mem + 64, 64, f->end.key);
    IS(result(f), 0);
    g_assert_true(mr_of(f)->valid);
    IS(mr_of(f)->kind, ERNIC_MR_REGION);
    IS(mr_of(f)->pd, pd);
    IS(mr_of(f)->buf.page[0], f->pages + (PAGES - 1) * 4096);
    IS(mr_of(f)->buf.page[PAGES - 1], f->pages);
    /* Other rights and another domain, while it is valid. */
    start(f, f->key, FLAG_WANT_VALID | FLAG_INLINE, MASK_PD | MASK_LR | MASK_RIGHTS, 0);
    rights(f, false);
    CONTEXT(pd, f->end.pd);
    IS(result(f), 0);
    IS(mr_of(f)->pd, f->end.pd);
    IS(mr_of(f)->access & ERNIC_ACCESS_REMOTE_WRITE, 0);
    /* No peer and no other queue pair can invalidate it. */
    g_assert_false(ernic_mr_invalidate(f->end.e, f->end.pd, f->q.qpn,
                                       (f->key & ~0xffu) | 0x99, true));
    /* Revocation closes it for good. */
    start(f, f->key, FLAG_INLINE, MASK_PD | MASK_FREE, 0);
    CONTEXT(free, 1);
    CONTEXT(pd, f->end.pd);
    IS(result(f), 0);
    g_assert_false(mr_of(f)->valid);
}

static void bind(Fixture *f, uint32_t window, uint8_t variant, bool two)
{
    uint8_t *klm;

    start(f, window, FLAG_OFFSET | FLAG_INLINE | (two ? FLAG_WANT_FREE : 0),
          MASK_FREE | MASK_KEY | MASK_LEN | MASK_START | MASK_RIGHTS | MASK_A |
          (two ? MASK_QPN : 0), 4);
    CONTEXT(mkey_7_0, variant);
    CONTEXT(qpn, two ? f->q.qpn : 0xffffff);
    CONTEXT(rr, 1);
    CONTEXT(rw, 1);
    CONTEXT(start_addr, f->end.mem + 100);
    CONTEXT(len, 200);
    klm = mlx5_segment(&f->wr, 64);
    ernic_mlx5_put(klm, &ernic_mlx5_klm.bcount, 200);
    ernic_mlx5_put(klm, &ernic_mlx5_klm.key, f->end.key);
    ernic_mlx5_put(klm, &ernic_mlx5_klm.va, f->end.mem + 100);
}

/* Bind, use and unbind a window; the queue pair is one of a user. */
static void test_window(Fixture *f, gconstpointer data)
{
    bool two = GPOINTER_TO_UINT(data);
    uint32_t window = fake_alloc_mw(f->end.e, f->end.pd, two ? 2 : 1);
    uint32_t key = (window & ~0xffu) | ((window + 1) & 0xff);

    ernic_mlx5_qp(f->end.e, f->q.qpn)->fast_register = false;
    bind(f, window, key, two);
    IS(result(f), 0);
    IS(write_to(f, key, f->end.mem + 100, "window"), 0);
    assert_text(f, f->end.mem + 100, "window");
    /* The provider closes a window of type 2 with its key, one of type 1 by a bind. */
    start(f, key, FLAG_OFFSET | FLAG_INLINE, MASK_FREE | MASK_KEY | (two ? MASK_QPN : 0),
          0);
    CONTEXT(free, 1);
    CONTEXT(qpn, two ? f->q.qpn : 0xffffff);
    CONTEXT(mkey_7_0, two ? 0 : key + 1);
    IS(result(f), 0);
    g_assert_false(f->end.e->mr[window >> 8].valid);
    assert_closed(f, key, f->end.mem + 100);
}

/* A window that is not bound cannot be closed; so the provider binds 0 bytes, too. */
FIXTURE_TEST("/mlx5-umr/window/free", test_window_free)
{
    start(f, fake_alloc_mw(f->end.e, f->end.pd, 2), FLAG_OFFSET | FLAG_INLINE | 0x08,
          MASK_FREE | MASK_KEY | MASK_QPN, 0);
    CONTEXT(free, 1);
    CONTEXT(qpn, f->q.qpn);
    IS(result(f), BIND_ERROR);
}

/* A region closes before its windows, which a dying process leaves bound. */
static void test_window_left(Fixture *f, gconstpointer data)
{
    bool destroy = GPOINTER_TO_UINT(data);
    uint32_t window = fake_alloc_mw(f->end.e, f->end.pd, 2), key = f->key;

    fast_register(f, key, 5, true);
    IS(result(f), 0);
    f->end.mem = IOVA + 4096;
    f->end.key = key = (key & ~0xffu) | mr_of(f)->variant;
    bind(f, window, 1, true);
    IS(result(f), 0);
    IS(f->end.e->mr[key >> 8].refs, 1);
    if (destroy) {
        g_autofree char *text = g_strdup_printf("mkey_index=%u", key >> 8);

        f->end.e->mlx5->function.state = ERNIC_MLX5_RUNNING;
        mlx5_accept(f->end.e, 0x202, text);
        IS(f->end.e->mr[key >> 8].kind, ERNIC_MR_FREE);
    } else {
        ernic_mlx5_qp(f->end.e, f->q.qpn)->umr = true;
        start(f, key, FLAG_INLINE, MASK_FREE, 0);
        CONTEXT(free, 1);
        IS(result(f), 0);
        g_assert_false(f->end.e->mr[key >> 8].valid);
    }
    IS(f->end.e->mr[key >> 8].refs, 0);
    g_assert_false(f->end.e->mr[window >> 8].valid);
    IS(f->end.e->num_bound, 0);
}

FIXTURE_TEST("/mlx5-umr/window/bad", test_window_bad)
{
    uint32_t window = fake_alloc_mw(f->end.e, f->end.pd, 2);

    bind(f, window, 1, true);
    CONTEXT(start_addr, f->end.mem + 101);
    IS(result(f), BIND_ERROR);
}

/* A saved request whose list has another length than its pages is refused. */
FIXTURE_TEST("/mlx5-umr/state", test_state)
{
    static const struct {
        uint32_t num, len;
        uint8_t want;
        bool valid;
    } rows[] = {
        { 2, 16, ERNIC_MR_WANT_INVALID, true }, { 8, 0, ERNIC_MR_WANT_ANY, true },
        { 2, 8, ERNIC_MR_WANT_ANY }, { 2, 24, ERNIC_MR_WANT_ANY },
        { UINT32_MAX, 0xfffffff8, ERNIC_MR_WANT_ANY }, { 2, 16, ERNIC_MR_WANTS },
    };
    ErnicQp *qp = ernic_qp_get(f->end.e, 0, f->q.qpn);
    ErnicSendQueue *sq = &qp->sq, was = *sq;
    ErnicWqe *wqe = ernic_sq_slot(qp, sq->fetched);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(GString) why = g_string_new(NULL);

        memset(wqe, 0, sizeof(*wqe));
        wqe->opcode = ERNIC_WR_MR_UPDATE;
        wqe->index = sq->fetched++;
        wqe->unit = sq->taken++;
        wqe->units = 1;
        wqe->update = (ErnicMrUpdate) {
            .want = rows[i].want, .num = rows[i].num, .list.len = rows[i].len,
        };
        sq->wq.pi++;
        ernic_check(f->end.e, why);
        IS(!strstr(why->str, "sq-requests"), rows[i].valid);
        *sq = was;
    }
}

/* No update makes a region that a saved state could not have. */
FIXTURE_TEST("/mlx5-umr/length", test_length)
{
    start(f, f->key, 0, MASK_LEN | MASK_START, 0);
    CONTEXT(len, ERNIC_MAX_MR_SIZE + 1);
    IS(result(f), BIND_ERROR);
}

TESTS(add_tests)
{
#define ADD(path, data, fn) \
    g_test_add("/mlx5-umr/" path, Fixture, GUINT_TO_POINTER(data), setup, fn, teardown)
    ADD("fast/list", false, test_fast);
    ADD("fast/inline", true, test_fast);
    ADD("window/1", false, test_window);
    ADD("window/2", true, test_window);
    ADD("window/left/revoke", false, test_window_left);
    ADD("window/left/destroy", true, test_window_left);
    ADD_ROWS("/mlx5-umr/bad", bad, test_bad);
}
