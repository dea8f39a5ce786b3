/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pause frames, and the bits of XRNIC_PAUSE_CONF that choose among them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "pg332_card.h"

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
        { PG332_PAUSE_OTHER | PG332_PAUSE_NO_CHECK, 1, 100, 0, false },
        { ROCE | PRIO(8), 1, 100, 0, true, 512 },
        { ROCE | PRIO(8), 1, 0, 0, true, 0 },
        { ROCE | PRIO(8), 1, 0xffff, 0, true, 335540 },
        { ROCE | PRIO(8), 0x101, 100, 0xff, false },
        { ROCE | PRIO(3), 1, 100, 0, false },
        { ROCE | PRIO(3), 0x101, 1, 0x08, true, 6 },
        { ROCE | PRIO(3), 0x101, 0, 0x08, true, 0 },
        { ROCE | PRIO(3), 0x101, 100, 0xf7, false },
        { ROCE | PRIO(0), 0x101, 100, 0x01, true, 512 },
        { ROCE | PRIO(9), 0x101, 100, 0xff, false },
        { ROCE | PRIO(15), 1, 100, 0, false },
        { ROCE | PRIO(3) | 0x1000, 1, 100, 0, true, 512 },
        { ROCE | PRIO(3) | 0x2000, 0x101, 100, 0x80, true, 512 },
        { ROCE | PRIO(3) | 0x2000, 0x101, 100, 0, false },
        { ROCE | PRIO(8) | 0x3000, 2, 100, 0xff, false },
        { ROCE | PRIO(8) | 0x3000, 0, 100, 0xff, false },
    };
    uint8_t frame[LEN];
    uint64_t ns;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_test_message("row %u", i);
        put(c, PG332_XRNIC_PAUSE_CONF, rows[i].conf);
        make(frame, rows[i].opcode, rows[i].vector, rows[i].quanta);
        IS(ernic_pause(c->e, frame, LEN, &ns), rows[i].its);
        if (rows[i].its) {
            IS(ns, rows[i].ns);
        }
    }
}

/* Frames that are cut, or to another address or of another type. */
CARD_TEST("/pg332-pause/malformed", PG332_V3_1, test_malformed)
{
    uint8_t frame[LEN];
    uint64_t ns;

    put(c, PG332_XRNIC_PAUSE_CONF, ROCE | PG332_PAUSE_NO_CHECK);
    for (uint16_t opcode = 1; opcode <= 0x101; opcode += 0x100) {
        uint32_t least = opcode == 1 ? 18 : 34;

        make(frame, opcode, 0xff, 7);
        for (uint32_t len = 0; len <= LEN; len++) {
            uint8_t *copy = g_memdup2(frame, len);

            IS(ernic_pause(c->e, copy, len, &ns), len >= least);
            g_free(copy);
        }
        for (uint32_t i = 0; i < 16; i++) {
            make(frame, opcode, 0xff, 7);
            frame[i] ^= 0x40;
            IS(ernic_pause(c->e, frame, LEN, &ns), i >= 6 && i < 12);
        }
    }
}
