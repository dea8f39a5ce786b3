/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decode send requests of the verbs interface: one access to the ring, then all checks
 * that need only the request. Keys, paths and credits are checked later.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "base/ib_spec.h"
#include "interfaces/verbs/wqe_decode.h"
#include "objects/wq.h"
#include "trace.h"

#define SLOT_MAX (ERNIC_SQ_STRIDE_MAX * ERNIC_SLOT_UNIT)
#define HEAD_SIZE sizeof(struct ernic_wqe)
/* No slot holds more inline bytes than ErnicWqe. */
QEMU_BUILD_BUG_ON(SLOT_MAX != HEAD_SIZE + ERNIC_MAX_INLINE);
QEMU_BUILD_BUG_ON(SLOT_MAX < HEAD_SIZE +
                             ERNIC_MAX_SGE * sizeof(struct ernic_sge));

#define FLOW_LABEL_MASK 0xfffffu

/* ---- checks -------------------------------------------------------------- */

/* A slot, aligned for its structures. */
typedef union Slot {
    struct ernic_wqe head;
    uint8_t bytes[SLOT_MAX];
} Slot;

static ErnicFault refuse(const ErnicWqe *wqe, ErnicFault fault,
                         const char *why)
{
    trace_ernic_guest_wqe(wqe->index, wqe->opcode, why);
    return fault;
}

static ErnicFault parse_ud(const struct ernic_wqe_ud *ud, bool gsi,
                           ErnicWqe *wqe)
{
    uint16_t pkey_index = le16_to_cpu(ud->pkey_index);
    uint32_t flow_label = le32_to_cpu(ud->av.flow_label);

    if (!ernic_all_zero(ud->reserved, sizeof(ud->reserved)) ||
        !ernic_all_zero(ud->av.reserved, sizeof(ud->av.reserved))) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "reserved field");
    }
    if (flow_label > FLOW_LABEL_MASK) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "flow label over 20 bits");
    }
    if (pkey_index >= (gsi ? ERNIC_LIM_PKEY : 1)) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "P_Key index");
    }
    if (ud->av.sgid_index >= ERNIC_LIM_GID) {
        return refuse(wqe, ERNIC_FAULT_SEND_AV, "SGID index");
    }
    wqe->ud = *ud;
    wqe->ud.qkey = le32_to_cpu(ud->qkey);
    /* The field of the BTH has 24 bits; like other devices, ignore the upper ones. */
    wqe->ud.dest_qpn = le32_to_cpu(ud->dest_qpn) & ERNIC_QPN_MASK;
    wqe->ud.pkey_index = pkey_index;
    wqe->ud.av.flow_label = flow_label;
    return ERNIC_FAULT_NONE;
}

static void parse_reg_mr(const struct ernic_wqe_reg_mr *in,
                         struct ernic_wqe_reg_mr *out)
{
    *out = (struct ernic_wqe_reg_mr) {
        .key = le32_to_cpu(in->key),
        .access = le32_to_cpu(in->access),
        .iova = le64_to_cpu(in->iova),
        .length = le64_to_cpu(in->length),
        .list_addr = le64_to_cpu(in->list_addr),
        .npages = le32_to_cpu(in->npages),
        .page_shift = in->page_shift,
    };
}

static void parse_bind_mw(const struct ernic_wqe_bind_mw *in,
                          struct ernic_wqe_bind_mw *out)
{
    *out = (struct ernic_wqe_bind_mw) {
        .rkey = le32_to_cpu(in->rkey),
        .new_rkey = le32_to_cpu(in->new_rkey),
        .lkey = le32_to_cpu(in->lkey),
        .access = le32_to_cpu(in->access),
        .addr = le64_to_cpu(in->addr),
        .length = le64_to_cpu(in->length),
    };
}

/* The length is that of the range to flush; the message has no data. */
static ErnicFault parse_flush(const struct ernic_wqe_flush *in, ErnicWqe *wqe)
{
    uint32_t known = ERNIC_FLUSH_GLOBAL | ERNIC_FLUSH_PERSISTENT;

    if (!ernic_all_zero(in->reserved, sizeof(in->reserved))) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "reserved field");
    }
    if (!in->type || (in->type & ~known) || in->level > ERNIC_FLUSH_MR) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "placement type or level");
    }
    wqe->raddr = le64_to_cpu(in->raddr);
    wqe->rkey = le32_to_cpu(in->rkey);
    wqe->compare_add = le32_to_cpu(in->length);
    wqe->swap = in->level << ERNIC_FETH_LEVEL_SHIFT | in->type;
    if (in->level == ERNIC_FLUSH_RANGE && wqe->compare_add > ERNIC_MSG_MAX) {
        return refuse(wqe, ERNIC_FAULT_SEND_LENGTH, "over 2^31 bytes");
    }
    return ERNIC_FAULT_NONE;
}
QEMU_BUILD_BUG_ON(ERNIC_FLUSH_GLOBAL != ERNIC_FETH_GLOBAL ||
                  ERNIC_FLUSH_PERSISTENT != ERNIC_FETH_PERSISTENT ||
                  ERNIC_FLUSH_RANGE != ERNIC_FETH_RANGE ||
                  ERNIC_FLUSH_MR != ERNIC_FETH_MR);

/* An XRC request names the SRQ of the peer; in all others this field is 0. */
static ErnicFault parse_xrc(const struct ernic_wqe *head,
                            ErnicTransport transport, ErnicWqe *wqe)
{
    uint32_t srq = le32_to_cpu(head->send.xrc_srq);

    if (srq && transport != ERNIC_XRC) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "reserved field");
    }
    if (srq > ERNIC_QPN_MASK) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "SRQ number over 24 bits");
    }
    wqe->xrc_srq = srq;
    return ERNIC_FAULT_NONE;
}

/* Parse the 48 bytes with a layout that depends on the opcode. */
static ErnicFault parse_operand(const struct ernic_wqe *head,
                                ErnicTransport transport, bool gsi,
                                ErnicWqe *wqe)
{
    bool clean;

    switch (wqe->opcode) {
    case ERNIC_WR_WRITE:
    case ERNIC_WR_WRITE_IMM:
    case ERNIC_WR_READ:
    case ERNIC_WR_ATOMIC_WRITE:
        clean = ernic_all_zero(head->rdma.reserved, sizeof(head->rdma.reserved));
        wqe->raddr = le64_to_cpu(head->rdma.raddr);
        wqe->rkey = le32_to_cpu(head->rdma.rkey);
        break;
    case ERNIC_WR_CMP_SWAP:
    case ERNIC_WR_FETCH_ADD:
        clean = !head->atomic.reserved0 &&
                ernic_all_zero(head->atomic.reserved1,
                               sizeof(head->atomic.reserved1));
        wqe->raddr = le64_to_cpu(head->atomic.raddr);
        wqe->rkey = le32_to_cpu(head->atomic.rkey);
        wqe->compare_add = le64_to_cpu(head->atomic.compare_add);
        wqe->swap = le64_to_cpu(head->atomic.swap);
        break;
    case ERNIC_WR_FLUSH:
        return parse_flush(&head->flush, wqe);
    case ERNIC_WR_REG_MR:
        clean = ernic_all_zero(head->reg_mr.reserved, sizeof(head->reg_mr.reserved));
        parse_reg_mr(&head->reg_mr, &wqe->reg_mr);
        break;
    case ERNIC_WR_BIND_MW:
        clean = ernic_all_zero(head->bind_mw.reserved,
                               sizeof(head->bind_mw.reserved));
        parse_bind_mw(&head->bind_mw, &wqe->bind_mw);
        break;
    default:
        if (transport == ERNIC_UD) {
            return parse_ud(&head->ud, gsi, wqe);
        }
        clean = ernic_all_zero(head->send.reserved, sizeof(head->send.reserved));
        break;
    case ERNIC_WR_LOCAL_INV:
        clean = ernic_all_zero(head->raw, sizeof(head->raw));
        break;
    }
    if (!clean) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "reserved field");
    }
    return ernic_wr(wqe->opcode)->flags & ERNIC_WRF_LOCAL ?
           ERNIC_FAULT_NONE : parse_xrc(head, transport, wqe);
}

static ErnicFault parse_inline(const Slot *slot, uint32_t stride,
                               uint32_t count, ErnicWqe *wqe)
{
    if (HEAD_SIZE + count > stride) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "too many inline bytes");
    }
    memcpy(wqe->data, slot->bytes + HEAD_SIZE, count);
    wqe->len = count;
    return ERNIC_FAULT_NONE;
}

static ErnicFault parse_sges(const Slot *slot, uint32_t stride, uint32_t count,
                             const ErnicWr *wr, ErnicWqe *wqe)
{
    struct ernic_sge sge;
    uint64_t len = 0;
    uint32_t i;

    if (count > wr->max_sge ||
        HEAD_SIZE + count * sizeof(struct ernic_sge) > stride) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "too many SGEs");
    }
    for (i = 0; i < count; i++) {
        memcpy(&sge, slot->bytes + HEAD_SIZE + i * sizeof(sge), sizeof(sge));
        wqe->sge[i].addr = le64_to_cpu(sge.addr);
        wqe->sge[i].len = le32_to_cpu(sge.length);
        wqe->sge[i].lkey = le32_to_cpu(sge.lkey);
        len += wqe->sge[i].len;
    }
    wqe->num_sge = count;
    if (len > ERNIC_MSG_MAX) {
        return refuse(wqe, ERNIC_FAULT_SEND_LENGTH, "over 2^31 bytes");
    }
    wqe->len = len;
    return ERNIC_FAULT_NONE;
}

static ErnicFault check_length(const ErnicWr *wr, ErnicTransport transport,
                               uint32_t mtu, const ErnicWqe *wqe)
{
    /* 9.4.5: the response is 64 bits, for one SGE. */
    if (wr->flags & ERNIC_WRF_ATOMIC) {
        if (wqe->num_sge != 1) {
            return refuse(wqe, ERNIC_FAULT_SEND_WQE, "atomic without SGE");
        }
    }
    if ((wr->flags & (ERNIC_WRF_ATOMIC | ERNIC_WRF_WORD)) &&
        wqe->len != ERNIC_ATOMIC_LEN) {
        return refuse(wqe, ERNIC_FAULT_SEND_LENGTH, "atomic not 8 bytes");
    }
    /* A datagram has to fit one packet. */
    if (transport == ERNIC_UD && wqe->len > mtu) {
        return refuse(wqe, ERNIC_FAULT_SEND_LENGTH, "over the MTU");
    }
    if (transport == ERNIC_RAW && (wqe->len < ERNIC_ETH_LEN ||
                                   wqe->len > ERNIC_ETH_FRAME_MAX)) {
        return refuse(wqe, ERNIC_FAULT_SEND_LENGTH, "no frame");
    }
    return ERNIC_FAULT_NONE;
}

static ErnicFault check_head(const struct ernic_wqe *head, const ErnicWr *wr,
                             ErnicTransport transport, uint32_t uctx,
                             const ErnicWqe *wqe)
{
    if (head->opcode >= ERNIC_WR_COUNT) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "no such opcode");
    }
    if (!(wr->transports & (1 << transport))) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "opcode of another service");
    }
    if ((wr->flags & ERNIC_WRF_KERNEL) && uctx) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "opcode of the kernel");
    }
    if (head->flags & ~wr->allowed) {
        return refuse(wqe, ERNIC_FAULT_SEND_WQE, "flag");
    }
    return ERNIC_FAULT_NONE;
}

/* ---- fetch --------------------------------------------------------------- */

void ernic_wqe_fetch(Ernic *e, const ErnicBuf *ring, uint32_t depth,
                     uint32_t stride, uint32_t index, ErnicTransport transport,
                     bool gsi, uint32_t uctx, uint32_t mtu, ErnicWqe *wqe)
{
    uint64_t off = (uint64_t)(index & (depth - 1)) * stride;
    const ErnicWr *wr;
    uint32_t count;
    Slot slot;

    g_assert(stride >= HEAD_SIZE && stride <= SLOT_MAX);
    memset(wqe, 0, offsetof(ErnicWqe, sge));
    wqe->index = index;
    if (!ernic_buf_read(e, ring, off, &slot, stride)) {
        trace_ernic_guest_wqe_dma(index);
        wqe->fault = ERNIC_FAULT_SEND_FETCH;
        return;
    }
    wqe->wr_id = le64_to_cpu(slot.head.wr_id);
    wqe->flags = slot.head.flags & ERNIC_WR_FLAGS;
    wqe->opcode = slot.head.opcode;
    wr = ernic_wr(wqe->opcode);
    wqe->fault = check_head(&slot.head, wr, transport, uctx, wqe);
    if (wqe->fault) {
        wqe->opcode = wqe->opcode < ERNIC_WR_COUNT ? wqe->opcode : ERNIC_WR_SEND;
        return;
    }
    memcpy(wqe->imm, slot.head.imm, sizeof(wqe->imm));
    if (wr->flags & ERNIC_WRF_INV) {
        wqe->inv_rkey = ldl_le_p(slot.head.imm);
    }
    wqe->fault = parse_operand(&slot.head, transport, gsi, wqe);
    if (wqe->fault) {
        return;
    }
    count = le16_to_cpu(slot.head.count);
    wqe->fault = wqe->flags & ERNIC_WR_INLINE ?
        parse_inline(&slot, stride, count, wqe) :
        parse_sges(&slot, stride, count, wr, wqe);
    if (!wqe->fault) {
        wqe->fault = check_length(wr, transport, mtu, wqe);
    }
}
