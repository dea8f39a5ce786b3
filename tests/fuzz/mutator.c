/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hooks of libFuzzer for targets whose input is records, which stay whole: a
 * target has fuzz_make(), and this file among its sources.
 */
#include "qemu/osdep.h"
#include "input.h"

#define MAX_RECORDS 256

typedef struct Rec {
    uint8_t kind;
    FuzzIn in;
} Rec;

static uint32_t split(const uint8_t *data, size_t size, Rec *rec)
{
    FuzzIn in = { data, size };
    uint32_t n = 0;

    while (n < MAX_RECORDS && fuzz_record(&in, &rec[n].kind, &rec[n].in)) {
        n++;
    }
    return n;
}

static void put_record(GByteArray *to, uint8_t kind, const uint8_t *data,
                       size_t len)
{
    uint8_t head[FUZZ_RECORD_HEAD] = { kind, len, len >> 8 };

    g_byte_array_append(to, head, sizeof(head));
    g_byte_array_append(to, data, len);
}

static void put_recs(GByteArray *to, const Rec *rec, uint32_t n)
{
    for (; n; rec++, n--) {
        put_record(to, rec->kind, rec->in.p, rec->in.left);
    }
}

/* Change a field: to a value that is often at an edge, or by a little. */
static void mutate_field(FuzzRng *rng, uint8_t *p, size_t len)
{
    static const uint64_t edges[] = {
        0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 63, 64, 127, 255, 256, 1023, 1024,
        4095, 4096, 0x7fff, 0x8000, 0xffff, 0x7fffff, 0x800000, 0xffffff,
        0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX,
    };
    uint32_t bytes = 1u << fuzz_rand(rng, 4), i;
    uint64_t v = 0;
    size_t at;

    while (bytes > len) {
        bytes /= 2;
    }
    if (!bytes) {
        return;
    }
    at = fuzz_rand(rng, len - bytes + 1);
    for (i = bytes; i > 0; i--) {
        v = v << 8 | p[at + i - 1];
    }
    switch (fuzz_rand(rng, 4)) {
    case 0:
        v = edges[fuzz_rand(rng, ARRAY_SIZE(edges))];
        break;
    case 1:
        v += fuzz_rand(rng, 9) - 4ull;
        break;
    case 2:
        v ^= 1ull << fuzz_rand(rng, bytes * 8);
        break;
    default:
        v = fuzz_rand(rng, 256);
        break;
    }
    for (i = 0; i < bytes; i++, v >>= 8) {
        p[at + i] = v;
    }
}

static void put_changed(GByteArray *to, FuzzRng *rng, const Rec *rec)
{
    FuzzOut out = { .len = MIN(rec->in.left, FUZZ_RECORD_MAX) };
    uint8_t kind = rec->kind;

    if (out.len) {
        memcpy(out.data, rec->in.p, out.len);
    }
    switch (fuzz_rand(rng, 8)) {
    case 0:
        out.len = LLVMFuzzerMutate(out.data, out.len,
                                   MIN(out.len + 64, sizeof(out.data)));
        break;
    case 1:
        kind = fuzz_rand(rng, 16);
        break;
    default:
        mutate_field(rng, out.data, out.len);
        break;
    }
    put_record(to, kind, out.data, out.len);
}

static void mutate_once(GByteArray *to, FuzzRng *rng, const Rec *rec, uint32_t n)
{
    uint32_t at = n ? fuzz_rand(rng, n) : 0;
    uint32_t run = n ? 1 + fuzz_rand(rng, MIN(n - at, 4)) : 0;
    uint32_t what = n ? fuzz_rand(rng, 10) : 0;
    uint32_t i;

    put_recs(to, rec, at);
    if (what < 3) {                             /* insert */
        for (i = 1 + fuzz_rand(rng, 4); i; i--) {
            FuzzOut out = { .len = 0 };
            uint8_t kind = fuzz_make(rng, &out);

            put_record(to, kind, out.data, out.len);
        }
        put_recs(to, rec + at, n - at);
    } else if (what == 3) {                     /* remove */
        put_recs(to, rec + at + run, n - at - run);
    } else if (what == 4) {                     /* repeat */
        for (i = 1 + fuzz_rand(rng, 4); i; i--) {
            put_recs(to, rec + at, run);
        }
        put_recs(to, rec + at, n - at);
    } else if (what == 5) {                     /* move to the end */
        put_recs(to, rec + at + run, n - at - run);
        put_recs(to, rec + at, run);
    } else {
        put_changed(to, rng, rec + at);
        put_recs(to, rec + at + 1, n - at - 1);
    }
}

static size_t give(GByteArray *from, uint8_t *data, size_t max)
{
    size_t len = MIN(from->len, max);

    if (len) {
        memcpy(data, from->data, len);
    }
    g_byte_array_free(from, true);
    return len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed)
{
    FuzzRng rng = { seed * 2654435761ull + 1 };
    uint32_t times = 1 + fuzz_rand(&rng, 3);
    Rec rec[MAX_RECORDS];

    while (times--) {
        GByteArray *to = g_byte_array_new();

        mutate_once(to, &rng, rec, split(data, size, rec));
        size = give(to, data, max);
    }
    return size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len,
                                 const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t max, unsigned seed)
{
    FuzzRng rng = { seed * 2654435761ull + 1 };
    GByteArray *to = g_byte_array_new();
    Rec rec[MAX_RECORDS];
    uint32_t n, at;

    n = split(a, a_len, rec);
    put_recs(to, rec, n ? 1 + fuzz_rand(&rng, n) : 0);
    n = split(b, b_len, rec);
    at = n ? fuzz_rand(&rng, n) : 0;
    put_recs(to, rec + at, n - at);
    return give(to, out, max);
}
