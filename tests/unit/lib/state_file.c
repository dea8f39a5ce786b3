/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved states as text: a line "now" with the time in ns, then lines of bytes; "0*N"
 * is N zeros.
 */
#include "qemu/osdep.h"
#include "state_file.h"

#define LINE    40              /* bytes of a line */
#define RUN     8               /* zeros that are written by their number */

static guint zeros(const GByteArray *state, guint at)
{
    guint n = 0;

    while (at + n < state->len && !state->data[at + n]) {
        n++;
    }
    return n;
}

void state_file_write(const char *path, uint64_t now, const GByteArray *state)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint at = 0, in_line = 0;

    g_string_printf(text, "now %" PRIu64 "\n", now);
    while (at < state->len) {
        guint n = zeros(state, at);

        if (n >= RUN) {
            g_string_append_printf(text, "%s0*%u\n", in_line ? "\n" : "", n);
            at += n;
            in_line = 0;
            continue;
        }
        g_string_append_printf(text, "%02x", state->data[at++]);
        if (++in_line == LINE) {
            g_string_append_c(text, '\n');
            in_line = 0;
        }
    }
    g_string_append(text, in_line ? "\n" : "");
    g_assert_true(g_file_set_contents(path, text->str, text->len, NULL));
}

static void read_line(GByteArray *state, const char *line)
{
    guint n;

    if (g_str_has_prefix(line, "0*")) {
        n = g_ascii_strtoull(line + 2, NULL, 10);
        g_byte_array_set_size(state, state->len + n);
        memset(state->data + state->len - n, 0, n);
        return;
    }
    for (; *line; line += 2) {
        guint8 byte = g_ascii_xdigit_value(line[0]) << 4 |
                      g_ascii_xdigit_value(line[1]);

        g_assert_true(g_ascii_isxdigit(line[0]) && g_ascii_isxdigit(line[1]));
        g_byte_array_append(state, &byte, 1);
    }
}

GByteArray *state_file_read(const char *path, uint64_t *now)
{
    GByteArray *state = g_byte_array_new();
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    g_auto(GStrv) line = NULL;
    guint i;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    line = g_strsplit(text, "\n", -1);
    g_assert_true(g_str_has_prefix(line[0], "now "));
    *now = g_ascii_strtoull(line[0] + 4, NULL, 10);
    for (i = 1; line[i]; i++) {
        read_line(state, line[i]);
    }
    return state;
}
