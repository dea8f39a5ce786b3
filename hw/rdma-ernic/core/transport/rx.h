/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving: a train from the link, packet by packet, to its queue pairs.
 */
#ifndef ERNIC_TRANSPORT_RX_H
#define ERNIC_TRANSPORT_RX_H

#include "base/device.h"

/* Serve every packet, or drop it with a reason that is counted. */
void ernic_rx_train(Ernic *e, const ErnicTrain *train);

/*
 * Drop an Ethernet frame that ernic_net_parse() refuses, of at most its headers'
 * length; the face sees it with the reason.
 */
void ernic_rx_frame(Ernic *e, const uint8_t *frame, uint32_t len);

/*
 * Number of candidates that one packet may try, at one ICRC each: addresses of its two
 * endpoints, and groups. Later candidates are not tried.
 */
#define ERNIC_RX_CANDIDATES 64

/*
 * Serve a train whose path is not certain (rx_path.c): packet by packet, each with the
 * path that its ICRC covers, or with that of the train if none fits.
 */
bool ernic_rx_path_open(const ErnicTrain *train);
void ernic_rx_path(const Ernic *e, const ErnicTrain *train, uint32_t pos,
                   ErnicTrain *packet);

/* Does the first packet of @train name a queue pair that exists? */
bool ernic_rx_expects(const Ernic *e, const ErnicTrain *train);

#endif /* ERNIC_TRANSPORT_RX_H */
