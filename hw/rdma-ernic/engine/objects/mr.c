/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory keys: one table of regions and windows, indexed by the number in the key,
 * and the rules for registering, binding, invalidating and using them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/pages.h"
#include "base/work.h"
#include "objects/mr.h"
#include "trace.h"

#define KEY_NUMBER(key)     ((key) >> 8)
#define KEY_VARIANT(key)    ((uint8_t)(key))

#define REMOTE_WRITABLE \
    (ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_ATOMIC)
#define WINDOW_ACCESS \
    (REMOTE_WRITABLE | ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_ZERO_BASED)
#define REMOTE_ANY \
    (REMOTE_WRITABLE | ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_FLUSH_GLOBAL)

static bool is_window(const ErnicMr *mr)
{
    return mr->kind == ERNIC_MR_WINDOW_1 || mr->kind == ERNIC_MR_WINDOW_2;
}

static uint32_t number_of(const Ernic *e, const ErnicMr *mr)
{
    return mr - e->mr;
}

static uint32_t key_of(const Ernic *e, const ErnicMr *mr)
{
    return number_of(e, mr) << 8 | mr->variant;
}

/* The object with the number of @key, whatever its variant byte; NULL: none. */
static ErnicMr *find_number(Ernic *e, uint32_t key)
{
    uint32_t number = KEY_NUMBER(key);

    if (unlikely(number >= e->mr_ids.fresh ||
                 e->mr[number].kind == ERNIC_MR_FREE)) {
        return NULL;
    }
    return &e->mr[number];
}

static ErnicMr *find_key(Ernic *e, uint32_t key)
{
    ErnicMr *mr = find_number(e, key);

    return mr && mr->variant == KEY_VARIANT(key) ? mr : NULL;
}

/* Whether [addr, addr + len) is within the range of the key. Nothing here can wrap. */
static bool covers(const ErnicMr *mr, uint64_t addr, uint64_t len)
{
    return addr >= mr->iova && addr - mr->iova <= mr->length &&
           len <= mr->length - (addr - mr->iova);
}

/* ---- access ------------------------------------------------------------- */

/* The checks that local and remote accesses have in common (IBTA 10.6). */
static bool check_opens(const ErnicMr *mr, uint32_t pd, uint32_t key,
                        uint64_t addr, uint64_t len, uint32_t access)
{
    if (unlikely(!mr || !mr->valid)) {
        trace_ernic_key_invalid(key);
        return false;
    }
    if (unlikely(mr->pd != pd)) {
        trace_ernic_key_wrong_pd(key, mr->pd, pd);
        return false;
    }
    if (unlikely((mr->access & access) != access)) {
        trace_ernic_key_no_right(key, mr->access, access);
        return false;
    }
    if (unlikely(!covers(mr, addr, len))) {
        trace_ernic_key_out_of_range(key, addr, len, mr->iova, mr->length);
        return false;
    }
    return true;
}

const ErnicMr ernic_mr_bus = {
    .kind = ERNIC_MR_REGION, .valid = true, .length = UINT64_MAX,
};

const ErnicKeyOps ernic_mr_keys = {
    .check_local = ernic_mr_check_local,
    .check_remote = ernic_mr_check_remote,
    .invalidate = ernic_mr_invalidate,
};

bool ernic_mr_bus_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                        uint64_t len, uint32_t access,
                        const ErnicMr **mr, uint64_t *off)
{
    *mr = len ? &ernic_mr_bus : NULL;
    *off = len ? addr : 0;
    return true;
}

bool ernic_mr_check_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, uint32_t access,
                          const ErnicMr **mr, uint64_t *off)
{
    const ErnicMr *region = find_key(e, key);

    *mr = NULL;
    *off = 0;
    if (len == 0) {
        return true;
    }
    if (unlikely(region && is_window(region))) {
        trace_ernic_key_local_window(key);
        return false;
    }
    if (!check_opens(region, pd, key, addr, len, access)) {
        return false;
    }
    *mr = region;
    *off = region->offset + (addr - region->iova);
    return true;
}

bool ernic_mr_check_remote(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                           uint64_t addr, uint64_t len, uint32_t access,
                           const ErnicMr **mr, uint64_t *off)
{
    const ErnicMr *opens = find_key(e, key);

    *mr = NULL;
    *off = 0;
    if (len == 0) {
        return true;
    }
    if (!check_opens(opens, pd, key, addr, len, access)) {
        return false;
    }
    /* Type 2B: only the queue pair that bound the window may use it. */
    if (unlikely(opens->kind == ERNIC_MR_WINDOW_2 && opens->qpn != qpn)) {
        trace_ernic_key_wrong_qp(key, opens->qpn, qpn);
        return false;
    }
    *mr = is_window(opens) ? &e->mr[opens->region] : opens;
    *off = opens->offset + (addr - opens->iova);
    return true;
}

bool ernic_mr_check_flush(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, bool whole, uint32_t access)
{
    const ErnicMr *mr = find_key(e, key);

    return check_opens(mr, pd, key, whole && mr ? mr->iova : addr,
                       whole ? 0 : len, access);
}

bool ernic_mr_has_page(Ernic *e, uint32_t key, uint64_t off, bool write)
{
    const ErnicMr *mr = find_key(e, key);
    uint64_t addr, run;

    return mr && mr->odp && ernic_odp_find(mr->odp, off, write, &addr, &run);
}

/* ---- regions and windows by command ------------------------------------- */

/* The region, its place among the free numbers, and the context that software wrote. */
#define KEY_BYTES   (sizeof(ErnicMr) + sizeof(uint32_t) + 64)

uint64_t ernic_mr_table_bytes(uint32_t room)
{
    return room > ERNIC_MR_UNCHARGED ?
           (uint64_t)(room - ERNIC_MR_UNCHARGED) * KEY_BYTES : 0;
}

/* Room for some more numbers. */
static bool grow(Ernic *e)
{
    ErnicIds *ids = &e->mr_ids;
    uint32_t room = MIN(ids->room + ERNIC_MR_STEP, ids->size);

    if (!ernic_mem_charge(&e->mem, ERNIC_MEM_KEYS, ernic_mr_table_bytes(room) -
                                                   ernic_mr_table_bytes(ids->room))) {
        return false;
    }
    ids->room = room;
    return true;
}

bool ernic_mr_charge_table(Ernic *e)
{
    while (e->mr_ids.room < e->mr_ids.fresh) {
        if (!grow(e)) {
            return false;
        }
    }
    return true;
}

/*
 * Whether there is a number. Without memory for more of them, those that were freed
 * remain.
 */
static bool has_number(Ernic *e)
{
    if (ernic_ids_want_room(&e->mr_ids)) {
        grow(e);
    }
    return ernic_ids_left(&e->mr_ids);
}

/*
 * Allocate a number. The variant byte changes, so that no key of the previous
 * object with this number is valid.
 */
static ErnicMr *new_mr(Ernic *e, ErnicPd *pd, uint8_t kind)
{
    uint32_t number = ernic_ids_alloc(&e->mr_ids);
    ErnicMr *mr = &e->mr[number];
    uint8_t variant = mr->variant + 1;

    g_assert(number);
    memset(mr, 0, sizeof(*mr));
    mr->kind = kind;
    mr->variant = variant;
    mr->pd = pd - e->pd;
    mr->uctx = pd->uctx;
    pd->refs++;
    return mr;
}

bool ernic_mr_range_ok(uint32_t access, uint64_t iova, uint64_t length, uint64_t max)
{
    if ((access & ~ERNIC_ACCESS_FLAGS) ||
        ((access & REMOTE_WRITABLE) && !(access & ERNIC_ACCESS_LOCAL_WRITE))) {
        trace_ernic_mr_bad_access(access);
        return false;
    }
    if (length > max ||
        (length && iova > UINT64_MAX - (length - 1)) ||
        ((access & ERNIC_ACCESS_ZERO_BASED) && iova)) {
        trace_ernic_mr_bad_range(access, iova, length);
        return false;
    }
    return true;
}

static void open_region(ErnicMr *mr, uint32_t access, uint64_t iova,
                        uint64_t length, uint64_t offset)
{
    mr->access = access;
    mr->iova = iova;
    mr->length = length;
    mr->offset = offset;
    mr->valid = true;
}

uint8_t ernic_mr_add(Ernic *e, uint32_t pd, const ErnicMrInit *init, ErnicBuf *buf,
                     uint32_t *key)
{
    ErnicMr *mr;

    if (!has_number(e)) {
        ernic_buf_fini(e, buf);
        return ERNIC_ERR_NO_RESOURCE;
    }
    mr = new_mr(e, &e->pd[pd], init->kind);
    mr->buf = *buf;
    if (init->valid) {
        open_region(mr, init->access, init->iova, init->length, init->offset);
    }
    *key = key_of(e, mr);
    trace_ernic_mr_reg(mr->uctx, *key, mr->pd, mr->access, mr->iova, mr->length);
    return ERNIC_OK;
}

void ernic_mr_set_variant(Ernic *e, uint32_t number, uint8_t variant)
{
    e->mr[number].variant = variant;
}

/* An on-demand region has a page size, and no buffer. */
static uint8_t check_demand(const struct ernic_cmd_mr_reg *cmd)
{
    const struct ernic_buf_desc *buf = &cmd->buf;

    if (buf->addr || buf->npages || buf->levels || buf->reserved[0] ||
        buf->reserved[1] || buf->page_shift < ERNIC_PAGE_SHIFT_MIN ||
        buf->page_shift > ERNIC_PAGE_SHIFT_MAX ||
        le32_to_cpu(cmd->offset) >> buf->page_shift) {
        trace_ernic_odp_bad_desc(0, le64_to_cpu(buf->addr), buf->page_shift);
        return ERNIC_ERR_PARAM;
    }
    return ERNIC_OK;
}

/* Check the translation of a region, without reading guest memory. */
static uint8_t check_trans(uint32_t uctx, const struct ernic_cmd_mr_reg *cmd)
{
    uint64_t length = le64_to_cpu(cmd->length);
    uint32_t offset = le32_to_cpu(cmd->offset);
    bool extent = cmd->buf.levels == 0;

    if (le32_to_cpu(cmd->access) & ERNIC_ACCESS_ON_DEMAND) {
        return check_demand(cmd);
    }
    if (extent ? offset : offset >> MIN(cmd->buf.page_shift, 31)) {
        trace_ernic_mr_bad_offset(offset);
        return ERNIC_ERR_PARAM;
    }
    /* The DMA region covers all of memory: only the kernel may register it. */
    if (extent && cmd->buf.addr == 0 && length == ERNIC_MAX_MR_SIZE && uctx) {
        trace_ernic_mr_dma_denied(uctx);
        return ERNIC_ERR_PERM;
    }
    return ERNIC_OK;
}

static bool rights_ok(const struct ernic_cmd_mr_reg *cmd)
{
    uint32_t access = le32_to_cpu(cmd->access);
    bool demand = access & ERNIC_ACCESS_ON_DEMAND;

    return ernic_mr_range_ok(access & ~ERNIC_ACCESS_ON_DEMAND, le64_to_cpu(cmd->iova),
                             le64_to_cpu(cmd->length),
                             demand ? ERNIC_MAX_ODP_SIZE : ERNIC_MAX_MR_SIZE);
}

uint8_t ernic_mr_reg(Ernic *e, uint32_t uctx,
                     const struct ernic_cmd_mr_reg *cmd, uint32_t *key)
{
    ErnicPd *pd = ernic_pd_get(e, uctx, le32_to_cpu(cmd->pd));
    uint64_t length = le64_to_cpu(cmd->length);
    uint32_t offset = le32_to_cpu(cmd->offset);
    bool demand = le32_to_cpu(cmd->access) & ERNIC_ACCESS_ON_DEMAND;
    ErnicOdp *odp = NULL;
    ErnicBuf buf = { };
    uint8_t status;
    ErnicMr *mr;

    if (!pd) {
        return ERNIC_ERR_HANDLE;
    }
    status = rights_ok(cmd) ? check_trans(uctx, cmd) : ERNIC_ERR_PARAM;
    if (status != ERNIC_OK) {
        return status;
    }
    if (!has_number(e)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    if (demand) {
        odp = ernic_odp_new(e, cmd->buf.page_shift);
        status = odp ? ERNIC_OK : ERNIC_ERR_NO_RESOURCE;
    } else {
        status = ernic_buf_init(e, &buf, &cmd->buf, length + offset);
    }
    if (status != ERNIC_OK) {
        return status;
    }
    mr = new_mr(e, pd, ERNIC_MR_REGION);
    mr->buf = buf;
    mr->odp = odp;
    open_region(mr, le32_to_cpu(cmd->access), le64_to_cpu(cmd->iova), length,
                offset);
    *key = key_of(e, mr);
    trace_ernic_mr_reg(uctx, *key, mr->pd, mr->access, mr->iova, mr->length);
    return ERNIC_OK;
}

/* Fields that @flags does not select are 0. */
static bool rereg_reserved_ok(const struct ernic_cmd_mr_reg *cmd,
                              uint32_t flags)
{
    static const struct ernic_buf_desc none;
    bool trans = flags & ERNIC_REREG_TRANS;

    return !(flags & ~ERNIC_REREG_FLAGS) &&
           (trans || (!memcmp(&cmd->buf, &none, sizeof(none)) && !cmd->iova &&
                      !cmd->length && !cmd->offset)) &&
           ((flags & ERNIC_REREG_PD) || !cmd->pd) &&
           ((flags & ERNIC_REREG_ACCESS) || !cmd->access);
}

/* Complete @cmd to a full registration: fields not selected keep their values. */
static void rereg_complete(const ErnicMr *mr, uint32_t flags,
                           struct ernic_cmd_mr_reg *cmd)
{
    if (!(flags & ERNIC_REREG_TRANS)) {
        cmd->iova = cpu_to_le64(mr->iova);
        cmd->length = cpu_to_le64(mr->length);
    }
    if (!(flags & ERNIC_REREG_PD)) {
        cmd->pd = cpu_to_le32(mr->pd);
    }
    if (!(flags & ERNIC_REREG_ACCESS)) {
        cmd->access = cpu_to_le32(mr->access);
    }
}

/* Check that the region can be reregistered at all. Returns an ernic_status. */
static uint8_t check_rereg(const ErnicMr *mr, uint32_t uctx, uint32_t key)
{
    if (!mr || mr->kind != ERNIC_MR_REGION) {
        return ERNIC_ERR_HANDLE;
    }
    if (mr->uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    if (mr->refs) {
        trace_ernic_mr_has_windows(key, mr->refs);
        return ERNIC_ERR_BUSY;
    }
    return ERNIC_OK;
}

static uint8_t rereg_trans(Ernic *e, ErnicMr *mr,
                           const struct ernic_cmd_mr_reg *cmd)
{
    uint32_t offset = le32_to_cpu(cmd->offset);
    uint8_t status = check_trans(mr->uctx, cmd);
    ErnicBuf buf;

    if (status != ERNIC_OK) {
        return status;
    }
    status = ernic_buf_init(e, &buf, &cmd->buf,
                            le64_to_cpu(cmd->length) + offset);
    if (status != ERNIC_OK) {
        return status;
    }
    ernic_buf_fini(e, &mr->buf);
    mr->buf = buf;
    mr->offset = offset;
    return ERNIC_OK;
}

uint8_t ernic_mr_rereg(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_reg *cmd)
{
    uint32_t flags = le32_to_cpu(cmd->flags), key = le32_to_cpu(cmd->key);
    struct ernic_cmd_mr_reg want = *cmd;
    ErnicMr *mr = find_key(e, key);
    uint8_t status = check_rereg(mr, uctx, key);
    ErnicPd *pd;

    if (status != ERNIC_OK) {
        return status;
    }
    if (!rereg_reserved_ok(cmd, flags)) {
        trace_ernic_mr_rereg_reserved(key, flags);
        return ERNIC_ERR_RESERVED;
    }
    rereg_complete(mr, flags, &want);
    pd = ernic_pd_get(e, uctx, le32_to_cpu(want.pd));
    if (!pd) {
        return ERNIC_ERR_HANDLE;
    }
    if (!rights_ok(&want)) {
        return ERNIC_ERR_PARAM;
    }
    /* A region cannot become on-demand or cease to be; nor can such a region move. */
    if (!mr->odp != !(le32_to_cpu(want.access) & ERNIC_ACCESS_ON_DEMAND) ||
        (mr->odp && (flags & ERNIC_REREG_TRANS))) {
        trace_ernic_odp_bad_key(key);
        return ERNIC_ERR_STATE;
    }
    if (flags & ERNIC_REREG_TRANS) {
        status = rereg_trans(e, mr, &want);
        if (status != ERNIC_OK) {
            return status;
        }
    }
    g_assert(e->pd[mr->pd].refs);
    e->pd[mr->pd].refs--;
    pd->refs++;
    mr->pd = pd - e->pd;
    open_region(mr, le32_to_cpu(want.access), le64_to_cpu(want.iova),
                le64_to_cpu(want.length), mr->offset);
    trace_ernic_mr_rereg(uctx, key, flags, mr->pd, mr->access, mr->iova,
                         mr->length);
    return ERNIC_OK;
}

uint8_t ernic_mr_pages(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_pages *cmd)
{
    uint32_t key = le32_to_cpu(cmd->key);
    uint64_t first = le64_to_cpu(cmd->first), n = le64_to_cpu(cmd->npages);
    uint64_t list = le64_to_cpu(cmd->list), pages;
    ErnicMr *mr = find_key(e, key);
    uint8_t status;

    if (!mr || !mr->odp) {
        trace_ernic_odp_bad_key(key);
        return ERNIC_ERR_HANDLE;
    }
    if (mr->uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    pages = DIV_ROUND_UP(mr->offset + mr->length, 1ull << mr->odp->page_shift);
    if (first >= pages || n == 0 || n > pages - first ||
        (list && n > ERNIC_PAGES_MAX) || list % sizeof(uint64_t)) {
        trace_ernic_odp_bad_range(key, first, n);
        return ERNIC_ERR_PARAM;
    }
    status = ernic_odp_update(e, mr->odp, first, n, list);
    if (status == ERNIC_OK) {
        trace_ernic_mr_pages(uctx, key, first, n, !list);
    }
    return status;
}

uint8_t ernic_mr_alloc(Ernic *e, uint32_t uctx, uint32_t pd_number,
                       uint32_t max_pages, uint32_t *key)
{
    ErnicPd *pd = ernic_pd_get(e, uctx, pd_number);
    uint8_t status;
    ErnicBuf buf;
    ErnicMr *mr;

    if (!pd) {
        return ERNIC_ERR_HANDLE;
    }
    if (max_pages > ERNIC_MAX_FRWR_PAGES) {
        trace_ernic_mr_too_many_pages(max_pages, ERNIC_MAX_FRWR_PAGES);
        return ERNIC_ERR_PARAM;
    }
    if (!has_number(e)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    status = ernic_buf_alloc(e, &buf, max_pages);
    if (status != ERNIC_OK) {
        return status;
    }
    mr = new_mr(e, pd, ERNIC_MR_FAST);
    mr->buf = buf;
    *key = key_of(e, mr);
    trace_ernic_mr_alloc(uctx, *key, mr->pd, max_pages);
    return ERNIC_OK;
}

uint8_t ernic_mw_alloc(Ernic *e, uint32_t uctx, uint32_t pd_number,
                       uint8_t type, uint32_t *key)
{
    ErnicPd *pd = ernic_pd_get(e, uctx, pd_number);
    ErnicMr *mw;

    if (!pd) {
        return ERNIC_ERR_HANDLE;
    }
    if (type != 1 && type != 2) {
        trace_ernic_mw_bad_type(type);
        return ERNIC_ERR_PARAM;
    }
    if (!has_number(e)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    mw = new_mr(e, pd, type == 1 ? ERNIC_MR_WINDOW_1 : ERNIC_MR_WINDOW_2);
    *key = key_of(e, mw);
    trace_ernic_mw_alloc(uctx, *key, mw->pd, type);
    return ERNIC_OK;
}

uint8_t ernic_mr_free(Ernic *e, uint32_t uctx, uint32_t key, bool window)
{
    ErnicMr *mr = find_number(e, key);
    uint8_t variant;

    if (!mr || is_window(mr) != window) {
        return ERNIC_ERR_HANDLE;
    }
    if (mr->uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    if (mr->refs) {
        trace_ernic_mr_has_windows(key, mr->refs);
        return ERNIC_ERR_BUSY;
    }
    if (mr->odp) {
        mr->valid = false;      /* a bind between two slices finds no region */
        if (ernic_odp_empty(e, mr->odp) != ERNIC_OK) {
            return ERNIC_AGAIN;
        }
    }
    if (window) {
        ernic_mw_unbind(e, mr);
    }
    ernic_mr_drop_pieces(e, mr);
    /* Pages of the host; those of a large list may be freed later. */
    ernic_charge(e, MIN(mr->buf.npages, ERNIC_PIECE / 8) / ERNIC_BUF_LIST);
    ernic_buf_fini(e, &mr->buf);
    ernic_odp_free(e, mr->odp);
    e->pd[mr->pd].refs--;
    variant = mr->variant;
    memset(mr, 0, sizeof(*mr));
    mr->variant = variant;
    ernic_ids_free(&e->mr_ids, KEY_NUMBER(key));
    trace_ernic_mr_free(uctx, key);
    return ERNIC_OK;
}

/* ---- work requests ------------------------------------------------------ */

ErnicFault ernic_mr_fast_reg(Ernic *e, uint32_t pd,
                             const struct ernic_wqe_reg_mr *wr)
{
    ErnicMr *mr = find_number(e, wr->key);
    uint64_t offset;
    uint8_t status;

    /*
     * The key is that of an invalid fast-register region of pages in the PD of the QP. A
     * list of the mlx5 interface can be too long for one call.
     */
    if (!mr || mr->kind != ERNIC_MR_FAST || mr->pd != pd || mr->valid ||
        mr->buf.pieces || mr->buf.npages > ERNIC_MAX_FRWR_PAGES) {
        trace_ernic_fast_reg_bad_key(wr->key, pd);
        return ERNIC_FAULT_REG_MR;
    }
    if (!ernic_mr_range_ok(wr->access, wr->iova, wr->length, ERNIC_MAX_MR_SIZE)) {
        return ERNIC_FAULT_REG_MR;
    }
    if (wr->page_shift > ERNIC_PAGE_SHIFT_MAX || wr->npages > mr->buf.npages) {
        trace_ernic_fast_reg_bad_list(wr->key, wr->npages, wr->page_shift);
        return ERNIC_FAULT_REG_MR;
    }
    /* The offset of the first byte in its page is that of its address. */
    offset = wr->iova & ((1ull << wr->page_shift) - 1);
    if (offset + wr->length > (uint64_t)wr->npages << wr->page_shift) {
        trace_ernic_fast_reg_bad_list(wr->key, wr->npages, wr->page_shift);
        return ERNIC_FAULT_REG_MR;
    }
    status = ernic_buf_fill(e, &mr->buf, wr->list_addr, wr->npages,
                            wr->page_shift);
    if (status != ERNIC_OK) {
        return status == ERNIC_ERR_DMA ? ERNIC_FAULT_SEND_DMA
                                       : ERNIC_FAULT_REG_MR;
    }
    mr->variant = KEY_VARIANT(wr->key);
    open_region(mr, wr->access, wr->iova, wr->length, offset);
    trace_ernic_fast_reg(wr->key, mr->access, mr->iova, mr->length);
    return ERNIC_FAULT_NONE;
}

/* Check the window of a bind. */
static bool bind_window_ok(const ErnicMr *mw, uint32_t pd,
                           const struct ernic_wqe_bind_mw *wr)
{
    bool type_2 = mw->kind == ERNIC_MR_WINDOW_2;

    if (mw->pd != pd) {                                     /* C10-72 */
        trace_ernic_bind_wrong_pd(wr->rkey, mw->pd, pd);
        return false;
    }
    if (wr->access & ~WINDOW_ACCESS) {
        trace_ernic_bind_bad_access(wr->rkey, wr->access);
        return false;
    }
    /* o10-36.2.2: a type 1 window cannot be zero-based. */
    if (!type_2 && (wr->access & ERNIC_ACCESS_ZERO_BASED)) {
        trace_ernic_bind_bad_access(wr->rkey, wr->access);
        return false;
    }
    /*
     * o10-37.2.30: a bound type 2 window has to be invalidated before the next bind;
     * o10-37.2.40: a bind of 0 bytes does not invalidate it.
     */
    if (type_2 && (mw->valid || wr->length == 0)) {
        trace_ernic_bind_bad_window(wr->rkey, wr->new_rkey, wr->length);
        return false;
    }
    return true;
}

/* Check the region of a bind; a bind of 0 bytes needs none. */
static bool bind_region_ok(const ErnicMr *mr, uint32_t pd,
                           const struct ernic_wqe_bind_mw *wr)
{
    if (!mr || is_window(mr) || !mr->valid) {
        trace_ernic_bind_bad_region(wr->lkey);
        return false;
    }
    if (mr->pd != pd) {                                     /* C10-72 */
        trace_ernic_bind_wrong_pd(wr->lkey, mr->pd, pd);
        return false;
    }
    /* C10-73; a zero-based region has no addresses for a window to use. */
    if (!(mr->access & ERNIC_ACCESS_MW_BIND) ||
        (mr->access & ERNIC_ACCESS_ZERO_BASED)) {
        trace_ernic_bind_no_right(wr->lkey, mr->access, wr->access);
        return false;
    }
    if ((wr->access & REMOTE_WRITABLE) &&                   /* C10-74 */
        !(mr->access & ERNIC_ACCESS_LOCAL_WRITE)) {
        trace_ernic_bind_no_right(wr->lkey, mr->access, wr->access);
        return false;
    }
    if (!covers(mr, wr->addr, wr->length)) {                /* C10-75 */
        trace_ernic_bind_out_of_range(wr->lkey, wr->addr, wr->length);
        return false;
    }
    return true;
}

static void bind_to(Ernic *e, ErnicMr *mw, ErnicMr *mr, uint32_t qpn,
                    const struct ernic_wqe_bind_mw *wr)
{
    mw->access = wr->access;
    mw->iova = wr->access & ERNIC_ACCESS_ZERO_BASED ? 0 : wr->addr;
    mw->length = wr->length;
    mw->offset = mr->offset + (wr->addr - mr->iova);
    mw->valid = true;
    ernic_mr_hold(e, mw, number_of(e, mr));
    if (mw->kind == ERNIC_MR_WINDOW_2) {
        mw->qpn = qpn;
        e->num_bound++;
    }
}

/*
 * Only the number of the R_Key selects the window: software tracks the variant
 * itself, and does not learn which binds were flushed with their queue.
 */
ErnicFault ernic_mw_bind(Ernic *e, uint32_t pd, uint32_t qpn,
                         const struct ernic_wqe_bind_mw *wr)
{
    ErnicMr *mw = find_number(e, wr->rkey);
    ErnicMr *mr = wr->length ? find_key(e, wr->lkey) : NULL;

    if (!mw || !is_window(mw)) {
        trace_ernic_bind_bad_window(wr->rkey, wr->new_rkey, wr->length);
        return ERNIC_FAULT_MW_BIND;
    }
    if (!bind_window_ok(mw, pd, wr) ||
        (wr->length && !bind_region_ok(mr, pd, wr))) {
        return ERNIC_FAULT_MW_BIND;
    }
    if (wr->length && !ernic_mr_may_hold(e, mw)) {
        trace_ernic_bind_too_many(wr->rkey, e->num_holders);
        return ERNIC_FAULT_MW_BIND;
    }
    ernic_mw_unbind(e, mw);
    ernic_mr_drop_pieces(e, mw);
    if (mw->kind == ERNIC_MR_WINDOW_2) {
        /* Software chooses the variant only; the number stays the same. */
        mw->variant = KEY_VARIANT(wr->new_rkey);
    } else {
        /* Invalidate the old key. */
        mw->variant = KEY_VARIANT(wr->rkey) + 1;
    }
    if (wr->length) {
        bind_to(e, mw, mr, qpn, wr);
    }
    trace_ernic_mw_bind(wr->rkey, key_of(e, mw), wr->lkey, wr->access,
                        wr->addr, wr->length);
    return ERNIC_FAULT_NONE;
}

bool ernic_mr_invalidate(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                         bool remote)
{
    ErnicMr *mr = find_key(e, key);

    /* o10-37.2.26: not a type 1 window, nor a region registered by a command. */
    if (!mr || mr->pd != pd ||
        (mr->kind != ERNIC_MR_FAST && mr->kind != ERNIC_MR_WINDOW_2)) {
        trace_ernic_invalidate_bad_key(key, pd, remote);
        return false;
    }
    if (mr->refs) {
        trace_ernic_mr_has_windows(key, mr->refs);
        return false;
    }
    /* A peer may invalidate only an R_Key that it could use. */
    if (remote && (!mr->valid || !(mr->access & REMOTE_ANY))) {
        trace_ernic_invalidate_not_remote(key, mr->access);
        return false;
    }
    /* 10.6.7.2: only through the queue pair of a bound type 2 window, on both sides. */
    if (mr->kind == ERNIC_MR_WINDOW_2 && mr->qpn != qpn) {
        trace_ernic_invalidate_wrong_qp(key, mr->qpn, qpn, remote);
        return false;
    }
    if (mr->kind == ERNIC_MR_WINDOW_2) {
        ernic_mw_unbind(e, mr);
    } else {
        mr->valid = false;
        ernic_mr_drop_pieces(e, mr);
    }
    trace_ernic_invalidate(key, remote);
    return true;
}
