/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace functions and their backend, on the events of trace-sample-events.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "trace-sample.h"

TEST("/trace/off", test_off)
{
    ernic_trace_set_mode(ERNIC_TRACE_OFF);
    ernic_trace_reset();
    trace_ernic_sample_plain();
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    IS(ernic_trace_count("ernic_sample_plain"), 0);
}

TEST("/trace/count", test_count)
{
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
    trace_ernic_sample_plain();
    trace_ernic_sample_text("short", 1);
    trace_ernic_sample_text("short", 2);
    IS(ernic_trace_count("ernic_sample_plain"), 1);
    IS(ernic_trace_count("ernic_sample_numbers"), 0);
    IS(ernic_trace_count("ernic_sample_text"), 2);
    IS(ernic_trace_lines(), 0);
    g_assert_null(ernic_trace_line(0));
    ernic_trace_reset();
    IS(ernic_trace_count("ernic_sample_text"), 0);
}

TEST("/trace/ring", test_ring)
{
    ernic_trace_set_mode(ERNIC_TRACE_RING);
    ernic_trace_reset();
    trace_ernic_sample_plain();
    trace_ernic_sample_numbers(0x12345, 0xfedcba9876543210ull, true);
    trace_ernic_sample_text("why", 7);
    IS(ernic_trace_lines(), 3);
    g_assert_cmpstr(ernic_trace_line(2), ==, "ernic_sample_plain: plain");
    g_assert_cmpstr(ernic_trace_line(1), ==,
                    "ernic_sample_numbers: qpn 0x012345 "
                    "addr 0xfedcba9876543210 last 1");
    g_assert_cmpstr(ernic_trace_line(0), ==,
                    "ernic_sample_text: why: 7 bytes, 100%");
    g_assert_null(ernic_trace_line(3));

    for (unsigned i = 0; i < ERNIC_TRACE_LINES; i++) {
        trace_ernic_sample_text("many", i);
    }
    IS(ernic_trace_lines(), ERNIC_TRACE_LINES);
    g_assert_cmpstr(ernic_trace_line(ERNIC_TRACE_LINES - 1), ==,
                    "ernic_sample_text: many: 0 bytes, 100%");
    g_assert_null(ernic_trace_line(ERNIC_TRACE_LINES));
    IS(ernic_trace_count("ernic_sample_text"), ERNIC_TRACE_LINES + 1);
}

/* A line longer than a slot of the ring is cut, and the next one is complete. */
TEST("/trace/long-line", test_long_line)
{
    char text[2 * ERNIC_TRACE_LINE];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    ernic_trace_set_mode(ERNIC_TRACE_RING);
    ernic_trace_reset();
    trace_ernic_sample_text(text, 1);
    trace_ernic_sample_plain();
    IS(strlen(ernic_trace_line(1)), ERNIC_TRACE_LINE - 1);
    g_assert_cmpstr(ernic_trace_line(0), ==, "ernic_sample_plain: plain");
}

TEST("/trace/unknown-event", test_unknown_event)
{
    if (g_test_subprocess()) {
        ernic_trace_set_mode(ERNIC_TRACE_COUNT);
        ernic_trace_count("ernic_sample_missing");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*no trace event is named*");
}

TEST("/trace/count-while-off", test_count_while_off)
{
    if (g_test_subprocess()) {
        ernic_trace_set_mode(ERNIC_TRACE_OFF);
        ernic_trace_count("ernic_sample_plain");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}
