/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model against hardware: each published figure of ERNIC is a row,
 * with what the model makes of it. Then what formulas predict of it, and what
 * the model itself has to keep: the same run gives the same packets at the same
 * times, and takes little of the host's time.
 *
 * usage: ernic-timing PROFILE-DIR [--data | --trace FILE]
 *
 * --data prints what scripts/plot-timing draws, --trace what happens to a few
 * requests, stage by stage.
 */
#include "qemu/osdep.h"
#include <time.h>
#include "costs.h"
#include "measure.h"
#include "programs.h"
#include "rows.h"
#include "what_if.h"

#define MAX_ERROR   5.0         /* per cent, of each row */
#define MEAN_ERROR  3.0
#define OFF_FORMULA 1.0         /* per cent, of a change of a parameter */
#define MIN_RATE    100000      /* packets per second of the host's time */

static int tests, failures;

/* ---- TAP ------------------------------------------------------------------- */

static void ok(bool good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
    failures += !good;
}

/* ---- rows ------------------------------------------------------------------ */

/* A row of the table. Returns the error without its sign; it is checked if @checked. */
static double show(const char *name, const char *conditions, double model,
                   double hardware, const char *how, const char *source, bool checked)
{
    double error = timing_row_error(model, hardware);
    g_autofree char *what = g_strdup_printf("%s, %s: %.2f Gb/s, hardware %.2f, %+.2f %%",
                                            name, conditions, model, hardware, error);

    printf("# %-24s %-23s %7.2f %9.2f %+7.2f %%  %-3s %s\n", name, conditions,
           model, hardware, error, source, how);
    if (checked) {
        ok(error <= MAX_ERROR && error >= -MAX_ERROR, what);
    }
    return error < 0 ? -error : error;
}

static void run_rows(const ErnicProfile *card, const ErnicProfile *other)
{
    double sum = 0, predicted = 0, error;
    uint32_t num = 0, num_predicted = 0;
    uint64_t worst;

    printf("# %-24s %-23s %7s %9s %9s\n", "Gb/s of payload", "", "model",
           "hardware", "error");
    for (uint32_t i = 0; i < timing_num_rows; i++) {
        const TimingRow *row = &timing_rows[i];
        g_autofree char *how = g_strdup_printf("%s%s%s", timing_hows[row->how],
                                               row->parameter ? ": " : "",
                                               row->parameter ?: "");

        error = show(row->name, row->conditions, timing_row_model(row, card, other),
                     row->hardware, how, row->source, row->how != TIMING_QUOTED);
        if (row->how != TIMING_QUOTED) {
            sum += error;
            num++;
            predicted += row->how == TIMING_PREDICTED ? error : 0;
            num_predicted += row->how == TIMING_PREDICTED;
        }
    }
    printf("# mean error %.2f %%; of the %u predicted rows %.2f %%\n",
           sum / num, num_predicted, predicted / num_predicted);
    ok(sum / num < MEAN_ERROR, "the mean error is below 3 %");
    /*
     * 65,536 bytes every 8192 ns. That it is 64.00 and not more is the radio's
     * doing: it is not in the mean, and asks whether the model keeps up.
     */
    show("both ways at once", "64 KiB, 64 Gb/s offered",
         timing_both_ways(card, other, 8192, &worst), 64.00, "keeps up", "RF", true);
    /* No gap: nothing waited for the message before it. */
    ok(worst < 2 * 8192, "both ways at once: no message was held up");
}

/* ---- what a formula predicts ------------------------------------------------ */

/* Stage by stage: the hops have to add up. */
static void make_ups(const ErnicProfile *card, const ErnicProfile *other)
{
    static const uint32_t lens[] = { 8, 64, 4096, 65536 };

    for (uint32_t i = 0; i < timing_num_ops; i++) {
        for (uint32_t k = 0; k < ARRAY_SIZE(lens); k++) {
            const TimingOp *op = &timing_ops[i];
            g_autofree char *what = g_strdup_printf(
                "the stages of a %s of %u bytes make up its latency", op->name, lens[k]);
            uint64_t sum = 0;
            TimingMakeUp m;

            timing_make_up(op, card, other, lens[k], &m);
            for (uint32_t h = 0; h < m.num; h++) {
                sum += m.hop[h].ps;
            }
            ok(DIV_ROUND_UP(sum, 1000) == m.total, what);
        }
    }
}

static void what_ifs(const ErnicProfile *fast)
{
    TimingWhatIf w[TIMING_WHAT_IFS];

    printf("# WRITEs of 1 MiB, Gb/s, %s with one parameter changed\n", TIMING_FAST);
    timing_what_if(fast, w);
    for (uint32_t i = 0; i < TIMING_WHAT_IFS; i++) {
        double error = timing_row_error(w[i].model, w[i].formula);
        g_autofree char *what = g_strdup_printf(
            "%s: %.2f Gb/s, by the formula of its limit (%s) %.2f, %+.2f %%",
            w[i].change, w[i].model, w[i].limit, w[i].formula, error);

        ok(error <= OFF_FORMULA && error >= -OFF_FORMULA, what);
    }
}

static void costs(const ErnicProfile *card, const ErnicProfile *other)
{
    TimingCostRow row[TIMING_COSTS];
    uint32_t i, n = timing_costs(card, other, row);

    for (i = 0; i < n; i++) {
        const TimingCostRow *r = &row[i];
        double off = r->model - r->expected;
        g_autofree char *what = g_strdup_printf("%s: %s: %s %.2f %s, expected %.2f",
                                                r->item, r->change, r->seen, r->model,
                                                r->unit, r->expected);

        ok(off <= r->tolerance && off >= -r->tolerance, what);
    }
}

/* ---- what the model keeps ---------------------------------------------------- */

static void run_repeatable(const ErnicProfile *card, const ErnicProfile *other)
{
    uint64_t hash[2], packets = 0;
    clock_t start = clock();
    double rate;

    for (uint32_t i = 0; i < 2; i++) {
        TimingFlow f[2] = {
            { .from = TIMING_CARD, .opcode = ERNIC_WR_SEND, .len = 1000,
              .depth = 32, .total = 20000 },
            { .from = TIMING_OTHER, .opcode = ERNIC_WR_READ, .len = 30000,
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
    ErnicProfile card, other, fast;

    setbuf(stdout, NULL);
    if (argc < 2 || argc > 4 || argv[1][0] == '-' ||
        (argc == 3 && strcmp(argv[2], "--data") != 0) ||
        (argc == 4 && strcmp(argv[2], "--trace") != 0)) {
        fprintf(stderr, "usage: ernic-timing PROFILE-DIR"
                " [--data | --trace FILE]\n");
        return 2;
    }
    timing_profile(&card, argv[1], TIMING_ERNIC);
    timing_profile(&other, argv[1], TIMING_PEER);
    timing_profile(&fast, argv[1], TIMING_FAST);
    if (argc == 3) {
        timing_data(&card, &other, argv[1]);
        return 0;
    }
    if (argc == 4) {
        return timing_trace(&card, &other, argv[3]) ? 0 : 1;
    }
    run_rows(&card, &other);
    make_ups(&card, &other);
    what_ifs(&fast);
    costs(&card, &other);
    run_repeatable(&card, &other);
    printf("1..%d\n", tests);
    return failures ? 1 : 0;
}
