/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of the mlx5 interface against commands that real hardware executed: all of
 * them decode, and encoding the decoded fields gives the same bytes. With --print the
 * program prints the decoded commands.
 */
#include "qemu/osdep.h"
#include "mlx5_decode.h"
#include "mlx5_vectors.h"
#include "test.h"

#define VECTORS ERNIC_DATA "/mlx5-commands.txt"
#define NUM_COMMANDS 42

/*
 * Bits that the hardware sets in a capability group, and that are reserved in the public
 * headers. Software copies those of group 0 into SET_HCA_CAP.
 */
static struct {
    uint32_t group, bit;
    uint32_t used;
} reserved[] = {
    { 0, 0x20d }, { 0, 0x20e }, { 0, 0x229 },
    { 1, 0x9 }, { 1, 0xa },
    { 4, 0x1 },
    { 7, 0x201 }, { 7, 0x601 }, { 7, 0xc01 },   /* bit 1 of flow_table_prop_layout */
};

/* Messages whose length is not that of the layout, and why. */
static struct {
    uint16_t opcode;
    bool out;
    uint32_t len;
    uint32_t used;
} lengths[] = {
    /* The answer has lost its last word in newer headers. */
    { 0x104, true, 16 },
    /* Newer drivers append sw_vhca_id and sw_owner_id. */
    { 0x102, false, 16 },
};

/* One message of a command, and the command's input, which selects layouts. */
typedef struct Message {
    const Mlx5Vector *v;
    const ErnicMlx5Layout *layout;
    bool out;
    uint32_t len;
    GByteArray *request, *bytes;
    uint8_t *known;
    GString *text;
} Message;

static Message message_new(const Mlx5Vector *v, bool out)
{
    Message m = { .v = v, .out = out };

    g_assert_nonnull(v->command);
    m.layout = out ? v->command->out : v->command->in;
    m.len = out ? mlx5_vector_out_len(v) : mlx5_vector_in_len(v);
    m.request = mlx5_vector_input(v);
    m.bytes = out ? mlx5_vector_output(v) : mlx5_vector_input(v);
    m.known = g_malloc0(m.bytes->len);
    m.text = g_string_new(NULL);
    g_assert_true(mlx5_decode(m.layout, m.bytes->data, m.bytes->len, m.request->data,
                              m.text, m.known));
    return m;
}

static void message_free(Message *m)
{
    g_byte_array_unref(m->request);
    g_byte_array_unref(m->bytes);
    g_free(m->known);
    g_string_free(m->text, true);
}

/* Call @check for both messages of all commands. */
static void for_each_message(void (*check)(Message *m))
{
    g_autoptr(GPtrArray) vectors = mlx5_vectors_load(VECTORS);

    IS(vectors->len, NUM_COMMANDS);
    for (uint32_t i = 0; i < vectors->len; i++) {
        const Mlx5Vector *v = vectors->pdata[i];

        g_test_message("command %u, opcode %x", v->number, v->opcode);
        for (int out = 0; out < 2; out++) {
            Message m = message_new(v, out);

            check(&m);
            message_free(&m);
        }
    }
}

static bool length_fits(const ErnicMlx5Layout *layout, uint32_t len)
{
    const ErnicMlx5Field *last = &layout->fields[layout->num_fields - 1];
    uint32_t fixed = layout->bits / 8;

    if (last->count || len < fixed) {
        return len == fixed;
    }
    return (len - fixed) % (ernic_mlx5_element_bits(last) / 8) == 0;
}

static void check_length(Message *m)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        if (lengths[i].opcode == m->v->opcode && lengths[i].out == m->out) {
            g_assert_false(length_fits(m->layout, m->len));
            IS(m->len, lengths[i].len);
            lengths[i].used++;
            return;
        }
    }
    g_assert_true(length_fits(m->layout, m->len));
}

TEST("/mlx5/trace/lengths", test_lengths)
{
    for_each_message(check_length);
    for (uint32_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        IS(lengths[i].used, 1);
    }
}

/* Whether bit @bit of the message @m is one of those that only the hardware knows. */
static bool is_reserved(const Message *m, uint32_t bit)
{
    uint32_t group = ernic_mlx5_get(m->request->data,
                                    &ernic_mlx5_query_hca_cap_in.op_mod) >> 1, i;
    const ErnicMlx5Field *capability = m->out ? &ernic_mlx5_query_hca_cap_out.capability :
        &ernic_mlx5_set_hca_cap_in.capability;

    if (m->layout != &ernic_mlx5_query_hca_cap_out.self &&
        m->layout != &ernic_mlx5_set_hca_cap_in.self) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(reserved); i++) {
        if (reserved[i].group == group && reserved[i].bit + capability->offset == bit) {
            reserved[i].used++;
            return true;
        }
    }
    return false;
}

static void check_bits(Message *m)
{
    for (uint32_t bit = 0; bit < m->bytes->len * 8; bit++) {
        uint8_t mask = 0x80 >> bit % 8;

        if (m->bytes->data[bit / 8] & ~m->known[bit / 8] & mask) {
            if (!is_reserved(m, bit)) {
                g_error("bit %#x is set, but reserved", bit);
            }
        }
    }
}

/* Every bit that is set belongs to a field. */
TEST("/mlx5/trace/decode", test_decode)
{
    for_each_message(check_bits);
    for (uint32_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        g_assert_cmpuint(reserved[i].used, >, 0);
    }
}

static Message find_message(GPtrArray *vectors, uint16_t opcode, uint32_t op_mod,
                            bool out)
{
    for (uint32_t i = 0; i < vectors->len; i++) {
        const Mlx5Vector *v = vectors->pdata[i];
        g_autoptr(GByteArray) in = mlx5_vector_input(v);

        if (v->opcode == opcode &&
            ernic_mlx5_get(in->data, &ernic_mlx5_query_hca_cap_in.op_mod) == op_mod) {
            return message_new(v, out);
        }
    }
    g_assert_not_reached();
}

/* Lines of @text must be in the message; those that begin with - must have no value. */
static void check_content(GPtrArray *vectors, uint16_t opcode, uint32_t op_mod,
                          bool out, const char *text)
{
    Message m = find_message(vectors, opcode, op_mod, out);
    g_auto(GStrv) lines = g_strsplit(m.text->str, "\n", 0);
    g_auto(GStrv) want = g_strsplit(text, " ", 0);

    for (uint32_t i = 0; want[i]; i++) {
        if (want[i][0] != '-') {
            g_test_message("%s", want[i]);
            g_assert_true(g_strv_contains((const char *const *)lines, want[i]));
            continue;
        }
        for (uint32_t k = 0; lines[k]; k++) {
            g_assert_false(g_str_has_prefix(lines[k], want[i] + 1) &&
                           lines[k][strlen(want[i] + 1)] == '=');
        }
    }
    message_free(&m);
}

/* Values that are known from elsewhere: wrong offsets would show others. */
TEST("/mlx5/trace/content", test_content)
{
    g_autoptr(GPtrArray) vectors = mlx5_vectors_load(VECTORS);

    check_content(vectors, 0x100, 1, true,
                  "capability.rc=0x1 capability.uc=0x1 capability.ud=0x1 "
                  "capability.xrc=0x1 capability.roce=0x1 capability.atomic=0x1 "
                  "capability.port_type=0x1 capability.num_ports=0x1 "
                  "capability.nic_flow_table=0x1 capability.eth_net_offloads=0x1 "
                  "capability.cqe_version=0x1 capability.striding_rq=0x1 "
                  "capability.max_wqe_sz_sq=0x400 capability.log_max_msg=0x1e "
                  "-capability.imaicl -capability.pg -capability.dct "
                  "-capability.log_max_uctx -capability.uar_4k "
                  "-capability.set_deth_sqpn");
    check_content(vectors, 0x107, 1, true, "num_pages=0x6");
    check_content(vectors, 0x107, 2, true, "num_pages=0x3244");
    check_content(vectors, 0x108, 1, false, "opcode=0x108 input_num_entries=0x6");
    check_content(vectors, 0x10b, 0, false, "current_issi=0x1");
    check_content(vectors, 0x101, 0, true, "query_adapter_struct.ieee_vendor_id=0x2c9");
    check_content(vectors, 0x802, 0, true, "uar=0x10");
    check_content(vectors, 0x301, 0, true, "eq_number=0x10");
    check_content(vectors, 0x301, 0, false,
                  "eq_context_entry.log_eq_size=0x8 eq_context_entry.uar_page=0x10 "
                  "eq_context_entry.log_page_size=0x2");
}

/* Follow a recorded chain; the mailboxes are the entry's and those linked from there. */
static void walk_chain(ErnicMlx5Chain *chain, const GByteArray *boxes)
{
    uint32_t i, len, left = chain->left;

    for (i = 0; chain->left && (i + 1) * ERNIC_MLX5_BOX_SIZE <= boxes->len; i++) {
        g_assert_cmphex(chain->addr, !=, 0);
        IS(ernic_mlx5_chain_step(chain, boxes->data + i * ERNIC_MLX5_BOX_SIZE, &len),
           ERNIC_MLX5_DELIVERY_OK);
        IS(len, MIN(left, ERNIC_MLX5_BOX_DATA));
        left -= len;
    }
    IS(i * ERNIC_MLX5_BOX_SIZE, boxes->len);
}

TEST("/mlx5/trace/transport", test_transport)
{
    g_autoptr(GPtrArray) vectors = mlx5_vectors_load(VECTORS);
    uint32_t incomplete = 0, signatures = 0;

    for (uint32_t i = 0; i < vectors->len; i++) {
        const Mlx5Vector *v = vectors->pdata[i];
        g_autoptr(GByteArray) in = mlx5_vector_input(v), out = mlx5_vector_output(v);
        uint8_t entry_bytes[ERNIC_MLX5_ENTRY_SIZE];
        ErnicMlx5Entry entry;

        g_test_message("command %u", i);
        g_assert_true(ernic_mlx5_entry_posted(v->posted));
        g_assert_false(ernic_mlx5_entry_posted(v->done));
        IS(ernic_mlx5_xor(v->posted, sizeof(v->posted)), 0xff);
        IS(ernic_mlx5_entry_decode(v->posted, &entry), ERNIC_MLX5_DELIVERY_OK);
        g_assert_cmpmem(entry.in, sizeof(entry.in), in->data, sizeof(entry.in));
        walk_chain(&entry.in_chain, v->in);
        walk_chain(&entry.out_chain, v->out);
        incomplete += entry.in_chain.left || entry.out_chain.left;

        /* Completing the entry gives the same bytes. */
        memcpy(entry_bytes, v->posted, sizeof(entry_bytes));
        ernic_mlx5_entry_complete(entry_bytes, out->data, ERNIC_MLX5_DELIVERY_OK);
        if (ernic_mlx5_xor(v->done, sizeof(v->done)) == 0xfe) {
            signatures++;
        } else {
            ernic_mlx5_put(entry_bytes, &ernic_mlx5_cmd_queue_entry.signature,
                           ernic_mlx5_get(v->done,
                                          &ernic_mlx5_cmd_queue_entry.signature));
        }
        g_assert_cmpmem(entry_bytes, sizeof(entry_bytes), v->done, sizeof(v->done));
    }
    /* ACCESS_REG and both MANAGE_PAGES: see the head of the file. */
    IS(incomplete, 3);
    /* From ALLOC_UAR on, the hardware did not sign its answers. */
    IS(signatures, 23);
}

static void print_message(Message *m)
{
    if (m->out) {
        printf("  answer\n");
    } else {
        printf("%s\n", m->v->command->name);
    }
    fputs(m->text->str, stdout);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--print")) {
        for_each_message(print_message);
        return 0;
    }
    return unit_run(argc, argv);
}
