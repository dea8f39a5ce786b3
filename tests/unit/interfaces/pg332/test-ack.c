/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When a card with the registers of PG332 acknowledges received packets.
 */
#include "qemu/osdep.h"
#include "pg332_peer.h"

/*
 * XRNICCONF[4:3]: which packet is answered at once, which at the time-out of
 * coalescing, and which not at all.
 */
TEST("/pg332-ack/policy", test_policy)
{
    static const struct {
        uint32_t policy;
        bool asked, plain, at_once, later;
    } cases[] = {
        /* AckReq of the packets says it: ACK at once; ACK at the time-out. */
        { PG332_CONF_ACK_ANY, true, false, true, false },
        { PG332_CONF_ACK_ANY, false, true, false, true },
        { PG332_CONF_ACK_ANY, true, true, true, false },
        { PG332_CONF_ACK_TIMEOUT, true, false, false, true },
        { PG332_CONF_ACK_TIMEOUT, false, true, false, true },
        { PG332_CONF_ACK_TIMEOUT, true, true, false, true },
        { PG332_CONF_ACK_EXPLICIT, true, false, true, false },
        { PG332_CONF_ACK_EXPLICIT, false, true, false, false },
        { PG332_CONF_ACK_EXPLICIT, true, true, true, false },
        { PG332_CONF_ACK, true, false, true, false },
        { PG332_CONF_ACK, false, true, false, true },
    };

    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
            uint32_t psn = PEER_PSN;
            Card *c = &cards[0];
            ErnicPkt pkt;

            g_test_message("case %u", i);
            card_open(c, 0, version);
            put(c, PG332_XRNICCONF, (get(c, PG332_XRNICCONF) & ~PG332_CONF_ACK) |
                cases[i].policy);
            if (cases[i].plain) {
                PEER(c, WRITE_ONLY, .psn = psn++, .payload_len = 64,
                     .dma_len = 64, .va = VA, .rkey = KEY);
            }
            if (cases[i].asked) {
                PEER(c, SEND_ONLY, .psn = psn++, .payload_len = 64, .ackreq = true);
            }
            g_assert(peer_hears(c, &pkt) == cases[i].at_once);
            g_assert(!cases[i].at_once || pkt.psn == psn - 1);
            fake_advance(c->e, ERNIC_PG332_ACK_NS - 1);
            peer_hears_nothing(c);
            fake_advance(c->e, 1);
            g_assert(peer_hears(c, &pkt) == cases[i].later);
            g_assert(!cases[i].later || pkt.psn == psn - 1);
            fake_advance(c->e, 100 * ERNIC_PG332_ACK_NS);
            peer_hears_nothing(c);
            /* A duplicate is acknowledged at once. */
            PEER(c, SEND_ONLY, .psn = psn - 1, .payload_len = 64);
            peer_hears_ack(c, ERNIC_AETH_CREDIT_NONE);
            card_close(c);
        }
    }
}

/*
 * A card that only acknowledges late still completes all work, between two of its kind.
 */
CARDS_TEST("/pg332-ack/late", PG332_V3_1, test_late)
{
    put(b, PG332_XRNICCONF, get(b, PG332_XRNICCONF) | PG332_CONF_ACK_TIMEOUT);
    POST(a, WRITE, 0x6000);
    DO(a, SEND, 64);
    check_done(a, 0);
    check_received(b, 1);
    /* The time-out continues after a migration. */
    card_move(b);
    settle();
    check_done(a, 0);
    fake_advance(b->e, ERNIC_PG332_ACK_NS);
    settle();
    check_done(a, 2);
    IS(get(b, PG332_OUTAMPKTCNT), 1);
}
