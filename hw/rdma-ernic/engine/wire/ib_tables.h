/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Times and sizes that the specification encodes by a table.
 */
#ifndef ERNIC_WIRE_IB_TABLES_H
#define ERNIC_WIRE_IB_TABLES_H

#include "base/ib_spec.h"

/* Path MTU codes of QP attributes and path records. */
typedef enum ErnicMtu {
    ERNIC_MTU_256 = 1,
    ERNIC_MTU_512,
    ERNIC_MTU_1024,
    ERNIC_MTU_2048,
    ERNIC_MTU_4096,
} ErnicMtu;

/* RNR NAK timer code to nanoseconds. Only the low five bits count. */
uint64_t ernic_rnr_timer_ns(uint8_t code);

/*
 * Local ACK timeout code to nanoseconds: 4.096 us * 2^code. Only the low five bits
 * count. 0: there is no timeout.
 */
uint64_t ernic_ack_timeout_ns(uint8_t code);

/* Path MTU code to bytes; 0 if the code is not defined. */
static inline uint32_t ernic_mtu_bytes(uint8_t code)
{
    return code < ERNIC_MTU_256 || code > ERNIC_MTU_4096 ? 0 :
           ERNIC_MTU_MIN << (code - ERNIC_MTU_256);
}

#endif /* ERNIC_WIRE_IB_TABLES_H */
