/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of regions and of windows: a device with three protection
 * domains, and makers of regions, windows and requests.
 */
#ifndef MR_FIXTURE_H
#define MR_FIXTURE_H

#include "fake_env.h"
#include "test.h"
#include "objects/mr.h"
#include "trace-mark.h"

#define LW      ERNIC_ACCESS_LOCAL_WRITE
#define RW      ERNIC_ACCESS_REMOTE_WRITE
#define RR      ERNIC_ACCESS_REMOTE_READ
#define RA      ERNIC_ACCESS_REMOTE_ATOMIC
#define MB      ERNIC_ACCESS_MW_BIND
#define ZB      ERNIC_ACCESS_ZERO_BASED
#define ALL     (LW | RW | RR | RA | MB)

#define QPN     7
#define USER    3               /* a context */
#define IOVA    0x7f0000001000ull
#define LEN     0x3000ull

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
    uint32_t pd, other_pd, user_pd;
} Fixture;

static inline void setup(Fixture *f, gconstpointer data)
{
    fake_bare_init(&f->e, &f->env);
    OK(ernic_pd_alloc(&f->e, 0, &f->pd));
    OK(ernic_pd_alloc(&f->e, 0, &f->other_pd));
    OK(ernic_pd_alloc(&f->e, USER, &f->user_pd));
}

/* All objects can be destroyed in the end, and none is left. */
static inline void teardown(Fixture *f, gconstpointer data)
{
    ErnicMr *mr;
    bool window;

    for (uint32_t pass = 0; pass < 2; pass++) {          /* windows first */
        for (uint32_t i = 1; i < f->e.mr_ids.size; i++) {
            mr = &f->e.mr[i];
            window = mr->kind == ERNIC_MR_WINDOW_1 || mr->kind == ERNIC_MR_WINDOW_2;
            if (mr->kind != ERNIC_MR_FREE && window == !pass) {
                OK(ernic_mr_free(&f->e, mr->uctx, i << 8, window));
            }
        }
    }
    IS(f->e.num_pages, 0);
    IS(f->e.num_bound, 0);
    IS(f->e.mr_ids.count, f->e.mr_ids.size - 1);
    OK(ernic_pd_free(&f->e, 0, f->pd));
    OK(ernic_pd_free(&f->e, 0, f->other_pd));
    OK(ernic_pd_free(&f->e, USER, f->user_pd));
    fake_bare_fini(&f->e);
}

static inline struct ernic_cmd_mr_reg reg_cmd(Fixture *f, uint32_t access)
{
    struct ernic_cmd_mr_reg cmd = {
        .buf.addr = cpu_to_le64(FAKE_MEM_BASE + 0x10000),
        .iova = cpu_to_le64(access & ZB ? 0 : IOVA), .length = cpu_to_le64(LEN),
        .pd = cpu_to_le32(f->pd), .access = cpu_to_le32(access),
    };

    return cmd;
}

static inline uint32_t reg(Fixture *f, uint32_t access)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, access);
    uint32_t key = 0;

    OK(ernic_mr_reg(&f->e, 0, &cmd, &key));
    return key;
}

static inline uint32_t alloc_mw(Fixture *f, uint8_t type)
{
    uint32_t key = 0;

    OK(ernic_mw_alloc(&f->e, 0, f->pd, type, &key));
    return key;
}

static inline struct ernic_wqe_bind_mw bind_wr(uint32_t rkey,
                                               uint32_t lkey, uint32_t access)
{
    struct ernic_wqe_bind_mw wr = {
        .rkey = rkey, .new_rkey = (rkey & ~0xffu) | ((rkey + 5) & 0xff), .lkey = lkey,
        .access = access, .addr = IOVA + 0x800, .length = 0x1000,
    };

    return wr;
}

static inline bool may(Fixture *f, uint32_t key, uint64_t addr,
                       uint64_t len, uint32_t access)
{
    const ErnicMr *mr;
    uint64_t off;

    return ernic_mr_check_remote(&f->e, f->pd, QPN, key, addr, len, access, &mr, &off);
}

/* The guest address of a granted access by protection domain @pd. */
static inline uint64_t place(Fixture *f, uint32_t pd, uint32_t key, uint64_t addr,
                             uint64_t len, uint32_t access)
{
    uint64_t off, run;
    const ErnicMr *mr;

    g_assert_true(ernic_mr_check_remote(&f->e, pd, QPN, key, addr, len, access, &mr,
                                        &off));
    return ernic_buf_addr(&mr->buf, off, &run);
}

/* A list of @n pages, the last page first; returns its address. */
static inline uint64_t put_pages(Fixture *f, uint32_t n, uint8_t shift)
{
    uint64_t list = fake_alloc(&f->env, n * 8, 8);

    for (uint32_t i = 0; i < n; i++) {
        fake_put64(&f->env, list + i * 8, (uint64_t)(n - i) << shift);
    }
    return list;
}

static inline struct ernic_wqe_reg_mr fast_wr(Fixture *f, uint32_t key)
{
    struct ernic_wqe_reg_mr wr = {
        .key = (key & ~0xffu) | 0x42, .access = ALL, .iova = IOVA + 0x10,
        .length = LEN - 0x10, .list_addr = put_pages(f, 3, 12), .npages = 3,
        .page_shift = 12,
    };

    return wr;
}

static inline uint32_t alloc_fast(Fixture *f)
{
    uint32_t key = 0;

    OK(ernic_mr_alloc(&f->e, 0, f->pd, 4, &key));
    return key;
}

#endif /* MR_FIXTURE_H */
