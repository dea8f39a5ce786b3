/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each invariant is broken on purpose, and the check must report it by its name.
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "interfaces/common/db_pages.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "state/check.h"
#include "state/state.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "transport/qp.h"
#include "transport/tx.h"
#include "wire/psn.h"

/* The changed bytes and their old value: the device is broken many times. */
static GPtrArray *undo;

typedef struct Undo {
    void *at;
    size_t size;
    uint8_t was[16];
} Undo;

static void poke(void *at, const void *value, size_t size)
{
    Undo *u = g_new0(Undo, 1);

    g_assert_cmpuint(size, <=, sizeof(u->was));
    g_assert_cmpint(memcmp(at, value, size), !=, 0);
    u->at = at;
    u->size = size;
    memcpy(u->was, at, size);
    memcpy(at, value, size);
    g_ptr_array_add(undo, u);
}

#define SET(lvalue, ...) \
    do { \
        __typeof__(lvalue) value_ = __VA_ARGS__; \
        poke(&(lvalue), &value_, sizeof(value_)); \
    } while (0)

static void put_back(void)
{
    while (undo->len) {
        Undo *u = g_ptr_array_remove_index(undo, undo->len - 1);

        memcpy(u->at, u->was, u->size);
        g_free(u);
    }
}

/* Kinds of object of the busy device. */
#define E       (b->e)
#define QP(n)   (b->e->qp[b->n.qpn])
#define CQ(n)   (b->e->cq[b->n.cqn])
#define EQ(n)   (b->e->eq[b->n.eqn])
#define SRQ     (b->e->srq[b->srq.srqn])
#define MR(key) (b->e->mr[b->key >> 8])
#define FLOW    (b->e->flow[b->flow])
#define RSS     (b->e->rss[b->rss - ERNIC_RSS_QPN])
/* The oldest send request of a queue pair. */
#define WQE(n)  (*ernic_sq_slot(&QP(n), QP(n).sq.wq.ci))

/* A row breaks invariant @reported; a state that has it so is refused because of @why. */
typedef struct Break {
    const char *reported, *why;
    void (*fn)(Busy *b);
} Break;
static Break breaks[300];
static uint32_t num_breaks;

#define BREAK_LOAD(reported, why, ...) \
    static void G_PASTE(break_, __LINE__)(Busy *b) \
    { \
        __VA_ARGS__; \
    } \
    static void __attribute__((constructor)) G_PASTE(add_, __LINE__)(void) \
    { \
        g_assert_cmpuint(num_breaks, <, ARRAY_SIZE(breaks)); \
        breaks[num_breaks++] = (Break) { reported, why, G_PASTE(break_, __LINE__) }; \
    }
#define BREAK(reported, ...) BREAK_LOAD(reported, NULL, __VA_ARGS__)

BREAK("device 0: free-numbers", SET(E->pd_ids.fresh, E->pd_ids.fresh + 1))
BREAK("free-numbers", SET(E->qp_ids.head, b->out.qpn))
BREAK("free-numbers", SET(E->cq_ids.count, E->cq_ids.count - 1))
BREAK("free-numbers", SET(E->mr_ids.tail, 0xffffff))
BREAK("free-numbers", SET(E->qp_ids.size, E->qp_ids.size + 1))
BREAK("free-numbers", SET(E->cq_ids.room, E->cq_ids.size + 1))
BREAK("free-numbers", SET(E->srq_ids.fresh, 0))
BREAK("free-numbers", SET(E->uctx_ids.count, E->uctx_ids.count + 4096))
BREAK("free-numbers", SET(E->qp_ids.head, E->qp_ids.fresh))
BREAK("unacked-queues", SET(E->num_unacked, E->num_unacked + 1))
BREAK("holders", SET(E->holders, E->mr[E->holders].holder.next))
BREAK("ready-ring", SET(QP(in).in_ring[0], !QP(in).in_ring[0]))
BREAK("ready-ring", SET(E->qp[E->ready.tail].ring_next[0], E->ready.head))
BREAK("ready-ring", SET(E->ready.tail, E->ready.tail + 1))
BREAK("ready-ring", SET(E->ready.head, 5000))
BREAK("ready-ring", SET(E->ready.count, E->ready.count + 1))
BREAK("ready-ring", SET(E->ready.head, b->rwq.qpn))
BREAK("ready-ring", SET(E->ready.head, E->cfg.max_qp - 1))
BREAK_LOAD("waiting-ring", "waiting-ring", SET(E->waiting.tail, 5000))
BREAK("place-ring", SET(E->places.tail, 5000))
BREAK("departing-ring", SET(E->departing.tail, 5000))
BREAK("left-acks", SET(E->tx->num_left, 1); SET(E->tx->left[0].transport, ERNIC_UC))
BREAK("ack-state", SET(QP(out).ack.last.owed, true))
BREAK("sq-train", SET(QP(out).sq.tx_serial, E->tx->serial + 2))
BREAK_LOAD("sq-wakes", "sq-wakes", SET(E->num_unacked, E->num_unacked - 1);
           SET(QP(out).sq.ack_due, ERNIC_NEVER))
BREAK_LOAD("sq-flushing", "sq-flushing", SET(QP(out).sq.flushing, true);
      SET(QP(out).sq.flush_to, QP(out).sq.wq.pi + 1))
BREAK("qp-deadlines", SET(E->timers->due[b->out.qpn], 1))
BREAK("qp-deadlines", SET(E->timers->pos[b->out.qpn], 0))
BREAK("qp-deadlines", SET(E->timers->heap[0], 63))
BREAK("cq-deadlines", SET(CQ(slow).mod_due, ERNIC_NEVER))
BREAK("kept-pages", SET(E->num_pages, E->num_pages + 1))
BREAK("kept-memory", SET(E->mem.kind[ERNIC_MEM_REQUESTS], 0))
BREAK("kept-memory", SET(E->mem.used, E->mem.used + 1))
BREAK("kept-memory", SET(E->mem.peak, E->mem.used - 1))
BREAK("kept-memory", SET(E->mem.bound, E->mem.peak - 1))
BREAK("bound-windows", SET(E->num_bound, 0))
BREAK("async-eq", SET(E->async_eq, 7))
BREAK("event-lines", SET(EQ(async).line[(EQ(async).line_head + 1) % EQ(async).line_size],
                         EQ(async).line[EQ(async).line_head]))
BREAK("event-lines", SET(EQ(async).line[EQ(async).line_head], 60))
BREAK("port-events", SET(E->port_events.queued, false))
BREAK("gid-table", SET(E->gid[5].gid, (ErnicGid) { { 0xff, 2 } }))
BREAK("gid-table", SET(E->num_gids, E->num_gids + 1))
BREAK("pkey-table", SET(E->pkey[3], 0x8000))
BREAK("unsettled", SET(E->unsettled, 1))
BREAK("qp-stopping", SET(QP(out).stopping, true))
BREAK("qp-stopping", SET(QP(out).stopping, true);
      SET(E->unsettled, b->out.qpn + 1))
BREAK("held-train", SET(E->tx->seg, 0))
BREAK("held-train", SET(E->tx->closed, !E->tx->closed))
BREAK("held-train", SET(E->tx->len, 60000))
BREAK("held-train", SET(E->tx->path.dgid, (ErnicGid) { { 0xfe, 0x80 } }))
BREAK("loopback", SET(E->tx->loop_len, 0x7fffffff))
BREAK("db-pages", SET(E->db_pages->queues, 0x7fffffff))
BREAK("db-pages", SET(E->db_pages->page[0].count, 0x7fff))
BREAK("pd-owner", SET(E->pd[b->pd].uctx, 6))
BREAK("pd-refs", SET(E->pd[b->pd].refs, 1))
BREAK("eq-owner", SET(EQ(eq).uctx, 5))
BREAK("eq-owner", SET(EQ(eq).vector, 100))
BREAK("eq-ring", SET(EQ(eq).depth, 63))
BREAK("eq-ring", SET(EQ(eq).ci, EQ(eq).pi + 1))
BREAK("eq-ring", SET(EQ(eq).buf.base, UINT64_MAX - 100))
BREAK("eq-refs", SET(EQ(eq).refs, 0))
BREAK("eq-line", SET(EQ(eq).line_size, 3))
BREAK("eq-line", SET(EQ(async).ci, EQ(async).pi))
BREAK("eq-line", SET(EQ(async).line_head, EQ(async).line_size))
BREAK("cq-owner", SET(CQ(cq).uctx, 3))
BREAK("cq-owner", SET(CQ(cq).eq, 7))
BREAK("cq-owner", SET(CQ(cq).eq, E->cfg.max_eq))
BREAK("cq-owner", SET(CQ(cq).eq, UINT32_MAX);
      SET(CQ(cq).events.pending, 1u << ERNIC_EV_CQ_ERR))
BREAK("qp-flush-wait", SET(QP(out).flush_wait, 1))
BREAK("cq-ring", SET(CQ(cq).depth, 3))
BREAK("cq-ring", SET(CQ(cq).ci, CQ(cq).pi + 1))
BREAK("cq-ring", SET(CQ(cq).sol_pi, CQ(cq).pi + 1))
BREAK("cq-ring", SET(CQ(cq).ci_addr, 2))
/* Only the mlx5 interface has something before an entry. */
BREAK("cq-ring", SET(CQ(cq).lead, ERNIC_CQ_ENTRY))
BREAK("cq-refs", SET(CQ(cq).refs, 2))
BREAK("cq-events", SET(CQ(cq).events.pending, 1u << ERNIC_EV_CQ_ERR))
BREAK("cq-moderation", SET(CQ(slow).arm, ERNIC_CQ_DISARMED))
BREAK("cq-moderation", SET(CQ(slow).arm, ERNIC_CQ_DISARMED);
      SET(CQ(slow).mod_pending, 0))
BREAK("srq-owner", SET(SRQ.uctx, b->uctx))
BREAK("srq-owner", SET(SRQ.pd, 31))
BREAK("srq-owner", SET(SRQ.pd, E->cfg.max_pd))
BREAK("srq-owner", SET(SRQ.pd, b->user_pd))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].xrcd, b->user_pd))
BREAK("srq-domain", SET(SRQ.cq, b->cq.cqn))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].cq, b->cq.cqn))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].cq, E->cfg.max_cq))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].cq, E->cfg.max_cq - 1))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].xrcd, E->cfg.max_pd))
BREAK("srq-domain", SET(E->srq[b->xsrq.srqn].xrcd, E->cfg.max_pd - 1))
BREAK("qp-owner", SET(QP(tgt).uctx, b->uctx))
BREAK("qp-owner", SET(QP(tgt).recv_cq, b->cq.cqn))
BREAK("qp-owner", SET(QP(ini).recv_cq, b->cq.cqn))
BREAK("qp-owner", SET(QP(ini).srq, b->srq.srqn))
BREAK("qp-owner", SET(QP(in).srq, b->xsrq.srqn))
BREAK("qp-rings", SET(QP(tgt).sq.wq.depth, 4))
BREAK("qp-rings", SET(QP(ini).rq.wq.depth, 4))
BREAK("rq-request", SET(QP(ini).rq.recv_valid, true))
BREAK("qp-state", SET(QP(ini).state, ERNIC_QPS_SQE))
BREAK("rq-request", SET(QP(tgt).rq.xrc_srq, b->srq.srqn))
BREAK("srq-ring", SET(SRQ.wq.stride, 60))
BREAK("srq-ring", SET(SRQ.limit, 17))
BREAK("srq-refs", SET(SRQ.refs, 9))
BREAK("srq-events", SET(SRQ.events.queued, true))
BREAK("mr-owner", SET(MR(key).uctx, b->uctx))
BREAK("mr-owner", SET(MR(key).pd, 30))
BREAK("mr-owner", SET(MR(key).pd, E->cfg.max_pd))
BREAK("mr-owner", SET(MR(key).pd, b->user_pd))
BREAK("mr-rights", SET(MR(paged).access, ERNIC_ACCESS_REMOTE_ATOMIC))
BREAK("mr-range", SET(MR(paged).length, 4 * 4096 + 1))
BREAK("mr-range", SET(MR(fast).offset, UINT64_MAX - 1))
BREAK("mr-range", SET(MR(paged).iova, UINT64_MAX - 5))
BREAK("mr-range", SET(MR(paged).buf.page[1], 0x1001))
BREAK("mr-range", SET(MR(paged).buf.page_shift, 5))
BREAK("mr-range", SET(MR(fast).length, 1ull << 47))
/* Only the mlx5 interface has pieces. */
BREAK("mr-range", SET(MR(fast).valid, false); SET(MR(fast).buf.pieces, true))
BREAK("mr-pieces", SET(MR(fast).valid, false); SET(MR(fast).buf.pieces, true);
      SET(MR(fast).buf.used, 1);
      SET(MR(fast).buf.page[0], 1))
BREAK("mr-pages", SET(MR(demand).odp, NULL))
BREAK("mr-pages", SET(MR(demand).access, 0))
BREAK("mr-pages", SET(MR(demand).kind, ERNIC_MR_FAST))
BREAK("mr-pages", SET(MR(demand).buf.base, 4096))
BREAK("mr-pages", SET(MR(demand).offset, 1ull << MR(demand).odp->page_shift))
BREAK("mr-pages", SET(MR(demand).odp->chunk[0].present, 2))
BREAK("mr-pages", SET(MR(demand).odp->chunk[1].number, 0))
BREAK("mr-pages", SET(MR(demand).odp->chunk[1].number, 1ull << 30))
BREAK("mr-window", SET(MR(mw1).region, 200))
BREAK("mr-window", SET(MR(mw1).length, BUSY_BUF))
BREAK("mr-window", SET(MR(mw1).length, 0))
BREAK("mr-window", SET(MR(mw1).length, UINT64_MAX); SET(MR(mw1).iova, 8))
BREAK("mr-window", SET(MR(mw1).iova, UINT64_MAX); SET(MR(mw1).length, 2))
BREAK("mr-window", SET(MR(mw1).region, 0))
BREAK("mr-window", SET(MR(mw1).region, E->cfg.max_mr))
BREAK("mr-window", SET(MR(mw1).region, b->mw2 >> 8))
BREAK("mr-window", SET(MR(mw1).pd, b->user_pd))
BREAK("mr-window", SET(MR(mw2).qpn, 0))
BREAK("mr-window", SET(MR(mw2).qpn, E->cfg.max_qp))
BREAK("mr-window", SET(MR(mw1).valid, false); SET(MR(mw1).qpn, b->out.qpn))
BREAK("mr-window", SET(MR(mw2).offset, BUSY_BUF + 1))
BREAK("mr-window", SET(MR(mw2).qpn, 40))
BREAK("mr-window", SET(MR(mw1).qpn, b->out.qpn))
BREAK("mr-loader", SET(MR(fast).loader, 0xffffff))
BREAK("mr-loader", SET(MR(demand).loader, 1))
BREAK("mr-refs", SET(MR(key).refs, 1))
BREAK("held-train", SET(E->tx->frame, true))
BREAK("flow-count", SET(E->num_flows, 0))
BREAK("mcast-groups", SET(E->num_groups, 7))
BREAK("mcast 0: mcast-member", SET(E->mcast[0].qpn, b->uc.qpn))
BREAK("mcast-member", SET(E->mcast[0].qpn, 50))
BREAK("mcast-member", SET(E->mcast[0].qpn, 0))
BREAK("mcast-member", SET(E->mcast[0].qpn, E->cfg.max_qp))
BREAK("mcast-member", SET(E->mcast[0].gid, (ErnicGid) { { 0xfe } }))
BREAK("qp-owner", SET(E->cfg.raw, false))
BREAK("flow 1: flow-rule", SET(FLOW.layers, 0x20))
BREAK("flow-rule", SET(FLOW.layers, ERNIC_LAYER_IPV4 | ERNIC_LAYER_IPV6))
BREAK("flow-rule", SET(FLOW.value.smac[5], 1))
BREAK("flow-rule", SET(FLOW.mask.dst_port[0], 1))
BREAK("flow-owner", SET(FLOW.qpn, b->ud.qpn))
BREAK("flow-owner", SET(FLOW.qpn, 50))
BREAK("flow-owner", SET(FLOW.qpn, 0))
BREAK("flow-owner", SET(FLOW.qpn, E->cfg.max_qp))
BREAK("flow-owner", SET(FLOW.qpn, b->rss + 1))
BREAK("rss 1: rss-table", SET(RSS.wq[3], b->raw.qpn))
BREAK("rss-table", SET(RSS.wq[0], 50))
BREAK("rss-table", SET(RSS.wq[0], 0))
BREAK("rss-table", SET(RSS.wq[0], E->cfg.max_qp))
BREAK("rss-table", SET(RSS.wq[4], b->rwq.qpn))
BREAK("rss-table", SET(RSS.fields, 0))
BREAK("rss-table", SET(RSS.uctx, b->uctx))
BREAK("qp-rings", SET(QP(rwq).sq.wq.depth, 8))
BREAK("qp-owner", SET(QP(rwq).send_cq, b->cq.cqn))
BREAK("flow-owner", SET(FLOW.uctx, b->uctx))
BREAK("qp-number", SET(QP(rd).qpn, 9))
BREAK("qp-number", SET(QP(rd).transport, ERNIC_UC))
BREAK("qp-number", SET(QP(ud).type, ERNIC_QPT_GSI))
BREAK("qp-owner", SET(QP(rd).uctx, b->uctx))
BREAK("qp-owner", SET(QP(rd).send_cq, 63))
BREAK("qp-owner", SET(QP(rd).pd, 0))
BREAK("qp-owner", SET(QP(rd).pd, E->cfg.max_pd))
BREAK("qp-owner", SET(QP(rd).send_cq, E->cfg.max_cq))
BREAK("qp-owner", SET(QP(rd).srq, E->cfg.max_srq))
BREAK("counter 1: counter-total", SET(E->counter[b->counter].stats.tx_naks, UINT64_MAX))
BREAK("counter 0: counter-total", SET(E->stats.tx_naks, UINT64_MAX))
BREAK("qp-counter", SET(QP(rd).counter, b->counter + 1))
BREAK("qp-owner", SET(QP(rd).srq, 15))
BREAK("qp-rings", SET(QP(rd).sq.wq.depth, 65))
BREAK("qp-rings", SET(QP(rd).sq.window_mask, QP(rd).sq.window_mask + 1))
BREAK("qp-rings", SET(QP(rd).sq.asleep, true))
BREAK("qp-rings", SET(QP(rd).rq.wq.stride, 6 * 64))
BREAK("qp-rings", SET(QP(rd).rq.wq.pi, QP(rd).rq.wq.ci + 65))
BREAK("qp-rings", SET(QP(rwq).sq.lead, 7); SET(QP(rwq).sq.taken, 7))
BREAK("qp-rings", SET(QP(in).rq.wq.depth, 8))
BREAK("qp-attributes", SET(QP(uc).attr.path_mtu, 0))
BREAK("qp-state", SET(QP(gsi).state, ERNIC_QPS_RESET))
BREAK("qp-state", SET(QP(out).state, ERNIC_QPS_SQE))
/* Nothing is sent before RTS, and nothing received before RTR. */
BREAK("qp-state", SET(QP(ini).state, ERNIC_QPS_RTR))
BREAK("qp-state", SET(QP(ini).state, ERNIC_QPS_INIT))
BREAK("qp-state", SET(QP(rd).state, ERNIC_QPS_RTR); SET(QP(rd).sq.wq.pi, 1))
BREAK("qp-state", SET(QP(rd).state, ERNIC_QPS_RTR); SET(QP(rd).sq.next, -1);
      SET(QP(rd).sq.started, -1); SET(QP(rd).sq.fetched, -1))
BREAK("qp-state", SET(QP(tgt).state, ERNIC_QPS_INIT))
BREAK("qp-state", SET(QP(tgt).state, ERNIC_QPS_INIT); SET(QP(tgt).rq.recv_valid, false))
BREAK("qp-state", SET(QP(tgt).state, ERNIC_QPS_INIT);
      SET(QP(tgt).rq.open, ERNIC_CL_NONE))
BREAK("qp-state", SET(QP(rd).state, ERNIC_QPS_INIT); SET(QP(rd).rd[0].pending, false);
      SET(QP(rd).ack.rd_pending, 0))
BREAK("qp-deadline", SET(QP(out).timer_due, ERNIC_NEVER))
BREAK("qp-events", SET(QP(uc).events.pending, 0))
BREAK("sq-counters", SET(QP(out).sq.next, QP(out).sq.started + 1))
BREAK("sq-requests", SET(QP(out).sq.fetched, QP(out).sq.wq.pi + 1))
BREAK("sq-counters", SET(QP(out).sq.wq.ci, QP(out).sq.next + 1))
BREAK_LOAD("sq-counters", "wqe is not valid",
      SET(QP(out).sq.fetched, QP(out).sq.started - 1))
BREAK("sq-counters", SET(QP(out).sq.taken, QP(out).sq.wq.pi + 1))
BREAK("sq-requests", SET(QP(out).sq.lead, -1u))
BREAK("sq-requests", SET(WQE(out).unit, 77))
BREAK("sq-requests", SET(WQE(out).units, 0))
BREAK("sq-requests", SET(WQE(out).units, WQE(out).units + 1))
/* A slot of the verbs interface holds one request. */
BREAK("sq-requests", SET(WQE(ini).units, 2); SET(QP(ini).sq.taken, 2);
      SET(QP(ini).sq.wq.pi, 2))
BREAK("qp-rings", SET(QP(rd).sq.lead, 1); SET(QP(rd).sq.taken, 1);
      SET(QP(rd).sq.wq.pi, 1))
BREAK("sq-requests", SET(WQE(out).index, 77))
BREAK("sq-requests", SET(WQE(out).opcode, ERNIC_WR_COUNT))
BREAK("sq-requests", SET(ernic_sq_slot(&QP(out), QP(out).sq.wq.ci + 1)->len, 3069))
BREAK("sq-requests", SET(WQE(out).num_sge, 200))
BREAK("sq-requests", SET(ernic_sq_slot(&QP(out), QP(out).sq.wq.ci + 1)->flags,
                         ERNIC_WR_INLINE))
BREAK("sq-requests", SET(ernic_sq_slot(&QP(out), QP(out).sq.wq.ci + 1)->inlined, 1))
BREAK("sq-requests", SET(WQE(uc).opcode, ERNIC_WR_READ))
BREAK("sq-started", SET(WQE(out).npsn, 9))
BREAK("sq-started", SET(ernic_sq_slot(&QP(out), QP(out).sq.wq.ci + 1)->first_psn, 0x1234))
BREAK("sq-started", SET(QP(ini).sq.max_psn, ernic_psn_add(QP(ini).sq.max_psn, 1)))
/* A local request that next has passed is done. */
BREAK("sq-started", SET(WQE(ini).opcode, ERNIC_WR_LOCAL_INV); SET(WQE(ini).num_sge, 0);
      SET(WQE(ini).npsn, 0); SET(QP(ini).sq.next_psn, QP(ini).sq.una_psn);
      SET(QP(ini).sq.max_psn, QP(ini).sq.una_psn))
/* It is done before another one starts, even if next has gone back to it. */
static void break_local(ErnicQp *qp)
{
    uint32_t ci = qp->sq.wq.ci, psn = ernic_sq_slot(qp, ci + 1)->first_psn;
    ErnicWqe *wqe = ernic_sq_slot(qp, ci);

    SET(wqe->opcode, ERNIC_WR_LOCAL_INV);
    SET(wqe->flags, 0);
    SET(wqe->npsn, 0);
    SET(wqe->first_psn, psn);
    SET(qp->sq.una_psn, psn);
    SET(qp->sq.next_psn, psn);
    SET(qp->sq.next, ci);
}
BREAK("sq-started", break_local(&QP(out)))
BREAK("sq-psn", SET(QP(out).sq.max_psn, ernic_psn_add(QP(out).sq.next_psn, -1)))
BREAK("sq-psn", SET(QP(uc).sq.max_psn, 0x4321))
BREAK("sq-rewinds", SET(QP(out).sq.seen_gen, QP(out).sq.rewind_gen + 1))
BREAK("sq-una", SET(QP(rd).sq.una_psn, 0xffffff))
BREAK("sq-credits", SET(QP(out).sq.rd_issued, QP(out).sq.rd_done + 17))
BREAK("sq-deadlines", SET(QP(out).state, ERNIC_QPS_RTR))
BREAK_LOAD("sq-deadlines", "sq-deadlines", SET(QP(out).attr.timeout, 0))
BREAK_LOAD("sq-deadlines", "sq-deadlines", SET(QP(out).sq.leaving, true);
      SET(QP(out).sq.leave_by, ERNIC_NEVER))
BREAK("sq-drained", SET(QP(out).sq_drained, true))
BREAK("sq-rate", SET(QP(out).sq.cwnd, 5))
BREAK("sq-rate", SET(QP(out).cc.limited, true))
BREAK("sq-rate", SET(QP(ud).attr.rate_limit, 1))
BREAK("sq-rate", SET(QP(ud).sq.rate_at, 1))
BREAK("rq-request", SET(QP(in).rq.recv.len, 1))
BREAK("rq-message", SET(QP(in).rq.off, BUSY_BUF + 1))
BREAK("rq-message", SET(QP(in).rq.recv_valid, false))
BREAK_LOAD("rq-message", "rq-message", SET(QP(in).rq.recv.fault, ERNIC_FAULT_RECV_WQE))
BREAK_LOAD("rq-request", "rq-request", SET(QP(in).rq.recv.fault, ERNIC_FAULT_RECV_WQE);
      SET(QP(in).rq.recv.len, 1))
BREAK("rq-message", SET(QP(in).rq.open, ERNIC_CL_ATOMIC))
BREAK("rd-ring", SET(QP(rd).ack.rd_pending, 2))
BREAK("rd-ring", SET(QP(rd).rd[0].next, 5))
BREAK("rd-ring", SET(QP(rd).rd[0].npsn, 6))
BREAK("rd-ring", SET(QP(rd).rd[0].stop, QP(rd).rd[0].len + 1))
BREAK("rd-ring", SET(QP(rd).rd[0].stop, 0))
BREAK("rd-ring", SET(QP(rd).rd[0].used, false))
BREAK("rd-ring", SET(QP(rd).rd[0].end, QP(rd).rd[0].npsn + 1))
BREAK("rd-ring", SET(QP(rd).rd[0].start, QP(rd).rd[0].next + 1))
BREAK("rd-ring", SET(QP(rd).attr.max_dest_rd_atomic, 0))
BREAK("ack-state", SET(QP(out).ack.fault, ERNIC_FAULT_REM_ACCESS))
BREAK("ack-state", SET(QP(out).ack.nak, 0x80))
BREAK("ack-state", SET(QP(uc).ack.owed, true))
BREAK_LOAD("ack-state", "ack-state", SET(QP(raw).ack.cnp_owed, true))
BREAK("ack-state", SET(QP(ud).ack.cnp_owed, true))
BREAK("qp: ErnicQp.state out of range", SET(QP(uc).state, ERNIC_QPS_COUNT))
BREAK("qp: ErnicRecvQueue.epsn out of range", SET(QP(uc).rq.epsn, 1 << 24))
BREAK("rd-ring", SET(QP(rd).rd[0].psn, 1 << 24))
BREAK("tx: ErnicTx.packets out of range", SET(E->tx->packets, ERNIC_TRAIN_PACKETS + 1))
BREAK("mr: ErnicMr.kind out of range", SET(MR(fast).kind, ERNIC_MR_WINDOW_2 + 1))
BREAK("qp: ErnicCc.alpha out of range", SET(QP(uc).cc.alpha, 70000))

/* The bits below the highest defined flag. */
BREAK_LOAD("qp: ErnicQpAttr.access out of range", "access",
      SET(QP(out).attr.access, ERNIC_ACCESS_LOCAL_WRITE))
BREAK_LOAD("mr: ErnicMr.access out of range", "access",
      SET(MR(key).access, 0x80 | ERNIC_ACCESS_LOCAL_WRITE))

/* More groups than the limit; too many for a single change. */
static void break_groups(Busy *b)
{
    for (uint32_t i = 1; i <= ERNIC_LIM_MCAST_GROUP; i++) {
        ErnicGid gid = { { 0xff, 1, i, i >> 8 } };

        SET(E->mcast[i].used, true);
        SET(E->mcast[i].qpn, b->ud.qpn);
        SET(E->mcast[i].gid, gid);
    }
    SET(E->mcast_end, ERNIC_LIM_MCAST_GROUP + 1);
}
BREAK("mcast-groups", break_groups(b))
BREAK("mcast-groups", SET(E->mcast_free, 0))
BREAK("mcast-groups", SET(E->mcast_end, 0))
BREAK("mcast-groups", SET(E->mcast_end, ERNIC_LIM_MCAST_ATTACH + 1))
BREAK("mcast-groups", SET(E->mcast[0].next, 1))
BREAK("mcast-groups", SET(E->mcast[0].chain, UINT16_MAX))

BUSY_TEST("/check/breaks", test_breaks)
{
    g_autoptr(GString) why = g_string_new(NULL);

    undo = g_ptr_array_new();
    for (uint32_t i = 0; i < num_breaks; i++) {
        g_string_truncate(why, 0);
        g_assert_true(ernic_check(b->e, why));
        g_assert_cmpstr(why->str, ==, "");
        breaks[i].fn(b);
        g_assert_false(ernic_check(b->e, why));
        g_assert_false(ernic_check(b->e, NULL));
        if (!strstr(why->str, breaks[i].reported)) {
            g_error("entry %u: not \"%s\" but \"%s\"", i, breaks[i].reported, why->str);
        }
        put_back();
    }
    g_ptr_array_free(undo, true);
}

/*
 * A saved state with such a field is refused: the receive request of an open message
 * would be used without its check. Counters that bound a walk are refused where they
 * are loaded, because some walks come before the checks.
 */
BUSY_TEST("/check/load-refused", test_load_refused)
{
    uint32_t refused = 0;

    undo = g_ptr_array_new();
    for (uint32_t i = 0; i < num_breaks; i++) {
        g_autoptr(GByteArray) state = g_byte_array_new(), good = g_byte_array_new();
        g_autoptr(GString) why = g_string_new(NULL);

        if (!breaks[i].why) {
            continue;
        }
        breaks[i].fn(b);
        ernic_save(b->e, state);
        g_assert_false(ernic_load_why(b->peer, b->env.now, state->data, state->len, why));
        g_test_message("%s", why->str);
        g_assert_nonnull(strstr(why->str, breaks[i].why));
        put_back();
        ernic_save(b->e, good);
        g_assert_true(ernic_load(b->peer, b->env.now, good->data, good->len));
        refused++;
    }
    IS(refused, 11);
    g_ptr_array_free(undo, true);
}

/* Row @f of @of accepts each flag of @mask by itself, and no other bit. */
static void check_bits(const ErnicStateStruct *of, const ErnicStateField *f,
                       uint64_t mask)
{
    g_autofree uint8_t *obj = g_malloc0(of->size);
    uint8_t *at = obj + f->offset;

    g_assert_true(ernic_state_check_struct(of, obj, "", NULL));
    for (uint32_t bit = 0; bit < 8 * f->size; bit++) {
        at[bit / 8] = 1 << bit % 8;
        IS(ernic_state_check_struct(of, obj, "", NULL),
           !(ldn_he_p(at, f->size) & ~mask));
        at[bit / 8] = 0;
    }
}

/* All rows of flags, in the order of the structures. */
TEST("/check/bits", test_bits)
{
    static const struct {
        const char *row;
        uint64_t mask;
    } want[] = {
        { "ErnicEvents.pending", (1u << ERNIC_EV_COUNT) - 1 },
        { "ErnicEq.masked", (1u << ERNIC_EV_COUNT) - 1 },
        { "ErnicMr.access", 0x17f }, { "ErnicRss.fields", 0xff },
        { "ErnicWqe.flags", 0x0f }, { "ErnicQpAttr.access", 0x30e },
        { "ErnicQp.flags", 0x01 }, { "ErnicMrUpdate.set", 0x3f },
        { "ErnicMlx5Tir.selected", 0x1f },
    };
    uint32_t n = 0;

    for (uint32_t s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];

        for (uint32_t i = 0; i < of->num_fields; i++) {
            const ErnicStateField *f = &of->field[i];
            g_autofree char *row = g_strdup_printf("%s.%s", of->name, f->name);

            if (f->bits) {
                g_assert_cmpuint(n, <, ARRAY_SIZE(want));
                g_assert_cmpstr(row, ==, want[n].row);
                check_bits(of, f, want[n++].mask);
            }
        }
    }
    IS(n, ARRAY_SIZE(want));
}

static void assert_broken(const ErnicInvariants *list)
{
    uint32_t k;

    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->list[i].name;

        for (k = 0; k < num_breaks; k++) {
            if (g_str_has_suffix(breaks[k].reported, name)) {
                break;
            }
        }
        if (k == num_breaks) {
            g_error("nothing breaks %s", name);
        }
    }
}

/* Every invariant has a test, and each list belongs to its table. */
TEST("/check/all-named", test_all_named)
{
    uint32_t i;

    assert_broken(&ernic_invariants_device);
    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicInvariants *list = ernic_check_invariants(i);

        g_assert_nonnull(list);
        if (ernic_state_tables[i].table == offsetof(Ernic, mlx5_eth) ||
            ernic_state_tables[i].table == offsetof(Ernic, flow_tables)) {
            continue;                   /* test-mlx5-state-check */
        }
        g_assert_true(g_str_has_prefix(list->list[0].name, ernic_state_tables[i].name));
        assert_broken(list);
    }
    g_assert_null(ernic_check_invariants(i));
}
