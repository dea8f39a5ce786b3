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
    uint8_t made;               /* the opcode that makes the object whose handle is at */
    uint8_t made_at;
    /* Completes a command of like() so that it succeeds. */
    void (*right)(World *w, struct ernic_cmd *cmd);
} Row;

static const Row rows[ERNIC_CMD_COUNT];
static uint32_t fresh(World *w, uint8_t opcode);

/* Commands that succeed, but for new objects and structures in memory. */
static struct ernic_cmd like(World *w, uint8_t opcode)
{
    const uint64_t mem = cpu_to_le64(w->mem), scratch = cpu_to_le64(w->q->scratch);
    const uint32_t pd = cpu_to_le32(w->q->pd), cq = cpu_to_le32(w->cq);
    const uint32_t srq = cpu_to_le32(w->srq), qp = cpu_to_le32(w->qp);
    const uint32_t depth = cpu_to_le32(DEPTH), page = cpu_to_le32(4096);
    const struct ernic_cmd all[ERNIC_CMD_COUNT] = {
#define QUERY(op, ...) \
        [ERNIC_CMD_##op].query = { .addr = scratch, .length = page, __VA_ARGS__ }
        QUERY(QUERY_DEVICE), QUERY(QUERY_PORT), QUERY(QUERY_STATS), QUERY(QUERY_TIMING),
        QUERY(SRQ_QUERY, .handle = srq), QUERY(QP_QUERY, .handle = qp),
        QUERY(COUNTER_QUERY),
#undef QUERY
        [ERNIC_CMD_SET_GID].set_gid = {
            .gid = { 0xfe, 0x80, [15] = 9 }, .mac = { 0x52, 0x54, 0, 0, 0, 9 },
            .vlan = cpu_to_le16(5), .index = 63,
        },
        [ERNIC_CMD_SET_PKEY].set_pkey = { .index = cpu_to_le16(15),
                                          .pkey = cpu_to_le16(0x8001) },
        [ERNIC_CMD_EQ_CREATE].eq_create = { .buf.addr = mem, .depth = depth,
                                            .vector = cpu_to_le16(16) },
        [ERNIC_CMD_CQ_CREATE].cq_create = { .buf.addr = mem, .depth = depth,
                                            .eq = cpu_to_le32(NONE) },
        [ERNIC_CMD_CQ_RESIZE].cq_create = { .buf.addr = mem, .handle = cq,
                                            .depth = cpu_to_le32(DEPTH * 2) },
        [ERNIC_CMD_CQ_MODERATE].cq_moderate = { .handle = cq, .count = cpu_to_le16(3),
                                                .period_us = cpu_to_le16(10) },
        [ERNIC_CMD_SRQ_CREATE].srq = { .buf.addr = mem, .pd = pd, .depth = depth,
                                       .stride = cpu_to_le16(5) },
        [ERNIC_CMD_SRQ_MODIFY].srq.handle = srq,
        [ERNIC_CMD_MR_REG].mr_reg = { .buf.addr = mem, .length = cpu_to_le64(4096),
                                      .pd = pd },
        [ERNIC_CMD_MR_REREG].mr_reg = {
            .buf.addr = mem, .length = cpu_to_le64(4096), .pd = pd,
            .access = cpu_to_le32(ERNIC_ACCESS_LOCAL_WRITE),
            .flags = cpu_to_le32(ERNIC_REREG_FLAGS),
        },
        [ERNIC_CMD_PAGE_RESUME].page_resume.qpn = qp,
        [ERNIC_CMD_MR_ALLOC].mr_alloc = { .pd = pd, .max_pages = cpu_to_le32(16) },
        [ERNIC_CMD_MW_ALLOC].mw_alloc = { .pd = pd, .type = 2 },
        [ERNIC_CMD_MCAST_ATTACH].mcast = { .gid = { 0xff, [15] = 1 }, .qpn = qp },
        [ERNIC_CMD_MCAST_DETACH].mcast = { .gid = { 0xff, [15] = 1 }, .qpn = qp },
        [ERNIC_CMD_COUNTER_BIND].counter_bind.qpn = qp,
    };
    struct ernic_cmd cmd = all[opcode];

    cmd.opcode = opcode;
    return cmd;
}

/* Returns a command that succeeds, after creating the objects that it needs. */
static struct ernic_cmd right(World *w, uint8_t opcode)
{
    const Row *row = &rows[opcode];
    struct ernic_cmd cmd = like(w, opcode);

    if (row->made) {
        stl_le_p(cmd.raw + row->made_at, fresh(w, row->made));
    }
    if (row->right) {
        row->right(w, &cmd);
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

    in_scratch(w, cmd, &attr, sizeof(attr));
}

static void mcast_detach(World *w, struct ernic_cmd *cmd)
{
    fresh(w, ERNIC_CMD_MCAST_ATTACH);
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

#define OFF(member)     (offsetof(struct ernic_cmd, member) - \
                         offsetof(struct ernic_cmd, raw))
#define UPTO(member)    (OFF(member) + sizeof_field(struct ernic_cmd, member))
#define ROW(op, len, kernel, foreign, object, ...) \
    [ERNIC_CMD_##op] = { #op, len, kernel, ERNIC_##foreign, object, __VA_ARGS__ }
/* The handle of an object that the opcode @op creates, in @member of the command. */
#define MADE(op, member) ERNIC_CMD_##op, OFF(member)
/* The end of an object that the opcode @made creates. */
#define END(op, kernel, foreign, made) \
    ROW(op, UPTO(handle.handle), kernel, foreign, OFF(handle.handle), \
        MADE(made, handle.handle))

static const Row rows[ERNIC_CMD_COUNT] = {
    ROW(NOP, 0, false, OK, -1), ROW(QUERY_DEVICE, UPTO(query.length), false, OK, -1),
    ROW(QUERY_PORT, UPTO(query.length), false, OK, -1),
    ROW(QUERY_STATS, UPTO(query.length), true, ERR_PERM, -1),
    ROW(QUERY_TIMING, UPTO(query.length), true, ERR_PERM, -1),
    ROW(SET_GID, UPTO(set_gid.index), true, ERR_PERM, -1),
    ROW(SET_PKEY, UPTO(set_pkey.pkey), true, ERR_PERM, -1),
    ROW(UCTX_ALLOC, 0, true, ERR_PERM, -1), END(UCTX_FREE, true, ERR_PERM, UCTX_ALLOC),
    ROW(PD_ALLOC, 0, false, OK, -1), END(PD_FREE, false, ERR_PERM, PD_ALLOC),
    ROW(EQ_CREATE, UPTO(eq_create.async), true, ERR_PERM, -1),
    END(EQ_DESTROY, true, ERR_PERM, EQ_CREATE),
    ROW(CQ_CREATE, UPTO(cq_create.eq), false, OK, -1),
    ROW(CQ_RESIZE, UPTO(cq_create.handle), false, ERR_PERM, OFF(cq_create.handle)),
    ROW(CQ_MODERATE, UPTO(cq_moderate.period_us), false, ERR_PERM,
        OFF(cq_moderate.handle)),
    END(CQ_DESTROY, false, ERR_PERM, CQ_CREATE),
    ROW(SRQ_CREATE, UPTO(srq.cq), false, ERR_HANDLE, OFF(srq.pd)),
    ROW(SRQ_MODIFY, UPTO(srq.limit), false, ERR_PERM, OFF(srq.handle)),
    ROW(SRQ_QUERY, UPTO(query.handle), false, ERR_HANDLE, OFF(query.handle)),
    END(SRQ_DESTROY, false, ERR_PERM, SRQ_CREATE),
    ROW(MR_REG, UPTO(mr_reg.offset), false, ERR_HANDLE, OFF(mr_reg.pd)),
    ROW(MR_ALLOC, UPTO(mr_alloc.max_pages), false, ERR_HANDLE, OFF(mr_alloc.pd)),
    END(MR_FREE, false, ERR_PERM, MR_ALLOC),
    ROW(MW_ALLOC, UPTO(mw_alloc.type), false, ERR_HANDLE, OFF(mw_alloc.pd)),
    END(MW_FREE, false, ERR_PERM, MW_ALLOC),
    ROW(QP_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, .right = qp_create),
    ROW(QP_MODIFY, UPTO(qp.handle), false, ERR_HANDLE, OFF(qp.handle),
        MADE(QP_CREATE, qp.handle), qp_modify),
    ROW(QP_QUERY, UPTO(query.handle), false, ERR_HANDLE, OFF(query.handle)),
    END(QP_DESTROY, false, ERR_HANDLE, QP_CREATE),
    ROW(MCAST_ATTACH, UPTO(mcast.qpn), false, ERR_HANDLE, OFF(mcast.qpn)),
    ROW(MCAST_DETACH, UPTO(mcast.qpn), false, ERR_HANDLE, OFF(mcast.qpn),
        .right = mcast_detach),
    ROW(MR_REREG, UPTO(mr_reg.flags), false, ERR_PERM, OFF(mr_reg.key),
        MADE(MR_REG, mr_reg.key)),
    ROW(MR_PAGES, UPTO(mr_pages.key), false, ERR_PERM, OFF(mr_pages.key),
        .right = mr_pages),
    ROW(PAGE_RESUME, UPTO(page_resume.failed), true, ERR_PERM, OFF(page_resume.qpn)),
    ROW(FLOW_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, .right = flow_create),
    END(FLOW_DESTROY, false, ERR_HANDLE, FLOW_CREATE),
    ROW(RSS_CREATE, UPTO(qp.length), false, ERR_HANDLE, -1, .right = rss_create),
    END(RSS_DESTROY, false, ERR_HANDLE, RSS_CREATE),
    ROW(COUNTER_ALLOC, 0, true, ERR_PERM, -1),
    END(COUNTER_FREE, true, ERR_PERM, COUNTER_ALLOC),
    ROW(COUNTER_BIND, UPTO(counter_bind.counter), true, ERR_PERM, OFF(counter_bind.qpn),
        MADE(COUNTER_ALLOC, counter_bind.counter)),
    ROW(COUNTER_QUERY, UPTO(query.handle), true, ERR_PERM, -1,
        MADE(COUNTER_ALLOC, query.handle)),
};

/* Wrong values of one field of a right command or of its structure in memory. */
typedef struct Wrong {
    uint8_t opcode;
    bool in_memory;
    uint8_t off, size, status, num;
    uint64_t value[4];
} Wrong;

#define VALUES(...) ARRAY_SIZE(((uint64_t[]) { __VA_ARGS__ })), { __VA_ARGS__ }
#define CMD(op, member, status, ...) \
    { ERNIC_CMD_##op, false, OFF(member), sizeof_field(struct ernic_cmd, member), \
      ERNIC_ERR_##status, VALUES(__VA_ARGS__) }
#define MEM(op, type, member, status, ...) \
    { ERNIC_CMD_##op, true, offsetof(struct type, member), \
      sizeof_field(struct type, member), ERNIC_ERR_##status, VALUES(__VA_ARGS__) }
#define INIT(member, ...) MEM(QP_CREATE, ernic_qp_init, member, __VA_ARGS__)
#define RULE(member, ...) MEM(FLOW_CREATE, ernic_flow_rule, member, __VA_ARGS__)
#define ATTR(member, ...) MEM(QP_MODIFY, ernic_qp_attr, member, __VA_ARGS__)

static const Wrong wrongs[] = {
    CMD(QUERY_DEVICE, query.addr, DMA, NOWHERE),
    CMD(QUERY_PORT, query.addr, DMA, NOWHERE),
    CMD(QUERY_STATS, query.addr, DMA, NOWHERE),
    CMD(QUERY_TIMING, query.addr, DMA, NOWHERE),
    CMD(SRQ_QUERY, query.addr, DMA, NOWHERE),
    CMD(QP_QUERY, query.addr, DMA, NOWHERE),
    CMD(SET_GID, set_gid.index, PARAM, 64),
    CMD(SET_GID, set_gid.gid[0], PARAM, 0xff),          /* a multicast address */
    CMD(SET_GID, set_gid.mac[0], PARAM, 0x53),
    CMD(SET_GID, set_gid.vlan, PARAM, 0xfff, 0x1005),
    CMD(SET_PKEY, set_pkey.index, PARAM, 16),
    CMD(SET_PKEY, set_pkey.pkey, PARAM, 0x8000),
    CMD(EQ_CREATE, eq_create.depth, PARAM, 0, 1, 3, 1 << 17),
    CMD(EQ_CREATE, eq_create.vector, PARAM, 17),
    CMD(EQ_CREATE, eq_create.async, PARAM, 2),
    CMD(EQ_CREATE, eq_create.async, STATE, 1),          /* exists already */
    CMD(EQ_CREATE, eq_create.buf.addr, PARAM, -16ull),
    CMD(EQ_CREATE, eq_create.buf.levels, PARAM, 3),
    CMD(EQ_CREATE, eq_create.buf.npages, PARAM, 1),
    CMD(EQ_CREATE, eq_create.buf.page_shift, PARAM, 12),
    CMD(EQ_CREATE, eq_create.buf.reserved[1], RESERVED, 1),
    CMD(CQ_CREATE, cq_create.depth, PARAM, 1, 24, 1 << 21),
    CMD(CQ_CREATE, cq_create.eq, HANDLE, 63, NONE - 1),
    CMD(CQ_CREATE, cq_create.ci_addr, PARAM, 2),
    CMD(CQ_RESIZE, cq_create.depth, PARAM, 24),
    CMD(CQ_RESIZE, cq_create.eq, RESERVED, 1),
    CMD(CQ_RESIZE, cq_create.ci_addr, RESERVED, 4),
    CMD(SRQ_CREATE, srq.depth, PARAM, 0, 1 << 16),
    CMD(SRQ_CREATE, srq.stride, PARAM, 0, 6),
    CMD(SRQ_CREATE, srq.limit, PARAM, DEPTH + 1),
    CMD(SRQ_CREATE, srq.handle, RESERVED, 1),
    CMD(SRQ_CREATE, srq.cq, RESERVED, 1),
    CMD(SRQ_CREATE, srq.xrcd, HANDLE, 999),
    CMD(SRQ_MODIFY, srq.limit, PARAM, DEPTH + 1),
    CMD(SRQ_MODIFY, srq.depth, PARAM, 24),
    CMD(SRQ_MODIFY, srq.pd, RESERVED, 1),
    CMD(MR_REG, mr_reg.access, PARAM, 0x40, ERNIC_ACCESS_REMOTE_WRITE,
        ERNIC_ACCESS_REMOTE_ATOMIC),
    CMD(MR_REG, mr_reg.length, PARAM, 1ull << 47),
    CMD(MR_REG, mr_reg.iova, PARAM, -1ull),
    CMD(MR_REG, mr_reg.offset, PARAM, 1),
    CMD(MR_REG, mr_reg.buf.addr, PARAM, -1ull),
    CMD(MR_REREG, mr_reg.flags, RESERVED, 8, ERNIC_REREG_TRANS,
        ERNIC_REREG_PD | ERNIC_REREG_ACCESS),
    CMD(MR_REREG, mr_reg.pd, HANDLE, NONE),
    CMD(MR_REREG, mr_reg.access, PARAM, ERNIC_ACCESS_REMOTE_WRITE),
    CMD(MR_REREG, mr_reg.length, PARAM, 1ull << 47),
    CMD(MR_REREG, mr_reg.offset, PARAM, 1),
    CMD(MR_REREG, mr_reg.buf.addr, PARAM, -1ull),
    CMD(MR_PAGES, mr_pages.first, PARAM, 1ull << 35),
    CMD(MR_PAGES, mr_pages.npages, PARAM, 0),
    CMD(MR_PAGES, mr_pages.list, PARAM, 4),
    CMD(MR_PAGES, mr_pages.list, DMA, NOWHERE),
    CMD(PAGE_RESUME, page_resume.failed, PARAM, 2),
    CMD(MR_ALLOC, mr_alloc.max_pages, PARAM, 0, 4097),
    CMD(MW_ALLOC, mw_alloc.type, PARAM, 0, 3),
    CMD(QP_CREATE, qp.addr, DMA, NOWHERE),
    CMD(QP_CREATE, qp.length, PARAM, sizeof(struct ernic_qp_init) - 1, 257),
    INIT(pd, HANDLE, NONE),
    INIT(send_cq, HANDLE, 0),
    INIT(recv_cq, HANDLE, NONE),
    INIT(srq, HANDLE, 0),
    INIT(sq_depth, PARAM, 0, 3, 1 << 16),
    INIT(rq_depth, PARAM, 0),
    INIT(type, PARAM, ERNIC_QPT_COUNT),
    INIT(flags, PARAM, 2),
    INIT(sq_stride, PARAM, 0, 10),
    INIT(rq_stride, PARAM, 6),
    INIT(reserved[3], RESERVED, 1),
    CMD(QP_MODIFY, qp.addr, DMA, NOWHERE),
    CMD(QP_MODIFY, qp.length, PARAM, sizeof(struct ernic_qp_attr) - 1, 257),
    ATTR(mask, ATTR_MASK, 1 << ERNIC_QPA_COUNT, ERNIC_QPA_STATE, ERNIC_QPA_STATE |
         ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT | ERNIC_QPA_QKEY | ERNIC_QPA_SQ_PSN),
    ATTR(state, STATE, ERNIC_QPS_RTR, ERNIC_QPS_COUNT),
    ATTR(port, PARAM, 2),
    ATTR(pkey_index, PARAM, 16),
    ATTR(pkey_index, PARAM, 14),                        /* no such index */
    ATTR(sq_draining, RESERVED, 1),
    ATTR(reserved[1], RESERVED, 1),
    ATTR(reserved1[15], RESERVED, 1),
    CMD(FLOW_CREATE, qp.addr, DMA, NOWHERE),
    CMD(FLOW_CREATE, qp.length, PARAM, sizeof(struct ernic_flow_rule) - 1),
    RULE(qpn, HANDLE, 1),
    RULE(layers, RESERVED, 0x20),
    RULE(layers, PARAM, ERNIC_LAYER_IPV4),              /* ports not matched */
    RULE(value.dst_port[1], PARAM, 1),
    RULE(mask.vlan[0], PARAM, 1),
    CMD(RSS_CREATE, qp.addr, DMA, NOWHERE),
    CMD(COUNTER_BIND, counter_bind.counter, HANDLE, 0xffff, NONE),
    CMD(COUNTER_QUERY, query.handle, HANDLE, 0xffff, NONE),
    CMD(COUNTER_QUERY, query.addr, DMA, NOWHERE),
    CMD(RSS_CREATE, qp.length, PARAM, sizeof(struct ernic_rss) - 1,
        sizeof(struct ernic_rss) + 1),
    MEM(RSS_CREATE, ernic_rss, fields, PARAM, 0),
    MEM(RSS_CREATE, ernic_rss, shift, PARAM, 8),
    MEM(RSS_CREATE, ernic_rss, wq[0], HANDLE, 1),
    MEM(RSS_CREATE, ernic_rss, wq[1], RESERVED, 1),
    CMD(MCAST_ATTACH, mcast.gid[0], PARAM, 0xfe),
    CMD(MCAST_DETACH, mcast.gid[1], HANDLE, 0x01),      /* never joined */
};

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

static void refuses(World *w, const Wrong *wrong, uint64_t value)
{
    struct ernic_cmd cmd = right(w, wrong->opcode);
    uint8_t bytes[8];

    g_test_message("%s %s %u = 0x%" PRIx64, rows[wrong->opcode].name,
                   wrong->in_memory ? "memory" : "payload", wrong->off, value);
    stq_le_p(bytes, value);
    if (wrong->in_memory) {
        qtest_memwrite(w->q->qts, w->q->scratch + wrong->off, bytes, wrong->size);
    } else {
        memcpy(cmd.raw + wrong->off, bytes, wrong->size);
    }
    refused(w, &cmd, wrong->status);
}

ERNIC_TEST("command-wrong", test_wrong)
{
    World w;

    world(&w, q);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        for (uint32_t n = 0; n < wrongs[i].num; n++) {
            refuses(&w, &wrongs[i], wrongs[i].value[n]);
        }
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
