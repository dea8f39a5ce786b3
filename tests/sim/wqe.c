/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send work requests in the format of the device, valid ones and invalid ones.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

#define QPN_MULTICAST 0xffffff

static void put_ud(SimMsg *m, struct ernic_wqe *w)
{
    SimQp *qp = m->qp;
    struct ernic_av *av = &w->ud.av;
    uint32_t v6 = m->dest ? (m->number ^ qp->id) & 1 : 1;

    w->ud.qkey = cpu_to_le32(m->pattern & 1 ? qp->qkey : 0x80000000u);
    if (m->wrong == SIM_WRONG_QKEY) {
        w->ud.qkey = cpu_to_le32(qp->qkey ^ 0x100);
    }
    if (m->dest) {
        memcpy(av->dgid, m->dest->host->gid[v6].raw, 16);
        memcpy(av->dmac, m->dest->host->mac, 6);
        w->ud.dest_qpn = cpu_to_le32(m->dest->qpn);
    } else {
        memcpy(av->dgid, qp->host->sim->group.raw, 16);
        w->ud.dest_qpn = cpu_to_le32(QPN_MULTICAST);
    }
    av->sgid_index = m->wrong == SIM_WRONG_UD_AV ? 63 : v6;
    av->hop_limit = 1 + m->pattern % 200;
    av->flow_label = cpu_to_le32(m->pattern & 0xfffff);
    av->tclass = qp->host->sim->plan.faults.mark ? 2 : 0;
}

static void put_remote(SimMsg *m, struct ernic_wqe *w)
{
    uint64_t raddr = m->raddr;
    uint32_t rkey = m->rkey;

    switch (m->wrong) {
    case SIM_WRONG_RKEY:
        rkey ^= 0x7fffff00;
        break;
    case SIM_WRONG_RKEY_RANGE:
        raddr = m->remote.mr->iova + m->remote.mr->length - 1;
        break;
    case SIM_WRONG_RKEY_RIGHT:
        rkey = m->qp->peer->host->source->key;
        raddr = m->qp->peer->host->source->iova;
        break;
    case SIM_WRONG_ALIGN:
        raddr += 4;
        break;
    }
    if (m->op == ERNIC_WR_CMP_SWAP || m->op == ERNIC_WR_FETCH_ADD) {
        bool swap = m->op == ERNIC_WR_CMP_SWAP;

        w->atomic.raddr = cpu_to_le64(raddr);
        w->atomic.rkey = cpu_to_le32(rkey);
        w->atomic.compare_add = cpu_to_le64(swap ? m->atomic_compare
                                                 : m->atomic_arg);
        w->atomic.swap = cpu_to_le64(swap ? m->atomic_arg : 0);
    } else {
        w->rdma.raddr = cpu_to_le64(raddr);
        w->rdma.rkey = cpu_to_le32(rkey);
    }
    if (m->op == ERNIC_WR_FLUSH) {
        w->flush.length = cpu_to_le32(m->len);
        w->flush.type = ERNIC_FLUSH_GLOBAL;
        w->flush.level = m->whole ? ERNIC_FLUSH_MR : ERNIC_FLUSH_RANGE;
    }
}

static void put_local(SimMsg *m, struct ernic_wqe *w)
{
    SimWin *win = m->win;
    SimHost *h = m->qp->host;
    uint32_t i;

    if (m->op == ERNIC_WR_LOCAL_INV) {
        stl_le_p(w->imm, win->mr.key);
    } else if (m->op == ERNIC_WR_REG_MR) {
        for (i = 0; i < win->mr.npages; i++) {
            stq_le_p(sim_mem(h, win->list + i * 8ull), win->mr.page[i]);
        }
        w->reg_mr.key = cpu_to_le32(win->mr.key);
        w->reg_mr.access = cpu_to_le32(win->mr.access);
        w->reg_mr.iova = cpu_to_le64(win->mr.iova);
        w->reg_mr.length = cpu_to_le64(win->mr.length);
        w->reg_mr.list_addr = cpu_to_le64(win->list);
        w->reg_mr.npages = cpu_to_le32(win->mr.npages);
        w->reg_mr.page_shift = win->mr.page_shift;
    } else {
        w->bind_mw.rkey = cpu_to_le32(m->rkey);
        w->bind_mw.new_rkey = cpu_to_le32(win->mr.key);
        w->bind_mw.lkey = cpu_to_le32(win->mr.parent->key);
        w->bind_mw.access = cpu_to_le32(win->mr.access);
        w->bind_mw.addr = cpu_to_le64(win->mr.iova);
        w->bind_mw.length = cpu_to_le64(win->mr.length);
    }
}

struct ernic_sge sim_sge(const SimPiece *piece)
{
    return (struct ernic_sge) {
        .addr = cpu_to_le64(piece->mr->iova + piece->off),
        .length = cpu_to_le32(piece->len),
        .lkey = cpu_to_le32(piece->mr->key),
    };
}

static void put_sges(SimMsg *m, struct ernic_wqe *w, uint8_t *p)
{
    SimHost *h = m->qp->host;
    uint32_t i;

    w->count = cpu_to_le16(m->sg.n);
    for (i = 0; i < m->sg.n; i++) {
        const SimPiece *piece = &m->sg.piece[i];
        struct ernic_sge sge = sim_sge(piece);

        switch (m->wrong) {
        case SIM_WRONG_LKEY:
            sge.lkey ^= cpu_to_le32(0x41);
            break;
        case SIM_WRONG_LKEY_RANGE:
            sge.addr = cpu_to_le64(piece->mr->iova + piece->mr->length -
                                   piece->len + 1);
            break;
        case SIM_WRONG_LKEY_PD:
            sge.addr = cpu_to_le64(h->foreign->iova);
            sge.lkey = cpu_to_le32(h->foreign->key);
            break;
        case SIM_WRONG_LONG:
            sge.length = cpu_to_le32(i ? 16 : 0x80000001u);
            break;
        }
        memcpy(p + sizeof(*w) + i * sizeof(sge), &sge, sizeof(sge));
    }
}

static void put_lies(SimMsg *m, struct ernic_wqe *w)
{
    SimQp *qp = m->qp;

    switch (m->wrong) {
    case SIM_WRONG_OPCODE:
        w->opcode = 32 + sim_below(&qp->rng, 200);
        break;
    case SIM_WRONG_COUNT:
        w->count = cpu_to_le16(sim_percent(&qp->rng, 50) ? 0xffff
                               : qp->sq_stride * 4 - 3);
        break;
    case SIM_WRONG_FLAGS:
        w->flags |= 0x10 << sim_below(&qp->rng, 4);
        break;
    case SIM_WRONG_UC_READ:
        w->opcode = ERNIC_WR_READ;
        break;
    }
}

/* Write @m into the slot of its index; the rest of the slot is garbage. */
void sim_wqe_write(SimMsg *m)
{
    SimQp *qp = m->qp;
    uint8_t *p = sim_mem(qp->host, qp->sq_ring +
                         (uint64_t)(m->index % qp->sq_depth) * qp->sq_stride * 64);
    struct ernic_wqe w = {
        .opcode = m->op, .flags = m->flags, .wr_id = cpu_to_le64(m->wr_id),
    };

    memset(p, 0x5a, qp->sq_stride * 64);
    switch (m->op) {
    case ERNIC_WR_LOCAL_INV:
    case ERNIC_WR_REG_MR:
    case ERNIC_WR_BIND_MW:
        put_local(m, &w);
        break;
    case ERNIC_WR_SEND_INV:
        stl_le_p(w.imm, m->win->mr.key);
        break;
    case ERNIC_WR_SEND:
        break;
    case ERNIC_WR_SEND_IMM:
        stl_be_p(w.imm, m->imm);
        break;
    default:
        if (m->op == ERNIC_WR_WRITE_IMM) {
            stl_be_p(w.imm, m->imm);
        }
        put_remote(m, &w);
    }
    if (qp->type == ERNIC_QPT_UD) {
        put_ud(m, &w);
    }
    if (m->flags & ERNIC_WR_INLINE) {
        w.count = cpu_to_le16(m->len);
        sim_pattern(m->pattern, m->pattern_off, p + sizeof(w), m->len);
    } else if (m->op != ERNIC_WR_LOCAL_INV && m->op != ERNIC_WR_REG_MR &&
               m->op != ERNIC_WR_BIND_MW) {
        put_sges(m, &w, p);
    }
    put_lies(m, &w);
    memcpy(p, &w, sizeof(w));
}
