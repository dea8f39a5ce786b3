/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name: values in memory of a given byte
 * order, at any alignment. The return types are QEMU's too; note that lduw and
 * ldl return int there, so that a 32-bit load widened to 64 bits is sign-extended.
 */
#ifndef BSWAP_H
#define BSWAP_H

#define bswap16(x) __builtin_bswap16(x)
#define bswap32(x) __builtin_bswap32(x)
#define bswap64(x) __builtin_bswap64(x)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ERNIC_TO_LE(v, bits) ((uint##bits##_t)(v))
#define ERNIC_TO_BE(v, bits) bswap##bits(v)
#else
#define ERNIC_TO_LE(v, bits) bswap##bits(v)
#define ERNIC_TO_BE(v, bits) ((uint##bits##_t)(v))
#endif

#define ERNIC_TO_HE(v, bits) ((uint##bits##_t)(v))

#define ERNIC_BSWAP_CPU(bits, end, CONV)                                \
static inline uint##bits##_t cpu_to_##end##bits(uint##bits##_t v)       \
{                                                                       \
    return CONV(v, bits);                                               \
}                                                                       \
static inline uint##bits##_t end##bits##_to_cpu(uint##bits##_t v)       \
{                                                                       \
    return CONV(v, bits);                                               \
}

#define ERNIC_BSWAP_MEM(bits, end, ret, ld, st)                         \
static inline ret ld##_##end##_p(const void *ptr)                       \
{                                                                       \
    uint##bits##_t v;                                                   \
    memcpy(&v, ptr, sizeof(v));                                         \
    return end##bits##_to_cpu(v);                                       \
}                                                                       \
static inline void st##_##end##_p(void *ptr, uint##bits##_t v)          \
{                                                                       \
    v = cpu_to_##end##bits(v);                                          \
    memcpy(ptr, &v, sizeof(v));                                         \
}

ERNIC_BSWAP_CPU(16, le, ERNIC_TO_LE)
ERNIC_BSWAP_CPU(32, le, ERNIC_TO_LE)
ERNIC_BSWAP_CPU(64, le, ERNIC_TO_LE)
ERNIC_BSWAP_CPU(16, be, ERNIC_TO_BE)
ERNIC_BSWAP_CPU(32, be, ERNIC_TO_BE)
ERNIC_BSWAP_CPU(64, be, ERNIC_TO_BE)
ERNIC_BSWAP_CPU(16, he, ERNIC_TO_HE)
ERNIC_BSWAP_CPU(32, he, ERNIC_TO_HE)
ERNIC_BSWAP_CPU(64, he, ERNIC_TO_HE)

ERNIC_BSWAP_MEM(16, le, int, lduw, stw)
ERNIC_BSWAP_MEM(32, le, int, ldl, stl)
ERNIC_BSWAP_MEM(64, le, uint64_t, ldq, stq)
ERNIC_BSWAP_MEM(16, be, int, lduw, stw)
ERNIC_BSWAP_MEM(32, be, int, ldl, stl)
ERNIC_BSWAP_MEM(64, be, uint64_t, ldq, stq)
ERNIC_BSWAP_MEM(16, he, int, lduw, stw)
ERNIC_BSWAP_MEM(32, he, int, ldl, stl)
ERNIC_BSWAP_MEM(64, he, uint64_t, ldq, stq)

static inline int ldub_p(const void *ptr)
{
    return *(const uint8_t *)ptr;
}

static inline void stb_p(void *ptr, uint8_t v)
{
    *(uint8_t *)ptr = v;
}

/* Numbers of @size bytes: 1, 2, 4 or 8. Other sizes abort, as in QEMU. */
#define ERNIC_BSWAP_SIZED(end)                                          \
static inline uint64_t ldn_##end##_p(const void *ptr, int size)         \
{                                                                       \
    g_assert(size == 1 || size == 2 || size == 4 || size == 8);         \
    return size == 1 ? ldub_p(ptr) : size == 2 ? lduw_##end##_p(ptr) :  \
           size == 4 ? (uint32_t)ldl_##end##_p(ptr) : ldq_##end##_p(ptr); \
}                                                                       \
static inline void stn_##end##_p(void *ptr, int size, uint64_t v)       \
{                                                                       \
    g_assert(size == 1 || size == 2 || size == 4 || size == 8);         \
    size == 1 ? stb_p(ptr, v) : size == 2 ? stw_##end##_p(ptr, v) :     \
    size == 4 ? stl_##end##_p(ptr, v) : stq_##end##_p(ptr, v);          \
}

ERNIC_BSWAP_SIZED(le)
ERNIC_BSWAP_SIZED(he)

#undef ERNIC_BSWAP_SIZED
#undef ERNIC_BSWAP_CPU
#undef ERNIC_BSWAP_MEM

#endif /* BSWAP_H */
