/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The buffer keeps a packet from when it is first built until una_psn has passed it. A
 * retransmission needs no more room.
 */
#include "qemu/osdep.h"
#include "timing/hooks.h"
#include "objects/qp.h"
#include "transport/retry_buffer.h"
#include "transport/sched.h"
#include "wire/psn.h"

static bool is_kept(const ErnicWqe *wqe)
{
    const ErnicWr *wr = ernic_wr(wqe->opcode);

    return wr && (wr->flags & ERNIC_WRF_RETH) && !(wr->flags & ERNIC_WRF_RESPONSE);
}

static bool is_new(const ErnicQp *qp)
{
    return qp->sq.next_psn == qp->sq.max_psn;
}

static void wait_for_room(ErnicTimedRetry *r, uint32_t qpn)
{
    if (!r->waits[qpn]) {
        g_assert(r->count < r->qps);
        r->waits[qpn] = true;
        r->line[(r->head + r->count++) % r->qps] = qpn;
    }
}

bool ernic_retry_buffer_room(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe)
{
    ErnicTimedRetry *r = ernic_timed_retry(e);

    if (!r || r->kept.count < r->kept.size || !is_new(qp) || !is_kept(wqe)) {
        return true;
    }
    wait_for_room(r, qp->qpn);
    return false;
}

void ernic_retry_buffer_sent(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe)
{
    ErnicTimedRetry *r = ernic_timed_retry(e);

    if (r && is_new(qp) && is_kept(wqe)) {
        ernic_level_set(&r->kept, e->now, r->kept.count + 1);
        r->held[qp->qpn]++;
    }
}

/*
 * Ask with every packet of the second half: then the first half cannot fill the buffer.
 */
bool ernic_retry_buffer_asks(const Ernic *e, const ErnicWqe *wqe)
{
    const ErnicTimedRetry *r = ernic_timed_retry(e);

    return r && r->kept.count >= r->kept.size / 2 && is_kept(wqe);
}

/* Number of packets of @qp's WRITEs that were sent and are not acknowledged. */
static uint32_t count_held(ErnicQp *qp)
{
    const ErnicSendQueue *sq = &qp->sq;
    uint32_t sent = ernic_psn_distance(sq->una_psn, sq->max_psn);
    uint32_t i, n = 0;

    if (!qp->used || !ernic_qp_reliable(qp)) {
        return 0;
    }
    for (i = sq->wq.ci; i != sq->started; i++) {
        const ErnicWqe *wqe = ernic_sq_slot(qp, i);
        /*
         * PSNs of the request before una_psn, or else PSNs from una_psn to the request.
         */
        uint32_t done = ernic_psn_distance(wqe->first_psn, sq->una_psn);
        uint32_t before = ernic_psn_distance(sq->una_psn, wqe->first_psn);

        if (!wqe->npsn || !is_kept(wqe)) {
            continue;
        }
        if (done < wqe->npsn) {
            n += MIN(sent, wqe->npsn - done);
        } else if (before < sent) {
            n += MIN(sent - before, wqe->npsn);
        }
    }
    return n;
}

void ernic_retry_buffer_sync(Ernic *e, ErnicQp *qp)
{
    ErnicTimedRetry *r = ernic_timed_retry(e);
    uint32_t held, before;

    if (!r) {
        return;
    }
    before = r->held[qp->qpn];
    held = r->held[qp->qpn] = count_held(qp);
    ernic_level_set(&r->kept, e->now, r->kept.count - before + held);
    while (r->count && r->kept.count < r->kept.size) {
        uint32_t qpn = r->line[r->head];

        r->waits[qpn] = false;
        r->head = (r->head + 1) % r->qps;
        r->count--;
        if (e->qp[qpn].used) {
            ernic_sched_mark(e, &e->qp[qpn]);
        }
    }
}

void ernic_retry_buffer_load(Ernic *e)
{
    ErnicTimedRetry *r = ernic_timed_retry(e);
    uint32_t i;

    for (i = 1; r && i < r->qps; i++) {
        ErnicQp *qp = &e->qp[i];

        r->held[i] = count_held(qp);
        r->kept.count += r->held[i];
        if (qp->used && qp->sq.blocked_on == ERNIC_BLOCKED_RETRY) {
            wait_for_room(r, i);        /* what the state says is not checked yet */
        }
    }
}
