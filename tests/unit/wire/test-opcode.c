/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The opcode table against a second statement of the same facts, written from
 * the specification's list: header lengths as numbers, transports as letters.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "wire/opcode.h"

typedef struct Expected {
    const char *name;
    uint8_t op;
    uint8_t len;                /* BTH and extension headers on RC and UC */
    const char *on;             /* R: RC, U: UC, D: UD, X: XRC */
    const char *part;           /* F: first, M: middle, L: last, O: only */
    ErnicOpClass cls;
    const char *flags;          /* q: request, s: response, r: RQE, c: CQE */
    bool data;
} Expected;

static const Expected expected[] = {
    { "SEND_FIRST", 0x00, 12, "RUX", "F", ERNIC_CL_SEND, "qr", true },
    { "SEND_MIDDLE", 0x01, 12, "RUX", "M", ERNIC_CL_SEND, "q", true },
    { "SEND_LAST", 0x02, 12, "RUX", "L", ERNIC_CL_SEND, "qc", true },
    { "SEND_LAST_IMM", 0x03, 16, "RUX", "L", ERNIC_CL_SEND, "qc", true },
    { "SEND_ONLY", 0x04, 12, "RUDX", "O", ERNIC_CL_SEND, "qrc", true },
    { "SEND_ONLY_IMM", 0x05, 16, "RUDX", "O", ERNIC_CL_SEND, "qrc", true },
    { "WRITE_FIRST", 0x06, 28, "RUX", "F", ERNIC_CL_WRITE, "q", true },
    { "WRITE_MIDDLE", 0x07, 12, "RUX", "M", ERNIC_CL_WRITE, "q", true },
    { "WRITE_LAST", 0x08, 12, "RUX", "L", ERNIC_CL_WRITE, "q", true },
    { "WRITE_LAST_IMM", 0x09, 16, "RUX", "L", ERNIC_CL_WRITE, "qrc", true },
    { "WRITE_ONLY", 0x0a, 28, "RUX", "O", ERNIC_CL_WRITE, "q", true },
    { "WRITE_ONLY_IMM", 0x0b, 32, "RUX", "O", ERNIC_CL_WRITE, "qrc", true },
    { "READ_REQUEST", 0x0c, 28, "RX", "O", ERNIC_CL_READ, "q", false },
    { "READ_RSP_FIRST", 0x0d, 16, "RX", "F", ERNIC_CL_READ_RSP, "s", true },
    { "READ_RSP_MIDDLE", 0x0e, 12, "RX", "M", ERNIC_CL_READ_RSP, "s", true },
    { "READ_RSP_LAST", 0x0f, 16, "RX", "L", ERNIC_CL_READ_RSP, "s", true },
    { "READ_RSP_ONLY", 0x10, 16, "RX", "O", ERNIC_CL_READ_RSP, "s", true },
    { "ACK", 0x11, 16, "RX", "O", ERNIC_CL_ACK, "s", false },
    { "ATOMIC_ACK", 0x12, 24, "RX", "O", ERNIC_CL_ATOMIC_RSP, "s", false },
    { "COMPARE_SWAP", 0x13, 40, "RX", "O", ERNIC_CL_ATOMIC, "q", false },
    { "FETCH_ADD", 0x14, 40, "RX", "O", ERNIC_CL_ATOMIC, "q", false },
    { "SEND_LAST_INV", 0x16, 16, "RX", "L", ERNIC_CL_SEND, "qc", true },
    { "SEND_ONLY_INV", 0x17, 16, "RX", "O", ERNIC_CL_SEND, "qrc", true },
    { "FLUSH", 0x1c, 32, "R", "O", ERNIC_CL_FLUSH, "q", false },
    { "ATOMIC_WRITE", 0x1d, 28, "R", "O", ERNIC_CL_ATOMIC_WRITE, "q", true },
};

static const struct {
    char letter;
    uint8_t base;
    uint8_t request_extra, response_extra;
} transports[] = {
    [ERNIC_RC]  = { 'R', 0x00, 0, 0 },
    [ERNIC_UC]  = { 'U', 0x20, 0, 0 },
    [ERNIC_UD]  = { 'D', 0x60, 8, 8 },
    [ERNIC_XRC] = { 'X', 0xa0, 4, 0 },
};

G_STATIC_ASSERT(G_N_ELEMENTS(transports) == ERNIC_TRANSPORT_COUNT);

static bool has(const char *letters, char c)
{
    return strchr(letters, c) != NULL;
}

static void check_row(const Expected *x, ErnicTransport t)
{
    uint8_t bth = transports[t].base | x->op;
    const ErnicOpcode *o = ernic_opcode(bth);
    uint32_t extra = has(x->flags, 'q') ? transports[t].request_extra
                                        : transports[t].response_extra;

    if (!has(x->on, transports[t].letter)) {
        g_assert_null(o);
        return;
    }
    g_assert_nonnull(o);
    g_assert_cmpstr(o->name, ==, x->name);
    IS(o->op, x->op);
    IS(o->cls, x->cls);
    IS(!!(o->seg & ERNIC_SEG_START), has("FO", x->part[0]));
    IS(!!(o->seg & ERNIC_SEG_END), has("LO", x->part[0]));
    IS(!!(o->flags & ERNIC_OPF_REQ), has(x->flags, 'q'));
    IS(!!(o->flags & ERNIC_OPF_RSP), has(x->flags, 's'));
    IS(!!(o->flags & ERNIC_OPF_RQE), has(x->flags, 'r'));
    IS(!!(o->flags & ERNIC_OPF_CQE), has(x->flags, 'c'));
    IS(!!(o->hdrs & ERNIC_HDR_DATA), x->data);
    IS(o->hdr_len, x->len);
    IS(ernic_opcode_hdr_len(o, t), x->len + extra);
    g_assert_cmpuint(ernic_opcode_hdr_len(o, t), <=, ERNIC_PKT_HDR_MAX);

    IS(ernic_opcode_transport(bth), t);
    IS(ernic_bth_opcode(t, x->op), bth);
    IS(ernic_opcode_bth(o, t), bth);
}

TEST("/opcode/rows", test_rows)
{
    ErnicTransport t;

    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        for (t = 0; t < ERNIC_TRANSPORT_COUNT; t++) {
            check_row(&expected[i], t);
        }
    }
}

static bool is_expected(uint8_t bth)
{
    ErnicTransport t;

    for (t = 0; t < ERNIC_TRANSPORT_COUNT; t++) {
        for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
            if (bth == (transports[t].base | expected[i].op) &&
                has(expected[i].on, transports[t].letter)) {
                return true;
            }
        }
    }
    return bth == 0x81;
}

TEST("/opcode/all-256", test_all_256)
{
    uint32_t known = 0;

    for (uint32_t i = 0; i < 256; i++) {
        IS(ernic_opcode(i) != NULL, is_expected(i));
        known += ernic_opcode(i) != NULL;
    }
    IS(known, 25 + 12 + 2 + 23 + 1);
}

TEST("/opcode/cnp", test_cnp)
{
    const ErnicOpcode *o = ernic_opcode(0x81);

    g_assert_nonnull(o);
    IS(o->cls, ERNIC_CL_CNP);
    IS(ernic_opcode_hdr_len(o, ERNIC_RC), 12 + 16);
    IS(ernic_opcode_bth(o, ERNIC_RC), 0x81);
    IS(ernic_opcode_bth(o, ERNIC_UC), 0x81);
    IS(o->hdrs, ERNIC_HDR_CNP);
}

/* Only connections answer unsupported opcodes; such a packet is a message of its own. */
TEST("/opcode/reserved", test_reserved)
{
    for (uint32_t i = 0; i < 256; i++) {
        const ErnicOpcode *o = ernic_opcode_reserved(i);
        bool connection = i < 0x40 || (i >= 0xa0 && i < 0xc0);

        IS(o != NULL, connection);
        if (!connection) {
            continue;
        }
        g_assert_cmpstr(o->name, ==, "RESERVED");
        IS(o->cls, ERNIC_CL_RESERVED);
        IS(o->seg, ERNIC_SEG_START | ERNIC_SEG_END);
        IS(o->flags, ERNIC_OPF_REQ);
        IS(o->hdrs, 0);
        IS(o->hdr_len, 12);
    }
}

/* The length of the headers is that of the parts, for every mask in use. */
TEST("/opcode/lengths", test_lengths)
{
    static const struct {
        ErnicHdr hdr;
        uint8_t len;
    } parts[] = {
        { ERNIC_HDR_XRCETH, 4 }, { ERNIC_HDR_DETH, 8 },
        { ERNIC_HDR_FETH, 4 }, { ERNIC_HDR_RETH, 16 },
        { ERNIC_HDR_ATOMIC_ETH, 28 }, { ERNIC_HDR_AETH, 4 },
        { ERNIC_HDR_ATOMIC_ACK, 8 }, { ERNIC_HDR_IMM, 4 },
        { ERNIC_HDR_IETH, 4 }, { ERNIC_HDR_CNP, 16 }, { ERNIC_HDR_DATA, 0 },
    };

    for (uint32_t i = 0; i < 256; i++) {
        const ErnicOpcode *o = ernic_opcode(i);
        uint32_t hdrs, len = 12;
        ErnicTransport t = ernic_opcode_transport(i);

        if (!o) {
            continue;
        }
        hdrs = ernic_opcode_hdrs(o, t);
        for (uint32_t j = 0; j < G_N_ELEMENTS(parts); j++) {
            if (hdrs & parts[j].hdr) {
                len += parts[j].len;
                hdrs &= ~parts[j].hdr;
            }
        }
        IS(hdrs, 0);
        IS(ernic_opcode_hdr_len(o, t), len);
    }
}
