/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands of the mlx5 interface and the layouts of their messages.
 */
#ifndef TESTS_UNIT_MLX5_COMMANDS_H
#define TESTS_UNIT_MLX5_COMMANDS_H

#include "interfaces/mlx5/layout/fields.h"

/*
 * A message can be shorter than its layout, if the driver is older than the last field,
 * or longer by elements of a last field that takes the rest.
 */
typedef struct Mlx5Command {
    uint16_t opcode;
    const char *name;                   /* MLX5_CMD_OP_NAME */
    const ErnicMlx5Layout *in, *out;
} Mlx5Command;

extern const Mlx5Command mlx5_commands[];   /* by opcode */
extern const uint32_t mlx5_num_commands;

/* NULL: unknown. */
const Mlx5Command *mlx5_command_find(uint16_t opcode);

#endif /* TESTS_UNIT_MLX5_COMMANDS_H */
