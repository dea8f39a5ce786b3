/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The GID table. Each train that is sent is looked up, and software uses the first few
 * entries, so a search ends at the last one that is used.
 */
#include "qemu/osdep.h"
#include "objects/gid.h"

static bool gid_is_none(const ErnicGid *gid)
{
    static const ErnicGid none;

    return memcmp(gid, &none, sizeof(none)) == 0;
}

uint32_t ernic_gid_count(const Ernic *e)
{
    uint32_t n = ERNIC_LIM_GID;

    while (n && gid_is_none(&e->gid[n - 1].gid)) {
        n--;
    }
    return n;
}

void ernic_gid_derive(Ernic *e)
{
    e->gid_changes++;
    e->num_gids = ernic_gid_count(e);
}

void ernic_gid_set(Ernic *e, uint32_t index, const ErnicGidEntry *entry)
{
    g_assert(index < ERNIC_LIM_GID);
    e->gid[index] = *entry;
    ernic_gid_derive(e);
}

bool ernic_gid_is_local(const Ernic *e, const ErnicGid *gid)
{
    uint32_t i;

    for (i = 0; i < e->num_gids; i++) {
        if (memcmp(&e->gid[i].gid, gid, sizeof(*gid)) == 0) {
            return !gid_is_none(gid);
        }
    }
    return false;
}
