/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages of 2 GiB, the most there may be (IBTA vol. 1, 9.5 and 9.7.4.1.6),
 * and one byte more. The region has 1024 pages that are all the same 2 MiB, so
 * that every byte of it moves and little memory is needed.
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define BIG         0x80000000u
#define PAGE        (2u << 20)
#define PAGES       (BIG / PAGE)
#define IOVA        0x700000000000ull
#define MTU         4096u
#define PACKETS     (BIG / MTU)
#define SQ          DLG_SQ_PSN
#define RQ          DLG_RQ_PSN

typedef struct Big {
    Dialog d;
    uint32_t key;
    uint8_t *page;
} Big;

static uint32_t reg_big(Dialog *d, uint64_t page)
{
    uint64_t list = fake_alloc(&d->env, PAGES * 8, 4096);
    struct ernic_cmd cmd = fake_reg_list(d->pd, list, PAGES, 1);

    for (uint32_t i = 0; i < PAGES; i++) {
        fake_put64(&d->env, list + 8 * i, page);
    }
    cmd.mr_reg.buf.page_shift = 21;
    cmd.mr_reg.iova = cpu_to_le64(IOVA);
    cmd.mr_reg.length = cpu_to_le64(BIG);
    cmd.mr_reg.access = cpu_to_le32(ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE |
                                    ERNIC_ACCESS_REMOTE_READ);
    return fake_make(d->e, &cmd);
}

static void big_open(Big *b, uint8_t type)
{
    uint64_t page;

    dlg_init(&b->d, type, false);
    b->d.attr.path_mtu = 5;
    page = fake_alloc(&b->d.env, PAGE, PAGE);
    b->page = fake_ptr(&b->d.env, page, PAGE);
    b->key = reg_big(&b->d, page);
    dlg_to(&b->d, ERNIC_QPS_RTS);
}

#define BIG_TEST(path, type, fn) \
    WORLD_TEST(path, fn, Big, b, big_open(b, type), dlg_close(&b->d))

static void post_big(Big *b, uint8_t opcode)
{
    struct ernic_wqe wqe = dlg_wqe(&b->d, opcode, ERNIC_WR_SIGNALED);
    struct ernic_sge sge = fake_sge(IOVA, BIG, b->key);

    wqe.count = cpu_to_le16(1);
    fake_post_send(b->d.e, &b->d.qp, &wqe, &sge);
    OK(fake_ring_sq(b->d.e, &b->d.qp));
}

/* Parse packet @k of @train, all of whose packets have one size. */
static void parse(const ErnicTrain *train, uint32_t k, ErnicPkt *pkt)
{
    uint32_t pos = k * train->seg;

    IS(ernic_pkt_parse(pkt, train->data + pos, MIN(train->seg, train->len - pos)),
       ERNIC_DROP_NONE);
}

/*
 * Take all trains: their packets have the PSNs from @*psn on, First being at
 * @first. Returns the last packet, without payload.
 */
static ErnicPkt take_trains(Big *b, uint32_t first, uint32_t *psn)
{
    ErnicPkt pkt = { };
    FakeTrain *ft;

    while ((ft = fake_take_train(&b->d.env))) {
        uint32_t n = (ft->train.len + ft->train.seg - 1) / ft->train.seg;

        parse(&ft->train, 0, &pkt);
        IS(pkt.psn, *psn & 0xffffff);
        IS(pkt.payload_len, MTU);
        IS(!!(pkt.op->seg & ERNIC_SEG_START), *psn == first);
        /* Each byte is the one of its offset. */
        g_assert_cmpmem(pkt.payload, 64,
                        b->page + (uint64_t)(*psn - first) * MTU % PAGE, 64);
        parse(&ft->train, n - 1, &pkt);
        *psn += n;
        IS(pkt.psn, (*psn - 1) & 0xffffff);
        fake_train_free(ft);
    }
    return pkt;
}

static void mark_pages(Big *b)
{
    for (uint32_t i = 0; i < PAGE; i += MTU) {
        stl_le_p(b->page + i, i ^ 0x5a5a5a5a);
    }
}

/* A WRITE of exactly 2 GiB, acknowledged window by window. */
BIG_TEST("/big/write", ERNIC_QPT_RC, test_write)
{
    uint32_t psn = SQ;
    ErnicPkt last = { };

    mark_pages(b);
    post_big(b, ERNIC_WR_WRITE);
    while (psn != SQ + PACKETS) {
        uint32_t before = psn;

        fake_run(b->d.e);
        last = take_trains(b, SQ, &psn);
        g_assert_cmpuint(psn, >, before);
        dlg_no_wc(&b->d);
        PEER_ACK(&b->d, (psn - 1) & 0xffffff, psn == SQ + PACKETS);
    }
    g_assert_true(last.op->seg & ERNIC_SEG_END);
    SEND_WC(&b->d, 0, SUCCESS);
}

/* A READ with a response of 2 GiB; the next request has the PSN after it. */
BIG_TEST("/big/read/responder", ERNIC_QPT_RC, test_read_responder)
{
    uint32_t psn = RQ;

    mark_pages(b);
    b->d.hold = true;
    PEER(&b->d, READ_REQUEST, .psn = RQ, .va = IOVA, .rkey = b->key, .dma_len = BIG);
    while (psn != RQ + PACKETS) {
        uint32_t before = psn;

        ernic_run(b->d.e, b->d.env.now);
        take_trains(b, RQ, &psn);
        g_assert_cmpuint(psn, >, before);
    }
    PEER(&b->d, WRITE_ONLY, .psn = psn, .ackreq = true);
    SENT_ACK(&b->d, psn, 2);
}

/* A READ of 2 GiB is requested in pieces, each 128 KiB. */
BIG_TEST("/big/read/requester", ERNIC_QPT_RC, test_read_requester)
{
    const uint32_t chunk = 128 * 1024, n = chunk / MTU;
    uint8_t bytes[32 * (MTU + 32)];
    ErnicTrain train = { .data = bytes };
    ErnicIcrcCtx icrc;
    ErnicPkt pkt, rsp;
    uint32_t k, len, pos;

    ernic_icrc_init(&icrc, &b->d.path);
    train.path = b->d.path;
    post_big(b, ERNIC_WR_READ);
    for (uint32_t piece = 0; piece < BIG / chunk; piece++) {
        pkt = dlg_take(&b->d);
        IS(pkt.psn, SQ + piece * n);
        IS(pkt.va, DLG_RADDR + (uint64_t)piece * chunk);
        IS(pkt.dma_len, chunk);
        for (k = 0, pos = 0; k < n; k++) {
            rsp = (ErnicPkt) {
                .op = ernic_opcode(k == 0 ? ERNIC_OP_READ_RSP_FIRST :
                                   k == n - 1 ? ERNIC_OP_READ_RSP_LAST :
                                   ERNIC_OP_READ_RSP_MIDDLE),
                .transport = ERNIC_RC, .dest_qp = b->d.qp.qpn,
                .pkey = 0xffff, .psn = pkt.psn + k, .syndrome = DLG_ACK,
                .payload_len = MTU,
            };
            len = ernic_pkt_emit_hdr(&rsp, bytes + pos);
            memset(bytes + pos + len, piece, MTU);
            len = ernic_pkt_finish(&icrc, bytes + pos, len + MTU);
            train.data = bytes + pos;
            train.len = train.seg = len;
            ernic_rx(b->d.e, b->d.env.now, &train);
            pos += len;
        }
        IS(b->page[(uint64_t)piece * chunk % PAGE], piece & 0xff);
    }
    IS(SEND_WC(&b->d, 0, SUCCESS).byte_len, BIG);
}

/* The peer's SEND of 2 GiB into one receive request, up to the last packet. */
static uint32_t peer_send_big(Big *b)
{
    uint8_t bytes[MTU + 64];
    ErnicIcrcCtx icrc;
    ErnicTrain train = { .path = b->d.path, .data = bytes };
    ErnicPkt pkt = {
        .transport = b->d.transport, .dest_qp = b->d.qp.qpn, .pkey = 0xffff,
        .payload_len = MTU,
    };
    uint32_t len;

    ernic_icrc_init(&icrc, &b->d.path);
    for (uint32_t k = 0; k < PACKETS; k++) {
        pkt.op = ernic_opcode(ernic_bth_opcode(b->d.transport, k ?
                              ERNIC_OP_SEND_MIDDLE : ERNIC_OP_SEND_FIRST));
        pkt.psn = RQ + k;
        len = ernic_pkt_emit_hdr(&pkt, bytes);
        train.len = train.seg = ernic_pkt_finish(&icrc, bytes, len + MTU);
        ernic_rx(b->d.e, b->d.env.now, &train);
    }
    fake_run(b->d.e);
    return RQ + PACKETS;
}

static void post_recv_big(Big *b)
{
    const struct ernic_sge sge[2] = {
        fake_sge(IOVA, BIG, b->key), fake_sge(IOVA, MTU, b->key),
    };

    fake_post_recv(b->d.e, &b->d.qp, 9, sge, 2);
    OK(fake_ring_rq(b->d.e, &b->d.qp));
}

/* The buffer is larger, but no message may exceed 2 GiB. */
BIG_TEST("/big/send-too-long", ERNIC_QPT_RC, test_send_too_long)
{
    uint32_t psn;

    post_recv_big(b);
    psn = peer_send_big(b);
    PEER(&b->d, SEND_LAST, .psn = psn, .payload_len = 1, .ackreq = true);
    SENT_NAK(&b->d, ERNIC_NAK_INV_REQ, psn, 0);
    RECV_WC(&b->d, 9, REM_INV_REQ_ERR);
    STATE_IS(&b->d, ERR);
}
