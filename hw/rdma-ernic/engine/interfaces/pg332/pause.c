/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow control of the link as PG332 takes it from the MAC: nine pause requests, of which
 * 0 to 7 are those of the priorities (IEEE 802.1Qbb) and 8 is that of the whole link
 * (IEEE 802.3, annex 31B). XRNIC_PAUSE_CONF says which of them stop RoCE traffic.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/pg332/pg332.h"

#define CONTROL_TYPE    0x8808
#define CONTROL_HEAD    16              /* addresses, type, opcode */
#define PAUSE_LINK      0x0001
#define PAUSE_PRIORITY  0x0101
#define LINK_REQUEST    8
#define PRIORITIES      8
#define QUANTUM_BITS    512

static const uint8_t control_address[6] = { 0x01, 0x80, 0xc2, 0, 0, 0x01 };

/* The requests that @frame changes, as bits, and their quanta; 0: no pause frame. */
static uint32_t parse(const uint8_t *frame, uint32_t len, uint16_t quanta[9])
{
    uint32_t i;

    if (len < CONTROL_HEAD + 2 || lduw_be_p(frame + 12) != CONTROL_TYPE ||
        memcmp(frame, control_address, sizeof(control_address)) != 0) {
        return 0;
    }
    switch (lduw_be_p(frame + 14)) {
    case PAUSE_LINK:
        quanta[LINK_REQUEST] = lduw_be_p(frame + CONTROL_HEAD);
        return 1u << LINK_REQUEST;
    case PAUSE_PRIORITY:
        if (len < CONTROL_HEAD + 2 + 2 * PRIORITIES) {
            return 0;
        }
        for (i = 0; i < PRIORITIES; i++) {
            quanta[i] = lduw_be_p(frame + CONTROL_HEAD + 2 + 2 * i);
        }
        return frame[CONTROL_HEAD + 1];
    default:
        return 0;
    }
}

bool ernic_pg332_pause(const Ernic *e, const uint8_t *frame, uint32_t len, uint64_t *ns)
{
    uint32_t conf = *ernic_pg332_reg(e, PG332_XRNIC_PAUSE_CONF), requests, i;
    uint16_t quanta[LINK_REQUEST + 1], most = 0;

    if (!(conf & PG332_PAUSE_ROCE)) {
        return false;
    }
    requests = parse(frame, len, quanta);
    if (!(conf & PG332_PAUSE_NO_CHECK)) {
        requests &= 1u << (conf & PG332_PAUSE_PRIO_ROCE) /
                          (PG332_PAUSE_PRIO_ROCE & -PG332_PAUSE_PRIO_ROCE);
    }
    for (i = 0; i <= LINK_REQUEST; i++) {
        most = requests >> i & 1 ? MAX(most, quanta[i]) : most;
    }
    *ns = DIV_ROUND_UP((uint64_t)most * QUANTUM_BITS * 1000, e->cfg.link_speed);
    return requests;
}
