/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of an engine: ernic_new(), ernic_reset() and ernic_free() of engine.h.
 */
#ifndef ERNIC_LIFECYCLE_H
#define ERNIC_LIFECYCLE_H

#include "base/device.h"

/*
 * Software has given up all its objects and keeps the device: a new engine, in which
 * only the interface, the link and the packets that wait for the link remain.
 */
void ernic_teardown(Ernic *e);

#endif /* ERNIC_LIFECYCLE_H */
