/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send work requests: the table against the packet opcodes, every reason to
 * refuse one, and hostile slots.
 */
#include "qemu/osdep.h"
#include "fake_env.h"
#include "interfaces/verbs/wqe_decode.h"
#include "objects/mr.h"
#include "test.h"
#include "trace-mark.h"
#include "wire/opcode.h"

#define SLOT_MAX (ERNIC_SQ_STRIDE_MAX * 64)
#define MTU 1024

typedef union Slot {
    struct ernic_wqe head;
    struct {
        uint8_t head_bytes[sizeof(struct ernic_wqe)];
        union {
            struct ernic_sge sge[(SLOT_MAX - sizeof(struct ernic_wqe)) / 16];
            uint8_t data[SLOT_MAX - sizeof(struct ernic_wqe)];
        };
    };
    uint8_t bytes[SLOT_MAX];
} Slot;

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
    ErnicBuf ring;
    uint64_t ring_addr;
    uint32_t depth, stride;
    Slot slot;                  /* what the guest writes */
    ErnicWqe wqe;
} Fixture;

static void make_ring(Fixture *f, uint32_t depth, uint32_t units)
{
    struct ernic_buf_desc desc = { 0 };

    ernic_buf_fini(&f->e, &f->ring);
    f->depth = depth;
    f->stride = units * 64;
    f->ring_addr = fake_alloc(&f->env, depth * f->stride, 64);
    desc.addr = cpu_to_le64(f->ring_addr);
    OK(ernic_buf_init(&f->e, &f->ring, &desc, depth * f->stride));
}

static void setup(Fixture *f, gconstpointer data)
{
    fake_bare_init(&f->e, &f->env);
    make_ring(f, 4, ERNIC_SQ_STRIDE_MAX);
}

static void teardown(Fixture *f, gconstpointer data)
{
    ernic_buf_fini(&f->e, &f->ring);
    fake_bare_fini(&f->e);
}

static void store(Fixture *f, uint32_t index)
{
    memcpy(fake_ptr(&f->env, f->ring_addr +
                    (index & (f->depth - 1)) * f->stride, f->stride),
           f->slot.bytes, f->stride);
}

static void fetch(Fixture *f, uint32_t index, ErnicTransport transport,
                  bool gsi, uint32_t uctx)
{
    uint64_t reads = f->env.reads;

    memset(&f->wqe, 0xa5, sizeof(f->wqe));
    ernic_wqe_fetch(&f->e, &f->ring, f->depth, f->stride, index, transport,
                    gsi, uctx, MTU, &f->wqe);
    IS(f->env.reads, reads + 1);
    IS(f->wqe.index, index);
}

/* A valid request of @opcode, of 8 bytes if it has data. */
static void make(Fixture *f, uint8_t opcode)
{
    bool local = ernic_wr(opcode) && !ernic_wr(opcode)->max_sge;

    memset(&f->slot, 0, sizeof(f->slot));
    f->slot.head.opcode = opcode;
    f->slot.head.wr_id = cpu_to_le64(0xfeedface12345678ull);
    f->slot.head.flags = ERNIC_WR_SIGNALED;
    if (!local) {
        f->slot.head.count = cpu_to_le16(1);
        f->slot.sge[0].length = cpu_to_le32(8);
    }
    if (opcode == ERNIC_WR_FLUSH) {
        f->slot.head.flush.type = ERNIC_FLUSH_GLOBAL;
    }
}

static void check_decoded(Fixture *f, ErnicTransport transport, bool gsi, uint32_t uctx)
{
    store(f, 0);
    fetch(f, 0, transport, gsi, uctx);
}

static const ErnicOpcode *packet(ErnicTransport transport, uint8_t op)
{
    return ernic_opcode(ernic_bth_opcode(transport, op));
}

static void check_packets(const ErnicWr *wr, ErnicTransport transport)
{
    const ErnicOpcode *only = packet(transport, wr->only);
    const ErnicOpcode *first, *middle, *last;
    bool multi = wr->first != wr->only;

    g_assert_nonnull(only);
    IS(only->seg, ERNIC_SEG_ONLY);
    g_assert_true(only->flags & ERNIC_OPF_REQ);
    IS(!(only->hdrs & ERNIC_HDR_RETH), !(wr->flags & ERNIC_WRF_RETH));
    IS(!(only->hdrs & ERNIC_HDR_FETH), wr->wc_opcode != ERNIC_WC_FLUSH);
    IS(!(only->hdrs & ERNIC_HDR_ATOMIC_ETH), !(wr->flags & ERNIC_WRF_ATOMIC));
    IS(!(only->hdrs & ERNIC_HDR_IMM), !(wr->flags & ERNIC_WRF_IMM));
    IS(!(only->hdrs & ERNIC_HDR_IETH), !(wr->flags & ERNIC_WRF_INV));
    g_assert_true((multi || (wr->flags & ERNIC_WRF_WORD)) ==
                  !!(only->hdrs & ERNIC_HDR_DATA));
    if (!multi || transport == ERNIC_UD) {
        return;
    }
    first = packet(transport, wr->first);
    middle = packet(transport, wr->middle);
    last = packet(transport, wr->last);
    g_assert_true(first && middle && last);
    IS(first->seg, ERNIC_SEG_START);
    IS(middle->seg, ERNIC_SEG_MIDDLE);
    IS(last->seg, ERNIC_SEG_END);
    g_assert_true(first->cls == only->cls && middle->cls == only->cls &&
                  last->cls == only->cls);
    g_assert_true(!(first->hdrs & ERNIC_HDR_RETH) == !(wr->flags & ERNIC_WRF_RETH));
    IS(last->hdrs & (ERNIC_HDR_IMM | ERNIC_HDR_IETH),
       only->hdrs & (ERNIC_HDR_IMM | ERNIC_HDR_IETH));
}

#define BIT_OF(service) (1 << ERNIC_##service)
#define RC_XRC (BIT_OF(RC) | BIT_OF(XRC))
#define CONN (RC_XRC | BIT_OF(UC))

TEST("/wqe/table", test_table)
{
    /* The table of ibv_post_send(3), except SEND_INV, which no UC packet carries. */
    static const uint8_t transports[ERNIC_WR_COUNT] = {
        [ERNIC_WR_SEND] = CONN | BIT_OF(UD) | BIT_OF(RAW),
        [ERNIC_WR_SEND_IMM] = CONN | BIT_OF(UD), [ERNIC_WR_SEND_INV] = RC_XRC,
        [ERNIC_WR_WRITE] = CONN, [ERNIC_WR_WRITE_IMM] = CONN, [ERNIC_WR_READ] = RC_XRC,
        [ERNIC_WR_CMP_SWAP] = RC_XRC, [ERNIC_WR_FETCH_ADD] = RC_XRC,
        [ERNIC_WR_LOCAL_INV] = CONN, [ERNIC_WR_REG_MR] = CONN,
        [ERNIC_WR_BIND_MW] = CONN, [ERNIC_WR_ATOMIC_WRITE] = BIT_OF(RC),
        [ERNIC_WR_FLUSH] = BIT_OF(RC),
    };
    int opcode;

    for (opcode = 0; opcode < ERNIC_WR_COUNT; opcode++) {
        const ErnicWr *wr = ernic_wr(opcode);
        bool local = wr->flags & ERNIC_WRF_LOCAL;

        g_assert_nonnull(wr->name);
        g_assert_true(wr->wc_opcode < ERNIC_WC_RECV ||
                      wr->wc_opcode > ERNIC_WC_RECV_WRITE_IMM);
        g_assert_cmpuint(wr->max_sge, <=, ERNIC_MAX_SGE);
        g_assert_true((local || opcode == ERNIC_WR_FLUSH) == !wr->max_sge);
        IS(wr->allowed & ~ERNIC_WR_FLAGS, 0);
        g_assert_cmphex(wr->allowed & ERNIC_WR_SIGNALED, !=, 0);
        IS(wr->transports, transports[opcode]);
        /* Opcodes that use a credit have a response; inline has no room for its data. */
        g_assert_true(!(wr->flags & ERNIC_WRF_CREDIT) ==
                      !(wr->flags & ERNIC_WRF_RESPONSE));
        g_assert_false((wr->allowed & ERNIC_WR_INLINE) &&
                       !(wr->flags & ERNIC_WRF_WORD) &&
                       (wr->flags & (ERNIC_WRF_RESPONSE | ERNIC_WRF_LOCAL)));
        g_assert_true(!(wr->flags & ERNIC_WRF_WORD) || (wr->flags & ERNIC_WRF_RESPONSE));
        for (int transport = ERNIC_RC; transport <= ERNIC_XRC; transport++) {
            if (wr->transports & (1 << transport) && !local) {
                check_packets(wr, transport);
            } else if (!local) {
                g_assert_null(packet(transport, wr->only));
            }
        }
        for (int other = 0; other < opcode; other++) {
            g_assert_cmpstr(wr->name, !=, ernic_wr(other)->name);
        }
    }
    /* These are kinds that no request of the verbs interface has. */
    for (; opcode < ERNIC_WR_KINDS; opcode++) {
        IS(ernic_wr(opcode)->flags, ERNIC_WRF_LOCAL);
        IS(ernic_wr(opcode)->allowed, ERNIC_WR_SIGNALED | ERNIC_WR_FENCE);
    }
    for (; opcode < 256; opcode++) {
        g_assert_null(ernic_wr(opcode));
    }
}

typedef struct Row {
    const char *why;            /* as the trace reports it; NULL: accepted */
    ErnicFault fault;
    uint8_t opcode;
    ErnicTransport transport;
    uint8_t flags;
    uint16_t count;
    uint32_t uctx;
    bool gsi;
    uint16_t at;                /* byte of the slot to change, if not 0 */
    uint8_t to;
    uint32_t len0, len1;        /* of the first SGEs */
} Row;

#define UD_AT(field) (offsetof(struct ernic_wqe, ud) + \
                      offsetof(struct ernic_wqe_ud, field))
#define FLUSH_AT(field) (offsetof(struct ernic_wqe, flush) + \
                         offsetof(struct ernic_wqe_flush, field))
/* Accepted; refused for the reason @why; refused as it is too long. */
#define YES(op, service, ...) { NULL, 0, ERNIC_WR_##op, ERNIC_##service, __VA_ARGS__ }
#define NO(why, op, service, ...) \
    { why, ERNIC_FAULT_SEND_WQE, ERNIC_WR_##op, ERNIC_##service, __VA_ARGS__ }
#define LONG(why, op, service, ...) \
    { why, ERNIC_FAULT_SEND_LENGTH, ERNIC_WR_##op, ERNIC_##service, __VA_ARGS__ }
#define OTHER(op, service) NO("opcode of another service", op, service)
#define ZERO(op, service, byte) NO("reserved field", op, service, .at = byte, .to = 1)

static const Row rows[] = {
    NO("no such opcode", COUNT, RC),
    { "no such opcode", ERNIC_FAULT_SEND_WQE, 0xff, ERNIC_UD },

    OTHER(SEND_INV, UC), OTHER(SEND_INV, UD), OTHER(WRITE, UD), OTHER(WRITE_IMM, UD),
    OTHER(READ, UC), OTHER(READ, UD), OTHER(CMP_SWAP, UC), OTHER(FETCH_ADD, UD),
    OTHER(ATOMIC_WRITE, UC), OTHER(ATOMIC_WRITE, XRC), OTHER(FLUSH, UC),
    OTHER(FLUSH, XRC), OTHER(LOCAL_INV, UD), OTHER(REG_MR, UD), OTHER(BIND_MW, UD),

    NO("opcode of the kernel", REG_MR, RC, .uctx = 1),
    YES(REG_MR, RC), YES(LOCAL_INV, RC, .uctx = 1), YES(BIND_MW, UC, .uctx = 1),

    NO("flag", SEND, RC, .flags = 0x10),
    NO("flag", SEND, RC, .flags = 0x80),
    NO("flag", READ, RC, .flags = ERNIC_WR_INLINE),
    NO("flag", CMP_SWAP, RC, .flags = ERNIC_WR_INLINE),
    NO("flag", LOCAL_INV, RC, .flags = ERNIC_WR_SOLICITED),
    NO("flag", BIND_MW, RC, .flags = ERNIC_WR_INLINE),
    YES(SEND, RC, .flags = ERNIC_WR_FLAGS), YES(WRITE, UC, .flags = ERNIC_WR_SOLICITED),

    ZERO(SEND, RC, 16), ZERO(SEND_IMM, UC, 63), ZERO(WRITE, RC, 28), ZERO(READ, RC, 63),
    ZERO(CMP_SWAP, RC, 28), ZERO(FETCH_ADD, RC, 48), ZERO(ATOMIC_WRITE, RC, 28),
    ZERO(FLUSH, RC, 34), ZERO(FLUSH, RC, 63),
    NO("placement type or level", FLUSH, RC, .at = FLUSH_AT(type), .to = 0),
    NO("placement type or level", FLUSH, RC, .at = FLUSH_AT(type), .to = 4),
    NO("placement type or level", FLUSH, RC, .at = FLUSH_AT(level), .to = 2),
    YES(FLUSH, RC, .at = FLUSH_AT(type), .to = 3),
    YES(FLUSH, RC, .at = FLUSH_AT(level), .to = 1),
    YES(FLUSH, RC, .at = FLUSH_AT(length) + 3, .to = 0x80),
    LONG("over 2^31 bytes", FLUSH, RC, .at = FLUSH_AT(length) + 3, .to = 0x81),
    NO("too many SGEs", FLUSH, RC, .count = 1),
    NO("flag", FLUSH, RC, .flags = ERNIC_WR_INLINE),
    ZERO(REG_MR, RC, 63), ZERO(BIND_MW, RC, 48), ZERO(LOCAL_INV, RC, 16),
    ZERO(SEND, UD, UD_AT(reserved)), ZERO(SEND, UD, UD_AT(av.reserved) + 2),

    ZERO(SEND, RC, 60), ZERO(FETCH_ADD, RC, 60), ZERO(SEND, XRC, 59), ZERO(READ, XRC, 59),
    ZERO(CMP_SWAP, XRC, 59), ZERO(LOCAL_INV, XRC, 60),
    NO("SRQ number over 24 bits", WRITE, XRC, .at = 63, .to = 1),
    YES(SEND_INV, XRC, .at = 62, .to = 0xff), YES(READ, XRC, .at = 60, .to = 1),
    YES(FETCH_ADD, XRC, .at = 60, .to = 1),

    YES(SEND, UD, .at = UD_AT(dest_qpn) + 3, .to = 1),
    YES(SEND, UD, .at = UD_AT(dest_qpn) + 2, .to = 0xff),
    NO("flow label over 20 bits", SEND, UD, .at = UD_AT(av.flow_label) + 2, .to = 0x10),
    YES(SEND, UD, .at = UD_AT(av.flow_label) + 2, .to = 0x0f),
    NO("P_Key index", SEND, UD, .at = UD_AT(pkey_index), .to = 1),
    NO("P_Key index", SEND, UD, .gsi = true, .at = UD_AT(pkey_index),
       .to = ERNIC_LIM_PKEY),
    YES(SEND_IMM, UD, .gsi = true, .at = UD_AT(pkey_index), .to = ERNIC_LIM_PKEY - 1),
    { "SGID index", ERNIC_FAULT_SEND_AV, ERNIC_WR_SEND, ERNIC_UD,
      .at = UD_AT(av.sgid_index), .to = ERNIC_LIM_GID },
    YES(SEND, UD, .at = UD_AT(av.sgid_index), .to = ERNIC_LIM_GID - 1),

    NO("too many SGEs", SEND, RC, .count = 17),
    NO("too many SGEs", WRITE, RC, .count = 0xffff),
    NO("too many SGEs", CMP_SWAP, RC, .count = 2),
    NO("too many SGEs", LOCAL_INV, RC, .count = 1),
    NO("too many SGEs", REG_MR, RC, .count = 1),
    NO("too many SGEs", BIND_MW, RC, .count = 1),
    YES(READ, RC, .count = 16),
    NO("too many inline bytes", SEND, RC, .flags = ERNIC_WR_INLINE, .count = 513),
    YES(SEND, RC, .flags = ERNIC_WR_INLINE, .count = 512),

    LONG("atomic not 8 bytes", CMP_SWAP, RC, .len0 = 7),
    LONG("atomic not 8 bytes", FETCH_ADD, RC, .len0 = 9),
    LONG("atomic not 8 bytes", FETCH_ADD, RC, .len0 = 0x80000000u),
    LONG("atomic not 8 bytes", ATOMIC_WRITE, RC, .len0 = 4),
    LONG("atomic not 8 bytes", ATOMIC_WRITE, RC, .flags = ERNIC_WR_INLINE, .count = 16),
    YES(ATOMIC_WRITE, RC, .flags = ERNIC_WR_INLINE, .count = 8),
    YES(ATOMIC_WRITE, RC, .count = 2, .len0 = 3, .len1 = 5),
    YES(SEND, RC, .len0 = 0x80000000u),
    YES(READ, RC, .count = 2, .len0 = 0x7fffffff, .len1 = 1),
    LONG("over 2^31 bytes", SEND, RC, .len0 = 0x80000001u),
    LONG("over 2^31 bytes", WRITE, UC, .count = 2, .len0 = 0x80000000u, .len1 = 1),
    /* In 32 bits the sum would be 8 bytes. */
    LONG("over 2^31 bytes", READ, RC, .count = 2, .len0 = 0xffffffffu, .len1 = 9),
    LONG("over 2^31 bytes", SEND, UD, .len0 = 0xffffffffu),
    YES(SEND, UD, .len0 = MTU),
    LONG("over the MTU", SEND, UD, .len0 = MTU + 1),
    LONG("over the MTU", SEND_IMM, UD, .count = 2, .len0 = MTU, .len1 = 1),
};

FIXTURE_TEST("/wqe/rows", test_rows)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const Row *row = &rows[i];

        make(f, row->opcode);
        if (row->flags) {
            f->slot.head.flags = row->flags;
        }
        if (row->count) {
            f->slot.head.count = cpu_to_le16(row->count);
        }
        if (row->at) {
            f->slot.bytes[row->at] = row->to;
        }
        if (row->len0) {
            f->slot.sge[0].length = cpu_to_le32(row->len0);
            f->slot.sge[1].length = cpu_to_le32(row->len1);
        }
        ernic_trace_reset();
        check_decoded(f, row->transport, row->gsi, row->uctx);
        IS(f->wqe.fault, row->fault);
        /* The fields for a completion are valid, refused or not. */
        IS(f->wqe.wr_id, 0xfeedface12345678ull);
        IS(f->wqe.flags, f->slot.head.flags & ERNIC_WR_FLAGS);
        g_assert_nonnull(ernic_wr(f->wqe.opcode));
        IS(ernic_trace_count("ernic_guest_wqe"), !!row->why);
        if (row->why) {
            g_assert_nonnull(strstr(ernic_trace_line(0), row->why));
        }
    }
}

/* An atomic needs an SGE; a SEND does not. */
FIXTURE_TEST("/wqe/no-sge", test_no_sge)
{
    for (int opcode = 0; opcode < ERNIC_WR_COUNT; opcode++) {
        bool atomic = ernic_wr(opcode)->flags & ERNIC_WRF_ATOMIC;
        bool rc = ernic_wr(opcode)->transports & (1 << ERNIC_RC);

        make(f, opcode);
        f->slot.head.count = 0;
        check_decoded(f, rc ? ERNIC_RC : ERNIC_UC, false, 0);
        IS(f->wqe.fault, atomic ? ERNIC_FAULT_SEND_WQE :
           ernic_wr(opcode)->flags & ERNIC_WRF_WORD ? ERNIC_FAULT_SEND_LENGTH :
           ERNIC_FAULT_NONE);
        if (!atomic) {
            IS(f->wqe.len, 0);
            IS(f->wqe.num_sge, 0);
        }
    }
}

/* Every byte of the operand is either used or must be 0. */
FIXTURE_TEST("/wqe/every-byte", test_every_byte)
{
    /* The used ones of the 48 bytes, from the front; then a gap. */
    static const struct {
        uint8_t opcode;
        ErnicTransport transport;
        uint64_t used;          /* bit per byte */
    } meant[] = {
        { ERNIC_WR_SEND, ERNIC_RC, 0 },
        { ERNIC_WR_SEND_IMM, ERNIC_UC, 0 },
        { ERNIC_WR_SEND_INV, ERNIC_RC, 0 },
        { ERNIC_WR_WRITE, ERNIC_RC, 0xfff },
        { ERNIC_WR_WRITE_IMM, ERNIC_UC, 0xfff },
        { ERNIC_WR_READ, ERNIC_RC, 0xfff },
        { ERNIC_WR_CMP_SWAP, ERNIC_RC, 0xffff0fff },
        { ERNIC_WR_FETCH_ADD, ERNIC_RC, 0xffff0fff },
        /* The placement type with one more bit set; for the level that is valid. */
        { ERNIC_WR_FLUSH, ERNIC_RC, 0x3ffff },
        { ERNIC_WR_LOCAL_INV, ERNIC_RC, 0 },
        { ERNIC_WR_REG_MR, ERNIC_RC, 0x1fffffffffull },
        { ERNIC_WR_BIND_MW, ERNIC_RC, 0xffffffff },
        { ERNIC_WR_SEND, ERNIC_UD, 0x3ffull | 0x1fffffffull << 16 },
    };

    for (size_t row = 0; row < ARRAY_SIZE(meant); row++) {
        for (int byte = 0; byte < 48; byte++) {
            bool used = meant[row].used >> byte & 1;

            make(f, meant[row].opcode);
            f->slot.head.raw[byte] = 1;
            /* The top bytes of P_Key index and flow label: out of range. */
            if (meant[row].transport == ERNIC_UD && (byte == 9 || byte == 43)) {
                used = false;
            }
            check_decoded(f, meant[row].transport, true, 0);
            IS(f->wqe.fault, used ? ERNIC_FAULT_NONE : ERNIC_FAULT_SEND_WQE);
        }
    }
}

/* With any count, no byte outside the slot is read. */
FIXTURE_TEST("/wqe/every-count", test_every_count)
{
    uint32_t room;

    for (uint32_t units = 1; units <= ERNIC_SQ_STRIDE_MAX; units++) {
        make_ring(f, 2, units);
        room = f->stride - sizeof(struct ernic_wqe);
        for (uint32_t count = 0; count <= 0xffff; count += count < 1200 ? 1 : 611) {
            make(f, ERNIC_WR_WRITE);
            memset(f->slot.data, 0, sizeof(f->slot.data));
            f->slot.head.count = cpu_to_le16(count);
            check_decoded(f, ERNIC_RC, false, 0);
            IS(f->wqe.fault, count <= 16 && count * 16 <= room ? ERNIC_FAULT_NONE :
               ERNIC_FAULT_SEND_WQE);
            f->slot.head.flags = ERNIC_WR_INLINE;
            check_decoded(f, ERNIC_RC, false, 0);
            IS(f->wqe.fault, count <= ERNIC_MAX_INLINE && count <= room ?
               ERNIC_FAULT_NONE : ERNIC_FAULT_SEND_WQE);
            IS(f->wqe.num_sge, 0);
        }
    }
}
