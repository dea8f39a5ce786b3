/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties whose values have names.
 */
#ifndef ERNIC_DEVICE_ENUM_PROPERTY_H
#define ERNIC_DEVICE_ENUM_PROPERTY_H

#include "device/device.h"

typedef struct ErnicPciEnum {
    const char *name, *type, *help;
    const char *const *names;   /* of the values 0, 1, ...; NULL ends them */
    size_t field;               /* uint8_t of ErnicPci */
} ErnicPciEnum;

/* Adds the property; @p outlives the class. Its help lists the names. */
void ernic_pci_add_enum(ObjectClass *oc, const ErnicPciEnum *p);
/*
 * Reads property @name, which is one of @names, into *@value. False: it is not, or the
 * device exists already; the error lists them.
 */
bool ernic_pci_visit_enum(Object *obj, Visitor *v, const char *name,
                          const char *const *names, unsigned *value, Error **errp);
/* "a, b or c" of @names; the caller frees it. */
char *ernic_pci_enum_names(const char *const *names);

#endif /* ERNIC_DEVICE_ENUM_PROPERTY_H */
