/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands that make objects of any kind.
 */
#include "qemu/osdep.h"
#include "verbs_model.h"

static void make_uctx(Model *m, Plan *p)
{
    p->cmd.opcode = ERNIC_CMD_UCTX_ALLOC;
    p->missing |= p->thing.uctx;
}

static void make_counter(Model *m, Plan *p)
{
    p->cmd.opcode = ERNIC_CMD_COUNTER_ALLOC;
    p->missing |= p->thing.uctx;
}

static void need_uctx(Plan *p)
{
    if (p->thing.uctx) {
        vm_add_need(p, UCTXS, p->thing.uctx);
    }
}

static void make_pd(Model *m, Plan *p)
{
    p->cmd.opcode = ERNIC_CMD_PD_ALLOC;
    need_uctx(p);
}

static void make_eq(Model *m, Plan *p)
{
    struct ernic_cmd_eq_create *c = &p->cmd.eq_create;

    p->cmd.opcode = ERNIC_CMD_EQ_CREATE;
    p->missing |= p->thing.uctx;
    c->buf = vm_desc(m, p->slot, 0);
    c->depth = cpu_to_le32(2 << vm_any(m, 5));
    c->vector = cpu_to_le16(vm_any(m, 8));
    c->async = !vm_any(m, 2);
}

static void make_cq(Model *m, Plan *p)
{
    struct ernic_cmd_cq_create *c = &p->cmd.cq_create;
    bool own = vm_any(m, 4);

    p->cmd.opcode = ERNIC_CMD_CQ_CREATE;
    need_uctx(p);
    c->buf = vm_desc(m, p->slot, 0);
    c->depth = cpu_to_le32(vm_any(m, 4) ? 64 : 2 << vm_any(m, 5));
    c->eq = cpu_to_le32(own ? vm_need(m, p, EQS, 0) : FAKE_NONE);
    c->ci_addr = cpu_to_le64(vm_any(m, 2) ? vm_record_of(m, p->slot, 0) : 0);
    fake_put64(&m->env, vm_record_of(m, p->slot, 0), 0);
}

static void make_srq(Model *m, Plan *p)
{
    struct ernic_cmd_srq *c = &p->cmd.srq;
    uint32_t xrcd = vm_any(m, 2) ? vm_number_of(m, PDS, 0) : 0;

    p->cmd.opcode = ERNIC_CMD_SRQ_CREATE;
    c->buf = vm_desc(m, p->slot, 1);
    c->pd = cpu_to_le32(vm_need(m, p, PDS, p->thing.uctx));
    c->depth = cpu_to_le32(DEPTH);
    c->stride = cpu_to_le16(RECV_SLOT / 64);
    c->limit = cpu_to_le32(vm_any(m, DEPTH + 2));
    if (xrcd) {
        c->xrcd = cpu_to_le32(vm_need_number(m, p, PDS, xrcd, 0));
        c->cq = cpu_to_le32(vm_need(m, p, CQS, p->thing.uctx));
    }
    c->record = cpu_to_le64(vm_make_record(m, p->slot, 1));
}

/* The memory of a region: any rights, of bytes that others have as well. */
void vm_say_region(Model *m, Plan *p)
{
    struct ernic_cmd_mr_reg *c = &p->cmd.mr_reg;
    uint64_t at = m->data + vm_any(m, DATA);

    c->buf = vm_desc(m, p->slot, 1);
    if (!c->buf.levels) {
        c->buf.addr = cpu_to_le64(at);
    }
    c->iova = cpu_to_le64(at);
    c->length = cpu_to_le64(vm_any(m, 16 * PAGE));
}

static void make_mr(Model *m, Plan *p)
{
    struct ernic_cmd_mr_reg *c = &p->cmd.mr_reg;
    uint32_t access = vm_any(m, 8) ? 0x11f : vm_any(m, 64);
    uint32_t pd = vm_need(m, p, PDS, p->thing.uctx);

    p->cmd.opcode = ERNIC_CMD_MR_REG;
    if (!vm_any(m, 4)) {
        p->cmd.opcode = ERNIC_CMD_MR_ALLOC;
        p->cmd.mr_alloc.pd = cpu_to_le32(pd);
        p->cmd.mr_alloc.max_pages = cpu_to_le32(vm_any(m, 64));
        return;
    }
    vm_say_region(m, p);
    if (vm_any(m, 2)) {
        c->buf = (struct ernic_buf_desc) { .page_shift = 12 };
        c->offset = cpu_to_le32(le64_to_cpu(c->iova) % PAGE);
        c->length = cpu_to_le64(vm_any(m, 2) ? 16 * PAGE : 1ull << (12 + vm_any(m, 40)));
        access |= ERNIC_ACCESS_ON_DEMAND;
    }
    c->pd = cpu_to_le32(pd);
    c->access = cpu_to_le32(access);
}

static void make_mw(Model *m, Plan *p)
{
    p->cmd.opcode = ERNIC_CMD_MW_ALLOC;
    p->cmd.mw_alloc.pd = cpu_to_le32(vm_need(m, p, PDS, p->thing.uctx));
    p->cmd.mw_alloc.type = vm_any(m, 40) ? 1 + vm_any(m, 2) : vm_any(m, 4);
}

static void make_qp(Model *m, Plan *p)
{
    static const uint8_t often[] = { ERNIC_QPT_RC, ERNIC_QPT_RC, ERNIC_QPT_XRC_INI,
                                     ERNIC_QPT_XRC_TGT, ERNIC_QPT_UD };
    struct ernic_qp_init *q = &p->data.qp;
    uint8_t type = vm_any(m, 2) ? often[vm_any(m, ARRAY_SIZE(often))] :
                                  vm_any(m, ERNIC_QPT_COUNT);
    bool target = type == ERNIC_QPT_XRC_TGT, sends = !target && type != ERNIC_QPT_RWQ;
    bool srq = sends && type != ERNIC_QPT_XRC_INI && vm_any(m, 2);
    bool recvs = !target && type != ERNIC_QPT_XRC_INI;

    p->cmd.opcode = ERNIC_CMD_QP_CREATE;
    p->len = sizeof(*q);
    p->thing.type = q->type = type;
    p->missing |= target && p->thing.uctx;
    q->pd = cpu_to_le32(vm_need(m, p, PDS, p->thing.uctx));
    q->srq = cpu_to_le32(srq ? vm_need(m, p, SRQS, p->thing.uctx) : FAKE_NONE);
    if (sends) {
        q->send_cq = cpu_to_le32(vm_need(m, p, CQS, p->thing.uctx));
        q->flags = vm_any(m, 2);
        q->sq_buf = vm_desc(m, p->slot, 0);
        q->sq_depth = cpu_to_le32(DEPTH);
        q->sq_stride = SEND_SLOT / 64;
        q->sq_record = cpu_to_le64(vm_make_record(m, p->slot, 0));
    }
    if (recvs) {
        q->recv_cq = cpu_to_le32(vm_need(m, p, CQS, p->thing.uctx));
    }
    if (recvs && !srq) {
        q->rq_buf = vm_desc(m, p->slot, 1);
        q->rq_depth = cpu_to_le32(DEPTH);
        q->rq_stride = RECV_SLOT / 64;
        q->rq_record = cpu_to_le64(vm_make_record(m, p->slot, 1));
    }
}

static void make_rss(Model *m, Plan *p)
{
    struct ernic_rss *r = &p->data.rss;

    p->cmd.opcode = ERNIC_CMD_RSS_CREATE;
    p->len = sizeof(*r);
    r->fields = cpu_to_le32(ERNIC_HASH_FIELDS);
    r->shift = vm_any(m, 3);
    for (uint32_t i = 0; i < 1u << r->shift; i++) {
        const Thing *t = NULL;

        for (uint32_t n = 0; n < 20 && !(t && t->type == ERNIC_QPT_RWQ); n++) {
            t = vm_any_of(m, QPS);
        }
        p->missing |= !t || t->type != ERNIC_QPT_RWQ || t->uctx != p->thing.uctx;
        r->wq[i] = cpu_to_le32(t ? t->ref.number : 0);
        vm_add_need(p, QPS, t ? t->ref.number : 0);
    }
}

static void make_flow(Model *m, Plan *p)
{
    struct ernic_flow_rule *r = &p->data.flow;
    uint32_t number = vm_number_of(m, vm_any(m, 2) ? QPS : RSSES, p->thing.uctx);
    Kind kind = number < ERNIC_RSS_QPN ? QPS : RSSES;
    const Thing *t = vm_find(m, (Ref) { kind, number });

    p->cmd.opcode = ERNIC_CMD_FLOW_CREATE;
    p->len = sizeof(*r);
    p->missing |= !t || t->uctx != p->thing.uctx ||
                  (kind == QPS && t->type != ERNIC_QPT_RAW);
    p->thing.target = (Ref) { kind, number };
    r->qpn = cpu_to_le32(number);
    r->priority = cpu_to_le16(vm_any(m, 3));
    r->mask.dmac[0] = vm_any(m, 2);
}

const VmKind vm_kinds[KINDS] = {
    [UCTXS] = { "context", ERNIC_CMD_UCTX_FREE, make_uctx, 4, 2 },
    [PDS] = { "pd", ERNIC_CMD_PD_FREE, make_pd, 3, 4 },
    [EQS] = { "eq", ERNIC_CMD_EQ_DESTROY, make_eq, 3, 6 },
    [CQS] = { "cq", ERNIC_CMD_CQ_DESTROY, make_cq, 6, 12 },
    [SRQS] = { "srq", ERNIC_CMD_SRQ_DESTROY, make_srq, 5, 8 },
    [MRS] = { "mr", ERNIC_CMD_MR_FREE, make_mr, 8, 20 },
    [MWS] = { "mw", ERNIC_CMD_MW_FREE, make_mw, 4, 12 },
    [QPS] = { "qp", ERNIC_CMD_QP_DESTROY, make_qp, 20, 24 },
    [RSSES] = { "rss", ERNIC_CMD_RSS_DESTROY, make_rss, 3, 4 },
    [FLOWS] = { "flow", ERNIC_CMD_FLOW_DESTROY, make_flow, 5, 8 },
    [COUNTERS] = { "counter", ERNIC_CMD_COUNTER_FREE, make_counter, 1, 4 },
};

static uint32_t count(const Model *m, Kind kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < THINGS; i++) {
        n += m->thing[i].used && m->thing[i].ref.kind == kind;
    }
    return n;
}

static uint32_t weight_of(const Model *m, Kind kind)
{
    return count(m, kind) < vm_kinds[kind].most ? vm_kinds[kind].weight : 0;
}

uint32_t vm_any_uctx(Model *m)
{
    return vm_any(m, 3) ? 0 : vm_any(m, 40) ? vm_number_of(m, UCTXS, 0) :
                                              vm_any(m, 1 << 30);
}

static void make_one(Model *m, Kind kind)
{
    uint32_t slot = 0, handle;
    Plan p = vm_plan(m, 0, kind == UCTXS || kind == EQS || kind == COUNTERS ?
                        (vm_any(m, 20) ? 0 : vm_any_uctx(m)) : vm_any_uctx(m));

    while (m->thing[slot].used) {
        g_assert_cmpuint(++slot, <, THINGS);
    }
    p.slot = slot;
    vm_kinds[kind].make(m, &p);
    if (!vm_ask(m, &p, &handle)) {
        p.thing.used = true;
        p.thing.ref = (Ref) { kind, vm_is_key(kind) ? handle >> 8 : handle };
        g_assert_null(vm_find(m, p.thing.ref));
        m->thing[slot] = p.thing;
        m->made[kind]++;
        if (vm_is_key(kind)) {
            g_assert_cmpuint(handle, !=, m->keys[handle >> 8]);
        }
    }
}

void vm_make(Model *m)
{
    uint32_t sum = 0, kind, at;

    for (kind = 0; kind < KINDS; kind++) {
        sum += weight_of(m, kind);
    }
    at = sum ? vm_any(m, sum) : 0;
    for (kind = 0; sum && at >= weight_of(m, kind); kind++) {
        at -= weight_of(m, kind);
    }
    if (sum) {
        make_one(m, kind);
    }
}
