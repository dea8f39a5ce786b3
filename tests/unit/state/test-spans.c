/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects that migrate ahead of the state, as spans: what is left for the end is small,
 * and the destination puts the same state together that the source would have saved
 * whole, whatever changes in between.
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "state/precopy.h"
#include "state/spans.h"
#include "state/state.h"
#include "stored_states.h"
#include "test.h"
#include "transport/qp.h"

#define KEYS    2000
#define QPS     40
#define MOST    (64u << 20)

typedef struct World {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;           /* the first key */
    uint32_t looks;             /* calls of the last look */
    uint32_t slices;            /* of the last time that all was sent */
    uint64_t live;              /* bytes that have arrived */
    ErnicPrecopy source;
    ErnicPrecopied arrived;
    size_t stopped;             /* bytes of the last state without what was sent */
} World;

static uint32_t reg(World *w)
{
    return fake_reg_mr(w->e, w->pd, w->env.base, 4096, ERNIC_ACCESS_LOCAL_WRITE);
}

static void world_open(World *w)
{
    FakeCq cq;
    FakeQp qp;

    *w = (World) { };
    w->e = FAKE_ERNIC(&w->env, cfg.max_mr = 8 * KEYS; cfg.max_qp = 4 * QPS);
    w->pd = fake_create_pd(w->e);
    w->key = reg(w);
    for (uint32_t i = 1; i < KEYS; i++) {
        reg(w);
    }
    fake_create_cq(w->e, &cq, 64, FAKE_NONE);
    for (uint32_t i = 0; i < QPS; i++) {
        fake_create_qp(w->e, &qp, ERNIC_QPT_RC, w->pd, cq.cqn, cq.cqn, FAKE_NONE);
    }
}

static void world_close(World *w)
{
    ernic_precopied_clear(&w->arrived);
    ernic_precopy_end(w->e, &w->source);
    fake_ernic_done(&w->env, w->e);
}

#define SPANS_TEST(path, fn) \
    WORLD_TEST(path, fn, World, w, world_open(w), world_close(w))

static void look(World *w)
{
    for (w->looks = 1; !ernic_precopy_look(w->e, &w->source); w->looks++) {
        continue;
    }
}

/* All that waits arrives. */
static void send_all(World *w)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    ErnicPrecopyPart part;
    void *to;

    w->live = 0;
    w->slices = 1;
    for (;;) {
        g_byte_array_set_size(bytes, 0);
        while (!ernic_precopy_next(w->e, &w->source, &part, bytes)) {
            w->slices++;
        }
        IS(bytes->len, part.count * 8);
        if (!part.count) {
            break;
        }
        to = ernic_precopy_take(&w->arrived, &part, ernic_save_most(w->e));
        g_assert_nonnull(to);
        memcpy(to, bytes->data, bytes->len);
        w->live += bytes->len;
    }
    IS(w->source.left, 0);
    IS(w->source.sent, w->arrived.bytes);
    IS(w->source.lists, w->arrived.lists);
}

static void begin(World *w)
{
    ernic_precopied_clear(&w->arrived);
    g_assert_true(ernic_precopy_begin(w->e, &w->source));
    look(w);
    send_all(w);
}

/* Fills @holes in *@state, whose length is then *@len. */
static void fill(World *w, uint8_t **state, size_t *len, const GByteArray *holes)
{
    uint8_t *whole = ernic_precopy_fill(&w->arrived, *state, len, (void *)holes->data,
                                        holes->len / sizeof(ErnicPrecopyHole), MOST);

    g_assert_nonnull(whole);
    g_free(*state);
    *state = whole;
}

/*
 * As many spans and page lists are as they were sent. The whole state is that of the
 * source, and loads.
 */
static void check_spans(World *w, uint32_t sent)
{
    g_autoptr(GByteArray) span = g_byte_array_new(), list = g_byte_array_new();
    g_autoptr(GByteArray) want = fake_saved(w->e);
    GByteArray *state = g_byte_array_new();
    g_autofree uint8_t *whole = NULL;
    Ernic *e = ernic_new(&w->e->cfg, w->e->ops, w->e->env);
    size_t len;

    ernic_precopy_save(w->e, &w->source, state, span, list);
    w->source.saved = false;            /* and goes on */
    g_assert_cmpuint((span->len + list->len) / sizeof(ErnicPrecopyHole), ==, sent);
    w->stopped = len = state->len;
    whole = g_byte_array_free(state, false);
    fill(w, &whole, &len, span);
    fill(w, &whole, &len, list);
    g_assert_cmpmem(whole, len, want->data, want->len);
    g_assert_true(ernic_load(e, w->env.now, whole, len));
    fake_state_is(e, want);
    ernic_free(e);
}

static uint32_t spans_of_keys(uint32_t keys)
{
    return DIV_ROUND_UP(1 + keys, ernic_span_numbers(ERNIC_TABLE_MR));
}

/* One change of an object is one span, which replaces the one that was sent. */
SPANS_TEST("/spans/changes", test_changes)
{
    uint32_t spans, first;

    begin(w);
    spans = w->source.lists;
    g_assert_cmpuint(spans, >, spans_of_keys(KEYS));
    check_spans(w, spans);
    g_assert_cmpuint(w->stopped * 8, <, w->live);
    look(w);
    IS(w->source.left, 0);
    first = w->stopped;
    OK(fake_destroy(w->e, ERNIC_CMD_MR_FREE, w->key));
    check_spans(w, spans - 1);
    g_assert_cmpuint(w->stopped, <, first + (64 << 10));
    look(w);
    g_assert_cmpuint(w->source.left, >, 0);
    g_assert_cmpuint(w->source.left, <=, 64 << 10);
    send_all(w);
    g_assert_cmpuint(w->live, >, 0);
    IS(w->source.lists, spans);
    check_spans(w, spans);
    g_assert_cmpuint(w->stopped, <, first + 1000);
}

/*
 * When the state has been saved, what has changed since it was sent waits no more: with
 * postcopy QEMU goes on to ask. Another state of the same migration is whole.
 */
SPANS_TEST("/spans/saved", test_saved)
{
    g_autoptr(GByteArray) span = g_byte_array_new(), list = g_byte_array_new();
    g_autoptr(GByteArray) state = g_byte_array_new();

    begin(w);
    OK(fake_destroy(w->e, ERNIC_CMD_MR_FREE, w->key));
    look(w);
    g_assert_cmpuint(w->source.left, >, 0);
    ernic_precopy_save(w->e, &w->source, state, span, list);
    g_assert_cmpuint(span->len, >, 0);
    IS(w->source.left, 0);
    look(w);
    IS(w->source.left, 0);
    send_all(w);
    IS(w->live, 0);
    g_byte_array_set_size(state, 0);
    g_byte_array_set_size(span, 0);
    ernic_precopy_save(w->e, &w->source, state, span, list);
    IS(span->len + list->len + w->source.skipped, 0);
    fake_state_is(w->e, state);
}

/* New objects change the last span, and have more of them; a reset ends all. */
SPANS_TEST("/spans/grow", test_grow)
{
    uint32_t spans;

    begin(w);
    spans = w->source.lists;
    for (uint32_t i = 0; i < 2 * KEYS; i++) {
        reg(w);
    }
    check_spans(w, spans - 2);          /* the last of the keys, and the variants */
    look(w);
    send_all(w);
    IS(w->source.lists, spans + spans_of_keys(3 * KEYS) - spans_of_keys(KEYS));
    check_spans(w, w->source.lists);
    ernic_reset_at_once(w->e);
    check_spans(w, 0);
    look(w);
    IS(w->source.left, 0);
    begin(w);                           /* another migration */
    IS(w->source.lists, 0);
    check_spans(w, 0);
}

/* A queue pair in use changes with each request. */
SPANS_TEST("/spans/modify", test_modify)
{
    uint32_t spans, qpn = 1;
    struct ernic_qp_attr attr;

    begin(w);
    spans = w->source.lists;
    while (!w->e->qp[qpn].used) {
        qpn++;
    }
    fake_qp_attr(&attr, qpn, 1);
    OK(fake_modify_qp(w->e, qpn, fake_qp_mask(ERNIC_QPT_RC, ERNIC_QPS_INIT),
                      ERNIC_QPS_INIT, &attr));
    check_spans(w, spans - 1);
    look(w);
    send_all(w);
    check_spans(w, spans);
}

/* Without memory for copies all of it stays in the state, and the migration can end. */
SPANS_TEST("/spans/budget", test_budget)
{
    uint64_t most;

    g_assert_true(ernic_precopy_begin(w->e, &w->source));
    w->source.most_kept = 0;
    look(w);
    g_assert_cmpuint(w->source.left, >, 0);     /* an estimate */
    send_all(w);
    IS(w->live, 0);
    look(w);
    IS(w->source.left, 0);
    check_spans(w, 0);
    most = w->source.most_kept = 128 << 10;
    look(w);
    send_all(w);
    g_assert_cmpuint(w->source.lists, >, 0);
    g_assert_cmpuint(w->source.kept, >, most - (64 << 10));
    g_assert_cmpuint(w->source.kept, <=, most);
    look(w);
    IS(w->source.left, 0);
    check_spans(w, w->source.lists);
}

/* The lists of a span are not copied to look at it, also those that may not be sent. */
SPANS_TEST("/spans/long-lists", test_long_lists)
{
    uint32_t key = fake_reg_demand(w->e, w->pd, 0, 1ull << 40, 0), spans;
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    begin(w);
    spans = w->source.lists;
    w->source.sent = ernic_save_most(w->e);
    for (uint64_t page = 0; page < 1000 * ERNIC_ODP_CHUNK; page += ERNIC_ODP_CHUNK) {
        OK(fake_set_pages(w->e, key, page, 1, (page + 1) << 12, ERNIC_PAGE_READ));
    }
    look(w);
    IS(w->source.left, 0);
    w->e->precopy = &w->source;
    ernic_span_save(w->e, ERNIC_TABLE_MR, spans_of_keys(KEYS + 1) - 1, MOST, bytes);
    w->e->precopy = NULL;
    g_assert_cmpuint(bytes->len, >, 0);
    g_assert_cmpuint(bytes->len, <=, 64 << 10);
    check_spans(w, spans - 1);
}

/* So is the search for a span that may be sent, among those without a copy. */
SPANS_TEST("/spans/search", test_search)
{
    for (uint32_t i = 0; i < 6 * KEYS; i++) {
        reg(w);
    }
    ernic_precopy_begin(w->e, &w->source);
    w->source.most_kept = 0;
    look(w);
    send_all(w);
    IS(w->live, 0);
    g_assert_cmpuint(w->slices, >, 1);
}

/* A look is divided into slices, also of a table whose objects are gone. */
SPANS_TEST("/spans/slices", test_slices)
{
    uint32_t spans = 0;

    for (uint32_t i = 0; i < 5 * KEYS; i++) {
        reg(w);
    }
    begin(w);
    for (uint32_t n = 0; n < ERNIC_SPAN_ROWS; n++) {
        spans += ernic_spans_now(w->e, n);
    }
    g_assert_cmpuint(spans, >, 20);
    look(w);
    g_assert_cmpuint(w->looks, >=, spans / 20);
    ernic_reset_at_once(w->e);
    look(w);
    IS(w->source.left, 0);
}

/* Engines with traffic, of all interfaces. */
ROW_TEST("/spans", stored_states, state, test_state)
{
    g_autoptr(GByteArray) saved = g_byte_array_new();
    World w = { };

    fake_env_init(&w.env);
    w.env.now = state->make(saved);
    w.e = ernic_new(&state->cfg, &fake_env_ops, &w.env);
    g_assert_true(ernic_load(w.e, w.env.now, saved->data, saved->len));
    begin(&w);
    g_assert_cmpuint(w.source.lists, >, 0);
    check_spans(&w, w.source.lists);
    look(&w);
    IS(w.source.left, 0);
    begin(&w);
    check_spans(&w, w.source.lists);
    world_close(&w);
}

/* The first rows are the tables, and a span of objects without memory is short. */
TEST("/spans/rows", test_rows)
{
    for (uint32_t n = 0; n < ERNIC_SPAN_ROWS; n++) {
        const ErnicSpanRow *row = &ernic_span_rows[n];

        g_assert_nonnull(row->save);
        g_assert_cmpuint(row->table, <, ernic_state_num_tables);
        IS(n < ernic_state_num_tables, n == row->table && !row->size);
        g_assert_cmpuint(ernic_span_numbers(n) * ernic_span_each(n), <=, 64 << 10);
    }
    IS(ernic_state_num_tables, ERNIC_SPANS_VARIANTS);
}
