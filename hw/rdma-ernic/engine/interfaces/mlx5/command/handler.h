/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rows of commands, for the files with their handlers. Each file has a table; function.c
 * joins them.
 */
#ifndef ERNIC_INTERFACES_MLX5_HANDLER_H
#define ERNIC_INTERFACES_MLX5_HANDLER_H

#include "interfaces/mlx5/command/function.h"
#include "interfaces/mlx5/layout/access.h"

/* When a command is allowed. */
enum {
    /* States of the function. */
    DISABLED = 1u << ERNIC_MLX5_DISABLED,
    ENABLED = 1u << ERNIC_MLX5_ENABLED,
    RUNNING = 1u << ERNIC_MLX5_RUNNING,
    STATES = DISABLED | ENABLED | RUNNING,
    /* Only with op_mod 0. */
    NO_MODIFIER = 1u << 3,
    /* Only for this function and its port. */
    OWN = 1u << 4,
    /* Only for flow tables of received frames (table_type 0). */
    RX = 1u << 5,
};

/* A command that exists. */
typedef struct ErnicMlx5CommandRow {
    uint16_t opcode;
    const char *name;           /* MLX5_CMD_OP_NAME */
    uint8_t allowed;            /* see above */
    ErnicMlx5Refusal (*handler)(ErnicMlx5Function *f, const ErnicMlx5Request *r);
} ErnicMlx5CommandRow;

typedef struct ErnicMlx5CommandTable {
    const ErnicMlx5CommandRow *rows;
    uint32_t num;
    bool needs_engine;          /* without one, these commands do not exist */
} ErnicMlx5CommandTable;

/* The table @name with these rows; @needs is ".needs_engine = true" or "= false". */
#define COMMANDS(name, needs, ...) \
    static const ErnicMlx5CommandRow name##_rows[] = { __VA_ARGS__ }; \
    const ErnicMlx5CommandTable ernic_mlx5_##name##_commands = { \
        name##_rows, ARRAY_SIZE(name##_rows), needs \
    }
/* A handler of one expression. */
#define HANDLER(name, ...) \
    static ErnicMlx5Refusal name(ErnicMlx5Function *f, const ErnicMlx5Request *r) \
    { \
        return __VA_ARGS__; \
    }

extern const ErnicMlx5CommandTable
    ernic_mlx5_vport_commands, ernic_mlx5_register_commands, ernic_mlx5_domain_commands,
    ernic_mlx5_mkey_commands, ernic_mlx5_cq_commands, ernic_mlx5_qp_commands,
    ernic_mlx5_srq_commands, ernic_mlx5_gid_commands, ernic_mlx5_counter_commands,
    ernic_mlx5_event_commands, ernic_mlx5_flow_commands, ernic_mlx5_tir_commands,
    ernic_mlx5_eth_queue_commands, ernic_mlx5_port_counter_commands,
    ernic_mlx5_life_commands;
/* All of them. */
extern const ErnicMlx5CommandTable *const ernic_mlx5_command_tables[];
extern const uint32_t ernic_mlx5_num_command_tables;

#endif /* ERNIC_INTERFACES_MLX5_HANDLER_H */
