/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sends the commands that Linux sent to a ConnectX-4 to a function of ours, through
 * guest memory, and compares the answers field by field. Each difference is in a table
 * with its reason, and each row of the table is needed.
 */
#include "qemu/osdep.h"
#include "mlx5_decode.h"
#include "mlx5_software.h"
#include "fake_verbs.h"
#include "mlx5_vectors.h"
#include "test.h"

/* Reasons. */
#define LIMITS          "a limit of the engine, or of the size of the BAR"
#define VIRTUAL         "a virtual function; the hardware was a physical one"
#define LEFT_OFF        "an optional feature that the profile leaves off"
#define NEWER           "a feature of newer hardware that the profile has"
#define CLOCK           "a clock of our own, in the newer unit"
#define PAGES_4K        "doorbell pages of 4 KiB are the only ones"
#define ROCE_V2         "RoCE v2 only"
#define HOST_ORDER      "results of atomics are in the order of the host"
#define OWN_NAME        "vendor and board are our own"
#define NO_PAGES_TAKEN  "no state of the device is in guest memory"
#define OTHER_CARD      "software sets the capabilities of the hardware, not ours"
#define RENUMBERED      "renumbered addresses are not aligned to pages of 16 KiB"

/*
 * Fields of answers that differ, and why: words, each a path after @part. One that ends
 * in . or [ stands for all that begin with it.
 */
static const struct {
    uint16_t opcode;
    uint16_t group;             /* capability group */
    const char *reason, *part, *fields;
} differences[] = {
    { 0x100, 0, LIMITS, "capability.",
      "log_max_cq log_max_cq_sz log_max_eq log_max_eq_sz log_max_mcg log_max_mkey "
      "log_max_mrw_sz log_max_pd log_max_qp log_max_rmp log_max_rq log_max_rqt "
      "log_max_rqt_size log_max_sq log_max_srq log_max_tir log_max_tis "
      "log_max_transport_domain log_max_xrcd log_max_current_mc_list "
      "log_max_current_uc_list gid_table_size max_wqe_sz_rq pkey_table_size uar_sz" },
    { 0x100, 0, NEWER, "capability.",
      "max_flow_counter_15_0 log_max_flow_counter_bulk nic_receive_steering_discard "
      "vnic_env_cq_overrun imaicl disable_local_lb_uc disable_local_lb_mc "
      "driver_version rts2rts_qp_counters_set_id retransmission_q_counters "
      "out_of_seq_cnt" },
    { 0x100, 0, VIRTUAL, "capability.",
      "eswitch_manager vport_group_manager vhca_group_manager log_max_l2_table ets" },
    { 0x100, 0, LEFT_OFF, "capability.",
      "apm end_pad block_lb_mc cc_modify_allowed cc_query_allowed cd cq_eq_remap "
      "cq_period_start_from_cqe compact_address_vector cqe_compression_timeout "
      "log_max_bsf_list_size log_max_ra_req_dc log_max_ra_res_dc max_indirection "
      "max_wqe_sz_sq_dc nic_vport_change_event pad_tx_eth_packet pkv qkv "
      "scqe_break_moderation sctr_data_cqe stat_rate_support striding_rq "
      "wq_signature cmdif_checksum" },
    { 0x100, 0, CLOCK, "capability.", "device_frequency_khz device_frequency_mhz" },
    { 0x100, 0, PAGES_4K, "capability.", "log_uar_page_sz" },
    { 0x100, 1, LEFT_OFF, "capability.",
      "lro_cap lro_min_mss_size lro_time_stamp lro_timer_supported_periods[ "
      "multi_pkt_send_wqe tunnel_stateless_gre tunnel_stateless_vxlan" },
    { 0x100, 1, LIMITS, "capability.", "max_lso_cap rss_ind_tbl_cap" },
    { 0x100, 1, NEWER, "capability.",
      "wqe_inline_mode wqe_vlan_insert self_lb_en_modifiable" },
    { 0x100, 3, LEFT_OFF, "capability.",
      "atomic_operations atomic_size_dc atomic_size_qp" },
    { 0x100, 3, HOST_ORDER, "capability.",
      "atomic_req_8B_endianness_mode supported_atomic_req_8B_endianness_mode_1" },
    { 0x100, 4, ROCE_V2, "capability.", "l3_type roce_version" },
    { 0x100, 4, LIMITS, "capability.", "roce_address_table_size" },
    { 0x100, 7, NEWER, "capability.flow_table_properties_nic_receive.",
      "flow_modify_en flow_table_modify identified_miss_table_mode flow_counter" },
    { 0x100, 7, LIMITS, "capability.flow_table_properties_nic_receive.",
      "log_max_destination log_max_flow log_max_ft_num max_ft_level" },
    { 0x100, 7, LEFT_OFF, "capability.",
      "flow_table_properties_nic_receive_sniffer. flow_table_properties_nic_transmit. "
      "flow_table_properties_nic_transmit_sniffer." },
    { 0x100, 7, LEFT_OFF, "capability.flow_table_properties_nic_receive.",
      "ft_field_support. ft_field_bitmask_support." },
    { 0x101, 0, OWN_NAME, "query_adapter_struct.",
      "ieee_vendor_id vsd_contd_psid[ vsd_vendor_id" },
    { 0x107, 0, NO_PAGES_TAKEN, "", "num_pages" },
    { 0x108, 0, NO_PAGES_TAKEN, "", "status syndrome" },
    { 0x109, 0, OTHER_CARD, "", "status syndrome" },
    { 0x301, 0, RENUMBERED, "", "status syndrome eq_number" },
    { 0x805, 0, VIRTUAL, "", "status syndrome" },
};

/* The values that an answer had. */
static GHashTable *used;

static bool explained(const Mlx5Vector *v, uint16_t group, const char *path)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(differences); i++) {
        g_auto(GStrv) fields = g_strsplit(differences[i].fields, " ", 0);

        for (char **field = fields; *field && differences[i].opcode == v->opcode &&
                                    differences[i].group == group; field++) {
            g_autofree char *row = g_strconcat(differences[i].part, *field, NULL);

            if (strchr(".[", row[strlen(row) - 1]) ? g_str_has_prefix(path, row) :
                                                     !strcmp(path, row)) {
                g_hash_table_add(used, g_strdup_printf("%u %s", i, *field));
                return true;
            }
        }
    }
    return false;
}

static GHashTable *to_table(const char *text)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 0);

    for (uint32_t i = 0; lines[i] && lines[i][0]; i++) {
        char *value = strchr(lines[i], '=');

        *value++ = '\0';
        g_hash_table_insert(table, g_strdup(lines[i]), g_strdup(value));
    }
    return table;
}

static void compare(const Mlx5Vector *v, uint16_t group, const char *ours,
                    const char *theirs)
{
    g_autoptr(GHashTable) a = to_table(ours), b = to_table(theirs);
    GHashTable *both[] = { a, b };

    for (uint32_t i = 0; i < 2; i++) {
        GHashTableIter iter;
        gpointer path, value;

        g_hash_table_iter_init(&iter, both[i]);
        while (g_hash_table_iter_next(&iter, &path, &value)) {
            const char *other = g_hash_table_lookup(both[!i], path);

            if (g_strcmp0(other, value) && !explained(v, group, path)) {
                g_error("command %x, group %x: %s is %s, not %s", v->opcode, group,
                        (char *)path, (char *)g_hash_table_lookup(a, path),
                        (char *)g_hash_table_lookup(b, path));
            }
        }
    }
}

/* The answer as text. */
static char *decode(const Mlx5Vector *v, const uint8_t *in, const uint8_t *out)
{
    uint32_t len = mlx5_vector_out_len(v);
    g_autofree uint8_t *known = g_malloc0(len);
    GString *text = g_string_new(NULL);

    mlx5_decode(v->command->out, out, len, in, text, known);
    return g_string_free(text, false);
}

static void replay(FakeEnv *env, ErnicMlx5CommandQueue *q, const Mlx5Vector *v)
{
    uint32_t in_len = mlx5_vector_in_len(v);
    g_autoptr(GByteArray) in = mlx5_vector_input(v), theirs = mlx5_vector_output(v);
    g_autofree uint8_t *ours = NULL;
    g_autofree char *our_text = NULL, *their_text = NULL;
    uint32_t recorded = in->len, group = 0;
    Mlx5Posted p;

    /* Mailboxes that were not recorded are 0. */
    g_byte_array_set_size(in, in_len);
    memset(in->data + recorded, 0, in_len - recorded);
    recorded = theirs->len;
    g_byte_array_set_size(theirs, mlx5_vector_out_len(v));
    memset(theirs->data + recorded, 0, theirs->len - recorded);

    p = mlx5_post(env, q->base, v->number % 32, in->data, in_len, theirs->len);
    ernic_mlx5_command_queue_ring(q, 1u << v->number % 32);
    g_assert_false(mlx5_queue_steps(q, 10000));
    g_assert_true(mlx5_is_done(env, &p));
    IS(mlx5_status(env, &p), ERNIC_MLX5_DELIVERY_OK);
    ours = mlx5_answer(env, &p);
    our_text = decode(v, in->data, ours);
    their_text = decode(v, in->data, theirs->data);
    if (v->command->out == &ernic_mlx5_query_hca_cap_out.self) {
        group = ernic_mlx5_get(in->data, &ernic_mlx5_query_hca_cap_in.op_mod) >> 1;
    }
    compare(v, group, our_text, their_text);
}

TEST("/mlx5/replay", test_replay)
{
    static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };
    g_autoptr(GPtrArray) vectors = mlx5_vectors_load(ERNIC_DATA "/mlx5-commands.txt");
    ErnicMlx5CommandQueue q;
    ErnicMlx5Function f;
    FakeEnv env;
    Ernic *e;

    used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    e = FAKE_ERNIC(&env, cfg.mlx5 = &config; cfg.num_vectors = ERNIC_LIM_EQ);
    ernic_set_link(e, env.now, true);
    ernic_slice(e);
    ernic_mlx5_function_init(&f, e, &config);
    ernic_mlx5_command_queue_init(&q, &fake_env_ops, &env, &e->mem,
                                  ernic_mlx5_function_execute, &f);
    q.base = mlx5_queue_page(&env);
    for (uint32_t i = 0; i < vectors->len; i++) {
        replay(&env, &q, vectors->pdata[i]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(differences); i++) {
        g_auto(GStrv) fields = g_strsplit(differences[i].fields, " ", 0);

        for (char **field = fields; *field; field++) {
            g_autofree char *key = g_strdup_printf("%u %s", i, *field);

            g_test_message("%s: %s", *field, differences[i].reason);
            g_assert_true(g_hash_table_contains(used, key));
        }
    }
    g_hash_table_unref(used);
    ernic_mlx5_command_queue_reset(&q);
    ernic_free(e);
    fake_env_fini(&env);
}
