/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register tables: one row for each register defines its reads, writes and traces.
 */
#ifndef ERNIC_DEVICE_REGISTERS_H
#define ERNIC_DEVICE_REGISTERS_H

#include "device/device.h"

/* A register is a constant, a field of the block's state, or a function. */
typedef struct ErnicReg {
    const char *name;           /* NULL: no register, or an upper half */
    uint8_t size;               /* 4 or 8 */
    uint8_t field_size;         /* 0: no field */
    bool setup;                 /* writable while the block is not locked */
    bool any_time;              /* always writable */
    uint32_t field;             /* offset of a number of 4 or 8 bytes */
    uint32_t constant;
    uint64_t (*read)(ErnicPci *d);
    void (*write)(ErnicPci *d, uint64_t value);
} ErnicReg;

#define ERNIC_REG_FIELD(type, name) \
    .field = offsetof(type, name), \
    .field_size = sizeof_field(type, name) + \
                  QEMU_BUILD_BUG_ON_ZERO(sizeof_field(type, name) != 4 && \
                                         sizeof_field(type, name) != 8)

typedef struct ErnicRegBlock {
    const ErnicReg *reg;        /* one row for every 4 bytes */
    uint32_t num;
    void *fields;
    bool locked;                /* set-up registers are read-only */
} ErnicRegBlock;

/* A malformed access reads 0 or writes nothing; it is reported as a guest error. */
uint64_t ernic_regs_read(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                         unsigned size);
void ernic_regs_write(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                      unsigned size, uint64_t value);

/* Report an access without effect: a trace event, and QEMU's log of guest errors. */
void ernic_guest_bad_read(ErnicPci *d, uint64_t off, unsigned size);
void ernic_guest_bad_write(ErnicPci *d, uint64_t off, unsigned size,
                           uint64_t value);
/* The same for a write to @what that is disabled, or with @value out of range. */
void ernic_guest_not_enabled(ErnicPci *d, const char *what, uint64_t value);

/*
 * A rule of strict mode was broken: prints a warning, which @format describes, for the
 * first thousand that @warned counts. A reset by the guest does not begin anew.
 */
G_GNUC_PRINTF(3, 4)
void ernic_pci_warn_rule(ErnicPci *d, uint32_t *warned, const char *format, ...);

#endif /* ERNIC_DEVICE_REGISTERS_H */
