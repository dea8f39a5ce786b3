/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cable from the network card to the port of lab=: the peer of the card in QEMU's
 * network layer. Frames of the Ethernet interface, and QEMU's announcements after a
 * migration, come by it. The engine's frames do not need it.
 */
#ifndef ERNIC_LINKS_SHM_CABLE_H
#define ERNIC_LINKS_SHM_CABLE_H

#include "device/device.h"

typedef struct ErnicShmCable ErnicShmCable;

/* Plugs the cable into the card of @d, which has none yet. @folder: for the user. */
ErnicShmCable *ernic_shm_cable_new(ErnicPci *d, const char *folder);
/* The card no longer exists. */
void ernic_shm_cable_free(ErnicShmCable *c);
/* The port has room again, for frames that it refused. Any thread, device's lock held. */
void ernic_shm_cable_room(ErnicShmCable *c);

/*
 * Unless the user gave an address: one that depends on the folder's name and the number
 * of the port in it, so that the same machines started in the same order have the same
 * ones. @number: 0: not known. Then, or above 255, the address is random.
 */
void ernic_shm_cable_address(MACAddr *mac, const char *folder, uint32_t number);

#endif /* ERNIC_LINKS_SHM_CABLE_H */
