/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writes a trace of two cards with the registers of PG332; tests/timing/test_trace.py
 * checks it. Software stores other registers between doorbells, as an interrupt handler
 * does.
 *
 * usage: pg332-trace FILE
 */
#include "qemu/osdep.h"
#include "hand_profile.h"
#include "pg332_card.h"
#include "capture/timing_file.h"

#define LIMIT       (16 << 20)
#define ROUNDS      4

int main(int argc, char **argv)
{
    static const char *const names[2] = { "card 0", "card 1" };
    static const uint8_t opcodes[ROUNDS] = { SEND, WRITE, READ, SEND };
    ErnicTimingFile *file[2];
    char *err = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: pg332-trace FILE\n");
        return 2;
    }
    for (uint32_t i = 0; i < 2; i++) {
        file[i] = ernic_timing_file_open(argv[1], names[i], LIMIT, NULL, &err);
        if (!file[i]) {
            fprintf(stderr, "pg332-trace: %s\n", err);
            return 1;
        }
        card_trace[i] = ernic_timing_file_trace(file[i]);
    }
    card_timing = &hand;
    setup(PG332_V4_2);
    settle();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put(&cards[0], PG332_INTSTS, 0xffffffff);
        POST(&cards[0], opcodes[i], 64);
        WRITES(&cards[0], REG(INTSTS, 0xffffffff), REG(INTSTS, 0xffffffff));
        settle();
    }
    check_done(&cards[0], ROUNDS);
    printf("requests\t%u\n", ROUNDS);
    teardown();
    ernic_timing_file_close(file[0]);
    ernic_timing_file_close(file[1]);
    return 0;
}
