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

static void open_two(Two *t)
{
    busy_init(&t->b);
    t->e = FAKE_ERNIC(&t->env);
}

static void close_two(Two *t)
{
    fake_ernic_done(&t->env, t->e);
    busy_fini(&t->b);
}

#define TWO_TEST(path, fn) WORLD_TEST(path, fn, Two, t, open_two(t), close_two(t))

static bool load(Ernic *e, uint64_t now, const GByteArray *state)
{
    return ernic_load(e, now, state->data, state->len);
}

/* The state of @e is @want. */
static void assert_state(const Ernic *e, const GByteArray *want)
{
    g_autoptr(GByteArray) is = fake_saved(e);

    g_assert_cmpmem(is->data, is->len, want->data, want->len);
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
    assert_state(t->e, empty);
    g_assert_true(load(t->e, t->b.env.now, state));
    g_assert_cmpuint(t->env.wake, <=, t->b.env.now);
    fake_check(t->e);
    assert_state(t->e, state);
    assert_derived(t->b.e, t->e);
    /* It loads into a device that has state of its own, too. */
    g_assert_true(load(t->b.peer, t->b.env.now, state));
    assert_state(t->b.peer, state);
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
    env->tx_busy = false;
    ernic_tx_ready(e, env->now);
    for (int i = 0; i < 20; i++) {
        fake_advance(e, 20000000);
    }
}

static void drop_trains(FakeEnv *env)
{
    FakeTrain *train;

    while ((train = fake_take_train(env))) {
        fake_train_free(train);
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

    drop_trains(&t->b.env);
    memcpy(t->env.mem, t->b.env.mem, FAKE_MEM_SIZE);
    t->env.now = t->b.env.now;
    g_assert_true(load(t->e, t->env.now, state));
    drive(t->b.e, &t->b.env);
    drive(t->e, &t->env);
    fake_check(t->b.e);
    assert_same_trains(&t->b.env, &t->env);
    end = fake_saved(t->b.e);
    assert_state(t->e, end);
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
    assert_state(t->e, empty);
    /* One byte too many. */
    g_byte_array_append(state, (const guint8 *)"", 1);
    g_assert_false(load(t->e, 7, state));
    assert_state(t->e, empty);
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

/*
 * An accepted state is safe to work with: it can be saved again, and no later action of
 * software or wire triggers an assertion.
 */
static void exercise(Ernic *e, FakeEnv *env, const Busy *b, const ErnicTrain *train)
{
    g_autoptr(GByteArray) state = fake_saved(e);

    g_assert_true(load(e, b->env.now, state));
    fake_check(e);
    env->now = b->env.now;
    env->tx_busy = false;
    ernic_tx_ready(e, env->now);
    ernic_rx(e, env->now, train);
    for (uint32_t i = 0; i < 30; i++) {
        ernic_run(e, env->now);
        env->now += 10000000;
    }
    for (uint32_t qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (e->qp[qpn].used) {
            ernic_doorbell(e, env->now, e->qp[qpn].uctx,
                           ERNIC_DB(ERNIC_DB_SQ, qpn, e->qp[qpn].sq.wq.pi + 1));
            fake_modify_qp(e, qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL);
        }
    }
    for (uint32_t i = 0; i < 5; i++) {
        ernic_run(e, env->now);
    }
    for (uint32_t qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (e->qp[qpn].used && e->qp[qpn].uctx == 0) {
            fake_destroy(e, ERNIC_CMD_QP_DESTROY, qpn);
        }
    }
    fake_check(e);
}

TWO_TEST("/state/mutated", test_mutated)
{
    g_autoptr(GByteArray) state = fake_saved(t->b.e), empty = fake_saved(t->e);
    guint at, step, accepted = 0, refused = 0, k;
    const Busy *b = &t->b;
    FakeTrain *train;

    memcpy(t->env.mem, b->env.mem, FAKE_MEM_SIZE);
    fake_send(b->peer, &t->b.peer_rd, ERNIC_WR_SEND, 0, b->peer_buf, 900, b->peer_key);
    fake_run(b->peer);
    train = fake_take_train(&t->b.peer_env);
    /* Another part of the bytes each time; testing all of them takes minutes. */
    step = g_test_slow() ? 1 : 23;
    at = 12 + g_test_rand_int_range(0, step);
    for (; at < state->len; at += step) {
        uint8_t was = state->data[at];
        const uint8_t values[] = { was ^ (1 << (at % 8)), 0xff, was + 1, 0x80, 0 };

        k = g_test_slow() ? ARRAY_SIZE(values) : 2;
        while (k--) {
            state->data[at] = values[k];
            if (load(t->e, b->env.now, state)) {
                exercise(t->e, &t->env, b, &train->train);
                accepted++;
            } else {
                refused++;
            }
        }
        state->data[at] = was;
        drop_trains(&t->env);
    }
    g_test_message("%u accepted, %u refused", accepted, refused);
    g_assert_cmpuint(accepted, >, 100);
    g_assert_cmpuint(refused, >, 100);
    g_assert_false(ernic_load(t->e, 7, state->data, 12));
    assert_state(t->e, empty);
    fake_train_free(train);
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
    GByteArray *out = g_byte_array_new();

    for (uint8_t byte = 0; byte <= 2; byte++) {
        ErnicReader in = { .data = &byte, .left = 1, .stream = &stream };

        IS(ernic_state_load_struct(NULL, &of, NULL, &in), byte <= 1);
        IS(in.left, 0);
    }
    ernic_state_save_struct(NULL, &of, NULL, out);
    g_assert_cmpmem(out->data, out->len, "", 1);
    g_byte_array_unref(out);
    g_string_free(stream.why, true);
}
