/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The recovery that PG332 describes, and how RecoNIC's library and AMD's xib driver
 * destroy a queue pair and make it anew: registers, values and order, as facts.
 */
#include "qemu/osdep.h"
#include "pg332_recovery.h"

/* @reg is pasted before it is expanded, since its name may be a macro. */
#define ROW(no_, what_, scope_, reg_, value_) \
    { .no = no_, .what = what_, .scope = scope_, \
      .versions = ERNIC_REG_ANY, .reg = reg_, .value = value_ }
#define G(no, what, reg, value) \
    ROW(no, PG332_##what, ERNIC_REG_GLOBAL, PG332_##reg, value)
#define R(no, what, reg, value) \
    ROW(no, PG332_##what, ERNIC_REG_REGION, PG332_##reg, value)
#define Q(no, what, reg, value) \
    ROW(no, PG332_##what, ERNIC_REG_QP, PG332_##reg, value)
#define SAME(no_, what_, reg_, as) \
    { .no = no_, .what = PG332_##what_, .scope = ERNIC_REG_QP, \
      .versions = ERNIC_REG_ANY, .reg = PG332_##reg_, .reg2 = PG332_##as }
#define QUEUE(low, high, member) \
    { .what = PG332_ADDR, .scope = ERNIC_REG_QP, .versions = ERNIC_REG_ANY, \
      .reg = PG332_##low, .reg2 = PG332_##high, .value = offsetof(Card, member) }

#define EMPTY       (PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY)
#define LAST_REQ    (0x0a000000 | ((PSN_OF(1) - 1) & 0xffffff))
#define PEER_MAC    0x35010201
#define PEER_IP     0x0a000002

/* ---- PG332: recovery, in fourteen steps ------------------------------------ */

/* Step 1, to stop ringing doorbells, is no access. */
static const Pg332Step document[] = {
    Q(2, SET, QPCONF, PG332_QPCONF_RECOVERY),
    Q(3, ALL, STATQP, EMPTY),
    SAME(4, SAME, CQHEAD, SQPI),
    G(5, ALL, RESPHNDSTS, PG332_RESPHND_PTR_DONE),
    Q(6, CLEAR, QPCONF, PG332_QPCONF_ENABLE),
    G(7, SET, XRNICADCONF, PG332_ADCONF_OVERRIDE),
    Q(8, PUT, STATRQPIDB, 0), Q(8, PUT, STATRQBUFCA, 0),
    Q(8, PUT, STATRQBUFCAMSB, 0), Q(8, PUT, RQCI, 0),
    Q(8, PUT, STATCURSQPTR, 0), Q(8, PUT, SQPI, 0), Q(8, PUT, SQPSN, 0),
    Q(8, PUT, LSTRQREQ, 0), Q(8, PUT, STATMSN, 0), Q(8, PUT, CQHEAD, 0),
    Q(9, ZERO, CQHEAD, 0),
    Q(10, PUT, SQPSN, PSN), Q(10, PUT, LSTRQREQ, LAST_REQ),
    Q(11, PUT, MACDESADDLSB, PEER_MAC), Q(11, PUT, MACDESADDMSB, 0x000a),
    Q(11, PUT, IPDESADDR1, PEER_IP), Q(11, CLEAR, QPCONF, PG332_QPCONF_IPV6),
    Q(12, SET, STATQP, 0x77000000),
    R(13, PUT, ACCESSDESC, PG332_ACCESS_READ_WRITE),
    Q(13, PUT, QPCONF, (QPCONF | PG332_QPCONF_RECOVERY) & ~PG332_QPCONF_ENABLE),
    Q(13, PUT, QPADVCONF, 0x12344000),
    Q(14, PUT, QPCONF, QPCONF),
    G(14, CLEAR, XRNICADCONF, PG332_ADCONF_OVERRIDE),
};

/* ---- xib ---------------------------------------------------------------------- */

/*
 * User queue pairs have no interrupts in QPCONF; here, all interrupts that report work.
 */
#define XIB_CONF QPCONF

/* The interrupt handler clears enable at once; the rest is done in a tasklet. */
#define XIB_FATAL \
    Q(1, PUT, QPCONF, (XIB_CONF | PG332_QPCONF_RECOVERY) & ~PG332_QPCONF_ENABLE), \
    Q(2, ANY, STATQP, EMPTY), SAME(3, TRY_SAME, SQPI, CQHEAD), \
    { .no = 4, .what = PG332_ALL, .scope = ERNIC_REG_GLOBAL, \
      .versions = ERNIC_REG_V3, .reg = PG332_RESPHNDSTS, \
      .value = PG332_RESPHND_PTR_DONE }, \
    Q(5, SET, QPCONF, PG332_QPCONF_RECOVERY)

#define XIB_RESET \
    Q(6, ANY, STATQP, EMPTY), SAME(7, TRY_SAME, SQPI, CQHEAD), \
    SAME(8, TRY_SAME, RQCI, STATRQPIDB), Q(9, SET, QPCONF, PG332_QPCONF_NO_HS), \
    QUEUE(CQDBADD, CQDBADDMSB, cq_db), QUEUE(RQWPTRDBADD, RQWPTRDBADDMSB, rq_db), \
    Q(10, CLEAR, QPCONF, PG332_QPCONF_ENABLE), \
    G(11, SET, XRNICADCONF, PG332_ADCONF_OVERRIDE), \
    Q(12, PUT, STATRQPIDB, 0), Q(12, PUT, RQCI, 0), Q(12, PUT, STATCURSQPTR, 0), \
    Q(12, PUT, SQPI, 0), Q(12, PUT, CQHEAD, 0), Q(12, PUT, SQPSN, 0), \
    Q(12, PUT, LSTRQREQ, 0), Q(12, PUT, STATMSN, 0), \
    Q(13, SET, QPCONF, PG332_QPCONF_ENABLE), \
    Q(14, CLEAR, QPCONF, PG332_QPCONF_RECOVERY), \
    G(15, CLEAR, XRNICADCONF, PG332_ADCONF_OVERRIDE), Q(16, PUT, QPCONF, 0)

/* Make a queue pair and take it from RESET to RTS. */
#define XIB_CREATE \
    QUEUE(RQBA, RQBAMSB, rq), QUEUE(SQBA, SQBAMSB, sq), \
    Q(17, PUT, QDEPTH, DEPTH << 16 | DEPTH), QUEUE(CQDBADD, CQDBADDMSB, cq_db), \
    QUEUE(RQWPTRDBADD, RQWPTRDBADDMSB, rq_db), Q(17, PUT, PD, PD), \
    QUEUE(CQBA, CQBAMSB, cq), Q(18, SET, STATQP, 0x77000000), \
    Q(19, PUT, QPCONF, XIB_CONF), Q(20, PUT, DESTQPCONF, QPN), \
    Q(20, PUT, MACDESADDLSB, PEER_MAC), Q(20, PUT, MACDESADDMSB, 0x000a), \
    Q(20, PUT, IPDESADDR1, PEER_IP), Q(20, CLEAR, QPCONF, PG332_QPCONF_IPV6), \
    Q(20, PUT, QPADVCONF, 0x12344000), Q(20, PUT, TIMEOUTCONF, 0x00103f0d), \
    Q(20, PUT, SQPSN, PSN), \
    Q(20, PUT, LSTRQREQ, (LAST_REQ & 0xffffff) | 0x02000000)

static const Pg332Step xib_fatal[] = { XIB_FATAL, XIB_RESET, XIB_CREATE };
static const Pg332Step xib_destroy[] = { XIB_RESET, XIB_CREATE };

/* ---- RecoNIC ------------------------------------------------------------------ */

/* It drains while STATQP reads fatal or not empty, then destroys the queue pair. */
#define RN_DESTROY \
    Q(1, SET, QPCONF, PG332_QPCONF_RECOVERY), Q(2, ALL, STATQP, EMPTY), \
    SAME(3, SAME, CQHEAD, SQPI), \
    G(4, SET, XRNICADCONF, PG332_ADCONF_OVERRIDE), \
    Q(5, CLEAR, QPCONF, PG332_QPCONF_ENABLE), \
    Q(6, PUT, RQWPTRDBADD, 0), Q(6, PUT, SQPI, 0), Q(6, PUT, CQHEAD, 0), \
    Q(6, PUT, RQCI, 0), Q(6, PUT, STATRQPIDB, 0), Q(6, PUT, STATCURSQPTR, 0), \
    Q(6, PUT, SQPSN, 0), Q(6, PUT, LSTRQREQ, 0), Q(6, PUT, STATMSN, 0), \
    Q(7, SET, QPCONF, PG332_QPCONF_RECOVERY), \
    G(8, CLEAR, XRNICADCONF, PG332_ADCONF_OVERRIDE), \
    G(9, CLEAR, XRNICCONF, 0xffffffff)

#define RN_V3   ERNIC_REG_V3
#define RN_V4   ERNIC_REG_V4
#define RN_CONF(versions_, value_) \
    { .no = 10, .what = PG332_PUT, .scope = ERNIC_REG_GLOBAL, \
      .versions = versions_, .reg = PG332_XRNICCONF, .value = value_ }

/* The next process. */
#define RN_CREATE \
    RN_CONF(RN_V3, 0x12b70821), RN_CONF(RN_V4, 0x0012b721), \
    G(10, PUT, XRNICADCONF, 0x000a0004), \
    Q(11, PUT, IPDESADDR1, PEER_IP), Q(11, PUT, MACDESADDLSB, PEER_MAC), \
    Q(11, PUT, MACDESADDMSB, 0x000a), QUEUE(SQBA, SQBAMSB, sq), \
    QUEUE(CQBA, CQBAMSB, cq), QUEUE(RQBA, RQBAMSB, rq), \
    QUEUE(CQDBADD, CQDBADDMSB, cq_db), QUEUE(RQWPTRDBADD, RQWPTRDBADDMSB, rq_db), \
    Q(11, PUT, DESTQPCONF, QPN), Q(11, PUT, QDEPTH, DEPTH << 16 | DEPTH), \
    Q(11, PUT, QPCONF, QPCONF), Q(11, PUT, QPADVCONF, 0x12344000), \
    Q(11, PUT, PD, PD), Q(12, PUT, LSTRQREQ, LAST_REQ), Q(12, PUT, SQPSN, PSN)

static const Pg332Step reconic[] = { RN_DESTROY, RN_CREATE };

/* ---- play ---------------------------------------------------------------------- */

#define SEQUENCE(name_, steps) { name_, steps, ARRAY_SIZE(steps) }

const Pg332Sequence pg332_sequences[] = {
    SEQUENCE("PG332, recovery", document),
    SEQUENCE("xib, fatal error and reset", xib_fatal),
    SEQUENCE("xib, destroy and create", xib_destroy),
    SEQUENCE("RecoNIC, destroy and create", reconic),
};
const uint32_t pg332_num_sequences = ARRAY_SIZE(pg332_sequences);

#define POLLS 100

static uint32_t element(const Pg332Step *s)
{
    return s->scope == ERNIC_REG_QP ? QPN - 1 : s->scope == ERNIC_REG_REGION ? REGION : 0;
}

static uint32_t value(Card *c, const Pg332Step *s, uint16_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, s->scope, element(s), reg));
}

static void store(Card *c, const Pg332Step *s, uint16_t reg, uint32_t v)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, s->scope, element(s), reg), v);
    card_check(c);
}

static bool fulfilled(Card *c, const Pg332Step *s)
{
    uint32_t v = value(c, s, s->reg);

    switch (s->what) {
    case PG332_ALL:
        return (v & s->value) == s->value;
    case PG332_ANY:
        return v & s->value;
    case PG332_ZERO:
        return v == 0;
    default:
        return v == value(c, s, s->reg2);
    }
}

static void poll(Card *c, const Pg332Step *s)
{
    for (uint32_t n = 0; n < POLLS && !fulfilled(c, s); n++) {
        /* No link stays busy for ever. */
        if (n == POLLS / 2 && c->env.tx_busy) {
            c->env.tx_busy = false;
            ernic_tx_ready(c->e, c->env.now);
        }
        fake_run(c->e);
        card_check(c);
    }
    if (s->what != PG332_TRY_SAME) {
        g_assert(fulfilled(c, s));
    }
}

void pg332_recover(Card *c, const Pg332Sequence *sequence)
{
    const Pg332Step *s;
    uint64_t addr;

    for (s = sequence->step; s < sequence->step + sequence->num; s++) {
        if (!(s->versions & 1u << c->version)) {
            continue;
        }
        switch (s->what) {
        case PG332_PUT:
            store(c, s, s->reg, s->value);
            break;
        case PG332_SET:
            store(c, s, s->reg, value(c, s, s->reg) | s->value);
            break;
        case PG332_CLEAR:
            store(c, s, s->reg, value(c, s, s->reg) & ~s->value);
            break;
        case PG332_ADDR:
            addr = *(const uint64_t *)((const uint8_t *)c + s->value);
            store(c, s, s->reg, addr);
            store(c, s, s->reg2, addr >> 32);
            break;
        default:
            poll(c, s);
            break;
        }
    }
}
