/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seen.h"

#define SEEN        512             /* records */

typedef struct Seen {
    const char *what;
    uint64_t tsc, value[SEEN_VALUES];
} Seen;

static Seen seen[SEEN];
static uint32_t seen_num;

uint64_t *see(const char *what)
{
    if (seen_num == SEEN) {
        power_off("too much was seen");
    }
    seen[seen_num] = (Seen) { .what = what, .tsc = tsc() };
    return seen[seen_num++].value;
}

void print_seen(void)
{
    for (uint32_t i = 0; i < seen_num; i++) {
        put(seen[i].what);
        put_num(seen[i].tsc);
        for (uint32_t j = 0; j < SEEN_VALUES; j++) {
            put_num(seen[i].value[j]);
        }
        put_end();
    }
    seen_num = 0;
}

void irq(void)
{
    see("interrupt");
    *(volatile uint32_t *)(LAPIC + 0xb0) = 0;
}

void rest(void)
{
    uint64_t start = tsc();

    while (tsc() - start < 1000000) {
    }
}

uint32_t sum(const uint8_t *p, uint32_t len)
{
    uint32_t s = 1;

    while (len--) {
        s = s * 31 + *p++;
    }
    return s;
}

void fill(uint8_t *p, uint32_t len, uint32_t seed)
{
    while (len--) {
        seed = seed * 1103515245 + 12345;
        *p++ = seed >> 16;
    }
}
