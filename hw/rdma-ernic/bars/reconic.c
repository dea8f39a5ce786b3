/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of the ERNIC face on a card: card memory and, with shell=reconic,
 * the identity, registers and address windows of RecoNIC's shell. Only the parts
 * that RecoNIC's software uses are implemented (docs/ernic-face.md).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/units.h"
#include "migration/vmstate.h"
#include "device/device.h"
#include "pci/env.h"
#include "bars/qdma/qdma.h"
#include "hw/rdma-ernic/trace.h"

#define DEFAULT_VERSION     "3.1"
#define DEFAULT_CARD        (64 * MiB)
#define MIN_CARD            (1 * MiB)
#define MAX_CARD            (4 * GiB)

/* Reset bits of the shell for the ERNIC: RecoNIC's, and the one used with 4.2. */
#define RESET_RDMA          (BIT(1) | BIT(12))
#define RESET_QDMA          BIT(0)
/* Every reset is done at once: QDMA, RDMA, ports and adapters read as ready. */
#define RESET_DONE          0x3333
#define CMAC_RX_LINK        0x3

/* The window table; the words of an entry (PG302). */
#define WINDOWS             8
#define WINDOW_SHIFT        37          /* address bits 39:37 select the window */
enum { WIN_LOW, WIN_HIGH, WIN_PASID, WIN_FUNCTION, WIN_CONTROL, WIN_WORDS = 6 };
#define WIN_READ            BIT(31)
#define WIN_WRITE           BIT(30)
#define WIN_ERROR           BIT(29)
#define WIN_PAGES           0x03ffffff

/* ---- registers ------------------------------------------------------------ */

static uint32_t read_rx_status(ErnicPci *d)
{
    return ernic_pci_link(d) ? CMAC_RX_LINK : 0;
}

static void write_system_reset(ErnicPci *d, uint64_t now, uint32_t value)
{
    if (value & 1) {
        ernic_pci_shell_reset(d);
        ernic_pci_pg332_reset(d, now);
    }
}

static void write_shell_reset(ErnicPci *d, uint64_t now, uint32_t value)
{
    if (value & RESET_RDMA) {
        ernic_pci_pg332_reset(d, now);
    }
    if (value & RESET_QDMA) {
        ernic_qdma_reset(d);
    }
}

/* A group of words in BAR 2. ErnicShell.regs holds the stored groups in table order. */
typedef struct ShellReg {
    const char *name;
    uint32_t at, words;
    uint32_t slots, stride;             /* number of such groups (0: 1), bytes apart */
    bool stored;
    uint32_t constant;                  /* value if neither stored nor read() */
    uint32_t (*read)(ErnicPci *d);
    void (*write)(ErnicPci *d, uint64_t now, uint32_t value);
} ShellReg;

enum { REG_WINDOWS };

static const ShellReg shell_regs[] = {
    [REG_WINDOWS] = { "windows", 0x16420, WIN_WORDS, WINDOWS, 0x20, true },
    { "build", 0x0, 1, .constant = ERNIC_SHELL_BUILD },
    { "system-reset", 0x4, 1, .write = write_system_reset },
    { "system-status", 0x8, 1, .constant = 1 },
    { "shell-reset", 0xc, 1, .write = write_shell_reset },
    { "shell-status", 0x10, 1, .constant = RESET_DONE },
    { "user-reset", 0x14, 1 },
    { "user-status", 0x18, 1, .constant = 0xffffffff },
    { "queues", 0x1000, 1, 4, 0x1000, true },
    { "indirection", 0x1400, 128, 4, 0x1000, true },
    { "hash-key", 0x1600, 10, 4, 0x1000, true },
    { "cmac-tx", 0x800c, 1, 2, 0x4000, true },
    { "cmac-rx", 0x8014, 1, 2, 0x4000, true },
    { "cmac-flow", 0x8030, 11, 2, 0x4000, true },
    { "cmac-pause", 0x8084, 2, 2, 0x4000, true },
    { "cmac-rx-status", 0x8204, 1, 2, 0x4000, .read = read_rx_status },
    { "cmac-fec", 0x9000, 1, 2, 0x4000, true },
    { "cmac-fec-mode", 0x907c, 1, 2, 0x4000, true },
};

/* The row of a word of BAR 2; *@index: its place in ErnicShell.regs if stored. */
static const ShellReg *find_reg(uint64_t off, uint32_t *index)
{
    uint32_t before = 0, slot, word;
    const ShellReg *r;

    for (r = shell_regs; r < shell_regs + ARRAY_SIZE(shell_regs); r++) {
        uint32_t slots = MAX(r->slots, 1);

        slot = r->stride && off >= r->at ? (off - r->at) / r->stride : 0;
        word = (off - r->at - slot * r->stride) / 4;
        if (off >= r->at && slot < slots && word < r->words) {
            *index = before + slot * r->words + word;
            assert(!r->stored || *index < ERNIC_SHELL_WORDS);
            return r;
        }
        before += r->stored ? slots * r->words : 0;
    }
    return NULL;
}

static uint64_t shell_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *d = opaque;
    uint32_t index, value;
    const ShellReg *r = find_reg(off, &index);

    if (!r) {
        ernic_guest_bad_read(d, off, size);
        return 0;
    }
    ernic_pci_enter(d);
    value = r->read ? r->read(d) : r->stored ? d->shell.regs[index] : r->constant;
    ernic_pci_leave(d);
    trace_ernic_pci_read(ernic_pci_id(d), r->name, value);
    return value;
}

static void shell_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = opaque;
    uint32_t index;
    const ShellReg *r = find_reg(off, &index);
    uint64_t now;

    if (!r || (!r->stored && !r->write && r->constant)) {
        ernic_guest_bad_write(d, off, size, value);
        return;
    }
    trace_ernic_pci_write(ernic_pci_id(d), r->name, value);
    now = ernic_pci_enter(d);
    if (r->stored) {
        d->shell.regs[index] = value;
    } else if (r->write) {
        r->write(d, now, value);
    }
    ernic_pci_leave(d);
}

static const MemoryRegionOps shell_ops = {
    .read = shell_read,
    .write = shell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

void ernic_pci_shell_reset(ErnicPci *d)
{
    memset(d->shell.regs, 0, sizeof(d->shell.regs));
    ernic_qdma_reset(d);
}

/* ---- memory --------------------------------------------------------------- */

bool ernic_pci_card_rw(ErnicPci *d, uint64_t at, void *buf, uint64_t len, bool write)
{
    uint8_t *card;

    if (at > d->shell.card_size || len > d->shell.card_size - at) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), at, len, write);
        return false;
    }
    card = (uint8_t *)memory_region_get_ram_ptr(&d->shell.card) + at;
    smp_mb();                   /* keep accesses in the order of the calls */
    memcpy(write ? card : buf, write ? buf : card, len);
    if (write && len) {
        memory_region_set_dirty(&d->shell.card, at, len);
    }
    return true;
}

/* Translates @addr to a bus address; reduces *@len to the end of the window. */
static bool window(ErnicPci *d, uint64_t addr, uint64_t *bus, uint64_t *len,
                   bool write)
{
    uint32_t *w = &d->shell.regs[(addr >> WINDOW_SHIFT) % WINDOWS * WIN_WORDS];
    uint64_t at = addr & MAKE_64BIT_MASK(0, WINDOW_SHIFT);
    uint64_t size = (uint64_t)(w[WIN_CONTROL] & WIN_PAGES) << 12;

    size = MIN(size, 1ull << WINDOW_SHIFT);
    if (!(w[WIN_CONTROL] & (write ? WIN_WRITE : WIN_READ)) || at >= size) {
        w[WIN_CONTROL] |= WIN_ERROR;
        trace_ernic_guest_no_window(ernic_pci_id(d), addr, write);
        ernic_pci_guest_error(d, "no window to %s 0x%" PRIx64,
                              write ? "write" : "read", addr);
        return false;
    }
    *bus = (((uint64_t)w[WIN_HIGH] << 32) | w[WIN_LOW]) + at;
    *len = MIN(*len, size - at);
    return true;
}

bool ernic_pci_shell_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                         bool write)
{
    uint64_t bus, n, done;

    if (d->shell.card_size && addr >> ERNIC_CARD_TAG_SHIFT == ERNIC_CARD_TAG) {
        return ernic_pci_card_rw(d, addr & MAKE_64BIT_MASK(0, ERNIC_CARD_TAG_SHIFT), buf,
                                 len, write);
    }
    if (!d->shell.reconic) {
        return ernic_pci_dma(d, addr, buf, len, write);
    }
    for (done = 0; done < len; done += n) {
        n = len - done;
        if (!window(d, addr + done, &bus, &n, write) ||
            !ernic_pci_dma(d, bus, (uint8_t *)buf + done, n, write)) {
            return false;
        }
    }
    return true;
}

/* ---- life ----------------------------------------------------------------- */

bool ernic_pci_shell_open(ErnicPci *d, Error **errp)
{
    ErnicShell *s = &d->shell;

    if (s->name && strcmp(s->name, "none") && strcmp(s->name, "reconic")) {
        error_setg(errp, "shell is %s, not none or reconic", s->name);
        return false;
    }
    s->reconic = s->name && !strcmp(s->name, "reconic");
    if (s->reconic && !d->pg332.version) {
        d->pg332.version = g_strdup(DEFAULT_VERSION);
    }
    if (s->reconic && !s->card_size) {
        s->card_size = DEFAULT_CARD;
    }
    if (s->card_size && !d->pg332.version) {
        error_setg(errp, "card-memory= needs ernic-version= or shell=");
        return false;
    }
    if (s->card_size && (s->card_size < MIN_CARD || s->card_size > MAX_CARD ||
                         !is_power_of_2(s->card_size))) {
        error_setg(errp, "card-memory is %" PRIu64 ", not a power of two from"
                   " 1M to 4G", s->card_size);
        return false;
    }
    if (s->reconic) {
        ernic_qdma_open(d);
    }
    return !s->card_size ||
           memory_region_init_ram(&s->card, OBJECT(d), "ernic-card",
                                  s->card_size, errp);
}

void ernic_pci_shell_close(ErnicPci *d)
{
    if (d->shell.card.ram_block) {
        vmstate_unregister_ram(&d->shell.card, DEVICE(d));
    }
    ernic_qdma_stop(d);
    if (!ernic_pci_gone(d)) {
        ernic_pci_shell_free(d);        /* it was never realized */
    }
}

void ernic_pci_shell_free(ErnicPci *d)
{
    ernic_qdma_free(d);
}

void ernic_pci_shell_add_bars(ErnicPci *d)
{
    /* Offset of the ERNIC in BAR 2, and size of that BAR, by enum pg332_version. */
    static const struct {
        uint32_t at, size;
    } map[PG332_VERSIONS] = {
        [PG332_V3_1] = { 0x40000, 4 * MiB },
        [PG332_V4_0] = { 0x200000, 8 * MiB },
        [PG332_V4_2] = { 0x800000, 16 * MiB },
    };
    const uint8_t type = PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64;
    unsigned v = d->pg332.cfg.pg332 - 1;
    PCIDevice *pci = PCI_DEVICE(d);

    pci_config_set_vendor_id(pci->config, ERNIC_RECONIC_VENDOR);
    pci_config_set_device_id(pci->config, ERNIC_RECONIC_DEVICE);
    pci_config_set_class(pci->config, PCI_CLASS_MEMORY_OTHER);
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, ERNIC_RECONIC_VENDOR);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID, ERNIC_RECONIC_DEVICE);
    memory_region_init_io(&d->msix_bar, OBJECT(d), &ernic_qdma_ops, d, "ernic-qdma",
                          ERNIC_RECONIC_QDMA_SIZE);
    pci_register_bar(pci, ERNIC_RECONIC_BAR_QDMA, type, &d->msix_bar);
    memory_region_init_io(&d->bar, OBJECT(d), &shell_ops, d, "ernic-shell",
                          map[v].size);
    memory_region_add_subregion(&d->bar, map[v].at, &d->pg332.bar);
    pci_register_bar(pci, ERNIC_RECONIC_BAR_USER, type, &d->bar);
    pci_register_bar(pci, ERNIC_BAR_CARD,
                     type | PCI_BASE_ADDRESS_MEM_PREFETCH, &d->shell.card);
}
