/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The face: how queues, completions and keys look to the guest that drives the engine.
 * An engine has one face for its whole life.
 */
#ifndef ERNIC_FACE_H
#define ERNIC_FACE_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/wq.h"
#include "objects/wqe.h"
#include "wire/headers.h"

/* A GRH, or IP, UDP, BTH, DETH and immediate data. */
#define ERNIC_RECV_HEAD_MAX 72

/* A packet that came, and what was found before any check. */
typedef struct ErnicArrival {
    const ErnicPath *path;
    const uint8_t *ip;          /* NULL: the link saw no Ethernet and IP header */
    /* From Ethernet on, if the link could not take the frame apart; or NULL. */
    const uint8_t *frame;
    uint32_t frame_len;
    const uint8_t *buf;         /* BTH to ICRC; NULL: not to be found */
    uint32_t len;
    const ErnicPkt *pkt;        /* as far as @form says */
    uint8_t form;               /* ErnicDrop: why parsing it stopped */
    bool icrc_bad;
    uint32_t dest_qp;
    ErnicQp *qp;                /* NULL: none in use */
} ErnicArrival;

/* The packet is served if it has neither a reason to drop it nor a fault. */
typedef struct ErnicVerdict {
    uint8_t drop;               /* ErnicDrop */
    uint8_t fault;              /* ErnicFault, to be carried out */
    uint32_t syndrome;          /* the face's own code for it */
} ErnicVerdict;

/*
 * A face's table. Every method is set; one that a face shares with others is an
 * ernic_face_default_*() of transport/face_defaults.h. The roles call a method
 * whenever its moment comes and know no face by name.
 *
 * A method runs inside the engine, in the turn of a queue pair or while a packet is
 * served. It may read and write guest memory, raise events and interrupts, and change
 * what is the face's own. Unless it says so it neither sends packets nor changes the
 * state of a queue pair.
 */
struct ErnicFaceOps {
    /* How keys are checked; ernic_new() copies it to e->keys. */
    const ErnicKeyOps *keys;
    /*
     * Receive requests belong to software: it gets each of them back, flushed if
     * need be, and WRITE with immediate takes one.
     */
    bool recv_requests;
    /*
     * ns after which a queue pair that flushes receive requests looks for more of
     * them; 0: a doorbell comes with each.
     */
    uint64_t flush_poll;
    /* A send queue of UC or UD may stop alone, in the state SQ Error. */
    bool send_queue_error;

    /* ---- send requests: the requester, the completer and flushing call these. */

    /*
     * Decode into @wqe the send request that begins at unit sq.taken, and say in
     * @wqe->units how many units it takes: at least 1, at most those that are posted
     * (sq.wq.pi). False: software has posted none; a doorbell comes with the next.
     * One that must not be executed has @wqe->fault set; then wr_id and an opcode
     * that exists are valid. The caller sets index and unit, advances the counters
     * and keeps @wqe until the request ends; a request that was decoded and not
     * completed when another one failed is decoded again.
     */
    bool (*fetch)(Ernic *e, ErnicQp *qp, ErnicWqe *wqe);
    /*
     * @wqe, the oldest request of the send queue, has ended with @fault. Its units
     * are free already: ernic_sq_done() is after them.
     */
    void (*complete_send)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicFault fault);
    /*
     * Fill in @path, @pkt and the offset *@off of the payload in the message of
     * @wqe, a request of UD. A fault ends the request.
     */
    ErnicFault (*datagram)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                           ErnicPath *path, ErnicPkt *pkt, uint32_t *off);
    /*
     * Copy the payload of @pkt, of a SEND or WRITE of a connection, to @to; it begins
     * at byte @off of the message. Called again for a packet that is sent again.
     * ERNIC_FAULT_PAGE: e->absent is set.
     */
    ErnicFault (*gather)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                         uint64_t off, const ErnicPkt *pkt, uint8_t *to);
    /* How many requests of @qp may be outstanding at once. */
    uint32_t (*outstanding)(const ErnicQp *qp);
    /* Does @qp try again although it has used up its retries? */
    bool (*retry_forever)(const Ernic *e, const ErnicQp *qp);

    /* ---- receive requests: the responder and flushing call these. */

    /*
     * Take the receive request for the next message into @recv; false: there is none,
     * and the peer hears RNR. Asked once for each message and while flushing, never
     * remembered. A face whose software posts by memory alone reads its producer
     * here. With an SRQ (ernic_qp_srq()) the method also calls
     * ernic_srq_check_limit() and, if its memory does not answer, ernic_srq_fail().
     */
    bool (*take_recv)(Ernic *e, ErnicQp *qp, ErnicRecv *recv);
    /*
     * A message has ended with @fault, after it took @recv; NULL: it took none. The
     * queue pair does not hold @recv any more. @wc has what the message brought; the
     * method fills in the rest and posts it.
     */
    void (*complete_recv)(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                          ErnicWc *wc, ErnicFault fault);
    /*
     * Write what stands before the payload of a datagram of @ib_len bytes, BTH to
     * ICRC, to @head: at most ERNIC_RECV_HEAD_MAX bytes. Returns how many.
     */
    uint32_t (*recv_head)(const ErnicPkt *pkt, const ErnicTrain *train,
                          uint32_t ib_len, uint8_t *head);
    /*
     * How long until @pkt, which brought data to RC or XRC and was served, is owed an
     * ACK: ns; 0: at once; ERNIC_NEVER: not because of this packet.
     */
    uint64_t (*ack_delay)(const Ernic *e, const ErnicPkt *pkt);

    /* ---- completions */

    /*
     * Write @wc where software finds it: in completion queue @cqn, if the face has
     * such queues. complete_send() and complete_recv() pass it to ernic_qp_post(),
     * which calls this, with the timing model at a later time. May take @wc's queue
     * pair to Error.
     */
    void (*post)(Ernic *e, uint32_t cqn, const ErnicWc *wc);

    /* ---- packets: tx.c and rx.c call these. */

    /* The P_Key of all packets that @qp sends. */
    uint16_t (*pkey)(const Ernic *e, const ErnicQp *qp);
    /* May a packet with @pkey come to @qp? */
    bool (*pkey_ok)(const Ernic *e, const ErnicQp *qp, uint16_t pkey);
    /* Queue pair @qpn sends @pkt. */
    void (*sent)(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
    /* The link does not take what the engine has for it. */
    void (*pressed)(Ernic *e);
    /*
     * The checks that come before the queue pair's state: of the form, the ICRC and
     * the queue pair's number, and those of the face alone.
     */
    ErnicVerdict (*judge)(Ernic *e, const ErnicArrival *a);
    /* @pkt for @qp passed all checks before its execution, or has a fault to answer. */
    void (*came)(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
    /* A packet was dropped with a reason, or was found at fault. */
    void (*refused)(Ernic *e, const ErnicArrival *a, const ErnicVerdict *v);
    /* A packet of a connection came with a mark of congestion; a CNP came. */
    void (*marked)(Ernic *e, ErnicQp *qp);
    void (*cnp)(Ernic *e, ErnicQp *qp);

    /* ---- errors */

    /*
     * The face's number of @fault, found in @pkt (NULL: in none). The engine keeps it
     * in ack.code until the queue pair goes to Error; 0: the face has no numbers.
     */
    uint8_t (*fault_code)(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                          ErnicFault fault);
    /* @qp goes to Error; its state is still the old one. May send a last ACK. */
    void (*fatal)(Ernic *e, ErnicQp *qp, ErnicFault fault);
};

/* verbs/queue.c: work queues, completion queues and keys of verbs. */
extern const ErnicFaceOps ernic_face_verbs;
/* pg332/queue.c: queues in the layout of PG332; addresses are those of the bus. */
extern const ErnicFaceOps ernic_face_pg332;

#endif /* ERNIC_FACE_H */
