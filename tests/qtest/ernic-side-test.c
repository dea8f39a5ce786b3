/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface apart from connections: queue pair 1 over every link, and the side
 * stream with its interrupt. Migration while both have work is tested, too, with INTx
 * and with MSI-X.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

#define DEPTH       16
#define MAD         256
#define FRAME       (14 + 20 + 8 + 12 + 8 + MAD)
#define MAD_AT      68              /* offset in a receive buffer */
#define SIDE_VECTOR (CARD_VECTOR - 1)
#define RING        8               /* descriptors */

typedef struct Pair {
    QErnicMachine *m;
    QErnic *q[2];
    Card c[2];
} Pair;

/* The links between the devices: tests for each. */
#define BOTH(first, second) \
    VERBS_NIC ",id=ernic0,addr=06.0," first \
    VERBS_NIC ",id=ernic1,addr=07.0," second
#define UDP         BOTH("roce-udp=127.0.0.1:0", "roce-udp=127.0.0.1:0")
#define NETDEV      " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
                    BOTH("netdev=h0", "netdev=h1")
#define WIRE        " -device ernic-wire,id=w0" BOTH("wire=w0", "wire=w0")
#define VERSIONS    { "3.1", "3.1" }, { "4.0", "4.0" }, { "4.2", "4.2" }
#define VERSION(v)  " -global ernic.ernic-version=" v

static void open_pair(Pair *p, const char *args)
{
    unsigned version = card_version(args + strlen(VERSION("")));

    p->m = qernic_machine("%s", args);
    p->q[0] = qernic_at(p->m, "ernic0", 6);
    p->q[1] = qernic_at(p->m, "ernic1", 7);
    if (strstr(args, "roce-udp")) {
        card_introduce(p->q[0]);
    }
    for (int i = 0; i < 2; i++) {
        card_open(&p->c[i], p->q[i], version, 1 + i);
        card_open_qp(&p->c[i], 2 - i, CARD_QPN);
    }
}

typedef struct Gsi {
    Card *c;
    uint64_t sq, rq, db, frame;
    uint32_t posted;
} Gsi;

static void put1(Gsi *g, uint32_t reg, uint32_t value)
{
    card_put_at(g->c, card_at(g->c, ERNIC_REG_QP, 0, reg), value);
}

static uint32_t get1(Gsi *g, uint32_t reg)
{
    return card_get_at(g->c, card_at(g->c, ERNIC_REG_QP, 0, reg));
}

static void open1(Gsi *g, Card *c)
{
    *g = (Gsi) { .c = c };
    g->sq = qernic_zeroed(c->q, DEPTH * 64);
    g->rq = qernic_zeroed(c->q, DEPTH * CARD_SLOT);
    g->db = qernic_zeroed(c->q, 4096);
    g->frame = qernic_zeroed(c->q, 4096);
    put1(g, PG332_SQBA, g->sq);
    put1(g, PG332_RQBA, g->rq);
    put1(g, PG332_CQDBADD, g->db);
    put1(g, PG332_RQWPTRDBADD, g->db + 4);
    put1(g, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    put1(g, PG332_QPCONF, 0x419 | (CARD_SLOT / 256) << 16);
}

/* Builds the frame of a MAD from one card to the other, as software does. */
static void make(uint8_t f[FRAME], uint8_t from, uint8_t to, uint8_t seed)
{
    const uint8_t head[] = {
        0, 0x0a, 0x35, 1, 2, to, 0, 0x0a, 0x35, 1, 2, from, 8, 0, 0x45, 0,
        (FRAME - 10) >> 8, (FRAME - 10) & 0xff, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0,
        from, 10, 0, 0, to, 0x8c, 0xd1, 0x12, 0xb7, (FRAME - 30) >> 8,
        (FRAME - 30) & 0xff, 0, 0, 0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, seed, 0x80,
        1, 0, 0, 0, 0, 0, 1,
    };
    uint32_t sum = 0, i;

    memcpy(f, head, sizeof(head));
    for (i = 14; i < 34; i += 2) {
        sum += lduw_be_p(f + i);
    }
    stw_be_p(f + 24, ~((sum & 0xffff) + (sum >> 16)));
    for (i = 0; i < MAD; i++) {
        f[sizeof(head) + i] = seed + i * 3;
    }
}

static void post1(Gsi *g, uint8_t to, uint8_t seed)
{
    uint8_t frame[FRAME], wqe[64] = { [16] = CARD_SEND };
    QTestState *qts = g->c->q->qts;

    make(frame, g->c->host, to, seed);
    qtest_memwrite(qts, g->frame, frame, FRAME);
    stq_le_p(wqe + 4, g->frame);
    stl_le_p(wqe + 12, FRAME);
    qtest_memwrite(qts, g->sq + g->posted % DEPTH * 64, wqe, 64);
    put1(g, PG332_SQPI, ++g->posted);
}

static void wait1(Gsi *g, uint32_t reg, uint32_t value)
{
    qernic_wait_while(g->c->q->qts, get1(g, reg) != value);
}

/* Waits for datagram @n, counted from 1; it is the one that @from made of @seed. */
static void came(Gsi *g, uint32_t n, uint8_t from, uint8_t seed)
{
    uint8_t want[FRAME], slot[CARD_SLOT], zero[20] = { 0 };

    wait1(g, PG332_STATRQPIDB, n);
    g_assert_cmpuint(qtest_readl(g->c->q->qts, g->db + 4), ==, n);
    make(want, from, g->c->host, seed);
    qtest_memread(g->c->q->qts, g->rq + (n - 1) * CARD_SLOT, slot, sizeof(slot));
    g_assert_cmpmem(slot, 20, zero, 20);
    g_assert_cmpmem(slot + 32, 8, want + 26, 8);        /* addresses */
    g_assert_cmpmem(slot + MAD_AT - 20, 20 + MAD, want + 42, 20 + MAD);
    put1(g, PG332_RQCI, n);
}

WORLD_KINDS("/ernic-side/gsi-", test_gsi, Pair, p, open_pair,
             { "udp", VERSION("3.1") UDP }, { "netdev", VERSION("4.0") NETDEV },
             { "wire", VERSION("4.2") WIRE })
{
    Gsi g[2];

    for (int i = 0; i < 2; i++) {
        open1(&g[i], &p->c[i]);
    }
    for (int i = 0; i < 12; i++) {
        post1(&g[i & 1], 2 - (i & 1), i);
        came(&g[!(i & 1)], i / 2 + 1, 1 + (i & 1), i);
        wait1(&g[i & 1], PG332_CQHEAD, i / 2 + 1);
        g_assert_cmphex(card_get(&p->c[!(i & 1)], PG332_INTSTS) & PG332_INT_MAD, ==,
                        PG332_INT_MAD);
        card_put(&p->c[!(i & 1)], PG332_INTSTS, PG332_INT_MAD);
    }
    /* Connections still work. */
    card_transfers(&p->c[0], &p->c[1]);
    for (int i = 0; i < 2; i++) {
        g_assert_cmphex(card_get(&p->c[i], PG332_INAMPKTCNT) >> 16, ==, 6);
        g_assert_cmphex(card_get(&p->c[i], PG332_OUTAMPKTCNT) >> 16, ==, 6);
    }
    /* The destination does not exist: the request completes all the same. */
    post1(&g[0], 9, 1);
    wait1(&g[0], PG332_CQHEAD, 7);
}

typedef struct Side {
    Card *c;
    uint64_t ring, entries;
    uint32_t given;
} Side;

static void put_side(Card *c, uint32_t reg, uint32_t value)
{
    card_put_at(c, ernic_reg_window(c->version) + reg, value);
}

static uint32_t get_side(Card *c, uint32_t reg)
{
    return card_get_at(c, ernic_reg_window(c->version) + reg);
}

/* Starts the channel without a descriptor. */
static void listen_to(Side *s, Card *c, uint32_t threshold)
{
    uint8_t desc[64] = { [PG332_DESC_CONTROL] = 8 };

    *s = (Side) { .c = c };
    s->ring = qernic_zeroed(c->q, RING * 64);
    s->entries = qernic_zeroed(c->q, RING * 8);
    for (int i = 0; i < RING; i++) {
        stq_le_p(desc, s->ring + (i + 1) % RING * 64);
        stq_le_p(desc + 8, s->entries + i * 8);
        qtest_memwrite(c->q->qts, s->ring + i * 64, desc, sizeof(desc));
    }
    put_side(c, PG332_SIDE_CURDESC, s->ring);
    put_side(c, PG332_SIDE_CURDESC_MSB, s->ring >> 32);
    put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RUN | PG332_DMA_IRQS |
             threshold << PG332_DMACR_THRESHOLD_SHIFT);
}

static void give(Side *s, uint32_t n)
{
    s->given += n;
    put_side(s->c, PG332_SIDE_TAILDESC, s->ring + (s->given - 1) % RING * 64);
}

/* Waits for entry @n and checks it. */
static void entry(Side *s, uint32_t n, uint32_t imm, uint32_t type, uint32_t pi)
{
    QTestState *qts = s->c->q->qts;

    qernic_wait_while(s->c->q->qts,
                      !qtest_readl(qts, s->ring + n * 64 + PG332_DESC_STATUS));
    g_assert_cmphex(qtest_readl(qts, s->ring + n * 64 + PG332_DESC_STATUS), ==,
                    0x8c000008);
    g_assert_cmphex(qtest_readq(qts, s->entries + n * 8), ==, imm |
                    (uint64_t)(type | CARD_QPN << 8 | pi << 16) << 32);
}

static void post_imm(Card *c, uint8_t opcode, uint32_t imm)
{
    uint8_t wqe[64] = { [16] = opcode };

    stq_le_p(wqe + 4, c->mem);
    stl_le_p(wqe + 12, 64);
    stq_le_p(wqe + 20, CARD_VA + 0x8000);
    stl_le_p(wqe + 28, CARD_KEY);
    stl_le_p(wqe + 48, imm);
    qtest_memwrite(c->q->qts, c->sq + c->posted % CARD_DEPTH * 64, wqe, 64);
    card_put_qp(c, PG332_SQPI, ++c->posted);
}

static bool intx(Card *c)
{
    return qpci_config_readw(&c->q->dev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

static void pending(Card *c, uint16_t vector, bool is)
{
    qernic_wait_while(c->q->qts, is && !qpci_msix_pending(&c->q->dev, vector));
    g_assert(qpci_msix_pending(&c->q->dev, vector) == is);
}

/* Entries, their order, and their interrupt: an own vector, or the shared INTx. */
WORLD_KINDS("/ernic-side/stream-", test_stream, Pair, p, open_pair,
             { "udp", VERSION("4.2") UDP }, { "netdev", VERSION("4.2") NETDEV },
             { "wire", VERSION("4.2") WIRE })
{
    Side s;

    listen_to(&s, &p->c[1], 2);
    give(&s, 2);
    card_put(&p->c[1], PG332_INTEN, 0);
    qpci_msix_enable(&p->q[1]->dev);
    post_imm(&p->c[0], CARD_SEND_IMM, 0x11223344);
    card_wait(&p->c[0], PG332_CQHEAD, 1);
    entry(&s, 0, 0x11223344, PG332_SIDE_SEND_IMM, 1);
    pending(&p->c[1], SIDE_VECTOR, false);               /* threshold is 2 */
    post_imm(&p->c[0], CARD_WRITE_IMM, 0xaabbccdd);
    pending(&p->c[1], SIDE_VECTOR, true);
    entry(&s, 1, 0xaabbccdd, PG332_SIDE_WRITE_IMM, 1);
    pending(&p->c[1], CARD_VECTOR, false);
    g_assert(!intx(&p->c[1]));
    qpci_msix_disable(&p->q[1]->dev);
    g_assert(intx(&p->c[1]));
    g_assert_cmphex(get_side(&p->c[1], PG332_SIDE_DMASR) & PG332_DMA_IRQS, ==,
                    PG332_DMA_IOC_IRQ);
    put_side(&p->c[1], PG332_SIDE_DMASR, PG332_DMA_IRQS);
    g_assert(!intx(&p->c[1]));
    /* Without a descriptor, the entry waits for the next one. */
    post_imm(&p->c[0], CARD_WRITE_IMM, 0x55);
    card_wait(&p->c[0], PG332_CQHEAD, 3);
    g_assert_cmpuint(get_side(&p->c[1], PG332_SIDE_WAITING), ==, 1);
    give(&s, 1);
    entry(&s, 2, 0x55, PG332_SIDE_WRITE_IMM, 1);
}

typedef struct Flow {
    QErnic *q;
    Card c;
    Side s;
    Gsi g;
} Flow;

static void open_flow(Flow *f, const char *version)
{
    f->q = qernic_device(",roce-udp=127.0.0.1:0,ernic-version=%s", version);
    card_open(&f->c, f->q, card_version(version), 1);
    card_open_qp(&f->c, 1, CARD_QPN);                   /* to itself */
    open1(&f->g, &f->c);
    listen_to(&f->s, &f->c, 1);
}

/*
 * Leaves entries waiting and a cause set, then posts many WRITEs and a datagram. When
 * the machine stops, few or none of them have been sent.
 */
static void begin_flow(Flow *f)
{
    for (uint32_t i = 0; i < 3; i++) {
        post_imm(&f->c, CARD_WRITE_IMM, 0x100 + i);
    }
    card_wait(&f->c, PG332_CQHEAD, 3);
    g_assert_cmpuint(get_side(&f->c, PG332_SIDE_WAITING), ==, 3);
    card_pattern(f->q->qts, f->c.mem, CARD_LENGTH, 7);
    for (uint32_t i = 0; i < 40; i++) {
        card_post(&f->c, CARD_WRITE, 0, CARD_LENGTH, CARD_VA + 0x10000, CARD_KEY);
    }
    post1(&f->g, 1, 77);
}

static void end_flow(Flow *f)
{
    g_assert_cmpuint(get_side(&f->c, PG332_SIDE_WAITING), ==, 3);
    give(&f->s, RING);
    for (uint32_t i = 0; i < 3; i++) {
        entry(&f->s, i, 0x100 + i, PG332_SIDE_WRITE_IMM, 0);
    }
    card_wait(&f->c, PG332_CQHEAD, f->c.posted);
    card_same(f->q->qts, f->c.mem, f->c.mem + 0x10000, CARD_LENGTH);
    came(&f->g, 1, 1, 77);
    post_imm(&f->c, CARD_SEND_IMM, 0x200);
    entry(&f->s, 3, 0x200, PG332_SIDE_SEND_IMM, 1);
    g_assert_cmphex(card_get_qp(&f->c, PG332_STATQP) & PG332_STATQP_FATAL, ==, 0);
}

MACHINE_KINDS("/ernic-side/migrate-", test_migrate, VERSIONS)
{
    g_autofree char *version = g_strconcat(",ernic-version=", more, NULL);
    QTestState *from;
    Flow f;

    open_flow(&f, more);
    begin_flow(&f);
    g_assert(intx(&f.c));
    from = qernic_migrate_to(f.q, version);
    g_assert(intx(&f.c));
    end_flow(&f);
    card_put(&f.c, PG332_INTSTS, PG332_INT_ALL);
    g_assert(intx(&f.c));                               /* for the entries */
    put_side(&f.c, PG332_SIDE_DMASR, PG332_DMA_IRQS);
    g_assert(!intx(&f.c));
    qernic_migrate_end(f.q, from);
}

/* Pending bits of masked vectors migrate; unmasking sends the messages. */
MACHINE_KINDS("/ernic-side/migrate-msix-", test_migrate_msix, VERSIONS)
{
    g_autofree char *version = g_strconcat(",ernic-version=", more, NULL);
    QPCIDevice *dev;
    QTestState *from;
    uint64_t message;
    Flow f;

    open_flow(&f, more);
    dev = &f.q->dev;
    qpci_msix_enable(dev);
    message = qernic_zeroed(f.c.q, 4096);
    give(&f.s, 1);
    post_imm(&f.c, CARD_WRITE_IMM, 0x99);
    pending(&f.c, CARD_VECTOR, true);
    pending(&f.c, SIDE_VECTOR, true);
    from = qernic_migrate_to(f.q, version);
    g_assert(!intx(&f.c));
    for (uint64_t at = SIDE_VECTOR; at <= CARD_VECTOR; at++) {
        pending(&f.c, at, true);
        qernic_aim(dev, at, message + at * 4, at);
        g_assert_cmphex(qtest_readl(f.q->qts, message + at * 4), ==, at);
        pending(&f.c, at, false);
    }
    entry(&f.s, 0, 0x99, PG332_SIDE_WRITE_IMM, 0);
    g_assert_cmphex(card_get(&f.c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
    qernic_migrate_end(f.q, from);
    qpci_msix_disable(dev);
}
