/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface in BAR 0: registers, and a driver that sets up two devices in the
 * order of RecoNIC's library, moves data, and takes the queue pairs down.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

/* A machine with the card ernic0 and further devices. */
static QErnic *start(const char *version, const char *more)
{
    return qernic_device(",roce-udp=127.0.0.1:0%s -global ernic.ernic-version=%s", more,
                         version);
}

/* A card that is connected to itself. */
static void start_card(Card *c, const char *version)
{
    card_open(c, start(version, ""), card_version(version), 1);
    card_open_qp(c, 1, CARD_QPN);
}

#define V3_1        { "-3.1", "3.1" }
#define V4_0        { "-4.0", "4.0" }
#define V4_2        { "-4.2", "4.2" }
#define ANY         V3_1, V4_0, V4_2
#define ERNIC1      VERBS_NIC ",id=ernic1,addr=05.0,roce-udp=127.0.0.1:0"

/*
 * Each register of a region, as the table says it is after a reset. A 64-bit write covers
 * two registers; a shorter write than 32 bits is ignored.
 */
MACHINE_KINDS("/ernic-pg332-registers", test_registers, ANY)
{
    unsigned version = card_version(more);
    ErnicRegFile *rf = ernic_regfile_new(version, 32);
    Card c = { .q = start(more, ""), .version = version };
    uint32_t global = card_at(&c, ERNIC_REG_GLOBAL, 0, 0), off;

    c.bar = qpci_iomap(&c.q->dev, ERNIC_BAR_PG332, NULL);
    g_assert_cmphex(qpci_config_readl(&c.q->dev, PCI_BASE_ADDRESS_0) &
                    PCI_BASE_ADDRESS_MEM_TYPE_MASK, ==, PCI_BASE_ADDRESS_MEM_TYPE_64);
    for (off = global; off < global + 0x200; off += 4) {
        g_assert_cmphex(card_get_at(&c, off), ==, ernic_regfile_read(rf, off));
    }
    off = PG332_SLOT + PG332_VIRTADDRLSB;
    qpci_io_writeq(&c.q->dev, c.bar, card_at(&c, ERNIC_REG_REGION, 1,
                                             PG332_VIRTADDRLSB), 0x1122334455667788);
    g_assert_cmphex(card_get_at(&c, off), ==, 0x55667788);
    g_assert_cmphex(card_get_at(&c, PG332_SLOT + PG332_VIRTADDRMSB), ==, 0x11223344);
    qpci_io_writew(&c.q->dev, c.bar, off, 0);
    g_assert_cmphex(card_get_at(&c, off), ==, 0x55667788);
    ernic_regfile_free(rf);
}

static void transfer(QErnic *q, QErnic *other, unsigned version)
{
    Card a, b;

    card_open(&a, q, version, 1);
    card_open(&b, other, version, 2);
    for (int i = 0; i < 2; i++) {       /* set up twice, to test taking down */
        card_open_qp(&a, 2, CARD_QPN);
        card_open_qp(&b, 1, CARD_QPN);
        card_transfers(&a, &b);
        card_transfers(&b, &a);
        card_transfers(&a, &b);
        g_assert_cmphex(card_get(&a, PG332_INTSTS), ==,
                        PG332_INT_COMPLETION | PG332_INT_RECEIVE);
        card_close_qp(&a);
        card_close_qp(&b);
    }
    card_put(&a, PG332_XRNICCONF, 0);
    card_put(&b, PG332_XRNICCONF, 0);
}

static void transfer_to_ernic1(const char *version, const char *more)
{
    QErnic *q = start(version, more);

    card_introduce(q);
    transfer(q, qernic_beside(q, "ernic1", 5), card_version(version));
}

MACHINE_KINDS("/ernic-pg332-transfer", test_transfer, ANY)
{
    transfer_to_ernic1(more, ERNIC1);
}

MACHINE_KINDS("/ernic-pg332-transfer-iothread", test_transfer_iothread, V3_1)
{
    transfer_to_ernic1(more, ERNIC1 ",iothread=io0");
}

MACHINE_KINDS("/ernic-pg332-wire", test_wire, ANY)
{
    QErnic *q = start(more, " -device ernic-wire,id=w0"
                      VERBS_NIC ",id=net0,addr=06.0,wire=w0"
                      VERBS_NIC ",id=net1,addr=07.0,wire=w0");

    transfer(qernic_beside(q, "net0", 6), qernic_beside(q, "net1", 7),
             card_version(more));
}

/* The interrupt is an MSI-X message of the device's last vector. */
WORLD_KINDS("/ernic-pg332-interrupt", test_interrupt, Card, c, start_card, V3_1, V4_2)
{
    QErnic *q = c->q;

    qpci_msix_enable(&q->dev);
    card_post(c, CARD_WRITE, 0, 100, CARD_VA + 0x1000, CARD_KEY);
    qernic_wait_while(q->qts, !qpci_msix_pending(&q->dev, CARD_VECTOR));
    card_done(c, CARD_WRITE);
    g_assert_cmphex(card_get(c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
    g_assert_cmphex(card_get(c, c->version == PG332_V3_1 ? PG332_V3_CQINTSTS :
                        PG332_V4_CQINTSTS), ==, 1 << CARD_QPN);
    card_put(c, PG332_INTSTS, PG332_INT_COMPLETION);
    g_assert_cmphex(card_get(c, PG332_INTSTS), ==, 0);
    qpci_msix_disable(&q->dev);
}

/* One that is due while bus mastering is off follows when it is on again. */
WORLD_KINDS("/ernic-pg332-no-master", test_no_master, Card, c, start_card, V3_1, V4_2)
{
    QErnic *q = c->q;

    card_put(c, PG332_INTEN, 0);
    card_post(c, CARD_WRITE, 0, 100, CARD_VA + 0x1000, CARD_KEY);
    card_done(c, CARD_WRITE);
    qpci_msix_enable(&q->dev);
    qtest_writel(q->qts, q->scratch, 0);
    qernic_aim(&q->dev, CARD_VECTOR, q->scratch, 7);
    qernic_set_master(&q->dev, false);
    card_put(c, PG332_INTEN, PG332_INT_COMPLETION);
    qernic_pass(q->qts, 20, 1000);
    g_assert_cmphex(qtest_readl(q->qts, q->scratch), ==, 0);
    qernic_set_master(&q->dev, true);
    qernic_wait_while(q->qts, qtest_readl(q->qts, q->scratch) != 7);
    qpci_msix_disable(&q->dev);
}

/* Without MSI-X, INTx always follows INTSTS and INTEN. */
WORLD_KINDS("/ernic-pg332-intx", test_intx, Card, c, start_card, V4_2)
{
    QErnic *q = c->q;

    g_assert_cmpuint(qpci_config_readb(&q->dev, PCI_INTERRUPT_PIN), ==, 1);
    g_assert(!card_intx(c));
    card_post(c, CARD_WRITE, 0, 100, CARD_VA + 0x1000, CARD_KEY);
    card_done(c, CARD_WRITE);
    g_assert(card_intx(c));
    card_put(c, PG332_INTSTS, PG332_INT_RECEIVE);   /* another cause */
    g_assert(card_intx(c));
    card_put(c, PG332_INTSTS, PG332_INT_COMPLETION);
    g_assert(!card_intx(c));
    card_put(c, PG332_INTEN, 0);
    card_post(c, CARD_WRITE, 0, 100, CARD_VA + 0x1000, CARD_KEY);
    card_done(c, CARD_WRITE);
    g_assert(!card_intx(c));
    card_put(c, PG332_INTEN, 0xff);
    g_assert(card_intx(c));
    qpci_msix_enable(&q->dev);
    g_assert(!card_intx(c));
    qpci_msix_disable(&q->dev);
    g_assert(card_intx(c));
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);    /* the other interface's */
    g_assert(card_intx(c));
    qernic_flr(&q->dev);
    g_assert(!card_intx(c));
}

/*
 * One long store, from INTEN to the control register of the verbs interface: it enables
 * an interrupt at its beginning, which the reset at its end must not discard.
 */
WORLD_KINDS("/ernic-pg332-interrupt-reset", test_interrupt_reset, Card, c, start_card,
            V3_1)
{
    QErnic *q = c->q;
    uint64_t from, end;
    g_autofree uint8_t *bytes = NULL;

    end = q->bar.addr;
    qernic_place(&q->dev, &c->bar, ERNIC_BAR_PG332,
                 end - 2 * ernic_reg_window(c->version));       /* the size of BAR 0 */
    qpci_msix_enable(&q->dev);
    card_put(c, PG332_INTEN, 0);
    card_post(c, CARD_WRITE, 0, 100, CARD_VA + 0x1000, CARD_KEY);
    card_done(c, CARD_WRITE);
    from = c->bar.addr + card_at(c, ERNIC_REG_GLOBAL, 0, PG332_INTEN);
    end += offsetof(struct ernic_regs, control) + 4;
    bytes = g_malloc(end - from);
    qtest_memread(q->qts, from, bytes, end - from);
    stl_le_p(bytes, 0xff);
    stl_le_p(bytes + PG332_INTSTS - PG332_INTEN, 0);
    stl_le_p(bytes + (end - from) - 4, ERNIC_CONTROL_RESET);
    qtest_memwrite(q->qts, from, bytes, end - from);
    qernic_wait_while(q->qts, !qpci_msix_pending(&q->dev, CARD_VECTOR));
    g_assert_cmphex(card_get(c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
    qpci_msix_disable(&q->dev);
}

/*
 * Connects the card's queue pair to @v of 10.0.0.@peer. The path MTU and the sequence
 * numbers are those of qernic_qp_connect().
 */
static void open_qp_to(Card *c, uint8_t peer, const QErnicQp *v)
{
    card_open_qp(c, peer, v->qpn);
    card_put_qp(c, PG332_QPCONF, 0);
    card_put_qp(c, PG332_LSTRQREQ, 0x0a000fff + v->qpn);
    card_put_qp(c, PG332_SQPSN, 0x1000 + CARD_QPN);
    card_put_qp(c, PG332_QPCONF, (CARD_QPCONF & 0xf8ff) | 2 << 8 |
                (CARD_SLOT / 256) << 16);
}

/* Opens a card, 10.0.0.@host, and connects it to a new queue pair @v of @verbs. */
static void open_to_verbs(Card *c, QErnic *q, const char *version, uint8_t host,
                          QErnic *verbs, QErnicQp *v)
{
    QErnic self = *verbs;
    QErnicQp peer = { .q = &self, .qpn = CARD_QPN };

    self.gid[15] = host;
    card_open(c, q, card_version(version), host);
    qernic_qp_create(verbs, v, ERNIC_QPT_RC);
    qernic_qp_connect(v, &peer);
    open_qp_to(c, verbs->gid[15], v);
}

/*
 * The verbs interface and the ERNIC interface of one function exchange data without a
 * link.
 */
MACHINE_KINDS("/ernic-pg332-interfaces", test_interfaces, V4_0)
{
    QErnic *q = start(more, "");
    QErnicQp v;
    Card c;

    qernic_setup(q, 1);
    open_to_verbs(&c, q, more, 2, q, &v);
    for (uint32_t i = 0; i < 4; i++) {
        card_pattern(q->qts, c.mem, CARD_LENGTH, 50 + i);
        card_post(&c, CARD_WRITE, 0, CARD_LENGTH, q->buf, q->key);
        qernic_post_write(&v, 0x8000, 0x4000, CARD_VA + 0x10000, CARD_KEY);
        card_done(&c, CARD_WRITE);
        card_same(q->qts, c.mem, q->buf, CARD_LENGTH);
        qernic_done(&v);
        card_same(q->qts, c.mem + 0x10000, q->buf + 0x8000, 0x4000);
        card_post(&c, CARD_READ, 0x8000, CARD_LENGTH, q->buf, q->key);
        card_done(&c, CARD_READ);
        card_same(q->qts, c.mem, c.mem + 0x8000, CARD_LENGTH);
    }
    /* Each interface has its own counters. */
    g_assert_cmpuint(qernic_stat(q, "pg332.tx_messages"), ==, 8);
    g_assert_cmpuint(qernic_stat(q, "tx_messages"), ==, 4);
    g_assert_cmpuint(qernic_stat(q, "pg332.drops.bad_icrc"), ==, 0);
    g_assert_cmpuint(qernic_stat(q, "pg332.faults.rnr"), ==, 0);
}

/*
 * Both interfaces of one device have the number of a queue pair in use, and the device's
 * socket has an address of each: the address chooses the interface, packet by packet.
 */
MACHINE_KINDS("/ernic-pg332-one-socket", test_one_socket, V4_0)
{
    QErnic *q = start(more, ERNIC1), *other = qernic_beside(q, "ernic1", 5);
    QErnicQp near, far, far_to_card;
    Card c;

    card_introduce(q);
    card_locate(q, 3, 0);
    qernic_setup(q, 1);
    qernic_setup(other, 2);
    qernic_pair(q, other, &near, &far, ERNIC_QPT_RC);
    g_assert_cmpuint(near.qpn, ==, CARD_QPN);
    open_to_verbs(&c, q, more, 3, other, &far_to_card);
    for (uint32_t i = 0; i < 4; i++) {
        card_pattern(q->qts, other->buf, 0x8000, 90 + i);
        qernic_post_write(&far, 0, 0x4000, q->buf + 0x8000, q->key);
        qernic_post_write(&far_to_card, 0x4000, 0x4000, CARD_VA + 0x10000, CARD_KEY);
        qernic_done(&far);
        qernic_done(&far_to_card);
        card_same(q->qts, q->buf + 0x8000, other->buf, 0x4000);
        card_same(q->qts, c.mem + 0x10000, other->buf + 0x4000, 0x4000);
    }
    g_assert_cmpuint(qernic_stat(q, "drops.address"), ==, 0);
    g_assert_cmpuint(qernic_stat(q, "pg332.drops.address"), ==, 0);
}

/* A function level reset clears all registers. */
WORLD_KINDS("/ernic-pg332-flr", test_flr, Card, c, start_card, V3_1)
{
    QErnic *q = c->q;

    card_post(c, CARD_SEND, 0, 100, 0, 0);
    card_done(c, CARD_SEND);
    card_post(c, CARD_SEND, 0, 100, 0, 0);
    qernic_flr(&q->dev);
    c->bar = qpci_iomap(&q->dev, ERNIC_BAR_PG332, NULL);
    qpci_device_enable(&q->dev);
    g_assert_cmphex(card_get(c, PG332_XRNICCONF), ==, 0);
    g_assert_cmphex(card_get_qp(c, PG332_CQHEAD), ==, 0);
    g_assert_cmphex(card_get_qp(c, PG332_STATQP), ==, 0x600);
    /* The device works afterwards. */
    card_open(c, q, c->version, 1);
    card_open_qp(c, 1, CARD_QPN);
    card_transfers(c, c);
}

/* Fills the receive queue, and sends one more message, which has to wait. */
static void fill(Card *c)
{
    /* Retry without limit after RNR NAKs, every 10 us. */
    card_put_qp(c, PG332_TIMEOUTCONF, 1 << 16 | 7 << 11);
    while (c->posted < CARD_DEPTH) {
        card_post(c, CARD_SEND, 0, 64, 0, 0);
        card_done(c, CARD_SEND);
    }
    card_post(c, CARD_SEND, 0, 64, 0, 0);                     /* the index wraps to 1 */
    qernic_wait_while(c->q->qts, !(card_get(c, PG332_INTSTS) & PG332_INT_RNR));
    g_assert_cmpuint(card_get_qp(c, PG332_CQHEAD), ==, CARD_DEPTH);
}

/* Migrates while a message waits for a buffer; it arrives after the migration. */
MACHINE_KINDS("/ernic-pg332-migrate", test_migrate, V3_1, V4_0)
{
    g_autofree char *version = g_strconcat(",ernic-version=", more, NULL);
    QErnic *q = start(more, "");
    uint32_t regs[64];
    Card c;

    card_open(&c, q, card_version(more), 1);
    card_open_qp(&c, 1, CARD_QPN);
    fill(&c);
    for (uint32_t off = 0; off < sizeof(regs); off += 4) {
        regs[off / 4] = card_get_qp(&c, off);
    }
    qernic_migrate(q, version);
    for (uint32_t off = 0; off < sizeof(regs); off += 4) {
        g_assert_cmphex(card_get_qp(&c, off), ==, regs[off / 4]);
    }
    card_put_qp(&c, PG332_RQCI, CARD_DEPTH);
    card_wait(&c, PG332_CQHEAD, 1);
    g_assert_cmpuint(card_get_qp(&c, PG332_STATRQPIDB), ==, 1);
}
