/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface: the verbs interface, and the registers of PG332 beside it or in
 * the shell of a card.
 */
#include "qemu/osdep.h"
#include "bars/pg332.h"
#include "bars/shell.h"
#include "bars/user_logic.h"
#include "bars/verbs.h"
#include "bars/xib/xib.h"
#include "device/card.h"
#include "device/enum_property.h"
#include "device/interface.h"

#define DEFAULT_QPS     32

static const ErnicPciEnum properties[] = {
    { "ernic-version", "ErnicVersion", "Version of PG332",
      (const char *const[]) { "auto", "3.1", "4.0", "4.2", NULL },
      offsetof(ErnicPci, pg332.version) },
    { "ernic-strict", "ErnicStrict", "If software breaks a rule of PG332, or of the QDMA",
      (const char *const[]) { "off", "report", "enforce", NULL },
      offsetof(ErnicPci, pg332.strict) },
    { "shell", "ErnicShell", "The card around PG332",
      (const char *const[]) { "none", "reconic", "opennic", "xib", NULL },
      offsetof(ErnicPci, shell.kind) },
};
QEMU_BUILD_BUG_ON(ERNIC_STRICT_MODES != 3 || PG332_VERSIONS != 3 || ERNIC_SHELLS != 4);

static void ernic_class_init(ObjectClass *oc)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(properties); i++) {
        ernic_pci_add_enum(oc, &properties[i]);
    }
    ernic_pci_pg332_class_init(oc);
}

static bool ernic_implied(const ErnicPci *d)
{
    return d->pg332.version || d->shell.kind || d->shell.port_of;
}

static void ernic_complete(ErnicPci *d)
{
    if (!d->shell.kind && !d->shell.port_of && !d->pg332.version) {
        d->pg332.version = 1 + PG332_V4_2;
    }
    d->pg332.profile = d->pg332.version;
    ernic_pci_shell_complete(d);
    if (d->pg332.version) {
        d->pg332.num_qp = d->pg332.num_qp ?: DEFAULT_QPS;
    }
}

static bool check_properties(const ErnicPci *d, Error **errp)
{
    return ernic_pci_verbs_ids_ok(d, errp) && ernic_pci_shell_check(d, errp) &&
           ernic_pci_pg332_check(d, errp);
}

static bool ernic_open(ErnicPci *d, Error **errp)
{
    if (!ernic_pci_shell_open(d, errp)) {
        return false;
    }
    d->pg332.vector = ernic_pci_shell_vector(d);
    ernic_pci_pg332_open(d);
    return true;
}

static void ernic_add_bars(ErnicPci *d)
{
    if (d->shell.kind) {
        ernic_pci_shell_add_bars(d);
        return;
    }
    ernic_pci_verbs_add_bars(d);
    pci_register_bar(PCI_DEVICE(d), ERNIC_BAR_PG332,
                     PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &d->pg332.bar);
}

static void ernic_close(ErnicPci *d)
{
    ernic_pci_user_logic_close(d);
    ernic_pci_shell_close(d);
}

static void ernic_start(ErnicPci *d)
{
    ernic_pci_pg332_start(d);
    ernic_pci_shell_start(d);
}

static void ernic_reset_function(ErnicPci *d, uint64_t now)
{
    ernic_pci_shell_reset_function(d);
    ernic_pci_pg332_reset(d, now);
}

static void ernic_finalize(ErnicPci *d)
{
    ernic_pci_pg332_close(d);
    ernic_pci_shell_free(d);
}

/* The other engine has work of its own, which needs no doorbell. */
static const ErnicPciInterfaceOps ernic = {
    .name = "ernic",
    .class_init = ernic_class_init,
    .part = "verbs",
    .implied = ernic_implied,
    .complete = ernic_complete,
    .check = check_properties,
    .open = ernic_open,
    .close = ernic_close,
    .start = ernic_start,
    .reset_function = ernic_reset_function,
    .finalize = ernic_finalize,
    .add_bars = ernic_add_bars,
    .run = ernic_pci_verbs_run,
    .commands = ernic_pci_verbs_commands,
    .doorbell = ernic_pci_verbs_doorbell,
    .doorbell_ok = ernic_pci_verbs_doorbell_ok,
    .control = ernic_pci_pg332_control,
    .frame = ernic_pci_shell_frame,
    .frame_room = ernic_xib_room,
    .link = ernic_pci_shell_link,
    .can_send = ernic_pci_card_kick,
    .registers_ok = ernic_pci_verbs_registers_ok,
};

ERNIC_PCI_INTERFACE(ernic)
