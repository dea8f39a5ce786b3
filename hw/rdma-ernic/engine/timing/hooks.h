/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hooks through which the engine calls the timing model. Each hook checks once
 * whether there is a model. Without one it acts like a device that takes no time, and
 * mostly does nothing. The other files do not use e->timing.
 */
#ifndef ERNIC_TIMING_HOOKS_H
#define ERNIC_TIMING_HOOKS_H

#include "timing/timing.h"

/* ---- from software ------------------------------------------------------- */

/* Account for a store with immediate effect, in order with the other stores. */
static inline void ernic_timed_store(Ernic *e)
{
    if (unlikely(e->timing)) {
        ernic_timing_store(e);
    }
}

/* Delay a doorbell until it arrives. False: it takes effect now. */
static inline bool ernic_timed_doorbell(Ernic *e, uint32_t where, uint64_t value)
{
    if (likely(!e->timing)) {
        return false;
    }
    ernic_timing_doorbell(e, where, value);
    return true;
}

/* ---- to software --------------------------------------------------------- */

/* Raise interrupt @vector, now or when its message arrives. */
static inline void ernic_timed_irq(Ernic *e, uint16_t vector)
{
    if (unlikely(e->timing)) {
        ernic_timing_irq(e, vector);
    } else {
        e->ops->irq(e->env, vector);
    }
}

/* The number of completions that wait to be written. */
static inline uint32_t ernic_timed_cqes(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->cqes.count : 0;
}

/* Whether the FIFO of waiting completions is full. */
static inline bool ernic_timed_cqes_full(const Ernic *e)
{
    return unlikely(e->timing) && ernic_delay_fifo_full(&e->timing->cqes);
}

/* Delay @wc, for which there is room. False: the caller writes it now. */
static inline bool ernic_timed_cqe(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                                   ErnicTimedAfter after)
{
    if (likely(!e->timing)) {
        return false;
    }
    ernic_timing_cqe(e, cqn, wc, after);
    return true;
}

/* The number of completions of @qpn that PG332 software does not see yet. */
static inline uint32_t ernic_timed_hidden(const Ernic *e, uint32_t qpn, bool recv)
{
    return unlikely(e->timing) ? ernic_timing_hidden(e, qpn, recv) : 0;
}

/* Whether PG332 software does not see some completion of a request yet. */
static inline bool ernic_timed_hides_requests(const Ernic *e)
{
    return unlikely(e->timing) && ernic_timing_hides_requests(e);
}

/* ---- requests ------------------------------------------------------------ */

/* Queue pair @qpn has executed a local operation; see ernic_timing_local(). */
static inline void ernic_timed_local(Ernic *e, uint32_t qpn, const char *name,
                                     uint32_t index, uint32_t behind)
{
    if (unlikely(e->timing)) {
        ernic_timing_local(e, qpn, name, index, behind);
    }
}

/* The number of requests of a queue pair that the hardware keeps outstanding. */
static inline uint32_t ernic_timed_outstanding(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->p->outstanding : UINT32_MAX;
}

/* @qpn is reset: it has no fetched requests, and none in progress. */
static inline void ernic_timed_forget(Ernic *e, uint32_t qpn)
{
    if (unlikely(e->timing)) {
        e->timing->fetched[qpn] = 0;
        ernic_timing_requests(e, qpn, 0);
    }
}

/*
 * ACK coalescing: one more request waits for an ACK, and @count is the number so far.
 * Returns the time in ns for which the hardware delays the ACK.
 */
static inline uint64_t ernic_timed_coalesce(const Ernic *e, uint16_t *count)
{
    return unlikely(e->timing) && ++*count < e->timing->p->ack_coalesce ?
           DIV_ROUND_UP(e->timing->p->ack_delay, 1000) : 0;
}

/* ---- buffers ------------------------------------------------------------- */

/* The retry buffer; NULL: the hardware has none. */
static inline ErnicTimedRetry *ernic_timed_retry(const Ernic *e)
{
    return unlikely(e->timing) && e->timing->retry.kept.size ? &e->timing->retry :
                                                               NULL;
}

/* The read slot of @qpn, in which it sends responses; NULL: none. */
static inline ErnicTimedResponse *ernic_timed_place(const Ernic *e, uint32_t qpn)
{
    return unlikely(e->timing) ? ernic_timing_place(e->timing, qpn) : NULL;
}

/* Whether @qpn needs a read slot that it does not have. */
static inline bool ernic_timed_needs_place(const Ernic *e, uint32_t qpn)
{
    return unlikely(e->timing) && !ernic_timing_place(e->timing, qpn);
}

/* ---- packets ------------------------------------------------------------- */

/* Whether each packet leaves at its own time, and not in a train. */
static inline bool ernic_timed_singly(const Ernic *e)
{
    return unlikely(e->timing);
}

/*
 * The serial number of the newest train that has left the FIFO of packets. Without the
 * model it is that of the last train, @serial.
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
 * The newest train whose requests may complete, if they need no response. It is
 * @departed; with the model @serial, since the completion itself then waits until its
 * frame has left.
 */
static inline uint64_t ernic_timed_complete_to(const Ernic *e, uint64_t departed,
                                               uint64_t serial)
{
    return unlikely(e->timing) ? serial : departed;
}

/* The number of packets that have left the engine but not the device. */
static inline uint32_t ernic_timed_packets(const Ernic *e)
{
    return unlikely(e->timing) ? e->timing->tx.count : 0;
}

/* See ernic_timing_sent(). */
static inline void ernic_timed_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt,
                                    const ErnicPath *path, uint32_t len,
                                    uint32_t behind, uint32_t index)
{
    if (unlikely(e->timing)) {
        ernic_timing_sent(e, qpn, pkt, path, len, behind, index);
    }
}

/*
 * Whether the model delays @train, which is one packet. *@fits: the FIFO had room, and
 * has taken the packet.
 */
static inline bool ernic_timed_depart(Ernic *e, const ErnicTrain *train, bool *fits)
{
    if (likely(!e->timing)) {
        return false;
    }
    *fits = ernic_timing_depart(e, train);
    return true;
}

/* The same for a packet to the device itself. */
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
