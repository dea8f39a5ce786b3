/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cheats on purpose: each way to break a rule, and the rules that have to find
 * it. A checker that cannot fail checks nothing.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "sim.h"

const SimSabotageRow sim_sabotages[SIM_SAB_COUNT] = {
    [SIM_SAB_NONE] = { "none", "" },
    [SIM_SAB_PAYLOAD] = { "payload", "content order" },
    [SIM_SAB_TWICE_CQE] = { "twice-cqe", "completion" },
    [SIM_SAB_SKIP_CQE] = { "skip-cqe", "completion" },
    [SIM_SAB_SWAP_MSG] = { "swap-messages", "order" },
    [SIM_SAB_LOSE_MSG] = { "lose-message", "lost stall agreement" },
    [SIM_SAB_LOSE_UC] = { "lose-uc-message", "lost" },
    [SIM_SAB_STRAY_WRITE] = { "stray-write", "write" },
    [SIM_SAB_LATE_WRITE] = { "late-write", "write" },
    [SIM_SAB_STRAY_READ] = { "stray-read", "read" },
    [SIM_SAB_ATOMIC] = { "atomic-twice", "atomic" },
    [SIM_SAB_BLACKHOLE] = { "black-hole", "status stall" },
    [SIM_SAB_SKIP_WAKE] = { "skip-wake", "stall" },
    [SIM_SAB_COUNTER] = { "counter", "invariant" },
    [SIM_SAB_SAVE] = { "save", "save" },
    [SIM_SAB_EVENT] = { "twice-event", "event" },
    [SIM_SAB_POSTPONE] = { "postpone-timer", "silent" },
    [SIM_SAB_LEFT] = { "early-departure", "departure" },
    [SIM_SAB_SKIP_LEFT] = { "skip-departure", "stall" },
    [SIM_SAB_FRAME] = { "twice-frame", "queue" },
};

/* Whether @what is to be done now: at each opportunity, until it was enough. */
bool sim_sabotage(Sim *s, SimSabotage what)
{
    if (s->sabotage != what || s->failed) {
        return false;
    }
    s->sabotaged = true;
    return true;
}

void sim_sabotage_packet(SimHost *h, SimPacket *p)
{
    const ErnicOpcode *op = ernic_opcode(p->data[0]);
    Sim *s = h->sim;
    uint32_t len = p->len;

    if (s->sabotage == SIM_SAB_STRAY_WRITE && s->stats.packets == 30) {
        s->sabotaged = true;
        sim_env_ops.dma_write(h, h->mem.base + h->mem.brk + 512, "stray", 5);
    } else if (s->sabotage == SIM_SAB_STRAY_READ && s->stats.packets == 30) {
        uint8_t byte;

        s->sabotaged = true;
        sim_env_ops.dma_read(h, h->mem.base + h->mem.brk + 512, &byte, 1);
    } else if (s->sabotage == SIM_SAB_PAYLOAD && op &&
               ernic_opcode_transport(p->data[0]) == ERNIC_RC &&
               op->cls == ERNIC_CL_SEND && len > 64) {
        s->sabotaged = true;
        p->data[20] ^= 1;
        stl_le_p(p->data + len - 4, ernic_icrc(&p->path, p->data, len - 4));
    }
}
