/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved states as text, fit for a repository: hexadecimal bytes, and runs of zeros by
 * their length.
 */
#ifndef STATE_FILE_H
#define STATE_FILE_H

#include <glib.h>

/* Write @state, saved at @now, to @path. */
void state_file_write(const char *path, uint64_t now, const GByteArray *state);
/* The state of @path, which has to be valid; owned by the caller. */
GByteArray *state_file_read(const char *path, uint64_t *now);

#endif /* STATE_FILE_H */
