/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Received Ethernet frames of the mlx5 interface: from the flow tables into requests,
 * and what completion entries say of them.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "mlx5_frames.h"
#include "mlx5_objects.h"

#define BUFFER  2048

static const FramesHead tcp4 = {
    .version = 4, .proto = 6, .src = { 10, 0, 0, 9 }, .dst = { 10, 0, 0, 1 },
    .sport = 1000, .dport = 2000, .tcp_flags = 0x10, .payload = 101,
};

/* f->rq has requests of buffers in f->mem; all frames go to its TIR. */
static void setup(Frames *f)
{
    frames_setup(f);
    frames_queue(f, &f->rq, true, 3, 6, "");
    frames_root(f, eth_tir(&f->eth, f->rq.number), 0x12);
}

#define RECEIVE_TEST(path, fn) WORLD_TEST(path, fn, Frames, f, setup(f), frames_done(f))

static uint64_t post(Frames *f, FramesQueue *rq)
{
    uint64_t addr = f->mem + rq->pi % 64 * BUFFER;

    frames_post(f, rq, &(FramesPiece) { addr, BUFFER, f->key }, 1);
    return addr;
}

/* Types of TCP and UDP headers. */
enum { TCP = 1, UDP, ACK, ACK_DATA };

static const struct {
    const char *name;
    FramesHead head;
    uint32_t break_at;          /* byte of the frame that is changed; 0: none */
    uint32_t l3, l4;            /* header types: 1 is IPv6, 2 is IPv4 */
    uint32_t checked;           /* bits of hds_ip_ext */
    uint32_t from;              /* where the sum begins */
    uint32_t pad;               /* bytes after the packet */
} frames[] = {
    { "tcp4", { .version = 4, .proto = 6, .tcp_flags = 0x10, .payload = 100 }, 0,
      2, ACK_DATA, 7, 14 },
    { "tcp4 odd", { .version = 4, .proto = 6, .tcp_flags = 0x10, .payload = 333 }, 0,
      2, ACK_DATA, 7, 14 },
    { "tcp4 ack", { .version = 4, .proto = 6, .tcp_flags = 0x10 }, 0, 2, ACK, 7, 14, 6 },
    { "tcp4 syn", { .version = 4, .proto = 6, .tcp_flags = 2, .payload = 10 }, 0,
      2, TCP, 7, 14 },
    { "tcp4 padded", { .version = 4, .proto = 6, .tcp_flags = 0x10, .payload = 31 }, 0,
      2, ACK_DATA, 7, 14, 13 },
    { "tcp4 payload", { .version = 4, .proto = 6, .tcp_flags = 0x10, .payload = 100 },
      120, 2, ACK_DATA, 3, 14 },
    { "ip4 header", { .version = 4, .proto = 6, .tcp_flags = 0x10, .payload = 100 },
      22, 2, ACK_DATA, 5, 14 },
    { "udp4", { .version = 4, .proto = 17, .payload = 64 }, 0, 2, UDP, 7, 14 },
    { "icmp4", { .version = 4, .proto = 1, .payload = 64 }, 0, 2, 0, 3, 14 },
    { "tcp6", { .version = 6, .proto = 6, .tcp_flags = 0x10, .payload = 100 }, 0,
      1, ACK_DATA, 7, 14 },
    { "udp6", { .version = 6, .proto = 17, .payload = 64 }, 0, 1, UDP, 7, 14 },
    { "udp6 payload", { .version = 6, .proto = 17, .payload = 64 }, 70, 1, UDP, 3, 14 },
    { "service", { .service = true, .tag = 0x2005, .version = 4, .proto = 17,
      .payload = 64 }, 0, 2, UDP, 7, 18 },
    { "two tags", { .service = true, .tag = 0x2005, .tag2 = 7, .version = 6, .proto = 6,
      .tcp_flags = 0x10, .payload = 64 }, 0, 1, ACK_DATA, 7, 22 },
    { "other", { .payload = 90 }, 0, 0, 0, 1, 14 },
};

/* The bytes of the IP packet that the sum covers: the frame without padding. */
static void check_entry(Frames *f, uint32_t i, uint32_t len, const uint8_t *frame)
{
    uint32_t all = MAX(len + frames[i].pad, 60);

    g_test_message("%s", frames[i].name);
    CQE_IS(f, "opcode=2 format=0 byte_cnt=%u wqe_counter=%u l3_hdr_type=%u "
              "l4_hdr_type=%u hds_ip_ext=%u check_sum=%u qpn=0x12 srqn=0x77 "
              "lro_num_seg=0 ml_path=0 vlan_stripped=0 timestamp_l=%u", all, i,
              frames[i].l3, frames[i].l4, frames[i].checked,
              frames_sum(frame + frames[i].from, len - frames[i].from),
              (uint32_t)f->eth.env.now);
}

RECEIVE_TEST("/mlx5/receive/entries", test_entries)
{
    uint8_t frame[BUFFER];

    for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++) {
        uint64_t addr = post(f, &f->rq);
        uint32_t len = frames_make(&frames[i].head, frame);

        memset(frame + len, 0xee, frames[i].pad);
        frame[frames[i].break_at] ^= frames[i].break_at ? 0x40 : 0;
        frames_receive(f, frame, len + frames[i].pad);
        check_entry(f, i, len, frame);
        g_assert_cmpmem(fake_ptr(&f->eth.env, addr, len), len, frame, len);
    }
    g_assert_false(frames_poll(f));
}

/* Lengths and fields that contradict the frame; the sum covers what there is. */
RECEIVE_TEST("/mlx5/receive/malformed", test_malformed)
{
    static const struct {
        uint32_t at, bits;      /* 16 bits of the frame */
        uint32_t end;           /* of the sum; 0: the frame's */
        uint32_t l3, l4, checked;
    } cases[] = {
        { 16, 0xffff, 0, 2, ACK_DATA, 1 },      /* longer than the frame */
        { 16, 0, 14, 2, 0, 1 },                 /* nothing */
        { 16, 19, 33, 2, 0, 1 },                /* shorter than the header */
        { 16, 30, 44, 2, 0, 1 },                /* shorter than headers; bad sum */
        { 20, 0x2000, 0, 2, 0, 1 },             /* the first fragment; bad sum */
        { 14, 0x4400, 0, 0, 0, 1 },             /* no header */
        { 14, 0x5500, 0, 0, 0, 1 },             /* no version */
    };
    uint8_t frame[BUFFER];
    uint32_t len;

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        post(f, &f->rq);
        len = frames_make(&tcp4, frame);
        stw_be_p(frame + cases[i].at, cases[i].bits);
        frames_receive(f, frame, len);
        CQE_IS(f, "check_sum=%u hds_ip_ext=%u l3_hdr_type=%u l4_hdr_type=%u",
                  frames_sum(frame + 14, (cases[i].end ?: len) - 14), cases[i].checked,
                  cases[i].l3, cases[i].l4);
    }
    /* Frames without a whole header, and one without any. */
    for (len = 14; len < 54; len++) {
        post(f, &f->rq);
        frames_make(&tcp4, frame);
        frames_receive(f, frame, len);
        CQE_IS(f, "byte_cnt=60");
        g_assert_false(CQE(f, hds_ip_ext) & 4);
    }
    frames_receive(f, frame, 13);
    g_assert_false(frames_poll(f));
    IS(f->eth.e->stats.drop[ERNIC_DROP_TOO_SHORT], 1);
}

/* IPv6 extension headers are followed up to TCP, and fragments have none. */
RECEIVE_TEST("/mlx5/receive/extensions", test_extensions)
{
    static const struct {
        uint8_t header[4];      /* next, length, offset of a fragment */
        uint8_t type;
        uint32_t l4;
    } cases[] = {
        { { 6, 0 }, 0, ACK_DATA }, { { 6, 0 }, 60, ACK_DATA }, { { 6, 0 }, 43, ACK_DATA },
        { { 6, 0, 0, 0 }, 44, ACK_DATA }, { { 6, 0, 0, 1 }, 44, 0 },
        { { 6, 0, 0, 8 }, 44, 0 }, { { 6, 200 }, 60, 0 }, { { 0, 0 }, 0, 0 },
    };
    FramesHead head = tcp4;
    uint8_t frame[BUFFER];
    uint32_t len;

    head.version = 6;
    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        post(f, &f->rq);
        len = frames_make(&head, frame);
        memmove(frame + 62, frame + 54, len - 54);
        memset(frame + 54, 0, 8);
        memcpy(frame + 54, cases[i].header, 4);
        frame[20] = cases[i].type;
        stw_be_p(frame + 18, len - 54 + 8);
        frames_receive(f, frame, len + 8);
        CQE_IS(f, "check_sum=%u l4_hdr_type=%u hds_ip_ext=%u",
                  frames_sum(frame + 14, len + 8 - 14), cases[i].l4, cases[i].l4 ? 7 : 3);
    }
}

RECEIVE_TEST("/mlx5/receive/vlan", test_vlan)
{
    FramesHead head = tcp4;
    uint8_t frame[BUFFER], *got;
    uint64_t addr;
    uint32_t len;

    head.tag = 0xa123;
    len = frames_make(&head, frame);
    addr = post(f, &f->rq);
    frames_receive(f, frame, len);
    CQE_IS(f, "vlan_stripped=1 vlan_info=0xa123 byte_cnt=%u l4_hdr_type=%u "
              "hds_ip_ext=7 check_sum=%u", len - 4, ACK_DATA,
              frames_sum(frame + 18, len - 18));
    got = fake_ptr(&f->eth.env, addr, len);
    g_assert_cmpmem(got, 12, frame, 12);
    g_assert_cmpmem(got + 12, len - 16, frame + 16, len - 16);
    /* vsd: the tag stays. */
    ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=1\nmodify_bitmask=2\nctx.vsd=1",
           f->rq.number);
    addr = post(f, &f->rq);
    frames_receive(f, frame, len);
    CQE_IS(f, "vlan_stripped=0 vlan_info=0 byte_cnt=%u", len);
    g_assert_cmpmem(fake_ptr(&f->eth.env, addr, len), len, frame, len);
}

/* Pieces of odd sizes, with and without a tag between them; and the ring's end. */
RECEIVE_TEST("/mlx5/receive/scatter", test_scatter)
{
    static const uint32_t sizes[] = { 7, 6, 1, 500 };
    FramesHead head = tcp4;
    uint8_t frame[BUFFER], got[BUFFER];
    FramesPiece piece[4];
    uint32_t len, at, i;

    for (uint32_t round = 0; round < 20; round++) {
        head.tag = round % 2 ? 0x55 : 0;
        head.payload = 100 + round;
        len = frames_make(&head, frame);
        for (i = 0; i < ARRAY_SIZE(sizes); i++) {
            /* Linux sets the bit for padding at the start, which is no length. */
            piece[i] = (FramesPiece) {
                f->mem + i * 4096 + round, sizes[i] | (round & 2 ? 1u << 31 : 0), f->key
            };
        }
        frames_post(f, &f->rq, piece, ARRAY_SIZE(sizes));
        frames_receive(f, frame, len);
        CQE_IS(f, "wqe_counter=%u", round);
        for (i = at = 0; i < ARRAY_SIZE(sizes); at += sizes[i++]) {
            memcpy(got + at, fake_ptr(&f->eth.env, piece[i].addr, sizes[i]), sizes[i]);
        }
        if (head.tag) {
            memmove(frame + 12, frame + 16, len - 16);
            len -= 4;
        }
        g_assert_cmpmem(got, len, frame, len);
    }
}

/* Frames that no request takes: they are counted, and later ones arrive. */
FRAMES_TEST("/mlx5/receive/no-room", test_no_room)
{
    uint8_t frame[BUFFER];
    uint32_t len, set;

    ETH_OK(&f->eth, 0x771, "%s", "");
    set = ernic_mlx5_get(f->eth.out, &ernic_mlx5_alloc_q_counter_out.counter_set_id);
    frames_queue(f, &f->rq, true, 3, 4, "");
    ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=1\nmodify_bitmask=8\n"
           "ctx.counter_set_id=%u", f->rq.number, set);
    frames_root(f, eth_tir(&f->eth, f->rq.number), 1);
    len = frames_make(&tcp4, frame);
    frames_receive(f, frame, len);
    frames_receive(f, frame, len);
    g_assert_false(frames_poll(f));
    IS(f->eth.e->stats.drop[ERNIC_DROP_NO_RQE], 2);
    ETH_OK(&f->eth, 0x773, "counter_set_id=%u\nclear=1", set);
    IS(ernic_mlx5_get(f->eth.out, &ernic_mlx5_query_q_counter_out. out_of_buffer), 2);
    ETH_OK(&f->eth, 0x773, "counter_set_id=%u", set);
    IS(ernic_mlx5_get(f->eth.out, &ernic_mlx5_query_q_counter_out. out_of_buffer), 0);
    /* One that is too short stays. */
    frames_post(f, &f->rq, &(FramesPiece) { f->mem, len - 1, f->key }, 1);
    frames_receive(f, frame, len);
    g_assert_false(frames_poll(f));
    IS(f->eth.e->stats.drop[ERNIC_DROP_MSG_LENGTH], 1);
    frames_receive(f, frame, len - 1);
    g_assert_true(frames_poll(f));
    /* A record that claims more than the ring has posts nothing. */
    stl_be_p(fake_ptr(&f->eth.env, f->rq.record, 4), f->rq.pi + 9);
    frames_receive(f, frame, len);
    g_assert_false(frames_poll(f));
    stl_be_p(fake_ptr(&f->eth.env, f->rq.record, 4), f->rq.pi + 8);
    frames_receive(f, frame, len - 1);
    g_assert_true(frames_poll(f));
}

/* No root, no entry, no state: counted as what they are. */
RECEIVE_TEST("/mlx5/receive/nowhere", test_nowhere)
{
    const ErnicMlx5Field *discard =
        &ernic_mlx5_vnic_diagnostic_statistics.nic_receive_steering_discard;
    const uint32_t env = ernic_mlx5_query_vnic_env_out.vport_env.offset / 8;
    uint8_t frame[BUFFER];
    uint32_t len = frames_make(&tcp4, frame);

    post(f, &f->rq);
    ETH_OK(&f->eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=3", f->rq.number);
    frames_receive(f, frame, len);
    IS(f->eth.e->stats.drop[ERNIC_DROP_QP_STATE], 1);
    ETH_OK(&f->eth, 0x92f, "op_mod=1");
    frames_receive(f, frame, len);
    ETH_OK(&f->eth, 0x76f, "%s", "");
    IS(ernic_mlx5_get(f->eth.out + env, discard), 1);
    ernic_set_link(f->eth.e, f->eth.env.now, false);
    frames_receive(f, frame, len);
    IS(f->eth.e->stats.drop[ERNIC_DROP_PORT_DOWN], 1);
    g_assert_false(frames_poll(f));
}

/* A key that does not exist, first or last: an entry with an error, then none. */
TEST("/mlx5/receive/bad-request", test_bad_request)
{
    uint8_t frame[BUFFER];
    uint32_t len = frames_make(&tcp4, frame);

    for (uint32_t i = 1; i <= 2; i++) {
        FramesPiece piece[2];
        Frames f;

        frames_setup(&f);
        frames_queue(&f, &f.rq, true, 3, 9, "");
        frames_root(&f, eth_tir(&f.eth, f.rq.number), 0);
        piece[0] = (FramesPiece) { f.mem, 20, f.key };
        piece[1] = (FramesPiece) { f.mem, 1000, f.key };
        piece[2 - i].key++;
        frames_post(&f, &f.rq, piece + 2 - i, i);
        frames_post(&f, &f.rq, piece + 2 - i, i);
        frames_receive(&f, frame, len);
        ERR_CQE_IS(&f, "opcode=14 syndrome=0x04 srqn=0x77 wqe_counter=0");
        IS(ernic_mlx5_rq_get(f.eth.e, f.rq.number)->state, FRAMES_ERR);
        frames_receive(&f, frame, len);
        IS(f.eth.e->stats.drop[ERNIC_DROP_QP_STATE], 1);
        /* Reset makes it work again. */
        ETH_OK(&f.eth, 0x909, "rqn=%u\nrq_state=3\nctx.state=0", f.rq.number);
        ETH_OK(&f.eth, 0x909, "rqn=%u\nrq_state=0\nctx.state=1", f.rq.number);
        f.rq.pi = 0;
        frames_post(&f, &f.rq, &(FramesPiece) { f.mem, 1000, f.key }, 1);
        while (frames_poll(&f)) {
            continue;
        }
        frames_receive(&f, frame, len);
        CQE_IS(&f, "opcode=2");
        frames_done(&f);
    }
}

/* Every access to memory fails in turn: an entry, an error entry, or a drop. */
TEST("/mlx5/receive/dma", test_dma)
{
    uint8_t frame[BUFFER];
    uint32_t len = frames_make(&tcp4, frame), nth;
    bool refused = true;

    for (nth = 1; refused; nth++) {
        Frames f;

        setup(&f);
        post(&f, &f.rq);
        f.eth.env.refused = 0;
        fake_fail_dma(&f.eth.env, nth, false);
        frames_receive(&f, frame, len);
        refused = f.eth.env.refused;
        fake_fail_dma(&f.eth.env, 0, false);
        if (frames_poll(&f)) {
            IS(CQE(&f, opcode), refused ? 14 : 2);
        } else {
            g_assert_true(refused);
        }
        frames_done(&f);
    }
    g_assert_cmpuint(nth, >, 4);
}

/* The queue of entries is full: the receive queue stops. */
RECEIVE_TEST("/mlx5/receive/overrun", test_overrun)
{
    const ErnicMlx5EthQueue *rq = ernic_mlx5_rq_get(f->eth.e, f->rq.number);
    uint8_t frame[BUFFER];
    uint32_t len = frames_make(&tcp4, frame);

    for (uint32_t i = 0; i <= FRAMES_CQ_DEPTH; i++) {
        IS(rq->state, FRAMES_RDY);
        post(f, &f->rq);
        frames_receive(f, frame, len);
    }
    IS(rq->state, FRAMES_ERR);
    IS(f->eth.e->stats.cq_overruns, 1);
}

static const char key[] =
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa";

/* Vectors that Microsoft publishes for receive side scaling. */
static const struct {
    const char *src, *dst;
    uint16_t sport, dport;
    uint32_t ip, tcp;           /* the hash of addresses; and with ports */
} vectors[] = {
    { "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
    { "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
    { "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
    { "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
    { "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
    { "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
    { "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
    { "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
      0x4b61e985, 0x02d1feef },
};

#define QUEUES  8

/* All frames go to a TIR of a table with QUEUES queues; every request is posted. */
static uint32_t make_rss(Frames *f, FramesQueue rq[QUEUES])
{
    g_autoptr(GString) text = g_string_new("rqt_context.rqt_max_size=128\n"
                                           "rqt_context.rqt_actual_size=8\n");
    uint32_t tir;

    for (uint32_t i = 0; i < QUEUES; i++) {
        frames_queue(f, &rq[i], true, 5, 4, "");
        g_string_append_printf(text, "rqt_context.rq_num[%u].rq_num=%u\n", i,
                               rq[i].number);
    }
    ETH_OK(&f->eth, 0x916, "%s", text->str);
    ETH_OK(&f->eth, 0x900, "ctx.disp_type=1\nctx.indirect_table=%u\nctx.rx_hash_fn=2\n"
           "ctx.transport_domain=1", eth_number(&f->eth));
    tir = eth_number(&f->eth);
    frames_root(f, tir, 0);
    return tir;
}

/* Hash by @selected fields of TCP, or of UDP. */
static void set_hash(Frames *f, uint32_t tir, bool v6, bool udp, uint32_t selected,
                     bool symmetric)
{
    g_autoptr(GString) text = g_string_new("");

    for (uint32_t i = 0; i < 10; i++) {
        g_string_append_printf(text, "ctx.rx_hash_toeplitz_key[%u]=0x%.8s\n", i,
                               key + i * 8);
    }
    ETH_OK(&f->eth, 0x901, "tirn=%u\nbitmask.hash=1\nctx.rx_hash_fn=2\n"
           "ctx.rx_hash_symmetric=%d\nctx.rx_hash_field_selector_outer.l3_prot_type=%d\n"
           "ctx.rx_hash_field_selector_outer.l4_prot_type=%d\n"
           "ctx.rx_hash_field_selector_outer.selected_fields=%u\n%s", tir, symmetric, v6,
           udp, selected, text->str);
}

/* A frame of @h arrives with @hash and @type, in the queue that the hash selects. */
static void check_hash(Frames *f, FramesQueue rq[QUEUES], const FramesHead *h,
                       uint32_t hash, uint32_t type)
{
    uint8_t frame[BUFFER];
    uint32_t len = frames_make(h, frame);
    FramesQueue *q = &rq[hash % QUEUES];

    post(f, q);
    frames_receive(f, frame, len);
    CQE_IS(f, "rss_hash_result=%u rss_hash_type=%u wqe_counter=%u", hash, type,
              q->pi - 1);
}

FRAMES_TEST("/mlx5/receive/hash", test_hash)
{
    FramesQueue rq[QUEUES];
    uint32_t tir = make_rss(f, rq);

    for (uint32_t i = 0; i < ARRAY_SIZE(vectors); i++) {
        bool v6 = strchr(vectors[i].src, ':');
        uint32_t ip = v6 ? 0x0a : 0x05;
        FramesHead h = tcp4;

        h.version = v6 ? 6 : 4;
        inet_pton(v6 ? AF_INET6 : AF_INET, vectors[i].src, h.src);
        inet_pton(v6 ? AF_INET6 : AF_INET, vectors[i].dst, h.dst);
        h.sport = vectors[i].sport;
        h.dport = vectors[i].dport;
        set_hash(f, tir, v6, false, 15, false);
        check_hash(f, rq, &h, vectors[i].tcp, ip | 0x50);
        set_hash(f, tir, v6, false, 3, false);
        check_hash(f, rq, &h, vectors[i].ip, ip);
        /* Ports of UDP, and a frame of TCP. */
        set_hash(f, tir, v6, true, 15, false);
        check_hash(f, rq, &h, vectors[i].ip, ip);
        h.proto = 17;
        check_hash(f, rq, &h, vectors[i].tcp, ip | 0xa0);
        h.proto = 1;
        check_hash(f, rq, &h, vectors[i].ip, ip);
        set_hash(f, tir, !v6, true, 15, false);
        check_hash(f, rq, &h, 0, 0);
    }
}

/* The index of ESP and AH is hashed like ports of TCP with the same bytes. */
FRAMES_TEST("/mlx5/receive/spi", test_spi)
{
    FramesQueue rq[QUEUES];
    uint8_t frame[BUFFER];
    uint32_t tir = make_rss(f, rq), hash;
    FramesHead h = tcp4;

    for (uint32_t i = 0; i < QUEUES; i++) {
        post(f, &rq[i]);
    }
    h.sport = h.dport = 0x5a5a;         /* the bytes of the payload below */
    set_hash(f, tir, false, false, 15, false);
    frames_receive(f, frame, frames_make(&h, frame));
    g_assert_true(frames_poll(f));
    hash = CQE(f, rss_hash_result);
    set_hash(f, tir, false, false, 0x13, false);
    for (uint32_t i = 0; i < 2; i++) {
        h.proto = i ? 51 : 50;
        h.payload = i ? 8 : 4;
        check_hash(f, rq, &h, hash, 0xc5);
    }
    h.payload = 7;                      /* without the end of the index */
    frames_receive(f, frame, frames_make(&h, frame));
    CQE_IS(f, "rss_hash_type=5");
}

/* Both directions of a flow have one hash. */
FRAMES_TEST("/mlx5/receive/symmetric", test_symmetric)
{
    FramesHead h = tcp4, back = tcp4;
    uint8_t frame[BUFFER];
    FramesQueue rq[QUEUES];
    uint32_t tir = make_rss(f, rq), hash;

    memcpy(back.src, h.dst, 16);
    memcpy(back.dst, h.src, 16);
    back.sport = h.dport;
    back.dport = h.sport;
    set_hash(f, tir, false, false, 15, true);
    for (uint32_t i = 0; i < QUEUES; i++) {
        post(f, &rq[i]);
    }
    frames_receive(f, frame, frames_make(&h, frame));
    g_assert_true(frames_poll(f));
    hash = CQE(f, rss_hash_result);
    g_assert_cmphex(hash, !=, 0);
    check_hash(f, rq, &back, hash, 0x55);
}

/* Frames count by their destination. */
RECEIVE_TEST("/mlx5/receive/counters", test_counters)
{
    static const char *const dmacs[] = {
        "\x02\x00\x00\x00\x00\x55", "\x01\x00\x5e\x00\x00\x01",
        "\xff\xff\xff\xff\xff\xff",
    };
    g_autofree char *want = NULL;
    FramesHead head = tcp4;
    uint8_t frame[BUFFER];
    uint32_t len = 0;

    for (uint32_t i = 0; i < ARRAY_SIZE(dmacs); i++) {
        memcpy(head.dmac, dmacs[i], 6);
        for (uint32_t k = 0; k <= i; k++) {
            len = frames_make(&head, frame);
            frames_receive(f, frame, len);
        }
    }
    want = g_strdup_printf("received_eth_unicast.packets=0x1\n"
        "received_eth_unicast.octets=%#x\nreceived_eth_multicast.packets=0x2\n"
        "received_eth_multicast.octets=%#x\nreceived_eth_broadcast.packets=0x3\n"
        "received_eth_broadcast.octets=%#x\n", len, 2 * len, 3 * len);
    mlx5_expect(f->eth.e, 0x770, "", want);
    IS(f->eth.e->stats.rx_frames, 6);
}
