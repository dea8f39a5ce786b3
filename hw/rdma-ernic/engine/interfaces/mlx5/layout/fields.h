/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Layouts of the structures that Linux's mlx5 driver exchanges with the device, as
 * tables of fields: command messages, contexts, capabilities, registers and queues.
 *
 * Structures are big-endian. Bit 0 of a structure is the most significant bit of its
 * first byte, so the offset of a field is that of its most significant bit. Bits
 * outside all fields are reserved.
 *
 * The rows are in fields_*.h.inc. Names of layouts and fields are those of the public
 * headers (include/linux/mlx5 of Linux); each layout names its structure there.
 *
 *   LAYOUT(name, bits)                 mlx5_ifc_NAME_bits, and its size
 *   LAYOUT_OF(name, "struct", bits)    another structure
 *   F(name, offset, width)             a number of up to 64 bits
 *   A(name, offset, width, count)      an array of numbers
 *   S(name, offset, layout)            a structure
 *   SA(name, offset, layout, count)    an array of structures
 *   END(name)
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
    const char *source;                 /* the structure in the public headers */
    const ErnicMlx5Field *fields;       /* by offset */
    uint32_t num_fields;
    uint32_t bits;
};

/* One constant per layout, ernic_mlx5_NAME, with one member per field. */
#define LAYOUT_OF(name, source, bits) \
    extern const struct ernic_mlx5_##name { ErnicMlx5Layout self;
#define F(name, offset, width) ErnicMlx5Field name;
#define A(name, offset, width, count) ErnicMlx5Field name;
#define S(name, offset, part) ErnicMlx5Field name;
#define SA(name, offset, part, count) ErnicMlx5Field name;
#define END(name) } ernic_mlx5_##name;
#include "interfaces/mlx5/layout/fields_all.h.inc"

extern const ErnicMlx5Layout *const ernic_mlx5_layouts[];
extern const uint32_t ernic_mlx5_num_layouts;

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

/*
 * Some fields have a layout that depends on a value elsewhere: on the capability group,
 * the register, the counter group or the event type.
 */
typedef struct ErnicMlx5Variant {
    uint32_t value;
    const ErnicMlx5Layout *layout;
} ErnicMlx5Variant;

typedef struct ErnicMlx5Variants {
    const char *name;
    const ErnicMlx5Variant *rows;       /* by value */
    uint32_t num;
} ErnicMlx5Variants;

/* QUERY_HCA_CAP, SET_HCA_CAP: capability, by op_mod >> 1. */
extern const ErnicMlx5Variants ernic_mlx5_capabilities;
/* ACCESS_REG: register_data, by register_id. */
extern const ErnicMlx5Variants ernic_mlx5_registers;
/* PPCNT: counter_set, by grp. */
extern const ErnicMlx5Variants ernic_mlx5_counter_groups;
/* EQE: event_data, by event_type. */
extern const ErnicMlx5Variants ernic_mlx5_events;

/* The layout for @value; NULL: unknown. */
const ErnicMlx5Layout *ernic_mlx5_variant(const ErnicMlx5Variants *variants,
                                          uint32_t value);

#endif /* ERNIC_INTERFACES_MLX5_FIELDS_H */
