/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Times and sizes that the specification encodes by a table.
 */
#include "qemu/osdep.h"
#include "wire/ib_tables.h"

#define RNR_UNIT_NS     10000   /* the table counts in 0.01 ms */
#define ACK_UNIT_NS     4096

/* RNR NAK timer field to 0.01 ms; code 0 is the longest (IBTA 9.7.5.2.8). */
static const uint32_t rnr_timer[ERNIC_RNR_TIMER_COUNT] = {
    [0]  = 65536, 1, 2, 3, 4, 6, 8, 12,
    [8]  = 16, 24, 32, 48, 64, 96, 128, 192,
    [16] = 256, 384, 512, 768, 1024, 1536, 2048, 3072,
    [24] = 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint64_t ernic_rnr_timer_ns(uint8_t code)
{
    return (uint64_t)rnr_timer[code % ERNIC_RNR_TIMER_COUNT] * RNR_UNIT_NS;
}

uint64_t ernic_ack_timeout_ns(uint8_t code)
{
    code %= ERNIC_ACK_TIMEOUT_COUNT;
    return code ? (uint64_t)ACK_UNIT_NS << code : 0;
}
