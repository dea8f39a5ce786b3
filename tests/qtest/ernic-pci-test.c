/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI function while it works: power states, masked interrupts, reset and
 * unplug in the middle of a transfer, and a guest that writes random values.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ernic.h"

#define MS      1000000

#define Q35_PCIEXBAR    0x60
#define ECAM            0xb0000000ull

/* Only a PCI Express chipset gives access to extended capabilities. */
static void test_aer(void *obj, void *data, QGuestAllocator *alloc)
{
    QTestState *qts = qtest_init("-M q35 -device ernic,addr=04.0");
    uint64_t config = ECAM + (4 << 15);
    uint32_t head;

    qtest_outl(qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(qts, 0xcfc, ECAM | 1);
    g_assert_cmphex(qtest_readl(qts, config), ==,
                    ERNIC_PCI_DEVICE << 16 | ERNIC_PCI_VENDOR);
    head = qtest_readl(qts, config + PCI_CFG_SPACE_SIZE);
    g_assert_cmphex(PCI_EXT_CAP_ID(head), ==, PCI_EXT_CAP_ID_ERR);
    g_assert_cmpuint(PCI_EXT_CAP_VER(head), ==, 2);
    qtest_quit(qts);
}

static uint8_t pm_ctrl(QErnic *q)
{
    return qpci_find_capability(&q->dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
}

static void set_power(QErnic *q, uint16_t state)
{
    uint8_t at = pm_ctrl(q);
    uint16_t ctrl = qpci_config_readw(&q->dev, at) & ~PCI_PM_CTRL_STATE_MASK;

    qpci_config_writew(&q->dev, at, ctrl | state);
}

static uint16_t power(QErnic *q)
{
    return qpci_config_readw(&q->dev, pm_ctrl(q)) & PCI_PM_CTRL_STATE_MASK;
}

/* Waits for the next retransmission of a message that is never acknowledged. */
static void sends(QErnic *q)
{
    uint64_t before = qernic_stat(q, "tx_packets"), deadline = 0;

    while (qernic_stat(q, "tx_packets") == before) {
        qernic_wait(q, &deadline);
    }
}

/* Nothing is sent in the time of a thousand retransmissions. */
static void sends_nothing(QErnic *q)
{
    uint64_t before = qernic_stat(q, "tx_packets");

    for (int i = 0; i < 10; i++) {
        qtest_clock_step(q->qts, MS);
    }
    g_assert_cmpuint(qernic_stat(q, "tx_packets"), ==, before);
}

/* In D3hot the device does nothing; in D0 it continues where it stopped. */
static void check_power(QErnic *q)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnicQp x, y;
    uint16_t d;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    sends(q);
    for (d = 1; d < 3; d++) {           /* states that the device lacks */
        set_power(q, d);
        g_assert_cmpuint(power(q), ==, 0);
    }
    set_power(q, 3);
    g_assert_cmpuint(power(q), ==, 3);
    g_assert_cmphex(qernic_reg(q, magic), !=, ERNIC_MAGIC);
    sends_nothing(q);
    /* Stop and start of the machine do not change the power state. */
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'cont' }");
    sends_nothing(q);
    set_power(q, 0);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    g_assert_cmpuint(qernic_cmd(q, &nop, NULL), ==, ERNIC_OK);
    sends(q);
    qernic_end(&x, &y);
}

static void test_power(void *obj, void *data, QGuestAllocator *alloc)
{
    check_power(obj);
}

static void *with_iothread(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, " -object iothread,id=io0 -device ernic,id=ernic1,"
                    "addr=05.0,roce-udp=127.0.0.1:0,iothread=io0 ");
    return arg;
}

static void test_power_iothread(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj, q;

    qernic_init(&q, "ernic1", any->dev.bus, QPCI_DEVFN(5, 0), alloc);
    check_power(&q);
    qernic_fini(&q);
}

static void aim(QErnic *q, int vector, uint64_t addr, uint32_t value)
{
    QPCIDevice *dev = &q->dev;
    uint64_t at = dev->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;

    qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
    qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_DATA, value);
    qpci_io_writel(dev, dev->msix_table_bar, at + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
}

/*
 * A command raises two interrupts at a time. The message of the first one enters D3hot,
 * so the second one is pending there. It is sent in D0.
 */
static void test_power_irq(void)
{
    struct ernic_cmd change = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .gid = { 0xfe, 0x80, [15] = 7 }, .index = 1,
                     .mac = { 0x52, 0x54, 0, 0, 0, 1 }, .vlan = cpu_to_le16(0xffff) },
    };
    uint64_t deadline = 0;
    QGuestAllocator alloc;
    QTestState *qts;
    QPCIBus *bus;
    QErnic q;

    /* A thread could send an interrupt of qernic_setup() later. */
    qts = qtest_init("-M q35 -nodefaults"
                     " -device ernic,id=ernic0,addr=04.0,engine-thread=off");
    pc_alloc_init(&alloc, qts, 0);
    bus = qpci_new_pc(qts, &alloc);
    qtest_outl(qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(qts, 0xcfc, ECAM | 1);
    qernic_init(&q, "ernic0", bus, QPCI_DEVFN(4, 0), &alloc);
    qernic_setup(&q, 1);
    qpci_msix_enable(&q.dev);
    for (int i = 0; i < 17; i++) {          /* those that are pending already */
        aim(&q, i, q.scratch, 0);
    }
    aim(&q, 0, ECAM + (QPCI_DEVFN(4, 0) << 12) + pm_ctrl(&q), 3);
    for (int i = 1; i < 17; i++) {
        aim(&q, i, q.scratch, 7);
    }
    qtest_writel(qts, q.scratch, 0);
    qernic_cmd_post(&q, &change);
    while (power(&q) != 3) {
        qernic_wait(&q, &deadline);
    }
    g_assert_cmphex(qtest_readl(qts, q.scratch), ==, 0);
    set_power(&q, 0);
    while (qtest_readl(qts, q.scratch) != 7) {
        qernic_wait(&q, &deadline);
    }
    qernic_fini(&q);
    qpci_free_pc(bus);
    alloc_destroy(&alloc);
    qtest_quit(qts);
}

/* Commands and doorbells rung before D3hot are processed before it. */
static void test_power_order(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnicQp qp;

    qernic_setup(q, 1);
    qernic_qp_create(q, &qp, ERNIC_QPT_UD);
    qernic_qp_connect(&qp, &qp);
    for (int i = 0; i < 5; i++) {
        qernic_cmd_post(q, &nop);
        qernic_post_recv(&qp, 0, 64);
    }
    set_power(q, 3);
    set_power(q, 0);
    g_assert_cmpuint(qernic_reg(q, cmd_ci), ==, q->cmd_pi);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 0);
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp.qpn, QERNIC_DEPTH + 1));
    g_assert_cmpuint(qernic_cmd(q, &nop, NULL), ==, ERNIC_OK);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 1);
}

/* The power state migrates: a device in D3hot stays in D3hot. */
static void test_power_migrate(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    QTestState *from;
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    set_power(q, 3);
    from = qernic_migrate(q);
    g_assert_cmpuint(power(q), ==, 3);
    sends_nothing(q);
    set_power(q, 0);
    sends(q);
    qernic_end(&x, &y);
    qernic_migrate_end(q, from);
}

static void flr(QErnic *q)
{
    uint8_t pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    uint16_t ctl = qpci_config_readw(&q->dev, pcie + PCI_EXP_DEVCTL);

    qpci_config_writew(&q->dev, pcie + PCI_EXP_DEVCTL, ctl | PCI_EXP_DEVCTL_BCR_FLR);
}

static void machine_reset(QErnic *q)
{
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(q->qts, "RESET");
}

/* A reset of the function or of the machine ends in D0, and the device works. */
static void test_power_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    static void (*const resets[])(QErnic *) = { flr, machine_reset };
    QErnic *q = obj;
    QErnicQp x, y;

    for (size_t i = 0; i < ARRAY_SIZE(resets); i++) {
        qernic_setup(q, 1);
        qernic_begin(q, &x, &y);
        set_power(q, 3);
        resets[i](q);
        g_assert_cmpuint(power(q), ==, 0);
        q->bar = qpci_iomap(&q->dev, ERNIC_BAR_REGS, NULL);
        qpci_device_enable(&q->dev);
        g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_LINK);
        qernic_setup(q, 1);
        qernic_transfers(q, q);
        qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    }
    qos_invalidate_command_line();
}

#define VECTORS     17
#define MASKED      PCI_MSIX_ENTRY_CTRL_MASKBIT

static void vector_write(QErnic *q, uint16_t vector, uint32_t off, uint32_t v)
{
    qpci_io_writel(&q->dev, q->dev.msix_table_bar, q->dev.msix_table_off +
                   vector * PCI_MSIX_ENTRY_SIZE + off, v);
}

static void mask_function(QErnic *q, bool on)
{
    uint8_t at = qpci_find_capability(&q->dev, PCI_CAP_ID_MSIX, 0) + PCI_MSIX_FLAGS;
    uint16_t flags = qpci_config_readw(&q->dev, at) & ~PCI_MSIX_FLAGS_MASKALL;

    qpci_config_writew(&q->dev, at, flags | (on ? PCI_MSIX_FLAGS_MASKALL : 0));
}

static uint32_t message(QErnic *q, uint64_t at, uint16_t vector)
{
    return qtest_readl(q->qts, at + vector * 4);
}

/* A vector masked alone, then by the function mask: it is pending, and sent once. */
static void test_vectors(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint64_t at = guest_alloc(alloc, 4096), deadline;
    struct ernic_cmd change = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .gid = { 0xfe, 0x80, [15] = 1 }, .index = 1,
                     .mac = { 0x52, 0x54, 0, 0, 0, 1 }, .vlan = cpu_to_le16(0xffff) },
    };
    struct ernic_cmd eq = {
        .opcode = ERNIC_CMD_EQ_CREATE,
        .eq_create = { .depth = cpu_to_le32(QERNIC_DEPTH), .async = 1 },
    };
    uint16_t vector, other;

    qpci_msix_enable(&q->dev);
    for (vector = 1; vector < VECTORS; vector++) {
        qernic_enable(q);
        qtest_memset(q->qts, at, 0, 4096);
        for (other = 0; other < VECTORS; other++) {
            vector_write(q, other, PCI_MSIX_ENTRY_LOWER_ADDR, at + other * 4);
            vector_write(q, other, PCI_MSIX_ENTRY_UPPER_ADDR, 0);
            vector_write(q, other, PCI_MSIX_ENTRY_DATA, 0x100 + other);
            vector_write(q, other, PCI_MSIX_ENTRY_VECTOR_CTRL,
                         other == vector ? MASKED : 0);
        }
        eq.eq_create.buf.addr = cpu_to_le64(at + 2048);
        eq.eq_create.vector = cpu_to_le16(vector);
        g_assert_cmpuint(qernic_cmd(q, &eq, NULL), ==, ERNIC_OK);
        g_assert_cmpuint(qernic_cmd(q, &change, NULL), ==, ERNIC_OK);
        deadline = 0;
        while (!qpci_msix_pending(&q->dev, vector)) {
            qernic_wait(q, &deadline);
        }
        /* Of all vectors, only that of commands has sent its message. */
        for (other = 0; other < VECTORS; other++) {
            g_assert_cmphex(message(q, at, other), ==, other ? 0 : 0x100);
        }
        mask_function(q, true);
        vector_write(q, vector, PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
        g_assert_cmphex(message(q, at, vector), ==, 0);
        mask_function(q, false);
        g_assert_cmphex(message(q, at, vector), ==, 0x100 + vector);
        g_assert_false(qpci_msix_pending(&q->dev, vector));
        qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    }
    qpci_msix_disable(&q->dev);
}

static uint64_t random_bits(void)
{
    return (uint64_t)g_test_rand_int() << 32 | (uint32_t)g_test_rand_int();
}

/* A random value; small values and addresses of RAM reach most of the code. */
static uint64_t random_value(uint64_t ram)
{
    switch (g_test_rand_int_range(0, 5)) {
    case 0:
        return g_test_rand_int_range(0, 4);
    case 1:
        return ram + g_test_rand_int_range(0, 4096) / 64 * 64;
    case 2:
        return ERNIC_DB(g_test_rand_int_range(0, 8), g_test_rand_int_range(0, 4),
                        g_test_rand_int_range(0, 20));
    case 3:
        return 1ull << g_test_rand_int_range(0, 64);
    default:
        return random_bits();
    }
}

static uint64_t random_offset(void)
{
    switch (g_test_rand_int_range(0, 4)) {
    case 0:
        return g_test_rand_int_range(0, sizeof(struct ernic_regs) / 4) * 4;
    case 1:
        return ERNIC_ETH_OFFSET +
               g_test_rand_int_range(0, sizeof(struct ernic_eth_regs) / 4) * 4;
    case 2:
        return 0x1000 + g_test_rand_int_range(0, 3) * 0x1000;
    default:
        return g_test_rand_int_range(0, 0x20000);
    }
}

/*
 * Random writes to registers, doorbells and the vector table: the device works again
 * after a reset. The test framework prints the seed; --seed repeats it.
 */
static void test_random(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    uint64_t ram = guest_alloc(alloc, 65536), off, value;

    qpci_msix_enable(&q->dev);
    qernic_setup(q, 1);
    for (int i = 0; i < 20000; i++) {
        off = random_offset();
        value = random_value(ram);
        switch (g_test_rand_int_range(0, 6)) {
        case 0:
            qpci_io_writeb(&q->dev, q->bar, off, value);
            break;
        case 1:
            qpci_io_writew(&q->dev, q->bar, off, value);
            break;
        case 2:
            qpci_io_writeq(&q->dev, q->bar, off & ~7ull, value);
            break;
        case 3:
            /* MSI-X messages go to registers of the device or to RAM. */
            value = g_test_rand_int_range(0, 2) ? ram : q->bar.addr;
            vector_write(q, off / 4 % VECTORS, PCI_MSIX_ENTRY_LOWER_ADDR,
                         value + off % 256 / 4 * 4);
            vector_write(q, off / 4 % VECTORS, PCI_MSIX_ENTRY_VECTOR_CTRL, off & 1);
            break;
        default:
            qpci_io_writel(&q->dev, q->bar, off, value);
            break;
        }
        if (i % 64 == 0) {
            qtest_clock_step(q->qts, 100000);
        }
        if (i % 1000 == 0) {
            qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
            qernic_enable(q);
        }
    }
    qpci_msix_disable(&q->dev);
    flr(q);
    q->bar = qpci_iomap(&q->dev, ERNIC_BAR_REGS, NULL);
    qpci_device_enable(&q->dev);
    qernic_setup(q, 1);
    qernic_transfers(q, q);
    qos_invalidate_command_line();
}

/* Processor time that QEMU has used, in clock ticks of the host. */
static unsigned long ticks_used(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", qtest_pid(qts));
    g_autofree char *text = NULL;
    unsigned long user = 0, system = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(strrchr(text, ')'),
                           ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
                           " %lu %lu", &user, &system), ==, 2);
    return user + system;
}

/* An idle device uses no processor time of the host. */
static void test_idle(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    unsigned long before;

    qernic_enable(q);
    before = ticks_used(q->qts);
    g_usleep(G_USEC_PER_SEC);
    g_assert_cmpuint(ticks_used(q->qts) - before, <=, sysconf(_SC_CLK_TCK) / 20);
}

/* Unplugs the device while commands and a transfer are in progress. */
static void unplug_busy(QErnic *any, QGuestAllocator *alloc)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnicQp x, y;
    QErnic q;

    qernic_init(&q, "plugged", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_setup(&q, 1);
    qernic_begin(&q, &x, &y);
    for (int i = 0; i < QERNIC_DEPTH; i++) {
        qernic_cmd_post(&q, &nop);
    }
    qpci_unplug_acpi_device_test(any->qts, "plugged", 0x06);
    qernic_fini(&q);
}

static void test_hotplug(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;

    if (q->dev.bus->not_hotpluggable) {
        g_test_skip("pci bus does not support hotplug");
        return;
    }
    qtest_qmp_device_add(q->qts, "ernic", "plugged", "{'addr': '0x06'}");
    qpci_unplug_acpi_device_test(q->qts, "plugged", 0x06);
    qtest_qmp_device_add(q->qts, "ernic", "plugged", "{'addr': '0x06'}");
    unplug_busy(q, alloc);
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'object-add', 'arguments': {"
                             " 'qom-type': 'iothread', 'id': 'io1' } }");
    qtest_qmp_device_add(q->qts, "ernic", "plugged", "{'addr': '0x06',"
                         " 'iothread': 'io1', 'roce-udp': '127.0.0.1:0' }");
    unplug_busy(q, alloc);
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'object-del', 'arguments': {"
                             " 'id': 'io1' } }");
}

static void register_tests(void)
{
    QOSGraphTestOptions io = { .before = with_iothread };

    qos_add_test("aer", "ernic", test_aer, NULL);
    qos_add_test("power", "ernic", test_power, NULL);
    qos_add_test("power-iothread", "ernic", test_power_iothread, &io);
    qos_add_test("power-order", "ernic", test_power_order, NULL);
    qtest_add_func("/ernic-pci/power-irq", test_power_irq);
    qos_add_test("power-migrate", "ernic", test_power_migrate, NULL);
    qos_add_test("power-reset", "ernic", test_power_reset, NULL);
    qos_add_test("vectors", "ernic", test_vectors, NULL);
    qos_add_test("random", "ernic", test_random, NULL);
    qos_add_test("idle", "ernic", test_idle, NULL);
    qos_add_test("hotplug", "ernic", test_hotplug, NULL);
}

libqos_init(register_tests);
