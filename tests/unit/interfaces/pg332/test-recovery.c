/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Recovery and deletion of queue pairs of PG332: each sequence of its software, on each
 * version, from each fatal error and in the midst of work; afterwards the queue pair
 * works again.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/packet_checks.h"
#include "pg332_ends.h"
#include "pg332_peer.h"
#include "pg332_recovery.h"
#include "trace-mark.h"

#define EMPTY (PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY)

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

/* Repair registers that some dialogues break; the sequence sets up the rest. */
static void mend(Card *c)
{
    WRITES(c, REG(IPv4XADD, 0x0a000001), ENTRY(BUFBASEADDRMSB, c->mem >> 32),
              SLOT(RQBAMSB, c->rq >> 32), SLOT(SQBAMSB, c->sq >> 32));
}

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

static void play(unsigned version, const Pg332Sequence *s, const char *from,
                 void (*provoke)(Card *c))
{
    Card *a = &cards[0];

    g_test_message("%s; from: %s", s->name, from);
    card_open(a, 0, version);
    provoke(a);
    mend(a);
    pg332_recover(a, s);
    /* Packets that the link still held belong to the past. */
    a->env.tx_busy = false;
    ernic_tx_ready(a->e, a->env.now);
    fake_run(a->e);
    lose_all(a);
    card_open(&cards[1], 1, version);
    cards[1].env.now = a->env.now;
    work(a, &cards[1]);
    teardown();
}

static void test_sequence(gconstpointer arg)
{
    uint32_t n = GPOINTER_TO_UINT(arg), i;
    unsigned version = n % PG332_VERSIONS;
    const Pg332Sequence *s = &pg332_sequences[n / PG332_VERSIONS];

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
        lose_all(a);
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
    for (uint32_t n = 0; n < pg332_num_sequences * PG332_VERSIONS; n++) {
        g_autofree char *path = g_strdup_printf("/pg332-recovery/%s",
                                                version_names[n % PG332_VERSIONS]);

        unit_add_row(path, pg332_sequences[n / PG332_VERSIONS].name, GUINT_TO_POINTER(n),
                     test_sequence);
    }
    return unit_run(argc, argv);
}
