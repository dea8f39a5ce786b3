/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariants of protection domains, keys, event, completion and shared
 * receive queues, and of multicast members.
 */
#include "qemu/osdep.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "state/check.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "transport/qp.h"

/* ---- PDs and event queues -------------------------------------------------- */

INVARIANT(pd_owner, ernic_check_uctx(c, c->e->pd[id].uctx))
INVARIANT(pd_refs, c->e->pd[id].refs == c->pd_refs[id])
INVARIANT(eq_owner, ernic_check_uctx(c, c->e->eq[id].uctx) &&
      c->e->eq[id].vector < c->e->cfg.num_vectors)
INVARIANT_OF(eq, eq_ring, ernic_depth_ok(eq->depth, 2, ERNIC_MAX_EQ_DEPTH) &&
      eq->pi - eq->ci <= eq->depth &&
      ernic_check_buf(&eq->buf, (uint64_t)eq->depth * c->e->eqs->size))
INVARIANT(eq_refs, c->e->eq[id].refs == c->eq_refs[id])

/* Objects wait only while there is no room, or until the next slice. */
static bool eq_line(const ErnicCheck *c, uint32_t id)
{
    const ErnicEq *eq = &c->e->eq[id];
    bool room = !eq->broken && eq->pi - eq->ci < eq->depth;

    return eq->line_size == ernic_eq_line_size(&c->e->cfg) &&
           eq->line_head < eq->line_size && eq->line_count <= eq->line_size &&
           (c->e->eq_more >> id & 1) == (eq->line_count && room);
}

/* ---- completion and shared receive queues ---------------------------------- */

INVARIANT_OF(cq, cq_owner, ernic_check_uctx(c, cq->uctx) &&
      (cq->eq == 0 || (cq->eq < c->e->cfg.max_eq && c->e->eq[cq->eq].used)))

static bool cq_ring(const ErnicCheck *c, uint32_t id)
{
    const ErnicCq *cq = &c->e->cq[id];

    return ernic_depth_ok(cq->depth, c->e->mlx5 ? 1 : 2, ERNIC_MAX_CQ_DEPTH) &&
           cq->pi - cq->ci <= cq->depth &&
           cq->sol_pi - cq->ci <= cq->pi - cq->ci && cq->ci_addr % 4 == 0 &&
           (cq->lead == 0 || (c->e->mlx5 && cq->lead == ERNIC_CQ_ENTRY)) &&
           ernic_check_buf(&cq->buf, (uint64_t)cq->depth * (cq->lead + ERNIC_CQ_ENTRY));
}

INVARIANT(cq_refs, c->e->cq[id].refs == c->cq_refs[id])

static bool cq_events(const ErnicCheck *c, uint32_t id)
{
    const ErnicCq *cq = &c->e->cq[id];

    return !cq_owner(c, id) ||          /* reported already */
           ernic_check_events(c, ERNIC_EVC_CQ, id, &cq->events,
                              ernic_cq_event_queue(c->e, cq));
}

/* An event is held back only while the queue is armed. */
INVARIANT_OF(cq, cq_moderation, cq->arm != ERNIC_CQ_DISARMED ||
      (cq->mod_pending == 0 && cq->mod_due == ERNIC_NEVER))
INVARIANT_OF(srq, srq_owner,
      ernic_check_uctx(c, srq->uctx) && srq->pd < c->e->cfg.max_pd &&
      c->e->pd[srq->pd].used && c->e->pd[srq->pd].uctx == srq->uctx)

/* The XRC domain is the kernel's, the completion queue the owner's. */
static bool srq_domain(const ErnicCheck *c, uint32_t id)
{
    const ErnicSrq *srq = &c->e->srq[id];
    const Ernic *e = c->e;

    if (!srq->xrcd) {
        return srq->cq == 0;
    }
    return srq->xrcd < e->cfg.max_pd && e->pd[srq->xrcd].used &&
           e->pd[srq->xrcd].uctx == 0 && srq->cq < e->cfg.max_cq &&
           e->cq[srq->cq].used && e->cq[srq->cq].uctx == srq->uctx;
}

INVARIANT_OF(srq, srq_ring, ernic_check_recv_ring(c->e, &srq->wq) &&
      ernic_check_record(c->e, &srq->wq) &&
      srq->limit <= srq->wq.depth)
INVARIANT(srq_refs, c->e->srq[id].refs == c->srq_refs[id])
INVARIANT_OF(srq, srq_events,
      ernic_check_events(c, ERNIC_EVC_SRQ, id, &srq->events, c->e->async_eq))

/* ---- keys ------------------------------------------------------------------ */

static bool is_window(const ErnicMr *mr)
{
    return mr->kind == ERNIC_MR_WINDOW_1 || mr->kind == ERNIC_MR_WINDOW_2;
}

INVARIANT_OF(mr, mr_owner, ernic_check_uctx(c, mr->uctx) && mr->pd < c->e->cfg.max_pd &&
      c->e->pd[mr->pd].used && c->e->pd[mr->pd].uctx == mr->uctx)

static bool mr_rights(const ErnicCheck *c, uint32_t id)
{
    const ErnicMr *mr = &c->e->mr[id];
    uint32_t writes = ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_ATOMIC;

    return !mr->valid || is_window(mr) || !(mr->access & writes) ||
           (mr->access & ERNIC_ACCESS_LOCAL_WRITE);
}

/* The buffer of pages or pieces reaches to byte @bytes. */
static bool reaches(const ErnicBuf *buf, uint64_t bytes)
{
    return buf->pieces ? ernic_check_pieces(buf, bytes) : ernic_check_buf(buf, bytes);
}

/* The range of a region is inside its buffer, and addresses do not wrap. */
static bool mr_range(const ErnicCheck *c, uint32_t id)
{
    const ErnicMr *mr = &c->e->mr[id];

    if (is_window(mr)) {
        return !mr->buf.page ||
               (c->e->mlx5 && mr->kind == ERNIC_MR_WINDOW_1 &&
                mr->buf.pieces && reaches(&mr->buf, 0));
    }
    if (mr->buf.pieces && !c->e->mlx5) {
        return false;
    }
    /* An extent of the mlx5 interface can be the whole bus. */
    if (mr->length > (mr->odp ? ERNIC_MAX_ODP_SIZE : ERNIC_MAX_MR_SIZE) &&
        !(c->e->mlx5 && !mr->odp && !mr->buf.page)) {
        return false;
    }
    if (!mr->valid) {
        return reaches(&mr->buf, 0);
    }
    return (mr->length == 0 || mr->iova <= UINT64_MAX - (mr->length - 1)) &&
           mr->offset <= UINT64_MAX - mr->length &&
           reaches(&mr->buf, mr->offset + mr->length);
}

/* Whether @mr is an extent with room for the pieces of @buf. */
static bool extent_has(const ErnicMr *mr, const ErnicBuf *buf)
{
    uint64_t start = mr->buf.base + mr->offset, end = 0;
    uint32_t i;

    if (mr->kind == ERNIC_MR_FREE || !mr->valid || is_window(mr) || mr->odp ||
        mr->buf.page) {
        return false;
    }
    for (i = 0; i < buf->used; i++) {
        uint64_t next = buf->page[i * ERNIC_BUF_PIECE];
        uint64_t at = buf->page[i * ERNIC_BUF_PIECE + 1] - start;

        if (at > mr->length || next - end > mr->length - at) {
            return false;
        }
        end = next;
    }
    return true;
}

/* All pieces are of one region, whose rights are enough for the one that is open. */
static bool mr_pieces(const ErnicCheck *c, uint32_t id)
{
    const ErnicMr *mr = &c->e->mr[id], *of;

    if (!mr->buf.used || !ernic_check_pieces(&mr->buf, 0)) {
        return true;                    /* reported already */
    }
    if (mr->region == 0 || mr->region >= c->e->cfg.max_mr) {
        return false;
    }
    of = &c->e->mr[mr->region];
    return extent_has(of, &mr->buf) &&
           (!mr->valid || (mr->pd == of->pd &&
                           !(mr->access & ~of->access & ERNIC_ACCESS_LOCAL_WRITE)));
}

/* Chunks in order, none of them empty or beyond the region. */
static bool mr_pages(const ErnicCheck *c, uint32_t id)
{
    const ErnicMr *mr = &c->e->mr[id];
    const ErnicOdp *odp = mr->odp;
    uint64_t pages, next = 0;
    uint32_t i, k, n;

    if (!(mr->access & ERNIC_ACCESS_ON_DEMAND) || !odp) {
        return !(mr->access & ERNIC_ACCESS_ON_DEMAND) && !odp;
    }
    if (mr->kind != ERNIC_MR_REGION || mr->buf.page || mr->buf.base ||
        mr->offset >> odp->page_shift) {
        return false;
    }
    pages = DIV_ROUND_UP(mr->offset + mr->length, 1ull << odp->page_shift);
    for (i = 0; i < odp->num; i++) {
        const ErnicOdpChunk *chunk = &odp->chunk[i];

        for (k = n = 0; k < ERNIC_ODP_CHUNK; k++) {
            n += !!chunk->entry[k];
            if (chunk->entry[k] &&
                (chunk->number > pages / ERNIC_ODP_CHUNK ||
                 chunk->number * ERNIC_ODP_CHUNK + k >= pages)) {
                return false;
            }
        }
        if (chunk->number < next || n == 0 || n != chunk->present) {
            return false;
        }
        next = chunk->number + 1;
    }
    return true;
}

/* The range of a window is inside its region. */
static bool mr_window(const ErnicCheck *c, uint32_t id)
{
    const ErnicMr *mw = &c->e->mr[id], *mr;

    if (!is_window(mw) || !mw->valid) {
        return (mw->region == 0 || mw->buf.used) && mw->qpn == 0;
    }
    if (mw->buf.used || mw->region == 0 || mw->region >= c->e->cfg.max_mr ||
        mw->length == 0 || mw->iova > UINT64_MAX - (mw->length - 1)) {
        return false;
    }
    mr = &c->e->mr[mw->region];
    return mr->valid && !is_window(mr) && mr->kind != ERNIC_MR_FREE &&
           mr->pd == mw->pd && mw->offset >= mr->offset &&
           mw->offset - mr->offset <= mr->length &&
           mw->length <= mr->length - (mw->offset - mr->offset) &&
           (mw->kind == ERNIC_MR_WINDOW_1) == (mw->qpn == 0) &&
           (mw->qpn == 0 ||
            (mw->qpn < c->e->cfg.max_qp && c->e->qp[mw->qpn].used));
}

/* A request loads lists only. */
INVARIANT_OF(mr, mr_loader,
      !mr->loader || (mr->buf.page && mr->loader < c->e->cfg.max_qp))
INVARIANT(mr_refs, c->e->mr[id].refs == c->mr_refs[id])

/* ---- multicast ------------------------------------------------------------- */

static bool mcast_member(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    const ErnicMcast *m = &e->mcast[id];

    return ernic_gid_is_mcast(&m->gid) && m->qpn != 0 && m->qpn < e->cfg.max_qp &&
           e->qp[m->qpn].used && e->qp[m->qpn].type == ERNIC_QPT_UD;
}

/* ---- rules for frames ------------------------------------------------------ */

INVARIANT_OF(flow, flow_rule,
      ernic_flow_check(flow->layers, &flow->value, &flow->mask) == ERNIC_OK)

static bool flow_owner(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    const ErnicFlow *flow = &e->flow[id];

    if (flow->qpn >= ERNIC_RSS_QPN) {
        return ernic_rss_get(e, flow->uctx, flow->qpn);
    }
    return flow->qpn && flow->qpn < e->cfg.max_qp && e->qp[flow->qpn].used &&
           e->qp[flow->qpn].uctx == flow->uctx &&
           e->qp[flow->qpn].type == ERNIC_QPT_RAW;
}

static bool rss_table(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    const ErnicRss *rss = &e->rss[id];
    uint32_t i;

    for (i = 0; i < ERNIC_RSS_TABLE_MAX; i++) {
        uint32_t wqn = rss->wq[i];

        if (i >= 1u << MIN(rss->shift, ERNIC_RSS_SHIFT_MAX)) {
            if (wqn) {
                return false;
            }
        } else if (!wqn || wqn >= e->cfg.max_qp || !e->qp[wqn].used ||
                   e->qp[wqn].uctx != rss->uctx ||
                   e->qp[wqn].type != ERNIC_QPT_RWQ) {
            return false;
        }
    }
    return rss->fields;
}

/* No counter is ahead of the device's, which does not come to its end. */
static bool counter_total(const ErnicCheck *c, uint32_t id)
{
    const ErnicQpStats *stats = &c->e->counter[id].stats;
    bool ok = true;

#define X(name) ok &= stats->name <= c->e->stats.name && c->e->stats.name <= INT64_MAX;
    ERNIC_QP_STATS_LIST(X)
#undef X
    return ok;
}

/* ---- the lists ------------------------------------------------------------- */

/* The order is that of ernic_state_tables[]. */
static const ErnicInvariants by_table[] = {
    INVARIANTS({ "pd-owner", pd_owner }, { "pd-refs", pd_refs }),
    INVARIANTS({ "eq-owner", eq_owner }, { "eq-ring", eq_ring },
               { "eq-refs", eq_refs }, { "eq-line", eq_line }),
    INVARIANTS({ "cq-owner", cq_owner }, { "cq-ring", cq_ring },
               { "cq-refs", cq_refs }, { "cq-events", cq_events },
               { "cq-moderation", cq_moderation }),
    INVARIANTS({ "srq-owner", srq_owner }, { "srq-domain", srq_domain },
               { "srq-ring", srq_ring }, { "srq-refs", srq_refs },
               { "srq-events", srq_events }),
    INVARIANTS({ "mr-owner", mr_owner }, { "mr-rights", mr_rights },
               { "mr-range", mr_range }, { "mr-pieces", mr_pieces },
               { "mr-pages", mr_pages }, { "mr-window", mr_window },
               { "mr-loader", mr_loader }, { "mr-refs", mr_refs }),
    { },                        /* of queue pairs: check_qp.c */
    INVARIANTS({ "mcast-member", mcast_member }),
    INVARIANTS({ "flow-rule", flow_rule }, { "flow-owner", flow_owner }),
    INVARIANTS({ "rss-table", rss_table }),
    INVARIANTS({ "counter-total", counter_total }),
};

const ErnicInvariants *ernic_check_invariants(uint32_t table)
{
    if (table >= G_N_ELEMENTS(by_table)) {
        table -= G_N_ELEMENTS(by_table);
        return table < ernic_num_invariants_ethernet ?
               &ernic_invariants_ethernet[table] : NULL;
    }
    return by_table[table].list ? &by_table[table] : &ernic_invariants_qp;
}
