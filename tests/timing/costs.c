/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Latencies are changed by 1000 ns and have to be seen as that, to the ns; what
 * limits how much is under way, by Little's law.
 */
#include "qemu/osdep.h"
#include "costs.h"
#include "measure.h"

#define AT(member)  offsetof(ErnicProfile, member)
#define STAGE(s)    AT(stage[ERNIC_STAGE_##s].latency)
#define US          1000000ull              /* ps */

/* ns of work of the stages before, which a slow one works through meanwhile. */
#define HIDDEN      45

/* ns between the first and the last of eight READs at once. */
#define EIGHT_READS 1500

enum { WRITE, SEND, READ };                 /* of timing_ops[] */

/* The measured value, in ns. */
typedef enum Seen {
    SEEN_LATENCY,               /* doorbell to completion, caches warm */
    SEEN_FIRST,                 /* the same, caches cold */
    SEEN_INTERRUPT,             /* completion to interrupt */
    SEEN_BURST,                 /* eight requests with one doorbell */
    SEEN_BEHIND_READ,           /* latency, a register being read before */
    SEEN_COMMAND,               /* from a command to its answer */
} Seen;

static const char *const seen_names[] = {
    [SEEN_LATENCY] = "latency", [SEEN_FIRST] = "first latency",
    [SEEN_INTERRUPT] = "completion to interrupt",
    [SEEN_BURST] = "eight at once", [SEEN_BEHIND_READ] = "latency after it",
    [SEEN_COMMAND] = "command to answer",
};

typedef struct Cost {
    const char *item, *change;
    uint8_t end;
    uint32_t at;
    uint64_t add;
    uint8_t op;
    Seen seen;
    double expected;            /* ns more */
    double tolerance;
    uint32_t also;              /* with this member set to also_to */
    uint64_t also_to;
} Cost;

/* The latency of a stage, which a WRITE has to show to the ns. */
#define STAGE_OF(end, who, item, key, s) \
    { item, who " " key ".latency + 1 us", end, STAGE(s), US, WRITE, SEEN_LATENCY, 1000 }
#define CARD(...) STAGE_OF(TIMING_CARD, "card", __VA_ARGS__)
#define NIC(...)  STAGE_OF(TIMING_OTHER, "NIC", __VA_ARGS__)

static const Cost costs[] = {
    { "MMIO, read", "card mmio.latency + 1 us", TIMING_CARD, STAGE(MMIO), US,
      WRITE, SEEN_BEHIND_READ, 1000 },
    { "command", "card command.latency + 1 us", TIMING_CARD, STAGE(COMMAND),
      US, WRITE, SEEN_COMMAND, 1000 },
    CARD("MMIO, store; doorbell", "doorbell", DOORBELL),
    CARD("SQ arbitration", "arbiter", ARBITER),
    CARD("WQE check", "wqe", WQE),
    { "WQE fetch", "card wqe.fetch + 1 us", TIMING_CARD, AT(wqe_miss), US,
      WRITE, SEEN_LATENCY, 1000 },
    { "WQE cache", "card wqe.fetch + 1 us", TIMING_CARD, AT(wqe_miss), US,
      WRITE, SEEN_BURST, 1000 },
    /* Two at a time. */
    { "WQE cache", "the same, with wqe.batch = 1", TIMING_CARD, AT(wqe_miss),
      US, WRITE, SEEN_BURST, 4000, 0, AT(wqe_batch), 1 },
    CARD("context lookup, sending", "tx-context", TX_CONTEXT),
    NIC("context lookup, receiving", "rx-context", RX_CONTEXT),
    { "context cache", "NIC context.miss + 1 us", TIMING_OTHER,
      AT(context_miss), US, SEND, SEEN_FIRST, 1000 },
    NIC("key lookup", "key", KEY),
    { "key cache", "NIC key.miss + 1 us", TIMING_OTHER, AT(key_miss), US,
      WRITE, SEEN_FIRST, 1000 },
    CARD("payload DMA, read", "dma-read", DMA_READ),
    { "PCIe, read", "NIC pcie.completion + 1 us", TIMING_OTHER,
      AT(pcie.completion), US, READ, SEEN_LATENCY, 1000 },
    { "PCIe, write", "NIC pcie.posted + 1 us", TIMING_OTHER, AT(pcie.posted),
      US, WRITE, SEEN_LATENCY, 1000 },
    CARD("header generation", "build", BUILD),
    CARD("ICRC", "icrc", ICRC),
    CARD("MAC", "mac", MAC),
    /* 138 B of a frame and 24 more; some ns overlap with earlier stages. */
    { "wire, rate", "card wire.rate = 100 Mb/s", TIMING_CARD, AT(wire_mbps),
      -99900ull, WRITE, SEEN_LATENCY, 162 * 80, HIDDEN },
    { "preamble, FCS, gap", "card wire.extra + 12500 B", TIMING_CARD,
      AT(wire_extra), 12500, WRITE, SEEN_LATENCY, (162 + 12500) * 0.08,
      HIDDEN },
    { "flight", "card wire.flight + 1 us", TIMING_CARD, AT(wire_flight), US,
      WRITE, SEEN_LATENCY, 1000 },
    NIC("validation", "receive", RECEIVE),
    /* Cycles of 2 ns. */
    { "end of a message", "NIC receive.close + 500 cycles", TIMING_OTHER,
      AT(stage[ERNIC_STAGE_RECEIVE].close), 500, SEND, SEEN_LATENCY, 1000 },
    NIC("placement", "dma-write", DMA_WRITE),
    NIC("ACK generation", "ack", ACK),
    { "ACK coalescing", "NIC ack.delay + 1 us, coalesce = 2", TIMING_OTHER,
      AT(ack_delay), US, WRITE, SEEN_LATENCY, 1000, 0, AT(ack_coalesce), 2 },
    /* One ACK for all of them; then seven completions of 20 ns. */
    { "ACK coalescing", "NIC ack.delay + 1 us, coalesce = 8", TIMING_OTHER,
      AT(ack_delay), US, WRITE, SEEN_BURST, 140, 0, AT(ack_coalesce), 8 },
    { "READ scheduling", "NIC read-response.latency + 1 us", TIMING_OTHER,
      STAGE(READ_RSP), US, READ, SEEN_LATENCY, 1000 },
    { "READ scheduling", "NIC read-response.packet + 100000 cycles", TIMING_OTHER,
      AT(stage[ERNIC_STAGE_READ_RSP].packet), 100000, READ, SEEN_BURST, 1.6e6,
      EIGHT_READS },
    CARD("CQE write", "cqe", CQE),
    { "interrupt", "card interrupt.latency + 1 us", TIMING_CARD,
      STAGE(INTERRUPT), US, WRITE, SEEN_INTERRUPT, 1000 },
};

static double look(const Cost *c, const ErnicProfile *card, const ErnicProfile *other)
{
    const TimingOp *op = &timing_ops[c->op];

    switch (c->seen) {
    case SEEN_FIRST:
        return timing_first(op, card, other, 64);
    case SEEN_INTERRUPT:
        return timing_interrupt(op, card, other, 64);
    case SEEN_BURST:
        return timing_burst(op, card, other, 8, 8);
    case SEEN_BEHIND_READ:
        return timing_behind_read(op, card, other, 64);
    case SEEN_COMMAND:
        return timing_command(card);
    default:
        return timing_latency(op, card, other, 64);
    }
}

static void set(ErnicProfile *p, uint32_t at, uint64_t v)
{
    *(uint64_t *)((char *)p + at) = v;
}

static void latency_row(const Cost *c, const ErnicProfile *card,
                        const ErnicProfile *other, TimingCostRow *row)
{
    ErnicProfile end[2] = { *card, *other };
    double before;

    if (c->also) {
        set(&end[c->end], c->also, c->also_to);
    }
    before = look(c, &end[0], &end[1]);
    *(uint64_t *)((char *)&end[c->end] + c->at) += c->add;
    *row = (TimingCostRow) {
        .item = c->item, .change = c->change, .expected = c->expected,
        .model = look(c, &end[0], &end[1]) - before, .unit = "ns more",
        .tolerance = c->tolerance, .seen = seen_names[c->seen],
    };
}

/* ---- what limits how much is under way -------------------------------------- */

/*
 * Million requests a second when @num may be under way: each takes its latency,
 * without the doorbell, which has come long before, and the completion, which
 * nothing waits for. A fetch holds up all that are under way, once a batch.
 */
static double under_way(const ErnicProfile *card, const ErnicProfile *other,
                        uint32_t len, uint32_t num)
{
    TimingMakeUp m;
    double ns;

    timing_make_up(&timing_ops[WRITE], card, other, len, &m);
    ns = m.total - card->wqe_miss / 1000.0 * (1 - (double)num / card->wqe_batch);
    for (uint32_t i = 0; i < m.num; i++) {
        if (m.hop[i].stage == ERNIC_STAGE_DOORBELL || m.hop[i].stage == ERNIC_STAGE_CQE) {
            ns -= m.hop[i].ps / 1000.0;
        }
    }
    return num * 1000 / ns;
}

static void limit_row(const char *item, const char *change, uint32_t at,
                      uint32_t num, uint32_t len, const ErnicProfile *card,
                      const ErnicProfile *other, TimingCostRow *row)
{
    ErnicProfile limited = *card;
    double expected = under_way(card, other, len, num);

    set(&limited, at, num);
    *row = (TimingCostRow) {
        .item = item, .change = change, .seen = "rate", .unit = "M/s",
        .expected = expected, .tolerance = expected * 0.05,
        .model = timing_message_rate(&timing_ops[WRITE], &limited, other, len),
    };
}

uint32_t timing_costs(const ErnicProfile *card, const ErnicProfile *other,
                      TimingCostRow row[TIMING_COSTS])
{
    static const struct {
        const char *item, *change;
        uint32_t at, num, len;
    } limits[] = {
        { "outstanding limit", "card outstanding.requests = 1", AT(outstanding), 1, 64 },
        { "outstanding limit", "card outstanding.requests = 4", AT(outstanding), 4, 64 },
        { "retry buffer", "card retry.buffer = 1", AT(retry_packets), 1, 4096 },
        { "retry buffer", "card retry.buffer = 4", AT(retry_packets), 4, 4096 },
    };
    uint32_t n;

    for (n = 0; n < ARRAY_SIZE(costs); n++) {
        latency_row(&costs[n], card, other, &row[n]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(limits); i++) {
        limit_row(limits[i].item, limits[i].change, limits[i].at, limits[i].num,
                  limits[i].len, card, other, &row[n++]);
    }
    g_assert(n <= TIMING_COSTS);
    return n;
}
