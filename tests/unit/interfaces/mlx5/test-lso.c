/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Large packets of the mlx5 interface (LSO), which the device divides into frames.
 */
#include "qemu/osdep.h"
#include "mlx5_send.h"

enum { FIN = 0x01, PSH = 0x08, ACK = 0x10, CWR = 0x80 };

/* A packet, and where its headers are in the frame. */
static const struct {
    const char *name;
    FramesHead head;
    uint32_t l3, l4, end;
} packets[] = {
    { "tcp4", { .version = 4, .proto = 6, .tcp_flags = FIN | PSH | ACK | CWR }, 14, 34,
      54 },
    { "tcp6", { .version = 6, .proto = 6, .tcp_flags = PSH | ACK }, 14, 54, 74 },
    { "tcp4 tag", { .tag = 0x123, .version = 4, .proto = 6, .tcp_flags = ACK }, 18, 38,
      58 },
    { "udp4", { .version = 4, .proto = 17 }, 14, 34, 42 },
    { "udp6", { .version = 6, .proto = 17 }, 14, 54, 62 },
};

/* The headers of packet @i, with wrong lengths and checksums, as large packets have. */
static void headers(uint32_t i, uint8_t *to)
{
    frames_make(&packets[i].head, to);
    stw_be_p(to + packets[i].l3 + (packets[i].head.version == 4 ? 10 : 4), 0);
    stw_be_p(to + packets[i].l4 + (packets[i].head.proto == 6 ? 16 : 6), 0xbad0);
}

/* The packet's data in memory; pieces of different sizes. */
static uint8_t data_byte(uint32_t i)
{
    return i * 31 + (i >> 8) * 7;
}

static void post(Frames *f, FramesQueue *sq, uint32_t i, uint32_t mss, uint32_t len)
{
    uint8_t head[128], *data = fake_ptr(&f->eth.env, f->mem, len);
    uint32_t n;
    Mlx5Wr wr;

    for (uint32_t k = 0; k < len; k++) {
        data[k] = data_byte(k);
    }
    headers(i, head);
    mlx5_wr(&wr, 0x0e, 2, 0);
    send_eth(&wr, 0xc0, mss, head, packets[i].end);
    for (uint32_t k = 0; k < len; k += n) {
        n = MIN(len - k, MAX(len / 8, 1) + 3);
        mlx5_data(&wr, f->mem + k, n, f->key);
    }
    send_post(f, sq, &wr);
}

/* Check frame @index of packet @i, with data from byte @from on, against a new one. */
static void check(uint32_t i, const uint8_t *frame, uint32_t len, uint32_t index,
                  uint32_t from, uint32_t data, bool last)
{
    const uint8_t *ip = frame + packets[i].l3, *l4 = frame + packets[i].l4;
    uint32_t l4_len = packets[i].end - packets[i].l4 + data, k;
    uint32_t addr = packets[i].head.version == 4 ? 4 : 16;
    bool tcp = packets[i].head.proto == 6;
    uint8_t pseudo[40] = { }, was[128];

    headers(i, was);
    IS(len, MAX(packets[i].end + data, 60));
    if (addr == 4) {
        IS(lduw_be_p(ip + 2), 20 + l4_len);
        IS(lduw_be_p(ip + 4), (uint16_t)(0xfffe + index));
        IS(frames_sum(ip, 20), 0xffff);
        memcpy(pseudo, ip + 12, 8);
    } else {
        IS(lduw_be_p(ip + 4), l4_len);
        memcpy(pseudo, ip + 8, 32);
    }
    if (tcp) {
        uint8_t off = (last ? 0 : FIN | PSH) | (index ? CWR : 0);

        IS(ldl_be_p(l4 + 4) - ldl_be_p(was + packets[i].l4 + 4), from);
        IS(l4[13], packets[i].head.tcp_flags & ~off);
    } else {
        IS(lduw_be_p(l4 + 4), l4_len);
    }
    pseudo[addr * 2 + 1] = packets[i].head.proto;
    stw_be_p(pseudo + addr * 2 + 2, l4_len);
    k = frames_sum(pseudo, addr * 2 + 4) + frames_sum(l4, l4_len);
    IS((k & 0xffff) + (k >> 16), 0xffff);
    for (k = 0; k < data; k++) {
        IS(frame[packets[i].end + k], data_byte(from + k));
    }
    g_assert_cmpmem(frame, packets[i].l3, was, packets[i].l3);
}

/* All frames of a packet have arrived, in trains of a bounded number; returns trains. */
static uint32_t take_all(Frames *f, uint32_t i, uint32_t mss, uint32_t len)
{
    uint32_t from = 0, index = 0, trains = 0;

    while (from < len) {
        FakeTrain *t = send_take(f);
        uint32_t frames = 0;

        for (uint32_t at = 0; at < t->train.len; at += t->train.seg) {
            uint32_t data = MIN(mss, len - from);

            check(i, t->train.data + at, MIN(t->train.seg, t->train.len - at), index++,
                  from, data, from + data == len);
            from += data;
            frames++;
        }
        g_assert_cmpuint(frames, <=, ERNIC_TRAIN_PACKETS);
        trains++;
        fake_train_free(t);
    }
    IS(from, len);
    IS(f->eth.env.trains->len, 0);
    return trains;
}

TEST("/mlx5/lso/packets", test_packets)
{
    static const struct {
        uint32_t mss, len;
    } sizes[] = {
        { 1448, 10000 }, { 1448, 1448 * 3 }, { 1448, 1 }, { 1448, 1448 }, { 1448, 1449 },
        { 8900, 65483 }, { 1448, 65483 }, { 3, 10 }, { 1, 200 }, { 536, 262144 },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(packets); i++) {
        for (uint32_t k = 0; k < ARRAY_SIZE(sizes); k++) {
            uint32_t frames = DIV_ROUND_UP(sizes[k].len, sizes[k].mss);
            Frames f;

            g_test_message("%s %u by %u", packets[i].name, sizes[k].len, sizes[k].mss);
            send_setup(&f, 6);
            post(&f, &f.sq, i, sizes[k].mss, sizes[k].len);
            fake_run(f.eth.e);
            take_all(&f, i, sizes[k].mss, sizes[k].len);
            CQE_IS(&f, "opcode=0 sop=0x0e wqe_counter=0");
            g_assert_false(frames_poll(&f));
            IS(f.eth.e->stats.tx_frames, frames);
            IS(f.eth.e->mlx5->sent.packets[ERNIC_MLX5_UNICAST], frames);
            frames_done(&f);
        }
    }
}

/* While the link is busy one train is held; the request completes with its last frame. */
SEND_TEST("/mlx5/lso/busy", 6, test_busy)
{
    const uint32_t mss = 1448, len = 200000;
    uint32_t n = 0;

    f->eth.env.tx_busy = true;
    post(f, &f->sq, 0, mss, len);
    IS(f->eth.env.wake, UINT64_MAX);
    g_assert_false(frames_poll(f));
    while (!frames_poll(f)) {
        /* The link takes one train. */
        fake_tx_ready(f->eth.e);
        f->eth.env.tx_busy = true;
        IS(f->eth.env.trains->len, ++n);
        ernic_run(f->eth.e, f->eth.env.now);
        IS(f->eth.env.trains->len, n);
    }
    g_assert_cmpuint(n, >, 2);
    fake_tx_ready(f->eth.e);
    IS(take_all(f, 0, mss, len), n + 1);
}

/* Packets of one queue, some longer than a train: each begins with its first byte. */
SEND_TEST("/mlx5/lso/more", 6, test_more)
{
    static const uint32_t len[] = { 200000, 200000, 10000, 1, 65483 };
    const uint32_t mss = 1448;

    for (uint32_t i = 0; i < ARRAY_SIZE(len); i++) {
        uint16_t counter = f->sq.pi;

        post(f, &f->sq, 0, mss, len[i]);
        fake_run(f->eth.e);
        take_all(f, 0, mss, len[i]);
        CQE_IS(f, "opcode=0 sop=0x0e wqe_counter=%u", counter);
    }
}

/* The state is saved in the middle of a packet, and the new device sends the rest. */
SEND_TEST("/mlx5/lso/move", 6, test_move)
{
    const uint32_t mss = 1448, len = 200000;

    f->eth.env.tx_busy = true;
    post(f, &f->sq, 0, mss, len);
    for (uint32_t i = 0; i < 6; i++) {
        frames_move(f);
        fake_tx_ready(f->eth.e);
        f->eth.env.tx_busy = true;
        ernic_run(f->eth.e, f->eth.env.now);
    }
    CQE_IS(f, "opcode=0");
    take_all(f, 0, mss, len);
}

/* Software changes a packet of which a part has left: to a shorter one, or to a NOP. */
TEST("/mlx5/lso/changed", test_changed)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        uint8_t *ring;
        Frames f;

        send_setup(&f, 6);
        f.eth.env.tx_busy = true;
        post(&f, &f.sq, 0, 1448, 200000);
        ring = fake_ptr(&f.eth.env, f.sq.ring, 64);
        if (kind == 0) {
            ernic_mlx5_put(ring, &ernic_mlx5_wqe_ctrl_seg.ds, 6);
        } else if (kind == 1) {
            ernic_mlx5_put(ring, &ernic_mlx5_wqe_ctrl_seg.opcode, 0);
        } else {
            ernic_mlx5_put(ring + 16, &ernic_mlx5_wqe_eth_seg.mss, 1);
        }
        fake_tx_ready(f.eth.e);
        fake_run(f.eth.e);
        CQE_IS(&f, "opcode=%u", kind ? 0 : 13);
        g_assert_false(frames_poll(&f));
        frames_done(&f);
    }
}

/* A large packet to the function itself: each frame arrives. */
SEND_TEST("/mlx5/lso/loopback", 6, test_loopback)
{
    uint8_t head[128];
    Mlx5Wr wr;

    frames_queue(f, &f->rq, true, 5, 4, "");
    ETH_OK(&f->eth, 0x900, "ctx.inline_rqn=%#x\nctx.self_lb_block=1\n"
           "ctx.transport_domain=1", f->rq.number);
    frames_root(f, eth_number(&f->eth), 0);
    for (uint32_t i = 0; i < 7; i++) {
        frames_post(f, &f->rq,
                    &(FramesPiece) { f->mem + 65536 + i * 2048, 2048, f->key }, 1);
    }
    headers(0, head);
    mlx5_wr(&wr, 0x0e, 0, 0);
    send_eth(&wr, 0xc0, 1000, head, 54);
    mlx5_data(&wr, f->mem, 6500, f->key);
    send_post(f, &f->sq, &wr);
    ernic_run(f->eth.e, f->eth.env.now);
    for (uint32_t i = 0; i < 7; i++) {
        CQE_IS(f, "opcode=2 byte_cnt=%u hds_ip_ext=7", 54 + (i < 6 ? 1000 : 500));
    }
}
