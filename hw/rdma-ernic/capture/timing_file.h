/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of the timing model as a file for Perfetto and chrome://tracing, in
 * the array form of Chrome's JSON trace events. Independent of QEMU.
 *
 * Each device is a process, and each of its stages a thread. A send request
 * lasts from its doorbell to its completion, on the track of its queue pair.
 * Arrows lead from doorbell to completion and interrupt, and from the departure
 * of a packet to its arrival. docs/timing.md explains how to read the file.
 */
#ifndef ERNIC_CAPTURE_TIMING_FILE_H
#define ERNIC_CAPTURE_TIMING_FILE_H

#include "engine/timing/timing_trace.h"

typedef struct ErnicTimingFile ErnicTimingFile;

/*
 * Open the part of the device called @name in the file @path. The file is
 * created or truncated, unless another device is writing it: then they share
 * it. It is refused if another process is writing it. After every write the
 * file is valid. At @limit bytes, or when a write fails, the trace ends, and
 * @warn (may be NULL) is called once with the reason. On failure NULL is
 * returned and *err holds the reason, to be freed by the caller.
 */
ErnicTimingFile *ernic_timing_file_open(const char *path, const char *name,
                                        uint64_t limit,
                                        void (*warn)(const char *what),
                                        char **err);
/* The value of ErnicConfig.timing_trace; free the engine before closing this. */
const ErnicTimingTrace *ernic_timing_file_trace(const ErnicTimingFile *f);
/* Write all events so far to the file. */
void ernic_timing_file_flush(ErnicTimingFile *f);
void ernic_timing_file_close(ErnicTimingFile *f);

#endif /* ERNIC_CAPTURE_TIMING_FILE_H */
