/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers of the xib shell.
 */
#ifndef ERNIC_BARS_XIB_REGISTERS_H
#define ERNIC_BARS_XIB_REGISTERS_H

#include "bars/xib/xib.h"

/* The registers of the MAC get their values at reset. */
void xib_mac_reset(ErnicXib *x);

#endif /* ERNIC_BARS_XIB_REGISTERS_H */
