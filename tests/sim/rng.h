/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The random numbers of the simulator: the same for the same seed on every
 * host. State transition of xoshiro256**, seeded by splitmix64.
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

typedef struct SimRng {
    uint64_t s[4];
} SimRng;

/* A bijection of 64-bit numbers that hides any pattern of its input. */
static inline uint64_t sim_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Independent streams of one seed have different @stream numbers. */
static inline void sim_rng_init(SimRng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = sim_mix(seed) ^ sim_mix(stream * 0x632be59bd9b4e019ull);
    int i;

    for (i = 0; i < 4; i++) {
        x += 0x9e3779b97f4a7c15ull;
        r->s[i] = sim_mix(x);
    }
}

static inline uint64_t sim_rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t sim_rng(SimRng *r)
{
    uint64_t *s = r->s;
    uint64_t result = sim_rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = sim_rotl(s[3], 45);
    return result;
}

/* 0 to @n - 1; 0 for @n = 0. The bias is below 2^-32 for every @n used. */
static inline uint32_t sim_below(SimRng *r, uint32_t n)
{
    return (uint32_t)(((sim_rng(r) >> 32) * n) >> 32);
}

/* @lo to @hi, both included. */
static inline uint64_t sim_range(SimRng *r, uint64_t lo, uint64_t hi)
{
    return lo + sim_rng(r) % (hi - lo + 1);
}

/* True in @ppm of a million cases. */
static inline bool sim_chance(SimRng *r, uint32_t ppm)
{
    return ppm && sim_below(r, 1000000) < ppm;
}

static inline bool sim_percent(SimRng *r, uint32_t percent)
{
    return sim_below(r, 100) < percent;
}

#endif /* SIM_RNG_H */
