/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state of the ports of a switch: for switch.c, and for switch_state.c,
 * which saves every field that does not come from the command line.
 */
#ifndef ERNIC_FABRIC_SWITCH_PORT_H
#define ERNIC_FABRIC_SWITCH_PORT_H

#include "fabric/cable.h"
#include "fabric/switch.h"

#define MAC_LEN                 6

typedef struct Port {
    bool plugged, paced;
    bool full;                  /* the device accepts no frames */
    bool refused;               /* the device was refused, and waits for ready() */
    bool stopped;               /* the signal to stop was sent */
    bool stopping;              /* it is stopped, or will be when the signal arrives */
    uint64_t stopped_at;
    uint64_t depth_at;          /* ns, time up to which depth_area counts */
    uint64_t held;              /* bytes of its frames that wait in the switch */
    uint64_t share[ERNIC_SWITCH_PORTS];     /* bytes that wait for it, by sender */
    ErnicCable up, down;        /* from the device, to the device */
    ErnicCarriedList queue;     /* frames that wait for down */
    uint8_t mac[ERNIC_SWITCH_MACS][MAC_LEN];
    uint32_t macs;              /* addresses learnt; the oldest is replaced */
    ErnicSwitchStats stats;
} Port;

/* Bytes that a frame counts in a queue: the shortest ones are padded. */
static inline uint32_t ernic_switch_depth(const ErnicCarried *f)
{
    return MAX(f->len, ERNIC_CABLE_MIN);
}

struct ErnicSwitch {
    ErnicSwitchConfig cfg;
    const ErnicSwitchOps *ops;
    void *opaque;
    uint64_t loss_rng, reorder_rng, mark_rng;
    ErnicBudget work;           /* of ernic_switch_run(); not saved */
    ErnicCarriedStore store;
    Port port[];
};

#endif /* ERNIC_FABRIC_SWITCH_PORT_H */
