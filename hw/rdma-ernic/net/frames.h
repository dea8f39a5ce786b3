/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames of the network card, and the engines.
 */
#ifndef ERNIC_NET_FRAMES_H
#define ERNIC_NET_FRAMES_H

#include "device/device.h"

/*
 * The frame of @train at @pos, as its headers, which are put into @head (of
 * ERNIC_NET_HDR_MAX bytes), and its data. Returns the bytes of data.
 */
uint32_t ernic_pci_frame_of(const ErnicTrain *train, uint32_t pos, uint8_t *head,
                            struct iovec iov[2]);
/* Whether an engine may receive the frame. If so, it decides with the lock held. */
bool ernic_pci_frame_may_be_engines(const ErnicPci *d, const uint8_t *buf, size_t size);
/*
 * Give a frame to the engine that it is for; inside enter and leave. False: it is for the
 * Ethernet interface.
 */
bool ernic_pci_frame_to_engine(ErnicPci *d, uint64_t now, const uint8_t *buf,
                               size_t size);

#endif /* ERNIC_NET_FRAMES_H */
