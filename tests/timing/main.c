/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model against hardware: each published figure of ERNIC is a row,
 * with what the model makes of it. Then what nobody has published, as
 * predictions, and what the model itself has to keep: the same run gives the
 * same packets at the same times, and takes little of the host's time.
 *
 * usage: ernic-timing PROFILE-DIR [--data | --trace FILE]
 *
 * --data prints what scripts/plot-timing draws, --trace what happens to a few
 * requests, stage by stage.
 */
#include "qemu/osdep.h"
#include <time.h>
#include "programs.h"
#include "timing.h"
#include "world.h"

#define ERNIC       "ernic-200mhz-100g"
#define PEER        "generic-100g"
/* Ends of the connection. */
enum { CARD, OTHER };

#define MAX_ERROR   5.0         /* per cent, of each row */
#define MEAN_ERROR  3.0
#define MIN_RATE    100000      /* packets per second of the host's time */

static int tests, failures;

/*
 * Figures from the user guide of the 250-SoC reference design, 7.4.4 (UG), and
 * of a radio on an RFSoC4x2 (RF). A fitted row gave the profile one parameter,
 * which the comment names; all others are predicted.
 */
static const struct Row {
    const char *name;
    const char *conditions;
    uint8_t from, opcode;
    uint32_t len, depth, total;
    bool at_receiver;
    const char *fitted;         /* NULL: predicted */
    double hardware;            /* Gb/s of payload */
    const char *source;
} rows[] = {
    { "incoming READ", "16 KiB, 16 outstanding", OTHER, ERNIC_WR_READ,
      16384, 128, 1000, false, "dma-read.latency", 78.70, "UG" },
    { "incoming WRITE", "16 KiB, depth 128", OTHER, ERNIC_WR_WRITE,
      16384, 128, 5000, false, NULL, 97.53, "UG" },
    { "incoming SEND", "16 KiB, depth 128", OTHER, ERNIC_WR_SEND,
      16384, 128, 1000, false, "receive.close", 92.85, "UG" },
    { "incoming SEND, at ERNIC", "the same run", OTHER, ERNIC_WR_SEND,
      16384, 128, 1000, true, NULL, 90.99, "UG" },
    { "outgoing READ", "16 KiB, depth 64", CARD, ERNIC_WR_READ,
      16384, 64, 5000, false, NULL, 94.88, "UG" },
    { "outgoing WRITE", "4 KiB, depth 64", CARD, ERNIC_WR_WRITE,
      4096, 64, 20000, false, "build.close", 95.38, "UG" },
    { "outgoing SEND", "4 KiB, depth 64", CARD, ERNIC_WR_SEND,
      4096, 64, 20000, false, NULL, 94.71, "UG" },
};

/* ---- TAP ------------------------------------------------------------------- */

static void ok(bool good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
    failures += !good;
}

/* ---- rows ------------------------------------------------------------------ */

static double run_row(const struct Row *row, const ErnicProfile *card,
                      const ErnicProfile *other)
{
    TimingFlow f = {
        .from = row->from, .opcode = row->opcode, .len = row->len,
        .depth = row->depth, .total = row->total,
    };
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, &f, 1);
    timing_close(&w);
    return row->at_receiver ? timing_rx_rate(&f) : timing_rate(&f);
}

static double percent(double model, double hardware)
{
    return (model / hardware - 1) * 100;
}

/* Returns the error without its sign. */
static double show(const char *name, const char *conditions, double model,
                   double hardware, const char *how, const char *source)
{
    double error = percent(model, hardware);
    char *what = g_strdup_printf("%s, %s: %.2f Gb/s, hardware %.2f, %+.2f %%",
                                 name, conditions, model, hardware, error);

    printf("# %-24s %-23s %7.2f %9.2f %+7.2f %%  %-3s %s\n", name, conditions,
           model, hardware, error, source, how);
    ok(error <= MAX_ERROR && error >= -MAX_ERROR, what);
    g_free(what);
    return error < 0 ? -error : error;
}

/*
 * RF sends 64 Gb/s of samples each way, and loses none. That it is 64.00 and
 * not more is the radio's doing: the row asks whether the model keeps up.
 */
static double run_both_ways(const ErnicProfile *card,
                            const ErnicProfile *other, uint64_t interval,
                            uint64_t *worst)
{
    TimingFlow f[2] = {
        { .from = CARD, .opcode = ERNIC_WR_WRITE_IMM, .len = 65536,
          .depth = 16, .total = 2000, .interval = interval },
        { .from = OTHER, .opcode = ERNIC_WR_WRITE_IMM, .len = 65536,
          .depth = 16, .total = 2000, .interval = interval },
    };
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, f, 2);
    timing_close(&w);
    *worst = MAX(f[0].worst, f[1].worst);
    return MIN(timing_rate(&f[0]), timing_rate(&f[1]));
}

static void run_rows(const ErnicProfile *card, const ErnicProfile *other)
{
    double sum = 0, predicted = 0;
    uint32_t i, num = ARRAY_SIZE(rows), num_predicted = 0;
    uint64_t worst;

    printf("# %-24s %-23s %7s %9s %9s\n", "Gb/s of payload", "", "model",
           "hardware", "error");
    for (i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct Row *row = &rows[i];
        char *how = row->fitted ? g_strdup_printf("fitted: %s", row->fitted) :
                                  g_strdup("predicted");
        double error = show(row->name, row->conditions,
                            run_row(row, card, other), row->hardware, how,
                            row->source);

        sum += error;
        predicted += row->fitted ? 0 : error;
        num_predicted += !row->fitted;
        g_free(how);
    }
    printf("# mean error %.2f %%; of the %u predicted rows %.2f %%\n",
           sum / num, num_predicted, predicted / num_predicted);
    ok(sum / num < MEAN_ERROR, "the mean error is below 3 %");
    /* 65,536 bytes every 8192 ns. Not in the mean: it can only keep up. */
    show("both ways at once", "64 KiB, 64 Gb/s offered",
         run_both_ways(card, other, 8192, &worst), 64.00, "keeps up", "RF");
    /* No gap: nothing waited for the message before it. */
    ok(worst < 2 * 8192, "both ways at once: no message was held up");
}

/* ---- predictions ----------------------------------------------------------- */

static const struct Op {
    const char *name;
    uint8_t opcode;
} ops[] = {
    { "WRITE", ERNIC_WR_WRITE }, { "SEND", ERNIC_WR_SEND },
    { "READ", ERNIC_WR_READ },
};

/* ns from the doorbell to the completion, of one at a time, caches warm. */
static uint64_t latency(const struct Op *op, const ErnicProfile *card,
                        const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = { .from = CARD, .opcode = op->opcode, .len = len,
                     .depth = 1, .total = 11 };
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, &f, 1);
    timing_close(&w);
    return (f.last - f.first) / 10;
}

/*
 * ns until eight messages are complete that are posted at once; between two
 * cards, for which no cache has to get warm.
 */
static uint64_t burst(const struct Op *op, const ErnicProfile *card,
                      uint32_t batch)
{
    TimingFlow f = { .from = CARD, .opcode = op->opcode, .len = 64,
                     .depth = 8, .total = 8, .batch = batch };
    TimingWorld w;

    timing_open(&w, card, card);
    timing_run(&w, &f, 1);
    timing_close(&w);
    return f.last - f.start;
}

/* Million messages of 64 bytes a second. */
static double message_rate(const struct Op *op, const ErnicProfile *card,
                           const ErnicProfile *other)
{
    TimingFlow f = { .from = CARD, .opcode = op->opcode, .len = 64,
                     .depth = 64, .total = 8000 };
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, &f, 1);
    timing_close(&w);
    return (f.done - 1) * 1000.0 / (f.last - f.first);
}

/* The ways of a WRITE and of its ACK, from end to end. */
static const struct Hop {
    uint8_t end, stage;
    bool flight;                /* the wire comes behind it */
} hops[] = {
    { CARD, ERNIC_STAGE_WQE }, { CARD, ERNIC_STAGE_TX_CONTEXT },
    { CARD, ERNIC_STAGE_DMA_READ }, { CARD, ERNIC_STAGE_BUILD },
    { CARD, ERNIC_STAGE_MAC, true },
    { OTHER, ERNIC_STAGE_RECEIVE }, { OTHER, ERNIC_STAGE_RX_CONTEXT },
    { OTHER, ERNIC_STAGE_KEY }, { OTHER, ERNIC_STAGE_DMA_WRITE },
    { OTHER, ERNIC_STAGE_TX_CONTEXT }, { OTHER, ERNIC_STAGE_BUILD },
    { OTHER, ERNIC_STAGE_MAC, true },
    { CARD, ERNIC_STAGE_RECEIVE }, { CARD, ERNIC_STAGE_RX_CONTEXT },
    { CARD, ERNIC_STAGE_CQE },
};

/* Where the last byte of a WRITE, then of its ACK, spends the time. */
static void make_up(const ErnicProfile *card, const ErnicProfile *other)
{
    TimingFlow f = { .from = CARD, .opcode = ERNIC_WR_WRITE, .len = 8,
                     .depth = 1, .total = 1 };
    const ErnicProfile *profile[2] = { card, other };
    const ErnicCost *doorbell = &card->stage[ERNIC_STAGE_DOORBELL];
    /* By then that of the completion queue has been rung as well. */
    uint64_t total = doorbell->latency + doorbell->packet * card->host_ps, at;
    TimingWorld w;
    uint32_t i;

    timing_open(&w, card, other);
    timing_run(&w, &f, 1);              /* caches are warm from here on */
    f.total = 2;
    timing_run(&w, &f, 1);
    at = f.start * 1000 + total;
    printf("# a WRITE of 8 bytes, stage by stage, ns:\n");
    printf("#   %-6s %-18s %7.1f\n", "card",
           ernic_stage_name(ERNIC_STAGE_DOORBELL), (double)total / 1000);
    for (i = 0; i < ARRAY_SIZE(hops); i++) {
        const struct Hop *h = &hops[i];
        const ErnicTiming *t = w.end[h->end].e->timing;
        uint64_t left = t->epoch * 1000 + t->server[h->stage].last;

        if (h->flight) {
            left += profile[h->end]->wire_flight;
        }
        printf("#   %-6s %-12s%s %7.1f\n", h->end == CARD ? "card" : "other",
               ernic_stage_name(h->stage), h->flight ? ", wire" : "      ",
               (double)(left - at) / 1000);
        total += left - at;
        at = left;
    }
    printf("#   %-26s %7.1f\n", "together", (double)total / 1000);
    ok(DIV_ROUND_UP(total, 1000) == f.last - f.start,
       "the stages of a WRITE make up its latency");
    timing_close(&w);
}

static void predictions(const ErnicProfile *card, const ErnicProfile *other)
{
    static const uint32_t lens[] = { 8, 256, 4096, 65536 };
    static const uint32_t batches[] = { 1, 2, 4, 8 };
    uint64_t worst;
    uint32_t i, k;

    printf("# Predictions, which no published figure stands beside.\n");
    printf("# doorbell to completion, ns, one at a time, bytes:");
    for (k = 0; k < ARRAY_SIZE(lens); k++) {
        printf(" %7u", lens[k]);
    }
    printf("\n");
    for (i = 0; i < ARRAY_SIZE(ops); i++) {
        printf("#   %-47s", ops[i].name);
        for (k = 0; k < ARRAY_SIZE(lens); k++) {
            printf(" %7" PRIu64, latency(&ops[i], card, other, lens[k]));
        }
        printf("\n");
    }
    make_up(card, other);
    printf("# eight of 64 bytes at once, ns until all are complete; a doorbell"
           " for:");
    for (k = 0; k < ARRAY_SIZE(batches); k++) {
        printf(" %5u", batches[k]);
    }
    printf("\n");
    for (i = 0; i < ARRAY_SIZE(ops); i++) {
        printf("#   %-67s", ops[i].name);
        for (k = 0; k < ARRAY_SIZE(batches); k++) {
            printf(" %5" PRIu64, burst(&ops[i], card, batches[k]));
        }
        printf("\n");
    }
    for (i = 0; i < ARRAY_SIZE(ops); i++) {
        printf("# %s, 64 bytes, 64 under way: %.2f million a second\n",
               ops[i].name, message_rate(&ops[i], card, other));
    }
    printf("# both ways at once, 64 KiB, as fast as it goes: %.2f Gb/s each\n",
           run_both_ways(card, other, 0, &worst));
}

/* ---- what the model keeps ---------------------------------------------------- */

static void run_repeatable(const ErnicProfile *card, const ErnicProfile *other)
{
    uint64_t hash[2], packets = 0;
    clock_t start = clock();
    double rate;
    uint32_t i;

    for (i = 0; i < 2; i++) {
        TimingFlow f[2] = {
            { .from = CARD, .opcode = ERNIC_WR_SEND, .len = 1000,
              .depth = 32, .total = 20000 },
            { .from = OTHER, .opcode = ERNIC_WR_READ, .len = 30000,
              .depth = 32, .total = 3000 },
        };
        TimingWorld w;

        timing_open(&w, card, other);
        timing_run(&w, f, 2);
        hash[i] = w.hash;
        packets += w.packets;
        timing_close(&w);
    }
    ok(hash[0] == hash[1], "two runs send the same packets at the same times");
    rate = packets / ((double)(clock() - start) / CLOCKS_PER_SEC);
    /* Each packet passes two models. */
    printf("# %.0f packets per second of the host's time\n", rate);
    ok(rate >= MIN_RATE, "100,000 packets per second of the host's time");
}

int main(int argc, char **argv)
{
    ErnicProfile card, other;

    setbuf(stdout, NULL);
    if (argc < 2 || argc > 4 ||
        (argc == 3 && strcmp(argv[2], "--data") != 0) ||
        (argc == 4 && strcmp(argv[2], "--trace") != 0)) {
        fprintf(stderr, "usage: ernic-timing PROFILE-DIR"
                " [--data | --trace FILE]\n");
        return 2;
    }
    timing_profile(&card, argv[1], ERNIC);
    timing_profile(&other, argv[1], PEER);
    if (argc == 3) {
        timing_data(&card, &other, argv[1]);
        return 0;
    }
    if (argc == 4) {
        return timing_trace(&card, &other, argv[3]) ? 0 : 1;
    }
    run_rows(&card, &other);
    predictions(&card, &other);
    run_repeatable(&card, &other);
    printf("1..%d\n", tests);
    return failures ? 1 : 0;
}
