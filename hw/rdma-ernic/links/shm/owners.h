/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The peer of the shared-memory link that has an address. If several announce
 * one, the first of them has it until it withdraws it: a newcomer takes no packets.
 */
#ifndef ERNIC_LINKS_SHM_OWNERS_H
#define ERNIC_LINKS_SHM_OWNERS_H

#include "links/shm/port.h"

typedef struct ErnicShmClaim {
    ErnicGid gid;
    uint32_t peer;
    uint64_t since;             /* the number of this claim */
} ErnicShmClaim;

typedef struct ErnicShmOwners {
    uint32_t num;
    uint64_t claims;            /* so far */
    /* Sorted by address, and for one address by the order of the claims. */
    ErnicShmClaim claim[ERNIC_SHM_PEERS * ERNIC_SHM_ADDRESSES];
} ErnicShmOwners;

/*
 * @peer has these addresses, at most ERNIC_SHM_ADDRESSES, and no other ones. Returns the
 * number of new ones that another peer has already.
 */
uint32_t ernic_shm_owners_set(ErnicShmOwners *o, uint32_t peer, const ErnicGid *gid,
                              uint32_t num);
/* The peer that has @gid, or ERNIC_SHM_PEERS. */
uint32_t ernic_shm_owners_find(const ErnicShmOwners *o, const ErnicGid *gid);

#endif /* ERNIC_LINKS_SHM_OWNERS_H */
