/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Trace backend of the builds without QEMU: counters, and a ring of lines.
 */
#include "qemu/osdep.h"
#include "trace-mark.h"

unsigned ernic_trace_mode;

static char ring[ERNIC_TRACE_LINES][ERNIC_TRACE_LINE];
static uint64_t ring_total;     /* lines written since the last reset */

void ernic_trace_event(unsigned id, const char *fmt, ...)
{
    char *line;
    int len;
    va_list ap;

    assert(id < ernic_trace_events);
    ernic_trace_counts[id]++;
    if (ernic_trace_mode < ERNIC_TRACE_RING) {
        return;
    }
    line = ring[ring_total++ % ERNIC_TRACE_LINES];
    len = snprintf(line, ERNIC_TRACE_LINE, "%s: ", ernic_trace_names[id]);
    if (len < ERNIC_TRACE_LINE) {
        va_start(ap, fmt);
        vsnprintf(line + len, ERNIC_TRACE_LINE - len, fmt, ap);
        va_end(ap);
    }
    if (ernic_trace_mode == ERNIC_TRACE_STDERR) {
        fprintf(stderr, "%s\n", line);
    }
}

void ernic_trace_set_mode(ErnicTraceMode mode)
{
    ernic_trace_mode = mode;
}

uint64_t ernic_trace_count(const char *name)
{
    g_assert(ernic_trace_mode != ERNIC_TRACE_OFF);
    for (unsigned i = 0; i < ernic_trace_events; i++) {
        if (strcmp(ernic_trace_names[i], name) == 0) {
            return ernic_trace_counts[i];
        }
    }
    g_error("no trace event is named %s", name);
}

void ernic_trace_reset(void)
{
    memset(ernic_trace_counts, 0, ernic_trace_events * sizeof(ernic_trace_counts[0]));
    ring_total = 0;
}

unsigned ernic_trace_lines(void)
{
    return MIN(ring_total, ERNIC_TRACE_LINES);
}

const char *ernic_trace_line(unsigned age)
{
    if (age >= ernic_trace_lines()) {
        return NULL;
    }
    return ring[(ring_total - 1 - age) % ERNIC_TRACE_LINES];
}
