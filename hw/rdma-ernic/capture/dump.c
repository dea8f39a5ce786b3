/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A capture that a user asked for.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "capture/dump.h"
#include "capture/output.h"
#include "capture/pcapng.h"

static FILE *open_file(const char *path, const char **why)
{
    struct stat st;
    int fd = ernic_output_open(path, &st, why);
    FILE *file = NULL;

    if (fd >= 0 && ernic_output_begin(fd, why)) {
        file = fdopen(fd, "wb");
        *why = g_strerror(errno);
    }
    if (!file && fd >= 0) {
        close(fd);
    }
    return file;
}

bool ernic_dump_open(ErnicDump *d, const char *owner, const char *path, uint64_t limit,
                     uint32_t num, Error **errp)
{
    const char *why = NULL;

    *d = (ErnicDump) { .limit = limit };
    if (limit < ERNIC_DUMP_MIN) {
        error_setg(errp, "dump-limit is %" PRIu64 ", not %u or more", limit,
                   (unsigned)ERNIC_DUMP_MIN);
        return false;
    }
    if (!path) {
        return true;
    }
    d->file = open_file(path, &why);
    if (!d->file) {
        error_setg(errp, "Could not open '%s': %s", path, why);
        return false;
    }
    d->owner = g_strdup(owner);
    d->path = g_strdup(path);
    d->bytes = ernic_pcapng_begin(d->file, num);
    ernic_dump_flush(d);
    return true;
}

void ernic_dump_close(ErnicDump *d)
{
    if (d->file) {
        fclose(d->file);
        d->file = NULL;
    }
    g_clear_pointer(&d->owner, g_free);
    g_clear_pointer(&d->path, g_free);
}

static void end(ErnicDump *d, const char *why)
{
    warn_report("%s: %s is not written any more: %s", d->owner, d->path, why);
    ernic_dump_close(d);
}

void ernic_dump_frame(ErnicDump *d, uint32_t interface, bool sent, uint64_t ns,
                      const uint8_t *frame, uint32_t len)
{
    if (!d->file) {
        return;
    }
    if (ERNIC_PCAPNG_FRAME + ROUND_UP(len, 4) > d->limit - d->bytes) {
        end(d, "it would exceed dump-limit");
        return;
    }
    d->bytes += ernic_pcapng_frame(d->file, interface, sent, ns, frame, len);
}

void ernic_dump_flush(ErnicDump *d)
{
    if (d->file && (fflush(d->file) != 0 || ferror(d->file))) {
        end(d, strerror(errno));
    }
}
