/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ioeventfd=on: event notifiers raise the vectors that the guest has enabled, and no
 * other ones. Without KVM, the main loop sends their messages.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "ernic.h"

#define MESSAGE     0x51
#define VECTORS     17

typedef struct Irqfd {
    QErnic *q;
    const char *log;            /* of the vectors that are opened and closed */
} Irqfd;

static void begin(Irqfd *f, const char *more)
{
    f->q = qernic_device(",ioeventfd=on%s", more);
    f->log = qernic_log(f->q->qts, "ernic_pci_irqfd");
    qpci_msix_enable(&f->q->dev);
    qernic_enable(f->q);
}

/* Whether @vector is open, by the last line about it. */
static bool is_open(Irqfd *f, uint32_t vector)
{
    g_autofree char *text = NULL, *open = g_strdup_printf("vector %u open 1", vector);
    g_autofree char *closed = g_strdup_printf("vector %u open 0", vector);

    g_assert_true(g_file_get_contents(f->log, &text, NULL, NULL));
    return g_strrstr(text, open) > g_strrstr(text, closed);
}

static void aim(Irqfd *f, uint32_t vector, uint32_t value)
{
    qtest_writel(f->q->qts, f->q->scratch + 4 * vector, 0);
    qernic_aim(&f->q->dev, vector, f->q->scratch + 4 * vector, value);
}

/* A command has an interrupt of vector 0, which writes MESSAGE. */
static void message(Irqfd *f)
{
    qtest_writel(f->q->qts, f->q->scratch, 0);
    qernic_nop(f->q);
    qernic_wait_while(f->q->qts, qtest_readl(f->q->qts, f->q->scratch) != MESSAGE);
}

static void pending(Irqfd *f)
{
    qtest_writel(f->q->qts, f->q->scratch, 0);
    qernic_nop(f->q);
    qernic_wait_while(f->q->qts, !qpci_msix_pending(&f->q->dev, 0));
    g_assert_cmphex(qtest_readl(f->q->qts, f->q->scratch), ==, 0);
}

#define KINDS { "thread", ",engine-thread=on,roce-udp=127.0.0.1:0" }, \
              { "main-loop", ",engine-thread=off" }

/* Masks of the vector and of the function: an interrupt is pending, and sent once. */
WORLD_KINDS("/ernic-irqfd/mask-", test_mask, Irqfd, f, begin, KINDS)
{
    g_assert_false(is_open(f, 0));
    pending(f);
    aim(f, 0, MESSAGE);
    g_assert_true(is_open(f, 0));
    g_assert_false(is_open(f, 1));
    g_assert_cmphex(qtest_readl(f->q->qts, f->q->scratch), ==, MESSAGE);
    message(f);
    qernic_mask(&f->q->dev, 0, true);
    g_assert_false(is_open(f, 0));
    pending(f);
    qernic_msix_bits(&f->q->dev, PCI_MSIX_FLAGS_MASKALL, true);
    qernic_mask(&f->q->dev, 0, false);
    g_assert_false(is_open(f, 0));
    g_assert_true(qpci_msix_pending(&f->q->dev, 0));
    qernic_msix_bits(&f->q->dev, PCI_MSIX_FLAGS_MASKALL, false);
    g_assert_true(is_open(f, 0));
    g_assert_false(qpci_msix_pending(&f->q->dev, 0));
    g_assert_cmphex(qtest_readl(f->q->qts, f->q->scratch), ==, MESSAGE);
    message(f);
}

/* Each cause that closes every vector; its opposite opens them again. */
WORLD_KINDS("/ernic-irqfd/off-", test_off, Irqfd, f, begin, KINDS)
{
    for (int i = 0; i < VECTORS; i++) {
        aim(f, i, MESSAGE);
        g_assert_true(is_open(f, i));
    }
    qernic_msix_bits(&f->q->dev, PCI_MSIX_FLAGS_ENABLE, false);
    g_assert_false(is_open(f, 0));
    qernic_msix_bits(&f->q->dev, PCI_MSIX_FLAGS_ENABLE, true);
    g_assert_true(is_open(f, 0));
    message(f);
    qernic_set_master(&f->q->dev, false);
    g_assert_false(is_open(f, VECTORS - 1));
    qernic_set_master(&f->q->dev, true);
    g_assert_true(is_open(f, VECTORS - 1));
    message(f);
    qernic_power(&f->q->dev, 3);
    g_assert_false(is_open(f, 0));
    qernic_power(&f->q->dev, 0);
    g_assert_true(is_open(f, 0));
    message(f);
    qernic_stop(f->q->qts);
    g_assert_false(is_open(f, 0));
    qernic_cont(f->q->qts);
    g_assert_true(is_open(f, 0));
    message(f);
    qernic_flr(&f->q->dev);
    for (int i = 0; i < VECTORS; i++) {
        g_assert_false(is_open(f, i));
    }
}

/* The source has pending interrupts; the destination opens the vectors. */
WORLD_KINDS("/ernic-irqfd/migrate-", test_migrate, Irqfd, f, begin, KINDS)
{
    aim(f, 0, MESSAGE);
    message(f);
    qernic_mask(&f->q->dev, 0, true);
    pending(f);
    qernic_migrate(f->q, ",ioeventfd=on");
    f->log = qernic_log(f->q->qts, "ernic_pci_irqfd");
    g_assert_true(qpci_msix_pending(&f->q->dev, 0));
    qernic_mask(&f->q->dev, 0, false);
    g_assert_true(is_open(f, 0));
    g_assert_cmphex(qtest_readl(f->q->qts, f->q->scratch), ==, MESSAGE);
    message(f);
}

/* ---- KVM, where the host has it -------------------------------------------- */

#define APIC        0xfee00000

/* How a machine finds that the host's KVM executes no instruction; TCG executes them. */
MACHINE_TEST("/ernic-irqfd/halts", test_halts)
{
    const char *bios = qernic_halting_bios();
    QErnicMachine *m = qernic_machine("-M q35 -bios %s -accel tcg", bios);

    g_assert_true(qernic_processor_halts(m->qts));
    m = qernic_machine("-M q35 -bios %s -accel tcg -S", bios);
    g_assert_false(qernic_processor_halts(m->qts));
}

/* Without KVM, the results are the same. */
static bool begin_kvm(Irqfd *f, const char *more)
{
    bool kvm;

    f->q = qernic_at(qernic_machine("-M q35 -bios %s -accel kvm%s" VERBS_NIC
                                    ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0"
                                    ",engine-thread=on", qernic_halting_bios(), more),
                     "ernic0", 4);
    kvm = qernic_has_kvm(f->q->qts);
    qpci_device_enable(&f->q->dev);
    f->log = qernic_log(f->q->qts, "ernic_pci_irqfd");
    qpci_msix_enable(&f->q->dev);
    qernic_enable(f->q);
    return kvm;
}

/* KVM gets interrupts alone: a message to memory changes memory. */
MACHINE_TEST("/ernic-irqfd/kvm-memory", test_kvm_memory)
{
    Irqfd f;
    bool kvm = begin_kvm(&f, "");

    qernic_aim(&f.q->dev, 0, APIC, MESSAGE);
    g_assert(is_open(&f, 0) == kvm);
    qernic_nop(f.q);
    qernic_mask(&f.q->dev, 0, true);
    g_assert_false(is_open(&f, 0));
    aim(&f, 0, MESSAGE);
    g_assert_false(is_open(&f, 0));
    message(&f);
    qernic_mask(&f.q->dev, 0, true);
    qernic_aim(&f.q->dev, 0, APIC, MESSAGE + 1);
    g_assert(is_open(&f, 0) == kvm);
}

/* KVM refuses such addresses if the machine may have many processors. */
MACHINE_TEST("/ernic-irqfd/kvm-refused", test_kvm_refused)
{
    Irqfd f;

    begin_kvm(&f, " -smp 1,maxcpus=288");
    for (int bit = 32; bit < 64; bit++) {
        qernic_mask(&f.q->dev, 0, true);
        qernic_aim(&f.q->dev, 0, 1ull << bit | APIC, MESSAGE);
        g_assert_false(is_open(&f, 0));
    }
    qernic_mask(&f.q->dev, 0, true);
    qernic_aim(&f.q->dev, 0, APIC, MESSAGE | 1 << 15);
    g_assert_false(is_open(&f, 0));
    qtest_qmp_assert_success(f.q->qts, "{ 'execute': 'query-status' }");
}
