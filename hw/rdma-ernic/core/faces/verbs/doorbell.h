/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells of the verbs face: range-checked and stored in one place.
 */
#ifndef ERNIC_DOORBELL_H
#define ERNIC_DOORBELL_H

#include "base/device.h"

/*
 * Obey one doorbell from the page of @uctx. Returns an ernic_status; what is
 * refused changes nothing, and is counted, traced and raised as an event, once
 * per queue as long as the event queue has no room for it.
 */
uint8_t ernic_doorbell_exec(Ernic *e, uint32_t uctx, uint64_t value);

#endif /* ERNIC_DOORBELL_H */
