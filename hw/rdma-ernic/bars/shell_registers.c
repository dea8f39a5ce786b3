/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BAR 2 of a shell: its registers as one table. Only the parts that the shells' drivers
 * use are implemented (docs/ernic-interface.md).
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "bars/pg332.h"
#include "bars/qdma/port.h"
#include "bars/qdma/qdma.h"
#include "bars/shell.h"
#include "bars/shell_dma.h"
#include "bars/xib/xib.h"
#include "device/card.h"
#include "device/irq.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

#define RESET_QDMA          BIT(0)
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
static bool is_up(const ErnicPci *port)
{
    return port && !ernic_pci_gone(port) && ernic_pci_link(port) &&
           port->card->is_up(port);
}

/* The second MAC of RecoNIC's shell shows the link of the first one. */
static uint32_t read_rx_status(ErnicPci *d, uint32_t slot, uint32_t word)
{
    ErnicPci *p = d->shell.kind == ERNIC_SHELL_RECONIC ? d : qdma_port_device(d, slot);

    return is_up(p) ? CMAC_RX_LINK : 0;
}

static uint32_t read_version(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return qdma_port_device(d, slot) ? CMAC_VERSION : 0;
}

static uint32_t read_tx_count(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return ernic_mac_counter(&d->shell.qdma->port[slot].mac[ERNIC_QDMA_H2C], word);
}

static uint32_t read_rx_count(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return ernic_mac_counter(&d->shell.qdma->port[slot].mac[ERNIC_QDMA_C2H], word);
}

/* Every reset is done at once. */
static uint32_t read_ready(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return ernic_pci_shell_row(d)->ready;
}

static uint32_t read_adapter(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return qdma_port_adapter(&d->shell.qdma->port[slot], word);
}

static void write_tick(ErnicPci *d, uint32_t slot, uint64_t now, uint32_t value)
{
    if (value & 1) {
        ernic_mac_tick(&d->shell.qdma->port[slot].mac[ERNIC_QDMA_H2C]);
        ernic_mac_tick(&d->shell.qdma->port[slot].mac[ERNIC_QDMA_C2H]);
    }
}

/* The ERNIC of the second port, whose lock is another one. */
static void reset_second(ErnicPci *d)
{
    ErnicPci *second = d->shell.second;

    if (second && !ernic_pci_inside(second)) {  /* not from inside its engine */
        ernic_pci_pg332_reset(second, ernic_pci_enter(second));
        ernic_pci_leave(second);
    }
}

static void wrote_system_reset(ErnicPci *d, uint32_t value)
{
    if (value & 1) {
        reset_second(d);
    }
}

static void wrote_shell_reset(ErnicPci *d, uint32_t value)
{
    if (value & ernic_pci_shell_row(d)->reset_second) {
        reset_second(d);
    }
}

static uint32_t read_links(ErnicPci *d, uint32_t slot, uint32_t word)
{
    return d->shell.links;
}

static uint32_t links_up(const ErnicPci *d)
{
    return is_up(d) | is_up(d->shell.second) << 1;
}

void ernic_pci_shell_raise_links(ErnicPci *d)
{
    if (d->shell.links) {
        ernic_pci_irq(d, ernic_pci_shell_user_vector(d));
    }
}

static void write_links(ErnicPci *d, uint32_t slot, uint64_t now, uint32_t value)
{
    d->shell.links &= ~value;
    ernic_pci_shell_raise_links(d);
}

void ernic_pci_shell_link(ErnicPci *d)
{
    ErnicShell *s = &ernic_pci_first(d)->shell;
    bool raised = s->links;

    if (ernic_pci_shell_has_links(ernic_pci_first(d))) {
        s->links |= links_up(ernic_pci_first(d)) ^ s->links_up;
        s->links_up = links_up(ernic_pci_first(d));
        if (!raised) {
            ernic_pci_shell_raise_links(ernic_pci_first(d));
        }
    }
}

void ernic_pci_shell_reset_links(ErnicPci *d)
{
    d->shell.links = 0;
    d->shell.links_up = links_up(d);
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
    if (value & ernic_pci_shell_row(d)->reset) {
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
    bool ernic;                         /* only with an ERNIC */
    uint32_t constant;                  /* value if neither stored nor read() */
    uint32_t (*read)(ErnicPci *d, uint32_t slot, uint32_t word);
    void (*write)(ErnicPci *d, uint32_t slot, uint64_t now, uint32_t value);
    void (*wrote)(ErnicPci *d, uint32_t value);         /* after leave; or NULL */
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
                      0x20, true, .ernic = true },
    { "build", 0x0, 1, .constant = ERNIC_SHELL_BUILD },
    { "system-reset", 0x4, 1, .write = write_system_reset,
      .wrote = wrote_system_reset },
    { "system-status", 0x8, 1, .constant = 1 },
    { "shell-reset", 0xc, 1, .write = write_shell_reset,
      .wrote = wrote_shell_reset },
    { "shell-status", 0x10, 1, .read = read_ready },
    { "link-changed", 0x1c, 1, .read = read_links, .write = write_links },
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
    { "cmac-rx-errors", 0x8708, 4, 2, 0x4000 },
    { "adapter", 0xb000, 20, 2, 0x4000, .read = read_adapter },
};

static ShellWord find_word(const ErnicPci *d, uint64_t off)
{
    ShellWord w = { };
    uint32_t before = 0;
    const ShellReg *r;

    for (r = shell_regs; r < shell_regs + ARRAY_SIZE(shell_regs); r++) {
        uint32_t slots = MAX(r->slots, 1);

        w.slot = r->stride && off >= r->at ? (off - r->at) / r->stride : 0;
        w.word = (off - r->at - w.slot * r->stride) / 4;
        if (off >= r->at && w.slot < slots && w.word < r->words) {
            w.reg = r->ernic && !d->pg332.version ? NULL : r;
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
    ErnicPci *d = ernic_pci_first(opaque);
    ShellWord w = find_word(d, off);
    const ShellReg *r = w.reg;
    uint32_t value;

    if (ernic_pci_gone(d)) {
        return 0;               /* this is a second port */
    }
    if (!r) {
        ernic_guest_bad_read(d, off, size);
        return 0;
    }
    ernic_pci_enter(d);
    value = r->read ? r->read(d, w.slot, w.word) :
            r->stored ? qatomic_read(&d->shell.regs[w.index]) : r->constant;
    ernic_pci_leave(d);
    trace_ernic_pci_read(ernic_pci_id(d), r->name, value);
    return value;
}

static void shell_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = ernic_pci_first(opaque);
    ShellWord w = find_word(d, off);
    const ShellReg *r = w.reg;
    uint64_t now;

    if (ernic_pci_gone(d)) {
        return;                 /* this is a second port */
    }
    if (!r || (!r->stored && !r->write && (r->constant || r->read))) {
        ernic_guest_bad_write(d, off, size, value);
        return;
    }
    trace_ernic_pci_write(ernic_pci_id(d), r->name, value);
    now = ernic_pci_enter(d);
    if (r->stored) {
        qatomic_set(&d->shell.regs[w.index], value);
        ernic_pci_card_kick(d);             /* loopback does not wait for the network */
    } else if (r->write) {
        r->write(d, w.slot, now, value);
    }
    ernic_pci_leave(d);
    if (r->wrote) {
        r->wrote(d, value);
    }
}

const MemoryRegionOps ernic_pci_shell_ops = {
    .read = shell_read,
    .write = shell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

void ernic_pci_shell_reset(ErnicPci *d)
{
    uint32_t i;

    for (i = 0; i < ERNIC_SHELL_WORDS; i++) {
        qatomic_set(&d->shell.regs[i], 0);      /* the engine of a second port reads */
    }
    for (i = 0; i < ERNIC_QDMA_FUNCTIONS; i++) {
        memcpy(d->shell.regs + ERNIC_SHELL_HASH_KEY + i * ARRAY_SIZE(hash_key), hash_key,
               sizeof(hash_key));
    }
    ernic_pci_shell_reset_links(d);
    ernic_qdma_reset(d);
    ernic_xib_reset(d);
}

/* Others find some words without the table. */
void ernic_pci_shell_check_places(const ErnicPci *d)
{
    static const uint32_t places[][2] = {
        { 0x1000, ERNIC_SHELL_QUEUES }, { 0x1400, ERNIC_SHELL_TABLE },
        { 0x1600, ERNIC_SHELL_HASH_KEY }, { 0x800c, ERNIC_SHELL_MAC_TX },
        { 0x8014, ERNIC_SHELL_MAC_RX }, { 0x8090, ERNIC_SHELL_MAC_LOOP },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(places); i++) {
        assert(find_word(d, places[i][0]).index == places[i][1]);
    }
}
