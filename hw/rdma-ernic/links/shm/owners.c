/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The addresses of all peers in one sorted array: a search takes 12 comparisons, and a
 * new list of a peer one pass, whatever addresses a peer chooses.
 */
#include "qemu/osdep.h"
#include "links/shm/owners.h"

static int compare_gids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ErnicGid));
}

static int compare_claims(const ErnicShmClaim *a, const ErnicShmClaim *b)
{
    int order = compare_gids(&a->gid, &b->gid);

    return order ?: (a->since > b->since) - (a->since < b->since);
}

/* The first claim whose address is not below @gid. */
static uint32_t first_claim(const ErnicShmOwners *o, const ErnicGid *gid)
{
    uint32_t low = 0, high = o->num;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (compare_gids(&o->claim[middle].gid, gid) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_claim_to(const ErnicShmOwners *o, uint32_t i, const ErnicGid *gid)
{
    return i < o->num && compare_gids(&o->claim[i].gid, gid) == 0;
}

uint32_t ernic_shm_owners_find(const ErnicShmOwners *o, const ErnicGid *gid)
{
    uint32_t i = first_claim(o, gid);

    return is_claim_to(o, i, gid) ? o->claim[i].peer : ERNIC_SHM_PEERS;
}

/* Keeps the age of a claim that @peer has already. Returns: it is new, and no first. */
static bool make_claim(ErnicShmOwners *o, uint32_t peer, const ErnicGid *gid,
                       ErnicShmClaim *made)
{
    uint32_t i = first_claim(o, gid);
    bool taken = is_claim_to(o, i, gid);

    for (; is_claim_to(o, i, gid); i++) {
        if (o->claim[i].peer == peer) {
            *made = o->claim[i];
            return false;
        }
    }
    *made = (ErnicShmClaim) { .gid = *gid, .peer = peer, .since = ++o->claims };
    return taken;
}

/* The claims of @peer leave the array. */
static void withdraw(ErnicShmOwners *o, uint32_t peer)
{
    uint32_t i, n = 0;

    for (i = 0; i < o->num; i++) {
        if (o->claim[i].peer != peer) {
            o->claim[n++] = o->claim[i];
        }
    }
    o->num = n;
}

/* @made, in order, join the array. From the last one on, nothing is in the way. */
static void merge(ErnicShmOwners *o, const ErnicShmClaim *made, uint32_t num)
{
    uint32_t old = o->num, to = old + num;

    o->num = to;
    while (num) {
        if (old && compare_claims(&o->claim[old - 1], &made[num - 1]) > 0) {
            o->claim[--to] = o->claim[--old];
        } else {
            o->claim[--to] = made[--num];
        }
    }
}

uint32_t ernic_shm_owners_set(ErnicShmOwners *o, uint32_t peer, const ErnicGid *gid,
                              uint32_t num)
{
    ErnicShmClaim made[ERNIC_SHM_ADDRESSES];
    ErnicGid list[ERNIC_SHM_ADDRESSES];
    uint32_t i, n = 0, taken = 0;

    num = MIN(num, ERNIC_SHM_ADDRESSES);
    if (num) {
        memcpy(list, gid, num * sizeof(*gid));
    }
    qsort(list, num, sizeof(*list), compare_gids);
    for (i = 0; i < num; i++) {
        if (i == 0 || compare_gids(&list[i - 1], &list[i]) != 0) {
            taken += make_claim(o, peer, &list[i], &made[n++]);
        }
    }
    withdraw(o, peer);
    merge(o, made, n);
    return taken;
}
