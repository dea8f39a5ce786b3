/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records: reading and writing them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "input.h"

/* ---- reading ---------------------------------------------------------- */

void fuzz_bytes(FuzzIn *in, void *to, size_t len)
{
    size_t n = MIN(len, in->left);

    memset(to, 0, len);
    if (n) {
        memcpy(to, in->p, n);
        in->p += n;
        in->left -= n;
    }
}

static uint64_t number(FuzzIn *in, size_t bytes)
{
    uint8_t v[8] = { 0 };

    fuzz_bytes(in, v, bytes);
    return ldq_le_p(v);
}

uint8_t fuzz_u8(FuzzIn *in)
{
    return number(in, 1);
}

uint16_t fuzz_u16(FuzzIn *in)
{
    return number(in, 2);
}

uint32_t fuzz_u32(FuzzIn *in)
{
    return number(in, 4);
}

uint64_t fuzz_u64(FuzzIn *in)
{
    return number(in, 8);
}

uint64_t fuzz_ns(FuzzIn *in)
{
    uint8_t shift = fuzz_u8(in) % 24;

    return (uint64_t)fuzz_u16(in) << shift;
}

bool fuzz_record(FuzzIn *in, uint8_t *kind, FuzzIn *record)
{
    if (!in->left) {
        return false;
    }
    *kind = fuzz_u8(in);
    record->left = fuzz_u16(in);
    record->left = MIN(record->left, in->left);
    record->p = in->p;
    in->p += record->left;
    in->left -= record->left;
    return true;
}

void fuzz_records(const uint8_t *data, size_t size, uint32_t most,
                  FuzzStep *const *steps, uint32_t num_steps, void (*check)(void))
{
    FuzzIn in = { data, size }, record;
    uint8_t kind;

    while (most-- && fuzz_record(&in, &kind, &record)) {
        if (kind < num_steps) {
            steps[kind](&record);
        }
        check();
    }
}

/* ---- writing ---------------------------------------------------------- */

/* xorshift64* (Vigna 2016). */
uint32_t fuzz_rand(FuzzRng *rng, uint32_t n)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return (rng->state * 0x2545f4914f6cdd1dull >> 32) % n;
}

void fuzz_put_all(FuzzOut *out, uint32_t bytes, const uint64_t *value, uint32_t n)
{
    for (uint32_t i = 0; i < n * bytes && out->len < sizeof(out->data); i++) {
        out->data[out->len++] = value[i / bytes] >> i % bytes * 8;
    }
}

void fuzz_put_bytes(FuzzOut *out, FuzzRng *rng, uint32_t n, uint32_t odds,
                    uint32_t limit)
{
    while (n--) {
        fuzz_put(out, 1, fuzz_rand(rng, fuzz_rand(rng, odds) ? limit : 256));
    }
}
