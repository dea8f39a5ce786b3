/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One interrupt vector, and text for the host. What a compiler may call, too.
 */
#include "io.h"

typedef struct Gate {
    uint16_t low, selector, type, high;
} Gate;

extern char irq_entry[];
static Gate idt[VECTOR + 1];

void *memset(void *to, int byte, size_t len)
{
    uint8_t *p = to;

    while (len--) {
        *p++ = byte;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
    const uint8_t *q = from;
    uint8_t *p = to;

    while (len--) {
        *p++ = *q++;
    }
    return to;
}

void irq_open(void)
{
    struct {
        uint16_t limit;
        uint32_t base;
    } __attribute__((packed)) at = { sizeof(idt) - 1, (uintptr_t)idt };

    idt[VECTOR] = (Gate) {
        .low = (uintptr_t)irq_entry, .high = (uintptr_t)irq_entry >> 16,
        .selector = 8, .type = 0x8e00,
    };
    asm volatile("lidt %0" :: "m" (at));
    out8(0x21, 0xff);           /* nothing of the 8259s */
    out8(0xa1, 0xff);
    *(volatile uint32_t *)(LAPIC + 0xf0) = 0x1ff;
}

void put(const char *text)
{
    while (*text) {
        out8(DEBUGCON, *text++);
    }
    out8(DEBUGCON, ' ');
}

void put_num(uint64_t value)
{
    char text[17];
    int i = 16;

    text[i] = 0;
    do {
        text[--i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    put(text + i);
}

void put_end(void)
{
    out8(DEBUGCON, '\n');
}

void power_off(const char *why)
{
    if (why) {
        put(why);
        put_end();
    }
    out16(PM_CONTROL, PM_OFF);
    while (true) {
        asm volatile("cli\n\thlt");
    }
}
