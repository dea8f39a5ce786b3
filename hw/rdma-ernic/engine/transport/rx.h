/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving: a train from the link, packet by packet, to its queue pairs.
 */
#ifndef ERNIC_TRANSPORT_RX_H
#define ERNIC_TRANSPORT_RX_H

#include "base/device.h"
#include "wire/frame.h"

/* Serve every packet, or drop it with a reason that is counted. */
void ernic_rx_train(Ernic *e, const ErnicTrain *train);
/*
 * Continue with multicast datagrams that have not reached all members: when a slice
 * begins, and at its end.
 */
void ernic_rx_copies(Ernic *e);
void ernic_rx_copies_rest(Ernic *e);

/*
 * Drop an Ethernet frame that ernic_net_parse() has parsed as @f and refused for @drop,
 * of at most its headers' length; the interface sees it with the reason.
 */
void ernic_rx_frame(Ernic *e, const ErnicFrame *f, const uint8_t *frame, uint32_t len,
                    ErnicDrop drop);

/*
 * Number of candidates that one packet may try, at one ICRC each, which is charged:
 * addresses of its two endpoints, and groups. Later candidates are not tried.
 */
#define ERNIC_RX_CANDIDATES 64

/* Whether a packet of @train, which has a unicast path, may be for a group. */
bool ernic_rx_may_be_to_group(const ErnicTrain *train);
/*
 * Whether the path of @train is not certain. Without aliases and groups it is certain,
 * at the cost of a few comparisons for a train.
 */
static inline bool ernic_rx_path_open(const Ernic *e, const ErnicTrain *train)
{
    if (train->ip || train->frame || train->path_final) {
        return false;
    }
    return train->num_alt_sgid || train->num_alt_dgid ||
           (unlikely(e->num_groups) && ernic_rx_may_be_to_group(train));
}
/*
 * The packet of such a train at byte @pos, as a train of its own: with the path that
 * its ICRC covers, or with that of @train if none fits. That path is final.
 */
void ernic_rx_path(Ernic *e, const ErnicTrain *train, uint32_t pos,
                   ErnicTrain *packet);

/* Whether the first packet of @train names a queue pair that exists. */
bool ernic_rx_expects(const Ernic *e, const ErnicTrain *train);

#endif /* ERNIC_TRANSPORT_RX_H */
