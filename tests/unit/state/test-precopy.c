/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page lists that migrate ahead of the state: the destination puts the same state
 * together that the source would have saved whole, whatever changes in between, and
 * refuses parts and holes that do not fit.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fake_verbs.h"
#include "objects/mr.h"
#include "state/precopy.h"
#include "test.h"

#define LONG    (ERNIC_PRECOPY_PART + 600)      /* pages: more than a part */
#define MOST    (16u << 20)

/* A source with memory of its own, and what has arrived of it. */
typedef struct World {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
    uint64_t list;              /* of two levels, with LONG entries */
    ErnicPrecopy source;
    ErnicPrecopied arrived;
} World;

static void world_open(World *w)
{
    uint32_t leaves = DIV_ROUND_UP(LONG, ERNIC_BUF_LIST);

    *w = (World) { };
    w->e = fake_ernic_new(&w->env);
    w->pd = fake_create_pd(w->e);
    w->list = fake_alloc(&w->env, (1 + leaves) * 4096, 4096);
    for (uint32_t i = 0; i < leaves; i++) {
        stq_le_p(fake_ptr(&w->env, w->list + 8 * i, 8), w->list + 4096 * (1 + i));
    }
    for (uint32_t i = 0; i < leaves * ERNIC_BUF_LIST; i++) {
        stq_le_p(fake_ptr(&w->env, w->list + 4096 + 8 * i, 8), (uint64_t)(i * 7) << 12);
    }
}

#define PRECOPY_TEST(path, fn) \
    WORLD_TEST(path, fn, World, w, world_open(w), ernic_precopied_clear(&w->arrived); \
               ernic_precopy_end(w->e, &w->source); fake_ernic_done(&w->env, w->e))

static uint32_t reg(World *w, uint32_t npages)
{
    struct ernic_cmd cmd = fake_reg_list(w->pd, w->list, npages, 2);

    return fake_make(w->e, &cmd);
}

/* A completion queue, whose ring has 128 pages. */
static void create_cq(World *w)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_CREATE };
    uint32_t depth = 128 * 4096 / sizeof(struct ernic_cqe);

    cmd.cq_create.buf = (struct ernic_buf_desc) {
        .addr = cpu_to_le64(w->list), .npages = cpu_to_le32(128), .page_shift = 12,
        .levels = 2,
    };
    cmd.cq_create.depth = cpu_to_le32(depth);
    cmd.cq_create.eq = cpu_to_le32(FAKE_NONE);
    OK(fake_cmd(w->e, &cmd, NULL));
}

/* The first pages of a region of alloc_mr get other addresses. */
static void fast_reg(World *w, uint32_t key)
{
    struct ernic_wqe_reg_mr wr = {
        .key = key, .npages = 100, .page_shift = 12, .list_addr = w->list + 4096,
        .length = 4096, .access = ERNIC_ACCESS_LOCAL_WRITE,
    };

    IS(ernic_mr_fast_reg(w->e, w->pd, &wr), ERNIC_FAULT_NONE);
}

static void look(World *w)
{
    while (!ernic_precopy_look(w->e, &w->source)) {
        continue;
    }
}

/* No spans: test-spans.c has them. */
static void begin(World *w)
{
    ernic_precopy_begin(w->e, &w->source);
    w->source.most_kept = 0;
    look(w);
}

/* The next part arrives; false: nothing waits. */
static bool send(World *w)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    ErnicPrecopyPart part;
    void *to;

    while (!ernic_precopy_next(w->e, &w->source, &part, bytes)) {
        continue;
    }
    IS(bytes->len, part.count * 8);
    if (!part.count) {
        return false;
    }
    to = ernic_precopy_take(&w->arrived, &part, MOST);
    g_assert_nonnull(to);
    memcpy(to, bytes->data, bytes->len);
    return true;
}

static void send_all(World *w)
{
    while (send(w)) {
        continue;
    }
    IS(w->source.left, 0);
}

/* The holes of @lists are filled, and a fresh engine loads the whole. */
static void check_whole(World *w, uint32_t lists)
{
    g_autoptr(GByteArray) span = g_byte_array_new(), list = g_byte_array_new();
    g_autoptr(GByteArray) state = g_byte_array_new(), want = fake_saved(w->e);
    g_autofree uint8_t *whole = NULL;
    FakeEnv env;
    Ernic *e = fake_ernic_new(&env);
    size_t len;

    ernic_precopy_save(w->e, &w->source, state, span, list);
    w->source.saved = false;                    /* and goes on */
    IS(span->len, 0);
    IS(list->len, lists * sizeof(ErnicPrecopyHole));
    IS(want->len - state->len, w->source.skipped);
    len = state->len;
    whole = ernic_precopy_fill(&w->arrived, state->data, &len, (void *)list->data, lists,
                               MOST);
    g_assert_cmpmem(whole, len, want->data, want->len);
    g_assert_true(ernic_load(e, w->env.now, whole, len));
    fake_state_is(e, want);
    fake_ernic_done(&env, e);
}

PRECOPY_TEST("/precopy/whole", test_whole)
{
    reg(w, LONG);
    reg(w, ERNIC_PRECOPY_MIN - 1);              /* stays in the state */
    reg(w, ERNIC_PRECOPY_MIN);
    create_cq(w);
    begin(w);
    IS(w->source.left, (LONG + ERNIC_PRECOPY_MIN + 128) * 8);
    check_whole(w, 0);
    send_all(w);
    IS(w->source.lists, 3);
    IS(w->source.sent, (LONG + ERNIC_PRECOPY_MIN + 128) * 8);
    check_whole(w, 3);
    check_whole(w, 3);                          /* the first attempt has failed */
}

/* A list that is sent in part only is in the state. */
PRECOPY_TEST("/precopy/part", test_part)
{
    reg(w, LONG);
    begin(w);
    g_assert_true(send(w));
    IS(w->source.left, 600 * 8);
    check_whole(w, 0);
    look(w);
    IS(w->source.left, 600 * 8);
    send_all(w);
    check_whole(w, 1);
}

/* Each change of a list that was sent: it is in the state, until it is sent again. */
PRECOPY_TEST("/precopy/changes", test_changes)
{
    uint32_t gone = reg(w, 300), fast = fake_alloc_mr(w->e, w->pd, 512);

    reg(w, 200);
    begin(w);
    send_all(w);
    check_whole(w, 3);
    OK(fake_destroy(w->e, ERNIC_CMD_MR_FREE, gone));
    check_whole(w, 2);
    reg(w, 300);                                /* maybe in the same memory */
    check_whole(w, 2);
    fast_reg(w, fast);
    check_whole(w, 1);
    look(w);
    IS(w->source.left, (300 + 512) * 8);
    send_all(w);
    IS(w->source.lists, 5);
    check_whole(w, 3);
    ernic_reset_at_once(w->e);
    w->pd = fake_create_pd(w->e);
    reg(w, 300);
    check_whole(w, 0);
}

/* Page @page of a region on demand is present from now on. */
static void report_page(World *w, uint32_t key, uint64_t page)
{
    OK(fake_set_pages(w->e, key, page, 1, (page + 1) << 12, ERNIC_PAGE_READ));
}

/* The chunks of a region on demand are lists, too. */
PRECOPY_TEST("/precopy/on-demand", test_on_demand)
{
    uint32_t key = fake_reg_demand(w->e, w->pd, 0, 1ull << 40, 0);

    for (uint32_t i = 0; i < 5; i++) {
        report_page(w, key, i * 1000);
    }
    reg(w, 200);
    begin(w);
    IS(w->source.left, (5 * ERNIC_ODP_CHUNK + 200) * 8);
    g_assert_true(send(w));
    check_whole(w, 1);
    send_all(w);
    check_whole(w, 6);
    report_page(w, key, 2001);                  /* in a chunk that was sent, */
    report_page(w, key, 1100);                  /* and in a new one before it */
    check_whole(w, 5);
    look(w);
    IS(w->source.left, 2 * ERNIC_ODP_CHUNK * 8);
    send_all(w);
    IS(w->source.lists, 8);
    check_whole(w, 7);
}

PRECOPY_TEST("/precopy/again", test_again)
{
    reg(w, 300);
    begin(w);
    send_all(w);
    ernic_precopied_clear(&w->arrived);         /* the migration has failed */
    begin(w);
    check_whole(w, 0);
    send_all(w);
    check_whole(w, 1);
}

/* A list that a destination would not take stays in the state. */
PRECOPY_TEST("/precopy/room", test_room)
{
    uint32_t fast;

    w->e->mem.bound = 1 << 20;
    fast = fake_alloc_mr(w->e, w->pd, 512);
    begin(w);
    while (w->source.left) {
        send_all(w);
        g_assert_cmpuint(w->source.sent, <=, ernic_save_most(w->e));
        OK(fake_destroy(w->e, ERNIC_CMD_MR_FREE, fast));
        fast = fake_alloc_mr(w->e, w->pd, 512);
        look(w);
    }
    g_assert_cmpuint(w->source.sent + 4096, >, ernic_save_most(w->e));
    g_assert_false(send(w));
    check_whole(w, 0);
}

/* Parts that arrive; the last one is refused. */
static const struct {
    const char *name;
    ErnicPrecopyPart part[3];
} bad_parts[] = {
    { "number 0", { { 0, 64, 64 } } },
    { "a number is left out", { { 1, 64, 64 }, { 3, 64, 64 } } },
    { "short list", { { 1, 63, 63 } } },
    { "empty part", { { 1, 64, 0 } } },
    { "longer than its list", { { 1, 64, 65 } } },
    { "more than its list", { { 1, 64, 40 }, { 1, 64, 25 } } },
    { "another length", { { 1, 64, 40 }, { 1, 65, 25 } } },
    { "long part", { { 1, 1 << 20, ERNIC_PRECOPY_PART + 1 } } },
    { "long list", { { 1, MOST / 8 + 1, 64 } } },
    { "longest list", { { 1, UINT32_MAX, 64 } } },
    { "lists", { { 1, MOST / 8 - 63, 64 }, { 2, 64, 64 } } },
    { "replaced by a short list", { { 1, 64, 64 }, { 1, 63, 63 } } },
    { "replaced by a long list", { { 1, 64, 64 }, { 1, MOST / 8 + 1, 64 } } },
    { "replaced with an empty part", { { 1, 64, 64 }, { 1, 64, 0 } } },
    { "replaced with a long part", { { 1, 64, 64 }, { 1, 70, 71 } } },
};

TEST("/precopy/bad-parts", test_bad_parts)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_parts); i++) {
        const ErnicPrecopyPart *part = bad_parts[i].part;
        ErnicPrecopied p = { };

        g_test_message("%s", bad_parts[i].name);
        while (part + 1 < bad_parts[i].part + 3 && part[1].number) {
            g_assert_nonnull(ernic_precopy_take(&p, part++, MOST));
        }
        g_assert_null(ernic_precopy_take(&p, part, MOST));
        ernic_precopied_clear(&p);
    }
}

/* A complete list is replaced by one of another length, which has to be complete, too. */
TEST("/precopy/replace", test_replace)
{
    const ErnicPrecopyPart part[] = { { 1, 64, 64 }, { 1, 100, 64 }, { 1, 100, 36 } };
    const ErnicPrecopyHole hole = { 1, 1 };
    const uint8_t state[2] = { 1, 2 };
    g_autofree uint8_t *whole = NULL;
    size_t len = sizeof(state);
    ErnicPrecopied p = { };

    for (uint32_t i = 0; i < ARRAY_SIZE(part); i++) {
        if (i != 1) {                   /* there is none, or it is not complete */
            g_assert_null(ernic_precopy_fill(&p, state, &len, &hole, 1, MOST));
        }
        memset(ernic_precopy_take(&p, &part[i], 800), 5 + i, part[i].count * 8);
        IS(p.bytes, part[i].length * 8);
        IS(p.lists, 1);
    }
    whole = ernic_precopy_fill(&p, state, &len, &hole, 1, MOST);
    IS(len, 802);
    IS(whole[0], 1);
    IS(whole[1], 6);
    IS(whole[512], 6);
    IS(whole[513], 7);
    IS(whole[801], 2);
    ernic_precopied_clear(&p);
}

/* List 1 is complete and has 512 bytes, list 2 is not; the state has 100 bytes. */
static const struct {
    const char *name;
    size_t num;
    ErnicPrecopyHole hole[2];
    uint64_t most;
} bad_holes[] = {
    { "number 0", 1, { { 0, 0 } }, MOST },
    { "no such list", 1, { { 0, 3 } }, MOST },
    { "not complete", 1, { { 0, 2 } }, MOST },
    { "beyond the end", 1, { { 101, 1 } }, MOST },
    { "far beyond", 1, { { UINT64_MAX, 1 } }, MOST },
    { "inside of another", 2, { { 10, 1 }, { 521, 1 } }, MOST },
    { "in front of another", 2, { { 90, 1 }, { 10, 1 } }, MOST },
    { "second beyond the end", 2, { { 10, 1 }, { 613, 1 } }, MOST },
    { "too long", 1, { { 10, 1 } }, 611 },
    { "lists too long", 2, { { 10, 1 }, { 522, 1 } }, 1000 },
};

TEST("/precopy/bad-holes", test_bad_holes)
{
    const ErnicPrecopyHole good[] = { { 0, 1 }, { 612, 1 } };
    uint8_t state[100] = { 1 };
    ErnicPrecopied p = { };
    size_t len = sizeof(state);
    g_autofree uint8_t *whole = NULL;

    memset(ernic_precopy_take(&p, &(ErnicPrecopyPart) { 1, 64, 64 }, MOST), 5, 512);
    memset(ernic_precopy_take(&p, &(ErnicPrecopyPart) { 2, 64, 63 }, MOST), 6, 504);
    for (size_t i = 0; i < ARRAY_SIZE(bad_holes); i++) {
        g_test_message("%s", bad_holes[i].name);
        g_assert_null(ernic_precopy_fill(&p, state, &len, bad_holes[i].hole,
                                         bad_holes[i].num, bad_holes[i].most));
        IS(len, sizeof(state));
    }
    whole = ernic_precopy_fill(&p, state, &len, good, 2, 1124);
    g_assert_nonnull(whole);
    IS(len, 1124);
    IS(whole[511], 5);
    IS(whole[512], 1);
    IS(whole[611], 0);
    IS(whole[612], 5);
    ernic_precopied_clear(&p);
}
