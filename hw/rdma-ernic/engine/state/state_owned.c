/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parts of saved state that are not a structure: memory that an object
 * owns, as counted arrays, and the variant part of a request; and the structure of a
 * buffer. A count that is
 * loaded is held against what is there before anything is allocated for it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/pg332/register_file.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "state/spans.h"
#include "state/state.h"
#include "transport/qp_life.h"
#include "transport/tx.h"

bool ernic_state_no_memory(const Ernic *e, ErnicReader *in)
{
    return e->mem.refused ?
           ernic_state_refuse(in, "it needs more than %" PRIu64 " bytes of memory"
                              " (max-memory)", e->mem.bound) :
           ernic_state_refuse(in, "this host has no memory for its objects");
}

/* ---- registers of PG332 ---------------------------------------------------- */

/*
 * Stored of each block: how many elements of how many words, a byte for each word that
 * says whether it is a register, and the values of the registers.
 */
static void save_block(const ErnicRegFile *rf, ErnicRegScope scope, GByteArray *out)
{
    uint32_t words, num = ernic_regfile_elements(rf, scope, &words), i, k;

    ernic_state_put(out, num, 4);
    ernic_state_put(out, words, 4);
    for (k = 0; k < words; k++) {
        ernic_state_put(out, ernic_regfile_word(rf, scope, 0, k) != NULL, 1);
    }
    for (i = 0; i < num; i++) {
        for (k = 0; k < words; k++) {
            const uint32_t *value = ernic_regfile_word(rf, scope, i, k);

            if (value) {
                ernic_state_put(out, *value, 4);
            }
        }
    }
}

static void save_regs(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    int scope;

    for (scope = 0; e->regs && scope < ERNIC_REG_SCOPES; scope++) {
        save_block(e->regs, scope, out);
    }
}

/* Registers that the writer did not have keep their reset values. */
static bool load_block(ErnicRegFile *rf, ErnicRegScope scope, ErnicReader *in)
{
    uint32_t own, num = ernic_regfile_elements(rf, scope, &own), words, i, k;
    const uint8_t *is_reg;

    if (ernic_state_read(in, 4) != num) {
        return false;
    }
    words = ernic_state_read(in, 4);
    if (!ernic_state_has(in, words, 1)) {
        return false;
    }
    is_reg = in->data;
    in->data += words;
    in->left -= words;
    for (i = 0; i < num && !in->failed; i++) {
        for (k = 0; k < words; k++) {
            uint32_t *value = k < own ? ernic_regfile_word(rf, scope, i, k) : NULL;

            if ((is_reg[k] || k >= own) && !value) {
                return ernic_state_refuse(in, "a newer release saved it: it has more"
                                          " registers");
            }
            if (is_reg[k]) {
                *value = ernic_state_read(in, 4);
                if (!ernic_regfile_clears(rf, scope, k, *value)) {
                    return ernic_state_refuse(in, "a cause of interrupts does not exist");
                }
            }
        }
    }
    return !in->failed;
}

static bool load_regs(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    int scope;

    for (scope = 0; e->regs && scope < ERNIC_REG_SCOPES; scope++) {
        if (!load_block(e->regs, scope, in)) {
            return false;
        }
    }
    return true;
}

const ErnicStateOwned ernic_state_regs = { save_regs, load_regs };

/* ---- free numbers, oldest first -------------------------------------------- */

/* Bit of a count of freed numbers: the first one that was never given out follows. */
#define WITH_FRESH  0x80000000u

static void save_ids(const ErnicStateField *f, const Ernic *e, const void *obj,
                     GByteArray *out)
{
    const ErnicIds *ids = obj;
    uint32_t id;

    ernic_state_put(out, WITH_FRESH | (ids->count - (ids->size - ids->fresh)), 4);
    ernic_state_put(out, ids->fresh, 4);
    for (id = ids->head; id; id = ids->fifo[id]) {
        ernic_state_put(out, id, 4);
    }
}

/*
 * Older releases store all @n free numbers, of which those that were never given out are
 * the first ones, in order. Returns the number of these; *@fresh is the first of them.
 */
static uint32_t skip_fresh(const ErnicIds *ids, const uint8_t *list, uint32_t n,
                           uint32_t *fresh)
{
    uint32_t i;

    *fresh = n ? ldl_le_p(list) : ids->size;
    for (i = 1; i < n && ldl_le_p(list + 4 * i) == *fresh + i; i++) {
    }
    if (n && i == ids->size - *fresh) {
        return i;
    }
    *fresh = ids->size;
    return 0;
}

static bool load_ids(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicIds *ids = obj;
    uint32_t head = ernic_state_read(in, 4), n = head & ~WITH_FRESH;
    uint32_t fresh = head & WITH_FRESH ? ernic_state_read(in, 4) : 0, skipped = 0, i;

    if (n >= ids->size || !ernic_state_has(in, n, 4)) {
        return false;
    }
    if (!(head & WITH_FRESH)) {
        skipped = skip_fresh(ids, in->data, n, &fresh);
    }
    if (!ernic_ids_load_fresh(ids, fresh)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        uint32_t id = ernic_state_read(in, 4);

        if (i >= skipped && !ernic_ids_load(ids, id)) {
            return false;
        }
    }
    return true;
}

const ErnicStateOwned ernic_state_free_ids = { save_ids, load_ids };

/* ---- variant bytes of keys ------------------------------------------------- */

static void save_variants(const ErnicStateField *f, const Ernic *e, const void *obj,
                          GByteArray *out)
{
    ernic_state_put(out, e->mr_ids.fresh, 4);
    ernic_spans_save(e, ERNIC_SPANS_VARIANTS, out);
}

static bool load_variants(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint32_t n = ernic_state_read(in, 4), i;

    if (n > e->cfg.max_mr || !ernic_state_has(in, n, 1)) {
        return false;
    }
    /* Numbers that an older release had given out, and were free in their order. */
    ernic_ids_load_given(&e->mr_ids, n);
    if (!ernic_mr_charge_table(e)) {
        return ernic_state_no_memory(e, in);
    }
    for (i = 0; i < n; i++) {
        e->mr[i].variant = ernic_state_read(in, 1);
    }
    return true;
}

const ErnicStateOwned ernic_state_variants = { save_variants, load_variants };

/* ---- pages of a buffer ----------------------------------------------------- */

/*
 * A list that was sent ahead belongs here: at byte @at of the state so far, which counts
 * without those lists. False: this one was not.
 */
static bool skip_list(const Ernic *e, ErnicList list, uint64_t at)
{
    ErnicPrecopy *p = e->precopy;
    ErnicPrecopyHole hole;
    bool sent;

    if (!p || !list.length) {
        return false;
    }
    sent = ernic_list_done(&list) == list.length;
    if (!p->holes) {            /* a span is looked at: lists may be long */
        p->unsent |= !sent;
        return true;
    }
    if (!sent) {
        return false;
    }
    memset(&hole, 0, sizeof(hole));
    hole.at = at + p->skipped;
    hole.number = *list.number;
    g_byte_array_append(p->holes, (const uint8_t *)&hole, sizeof(hole));
    p->skipped += (uint64_t)list.length * sizeof(*list.entry);
    return true;
}

static void save_pages(const ErnicStateField *f, const Ernic *e, const void *obj,
                       GByteArray *out)
{
    const ErnicBuf *buf = obj;

    if (!skip_list(e, ernic_list_of_buf(buf), out->len)) {
        ernic_state_put_all(out, buf->page, buf->npages, 8);
    }
}

/* npages is loaded; 0 means an extent, or no buffer at all. */
static bool load_pages(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicBuf *buf = obj;
    uint32_t n = buf->npages;
    uint8_t page_shift = buf->page_shift;
    uint64_t base = buf->base;

    if (n == 0) {
        return true;
    }
    buf->npages = 0;
    if (!ernic_state_has(in, n, 8) || n > ERNIC_MAX_PAGES - e->num_pages) {
        return false;
    }
    if (ernic_buf_alloc(e, buf, n)) {
        return ernic_state_no_memory(e, in);
    }
    buf->page_shift = page_shift;
    buf->base = base;
    ernic_state_read_all(in, buf->page, n, 8);
    return true;
}

static const ErnicStateOwned pages = { save_pages, load_pages };

#define S ErnicBuf
DESCRIBE(buf,
    U(base), UMAX(npages, ERNIC_MAX_PAGES),
    UMAX(page_shift, ERNIC_PAGE_SHIFT_MAX), OWNED(page, pages),
    U(offset), BOOL(pieces), UMAX(used, ERNIC_MAX_PAGES / ERNIC_BUF_PIECE),
);
#undef S

/* ---- pages of a region on demand -------------------------------------------- */

static void save_odp(const ErnicStateField *f, const Ernic *e, const void *obj,
                     GByteArray *out)
{
    const ErnicMr *mr = obj;
    ErnicOdpChunk *chunk;
    uint32_t i;

    if (!mr->odp) {
        return;
    }
    ernic_state_put(out, mr->odp->page_shift, 1);
    ernic_state_put(out, mr->odp->num, 4);
    for (i = 0; i < mr->odp->num; i++) {
        chunk = &mr->odp->chunk[i];
        ernic_state_put(out, chunk->number, 8);
        if (!skip_list(e, ernic_list_of_chunk(chunk), out->len)) {
            ernic_state_put_all(out, chunk->entry, ERNIC_ODP_CHUNK, 8);
        }
    }
}

/* access is loaded; it says whether there is a table. */
static bool load_odp(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint64_t entry[ERNIC_ODP_CHUNK], number;
    ErnicMr *mr = obj;
    uint8_t page_shift, status;
    uint32_t n, i;

    if (!(mr->access & ERNIC_ACCESS_ON_DEMAND)) {
        return true;
    }
    page_shift = ernic_state_read(in, 1);
    n = ernic_state_read(in, 4);
    if (page_shift < ERNIC_PAGE_SHIFT_MIN || page_shift > ERNIC_PAGE_SHIFT_MAX ||
        !ernic_state_has(in, n, 8 * (1 + ERNIC_ODP_CHUNK)) ||
        n > (ERNIC_MAX_PAGES - e->num_pages) / ERNIC_ODP_CHUNK) {
        return false;
    }
    mr->odp = ernic_odp_new(e, page_shift);
    if (!mr->odp) {
        return ernic_state_no_memory(e, in);
    }
    for (i = 0; i < n; i++) {
        number = ernic_state_read(in, 8);
        ernic_state_read_all(in, entry, ERNIC_ODP_CHUNK, 8);
        status = ernic_odp_append(e, mr->odp, number, entry);
        if (status) {
            return status == ERNIC_ERR_NO_RESOURCE && ernic_state_no_memory(e, in);
        }
    }
    return true;
}

const ErnicStateOwned ernic_state_odp = { save_odp, load_odp };

/* ---- objects that wait for room in an event queue -------------------------- */

static void save_line(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicEq *eq = obj;
    uint32_t i;

    ernic_state_put(out, eq->line_count, 4);
    for (i = 0; i < eq->line_count; i++) {
        ernic_state_put(out, eq->line[(eq->line_head + i) % eq->line_size], 4);
    }
}

static bool load_line(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicEq *eq = obj;
    uint32_t n = ernic_state_read(in, 4), i;

    if (n > ernic_eq_line_size(&e->cfg) || !ernic_state_has(in, n, 4)) {
        return false;
    }
    if (!ernic_eq_alloc_line(e, eq)) {
        return ernic_state_no_memory(e, in);
    }
    eq->line_count = n;
    for (i = 0; i < n; i++) {
        eq->line[i] = ernic_state_read(in, 4);
    }
    return true;
}

const ErnicStateOwned ernic_state_line = { save_line, load_line };

/* ---- send requests that are decoded and not complete ----------------------- */

static void save_window(const ErnicStateField *f, const Ernic *e, const void *obj,
                        GByteArray *out)
{
    const ErnicSendQueue *sq = obj;
    uint32_t i;

    for (i = sq->wq.ci; i != sq->fetched; i++) {
        ernic_state_save_struct(e, f->of, &sq->wqe[i & sq->window_mask], out);
    }
}

static bool load_window(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicSendQueue *sq = obj;
    uint32_t i;

    if (sq->wq.depth && !ernic_depth_ok(sq->wq.depth, 1, ERNIC_MAX_WQ_DEPTH)) {
        return false;
    }
    /* The counters bound walks that come before the checks. */
    if (sq->fetched - sq->wq.ci > ernic_sq_window(sq->wq.depth) ||
        sq->started - sq->wq.ci > sq->fetched - sq->wq.ci) {
        return false;
    }
    if (!ernic_sq_alloc_window(e, sq, sq->wq.depth)) {
        return ernic_state_no_memory(e, in);
    }
    for (i = sq->wq.ci; i != sq->fetched; i++) {
        ErnicWqe *wqe = &sq->wqe[i & sq->window_mask];

        /* Rows that the writer did not have are 0. */
        memset(wqe, 0, offsetof(ErnicWqe, sge));
        if (!ernic_state_load_struct(e, f->of, wqe, in)) {
            return false;
        }
    }
    return true;
}

const ErnicStateOwned ernic_state_window = { save_window, load_window };

/* ---- answers to READs and atomics ------------------------------------------ */

static void save_answers(const ErnicStateField *f, const Ernic *e, const void *obj,
                         GByteArray *out)
{
    const ErnicQp *qp = obj;

    ernic_state_save_structs(e, f->of, qp->rd, ERNIC_MAX_RD_ATOMIC, out);
}

static bool load_answers(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicQp *qp = obj;

    if (!ernic_qp_alloc_answers(e, qp)) {
        return ernic_state_no_memory(e, in);
    }
    return ernic_state_load_structs(e, f->of, qp->rd, ERNIC_MAX_RD_ATOMIC, in);
}

const ErnicStateOwned ernic_state_answers = { save_answers, load_answers };

/* ---- what a send request carries ------------------------------------------- */

/* A request at fault is not executed, and needs nothing any more. */
/* The entries that are inline, and the bytes of these after each. */
static void save_inline(const Ernic *e, const ErnicWqe *wqe, GByteArray *out)
{
    uint64_t inlined = cpu_to_le64(wqe->inlined);
    uint32_t i;

    if (!wqe->num_sge) {
        g_byte_array_append(out, wqe->data, wqe->len);
        return;
    }
    g_byte_array_append(out, (uint8_t *)&inlined, sizeof(inlined));
    for (i = 0; i < wqe->num_sge; i++) {
        ernic_state_save_struct(e, &ernic_state_sge, &wqe->sge[i], out);
        if (wqe->inlined >> i & 1) {
            g_byte_array_append(out, wqe->data + wqe->sge[i].addr, wqe->sge[i].len);
        }
    }
}

static bool load_inline(Ernic *e, ErnicWqe *wqe, ErnicReader *in)
{
    uint32_t i;

    if (!wqe->num_sge) {
        if (wqe->len > ERNIC_WQE_INLINE) {
            return false;
        }
        ernic_state_read_bytes(in, wqe->data, wqe->len);
        return true;
    }
    ernic_state_read_bytes(in, &wqe->inlined, sizeof(wqe->inlined));
    wqe->inlined = le64_to_cpu(wqe->inlined);
    for (i = 0; i < wqe->num_sge; i++) {
        const ErnicSge *sge = &wqe->sge[i];

        if (!ernic_state_load_struct(e, &ernic_state_sge, &wqe->sge[i], in)) {
            return false;
        }
        if (wqe->inlined >> i & 1) {
            if (!ernic_wqe_inlined_ok(wqe, sge)) {
                return false;
            }
            ernic_state_read_bytes(in, wqe->data + sge->addr, sge->len);
        }
    }
    return true;
}

static void save_payload(const ErnicStateField *f, const Ernic *e, const void *obj,
                         GByteArray *out)
{
    const ErnicWqe *wqe = obj;

    if (wqe->fault) {
        return;
    }
    if (wqe->opcode == ERNIC_WR_REG_MR) {
        ernic_state_save_struct(e, &ernic_state_reg_mr, &wqe->reg_mr, out);
    } else if (wqe->opcode == ERNIC_WR_BIND_MW) {
        ernic_state_save_struct(e, &ernic_state_bind_mw, &wqe->bind_mw, out);
    } else if (wqe->opcode == ERNIC_WR_MR_UPDATE) {
        ernic_state_save_struct(e, &ernic_state_mr_update, &wqe->update, out);
    } else if (wqe->flags & ERNIC_WR_INLINE) {
        save_inline(e, wqe, out);
    } else {
        ernic_state_save_structs(e, &ernic_state_sge, wqe->sge, wqe->num_sge, out);
    }
}

static bool load_payload(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicWqe *wqe = obj;

    if (wqe->fault) {
        return true;
    }
    if (wqe->opcode == ERNIC_WR_REG_MR) {
        return ernic_state_load_struct(e, &ernic_state_reg_mr, &wqe->reg_mr, in);
    }
    if (wqe->opcode == ERNIC_WR_BIND_MW) {
        return ernic_state_load_struct(e, &ernic_state_bind_mw, &wqe->bind_mw, in);
    }
    if (wqe->opcode == ERNIC_WR_MR_UPDATE) {
        return ernic_state_load_struct(e, &ernic_state_mr_update, &wqe->update, in);
    }
    if (wqe->num_sge > ERNIC_WQE_SGE) {
        return false;
    }
    if (wqe->flags & ERNIC_WR_INLINE) {
        return load_inline(e, wqe, in);
    }
    return ernic_state_load_structs(e, &ernic_state_sge, wqe->sge, wqe->num_sge, in);
}

const ErnicStateOwned ernic_state_payload = { save_payload, load_payload };

/* ---- trains ---------------------------------------------------------------- */

static void save_held(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicTx *tx = obj;

    g_byte_array_append(out, tx->buf, tx->len);
}

static bool load_held(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicTx *tx = obj;

    /* Walks from packet to packet come before the checks. */
    if (tx->len > sizeof(tx->buf) || (tx->len && !tx->seg)) {
        return false;
    }
    ernic_state_read_bytes(in, tx->buf, tx->len);
    return true;
}

const ErnicStateOwned ernic_state_held = { save_held, load_held };

static void save_loop(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    guint at = out->len;
    uint32_t pos = e->tx->loop_pos, n = 0;
    ErnicTrain train;
    uint32_t i;

    ernic_state_put(out, 0, 4);
    while (ernic_tx_loop_next(e, &pos, &train)) {
        ernic_state_save_struct(e, f->of, &train, out);
        g_byte_array_append(out, train.data, train.len);
        n++;
    }
    for (i = 0; i < 4; i++) {
        out->data[at + i] = n >> (8 * i);
    }
}

static bool load_loop(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint32_t n = ernic_state_read(in, 4), i;

    for (i = 0; i < n; i++) {
        ErnicTrain train = { 0 };

        if (!ernic_state_load_struct(e, f->of, &train, in) || !train.len ||
            !train.seg || !ernic_state_has(in, train.len, 1)) {
            return false;
        }
        train.data = in->data;
        in->data += train.len;
        in->left -= train.len;
        if (!ernic_tx_loop_add(e, &train)) {
            return false;
        }
    }
    return true;
}

const ErnicStateOwned ernic_state_loop = { save_loop, load_loop };
