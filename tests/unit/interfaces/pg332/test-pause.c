/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pause frames, and the bits of XRNIC_PAUSE_CONF that choose among them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "pg332_card.h"
#include "timing/profile.h"

#define LEN     60
#define ROCE    PG332_PAUSE_ROCE
#define PRIO(p) ((p) << 4)

/* A frame of the whole link, or of the priorities in @vector, which have @quanta each. */
static void make(uint8_t frame[LEN], uint16_t opcode, uint8_t vector, uint16_t quanta)
{
    static const uint8_t head[] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 8 };

    memset(frame, 0, LEN);
    memcpy(frame, head, sizeof(head));
    stw_be_p(frame + 14, opcode);
    if (opcode == 1) {
        stw_be_p(frame + 16, quanta);
        return;
    }
    frame[17] = vector;
    for (int i = 0; i < 8; i++) {
        stw_be_p(frame + 18 + 2 * i, vector >> i & 1 ? quanta : 0xffff);
    }
}

static bool control(Card *c, const void *frame, uint32_t len)
{
    return ernic_control(c->e, c->env.now, frame, len);
}

/* A pause of the whole link, which every card of these tests obeys. */
static void pause(Card *c, uint16_t quanta)
{
    uint8_t frame[LEN];

    put(c, PG332_XRNIC_PAUSE_CONF, ROCE | PG332_PAUSE_NO_CHECK);
    make(frame, 1, 0, quanta);
    g_assert_true(control(c, frame, LEN));
    /* The part of the environment. */
    c->env.tx_busy = ernic_paused(c->e);
}

/* The time when the pause ends. */
static void ends(Card *c)
{
    for (int i = 0; i < 2; i++) {
        cards[i].env.now = c->e->resume;
    }
    c->env.tx_busy = false;
    settle();
    g_assert_false(ernic_paused(c->e));
}

CARD_TEST("/pg332-pause/frames", PG332_V4_2, test_frames)
{
    static const struct {
        uint32_t conf;
        uint16_t opcode, quanta;
        uint8_t vector;
        bool its;
        uint32_t ns;                    /* of quanta of 5.12 ns */
    } rows[] = {
        { 0, 1, 100, 0, false },
        { PG332_PAUSE_NO_CHECK, 1, 100, 0, false },
        { PG332_PAUSE_OTHER | PG332_PAUSE_NO_CHECK, 1, 100, 0, true },
        { ROCE | PRIO(8), 1, 100, 0, true, 512 },
        { ROCE | PRIO(8), 1, 0, 0, true },
        { ROCE | PRIO(8), 1, 0xffff, 0, true, 335540 },
        { ROCE | PRIO(8), 0x101, 100, 0xff, true },
        { ROCE | PRIO(3), 1, 100, 0, true },
        { ROCE | PRIO(3), 0x101, 1, 0x08, true, 6 },
        { ROCE | PRIO(3), 0x101, 100, 0xf7, true },
        { ROCE | PRIO(0), 0x101, 100, 0x01, true, 512 },
        { ROCE | PRIO(9), 0x101, 100, 0xff, true },
        { ROCE | PRIO(15), 1, 100, 0, true },
        { ROCE | PRIO(3) | 0x1000, 1, 100, 0, true, 512 },
        { ROCE | PRIO(3) | 0x2000, 0x101, 100, 0x80, true, 512 },
        { ROCE | PRIO(3) | 0x2000, 0x101, 100, 0, true },
        { ROCE | PRIO(8) | 0x3000, 2, 100, 0xff, true },
        { ROCE | PRIO(8) | 0x3000, 0, 100, 0xff, true },
    };
    uint8_t frame[LEN];

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_test_message("row %u", i);
        put(c, PG332_XRNIC_PAUSE_CONF, rows[i].conf);
        c->e->resume = c->e->paused = 0;
        make(frame, rows[i].opcode, rows[i].vector, rows[i].quanta);
        IS(control(c, frame, LEN), rows[i].its);
        IS(c->e->resume, rows[i].ns ? c->env.now + rows[i].ns : 0);
        IS(ernic_paused(c->e), rows[i].ns != 0);
    }
}

/* Frames that are cut, or to another address or of another type. */
CARD_TEST("/pg332-pause/malformed", PG332_V3_1, test_malformed)
{
    uint8_t frame[LEN];

    put(c, PG332_XRNIC_PAUSE_CONF, ROCE | PG332_PAUSE_NO_CHECK);
    for (uint16_t opcode = 1; opcode <= 0x101; opcode += 0x100) {
        uint32_t least = opcode == 1 ? 18 : 34;

        make(frame, opcode, 0xff, 7);
        for (uint32_t len = 0; len <= LEN; len++) {
            g_autofree uint8_t *copy = g_memdup2(frame, len);

            c->e->resume = c->e->paused = 0;
            IS(control(c, copy, len), len >= 14);
            IS(ernic_paused(c->e), len >= least);
        }
        for (uint32_t i = 0; i < 16; i++) {
            make(frame, opcode, 0xff, 7);
            frame[i] ^= 0x40;
            c->e->resume = c->e->paused = 0;
            IS(control(c, frame, LEN), i < 12 || i >= 14);
            IS(ernic_paused(c->e), i >= 6 && i < 12);
        }
    }
}

/* The card's own address is one of a pause frame, and not one of a PFC frame. */
CARD_TEST("/pg332-pause/unicast", PG332_V4_2, test_unicast)
{
    uint8_t frame[LEN];

    put(c, PG332_XRNIC_PAUSE_CONF, ROCE | PG332_PAUSE_NO_CHECK);
    for (uint16_t opcode = 1; opcode <= 0x101; opcode += 0x100) {
        make(frame, opcode, 0xff, 7);
        stw_be_p(frame, get(c, PG332_MACXADDMSB));
        stl_be_p(frame + 2, get(c, PG332_MACXADDLSB));
        c->e->resume = c->e->paused = 0;
        g_assert_true(control(c, frame, LEN));
        IS(ernic_paused(c->e), opcode == 1);
        frame[5] ^= 1;
        c->e->resume = c->e->paused = 0;
        g_assert_true(control(c, frame, LEN));
        g_assert_false(ernic_paused(c->e));
    }
}

/* The transport timer does not run for packets that a pause keeps in the card. */
CARDS_TEST("/pg332-pause/timeout", PG332_V4_2, test_timeout)
{
    put_qp(a, PG332_TIMEOUTCONF, 1);            /* 8.192 us, no retry */
    pause(a, 0xffff);
    POST(a, SEND, 64);
    for (int i = 0; i < 20; i++) {
        a->env.now += 90001;
        pause(a, 0xffff);
        fake_run(a->e);
        fake_check(a->e);
        g_assert_true(a->e->resume > a->env.now);
    }
    ends(a);
    check_done(a, 1);
    IS(a->e->stats.ack_timeouts, 0);
    IS(a->e->stats.retransmits, 0);
    /* Packets that are lost afterwards are sent again as ever. */
    POST(a, SEND, 64);
    fake_run(a->e);
    fake_lose_trains(&a->env);
    a->env.now = a->env.wake;
    fake_run(a->e);
    IS(a->e->stats.ack_timeouts, 1);
}

/* A frame, software, a migration, the link and a reset end a pause. */
CARDS_TEST("/pg332-pause/ends", PG332_V4_2, test_ends)
{
    put_qp(a, PG332_TIMEOUTCONF, 1);            /* 8.192 us, no retry */
    for (uint32_t i = 1; i <= 4; i++) {
        a->env.now = b->env.now += 1000;
        pause(a, 0xffff);
        POST(a, SEND, 64);
        fake_run(a->e);
        g_assert_true(ernic_paused(a->e));
        a->env.now = b->env.now += 20000;       /* more than a period of the timer */
        switch (i) {
        case 1:
            pause(a, 0);
            break;
        case 2:
            put(a, PG332_XRNIC_PAUSE_CONF, 0);
            break;
        case 3:
            card_move(a);
            break;
        case 4:
            ernic_set_link(a->e, a->env.now, false);
            g_assert_false(ernic_paused(a->e));
            ernic_set_link(a->e, a->env.now, true);
            ernic_reset(a->e);
            pause(a, 1);
            g_assert_true(ernic_paused(a->e));
            ernic_reset(a->e);
            g_assert_false(ernic_paused(a->e));
            return;
        }
        a->env.tx_busy = false;
        settle();
        g_assert_false(ernic_paused(a->e));
        check_done(a, i);
        IS(a->e->stats.ack_timeouts, 0);
    }
}

/* With the timing model a quantum has the rate of its wire. */
CARD_TEST("/pg332-pause/rate", PG332_V4_2, test_rate)
{
    static ErnicProfile profile;
    uint8_t frame[LEN];

    profile.wire_mbps = 1000;
    put(c, PG332_XRNIC_PAUSE_CONF, ROCE | PG332_PAUSE_NO_CHECK);
    make(frame, 1, 0, 3);
    c->e->cfg.timing = &profile;
    g_assert_true(control(c, frame, LEN));
    IS(c->e->resume, c->env.now + 3 * 512);
    c->e->cfg.timing = NULL;
}
