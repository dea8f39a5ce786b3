/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects that are made and destroyed in any order, and the model of who needs whom.
 */
#include "qemu/osdep.h"
#include "deferred.h"
#include "hand_profile.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/job.h"
#include "objects/mr.h"
#include "objects/qp.h"
#include "test.h"
#include "verbs_model.h"

uint32_t vm_any(Model *m, uint32_t most)
{
    return g_rand_int_range(m->rand, 0, most);
}

/* ---- environment ------------------------------------------------------------------- */

static Model *model_of(void *env)
{
    return container_of((FakeEnv *)env, Model, env);
}

static void page_event(void *env, uint32_t page, bool on)
{
    model_of(env)->event[page] += on ? 1 : -1;
}

static void free_later(void *env, ErnicDeferred *d)
{
    g_queue_push_tail(&model_of(env)->freed, d);
}

static bool freeing(void *env)
{
    return !g_queue_is_empty(&model_of(env)->freed);
}

void vm_free_some(Model *m)
{
    ErnicDeferred *d = g_queue_pop_head(&m->freed);

    if (d) {
        ernic_deferred_free(d);
    }
}

/* Time that does not pass. */
static uint64_t still(void)
{
    return 1;
}

/* ---- who needs whom ---------------------------------------------------------------- */

Thing *vm_find(Model *m, Ref ref)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        Thing *t = &m->thing[i];

        if (t->used && t->ref.kind == ref.kind && t->ref.number == ref.number) {
            return t;
        }
    }
    return NULL;
}

/* One of a kind, or of any kind if that is KINDS; NULL: there is none. */
Thing *vm_any_of(Model *m, Kind kind)
{
    uint32_t from = vm_any(m, THINGS);

    for (uint32_t i = 0; i < THINGS; i++) {
        Thing *t = &m->thing[(from + i) % THINGS];

        if (t->used && (kind == KINDS || t->ref.kind == kind)) {
            return t;
        }
    }
    return NULL;
}

/* Whether the engine itself has made another object hold it: by requests, or a bind. */
static bool is_held(const Ernic *e, const Thing *t)
{
    for (uint32_t i = 1; t->ref.kind == MRS && i < e->mr_ids.fresh; i++) {
        if (e->mr[i].valid && e->mr[i].region == t->ref.number) {
            return true;
        }
    }
    for (uint32_t i = 1; t->ref.kind == COUNTERS && i < e->cfg.max_qp; i++) {
        if (e->qp[i].used && e->qp[i].counter == t->ref.number) {
            return true;
        }
    }
    return false;
}

static bool needs(const Thing *t, Ref ref)
{
    for (uint32_t k = 0; k < t->needs; k++) {
        if (t->need[k].kind == ref.kind && t->need[k].number == ref.number) {
            return true;
        }
    }
    return false;
}

static bool is_needed(const Model *m, const Thing *of)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        if (m->thing[i].used && needs(&m->thing[i], of->ref)) {
            return true;
        }
    }
    return is_held(m->e, of);
}

/* A number of a kind, mostly of an object of context @uctx. */
uint32_t vm_number_of(Model *m, Kind kind, uint32_t uctx)
{
    static const uint32_t wrong[] = { 0, 1, 2, 63, 64, 0x800000, 0x800041, 0xffffff };
    Thing *t = NULL;

    for (uint32_t i = 0; i < 12 && !(t && t->uctx == uctx); i++) {
        t = vm_any_of(m, kind);
    }
    return t && vm_any(m, 20) ? t->ref.number : wrong[vm_any(m, ARRAY_SIZE(wrong))];
}

void vm_add_need(Plan *p, Kind kind, uint32_t number)
{
    g_assert_cmpuint(p->thing.needs, <, NEEDS);
    p->thing.need[p->thing.needs++] = (Ref) { kind, number };
}

/* The command names object @number of @kind, which has to be one of context @uctx. */
uint32_t vm_need_number(Model *m, Plan *p, Kind kind, uint32_t number, uint32_t uctx)
{
    const Thing *t = vm_find(m, (Ref) { kind, number });

    p->missing |= !t || t->uctx != uctx;
    vm_add_need(p, kind, number);
    return number;
}

uint32_t vm_need(Model *m, Plan *p, Kind kind, uint32_t uctx)
{
    return vm_need_number(m, p, kind, vm_number_of(m, kind, uctx), uctx);
}

/* ---- commands ---------------------------------------------------------------------- */

/* In slices of any length, between which the engine goes on. */
uint8_t vm_ask(Model *m, Plan *p, uint32_t *handle)
{
    struct ernic_rsp rsp;
    bool read = false;

    if (p->len) {
        memcpy(fake_ptr(&m->env, m->scratch, p->len), &p->data, p->len);
        p->cmd.qp.addr = cpu_to_le64(m->scratch);
        p->cmd.qp.length = cpu_to_le32(p->len);
    }
    p->cmd.uctx = cpu_to_le32(p->thing.uctx);
    for (;;) {
        ernic_slice_of(m->e, vm_any(m, 4) ? 1 + vm_any(m, 12) : 2048);
        if (ernic_cmd(m->e, m->env.now, &p->cmd, &rsp)) {
            break;
        }
        m->slices++;
        /* The data was read once. */
        if (m->e->job->fetched) {
            memset(fake_ptr(&m->env, m->scratch, 512), 0xff, 512);
            read = true;
        }
        m->meanwhile(m);
    }
    ernic_slice(m->e);
    g_assert_false(read && rsp.status == ERNIC_ERR_RESERVED);
    *handle = le32_to_cpu(rsp.handle);
    if (!rsp.status && p->missing) {
        g_error("command %u succeeded with a missing object", p->cmd.opcode);
    }
    return rsp.status;
}

Plan vm_plan(Model *m, uint8_t opcode, uint32_t uctx)
{
    Plan p = { .slot = 0, .thing = { .uctx = uctx } };

    p.cmd.opcode = opcode;
    p.missing = uctx && !vm_find(m, (Ref) { UCTXS, uctx });
    return p;
}

/* A plan to change @t, which keeps its needs, mostly in its own context. */
Plan vm_change(Model *m, uint8_t opcode, Thing *t)
{
    Plan p = vm_plan(m, opcode, t->uctx);

    p.slot = t - m->thing;
    p.thing = *t;
    if (!vm_any(m, 40)) {
        p.thing.uctx = vm_any(m, 9);
        p.missing = p.thing.uctx != t->uctx;
    }
    return p;
}

bool vm_do_change(Model *m, Thing *t, Plan *p)
{
    uint32_t unused, uctx = t->uctx;
    uint8_t status = vm_ask(m, p, &unused);

    if (!status) {
        memcpy(t->need, p->thing.need, sizeof(t->need));
        t->needs = p->thing.needs;
        IS(p->thing.uctx, uctx);
    }
    return !status;
}

uint64_t vm_ring_of(const Model *m, uint32_t slot, uint32_t ring)
{
    return m->lists + (slot * 2 + ring) * LISTS;
}

uint64_t vm_record_of(const Model *m, uint32_t slot, uint32_t n)
{
    return m->records + slot * 32 + n * 8;
}

/* The ring, as an extent or list; rarely of too few, unaligned or unreadable pages. */
struct ernic_buf_desc vm_desc(Model *m, uint32_t slot, uint32_t ring)
{
    uint64_t at = vm_ring_of(m, slot, ring);
    struct ernic_buf_desc d = { .addr = cpu_to_le64(at) };
    uint32_t levels = vm_any(m, 3), n = 1 + vm_any(m, vm_any(m, 60) ? 4 * LEAF : LONG);

    memset(fake_ptr(&m->env, at, PAGE), 0, PAGE);
    if (levels) {
        d.addr = cpu_to_le64(at + (levels == 2 ? 3 * PAGE : PAGE));
        d.npages = cpu_to_le32(levels == 2 ? n : 1 + n % (2 * LEAF));
        d.page_shift = vm_any(m, 50) ? 12 : vm_any(m, 40);
        d.levels = levels;
    }
    if (!vm_any(m, 100)) {
        d.addr = cpu_to_le64(m->env.base + (vm_any(m, FAKE_MEM_SIZE + PAGE) & ~63u));
    }
    return d;
}

uint64_t vm_make_record(Model *m, uint32_t slot, uint32_t n)
{
    uint64_t at = vm_record_of(m, slot, n);

    fake_put64(&m->env, at, 0);
    return m->timed || vm_any(m, 2) ? 0 :
           vm_any(m, 100) ? at : m->env.base + vm_any(m, 1 << 30);
}

/* ---- entries of queues ------------------------------------------------------------- */

/* Software knows the object, or has just destroyed it: @gone. */
static void must_exist(Model *m, Kind kind, uint32_t number, const Thing *gone)
{
    Ref ref = { kind, number };

    if (!vm_find(m, ref) &&
        !(gone && gone->ref.kind == kind && gone->ref.number == number)) {
        g_error("an entry names %s %u, which is gone", vm_kinds[kind].name, number);
    }
}

static void look_at_event(Model *m, const struct ernic_eqe *eqe, const Thing *gone)
{
    static const uint8_t of_bell[] = { QPS, QPS, SRQS, CQS, CQS, CQS };
    Kind kind = eqe->type == ERNIC_EV_COMPLETION || eqe->type == ERNIC_EV_CQ_ERR ? CQS :
                eqe->type == ERNIC_EV_SRQ_ERR || eqe->type == ERNIC_EV_SRQ_LIMIT ? SRQS :
                eqe->type == ERNIC_EV_BAD_DOORBELL ? of_bell[le32_to_cpu(eqe->detail)] :
                QPS;
    bool port = eqe->type == ERNIC_EV_PORT_ACTIVE || eqe->type == ERNIC_EV_PORT_ERR ||
                eqe->type == ERNIC_EV_GID_CHANGE;

    if (!port) {
        must_exist(m, kind, le32_to_cpu(eqe->element), gone);
    }
}

/* A completion is of a queue pair whose queue this is, or (XRC) whose SRQ's. */
static void look_at_cqe(Model *m, Thing *cq, const struct ernic_cqe *cqe,
                        const Thing *gone)
{
    Ref ref = { QPS, le32_to_cpu(cqe->qpn) };
    const Thing *qp = vm_find(m, ref);

    must_exist(m, QPS, ref.number, gone);
    if (cqe->flags & ERNIC_CQE_XRC) {
        must_exist(m, SRQS, le32_to_cpu(cqe->src_qp), gone);
    } else if (qp) {
        g_assert_true(needs(qp, cq->ref));
    }
}

/* All entries that are new, of a queue with the ring @buf and entries up to @pi. */
static void look(Model *m, Thing *t, const ErnicBuf *buf, uint32_t pi, uint32_t depth,
                 const Thing *gone)
{
    bool cq = t->ref.kind == CQS;
    uint32_t size = cq ? sizeof(struct ernic_cqe) : sizeof(struct ernic_eqe);
    uint64_t run;

    if (pi - t->seen > depth) {
        t->seen = pi - depth;
    }
    for (; t->seen != pi; t->seen++) {
        void *at = fake_ptr(&m->env, ernic_buf_addr(buf, t->seen % depth * size, &run),
                            size);

        if (cq) {
            look_at_cqe(m, t, at, gone);
        } else {
            look_at_event(m, at, gone);
        }
    }
}

void vm_look_at_all(Model *m, const Thing *gone)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        Thing *t = &m->thing[i];
        const ErnicCq *cq = &m->e->cq[t->used && t->ref.kind == CQS ? t->ref.number : 0];
        const ErnicEq *eq = &m->e->eq[t->used && t->ref.kind == EQS ? t->ref.number : 0];

        if (cq->used) {
            look(m, t, &cq->buf, cq->pi, cq->depth, gone);
        } else if (eq->used) {
            look(m, t, &eq->buf, eq->pi, eq->depth, gone);
        }
    }
    for (uint32_t i = 1; i < ERNIC_DB_PAGES; i++) {
        g_assert_true(!m->event[i] || vm_find(m, (Ref) { UCTXS, i }));
    }
}

/* ---- destruction ------------------------------------------------------------------- */

/* The object is busy exactly as long as another one needs it. */
static void destroy_one(Model *m, Thing *t, bool own)
{
    Kind kind = t->ref.kind;
    bool kernel = kind == UCTXS || kind == EQS || kind == COUNTERS, needed;
    Plan p = vm_plan(m, vm_kinds[kind].destroy, own ? t->uctx : vm_any(m, 9));
    uint32_t number = t->ref.number, key = 0, unused;
    Thing was = *t;
    uint8_t status;

    if (vm_is_key(kind)) {
        key = number << 8 | m->e->mr[number].variant;
    }
    vm_look_at_all(m, NULL);
    own = p.thing.uctx == (kernel ? 0 : t->uctx);
    p.missing = !own;
    p.cmd.handle.handle = cpu_to_le32(vm_is_key(kind) ? number << 8 | vm_any(m, 256) :
                                                        number);
    status = vm_ask(m, &p, &unused);
    if (vm_is_key(kind)) {
        m->keys[number] = key;
    }
    /* Requests may have bound windows before the command, or between its slices. */
    needed = is_needed(m, t);
    if (own) {
        if (status != (needed ? ERNIC_ERR_BUSY : ERNIC_OK)) {
            g_error("status %u of the end of %s %u", status, vm_kinds[kind].name, number);
        }
        m->gone[kind] += !needed;
        m->busy[kind] += needed;
        t->used = needed;
    }
    vm_look_at_all(m, &was);
    for (uint32_t i = 0; own && !needed && i < THINGS; i++) {
        Thing *flow = &m->thing[i];

        flow->used &= flow->ref.kind != FLOWS || flow->target.kind != kind ||
                      flow->target.number != number;
    }
}

void vm_destroy(Model *m)
{
    Kind kind = vm_any(m, KINDS);
    uint32_t number = vm_number_of(m, kind, 0), unused;
    Thing *t = vm_any(m, 8) ? vm_any_of(m, KINDS) : NULL;

    if (t) {
        destroy_one(m, t, vm_any(m, 8));
    } else if (!vm_find(m, (Ref) { kind, number })) {
        Plan p = vm_plan(m, vm_kinds[kind].destroy, vm_any(m, 3));

        p.missing = true;
        p.cmd.handle.handle = cpu_to_le32(vm_is_key(kind) ? number << 8 : number);
        vm_ask(m, &p, &unused);
    }
}

void vm_destroy_many(Model *m)
{
    for (uint32_t i = 0; i < 2 * THINGS; i++) {
        Thing *t = &m->thing[i % THINGS];

        if (t->used && vm_any(m, 2)) {
            destroy_one(m, t, true);
        }
    }
}

/* A process ends: its objects in any order, then its context. */
void vm_end_context(Model *m)
{
    Thing *uctx = vm_any_of(m, UCTXS);

    for (uint32_t i = 0; uctx && i < 8 * THINGS; i++) {
        Thing *t = &m->thing[i % THINGS];

        if (t->used && t->uctx == uctx->ref.number && vm_any(m, 2)) {
            destroy_one(m, t, true);
        }
    }
    if (uctx) {
        destroy_one(m, uctx, true);
    }
}

static void destroy_all(Model *m)
{
    for (bool more = true; more; ) {
        more = false;
        for (uint32_t i = 0; i < THINGS; i++) {
            if (m->thing[i].used && !is_needed(m, &m->thing[i])) {
                destroy_one(m, &m->thing[i], true);
                more = true;
            }
        }
    }
    IS(vm_any_of(m, KINDS) != NULL, false);
}

/* ---- life -------------------------------------------------------------------------- */

static void count_stats(Model *m)
{
    m->faults += m->e->stats.page_faults;
    m->packets += m->e->stats.tx_packets;
    m->completions += m->e->stats.completions;
    m->events += m->e->stats.events;
}

static void begin(Model *m)
{
    memset(m->thing, 0, sizeof(m->thing));
    memset(m->keys, 0, sizeof(m->keys));
    ernic_set_link(m->e, m->env.now, true);
    while (freeing(&m->env)) {
        vm_free_some(m);
    }
    fake_set_gid(m->e, 0, 1);
    m->memory = m->e->mem.used;
}

static void new_engine(Model *m)
{
    static ErnicEnvOps ops;
    ErnicConfig cfg;

    ops = fake_env_ops;
    ops.page_event = page_event;
    ops.free_later = free_later;
    ops.freeing = freeing;
    fake_config(&cfg);
    /* Few numbers, so that they are used again. */
    cfg.max_qp = 40;
    cfg.max_cq = 20;
    cfg.max_srq = 12;
    cfg.max_mr = 48;
    cfg.max_pd = 10;
    cfg.max_uctx = 4;
    cfg.clock = still;
    cfg.timing = m->timed ? &hand : NULL;
    m->e = ernic_new(&cfg, &ops, &m->env);
}

void vm_next_life(Model *m)
{
    count_stats(m);
    if (vm_any(m, 2)) {
        ernic_reset(m->e);
    } else {
        ernic_free(m->e);
        m->timed = !m->timed;
        new_engine(m);
    }
    begin(m);
}

/* Pages of the lists: the ring, then one that all others share. */
static void write_lists(Model *m)
{
    uint64_t spare = fake_alloc(&m->env, PAGE, PAGE);

    for (uint32_t i = 0; i < 2 * THINGS; i++) {
        uint64_t at = m->lists + i * LISTS;

        for (uint32_t k = 0; k < 2 * LEAF; k++) {
            fake_put64(&m->env, at + PAGE + k * 8, k ? spare : at);
        }
        for (uint32_t k = 0; k < LEAF; k++) {
            fake_put64(&m->env, at + 3 * PAGE + k * 8, at + (k ? 2 : 1) * PAGE);
        }
    }
}

void vm_open(Model *m, uint32_t seed, void (*meanwhile)(Model *m))
{
    memset(m, 0, sizeof(*m));
    m->rand = g_rand_new_with_seed(seed);
    g_queue_init(&m->freed);
    fake_env_init(&m->env);
    m->lists = fake_alloc(&m->env, 2 * THINGS * LISTS, PAGE);
    m->records = fake_alloc(&m->env, THINGS * 32, PAGE);
    m->data = fake_alloc(&m->env, DATA + 32 * PAGE, PAGE);
    m->scratch = fake_alloc(&m->env, 2 * PAGE, PAGE);
    write_lists(m);
    m->meanwhile = meanwhile;
    new_engine(m);
    begin(m);
}

void vm_close(Model *m)
{
    fake_fail_dma(&m->env, 0, false);
    destroy_all(m);
    fake_run(m->e);
    IS(m->e->mem.used, m->memory);
    IS(m->e->num_pages, 0);
    count_stats(m);
    fake_check(m->e);
    ernic_free(m->e);
    while (freeing(&m->env)) {
        vm_free_some(m);
    }
    fake_env_fini(&m->env);
    g_rand_free(m->rand);
}


void vm_report(const Model *m)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        g_test_message("%s: %u made, %u destroyed, %u busy", vm_kinds[i].name, m->made[i],
                       m->gone[i], m->busy[i]);
        g_assert_cmpuint(m->made[i], >, 50);
        g_assert_cmpuint(m->gone[i], >, 50);
    }
    g_test_message("%u slices, %" PRIu64 " page faults, %" PRIu64 " packets, %" PRIu64
                   " completions, %" PRIu64 " events", m->slices, m->faults, m->packets,
                   m->completions, m->events);
    g_assert_cmpuint(m->slices, >, 1000);
    g_assert_cmpuint(m->faults, >, 500);
    g_assert_cmpuint(m->packets, >, 5000);
    g_assert_cmpuint(m->completions, >, 3000);
    g_assert_cmpuint(m->events, >, 3000);
}
