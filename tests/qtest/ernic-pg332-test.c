/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC face in BAR 0: its registers in every version, and software that
 * sets two devices up in the order of RecoNIC's library, moves data, and takes
 * its queue pairs down again.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "hw/rdma-ernic/core/regfile.h"
#include "ernic.h"

#define QPN         2
#define DEPTH       64
#define SLOT_BYTES  512
#define REGION      0
#define KEY         8               /* RecoNIC's: number 0, byte 8 */
#define VA          0x7f0012340000ull
#define MEM         (128 * 1024)
#define VECTOR      16              /* the last of 17 */
#define LENGTH      (16 * 1024)
#define QPCONF      0x0200043d

enum { WRITE = 0, SEND = 2, READ = 4 };

/* One device, driven through BAR 0. */
typedef struct Card {
    QErnic *q;
    QPCIBar bar;
    unsigned version;
    uint8_t host;               /* 10.0.0.host */
    uint64_t sq, cq, rq, db, mem, errq;
    uint32_t posted, received;
} Card;

static uint32_t at(const Card *c, ErnicRegScope scope, uint32_t element,
                   uint32_t reg)
{
    return ernic_reg_blocks[c->version][scope].base + element * PG332_SLOT + reg;
}

static void put_at(Card *c, uint32_t off, uint32_t value)
{
    qpci_io_writel(&c->q->dev, c->bar, off, value);
}

static uint32_t get_at(Card *c, uint32_t off)
{
    return qpci_io_readl(&c->q->dev, c->bar, off);
}

static void put(Card *c, uint32_t reg, uint32_t value)
{
    put_at(c, at(c, ERNIC_REG_GLOBAL, 0, reg), value);
}

static uint32_t get(Card *c, uint32_t reg)
{
    return get_at(c, at(c, ERNIC_REG_GLOBAL, 0, reg));
}

static void put_qp(Card *c, uint32_t reg, uint32_t value)
{
    put_at(c, at(c, ERNIC_REG_QP, QPN - 1, reg), value);
}

static uint32_t get_qp(Card *c, uint32_t reg)
{
    return get_at(c, at(c, ERNIC_REG_QP, QPN - 1, reg));
}

static void put_region(Card *c, uint32_t reg, uint32_t value)
{
    put_at(c, at(c, ERNIC_REG_REGION, REGION, reg), value);
}

/* ---- set-up, in RecoNIC's order ------------------------------------------- */

static uint64_t zeroed(Card *c, size_t bytes)
{
    uint64_t addr = guest_alloc(c->q->alloc, bytes);

    qtest_memset(c->q->qts, addr, 0, bytes);
    return addr;
}

static void open_card(Card *c)
{
    bool v3 = c->version == PG332_V3_1;

    c->errq = zeroed(c, 4096);
    put(c, PG332_DATBUFSZ, 0x10001000);
    put(c, PG332_IPKTERRQBA, c->errq);
    put(c, PG332_IPKTERRQBAMSB, c->errq >> 32);
    put(c, PG332_IPKTERRQSZ, 64);
    put(c, PG332_ERRBUFSZ, 0x01000100);
    put(c, PG332_RESPERRSZ, 0x10000);
    put(c, PG332_INTEN, 0xff);
    put(c, PG332_MACXADDLSB, 0x35010200 + c->host);
    put(c, PG332_MACXADDMSB, 0x000a);
    put(c, PG332_IPv4XADD, 0x0a000000 + c->host);
    put(c, PG332_XRNICCONF, v3 ? 22222u << 16 | 0x0821 : 22222u << 8 | 0x21);
    put(c, PG332_XRNICADCONF, 0x000a0004);
    if (!v3) {
        put(c, PG332_XRNIC_CONF_QP_EN, 8);
    }
}

static void open_region(Card *c)
{
    put_region(c, PG332_PDPDNUM, 0);
    put_region(c, PG332_VIRTADDRLSB, (uint32_t)VA);
    put_region(c, PG332_VIRTADDRMSB, VA >> 32);
    put_region(c, PG332_BUFBASEADDRLSB, c->mem);
    put_region(c, PG332_BUFBASEADDRMSB, c->mem >> 32);
    put_region(c, PG332_BUFRKEY, KEY);
    put_region(c, PG332_WRRDBUFLEN, MEM);
    put_region(c, PG332_ACCESSDESC, PG332_ACCESS_READ_WRITE);
}

static void put_pair(Card *c, uint32_t low, uint32_t high, uint64_t addr)
{
    put_qp(c, low, addr);
    put_qp(c, high, addr >> 32);
}

static void open_qp(Card *c, uint8_t peer, uint32_t peer_qpn)
{
    put_qp(c, PG332_IPDESADDR1, 0x0a000000 + peer);
    put_qp(c, PG332_MACDESADDLSB, 0x35010200 + peer);
    put_qp(c, PG332_MACDESADDMSB, 0x000a);
    put_pair(c, PG332_SQBA, PG332_SQBAMSB, c->sq);
    put_pair(c, PG332_CQBA, PG332_CQBAMSB, c->cq);
    put_pair(c, PG332_RQBA, PG332_RQBAMSB, c->rq);
    put_pair(c, PG332_CQDBADD, PG332_CQDBADDMSB, c->db);
    put_pair(c, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, c->db + 4);
    put_qp(c, PG332_DESTQPCONF, peer_qpn);
    put_qp(c, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    put_qp(c, PG332_QPCONF, (QPCONF & 0xffff) | (SLOT_BYTES / 256) << 16);
    put_qp(c, PG332_QPADVCONF, 0xffff4000);
    put_qp(c, PG332_PD, 0);
    put_qp(c, PG332_LSTRQREQ, 0x0a000abc);
    put_qp(c, PG332_SQPSN, 0xabd);
}

static void open_one(Card *c, QErnic *q, unsigned version, uint8_t host)
{
    *c = (Card) { .q = q, .version = version, .host = host };
    c->bar = qpci_iomap(&q->dev, ERNIC_BAR_PG332, NULL);
    c->sq = zeroed(c, DEPTH * 64);
    c->cq = zeroed(c, 4096);
    c->rq = zeroed(c, DEPTH * SLOT_BYTES);
    c->db = zeroed(c, 4096);
    c->mem = zeroed(c, MEM);
    open_card(c);
    open_region(c);
}

/* ---- work ----------------------------------------------------------------- */

static void post(Card *c, uint8_t opcode, uint64_t at, uint32_t len,
                 uint64_t raddr, uint32_t rkey)
{
    uint8_t wqe[64] = { [16] = opcode };

    stw_le_p(wqe, c->posted);
    stq_le_p(wqe + 4, c->mem + at);
    stl_le_p(wqe + 12, len);
    stq_le_p(wqe + 20, raddr);
    stl_le_p(wqe + 28, rkey);
    qtest_memwrite(c->q->qts, c->sq + c->posted % DEPTH * 64, wqe, 64);
    put_qp(c, PG332_SQPI, ++c->posted);
}

static void wait_for(Card *c, uint32_t reg, uint32_t value)
{
    uint64_t deadline = 0;

    while (get_qp(c, reg) != value) {
        qernic_wait(c->q, &deadline);
    }
}

/* The last request is complete, and memory says so too. */
static void done(Card *c, uint8_t opcode)
{
    wait_for(c, PG332_CQHEAD, c->posted);
    g_assert_cmpuint(qtest_readl(c->q->qts, c->db), ==, c->posted);
    g_assert_cmphex(qtest_readl(c->q->qts, c->cq + (c->posted - 1) * 4), ==,
                    opcode << 16 | (c->posted - 1));
}

static void pattern(QTestState *qts, uint64_t addr, uint32_t len, uint8_t seed)
{
    g_autofree uint8_t *bytes = g_malloc(len);
    uint32_t i;

    for (i = 0; i < len; i++) {
        bytes[i] = seed + i * 7 + (i >> 8);
    }
    qtest_memwrite(qts, addr, bytes, len);
}

static void same(QTestState *qts, uint64_t a, uint64_t b, uint32_t len)
{
    g_autofree uint8_t *x = g_malloc(len), *y = g_malloc(len);

    qtest_memread(qts, a, x, len);
    qtest_memread(qts, b, y, len);
    g_assert_cmpmem(x, len, y, len);
}

/* SEND, WRITE and READ by @a; @b has part in none of them. */
static void transfers(Card *a, Card *b)
{
    QTestState *qts = a->q->qts;

    pattern(qts, a->mem, LENGTH, a->host);
    post(a, SEND, 0, 500, 0, 0);
    done(a, SEND);
    wait_for(b, PG332_STATRQPIDB, ++b->received);
    g_assert_cmpuint(qtest_readl(qts, b->db + 4), ==, b->received);
    same(qts, a->mem, b->rq + (b->received - 1) * SLOT_BYTES, 500);
    put_qp(b, PG332_RQCI, b->received);

    post(a, WRITE, 0, LENGTH, VA + 0x10000, KEY);
    done(a, WRITE);
    same(qts, a->mem, b->mem + 0x10000, LENGTH);
    post(a, READ, 0x8000, LENGTH, VA + 0x10000, KEY);
    done(a, READ);
    same(qts, a->mem, a->mem + 0x8000, LENGTH);
}

/* As RecoNIC's library takes a queue pair down. */
static void close_qp(Card *c)
{
    static const uint8_t zero[] = {
        PG332_RQWPTRDBADD, PG332_SQPI, PG332_CQHEAD, PG332_RQCI,
        PG332_STATRQPIDB, PG332_STATCURSQPTR, PG332_SQPSN, PG332_LSTRQREQ,
        PG332_STATMSN,
    };
    uint32_t conf = get_qp(c, PG332_QPCONF), i;

    g_assert_cmphex(get_qp(c, PG332_STATQP) & 0x6ff, ==, 0x600);
    g_assert_cmpuint(get_qp(c, PG332_CQHEAD), ==, get_qp(c, PG332_SQPI));
    put(c, PG332_XRNICADCONF, get(c, PG332_XRNICADCONF) | PG332_ADCONF_OVERRIDE);
    put_qp(c, PG332_QPCONF, conf & ~PG332_QPCONF_ENABLE);
    for (i = 0; i < ARRAY_SIZE(zero); i++) {
        put_qp(c, zero[i], 0);
        g_assert_cmphex(get_qp(c, zero[i]), ==, 0);
    }
    put_qp(c, PG332_QPCONF, (conf & ~PG332_QPCONF_ENABLE) |
           PG332_QPCONF_RECOVERY);
    put(c, PG332_XRNICADCONF, get(c, PG332_XRNICADCONF) & ~PG332_ADCONF_OVERRIDE);
    c->posted = c->received = 0;
}

/* ---- links ---------------------------------------------------------------- */

static void *one_card(GString *cmd_line, void *arg)
{
    g_string_append_printf(cmd_line, " -global ernic.ernic-version=%s ",
                           (const char *)arg);
    return arg;
}

static void *two_cards(GString *cmd_line, void *arg)
{
    one_card(cmd_line, arg);
    g_string_append(cmd_line, " -device ernic,id=ernic1,addr=05.0,"
                    "roce-udp=127.0.0.1:0 ");
    return arg;
}

static void *two_with_iothread(GString *cmd_line, void *arg)
{
    one_card(cmd_line, arg);
    g_string_append(cmd_line, " -object iothread,id=io0 -device ernic,"
                    "id=ernic1,addr=05.0,roce-udp=127.0.0.1:0,iothread=io0 ");
    return arg;
}

static void *two_on_wire(GString *cmd_line, void *arg)
{
    one_card(cmd_line, arg);
    g_string_append(cmd_line, " -device ernic-wire,id=w0"
                    " -device ernic,id=net0,addr=06.0,wire=w0"
                    " -device ernic,id=net1,addr=07.0,wire=w0 ");
    return arg;
}

/* Each device learns where both are. */
static void introduce(QErnic *q)
{
    static const char *const ids[] = { "ernic0", "ernic1" };
    int i, j;

    for (i = 0; i < 2; i++) {
        QDict *rsp = qtest_qmp(q->qts, "{ 'execute': 'qom-get', 'arguments': {"
                               " 'path': %s, 'property': 'roce-port' } }",
                               ids[i]);
        g_autofree char *text = g_strdup_printf("10.0.0.%d=127.0.0.1:%s", i + 1,
                                                qdict_get_str(rsp, "return"));

        for (j = 0; j < 2; j++) {
            qtest_qmp_assert_success(
                q->qts, "{ 'execute': 'qom-set', 'arguments': {"
                " 'path': %s, 'property': 'add-peer', 'value': %s } }",
                ids[j], text);
        }
        qobject_unref(rsp);
    }
}

static unsigned version_of(const char *name)
{
    return g_str_equal(name, "3.1") ? PG332_V3_1 :
           g_str_equal(name, "4.0") ? PG332_V4_0 : PG332_V4_2;
}

/* ---- tests ---------------------------------------------------------------- */

/* Is the word at @off worth an access over the test's socket? */
static bool sampled(const Card *c, const ErnicRegFile *rf, uint32_t off)
{
    uint32_t global = ernic_reg_blocks[c->version][ERNIC_REG_GLOBAL].base;
    ErnicRegRef ref;

    return off < 3 * PG332_SLOT || (off >= global && off < global + 0x800) ||
           off % 0xffc == 0 ||
           (ernic_regfile_find(rf, off, &ref) &&
            (ref.element < 2 || ref.element == 31));
}

/* The face's registers are those of the table, and hold what it says. */
static void test_registers(void *obj, void *data, QGuestAllocator *alloc)
{
    unsigned version = version_of(data);
    ErnicRegFile *rf = ernic_regfile_new(version, 32);
    Card c = { .q = obj, .version = version };
    uint32_t off, found = 0;
    ErnicRegRef ref;

    c.bar = qpci_iomap(&c.q->dev, ERNIC_BAR_PG332, NULL);
    g_assert_cmphex(qpci_config_readl(&c.q->dev, PCI_BASE_ADDRESS_0) &
                    PCI_BASE_ADDRESS_MEM_TYPE_MASK, ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64);
    for (off = 0; off < ernic_reg_window(version); off += 4) {
        if (sampled(&c, rf, off)) {
            g_assert_cmphex(get_at(&c, off), ==, ernic_regfile_read(rf, off));
        }
    }
    for (off = 0; off < ernic_reg_window(version); off += 4) {
        if (!sampled(&c, rf, off) ||
            off == at(&c, ERNIC_REG_GLOBAL, 0, PG332_XRNICADCONF) ||
            off == at(&c, ERNIC_REG_GLOBAL, 0, PG332_XRNICCONF)) {
            continue;
        }
        found += ernic_regfile_write(rf, off, 0xffffffff, &ref);
        put_at(&c, off, 0xffffffff);
        g_assert_cmphex(get_at(&c, off), ==, ernic_regfile_read(rf, off));
        ernic_regfile_write(rf, off, 0, &ref);
        put_at(&c, off, 0);
        g_assert_cmphex(get_at(&c, off), ==, ernic_regfile_read(rf, off));
    }
    g_assert_cmpuint(found, >, 200);
    /* 64 bits are two registers, fewer than 32 none. */
    qpci_io_writeq(&c.q->dev, c.bar, at(&c, ERNIC_REG_REGION, 1,
                                        PG332_VIRTADDRLSB), 0x1122334455667788);
    g_assert_cmphex(get_at(&c, PG332_SLOT + PG332_VIRTADDRLSB), ==, 0x55667788);
    g_assert_cmphex(get_at(&c, PG332_SLOT + PG332_VIRTADDRMSB), ==, 0x11223344);
    qpci_io_writew(&c.q->dev, c.bar, PG332_SLOT + PG332_VIRTADDRLSB, 0);
    g_assert_cmphex(get_at(&c, PG332_SLOT + PG332_VIRTADDRLSB), ==, 0x55667788);
    ernic_regfile_free(rf);
}

static void transfer(QErnic *q, QErnic *other, unsigned version)
{
    Card a, b;
    int i;

    open_one(&a, q, version, 1);
    open_one(&b, other, version, 2);
    for (i = 0; i < 2; i++) {           /* and once more from the beginning */
        open_qp(&a, 2, QPN);
        open_qp(&b, 1, QPN);
        transfers(&a, &b);
        transfers(&b, &a);
        transfers(&a, &b);
        g_assert_cmphex(get(&a, PG332_INTSTS), ==,
                        PG332_INT_COMPLETION | PG332_INT_RECEIVE);
        close_qp(&a);
        close_qp(&b);
    }
    put(&a, PG332_XRNICCONF, 0);
    put(&b, PG332_XRNICCONF, 0);
}

static void test_transfer(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj, other;

    qernic_init(&other, "ernic1", q->dev.bus, QPCI_DEVFN(5, 0), alloc);
    introduce(q);
    transfer(q, &other, version_of(data));
    qernic_fini(&other);
}

static void test_wire(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj, a, b;

    qernic_init(&a, "net0", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_init(&b, "net1", any->dev.bus, QPCI_DEVFN(7, 0), alloc);
    transfer(&a, &b, version_of(data));
    qernic_fini(&a);
    qernic_fini(&b);
}

/* A message to guest memory, by the device's last vector. */
static void test_interrupt(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint64_t deadline = 0;
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);                /* to itself */
    qpci_msix_enable(&q->dev);
    post(&c, WRITE, 0, 100, VA + 0x1000, KEY);
    while (!qpci_msix_pending(&q->dev, VECTOR)) {
        qernic_wait(q, &deadline);
    }
    done(&c, WRITE);
    g_assert_cmphex(get(&c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
    g_assert_cmphex(get(&c, c.version == PG332_V3_1 ? PG332_V3_CQINTSTS :
                        PG332_V4_CQINTSTS), ==, 1 << QPN);
    put(&c, PG332_INTSTS, PG332_INT_COMPLETION);
    g_assert_cmphex(get(&c, PG332_INTSTS), ==, 0);
    qpci_msix_disable(&q->dev);
}

static bool intx(Card *c)
{
    return qpci_config_readw(&c->q->dev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

/* Without MSI-X the pin is what INTSTS and INTEN say, at any moment. */
static void test_intx(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint8_t pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    g_assert_cmpuint(qpci_config_readb(&q->dev, PCI_INTERRUPT_PIN), ==, 1);
    g_assert(!intx(&c));
    post(&c, WRITE, 0, 100, VA + 0x1000, KEY);
    done(&c, WRITE);
    g_assert(intx(&c));
    put(&c, PG332_INTSTS, PG332_INT_RECEIVE);   /* of another cause */
    g_assert(intx(&c));
    put(&c, PG332_INTSTS, PG332_INT_COMPLETION);
    g_assert(!intx(&c));
    put(&c, PG332_INTEN, 0);
    post(&c, WRITE, 0, 100, VA + 0x1000, KEY);
    done(&c, WRITE);
    g_assert(!intx(&c));
    put(&c, PG332_INTEN, 0xff);
    g_assert(intx(&c));
    qpci_msix_enable(&q->dev);
    g_assert(!intx(&c));
    qpci_msix_disable(&q->dev);
    g_assert(intx(&c));
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);    /* the other face's */
    g_assert(intx(&c));
    qpci_config_writew(&q->dev, pcie + PCI_EXP_DEVCTL,
                       qpci_config_readw(&q->dev, pcie + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    g_assert(!intx(&c));
}

/*
 * One store, as long as from INTEN to the verbs face's reset: the interrupt that
 * it raises at its beginning is not lost to what it does at its end.
 */
static void test_interrupt_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint64_t deadline = 0, from, end;
    g_autofree uint8_t *bytes = NULL;
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    end = q->bar.addr;
    c.bar.addr = end - 2 * ernic_reg_window(c.version);     /* the size of BAR 0 */
    qpci_config_writel(&q->dev, PCI_BASE_ADDRESS_0, c.bar.addr);
    qpci_config_writel(&q->dev, PCI_BASE_ADDRESS_1, c.bar.addr >> 32);
    qpci_msix_enable(&q->dev);
    put(&c, PG332_INTEN, 0);
    post(&c, WRITE, 0, 100, VA + 0x1000, KEY);
    done(&c, WRITE);
    from = c.bar.addr + at(&c, ERNIC_REG_GLOBAL, 0, PG332_INTEN);
    end += offsetof(struct ernic_regs, control) + 4;
    bytes = g_malloc(end - from);
    qtest_memread(q->qts, from, bytes, end - from);
    stl_le_p(bytes, 0xff);
    stl_le_p(bytes + PG332_INTSTS - PG332_INTEN, 0);
    stl_le_p(bytes + (end - from) - 4, ERNIC_CONTROL_RESET);
    qtest_memwrite(q->qts, from, bytes, end - from);
    while (!qpci_msix_pending(&q->dev, VECTOR)) {
        qernic_wait(q, &deadline);
    }
    g_assert_cmphex(get(&c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
    qpci_msix_disable(&q->dev);
}

/* Verbs and registers of one function, which need no link between them. */
static void test_faces(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj, self = { };
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_WRITE };
    QErnicQp v, peer = { .q = &self, .qpn = QPN };
    struct ernic_cqe cqe;
    uint32_t i;
    Card c;

    qernic_setup(q, 1);
    open_one(&c, q, version_of(data), 2);
    memcpy(self.gid, q->gid, sizeof(self.gid));
    self.gid[15] = 2;
    qernic_qp_create(q, &v, ERNIC_QPT_RC);
    qernic_qp_connect(&v, &peer);
    open_qp(&c, 1, v.qpn);
    put_qp(&c, PG332_QPCONF, 0);
    put_qp(&c, PG332_LSTRQREQ, 0x0a000fff + v.qpn);
    put_qp(&c, PG332_SQPSN, 0x1000 + QPN);
    put_qp(&c, PG332_QPCONF, (QPCONF & 0xf8ff) | 2 << 8 |
           (SLOT_BYTES / 256) << 16);
    wqe.rdma.raddr = cpu_to_le64(VA + 0x10000);
    wqe.rdma.rkey = cpu_to_le32(KEY);
    for (i = 0; i < 4; i++) {
        pattern(q->qts, c.mem, LENGTH, 50 + i);
        post(&c, WRITE, 0, LENGTH, q->buf, q->key);
        qernic_post_send(&v, &wqe, 0x8000, 0x4000);
        done(&c, WRITE);
        same(q->qts, c.mem, q->buf, LENGTH);
        qernic_poll(&v, &cqe);
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
        same(q->qts, c.mem + 0x10000, q->buf + 0x8000, 0x4000);
        post(&c, READ, 0x8000, LENGTH, q->buf, q->key);
        done(&c, READ);
        same(q->qts, c.mem, c.mem + 0x8000, LENGTH);
    }
    /* Both are counted, each by itself. */
    g_assert_cmpuint(qernic_stat(q, "pg332.tx_messages"), ==, 8);
    g_assert_cmpuint(qernic_stat(q, "tx_messages"), ==, 4);
    g_assert_cmpuint(qernic_stat(q, "pg332.drops.bad_icrc"), ==, 0);
    g_assert_cmpuint(qernic_stat(q, "pg332.faults.rnr"), ==, 0);
}

/* Verbs in one device, registers in the other. */
static void test_verbs_peer(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj, other;
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_WRITE };
    struct ernic_cqe cqe;
    QErnic self = { };
    QErnicQp v, peer = { .q = &self, .qpn = QPN };
    Card c;

    qernic_init(&other, "ernic1", q->dev.bus, QPCI_DEVFN(5, 0), alloc);
    introduce(q);
    open_one(&c, q, version_of(data), 1);
    qernic_setup(&other, 2);
    memcpy(self.gid, other.gid, sizeof(self.gid));
    self.gid[15] = 1;
    qernic_qp_create(&other, &v, ERNIC_QPT_RC);
    qernic_qp_connect(&v, &peer);
    put_qp(&c, PG332_LSTRQREQ, 0);
    open_qp(&c, 2, v.qpn);
    /* The path MTU of qernic_qp_connect(), and its sequence numbers. */
    put_qp(&c, PG332_QPCONF, 0);
    put_qp(&c, PG332_LSTRQREQ, 0x0a000fff + v.qpn);
    put_qp(&c, PG332_SQPSN, 0x1000 + QPN);
    put_qp(&c, PG332_QPCONF, (QPCONF & 0xf8ff) | 2 << 8 |
           (SLOT_BYTES / 256) << 16);

    pattern(q->qts, c.mem, LENGTH, 77);
    post(&c, WRITE, 0, LENGTH, other.buf, other.key);
    done(&c, WRITE);
    same(q->qts, c.mem, other.buf, LENGTH);
    post(&c, READ, 0x8000, LENGTH, other.buf, other.key);
    done(&c, READ);
    same(q->qts, c.mem, c.mem + 0x8000, LENGTH);
    wqe.rdma.raddr = cpu_to_le64(VA + 0x10000);
    wqe.rdma.rkey = cpu_to_le32(KEY);
    qernic_post_send(&v, &wqe, 0, LENGTH);
    qernic_poll(&v, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    same(q->qts, c.mem + 0x10000, other.buf, LENGTH);
    qernic_fini(&other);
}

/* A function level reset takes all of it back. */
static void test_flr(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint8_t pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    post(&c, SEND, 0, 100, 0, 0);
    done(&c, SEND);
    post(&c, SEND, 0, 100, 0, 0);
    qpci_config_writew(&q->dev, pcie + PCI_EXP_DEVCTL,
                       qpci_config_readw(&q->dev, pcie + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    c.bar = qpci_iomap(&q->dev, ERNIC_BAR_PG332, NULL);
    qpci_device_enable(&q->dev);
    g_assert_cmphex(get(&c, PG332_XRNICCONF), ==, 0);
    g_assert_cmphex(get_qp(&c, PG332_CQHEAD), ==, 0);
    g_assert_cmphex(get_qp(&c, PG332_STATQP), ==, 0x600);
    /* And works. */
    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    transfers(&c, &c);
}

/* All that the receive queue holds, and one message more, which has to wait. */
static void fill(Card *c)
{
    uint64_t deadline = 0;

    /* RNR: again and again, after 10 us. */
    put_qp(c, PG332_TIMEOUTCONF, 1 << 16 | 7 << 11);
    while (c->posted < DEPTH) {
        post(c, SEND, 0, 64, 0, 0);
        done(c, SEND);
    }
    post(c, SEND, 0, 64, 0, 0);                     /* and its index is 1 */
    while (!(get(c, PG332_INTSTS) & PG332_INT_RNR)) {
        qernic_wait(c->q, &deadline);
    }
    g_assert_cmpuint(get_qp(c, PG332_CQHEAD), ==, DEPTH);
}

/* In the midst of a message, which arrives behind the migration. */
static void test_migrate(void *obj, void *data, QGuestAllocator *alloc)
{
    g_autofree char *more = g_strdup_printf(",ernic-version=%s",
                                            (const char *)data);
    QErnic *q = obj;
    uint32_t regs[64], off;
    QTestState *from;
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    fill(&c);
    for (off = 0; off < sizeof(regs); off += 4) {
        regs[off / 4] = get_qp(&c, off);
    }
    from = qernic_migrate_to(q, more);
    for (off = 0; off < sizeof(regs); off += 4) {
        g_assert_cmphex(get_qp(&c, off), ==, regs[off / 4]);
    }
    put_qp(&c, PG332_RQCI, DEPTH);
    wait_for(&c, PG332_CQHEAD, 1);
    g_assert_cmpuint(get_qp(&c, PG332_STATRQPIDB), ==, 1);
    qernic_migrate_end(q, from);
}

/* Registers that are written without sense; the device answers afterwards. */
static void test_garbage(void *obj, void *data, QGuestAllocator *alloc)
{
    uint32_t window = ernic_reg_window(version_of(data));
    QErnic *q = obj;
    uint32_t i;
    Card c;

    open_one(&c, q, version_of(data), 1);
    open_qp(&c, 1, QPN);
    for (i = 0; i < 20000; i++) {
        uint32_t off = g_test_rand_int_range(0, 0x400) * 4;
        uint32_t block = g_test_rand_int_range(0, ERNIC_REG_SCOPES);

        off += ernic_reg_blocks[c.version][block].base;
        put_at(&c, off % window, g_test_rand_int());
        if (i % 64 == 0) {
            qtest_clock_step(q->qts, 1000000);
        }
    }
    qernic_enable(q);
    g_assert_cmphex(qernic_reg(q, magic), ==, ERNIC_MAGIC);
}

#define V3_1    (1 << PG332_V3_1)
#define V4_0    (1 << PG332_V4_0)
#define V4_2    (1 << PG332_V4_2)
#define ANY     (V3_1 | V4_0 | V4_2)

/* libqos has room for 128 tests of a node: not all with every version. */
static void register_tests(void)
{
    static const char *const names[] = { "3.1", "4.0", "4.2" };
    static const struct {
        const char *name;
        QOSTestFunc fn;
        void *(*before)(GString *cmd_line, void *arg);
        unsigned versions;
    } tests[] = {
        { "registers", test_registers, one_card, ANY },
        { "transfer", test_transfer, two_cards, ANY },
        { "transfer-iothread", test_transfer, two_with_iothread, V3_1 },
        { "wire", test_wire, two_on_wire, ANY },
        { "interrupt", test_interrupt, one_card, V3_1 | V4_2 },
        { "intx", test_intx, one_card, V4_2 },
        { "interrupt-reset", test_interrupt_reset, one_card, V3_1 },
        { "faces", test_faces, one_card, V4_0 },
        { "verbs-peer", test_verbs_peer, two_cards, V4_2 },
        { "flr", test_flr, one_card, V3_1 },
        { "migrate", test_migrate, one_card, V3_1 | V4_0 },
        { "garbage", test_garbage, one_card, ANY },
    };
    size_t i, v;

    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        for (v = 0; v < ARRAY_SIZE(names); v++) {
            QOSGraphTestOptions opts = {
                .before = tests[i].before, .arg = (void *)names[v],
            };
            g_autofree char *name = g_strdup_printf("pg332-%s-%s", tests[i].name,
                                                    names[v]);

            if (tests[i].versions & 1 << v) {
                qos_add_test(name, "ernic", tests[i].fn, &opts);
            }
        }
    }
}

libqos_init(register_tests);
