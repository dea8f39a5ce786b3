/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counted bytes in a migration stream that announce more than there is, or more than the
 * owner can have: they are refused, and take no more memory than arrived, twice.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/qemu-file-types.h"
#include "fabric/stream_bytes.h"
#include "test.h"

#define MIB     (1u << 20)
#define LIMIT   (8 * MIB)

/* A stream that is read: a length, and then so many bytes. */
struct QEMUFile {
    uint32_t len;
    uint64_t there, read, asked;        /* bytes; asked: at once */
};

static char why[128];

void error_report(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    g_vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
}

unsigned int qemu_get_be32(QEMUFile *f)
{
    return f->len;
}

/* Zeros, as of a file with a hole. */
size_t qemu_get_buffer(QEMUFile *f, uint8_t *buf, size_t size)
{
    size_t n = MIN(size, f->there - f->read);

    memset(buf, 0, n);
    f->asked = MAX(f->asked, size);
    f->read += n;
    return n;
}

void qemu_put_be32(QEMUFile *f, unsigned int v)
{
    f->len = v;
}

void qemu_put_buffer(QEMUFile *f, const uint8_t *buf, size_t size)
{
    f->there = size;
}

static int get(ErnicStreamBytes *b, QEMUFile *f)
{
    why[0] = '\0';
    return ernic_stream_bytes_info.get(f, b, sizeof(*b), NULL);
}

/* More than the owner can have: not a byte is read for it, however many there are. */
TEST("/stream-bytes/limit", test_limit)
{
    static const uint32_t lens[] = { LIMIT + 1, 2 * LIMIT, 1u << 30, UINT32_MAX };
    ErnicStreamBytes b = { };

    ernic_stream_bytes_limit(&b, LIMIT);
    for (uint32_t i = 0; i < G_N_ELEMENTS(lens); i++) {
        QEMUFile f = { .len = lens[i], .there = 1u << 30 };

        IS(get(&b, &f), -EFBIG);
        IS(f.read, 0);
        g_assert_null(b.data);
        g_assert_nonnull(strstr(why, "too large"));
    }
}

/* More than there is: memory grows with what arrives, not with the length. */
TEST("/stream-bytes/announced", test_announced)
{
    ErnicStreamBytes b = { };

    ernic_stream_bytes_limit(&b, UINT64_MAX);
    for (uint32_t there = 0; there <= 4 * MIB; there += MIB - 1) {
        QEMUFile f = { .len = 1u << 30, .there = there };

        IS(get(&b, &f), -EINVAL);
        g_assert_cmpuint(f.asked, <=, MAX(there, MIB));
        g_assert_null(b.data);
        IS(b.len, 0);
        g_assert_nonnull(strstr(why, "does not arrive"));
    }
}

/* As much as the owner can have is saved and loaded; a byte more is not saved. */
TEST("/stream-bytes/most", test_most)
{
    ErnicStreamBytes b = { };
    QEMUFile f = { };

    ernic_stream_bytes_limit(&b, LIMIT);
    g_assert_false(ernic_stream_bytes_set(&b, g_byte_array_set_size(g_byte_array_new(),
                                                                    LIMIT + 1)));
    g_assert_null(b.data);
    g_assert_true(ernic_stream_bytes_set(&b, g_byte_array_set_size(g_byte_array_new(),
                                                                   LIMIT)));
    IS(ernic_stream_bytes_info.put(&f, &b, sizeof(b), NULL, NULL), 0);
    IS(f.len, LIMIT);
    IS(f.there, LIMIT);
    ernic_stream_bytes_clear(&b);
    IS(b.most, LIMIT);
    IS(get(&b, &f), 0);
    IS(b.len, LIMIT);
    ernic_stream_bytes_clear(&b);
}
