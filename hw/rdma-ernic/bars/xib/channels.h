/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The channels of the AXI DMA.
 */
#ifndef ERNIC_BARS_XIB_CHANNELS_H
#define ERNIC_BARS_XIB_CHANNELS_H

#include "bars/xib/xib.h"

/* A slice of the work of both. */
void xib_channels_run(ErnicPci *d);
/* A write to the registers of channel @ch; the tail may be written at once. */
void xib_channel_write(ErnicPci *d, uint32_t ch, uint32_t offset, uint32_t value);
void xib_channel_tail(ErnicPci *d, uint32_t ch, uint64_t value);
/* The timer runs to the end of the first delay; this is over, and maybe others. */
void xib_set_timer(ErnicPci *d);
void xib_delays(ErnicPci *d);
/* The reset of the AXI DMA. */
void xib_channels_reset(ErnicPci *d);
/* Whether the state is one that the channels can be in. */
bool xib_channels_valid(const ErnicXib *x);

#endif /* ERNIC_BARS_XIB_CHANNELS_H */
