/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A capture file in the pcapng format that Wireshark reads: several interfaces,
 * times in ns. The same frames at the same times give the same bytes.
 */
#ifndef ERNIC_CAPTURE_PCAPNG_H
#define ERNIC_CAPTURE_PCAPNG_H

#include <stdio.h>

/* Bytes that a frame takes in the file besides its own, which are rounded up to 4. */
#define ERNIC_PCAPNG_FRAME  44

/*
 * Write the header and interfaces 0 to @num - 1 to @out, which remains the
 * caller's. Returns the bytes.
 */
uint32_t ernic_pcapng_begin(FILE *out, uint32_t num);
/* Write a frame that an interface has sent or received at @ns. Returns the bytes. */
uint32_t ernic_pcapng_frame(FILE *out, uint32_t interface, bool sent, uint64_t ns,
                            const uint8_t *frame, uint32_t len);

#endif /* ERNIC_CAPTURE_PCAPNG_H */
