/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time that the DMA engines of a shell take under the timing model. An engine has
 * one descriptor in hand: its data move, and its completion appears, when the time is
 * over. Descriptors that follow are fetched meanwhile, so the latency counts for an
 * engine that was idle alone.
 */
#ifndef ERNIC_DEVICE_PACE_H
#define ERNIC_DEVICE_PACE_H

#include "device/device.h"

/*
 * Whether the engine has to wait for the end of a descriptor of @len bytes of queue
 * @owner. @timer then runs the engine again. Without the timing model it never waits.
 */
bool ernic_pace_waits(ErnicPci *d, ErnicPace *p, uint32_t owner, uint32_t len,
                      QEMUTimer *timer);
/* The descriptor is complete, or has failed. */
void ernic_pace_done(ErnicPace *p);
/* The engine has found no further descriptor. */
void ernic_pace_idle(ErnicPace *p);
/* The descriptor of @owner, if it is that, will not be executed. */
void ernic_pace_cancel(ErnicPace *p, uint32_t owner);

extern const VMStateDescription ernic_pace_vmstate;     /* of ErnicPci */

#endif /* ERNIC_DEVICE_PACE_H */
