/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state of the in-process network, described once for both directions:
 * each function writes a value or reads it. Bytes that are read are not
 * trusted.
 */
#ifndef ERNIC_FABRIC_ARCHIVE_H
#define ERNIC_FABRIC_ARCHIVE_H

#include <glib.h>
#include "fabric/carried.h"

/* A time is at most as far ahead of the present, ns. */
#define ERNIC_ARCHIVE_NS_MAX   10000000000ull

typedef struct ErnicArchive {
    GByteArray *out;            /* NULL: reading */
    bool measures;              /* writing: only counts, */
    uint64_t written;           /* bytes */
    const uint8_t *in;
    size_t left;                /* bytes of in */
    ErnicCarriedStore *store;   /* of frames that are read */
    uint64_t now;               /* ns, on this host: times are relative to it */
    bool in_section;            /* which may end before the next value */
    bool bad;                   /* the bytes are not a valid state */
} ErnicArchive;

/* A section that has begun; sections nest. */
typedef struct ErnicArchiveSection {
    size_t start;               /* written: where its content begins */
    size_t after;               /* read: bytes that follow it */
    bool in_section;
} ErnicArchiveSection;

/*
 * The bytes that @walk writes. It is called twice, the first time to learn their number;
 * NULL: this host has no memory for them.
 */
typedef void ErnicArchiveWalk(void *opaque, ErnicArchive *w);
GByteArray *ernic_archive_save(ErnicArchiveWalk *walk, void *opaque, uint64_t now);

ErnicArchiveSection ernic_archive_begin(ErnicArchive *w);
void ernic_archive_end(ErnicArchive *w, const ErnicArchiveSection *s);
void ernic_archive_bytes(ErnicArchive *w, void *value, size_t len);
/* A little-endian number; a value above @max is invalid. */
void ernic_archive_u64(ErnicArchive *w, uint64_t *value, uint64_t max);
void ernic_archive_u32(ErnicArchive *w, uint32_t *value, uint32_t max);
void ernic_archive_bool(ErnicArchive *w, bool *value);
/* A time: its distance from the present is kept, but it is at least 0. */
void ernic_archive_time(ErnicArchive *w, uint64_t *ns);
/*
 * Frames from ports below @ports, in the order of their times, each of @min to
 * @max bytes; with @signals also frames of length 0.
 */
void ernic_archive_list(ErnicArchive *w, ErnicCarriedList *l, uint32_t ports,
                        uint32_t min, uint32_t max, bool signals);

#endif /* ERNIC_FABRIC_ARCHIVE_H */
