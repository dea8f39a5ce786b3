/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile packets, one engine: queue pairs of every type and in every state,
 * with work outstanding in both directions, and a peer that obeys nothing.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/icrc.h"
#include "input.h"
#include "transport/qp.h"
#include "wire/frame.h"
#include "world.h"

#define HELD            ERNIC_TRAIN_BYTES

enum {
    RX_PACKET, RX_RAW, RX_TRAIN, RX_TIME, RX_SEND, RX_RECV, RX_LINK, RX_MODIFY,
    RX_LAZY, RX_DMA, RX_TUNE, RX_FRAME, RX_COUNT
};

static struct {
    World w;
    uint8_t held[HELD];         /* packets of a train to come */
    uint32_t held_len, held_seg;
    uint8_t held_path;
} rx;

/* A packet record, as it lies in the input. */
typedef struct RxPkt {
    uint8_t opcode;
    uint8_t bits;               /* SE, MigReq, FECN, BECN, AckReq */
    uint8_t dest, psn_base;
    int32_t psn;
    uint8_t how;                /* RXH_* */
    uint8_t path;               /* RXP_* */
    uint8_t key, inv_key;
    uint32_t off, dma_len;
    uint64_t swap, compare;
    uint8_t syndrome;
    uint32_t msn, imm, src_qp;
    uint16_t len;
    uint8_t fill;
} RxPkt;

#define RXH_HOLD        0x01    /* one more packet of a train */
#define RXH_BAD_ICRC    0x02
#define RXH_PKEY        0x04
#define RXH_QKEY        0x08
#define RXH_RAW_KEY     0x10    /* rkey and va are @imm and @swap */
#define RXH_RAW_DEST    0x20    /* dest is @src_qp */
#define RXH_XRC_SRQ     0x40    /* XRC: another SRQ, by @src_qp */

#define RXP_V6          0x01
#define RXP_WRONG_SRC   0x02
#define RXP_WRONG_DST   0x04
#define RXP_CE          0x08
#define RXP_MCAST       0x10
#define RXP_VLAN        0x20
#define RXP_IP          0x40    /* the link has seen the IP header */

/* Every field of the record, in its order. */
#define RX_FIELDS(X)                                                        \
    X(opcode, 1) X(bits, 1) X(dest, 1) X(psn_base, 1) X(psn, 4) X(how, 1)   \
    X(path, 1) X(key, 1) X(inv_key, 1) X(off, 4) X(dma_len, 4) X(swap, 8)   \
    X(compare, 8) X(syndrome, 1) X(msn, 4) X(imm, 4) X(src_qp, 4) X(len, 2) \
    X(fill, 1)

static void read_pkt(FuzzIn *in, RxPkt *p)
{
#define X(name, bytes)                                                      \
    p->name = bytes == 1 ? fuzz_u8(in) : bytes == 2 ? fuzz_u16(in) :        \
              bytes == 4 ? fuzz_u32(in) : fuzz_u64(in);
    RX_FIELDS(X)
#undef X
}

static void write_pkt(FuzzOut *out, const RxPkt *p)
{
#define X(name, bytes) fuzz_put(out, bytes, p->name);
    RX_FIELDS(X)
#undef X
}

static void path_of(uint8_t bits, ErnicPath *path)
{
    memset(path, 0, sizeof(*path));
    if (bits & (RXP_V6 | RXP_MCAST)) {
        fuzz_gid6(path->sgid.raw, bits & RXP_WRONG_SRC ? 7 : 2);
        fuzz_gid6(path->dgid.raw, bits & RXP_WRONG_DST ? 7 : 1);
    } else {
        fake_gid(path->sgid.raw, bits & RXP_WRONG_SRC ? 7 : 2);
        fake_gid(path->dgid.raw, bits & RXP_WRONG_DST ? 7 : 1);
    }
    if (bits & RXP_MCAST) {
        memcpy(path->dgid.raw, world_group, sizeof(world_group));
    }
    path->vlan = bits & RXP_VLAN ? 0x2005 : ERNIC_NO_VLAN;
    path->udp_sport = 0xc123;
    path->hop_limit = 60;
    path->tclass = bits & RXP_CE ? ERNIC_ECN_CE : ERNIC_ECN_ECT0;
}

static uint32_t psn_of(const RxPkt *p, uint32_t qpn)
{
    const ErnicQp *qp = &rx.w.g.h.e->qp[qpn];
    const uint32_t base[] = {
        qp->rq.epsn, qp->sq.una_psn, qp->sq.next_psn, qp->sq.max_psn, 0,
    };

    return (base[p->psn_base % ARRAY_SIZE(base)] + p->psn) & ERNIC_PSN_MASK;
}

/* The packet with its ICRC at @buf. Returns its length. */
static uint32_t build(const RxPkt *p, FuzzIn *patches, const ErnicIcrcCtx *icrc,
                      uint8_t *buf)
{
    const WorldKey *key = &rx.w.key[p->key % WORLD_KEYS];
    uint32_t qpn = rx.w.g.qp[p->dest % rx.w.g.qps].q.qpn, len;
    ErnicPkt pkt = {
        .op = ernic_opcode(p->opcode), .dest_qp = qpn, .psn = psn_of(p, qpn),
        .pkey = p->how & RXH_PKEY ? p->imm : ERNIC_PKEY_DEFAULT,
        .qkey = qpn == ERNIC_QPN_GSI ? ERNIC_QKEY_GSI : 0x11111111,
        .se = p->bits & 1, .migreq = p->bits & 2, .fecn = p->bits & 4,
        .becn = p->bits & 8, .ackreq = p->bits & 16, .src_qp = p->src_qp,
        .feth = p->syndrome,
        .va = key->iova + p->off, .rkey = key->key, .dma_len = p->dma_len,
        .swap_add = p->swap, .compare = p->compare, .atomic_orig = p->swap,
        .msn = p->msn, .syndrome = p->syndrome, .imm = p->imm,
        .inv_rkey = rx.w.key[p->inv_key % WORLD_KEYS].key,
        .xrcsrq = rx.w.g.srq[GUEST_XRC_SRQ].q.srqn ^
                  (p->how & RXH_XRC_SRQ ? p->src_qp & ERNIC_QPN_MASK : 0),
    };

    pkt.op = pkt.op ? pkt.op : ernic_opcode(ERNIC_OP_SEND_ONLY);
    pkt.transport = ernic_opcode(p->opcode) ? ernic_opcode_transport(p->opcode)
                                            : ERNIC_RC;
    if (p->how & RXH_RAW_KEY) {
        pkt.rkey = pkt.inv_rkey = p->imm;
        pkt.va = p->swap;
    }
    if (p->how & RXH_RAW_DEST) {
        pkt.dest_qp = p->src_qp & ERNIC_QPN_MASK;
    } else if (p->path & RXP_MCAST) {
        pkt.dest_qp = ERNIC_QPN_MULTICAST;
    }
    pkt.qkey ^= p->how & RXH_QKEY ? p->imm : 0;
    if (ernic_opcode_hdrs(pkt.op, pkt.transport) & ERNIC_HDR_DATA) {
        pkt.payload_len = p->len % (ERNIC_MTU_MAX + 9);
    }
    len = ernic_pkt_emit_hdr(&pkt, buf);
    memset(buf + len, p->fill, pkt.payload_len);
    buf[0] = p->opcode;
    len += pkt.payload_len;
    while (patches->left) {
        uint16_t at = fuzz_u16(patches);

        buf[at % len] ^= fuzz_u8(patches);
    }
    /* A patch may have changed PadCnt, and with it the length. */
    while ((len + (buf[1] >> ERNIC_BTH_PAD_SHIFT & ERNIC_BTH_PAD_MASK)) % 4) {
        buf[len++] = p->fill;
    }
    len = ernic_pkt_finish(icrc, buf, len);
    buf[len - 1] ^= p->how & RXH_BAD_ICRC ? 1 : 0;
    return len;
}

static void init_icrc(uint8_t path_bits, ErnicPath *path, uint8_t *ip,
                      ErnicIcrcCtx *icrc)
{
    path_of(path_bits, path);
    if (path_bits & RXP_IP) {
        ernic_net_emit_ip(path, 100, ip);
        ernic_icrc_init_ip(icrc, ip, !ernic_path_is_v4(path));
    } else {
        ernic_icrc_init(icrc, path);
    }
}

static void deliver(uint8_t path_bits, uint32_t seg)
{
    ErnicTrain train = { .len = rx.held_len, .data = rx.held, .seg = seg };
    uint8_t ip[ERNIC_NET_HDR_MAX];
    ErnicIcrcCtx icrc;

    init_icrc(path_bits, &train.path, ip, &icrc);
    train.ip = path_bits & RXP_IP ? ip : NULL;
    if (train.seg && train.len) {
        world_rx(&rx.w, &train);
    }
    rx.held_len = 0;
    world_settle(&rx.w);
}

static void rx_packet(FuzzIn *in)
{
    uint8_t buf[ERNIC_PKT_HDR_MAX + ERNIC_MTU_MAX + 64];
    uint8_t ip[ERNIC_NET_HDR_MAX], bits;
    ErnicIcrcCtx icrc;
    ErnicPath path;
    RxPkt p = { 0 };
    uint32_t len;

    read_pkt(in, &p);
    bits = rx.held_len ? rx.held_path : p.path;
    init_icrc(bits, &path, ip, &icrc);
    len = build(&p, in, &icrc, buf);
    if (rx.held_len + len > HELD) {
        return;
    }
    if (!rx.held_len) {
        rx.held_path = p.path;
        rx.held_seg = len;
    }
    memcpy(rx.held + rx.held_len, buf, len);
    rx.held_len += len;
    if (!(p.how & RXH_HOLD)) {
        deliver(rx.held_path, rx.held_seg);
    }
}

/* Any bytes; with bit 7 of the first one their ICRC is made right. */
static void rx_raw(FuzzIn *in)
{
    uint8_t bits = fuzz_u8(in), ip[ERNIC_NET_HDR_MAX];
    ErnicIcrcCtx icrc;
    ErnicPath path;

    rx.held_len = MIN(in->left, HELD);
    fuzz_bytes(in, rx.held, rx.held_len);
    init_icrc(bits, &path, ip, &icrc);
    if ((bits & 0x80) && rx.held_len >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN) {
        uint32_t len = rx.held_len - ERNIC_ICRC_LEN;

        stl_le_p(rx.held + len, ernic_icrc_packet(&icrc, rx.held, len));
    }
    deliver(bits & 0x7f, MAX(rx.held_len, 1));
}

/* The held packets, with lengths that may be wrong. */
static void rx_train(FuzzIn *in)
{
    uint32_t seg = fuzz_u16(in), less = fuzz_u16(in);
    uint8_t path = fuzz_u8(in);

    rx.held_len -= MIN(less, rx.held_len);
    deliver(path ? path : rx.held_path, seg ? seg : rx.held_seg);
}

/* ---- Ethernet frames -------------------------------------------------- */

#define FRAME_MAX   2300        /* more than any receive request takes */

#define RXF_V6      0x01
#define RXF_OTHER   0x02        /* neither IPv4 nor IPv6 */
#define RXF_VLAN    0x04
#define RXF_TCP     0x08

/* Headers of a frame as @shape says, then zeros. Returns their length. */
static uint32_t frame_headers(uint8_t shape, uint8_t last, uint8_t *frame)
{
    static const uint8_t mac[] = WORLD_MAC;
    ErnicPath path;
    uint32_t len;

    path_of((shape & RXF_V6 ? RXP_V6 : 0) | (shape & RXF_VLAN ? RXP_VLAN : 0), &path);
    memcpy(path.dmac, mac, sizeof(mac));
    path.dmac[5] = last;
    len = ernic_net_emit(&path, 100, frame);
    if (shape & RXF_OTHER) {
        frame[12] = 0x88;
    } else if (shape & RXF_TCP) {
        frame[len - (shape & RXF_V6 ? 42 : 19)] = 6;
    }
    return len;
}

/* One that is no RoCEv2 packet, for whichever queue pair has a rule for it. */
static void rx_frame(FuzzIn *in)
{
    uint8_t frame[FRAME_MAX] = { 0 }, *exact;
    uint8_t shape = fuzz_u8(in), last = fuzz_u8(in);
    uint32_t head = frame_headers(shape, last, frame), len;

    stl_be_p(frame + head - 8, fuzz_u32(in));           /* ports */
    len = fuzz_u16(in) % FRAME_MAX;
    while (in->left) {
        uint16_t at = fuzz_u16(in);

        frame[at % FRAME_MAX] ^= fuzz_u8(in);
    }
    /* Exactly as long as it is: one byte too far is seen. */
    exact = g_memdup2(frame, MAX(len, 1));
    fuzz_rx_raw(&rx.w.g.h, exact, len, FUZZ_RING | FUZZ_RECV, FUZZ_QUEUE);
    g_free(exact);
    world_settle(&rx.w);
}

/* ---- what the guest and the link do meanwhile ------------------------- */

static void rx_modify(FuzzIn *in)
{
    GuestQp *qp = &rx.w.g.qp[fuzz_u8(in) % rx.w.g.qps];
    uint8_t state = fuzz_u8(in) % ERNIC_QPS_COUNT;
    struct ernic_qp_attr attr;

    world_attr(rx.w.row[qp - rx.w.g.qp], qp->q.qpn, &attr);
    attr.max_dest_rd_atomic = fuzz_u8(in) % (ERNIC_MAX_RD_ATOMIC + 1);
    attr.sqd_notify = 1;
    guest_modify(&rx.w.g, qp, fake_qp_mask(qp->q.type, state) ^ fuzz_u32(in),
                 state, &attr);
    if (state == ERNIC_QPS_RESET && qp == &rx.w.g.qp[0] &&
        rx.w.g.h.e->qp[qp->q.qpn].state == ERNIC_QPS_RESET) {
        rx.w.key[WORLD_KEYS - 1].access = 0;    /* its window is unbound */
    }
    world_settle(&rx.w);
}

static void rx_link(FuzzIn *in)
{
    uint8_t what = fuzz_u8(in);

    rx.w.g.h.env.tx_busy = what & 1;
    if (!(what & 1)) {
        fuzz_tx_ready(&rx.w.g.h);
    }
    fuzz_set_link(&rx.w.g.h, !(what & 2));
    world_settle(&rx.w);
}

static void rx_time(FuzzIn *in)
{
    fuzz_pass(&rx.w.g.h, fuzz_ns(in), 32);
    world_settle(&rx.w);
}

static void rx_send(FuzzIn *in)
{
    GuestQp *qp = &rx.w.g.qp[fuzz_u8(in) % rx.w.g.qps];
    uint8_t op = fuzz_u8(in) % ERNIC_WR_LOCAL_INV, flags = fuzz_u8(in);

    world_send(&rx.w, qp, op, flags, fuzz_u16(in));
    world_settle(&rx.w);
}

static void rx_recv(FuzzIn *in)
{
    GuestQp *qp = &rx.w.g.qp[fuzz_u8(in) % rx.w.g.qps];

    world_recv(&rx.w, guest_rq(&rx.w.g, qp), fuzz_u16(in));
    world_settle(&rx.w);
}

static void rx_lazy(FuzzIn *in)
{
    rx.w.g.lazy = fuzz_u8(in) & 1;
    guest_poll(&rx.w.g);
}

static void rx_dma(FuzzIn *in)
{
    rx.w.g.faulty = true;
    fake_fail_dma(&rx.w.g.h.env, fuzz_u8(in), false);
}

static void rx_tune(FuzzIn *in)
{
    uint8_t what = fuzz_u8(in), value = fuzz_u8(in);

    guest_tune(&rx.w.g, what, value, fuzz_u16(in));
    world_settle(&rx.w);
}

static void check(void)
{
    fuzz_check(&rx.w.g.h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FuzzStep *const steps[] = {
        [RX_PACKET] = rx_packet, [RX_RAW] = rx_raw, [RX_TRAIN] = rx_train,
        [RX_TIME] = rx_time, [RX_SEND] = rx_send, [RX_RECV] = rx_recv,
        [RX_LINK] = rx_link, [RX_MODIFY] = rx_modify, [RX_LAZY] = rx_lazy,
        [RX_DMA] = rx_dma, [RX_TUNE] = rx_tune, [RX_FRAME] = rx_frame,
    };

    world_open(&rx.w, UINT32_MAX);
    rx.held_len = 0;
    fuzz_records(data, size, 128, steps, ARRAY_SIZE(steps), check);
    fake_fail_dma(&rx.w.g.h.env, 0, false);
    rx.w.g.h.env.tx_busy = false;
    fuzz_tx_ready(&rx.w.g.h);
    guest_finish(&rx.w.g);
    fuzz_close(&rx.w.g.h);
    return 0;
}

/* ---- input that means something --------------------------------------- */

/* A packet that the queue pair it goes to could expect. */
static void make_packet(FuzzRng *rng, FuzzOut *out)
{
    static const uint8_t transport[] = {
        [ERNIC_QPT_RC] = ERNIC_BTH_RC, [ERNIC_QPT_UC] = ERNIC_BTH_UC,
        [ERNIC_QPT_UD] = ERNIC_BTH_UD, [ERNIC_QPT_GSI] = ERNIC_BTH_UD,
        [ERNIC_QPT_XRC_INI] = ERNIC_BTH_XRC, [ERNIC_QPT_XRC_TGT] = ERNIC_BTH_XRC,
    };
    RxPkt p = {
        .dest = fuzz_rand(rng, WORLD_RAW), .bits = 16,
        .key = fuzz_rand(rng, WORLD_KEYS), .inv_key = WORLD_KEY_INV + fuzz_rand(rng, 3),
        .syndrome = 0x1f, .src_qp = 0x123, .fill = fuzz_rand(rng, 256),
    };
    const WorldRow *row = &world_rows[p.dest];
    uint32_t mtu = 128u << row->mtu;
    const ErnicOpcode *op;

    do {
        p.opcode = transport[row->type] | fuzz_rand(rng, ERNIC_OP_COUNT);
        op = ernic_opcode(p.opcode);
    } while (!op);
    if (fuzz_rand(rng, 40) == 0) {
        p.opcode = ERNIC_BTH_CNP;
    }
    if (op->flags & ERNIC_OPF_RSP) {
        p.psn_base = 1;
        p.psn = fuzz_rand(rng, 8);
        p.syndrome = fuzz_rand(rng, 4) ? 0x1f : fuzz_rand(rng, 0x70);
    } else if (op->cls == ERNIC_CL_FLUSH) {
        p.syndrome = ERNIC_FETH_GLOBAL | (fuzz_rand(rng, 2) <<
                                          ERNIC_FETH_LEVEL_SHIFT);
    } else if (fuzz_rand(rng, 6) == 0) {
        p.psn = (int32_t)fuzz_rand(rng, 9) - 4;
    }
    p.len = op->seg & ERNIC_SEG_END ? fuzz_rand(rng, mtu + 1) : mtu;
    p.dma_len = op->cls == ERNIC_CL_READ ? fuzz_rand(rng, 4096) :
                op->seg & ERNIC_SEG_END ? p.len : mtu * 3;
    p.off = fuzz_rand(rng, 3) ? 0 : 8 * fuzz_rand(rng, 600);
    p.how = fuzz_rand(rng, 6) ? 0 : RXH_HOLD;
    p.path = (row->v6 ? RXP_V6 : 0) | (fuzz_rand(rng, 8) ? 0 : RXP_CE) |
             (fuzz_rand(rng, 8) ? 0 : RXP_IP);
    if (row->type == ERNIC_QPT_UD && !fuzz_rand(rng, 4)) {
        p.path |= RXP_MCAST;
    }
    write_pkt(out, &p);
}

static void make_frame(FuzzRng *rng, FuzzOut *out)
{
    uint8_t row = WORLD_RAW + fuzz_rand(rng, 3);

    fuzz_put(out, 1, fuzz_rand(rng, 16),
             row == WORLD_RAW + 2 ? WORLD_RSS : row);
    fuzz_put(out, 4, fuzz_rand(rng, UINT32_MAX));
    fuzz_put(out, 2, fuzz_rand(rng, FRAME_MAX));
}

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, 2) ? RX_PACKET : fuzz_rand(rng, RX_COUNT);

    if (kind == RX_PACKET) {
        make_packet(rng, out);
    } else if (kind == RX_FRAME) {
        make_frame(rng, out);
    } else {
        fuzz_put_bytes(out, rng, 5, 1, 0);
    }
    return kind;
}
