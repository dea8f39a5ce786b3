/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups: one table of attachments with a linear search. There are few
 * groups, and each datagram is copied to its members anyway.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/mcast.h"
#include "objects/qp.h"
#include "trace.h"

static bool member_of(const ErnicMcast *m, const ErnicGid *gid)
{
    return m->used && memcmp(&m->gid, gid, sizeof(*gid)) == 0;
}

/* The first member of @gid among the first @end entries; NULL: there is none. */
static ErnicMcast *find_member(const Ernic *e, const ErnicGid *gid, uint32_t end)
{
    uint32_t i;

    for (i = 0; i < end; i++) {
        if (member_of(&e->mcast[i], gid)) {
            return &e->mcast[i];
        }
    }
    return NULL;
}

void ernic_mcast_derive(Ernic *e)
{
    uint32_t i;

    e->num_groups = 0;
    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        ErnicMcast *m = &e->mcast[i];

        m->first = m->used && !find_member(e, &m->gid, i);
        e->num_groups += m->first;
    }
}

bool ernic_mcast_groups_ok(const Ernic *e)
{
    uint32_t i, k, n = 0, of_group;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        if (!e->mcast[i].used) {
            continue;
        }
        for (of_group = k = 0; k < ERNIC_LIM_MCAST_ATTACH; k++) {
            of_group += e->mcast[k].first &&
                        member_of(&e->mcast[k], &e->mcast[i].gid);
        }
        if (of_group != 1) {
            return false;
        }
        n += e->mcast[i].first;
    }
    return n == e->num_groups && n <= ERNIC_LIM_MCAST_GROUP;
}

static void detach(Ernic *e, ErnicMcast *m)
{
    ErnicMcast gone = *m, *next;

    memset(m, 0, sizeof(*m));
    if (gone.first) {
        next = find_member(e, &gone.gid, ERNIC_LIM_MCAST_ATTACH);
        if (next) {
            next->first = true;
        } else {
            e->num_groups--;
        }
    }
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
                return ERNIC_OK;        /* already a member: no change */
            }
        }
    }
    if (!free_entry ||
        (!known && e->num_groups == ERNIC_LIM_MCAST_GROUP)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->num_groups += !known;
    free_entry->used = true;
    free_entry->first = !known;
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

const ErnicGid *ernic_mcast_next_group(const Ernic *e, uint32_t *pos)
{
    while (*pos < ERNIC_LIM_MCAST_ATTACH) {
        const ErnicMcast *m = &e->mcast[(*pos)++];

        if (m->first) {
            return &m->gid;
        }
    }
    return NULL;
}
