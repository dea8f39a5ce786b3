/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command table and its dispatcher; device, port and context commands. A
 * command that fails has changed nothing: the saved state is compared.
 */
#include "qemu/osdep.h"
#include "interfaces/verbs/commands.h"
#include "fake_verbs.h"
#include "objects/gid.h"
#include "test.h"
#include "trace-mark.h"

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    FakeEq eq;
    uint32_t uctx;
    uint64_t mem;               /* 4096 bytes for answers */
} Fixture;

static void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    fake_create_eq(f->e, &f->eq, 64, 0, true);
    f->uctx = fake_create_uctx(f->e);
    f->mem = fake_alloc(&f->env, 4096, 4096);
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
}

/* Exec on behalf of @uctx; a failure must leave the state unchanged. */
static uint8_t exec(Fixture *f, uint32_t uctx, struct ernic_cmd *cmd,
                    struct ernic_rsp *rsp)
{
    g_autoptr(GByteArray) before = g_byte_array_new(), after = g_byte_array_new();
    ErnicStats stats = f->e->stats;
    struct ernic_rsp own, zero = { };

    rsp = rsp ? rsp : &own;
    memset(rsp, 0xa5, sizeof(*rsp));
    cmd->tag = cpu_to_le16(0xbeef);
    cmd->uctx = cpu_to_le32(uctx);
    ernic_save(f->e, before);
    ernic_slice(f->e);
    g_assert_true(ernic_cmd(f->e, f->env.now, cmd, rsp));
    IS(le16_to_cpu(rsp->tag), 0xbeef);
    g_assert_cmpmem(rsp->reserved, sizeof(rsp->reserved), zero.reserved,
                    sizeof(zero.reserved));
    IS(f->e->stats.commands, stats.commands + 1);
    IS(f->e->stats.bad_commands, stats.bad_commands + (rsp->status != ERNIC_OK));
    if (rsp->status) {
        ErnicStats now = f->e->stats;

        IS(rsp->handle, 0);
        IS(rsp->length, 0);
        f->e->stats = stats;
        ernic_save(f->e, after);
        f->e->stats = now;
        g_assert_cmpmem(before->data, before->len, after->data, after->len);
    }
    return rsp->status;
}

static uint8_t exec_handle(Fixture *f, uint32_t uctx, uint8_t opcode, uint32_t handle)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    cmd.handle.handle = cpu_to_le32(handle);
    return exec(f, uctx, &cmd, NULL);
}

TEST("/cmd/table", test_table)
{
    GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
    uint32_t op;

    for (op = 0; op < ERNIC_CMD_COUNT; op++) {
        const ErnicCmdInfo *info = ernic_cmd_info(op);

        g_assert_nonnull(info->name);
        g_assert_true(g_hash_table_add(names, (gpointer)info->name));
        g_assert_cmpuint(info->len, <=, sizeof_field(struct ernic_cmd, raw));
        IS(info->flags & ~ERNIC_CMDF_KERNEL, 0);
    }
    for (; op < 256; op++) {
        g_assert_null(ernic_cmd_info(op));
    }
    g_hash_table_unref(names);
    /* Exactly the fields, without the padding after them. */
    IS(ernic_cmd_info(ERNIC_CMD_NOP)->len, 0);
    IS(ernic_cmd_info(ERNIC_CMD_SET_GID)->len, 25);
    IS(ernic_cmd_info(ERNIC_CMD_QP_CREATE)->len, 12);
    IS(ernic_cmd_info(ERNIC_CMD_QP_MODIFY)->len, 16);
}

TEST("/cmd/status-names", test_status_names)
{
    uint32_t i;

    for (i = 0; i < ERNIC_STATUS_COUNT; i++) {
        for (uint32_t k = 0; k < i; k++) {
            g_assert_cmpstr(ernic_status_name(i), !=, ernic_status_name(k));
        }
        g_assert_cmpstr(ernic_status_name(i), !=, "invalid");
    }
    g_assert_cmpstr(ernic_status_name(i), ==, "invalid");
}

ENGINE_TEST("/cmd/unknown", test_unknown)
{
    for (uint32_t op = ERNIC_CMD_COUNT; op < 256; op++) {
        struct ernic_cmd cmd = { .opcode = op };

        IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_OPCODE);
    }
    IS(ernic_trace_count("ernic_guest_cmd_opcode"), 256 - ERNIC_CMD_COUNT);
}

/* Every byte after the payload of every command, and the reserved one in the header. */
ENGINE_TEST("/cmd/reserved", test_reserved)
{
    uint32_t n = 0;

    for (uint32_t op = 0; op < ERNIC_CMD_COUNT; op++) {
        struct ernic_cmd cmd = { .opcode = op, .reserved = 1 };

        IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_RESERVED);
        cmd.reserved = 0;
        for (uint32_t i = ernic_cmd_info(op)->len; i < sizeof(cmd.raw); i++) {
            cmd.raw[i] = 1 << (i % 8);
            IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_RESERVED);
            cmd.raw[i] = 0;
            n++;
        }
    }
    IS(ernic_trace_count("ernic_guest_cmd_reserved"), n + ERNIC_CMD_COUNT);
}

/* Contexts that do not exist, and commands reserved for the kernel. */
ENGINE_TEST("/cmd/contexts", test_contexts)
{
    static const uint32_t unknown[] = {
        7, 8, ERNIC_LIM_UCTX, ERNIC_LIM_UCTX + 1, UINT32_MAX,
    };
    uint32_t kernel = 0;

    for (uint32_t op = 0; op < ERNIC_CMD_COUNT; op++) {
        struct ernic_cmd cmd = { .opcode = op };

        for (uint32_t i = 0; i < ARRAY_SIZE(unknown); i++) {
            IS(exec(f, unknown[i], &cmd, NULL), ERNIC_ERR_HANDLE);
        }
        if (ernic_cmd_info(op)->flags & ERNIC_CMDF_KERNEL) {
            IS(exec(f, f->uctx, &cmd, NULL), ERNIC_ERR_PERM);
            kernel++;
        } else {
            g_assert_cmpint(exec(f, f->uctx, &cmd, NULL), !=, ERNIC_ERR_PERM);
        }
    }
    IS(kernel, 13);
    IS(ernic_trace_count("ernic_guest_cmd_perm"), kernel);
    IS(ernic_trace_count("ernic_guest_cmd_uctx"), ERNIC_CMD_COUNT * ARRAY_SIZE(unknown));
}

ENGINE_TEST("/cmd/context-life", test_context_life)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_rsp rsp;
    uint32_t pd;
    FakeCq cq;

    OK(exec(f, f->uctx, &cmd, &rsp));
    pd = le32_to_cpu(rsp.handle);
    f->env.uctx = f->uctx;
    fake_create_cq(f->e, &cq, 16, FAKE_NONE);
    f->env.uctx = 0;
    /* No other context's object, the kernel's included. */
    g_assert_cmpint(exec_handle(f, 0, ERNIC_CMD_PD_FREE, pd), !=, ERNIC_OK);
    IS(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, f->uctx), ERNIC_ERR_BUSY);
    OK(exec_handle(f, f->uctx, ERNIC_CMD_PD_FREE, pd));
    IS(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, f->uctx), ERNIC_ERR_BUSY);
    OK(exec_handle(f, f->uctx, ERNIC_CMD_CQ_DESTROY, cq.cqn));
    OK(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, f->uctx));
    IS(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, f->uctx), ERNIC_ERR_HANDLE);
    IS(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, 0), ERNIC_ERR_HANDLE);
    IS(exec_handle(f, 0, ERNIC_CMD_UCTX_FREE, UINT32_MAX), ERNIC_ERR_HANDLE);
    IS(exec(f, f->uctx, &cmd, NULL), ERNIC_ERR_HANDLE);
}

ENGINE_TEST("/cmd/no-object", test_no_object)
{
    static const uint8_t opcodes[] = {
        ERNIC_CMD_PD_FREE, ERNIC_CMD_EQ_DESTROY, ERNIC_CMD_CQ_DESTROY,
        ERNIC_CMD_SRQ_DESTROY, ERNIC_CMD_QP_DESTROY, ERNIC_CMD_FLOW_DESTROY,
        ERNIC_CMD_RSS_DESTROY, ERNIC_CMD_COUNTER_FREE,
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
        IS(exec_handle(f, 0, opcodes[i], 7), ERNIC_ERR_HANDLE);
        IS(exec_handle(f, 0, opcodes[i], UINT32_MAX), ERNIC_ERR_HANDLE);
    }
}

static uint8_t query(Fixture *f, uint8_t opcode, uint64_t addr, uint32_t len,
                     uint32_t *whole)
{
    struct ernic_cmd cmd = { .opcode = opcode };
    struct ernic_rsp rsp;
    uint8_t status;

    cmd.query.addr = cpu_to_le64(addr);
    cmd.query.length = cpu_to_le32(len);
    status = exec(f, 0, &cmd, &rsp);
    *whole = le32_to_cpu(rsp.length);
    return status;
}

/* A response is cut exactly to the guest's length. */
ENGINE_TEST("/cmd/cut", test_cut)
{
    static const struct {
        uint8_t opcode;
        uint32_t len;
    } rows[] = {
        { ERNIC_CMD_QUERY_DEVICE, sizeof(struct ernic_device_attr) },
        { ERNIC_CMD_QUERY_PORT, sizeof(struct ernic_port_attr) },
        { ERNIC_CMD_QUERY_STATS, 8 * ERNIC_STATS_WORDS },
        { ERNIC_CMD_QUERY_TIMING, sizeof(struct ernic_timing_info) },
        { ERNIC_CMD_COUNTER_QUERY, 8 * 13 },        /* of counter 0 */
    };
    uint8_t *mem = fake_ptr(&f->env, f->mem, 4096);
    uint32_t len, whole;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (len = 0; len < rows[i].len + 9; len++) {
            memset(mem, 0xa5, 4096);
            OK(query(f, rows[i].opcode, f->mem, len, &whole));
            IS(whole, rows[i].len);
            for (uint32_t k = MIN(len, rows[i].len); k < 4096; k++) {
                IS(mem[k], 0xa5);
            }
        }
        IS(query(f, rows[i].opcode, 1, 1, &whole), ERNIC_ERR_DMA);
        OK(query(f, rows[i].opcode, 1, 0, &whole));
    }
}

ENGINE_TEST("/cmd/query-device", test_query_device)
{
    struct ernic_device_attr attr;
    uint32_t whole;

    OK(query(f, ERNIC_CMD_QUERY_DEVICE, f->mem, sizeof(attr), &whole));
    memcpy(&attr, fake_ptr(&f->env, f->mem, sizeof(attr)), sizeof(attr));
    IS(le32_to_cpu(attr.abi_version), ERNIC_ABI_VERSION);
    IS(le32_to_cpu(attr.max_cqe), 1 << 20);
    IS(le32_to_cpu(attr.max_qp_wr), 1 << 15);
    IS(le64_to_cpu(attr.page_size_mask), 0xfffff000);
    IS(attr.max_sge, ERNIC_MAX_SGE);
    IS(attr.max_rd_atomic, ERNIC_MAX_RD_ATOMIC);
    IS(attr.num_ports, 1);
    IS(le16_to_cpu(attr.max_inline), ERNIC_MAX_INLINE);
}

ENGINE_TEST("/cmd/query-port", test_query_port)
{
    struct ernic_port_attr attr;
    uint32_t whole;

    f->e->bad_pkey = 0x11223344;
    f->e->bad_qkey = 0x55667788;
    OK(query(f, ERNIC_CMD_QUERY_PORT, f->mem, sizeof(attr), &whole));
    memcpy(&attr, fake_ptr(&f->env, f->mem, sizeof(attr)), sizeof(attr));
    IS(attr.active, 1);
    IS(attr.max_mtu, 5);
    IS(attr.active_mtu, 5);
    IS(le32_to_cpu(attr.max_msg_size), 0x80000000);
    IS(le32_to_cpu(attr.bad_pkey_count), 0x11223344);
    IS(le32_to_cpu(attr.bad_qkey_count), 0x55667788);
    IS(le32_to_cpu(attr.link_speed), 40000);
    ernic_set_link(f->e, f->env.now, false);
    OK(query(f, ERNIC_CMD_QUERY_PORT, f->mem, sizeof(attr), &whole));
    IS(*(uint8_t *)fake_ptr(&f->env, f->mem, 1), 0);
}

/*
 * A driver identifies counters by their position in the response. New ones are appended
 * here and in the lists; none moves or is removed.
 */
TEST("/cmd/counter-order", test_counter_order)
{
    static const char stats[] =
        "tx_packets tx_bytes tx_trains rx_packets rx_bytes rx_trains tx_messages "
        "rx_messages tx_acks rx_acks tx_naks rx_naks tx_rnr_naks rx_rnr_naks "
        "rx_duplicates rx_out_of_sequence implied_naks retransmits ack_timeouts tx_cnps "
        "rx_cnps rx_ecn_marked rate_cuts window_cuts loopback_drops bad_doorbells "
        "bad_commands commands completions flushed cq_overruns events interrupts "
        "page_faults tx_frames rx_frames tx_frame_bytes rx_frame_bytes tx_drops ";
    static const char drops[] =
        "none not_roce vlan ip_header fragment address mac too_short bad_length bad_tver "
        "bad_opcode bad_pad bad_icrc no_qp qp_state transport pkey qkey psn sequence "
        "no_rqe msg_length remote_access fault port_down no_rule sending copies ";
    static const char faults[] =
        "none psn-ahead rnr op-sequence op-unsupported rd-atomic-overflow atomic-align "
        "packet-length recv-length srq-length remote-access remote-dma invalidate-rkey "
        "recv-wqe recv-protection recv-dma send-wqe send-fetch send-length "
        "send-protection send-dma send-av mw-bind reg-mr local-invalidate "
        "nak-invalid-request nak-remote-access nak-remote-operation bad-response "
        "retry-exceeded rnr-retry-exceeded flush cq-overrun page-absent xrc-srq ";
    g_autoptr(GString) now = g_string_new(NULL);

#define X(name) #name " "
    g_assert_cmpstr(ERNIC_STATS_LIST(X), ==, stats);
#undef X
    for (uint32_t i = 0; i < ERNIC_DROP_COUNT; i++) {
        g_string_append_printf(now, "%s ", ernic_drop_name(i));
    }
    g_assert_cmpstr(now->str, ==, drops);
    g_string_truncate(now, 0);
    for (uint32_t i = 0; i < ERNIC_FAULT_COUNT; i++) {
        g_string_append_printf(now, "%s ", ernic_fault_info(i)->name);
    }
    g_assert_cmpstr(now->str, ==, faults);
}

/* Counters have the order of the lists; each block starts where its words begin. */
ENGINE_TEST("/cmd/query-stats", test_query_stats)
{
    ErnicStats *stats = &f->e->stats;
    uint64_t want[ERNIC_STATS_WORDS] = { };
    uint32_t whole, n = 0;

#define X(name) want[n] = stats->name = 1000 + n; n++;
    ERNIC_STATS_LIST(X)
#undef X
    for (uint32_t i = 0; i < ERNIC_DROP_COUNT; i++) {
        want[64 + i] = stats->drop[i] = 2000 + i;
    }
    for (uint32_t i = 0; i < ERNIC_FAULT_COUNT; i++) {
        want[128 + i] = stats->fault[i] = 3000 + i;
    }
    /* The command counts itself before it responds. */
    stats->commands--;
    OK(query(f, ERNIC_CMD_QUERY_STATS, f->mem, 4096, &whole));
    IS(whole, sizeof(want));
    for (n = 0; n < ERNIC_STATS_WORDS; n++) {
        IS(fake_get64(&f->env, f->mem + 8 * n), want[n]);
    }
}

ENGINE_TEST("/cmd/set-gid", test_set_gid)
{
    static const struct {
        uint8_t gid[16], mac[6];
        uint16_t vlan;
        uint8_t index;
        uint8_t status;
    } rows[] = {
        { { 0xfe, 0x80, [15] = 1 }, { 2, 1 }, 0xffff, 1, ERNIC_OK },
        { { 0xfe, 0x80, [15] = 1 }, { 2, 1 }, 0, 2, ERNIC_OK },
        { { 0xfe, 0x80, [15] = 1 }, { 2, 1 }, 4094, 63, ERNIC_OK },
        { { [10] = 0xff, [11] = 0xff, 127, 0, 0, 2 }, { 2, 1 }, 0xffff, 5, ERNIC_OK },
        { { 0 }, { 0 }, 0, 5, ERNIC_OK },
        { { 0xfe, 0x80 }, { 2, 1 }, 0xffff, 64, ERNIC_ERR_PARAM },
        { { 0xfe, 0x80 }, { 2, 1 }, 0xffff, 255, ERNIC_ERR_PARAM },
        { { 0xff, 0x02 }, { 2, 1 }, 0xffff, 1, ERNIC_ERR_PARAM },
        { { [10] = 0xff, [11] = 0xff, 224, 0, 0, 2 }, { 2, 1 }, 0xffff, 1,
          ERNIC_ERR_PARAM },
        { { [10] = 0xff, [11] = 0xff }, { 2, 1 }, 0xffff, 1, ERNIC_ERR_PARAM },
        { { 0xfe, 0x80 }, { 3, 1 }, 0xffff, 1, ERNIC_ERR_PARAM },
        { { 0xfe, 0x80 }, { 2, 1 }, 4095, 1, ERNIC_ERR_PARAM },
        { { 0xfe, 0x80 }, { 2, 1 }, 0x8001, 1, ERNIC_ERR_PARAM },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };
        struct ernic_eqe eqe;
        bool ok = rows[i].status == ERNIC_OK;

        memcpy(cmd.set_gid.gid, rows[i].gid, 16);
        memcpy(cmd.set_gid.mac, rows[i].mac, 6);
        cmd.set_gid.vlan = cpu_to_le16(rows[i].vlan);
        cmd.set_gid.index = rows[i].index;
        IS(exec(f, 0, &cmd, NULL), rows[i].status);
        /* A change raises one event; writing the same value raises none. */
        IS(fake_poll_eq(f->e, &f->eq, &eqe), ok);
        if (ok) {
            IS(eqe.type, ERNIC_EV_GID_CHANGE);
            IS(eqe.element, 1);
            g_assert_cmpmem(f->e->gid[rows[i].index].gid.raw, 16, rows[i].gid, 16);
            OK(exec(f, 0, &cmd, NULL));
            g_assert_false(fake_poll_eq(f->e, &f->eq, &eqe));
        }
    }
}

/* An address is found in every entry, and no longer after it was removed. */
ENGINE_TEST("/cmd/gid-lookup", test_gid_lookup)
{
    static const uint8_t at[] = { 63, 3, 0, 40 };
    ErnicGid gid = { .raw = { 0xfe, 0x80 } };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };

    g_assert_false(ernic_gid_is_local(f->e, &(ErnicGid) { }));
    for (uint32_t i = 0; i < 2 * ARRAY_SIZE(at); i++) {
        bool add = i < ARRAY_SIZE(at);

        cmd.set_gid.index = at[i % ARRAY_SIZE(at)];
        gid.raw[15] = cmd.set_gid.index + 1;
        IS(ernic_gid_is_local(f->e, &gid), !add);
        memcpy(cmd.set_gid.gid, add ? gid.raw : (ErnicGid) { }.raw, 16);
        OK(exec(f, 0, &cmd, NULL));
        IS(ernic_gid_is_local(f->e, &gid), add);
        g_assert_false(ernic_gid_is_local(f->e, &(ErnicGid) { }));
    }
    IS(f->e->num_gids, 0);
}

ENGINE_TEST("/cmd/set-pkey", test_set_pkey)
{
    static const struct {
        uint16_t index, pkey;
        uint8_t status;
    } rows[] = {
        { 0, 0xffff, ERNIC_OK }, { 15, 0x1234, ERNIC_OK },
        { 15, 0x8001, ERNIC_OK }, { 15, 0, ERNIC_OK },
        { 16, 0xffff, ERNIC_ERR_PARAM }, { 0xffff, 1, ERNIC_ERR_PARAM },
        { 1, 0x8000, ERNIC_ERR_PARAM },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_PKEY };

        cmd.set_pkey.index = cpu_to_le16(rows[i].index);
        cmd.set_pkey.pkey = cpu_to_le16(rows[i].pkey);
        IS(exec(f, 0, &cmd, NULL), rows[i].status);
        if (rows[i].status == ERNIC_OK) {
            IS(f->e->pkey[rows[i].index], rows[i].pkey);
        }
    }
}

static uint32_t device_limit(Fixture *f, size_t offset)
{
    uint32_t whole;

    OK(query(f, ERNIC_CMD_QUERY_DEVICE, f->mem, 4096, &whole));
    return ldl_le_p(fake_ptr(&f->env, f->mem + offset, 4));
}

/* Exactly as many as QUERY_DEVICE reports. */
ENGINE_TEST("/cmd/limits", test_limits)
{
#define LIMIT(name) offsetof(struct ernic_device_attr, name)
    struct ernic_cmd pd = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_cmd mw = { .opcode = ERNIC_CMD_MW_ALLOC };
    struct ernic_cmd uctx = { .opcode = ERNIC_CMD_UCTX_ALLOC };
    struct ernic_cmd *const cmds[] = { &pd, &mw, &uctx };
    const size_t limits[] = {
        LIMIT(max_pd), LIMIT(max_mr), LIMIT(max_uctx),
    };
    uint32_t i, n;
    FakeCq cq;
    FakeQp qp;

    mw.mw_alloc.pd = cpu_to_le32(1);
    mw.mw_alloc.type = 1;
    for (i = 0; i < ARRAY_SIZE(cmds); i++) {
        /* The fixture has a context already. */
        for (n = i == 2; exec(f, 0, cmds[i], NULL) == ERNIC_OK; n++) {
        }
        IS(n, device_limit(f, limits[i]));
        IS(exec(f, 0, cmds[i], NULL), ERNIC_ERR_NO_RESOURCE);
    }
    fake_create_cq(f->e, &cq, 16, FAKE_NONE);
    for (n = 0; n < device_limit(f, LIMIT(max_qp)); n++) {
        fake_create_qp(f->e, &qp, ERNIC_QPT_UC, 1, cq.cqn, cq.cqn, FAKE_NONE);
    }
    IS(f->e->qp_ids.count, 0);
    /* QP1 does not count among them. */
    fake_create_qp(f->e, &qp, ERNIC_QPT_GSI, 1, cq.cqn, cq.cqn, FAKE_NONE);
    for (n = 1; n < device_limit(f, LIMIT(max_cq)); n++) {
        fake_create_cq(f->e, &cq, 2, FAKE_NONE);
    }
    IS(f->e->cq_ids.count, 0);
#undef LIMIT
}

/*
 * Structures of other versions: a longer one is accepted if the unknown part is 0, and
 * this one also without the records at its end.
 */
ENGINE_TEST("/cmd/structures", test_structures)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };
    struct ernic_qp_init init = {
        .srq = cpu_to_le32(FAKE_NONE), .sq_depth = cpu_to_le32(4),
        .rq_depth = cpu_to_le32(4), .sq_stride = 1, .rq_stride = 1,
    };
    uint8_t *mem = fake_ptr(&f->env, f->mem, 4096);
    uint32_t pd = fake_create_pd(f->e), len;
    FakeCq cq;

    fake_create_cq(f->e, &cq, 16, FAKE_NONE);
    init.pd = cpu_to_le32(pd);
    init.send_cq = init.recv_cq = cpu_to_le32(cq.cqn);
    memcpy(mem, &init, sizeof(init));
    cmd.qp.addr = cpu_to_le64(f->mem);
    for (len = 0; len < 300; len++) {
        uint8_t want = len < offsetof(struct ernic_qp_init, sq_record) || len > 256 ?
                       ERNIC_ERR_PARAM :
                       f->e->qp_ids.count ? ERNIC_OK : ERNIC_ERR_NO_RESOURCE;

        cmd.qp.length = cpu_to_le32(len);
        IS(exec(f, 0, &cmd, NULL), want);
    }
    mem[200] = 1;
    cmd.qp.length = cpu_to_le32(200);
    IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_NO_RESOURCE);
    cmd.qp.length = cpu_to_le32(201);
    IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_RESERVED);
    cmd.qp.length = cpu_to_le32(UINT32_MAX);
    IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_PARAM);
    cmd.qp.length = cpu_to_le32(64);
    cmd.qp.addr = cpu_to_le64(UINT64_MAX - 3);
    IS(exec(f, 0, &cmd, NULL), ERNIC_ERR_DMA);
}
