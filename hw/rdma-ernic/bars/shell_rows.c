/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of shells: a row has what one shell has that the others have not.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/units.h"
#include "bars/shell.h"

/*
 * Vectors of OpenNIC with an ERNIC: queues of port 0, user, error, two ERNICs, queues of
 * port 1. The ports have as many queues.
 */
#define OPENNIC_OTHERS      4
#define OPENNIC_ERNIC       2       /* after the queues of port 0 */

static uint16_t opennic_vector(uint16_t num, uint32_t port)
{
    return (num - OPENNIC_OTHERS) / 2 + OPENNIC_ERNIC + port;
}

static uint16_t xib_vector(uint16_t num, uint32_t port)
{
    return 0;                           /* that of MM2S */
}

static const ErnicShellRow rows[ERNIC_SHELLS] = {
    [ERNIC_SHELL_RECONIC] = {
        .name = "reconic", .class = PCI_CLASS_MEMORY_OTHER,
        .device = ERNIC_RECONIC_DEVICE, .qdma = true,
        .ernic = true, .version = PG332_V3_1,
        .map = {
            [PG332_V3_1] = { 0x40000, 4 * MiB },
            [PG332_V4_0] = { 0x200000, 8 * MiB },
            [PG332_V4_2] = { 0x800000, 16 * MiB },
        },
        /* QDMA, RDMA, ports and adapters; the bits of others read 0 here. */
        .ready = 0x3333,
        /* RecoNIC's bit, and the one used with 4.2. */
        .reset = BIT(1) | BIT(12),
        .vectors = 1, .ernic_vectors = 1,
    },
    [ERNIC_SHELL_OPENNIC] = {
        .name = "opennic", .class = PCI_CLASS_NETWORK_OTHER,
        .device = ERNIC_RECONIC_DEVICE, .qdma = true,
        .versions = "4.2", .size = 4 * MiB,
        .map = { [PG332_V4_2] = { 0x800000, 16 * MiB } },
        .ready = UINT32_MAX,
        .reset = BIT(12), .reset_second = BIT(13),
        .second_at = 0xa00000,
        .vectors = 3, .ernic_vectors = OPENNIC_OTHERS + 2,
        .vector = opennic_vector,
    },
    [ERNIC_SHELL_XIB] = {
        .name = "xib", .class = PCI_CLASS_NETWORK_OTHER, .device = ERNIC_XIB_DEVICE,
        .ernic = true, .version = PG332_V3_1, .versions = "3.1",
        .map = { [PG332_V3_1] = { 0x300000, 4 * MiB } },
        .messages = ERNIC_XIB_VECTORS, .vector = xib_vector,
    },
};

const ErnicShellRow *ernic_pci_shell_row(const ErnicPci *d)
{
    return &rows[d->shell.kind];
}

uint16_t ernic_pci_shell_vector(const ErnicPci *d)
{
    const ErnicShellRow *row = ernic_pci_shell_row(d);
    uint16_t num = ernic_pci_first(d)->cfg.num_vectors;

    return row->vector ? row->vector(num, d->shell.port_of != NULL) : num - 1;
}

bool ernic_pci_shell_has_links(const ErnicPci *d)
{
    return !d->shell.port_of && ernic_pci_shell_user_vector(d) >= 0;
}

/* OpenNIC alone leaves it to the user. */
int ernic_pci_shell_user_vector(const ErnicPci *d)
{
    return d->shell.kind == ERNIC_SHELL_OPENNIC && d->pg332.version ?
           ernic_pci_shell_vector(ernic_pci_first(d)) - OPENNIC_ERNIC : -1;
}
