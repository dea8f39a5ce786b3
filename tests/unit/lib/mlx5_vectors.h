/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The recorded commands of tests/data/mlx5-commands.txt.
 */
#ifndef TESTS_UNIT_MLX5_VECTORS_H
#define TESTS_UNIT_MLX5_VECTORS_H

#include "interfaces/mlx5/command/entry.h"
#include "mlx5_commands.h"

typedef struct Mlx5Vector {
    uint32_t number;                    /* in the file, from 0 */
    uint16_t opcode;
    const Mlx5Command *command;
    uint8_t posted[ERNIC_MLX5_ENTRY_SIZE];      /* the entry before ... */
    uint8_t done[ERNIC_MLX5_ENTRY_SIZE];        /* ... and after */
    GByteArray *in, *out;               /* mailboxes as recorded, one after the other */
} Mlx5Vector;

/* All commands, as Mlx5Vector; the array frees them. */
GPtrArray *mlx5_vectors_load(const char *path);

uint32_t mlx5_vector_in_len(const Mlx5Vector *v);
uint32_t mlx5_vector_out_len(const Mlx5Vector *v);

/* The message, as far as it was recorded. */
GByteArray *mlx5_vector_input(const Mlx5Vector *v);
GByteArray *mlx5_vector_output(const Mlx5Vector *v);

#endif /* TESTS_UNIT_MLX5_VECTORS_H */
