/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A few requests of each kind as a trace, and the counters that it has to agree
 * with.
 */
#include "qemu/osdep.h"
#include "programs.h"
#include "capture/timing_file.h"
#include "timing/timing.h"
#include "world.h"

/* The trace is as long as anybody wants to look at. */
#define TRACE_LIMIT (64 << 20)

static const TimingFlow flows[] = {
    { .opcode = ERNIC_WR_WRITE, .len = 64, .depth = 8, .total = 16, .batch = 4 },
    { .opcode = ERNIC_WR_SEND, .len = 16384, .depth = 8, .total = 16 },
    { .opcode = ERNIC_WR_READ, .len = 16384, .depth = 8, .total = 16 },
};

static void warn(const char *what)
{
    fprintf(stderr, "ernic-timing: %s\n", what);
}

/* ps; a line for each stage and end. */
static void show_counters(const TimingWorld *w, const char *const *names)
{
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < ERNIC_STAGE_COUNT; k++) {
            const ErnicStageState *s = &w->end[i].e->timing->server[k];

            printf("stage\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                   "\t%" PRIu64 "\t%" PRIu64 "\n", names[i],
                   ernic_stage_name(k), s->items, s->busy, s->stalled,
                   s->waited, s->idle);
        }
    }
}

bool timing_trace(const ErnicProfile *card, const ErnicProfile *other, const char *path)
{
    static const char *const names[2] = { "card", "other" };
    const ErnicTimingTrace *trace[2];
    ErnicTimingFile *file[2];
    TimingWorld w;

    for (uint32_t i = 0; i < 2; i++) {
        char *err = NULL;

        file[i] = ernic_timing_file_open(path, names[i], TRACE_LIMIT, warn, &err);
        if (!file[i]) {
            warn(err);
            g_free(err);
            return false;
        }
        trace[i] = ernic_timing_file_trace(file[i]);
    }
    timing_open_traced(&w, card, other, trace);
    w.events = true;
    for (uint32_t i = 0; i < ARRAY_SIZE(flows); i++) {
        TimingFlow f = flows[i];

        timing_run(&w, &f, 1);
        printf("requests\t%u\n", f.done);
    }
    show_counters(&w, names);
    timing_close(&w);
    for (uint32_t i = 0; i < 2; i++) {
        ernic_timing_file_close(file[i]);
    }
    return true;
}
