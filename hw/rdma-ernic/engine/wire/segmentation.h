/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Segmentation of a large TCP or UDP packet (LSO): its data are divided into frames, each
 * with a copy of the headers that is adapted to its part.
 */
#ifndef ERNIC_WIRE_SEGMENTATION_H
#define ERNIC_WIRE_SEGMENTATION_H

#include "wire/inet.h"

/* The headers of a large packet, up to those of TCP or UDP. */
typedef struct ErnicSegmentation {
    ErnicInet inet;
    uint32_t head;              /* bytes of headers */
    uint32_t mss;               /* bytes of data in each frame but the last */
} ErnicSegmentation;

/* False: @head bytes at @frame are not exactly the headers of a TCP or UDP packet. */
bool ernic_segmentation_init(ErnicSegmentation *s, const uint8_t *frame, uint32_t head,
                             uint32_t mss);
/*
 * Adapt the headers of @frame, which has @len bytes of data after them, to part @index of
 * the packet: lengths, IPv4 identification, sequence number and flags of TCP, and
 * checksums. @last: it is the last part.
 */
void ernic_segmentation_adapt(const ErnicSegmentation *s, uint8_t *frame, uint32_t len,
                              uint32_t index, bool last);

#endif /* ERNIC_WIRE_SEGMENTATION_H */
