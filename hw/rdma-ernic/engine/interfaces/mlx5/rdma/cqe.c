/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion entries (mlx5_cqe64, mlx5_err_cqe): 64 bytes in version 1, with the user
 * index of the queue. The owner bit in the last byte changes with each pass of the ring.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/mlx5/rdma/cqe.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "objects/cq.h"
#include "objects/qp.h"

#define SOLICITED       0x02
#define OWNER           0x01
#define GRH_IN_BUFFER   (1u << 28)
/* MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV6, and IPV4. */
#define L3_IPV6         (1u << 24)
#define L3_IPV4         (2u << 24)

/* MLX5_CQE_SYNDROME_*, by the completion status of the fault (base/fault.c). */
static const uint8_t syndromes[ERNIC_WC_STATUS_COUNT] = {
    [ERNIC_WC_LOC_LEN_ERR] = 0x01,
    [ERNIC_WC_LOC_QP_OP_ERR] = 0x02,
    [ERNIC_WC_LOC_PROT_ERR] = 0x04,
    [ERNIC_WC_WR_FLUSH_ERR] = 0x05,
    [ERNIC_WC_MW_BIND_ERR] = 0x06,
    [ERNIC_WC_BAD_RESP_ERR] = 0x10,
    [ERNIC_WC_LOC_ACCESS_ERR] = 0x11,
    [ERNIC_WC_REM_INV_REQ_ERR] = 0x12,
    [ERNIC_WC_REM_ACCESS_ERR] = 0x13,
    [ERNIC_WC_REM_OP_ERR] = 0x14,
    [ERNIC_WC_RETRY_EXC_ERR] = 0x15,
    [ERNIC_WC_RNR_RETRY_EXC_ERR] = 0x16,
    [ERNIC_WC_REM_ABORT_ERR] = 0x22,
};

uint8_t ernic_mlx5_syndrome(ErnicFault fault)
{
    return syndromes[ernic_fault_info(fault)->wc];
}

/* The number by which software finds the queue: its own index, or that of the SRQ. */
static uint32_t queue_index(const Ernic *e, const ErnicWc *wc)
{
    const ErnicQp *qp = &e->qp[wc->qpn];
    uint32_t srq = wc->flags & ERNIC_CQE_XRC ? wc->src_qp : qp->srq;
    uint32_t index = wc->flags & ERNIC_CQE_XRC ? ernic_mlx5_srq(e, srq)->user_index :
                                                 ernic_mlx5_qp(e, wc->qpn)->user_index;

    if (index != ERNIC_MLX5_NO_INDEX) {
        return index;
    }
    return wc->flags & ERNIC_CQE_RQ ? srq : 0;
}

static uint8_t recv_opcode(const ErnicWc *wc)
{
    if (wc->opcode == ERNIC_WC_RECV_WRITE_IMM) {
        return CQE_RESP_WRITE_IMM;
    }
    return wc->flags & ERNIC_CQE_IMM ? CQE_RESP_SEND_IMM :
           wc->flags & ERNIC_CQE_INV ? CQE_RESP_SEND_INV : CQE_RESP_SEND;
}

/* The fields of a received message: sender, headers, immediate data. */
static void encode_recv(const Ernic *e, const ErnicWc *wc, uint8_t *entry)
{
    uint32_t flags = wc->flags & ERNIC_CQE_XRC ? 0 : wc->src_qp;

    if (wc->flags & ERNIC_CQE_GRH) {
        flags |= GRH_IN_BUFFER | (wc->ipv4 ? L3_IPV4 : L3_IPV6);
    }
    stl_be_p(entry + CQE_FLAGS_RQPN, flags);
    if (wc->flags & ERNIC_CQE_VLAN) {
        entry[CQE_L3_L4] = CQE_VLAN_STRIPPED;
        stw_be_p(entry + CQE_VLAN, wc->vlan);
    }
    if (wc->flags & ERNIC_CQE_IMM) {
        memcpy(entry + CQE_IMM, wc->imm, sizeof(wc->imm));
    } else if (wc->flags & ERNIC_CQE_INV) {
        stl_be_p(entry + CQE_IMM, ldl_le_p(wc->imm));
    } else if (e->qp[wc->qpn].type == ERNIC_QPT_GSI) {
        stl_be_p(entry + CQE_IMM, e->pkey[wc->pkey_index]);
    }
}

static void encode(const Ernic *e, const ErnicWc *wc, uint8_t *entry)
{
    bool recv = wc->flags & ERNIC_CQE_RQ, error = wc->status != ERNIC_WC_SUCCESS;
    uint8_t opcode = error ? (recv ? CQE_RESP_ERROR : CQE_REQ_ERROR) :
                             (recv ? recv_opcode(wc) : CQE_REQ);
    uint32_t sent = recv ? 0 : (uint32_t)ERNIC_MLX5_WR_OPCODE(wc->wr_id) << 24;

    stl_be_p(entry + CQE_INDEX, queue_index(e, wc));
    stl_be_p(entry + CQE_QPN, sent | wc->qpn);
    stw_be_p(entry + CQE_COUNTER, wc->index);
    if (error) {
        entry[CQE_VENDOR] = wc->fault;
        entry[CQE_SYNDROME] = syndromes[wc->status];
    } else {
        stl_be_p(entry + CQE_BYTES, wc->byte_len);
        stq_be_p(entry + CQE_TIME, e->now);
        if (recv) {
            encode_recv(e, wc, entry);
        }
    }
    entry[CQE_OWNER] = opcode << 4 | (wc->flags & ERNIC_CQE_SOLICITED ? SOLICITED : 0);
}

static void set_pass(uint8_t *entry, bool odd)
{
    entry[CQE_OWNER] = (entry[CQE_OWNER] & ~OWNER) | (odd ? OWNER : 0);
}

/* The record has the low 24 bits. */
static uint32_t consumed(const uint8_t *record, uint32_t pi)
{
    return pi - ((pi - ldl_be_p(record)) & 0xffffff);
}

const ErnicCqeOps ernic_cqe_mlx5 = {
    .encode = encode,
    .set_pass = set_pass,
    .consumed = consumed,
};

bool ernic_mlx5_cqe_resize(Ernic *e, uint32_t cqn)
{
    uint8_t entry[ERNIC_CQ_ENTRY] = { [CQE_OWNER] = CQE_RESIZE << 4 };

    ernic_charge(e, ERNIC_WORK_COMPLETE);
    return ernic_cq_append(e, cqn, entry);
}
