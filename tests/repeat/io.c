/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PCI functions, one interrupt vector, text for the host, and the functions that a
 * compiler may call.
 */
#include "io.h"

#define MSIX        0x11            /* the capability's number */

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

uintptr_t pci_bar(uint8_t devfn, int number)
{
    if (pci_read(devfn, 0x14 + 4 * number)) {
        power_off("a BAR is above 4 GiB");
    }
    return pci_read(devfn, 0x10 + 4 * number) & ~0xfu;
}

/* The offset of the MSI-X capability. */
static uint8_t msix(uint8_t devfn)
{
    uint8_t cap = pci_read(devfn, 0x34);
    uint32_t head = pci_read(devfn, cap);

    while ((head & 0xff) != MSIX) {
        cap = head >> 8;
        head = pci_read(devfn, cap);
    }
    return cap;
}

uint32_t pci_msix_size(uint8_t devfn)
{
    return (pci_read(devfn, msix(devfn)) >> 16 & 0x7ff) + 1;
}

void pci_open(uint8_t devfn, uint32_t entry)
{
    uint8_t cap = msix(devfn);
    uint32_t at = pci_read(devfn, cap + 4);
    volatile uint32_t *table = (uint32_t *)(pci_bar(devfn, at & 7) + (at & ~7u));

    pci_write(devfn, 4, pci_read(devfn, 4) | 6);        /* memory, bus master */
    table[4 * entry] = LAPIC;
    table[4 * entry + 1] = 0;
    table[4 * entry + 2] = VECTOR;
    table[4 * entry + 3] = 0;
    pci_write(devfn, cap, pci_read(devfn, cap) | 0x80000000u);
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
    out8(0x21, 0xff);           /* mask all 8259 interrupts */
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
