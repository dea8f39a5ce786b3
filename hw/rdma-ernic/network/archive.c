/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Values to bytes and back. Once something was bad, all that is read is 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "network/archive.h"

void ernic_archive_bytes(ErnicArchive *w, void *value, size_t len)
{
    if (w->out) {
        g_byte_array_append(w->out, value, len);
        return;
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

void ernic_archive_time(ErnicArchive *w, uint64_t *ns)
{
    bool past = *ns < w->now;
    uint64_t distance = past ? w->now - *ns : *ns - w->now;

    ernic_archive_bool(w, &past);
    ernic_archive_u64(w, &distance, past ? UINT64_MAX : ERNIC_WALK_NS_MAX);
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

/* The next frame of what is read; NULL: that was bad. */
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
    f = ernic_carried_new(NULL, 0, 0);
    f = g_realloc(f, sizeof(*f) + len);
    f->len = len;
    walk_frame(w, f, ports);
    if (w->bad) {
        g_free(f);
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
    uint64_t last = 0;
    ErnicCarried *f;
    uint32_t n = 0;

    if (w->out) {
        write_list(w, l, ports);
        return;
    }
    /* Each takes bytes of what is left, so that this ends. */
    for (ernic_archive_u32(w, &n, UINT32_MAX); n && !w->bad; n--) {
        f = read_frame(w, ports, min, max, signals);
        if (!f) {
            return;
        }
        w->bad = f->due < last;
        last = f->due;
        ernic_carried_append(l, f);
    }
}
