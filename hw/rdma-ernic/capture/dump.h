/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A capture that a user asked for: a file of limited size. If it cannot be continued, it
 * ends with a warning, and the frames go on.
 */
#ifndef ERNIC_CAPTURE_DUMP_H
#define ERNIC_CAPTURE_DUMP_H

#include <stdio.h>

/* The least limit, bytes: more than the descriptions of all interfaces. */
#define ERNIC_DUMP_MIN  (16 * 1024)

typedef struct ErnicDump {
    FILE *file;                 /* NULL: no capture, or it has ended */
    char *owner, *path;         /* for messages */
    uint64_t bytes, limit;      /* of the file */
} ErnicDump;

/*
 * Begin a capture of interfaces 0 to @num - 1 in the file @path, which is overwritten if
 * nobody else writes it; NULL: there is none. @owner: the device, in messages. False:
 * *@errp says why.
 */
bool ernic_dump_open(ErnicDump *d, const char *owner, const char *path, uint64_t limit,
                     uint32_t num, Error **errp);
void ernic_dump_close(ErnicDump *d);
/* A frame that an interface has sent or received at @ns. */
void ernic_dump_frame(ErnicDump *d, uint32_t interface, bool sent, uint64_t ns,
                      const uint8_t *frame, uint32_t len);
/* The file contains whole frames after this. */
void ernic_dump_flush(ErnicDump *d);

#endif /* ERNIC_CAPTURE_DUMP_H */
