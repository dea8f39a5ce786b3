/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Building trains and sending them. A train to this device goes into the loopback
 * store instead, as a record, until the next run.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "objects/gid.h"
#include "objects/qp.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/tx.h"
#include "wire/psn.h"

/* Header of a loopback train; in host layout, because it never leaves the device. */
typedef struct TxLoopHdr {
    ErnicPath path;
    uint32_t len, seg, domain;
    bool frame;
} TxLoopHdr;

ErnicTx *ernic_tx_new(void)
{
    ErnicTx *tx = g_new0(ErnicTx, 1);

    tx->loop = g_malloc0(ERNIC_LOOPBACK_BYTES);
    return tx;
}

void ernic_tx_free(ErnicTx *tx)
{
    if (tx) {
        g_free(tx->loop);
        g_free(tx);
    }
}

static bool tx_loop_fits(const ErnicTx *tx, uint32_t records, uint32_t len)
{
    return records * sizeof(TxLoopHdr) + len <= ERNIC_LOOPBACK_BYTES - tx->loop_len;
}

bool ernic_tx_loop_add(Ernic *e, const ErnicTrain *train)
{
    ErnicTx *tx = e->tx;
    TxLoopHdr hdr = {
        .path = train->path, .len = train->len, .seg = train->seg,
        .domain = train->domain, .frame = train->frame,
    };

    g_assert(train->len && train->seg);
    if (!tx_loop_fits(tx, 1, train->len)) {
        return false;
    }
    memcpy(tx->loop + tx->loop_len, &hdr, sizeof(hdr));
    memcpy(tx->loop + tx->loop_len + sizeof(hdr), train->data, train->len);
    tx->loop_len += sizeof(hdr) + train->len;
    return true;
}

bool ernic_tx_loop_next(const Ernic *e, uint32_t *pos, ErnicTrain *train)
{
    const ErnicTx *tx = e->tx;
    TxLoopHdr hdr;

    if (*pos == tx->loop_len) {
        return false;
    }
    memcpy(&hdr, tx->loop + *pos, sizeof(hdr));
    g_assert(hdr.len <= tx->loop_len - *pos - sizeof(hdr));
    *train = (ErnicTrain) {
        .path = hdr.path, .len = hdr.len, .seg = hdr.seg, .frame = hdr.frame,
        .domain = hdr.domain,
        .data = tx->loop + *pos + sizeof(hdr),
    };
    *pos += sizeof(hdr) + hdr.len;
    return true;
}

/* Each frame of @train has a record: a slice of work may end after any of them. */
static bool tx_loop_frames(Ernic *e, const ErnicTrain *train)
{
    ErnicTrain one = *train;
    uint32_t pos;

    if (!tx_loop_fits(e->tx, ernic_train_packets(train), train->len)) {
        return false;
    }
    for (pos = 0; pos < train->len; pos += train->seg) {
        one.data = train->data + pos;
        one.len = one.seg = MIN(train->seg, train->len - pos);
        ernic_tx_loop_add(e, &one);
    }
    return true;
}

/*
 * Queue a train to the device itself; false: no room. The timing model does not cover
 * Ethernet frames.
 */
static bool tx_loop(Ernic *e, const ErnicTrain *train)
{
    bool fits;

    if (train->frame) {
        return tx_loop_frames(e, train);
    }
    return ernic_timed_loop(e, train, &fits) ? fits : ernic_tx_loop_add(e, train);
}

/*
 * Find the receivers of a train: peers on the link, the device itself, or both
 * (multicast). A frame leaves whatever the rules of this device are: rules select
 * frames to see, not their owner.
 */
static void tx_whom(Ernic *e, const ErnicTrain *train, bool *peers,
                    bool *self)
{
    bool group = !train->frame && ernic_gid_is_mcast(&train->path.dgid);

    *self = train->frame ? e->interface->wants_frame(e, train->data, train->seg, train) :
            group || ernic_gid_is_local(e, &train->path.dgid);
    *peers = train->frame || group || !*self;
}

/* A port that is down loses all packets, like an unplugged cable. */
static bool tx_leave(Ernic *e, const ErnicTrain *train)
{
    if (e->port_active) {
        if (!e->ops->tx(e->env, train)) {
            return false;
        }
        e->tx->taken = train->serial;
        return true;
    }
    e->stats.tx_drops += ernic_train_packets(train);
    return true;
}

/*
 * Send to the link or to the device itself; false: *@busy or *@full says which has no
 * room.
 */
static bool tx_deliver(Ernic *e, const ErnicTrain *train, bool *busy,
                       bool *full)
{
    bool peers, self;

    tx_whom(e, train, &peers, &self);
    /* Send it once: when the loopback store has room as well. */
    if (train->frame && self &&
        !tx_loop_fits(e->tx, ernic_train_packets(train), train->len)) {
        *full = true;
        return false;
    }
    if (peers && !tx_leave(e, train)) {
        *busy = true;
        e->interface->pressed(e);
        return false;
    }
    if (self && !tx_loop(e, train)) {
        if (!peers) {
            *full = true;
            return false;
        }
        /* The other members of the group have it; a datagram may be lost. */
        e->stats.loopback_drops++;
        trace_ernic_loopback_drop(train->len);
    }
    return true;
}

bool ernic_tx_flush(Ernic *e)
{
    ErnicTx *tx = e->tx;
    ErnicTrain train;
    bool fits;

    if (!tx->packets) {
        return true;
    }
    if (tx->busy || tx->loop_full) {
        return false;           /* called again when there is room */
    }
    g_assert(tx->seg && tx->len);
    train = (ErnicTrain) {
        .path = tx->path, .data = tx->buf, .len = tx->len, .seg = tx->seg,
        .frame = tx->frame, .domain = tx->domain, .serial = ernic_tx_serial(e),
    };
    if (!tx->frame && ernic_timed_depart(e, &train, &fits)) {
        tx->busy = !fits;
    } else if (ernic_timed_packets(e)) {
        tx->busy = true;        /* the link gets trains in the order of their numbers */
    } else {
        tx_deliver(e, &train, &tx->busy, &tx->loop_full);
    }
    if (tx->busy || tx->loop_full) {
        return false;
    }
    trace_ernic_tx_train(tx->packets, tx->len);
    e->stats.tx_trains++;
    tx->closed = false;
    tx->frame = false;
    tx->domain = 0;
    tx->len = 0;
    tx->packets = 0;
    tx->serial++;
    return true;
}

void ernic_tx_depart(Ernic *e)
{
    ErnicTiming *t = e->timing;
    const ErnicTimedPacket *p;
    ErnicTrain train;

    t->loop_full = false;
    while (!t->link_busy && (p = ernic_delay_fifo_peek(&t->tx, e->now))) {
        ernic_timing_train(p, &train);
        if (!tx_deliver(e, &train, &t->link_busy, &t->loop_full)) {
            break;
        }
        ernic_delay_fifo_pop(&t->tx, e->now);
    }
    if (!ernic_delay_fifo_full(&t->tx)) {
        e->tx->busy = false;
    }
}

uint64_t ernic_tx_departed(const Ernic *e)
{
    uint64_t link = UINT64_MAX;

    if (e->ops->tx_departed) {
        link = e->ops->tx_departed(e->env);
    }
    return link < e->tx->taken ? link : ernic_timed_departed(e, e->tx->serial);
}

/* Whether a packet of @len bytes may follow those that are held. */
static bool tx_fits(const ErnicTx *tx, const ErnicPath *path, uint32_t len,
                    bool timed)
{
    /* Under the timing model each packet leaves at its own time. */
    return !tx->closed && !timed && len <= tx->seg &&
           len <= ERNIC_TRAIN_BYTES - tx->len &&
           tx->packets < ERNIC_TRAIN_PACKETS &&
           memcmp(path, &tx->path, sizeof(*path)) == 0;
}

bool ernic_tx_packet(Ernic *e, const ErnicPath *path, const ErnicPkt *pkt,
                     uint8_t **payload)
{
    ErnicTx *tx = e->tx;
    uint32_t hdr_len = ernic_opcode_hdr_len(pkt->op, pkt->transport);
    uint32_t len = ernic_pkt_len(hdr_len, pkt->payload_len);

    if (tx->busy || tx->loop_full) {
        return false;
    }
    if (tx->packets && !tx_fits(tx, path, len, ernic_timed_singly(e)) &&
        !ernic_tx_flush(e)) {
        return false;
    }
    if (!tx->packets) {
        if (memcmp(path, &tx->path, sizeof(*path)) != 0 ||
            !tx->icrc.pseudo_len) {
            tx->path = *path;
            ernic_icrc_init(&tx->icrc, path);
        }
        tx->seg = len;
    }
    g_assert(len <= sizeof(tx->buf) - tx->len);
    ernic_pkt_emit_hdr(pkt, tx->buf + tx->len);
    *payload = tx->buf + tx->len + hdr_len;
    return true;
}

/*
 * The request that @pkt belongs to, if it is a request packet: the next one, or the one
 * before it if this is its last packet.
 */
static uint32_t tx_request(Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    ErnicQp *qp = &e->qp[qpn];
    const ErnicWqe *last = ernic_sq_slot(qp, qp->sq.next - 1);

    return qp->sq.next != qp->sq.wq.ci &&
           ernic_psn_distance(last->first_psn, pkt->psn) < last->npsn ?
           qp->sq.next - 1 : qp->sq.next;
}

void ernic_tx_commit(Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    ErnicTx *tx = e->tx;
    uint32_t hdr_len = ernic_opcode_hdr_len(pkt->op, pkt->transport);
    uint32_t len = ernic_pkt_finish(e->cfg.no_icrc ? NULL : &tx->icrc,
                                    tx->buf + tx->len, hdr_len + pkt->payload_len);

    g_assert(len <= tx->seg && len <= sizeof(tx->buf) - tx->len);
    trace_ernic_tx_packet(pkt->op->name, pkt->dest_qp, pkt->psn, len);
    ernic_charge_copy(e, len);
    tx->len += len;
    tx->packets++;
    tx->closed = len < tx->seg;
    e->stats.tx_packets++;
    e->stats.tx_bytes += len;
    e->interface->sent(e, qpn, pkt);
    ernic_timed_sent(e, qpn, pkt, &tx->path, len, ernic_sq_waiting(&e->qp[qpn].sq),
                     tx_request(e, qpn, pkt));
}

bool ernic_tx_frame(Ernic *e, uint32_t len, uint8_t **frame)
{
    ErnicTx *tx = e->tx;

    g_assert(len <= ERNIC_TRAIN_BYTES);
    if (!ernic_tx_flush(e)) {
        return false;
    }
    *frame = tx->buf;
    return true;
}

void ernic_tx_commit_frames(Ernic *e, uint32_t qpn, uint32_t domain, uint32_t len,
                            uint32_t seg)
{
    ErnicTx *tx = e->tx;

    g_assert(!tx->packets && len && seg && len <= sizeof(tx->buf));
    trace_ernic_tx_frame(qpn, len);
    ernic_charge_copy(e, len);
    tx->frame = tx->closed = true;
    tx->domain = domain;
    tx->len = len;
    tx->seg = seg;
    tx->packets = DIV_ROUND_UP(len, seg);
    e->stats.tx_frames += tx->packets;
    e->stats.tx_frame_bytes += len;
}

void ernic_tx_commit_frame(Ernic *e, uint32_t qpn, uint32_t len)
{
    ernic_tx_commit_frames(e, qpn, 0, len, len);
}
