/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parts of a PC that a program without a system uses: ports, PCI functions of bus
 * 0, the time stamp counter, one interrupt vector, and text for the host.
 */
#ifndef REPEAT_IO_H
#define REPEAT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUGCON    0xe9
#define PM_CONTROL  0x604           /* as SeaBIOS places it */
#define PM_OFF      0x2000
#define LAPIC       0xfee00000u
#define VECTOR      0x40

static inline void out8(uint16_t port, uint8_t value)
{
    asm volatile("outb %0, %1" :: "a" (value), "Nd" (port));
}

static inline uint8_t in8(uint16_t port)
{
    uint8_t value;

    asm volatile("inb %1, %0" : "=a" (value) : "Nd" (port));
    return value;
}

static inline void out16(uint16_t port, uint16_t value)
{
    asm volatile("outw %0, %1" :: "a" (value), "Nd" (port));
}

static inline void out32(uint16_t port, uint32_t value)
{
    asm volatile("outl %0, %1" :: "a" (value), "Nd" (port));
}

static inline uint32_t in32(uint16_t port)
{
    uint32_t value;

    asm volatile("inl %1, %0" : "=a" (value) : "Nd" (port));
    return value;
}

static inline uint64_t tsc(void)
{
    uint64_t value;

    asm volatile("rdtsc" : "=A" (value));
    return value;
}

static inline void barrier(void)
{
    asm volatile("" ::: "memory");
}

/* A single 64-bit store, as doorbells require. */
static inline void store64(uintptr_t at, uint64_t value)
{
    barrier();
    asm volatile("movq %1, %%mm0\n\tmovq %%mm0, %0\n\temms"
                 : "=m" (*(volatile uint64_t *)at) : "m" (value));
}

/* Configuration space of the functions of bus 0. */
static inline uint32_t pci_read(uint8_t devfn, uint8_t at)
{
    out32(0xcf8, 0x80000000u | devfn << 8 | (at & 0xfc));
    return in32(0xcfc);
}

static inline void pci_write(uint8_t devfn, uint8_t at, uint32_t value)
{
    out32(0xcf8, 0x80000000u | devfn << 8 | (at & 0xfc));
    out32(0xcfc, value);
}

/* The address of the 64-bit BAR @number. */
uintptr_t pci_bar(uint8_t devfn, int number);
/* Number of entries in the MSI-X table. */
uint32_t pci_msix_size(uint8_t devfn);
/* Enables memory and bus master; MSI-X @entry raises the program's only vector. */
void pci_open(uint8_t devfn, uint32_t entry);

/* Interrupts are enabled only in sleep(), which returns after one. */
void irq_open(void);
void irq(void);

static inline void sleep(void)
{
    asm volatile("sti\n\thlt\n\tcli" ::: "memory");
}

/* Write text, a hexadecimal number, and the end of the line. */
void put(const char *text);
void put_num(uint64_t value);
void put_end(void);
/* Powers the machine off, after writing @why if it is not NULL. */
void power_off(const char *why) __attribute__((noreturn));

#endif /* REPEAT_IO_H */
