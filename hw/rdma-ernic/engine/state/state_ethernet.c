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
DESCRIBE(mlx5_eth_queue,
    BOOL(used), UMAX(state, ERNIC_MLX5_ERR), U(log_size), U(log_stride), U(cq), U(pd),
    U(record), U(pi), U(ci), BYTES(context), STRUCT(buf, buf), U(sent),
);
#undef S

#define S ErnicMlx5Tir
DESCRIBE(mlx5_tir,
    BOOL(used), BOOL(indirect), BOOL(symmetric), BOOL(ipv6), BOOL(udp),
    UMAX(hash, ERNIC_MLX5_HASHES - 1), UBITS(selected, ERNIC_MLX5_SELECT_ALL),
    UMAX(self_lb_block, 3), U(queue), U(transport_domain), BYTES(key),
);
#undef S

#define S ErnicMlx5Tis
DESCRIBE(mlx5_tis, BOOL(used), UMAX(prio, 15), U(transport_domain));
#undef S

#define S ErnicMlx5Rqt
DESCRIBE(mlx5_rqt,
    BOOL(used), UMAX(max, ERNIC_RQT_ENTRIES), UMAX(num, ERNIC_RQT_ENTRIES),
    ARRAY(rq, UINT32_MAX),
);
#undef S

#define S ErnicMlx5Eth
DESCRIBE(mlx5_eth,
    /* Tables have sections of their own. */
    DERIVED(sq), DERIVED(rq), DERIVED(tir), DERIVED(tis), DERIVED(rqt),
    ARRAY(out_of_buffer, UINT64_MAX),
    DERIVED(send), DERIVED(flush), UMAX(last, ERNIC_LIM_ETH_QUEUE),
    DERIVED(poll_wait), DERIVED(poll_due),
    ARRAY(flushed, ERNIC_LIM_ETH_QUEUE),
);
#undef S

/* ---- flow tables ------------------------------------------------------------- */

#define S ErnicFlowTable
DESCRIBE(flow_table,
    BOOL(used), U(level), U(log_size), U(miss),
    DERIVED(num_groups), DERIVED(group),
);
#undef S

#define S ErnicFlowGroup
DESCRIBE(flow_group, BOOL(used), U(table), U(first), U(last), BYTES(mask));
#undef S

#define S ErnicFlowDest
DESCRIBE(flow_dest, BOOL(table), U(id));
#undef S

#define S ErnicFlowEntry
DESCRIBE(flow_entry,
    BOOL(used), BOOL(drop), UMAX(num_dest, ERNIC_FLOW_DESTS), U(table), U(group),
    U(index), U(tag), U(counter), STRUCTS(dest, flow_dest), BYTES(value),
);
#undef S

#define S ErnicFlowCounter
DESCRIBE(flow_counter, BOOL(used), U(packets), U(octets));
#undef S

#define S ErnicFlowTables
DESCRIBE(flow_tables,
    U(root),
    DERIVED(num_entries),
    /* Tables have sections of their own. */
    DERIVED(table), DERIVED(group), DERIVED(entry), DERIVED(counter),
    DERIVED(order),             /* the entries, sorted */
);
#undef S
