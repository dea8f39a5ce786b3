/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Arithmetic modulo 2^24 on packet and message sequence numbers.
 */
#ifndef ERNIC_WIRE_PSN_H
#define ERNIC_WIRE_PSN_H

#include "base/ib_spec.h"

/* @psn advanced by @n packets; @n may be negative. */
static inline uint32_t ernic_psn_add(uint32_t psn, int32_t n)
{
    return (psn + (uint32_t)n) & ERNIC_PSN_MASK;
}

static inline uint32_t ernic_psn_next(uint32_t psn)
{
    return (psn + 1) & ERNIC_PSN_MASK;
}

/*
 * The difference of @a and @b, -2^23 to 2^23 - 1; negative: @a is earlier. Of two
 * numbers that are exactly 2^23 apart, each counts as earlier than the other, so
 * neither is accepted as new.
 */
static inline int32_t ernic_psn_diff(uint32_t a, uint32_t b)
{
    uint32_t d = (a - b) & ERNIC_PSN_MASK;

    return (int32_t)(d ^ 0x800000u) - 0x800000;
}

/* The number of packets from @from to @to, without @to: 0 to 2^24 - 1. */
static inline uint32_t ernic_psn_distance(uint32_t from, uint32_t to)
{
    return (to - from) & ERNIC_PSN_MASK;
}

#endif /* ERNIC_WIRE_PSN_H */
