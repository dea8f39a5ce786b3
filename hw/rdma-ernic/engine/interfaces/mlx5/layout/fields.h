/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Layouts of the structures that Linux's mlx5 driver exchanges with the device, as
 * tables of fields: command messages, contexts, capabilities, registers and queues.
 *
 * Structures are big-endian. Bit 0 of a structure is the most significant bit of its
 * first byte, so the offset of a field is that of its most significant bit.
 *
 * The rows are in fields_*.h.inc: what the device and its tests use, of what the public
 * headers (include/linux/mlx5 of Linux) describe, under the names of these headers.
 *
 *   LAYOUT(name, bits)                 mlx5_ifc_NAME_bits, and its size
 *   LAYOUT_OF(name, structure, bits)   another structure
 *   IN(name, bits), OUT(name, bits)    NAME_in and NAME_out, messages of a command; with
 *                                      opcode and op_mod, or status and syndrome
 *   F(name, offset, width)             a number of up to 64 bits
 *   A(name, offset, width, count)      an array of numbers
 *   S(name, offset, layout)            a structure
 *   SA(name, offset, layout, count)    an array of structures
 *   END
 *
 * A count of 0 stands for as many elements as the message has room for. Such a field
 * is the last one, and is not part of the size.
 */
#ifndef ERNIC_INTERFACES_MLX5_FIELDS_H
#define ERNIC_INTERFACES_MLX5_FIELDS_H

typedef struct ErnicMlx5Layout ErnicMlx5Layout;

typedef struct ErnicMlx5Field {
    const char *name;
    uint32_t offset;                    /* bits from the start of the structure */
    uint16_t width;                     /* bits of a number; 0: see layout */
    uint16_t count;                     /* 1, or the array's; 0: the rest */
    const ErnicMlx5Layout *layout;      /* of each element; NULL: a number */
} ErnicMlx5Field;

struct ErnicMlx5Layout {
    const char *name;
    const ErnicMlx5Field *fields;       /* by offset */
    uint32_t num_fields;
    uint32_t bits;
};

/* One constant per layout, ernic_mlx5_NAME, with one member per field. */
#define LAYOUT_OF(name, structure, bits) \
    extern const struct ernic_mlx5_##name ernic_mlx5_##name; \
    struct ernic_mlx5_##name { ErnicMlx5Layout self;
#define F(name, offset, width) ErnicMlx5Field name;
#define A(name, offset, width, count) ErnicMlx5Field name;
#define S(name, offset, part) ErnicMlx5Field name;
#define SA(name, offset, part, count) ErnicMlx5Field name;
#define END };
#include "interfaces/mlx5/layout/fields_all.h.inc"

/* Bits of one element of @field. */
static inline uint32_t ernic_mlx5_element_bits(const ErnicMlx5Field *field)
{
    return field->layout ? field->layout->bits : field->width;
}

/*
 * Element @i of @field in the structure at @base, whose bytes the caller has. The field
 * is a number. A value is cut to the width of the field.
 */
uint64_t ernic_mlx5_get_at(const void *base, const ErnicMlx5Field *field, uint32_t i);
void ernic_mlx5_put_at(void *base, const ErnicMlx5Field *field, uint32_t i,
                       uint64_t value);

static inline uint64_t ernic_mlx5_get(const void *base, const ErnicMlx5Field *field)
{
    return ernic_mlx5_get_at(base, field, 0);
}

static inline void ernic_mlx5_put(void *base, const ErnicMlx5Field *field,
                                  uint64_t value)
{
    ernic_mlx5_put_at(base, field, 0, value);
}

#endif /* ERNIC_INTERFACES_MLX5_FIELDS_H */
