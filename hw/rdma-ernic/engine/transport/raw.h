/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving of raw packet queue pairs.
 */
#ifndef ERNIC_TRANSPORT_RAW_H
#define ERNIC_TRANSPORT_RAW_H

#include "base/device.h"

/* Methods of interfaces with rules: a frame goes to the queue pair of its rule. */
bool ernic_raw_wants(Ernic *e, const uint8_t *frame, uint32_t len,
                     const ErnicTrain *own);
void ernic_raw_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                     const ErnicTrain *own);

#endif /* ERNIC_TRANSPORT_RAW_H */
