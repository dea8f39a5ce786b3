/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester's local work: requests that send no packet, requests that must not be
 * executed, and the order in which both complete.
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define PSN DLG_SQ_PSN
#define WRITABLE (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)

static struct ernic_wqe reg_mr(Dialog *d, uint32_t key)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_REG_MR, ERNIC_WR_SIGNALED);
    uint64_t list = fake_alloc(&d->env, 64, 64);

    fake_put64(&d->env, list, d->mem + DLG_SINK + 8192);
    fake_put64(&d->env, list + 8, d->mem + DLG_SINK);
    wqe.reg_mr = (struct ernic_wqe_reg_mr) {
        .key = cpu_to_le32(key), .access = cpu_to_le32(WRITABLE),
        .iova = cpu_to_le64(0x7000), .length = cpu_to_le64(8192),
        .list_addr = cpu_to_le64(list), .npages = cpu_to_le32(2), .page_shift = 12,
    };
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
    struct ernic_sge sge;
    uint32_t key = fake_alloc_mr(d->e, d->pd, 16) + 1;

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
    IS(SEND_WC(d, 1, SUCCESS).opcode, ERNIC_WC_REG_MR);
    PEER_ACK(d, PSN + 1, 2);
    SEND_WC(d, 2, SUCCESS);
}

/* A SEND of 10 bytes, and a LOCAL_INV that waits for its acknowledgement. */
static void open_inv(Dialog *d)
{
    struct ernic_wqe wqe;

    dlg_open(d, ERNIC_QPT_RC);
    wqe = reg_mr(d, fake_alloc_mr(d->e, d->pd, 16) + 1);
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
    fake_tx_ready(d->e);
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

/*
 * The bad request @wqe completes after all earlier ones, with its own status; later ones
 * and the receive queue are flushed, and no packet is sent.
 */
static void bad_request(Dialog *d, struct ernic_wqe *wqe, const struct ernic_sge *sge,
                        uint8_t status)
{
    uint16_t count = le16_to_cpu(wqe->count);

    dlg_recv_many(d, 2, DLG_SINK, 10);
    dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 10);
    wqe->count = cpu_to_le16(MIN(count, 16));
    wqe->wr_id = cpu_to_le64(d->qp.sq_pi);
    fake_post_send(d->e, &d->qp, wqe, sge);
    /* A count beyond the slot is only written into the header. */
    stw_le_p((uint8_t *)fake_ptr(&d->env, fake_sq_slot(&d->qp, 1), 64) + 2, count);
    dlg_post(d, ERNIC_WR_SEND, 0, 11);
    dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 12);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 10);
    dlg_nothing(d);
    STATE_IS(d, RTS);
    PEER_ACK(d, PSN, 1);
    dlg_send_wc(d, 1, status);
    SEND_WCS(d, 2, 3, WR_FLUSH_ERR);
    RECV_WCS(d, 0, 1, WR_FLUSH_ERR);
    STATE_IS(d, ERR);
}

#define BAD_TEST(NAME, OPCODE, STATUS, CHANGE)                              \
    DIALOG_TEST("/req-local/bad/" #NAME, ERNIC_QPT_RC, test_bad_##NAME)     \
    {                                                                       \
        struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_##OPCODE, 0);            \
        struct ernic_sge sge[16];                                           \
                                                                            \
        for (uint32_t i = 0; i < 16; i++) {                                 \
            sge[i] = fake_sge(d->mem + 64 * i, 10, d->key);                 \
        }                                                                   \
        wqe.count = cpu_to_le16(1);                                         \
        CHANGE;                                                             \
        bad_request(d, &wqe, sge, ERNIC_WC_##STATUS);                       \
    }

BAD_TEST(opcode, SEND, LOC_QP_OP_ERR, wqe.opcode = ERNIC_WR_COUNT)
BAD_TEST(flags, SEND, LOC_QP_OP_ERR, wqe.flags = 0x80)
BAD_TEST(sge_count, SEND, LOC_QP_OP_ERR, wqe.count = cpu_to_le16(17))
BAD_TEST(reserved, WRITE, LOC_QP_OP_ERR, wqe.rdma.reserved[31] = 1)
BAD_TEST(operand, SEND, LOC_QP_OP_ERR, wqe.raw[0] = 1)
BAD_TEST(inline_read, READ, LOC_QP_OP_ERR, wqe.count = 0; wqe.flags |= ERNIC_WR_INLINE)
BAD_TEST(lkey, SEND, LOC_PROT_ERR, sge[0].lkey ^= cpu_to_le32(1))
BAD_TEST(range, WRITE, LOC_PROT_ERR, sge[0].addr = cpu_to_le64(d->mem + DLG_MEM - 9))
#define TOO_LONG \
    wqe.count = cpu_to_le16(2); sge[0].length = cpu_to_le32(0x80000000u); \
    sge[1].length = cpu_to_le32(1)
BAD_TEST(length, SEND, LOC_LEN_ERR, TOO_LONG)
BAD_TEST(length_read, READ, LOC_LEN_ERR, TOO_LONG)
BAD_TEST(atomic_length, FETCH_ADD, LOC_LEN_ERR, sge[0].length = cpu_to_le32(4))
BAD_TEST(atomic_sges, CMP_SWAP, LOC_QP_OP_ERR, wqe.count = cpu_to_le16(2))
BAD_TEST(local_inv, LOCAL_INV, MW_BIND_ERR, wqe.count = 0; stl_le_p(wqe.imm, 0xdead00))
BAD_TEST(reg_mr, REG_MR, MW_BIND_ERR,
         wqe.count = 0; wqe.reg_mr.key = cpu_to_le32(0xdead00))
BAD_TEST(bind_mw, BIND_MW, MW_BIND_ERR,
         wqe.count = 0; wqe.bind_mw.rkey = cpu_to_le32(0xdead00))

/* A key that ends in the middle: packets that were sent before are not recalled. */
DIALOG_TEST("/req-local/bad/middle", ERNIC_QPT_RC, test_bad_middle)
{
    struct ernic_sge sge[2];
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_SEND, ERNIC_WR_SIGNALED);

    wqe.count = cpu_to_le16(2);
    sge[0] = fake_sge(d->mem, 1500, d->key);
    sge[1] = fake_sge(d->mem, 1500, d->key ^ 1);
    fake_post_send(d->e, &d->qp, &wqe, sge);
    OK(fake_ring_sq(d->e, &d->qp));
    SENT_DATA(d, SEND_FIRST, PSN, 0, 1024);
    SEND_WC(d, 0, LOC_PROT_ERR);
    STATE_IS(d, ERR);
}

/* Guest memory errors, at the data and in the ring. */
TEST("/req-local/bad/dma", test_bad_dma)
{
    EACH_DIALOG(d, nth, 1, 3, dlg_open(d, ERNIC_QPT_RC)) {
        dlg_post(d, ERNIC_WR_SEND, 0, 10);
        fake_fail_dma(&d->env, nth, false);
        SEND_WC(d, 0, LOC_QP_OP_ERR);
        if (nth == 1) {
            dlg_event(d, ERNIC_EV_QP_FATAL);
        }
        STATE_IS(d, ERR);
    }
}
