/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of Ethernet objects of the mlx5 interface, and of flow tables.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"
#include "state/state.h"
#include "steering/flow_tables.h"

/* ---- queues and what selects them ------------------------------------------- */

#define S ErnicMlx5EthQueue
static const ErnicStateField queue_fields[] = {
    BOOL(used), UMAX(state, ERNIC_MLX5_ERR), U(log_size), U(log_stride), U(cq), U(pd),
    U(record), U(pi), U(ci), BYTES(context), STRUCT(buf, ernic_state_buf), U(sent),
};
#undef S
const ErnicStateStruct ernic_state_mlx5_queue =
    DESCRIBE(queue_fields, ErnicMlx5EthQueue, MLX5_ETH_QUEUE);

#define S ErnicMlx5Tir
static const ErnicStateField tir_fields[] = {
    BOOL(used), BOOL(indirect), BOOL(symmetric), BOOL(ipv6), BOOL(udp),
    UMAX(hash, ERNIC_MLX5_HASHES - 1), UBITS(selected, ERNIC_MLX5_SELECT_ALL),
    UMAX(self_lb_block, 3), U(queue), U(transport_domain), BYTES(key),
};
#undef S
const ErnicStateStruct ernic_state_mlx5_tir =
    DESCRIBE(tir_fields, ErnicMlx5Tir, MLX5_TIR);

#define S ErnicMlx5Tis
static const ErnicStateField tis_fields[] = {
    BOOL(used), UMAX(prio, 15), U(transport_domain),
};
#undef S
const ErnicStateStruct ernic_state_mlx5_tis =
    DESCRIBE(tis_fields, ErnicMlx5Tis, MLX5_TIS);

#define S ErnicMlx5Rqt
static const ErnicStateField rqt_fields[] = {
    BOOL(used), UMAX(max, ERNIC_RQT_ENTRIES), UMAX(num, ERNIC_RQT_ENTRIES),
    ARRAY(rq, UINT32_MAX),
};
#undef S
const ErnicStateStruct ernic_state_mlx5_rqt =
    DESCRIBE(rqt_fields, ErnicMlx5Rqt, MLX5_RQT);

#define S ErnicMlx5Eth
static const ErnicStateField eth_fields[] = {
    /* Tables have sections of their own. */
    DERIVED(sq), DERIVED(rq), DERIVED(tir), DERIVED(tis), DERIVED(rqt),
    ARRAY(out_of_buffer, UINT64_MAX),
    DERIVED(send), DERIVED(flush), UMAX(last, ERNIC_LIM_ETH_QUEUE),
    DERIVED(poll_wait), DERIVED(poll_due),
};
#undef S
const ErnicStateStruct ernic_state_mlx5_eth =
    DESCRIBE(eth_fields, ErnicMlx5Eth, MLX5_ETH);

/* ---- flow tables ------------------------------------------------------------- */

#define S ErnicFlowTable
static const ErnicStateField table_fields[] = {
    BOOL(used), U(level), U(log_size), U(miss),
    DERIVED(num_groups), DERIVED(group),
};
#undef S
const ErnicStateStruct ernic_state_flow_table =
    DESCRIBE(table_fields, ErnicFlowTable, FLOW_TABLE);

#define S ErnicFlowGroup
static const ErnicStateField group_fields[] = {
    BOOL(used), U(table), U(first), U(last), BYTES(mask),
};
#undef S
const ErnicStateStruct ernic_state_flow_group =
    DESCRIBE(group_fields, ErnicFlowGroup, FLOW_GROUP);

#define S ErnicFlowDest
static const ErnicStateField dest_fields[] = { BOOL(table), U(id) };
#undef S
const ErnicStateStruct ernic_state_flow_dest =
    DESCRIBE(dest_fields, ErnicFlowDest, FLOW_DEST);

#define S ErnicFlowEntry
static const ErnicStateField entry_fields[] = {
    BOOL(used), BOOL(drop), UMAX(num_dest, ERNIC_FLOW_DESTS), U(table), U(group),
    U(index), U(tag), U(counter), STRUCTS(dest, ernic_state_flow_dest), BYTES(value),
};
#undef S
const ErnicStateStruct ernic_state_flow_entry =
    DESCRIBE(entry_fields, ErnicFlowEntry, FLOW_ENTRY);

#define S ErnicFlowCounter
static const ErnicStateField counter_fields[] = { BOOL(used), U(packets), U(octets) };
#undef S
const ErnicStateStruct ernic_state_flow_counter =
    DESCRIBE(counter_fields, ErnicFlowCounter, FLOW_COUNTER);

#define S ErnicFlowTables
static const ErnicStateField tables_fields[] = {
    U(root),
    DERIVED(num_entries),
    /* Tables have sections of their own. */
    DERIVED(table), DERIVED(group), DERIVED(entry), DERIVED(counter),
    DERIVED(order),             /* the entries, sorted */
};
#undef S
const ErnicStateStruct ernic_state_flow_tables =
    DESCRIBE(tables_fields, ErnicFlowTables, FLOW_TABLES);
