/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions with gaps: keys of mode KLM, which Linux registers by UMR as a list of pieces
 * of other keys. The same keys are windows of type 1.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "mlx5_umr_fixture.h"

/* Pieces of the fixture's memory, of 801 bytes; the list has room for one more. */
static const struct {
    uint32_t at, len;
} gaps[] = { { 5000, 100 }, { 9001, 1 }, { 20000, 700 } };

/* f->key becomes one of the mode KLM: a window that may become a region. */
static void make_gaps(Fixture *f)
{
    f->key = fake_alloc_mw(f->end.e, f->end.pd, 1);
    OK(ernic_buf_alloc_pieces(f->end.e, &f->end.e->mr[f->key >> 8].buf, 4));
}

static void put_piece(uint8_t *at, uint32_t len, uint32_t key, uint64_t va)
{
    ernic_mlx5_put(at, &ernic_mlx5_klm.bcount, len);
    ernic_mlx5_put(at, &ernic_mlx5_klm.key, key);
    ernic_mlx5_put(at, &ernic_mlx5_klm.va, va);
}

/* A registration as mlx5_ib writes it; the rest of the list is not cleared. */
static void register_gaps(Fixture *f, bool in)
{
    uint8_t *list;

    start(f, f->key, FLAG_WANT_FREE | (in ? FLAG_INLINE : 0), MASK_FAST, 4);
    rights(f, true);
    CONTEXT(access_mode_1_0, 2);
    CONTEXT(mkey_7_0, f->key);
    CONTEXT(qpn, 0xffffff);
    CONTEXT(en_rinval, 1);
    CONTEXT(start_addr, IOVA);
    CONTEXT(len, 801);
    if (in) {
        list = mlx5_segment(&f->wr, 64);
    } else {
        mlx5_data(&f->wr, f->end.mem + 4096, 64, f->end.key);
        list = fake_ptr(&f->end.env, f->end.mem + 4096, 64);
    }
    memset(list, 0xa5, 64);
    for (uint32_t i = 0; i < ARRAY_SIZE(gaps); i++) {
        put_piece(list + i * 16, gaps[i].len, f->end.key, f->end.mem + gaps[i].at);
    }
}

/* WRITE the @len bytes of f->key from @off on to byte 40000; returns the syndrome. */
static uint8_t copy_gaps(Fixture *f, uint32_t off, uint32_t len)
{
    Mlx5Cqe cqe = { 0 };
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_WRITE, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_raddr(&wr, f->end.mem + 40000, f->end.key);
    mlx5_data(&wr, IOVA + off, len, f->key);
    mlx5_post_wr(&f->end, &f->q, &wr);
    fake_advance(f->end.e, 1000 * 1000);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    return cqe.syndrome;
}

/* Register, write and read over all gaps, invalidate, and register again. */
static void test_gaps(Fixture *f, gconstpointer data)
{
    bool in = GPOINTER_TO_UINT(data);

    make_gaps(f);
    for (uint32_t round = 0; round < 2; round++) {
        register_gaps(f, in);
        IS(result(f), 0);
        IS(mr_of(f)->kind, ERNIC_MR_FAST);
        IS(write_to(f, f->key, IOVA + 97, "over-all"), 0);
        assert_text(f, f->end.mem + 5097, "ove");
        assert_text(f, f->end.mem + 9001, "r");
        assert_text(f, f->end.mem + 20000, "-all");
        IS(copy_gaps(f, 96, 10), 0);
        assert_text(f, f->end.mem + 40001, "over-all");
        IS(copy_gaps(f, 0, 801), 0);
        invalidate(f, f->key);
    }
    assert_closed(f, f->key, IOVA);
}

/* The same requests at once: none of them is taken for one of a window. */
FIXTURE_TEST("/mlx5-gaps/queued", test_gaps_queued)
{
    Mlx5Cqe cqe;

    make_gaps(f);
    for (uint32_t i = 0; i < 4; i++) {
        if (i % 2 == 0) {
            register_gaps(f, true);
        } else {
            start(f, f->key, FLAG_INLINE, MASK_FREE, 0);
            CONTEXT(free, 1);
        }
        mlx5_write(&f->end, &f->q, &f->wr);
    }
    mlx5_ring(&f->end, &f->q);
    for (uint32_t i = 0; i < 4; i++) {
        g_assert_true(mlx5_poll(&f->end, &cqe));
        IS(cqe.syndrome, 0);
    }
    IS(mr_of(f)->kind, ERNIC_MR_FAST);
    g_assert_false(mr_of(f)->valid);
}

/* An atomic on bytes of two pieces has no memory of 8 bytes. */
FIXTURE_TEST("/mlx5-gaps/atomic", test_gaps_atomic)
{
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    make_gaps(f);
    register_gaps(f, true);
    CONTEXT(a, 1);
    IS(result(f), 0);
    mlx5_wr(&wr, ERNIC_MLX5_OP_FETCH_ADD, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_raddr(&wr, IOVA + 96, f->key);
    mlx5_atomic(&wr, 2, 0);
    mlx5_data(&wr, f->end.mem, 8, f->end.key);
    mlx5_post_wr(&f->end, &f->q, &wr);
    fake_advance(f->end.e, 1000 * 1000);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    IS(cqe.syndrome, FLUSHED);
    IS(f->end.e->stats.fault[ERNIC_FAULT_REM_ACCESS], 1);
}

/* A list that is loaded in several parts: pieces of 512 bytes, @small of them of 511. */
enum { PIECES = 300, FROM = 9216, MOVED = 100, COPIED = 40 };

static void list_of_many(Fixture *f, uint32_t small)
{
    uint8_t *list = fake_ptr(&f->end.env, f->end.mem + 4096, PIECES * 16);

    make_gaps(f);
    ernic_buf_fini(f->end.e, &f->end.e->mr[f->key >> 8].buf);
    ernic_buf_alloc_pieces(f->end.e, &f->end.e->mr[f->key >> 8].buf, PIECES);
    register_gaps(f, false);
    ernic_mlx5_put(f->control, &ernic_mlx5_wqe_umr_ctrl_seg.xlt_octowords, PIECES);
    ernic_mlx5_put(f->wr.bytes + 128, &ernic_mlx5_wqe_data_seg.byte_count, PIECES * 16);
    CONTEXT(len, PIECES * 512 - small);
    for (uint32_t i = 0; i < PIECES; i++) {
        put_piece(list + i * 16, 512 - (i < small), f->end.key,
                  f->end.mem + FROM + 2 * i);
    }
}

/* Each access to a piece is work. */
FIXTURE_TEST("/mlx5-gaps/work", test_gaps_work)
{
    uint8_t *from = fake_ptr(&f->end.env, f->end.mem + FROM, 2 * PIECES + 512);
    uint64_t before;

    for (uint32_t i = 0; i < 2 * PIECES + 512; i++) {
        from[i] = i * 7 + (i >> 8);
    }
    list_of_many(f, 0);
    IS(result(f), 0);
    before = f->end.e->work.done;
    IS(copy_gaps(f, MOVED * 512, COPIED * 512), 0);
    g_assert_cmpuint(f->end.e->work.done - before, >=, 2 * COPIED);
    for (uint32_t i = 0; i < COPIED; i++) {
        g_assert_cmpmem(fake_ptr(&f->end.env, f->end.mem + 40000 + i * 512, 512), 512,
                        from + 2 * (MOVED + i), 512);
    }
}

/* A packet is in a bounded number of pieces: only some of them may be small. */
static void test_gaps_small(Fixture *f, gconstpointer data)
{
    uint32_t small = GPOINTER_TO_UINT(data);

    list_of_many(f, small);
    IS(result(f), small > ERNIC_BUF_SMALLS ? BIND_ERROR : 0);
    IS(mr_of(f)->valid, small <= ERNIC_BUF_SMALLS);
}

#define ASSERT_BAD(place, value, name) do {                 \
    g_autoptr(GString) why_ = g_string_new(NULL);           \
    typeof(place) was_ = (place);                           \
    (place) = (value);                                      \
    g_assert_false(ernic_check(e, why_));                   \
    g_assert_nonnull(strstr(why_->str, name));              \
    (place) = was_;                                         \
} while (0)

/* Pieces of no region, of a window or list, in part outside of it, beyond its rights. */
static void assert_bad_keys(Ernic *e, const Fixture *f)
{
    ErnicMr *mr = &e->mr[f->key >> 8], *of = &e->mr[f->end.key >> 8];

    g_assert_true(ernic_check(e, NULL));
    ASSERT_BAD(mr->region, 0, "mr-pieces");
    ASSERT_BAD(mr->region, UINT32_MAX, "mr-pieces");
    ASSERT_BAD(mr->region, f->key >> 8, "mr-pieces");
    ASSERT_BAD(mr->region, fake_alloc_mw(e, f->end.pd, 2) >> 8, "mr-pieces");
    ASSERT_BAD(of->kind, ERNIC_MR_FREE, "mr-pieces");
    ASSERT_BAD(of->valid, false, "mr-pieces");
    ASSERT_BAD(of->length, gaps[2].at + gaps[2].len - 1, "mr-pieces");
    ASSERT_BAD(of->offset, gaps[0].at + 1, "mr-pieces");
    ASSERT_BAD(of->access, 0, "mr-pieces");
    ASSERT_BAD(of->pd, fake_create_pd(e), "mr-pieces");
    g_assert_true(ernic_check(e, NULL));
}

/* A state with the list, before and after it has pieces, is that of the engine. */
static void test_gaps_state(Fixture *f, gconstpointer data)
{
    Ernic *e;

    make_gaps(f);
    if (data) {
        register_gaps(f, true);
        IS(result(f), 0);
    }
    fake_take_over(&f->end.e);
    e = f->end.e;
    /* Pieces in no order, more of them than there is room for, and one beyond 2^64. */
    if (data) {
        ErnicBuf *buf = &e->mr[f->key >> 8].buf;

        ASSERT_BAD(buf->page[2], buf->page[2] - 1, "range");
        ASSERT_BAD(buf->used, 5, "range");
        ASSERT_BAD(buf->page[1], UINT64_MAX, "range");
        assert_bad_keys(e, f);
    }
}

static uint8_t *piece(Fixture *f, uint32_t i)
{
    return f->wr.bytes + 16 + 48 + 64 + i * 16;
}

/* All pieces are of @key. */
static void pieces_of(Fixture *f, uint32_t key)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(gaps); i++) {
        put_piece(piece(f, i), gaps[i].len, key, f->end.mem + gaps[i].at);
    }
}

/* A key that opens the fixture's memory. */
static uint32_t key_of(Fixture *f, uint32_t pd, uint32_t access)
{
    return fake_reg_mr(f->end.e, pd, f->end.mem, MLX5_MEM, access);
}

static void gaps_keys(Fixture *f)
{
    put_piece(piece(f, 1), 1, key_of(f, f->end.pd, ERNIC_ACCESS_LOCAL_WRITE), f->end.mem);
}

static void gaps_window(Fixture *f)
{
    pieces_of(f, fake_alloc_mw(f->end.e, f->end.pd, 2));
}

static void gaps_pages(Fixture *f)
{
    uint32_t key = fake_alloc_mr(f->end.e, f->end.pd, PAGES);
    ErnicMr *mr = &f->end.e->mr[key >> 8];

    mr->valid = true;
    mr->iova = f->end.mem;
    mr->length = MLX5_MEM;
    mr->access = ERNIC_ACCESS_LOCAL_WRITE;
    pieces_of(f, key);
}

static void gaps_domain(Fixture *f)
{
    pieces_of(f, key_of(f, fake_create_pd(f->end.e), ERNIC_ACCESS_LOCAL_WRITE));
}

static void gaps_rights(Fixture *f)
{
    pieces_of(f, key_of(f, f->end.pd, 0));
}

static void gaps_range(Fixture *f)
{
    put_piece(piece(f, 1), 2, f->end.key, f->end.mem + MLX5_MEM - 1);
}

/* The request of a user is a bind, here to memory at another address. */
static void gaps_user(Fixture *f)
{
    ernic_mlx5_qp(f->end.e, f->q.qpn)->fast_register = false;
}

/* A registration that is refused. */
typedef struct Bad {
    const char *name;
    Spoil spoil[3];
    void (*fn)(Fixture *f);
} Bad;

static const Bad bad_gaps[] = {
    { "key", { PIECE(0, key, 0x77777700), PIECE(1, key, 0x77777700),
               PIECE(2, key, 0x77777700) } },
    { "keys", .fn = gaps_keys }, { "window", .fn = gaps_window },
    { "pages", .fn = gaps_pages }, { "domain", .fn = gaps_domain },
    { "rights", .fn = gaps_rights }, { "range", .fn = gaps_range },
    { "empty", { PIECE(1, bcount, 0) } }, { "few", { CONTROL(xlt_octowords, 2) } },
    { "offset", { CONTROL(flags, FLAG_WANT_FREE | FLAG_INLINE | FLAG_OFFSET),
                  CONTROL(xlt_offset_47_16, 1) } },
    { "only-range", { CONTROL(mkey_mask, MASK_FAST & ~MASK_FREE) } },
    { "no-range", { CONTROL(mkey_mask, MASK_FAST & ~(MASK_LEN | MASK_START)) } },
    { "user", .fn = gaps_user },
};

static void test_bad_gaps(Fixture *f, gconstpointer data)
{
    const Bad *b = data;

    make_gaps(f);
    register_gaps(f, true);
    spoil(f, b->spoil, ARRAY_SIZE(b->spoil));
    if (b->fn) {
        b->fn(f);
    }
    IS(result(f), BIND_ERROR);
    g_assert_false(mr_of(f)->valid);
    IS(f->end.e->mr[f->end.key >> 8].refs, 0);
}

static void close_by_umr(Fixture *f)
{
    start(f, f->key, FLAG_INLINE, MASK_FREE | MASK_PD, 0);
    CONTEXT(free, 1);
    CONTEXT(pd, f->end.pd);
    ernic_mlx5_qp(f->end.e, f->q.qpn)->umr = true;
    IS(result(f), 0);
    ernic_mlx5_qp(f->end.e, f->q.qpn)->umr = false;
}

static void close_by_local(Fixture *f)
{
    invalidate(f, f->key);
}

static void close_by_peer(Fixture *f)
{
    g_assert_true(ernic_mr_invalidate(f->end.e, f->end.pd, f->q.qpn, f->key, true));
}

static void close_by_destroy(Fixture *f)
{
    OK(ernic_mr_free(f->end.e, 0, f->key, false));
    make_gaps(f);
}

/* The key of the pieces stays while the region is open, and no longer. */
FIXTURE_TEST("/mlx5-gaps/held", test_held)
{
    static void (*const closes[])(Fixture *f) = {
        close_by_umr, close_by_local, close_by_peer, close_by_destroy,
    };
    Ernic *e = f->end.e;
    uint32_t key;

    make_gaps(f);
    for (uint32_t i = 0; i < ARRAY_SIZE(closes); i++) {
        key = key_of(f, f->end.pd, ERNIC_ACCESS_LOCAL_WRITE);
        register_gaps(f, true);
        pieces_of(f, key);
        IS(result(f), 0);
        IS(e->mr[key >> 8].refs, 1);
        IS(ernic_mr_free(e, 0, key, false), ERNIC_ERR_BUSY);
        IS(write_to(f, f->key, IOVA + 97, "over-all"), 0);
        g_assert_true(ernic_check(e, NULL));
        closes[i](f);
        g_assert_true(ernic_check(e, NULL));
        OK(ernic_mr_free(e, 0, key, false));
    }
}

/*
 * The key of the pieces goes, as DESTROY_MKEY does it, while a window is bound to the
 * region: the window opens nothing any more.
 */
FIXTURE_TEST("/mlx5-gaps/window", test_window)
{
    Ernic *e = f->end.e;
    uint32_t key = key_of(f, f->end.pd, ERNIC_ACCESS_LOCAL_WRITE);
    struct ernic_wqe_bind_mw wr = {
        .addr = IOVA, .length = 801, .access = ERNIC_ACCESS_REMOTE_WRITE,
    };

    make_gaps(f);
    register_gaps(f, true);
    pieces_of(f, key);
    IS(result(f), 0);
    wr.lkey = f->key;
    wr.rkey = fake_alloc_mw(e, f->end.pd, 2);
    wr.new_rkey = wr.rkey;
    IS(ernic_mw_bind(e, f->end.pd, f->q.qpn, &wr), ERNIC_FAULT_NONE);
    IS(write_to(f, wr.rkey, IOVA + 97, "over-all"), 0);
    ernic_mr_abandon(e, &e->mr[key >> 8]);
    OK(ernic_mr_free(e, 0, key, false));
    assert_closed(f, wr.rkey, IOVA + 97);
    IS(e->mr[f->key >> 8].refs, 0);
    g_assert_true(ernic_check(e, NULL));
}

/* A request that has loaded a part holds the key, until another one uses the list. */
static void test_held_by_part(Fixture *f, gconstpointer data)
{
    enum { NUM = 1024 };
    uint64_t list = fake_alloc(&f->end.env, NUM * 8, 4096);
    bool bind = GPOINTER_TO_UINT(data), more;
    Ernic *e = f->end.e;
    uint32_t key = key_of(f, f->end.pd, ERNIC_ACCESS_LOCAL_WRITE), i;
    ErnicMrUpdate u = {
        .set = ERNIC_UPDATE_VALID | ERNIC_UPDATE_RANGE, .valid = true, .num = NUM,
        .length = NUM / 2 * 512,
        .list = { .addr = list, .len = NUM * 8,
                  .lkey = fake_reg_mr(e, f->end.pd, list, NUM * 8, 0) },
    };
    const struct ernic_wqe_bind_mw wr = {
        .lkey = f->end.key, .addr = f->end.mem, .length = 64,
        .access = ERNIC_ACCESS_REMOTE_READ,
    };
    struct ernic_wqe_bind_mw other = wr;

    for (i = 0; i < NUM / 2; i++) {
        put_piece(fake_ptr(&f->end.env, list + i * 16, 16), 512, key, f->end.mem + i);
    }
    list_of_many(f, 0);
    u.key = other.rkey = f->key;
    ernic_buf_fini(e, &e->mr[f->key >> 8].buf);
    ernic_buf_alloc_pieces(e, &e->mr[f->key >> 8].buf, NUM / 2);
    IS(ernic_mr_update(e, f->end.pd, f->q.qpn, &u, &more), ERNIC_FAULT_NONE);
    g_assert_true(more);
    g_assert_true(ernic_check(e, NULL));
    IS(ernic_mr_free(e, 0, key, false), ERNIC_ERR_BUSY);
    if (bind) {
        e->mr[f->end.key >> 8].access |= ERNIC_ACCESS_MW_BIND;
        IS(ernic_mw_bind(e, f->end.pd, f->q.qpn, &other), ERNIC_FAULT_NONE);
    } else {
        OK(ernic_mr_free(e, 0, f->key, true));
    }
    g_assert_true(ernic_check(e, NULL));
    OK(ernic_mr_free(e, 0, key, false));
    IS(ernic_mr_update(e, f->end.pd, f->q.qpn, &u, &more), ERNIC_FAULT_REG_MR);
}

TESTS(add_tests)
{
#define ADD(path, data, fn) \
    g_test_add("/mlx5-gaps/" path, Fixture, GUINT_TO_POINTER(data), setup, fn, teardown)
    ADD("list", false, test_gaps);
    ADD("inline", true, test_gaps);
    ADD("small", ERNIC_BUF_SMALLS, test_gaps_small);
    ADD("too-many-small", ERNIC_BUF_SMALLS + 1, test_gaps_small);
    ADD("held-by-part/bind", true, test_held_by_part);
    ADD("held-by-part/destroy", false, test_held_by_part);
    ADD("state", false, test_gaps_state);
    ADD("state-open", true, test_gaps_state);
    ADD_ROWS("/mlx5-gaps/bad", bad_gaps, test_bad_gaps);
}
