/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The side stream of the ERNIC interface with its interrupt, and migration while it has
 * work, with INTx and with MSI-X.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-card.h"

#define SIDE_VECTOR (CARD_VECTOR - 1)
#define RING        8               /* descriptors */

#define VERSIONS    { "3.1", "3.1" }, { "4.0", "4.0" }, { "4.2", "4.2" }

typedef struct Side {
    Card *c;
    uint64_t ring, entries;
    uint32_t given;
} Side;

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
    card_put_side(c, PG332_SIDE_CURDESC, s->ring);
    card_put_side(c, PG332_SIDE_CURDESC_MSB, s->ring >> 32);
    card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RUN | PG332_DMA_IRQS |
             threshold << PG332_DMACR_THRESHOLD_SHIFT);
}

static void give(Side *s, uint32_t n)
{
    s->given += n;
    card_put_side(s->c, PG332_SIDE_TAILDESC, s->ring + (s->given - 1) % RING * 64);
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
    card_request(c, opcode, 0, 64, CARD_VA + 0x8000, CARD_KEY, imm);
    card_put_qp(c, PG332_SQPI, c->posted);
}

static void pending(Card *c, uint16_t vector, bool is)
{
    qernic_wait_while(c->q->qts, is && !qpci_msix_pending(&c->q->dev, vector));
    g_assert(qpci_msix_pending(&c->q->dev, vector) == is);
}

typedef struct Flow {
    QErnic *q;
    Card c;
    Side s;
} Flow;

static void open_flow(Flow *f, const char *version)
{
    f->q = qernic_device(",roce-udp=127.0.0.1:0,ernic-version=%s", version);
    card_open(&f->c, f->q, card_version(version), 1);
    card_open_qp(&f->c, 1, CARD_QPN);                   /* to itself */
}

/* Entries, their order, and their interrupt: an own vector, or the shared INTx. */
WORLD_KINDS("/ernic-side/stream-", test_stream, Flow, f, open_flow, VERSIONS)
{
    Card *c = &f->c;

    listen_to(&f->s, c, 2);
    give(&f->s, 2);
    card_put(c, PG332_INTEN, 0);
    qpci_msix_enable(&f->q->dev);
    post_imm(c, CARD_SEND_IMM, 0x11223344);
    card_wait(c, PG332_CQHEAD, 1);
    entry(&f->s, 0, 0x11223344, PG332_SIDE_SEND_IMM, 1);
    pending(c, SIDE_VECTOR, false);                     /* threshold is 2 */
    post_imm(c, CARD_WRITE_IMM, 0xaabbccdd);
    pending(c, SIDE_VECTOR, true);
    entry(&f->s, 1, 0xaabbccdd, PG332_SIDE_WRITE_IMM, 1);
    pending(c, CARD_VECTOR, false);
    g_assert(!card_intx(c));
    qpci_msix_disable(&f->q->dev);
    g_assert(card_intx(c));
    g_assert_cmphex(card_get_side(c, PG332_SIDE_DMASR) & PG332_DMA_IRQS, ==,
                    PG332_DMA_IOC_IRQ);
    card_put_side(c, PG332_SIDE_DMASR, PG332_DMA_IRQS);
    g_assert(!card_intx(c));
    /* Without a descriptor, the entry waits for the next one. */
    post_imm(c, CARD_WRITE_IMM, 0x55);
    card_wait(c, PG332_CQHEAD, 3);
    g_assert_cmpuint(card_get_side(c, PG332_SIDE_WAITING), ==, 1);
    give(&f->s, 1);
    entry(&f->s, 2, 0x55, PG332_SIDE_WRITE_IMM, 1);
}

/*
 * Leaves entries waiting and a cause set, then posts many WRITEs. When the machine stops,
 * few or none of them have been sent.
 */
static void begin_flow(Flow *f)
{
    for (uint32_t i = 0; i < 3; i++) {
        post_imm(&f->c, CARD_WRITE_IMM, 0x100 + i);
    }
    card_wait(&f->c, PG332_CQHEAD, 3);
    g_assert_cmpuint(card_get_side(&f->c, PG332_SIDE_WAITING), ==, 3);
    card_pattern(f->q->qts, f->c.mem, CARD_LENGTH, 7);
    for (uint32_t i = 0; i < 40; i++) {
        card_post(&f->c, CARD_WRITE, 0, CARD_LENGTH, CARD_VA + 0x10000, CARD_KEY);
    }
}

static void end_flow(Flow *f)
{
    g_assert_cmpuint(card_get_side(&f->c, PG332_SIDE_WAITING), ==, 3);
    give(&f->s, RING);
    for (uint32_t i = 0; i < 3; i++) {
        entry(&f->s, i, 0x100 + i, PG332_SIDE_WRITE_IMM, 0);
    }
    card_wait(&f->c, PG332_CQHEAD, f->c.posted);
    card_same(f->q->qts, f->c.mem, f->c.mem + 0x10000, CARD_LENGTH);
    post_imm(&f->c, CARD_SEND_IMM, 0x200);
    entry(&f->s, 3, 0x200, PG332_SIDE_SEND_IMM, 1);
    g_assert_cmphex(card_get_qp(&f->c, PG332_STATQP) & PG332_STATQP_FATAL, ==, 0);
}

MACHINE_KINDS("/ernic-side/migrate-", test_migrate, VERSIONS)
{
    g_autofree char *version = g_strconcat(",ernic-version=", more, NULL);
    Flow f;

    open_flow(&f, more);
    listen_to(&f.s, &f.c, 1);
    begin_flow(&f);
    g_assert(card_intx(&f.c));
    qernic_migrate(f.q, version);
    g_assert(card_intx(&f.c));
    end_flow(&f);
    card_put(&f.c, PG332_INTSTS, PG332_INT_ALL);
    g_assert(card_intx(&f.c));                          /* for the entries */
    card_put_side(&f.c, PG332_SIDE_DMASR, PG332_DMA_IRQS);
    g_assert(!card_intx(&f.c));
}

/* Pending bits of masked vectors migrate; unmasking sends the messages. */
MACHINE_KINDS("/ernic-side/migrate-msix-", test_migrate_msix, VERSIONS)
{
    g_autofree char *version = g_strconcat(",ernic-version=", more, NULL);
    QPCIDevice *dev;
    uint64_t message;
    Flow f;

    open_flow(&f, more);
    listen_to(&f.s, &f.c, 1);
    dev = &f.q->dev;
    qpci_msix_enable(dev);
    message = qernic_zeroed(f.c.q, 4096);
    give(&f.s, 1);
    post_imm(&f.c, CARD_WRITE_IMM, 0x99);
    pending(&f.c, CARD_VECTOR, true);
    pending(&f.c, SIDE_VECTOR, true);
    qernic_migrate(f.q, version);
    g_assert(!card_intx(&f.c));
    for (uint64_t at = SIDE_VECTOR; at <= CARD_VECTOR; at++) {
        pending(&f.c, at, true);
        qernic_aim(dev, at, message + at * 4, at);
        g_assert_cmphex(qtest_readl(f.q->qts, message + at * 4), ==, at);
        pending(&f.c, at, false);
    }
    entry(&f.s, 0, 0x99, PG332_SIDE_WRITE_IMM, 0);
    g_assert_cmphex(card_get(&f.c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
}
