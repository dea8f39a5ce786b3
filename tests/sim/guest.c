/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A minimal guest driver: it creates objects by command. A command that must
 * succeed and fails is a finding.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/verbs/commands.h"
#include "wire/ib_tables.h"
#include "sim.h"

#define CMD_BUF     512
#define EQE_SIZE    sizeof(struct ernic_eqe)
#define CQE_SIZE    sizeof(struct ernic_cqe)
#define NONE        0xffffffffu

struct ernic_cmd sim_cmd_new(SimHost *h, uint8_t opcode)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    cmd.uctx = cpu_to_le32(h->uctx);
    return cmd;
}

struct ernic_cmd sim_cmd_data(SimHost *h, uint8_t opcode, uint32_t qpn,
                              const void *data, uint32_t len)
{
    struct ernic_cmd cmd = sim_cmd_new(h, opcode);

    memcpy(sim_mem(h, h->cmd_buf), data, len);
    cmd.qp.addr = cpu_to_le64(h->cmd_buf);
    cmd.qp.length = cpu_to_le32(len);
    cmd.qp.handle = cpu_to_le32(qpn);
    return cmd;
}

uint8_t sim_cmd(SimHost *h, struct ernic_cmd *cmd, struct ernic_rsp *rsp)
{
    struct ernic_rsp none;
    /* A command reports its own DMA errors; the unit tests cover them. */
    uint32_t fail = h->sim->plan.ring_fail;

    rsp = rsp ? rsp : &none;
    memset(rsp, 0xa5, sizeof(*rsp));
    cmd->tag = cpu_to_le16(h->sim->events);
    h->sim->plan.ring_fail = 0;
    do {
        ernic_slice(h->e);
    } while (!ernic_cmd(h->e, h->sim->now, cmd, rsp));
    h->sim->plan.ring_fail = fail;
    if (rsp->tag != cmd->tag || rsp->status >= ERNIC_STATUS_COUNT) {
        sim_fail(h->sim, "command", "host %u: command %u answers with tag %u, "
                 "status %u", h->id, cmd->opcode, le16_to_cpu(rsp->tag),
                 rsp->status);
    }
    sim_note(h->sim, (uint64_t)cmd->opcode << 32 | rsp->status);
    sim_checked(h);
    return rsp->status;
}

/* Returns the handle of what was made. */
uint32_t sim_cmd_ok(SimHost *h, struct ernic_cmd *cmd)
{
    struct ernic_rsp rsp;
    uint8_t status = sim_cmd(h, cmd, &rsp);

    if (status != ERNIC_OK) {
        sim_fail(h->sim, "command", "host %u: %s fails with status %u", h->id,
                 ernic_cmd_info(cmd->opcode)->name, status);
    }
    return le32_to_cpu(rsp.handle);
}

static struct ernic_buf_desc extent(uint64_t addr)
{
    return (struct ernic_buf_desc) { .addr = cpu_to_le64(addr) };
}

/* ---- memory -------------------------------------------------------------- */

/* A page list is in guest memory for the duration of the command only. */
static struct ernic_buf_desc page_list(SimMr *mr)
{
    SimHost *h = mr->host;
    uint32_t brk = h->mem.brk, tables = DIV_ROUND_UP(mr->npages, 512), i;
    uint64_t list = sim_mem_take(h, tables * SIM_PAGE, SIM_PAGE, SIM_SH_READ |
                                 SIM_SH_RING);
    struct ernic_buf_desc desc = {
        .addr = cpu_to_le64(list), .npages = cpu_to_le32(mr->npages),
        .page_shift = mr->page_shift, .levels = 1,
    };

    for (i = 0; i < mr->npages; i++) {
        stq_le_p(sim_mem(h, list + i * 8ull), mr->page[i]);
    }
    if (sim_percent(&h->rng, 40)) {
        uint64_t top = sim_mem_take(h, SIM_PAGE, SIM_PAGE, SIM_SH_READ |
                                    SIM_SH_RING);

        for (i = 0; i < tables; i++) {
            stq_le_p(sim_mem(h, top + i * 8ull), list + i * (uint64_t)SIM_PAGE);
        }
        desc.addr = cpu_to_le64(top);
        desc.levels = 2;
    }
    h->mem.brk = brk;
    return desc;
}

void sim_mr_register(SimMr *mr, uint32_t pd, uint32_t uctx, bool zero_based)
{
    SimHost *h = mr->host;
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_MR_REG);
    uint32_t brk = h->mem.brk, len;

    cmd.uctx = cpu_to_le32(uctx);
    mr->zero_based = zero_based;
    mr->iova = zero_based ? 0 : (sim_rng(&h->rng) >> 3) & ~4095ull;
    if (!mr->page) {
        cmd.mr_reg.buf = extent(mr->base);
    } else {
        cmd.mr_reg.buf = page_list(mr);
        cmd.mr_reg.offset = cpu_to_le32(mr->offset);
    }
    cmd.mr_reg.iova = cpu_to_le64(mr->iova);
    cmd.mr_reg.length = cpu_to_le64(mr->length);
    cmd.mr_reg.pd = cpu_to_le32(pd);
    cmd.mr_reg.access = cpu_to_le32(mr->access | (zero_based ?
                                    ERNIC_ACCESS_ZERO_BASED : 0));
    mr->key = sim_cmd_ok(h, &cmd);
    if (mr->page) {
        /* The device must not read the list again. */
        len = DIV_ROUND_UP(mr->npages, 512) * SIM_PAGE + 2 * SIM_PAGE;
        memset(sim_mem(h, h->mem.base + brk), 0xee, len);
        sim_shadow(h, h->mem.base + brk, len, 0);
    }
}

static SimMr *region(SimHost *h, uint32_t kib, uint32_t access, uint32_t pd,
                     uint32_t uctx)
{
    SimMr *mr = sim_mr_new(h, kib * 1024, access);

    sim_mr_register(mr, pd, uctx, sim_percent(&h->rng, 20));
    return mr;
}

static void make_regions(SimHost *h)
{
    const uint32_t lw = ERNIC_ACCESS_LOCAL_WRITE, rw = ERNIC_ACCESS_REMOTE_WRITE,
                   rr = ERNIC_ACCESS_REMOTE_READ, bind = ERNIC_ACCESS_MW_BIND,
                   ra = ERNIC_ACCESS_REMOTE_ATOMIC, fl = ERNIC_ACCESS_FLUSH_GLOBAL;
    SimPiece all = { 0 };

    h->local[0] = region(h, 1800, lw, h->pd, h->uctx);
    h->local[1] = region(h, 400, lw | rr, h->pd, h->uctx);
    h->remote = region(h, 900, lw | rw | ra | rr | bind | fl, h->pd, h->uctx);
    h->source = region(h, 400, rr | bind, h->pd, h->uctx);
    h->readonly = region(h, 16, 0, h->pd, h->uctx);
    h->foreign = region(h, 16, lw | rw | rr | ra, h->foreign_pd, h->uctx);
    h->source->pattern = sim_rng(&h->rng);
    all.mr = h->source;
    all.len = h->source->length;
    sim_piece_fill(&all, h->source->pattern, 0);
    sim_piece_shadow(&all, SIM_SH_READ);
}

/* ---- queues -------------------------------------------------------------- */

static void make_eq(SimHost *h, uint32_t depth, uint16_t vector, bool async)
{
    SimEq *eq = &h->eq[h->eqs++];
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_EQ_CREATE);

    cmd.uctx = 0;
    eq->depth = depth;
    eq->vector = vector;
    eq->async = async;
    eq->ring = sim_mem_take(h, depth * EQE_SIZE, 64, 7);
    cmd.eq_create.buf = extent(eq->ring);
    cmd.eq_create.depth = cpu_to_le32(depth);
    cmd.eq_create.vector = cpu_to_le16(vector);
    cmd.eq_create.async = async;
    eq->eqn = sim_cmd_ok(h, &cmd);
}

static uint32_t power_of_two(uint32_t n)
{
    uint32_t p = 2;

    while (p < n) {
        p *= 2;
    }
    return p;
}

void sim_cq_arm(SimCq *cq)
{
    if (!cq->overrun) {
        cq->arms++;
        sim_doorbell(cq->host, cq->host->uctx, ERNIC_DB_CQ_ARM, cq->cqn, cq->ci);
    }
}

/* A CQ for at most @need entries; a @tiny one is too small for them. */
SimCq *sim_cq_new(SimHost *h, uint32_t need, bool tiny)
{
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_CQ_CREATE);
    SimCq *cq = g_new0(SimCq, 1);

    cq->host = h;
    cq->tiny = tiny;
    cq->depth = tiny ? 2 : power_of_two(need);
    cq->spare_depth = cq->depth * 2;
    cq->ring = sim_mem_take(h, cq->depth * CQE_SIZE, 64, 7);
    cq->spare = sim_mem_take(h, cq->spare_depth * CQE_SIZE, 64, 0);
    cq->evented = sim_percent(&h->rng, 50);
    cq->poll_ns = sim_percent(&h->rng, 70) ? 5 * SIM_US : 300 * SIM_US;
    cq->eq = &h->eq[h->eqs - 1];
    if (sim_percent(&h->rng, 50)) {
        cq->ci_addr = sim_mem_take(h, 4, 4, SIM_SH_READ | SIM_SH_RING);
    }
    cmd.cq_create.buf = extent(cq->ring);
    cmd.cq_create.ci_addr = cpu_to_le64(cq->ci_addr);
    cmd.cq_create.depth = cpu_to_le32(cq->depth);
    cmd.cq_create.eq = cpu_to_le32(cq->evented || sim_percent(&h->rng, 50) ?
                                   cq->eq->eqn : NONE);
    g_ptr_array_add(h->cqs, cq);
    cq->cqn = sim_cmd_ok(h, &cmd);
    if (cq->evented) {
        sim_cq_arm(cq);
    }
    return cq;
}

void sim_srq_arm(SimSrq *srq)
{
    SimHost *h = srq->host;
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_SRQ_MODIFY);

    cmd.srq.handle = cpu_to_le32(srq->srqn);
    cmd.srq.limit = cpu_to_le32(srq->depth / 4);
    srq->limit_armed = true;
    sim_cmd_ok(h, &cmd);
}

/* A record, if queues have them, or 0. */
static uint64_t new_record(SimHost *h)
{
    return h->sim->plan.records ?
           sim_mem_take(h, sizeof(struct ernic_record), 8,
                        SIM_SH_READ | SIM_SH_WRITE | SIM_SH_RING) : 0;
}

void sim_record_clear(SimHost *h, uint64_t record)
{
    if (record) {
        memset(sim_mem(h, record), 0, sizeof(struct ernic_record));
    }
}

bool sim_record(SimHost *h, uint64_t record, uint32_t before, uint32_t pi)
{
    struct ernic_record *r = (void *)sim_mem(h, record);

    r->pi = cpu_to_le32(pi);
    return le32_to_cpu(r->wake) - before < pi - before;
}

SimSrq *sim_srq_new(SimHost *h, SimRng *r, uint32_t depth, uint32_t cap)
{
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_SRQ_CREATE);
    SimSrq *srq = g_new0(SimSrq, 1);

    srq->host = h;
    srq->depth = depth;
    srq->cap = cap;
    srq->stride = 2 + sim_below(r, 4);
    srq->out = g_ptr_array_new_with_free_func(g_free);
    srq->ring = sim_mem_take(h, depth * srq->stride * 64, 64,
                             SIM_SH_READ | SIM_SH_RING);
    srq->record = new_record(h);
    sim_record_clear(h, srq->record);
    cmd.srq.buf = extent(srq->ring);
    cmd.srq.record = cpu_to_le64(srq->record);
    cmd.srq.pd = cpu_to_le32(h->pd);
    cmd.srq.depth = cpu_to_le32(depth);
    cmd.srq.stride = cpu_to_le16(srq->stride);
    g_ptr_array_add(h->srqs, srq);
    srq->srqn = sim_cmd_ok(h, &cmd);
    return srq;
}

/* ---- queue pairs --------------------------------------------------------- */

/*
 * The state of a queue pair in the simulator; the rings stay for all its lives.
 */
SimQp *sim_qp_new(SimHost *h, uint8_t type)
{
    Sim *s = h->sim;
    SimQp *qp = g_new0(SimQp, 1);

    qp->host = h;
    qp->type = type;
    qp->id = s->qps->len;
    sim_rng_init(&qp->rng, s->seed, 1000 + qp->id);
    qp->sq_depth = 2 << sim_below(&qp->rng, 6);
    qp->rq_depth = 2 << sim_below(&qp->rng, 5);
    qp->sq_stride = 3 + sim_below(&qp->rng, 7);
    qp->rq_stride = 2 + sim_below(&qp->rng, 4);
    qp->sig_all = sim_percent(&qp->rng, 25);
    qp->sq_ring = sim_mem_take(h, qp->sq_depth * qp->sq_stride * 64, 64,
                               SIM_SH_READ | SIM_SH_RING);
    qp->rq_ring = sim_mem_take(h, qp->rq_depth * qp->rq_stride * 64, 64,
                               SIM_SH_READ | SIM_SH_RING);
    qp->sq_record = new_record(h);
    qp->rq_record = new_record(h);
    qp->sq_slot = g_new0(SimMsg *, qp->sq_depth);
    qp->rq_slot = g_new0(SimRecv, qp->rq_depth);
    qp->msgs = g_ptr_array_new_with_free_func(g_free);
    qp->extra = g_ptr_array_new_with_free_func(g_free);
    qp->recv_of = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    qp->doom = SIM_NO_INDEX;
    g_ptr_array_add(h->qps, qp);
    g_ptr_array_add(s->qps, qp);
    return qp;
}

void sim_qp_create(SimQp *qp)
{
    SimHost *h = qp->host;
    struct ernic_cmd cmd;
    struct ernic_qp_init init = {
        .sq_buf = extent(qp->sq_ring),
        .pd = cpu_to_le32(h->pd),
        .send_cq = cpu_to_le32(qp->scq->cqn),
        .recv_cq = cpu_to_le32(qp->rcq->cqn),
        .srq = cpu_to_le32(qp->srq ? qp->srq->srqn : NONE),
        .sq_depth = cpu_to_le32(qp->sq_depth),
        .type = qp->type,
        .flags = qp->sig_all ? ERNIC_QPF_SQ_SIG_ALL : 0,
        .sq_stride = qp->sq_stride,
        .sq_record = cpu_to_le64(qp->sq_record),
    };

    sim_record_clear(h, qp->sq_record);
    sim_record_clear(h, qp->rq_record);
    if (!qp->srq) {
        init.rq_record = cpu_to_le64(qp->rq_record);
        init.rq_buf = extent(qp->rq_ring);
        init.rq_depth = cpu_to_le32(qp->rq_depth);
        init.rq_stride = qp->rq_stride;
    }
    cmd = sim_cmd_data(h, ERNIC_CMD_QP_CREATE, 0, &init, sizeof(init));
    qp->qpn = sim_cmd_ok(h, &cmd);
    qp->life = SIM_QP_RESET;
    if (qp->type == ERNIC_QPT_UD && h->sim->plan.mcast) {
        cmd = sim_cmd_new(h, ERNIC_CMD_MCAST_ATTACH);
        memcpy(cmd.mcast.gid, h->sim->group.raw, 16);
        cmd.mcast.qpn = cpu_to_le32(qp->qpn);
        sim_cmd_ok(h, &cmd);
    }
    sim_log(h->sim, "host %u: QP %u created, type %u", h->id, qp->qpn, qp->type);
}

static void handle_command(SimHost *h, uint8_t opcode, uint32_t handle)
{
    struct ernic_cmd cmd = sim_cmd_new(h, opcode);

    cmd.handle.handle = cpu_to_le32(handle);
    sim_cmd_ok(h, &cmd);
}

void sim_qp_destroy(SimQp *qp)
{
    if (qp->life != SIM_QP_NONE) {
        handle_command(qp->host, ERNIC_CMD_QP_DESTROY, qp->qpn);
        qp->life = SIM_QP_NONE;
    }
}

uint8_t sim_qp_modify(SimQp *qp, const struct ernic_qp_attr *attr)
{
    SimHost *h = qp->host;
    struct ernic_cmd cmd = sim_cmd_data(h, ERNIC_CMD_QP_MODIFY, qp->qpn, attr,
                                        sizeof(*attr));
    uint8_t status = sim_cmd(h, &cmd, NULL);

    sim_log(h->sim, "host %u: QP %u modified, mask 0x%x, state %u: status %u",
            h->id, qp->qpn, le32_to_cpu(attr->mask), attr->state, status);
    return status;
}

uint8_t sim_qp_query(SimQp *qp, struct ernic_qp_attr *attr)
{
    SimHost *h = qp->host;
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_QP_QUERY);
    uint8_t status;

    cmd.query.addr = cpu_to_le64(h->cmd_buf);
    cmd.query.length = cpu_to_le32(sizeof(*attr));
    cmd.query.handle = cpu_to_le32(qp->qpn);
    status = sim_cmd(h, &cmd, NULL);
    memcpy(attr, sim_mem(h, h->cmd_buf), sizeof(*attr));
    return status;
}

/* ---- the whole guest ----------------------------------------------------- */

void sim_gids_set(SimHost *h)
{
    int i;

    for (i = 0; i < 2; i++) {
        struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };

        memcpy(cmd.set_gid.gid, h->gid[i].raw, 16);
        memcpy(cmd.set_gid.mac, h->mac, 6);
        cmd.set_gid.vlan = cpu_to_le16(ERNIC_NO_VLAN);
        cmd.set_gid.index = i;
        sim_cmd_ok(h, &cmd);
    }
}

void sim_guest_init(SimHost *h)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_UCTX_ALLOC };

    h->cmd_buf = sim_mem_take(h, CMD_BUF, 64, 7);
    sim_gids_set(h);
    h->other_uctx = sim_cmd_ok(h, &cmd);
    if (sim_percent(&h->rng, 30)) {
        h->uctx = sim_cmd_ok(h, &cmd);
    }
    make_eq(h, 2 << sim_below(&h->rng, 6), 0, true);
    make_eq(h, 2 << sim_below(&h->rng, 6), 1, false);
    cmd = sim_cmd_new(h, ERNIC_CMD_PD_ALLOC);
    h->pd = sim_cmd_ok(h, &cmd);
    h->foreign_pd = sim_cmd_ok(h, &cmd);
    make_regions(h);
}

/* Destroy all objects, those that refer to others first. */
void sim_guest_destroy_all(SimHost *h)
{
    uint32_t i, uctx = h->uctx;

    SIM_EACH(SimQp, qp, h->qps) {
        sim_win_drop(qp);
        sim_qp_destroy(qp);
    }
    SIM_EACH(SimSrq, srq, h->srqs) {
        handle_command(h, ERNIC_CMD_SRQ_DESTROY, srq->srqn);
    }
    SIM_EACH(SimCq, cq, h->cqs) {
        handle_command(h, ERNIC_CMD_CQ_DESTROY, cq->cqn);
    }
    SIM_EACH(SimMr, mr, h->mrs) {
        handle_command(h, ERNIC_CMD_MR_FREE, mr->key);
    }
    handle_command(h, ERNIC_CMD_PD_FREE, h->pd);
    handle_command(h, ERNIC_CMD_PD_FREE, h->foreign_pd);
    h->uctx = 0;
    if (uctx) {
        handle_command(h, ERNIC_CMD_UCTX_FREE, uctx);
    }
    handle_command(h, ERNIC_CMD_UCTX_FREE, h->other_uctx);
    for (i = 0; i < h->eqs; i++) {
        handle_command(h, ERNIC_CMD_EQ_DESTROY, h->eq[i].eqn);
    }
}
