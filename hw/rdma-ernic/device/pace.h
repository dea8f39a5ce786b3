/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time that the DMA engines of a shell take under the timing model. An engine has
 * one descriptor at a time: its data move, and its completion appears, when the time is
 * over. Descriptors that follow are fetched meanwhile, so the latency counts for an
 * engine that was idle alone.
 */
#ifndef ERNIC_DEVICE_PACE_H
#define ERNIC_DEVICE_PACE_H

#include "device/device.h"

/*
 * Whether the engine has to wait for the end of descriptor @owner, a number that no
 * other has, of @len bytes. A timer then runs the engines again. Without the timing
 * model it never waits.
 */
bool ernic_pace_waits(ErnicPci *d, ErnicPace *p, uint32_t owner, uint32_t len);
/* The descriptor is complete, or has failed. */
void ernic_pace_done(ErnicPace *p);
/* The engine has found no further descriptor. */
void ernic_pace_idle(ErnicPace *p);
/* The descriptor will not be executed; the engine goes on with others. */
void ernic_pace_cancel(ErnicPace *p);
/* The engine may not run, and earns no time meanwhile. */
void ernic_pace_stall(ErnicPace *p);
/* The same for all engines: of a reset, and of a function in D3hot. */
void ernic_pace_reset(ErnicPci *d);
void ernic_pace_no_power(ErnicPci *d);

extern const VMStateDescription ernic_pace_vmstate;     /* of ErnicPci */

#endif /* ERNIC_DEVICE_PACE_H */
