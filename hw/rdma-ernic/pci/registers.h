/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Registers as tables: one row each, from which reads, writes and traces come.
 */
#ifndef ERNIC_MMIO_H
#define ERNIC_MMIO_H

typedef struct ErnicPci ErnicPci;

/* A register is a constant, a field of the block's state, or a function. */
typedef struct ErnicReg {
    const char *name;           /* NULL: no register, or an upper half */
    uint8_t size;               /* 4 or 8 */
    uint8_t field_size;         /* 0: no field */
    bool setup;                 /* the field is written, unless locked */
    bool any_time;              /* the field is written */
    uint16_t field;
    uint32_t constant;
    uint64_t (*read)(ErnicPci *d);
    void (*write)(ErnicPci *d, uint64_t value);
} ErnicReg;

#define ERNIC_REG_FIELD(type, name) \
    .field = offsetof(type, name), .field_size = sizeof_field(type, name)

typedef struct ErnicRegBlock {
    const ErnicReg *reg;        /* one row for every 4 bytes */
    uint32_t num;
    void *fields;
    bool locked;                /* set-up registers are not written */
} ErnicRegBlock;

/* Accesses of a wrong form read 0 and write nothing. */
uint64_t ernic_regs_read(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                         unsigned size);
void ernic_regs_write(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                      unsigned size, uint64_t value);

/* Accesses that do nothing, told in traces and in QEMU's log. */
void ernic_guest_bad_read(ErnicPci *d, uint64_t off, unsigned size);
void ernic_guest_bad_write(ErnicPci *d, uint64_t off, unsigned size,
                           uint64_t value);
/* @what is not in use, or @value not in its range. */
void ernic_guest_not_enabled(ErnicPci *d, const char *what, uint64_t value);

#endif /* ERNIC_MMIO_H */
