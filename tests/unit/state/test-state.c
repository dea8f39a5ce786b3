/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state: it can be loaded and continues as before, and no loaded value is trusted.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "busy.h"
#include "state/description.h"
#include "state/state.h"
#include "test.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "trace-mark.h"
#include "transport/tx.h"

/* ---- round trips ------------------------------------------------------------ */

static GByteArray *save(const Ernic *e)
{
    GByteArray *out = g_byte_array_new();

    ernic_save(e, out);
    return out;
}

static void assert_same(const GByteArray *a, const GByteArray *b)
{
    guint i;

    g_assert_cmpuint(a->len, ==, b->len);
    for (i = 0; i < a->len && a->data[i] == b->data[i]; i++) {
    }
    g_assert_cmpuint(i, ==, a->len);
}

static void assert_whole(const Ernic *e)
{
    GString *why = g_string_new(NULL);

    ernic_check(e, why);
    g_assert_cmpstr(why->str, ==, "");
    g_string_free(why, true);
}

/* A freshly made device. */
static Ernic *fresh(FakeEnv *env)
{
    ErnicConfig cfg;

    fake_config(&cfg);
    return ernic_new(&cfg, &fake_env_ops, env);
}

/* The busy device has every kind of state that can be saved. */
BUSY_TEST("/state/busy", test_busy)
{
    Ernic *e;

    e = b->e;
    assert_whole(e);
    g_assert_cmpuint(e->eq[b->async.eqn].line_count, >=, 2);
    g_assert_cmpuint(e->port_events.pending, !=, 0);
    g_assert_cmpuint(e->num_pages, ==, 12 + 2 * 512);
    g_assert_cmpuint(e->num_bound, ==, 1);
    g_assert_true(e->tx->busy);
    g_assert_cmpuint(e->tx->packets, >, 0);
    g_assert_cmpuint(e->tx->loop_len, >, 0);
    g_assert_cmpuint(e->ready.head, !=, 0);
    g_assert_cmpuint(e->cq_timers->count, ==, 1);
    g_assert_cmpuint(e->timers->count, >, 0);
    g_assert_cmpuint(e->qp[b->in.qpn].rq.open, ==, ERNIC_CL_SEND);
    g_assert_true(e->qp[b->in.qpn].rq.recv_valid);
    g_assert_cmpuint(e->qp[b->rd.qpn].ack.rd_pending, ==, 1);
    g_assert_cmpuint(e->qp[b->out.qpn].sq.fetched -
                     e->qp[b->out.qpn].sq.wq.ci, >=, 4);
    g_assert_cmpuint(e->qp[b->out.qpn].sq.una_psn, !=,
                     e->qp[b->out.qpn].sq.max_psn);
}

/* Values that are not stored are the same after loading, too. */
static void assert_fields(const ErnicStateStruct *of, const uint8_t *a,
                          const uint8_t *b)
{
    uint32_t i, k;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        for (k = 0; f->kind == ERNIC_SK_STRUCT && k < f->num; k++) {
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
    uint32_t i, id;

    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        for (id = t->first; id < ernic_state_table_size(a, t); id++) {
            const void *obj = ernic_state_entry(a, t, id);

            if (ernic_state_in_use(t, obj)) {
                assert_fields(t->of, obj, ernic_state_entry(b, t, id));
            }
        }
    }
    g_assert_cmpuint(a->num_pages, ==, b->num_pages);
    g_assert_cmpuint(a->num_bound, ==, b->num_bound);
    g_assert_cmpmem(a->uctx_used, sizeof(a->uctx_used), b->uctx_used,
                    sizeof(b->uctx_used));
}

BUSY_TEST("/state/round-trip", test_round_trip)
{
    GByteArray *first, *second;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    e = fresh(&env);
    first = save(b->e);
    g_assert_true(ernic_load(e, b->env.now, first->data, first->len));
    g_assert_cmpuint(env.wake, <=, b->env.now);
    assert_whole(e);
    second = save(e);
    assert_same(first, second);
    assert_derived(b->e, e);
    /* And into a device that has state of its own. */
    g_assert_true(ernic_load(b->peer, b->env.now, first->data, first->len));
    g_byte_array_free(second, true);
    second = save(b->peer);
    assert_same(first, second);
    g_byte_array_free(first, true);
    g_byte_array_free(second, true);
    ernic_free(e);
    fake_env_fini(&env);
}

TEST("/state/empty", test_empty)
{
    GByteArray *first, *second;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    e = fresh(&env);
    first = save(e);
    g_assert_true(ernic_load(e, 5, first->data, first->len));
    second = save(e);
    assert_same(first, second);
    g_byte_array_free(first, true);
    g_byte_array_free(second, true);
    ernic_free(e);
    fake_env_fini(&env);
}

/* The same continuation: link ready again, all requests acknowledged or none. */
static void drive(Ernic *e, FakeEnv *env)
{
    int i;

    env->tx_busy = false;
    ernic_tx_ready(e, env->now);
    for (i = 0; i < 20; i++) {
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
        g_assert_cmpuint(x->now, ==, y->now);
        g_assert_cmpmem(x->train.data, x->train.len, y->train.data,
                        y->train.len);
        fake_train_free(x);
        fake_train_free(y);
        n++;
    }
    g_assert_null(fake_take_train(b));
    g_assert_cmpuint(n, >, 5);
}

/* A device continues in another place exactly as it would have in its own. */
BUSY_TEST("/state/continues", test_continues)
{
    GByteArray *first, *second;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    drop_trains(&b->env);
    memcpy(env.mem, b->env.mem, FAKE_MEM_SIZE);
    env.now = b->env.now;
    e = fresh(&env);
    first = save(b->e);
    g_assert_true(ernic_load(e, env.now, first->data, first->len));
    g_byte_array_free(first, true);
    drive(b->e, &b->env);
    drive(e, &env);
    assert_whole(b->e);
    assert_same_trains(&b->env, &env);
    first = save(b->e);
    second = save(e);
    assert_same(first, second);
    g_assert_cmpmem(b->env.mem, FAKE_MEM_SIZE, env.mem, FAKE_MEM_SIZE);
    g_byte_array_free(first, true);
    g_byte_array_free(second, true);
    ernic_free(e);
    fake_env_fini(&env);
}

/* ---- hostile bytes ---------------------------------------------------------- */

static void assert_empty(const Ernic *e, const GByteArray *empty)
{
    GByteArray *now = save(e);

    assert_same(now, empty);
    g_byte_array_free(now, true);
}

BUSY_TEST("/state/truncated", test_truncated)
{
    GByteArray *state, *empty;
    FakeEnv env;
    Ernic *e;
    guint len;

    fake_env_init(&env);
    e = fresh(&env);
    empty = save(e);
    state = save(b->e);
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
    for (len = 0; len < state->len; len += g_test_slow() ? 1 : 101) {
        uint8_t *copy = g_memdup2(state->data, len);

        g_assert_false(ernic_load(e, 7, copy, len));
        g_free(copy);
    }
    g_assert_cmpuint(ernic_trace_count("ernic_load_refused"), >, 50);
    assert_empty(e, empty);
    /* One byte too many. */
    g_byte_array_append(state, (const guint8 *)"", 1);
    g_assert_false(ernic_load(e, 7, state->data, state->len));
    assert_empty(e, empty);
    g_byte_array_free(state, true);
    g_byte_array_free(empty, true);
    ernic_free(e);
    fake_env_fini(&env);
}

/* Magic, format, configuration: another device, or another format. */
BUSY_TEST("/state/foreign", test_foreign)
{
    GByteArray *state;
    ErnicConfig cfg;
    FakeEnv env;
    Ernic *e;
    guint at;

    fake_env_init(&env);
    fake_config(&cfg);
    cfg.max_qp++;
    e = ernic_new(&cfg, &fake_env_ops, &env);
    state = save(b->e);
    g_assert_false(ernic_load(e, 7, state->data, state->len));
    ernic_free(e);
    e = fresh(&env);
    for (at = 0; at < 12; at++) {
        state->data[at] ^= 1;
        g_assert_false(ernic_load(e, 7, state->data, state->len));
        state->data[at] ^= 1;
    }
    g_assert_true(ernic_load(e, 7, state->data, state->len));
    g_byte_array_free(state, true);
    ernic_free(e);
    fake_env_fini(&env);
}

/* A section whose declared length exceeds its content. */
TEST("/state/sections", test_sections)
{
    static const char *const tags[] = {
        "conf", "devi", "pd\0", "eq\0", "cq\0", "srq", "mr\0", "qp\0", "mcas",
        "flow", "rss", "coun", "tx\0",
    };
    GByteArray *state, *description = g_byte_array_new();
    uint32_t i, at = 12;
    FakeEnv env;
    Ernic *e;
    Busy b;

    ernic_state_describe(description, 0);
    at += description->len;
    g_byte_array_free(description, true);
    busy_init(&b);
    fake_env_init(&env);
    e = fresh(&env);
    state = save(b.e);
    for (i = 0; i < ARRAY_SIZE(tags); i++) {
        uint64_t len = ldq_le_p(state->data + at + 4);
        uint32_t next = at + 12 + len;
        GByteArray *copy = g_byte_array_new();

        g_assert_cmpint(memcmp(state->data + at, tags[i], 4), ==, 0);
        g_byte_array_append(copy, state->data, next);
        g_byte_array_append(copy, (const guint8 *)"\0\0\0\0", 4);
        g_byte_array_append(copy, state->data + next, state->len - next);
        g_assert_false(ernic_load(e, 7, copy->data, copy->len));
        stq_le_p(copy->data + at + 4, len + 4);
        g_assert_false(ernic_load(e, 7, copy->data, copy->len));
        stq_le_p(copy->data + at + 4, UINT64_MAX);
        g_assert_false(ernic_load(e, 7, copy->data, copy->len));
        g_byte_array_free(copy, true);
        at = next;
    }
    g_assert_cmpuint(at, ==, state->len);
    g_byte_array_free(state, true);
    ernic_free(e);
    fake_env_fini(&env);
    busy_fini(&b);
}

/*
 * An accepted state is safe to work with: it can be saved again, and no later action of
 * software or wire triggers an assertion.
 */
static void exercise(Ernic *e, FakeEnv *env, const Busy *b,
                     const ErnicTrain *train)
{
    GByteArray *state = save(e);
    uint32_t qpn, i;

    g_assert_true(ernic_load(e, b->env.now, state->data, state->len));
    g_byte_array_free(state, true);
    assert_whole(e);
    env->now = b->env.now;
    env->tx_busy = false;
    ernic_tx_ready(e, env->now);
    ernic_rx(e, env->now, train);
    for (i = 0; i < 30; i++) {
        ernic_run(e, env->now);
        env->now += 10000000;
    }
    for (qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (e->qp[qpn].used) {
            ernic_doorbell(e, env->now, e->qp[qpn].uctx,
                           ERNIC_DB(ERNIC_DB_SQ, qpn, e->qp[qpn].sq.wq.pi + 1));
            fake_modify_qp(e, qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL);
        }
    }
    for (i = 0; i < 5; i++) {
        ernic_run(e, env->now);
    }
    for (qpn = 1; qpn < e->cfg.max_qp; qpn++) {
        if (e->qp[qpn].used && e->qp[qpn].uctx == 0) {
            fake_destroy(e, ERNIC_CMD_QP_DESTROY, qpn);
        }
    }
    assert_whole(e);
}

BUSY_TEST("/state/mutated", test_mutated)
{
    GByteArray *state, *empty;
    FakeTrain *train;
    FakeEnv env;
    Ernic *e;
    guint at, step, accepted = 0, refused = 0, k;

    fake_env_init(&env);
    memcpy(env.mem, b->env.mem, FAKE_MEM_SIZE);
    e = fresh(&env);
    empty = save(e);
    state = save(b->e);
    fake_send(b->peer, &b->peer_rd, ERNIC_WR_SEND, 0, b->peer_buf, 900,
              b->peer_key);
    fake_run(b->peer);
    train = fake_take_train(&b->peer_env);
    /* Another part of the bytes each time; testing all of them takes minutes. */
    step = g_test_slow() ? 1 : 23;
    at = 12 + g_test_rand_int_range(0, step);
    for (; at < state->len; at += step) {
        uint8_t was = state->data[at];
        const uint8_t values[] = {
            was ^ (1 << (at % 8)), 0xff, was + 1, 0x80, 0,
        };

        k = g_test_slow() ? ARRAY_SIZE(values) : 2;
        while (k--) {
            state->data[at] = values[k];
            if (ernic_load(e, b->env.now, state->data, state->len)) {
                exercise(e, &env, b, &train->train);
                accepted++;
            } else {
                refused++;
            }
        }
        state->data[at] = was;
        drop_trains(&env);
    }
    g_test_message("%u accepted, %u refused", accepted, refused);
    g_assert_cmpuint(accepted, >, 100);
    g_assert_cmpuint(refused, >, 100);
    g_assert_false(ernic_load(e, 7, state->data, 12));
    assert_empty(e, empty);
    fake_train_free(train);
    g_byte_array_free(state, true);
    g_byte_array_free(empty, true);
    ernic_free(e);
    fake_env_fini(&env);
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
    uint8_t byte;

    for (byte = 0; byte <= 2; byte++) {
        ErnicReader in = { .data = &byte, .left = 1, .stream = &stream };

        g_assert_cmpint(ernic_state_load_struct(NULL, &of, NULL, &in), ==, byte <= 1);
        g_assert_cmpuint(in.left, ==, 0);
    }
    ernic_state_save_struct(NULL, &of, NULL, out);
    g_assert_cmpmem(out->data, out->len, "", 1);
    g_byte_array_unref(out);
    g_string_free(stream.why, true);
}
