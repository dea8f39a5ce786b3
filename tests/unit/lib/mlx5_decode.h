/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Structures of the mlx5 interface as text, one "path=value" per line, and back.
 */
#ifndef TESTS_UNIT_MLX5_DECODE_H
#define TESTS_UNIT_MLX5_DECODE_H

#include "interfaces/mlx5/command/function.h"

/*
 * The fields of a structure of @len bytes. @request: the command that it belongs to,
 * which selects the layout of capabilities and registers; may be NULL. Values of 0 are
 * left out. The bits of all fields are set in @known, of @len bytes. False: the layout
 * of a part is unknown.
 */
bool mlx5_decode(const ErnicMlx5Layout *layout, const uint8_t *bytes, uint32_t len,
                 const uint8_t *request, GString *text, uint8_t *known);

/* The fields of a capability group; NULL: it does not exist. */
const ErnicMlx5Layout *mlx5_capability_layout(uint32_t group);

/* The reverse, into @len bytes that are 0; false: a line names no field. */
bool mlx5_encode(const ErnicMlx5Layout *layout, const char *text,
                 const uint8_t *request, uint8_t *bytes, uint32_t len);

/*
 * The lines of @base, and those of @words, which commas separate; one that begins with a
 * dot belongs to @part.
 */
char *mlx5_lines(const char *base, const char *words, const char *part);

/* A structure has the values of @format, words like "opcode=0x2". */
G_GNUC_PRINTF(3, 4)
void mlx5_fields_are(const ErnicMlx5Layout *layout, const uint8_t *bytes,
                     const char *format, ...);
#define FIELDS_ARE(layout, bytes, ...) \
    mlx5_fields_are(&ernic_mlx5_##layout.self, bytes, __VA_ARGS__)

/* Commands that are refused: with the lines of @base and of one word of @more. */
typedef struct Mlx5Refused {
    uint16_t opcode;
    ErnicMlx5Refusal why;
    const char *base, *more, *part;
} Mlx5Refused;

#define R(opcode, why, base, ...)   { opcode, ERNIC_MLX5_##why, base, __VA_ARGS__ }

/* Call @fn for each of the commands. */
void mlx5_each_refused(const Mlx5Refused *rows, size_t num,
                       void (*fn)(void *opaque, uint16_t opcode, const char *text,
                                  ErnicMlx5Refusal why), void *opaque);

#endif /* TESTS_UNIT_MLX5_DECODE_H */
