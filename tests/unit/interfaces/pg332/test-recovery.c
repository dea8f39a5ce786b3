/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Recovery and deletion of queue pairs of PG332: each sequence of its software, on each
 * version, from each fatal error and in the midst of work; afterwards the queue pair
 * works again.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/packet_checks.h"
#include "pg332_peer.h"
#include "trace-mark.h"

/*
 * Sequences of register accesses as tables: the recovery that PG332 describes, and how
 * RecoNIC's library and AMD's xib driver destroy a queue pair and make it anew.
 */
typedef enum Pg332Do {
    PG332_PUT,                  /* write @value */
    PG332_SET,                  /* read, write with the bits of @value */
    PG332_CLEAR,                /* read, write without them */
    PG332_ADDR,                 /* write the address at @value of the Card, to
                                   @reg and @reg2 */
    PG332_ALL,                  /* poll until all bits of @value are set */
    PG332_ANY,                  /* poll until one of them is */
    PG332_ZERO,                 /* poll until it reads 0 */
    PG332_SAME,                 /* poll until it reads the same as @reg2 */
    PG332_TRY_SAME,             /* the same; software gives up after a while */
} Pg332Do;

/* One access, to a global register, an entry of the regions, or QPN's slot. */
typedef struct Step {
    uint8_t no;                 /* step number in the source; 0: none */
    uint8_t what;               /* Pg332Do */
    uint8_t scope;              /* ErnicRegScope */
    uint8_t versions;           /* ERNIC_REG_V* */
    uint16_t reg, reg2;
    uint32_t value;
} Step;

typedef struct Sequence {
    const char *name;
    const Step *step;
    uint32_t num;
} Sequence;

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
static const Step document[] = {
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

static const Step xib_fatal[] = { XIB_FATAL, XIB_RESET, XIB_CREATE };
static const Step xib_destroy[] = { XIB_RESET, XIB_CREATE };

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

static const Step reconic[] = { RN_DESTROY, RN_CREATE };

/* ---- play ---------------------------------------------------------------------- */

#define SEQUENCE(name_, steps) { name_, steps, ARRAY_SIZE(steps) }

static const Sequence sequences[] = {
    SEQUENCE("PG332, recovery", document),
    SEQUENCE("xib, fatal error and reset", xib_fatal),
    SEQUENCE("xib, destroy and create", xib_destroy),
    SEQUENCE("RecoNIC, destroy and create", reconic),
};

#define POLLS 100

static uint32_t element(const Step *s)
{
    return s->scope == ERNIC_REG_QP ? QPN - 1 : s->scope == ERNIC_REG_REGION ? REGION : 0;
}

static uint32_t value(Card *c, const Step *s, uint16_t reg)
{
    return ernic_reg_read(c->e, c->env.now, card_at(c, s->scope, element(s), reg));
}

static void store(Card *c, const Step *s, uint16_t reg, uint32_t v)
{
    ernic_reg_write(c->e, c->env.now, card_at(c, s->scope, element(s), reg), v);
    fake_check(c->e);
}

static bool fulfilled(Card *c, const Step *s)
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

static void poll(Card *c, const Step *s)
{
    for (uint32_t n = 0; n < POLLS && !fulfilled(c, s); n++) {
        /* No link stays busy for ever. */
        if (n == POLLS / 2 && c->env.tx_busy) {
            fake_tx_ready(c->e);
        }
        fake_run(c->e);
        fake_check(c->e);
    }
    if (s->what != PG332_TRY_SAME) {
        g_assert(fulfilled(c, s));
    }
}

/*
 * Play the sequence; the card works between two polls. Fails if a polled value never
 * comes.
 */
static void recover(Card *c, const Sequence *sequence)
{
    const Step *s;
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

/* ---- work that is recovered from -------------------------------------------- */

static void nothing(Card *c)
{
}

static void unanswered(Card *c)
{
    POST(c, SEND, 64);
    POST(c, WRITE, 9000);
    POST(c, READ, 64);
    fake_run(c->e);
}

static void link_busy(Card *c)
{
    c->env.tx_busy = true;
    for (uint32_t i = 0; i < DEPTH; i++) {
        POST(c, WRITE, 0x8000);
    }
    fake_run(c->e);
}

static void peer_not_ready(Card *c)
{
    put_qp(c, PG332_TIMEOUTCONF, 7 << 11);
    POST(c, SEND, 64);
    fake_run(c->e);
    PEER(c, ACK, .psn = PSN, .syndrome = 0x3f);
}

static void half_a_message(Card *c)
{
    PEER(c, WRITE_FIRST, .psn = PEER_PSN, .payload_len = PEER_MTU, .va = VA,
         .rkey = KEY, .dma_len = 2 * PEER_MTU);
}

static void answers_owed(Card *c)
{
    PEER(c, SEND_ONLY, .psn = PEER_PSN, .payload_len = 64, .ackreq = true);
    c->env.tx_busy = true;
    for (uint32_t i = 1; i < 12; i++) {
        PEER(c, READ_REQUEST, .psn = PEER_PSN + i, .va = VA, .rkey = KEY, .dma_len = 64);
    }
}

static void nak_owed(Card *c)
{
    c->env.tx_busy = true;
    PEER(c, READ_REQUEST, .psn = PEER_PSN, .va = VA, .rkey = KEY, .dma_len = 64);
    PEER(c, READ_REQUEST, .psn = PEER_PSN + 1, .va = VA, .rkey = KEY, .dma_len = 64);
    PEER(c, SEND_LAST, .psn = PEER_PSN + 2, .payload_len = 64);
}

static void gap(Card *c)
{
    PEER(c, SEND_ONLY, .psn = PEER_PSN + 1, .payload_len = 64);
}

static const struct {
    const char *name;
    void (*provoke)(Card *c);
} midst[] = {
    { "idle", nothing },
    { "requests without an answer", unanswered },
    { "requests before a busy link", link_busy },
    { "the wait of an RNR NAK", peer_not_ready },
    { "half a message received", half_a_message },
    { "responses that are owed", answers_owed },
    { "a fatal NAK that is owed", nak_owed },
    { "a gap in the requests of the peer", gap },
};

/* Both ways, each operation; @b never had an error. */
static void work(Card *a, Card *b)
{
    a->posted = 0;
    card_fill(a, 0, 0x3000, 7);
    POST(a, SEND, 200);
    POST(a, WRITE, 0x3000, .raddr = VA + 0x4000);
    DO(a, READ, 0x3000, .laddr = a->mem + 0x8000, .raddr = VA + 0x4000);
    POST(b, SEND, 100, .laddr = b->mem + 0x4000);
    DO(b, WRITE, 64, .laddr = b->mem + 0x4000, .raddr = VA + 0xc000);
    check_done(a, 3);
    check_received(b, 1);
    check_done(b, 2);
    check_received(a, 1);
    IS(card_cqe(a, 0), SEND << 16 | 0x100);
    IS(card_cqe(a, 2), READ << 16 | 0x102);
    g_assert_cmpmem(card_mem(a, 0x8000), 0x3000, card_mem(a, 0), 0x3000);
    g_assert_cmpmem(fake_ptr(&b->env, b->rq, 200), 200, card_mem(a, 0), 200);
    g_assert_cmpmem(fake_ptr(&a->env, a->rq, 100), 100, card_mem(a, 0), 100);
    IS(get_qp(a, PG332_STATQP) & 0xffff & ~PG332_STATQP_RETRIED,
       PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY);
}

static void play(unsigned version, const Sequence *s, const char *from,
                 void (*provoke)(Card *c))
{
    Card *a = &cards[0];

    g_test_message("%s; from: %s", s->name, from);
    card_open(a, 0, version);
    provoke(a);
    /* Repair registers that some dialogues break; the sequence sets up the rest. */
    WRITES(a, REG(IPv4XADD, 0x0a000001), ENTRY(BUFBASEADDRMSB, a->mem >> 32),
              SLOT(RQBAMSB, a->rq >> 32), SLOT(SQBAMSB, a->sq >> 32));
    recover(a, s);
    /* Packets that the link still held belong to the past. */
    fake_tx_ready(a->e);
    fake_run(a->e);
    fake_lose_trains(&a->env);
    card_open(&cards[1], 1, version);
    cards[1].env.now = a->env.now;
    work(a, &cards[1]);
    teardown();
}

static void test_sequence(gconstpointer arg)
{
    uint32_t n = GPOINTER_TO_UINT(arg), i;
    unsigned version = n % PG332_VERSIONS;
    const Sequence *s = &sequences[n / PG332_VERSIONS];

    for (i = 0; i < pg332_num_ends; i++) {
        play(version, s, ernic_pg332_fatals[i].cause, pg332_ends[i].provoke);
    }
    for (i = 0; i < ARRAY_SIZE(midst); i++) {
        play(version, s, midst[i].name, midst[i].provoke);
    }
}

/*
 * Under recovery, a posted request ends at once with an error, whatever the link's
 * state. This is no fatal error.
 */
TEST("/pg332-recovery/drain", test_drain)
{
    Card *a = &cards[0];

    for (uint32_t i = 0; i < ARRAY_SIZE(midst); i++) {
        g_test_message("from: %s", midst[i].name);
        card_open(a, 0, PG332_V3_1);
        midst[i].provoke(a);
        put_qp(a, PG332_QPCONF, QPCONF | PG332_QPCONF_RECOVERY);
        fake_run(a->e);
        check_done(a, a->posted);
        READS(a, SLOT_BITS(STATQP, PG332_STATQP_FATAL | EMPTY, EMPTY),
                 REG_BITS(INTSTS, PG332_INT_FATAL, 0), REG(IPKTERRQWPTR, 0));
        for (uint32_t n = 0; n < a->posted; n++) {
            IS(card_cqe(a, n) & ~0xff0000, CQE_ERROR | (0x100 + n));
        }
        fake_lose_trains(&a->env);
        card_close(a);
    }
    IS(ernic_trace_count("ernic_pg332_recover"), ARRAY_SIZE(midst));
}

/* Software may write the pointers under override only. */
TEST("/pg332-recovery/override", test_override)
{
    static const struct {
        uint16_t reg;
        uint32_t bits;
    } gated[] = {
        { PG332_CQHEAD, 0xffff }, { PG332_STATMSN, 0xffffff },
        { PG332_STATCURSQPTR, 0xffff }, { PG332_STATRQBUFCA, 0xffffff00 },
        { PG332_STATRQPIDB, 0xffff }, { PG332_STATRQBUFCAMSB, 0xffffffff },
    };
    Card *a = &cards[0];

    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        card_open(a, 0, version);
        put_qp(a, PG332_QPCONF, QPCONF & ~PG332_QPCONF_ENABLE);
        for (uint32_t i = 0; i < ARRAY_SIZE(gated); i++) {
            uint32_t before = get_qp(a, gated[i].reg);

            put_qp(a, gated[i].reg, ~before);
            IS(get_qp(a, gated[i].reg), before);
            put(a, PG332_XRNICADCONF, 0x000a0005);
            put_qp(a, gated[i].reg, ~before);
            IS(get_qp(a, gated[i].reg), ~before & gated[i].bits);
            put(a, PG332_XRNICADCONF, 0x000a0004);
        }
        card_close(a);
    }
}

int main(int argc, char **argv)
{
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    for (uint32_t n = 0; n < ARRAY_SIZE(sequences) * PG332_VERSIONS; n++) {
        g_autofree char *path = g_strdup_printf("/pg332-recovery/%s",
                                                version_names[n % PG332_VERSIONS]);

        unit_add_row(path, sequences[n / PG332_VERSIONS].name, GUINT_TO_POINTER(n),
                     test_sequence);
    }
    return unit_run(argc, argv);
}
