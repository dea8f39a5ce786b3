/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The data that scripts/plot-timing draws and puts into tables: a point per line, with
 * tabs between the words. The first word names the kind of the line.
 */
#include "qemu/osdep.h"
#include "costs.h"
#include "measure.h"
#include "programs.h"
#include "rows.h"
#include "what_if.h"

#define MAX_LEN     (1u << 20)
#define BURST       64

static const char *const ends[] = { "card", "other" };

static void rows(const ErnicProfile *card, const ErnicProfile *other)
{
    uint64_t worst;

    for (uint32_t i = 0; i < timing_num_rows; i++) {
        const TimingRow *r = &timing_rows[i];
        double model = timing_row_model(r, card, other);
        const char *op = "";

        for (uint32_t k = 0; k < timing_num_ops; k++) {
            op = timing_ops[k].opcode == r->opcode ? timing_ops[k].name : op;
        }
        printf("row\t%s\t%s\t%.2f\t%.2f\t%+.4f\t%s\t%s\t%s\t%s\t%s\t%u\n",
               r->name, r->conditions, model,
               r->hardware, timing_row_error(model, r->hardware), timing_hows[r->how],
               r->parameter ?: "", r->source, ends[r->from], op, r->len);
    }
    printf("both\t%.2f\t%.2f\n", timing_both_ways(card, other, 8192, &worst),
           timing_both_ways(card, other, 0, &worst));
}

/* Between a card of @name and its peer, from @num ends. */
static void sweep(const char *name, const ErnicProfile *card,
                  const ErnicProfile *other, uint32_t num)
{
    for (uint32_t i = 0; i < timing_num_ops; i++) {
        const TimingOp *op = &timing_ops[i];

        for (uint32_t end = 0; end < num; end++) {
            for (uint32_t len = 64; len <= MAX_LEN; len *= 2) {
                printf("rate\t%s\t%s\t%s\t%u\t%.2f\n", name, ends[end],
                       op->name, len, timing_throughput(op, end, card, other, len));
            }
        }
        printf("messages\t%s\t%s\t%.2f\n", name, op->name,
               timing_message_rate(op, card, other, 64));
    }
}

static void latencies(const ErnicProfile *card, const ErnicProfile *other)
{
    static const uint32_t lens[] = { 8, 64, 256, 1024, 4096, 16384, 65536 };
    TimingMakeUp m;

    for (uint32_t i = 0; i < timing_num_ops; i++) {
        const TimingOp *op = &timing_ops[i];

        for (uint32_t k = 0; k < ARRAY_SIZE(lens); k++) {
            printf("latency\t%s\t%u\t%" PRIu64 "\n", op->name, lens[k],
                   timing_latency(op, card, other, lens[k]));
            timing_make_up(op, card, other, lens[k], &m);
            for (uint32_t h = 0; h < m.num; h++) {
                printf("hop\t%s\t%u\t%s\t%s\t%.1f\n", op->name, lens[k],
                       ends[m.hop[h].end], ernic_stage_name(m.hop[h].stage),
                       m.hop[h].ps / 1000.0);
            }
        }
    }
}

static void bursts(const char *name, const ErnicProfile *both)
{
    for (uint32_t i = 0; i < timing_num_ops; i++) {
        for (uint32_t batch = 1; batch <= BURST; batch *= 2) {
            if (batch <= 8) {
                printf("eight\t%s\t%s\t%u\t%" PRIu64 "\n", name, timing_ops[i].name,
                       batch, timing_burst(&timing_ops[i], both, both, 8, batch));
            }
            printf("burst\t%s\t%s\t%u\t%" PRIu64 "\n", name, timing_ops[i].name,
                   batch, timing_burst(&timing_ops[i], both, both, BURST, batch));
        }
    }
}

/* Eight WRITEs, where the profile has other guesses of how requests are fetched. */
static void burst_guesses(const ErnicProfile *card)
{
    static const struct {
        const char *change;
        uint32_t fetches, batch;        /* 0: as it is */
    } guesses[] = {
        { "as it is", 0, 0 },
        { "wqe.outstanding = 1", 1, 0 }, { "wqe.outstanding = 4", 4, 0 },
        { "wqe.outstanding = 8", 8, 0 }, { "wqe.batch = 1", 0, 1 },
    };
    uint32_t batch;

    for (uint32_t i = 0; i < ARRAY_SIZE(guesses); i++) {
        ErnicProfile both = *card;

        both.wqe_fetches = guesses[i].fetches ?: card->wqe_fetches;
        both.wqe_batch = guesses[i].batch ?: card->wqe_batch;
        for (batch = 1; batch <= 8; batch *= 2) {
            printf("eight-if\t%s\t%u\t%" PRIu64 "\n", guesses[i].change, batch,
                   timing_burst(&timing_ops[0], &both, &both, 8, batch));
        }
    }
}

/* Rates in the long run, with @depth requests posted. */
static void batch_rates(const char *name, const ErnicProfile *both, uint32_t depth)
{
    for (uint32_t i = 0; i < timing_num_ops; i++) {
        for (uint32_t batch = 1; batch <= depth; batch *= 2) {
            printf("batch-rate\t%s\t%s\t%u\t%u\t%.2f\n", name, timing_ops[i].name, depth,
                   batch, timing_batch_rate(&timing_ops[i], both, both, depth, batch));
        }
    }
}

/* Latency in ns and work for each thing, of @card's stages. */
static void costs(const ErnicProfile *card)
{
    for (uint32_t i = 0; i < ERNIC_STAGE_COUNT; i++) {
        const ErnicCost *c = &card->stage[i];

        printf("cost\t%s\t%" PRIu64 "\t", ernic_stage_name(i), c->latency / 1000);
        if (i == ERNIC_STAGE_MAC) {
            printf("%" PRIu64 " Gb/s\n", card->wire_mbps / 1000);
            continue;
        }
        printf("%" PRIu64 " cycle%s", c->packet, c->packet == 1 ? "" : "s");
        if (c->width) {
            printf(" + %" PRIu64 " B/cycle", c->width);
        }
        printf("\n");
    }
}

static void cost_rows(const ErnicProfile *card, const ErnicProfile *other)
{
    TimingCostRow row[TIMING_COSTS];
    uint32_t i, n = timing_costs(card, other, row);

    for (i = 0; i < n; i++) {
        /* Rates are small. */
        int digits = row[i].expected < 100 ? 3 : 0;

        printf("effect\t%s\t%s\t%s\t%.*f %s\t%.*f %s\n", row[i].item,
               row[i].change, row[i].seen, digits, row[i].expected,
               row[i].unit, digits, row[i].model, row[i].unit);
    }
}

static void what_ifs(const ErnicProfile *fast)
{
    TimingWhatIf w[TIMING_WHAT_IFS];

    timing_what_if(fast, w);
    for (uint32_t i = 0; i < TIMING_WHAT_IFS; i++) {
        printf("what-if\t%s\t%s\t%.2f\t%.2f\n", w[i].change, w[i].limit,
               w[i].formula, w[i].model);
    }
}

void timing_data(const ErnicProfile *card, const ErnicProfile *other, const char *dir)
{
    static const char *const more[] = {
        "ernic-250mhz-100g", "generic-25g", "generic-100g", "generic-400g",
    };
    static const uint32_t depths[] = { 16, 64 };
    ErnicProfile p;

    costs(card);
    rows(card, other);
    sweep(TIMING_ERNIC, card, other, 2);
    latencies(card, other);
    bursts(TIMING_ERNIC, card);
    bursts(TIMING_PEER, other);
    burst_guesses(card);
    for (uint32_t i = 0; i < ARRAY_SIZE(depths); i++) {
        batch_rates(TIMING_ERNIC, card, depths[i]);
        batch_rates(TIMING_PEER, other, depths[i]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(more); i++) {
        timing_profile(&p, dir, more[i]);
        sweep(more[i], &p, i ? &p : other, i ? 1 : 2);
    }
    timing_profile(&p, dir, TIMING_FAST);
    what_ifs(&p);
    cost_rows(card, other);
}
