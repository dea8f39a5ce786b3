/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function behind an IOMMU that reports faults to memory of any kind: an access of the
 * engine then writes to the function that makes it, or resets or ejects it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_iommu.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "ernic-eth.h"

#define Q35_PCIEXBAR    0x60
#define ECAM            0xb0000000ull
#define PORT            QPCI_DEVFN(3, 0)
#define FUNCTION        (1 << 8)        /* device 0 of the bus behind the port */
#define PORT_MMIO       0xe0000000
#define OTHER_MMIO      0xe1000000

#define IOMMU           " -device virtio-iommu-pci,addr=06.0"
#define FAULTS          1               /* its queue of reports */
#define ROOM            64              /* for a report */

typedef struct Behind {
    QErnicMachine *m;
    QPCIDevice *port;
    QErnic q;
    QVirtioPCIDevice *iommu;
    uint64_t report;            /* the next one comes here */
} Behind;

/* The queue that libqos has set up becomes small, and has this used ring. */
static void move_used(QVirtioPCIDevice *dev, uint32_t size, uint64_t used)
{
    uint64_t common = dev->common_cfg_offset;

    qpci_io_writew(dev->pdev, dev->bar, common +
                   offsetof(struct virtio_pci_common_cfg, queue_size), size);
    qpci_io_writel(dev->pdev, dev->bar, common +
                   offsetof(struct virtio_pci_common_cfg, queue_used_lo), used);
    qpci_io_writew(dev->pdev, dev->bar, common +
                   offsetof(struct virtio_pci_common_cfg, queue_enable), 1);
}

/* Gives the IOMMU the descriptor @number, and no other one before. */
static void offer(Behind *b, QVirtQueue *queue, uint32_t number)
{
    uint32_t head;

    b->report = guest_alloc(&b->m->alloc, ROOM);
    qtest_memset(b->m->qts, b->report, 0, ROOM);
    do {
        head = qvirtqueue_add(b->m->qts, queue, b->report, ROOM, true, false);
    } while (head < number);
    qvirtqueue_kick(b->m->qts, &b->iommu->vdev, queue, head);
}

/*
 * The IOMMU refuses all addresses, and reports that once: the used ring is such that the
 * number of the descriptor, @value, is written to @addr.
 */
static void refuse_all(Behind *b, uint64_t addr, uint8_t value)
{
    QPCIAddress at = { .devfn = QPCI_DEVFN(6, 0) };
    QVirtioPCIDevice *dev = b->iommu = virtio_pci_new(b->m->bus, &at);
    QVirtQueue *queue;

    qvirtio_pci_device_enable(dev);
    qvirtio_start_device(&dev->vdev);
    qvirtio_set_features(&dev->vdev, 1ull << VIRTIO_F_VERSION_1 |
                         1ull << VIRTIO_IOMMU_F_BYPASS_CONFIG);
    queue = qvirtqueue_setup(&dev->vdev, &b->m->alloc, FAULTS);
    move_used(dev, pow2ceil(value + 1), addr - offsetof(struct vring_used, ring));
    qvirtio_set_driver_ok(&dev->vdev);
    offer(b, queue, value);
    qpci_io_writeb(dev->pdev, dev->bar, dev->device_cfg_offset +
                   offsetof(struct virtio_iommu_config, bypass), 0);
}

/*
 * The engine reads a command. The report of the fault, which begins with 8 bytes of its
 * kind, writes @value to @addr. The monitor answers then.
 */
static void fault(Behind *b, uint64_t addr, uint8_t value)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };

    refuse_all(b, addr, value);
    qernic_cmd_post(&b->q, &nop);
    qernic_wait_while(b->m->qts, qtest_readl(b->m->qts, b->report + 8) == 0);
    qtest_qmp_assert_success(b->m->qts, "{ 'execute': 'query-status' }");
}

static uint64_t config_of(const QPCIDevice *dev, uint32_t at)
{
    return ECAM + ((uint64_t)dev->devfn << 12) + at;
}

static void open_behind(Behind *b)
{
    b->m = qernic_machine("-M q35" IOMMU
                          " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
                          VERBS_NIC ",id=ernic0,bus=port0");
    qtest_outl(b->m->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(b->m->qts, 0xcfc, ECAM | 1);
    b->port = qpci_device_find(b->m->bus, PORT);
    g_test_queue_free(b->port);
    qpci_config_writel(b->port, PCI_PRIMARY_BUS, 1 << 16 | 1 << 8);
    qpci_config_writel(b->port, PCI_MEMORY_BASE,
                       (PORT_MMIO | 0xf00000) | PORT_MMIO >> 16);
    qpci_device_enable(b->port);
    b->m->bus->mmio_alloc_ptr = PORT_MMIO;
    qernic_init(&b->q, "ernic0", b->m->bus, FUNCTION, &b->m->alloc);
    qernic_setup(&b->q, 1);
    b->m->bus->mmio_alloc_ptr = OTHER_MMIO;
}

/* A write to the function itself is refused. */
MACHINE_TEST("/ernic-iommu/function", test_function)
{
    Behind b;

    open_behind(&b);
    fault(&b, config_of(&b.q.dev, PCI_COMMAND), 0);
    g_assert_cmphex(qpci_config_readw(&b.q.dev, PCI_COMMAND) & PCI_COMMAND_MASTER, !=, 0);
    g_assert_cmpuint(qernic_reg(&b.q, error), ==, ERNIC_DEVERR_CMD_DMA);
}

/* The function is as after any reset: it has no commands any more. */
MACHINE_TEST("/ernic-iommu/bus-reset", test_bus_reset)
{
    Behind b;

    open_behind(&b);
    fault(&b, config_of(b.port, PCI_BRIDGE_CONTROL), PCI_BRIDGE_CTL_BUS_RESET);
    qpci_config_writew(b.port, PCI_BRIDGE_CONTROL, 0);
    g_assert_cmphex(qpci_config_readw(&b.q.dev, PCI_COMMAND), ==, 0);
    b.m->bus->mmio_alloc_ptr = PORT_MMIO;
    qernic_init(&b.q, "ernic0", b.m->bus, FUNCTION, &b.m->alloc);
    g_assert_cmpuint(qernic_reg(&b.q, error), ==, 0);
    g_assert_cmpuint(qernic_reg(&b.q, cmd_pi), ==, 0);
}

/* The slot has its command, and gets its number. */
MACHINE_KINDS("/ernic-iommu/eject", test_eject, { "", "" },
              { "-udp", ",roce-udp=127.0.0.1:0" }, { "-lab", ",lab=" },
              { "-netdev", ",netdev=h0" })
{
    const char *folder = g_str_has_suffix(more, "=") ? qernic_folder() : "";
    Behind b;

    b.m = qernic_machine("-M q35 -netdev hubport,id=h0,hubid=0" IOMMU QERNIC_SLOT
                         VERBS_NIC ",id=ernic0,bus=slot0,addr=01.0%s%s", more, folder);
    qernic_slot_open(b.m);
    qernic_init(&b.q, "ernic0", b.m->bus, QERNIC_SLOT_DEVFN, &b.m->alloc);
    qernic_setup(&b.q, 1);
    b.m->bus->mmio_alloc_ptr = OTHER_MMIO;
    qtest_writew(b.m->qts, QERNIC_SLOT_COMMAND, 0x1f00 | (uint8_t)QERNIC_SLOT_EJECT);
    fault(&b, QERNIC_SLOT_COMMAND + 1, QERNIC_SLOT_EJECT >> 8);
    qtest_qmp_eventwait(b.m->qts, "DEVICE_DELETED");
}
