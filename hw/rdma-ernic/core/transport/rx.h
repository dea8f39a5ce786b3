/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The way in: a train from the link, packet by packet, to its queue pairs.
 */
#ifndef ERNIC_TRANSPORT_RX_H
#define ERNIC_TRANSPORT_RX_H

#include "base/device.h"

/* Every packet is served, or dropped with a reason that is counted. */
void ernic_rx_train(Ernic *e, const ErnicTrain *train);

/*
 * An Ethernet frame that ernic_net_parse() refuses, of at most its headers'
 * worth: it is dropped with the reason, and as the face sees it.
 */
void ernic_rx_frame(Ernic *e, const uint8_t *frame, uint32_t len);

/*
 * Candidates that one packet may cost, at one ICRC each: addresses of its two endpoints
 * and groups. Later ones are not tried.
 */
#define ERNIC_RX_CANDIDATES 64

/*
 * A train whose path is not known for certain (rx_path.c): its packets go one by one,
 * each with the path that its ICRC covers, or with that of the train if none fits.
 */
bool ernic_rx_path_open(const ErnicTrain *train);
void ernic_rx_path(const Ernic *e, const ErnicTrain *train, uint32_t pos,
                   ErnicTrain *packet);

/* Does its first packet name a queue pair that there is? */
bool ernic_rx_expects(const Ernic *e, const ErnicTrain *train);

#endif /* ERNIC_TRANSPORT_RX_H */
