/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time of a processor that this thread has used: what a call costs on a busy host.
 */
#ifndef CPU_TIME_H
#define CPU_TIME_H

#include <time.h>

static inline int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline int64_t cpu_us(void)
{
    return cpu_ns() / 1000;
}

#endif /* CPU_TIME_H */
