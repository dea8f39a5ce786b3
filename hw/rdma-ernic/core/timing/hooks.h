/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the engine meets the timing model. Each hook asks once whether there is a
 * model; without one it does what a device does that takes no time, which is mostly
 * nothing. The other files do not look at e->timing.
 */
#ifndef ERNIC_TIMING_HOOKS_H
#define ERNIC_TIMING_HOOKS_H

#include "timing/timing.h"

/* ---- from software ------------------------------------------------------- */

/* A store that does its work at once takes its turn among the others. */
static inline void ernic_timed_store(Ernic *e)
{
    if (unlikely(e->timing)) {
        ernic_timing_store(e);
    }
}

/* Does a doorbell wait until it has arrived? False: it takes effect now. */
static inline bool ernic_timed_doorbell(Ernic *e, uint32_t where, uint64_t value)
{
    if (likely(!e->timing)) {
        return false;
    }
    ernic_timing_doorbell(e, where, value);
    return true;
}

/* ---- to software --------------------------------------------------------- */

/* Raise interrupt @vector, now or when its message has arrived. */
static inline void ernic_timed_irq(Ernic *e, uint16_t vector)
{
    if (unlikely(e->timing)) {
        ernic_timing_irq(e, vector);
    } else {
        e->ops->irq(e->env, vector);
    }
}

/* Completions that wait to be written. */
static inline uint32_t ernic_timed_cqes(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->cqes.count : 0;
}

/* Does no other completion fit among those that wait? */
static inline bool ernic_timed_cqes_full(const Ernic *e)
{
    return unlikely(e->timing) && ernic_delay_fifo_full(&e->timing->cqes);
}

/* Does @wc wait until it is written? There is room. False: it is written now. */
static inline bool ernic_timed_cqe(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                                   ErnicTimedAfter after)
{
    if (likely(!e->timing)) {
        return false;
    }
    ernic_timing_cqe(e, cqn, wc, after);
    return true;
}

/* Completions of @qpn that software of PG332 does not see yet. */
static inline uint32_t ernic_timed_hidden(const Ernic *e, uint32_t qpn, bool recv)
{
    return unlikely(e->timing) ? ernic_timing_hidden(e, qpn, recv) : 0;
}

/* ---- requests ------------------------------------------------------------ */

/* Queue pair @qpn has carried out a local operation: as ernic_timing_local(). */
static inline void ernic_timed_local(Ernic *e, uint32_t qpn, const char *name,
                                     uint32_t index, uint32_t behind)
{
    if (unlikely(e->timing)) {
        ernic_timing_local(e, qpn, name, index, behind);
    }
}

/* Requests of a queue pair that the hardware lets be under way at once. */
static inline uint32_t ernic_timed_outstanding(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->p->outstanding : UINT32_MAX;
}

/* @qpn is reset: nothing of it is fetched, and no request is under way. */
static inline void ernic_timed_forget(Ernic *e, uint32_t qpn)
{
    if (unlikely(e->timing)) {
        e->timing->fetched[qpn] = 0;
        ernic_timing_requests(e, qpn, 0);
    }
}

/*
 * One more request waits for an ACK, of which @count counts those so far: how long the
 * hardware lets it wait, ns.
 */
static inline uint64_t ernic_timed_coalesce(const Ernic *e, uint16_t *count)
{
    return unlikely(e->timing) && ++*count < e->timing->p->ack_coalesce ?
           DIV_ROUND_UP(e->timing->p->ack_delay, 1000) : 0;
}

/* ---- buffers ------------------------------------------------------------- */

/* The retry buffer; NULL: nothing is kept in one. */
static inline ErnicTimedRetry *ernic_timed_retry(const Ernic *e)
{
    return unlikely(e->timing) && e->timing->retry.kept.size ? &e->timing->retry :
                                                               NULL;
}

/* The place for responses that @qpn has; NULL: none. */
static inline ErnicTimedResponse *ernic_timed_place(const Ernic *e, uint32_t qpn)
{
    return unlikely(e->timing) ? ernic_timing_place(e->timing, qpn) : NULL;
}

/* Has @qpn no place for responses, where it needs one? */
static inline bool ernic_timed_needs_place(const Ernic *e, uint32_t qpn)
{
    return unlikely(e->timing) && !ernic_timing_place(e->timing, qpn);
}

/* ---- packets ------------------------------------------------------------- */

/* Does each packet leave at a time of its own, and not in a train? */
static inline bool ernic_timed_singly(const Ernic *e)
{
    return unlikely(e->timing);
}

/*
 * Serial number of the newest train that has left the FIFO of packets; without
 * the model that of the last train, @serial.
 */
static inline uint64_t ernic_timed_departed(const Ernic *e, uint64_t serial)
{
    const ErnicTimedPacket *p;
    uint64_t due;

    if (likely(!e->timing) || !e->timing->tx.count) {
        return serial;
    }
    p = ernic_delay_fifo_at(&e->timing->tx, 0, &due);
    return p->serial - 1;
}

/*
 * The train up to which requests may complete that wait for no answer: @departed,
 * but with the model @serial, as a completion then waits for the time of its frame.
 */
static inline uint64_t ernic_timed_complete_to(const Ernic *e, uint64_t departed,
                                               uint64_t serial)
{
    return unlikely(e->timing) ? serial : departed;
}

/* Packets that have left the engine, and not yet the device. */
static inline uint32_t ernic_timed_packets(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->tx.count : 0;
}

/* As ernic_timing_sent(). */
static inline void ernic_timed_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt,
                                    const ErnicPath *path, uint32_t len,
                                    uint32_t behind, uint32_t index)
{
    if (unlikely(e->timing)) {
        ernic_timing_sent(e, qpn, pkt, path, len, behind, index);
    }
}

/*
 * Is it the model that lets @train, one packet, leave? *@fits: there was room, and it
 * is on its way.
 */
static inline bool ernic_timed_depart(Ernic *e, const ErnicTrain *train, bool *fits)
{
    if (likely(!e->timing)) {
        return false;
    }
    *fits = ernic_timing_depart(e, train);
    return true;
}

/* The same of a packet to the device itself. */
static inline bool ernic_timed_loop(Ernic *e, const ErnicTrain *train, bool *fits)
{
    if (likely(!e->timing)) {
        return false;
    }
    *fits = !ernic_delay_fifo_full(&e->timing->rx);
    if (*fits) {
        ernic_timing_rx_packet(e, train);
    }
    return true;
}

#endif /* ERNIC_TIMING_HOOKS_H */
