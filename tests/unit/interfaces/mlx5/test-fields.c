/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Walks the tables of the mlx5 interface: every layout, every field, every command; and
 * compares the numbers of docs/mlx5-interface.md with them.
 * With --print the program prints the rows for scripts/check-mlx5-fields.py.
 */
#include "qemu/osdep.h"
#include "mlx5_commands.h"
#include "test.h"

/* All layouts, and their structures in the public headers. */
static const struct {
    const ErnicMlx5Layout *layout;
    const char *structure;
} layouts[] = {
#define LAYOUT_OF(name, structure, bits) { &ernic_mlx5_##name.self, #structure },
#define F(name, offset, width)
#define A(name, offset, width, count)
#define S(name, offset, part)
#define SA(name, offset, part, count)
#define END
#include "interfaces/mlx5/layout/fields_all.h.inc"
};

static void for_each_layout(void (*check)(const ErnicMlx5Layout *layout))
{
    g_assert_cmpuint(ARRAY_SIZE(layouts), >, 180);
    for (uint32_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        g_test_message("%s", layouts[i].layout->name);
        check(layouts[i].layout);
    }
}

/* The head of a test of each layout. */
#define LAYOUT_TEST(path, fn)                                       \
    static void fn(const ErnicMlx5Layout *layout);                  \
    UNIT_ADD(path, run_##fn)                                        \
    {                                                               \
        for_each_layout(fn);                                        \
    }                                                               \
    static void fn(const ErnicMlx5Layout *layout)

LAYOUT_TEST("/mlx5/fields/layouts", check_layout)
{
    uint32_t end = 0;

    g_assert_cmpuint(layout->num_fields, >, 0);
    g_assert_cmpuint(layout->bits, >, 0);
    IS(layout->bits % 8, 0);
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const ErnicMlx5Field *field = &layout->fields[i];

        g_test_message("  %s", field->name);
        /* Sorted, and no overlap. */
        g_assert_cmpuint(field->offset, >=, end);
        if (field->count) {
            end = field->offset + field->count * ernic_mlx5_element_bits(field);
            g_assert_cmpuint(end, <=, layout->bits);
        } else {
            /* The rest of the message begins where the structure ends. */
            IS(i, layout->num_fields - 1);
            IS(field->offset, layout->bits);
        }
        if (field->layout) {
            IS(field->width, 0);
            IS(field->offset % 8, 0);
        } else {
            g_assert_cmpuint(field->width, >=, 1);
            g_assert_cmpuint(field->width, <=, 64);
        }
    }
}

/* Whether @layout ends with a field that takes the rest of the message. */
static bool is_open(const ErnicMlx5Layout *layout)
{
    const ErnicMlx5Field *last = &layout->fields[layout->num_fields - 1];

    return !last->count || (last->layout && is_open(last->layout));
}

/* A part that takes the rest of the message is the last one. */
LAYOUT_TEST("/mlx5/fields/open", check_open)
{
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const ErnicMlx5Field *field = &layout->fields[i];

        if (field->layout && is_open(field->layout)) {
            IS(i, layout->num_fields - 1);
            IS(field->count, 1);
            IS(field->offset + field->layout->bits, layout->bits);
        }
    }
}

/* A part comes before the structures that contain it, so there is no circle. */
TEST("/mlx5/fields/parts", test_parts)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    for (uint32_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        const ErnicMlx5Layout *layout = layouts[i].layout;

        for (uint32_t f = 0; f < layout->num_fields; f++) {
            const ErnicMlx5Layout *part = layout->fields[f].layout;

            g_assert_true(!part || g_hash_table_contains(seen, part));
        }
        g_hash_table_add(seen, (gpointer)layout);
    }
}

/* Each bit of the field is where the offset says, and no other bit changes. */
static void check_element(const ErnicMlx5Field *field, uint32_t i, uint8_t *bytes,
                          uint32_t len)
{
    uint32_t first = field->offset + i * field->width;
    uint64_t ones = field->width == 64 ? UINT64_MAX : (1ull << field->width) - 1;

    for (uint32_t b = 0; b < field->width; b++) {
        uint64_t value = 1ull << (field->width - 1 - b);
        uint32_t bit = first + b;

        ernic_mlx5_put_at(bytes, field, i, value);
        IS(bytes[bit / 8], 0x80 >> bit % 8);
        IS(ernic_mlx5_get_at(bytes, field, i), value);
        ernic_mlx5_put_at(bytes, field, i, ~value);
        IS(ernic_mlx5_get_at(bytes, field, i), ~value & ones);
        ernic_mlx5_put_at(bytes, field, i, 0);
        IS(bytes[bit / 8], 0);
    }
    memset(bytes, 0xff, len);
    ernic_mlx5_put_at(bytes, field, i, 0);
    for (uint32_t b = first / 8 * 8; b < first + field->width; b++) {
        IS(!(bytes[b / 8] & 0x80 >> b % 8), b >= first);
    }
    ernic_mlx5_put_at(bytes, field, i, UINT64_MAX);
    for (uint32_t b = 0; b < len; b++) {
        IS(bytes[b], 0xff);
    }
    memset(bytes, 0, len);
}

LAYOUT_TEST("/mlx5/fields/access", check_access)
{
    uint32_t len = layout->bits / 8 + 16;
    g_autofree uint8_t *bytes = g_malloc0(len);

    for (uint32_t f = 0; f < layout->num_fields; f++) {
        const ErnicMlx5Field *field = &layout->fields[f];
        /* First, second and last element. */
        uint32_t last = MAX(field->count, 1) - 1;
        uint32_t elements[] = { 0, MIN(1, last), last };

        for (uint32_t i = 0; i < ARRAY_SIZE(elements) && !field->layout; i++) {
            check_element(field, elements[i], bytes, len);
        }
    }
}

static void check_number(const ErnicMlx5Field *field, const char *name, uint32_t offset,
                         uint32_t width)
{
    g_assert_cmpstr(field->name, ==, name);
    IS(field->offset, offset);
    IS(field->width, width);
}

static const ErnicMlx5Field *find_field(const ErnicMlx5Layout *layout, const char *name)
{
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        if (!strcmp(layout->fields[i].name, name)) {
            return &layout->fields[i];
        }
    }
    g_assert_not_reached();
}

/* Opcode and modifier, status and syndrome have the same place in all messages. */
TEST("/mlx5/fields/commands", test_commands)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    uint32_t last = 0, found = 0;

    IS(mlx5_num_commands, 93);
    for (uint32_t i = 0; i < mlx5_num_commands; i++) {
        const Mlx5Command *command = &mlx5_commands[i];

        g_test_message("%s", command->name);
        g_assert_cmpuint(command->opcode, >, last);
        last = command->opcode;
        g_assert_true(g_hash_table_add(names, (char *)command->name));
        g_assert_true(g_str_has_suffix(command->in->name, "_in"));
        g_assert_true(g_str_has_suffix(command->out->name, "_out"));
        check_number(&command->in->fields[0], "opcode", 0, 16);
        check_number(find_field(command->in, "op_mod"), "op_mod", 0x30, 16);
        check_number(&command->out->fields[0], "status", 0, 8);
        check_number(find_field(command->out, "syndrome"), "syndrome", 0x20, 32);
    }
    for (uint32_t opcode = 0; opcode <= UINT16_MAX; opcode++) {
        const Mlx5Command *command = mlx5_command_find(opcode);

        g_assert_true(!command || command->opcode == opcode);
        found += command != NULL;
    }
    IS(found, mlx5_num_commands);
}

/* Commands with messages in the file of that name. */
static uint32_t commands_in(const char *file)
{
    g_autofree char *path = g_strconcat(ERNIC_DOCS "/../hw/rdma-ernic/engine/"
                                        "interfaces/mlx5/layout/",
                                        file, NULL);
    g_autofree char *text = NULL;
    uint32_t found = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    for (uint32_t i = 0; i < mlx5_num_commands; i++) {
        const char *in = mlx5_commands[i].in->name;
        const char *out = mlx5_commands[i].out->name;
        const char *name = strcmp(in, "plain_in") ? in : out;
        g_autofree char *row = g_strdup_printf("\n%s(%.*s, ", name == in ? "IN" : "OUT",
                                               (int)(strrchr(name, '_') - name), name);

        found += strstr(text, row) != NULL;
    }
    return found;
}

/* Both tables of the document have the number of commands of each part. */
TEST("/mlx5/fields/numbers", test_numbers)
{
    static const struct {
        const char *part, *file;
    } parts[] = {
        { "function", "fields_commands_core.h.inc" },
        { "RDMA objects", "fields_commands_rdma.h.inc" },
        { "Ethernet objects", "fields_commands_ethernet.h.inc" },
    };
    g_autofree char *text = NULL;
    uint32_t all = 0;

    g_assert_true(g_file_get_contents(ERNIC_DOCS "/mlx5-interface.md", &text, NULL,
                                      NULL));
    for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
        uint32_t number = commands_in(parts[i].file);
        g_autofree char *part = g_strdup_printf("\n\\| %s \\|.* %u commands \\|\n",
                                                parts[i].part, number);
        g_autofree char *file = g_strdup_printf("\n\\| `%s` \\| messages of %u commands:",
                                                parts[i].file, number);

        g_test_message("%s: %u", parts[i].part, number);
        g_assert_true(g_regex_match_simple(part, text, 0, 0));
        g_assert_true(g_regex_match_simple(file, text, 0, 0));
        all += number;
    }
    IS(all, mlx5_num_commands);
}

static const char *structure_of(const ErnicMlx5Layout *layout)
{
    uint32_t i = 0;

    while (layouts[i].layout != layout) {
        i++;
    }
    return layouts[i].structure;
}

static void print_layout(const ErnicMlx5Layout *layout)
{
    printf("layout %s %s %u\n", layout->name, structure_of(layout), layout->bits);
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const ErnicMlx5Field *field = &layout->fields[i];

        printf("field %s %u %u %u %s\n", field->name, field->offset,
               ernic_mlx5_element_bits(field), field->count,
               field->layout ? structure_of(field->layout) : "-");
    }
}

static void print_tables(void)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        print_layout(layouts[i].layout);
    }
    for (uint32_t i = 0; i < mlx5_num_commands; i++) {
        printf("command %s %u %s %s\n", mlx5_commands[i].name,
               mlx5_commands[i].opcode, mlx5_commands[i].in->name,
               mlx5_commands[i].out->name);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--print")) {
        print_tables();
        return 0;
    }
    return unit_run(argc, argv);
}
