/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers and bytes of saved state.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "state/codec.h"

void ernic_state_put(GByteArray *out, uint64_t v, uint32_t size)
{
    uint8_t le[8];

    stq_le_p(le, v);
    g_byte_array_append(out, le, size);
}

/* The same numbers in the other byte order, if that of the host is not the stream's. */
static void swap_all(uint8_t *number, uint32_t n, uint32_t size)
{
    uint64_t v;

    for (; G_BYTE_ORDER == G_BIG_ENDIAN && size > 1 && n; n--, number += size) {
        v = ldn_he_p(number, size);
        stn_he_p(number, size, bswap64(v) >> (64 - 8 * size));
    }
}

void ernic_state_put_all(GByteArray *out, const void *from, uint32_t n, uint32_t size)
{
    guint at = out->len;

    g_byte_array_append(out, from, n * size);
    swap_all(out->data + at, n, size);
}

bool ernic_state_has(ErnicReader *in, uint64_t n, uint32_t size)
{
    if (in->failed || n > in->left / size) {
        in->failed = true;
        return ernic_state_refuse(in, "it ends early");
    }
    return true;
}

void ernic_state_read_bytes(ErnicReader *in, void *to, uint32_t n)
{
    if (!ernic_state_has(in, n, 1)) {
        memset(to, 0, n);
        return;
    }
    memcpy(to, in->data, n);
    in->data += n;
    in->left -= n;
}

uint64_t ernic_state_read(ErnicReader *in, uint32_t size)
{
    uint8_t le[8] = { 0 };

    ernic_state_read_bytes(in, le, size);
    return ldq_le_p(le);
}

void ernic_state_read_all(ErnicReader *in, void *to, uint32_t n, uint32_t size)
{
    ernic_state_read_bytes(in, to, n * size);
    swap_all(to, n, size);
}

bool ernic_state_refuse(ErnicReader *in, const char *why, ...)
{
    va_list args;

    if (in->stream->why->len == 0) {
        va_start(args, why);
        g_string_append_vprintf(in->stream->why, why, args);
        va_end(args);
    }
    return false;
}
