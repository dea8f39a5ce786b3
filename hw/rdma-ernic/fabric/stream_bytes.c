/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counted bytes in a migration stream. VMSTATE_VBUFFER_ALLOC_UINT32, which has the same
 * format, would allocate the length that the stream names, and end QEMU for want of it.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/qemu-file-types.h"
#include "fabric/stream_bytes.h"

#define CHUNK   (1u << 20)

void ernic_stream_bytes_clear(ErnicStreamBytes *b)
{
    g_free(b->data);
    *b = (ErnicStreamBytes) { .most = b->most };
}

bool ernic_stream_bytes_set(ErnicStreamBytes *b, GByteArray *bytes)
{
    ernic_stream_bytes_clear(b);
    if (bytes->len > b->most) {
        error_report("ernic: a state of %u bytes is too large to save (at most %u)",
                     bytes->len, b->most);
        g_byte_array_free(bytes, true);
        return false;
    }
    b->len = bytes->len;
    b->data = g_byte_array_free(bytes, false);
    return true;
}

static int put(QEMUFile *f, void *pv, size_t size, const VMStateField *field,
               JSONWriter *vmdesc)
{
    const ErnicStreamBytes *b = pv;

    qemu_put_be32(f, b->len);
    qemu_put_buffer(f, b->data, b->len);
    return 0;
}

/* Read up to @len bytes to @b; false: fewer arrived, or there is no memory. */
static bool read_bytes(QEMUFile *f, ErnicStreamBytes *b, uint32_t len)
{
    uint32_t n;
    void *more;

    for (; b->len < len; b->len += n) {
        n = MIN(len - b->len, MAX(b->len, CHUNK));
        more = g_try_realloc(b->data, b->len + n);
        if (!more) {
            return false;
        }
        b->data = more;
        if (qemu_get_buffer(f, b->data + b->len, n) != n) {
            return false;
        }
    }
    return true;
}

static int get(QEMUFile *f, void *pv, size_t size, const VMStateField *field)
{
    uint32_t len = qemu_get_be32(f);
    ErnicStreamBytes *b = pv;

    ernic_stream_bytes_clear(b);
    if (len > b->most) {
        error_report("ernic: a state of %u bytes is too large for these properties"
                     " (at most %u)", len, b->most);
        return -EFBIG;
    }
    if (!read_bytes(f, b, len)) {
        error_report("ernic: a state of %u bytes does not arrive", len);
        ernic_stream_bytes_clear(b);
        return -EINVAL;
    }
    return 0;
}

const VMStateInfo ernic_stream_bytes_info = {
    .name = "ernic stream bytes",
    .get = get,
    .put = put,
};
