/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register tables: check the form of an access and execute it.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "qemu/error-report.h"
#include "device/device.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

/*
 * The row of an access; NULL if the access is not well-formed. *@shift: position of
 * the access in the register, in bits.
 */
static const ErnicReg *reg_at(const ErnicRegBlock *b, uint64_t off,
                              unsigned size, unsigned *shift)
{
    const ErnicReg *reg;

    *shift = 0;
    if (off + size > b->num * 4ull || size < 4 || off % size) {
        return NULL;
    }
    reg = &b->reg[off / 4];
    if (!reg->name && off >= 4 && reg[-1].size == 8) {
        reg--;
        *shift = 32;
    }
    return reg->name && size <= reg->size ? reg : NULL;
}

void ernic_guest_bad_read(ErnicPci *d, uint64_t off, unsigned size)
{
    trace_ernic_guest_bad_read(ernic_pci_id(d), off, size);
    ernic_pci_guest_error(d, "no register of %u bytes to read at 0x%" PRIx64,
                          size, off);
}

void ernic_guest_bad_write(ErnicPci *d, uint64_t off, unsigned size,
                           uint64_t value)
{
    trace_ernic_guest_bad_write(ernic_pci_id(d), off, size, value);
    ernic_pci_guest_error(d, "no register of %u bytes to write at 0x%" PRIx64,
                          size, off);
}

void ernic_guest_not_enabled(ErnicPci *d, const char *what, uint64_t value)
{
    trace_ernic_guest_not_enabled(ernic_pci_id(d), what, value);
    ernic_pci_guest_error(d, "%s 0x%" PRIx64 " is not taken", what, value);
}

static uint64_t reg_value(ErnicPci *d, const ErnicRegBlock *b,
                          const ErnicReg *reg)
{
    const uint8_t *at = (const uint8_t *)b->fields + reg->field;

    if (reg->read) {
        return reg->read(d);
    }
    switch (reg->field_size) {
    case 4:
        return qatomic_read((const uint32_t *)at);
    case 8:
        return *(const uint64_t *)at;
    default:
        return reg->constant;
    }
}

uint64_t ernic_regs_read(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                         unsigned size)
{
    unsigned shift;
    const ErnicReg *reg = reg_at(b, off, size, &shift);
    uint64_t value;

    if (!reg) {
        ernic_guest_bad_read(d, off, size);
        return 0;
    }
    value = reg_value(d, b, reg) >> shift;
    if (size == 4) {
        value = (uint32_t)value;
    }
    trace_ernic_pci_read(ernic_pci_id(d), reg->name, value);
    return value;
}

/* A plain store: the device uses set-up registers only after they are locked. */
static void set_field(const ErnicRegBlock *b, const ErnicReg *reg,
                      unsigned shift, unsigned size, uint64_t value)
{
    uint8_t *at = (uint8_t *)b->fields + reg->field;

    if (reg->field_size == 4) {
        *(uint32_t *)at = value;
    } else if (size == 8) {
        *(uint64_t *)at = value;
    } else {
        *(uint64_t *)at = deposit64(*(uint64_t *)at, shift, 32, value);
    }
}

void ernic_regs_write(ErnicPci *d, const ErnicRegBlock *b, uint64_t off,
                      unsigned size, uint64_t value)
{
    unsigned shift;
    const ErnicReg *reg = reg_at(b, off, size, &shift);

    if (!reg || (!reg->write && !reg->setup && !reg->any_time)) {
        ernic_guest_bad_write(d, off, size, value);
        return;
    }
    trace_ernic_pci_write(ernic_pci_id(d), reg->name, value);
    if (reg->write) {
        reg->write(d, value);
    } else if (b->locked && !reg->any_time) {
        trace_ernic_guest_enabled(ernic_pci_id(d), reg->name, value);
        ernic_pci_guest_error(d, "%s is not written while enabled", reg->name);
    } else {
        set_field(b, reg, shift, size, value);
    }
}

#define RULE_WARNINGS   1000

void ernic_pci_warn_rule(ErnicPci *d, uint32_t *warned, const char *format, ...)
{
    va_list ap;

    if (*warned == RULE_WARNINGS) {
        return;
    }
    va_start(ap, format);
    warn_vreport(format, ap);
    va_end(ap);
    if (++*warned == RULE_WARNINGS) {
        warn_report("ernic %s: no more warnings of rules", ernic_pci_id(d));
    }
}
