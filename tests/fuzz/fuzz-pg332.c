/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software without sense at the registers of PG332, and a peer without any: two cards
 * back to back with two connections, queue pair 1 and the side stream; then any
 * register, request, frame, packet and descriptor, any bytes in memory, in any order,
 * in every version and strict mode, with packets lost, memory that goes away, cards
 * that are saved and loaded, and time that passes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "card.h"
#include "transport/qp.h"
#include "wire/frame.h"

enum { PG_REG, PG_POST, PG_POKE, PG_CROSS, PG_LOSE, PG_TIME, PG_BUSY, PG_VERSION,
       PG_FRAME, PG_PACKET, PG_SIDE, PG_SHUT, PG_SAVE, PG_LINK, PG_FAIL, PG_COUNT };

/* Kinds of cards, see cards_open(). */
#define KINDS       (PG332_VERSIONS * ERNIC_STRICT_MODES * 2)
/* Packets of a train that is made of one. */
#define TRAIN       4
/* ns; less than any time-out. */
#define SOON        50000

/* ---- what software does --------------------------------------------------------- */

static void set_reg(FuzzCard *c, FuzzIn *in)
{
    uint32_t scope = fuzz_u8(in) % (ERNIC_REG_SCOPES + 1);
    uint32_t element = fuzz_u8(in), word = fuzz_u8(in), value = fuzz_u32(in);

    if (scope == ERNIC_REG_SCOPES) {
        card_put_side(c, word % 0x28 * 4, value);
    } else {
        element = scope == ERNIC_REG_GLOBAL ? 0 : element % (CARD_QPS + 1);
        card_put(c, scope, element, word * 4, value);
    }
}

/* A request in the slot that the card reads next, and its index. */
static void post(FuzzCard *c, FuzzIn *in)
{
    uint32_t qpn = 2 + fuzz_u8(in) % 2, opcode = fuzz_u8(in), skip = fuzz_u8(in);
    uint32_t index;
    uint8_t *slot = card_slot(c, qpn, &index);

    slot[16] = opcode;
    stl_le_p(slot + 12, fuzz_u32(in));
    stl_le_p(slot + 28, fuzz_u32(in));
    stq_le_p(slot + 20, CARD_VA + fuzz_u32(in));
    stq_le_p(slot + 4, c->h.env.base + fuzz_u16(in));
    stl_le_p(slot + 48, fuzz_u32(in));
    fuzz_bytes(in, slot + 32, 16);
    card_ring(c, qpn, index, skip);
}

static void poke(FuzzCard *c, FuzzIn *in)
{
    uint32_t off = fuzz_u32(in) % FUZZ_MEM;

    fuzz_bytes(in, c->h.env.mem + off, MIN(in->left, FUZZ_MEM - off));
}

/* Bits of a frame that queue pair 1 sends. */
enum { FRAME_V6 = 1 << 0, FRAME_CNP = 1 << 1, FRAME_SELF = 1 << 2,
       FRAME_IMM = 1 << 3 };

/* A datagram or a CNP to the other card, with anything wrong. */
static void post_frame(FuzzCard *c, FuzzIn *in)
{
    uint8_t bits = fuzz_u8(in), opcode = fuzz_u8(in);
    uint32_t len = fuzz_u16(in) % (ERNIC_MTU_MAX + 9);
    int8_t more = fuzz_u8(in);
    uint8_t *frame = fake_ptr(&c->h.env, card_frame(c), CARD_FRAME), *slot;
    ErnicPkt pkt = {
        .op = ernic_opcode(bits & FRAME_CNP ? ERNIC_BTH_CNP :
                           ernic_bth_opcode(ERNIC_UD, bits & FRAME_IMM ?
                                            ERNIC_OP_SEND_ONLY_IMM :
                                            ERNIC_OP_SEND_ONLY)),
        .transport = bits & FRAME_CNP ? ERNIC_RC : ERNIC_UD,
        .dest_qp = bits & FRAME_CNP ? 2 : 1, .pkey = ERNIC_PKEY_DEFAULT,
        .qkey = ERNIC_QKEY_GSI, .src_qp = 1, .becn = bits & FRAME_CNP,
        .payload_len = bits & FRAME_CNP ? 0 : len,
    };
    uint32_t index, hdrs;
    ErnicPath path;

    card_path(&cards[bits & FRAME_SELF ? c->number : !c->number],
              bits & FRAME_V6 ? WAY_V6 : 0, &path);
    if (bits & FRAME_SELF) {
        path.sgid = path.dgid;
    }
    hdrs = ernic_net_emit(&path, ernic_pkt_len(
        ernic_opcode_hdr_len(pkt.op, pkt.transport), pkt.payload_len), frame);
    hdrs += ernic_pkt_emit_hdr(&pkt, frame + hdrs);
    len = hdrs + pkt.payload_len;
    memset(frame + hdrs, 0x5a, pkt.payload_len);
    while (in->left) {
        uint16_t at = fuzz_u16(in);

        frame[at % len] ^= fuzz_u8(in);
    }
    slot = card_slot(c, 1, &index);
    stq_le_p(slot + 4, card_frame(c));
    stl_le_p(slot + 12, len + more);
    slot[16] = opcode;
    card_ring(c, 1, index, 0);
}

/* Bits of a step of the side stream's driver. */
enum { SIDE_START = 1 << 0, SIDE_IRQS = 1 << 1, SIDE_CYCLIC = 1 << 2,
       SIDE_RESET = 1 << 3, SIDE_HIGH = 1 << 4 };

static void side(FuzzCard *c, FuzzIn *in)
{
    uint8_t bits = fuzz_u8(in), from = fuzz_u8(in), num = fuzz_u8(in);
    uint8_t tail = fuzz_u8(in), threshold = fuzz_u8(in);
    uint64_t desc = card_desc(c, from);

    card_listen(c, from, num % (CARD_RING + 1));
    while (in->left) {
        uint32_t at = fuzz_u8(in), word = fuzz_u8(in) % 16;

        stl_le_p(fake_ptr(&c->h.env, card_desc(c, at) + word * 4, 4), fuzz_u32(in));
    }
    if (bits & SIDE_RESET) {
        card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RESET);
    }
    if (bits & SIDE_START) {
        card_put_side(c, PG332_SIDE_CURDESC, desc);
        card_put_side(c, PG332_SIDE_CURDESC_MSB, desc >> 32);
        card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RUN | threshold << 16 |
                      (bits & SIDE_IRQS ? PG332_DMA_IRQS : 0) |
                      (bits & SIDE_CYCLIC ? PG332_DMACR_CYCLIC : 0));
    }
    desc = card_desc(c, tail);
    card_put_side(c, PG332_SIDE_TAILDESC, desc);
    if (bits & SIDE_HIGH) {
        card_put_side(c, PG332_SIDE_TAILDESC_MSB, desc >> 32);
    }
}

/* ---- what the peer does --------------------------------------------------------- */

/* Faults of a packet, besides its path. */
enum { PKT_ICRC = 1 << 0, PKT_QKEY = 1 << 1, PKT_RAW_DEST = 1 << 2,
       PKT_TRAIN = 1 << 3, PKT_SE = 1 << 4, PKT_ACK = 1 << 5 };

static uint32_t psn_of(const FuzzCard *c, uint32_t qpn, uint8_t base, int32_t more)
{
    const ErnicQp *qp = &c->h.e->qp[qpn];
    const uint32_t from[] = {
        qp->rq.epsn, qp->sq.una_psn, qp->sq.next_psn, qp->sq.max_psn, 0,
    };

    return (from[base % ARRAY_SIZE(from)] + more) & ERNIC_PSN_MASK;
}

/* The fields of a packet to @c, in the order of the record. */
static void read_pkt(const FuzzCard *c, FuzzIn *in, uint8_t opcode, uint8_t bits,
                     ErnicPkt *pkt)
{
    uint32_t qpn = fuzz_u8(in) % (CARD_QPS + 1);
    uint8_t base = fuzz_u8(in);

    *pkt = (ErnicPkt) {
        .op = ernic_opcode(opcode) ?: ernic_opcode(ERNIC_OP_SEND_ONLY),
        .transport = ernic_opcode(opcode) ? ernic_opcode_transport(opcode) :
                                            ERNIC_RC,
        .dest_qp = qpn, .psn = psn_of(c, qpn, base, (int8_t)fuzz_u8(in)),
        .pkey = ERNIC_PKEY_DEFAULT, .src_qp = 1, .se = bits & PKT_SE,
        .ackreq = bits & PKT_ACK, .qkey = ERNIC_QKEY_GSI,
    };
    pkt->syndrome = fuzz_u8(in);
    pkt->rkey = pkt->inv_rkey = fuzz_u32(in);
    pkt->va = CARD_VA + fuzz_u32(in);
    pkt->dma_len = fuzz_u32(in);
    pkt->payload_len = fuzz_u16(in) % (ERNIC_MTU_MAX + 9);
    pkt->imm = fuzz_u32(in);
    if (!(ernic_opcode_hdrs(pkt->op, pkt->transport) & ERNIC_HDR_DATA)) {
        pkt->payload_len = 0;
    }
    pkt->qkey ^= bits & PKT_QKEY ? pkt->imm : 0;
    pkt->dest_qp = bits & PKT_RAW_DEST ? pkt->imm & ERNIC_QPN_MASK : qpn;
}

/*
 * One packet, or the same a few times with the PSNs that follow; as a train, or as
 * the frame of a link that has them, in which any byte may be another.
 */
static void packet(FuzzCard *c, FuzzIn *in)
{
    static uint8_t buf[TRAIN * (ERNIC_PKT_HDR_MAX + ERNIC_MTU_MAX + 64)];
    uint8_t opcode = fuzz_u8(in), bits = fuzz_u8(in), way = fuzz_u8(in);
    uint32_t num = bits & PKT_TRAIN && !(way & WAY_FRAME) ? TRAIN : 1;
    uint32_t head = 0, len = 0, at;
    ErnicTrain train = { .data = buf };
    ErnicIcrcCtx icrc;
    ErnicPkt pkt;

    card_path(c, way, &train.path);
    ernic_icrc_init(&icrc, &train.path);
    read_pkt(c, in, opcode, bits, &pkt);
    if (way & WAY_FRAME) {
        head = ernic_net_emit(&train.path, ernic_pkt_len(
            ernic_opcode_hdr_len(pkt.op, pkt.transport), pkt.payload_len), buf);
    }
    for (; num--; pkt.psn = (pkt.psn + 1) & ERNIC_PSN_MASK) {
        at = ernic_pkt_emit_hdr(&pkt, buf + head + len);
        buf[head + len] = opcode;
        memset(buf + head + len + at, 0xc3, pkt.payload_len);
        at = ernic_pkt_finish(&icrc, buf + head + len, at + pkt.payload_len);
        len += at;
        train.seg = at;
    }
    buf[head + len - 1] ^= bits & PKT_ICRC;
    while (in->left) {
        at = fuzz_u16(in);
        buf[at % (head + len)] ^= fuzz_u8(in);
    }
    if (way & WAY_FRAME) {
        fuzz_rx_frame(&c->h, buf, head + len, FUZZ_ALL, FUZZ_ALL);
    } else {
        train.len = len;
        fuzz_rx(&c->h, &train, FUZZ_ALL, FUZZ_ALL);
    }
}

/* ---- what happens to both -------------------------------------------------------- */

/* All that a card does at once, and what soon comes of it under the timing model. */
static void settle(FuzzCard *c)
{
    fuzz_settle(&c->h, 16);
    if (c->h.e->timing) {
        fuzz_pass(&c->h, SOON, 64);
    }
}

/* Packets of each card arrive at the other, a few times in turn. */
static void cross(bool lose)
{
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < CARDS; i++) {
            FakeTrain *train;

            settle(&cards[i]);
            while (!lose && (train = fake_take_train(&cards[i].h.env))) {
                fuzz_rx(&cards[!i].h, &train->train, FUZZ_ALL, FUZZ_ALL);
                fake_train_free(train);
            }
            fake_lose_trains(&cards[i].h.env);
        }
    }
}

static void pass(uint32_t shift, FuzzIn *in)
{
    uint64_t ns = (uint64_t)fuzz_u16(in) << shift;

    for (int i = 0; i < CARDS; i++) {
        fuzz_pass(&cards[i].h, ns, 16);
    }
}

static void busy(FuzzCard *c, bool is)
{
    c->h.env.tx_busy = is;
    fuzz_tx_ready(&c->h);
}

static void one(uint8_t kind, FuzzIn *in)
{
    uint8_t first = fuzz_u8(in);
    FuzzCard *c = &cards[first % CARDS];

    switch (kind % PG_COUNT) {
    case PG_REG:
        set_reg(c, in);
        break;
    case PG_POST:
        post(c, in);
        break;
    case PG_POKE:
        poke(c, in);
        break;
    case PG_CROSS:
    case PG_LOSE:
        cross(kind % PG_COUNT == PG_LOSE);
        break;
    case PG_TIME:
        pass(first % 32, in);
        break;
    case PG_BUSY:
        busy(c, first & 2);
        break;
    case PG_VERSION:
        cards_open(first % KINDS);
        break;
    case PG_FRAME:
        post_frame(c, in);
        break;
    case PG_PACKET:
        packet(c, in);
        break;
    case PG_SIDE:
        side(c, in);
        break;
    case PG_SHUT:
        c->shut = fuzz_u8(in);
        break;
    case PG_SAVE:
        fuzz_reload(&c->h);
        break;
    case PG_LINK:
        fuzz_set_link(&c->h, !(first & 2));
        break;
    default:
        fake_fail_dma(&c->h.env, fuzz_u8(in), first & 2);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzIn in = { data, size }, record;
    uint32_t records = 0;
    uint8_t kind;

    cards_open(0);
    while (records++ < 96 && fuzz_record(&in, &kind, &record)) {
        one(kind, &record);
        for (int i = 0; i < CARDS; i++) {
            fuzz_check(&cards[i].h);
        }
    }
    cross(false);
    for (int i = 0; i < CARDS; i++) {
        card_read_all(&cards[i]);
        fuzz_check(&cards[i].h);
        fuzz_reload(&cards[i].h);
    }
    cards_close();
    return 0;
}

/* ---- mutation ----------------------------------------------------------------- */

static const uint32_t lengths[] = {
    0, 1, 8, 16, 17, 64, 256, 1024, 1025, 4096, 70000,
};
static const uint8_t opcodes[] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 22, 23,
    0x24, 0x2a, 0x64, 0x65, 0x81, 0x1f,
};
static const uint32_t values[] = {
    0, 1, 2, 8, 9, 0x0002023d, 0x0002047d, 0x0002043d, 0x00080008, 0x0a000001, 0x35c,
    0xffffffff, 0x00400040, 0x12b70821, 0x00017001, 0x01007011,
};

static void make_reg(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, fuzz_rand(rng, ERNIC_REG_SCOPES + 1), fuzz_rand(rng, 4),
             fuzz_rand(rng, 0x40));
    fuzz_put(out, 4, values[fuzz_rand(rng, ARRAY_SIZE(values))]);
}

static void make_post(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, fuzz_rand(rng, 2), fuzz_rand(rng, 13),
             fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 9));
    fuzz_put(out, 4, lengths[fuzz_rand(rng, ARRAY_SIZE(lengths))],
             fuzz_rand(rng, 8) ? CARD_KEY : fuzz_rand(rng, 0x400),
             fuzz_rand(rng, CARD_SPAN));
    fuzz_put(out, 2, fuzz_rand(rng, 0x10000));
    fuzz_put(out, 4, fuzz_rand(rng, UINT32_MAX));
}

/* A few bytes to be other ones; @at: how far on. */
static void make_patches(FuzzRng *rng, FuzzOut *out, uint32_t at)
{
    uint32_t n;

    for (n = fuzz_rand(rng, 4) ? 0 : 1 + fuzz_rand(rng, 2); n; n--) {
        fuzz_put(out, 2, fuzz_rand(rng, at));
        fuzz_put(out, 1, 1u << fuzz_rand(rng, 8));
    }
}

static void make_frame(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, fuzz_rand(rng, 16),
             fuzz_rand(rng, 8) ? 2 : fuzz_rand(rng, 13));
    fuzz_put(out, 2, lengths[fuzz_rand(rng, ARRAY_SIZE(lengths))]);
    fuzz_put(out, 1, fuzz_rand(rng, 8) ? 0 : fuzz_rand(rng, 256));
    make_patches(rng, out, 90);
}

static void make_packet(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, opcodes[fuzz_rand(rng, ARRAY_SIZE(opcodes))],
             fuzz_rand(rng, 8) ? PKT_ACK : fuzz_rand(rng, 64),
             fuzz_rand(rng, 2) ? 0 : 1u << fuzz_rand(rng, 8),
             1 + fuzz_rand(rng, 3), fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 5),
             fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 256),
             fuzz_rand(rng, 2) ? 0x1f : fuzz_rand(rng, 256));
    fuzz_put(out, 4, fuzz_rand(rng, 8) ? CARD_KEY : fuzz_rand(rng, 0x400),
             fuzz_rand(rng, CARD_SPAN),
             lengths[fuzz_rand(rng, ARRAY_SIZE(lengths))]);
    fuzz_put(out, 2, lengths[fuzz_rand(rng, ARRAY_SIZE(lengths))]);
    fuzz_put(out, 4, fuzz_rand(rng, UINT32_MAX));
    make_patches(rng, out, 120);
}

static void make_side(FuzzRng *rng, FuzzOut *out)
{
    fuzz_put(out, 1, fuzz_rand(rng, 32), fuzz_rand(rng, CARD_RING),
             fuzz_rand(rng, CARD_RING + 1), fuzz_rand(rng, CARD_RING),
             fuzz_rand(rng, 4));
    if (!fuzz_rand(rng, 4)) {
        fuzz_put(out, 1, fuzz_rand(rng, CARD_RING), fuzz_rand(rng, 8));
        fuzz_put(out, 4, values[fuzz_rand(rng, ARRAY_SIZE(values))]);
    }
}

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, PG_COUNT);

    fuzz_put(out, 1,
             kind == PG_VERSION ? fuzz_rand(rng, KINDS) : fuzz_rand(rng, 4));
    switch (kind) {
    case PG_REG:
        make_reg(rng, out);
        break;
    case PG_POST:
        make_post(rng, out);
        break;
    case PG_POKE:
        fuzz_put(out, 4, FUZZ_MEM - fuzz_rand(rng, 4 * CARD_RINGS),
                 fuzz_rand(rng, UINT32_MAX));
        break;
    case PG_TIME:
        fuzz_put(out, 2, fuzz_rand(rng, 1000));
        break;
    case PG_FRAME:
        make_frame(rng, out);
        break;
    case PG_PACKET:
        make_packet(rng, out);
        break;
    case PG_SIDE:
        make_side(rng, out);
        break;
    case PG_SHUT:
        fuzz_put(out, 1, fuzz_rand(rng, 2) ? 0 : fuzz_rand(rng, 256));
        break;
    case PG_FAIL:
        fuzz_put(out, 1, fuzz_rand(rng, 6));
        break;
    default:
        break;
    }
    return kind;
}
