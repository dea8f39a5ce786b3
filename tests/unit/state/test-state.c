/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state: it can be loaded and continues as before, and no loaded value is trusted.
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "state/state.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "trace-mark.h"
#include "transport/tx.h"

/* ---- round trips ------------------------------------------------------------ */

/* The busy device, and one that has been made just now, with memory of its own. */
typedef struct Two {
    Busy b;
    FakeEnv env;
    Ernic *e;
} Two;

#define TWO_TEST(path, fn) \
    WORLD_TEST(path, fn, Two, t, busy_init(&t->b); t->e = FAKE_ERNIC(&t->env), \
               fake_ernic_done(&t->env, t->e); busy_fini(&t->b))

static bool load(Ernic *e, uint64_t now, const GByteArray *state)
{
    return ernic_load(e, now, state->data, state->len);
}

/* Values that are not stored are the same after loading, too. */
static void assert_fields(const ErnicStateStruct *of, const uint8_t *a, const uint8_t *b)
{
    for (uint32_t i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        for (uint32_t k = 0; f->kind == ERNIC_SK_STRUCT && k < f->num; k++) {
            assert_fields(f->of, a + f->offset + k * f->size,
                          b + f->offset + k * f->size);
        }
        /* The start of a ring is not part of the state. */
        if (f->kind == ERNIC_SK_DERIVED && strcmp(f->name, "line_head") != 0) {
            g_test_message("%s.%s", of->name, f->name);
            g_assert_cmpmem(a + f->offset, f->size * f->num, b + f->offset,
                            f->size * f->num);
        }
    }
}

static void assert_derived(const Ernic *a, const Ernic *b)
{
    for (uint32_t i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        for (uint32_t id = t->first; id < ernic_state_table_given(a, t); id++) {
            const void *obj = ernic_state_entry(a, t, id);

            if (ernic_state_in_use(t, obj)) {
                assert_fields(t->of, obj, ernic_state_entry(b, t, id));
            }
        }
    }
    IS(a->num_pages, b->num_pages);
    IS(a->num_bound, b->num_bound);
    g_assert_cmpmem(a->uctx_used, sizeof(a->uctx_used), b->uctx_used,
                    sizeof(b->uctx_used));
}

TWO_TEST("/state/round-trip", test_round_trip)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e), empty = fake_saved(t->e);

    g_assert_true(load(t->e, 5, empty));
    fake_state_is(t->e, empty);
    g_assert_true(load(t->e, t->b.env.now, state));
    g_assert_cmpuint(t->env.wake, <=, t->b.env.now);
    fake_check(t->e);
    fake_state_is(t->e, state);
    assert_derived(t->b.e, t->e);
    /* It loads into a device that has state of its own, too. */
    g_assert_true(load(t->b.peer, t->b.env.now, state));
    fake_state_is(t->b.peer, state);
}

/* The bound of a small device is small, and a stream beyond it is refused for that. */
TWO_TEST("/state/most", test_most)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e);
    g_autoptr(GString) why = g_string_new(NULL);
    const ErnicConfig *cfg = &t->e->cfg;
    uint64_t most = ernic_save_most(t->e), account = t->e->mem.bound;

    g_assert_cmpuint(most, >, account);
    g_assert_cmpuint(most, <, account + (8 << 20) + 2048 * (cfg->max_qp + cfg->max_mr));
    t->e->cfg.max_memory = t->e->mem.bound = 1 << 20;
    most = ernic_save_most(t->e);
    g_byte_array_set_size(state, most + 1);
    g_assert_false(ernic_load_why(t->e, 0, state->data, state->len, why));
    g_assert_cmpstr(why->str, ==, "it is longer than any of this device");
}

/* The same continuation: link ready again, all requests acknowledged or none. */
static void drive(Ernic *e, FakeEnv *env)
{
    fake_tx_ready(e);
    for (int i = 0; i < 20; i++) {
        fake_advance(e, 20000000);
    }
}

static void assert_same_trains(FakeEnv *a, FakeEnv *b)
{
    FakeTrain *x, *y;
    uint32_t n = 0;

    while ((x = fake_take_train(a))) {
        y = fake_take_train(b);
        g_assert_nonnull(y);
        IS(x->now, y->now);
        g_assert_cmpmem(x->train.data, x->train.len, y->train.data, y->train.len);
        fake_train_free(x);
        fake_train_free(y);
        n++;
    }
    g_assert_null(fake_take_train(b));
    g_assert_cmpuint(n, >, 5);
}

/* A device continues in another place exactly as it would have in its own. */
TWO_TEST("/state/continues", test_continues)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e), end = NULL;

    fake_lose_trains(&t->b.env);
    memcpy(t->env.mem, t->b.env.mem, FAKE_MEM_SIZE);
    t->env.now = t->b.env.now;
    g_assert_true(load(t->e, t->env.now, state));
    drive(t->b.e, &t->b.env);
    drive(t->e, &t->env);
    fake_check(t->b.e);
    assert_same_trains(&t->b.env, &t->env);
    end = fake_saved(t->b.e);
    fake_state_is(t->e, end);
    g_assert_cmpmem(t->b.env.mem, FAKE_MEM_SIZE, t->env.mem, FAKE_MEM_SIZE);
}

/* ---- hostile bytes ---------------------------------------------------------- */

TWO_TEST("/state/truncated", test_truncated)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e), empty = fake_saved(t->e);

    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
    for (guint len = 0; len < state->len; len += g_test_slow() ? 1 : 101) {
        g_autofree uint8_t *copy = g_memdup2(state->data, len);

        g_assert_false(ernic_load(t->e, 7, copy, len));
    }
    g_assert_cmpuint(ernic_trace_count("ernic_load_refused"), >, 50);
    fake_state_is(t->e, empty);
    /* One byte too many. */
    g_byte_array_append(state, (const guint8 *)"", 1);
    g_assert_false(load(t->e, 7, state));
    fake_state_is(t->e, empty);
}

/* Magic, format, configuration: another device, or another format. */
TWO_TEST("/state/foreign", test_foreign)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e);
    ErnicConfig cfg;
    Ernic *e;

    fake_config(&cfg);
    cfg.max_qp++;
    e = ernic_new(&cfg, &fake_env_ops, &t->env);
    g_assert_false(load(e, 7, state));
    ernic_free(e);
    for (guint at = 0; at < 12; at++) {
        state->data[at] ^= 1;
        g_assert_false(load(t->e, 7, state));
        state->data[at] ^= 1;
    }
    g_assert_true(load(t->e, 7, state));
}

/* Packets of a held train without a size have no end. */
TWO_TEST("/state/no-size", test_no_size)
{
    g_autoptr(GByteArray) state = NULL;
    ErnicTx *tx = t->b.e->tx;
    uint32_t seg = tx->seg;

    g_assert_cmpuint(tx->len, >, 0);
    tx->seg = 0;
    state = fake_saved(t->b.e);
    tx->seg = seg;
    g_assert_false(load(t->e, t->b.env.now, state));
}

/* A section whose declared length exceeds its content. */
TWO_TEST("/state/sections", test_sections)
{
    static const char *const tags[] = {
        "conf", "devi", "pd\0", "eq\0", "cq\0", "srq", "mr\0", "qp\0", "mcas",
        "flow", "rss", "coun", "tx\0",
    };
    g_autoptr(GByteArray) state = fake_saved(t->b.e), description = g_byte_array_new();
    uint32_t at = 12;

    ernic_state_describe(description, 0);
    at += description->len;
    for (uint32_t i = 0; i < ARRAY_SIZE(tags); i++) {
        uint64_t len = ldq_le_p(state->data + at + 4);
        uint32_t next = at + 12 + len;
        g_autoptr(GByteArray) copy = g_byte_array_new();

        g_assert_cmpmem(state->data + at, 4, tags[i], 4);
        g_byte_array_append(copy, state->data, next);
        g_byte_array_append(copy, (const guint8 *)"\0\0\0\0", 4);
        g_byte_array_append(copy, state->data + next, state->len - next);
        g_assert_false(load(t->e, 7, copy));
        stq_le_p(copy->data + at + 4, len + 4);
        g_assert_false(load(t->e, 7, copy));
        stq_le_p(copy->data + at + 4, UINT64_MAX);
        g_assert_false(load(t->e, 7, copy));
        at = next;
    }
    IS(at, state->len);
}

/* The byte of a removed field: 0 in our states; any that it could have is ignored. */
TEST("/state/retired-row", test_retired_row)
{
    static const ErnicStateField row = RETIRED(removed);
    static const ErnicStateStruct of = {
        .name = "Retired", .num_fields = 1, .field = &row,
    };
    uint32_t one = 1, *elements = &one;
    ErnicStateStream stream = { .elements = &elements, .why = g_string_new(NULL) };
    g_autoptr(GByteArray) out = g_byte_array_new();

    for (uint8_t byte = 0; byte <= 2; byte++) {
        ErnicReader in = { .data = &byte, .left = 1, .stream = &stream };

        IS(ernic_state_load_struct(NULL, &of, NULL, &in), byte <= 1);
        IS(in.left, 0);
    }
    ernic_state_save_struct(NULL, &of, NULL, out);
    g_assert_cmpmem(out->data, out->len, "", 1);
    g_string_free(stream.why, true);
}
