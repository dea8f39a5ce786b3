/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers and bytes of saved state: how they are written, and how they are read
 * from a stream that is not trusted.
 */
#ifndef ERNIC_STATE_CODEC_H
#define ERNIC_STATE_CODEC_H

#include <glib.h>

/* A state that is being loaded. */
typedef struct ErnicStateStream {
    /*
     * By structure and row: the elements that the writer stored, 0 if its release
     * had no such row. NULL: its release had no such structure.
     */
    uint32_t **elements;
    uint32_t sections;          /* that the writer knew, by their numbers */
    GString *why;               /* the first reason to refuse the state, or empty */
} ErnicStateStream;

/* The bytes of a stream, or of one of its sections. */
typedef struct ErnicReader {
    const uint8_t *data;
    size_t left;
    bool failed;                /* it ended early; all further reads are 0 */
    ErnicStateStream *stream;
} ErnicReader;

/* A number of 1 to 8 bytes, little-endian. */
void ernic_state_put(GByteArray *out, uint64_t v, uint32_t size);
uint64_t ernic_state_read(ErnicReader *in, uint32_t size);
/*
 * @n numbers of 1, 2, 4 or 8 bytes, from and to an array in memory of the host. Zeros if
 * the reader has failed.
 */
void ernic_state_put_all(GByteArray *out, const void *from, uint32_t n, uint32_t size);
void ernic_state_read_all(ErnicReader *in, void *to, uint32_t n, uint32_t size);
/* @n bytes; zeros if the reader has failed. */
void ernic_state_read_bytes(ErnicReader *in, void *to, uint32_t n);
/* Whether @n elements of @size bytes are left. If not, the reader fails. */
bool ernic_state_has(ErnicReader *in, uint64_t n, uint32_t size);
/* Refuse the state with a reason, of which the first counts. Returns false. */
G_GNUC_PRINTF(2, 3)
bool ernic_state_refuse(ErnicReader *in, const char *why, ...);

/*
 * description.c: a stream begins with a description of what its writer knew: how many
 * sections, how many structures, and of each structure how many rows with how many
 * elements.
 */
void ernic_state_describe(GByteArray *out, uint32_t sections);
/*
 * Fill in in->stream from the description of a writer of at most @sections sections.
 * False: it is not valid, or of a newer release.
 */
bool ernic_state_read_description(ErnicReader *in, uint32_t sections);
void ernic_state_stream_fini(ErnicStateStream *stream);

#endif /* ERNIC_STATE_CODEC_H */
