/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of the device: every entry in every state, from before its driver enables it
 * until after unplug; MSI-X messages that reset, move, power down or eject the function
 * that sends them; and DMA of another card that does so while it receives a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ernic-card.h"

#define SLOT        4
#define DEVFN       QPCI_DEVFN(SLOT, 0)
#define EJECT       0xae08
#define Q35_PCIEXBAR    0x60
#define ECAM        0xb0000000ull

static void flr(QPCIDevice *dev)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL;

    qpci_config_writew(dev, at, qpci_config_readw(dev, at) | PCI_EXP_DEVCTL_BCR_FLR);
}

static void set_power(QPCIDevice *dev, uint16_t state)
{
    qpci_config_writew(dev, qpci_find_capability(dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL,
                       state);
}

/* ---- the table: a machine with one function ----------------------------------- */

typedef struct Life {
    CardMachine m;
    QErnic q;
    const char *more;           /* properties */
    int fd;                     /* the other end of the netdev */
    uint16_t port;              /* of the UDP link; 0: none */
    uint64_t mmio;              /* where the BARs begin */
    bool verbs;                 /* BAR 2 is the verbs face */
    bool stopped, gone;
} Life;

static void add_device(Life *l)
{
    g_autofree char *reply = qtest_hmp(l->m.qts, "device_add ernic,id=ernic0,"
                                       "addr=04.0%s", l->more);

    g_assert_cmpstr(reply, ==, "");
    l->gone = false;
}

static bool has_bar_0(const Life *l)
{
    return strstr(l->more, "ernic-version") || !l->verbs;
}

/* The function is in D0 after this, without MSI-X, and its BARs are mapped. */
static void renew(Life *l)
{
    alloc_destroy(&l->m.alloc);
    pc_alloc_init(&l->m.alloc, l->m.qts, 0);
    l->m.bus->mmio_alloc_ptr = l->mmio;
    if (l->stopped) {
        qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'cont' }");
        l->stopped = false;
    }
    if (l->gone) {
        add_device(l);
    } else {
        flr(&l->q.dev);
    }
    qernic_init(&l->q, "ernic0", l->m.bus, DEVFN, &l->m.alloc);
    qpci_iomap(&l->q.dev, ERNIC_BAR_MSIX, NULL);
    if (has_bar_0(l)) {
        qpci_iomap(&l->q.dev, ERNIC_BAR_PG332, NULL);
    }
}

static void eject(Life *l)
{
    qpci_unplug_acpi_device_test(l->m.qts, "ernic0", SLOT);
    l->gone = true;
}

static QDict *get(Life *l, const char *property)
{
    return qtest_qmp(l->m.qts, "{ 'execute': 'qom-get', 'arguments': {"
                     " 'path': 'ernic0', 'property': %s } }", property);
}

/* ---- states ------------------------------------------------------------------ */

static void enable(Life *l)
{
    if (l->verbs) {
        qernic_setup(&l->q, 1);
    }
}

static void state_traffic(Life *l)
{
    QErnicQp x, y;

    if (l->verbs) {
        qernic_setup(&l->q, 1);
        qernic_begin(&l->q, &x, &y);
    }
}

/* The command ring is not in memory. */
static void state_fatal(Life *l)
{
    uint64_t deadline = 0;

    if (l->verbs) {
        l->q.cmd_ring = 1ull << 46;
        qernic_enable(&l->q);
        qernic_set_reg(&l->q, cmd_pi, 1);
        while (!(qernic_reg(&l->q, status) & ERNIC_STATUS_FATAL)) {
            qernic_wait(&l->q, &deadline);
        }
    }
}

static void state_d3hot(Life *l)
{
    state_traffic(l);
    set_power(&l->q.dev, 3);
}

static void state_reset(Life *l)
{
    state_traffic(l);
    flr(&l->q.dev);
}

static void state_stopped(Life *l)
{
    state_traffic(l);
    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'stop' }");
    l->stopped = true;
}

static void state_requested(Life *l)
{
    state_traffic(l);
    qtest_qmp_device_del_send(l->m.qts, "ernic0");
}

static void state_gone(Life *l)
{
    state_traffic(l);
    eject(l);
}

/* unmapped: the BARs do not answer. */
static const struct {
    const char *name;
    void (*reach)(Life *l);
    bool unmapped;
} states[] = {
    { "before-enable", NULL },
    { "enabled", enable },
    { "traffic", state_traffic },
    { "fatal", state_fatal },
    { "d3hot", state_d3hot, true },
    { "reset", state_reset, true },
    { "stopped", state_stopped },
    { "unplug-requested", state_requested },
    { "gone", state_gone, true },
};

/* ---- entries ----------------------------------------------------------------- */

static void reads(Life *l)
{
    uint32_t at;

    for (at = 0; at < 0x200; at += 4) {
        qernic_read(&l->q, at);
    }
}

static void writes(Life *l)
{
    uint32_t at;

    for (at = 0; at < 0x200; at += 4) {
        qernic_write(&l->q, at, 0);
    }
}

static void doorbells(Life *l)
{
    uint32_t i;

    for (i = 0; i < 1100; i++) {            /* more than the queue takes */
        qernic_write64(&l->q, 0x1000, ERNIC_DB(i % 8, i % 3, i));
    }
}

/* The address of a BAR; 0: it has none. */
static uint64_t bar_at(Life *l, uint8_t reg)
{
    uint32_t at = qpci_config_readl(&l->q.dev, reg);

    return at == 0xffffffff ? 0 : at & ~15u;
}

static void bar_0(Life *l)
{
    QPCIBar bar = { .addr = bar_at(l, PCI_BASE_ADDRESS_0) };
    uint32_t at;

    if (bar.addr) {
        for (at = PG332_V3_GLOBAL; at < PG332_V3_QP + PG332_SLOT; at += 4) {
            qpci_io_writel(&l->q.dev, bar, at, qpci_io_readl(&l->q.dev, bar, at) | 1);
        }
    }
}

static void msix(Life *l)
{
    uint64_t at = bar_at(l, PCI_BASE_ADDRESS_4);

    if (at) {
        qtest_writel(l->m.qts, at, 0xfee00000);
        qtest_writel(l->m.qts, at + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
        qtest_readl(l->m.qts, at + 0x800);
    }
}

static void config(Life *l)
{
    QPCIDevice *dev = &l->q.dev;
    uint16_t at;

    for (at = 0x10; at < 0x100; at += 4) {
        qpci_config_writel(dev, at, qpci_config_readl(dev, at));
    }
    qpci_config_writew(dev, PCI_COMMAND, 0);
    qpci_config_writew(dev, PCI_COMMAND, 7);
}

static void time_passes(Life *l)
{
    int i;

    for (i = 0; i < 4; i++) {
        qtest_clock_step(l->m.qts, 1000000);
    }
}

static void monitor(Life *l)
{
    QDict *rsp = get(l, "statistics");

    g_assert_cmpint(qdict_haskey(rsp, "return"), ==, !l->gone);
    qobject_unref(rsp);
    qobject_unref(get(l, "ernic-violations"));
    qobject_unref(get(l, "roce-port"));
    qobject_unref(qtest_qmp(l->m.qts, "{ 'execute': 'qom-set', 'arguments': {"
                            " 'path': 'ernic0', 'property': 'add-peer',"
                            " 'value': '10.9.9.9=127.0.0.1:9' } }"));
}

static void cable(Life *l)
{
    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'n0', 'up': false } }");
    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'n0', 'up': true } }");
}

/* A broadcast, and a frame that says it is RoCEv2. */
static void frames(Life *l)
{
    uint8_t frame[4 + 200] = { [3] = 200 };

    memset(frame + 4, 0xff, 6);
    g_assert_cmpint(write(l->fd, frame, sizeof(frame)), ==, sizeof(frame));
    memcpy(frame + 4 + 12, "\x08\x00\x45\x00\x00\xba\x00\x00\x40\x00\x40\x11", 12);
    stw_be_p(frame + 4 + 36, 4791);
    g_assert_cmpint(write(l->fd, frame, sizeof(frame)), ==, sizeof(frame));
    time_passes(l);
}

static void datagrams(Life *l)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(l->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    uint8_t packet[64] = { 4, 0, 0xff, 0xff, [7] = 2 };
    int fd;

    if (l->port) {
        fd = socket(AF_INET, SOCK_DGRAM, 0);
        sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to));
        close(fd);
    }
    time_passes(l);
}

static void save(Life *l)
{
    uint64_t deadline = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
    bool done = false;
    QDict *rsp;

    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'migrate', 'arguments': {"
                             " 'uri': 'exec:cat >/dev/null' } }");
    while (!done) {
        rsp = qtest_qmp_assert_success_ref(l->m.qts,
                                           "{ 'execute': 'query-migrate' }");
        done = g_str_equal(qdict_get_str(rsp, "status"), "completed");
        g_assert_cmpstr(qdict_get_str(rsp, "status"), !=, "failed");
        qobject_unref(rsp);
        g_assert_cmpuint(g_get_monotonic_time(), <, deadline);
    }
    l->stopped = true;
}

static void machine_reset(Life *l)
{
    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(l->m.qts, "RESET");
    /* A reset of the machine ejects what the guest was asked to release. */
    l->gone = qpci_config_readw(&l->q.dev, PCI_VENDOR_ID) == 0xffff;
}

static void function_reset(Life *l)
{
    if (!l->gone) {
        flr(&l->q.dev);
    }
}

static void power(Life *l)
{
    if (!l->gone) {
        set_power(&l->q.dev, 3);
        set_power(&l->q.dev, 0);
    }
}

static void unplug(Life *l)
{
    if (!l->gone) {
        eject(l);
    }
}

static const struct {
    const char *name;
    void (*enter)(Life *l);
} entries[] = {
    { "reads", reads }, { "writes", writes }, { "doorbells", doorbells },
    { "bar-0", bar_0 }, { "msix", msix }, { "config", config },
    { "time", time_passes }, { "monitor", monitor }, { "cable", cable },
    { "frames", frames }, { "datagrams", datagrams }, { "save", save },
    { "machine-reset", machine_reset }, { "function-reset", function_reset },
    { "power", power }, { "unplug", unplug },
};

/* ---- the walk ---------------------------------------------------------------- */

static void check_alive(Life *l, bool unmapped)
{
    qtest_qmp_assert_success(l->m.qts, "{ 'execute': 'query-status' }");
    if (unmapped) {
        g_assert_cmphex(qernic_reg(&l->q, magic), !=, ERNIC_MAGIC);
    }
}

static void begin(Life *l, const char *more)
{
    int fds[2];
    g_autofree char *args = NULL;
    QDict *rsp;

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    args = g_strdup_printf(" -object iothread,id=io0 -device ernic-wire,id=w0"
                           " -netdev socket,fd=%d,id=n0"
                           " -device ernic,id=ernic0,addr=04.0%s", fds[1], more);
    *l = (Life) { .more = more, .fd = fds[0], .verbs = !strstr(more, "shell") };
    card_machine_open(&l->m, args);
    close(fds[1]);
    l->mmio = l->m.bus->mmio_alloc_ptr;
    qernic_init(&l->q, "ernic0", l->m.bus, DEVFN, &l->m.alloc);
    rsp = get(l, "roce-port");
    l->port = atoi(qdict_get_str(rsp, "return"));
    qobject_unref(rsp);
}

static void test_table(const void *more)
{
    size_t s, e;
    Life l;

    begin(&l, more);
    for (s = 0; s < ARRAY_SIZE(states); s++) {
        for (e = 0; e < ARRAY_SIZE(entries); e++) {
            g_test_message("%s: %s", states[s].name, entries[e].name);
            renew(&l);
            if (states[s].reach) {
                states[s].reach(&l);
            }
            check_alive(&l, states[s].unmapped);
            entries[e].enter(&l);
            check_alive(&l, l.gone);
        }
    }
    renew(&l);
    if (l.verbs) {
        qernic_setup(&l.q, 1);
        qernic_transfers(&l.q, &l.q);
    }
    close(l.fd);
    card_machine_close(&l.m);
}

/* The monitor ends the device, which stays in its tree: every entry finds it gone. */
static void test_unrealize(const void *more)
{
    QDict *rsp;
    size_t e;
    Life l;

    begin(&l, more);
    state_traffic(&l);
    qtest_qmp_assert_success(l.m.qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'ernic0', 'property': 'realized',"
                             " 'value': false } }");
    l.gone = true;
    rsp = qtest_qmp(l.m.qts, "{ 'execute': 'qom-set', 'arguments': {"
                    " 'path': 'ernic0', 'property': 'realized', 'value': true } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    for (e = 0; e < ARRAY_SIZE(entries); e++) {
        entries[e].enter(&l);
        check_alive(&l, true);
        l.gone = true;
    }
    close(l.fd);
    card_machine_close(&l.m);
}

/* ---- messages to configuration space ------------------------------------------ */

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

static void behind_open(Behind *b, const char *more)
{
    *b = (Behind) { .qts = qtest_initf(
        "-M q35 -nodefaults -object iothread,id=io0"
        " -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"
        " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
        " -device ernic,id=ernic0,bus=port0%s", more) };
    pc_alloc_init(&b->alloc, b->qts, 0);
    b->bus = qpci_new_pc(b->qts, &b->alloc);
    b->mmio = b->bus->mmio_alloc_ptr;
    qtest_outl(b->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(b->qts, 0xcfc, ECAM | 1);
    open_port(b);
}

static void behind_close(Behind *b)
{
    g_free(b->port);
    qpci_free_pc(b->bus);
    alloc_destroy(&b->alloc);
    qtest_quit(b->qts);
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
    int i;

    qpci_msix_enable(dev);
    for (i = 0; i < 17; i++) {
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
                     .mac = { 0x52, 0x54, 0, 0, 0, 1 },
                     .vlan = cpu_to_le16(0xffff) },
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
static void send_all(const char *more, Way *const ways[2], const Message *row,
                     size_t num)
{
    size_t i, w;
    Behind b;

    for (w = 0; w < 2; w++) {
        behind_open(&b, more);
        for (i = 0; i < num; i++) {
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

/* ---- frames to configuration space --------------------------------------------- */

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

/* The next frames are written so that their bytes from IN_FRAME on are at @addr. */
static void receive_at(Behind *b, uint64_t addr)
{
    uint64_t ring = guest_alloc(&b->alloc, 4096);
    QPCIDevice *nic = qpci_device_find(b->bus, NIC_DEVFN);
    QPCIBar bar;
    int i;

    qpci_device_enable(nic);
    b->bus->mmio_alloc_ptr = NIC_BAR;
    bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(b->qts, ring, 0, 4096);
    for (i = 0; i < NIC_DESCS; i++) {
        qtest_writeq(b->qts, ring + 16 * i, addr - IN_FRAME);
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

/* ---- tests --------------------------------------------------------------------- */

static void add(const char *name, const char *kind, const char *more,
                void (*fn)(const void *more))
{
    g_autofree char *path = g_strdup_printf("/ernic-life/%s-%s", name, kind);

    qtest_add_data_func(path, more, fn);
}

static void register_tests(void)
{
    static const struct {
        const char *name, *more;
    } kinds[] = {
        { "netdev", ",netdev=n0" },
        { "both-links", ",netdev=n0,roce-udp=127.0.0.1:0" },
        { "iothread", ",iothread=io0,roce-udp=127.0.0.1:0" },
        { "timing", ",timing=on,netdev=n0" },
        { "pg332", ",wire=w0,ernic-version=3.1" },
        { "pg332-timing", ",wire=w0,ernic-version=4.2,timing=on" },
        { "shell", ",netdev=n0,shell=reconic" },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        add("table", kinds[i].name, kinds[i].more, test_table);
        add("unrealize", kinds[i].name, kinds[i].more, test_unrealize);
    }
    add("frame", "plain", ",netdev=h0" NIC, test_frame);
    add("frame", "timing", ",netdev=h0,timing=on" NIC, test_frame);
    add("frame", "pg332", ",netdev=h0,ernic-version=3.1" NIC, test_frame);
    add("message", "plain", "", test_message);
    add("message", "timing", ",timing=on", test_message);
    add("message", "iothread", ",iothread=io0,roce-udp=127.0.0.1:0", test_message);
    add("message", "pg332", ",ernic-version=3.1", test_message);
}

libqos_init(register_tests);
