/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands for flow tables, groups, entries and counters. Tables are those of received
 * frames; steering/flow_tables.c has the objects.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/eth/match.h"
#include "interfaces/mlx5/eth/objects.h"
#include "steering/flow_tables.h"

/* table_miss_action */
enum { MISS_DEFAULT, MISS_TABLE };

/* flow_context.action */
enum { ACTION_DROP = 0x2, ACTION_FORWARD = 0x4, ACTION_COUNT = 0x8 };

/* destination_type */
enum { DEST_TABLE = 1, DEST_TIR = 2 };

/* ---- tables ---------------------------------------------------------------- */

/* The table for frames without an entry. */
static ErnicMlx5Refusal take_miss(const uint8_t *context, uint32_t *miss)
{
    *miss = GET(context, flow_table_context.table_miss_id);
    switch (GET(context, flow_table_context.table_miss_action)) {
    case MISS_DEFAULT:
        *miss = 0;
        return ERNIC_MLX5_ACCEPTED;
    case MISS_TABLE:
        return *miss ? ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_NO_OBJECT;
    default:
        return ERNIC_MLX5_BAD_VALUE;
    }
}

static ErnicMlx5Refusal create_table(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, create_flow_table_in.flow_table_context);
    ErnicFlowTable init = {
        .level = GET(context, flow_table_context.level),
        .log_size = GET(context, flow_table_context.log_size),
    };
    ErnicMlx5Refusal refusal;
    uint32_t id = 0;

    if (GET(context, flow_table_context.reformat_en) ||
        GET(context, flow_table_context.decap_en) ||
        GET(context, flow_table_context.sw_owner) ||
        GET(context, flow_table_context.termination_table)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = take_miss(context, &init.miss);
    if (!refusal) {
        refusal = ernic_mlx5_refusal(ernic_flow_table_create(f->engine, &init, &id));
    }
    PUT(r->out, create_flow_table_out.table_id, id);
    return refusal;
}

HANDLER(destroy_table, ernic_mlx5_refusal(ernic_flow_table_destroy(f->engine,
        GET(r->in, destroy_flow_table_in.table_id))))

static ErnicMlx5Refusal modify_table(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { MISS_TABLE_ID = 1 };
    ErnicMlx5Refusal refusal;
    uint32_t miss;

    if (GET(r->in, modify_flow_table_in.modify_field_select) != MISS_TABLE_ID) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    refusal = take_miss(PART(r->in, modify_flow_table_in.flow_table_context), &miss);
    return refusal ? refusal :
        ernic_mlx5_refusal(ernic_flow_table_set_miss(f->engine,
            GET(r->in, modify_flow_table_in.table_id), miss));
}

/* op_mod 1: no table is the root. */
static ErnicMlx5Refusal set_root(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t id = r->op_mod ? 0 : GET(r->in, set_flow_table_root_in.table_id);

    if (r->op_mod > 1) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    if (GET(r->in, set_flow_table_root_in.table_of_other_vport) ||
        GET(r->in, set_flow_table_root_in.table_eswitch_owner_vhca_id_valid)) {
        return ERNIC_MLX5_OTHER_FUNCTION;
    }
    /* Only IPoIB has a queue pair below. */
    if (GET(r->in, set_flow_table_root_in.underlay_qpn)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!r->op_mod && !id) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    return ernic_mlx5_refusal(ernic_flow_table_set_root(f->engine, id));
}

/* ---- groups ---------------------------------------------------------------- */

static ErnicMlx5Refusal create_group(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    ErnicFlowGroup init = {
        .table = GET(r->in, create_flow_group_in.table_id),
        .first = GET(r->in, create_flow_group_in.start_flow_index),
        .last = GET(r->in, create_flow_group_in.end_flow_index),
    };
    ErnicMlx5Refusal refusal;
    uint32_t id = 0;

    if (GET(r->in, create_flow_group_in.group_type) ||
        GET(r->in, create_flow_group_in.match_definer_id) ||
        GET(r->in, create_flow_group_in.source_eswitch_owner_vhca_id_valid) ||
        !ernic_mlx5_match_mask(PART(r->in, create_flow_group_in.match_criteria),
            GET(r->in, create_flow_group_in.match_criteria_enable), init.mask)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = ernic_mlx5_refusal(ernic_flow_group_create(f->engine, &init, &id));
    PUT(r->out, create_flow_group_out.group_id, id);
    return refusal;
}

HANDLER(destroy_group, ernic_mlx5_refusal(ernic_flow_group_destroy(f->engine,
        GET(r->in, destroy_flow_group_in.table_id),
        GET(r->in, destroy_flow_group_in.group_id))))

/* ---- entries --------------------------------------------------------------- */

/* The actions and their parameters; lists are as long as the message. */
static ErnicMlx5Refusal take_action(const uint8_t *context, ErnicFlowEntry *entry)
{
    uint32_t action = GET(context, flow_context.action);

    if (action & ~(ACTION_DROP | ACTION_FORWARD | ACTION_COUNT) ||
        !!(action & ACTION_DROP) == !!(action & ACTION_FORWARD) ||
        GET(context, flow_context.extended_destination) ||
        GET(context, flow_context.destination_list_size) > ERNIC_FLOW_DESTS ||
        GET(context, flow_context.flow_counter_list_size) > 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    entry->drop = action & ACTION_DROP;
    entry->num_dest = action & ACTION_FORWARD ?
                      GET(context, flow_context.destination_list_size) : 0;
    return (action & ACTION_FORWARD && !entry->num_dest) ||
           !(action & ACTION_COUNT) !=
           !GET(context, flow_context.flow_counter_list_size) ?
           ERNIC_MLX5_BAD_VALUE : ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal take_dest(ErnicMlx5Function *f, const uint8_t *list,
                                  ErnicFlowDest *dest)
{
    uint32_t type = GET(list, dest_format_struct.destination_type);

    dest->id = GET(list, dest_format_struct.destination_id);
    dest->table = type == DEST_TABLE;
    if ((type != DEST_TABLE && type != DEST_TIR) ||
        GET(list, dest_format_struct.packet_reformat) ||
        GET(list, dest_format_struct.destination_eswitch_owner_vhca_id_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return type == DEST_TIR && !ernic_mlx5_tir_get(f, dest->id) ?
           ERNIC_MLX5_NO_OBJECT : ERNIC_MLX5_ACCEPTED;
}

/* Destinations, then the counter. */
static ErnicMlx5Refusal take_lists(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                   const uint8_t *context, ErnicFlowEntry *entry)
{
    const uint32_t step = ernic_mlx5_dest_format_struct.self.bits / 8;
    const uint8_t *list = PART(context, flow_context.destination);
    bool count = GET(context, flow_context.flow_counter_list_size);
    ErnicMlx5Refusal refusal = ERNIC_MLX5_ACCEPTED;
    uint32_t d;

    if (r->in + r->in_len < list + (entry->num_dest + count) * step) {
        return ERNIC_MLX5_SHORT_MESSAGE;
    }
    for (d = 0; d < entry->num_dest && !refusal; d++, list += step) {
        refusal = take_dest(f, list, &entry->dest[d]);
    }
    if (count && !refusal) {
        entry->counter = GET(list, flow_counter_list.flow_counter_id);
        refusal = entry->counter ? ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_NO_OBJECT;
    }
    return refusal;
}

static ErnicMlx5Refusal set_entry(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { CREATE, MODIFY };
    const uint8_t *context = PART(r->in, set_fte_in.flow_context);
    ErnicMlx5Refusal refusal;
    uint32_t what = GET(r->in, set_fte_in.modify_enable_mask);
    ErnicFlowEntry entry = {
        .table = GET(r->in, set_fte_in.table_id),
        .index = GET(r->in, set_fte_in.flow_index),
        .group = GET(context, flow_context.group_id),
        .tag = GET(context, flow_context.flow_tag),
    };

    if (r->op_mod > MODIFY) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    if (GET(r->in, set_fte_in.ignore_flow_level)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = take_action(context, &entry);
    if (!refusal) {
        refusal = take_lists(f, r, context, &entry);
    }
    if (refusal) {
        return refusal;
    }
    memcpy(entry.value, context + (ernic_mlx5_flow_context.match_value.offset +
                                   ernic_mlx5_fte_match_param.outer_headers.offset) / 8,
           sizeof(entry.value));
    return ernic_mlx5_refusal(r->op_mod == CREATE ?
                              ernic_flow_entry_create(f->engine, &entry) :
                              ernic_flow_entry_modify(f->engine, &entry, what));
}

HANDLER(delete_entry, ernic_mlx5_refusal(ernic_flow_entry_delete(f->engine,
        GET(r->in, delete_fte_in.table_id), GET(r->in, delete_fte_in.flow_index))))

/* ---- counters -------------------------------------------------------------- */

static ErnicMlx5Refusal alloc_counter(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    ErnicMlx5Refusal refusal;
    uint32_t id = 0;

    if (GET(r->in, alloc_flow_counter_in.flow_counter_bulk) ||
        GET(r->in, alloc_flow_counter_in.flow_counter_bulk_log_size)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = ernic_mlx5_refusal(ernic_flow_counter_create(f->engine, &id));
    PUT(r->out, alloc_flow_counter_out.flow_counter_id, id);
    return refusal;
}

HANDLER(dealloc_counter, ernic_mlx5_refusal(ernic_flow_counter_destroy(f->engine,
        GET(r->in, dealloc_flow_counter_in.flow_counter_id))))

/* Linux reads several counters from a multiple of four on, a multiple of four of them. */
#define COUNTERS_END    ROUND_UP(ERNIC_LIM_FLOW_COUNTER + 1, 4)

/*
 * One counter, or several that begin with the one named; those not allocated, and those
 * that cannot be, are 0.
 */
static ErnicMlx5Refusal query_counters(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint32_t head = ernic_mlx5_plain_out.self.bits / 8;
    const uint32_t step = ernic_mlx5_traffic_counter.self.bits / 8;
    uint32_t id = GET(r->in, query_flow_counter_in.flow_counter_id), i;
    uint32_t num = GET(r->in, query_flow_counter_in.num_of_counters);
    ErnicFlowCounter *counter = f->engine->flow_tables->counter;

    if (id > ERNIC_LIM_FLOW_COUNTER || (!num && !counter[id].used)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    num = MAX(num, 1);
    if (num > COUNTERS_END - id) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (r->out_len < head || (r->out_len - head) / step < num) {
        return ERNIC_MLX5_SHORT_MESSAGE;
    }
    ernic_charge_walk(f->engine, num);
    for (i = 0; i < num && id + i <= ERNIC_LIM_FLOW_COUNTER; i++) {
        uint8_t *statistics = r->out + head + i * step;

        PUT(statistics, traffic_counter.packets, counter[id + i].packets);
        PUT(statistics, traffic_counter.octets, counter[id + i].octets);
        if (GET(r->in, query_flow_counter_in.clear)) {
            counter[id + i].packets = counter[id + i].octets = 0;
        }
    }
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(flow, .needs_engine = true,
    { 0x92f, "SET_FLOW_TABLE_ROOT", RUNNING | OWN | RX, set_root },
    { 0x930, "CREATE_FLOW_TABLE", RUNNING | OWN | RX | NO_MODIFIER, create_table },
    { 0x931, "DESTROY_FLOW_TABLE", RUNNING | OWN | RX, destroy_table },
    { 0x933, "CREATE_FLOW_GROUP", RUNNING | OWN | RX, create_group },
    { 0x934, "DESTROY_FLOW_GROUP", RUNNING | OWN | RX, destroy_group },
    { 0x936, "SET_FLOW_TABLE_ENTRY", RUNNING | OWN | RX, set_entry },
    { 0x938, "DELETE_FLOW_TABLE_ENTRY", RUNNING | OWN | RX, delete_entry },
    { 0x939, "ALLOC_FLOW_COUNTER", RUNNING, alloc_counter },
    { 0x93a, "DEALLOC_FLOW_COUNTER", RUNNING, dealloc_counter },
    { 0x93b, "QUERY_FLOW_COUNTER", RUNNING | NO_MODIFIER, query_counters },
    { 0x93c, "MODIFY_FLOW_TABLE", RUNNING | OWN | RX, modify_table },
);
