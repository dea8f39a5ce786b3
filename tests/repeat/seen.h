/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The record of the events that a program sees, with their times, and the data that it
 * sends.
 */
#ifndef REPEAT_SEEN_H
#define REPEAT_SEEN_H

#include "io.h"

#define SEEN_VALUES 5

/*
 * A record with the time; the caller fills in the values. Records are kept until the
 * end, as output takes time. Each interrupt is one as well.
 */
uint64_t *see(const char *what);
void print_seen(void);

/* Waits until no packets are in flight: the time at which QEMU stops may vary. */
void rest(void);

uint32_t sum(const uint8_t *p, uint32_t len);
void fill(uint8_t *p, uint32_t len, uint32_t seed);

#endif /* REPEAT_SEEN_H */
