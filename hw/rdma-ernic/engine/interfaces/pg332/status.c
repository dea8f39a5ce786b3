/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The status registers of PG332's pipeline - WQE processor, queue pair manager,
 * response handler - as far as the engine has an equivalent. Bits that are not
 * published read as they were read on hardware; docs/ernic-interface.md has the choices.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "interfaces/pg332/pg332.h"
#include "timing/hooks.h"
#include "transport/tx.h"

/* A summary of all running queue pairs, at this moment. */
typedef struct Pipeline {
    uint32_t outstanding;       /* the lowest queue pair that waits for an
                                   answer; 0: none does */
    bool no_buffer;             /* one has as many requests as it may have */
    bool moving;                /* a pointer is not where it will be */
    bool cached, full;          /* a request is fetched and not begun; and
                                   more are posted after it */
} Pipeline;

static void look_at(const Ernic *e, const ErnicQp *qp, Pipeline *p)
{
    const ErnicSendQueue *sq = &qp->sq;
    uint32_t out = sq->started - sq->wq.ci;

    if (out && !p->outstanding) {
        p->outstanding = qp->qpn;
    }
    p->no_buffer |= out && out >= e->interface->outstanding(qp);
    p->moving |= qp->state == ERNIC_QPS_ERR && sq->wq.ci != sq->wq.pi;
    p->cached |= sq->fetched != sq->started;
    p->full |= sq->fetched != sq->started && sq->fetched != sq->wq.pi;
}

static Pipeline look(const Ernic *e)
{
    Pipeline p = { .moving = ernic_timed_hides_requests(e) };
    uint32_t qpn;

    for (qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (e->qp[qpn].used && !e->qp[qpn].stopping) {
            look_at(e, &e->qp[qpn], &p);
        }
    }
    return p;
}

/* Packets that are built and have not left. */
static uint32_t held(const Ernic *e)
{
    return e->tx->packets + ernic_timed_packets(e);
}

static uint32_t wqe_processor(const Ernic *e, const Pipeline *p, uint32_t stored)
{
    uint32_t built = e->stats.tx_packets;
    bool on = *ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ENABLE;

    return (stored & PG332_WQEPROC_PRESSED) |
        (p->no_buffer ? PG332_WQEPROC_NO_BUFFER : 0) |
        (p->outstanding ? PG332_WQEPROC_BUSY | PG332_WQEPROC_HEADER :
         on ? PG332_WQEPROC_EMPTY : 0) |
        ((built - held(e)) & 0xff) << PG332_WQEPROC_TAIL_SHIFT |
        (built & 0xff) << PG332_WQEPROC_HEAD_SHIFT;
}

uint32_t ernic_pg332_pipeline(const Ernic *e, uint32_t offset, uint32_t stored)
{
    Pipeline p = look(e);

    switch (offset) {
    case PG332_WQEPROCSTS:
        return wqe_processor(e, &p, stored);
    case PG332_QPMSTS:
        return (stored & PG332_QPM_WQES) | (p.full ? PG332_QPM_CACHE_FULL : 0) |
               (p.cached ? 0 : PG332_QPM_CACHE_EMPTY);
    case PG332_RESPHNDSTS:
        return (p.moving ? 0 : PG332_RESPHND_PTR_DONE) |
               (p.outstanding ? PG332_RESPHND_ACKS | PG332_RESPHND_WAITS |
                                (p.outstanding & 0xff) : 0);
    default:
        return stored;
    }
}

void ernic_pg332_pressed(Ernic *e)
{
    *ernic_pg332_reg(e, PG332_WQEPROCSTS) |= PG332_WQEPROC_PRESSED;
}
