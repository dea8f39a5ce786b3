/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue pair that is connected to itself, and UMR requests on it.
 */
#ifndef TESTS_UNIT_MLX5_UMR_FIXTURE_H
#define TESTS_UNIT_MLX5_UMR_FIXTURE_H

#include "mlx5_queues.h"
#include "objects/mr.h"
#include "transport/qp.h"

/* Bits of mkey_mask, and flags, as drivers combine them. */
#define MASK_LEN        (1ull << 0)
#define MASK_PAGE_SIZE  (1ull << 1)
#define MASK_START      (1ull << 6)
#define MASK_PD         (1ull << 7)
#define MASK_RINVAL     (1ull << 8)
#define MASK_KEY        (1ull << 13)
#define MASK_QPN        (1ull << 14)
#define MASK_LR         (1ull << 17)
#define MASK_RIGHTS     (7ull << 18)
#define MASK_A          (1ull << 21)
#define MASK_SMALL      (1ull << 23)
#define MASK_FREE       (1ull << 29)
#define MASK_SHAPE      (MASK_LEN | MASK_PAGE_SIZE | MASK_START)
#define MASK_FAST       (MASK_SHAPE | MASK_RINVAL | MASK_KEY | MASK_LR | MASK_RIGHTS | \
                         MASK_A | MASK_SMALL | MASK_FREE)
#define FLAG_INLINE     0x80
#define FLAG_WANT_VALID 0x40
#define FLAG_WANT_FREE  0x20
#define FLAG_OFFSET     0x10

#define PRESENT         3               /* flags of a page address */
#define PAGES           16
#define IOVA            0x7000000000ull

enum { REQ = 0, REQ_ERR = 13 };
enum { BIND_ERROR = 0x06, PROT_ERROR = 0x04, FLUSHED = 0x05 };

typedef struct Fixture {
    Mlx5End end;
    Mlx5Queue q;
    uint32_t key;               /* of a region with room for PAGES */
    uint64_t pages;             /* PAGES pages of memory */
    Mlx5Wr wr;
    uint8_t *control, *context;
} Fixture;

static inline void setup(Fixture *f, gconstpointer data)
{
    mlx5_end_init(&f->end, 1);
    mlx5_create_qp(&f->end, &f->q, ERNIC_QPT_RC, NULL);
    mlx5_connect(&f->end, &f->q, f->q.qpn, 1);          /* to itself */
    f->key = fake_alloc_mr(f->end.e, f->end.pd, PAGES);
    f->pages = fake_alloc(&f->end.env, PAGES * 4096, 4096);
}

static inline void teardown(Fixture *f, gconstpointer data)
{
    mlx5_end_done(&f->end);
}

#define CONTEXT_OF(f, field, value) \
    ernic_mlx5_put((f)->context, &ernic_mlx5_mkc.field, value)
#define CONTEXT(field, value)   CONTEXT_OF(f, field, value)

static inline void start(Fixture *f, uint32_t key, uint8_t flags, uint64_t mask,
                  uint32_t octowords)
{
    mlx5_wr(&f->wr, ERNIC_MLX5_OP_UMR, ERNIC_MLX5_CE_ALWAYS, key);
    f->control = mlx5_segment(&f->wr, 48);
    f->context = mlx5_segment(&f->wr, 64);
    ernic_mlx5_put(f->control, &ernic_mlx5_wqe_umr_ctrl_seg.flags, flags);
    ernic_mlx5_put(f->control, &ernic_mlx5_wqe_umr_ctrl_seg.mkey_mask, mask);
    ernic_mlx5_put(f->control, &ernic_mlx5_wqe_umr_ctrl_seg.xlt_octowords, octowords);
}

static inline void rights(Fixture *f, bool write)
{
    CONTEXT(lr, 1);
    CONTEXT(lw, write);
    CONTEXT(rr, 1);
    CONTEXT(rw, write);
}

static inline uint8_t result(Fixture *f)
{
    Mlx5Cqe cqe = { 0 };

    mlx5_post_wr(&f->end, &f->q, &f->wr);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    IS(cqe.sent, ERNIC_MLX5_OP_UMR);
    IS(cqe.opcode, cqe.syndrome ? REQ_ERR : REQ);
    return cqe.syndrome;
}

/* A value in the request that spoils it. */
typedef struct Spoil {
    uint32_t at;                /* of a segment of the request */
    const ErnicMlx5Field *field;
    uint64_t value;
} Spoil;

#define CONTROL(field, value)   { 16, &ernic_mlx5_wqe_umr_ctrl_seg.field, value }
#define KEY(field, value)       { 64, &ernic_mlx5_mkc.field, value }
#define POINTER(field, value)   { 128, &ernic_mlx5_wqe_data_seg.field, value }
#define PIECE(i, field, value)  { 128 + 16 * (i), &ernic_mlx5_klm.field, value }

static inline void spoil(Fixture *f, const Spoil *s, uint32_t num)
{
    for (; num && s->field; num--, s++) {
        ernic_mlx5_put(f->wr.bytes + s->at, s->field, s->value);
    }
}

/* Add a test for each of the rows, which begin with a name. */
#define ADD_ROWS(path, rows, fn) do {                                               \
    for (size_t i_ = 0; i_ < ARRAY_SIZE(rows); i_++) {                              \
        g_autofree char *name_ = g_strdup_printf(path "/%s", (rows)[i_].name);      \
                                                                                    \
        g_test_add(name_, Fixture, &(rows)[i_], setup, fn, teardown);               \
    }                                                                               \
} while (0)

static inline const ErnicMr *mr_of(const Fixture *f)
{
    return &f->end.e->mr[f->key >> 8];
}

/* A local invalidation. */
static inline void invalidate(Fixture *f, uint32_t key)
{
    start(f, key, FLAG_INLINE, MASK_FREE, 0);
    CONTEXT(free, 1);
    IS(result(f), 0);
    g_assert_false(mr_of(f)->valid);
}

/* WRITE to the queue pair itself, through @key; returns the syndrome. */
static inline uint8_t write_to(Fixture *f, uint32_t key, uint64_t addr, const char *text)
{
    Mlx5Cqe cqe = { 0 };
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_WRITE, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_raddr(&wr, addr, key);
    mlx5_inline(&wr, text, strlen(text));
    mlx5_post_wr(&f->end, &f->q, &wr);
    fake_advance(f->end.e, 1000 * 1000);
    g_assert_true(mlx5_poll(&f->end, &cqe));
    return cqe.syndrome;
}

/*
 * The peer refuses @key. It is the same queue pair, so its request is flushed before the
 * NAK arrives.
 */
static inline void assert_closed(Fixture *f, uint32_t key, uint64_t addr)
{
    IS(write_to(f, key, addr, "x"), FLUSHED);
    IS(f->end.e->stats.fault[ERNIC_FAULT_REM_ACCESS], 1);
}

static inline void assert_text(Fixture *f, uint64_t addr, const char *text)
{
    g_assert_cmpmem(fake_ptr(&f->end.env, addr, strlen(text)), strlen(text), text,
                    strlen(text));
}

#endif /* TESTS_UNIT_MLX5_UMR_FIXTURE_H */
