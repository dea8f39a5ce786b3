/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reads the recorded commands of tests/data/mlx5-commands.txt; the head of that file
 * describes its format.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "mlx5_vectors.h"
#include "test.h"

static void vector_free(gpointer data)
{
    Mlx5Vector *v = data;

    g_byte_array_unref(v->in);
    g_byte_array_unref(v->out);
    g_free(v);
}

static void append(GByteArray *bytes, uint32_t word)
{
    uint8_t be[4];

    stl_be_p(be, word);
    g_byte_array_append(bytes, be, sizeof(be));
}

/* WORD, WORD*N, or @ADDRESS*N. */
static void append_token(GByteArray *bytes, const char *token)
{
    bool pages = token[0] == '@';
    char *end;
    uint64_t value = g_ascii_strtoull(token + pages, &end, 16), count = 1, i;

    g_assert(end != token + pages);
    if (*end == '*') {
        count = g_ascii_strtoull(end + 1, &end, 10);
    }
    IS(*end, 0);
    g_assert_cmpuint(count, >, 0);
    g_assert_cmpuint(count, <=, ERNIC_MLX5_BOX_SIZE);
    g_assert(pages || value <= UINT32_MAX);
    for (i = 0; i < count; i++) {
        if (pages) {
            append(bytes, (value + 4096 * i) >> 32);
        }
        append(bytes, value + (pages ? 4096 * i : 0));
    }
}

/* The bytes of one line; its first word is not part of them. */
static GByteArray *parse_line(const char *line)
{
    g_auto(GStrv) tokens = g_strsplit(line, " ", 0);
    GByteArray *bytes = g_byte_array_new();

    for (uint32_t i = 1; tokens[i]; i++) {
        if (tokens[i][0]) {
            append_token(bytes, tokens[i]);
        }
    }
    return bytes;
}

static void parse_entry(uint8_t entry[ERNIC_MLX5_ENTRY_SIZE], const GByteArray *bytes)
{
    IS(bytes->len, ERNIC_MLX5_ENTRY_SIZE);
    memcpy(entry, bytes->data, ERNIC_MLX5_ENTRY_SIZE);
}

static void parse_boxes(GByteArray *boxes, const GByteArray *bytes)
{
    IS(bytes->len % ERNIC_MLX5_BOX_SIZE, 0);
    g_byte_array_append(boxes, bytes->data, bytes->len);
}

static void add_line(GPtrArray *vectors, const char *line)
{
    Mlx5Vector *v = vectors->len ? vectors->pdata[vectors->len - 1] : NULL;
    g_autoptr(GByteArray) bytes = NULL;

    if (g_str_has_prefix(line, "command ")) {
        v = g_new0(Mlx5Vector, 1);
        v->number = vectors->len;
        v->opcode = g_ascii_strtoull(line + strlen("command "), NULL, 16);
        v->command = mlx5_command_find(v->opcode);
        v->in = g_byte_array_new();
        v->out = g_byte_array_new();
        g_ptr_array_add(vectors, v);
        return;
    }
    g_assert_nonnull(v);
    bytes = parse_line(line);
    if (g_str_has_prefix(line, "posted ")) {
        parse_entry(v->posted, bytes);
    } else if (g_str_has_prefix(line, "done ")) {
        parse_entry(v->done, bytes);
    } else if (g_str_has_prefix(line, "in ")) {
        parse_boxes(v->in, bytes);
    } else {
        g_assert(g_str_has_prefix(line, "out "));
        parse_boxes(v->out, bytes);
    }
}

GPtrArray *mlx5_vectors_load(const char *path)
{
    GPtrArray *vectors = g_ptr_array_new_with_free_func(vector_free);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    g_autoptr(GString) line = g_string_new(NULL);
    GError *err = NULL;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    lines = g_strsplit(text, "\n", 0);
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i][0] == '#') {
            continue;
        }
        if (lines[i][0] != ' ' && line->len) {
            add_line(vectors, line->str);
            g_string_truncate(line, 0);
        }
        g_string_append(line, lines[i]);
    }
    return vectors;
}

uint32_t mlx5_vector_in_len(const Mlx5Vector *v)
{
    return ernic_mlx5_get(v->posted, &ernic_mlx5_cmd_queue_entry.input_length);
}

uint32_t mlx5_vector_out_len(const Mlx5Vector *v)
{
    return ernic_mlx5_get(v->posted, &ernic_mlx5_cmd_queue_entry.output_length);
}

static GByteArray *message(const uint8_t *inline_data, const GByteArray *boxes,
                           uint32_t len)
{
    GByteArray *bytes = g_byte_array_new();

    g_byte_array_append(bytes, inline_data, ERNIC_MLX5_INLINE_SIZE);
    for (uint32_t at = 0; at < boxes->len; at += ERNIC_MLX5_BOX_SIZE) {
        g_byte_array_append(bytes, boxes->data + at, ERNIC_MLX5_BOX_DATA);
    }
    if (bytes->len > len) {
        g_byte_array_set_size(bytes, len);
    }
    return bytes;
}

GByteArray *mlx5_vector_input(const Mlx5Vector *v)
{
    const ErnicMlx5Field *data = &ernic_mlx5_cmd_queue_entry.command_input_inline_data;

    return message(v->posted + data->offset / 8, v->in, mlx5_vector_in_len(v));
}

GByteArray *mlx5_vector_output(const Mlx5Vector *v)
{
    const ErnicMlx5Field *data = &ernic_mlx5_cmd_queue_entry.command_output_inline_data;

    return message(v->done + data->offset / 8, v->out, mlx5_vector_out_len(v));
}
