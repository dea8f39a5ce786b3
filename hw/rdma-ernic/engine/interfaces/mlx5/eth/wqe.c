/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decode send requests of Ethernet queues. The caller has copied the request; segments
 * are those of the layouts in fields_queues.h.inc.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/ib_spec.h"
#include "interfaces/mlx5/eth/wqe.h"

#define SEGMENT         ERNIC_MLX5_SEGMENT
/* The Ethernet segment (mlx5_wqe_eth_seg), and its fields. */
#define ETH             SEGMENT
#define ETH_SUMS        (ETH + 4)
#define ETH_MSS         (ETH + 6)
#define ETH_SIZE        (ETH + 12)
#define ETH_START       (ETH + 14)

/* Bits in place of the size of the header: a tag is inserted, or a trailer. */
#define INSERT_VLAN     0x8000
#define INSERT_TRAILER  0x4000
#define SERVICE_TAG     0x0001
#define ETHERTYPE_SVLAN 0x88a8

/* Data segment: the data follow. */
#define INLINE_DATA     0x80000000u
#define INLINE_LENGTH   0x3ffu
/* The length that 0 stands for in a data segment. */
#define LENGTH_OF_0     0x80000000u

void ernic_mlx5_eth_wqe_control(const uint8_t *bytes, ErnicMlx5EthWqe *wqe)
{
    wqe->opcode = ERNIC_MLX5_WR_OPCODE(ernic_mlx5_wr_id(bytes));
    wqe->ce = ERNIC_MLX5_WR_CE(ernic_mlx5_wr_id(bytes));
    wqe->solicited = bytes[11] & 2;
}

/* The Ethernet segment; *@at is the offset of the first data segment. */
static ErnicFault decode_head(const uint8_t *bytes, uint32_t segments,
                              ErnicMlx5EthWqe *wqe, uint32_t *at)
{
    uint16_t size = lduw_be_p(bytes + ETH_SIZE);

    wqe->sums = bytes[ETH_SUMS] & (ERNIC_MLX5_SUM_L3 | ERNIC_MLX5_SUM_L4);
    wqe->mss = lduw_be_p(bytes + ETH_MSS);
    wqe->head = bytes + ETH_START;
    *at = ETH + SEGMENT;
    if (size & INSERT_VLAN) {
        wqe->insert = true;
        wqe->tpid = size & SERVICE_TAG ? ETHERTYPE_SVLAN : ERNIC_ETHERTYPE_VLAN;
        wqe->tci = lduw_be_p(bytes + ETH_START);
        return ERNIC_FAULT_NONE;
    }
    if ((size & INSERT_TRAILER) || ETH_START + size > segments * SEGMENT) {
        return ERNIC_FAULT_SEND_WQE;
    }
    wqe->head_len = size;
    *at = MAX(*at, ROUND_UP(ETH_START + size, SEGMENT));
    return ERNIC_FAULT_NONE;
}

/* The data segment at *@at, of @left bytes at most, which is not empty. */
static ErnicFault decode_piece(const uint8_t *bytes, uint32_t *at, uint32_t left,
                               ErnicMlx5EthPiece *piece)
{
    uint32_t word = ldl_be_p(bytes + *at);
    const uint8_t *seg = bytes + *at;

    if (word & INLINE_DATA) {
        piece->bytes = seg + 4;
        piece->sge.len = word & INLINE_LENGTH;
        *at += ROUND_UP(4 + piece->sge.len, SEGMENT);
        return 4 + piece->sge.len > left ? ERNIC_FAULT_SEND_WQE : ERNIC_FAULT_NONE;
    }
    piece->sge = (ErnicSge) {
        .len = word ?: LENGTH_OF_0, .lkey = ldl_be_p(seg + 4), .addr = ldq_be_p(seg + 8),
    };
    *at += SEGMENT;
    return ERNIC_FAULT_NONE;
}

ErnicFault ernic_mlx5_eth_wqe_decode(const uint8_t *bytes, uint32_t segments,
                                     ErnicMlx5EthWqe *wqe)
{
    uint32_t end = segments * SEGMENT, at;
    ErnicFault fault;

    if (segments < 2) {
        return ERNIC_FAULT_SEND_WQE;
    }
    fault = decode_head(bytes, segments, wqe, &at);
    while (!fault && at < end) {
        ErnicMlx5EthPiece *piece = &wqe->piece[wqe->num++];

        *piece = (ErnicMlx5EthPiece) { 0 };
        fault = decode_piece(bytes, &at, end - at, piece);
        wqe->len += piece->sge.len;
    }
    return fault;
}

static ErnicFault gather_piece(Ernic *e, uint32_t pd, const ErnicMlx5EthPiece *piece,
                               uint32_t off, uint8_t *to, uint32_t len)
{
    ErnicDma dma;

    if (piece->bytes) {
        memcpy(to, piece->bytes + off, len);
        return ERNIC_FAULT_NONE;
    }
    dma = ernic_dma_gather(e, pd, &piece->sge, 1, off, to, len);
    /* A page that is absent is a fault, too: nobody could ask for it. */
    return dma == ERNIC_DMA_OK ? ERNIC_FAULT_NONE :
           dma == ERNIC_DMA_FAILED ? ERNIC_FAULT_SEND_DMA : ERNIC_FAULT_SEND_PROT;
}

ErnicFault ernic_mlx5_eth_wqe_gather(Ernic *e, uint32_t pd, const ErnicMlx5EthWqe *wqe,
                                     uint32_t off, uint8_t *to, uint32_t len)
{
    ErnicFault fault = ERNIC_FAULT_NONE;
    uint32_t i, n;

    for (i = 0; i < wqe->num && len && !fault; i++) {
        const ErnicMlx5EthPiece *piece = &wqe->piece[i];

        if (off >= piece->sge.len) {
            off -= piece->sge.len;
            continue;
        }
        n = MIN(piece->sge.len - off, len);
        fault = gather_piece(e, pd, piece, off, to, n);
        to += n;
        len -= n;
        off = 0;
    }
    return fault;
}
