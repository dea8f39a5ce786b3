/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs one seed or many: workers, TAP, replay with a log, and the proof that
 * the checkers find defects.
 */
#include "qemu/osdep.h"
#include <sys/wait.h>
#include <unistd.h>
#include "sim.h"

#define BLOCK       100         /* seeds per line of output */
#define TRIES       40          /* seeds per sabotage */
#define MAX_SHOWN   20

typedef struct Options {
    uint64_t first, count;
    uint64_t seed;
    bool one, verbose, self_test, stats;
    const char *pcap;
    uint32_t jobs;
    uint8_t sabotage;
} Options;

static const char *program;

static void usage(void)
{
    printf("usage: ernic-sim --seeds FIRST:COUNT [--jobs N]\n"
           "       ernic-sim --fresh OFFSET:COUNT [--jobs N]\n"
           "       ernic-sim --seed N [--verbose] [--pcap FILE] [--break NAME]\n"
           "       ernic-sim --self-test\n");
}

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

static uint8_t find_sabotage(const char *name)
{
    int i;

    for (i = 0; i < SIM_SAB_COUNT; i++) {
        if (!strcmp(sim_sabotage_name(i), name)) {
            return i;
        }
    }
    g_printerr("%s: no such sabotage\n", name);
    exit(2);
}

static const char *argument(int argc, char **argv, int *i)
{
    if (++*i >= argc) {
        usage();
        exit(2);
    }
    return argv[*i];
}

static void parse(int argc, char **argv, Options *o)
{
    const char *text;
    bool fresh;
    int i;

    for (i = 1; i < argc; i++) {
        fresh = !strcmp(argv[i], "--fresh");
        if (fresh || !strcmp(argv[i], "--seeds")) {
            text = argument(argc, argv, &i);
            o->first = number(text);
            /* Each second has 1000 seeds: those of two offsets are never the same. */
            o->first += fresh ? g_get_real_time() / 1000000 * 1000 : 0;
            text = strchr(text, ':');
            o->count = text ? number(text + 1) : 1;
        } else if (!strcmp(argv[i], "--seed")) {
            o->seed = number(argument(argc, argv, &i));
            o->one = true;
        } else if (!strcmp(argv[i], "--jobs")) {
            o->jobs = MAX(1, number(argument(argc, argv, &i)));
        } else if (!strcmp(argv[i], "--pcap")) {
            o->pcap = argument(argc, argv, &i);
        } else if (!strcmp(argv[i], "--break")) {
            o->sabotage = find_sabotage(argument(argc, argv, &i));
        } else if (!strcmp(argv[i], "--verbose")) {
            o->verbose = true;
        } else if (!strcmp(argv[i], "--self-test")) {
            o->self_test = true;
        } else {
            usage();
            exit(strcmp(argv[i], "--help") ? 2 : 0);
        }
    }
}

/* ---- one seed ------------------------------------------------------------ */

static int run_one(const Options *o)
{
    Sim *s = sim_new(o->seed);
    bool ok;

    s->verbose = o->verbose;
    s->sabotage = o->sabotage;
    if (o->pcap) {
        sim_pcap_open(s, o->pcap);
    }
    ok = sim_run(s);
    printf("# %" PRIu64 " events, %" PRIu64 " packets, %" PRIu64 " bytes, %"
           PRIu64 " lost, %" PRIu64 " requests, %" PRIu64 " deliveries, %"
           PRIu64 " failures, %" PRIu64 " reconnects, %" PRIu64 " saves, %.3f ms"
           " of virtual time\n", s->events, s->stats.packets, s->stats.bytes,
           s->stats.dropped, s->stats.messages, s->stats.delivered,
           s->stats.failures, s->stats.reconnects, s->stats.saves,
           s->now / 1e6);
    printf("# history %016" PRIx64 "\n", s->hash);
    printf("%sok 1 - seed %" PRIu64 "%s%s\n1..1\n", ok ? "" : "not ", o->seed,
           ok ? "" : ": ", s->why->str);
    sim_free(s);
    return !ok;
}

/* ---- many seeds ---------------------------------------------------------- */

/* Add up what the seeds did, to show that they did something. */
static void add_stats(SimStats *sum, const SimStats *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;
    size_t i;

    for (i = 0; i < sizeof(*s) / sizeof(*from); i++) {
        to[i] += from[i];
    }
}

/*
 * A worker reports each block, line by line: "s SEED" before a seed, "f SEED
 * WHY" after one that failed, "t NUMBERS" with the statistics, "p FIRST LAST"
 * at the end.
 */
static void worker(const Options *o, uint32_t id, int out)
{
    FILE *f = fdopen(out, "w");
    uint64_t first, i;
    SimStats sum;

    for (first = id * BLOCK; first < o->count; first += o->jobs * BLOCK) {
        uint64_t end = MIN(first + BLOCK, o->count), *n = (uint64_t *)&sum;
        size_t k;

        memset(&sum, 0, sizeof(sum));
        for (i = first; i < end; i++) {
            Sim *s = sim_new(o->first + i);

            s->sabotage = o->sabotage;
            /* If the engine aborts, the parent knows the seed. */
            fprintf(f, "s %" PRIu64 "\n", s->seed);
            fflush(f);
            if (!sim_run(s)) {
                fprintf(f, "f %" PRIu64 " %s\n", s->seed, s->why->str);
            }
            add_stats(&sum, &s->stats);
            sim_free(s);
        }
        fprintf(f, "t");
        for (k = 0; k < sizeof(sum) / sizeof(*n); k++) {
            fprintf(f, " %" PRIu64, n[k]);
        }
        fprintf(f, "\np %" PRIu64 " %" PRIu64 "\n", o->first + first,
                o->first + end - 1);
        fflush(f);
    }
    fclose(f);
}

typedef struct Tally {
    uint32_t tests, failed;
    SimStats sum;
} Tally;

static void failure(Tally *t, uint64_t seed, const char *why)
{
    printf("not ok %u - seed %" PRIu64 ": %s\n", ++t->tests, seed, why);
    printf("# replay: %s --seed %" PRIu64 " --verbose\n", program, seed);
    t->failed++;
}

/* Read a line of a worker; false: the worker has ended. */
static bool hear(FILE *f, Tally *t, uint64_t *last_seed, uint32_t *block_failed)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t a, b;
    ssize_t n = getline(&line, &size, f);

    if (n <= 0) {
        free(line);
        return false;
    }
    line[n - 1] = 0;
    if (line[0] == 's') {
        *last_seed = number(line + 2);
    } else if (line[0] == 'f') {
        a = g_ascii_strtoull(line + 2, NULL, 10);
        failure(t, a, strchr(line + 2, ' ') + 1);
        ++*block_failed;
    } else if (line[0] == 't') {
        SimStats got = { 0 };
        uint64_t *to = (uint64_t *)&got;
        char *next = line + 1;
        size_t i;

        for (i = 0; i < sizeof(got) / sizeof(*to); i++) {
            to[i] = g_ascii_strtoull(next, &next, 10);
        }
        add_stats(&t->sum, &got);
    } else if (sscanf(line, "p %" SCNu64 " %" SCNu64, &a, &b) == 2) {
        if (!*block_failed) {
            printf("ok %u - seeds %" PRIu64 "..%" PRIu64 "\n", ++t->tests, a, b);
        }
        *block_failed = 0;
        *last_seed = UINT64_MAX;
    }
    fflush(stdout);
    free(line);
    return true;
}

static void print_sum(const SimStats *s)
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

static int run_many(const Options *o)
{
    Tally tally = { 0 };
    uint32_t n = o->jobs, i, alive = n;
    FILE **in = g_new0(FILE *, n);
    pid_t *pid = g_new0(pid_t, n);
    uint64_t *last = g_new0(uint64_t, n);
    uint32_t *bad = g_new0(uint32_t, n);

    for (i = 0; i < n; i++) {
        int fd[2];

        last[i] = UINT64_MAX;
        if (pipe(fd) || (pid[i] = fork()) < 0) {
            g_printerr("fork: %s\n", g_strerror(errno));
            return 2;
        }
        if (!pid[i]) {
            close(fd[0]);
            worker(o, i, fd[1]);
            _exit(0);
        }
        close(fd[1]);
        in[i] = fdopen(fd[0], "r");
    }
    while (alive) {
        for (i = 0; i < n; i++) {
            int status;

            /* Read block by block in turn, so that the output has one order. */
            while (in[i] && hear(in[i], &tally, &last[i], &bad[i])) {
                if (last[i] == UINT64_MAX) {
                    break;
                }
            }
            if (in[i] && (feof(in[i]) || ferror(in[i]))) {
                fclose(in[i]);
                in[i] = NULL;
                alive--;
                waitpid(pid[i], &status, 0);
                if (status) {
                    failure(&tally, last[i], "the process ended");
                }
            }
        }
    }
    print_sum(&tally.sum);
    printf("1..%u\n", tally.tests);
    g_free(in);
    g_free(pid);
    g_free(last);
    g_free(bad);
    return tally.failed != 0;
}

/* ---- the checkers themselves --------------------------------------------- */

/* Is the rule in "[rule] ..." one of @rules? */
static bool rule_is(const char *why, const char *rules)
{
    char **list = g_strsplit(rules, " ", -1);
    bool found = false;
    int i;

    for (i = 0; list[i]; i++) {
        char *want = g_strdup_printf("[%s]", list[i]);

        found |= g_str_has_prefix(why, want);
        g_free(want);
    }
    g_strfreev(list);
    return found;
}

/* Cheat until a rule finds it; a finding of another rule does not count. */
static bool noticed(uint8_t what, GString *how)
{
    uint64_t seed;
    bool found = false;

    for (seed = 1; seed <= TRIES && !found; seed++) {
        Sim *s = sim_new(seed);

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
        s->sabotage = what;
        if (!sim_run(s) && s->sabotaged) {
            g_string_assign(how, s->why->str);
            found = rule_is(how->str, sim_sabotage_rule(what));
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
               sim_sabotage_name(what), sim_sabotage_rule(what));
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
    Options o = { .first = 1, .count = 100, .jobs = 2 };

    program = argv[0];
    parse(argc, argv, &o);
    if (o.self_test) {
        return self_test();
    }
    return o.one ? run_one(&o) : run_many(&o);
}
