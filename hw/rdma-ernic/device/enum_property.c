/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties whose values have names. Help and errors list the names.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "device/enum_property.h"

char *ernic_pci_enum_names(const char *const *names)
{
    GString *text = g_string_new(names[0]);
    unsigned i;

    for (i = 1; names[i]; i++) {
        g_string_append_printf(text, "%s%s", names[i + 1] ? ", " : " or ", names[i]);
    }
    return g_string_free(text, false);
}

bool ernic_pci_visit_enum(Object *obj, Visitor *v, const char *name,
                          const char *const *names, unsigned *value, Error **errp)
{
    g_autofree char *text = NULL, *list = NULL;

    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s= cannot change once the device exists", name);
        return false;
    }
    if (!visit_type_str(v, name, &text, errp)) {
        return false;
    }
    for (*value = 0; names[*value]; ++*value) {
        if (g_str_equal(text, names[*value])) {
            return true;
        }
    }
    list = ernic_pci_enum_names(names);
    error_setg(errp, "%s is %s, not %s", name, text, list);
    return false;
}

static uint8_t *field_of(Object *obj, const ErnicPciEnum *p)
{
    return (uint8_t *)ERNIC(obj) + p->field;
}

static void get_enum(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const ErnicPciEnum *p = opaque;
    char *text = (char *)p->names[*field_of(obj, p)];

    visit_type_str(v, name, &text, errp);
}

static void set_enum(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const ErnicPciEnum *p = opaque;
    unsigned value;

    if (ernic_pci_visit_enum(obj, v, name, p->names, &value, errp)) {
        *field_of(obj, p) = value;
    }
}

void ernic_pci_add_enum(ObjectClass *oc, const ErnicPciEnum *p)
{
    g_autofree char *list = ernic_pci_enum_names(p->names);
    g_autofree char *help = g_strdup_printf("%s: %s", p->help, list);

    object_class_property_add(oc, p->name, p->type, get_enum, set_enum, NULL,
                              (void *)p);
    object_class_property_set_description(oc, p->name, help);
}
