/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The in-process wire: a cable between two ports, or a switch with a cable to
 * each of more. Cables take time, lose and hold up; the switch learns, queues,
 * marks, pauses and drops. A function of its calls and of its seed: times are
 * the caller's, in ns, and inside whole numbers of ps.
 *
 * A frame that is sent is on the cable for its bytes at the rate, then in flight.
 * At a switch it waits behind the others for its port, then is on that cable.
 * One frame may wait behind the one on a cable; what is more is refused, so that
 * who sends keeps what it cannot send, and can be paused.
 */
#ifndef ERNIC_SWITCH_H
#define ERNIC_SWITCH_H

#define ERNIC_SWITCH_PORTS      64
/* Source addresses that the switch remembers of each port. */
#define ERNIC_SWITCH_MACS       16
/* Bytes of a frame, without FCS. */
#define ERNIC_SWITCH_FRAME_MIN  14
#define ERNIC_SWITCH_FRAME_MAX  16384
/* A probability of 1. */
#define ERNIC_SWITCH_ALWAYS     1000000000u

typedef struct ErnicSwitchConfig {
    uint32_t ports;             /* 2: a cable; up to ERNIC_SWITCH_PORTS */
    uint64_t rate;              /* bit/s of every cable, > 0 */
    uint64_t flight;            /* ns on every cable */
    uint64_t latency;           /* ns that a switch takes for a frame */
    uint64_t queue;             /* bytes that may wait for a port */
    uint64_t kmin, kmax;        /* bytes that wait; kmax 0: no marks */
    uint32_t pmax;              /* probability of a mark just below kmax */
    uint64_t xoff, xon;         /* bytes of one sender; xoff 0: no pauses */
    uint32_t loss;              /* probability, each frame on each cable */
    uint32_t reorder;           /* that it is held up */
    uint64_t reorder_max;       /* ns, by at most */
    uint64_t seed;
} ErnicSwitchConfig;

/* What is counted at each port, since ernic_switch_reset(). */
#define ERNIC_SWITCH_STATS_LIST(X) \
    X(rx_frames)        /* from the device */ \
    X(rx_bytes) \
    X(tx_frames)        /* to the device */ \
    X(tx_bytes) \
    X(lost)             /* by chance, on this port's cable */ \
    X(held_up)          /* by chance, on this port's cable */ \
    X(bad)              /* from the device, too long or too short */ \
    X(floods)           /* from the device, to an address not known */ \
    X(filtered)         /* from the device, to an address of its own port */ \
    X(unplugged)        /* nobody there to have it */ \
    X(tail_drops)       /* no room among those that wait for this port */ \
    X(marks)            /* of those that wait for this port */ \
    X(pauses)           /* sent to the device */ \
    X(paused_ns)        /* that the device stood still */ \
    X(depth)            /* bytes that wait for this port now */ \
    X(max_depth) \
    X(depth_area)       /* bytes times ns that they waited for it; wraps */

typedef struct ErnicSwitchStats {
#define X(name) uint64_t name;
    ERNIC_SWITCH_STATS_LIST(X)
#undef X
} ErnicSwitchStats;

/* They may call ernic_switch_send() and nothing else. */
typedef struct ErnicSwitchOps {
    /*
     * All of a frame has come to the device at @port, at @at. False: it takes no
     * other before ernic_switch_resume().
     */
    bool (*deliver)(void *opaque, uint32_t port, uint64_t at,
                    const uint8_t *frame, uint32_t len);
    /* All of a frame from the device at @port is on the cable. NULL: untold. */
    void (*sent)(void *opaque, uint32_t port, uint64_t at,
                 const uint8_t *frame, uint32_t len);
    /* The device at @port was refused, and may send again. */
    void (*ready)(void *opaque, uint32_t port);
} ErnicSwitchOps;

typedef struct ErnicSwitch ErnicSwitch;

/* What is wrong with @cfg, or NULL. */
const char *ernic_switch_wrong(const ErnicSwitchConfig *cfg);

/* @cfg is right, and copied; @ops and @opaque outlive the switch. */
ErnicSwitch *ernic_switch_new(const ErnicSwitchConfig *cfg,
                              const ErnicSwitchOps *ops, void *opaque);
void ernic_switch_free(ErnicSwitch *s);
/*
 * As after ernic_switch_new(): nothing is under way, nothing learnt or counted,
 * chance begins anew. Devices stay where they are, and may all send.
 */
void ernic_switch_reset(ErnicSwitch *s);

/*
 * A device comes to @port, or leaves it; then what is on its cable and waits for
 * it is lost. @paced: it sends no faster than its own line, so that a frame that
 * it sends at a time has been on the cable before.
 */
void ernic_switch_plug(ErnicSwitch *s, uint32_t port, bool paced);
void ernic_switch_unplug(ErnicSwitch *s, uint32_t port, uint64_t now);

/*
 * The device at @port sends a frame, which is copied. False: not now; ready()
 * tells when.
 */
bool ernic_switch_send(ErnicSwitch *s, uint32_t port, uint64_t now,
                       const uint8_t *frame, uint32_t len);
/* The device at @port takes frames again. */
void ernic_switch_resume(ErnicSwitch *s, uint32_t port, uint64_t now);

/* Everything that is due by @now, in order. */
void ernic_switch_run(ErnicSwitch *s, uint64_t now);
/* When something is due, ns; UINT64_MAX: nothing is. */
uint64_t ernic_switch_next(const ErnicSwitch *s);

/* All of it but the devices; what is bad leaves it as after a reset. */
struct ErnicArchive;
void ernic_switch_walk(ErnicSwitch *s, struct ErnicArchive *w);

void ernic_switch_stats(const ErnicSwitch *s, uint32_t port, uint64_t now,
                        ErnicSwitchStats *stats);

#endif /* ERNIC_SWITCH_H */
