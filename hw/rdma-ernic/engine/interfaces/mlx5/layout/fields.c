/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of fields, and access to a field of a structure.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/layout/fields.h"

/* The fields of a layout are the members after self. */
#define FIELDS(name) \
    ((const ErnicMlx5Field *)((const char *)&ernic_mlx5_##name + \
                              sizeof(ErnicMlx5Layout)))
#define NUM_FIELDS(name) \
    ((sizeof(ernic_mlx5_##name) - sizeof(ErnicMlx5Layout)) / sizeof(ErnicMlx5Field))

#define LAYOUT_OF(name, structure, bits) \
    const struct ernic_mlx5_##name ernic_mlx5_##name = { \
        { #name, FIELDS(name), NUM_FIELDS(name), bits },
#define F(name, offset, width) { #name, offset, width, 1, NULL },
#define A(name, offset, width, count) { #name, offset, width, count, NULL },
#define S(name, offset, part) { #name, offset, 0, 1, &ernic_mlx5_##part.self },
#define SA(name, offset, part, count) \
    { #name, offset, 0, count, &ernic_mlx5_##part.self },
#define END };
#include "interfaces/mlx5/layout/fields_all.h.inc"

/* The bits of the byte at @bit, at most @left, and how far to shift them right. */
static unsigned bits_of_byte(uint32_t bit, unsigned left, unsigned *shift)
{
    unsigned n = MIN(left, 8 - bit % 8);

    *shift = 8 - bit % 8 - n;
    return n;
}

uint64_t ernic_mlx5_get_at(const void *base, const ErnicMlx5Field *field, uint32_t i)
{
    const uint8_t *bytes = base;
    uint32_t bit = field->offset + i * field->width;
    unsigned left = field->width, n, shift;
    uint64_t value = 0;

    for (; left; left -= n, bit += n) {
        n = bits_of_byte(bit, left, &shift);
        value = value << n | (bytes[bit / 8] >> shift & ((1u << n) - 1));
    }
    return value;
}

void ernic_mlx5_put_at(void *base, const ErnicMlx5Field *field, uint32_t i,
                       uint64_t value)
{
    uint8_t *bytes = base;
    uint32_t bit = field->offset + i * field->width;
    unsigned left = field->width, n, shift;

    for (; left; left -= n, bit += n) {
        uint8_t mask, *byte = &bytes[bit / 8];

        n = bits_of_byte(bit, left, &shift);
        mask = ((1u << n) - 1) << shift;
        *byte = (*byte & ~mask) | ((value >> (left - n)) << shift & mask);
    }
}
