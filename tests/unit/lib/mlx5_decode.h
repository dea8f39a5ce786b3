/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Structures of the mlx5 interface as text, one "path=value" per line, and back.
 */
#ifndef TESTS_UNIT_MLX5_DECODE_H
#define TESTS_UNIT_MLX5_DECODE_H

#include "faces/mlx5/fields.h"

/*
 * The fields of a structure of @len bytes. @request: the command that it belongs to,
 * which selects the layout of capabilities and registers; may be NULL. Values of 0 are
 * left out. The bits of all fields are set in @known, of @len bytes. False: the layout
 * of a part is unknown.
 */
bool mlx5_decode(const ErnicMlx5Layout *layout, const uint8_t *bytes, uint32_t len,
                 const uint8_t *request, GString *text, uint8_t *known);

/* The reverse, into @len bytes that are 0; false: a line names no field. */
bool mlx5_encode(const ErnicMlx5Layout *layout, const char *text,
                 const uint8_t *request, uint8_t *bytes, uint32_t len);

#endif /* TESTS_UNIT_MLX5_DECODE_H */
