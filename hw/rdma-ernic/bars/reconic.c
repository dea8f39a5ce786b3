/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The card that PG332 is on: its memory and, with shell=reconic, identity and registers
 * of RecoNIC's shell. Only the parts that RecoNIC's software uses are implemented
 * (docs/ernic-interface.md).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/units.h"
#include "migration/vmstate.h"
#include "bars/pg332.h"
#include "bars/qdma/port.h"
#include "bars/qdma/qdma.h"
#include "bars/reconic.h"
#include "bars/shell_dma.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

#define DEFAULT_CARD        (64 * MiB)
#define MIN_CARD            (1 * MiB)
#define MAX_CARD            (4 * GiB)

/* Reset bits of the shell for the ERNIC: RecoNIC's, and the one used with 4.2. */
#define RESET_RDMA          (BIT(1) | BIT(12))
#define RESET_QDMA          BIT(0)
/* Every reset is done at once: QDMA, RDMA, ports and adapters read as ready. */
#define RESET_DONE          0x3333
#define CMAC_RX_LINK        0x3
#define CMAC_VERSION        0x301

/* The key of the shell's hash after a reset. */
static const uint32_t hash_key[] = {
    0xd6e31417, 0x376cc87e, 0x011ba7a6, 0xdc1b91bb, 0x7872e224,
    0xbfd0404b, 0x260374b8, 0xd9270f6f, 0x18dc4386, 0x7c9c37de,
};

/* ---- registers ------------------------------------------------------------ */

/* Function, port or window @slot; word @word of the group. */

/* RoCEv2 may have a link beside the cable of the frames. */
static uint32_t read_rx_status(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return ernic_pci_link(d) && d->card->is_up(d) ? CMAC_RX_LINK : 0;
}

/* The streams have one port. */
static uint32_t read_version(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return slot ? 0 : CMAC_VERSION;
}

static uint32_t read_tx_count(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return slot ? 0 : qdma_port_counter(d->shell.qdma, ERNIC_QDMA_H2C, word);
}

static uint32_t read_rx_count(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return slot ? 0 : qdma_port_counter(d->shell.qdma, ERNIC_QDMA_C2H, word);
}

static uint32_t read_adapter(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return slot ? 0 : qdma_port_adapter(d->shell.qdma, word);
}

static void write_tick(ErnicPci *d, uint32_t slot, uint64_t now, uint32_t value)
{
    if (!slot && (value & 1)) {
        qdma_port_tick(d->shell.qdma);
    }
}

static void write_system_reset(ErnicPci *d, uint32_t slot, uint64_t now,
                               uint32_t value)
{
    if (value & 1) {
        ernic_pci_shell_reset(d);
        ernic_pci_pg332_reset(d, now);
    }
}

static void write_shell_reset(ErnicPci *d, uint32_t slot, uint64_t now,
                              uint32_t value)
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
    uint32_t (*read)(ErnicPci *d, uint32_t slot, uint32_t word);
    void (*write)(ErnicPci *d, uint32_t slot, uint64_t now, uint32_t value);
} ShellReg;

/* A word of such a group. */
typedef struct ShellWord {
    const ShellReg *reg;        /* NULL: there is no such word */
    uint32_t slot, word;
    uint32_t index;             /* its place in ErnicShell.regs, if it is stored */
} ShellWord;

enum { REG_WINDOWS };

static const ShellReg shell_regs[] = {
    [REG_WINDOWS] = { "windows", 0x16420, ERNIC_SHELL_WINDOW_WORDS, ERNIC_SHELL_WINDOWS,
                      0x20, true },
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
    { "cmac-loop", 0x8090, 1, 2, 0x4000, true },
    { "cmac-version", 0x8024, 1, 2, 0x4000, .read = read_version },
    { "cmac-tick", 0x82b0, 1, 2, 0x4000, .write = write_tick },
    { "cmac-tx-count", 0x8500, 64, 2, 0x4000, .read = read_tx_count },
    { "cmac-rx-count", 0x8608, 64, 2, 0x4000, .read = read_rx_count },
    { "adapter", 0xb000, 20, 2, 0x4000, .read = read_adapter },
};

static ShellWord find_word(uint64_t off)
{
    ShellWord w = { };
    uint32_t before = 0;
    const ShellReg *r;

    for (r = shell_regs; r < shell_regs + ARRAY_SIZE(shell_regs); r++) {
        uint32_t slots = MAX(r->slots, 1);

        w.slot = r->stride && off >= r->at ? (off - r->at) / r->stride : 0;
        w.word = (off - r->at - w.slot * r->stride) / 4;
        if (off >= r->at && w.slot < slots && w.word < r->words) {
            w.reg = r;
            w.index = before + w.slot * r->words + w.word;
            assert(!r->stored || w.index < ERNIC_SHELL_WORDS);
            break;
        }
        before += r->stored ? slots * r->words : 0;
    }
    return w;
}

static uint64_t shell_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *d = opaque;
    ShellWord w = find_word(off);
    const ShellReg *r = w.reg;
    uint32_t value;

    if (!r) {
        ernic_guest_bad_read(d, off, size);
        return 0;
    }
    ernic_pci_enter(d);
    value = r->read ? r->read(d, w.slot, w.word) :
            r->stored ? d->shell.regs[w.index] : r->constant;
    ernic_pci_leave(d);
    trace_ernic_pci_read(ernic_pci_id(d), r->name, value);
    return value;
}

static void shell_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = opaque;
    ShellWord w = find_word(off);
    const ShellReg *r = w.reg;
    uint64_t now;

    if (!r || (!r->stored && !r->write && (r->constant || r->read))) {
        ernic_guest_bad_write(d, off, size, value);
        return;
    }
    trace_ernic_pci_write(ernic_pci_id(d), r->name, value);
    now = ernic_pci_enter(d);
    if (r->stored) {
        d->shell.regs[w.index] = value;
        ernic_qdma_kick(d);             /* loopback does not wait for the network */
    } else if (r->write) {
        r->write(d, w.slot, now, value);
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
    uint32_t i;

    memset(d->shell.regs, 0, sizeof(d->shell.regs));
    for (i = 0; i < ERNIC_QDMA_FUNCTIONS; i++) {
        memcpy(d->shell.regs + ERNIC_SHELL_HASH_KEY + i * ARRAY_SIZE(hash_key), hash_key,
               sizeof(hash_key));
    }
    ernic_qdma_reset(d);
}

/* ---- life ----------------------------------------------------------------- */

bool ernic_pci_shell_check(const ErnicPci *d, Error **errp)
{
    uint64_t card = d->shell.card_size;

    if (card && (card < MIN_CARD || card > MAX_CARD || !is_power_of_2(card))) {
        error_setg(errp, "card-memory is %" PRIu64 ", not a power of two from"
                   " 1M to 4G", card);
        return false;
    }
    return true;
}

/* Others find some words without the table. */
static void check_places(void)
{
    static const uint32_t places[][2] = {
        { 0x1000, ERNIC_SHELL_QUEUES }, { 0x1400, ERNIC_SHELL_TABLE },
        { 0x1600, ERNIC_SHELL_HASH_KEY }, { 0x800c, ERNIC_SHELL_MAC_TX },
        { 0x8014, ERNIC_SHELL_MAC_RX }, { 0x8090, ERNIC_SHELL_MAC_LOOP },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(places); i++) {
        assert(find_word(places[i][0]).index == places[i][1]);
    }
}

bool ernic_pci_shell_open(ErnicPci *d, Error **errp)
{
    ErnicShell *s = &d->shell;

    if (s->kind == ERNIC_SHELL_RECONIC && !s->card_size) {
        s->card_size = DEFAULT_CARD;
    }
    if (s->kind == ERNIC_SHELL_RECONIC) {
        check_places();
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
