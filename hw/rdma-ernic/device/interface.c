/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register interfaces that exist in this build, and the property that selects one.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "device/interface.h"

#define DEFAULT_INTERFACE   "mlx5"

/* Interfaces register before main(), in any order. */
static GPtrArray *interfaces;

void ernic_pci_interface_register(const ErnicPciInterfaceOps *ops)
{
    if (!interfaces) {
        interfaces = g_ptr_array_new();
    }
    g_ptr_array_add(interfaces, (void *)ops);
}

static const ErnicPciInterfaceOps *interface_at(uint32_t i)
{
    return g_ptr_array_index(interfaces, i);
}

/* The interface that properties of its own ask for, or the default. */
static const ErnicPciInterfaceOps *not_given(const ErnicPci *d)
{
    const ErnicPciInterfaceOps *ops = NULL;
    uint32_t i;

    for (i = 0; i < interfaces->len; i++) {
        if (interface_at(i)->implied && interface_at(i)->implied(d)) {
            return interface_at(i);
        }
        if (g_str_equal(interface_at(i)->name, DEFAULT_INTERFACE)) {
            ops = interface_at(i);
        }
    }
    return ops;
}

void ernic_pci_interface_select(ErnicPci *d)
{
    const ErnicPciInterfaceOps *ops = not_given(d);

    /* Properties of an interface turn one that is part of it into that one. */
    if (!d->interface || (ops->part && g_str_equal(d->interface->name, ops->part) &&
                          ops->implied(d))) {
        d->interface = ops;
    }
    if (d->interface->complete) {
        d->interface->complete(d);
    }
}

static int get_interface(Object *obj, Error **errp)
{
    const ErnicPci *d = ERNIC(obj);
    const ErnicPciInterfaceOps *ops = d->interface ?: not_given(d);
    guint i;

    g_ptr_array_find(interfaces, ops, &i);
    return i;
}

static void set_interface(Object *obj, int value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "interface= cannot change once the device exists");
        return;
    }
    ERNIC(obj)->interface = interface_at(value);
}

void ernic_pci_interfaces_class_init(ObjectClass *oc)
{
    static const char *const properties[] = { "interface", "personality" };
    const char **names = g_new(const char *, interfaces->len);
    QEnumLookup values = { .array = names, .size = interfaces->len };
    QEnumLookup *lookup = g_malloc(sizeof(*lookup));    /* as long as the class */
    size_t i;

    for (i = 0; i < interfaces->len; i++) {
        names[i] = interface_at(i)->name;
    }
    memcpy(lookup, &values, sizeof(values));
    for (i = 0; i < ARRAY_SIZE(properties); i++) {
        object_class_property_add_enum(oc, properties[i], "ErnicInterface", lookup,
                                       get_interface, set_interface);
    }
    object_class_property_set_description(oc, "interface",
        "How software drives the function: mlx5, verbs or ernic");
    object_class_property_set_description(oc, "personality",
        "The same, by its name in older releases");
}
