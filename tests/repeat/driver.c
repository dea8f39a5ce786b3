/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The implementation of driver.h, after docs/verbs-interface.md.
 */
#include "driver.h"

#define RING_SHIFT  4
#define SQ_SLOT     128             /* head and SGEs */
#define RQ_SLOT     64
#define NONE        0xffffffffu

void *memcpy(void *to, const void *from, size_t len);
void *memset(void *to, int byte, size_t len);

/* The memory of every function. */
static struct {
    struct ernic_cmd cmd[1 << RING_SHIFT];
    struct ernic_rsp rsp[1 << RING_SHIFT];
    struct ernic_eqe eq[EQ_DEPTH];
    uint64_t page[512];             /* for structures of commands */
    uint8_t buf[BUF];
} memory[FUNCTIONS] __attribute__((aligned(4096)));

/* The memory of every queue pair. */
static struct {
    struct ernic_cqe cq[CQ_DEPTH];
    uint8_t sq[DEPTH * SQ_SLOT], rq[DEPTH * RQ_SLOT];
} queues[FUNCTIONS][FUNCTIONS] __attribute__((aligned(4096)));

static uint64_t *page(const Function *f)
{
    return memory[f->host - 1].page;
}

uint8_t *buf_of(uint8_t host)
{
    return memory[host - 1].buf;
}

/* Executes a command, which must succeed; returns its response. */
static struct ernic_rsp command(Function *f, struct ernic_cmd *cmd)
{
    uint32_t slot = f->cmd_pi % (1 << RING_SHIFT);
    uint8_t phase = !(f->cmd_pi >> RING_SHIFT & 1);
    struct ernic_rsp rsp;
    volatile struct ernic_rsp *at = &memory[f->host - 1].rsp[slot];

    memory[f->host - 1].cmd[slot] = *cmd;
    barrier();
    f->regs->cmd_pi = ++f->cmd_pi;
    while (at->phase != phase) {
    }
    barrier();
    rsp = memory[f->host - 1].rsp[slot];
    if (rsp.status != ERNIC_OK) {
        put("command");
        put_num(cmd->opcode);
        put_num(rsp.status);
        power_off("failed");
    }
    return rsp;
}

uint32_t register_list(Function *f, uint64_t list, uint32_t npages, uint64_t length)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf = { .addr = list, .npages = npages, .page_shift = 12,
                             .levels = 2 }, .length = length, .pd = f->pd,
                    .access = ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE },
    };

    return command(f, &cmd).handle;
}

static void set_gid(Function *f)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, f->host },
                     .mac = { 0x52, 0x54, 0, 0, 0, f->host }, .vlan = 0xffff },
    };

    command(f, &cmd);
}

static void open_objects(Function *f)
{
    struct ernic_cmd pd = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_cmd eq = {
        .opcode = ERNIC_CMD_EQ_CREATE,
        .eq_create = { .buf.addr = (uintptr_t)f->eq_ring, .depth = EQ_DEPTH,
                       .vector = 1, .async = 1 },
    };
    struct ernic_cmd mr = {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf.addr = (uintptr_t)f->buf, .iova = (uintptr_t)f->buf,
                    .length = BUF, .access = ERNIC_ACCESS_LOCAL_WRITE |
                    ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ },
    };

    f->pd = command(f, &pd).handle;
    f->eq = command(f, &eq).handle;
    mr.mr_reg.pd = f->pd;
    f->key = command(f, &mr).handle;
}

void function_open(Function *f, uint8_t devfn, uint8_t host)
{
    *f = (Function) {
        .devfn = devfn, .host = host, .eq_ring = memory[host - 1].eq,
        .buf = memory[host - 1].buf,
    };
    /* Entries of an earlier device would count as new. */
    memset(memory[host - 1].rsp, 0, sizeof(memory[0].rsp));
    memset(memory[host - 1].eq, 0, sizeof(memory[0].eq));
    memset(queues[host - 1], 0, sizeof(queues[0]));
    f->regs = (volatile void *)pci_bar(devfn, ERNIC_BAR_REGS);
    pci_open(devfn, 1);             /* the vector of the event queues */
    if (f->regs->magic != ERNIC_MAGIC) {
        power_off("no such device in BAR 2");
    }
    f->db = (uintptr_t)f->regs + f->regs->db_offset;
    f->regs->cmd_addr = (uintptr_t)memory[host - 1].cmd;
    f->regs->rsp_addr = (uintptr_t)memory[host - 1].rsp;
    f->regs->ring_shift = RING_SHIFT;
    f->regs->control = ERNIC_CONTROL_ENABLE;
    set_gid(f);
    open_objects(f);
}

int functions_open(Function *f)
{
    int n = 0;

    for (uint32_t devfn = 0; devfn < 256 && n < FUNCTIONS; devfn += 8) {
        if (pci_read(devfn, 0) == (ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16)) {
            function_open(&f[n], devfn, n + 1);
            n++;
        }
    }
    return n;
}

uint32_t function_counters(Function *f, uint64_t *to)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QUERY_STATS,
        .query = { .addr = (uintptr_t)page(f), .length = 4096 },
    };
    uint32_t bytes = command(f, &cmd).length;

    memcpy(to, page(f), bytes);
    return bytes / sizeof(*to);
}

void qp_create(Qp *qp, Function *f)
{
    uint32_t n = f->queue_pairs++;
    struct ernic_cmd cq = {
        .opcode = ERNIC_CMD_CQ_CREATE,
        .cq_create = { .buf.addr = (uintptr_t)queues[f->host - 1][n].cq,
                       .depth = CQ_DEPTH, .eq = f->eq },
    };
    struct ernic_cmd create = {
        .opcode = ERNIC_CMD_QP_CREATE,
        .qp = { .addr = (uintptr_t)page(f), .length = sizeof(struct ernic_qp_init) },
    };
    struct ernic_qp_init init = {
        .sq_buf.addr = (uintptr_t)queues[f->host - 1][n].sq,
        .rq_buf.addr = (uintptr_t)queues[f->host - 1][n].rq, .pd = f->pd, .srq = NONE,
        .sq_depth = DEPTH, .rq_depth = DEPTH, .type = ERNIC_QPT_RC,
        .sq_stride = SQ_SLOT / 64, .rq_stride = RQ_SLOT / 64,
        .sq_record = (uintptr_t)f->record,
    };

    *qp = (Qp) { .f = f, .sq = queues[f->host - 1][n].sq, .rq = queues[f->host - 1][n].rq,
                 .cq = queues[f->host - 1][n].cq };
    init.send_cq = init.recv_cq = qp->cqn = command(f, &cq).handle;
    memcpy(page(f), &init, sizeof(init));
    qp->qpn = command(f, &create).handle;
}

static void to_state(Qp *qp, const Qp *peer, uint8_t state, uint32_t mask)
{
    struct ernic_qp_attr attr = {
        .mask = ERNIC_QPA_STATE | mask, .state = state, .path_mtu = 3, .rq_psn = qp->psn,
        .sq_psn = qp->psn, .dest_qpn = peer->qpn, .port = 1, .timeout = qp->timeout,
        .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 1, .max_rd_atomic = 4,
        .max_dest_rd_atomic = 4,
        .access = ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ,
        .av = { .dgid = { [10] = 0xff, 0xff, 10, 0, 0, peer->f->host },
                .dmac = { 0x52, 0x54, 0, 0, 0, peer->f->host }, .hop_limit = 64 },
    };
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_MODIFY,
        .qp = { .addr = (uintptr_t)page(qp->f), .length = sizeof(attr),
                .handle = qp->qpn },
    };

    memcpy(page(qp->f), &attr, sizeof(attr));
    command(qp->f, &cmd);
}

void qp_to_rts(Qp *qp, const Qp *peer, uint32_t psn, uint8_t timeout)
{
    qp->psn = psn;
    qp->timeout = timeout;
    qp->sq_pi = qp->rq_pi = 0;
    to_state(qp, peer, ERNIC_QPS_INIT, ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT |
             ERNIC_QPA_ACCESS);
    to_state(qp, peer, ERNIC_QPS_RTR, ERNIC_QPA_AV | ERNIC_QPA_PATH_MTU |
             ERNIC_QPA_DEST_QPN | ERNIC_QPA_RQ_PSN |
             ERNIC_QPA_MAX_DEST_RD_ATOMIC | ERNIC_QPA_MIN_RNR_TIMER);
    to_state(qp, peer, ERNIC_QPS_RTS, ERNIC_QPA_SQ_PSN | ERNIC_QPA_TIMEOUT |
             ERNIC_QPA_RETRY_CNT | ERNIC_QPA_RNR_RETRY | ERNIC_QPA_MAX_RD_ATOMIC);
}

void qp_to(Qp *qp, uint8_t state)
{
    to_state(qp, qp, state, 0);
}

void qp_connect(Qp *x, Function *f, Qp *y, Function *g)
{
    qp_create(x, f);
    qp_create(y, g);
    qp_to_rts(x, y, 0x1000, 6);
    qp_to_rts(y, x, 0x1000, 6);
}

static void doorbell(const Function *f, uint8_t kind, uint32_t queue, uint32_t index)
{
    store64(f->db, ERNIC_DB(kind, queue, index));
}

void post_recv(Qp *qp, uint32_t at, uint32_t len)
{
    struct {
        struct ernic_rwqe head;
        struct ernic_sge sge;
    } wqe = {
        { .wr_id = qp->rq_pi, .num_sge = 1 },
        { (uintptr_t)qp->f->buf + at, len, qp->f->key },
    };

    memcpy(qp->rq + qp->rq_pi % DEPTH * RQ_SLOT, &wqe, sizeof(wqe));
    doorbell(qp->f, ERNIC_DB_RQ, qp->qpn, ++qp->rq_pi);
}

void post_send(Qp *qp, uint8_t opcode, uint32_t at, uint32_t len,
               const Function *peer, uint32_t peer_at)
{
    struct {
        struct ernic_wqe head;
        struct ernic_sge sge;
    } wqe = {
        { .opcode = opcode, .flags = ERNIC_WR_SIGNALED, .count = 1, .wr_id = qp->sq_pi },
        { (uintptr_t)qp->f->buf + at, len, qp->f->key },
    };

    if (opcode != ERNIC_WR_SEND) {
        wqe.head.rdma.raddr = (uintptr_t)peer->buf + peer_at;
        wqe.head.rdma.rkey = peer->key;
    }
    memcpy(qp->sq + qp->sq_pi % DEPTH * SQ_SLOT, &wqe, sizeof(wqe));
    doorbell(qp->f, ERNIC_DB_SQ, qp->qpn, ++qp->sq_pi);
}

bool poll_cq(Qp *qp, struct ernic_cqe *cqe)
{
    volatile struct ernic_cqe *at = &qp->cq[qp->cq_ci % CQ_DEPTH];
    bool phase = !(qp->cq_ci / CQ_DEPTH & 1);

    if ((at->flags & ERNIC_CQE_PHASE) != phase) {
        return false;
    }
    barrier();
    memcpy(cqe, (void *)at, sizeof(*cqe));
    doorbell(qp->f, ERNIC_DB_CQ, qp->cqn, ++qp->cq_ci);
    return true;
}

bool poll_eq(Function *f, struct ernic_eqe *eqe)
{
    volatile struct ernic_eqe *at = &f->eq_ring[f->eq_ci % EQ_DEPTH];

    if (at->phase != !(f->eq_ci / EQ_DEPTH & 1)) {
        return false;
    }
    barrier();
    memcpy(eqe, (void *)at, sizeof(*eqe));
    doorbell(f, ERNIC_DB_EQ, f->eq, ++f->eq_ci);
    return true;
}

void arm_cq(Qp *qp)
{
    doorbell(qp->f, ERNIC_DB_CQ_ARM, qp->cqn, qp->cq_ci);
}
