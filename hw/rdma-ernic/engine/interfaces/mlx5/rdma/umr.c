/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * UMR requests: a control segment with flags and a mask of properties, a memory key
 * context with their new values, and a list of translations. The mask and the kind of
 * the key select one of the engine's requests:
 *
 *   key                   mask and context         request
 *   window                free = 0                 BIND_MW
 *   window, type 1        free = 1                 BIND_MW of 0 bytes
 *   any other             only free = 1            LOCAL_INV
 *   region                all others               MR_UPDATE
 *
 * A window with a list of pieces is a region for the queue pairs of the kernel, which
 * bind no windows, and register memory with gaps by such keys.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/mlx5/layout/fields.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "objects/mr.h"
#include "trace.h"

#define CONTROL_SIZE    48
#define CONTEXT_SIZE    64

/* Flags of the UMR control segment (MLX5_UMR_*). */
#define UMR_INLINE      0x80
#define UMR_WANT_VALID  0x40            /* MLX5_UMR_CHECK_FREE: fail if it is free */
#define UMR_WANT_FREE   0x20            /* MLX5_UMR_CHECK_NOT_FREE */
#define UMR_OFFSET      0x10            /* the offset of the translations is valid */

/* Bits of mkey_mask (MLX5_MKEY_MASK_*). */
#define MASK_LEN        (1ull << 0)
#define MASK_PAGE_SIZE  (1ull << 1)
#define MASK_START      (1ull << 6)
#define MASK_PD         (1ull << 7)
#define MASK_RINVAL     (1ull << 8)
#define MASK_KEY        (1ull << 13)
#define MASK_QPN        (1ull << 14)
#define MASK_LR         (1ull << 17)
#define MASK_LW         (1ull << 18)
#define MASK_RR         (1ull << 19)
#define MASK_RW         (1ull << 20)
#define MASK_A          (1ull << 21)
#define MASK_SMALL_FENCE (1ull << 23)
#define MASK_RO_WRITE   (1ull << 25)
#define MASK_FREE       (1ull << 29)
#define MASK_RO_READ    (1ull << 47)
#define MASK_ACCESS     (MASK_LW | MASK_RR | MASK_RW)
/* Properties that exist; local read, ordering and small fences have no effect. */
#define MASK_KNOWN      (MASK_LEN | MASK_PAGE_SIZE | MASK_START | MASK_PD |       \
                         MASK_RINVAL | MASK_KEY | MASK_QPN | MASK_LR |            \
                         MASK_ACCESS | MASK_A | MASK_SMALL_FENCE |                \
                         MASK_RO_WRITE | MASK_FREE | MASK_RO_READ)

/* A UMR request, split. */
typedef struct Umr {
    uint8_t flags;
    uint32_t octowords;         /* of the translations, 16 bytes each */
    uint64_t offset;            /* of the first one, in the same unit */
    uint64_t mask;
    const uint8_t *context;     /* mkc */
    const uint8_t *list;        /* what follows */
    uint32_t list_len;
} Umr;

static ErnicFault refuse(uint32_t key, ErnicFault fault, const char *why)
{
    trace_ernic_mr_update_refused(key, why);
    return fault;
}

static uint64_t get(const Umr *umr, const ErnicMlx5Field *field)
{
    return ernic_mlx5_get(umr->context, field);
}

static uint32_t access_of(const Umr *umr)
{
    /* Windows may be bound to any region that UMR may change. */
    return (get(umr, &ernic_mlx5_mkc.lw) ? ERNIC_ACCESS_LOCAL_WRITE : 0) |
           (get(umr, &ernic_mlx5_mkc.rr) ? ERNIC_ACCESS_REMOTE_READ : 0) |
           (get(umr, &ernic_mlx5_mkc.rw) ? ERNIC_ACCESS_REMOTE_WRITE : 0) |
           (get(umr, &ernic_mlx5_mkc.a) ? ERNIC_ACCESS_REMOTE_ATOMIC : 0);
}

static bool is_free(const Umr *umr)
{
    return (umr->mask & MASK_FREE) && get(umr, &ernic_mlx5_mkc.free);
}

/* ---- windows --------------------------------------------------------------------- */

static ErnicFault decode_bind(const Umr *umr, uint32_t key, ErnicWqe *wqe)
{
    struct ernic_wqe_bind_mw *bind = &wqe->bind_mw;
    uint64_t start = get(umr, &ernic_mlx5_mkc.start_addr);

    memset(bind, 0, sizeof(*bind));
    wqe->opcode = ERNIC_WR_BIND_MW;
    bind->rkey = key;
    bind->new_rkey = (key & ~0xffu) | get(umr, &ernic_mlx5_mkc.mkey_7_0);
    if (is_free(umr)) {
        return ERNIC_FAULT_NONE;
    }
    if (!(umr->flags & UMR_INLINE) || umr->list_len < ERNIC_MLX5_SEGMENT) {
        return refuse(key, ERNIC_FAULT_MW_BIND, "window without region");
    }
    bind->lkey = ldl_be_p(umr->list + 4);
    bind->addr = ldq_be_p(umr->list + 8);
    bind->length = get(umr, &ernic_mlx5_mkc.len);
    bind->access = access_of(umr) & ~ERNIC_ACCESS_LOCAL_WRITE;
    if (start != bind->addr) {
        if (start) {
            return refuse(key, ERNIC_FAULT_MW_BIND, "another address in the window");
        }
        bind->access |= ERNIC_ACCESS_ZERO_BASED;
    }
    return ERNIC_FAULT_NONE;
}

/* ---- regions --------------------------------------------------------------------- */

/* Where the page addresses are, and how many: two in each 16 bytes. */
static ErnicFault decode_list(const Umr *umr, uint32_t key, ErnicMrUpdate *u)
{
    uint32_t bytes = umr->octowords * 16;
    uint64_t first = umr->flags & UMR_OFFSET ? umr->offset * 2 : 0;

    u->num = umr->octowords * 2;
    if (first > ERNIC_MAX_PAGES) {
        return refuse(key, ERNIC_FAULT_REG_MR, "offset of the translations");
    }
    u->first = first;
    if (umr->flags & UMR_INLINE) {
        if (bytes > umr->list_len || u->num > ERNIC_UPDATE_INLINE) {
            return refuse(key, ERNIC_FAULT_REG_MR, "inline translations");
        }
        memcpy(u->page, umr->list, bytes);
        return ERNIC_FAULT_NONE;
    }
    if (umr->list_len < ERNIC_MLX5_SEGMENT || ldl_be_p(umr->list) < bytes ||
        (ldl_be_p(umr->list) & 0x80000000u)) {
        return refuse(key, ERNIC_FAULT_REG_MR, "list of translations");
    }
    u->list = (ErnicSge) {
        .addr = ldq_be_p(umr->list + 8), .len = bytes,
        .lkey = ldl_be_p(umr->list + 4),
    };
    return ERNIC_FAULT_NONE;
}

static uint8_t properties(uint64_t mask)
{
    return (mask & MASK_FREE ? ERNIC_UPDATE_VALID : 0) |
           (mask & MASK_KEY ? ERNIC_UPDATE_VARIANT : 0) |
           (mask & MASK_PD ? ERNIC_UPDATE_PD : 0) |
           (mask & MASK_ACCESS ? ERNIC_UPDATE_ACCESS : 0) |
           (mask & MASK_START ? ERNIC_UPDATE_RANGE : 0) |
           (mask & MASK_PAGE_SIZE ? ERNIC_UPDATE_PAGE_SIZE : 0);
}

static ErnicFault decode_update(const ErnicMlx5Qp *record, const Umr *umr, uint32_t key,
                                bool pieces, ErnicWqe *wqe)
{
    ErnicMrUpdate *u = &wqe->update;
    uint64_t access = umr->mask & MASK_ACCESS;

    if (!record->fast_register) {
        return refuse(key, ERNIC_FAULT_REG_MR, "queue pair of a user");
    }
    if (pieces && umr->flags & UMR_OFFSET && umr->offset) {
        return refuse(key, ERNIC_FAULT_REG_MR, "offset of the pieces");
    }
    /* The rights, and address and length, change together. */
    if ((access && access != MASK_ACCESS) ||
        !(umr->mask & MASK_LEN) != !(umr->mask & MASK_START)) {
        return refuse(key, ERNIC_FAULT_REG_MR, "mask");
    }
    *u = (ErnicMrUpdate) {
        .key = key, .set = properties(umr->mask), .any_pd = record->umr,
        .want = umr->flags & UMR_WANT_FREE ? ERNIC_MR_WANT_INVALID :
                umr->flags & UMR_WANT_VALID ? ERNIC_MR_WANT_VALID : ERNIC_MR_WANT_ANY,
        .valid = !is_free(umr),
        .remote_inv = (umr->mask & MASK_RINVAL) && get(umr, &ernic_mlx5_mkc.en_rinval),
        .variant = get(umr, &ernic_mlx5_mkc.mkey_7_0),
        .page_shift = get(umr, &ernic_mlx5_mkc.log_page_size),
        .pd = get(umr, &ernic_mlx5_mkc.pd),
        .access = access_of(umr) | ERNIC_ACCESS_MW_BIND,
        .iova = get(umr, &ernic_mlx5_mkc.start_addr),
        .length = get(umr, &ernic_mlx5_mkc.len),
    };
    return umr->octowords ? decode_list(umr, key, u) : ERNIC_FAULT_NONE;
}

/* ---- all ------------------------------------------------------------------------- */

ErnicFault ernic_mlx5_umr_decode(const Ernic *e, const ErnicQp *qp, uint32_t key,
                                 const uint8_t *bytes, uint32_t len, ErnicWqe *wqe)
{
    const ErnicMlx5Qp *record = ernic_mlx5_qp(e, qp->qpn);
    const ErnicMr *mr = key >> 8 < e->mr_ids.fresh ? &e->mr[key >> 8] : NULL;
    bool window;
    Umr umr;

    if (len < CONTROL_SIZE + CONTEXT_SIZE) {
        return refuse(key, ERNIC_FAULT_SEND_WQE, "request is too short");
    }
    umr = (Umr) {
        .flags = bytes[0],
        .octowords = lduw_be_p(bytes + 4),
        /* xlt_offset shares its place with the size of block signatures. */
        .offset = (uint64_t)ldl_be_p(bytes + 16) << 16 | lduw_be_p(bytes + 6),
        .mask = ldq_be_p(bytes + 8),
        .context = bytes + CONTROL_SIZE,
        .list = bytes + CONTROL_SIZE + CONTEXT_SIZE,
        .list_len = len - CONTROL_SIZE - CONTEXT_SIZE,
    };
    if (umr.mask & ~MASK_KNOWN) {
        return refuse(key, ERNIC_FAULT_REG_MR, "mask");
    }
    window = mr && (mr->kind == ERNIC_MR_WINDOW_1 || mr->kind == ERNIC_MR_WINDOW_2) &&
             !(record->fast_register && mr->buf.page);
    if (window && (mr->kind == ERNIC_MR_WINDOW_1 || !is_free(&umr))) {
        return decode_bind(&umr, key, wqe);
    }
    /*
     * Requests of the kernel's queue pair for UMR, which may close any region, are no
     * local invalidations.
     */
    if (is_free(&umr) && !record->umr &&
        !(umr.mask & ~(MASK_FREE | MASK_KEY | MASK_QPN))) {
        wqe->opcode = ERNIC_WR_LOCAL_INV;
        wqe->inv_rkey = key;
        return ERNIC_FAULT_NONE;
    }
    return decode_update(record, &umr, key, mr && mr->buf.pieces, wqe);
}
