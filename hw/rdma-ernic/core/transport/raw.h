/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving of raw packet queue pairs.
 */
#ifndef ERNIC_TRANSPORT_RAW_H
#define ERNIC_TRANSPORT_RAW_H

#include "base/device.h"

/* Serve an Ethernet frame: it goes to the queue pair of the rule that matches. */
void ernic_raw_frame(Ernic *e, const uint8_t *frame, uint32_t len);

#endif /* ERNIC_TRANSPORT_RAW_H */
