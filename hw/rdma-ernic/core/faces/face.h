/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How queues, completions and keys look in guest memory: what the engine asks of
 * the face that its guest drives. An engine has one format for its whole life.
 */
#ifndef ERNIC_FORMAT_H
#define ERNIC_FORMAT_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/cq.h"
#include "objects/wq.h"
#include "objects/wqe.h"
#include "wire/headers.h"

/* A GRH, or IP, UDP, BTH, DETH and immediate data. */
#define ERNIC_RECV_HEAD_MAX 72

/* A packet that came, and what was found before anybody judged it. */
typedef struct ErnicArrival {
    const ErnicPath *path;
    const uint8_t *ip;          /* NULL: the link saw no Ethernet and IP header */
    /* A frame that the link could not take apart, from Ethernet on; or NULL. */
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

/* Neither a reason to drop it nor a fault: the packet is to be served. */
typedef struct ErnicVerdict {
    uint8_t drop;               /* ErnicDrop */
    uint8_t fault;              /* ErnicFault, to be carried out */
    uint32_t syndrome;          /* the face's own word for it */
} ErnicVerdict;

struct ErnicFaceOps {
    /* As ernic_wqe_fetch(): the send request of counter @index. */
    void (*fetch)(Ernic *e, ErnicQp *qp, uint32_t index, ErnicWqe *wqe);
    /* @wqe, the oldest of the send queue, has ended. */
    void (*complete_send)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicFault fault);
    /* Tell software of @wc, of queue @cqn where there are such queues. */
    void (*post)(Ernic *e, uint32_t cqn, const ErnicWc *wc);
    /* Take the place of the next message; false: there is none. */
    bool (*take_recv)(Ernic *e, ErnicQp *qp, ErnicRecv *recv);
    /* A message has come, into rq.recv if that is valid. */
    void (*complete_recv)(Ernic *e, ErnicQp *qp, ErnicWc *wc, ErnicFault fault);
    /*
     * Receive requests are software's: it gets each of them back, flushed if
     * need be, and WRITE with immediate takes one.
     */
    bool recv_requests;

    /*
     * What follows is NULL where keys, P_Keys and errors are those of verbs.
     */
    /* As ernic_mr_check_remote(); *@bus is the bus address of @addr. */
    bool (*check_remote)(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                         uint64_t len, uint32_t access, uint64_t *bus);
    /* Of all packets that leave; none that comes is checked. */
    uint16_t (*pkey)(const Ernic *e, const ErnicQp *qp);
    /* @qp goes to Error. */
    void (*fatal)(Ernic *e, ErnicQp *qp, ErnicFault fault);
    /* A packet leaves @qpn; one has come for @qp and is about to be served. */
    void (*sent)(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
    void (*came)(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
    /* All checks of a packet that stand before its execution, in their order. */
    ErnicVerdict (*judge)(Ernic *e, const ErnicArrival *a);
    /* A packet was dropped with a reason, or is at fault. */
    void (*refused)(Ernic *e, const ErnicArrival *a, const ErnicVerdict *v);
    /*
     * The face's number of @fault, found in @pkt (NULL: in none); kept until the
     * queue pair goes to Error.
     */
    uint8_t (*fault_code)(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                          ErnicFault fault);
    /*
     * The datagram of @wqe: its path, its headers, and where in the request its
     * payload begins. NULL: by the address vector of the request.
     */
    ErnicFault (*datagram)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                           ErnicPath *path, ErnicPkt *pkt, uint32_t *off);
    /*
     * What stands in front of the payload of a datagram of @ib_len bytes:
     * ERNIC_RECV_HEAD_MAX bytes at most. NULL: the 40 bytes of a GRH.
     */
    uint32_t (*recv_head)(const ErnicPkt *pkt, const ErnicTrain *train,
                          uint32_t ib_len, uint8_t *head);
    /* A packet with a mark of congestion, a CNP, came; NULL: DCQCN. */
    void (*marked)(Ernic *e, ErnicQp *qp);
    void (*cnp)(Ernic *e, ErnicQp *qp);
    /*
     * The payload of @pkt, of an RC SEND or WRITE, that is at @off of @wqe, into
     * @to. NULL: ernic_wqe_gather().
     */
    ErnicFault (*gather)(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                         uint64_t off, const ErnicPkt *pkt, uint8_t *to);
    /*
     * How long until @pkt, with data of RC, is owed an ACK: ns, 0 at once,
     * ERNIC_NEVER not by itself. NULL: at once if it asks for one.
     */
    uint64_t (*ack_delay)(const Ernic *e, const ErnicPkt *pkt);
    /* The link does not take what there is for it. */
    void (*pressed)(Ernic *e);
    /* Requests of @qp that may be outstanding at once. */
    uint32_t (*outstanding)(const ErnicQp *qp);
    /* Whether @qp tries again although it has used up its retries. */
    bool (*retry_forever)(const Ernic *e, const ErnicQp *qp);
};

/* verbs/queue.c: work queues, completion queues and keys of verbs. */
extern const ErnicFaceOps ernic_face_verbs;
/* pg332/queue.c: queues in the layout of PG332; addresses are those of the bus. */
extern const ErnicFaceOps ernic_face_pg332;

#endif /* ERNIC_FORMAT_H */
