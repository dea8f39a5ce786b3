/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile commands at the seam, for the kernel and for user contexts, with
 * structures and page lists in memory, and doorbells in between. Queue pairs
 * talk to each other through loopback.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "input.h"
#include "model.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "transport/qp.h"

#define RUNS            8
#define MAX_RECORDS     64
/* Where structures are passed, and where the input's memory begins. */
#define SCRATCH         0
#define ARENA           (64u << 10)

enum { CMD_CMD, CMD_MEM, CMD_LIST, CMD_DOORBELL, CMD_TIME, CMD_POST, CMD_COUNT };

static Model m;

static uint64_t at(uint32_t off)
{
    return m.h.env.base + off % FUZZ_MEM;
}

static void settle(void)
{
    fuzz_settle(&m.h, RUNS);
    fake_lose_trains(&m.h.env);
}

/* ---- commands --------------------------------------------------------- */

/* Make a number of the input name something that exists, if @yes. */
static void relocate(const ModelField *field, uint8_t *p, bool yes)
{
    ModelObject *o;

    if (!yes) {
        return;
    }
    if (field->kind == MODEL_NONE) {
        stq_le_p(p, at(ldl_le_p(p)));
    } else if (ldl_le_p(p) != UINT32_MAX) {
        o = model_pick(&m, field->kind, ldl_le_p(p));
        stl_le_p(p, o ? o->handle : 0);
    }
}

static void inner(struct ernic_cmd *cmd, const ModelCmd *row, FuzzIn *in,
                  uint16_t hints)
{
    uint8_t *p = m.h.env.mem + SCRATCH;

    fuzz_bytes(in, p, row->inner_len);
    for (uint32_t i = 0; i < row->inners; i++) {
        relocate(&row->inner[i], p + row->inner[i].offset,
                 !(hints & 0x100 << i));
    }
    cmd->qp.addr = cpu_to_le64(at(SCRATCH));
    if (!(hints & 0x80)) {
        cmd->qp.length = cpu_to_le32(row->inner_len);
    }
}

/* The longest lists take their time; the budget has a unit test. */
static void shorten(struct ernic_cmd *cmd)
{
    if (cmd->opcode == ERNIC_CMD_MR_REG ||
        cmd->opcode == ERNIC_CMD_MR_REREG) {
        cmd->mr_reg.buf.npages &= cpu_to_le32(0xffff);
    } else if (cmd->opcode == ERNIC_CMD_CQ_CREATE ||
               cmd->opcode == ERNIC_CMD_CQ_RESIZE) {
        cmd->cq_create.buf.npages &= cpu_to_le32(0xffff);
    } else if (cmd->opcode == ERNIC_CMD_EQ_CREATE) {
        cmd->eq_create.buf.npages &= cpu_to_le32(0xffff);
    }
}

static void do_cmd(FuzzIn *in)
{
    struct ernic_cmd cmd = { .opcode = fuzz_u8(in) };
    uint8_t uctx = fuzz_u8(in);
    uint16_t hints = fuzz_u16(in);
    const ModelCmd *row;
    ModelObject *o;

    cmd.tag = cpu_to_le16(0x1234);
    o = uctx & 1 ? model_pick(&m, MODEL_UCTX, uctx >> 1) : NULL;
    cmd.uctx = cpu_to_le32(o ? o->handle : uctx & 0x80 ? uctx : 0);
    if (cmd.opcode < ERNIC_CMD_COUNT) {
        row = &model_cmds[cmd.opcode];
        if (!row->inner_len) {
            fuzz_bytes(in, cmd.raw, sizeof(cmd.raw));
        } else {
            cmd.qp.handle = cpu_to_le32(fuzz_u8(in));
            inner(&cmd, row, in, hints);
        }
        for (uint32_t i = 0; i < row->fields; i++) {
            relocate(&row->field[i], cmd.raw + row->field[i].offset,
                     !(hints & 1 << i));
        }
    } else {
        fuzz_bytes(in, cmd.raw, sizeof(cmd.raw));
    }
    shorten(&cmd);
    model_cmd(&m, &cmd, NULL);
    settle();
}

/* ---- memory and doorbells --------------------------------------------- */

static void do_mem(FuzzIn *in)
{
    uint32_t off = fuzz_u32(in) % FUZZ_MEM;

    fuzz_bytes(in, m.h.env.mem + off, MIN(in->left, FUZZ_MEM - off));
}

static void do_list(FuzzIn *in)
{
    uint32_t off = fuzz_u32(in) % FUZZ_MEM / 8 * 8;
    uint32_t n = fuzz_u16(in) % 2048, first = fuzz_u8(in), step = fuzz_u8(in);

    for (uint32_t i = 0; i < n && off + 8 * i <= FUZZ_MEM - 8; i++) {
        stq_le_p(m.h.env.mem + off + 8 * i, at((first + i * step) * 4096));
    }
}

static void do_doorbell(FuzzIn *in)
{
    static const uint8_t kinds[ERNIC_DB_KIND_COUNT] = {
        [ERNIC_DB_SQ] = MODEL_QP, [ERNIC_DB_RQ] = MODEL_QP,
        [ERNIC_DB_SRQ] = MODEL_SRQ, [ERNIC_DB_CQ] = MODEL_CQ,
        [ERNIC_DB_CQ_ARM] = MODEL_CQ, [ERNIC_DB_CQ_ARM_SOLICITED] = MODEL_CQ,
        [ERNIC_DB_EQ] = MODEL_EQ,
    };
    uint8_t kind = fuzz_u8(in), how = fuzz_u8(in), n = fuzz_u8(in);
    uint32_t index = fuzz_u32(in), queue = n, uctx = how >> 4;
    ModelObject *o = NULL;

    if (kind < ERNIC_DB_KIND_COUNT && !(how & 1)) {
        o = model_pick(&m, kinds[kind], n);
    }
    if (o) {
        queue = o->handle;
        uctx = how & 2 ? uctx : o->uctx;
        index += kind == ERNIC_DB_SQ ? o->sq_pi :
                 kind == ERNIC_DB_RQ ? o->rq_pi : 0;
        if (kind == ERNIC_DB_CQ || kind == ERNIC_DB_CQ_ARM ||
            kind == ERNIC_DB_CQ_ARM_SOLICITED) {
            index = m.h.e->cq[queue].pi - (index & 0xff);
        } else if (kind == ERNIC_DB_EQ) {
            index = m.h.e->eq[queue].pi - (index & 0xff);
        } else if (kind == ERNIC_DB_SRQ) {
            index += m.h.e->srq[queue].wq.pi;
        }
    }
    model_doorbell(&m, uctx, ERNIC_DB(kind, queue, index));
    settle();
}

/* ---- requests --------------------------------------------------------- */

static void write_ring(const ErnicWq *wq, uint32_t index, const void *data,
                       uint32_t len)
{
    uint64_t off = (uint64_t)(index & (wq->depth - 1)) * wq->stride, run;
    uint64_t addr = ernic_buf_addr(&wq->buf, off, &run) - m.h.env.base;

    len = MIN(len, wq->stride);
    if (addr < FUZZ_MEM && len <= FUZZ_MEM - addr && len <= run) {
        memcpy(m.h.env.mem + addr, data, len);
    }
}

/* A request that may well be right, into the ring, with its doorbell. */
static void do_post(FuzzIn *in)
{
    ModelObject *o = model_pick(&m, MODEL_QP, fuzz_u8(in));
    bool send = fuzz_u8(in) & 1;
    uint8_t op = fuzz_u8(in), flags = fuzz_u8(in);
    ModelObject *local = model_pick(&m, MODEL_MR, fuzz_u8(in));
    ModelObject *remote = model_pick(&m, MODEL_MR, fuzz_u8(in));
    uint32_t off = fuzz_u32(in), len = fuzz_u32(in);
    struct {
        struct ernic_wqe head;
        struct ernic_sge sge;
    } s = { .head = { .opcode = op, .flags = flags } };
    struct {
        struct ernic_rwqe head;
        struct ernic_sge sge;
    } r = { .head = { .num_sge = cpu_to_le16(1) } };
    const ErnicMr *mr;
    ErnicQp *qp;

    if (!o || !local || !remote) {
        return;
    }
    qp = &m.h.e->qp[o->handle];
    mr = &m.h.e->mr[local->handle >> 8];
    s.sge = r.sge = fake_sge(mr->iova + (off & 0xfff), len, local->handle);
    mr = &m.h.e->mr[remote->handle >> 8];
    s.head.count = cpu_to_le16(1);
    if (qp->transport == ERNIC_UD) {
        s.head.ud.qkey = cpu_to_le32(qp->attr.qkey);
        s.head.ud.dest_qpn = cpu_to_le32(o->handle);
        fake_gid(s.head.ud.av.dgid, off >> 31 ? 2 : 1);
    } else if (fuzz_names_memory(op)) {
        s.head.rdma.raddr = cpu_to_le64(mr->iova + (off >> 16));
        s.head.rdma.rkey = cpu_to_le32(remote->handle);
    }
    fuzz_bytes(in, s.head.raw, MIN(in->left, sizeof(s.head.raw)));
    if (send) {
        write_ring(&qp->sq.wq, o->sq_pi, &s, sizeof(s));
    } else if (!o->srq) {
        write_ring(&qp->rq.wq, o->rq_pi, &r, sizeof(r));
    }
    model_doorbell(&m, o->uctx, ERNIC_DB(send ? ERNIC_DB_SQ : ERNIC_DB_RQ,
                                         o->handle,
                                         1 + (send ? o->sq_pi : o->rq_pi)));
    settle();
}

/* ---- what is there at the beginning ----------------------------------- */

static uint32_t arena;

static uint64_t take(uint32_t bytes)
{
    uint64_t addr = at(arena);

    arena += ROUND_UP(bytes, 4096);
    return addr;
}

static uint32_t must(struct ernic_cmd *cmd, uint32_t uctx)
{
    uint32_t handle;
    uint8_t status;

    cmd->uctx = cpu_to_le32(uctx);
    status = model_cmd(&m, cmd, &handle);
    g_assert_cmpuint(status, ==, ERNIC_OK);
    memset(cmd, 0, sizeof(*cmd));
    return handle;
}

static void pass(struct ernic_cmd *cmd, const void *data, uint32_t len)
{
    memcpy(m.h.env.mem + SCRATCH, data, len);
    cmd->qp.addr = cpu_to_le64(at(SCRATCH));
    cmd->qp.length = cpu_to_le32(len);
}

/* A queue pair connected to @peer of this very device, or in Reset. */
static void setup_qp(uint32_t uctx, uint8_t type, uint32_t pd, uint32_t cq,
                     uint32_t peer)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };
    struct ernic_qp_init init = {
        .type = type, .pd = cpu_to_le32(pd), .send_cq = cpu_to_le32(cq),
        .recv_cq = cpu_to_le32(cq), .srq = cpu_to_le32(FAKE_NONE),
        .sq_depth = cpu_to_le32(8), .rq_depth = cpu_to_le32(8),
        .sq_stride = 2, .rq_stride = 1,
    };
    struct ernic_qp_attr attr;
    uint32_t qpn, s;

    init.sq_buf.addr = cpu_to_le64(take(8 * 128));
    init.rq_buf.addr = cpu_to_le64(take(8 * 64));
    pass(&cmd, &init, sizeof(init));
    qpn = must(&cmd, uctx);
    for (s = ERNIC_QPS_INIT; peer && s <= ERNIC_QPS_RTS; s++) {
        fake_qp_attr(&attr, peer, 1);
        attr.mask = cpu_to_le32(fake_qp_mask(type, s));
        attr.state = s;
        cmd.opcode = ERNIC_CMD_QP_MODIFY;
        cmd.qp.handle = cpu_to_le32(qpn);
        pass(&cmd, &attr, sizeof(attr));
        cmd.qp.handle = cpu_to_le32(qpn);
        must(&cmd, uctx);
    }
}

static void setup_context(uint32_t uctx, uint32_t eq)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    uint32_t pd = must(&cmd, uctx), cq, first, i;

    cmd.opcode = ERNIC_CMD_CQ_CREATE;
    cmd.cq_create.buf.addr = cpu_to_le64(take(64 * 64));
    cmd.cq_create.depth = cpu_to_le32(64);
    cmd.cq_create.eq = cpu_to_le32(eq);
    cq = must(&cmd, uctx);
    for (i = 0; i < 2; i++) {
        cmd.opcode = ERNIC_CMD_MR_REG;
        cmd.mr_reg.buf.addr = cpu_to_le64(take(8192));
        cmd.mr_reg.iova = cmd.mr_reg.buf.addr;
        cmd.mr_reg.length = cpu_to_le64(5000);
        cmd.mr_reg.pd = cpu_to_le32(pd);
        cmd.mr_reg.access = cpu_to_le32(i ? ERNIC_ACCESS_LOCAL_WRITE : 0x1f);
        must(&cmd, uctx);
    }
    first = uctx ? 6 : 2;
    setup_qp(uctx, ERNIC_QPT_RC, pd, cq, first + 1);
    setup_qp(uctx, ERNIC_QPT_RC, pd, cq, first);
    setup_qp(uctx, ERNIC_QPT_UC, pd, cq, first + 2);
    setup_qp(uctx, ERNIC_QPT_UD, pd, cq, 1);
}

static void setup(void)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_EQ_CREATE };
    uint32_t eq, uctx;

    model_open(&m);
    arena = ARENA;
    cmd.eq_create.buf.addr = cpu_to_le64(take(8 * 32));
    cmd.eq_create.depth = cpu_to_le32(8);
    cmd.eq_create.async = 1;
    eq = must(&cmd, 0);
    cmd.opcode = ERNIC_CMD_UCTX_ALLOC;
    uctx = must(&cmd, 0);
    setup_context(0, eq);
    setup_context(uctx, eq);
    model_begin(&m);
}

static void do_time(FuzzIn *in)
{
    fuzz_pass(&m.h, fuzz_ns(in), 16);
}

static void check(void)
{
    fuzz_check(&m.h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FuzzStep *const steps[] = {
        [CMD_CMD] = do_cmd, [CMD_MEM] = do_mem, [CMD_LIST] = do_list,
        [CMD_DOORBELL] = do_doorbell, [CMD_TIME] = do_time, [CMD_POST] = do_post,
    };

    setup();
    fuzz_records(data, size, MAX_RECORDS, steps, ARRAY_SIZE(steps), check);
    model_close(&m);
    return 0;
}

/* ---- input that means something --------------------------------------- */

static void put_buf(FuzzRng *rng, FuzzOut *out)
{
    uint8_t levels = fuzz_rand(rng, 3);

    fuzz_put(out, 8, fuzz_rand(rng, 128) * 4096);
    fuzz_put(out, 4, levels ? 1 + fuzz_rand(rng, 16) : 0);
    fuzz_put(out, 1, levels ? 12 + fuzz_rand(rng, 2) : 0, levels);
    fuzz_put(out, 2, 0);
}

static void make_init(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, 0);
    put_buf(rng, out);
    put_buf(rng, out);
    fuzz_put(out, 4, fuzz_rand(rng, 4), fuzz_rand(rng, 4), fuzz_rand(rng, 4),
             fuzz_rand(rng, 3) ? FAKE_NONE : 0, 1u << fuzz_rand(rng, 6),
             1u << fuzz_rand(rng, 6));
    fuzz_put(out, 1, fuzz_rand(rng, ERNIC_QPT_COUNT), fuzz_rand(rng, 2),
             1 + fuzz_rand(rng, 9), 1 + fuzz_rand(rng, 5));
    fuzz_put(out, 4, 0);
}

static void make_attr(FuzzRng *rng, FuzzOut *out)
{
    uint8_t type = fuzz_rand(rng, ERNIC_QPT_COUNT);
    uint8_t state = fuzz_rand(rng, ERNIC_QPS_COUNT);
    struct ernic_qp_attr attr;

    fake_qp_attr(&attr, 2 + fuzz_rand(rng, 8), 1);
    attr.mask = cpu_to_le32(fake_qp_mask(type, state) ^
                            (fuzz_rand(rng, 4) ? 0 :
                             1u << fuzz_rand(rng, ERNIC_QPA_COUNT)));
    attr.state = state;
    fuzz_put(out, 1, fuzz_rand(rng, 12));
    for (uint32_t i = 0; i < sizeof(attr); i++) {
        fuzz_put(out, 1, ((uint8_t *)&attr)[i]);
    }
}

/* Few layers, so that it fits; often of anything. */
static void make_rule(FuzzRng *rng, FuzzOut *out)
{
    uint8_t layers = fuzz_rand(rng, 2) ? 0 : fuzz_rand(rng, 32);

    fuzz_put(out, 1, 0);
    fuzz_put(out, 4, fuzz_rand(rng, 8));
    fuzz_put(out, 2, fuzz_rand(rng, 4), layers);
    fuzz_put_bytes(out, rng, sizeof(struct ernic_flow_key), 1000, 1);
    for (uint32_t i = 0; i < sizeof(struct ernic_flow_key); i++) {
        fuzz_put(out, 1, fuzz_rand(rng, 60) ? 0 : 0xff);
    }
}

/* Over one queue, or two. */
static void make_rss(FuzzRng *rng, FuzzOut *out)
{
    uint32_t shift = fuzz_rand(rng, 2);

    fuzz_put(out, 1, 0);
    fuzz_put(out, 4, 1 + fuzz_rand(rng, ERNIC_HASH_FIELDS), shift);
    fuzz_put_bytes(out, rng, ERNIC_RSS_KEY, 1, 0);
    fuzz_put(out, 4, fuzz_rand(rng, 8), shift ? fuzz_rand(rng, 8) : 0);
}

static void make_cmd(FuzzRng *rng, FuzzOut *out)
{
    uint8_t op = fuzz_rand(rng, ERNIC_CMD_COUNT);

    fuzz_put(out, 1, op, fuzz_rand(rng, 2) ? 0 : fuzz_rand(rng, 4));
    fuzz_put(out, 2, fuzz_rand(rng, 6) ? 0 : fuzz_rand(rng, 0x10000));
    switch (op) {
    case ERNIC_CMD_QP_CREATE:
        make_init(rng, out);
        return;
    case ERNIC_CMD_QP_MODIFY:
        make_attr(rng, out);
        return;
    case ERNIC_CMD_FLOW_CREATE:
        make_rule(rng, out);
        return;
    case ERNIC_CMD_RSS_CREATE:
        make_rss(rng, out);
        return;
    case ERNIC_CMD_EQ_CREATE:
        put_buf(rng, out);
        fuzz_put(out, 4, 2u << fuzz_rand(rng, 5));
        break;
    case ERNIC_CMD_CQ_CREATE:
    case ERNIC_CMD_CQ_RESIZE:
        put_buf(rng, out);
        fuzz_put(out, 8,
                 op == ERNIC_CMD_CQ_RESIZE ? 0 : 4 * fuzz_rand(rng, 4096));
        fuzz_put(out, 4, 2u << fuzz_rand(rng, 8),
                 op == ERNIC_CMD_CQ_RESIZE ? 0 : FAKE_NONE,
                 op == ERNIC_CMD_CQ_RESIZE ? fuzz_rand(rng, 4) : 0);
        break;
    case ERNIC_CMD_SRQ_CREATE:
        put_buf(rng, out);
        fuzz_put(out, 4, 0, fuzz_rand(rng, 3), 1u << fuzz_rand(rng, 6),
                 fuzz_rand(rng, 2));
        fuzz_put(out, 2, 1 + fuzz_rand(rng, 5));
        break;
    case ERNIC_CMD_MR_REG:
        put_buf(rng, out);
        fuzz_put(out, 8, fuzz_rand(rng, 8) * 4096, fuzz_rand(rng, 16384));
        fuzz_put(out, 4, fuzz_rand(rng, 3), fuzz_rand(rng, 64),
                 fuzz_rand(rng, 2) ? 0 : fuzz_rand(rng, 4096));
        break;
    case ERNIC_CMD_MR_ALLOC:
    case ERNIC_CMD_MW_ALLOC:
        fuzz_put(out, 4, fuzz_rand(rng, 3));
        fuzz_put(out, 1, 1 + fuzz_rand(rng, 2));
        break;
    default:
        fuzz_put(out, 4, fuzz_rand(rng, 16), 0, fuzz_rand(rng, 128),
                 fuzz_rand(rng, 8));
        break;
    }
}

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, 2) ? CMD_CMD : fuzz_rand(rng, CMD_COUNT);

    switch (kind) {
    case CMD_CMD:
        make_cmd(rng, out);
        break;
    case CMD_LIST:
        fuzz_put(out, 4, fuzz_rand(rng, 128) * 4096);
        fuzz_put(out, 2, fuzz_rand(rng, 64));
        fuzz_put(out, 1, fuzz_rand(rng, 128), fuzz_rand(rng, 4));
        break;
    case CMD_POST:
        fuzz_put(out, 1, fuzz_rand(rng, 8), fuzz_rand(rng, 2),
                 fuzz_rand(rng, ERNIC_WR_COUNT), fuzz_rand(rng, 16),
                 fuzz_rand(rng, 4), fuzz_rand(rng, 4));
        fuzz_put(out, 4, 0, fuzz_rand(rng, 5000));
        break;
    default:
        fuzz_put_bytes(out, rng, 8, 3, 8);
        break;
    }
    return kind;
}
