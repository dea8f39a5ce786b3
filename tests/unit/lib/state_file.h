/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved states as text, fit for a repository: "now" and the time in ns, then bytes in
 * hexadecimal. BYTES*N stands for N times these bytes; BYTES+N for N numbers of 32 bits,
 * of which these are the first and each is the one before plus 1.
 */
#ifndef STATE_FILE_H
#define STATE_FILE_H

#include <glib.h>

/* Write @state, saved at @now, to @path. */
void state_file_write(const char *path, uint64_t now, const GByteArray *state);
/* The state of @path, which has to be valid; owned by the caller. */
GByteArray *state_file_read(const char *path, uint64_t *now);

/* Append @word to @text, on a new line if the last one has no room. */
void state_file_add(GString *text, const char *word);
/* The words of the file @path. */
char **state_file_words(const char *path);

#endif /* STATE_FILE_H */
