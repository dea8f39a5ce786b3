/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RecoNIC's shell around the ERNIC face, and card memory: identity, map of BAR 2,
 * windows to guest memory, and queues and buffers in card or guest memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_ids.h"
#include "hw/pci/pci_regs.h"
#include "hw/rdma-ernic/core/faces/pg332/register_file.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ernic.h"

#define QPN         2
#define DEPTH       16
#define KEY         8
#define VA          0x7f0012340000ull
#define LENGTH      5000
#define CARD        (1024 * 1024)
#define WINDOW(i)   (0x16420 + (i) * 0x20)
#define BOTH        0xc2000000      /* reads and writes, 128 GiB */
#define READ_ONLY   0x82000000
#define FATAL       1               /* bit of STATQP */

enum { WRITE = 0, SEND = 2, READ = 4 };

/* The options of a device, and the places of its parts that follow from them. */
typedef struct Kind {
    const char *name, *options;
    unsigned version;
    bool shell;
    int bar;                        /* has the registers, at offset base */
    uint32_t base, size;
} Kind;

static const Kind kinds[] = {
    { "reconic-3.1", "shell=reconic,card-memory=1M", PG332_V3_1, true, 2,
      0x40000, 4 << 20 },
    { "reconic-4.0", "shell=reconic,card-memory=1M,ernic-version=4.0",
      PG332_V4_0, true, 2, 0x200000, 8 << 20 },
    { "reconic-4.2", "shell=reconic,card-memory=1M,ernic-version=4.2",
      PG332_V4_2, true, 2, 0x800000, 16 << 20 },
    { "plain-3.1", "shell=none,card-memory=1M,ernic-version=3.1", PG332_V3_1,
      false, 0, 0, 2 * PG332_V3_SIZE },
};

/* A device connected to itself; addresses as its registers take them. */
typedef struct Card {
    QErnic *q;
    const Kind *kind;
    QPCIBar bar, card;
    uint64_t card_at;               /* in BAR 4 */
    uint64_t sq, cq, rq, db, mem;
    uint32_t posted, received;
} Card;

static uint32_t get_at(Card *c, uint32_t off)
{
    return qpci_io_readl(&c->q->dev, c->bar, off);
}

static void put_at(Card *c, uint32_t off, uint32_t value)
{
    qpci_io_writel(&c->q->dev, c->bar, off, value);
}

static uint32_t at(Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg)
{
    return c->kind->base + ernic_reg_blocks[c->kind->version][scope].base +
           element * PG332_SLOT + reg;
}

static void put(Card *c, uint32_t reg, uint32_t value)
{
    put_at(c, at(c, ERNIC_REG_GLOBAL, 0, reg), value);
}

static void put_qp(Card *c, uint32_t reg, uint32_t value)
{
    put_at(c, at(c, ERNIC_REG_QP, QPN - 1, reg), value);
}

static uint32_t get_qp(Card *c, uint32_t reg)
{
    return get_at(c, at(c, ERNIC_REG_QP, QPN - 1, reg));
}

static bool on_card(uint64_t addr)
{
    return addr >> ERNIC_CARD_TAG_SHIFT == ERNIC_CARD_TAG;
}

static uint64_t card_addr(uint64_t off)
{
    return (uint64_t)ERNIC_CARD_TAG << ERNIC_CARD_TAG_SHIFT | off;
}

static void mem_write(Card *c, uint64_t addr, const void *buf, size_t len)
{
    if (on_card(addr)) {
        qpci_memwrite(&c->q->dev, c->card, c->card_at + (uint32_t)addr, buf, len);
    } else {
        qtest_memwrite(c->q->qts, addr, buf, len);
    }
}

static void mem_read(Card *c, uint64_t addr, void *buf, size_t len)
{
    if (on_card(addr)) {
        qpci_memread(&c->q->dev, c->card, c->card_at + (uint32_t)addr, buf, len);
    } else {
        qtest_memread(c->q->qts, addr, buf, len);
    }
}

static uint32_t mem_word(Card *c, uint64_t addr)
{
    uint32_t word;

    mem_read(c, addr, &word, 4);
    return le32_to_cpu(word);
}

static void map(Card *c, QErnic *q, const Kind *kind)
{
    *c = (Card) { .q = q, .kind = kind };
    c->bar = qpci_iomap(&q->dev, kind->bar, NULL);
    c->card = qpci_iomap(&q->dev, ERNIC_BAR_CARD, NULL);
    c->card_at = kind->shell ? 0 : CARD;
}

/* Opens 128 GiB windows without translation, as RecoNIC's library does. */
static void open_windows(Card *c)
{
    for (int i = 0; c->kind->shell && i < 8; i++) {
        put_at(c, WINDOW(i), 0);
        put_at(c, WINDOW(i) + 4, 0x20 * i);
        put_at(c, WINDOW(i) + 8, 0);
        put_at(c, WINDOW(i) + 12, 0);
        put_at(c, WINDOW(i) + 16, BOTH);
        put_at(c, WINDOW(i) + 20, 0);
    }
}

/* Zeroed memory: card memory at @off, or guest memory. */
static uint64_t memory(Card *c, bool card, uint32_t off, uint32_t len)
{
    uint64_t addr = card ? card_addr(off) : guest_alloc(c->q->alloc, len);
    g_autofree uint8_t *zero = g_malloc0(len);

    mem_write(c, addr, zero, len);
    return addr;
}

static void put_pair(Card *c, uint32_t low, uint32_t high, uint64_t addr)
{
    put_qp(c, low, addr);
    put_qp(c, high, addr >> 32);
}

static void open_memory(Card *c, bool queues, bool data)
{
    c->sq = memory(c, queues, 0, DEPTH * 64);
    c->cq = memory(c, queues, 0x1000, 4096);
    c->db = memory(c, queues, 0x2000, 4096);
    c->rq = memory(c, queues, 0x10000, DEPTH * 4096);
    c->mem = memory(c, data, 0x40000, 65536);
}

static void open_face(Card *c)
{
    bool v3 = c->kind->version == PG332_V3_1;

    put(c, PG332_MACXADDLSB, 0x35010201);
    put(c, PG332_MACXADDMSB, 0x000a);
    put(c, PG332_IPv4XADD, 0x0a000001);
    put(c, PG332_XRNICCONF, v3 ? 22222u << 16 | 0x0821 : 22222u << 8 | 0x21);
    put(c, PG332_XRNICADCONF, 0x000a0004);
    if (!v3) {
        put(c, PG332_XRNIC_CONF_QP_EN, 8);
    }
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_VIRTADDRLSB), (uint32_t)VA);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_VIRTADDRMSB), VA >> 32);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_BUFBASEADDRLSB), c->mem);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_BUFBASEADDRMSB), c->mem >> 32);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_BUFRKEY), KEY);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_WRRDBUFLEN), 65536);
    put_at(c, at(c, ERNIC_REG_REGION, 0, PG332_ACCESSDESC), 2);
}

/* Connects the queue pair to itself. */
static void open_qp(Card *c)
{
    put_qp(c, PG332_IPDESADDR1, 0x0a000001);
    put_qp(c, PG332_MACDESADDLSB, 0x35010201);
    put_qp(c, PG332_MACDESADDMSB, 0x000a);
    put_pair(c, PG332_SQBA, PG332_SQBAMSB, c->sq);
    put_pair(c, PG332_CQBA, PG332_CQBAMSB, c->cq);
    put_pair(c, PG332_RQBA, PG332_RQBAMSB, c->rq);
    put_pair(c, PG332_CQDBADD, PG332_CQDBADDMSB, c->db);
    put_pair(c, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, c->db + 4);
    put_qp(c, PG332_DESTQPCONF, QPN);
    put_qp(c, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    put_qp(c, PG332_LSTRQREQ, 0x0a000abc);
    put_qp(c, PG332_SQPSN, 0xabd);
    put_qp(c, PG332_QPADVCONF, 0xffff4000);
    put_qp(c, PG332_QPCONF, 0x0010043d);
}

static void open_all(Card *c, QErnic *q, const Kind *kind, bool queues, bool data)
{
    map(c, q, kind);
    open_windows(c);
    open_memory(c, queues, data);
    open_face(c);
    open_qp(c);
}

static void post(Card *c, uint8_t opcode, uint64_t laddr, uint64_t raddr)
{
    uint8_t wqe[64] = { [16] = opcode };

    stq_le_p(wqe + 4, laddr);
    stl_le_p(wqe + 12, opcode == SEND ? 4000 : LENGTH);
    stq_le_p(wqe + 20, raddr);
    stl_le_p(wqe + 28, KEY);
    mem_write(c, c->sq + c->posted % DEPTH * 64, wqe, sizeof(wqe));
    put_qp(c, PG332_SQPI, ++c->posted);
}

static void wait_for(Card *c, uint32_t reg, uint32_t mask, uint32_t value)
{
    uint64_t deadline = 0;

    while ((get_qp(c, reg) & mask) != value) {
        qernic_wait(c->q, &deadline);
    }
}

static void done(Card *c, uint8_t opcode)
{
    wait_for(c, PG332_CQHEAD, ~0u, c->posted);
    g_assert_cmphex(get_qp(c, PG332_STATQP) & FATAL, ==, 0);
    g_assert_cmpuint(mem_word(c, c->db), ==, c->posted);
    g_assert_cmphex(mem_word(c, c->cq + (c->posted - 1) * 4), ==, opcode << 16);
}

static void pattern(Card *c, uint64_t addr, uint8_t seed)
{
    uint8_t bytes[LENGTH];

    for (int i = 0; i < LENGTH; i++) {
        bytes[i] = seed + i * 7 + (i >> 8);
    }
    mem_write(c, addr, bytes, LENGTH);
}

static void same(Card *c, uint64_t a, uint64_t b, size_t len)
{
    g_autofree uint8_t *x = g_malloc(len), *y = g_malloc(len);

    mem_read(c, a, x, len);
    mem_read(c, b, y, len);
    g_assert_cmpmem(x, len, y, len);
}

static void transfers(Card *c, uint8_t seed)
{
    pattern(c, c->mem, seed);
    post(c, SEND, c->mem, 0);
    done(c, SEND);
    wait_for(c, PG332_STATRQPIDB, ~0u, ++c->received);
    g_assert_cmpuint(mem_word(c, c->db + 4), ==, c->received);
    same(c, c->mem, c->rq + (c->received - 1) * 4096, 4000);
    put_qp(c, PG332_RQCI, c->received);
    post(c, WRITE, c->mem, VA + 0x8000);
    done(c, WRITE);
    same(c, c->mem, c->mem + 0x8000, LENGTH);
    post(c, READ, c->mem + 0x4000, VA + 0x8000);
    done(c, READ);
    same(c, c->mem, c->mem + 0x4000, LENGTH);
}

/* The next request ends the queue pair. */
static void fails(Card *c)
{
    g_assert_cmphex(get_qp(c, PG332_STATQP) & FATAL, ==, 0);
    post(c, WRITE, c->mem, VA + 0x8000);
    wait_for(c, PG332_STATQP, FATAL, FATAL);
}

/* Takes the queue pair down as the drivers do, for the next round. */
static void clear_qp(Card *c)
{
    static const uint8_t zero[] = {
        PG332_SQPI, PG332_CQHEAD, PG332_RQCI, PG332_STATRQPIDB, PG332_STATCURSQPTR,
    };

    put_qp(c, PG332_QPCONF, 0);
    put(c, PG332_XRNICADCONF, 0x000a0005);
    for (size_t i = 0; i < ARRAY_SIZE(zero); i++) {
        put_qp(c, zero[i], 0);
    }
    put(c, PG332_XRNICADCONF, 0x000a0004);
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

static void test_identity(void *obj, void *data, QGuestAllocator *alloc)
{
    const Kind *k = data;
    QErnic *q = obj;
    uint32_t id = qpci_config_readl(&q->dev, PCI_VENDOR_ID), type;
    uint8_t msix = qpci_find_capability(&q->dev, PCI_CAP_ID_MSIX, 0);

    g_assert_cmphex(id, ==, k->shell ? 0x903f10ee : 0x10f41af4);
    g_assert_cmphex(qpci_config_readw(&q->dev, PCI_CLASS_DEVICE), ==,
                    k->shell ? 0x0580 : PCI_CLASS_NETWORK_ETHERNET);
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
    g_assert_cmphex(type, ==, k->shell ? PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    PCI_BASE_ADDRESS_MEM_PREFETCH : PCI_BASE_ADDRESS_MEM_TYPE_64);
}

/* Words of the shell: the value at reset, and whether a written value is stored. */
static const struct {
    uint32_t at, words, value;
    bool stored;
} words[] = {
    { 0x0, 1, ERNIC_SHELL_BUILD }, { 0x4, 1, 0 }, { 0x8, 1, 1 }, { 0xc, 1, 0 },
    { 0x10, 1, 0x3333 }, { 0x14, 1, 0 }, { 0x18, 1, 0xffffffff }, { 0x1c, 8, 0 },
    { 0x1000, 1, 0, true }, { 0x1004, 255, 0 }, { 0x1400, 128, 0, true },
    { 0x1600, 10, 0, true }, { 0x1628, 4, 0 }, { 0x2000, 1, 0, true },
    { 0x4628 - 4, 1, 0, true }, { 0x5000, 64, 0 }, { 0x8008, 1, 0 },
    { 0x800c, 1, 0, true }, { 0x8010, 1, 0 }, { 0x8014, 1, 0, true },
    { 0x8030, 11, 0, true }, { 0x805c, 10, 0 }, { 0x8084, 2, 0, true }, { 0x8204, 1, 3 },
    { 0x9000, 1, 0, true }, { 0x907c, 1, 0, true }, { 0xc00c, 1, 0, true },
    { 0xc204, 1, 3 }, { 0xd07c, 1, 0, true }, { 0xa000, 64, 0 }, { 0x10000, 64, 0 },
    { 0x14000, 64, 0 }, { 0x1641c, 1, 0 }, { 0x16420, 6, 0, true }, { 0x16438, 2, 0 },
    { 0x16440, 6, 0, true }, { 0x16500, 6, 0, true }, { 0x16518, 16, 0 },
    { 0x102000, 64, 0 }, { 0x3ffffc, 1, 0 },
};

static void test_map(void *obj, void *data, QGuestAllocator *alloc)
{
    uint32_t off;
    Card c;

    map(&c, obj, data);
    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        for (off = words[i].at; off < words[i].at + words[i].words * 4; off += 4) {
            g_assert_cmphex(get_at(&c, off), ==, words[i].value);
            put_at(&c, off, 0x80000000 + off * 4);
        }
    }
    /* Stored words have the value written, the others are unchanged. */
    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        for (off = words[i].at; off < words[i].at + words[i].words * 4; off += 4) {
            g_assert_cmphex(get_at(&c, off), ==, words[i].stored ?
                            0x80000000 + off * 4 : words[i].value);
        }
    }
    put_at(&c, 0x4, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        g_assert_cmphex(get_at(&c, words[i].at), ==, words[i].value);
    }
    /* The ERNIC is at its place in the BAR, and ends with its last word. */
    g_assert_cmphex(get_qp(&c, PG332_STATQP), ==, 0x600);
    g_assert_cmphex(get_at(&c, c.kind->base + ernic_reg_window(c.kind->version)), ==, 0);
}

/* Queues and data in card or guest memory, for both ends of a loopback transfer. */
static void test_transfer(void *obj, void *data, QGuestAllocator *alloc)
{
    Card c;

    for (int i = 0; i < 4; i++) {
        open_all(&c, obj, data, i & 1, i & 2);
        transfers(&c, 10 * i);
        clear_qp(&c);
    }
}

/* Accesses up to the end of card memory succeed, accesses beyond it fail. */
static void test_card_end(void *obj, void *data, QGuestAllocator *alloc)
{
    static const uint64_t bad[] = {
        CARD - LENGTH + 1, CARD, CARD - 1, 1ull << 51, (1ull << 52) - 1,
        (1ull << 52) - LENGTH,
    };
    Card c;

    open_all(&c, obj, data, true, true);
    pattern(&c, card_addr(CARD - LENGTH), 3);
    post(&c, WRITE, card_addr(CARD - LENGTH), VA + 0x8000);
    done(&c, WRITE);
    same(&c, card_addr(CARD - LENGTH), c.mem + 0x8000, LENGTH);
    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        open_all(&c, obj, data, true, true);
        clear_qp(&c);
        open_qp(&c);
        c.mem = card_addr(bad[i]);
        fails(&c);
    }
}

/* The face reaches guest memory only through the windows. */
static void test_windows(void *obj, void *data, QGuestAllocator *alloc)
{
    static const uint32_t closed[] = { 0, READ_ONLY, 0x40000000 | 0x2000000, 0xc0000000 };
    Card c;

    open_all(&c, obj, data, false, false);
    /* Bits 51:40 of an address are ignored: this is window 0. */
    c.sq |= 0x123ull << 40;
    put_qp(&c, PG332_SQBAMSB, c.sq >> 32);
    c.sq = (uint32_t)c.sq;
    transfers(&c, 5);
    /* Window 3 adds 64 KiB to the address. */
    put_at(&c, WINDOW(3), 0x10000);
    put_at(&c, WINDOW(3) + 4, 0);
    put_qp(&c, PG332_SQPI, c.posted);           /* no new request */
    pattern(&c, c.mem, 77);
    post(&c, WRITE, (3ull << 37) + c.mem - 0x10000, VA + 0x8000);
    done(&c, WRITE);
    same(&c, c.mem, c.mem + 0x8000, LENGTH);
    for (uint32_t i = 0; i < ARRAY_SIZE(closed); i++) {
        clear_qp(&c);
        put_at(&c, WINDOW(0) + 16, BOTH);
        open_all(&c, obj, data, true, false);
        put_at(&c, WINDOW(0) + 16, closed[i]);
        g_assert_cmphex(get_at(&c, WINDOW(0) + 16), ==, closed[i]);
        fails(&c);
        g_assert_cmphex(get_at(&c, WINDOW(0) + 16), ==, closed[i] | 1 << 29);
    }
}

/* The effect of the shell's resets and of a function level reset. */
static void test_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint8_t pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    uint32_t word = 0x12345678;
    Card c;

    open_all(&c, q, data, true, true);
    transfers(&c, 9);
    put_at(&c, 0xc, 0x10);                      /* resets the CMAC, not the ERNIC */
    g_assert_cmphex(get_qp(&c, PG332_CQHEAD), ==, c.posted);
    put_at(&c, 0xc, 0x2);
    g_assert_cmphex(get_qp(&c, PG332_CQHEAD), ==, 0);
    g_assert_cmphex(get_qp(&c, PG332_STATQP), ==, 0x600);
    g_assert_cmphex(get_at(&c, WINDOW(1) + 4), ==, 0x20);
    mem_write(&c, card_addr(0x100), &word, 4);
    open_face(&c);
    qpci_config_writew(&q->dev, pcie + PCI_EXP_DEVCTL,
                       qpci_config_readw(&q->dev, pcie + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    map(&c, q, data);
    qpci_device_enable(&q->dev);
    g_assert_cmphex(get_at(&c, WINDOW(1) + 4), ==, 0);
    g_assert_cmphex(get_at(&c, at(&c, ERNIC_REG_GLOBAL, 0, PG332_IPv4XADD)), ==, 0);
    g_assert_cmphex(mem_word(&c, card_addr(0x100)), ==, word);
    open_all(&c, q, data, true, true);
    transfers(&c, 11);
}

/* Card memory and windows migrate. */
static void test_migrate(void *obj, void *data, QGuestAllocator *alloc)
{
    const Kind *kind = data;
    g_autofree char *more = g_strdup_printf(",%s", kind->options);
    QErnic *q = obj;
    QTestState *from;
    Card c;

    open_all(&c, q, kind, true, false);
    transfers(&c, 21);
    from = qernic_migrate_to(q, more);
    g_assert_cmphex(mem_word(&c, c.db), ==, c.posted);
    transfers(&c, 22);
    qernic_migrate_end(q, from);
}

/* Windows to the device's own registers, then random values in words of the shell. */
static void test_attack(const void *data)
{
    static const uint32_t blocks[] = { 0, 0x1000, 0x8000, 0xc000, 0x16400 };
    const Kind *kind = data;
    g_autofree char *args = g_strdup_printf(
        "-M pc -device ernic,id=ernic0,addr=04.0,%s", kind->options);
    QTestState *qts = qtest_init(args);
    QGuestAllocator alloc;
    uint64_t sq;
    QPCIBus *bus;
    QErnic q;
    Card c;

    pc_alloc_init(&alloc, qts, 0);
    bus = qpci_new_pc(qts, &alloc);
    qernic_init(&q, "ernic0", bus, QPCI_DEVFN(4, 0), &alloc);
    for (int i = 0; i < 3; i++) {
        open_all(&c, &q, kind, false, false);
        clear_qp(&c);
        open_qp(&c);
        put_at(&c, WINDOW(1), c.bar.addr);
        put_at(&c, WINDOW(1) + 4, c.bar.addr >> 32);
        c.mem = (1ull << 37) + at(&c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF);
        if (i == 1) {                           /* and a completion too */
            put_pair(&c, PG332_CQDBADD, PG332_CQDBADDMSB, (1ull << 37) + WINDOW(0) + 16);
        } else if (i == 2) {                    /* and requests too */
            sq = (1ull << 37) + at(&c, ERNIC_REG_QP, QPN - 1, 0);
            put_pair(&c, PG332_SQBA, PG332_SQBAMSB, sq);
        }
        fails(&c);
        g_assert_cmphex(get_at(&c, WINDOW(0) + 16), ==, BOTH);
    }
    for (int i = 0; i < 5000; i++) {
        put_at(&c, blocks[g_test_rand_int_range(0, ARRAY_SIZE(blocks))] +
               g_test_rand_int_range(0, 0x200) * 4, g_test_rand_int());
        if (i % 100 == 0) {
            put_qp(&c, PG332_SQPI, g_test_rand_int());
            qtest_clock_step(qts, 100000);
        }
    }
    put_at(&c, 0x4, 1);
    open_all(&c, &q, kind, true, true);
    transfers(&c, 3);
    qernic_fini(&q);
    qpci_free_pc(bus);
    alloc_destroy(&alloc);
    qtest_quit(qts);
}

static void *options(GString *cmd_line, void *arg)
{
    const Kind *kind = arg;
    g_auto(GStrv) all = g_strsplit(kind->options, ",", -1);
    char **one;

    for (one = all; *one; one++) {
        g_string_append_printf(cmd_line, " -global ernic.%s ", *one);
    }
    return arg;
}

static void *with_iothread(GString *cmd_line, void *arg)
{
    options(cmd_line, arg);
    g_string_append(cmd_line, " -object iothread,id=io0 -global ernic.iothread=io0 ");
    return arg;
}

static void register_tests(void)
{
    static const struct {
        const char *name;
        QOSTestFunc fn;
        bool shell;                             /* needs RecoNIC's shell */
        void *(*before)(GString *cmd_line, void *arg);
    } tests[] = {
        { "identity", test_identity, false, options },
        { "map", test_map, true, options },
        { "transfer", test_transfer, false, options },
        { "transfer-iothread", test_transfer, false, with_iothread },
        { "card-end", test_card_end, false, options },
        { "windows", test_windows, true, options },
        { "reset", test_reset, true, options },
        { "migrate", test_migrate, false, options },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            QOSGraphTestOptions opts = {
                .before = tests[i].before, .arg = (void *)&kinds[k],
            };
            g_autofree char *name = g_strdup_printf("shell-%s-%s", tests[i].name,
                                                    kinds[k].name);

            if (kinds[k].shell || !tests[i].shell) {
                qos_add_test(name, "ernic", tests[i].fn, &opts);
            }
        }
    }
    for (size_t k = 0; kinds[k].shell; k++) {
        g_autofree char *path = g_strdup_printf("/ernic-attack/shell-%s", kinds[k].name);

        qtest_add_data_func(path, &kinds[k], test_attack);
    }
}

libqos_init(register_tests);
