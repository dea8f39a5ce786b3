/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The transport timer of a send queue (IBTA vol. 1, 9.7.6.1.3), which requester and
 * completer start. The wait after an RNR NAK is the completer's (completer.c).
 */
#ifndef ERNIC_TRANSPORT_ACK_TIMER_H
#define ERNIC_TRANSPORT_ACK_TIMER_H

#include "objects/qp.h"

/*
 * Start it, because a packet of @qp needs an answer; with @leaving it runs from the
 * departure of the last packet of @qp.
 */
void ernic_ack_timer_start(Ernic *e, ErnicQp *qp, bool leaving);

#endif /* ERNIC_TRANSPORT_ACK_TIMER_H */
