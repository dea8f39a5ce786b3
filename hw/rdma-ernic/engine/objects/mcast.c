/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups: one table of attachments. A hash finds the first member of a group,
 * and a list by ascending index the others. All of that follows from the table.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/mcast.h"
#include "objects/qp.h"
#include "trace.h"

QEMU_BUILD_BUG_ON(ERNIC_LIM_MCAST_ATTACH >= UINT16_MAX);

static int compare(const Ernic *e, uint32_t n, const ErnicGid *gid)
{
    return memcmp(&e->mcast[n - 1].gid, gid, sizeof(*gid));
}

static uint32_t bucket_of(const ErnicGid *gid)
{
    uint64_t bits = ldq_be_p(gid->raw) ^ ldq_be_p(gid->raw + 8);

    return (bits * 0x9e3779b97f4a7c15ull) >> 32 & (ERNIC_MCAST_BUCKETS - 1);
}

/* Where the first member of @gid is named, or would be. */
static uint16_t *find_group(Ernic *e, const ErnicGid *gid)
{
    uint16_t *at = &e->mcast_bucket[bucket_of(gid)];

    while (*at && compare(e, *at, gid) < 0) {
        at = &e->mcast[*at - 1].chain;
    }
    return at;
}

static bool has_group(const Ernic *e, const uint16_t *at, const ErnicGid *gid)
{
    return *at && compare(e, *at, gid) == 0;
}

/* Where member @qpn of the group that @at names is named; or the end of its list. */
static uint16_t *find_member(Ernic *e, uint16_t *at, uint32_t qpn)
{
    uint32_t n = 0;

    for (; *at && e->mcast[*at - 1].qpn != qpn; n++) {
        at = &e->mcast[*at - 1].next;
    }
    ernic_charge_walk(e, n);
    return at;
}

/* @m, which is in use, becomes a member of its group. */
static void link_member(Ernic *e, ErnicMcast *m)
{
    uint16_t *at = find_group(e, &m->gid), n = m - e->mcast + 1;

    if (!has_group(e, at, &m->gid)) {
        m->chain = *at;
        e->num_groups++;
    } else if (n < *at) {
        m->next = *at;
        m->chain = e->mcast[*at - 1].chain;
        e->mcast[*at - 1].chain = 0;
    } else {
        while (*at && *at < n) {
            at = &e->mcast[*at - 1].next;
        }
        m->next = *at;
    }
    *at = n;
}

void ernic_mcast_derive(Ernic *e)
{
    uint32_t i;

    memset(e->mcast_bucket, 0, sizeof(e->mcast_bucket));
    e->num_groups = 0;
    e->mcast_free = ERNIC_LIM_MCAST_ATTACH;
    e->mcast_end = 0;
    /* Backwards, each is the first one of its group. */
    for (i = ERNIC_LIM_MCAST_ATTACH; i--; ) {
        ErnicMcast *m = &e->mcast[i];

        if (m->used) {
            m->next = m->chain = 0;
            link_member(e, m);
            e->mcast_end = MAX(e->mcast_end, i + 1);
        } else {
            e->mcast_free = i;
        }
    }
}

/*
 * The number of members of the group that begins with entry @first, which has each of
 * them once. 0: its list is broken. @seen has a flag for each queue pair, none of which
 * is set.
 */
static uint32_t members_ok(const Ernic *e, uint32_t first, bool *seen)
{
    uint32_t n, last = 0, members = 0;

    for (n = first; n > last && n <= ERNIC_LIM_MCAST_ATTACH; n = e->mcast[n - 1].next) {
        const ErnicMcast *m = &e->mcast[n - 1];

        if (!m->used || compare(e, first, &m->gid) != 0 || m->qpn >= e->cfg.max_qp ||
            seen[m->qpn]) {
            return 0;
        }
        seen[m->qpn] = true;
        members++;
        last = n;
    }
    if (n) {
        return 0;
    }
    for (n = first; n; n = e->mcast[n - 1].next) {
        seen[e->mcast[n - 1].qpn] = false;
    }
    return members;
}

/* Whether exactly the entries below the first free one, and @used in all, are in use. */
static bool entries_ok(const Ernic *e, uint32_t used)
{
    uint32_t i;

    if (e->mcast_free > e->mcast_end || e->mcast_end > ERNIC_LIM_MCAST_ATTACH) {
        return false;
    }
    for (i = 0; i < e->mcast_end; i++) {
        if (i <= e->mcast_free && e->mcast[i].used != (i < e->mcast_free)) {
            return false;
        }
        used -= e->mcast[i].used;
    }
    return !used;
}

bool ernic_mcast_groups_ok(const Ernic *e)
{
    g_autofree bool *seen = g_new0(bool, e->cfg.max_qp);
    uint32_t b, n, last, members, groups = 0, reached = 0;

    for (b = 0; b < ERNIC_MCAST_BUCKETS; b++) {
        for (n = e->mcast_bucket[b], last = 0; n; n = e->mcast[n - 1].chain) {
            members = n <= ERNIC_LIM_MCAST_ATTACH ? members_ok(e, n, seen) : 0;
            if (!members || bucket_of(&e->mcast[n - 1].gid) != b ||
                (last && compare(e, last, &e->mcast[n - 1].gid) >= 0)) {
                return false;
            }
            reached += members;
            groups++;
            last = n;
        }
    }
    return entries_ok(e, reached) && groups == e->num_groups &&
           groups <= ERNIC_LIM_MCAST_GROUP;
}

/* Remove the member @qpn from the group that @at names, if it is one. */
static bool detach(Ernic *e, uint16_t *at, uint32_t qpn)
{
    uint16_t *place = find_member(e, at, qpn);
    ErnicMcast *m;

    if (!*place) {
        return false;
    }
    m = &e->mcast[*place - 1];
    if (place != at) {
        *place = m->next;
    } else if (m->next) {
        e->mcast[m->next - 1].chain = m->chain;
        *at = m->next;
    } else {
        *at = m->chain;
        e->num_groups--;
    }
    memset(m, 0, sizeof(*m));
    e->mcast_free = MIN(e->mcast_free, m - e->mcast);
    return true;
}

uint8_t ernic_mcast_attach(Ernic *e, const ErnicGid *gid, uint32_t qpn)
{
    uint32_t entry = e->mcast_free;
    uint16_t *at;
    bool known;

    g_assert(qpn < e->cfg.max_qp && e->qp[qpn].used);
    if (!ernic_gid_is_mcast(gid) || e->qp[qpn].type != ERNIC_QPT_UD) {
        return ERNIC_ERR_PARAM;
    }
    at = find_group(e, gid);
    known = has_group(e, at, gid);
    if (known && *find_member(e, at, qpn)) {
        return ERNIC_OK;                /* already a member: no change */
    }
    if (entry == ERNIC_LIM_MCAST_ATTACH ||
        (!known && e->num_groups == ERNIC_LIM_MCAST_GROUP)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    g_assert(!e->mcast[entry].used);
    e->mcast[entry] = (ErnicMcast) { .used = true, .gid = *gid, .qpn = qpn };
    link_member(e, &e->mcast[entry]);
    e->mcast_end = MAX(e->mcast_end, entry + 1);
    while (++e->mcast_free < ERNIC_LIM_MCAST_ATTACH && e->mcast[e->mcast_free].used) {
        continue;
    }
    ernic_charge_walk(e, e->mcast_free - entry);
    trace_ernic_mcast_attach(qpn, ldq_be_p(gid->raw), ldq_be_p(gid->raw + 8));
    return ERNIC_OK;
}

uint8_t ernic_mcast_detach(Ernic *e, const ErnicGid *gid, uint32_t qpn)
{
    uint16_t *at = find_group(e, gid);

    if (!has_group(e, at, gid) || !detach(e, at, qpn)) {
        return ERNIC_ERR_HANDLE;
    }
    trace_ernic_mcast_detach(qpn, ldq_be_p(gid->raw), ldq_be_p(gid->raw + 8));
    return ERNIC_OK;
}

void ernic_mcast_forget(Ernic *e, uint32_t qpn)
{
    uint32_t b, groups;
    uint16_t *at;

    for (b = 0; b < ERNIC_MCAST_BUCKETS; b++) {
        for (at = &e->mcast_bucket[b]; *at; ) {
            groups = e->num_groups;
            detach(e, at, qpn);
            if (groups == e->num_groups) {
                at = &e->mcast[*at - 1].chain;
            }
        }
    }
}

uint32_t ernic_mcast_next(const Ernic *e, const ErnicGid *gid, uint32_t *pos)
{
    uint32_t n;

    if (*pos && e->mcast[*pos - 1].used && compare(e, *pos, gid) == 0) {
        n = e->mcast[*pos - 1].next;
    } else {
        /* The first one, or the last one was removed. */
        n = *find_group((Ernic *)e, gid);
        n = n && compare(e, n, gid) == 0 ? n : 0;
        while (n && n <= *pos) {
            n = e->mcast[n - 1].next;
        }
    }
    if (!n) {
        return 0;
    }
    *pos = n;
    return e->mcast[n - 1].qpn;
}

const ErnicGid *ernic_mcast_next_group(const Ernic *e, uint32_t *pos)
{
    uint32_t b = *pos ? bucket_of(&e->mcast[*pos - 1].gid) + 1 : 0;
    uint32_t n = *pos ? e->mcast[*pos - 1].chain : 0;

    while (!n && b < ERNIC_MCAST_BUCKETS) {
        n = e->mcast_bucket[b++];
    }
    *pos = n;
    return n ? &e->mcast[n - 1].gid : NULL;
}
