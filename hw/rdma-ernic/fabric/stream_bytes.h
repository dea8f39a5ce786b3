/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A field of a migration stream: a length of four bytes (big-endian), then as many
 * bytes. The device and the wire store their state in it.
 */
#ifndef ERNIC_FABRIC_STREAM_BYTES_H
#define ERNIC_FABRIC_STREAM_BYTES_H

#include "migration/vmstate.h"

/* The greatest length, whatever the owner could have. */
#define ERNIC_STREAM_BYTES_MAX  (1u << 30)

/* Empty, but while a state is saved or loaded. */
typedef struct ErnicStreamBytes {
    uint8_t *data;              /* owned */
    uint32_t len;
    uint32_t most;              /* greatest length: it follows from properties */
} ErnicStreamBytes;

/* Before the field is saved or loaded: the owner's state has at most @most bytes. */
static inline void ernic_stream_bytes_limit(ErnicStreamBytes *b, uint64_t most)
{
    b->most = MIN(most, ERNIC_STREAM_BYTES_MAX);
}

/*
 * A length beyond the limit is refused before a byte is read. Then loading allocates as
 * bytes arrive, whatever the length says. Too long, cut off, or without memory on the
 * host: the field is empty and the stream is refused.
 */
extern const VMStateInfo ernic_stream_bytes_info;

/* @bytes, which the field takes over, become the value; false: too many. */
bool ernic_stream_bytes_set(ErnicStreamBytes *b, GByteArray *bytes);
void ernic_stream_bytes_clear(ErnicStreamBytes *b);

/* A field of structure @type, present if @test (may be NULL) says so. */
#define ERNIC_STREAM_BYTES(field_, type, test) { \
    .name = #field_, .field_exists = (test), .size = sizeof(ErnicStreamBytes), \
    .info = &ernic_stream_bytes_info, .flags = VMS_SINGLE, \
    .offset = vmstate_offset_value(type, field_, ErnicStreamBytes), \
}

#endif /* ERNIC_FABRIC_STREAM_BYTES_H */
