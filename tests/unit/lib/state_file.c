/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved states as text, whose form the header describes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "state_file.h"

#define LINE    90
#define WORD    16              /* bytes of a word without a run, at most */
#define GAIN    8               /* characters that a run has to save */

void state_file_add(GString *text, const char *word)
{
    const char *line = strrchr(text->str, '\n');
    size_t len = line ? strlen(line + 1) : text->len;

    if (len) {
        g_string_append_c(text, len + 1 + strlen(word) > LINE ? '\n' : ' ');
    }
    g_string_append(text, word);
}

static uint64_t unit_at(const GByteArray *state, guint at, guint size)
{
    uint64_t value = 0;

    memcpy(&value, state->data + at, size);
    return le64_to_cpu(value);
}

/* The number of units of @size bytes from @at on, each @step more than the last. */
static guint run_at(const GByteArray *state, guint at, guint size, guint step)
{
    guint n = 1;

    while (at + (n + 1) * size <= state->len &&
           unit_at(state, at + n * size, size) == unit_at(state, at, size) + n * step) {
        n++;
    }
    return n;
}

static void add_hex(GString *word, const guint8 *bytes, guint len)
{
    while (len--) {
        g_string_append_printf(word, "%02x", *bytes++);
    }
}

/* The run that saves most at @at goes to @word; returns its bytes, 0: none does. */
static guint find_run(const GByteArray *state, guint at, GString *word)
{
    static const struct {
        guint size, step;
        char sign;
    } forms[] = { { 1, 0, '*' }, { 2, 0, '*' }, { 4, 0, '*' }, { 8, 0, '*' },
                  { 4, 1, '+' } };
    guint best = 0, len = 0, most = GAIN;

    for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
        guint size = forms[i].size;
        guint bytes = size * run_at(state, at, size, forms[i].step);

        if (2 * bytes > 2 * size + most) {
            most = 2 * (bytes - size);
            len = bytes;
            best = i;
        }
    }
    if (len) {
        add_hex(word, state->data + at, forms[best].size);
        g_string_append_printf(word, "%c%u", forms[best].sign, len / forms[best].size);
    }
    return len;
}

static void flush(GString *text, GString *plain)
{
    if (plain->len) {
        state_file_add(text, plain->str);
        g_string_truncate(plain, 0);
    }
}

void state_file_write(const char *path, uint64_t now, const GByteArray *state)
{
    g_autoptr(GString) text = g_string_new(NULL), plain = g_string_new(NULL);
    guint at = 0;

    g_string_printf(text, "now %" PRIu64 "\n", now);
    while (at < state->len) {
        g_autoptr(GString) run = g_string_new(NULL);
        guint bytes = find_run(state, at, run);

        if (bytes || plain->len == 2 * WORD) {
            flush(text, plain);
        }
        if (bytes) {
            state_file_add(text, run->str);
        } else {
            add_hex(plain, state->data + at, 1);
        }
        at += MAX(bytes, 1u);
    }
    flush(text, plain);
    g_string_append_c(text, '\n');
    g_assert_true(g_file_set_contents(path, text->str, text->len, NULL));
}

static void read_word(GByteArray *state, const char *word)
{
    guint8 bytes[WORD];
    size_t digits = strcspn(word, "*+"), i;
    guint n = word[digits] ? atoi(word + digits + 1) : 1;

    g_assert_cmpuint(digits, <=, 2 * WORD);
    for (i = 0; i < digits; i++) {
        g_assert_true(g_ascii_isxdigit(word[i]));
        bytes[i / 2] = bytes[i / 2] << 4 | g_ascii_xdigit_value(word[i]);
    }
    while (n--) {
        g_byte_array_append(state, bytes, digits / 2);
        if (word[digits] == '+') {
            stl_le_p(bytes, ldl_le_p(bytes) + 1);
        }
    }
}

char **state_file_words(const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    return g_strsplit_set(g_strchomp(text), "\n ", -1);
}

GByteArray *state_file_read(const char *path, uint64_t *now)
{
    GByteArray *state = g_byte_array_new();
    g_auto(GStrv) word = state_file_words(path);

    g_assert_cmpstr(word[0], ==, "now");
    *now = g_ascii_strtoull(word[1], NULL, 10);
    for (guint i = 2; word[i]; i++) {
        read_word(state, word[i]);
    }
    return state;
}
