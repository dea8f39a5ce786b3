/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state of the wire, described once for both directions: each function writes
 * a value, or reads it. Bytes that are read are not trusted.
 */
#ifndef ERNIC_WALK_H
#define ERNIC_WALK_H

#include <glib.h>
#include "network/cable.h"

/* What a time may be ahead of the present. */
#define ERNIC_WALK_NS_MAX   10000000000ull

typedef struct ErnicArchive {
    GByteArray *out;            /* NULL: it reads */
    const uint8_t *in;
    size_t left;                /* bytes of in */
    uint64_t now;               /* ns, here: times are told against it */
    bool bad;                   /* what was read is no such state */
} ErnicArchive;

void ernic_archive_bytes(ErnicArchive *w, void *value, size_t len);
/* Numbers, little-endian; one that is read and above @max is bad. */
void ernic_archive_u64(ErnicArchive *w, uint64_t *value, uint64_t max);
void ernic_archive_u32(ErnicArchive *w, uint32_t *value, uint32_t max);
void ernic_archive_bool(ErnicArchive *w, bool *value);
/* A time: as far from the present here as it was there, but no less than 0. */
void ernic_archive_time(ErnicArchive *w, uint64_t *ns);
/*
 * Frames from ports below @ports, in the order of their times, of @min to @max bytes;
 * or of none, if @signals.
 */
void ernic_archive_list(ErnicArchive *w, ErnicCarriedList *l, uint32_t ports,
                        uint32_t min, uint32_t max, bool signals);

#endif /* ERNIC_WALK_H */
