/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * MSI-X messages that reset, move, power down or eject the function that sends them, or
 * eject another one, or the function of a machine that migrates; and DMA of another card
 * that does so while it receives a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ernic.h"

#define Q35_PCIEXBAR    0x60
#define ECAM        0xb0000000ull

static void flr(QPCIDevice *dev)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL;

    qpci_config_writew(dev, at, qpci_config_readw(dev, at) | PCI_EXP_DEVCTL_BCR_FLR);
}

#define PORT        QPCI_DEVFN(3, 0)
#define FUNCTION    (1 << 8)            /* device 0 of the bus behind the port */

/* A machine whose function is behind a port with native hot-plug. */
typedef struct Behind {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *port;
    uint64_t mmio;
    QErnic q;
} Behind;

static void open_port(Behind *b)
{
    b->port = qpci_device_find(b->bus, PORT);
    qpci_config_writel(b->port, PCI_PRIMARY_BUS, 0x00010100);
    qpci_config_writel(b->port, PCI_MEMORY_BASE, 0xe0f0e000);   /* 0xe0000000, 16 MiB */
    qpci_device_enable(b->port);
}

/* The machine alone; behind_open() also sets up its bus. */
static void behind_start(Behind *b, const char *more)
{
    *b = (Behind) { .qts = qtest_initf(
        "-M q35 -nodefaults -object iothread,id=io0"
        " -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"
        " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
        " -device ernic,id=ernic0,bus=port0%s", more) };
}

static void behind_open(Behind *b, const char *more)
{
    behind_start(b, more);
    pc_alloc_init(&b->alloc, b->qts, 0);
    b->bus = qpci_new_pc(b->qts, &b->alloc);
    b->mmio = b->bus->mmio_alloc_ptr;
    qtest_outl(b->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(b->qts, 0xcfc, ECAM | 1);
    open_port(b);
}

static void behind_end(Behind *b)
{
    qtest_quit(b->qts);
}

static void behind_close(Behind *b)
{
    g_free(b->port);
    qpci_free_pc(b->bus);
    alloc_destroy(&b->alloc);
    behind_end(b);
}

/* Resets the function and sets it up from the beginning. */
static void behind_renew(Behind *b)
{
    b->bus->mmio_alloc_ptr = b->mmio;
    qpci_config_writel(b->port, PCI_INTERRUPT_LINE, 0);         /* ends a bus reset */
    qernic_init(&b->q, "ernic0", b->bus, FUNCTION, &b->alloc);
    flr(&b->q.dev);
    b->bus->mmio_alloc_ptr = b->mmio;
    qernic_init(&b->q, "ernic0", b->bus, FUNCTION, &b->alloc);
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
    QPCIDevice *dev = &b->q.dev;
    uint64_t at;

    qpci_msix_enable(dev);
    for (int i = 0; i < 17; i++) {
        at = dev->msix_table_off + i * PCI_MSIX_ENTRY_SIZE;
        qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
        qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_UPPER_ADDR,
                       addr >> 32);
        qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_DATA, value);
        qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    }
}

/* Raises the vectors of commands and of events in the same run. */
static void raise_vectors(Behind *b)
{
    struct ernic_cmd change = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .gid = { 0xfe, 0x80, [15] = 7 }, .index = 1,
                     .mac = { 0x52, 0x54, 0, 0, 0, 1 }, .vlan = cpu_to_le16(0xffff) },
    };

    qernic_cmd_post(&b->q, &change);
}

/* The vectors are free: each message is the result of a new interrupt. */
static void by_interrupt(Behind *b, uint64_t addr, uint32_t value)
{
    aim(b, b->q.scratch, 0);            /* those that are pending already */
    aim(b, addr, value);
    raise_vectors(b);
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
    uint64_t deadline = 0;

    way(b, at, m->value);
    while ((qpci_config_readl(&b->q.dev, seen) & m->mask) != m->bits) {
        qernic_wait(&b->q, &deadline);
    }
    qtest_qmp_assert_success(b->qts, "{ 'execute': 'query-status' }");
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
        qtest_qmp_eventwait(b.qts, "DEVICE_DELETED");
        behind_close(&b);
    }
}

static void test_message(const void *more)
{
    static Way *const ways[2] = { by_interrupt, by_table };

    send_all(more, ways, messages, ARRAY_SIZE(messages));
}

#define OTHER_PORT  QPCI_DEVFN(5, 0)
#define OTHER       ",netdev=h0 -netdev hubport,id=h0,hubid=0" \
                    " -netdev hubport,id=h1,hubid=0" \
                    " -device pcie-root-port,id=port1,addr=05.0,chassis=2,slot=2" \
                    " -device ernic,id=ernic1,bus=port1,netdev=h1"

/* The function that is ejected sends and receives, and the sender is its peer. */
static void test_other(const void *more)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };
    uint64_t deadline = 0, own;
    QPCIDevice *port;
    QErnicQp x, y;
    QErnic other;
    Behind b;

    behind_open(&b, more);
    port = qpci_device_find(b.bus, OTHER_PORT);
    qpci_config_writel(port, PCI_PRIMARY_BUS, 0x00020200);
    qpci_config_writel(port, PCI_MEMORY_BASE, 0xe1f0e100);      /* 0xe1000000, 16 MiB */
    qpci_device_enable(port);
    behind_renew(&b);
    own = b.bus->mmio_alloc_ptr;
    b.bus->mmio_alloc_ptr = 0xe1000000;
    qernic_init(&other, "ernic1", b.bus, 2 << 8, &b.alloc);
    b.bus->mmio_alloc_ptr = own;        /* of the MSI-X table: in port0's window */
    qernic_setup(&other, 2);
    qernic_qp_create(&b.q, &x, ERNIC_QPT_RC);
    qernic_qp_create(&other, &y, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &y);
    qernic_qp_connect(&y, &x);
    qernic_post_send(&x, &wqe, 0, 64 * 1024);
    qernic_post_send(&y, &wqe, 0, 64 * 1024);
    qtest_clock_step(b.qts, 10000);
    by_interrupt(&b, ECAM + ((uint64_t)OTHER_PORT << 12) +
                 qpci_find_capability(port, PCI_CAP_ID_EXP, 0) + PCI_EXP_SLTCTL,
                 PCI_EXP_SLTCTL_PWR_OFF | PCI_EXP_SLTCTL_PWR_IND_OFF);
    while (qpci_config_readl(&other.dev, PCI_VENDOR_ID) != 0xffffffff) {
        qernic_wait(&b.q, &deadline);
    }
    qtest_qmp_eventwait(b.qts, "DEVICE_DELETED");
    qernic_transfers(&b.q, &b.q);
    g_free(port);
    behind_close(&b);
}

static bool migration_is(QTestState *qts, const char *status)
{
    QDict *rsp = qtest_qmp_assert_success_ref(qts, "{ 'execute': 'query-migrate' }");
    bool is = g_strcmp0(qdict_get_try_str(rsp, "status"), status) == 0;

    qobject_unref(rsp);
    return is;
}

static void migration_ends(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;

    while (!migration_is(qts, "completed")) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
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
static void test_migrating(const void *more)
{
    g_autofree char *path = NULL, *uri = NULL, *incoming = NULL;
    int fd = g_file_open_tmp("ernic-message-XXXXXX", &path, NULL);
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };
    QErnicQp x;
    Behind b, to;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    uri = g_strdup_printf("file:%s", path);
    behind_open(&b, more);
    behind_renew(&b);
    qernic_qp_create(&b.q, &x, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &x);
    qernic_post_send(&x, &wqe, 0, 64 * 1024);
    bandwidth(b.qts, 4096);
    qtest_qmp_assert_success(b.qts, "{ 'execute': 'migrate',"
                             " 'arguments': { 'uri': %s } }", uri);
    while (!migration_is(b.qts, "active")) {
        g_usleep(1000);
    }
    send_messages(&b, &ejects, by_interrupt);
    qtest_qmp_eventwait(b.qts, "DEVICE_DELETED");
    g_assert_true(migration_is(b.qts, "active"));
    bandwidth(b.qts, 1ll << 34);
    migration_ends(b.qts);

    incoming = g_strconcat(more, " -incoming defer", NULL);
    behind_start(&to, incoming);
    qtest_clock_set(to.qts, qtest_clock_step(b.qts, 1));
    qtest_qmp_assert_success(to.qts, "{ 'execute': 'migrate-incoming',"
                             " 'arguments': { 'uri': %s } }", uri);
    migration_ends(to.qts);
    to.q = (QErnic) { .qts = to.qts, .id = "ernic0" };
    g_assert_cmpuint(qernic_stat(&to.q, "memory.used"), ==, 0);
    qtest_clock_step(to.qts, 1000000);
    behind_close(&b);
    behind_end(&to);
    unlink(path);
}

/* A card of another kind at the same hub: its DMA reaches any address. */
#define NIC_DEVFN   QPCI_DEVFN(4, 0)
#define NIC         " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
                    " -device e1000,addr=04.0,netdev=h1"
#define NIC_BAR     0xe8000000          /* outside of the port's window */
#define NIC_RCTL    0x100
#define NIC_RDBAL   0x2800              /* RDBAH, RDLEN, reserved, RDH, reserved, RDT */
#define NIC_ENABLE  0x04008002          /* receive, broadcasts, no CRC */
#define NIC_ALL     0x18                /* every address */
#define NIC_READY   1100000000          /* ns until it receives */
#define NIC_DESCS   8
#define RC_PAYLOAD  54                  /* of a SEND, after IPv4, UDP and BTH */
#define IN_FRAME    56                  /* where a frame has the word to write */

/*
 * The next frame is written so that its bytes from IN_FRAME on are at @first, and the
 * ones after it so that theirs are at @then.
 */
static void receive_at_both(Behind *b, uint64_t first, uint64_t then)
{
    uint64_t ring = guest_alloc(&b->alloc, 4096);
    QPCIDevice *nic = qpci_device_find(b->bus, NIC_DEVFN);
    QPCIBar bar;

    qpci_device_enable(nic);
    b->bus->mmio_alloc_ptr = NIC_BAR;
    bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(b->qts, ring, 0, 4096);
    for (int i = 0; i < NIC_DESCS; i++) {
        qtest_writeq(b->qts, ring + 16 * i, (i ? then : first) - IN_FRAME);
    }
    qpci_io_writel(nic, bar, NIC_RCTL, 0);
    qpci_io_writel(nic, bar, NIC_RDBAL, ring);
    qpci_io_writel(nic, bar, NIC_RDBAL + 4, 0);
    qpci_io_writel(nic, bar, NIC_RDBAL + 8, NIC_DESCS * 16);
    qpci_io_writel(nic, bar, NIC_RDBAL + 0x10, 0);
    qpci_io_writel(nic, bar, NIC_RDBAL + 0x18, NIC_DESCS - 1);
    qpci_io_writel(nic, bar, NIC_RCTL, NIC_ENABLE | NIC_ALL);
    qtest_clock_step(b->qts, NIC_READY);
    g_free(nic);
}

static void receive_at(Behind *b, uint64_t addr)
{
    receive_at_both(b, addr, addr);
}

/* The frame is a SEND of the engine, which sends with the device's lock held. */
static void by_engine(Behind *b, uint64_t addr, uint32_t value)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };
    QErnic nobody = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 9 } };
    QErnicQp x, y = { .q = &nobody, .qpn = 5 };

    qernic_qp_create(&b->q, &x, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &y);
    receive_at(b, addr);
    qtest_writel(b->qts, b->q.buf + IN_FRAME - RC_PAYLOAD, value);
    qernic_post_send(&x, &wqe, 0, IN_FRAME - RC_PAYLOAD + 4);
}

/* The frame is one of the Ethernet face, which sends without the lock. */
static void by_ethernet(Behind *b, uint64_t addr, uint32_t value)
{
    uint64_t ring = guest_alloc(&b->alloc, 4096), frame = ring + 1024;
    struct ernic_eth_txd desc = {
        .addr = cpu_to_le64(frame), .len = cpu_to_le16(IN_FRAME + 4),
        .flags = ERNIC_ETH_EOP,
    };
    uint64_t regs = ERNIC_ETH_OFFSET;

    qtest_memset(b->qts, ring, 0, 4096);
    qtest_memset(b->qts, frame, 0xff, 12);
    qtest_writel(b->qts, frame + IN_FRAME, value);
    qtest_memwrite(b->qts, ring, &desc, sizeof(desc));
    qtest_memwrite(b->qts, ring + sizeof(desc), &desc, sizeof(desc));
    receive_at(b, addr);
    qernic_write64(&b->q, regs + offsetof(struct ernic_eth_regs, tx_addr), ring);
    qernic_write64(&b->q, regs + offsetof(struct ernic_eth_regs, state_addr),
                   ring + 2048);
    qernic_write(&b->q, regs + offsetof(struct ernic_eth_regs, tx_shift), 2);
    qernic_write(&b->q, regs + offsetof(struct ernic_eth_regs, ctrl), ERNIC_ETH_TX);
    qernic_write(&b->q, regs + offsetof(struct ernic_eth_regs, tx_pi), 2);
}

static const Message frames_to[] = {
    { "function reset", false, { PCI_CAP_ID_EXP, PCI_EXP_DEVCTL },
      PCI_EXP_DEVCTL_BCR_FLR, { 0, PCI_BASE_ADDRESS_2 }, 0xfffffff0, 0 },
    { "D3hot", false, { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3,
      { PCI_CAP_ID_PM, PCI_PM_CTRL }, 3, 3 },
};

static void test_frame(const void *more)
{
    static Way *const ways[2] = { by_engine, by_ethernet };

    send_all(more, ways, frames_to, ARRAY_SIZE(frames_to));
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
                    " -device ernic,id=ernic1,bus=port1,iothread=io0" \
                    ",roce-udp=127.0.0.1:0"
#define NIC2_BAR    0xe9000000
#define NIC_TCTL    0x400
#define NIC_TDBAL   0x3800
#define SENT_LEN    60
#define D3HOT       3

/* NIC 2 has a frame whose word at IN_FRAME is @word. Returns its first descriptor. */
static uint64_t prepare_nic2(Behind *b, QPCIBar *bar, uint32_t word)
{
    QPCIDevice *nic = qpci_device_find(b->bus, QPCI_DEVFN(6, 0));
    uint64_t ring = guest_alloc(&b->alloc, 4096), frame = ring + 1024;

    qpci_device_enable(nic);
    b->bus->mmio_alloc_ptr = NIC2_BAR;
    *bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(b->qts, ring, 0, 4096);
    qtest_memset(b->qts, frame, 0xff, 6);
    qtest_writel(b->qts, frame + IN_FRAME, word);
    qtest_writeq(b->qts, ring, frame);
    qtest_writel(b->qts, ring + 8, SENT_LEN | 0x0b000000);      /* EOP, IFCS, RS */
    qpci_io_writel(nic, *bar, NIC_TCTL, 2);
    g_free(nic);
    return ring;
}

static void test_nested(const void *more)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };
    QErnic nobody = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 9 } };
    QErnicQp x, y = { .q = &nobody, .qpn = 5 };
    QPCIDevice *port, *other;
    uint64_t tx, word, deadline = 0;
    QPCIBar bar;
    uint16_t pm;
    Behind b;

    behind_open(&b, more);
    port = qpci_device_find(b.bus, OTHER_PORT);
    qpci_config_writel(port, PCI_PRIMARY_BUS, 0x00020200);
    qpci_config_writel(port, PCI_MEMORY_BASE, 0xe1f0e100);
    qpci_device_enable(port);
    behind_renew(&b);
    other = qpci_device_find(b.bus, 2 << 8);
    g_assert_nonnull(other);
    pm = qpci_find_capability(other, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
    qernic_qp_create(&b.q, &x, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &y);
    tx = prepare_nic2(&b, &bar, D3HOT);
    receive_at_both(&b, bar.addr + NIC_TDBAL, ECAM + (2 << 20) + pm);
    /* TDBAL to TDT of NIC 2, in the payload. */
    word = b.q.buf + IN_FRAME - RC_PAYLOAD;
    qtest_memset(b.qts, b.q.buf, 0, 64);
    qtest_writel(b.qts, word, tx);
    qtest_writel(b.qts, word + 8, 128);
    qtest_writel(b.qts, word + 0x18, 1);
    qernic_post_send(&x, &wqe, 0, 2 + 0x1c);
    while ((qpci_config_readl(other, pm) & PCI_PM_CTRL_STATE_MASK) != D3HOT) {
        qernic_wait(&b.q, &deadline);
    }
    /* The sender still works. */
    g_assert_cmpuint(qernic_cmd(&b.q, &(struct ernic_cmd) { .opcode = ERNIC_CMD_NOP },
                                NULL), ==, ERNIC_OK);
    g_free(port);
    g_free(other);
    behind_close(&b);
}

static const struct {
    const char *name, *more;    /* properties, and devices */
    void (*fn)(const void *more);
} tests[] = {
    { "frame", ",netdev=h0" NIC, test_frame },
    { "frame-timing", ",netdev=h0,timing=on" NIC, test_frame },
    { "frame-pg332", ",netdev=h0,ernic-version=3.1" NIC, test_frame },
    { "frame-main-loop", ",netdev=h0,engine-thread=off" NIC, test_frame },
    { "nested", ",netdev=h0" NESTED, test_nested },
    { "nested-main-loop", ",netdev=h0,engine-thread=off" NESTED, test_nested },
    { "plain", "", test_message },
    { "timing", ",timing=on", test_message },
    { "iothread", ",iothread=io0,roce-udp=127.0.0.1:0", test_message },
    { "pg332", ",ernic-version=3.1", test_message },
    { "other", OTHER, test_other },
    { "migrating", "", test_migrating },
    { "migrating-iothread", ",iothread=io0,roce-udp=127.0.0.1:0", test_migrating },
    { "migrating-timing", ",timing=on", test_migrating },
    { "migrating-pg332", ",ernic-version=3.1", test_migrating },
};

static void register_tests(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("/ernic-message/%s", tests[i].name);

        qtest_add_data_func(path, tests[i].more, tests[i].fn);
    }
}

libqos_init(register_tests);
