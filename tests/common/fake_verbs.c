/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest software for tests: commands, objects and time. Rings and requests
 * are in fake_wr.c.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "state/check.h"
#include "transport/qp_transitions.h"
#include "fake_verbs.h"

/* Runs after which an engine that still wants to run is in a loop. */
#define RUN_LIMIT       1000000

static uint8_t cmd_as(Ernic *e, uint32_t uctx, struct ernic_cmd *cmd,
                      struct ernic_rsp *rsp)
{
    FakeEnv *env = fake_env_of(e);
    struct ernic_rsp own;

    rsp = rsp ? rsp : &own;
    memset(rsp, 0xa5, sizeof(*rsp));
    cmd->tag = cpu_to_le16(0x1234);
    cmd->uctx = cpu_to_le32(uctx);
    do {
        ernic_slice(e);
    } while (!ernic_cmd(e, env->now, cmd, rsp));
    g_assert_cmpuint(le16_to_cpu(rsp->tag), ==, 0x1234);
    g_assert_cmpuint(rsp->status, <, ERNIC_STATUS_COUNT);
    return rsp->status;
}

uint8_t fake_cmd(Ernic *e, struct ernic_cmd *cmd, struct ernic_rsp *rsp)
{
    return cmd_as(e, fake_env_of(e)->uctx, cmd, rsp);
}

uint32_t fake_make(Ernic *e, struct ernic_cmd *cmd)
{
    struct ernic_rsp rsp;

    g_assert_cmpuint(fake_cmd(e, cmd, &rsp), ==, ERNIC_OK);
    return le32_to_cpu(rsp.handle);
}

uint8_t fake_destroy(Ernic *e, uint8_t opcode, uint32_t handle)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    cmd.handle.handle = cpu_to_le32(handle);
    return fake_cmd(e, &cmd, NULL);
}

void fake_check(const Ernic *e)
{
    g_autoptr(GString) why = g_string_new(NULL);

    ernic_check(e, why);
    g_assert_cmpstr(why->str, ==, "");
}

GByteArray *fake_saved(const Ernic *e)
{
    GByteArray *state = ernic_save_new(e);
    void *room = state->data;

    ernic_save(e, state);
    g_assert_true(state->data == room);
    g_assert_cmpuint(state->len, <=, ernic_save_most(e));
    return state;
}

void fake_state_is(const Ernic *e, const GByteArray *want)
{
    g_autoptr(GByteArray) is = fake_saved(e);

    g_assert_cmpmem(is->data, is->len, want->data, want->len);
}

void fake_take_over(Ernic **e)
{
    g_autoptr(GByteArray) state = fake_saved(*e);
    g_autoptr(GString) why = g_string_new(NULL);
    Ernic *other = ernic_new(&(*e)->cfg, (*e)->ops, (*e)->env), *to;
    uint64_t now = fake_env_of(*e)->now;
    bool loaded;

    g_assert_false(ernic_load(other, now, state->data, state->len - 1));
    ernic_free(other);
    to = ernic_new(&(*e)->cfg, (*e)->ops, (*e)->env);
    loaded = ernic_load_why(to, now, state->data, state->len, why);
    g_assert_cmpstr(why->str, ==, "");
    g_assert_true(loaded);
    fake_state_is(to, state);
    ernic_free(*e);
    *e = to;
}

void fake_ernic_done(FakeEnv *env, Ernic *e)
{
    fake_check(e);
    ernic_free(e);
    fake_env_fini(env);
}

Ernic *fake_ernic_new(FakeEnv *env)
{
    return fake_ernic_timed(env, NULL);
}

Ernic *fake_ernic_timed(FakeEnv *env, const ErnicProfile *timing)
{
    return fake_ernic_traced(env, timing, NULL);
}

Ernic *fake_ernic_traced(FakeEnv *env, const ErnicProfile *timing,
                         const ErnicTimingTrace *trace)
{
    Ernic *e = FAKE_ERNIC(env, cfg.timing = timing; cfg.timing_trace = trace);

    fake_use_records(e, g_getenv("ERNIC_FAKE_RECORDS"));
    ernic_set_link(e, env->now, true);
    fake_set_gid(e, 0, 1);
    return e;
}

void fake_gid(uint8_t gid[16], uint8_t host)
{
    static const uint8_t net[15] = { [10] = 0xff, [11] = 0xff, [12] = 10 };

    memcpy(gid, net, sizeof(net));
    gid[15] = host;
}

void fake_set_gid(Ernic *e, uint8_t index, uint8_t host)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };

    fake_gid(cmd.set_gid.gid, host);
    cmd.set_gid.mac[0] = 2;
    cmd.set_gid.mac[5] = host;
    cmd.set_gid.vlan = cpu_to_le16(0xffff);
    cmd.set_gid.index = index;
    g_assert_cmpuint(cmd_as(e, 0, &cmd, NULL), ==, ERNIC_OK);
}

/* ---- time --------------------------------------------------------------- */

void fake_tx_ready(Ernic *e)
{
    FakeEnv *env = fake_env_of(e);

    env->tx_busy = false;
    ernic_tx_ready(e, env->now);
}

void fake_run(Ernic *e)
{
    FakeEnv *env = fake_env_of(e);
    unsigned runs = 0;

    do {
        env->wake = UINT64_MAX;
        ernic_run(e, env->now);
        g_assert_cmpuint(++runs, <, RUN_LIMIT);
    } while (env->wake <= env->now);
}

void fake_advance(Ernic *e, uint64_t ns)
{
    FakeEnv *env = fake_env_of(e);
    uint64_t end = env->now + ns;

    fake_run(e);
    while (env->wake <= end) {
        env->now = env->wake;
        fake_run(e);
    }
    env->now = end;
}

uint32_t fake_deliver(Ernic *a, Ernic *b)
{
    FakeEnv *to = fake_env_of(b);
    uint32_t count = 0;
    FakeTrain *train;

    while ((train = fake_take_train(fake_env_of(a)))) {
        ernic_rx(b, to->now, &train->train);
        fake_train_free(train);
        fake_run(b);
        count++;
    }
    return count;
}

/* ---- objects ------------------------------------------------------------ */

uint32_t fake_create_uctx(Ernic *e)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_UCTX_ALLOC };
    struct ernic_rsp rsp;

    g_assert_cmpuint(cmd_as(e, 0, &cmd, &rsp), ==, ERNIC_OK);
    return le32_to_cpu(rsp.handle);
}

uint32_t fake_create_pd(Ernic *e)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };

    return fake_make(e, &cmd);
}

static struct ernic_buf_desc extent(Ernic *e, uint64_t bytes, uint64_t *buf)
{
    struct ernic_buf_desc desc = { };

    *buf = fake_alloc(fake_env_of(e), bytes, 4096);
    desc.addr = cpu_to_le64(*buf);
    return desc;
}

void fake_create_eq(Ernic *e, FakeEq *eq, uint32_t depth, uint16_t vector, bool async)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_EQ_CREATE };

    *eq = (FakeEq) { .depth = depth };
    cmd.eq_create.buf = extent(e, depth * sizeof(struct ernic_eqe), &eq->buf);
    cmd.eq_create.depth = cpu_to_le32(depth);
    cmd.eq_create.vector = cpu_to_le16(vector);
    cmd.eq_create.async = async;
    eq->eqn = fake_make(e, &cmd);
}

void fake_create_cq(Ernic *e, FakeCq *cq, uint32_t depth, uint32_t eqn)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_CREATE };

    *cq = (FakeCq) { .depth = depth };
    cmd.cq_create.buf = extent(e, depth * sizeof(struct ernic_cqe), &cq->buf);
    cmd.cq_create.depth = cpu_to_le32(depth);
    cmd.cq_create.eq = cpu_to_le32(eqn);
    cq->cqn = fake_make(e, &cmd);
}

void fake_use_records(Ernic *e, bool on)
{
    fake_env_of(e)->records = on && !e->timing;
}

/* A record, if queues have them; or 0. */
static uint64_t new_record(Ernic *e)
{
    return fake_env_of(e)->records ?
           fake_alloc(fake_env_of(e), sizeof(struct ernic_record), 8) : 0;
}

static void create_srq(Ernic *e, FakeSrq *srq, uint32_t pd, uint32_t depth,
                       uint32_t limit, uint32_t xrcd, uint32_t cqn)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_CREATE };

    *srq = (FakeSrq) { .depth = depth, .stride = 64 * ERNIC_RQ_STRIDE_MAX };
    cmd.srq.buf = extent(e, (uint64_t)depth * srq->stride, &srq->buf);
    cmd.srq.pd = cpu_to_le32(pd);
    cmd.srq.depth = cpu_to_le32(depth);
    cmd.srq.limit = cpu_to_le32(limit);
    cmd.srq.stride = cpu_to_le16(ERNIC_RQ_STRIDE_MAX);
    cmd.srq.xrcd = cpu_to_le32(xrcd);
    cmd.srq.cq = cpu_to_le32(cqn);
    srq->record = new_record(e);
    cmd.srq.record = cpu_to_le64(srq->record);
    srq->srqn = fake_make(e, &cmd);
}

void fake_create_srq(Ernic *e, FakeSrq *srq, uint32_t pd, uint32_t depth, uint32_t limit)
{
    create_srq(e, srq, pd, depth, limit, 0, 0);
}

void fake_create_xrc_srq(Ernic *e, FakeSrq *srq, uint32_t pd, uint32_t depth,
                         uint32_t xrcd, uint32_t cqn)
{
    create_srq(e, srq, pd, depth, 0, xrcd, cqn);
}

uint32_t fake_reg_mr(Ernic *e, uint32_t pd, uint64_t addr, uint64_t len, uint32_t access)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };
    bool zero_based = access & ERNIC_ACCESS_ZERO_BASED;

    cmd.mr_reg.buf.addr = cpu_to_le64(addr);
    cmd.mr_reg.iova = cpu_to_le64(zero_based ? 0 : addr);
    cmd.mr_reg.length = cpu_to_le64(len);
    cmd.mr_reg.pd = cpu_to_le32(pd);
    cmd.mr_reg.access = cpu_to_le32(access);
    return fake_make(e, &cmd);
}

struct ernic_cmd fake_reg_list(uint32_t pd, uint64_t list, uint32_t npages,
                               uint8_t levels)
{
    struct ernic_cmd cmd;

    /* Its end is reserved, and beyond the members that an initializer names. */
    memset(&cmd, 0, sizeof(cmd));
    cmd.opcode = ERNIC_CMD_MR_REG;
    cmd.mr_reg.buf.addr = cpu_to_le64(list);
    cmd.mr_reg.buf.npages = cpu_to_le32(npages);
    cmd.mr_reg.buf.page_shift = 12;
    cmd.mr_reg.buf.levels = levels;
    cmd.mr_reg.length = cpu_to_le64((uint64_t)npages << 12);
    cmd.mr_reg.pd = cpu_to_le32(pd);
    return cmd;
}

uint32_t fake_reg_demand(Ernic *e, uint32_t pd, uint64_t iova, uint64_t len,
                         uint32_t access)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };

    cmd.mr_reg.buf.page_shift = 12;
    cmd.mr_reg.iova = cpu_to_le64(iova);
    cmd.mr_reg.offset = cpu_to_le32(iova % 4096);
    cmd.mr_reg.length = cpu_to_le64(len);
    cmd.mr_reg.pd = cpu_to_le32(pd);
    cmd.mr_reg.access = cpu_to_le32(access | ERNIC_ACCESS_ON_DEMAND);
    return fake_make(e, &cmd);
}

uint8_t fake_set_pages(Ernic *e, uint32_t key, uint64_t first, uint32_t n,
                       uint64_t addr, uint32_t flags)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_PAGES };
    FakeEnv *env = fake_env_of(e);
    uint64_t list = fake_alloc(env, n * 8, 8);

    for (uint32_t i = 0; i < n; i++) {
        fake_put64(env, list + i * 8, addr ? (addr + i * 4096) | flags : 0);
    }
    cmd.mr_pages.list = cpu_to_le64(addr ? list : 0);
    cmd.mr_pages.first = cpu_to_le64(first);
    cmd.mr_pages.npages = cpu_to_le64(n);
    cmd.mr_pages.key = cpu_to_le32(key);
    return fake_cmd(e, &cmd, NULL);
}

void fake_page_resume(Ernic *e, const struct ernic_eqe *eqe, bool failed)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PAGE_RESUME };

    cmd.page_resume.qpn = cpu_to_le32(eqe->element);
    cmd.page_resume.key = cpu_to_le32(eqe->detail);
    cmd.page_resume.offset = cpu_to_le64(eqe->offset);
    cmd.page_resume.failed = failed;
    fake_make(e, &cmd);
    fake_run(e);
}

uint32_t fake_alloc_mr(Ernic *e, uint32_t pd, uint32_t max_pages)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_ALLOC };

    cmd.mr_alloc.pd = cpu_to_le32(pd);
    cmd.mr_alloc.max_pages = cpu_to_le32(max_pages);
    return fake_make(e, &cmd);
}

uint32_t fake_alloc_mw(Ernic *e, uint32_t pd, uint8_t type)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MW_ALLOC };

    cmd.mw_alloc.pd = cpu_to_le32(pd);
    cmd.mw_alloc.type = type;
    return fake_make(e, &cmd);
}

/* ---- queue pairs -------------------------------------------------------- */

uint8_t fake_pass(Ernic *e, uint8_t opcode, uint32_t handle, const void *data,
                  uint32_t len, uint32_t *made)
{
    FakeEnv *env = fake_env_of(e);
    struct ernic_cmd cmd = { .opcode = opcode };
    struct ernic_rsp rsp;
    uint8_t status;

    g_assert_cmpuint(len, <=, FAKE_SCRATCH);
    memcpy(fake_ptr(env, env->base, len), data, len);
    cmd.qp.addr = cpu_to_le64(env->base);
    cmd.qp.length = cpu_to_le32(len);
    cmd.qp.handle = cpu_to_le32(handle);
    status = fake_cmd(e, &cmd, &rsp);
    if (made) {
        *made = le32_to_cpu(rsp.handle);
    }
    return status;
}

const void *fake_query(Ernic *e, uint8_t opcode, uint32_t handle, uint32_t len)
{
    FakeEnv *env = fake_env_of(e);
    struct ernic_cmd cmd = { .opcode = opcode };

    cmd.query.addr = cpu_to_le64(env->base);
    cmd.query.length = cpu_to_le32(len);
    cmd.query.handle = cpu_to_le32(handle);
    g_assert_cmpuint(fake_cmd(e, &cmd, NULL), ==, ERNIC_OK);
    return fake_ptr(env, env->base, len);
}

uint8_t fake_mcast(Ernic *e, uint8_t opcode, const uint8_t gid[16], uint32_t qpn)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    memcpy(cmd.mcast.gid, gid, sizeof(cmd.mcast.gid));
    cmd.mcast.qpn = cpu_to_le32(qpn);
    return fake_cmd(e, &cmd, NULL);
}

static void make_qp(Ernic *e, FakeQp *qp, const struct ernic_qp_init *init)
{
    g_assert_cmpuint(fake_pass(e, ERNIC_CMD_QP_CREATE, 0, init, sizeof(*init), &qp->qpn),
                     ==, ERNIC_OK);
}

static void create_qp(Ernic *e, FakeQp *qp, uint8_t type, uint32_t pd, uint32_t send_cqn,
                      uint32_t recv_cqn, uint32_t srqn, uint32_t sq_depth)
{
    bool rq = srqn == FAKE_NONE && type != ERNIC_QPT_XRC_INI;
    bool sq = type != ERNIC_QPT_RWQ;
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(pd),
        .send_cq = cpu_to_le32(sq ? send_cqn : 0),
        .recv_cq = cpu_to_le32(recv_cqn),
        .srq = cpu_to_le32(srqn),
        .type = type,
        .sq_stride = sq ? ERNIC_SQ_STRIDE_MAX : 0,
        .rq_stride = rq ? ERNIC_RQ_STRIDE_MAX : 0,
    };

    *qp = (FakeQp) {
        .pd = pd,
        .type = type,
        .sq_depth = sq ? sq_depth : 0,
        .rq_depth = rq ? 64 : 0,
        .sq_stride = 64 * ERNIC_SQ_STRIDE_MAX,
        .rq_stride = 64 * ERNIC_RQ_STRIDE_MAX,
    };
    init.sq_depth = cpu_to_le32(qp->sq_depth);
    init.rq_depth = cpu_to_le32(qp->rq_depth);
    if (qp->sq_depth) {
        qp->sq_record = new_record(e);
        init.sq_record = cpu_to_le64(qp->sq_record);
        init.sq_buf = extent(e, qp->sq_depth * qp->sq_stride, &qp->sq_buf);
    }
    if (qp->rq_depth) {
        qp->rq_record = new_record(e);
        init.rq_record = cpu_to_le64(qp->rq_record);
        init.rq_buf = extent(e, qp->rq_depth * qp->rq_stride, &qp->rq_buf);
    }
    make_qp(e, qp, &init);
}

void fake_create_qp(Ernic *e, FakeQp *qp, uint8_t type, uint32_t pd,
                    uint32_t send_cqn, uint32_t recv_cqn, uint32_t srqn)
{
    create_qp(e, qp, type, pd, send_cqn, recv_cqn, srqn, 64);
}

void fake_create_xrc_tgt(Ernic *e, FakeQp *qp, uint32_t xrcd)
{
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(xrcd), .srq = cpu_to_le32(FAKE_NONE),
        .type = ERNIC_QPT_XRC_TGT,
    };

    *qp = (FakeQp) { .pd = xrcd, .type = ERNIC_QPT_XRC_TGT };
    make_qp(e, qp, &init);
}

void fake_create_deep_qp(Ernic *e, FakeQp *qp, uint8_t type, uint32_t pd,
                         uint32_t send_cqn, uint32_t recv_cqn, uint32_t sq_depth)
{
    create_qp(e, qp, type, pd, send_cqn, recv_cqn, FAKE_NONE, sq_depth);
}

uint32_t fake_qp_mask(uint8_t type, uint8_t state)
{
    uint32_t required = 0, optional;

    ernic_qp_edge(type, state - 1, state, &required, &optional);
    return ERNIC_QPA_STATE | required;
}

void fake_qp_attr(struct ernic_qp_attr *attr, uint32_t dest_qpn, uint8_t host)
{
    *attr = (struct ernic_qp_attr) {
        .path_mtu = 3,
        .access = cpu_to_le32(ERNIC_ACCESS_QP),
        .qkey = cpu_to_le32(0x11111111),
        .dest_qpn = cpu_to_le32(dest_qpn),
        .port = 1,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .min_rnr_timer = 12,
        .max_rd_atomic = ERNIC_MAX_RD_ATOMIC,
        .max_dest_rd_atomic = ERNIC_MAX_RD_ATOMIC,
        .av = { .dmac = { 2, 0, 0, 0, 0, host }, .hop_limit = 64 },
    };
    fake_gid(attr->av.dgid, host);
}

uint8_t fake_modify_qp(Ernic *e, uint32_t qpn, uint32_t mask, uint8_t state,
                       const struct ernic_qp_attr *attr)
{
    struct ernic_qp_attr copy = { };

    if (attr) {
        copy = *attr;
    }
    copy.mask = cpu_to_le32(mask);
    copy.state = state;
    return fake_pass(e, ERNIC_CMD_QP_MODIFY, qpn, &copy, sizeof(copy), NULL);
}

void fake_qp_to(Ernic *e, const FakeQp *qp, uint8_t state,
                const struct ernic_qp_attr *attr)
{
    for (uint8_t s = ERNIC_QPS_INIT; s <= state; s++) {
        g_assert_cmpuint(fake_modify_qp(e, qp->qpn, fake_qp_mask(qp->type, s), s, attr),
                         ==, ERNIC_OK);
    }
}

uint8_t fake_create_flow(Ernic *e, const struct ernic_flow_rule *rule, uint32_t *handle)
{
    return fake_pass(e, ERNIC_CMD_FLOW_CREATE, 0, rule, sizeof(*rule), handle);
}

uint8_t fake_create_rss(Ernic *e, const struct ernic_rss *rss, uint32_t *number)
{
    return fake_pass(e, ERNIC_CMD_RSS_CREATE, 0, rss, sizeof(*rss), number);
}

void fake_connect_mtu(Ernic *e, const FakeQp *qp, uint32_t dest_qpn, uint8_t host,
                      uint8_t mtu)
{
    struct ernic_qp_attr attr;

    fake_qp_attr(&attr, dest_qpn, host);
    attr.path_mtu = mtu ? mtu : attr.path_mtu;
    fake_qp_to(e, qp, ERNIC_QPS_RTS, &attr);
}

void fake_connect(Ernic *e, const FakeQp *qp, uint32_t dest_qpn, uint8_t host)
{
    fake_connect_mtu(e, qp, dest_qpn, host, 0);
}
