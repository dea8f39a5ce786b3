/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The links that exist in this build, and those of a device.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "device/link.h"
#include "device/mutex.h"

/* The order does not matter. */
static GPtrArray *links;

void ernic_pci_link_register(const ErnicPciLinkOps *ops)
{
    if (!links) {
        links = g_ptr_array_new();
    }
    g_ptr_array_add(links, (void *)ops);
}

const ErnicPciLinkOps *ernic_pci_link_at(uint32_t i)
{
    return i < links->len ? g_ptr_array_index(links, i) : NULL;
}

void ernic_pci_links_class_init(ObjectClass *oc)
{
    const ErnicPciLinkOps *ops;
    uint32_t i;

    for (i = 0; (ops = ernic_pci_link_at(i)); i++) {
        if (ops->class_init) {
            ops->class_init(oc);
        }
    }
}

/* ---- properties ------------------------------------------------------------ */

const char *ernic_pci_link_option(const ErnicPci *d, const char *name)
{
    return d->options ? g_hash_table_lookup(d->options, name) : NULL;
}

static void get_option(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    char *value = (char *)(ernic_pci_link_option(ERNIC(obj), opaque) ?: "");

    visit_type_str(v, name, &value, errp);
}

static void set_option(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    ErnicPci *d = ERNIC(obj);
    char *value;

    if (DEVICE(d)->realized) {
        error_setg(errp, "%s= cannot change once the device exists", name);
        return;
    }
    if (!visit_type_str(v, name, &value, errp)) {
        return;
    }
    if (!d->options) {
        d->options = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    }
    g_hash_table_replace(d->options, opaque, value);
}

void ernic_pci_link_add_option(ObjectClass *oc, const char *name, const char *help)
{
    object_class_property_add(oc, name, "str", get_option, set_option, NULL,
                              (void *)name);
    object_class_property_set_description(oc, name, help);
}

/* ---- the links of a device --------------------------------------------------- */

bool ernic_pci_link_take(ErnicPci *d, const ErnicPciLinkOps *ops, Error **errp)
{
    if (d->link && d->link != d->card) {
        error_setg(errp, "%s= and %s= exclude each other", d->link->name, ops->name);
        return false;
    }
    d->link = ops;
    return true;
}

/* Whether packets may have no ICRC, if the user wants that. */
static bool check_icrc(const ErnicPci *d, Error **errp)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const ErnicPciLinkOps *ops;
    uint32_t i;

    if (d->icrc != ON_OFF_AUTO_OFF || d->link->icrc_optional) {
        return true;
    }
    for (i = 0; (ops = ernic_pci_link_at(i)); i++) {
        if (ops->icrc_optional) {
            g_string_append_printf(names, "%s%s=", names->len ? " or " : "", ops->name);
        }
    }
    error_setg(errp, "icrc=off needs %s", names->str);
    return false;
}

bool ernic_pci_links_open(ErnicPci *d, Error **errp)
{
    const ErnicPciLinkOps *ops;
    uint32_t i;

    d->link = d->card = NULL;
    for (i = 0; (ops = ernic_pci_link_at(i)); i++) {
        if (!ops->open(d, errp)) {
            ernic_pci_links_close(d);
            return false;
        }
    }
    if (!check_icrc(d, errp)) {
        ernic_pci_links_close(d);
        return false;
    }
    /* A link may have had a better one. */
    qemu_macaddr_default_if_unset(&d->net.conf.macaddr);
    return true;
}

/* The card first: a link may be its cable. */
void ernic_pci_links_close(ErnicPci *d)
{
    if (d->card) {
        d->card->close(d);
    }
    if (d->link && d->link != d->card) {
        d->link->close(d);
    }
    d->link = d->card;
}

bool ernic_pci_link(const ErnicPci *d)
{
    return d->link->is_up(d);
}

void ernic_pci_links_report(ErnicPci *d, uint64_t now)
{
    if (ernic_pci_verbs_enabled(d)) {
        ernic_set_link(d->engine, now, ernic_pci_link(d));
    }
    if (d->pg332.engine) {
        ernic_set_link(d->pg332.engine, now, ernic_pci_link(d));
    }
}

bool ernic_pci_links_wait(ErnicPci *d)
{
    assert(ernic_pci_locked(d));
    return d->link->waits(d) || (d->card != d->link && d->card->waits(d));
}

void ernic_pci_links_changed(ErnicPci *d)
{
    assert(ernic_pci_locked(d));
    if (d->link->changed) {
        d->link->changed(d);
    }
}

void ernic_pci_links_update(ErnicPci *d)
{
    assert(ernic_pci_locked(d));
    if (d->link->update) {
        d->link->update(d);
    }
}

void ernic_pci_links_run(ErnicPci *d, uint64_t now)
{
    assert(ernic_pci_locked(d));
    if (d->link->run) {
        d->link->run(d, now);
    }
}

void ernic_pci_links_forget(ErnicPci *d, ErnicPciEngine engine)
{
    assert(ernic_pci_locked(d));
    if (d->link->forget) {
        d->link->forget(d, engine);
    }
}

void ernic_pci_links_reset(ErnicPci *d)
{
    assert(ernic_pci_locked(d));
    if (d->link != d->card) {
        d->link->reset(d);
    }
    d->card->reset(d);
}
