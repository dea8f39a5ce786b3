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
#include "trace.h"
#include "transport/cc.h"

#define CONTROL_TYPE    0x8808
#define CONTROL_TYPE_END 14
#define CONTROL_HEAD    16              /* addresses, type, opcode */
#define PAUSE_LINK      0x0001
#define PAUSE_PRIORITY  0x0101
#define LINK_REQUEST    8
#define PRIORITIES      8
#define QUANTUM_BITS    512

static const uint8_t control_address[6] = { 0x01, 0x80, 0xc2, 0, 0, 0x01 };

/* A pause frame may have the card's own address, too (annex 31B.3.3). */
static bool has_address(const Ernic *e, const uint8_t *frame)
{
    return lduw_be_p(frame) == *ernic_pg332_reg(e, PG332_MACXADDMSB) &&
           ldl_be_p(frame + 2) == *ernic_pg332_reg(e, PG332_MACXADDLSB);
}

/* The requests that @frame changes, as bits, and their quanta; 0: no pause frame. */
static uint32_t parse(const Ernic *e, const uint8_t *frame, uint32_t len,
                      uint16_t quanta[LINK_REQUEST + 1])
{
    bool group = memcmp(frame, control_address, sizeof(control_address)) == 0;
    uint32_t i;

    if (len < CONTROL_HEAD + 2) {
        return 0;
    }
    switch (lduw_be_p(frame + 14)) {
    case PAUSE_LINK:
        if (!group && !has_address(e, frame)) {
            return 0;
        }
        quanta[LINK_REQUEST] = lduw_be_p(frame + CONTROL_HEAD);
        return 1u << LINK_REQUEST;
    case PAUSE_PRIORITY:
        if (!group || len < CONTROL_HEAD + 2 + 2 * PRIORITIES) {
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

/* Begin a pause of @ns now; 0 ends the one that there is. */
static void hold(Ernic *e, uint64_t ns)
{
    trace_ernic_pg332_pause(ns, e->resume);
    if (ns || e->paused) {
        e->resume = e->now + ns;
        e->paused = true;
    }
}

bool ernic_pg332_control(Ernic *e, const uint8_t *frame, uint32_t len)
{
    uint32_t conf = *ernic_pg332_reg(e, PG332_XRNIC_PAUSE_CONF), requests, i;
    uint16_t quanta[LINK_REQUEST + 1], most = 0;

    if (!(conf & (PG332_PAUSE_ROCE | PG332_PAUSE_OTHER)) || len < CONTROL_TYPE_END ||
        lduw_be_p(frame + 12) != CONTROL_TYPE) {
        return false;
    }
    requests = conf & PG332_PAUSE_ROCE ? parse(e, frame, len, quanta) : 0;
    if (!(conf & PG332_PAUSE_NO_CHECK)) {
        requests &= 1u << (conf & PG332_PAUSE_PRIO_ROCE) /
                          (PG332_PAUSE_PRIO_ROCE & -PG332_PAUSE_PRIO_ROCE);
    }
    for (i = 0; i <= LINK_REQUEST; i++) {
        most = requests >> i & 1 ? MAX(most, quanta[i]) : most;
    }
    if (requests) {
        hold(e, DIV_ROUND_UP((uint64_t)most * QUANTUM_BITS * 1000,
                             ernic_link_mbps(&e->cfg)));
    }
    return true;
}
