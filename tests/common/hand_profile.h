/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A profile with which times can be worked out by hand.
 */
#ifndef HAND_PROFILE_H
#define HAND_PROFILE_H

#include "timing/profile.h"

/* The core's cycle is 1 ns, the host side's 2 ns; 1 byte takes 1 ns. */
#define NS(n) ((n) * 1000ull)
static const ErnicProfile hand = {
    .core_ps = NS(1), .host_ps = NS(2),
    .wire_mbps = 8000, .wire_extra = 24, .wire_min = 60,
    .wire_flight = NS(50),
    .wqe_batch = 4, .wqe_miss = NS(1000), .wqe_fetches = 1, .key_update = NS(500),
    .read_overlap = 1, .dma_requests = 4, .dma_request = 512,
    .tx_packets = 4, .rx_packets = 4, .outstanding = 64, .ack_coalesce = 1,
    .stage = {
        [ERNIC_STAGE_DOORBELL] = { NS(100), 1 },
        [ERNIC_STAGE_WQE] = { NS(10), 2 },
        [ERNIC_STAGE_TX_CONTEXT] = { NS(20), 1 },
        [ERNIC_STAGE_READ_RSP] = { NS(5), 3 },
        [ERNIC_STAGE_DMA_READ] = { NS(300), 1, 0, 32 },
        [ERNIC_STAGE_BUILD] = { NS(40), 2, 3, 64 },
        [ERNIC_STAGE_MAC] = { NS(7) },
        [ERNIC_STAGE_RECEIVE] = { NS(60), 4, 9, 32 },
        [ERNIC_STAGE_RX_CONTEXT] = { NS(15), 1 },
        [ERNIC_STAGE_KEY] = { NS(25), 1 },
        [ERNIC_STAGE_DMA_WRITE] = { NS(80), 1, 0, 16 },
        [ERNIC_STAGE_CQE] = { NS(90), 5 },
        [ERNIC_STAGE_INTERRUPT] = { NS(200), 1 },
    },
};

#endif /* HAND_PROFILE_H */
