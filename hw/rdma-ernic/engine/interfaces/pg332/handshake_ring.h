/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: indices from user logic.
 */
#ifndef ERNIC_INTERFACES_PG332_HANDSHAKE_RING_H
#define ERNIC_INTERFACES_PG332_HANDSHAKE_RING_H

#include "base/device.h"

/*
 * ernic_user_ring() of engine.h in two steps: whether @r may ring, and then the ring.
 * False: @r has no effect.
 */
bool ernic_handshake_permits(const Ernic *e, const ErnicUserRecord *r);
bool ernic_handshake_ring(Ernic *e, const ErnicUserRecord *r);

#endif /* ERNIC_INTERFACES_PG332_HANDSHAKE_RING_H */
