/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The small driver of ernic.h.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "ernic.h"

#define SGE_OFFSET      sizeof(struct ernic_wqe)
#define SQ_STRIDE       2       /* units of 64 bytes: head and 4 SGEs */

uint32_t qernic_read(QErnic *q, uint64_t off)
{
    return qpci_io_readl(&q->dev, q->bar, off);
}

void qernic_write(QErnic *q, uint64_t off, uint32_t value)
{
    qpci_io_writel(&q->dev, q->bar, off, value);
}

void qernic_write64(QErnic *q, uint64_t off, uint64_t value)
{
    qpci_io_writeq(&q->dev, q->bar, off, value);
}

uint64_t qernic_time(QErnic *q)
{
    return qpci_io_readq(&q->dev, q->bar, offsetof(struct ernic_regs, time));
}

static uint64_t page_of(QErnic *q, uint32_t uctx)
{
    return qernic_reg(q, db_offset) + ((uint64_t)uctx << qernic_reg(q, db_shift));
}

void qernic_doorbell(QErnic *q, uint32_t uctx, uint64_t value)
{
    qernic_write64(q, page_of(q, uctx), value);
}

void qernic_doorbell_record(QErnic *q, uint32_t uctx, uint64_t value)
{
    qernic_write64(q, page_of(q, uctx) + ERNIC_DB_RECORD, value);
}

void qernic_enable(QErnic *q)
{
    size_t bytes = sizeof(struct ernic_cmd) << QERNIC_RING_SHIFT;

    qtest_memset(q->qts, q->rsp_ring, 0, bytes);
    q->cmd_pi = 0;
    qernic_write64(q, offsetof(struct ernic_regs, cmd_addr), q->cmd_ring);
    qernic_write64(q, offsetof(struct ernic_regs, rsp_addr), q->rsp_ring);
    qernic_set_reg(q, ring_shift, QERNIC_RING_SHIFT);
    qernic_set_reg(q, control, ERNIC_CONTROL_ENABLE);
}

QDict *qernic_stats(QErnic *q)
{
    return qernic_get(q->qts, q->id, "statistics");
}

uint64_t qernic_stat_of(const QDict *answer, const char *name)
{
    g_auto(GStrv) part = g_strsplit(name, ".", -1);
    QDict *dict = qdict_get_qdict(answer, "return");
    int i;

    for (i = 0; part[i + 1]; i++) {
        dict = qdict_get_qdict(dict, part[i]);
        g_assert_nonnull(dict);
    }
    g_assert_true(qdict_haskey(dict, part[i]));
    return qdict_get_int(dict, part[i]);
}

uint64_t qernic_stat(QErnic *q, const char *name)
{
    g_autoptr(QDict) answer = qernic_stats(q);

    return qernic_stat_of(answer, name);
}

const char *qernic_log(QTestState *qts, const char *event)
{
    const char *path = qernic_temp();

    g_free(qtest_hmp(qts, "logfile %s", path));
    g_free(qtest_hmp(qts, "trace-event %s on", event));
    return path;
}

uint32_t qernic_logged(QErnicMachine *m, const char *path, const char *event)
{
    g_autofree char *text = NULL;
    const char *at;
    uint32_t n = 0;

    qernic_machine_end(m);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    for (at = text; (at = strstr(at, event)); at++) {
        n++;
    }
    return n;
}

void qernic_cmd_post(QErnic *q, struct ernic_cmd *cmd)
{
    uint32_t slot = q->cmd_pi & ((1u << QERNIC_RING_SHIFT) - 1);

    cmd->tag = cpu_to_le16(q->cmd_pi * 7);
    cmd->uctx = cmd->uctx ?: cpu_to_le32(q->uctx);
    qtest_memwrite(q->qts, q->cmd_ring + slot * sizeof(*cmd), cmd, sizeof(*cmd));
    qernic_set_reg(q, cmd_pi, ++q->cmd_pi);
}

uint8_t qernic_cmd(QErnic *q, struct ernic_cmd *cmd, struct ernic_rsp *rsp)
{
    uint32_t slot = q->cmd_pi & ((1u << QERNIC_RING_SHIFT) - 1);
    uint8_t phase = !(q->cmd_pi >> QERNIC_RING_SHIFT & 1);
    uint64_t at = q->rsp_ring + slot * sizeof(*rsp);
    struct ernic_rsp answer;

    qernic_cmd_post(q, cmd);
    qernic_wait_while(q->qts, qtest_readb(q->qts, at + offsetof(struct ernic_rsp,
                                                                phase)) != phase);
    qtest_memread(q->qts, at, &answer, sizeof(answer));
    g_assert_cmpuint(answer.tag, ==, cmd->tag);
    if (rsp) {
        *rsp = answer;
    }
    return answer.status;
}

uint8_t qernic_cmd_handle(QErnic *q, uint8_t opcode, uint32_t handle)
{
    struct ernic_cmd cmd = { .opcode = opcode, .handle.handle = cpu_to_le32(handle) };

    return qernic_cmd(q, &cmd, NULL);
}

uint32_t qernic_make(QErnic *q, struct ernic_cmd *cmd)
{
    struct ernic_rsp rsp;

    g_assert_cmpuint(qernic_cmd(q, cmd, &rsp), ==, ERNIC_OK);
    return le32_to_cpu(rsp.handle);
}

uint32_t qernic_make_with(QErnic *q, uint8_t opcode, const void *data, size_t len)
{
    struct ernic_cmd cmd = {
        .opcode = opcode,
        .qp = { .addr = cpu_to_le64(q->scratch), .length = cpu_to_le32(len) },
    };

    qtest_memwrite(q->qts, q->scratch, data, len);
    return qernic_make(q, &cmd);
}

void qernic_nop(QErnic *q)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };

    g_assert_cmpuint(qernic_cmd(q, &nop, NULL), ==, ERNIC_OK);
}

void qernic_post_change(QErnic *q)
{
    struct ernic_cmd change = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .gid = { 0xfe, 0x80, [15] = 7 }, .index = 1,
                     .mac = { 0x52, 0x54, 0, 0, 0, 1 }, .vlan = cpu_to_le16(0xffff) },
    };

    qernic_cmd_post(q, &change);
}

uint64_t qernic_zeroed(QErnic *q, size_t bytes)
{
    uint64_t addr = guest_alloc(q->alloc, bytes);

    qtest_memset(q->qts, addr, 0, bytes);
    return addr;
}

void qernic_set_gid(QErnic *q, uint8_t index, uint16_t vlan)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .mac = { 0x52, 0x54, 0, 0, 0, q->gid[15] },
                     .vlan = cpu_to_le16(vlan), .index = index },
    };

    memcpy(cmd.set_gid.gid, q->gid, sizeof(q->gid));
    qernic_make(q, &cmd);
}

void qernic_setup(QErnic *q, uint8_t host)
{
    uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 0, 0, host };
    struct ernic_cmd pd = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_cmd eq = {
        .opcode = ERNIC_CMD_EQ_CREATE,
        .eq_create = { .depth = cpu_to_le32(QERNIC_DEPTH),
                       .vector = cpu_to_le16(1), .async = 1 },
    };
    struct ernic_cmd mr = { .opcode = ERNIC_CMD_MR_REG };

    qernic_enable(q);
    memcpy(q->gid, gid, sizeof(gid));
    qernic_set_gid(q, 0, 0xffff);
    q->pd = qernic_make(q, &pd);
    q->eq_ring = qernic_zeroed(q, QERNIC_DEPTH * sizeof(struct ernic_eqe));
    eq.eq_create.buf.addr = cpu_to_le64(q->eq_ring);
    q->eq = qernic_make(q, &eq);
    q->buf = qernic_zeroed(q, QERNIC_BUF);
    mr.mr_reg.buf.addr = cpu_to_le64(q->buf);
    mr.mr_reg.iova = cpu_to_le64(q->buf);
    mr.mr_reg.length = cpu_to_le64(QERNIC_BUF);
    mr.mr_reg.pd = cpu_to_le32(q->pd);
    mr.mr_reg.access = cpu_to_le32(ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE |
                                   ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC);
    q->key = qernic_make(q, &mr);
}

static void create_qp(QErnic *q, QErnicQp *qp, uint8_t type, uint64_t sq_record,
                      uint64_t rq_record)
{
    struct ernic_cmd cq = {
        .opcode = ERNIC_CMD_CQ_CREATE,
        .cq_create = { .depth = cpu_to_le32(QERNIC_DEPTH * 2), .eq = cpu_to_le32(q->eq) },
    };
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(q->pd), .srq = cpu_to_le32(0xffffffff),
        .sq_depth = cpu_to_le32(QERNIC_DEPTH), .rq_depth = cpu_to_le32(QERNIC_DEPTH),
        .type = type, .sq_stride = SQ_STRIDE, .rq_stride = 1,
        .sq_record = cpu_to_le64(sq_record), .rq_record = cpu_to_le64(rq_record),
    };

    *qp = (QErnicQp) {
        .q = q, .type = type, .sq_record = sq_record, .rq_record = rq_record,
    };
    qp->cq.ring = qernic_zeroed(q, QERNIC_DEPTH * 2 * sizeof(struct ernic_cqe));
    cq.cq_create.buf.addr = cpu_to_le64(qp->cq.ring);
    qp->cq.cqn = qernic_make(q, &cq);
    qp->sq = qernic_zeroed(q, QERNIC_DEPTH * SQ_STRIDE * 64);
    qp->rq = qernic_zeroed(q, QERNIC_DEPTH * 64);
    init.sq_buf.addr = cpu_to_le64(qp->sq);
    init.rq_buf.addr = cpu_to_le64(qp->rq);
    init.send_cq = init.recv_cq = cpu_to_le32(qp->cq.cqn);
    qp->qpn = qernic_make_with(q, ERNIC_CMD_QP_CREATE, &init, sizeof(init));
}

void qernic_qp_create(QErnic *q, QErnicQp *qp, uint8_t type)
{
    create_qp(q, qp, type, 0, 0);
}

void qernic_qp_record(QErnic *q, QErnicQp *qp, uint8_t type)
{
    uint64_t records = qernic_zeroed(q, 2 * sizeof(struct ernic_record));

    create_qp(q, qp, type, records, records + sizeof(struct ernic_record));
}

static uint8_t modify_qp(QErnicQp *qp, struct ernic_qp_attr *attr)
{
    QErnic *q = qp->q;
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_MODIFY,
        .qp = { .addr = cpu_to_le64(q->scratch), .length = cpu_to_le32(sizeof(*attr)),
                .handle = cpu_to_le32(qp->qpn) },
    };

    qtest_memwrite(q->qts, q->scratch, attr, sizeof(*attr));
    return qernic_cmd(q, &cmd, NULL);
}

/* The attributes that a transition to @to requires; RC needs more than UC. */
static uint32_t required(uint8_t type, uint8_t to)
{
    bool gsi = type == ERNIC_QPT_GSI, rc = type == ERNIC_QPT_RC;
    bool ud = type == ERNIC_QPT_UD || gsi;

    if (type == ERNIC_QPT_RAW) {
        return to == ERNIC_QPS_INIT ? ERNIC_QPA_PORT : 0;
    }
    switch (to) {
    case ERNIC_QPS_INIT:
        return ERNIC_QPA_PKEY_INDEX | (gsi ? 0 : ERNIC_QPA_PORT) |
               (ud ? ERNIC_QPA_QKEY : ERNIC_QPA_ACCESS);
    case ERNIC_QPS_RTR:
        return ud ? 0 : ERNIC_QPA_AV |
               ERNIC_QPA_PATH_MTU | ERNIC_QPA_DEST_QPN | ERNIC_QPA_RQ_PSN |
               (rc ? ERNIC_QPA_MAX_DEST_RD_ATOMIC | ERNIC_QPA_MIN_RNR_TIMER : 0);
    default:
        return ERNIC_QPA_SQ_PSN | (rc ? ERNIC_QPA_TIMEOUT | ERNIC_QPA_RETRY_CNT |
                                   ERNIC_QPA_RNR_RETRY | ERNIC_QPA_MAX_RD_ATOMIC : 0);
    }
}

void qernic_qp_connect(QErnicQp *qp, const QErnicQp *peer)
{
    static const uint8_t path[] = { ERNIC_QPS_INIT, ERNIC_QPS_RTR, ERNIC_QPS_RTS };
    struct ernic_qp_attr attr = {
        .path_mtu = 3, .qkey = cpu_to_le32(QERNIC_QKEY),
        .rq_psn = cpu_to_le32(0x1000 + peer->qpn),
        .sq_psn = cpu_to_le32(0x1000 + qp->qpn), .dest_qpn = cpu_to_le32(peer->qpn),
        .port = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 1,
        .max_rd_atomic = 4, .max_dest_rd_atomic = 4,
        .access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ |
                              ERNIC_ACCESS_REMOTE_ATOMIC),
        .av.hop_limit = 64,
    };

    /* UC has neither READ nor atomics. */
    if (qp->type == ERNIC_QPT_UC) {
        attr.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE);
    }
    memcpy(attr.av.dgid, peer->q->gid, sizeof(attr.av.dgid));
    attr.av.dmac[0] = 0x52;
    attr.av.dmac[1] = 0x54;
    attr.av.dmac[5] = peer->q->gid[15];
    for (size_t i = 0; i < ARRAY_SIZE(path); i++) {
        attr.mask = cpu_to_le32(ERNIC_QPA_STATE | required(qp->type, path[i]));
        attr.state = path[i];
        g_assert_cmpuint(modify_qp(qp, &attr), ==, ERNIC_OK);
    }
}

static QErnic no_device = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 9 } };
const QErnicQp qernic_nobody = { .q = &no_device, .qpn = 5 };

void qernic_pair(QErnic *a, QErnic *b, QErnicQp *x, QErnicQp *y, uint8_t type)
{
    qernic_qp_create(a, x, type);
    qernic_qp_create(b, y, type);
    qernic_qp_connect(x, y);
    qernic_qp_connect(y, x);
}

void qernic_pair_record(QErnic *q, QErnicQp *x, QErnicQp *y)
{
    qernic_qp_record(q, x, ERNIC_QPT_RC);
    qernic_qp_record(q, y, ERNIC_QPT_RC);
    qernic_qp_connect(x, y);
    qernic_qp_connect(y, x);
}

void qernic_self(QErnic *q, QErnicQp *qp, uint8_t type)
{
    qernic_qp_create(q, qp, type);
    qernic_qp_connect(qp, qp);
}

static void ring(QErnicQp *qp, unsigned kind, uint32_t queue, uint32_t index)
{
    qernic_doorbell(qp->q, 0, ERNIC_DB(kind, queue, index));
}

/* Writes the index of what is posted to a record. */
static void set_record(QErnic *q, uint64_t record, uint32_t pi)
{
    qtest_writel(q->qts, record + offsetof(struct ernic_record, pi), pi);
}

uint32_t qernic_wake(QErnic *q, uint64_t record)
{
    return qtest_readl(q->qts, record + offsetof(struct ernic_record, wake));
}

void qernic_post_recv(QErnicQp *qp, uint64_t at, uint32_t len)
{
    struct {
        struct ernic_rwqe head;
        struct ernic_sge sge;
    } wqe = {
        .head = { .wr_id = cpu_to_le64(qp->rq_pi), .num_sge = cpu_to_le16(1) },
        .sge = { .addr = cpu_to_le64(qp->q->buf + at),
                 .length = cpu_to_le32(len), .lkey = cpu_to_le32(qp->q->key) },
    };

    qtest_memwrite(qp->q->qts, qp->rq + qp->rq_pi % QERNIC_DEPTH * 64, &wqe, sizeof(wqe));
    if (qp->rq_record) {
        set_record(qp->q, qp->rq_record, ++qp->rq_pi);
    } else {
        ring(qp, ERNIC_DB_RQ, qp->qpn, ++qp->rq_pi);
    }
}

void qernic_post_send(QErnicQp *qp, struct ernic_wqe *wqe, uint64_t at, uint32_t len)
{
    uint64_t slot = qp->sq + qp->sq_pi % QERNIC_DEPTH * SQ_STRIDE * 64;
    struct ernic_sge sge = {
        .addr = cpu_to_le64(qp->q->buf + at), .length = cpu_to_le32(len),
        .lkey = cpu_to_le32(qp->q->key),
    };

    wqe->wr_id = cpu_to_le64(qp->sq_pi);
    wqe->count = cpu_to_le16(1);
    wqe->flags |= ERNIC_WR_SIGNALED;
    qtest_memwrite(qp->q->qts, slot, wqe, sizeof(*wqe));
    qtest_memwrite(qp->q->qts, slot + SGE_OFFSET, &sge, sizeof(sge));
    if (!qp->sq_record) {
        ring(qp, ERNIC_DB_SQ, qp->qpn, ++qp->sq_pi);
        return;
    }
    set_record(qp->q, qp->sq_record, ++qp->sq_pi);
    if (!qp->rings_later && qernic_wake(qp->q, qp->sq_record) == qp->sq_pi - 1) {
        ring(qp, ERNIC_DB_SQ, qp->qpn, 0);
    }
}

void qernic_send(QErnicQp *qp, uint64_t at, uint32_t len)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };

    qernic_post_send(qp, &wqe, at, len);
}

void qernic_post_write(QErnicQp *qp, uint64_t at, uint32_t len, uint64_t raddr,
                       uint32_t rkey)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_WRITE,
        .rdma = { .raddr = cpu_to_le64(raddr), .rkey = cpu_to_le32(rkey) },
    };

    qernic_post_send(qp, &wqe, at, len);
}

static void next_cqe(QErnicQp *qp, struct ernic_cqe *cqe)
{
    uint32_t slot = qp->cq.ci % (QERNIC_DEPTH * 2);

    qtest_memread(qp->q->qts, qp->cq.ring + slot * sizeof(*cqe), cqe, sizeof(*cqe));
}

bool qernic_has_cqe(QErnicQp *qp)
{
    struct ernic_cqe cqe;

    next_cqe(qp, &cqe);
    return (cqe.flags & ERNIC_CQE_PHASE) == !(qp->cq.ci / (QERNIC_DEPTH * 2) & 1);
}

void qernic_poll(QErnicQp *qp, struct ernic_cqe *cqe)
{
    qernic_wait_while(qp->q->qts, !qernic_has_cqe(qp));
    next_cqe(qp, cqe);
    ring(qp, ERNIC_DB_CQ, qp->cq.cqn, ++qp->cq.ci);
}

void qernic_done(QErnicQp *qp)
{
    struct ernic_cqe cqe;

    qernic_poll(qp, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
}

void qernic_message(QErnicQp *x, QErnicQp *y, uint32_t len)
{
    qernic_post_recv(y, 4096, len);
    qernic_send(x, 0, len);
    qernic_done(y);
    qernic_done(x);
}

static void alloc_rings(QErnic *q)
{
    q->cmd_ring = guest_alloc(q->alloc, 4096);
    q->rsp_ring = guest_alloc(q->alloc, 4096);
    q->scratch = guest_alloc(q->alloc, 4096);
}

void qernic_init(QErnic *q, const char *id, QPCIBus *bus, int devfn,
                 QGuestAllocator *alloc)
{
    QPCIDevice *dev = qpci_device_find(bus, devfn);

    g_assert_nonnull(dev);
    *q = (QErnic) { .dev = *dev, .qts = bus->qts, .alloc = alloc, .id = id };
    g_free(dev);
    qpci_device_enable(&q->dev);
    /* The xib shell has no such BAR. */
    if (qpci_config_readl(&q->dev, PCI_BASE_ADDRESS_0 + 4 * ERNIC_BAR_REGS)) {
        q->bar = qpci_iomap(&q->dev, ERNIC_BAR_REGS, NULL);
    }
    alloc_rings(q);
}

static void config_bits(QPCIDevice *dev, uint8_t at, uint16_t bits, bool on)
{
    uint16_t value = qpci_config_readw(dev, at);

    qpci_config_writew(dev, at, on ? value | bits : value & ~bits);
}

void qernic_set_master(QPCIDevice *dev, bool on)
{
    config_bits(dev, PCI_COMMAND, PCI_COMMAND_MASTER, on);
}

void qernic_msix_bits(QPCIDevice *dev, uint16_t bits, bool on)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_MSIX, 0);

    config_bits(dev, at + PCI_MSIX_FLAGS, bits, on);
}

void qernic_flr(QPCIDevice *dev)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_EXP, 0);

    config_bits(dev, at + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, true);
}

void qernic_place(QPCIDevice *dev, QPCIBar *bar, int number, uint64_t addr)
{
    qpci_config_writel(dev, PCI_BASE_ADDRESS_0 + 4 * number, addr);
    qpci_config_writel(dev, PCI_BASE_ADDRESS_0 + 4 * number + 4, addr >> 32);
    bar->addr = addr;
}

void qernic_power(QPCIDevice *dev, uint16_t state)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
    uint16_t ctrl = qpci_config_readw(dev, at) & ~PCI_PM_CTRL_STATE_MASK;

    qpci_config_writew(dev, at, ctrl | state);
}

static uint64_t vector_at(QPCIDevice *dev, uint32_t vector)
{
    return dev->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;
}

void qernic_mask(QPCIDevice *dev, uint32_t vector, bool on)
{
    qpci_io_writel(dev, dev->msix_table_bar,
                   vector_at(dev, vector) + PCI_MSIX_ENTRY_VECTOR_CTRL,
                   on ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

/* QEMU writes the words of an entry one after the other. */
void qernic_aim(QPCIDevice *dev, uint32_t vector, uint64_t addr, uint32_t value)
{
    uint32_t entry[] = { cpu_to_le32(addr), cpu_to_le32(addr >> 32), cpu_to_le32(value),
                         0 };

    qpci_memwrite(dev, dev->msix_table_bar, vector_at(dev, vector), entry, sizeof(entry));
}
