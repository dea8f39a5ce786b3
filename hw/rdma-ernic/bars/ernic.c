/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface: the verbs interface, and the registers of PG332 beside it or in
 * the shell of a card.
 */
#include "qemu/osdep.h"
#include "bars/pg332.h"
#include "bars/reconic.h"
#include "bars/verbs.h"
#include "device/interface.h"

static bool ernic_implied(const ErnicPci *d)
{
    return d->pg332.version || d->shell.kind;
}

/* RecoNIC is built with the oldest version. */
static void ernic_complete(ErnicPci *d)
{
    if (!d->pg332.version) {
        d->pg332.version = 1 + (d->shell.kind == ERNIC_SHELL_RECONIC ? PG332_V3_1 :
                                                                       PG332_V4_2);
    }
}

static bool ernic_open(ErnicPci *d, Error **errp)
{
    return ernic_pci_verbs_ids_ok(d, errp) && ernic_pci_shell_open(d, errp) &&
           ernic_pci_pg332_open(d, errp);
}

static void ernic_add_bars(ErnicPci *d)
{
    if (d->shell.kind == ERNIC_SHELL_RECONIC) {
        ernic_pci_shell_add_bars(d);
        return;
    }
    ernic_pci_verbs_add_bars(d);
    pci_register_bar(PCI_DEVICE(d), ERNIC_BAR_PG332,
                     PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &d->pg332.bar);
}

/* The other engine has work of its own, which needs no doorbell. */
static const ErnicPciInterfaceOps ernic = {
    .name = "ernic",
    .part = "verbs",
    .implied = ernic_implied,
    .complete = ernic_complete,
    .open = ernic_open,
    .add_bars = ernic_add_bars,
    .run = ernic_pci_verbs_run,
    .commands = ernic_pci_verbs_commands,
    .doorbell = ernic_pci_verbs_doorbell,
    .doorbell_ok = ernic_pci_verbs_doorbell_ok,
    .registers_ok = ernic_pci_verbs_registers_ok,
};

static void register_ernic(void)
{
    ernic_pci_interface_register(&ernic);
}

type_init(register_ernic)
