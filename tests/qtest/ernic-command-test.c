/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every command with right and wrong values. Each command has a row, from which the
 * test derives the errors that all commands have in common; a second table has the
 * errors of single commands. An opcode without a row fails.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic.h"

#define NONE            0xffffffff
#define NOWHERE         0xffff000000000000
#define DEPTH           16
#define NO_SUCH_UCTX    77

/* Objects that the commands of a test refer to. */
typedef struct World {
    QErnic *q;
    uint32_t uctx;              /* a context other than the kernel's */
    uint32_t cq, srq, qp;
    uint64_t mem;               /* for rings, which are never used */
} World;

typedef struct Row {
    const char *name;
    uint8_t len;                /* payload bytes; the rest is reserved */
    bool kernel;                /* only for context 0 */
    uint8_t foreign;            /* status in a context that owns no object */
    int8_t object;              /* payload offset of a handle, or -1 */
    /* Fills in a command of that opcode so that it succeeds. */
    void (*right)(World *w, struct ernic_cmd *cmd);
    uint8_t of;                 /* or its handle is of an object made by this opcode */
} Row;

static const Row rows[ERNIC_CMD_COUNT];
static uint32_t fresh(World *w, uint8_t opcode);

/* Returns a command that succeeds, after creating the objects that it needs. */
static struct ernic_cmd right(World *w, uint8_t opcode)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    if (rows[opcode].of) {
        cmd.handle.handle = cpu_to_le32(fresh(w, rows[opcode].of));
    } else if (rows[opcode].right) {
        rows[opcode].right(w, &cmd);
    }
    return cmd;
}

/* Creates an object by the right form of a command; returns its handle. */
static uint32_t fresh(World *w, uint8_t opcode)
{
    struct ernic_cmd cmd = right(w, opcode);

    return qernic_make(w->q, &cmd);
}

static void in_scratch(World *w, struct ernic_cmd *cmd, const void *data, uint32_t len)
{
    qtest_memwrite(w->q->qts, w->q->scratch, data, len);
    cmd->qp.addr = cpu_to_le64(w->q->scratch);
    cmd->qp.length = cpu_to_le32(len);
}

static void query(World *w, struct ernic_cmd *cmd)
{
    cmd->query.addr = cpu_to_le64(w->q->scratch);
    cmd->query.length = cpu_to_le32(4096);
}

static void query_srq(World *w, struct ernic_cmd *cmd)
{
    query(w, cmd);
    cmd->query.handle = cpu_to_le32(w->srq);
}

static void query_qp(World *w, struct ernic_cmd *cmd)
{
    query(w, cmd);
    cmd->query.handle = cpu_to_le32(w->qp);
}

static void set_gid(World *w, struct ernic_cmd *cmd)
{
    static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 9 };
    static const uint8_t mac[6] = { 0x52, 0x54, 0, 0, 0, 9 };

    memcpy(cmd->set_gid.gid, gid, sizeof(gid));
    memcpy(cmd->set_gid.mac, mac, sizeof(mac));
    cmd->set_gid.vlan = cpu_to_le16(5);
    cmd->set_gid.index = 63;
}

static void set_pkey(World *w, struct ernic_cmd *cmd)
{
    cmd->set_pkey.index = cpu_to_le16(15);
    cmd->set_pkey.pkey = cpu_to_le16(0x8001);
}

static void eq_create(World *w, struct ernic_cmd *cmd)
{
    cmd->eq_create.buf.addr = cpu_to_le64(w->mem);
    cmd->eq_create.depth = cpu_to_le32(DEPTH);
    cmd->eq_create.vector = cpu_to_le16(16);
}

static void cq_create(World *w, struct ernic_cmd *cmd)
{
    cmd->cq_create.buf.addr = cpu_to_le64(w->mem);
    cmd->cq_create.depth = cpu_to_le32(DEPTH);
    cmd->cq_create.eq = cpu_to_le32(NONE);
}

static void cq_resize(World *w, struct ernic_cmd *cmd)
{
    cmd->cq_create.buf.addr = cpu_to_le64(w->mem);
    cmd->cq_create.depth = cpu_to_le32(DEPTH * 2);
    cmd->cq_create.handle = cpu_to_le32(w->cq);
}

static void cq_moderate(World *w, struct ernic_cmd *cmd)
{
    cmd->cq_moderate.handle = cpu_to_le32(w->cq);
    cmd->cq_moderate.count = cpu_to_le16(3);
    cmd->cq_moderate.period_us = cpu_to_le16(10);
}

static void srq_create(World *w, struct ernic_cmd *cmd)
{
    cmd->srq.buf.addr = cpu_to_le64(w->mem);
    cmd->srq.pd = cpu_to_le32(w->q->pd);
    cmd->srq.depth = cpu_to_le32(DEPTH);
    cmd->srq.stride = cpu_to_le16(5);
}

static void srq_modify(World *w, struct ernic_cmd *cmd)
{
    cmd->srq.handle = cpu_to_le32(w->srq);
}

static void mr_reg(World *w, struct ernic_cmd *cmd)
{
    cmd->mr_reg.buf.addr = cpu_to_le64(w->mem);
    cmd->mr_reg.length = cpu_to_le64(4096);
    cmd->mr_reg.pd = cpu_to_le32(w->q->pd);
}

static void mr_rereg(World *w, struct ernic_cmd *cmd)
{
    mr_reg(w, cmd);
    cmd->mr_reg.access = cpu_to_le32(ERNIC_ACCESS_LOCAL_WRITE);
    cmd->mr_reg.key = cpu_to_le32(fresh(w, ERNIC_CMD_MR_REG));
    cmd->mr_reg.flags = cpu_to_le32(ERNIC_REREG_FLAGS);
}

/* Removes a page, which was never present, from an on-demand region. */
static void mr_pages(World *w, struct ernic_cmd *cmd)
{
    struct ernic_cmd reg = { .opcode = ERNIC_CMD_MR_REG };
    struct ernic_rsp rsp;

    reg.mr_reg.buf.page_shift = 12;
    reg.mr_reg.length = cpu_to_le64(1ull << 47);
    reg.mr_reg.pd = cpu_to_le32(w->q->pd);
    reg.mr_reg.access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND);
    g_assert_cmpuint(qernic_cmd(w->q, &reg, &rsp), ==, ERNIC_OK);
    cmd->mr_pages.npages = cpu_to_le64(1);
    cmd->mr_pages.key = rsp.handle;
}

static void page_resume(World *w, struct ernic_cmd *cmd)
{
    cmd->page_resume.qpn = cpu_to_le32(w->qp);
}

static void mr_alloc(World *w, struct ernic_cmd *cmd)
{
    cmd->mr_alloc.pd = cpu_to_le32(w->q->pd);
    cmd->mr_alloc.max_pages = cpu_to_le32(16);
}

static void mw_alloc(World *w, struct ernic_cmd *cmd)
{
    cmd->mw_alloc.pd = cpu_to_le32(w->q->pd);
    cmd->mw_alloc.type = 2;
}

static void qp_create(World *w, struct ernic_cmd *cmd)
{
    struct ernic_qp_init init = {
        .sq_buf.addr = cpu_to_le64(w->mem), .rq_buf.addr = cpu_to_le64(w->mem),
        .pd = cpu_to_le32(w->q->pd), .send_cq = cpu_to_le32(w->cq),
        .recv_cq = cpu_to_le32(w->cq), .srq = cpu_to_le32(NONE),
        .sq_depth = cpu_to_le32(DEPTH), .rq_depth = cpu_to_le32(DEPTH),
        .type = ERNIC_QPT_UD, .sq_stride = 1, .rq_stride = 1,
    };

    in_scratch(w, cmd, &init, sizeof(init));
}

static void qp_modify(World *w, struct ernic_cmd *cmd)
{
    struct ernic_qp_attr attr = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE | ERNIC_QPA_PKEY_INDEX |
                            ERNIC_QPA_PORT | ERNIC_QPA_QKEY),
        .state = ERNIC_QPS_INIT, .port = 1,
    };
    uint32_t qpn = fresh(w, ERNIC_CMD_QP_CREATE);

    in_scratch(w, cmd, &attr, sizeof(attr));
    cmd->qp.handle = cpu_to_le32(qpn);
}

static void mcast_attach(World *w, struct ernic_cmd *cmd)
{
    cmd->mcast.gid[0] = 0xff;
    cmd->mcast.gid[15] = 1;
    cmd->mcast.qpn = cpu_to_le32(w->qp);
}

static void mcast_detach(World *w, struct ernic_cmd *cmd)
{
    fresh(w, ERNIC_CMD_MCAST_ATTACH);
    mcast_attach(w, cmd);
}

/* A raw packet queue pair in RESET. */
static uint32_t fresh_raw(World *w)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };

    qp_create(w, &cmd);
    qtest_writeb(w->q->qts, w->q->scratch +
                 offsetof(struct ernic_qp_init, type), ERNIC_QPT_RAW);
    return qernic_make(w->q, &cmd);
}

static void flow_create(World *w, struct ernic_cmd *cmd)
{
    struct ernic_flow_rule rule = {
        .qpn = cpu_to_le32(fresh_raw(w)),
        .layers = cpu_to_le16(ERNIC_LAYER_IPV4 | ERNIC_LAYER_UDP),
        .value.dst_port = { 1 }, .mask.dst_port = { 0xff },
    };

    in_scratch(w, cmd, &rule, sizeof(rule));
}

static void rss_create(World *w, struct ernic_cmd *cmd)
{
    struct ernic_cmd create = { .opcode = ERNIC_CMD_QP_CREATE };
    struct ernic_qp_init init = {
        .rq_buf.addr = cpu_to_le64(w->mem), .pd = cpu_to_le32(w->q->pd),
        .recv_cq = cpu_to_le32(w->cq), .srq = cpu_to_le32(NONE),
        .rq_depth = cpu_to_le32(DEPTH), .type = ERNIC_QPT_RWQ, .rq_stride = 1,
    };
    struct ernic_rss rss = { .fields = cpu_to_le32(ERNIC_HASH_SRC_IPV4) };
    struct ernic_rsp rsp;

    in_scratch(w, &create, &init, sizeof(init));
    g_assert_cmpuint(qernic_cmd(w->q, &create, &rsp), ==, ERNIC_OK);
    rss.wq[0] = rsp.handle;
    in_scratch(w, cmd, &rss, sizeof(rss));
}

static void counter_bind(World *w, struct ernic_cmd *cmd)
{
    cmd->counter_bind.qpn = cpu_to_le32(w->qp);
    cmd->counter_bind.counter = cpu_to_le32(fresh(w, ERNIC_CMD_COUNTER_ALLOC));
}

static void counter_query(World *w, struct ernic_cmd *cmd)
{
    uint32_t counter = fresh(w, ERNIC_CMD_COUNTER_ALLOC);

    query(w, cmd);
    cmd->query.handle = cpu_to_le32(counter);
}

#define OFF(member)     (offsetof(struct ernic_cmd, member) - \
                         offsetof(struct ernic_cmd, raw))
#define UPTO(member)    (OFF(member) + sizeof_field(struct ernic_cmd, member))
#define ROW(op, len, kernel, foreign, object, right) \
    [ERNIC_CMD_##op] = { #op, len, kernel, ERNIC_##foreign, object, right }
/* The end of an object that the opcode @made creates. */
#define END(op, kernel, foreign, made) \
    [ERNIC_CMD_##op] = { #op, UPTO(handle.handle), kernel, ERNIC_##foreign, \
                         OFF(handle.handle), NULL, ERNIC_CMD_##made }

static const Row rows[ERNIC_CMD_COUNT] = {
    ROW(NOP, 0, false, OK, -1, NULL),
    ROW(QUERY_DEVICE, UPTO(query.length), false, OK, -1, query),
    ROW(QUERY_PORT, UPTO(query.length), false, OK, -1, query),
    ROW(QUERY_STATS, UPTO(query.length), true, ERR_PERM, -1, query),
    ROW(QUERY_TIMING, UPTO(query.length), true, ERR_PERM, -1, query),
    ROW(SET_GID, UPTO(set_gid.index), true, ERR_PERM, -1, set_gid),
    ROW(SET_PKEY, UPTO(set_pkey.pkey), true, ERR_PERM, -1, set_pkey),
    ROW(UCTX_ALLOC, 0, true, ERR_PERM, -1, NULL),
    END(UCTX_FREE, true, ERR_PERM, UCTX_ALLOC), ROW(PD_ALLOC, 0, false, OK, -1, NULL),
    END(PD_FREE, false, ERR_PERM, PD_ALLOC),
    ROW(EQ_CREATE, UPTO(eq_create.async), true, ERR_PERM, -1, eq_create),
    END(EQ_DESTROY, true, ERR_PERM, EQ_CREATE),
    ROW(CQ_CREATE, UPTO(cq_create.eq), false, OK, -1, cq_create),
    ROW(CQ_RESIZE, UPTO(cq_create.handle), false, ERR_PERM, OFF(cq_create.handle),
        cq_resize),
    ROW(CQ_MODERATE, UPTO(cq_moderate.period_us), false, ERR_PERM,
        OFF(cq_moderate.handle), cq_moderate),
    END(CQ_DESTROY, false, ERR_PERM, CQ_CREATE),
    ROW(SRQ_CREATE, UPTO(srq.cq), false, ERR_HANDLE, OFF(srq.pd), srq_create),
    ROW(SRQ_MODIFY, UPTO(srq.limit), false, ERR_PERM, OFF(srq.handle), srq_modify),
    ROW(SRQ_QUERY, UPTO(query.handle), false, ERR_HANDLE, OFF(query.handle), query_srq),
    END(SRQ_DESTROY, false, ERR_PERM, SRQ_CREATE),
    ROW(MR_REG, UPTO(mr_reg.offset), false, ERR_HANDLE, OFF(mr_reg.pd), mr_reg),
    ROW(MR_ALLOC, UPTO(mr_alloc.max_pages), false, ERR_HANDLE, OFF(mr_alloc.pd),
        mr_alloc),
    END(MR_FREE, false, ERR_PERM, MR_ALLOC),
    ROW(MW_ALLOC, UPTO(mw_alloc.type), false, ERR_HANDLE, OFF(mw_alloc.pd), mw_alloc),
    END(MW_FREE, false, ERR_PERM, MW_ALLOC),
    ROW(QP_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, qp_create),
    ROW(QP_MODIFY, UPTO(qp.handle), false, ERR_HANDLE, OFF(qp.handle), qp_modify),
    ROW(QP_QUERY, UPTO(query.handle), false, ERR_HANDLE, OFF(query.handle), query_qp),
    END(QP_DESTROY, false, ERR_HANDLE, QP_CREATE),
    ROW(MCAST_ATTACH, UPTO(mcast.qpn), false, ERR_HANDLE, OFF(mcast.qpn), mcast_attach),
    ROW(MCAST_DETACH, UPTO(mcast.qpn), false, ERR_HANDLE, OFF(mcast.qpn), mcast_detach),
    ROW(MR_REREG, UPTO(mr_reg.flags), false, ERR_PERM, OFF(mr_reg.key), mr_rereg),
    ROW(MR_PAGES, UPTO(mr_pages.key), false, ERR_PERM, OFF(mr_pages.key), mr_pages),
    ROW(PAGE_RESUME, UPTO(page_resume.failed), true, ERR_PERM, OFF(page_resume.qpn),
        page_resume),
    ROW(FLOW_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, flow_create),
    END(FLOW_DESTROY, false, ERR_HANDLE, FLOW_CREATE),
    ROW(RSS_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, rss_create),
    END(RSS_DESTROY, false, ERR_HANDLE, RSS_CREATE),
    ROW(COUNTER_ALLOC, 0, true, ERR_PERM, -1, NULL),
    END(COUNTER_FREE, true, ERR_PERM, COUNTER_ALLOC),
    ROW(COUNTER_BIND, UPTO(counter_bind.counter), true, ERR_PERM, OFF(counter_bind.qpn),
        counter_bind),
    ROW(COUNTER_QUERY, UPTO(query.handle), true, ERR_PERM, -1, counter_query),
};

/* One wrong field in a right command or in its structure in memory. */
typedef struct Wrong {
    uint8_t opcode;
    bool in_memory;
    uint8_t off, size;
    uint64_t value;
    uint8_t status;
} Wrong;

#define CMD(op, member, value, status) \
    { ERNIC_CMD_##op, false, OFF(member), \
      sizeof_field(struct ernic_cmd, member), value, ERNIC_ERR_##status }
#define MEM(op, type, member, value, status) \
    { ERNIC_CMD_##op, true, offsetof(struct type, member), \
      sizeof_field(struct type, member), value, ERNIC_ERR_##status }
#define INIT(member, value, status) \
    MEM(QP_CREATE, ernic_qp_init, member, value, status)
#define RULE(member, value, status) \
    MEM(FLOW_CREATE, ernic_flow_rule, member, value, status)
#define ATTR(member, value, status) \
    MEM(QP_MODIFY, ernic_qp_attr, member, value, status)

static const Wrong wrongs[] = {
    CMD(QUERY_DEVICE, query.addr, NOWHERE, DMA),
    CMD(QUERY_PORT, query.addr, NOWHERE, DMA),
    CMD(QUERY_STATS, query.addr, NOWHERE, DMA),
    CMD(QUERY_TIMING, query.addr, NOWHERE, DMA),
    CMD(SRQ_QUERY, query.addr, NOWHERE, DMA),
    CMD(QP_QUERY, query.addr, NOWHERE, DMA),
    CMD(SET_GID, set_gid.index, 64, PARAM),
    CMD(SET_GID, set_gid.gid[0], 0xff, PARAM),          /* a multicast address */
    CMD(SET_GID, set_gid.mac[0], 0x53, PARAM),
    CMD(SET_GID, set_gid.vlan, 0xfff, PARAM),
    CMD(SET_GID, set_gid.vlan, 0x1005, PARAM),
    CMD(SET_PKEY, set_pkey.index, 16, PARAM),
    CMD(SET_PKEY, set_pkey.pkey, 0x8000, PARAM),
    CMD(EQ_CREATE, eq_create.depth, 0, PARAM),
    CMD(EQ_CREATE, eq_create.depth, 1, PARAM),
    CMD(EQ_CREATE, eq_create.depth, 3, PARAM),
    CMD(EQ_CREATE, eq_create.depth, 1 << 17, PARAM),
    CMD(EQ_CREATE, eq_create.vector, 17, PARAM),
    CMD(EQ_CREATE, eq_create.async, 2, PARAM),
    CMD(EQ_CREATE, eq_create.async, 1, STATE),          /* exists already */
    CMD(EQ_CREATE, eq_create.buf.addr, -16ull, PARAM),
    CMD(EQ_CREATE, eq_create.buf.levels, 3, PARAM),
    CMD(EQ_CREATE, eq_create.buf.npages, 1, PARAM),
    CMD(EQ_CREATE, eq_create.buf.page_shift, 12, PARAM),
    CMD(EQ_CREATE, eq_create.buf.reserved[1], 1, RESERVED),
    CMD(CQ_CREATE, cq_create.depth, 1, PARAM),
    CMD(CQ_CREATE, cq_create.depth, 24, PARAM),
    CMD(CQ_CREATE, cq_create.depth, 1 << 21, PARAM),
    CMD(CQ_CREATE, cq_create.eq, 63, HANDLE),
    CMD(CQ_CREATE, cq_create.eq, NONE - 1, HANDLE),
    CMD(CQ_CREATE, cq_create.ci_addr, 2, PARAM),
    CMD(CQ_RESIZE, cq_create.depth, 24, PARAM),
    CMD(CQ_RESIZE, cq_create.eq, 1, RESERVED),
    CMD(CQ_RESIZE, cq_create.ci_addr, 4, RESERVED),
    CMD(SRQ_CREATE, srq.depth, 0, PARAM),
    CMD(SRQ_CREATE, srq.depth, 1 << 16, PARAM),
    CMD(SRQ_CREATE, srq.stride, 0, PARAM),
    CMD(SRQ_CREATE, srq.stride, 6, PARAM),
    CMD(SRQ_CREATE, srq.limit, DEPTH + 1, PARAM),
    CMD(SRQ_CREATE, srq.handle, 1, RESERVED),
    CMD(SRQ_CREATE, srq.cq, 1, RESERVED),
    CMD(SRQ_CREATE, srq.xrcd, 999, HANDLE),
    CMD(SRQ_MODIFY, srq.limit, DEPTH + 1, PARAM),
    CMD(SRQ_MODIFY, srq.depth, 24, PARAM),
    CMD(SRQ_MODIFY, srq.pd, 1, RESERVED),
    CMD(MR_REG, mr_reg.access, 0x40, PARAM),
    CMD(MR_REG, mr_reg.access, ERNIC_ACCESS_REMOTE_WRITE, PARAM),
    CMD(MR_REG, mr_reg.access, ERNIC_ACCESS_REMOTE_ATOMIC, PARAM),
    CMD(MR_REG, mr_reg.length, 1ull << 47, PARAM),
    CMD(MR_REG, mr_reg.iova, -1ull, PARAM),
    CMD(MR_REG, mr_reg.offset, 1, PARAM),
    CMD(MR_REG, mr_reg.buf.addr, -1ull, PARAM),
    CMD(MR_REREG, mr_reg.flags, 8, RESERVED),
    CMD(MR_REREG, mr_reg.flags, ERNIC_REREG_TRANS, RESERVED),
    CMD(MR_REREG, mr_reg.flags, ERNIC_REREG_PD | ERNIC_REREG_ACCESS, RESERVED),
    CMD(MR_REREG, mr_reg.pd, NONE, HANDLE),
    CMD(MR_REREG, mr_reg.access, ERNIC_ACCESS_REMOTE_WRITE, PARAM),
    CMD(MR_REREG, mr_reg.length, 1ull << 47, PARAM),
    CMD(MR_REREG, mr_reg.offset, 1, PARAM),
    CMD(MR_REREG, mr_reg.buf.addr, -1ull, PARAM),
    CMD(MR_PAGES, mr_pages.first, 1ull << 35, PARAM),
    CMD(MR_PAGES, mr_pages.npages, 0, PARAM),
    CMD(MR_PAGES, mr_pages.list, 4, PARAM),
    CMD(MR_PAGES, mr_pages.list, NOWHERE, DMA),
    CMD(PAGE_RESUME, page_resume.failed, 2, PARAM),
    CMD(MR_ALLOC, mr_alloc.max_pages, 0, PARAM),
    CMD(MR_ALLOC, mr_alloc.max_pages, 4097, PARAM),
    CMD(MW_ALLOC, mw_alloc.type, 0, PARAM),
    CMD(MW_ALLOC, mw_alloc.type, 3, PARAM),
    CMD(QP_CREATE, qp.addr, NOWHERE, DMA),
    CMD(QP_CREATE, qp.length, sizeof(struct ernic_qp_init) - 1, PARAM),
    CMD(QP_CREATE, qp.length, 257, PARAM),
    INIT(pd, NONE, HANDLE),
    INIT(send_cq, 0, HANDLE),
    INIT(recv_cq, NONE, HANDLE),
    INIT(srq, 0, HANDLE),
    INIT(sq_depth, 0, PARAM),
    INIT(sq_depth, 3, PARAM),
    INIT(sq_depth, 1 << 16, PARAM),
    INIT(rq_depth, 0, PARAM),
    INIT(type, ERNIC_QPT_COUNT, PARAM),
    INIT(flags, 2, PARAM),
    INIT(sq_stride, 0, PARAM),
    INIT(sq_stride, 10, PARAM),
    INIT(rq_stride, 6, PARAM),
    INIT(reserved[3], 1, RESERVED),
    CMD(QP_MODIFY, qp.addr, NOWHERE, DMA),
    CMD(QP_MODIFY, qp.length, sizeof(struct ernic_qp_attr) - 1, PARAM),
    CMD(QP_MODIFY, qp.length, 257, PARAM),
    ATTR(mask, 1 << ERNIC_QPA_COUNT, ATTR_MASK),
    ATTR(mask, ERNIC_QPA_STATE, ATTR_MASK),
    ATTR(mask, ERNIC_QPA_STATE | ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT |
         ERNIC_QPA_QKEY | ERNIC_QPA_SQ_PSN, ATTR_MASK),
    ATTR(state, ERNIC_QPS_RTR, STATE),
    ATTR(state, ERNIC_QPS_COUNT, STATE),
    ATTR(port, 2, PARAM),
    ATTR(pkey_index, 16, PARAM),
    ATTR(pkey_index, 14, PARAM),                        /* no such index */
    ATTR(sq_draining, 1, RESERVED),
    ATTR(reserved[1], 1, RESERVED),
    ATTR(reserved1[15], 1, RESERVED),
    CMD(FLOW_CREATE, qp.addr, NOWHERE, DMA),
    CMD(FLOW_CREATE, qp.length, sizeof(struct ernic_flow_rule) - 1, PARAM),
    RULE(qpn, 1, HANDLE),
    RULE(layers, 0x20, RESERVED),
    RULE(layers, ERNIC_LAYER_IPV4, PARAM),              /* ports not matched */
    RULE(value.dst_port[1], 1, PARAM),
    RULE(mask.vlan[0], 1, PARAM),
    CMD(RSS_CREATE, qp.addr, NOWHERE, DMA),
    CMD(COUNTER_BIND, counter_bind.counter, 0xffff, HANDLE),
    CMD(COUNTER_BIND, counter_bind.counter, NONE, HANDLE),
    CMD(COUNTER_QUERY, query.handle, 0xffff, HANDLE),
    CMD(COUNTER_QUERY, query.handle, NONE, HANDLE),
    CMD(COUNTER_QUERY, query.addr, NOWHERE, DMA),
    CMD(RSS_CREATE, qp.length, sizeof(struct ernic_rss) - 1, PARAM),
    CMD(RSS_CREATE, qp.length, sizeof(struct ernic_rss) + 1, PARAM),
    MEM(RSS_CREATE, ernic_rss, fields, 0, PARAM),
    MEM(RSS_CREATE, ernic_rss, shift, 8, PARAM),
    MEM(RSS_CREATE, ernic_rss, wq[0], 1, HANDLE),
    MEM(RSS_CREATE, ernic_rss, wq[1], 1, RESERVED),
    CMD(MCAST_ATTACH, mcast.gid[0], 0xfe, PARAM),
    CMD(MCAST_DETACH, mcast.gid[1], 0x01, HANDLE),      /* never joined */
};

static void put(uint8_t *at, uint8_t size, uint64_t value)
{
    if (size == 1) {
        stb_p(at, value);
    } else if (size == 2) {
        stw_le_p(at, value);
    } else if (size == 4) {
        stl_le_p(at, value);
    } else {
        stq_le_p(at, value);
    }
}

static void world(World *w, QErnic *q)
{
    struct ernic_cmd alloc = { .opcode = ERNIC_CMD_UCTX_ALLOC };

    qernic_setup(q, 1);
    *w = (World) { .q = q, .mem = guest_alloc(q->alloc, 65536) };
    w->uctx = qernic_make(q, &alloc);
    w->cq = fresh(w, ERNIC_CMD_CQ_CREATE);
    w->srq = fresh(w, ERNIC_CMD_SRQ_CREATE);
    w->qp = fresh(w, ERNIC_CMD_QP_CREATE);
}

static void refused(World *w, struct ernic_cmd *cmd, uint8_t status)
{
    struct ernic_rsp rsp;

    g_assert_cmpuint(qernic_cmd(w->q, cmd, &rsp), ==, status);
    if (status) {
        g_assert_cmpuint(rsp.handle, ==, 0);
        g_assert_cmpuint(rsp.length, ==, 0);
    }
}

/* Tries all errors that follow from a row. */
static void walk(World *w, uint8_t opcode)
{
    static const uint32_t handles[] = { 0, 0xffff, 0xffffff, NONE };
    const Row *row = &rows[opcode];
    struct ernic_cmd cmd;

    g_test_message("%s", row->name);
    cmd = right(w, opcode);
    qernic_make(w->q, &cmd);
    for (size_t i = row->len; i < sizeof(cmd.raw); i++) {
        cmd = right(w, opcode);
        cmd.raw[i] = 1;
        refused(w, &cmd, ERNIC_ERR_RESERVED);
    }
    cmd = right(w, opcode);
    cmd.reserved = 1;
    refused(w, &cmd, ERNIC_ERR_RESERVED);
    cmd.reserved = 0;
    cmd.uctx = cpu_to_le32(NO_SUCH_UCTX);
    refused(w, &cmd, ERNIC_ERR_HANDLE);
    cmd.uctx = cpu_to_le32(NONE);
    refused(w, &cmd, ERNIC_ERR_HANDLE);
    cmd.uctx = cpu_to_le32(w->uctx);
    refused(w, &cmd, row->kernel ? ERNIC_ERR_PERM : row->foreign);
    for (size_t i = 0; row->object >= 0 && i < ARRAY_SIZE(handles); i++) {
        cmd = right(w, opcode);
        stl_le_p(cmd.raw + row->object, handles[i]);
        refused(w, &cmd, ERNIC_ERR_HANDLE);
    }
}

ERNIC_TEST("command-rows", test_rows)
{
    World w;

    for (int opcode = 0; opcode < ERNIC_CMD_COUNT; opcode++) {
        g_assert_nonnull(rows[opcode].name);
        world(&w, q);
        walk(&w, opcode);
        qernic_set_reg(w.q, control, ERNIC_CONTROL_RESET);
        guest_free(q->alloc, w.mem);
    }
}

ERNIC_TEST("command-wrong", test_wrong)
{
    struct ernic_cmd cmd;
    uint8_t bytes[8];
    World w;

    world(&w, q);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        const Wrong *wrong = &wrongs[i];

        g_test_message("%s %s %u = 0x%" PRIx64, rows[wrong->opcode].name,
                       wrong->in_memory ? "memory" : "payload", wrong->off, wrong->value);
        cmd = right(&w, wrong->opcode);
        put(bytes, wrong->size, wrong->value);
        if (wrong->in_memory) {
            qtest_memwrite(w.q->qts, w.q->scratch + wrong->off, bytes, wrong->size);
        } else {
            memcpy(cmd.raw + wrong->off, bytes, wrong->size);
        }
        refused(&w, &cmd, wrong->status);
    }
    guest_free(q->alloc, w.mem);
}

/* An object cannot be destroyed while other objects refer to it. */
ERNIC_TEST("command-busy", test_busy)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    World w;

    world(&w, q);
    g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_PD_FREE, q->pd), ==, ERNIC_ERR_BUSY);
    g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_CQ_DESTROY, w.cq), ==,
                     ERNIC_ERR_BUSY);
    cmd.uctx = cpu_to_le32(w.uctx);
    qernic_make(q, &cmd);
    g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_UCTX_FREE, w.uctx), ==,
                     ERNIC_ERR_BUSY);
    g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_QP_DESTROY, w.qp), ==, ERNIC_OK);
    g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_CQ_DESTROY, w.cq), ==, ERNIC_OK);
    guest_free(q->alloc, w.mem);
}

/* The number of bad doorbells; a NOP waits for the doorbells rung before. */
static uint64_t bad_doorbells(QErnic *q)
{
    qernic_nop(q);
    return qernic_stat(q, "bad_doorbells");
}

/* Rings each kind of doorbell on the page of the queue's context and on another. */
ERNIC_TEST("doorbells", test_doorbells)
{
    uint64_t before;
    uint32_t queue[ERNIC_DB_KIND_COUNT];
    QErnicQp qp;
    uint8_t kind;
    World w;

    world(&w, q);
    qernic_self(q, &qp, ERNIC_QPT_UD);
    queue[ERNIC_DB_SQ] = queue[ERNIC_DB_RQ] = qp.qpn;
    queue[ERNIC_DB_SRQ] = w.srq;
    queue[ERNIC_DB_CQ] = queue[ERNIC_DB_CQ_ARM] = qp.cq.cqn;
    queue[ERNIC_DB_CQ_ARM_SOLICITED] = qp.cq.cqn;
    queue[ERNIC_DB_EQ] = q->eq;
    for (kind = 0; kind < ERNIC_DB_KIND_COUNT; kind++) {
        before = bad_doorbells(q);
        qernic_doorbell(q, 0, ERNIC_DB(kind, queue[kind], 0));
        g_assert_cmpuint(bad_doorbells(q), ==, before);
        qernic_doorbell(q, w.uctx, ERNIC_DB(kind, queue[kind], 0));
        g_assert_cmpuint(bad_doorbells(q), ==, before + 1);
        qernic_doorbell(q, 255, ERNIC_DB(kind, queue[kind], 0));
        qernic_doorbell(q, 0, ERNIC_DB(kind, 0, 0));
        qernic_doorbell(q, 0, ERNIC_DB(kind, 0xffffff, 0));
        qernic_doorbell(q, 0, ERNIC_DB(kind, queue[kind], 0x7fffffff));
        qernic_doorbell(q, 0, ERNIC_DB(kind, queue[kind], 0) | 1ull << 60);
        g_assert_cmpuint(bad_doorbells(q), ==, before + 6);
    }
    for (; kind < 16; kind++) {
        before = bad_doorbells(q);
        qernic_doorbell(q, 0, ERNIC_DB((uint64_t)kind, qp.qpn, 0));
        g_assert_cmpuint(bad_doorbells(q), ==, before + 1);
    }
    guest_free(q->alloc, w.mem);
}
