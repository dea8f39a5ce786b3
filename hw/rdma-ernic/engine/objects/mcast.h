/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups: which UD queue pairs take packets to a multicast GID.
 */
#ifndef ERNIC_OBJECTS_MCAST_H
#define ERNIC_OBJECTS_MCAST_H

#include "base/device.h"

struct ErnicMcast {             /* one attachment */
    bool used;
    /* Indices + 1, or 0; derived. */
    uint16_t next;              /* next member of the group */
    uint16_t chain;             /* first member: that of the next group of its bucket */
    ErnicGid gid;
    uint32_t qpn;
};

/* Recompute the lists of groups and members, and what is counted. */
void ernic_mcast_derive(Ernic *e);
/* Whether they agree with the table, and every member is in its group once. */
bool ernic_mcast_groups_ok(const Ernic *e);
/*
 * Queue pair @qpn exists: the caller checked. Attaching a member again changes
 * nothing. ERNIC_ERR_PARAM: not a multicast GID, or not a UD queue pair.
 */
uint8_t ernic_mcast_attach(Ernic *e, const ErnicGid *gid, uint32_t qpn);
uint8_t ernic_mcast_detach(Ernic *e, const ErnicGid *gid, uint32_t qpn);
/* The queue pair is destroyed: detach it from all groups. */
void ernic_mcast_forget(Ernic *e, uint32_t qpn);
/* The next group after that of *@pos (start with 0); NULL: no more. */
const ErnicGid *ernic_mcast_next_group(const Ernic *e, uint32_t *pos);
/* The next member after entry *@pos (start with 0); 0: no more. */
uint32_t ernic_mcast_next(const Ernic *e, const ErnicGid *gid, uint32_t *pos);

#endif /* ERNIC_OBJECTS_MCAST_H */
