/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A file of the host that devices write: a regular one, and one that nobody else writes.
 * Independent of QEMU.
 */
#ifndef ERNIC_CAPTURE_OUTPUT_H
#define ERNIC_CAPTURE_OUTPUT_H

#include <sys/stat.h>

/*
 * Open the file @path, which is created if it does not exist, and otherwise as it was.
 * Does not wait for a reader. -1: *@why says why not.
 */
int ernic_output_open(const char *path, struct stat *st, const char **why);
/* Empty it, unless another one writes it, here or in another process. False: *@why. */
bool ernic_output_begin(int fd, const char **why);

#endif /* ERNIC_CAPTURE_OUTPUT_H */
