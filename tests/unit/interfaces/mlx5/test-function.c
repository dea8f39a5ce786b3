/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of a function of the mlx5 interface: each one, each refusal, and the
 * capability profile. Messages are written as text, see mlx5_decode.h.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/command/queue.h"
#include "mlx5_commands.h"
#include "mlx5_decode.h"
#include "test.h"

static const ErnicMlx5Config config = {
    .mac = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 },
    .max_mtu = 9022,
    .board_id = "TEST_0000000001",
    .link_up = true,
};

#define PORT    "nic_vport_context"

/* One command and its answer. */
typedef struct Call {
    ErnicMlx5Refusal refusal;
    GString *text;              /* the answer without status */
    uint8_t out[2 * ERNIC_MLX5_MESSAGE_ROOM];
} Call;

static void call_free(Call *call)
{
    g_string_free(call->text, true);
    g_free(call);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Call, call_free)

/* Send a message of @in_len bytes, 0: of its layout, with room for @out_len. */
static Call *call_sized(ErnicMlx5Function *f, uint16_t opcode, const char *text,
                        uint32_t in_len, uint32_t out_len)
{
    const Mlx5Command *command = mlx5_command_find(opcode);
    uint8_t in[2 * ERNIC_MLX5_MESSAGE_ROOM] = { }, known[sizeof(in)];
    Call *call = g_new0(Call, 1);

    g_assert_nonnull(command);
    in_len = in_len ? in_len : command->in->bits / 8;
    out_len = out_len ? out_len : command->out->bits / 8;
    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, opcode);
    g_assert_true(mlx5_encode(command->in, text, in, in, in_len));
    g_assert_true(ernic_mlx5_function_execute(f, in, in_len, call->out, out_len));
    call->refusal = ernic_mlx5_get(call->out, &ernic_mlx5_plain_out.syndrome);
    g_assert_cmpuint(call->refusal, <, ERNIC_MLX5_REFUSALS);
    IS(ernic_mlx5_get(call->out, &ernic_mlx5_plain_out.status),
       ernic_mlx5_statuses[call->refusal].status);
    call->text = g_string_new(NULL);
    if (!call->refusal) {
        mlx5_decode(command->out, call->out, out_len, in, call->text, known);
    }
    return call;
}

static Call *call(ErnicMlx5Function *f, uint16_t opcode, const char *text)
{
    return call_sized(f, opcode, text, 0, 0);
}

/* Send a message, and check the whole answer; both are words of mlx5_lines(). */
static void accepts(ErnicMlx5Function *f, uint16_t opcode, const char *text,
                    const char *answer)
{
    g_autofree char *in = mlx5_lines("", text, PORT), *out = mlx5_lines("", answer, PORT);
    g_autoptr(Call) c = call(f, opcode, in);

    g_assert_cmpstr(ernic_mlx5_statuses[c->refusal].reason, ==, "accepted");
    g_assert_cmpstr(c->text->str, ==, out);
}

static void to_state(ErnicMlx5Function *f, ErnicMlx5State state)
{
    ernic_mlx5_function_init(f, NULL, &config);
    if (state != ERNIC_MLX5_DISABLED) {
        accepts(f, 0x104, "", "");
    }
    if (state == ERNIC_MLX5_RUNNING) {
        accepts(f, 0x102, "", "");
    }
    IS(f->state, state);
}

#define RUNNING_TEST(path, fn) \
    WORLD_TEST(path, fn, ErnicMlx5Function, f, to_state(f, ERNIC_MLX5_RUNNING), (void)f)

/* The commands of a driver from probe to removal, twice. */
TEST("/mlx5/function/life-cycle", test_life_cycle)
{
    static const struct {
        uint16_t opcode;
        const char *text, *answer;
    } steps[] = {
        { 0x104, "", "" }, { 0x10a, "", "supported_issi_dw0=0x2" },
        { 0x10b, "current_issi=1", "" },
        { 0x10a, "", "current_issi=0x1,supported_issi_dw0=0x2" },
        { 0x107, "op_mod=1", "" }, { 0x107, "op_mod=2", "" }, { 0x108, "op_mod=1", "" },
        { 0x102, "", "" }, { 0x10d, "driver_version[0]=0x4c", "" },
        { 0x802, "", "uar=0x10" }, { 0x803, "uar=0x10", "" },
        { 0x802, "", "uar=0x10" }, { 0x107, "op_mod=3", "" }, { 0x103, "", "" },
        { 0x105, "", "" },
    };
    ErnicMlx5Function f;

    ernic_mlx5_function_init(&f, NULL, &config);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++) {
            accepts(&f, steps[i].opcode, steps[i].text, steps[i].answer);
        }
        IS(f.state, ERNIC_MLX5_DISABLED);
        IS(f.issi, 0);
        g_assert_true(!f.uars[2]);
    }
}

/* The states in which each command that needs no engine is answered. */
static const struct {
    uint16_t opcode;
    bool disabled, enabled, running;
} states[] = {
    { 0x100, false, true, true }, { 0x101, false, true, true },
    { 0x102, false, true, false }, { 0x103, false, false, true },
    { 0x104, true, false, false }, { 0x105, false, true, false },
    { 0x107, false, true, true }, { 0x108, false, true, true },
    { 0x109, false, true, false }, { 0x10a, false, true, true },
    { 0x10b, false, true, false }, { 0x10d, false, false, true },
    { 0x750, false, false, true }, { 0x751, false, false, true },
    { 0x754, false, false, true }, { 0x755, false, false, true },
    { 0x802, false, false, true }, { 0x803, false, false, true },
    { 0x805, false, true, true },
};

/*
 * Whether there is such a command. Each is known by name, exists once, and is allowed
 * somewhere.
 */
static bool exists(uint16_t opcode)
{
    uint32_t found = 0;

    for (uint32_t t = 0; t < ernic_mlx5_num_command_tables; t++) {
        const ErnicMlx5CommandTable *table = ernic_mlx5_command_tables[t];

        for (uint32_t i = 0; i < table->num; i++) {
            const ErnicMlx5CommandRow *row = &table->rows[i];

            g_assert_cmpstr(mlx5_command_find(row->opcode)->name, ==, row->name);
            g_assert_cmpuint(row->allowed & STATES, !=, 0);
            found += row->opcode == opcode;
        }
    }
    g_assert_cmpuint(found, <=, 1);
    return found;
}

TEST("/mlx5/function/states", test_states)
{
    uint32_t i;

    for (uint32_t c = 0; c < mlx5_num_commands; c++) {
        uint16_t opcode = mlx5_commands[c].opcode;

        for (i = 0; i < ARRAY_SIZE(states) && states[i].opcode != opcode; i++) {
        }
        if (exists(opcode) && i == ARRAY_SIZE(states)) {
            continue;                   /* its test has an engine */
        }
        for (uint32_t state = 0; state <= ERNIC_MLX5_RUNNING; state++) {
            g_autoptr(Call) answer = NULL;
            ErnicMlx5Function f, before;
            bool allowed;

            memset(&f, 0, sizeof(f));
            to_state(&f, state);
            before = f;
            answer = call(&f, opcode, "");
            if (i == ARRAY_SIZE(states)) {
                IS(answer->refusal, ERNIC_MLX5_UNKNOWN_COMMAND);
                continue;
            }
            allowed = state == ERNIC_MLX5_DISABLED ? states[i].disabled :
                      state == ERNIC_MLX5_ENABLED ? states[i].enabled : states[i].running;
            IS(answer->refusal != ERNIC_MLX5_NOT_NOW, allowed);
            g_assert_true(allowed || !memcmp(&f, &before, sizeof(f)));
        }
    }
}

static const Mlx5Refused refusals[] = {
    R(0x104, OTHER_FUNCTION, "", "function_id=1 embedded_cpu_function=1"),
    R(0x105, OTHER_FUNCTION, "", "function_id=1"),
    R(0x107, BAD_MODIFIER, "", "op_mod=0 op_mod=4"),
    R(0x107, OTHER_FUNCTION, "", "op_mod=1,function_id=1"),
    R(0x108, BAD_MODIFIER, "", "op_mod=3"),
    R(0x108, NO_PAGES, "", "op_mod=1,input_num_entries=1"),
    R(0x108, OTHER_FUNCTION, "", "op_mod=1,function_id=2"),
    R(0x100, NO_GROUP, "", "op_mod=0xa op_mod=0x7e"),
    R(0x100, OTHER_FUNCTION, "", "other_function=1"),
    R(0x109, NO_GROUP, "", "op_mod=0x7e"),
    R(0x109, OTHER_FUNCTION, "", "other_function=1"),
    R(0x109, BAD_CAPABILITY, "", "capability.rc=1"),
    R(0x10b, BAD_ISSI, "", "current_issi=0 current_issi=2"),
    R(0x103, BAD_VALUE, "", "profile=1"), R(0x803, BAD_UAR, "", "uar=0x10 uar=0xffffff"),
    R(0x754, OTHER_FUNCTION, "", "other_vport=1 vport_number=1"),
    R(0x754, BAD_LIST, "", "allowed_list_type=3"),
    R(0x755, OTHER_FUNCTION, "", "other_vport=1"),
    R(0x755, BAD_SELECT, "", "field_select.affiliation=1"),
    R(0x755, BAD_VALUE, "", "field_select.mtu=1,nic_vport_context.mtu=9023"),
    R(0x755, BAD_LIST, "field_select.addresses_list=1\n", ".allowed_list_type=7 "
      ".allowed_list_size=129", "nic_vport_context"),
    R(0x755, SHORT_MESSAGE, "field_select.addresses_list=1\n", ".allowed_list_size=1 "
      ".allowed_list_type=2,.allowed_list_size=4095", "nic_vport_context"),
    R(0x750, BAD_MODIFIER, "", "op_mod=1"), R(0x750, OTHER_FUNCTION, "", "other_vport=1"),
    R(0x751, BAD_MODIFIER, "", "op_mod=1"),
    R(0x751, OTHER_FUNCTION, "", "vport_number=3"),
    R(0x751, BAD_VALUE, "", "admin_state=3"),
    R(0x805, BAD_MODIFIER, "", "op_mod=2,register_id=0x5003"),
    R(0x805, SHORT_MESSAGE, "", "op_mod=1,register_id=0x5003"),
    R(0x805, NO_REGISTER, "", "op_mod=1,register_id=0x7004"),
};

/* A refused command changes nothing, here in the first state that has it. */
static void refused(void *opaque, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    g_autofree ErnicMlx5Function *f = g_new0(ErnicMlx5Function, 1), *before = NULL;
    g_autoptr(Call) c = NULL;
    uint32_t *seen = opaque, i;

    for (i = 0; states[i].opcode != opcode; i++) {
    }
    to_state(f, states[i].disabled ? ERNIC_MLX5_DISABLED :
                states[i].enabled ? ERNIC_MLX5_ENABLED : ERNIC_MLX5_RUNNING);
    before = g_memdup2(f, sizeof(*f));
    c = call(f, opcode, text);
    IS(c->refusal, why);
    g_assert_cmpmem(f, sizeof(*f), before, sizeof(*before));
    *seen |= 1u << c->refusal;
}

TEST("/mlx5/function/refusals", test_refusals)
{
    uint32_t seen = 1u << ERNIC_MLX5_ACCEPTED | 1u << ERNIC_MLX5_NOT_NOW;

    mlx5_each_refused(refusals, ARRAY_SIZE(refusals), refused, &seen);
    /* test_uars() is the case for the last page, test_unknown() for an opcode. */
    seen |= 1u << ERNIC_MLX5_NO_UAR | 1u << ERNIC_MLX5_UNKNOWN_COMMAND;
    /* The others have causes in the engine. */
    IS(seen, (2u << ERNIC_MLX5_SHORT_MESSAGE) - 1);
    for (uint32_t i = 0; i < ERNIC_MLX5_REFUSALS; i++) {
        g_assert_nonnull(ernic_mlx5_statuses[i].reason);
        IS(ernic_mlx5_statuses[i].status == 0, i == 0);
    }
}

/*
 * The errno of Linux for each status that an answer can have (cmd_status_to_err() of
 * mlx5_core). NO_RES (0x0f) is EAGAIN there, and the driver repeats some commands
 * without end. A status without a row would be EIO.
 */
TEST("/mlx5/function/statuses", test_statuses)
{
    static const struct {
        uint8_t status;
        int error;
    } linux_errors[] = {
        { 0x00, 0 }, { 0x01, EIO }, { 0x02, EINVAL }, { 0x03, EINVAL }, { 0x04, EIO },
        { 0x05, EINVAL }, { 0x06, EBUSY }, { 0x08, ENOMEM }, { 0x09, EINVAL },
        { 0x0f, EAGAIN }, { 0x50, EIO },
    };
    /* Programs rely on these errors. */
    static const int expected[ERNIC_MLX5_REFUSALS] = {
        [ERNIC_MLX5_NO_UAR] = ENOMEM, [ERNIC_MLX5_NO_RESOURCE] = ENOMEM,
        [ERNIC_MLX5_BUSY] = EBUSY, [ERNIC_MLX5_BAD_STATE] = EINVAL,
        [ERNIC_MLX5_BAD_VALUE] = EINVAL, [ERNIC_MLX5_NO_OBJECT] = EINVAL,
        [ERNIC_MLX5_DMA] = EIO,
    };

    for (uint32_t i = 0; i < ERNIC_MLX5_REFUSALS; i++) {
        uint32_t k = 0;

        while (linux_errors[k].status != ernic_mlx5_statuses[i].status) {
            g_assert_cmpuint(++k, <, ARRAY_SIZE(linux_errors));
        }
        g_test_message("%s", ernic_mlx5_statuses[i].reason);
        g_assert_cmpint(linux_errors[k].error, !=, EAGAIN);
        g_assert_true(!expected[i] || linux_errors[k].error == expected[i]);
    }
}

RUNNING_TEST("/mlx5/function/unknown", test_unknown)
{
    uint8_t in[ERNIC_MLX5_MESSAGE_ROOM] = { 0xff, 0xff };
    uint8_t out[ERNIC_MLX5_MESSAGE_ROOM] = { };

    g_assert_true(ernic_mlx5_function_execute(f, in, 16, out, 16));
    IS(ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome), ERNIC_MLX5_UNKNOWN_COMMAND);
}

/* The table of the document has every reason. */
TEST("/mlx5/function/document", test_document)
{
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(ERNIC_DOCS "/mlx5-interface.md", &text, NULL,
                                      NULL));
    for (uint32_t i = 1; i < ERNIC_MLX5_REFUSALS; i++) {
        const ErnicMlx5Status *status = &ernic_mlx5_statuses[i];
        g_autofree char *row = g_strdup_printf("\n| 0x%02x | 0x%02x | %s |\n", i,
                                               status->status, status->reason);

        g_test_message("%s", row);
        g_assert_nonnull(strstr(text, row));
    }
}

RUNNING_TEST("/mlx5/function/uars", test_uars)
{
    g_autoptr(Call) last = NULL;

    for (uint32_t i = ERNIC_MLX5_UAR_FIRST; i < ERNIC_MLX5_UAR_END; i++) {
        g_autofree char *answer = g_strdup_printf("uar=%#x", i);

        accepts(f, 0x802, "", answer);
    }
    last = call(f, 0x802, "");
    IS(last->refusal, ERNIC_MLX5_NO_UAR);
    accepts(f, 0x803, "uar=0x3ff", "");
    accepts(f, 0x802, "", "uar=0x3ff");
}

static bool has_field(const ErnicMlx5Layout *layout, const ErnicMlx5Field *field)
{
    return field >= layout->fields && field < layout->fields + layout->num_fields;
}

/* Every row names a field of its group, once, with values that fit. */
TEST("/mlx5/function/profile", test_profile)
{
    g_assert_cmpuint(ernic_mlx5_num_capabilities, <=, ERNIC_MLX5_MAX_CAPABILITIES);
    for (uint32_t i = 0; i < ernic_mlx5_num_capabilities; i++) {
        const ErnicMlx5Capability *cap = &ernic_mlx5_profile[i];
        const ErnicMlx5Layout *layout = mlx5_capability_layout(cap->group);

        g_test_message("%s", cap->field->name);
        g_assert_nonnull(layout);
        if (cap->part) {
            g_assert_true(has_field(layout, cap->part));
            layout = cap->part->layout;
        }
        g_assert_true(has_field(layout, cap->field));
        g_assert_cmpuint(MAX(cap->value, cap->max), <, 1ull << cap->field->width);
        g_assert_true(!cap->max || cap->value <= cap->max);
        g_assert_cmpuint(cap->value, !=, 0);
        for (uint32_t k = 0; k < i; k++) {
            g_assert_true(ernic_mlx5_profile[k].field != cap->field ||
                          ernic_mlx5_profile[k].part != cap->part);
        }
    }
}

/* Fields without which Linux creates no network device, or no RDMA device. */
TEST("/mlx5/function/required", test_required)
{
    static const struct {
        uint32_t group;
        const ErnicMlx5Field *part, *field;
    } required[] = {
#define CAP(field)      { 0, NULL, &ernic_mlx5_cmd_hca_cap.field }
#define OFFLOAD(field)  { 1, NULL, \
                          &ernic_mlx5_per_protocol_networking_offload_caps.field }
#define FLOW(field) \
    { 7, &ernic_mlx5_flow_table_nic_cap.flow_table_properties_nic_receive, \
      &ernic_mlx5_flow_table_prop_layout.field }
        CAP(roce), CAP(xrc), CAP(eth_net_offloads), CAP(nic_flow_table),
        OFFLOAD(csum_cap), OFFLOAD(max_lso_cap), OFFLOAD(vlan_cap),
        OFFLOAD(rss_ind_tbl_cap), FLOW(ft_support), FLOW(max_ft_level),
    };
    ErnicMlx5Capabilities caps = { };

    ernic_mlx5_capabilities_reset(&caps);
    for (uint32_t i = 0; i < ARRAY_SIZE(required); i++) {
        uint8_t data[4096] = { }, *part = data;

        g_test_message("%s", required[i].field->name);
        g_assert_true(ernic_mlx5_capabilities_get(&caps, required[i].group, false, data));
        if (required[i].part) {
            part += required[i].part->offset / 8;
        }
        g_assert_cmpuint(ernic_mlx5_get(part, required[i].field), >, 0);
    }
}

/* Numbers of objects are those of the engine, but no more than the profile's. */
TEST("/mlx5/function/limits", test_limits)
{
    static const char want[] =
        "log_max_qp=6 log_max_cq=5 log_max_srq=3 log_max_rmp=3 log_max_eq=2 "
        "log_max_mkey=20 log_max_pd=4 log_max_xrcd=4 log_max_transport_domain=4";
    const ErnicMlx5Field *qp = &ernic_mlx5_cmd_hca_cap.log_max_qp;
    const ErnicConfig cfg = {
        .max_qp = 64, .max_cq = 63, .max_srq = 8, .max_eq = 4, .max_mr = 1 << 20,
        .max_pd = 16,
    };
    ErnicMlx5Capabilities caps = { .limits = &cfg };
    uint8_t data[256] = { }, most[256] = { };
    uint32_t groups, members;

    ernic_mlx5_capabilities_reset(&caps);
    ernic_mlx5_capabilities_get(&caps, 0, false, data);
    /* Linux takes the product for the number of attachments. */
    groups = 1u << ernic_mlx5_get(data, &ernic_mlx5_cmd_hca_cap.log_max_mcg);
    members = ernic_mlx5_get(data, &ernic_mlx5_cmd_hca_cap.max_qp_mcg);
    IS(groups, ERNIC_LIM_MCAST_GROUP);
    IS(groups * members, ERNIC_LIM_MCAST_ATTACH);
    ernic_mlx5_capabilities_get(&caps, 0, true, most);
    FIELDS_ARE(cmd_hca_cap, data, want);
    FIELDS_ARE(cmd_hca_cap, most, want);
    ernic_mlx5_put(data, qp, 7);
    g_assert_false(ernic_mlx5_capabilities_set(&caps, 0, data));
    ernic_mlx5_put(data, qp, 5);
    g_assert_true(ernic_mlx5_capabilities_set(&caps, 0, data));
    /* The maximum stays; the current value has changed. */
    ernic_mlx5_capabilities_get(&caps, 0, true, most);
    FIELDS_ARE(cmd_hca_cap, most, want);
    ernic_mlx5_capabilities_get(&caps, 0, false, data);
    IS(ernic_mlx5_get(data, qp), 5);
}

/* Software may set what the table allows, and nothing else, bit by bit. */
TEST("/mlx5/function/set", test_set)
{
    for (uint32_t bit = 0; bit < ernic_mlx5_cmd_hca_cap.self.bits; bit++) {
        ErnicMlx5Capabilities caps = { }, before;
        uint8_t data[256] = { }, after[256] = { };
        bool done;

        ernic_mlx5_capabilities_reset(&caps);
        before = caps;
        g_assert_true(ernic_mlx5_capabilities_get(&caps, 0, false, data));
        g_assert_true(ernic_mlx5_capabilities_set(&caps, 0, data));
        data[bit / 8] ^= 0x80 >> bit % 8;
        done = ernic_mlx5_capabilities_set(&caps, 0, data);
        ernic_mlx5_capabilities_get(&caps, 0, false, after);
        if (!done) {
            g_assert_cmpmem(&caps, sizeof(caps), &before, sizeof(before));
        } else {
            /* log_max_qp is 14, so that all its bits but two may be toggled. */
            const ErnicMlx5Field *qp = &ernic_mlx5_cmd_hca_cap.log_max_qp;

            g_assert_cmpuint(bit, >=, qp->offset);
            g_assert_cmpuint(bit, <, qp->offset + qp->width);
            g_assert_cmpmem(after, sizeof(after), data, sizeof(data));
        }
    }
}

/* Linux sets the order of atomic results, without the other fields of the group. */
TEST("/mlx5/function/set-atomic", test_set_atomic)
{
    const ErnicMlx5Field *mode = &ernic_mlx5_atomic_caps.atomic_req_8B_endianness_mode;
    const ErnicMlx5Field *sizes = &ernic_mlx5_atomic_caps.atomic_size_qp;
    ErnicMlx5Capabilities caps = { }, before;
    uint8_t data[256] = { };

    ernic_mlx5_capabilities_reset(&caps);
    before = caps;
    ernic_mlx5_put(data, mode, 1);
    g_assert_true(ernic_mlx5_capabilities_set(&caps, 3, data));
    g_assert_cmpmem(&caps, sizeof(caps), &before, sizeof(before));
    /* The other order does not exist. */
    ernic_mlx5_put(data, mode, 0);
    g_assert_false(ernic_mlx5_capabilities_set(&caps, 3, data));
    ernic_mlx5_put(data, mode, 1);
    ernic_mlx5_put(data, sizes, 16);
    g_assert_false(ernic_mlx5_capabilities_set(&caps, 3, data));
    ernic_mlx5_put(data, sizes, 0);
    ernic_mlx5_put(data, mode, 2);
    g_assert_false(ernic_mlx5_capabilities_set(&caps, 3, data));
}

#define CONTEXT PORT "."
#define ADDRESS ".permanent_address.mac_addr_47_32=0x5254," \
                ".permanent_address.mac_addr_31_0=0x123456"
#define GUIDS   ".system_image_guid=0x525400fffe123456,.port_guid=0x525400fffe123456," \
                ".node_guid=0x525400fffe123456,"

RUNNING_TEST("/mlx5/function/vport", test_vport)
{
    accepts(f, 0x754, "", ".mtu=0x233e," GUIDS ADDRESS);
    accepts(f, 0x755, "field_select.promisc=1,field_select.roce_en=1,field_select.mtu=1,"
            "field_select.change_event=1,.promisc_all=1,.promisc_mc=1,.roce_en=1,"
            ".mtu=1522,.arm_change_event=1,.event_on_mtu=1", "");
    accepts(f, 0x754, "", ".roce_en=0x1,.arm_change_event=0x1,.event_on_mtu=0x1,"
            ".mtu=0x5f2," GUIDS ".promisc_mc=0x1,.promisc_all=0x1," ADDRESS);
    accepts(f, 0x755, "field_select.disable_uc_local_lb=1,.disable_uc_local_lb=1,"
            ".disable_mc_local_lb=1", "");
    /* A field that is not selected stays. */
    accepts(f, 0x755, "field_select.promisc=1,.mtu=64", "");
    accepts(f, 0x755, "field_select.permanent_address=1,"
            ".permanent_address.mac_addr_31_0=0x1,.mtu=64", "");
    accepts(f, 0x754, "", ".disable_uc_local_lb=0x1,.roce_en=0x1,.arm_change_event=0x1,"
            ".event_on_mtu=0x1,.mtu=0x5f2," GUIDS ".permanent_address.mac_addr_31_0=0x1");
    accepts(f, 0x103, "", "");
    accepts(f, 0x102, "", "");
    accepts(f, 0x754, "", ".mtu=0x233e," GUIDS ADDRESS);
}

/* A list is as long as the message; a query returns what it has room for. */
RUNNING_TEST("/mlx5/function/vport-lists", test_vport_lists)
{
    const uint32_t in_base = 0x200, out_base = 0x10 + 0x100;
    g_autoptr(Call) set = NULL, wide = NULL, narrow = NULL, vlans = NULL, other = NULL;

    set = call_sized(f, 0x755, "field_select.addresses_list=1\n"
                     CONTEXT "allowed_list_type=1\n" CONTEXT "allowed_list_size=2\n"
                     CONTEXT "current_uc_mac_address[0]=0x33335e000001\n"
                     CONTEXT "current_uc_mac_address[1]=0x33335e000002",
                     in_base + 2 * 8, 0);
    IS(set->refusal, ERNIC_MLX5_ACCEPTED);
    wide = call_sized(f, 0x754, "allowed_list_type=1", 0, out_base + 4 * 8);
    g_assert_nonnull(strstr(wide->text->str, "allowed_list_size=0x2\n"));
    g_assert_nonnull(strstr(wide->text->str, "address[0]=0x33335e000001\n"));
    g_assert_nonnull(strstr(wide->text->str, "address[1]=0x33335e000002\n"));
    narrow = call_sized(f, 0x754, "allowed_list_type=1", 0, out_base + 8);
    g_assert_nonnull(strstr(narrow->text->str, "allowed_list_size=0x1\n"));
    g_assert_null(strstr(narrow->text->str, "address[1]"));
    /* VLANs have 32 bits each. */
    vlans = call_sized(f, 0x755, "field_select.addresses_list=1\n"
                       CONTEXT "allowed_list_type=2\n" CONTEXT "allowed_list_size=2\n"
                       CONTEXT "current_uc_mac_address[0]=0x00000fff00000123",
                       in_base + 8, 0);
    IS(vlans->refusal, ERNIC_MLX5_ACCEPTED);
    IS(f->vport.vlans[0], 0xfff);
    IS(f->vport.vlans[1], 0x123);
    other = call_sized(f, 0x754, "allowed_list_type=2", 0, out_base + 8);
    g_assert_nonnull(strstr(other->text->str, "address[0]=0xfff00000123\n"));
    accepts(f, 0x754, "", ".mtu=0x233e," GUIDS ADDRESS);
}

RUNNING_TEST("/mlx5/function/vport-state", test_vport_state)
{
    accepts(f, 0x750, "", "admin_state=0x1,state=0x1");
    accepts(f, 0x751, "admin_state=0", "");
    accepts(f, 0x750, "", "");
    accepts(f, 0x751, "admin_state=2", "");
    accepts(f, 0x750, "", "admin_state=0x2,state=0x1");
    f->config.link_up = false;
    accepts(f, 0x750, "", "admin_state=0x2");
}

#define DATA    "register_data"

/* Access register @id, of @bytes, with @words; the answer's register. */
static Call *access_reg(ErnicMlx5Function *f, uint32_t id, uint32_t bytes,
                        const char *words)
{
    g_autofree char *base = g_strdup_printf("register_id=%#x\n", id);
    g_autofree char *all = mlx5_lines(base, words, DATA);

    return call_sized(f, 0x805, all, 16 + bytes, 16 + bytes);
}

static const struct {
    uint32_t id, bytes;
    const char *text, *answer;      /* NULL: BAD_VALUE */
} registers[] = {
    { 0x5003, 16, "op_mod=1,.local_port=1", ".local_port=0x1,.max_mtu=0x233e,"
      ".admin_mtu=0x233e,.oper_mtu=0x233e" },
    { 0x5003, 16, ".local_port=1,.admin_mtu=1522", ".local_port=0x1,.max_mtu=0x233e,"
      ".admin_mtu=0x5f2,.oper_mtu=0x5f2" },
    { 0x5003, 16, ".local_port=1,.admin_mtu=63", NULL },
    { 0x5003, 16, ".local_port=1,.admin_mtu=9023", NULL },
    { 0x5003, 16, "op_mod=1,.local_port=2", NULL },
    { 0x5003, 16, "op_mod=1,.local_port=1", ".local_port=0x1,.max_mtu=0x233e,"
      ".admin_mtu=0x5f2,.oper_mtu=0x5f2" },
    { 0x5004, 64, "op_mod=1,.local_port=1,.proto_mask=4", ".local_port=0x1,"
      ".proto_mask=0x4,.eth_proto_capability=0x100000,.eth_proto_admin=0x100000,"
      ".eth_proto_oper=0x100000" },
    { 0x5004, 64, "op_mod=1,.local_port=1,.proto_mask=1", NULL },
    { 0x5004, 64, ".local_port=1,.proto_mask=4,.eth_proto_admin=2", NULL },
    { 0x5004, 64, ".local_port=1,.proto_mask=4", ".local_port=0x1,.proto_mask=0x4,"
      ".eth_proto_capability=0x100000" },
    { 0x6001, 64, "op_mod=1", ".desc[0]=0x72646d61,.desc[1]=0x2d65726e,"
      ".desc[2]=0x69630000" },
    { 0x6001, 64, ".desc[15]=1", ".desc[15]=0x1" },
    { 0x6001, 64, "op_mod=1", ".desc[15]=0x1" },
    { 0x5006, 16, "op_mod=1,.local_port=1", ".local_port=0x1,.admin_status=0x1,"
      ".oper_status=0x1" },
    { 0x5006, 16, ".local_port=1,.admin_status=2,.ase=1", ".local_port=0x1,"
      ".admin_status=0x2,.oper_status=0x1" },
    { 0x5006, 16, ".local_port=1,.admin_status=1", ".local_port=0x1,.admin_status=0x2,"
      ".oper_status=0x1" },
    { 0x5006, 16, ".local_port=1,.admin_status=3,.ase=1", NULL },
    { 0x5006, 16, "op_mod=1", NULL },
    { 0x5007, 32, "op_mod=1,.local_port=1", ".local_port=0x1" },
    { 0x5007, 32, ".local_port=1,.prio_mask_tx=0xff", ".local_port=0x1" },
    { 0x5007, 32, ".local_port=1,.pptx=1", NULL },
    { 0x5007, 32, ".local_port=1,.pprx=1", NULL },
    { 0x5007, 32, ".local_port=1,.pfcrx=1", NULL },
    { 0x5007, 32, "op_mod=1", NULL },
};

RUNNING_TEST("/mlx5/function/registers", test_registers)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(registers); i++) {
        g_autoptr(Call) c = access_reg(f, registers[i].id, registers[i].bytes,
                                       registers[i].text);

        g_test_message("%x %s", registers[i].id, registers[i].text);
        if (registers[i].answer) {
            g_autofree char *answer = mlx5_lines("", registers[i].answer, DATA);

            IS(c->refusal, ERNIC_MLX5_ACCEPTED);
            g_assert_cmpstr(c->text->str, ==, answer);
        } else {
            IS(c->refusal, ERNIC_MLX5_BAD_VALUE);
        }
    }
}

/* PTYS names the fastest mode that is not above the speed, whatever was saved before. */
TEST("/mlx5/function/speeds", test_speeds)
{
    static const struct {
        uint32_t mbps, mode;
    } speeds[] = {
        { 0, 0x100000 }, { 1, 0x2 }, { 1000, 0x2 }, { 10000, 0x1000 }, { 24999, 0x20 },
        { 25000, 0x8000000 }, { 40000, 0x40 }, { 50000, 0x40000000 },
        { 56000, 0x40000000 },
        { 100000, 0x100000 }, { 1600000, 0x100000 },
    };
    ErnicMlx5Function f;

    for (uint32_t i = 0; i < ARRAY_SIZE(speeds); i++) {
        g_autofree char *want = g_strdup_printf("register_data.local_port=0x1\n"
            "register_data.proto_mask=0x4\nregister_data.eth_proto_capability=%#x\n"
            "register_data.eth_proto_admin=%#x\nregister_data.eth_proto_oper=%#x\n",
            speeds[i].mode, speeds[i].mode, speeds[i].mode);
        g_autoptr(Call) c = NULL;

        to_state(&f, ERNIC_MLX5_RUNNING);
        /* As if a device with another speed had saved the state. */
        f.config.link_speed = speeds[i].mbps;
        g_assert_true(ernic_mlx5_port_registers_ok(&f));
        c = access_reg(&f, 0x5004, 64, "op_mod=1,.local_port=1,.proto_mask=4");
        g_assert_cmpstr(c->text->str, ==, want);
    }
}

TEST("/mlx5/function/adapter", test_adapter)
{
    const ErnicMlx5Field *board = &ernic_mlx5_query_adapter_param_block.vsd_contd_psid;
    g_autoptr(Call) c = NULL;
    ErnicMlx5Function f;

    to_state(&f, ERNIC_MLX5_ENABLED);
    c = call(&f, 0x101, "");
    IS(c->refusal, ERNIC_MLX5_ACCEPTED);
    g_assert_cmpmem(c->out + 16 + board->offset / 8, 16, config.board_id, 16);
    g_assert_nonnull(strstr(c->text->str, "ieee_vendor_id=0x525400\n"));
}
