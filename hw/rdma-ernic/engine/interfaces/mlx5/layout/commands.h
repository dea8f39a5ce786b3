/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands of the mlx5 interface as one table: opcode, name and messages.
 */
#ifndef ERNIC_INTERFACES_MLX5_COMMANDS_H
#define ERNIC_INTERFACES_MLX5_COMMANDS_H

#include "interfaces/mlx5/layout/fields.h"

/*
 * A message can be shorter than its layout, if the driver is older than the last field,
 * or longer by elements of a last field that takes the rest.
 */
typedef struct ErnicMlx5Command {
    uint16_t opcode;
    const char *name;                   /* MLX5_CMD_OP_NAME */
    const ErnicMlx5Layout *in, *out;
} ErnicMlx5Command;

extern const ErnicMlx5Command ernic_mlx5_commands[];    /* by opcode */
extern const uint32_t ernic_mlx5_num_commands;

/* NULL: unknown. */
const ErnicMlx5Command *ernic_mlx5_command_find(uint16_t opcode);

#endif /* ERNIC_INTERFACES_MLX5_COMMANDS_H */
