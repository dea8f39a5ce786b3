/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How much memory the objects of a configuration can need (base/mem.h).
 */
#ifndef ERNIC_MEMORY_NEED_H
#define ERNIC_MEMORY_NEED_H

#include "base/device.h"

/* The most bytes that software can make an engine of @cfg charge to @kind. */
uint64_t ernic_memory_kind(const ErnicConfig *cfg, ErnicMemKind kind);
/* The same of all kinds together. */
uint64_t ernic_memory_most(const ErnicConfig *cfg);

#endif /* ERNIC_MEMORY_NEED_H */
