/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slice of work of the QDMA.
 */
#ifndef ERNIC_BARS_QDMA_SLICE_H
#define ERNIC_BARS_QDMA_SLICE_H

#include "device/device.h"

/* Executes descriptors, and timers that have ended, until the slice ends; BQL. */
void qdma_slice_run(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_SLICE_H */
