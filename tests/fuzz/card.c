/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Set-up of fuzzed cards, and the memory that they see.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "card.h"
#include "hand_profile.h"
#include "base/ib_spec.h"

#define PAGE        0x1000
/* Pages of a queue pair's 16: requests, completions, buffers, words; of QP 1: more. */
enum { SQ, CQ, RQ, WORDS = 4, FRAME, DESCS = 7, ENTRIES, ERRORS = 10,
       COPIES = 12, FATALS = 15 };
/* The card's own memory: the lower half of all. */
#define CARD_MEM    (FUZZ_MEM / 2)

FuzzCard cards[CARDS];
unsigned card_version;

/* ---- memory ------------------------------------------------------------------- */

/* Through the windows; an access that one of them stops fails as a whole. */
static uint64_t reach(FuzzHost *h, uint64_t addr, uint64_t len)
{
    const FuzzCard *c = container_of(h, FuzzCard, h);
    uint64_t off = addr - h->env.base, at;

    if (addr >> ERNIC_CARD_TAG_SHIFT == ERNIC_CARD_TAG) {
        off = addr & ((1ull << ERNIC_CARD_TAG_SHIFT) - 1);
        return off < CARD_MEM && len <= CARD_MEM - off ? h->env.base + off :
                                                         FUZZ_NOWHERE;
    }
    if (off >= FUZZ_MEM || len > FUZZ_MEM - off) {
        return FUZZ_NOWHERE;
    }
    for (at = off / CARD_WINDOW; at * CARD_WINDOW < off + len; at++) {
        if (c->shut & 1 << at) {
            return FUZZ_NOWHERE;
        }
    }
    return addr;
}

/* ---- registers ---------------------------------------------------------------- */

static uint32_t put_get(FuzzCard *c, uint32_t at, uint32_t value)
{
    fuzz_reg_write(&c->h, at, value);
    return fuzz_reg_read(&c->h, at);
}

void card_put(FuzzCard *c, ErnicRegScope scope, uint32_t element, uint32_t reg,
              uint32_t value)
{
    put_get(c, ernic_reg_blocks[card_version][scope].base + element * PG332_SLOT +
            reg, value);
}

void card_put_side(FuzzCard *c, uint32_t reg, uint32_t value)
{
    put_get(c, ernic_reg_window(card_version) + reg, value);
}

void card_read_all(FuzzCard *c)
{
    const ErnicRegBlockDef *b = ernic_reg_blocks[card_version];

    for (uint32_t off = 0; off < (CARD_QPS + 1) * PG332_SLOT; off += 4) {
        fuzz_reg_read(&c->h, b[ERNIC_REG_QP].base + off);
    }
    for (uint32_t off = 0; off < 0x800; off += 4) {
        fuzz_reg_read(&c->h, b[ERNIC_REG_GLOBAL].base + off);
    }
    for (uint32_t off = 0; off < 0x90; off += 4) {
        fuzz_reg_read(&c->h, ernic_reg_window(card_version) + off);
    }
}

/* ---- set-up ------------------------------------------------------------------- */

/* The requests of @qpn from here on; index 0 is first. */
static uint64_t rings(const FuzzCard *c, uint32_t qpn)
{
    return c->h.env.base + FUZZ_MEM - qpn * CARD_RINGS;
}

static void put_addr(FuzzCard *c, uint32_t qpn, uint32_t low, uint32_t high,
                     uint64_t addr)
{
    card_put(c, ERNIC_REG_QP, qpn - 1, low, addr);
    card_put(c, ERNIC_REG_QP, qpn - 1, high, addr >> 32);
}

static void open_qp(FuzzCard *c, uint32_t qpn)
{
    uint64_t at = rings(c, qpn);
    int peer = !c->number;

    put_addr(c, qpn, PG332_SQBA, PG332_SQBAMSB, at + SQ * PAGE);
    put_addr(c, qpn, PG332_CQBA, PG332_CQBAMSB, at + CQ * PAGE);
    put_addr(c, qpn, PG332_RQBA, PG332_RQBAMSB, at + RQ * PAGE);
    put_addr(c, qpn, PG332_CQDBADD, PG332_CQDBADDMSB, at + WORDS * PAGE);
    put_addr(c, qpn, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB,
             at + WORDS * PAGE + 4);
    put_addr(c, qpn, PG332_MACDESADDLSB, PG332_MACDESADDMSB,
             0x02000a000001ull + peer);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_IPDESADDR1, 0x0a000001 + peer);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_DESTQPCONF, qpn);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_QDEPTH,
             CARD_DEPTH << 16 | CARD_DEPTH);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_TIMEOUTCONF, 1 << 16 | 0x1f08);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_STATQP, 0x77000000);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_QPCONF, 0x0002003d | 2 << 8);
    card_put(c, ERNIC_REG_QP, qpn - 1, PG332_QPADVCONF, 0xffff4000);
}

static void put_ring(FuzzCard *c, uint32_t reg, uint64_t at, uint32_t size)
{
    card_put(c, ERNIC_REG_GLOBAL, 0, reg, at);
    card_put(c, ERNIC_REG_GLOBAL, 0, reg + 4, at >> 32);
    card_put(c, ERNIC_REG_GLOBAL, 0, reg + 8, size);
}

static void open_globals(FuzzCard *c)
{
    static const uint32_t v6[] = {
        PG332_IPv6XADD1, PG332_IPv6XADD2, PG332_IPv6XADD3, PG332_IPv6XADD4,
    };
    bool v3 = card_version == PG332_V3_1;
    uint64_t at = rings(c, 1);

    put_ring(c, PG332_IPKTERRQBA, at + FATALS * PAGE, 16);
    put_ring(c, PG332_ERRBUFBA, at + ERRORS * PAGE, 256 << 16 | 16);
    put_ring(c, PG332_DATBUFBA, at + COPIES * PAGE, 4096 << 16 | 1);
    put_ring(c, PG332_RESPERRPKTBA, at + COPIES * PAGE, 256 << 16 | 16);
    card_put(c, ERNIC_REG_GLOBAL, 0, PG332_INTEN, PG332_INT_ALL);
    card_put(c, ERNIC_REG_GLOBAL, 0, PG332_MACXADDLSB, 0x0a000001 + c->number);
    card_put(c, ERNIC_REG_GLOBAL, 0, PG332_MACXADDMSB, 0x0200);
    card_put(c, ERNIC_REG_GLOBAL, 0, PG332_IPv4XADD, 0x0a000001 + c->number);
    card_put(c, ERNIC_REG_GLOBAL, 0, v6[0], 1 + c->number);
    card_put(c, ERNIC_REG_GLOBAL, 0, v6[3], 0xfd000000);
    if (!v3) {
        card_put(c, ERNIC_REG_GLOBAL, 0, PG332_XRNIC_CONF_QP_EN, CARD_QPS);
    }
    card_put(c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF, PG332_CONF_ENABLE |
             PG332_CONF_ERRBUF | (v3 ? 0x12b70000 | CARD_QPS << 8 : 0x12b700));
}

static void open_region(FuzzCard *c)
{
    uint64_t mem = c->h.env.base;

    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_VIRTADDRMSB, CARD_VA >> 32);
    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_BUFBASEADDRLSB, mem);
    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_BUFBASEADDRMSB, mem >> 32);
    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_BUFRKEY, CARD_KEY & 0xff);
    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_WRRDBUFLEN, CARD_SPAN);
    card_put(c, ERNIC_REG_REGION, CARD_REGION, PG332_ACCESSDESC,
             PG332_ACCESS_READ_WRITE);
}

static void open_card(FuzzCard *c, int number, unsigned kind)
{
    ErnicConfig cfg = {
        .max_qp = CARD_QPS + 1, .max_cq = 1, .max_srq = 1, .max_eq = 1,
        .max_mr = 1, .max_pd = 1, .max_uctx = 1, .num_vectors = 2, .mtu = 5,
        .link_speed = 100000, .pg332 = 1 + card_version,
        .strict = kind / PG332_VERSIONS % ERNIC_STRICT_MODES,
        .timing = kind / (PG332_VERSIONS * ERNIC_STRICT_MODES) & 1 ? &hand : NULL,
    };

    c->number = number;
    c->shut = 0;
    fuzz_open_as(&c->h, &cfg);
    c->h.reach = reach;
    open_globals(c);
    open_region(c);
    for (uint32_t qpn = 1; qpn <= 3; qpn++) {
        open_qp(c, qpn);
    }
}

void cards_close(void)
{
    for (int i = 0; i < CARDS; i++) {
        if (cards[i].h.e) {
            fuzz_close(&cards[i].h);
        }
    }
}

void cards_open(unsigned kind)
{
    cards_close();
    card_version = kind % PG332_VERSIONS;
    for (int i = 0; i < CARDS; i++) {
        open_card(&cards[i], i, kind);
    }
}

/* ---- requests ----------------------------------------------------------------- */

static uint32_t sqpi_at(uint32_t qpn)
{
    return ernic_reg_blocks[card_version][ERNIC_REG_QP].base +
           (qpn - 1) * PG332_SLOT + PG332_SQPI;
}

uint8_t *card_slot(FuzzCard *c, uint32_t qpn, uint32_t *index)
{
    uint8_t *slot;

    *index = fuzz_reg_read(&c->h, sqpi_at(qpn)) % CARD_DEPTH;
    slot = fake_ptr(&c->h.env, rings(c, qpn) + *index * 64, 64);
    memset(slot, 0, 64);
    stw_le_p(slot, *index);
    return slot;
}

void card_ring(FuzzCard *c, uint32_t qpn, uint32_t index, uint32_t skip)
{
    fuzz_reg_write(&c->h, sqpi_at(qpn), index + 1 + skip);
}

uint64_t card_frame(const FuzzCard *c)
{
    return rings(c, 1) + FRAME * PAGE;
}

/* ---- the side stream ------------------------------------------------------------ */

uint64_t card_desc(const FuzzCard *c, uint32_t n)
{
    return rings(c, 1) + DESCS * PAGE + n % CARD_RING * 64;
}

void card_listen(FuzzCard *c, uint32_t from, uint32_t num)
{
    for (; num--; from++) {
        uint8_t *desc = fake_ptr(&c->h.env, card_desc(c, from), 64);

        memset(desc, 0, 64);
        stq_le_p(desc, card_desc(c, from + 1));
        stq_le_p(desc + 8, rings(c, 1) + ENTRIES * PAGE +
                 from % CARD_RING * 8);
        stl_le_p(desc + PG332_DESC_CONTROL, 8);
    }
}

/* ---- the wire ------------------------------------------------------------------- */

static void gid_of(ErnicGid *gid, bool v6, uint8_t host)
{
    if (v6) {
        fuzz_gid6(gid->raw, host);
    } else {
        fake_gid(gid->raw, host);
    }
}

void card_path(const FuzzCard *to, uint8_t way, ErnicPath *path)
{
    int own = to->number;

    *path = (ErnicPath) {
        .smac = { 2, 0, 0x0a, 0, 0, 1 + !own }, .dmac = { 2, 0, 0x0a, 0, 0, 1 + own },
        .vlan = way & WAY_VLAN ? 0x2005 : ERNIC_NO_VLAN, .udp_sport = 0x12b7,
        .hop_limit = 64, .tclass = way & WAY_CE ? ERNIC_ECN_CE : ERNIC_ECN_ECT0,
    };
    path->smac[3] ^= way & WAY_SMAC ? 1 : 0;
    path->dmac[3] ^= way & WAY_DMAC ? 1 : 0;
    gid_of(&path->sgid, way & WAY_V6, way & WAY_SRC ? 9 : 1 + !own);
    gid_of(&path->dgid, way & WAY_V6, way & WAY_DST ? 9 : 1 + own);
}
