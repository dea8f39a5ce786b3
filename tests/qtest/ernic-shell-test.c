/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shells around the ERNIC interface, and card memory: identity, map of BAR 2,
 * windows to guest memory, and queues and buffers in card or guest memory.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_ids.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

#define LENGTH      5000
#define CARD        (1024 * 1024)
#define WINDOW(i)   (0x16420 + (i) * 0x20)
#define BOTH        0xc2000000      /* reads and writes, 128 GiB */
#define READ_ONLY   0x82000000
#define FATAL       1               /* bit of STATQP */
#define TARGET      (CARD_VA + 0x8000)

/* The options of a device, and the places of its parts that follow from them. */
typedef struct Kind {
    const char *options;
    unsigned version;
    bool shell, opennic;
    int bar;                        /* has the registers, at offset base */
    uint32_t base, size;
} Kind;

static const Kind kinds[] = {
    { "shell=reconic,card-memory=1M", PG332_V3_1, true, false, 2, 0x40000,
      4 << 20 },
    { "shell=reconic,card-memory=1M,ernic-version=4.0", PG332_V4_0, true, false, 2,
      0x200000, 8 << 20 },
    { "shell=reconic,card-memory=1M,ernic-version=4.2", PG332_V4_2, true, false, 2,
      0x800000, 16 << 20 },
    { "shell=opennic,card-memory=1M,ernic-version=4.2", PG332_V4_2, true, true, 2,
      0x800000, 16 << 20 },
    { "shell=none,card-memory=1M,ernic-version=3.1", PG332_V3_1, false, false, 0, 0,
      2 * PG332_V3_SIZE },
};

/* The tests of each kind, with the number of its row, and those of shells alone. */
#define SHELLS      { "reconic-3.1", "0" }, { "reconic-4.0", "1" }, \
                    { "reconic-4.2", "2" }, { "opennic-4.2", "3" }
#define ALL         SHELLS, { "plain-3.1", "4" }

/* A device connected to itself. */
typedef struct Shell {
    const Kind *kind;
    QErnicMachine *m;
    QErnic *q;
    QPCIBar bar;
    Card c;
} Shell;

static uint32_t get(Shell *s, uint32_t off)
{
    return qpci_io_readl(&s->q->dev, s->bar, off);
}

static void put(Shell *s, uint32_t off, uint32_t value)
{
    qpci_io_writel(&s->q->dev, s->bar, off, value);
}

static void map(Shell *s)
{
    s->bar = qpci_iomap(&s->q->dev, s->kind->bar, NULL);
    s->c = (Card) { .q = s->q, .version = s->kind->version, .bar = s->bar };
    s->c.bar.addr += s->kind->base;
    s->c.card = qpci_iomap(&s->q->dev, ERNIC_BAR_CARD, NULL);
    s->c.card_at = s->kind->shell ? 0 : CARD;
}

static void start_with(Shell *s, const char *row, const char *more)
{
    *s = (Shell) { .kind = &kinds[atoi(row)] };
    s->m = qernic_machine("-object iothread,id=io0" VERBS_NIC ",id=ernic0,addr=04.0,"
                          "roce-udp=127.0.0.1:0,%s%s", s->kind->options, more);
    s->q = qernic_at(s->m, "ernic0", 4);
    map(s);
}

static void start(Shell *s, const char *row)
{
    start_with(s, row, "");
}

/* Opens 128 GiB windows without translation, as RecoNIC's library does. */
static void open_windows(Shell *s)
{
    for (int i = 0; s->kind->shell && i < 8; i++) {
        const uint32_t words[6] = { 0, 0x20 * i, 0, 0, BOTH, 0 };

        for (int w = 0; w < 6; w++) {
            put(s, WINDOW(i) + 4 * w, words[w]);
        }
    }
}

/* Everything, with queues and data in card memory or in guest memory. */
static void open_all(Shell *s, bool queues, bool data)
{
    open_windows(s);
    card_open_in(&s->c, 1, queues ? card_addr(0) : 0, data ? card_addr(0x40000) : 0);
    card_open_qp(&s->c, 1, CARD_QPN);
}

/* @len bytes from any address of the ERNIC to the middle of the region. */
static void write_from(Card *c, uint64_t addr)
{
    card_post(c, CARD_WRITE, addr - c->mem, LENGTH, TARGET, CARD_KEY);
}

/* The next request ends the queue pair. */
static void fails(Card *c, uint64_t addr)
{
    g_assert_cmphex(card_get_qp(c, PG332_STATQP) & FATAL, ==, 0);
    write_from(c, addr);
    qernic_wait_while(c->q->qts, !(card_get_qp(c, PG332_STATQP) & FATAL));
}

static uint64_t bar_size(QErnic *q, int bar, uint32_t *type)
{
    uint8_t off = PCI_BASE_ADDRESS_0 + bar * 4;
    uint64_t mask;

    *type = qpci_config_readl(&q->dev, off) & 0xf;
    qpci_config_writel(&q->dev, off, 0xffffffff);
    qpci_config_writel(&q->dev, off + 4, 0xffffffff);
    mask = qpci_config_readl(&q->dev, off) & ~0xfu;
    mask |= (uint64_t)qpci_config_readl(&q->dev, off + 4) << 32;
    return -mask;
}

WORLD_KINDS("/ernic-shell-identity-", test_identity, Shell, s, start, ALL)
{
    const Kind *k = s->kind;
    QErnic *q = s->q;
    uint8_t msix = qpci_find_capability(&q->dev, PCI_CAP_ID_MSIX, 0);
    uint32_t type;

    g_assert_cmphex(qpci_config_readl(&q->dev, PCI_VENDOR_ID), ==,
                    k->shell ? 0x903f10ee : 0x10f41af4);
    g_assert_cmphex(qpci_config_readw(&q->dev, PCI_CLASS_DEVICE), ==,
                    k->opennic ? 0x0280 : k->shell ? 0x0580 : PCI_CLASS_NETWORK_ETHERNET);
    if (k->shell) {
        g_assert_cmphex(qpci_config_readl(&q->dev, PCI_SUBSYSTEM_VENDOR_ID), ==,
                        0x903f10ee);
        g_assert_cmphex(qpci_config_readl(&q->dev, msix + PCI_MSIX_TABLE), ==, 0x30000);
        g_assert_cmphex(qpci_config_readl(&q->dev, msix + PCI_MSIX_PBA), ==, 0x34000);
        g_assert_cmphex(bar_size(q, 0, &type), ==, 0x40000);
        g_assert_cmphex(type, ==, PCI_BASE_ADDRESS_MEM_TYPE_64);
    }
    g_assert_cmphex(bar_size(q, k->bar, &type), ==, k->size);
    g_assert_cmphex(type, ==, PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(bar_size(q, ERNIC_BAR_CARD, &type), ==, k->shell ? CARD : 2 * CARD);
    g_assert_cmphex(type, ==, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    (k->shell ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
}

/* Words of the shell: the value at reset, and whether a written value is stored. */
static const struct {
    uint32_t at, words, value;
    bool stored, differs;               /* OpenNIC has opennic instead of value */
    uint32_t opennic;
} words[] = {
    { 0x0, 1, ERNIC_SHELL_BUILD }, { 0x4, 1, 0 }, { 0x8, 1, 1 }, { 0xc, 1, 0 },
    { 0x10, 1, 0x3333, false, true, 0xffffffff }, { 0x14, 1, 0 },
    { 0x18, 1, 0xffffffff }, { 0x1c, 8, 0 },
    { 0x1000, 1, 0, true }, { 0x1004, 255, 0 }, { 0x1400, 128, 0, true },
    { 0x1600, 1, 0xd6e31417, true }, { 0x1604, 1, 0x376cc87e, true },
    { 0x1624, 1, 0x7c9c37de, true }, { 0x1628, 4, 0 }, { 0x2000, 1, 0, true },
    { 0x4628 - 4, 1, 0x7c9c37de, true }, { 0x5000, 64, 0 }, { 0x8008, 1, 0 },
    { 0x800c, 1, 0, true }, { 0x8010, 1, 0 }, { 0x8014, 1, 0, true },
    { 0x8030, 11, 0, true }, { 0x805c, 10, 0 }, { 0x8084, 2, 0, true }, { 0x8204, 1, 3 },
    { 0x8024, 1, 0x301 }, { 0xc024, 1, 0 }, { 0x8090, 1, 0, true }, { 0x82b0, 1, 0 },
    { 0x8500, 64, 0 }, { 0x8608, 64, 0 }, { 0x8708, 4, 0 }, { 0xc500, 2, 0 },
    { 0xb000, 20, 0 },
    { 0x9000, 1, 0, true }, { 0x907c, 1, 0, true }, { 0xc00c, 1, 0, true },
    { 0xc204, 1, 3, false, true, 0 }, { 0xd07c, 1, 0, true }, { 0xa000, 64, 0 },
    { 0x10000, 64, 0 },
    { 0x14000, 64, 0 }, { 0x1641c, 1, 0 }, { 0x16420, 6, 0, true }, { 0x16438, 2, 0 },
    { 0x16440, 6, 0, true }, { 0x16500, 6, 0, true }, { 0x16518, 16, 0 },
    { 0x102000, 64, 0 }, { 0x3ffffc, 1, 0 },
};

/* Calls @fn for the offset of each word, and its row. */
static void each_word(Shell *s, void (*fn)(Shell *s, uint32_t off, uint32_t i))
{
    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        for (uint32_t n = 0; n < words[i].words; n++) {
            fn(s, words[i].at + n * 4, i);
        }
    }
}

static uint32_t value_of(Shell *s, uint32_t i)
{
    return s->kind->opennic && words[i].differs ? words[i].opennic : words[i].value;
}

static void fill(Shell *s, uint32_t off, uint32_t i)
{
    g_assert_cmphex(get(s, off), ==, value_of(s, i));
    put(s, off, 0x80000000 + off * 4);
}

static void check_filled(Shell *s, uint32_t off, uint32_t i)
{
    g_assert_cmphex(get(s, off), ==, words[i].stored ? 0x80000000 + off * 4 :
                    value_of(s, i));
}

/* Stored words have the value written, the others are unchanged, until a reset. */
WORLD_KINDS("/ernic-shell-map-", test_map, Shell, s, start, SHELLS)
{
    each_word(s, fill);
    each_word(s, check_filled);
    put(s, 0x4, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        g_assert_cmphex(get(s, words[i].at), ==, value_of(s, i));
    }
    /* The ERNIC is at its place in the BAR, and ends with its last word. */
    g_assert_cmphex(card_get_qp(&s->c, PG332_STATQP), ==, 0x600);
    g_assert_cmphex(get(s, s->kind->base + ernic_reg_window(s->kind->version)), ==, 0);
}

/* Queues and data in card or guest memory, for both ends of a loopback transfer. */
static void transfer(const char *row, const char *more)
{
    Shell s;

    start_with(&s, row, more);
    for (int i = 0; i < 4; i++) {
        open_all(&s, i & 1, i & 2);
        card_transfers(&s.c, &s.c);
        card_close_qp(&s.c);
    }
}

MACHINE_KINDS("/ernic-shell-transfer-", test_transfer, ALL)
{
    transfer(more, "");
}

MACHINE_KINDS("/ernic-shell-transfer-iothread-", test_transfer_iothread, ALL)
{
    transfer(more, ",iothread=io0");
}

/* Accesses up to the end of card memory succeed, accesses beyond it fail. */
WORLD_KINDS("/ernic-shell-card-end-", test_card_end, Shell, s, start, ALL)
{
    static const uint64_t bad[] = {
        CARD - LENGTH + 1, CARD, CARD - 1, 1ull << 51, (1ull << 52) - 1,
        (1ull << 52) - LENGTH,
    };
    const uint64_t end = card_addr(CARD - LENGTH);

    open_all(s, true, true);
    card_fill(&s->c, end, LENGTH, 3);
    write_from(&s->c, end);
    card_done(&s->c, CARD_WRITE);
    card_equal(&s->c, end, s->c.mem + 0x8000, LENGTH);
    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        card_clear_qp(&s->c);
        open_all(s, true, true);
        fails(&s->c, card_addr(bad[i]));
    }
}

/* The interface reaches guest memory only through the windows. */
WORLD_KINDS("/ernic-shell-windows-", test_windows, Shell, s, start, SHELLS)
{
    static const uint32_t closed[] = { 0, READ_ONLY, 0x40000000 | 0x2000000, 0xc0000000 };
    Card *c = &s->c;

    open_all(s, false, false);
    /* Bits 51:40 of an address are ignored: this is window 0. */
    card_put_qp(c, PG332_SQBAMSB, (c->sq | 0x123ull << 40) >> 32);
    card_transfers(c, c);
    /* Window 3 adds 64 KiB to the address. */
    put(s, WINDOW(3), 0x10000);
    put(s, WINDOW(3) + 4, 0);
    card_put_qp(c, PG332_SQPI, c->posted);      /* no new request */
    card_fill(c, c->mem, LENGTH, 77);
    write_from(c, (3ull << 37) + c->mem - 0x10000);
    card_done(c, CARD_WRITE);
    card_equal(c, c->mem, c->mem + 0x8000, LENGTH);
    for (uint32_t i = 0; i < ARRAY_SIZE(closed); i++) {
        card_clear_qp(c);
        open_all(s, true, false);
        put(s, WINDOW(0) + 16, closed[i]);
        g_assert_cmphex(get(s, WINDOW(0) + 16), ==, closed[i]);
        fails(c, c->mem);
        g_assert_cmphex(get(s, WINDOW(0) + 16), ==, closed[i] | 1 << 29);
    }
}

/* The effect of the shell's resets and of a function level reset. */
WORLD_KINDS("/ernic-shell-reset-", test_reset, Shell, s, start, SHELLS)
{
    const uint64_t kept = card_addr(CARD - 4);
    uint32_t word = 0x12345678;
    Card *c = &s->c;

    open_all(s, true, true);
    card_transfers(c, c);
    put(s, 0xc, 0x10);                         /* resets the CMAC, not the ERNIC */
    g_assert_cmphex(card_get_qp(c, PG332_CQHEAD), ==, c->posted);
    put(s, 0xc, s->kind->opennic ? 1 << 12 : 0x2);
    g_assert_cmphex(card_get_qp(c, PG332_CQHEAD), ==, 0);
    g_assert_cmphex(card_get_qp(c, PG332_STATQP), ==, 0x600);
    g_assert_cmphex(get(s, WINDOW(1) + 4), ==, 0x20);
    card_write(c, kept, &word, 4);
    open_all(s, true, true);
    qernic_flr(&s->q->dev);
    map(s);
    qpci_device_enable(&s->q->dev);
    g_assert_cmphex(get(s, WINDOW(1) + 4), ==, 0);
    g_assert_cmphex(card_get(c, PG332_IPv4XADD), ==, 0);
    g_assert_cmphex(card_word(c, kept), ==, word);
    open_all(s, true, true);
    card_transfers(c, c);
}

/* Card memory and windows migrate. */
WORLD_KINDS("/ernic-shell-migrate-", test_migrate, Shell, s, start, ALL)
{
    g_autofree char *options = g_strconcat(",", s->kind->options, NULL);

    open_all(s, true, false);
    card_transfers(&s->c, &s->c);
    qernic_migrate(s->q, options);
    g_assert_cmphex(card_word(&s->c, s->c.db), ==, s->c.posted);
    card_transfers(&s->c, &s->c);
}

/* Windows to the device's own registers. */
WORLD_KINDS("/ernic-attack/shell-", test_attack, Shell, s, start, SHELLS)
{
    const uint64_t own = 1ull << 37;            /* the second window */
    Card *c = &s->c;

    for (int i = 0; i < 3; i++) {
        open_all(s, false, false);
        put(s, WINDOW(1), s->bar.addr);
        put(s, WINDOW(1) + 4, s->bar.addr >> 32);
        if (i == 1) {                           /* and a completion too */
            card_put_qp(c, PG332_CQDBADD, WINDOW(0) + 16);
            card_put_qp(c, PG332_CQDBADDMSB, own >> 32);
        } else if (i == 2) {                    /* and requests too */
            card_put_qp(c, PG332_SQBA, s->kind->base +
                        card_at(c, ERNIC_REG_QP, CARD_QPN - 1, 0));
            card_put_qp(c, PG332_SQBAMSB, own >> 32);
        }
        fails(c, own + s->kind->base + card_at(c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF));
        g_assert_cmphex(get(s, WINDOW(0) + 16), ==, BOTH);
        card_clear_qp(c);
    }
    open_all(s, true, true);
    card_transfers(c, c);
}
