/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs one seed or many: TAP, replay with a log, and the proof that the
 * checkers find defects.
 */
#include "qemu/osdep.h"
#include <signal.h>
#include <unistd.h>
#include "sim.h"

#define BLOCK       100         /* seeds per line of output */
#define TRIES       40          /* seeds per sabotage */

static struct {
    uint64_t first, count;
    char *seeds, *fresh, *seed, *pcap;
    gboolean verbose, self_test;
} o;

static const char *program;

static uint64_t number(const char *text)
{
    char *end;
    uint64_t n = g_ascii_strtoull(text, &end, 0);

    if (end == text || (*end && *end != ':')) {
        g_printerr("%s: not a number\n", text);
        exit(2);
    }
    return n;
}

static void parse(int argc, char **argv)
{
    static const GOptionEntry entries[] = {
        { "seeds", 0, 0, G_OPTION_ARG_STRING, &o.seeds, "Run these", "FIRST:COUNT" },
        { "fresh", 0, 0, G_OPTION_ARG_STRING, &o.fresh, "New ones", "OFFSET:COUNT" },
        { "seed", 0, 0, G_OPTION_ARG_STRING, &o.seed, "Replay one", "N" },
        { "verbose", 0, 0, G_OPTION_ARG_NONE, &o.verbose, "with a log", NULL },
        { "pcap", 0, 0, G_OPTION_ARG_STRING, &o.pcap, "with a capture", "FILE" },
        { "self-test", 0, 0, G_OPTION_ARG_NONE, &o.self_test, "Try each defect", NULL },
        { }
    };
    GOptionContext *context = g_option_context_new(NULL);
    const char *range;
    GError *err = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &err)) {
        g_printerr("%s\n", err->message);
        exit(2);
    }
    g_option_context_free(context);
    range = o.seed ?: o.fresh ?: o.seeds ?: "1:100";
    o.first = number(range);
    if (range == o.fresh) {
        /* Each second has 1000 seeds: those of two offsets are never the same. */
        o.first += g_get_real_time() / 1000000 * 1000;
    }
    range = strchr(range, ':');
    o.count = range ? number(range + 1) : 1;
}

/* ---- seeds --------------------------------------------------------------- */

static uint64_t running;        /* the seed */

static void replay_line(void)
{
    dprintf(STDOUT_FILENO, "# replay: %s --seed %" PRIu64 " --verbose\n", program,
            running);
}

/* The engine has crashed: its seed must be known. */
static void crashed(int signal)
{
    dprintf(STDOUT_FILENO, "not ok - seed %" PRIu64 ": signal %d\n", running, signal);
    replay_line();
    _exit(1);
}

static void print_stats(const SimStats *s)
{
    printf("# %" PRIu64 " packets of %" PRIu64 " bytes, %" PRIu64 " lost; %"
           PRIu64 " requests (%" PRIu64 " wrong), %" PRIu64 " messages "
           "delivered, %" PRIu64 " completions, %" PRIu64 " events\n",
           s->packets, s->bytes, s->dropped, s->messages, s->wrong,
           s->delivered, s->completions, s->events);
    printf("# %" PRIu64 " queue pairs failed, %" PRIu64 " reconnects, %" PRIu64
           " saves, %" PRIu64 " UC flows without any excuse\n", s->failures,
           s->reconnects, s->saves, s->whole);
}

/* Whether the seeds did some of everything. */
static bool all_happened(const SimStats *sum)
{
    const uint64_t *n = (const uint64_t *)sum;
    size_t i = 0;

    while (i < sizeof(*sum) / sizeof(*n) && n[i]) {
        i++;
    }
    return i == sizeof(*sum) / sizeof(*n);
}

static void add_stats(SimStats *sum, const SimStats *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;
    size_t i;

    for (i = 0; i < sizeof(*s) / sizeof(*from); i++) {
        to[i] += from[i];
    }
}

static int run_one(void)
{
    Sim *s = sim_new(running = o.first);
    bool ok;

    s->verbose = o.verbose;
    if (o.pcap) {
        sim_pcap_open(s, o.pcap);
    }
    ok = sim_run(s);
    print_stats(&s->stats);
    printf("# history %016" PRIx64 " of %" PRIu64 " events, %.3f ms\n", s->hash,
           s->events, s->now / 1e6);
    printf("%sok 1 - seed %" PRIu64 "%s%s\n1..1\n", ok ? "" : "not ", s->seed,
           ok ? "" : ": ", s->why->str);
    sim_free(s);
    return !ok;
}

static int run_many(void)
{
    uint32_t tests = 0, failed = 0, failed_before;
    uint64_t first, end = o.first + o.count;
    SimStats sum = { 0 };

    for (first = o.first; first < end; first += BLOCK) {
        failed_before = failed;
        for (running = first; running < MIN(first + BLOCK, end); running++) {
            Sim *s = sim_new(running);

            if (!sim_run(s)) {
                printf("not ok %u - seed %" PRIu64 ": %s\n", ++tests, s->seed,
                       s->why->str);
                replay_line();
                failed++;
            }
            add_stats(&sum, &s->stats);
            sim_free(s);
        }
        if (failed == failed_before) {
            printf("ok %u - seeds %" PRIu64 "..%" PRIu64 "\n", ++tests, first,
                   running - 1);
        }
    }
    print_stats(&sum);
    /* Of fresh seeds chance may leave out what is rare. */
    if (!o.fresh && o.count >= BLOCK) {
        bool ok = all_happened(&sum);

        printf("%sok %u - all kinds of events happened\n", ok ? "" : "not ", ++tests);
        failed += !ok;
    }
    printf("1..%u\n", tests);
    return failed != 0;
}

/* ---- the checkers themselves --------------------------------------------- */

/* Whether the rule in "[rule] ..." is one of @rules. */
static bool rule_is(const char *why, const char *rules)
{
    g_auto(GStrv) list = g_strsplit(rules, " ", -1);
    g_autofree char *rule = g_strndup(why + 1, strcspn(why, "]") - 1);

    return g_strv_contains((const char *const *)list, rule);
}

/* Cheat until a rule finds it; a finding of another rule does not count. */
static bool noticed(uint8_t what, GString *how)
{
    uint64_t seed;
    bool found = false;

    for (seed = 1; seed <= TRIES && !found; seed++) {
        Sim *s = sim_new(running = seed);

        /* A quiet world, in which nothing else happens. */
        memset(s->plan.weight, 0, sizeof(s->plan.weight));
        s->plan.weight[SIM_STEP_SAVE] = 1;
        s->plan.faults.drop = s->plan.faults.duplicate = 0;
        s->plan.faults.corrupt = s->plan.faults.truncate = 0;
        s->plan.faults.reorder = 0;
        s->plan.timed = false;
        s->plan.lossy = s->plan.shuffles = s->plan.overrun = false;
        s->plan.dma_fail = s->plan.ring_fail = 0;
        s->plan.bad_memory = s->plan.bad_rings = false;
        s->plan.silent = what == SIM_SAB_POSTPONE;
        s->plan.netdev = what >= SIM_SAB_LEFT;
        if (s->plan.netdev) {
            s->plan.weight[SIM_STEP_SAVE] = 0;
            s->plan.faults.mbps = 100;
        }
        s->sabotage = what;
        if (!sim_run(s) && s->sabotaged) {
            g_string_assign(how, s->why->str);
            found = rule_is(how->str, sim_sabotages[what].rules);
        }
        sim_free(s);
    }
    return found;
}

static int self_test(void)
{
    GString *how = g_string_new(NULL);
    int what, failed = 0;

    for (what = 1; what < SIM_SAB_COUNT; what++) {
        bool ok;

        g_string_assign(how, "nobody");
        ok = noticed(what, how);
        printf("%sok %d - %s is noticed by %s\n", ok ? "" : "not ", what,
               sim_sabotages[what].name, sim_sabotages[what].rules);
        printf("# %s\n", g_strdelimit(how->str, "\n", ' '));
        fflush(stdout);
        failed += !ok;
    }
    printf("1..%d\n", SIM_SAB_COUNT - 1);
    g_string_free(how, TRUE);
    return failed != 0;
}

int main(int argc, char **argv)
{
    static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    static const struct sigaction action = { .sa_handler = crashed };
    size_t i;

    program = argv[0];
    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (i = 0; i < ARRAY_SIZE(signals); i++) {
        sigaction(signals[i], &action, NULL);
    }
    if (o.self_test) {
        return self_test();
    }
    return o.seed ? run_one() : run_many();
}
