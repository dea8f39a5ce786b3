/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A capture file of several interfaces, with times in ns (the pcapng format, as
 * Wireshark reads it). The same frames at the same times make the same bytes.
 */
#ifndef ERNIC_PCAPNG_H
#define ERNIC_PCAPNG_H

#include <stdio.h>

/* @out, which stays the caller's, gets the head and interfaces 0 to @num - 1. */
void ernic_pcapng_begin(FILE *out, uint32_t num);
/* A frame that an interface has sent, or received, at @ns. */
void ernic_pcapng_frame(FILE *out, uint32_t interface, bool sent, uint64_t ns,
                        const uint8_t *frame, uint32_t len);

#endif /* ERNIC_PCAPNG_H */
