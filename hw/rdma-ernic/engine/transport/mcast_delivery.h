/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast: the delivery of a datagram to the members of its group. A group may have a
 * thousand members, so that the deliveries of one train are more than a slice of work.
 * Datagrams that are not delivered to all members wait in a store, oldest first, and
 * ernic_run() continues. Meanwhile nothing is received (ernic_rx_room()), so that no
 * datagram is lost, but for half of the slices at the most: whoever sends to a large
 * group all the time must not stop those who receive other packets.
 */
#ifndef ERNIC_TRANSPORT_MCAST_DELIVERY_H
#define ERNIC_TRANSPORT_MCAST_DELIVERY_H

#include "base/device.h"
#include "wire/headers.h"

/* Bytes of the store: more than the longest train as datagrams. */
#define ERNIC_MCAST_STORE  (256u * 1024)
/* The most slices for which nothing is received, and after which it is for as many. */
#define ERNIC_MCAST_SLICES 8

struct ErnicMcastDelivery {
    uint8_t *store;             /* owned; records; NULL: none waits */
    uint32_t head, tail;        /* equal: none waits */
    /* The next entry of the group table for the oldest, and its members so far. */
    uint32_t next, members;
    uint32_t slices;            /* without receiving, less the others since then */
    bool open;                  /* all is received until these are 0 */
    bool first;                 /* this slice began with the datagrams */
};

/* Delivers @pkt, which passed all checks before that of the queue pair, to @qp. */
typedef void ErnicCopyFn(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                         const ErnicTrain *train);

/* Whether a datagram waits. */
static inline bool ernic_mcast_delivery_wait(const Ernic *e)
{
    return e->copies->head != e->copies->tail;
}

/* Whether nothing is received because of that. */
static inline bool ernic_mcast_delivery_blocks(const Ernic *e)
{
    return ernic_mcast_delivery_wait(e) && !e->copies->open;
}

ErnicMcastDelivery *ernic_mcast_delivery_new(void);
void ernic_mcast_delivery_free(Ernic *e);
/*
 * Deliver @pkt, whose bytes from the BTH on are at @buf, to all members of its group,
 * now or after the datagrams that wait. ERNIC_DROP_NO_QP: the group has no members;
 * ERNIC_DROP_COPIES: the store has no room.
 */
uint8_t ernic_mcast_delivery_add(Ernic *e, const ErnicPkt *pkt, const ErnicTrain *train,
                         const uint8_t *buf, uint32_t len, ErnicCopyFn *deliver);
/*
 * A slice begins: continue with the datagrams that wait. They have half of each second
 * slice, because the clock may end a slice early, and then other work would have none.
 */
void ernic_mcast_delivery_run(Ernic *e, ErnicCopyFn *deliver);
/* The same for what other work has left of the slice. */
void ernic_mcast_delivery_run_rest(Ernic *e, ErnicCopyFn *deliver);

#endif /* ERNIC_TRANSPORT_MCAST_DELIVERY_H */
