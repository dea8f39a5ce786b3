/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI function while it works: power states, masked interrupts, reset and unplug in
 * the middle of a transfer.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic.h"

#define MS      1000000
#define VECTORS 17

#define Q35_PCIEXBAR    0x60
#define ECAM            0xb0000000ull

/* Only a PCI Express chipset gives access to extended capabilities. */
MACHINE_TEST("/ernic-aer", test_aer)
{
    QTestState *qts = qernic_machine("-M q35" VERBS_NIC ",addr=04.0")->qts;
    uint64_t config = ECAM + (4 << 15);
    uint32_t head;

    qtest_outl(qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(qts, 0xcfc, ECAM | 1);
    g_assert_cmphex(qtest_readl(qts, config), ==,
                    ERNIC_PCI_DEVICE << 16 | ERNIC_PCI_VENDOR);
    head = qtest_readl(qts, config + PCI_CFG_SPACE_SIZE);
    g_assert_cmphex(PCI_EXT_CAP_ID(head), ==, PCI_EXT_CAP_ID_ERR);
    g_assert_cmpuint(PCI_EXT_CAP_VER(head), ==, 2);
}

static uint8_t pm_ctrl(QErnic *q)
{
    return qpci_find_capability(&q->dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
}

static uint16_t power(QErnic *q)
{
    return qpci_config_readw(&q->dev, pm_ctrl(q)) & PCI_PM_CTRL_STATE_MASK;
}

/* Waits for the next retransmission of a message that is never acknowledged. */
static void sends(QErnic *q)
{
    uint64_t before = qernic_stat(q, "tx_packets");

    qernic_wait_while(q->qts, qernic_stat(q, "tx_packets") == before);
}

/* Nothing is sent in the time of a thousand retransmissions. */
static void sends_nothing(QErnic *q)
{
    uint64_t before = qernic_stat(q, "tx_packets");

    qernic_pass(q->qts, 10, MS);
    g_assert_cmpuint(qernic_stat(q, "tx_packets"), ==, before);
}

/* In D3hot the device does nothing; in D0 it continues where it stopped. */
static void check_power(QErnic *q)
{
    QErnicQp x, y;
    uint16_t d;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    sends(q);
    for (d = 1; d < 3; d++) {           /* states that the device lacks */
        qernic_power(&q->dev, d);
        g_assert_cmpuint(power(q), ==, 0);
    }
    qernic_power(&q->dev, 3);
    g_assert_cmpuint(power(q), ==, 3);
    g_assert_cmphex(qernic_reg(q, magic), !=, ERNIC_MAGIC);
    sends_nothing(q);
    /* Stop and start of the machine do not change the power state. */
    qernic_stop(q->qts);
    qernic_cont(q->qts);
    sends_nothing(q);
    qernic_power(&q->dev, 0);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_nop(q);
    sends(q);
    qernic_end(&x, &y);
}

ERNIC_TEST("power", test_power)
{
    check_power(q);
}

MACHINE_TEST("/ernic-power-iothread", test_power_iothread)
{
    QErnicMachine *m = qernic_machine(" -object iothread,id=io0" VERBS_NIC ",id=ernic1,"
                                      "addr=05.0,roce-udp=127.0.0.1:0,iothread=io0");

    check_power(qernic_at(m, "ernic1", 5));
}

/*
 * A command raises two interrupts at a time. The message of the first one enters D3hot,
 * so the second one is pending there. It is sent in D0.
 */
MACHINE_TEST("/ernic-pci/power-irq", test_power_irq)
{
    /* A thread could send an interrupt of qernic_setup() later. */
    QErnicMachine *m = qernic_machine(
        "-M q35" VERBS_NIC ",id=ernic0,addr=04.0,engine-thread=off");
    QErnic *q;

    qtest_outl(m->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(m->qts, 0xcfc, ECAM | 1);
    q = qernic_host(m, "ernic0", 4, 1);
    qpci_msix_enable(&q->dev);
    for (int i = 0; i < VECTORS; i++) {     /* those that are pending already */
        qernic_aim(&q->dev, i, q->scratch, 0);
    }
    qernic_aim(&q->dev, 0, ECAM + (QPCI_DEVFN(4, 0) << 12) + pm_ctrl(q), 3);
    for (int i = 1; i < VECTORS; i++) {
        qernic_aim(&q->dev, i, q->scratch, 7);
    }
    qtest_writel(m->qts, q->scratch, 0);
    qernic_post_change(q);
    qernic_wait_while(m->qts, power(q) != 3);
    g_assert_cmphex(qtest_readl(m->qts, q->scratch), ==, 0);
    qernic_power(&q->dev, 0);
    qernic_wait_while(m->qts, qtest_readl(m->qts, q->scratch) != 7);
}

/* Commands and doorbells rung before D3hot are processed before it. */
ERNIC_TEST("power-order", test_power_order)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnicQp qp;

    qernic_setup(q, 1);
    qernic_self(q, &qp, ERNIC_QPT_UD);
    for (int i = 0; i < 5; i++) {
        qernic_cmd_post(q, &nop);
        qernic_post_recv(&qp, 0, 64);
    }
    qernic_power(&q->dev, 3);
    qernic_power(&q->dev, 0);
    /* On a busy host a slice may end before they are executed. */
    qernic_wait_while(q->qts, qernic_reg(q, cmd_ci) != q->cmd_pi);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 0);
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp.qpn, QERNIC_DEPTH + 1));
    qernic_nop(q);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 1);
}

/* The power state migrates: a device in D3hot stays in D3hot. */
ERNIC_TEST("power-migrate", test_power_migrate)
{
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    qernic_power(&q->dev, 3);
    qernic_migrate(q, "");
    g_assert_cmpuint(power(q), ==, 3);
    sends_nothing(q);
    qernic_power(&q->dev, 0);
    sends(q);
    qernic_end(&x, &y);
}

static void function_reset(QErnic *q)
{
    qernic_flr(&q->dev);
}

static void machine_reset(QErnic *q)
{
    qtest_system_reset(q->qts);
}

/* A reset of the function or of the machine ends in D0, and the device works. */
ERNIC_TEST("power-reset", test_power_reset)
{
    static void (*const resets[])(QErnic *) = { function_reset, machine_reset };
    QErnicQp x, y;

    for (size_t i = 0; i < ARRAY_SIZE(resets); i++) {
        qernic_setup(q, 1);
        qernic_begin(q, &x, &y);
        qernic_power(&q->dev, 3);
        resets[i](q);
        g_assert_cmpuint(power(q), ==, 0);
        q->bar = qpci_iomap(&q->dev, ERNIC_BAR_REGS, NULL);
        qpci_device_enable(&q->dev);
        g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_LINK);
        qernic_setup(q, 1);
        qernic_transfers(q, q);
        qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    }
}

static uint32_t message(QErnic *q, uint64_t at, uint16_t vector)
{
    return qtest_readl(q->qts, at + vector * 4);
}

/* A vector masked alone, then by the function mask: it is pending, and sent once. */
ERNIC_TEST("vectors", test_vectors)
{
    uint64_t at = guest_alloc(q->alloc, 4096);
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
            qernic_aim(&q->dev, other, at + other * 4, 0x100 + other);
        }
        qernic_mask(&q->dev, vector, true);
        eq.eq_create.buf.addr = cpu_to_le64(at + 2048);
        eq.eq_create.vector = cpu_to_le16(vector);
        qernic_make(q, &eq);
        qernic_post_change(q);
        qernic_wait_while(q->qts, !qpci_msix_pending(&q->dev, vector));
        /* Of all vectors, only that of commands has sent its message. */
        for (other = 0; other < VECTORS; other++) {
            g_assert_cmphex(message(q, at, other), ==, other ? 0 : 0x100);
        }
        qernic_msix_bits(&q->dev, PCI_MSIX_FLAGS_MASKALL, true);
        qernic_mask(&q->dev, vector, false);
        g_assert_cmphex(message(q, at, vector), ==, 0);
        qernic_msix_bits(&q->dev, PCI_MSIX_FLAGS_MASKALL, false);
        g_assert_cmphex(message(q, at, vector), ==, 0x100 + vector);
        g_assert_false(qpci_msix_pending(&q->dev, vector));
        qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    }
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
ERNIC_TEST("idle", test_idle)
{
    unsigned long before;

    qernic_enable(q);
    before = ticks_used(q->qts);
    g_usleep(G_USEC_PER_SEC);
    g_assert_cmpuint(ticks_used(q->qts) - before, <=, sysconf(_SC_CLK_TCK) / 20);
}

/* Unplugs the device while commands and a transfer are in progress. */
static void unplug_busy(QErnicMachine *m)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnic *q = qernic_host(m, "plugged", 6, 1);
    QErnicQp x, y;

    qernic_begin(q, &x, &y);
    for (int i = 0; i < QERNIC_DEPTH; i++) {
        qernic_cmd_post(q, &nop);
    }
    qpci_unplug_acpi_device_test(m->qts, "plugged", 0x06);
}

MACHINE_TEST("/ernic-hotplug", test_hotplug)
{
    QErnicMachine *m = qernic_machine("-object iothread,id=io1");

    qtest_qmp_device_add(m->qts, "ernic", "plugged",
                         "{'addr': '0x06', 'interface': 'verbs'}");
    qpci_unplug_acpi_device_test(m->qts, "plugged", 0x06);
    qtest_qmp_device_add(m->qts, "ernic", "plugged",
                         "{'addr': '0x06', 'interface': 'verbs'}");
    unplug_busy(m);
    qtest_qmp_device_add(m->qts, "ernic", "plugged", "{'addr': '0x06',"
                         " 'interface': 'verbs', 'iothread': 'io1',"
                         " 'roce-udp': '127.0.0.1:0' }");
    unplug_busy(m);
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'object-del', 'arguments': {"
                             " 'id': 'io1' } }");
}
