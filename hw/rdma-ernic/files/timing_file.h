/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A timing model's work as a file that Perfetto and chrome://tracing open:
 * Chrome's JSON trace events, in the form of an array. Knows no QEMU.
 *
 * Each device is a process, each of its stages a thread; each request to send
 * lasts from its doorbell to its completion on the track of its queue pair, and
 * arrows lead from doorbell to completion to interrupt, and from a packet's
 * departure to its arrival. docs/timing.md tells how to read it.
 */
#ifndef ERNIC_TIMING_FILE_H
#define ERNIC_TIMING_FILE_H

#include "core/timing/timing_trace.h"

typedef struct ErnicTimingFile ErnicTimingFile;

/*
 * The part of the device called @name in the file @path, which is made anew
 * unless another device writes it just now: then they share it. Whenever
 * something was written the file is whole. It grows to @limit bytes at most;
 * then, or when it cannot be written, the trace ends, and @warn (may be NULL)
 * is told why, once. NULL: *err, to be freed by the caller, says why.
 */
ErnicTimingFile *ernic_timing_file_open(const char *path, const char *name,
                                        uint64_t limit,
                                        void (*warn)(const char *what),
                                        char **err);
/* For ErnicConfig.timing_trace; the engine goes before it is closed. */
const ErnicTimingTrace *ernic_timing_file_trace(const ErnicTimingFile *f);
/* All that happened is in the file on return. */
void ernic_timing_file_flush(ErnicTimingFile *f);
void ernic_timing_file_close(ErnicTimingFile *f);

#endif /* ERNIC_TIMING_FILE_H */
