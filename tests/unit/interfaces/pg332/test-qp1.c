/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pair 1 of PG332: frames that software posts, datagrams in its buffers, refused
 * frames. Then other uses of Ethernet headers and frames: MAC addresses, marks, CNPs.
 */
#include "qemu/osdep.h"
#include "wire/frame.h"
#include "pg332_card.h"
#include "transport/qp.h"

#define QKEY_GSI    0x80010000
#define MAD_LEN     256
#define MAD_AT      68              /* in a receive buffer */
#define FRAME_MAX   8192

/* Queue pair 1 of a card. */
typedef struct Qp1 {
    Card *c;
    uint64_t sq, cq, rq, db, frame;
    uint32_t posted;
} Qp1;

static Qp1 qp1s[2];

static void put1(Qp1 *q, uint32_t reg, uint32_t value)
{
    ernic_reg_write(q->c->e, q->c->env.now, card_at(q->c, ERNIC_REG_QP, 0, reg), value);
    fake_check(q->c->e);
}

static uint32_t get1(Qp1 *q, uint32_t reg)
{
    return ernic_reg_read(q->c->e, q->c->env.now, card_at(q->c, ERNIC_REG_QP, 0, reg));
}

/* Open it as AMD's driver does: no interrupt of the receive queue. */
static void open1(Qp1 *q, Card *c)
{
    FakeEnv *env = &c->env;

    *q = (Qp1) {
        .c = c, .sq = fake_alloc(env, DEPTH * 64, 256),
        .cq = fake_alloc(env, DEPTH * 4, 256),
        .rq = fake_alloc(env, DEPTH * SLOT_BYTES, 256),
        .db = fake_alloc(env, 8, 8), .frame = fake_alloc(env, FRAME_MAX, 8),
    };
    WRITES(c, W_Q_ADDR(1, RQBA, q->rq), W_Q_ADDR(1, SQBA, q->sq),
              W_Q_ADDR(1, CQBA, q->cq), W_Q_ADDR(1, CQDBADD, q->db),
              W_Q_ADDR(1, RQWPTRDBADD, q->db + 4),
              W_Q(1, QDEPTH, DEPTH << 16 | DEPTH), W_Q(1, TIMEOUTCONF, 0x00101f0d),
              W_Q(1, QPCONF, 0x439 | (SLOT_BYTES / 256) << 16));
}

static void open_both(void)
{
    open1(&qp1s[0], &cards[0]);
    open1(&qp1s[1], &cards[1]);
}

/* The head of a test of two cards with open queue pairs 1. */
#define QP1_TEST(path, version, fn)                                 \
    static void fn(Qp1 *a, Qp1 *b);                                 \
    UNIT_ADD(path, run_##fn)                                        \
    {                                                               \
        setup(version);                                             \
        open_both();                                                \
        fn(&qp1s[0], &qp1s[1]);                                     \
        teardown();                                                 \
    }                                                               \
    static void fn(Qp1 *a, Qp1 *b)

static void path_of(int i, bool v6, ErnicPath *path)
{
    *path = (ErnicPath) {
        .smac = { 0, 0x0a, 0x35, 1, 2, i }, .dmac = { 0, 0x0a, 0x35, 1, 2, !i },
        .vlan = ERNIC_NO_VLAN, .udp_sport = 0x8cd1, .hop_limit = 64,
        .tclass = 0x20,
    };
    if (v6) {
        path->sgid.raw[0] = path->dgid.raw[0] = 0xfd;
        path->sgid.raw[15] = 1 + i;
        path->dgid.raw[15] = 1 + !i;
    } else {
        fake_gid(path->sgid.raw, 1 + i);
        fake_gid(path->dgid.raw, 1 + !i);
    }
}

static uint8_t *frame_of(Qp1 *q)
{
    return fake_ptr(&q->c->env, q->frame, FRAME_MAX);
}

/* A datagram to queue pair 1 of the other card; returns its length. */
static uint32_t make(Qp1 *q, bool v6, uint32_t len, uint8_t seed)
{
    uint8_t *f = frame_of(q), *p = f;
    ErnicPath path;

    path_of(q == &qp1s[1], v6, &path);
    p += ernic_net_emit(&path, 20 + len + 4, f);
    memset(p, 0, 20);
    p[0] = 0x64;                            /* UD, SEND Only */
    stw_be_p(p + 2, 0xffff);
    p[7] = 1;                               /* to queue pair 1 */
    stl_be_p(p + 8, 0x123456);              /* software's own PSN */
    stl_be_p(p + 12, QKEY_GSI);
    p[19] = 1;                              /* from queue pair 1 */
    p += 20;
    for (uint32_t i = 0; i < len; i++) {
        *p++ = seed + i;
    }
    return p - f;
}

static void post1(Qp1 *q, uint8_t opcode, uint32_t len)
{
    card_wqe_at(q->c, q->sq + q->posted % DEPTH * 64, 0x700 + q->posted,
                (Wqe) { .opcode = opcode, .laddr = q->frame, .len = len });
    q->posted++;
    put1(q, PG332_SQPI, card_index(q->posted));
}

static const uint8_t *slot_of(Qp1 *q, uint32_t n)
{
    return fake_ptr(&q->c->env, q->rq + n % DEPTH * SLOT_BYTES, SLOT_BYTES);
}

/* The driver finds the frame that the other card sent, where it looks for it. */
static void check_slot(Qp1 *to, uint32_t n, Qp1 *from, uint32_t frame_len, bool v6)
{
    const uint8_t *slot = slot_of(to, n), *frame = frame_of(from);
    uint32_t ip = v6 ? 40 : 20;

    for (uint32_t i = 0; i < 40 - ip; i++) {
        IS(slot[i], 0);
    }
    /* The bytes from the IP header on are those of the frame. */
    g_assert_cmpmem(slot + 40 - ip, ip + 28, frame + 14, ip + 28);
    g_assert_cmpmem(slot + MAD_AT, MAD_LEN, frame + 14 + ip + 28, MAD_LEN);
    IS(frame_len, 14 + ip + 28 + MAD_LEN);
}

VERSIONS_TEST("/pg332-qp1/exchange", test_exchange)
{
    uint32_t len;

    open_both();
    for (uint32_t i = 0; i < 3 * DEPTH; i++) {
        Qp1 *from = &qp1s[i % 2], *to = &qp1s[!(i % 2)];

        len = make(from, false, MAD_LEN, i);
        post1(from, SEND, len);
        settle();
        IS(get1(from, PG332_CQHEAD), card_index(i / 2 + 1));
        IS(card_word(from->c, from->cq + i / 2 % DEPTH * 4),
           SEND << 16 | (0x700 + i / 2));
        IS(card_word(to->c, to->db + 4), card_index(i / 2 + 1));
        check_slot(to, i / 2, from, len, false);
        IS(get(to->c, PG332_INTSTS) & ~PG332_INT_COMPLETION, PG332_INT_MAD);
        WRITES(to->c, REG(INTSTS, PG332_INT_MAD), W_Q(1, RQCI, card_index(i / 2 + 1)));
    }
    READS(a, REG(OUTAMPKTCNT, 3 * DEPTH / 2 << 16), REG(INAMPKTCNT, 3 * DEPTH / 2 << 16),
             REG(OUTIOPKTCNT, 0), REG(INSRRPKTCNT, 0));
    /* Features that the document denies to queue pair 1 are plain storage there. */
    WRITES(a, W_Q(1, SQPSN, 0x1234), W_Q(1, LSTRQREQ, 0x02004321));
    READS(a, W_Q(1, SQPSN, 0x1234), W_Q(1, LSTRQREQ, 0x02004321));
}

/* IPv6; then interrupts and bank of the receive queue; then lengths without ICRC. */
QP1_TEST("/pg332-qp1/variants", PG332_V4_2, test_variants)
{
    uint32_t len;
    uint8_t *f;

    for (uint32_t i = 0; i < 2; i++) {
        WRITES(&cards[i], REG(IPv6XADD1, 1 + i), REG(IPv6XADD4, 0xfd000000));
    }
    len = make(a, true, MAD_LEN, 1);
    post1(a, SEND, len);
    settle();
    check_slot(b, 0, a, len, true);

    put1(b, PG332_QPCONF, get1(b, PG332_QPCONF) | PG332_QPCONF_RQ_INT);
    len = make(a, false, MAD_LEN, 2);
    f = frame_of(a);
    post1(a, SEND, len);
    settle();
    check_slot(b, 1, a, len, false);
    READS(b->c, REG(INTSTS, PG332_INT_MAD | PG332_INT_RECEIVE), REG(V4_RQINTSTS, 1 << 1));

    /* The ICRC is not counted in these lengths; in those of received frames it is. */
    stw_be_p(f + 16, lduw_be_p(f + 16) - 4);
    stw_be_p(f + 38, lduw_be_p(f + 38) - 4);
    stw_be_p(f + 24, 0);
    stw_be_p(f + 24, ernic_net_checksum(f + 14, 20));
    post1(a, SEND, len);
    settle();
    make(a, false, MAD_LEN, 2);
    check_slot(b, 2, a, len, false);
}

/* A byte of the frame changed, or another LENGTH. */
static const struct {
    uint32_t at;
    uint8_t flip;
    int32_t more;                       /* bytes of LENGTH */
} defects[] = {
    { 37, 0x01 },                       /* UDP port */
    { 12, 0x1a },                       /* EtherType */
    { 24, 0x01 },                       /* IP checksum */
    { 20, 0x20 },                       /* a fragment */
    { 42, 0x60 },                       /* an opcode of RC */
    { 42, 0x1b },                       /* no opcode */
    { 43, 0x01 },                       /* transport version */
    { .more = -8 }, { .more = 8 },
    { .more = 1 - 14 - 48 - MAD_LEN }, { .more = 36 - 14 - 48 - MAD_LEN },
    { .more = 44 - 14 - 48 - MAD_LEN }, { .more = -14 - 48 - MAD_LEN },
    { .more = 1 << 20 },
};

/* A frame that cannot be sent is fatal, like any bad request. */
TEST("/pg332-qp1/malformed", test_malformed)
{
    Qp1 *a = &qp1s[0], *b = &qp1s[1];
    uint32_t len;

    for (uint32_t i = 0; i < ARRAY_SIZE(defects); i++) {
        g_test_message("case %u", i);
        setup(PG332_V3_1);
        open_both();
        len = make(a, false, MAD_LEN, i);
        frame_of(a)[defects[i].at] ^= defects[i].flip;
        post1(a, SEND, len + defects[i].more);
        settle();
        IS(get1(a, PG332_CQHEAD), 1);
        IS(card_word(a->c, a->cq), CQE_ERROR | SEND << 16 | 0x700);
        g_assert_cmphex(get1(a, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);
        IS(card_word(a->c, a->c->errq), 1 << 16 | 0x05);
        g_assert_cmphex(get(a->c, PG332_INTSTS) & PG332_INT_FATAL, !=, 0);
        IS(get1(b, PG332_STATRQPIDB), 0);
        IS(get(a->c, PG332_OUTAMPKTCNT), 0);
        teardown();
    }
}

/* Only SEND is supported. */
QP1_TEST("/pg332-qp1/only-send", PG332_V3_1, test_only_send)
{
    post1(a, WRITE, make(a, false, MAD_LEN, 0));
    settle();
    IS(card_word(a->c, a->c->errq), 1 << 16 | 0x05);
}

/* Memory errors; the queue pair recovers. */
QP1_TEST("/pg332-qp1/recovers", PG332_V3_1, test_recovers)
{
    uint32_t len = make(a, false, MAD_LEN, 0);

    a->frame = 64;
    post1(a, SEND, len);
    settle();
    IS(card_word(a->c, a->c->errq), 1 << 16 | 0x05);
    put1(a, PG332_QPCONF, PG332_QPCONF_RECOVERY);
    a->c->posted = 0;
    WRITES(a->c, REG(XRNICADCONF, PG332_ADCONF_OVERRIDE), W_Q(1, SQPI, 0),
                 W_Q(1, CQHEAD, 0), REG(XRNICADCONF, 0),
                 W_Q(1, QPCONF, 0x439 | (SLOT_BYTES / 256) << 16));
    a->frame = fake_alloc(&a->c->env, FRAME_MAX, 8);
    a->posted = 0;
    post1(a, SEND, make(a, false, MAD_LEN, 9));
    settle();
    IS(get1(b, PG332_STATRQPIDB), 1);
}

/* Buffers that are full, or too short; a wrong key. */
QP1_TEST("/pg332-qp1/dropped", PG332_V3_1, test_dropped)
{
    uint32_t len;
    uint64_t errbuf = card_errors(b->c, 16, 256);

    for (uint32_t i = 0; i < DEPTH + 2; i++) {
        post1(a, SEND, make(a, false, MAD_LEN, i));
        settle();
        IS(get1(a, PG332_CQHEAD), card_index(i + 1));
    }
    READS(b->c, W_Q(1, STATRQPIDB, DEPTH),
                REG(INTSTS, PG332_INT_MAD | PG332_INT_VALIDATION), REG(ERRBUFWPTR, 2));
    IS(card_word(b->c, errbuf), 1 << 20);
    IS(get(b->c, PG332_OUTRNRPKTSTS), 0);
    put1(b, PG332_RQCI, 1);
    len = make(a, false, MAD_LEN, 77);
    post1(a, SEND, len);
    settle();
    check_slot(b, DEPTH, a, len, false);

    put1(b, PG332_RQCI, 2);
    make(a, false, MAD_LEN, 0);
    stl_be_p(frame_of(a) + 54, 0x11111111);
    post1(a, SEND, len);
    settle();
    IS(get1(b, PG332_STATRQPIDB), 1);
    len = make(a, false, SLOT_BYTES - MAD_AT + 4, 0);
    post1(a, SEND, len);
    settle();
    READS(b->c, W_Q(1, STATRQPIDB, 1), W_Q_BITS(1, STATQP, PG332_STATQP_FATAL, 0));
    len = make(a, false, SLOT_BYTES - MAD_AT, 0);
    post1(a, SEND, len);
    settle();
    IS(get1(b, PG332_STATRQPIDB), 2);
}

/* One packet of @from's, as a link with Ethernet headers delivers it to @to. */
static void arrive(Card *from, Card *to, void (*change)(ErnicPath *path))
{
    FakeTrain *t = fake_take_train(&from->env);
    uint8_t ip[48];

    g_assert(t && t->train.len == t->train.seg);
    ernic_net_emit_ip(&t->train.path, t->train.len, ip);
    t->train.ip = ip;
    change(&t->train.path);
    ernic_rx(to->e, to->env.now, &t->train);
    fake_run(to->e);
    fake_check(to->e);
    fake_train_free(t);
}

static void as_it_is(ErnicPath *path)
{
}

static void other_source(ErnicPath *path)
{
    path->smac[5] ^= 0x80;
}

static void other_dest(ErnicPath *path)
{
    path->dmac[0] ^= 0x80;
}

TEST("/pg332-qp1/mac", test_mac)
{
    static const struct {
        void (*change)(ErnicPath *path);
        uint32_t syndrome, syndrome1;       /* of a connection, of queue pair 1 */
    } cases[] = {
        { as_it_is },
        { other_source, 1u << 28, 0 },
        { other_dest, 1, 1 },
    };
    Qp1 *a = &qp1s[0], *b = &qp1s[1];

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t errbuf;
        uint32_t n = 0;

        setup(PG332_V3_1);
        open_both();
        errbuf = card_errors(b->c, 16, 256);
        POST(a->c, SEND, 64);
        fake_run(a->c->e);
        arrive(a->c, b->c, cases[i].change);
        IS(get_qp(b->c, PG332_STATRQPIDB), !cases[i].syndrome);
        if (cases[i].syndrome) {
            IS(card_word(b->c, errbuf + 256 * n++), cases[i].syndrome);
        }
        post1(a, SEND, make(a, false, MAD_LEN, 0));
        fake_run(a->c->e);
        arrive(a->c, b->c, cases[i].change);
        IS(get1(b, PG332_STATRQPIDB), !cases[i].syndrome1);
        if (cases[i].syndrome1) {
            IS(card_word(b->c, errbuf + 256 * n++), cases[i].syndrome1);
        }
        IS(get(b->c, PG332_ERRBUFWPTR), n);
        teardown();
    }
}

static void mark(ErnicPath *path)
{
    path->tclass |= 3;
}

/* The frame of AMD's driver: BTH 0x81 with BECN, and 16 bytes of 0. */
static uint32_t make_cnp(Qp1 *q, uint32_t dest_qp)
{
    uint8_t *f = frame_of(q), *p = f;
    ErnicPath path;

    path_of(q == &qp1s[1], false, &path);
    p += ernic_net_emit(&path, 12 + 16 + 4, f);
    memset(p, 0, 28);
    p[0] = 0x81;
    stw_be_p(p + 2, 0xffff);
    stl_be_p(p + 4, dest_qp);
    g_assert(p + 4 == f + 0x2e);
    f[0x2e] = 0x40;
    return p + 28 - f;
}

/* Software answers a mark; the engine sends nothing. */
VERSIONS_TEST("/pg332-qp1/marked", test_marked)
{
    uint32_t bank = a->version == PG332_V3_1 ? PG332_V3_CNPSCHDSTS : PG332_V4_CNPSCHDSTS;
    Qp1 *q = &qp1s[1];

    open_both();
    put(b, PG332_INTEN, 0x1ff);
    POST(a, WRITE, 64);
    fake_run(a->e);
    arrive(a, b, mark);
    IS(get(b, PG332_INTSTS), PG332_INT_CNP);
    IS(get(b, bank), 1u << QPN);
    IS(b->env.irqs->len, 1);
    put(b, bank, 1u << QPN);
    IS(get(b, bank), 0);
    put(b, PG332_INTSTS, PG332_INT_CNP);
    IS(get(b, PG332_INTSTS), 0);
    settle();
    check_done(a, 1);
    IS(get(b, PG332_OUTCNPPKTCNT), 0);
    IS(get(a, PG332_INCNPPKTCNT), 0);

    post1(q, SEND, make_cnp(q, QPN));
    settle();
    READS(b, W_Q(1, CQHEAD, 1), REG(OUTCNPPKTCNT, 1));
    IS(get(a, PG332_INCNPPKTCNT), 1);
    /* Packets to an unused queue pair, and to queue pair 1, are dropped. */
    post1(q, SEND, make_cnp(q, 1));
    settle();
    IS(get(a, PG332_INCNPPKTCNT), 1);
}

/* Requests on the wire: those of the ring that have started. */
static uint32_t outstanding(Card *c)
{
    const ErnicSendQueue *sq = &c->e->qp[QPN].sq;

    return sq->started - sq->wq.ci;
}

/* 16 requests may be outstanding; after a CNP 8, until 16 are complete. */
CARDS_TEST("/pg332-qp1/window", PG332_V3_1, test_window)
{
    open_both();
    card_fill_sq(a, 64, (Wqe) { .opcode = WRITE, .laddr = a->mem, .len = 64, .raddr = VA,
                                .rkey = KEY });
    put_qp(a, PG332_SQPI, 20);
    fake_run(a->e);
    IS(outstanding(a), 16);
    settle();
    IS(get_qp(a, PG332_CQHEAD), 20);

    post1(&qp1s[1], SEND, make_cnp(&qp1s[1], QPN));
    settle();
    put_qp(a, PG332_SQPI, 60);
    fake_run(a->e);
    for (uint32_t round = 0; round < 2; round++) {
        IS(outstanding(a), 8);
        fake_deliver(a->e, b->e);
        fake_deliver(b->e, a->e);
    }
    IS(outstanding(a), 16);
    settle();
    IS(get_qp(a, PG332_CQHEAD), 60);
}
