/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells of the verbs interface: range-checked and stored in one place.
 */
#ifndef ERNIC_INTERFACES_VERBS_DOORBELL_H
#define ERNIC_INTERFACES_VERBS_DOORBELL_H

#include "base/device.h"

/*
 * Execute one doorbell from the page of @uctx. Returns an ernic_status. A refused
 * doorbell changes nothing; it is counted, traced and raised as an event, once per
 * queue while the event queue has no room.
 */
uint8_t ernic_doorbell_exec(Ernic *e, uint32_t uctx, uint64_t value);
/*
 * The same for one at ERNIC_DB_RECORD: the value of a queue without a record would be
 * lost if it were an event, so it is refused as well if it is none.
 */
uint8_t ernic_doorbell_exec_record(Ernic *e, uint32_t uctx, uint64_t value);

#endif /* ERNIC_INTERFACES_VERBS_DOORBELL_H */
