/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI function, and the registers, commands and interrupts of the verbs interface.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic.h"

#define VECTORS     17

ERNIC_TEST("config", test_config)
{
    uint8_t pcie, msix;
    uint32_t cap;

    g_assert_cmphex(qpci_config_readw(&q->dev, PCI_CLASS_DEVICE), ==, 0x0200);
    pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    g_assert_cmphex(pcie, !=, 0);
    cap = qpci_config_readl(&q->dev, pcie + PCI_EXP_DEVCAP);
    g_assert_cmphex(cap & PCI_EXP_DEVCAP_FLR, !=, 0);
    g_assert_cmphex(qpci_find_capability(&q->dev, PCI_CAP_ID_PM, 0), !=, 0);
    msix = qpci_find_capability(&q->dev, PCI_CAP_ID_MSIX, 0);
    g_assert_cmphex(msix, !=, 0);
    g_assert_cmpuint(qpci_msix_table_size(&q->dev), ==, VECTORS);
    g_assert_cmphex(qpci_config_readl(&q->dev, msix + PCI_MSIX_TABLE) &
                    PCI_MSIX_TABLE_BIR, ==, ERNIC_BAR_MSIX);
    g_assert_cmphex(qpci_config_readl(&q->dev, PCI_BASE_ADDRESS_2) &
                    PCI_BASE_ADDRESS_MEM_TYPE_MASK, ==, PCI_BASE_ADDRESS_MEM_TYPE_64);
}

/* PCI Express, 7.5.3: 16 GT/s, the fourth speed, and 16 lanes. */
ERNIC_TEST("config-link", test_config_link)
{
    uint8_t pcie = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    uint32_t rate = PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW;
    uint32_t expected = PCI_EXP_LNKCAP_SLS_16_0GB | 16 << 4;

    g_assert_cmphex(qpci_config_readl(&q->dev, pcie + PCI_EXP_LNKCAP) & rate, ==,
                    expected);
    g_assert_cmphex(qpci_config_readw(&q->dev, pcie + PCI_EXP_LNKSTA) & rate, ==,
                    expected);
    g_assert_cmphex(qpci_config_readl(&q->dev, pcie + PCI_EXP_LNKCAP2), ==, 0x1e);
    g_assert_cmphex(qpci_config_readw(&q->dev, pcie + PCI_EXP_LNKCTL2) &
                    PCI_EXP_LNKCTL2_TLS, ==, PCI_EXP_LNKCTL2_TLS_16_0GT);
}

/* Reset value, and the bits that can be written while the device is disabled. */
static const struct {
    const char *name;
    uint16_t off;
    uint32_t reset, rw;
    bool any;                   /* the reset value is not checked */
} regs[] = {
#define AT(field, ...) { #field, offsetof(struct ernic_regs, field), __VA_ARGS__ }
#define HIGH(field) { #field, offsetof(struct ernic_regs, field) + 4, 0, ~0u }
    AT(magic, ERNIC_MAGIC, 0),
    AT(abi_version, ERNIC_ABI_VERSION, 0),
    AT(features, ERNIC_FEATURE_ETH | ERNIC_FEATURE_XRC | ERNIC_FEATURE_ATOMIC_WRITE |
       ERNIC_FEATURE_SRQ_RESIZE | ERNIC_FEATURE_FLUSH |
       ERNIC_FEATURE_RECORDS | ERNIC_FEATURE_DB_RECORD | ERNIC_FEATURE_ETH_LSO, 0),
    AT(status, ERNIC_STATUS_LINK, 0),
    AT(error, 0, 0),
    AT(num_vectors, VECTORS, 0),
    AT(num_uctx, 256, 0),
    AT(db_offset, 0x1000, 0),
    AT(db_shift, 12, 0),
    AT(time, 0, 0, true),
    AT(cmd_addr, 0, ~0u),
    HIGH(cmd_addr),
    AT(rsp_addr, 0, ~0u),
    HIGH(rsp_addr),
    AT(ring_shift, 0, ~0u),
    AT(cmd_pi, 0, 0),
    AT(cmd_ci, 0, 0),
    AT(link_speed, 100000, 0),
    AT(mem_offset, 0x101000, 0),
    AT(mem_size, 0x80000, 0),
#undef AT
#undef HIGH
};

ERNIC_TEST("registers", test_registers)
{
    for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
        g_test_message("%s", regs[i].name);
        if (!regs[i].any) {
            g_assert_cmphex(qernic_read(q, regs[i].off), ==, regs[i].reset);
            qernic_write(q, regs[i].off, ~0u);
            g_assert_cmphex(qernic_read(q, regs[i].off), ==, regs[i].reset | regs[i].rw);
            qernic_write(q, regs[i].off, 0);
            g_assert_cmphex(qernic_read(q, regs[i].off), ==, regs[i].reset & ~regs[i].rw);
        }
    }
    /* 64-bit registers accept 64-bit and 32-bit writes, and no others. */
    qernic_write64(q, 0x30, 0x123456789abcdef0);
    g_assert_cmphex(qpci_io_readq(&q->dev, q->bar, 0x30), ==, 0x123456789abcdef0);
    g_assert_cmphex(qernic_read(q, 0x34), ==, 0x12345678);
    qpci_io_writew(&q->dev, q->bar, 0x30, 0xffff);
    qpci_io_writeq(&q->dev, q->bar, 0x34, ~0ull);
    qpci_io_writeq(&q->dev, q->bar, 0x40, ~0ull);
    g_assert_cmphex(qernic_read(q, 0x30), ==, 0x9abcdef0);
    g_assert_cmphex(qernic_reg(q, ring_shift), ==, 0);
    g_assert_cmphex(qpci_io_readw(&q->dev, q->bar, 0), ==, 0);
    g_assert_cmphex(qpci_io_readb(&q->dev, q->bar, 1), ==, 0);
    g_assert_cmphex(qpci_io_readq(&q->dev, q->bar, 0), ==, 0);
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    g_assert_cmphex(qernic_reg(q, cmd_addr), ==, 0);
}

ERNIC_TEST("holes", test_holes)
{
    for (uint64_t off = sizeof(struct ernic_regs); off < 0x1000; off += 4) {
        if (off == ERNIC_ETH_OFFSET) {
            off += sizeof(struct ernic_eth_regs);
        }
        qernic_write(q, off, ~0u);
        g_assert_cmphex(qernic_read(q, off), ==, 0);
    }
    g_assert_cmphex(qpci_io_readq(&q->dev, q->bar, 0x1000), ==, 0);
}

/* Each doorbell page has the clock, which only a 64-bit read returns. */
ERNIC_TEST("page-clock", test_page_clock)
{
    uint32_t last = qernic_reg(q, num_uctx) - 1;
    const uint64_t pages[] = { 0x1000, 0x2000, 0x1000 + last * 0x1000ull };
    uint64_t before, time, after;

    for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
        uint64_t at = pages[i] + ERNIC_DB_TIME;

        before = qpci_io_readq(&q->dev, q->bar, 0x28);
        qtest_clock_step(q->dev.bus->qts, 1000);
        time = qpci_io_readq(&q->dev, q->bar, at);
        qtest_clock_step(q->dev.bus->qts, 1000);
        after = qpci_io_readq(&q->dev, q->bar, 0x28);
        g_assert_cmpuint(time, ==, before + 1000);
        g_assert_cmpuint(after, ==, before + 2000);
        g_assert_cmphex(qernic_read(q, at), ==, 0);
        g_assert_cmphex(qernic_read(q, at + 4), ==, 0);
        g_assert_cmphex(qpci_io_readq(&q->dev, q->bar, at + 8), ==, 0);
    }
    g_assert_cmphex(qpci_io_readq(&q->dev, q->bar,
                                  pages[2] + 0x1000 + ERNIC_DB_TIME), ==, 0);
}

ERNIC_TEST("enable", test_enable)
{
    static const struct {
        uint64_t cmd, rsp;
        uint32_t shift;
    } bad[] = {
        { 0, 0x100000, 4 }, { 0x100000, 0, 4 }, { 0x100020, 0x200000, 4 },
        { 0x100000, 0x200001, 4 }, { 0x100000, 0x200000, 11 },
        { 0x100000, 0x200000, ~0u }, { -64ull, 0x100000, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        qernic_write64(q, offsetof(struct ernic_regs, cmd_addr), bad[i].cmd);
        qernic_write64(q, offsetof(struct ernic_regs, rsp_addr), bad[i].rsp);
        qernic_set_reg(q, ring_shift, bad[i].shift);
        qernic_set_reg(q, control, ERNIC_CONTROL_ENABLE);
        g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_LINK);
        g_assert_cmpuint(qernic_reg(q, error), ==, ERNIC_DEVERR_RING);
    }
    /* A reset clears the error; set-up registers are read-only while enabled. */
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    g_assert_cmpuint(qernic_reg(q, error), ==, ERNIC_DEVERR_NONE);
    qernic_enable(q);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    g_assert_cmphex(qernic_reg(q, control), ==, ERNIC_CONTROL_ENABLE);
    qernic_set_reg(q, ring_shift, 1);
    g_assert_cmpuint(qernic_reg(q, ring_shift), ==, QERNIC_RING_SHIFT);
    /* An index beyond the size of the ring is refused, and no command is executed. */
    qernic_set_reg(q, cmd_pi, (1u << QERNIC_RING_SHIFT) + 1);
    g_assert_cmpuint(qernic_reg(q, error), ==, ERNIC_DEVERR_CMD_INDEX);
    g_assert_cmpuint(qernic_reg(q, cmd_pi), ==, 0);
    qernic_nop(q);
    /* Disabling is a reset. */
    qernic_set_reg(q, control, 0);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_LINK);
    g_assert_cmpuint(qernic_reg(q, cmd_ci), ==, 0);
}

/* Rings at an address without memory: a fatal error until a reset. */
ERNIC_TEST("fatal", test_fatal)
{
    uint64_t good = q->cmd_ring;

    q->cmd_ring = 0xffff000000000000;
    qernic_enable(q);
    qernic_set_reg(q, cmd_pi, 1);
    qernic_wait_while(q->qts, !(qernic_reg(q, status) & ERNIC_STATUS_FATAL));
    g_assert_cmpuint(qernic_reg(q, error), ==, ERNIC_DEVERR_CMD_DMA);
    qernic_set_reg(q, cmd_pi, 2);
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_SQ, 2, 1));
    g_assert_cmpuint(qernic_reg(q, cmd_ci), ==, 0);
    q->cmd_ring = good;
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    qernic_setup(q, 1);
}

/* The number of bad doorbells; a NOP waits for the doorbells rung before. */
static uint64_t bad_doorbells(QErnic *q)
{
    qernic_nop(q);
    return qernic_stat(q, "bad_doorbells");
}

ERNIC_TEST("foreign-page", test_foreign_page)
{
    QErnicQp qp;

    qernic_setup(q, 1);
    qernic_self(q, &qp, ERNIC_QPT_UD);
    g_assert_cmpuint(bad_doorbells(q), ==, 0);
    /* Only a 64-bit write at the beginning of context 0's page is a doorbell. */
    for (uint32_t i = 1; i < 256; i++) {
        qernic_doorbell(q, i, ERNIC_DB(ERNIC_DB_RQ, qp.qpn, 1));
    }
    qernic_wait_while(q->qts, bad_doorbells(q) != 255);
    qernic_write64(q, 0x1008, ERNIC_DB(ERNIC_DB_RQ, qp.qpn, 1));
    qernic_write(q, 0x1000, 1);
    qernic_write(q, 0x1004, 1);
    qernic_write64(q, 0x1000 + (256 << 12), ERNIC_DB(ERNIC_DB_RQ, qp.qpn, 1));
    /* None of these writes posted a receive: all 16 entries are still free. */
    for (uint32_t i = 0; i < QERNIC_DEPTH; i++) {
        qernic_post_recv(&qp, 0, 64);
    }
    g_assert_cmpuint(bad_doorbells(q), ==, 255);
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp.qpn, QERNIC_DEPTH + 1));
    g_assert_cmpuint(bad_doorbells(q), ==, 256);
}

/* Commands and doorbells are executed in the order in which a vCPU wrote them. */
ERNIC_TEST("order", test_order)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    struct ernic_cmd destroy = { .opcode = ERNIC_CMD_QP_DESTROY };
    QErnicQp qp[2];

    qernic_setup(q, 1);
    for (int i = 0; i < 2; i++) {
        qernic_self(q, &qp[i], ERNIC_QPT_UD);
    }
    /* A stopped machine executes nothing, so all of these wait. */
    qernic_stop(q->qts);
    destroy.handle.handle = cpu_to_le32(qp[0].qpn);
    qernic_cmd_post(q, &destroy);
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp[0].qpn, 1));
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp[1].qpn, 1));
    destroy.handle.handle = cpu_to_le32(qp[1].qpn);
    qernic_cmd_post(q, &destroy);
    for (int i = 0; i < 12; i++) {
        qernic_cmd_post(q, &nop);
    }
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp[1].qpn, 2));
    qernic_cont(q->qts);
    g_assert_cmpuint(bad_doorbells(q), ==, 2);
    /* As many doorbells as a stopped device keeps, commands before and between them. */
    qernic_stop(q->qts);
    for (int round = 0; round < 3; round++) {
        qernic_cmd_post(q, &nop);
        for (int i = 0; i < 682; i++) {
            qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_RQ, qp[1].qpn, 2));
        }
    }
    qernic_cont(q->qts);
    g_assert_cmpuint(bad_doorbells(q), ==, 2 + 3 * 682);
    /* cmd_pi cannot move back. */
    qernic_set_reg(q, cmd_pi, q->cmd_pi - 1);
    g_assert_cmpuint(qernic_reg(q, error), ==, ERNIC_DEVERR_CMD_INDEX);
    g_assert_cmpuint(qernic_reg(q, cmd_pi), ==, q->cmd_pi);
}

/* MSI-X messages go to guest memory, where the test can see them. */
ERNIC_TEST("msix", test_msix)
{
    qpci_msix_enable(&q->dev);
    qernic_enable(q);
    g_assert_true(qpci_msix_masked(&q->dev, 0));
    qernic_nop(q);
    qernic_wait_while(q->qts, !qpci_msix_pending(&q->dev, 0));
    g_assert_false(qpci_msix_pending(&q->dev, 1));
    qtest_writel(q->qts, q->scratch, 0);
    qernic_aim(&q->dev, 0, q->scratch, 0xabcd0000);
    g_assert_false(qpci_msix_pending(&q->dev, 0));
    g_assert_cmphex(qtest_readl(q->qts, q->scratch), ==, 0xabcd0000);
    qtest_writel(q->qts, q->scratch, 0);
    qernic_nop(q);
    qernic_wait_while(q->qts, qtest_readl(q->qts, q->scratch) != 0xabcd0000);
}

/* An MSI-X message to the device's own registers is not delivered. */
ERNIC_TEST("msix-to-itself", test_msix_to_itself)
{
    qpci_msix_enable(&q->dev);
    qernic_enable(q);
    qernic_aim(&q->dev, 0, q->bar.addr + offsetof(struct ernic_regs, control),
               ERNIC_CONTROL_RESET);
    for (int i = 0; i < 3; i++) {
        qernic_nop(q);
    }
    /* Nor is the message of an event, which the engine raises during its work. */
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    qernic_aim(&q->dev, 1, q->bar.addr + offsetof(struct ernic_regs, control),
               ERNIC_CONTROL_RESET);
    qernic_setup(q, 1);
    qernic_post_change(q);
    qernic_nop(q);
    g_assert_cmpuint(qtest_readb(q->qts, q->eq_ring +
                                 offsetof(struct ernic_eqe, phase)), ==, 1);
    qernic_nop(q);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
}
