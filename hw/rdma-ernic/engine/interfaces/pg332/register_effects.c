/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The effects of PG332's registers: a write stores its bits and then has the effect
 * that its row names. A read of a queue pair's counter returns the engine's value
 * while the queue pair runs.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/rules.h"
#include "objects/gid.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/completer.h"
#include "transport/qp_life.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"
#include "wire/ib_tables.h"
#include "wire/psn.h"

/* The GIDs that the address registers make; QPCONF's IPv6 bit chooses. */
#define GID_V4  0
#define GID_V6  1

#define LSTRQREQ_OPCODE 0xff000000

/* Units of work to start and to stop a queue pair, and to see that it does neither. */
#define WORK_START      16
#define WORK_STOP       8
#define LOOKS_OF_UNIT   8

ErnicRegFile *ernic_pg332_regs(const ErnicConfig *cfg)
{
    return cfg->pg332 ? ernic_regfile_new(cfg->pg332 - 1, cfg->max_qp - 1) :
                        NULL;
}

/* ---- addresses ----------------------------------------------------------- */

/* Bytes as PG332 splits a MAC address over two registers. */
static void put_mac(uint8_t mac[6], uint32_t lsb, uint32_t msb)
{
    stw_be_p(mac, msb);
    stl_be_p(mac + 2, lsb);
}

/*
 * The address in IPv4 register @v4, or the IPv6 one whose last word is @word[0].
 * Another address than a unicast address counts as none.
 */
static ErnicGid make_gid(bool v6, const uint32_t word[4])
{
    ErnicGid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
    int i;

    if (!v6) {
        stl_be_p(gid.raw + 12, word[0]);
    } else {
        for (i = 0; i < 4; i++) {
            stl_be_p(gid.raw + 12 - 4 * i, word[i]);
        }
    }
    return (v6 ? ernic_gid_is_v4(&gid) : !word[0]) || ernic_gid_is_mcast(&gid) ?
           (ErnicGid) { } : gid;
}

static void own_addresses(Ernic *e)
{
    uint32_t lsb = *ernic_pg332_reg(e, PG332_MACXADDLSB);
    uint32_t msb = *ernic_pg332_reg(e, PG332_MACXADDMSB);
    ErnicGidEntry entry = { .vlan = ERNIC_NO_VLAN };

    put_mac(entry.mac, lsb, msb);
    entry.gid = make_gid(false, ernic_pg332_reg(e, PG332_IPv4XADD));
    ernic_gid_set(e, GID_V4, &entry);
    entry.gid = make_gid(true, ernic_pg332_reg(e, PG332_IPv6XADD1));
    ernic_gid_set(e, GID_V6, &entry);
}

/* ---- queue pairs: attributes --------------------------------------------- */

/* The bits of @value in @mask, shifted down. */
static uint32_t field(uint32_t value, uint32_t mask)
{
    return (value & mask) / (mask & -mask);
}

static uint32_t put_field(uint32_t value, uint32_t mask)
{
    return value * (mask & -mask) & mask;
}

/* All that a running queue pair takes from its registers and keeps. */
static void load_attributes(Ernic *e, ErnicQp *qp)
{
    const uint32_t *reg = ernic_pg332_qp_reg(e, qp->qpn, PG332_QPCONF);
    uint32_t conf = reg[PG332_QPCONF / 4], adv = reg[PG332_QPADVCONF / 4];
    uint32_t wait = reg[PG332_TIMEOUTCONF / 4];
    bool v6 = conf & PG332_QPCONF_IPV6;
    ErnicQpAttr *attr = &qp->attr;

    qp->pd = reg[PG332_PD / 4];
    attr->access = ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_WRITE;
    attr->dest_qpn = reg[PG332_DESTQPCONF / 4] & ERNIC_QPN_MASK;
    attr->timeout = MIN(field(wait, PG332_TIMEOUT_ACK),
                        ERNIC_ACK_TIMEOUT_COUNT - 1);
    attr->retry_cnt = field(wait, PG332_TIMEOUT_RETRY);
    attr->rnr_retry = field(wait, PG332_TIMEOUT_RNR_RETRY);
    attr->min_rnr_timer = field(wait, PG332_TIMEOUT_RNR_TIMER);
    attr->max_rd_atomic = ERNIC_MAX_RD_ATOMIC;
    attr->max_dest_rd_atomic = e->cfg.pg332_reads ?: ERNIC_MAX_RD_ATOMIC;
    attr->av.sgid_index = v6 ? GID_V6 : GID_V4;
    attr->av.dgid = make_gid(v6, &reg[PG332_IPDESADDR1 / 4]);
    put_mac(attr->av.dmac, reg[PG332_MACDESADDLSB / 4],
            reg[PG332_MACDESADDMSB / 4]);
    attr->av.hop_limit = field(adv, PG332_QPADV_TTL);
    attr->av.tclass = field(adv, PG332_QPADV_TC) << 2;      /* DSCP */
    if (qp->sq.wq.ci == qp->sq.started) {
        ernic_completer_set_retry(qp, attr->retry_cnt);
        ernic_completer_set_rnr_retry(qp, attr->rnr_retry);
    }
}

/*
 * A time-out that is set while packets are under way counts from now; one that is
 * taken away does not pass any more.
 */
static void arm(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    if (!qp->attr.timeout) {
        ernic_retry_timer_stop(e, qp);
    } else if (qp->transport == ERNIC_RC &&
               ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) &&
               sq->una_psn != sq->max_psn && sq->ack_due == ERNIC_NEVER &&
               sq->rnr_due == ERNIC_NEVER) {
        ernic_retry_timer_start(e, qp, false);
    }
}

/* ---- queue pairs: running ------------------------------------------------ */

static ErnicQp *running(const Ernic *e, uint32_t qpn)
{
    return e->qp[qpn].used ? &e->qp[qpn] : NULL;
}

/* One that runs may be under recovery, but none begins so. */
static bool should_run(const Ernic *e, uint32_t qpn)
{
    uint32_t conf = *ernic_pg332_qp_reg(e, qpn, PG332_QPCONF);

    return ernic_pg332_in_bound(e, qpn) &&
           (*ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ENABLE) &&
           (conf & PG332_QPCONF_ENABLE) &&
           (running(e, qpn) || !(conf & PG332_QPCONF_RECOVERY));
}

/* A depth as the rings use it: a power of two that there is room for. */
static uint32_t ring_depth(uint32_t depth)
{
    depth = MIN(depth, ERNIC_MAX_WQ_DEPTH);
    return depth ? 1u << g_bit_storage(depth) >> 1 : 1;
}

static void load_psn(Ernic *e, ErnicQp *qp)
{
    uint32_t psn = *ernic_pg332_qp_reg(e, qp->qpn, PG332_SQPSN) &
                   ERNIC_PSN_MASK;

    qp->attr.sq_psn = psn;
    ernic_requester_begin(qp, psn);
    ernic_completer_begin(qp, psn);
}

static void load_expected(Ernic *e, ErnicQp *qp)
{
    uint32_t last = *ernic_pg332_qp_reg(e, qp->qpn, PG332_LSTRQREQ);

    ernic_responder_expect(qp, ernic_psn_next(last & ERNIC_PSN_MASK));
    qp->attr.rq_psn = qp->rq.epsn;
}

/* The counters go on from where the registers say they stood. */
static void load_counters(Ernic *e, ErnicQp *qp)
{
    const uint32_t *reg = ernic_pg332_qp_reg(e, qp->qpn, PG332_QPCONF);
    uint32_t head = reg[PG332_CQHEAD / 4], pi = reg[PG332_STATRQPIDB / 4];
    ErnicSendQueue *sq = &qp->sq;
    ErnicWq *rq = &qp->rq.wq;

    head = ernic_pg332_index(head, sq->wq.depth);
    sq->wq.ci = head;
    ernic_requester_restart(qp);
    sq->wq.pi = head + ernic_pg332_ahead(head, reg[PG332_SQPI / 4],
                                         sq->wq.depth);
    pi = ernic_pg332_index(pi, rq->depth);
    /* A lap more: buffers that were returned must not count as none. */
    rq->ci = pi && reg[PG332_RQCI / 4] ? pi + rq->depth : pi;
    rq->pi = rq->ci + rq->depth - ernic_pg332_ahead(reg[PG332_RQCI / 4], pi, rq->depth);
    ernic_handshake_begin(e, qp->qpn, head, pi);
    ernic_responder_count_from(qp, reg[PG332_STATMSN / 4] & ERNIC_MSN_MASK);
    load_psn(e, qp);
    load_expected(e, qp);
}

static void start(Ernic *e, uint32_t qpn)
{
    uint32_t depth = *ernic_pg332_qp_reg(e, qpn, PG332_QDEPTH);
    ErnicWq sq = { .depth = ring_depth(depth & 0xffff), .stride = 64 };
    ErnicWq rq = { .depth = ring_depth(depth >> 16), .stride = 64 };
    ErnicQp *qp = ernic_qp_open(e, qpn, qpn == ERNIC_QPN_GSI ? ERNIC_QPT_GSI :
                                                               ERNIC_QPT_RC,
                                &sq, &rq);
    uint32_t pmtu = field(*ernic_pg332_qp_reg(e, qpn, PG332_QPCONF),
                          PG332_QPCONF_PMTU);

    if (!qp) {
        return;                 /* this host has no memory: it does not run */
    }
    *ernic_pg332_qp_reg(e, qpn, PG332_STATQP) &= ~PG332_STATQP_FATAL;
    load_attributes(e, qp);
    load_counters(e, qp);
    /*
     * The value stays for as long as the queue pair runs: packets under way are cut to
     * it.
     */
    qp->attr.path_mtu = MIN(ERNIC_MTU_256 + pmtu, e->cfg.mtu);
    trace_ernic_pg332_start(qpn, sq.depth, rq.depth);
    ernic_qp_set_state(e, qp, ERNIC_QPS_RTS);
}

/* ---- counters, read ------------------------------------------------------ */

static uint32_t status(const Ernic *e, const ErnicQp *qp, uint32_t stored)
{
    const ErnicSendQueue *sq = &qp->sq;
    uint32_t pending = sq->wq.pi - sq->wq.ci, out = sq->started - sq->wq.ci;

    return (stored & (PG332_STATQP_SYNDROME | PG332_STATQP_FATAL)) |
        (qp->rq.wq.pi == qp->rq.wq.ci ? PG332_STATQP_RQ_FULL : 0) |
        (pending == sq->wq.depth ? PG332_STATQP_SQ_FULL : 0) |
        (out >= e->interface->outstanding(qp) ? PG332_STATQP_OSQ_FULL : 0) |
        (sq->started == sq->wq.pi ? PG332_STATQP_SQ_EMPTY : 0) |
        (out ? 0 : PG332_STATQP_OSQ_EMPTY) |
        (sq->rewind_gen ? PG332_STATQP_RETRIED : 0) |
        put_field(sq->retry_left, PG332_STATQP_RETRY) |
        put_field(sq->rnr_left, PG332_STATQP_RNR_RETRY);
}

/* Where the next message goes. */
static uint64_t buffer_addr(const Ernic *e, const ErnicQp *qp)
{
    uint32_t size = field(*ernic_pg332_qp_reg(e, qp->qpn, PG332_QPCONF),
                          PG332_QPCONF_RQ_BUF) * 256;

    return ernic_pg332_qp_addr(e, qp->qpn, PG332_RQBA, PG332_RQBAMSB) +
           (uint64_t)(ernic_pg332_received(qp) & (qp->rq.wq.depth - 1)) * size;
}

/* The registers of a slot that are the engine's while the queue pair runs. */
static const uint8_t live_regs[] = {
    PG332_CQHEAD, PG332_SQPSN, PG332_LSTRQREQ, PG332_STATSSN, PG332_STATMSN,
    PG332_STATQP, PG332_STATCURSQPTR, PG332_STATRESPSN, PG332_STATRQBUFCA,
    PG332_STATWQE, PG332_STATRQPIDB, PG332_STATRQBUFCAMSB,
};

/* Counters of a connection's packets; for queue pair 1 the register is storage. */
static bool of_connection(uint32_t offset)
{
    return offset == PG332_SQPSN || offset == PG332_LSTRQREQ ||
           offset == PG332_STATSSN || offset == PG332_STATMSN ||
           offset == PG332_STATRESPSN;
}

static uint32_t hidden(const Ernic *e, const ErnicQp *qp, bool recv)
{
    return ernic_timed_hidden(e, qp->qpn, recv);
}

/* One of them; @stored: what the register holds. */
static uint32_t live(const Ernic *e, const ErnicQp *qp, uint32_t offset,
                     uint32_t stored)
{
    const ErnicSendQueue *sq = &qp->sq;

    if (qp->type == ERNIC_QPT_GSI && of_connection(offset)) {
        return stored;
    }
    switch (offset) {
    case PG332_CQHEAD:
        return ernic_pg332_shown(e, qp, offset, sq->wq.ci - hidden(e, qp, false),
                                 sq->wq.depth);
    case PG332_SQPSN:
        return sq->next_psn;
    case PG332_LSTRQREQ:
        return (stored & LSTRQREQ_OPCODE) |
               ernic_psn_add(qp->rq.epsn, ERNIC_PSN_MASK);
    case PG332_STATSSN:
        return (sq->ssn + 1) & ERNIC_MSN_MASK;
    case PG332_STATMSN:
        return qp->rq.msn;
    case PG332_STATQP:
        return status(e, qp, stored);
    case PG332_STATCURSQPTR:
        return ernic_pg332_place(sq->wq.ci + 1, sq->wq.depth);
    case PG332_STATRESPSN:
        return sq->una_psn;
    case PG332_STATRQBUFCA:
        return buffer_addr(e, qp);
    case PG332_STATRQBUFCAMSB:
        return buffer_addr(e, qp) >> 32;
    case PG332_STATWQE:
        return sq->fetched & 0xffff;
    case PG332_STATRQPIDB:
        return ernic_pg332_shown(e, qp, offset, ernic_pg332_received(qp) -
                                 hidden(e, qp, true), qp->rq.wq.depth);
    default:
        return stored;
    }
}

/* ---- queue pairs: stopping ----------------------------------------------- */

/* The registers keep what the engine knew. */
static void stop(Ernic *e, ErnicQp *qp)
{
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(live_regs); i++) {
        uint32_t *reg = ernic_pg332_qp_reg(e, qp->qpn, live_regs[i]);

        *reg = live(e, qp, live_regs[i], *reg);
    }
    trace_ernic_pg332_stop(qp->qpn);
    ernic_qp_close(e, qp);
}

/* A global register stops @qpn, starts it, or does one after the other. */
static void settle(Ernic *e, uint32_t qpn)
{
    if (running(e, qpn) && running(e, qpn)->stopping) {
        ernic_charge(e, WORK_STOP);
        stop(e, running(e, qpn));
    }
    if (!running(e, qpn) && should_run(e, qpn)) {
        ernic_charge(e, WORK_START);
        start(e, qpn);
    }
}

void ernic_pg332_settle_qp(Ernic *e, uint32_t qpn)
{
    if (e->unsettled && qpn >= e->unsettled && qpn < e->cfg.max_qp) {
        settle(e, qpn);
    }
}

/* Software sees a slot as if each write had had its whole effect at once. */
static void settle_slot(Ernic *e, const ErnicRegRef *ref)
{
    if (ref->def->scope == ERNIC_REG_QP) {
        ernic_pg332_settle_qp(e, ref->element + 1);
    }
}

bool ernic_pg332_settle(Ernic *e)
{
    for (; e->unsettled && ernic_work_left(e); e->unsettled++) {
        if (e->unsettled == e->cfg.max_qp) {
            e->unsettled = 0;
            return true;
        }
        ernic_charge(e, e->unsettled % LOOKS_OF_UNIT == 0);
        settle(e, e->unsettled);
    }
    return !e->unsettled;
}

/* ---- counters of the device, read ---------------------------------------- */

/* Counters of the engine that a global register shows. */
static uint32_t global(const Ernic *e, uint32_t offset, uint32_t stored)
{
    const ErnicStats *stats = &e->stats;
    uint64_t dropped = 0;
    int i;

    switch (offset) {
    case PG332_ININVDUPCNT:
        return (stored & 0xffff) | (uint32_t)stats->rx_duplicates << 16;
    case PG332_INALLDRPPKTCNT:
        for (i = 0; i < ERNIC_DROP_COUNT; i++) {
            dropped += stats->drop[i];
        }
        return (stats->rx_packets & 0xffff) | (uint32_t)dropped << 16;
    case PG332_INNAKPKTCNT:
        return (stats->rx_naks + stats->rx_rnr_naks) & 0xffff;
    case PG332_OUTNAKPKTCNT:
        return (stats->tx_naks + stats->tx_rnr_naks) & 0xffff;
    case PG332_RETRYCNTSTS:
        return stats->retransmits;
    case PG332_INCNPPKTCNT:
        return stats->rx_cnps;
    case PG332_OUTCNPPKTCNT:
        return stats->tx_cnps;
    case PG332_WQEPROCSTS:
    case PG332_QPMSTS:
    case PG332_RESPHNDSTS:
        return ernic_pg332_pipeline(e, offset, stored);
    default:
        return stored;
    }
}

uint32_t ernic_pg332_read(Ernic *e, uint32_t offset)
{
    ErnicRegRef ref;
    uint32_t value;

    if (!ernic_regfile_find(e->regs, offset, &ref)) {
        trace_ernic_guest_pg332_hole(offset);
        return 0;
    }
    settle_slot(e, &ref);
    value = *ref.value;
    if (ref.def->scope == ERNIC_REG_GLOBAL) {
        value = global(e, ref.def->offset, value);
    } else if (ref.def->scope == ERNIC_REG_QP && running(e, ref.element + 1)) {
        value = live(e, running(e, ref.element + 1), ref.def->offset, value);
    }
    trace_ernic_pg332_read(offset, ref.def->name, value);
    return value;
}

/* ---- queue pairs: registers ---------------------------------------------- */

/*
 * Recovery: nothing that is posted is carried out any more, and software waits,
 * without bound, until all of it counts as complete and both queues are empty.
 * A queue pair that runs gets rid of it in its turns, with completion entries;
 * of one that does not, the registers just say so.
 */
static void recover(Ernic *e, uint32_t qpn)
{
    uint32_t depth = *ernic_pg332_qp_reg(e, qpn, PG332_QDEPTH) & 0xffff;
    ErnicQp *qp = running(e, qpn);

    trace_ernic_pg332_recover(qpn, qp ? qp->sq.wq.pi - qp->sq.wq.ci : 0);
    if (qp) {
        if (qp->state != ERNIC_QPS_ERR) {
            ernic_qp_set_state(e, qp, ERNIC_QPS_ERR);
        }
        return;
    }
    *ernic_pg332_qp_reg(e, qpn, PG332_CQHEAD) =
        ernic_pg332_index(*ernic_pg332_qp_reg(e, qpn, PG332_SQPI),
                          ring_depth(depth));
    *ernic_pg332_qp_reg(e, qpn, PG332_STATQP) |= PG332_STATQP_SQ_EMPTY |
                                                 PG332_STATQP_OSQ_EMPTY;
}

/* Start, stop or go on, as the registers ask for now. */
static void update_qp(Ernic *e, uint32_t qpn)
{
    ErnicQp *qp = running(e, qpn);
    bool want = should_run(e, qpn);

    ernic_charge(e, ERNIC_WORK_LOCAL);
    if (want && !qp) {
        start(e, qpn);
    } else if (qp && !want) {
        stop(e, qp);
    } else if (qp) {
        load_attributes(e, qp);
        arm(e, qp);
        ernic_sched_mark(e, qp);
    }
}

/* ---- writes -------------------------------------------------------------- */

/* The UDP source port; that of a socket, where there is one, outweighs it. */
void ernic_pg332_restore(Ernic *e)
{
    uint32_t conf = *ernic_pg332_reg(e, PG332_XRNICCONF);

    e->udp_sport = e->cfg.udp_sport ? e->cfg.udp_sport :
        ernic_pg332_version(e) == PG332_V3_1 ?
        field(conf, PG332_V3_CONF_SPORT) : field(conf, PG332_V4_CONF_SPORT);
}

/*
 * To start or stop all queue pairs is more than a slice of work. Those that stop are
 * marked, because a later write must not save them; ernic_pg332_settle() does the rest.
 */
static void wrote_global(Ernic *e)
{
    uint32_t qpn;

    ernic_pg332_restore(e);
    ernic_charge_objects(e, e->cfg.max_qp);
    for (qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (running(e, qpn) && !should_run(e, qpn)) {
            e->qp[qpn].stopping = true;
        }
    }
    e->unsettled = 1;
}

/* Software chooses anew which pause frames count: the last one does not any more. */
static void wrote_pause(Ernic *e)
{
    if (e->paused) {
        e->resume = e->now;
    }
}

static void wrote_qpconf(Ernic *e, uint32_t qpn)
{
    update_qp(e, qpn);
    if (*ernic_pg332_qp_reg(e, qpn, PG332_QPCONF) & PG332_QPCONF_RECOVERY) {
        recover(e, qpn);
    }
}

/* New requests: as many as the index has moved, round its ring. */
static void post_requests(Ernic *e, uint32_t qpn, uint32_t sqpi)
{
    uint32_t room, more;
    ErnicQp *qp = running(e, qpn);
    ErnicWq *wq = &qp->sq.wq;

    more = ernic_pg332_ahead(ernic_pg332_posted(e, qp), sqpi, wq->depth);
    room = wq->depth - (wq->pi - wq->ci);
    if (more > room) {
        trace_ernic_guest_pg332_sqpi(qpn, sqpi, room);
        more = room;
    }
    ernic_timing_posted(e, qpn, wq->pi, wq->pi + more);
    wq->pi += more;
    trace_ernic_pg332_sqpi(qpn, sqpi, more);
    ernic_sched_mark(e, qp);
}

/* Buffers that software has emptied. */
static void post_buffers(Ernic *e, uint32_t qpn, uint32_t rqci)
{
    ErnicQp *qp = running(e, qpn);
    ErnicWq *wq = &qp->rq.wq;
    uint32_t done = wq->pi - wq->depth;
    uint32_t held = ernic_pg332_received(qp) - done;
    uint32_t more = ernic_pg332_ahead(ernic_pg332_index(done, wq->depth), rqci,
                                      wq->depth);

    if (more > held) {
        trace_ernic_guest_pg332_rqci(qpn, rqci, held);
        more = held;
    }
    wq->pi += more;
}

void ernic_pg332_doorbell(Ernic *e, uint32_t offset, uint32_t value)
{
    ErnicRegRef ref;

    if (!ernic_regfile_find(e->regs, offset, &ref)) {
        return;
    }
    settle_slot(e, &ref);
    if (ref.def->scope != ERNIC_REG_QP || !running(e, ref.element + 1)) {
        return;
    }
    if (ref.def->offset == PG332_SQPI) {
        post_requests(e, ref.element + 1, value);
    } else if (ref.def->offset == PG332_RQCI) {
        post_buffers(e, ref.element + 1, value);
    }
}

/* No PCI bus is in between, so that the timing model delays nothing. */
bool ernic_pg332_ring(Ernic *e, uint32_t qpn, uint32_t reg, uint32_t value)
{
    const ErnicRegBlockDef *slots =
        &ernic_reg_blocks[ernic_pg332_version(e)][ERNIC_REG_QP];
    uint32_t offset = slots->base + (qpn - 1) * PG332_SLOT + reg;
    ErnicRegRef ref;

    ernic_pg332_settle_qp(e, qpn);
    if (!ernic_rules_write(e, offset, &value) ||
        !ernic_regfile_write(e->regs, offset, value, &ref)) {
        return false;
    }
    trace_ernic_pg332_write(offset, ref.def->name, value);
    ernic_pg332_doorbell(e, offset, value);
    return true;
}

/* Sequence numbers are set while nothing is under way. */
static void wrote_sqpsn(Ernic *e, uint32_t qpn)
{
    ErnicQp *qp = running(e, qpn);

    if (qp->transport == ERNIC_RC && qp->sq.started == qp->sq.wq.ci) {
        load_psn(e, qp);
    }
}

static void wrote_lstrqreq(Ernic *e, uint32_t qpn)
{
    ErnicQp *qp = running(e, qpn);

    if (qp->transport == ERNIC_RC && qp->rq.open == ERNIC_CL_NONE &&
        !qp->ack.rd_pending) {
        load_expected(e, qp);
        ernic_responder_allow_nak(qp);
    }
}

static void wrote_statqp(Ernic *e, uint32_t qpn)
{
    uint32_t value = *ernic_pg332_qp_reg(e, qpn, PG332_STATQP);
    ErnicQp *qp = running(e, qpn);

    ernic_completer_set_retry(qp, field(value, PG332_STATQP_RETRY));
    ernic_completer_set_rnr_retry(qp, field(value, PG332_STATQP_RNR_RETRY));
}

/* The effects of a write of a slot's register, besides storing it. */
static const struct {
    uint8_t offset;
    bool always;                /* else only to a queue pair that runs */
    void (*wrote)(Ernic *e, uint32_t qpn);
} qp_effects[] = {
    { PG332_QPCONF, true, wrote_qpconf },
    { PG332_SQPSN, false, wrote_sqpsn },
    { PG332_LSTRQREQ, false, wrote_lstrqreq },
    { PG332_STATQP, false, wrote_statqp },
    { PG332_QPADVCONF, false, update_qp },
    { PG332_DESTQPCONF, false, update_qp },
    { PG332_TIMEOUTCONF, false, update_qp },
    { PG332_MACDESADDLSB, false, update_qp },
    { PG332_MACDESADDMSB, false, update_qp },
    { PG332_IPDESADDR1, false, update_qp },
    { PG332_IPDESADDR2, false, update_qp },
    { PG332_IPDESADDR3, false, update_qp },
    { PG332_IPDESADDR4, false, update_qp },
    { PG332_PD, false, update_qp },
};

static const struct {
    uint16_t offset;
    void (*wrote)(Ernic *e);
} global_effects[] = {
    { PG332_XRNICCONF, wrote_global },
    { PG332_XRNIC_CONF_QP_EN, wrote_global },
    { PG332_XRNIC_PAUSE_CONF, wrote_pause },
    { PG332_MACXADDLSB, own_addresses }, { PG332_MACXADDMSB, own_addresses },
    { PG332_IPv4XADD, own_addresses },
    { PG332_IPv6XADD1, own_addresses }, { PG332_IPv6XADD2, own_addresses },
    { PG332_IPv6XADD3, own_addresses }, { PG332_IPv6XADD4, own_addresses },
};

static void wrote_qp_reg(Ernic *e, const ErnicRegRef *ref)
{
    uint32_t qpn = ref->element + 1, i;

    for (i = 0; i < ARRAY_SIZE(qp_effects); i++) {
        if (qp_effects[i].offset == ref->def->offset &&
            (qp_effects[i].always || running(e, qpn))) {
            qp_effects[i].wrote(e, qpn);
        }
    }
}

bool ernic_pg332_sets_up(const Ernic *e, uint32_t offset)
{
    ErnicRegRef ref;
    uint32_t i;

    if (!ernic_regfile_find(e->regs, offset, &ref)) {
        return false;
    }
    for (i = 0; ref.def->scope == ERNIC_REG_QP &&
                i < ARRAY_SIZE(qp_effects); i++) {
        if (qp_effects[i].offset == ref.def->offset) {
            return true;
        }
    }
    for (i = 0; ref.def->scope == ERNIC_REG_GLOBAL &&
                i < ARRAY_SIZE(global_effects); i++) {
        if (global_effects[i].offset == ref.def->offset) {
            return true;
        }
    }
    return false;
}

/* Execute it at once, or under the timing model when the store has arrived. */
static void wrote_doorbell(Ernic *e, const ErnicRegRef *ref, uint32_t offset)
{
    bool doorbell = ref->def->scope == ERNIC_REG_QP &&
        (ref->def->offset == PG332_SQPI || ref->def->offset == PG332_RQCI);

    if (!doorbell) {
        ernic_timed_store(e);
    } else if (!ernic_timed_doorbell(e, offset, *ref->value |
                                     (uint64_t)(ref->element + 1) << 32)) {
        ernic_pg332_doorbell(e, offset, *ref->value);
    }
}

void ernic_pg332_write(Ernic *e, uint32_t offset, uint32_t value)
{
    bool was = ernic_pg332_irq(e);
    ErnicRegRef ref;
    uint32_t i;

    if (ernic_regfile_find(e->regs, offset, &ref)) {
        settle_slot(e, &ref);
    }
    if (!ernic_rules_write(e, offset, &value)) {
        return;
    }
    if (!ernic_regfile_write(e->regs, offset, value, &ref)) {
        trace_ernic_guest_pg332_hole(offset);
        return;
    }
    trace_ernic_pg332_write(offset, ref.def->name, value);
    wrote_doorbell(e, &ref, offset);
    if (ref.def->scope == ERNIC_REG_QP) {
        wrote_qp_reg(e, &ref);
    }
    for (i = 0; ref.def->scope == ERNIC_REG_GLOBAL &&
                i < ARRAY_SIZE(global_effects); i++) {
        if (global_effects[i].offset == ref.def->offset) {
            global_effects[i].wrote(e);
        }
    }
    if (ref.def->scope != ERNIC_REG_GLOBAL) {
        return;
    }
    /* A cause that is not cleared interrupts again, as messages have no level. */
    if (ref.def->offset == PG332_INTEN) {
        ernic_pg332_rise(e, was);
    } else if (ref.def->offset == PG332_INTSTS) {
        ernic_pg332_rise(e, false);
    }
}
