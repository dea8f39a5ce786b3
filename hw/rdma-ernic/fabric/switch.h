/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The in-process network: a cable between two ports, or a switch with one cable
 * per port. Cables take time, lose and delay frames; the switch learns, queues,
 * marks, pauses and drops. The result depends only on the calls and the seed:
 * the caller passes the times, in ns; calculations are in whole ps.
 *
 * A frame occupies the cable for the time of its bytes at the rate, then it is
 * in flight. At a switch it waits for its port after earlier frames, then it
 * goes onto the cable of that port. One frame may wait for the one on a cable;
 * further ones are refused, so that the sender keeps its frames and can be
 * paused.
 */
#ifndef ERNIC_FABRIC_SWITCH_H
#define ERNIC_FABRIC_SWITCH_H

#include "base/budget.h"

#define ERNIC_SWITCH_PORTS      64
/* Source addresses that the switch learns per port. */
#define ERNIC_SWITCH_MACS       16
/* Bytes of a frame, without FCS. */
#define ERNIC_SWITCH_FRAME_MIN  14
#define ERNIC_SWITCH_FRAME_MAX  16384
/* The value of probability 1. */
#define ERNIC_SWITCH_ALWAYS     1000000000u

typedef struct ErnicSwitchConfig {
    uint32_t ports;             /* 2: a cable; up to ERNIC_SWITCH_PORTS */
    uint64_t rate;              /* bit/s of every cable, > 0 */
    uint64_t flight;            /* ns on every cable */
    uint64_t latency;           /* ns that a switch takes for a frame */
    uint64_t queue;             /* bytes that may wait for a port */
    uint64_t kmin, kmax;        /* bytes that wait; kmax 0: no marks */
    uint32_t pmax;              /* probability of a mark just below kmax */
    uint64_t xoff, xon;         /* bytes per sender; xoff 0: no pauses */
    uint32_t loss;              /* loss probability, per frame and cable */
    uint32_t reorder;           /* probability of a delay */
    uint64_t reorder_max;       /* ns, greatest delay */
    uint64_t seed;
    ErnicClock *clock;          /* ends slices of work as well; NULL: units alone do */
} ErnicSwitchConfig;

/* The counters of each port, since ernic_switch_reset(). */
#define ERNIC_SWITCH_STATS_LIST(X) \
    X(rx_frames)        /* from the device */ \
    X(rx_bytes) \
    X(tx_frames)        /* to the device */ \
    X(tx_bytes) \
    X(lost)             /* by chance, on this port's cable */ \
    X(held_up)          /* by chance, on this port's cable */ \
    X(bad)              /* from the device, too long or too short */ \
    X(floods)           /* from the device, to an unknown address */ \
    X(filtered)         /* from the device, to an address of its own port */ \
    X(unplugged)        /* no device at the port */ \
    X(tail_drops)       /* no room in the queue of this port */ \
    X(marks)            /* marked in the queue of this port */ \
    X(pauses)           /* signals sent to the device */ \
    X(paused_ns)        /* ns that the device was stopped */ \
    X(depth)            /* bytes in the queue of this port */ \
    X(max_depth) \
    X(depth_area)       /* bytes times ns spent in that queue; wraps */

typedef struct ErnicSwitchStats {
#define X(name) uint64_t name;
    ERNIC_SWITCH_STATS_LIST(X)
#undef X
} ErnicSwitchStats;

/* The callbacks of the switch; they may call only ernic_switch_send(). */
typedef struct ErnicSwitchOps {
    /*
     * A frame has arrived at the device at @port, completely at @at. False: the
     * device accepts no other frame before ernic_switch_resume().
     */
    bool (*deliver)(void *opaque, uint32_t port, uint64_t at,
                    const uint8_t *frame, uint32_t len);
    /*
     * A frame from the device at @port is completely on the cable. May be NULL.
     */
    void (*sent)(void *opaque, uint32_t port, uint64_t at,
                 const uint8_t *frame, uint32_t len);
    /* The device at @port, which was refused, may send again. */
    void (*ready)(void *opaque, uint32_t port);
} ErnicSwitchOps;

typedef struct ErnicSwitch ErnicSwitch;

/* The error in @cfg, or NULL. */
const char *ernic_switch_wrong(const ErnicSwitchConfig *cfg);

/* Bytes of a stream, at the most, with @cfg and the frames that wait at its ports. */
uint64_t ernic_switch_save_most(const ErnicSwitchConfig *cfg);
/* @cfg is valid and is copied; @ops and @opaque outlive the switch. */
ErnicSwitch *ernic_switch_new(const ErnicSwitchConfig *cfg,
                              const ErnicSwitchOps *ops, void *opaque);
/* Frames that its caller has are freed or dropped. */
void ernic_switch_free(ErnicSwitch *s);
/*
 * Back to the state after ernic_switch_new(): nothing is in flight, learnt or
 * counted, and the random numbers begin anew. Devices keep their ports and may
 * all send.
 */
void ernic_switch_reset(ErnicSwitch *s);

/*
 * A device is connected to @port, or disconnected; then the frames on its cable
 * and in its queue are lost. @paced: it sends no faster than its own link, so a
 * frame that it sends at some time has been on the cable before.
 */
void ernic_switch_plug(ErnicSwitch *s, uint32_t port, bool paced);
void ernic_switch_unplug(ErnicSwitch *s, uint32_t port, uint64_t now);

/*
 * Send a frame of the device at @port; it is copied. False: not now; ready()
 * reports when.
 */
bool ernic_switch_send(ErnicSwitch *s, uint32_t port, uint64_t now,
                       const uint8_t *frame, uint32_t len);
/* Whether it waits for ready(). */
bool ernic_switch_refused(const ErnicSwitch *s, uint32_t port);
/* The device at @port accepts frames again. */
void ernic_switch_resume(ErnicSwitch *s, uint32_t port, uint64_t now);

/*
 * Handle the events that are due by @now, in order, until a slice of work ends. False:
 * some of them are left for another call.
 */
bool ernic_switch_run(ErnicSwitch *s, uint64_t now);
/* The time of the next event, ns; UINT64_MAX: none. */
uint64_t ernic_switch_next(const ErnicSwitch *s);

/* The memory of its frames; a caller may have frames of its own there. */
struct ErnicCarriedStore *ernic_switch_store(ErnicSwitch *s);
/* Free a slice of what waits there. False: the rest waits for another call. */
bool ernic_switch_reap(ErnicSwitch *s);

/*
 * Save or load everything but the devices; after invalid bytes the switch is as
 * after a reset.
 */
struct ErnicArchive;
void ernic_switch_walk(ErnicSwitch *s, struct ErnicArchive *w);

void ernic_switch_stats(const ErnicSwitch *s, uint32_t port, uint64_t now,
                        ErnicSwitchStats *stats);

#endif /* ERNIC_FABRIC_SWITCH_H */
