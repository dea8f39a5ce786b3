/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups as one table of attachments, which is searched: groups are
 * few, and their packets are datagrams that are copied anyway.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/mcast.h"
#include "trace.h"
#include "transport/qp.h"

bool ernic_gid_is_mcast(const ErnicGid *gid)
{
    if (ernic_gid_is_v4(gid)) {
        return (gid->raw[12] & 0xf0) == 0xe0;           /* 224.0.0.0/4 */
    }
    return gid->raw[0] == 0xff;                         /* ff00::/8 */
}

static bool member_of(const ErnicMcast *m, const ErnicGid *gid)
{
    return m->used && memcmp(&m->gid, gid, sizeof(*gid)) == 0;
}

static bool has_members(const Ernic *e, const ErnicGid *gid, uint32_t end)
{
    uint32_t i;

    for (i = 0; i < end; i++) {
        if (member_of(&e->mcast[i], gid)) {
            return true;
        }
    }
    return false;
}

uint32_t ernic_mcast_groups(const Ernic *e)
{
    uint32_t i, n = 0;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        n += e->mcast[i].used && !has_members(e, &e->mcast[i].gid, i);
    }
    return n;
}

static void detach(Ernic *e, ErnicMcast *m)
{
    ErnicGid gid = m->gid;

    memset(m, 0, sizeof(*m));
    e->num_groups -= !has_members(e, &gid, ERNIC_LIM_MCAST_ATTACH);
}

uint8_t ernic_mcast_attach(Ernic *e, const ErnicGid *gid, uint32_t qpn)
{
    ErnicMcast *free_entry = NULL;
    bool known = false;
    uint32_t i;

    if (!ernic_gid_is_mcast(gid) || e->qp[qpn].type != ERNIC_QPT_UD) {
        return ERNIC_ERR_PARAM;
    }
    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        ErnicMcast *m = &e->mcast[i];

        if (!m->used) {
            free_entry = free_entry ? free_entry : m;
        } else if (member_of(m, gid)) {
            known = true;
            if (m->qpn == qpn) {
                return ERNIC_OK;        /* a member once, however often */
            }
        }
    }
    if (!free_entry ||
        (!known && e->num_groups == ERNIC_LIM_MCAST_GROUP)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->num_groups += !known;
    free_entry->used = true;
    free_entry->gid = *gid;
    free_entry->qpn = qpn;
    trace_ernic_mcast_attach(qpn, ldq_be_p(gid->raw), ldq_be_p(gid->raw + 8));
    return ERNIC_OK;
}

uint8_t ernic_mcast_detach(Ernic *e, const ErnicGid *gid, uint32_t qpn)
{
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        ErnicMcast *m = &e->mcast[i];

        if (member_of(m, gid) && m->qpn == qpn) {
            detach(e, m);
            trace_ernic_mcast_detach(qpn, ldq_be_p(gid->raw),
                                     ldq_be_p(gid->raw + 8));
            return ERNIC_OK;
        }
    }
    return ERNIC_ERR_HANDLE;
}

void ernic_mcast_forget(Ernic *e, uint32_t qpn)
{
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        if (e->mcast[i].used && e->mcast[i].qpn == qpn) {
            detach(e, &e->mcast[i]);
        }
    }
}

uint32_t ernic_mcast_next(const Ernic *e, const ErnicGid *gid, uint32_t *pos)
{
    while (*pos < ERNIC_LIM_MCAST_ATTACH) {
        const ErnicMcast *m = &e->mcast[(*pos)++];

        if (member_of(m, gid)) {
            return m->qpn;
        }
    }
    return 0;
}
