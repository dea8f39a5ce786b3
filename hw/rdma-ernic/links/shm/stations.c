/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stations of Ethernet that each peer leads to: a table with a few places for each
 * address.
 */
#include "qemu/osdep.h"
#include "links/shm/stations.h"

/* Addresses of one vendor, and consecutive ones, have different sets. */
static uint32_t set_of(const uint8_t *mac)
{
    uint32_t low = mac[3] << 16 | mac[4] << 8 | mac[5];
    uint32_t high = mac[0] << 16 | mac[1] << 8 | mac[2];

    return (low ^ high * 0x9e3779b1u >> 8 ^ low >> 8) % ERNIC_SHM_SETS;
}

/* Never with the address 0, which is nobody's. */
static bool is_station(const uint8_t *mac)
{
    static const uint8_t none[6];

    return !(mac[0] & 1) && memcmp(mac, none, sizeof(none)) != 0;
}

static uint32_t way_of(const ErnicShmStation *set, const uint8_t *mac)
{
    uint32_t way;

    for (way = 0; way < ERNIC_SHM_WAYS; way++) {
        if (memcmp(set[way].mac, mac, sizeof(set[way].mac)) == 0) {
            break;
        }
    }
    return way;
}

void ernic_shm_stations_learn(ErnicShmStations *s, const uint8_t *mac, uint32_t peer)
{
    uint32_t set = set_of(mac), way = way_of(s->at[set], mac);

    if (!is_station(mac)) {
        return;
    }
    if (way == ERNIC_SHM_WAYS) {
        way = s->oldest[set]++ % ERNIC_SHM_WAYS;
        memcpy(s->at[set][way].mac, mac, sizeof(s->at[set][way].mac));
    }
    s->at[set][way].peer = peer;
}

uint32_t ernic_shm_stations_find(const ErnicShmStations *s, const uint8_t *mac)
{
    uint32_t set = set_of(mac), way = way_of(s->at[set], mac);

    return is_station(mac) && way < ERNIC_SHM_WAYS ? s->at[set][way].peer :
                                                     ERNIC_SHM_PEERS;
}

void ernic_shm_stations_forget(ErnicShmStations *s, uint32_t peer)
{
    uint32_t set, way;

    for (set = 0; set < ERNIC_SHM_SETS; set++) {
        for (way = 0; way < ERNIC_SHM_WAYS; way++) {
            if (s->at[set][way].peer == peer) {
                s->at[set][way] = (ErnicShmStation) { };
            }
        }
    }
}
