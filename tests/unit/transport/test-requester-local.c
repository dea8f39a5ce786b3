/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester's local work: requests that send no packet, requests that must not be
 * executed, and the order in which both complete.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dialog.h"
#include "test.h"

#define PSN DLG_SQ_PSN
#define WRITABLE (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)

/* ---- local operations ------------------------------------------------ */

/* A key that a REG_MR has made valid: pages of 4 KiB at DLG_SINK, iova 0. */
static uint32_t fast_key(Dialog *d)
{
    return fake_alloc_mr(d->e, d->pd, 16) + 1;
}

static struct ernic_wqe reg_mr(Dialog *d, uint32_t key)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_REG_MR, ERNIC_WR_SIGNALED);
    uint64_t list = fake_alloc(&d->env, 64, 64);

    fake_put64(&d->env, list, d->mem + DLG_SINK + 8192);
    fake_put64(&d->env, list + 8, d->mem + DLG_SINK);
    wqe.reg_mr.key = cpu_to_le32(key);
    wqe.reg_mr.access = cpu_to_le32(WRITABLE);
    wqe.reg_mr.iova = cpu_to_le64(0x7000);
    wqe.reg_mr.length = cpu_to_le64(8192);
    wqe.reg_mr.list_addr = cpu_to_le64(list);
    wqe.reg_mr.npages = cpu_to_le32(2);
    wqe.reg_mr.page_shift = 12;
    return wqe;
}

static struct ernic_wqe local_inv(Dialog *d, uint32_t key)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_LOCAL_INV, ERNIC_WR_SIGNALED);

    stl_le_p(wqe.imm, key);
    return wqe;
}

/* It takes effect and completes in the order of the queue. */
DIALOG_TEST("/req-local/reg-mr", ERNIC_QPT_RC, test_reg_mr)
{
    struct ernic_wqe wqe, write;
    struct ernic_cqe cqe;
    struct ernic_sge sge;
    uint32_t key;

    key = fast_key(d);
    memcpy(d->at + DLG_SINK + 8192 + 4000, d->peer, 96);
    memcpy(d->at + DLG_SINK, d->peer + 96, 100);
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    wqe = reg_mr(d, key);
    dlg_post_wqe(d, &wqe, 0, 0);
    write = dlg_wqe(d, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED);
    write.count = cpu_to_le16(1);
    sge = fake_sge(0x7000 + 4000, 196, key);
    fake_post_send(d->e, &d->qp, &write, &sge);
    OK(fake_ring_sq(d->e, &d->qp));

    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    SENT(d, WRITE_ONLY, .psn = PSN + 1, .va = DLG_RADDR, .rkey = DLG_RKEY, .dma_len = 196,
         .payload = d->peer, .payload_len = 196, .ackreq = true);
    dlg_no_wc(d);
    ACKED(d, PSN, 0, 1);
    cqe = SEND_WC(d, 1, SUCCESS);
    IS(cqe.opcode, ERNIC_WC_REG_MR);
    PEER_ACK(d, PSN + 1, 2);
    SEND_WC(d, 2, SUCCESS);
}

/*
 * A sent packet may have to be sent again, so its key stays valid until it is
 * acknowledged.
 */
DIALOG_TEST("/req-local/local-inv", ERNIC_QPT_RC, test_local_inv)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;
    uint32_t key;

    key = fast_key(d);
    wqe = reg_mr(d, key);
    dlg_post_wqe(d, &wqe, 0, 0);
    cqe = SEND_WC(d, 0, SUCCESS);
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    wqe = local_inv(d, key);
    dlg_post_wqe(d, &wqe, 0, 0);
    dlg_post(d, ERNIC_WR_SEND, 0, 11);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    QUIET(d);
    /* The key still works. */
    PEER_DATA(d, WRITE_ONLY, DLG_RQ_PSN, 0, 8, .va = 0x7000, .rkey = key, .dma_len = 8,
              .ackreq = true);
    SENT_ACK(d, DLG_RQ_PSN, 1);
    PEER_ACK(d, PSN, 1);
    SEND_WC(d, 1, SUCCESS);
    cqe = SEND_WC(d, 2, SUCCESS);
    IS(cqe.opcode, ERNIC_WC_LOCAL_INV);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + 1, 0, 11);
    PEER_DATA(d, WRITE_ONLY, DLG_RQ_PSN + 1, 0, 8, .va = 0x7000, .rkey = key,
              .dma_len = 8, .ackreq = true);
    dlg_ends(d, ERNIC_NAK_REM_ACC, DLG_RQ_PSN + 1, 1, ERNIC_EV_QP_ACCESS_ERR);
    SEND_WC(d, 3, WR_FLUSH_ERR);
}

/* A SEND of 10 bytes, and a LOCAL_INV that waits for its acknowledgement. */
static void open_inv(Dialog *d)
{
    struct ernic_wqe wqe;

    dlg_open(d, ERNIC_QPT_RC);
    wqe = reg_mr(d, fast_key(d));
    dlg_post_wqe(d, &wqe, 0, 0);
    SEND_WC(d, 0, SUCCESS);
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    wqe = local_inv(d, le32_to_cpu(wqe.reg_mr.key));
    dlg_post_wqe(d, &wqe, 0, 0);
}

/* A late ACK cancels a rewind; the waiting requests after it are not skipped. */
DIALOG_TEST_BY("/req-local/local-inv-late-ack", open_inv(d), test_local_inv_late_ack)
{
    dlg_post(d, ERNIC_WR_SEND, 0, 11);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    /* The link accepts no packet while the NAK and the late ACK arrive. */
    d->env.tx_busy = true;
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    PEER_ACK(d, PSN, 1);
    dlg_ready(d);
    SEND_WCS(d, 1, 2, SUCCESS);
    /* Packets that the link held back are sent as well. */
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + 1, 0, 11);
    PEER_ACK(d, PSN + 1, 2);
    SEND_WC(d, 3, SUCCESS);
}

/* The same with an RNR wait, in which no packet can be sent. */
DIALOG_TEST_BY("/req-local/local-inv-rnr", open_inv(d), test_local_inv_rnr)
{
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    PEER_NAK(d, ERNIC_AETH_RNR_NAK | 1, PSN, 0);
    PEER_ACK(d, PSN, 1);
    dlg_wait(d, 20000000);
    SEND_WCS(d, 1, 2, SUCCESS);
    while (dlg_pending(d)) {
        IS(dlg_take(d).psn, PSN);
    }
}

DIALOG_TEST("/req-local/bind-mw", ERNIC_QPT_RC, test_bind_mw)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;
    uint32_t key;

    wqe = dlg_bind_mw(d, &key);
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    dlg_post_wqe(d, &wqe, 0, 0);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    /* Bound in its turn, whether or not earlier requests are acknowledged. */
    PEER_DATA(d, WRITE_ONLY, DLG_RQ_PSN, 0, 64, .va = d->mem + DLG_SINK, .rkey = key,
              .dma_len = 64, .ackreq = true);
    SENT_ACK(d, DLG_RQ_PSN, 1);
    dlg_no_wc(d);
    ACKED(d, PSN, 0, 1);
    cqe = SEND_WC(d, 1, SUCCESS);
    IS(cqe.opcode, ERNIC_WC_BIND_MW);
    dlg_mem_is(d, DLG_SINK, d->peer, 64);
}

/* ---- requests that must not be executed ------------------------------ */

typedef struct Bad {
    const char *name;
    uint8_t opcode, status, event;
    void (*spoil)(Dialog *d, struct ernic_wqe *wqe, struct ernic_sge sge[16]);
} Bad;

#define SPOIL(NAME, ...)                                                    \
    static void NAME(Dialog *d, struct ernic_wqe *wqe,                      \
                     struct ernic_sge sge[16])                              \
    {                                                                       \
        __VA_ARGS__;                                                        \
    }

SPOIL(bad_opcode, wqe->opcode = ERNIC_WR_COUNT)
SPOIL(bad_flags, wqe->flags = 0x80)
SPOIL(bad_count, wqe->count = cpu_to_le16(17))
SPOIL(bad_reserved, wqe->rdma.reserved[31] = 1)
SPOIL(bad_operand, wqe->raw[0] = 1)
SPOIL(bad_inline, wqe->count = cpu_to_le16(0); wqe->flags |= ERNIC_WR_INLINE)
SPOIL(bad_lkey, sge[0].lkey ^= cpu_to_le32(1))
SPOIL(bad_range, sge[0].addr = cpu_to_le64(d->mem + DLG_MEM - 9))
SPOIL(bad_length, wqe->count = cpu_to_le16(2);
      sge[0].length = cpu_to_le32(0x80000000u);
      sge[1].length = cpu_to_le32(1))
SPOIL(bad_atomic_len, sge[0].length = cpu_to_le32(4))
SPOIL(bad_atomic_sges, wqe->count = cpu_to_le16(2))
SPOIL(bad_key, wqe->count = 0; stl_le_p(wqe->imm, 0xdead00))
SPOIL(bad_reg, wqe->count = 0; wqe->reg_mr.key = cpu_to_le32(0xdead00))
SPOIL(bad_bind, wqe->count = 0; wqe->bind_mw.rkey = cpu_to_le32(0xdead00))

static const Bad bads[] = {
    { "opcode", ERNIC_WR_SEND, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_opcode },
    { "flags", ERNIC_WR_SEND, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_flags },
    { "sge-count", ERNIC_WR_SEND, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_count },
    { "reserved", ERNIC_WR_WRITE, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_reserved },
    { "operand", ERNIC_WR_SEND, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_operand },
    { "inline-read", ERNIC_WR_READ, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_inline },
    { "lkey", ERNIC_WR_SEND, ERNIC_WC_LOC_PROT_ERR, 0, bad_lkey },
    { "range", ERNIC_WR_WRITE, ERNIC_WC_LOC_PROT_ERR, 0, bad_range },
    { "length", ERNIC_WR_SEND, ERNIC_WC_LOC_LEN_ERR, 0, bad_length },
    { "length-read", ERNIC_WR_READ, ERNIC_WC_LOC_LEN_ERR, 0, bad_length },
    { "atomic-length", ERNIC_WR_FETCH_ADD, ERNIC_WC_LOC_LEN_ERR, 0, bad_atomic_len },
    { "atomic-sges", ERNIC_WR_CMP_SWAP, ERNIC_WC_LOC_QP_OP_ERR, 0, bad_atomic_sges },
    { "local-inv", ERNIC_WR_LOCAL_INV, ERNIC_WC_MW_BIND_ERR, 0, bad_key },
    { "reg-mr", ERNIC_WR_REG_MR, ERNIC_WC_MW_BIND_ERR, 0, bad_reg },
    { "bind-mw", ERNIC_WR_BIND_MW, ERNIC_WC_MW_BIND_ERR, 0, bad_bind },
};

/*
 * The bad request completes after all earlier ones, with its own status; later ones and
 * the receive queue are flushed, and no packet is sent.
 */
ROW_TEST("/req-local/bad", bads, test_bad)
{
    const Bad *bad = data;
    struct ernic_sge sge[16];
    struct ernic_wqe wqe;
    Dialog d;

    dlg_open(&d, ERNIC_QPT_RC);
    for (uint32_t i = 0; i < 16; i++) {
        sge[i] = fake_sge(d.mem + 64 * i, 10, d.key);
    }
    sge[0].length = cpu_to_le32(bad->opcode == ERNIC_WR_CMP_SWAP ? 8 : 10);
    dlg_recv_many(&d, 2, DLG_SINK, 10);
    dlg_post_flags(&d, ERNIC_WR_SEND, 0, 0, 10);
    wqe = dlg_wqe(&d, bad->opcode, 0);
    wqe.count = cpu_to_le16(1);
    bad->spoil(&d, &wqe, sge);
    /* A count beyond the slot is only written into the header. */
    if (le16_to_cpu(wqe.count) > 16) {
        wqe.count = cpu_to_le16(16);
        fake_post_send(d.e, &d.qp, &wqe, sge);
        ((uint8_t *)fake_ptr(&d.env, fake_sq_slot(&d.qp, 1), 64))[2] = 17;
    } else {
        fake_post_send(d.e, &d.qp, &wqe, sge);
    }
    dlg_post(&d, ERNIC_WR_SEND, 0, 11);
    dlg_post_flags(&d, ERNIC_WR_SEND, 0, 0, 12);
    dlg_sent_message(&d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    dlg_nothing(&d);
    STATE_IS(&d, RTS);
    PEER_ACK(&d, PSN, 1);
    dlg_send_wc(&d, 1, bad->status);
    SEND_WCS(&d, 2, 3, WR_FLUSH_ERR);
    RECV_WCS(&d, 0, 1, WR_FLUSH_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);
}

/* A key that ends in the middle: packets that were sent before are not recalled. */
DIALOG_TEST("/req-local/bad/middle", ERNIC_QPT_RC, test_bad_middle)
{
    struct ernic_sge sge[2];
    struct ernic_wqe wqe;

    wqe = dlg_wqe(d, ERNIC_WR_SEND, ERNIC_WR_SIGNALED);
    wqe.count = cpu_to_le16(2);
    sge[0] = fake_sge(d->mem, 1500, d->key);
    sge[1] = fake_sge(d->mem, 1500, d->key ^ 1);
    fake_post_send(d->e, &d->qp, &wqe, sge);
    OK(fake_ring_sq(d->e, &d->qp));
    SENT_DATA(d, SEND_FIRST, PSN, 0, 1024);
    SEND_WC(d, 0, LOC_PROT_ERR);
    STATE_IS(d, ERR);
}

/* Guest memory errors, in the ring and at the data. */
TEST("/req-local/bad/dma", test_bad_dma)
{
    Dialog d;

    dlg_open(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_SEND, 0, 10);
    fake_fail_dma(&d.env, 2, false);
    SEND_WC(&d, 0, LOC_QP_OP_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);

    dlg_open(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_SEND, 0, 10);
    fake_fail_dma(&d.env, 1, false);
    SEND_WC(&d, 0, LOC_QP_OP_ERR);
    dlg_event(&d, ERNIC_EV_QP_FATAL);
    dlg_close(&d);
}

/* A request that only another service supports. */
DIALOG_TEST("/req-local/bad/service", ERNIC_QPT_UC, test_bad_service)
{
    struct ernic_wqe wqe;

    wqe = dlg_wqe(d, ERNIC_WR_READ, ERNIC_WR_SIGNALED);
    dlg_post_wqe(d, &wqe, 0, 16);
    SEND_WC(d, 0, LOC_QP_OP_ERR);
    STATE_IS(d, SQE);
}
