/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of all kinds and contexts that are made, changed and destroyed in any order by
 * commands of many slices, while requests, pages and doorbells come and go. Each command
 * succeeds or fails as the model says, and all invariants hold, also in the state that
 * another engine loads.
 */
#include "qemu/osdep.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "test.h"
#include "transport/qp_transitions.h"
#include "verbs_model.h"

enum { STEPS = 200000, CHECK = 16, TAKE_OVER = 2000, LIFE = 8000 };

/* ---- changes ----------------------------------------------------------------------- */

static void clear_record(Model *m, Thing *t, uint32_t n)
{
    fake_put64(&m->env, vm_record_of(m, t - m->thing, n), 0);
    t->posted[n] = 0;
}

/* Mostly itself. Of XRC, the first initiator and the first target are a pair. */
static uint32_t peer_of(Model *m, const Thing *t)
{
    uint8_t other = t->type == ERNIC_QPT_XRC_INI ? ERNIC_QPT_XRC_TGT :
                    t->type == ERNIC_QPT_XRC_TGT ? ERNIC_QPT_XRC_INI : t->type;
    const Thing *to = vm_any(m, 8) ? t : vm_any_of(m, QPS);

    for (uint32_t i = 0; i < THINGS && other != t->type; i++) {
        if (m->thing[i].used && m->thing[i].ref.kind == QPS &&
            m->thing[i].type == other) {
            return m->thing[i].ref.number;
        }
    }
    return to->ref.number;
}

/* The next state, or rarely any one. The peer is of this device, often itself. */
static void change_qp(Model *m, Thing *t)
{
    static const uint8_t next[ERNIC_QPS_COUNT] = {
        [ERNIC_QPS_RESET] = ERNIC_QPS_INIT, [ERNIC_QPS_INIT] = ERNIC_QPS_RTR,
        [ERNIC_QPS_RTR] = ERNIC_QPS_RTS, [ERNIC_QPS_RTS] = ERNIC_QPS_SQD,
        [ERNIC_QPS_SQD] = ERNIC_QPS_RTS, [ERNIC_QPS_SQE] = ERNIC_QPS_RTS,
    };
    uint8_t from = m->e->qp[t->ref.number].state;
    bool stay = from == ERNIC_QPS_RTS && vm_any(m, 4);
    uint8_t to = !vm_any(m, 12) ? vm_any(m, ERNIC_QPS_COUNT) : stay ? from : next[from];
    Plan p = vm_change(m, ERNIC_CMD_QP_MODIFY, t);
    struct ernic_qp_attr *a = &p.data.attr;
    uint32_t mask = to > from && to <= ERNIC_QPS_RTS ? fake_qp_mask(t->type, to) :
                                                       ERNIC_QPA_STATE;

    fake_qp_attr(a, peer_of(m, t), 1);
    a->timeout = vm_any(m, 9);
    a->retry_cnt = vm_any(m, 8);
    a->rnr_retry = vm_any(m, 8);
    a->min_rnr_timer = 1 + vm_any(m, 16);
    a->path_mtu = 1 + vm_any(m, 5);
    a->max_dest_rd_atomic = vm_any(m, ERNIC_MAX_RD_ATOMIC + 1);
    a->sqd_notify = vm_any(m, 2);
    a->mask = cpu_to_le32(mask | (vm_any(m, 8) ? 0 : 1u << vm_any(m, ERNIC_QPA_COUNT)));
    a->state = to;
    p.cmd.qp.handle = cpu_to_le32(t->ref.number);
    p.len = sizeof(*a);
    if (vm_do_change(m, t, &p) && to == ERNIC_QPS_RESET) {
        clear_record(m, t, 0);
        clear_record(m, t, 1);
    }
}

static void change_cq(Model *m, Thing *t)
{
    Plan p = vm_change(m, vm_any(m, 2) ? ERNIC_CMD_CQ_RESIZE : ERNIC_CMD_CQ_MODERATE, t);
    uint32_t slot = t - m->thing;

    if (p.cmd.opcode == ERNIC_CMD_CQ_MODERATE) {
        p.cmd.cq_moderate.handle = cpu_to_le32(t->ref.number);
        p.cmd.cq_moderate.count = cpu_to_le16(vm_any(m, 5));
        p.cmd.cq_moderate.period_us = cpu_to_le16(vm_any(m, 20000));
        vm_do_change(m, t, &p);
        return;
    }
    vm_look_at_all(m, NULL);
    p.cmd.cq_create.handle = cpu_to_le32(t->ref.number);
    p.cmd.cq_create.depth = cpu_to_le32(2 << vm_any(m, 6));
    p.cmd.cq_create.buf = vm_desc(m, slot, !t->ring);
    if (vm_do_change(m, t, &p)) {
        t->ring = !t->ring;
    }
}

static void change_srq(Model *m, Thing *t)
{
    Plan p = vm_change(m, ERNIC_CMD_SRQ_MODIFY, t);

    p.cmd.srq.handle = cpu_to_le32(t->ref.number);
    if (vm_any(m, 3)) {
        p.cmd.srq.limit = cpu_to_le32(vm_any(m, DEPTH + 2));
    } else {
        p.cmd.srq.depth = cpu_to_le32(DEPTH >> vm_any(m, 3));
        p.cmd.srq.buf = vm_desc(m, t - m->thing, 0);
    }
    vm_do_change(m, t, &p);
}

static void set_pages(Model *m, Thing *t, uint64_t first, uint32_t n)
{
    Plan p = vm_change(m, ERNIC_CMD_MR_PAGES, t);
    uint64_t list = m->scratch + PAGE;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t page = m->data + vm_any(m, DATA / PAGE) * PAGE;
        uint32_t flags = vm_any(m, 4) ? ERNIC_PAGE_READ | ERNIC_PAGE_WRITE :
                                        ERNIC_PAGE_READ;

        page |= vm_any(m, 2000) ? flags : vm_any(m, 8);
        fake_put64(&m->env, list + i * 8, vm_any(m, 8) ? page : 0);
    }
    p.cmd.mr_pages.key = cpu_to_le32(t->ref.number << 8 |
                                     m->e->mr[t->ref.number].variant);
    p.cmd.mr_pages.first = cpu_to_le64(first);
    p.cmd.mr_pages.npages = cpu_to_le64(vm_any(m, 4) ? n : 1 + vm_any(m, 1 << 20));
    p.cmd.mr_pages.list = cpu_to_le64(vm_any(m, 3) ? list : 0);
    vm_do_change(m, t, &p);
}

static void change_mr(Model *m, Thing *t)
{
    Plan p = vm_change(m, ERNIC_CMD_MR_REREG, t);
    uint32_t flags = vm_any(m, 8);

    if (m->e->mr[t->ref.number].odp && vm_any(m, 8)) {
        set_pages(m, t, vm_any(m, vm_any(m, 2) ? 16 : 1 << 24), 1 + vm_any(m, 20));
        return;
    }
    p.cmd.mr_reg.key = cpu_to_le32(t->ref.number << 8 | m->e->mr[t->ref.number].variant);
    p.cmd.mr_reg.flags = cpu_to_le32(flags);
    if (flags & ERNIC_REREG_TRANS) {
        vm_say_region(m, &p);
    }
    if (flags & ERNIC_REREG_PD) {
        p.thing.needs = 0;
        p.cmd.mr_reg.pd = cpu_to_le32(vm_need(m, &p, PDS, t->uctx));
    }
    if (flags & ERNIC_REREG_ACCESS) {
        p.cmd.mr_reg.access = cpu_to_le32(vm_any(m, 64));
    }
    vm_do_change(m, t, &p);
}

static void bind_counter(Model *m, Thing *unused)
{
    Plan p = vm_plan(m, ERNIC_CMD_COUNTER_BIND, vm_any(m, 20) ? 0 : vm_any(m, 9));
    uint32_t qpn = vm_number_of(m, QPS, 0), counter = vm_number_of(m, COUNTERS, 0), none;

    p.cmd.counter_bind.qpn = cpu_to_le32(qpn);
    p.cmd.counter_bind.counter = cpu_to_le32(counter);
    p.missing |= p.thing.uctx || !vm_find(m, (Ref) { QPS, qpn }) ||
                 (counter && !vm_find(m, (Ref) { COUNTERS, counter }));
    vm_ask(m, &p, &none);
}

static void any_group(Model *m, uint8_t gid[16])
{
    fake_gid(gid, vm_any(m, 4));
    gid[12] = 224;
}

static void change_group(Model *m, Thing *unused)
{
    Plan p = vm_plan(m, vm_any(m, 3) ? ERNIC_CMD_MCAST_ATTACH : ERNIC_CMD_MCAST_DETACH,
                  vm_any_uctx(m));
    uint32_t none;

    any_group(m, p.cmd.mcast.gid);
    p.cmd.mcast.qpn = cpu_to_le32(vm_need(m, &p, QPS, p.thing.uctx));
    vm_ask(m, &p, &none);
}

/* Software answers a page fault, rarely one that nobody waits for. */
static void answer_fault(Model *m)
{
    const ErnicPageFault *f = &m->e->qp[1].events.page;
    Plan p = vm_plan(m, ERNIC_CMD_PAGE_RESUME, 0);
    uint32_t none, qpn = 1;
    Thing *mr;

    for (uint32_t i = 0; i < 32 && f->state == ERNIC_PAGE_NONE; i++) {
        qpn = vm_number_of(m, QPS, vm_any(m, 3)) % m->e->cfg.max_qp;
        f = &m->e->qp[qpn].events.page;
    }
    p.cmd.page_resume.qpn = cpu_to_le32(qpn);
    p.cmd.page_resume.key = cpu_to_le32(f->key);
    p.cmd.page_resume.offset = cpu_to_le64(f->off);
    p.cmd.page_resume.failed = !vm_any(m, 8);
    mr = vm_find(m, (Ref) { MRS, f->key >> 8 });
    if (mr && vm_any(m, 4)) {
        set_pages(m, mr, f->off / PAGE, 1 + vm_any(m, 4));
    }
    p.missing |= !vm_find(m, (Ref) { QPS, qpn });
    vm_ask(m, &p, &none);
}

static void change_any(Model *m)
{
    static void (*const changes[KINDS])(Model *m, Thing *t) = {
        [CQS] = change_cq, [SRQS] = change_srq, [MRS] = change_mr, [QPS] = change_qp,
        [COUNTERS] = bind_counter, [PDS] = change_group,
    };
    Kind kind = vm_any(m, 2) ? QPS : vm_any(m, KINDS);
    Thing *t = changes[kind] ? vm_any_of(m, kind) : NULL;

    for (uint32_t n = t && kind == QPS ? 1 + vm_any(m, 3) : 1; t && n; n--) {
        changes[kind](m, t);
    }
}

/* ---- requests ---------------------------------------------------------------------- */

enum { SEND, RECV };

static uint32_t pd_of(const Thing *t)
{
    for (uint32_t i = 0; i < t->needs; i++) {
        if (t->need[i].kind == PDS) {
            return t->need[i].number;
        }
    }
    return 0;
}

/* A key of the domain that is valid, if there is one; rarely any key. */
static uint32_t any_key(Model *m, uint32_t pd, Kind kind, bool valid)
{
    uint32_t number = vm_any(m, 16);

    for (uint32_t i = 0; i < 16 && vm_any(m, 200); i++) {
        const Thing *t = vm_any_of(m, kind);

        if (t && pd_of(t) == pd && m->e->mr[t->ref.number].valid == valid) {
            number = t->ref.number;
            break;
        }
    }
    return number << 8 | m->e->mr[number].variant;
}

/* An address in the region of @key, and at most *@len bytes from there on. */
static uint64_t address_of(Model *m, uint32_t key, uint32_t *len)
{
    const ErnicMr *mr = &m->e->mr[key >> 8];
    uint32_t room = MIN(mr->length, 16 * PAGE), off = vm_any(m, room / 2 + 1) & ~7u;

    *len = MIN(*len, room - off);
    *len -= vm_any(m, 4) ? vm_any(m, *len + 1) / 2 : 0;
    *len += !vm_any(m, 100);
    return ROUND_UP(mr->iova, 8) + off;
}

static void say_sges(Model *m, struct ernic_sge *sge, uint32_t n, uint32_t pd,
                     uint32_t most)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = any_key(m, pd, MRS, true), len = most;
        uint64_t at = address_of(m, key, &len);

        sge[i] = fake_sge(at, most == 8 ? 8 : len, key);
    }
}

static void say_bind(Model *m, struct ernic_wqe *w, uint32_t pd)
{
    uint32_t lkey = any_key(m, pd, MRS, true), len = PAGE;

    w->bind_mw.rkey = cpu_to_le32(any_key(m, pd, MWS, !vm_any(m, 4)));
    w->bind_mw.new_rkey = cpu_to_le32(le32_to_cpu(w->bind_mw.rkey) + vm_any(m, 3));
    w->bind_mw.lkey = cpu_to_le32(lkey);
    w->bind_mw.access = cpu_to_le32(vm_any(m, 8) << 1);
    w->bind_mw.addr = cpu_to_le64(address_of(m, lkey, &len));
    w->bind_mw.length = cpu_to_le64(len);
}

static void say_fast(Model *m, struct ernic_wqe *w, uint32_t pd)
{
    uint32_t key = any_key(m, pd, MRS, false);

    w->reg_mr.key = cpu_to_le32(key + vm_any(m, 2));
    w->reg_mr.access = cpu_to_le32(0x1f);
    w->reg_mr.iova = cpu_to_le64(m->data + vm_any(m, PAGE));
    w->reg_mr.length = cpu_to_le64(vm_any(m, 8 * PAGE));
    w->reg_mr.list_addr = cpu_to_le64(vm_ring_of(m, vm_any(m, THINGS), 0) + PAGE + 8);
    w->reg_mr.npages = cpu_to_le32(vm_any(m, 64));
    w->reg_mr.page_shift = vm_any(m, 20) ? 12 : vm_any(m, 40);
}

/* An address of the peer's, or of the XRC SRQ's domain. Returns its key. */
static uint32_t remote_of(Model *m, const ErnicQp *qp, uint32_t srq, uint32_t *len,
                          ernic_le64 *at)
{
    const Thing *of = vm_find(m, (Ref) { srq ? SRQS : QPS, srq ?: qp->attr.dest_qpn });
    uint32_t key = any_key(m, of ? pd_of(of) : qp->pd, vm_any(m, 3) ? MRS : MWS, true);

    *at = cpu_to_le64(address_of(m, key, len));
    return key;
}

static void say_datagram(Model *m, struct ernic_wqe *w)
{
    bool group = vm_any(m, 2);

    w->ud.qkey = cpu_to_le32(0x11111111);
    w->ud.dest_qpn = cpu_to_le32(group ? 0xffffff : vm_number_of(m, QPS, 0));
    fake_gid(w->ud.av.dgid, 1);
    if (group) {
        any_group(m, w->ud.av.dgid);
    }
}

/* An SRQ, of XRC mostly one in the domain of the peer. */
static uint32_t srq_of(Model *m, const ErnicQp *qp)
{
    const ErnicQp *to = &m->e->qp[qp->attr.dest_qpn % m->e->cfg.max_qp];
    const Thing *t = NULL;

    for (uint32_t i = 0; i < 16 && qp->transport == ERNIC_XRC; i++) {
        t = vm_any_of(m, SRQS);
        if (t && m->e->srq[t->ref.number].xrcd == to->pd) {
            break;
        }
    }
    return t ? t->ref.number : 0;
}

/* The part that depends on the opcode. Returns how many bytes the message may have. */
static uint32_t say_operand(Model *m, const ErnicQp *qp, struct ernic_wqe *w)
{
    uint32_t srq = srq_of(m, qp), len = 6000;

    switch (w->opcode) {
    case ERNIC_WR_BIND_MW:
        say_bind(m, w, qp->pd);
        return 0;
    case ERNIC_WR_REG_MR:
        say_fast(m, w, qp->pd);
        return 0;
    case ERNIC_WR_LOCAL_INV:
        return 0;
    case ERNIC_WR_CMP_SWAP:
    case ERNIC_WR_FETCH_ADD:
        w->atomic.rkey = cpu_to_le32(remote_of(m, qp, srq, &len, &w->atomic.raddr));
        w->atomic.xrc_srq = cpu_to_le32(srq);
        return 8;
    case ERNIC_WR_FLUSH:
        w->flush.rkey = cpu_to_le32(remote_of(m, qp, srq, &len, &w->flush.raddr));
        w->flush.length = cpu_to_le32(len);
        w->flush.type = ERNIC_FLUSH_GLOBAL;
        w->flush.level = vm_any(m, 2);
        return 0;
    case ERNIC_WR_WRITE:
    case ERNIC_WR_WRITE_IMM:
    case ERNIC_WR_READ:
    case ERNIC_WR_ATOMIC_WRITE:
        w->rdma.rkey = cpu_to_le32(remote_of(m, qp, srq, &len, &w->rdma.raddr));
        w->rdma.xrc_srq = cpu_to_le32(srq);
        return w->opcode == ERNIC_WR_ATOMIC_WRITE ? 8 : len / 3;
    default:
        break;
    }
    if (qp->transport == ERNIC_UD) {
        say_datagram(m, w);
        return 300;
    }
    w->send.xrc_srq = cpu_to_le32(srq);
    return vm_any(m, 4) ? 500 : 5000;
}

static void write_send(Model *m, const Thing *t, uint8_t *slot)
{
    const ErnicQp *qp = &m->e->qp[t->ref.number];
    struct ernic_wqe *w = (void *)slot;
    uint32_t n = 1 + vm_any(m, 3), most;

    memset(slot, 0, SEND_SLOT);
    do {
        w->opcode = vm_any(m, ERNIC_WR_COUNT);
    } while (vm_any(m, 100) && (!(ernic_wr(w->opcode)->transports >> qp->transport & 1) ||
                             (w->opcode == ERNIC_WR_REG_MR && qp->uctx)));
    w->flags = vm_any(m, 8) & (vm_any(m, 100) ? ernic_wr(w->opcode)->allowed : 7);
    stl_le_p(w->imm, any_key(m, qp->pd, vm_any(m, 2) ? MRS : MWS, true));
    most = say_operand(m, qp, w);
    n = most == 8 ? 1 : most ? n : 0;
    say_sges(m, (void *)(w + 1), n, qp->pd, most);
    w->count = cpu_to_le16(n);
    if (!vm_any(m, 300)) {
        slot[vm_any(m, SEND_SLOT)] = vm_any(m, 256);
    }
}

static void write_recv(Model *m, const Thing *t, uint8_t *slot)
{
    struct ernic_rwqe *w = (void *)slot;
    uint32_t n = vm_any(m, 8) ? 3 : vm_any(m, 4);

    memset(slot, 0, RECV_SLOT);
    w->num_sge = cpu_to_le16(n);
    say_sges(m, (void *)(w + 1), n, pd_of(t), 8 * PAGE);
    if (!vm_any(m, 200)) {
        slot[vm_any(m, RECV_SLOT)] = vm_any(m, 256);
    }
}

static ErnicWq *wq_of(Model *m, const Thing *t, uint32_t which)
{
    return t->ref.kind == SRQS ? &m->e->srq[t->ref.number].wq :
           which == SEND ? &m->e->qp[t->ref.number].sq.wq :
                           &m->e->qp[t->ref.number].rq.wq;
}

/* A doorbell in a page, rarely in that of another context, where it does nothing. */
static void ring(Model *m, uint32_t uctx, uint8_t kind, uint32_t number, uint32_t index)
{
    uint32_t page = vm_any(m, 20) ? uctx : vm_any(m, 9);
    uint64_t value = ERNIC_DB(kind, number, index);
    uint8_t status;

    if (kind == ERNIC_DB_SQ && !vm_any(m, 3) && !m->timed) {
        status = ernic_doorbell_record(m->e, m->env.now, page, value);
    } else {
        status = ernic_doorbell(m->e, m->env.now, page, value);
    }
    g_assert_true(page == uctx || m->timed || status);
}

static void post(Model *m, Thing *t, uint32_t which)
{
    const ErnicWq *wq = wq_of(m, t, which);
    uint8_t kind = t->ref.kind == SRQS ? ERNIC_DB_SRQ : which == SEND ? ERNIC_DB_SQ :
                                                                        ERNIC_DB_RQ;
    uint32_t *posted = &t->posted[which], size = which == SEND ? SEND_SLOT : RECV_SLOT;
    uint8_t state = t->ref.kind == QPS ? m->e->qp[t->ref.number].state : ERNIC_QPS_RTS;
    bool may = ernic_qp_state_may(state) & (which == SEND ? ERNIC_MAY_POST_SEND :
                                                            ERNIC_MAY_POST_RECV);
    uint64_t run, at;

    if (!wq->depth || ((!may || *posted - wq->ci >= wq->depth) && vm_any(m, 50))) {
        return;
    }
    at = ernic_buf_addr(&wq->buf, *posted % wq->depth * size, &run);
    if (at - m->env.base > m->env.size - size) {
        return;
    }
    if (which == SEND) {
        write_send(m, t, fake_ptr(&m->env, at, size));
    } else {
        write_recv(m, t, fake_ptr(&m->env, at, size));
    }
    ++*posted;
    if (wq->record && wq->record - m->env.base < m->env.size) {
        stl_le_p(fake_ptr(&m->env, wq->record, 4), *posted);
    }
    if (vm_any(m, 3)) {
        ring(m, t->uctx, kind, t->ref.number, *posted);
    }
}

static void post_any(Model *m)
{
    Thing *t = vm_any_of(m, vm_any(m, 4) ? QPS : SRQS);
    uint32_t which = !t || t->ref.kind == SRQS ? RECV : vm_any(m, 2);

    for (uint32_t n = t ? 1 + vm_any(m, 4) : 0; n; n--) {
        post(m, t, which);
    }
    if (t && !vm_any(m, 3) && !m->timed) {
        ernic_page_rung(m->e, m->env.now, t->uctx);
    }
}

/* ---- what happens meanwhile -------------------------------------------------------- */

/* Software consumes entries of a queue, and arms it. */
static void consume(Model *m)
{
    Thing *t = vm_any_of(m, vm_any(m, 3) ? CQS : EQS);
    uint32_t n = t ? t->ref.number : 0, index;

    if (!t) {
        return;
    }
    index = t->seen - vm_any(m, 2) * vm_any(m, 3);
    if (t->ref.kind == EQS) {
        ring(m, 0, ERNIC_DB_EQ, n, index);
        return;
    }
    if (m->e->cq[n].ci_addr) {
        stl_le_p(fake_ptr(&m->env, m->e->cq[n].ci_addr, 4), index);
    }
    ring(m, t->uctx, ERNIC_DB_CQ + vm_any(m, 3), n, index);
}

static void pass(Model *m)
{
    m->env.tx_busy = !vm_any(m, 4);
    if (!m->env.tx_busy) {
        ernic_tx_ready(m->e, m->env.now);
    }
    if (!vm_any(m, 200)) {
        fake_fail_dma(&m->env, vm_any(m, 20), false);
    }
    fake_advance(m->e, vm_any(m, 4) ? vm_any(m, 20000) : vm_any(m, 20000000));
    fake_fail_dma(&m->env, 0, false);
    fake_lose_trains(&m->env);
}

static void poll(Model *m)
{
    ernic_poll(m->e, m->env.now, vm_any(m, 2));
    ernic_pages_hold(m->e, m->env.now, !vm_any(m, 4));
    if (vm_any(m, 2)) {
        ernic_pages_rung(m->e, m->env.now);
    }
}

static void receive(Model *m)
{
    uint8_t frame[1600] = { vm_any(m, 4), vm_any(m, 256), [12] = 8 };

    ernic_rx_raw(m->e, m->env.now, frame, 14 + vm_any(m, 1500));
}

typedef struct Act {
    void (*act)(Model *m);
    uint32_t weight;
} Act;

static void do_any(Model *m, const Act *acts, uint32_t num)
{
    uint32_t sum = 0, i, at;

    for (i = 0; i < num; i++) {
        sum += acts[i].weight;
    }
    at = vm_any(m, sum);
    for (i = 0; at >= acts[i].weight; i++) {
        at -= acts[i].weight;
    }
    acts[i].act(m);
}

static const Act acts[] = {
    { post_any, 2000 }, { pass, 500 }, { consume, 800 }, { receive, 100 }, { poll, 50 },
    { vm_free_some, 200 },
    { vm_make, 400 }, { vm_destroy, 60 }, { vm_destroy_many, 1 }, { vm_end_context, 4 },
    { change_any, 900 }, { answer_fault, 200 },
};

/* No other command. */
static void meanwhile(Model *m)
{
    do_any(m, acts, 6);
}

TEST("/verbs-any-order", test_any_order)
{
    Model m;

    vm_open(&m, 7, meanwhile);
    for (uint32_t i = 1; i <= STEPS; i++) {
        do_any(&m, acts, ARRAY_SIZE(acts));
        vm_look_at_all(&m, NULL);
        ernic_slice(m.e);
        if (i % CHECK == 0) {
            fake_check(m.e);
        }
        if (i % TAKE_OVER == 0) {
            fake_take_over(&m.e);
        }
        if (i % LIFE == 0) {
            vm_next_life(&m);
        }
    }
    vm_close(&m);
    vm_report(&m);
}
