/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stations of Ethernet that each peer leads to: a table with one place for each
 * address.
 */
#include "qemu/osdep.h"
#include "links/shm/stations.h"

/* Addresses of one vendor, and consecutive ones, have different places. */
static uint32_t place(const uint8_t *mac)
{
    uint32_t low = mac[3] << 16 | mac[4] << 8 | mac[5];
    uint32_t high = mac[0] << 16 | mac[1] << 8 | mac[2];

    return (low ^ high * 0x9e3779b1u >> 8 ^ low >> 10) % ERNIC_SHM_STATIONS;
}

static bool is_group(const uint8_t *mac)
{
    return mac[0] & 1;
}

void ernic_shm_stations_learn(ErnicShmStations *s, const uint8_t *mac, uint32_t peer)
{
    ErnicShmStation *at = &s->at[place(mac)];

    if (!is_group(mac)) {
        memcpy(at->mac, mac, sizeof(at->mac));
        at->peer = peer;
    }
}

uint32_t ernic_shm_stations_find(const ErnicShmStations *s, const uint8_t *mac)
{
    static const uint8_t none[6];
    const ErnicShmStation *at = &s->at[place(mac)];

    return memcmp(mac, none, sizeof(none)) != 0 &&
           memcmp(at->mac, mac, sizeof(at->mac)) == 0 ? at->peer : ERNIC_SHM_PEERS;
}

void ernic_shm_stations_forget(ErnicShmStations *s, uint32_t peer)
{
    uint32_t i;

    for (i = 0; i < ERNIC_SHM_STATIONS; i++) {
        if (s->at[i].peer == peer) {
            s->at[i] = (ErnicShmStation) { };
        }
    }
}
