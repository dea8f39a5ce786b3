/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software that drives a card by the registers of PG332.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "pg332_card.h"

Card cards[2];
const ErnicProfile *card_timing;
const ErnicTimingTrace *card_trace[2];

#define SOON    50000           /* ns; less than any time-out */

/* ---- registers -------------------------------------------------------------- */

uint32_t card_at(const Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg)
{
    return ernic_reg_blocks[c->version][scope].base + element * PG332_SLOT + reg;
}

void card_check(Card *c)
{
    GString *why = g_string_new(NULL);

    if (!ernic_check(c->e, why)) {
        g_error("%s", why->str);
    }
    g_string_free(why, true);
}

void put(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, reg), value);
    card_check(c);
}

uint32_t get(Card *c, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, ERNIC_REG_GLOBAL, 0, reg));
}

void put_qp(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_QP, QPN - 1, reg), value);
    card_check(c);
}

uint32_t get_qp(Card *c, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, ERNIC_REG_QP, QPN - 1, reg));
}

void put_region(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, ERNIC_REG_REGION, REGION, reg), value);
    card_check(c);
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
    put(c, PG332_IPKTERRQBA, c->errq);
    put(c, PG332_IPKTERRQBAMSB, c->errq >> 32);
    put(c, PG332_IPKTERRQSZ, 64);
    put(c, PG332_INTEN, 0xff);
    put(c, PG332_MACXADDLSB, 0x35010200 + i);
    put(c, PG332_MACXADDMSB, 0x000a);
    put(c, PG332_IPv4XADD, 0x0a000001 + i);
    put(c, PG332_XRNICCONF, conf);
    put(c, PG332_XRNICADCONF, 0x000a0004);
    if (c->version != PG332_V3_1) {
        put(c, PG332_XRNIC_CONF_QP_EN, 8);
    }
}

static void open_region(Card *c)
{
    c->mem = fake_alloc(&c->env, MEM, 4096);
    put_region(c, PG332_PDPDNUM, PD);
    put_region(c, PG332_VIRTADDRLSB, (uint32_t)VA);
    put_region(c, PG332_VIRTADDRMSB, VA >> 32);
    put_region(c, PG332_BUFBASEADDRLSB, c->mem);
    put_region(c, PG332_BUFBASEADDRMSB, c->mem >> 32);
    put_region(c, PG332_BUFRKEY, KEY & 0xff);
    put_region(c, PG332_WRRDBUFLEN, MEM);
    put_region(c, PG332_ACCESSDESC, PG332_ACCESS_READ_WRITE);
}

static void put_pair(Card *c, uint32_t low, uint32_t high, uint64_t addr)
{
    put_qp(c, low, addr);
    put_qp(c, high, addr >> 32);
}

void card_open_qp(Card *c, int i)
{
    put_qp(c, PG332_IPDESADDR1, 0x0a000001 + !i);
    put_qp(c, PG332_MACDESADDLSB, 0x35010200 + !i);
    put_qp(c, PG332_MACDESADDMSB, 0x000a);
    put_pair(c, PG332_SQBA, PG332_SQBAMSB, c->sq);
    put_pair(c, PG332_CQBA, PG332_CQBAMSB, c->cq);
    put_pair(c, PG332_RQBA, PG332_RQBAMSB, c->rq);
    put_pair(c, PG332_CQDBADD, PG332_CQDBADDMSB, c->cq_db);
    put_pair(c, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, c->rq_db);
    put_qp(c, PG332_DESTQPCONF, QPN);
    put_qp(c, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    put_qp(c, PG332_QPCONF, QPCONF);
    put_qp(c, PG332_QPADVCONF, 0x12344000);
    put_qp(c, PG332_PD, PD);
    put_qp(c, PG332_LSTRQREQ, 0x0a000000 | ((PSN_OF(!i) - 1) & 0xffffff));
    put_qp(c, PG332_SQPSN, PSN_OF(i));
}

void card_config(ErnicConfig *cfg, unsigned version)
{
    *cfg = (ErnicConfig) {
        .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1, .max_mr = 1,
        .max_pd = 1, .max_uctx = 1, .num_vectors = 1, .mtu = 5,
        .link_speed = 100000, .pg332 = 1 + version, .timing = card_timing,
    };
}

void card_open(Card *c, int i, unsigned version)
{
    ErnicConfig cfg;

    memset(c, 0, sizeof(*c));
    fake_env_init(&c->env);
    card_config(&cfg, version);
    cfg.timing_trace = card_trace[i];
    c->version = version;
    c->e = ernic_new(&cfg, &fake_env_ops, &c->env);
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
    card_check(c);
    ernic_free(c->e);
    fake_env_fini(&c->env);
}

/* ---- work ---------------------------------------------------------------------- */

/* Request number n, from 0 on, has WRID 0x100 + n. */
void card_wqe(Card *c, Wqe w)
{
    uint8_t *slot = fake_ptr(&c->env, c->sq + c->posted % DEPTH * 64, 64);

    memset(slot, 0xee, 64);             /* reserved bytes: not looked at */
    stw_le_p(slot, 0x100 + c->posted);
    stq_le_p(slot + 4, w.laddr);
    stl_le_p(slot + 12, w.len);
    slot[16] = w.opcode;
    stq_le_p(slot + 20, w.raddr);
    stl_le_p(slot + 28, w.rkey);
    if (w.sdata) {
        memcpy(slot + 32, w.sdata, 16);
    }
    stl_le_p(slot + 48, w.imm);
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
    uint32_t i;

    for (i = 0; i < len; i++) {
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
    g_assert_cmpuint(get_qp(c, PG332_CQHEAD), ==, card_index(n));
    g_assert_cmpuint(card_word(c, c->cq_db), ==, card_index(n));
}

void check_received(Card *c, uint32_t n)
{
    g_assert_cmpuint(get_qp(c, PG332_STATRQPIDB), ==, card_index(n));
    g_assert_cmpuint(card_word(c, c->rq_db), ==, card_index(n));
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
        card_check(&cards[0]);
        card_check(&cards[1]);
        n = fake_deliver(cards[0].e, cards[1].e) + fake_deliver(cards[1].e, cards[0].e);
    } while (n || next_time());
}

void lose_all(Card *c)
{
    FakeTrain *train;

    while ((train = fake_take_train(&c->env))) {
        fake_train_free(train);
    }
}
