/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of AMD's Ethernet MACs.
 */
#include "qemu/osdep.h"
#include <zlib.h>
#include "qemu/bswap.h"
#include "net/eth.h"
#include "net/mac.h"

enum {
    PACKETS, GOOD_PACKETS, BYTES, GOOD_BYTES,
    SIZES,                      /* twelve ranges of sizes */
    LARGE = SIZES + 12, SMALL, UNDERSIZE,
    OVERSIZE = 20, TOO_LONG,
    UNICAST = 26, MULTICAST, BROADCAST, VLAN,
};

/* The first size of each range, with FCS, and of what is large. */
static const uint16_t sizes[] = {
    64, 65, 128, 256, 512, 1024, 1519, 1523, 1549, 2048, 4096, 8192, 9216
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(sizes) != LARGE - SIZES + 1);

uint32_t ernic_mac_fcs(const uint8_t *frame, uint32_t len)
{
    return crc32(0, frame, len);
}

static uint32_t size_counter(uint32_t bytes)
{
    uint32_t i = 0;

    while (i < ARRAY_SIZE(sizes) && bytes >= sizes[i]) {
        i++;
    }
    return i ? SIZES + i - 1 : SMALL;
}

static void count(ErnicMac *m, uint32_t bytes)
{
    m->now[PACKETS]++;
    m->now[BYTES] += bytes;
    m->now[size_counter(bytes)]++;
}

void ernic_mac_count(ErnicMac *m, const uint8_t *frame, uint32_t len)
{
    uint64_t *c = m->now;

    count(m, len + ERNIC_MAC_FCS);
    c[GOOD_PACKETS]++;
    c[GOOD_BYTES] += len + ERNIC_MAC_FCS;
    c[is_broadcast_ether_addr(frame) ? BROADCAST :
      is_multicast_ether_addr(frame) ? MULTICAST : UNICAST]++;
    c[VLAN] += lduw_be_p(frame + ETH_HLEN - 2) == ETH_P_VLAN;
}

void ernic_mac_count_bad(ErnicMac *m, uint32_t len, bool too_long)
{
    count(m, len + ERNIC_MAC_FCS);
    m->now[too_long ? OVERSIZE : UNDERSIZE]++;
    m->now[TOO_LONG] += too_long;
}

void ernic_mac_tick(ErnicMac *m)
{
    memcpy(m->shown, m->now, sizeof(m->shown));
    memset(m->now, 0, sizeof(m->now));
}

uint32_t ernic_mac_counter(const ErnicMac *m, uint32_t word)
{
    uint64_t value = m->shown[word / 2 % ERNIC_MAC_COUNTERS];

    return word % 2 ? value >> 32 : value;
}
