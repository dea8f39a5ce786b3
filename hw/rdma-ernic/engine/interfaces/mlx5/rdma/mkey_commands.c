/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of memory keys. A key is index << 8 | a variant that software chooses. A key
 * opens memory by bus addresses (mode PA), has a list of pages (mode MTT), or one of
 * pieces of other keys (mode KLM). The list is that of the command, or if the key is
 * created free, one that work requests fill in. Keys of mode KLM are free, and also
 * windows: only the first request shows which of both a key is.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/command/lists.h"
#include "objects/mr.h"

/* MLX5_MKC_ACCESS_MODE_*. */
enum { MODE_PA, MODE_MTT, MODE_KLM, MODES };

/* qpn of a key that every queue pair may use. */
#define ANY_QP          0xffffffu
/* Page addresses in a unit of translations_octword_size. */
#define OCTWORD_PAGES   2

/* Local read is always allowed. */
static const struct {
    const ErnicMlx5Field *field;
    uint32_t access;
} rights[] = {
    { &ernic_mlx5_mkc.a, ERNIC_ACCESS_REMOTE_ATOMIC },
    { &ernic_mlx5_mkc.rw, ERNIC_ACCESS_REMOTE_WRITE },
    { &ernic_mlx5_mkc.rr, ERNIC_ACCESS_REMOTE_READ },
    { &ernic_mlx5_mkc.lw, ERNIC_ACCESS_LOCAL_WRITE },
};

static uint32_t access_of(const uint8_t *mkc)
{
    uint32_t access = 0, i;

    for (i = 0; i < ARRAY_SIZE(rights); i++) {
        access |= ernic_mlx5_get(mkc, rights[i].field) ? rights[i].access : 0;
    }
    return access;
}

/* The whole bus from start_addr on, or len bytes of it. */
static ErnicMlx5Refusal physical(const uint8_t *mkc, ErnicMrInit *init, ErnicBuf *buf)
{
    uint64_t start = GET(mkc, mkc.start_addr);

    init->length = GET(mkc, mkc.length64) ? UINT64_MAX - start : GET(mkc, mkc.len);
    *buf = (ErnicBuf) { .base = start };
    return GET(mkc, mkc.free) ||
           !ernic_mr_range_ok(init->access, start, init->length, UINT64_MAX) ?
           ERNIC_MLX5_BAD_VALUE : ERNIC_MLX5_ACCEPTED;
}

/* A region with the list of pages in the command. */
static ErnicMlx5Refusal translated(Ernic *e, const ErnicMlx5Request *r,
                                   const uint8_t *mkc, ErnicMrInit *init,
                                   ErnicBuf *buf)
{
    uint32_t shift = GET(mkc, mkc.log_page_size);
    ErnicMlx5List list = {
        .at = BYTE(create_mkey_in.klm_pas_mtt), .page_shift = shift,
    };
    uint64_t room = GET(mkc, mkc.translations_octword_size) * OCTWORD_PAGES;

    /* Windows may be bound to each region: there is no bit for the right. */
    init->access |= ERNIC_ACCESS_MW_BIND;
    init->length = GET(mkc, mkc.len);
    if (GET(mkc, mkc.length64) || shift > ERNIC_PAGE_SHIFT_MAX ||
        !ernic_mr_range_ok(init->access, init->iova, init->length, ERNIC_MAX_MR_SIZE)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    init->offset = init->iova & ((1ull << shift) - 1);
    list.bytes = MAX(init->offset + init->length, 1ull);
    if (DIV_ROUND_UP(list.bytes, 1ull << shift) > room) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return ernic_mlx5_read_list(e, r, &list, buf);
}

/* A key that is closed, and that work requests open. */
static ErnicMlx5Refusal unopened(Ernic *e, const uint8_t *mkc, ErnicMrInit *init,
                                 ErnicBuf *buf)
{
    uint64_t pages = GET(mkc, mkc.translations_octword_size) * OCTWORD_PAGES;

    if (!GET(mkc, mkc.umr_en) || !pages || pages > ERNIC_MAX_PAGES) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    init->kind = ERNIC_MR_FAST;
    init->valid = false;
    ernic_charge(e, pages / ERNIC_BUF_LIST);    /* host pages */
    return ernic_mlx5_refusal(ernic_buf_alloc(e, buf, pages));
}

/*
 * A window, which needs no list; one of type 1 may also become a region of pieces. A peer
 * may invalidate those of type 2 alone.
 */
static ErnicMlx5Refusal window(Ernic *e, const uint8_t *mkc, ErnicMrInit *init,
                               ErnicBuf *buf)
{
    uint64_t pieces = GET(mkc, mkc.translations_octword_size);

    if (!GET(mkc, mkc.free) || !GET(mkc, mkc.umr_en) || !pieces ||
        pieces > ERNIC_MAX_PAGES / ERNIC_BUF_PIECE) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    init->valid = false;
    init->kind = GET(mkc, mkc.en_rinval) ? ERNIC_MR_WINDOW_2 : ERNIC_MR_WINDOW_1;
    if (init->kind == ERNIC_MR_WINDOW_2) {
        return ERNIC_MLX5_ACCEPTED;
    }
    /* Pages of the host. */
    ernic_charge(e, pieces * ERNIC_BUF_PIECE / ERNIC_BUF_LIST);
    return ernic_mlx5_refusal(ernic_buf_alloc_pieces(e, buf, pieces));
}

static ErnicMlx5Refusal create_mkey(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *mkc = PART(r->in, create_mkey_in.memory_key_mkey_entry);
    uint32_t mode = GET(mkc, mkc.access_mode_4_2) << 2 | GET(mkc, mkc.access_mode_1_0);
    uint32_t pd = GET(mkc, mkc.pd), key;
    ErnicMrInit init = {
        /* A peer may invalidate FAST regions only. */
        .kind = GET(mkc, mkc.en_rinval) ? ERNIC_MR_FAST : ERNIC_MR_REGION,
        .valid = true, .access = access_of(mkc), .iova = GET(mkc, mkc.start_addr),
    };
    Ernic *e = f->engine;
    ErnicBuf buf = { };
    ErnicMlx5Refusal refusal;
    uint8_t status;

    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_mkc, mkc) || mode >= MODES ||
        GET(mkc, mkc.qpn) != ANY_QP || GET(r->in, create_mkey_in.pg_access) ||
        GET(r->in, create_mkey_in.mkey_umem_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!ernic_mlx5_has_pd(e, pd)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    refusal = mode == MODE_PA ? physical(mkc, &init, &buf) :
              mode == MODE_KLM ? window(e, mkc, &init, &buf) :
              GET(mkc, mkc.free) ? unopened(e, mkc, &init, &buf) :
                                   translated(e, r, mkc, &init, &buf);
    if (refusal) {
        return refusal;
    }
    status = ernic_mr_add(e, pd, &init, &buf, &key);
    if (status == ERNIC_OK) {
        ernic_mr_set_variant(e, key >> 8, GET(mkc, mkc.mkey_7_0));
        memcpy(e->mlx5->contexts.mkey[key >> 8], mkc, ERNIC_MLX5_MKC);
        PUT(r->out, create_mkey_out.mkey_index, key >> 8);
    }
    return ernic_mlx5_refusal(status);
}

/* The first two addresses of a list of pages follow the context. */
static void put_pages(const ErnicMr *mr, uint8_t *out)
{
    uint8_t *at = PART(out, query_mkey_out.bsf0_klm0_pas_mtt0_1);
    uint64_t mask = (1ull << mr->buf.page_shift) - 1;
    uint32_t n = mr->buf.page && !mr->buf.pieces ? mr->buf.npages : 0, i;

    for (i = 0; i < MIN(n, OCTWORD_PAGES); i++) {
        stq_be_p(at + i * sizeof(uint64_t), mr->buf.page[i] & ~mask);
    }
}

static ErnicMlx5Refusal query_mkey(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t n = GET(r->in, query_mkey_in.mkey_index), i;
    uint8_t *mkc = PART(r->out, query_mkey_out.memory_key_mkey_entry);
    Ernic *e = f->engine;
    const ErnicMr *mr;

    if (GET(r->in, query_mkey_in.pg_access)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (n >= e->mr_ids.fresh || e->mr[n].kind == ERNIC_MR_FREE) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    mr = &e->mr[n];
    memcpy(mkc, e->mlx5->contexts.mkey[n], ERNIC_MLX5_MKC);
    PUT(mkc, mkc.free, !mr->valid);
    PUT(mkc, mkc.mkey_7_0, mr->variant);
    PUT(mkc, mkc.pd, mr->pd);
    for (i = 0; i < ARRAY_SIZE(rights); i++) {
        ernic_mlx5_put(mkc, rights[i].field, !!(mr->access & rights[i].access));
    }
    PUT(mkc, mkc.start_addr, mr->iova);
    if (mr->buf.page || mr->kind == ERNIC_MR_WINDOW_2) {
        PUT(mkc, mkc.len, mr->length);
    }
    if (mr->buf.page && !mr->buf.pieces) {
        PUT(mkc, mkc.log_page_size, mr->buf.page_shift);
    }
    put_pages(mr, r->out);
    return ERNIC_MLX5_ACCEPTED;
}

/*
 * A region may go before its windows, whose keys fail then (IBTA vol. 1, 10.6.7.2.6): the
 * driver takes a refusal for a fault of the hardware, and a process that dies has bound
 * what it has.
 */
static ErnicMlx5Refusal destroy_mkey(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t n = GET(r->in, destroy_mkey_in.mkey_index);
    Ernic *e = f->engine;
    uint8_t kind = n < e->mr_ids.fresh ? e->mr[n].kind : ERNIC_MR_FREE;
    bool window = kind == ERNIC_MR_WINDOW_1 || kind == ERNIC_MR_WINDOW_2;

    if (kind != ERNIC_MR_FREE) {
        ernic_mr_abandon(e, &e->mr[n]);
    }
    return ernic_mlx5_refusal(ernic_mr_free(e, 0, n << 8, window));
}

/*
 * There is no reserved key: no driver asks for it, as its uses are those of a PA key of
 * the kernel. 0 is never a key.
 */
static ErnicMlx5Refusal query_special_contexts(ErnicMlx5Function *f,
                                               const ErnicMlx5Request *r)
{
    PUT(r->out, query_special_contexts_out.terminate_scatter_list_mkey,
        ERNIC_MLX5_END_KEY);
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(mkey, .needs_engine = true,
    { 0x200, "CREATE_MKEY", RUNNING, create_mkey },
    { 0x201, "QUERY_MKEY", RUNNING, query_mkey },
    { 0x202, "DESTROY_MKEY", RUNNING, destroy_mkey },
    { 0x203, "QUERY_SPECIAL_CONTEXTS", RUNNING, query_special_contexts },
);
