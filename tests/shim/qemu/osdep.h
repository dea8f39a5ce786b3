/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name, for builds of the engine without
 * QEMU: only what the engine may use, with the meaning that QEMU gives it.
 */
#ifndef QEMU_OSDEP_H
#define QEMU_OSDEP_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glib.h>

#define QEMU_BUILD_BUG_MSG(x, msg) _Static_assert(!(x), msg)
#define QEMU_BUILD_BUG_ON(x) QEMU_BUILD_BUG_MSG(x, "not expecting: " #x)
/* An expression of value 0 that does not compile where @x is true. */
#define QEMU_BUILD_BUG_ON_ZERO(x) \
    (sizeof(struct { int not_expecting : (x) ? -1 : 1; }) - sizeof(int))

#define QEMU_PACKED __attribute__((packed))
#define QEMU_ALIGNED(n) __attribute__((aligned(n)))
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define sizeof_field(type, field) sizeof(((type *)0)->field)

/* Refuses a pointer, as QEMU's does. */
#define ARRAY_SIZE(a)                                                   \
    (sizeof(a) / sizeof((a)[0]) +                                       \
     QEMU_BUILD_BUG_ON_ZERO(__builtin_types_compatible_p(               \
         __typeof__(a), __typeof__(&(a)[0]))))

/* As in QEMU not usable in constant expressions. */
#undef MIN
#undef MAX
#define ERNIC_PICK(a, b, op, x, y)                                      \
    ({                                                                  \
        __auto_type x = (a);                                            \
        __auto_type y = (b);                                            \
        x op y ? x : y;                                                 \
    })
#define ERNIC_CAT_(a, b) a##b
#define ERNIC_CAT(a, b) ERNIC_CAT_(a, b)
#define ERNIC_PICK_N(a, b, op, n) \
    ERNIC_PICK(a, b, op, ERNIC_CAT(pick_a_, n), ERNIC_CAT(pick_b_, n))
#define MIN(a, b) ERNIC_PICK_N(a, b, <, __COUNTER__)
#define MAX(a, b) ERNIC_PICK_N(a, b, >, __COUNTER__)

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define QEMU_ALIGN_DOWN(n, m) ((n) / (m) * (m))
#define QEMU_ALIGN_UP(n, m) QEMU_ALIGN_DOWN((n) + (m) - 1, (m))
/* @d is a power of two. */
#define ROUND_UP(n, d) QEMU_ALIGN_UP(n, d)

#define container_of(ptr, type, member) \
    ((type *)((char *)(ptr) - offsetof(type, member)))

#endif /* QEMU_OSDEP_H */
