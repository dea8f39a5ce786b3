/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software that drives a card by the registers of PG332.
 */
#include "qemu/osdep.h"
#include "pg332_card.h"

Card cards[2];
const ErnicProfile *card_timing;
bool card_user_logic;
const ErnicTimingTrace *card_trace[2];
const char *const version_names[PG332_VERSIONS] = { "3.1", "4.0", "4.2" };

#define SOON    50000           /* ns; less than any time-out */

/* ---- registers -------------------------------------------------------------- */

uint32_t card_at(const Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg)
{
    return ernic_reg_blocks[c->version][scope].base + element * PG332_SLOT + reg;
}

void put(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, reg), value);
    fake_check(c->e);
}

uint32_t get(Card *c, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, reg));
}

void put_qp(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_QP, QPN - 1, reg), value);
    fake_check(c->e);
}

uint32_t get_qp(Card *c, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, ERNIC_REG_QP, QPN - 1, reg));
}

void put_region(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_REGION, REGION, reg), value);
    fake_check(c->e);
}

uint32_t pg332_offset(const Card *c, const Pg332Write *w)
{
    if (w->scope == ERNIC_REG_SCOPES) {
        return ernic_reg_window(c->version) + w->reg;
    }
    return card_at(c, w->scope, w->number - (w->scope == ERNIC_REG_QP), w->reg);
}

void pg332_play(Card *c, const Pg332Write *w, uint32_t num)
{
    for (; num; num--, w++) {
        ernic_reg_write(c->e, c->env.now, pg332_offset(c, w), w->value);
        fake_check(c->e);
    }
}

void pg332_expect(Card *c, const Pg332Write *w, uint32_t num, int line)
{
    for (; num; num--, w++) {
        uint32_t value = ernic_reg_read(c->e, c->env.now, pg332_offset(c, w)) &
                         (w->mask ?: UINT32_MAX);

        if (value != w->value) {
            g_error("line %d: register %x reads %x, not %x", line, w->reg, value,
                    w->value);
        }
    }
}

uint32_t card_word(Card *c, uint64_t addr)
{
    return ldl_le_p(fake_ptr(&c->env, addr, 4));
}

/* ---- set-up, in RecoNIC's order ------------------------------------------------ */

static void open_card(Card *c, int i)
{
    uint32_t conf = c->version == PG332_V3_1 ? 0x12b7u << 16 | 0x0821 :
                                               0x12b7u << 8 | 0x21;

    c->errq = fake_alloc(&c->env, 64 * 8, 8);
    WRITES(c, REG_ADDR(IPKTERRQBA, c->errq), REG(IPKTERRQSZ, 64), REG(INTEN, 0xff),
              REG(MACXADDLSB, 0x35010200 + i), REG(MACXADDMSB, 0x000a),
              REG(IPv4XADD, 0x0a000001 + i), REG(XRNICCONF, conf),
              REG(XRNICADCONF, 0x000a0004));
    if (c->version != PG332_V3_1) {
        put(c, PG332_XRNIC_CONF_QP_EN, 8);
    }
}

static void open_region(Card *c)
{
    c->mem = fake_alloc(&c->env, MEM, 4096);
    WRITES(c, ENTRY(PDPDNUM, PD), ENTRY(VIRTADDRLSB, (uint32_t)VA),
              ENTRY(VIRTADDRMSB, VA >> 32), ENTRY(BUFBASEADDRLSB, c->mem),
              ENTRY(BUFBASEADDRMSB, c->mem >> 32), ENTRY(BUFRKEY, KEY & 0xff),
              ENTRY(WRRDBUFLEN, MEM), ENTRY(ACCESSDESC, PG332_ACCESS_READ_WRITE));
}

void card_open_qp(Card *c, int i)
{
    WRITES(c, SLOT(IPDESADDR1, 0x0a000001 + !i), SLOT(MACDESADDLSB, 0x35010200 + !i),
              SLOT(MACDESADDMSB, 0x000a), SLOT_ADDR(SQBA, c->sq), SLOT_ADDR(CQBA, c->cq),
              SLOT_ADDR(RQBA, c->rq), SLOT_ADDR(CQDBADD, c->cq_db),
              SLOT_ADDR(RQWPTRDBADD, c->rq_db), SLOT(DESTQPCONF, QPN),
              SLOT(QDEPTH, DEPTH << 16 | DEPTH), SLOT(QPCONF, QPCONF),
              SLOT(QPADVCONF, 0x12344000), SLOT(PD, PD),
              SLOT(LSTRQREQ, 0x0a000000 | ((PSN_OF(!i) - 1) & 0xffffff)),
              SLOT(SQPSN, PSN_OF(i)));
}

void card_config(ErnicConfig *cfg, unsigned version)
{
    *cfg = (ErnicConfig) {
        .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1, .max_mr = 1,
        .max_pd = 1, .max_uctx = 1, .num_vectors = 1, .mtu = 5,
        .link_speed = 100000, .pg332 = 1 + version, .timing = card_timing,
        .user_logic = card_user_logic,
    };
}

void card_open(Card *c, int i, unsigned version)
{
    *c = (Card) { .version = version };
    c->e = FAKE_ERNIC(&c->env, card_config(&cfg, version);
                      cfg.timing_trace = card_trace[i]);
    ernic_set_link(c->e, c->env.now, true);
    c->sq = fake_alloc(&c->env, DEPTH * 64, 256);
    c->cq = fake_alloc(&c->env, DEPTH * 4, 256);
    c->rq = fake_alloc(&c->env, DEPTH * SLOT_BYTES, 256);
    c->cq_db = fake_alloc(&c->env, 4, 4);
    c->rq_db = fake_alloc(&c->env, 4, 4);
    open_card(c, i);
    open_region(c);
    card_open_qp(c, i);
}

void card_close(Card *c)
{
    fake_ernic_done(&c->env, c->e);
}

void card_move(Card *c)
{
    fake_take_over(&c->e);
    fake_check(c->e);
}

uint64_t card_errors(Card *c, uint32_t num, uint32_t size)
{
    uint64_t ring = fake_alloc(&c->env, num * size, 256);

    WRITES(c, REG_ADDR(ERRBUFBA, ring), REG(ERRBUFSZ, size << 16 | num));
    return ring;
}

void card_fill_sq(Card *c, uint32_t num, Wqe w)
{
    put_qp(c, PG332_QPCONF, 0);
    c->sq = fake_alloc(&c->env, num * 64, 256);
    for (uint32_t i = 0; i < num; i++) {
        card_wqe_at(c, c->sq + i * 64, i, w);
    }
    WRITES(c, SLOT_ADDR(SQBA, c->sq), SLOT(QDEPTH, DEPTH << 16 | num),
              SLOT(QPCONF, QPCONF & ~PG332_QPCONF_CQE));
}

/* ---- work ---------------------------------------------------------------------- */

void card_wqe_at(Card *c, uint64_t at, uint16_t wrid, Wqe w)
{
    uint8_t *slot = fake_ptr(&c->env, at, 64);

    memset(slot, 0xee, 64);             /* reserved bytes: not looked at */
    stw_le_p(slot, wrid);
    stq_le_p(slot + 4, w.laddr);
    stl_le_p(slot + 12, w.len);
    slot[16] = w.opcode;
    stq_le_p(slot + 20, w.raddr);
    stl_le_p(slot + 28, w.rkey);
    if (w.sdata) {
        memcpy(slot + 32, w.sdata, 16);
    }
    stl_le_p(slot + 48, w.imm);
}

void card_wqe(Card *c, Wqe w)
{
    card_wqe_at(c, c->sq + c->posted % DEPTH * 64, 0x100 + c->posted, w);
    c->posted++;
}

uint32_t card_index(uint32_t n)
{
    return n ? (n - 1) % DEPTH + 1 : 0;
}

void card_ring(Card *c)
{
    put_qp(c, PG332_SQPI, card_index(c->posted));
}

/* Bytes at @off of @c's region, written or compared. */
void *card_mem(Card *c, uint32_t off)
{
    return fake_ptr(&c->env, c->mem + off, MEM - off);
}

void card_fill(Card *c, uint32_t off, uint32_t len, uint8_t seed)
{
    uint8_t *p = card_mem(c, off);

    for (uint32_t i = 0; i < len; i++) {
        p[i] = seed + i * 7 + i / 256;
    }
}

/* The completion entry of request @n. */
uint32_t card_cqe(Card *c, uint32_t n)
{
    return card_word(c, c->cq + n % DEPTH * 4);
}

/* @n requests are complete, and every register and entry reports so. */
void check_done(Card *c, uint32_t n)
{
    IS(get_qp(c, PG332_CQHEAD), card_index(n));
    IS(card_word(c, c->cq_db), card_index(n));
}

void check_received(Card *c, uint32_t n)
{
    IS(get_qp(c, PG332_STATRQPIDB), card_index(n));
    IS(card_word(c, c->rq_db), card_index(n));
}

/* ---- two of them ---------------------------------------------------------------- */

void setup(unsigned version)
{
    card_open(&cards[0], 0, version);
    card_open(&cards[1], 1, version);
}

void teardown(void)
{
    card_close(&cards[0]);
    card_close(&cards[1]);
}

/* Advance to the next due event; false: none is due for a while. */
static bool next_time(void)
{
    uint64_t next = MIN(cards[0].env.wake, cards[1].env.wake);
    uint64_t now = cards[0].env.now;

    if (!card_timing || next > now + SOON) {
        return false;
    }
    cards[0].env.now = cards[1].env.now = MAX(now, next);
    return true;
}

void settle(void)
{
    uint32_t n;

    do {
        fake_run(cards[0].e);
        fake_run(cards[1].e);
        fake_check(cards[0].e);
        fake_check(cards[1].e);
        n = fake_deliver(cards[0].e, cards[1].e) + fake_deliver(cards[1].e, cards[0].e);
    } while (n || next_time());
}
