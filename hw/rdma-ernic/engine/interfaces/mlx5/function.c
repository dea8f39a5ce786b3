/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Executes commands by tables: which commands exist, and in which state of the
 * function. The commands of its life cycle.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/common/db_pages.h"
#include "trace.h"

/* Interface 1, in which shared receive queues are memory pools (RMP). */
#define ISSI            1
/* The vendor of this implementation, as an OUI: QEMU's prefix of addresses. */
#define VENDOR_ID       0x525400

/* ---- life cycle ----------------------------------------------------------------- */

static void deallocate_uars(ErnicMlx5Function *f)
{
    memset(f->uars, 0, sizeof(f->uars));
    if (f->engine && f->engine->mlx5) {
        ernic_db_pages_gone(f->engine);
    }
}

void ernic_mlx5_function_reset(ErnicMlx5Function *f)
{
    f->state = ERNIC_MLX5_DISABLED;
    f->teardown = false;
    f->issi = 0;
    ernic_mlx5_capabilities_reset(&f->capabilities);
    deallocate_uars(f);
    ernic_mlx5_vport_reset(f);
    ernic_mlx5_port_registers_reset(f);
}

void ernic_mlx5_function_init(ErnicMlx5Function *f, Ernic *engine,
                              const ErnicMlx5Config *config)
{
    f->config = *config;
    f->engine = engine;
    f->capabilities.limits = engine ? &engine->cfg : NULL;
    ernic_mlx5_function_reset(f);
}

bool ernic_mlx5_function_ok(const ErnicMlx5Function *f)
{
    uint32_t i;

    for (i = 0; i < ERNIC_MLX5_UAR_FIRST / 8; i++) {
        if (f->uars[i]) {
            return false;
        }
    }
    return f->issi <= ISSI && ernic_mlx5_vport_ok(f) && ernic_mlx5_port_registers_ok(f);
}

static ErnicMlx5Refusal enable_hca(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    f->state = ERNIC_MLX5_ENABLED;
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal disable_hca(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    ernic_mlx5_function_reset(f);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal init_hca(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    if (f->engine) {
        ernic_mlx5_contexts_reset(&f->engine->mlx5->contexts, &f->engine->cfg);
    }
    f->state = ERNIC_MLX5_RUNNING;
    return ERNIC_MLX5_ACCEPTED;
}

/* Capabilities and ISSI stay, as the driver may initialize the function again. */
static ErnicMlx5Refusal teardown_hca(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    /* The other profiles have capabilities of their own. */
    if (GET(r->in, teardown_hca_in.profile)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (f->engine) {
        ernic_mlx5_eth_reset(f->engine);
    }
    deallocate_uars(f);
    ernic_mlx5_vport_reset(f);
    ernic_mlx5_port_registers_reset(f);
    f->teardown = true;
    f->state = ERNIC_MLX5_ENABLED;
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal query_issi(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    PUT(r->out, query_issi_out.current_issi, f->issi);
    PUT(r->out, query_issi_out.supported_issi_dw0, 1u << ISSI);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal set_issi(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    if (GET(r->in, set_issi_in.current_issi) != ISSI) {
        return ERNIC_MLX5_BAD_ISSI;
    }
    f->issi = ISSI;
    return ERNIC_MLX5_ACCEPTED;
}

/* The state of the device is the host's, so it never needs pages of the guest. */
static ErnicMlx5Refusal query_pages(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { BOOT = 1, INIT, REGULAR };

    if (r->op_mod < BOOT || r->op_mod > REGULAR) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    if (GET(r->in, query_pages_in.function_id)) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Older drivers give an empty list. */
static ErnicMlx5Refusal manage_pages(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { CANNOT_GIVE, GIVE, TAKE };

    if (r->op_mod > TAKE) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    if (GET(r->in, manage_pages_in.function_id)) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    return r->op_mod == GIVE && GET(r->in, manage_pages_in.input_num_entries) ?
           ERNIC_MLX5_NO_PAGES : ERNIC_MLX5_ACCEPTED;
}

/* ---- what the function is ---------------------------------------------------------- */

static ErnicMlx5Refusal query_hca_cap(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    if (GET(r->in, query_hca_cap_in.other_function)) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    /* Bit 0: the current values. */
    return ernic_mlx5_capabilities_get(&f->capabilities, r->op_mod >> 1,
               !(r->op_mod & 1),
               PART(r->out, query_hca_cap_out.capability)) ?
           ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_NO_GROUP;
}

static ErnicMlx5Refusal set_hca_cap(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *data = PART(r->in, set_hca_cap_in.capability);

    if (GET(r->in, set_hca_cap_in.other_function)) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    if (!ernic_mlx5_has_capability_group(r->op_mod >> 1)) {
        return ERNIC_MLX5_NO_GROUP;
    }
    return ernic_mlx5_capabilities_set(&f->capabilities, r->op_mod >> 1, data) ?
           ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_BAD_CAPABILITY;
}

static ErnicMlx5Refusal query_adapter(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint8_t *adapter = PART(r->out, query_adapter_out.query_adapter_struct);

    PUT(adapter, query_adapter_param_block.ieee_vendor_id, VENDOR_ID);
    memcpy(PART(adapter, query_adapter_param_block.vsd_contd_psid), f->config.board_id,
           sizeof(f->config.board_id));
    return ERNIC_MLX5_ACCEPTED;
}

/* The text is for the host's administrator; nothing depends on it. */
HANDLER(set_driver_version, ERNIC_MLX5_ACCEPTED)

/* ---- doorbell pages ---------------------------------------------------------------- */

/* A function without an engine has no queues. */
static void uar_changed(ErnicMlx5Function *f, uint32_t page)
{
    f->uars[page / 8] ^= 1u << page % 8;
    if (f->engine) {
        ernic_db_page_changed(f->engine, page);
    }
}

static ErnicMlx5Refusal alloc_uar(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t i;

    for (i = ERNIC_MLX5_UAR_FIRST; i < ERNIC_MLX5_UAR_END; i++) {
        if (!(f->uars[i / 8] & 1u << i % 8)) {
            uar_changed(f, i);
            PUT(r->out, alloc_uar_out.uar, i);
            return ERNIC_MLX5_ACCEPTED;
        }
    }
    return ERNIC_MLX5_NO_UAR;
}

static ErnicMlx5Refusal dealloc_uar(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t i = GET(r->in, dealloc_uar_in.uar);

    if (i >= ERNIC_MLX5_UAR_END || !(f->uars[i / 8] & 1u << i % 8)) {
        return ERNIC_MLX5_BAD_UAR;
    }
    if (f->engine) {
        ernic_db_page_rung(f->engine, i);     /* its event may be on its way */
    }
    uar_changed(f, i);
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- the tables -------------------------------------------------------------------- */

COMMANDS(life, .needs_engine = false,
    { 0x100, "QUERY_HCA_CAP", ENABLED | RUNNING, query_hca_cap },
    { 0x101, "QUERY_ADAPTER", ENABLED | RUNNING, query_adapter },
    { 0x102, "INIT_HCA", ENABLED, init_hca },
    { 0x103, "TEARDOWN_HCA", RUNNING, teardown_hca },
    { 0x104, "ENABLE_HCA", DISABLED | OWN, enable_hca },
    { 0x105, "DISABLE_HCA", ENABLED | OWN, disable_hca },
    { 0x107, "QUERY_PAGES", ENABLED | RUNNING, query_pages },
    { 0x108, "MANAGE_PAGES", ENABLED | RUNNING, manage_pages },
    { 0x109, "SET_HCA_CAP", ENABLED, set_hca_cap },
    { 0x10a, "QUERY_ISSI", ENABLED | RUNNING, query_issi },
    { 0x10b, "SET_ISSI", ENABLED, set_issi },
    { 0x10d, "SET_DRIVER_VERSION", RUNNING, set_driver_version },
    { 0x802, "ALLOC_UAR", RUNNING, alloc_uar },
    { 0x803, "DEALLOC_UAR", RUNNING, dealloc_uar },
);

const ErnicMlx5CommandTable *const ernic_mlx5_command_tables[] = {
    &ernic_mlx5_life_commands,
    &ernic_mlx5_vport_commands,
    &ernic_mlx5_register_commands,
    &ernic_mlx5_domain_commands,
    &ernic_mlx5_mkey_commands,
    &ernic_mlx5_cq_commands,
    &ernic_mlx5_qp_commands,
    &ernic_mlx5_srq_commands,
    &ernic_mlx5_gid_commands,
    &ernic_mlx5_counter_commands,
    &ernic_mlx5_event_commands,
    &ernic_mlx5_flow_commands,
    &ernic_mlx5_tir_commands,
    &ernic_mlx5_eth_queue_commands,
    &ernic_mlx5_port_counter_commands,
};
const uint32_t ernic_mlx5_num_command_tables = ARRAY_SIZE(ernic_mlx5_command_tables);

static const ErnicMlx5CommandRow *find(const ErnicMlx5Function *f, uint16_t opcode)
{
    uint32_t t, i;

    for (t = 0; t < ernic_mlx5_num_command_tables; t++) {
        const ErnicMlx5CommandTable *table = ernic_mlx5_command_tables[t];

        for (i = 0; i < table->num && (f->engine || !table->needs_engine); i++) {
            if (table->rows[i].opcode == opcode) {
                return &table->rows[i];
            }
        }
    }
    return NULL;
}

static ErnicMlx5Refusal dispatch(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                 const ErnicMlx5CommandRow *row)
{
    if (!row) {
        return ERNIC_MLX5_UNKNOWN_COMMAND;
    }
    if (!(row->allowed & STATES & 1u << f->state)) {
        return ERNIC_MLX5_NOT_NOW;
    }
    if (row->allowed & NO_MODIFIER && r->op_mod) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    /* All messages have the number of a function or port at the same place. */
    if (row->allowed & OWN && (GET(r->in, enable_hca_in.embedded_cpu_function) ||
                               GET(r->in, enable_hca_in.function_id))) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    /* So is the type of a flow table. */
    if (row->allowed & RX && GET(r->in, set_fte_in.table_type)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return row->handler(f, r);
}

bool ernic_mlx5_function_execute(void *opaque, const uint8_t *in, uint32_t in_len,
                                 uint8_t *out, uint32_t out_len)
{
    ErnicMlx5Request r = {
        .in = in, .out = out, .in_len = in_len, .out_len = out_len,
        .op_mod = GET(in, plain_in.op_mod),
    };
    uint16_t opcode = GET(in, plain_in.opcode);
    const ErnicMlx5CommandRow *row = find(opaque, opcode);
    ErnicMlx5Refusal refusal = dispatch(opaque, &r, row);

    if (refusal == ERNIC_MLX5_AGAIN) {
        return false;
    }
    if (refusal != ERNIC_MLX5_ACCEPTED) {
        trace_ernic_mlx5_refused(row ? row->name : "unknown", opcode, r.op_mod,
                                 ernic_mlx5_statuses[refusal].reason);
    }
    PUT(out, plain_out.status, ernic_mlx5_statuses[refusal].status);
    PUT(out, plain_out.syndrome, refusal);
    return true;
}
