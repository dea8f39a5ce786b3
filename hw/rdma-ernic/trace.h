/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Trace functions of the QEMU side, generated from trace-events.
 */
#include "trace/trace-hw_rdma_ernic.h"
