/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tests read trace events here: how often each has happened, and the last
 * lines. A reject that has its own event is thereby also a coverage mark.
 *
 * The counters belong to the process and are not atomic: one thread traces.
 */
#ifndef ERNIC_TRACE_MARK_H
#define ERNIC_TRACE_MARK_H

typedef enum ErnicTraceMode {
    ERNIC_TRACE_OFF,            /* an event costs one predictable branch */
    ERNIC_TRACE_COUNT,          /* events are counted */
    ERNIC_TRACE_RING,           /* and the last ones kept as text */
    ERNIC_TRACE_STDERR,         /* and each printed when it happens */
} ErnicTraceMode;

/* Lines kept in mode RING and STDERR; longer ones are cut at ERNIC_TRACE_LINE. */
#define ERNIC_TRACE_LINES 256
#define ERNIC_TRACE_LINE 160

/* Only the generated functions use these. */
extern unsigned ernic_trace_mode;
extern const unsigned ernic_trace_events;
extern const char *const ernic_trace_names[];
extern uint64_t ernic_trace_counts[];
void ernic_trace_event(unsigned id, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Switches tracing; OFF is what a program starts with. Counts stay. */
void ernic_trace_set_mode(ErnicTraceMode mode);

/*
 * How often event @name ("ernic_..." as in trace-events) has happened since the
 * last reset. Asserts that there is such an event and that tracing is on, so
 * that a test for zero cannot pass for want of tracing.
 */
uint64_t ernic_trace_count(const char *name);

/* Sets all counts to zero and empties the ring. */
void ernic_trace_reset(void);

/* How many lines the ring holds, at most ERNIC_TRACE_LINES. */
unsigned ernic_trace_lines(void);

/*
 * Line @age of the ring, 0 being the newest, as "name: text"; NULL if there is
 * none. Valid until the next event.
 */
const char *ernic_trace_line(unsigned age);

#endif /* ERNIC_TRACE_MARK_H */
