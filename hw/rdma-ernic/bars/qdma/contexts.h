/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The QDMA's contexts, which software accesses through indirect registers.
 */
#ifndef ERNIC_BARS_QDMA_CONTEXTS_H
#define ERNIC_BARS_QDMA_CONTEXTS_H

#include "bars/qdma/qdma.h"

/* Executes the command that software has written to IND_CTXT_CMD. */
void qdma_context_command(ErnicPci *d, uint32_t command);

#endif /* ERNIC_BARS_QDMA_CONTEXTS_H */
