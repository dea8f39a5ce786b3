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
#include "engine.h"
#include "mlx5_vectors.h"
#include "faces/mlx5/function.h"
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
 * Fields of answers that differ, and why. A path that ends in . or [ stands for all that
 * begin with it.
 */
static struct {
    uint16_t opcode;
    uint16_t group;             /* capability group */
    const char *path, *reason;
    uint32_t used;
} differences[] = {
    { 0x100, 0, "capability.log_max_cq", LIMITS },
    { 0x100, 0, "capability.log_max_cq_sz", LIMITS },
    { 0x100, 0, "capability.log_max_eq", LIMITS },
    { 0x100, 0, "capability.log_max_eq_sz", LIMITS },
    { 0x100, 0, "capability.log_max_mcg", LIMITS },
    { 0x100, 0, "capability.log_max_mkey", LIMITS },
    { 0x100, 0, "capability.log_max_mrw_sz", LIMITS },
    { 0x100, 0, "capability.log_max_pd", LIMITS },
    { 0x100, 0, "capability.log_max_qp", LIMITS },
    { 0x100, 0, "capability.log_max_rmp", LIMITS },
    { 0x100, 0, "capability.log_max_rq", LIMITS },
    { 0x100, 0, "capability.log_max_rqt", LIMITS },
    { 0x100, 0, "capability.log_max_rqt_size", LIMITS },
    { 0x100, 0, "capability.log_max_sq", LIMITS },
    { 0x100, 0, "capability.log_max_srq", LIMITS },
    { 0x100, 0, "capability.log_max_tir", LIMITS },
    { 0x100, 0, "capability.log_max_tis", LIMITS },
    { 0x100, 0, "capability.log_max_transport_domain", LIMITS },
    { 0x100, 0, "capability.log_max_xrcd", LIMITS },
    { 0x100, 0, "capability.log_max_current_mc_list", LIMITS },
    { 0x100, 0, "capability.log_max_current_uc_list", LIMITS },
    { 0x100, 0, "capability.gid_table_size", LIMITS },
    { 0x100, 0, "capability.max_wqe_sz_rq", LIMITS },
    { 0x100, 0, "capability.max_flow_counter_15_0", NEWER },
    { 0x100, 0, "capability.log_max_flow_counter_bulk", NEWER },
    { 0x100, 0, "capability.nic_receive_steering_discard", NEWER },
    { 0x100, 0, "capability.vnic_env_cq_overrun", NEWER },
    { 0x100, 0, "capability.pkey_table_size", LIMITS },
    { 0x100, 0, "capability.uar_sz", LIMITS },
    { 0x100, 0, "capability.eswitch_manager", VIRTUAL },
    { 0x100, 0, "capability.vport_group_manager", VIRTUAL },
    { 0x100, 0, "capability.vhca_group_manager", VIRTUAL },
    { 0x100, 0, "capability.log_max_l2_table", VIRTUAL },
    { 0x100, 0, "capability.ets", VIRTUAL },
    { 0x100, 0, "capability.apm", LEFT_OFF },
    { 0x100, 0, "capability.end_pad", LEFT_OFF },
    { 0x100, 0, "capability.block_lb_mc", LEFT_OFF },
    { 0x100, 0, "capability.cc_modify_allowed", LEFT_OFF },
    { 0x100, 0, "capability.cc_query_allowed", LEFT_OFF },
    { 0x100, 0, "capability.cd", LEFT_OFF },
    { 0x100, 0, "capability.cq_eq_remap", LEFT_OFF },
    { 0x100, 0, "capability.cq_period_start_from_cqe", LEFT_OFF },
    { 0x100, 0, "capability.cqe_compression", LEFT_OFF },
    { 0x100, 0, "capability.cqe_compression_max_num", LEFT_OFF },
    { 0x100, 0, "capability.compact_address_vector", LEFT_OFF },
    { 0x100, 0, "capability.cqe_compression_timeout", LEFT_OFF },
    { 0x100, 0, "capability.log_max_bsf_list_size", LEFT_OFF },
    { 0x100, 0, "capability.log_max_ra_req_dc", LEFT_OFF },
    { 0x100, 0, "capability.log_max_ra_res_dc", LEFT_OFF },
    { 0x100, 0, "capability.max_indirection", LEFT_OFF },
    { 0x100, 0, "capability.max_qp_cnt", LEFT_OFF },
    { 0x100, 0, "capability.max_wqe_sz_sq_dc", LEFT_OFF },
    { 0x100, 0, "capability.nic_vport_change_event", LEFT_OFF },
    { 0x100, 0, "capability.pad_tx_eth_packet", LEFT_OFF },
    { 0x100, 0, "capability.pkv", LEFT_OFF },
    { 0x100, 0, "capability.qkv", LEFT_OFF },
    { 0x100, 0, "capability.scqe_break_moderation", LEFT_OFF },
    { 0x100, 0, "capability.sctr_data_cqe", LEFT_OFF },
    { 0x100, 0, "capability.stat_rate_support", LEFT_OFF },
    { 0x100, 0, "capability.striding_rq", LEFT_OFF },
    { 0x100, 0, "capability.wq_signature", LEFT_OFF },
    { 0x100, 0, "capability.cmdif_checksum", LEFT_OFF },
    { 0x100, 0, "capability.imaicl", NEWER },
    { 0x100, 0, "capability.disable_local_lb_uc", NEWER },
    { 0x100, 0, "capability.disable_local_lb_mc", NEWER },
    { 0x100, 0, "capability.driver_version", NEWER },
    { 0x100, 0, "capability.device_frequency_khz", CLOCK },
    { 0x100, 0, "capability.device_frequency_mhz", CLOCK },
    { 0x100, 0, "capability.log_uar_page_sz", PAGES_4K },
    { 0x100, 1, "capability.lro_cap", LEFT_OFF },
    { 0x100, 1, "capability.lro_min_mss_size", LEFT_OFF },
    { 0x100, 1, "capability.lro_time_stamp", LEFT_OFF },
    { 0x100, 1, "capability.lro_timer_supported_periods[", LEFT_OFF },
    { 0x100, 1, "capability.multi_pkt_send_wqe", LEFT_OFF },
    { 0x100, 1, "capability.tunnel_stateless_gre", LEFT_OFF },
    { 0x100, 1, "capability.tunnel_stateless_vxlan", LEFT_OFF },
    { 0x100, 1, "capability.max_lso_cap", LIMITS },
    { 0x100, 1, "capability.rss_ind_tbl_cap", LIMITS },
    { 0x100, 1, "capability.wqe_inline_mode", NEWER },
    { 0x100, 1, "capability.wqe_vlan_insert", NEWER },
    { 0x100, 1, "capability.self_lb_en_modifiable", NEWER },
    { 0x100, 3, "capability.atomic_operations", LEFT_OFF },
    { 0x100, 3, "capability.atomic_size_dc", LEFT_OFF },
    { 0x100, 3, "capability.atomic_size_qp", LEFT_OFF },
    { 0x100, 3, "capability.atomic_req_8B_endianness_mode", HOST_ORDER },
    { 0x100, 3, "capability.supported_atomic_req_8B_endianness_mode_1", HOST_ORDER },
    { 0x100, 4, "capability.l3_type", ROCE_V2 },
    { 0x100, 4, "capability.roce_version", ROCE_V2 },
    { 0x100, 4, "capability.roce_address_table_size", LIMITS },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.flow_modify_en", NEWER },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.flow_table_modify", NEWER },
    { 0x100, 7,
      "capability.flow_table_properties_nic_receive.identified_miss_table_mode", NEWER },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.flow_counter", NEWER },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.log_max_destination",
      LIMITS },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.log_max_flow", LIMITS },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.log_max_ft_num", LIMITS },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.max_ft_level", LIMITS },
    { 0x100, 7, "capability.flow_table_properties_nic_receive_sniffer.", LEFT_OFF },
    { 0x100, 7, "capability.flow_table_properties_nic_transmit.", LEFT_OFF },
    { 0x100, 7, "capability.flow_table_properties_nic_transmit_sniffer.", LEFT_OFF },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.ft_field_support.",
      LEFT_OFF },
    { 0x100, 7, "capability.flow_table_properties_nic_receive.ft_field_bitmask_support.",
      LEFT_OFF },
    { 0x101, 0, "query_adapter_struct.ieee_vendor_id", OWN_NAME },
    { 0x101, 0, "query_adapter_struct.vsd_contd_psid[", OWN_NAME },
    { 0x101, 0, "query_adapter_struct.vsd_vendor_id", OWN_NAME },
    { 0x107, 0, "num_pages", NO_PAGES_TAKEN },
    { 0x108, 0, "status", NO_PAGES_TAKEN },
    { 0x108, 0, "syndrome", NO_PAGES_TAKEN },
    { 0x109, 0, "status", OTHER_CARD },
    { 0x109, 0, "syndrome", OTHER_CARD },
    { 0x301, 0, "status", RENUMBERED },
    { 0x301, 0, "syndrome", RENUMBERED },
    { 0x301, 0, "eq_number", RENUMBERED },
    { 0x805, 0, "status", VIRTUAL },
    { 0x805, 0, "syndrome", VIRTUAL },
};

static bool path_matches(const char *path, const char *row)
{
    char last = row[strlen(row) - 1];

    return last == '.' || last == '[' ? g_str_has_prefix(path, row) : !strcmp(path, row);
}

static bool explained(const Mlx5Vector *v, uint16_t group, const char *path)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(differences); i++) {
        if (differences[i].opcode == v->opcode && differences[i].group == group &&
            path_matches(path, differences[i].path)) {
            differences[i].used++;
            return true;
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
    g_assert_false(ernic_mlx5_command_queue_run(q, 10000));
    g_assert_true(mlx5_is_done(env, &p));
    g_assert_cmpint(mlx5_status(env, &p), ==, ERNIC_MLX5_DELIVERY_OK);
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
    ErnicConfig cfg;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    fake_config(&cfg);
    cfg.mlx5 = &config;
    cfg.num_vectors = ERNIC_LIM_EQ;
    e = ernic_new(&cfg, &fake_env_ops, &env);
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
        g_test_message("%s: %s", differences[i].path, differences[i].reason);
        g_assert_cmpuint(differences[i].used, >, 0);
    }
    ernic_mlx5_command_queue_reset(&q);
    ernic_free(e);
    fake_env_fini(&env);
}
