/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects that are made and destroyed in any order, and the model of who needs whom.
 */
#include "qemu/osdep.h"
#include "mlx5_model.h"

uint32_t model_any(Model *m, uint32_t most)
{
    return g_rand_int_range(m->rand, 0, most);
}

uint64_t model_ring(const Model *m, uint32_t slot)
{
    return m->rings + slot * 4096;
}

uint64_t model_record(const Model *m, uint32_t slot)
{
    return m->records + slot * MODEL_RECORD;
}

/* ---- the model --------------------------------------------------------------------- */

ModelThing *model_find(Model *m, ModelKind kind, uint32_t number, uint32_t table)
{
    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        ModelThing *t = &m->thing[i];

        if (t->used && t->ref.kind == kind && t->ref.number == number &&
            t->table == table) {
            return t;
        }
    }
    return NULL;
}

ModelThing *model_any_of(Model *m, ModelKind kind)
{
    uint32_t from = model_any(m, MODEL_THINGS);

    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        ModelThing *t = &m->thing[(from + i) % MODEL_THINGS];

        if (t->used && t->ref.kind == kind) {
            return t;
        }
    }
    return NULL;
}

static ModelThing *any_thing(Model *m)
{
    uint32_t from = model_any(m, MODEL_THINGS), i = 0;

    while (i < MODEL_THINGS && !m->thing[(from + i) % MODEL_THINGS].used) {
        i++;
    }
    return i < MODEL_THINGS ? &m->thing[(from + i) % MODEL_THINGS] : NULL;
}

static bool is_needed(const Model *m, const ModelThing *of)
{
    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        const ModelThing *t = &m->thing[i];

        for (uint32_t k = 0; t->used && k < t->needs; k++) {
            if (t->need[k].kind == of->ref.kind &&
                t->need[k].number == of->ref.number) {
                return true;
            }
        }
    }
    return false;
}

uint32_t model_number_of(Model *m, ModelKind kind)
{
    static const uint32_t wrong[] = { 0, 1, 2, 5, 17, 0x8001, 0x9001, 0xffffff };
    const ModelThing *t = model_any(m, 10) ? model_any_of(m, kind) : NULL;
    uint32_t number = wrong[model_any(m, ARRAY_SIZE(wrong))];

    return t ? t->ref.number : kind == EQS || kind == COUNTERS ? number & 0xff : number;
}

/* The command says @path=NUMBER, of an object that has to exist. */
static uint32_t look(Model *m, ModelPlan *p, const char *path, ModelKind kind)
{
    uint32_t number = model_number_of(m, kind);

    SAY(p, "%s=%u\n", path, number);
    p->missing |= !model_find(m, kind, number, 0);
    return number;
}

static void add_need(ModelPlan *p, ModelKind kind, uint32_t number)
{
    g_assert_cmpuint(p->thing.needs, <, MODEL_NEEDS);
    p->thing.need[p->thing.needs++] = (ModelRef) { kind, number };
}

void model_need(Model *m, ModelPlan *p, const char *path, ModelKind kind)
{
    add_need(p, kind, look(m, p, path, kind));
}

/* ---- commands that make objects ---------------------------------------------------- */

void model_say_page(Model *m, ModelPlan *p)
{
    SAY(p, "pas[0]=%#" PRIx64 "\n", model_ring(m, p->slot));
}

static void say_wq(Model *m, ModelPlan *p, uint32_t log_stride)
{
    uint64_t ring = model_ring(m, p->slot);

    SAY(p, "ctx.wq.wq_type=1\nctx.wq.log_wq_sz=%u\nctx.wq.log_wq_stride=%u\n"
        "ctx.wq.dbr_addr=%#" PRIx64 "\nctx.wq.pas[0].pa_h=%#x\n"
        "ctx.wq.pas[0].pa_l=%#x\n", MODEL_LOG, log_stride, model_record(m, p->slot),
        (uint32_t)(ring >> 32), (uint32_t)ring >> 12);
}

/* A protection domain; @none: there need be none. Returns its number. */
static uint32_t say_pd(Model *m, ModelPlan *p, const char *path, bool none)
{
    uint32_t pd = none && !model_any(m, 2) ? 0 : model_number_of(m, PDS);

    SAY(p, "%s=%u\n", path, pd);
    if (pd) {
        add_need(p, PDS, pd);
    }
    p->missing |= !model_find(m, PDS, pd, 0) && !(none && !pd);
    return pd;
}

static void make_plain(Model *m, ModelPlan *p)
{
}

static void make_eq(Model *m, ModelPlan *p)
{
    static const uint32_t masks[] = { 0, 0x400, 0x1c0230, 0x1c0630 };

    look(m, p, "eq_context_entry.uar_page", UARS);
    SAY(p, "eq_context_entry.log_eq_size=%u\neq_context_entry.intr=%u\n"
        "event_bitmask[0]=%#x\n", 1 + model_any(m, 4), model_any(m, 8),
        masks[model_any(m, ARRAY_SIZE(masks))]);
    model_say_page(m, p);
}

static void make_cq(Model *m, ModelPlan *p)
{
    model_need(m, p, "cq_context.c_eqn_or_apu_element", EQS);
    look(m, p, "cq_context.uar_page", UARS);
    SAY(p, "cq_context.log_cq_size=%u\ncq_context.cqe_sz=%u\ncq_context.oi=%u\n"
        "cq_context.dbr_addr=%#" PRIx64 "\n", model_any(m, 5), model_any(m, 2),
        model_any(m, 2), model_record(m, p->slot));
    model_say_page(m, p);
}

#define REMOTE M "rr=1\n" M "rw=1\n" M "a=1\n"

static void make_mkey(Model *m, ModelPlan *p)
{
    static const char *const texts[] = {
        PA REMOTE, PA REMOTE, PA REMOTE, PA, MTT, FREE, KLM M "en_rinval=1\n",
    };

    SAY(p, "%s", texts[model_any(m, ARRAY_SIZE(texts))]);
    model_need(m, p, M "pd", PDS);
}

static void make_rmp(Model *m, ModelPlan *p)
{
    say_wq(m, p, 6);
    SAY(p, "ctx.wq.wq_type=0\nctx.state=1\n");
    model_need(m, p, "ctx.wq.pd", PDS);
}

#define SRQ "xrc_srq_context_entry."

static void make_srq(Model *m, ModelPlan *p)
{
    uint64_t record = model_record(m, p->slot);

    SAY(p, SRQ "log_xrc_srq_size=%u\n" SRQ "log_rq_stride=2\n"
        SRQ "db_record_addr_h=%#x\n" SRQ "db_record_addr_l=%#x\n", MODEL_LOG,
        (uint32_t)(record >> 32), (uint32_t)record >> 2);
    model_say_page(m, p);
    model_need(m, p, SRQ "pd", PDS);
    model_need(m, p, SRQ "xrcd", XRCDS);
    model_need(m, p, SRQ "cqn", CQS);
}

enum { RC, UC, UD, XRC, GSI = 8, UMR = 12 };

/* Objects that a queue pair of any type but XRC needs. */
static void say_own(Model *m, ModelPlan *p, uint32_t st)
{
    static const uint8_t rq_types[] = { 0, 1, 3 };
    uint32_t rq_type = rq_types[model_any(m, 3)];

    p->thing.homeless = !say_pd(m, p, "qpc.pd", st == UMR);
    model_need(m, p, "qpc.cqn_snd", CQS);
    model_need(m, p, "qpc.cqn_rcv", CQS);
    SAY(p, "qpc.rq_type=%u\n", rq_type);
    if (rq_type == 1) {
        model_need(m, p, "qpc.srqn_rmpn_xrqn", RMPS);
    }
}

static void make_qp(Model *m, ModelPlan *p)
{
    static const uint8_t types[] = { RC, RC, UC, UD, UD, XRC, GSI, UMR };
    uint32_t st = types[model_any(m, ARRAY_SIZE(types))];
    bool no_sq = !model_any(m, 4);

    SAY(p, "qpc.st=%u\nqpc.no_sq=%u\nqpc.log_sq_size=%u\nqpc.log_rq_size=%u\n"
        "qpc.log_rq_stride=2\nqpc.fre=1\nqpc.dbr_addr=%#" PRIx64 "\n", st, no_sq,
        MODEL_LOG, MODEL_LOG, model_record(m, p->slot));
    model_say_page(m, p);
    if (st != XRC) {
        say_own(m, p, st);
    } else if (no_sq) {
        model_need(m, p, "qpc.xrcd", XRCDS);
    } else {
        model_need(m, p, "qpc.pd", PDS);
        model_need(m, p, "qpc.cqn_snd", CQS);
    }
    if (!no_sq) {
        look(m, p, "qpc.uar_page", UARS);
    }
}

static void make_tis(Model *m, ModelPlan *p)
{
    model_need(m, p, "ctx.transport_domain", DOMAINS);
}

/* Both kinds of queues; without a domain they cannot access memory. */
static void say_queue(Model *m, ModelPlan *p, uint32_t log_stride)
{
    model_need(m, p, "ctx.cqn", CQS);
    say_wq(m, p, log_stride);
    SAY(p, "ctx.flush_in_error_en=%u\n", model_any(m, 2));
    say_pd(m, p, "ctx.wq.pd", true);
}

static void make_sq(Model *m, ModelPlan *p)
{
    say_queue(m, p, 6);
    SAY(p, "ctx.wq.uar_page=%u\n", model_number_of(m, UARS));
    if (model_any(m, 8)) {
        SAY(p, "ctx.tis_lst_sz=1\n");
        model_need(m, p, "ctx.tis_num_0", TISES);
    }
}

static void make_rq(Model *m, ModelPlan *p)
{
    say_queue(m, p, 6);
    SAY(p, "ctx.counter_set_id=%u\nctx.vsd=%u\n", model_any(m, 256), model_any(m, 2));
}

void model_say_list(Model *m, ModelPlan *p, const char *context)
{
    uint32_t num = 1 + model_any(m, 4);

    SAY(p, "%s.rqt_actual_size=%u\n", context, num);
    for (uint32_t i = 0; i < num; i++) {
        g_autofree char *path = g_strdup_printf("%s.rq_num[%u].rq_num", context, i);

        model_need(m, p, path, RQS);
    }
}

static void make_rqt(Model *m, ModelPlan *p)
{
    SAY(p, "rqt_context.rqt_max_size=4\n");
    model_say_list(m, p, "rqt_context");
}

static void make_tir(Model *m, ModelPlan *p)
{
    model_need(m, p, "ctx.transport_domain", DOMAINS);
    if (model_any(m, 2)) {
        model_need(m, p, "ctx.inline_rqn", RQS);
    } else {
        SAY(p, "ctx.disp_type=1\nctx.rx_hash_fn=%u\n", model_any(m, 3));
        model_need(m, p, "ctx.indirect_table", RQTS);
    }
    SAY(p, "ctx.rx_hash_field_selector_outer.selected_fields=3\n"
        "ctx.self_lb_block=%u\n", model_any(m, 4));
}

void model_say_miss(Model *m, ModelPlan *p)
{
    if (!model_any(m, 2)) {
        SAY(p, "flow_table_context.table_miss_action=1\n");
        model_need(m, p, "flow_table_context.table_miss_id", TABLES);
    }
}

static void make_table(Model *m, ModelPlan *p)
{
    SAY(p, "flow_table_context.level=%u\nflow_table_context.log_size=%u\n",
        model_any(m, 6), MODEL_LOG);
    model_say_miss(m, p);
}

static void make_group(Model *m, ModelPlan *p)
{
    model_need(m, p, "table_id", TABLES);
    p->thing.table = p->thing.need[0].number;
    p->thing.first = model_any(m, 4) * 4;
    SAY(p, "start_flow_index=%u\nend_flow_index=%u\n", p->thing.first,
        p->thing.first + 3);
    if (model_any(m, 2)) {
        SAY(p, "match_criteria_enable=1\n"
            "match_criteria.outer_headers.dmac_47_16=0xffffffff\n");
    }
}

void model_say_action(Model *m, ModelPlan *p)
{
    uint32_t num = model_any(m, 4), counts = model_any(m, 2), i;

    SAY(p, "flow_context.action=%u\nflow_context.destination_list_size=%u\n"
        "flow_context.flow_counter_list_size=%u\n", (num ? 4 : 2) | counts * 8,
        num, counts);
    for (i = 0; i < num; i++) {
        g_autofree char *at = g_strdup_printf("flow_context.destination[%u]."
                                              "destination_", i);
        g_autofree char *id = g_strdup_printf("%sid", at);
        bool table = !model_any(m, 3);

        SAY(p, "%stype=%u\n", at, table ? 1 : 2);
        model_need(m, p, id, table ? TABLES : TIRS);
    }
    if (counts) {
        /* A list of counters follows, of the same size. */
        g_autofree char *id = g_strdup_printf("flow_context.destination[%u]."
                                              "destination_id", num);

        model_need(m, p, id, FLOW_COUNTERS);
    }
}

static void make_entry(Model *m, ModelPlan *p)
{
    const ModelThing *group = model_any_of(m, GROUPS);
    uint32_t number = group ? group->ref.number : 1;
    uint32_t index = (group ? group->first : 0) + model_any(m, 4) + !model_any(m, 8);

    p->thing.table = group ? group->table : model_number_of(m, TABLES);
    p->missing |= !group;
    add_need(p, GROUPS, number);
    p->thing.ref.number = index;
    SAY(p, "table_id=%u\nflow_context.group_id=%u\nflow_index=%u\n"
        "flow_context.match_value.outer_headers.dmac_47_16=0x525400a%u\n",
        p->thing.table, number, index, model_any(m, 2));
    model_say_action(m, p);
}

static const struct {
    const char *name, *field;   /* field: of the command that destroys it */
    uint16_t create, destroy;
    void (*make)(Model *m, ModelPlan *p);
    uint32_t weight, most;      /* how often, and how many */
    uint8_t lives;              /* in which kinds of lives: bits */
} kinds[KINDS] = {
    [UARS] = { "uar", "uar", 0x802, 0x803, make_plain, 1, 8, BOTH },
    [EQS] = { "eq", "eq_number", 0x301, 0x302, make_eq, 4, 16, BOTH },
    [PDS] = { "pd", "pd", 0x800, 0x801, make_plain, 2, 2, BOTH },
    [XRCDS] = { "xrcd", "xrcd", 0x80e, 0x80f, make_plain, 2, 4, RDMA },
    [DOMAINS] = { "domain", "transport_domain", 0x816, 0x817, make_plain, 2, 2,
                  ETHERNET },
    [CQS] = { "cq", "cqn", 0x400, 0x401, make_cq, 6, 8, BOTH },
    [MKEYS] = { "mkey", "mkey_index", 0x200, 0x202, make_mkey, 4, 12, BOTH },
    [RMPS] = { "rmp", "rmpn", 0x90c, 0x90e, make_rmp, 3, 4, RDMA },
    [SRQS] = { "srq", "xrc_srqn", 0x705, 0x706, make_srq, 3, 4, RDMA },
    [QPS] = { "qp", "qpn", 0x500, 0x501, make_qp, 12, 8, RDMA },
    [COUNTERS] = { "counter", "counter_set_id", 0x771, 0x772, make_plain, 1, 4, RDMA },
    [TISES] = { "tis", "tisn", 0x912, 0x914, make_tis, 3, 8, ETHERNET },
    [SQS] = { "sq", "sqn", 0x904, 0x906, make_sq, 6, 6, ETHERNET },
    [RQS] = { "rq", "rqn", 0x908, 0x90a, make_rq, 8, 8, ETHERNET },
    [RQTS] = { "rqt", "rqtn", 0x916, 0x918, make_rqt, 6, 8, ETHERNET },
    [TIRS] = { "tir", "tirn", 0x900, 0x902, make_tir, 8, 12, ETHERNET },
    [TABLES] = { "table", "table_id", 0x930, 0x931, make_table, 8, 8, ETHERNET },
    [GROUPS] = { "group", "group_id", 0x933, 0x934, make_group, 8, 16, ETHERNET },
    [ENTRIES] = { "entry", "flow_index", 0x936, 0x938, make_entry, 16, 32, ETHERNET },
    [FLOW_COUNTERS] = { "flow counter", "flow_counter_id", 0x939, 0x93a, make_plain, 2,
                        4, ETHERNET },
};

/* The answer has the number, but that of an entry is in the command. */
static uint32_t number_in(const ModelPlan *p, ModelKind kind, const Mlx5Answer *a)
{
    return kind == ENTRIES ? p->thing.ref.number : ldl_be_p(a->out + 8) & 0xffffff;
}

static uint32_t count(const Model *m, ModelKind kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        n += m->thing[i].used && m->thing[i].ref.kind == kind;
    }
    return n;
}

static uint32_t free_slot(const Model *m)
{
    uint32_t i = 0;

    while (m->thing[i].used) {
        g_assert_cmpuint(++i, <, MODEL_THINGS);
    }
    return i;
}

void model_clear_record(Model *m, uint32_t slot)
{
    memset(fake_ptr(&m->f.env, model_record(m, slot), MODEL_RECORD), 0, MODEL_RECORD);
}

static void make_one(Model *m, ModelKind kind)
{
    ModelPlan p = { .text = g_string_new(""), .slot = free_slot(m) };
    Mlx5Answer a;

    model_clear_record(m, p.slot);
    kinds[kind].make(m, &p);
    mlx5_ask(m->f.e, kinds[kind].create, p.text->str, &a);
    if (!a.refusal) {
        g_assert_false(p.missing);
        p.thing.used = true;
        p.thing.ref = (ModelRef) { kind, number_in(&p, kind, &a) };
        g_assert_null(model_find(m, kind, p.thing.ref.number, p.thing.table));
        m->thing[p.slot] = p.thing;
        m->made[kind]++;
    }
    g_string_free(p.text, true);
}

/* Of the kinds of this life; none if there are many. */
static uint32_t weight_of(const Model *m, ModelKind kind)
{
    return kinds[kind].lives & m->life && count(m, kind) < kinds[kind].most ?
           kinds[kind].weight : 0;
}

void model_make(Model *m)
{
    uint32_t sum = 0, kind, at;

    for (kind = 0; kind < KINDS; kind++) {
        sum += weight_of(m, kind);
    }
    if (!sum) {
        return;
    }
    at = model_any(m, sum);
    for (kind = 0; at >= weight_of(m, kind); kind++) {
        at -= weight_of(m, kind);
    }
    make_one(m, kind);
}

/* ---- destruction ------------------------------------------------------------------- */

static char *name_of(ModelKind kind, uint32_t number, uint32_t table)
{
    return kind == GROUPS || kind == ENTRIES ?
           g_strdup_printf("%s=%u\ntable_id=%u\n", kinds[kind].field, number, table) :
           g_strdup_printf("%s=%u\n", kinds[kind].field, number);
}

/* The object is busy exactly as long as another one needs it. */
static void destroy_one(Model *m, ModelThing *t)
{
    g_autofree char *text = name_of(t->ref.kind, t->ref.number, t->table);
    bool needed = is_needed(m, t);
    Mlx5Answer a;

    mlx5_ask(m->f.e, kinds[t->ref.kind].destroy, text, &a);
    g_assert_cmpstr(ernic_mlx5_statuses[a.refusal].reason, ==,
                    ernic_mlx5_statuses[needed ? ERNIC_MLX5_BUSY :
                                                 ERNIC_MLX5_ACCEPTED].reason);
    m->gone[t->ref.kind] += !needed;
    m->busy[t->ref.kind] += needed;
    t->used = needed;
}

/* Most pages of doorbells stay: without its page, a queue does nothing. */
static bool stays(Model *m, const ModelThing *t)
{
    return t->ref.kind == UARS && model_any(m, 16);
}

void model_destroy(Model *m)
{
    ModelKind kind = model_any(m, KINDS);
    uint32_t number = model_number_of(m, kind);
    g_autofree char *text = name_of(kind, number, 0);
    ModelThing *t = model_any(m, 8) ? any_thing(m) : NULL;
    Mlx5Answer a;

    if (t && stays(m, t)) {
        return;
    }
    if (t) {
        destroy_one(m, t);
    } else if (!model_find(m, kind, number, 0)) {
        mlx5_ask(m->f.e, kinds[kind].destroy, text, &a);
        g_assert_cmpuint(a.refusal, !=, ERNIC_MLX5_ACCEPTED);
    }
}

void model_destroy_many(Model *m)
{
    for (uint32_t i = 0; i < 4 * MODEL_THINGS; i++) {
        ModelThing *t = &m->thing[i % MODEL_THINGS];

        if (t->used && model_any(m, 2) && !stays(m, t)) {
            destroy_one(m, t);
        }
    }
}

static void destroy_all(Model *m)
{
    bool more = true;

    while (more) {
        more = false;
        for (uint32_t i = 0; i < MODEL_THINGS; i++) {
            if (m->thing[i].used && !is_needed(m, &m->thing[i])) {
                destroy_one(m, &m->thing[i]);
                more = true;
            }
        }
    }
    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        g_assert_false(m->thing[i].used);
    }
}

/* ---- changes ----------------------------------------------------------------------- */

uint32_t model_slot(const Model *m, const ModelThing *t)
{
    return t - m->thing;
}

ModelPlan model_plan(const Model *m, const ModelThing *t, uint32_t keep)
{
    ModelPlan p = { .text = g_string_new(""), .slot = model_slot(m, t), .thing = *t };

    p.thing.needs = MIN(keep, t->needs);
    SAY(&p, "%s=%u\n", kinds[t->ref.kind].field, t->ref.number);
    return p;
}

bool model_change(Model *m, ModelThing *t, uint16_t opcode, ModelPlan *p)
{
    Mlx5Answer a;

    mlx5_ask(m->f.e, opcode, p->text->str, &a);
    if (!a.refusal) {
        g_assert_false(p->missing);
        memcpy(t->need, p->thing.need, sizeof(t->need));
        t->needs = p->thing.needs;
    }
    g_string_free(p->text, true);
    return !a.refusal;
}

/* ---- life -------------------------------------------------------------------------- */

/* The function is enabled, and has no objects. */
static void begin(Model *m)
{
    ModelThing *uar = &m->thing[free_slot(m)];

    IS(m->f.e->mem.used, m->memory);
    mlx5_accept(m->f.e, 0x102, "");
    *uar = (ModelThing) { .used = true, .ref = { UARS, mlx5_accept(m->f.e, 0x802, "") } };
    IS(uar->ref.number, 16);
    mlx5_accept(m->f.e, 0x761, GID);
}

void model_begin_life(Model *m)
{
    Ernic *e = m->f.e;

    if (model_any(m, 2)) {
        mlx5_accept(e, 0x103, "");
        fake_run(e);
    } else {
        /* The address of the commands of a new owner. */
        ernic_bar_write(e, m->f.env.now, 0x14, 4, 0);
        fake_run(e);
        mlx5_accept(e, 0x104, "");
    }
    memset(m->thing, 0, sizeof(m->thing));
    m->life = 1 + m->life % BOTH;
    begin(m);
}

void model_open(Model *m, uint32_t seed)
{
    memset(m, 0, sizeof(*m));
    m->rand = g_rand_new_with_seed(seed);
    m->life = BOTH;
    mlx5_boot(&m->f);
    mlx5_accept(m->f.e, 0x103, "");
    fake_run(m->f.e);
    ernic_set_link(m->f.e, m->f.env.now, true);
    m->memory = m->f.e->mem.used;
    m->rings = fake_alloc(&m->f.env, MODEL_THINGS * 4096, 4096);
    m->records = fake_alloc(&m->f.env, MODEL_THINGS * MODEL_RECORD, 4096);
    begin(m);
}

void model_close(Model *m)
{
    destroy_all(m);
    fake_run(m->f.e);
    IS(m->f.e->mem.used, m->memory);
    mlx5_finish(&m->f);
    g_rand_free(m->rand);
}

void model_report(const Model *m)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        g_test_message("%s: %u made, %u destroyed, %u busy", kinds[i].name, m->made[i],
                       m->gone[i], m->busy[i]);
        g_assert_cmpuint(m->made[i], >, 20);
        g_assert_cmpuint(m->gone[i], >, 20);
    }
}
