/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the switch knows of its ports: for switch.c, and for switch_state.c, which
 * has a line for every field that is not of this command line.
 */
#ifndef ERNIC_SWITCH_PORT_H
#define ERNIC_SWITCH_PORT_H

#include "network/cable.h"
#include "network/switch.h"

#define MAC_LEN                 6

typedef struct Port {
    bool plugged, paced;
    bool full;                  /* the device takes no frames */
    bool refused;               /* it was told so, and waits to be called */
    bool stopped;               /* it was told to stop */
    bool stopping;              /* it is, or will be when that has come there */
    uint64_t stopped_at;
    uint64_t depth_at;          /* ns, up to which depth_area counts */
    uint64_t held;              /* bytes of its frames that wait in the switch */
    ErnicCable up, down;        /* from the device, to the device */
    ErnicCarriedList queue;     /* that wait for down */
    uint8_t mac[ERNIC_SWITCH_MACS][MAC_LEN];
    uint32_t macs;              /* learnt so far; the oldest is replaced */
    ErnicSwitchStats stats;
} Port;

struct ErnicSwitch {
    ErnicSwitchConfig cfg;
    const ErnicSwitchOps *ops;
    void *opaque;
    uint64_t loss_rng, reorder_rng, mark_rng;
    Port port[];
};

#endif /* ERNIC_SWITCH_PORT_H */
