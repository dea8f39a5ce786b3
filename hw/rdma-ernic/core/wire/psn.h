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
 * The way from @b to @a, -2^23 to 2^23 - 1: how a compares with b (negative:
 * earlier). Two numbers exactly half the circle apart each look earlier than
 * the other, so that neither is ever taken for new.
 */
static inline int32_t ernic_psn_diff(uint32_t a, uint32_t b)
{
    uint32_t d = (a - b) & ERNIC_PSN_MASK;

    return (int32_t)(d ^ 0x800000u) - 0x800000;
}

/* Whether @a is before, at or after @b: -1, 0, 1. */
static inline int ernic_psn_cmp(uint32_t a, uint32_t b)
{
    int32_t d = ernic_psn_diff(a, b);

    return (d > 0) - (d < 0);
}

/* Packets from @from up to, not including, @to, going forward: 0 to 2^24-1. */
static inline uint32_t ernic_psn_distance(uint32_t from, uint32_t to)
{
    return (to - from) & ERNIC_PSN_MASK;
}

/* Whether @psn is met on the way forward from @first to @last, inclusive. */
static inline bool ernic_psn_in(uint32_t psn, uint32_t first, uint32_t last)
{
    return ernic_psn_distance(first, psn) <= ernic_psn_distance(first, last);
}

#endif /* ERNIC_WIRE_PSN_H */
