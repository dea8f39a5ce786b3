/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The messages of device/irq.c. One of them is a write to any address, and may run the
 * main loop before it returns, which happens in a machine only by chance; here each
 * message has an effect of the test's choice.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "device/clock.h"
#include "device/life.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

static bool fake_bql(void)
{
    return true;
}

#undef PCI_DEVICE
#undef DEVICE
#define PCI_DEVICE(d)   ((PCIDevice *)&(d)->parent_obj)
#define DEVICE(d)       (&PCI_DEVICE(d)->qdev)
#define bql_locked      fake_bql
#include "device/irq.c"

static struct {
    ErnicPci d;
    uint8_t config[PCI_CONFIG_SPACE_SIZE];
    bool powered;
    void (*effect)(void);               /* of the next message */
    GString *sent;                      /* a digit for the vector of each message */
} host;

/* ---- what irq.c calls -------------------------------------------------------- */

void msix_notify(PCIDevice *dev, unsigned vector)
{
    void (*effect)(void) = g_steal_pointer(&host.effect);

    g_string_append_printf(host.sent, "%u", vector);
    if (effect) {
        effect();
    }
}

bool ernic_pci_powered(const ErnicPci *d)
{
    return host.powered && !ernic_pci_gone(d);
}

bool ernic_pci_virtual_time(const ErnicPci *d)
{
    return false;
}

/* There are neither a timer, MSI nor the ERNIC interface. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work)
{
    g_assert_not_reached();
}

uint64_t ernic_pci_now(void)
{
    g_assert_not_reached();
}

bool ernic_irq_level(const Ernic *e)
{
    g_assert_not_reached();
}

bool msi_enabled(const PCIDevice *dev)
{
    g_assert_not_reached();
}

unsigned int msi_nr_vectors_allocated(const PCIDevice *dev)
{
    g_assert_not_reached();
}

void msi_notify(PCIDevice *dev, unsigned int vector)
{
    g_assert_not_reached();
}

int msix_enabled(PCIDevice *dev)
{
    g_assert_not_reached();
}

void pci_set_irq(PCIDevice *dev, int level)
{
    g_assert_not_reached();
}

/* ---- the device -------------------------------------------------------------- */

static void open_device(void)
{
    memset(&host, 0, sizeof(host));
    host.powered = true;
    host.sent = g_string_new("");
    PCI_DEVICE(&host.d)->config = host.config;
    pci_set_word(host.config + PCI_COMMAND, PCI_COMMAND_MASTER);
    host.d.life = ERNIC_PCI_WORKING;
    host.d.cfg.num_vectors = 4;
    ernic_pci_irq_init(&host.d);
}

/* Runs the main loop until it has nothing to do, and takes what was sent. */
static void run_main_loop(void)
{
    while (aio_poll(qemu_get_aio_context(), false)) {
    }
}

static void sends(const char *vectors)
{
    run_main_loop();
    g_assert_cmpstr(host.sent->str, ==, vectors);
    g_string_truncate(host.sent, 0);
}

static void close_device(void)
{
    sends("");
    ernic_pci_irq_stop(&host.d);
    g_string_free(host.sent, true);
}

static void raise_and_run(void)
{
    ernic_pci_irq(&host.d, 1);
    ernic_pci_irq(&host.d, 3);
    run_main_loop();
    /* The call from inside has returned at once. */
    g_assert_cmpstr(host.sent->str, ==, "1");
}

/* A vector that is raised inside a message is sent after it, also one of this run. */
static void test_inside(void)
{
    open_device();
    host.effect = raise_and_run;
    ernic_pci_irq(&host.d, 1);
    ernic_pci_irq(&host.d, 2);
    sends("1213");
    close_device();
}

static void power_off(void)
{
    host.powered = false;
    run_main_loop();
}

/* A message that takes the power away is the last one; the others wait. */
static void test_power(void)
{
    open_device();
    host.effect = power_off;
    for (uint16_t vector = 0; vector < 3; vector++) {
        ernic_pci_irq(&host.d, vector);
    }
    sends("0");
    host.powered = true;
    sends("");
    ernic_pci_irqs_resume(&host.d);
    sends("12");
    close_device();
}

static void eject(void)
{
    host.d.life = ERNIC_PCI_GONE;
    ernic_pci_irq_stop(&host.d);
    run_main_loop();
}

/* A message that ejects the function leaves nothing to run. */
static void test_eject(void)
{
    open_device();
    host.effect = eject;
    ernic_pci_irq(&host.d, 0);
    ernic_pci_irq(&host.d, 1);
    sends("0");
    close_device();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qemu_init_main_loop(&error_fatal);
    g_test_add_func("/irq/inside", test_inside);
    g_test_add_func("/irq/power", test_power);
    g_test_add_func("/irq/eject", test_eject);
    return g_test_run();
}
