/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sent Ethernet frames of the mlx5 interface: requests, checksums, tags, completion
 * entries, and hostile requests.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/eth/send.h"
#include "mlx5_send.h"

static const FramesHead udp4 = {
    .version = 4, .proto = 17, .src = { 10, 0, 0, 1 }, .dst = { 10, 0, 0, 9 },
    .dmac = { 0x02, 0, 0, 0, 0, 9 }, .sport = 1000, .dport = 2000, .payload = 333,
};

/* Write the frame of @h to f->mem; returns its length. */
static uint32_t put_frame(Frames *f, const FramesHead *h)
{
    return frames_make(h, fake_ptr(&f->eth.env, f->mem, 16384));
}

/* Every division between header and pieces, with and without a completion. */
SEND_TEST("/mlx5/send/frame", 6, test_frame)
{
    static const uint32_t heads[] = { 0, 1, 2, 3, 14, 18, 19, 42, 100 };
    uint16_t counter = 0;
    uint32_t len = put_frame(f, &udp4);

    for (uint32_t i = 0; i < ARRAY_SIZE(heads); i++) {
        for (uint32_t ce = 0; ce < 4; ce++) {
            uint16_t before = f->sq.pi;

            send_frame(f, &f->sq, len, heads[i], ce);
            send_took(f, fake_ptr(&f->eth.env, f->mem, len), len);
            IS(frames_poll(f), ce >= 2);
            if (ce >= 2) {
                IS(CQE(f, opcode), 0);
                IS(CQE(f, wqe_counter), before);
                IS(CQE(f, sop), 0x0a);
                IS(CQE(f, qpn), f->sq.number);
                IS(CQE(f, srqn), 0x77);
                IS(CQE(f, timestamp_l), (uint32_t)f->eth.env.now);
            }
            counter++;
        }
    }
    IS(f->eth.e->stats.tx_frames, counter);
    IS(f->eth.e->stats.tx_frame_bytes, counter * len);
    IS(f->eth.e->mlx5->sent.packets[ERNIC_MLX5_UNICAST], counter);
    IS(f->eth.e->mlx5->sent.octets[ERNIC_MLX5_UNICAST], counter * len);
}

/* Pieces of memory and inline bytes in one request. */
SEND_TEST("/mlx5/send/pieces", 6, test_pieces)
{
    uint32_t len = put_frame(f, &udp4), at = 14;
    uint8_t *bytes = fake_ptr(&f->eth.env, f->mem, len);
    Mlx5Wr wr;

    mlx5_wr(&wr, 0x0a, 2, 0);
    send_eth(&wr, 0, 0, bytes, at);
    for (uint32_t n = 1; at < len; at += n, n = n % 7 + 13) {
        n = MIN(n, len - at);
        if (n % 2) {
            mlx5_data(&wr, f->mem + at, n, f->key);
        } else {
            mlx5_inline(&wr, bytes + at, n);
        }
    }
    send_post(f, &f->sq, &wr);
    send_took(f, bytes, len);
}

/* Requests of several blocks pass the end of the ring, with NOPs between them. */
SEND_TEST("/mlx5/send/ring", 4, test_ring)
{
    Mlx5Wr wr;
    uint32_t len = put_frame(f, &udp4);

    for (uint32_t round = 0; round < 40; round++) {
        uint16_t before;

        if (round % 3 == 0) {
            mlx5_wr(&wr, 0x00, 2, 0);
            before = f->sq.pi;
            send_post(f, &f->sq, &wr);
            CQE_IS(f, "wqe_counter=%u", before);
        }
        before = f->sq.pi;
        mlx5_wr(&wr, 0x0a, 2, 0);
        send_eth(&wr, 0, 0, fake_ptr(&f->eth.env, f->mem, len), 18);
        for (uint32_t i = 0; i < 10; i++) {
            mlx5_data(&wr, f->mem + 18 + i * 30, 30, f->key);
        }
        mlx5_data(&wr, f->mem + 318, len - 318, f->key);
        send_post(f, &f->sq, &wr);
        IS((uint16_t)(f->sq.pi - before), 4);
        send_took(f, fake_ptr(&f->eth.env, f->mem, len), len);
        CQE_IS(f, "wqe_counter=%u", before);
    }
}

/* Queues take turns. */
SEND_TEST("/mlx5/send/turns", 5, test_turns)
{
    uint32_t len = put_frame(f, &udp4);
    FramesQueue other;
    Mlx5Wr wr;

    send_queue(f, &other, 5, "");
    for (uint32_t i = 0; i < 20; i++) {
        mlx5_wr(&wr, 0x0a, 2, 0);
        send_eth(&wr, 0, 0, NULL, 0);
        mlx5_data(&wr, f->mem, len, f->key);
        send_write(f, i < 10 ? &f->sq : &other, &wr);
    }
    send_ring(f, &f->sq);
    send_ring(f, &other);
    ernic_run(f->eth.e, f->eth.env.now);
    for (uint32_t i = 0; i < 20; i++) {
        CQE_IS(f, "qpn=%u wqe_counter=%u", (i % 2 ? &other : &f->sq)->number, i / 2);
        fake_train_free(send_take(f));
    }
}

/* While the link is busy one request is executed; the others follow. */
SEND_TEST("/mlx5/send/busy", 5, test_busy)
{
    uint32_t len = put_frame(f, &udp4);

    f->eth.env.tx_busy = true;
    for (uint32_t i = 0; i < 5; i++) {
        send_frame(f, &f->sq, len, 14, 2);
    }
    g_assert_true(frames_poll(f));
    g_assert_false(frames_poll(f));
    IS(f->eth.env.wake, UINT64_MAX);
    fake_tx_ready(f->eth.e);
    g_assert_cmpuint(f->eth.env.wake, !=, UINT64_MAX);
    ernic_run(f->eth.e, f->eth.env.now);
    for (uint32_t i = 0; i < 5; i++) {
        IS(frames_poll(f), i < 4);
        fake_train_free(send_take(f));
    }
    /* A port that is down loses the frames, and requests complete. */
    ernic_set_link(f->eth.e, f->eth.env.now, false);
    send_frame(f, &f->sq, len, 14, 2);
    g_assert_true(frames_poll(f));
    IS(f->eth.env.trains->len, 0);
    IS(f->eth.e->stats.tx_drops, 1);
}

enum { L3 = 0x40, L4 = 0x80 };

/* Fields that the device fills in. */
static const struct {
    const char *name;
    FramesHead head;
    uint32_t l3, l4;            /* offsets of the checksums; 0: none */
} sums[] = {
    { "udp4", { .version = 4, .proto = 17, .payload = 100 }, 24, 40 },
    { "tcp4", { .version = 4, .proto = 6, .payload = 101 }, 24, 50 },
    { "udp6", { .version = 6, .proto = 17, .payload = 100 }, 0, 60 },
    { "tcp6", { .version = 6, .proto = 6, .payload = 1 }, 0, 70 },
    { "tcp4 tag", { .tag = 5, .version = 4, .proto = 6, .payload = 64 }, 28, 54 },
    { "icmp4", { .version = 4, .proto = 1, .payload = 64 }, 24, 0 },
    { "other", { .payload = 64 }, 0, 0 },
};

SEND_TEST("/mlx5/send/sums", 5, test_sums)
{
    static const uint8_t flags[] = { 0, L3, L4, L3 | L4 };
    uint8_t want[2048];
    uint32_t len;
    Mlx5Wr wr;

    for (uint32_t i = 0; i < ARRAY_SIZE(sums); i++) {
        for (uint32_t k = 0; k < ARRAY_SIZE(flags); k++) {
            uint8_t *bytes = fake_ptr(&f->eth.env, f->mem, 2048);

            g_test_message("%s flags 0x%x", sums[i].name, flags[k]);
            len = put_frame(f, &sums[i].head);
            memcpy(want, bytes, len);
            if (sums[i].l3) {
                stw_be_p(bytes + sums[i].l3, 0x1234);
                if (!(flags[k] & L3)) {
                    stw_be_p(want + sums[i].l3, 0x1234);
                }
            }
            if (sums[i].l4) {
                stw_be_p(bytes + sums[i].l4, 0x5678);
                if (!(flags[k] & L4)) {
                    stw_be_p(want + sums[i].l4, 0x5678);
                }
            }
            mlx5_wr(&wr, 0x0a, 0, 0);
            send_eth(&wr, flags[k], 0, bytes, 18);
            mlx5_data(&wr, f->mem + 18, len - 18, f->key);
            send_post(f, &f->sq, &wr);
            send_took(f, want, len);
        }
    }
}

/* A datagram whose checksum is 0 gets 0xffff; a fragment gets none. */
SEND_TEST("/mlx5/send/sum-cases", 5, test_sum_cases)
{
    FramesHead head = udp4;
    uint32_t len;
    FakeTrain *t;
    uint8_t *bytes;
    Mlx5Wr wr;

    head.payload = 2;
    for (uint32_t i = 0; i < 2; i++) {
        len = put_frame(f, &head);
        bytes = fake_ptr(&f->eth.env, f->mem, 2048);
        if (i) {
            stw_be_p(bytes + 20, 0x2000);
        }
        /* The payload makes the sum 0xffff. */
        stw_be_p(bytes + 42, 0);
        stw_be_p(bytes + 40, 0);
        stw_be_p(bytes + 42, ~frames_sum((uint8_t []) {
            10, 0, 0, 1, 10, 0, 0, 9, 0, 17, 0, 10, 1000 >> 8, 1000 & 0xff, 2000 >> 8,
            2000 & 0xff, 0, 10 }, 18));
        mlx5_wr(&wr, 0x0a, 0, 0);
        send_eth(&wr, L4, 0, NULL, 0);
        mlx5_data(&wr, f->mem, len, f->key);
        send_post(f, &f->sq, &wr);
        t = send_take(f);
        IS(t->train.len, 60);
        IS(lduw_be_p(t->train.data + 40), i ? 0 : 0xffff);
        for (; len < 60; len++) {
            IS(t->train.data[len], 0);
        }
        fake_train_free(t);
    }
}

SEND_TEST("/mlx5/send/vlan", 5, test_vlan)
{
    static const uint16_t types[] = { 0x8000, 0x8001 };
    Mlx5Wr wr;
    uint32_t len = put_frame(f, &udp4);
    uint8_t *bytes = fake_ptr(&f->eth.env, f->mem, len);

    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        FakeTrain *t;

        mlx5_wr(&wr, 0x0a, 0, 0);
        send_eth(&wr, L3 | L4, 0, NULL, 0);
        ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_eth_insert_seg.type, types[i]);
        ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_eth_insert_seg.vlan_tci, 0xa123);
        mlx5_data(&wr, f->mem, len, f->key);
        send_post(f, &f->sq, &wr);
        t = send_take(f);
        IS(t->train.len, len + 4);
        g_assert_cmpmem(t->train.data, 12, bytes, 12);
        IS(lduw_be_p(t->train.data + 12), i ? 0x88a8 : 0x8100);
        IS(lduw_be_p(t->train.data + 14), 0xa123);
        g_assert_cmpmem(t->train.data + 16, len - 12, bytes + 12, len - 12);
        fake_train_free(t);
    }
}

enum { KEY = 0x100, NO_ETH = 0x200, LSO = 0x400, INLINE = 0x800, TAG = 0x1000 };

/* A request that is refused; its parts are those that are not 0. */
typedef struct Refused {
    const char *name;
    uint8_t opcode;             /* 0: SEND */
    uint32_t flags;
    uint32_t head;              /* size that the Ethernet segment claims */
    uint32_t mss, len;          /* len: of one pointer */
    uint8_t segments;           /* that the control segment claims; 0: as written */
    uint32_t syndrome;
} Refused;

static const Refused refused[] = {
    { "opcode", 0x08, 0, 0, 0, 100, 0, 0x02 },
    { "opcode-0xff", 0xff, 0, 0, 0, 100, 0, 0x02 },
    { "key", 0, KEY, 0, 0, 100, 0, 0x04 },
    { "no-bytes", 0, 0, 0, 0, 0, 0, 0x01 },
    { "header-only-13", 0, 0, 13, 0, 0, 0, 0x01 },
    { "too-long", 0, 0, 0, 0, 9019, 0, 0x01 },
    { "too-long-with-tag", 0, TAG, 0, 0, 9015, 0, 0x01 },
    { "2-to-the-31-bytes", 0, INLINE, 0, 0, 0, 0, 0x01 },
    { "header-beyond", 0, 0, 1000, 0, 100, 0, 0x02 },
    { "trailer", 0, 0, 0x4000, 0, 100, 0, 0x02 },
    { "no-ethernet-segment", 0, NO_ETH, 0, 0, 0, 0, 0x02 },
    { "no-segments", 0, 0, 0, 0, 100, 64, 0x02 },
    { "more-than-posted", 0, 0, 0, 0, 100, 63, 0x02 },
    { "inline-beyond", 0, INLINE, 0, 0, 900, 0, 0x02 },
    { "lso-without-header", 0x0e, 0, 0, 100, 1000, 0, 0x02 },
    { "lso-without-mss", 0x0e, LSO, 54, 0, 1000, 0, 0x02 },
    { "lso-half-a-header", 0x0e, LSO, 53, 100, 1000, 0, 0x02 },
    { "lso-more-than-a-header", 0x0e, LSO, 55, 100, 1000, 0, 0x02 },
    { "lso-without-data", 0x0e, LSO, 54, 100, 0, 0, 0x01 },
    { "lso-too-long", 0x0e, LSO, 54, 100, (1u << 19) + 1, 0, 0x01 },
    { "lso-frames-too-long", 0x0e, LSO, 54, 8965, 20000, 0, 0x01 },
    { "lso-key", 0x0e, LSO | KEY, 54, 100, 1000, 0, 0x04 },
};

static void write_refused(Frames *f, const Refused *r)
{
    uint8_t head[64] = { };
    Mlx5Wr wr;

    frames_make(&(FramesHead) { .version = 4, .proto = 6, .payload = 0 }, head);
    mlx5_wr(&wr, r->opcode ?: 0x0a, 0, 0);
    if (!(r->flags & NO_ETH)) {
        send_eth(&wr, 0, r->mss, head, MIN(r->head, 56));
        ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_eth_seg.sz, r->head);
    }
    if (r->flags & TAG) {
        ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_eth_insert_seg.type, 0x8000);
    }
    if (r->flags & INLINE) {
        mlx5_data(&wr, f->mem, r->len ? 0x80000000u | r->len : 0, f->key);
    } else if (r->len) {
        mlx5_data(&wr, f->mem, r->len, f->key + !!(r->flags & KEY));
    }
    send_write(f, &f->sq, &wr);
    if (r->segments) {
        ernic_mlx5_put(fake_ptr(&f->eth.env, f->sq.ring, 64), &ernic_mlx5_wqe_ctrl_seg.ds,
                       r->segments & 63);
    }
}

/* The request ends with an error, later ones are flushed, and reset helps. */
WORLD_ROW_TEST("/mlx5/send/refused", refused, r, test_refused, Frames, f,
               send_setup(f, 6), frames_done(f))
{
    bool all = r->segments == 63;       /* takes what is posted */
    Mlx5Wr wr;

    write_refused(f, r);
    for (uint32_t ce = 0; ce < 4 && !all; ce++) {
        mlx5_wr(&wr, 0x00, ce, 0);
        send_write(f, &f->sq, &wr);
    }
    send_ring(f, &f->sq);
    ernic_run(f->eth.e, f->eth.env.now);
    ERR_CQE_IS(f, "opcode=13 syndrome=%u s_wqe_opcode=%u qpn=%u srqn=0x77 wqe_counter=0",
               r->syndrome, r->opcode ?: 0x0a, f->sq.number);
    /* Requests that want no entry when they are flushed get none. */
    for (uint32_t ce = 0; ce < 3 && !all; ce++) {
        ERR_CQE_IS(f, "syndrome=0x05");
    }
    g_assert_false(frames_poll(f));
    IS(f->eth.env.trains->len, 0);
    IS(ernic_mlx5_sq_get(f->eth.e, f->sq.number)->state, FRAMES_ERR);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=3\nctx.state=0", f->sq.number);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=0\nctx.state=1", f->sq.number);
    f->sq.pi = 0;
    send_frame(f, &f->sq, put_frame(f, &udp4), 18, 2);
    fake_train_free(send_take(f));
    CQE_IS(f, "opcode=0");
}

/* Every access to memory fails in turn: a frame, or an error. */
TEST("/mlx5/send/dma", test_dma)
{
    bool refused_one = true;
    uint32_t nth;

    for (nth = 1; refused_one; nth++) {
        uint32_t len;
        Frames f;

        send_setup(&f, 6);
        len = put_frame(&f, &udp4);
        f.eth.env.refused = 0;
        fake_fail_dma(&f.eth.env, nth, false);
        send_frame(&f, &f.sq, len, 100, 2);
        refused_one = f.eth.env.refused;
        fake_fail_dma(&f.eth.env, 0, false);
        if (frames_poll(&f)) {
            IS(CQE(&f, opcode), refused_one ? 13 : 0);
            IS(f.eth.env.trains->len, !refused_one);
        }
        frames_done(&f);
    }
    g_assert_cmpuint(nth, >, 6);
}

/* Doorbells that are not valid are counted, and nothing else. */
SEND_TEST("/mlx5/send/doorbells", 4, test_doorbells)
{
    static const struct {
        uint32_t page, number;
        int posted;             /* more than the queue has */
        uint32_t state;
    } cases[] = {
        { 1, 0, 0, FRAMES_RDY }, { 0, 1, 0, FRAMES_RDY }, { 0, 0x7fff, 0, FRAMES_RDY },
        { 0, 0x1000, 0, FRAMES_RDY }, { 0, 0, 17, FRAMES_RDY }, { 0, 0, -1, FRAMES_RDY },
        { 0, 0, 0, FRAMES_RST },
    };

    ETH_OK(&f->eth, 0x802, "%s", "");
    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ernic_mlx5_sq_get(f->eth.e, f->sq.number)->state = cases[i].state;
        stl_be_p(fake_ptr(&f->eth.env, f->sq.record + 4, 4), f->sq.pi + cases[i].posted);
        send_doorbell(f, SEND_UAR + cases[i].page, f->sq.number + cases[i].number);
        IS(f->eth.e->stats.bad_doorbells, i + 1);
        IS(ernic_mlx5_sq_get(f->eth.e, f->sq.number)->pi, f->sq.pi);
    }
}

/* Software moves queues to the error state: they flush if their context says so. */
TEST("/mlx5/send/flush", test_flush)
{
    for (uint32_t enabled = 0; enabled < 2; enabled++) {
        const char *more = enabled ? "ctx.flush_in_error_en=1\n" : "";
        FramesQueue rq;
        Frames f;
        Mlx5Wr wr;

        send_setup(&f, 6);
        send_queue(&f, &f.sq, 6, more);
        frames_queue(&f, &rq, true, 6, 4, more);
        for (uint32_t i = 0; i < 20; i++) {
            frames_post(&f, &rq, &(FramesPiece) { f.mem, 2048, f.key }, 1);
        }
        ETH_OK(&f.eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=3", rq.number);
        ernic_run(f.eth.e, f.eth.env.now);
        for (uint32_t i = 0; i < 20 * enabled; i++) {
            ERR_CQE_IS(&f, "opcode=14 syndrome=0x05 wqe_counter=%u", i);
        }
        g_assert_false(frames_poll(&f));
        /* A send queue in error flushes what is posted then, too. */
        ETH_OK(&f.eth, 0x905, "sqn=%u\nsq_state=1\nctx.state=3", f.sq.number);
        mlx5_wr(&wr, 0x0a, 2, 0);
        send_post(&f, &f.sq, &wr);
        IS(frames_poll(&f), enabled);
        frames_done(&f);
    }
}

/* A turn makes progress even if its own cost uses up the slice. */
SEND_TEST("/mlx5/send/flush-end-of-slice", 6, test_flush_end_of_slice)
{
    Ernic *e = f->eth.e;
    FramesQueue rq;

    frames_queue(f, &rq, true, 6, 4, "ctx.flush_in_error_en=1\n");
    for (uint32_t i = 0; i < 3; i++) {
        frames_post(f, &rq, &(FramesPiece) { f->mem, 2048, f->key }, 1);
    }
    ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=3", rq.number);
    for (uint32_t i = 0; i < 3; i++) {
        e->work.end = e->work.done + 1;
        g_assert_true(ernic_mlx5_eth_turn(e));
        IS(e->stats.flushed, i + 1);
    }
    e->work.end = e->work.done + 1;
    g_assert_false(ernic_mlx5_eth_turn(e));
}

/* The engine runs when it wants to, for a second at most: until an entry is there. */
static bool flushed_in_time(Frames *f)
{
    const uint64_t end = f->eth.env.now + 1000 * 1000 * 1000;

    while (f->eth.env.now < end && !frames_poll(f)) {
        f->eth.env.now = MIN(f->eth.env.wake, end);
        ernic_run(f->eth.e, f->eth.env.now);
    }
    return f->eth.env.now < end;
}

/* A receive queue has no doorbell: what is posted to it in error is found even so. */
SEND_TEST("/mlx5/send/flush-later", 6, test_flush_later)
{
    FramesQueue rq[2];

    for (uint32_t i = 0; i < 2; i++) {
        frames_queue(f, &rq[i], true, 6, 4, i ? "" : "ctx.flush_in_error_en=1\n");
        ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=3", rq[i].number);
    }
    g_assert_false(flushed_in_time(f));
    for (uint32_t i = 0; i < 6; i++) {
        frames_post(f, &rq[i / 3], &(FramesPiece) { f->mem, 2048, f->key }, 1);
        IS(flushed_in_time(f), i < 3);
        if (i == 1) {
            frames_move(f);
        }
    }
    /* Nothing is left that would wake the engine. */
    ETH_OK(&f->eth, 0x90a, "rqn=%u", rq[0].number);
    g_assert_false(flushed_in_time(f));
    IS(f->eth.env.wake, ERNIC_NEVER);
}

/* Post all the ring has room for. */
static void fill(Frames *f, FramesQueue *q)
{
    q->pi = ernic_mlx5_sq_get(f->eth.e, q->number)->ci + (1u << q->log);
    send_ring(f, q);
}

/*
 * A process fills the ring of a queue in error before each slice. Frames of other queues
 * leave, and others in error flush their requests.
 */
SEND_TEST("/mlx5/send/flush-flood", 6, test_flush_flood)
{
    uint32_t len = put_frame(f, &udp4);
    FramesQueue flood, sq, rq;
    Mlx5Wr wr;

    send_queue(f, &flood, 10, "ctx.flush_in_error_en=1\n");
    send_queue(f, &sq, 6, "ctx.flush_in_error_en=1\n");
    frames_queue(f, &rq, true, 6, 4, "ctx.flush_in_error_en=1\n");
    for (uint32_t i = 0; i < 1u << flood.log; i++) {
        mlx5_wr(&wr, 0x00, 1, 0);               /* no entry if it is flushed */
        send_write(f, &flood, &wr);
    }
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=1\nctx.state=3", flood.number);
    frames_post(f, &rq, &(FramesPiece) { f->mem, 2048, f->key }, 1);
    ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=3", rq.number);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=1\nctx.state=3", sq.number);
    mlx5_wr(&wr, 0x00, 2, 0);
    send_write(f, &sq, &wr);
    send_ring(f, &sq);
    mlx5_wr(&wr, 0x0a, 0, 0);
    send_eth(&wr, 0, 0, NULL, 0);
    mlx5_data(&wr, f->mem, len, f->key);
    send_write(f, &f->sq, &wr);
    send_ring(f, &f->sq);
    for (uint32_t i = 0; i < 3; i++) {
        fill(f, &flood);
        ernic_run(f->eth.e, f->eth.env.now);
    }
    fake_train_free(send_take(f));
    ERR_CQE_IS(f, "opcode=14 syndrome=0x05 wqe_counter=0");
    ERR_CQE_IS(f, "opcode=13 syndrome=0x05 wqe_counter=0");
}

/* A queue without a TIS executes NOPs, and sends nothing. */
SEND_TEST("/mlx5/send/no-tis", 6, test_no_tis)
{
    FramesQueue quiet;
    uint32_t len;
    Mlx5Wr wr;

    send_queue(f, &quiet, 6, "ctx.tis_lst_sz=0\nctx.tis_num_0=0\n");
    mlx5_wr(&wr, 0x00, 2, 0);
    send_post(f, &quiet, &wr);
    CQE_IS(f, "opcode=0");
    len = put_frame(f, &udp4);
    send_frame(f, &quiet, len, 14, 2);
    CQE_IS(f, "opcode=13");
    IS(f->eth.env.trains->len, 0);
}

/* A queue that has work is reset, destroyed, and gone with the function. */
TEST("/mlx5/send/end", test_end)
{
    static const struct {
        uint16_t opcode;
        const char *text;
    } ends[] = {
        { 0x905, "sqn=0x8001\nsq_state=1\nctx.state=0" }, { 0x906, "sqn=0x8001" },
        { 0x103, "" },
    };
    uint32_t len;

    for (uint32_t i = 0; i < ARRAY_SIZE(ends); i++) {
        Frames f;

        send_setup(&f, 6);
        IS(f.sq.number, 0x8001);
        len = put_frame(&f, &udp4);
        f.eth.env.tx_busy = true;
        send_frame(&f, &f.sq, len, 14, 2);
        send_frame(&f, &f.sq, len, 14, 2);
        ETH_OK(&f.eth, ends[i].opcode, "%s", ends[i].text);
        fake_tx_ready(f.eth.e);
        ernic_run(f.eth.e, f.eth.env.now);
        IS(f.eth.env.trains->len, 1);
        IS(f.eth.env.wake, UINT64_MAX);
        frames_done(&f);
    }
}
