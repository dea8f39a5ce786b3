/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command table and its dispatcher. A new command needs an opcode and, if it has
 * a payload, a structure in ernic_abi.h; a handler here, which checks everything
 * before it changes anything; and a row in the table.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "base/ib_spec.h"
#include "base/work.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/verbs/commands.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/gid.h"
#include "objects/job.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "timing/timing_count.h"
#include "trace.h"
#include "transport/page_fault.h"
#include "transport/responder.h"

/* A newer driver may use a longer structure; bytes unknown to us have to be 0. */
#define STRUCT_MAX 256
/* The longest structure today exceeds that limit. */
QEMU_BUILD_BUG_ON(sizeof_field(ErnicJob, data) < STRUCT_MAX);
QEMU_BUILD_BUG_ON(ERNIC_STATUS_COUNT > ERNIC_AGAIN);

/* The arguments of a handler, and its result. */
typedef struct Call {
    Ernic *e;
    uint32_t uctx;
    const struct ernic_cmd *cmd;
    uint32_t handle, length;
} Call;

/* The object that a command with nothing but a handle names. */
static uint32_t target(const Call *c)
{
    return le32_to_cpu(c->cmd->handle.handle);
}

/* Write the response to a query, truncated to the guest's buffer. */
static uint8_t answer(Call *c, const void *data, uint32_t len)
{
    const struct ernic_cmd *cmd = c->cmd;
    uint32_t n = MIN(le32_to_cpu(cmd->query.length), len);

    if (n && !c->e->ops->dma_write(c->e->env, le64_to_cpu(cmd->query.addr), data, n)) {
        return ERNIC_ERR_DMA;
    }
    c->length = len;
    return ERNIC_OK;
}

/*
 * Read a structure of @len bytes from guest memory, or its first @least bytes: the others
 * are 0. Once for each command: a command that continues in another slice works from the
 * same bytes.
 */
static uint8_t fetch_from(Call *c, void *data, uint32_t least, uint32_t len)
{
    const struct ernic_cmd *cmd = c->cmd;
    uint32_t given = le32_to_cpu(cmd->qp.length);
    Ernic *e = c->e;
    uint8_t *buf = e->job->data;

    if (given < least || given > MAX(len, STRUCT_MAX)) {
        return ERNIC_ERR_PARAM;
    }
    if (!e->job->fetched) {
        if (!e->ops->dma_read(e->env, le64_to_cpu(cmd->qp.addr), buf, given)) {
            return ERNIC_ERR_DMA;
        }
        e->job->fetched = given;
    }
    if (given > len && !ernic_all_zero(buf + len, given - len)) {
        return ERNIC_ERR_RESERVED;
    }
    memset(data, 0, len);
    memcpy(data, buf, MIN(given, len));
    return ERNIC_OK;
}

static uint8_t fetch(Call *c, void *data, uint32_t len)
{
    return fetch_from(c, data, len, len);
}

/* A handler that is one call. */
#define COMMAND(name, ...) \
    static uint8_t cmd_##name(Call *c) \
    { \
        return __VA_ARGS__; \
    }

/* ---- device and port ------------------------------------------------------ */

COMMAND(nop, ERNIC_OK)

/* The entries of a table of @size that software can use; @taken are reserved. */
static uint32_t usable(uint32_t size, uint32_t taken)
{
    return cpu_to_le32(size > taken ? size - taken : 0);
}

static uint8_t cmd_query_device(Call *c)
{
    const ErnicConfig *cfg = &c->e->cfg;
    struct ernic_device_attr attr = {
        .abi_version = cpu_to_le32(ERNIC_ABI_VERSION),
        .max_uctx = usable(cfg->max_uctx, 1),
        .max_pd = usable(cfg->max_pd, 1),
        .max_eq = usable(cfg->max_eq, 1),
        .max_cq = usable(cfg->max_cq, 1),
        .max_cqe = cpu_to_le32(ERNIC_MAX_CQ_DEPTH),
        .max_srq = usable(cfg->max_srq, 1),
        .max_srq_wr = cpu_to_le32(ERNIC_MAX_WQ_DEPTH),
        .max_qp = usable(cfg->max_qp, ERNIC_QPN_GSI + 1),
        .max_qp_wr = cpu_to_le32(ERNIC_MAX_WQ_DEPTH),
        .max_mr = usable(cfg->max_mr, 1),
        .max_fast_reg_pages = cpu_to_le32(ERNIC_MAX_FRWR_PAGES),
        .max_mr_size = cpu_to_le64(ERNIC_MAX_MR_SIZE),
        .page_size_mask = cpu_to_le64((2ull << ERNIC_PAGE_SHIFT_MAX) -
                                      (1ull << ERNIC_PAGE_SHIFT_MIN)),
        .max_mcast_group = cpu_to_le32(ERNIC_LIM_MCAST_GROUP),
        .max_mcast_attach = cpu_to_le32(ERNIC_LIM_MCAST_ATTACH),
        .max_pkeys = cpu_to_le16(ERNIC_LIM_PKEY),
        .max_gids = ERNIC_LIM_GID,
        .max_sge = ERNIC_MAX_SGE,
        .max_inline = cpu_to_le16(ERNIC_MAX_INLINE),
        .max_rd_atomic = ERNIC_MAX_RD_ATOMIC,
        .num_ports = 1,
        .odp = cpu_to_le32(ERNIC_ODP_REGION),
        .raw = cpu_to_le32(cfg->raw ? ERNIC_RAW_PACKET | ERNIC_RAW_RSS |
                                        ERNIC_RAW_RATE : 0),
        .max_flows = cpu_to_le32(cfg->raw ? ERNIC_LIM_FLOW : 0),
        .max_counter = cpu_to_le32(ERNIC_LIM_COUNTER),
        .max_rss = cpu_to_le32(cfg->raw ? ERNIC_LIM_RSS : 0),
    };

    return answer(c, &attr, sizeof(attr));
}

static uint8_t cmd_query_port(Call *c)
{
    const ErnicConfig *cfg = &c->e->cfg;
    struct ernic_port_attr attr = {
        .active = c->e->port_active,
        .max_mtu = cfg->mtu,
        .active_mtu = cfg->mtu,
        .max_msg_size = cpu_to_le32(ERNIC_MSG_MAX),
        .bad_pkey_count = cpu_to_le32(c->e->bad_pkey),
        .bad_qkey_count = cpu_to_le32(c->e->bad_qkey),
        .link_speed = cpu_to_le32(cfg->link_speed),
    };

    return answer(c, &attr, sizeof(attr));
}

/* Rows of ERNIC_STATS_LIST, the first members of ErnicStats. */
#define STATS_ROWS (offsetof(ErnicStats, drop) / sizeof(uint64_t))
QEMU_BUILD_BUG_ON(STATS_ROWS > ERNIC_STATS_DROPS);
QEMU_BUILD_BUG_ON(ERNIC_DROP_COUNT > ERNIC_STATS_FAULTS - ERNIC_STATS_DROPS);
QEMU_BUILD_BUG_ON(ERNIC_FAULT_COUNT > ERNIC_STATS_WORDS - ERNIC_STATS_FAULTS);

static void put_counters(uint64_t *to, const void *from, uint32_t n)
{
    uint32_t i;

    memcpy(to, from, n * sizeof(*to));
    for (i = 0; i < n; i++) {
        to[i] = cpu_to_le64(to[i]);
    }
}

/* 64-bit counters: ERNIC_STATS_LIST, drops by reason, faults by number. */
static uint8_t cmd_query_stats(Call *c)
{
    uint64_t v[ERNIC_STATS_WORDS] = { };

    put_counters(v, &c->e->stats, STATS_ROWS);
    put_counters(v + ERNIC_STATS_DROPS, c->e->stats.drop, ERNIC_DROP_COUNT);
    put_counters(v + ERNIC_STATS_FAULTS, c->e->stats.fault, ERNIC_FAULT_COUNT);
    return answer(c, v, sizeof(v));
}

static uint8_t cmd_query_timing(Call *c)
{
    struct ernic_timing_info info;

    ernic_timing_info(c->e, &info);
    return answer(c, &info, sizeof(info));
}

/* A multicast address or 0.0.0.0 is not a valid source address. */
static bool gid_entry_ok(const ErnicGidEntry *entry)
{
    return !ernic_gid_is_mcast(&entry->gid) &&
           !(ernic_gid_is_v4(&entry->gid) && !ldl_be_p(entry->gid.raw + 12)) &&
           !(entry->mac[0] & 1) &&
           (entry->vlan == ERNIC_NO_VLAN || entry->vlan < 0xfff);
}

static uint8_t cmd_set_gid(Call *c)
{
    const struct ernic_cmd_set_gid *set = &c->cmd->set_gid;
    ErnicGidEntry entry = { };

    if (set->index >= ERNIC_LIM_GID) {
        return ERNIC_ERR_PARAM;
    }
    if (!ernic_all_zero(set->gid, sizeof(set->gid))) {
        memcpy(entry.gid.raw, set->gid, sizeof(entry.gid.raw));
        memcpy(entry.mac, set->mac, sizeof(entry.mac));
        entry.vlan = le16_to_cpu(set->vlan);
        if (!gid_entry_ok(&entry)) {
            return ERNIC_ERR_PARAM;
        }
    }
    if (memcmp(&entry, &c->e->gid[set->index], sizeof(entry)) != 0) {
        ernic_gid_set(c->e, set->index, &entry);
        trace_ernic_set_gid(set->index, ldq_be_p(set->gid), ldq_be_p(set->gid + 8));
        ernic_event_raise(c->e, c->e->async_eq, ERNIC_EVC_PORT, 1, &c->e->port_events,
                          ERNIC_EV_GID_CHANGE, 0);
    }
    return ERNIC_OK;
}

static uint8_t cmd_set_pkey(Call *c)
{
    uint16_t index = le16_to_cpu(c->cmd->set_pkey.index);
    uint16_t pkey = le16_to_cpu(c->cmd->set_pkey.pkey);

    /* IBTA vol. 1, 10.9.2: a P_Key of base 0 is invalid whatever its top bit. */
    if (index >= ERNIC_LIM_PKEY || pkey == ERNIC_PKEY_FULL) {
        return ERNIC_ERR_PARAM;
    }
    c->e->pkey[index] = pkey;
    return ERNIC_OK;
}

/* ---- contexts ------------------------------------------------------------- */

static uint8_t cmd_uctx_alloc(Call *c)
{
    c->handle = ernic_ids_alloc(&c->e->uctx_ids);
    if (!c->handle) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    c->e->uctx_used[c->handle] = true;
    ernic_db_page_changed(c->e, c->handle);
    return ERNIC_OK;
}

/*
 * Whether an object of the context exists. Regions, windows, queue pairs and SRQs each
 * hold a PD of their own context.
 */
static bool uctx_busy(Ernic *e, uint32_t uctx)
{
    uint32_t i;

    ernic_charge_walk(e, e->pd_ids.size + e->cq_ids.size);
    for (i = 1; i < e->pd_ids.size; i++) {
        if (e->pd[i].used && e->pd[i].uctx == uctx) {
            return true;
        }
    }
    for (i = 1; i < e->cq_ids.size; i++) {
        if (e->cq[i].used && e->cq[i].uctx == uctx) {
            return true;
        }
    }
    return false;
}

/* The driver has to destroy the remaining objects of a process first. */
static uint8_t cmd_uctx_free(Call *c)
{
    uint32_t id = target(c);

    if (id == 0 || id > ERNIC_LIM_UCTX || !c->e->uctx_used[id]) {
        return ERNIC_ERR_HANDLE;
    }
    if (uctx_busy(c->e, id)) {
        return ERNIC_ERR_BUSY;
    }
    c->e->uctx_used[id] = false;
    ernic_db_page_changed(c->e, id);
    ernic_ids_free(&c->e->uctx_ids, id);
    return ERNIC_OK;
}

/* ---- objects -------------------------------------------------------------- */

COMMAND(pd_alloc, ernic_pd_alloc(c->e, c->uctx, &c->handle))
COMMAND(pd_free, ernic_pd_free(c->e, c->uctx, target(c)))
COMMAND(eq_create, ernic_eq_create(c->e, c->uctx, &c->cmd->eq_create, &c->handle))

static uint8_t cmd_eq_destroy(Call *c)
{
    uint32_t asked = c->e->async_eq;
    uint8_t status = ernic_eq_destroy(c->e, c->uctx, target(c));

    if (asked && !c->e->async_eq) {
        ernic_qp_pages_orphaned(c->e);
    }
    return status;
}

COMMAND(cq_create, ernic_cq_create(c->e, c->uctx, &c->cmd->cq_create, &c->handle))
COMMAND(cq_resize, ernic_cq_resize(c->e, c->uctx, &c->cmd->cq_create))
COMMAND(cq_moderate, ernic_cq_moderate(c->e, c->uctx, &c->cmd->cq_moderate))
COMMAND(cq_destroy, ernic_cq_destroy(c->e, c->uctx, target(c)))
COMMAND(srq_create, ernic_srq_create(c->e, c->uctx, &c->cmd->srq, &c->handle))
COMMAND(srq_modify, ernic_srq_modify(c->e, c->uctx, &c->cmd->srq))

static uint8_t cmd_srq_query(Call *c)
{
    ErnicSrq *srq = ernic_srq_get(c->e, c->uctx, le32_to_cpu(c->cmd->query.handle));
    struct ernic_srq_attr attr;

    if (!srq) {
        return ERNIC_ERR_HANDLE;
    }
    attr.limit = cpu_to_le32(srq->limit);
    attr.depth = cpu_to_le32(srq->wq.depth);
    return answer(c, &attr, sizeof(attr));
}

static uint8_t cmd_srq_destroy(Call *c)
{
    uint32_t srqn = target(c);
    const ErnicSrq *srq = ernic_srq_get(c->e, c->uctx, srqn);
    bool xrc = srq && srq->xrcd;
    uint8_t status = ernic_srq_destroy(c->e, c->uctx, srqn);

    if (!status && xrc) {
        ernic_responder_forget_srq(c->e, srqn);
    }
    return status;
}

COMMAND(mr_reg, ernic_mr_reg(c->e, c->uctx, &c->cmd->mr_reg, &c->handle))
COMMAND(mr_rereg, ernic_mr_rereg(c->e, c->uctx, &c->cmd->mr_reg))

static uint8_t cmd_mr_pages(Call *c)
{
    uint8_t status = ernic_mr_pages(c->e, c->uctx, &c->cmd->mr_pages);

    if (!status && c->cmd->mr_pages.list) {
        ernic_qp_pages_came(c->e, &c->cmd->mr_pages);
    }
    return status;
}

COMMAND(page_resume, ernic_qp_page_resume(c->e, &c->cmd->page_resume))

static uint8_t cmd_mr_alloc(Call *c)
{
    return ernic_mr_alloc(c->e, c->uctx, le32_to_cpu(c->cmd->mr_alloc.pd),
                          le32_to_cpu(c->cmd->mr_alloc.max_pages), &c->handle);
}

COMMAND(mr_free,
        ernic_mr_free(c->e, c->uctx, target(c), c->cmd->opcode == ERNIC_CMD_MW_FREE))

static uint8_t cmd_mw_alloc(Call *c)
{
    return ernic_mw_alloc(c->e, c->uctx, le32_to_cpu(c->cmd->mw_alloc.pd),
                          c->cmd->mw_alloc.type, &c->handle);
}

static uint8_t cmd_qp_create(Call *c)
{
    struct ernic_qp_init init;
    uint8_t status = fetch_from(c, &init, offsetof(struct ernic_qp_init, sq_record),
                                sizeof(init));

    return status ? status : ernic_qp_create(c->e, c->uctx, &init, &c->handle);
}

static uint8_t cmd_qp_modify(Call *c)
{
    struct ernic_qp_attr attr;
    uint8_t status = fetch(c, &attr, sizeof(attr));

    return status ? status :
           ernic_qp_modify(c->e, c->uctx, le32_to_cpu(c->cmd->qp.handle), &attr);
}

static uint8_t cmd_qp_query(Call *c)
{
    struct ernic_qp_attr attr;
    uint8_t status = ernic_qp_query(c->e, c->uctx, le32_to_cpu(c->cmd->query.handle),
                                    &attr);

    return status ? status : answer(c, &attr, sizeof(attr));
}

COMMAND(qp_destroy, ernic_qp_destroy(c->e, c->uctx, target(c)))

static uint8_t cmd_mcast(Call *c)
{
    uint32_t qpn = le32_to_cpu(c->cmd->mcast.qpn);
    ErnicGid gid;

    if (!ernic_qp_get(c->e, c->uctx, qpn)) {
        return ERNIC_ERR_HANDLE;
    }
    memcpy(gid.raw, c->cmd->mcast.gid, sizeof(gid.raw));
    return c->cmd->opcode == ERNIC_CMD_MCAST_ATTACH ?
           ernic_mcast_attach(c->e, &gid, qpn) : ernic_mcast_detach(c->e, &gid, qpn);
}

static uint8_t cmd_flow_create(Call *c)
{
    struct ernic_flow_rule rule;
    uint8_t status = fetch(c, &rule, sizeof(rule));

    return status ? status : ernic_flow_create(c->e, c->uctx, &rule, &c->handle);
}

COMMAND(flow_destroy, ernic_flow_destroy(c->e, c->uctx, target(c)))

static uint8_t cmd_rss_create(Call *c)
{
    struct ernic_rss init;
    uint8_t status = fetch(c, &init, sizeof(init));

    return status ? status : ernic_rss_create(c->e, c->uctx, &init, &c->handle);
}

static uint8_t cmd_rss_destroy(Call *c)
{
    uint32_t number = target(c);
    uint8_t status = ernic_rss_destroy(c->e, c->uctx, number);

    if (!status) {
        ernic_flow_forget(c->e, number);
    }
    return status;
}

COMMAND(counter_alloc, ernic_counter_alloc(c->e, &c->handle))
COMMAND(counter_free, ernic_counter_free(c->e, target(c)))

static uint8_t cmd_counter_bind(Call *c)
{
    return ernic_counter_bind(c->e, le32_to_cpu(c->cmd->counter_bind.qpn),
                              le32_to_cpu(c->cmd->counter_bind.counter));
}

/* 64 bits for each row of ERNIC_QP_STATS_LIST. */
static uint8_t cmd_counter_query(Call *c)
{
    const ErnicCounter *counter =
        ernic_counter_get(c->e, le32_to_cpu(c->cmd->query.handle));
    uint64_t v[sizeof(counter->stats) / sizeof(uint64_t)];

    if (!counter) {
        return ERNIC_ERR_HANDLE;
    }
    put_counters(v, &counter->stats, ARRAY_SIZE(v));
    return answer(c, v, sizeof(v));
}

/* ---- the table ------------------------------------------------------------ */

typedef struct CmdRow {
    ErnicCmdInfo info;
    uint8_t (*fn)(Call *c);
} CmdRow;

/* Payload up to and including field @last; padding after it is reserved. */
#define UPTO(member, last) \
    (offsetof(struct ernic_cmd, member.last) + \
     sizeof_field(struct ernic_cmd, member.last) - \
     offsetof(struct ernic_cmd, raw))
#define ROW(op, len, flags, fn) \
    [ERNIC_CMD_##op] = { { #op, len, flags }, cmd_##fn }
#define K ERNIC_CMDF_KERNEL

static const CmdRow rows[] = {
    ROW(NOP, 0, 0, nop),
    ROW(QUERY_DEVICE, UPTO(query, length), 0, query_device),
    ROW(QUERY_PORT, UPTO(query, length), 0, query_port),
    ROW(QUERY_STATS, UPTO(query, length), K, query_stats),
    ROW(SET_GID, UPTO(set_gid, index), K, set_gid),
    ROW(SET_PKEY, UPTO(set_pkey, pkey), K, set_pkey),
    ROW(UCTX_ALLOC, 0, K, uctx_alloc),
    ROW(UCTX_FREE, UPTO(handle, handle), K, uctx_free),
    ROW(PD_ALLOC, 0, 0, pd_alloc),
    ROW(PD_FREE, UPTO(handle, handle), 0, pd_free),
    /* The kernel owns the interrupt vectors and the asynchronous events. */
    ROW(EQ_CREATE, UPTO(eq_create, async), K, eq_create),
    ROW(EQ_DESTROY, UPTO(handle, handle), K, eq_destroy),
    ROW(CQ_CREATE, UPTO(cq_create, eq), 0, cq_create),
    ROW(CQ_RESIZE, UPTO(cq_create, handle), 0, cq_resize),
    ROW(CQ_MODERATE, UPTO(cq_moderate, period_us), 0, cq_moderate),
    ROW(CQ_DESTROY, UPTO(handle, handle), 0, cq_destroy),
    ROW(SRQ_CREATE, UPTO(srq, record), 0, srq_create),
    ROW(SRQ_MODIFY, UPTO(srq, limit), 0, srq_modify),
    ROW(SRQ_QUERY, UPTO(query, handle), 0, srq_query),
    ROW(SRQ_DESTROY, UPTO(handle, handle), 0, srq_destroy),
    ROW(MR_REG, UPTO(mr_reg, offset), 0, mr_reg),
    ROW(MR_ALLOC, UPTO(mr_alloc, max_pages), 0, mr_alloc),
    ROW(MR_FREE, UPTO(handle, handle), 0, mr_free),
    ROW(MW_ALLOC, UPTO(mw_alloc, type), 0, mw_alloc),
    ROW(MW_FREE, UPTO(handle, handle), 0, mr_free),
    ROW(QP_CREATE, UPTO(qp, length), 0, qp_create),
    ROW(QP_MODIFY, UPTO(qp, handle), 0, qp_modify),
    ROW(QP_QUERY, UPTO(query, handle), 0, qp_query),
    ROW(QP_DESTROY, UPTO(handle, handle), 0, qp_destroy),
    ROW(MCAST_ATTACH, UPTO(mcast, qpn), 0, mcast),
    ROW(MCAST_DETACH, UPTO(mcast, qpn), 0, mcast),
    ROW(MR_REREG, UPTO(mr_reg, flags), 0, mr_rereg),
    ROW(QUERY_TIMING, UPTO(query, length), K, query_timing),
    ROW(MR_PAGES, UPTO(mr_pages, key), 0, mr_pages),
    /* The kernel got the page-fault event, for a queue pair of any context. */
    ROW(PAGE_RESUME, UPTO(page_resume, failed), K, page_resume),
    ROW(FLOW_CREATE, UPTO(qp, length), 0, flow_create),
    ROW(FLOW_DESTROY, UPTO(handle, handle), 0, flow_destroy),
    ROW(RSS_CREATE, UPTO(qp, length), 0, rss_create),
    ROW(RSS_DESTROY, UPTO(handle, handle), 0, rss_destroy),
    /* Counters may be of queue pairs of other contexts: only the kernel reads them. */
    ROW(COUNTER_ALLOC, 0, K, counter_alloc),
    ROW(COUNTER_FREE, UPTO(handle, handle), K, counter_free),
    ROW(COUNTER_BIND, UPTO(counter_bind, counter), K, counter_bind),
    ROW(COUNTER_QUERY, UPTO(query, handle), K, counter_query),
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(rows) != ERNIC_CMD_COUNT);

#undef UPTO
#undef ROW
#undef K

const ErnicCmdInfo *ernic_cmd_info(uint8_t opcode)
{
    return opcode < ARRAY_SIZE(rows) ? &rows[opcode].info : NULL;
}

const char *ernic_status_name(uint8_t status)
{
    static const char *const names[] = {
        [ERNIC_OK] = "OK",
        [ERNIC_ERR_OPCODE] = "OPCODE",
        [ERNIC_ERR_RESERVED] = "RESERVED",
        [ERNIC_ERR_HANDLE] = "HANDLE",
        [ERNIC_ERR_PARAM] = "PARAM",
        [ERNIC_ERR_STATE] = "STATE",
        [ERNIC_ERR_ATTR_MASK] = "ATTR_MASK",
        [ERNIC_ERR_NO_RESOURCE] = "NO_RESOURCE",
        [ERNIC_ERR_BUSY] = "BUSY",
        [ERNIC_ERR_DMA] = "DMA",
        [ERNIC_ERR_PERM] = "PERM",
        [ERNIC_ERR_FULL] = "FULL",
    };
    QEMU_BUILD_BUG_ON(ARRAY_SIZE(names) != ERNIC_STATUS_COUNT);

    return status < ARRAY_SIZE(names) ? names[status] : "invalid";
}

/* The checks common to all commands. */
static uint8_t admit(const Ernic *e, const struct ernic_cmd *cmd,
                     uint32_t uctx)
{
    const ErnicCmdInfo *info = ernic_cmd_info(cmd->opcode);

    if (!info) {
        trace_ernic_guest_cmd_opcode(cmd->opcode);
        return ERNIC_ERR_OPCODE;
    }
    if (cmd->reserved ||
        !ernic_all_zero(cmd->raw + info->len, sizeof(cmd->raw) - info->len)) {
        trace_ernic_guest_cmd_reserved(info->name);
        return ERNIC_ERR_RESERVED;
    }
    if (uctx && (uctx > ERNIC_LIM_UCTX || !e->uctx_used[uctx])) {
        trace_ernic_guest_cmd_uctx(info->name, uctx);
        return ERNIC_ERR_HANDLE;
    }
    if (uctx && (info->flags & ERNIC_CMDF_KERNEL)) {
        trace_ernic_guest_cmd_perm(info->name, uctx);
        return ERNIC_ERR_PERM;
    }
    return ERNIC_OK;
}

/* Execute job->cmd; ERNIC_AGAIN: the slice has ended before it. */
static uint8_t step(Call *c)
{
    const struct ernic_cmd *cmd = c->cmd;
    uint32_t uctx = c->uctx;
    uint8_t status = admit(c->e, cmd, uctx);
    const CmdRow *row;

    if (status) {
        return status;
    }
    row = &rows[cmd->opcode];
    status = row->fn(c);
    if (status == ERNIC_AGAIN) {
        trace_ernic_cmd_suspend(row->info.name, uctx, le16_to_cpu(cmd->tag));
    } else if (status) {
        trace_ernic_guest_cmd_failed(row->info.name, uctx, le16_to_cpu(cmd->tag),
                                     ernic_status_name(status));
    } else {
        trace_ernic_cmd(row->info.name, uctx, le16_to_cpu(cmd->tag), c->handle);
    }
    return status;
}

void ernic_cmd_begin(Ernic *e, const struct ernic_cmd *cmd)
{
    e->job->cmd = *cmd;
    e->job->active = true;
    ernic_charge(e, ERNIC_WORK_COMMAND);
}

bool ernic_cmd_exec(Ernic *e, struct ernic_rsp *rsp)
{
    ErnicJob *job = e->job;
    Call call = { .e = e, .uctx = le32_to_cpu(job->cmd.uctx), .cmd = &job->cmd };
    uint8_t status;

    e->stats.commands++;        /* before the step: QUERY_STATS counts itself */
    status = step(&call);
    if (status == ERNIC_AGAIN) {
        e->stats.commands--;    /* if the device migrates now, another engine counts it */
        return false;
    }
    memset(rsp, 0, sizeof(*rsp));
    rsp->tag = job->cmd.tag;
    rsp->status = status;
    ernic_job_end(e);
    if (status) {
        e->stats.bad_commands++;
        return true;
    }
    rsp->handle = cpu_to_le32(call.handle);
    rsp->length = cpu_to_le32(call.length);
    return true;
}
