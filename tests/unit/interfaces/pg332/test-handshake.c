/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: the test is the user logic of both cards.
 */
#include "qemu/osdep.h"
#include "pg332_card.h"
#include "interfaces/pg332/handshake.h"
#include "trace-mark.h"
#include "transport/qp.h"

/* Queue pairs whose doorbells are not registers. */
#define HANDSHAKE_QPCONF    (QPCONF & ~PG332_QPCONF_NO_HS)

static void next_is(Card *c, uint8_t kind, uint32_t qpn, uint32_t value)
{
    ErnicUserRecord r;

    g_assert_true(ernic_user_next(c->e, &r));
    IS(r.kind, kind);
    IS(r.qpn, qpn);
    IS(r.value, value);
}

static void takes(Card *c, uint8_t kind, uint32_t value)
{
    ErnicUserRecord r = { kind, QPN, value };

    next_is(c, kind, QPN, value);
    ernic_user_taken(c->e, &r);
    fake_check(c->e);
}

static void takes_nothing(Card *c)
{
    ErnicUserRecord r;

    g_assert_false(ernic_user_next(c->e, &r));
}

static bool ring(Card *c, uint8_t kind, uint32_t qpn, uint32_t value)
{
    bool ok = ernic_user_ring(c->e, c->env.now, &(ErnicUserRecord) { kind, qpn, value });

    fake_check(c->e);
    return ok;
}

static void requests(Card *c, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        card_wqe(c, (Wqe) { .opcode = SEND, .len = 64, .laddr = c->mem });
    }
    g_assert_true(ring(c, PG332_USER_SQPI, QPN, card_index(c->posted)));
    settle();
}

static void shake(Card *c)
{
    put_qp(c, PG332_QPCONF, HANDSHAKE_QPCONF);
}

/* The head of a test of two cards with user logic. */
#define LOGIC_TEST(path, fn)                                        \
    static void fn(Card *a, Card *b);                               \
    UNIT_ADD(path, logic_##fn)                                      \
    {                                                               \
        card_user_logic = true;                                     \
        setup(PG332_V4_2);                                          \
        shake(&cards[0]);                                           \
        shake(&cards[1]);                                           \
        fn(&cards[0], &cards[1]);                                   \
        teardown();                                                 \
        card_user_logic = false;                                    \
    }                                                               \
    static void fn(Card *a, Card *b)

/* Counts add up, of indices the last one counts; memory has neither. */
LOGIC_TEST("/pg332-handshake/records", test_records)
{
    takes_nothing(a);
    requests(a, 1);
    IS(a->env.user_calls, 1);
    requests(a, 2);
    IS(a->env.user_calls, 3);
    IS(b->env.user_calls, 3);
    takes(b, PG332_USER_RECEIVED, 3);
    takes_nothing(b);
    card_move(a);
    takes(a, PG332_USER_COMPLETED, 3);
    takes_nothing(a);
    READS(a, SLOT(CQHEAD, 3), SLOT(SQPI, 3));
    IS(card_word(a, a->cq_db), 0);
    IS(card_word(b, b->rq_db), 0);
}

/* A message after which 2^32 have come is reported, too. */
LOGIC_TEST("/pg332-handshake/many", test_many)
{
    ErnicWq *rq = &b->e->qp[QPN].rq.wq;

    requests(a, DEPTH - 1);
    takes(b, PG332_USER_RECEIVED, DEPTH - 1);
    rq->pi -= DEPTH;
    rq->ci -= DEPTH;
    requests(a, 1);
    IS(rq->ci, 0);
    takes(b, PG332_USER_RECEIVED, DEPTH);
}

/* The requester's READ completes; the peer's software hears nothing. */
LOGIC_TEST("/pg332-handshake/reads", test_reads)
{
    card_fill(b, 0, 64, 3);
    card_wqe(a, (Wqe) { .opcode = READ, .len = 64, .laddr = a->mem + 4096, .raddr = VA,
                        .rkey = KEY });
    g_assert_true(ring(a, PG332_USER_SQPI, QPN, 1));
    settle();
    takes(a, PG332_USER_COMPLETED, 1);
    takes_nothing(b);
    READS(a, SLOT(CQHEAD, 1));
    IS(card_cqe(a, 0), READ << 16 | 0x100);
    g_assert_cmpmem(card_mem(a, 4096), 64, card_mem(b, 0), 64);
}

/* Between a record and its taking there may be more. */
LOGIC_TEST("/pg332-handshake/more", test_more)
{
    static const ErnicUserRecord done = { PG332_USER_COMPLETED, QPN, 1 };
    static const ErnicUserRecord came = { PG332_USER_RECEIVED, QPN, 1 };

    requests(a, 1);
    next_is(a, done.kind, QPN, 1);
    next_is(b, came.kind, QPN, 1);
    requests(a, 2);
    ernic_user_taken(a->e, &done);
    ernic_user_taken(b->e, &came);
    takes(a, PG332_USER_COMPLETED, 2);
    takes(b, PG332_USER_RECEIVED, 3);
    /* A record that a reset has made the engine forget. */
    ernic_user_taken(a->e, &done);
    takes_nothing(a);
}

/* While a record is under way, its index comes again, a lap later. */
LOGIC_TEST("/pg332-handshake/lap", test_lap)
{
    static const ErnicUserRecord came = { PG332_USER_RECEIVED, QPN, 1 };

    requests(a, 1);
    next_is(b, came.kind, QPN, 1);
    g_assert_true(ring(b, PG332_USER_RQCI, QPN, 1));
    requests(a, DEPTH - 1);
    requests(a, 1);
    ernic_user_taken(b->e, &came);
    takes(b, PG332_USER_RECEIVED, 1);
    takes_nothing(b);
}

/* No port keeps another one waiting. */
LOGIC_TEST("/pg332-handshake/turns", test_turns)
{
    ErnicHandshakeQp *qp = a->e->handshake->qp;
    uint32_t seen[2 * 33] = { };

    for (uint32_t round = 0; round < 3 * 64; round++) {
        ErnicUserRecord r;

        for (uint32_t qpn = 1; qpn < 33; qpn++) {
            qp[qpn] = (ErnicHandshakeQp) { .completed = 1, .received = 1 };
        }
        g_assert_true(ernic_user_next(a->e, &r));
        ernic_user_taken(a->e, &r);
        seen[2 * r.qpn + (r.kind == PG332_USER_COMPLETED)]++;
    }
    for (uint32_t i = 2; i < ARRAY_SIZE(seen); i++) {
        IS(seen[i], 3);
    }
}

/* A count does not wrap. */
LOGIC_TEST("/pg332-handshake/most", test_most)
{
    a->e->handshake->qp[QPN].completed = UINT32_MAX - 1;
    requests(a, 3);
    takes(a, PG332_USER_COMPLETED, UINT32_MAX);
}

/* Buffers that user logic returns are free; without them the peer waits. */
LOGIC_TEST("/pg332-handshake/buffers", test_buffers)
{
    requests(a, DEPTH);
    takes(b, PG332_USER_RECEIVED, DEPTH);
    takes(a, PG332_USER_COMPLETED, DEPTH);
    requests(a, 1);
    takes_nothing(a);
    g_assert_true(ring(b, PG332_USER_RQCI, QPN, 2));
    READS(b, SLOT(RQCI, 2));
    a->env.now = b->env.now = a->env.wake;              /* the RNR timer */
    settle();
    takes(b, PG332_USER_RECEIVED, 1);
    takes(a, PG332_USER_COMPLETED, 1);
}

/*
 * A queue pair that begins anew, with indices of 0, has no records of the one before; one
 * that goes on has.
 */
LOGIC_TEST("/pg332-handshake/anew", test_anew)
{
    requests(a, 3);
    for (uint32_t i = 0; i < 2; i++) {
        put_qp(&cards[i], PG332_QPCONF, HANDSHAKE_QPCONF & ~PG332_QPCONF_ENABLE);
        shake(&cards[i]);
    }
    next_is(a, PG332_USER_COMPLETED, QPN, 3);
    next_is(b, PG332_USER_RECEIVED, QPN, 3);
    for (uint32_t i = 0; i < 2; i++) {
        put_qp(&cards[i], PG332_QPCONF, HANDSHAKE_QPCONF & ~PG332_QPCONF_ENABLE);
        WRITES(&cards[i], REG(XRNICADCONF, get(&cards[i], PG332_XRNICADCONF) |
                                           PG332_ADCONF_OVERRIDE),
               SLOT(SQPI, 0), SLOT(CQHEAD, 0), SLOT(RQCI, 0), SLOT(STATRQPIDB, 0));
        shake(&cards[i]);
    }
    takes_nothing(a);
    takes_nothing(b);
}

LOGIC_TEST("/pg332-handshake/refused", test_refused)
{
    static const ErnicUserRecord rows[] = {
        { 0, QPN, 1 }, { PG332_USER_RECEIVED, QPN, 1 }, { PG332_USER_COMPLETED, QPN, 1 },
        { 5, QPN, 1 }, { 0xff, UINT32_MAX, UINT32_MAX }, { PG332_USER_SQPI, 0, 1 },
        { PG332_USER_SQPI, 33, 1 }, { PG332_USER_RQCI, 0x10000 + QPN, 1 },
        { PG332_USER_SQPI, QPN, 0x10000 }, { PG332_USER_RQCI, QPN, UINT32_MAX },
        { PG332_USER_SQPI, QPN + 1, 1 }, { PG332_USER_RQCI, QPN + 1, 1 },
        { PG332_USER_SQPI, QPN + 2, 1 }, { PG332_USER_RQCI, QPN + 2, 1 },
    };

    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    WRITES(a, W_Q(QPN + 1, QPCONF, PG332_QPCONF_NO_HS | PG332_QPCONF_ENABLE));
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint32_t before = ernic_trace_count("ernic_guest_user_record");

        g_assert_false(ring(a, rows[i].kind, rows[i].qpn, rows[i].value));
        IS(ernic_trace_count("ernic_guest_user_record"), before + 1);
    }
    READS(a, SLOT(SQPI, 0), SLOT(RQCI, 0));
    ernic_trace_set_mode(ERNIC_TRACE_OFF);
}

/* A queue pair that software has not enabled, or takes away, is not user logic's. */
LOGIC_TEST("/pg332-handshake/disabled", test_disabled)
{
    put_qp(a, PG332_QPCONF, HANDSHAKE_QPCONF & ~PG332_QPCONF_ENABLE);
    card_wqe(a, (Wqe) { .opcode = SEND, .len = 64, .laddr = a->mem });
    g_assert_false(ring(a, PG332_USER_SQPI, QPN, 1));
    g_assert_false(ring(a, PG332_USER_RQCI, QPN, 1));
    READS(a, SLOT(SQPI, 0), SLOT(RQCI, 0), SLOT(CQHEAD, 0));
    shake(a);
    settle();
    takes_nothing(a);
    /* While the card is off, its queue pairs store the index, as registers do. */
    WRITES(a, REG(XRNICCONF, get(a, PG332_XRNICCONF) & ~PG332_CONF_ENABLE));
    g_assert_true(ring(a, PG332_USER_SQPI, QPN, 1));
    settle();
    takes_nothing(a);
    WRITES(a, REG(XRNICCONF, get(a, PG332_XRNICCONF) | PG332_CONF_ENABLE));
    settle();
    takes(a, PG332_USER_COMPLETED, 1);
    /* Indices go to memory from now on, and records that were not taken stay. */
    requests(a, 1);
    put_qp(a, PG332_QPCONF, QPCONF);
    POST(a, SEND, 64);
    settle();
    takes(a, PG332_USER_COMPLETED, 1);
    takes_nothing(a);
    IS(card_word(a, a->cq_db), 3);
    ernic_reset(a->e);
    takes_nothing(a);
}

/* A state of an engine without user logic, and one that no engine has. */
LOGIC_TEST("/pg332-handshake/states", test_states)
{
    static const struct {
        uint32_t qpn, completed, received;
        bool ok;
    } rows[] = {
        { QPN, UINT32_MAX, ERNIC_MAX_WQ_DEPTH, true },
        { 32, 0, ERNIC_MAX_WQ_DEPTH + 1 }, { QPN, 0, UINT32_MAX }, { 0, 1, 0 },
        { 0, 0, 1 },
    };
    ErnicConfig cfg;
    Ernic *e;

    card_config(&cfg, PG332_V4_2);
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(GByteArray) state = g_byte_array_new();

        memset(a->e->handshake->qp, 0, 33 * sizeof(*a->e->handshake->qp));
        a->e->handshake->qp[rows[i].qpn] =
            (ErnicHandshakeQp) { rows[i].completed, rows[i].received };
        ernic_save(a->e, state);
        e = ernic_new(&cfg, &fake_env_ops, &a->env);
        IS(ernic_load(e, 0, state->data, state->len), rows[i].ok);
        IS(e->handshake->qp[QPN].completed, i ? 0 : UINT32_MAX);
        ernic_free(e);
        cfg.user_logic = false;
        e = ernic_new(&cfg, &fake_env_ops, &a->env);
        g_assert_false(ernic_load(e, 0, state->data, state->len));
        ernic_free(e);
        cfg.user_logic = true;
    }
}
