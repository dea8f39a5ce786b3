/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The functions of the timing program besides its test.
 */
#ifndef TIMING_PROGRAMS_H
#define TIMING_PROGRAMS_H

#include "timing/profile.h"

/* The profiles of the card that was measured, and of its peer. */
#define TIMING_ERNIC    "ernic-200mhz-100g"
#define TIMING_PEER     "generic-100g"
/* One whose wire is not what limits it first. */
#define TIMING_FAST     "generic-400g"

/* Profile @name of the folder @dir; ends the program if there is none. */
void timing_profile(ErnicProfile *p, const char *dir, const char *name);

/*
 * Write what happens to a few requests between @card and @other into the file
 * @path (timing_file.h), and print what each stage has counted. False: @path
 * cannot be written; standard error says why.
 */
bool timing_trace(const ErnicProfile *card, const ErnicProfile *other, const char *path);

/* Print what scripts/plot-timing draws, a point per line. */
void timing_data(const ErnicProfile *card, const ErnicProfile *other, const char *dir);

#endif /* TIMING_PROGRAMS_H */
