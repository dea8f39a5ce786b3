/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * While the second processor accesses a function again and again, this one changes its
 * power state, resets it, and in the end ejects it.
 */
#include "second.h"

#define EJECT           0xae08      /* ACPI hot-plug of the PC's bus 0, by slot */
#define SELECT          0xae10
#define DISTURBANCES    4

/* Power states and resets. The BARs get back the addresses that a reset clears. */
static void disturb(uint8_t devfn)
{
    uint8_t pm = capability(devfn, 0x01), pcie = capability(devfn, 0x10), at;
    uint32_t bars[6];
    int j;

    for (int i = 0; i < 6; i++) {
        bars[i] = pci_read(devfn, 0x10 + 4 * i);
    }
    for (int i = 0; i < DISTURBANCES; i++) {
        pci_write(devfn, pm + 4, 3);
        wait_for(3);
        pci_write(devfn, pm + 4, 0);
        wait_for(3);
        pci_write(devfn, pcie + 8, 1 << 15);
        wait_for(3);
        for (j = 0, at = 0x10; j < 6; j++, at += 4) {
            pci_write(devfn, at, bars[j]);
        }
        enable(devfn);
        wait_for(3);
    }
}

static void attack(uint8_t slot, uint32_t row)
{
    uint8_t devfn = slot << 3;

    second_begins(slot, row);
    if (!uses_ports(row)) {
        disturb(devfn);
    }
    out32(EJECT, 1u << slot);
    wait_for(20);
    second_ends();
    if (pci_read(devfn, 0) != 0xffffffff) {
        power_off("the function is still there");
    }
}

int main(void)
{
    out32(SELECT, 0);
    each_function(attack);
    return 0;
}
