/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hooks of libFuzzer for targets whose input is records: a target has
 * fuzz_make(), and this file among its sources.
 */
#include "qemu/osdep.h"
#include "input.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed)
{
    return fuzz_mutate(data, size, max, seed, fuzz_make);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len,
                                 const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t max, unsigned seed)
{
    return fuzz_cross(a, a_len, b, b_len, out, max, seed);
}
