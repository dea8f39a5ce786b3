/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long adaptive retransmission goes on.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "device/clock.h"
#include "device/retry_time.h"

/*
 * In virtual time a queue pair fails when its attributes say so: no host is busy there,
 * and the model is compared with hardware. The ERNIC retries as PG332 says.
 */
uint64_t ernic_pci_retry_time(const ErnicPci *d, bool pg332)
{
    bool on = d->adaptive == ON_OFF_AUTO_AUTO ? !pg332 && !ernic_pci_virtual_time(d) :
              d->adaptive == ON_OFF_AUTO_ON;

    return on ? (uint64_t)d->retry_time * SCALE_MS : 0;
}
