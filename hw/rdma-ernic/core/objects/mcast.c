/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups: one table of attachments with a linear search, and a list of the
 * members of each group. There are few groups, and each datagram is copied to its
 * members anyway.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/mcast.h"
#include "objects/qp.h"
#include "trace.h"

static bool member_of(const ErnicMcast *m, const ErnicGid *gid)
{
    return m->used && memcmp(&m->gid, gid, sizeof(*gid)) == 0;
}

/* The first member of @gid, whose list has the others; NULL: there is none. */
static ErnicMcast *find_group(Ernic *e, const ErnicGid *gid)
{
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        if (e->mcast[i].first && member_of(&e->mcast[i], gid)) {
            return &e->mcast[i];
        }
    }
    return NULL;
}

static ErnicMcast *next_member(const Ernic *e, const ErnicMcast *m)
{
    return m->next ? &e->mcast[m->next - 1] : NULL;
}

/* @m, which is in use, becomes a member of its group. */
static void link_member(Ernic *e, ErnicMcast *m)
{
    ErnicMcast *first = find_group(e, &m->gid);

    if (first) {
        m->next = first->next;
        first->next = m - e->mcast + 1;
    } else {
        m->first = true;
        e->num_groups++;
    }
}

void ernic_mcast_derive(Ernic *e)
{
    uint32_t i;

    e->num_groups = 0;
    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        e->mcast[i].first = false;
        e->mcast[i].next = 0;
        if (e->mcast[i].used) {
            link_member(e, &e->mcast[i]);
        }
    }
}

bool ernic_mcast_groups_ok(const Ernic *e)
{
    uint32_t i, used = 0, reached = 0, groups = 0, of_group;
    const ErnicMcast *m;

    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        const ErnicMcast *first = &e->mcast[i];

        used += first->used;
        if (!first->first) {
            continue;
        }
        groups++;
        of_group = reached;
        for (m = first; m && reached - of_group <= ERNIC_LIM_MCAST_ATTACH;
             m = next_member(e, m)) {
            if (!member_of(m, &first->gid) || (m->first && m != first)) {
                return false;
            }
            reached++;
        }
    }
    return reached == used && groups == e->num_groups &&
           groups <= ERNIC_LIM_MCAST_GROUP;
}

/*
 * Remove the member @qpn from the group of @first, if it is one. The lists of all
 * groups together have as many entries as the table.
 */
static bool detach(Ernic *e, ErnicMcast *first, uint32_t qpn)
{
    ErnicMcast *m, *prev = NULL, *next;

    for (m = first; m && m->qpn != qpn; m = next_member(e, m)) {
        prev = m;
    }
    if (!m) {
        return false;
    }
    next = next_member(e, m);
    if (prev) {
        prev->next = m->next;
    } else if (next) {
        next->first = true;
    } else {
        e->num_groups--;
    }
    memset(m, 0, sizeof(*m));
    return true;
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
    *free_entry = (ErnicMcast) { .used = true, .gid = *gid, .qpn = qpn };
    link_member(e, free_entry);
    trace_ernic_mcast_attach(qpn, ldq_be_p(gid->raw), ldq_be_p(gid->raw + 8));
    return ERNIC_OK;
}

uint8_t ernic_mcast_detach(Ernic *e, const ErnicGid *gid, uint32_t qpn)
{
    ErnicMcast *first = find_group(e, gid);

    if (!first || !detach(e, first, qpn)) {
        return ERNIC_ERR_HANDLE;
    }
    trace_ernic_mcast_detach(qpn, ldq_be_p(gid->raw), ldq_be_p(gid->raw + 8));
    return ERNIC_OK;
}

void ernic_mcast_forget(Ernic *e, uint32_t qpn)
{
    uint32_t i;

    ernic_charge_walk(e, ERNIC_LIM_MCAST_ATTACH);
    for (i = 0; i < ERNIC_LIM_MCAST_ATTACH; i++) {
        if (e->mcast[i].first) {
            detach(e, &e->mcast[i], qpn);
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
