/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A netdev between an engine and the wire: the queue of frames that the device has, and
 * a slow backend, which takes frames while its socket has room. Frames leave the queue
 * in order, each once, and the engine believes no packet gone that is still there.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "transport/qp.h"
#include "wire/ib_tables.h"
#include "sim.h"

/* In front of the packet, in place of the headers of a frame. */
typedef struct FrameHead {
    uint64_t number;            /* of the frames of this host */
    ErnicPath path;
} FrameHead;

static uint32_t sender(const SimHost *h)
{
    return h->id % ERNIC_FRAME_SENDERS;
}

/* ---- the device ---------------------------------------------------------- */

static bool put(SimHost *h, const ErnicTrain *t, uint32_t pos, uint32_t len)
{
    FrameHead head = { h->frames.put, t->path };
    struct iovec iov[] = {
        { &head, sizeof(head) }, { (void *)(t->data + pos), len },
    };

    return ernic_frame_queue_put(&h->frames.queue, iov, ARRAY_SIZE(iov), sender(h),
                                 pos + len == t->len ? t->serial : 0);
}

bool sim_netdev_tx(SimHost *h, const ErnicTrain *t)
{
    uint32_t n = DIV_ROUND_UP(t->len, t->seg), pos;
    SimKept *kept;
    bool wake = false;

    if (!ernic_frame_queue_room(&h->frames.queue, n, t->len + n * sizeof(FrameHead))) {
        h->tx_blocked = true;
        return false;
    }
    kept = g_new0(SimKept, 1);
    kept->serial = t->serial;
    kept->frame = h->frames.put + n;
    g_queue_push_tail(&h->kept, kept);
    for (pos = 0; pos < t->len; pos += t->seg) {
        h->frames.put++;
        wake |= put(h, t, pos, MIN(t->seg, t->len - pos));
    }
    if (sim_sabotage(h->sim, SIM_SAB_FRAME)) {
        put(h, t, 0, MIN(t->seg, t->len));
    }
    if (wake && !h->frames.reads) {
        h->frames.reads = true;
        sim_at(h->sim, h->sim->now, SIM_EV_FRAMES, h, NULL, 0);
    }
    return true;
}

uint64_t sim_netdev_departed(SimHost *h)
{
    return ernic_frame_queue_departed(&h->frames.queue, sender(h));
}

/* The reader has woken the engine. */
void sim_netdev_left(SimHost *h)
{
    Sim *s = h->sim;

    h->leave_pending = false;
    if (h->tx_blocked && !ernic_frame_queue_full(&h->frames.queue)) {
        h->tx_blocked = false;
        ernic_tx_ready(h->e, s->now);
        sim_checked(h);
    }
    ernic_run(h->e, s->now);
    sim_checked(h);
}

void sim_netdev_purge(SimHost *h)
{
    uint64_t lost = h->frames.put - h->frames.taken;
    Sim *s = h->sim;
    uint32_t i;

    ernic_frame_queue_purge(&h->frames.queue);
    h->frames.taken = h->frames.left = h->frames.put;
    s->stats.dropped += lost;
    for (i = 0; i < s->hosts; i++) {
        s->host[i].lost_to += lost;     /* any of them may have been for it */
    }
}

/* ---- the main loop and the backend --------------------------------------- */

/* The next frame goes into the backend's socket; false: there is none. */
static bool give(SimHost *h, bool *wake)
{
    uint32_t len;
    const uint8_t *frame = ernic_frame_queue_next(&h->frames.queue, &len, wake);
    FrameHead head;

    h->frames.left = h->frames.taken;
    if (!frame) {
        if (h->frames.taken != h->frames.put) {
            sim_fail(h->sim, "queue", "host %u: frames %" PRIu64 " to %" PRIu64
                     " are lost", h->id, h->frames.taken + 1, h->frames.put);
        }
        return false;
    }
    memcpy(&head, frame, sizeof(head));
    if (head.number != h->frames.taken + 1) {
        sim_fail(h->sim, "queue", "host %u: frame %" PRIu64 " comes after %" PRIu64,
                 h->id, head.number, h->frames.taken);
    }
    h->frames.taken++;
    sim_wire_send(h, &head.path, frame + sizeof(head), len - sizeof(head));
    return true;
}

void sim_netdev_run(SimHost *h)
{
    Sim *s = h->sim;
    uint64_t room = s->plan.socket_ns;
    bool wake = false;

    while (!s->failed && (h->frames.reads = give(h, &wake)) &&
           h->link_free <= s->now + room) {
    }
    if (h->frames.reads) {
        sim_at(s, h->link_free - room, SIM_EV_FRAMES, h, NULL, 0);
    }
    if (wake && !h->leave_pending && !sim_sabotage(s, SIM_SAB_SKIP_LEFT)) {
        h->leave_pending = true;
        sim_at(s, s->now, SIM_EV_TX_LEFT, h, NULL, 0);
    }
}

/* ---- the rules of departure ---------------------------------------------- */

/*
 * A transport timer of which the last packet is in the device runs for two periods at
 * least. It started when the last response came or the last retry began, or later.
 * With nothing outstanding it waits for a link that takes no packet; the first packet
 * that the link takes keeps its deadline.
 */
static void check_timer(SimQp *qp, const ErnicSendQueue *sq, bool timeout, uint64_t gone)
{
    SimLeaving *l = &qp->leaving;
    Sim *s = qp->host->sim;
    bool again = sq->rewind_gen != l->rewinds;
    bool waits = sq->una_psn != sq->max_psn;

    /* A smaller number is that of another queue pair, or of an engine after a reset. */
    if (timeout && again && waits && l->serial > gone && l->serial <= sq->tx_serial &&
        s->now < l->since + 2 * ernic_ack_timeout_ns(qp->timeout)) {
        sim_qp_fail(qp, "departure", "an ACK timeout after %.3f us, while train %"
                    PRIu64 " waits, and %" PRIu64 " has left",
                    (s->now - l->since) / 1000.0, l->serial, gone);
    }
    if (again || sq->una_psn != l->una || sq->ack_due == ERNIC_NEVER) {
        l->since = s->now;
    }
}

/*
 * A request without a response is not complete while a packet of it is in the device. The
 * last packet is that of the last request if no other one has begun.
 */
static void check_complete(SimQp *qp, const ErnicSendQueue *sq, uint64_t gone)
{
    if (sq->wq.ci != qp->leaving.done && sq->wq.ci == sq->started &&
        sq->tx_serial > gone) {
        sim_qp_fail(qp, "departure", "request %u is complete, while train %" PRIu64
                    " waits, and %" PRIu64 " has left", sq->wq.ci - 1, sq->tx_serial,
                    gone);
    }
}

static const ErnicQp *qp_of(const SimHost *h, const SimQp *qp)
{
    return qp->life == SIM_QP_NONE ? NULL : &h->e->qp[qp->qpn];
}

/*
 * The number of queue pairs that have gone back, or do not send any more, since the last
 * call.
 */
static uint32_t disturbed(SimHost *h)
{
    uint32_t n = 0;

    SIM_EACH(SimQp, qp, h->qps) {
        const ErnicQp *e = qp_of(h, qp);
        const SimLeaving *l = &qp->leaving;

        n += l->rts &&
             (!e || e->state != ERNIC_QPS_RTS || e->sq.rewind_gen != l->rewinds);
    }
    return n;
}

void sim_check_departure(SimHost *h)
{
    uint64_t timeouts = h->e->stats.ack_timeouts, gone = sim_wire_gone(h);
    /* Of several queue pairs, another one may have waited. */
    bool timeout = timeouts == h->timeouts + 1 && disturbed(h) == 1;

    h->timeouts = timeouts;
    SIM_EACH(SimQp, qp, h->qps) {
        const ErnicQp *e = qp_of(h, qp);
        bool away = qp->peer && qp->peer->host != h;

        qp->leaving.rts = e && e->state == ERNIC_QPS_RTS;
        if (!e) {
            continue;
        }
        if (e->state != ERNIC_QPS_RTS) {
            qp->leaving.since = h->sim->now;    /* its requests may be flushed */
        } else if (qp->type == ERNIC_QPT_RC && away) {
            check_timer(qp, &e->sq, timeout, gone);
        } else if (qp->type != ERNIC_QPT_RC) {
            check_complete(qp, &e->sq, gone);
        }
        qp->leaving.rewinds = e->sq.rewind_gen;
        qp->leaving.una = e->sq.una_psn;
        qp->leaving.serial = e->sq.tx_serial;
        qp->leaving.done = e->sq.wq.ci;
    }
}
