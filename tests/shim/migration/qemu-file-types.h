/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name: the test provides the functions.
 */
#ifndef MIGRATION_QEMU_FILE_TYPES_H
#define MIGRATION_QEMU_FILE_TYPES_H

#include "migration/vmstate.h"

void qemu_put_buffer(QEMUFile *f, const uint8_t *buf, size_t size);
size_t qemu_get_buffer(QEMUFile *f, uint8_t *buf, size_t size);
void qemu_put_be32(QEMUFile *f, unsigned int v);
unsigned int qemu_get_be32(QEMUFile *f);

#endif /* MIGRATION_QEMU_FILE_TYPES_H */
