/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Trace functions, generated from trace-events: by QEMU's tracetool inside
 * QEMU, by scripts/gen-trace-stub.py outside.
 */
#include "trace/trace-hw_rdma_ernic_engine.h"
