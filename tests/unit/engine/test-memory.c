/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of host memory: each kind of object is created until the device refuses,
 * and the account is compared with the bytes that the allocator has given out.
 */
#include "qemu/osdep.h"
#include <malloc.h>
#include "counted_pages.h"
#include "fake_verbs.h"
#include "memory_need.h"
#include "objects/mr.h"
#include "state/check.h"
#include "test.h"

#define QPS     64
#define EQS     8
#define MRS     (ERNIC_MAX_PAGES / ERNIC_MAX_FRWR_PAGES + 8)
#define ACCESS  (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)
/* Where lists of pages of on-demand regions are; used again each time. */
#define LISTS   (FAKE_MEM_SIZE / 2)

typedef struct Rig {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
    FakeCq cq;
} Rig;

/* Only a build with AddressSanitizer has it. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static uint64_t allocated(void)
{
    struct mallinfo2 info;

    if (__sanitizer_get_current_allocated_bytes) {
        return __sanitizer_get_current_allocated_bytes();
    }
    info = mallinfo2();
    return info.uordblks + info.hblkhd + given - returned;
}

static void config(ErnicConfig *cfg)
{
    fake_config(cfg);
    cfg->max_qp = QPS;
    cfg->max_eq = EQS;
    cfg->max_mr = MRS;
}

static void rig_objects(Rig *r)
{
    ernic_set_link(r->e, r->env.now, true);
    fake_set_gid(r->e, 0, 1);
    r->pd = fake_create_pd(r->e);
    fake_create_cq(r->e, &r->cq, 16, FAKE_NONE);
}

static void rig_open(Rig *r, uint64_t max_memory)
{
    r->e = FAKE_ERNIC(&r->env, config(&cfg); cfg.max_memory = max_memory);
    rig_objects(r);
}

/* @cmd creates an object. */
static uint8_t create(Rig *r, struct ernic_cmd *cmd, uint32_t *handle)
{
    struct ernic_rsp rsp;
    uint8_t status = fake_cmd(r->e, cmd, &rsp);

    *handle = le32_to_cpu(rsp.handle);
    return status;
}

static uint8_t add_qp(Rig *r, uint32_t n, uint32_t *handle)
{
    struct ernic_qp_init init = {
        .sq_buf.addr = cpu_to_le64(r->env.base), .rq_buf.addr = cpu_to_le64(r->env.base),
        .pd = cpu_to_le32(r->pd), .srq = cpu_to_le32(FAKE_NONE),
        .send_cq = cpu_to_le32(r->cq.cqn), .recv_cq = cpu_to_le32(r->cq.cqn),
        .sq_depth = cpu_to_le32(64), .rq_depth = cpu_to_le32(64),
        .sq_stride = 9, .rq_stride = 5, .type = ERNIC_QPT_RC,
    };

    return fake_pass(r->e, ERNIC_CMD_QP_CREATE, 0, &init, sizeof(init), handle);
}

static uint8_t add_eq(Rig *r, uint32_t n, uint32_t *handle)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_EQ_CREATE };

    cmd.eq_create.depth = cpu_to_le32(2);
    cmd.eq_create.buf.addr = cpu_to_le64(r->env.base);
    return create(r, &cmd, handle);
}

static uint8_t add_fast_region(Rig *r, uint32_t n, uint32_t *handle)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_ALLOC };

    cmd.mr_alloc.pd = cpu_to_le32(r->pd);
    cmd.mr_alloc.max_pages = cpu_to_le32(ERNIC_MAX_FRWR_PAGES);
    return create(r, &cmd, handle);
}

/* A page, far from all others, of the one on-demand region; it is created first. */
static uint8_t add_page(Rig *r, uint32_t n, uint32_t *handle)
{
    if (n == 0) {
        *handle = fake_reg_demand(r->e, r->pd, 0, 1ull << 47, ACCESS);
        return ERNIC_OK;
    }
    r->env.next = LISTS;
    return fake_set_pages(r->e, *handle, (uint64_t)n * ERNIC_ODP_CHUNK, 1,
                          r->env.base, ERNIC_PAGE_READ);
}

static uint8_t add_demand_region(Rig *r, uint32_t n, uint32_t *handle)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };

    cmd.mr_reg.buf.page_shift = 12;
    cmd.mr_reg.length = cpu_to_le64(1 << 20);
    cmd.mr_reg.pd = cpu_to_le32(r->pd);
    cmd.mr_reg.access = cpu_to_le32(ACCESS | ERNIC_ACCESS_ON_DEMAND);
    return create(r, &cmd, handle);
}

/*
 * Every way to make the engine allocate. All objects of a way together: at least @least
 * percent of the need of the kind that the limits are made for.
 */
typedef struct Way {
    const char *name;
    uint32_t kinds;             /* bits by ErnicMemKind: those that it charges */
    uint32_t share;             /* and those whose need it may use up */
    uint32_t least;
    uint8_t (*add)(Rig *r, uint32_t n, uint32_t *handle);
    uint8_t destroy;
} Way;

static const Way ways[] = {
#define BIT_OF(kind) (1u << ERNIC_MEM_##kind)
    { "queue-pairs", BIT_OF(REQUESTS) | BIT_OF(RESPONSES),
      BIT_OF(REQUESTS) | BIT_OF(RESPONSES), 95, add_qp, ERNIC_CMD_QP_DESTROY },
    { "event-queues", BIT_OF(BACKLOGS), BIT_OF(BACKLOGS), 85, add_eq,
      ERNIC_CMD_EQ_DESTROY },
    { "fast-registration", BIT_OF(PAGE_LISTS), BIT_OF(PAGE_LISTS), 99,
      add_fast_region, ERNIC_CMD_MR_FREE },
    { "on-demand-pages", BIT_OF(ON_DEMAND), BIT_OF(ON_DEMAND) | BIT_OF(PAGE_LISTS), 95,
      add_page, ERNIC_CMD_MR_FREE },
    { "on-demand-regions", BIT_OF(ON_DEMAND), BIT_OF(ON_DEMAND), 2,
      add_demand_region, ERNIC_CMD_MR_FREE },
#undef BIT_OF
};

static uint64_t sum(const Rig *r, uint32_t kinds, bool need)
{
    uint64_t bytes = 0;

    for (uint32_t kind = 0; kind < ERNIC_MEM_COUNT; kind++) {
        if (kinds & (1u << kind)) {
            bytes += need ? ernic_memory_kind(&r->e->cfg, kind) :
                            r->e->mem.kind[kind];
        }
    }
    return bytes;
}

/* Create objects until one is refused, for the right reason; returns how many. */
static uint32_t fill(Rig *r, const Way *way, GArray *handles)
{
    uint32_t n = 0, handle = 0;
    uint8_t status;

    while ((status = way->add(r, n, &handle)) == ERNIC_OK) {
        if (!n || handle != g_array_index(handles, uint32_t, handles->len - 1)) {
            g_array_append_val(handles, handle);
        }
        g_array_set_size(r->env.wakes, 0);      /* the record of the environment */
        n++;
    }
    IS(status, ERNIC_ERR_NO_RESOURCE);
    g_assert_true(ernic_check(r->e, NULL));
    return n;
}

static void empty(Rig *r, const Way *way, GArray *handles)
{
    for (guint i = 0; i < handles->len; i++) {
        OK(fake_destroy(r->e, way->destroy, g_array_index(handles, uint32_t, i)));
        g_array_set_size(r->env.wakes, 0);
    }
    g_array_set_size(handles, 0);
}

/* Runs until the memory of objects that are gone is freed: none is left. */
static void freed(Rig *r)
{
    fake_run(r->e);
    IS(r->e->mem.used, 0);
}

/*
 * As many objects of one way as the limits allow: the account has the bytes that are
 * allocated, no more than the limits need, and nothing after the objects are gone.
 */
WORLD_ROW_TEST("/memory/fill", ways, way, test_fill, Rig, r, rig_open(r, 0),
               fake_ernic_done(&r->env, r->e))
{
    GArray *handles = g_array_sized_new(false, false, sizeof(uint32_t), MRS);
    uint64_t before, grown, used, over;
    uint32_t n;

    before = allocated();
    n = fill(r, way, handles);
    grown = allocated() - before;
    used = r->e->mem.used;
    g_test_message("%s: %u, %" PRIu64 " bytes", way->name, n, used);
    IS(used, sum(r, way->kinds, false));
    g_assert_cmpuint(used, <=, sum(r, way->share, true));
    g_assert_cmpuint(used * 100, >=, sum(r, way->share, true) * way->least);
    IS(r->e->mem.peak, used);
    /* The overhead of malloc(). */
    over = used / 50 + n * 48 + 65536;
    g_assert_cmpuint(grown + 1024, >=, used);
    g_assert_cmpuint(grown, <=, used + over);
    empty(r, way, handles);
    freed(r);
    g_assert_cmpuint(r->e->mem.peak, >=, used);
    g_assert_cmpuint(allocated(), <, before + 65536);
    g_array_free(handles, true);
}

/* At the bound a command fails. After a reset, as many objects fit as at first. */
ROW_TEST("/memory/bound", ways, way, test_bound)
{
    GArray *handles = g_array_new(false, false, sizeof(uint32_t));
    uint64_t most, used;
    uint32_t all, n;
    Rig r;

    rig_open(&r, 0);
    all = fill(&r, way, handles);
    most = r.e->mem.used;
    IS(r.e->mem.refused, 0);
    g_array_set_size(handles, 0);
    fake_ernic_done(&r.env, r.e);

    rig_open(&r, most / 2);
    n = fill(&r, way, handles);
    g_assert_cmpuint(n, >=, all / 3);
    g_assert_cmpuint(n, <=, all / 2 + 1);
    g_assert_cmpuint(r.e->mem.refused, >, 0);
    used = r.e->mem.used;
    g_assert_cmpuint(used, <=, most / 2);
    fill(&r, way, handles);     /* what is smaller may still fit */
    g_assert_cmpuint(r.e->mem.used, <=, most / 2);
    ernic_reset(r.e);
    freed(&r);
    IS(r.e->mem.bound, most / 2);
    rig_objects(&r);
    g_array_set_size(handles, 0);
    r.env.next = FAKE_MEM_SIZE / 4;
    IS(fill(&r, way, handles), n);
    IS(r.e->mem.used, used);
    empty(&r, way, handles);
    freed(&r);
    g_array_free(handles, true);
    fake_ernic_done(&r.env, r.e);
}

/* With ever more memory: a command that has too little is refused as a whole. */
WORLD_ROW_TEST("/memory/short", ways, way, test_short, Rig, r, rig_open(r, 0),
               fake_ernic_done(&r->env, r->e))
{
    uint64_t bound, used, room = 0;
    uint32_t handle = 0;

    OK(way->add(r, 0, &handle));
    bound = r->e->mem.bound;
    used = r->e->mem.used;
    do {
        IS(r->e->mem.used, used);
        r->e->mem.bound = used + room;
        room += 64;
    } while (way->add(r, 1, &handle) == ERNIC_ERR_NO_RESOURCE);
    g_assert_cmpuint(r->e->mem.refused, >, 0);
    g_assert_cmpuint(r->e->mem.used, >, used);
    r->e->mem.bound = bound;
}

/* A state of more memory than this device may use is refused, with the reason. */
ROW_TEST("/memory/state", ways, way, test_state)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    g_autoptr(GString) why = g_string_new(NULL);
    uint32_t handle = 0;
    uint64_t used;
    Rig r;

    rig_open(&r, 0);
    for (uint32_t n = 0; n < 6; n++) {
        OK(way->add(&r, n, &handle));
    }
    used = r.e->mem.used;
    ernic_save(r.e, state);
    fake_ernic_done(&r.env, r.e);

    rig_open(&r, used - 1);
    g_assert_false(ernic_load_why(r.e, r.env.now, state->data, state->len, why));
    g_assert_nonnull(strstr(why->str, "max-memory"));
    IS(r.e->mem.used, 0);
    fake_ernic_done(&r.env, r.e);

    rig_open(&r, used);
    g_assert_true(ernic_load_why(r.e, r.env.now, state->data, state->len, why));
    IS(r.e->mem.used, used);
    fake_ernic_done(&r.env, r.e);
}

/* Regions whose pages went away keep nothing of their directories of chunks. */
WORLD_TEST("/memory/shrinks", test_shrinks, Rig, r, rig_open(r, 0),
           fake_ernic_done(&r->env, r->e))
{
    enum { CHUNKS = 2048 };
    uint32_t key = 0;
    const ErnicOdp *odp;

    for (uint32_t n = 0; n <= CHUNKS; n++) {
        OK(add_page(r, n, &key));
    }
    odp = r->e->mr[key >> 8].odp;
    IS(odp->num, CHUNKS);
    for (uint32_t n = CHUNKS; n; n--) {
        OK(fake_set_pages(r->e, key, (uint64_t)n * ERNIC_ODP_CHUNK, 1, 0, 0));
        g_assert_cmpuint(odp->room, <=, MAX(odp->num * 4, ERNIC_ODP_ROOM));
        g_assert_true(n % 64 || ernic_check(r->e, NULL));
    }
    IS(r->e->mem.kind[ERNIC_MEM_ON_DEMAND], sizeof(*odp));
    /* All at once. */
    for (uint32_t n = 1; n <= CHUNKS; n++) {
        OK(add_page(r, n, &key));
    }
    OK(fake_set_pages(r->e, key, 0, (CHUNKS + 1) * ERNIC_ODP_CHUNK, 0, 0));
    IS(r->e->mem.kind[ERNIC_MEM_ON_DEMAND], sizeof(*odp));
}

#define LIMIT(prop, name, a, b) { prop, offsetof(ErnicConfig, name), a, b }
/* Two values of each limit, whose difference shows the bytes for one object. */
static const struct {
    const char *property;
    size_t field;
    uint32_t from, to;
} limits[] = {
    LIMIT("max-qp", max_qp, 1000, 16000),
    LIMIT("max-cq", max_cq, 1000, 16000),
    LIMIT("max-srq", max_srq, 1000, 4000),
    LIMIT("max-eq", max_eq, 4, 64),
    LIMIT("max-mr", max_mr, 1000, 61000),
    LIMIT("max-pd", max_pd, 1000, 16000),
};
#undef LIMIT

static uint64_t tables(const ErnicConfig *cfg)
{
    uint64_t before = allocated(), bytes;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    before = allocated();
    e = ernic_new(cfg, &fake_env_ops, &env);
    bytes = allocated() - before;
    fake_ernic_done(&env, e);
    return bytes;
}

/* The row of @property in the table of memory: bytes of tables, and charged at most. */
static void documented(const char *text, const char *property, uint64_t *fixed,
                       uint64_t *charged)
{
    g_autofree char *begin = g_strdup_printf("\n| `%s` | ", property);
    const char *row = strstr(text, "| Limit | Tables | Charged |");
    char *end;

    g_assert_nonnull(row);
    row = strstr(row, begin);
    g_assert_nonnull(row);
    *fixed = g_ascii_strtoull(row + strlen(begin), &end, 10);
    g_assert_true(g_str_has_prefix(end, " | "));
    *charged = g_ascii_strtoull(end + 3, &end, 10);
    g_assert_true(g_str_has_prefix(end, " |"));
}

/* The need of all kinds but backlogs, which depend on two limits each. */
static uint64_t need(const ErnicConfig *cfg)
{
    return ernic_memory_most(cfg) - ernic_memory_kind(cfg, ERNIC_MEM_BACKLOGS);
}

/* docs/device.md names the bytes that one object of each limit costs. */
TEST("/memory/documented", test_documented)
{
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(ERNIC_DOCS "/device.md", &text, NULL, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        uint32_t more = limits[i].to - limits[i].from;
        uint64_t fixed, charged, one;
        ErnicConfig from, to;

        fake_config(&from);
        to = from;
        *(uint32_t *)((char *)&from + limits[i].field) = limits[i].from;
        *(uint32_t *)((char *)&to + limits[i].field) = limits[i].to;
        documented(text, limits[i].property, &fixed, &charged);
        one = (tables(&to) - tables(&from)) / more;
        g_test_message("%s: %" PRIu64 " and %" PRIu64, limits[i].property, one,
                       (need(&to) - need(&from)) / more);
        g_assert_cmpuint(one, <=, fixed);
        g_assert_cmpuint(fixed, <=, one + one / 8 + 8);
        IS(charged * more, need(&to) - need(&from));
    }
}

/* The first number of @text that is in the place of (\d+) in @pattern. */
static uint64_t figure(const char *text, const char *pattern)
{
    g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    g_autofree char *number = NULL;

    g_assert_true(g_regex_match(regex, text, 0, &match));
    number = g_match_info_fetch(match, 1);
    return g_ascii_strtoull(number, NULL, 10);
}

static uint64_t most_mib(const ErnicConfig *cfg)
{
    return (ernic_memory_most(cfg) + (1 << 19)) >> 20;
}

/* The same page adds them up, for the device's default limits and for the greatest. */
TEST("/memory/totals", test_totals)
{
    static const ErnicConfig usual = {
        .max_qp = 1024, .max_cq = 1024, .max_srq = 4096, .max_eq = 64,
        .max_mr = 65536, .max_pd = 1024,
    };
    ErnicConfig greatest = {
        .max_qp = ERNIC_LIM_QP, .max_cq = ERNIC_LIM_CQ, .max_srq = ERNIC_LIM_SRQ,
        .max_eq = ERNIC_LIM_EQ, .max_mr = ERNIC_LIM_MR, .max_pd = ERNIC_LIM_PD,
    };
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(ERNIC_DOCS "/device.md", &text, NULL, NULL));
    g_strdelimit(text, "\n", ' ');
    IS(figure(text, "such key is charged with (\\d+) bytes"),
       ernic_mr_table_bytes(ERNIC_MR_UNCHARGED + 1));
    IS(figure(text, "makes (\\d+) MiB of charged memory"), most_mib(&usual));
    IS(figure(text, "and (\\d+) MiB \\(\\d+ MiB with `max-mr="), most_mib(&greatest));
    greatest.max_mr = usual.max_mr;
    IS(figure(text, "\\((\\d+) MiB with `max-mr=65536`\\)"), most_mib(&greatest));
}
