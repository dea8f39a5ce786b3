/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decode work requests. The offsets in segments are those of the layouts in
 * fields_queues.h.inc; the tests write requests by the layouts. Reserved fields are
 * ignored, as are signatures.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/ib_spec.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "trace.h"
#include "transport/qp.h"

#define SEGMENT         ERNIC_MLX5_SEGMENT
#define AV_SIZE         48

/* The longest request has a control segment, and then only data. */
QEMU_BUILD_BUG_ON(ERNIC_MLX5_WQE_SEGMENTS != 1 + ERNIC_WQE_SGE);
QEMU_BUILD_BUG_ON(ERNIC_MLX5_RECV_MAX / SEGMENT != ERNIC_RECV_SGE);

/* Data segment: the data follow. */
#define INLINE_DATA     0x80000000u
#define INLINE_LENGTH   0x3ffu
/* Data segment of a receive request: the device may pad. */
#define START_PADDING   0x80000000u
/* The length that 0 stands for in a data segment. */
#define LENGTH_OF_0     0x80000000u
/* Address vector: it has 48 bytes, with GIDs. */
#define AV_EXTENDED     0x80000000u

/* Fence modes (fm), and the others do not wait. */
enum { FENCE_READS = 2, FENCE_ALL = 3, FENCE_READS_TOO = 4 };

/* The engine's opcode; rows of others are 0, which is no opcode of a packet here. */
static const uint8_t opcodes[] = {
#define NO_OPCODE 0xff
    [0 ... ERNIC_MLX5_OP_UMR] = NO_OPCODE,
    [ERNIC_MLX5_OP_NOP] = ERNIC_WR_NOP,
    [ERNIC_MLX5_OP_SEND_INV] = ERNIC_WR_SEND_INV,
    [ERNIC_MLX5_OP_WRITE] = ERNIC_WR_WRITE,
    [ERNIC_MLX5_OP_WRITE_IMM] = ERNIC_WR_WRITE_IMM,
    [ERNIC_MLX5_OP_SEND] = ERNIC_WR_SEND,
    [ERNIC_MLX5_OP_SEND_IMM] = ERNIC_WR_SEND_IMM,
    [ERNIC_MLX5_OP_READ] = ERNIC_WR_READ,
    [ERNIC_MLX5_OP_CMP_SWAP] = ERNIC_WR_CMP_SWAP,
    [ERNIC_MLX5_OP_FETCH_ADD] = ERNIC_WR_FETCH_ADD,
    [ERNIC_MLX5_OP_UMR] = ERNIC_WR_MR_UPDATE,
};

/* The segments of a request that are not decoded yet. */
typedef struct Cursor {
    const uint8_t *at;
    uint32_t left;              /* bytes, a multiple of 16 */
} Cursor;

static ErnicFault refuse(const ErnicQp *qp, const ErnicWqe *wqe, ErnicFault fault,
                         const char *why)
{
    trace_ernic_guest_wqe(qp->sq.taken, ERNIC_MLX5_WR_OPCODE(wqe->wr_id), why);
    return fault;
}

/* The next @bytes, a multiple of 16; NULL: there are fewer. */
static const uint8_t *take(Cursor *c, uint32_t bytes)
{
    const uint8_t *at = c->at;

    if (bytes > c->left) {
        return NULL;
    }
    c->at += bytes;
    c->left -= bytes;
    return at;
}

/* ---- segments in front of the data ----------------------------------------------- */

static ErnicFault decode_av(const Ernic *e, const ErnicQp *qp, Cursor *c,
                            ErnicWqe *wqe)
{
    const uint8_t *av = take(c, AV_SIZE);
    uint32_t dest, grh;

    if (!av) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "no address vector");
    }
    dest = ldl_be_p(av + 8);
    grh = ldl_be_p(av + 28);
    if (!(dest & AV_EXTENDED)) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_AV, "address vector without GID");
    }
    if ((grh >> 20 & 0xff) >= ERNIC_LIM_GID) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_AV, "SGID index");
    }
    wqe->ud.qkey = ldl_be_p(av);
    wqe->ud.dest_qpn = dest & ERNIC_QPN_MASK;
    wqe->ud.pkey_index = qp->type == ERNIC_QPT_GSI ? qp->attr.pkey_index : 0;
    /* stat_rate_sl: the service level of Ethernet is in bits 3 to 1. */
    wqe->ud_priority = av[12] >> 1 & 7;
    wqe->ud_sport = lduw_be_p(av + 14);
    wqe->ud.av.sgid_index = grh >> 20;
    wqe->ud.av.flow_label = grh & 0xfffff;
    memcpy(wqe->ud.av.dmac, av + 20, sizeof(wqe->ud.av.dmac));
    wqe->ud.av.tclass = av[26];
    wqe->ud.av.hop_limit = av[27];
    memcpy(wqe->ud.av.dgid, av + 32, sizeof(wqe->ud.av.dgid));
    return ERNIC_FAULT_NONE;
}

/* The segments that say where the message goes. */
static ErnicFault decode_target(const Ernic *e, const ErnicQp *qp, const ErnicWr *wr,
                                Cursor *c, ErnicWqe *wqe)
{
    const uint8_t *seg;

    if (qp->transport == ERNIC_UD) {
        return decode_av(e, qp, c, wqe);
    }
    if (qp->transport == ERNIC_XRC) {
        seg = take(c, SEGMENT);
        if (!seg) {
            return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "no XRC segment");
        }
        wqe->xrc_srq = ldl_be_p(seg) & ERNIC_QPN_MASK;
    }
    if (wr->flags & (ERNIC_WRF_RETH | ERNIC_WRF_ATOMIC)) {
        seg = take(c, SEGMENT);
        if (!seg) {
            return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "no remote address");
        }
        wqe->raddr = ldq_be_p(seg);
        wqe->rkey = ldl_be_p(seg + 8);
    }
    if (wr->flags & ERNIC_WRF_ATOMIC) {
        seg = take(c, SEGMENT);
        if (!seg) {
            return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "no operands");
        }
        if (wqe->opcode == ERNIC_WR_CMP_SWAP) {
            wqe->swap = ldq_be_p(seg);
            wqe->compare_add = ldq_be_p(seg + 8);
        } else {
            wqe->compare_add = ldq_be_p(seg);
        }
    }
    return ERNIC_FAULT_NONE;
}

/* ---- data ------------------------------------------------------------------------ */

/*
 * A request with inline bytes and pointers. An entry for @len @bytes, which are before
 * @end of wqe->data: the entries grow towards the bytes.
 */
static ErnicFault add_piece(const ErnicQp *qp, ErnicWqe *wqe, const uint8_t *bytes,
                            uint32_t len, uint32_t *end)
{
    if ((wqe->num_sge + 1) * sizeof(ErnicSge) + len > *end) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "too many pieces");
    }
    *end -= len;
    memmove(wqe->data + *end, bytes, len);
    wqe->flags |= ERNIC_WR_INLINE;
    wqe->inlined |= 1ull << wqe->num_sge;
    wqe->sge[wqe->num_sge++] = (ErnicSge) { .addr = *end, .len = len };
    return ERNIC_FAULT_NONE;
}

/*
 * The bytes of the inline segment at @c, whose first word is @word: those before the
 * first pointer are one piece.
 */
static ErnicFault decode_inline(const ErnicQp *qp, const ErnicWr *wr, uint32_t word,
                                Cursor *c, ErnicWqe *wqe, uint32_t *end)
{
    uint32_t len = word & INLINE_LENGTH;
    const uint8_t *seg = take(c, ROUND_UP(4 + len, SEGMENT));

    if (!seg) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "inline bytes beyond the request");
    }
    if (!(wr->allowed & ERNIC_WR_INLINE) && len) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "inline bytes to be written");
    }
    if (len == 0) {
        return ERNIC_FAULT_NONE;
    }
    if (wqe->num_sge) {
        return add_piece(qp, wqe, seg + 4, len, end);
    }
    /* The request has no room for more. */
    g_assert(wqe->len + len <= ERNIC_WQE_INLINE);
    memcpy(wqe->data + wqe->len, seg + 4, len);
    wqe->len += len;
    wqe->flags |= ERNIC_WR_INLINE;
    return ERNIC_FAULT_NONE;
}

/* The gather list entry at @seg; 0 bytes stand for 2^31. */
static ErnicSge decode_pointer(const uint8_t *seg)
{
    return (ErnicSge) {
        .len = ldl_be_p(seg) ?: LENGTH_OF_0,
        .lkey = ldl_be_p(seg + 4),
        .addr = ldq_be_p(seg + 8),
    };
}

/* The pointer at @c, after inline bytes or not. */
static ErnicFault decode_entry(const ErnicQp *qp, Cursor *c, ErnicWqe *wqe,
                               uint32_t *end)
{
    ErnicFault fault = ERNIC_FAULT_NONE;

    if ((wqe->flags & ERNIC_WR_INLINE) && !wqe->num_sge) {
        fault = add_piece(qp, wqe, wqe->data, wqe->len, end);
    }
    if (!fault && wqe->inlined && (wqe->num_sge + 1) * sizeof(ErnicSge) > *end) {
        fault = refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "too many pieces");
    }
    if (!fault) {
        wqe->sge[wqe->num_sge++] = decode_pointer(take(c, SEGMENT));
    }
    return fault;
}

static ErnicFault decode_data(const ErnicQp *qp, const ErnicWr *wr, Cursor *c,
                              ErnicWqe *wqe)
{
    ErnicFault fault = ERNIC_FAULT_NONE;
    uint32_t end = ERNIC_WQE_INLINE, i;
    uint64_t len = 0;

    while (c->left && !fault) {
        uint32_t word = ldl_be_p(c->at);

        fault = word & INLINE_DATA ? decode_inline(qp, wr, word, c, wqe, &end) :
                                     decode_entry(qp, c, wqe, &end);
    }
    if (fault) {
        return fault;
    }
    for (i = 0; i < wqe->num_sge; i++) {
        len += wqe->sge[i].len;
    }
    if (len > ERNIC_MSG_MAX) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_LENGTH, "over 2^31 bytes");
    }
    wqe->len = wqe->num_sge ? len : wqe->len;
    if ((wr->flags & ERNIC_WRF_ATOMIC) &&
        (wqe->num_sge != 1 || wqe->len != ERNIC_ATOMIC_LEN)) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_LENGTH, "atomic not 8 bytes");
    }
    if (qp->transport == ERNIC_UD && wqe->len > ernic_qp_mtu(qp)) {
        return refuse(qp, wqe, ERNIC_FAULT_SEND_LENGTH, "over the MTU");
    }
    return ERNIC_FAULT_NONE;
}

/* ---- requests -------------------------------------------------------------------- */

uint64_t ernic_mlx5_wr_id(const uint8_t *bytes)
{
    return bytes[3] | (bytes[11] >> 2 & 3) << 8;
}

uint32_t ernic_mlx5_wqe_segments(const uint8_t *bytes)
{
    return bytes[7] & 0x7f;
}

/* Fence and solicited event, from the last byte of the control segment's flags. */
static uint8_t flags_of(uint8_t control, const ErnicWr *wr)
{
    uint8_t mode = control >> 5, flags = 0;

    if (mode >= FENCE_READS && mode <= FENCE_READS_TOO) {
        flags |= ERNIC_WR_FENCE;
    }
    if (control & 2) {
        flags |= ERNIC_WR_SOLICITED;
    }
    return flags & wr->allowed;
}

/* A UMR request, whose key says which of several requests it is. */
static ErnicFault decode_umr(const Ernic *e, const ErnicQp *qp, uint32_t key,
                             const Cursor *c, ErnicWqe *wqe)
{
    ErnicFault fault = ernic_mlx5_umr_decode(e, qp, key, c->at, c->left, wqe);

    if (!fault && !(ernic_wr(wqe->opcode)->transports & 1 << qp->transport)) {
        fault = refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "UMR of another service");
    }
    return fault;
}

void ernic_mlx5_wqe_decode(const Ernic *e, const ErnicQp *qp, const uint8_t *bytes,
                           uint32_t segments, ErnicWqe *wqe)
{
    Cursor c = { bytes + SEGMENT, (segments - 1) * SEGMENT };
    uint8_t opcode = bytes[3];
    const ErnicWr *wr;

    wqe->opcode = opcode < ARRAY_SIZE(opcodes) ? opcodes[opcode] : NO_OPCODE;
    wr = ernic_wr(wqe->opcode);
    if (!wr || !(wr->transports & 1 << qp->transport)) {
        wqe->opcode = ERNIC_WR_SEND;
        wqe->fault = refuse(qp, wqe, ERNIC_FAULT_SEND_WQE,
                            wr ? "opcode of another service" : "no such opcode");
        return;
    }
    if (ernic_mlx5_qp(e, qp->qpn)->umr && !(wr->flags & ERNIC_WRF_LOCAL)) {
        wqe->fault = refuse(qp, wqe, ERNIC_FAULT_SEND_WQE, "queue pair for UMR");
        return;
    }
    wqe->flags = flags_of(bytes[11], wr);
    if (wqe->opcode == ERNIC_WR_NOP) {
        return;
    }
    if (wqe->opcode == ERNIC_WR_MR_UPDATE) {
        wqe->fault = decode_umr(e, qp, ldl_be_p(bytes + 12), &c, wqe);
        return;
    }
    if (wr->flags & ERNIC_WRF_INV) {
        wqe->inv_rkey = ldl_be_p(bytes + 12);
    } else {
        memcpy(wqe->imm, bytes + 12, sizeof(wqe->imm));
    }
    wqe->fault = decode_target(e, qp, wr, &c, wqe);
    if (!wqe->fault) {
        wqe->fault = decode_data(qp, wr, &c, wqe);
    }
}

/* ---- receive requests ------------------------------------------------------------ */

void ernic_mlx5_recv_decode(const uint8_t *bytes, uint32_t len, ErnicRecv *recv)
{
    uint64_t total = 0;

    for (; len >= SEGMENT; bytes += SEGMENT, len -= SEGMENT) {
        ErnicSge sge = decode_pointer(bytes);

        /* Ethernet drivers ask for padding by this bit: it is no part of the length. */
        sge.len = (sge.len & ~START_PADDING) ?: LENGTH_OF_0;
        if (sge.lkey == ERNIC_MLX5_END_KEY) {
            break;
        }
        recv->sge[recv->num_sge++] = sge;
        total += sge.len;
    }
    /* No message is longer than this, so a larger sum may be cut. */
    recv->len = MIN(total, UINT32_MAX);
}
