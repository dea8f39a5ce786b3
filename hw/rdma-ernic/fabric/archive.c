/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Converts values to bytes and back. After an error every value is read as 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/pages.h"
#include "fabric/archive.h"

GByteArray *ernic_archive_save(ErnicArchiveWalk *walk, void *opaque, uint64_t now)
{
    g_autoptr(GByteArray) none = g_byte_array_new();
    ErnicArchive count = { .out = none, .measures = true, .now = now }, w = { };

    walk(opaque, &count);
    w = (ErnicArchive) { .out = ernic_bytes_new(count.written), .now = now };
    if (w.out) {
        walk(opaque, &w);
    }
    return w.out;
}

void ernic_archive_bytes(ErnicArchive *w, void *value, size_t len)
{
    if (w->out) {
        w->written += len;
        if (!w->measures) {
            g_byte_array_append(w->out, value, len);
        }
        return;
    }
    if (w->in_section && !w->left && !w->bad) {
        return;                 /* of an older release, which had no such value */
    }
    w->bad = w->bad || len > w->left;
    if (w->bad) {
        memset(value, 0, len);
        return;
    }
    memcpy(value, w->in, len);
    w->in += len;
    w->left -= len;
}

void ernic_archive_u64(ErnicArchive *w, uint64_t *value, uint64_t max)
{
    uint8_t bytes[8];

    stq_le_p(bytes, *value);
    ernic_archive_bytes(w, bytes, sizeof(bytes));
    if (w->out) {
        return;
    }
    *value = ldq_le_p(bytes);
    if (*value > max) {
        w->bad = true;
        *value = 0;
    }
}

void ernic_archive_u32(ErnicArchive *w, uint32_t *value, uint32_t max)
{
    uint64_t wide = *value;

    ernic_archive_u64(w, &wide, max);
    *value = wide;
}

void ernic_archive_bool(ErnicArchive *w, bool *value)
{
    uint32_t wide = *value;

    ernic_archive_u32(w, &wide, 1);
    *value = wide;
}

ErnicArchiveSection ernic_archive_begin(ErnicArchive *w)
{
    ErnicArchiveSection s = { .in_section = w->in_section };
    uint64_t len = 0;

    ernic_archive_u64(w, &len, UINT64_MAX);
    if (w->out) {
        s.start = w->out->len;
        return s;
    }
    w->bad = w->bad || len > w->left;
    len = w->bad ? 0 : len;
    s.after = w->left - len;
    w->left = len;
    w->in_section = true;
    return s;
}

void ernic_archive_end(ErnicArchive *w, const ErnicArchiveSection *s)
{
    if (w->out) {
        if (!w->measures) {
            stq_le_p(w->out->data + s->start - 8, w->out->len - s->start);
        }
        return;
    }
    w->bad = w->bad || w->left;         /* of a newer release, which has more */
    w->left = s->after;
    w->in_section = s->in_section;
}

void ernic_archive_time(ErnicArchive *w, uint64_t *ns)
{
    bool past = *ns < w->now;
    uint64_t distance = past ? w->now - *ns : *ns - w->now;

    ernic_archive_bool(w, &past);
    ernic_archive_u64(w, &distance, past ? UINT64_MAX : ERNIC_ARCHIVE_NS_MAX);
    if (!w->out) {
        *ns = past ? w->now - MIN(w->now, distance) : w->now + distance;
    }
}

static void walk_frame(ErnicArchive *w, ErnicCarried *f, uint32_t ports)
{
    ernic_archive_time(w, &f->due);
    ernic_archive_u32(w, &f->from, ports - 1);
    ernic_archive_bool(w, &f->stop);
    ernic_archive_bytes(w, f->data, f->len);
}

/* Read the next frame; NULL: it is invalid. */
static ErnicCarried *read_frame(ErnicArchive *w, uint32_t ports, uint32_t min,
                                uint32_t max, bool signals)
{
    ErnicCarried *f;
    uint32_t len = 0;

    ernic_archive_u32(w, &len, max);
    w->bad = w->bad || len > w->left || (len < min && !(signals && len == 0));
    if (w->bad) {
        return NULL;
    }
    f = ernic_carried_new(w->store, NULL, len, 0);
    if (!f) {
        w->bad = true;
        return NULL;
    }
    walk_frame(w, f, ports);
    if (w->bad) {
        ernic_carried_free(w->store, f);
        return NULL;
    }
    return f;
}

static void write_list(ErnicArchive *w, const ErnicCarriedList *l, uint32_t ports)
{
    ErnicCarried *f;
    uint32_t n = 0;

    for (f = l->head; f; f = f->next) {
        n++;
    }
    ernic_archive_u32(w, &n, UINT32_MAX);
    for (f = l->head; f; f = f->next) {
        ernic_archive_u32(w, &f->len, UINT32_MAX);
        walk_frame(w, f, ports);
    }
}

void ernic_archive_list(ErnicArchive *w, ErnicCarriedList *l, uint32_t ports,
                        uint32_t min, uint32_t max, bool signals)
{
    bool in_section = w->in_section;
    uint64_t last = 0;
    ErnicCarried *f;
    uint32_t n = 0;

    if (w->out) {
        write_list(w, l, ports);
        return;
    }
    ernic_archive_u32(w, &n, UINT32_MAX);
    w->in_section = false;              /* no section ends within a list */
    /* Each frame consumes bytes of the input, so this loop ends. */
    for (; n && !w->bad; n--) {
        f = read_frame(w, ports, min, max, signals);
        if (!f) {
            break;
        }
        w->bad = f->due < last;
        last = f->due;
        ernic_carried_append(l, f);
    }
    w->in_section = in_section;
}
