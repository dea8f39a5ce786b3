/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decodes and encodes structures by the tables of fields alone. Both directions go
 * their own way: decoding walks the tables, encoding looks names up.
 */
#include "qemu/osdep.h"
#include "mlx5_decode.h"

typedef struct Decoder {
    const uint8_t *request;
    uint8_t *known;
    GString *text;
    bool complete;              /* no part has an unknown layout */
} Decoder;

const ErnicMlx5Layout *mlx5_capability_layout(uint32_t group)
{
    static const ErnicMlx5Layout none = { .name = "none", .bits = 0x800 };

    switch (group) {
    case 0x00: return &ernic_mlx5_cmd_hca_cap.self;
    case 0x01: return &ernic_mlx5_per_protocol_networking_offload_caps.self;
    case 0x02: return &none;            /* on-demand paging */
    case 0x03: return &ernic_mlx5_atomic_caps.self;
    case 0x04: return &ernic_mlx5_roce_cap.self;
    case 0x07: return &ernic_mlx5_flow_table_nic_cap.self;
    case 0x20: return &none;            /* more general ones */
    default: return NULL;
    }
}

static const ErnicMlx5Layout *register_of(uint32_t id)
{
    switch (id) {
    case 0x5003: return &ernic_mlx5_pmtu_reg.self;
    case 0x5004: return &ernic_mlx5_ptys_reg.self;
    case 0x5006: return &ernic_mlx5_paos_reg.self;
    case 0x5007: return &ernic_mlx5_pfcc_reg.self;
    case 0x5008: return &ernic_mlx5_ppcnt_reg.self;
    case 0x6001: return &ernic_mlx5_node_desc.self;
    default: return NULL;
    }
}

/* Whether the layout of @field depends on a value elsewhere; *@part: NULL if unknown. */
static bool find_variant(const ErnicMlx5Field *field, const uint8_t *request,
                         const ErnicMlx5Layout **part)
{
    *part = NULL;
    if (field == &ernic_mlx5_query_hca_cap_out.capability ||
        field == &ernic_mlx5_set_hca_cap_in.capability) {
        *part = mlx5_capability_layout(ernic_mlx5_get(request,
                    &ernic_mlx5_query_hca_cap_in.op_mod) >> 1);
    } else if (field == &ernic_mlx5_access_register_in.register_data ||
               field == &ernic_mlx5_access_register_out.register_data) {
        *part = register_of(ernic_mlx5_get(request,
                                           &ernic_mlx5_access_register_in.register_id));
    } else {
        return false;
    }
    return true;
}

/* Whether @layout ends with a field that takes the rest. */
static bool is_open(const ErnicMlx5Layout *layout)
{
    const ErnicMlx5Field *last = &layout->fields[layout->num_fields - 1];

    return !last->count || (last->layout && is_open(last->layout));
}

/* Elements of @field in a structure of @bits bits, and the size of one. */
static uint32_t num_elements(const ErnicMlx5Field *field, uint32_t bits, uint32_t *size)
{
    *size = ernic_mlx5_element_bits(field);
    if (field->offset >= bits) {
        return 0;
    }
    if (field->layout && is_open(field->layout)) {
        *size = bits - field->offset;
        return 1;
    }
    return MIN(field->count ? field->count : UINT32_MAX, (bits - field->offset) / *size);
}

static void decode(Decoder *d, const ErnicMlx5Layout *layout, const uint8_t *bytes,
                   uint32_t bits, uint8_t *known, const char *path);

static void decode_field(Decoder *d, const ErnicMlx5Field *field, const uint8_t *bytes,
                         uint32_t bits, uint8_t *known, const char *path)
{
    uint32_t size, num = num_elements(field, bits, &size), i;

    for (i = 0; i < num; i++) {
        uint32_t at = (field->offset + i * size) / 8;
        g_autofree char *name = field->count == 1 ?
            g_strdup_printf("%s%s", path, field->name) :
            g_strdup_printf("%s%s[%u]", path, field->name, i);

        if (field->layout) {
            g_autofree char *prefix = g_strconcat(name, ".", NULL);

            decode(d, field->layout, bytes + at, size, known + at, prefix);
        } else {
            uint64_t value = ernic_mlx5_get_at(bytes, field, i);

            ernic_mlx5_put_at(known, field, i, UINT64_MAX);
            if (value) {
                g_string_append_printf(d->text, "%s=%#" PRIx64 "\n", name, value);
            }
        }
    }
}

static void decode(Decoder *d, const ErnicMlx5Layout *layout, const uint8_t *bytes,
                   uint32_t bits, uint8_t *known, const char *path)
{
    for (uint32_t f = 0; f < layout->num_fields; f++) {
        const ErnicMlx5Field *field = &layout->fields[f];
        const ErnicMlx5Layout *part;

        if (field->offset < bits && find_variant(field, d->request, &part)) {
            uint32_t at = field->offset / 8;
            g_autofree char *prefix = g_strdup_printf("%s%s.", path, field->name);

            if (part) {
                decode(d, part, bytes + at, MIN(part->bits, bits - field->offset),
                       known + at, prefix);
            } else {
                d->complete = false;
            }
        } else {
            decode_field(d, field, bytes, bits, known, path);
        }
    }
}

bool mlx5_decode(const ErnicMlx5Layout *layout, const uint8_t *bytes, uint32_t len,
                 const uint8_t *request, GString *text, uint8_t *known)
{
    Decoder d = { .request = request, .known = known, .text = text, .complete = true };

    memset(known, 0, len);
    decode(&d, layout, bytes, len * 8, known, "");
    return d.complete;
}

/* ---- and back ------------------------------------------------------------------ */

/* The field whose name is the first @len characters of @name, or NULL. */
static const ErnicMlx5Field *find_field(const ErnicMlx5Layout *layout, const char *name,
                                        size_t len)
{
    for (uint32_t f = 0; f < layout->num_fields; f++) {
        if (strlen(layout->fields[f].name) == len &&
            !memcmp(layout->fields[f].name, name, len)) {
            return &layout->fields[f];
        }
    }
    return NULL;
}

/* Store @value at @path, a name, an index and what follows, in a structure of @bits. */
static bool encode(const ErnicMlx5Layout *layout, const char *path, uint64_t value,
                   const uint8_t *request, uint8_t *bytes, uint32_t bits)
{
    size_t len = strcspn(path, ".[");
    const ErnicMlx5Field *field = find_field(layout, path, len);
    const ErnicMlx5Layout *part;
    uint32_t size, i = 0;
    bool variant;

    if (!field) {
        return false;
    }
    path += len;
    variant = find_variant(field, request, &part);
    if (*path == '[') {
        i = strtoul(path + 1, (char **)&path, 10);
        path++;
    }
    if (!variant && i >= num_elements(field, bits, &size)) {
        return false;
    }
    if (variant) {
        size = bits - field->offset;
    } else {
        part = field->layout;
    }
    if (!part) {
        ernic_mlx5_put_at(bytes, field, i, value);
        return *path == '\0' && ernic_mlx5_get_at(bytes, field, i) == value;
    }
    return *path == '.' && encode(part, path + 1, value, request,
                  bytes + (field->offset + i * size) / 8, size);
}

bool mlx5_encode(const ErnicMlx5Layout *layout, const char *text,
                 const uint8_t *request, uint8_t *bytes, uint32_t len)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", 0);

    for (uint32_t i = 0; lines[i] && lines[i][0]; i++) {
        g_auto(GStrv) parts = g_strsplit(lines[i], "=", 2);

        if (!parts[1] || !encode(layout, parts[0], g_ascii_strtoull(parts[1], NULL, 0),
                                 request, bytes, len * 8)) {
            return false;
        }
    }
    return true;
}

void mlx5_fields_are(const ErnicMlx5Layout *layout, const uint8_t *bytes,
                     const char *format, ...)
{
    g_auto(GStrv) words = NULL;
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    words = g_strsplit(text, " ", 0);
    for (char **word = words; *word; word++) {
        const char *value = strchr(*word, '=') + 1;
        const ErnicMlx5Field *field = find_field(layout, *word, value - 1 - *word);
        uint64_t is = ernic_mlx5_get(bytes, field);

        if (is != g_ascii_strtoull(value, NULL, 0)) {
            g_error("%#" PRIx64 ", not %s of %s", is, *word, text);
        }
    }
}

char *mlx5_lines(const char *base, const char *words, const char *part)
{
    g_auto(GStrv) lines = g_strsplit(words, ",", 0);
    GString *text = g_string_new(base);

    for (char **line = lines; *line; line++) {
        g_string_append_printf(text, "%s%s\n", **line == '.' ? part : "", *line);
    }
    return g_string_free(text, false);
}

void mlx5_each_refused(const Mlx5Refused *rows, size_t num,
                       void (*fn)(void *opaque, uint16_t opcode, const char *text,
                                  ErnicMlx5Refusal why), void *opaque)
{
    for (const Mlx5Refused *row = rows; row < rows + num; row++) {
        g_auto(GStrv) words = g_strsplit(row->more, " ", 0);

        for (char **word = words; *word; word++) {
            g_autofree char *text = mlx5_lines(row->base, *word, row->part);

            g_test_message("%x %s", row->opcode, text);
            fn(opaque, row->opcode, text, row->why);
        }
    }
}
