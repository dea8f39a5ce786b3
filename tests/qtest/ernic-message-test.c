/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages of MSI-X and MSI that reset, move, power down or eject the function that sends
 * them, or eject another one, or the function of a machine that migrates; and DMA of
 * another card that does so while it receives a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "ernic-eth.h"
#include "ernic-qdma-net.h"
#include "ernic-xib.h"

#define Q35_PCIEXBAR    0x60
#define ECAM        0xb0000000ull

#define PORT        QPCI_DEVFN(3, 0)
#define FUNCTION    (1 << 8)            /* device 0 of the bus behind the port */
#define IOTHREAD    ",iothread=io0,roce-udp=127.0.0.1:0"
#define PORT_MMIO       0xe0000000
#define OTHER_MMIO      0xe1000000

/* A machine whose function is behind a port with native hot-plug. */
typedef struct Behind {
    QErnicMachine *m;
    QPCIDevice *port;
    uint64_t mmio;
    uint64_t copy;              /* by_stream(): where the QDMA copies to */
    QErnic q;
} Behind;

/* The port in a slot has a bus and 16 MiB at @mmio; freed with the test. */
static QPCIDevice *open_port(Behind *b, int devfn, uint8_t bus, uint32_t mmio)
{
    QPCIDevice *port = qpci_device_find(b->m->bus, devfn);

    g_test_queue_free(port);
    qpci_config_writel(port, PCI_PRIMARY_BUS, bus << 16 | bus << 8);
    qpci_config_writel(port, PCI_MEMORY_BASE, (mmio | 0xf00000) | mmio >> 16);
    qpci_device_enable(port);
    return port;
}

static QErnicMachine *start(const char *more)
{
    return qernic_machine("-M q35 -object iothread,id=io0"
                          " -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"
                          " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
                          VERBS_NIC ",id=ernic0,bus=port0%s", more);
}

static void behind_open(Behind *b, const char *more)
{
    b->m = start(more);
    b->mmio = b->m->bus->mmio_alloc_ptr;
    qtest_outl(b->m->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(b->m->qts, 0xcfc, ECAM | 1);
    b->port = open_port(b, PORT, 1, PORT_MMIO);
}

/* With bus mastering, messages of the last round would follow: the reset comes first. */
static void behind_reset(Behind *b)
{
    QPCIDevice *dev;

    qpci_config_writel(b->port, PCI_INTERRUPT_LINE, 0);         /* ends a bus reset */
    dev = qpci_device_find(b->m->bus, FUNCTION);
    qernic_flr(dev);
    g_free(dev);
    b->m->bus->mmio_alloc_ptr = b->mmio;
    qernic_init(&b->q, "ernic0", b->m->bus, FUNCTION, &b->m->alloc);
}

/* Resets the function and sets it up from the beginning. */
static void behind_renew(Behind *b)
{
    behind_reset(b);
    qernic_setup(&b->q, 1);
}

/* A register of the function, in a capability or (cap 0) at @at. */
typedef struct Word {
    uint8_t cap;
    uint16_t at;
} Word;

#define MSIX_FLAGS      { PCI_CAP_ID_MSIX, 0 }
#define MSIX_BIT(bit)   ((uint32_t)(bit) << 16)

/* The 32-bit word that the messages write, and the effect on the function. */
typedef struct Message {
    const char *name;
    bool port;                  /* of the port, not of the function itself */
    Word word;
    uint32_t value;
    Word seen;
    uint32_t mask, bits;        /* the effect: @bits in @mask of @seen */
} Message;

static const Message messages[] = {
    { "function reset", false, { PCI_CAP_ID_EXP, PCI_EXP_DEVCTL },
      PCI_EXP_DEVCTL_BCR_FLR, MSIX_FLAGS, MSIX_BIT(PCI_MSIX_FLAGS_ENABLE), 0 },
    { "bus reset", true, { 0, PCI_INTERRUPT_LINE }, PCI_BRIDGE_CTL_BUS_RESET << 16,
      MSIX_FLAGS, MSIX_BIT(PCI_MSIX_FLAGS_ENABLE), 0 },
    { "D3hot", false, { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3,
      { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3, 3 },
    { "no bus master", false, { 0, PCI_COMMAND }, 0,
      { 0, PCI_COMMAND }, PCI_COMMAND_MASTER, 0 },
    { "another address", false, { 0, PCI_BASE_ADDRESS_2 }, 0xe8000000,
      { 0, PCI_BASE_ADDRESS_2 }, 0xfffffff0, 0xe8000000 },
    { "MSI-X off", false, { PCI_CAP_ID_MSIX, 0 }, 0,
      MSIX_FLAGS, MSIX_BIT(PCI_MSIX_FLAGS_ENABLE), 0 },
    { "MSI-X masked", false, { PCI_CAP_ID_MSIX, 0 },
      MSIX_BIT(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL), MSIX_FLAGS,
      MSIX_BIT(PCI_MSIX_FLAGS_MASKALL), MSIX_BIT(PCI_MSIX_FLAGS_MASKALL) },
};

static const Message ejects = {
    "eject", true, { PCI_CAP_ID_EXP, PCI_EXP_SLTCTL },
    PCI_EXP_SLTCTL_PWR_OFF | PCI_EXP_SLTCTL_PWR_IND_OFF,
    { 0, PCI_VENDOR_ID }, 0xffffffff, 0xffffffff,
};

static uint16_t word_at(QPCIDevice *dev, const Word *w)
{
    return w->at + (w->cap ? qpci_find_capability(dev, w->cap, 0) : 0);
}

static void aim(Behind *b, uint64_t addr, uint32_t value)
{
    qpci_msix_enable(&b->q.dev);
    for (int i = 0; i < 17; i++) {
        qernic_aim(&b->q.dev, i, addr, value);
    }
}

/* The vectors are free: each message is the result of a new interrupt. */
static void by_interrupt(Behind *b, uint64_t addr, uint32_t value)
{
    aim(b, b->q.scratch, 0);            /* those that are pending already */
    aim(b, addr, value);
    qernic_post_change(&b->q);          /* vectors of commands and of events at once */
}

/* Vectors that are pending are unmasked one by one, by writes to the table. */
static void by_table(Behind *b, uint64_t addr, uint32_t value)
{
    aim(b, addr, value);
}

typedef void Way(Behind *b, uint64_t addr, uint32_t value);

/* Causes messages; the effect of the first one precedes the second one. */
static void send_messages(Behind *b, const Message *m, Way *way)
{
    QPCIDevice *dev = m->port ? b->port : &b->q.dev;
    uint16_t seen = word_at(&b->q.dev, &m->seen);
    uint64_t at = ECAM + ((uint64_t)dev->devfn << 12) + word_at(dev, &m->word);

    way(b, at, m->value);
    qernic_wait_while(b->q.qts,
                      (qpci_config_readl(&b->q.dev, seen) & m->mask) != m->bits);
    qtest_qmp_assert_success(b->m->qts, "{ 'execute': 'query-status' }");
}

/* Sends each of the @num messages at @row by both @ways, and then ejects the function. */
static void send_all(const char *more, Way *const ways[2], const Message *row, size_t num)
{
    Behind b;

    for (size_t w = 0; w < 2; w++) {
        behind_open(&b, more);
        for (size_t i = 0; i < num; i++) {
            g_test_message("way %zu: %s", w, row[i].name);
            behind_renew(&b);
            send_messages(&b, &row[i], ways[w]);
        }
        behind_renew(&b);
        qernic_transfers(&b.q, &b.q);
        g_test_message("way %zu: eject", w);
        behind_renew(&b);
        send_messages(&b, &ejects, ways[w]);
        qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");
    }
}

MACHINE_KINDS("/ernic-message/", test_message,
              { "plain", "" }, { "timing", ",timing=on" }, { "iothread", IOTHREAD },
              { "pg332", ",ernic-version=3.1" }, { "irqfd", ",ioeventfd=on" },
              { "irqfd-iothread", IOTHREAD ",ioeventfd=on" })
{
    static Way *const ways[2] = { by_interrupt, by_table };

    send_all(more, ways, messages, ARRAY_SIZE(messages));
}

/* Two pending vectors are unmasked by one write, and the first message ejects. */
MACHINE_KINDS("/ernic-message/slot", test_slot, { "", "" }, { "-timing", ",timing=on" },
              { "-iothread", IOTHREAD }, { "-pg332", ",ernic-version=3.1" })
{
    QPCIDevice *dev;
    Behind b;
    uint16_t at;

    b.m = qernic_machine("-M q35 -object iothread,id=io0" QERNIC_SLOT
                         VERBS_NIC ",id=ernic0,bus=slot0,addr=01.0%s", more);
    qernic_slot_open(b.m);
    dev = &b.q.dev;
    qernic_init(&b.q, "ernic0", b.m->bus, QERNIC_SLOT_DEVFN, &b.m->alloc);
    qernic_setup(&b.q, 1);
    at = qpci_find_capability(dev, PCI_CAP_ID_MSIX, 0) + PCI_MSIX_FLAGS;
    aim(&b, b.q.scratch, 0);
    qpci_config_writew(dev, at, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
    for (int i = 0; i < 17; i++) {
        qernic_aim(dev, i, QERNIC_SLOT_COMMAND, QERNIC_SLOT_EJECT);
    }
    qernic_post_change(&b.q);
    for (int i = 0; i < 2; i++) {
        qernic_wait_while(b.m->qts, !qpci_msix_pending(dev, i));
    }
    qpci_config_writew(dev, at, PCI_MSIX_FLAGS_ENABLE);
    qernic_wait_while(b.m->qts, qpci_config_readl(dev, PCI_VENDOR_ID) != ~0u);
    qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");
    qtest_qmp_assert_success(b.m->qts, "{ 'execute': 'query-status' }");
}

/* ---- MSI ------------------------------------------------------------------------- */

#define MSI_FLAGS       { PCI_CAP_ID_MSI, 0 }
#define MSI_ON          ((uint32_t)PCI_MSI_FLAGS_ENABLE << 16)
/* A descriptor that is not memory. */
#define NOWHERE         0x80000000000ull

/* The values have 16 bits. */
static const Message msi_messages[] = {
    { "function reset", false, { PCI_CAP_ID_EXP, PCI_EXP_DEVCTL },
      PCI_EXP_DEVCTL_BCR_FLR, MSI_FLAGS, MSI_ON, 0 },
    { "D3hot", false, { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3,
      { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3, 3 },
    { "no bus master", false, { 0, PCI_COMMAND }, 0,
      { 0, PCI_COMMAND }, PCI_COMMAND_MASTER, 0 },
    { "MSI off", false, { PCI_CAP_ID_MSI, 0 }, 0, MSI_FLAGS, MSI_ON, 0 },
};

/* One message for all vectors; the channel raises one. */
static void by_channel(Behind *b, uint64_t addr, uint32_t value)
{
    QPCIDevice *dev = &b->q.dev;
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_MSI, 0);
    QPCIBar bar = qpci_iomap(dev, 0, NULL);

    qpci_config_writel(dev, at + PCI_MSI_ADDRESS_LO, addr);
    qpci_config_writel(dev, at + PCI_MSI_ADDRESS_HI, addr >> 32);
    qpci_config_writew(dev, at + PCI_MSI_DATA_64, value);
    qpci_config_writew(dev, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
    qpci_io_writeq(dev, bar, XIB_DMA + XIB_CUR, NOWHERE);
    qpci_io_writel(dev, bar, XIB_DMA + XIB_CR, PG332_DMACR_RUN | PG332_DMA_IRQS);
    qpci_io_writeq(dev, bar, XIB_DMA + XIB_TAIL, NOWHERE);
}

/* A message of MSI is a write to any address as well. */
MACHINE_KINDS("/ernic-message/msi", test_msi, { "", ",engine-thread=off" },
              { "-thread", ",roce-udp=127.0.0.1:0,engine-thread=on" })
{
    g_autofree char *args = g_strconcat(",shell=xib", more, NULL);
    Behind b;

    behind_open(&b, args);
    for (size_t i = 0; i < ARRAY_SIZE(msi_messages); i++) {
        g_test_message("%s", msi_messages[i].name);
        behind_reset(&b);
        send_messages(&b, &msi_messages[i], by_channel);
    }
    behind_reset(&b);
    send_messages(&b, &ejects, by_channel);
    qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");
}

#define OTHER_PORT  QPCI_DEVFN(5, 0)
#define OTHER       ",netdev=h0 -netdev hubport,id=h0,hubid=0" \
                    " -netdev hubport,id=h1,hubid=0" \
                    " -device pcie-root-port,id=port1,addr=05.0,chassis=2,slot=2" \
                    VERBS_NIC ",id=ernic1,bus=port1,netdev=h1"

/* The function that is ejected sends and receives, and the sender is its peer. */
WORLD_KINDS("/ernic-message/other", test_other, Behind, b, behind_open, { "", OTHER })
{
    uint64_t own;
    QPCIDevice *port;
    QErnicQp x, y;
    QErnic other;

    port = open_port(b, OTHER_PORT, 2, OTHER_MMIO);
    behind_renew(b);
    own = b->m->bus->mmio_alloc_ptr;
    b->m->bus->mmio_alloc_ptr = OTHER_MMIO;
    qernic_init(&other, "ernic1", b->m->bus, 2 << 8, &b->m->alloc);
    b->m->bus->mmio_alloc_ptr = own;        /* of the MSI-X table: in port0's window */
    qernic_setup(&other, 2);
    qernic_pair(&b->q, &other, &x, &y, ERNIC_QPT_RC);
    qernic_send(&x, 0, 64 * 1024);
    qernic_send(&y, 0, 64 * 1024);
    qtest_clock_step(b->m->qts, 10000);
    by_interrupt(b, ECAM + ((uint64_t)OTHER_PORT << 12) +
                 qpci_find_capability(port, PCI_CAP_ID_EXP, 0) + PCI_EXP_SLTCTL,
                 PCI_EXP_SLTCTL_PWR_OFF | PCI_EXP_SLTCTL_PWR_IND_OFF);
    qernic_wait_while(b->q.qts,
                      qpci_config_readl(&other.dev, PCI_VENDOR_ID) != 0xffffffff);
    qtest_qmp_eventwait(b->m->qts, "DEVICE_DELETED");
    qernic_transfers(&b->q, &b->q);
}

static bool migration_is(QTestState *qts, const char *status)
{
    QDict *rsp = qtest_qmp_assert_success_ref(qts, "{ 'execute': 'query-migrate' }");
    bool is = g_strcmp0(qdict_get_try_str(rsp, "status"), status) == 0;

    qobject_unref(rsp);
    return is;
}

static void bandwidth(QTestState *qts, int64_t bytes)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate-set-parameters',"
                             " 'arguments': { 'max-bandwidth': %" PRId64 " } }", bytes);
}

/*
 * The guest ejects the function, with traffic, after memory has begun to migrate: the
 * stream has no state of it. The destination has a function, which is as after a reset,
 * behind a port without power.
 */
MACHINE_KINDS("/ernic-message/migrating", test_migrating, { "", "" },
              { "-iothread", IOTHREAD }, { "-timing", ",timing=on" },
              { "-pg332", ",ernic-version=3.1" })
{
    const char *path = qernic_temp();
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    g_autofree char *incoming = g_strconcat(more, " -incoming defer", NULL);
    QErnicMachine *to;
    QErnicQp x;
    Behind b;

    behind_open(&b, more);
    behind_renew(&b);
    qernic_self(&b.q, &x, ERNIC_QPT_RC);
    qernic_send(&x, 0, 64 * 1024);
    bandwidth(b.m->qts, 4096);
    qtest_qmp_assert_success(b.m->qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    while (!migration_is(b.m->qts, "active")) {
        g_assert_false(migration_is(b.m->qts, "failed"));
        g_usleep(1000);
    }
    send_messages(&b, &ejects, by_interrupt);
    g_assert_true(migration_is(b.m->qts, "active"));
    bandwidth(b.m->qts, 1ll << 34);
    g_assert_true(qernic_migrated(b.m->qts));
    qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");

    to = start(incoming);
    qtest_clock_set(to->qts, qtest_clock_step(b.m->qts, 1));
    g_assert_true(qernic_load(to->qts, path));
    g_assert_cmpuint(qernic_stat(&(QErnic) { .qts = to->qts, .id = "ernic0" },
                                 "memory.used"), ==, 0);
    qtest_clock_step(to->qts, 1000000);
}

/* A card of another kind at the same hub: its DMA reaches any address. */
#define NIC_DEVFN   QPCI_DEVFN(4, 0)
#define NIC         " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
                    " -device e1000,addr=04.0,netdev=h1"
#define NIC_BAR     0xe8000000          /* outside of the port's window */
#define RC_PAYLOAD  54                  /* of a SEND, after IPv4, UDP and BTH */
#define IN_FRAME    56                  /* where a frame has the word to write */

/*
 * The next frame is written so that its bytes from IN_FRAME on are at @first, and the
 * ones after it so that theirs are at @then.
 */
static void receive_at_both(Behind *b, uint64_t first, uint64_t then)
{
    QPCIDevice *nic = qpci_device_find(b->m->bus, NIC_DEVFN);

    b->m->bus->mmio_alloc_ptr = NIC_BAR;
    qeth_e1000(nic, &b->m->alloc, first - IN_FRAME, then - IN_FRAME);
    g_free(nic);
}

static void receive_at(Behind *b, uint64_t addr)
{
    receive_at_both(b, addr, addr);
}

/* The frame is a SEND of the engine, which sends with the device's lock held. */
static void by_engine(Behind *b, uint64_t addr, uint32_t value)
{
    QErnicQp x;

    qernic_qp_create(&b->q, &x, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &qernic_nobody);
    receive_at(b, addr);
    qtest_writel(b->m->qts, b->q.buf + IN_FRAME - RC_PAYLOAD, value);
    qernic_send(&x, 0, IN_FRAME - RC_PAYLOAD + 4);
}

/* The frame is one of the Ethernet interface, which sends without the lock. */
static void by_ethernet(Behind *b, uint64_t addr, uint32_t value)
{
    struct ernic_eth_txd desc = {
        .len = cpu_to_le16(IN_FRAME + 4), .flags = ERNIC_ETH_EOP,
    };
    Eth e;

    qeth_take(&e, b->m, &b->q, ERNIC_ETH_TX);
    desc.addr = cpu_to_le64(e.buf);
    qtest_memset(b->m->qts, e.buf, 0xff, 12);
    qtest_writel(b->m->qts, e.buf + IN_FRAME, value);
    qeth_post(&e, &desc);
    qeth_post(&e, &desc);
    receive_at(b, addr);
    qeth_set(&e, OFF(tx_pi), e.tx_pi);
}

static const Message frames_to[] = {
    { "function reset", false, { PCI_CAP_ID_EXP, PCI_EXP_DEVCTL },
      PCI_EXP_DEVCTL_BCR_FLR, { 0, PCI_BASE_ADDRESS_2 }, 0xfffffff0, 0 },
    { "D3hot", false, { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3,
      { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3, 3 },
};

MACHINE_KINDS("/ernic-message/frame", test_frame,
              { "", ",netdev=h0,engine-thread=on" NIC },
              { "-timing", ",netdev=h0,timing=on" NIC },
              { "-pg332", ",netdev=h0,ernic-version=3.1" NIC },
              { "-main-loop", ",netdev=h0,engine-thread=off" NIC })
{
    static Way *const ways[2] = { by_engine, by_ethernet };

    send_all(more, ways, frames_to, ARRAY_SIZE(frames_to));
}

#define STREAM      ",shell=reconic,ernic-version=3.1,card-memory=1M,netdev=h0"
#define UNTOUCHED   0x77777777

/* The frame is one of a stream, whose QDMA has to copy memory after that. */
static void by_stream(Behind *b, uint64_t addr, uint32_t value)
{
    Qdma x = { .m = b->m, .q = &b->q };
    uint8_t frame[IN_FRAME + 4];
    QdmaStream s;
    QdmaQueue k;

    b->m->bus->mmio_alloc_ptr = b->mmio;
    qdma_map(&x);
    qnet_setup(&x);
    qnet_stream(&x, &s, 0, QNET_EVERY, 0);
    qdma_queue_open(&x, &k, 9, QDMA_C2H, 8);
    b->copy = guest_alloc(&b->m->alloc, 4096);
    qtest_memset(b->m->qts, b->copy, 0x77, 4096);
    receive_at(b, addr);
    qnet_frame(frame, sizeof(frame), 1, 2);
    stl_le_p(frame + IN_FRAME, value);
    qernic_stop(b->m->qts);                     /* one slice has both */
    qnet_post(&s, frame, sizeof(frame));
    qnet_ring(&s);
    qdma_post(&k, b->copy, 0, 4096);
    qdma_ring(&k, false);
    qernic_cont(b->m->qts);
}

/*
 * A function that its own frame resets, powers down or ejects does nothing after that:
 * the word that it would write stays @untouched.
 */
static void hit_itself(const char *more, const Message *reset, Way *way,
                       uint32_t untouched)
{
    const Message *const rows[] = { reset, &frames_to[1], &ejects };
    Behind b;

    behind_open(&b, more);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_test_message("%s", rows[i]->name);
        behind_reset(&b);
        send_messages(&b, rows[i], way);
        qtest_clock_step(b.m->qts, 1000000);
        g_assert_cmphex(qtest_readl(b.m->qts, b.copy), ==, untouched);
    }
    qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");
}

MACHINE_KINDS("/ernic-message/stream", test_stream,
              { "", STREAM ",engine-thread=on" NIC },
              { "-main-loop", STREAM ",engine-thread=off" NIC })
{
    hit_itself(more, &frames_to[0], by_stream, UNTOUCHED);
}

#define CHANNEL     ",shell=xib,netdev=h0"

/* The frame has one descriptor of a channel, and another frame has the next. */
static void by_channel_frame(Behind *b, uint64_t addr, uint32_t value)
{
    uint8_t frame[IN_FRAME + 4], desc[64] = { };
    uint64_t ring = qernic_zeroed(&b->q, 4096);
    QPCIBar bar;

    b->m->bus->mmio_alloc_ptr = b->mmio;
    bar = qpci_iomap(&b->q.dev, 0, NULL);
    receive_at(b, addr);
    qnet_frame(frame, sizeof(frame), 1, 2);
    stl_le_p(frame + IN_FRAME, value);
    qtest_bufwrite(b->m->qts, ring + 1024, frame, sizeof(frame));
    for (uint32_t i = 0; i < 2; i++) {
        stq_le_p(desc, ring + 64);
        stq_le_p(desc + 8, ring + 1024);
        stl_le_p(desc + PG332_DESC_CONTROL, XIB_SOF | XIB_EOF | sizeof(frame));
        qtest_bufwrite(b->m->qts, ring + i * 64, desc, sizeof(desc));
    }
    b->copy = ring + 64 + PG332_DESC_STATUS;
    qpci_io_writeq(&b->q.dev, bar, XIB_DMA + XIB_CUR, ring);
    qpci_io_writel(&b->q.dev, bar, XIB_DMA + XIB_CR, PG332_DMACR_RUN);
    qernic_stop(b->m->qts);                     /* one slice has both */
    qpci_io_writeq(&b->q.dev, bar, XIB_DMA + XIB_TAIL, ring + 64);
    qernic_cont(b->m->qts);
}

MACHINE_KINDS("/ernic-message/channel", test_channel,
              { "", CHANNEL ",engine-thread=on" NIC },
              { "-main-loop", CHANNEL ",engine-thread=off" NIC })
{
    static const Message reset = {
        "function reset", false, { PCI_CAP_ID_EXP, PCI_EXP_DEVCTL },
        PCI_EXP_DEVCTL_BCR_FLR, { 0, PCI_BASE_ADDRESS_0 }, 0xfffffff0, 0
    };

    hit_itself(more, &reset, by_channel_frame, 0);
}

/*
 * Our frame reaches NIC 1, whose descriptors point at the registers of NIC 2: it sends a
 * frame at once, which NIC 1 puts into the power state of an ernic with an iothread. That
 * one waits for its thread, and polls the bottom halves of the main loop meanwhile.
 */
#define NESTED      " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
                    " -netdev hubport,id=h2,hubid=0" \
                    " -device e1000,addr=04.0,netdev=h1" \
                    " -device e1000,addr=06.0,netdev=h2" \
                    " -device pcie-root-port,id=port1,addr=05.0,chassis=2,slot=2" \
                    VERBS_NIC ",id=ernic1,bus=port1,iothread=io0" \
                    ",roce-udp=127.0.0.1:0"
#define NIC2_BAR    0xe9000000
#define NIC_TCTL    0x400
#define NIC_TDBAL   0x3800
#define SENT_LEN    60
#define D3HOT       3

/* NIC 2 has a frame whose word at IN_FRAME is @word. Returns its first descriptor. */
static uint64_t prepare_nic2(Behind *b, QPCIBar *bar, uint32_t word)
{
    QPCIDevice *nic = qpci_device_find(b->m->bus, QPCI_DEVFN(6, 0));
    uint64_t ring = guest_alloc(&b->m->alloc, 4096), frame = ring + 1024;

    qpci_device_enable(nic);
    b->m->bus->mmio_alloc_ptr = NIC2_BAR;
    *bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(b->m->qts, ring, 0, 4096);
    qtest_memset(b->m->qts, frame, 0xff, 6);
    qtest_writel(b->m->qts, frame + IN_FRAME, word);
    qtest_writeq(b->m->qts, ring, frame);
    qtest_writel(b->m->qts, ring + 8, SENT_LEN | 0x0b000000);      /* EOP, IFCS, RS */
    qpci_io_writel(nic, *bar, NIC_TCTL, 2);
    g_free(nic);
    return ring;
}

WORLD_KINDS("/ernic-message/nested", test_nested, Behind, b, behind_open,
             { "", ",netdev=h0,engine-thread=on" NESTED },
             { "-main-loop", ",netdev=h0,engine-thread=off" NESTED })
{
    QErnicQp x;
    QPCIDevice *other;
    uint64_t tx, word;
    QPCIBar bar;
    uint16_t pm;

    open_port(b, OTHER_PORT, 2, OTHER_MMIO);
    behind_renew(b);
    other = qpci_device_find(b->m->bus, 2 << 8);
    g_assert_nonnull(other);
    pm = qpci_find_capability(other, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
    qernic_qp_create(&b->q, &x, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &qernic_nobody);
    tx = prepare_nic2(b, &bar, D3HOT);
    receive_at_both(b, bar.addr + NIC_TDBAL, ECAM + (2 << 20) + pm);
    /* TDBAL to TDT of NIC 2, in the payload. */
    word = b->q.buf + IN_FRAME - RC_PAYLOAD;
    qtest_memset(b->m->qts, b->q.buf, 0, 64);
    qtest_writel(b->m->qts, word, tx);
    qtest_writel(b->m->qts, word + 8, 128);
    qtest_writel(b->m->qts, word + 0x18, 1);
    qernic_send(&x, 0, 2 + 0x1c);
    qernic_wait_while(b->q.qts,
                      (qpci_config_readl(other, pm) & PCI_PM_CTRL_STATE_MASK) != D3HOT);
    /* The sender still works. */
    qernic_nop(&b->q);
    g_free(other);
}
