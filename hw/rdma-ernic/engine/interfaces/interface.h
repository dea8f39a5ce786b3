/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interface: the layout of queues, completions and keys for the guest that drives the
 * engine. An engine has one interface for its whole life.
 */
#ifndef ERNIC_INTERFACES_INTERFACE_H
#define ERNIC_INTERFACES_INTERFACE_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "objects/wqe.h"
#include "wire/headers.h"

/* A GRH, or IP, UDP, BTH, DETH and immediate data. */
#define ERNIC_RECV_HEAD_MAX 72

/* A received packet, with the results of parsing it, before any other check. */
typedef struct ErnicArrival {
    const ErnicPath *path;
    const uint8_t *ip;          /* NULL: the link saw no Ethernet and IP header */
    /* The Ethernet frame, if the link could not parse it; else NULL. */
    const uint8_t *frame;
    uint32_t frame_len;
    const uint8_t *buf;         /* BTH to ICRC; NULL: not found */
    uint32_t len;
    const ErnicPkt *pkt;        /* parsed up to the error in @form */
    uint8_t form;               /* ErnicDrop: the parse error */
    bool icrc_bad;
    uint32_t dest_qp;
    ErnicQp *qp;                /* NULL: no queue pair in use */
} ErnicArrival;

/* The packet is served if it has neither a reason to drop it nor a fault. */
typedef struct ErnicVerdict {
    uint8_t drop;               /* ErnicDrop */
    uint8_t fault;              /* ErnicFault, to be acted on */
    uint32_t syndrome;          /* the interface's own code for it */
} ErnicVerdict;

/* Doorbell pages of a device, at the most. */
#define ERNIC_DB_PAGES  1024

/* The send queues that have a record, by number, for common/db_pages.h. */
typedef struct ErnicDbPageOps {
    uint32_t first;             /* the pages before it have no queues */
    /* Whether software has allocated @page. */
    bool (*exists)(const Ernic *e, uint32_t page);
    /* The number after @number, which is 0 at first; 0: none. It may not be used. */
    uint32_t (*next)(const Ernic *e, uint32_t number);
    /* The page of its doorbell; one that cannot be allocated: there is no such queue. */
    uint32_t (*page_of)(const Ernic *e, uint32_t number);
    /* Take what its record announces. */
    void (*look)(Ernic *e, uint32_t number);
    /*
     * For ernic_db_poll(): whether it is to be watched any longer: with @on, and a
     * record that announces nothing. Otherwise, if it is awake, it gets a turn, in which
     * it works or asks for a doorbell. NULL: no queue is watched.
     */
    bool (*watch)(Ernic *e, uint32_t number, bool on);
} ErnicDbPageOps;

/*
 * An interface's table. Every method is set; one that an interface shares with others
 * is an ernic_default_*() of interfaces/common/defaults.h. The roles call the
 * methods, and do not depend on any particular interface.
 *
 * A method runs inside the engine, in the turn of a queue pair or while a packet is
 * served. It may read and write guest memory, raise events and interrupts, and change
 * the state of the interface. It sends no packets and does not change the state of a
 * queue pair, unless its comment says so.
 */
struct ErnicInterfaceOps {
    /* The checks of keys; ernic_new() copies it to e->keys. */
    const ErnicKeyOps *keys;
    /* The format of completion queues; likewise e->cqes. */
    const ErnicCqeOps *cqes;
    /* The entries of event queues; likewise e->eqs. */
    const ErnicEqOps *eqs;
    /* NULL: each doorbell has a value. */
    const ErnicDbPageOps *db_pages;
    /*
     * Software owns receive requests: each of them completes, flushed if necessary,
     * and WRITE with immediate consumes one.
     */
    bool recv_requests;
    /* A send queue of UC or UD may stop alone, in the state SQ Error. */
    bool send_queue_error;

    /* ---- send requests: the requester, the completer and flushing call these. */

    /*
     * Decode into @wqe the send request that begins at unit sq.taken, and set
     * @wqe->units to its number of units: at least 1, at most up to sq.wq.pi. False:
     * software has posted none; a doorbell announces the next one. A request that must
     * not be executed has @wqe->fault set; then wr_id is valid and the opcode is one
     * that exists. Moves @qp to Error if software's record of what it has posted cannot
     * be read. The caller sets index and unit, advances the counters
     * and keeps @wqe until the request ends; a request that was decoded and not
     * completed when another one failed is decoded again.
     */
    bool (*fetch)(Ernic *e, ErnicQp *qp, ErnicWqe *wqe);
    /*
     * @wqe, the oldest request of the send queue, has ended with @fault. Its units are
     * free already: ernic_sq_done() is past them.
     */
    void (*complete_send)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicFault fault);
    /*
     * Fill in @path, @pkt and the offset *@off of the payload in the message of the UD
     * request @wqe. A fault ends the request.
     */
    ErnicFault (*datagram)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                           ErnicPath *path, ErnicPkt *pkt, uint32_t *off);
    /*
     * Copy the payload of @pkt, a SEND or WRITE of a connection, to @to; it begins at
     * byte @off of the message. Called again for a retransmission.
     * ERNIC_FAULT_PAGE: e->absent is set.
     */
    ErnicFault (*gather)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                         uint64_t off, const ErnicPkt *pkt, uint8_t *to);
    /* The number of requests of @qp that may be outstanding at once. */
    uint32_t (*outstanding)(const ErnicQp *qp);
    /* Whether @qp keeps retrying after its retry count is exhausted. */
    bool (*retry_forever)(const Ernic *e, const ErnicQp *qp);

    /* ---- receive requests: the responder and flushing call these. */

    /*
     * Whether receive requests are posted to @qp, which has no SRQ, without doorbells:
     * a queue pair that flushes them polls for more.
     */
    bool (*polls_recv)(const ErnicQp *qp);
    /*
     * Take the receive request for the next message into @recv. False: there is none,
     * and the peer gets an RNR NAK; or the producer counter cannot be read or the SRQ
     * has failed, and recv->fault, which is 0 before the call, has the reason. Called
     * once for each message and while flushing; the result is not cached. If software
     * posts without doorbells, the method reads the producer counter from memory. With
     * an SRQ (ernic_qp_srq()) it also calls ernic_srq_check_limit() and, if a DMA fails,
     * ernic_srq_fail().
     */
    bool (*take_recv)(Ernic *e, ErnicQp *qp, ErnicRecv *recv);
    /*
     * A message that took @recv (NULL: none) has ended with @fault. The queue pair no
     * longer holds @recv. @wc has the values from the packets; the method fills in the
     * rest and posts it.
     */
    void (*complete_recv)(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                          ErnicWc *wc, ErnicFault fault);
    /*
     * Write the headers that precede the payload of a received datagram to @head: at
     * most ERNIC_RECV_HEAD_MAX bytes. The datagram has @ib_len bytes, BTH to ICRC.
     * Returns the length.
     */
    uint32_t (*recv_head)(const ErnicPkt *pkt, const ErnicTrain *train,
                          uint32_t ib_len, uint8_t *head);
    /*
     * The time in ns after which the executed RC or XRC request packet @pkt is
     * acknowledged. 0: at once; ERNIC_NEVER: this packet causes no ACK.
     */
    uint64_t (*ack_delay)(const Ernic *e, const ErnicPkt *pkt);

    /* ---- completions */

    /*
     * Write @wc to guest memory: to completion queue @cqn, if the interface has such
     * queues. complete_send() and complete_recv() call ernic_qp_post(), which calls
     * this; with the timing model later. May move the queue pair of @wc to Error.
     */
    void (*post)(Ernic *e, uint32_t cqn, const ErnicWc *wc);

    /* ---- Ethernet frames that are no RoCEv2 packet for this engine */

    /*
     * Whether software receives @frame. It comes from the link, or the device is about
     * to send it in the train @own. May be called at any time.
     */
    bool (*wants_frame)(Ernic *e, const uint8_t *frame, uint32_t len,
                        const ErnicTrain *own);
    /* Receive @frame, or drop it with a reason that is counted. */
    void (*take_frame)(Ernic *e, const uint8_t *frame, uint32_t len,
                       const ErnicTrain *own);

    /* ---- packets: tx.c and rx.c call these. */

    /* The P_Key of all packets that @qp sends. */
    uint16_t (*pkey)(const Ernic *e, const ErnicQp *qp);
    /* Whether @qp accepts packets with @pkey. */
    bool (*pkey_ok)(const Ernic *e, const ErnicQp *qp, uint16_t pkey);
    /* Queue pair @qpn sends @pkt. */
    void (*sent)(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
    /* The link is busy while the engine has packets for it. */
    void (*pressed)(Ernic *e);
    /*
     * The checks before that of the queue pair's state: of the format, the ICRC and the
     * queue pair number, and those specific to the interface.
     */
    ErnicVerdict (*check_packet)(Ernic *e, const ErnicArrival *a);
    /* @pkt for @qp has passed all checks before execution, or has a fault to NAK. */
    void (*came)(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
    /* A packet was dropped for a reason, or had a fault. */
    void (*refused)(Ernic *e, const ErnicArrival *a, const ErnicVerdict *v);
    /* @qp received an ECN-marked packet of a connection, or a CNP. */
    void (*marked)(Ernic *e, ErnicQp *qp);
    void (*cnp)(Ernic *e, ErnicQp *qp);

    /* ---- errors */

    /*
     * The interface's code for @fault of @pkt (NULL: of no packet). The engine keeps it
     * in ack.code until the queue pair moves to Error. 0: the interface has no codes.
     */
    uint8_t (*fault_code)(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                          ErnicFault fault);
    /* @qp is about to move to Error; its state is still the old one. May send an ACK. */
    void (*fatal)(Ernic *e, ErnicQp *qp, ErnicFault fault);
};

/* verbs/methods.c: work queues, completion queues and keys of verbs. */
extern const ErnicInterfaceOps ernic_interface_verbs;
/* pg332/methods.c: queues in the layout of PG332; addresses are those of the bus. */
extern const ErnicInterfaceOps ernic_interface_pg332;

/* mlx5/methods.c: queues in the layout of the mlx5 interface. */
extern const ErnicInterfaceOps ernic_interface_mlx5;

#endif /* ERNIC_INTERFACES_INTERFACE_H */
