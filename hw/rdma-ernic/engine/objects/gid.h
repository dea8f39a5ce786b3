/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The GID table: the addresses of the port.
 */
#ifndef ERNIC_OBJECTS_GID_H
#define ERNIC_OBJECTS_GID_H

#include "base/device.h"

/* Store @entry, which the caller has checked; a GID of all 0 frees entry @index. */
void ernic_gid_set(Ernic *e, uint32_t index, const ErnicGidEntry *entry);
/* The table has changed: recompute e->num_gids, and count the change. */
void ernic_gid_derive(Ernic *e);
/* The number of entries up to the last one that is used. */
uint32_t ernic_gid_count(const Ernic *e);
/* Whether @gid is in the table. */
bool ernic_gid_is_local(const Ernic *e, const ErnicGid *gid);

#endif /* ERNIC_OBJECTS_GID_H */
