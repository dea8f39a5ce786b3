/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * InfiniBand packets: known bytes, round trips of every opcode, every truncation, and
 * frames that other implementations made. The fuzz target fuzz-net has mutated ones.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "wire/frame.h"
#include "wire/headers.h"

#define GUARD       64
#define PKT_MAX     (ERNIC_PKT_HDR_MAX + 256 + ERNIC_PKT_TAIL_MAX)

static const ErnicPath path = {
    .sgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
    .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
    .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .hop_limit = 64,
};

/* Every field has a distinct value with the top and bottom bit set. */
static ErnicPkt sample(uint8_t bth, uint32_t payload_len)
{
    const ErnicOpcode *op = ernic_opcode(bth);

    return (ErnicPkt) {
        .op = op, .transport = ernic_opcode_transport(bth),
        .dest_qp = 0x812345, .psn = 0xa6789b, .pkey = 0x8fed,
        .se = true, .migreq = true, .becn = true, .ackreq = true,
        .xrcsrq = 0x812347, .qkey = 0x80010203, .src_qp = 0x998877,
        .feth = 0x80000021,
        .va = 0x8123456789abcdefull, .rkey = 0x91a2b3c5, .dma_len = 0x80000001,
        .swap_add = 0x9111222233334445ull, .compare = 0xa666777788889993ull,
        .atomic_orig = 0xb0b1b2b3b4b5b6b7ull, .msn = 0x8c0de1, .syndrome = 0xe3,
        .imm = 0x8badf00d, .inv_rkey = 0xcafed00d,
        .payload_len = op->hdrs & ERNIC_HDR_DATA ? payload_len : 0,
    };
}

/* Emits the whole packet with payload bytes 1, 2, 3 ...; returns its length. */
static uint32_t build(const ErnicPkt *p, uint8_t *buf)
{
    ErnicIcrcCtx ctx;
    uint32_t n = ernic_pkt_emit_hdr(p, buf);

    for (uint32_t i = 0; i < p->payload_len; i++) {
        buf[n++] = i + 1;
    }
    ernic_icrc_init(&ctx, &path);
    return ernic_pkt_finish(&ctx, buf, n);
}

static void assert_ext_equal(const ErnicPkt *a, const ErnicPkt *b)
{
    uint32_t hdrs = ernic_opcode_hdrs(a->op, a->transport);
    uint32_t reth = hdrs & (ERNIC_HDR_RETH | ERNIC_HDR_ATOMIC_ETH);

#define SAME(field, present) \
    IS(b->field, (present) ? a->field : 0)
    SAME(xrcsrq, hdrs & ERNIC_HDR_XRCETH);
    SAME(qkey, hdrs & ERNIC_HDR_DETH);
    SAME(src_qp, hdrs & ERNIC_HDR_DETH);
    SAME(feth, hdrs & ERNIC_HDR_FETH);
    SAME(va, reth);
    SAME(rkey, reth);
    SAME(dma_len, hdrs & ERNIC_HDR_RETH);
    SAME(swap_add, hdrs & ERNIC_HDR_ATOMIC_ETH);
    SAME(compare, hdrs & ERNIC_HDR_ATOMIC_ETH);
    SAME(syndrome, hdrs & ERNIC_HDR_AETH);
    SAME(msn, hdrs & ERNIC_HDR_AETH);
    SAME(atomic_orig, hdrs & ERNIC_HDR_ATOMIC_ACK);
    SAME(imm, hdrs & ERNIC_HDR_IMM);
    SAME(inv_rkey, hdrs & ERNIC_HDR_IETH);
#undef SAME
}

static void assert_pkt_equal(const ErnicPkt *a, const ErnicPkt *b)
{
    g_assert_true(a->op == b->op);
    IS(a->transport, b->transport);
    IS(a->dest_qp, b->dest_qp);
    IS(a->psn, b->psn);
    IS(a->pkey, b->pkey);
    IS(a->se, b->se);
    IS(a->migreq, b->migreq);
    IS(a->fecn, b->fecn);
    IS(a->becn, b->becn);
    IS(a->ackreq, b->ackreq);
    IS(a->payload_len, b->payload_len);
    assert_ext_equal(a, b);
}

TEST("/wire/known-bytes", test_known_bytes)
{
    static const uint8_t cmp_swap[] = {
        0xb3, 0xc0, 0x8f, 0xed,  0x40, 0x81, 0x23, 0x45,
        0x80, 0xa6, 0x78, 0x9b,
        0x00, 0x81, 0x23, 0x47,
        0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
        0x91, 0xa2, 0xb3, 0xc5,
        0x91, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x45,
        0xa6, 0x66, 0x77, 0x77, 0x88, 0x88, 0x99, 0x93,
    };
    static const uint8_t ud_imm[] = {
        0x65, 0xf0, 0x8f, 0xed,  0x40, 0x81, 0x23, 0x45,
        0x80, 0xa6, 0x78, 0x9b,
        0x80, 0x01, 0x02, 0x03,  0x00, 0x99, 0x88, 0x77,
        0x8b, 0xad, 0xf0, 0x0d,
        0x01, 0x00, 0x00, 0x00,
    };
    static const uint8_t atomic_ack[] = {
        0x12, 0xc0, 0x8f, 0xed,  0x40, 0x81, 0x23, 0x45,
        0x80, 0xa6, 0x78, 0x9b,
        0xe3, 0x8c, 0x0d, 0xe1,
        0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
    };
    static const uint8_t write_imm[] = {
        0x0b, 0xc0, 0x8f, 0xed,  0x40, 0x81, 0x23, 0x45,
        0x80, 0xa6, 0x78, 0x9b,
        0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
        0x91, 0xa2, 0xb3, 0xc5,  0x80, 0x00, 0x00, 0x01,
        0x8b, 0xad, 0xf0, 0x0d,
    };
    static const struct {
        uint8_t bth;
        uint8_t payload_len;
        const uint8_t *bytes;
        uint32_t len;
    } known[] = {
        { 0xb3, 0, cmp_swap, sizeof(cmp_swap) },
        { 0x65, 1, ud_imm, sizeof(ud_imm) },
        { 0x12, 0, atomic_ack, sizeof(atomic_ack) },
        { 0x0b, 0, write_imm, sizeof(write_imm) },
    };
    uint8_t buf[PKT_MAX];

    for (uint32_t i = 0; i < G_N_ELEMENTS(known); i++) {
        ErnicPkt p = sample(known[i].bth, known[i].payload_len);

        IS(build(&p, buf), known[i].len + 4);
        g_assert_cmpmem(buf, known[i].len, known[i].bytes, known[i].len);
        IS((uint32_t)ldl_le_p(buf + known[i].len), ernic_icrc(&path, buf, known[i].len));
    }
}

/* Into a buffer of 0xa5, with nothing written around the packet. */
static void round_trip(uint8_t bth, uint32_t payload_len)
{
    uint8_t a5[GUARD + PKT_MAX + GUARD], other[GUARD + PKT_MAX + GUARD];
    ErnicPkt p = sample(bth, payload_len);
    uint32_t hdr_len = ernic_opcode_hdr_len(p.op, p.transport);
    uint32_t len;
    ErnicIcrcCtx ctx;
    ErnicPkt q;

    memset(a5, 0xa5, sizeof(a5));
    memset(other, 0x5a, sizeof(other));
    IS(ernic_pkt_emit_hdr(&p, a5 + GUARD), hdr_len);
    for (uint32_t i = 0; i < sizeof(a5); i++) {
        if (i < GUARD || i >= GUARD + hdr_len) {
            IS(a5[i], 0xa5);
        }
    }
    len = build(&p, a5 + GUARD);
    IS(build(&p, other + GUARD), len);
    g_assert_cmpmem(a5 + GUARD, len, other + GUARD, len);
    for (uint32_t i = 0; i < sizeof(a5); i++) {
        if (i < GUARD || i >= GUARD + len) {
            IS(a5[i], 0xa5);
        }
    }
    IS(len, ernic_pkt_len(hdr_len, p.payload_len));
    IS(len % 4, 0);

    memset(&q, 0xa5, sizeof(q));
    IS(ernic_pkt_parse(&q, a5 + GUARD, len), ERNIC_DROP_NONE);
    assert_pkt_equal(&p, &q);
    IS(q.pad, (4 - p.payload_len % 4) % 4);
    if (p.op->hdrs & ERNIC_HDR_DATA) {
        g_assert_true(q.payload == a5 + GUARD + hdr_len);
        for (uint32_t i = 0; i < q.payload_len + q.pad; i++) {
            IS(q.payload[i], i < q.payload_len ? i + 1 : 0);
        }
    } else {
        g_assert_null(q.payload);
    }
    ernic_icrc_init(&ctx, &path);
    g_assert_true(ernic_icrc_ok(&ctx, a5 + GUARD, len));
}

TEST("/wire/round-trip", test_round_trip)
{
    static const uint32_t lens[] = { 0, 1, 2, 3, 4, 5, 63, 255 };
    uint32_t count = 0;

    for (uint32_t bth = 0; bth < 256; bth++) {
        for (uint32_t i = 0; i < G_N_ELEMENTS(lens) && ernic_opcode(bth); i++) {
            round_trip(bth, lens[i]);
            count++;
        }
    }
    IS(count, 63 * G_N_ELEMENTS(lens));
}

/* Each flag of BTH alone, both ways. */
TEST("/wire/bth-flags", test_bth_flags)
{
    static const struct {
        size_t field;
        uint8_t ofs, bit;
    } flags[] = {
        { offsetof(ErnicPkt, se), 1, 0x80 },
        { offsetof(ErnicPkt, migreq), 1, 0x40 },
        { offsetof(ErnicPkt, fecn), 4, 0x80 },
        { offsetof(ErnicPkt, becn), 4, 0x40 },
        { offsetof(ErnicPkt, ackreq), 8, 0x80 },
    };
    uint8_t buf[PKT_MAX];

    for (uint32_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        ErnicPkt p = { .op = ernic_opcode(0x04) };
        ErnicPkt q;
        uint32_t len;

        *(bool *)((uint8_t *)&p + flags[i].field) = true;
        len = build(&p, buf);
        for (uint32_t j = 1; j < ERNIC_BTH_LEN; j++) {
            uint8_t want = j == flags[i].ofs ? flags[i].bit : 0;

            IS(buf[j], want);
        }
        IS(ernic_pkt_parse(&q, buf, len), ERNIC_DROP_NONE);
        for (uint32_t j = 0; j < G_N_ELEMENTS(flags); j++) {
            IS(*(bool *)((uint8_t *)&q + flags[j].field), i == j);
        }
    }
}

/* Expected result for the first @len bytes of the packet. */
static ErnicDrop truncated(const ErnicPkt *p, uint32_t pad, uint32_t len)
{
    uint32_t hdr_len = ernic_opcode_hdr_len(p->op, p->transport);

    if (len < hdr_len + ERNIC_ICRC_LEN) {
        return ERNIC_DROP_TOO_SHORT;
    }
    if (len % 4) {
        return ERNIC_DROP_BAD_LENGTH;
    }
    return pad > len - hdr_len - ERNIC_ICRC_LEN ? ERNIC_DROP_BAD_PAD
                                                : ERNIC_DROP_NONE;
}

TEST("/wire/truncation", test_truncation)
{
    for (uint32_t bth = 0; bth < 256; bth++) {
        for (uint32_t payload_len = 8; payload_len < 12 && ernic_opcode(bth);
             payload_len++) {
            ErnicPkt p = sample(bth, payload_len);
            uint8_t buf[PKT_MAX];
            uint32_t len = build(&p, buf);
            uint32_t pad = (4 - p.payload_len % 4) % 4;

            for (uint32_t n = 0; n < len; n++) {
                g_autofree uint8_t *cut = g_memdup2(buf, MAX(n, 1));
                ErnicPkt q;

                IS(ernic_pkt_parse(&q, cut, n), truncated(&p, pad, n));
            }
        }
    }
}

TEST("/wire/drops", test_drops)
{
    uint8_t buf[PKT_MAX];
    ErnicPkt q;

    for (uint32_t bth = 0; bth < 256; bth++) {
        memset(buf, 0, sizeof(buf));
        buf[0] = bth;
        if (!ernic_opcode(bth)) {
            IS(ernic_pkt_parse(&q, buf, 64), ERNIC_DROP_BAD_OPCODE);
            continue;
        }
        for (uint32_t i = 1; i < 16; i++) {
            buf[1] = i;
            IS(ernic_pkt_parse(&q, buf, 64), ERNIC_DROP_BAD_TVER);
        }
    }

    /* Pad without payload: wrong where payload is possible, else ignored. */
    memset(buf, 0, sizeof(buf));
    for (uint32_t i = 1; i < 4; i++) {
        buf[1] = i << 4;
        buf[0] = 0x04;
        IS(ernic_pkt_parse(&q, buf, 16), ERNIC_DROP_BAD_PAD);
        IS(ernic_pkt_parse(&q, buf, 20), ERNIC_DROP_NONE);
        IS(q.payload_len, 4 - i);
        buf[0] = 0x11;
        IS(ernic_pkt_parse(&q, buf, 20), ERNIC_DROP_NONE);
        IS(q.pad, 0);
    }
}

/*
 * Unknown opcodes of a connection's service: BTH alone is parsed, and any bytes may
 * follow. Known opcodes never get here, so the parser does not distinguish them.
 */
TEST("/wire/reserved", test_reserved)
{
    uint8_t buf[64] = {
        0, 0xf0, 0x8f, 0xed, 0xc0, 0x81, 0x23, 0x45, 0x80, 0xa6, 0x78, 0x9b,
    };
    ErnicPkt q;

    for (uint32_t bth = 0; bth < 256; bth++) {
        buf[0] = bth;
        for (uint32_t len = 16; len <= sizeof(buf); len++) {
            ErnicDrop why;

            memset(&q, 0xa5, sizeof(q));
            why = ernic_pkt_parse_reserved(&q, buf, len);
            if ((bth >= 0x40 && bth >> 5 != 5) || len % 4) {
                IS(why, ERNIC_DROP_BAD_OPCODE);
                continue;
            }
            IS(why, ERNIC_DROP_NONE);
            IS(q.op->cls, ERNIC_CL_RESERVED);
            IS(q.transport, bth < 0x20 ? ERNIC_RC : bth < 0x40 ? ERNIC_UC : ERNIC_XRC);
            g_assert_true(q.se && q.migreq && q.fecn && q.becn && q.ackreq);
            IS(q.pkey, 0x8fed);
            IS(q.dest_qp, 0x812345);
            IS(q.psn, 0xa6789b);
            g_assert_null(q.payload);
            IS(q.payload_len, 0);
            IS(q.rkey | q.imm | q.dma_len, 0);
        }
    }
}

/* Packets without payload: one more word is too much. */
TEST("/wire/no-payload", test_no_payload)
{
    uint32_t count = 0;

    for (uint32_t bth = 0; bth < 256; bth++) {
        const ErnicOpcode *op = ernic_opcode(bth);
        uint8_t buf[PKT_MAX];
        ErnicPkt p, q;
        uint32_t len;

        if (!op || (op->hdrs & ERNIC_HDR_DATA)) {
            continue;
        }
        p = sample(bth, 0);
        len = build(&p, buf);
        memset(buf + len, 0, 4);
        IS(ernic_pkt_parse(&q, buf, len), ERNIC_DROP_NONE);
        IS(ernic_pkt_parse(&q, buf, len + 4), ERNIC_DROP_BAD_LENGTH);
        count++;
    }
    IS(count, 2 * 5 + 1 + 1);
}

/*
 * Frames of other implementations, see tests/oracle/frames: a row has the expected
 * fields.
 */
typedef struct Capture {
    const char *file, *op;
    ErnicTransport transport;
    uint32_t dest_qp, psn, payload_len, pad;
    uint64_t va;
    uint32_t rkey, dma_len;
    uint32_t icrc;              /* as the four bytes read big-endian */
} Capture;

static const Capture captures[] = {
    { "cnp-connectx4.hex", "CNP", ERNIC_RC, 0x118, 0, 0, 0, 0, 0, 0, 0x82fd002a },
    { "uc-send-only.hex", "SEND_ONLY", ERNIC_UC, 211, 13571856, 18, 2, 0, 0, 0,
      0x78f353f3 },
    { "rc-write-only.hex", "WRITE_ONLY", ERNIC_RC, 2, 0, 128, 0, 0x7f7e91000000,
      0x01709a33, 128, 0xc6872298 },
};

static uint32_t load_hex(const char *file, uint8_t *buf, uint32_t size)
{
    g_autofree char *path_name = g_build_filename(ERNIC_FRAMES, file, NULL);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    uint32_t n = 0;
    const char *c;

    g_assert_true(g_file_get_contents(path_name, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", 0);
    for (uint32_t i = 0; lines[i]; i++) {
        for (c = lines[i][0] == '#' ? "" : lines[i]; *c; ) {
            if (*c == ' ') {
                c++;
                continue;
            }
            g_assert_true(n < size && g_ascii_isxdigit(c[0]) && g_ascii_isxdigit(c[1]));
            buf[n++] = g_ascii_xdigit_value(c[0]) << 4 |
                       g_ascii_xdigit_value(c[1]);
            c += 2;
        }
    }
    return n;
}

TEST("/wire/captures", test_captures)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(captures); i++) {
        const Capture *c = &captures[i];
        uint8_t frame[512];
        uint32_t len = load_hex(c->file, frame, sizeof(frame));
        ErnicIcrcCtx ctx;
        ErnicFrame f;
        ErnicPkt p;

        g_test_message("%s", c->file);
        IS(ernic_net_parse(&f, frame, len), ERNIC_DROP_NONE);
        ernic_icrc_init_ip(&ctx, f.ip, f.is_v6);
        g_assert_true(ernic_icrc_ok(&ctx, f.ib, f.ib_len));
        IS((uint32_t)ldl_be_p(f.ib + f.ib_len - 4), c->icrc);
        IS(ernic_pkt_parse(&p, f.ib, f.ib_len), ERNIC_DROP_NONE);
        g_assert_cmpstr(p.op->name, ==, c->op);
        IS(p.transport, c->transport);
        IS(p.dest_qp, c->dest_qp);
        IS(p.psn, c->psn);
        IS(p.payload_len, c->payload_len);
        IS(p.pad, c->pad);
        IS(p.va, c->va);
        IS(p.rkey, c->rkey);
        IS(p.dma_len, c->dma_len);

        frame[len - 5] ^= 0x10;         /* and one bit decides */
        g_assert_false(ernic_icrc_ok(&ctx, f.ib, f.ib_len));
    }
}
