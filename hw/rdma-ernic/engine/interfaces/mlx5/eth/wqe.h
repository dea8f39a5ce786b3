/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send requests of Ethernet queues: control segment, Ethernet segment with the first
 * bytes of the frame, data.
 */
#ifndef ERNIC_INTERFACES_MLX5_ETH_WQE_H
#define ERNIC_INTERFACES_MLX5_ETH_WQE_H

#include "base/fault.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"

/* MLX5_OPCODE_TSO */
#define ERNIC_MLX5_OP_LSO       0x0e
/* Data segments of the longest request: without control and Ethernet segment. */
#define ERNIC_MLX5_ETH_PIECES   (ERNIC_MLX5_WQE_SEGMENTS - 2)

/* cs_flags: compute the checksum of IPv4, and of TCP or UDP. */
enum { ERNIC_MLX5_SUM_L3 = 0x40, ERNIC_MLX5_SUM_L4 = 0x80 };

/* A part of the data: inline bytes, or memory. */
typedef struct ErnicMlx5EthPiece {
    const uint8_t *bytes;       /* NULL: in memory */
    ErnicSge sge;               /* of inline bytes only the length */
} ErnicMlx5EthPiece;

/* A decoded request, which points into the copy of its blocks. */
typedef struct ErnicMlx5EthWqe {
    uint8_t opcode;
    uint8_t ce;                 /* ERNIC_MLX5_CE_* */
    bool solicited;
    uint8_t sums;               /* ERNIC_MLX5_SUM_* */
    uint16_t mss;
    bool insert;                /* a tag of type @tpid, with @tci */
    uint16_t tpid, tci;
    const uint8_t *head;        /* the first bytes of the frame */
    uint32_t head_len;
    uint64_t len;               /* bytes of all pieces */
    uint32_t num;
    ErnicMlx5EthPiece piece[ERNIC_MLX5_ETH_PIECES];
} ErnicMlx5EthWqe;

/* The control segment at @bytes; the other fields are 0. */
void ernic_mlx5_eth_wqe_control(const uint8_t *bytes, ErnicMlx5EthWqe *wqe);
/* The other segments, of @segments in all. */
ErnicFault ernic_mlx5_eth_wqe_decode(const uint8_t *bytes, uint32_t segments,
                                     ErnicMlx5EthWqe *wqe);
/* Copy @len bytes of the data from byte @off on to @to; they exist. @pd: of the queue. */
ErnicFault ernic_mlx5_eth_wqe_gather(Ernic *e, uint32_t pd, const ErnicMlx5EthWqe *wqe,
                                     uint32_t off, uint8_t *to, uint32_t len);

#endif /* ERNIC_INTERFACES_MLX5_ETH_WQE_H */
