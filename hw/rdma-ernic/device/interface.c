/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register interfaces that exist in this build, and the property that selects one.
 */
#include "qemu/osdep.h"
#include "qapi/visitor.h"
#include "device/enum_property.h"
#include "device/interface.h"

#define DEFAULT_INTERFACE   "mlx5"

/* The order does not matter. */
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

static const char **interface_names(void)
{
    const char **names = g_new0(const char *, interfaces->len + 1);
    uint32_t i;

    for (i = 0; i < interfaces->len; i++) {
        names[i] = interface_at(i)->name;
    }
    return names;
}

static void get_interface(Object *obj, Visitor *v, const char *name, void *opaque,
                          Error **errp)
{
    const ErnicPci *d = ERNIC(obj);
    char *text = (char *)(d->interface ?: not_given(d))->name;

    visit_type_str(v, name, &text, errp);
}

static void set_interface(Object *obj, Visitor *v, const char *name, void *opaque,
                          Error **errp)
{
    g_autofree const char **names = interface_names();
    unsigned value;

    if (ernic_pci_visit_enum(obj, v, name, names, &value, errp)) {
        ERNIC(obj)->interface = interface_at(value);
    }
}

void ernic_pci_interfaces_class_init(ObjectClass *oc)
{
    g_autofree const char **names = interface_names();
    g_autofree char *list = ernic_pci_enum_names(names);
    g_autofree char *help = g_strdup_printf("How software drives the function: %s", list);
    uint32_t i;

    object_class_property_add(oc, "interface", "ErnicInterface", get_interface,
                              set_interface, NULL, NULL);
    object_class_property_set_description(oc, "interface", help);
    object_class_property_add(oc, "personality", "ErnicInterface", get_interface,
                              set_interface, NULL, NULL);
    object_class_property_set_description(oc, "personality",
        "The same as interface, by its name in older releases");
    for (i = 0; i < interfaces->len; i++) {
        if (interface_at(i)->class_init) {
            interface_at(i)->class_init(oc);
        }
    }
}
