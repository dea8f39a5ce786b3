/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software without sense at the registers of PG332: two cards back to back, with
 * two queue pairs each that are connected; then any register, any request, any
 * bytes in memory, in any order, with packets lost and time that passes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "harness.h"
#include "input.h"
#include "regfile.h"

enum { PG_REG, PG_POST, PG_POKE, PG_CROSS, PG_LOSE, PG_TIME, PG_BUSY, PG_VERSION,
       PG_COUNT };

#define CARDS   2
#define QPS     8
#define DEPTH   8
#define REGION  3
#define VA      0x7f0000000000ull
#define SPAN    (256u << 10)        /* bytes that the region opens */
/* One queue pair's rings and buffers, each of a page. */
#define RINGS   0x10000
#define PAGE    0x1000

static FuzzHost cards[CARDS];
static unsigned version;

static void put(FuzzHost *h, ErnicRegScope scope, uint32_t element, uint32_t reg,
                uint32_t value)
{
    const ErnicRegBlockDef *b = &ernic_reg_blocks[version][scope];

    fuzz_reg_write(h, b->base + element * PG332_SLOT + reg, value);
    fuzz_reg_read(h, b->base + element * PG332_SLOT + reg);
}

static uint64_t rings_of(const FuzzHost *h, uint32_t qpn)
{
    return h->env.base + FUZZ_MEM - qpn * RINGS;
}

static void put_addr(FuzzHost *h, uint32_t qpn, uint32_t low, uint32_t high,
                     uint64_t addr)
{
    put(h, ERNIC_REG_QP, qpn - 1, low, addr);
    put(h, ERNIC_REG_QP, qpn - 1, high, addr >> 32);
}

static void open_qp(FuzzHost *h, uint32_t qpn, uint32_t peer)
{
    uint64_t at = rings_of(h, qpn);

    put_addr(h, qpn, PG332_SQBA, PG332_SQBAMSB, at);
    put_addr(h, qpn, PG332_CQBA, PG332_CQBAMSB, at + PAGE);
    put_addr(h, qpn, PG332_RQBA, PG332_RQBAMSB, at + 2 * PAGE);
    put_addr(h, qpn, PG332_CQDBADD, PG332_CQDBADDMSB, at + 4 * PAGE);
    put_addr(h, qpn, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, at + 4 * PAGE + 4);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_IPDESADDR1, 0x0a000001 + peer);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_DESTQPCONF, qpn);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_TIMEOUTCONF, 1 << 16 | 0x1f08);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_QPCONF, 0x0002003d | 2 << 8);
    put(h, ERNIC_REG_QP, qpn - 1, PG332_QPADVCONF, 0xffff4000);
}

static void open_card(int i)
{
    FuzzHost *h = &cards[i];
    ErnicConfig cfg = {
        .max_qp = QPS + 1, .max_cq = 1, .max_srq = 1, .max_eq = 1, .max_mr = 1,
        .max_pd = 1, .max_uctx = 1, .num_vectors = 1, .mtu = 5,
        .pg332 = 1 + version,
    };
    uint64_t errq;

    fuzz_open_as(h, &cfg);
    errq = h->env.base + FUZZ_MEM - PAGE;
    put(h, ERNIC_REG_GLOBAL, 0, PG332_IPKTERRQBA, errq);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_IPKTERRQBAMSB, errq >> 32);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_IPKTERRQSZ, 16);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_INTEN, PG332_INT_ALL);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_IPv4XADD, 0x0a000001 + i);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_XRNIC_CONF_QP_EN, QPS);
    put(h, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF, 0x12b70000 | QPS << 8 | 0x21);
    put(h, ERNIC_REG_REGION, REGION, PG332_VIRTADDRMSB, VA >> 32);
    put(h, ERNIC_REG_REGION, REGION, PG332_BUFBASEADDRLSB, h->env.base);
    put(h, ERNIC_REG_REGION, REGION, PG332_BUFBASEADDRMSB, h->env.base >> 32);
    put(h, ERNIC_REG_REGION, REGION, PG332_BUFRKEY, 0x5c);
    put(h, ERNIC_REG_REGION, REGION, PG332_WRRDBUFLEN, SPAN);
    put(h, ERNIC_REG_REGION, REGION, PG332_ACCESSDESC,
        PG332_ACCESS_READ_WRITE);
    open_qp(h, 2, !i);
    open_qp(h, 3, !i);
}

static void open_cards(unsigned v)
{
    int i;

    version = v % PG332_VERSIONS;
    for (i = 0; i < CARDS; i++) {
        if (cards[i].e) {
            fuzz_close(&cards[i]);
        }
        open_card(i);
    }
}

/* ---- records ---------------------------------------------------------------- */

static void set_reg(FuzzHost *h, FuzzIn *in)
{
    ErnicRegScope scope = fuzz_u8(in) % ERNIC_REG_SCOPES;
    uint32_t element = fuzz_u8(in), word = fuzz_u8(in);

    element = scope == ERNIC_REG_GLOBAL ? 0 : element % (QPS + 1);
    put(h, scope, element, word * 4, fuzz_u32(in));
}

/* A request in the slot that the card reads next, and its index. */
static void post(FuzzHost *h, FuzzIn *in)
{
    const ErnicRegBlockDef *b = &ernic_reg_blocks[version][ERNIC_REG_QP];
    uint32_t qpn = 2 + fuzz_u8(in) % 2, opcode = fuzz_u8(in), skip = fuzz_u8(in);
    uint32_t at = b->base + (qpn - 1) * PG332_SLOT + PG332_SQPI;
    uint32_t index = fuzz_reg_read(h, at) % DEPTH;
    uint8_t *slot = fake_ptr(&h->env, rings_of(h, qpn) + index * 64, 64);

    memset(slot, 0, 64);
    stw_le_p(slot, index);
    slot[16] = opcode;
    stl_le_p(slot + 12, fuzz_u32(in));
    stl_le_p(slot + 28, fuzz_u32(in));
    stq_le_p(slot + 20, VA + fuzz_u32(in));
    stq_le_p(slot + 4, h->env.base + fuzz_u16(in));
    fuzz_reg_write(h, at, index + 1 + skip);
}

static void poke(FuzzHost *h, FuzzIn *in)
{
    uint32_t off = fuzz_u32(in) % FUZZ_MEM;

    fuzz_bytes(in, h->env.mem + off, MIN(in->left, FUZZ_MEM - off));
}

/* What has left one card comes to the other, a few times to and fro. */
static void cross(bool lose)
{
    int round, i;

    for (round = 0; round < 8; round++) {
        for (i = 0; i < CARDS; i++) {
            FakeTrain *train;

            fuzz_settle(&cards[i], FUZZ_ALL, FUZZ_ALL, 16);
            while (!lose && (train = fake_take_train(&cards[i].env))) {
                fuzz_rx(&cards[!i], &train->train, FUZZ_ALL, FUZZ_ALL);
                fake_train_free(train);
            }
            fuzz_drop_trains(&cards[i]);
        }
    }
}

static void pass(uint32_t shift, FuzzIn *in)
{
    uint64_t ns = (uint64_t)fuzz_u16(in) << shift;
    int i;

    for (i = 0; i < CARDS; i++) {
        fuzz_pass(&cards[i], ns, 16, FUZZ_ALL, FUZZ_ALL);
    }
}

static void one(uint8_t kind, FuzzIn *in)
{
    uint8_t first = fuzz_u8(in);
    FuzzHost *h = &cards[first % CARDS];

    switch (kind % PG_COUNT) {
    case PG_REG:
        set_reg(h, in);
        break;
    case PG_POST:
        post(h, in);
        break;
    case PG_POKE:
        poke(h, in);
        break;
    case PG_CROSS:
    case PG_LOSE:
        cross(kind % PG_COUNT == PG_LOSE);
        break;
    case PG_TIME:
        pass(first % 32, in);
        break;
    case PG_BUSY:
        h->env.tx_busy = first & 2;
        fuzz_tx_ready(h);
        break;
    default:
        open_cards(first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzIn in = { data, size }, record;
    uint32_t records = 0;
    uint8_t kind;
    int i;

    open_cards(0);
    while (records++ < 96 && fuzz_record(&in, &kind, &record)) {
        one(kind, &record);
        for (i = 0; i < CARDS; i++) {
            fuzz_check(&cards[i]);
        }
    }
    cross(false);
    for (i = 0; i < CARDS; i++) {
        fuzz_check(&cards[i]);
        fuzz_close(&cards[i]);
    }
    return 0;
}

/* ---- mutation ----------------------------------------------------------------- */

static uint8_t make(FuzzRng *rng, FuzzOut *out)
{
    static const uint32_t values[] = {
        0, 1, 2, 8, 9, 0x0002023d, 0x0002047d, 0x0002043d, 0x00080008, 0x0a000001,
        0x35c, 0xffffffff, 0x00400040, 0x12b70821,
    };
    static const uint32_t lengths[] = { 0, 1, 8, 16, 17, 64, 1024, 1025, 70000 };
    uint8_t kind = fuzz_rand(rng, PG_COUNT);

    fuzz_put(out, fuzz_rand(rng, 3), 1);
    if (kind == PG_REG) {
        fuzz_put(out, fuzz_rand(rng, ERNIC_REG_SCOPES), 1);
        fuzz_put(out, fuzz_rand(rng, 4), 1);
        fuzz_put(out, fuzz_rand(rng, 0x40), 1);
        fuzz_put(out, values[fuzz_rand(rng, ARRAY_SIZE(values))], 4);
    } else if (kind == PG_POST) {
        fuzz_put(out, fuzz_rand(rng, 2), 1);
        fuzz_put(out, fuzz_rand(rng, 13), 1);
        fuzz_put(out, fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 9), 1);
        fuzz_put(out, lengths[fuzz_rand(rng, ARRAY_SIZE(lengths))], 4);
        fuzz_put(out, fuzz_rand(rng, 8) ? 0x35c : fuzz_rand(rng, 0x400), 4);
        fuzz_put(out, fuzz_rand(rng, SPAN), 4);
        fuzz_put(out, fuzz_rand(rng, 0x10000), 2);
    } else if (kind == PG_POKE) {
        fuzz_put(out, FUZZ_MEM - fuzz_rand(rng, 4 * RINGS), 4);
        fuzz_put(out, fuzz_rand(rng, UINT32_MAX), 4);
    } else if (kind == PG_TIME) {
        fuzz_put(out, fuzz_rand(rng, 1000), 2);
    }
    return kind;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed)
{
    return fuzz_mutate(data, size, max, seed, make);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len,
                                 const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t max, unsigned seed)
{
    return fuzz_cross(a, a_len, b, b_len, out, max, seed);
}
