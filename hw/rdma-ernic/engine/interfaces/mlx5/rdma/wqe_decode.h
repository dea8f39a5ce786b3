/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work requests in the layout of the mlx5 interface. A send request is a control
 * segment and others that depend on its opcode, in units of 16 bytes; it takes as many
 * blocks of 64 bytes as it needs. The caller has copied it.
 */
#ifndef ERNIC_INTERFACES_MLX5_WQE_DECODE_H
#define ERNIC_INTERFACES_MLX5_WQE_DECODE_H

#include "interfaces/mlx5/rdma/records.h"
#include "objects/qp.h"

/* Opcodes of requests that exist (MLX5_OPCODE_*). */
enum {
    ERNIC_MLX5_OP_NOP = 0x00,
    ERNIC_MLX5_OP_SEND_INV = 0x01,
    ERNIC_MLX5_OP_WRITE = 0x08,
    ERNIC_MLX5_OP_WRITE_IMM = 0x09,
    ERNIC_MLX5_OP_SEND = 0x0a,
    ERNIC_MLX5_OP_SEND_IMM = 0x0b,
    ERNIC_MLX5_OP_READ = 0x10,
    ERNIC_MLX5_OP_CMP_SWAP = 0x11,
    ERNIC_MLX5_OP_FETCH_ADD = 0x12,
    ERNIC_MLX5_OP_UMR = 0x25,
};

/*
 * The interface keeps in wr_id the parts of a request that its completion needs: the
 * opcode in the low byte, and in the next one the field ce of the control segment,
 * which says when a completion entry is written.
 */
#define ERNIC_MLX5_WR_OPCODE(wr_id)     ((uint8_t)(wr_id))
#define ERNIC_MLX5_WR_CE(wr_id)         ((uint32_t)((wr_id) >> 8 & 3))
enum {
    ERNIC_MLX5_CE_ERROR,                /* only with an error, also if flushed */
    ERNIC_MLX5_CE_FIRST_ERROR,          /* the same, but not if flushed */
    ERNIC_MLX5_CE_ALWAYS,
    ERNIC_MLX5_CE_EVENT,                /* always; the event is not forced */
};

/* wr_id of the request that begins with the block @bytes. */
uint64_t ernic_mlx5_wr_id(const uint8_t *bytes);
/* Number of segments in the request that begins with the block @bytes; 0: not valid. */
uint32_t ernic_mlx5_wqe_segments(const uint8_t *bytes);
/*
 * Decode the request of @segments segments at @bytes for @qp into @wqe, which is 0 but
 * for wr_id and its payload. Always sets an opcode that exists.
 */
void ernic_mlx5_wqe_decode(const Ernic *e, const ErnicQp *qp, const uint8_t *bytes,
                           uint32_t segments, ErnicWqe *wqe);
/*
 * umr.c: decode a UMR request, from the UMR control segment on, for key @key: one of
 * MR_UPDATE, BIND_MW and LOCAL_INV.
 */
ErnicFault ernic_mlx5_umr_decode(const Ernic *e, const ErnicQp *qp, uint32_t key,
                                 const uint8_t *bytes, uint32_t len, ErnicWqe *wqe);
/*
 * Decode the data segments of a receive request in the @len bytes at @bytes; a segment
 * with the key ERNIC_MLX5_END_KEY ends them.
 */
void ernic_mlx5_recv_decode(const uint8_t *bytes, uint32_t len, ErnicRecv *recv);

#endif /* ERNIC_INTERFACES_MLX5_WQE_DECODE_H */
