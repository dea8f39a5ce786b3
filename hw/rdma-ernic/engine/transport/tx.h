/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The train under construction: packets are appended as long as path and size permit,
 * and leave together. While the link is busy nothing is appended.
 */
#ifndef ERNIC_TRANSPORT_TX_H
#define ERNIC_TRANSPORT_TX_H

#include "base/device.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/*
 * Last ACKs of queue pairs that were destroyed. More of them are lost, like packets on
 * the wire.
 */
#define ERNIC_LAST_ACKS 16

typedef struct ErnicLeftAck {
    ErnicPath path;
    uint32_t qpn, dest_qp;
    uint32_t psn, msn;
    uint16_t pkey;
    uint8_t transport;          /* ErnicTransport: RC or XRC */
    uint8_t syndrome;
} ErnicLeftAck;

struct ErnicTx {
    bool busy;                  /* the link refused the train that is held */
    bool loop_full;             /* loopback has no room for it */
    uint32_t len, seg, packets; /* of the train that is held */
    bool closed;                /* nothing may follow its last packet */
    bool frame;                 /* it is an Ethernet frame */
    uint32_t domain;            /* of its sender, as in ErnicTrain */
    uint32_t loop_pos;          /* in @loop: the oldest train that is not served */
    uint64_t serial;            /* of the last train that was sent */
    uint64_t taken;             /* of the last train that the link took */
    uint64_t departed;          /* when the waiting queue pairs were last woken */
    uint32_t looks;             /* and how many of them are still to be looked at */
    ErnicPath path;
    ErnicIcrcCtx icrc;
    uint8_t buf[ERNIC_TRAIN_BYTES];
    /* Loopback: trains to the device itself, in order, until the next ernic_run(). */
    uint8_t *loop;
    uint32_t loop_len;
    uint32_t num_left;
    ErnicLeftAck left[ERNIC_LAST_ACKS];         /* oldest first; the rest 0 */
};

ErnicTx *ernic_tx_new(void);
void ernic_tx_free(ErnicTx *tx);

/*
 * Make room for one packet on @path and write the headers of @pkt; *@payload is where
 * @pkt->payload_len bytes go. Flushes the held train if the packet cannot follow it.
 * False: wait until there is room.
 */
bool ernic_tx_packet(Ernic *e, const ErnicPath *path, const ErnicPkt *pkt,
                     uint8_t **payload);
/*
 * Finish the packet, whose payload is in place: padding, ICRC, counters. A packet that
 * is not committed is overwritten by the next one.
 */
void ernic_tx_commit(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
/*
 * The same for one Ethernet frame of @len bytes, which is a train of its own: make
 * room, and finish it.
 */
bool ernic_tx_frame(Ernic *e, uint32_t len, uint8_t **frame);
void ernic_tx_commit_frame(Ernic *e, uint32_t qpn, uint32_t len);
/*
 * The same as ernic_tx_commit_frame(), for frames to one destination of @len bytes in
 * all: each has @seg bytes, and the last one at most as many. ErnicTrain explains
 * @domain.
 */
void ernic_tx_commit_frames(Ernic *e, uint32_t qpn, uint32_t domain, uint32_t len,
                            uint32_t seg);
/*
 * Pass the held train to the link or to loopback. False: it stays until
 * ernic_tx_ready(), or until loopback is served.
 */
bool ernic_tx_flush(Ernic *e);
/* Timing model: send the packets whose time has come. */
void ernic_tx_depart(Ernic *e);
/* Copy @train into the loopback store. False: it is full. */
bool ernic_tx_loop_add(Ernic *e, const ErnicTrain *train);
/* Return the loopback train at *@pos, borrowed, and advance *@pos; false: no more. */
bool ernic_tx_loop_next(const Ernic *e, uint32_t *pos, ErnicTrain *train);
/* Serial number of the train that is held, or that comes next. */
static inline uint64_t ernic_tx_serial(const Ernic *e)
{
    return e->tx->serial + 1;
}

/*
 * Serial number of the newest train that has left the device; all earlier ones have
 * left with it. A loopback train has left when it is in the store. Under the timing
 * model a packet has left when it is out of the FIFO of the model.
 */
uint64_t ernic_tx_departed(const Ernic *e);

#endif /* ERNIC_TRANSPORT_TX_H */
