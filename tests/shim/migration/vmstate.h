/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name: what a field of a stream with functions of its
 * own needs.
 */
#ifndef MIGRATION_VMSTATE_H
#define MIGRATION_VMSTATE_H

#include "qemu/osdep.h"

typedef struct QEMUFile QEMUFile;
typedef struct JSONWriter JSONWriter;
typedef struct VMStateField VMStateField;

typedef struct VMStateInfo {
    const char *name;
    int (*get)(QEMUFile *f, void *pv, size_t size, const VMStateField *field);
    int (*put)(QEMUFile *f, void *pv, size_t size, const VMStateField *field,
               JSONWriter *vmdesc);
} VMStateInfo;

#endif /* MIGRATION_VMSTATE_H */
