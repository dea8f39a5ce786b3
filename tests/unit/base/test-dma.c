/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Payload through keys: pieces of messages against a model; no byte moves where a key
 * does not open memory.
 */
#include "qemu/osdep.h"
#include "objects/dma.h"
#include "mr_fixture.h"

/* The result of a call of dma.h. */
#define DMA(result, fn, ...) \
    IS(ernic_dma_##fn(&f->e, f->pd, __VA_ARGS__), ERNIC_DMA_##result)
#define GATHER(result, ...)  DMA(result, gather, __VA_ARGS__)
#define SCATTER(result, ...) DMA(result, scatter, __VA_ARGS__)
#define READ(result, ...)    DMA(result, remote_read, QPN, __VA_ARGS__)
#define WRITE(result, ...)   DMA(result, remote_write, QPN, __VA_ARGS__)

/* A region over @pages scattered pages; a copy of its bytes is in @model. */
typedef struct Region {
    uint32_t key;
    uint64_t iova, length;
    uint64_t offset;
    uint64_t page[8];
} Region;

static void make_region(Fixture *f, Region *r, uint32_t pages, uint32_t offset,
                        uint32_t access)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, access);
    uint64_t list = fake_alloc(&f->env, pages * 8, 8), pool;

    pool = fake_alloc(&f->env, pages * 4096, 4096);
    for (uint32_t i = 0; i < pages; i++) {
        r->page[i] = pool + (i * 11 + 3) % pages * 4096;
        fake_put64(&f->env, list + i * 8, r->page[i]);
    }
    r->offset = offset;
    r->iova = IOVA + 0x123 + offset;
    r->length = pages * 4096 - offset - 7;
    cmd.buf.addr = cpu_to_le64(list);
    cmd.buf.npages = cpu_to_le32(pages);
    cmd.buf.page_shift = 12;
    cmd.buf.levels = 1;
    cmd.offset = cpu_to_le32(offset);
    cmd.iova = cpu_to_le64(r->iova);
    cmd.length = cpu_to_le64(r->length);
    OK(ernic_mr_reg(&f->e, 0, &cmd, &r->key));
}

/* The byte of guest memory at @addr of the region. */
static uint8_t *byte_at(Fixture *f, const Region *r, uint64_t addr)
{
    uint64_t off = addr - r->iova + r->offset;

    return fake_ptr(&f->env, r->page[off / 4096] + off % 4096, 1);
}

FIXTURE_TEST("/dma/pieces", test_pieces)
{
    enum { STEPS = 3000, BYTES = 16 * 2048 };
    g_autofree uint8_t **model = g_new(uint8_t *, BYTES);
    g_autofree uint8_t *buf = g_malloc(BYTES);
    g_autofree uint8_t *shadow = NULL;
    ErnicSge sge[ERNIC_MAX_SGE];
    uint32_t n, i, total, off, len;
    Region r[2], *region;

    make_region(f, &r[0], 7, 0xabc, LW);
    make_region(f, &r[1], 8, 0, LW);
    shadow = g_memdup2(f->env.mem, f->env.next);
    for (uint32_t step = 0; step < STEPS; step++) {
        n = g_test_rand_int_range(1, ERNIC_MAX_SGE + 1);
        for (i = 0, total = 0; i < n; i++) {
            region = &r[g_test_rand_int_range(0, 2)];
            sge[i].len = step % 5 ? g_test_rand_int_range(0, 2049) : i % 3;
            sge[i].addr = region->iova +
                g_test_rand_int_range(0, region->length - sge[i].len + 1);
            /* No key is checked for 0 bytes. */
            sge[i].lkey = sge[i].len ? region->key : g_test_rand_int();
            for (uint32_t k = 0; k < sge[i].len; k++) {
                model[total++] = byte_at(f, region, sge[i].addr + k);
            }
        }
        off = g_test_rand_int_range(0, total + 1);
        len = g_test_rand_int_range(0, total - off + 1);
        if (step % 2) {
            memset(buf, 0xa5, BYTES);
            GATHER(OK, sge, n, off, buf, len);
            for (i = 0; i < len; i++) {
                IS(buf[i], *model[off + i]);
            }
            g_assert_true(len == BYTES || buf[len] == 0xa5);
            continue;
        }
        /* In order, so that where SGEs overlap the later one wins. */
        for (i = 0; i < len; i++) {
            buf[i] = g_test_rand_int();
            shadow[model[off + i] - f->env.mem] = buf[i];
        }
        SCATTER(OK, sge, n, off, buf, len);
        g_assert_cmpmem(f->env.mem, f->env.next, shadow, f->env.next);
    }
}

/* One SGE of three is bad: the bytes before it move, its own do not. */
static const struct {
    const char *event;
    int32_t addr, len;
    uint32_t key_xor;
    bool read_only;
    bool other_pd;
} bad_sge[] = {
    { "ernic_key_invalid", .key_xor = 1 },
    { "ernic_key_invalid", .key_xor = 0x7fff00 },
    { "ernic_key_wrong_pd", .other_pd = true },
    { "ernic_key_no_right", .read_only = true },
    { "ernic_key_out_of_range", .addr = -0x2801 },
    { "ernic_key_out_of_range", .addr = 0x7f1 },
    { "ernic_key_out_of_range", .len = 0x7f1 },
};

FIXTURE_TEST("/dma/bad-sge", test_bad_sge)
{
    uint32_t key = reg(f, LW), ro = reg(f, 0), where, i;
    uint8_t *mem = fake_ptr(&f->env, FAKE_MEM_BASE + 0x10000, LEN);
    uint8_t buf[3 * 16 + 0x800];
    ErnicSge sge[3];

    for (i = 0; i < ARRAY_SIZE(bad_sge); i++) {
        for (where = 0; where < 3; where++) {
            sge[0] = (ErnicSge) { IOVA + LEN - 0x800, 16, key };
            sge[1] = sge[2] = sge[0];
            sge[where].addr += bad_sge[i].addr;
            sge[where].len += bad_sge[i].len;
            sge[where].lkey ^= bad_sge[i].key_xor;
            if (bad_sge[i].other_pd) {
                f->e.mr[ro >> 8].pd = f->other_pd;
            }
            if (bad_sge[i].read_only || bad_sge[i].other_pd) {
                sge[where].lkey = ro;
            }
            memset(mem, 0, LEN);
            memset(buf, 0xff, sizeof(buf));
            ernic_trace_reset();
            SCATTER(PROT, sge, 3, 0, buf, 48 + bad_sge[i].len);
            IS(ernic_trace_count(bad_sge[i].event), 1);
            IS(ernic_trace_lines(), 1);
            IS(mem[LEN - 0x800], where ? 0xff : 0);
            IS(ernic_dma_gather(&f->e, f->pd, sge, 3, 0, buf, 48 + bad_sge[i].len),
               bad_sge[i].read_only ? ERNIC_DMA_OK : ERNIC_DMA_PROT);
            /* A piece outside of the bad SGE does not check it. */
            if (where == 2) {
                SCATTER(OK, sge, 3, 3, buf, 29);
            }
            f->e.mr[ro >> 8].pd = f->pd;
        }
    }
}

/* An SGE across the end of the address space is in no region. */
FIXTURE_TEST("/dma/wrapping-sge", test_wrapping_sge)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, LW);
    ErnicSge sge = { UINT64_MAX - 7, 64, 0 };
    uint8_t buf[64] = { 0 };

    cmd.iova = 0;
    OK(ernic_mr_reg(&f->e, 0, &cmd, &sge.lkey));
    GATHER(PROT, &sge, 1, 0, buf, 64);
    /* Its byte 8 would be at address 0, which the key opens. */
    GATHER(PROT, &sge, 1, 8, buf, 8);
    SCATTER(PROT, &sge, 1, 9, buf, 8);
    sge.addr = 0;
    GATHER(OK, &sge, 1, 0, buf, 64);
}

/* ---- remote ------------------------------------------------------------- */

FIXTURE_TEST("/dma/remote-rights", test_remote_rights)
{
    uint32_t key;
    uint8_t buf[64] = { 0 };
    uint64_t old;

    for (uint32_t held = 0; held <= ALL; held++) {
        if ((held & (RW | RA)) && !(held & LW)) {
            continue;
        }
        key = reg(f, held);
        IS(ernic_dma_remote_read(&f->e, f->pd, QPN, key, IOVA, buf, 64),
           held & RR ? ERNIC_DMA_OK : ERNIC_DMA_PROT);
        IS(ernic_dma_remote_write(&f->e, f->pd, QPN, key, IOVA, buf, 64),
           held & RW ? ERNIC_DMA_OK : ERNIC_DMA_PROT);
        IS(ernic_dma_remote_atomic(&f->e, f->pd,
                                   QPN, key, IOVA, ERNIC_ATOMIC_FETCH_ADD, 1, 0, &old),
           held & RA ? ERNIC_DMA_OK : ERNIC_DMA_PROT);
        OK(ernic_mr_free(&f->e, 0, key, false));
    }
}

FIXTURE_TEST("/dma/remote-copy", test_remote_copy)
{
    uint8_t buf[9000], back[9000];
    Region r;

    make_region(f, &r, 5, 0x321, ALL);
    for (uint32_t i = 0; i < sizeof(buf); i++) {
        buf[i] = g_test_rand_int();
    }
    WRITE(OK, r.key, r.iova + 5000, buf, sizeof(buf));
    for (uint32_t i = 0; i < sizeof(buf); i++) {
        IS(*byte_at(f, &r, r.iova + 5000 + i), buf[i]);
    }
    READ(OK, r.key, r.iova + 5000, back, sizeof(back));
    g_assert_cmpmem(buf, sizeof(buf), back, sizeof(back));

    /* One byte too many: no byte moves. */
    memset(back, 0, sizeof(back));
    WRITE(PROT, r.key, r.iova + r.length - 8999, back, sizeof(back));
    IS(*byte_at(f, &r, r.iova + 5000), buf[0]);

    /* No bytes, no key (C9-88). */
    f->env.reads = f->env.writes = 0;
    WRITE(OK, 0, 0, NULL, 0);
    READ(OK, UINT32_MAX, UINT64_MAX, NULL, 0);
    IS(f->env.reads + f->env.writes, 0);

    fake_fail_dma(&f->env, 2, false);
    READ(FAILED, r.key, r.iova, back, sizeof(back));
    fake_fail_dma(&f->env, 2, false);
    WRITE(FAILED, r.key, r.iova, back, sizeof(back));
}

/* Through a window the bytes are those of the region beneath. */
FIXTURE_TEST("/dma/remote-window", test_remote_window)
{
    struct ernic_wqe_bind_mw wr;
    uint8_t byte = 0x5a;
    Region r;

    make_region(f, &r, 3, 0x10, LW | MB);
    wr = bind_wr(alloc_mw(f, 2), r.key, RW | ZB);
    wr.addr = r.iova + 4100;
    wr.length = 100;
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    WRITE(OK, wr.new_rkey, 99, &byte, 1);
    IS(*byte_at(f, &r, r.iova + 4199), 0x5a);
    WRITE(PROT, wr.new_rkey, 100, &byte, 1);
    IS(ernic_dma_remote_write(&f->e, f->pd, QPN + 1, wr.new_rkey, 99, &byte, 1),
       ERNIC_DMA_PROT);
}

FIXTURE_TEST("/dma/atomic", test_atomic)
{
    uint64_t at = FAKE_MEM_BASE + 0x10000, old;
    uint32_t key = reg(f, LW | RA);

#define ATOMIC(result, addr, op, arg, cmp) \
    DMA(result, remote_atomic, QPN, key, addr, ERNIC_ATOMIC_##op, arg, cmp, &old)

    fake_put64(&f->env, at + 8, UINT64_MAX);
    ATOMIC(OK, IOVA + 8, FETCH_ADD, 3, 0);
    IS(old, UINT64_MAX);
    IS(fake_get64(&f->env, at + 8), 2);
    ATOMIC(OK, IOVA + 8, CMP_SWAP, 77, 3);
    IS(old, 2);
    IS(fake_get64(&f->env, at + 8), 2);
    ATOMIC(OK, IOVA + 8, CMP_SWAP, 77, 2);
    IS(old, 2);
    IS(fake_get64(&f->env, at + 8), 77);

    /* The last word, and the one after it. */
    ATOMIC(OK, IOVA + LEN - 8, FETCH_ADD, 1, 0);
    ATOMIC(PROT, IOVA + LEN, FETCH_ADD, 1, 0);
    ATOMIC(PROT, IOVA - 8, FETCH_ADD, 1, 0);

    f->env.atomics = 0;
    fake_fail_dma(&f->env, 1, false);
    ATOMIC(FAILED, IOVA + 8, FETCH_ADD, 1, 0);
    IS(fake_get64(&f->env, at + 8), 77);

    /* Aligned in the peer's address, but not in memory. */
    f->e.mr[key >> 8].buf.base++;
    ernic_trace_reset();
    ATOMIC(PROT, IOVA + 8, FETCH_ADD, 1, 0);
    IS(ernic_trace_count("ernic_atomic_unaligned"), 1);
    IS(f->env.atomics, 1);
}
