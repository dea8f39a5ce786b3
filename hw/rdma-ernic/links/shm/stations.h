/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stations of Ethernet that each peer leads to, as a switch learns them from the
 * frames that it receives (IEEE 802.1Q, 8.7). All ports of a folder have a connection to
 * each other, so a frame passes one switch, and there is no loop.
 */
#ifndef ERNIC_LINKS_SHM_STATIONS_H
#define ERNIC_LINKS_SHM_STATIONS_H

#include "links/shm/port.h"

/* Sets of places, a power of two, and places of a set. A new address takes the oldest. */
#define ERNIC_SHM_SETS      256
#define ERNIC_SHM_WAYS      4

typedef struct ErnicShmStation {
    uint8_t mac[6];             /* 0: free */
    uint8_t peer;
} ErnicShmStation;

typedef struct ErnicShmStations {
    ErnicShmStation at[ERNIC_SHM_SETS][ERNIC_SHM_WAYS];
    uint8_t oldest[ERNIC_SHM_SETS];
} ErnicShmStations;

/* A frame of @mac came from @peer. */
void ernic_shm_stations_learn(ErnicShmStations *s, const uint8_t *mac, uint32_t peer);
/* The peer that leads to @mac; ERNIC_SHM_PEERS: a group, or not known. */
uint32_t ernic_shm_stations_find(const ErnicShmStations *s, const uint8_t *mac);
/* @peer is gone. */
void ernic_shm_stations_forget(ErnicShmStations *s, uint32_t peer);

#endif /* ERNIC_LINKS_SHM_STATIONS_H */
