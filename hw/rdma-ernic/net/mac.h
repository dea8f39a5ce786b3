/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of AMD's Ethernet MACs for one direction: CMAC (PG203) and the 10G/25G
 * MAC (PG210) have the same ones in the same order.
 */
#ifndef ERNIC_NET_MAC_H
#define ERNIC_NET_MAC_H

#include <stdbool.h>
#include <stdint.h>

/* The longest frame without its FCS; the MAC's limit is 9600 bytes. */
#define ERNIC_MAC_FRAME_MAX 9596
#define ERNIC_MAC_FCS       4
/* Counters, in the order of their registers, which have two words for each. */
#define ERNIC_MAC_COUNTERS  32

typedef struct ErnicMac {
    uint64_t now[ERNIC_MAC_COUNTERS];           /* since the last tick */
    uint64_t shown[ERNIC_MAC_COUNTERS];         /* by the registers */
} ErnicMac;

/* The VMStateDescription of one, which has a name in each shell. */
#define ERNIC_MAC_VMSTATE(name_) ERNIC_VMSTATE(                         \
    name_,                                                              \
    VMSTATE_UINT64_ARRAY(now, ErnicMac, ERNIC_MAC_COUNTERS),            \
    VMSTATE_UINT64_ARRAY(shown, ErnicMac, ERNIC_MAC_COUNTERS))

/* The FCS of a frame. */
uint32_t ernic_mac_fcs(const uint8_t *frame, uint32_t len);
/* A frame of @len bytes without FCS has passed the MAC; or it has refused that. */
void ernic_mac_count(ErnicMac *m, const uint8_t *frame, uint32_t len);
void ernic_mac_count_bad(ErnicMac *m, uint32_t len, bool too_long);
/* The registers show what the MAC has counted since the last tick. */
void ernic_mac_tick(ErnicMac *m);
/* Word @word of them. */
uint32_t ernic_mac_counter(const ErnicMac *m, uint32_t word);

#endif /* ERNIC_NET_MAC_H */
