/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties whose values have names. QOM lists and checks the names.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "device/properties.h"

typedef struct EnumProperty {
    const char *name, *type, *help;
    const QEnumLookup values;
    size_t field;               /* uint8_t of ErnicPci */
} EnumProperty;

#define NAMES(...) { \
    .array = (const char *const[]) { __VA_ARGS__ }, \
    .size = sizeof((const char *const[]) { __VA_ARGS__ }) / sizeof(char *), \
}

static const EnumProperty properties[] = {
    { "ernic-version", "ErnicVersion", "Version of PG332: auto, 3.1, 4.0 or 4.2",
      NAMES("auto", "3.1", "4.0", "4.2"), offsetof(ErnicPci, pg332.version) },
    { "ernic-strict", "ErnicStrict",
      "If software breaks a rule of PG332: off, report or enforce",
      NAMES("off", "report", "enforce"), offsetof(ErnicPci, pg332.strict) },
    { "shell", "ErnicShell", "The card around PG332: none or reconic",
      NAMES("none", "reconic"), offsetof(ErnicPci, shell.kind) },
};
QEMU_BUILD_BUG_ON(ERNIC_STRICT_MODES != 3 || PG332_VERSIONS != 3 || ERNIC_SHELLS != 2);

static uint8_t *field_of(Object *obj, const EnumProperty *p)
{
    return (uint8_t *)ERNIC(obj) + p->field;
}

static void get_enum(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const EnumProperty *p = opaque;
    int value = *field_of(obj, p);

    visit_type_enum(v, name, &value, &p->values, errp);
}

static void set_enum(Object *obj, Visitor *v, const char *name, void *opaque,
                     Error **errp)
{
    const EnumProperty *p = opaque;
    int value;

    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s= cannot change once the device exists", name);
    } else if (visit_type_enum(v, name, &value, &p->values, errp)) {
        *field_of(obj, p) = value;
    }
}

void ernic_pci_properties_class_init(ObjectClass *oc)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(properties); i++) {
        const EnumProperty *p = &properties[i];

        object_class_property_add(oc, p->name, p->type, get_enum, set_enum, NULL,
                                  (void *)p);
        object_class_property_set_description(oc, p->name, p->help);
    }
}
