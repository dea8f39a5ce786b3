/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The card that PG332 is on: its memory and, with shell=, identity and BARs of a shell.
 * The shells are rows of a table (shell_rows.c); their registers are in
 * shell_registers.c, qdma/ and xib/.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/units.h"
#include "bars/qdma/qdma.h"
#include "bars/shell.h"
#include "bars/xib/xib.h"
#include "device/card.h"
#include "device/irq.h"
#include "device/lock.h"

#define DEFAULT_CARD        (64 * MiB)
#define MIN_CARD            (1 * MiB)
#define MAX_CARD            (4 * GiB)
/* The ids of no function; what is added to the device id of function 1. */
#define NO_VENDOR           0xffff
#define FUNCTION_1          0x100

/*
 * RecoNIC is built with the oldest version, which comes with the shell; the profile of
 * the timing model is then that of the function, as in older releases.
 */
void ernic_pci_shell_complete(ErnicPci *d)
{
    const ErnicPci *first = d->shell.port_of;
    const ErnicShellRow *row;

    if (first && !d->shell.kind) {
        d->shell.kind = first->shell.kind;
    }
    if (first && !d->pg332.version) {
        d->pg332.version = first->pg332.version;
    }
    row = ernic_pci_shell_row(d);
    if (row->ernic && !d->pg332.version) {
        d->pg332.version = 1 + row->version;
    }
    if (row->qdma && d->pg332.version && !d->shell.card_size && !first) {
        d->shell.card_size = DEFAULT_CARD;
    }
    if (row->messages && d->cfg.num_vectors == ERNIC_DEFAULT_VECTORS) {
        d->cfg.num_vectors = row->messages;
    }
}

static bool check_row(const ErnicPci *d, Error **errp)
{
    const ErnicShellRow *row = ernic_pci_shell_row(d);
    uint16_t least = d->pg332.version ? row->ernic_vectors : row->vectors;

    if (d->pg332.version && !row->map[d->pg332.version - 1].size) {
        error_setg(errp, "shell=%s has no ERNIC but that of ernic-version=%s",
                   row->name, row->versions);
        return false;
    }
    if (d->shell.card_size && !row->qdma) {
        error_setg(errp, "shell=%s has no card-memory", row->name);
        return false;
    }
    if (row->messages && d->cfg.num_vectors != row->messages) {
        error_setg(errp, "vectors is %u, not %u, with shell=%s", d->cfg.num_vectors,
                   row->messages, row->name);
        return false;
    }
    if (d->cfg.num_vectors < least) {
        error_setg(errp, "vectors is %u, not %u to %u, with shell=%s",
                   d->cfg.num_vectors, least, ERNIC_MAX_VECTORS, row->name);
        return false;
    }
    return true;
}

/* Whether the device can be the second port of another one. */
static const char *why_no_port(const ErnicPci *d)
{
    const ErnicPci *first = d->shell.port_of;
    const PCIDevice *a = PCI_DEVICE(first), *b = PCI_DEVICE(d);

    return !ernic_pci_exists(first) ? "that device is not realized" :
           first->shell.port_of || !ernic_pci_shell_row(first)->second_at ?
               "that device has no second port" :
           first->shell.second ? "that device has a second port already" :
           first->shell.kind != d->shell.kind ||
           first->pg332.version != d->pg332.version ?
               "shell= and ernic-version= are those of the first port" :
           d->shell.card_size ? "card-memory= is that of the first port" :
           pci_get_bus(a) != pci_get_bus(b) || PCI_SLOT(a->devfn) != PCI_SLOT(b->devfn) ||
           PCI_FUNC(a->devfn) || PCI_FUNC(b->devfn) != 1 ?
               "the ports are functions 0 and 1 of one slot" : NULL;
}

static bool check_port(const ErnicPci *d, Error **errp)
{
    const char *why = why_no_port(d);

    if (why) {
        error_setg(errp, "port-of=%s: %s", ernic_pci_id(d->shell.port_of), why);
    }
    return !why;
}

bool ernic_pci_shell_check(const ErnicPci *d, Error **errp)
{
    uint64_t card = d->shell.card_size;

    if (d->shell.port_of && !check_port(d, errp)) {
        return false;
    }
    if (card && (card < MIN_CARD || card > MAX_CARD || !is_power_of_2(card))) {
        error_setg(errp, "card-memory is %" PRIu64 ", not a power of two from"
                   " 1M to 4G", card);
        return false;
    }
    return !d->shell.kind || check_row(d, errp);
}

bool ernic_pci_shell_open(ErnicPci *d, Error **errp)
{
    ErnicShell *s = &d->shell;

    if (s->port_of) {
        return true;
    }
    if (s->kind == ERNIC_SHELL_XIB) {
        ernic_xib_open(d);
    } else if (s->kind) {
        ernic_pci_shell_check_places(d);
        ernic_qdma_open(d);
    }
    return !s->card_size ||
           memory_region_init_ram(&s->card, OBJECT(d), "ernic-card",
                                  s->card_size, errp);
}

void ernic_pci_shell_start(ErnicPci *d)
{
    ErnicPci *first = d->shell.port_of;

    if (first) {
        first->shell.second = d;
        if (d->pg332.version) {
            memory_region_add_subregion(&first->bar, ernic_pci_shell_row(d)->second_at,
                                        &d->pg332.bar);
        }
    }
}

/* Each of the two ports may go before the other. The engine of one may have a thread. */
static void part(ErnicPci *d)
{
    ErnicPci *first = d->shell.port_of, *second = d->shell.second;

    if (first && first->shell.second == d) {
        ernic_pci_shell_reset_function(d);
        first->shell.second = NULL;
    }
    if (second && ernic_pci_inside(second)) {
        second->shell.parted = true;            /* from inside its engine */
    } else if (second) {
        ernic_pci_enter(second);
        second->shell.parted = true;
        ernic_pci_leave(second);
    }
    d->shell.second = NULL;
}

void ernic_pci_shell_close(ErnicPci *d)
{
    part(d);
    ernic_pci_card_stop(d);
    if (!ernic_pci_gone(d)) {
        ernic_pci_shell_free(d);        /* it was never realized */
    }
}

void ernic_pci_shell_free(ErnicPci *d)
{
    g_clear_pointer(&d->shell.qdma, g_free);
    g_clear_pointer(&d->shell.xib, g_free);
}

bool ernic_pci_shell_frame(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    return ernic_xib_receive(d, frame, len) || ernic_qdma_receive(d, frame, len);
}

/*
 * With MSI-X the ERNIC's interrupt stays pending, with MSI it does not. This is below a
 * write of the configuration space, so no message is sent here, as ernic_pci_leave() may.
 */
void ernic_pci_shell_raise(ErnicPci *d)
{
    bool level = false;

    ernic_pci_shell_raise_links(d);
    ernic_xib_raise(d);
    if (ernic_pci_shell_row(d)->messages) {
        ernic_pci_lock(d);
        level = ernic_irq_level(d->pg332.engine);
        ernic_pci_unlock(d);
    }
    if (level) {
        ernic_pci_pg332_irq(d, 0);
    }
}

void ernic_pci_shell_reset_function(ErnicPci *d)
{
    ErnicPci *first = d->shell.port_of;

    if (!first) {
        ernic_pci_shell_reset(d);
    } else if (ernic_pci_gone(first)) {
        return;
    } else if (ernic_pci_hidden(d)) {
        ernic_pci_shell_reset_links(first);
    } else {
        ernic_qdma_function_reset(first, 1);
    }
}

static void set_identity(ErnicPci *d)
{
    const ErnicShellRow *row = ernic_pci_shell_row(d);
    uint16_t vendor = ernic_pci_hidden(d) ? NO_VENDOR : ERNIC_RECONIC_VENDOR;
    uint16_t device = ernic_pci_hidden(d) ? NO_VENDOR :
                      row->device + (d->shell.port_of ? FUNCTION_1 : 0);
    uint8_t *config = PCI_DEVICE(d)->config;

    pci_config_set_vendor_id(config, vendor);
    pci_config_set_device_id(config, device);
    pci_config_set_class(config, row->class);
    pci_set_word(config + PCI_SUBSYSTEM_VENDOR_ID, vendor);
    pci_set_word(config + PCI_SUBSYSTEM_ID, device);
}

static void add_qdma(ErnicPci *d, uint8_t type)
{
    memory_region_init_io(&d->msix_bar, OBJECT(d), &ernic_qdma_ops, d, "ernic-qdma",
                          ERNIC_RECONIC_QDMA_SIZE);
    pci_register_bar(PCI_DEVICE(d), ERNIC_RECONIC_BAR_QDMA, type, &d->msix_bar);
}

void ernic_pci_shell_add_bars(ErnicPci *d)
{
    const uint8_t type = PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64;
    const ErnicShellRow *row = ernic_pci_shell_row(d);
    uint8_t v = d->pg332.version;
    PCIDevice *pci = PCI_DEVICE(d);
    uint8_t user = row->qdma ? ERNIC_RECONIC_BAR_USER : ERNIC_XIB_BAR;

    set_identity(d);
    if (row->qdma) {
        add_qdma(d, type);
    }
    memory_region_init_io(&d->bar, OBJECT(d),
                          row->qdma ? &ernic_pci_shell_ops : &ernic_xib_ops, d,
                          "ernic-shell", v ? row->map[v - 1].size : row->size);
    if (v && !d->shell.port_of) {
        memory_region_add_subregion(&d->bar, row->map[v - 1].at, &d->pg332.bar);
    }
    pci_register_bar(pci, user, type, &d->bar);
    if (d->shell.card_size) {
        pci_register_bar(pci, ERNIC_BAR_CARD, type | PCI_BASE_ADDRESS_MEM_PREFETCH,
                         &d->shell.card);
    }
}
