/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state: the descriptions account for every byte, a saved state can be loaded and
 * continues as before, and no loaded value is trusted.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "busy.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "steering/flow.h"
#include "steering/flow_tables.h"
#include "base/timer.h"
#include "faces/mlx5/ethernet.h"
#include "faces/mlx5/mlx5.h"
#include "faces/pg332/side_stream.h"
#include "faces/pg332/strict.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/wq.h"
#include "state/description.h"
#include "state/state.h"
#include "steering/rss.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "trace-mark.h"
#include "transport/tx.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

/* ---- descriptions ----------------------------------------------------------- */

/* For each byte, the number of rows that claim it. */
static uint8_t *claims(const ErnicStateStruct *of)
{
    uint8_t *claim = g_new0(uint8_t, of->size);
    uint32_t i, k;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        g_assert_cmpuint(f->offset + f->size * f->num, <=, of->size);
        for (k = 0; k < f->size * f->num; k++) {
            claim[f->offset + k]++;
        }
    }
    return claim;
}

/* No two rows claim a byte, and unclaimed gaps are too small for a field. */
static void test_rows(void)
{
    uint32_t s, i, gap;

    for (s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];
        uint8_t *claim = claims(of);

        g_assert_cmpuint(of->id, ==, s);
        for (i = gap = 0; i < of->size; i++) {
            g_assert_cmpuint(claim[i], <=, 1);
            gap = claim[i] ? 0 : gap + 1;
            g_assert_cmpuint(gap, <, 8);
        }
        for (i = 0; i < of->num_fields; i++) {
            const ErnicStateField *f = &of->field[i];

            g_test_message("%s.%s", of->name, f->name);
            g_assert_true(f->kind != ERNIC_SK_STRUCT || f->of);
            g_assert_true(!f->of || f->kind == ERNIC_SK_STRUCT ||
                          f->kind == ERNIC_SK_OWNED);
            g_assert_cmpint(f->kind == ERNIC_SK_OWNED, ==, f->owned != NULL);
            g_assert_cmpint(f->kind == ERNIC_SK_UINT, ==, f->max != 0);
            if (f->kind == ERNIC_SK_STRUCT) {
                g_assert_cmpuint(f->of->size, ==, f->size);
            }
            g_assert_cmpuint(f->num, <=, UINT16_MAX);
            if (f->kind == ERNIC_SK_UINT) {
                g_assert_true(f->size == 1 || f->size == 2 || f->size == 4 ||
                              f->size == 8);
            }
        }
        g_free(claim);
    }
}

/*
 * All fields that are not stored, each for the reason in its row. Do not add a field
 * without such a reason.
 */
static void test_derived_rows(void)
{
    static const char *const names[] = {
        "ErnicConfig.udp_sport", "ErnicConfig.timing",
        "ErnicConfig.timing_trace",
        "ErnicConfig.link_speed", "ErnicConfig.max_memory", "ErnicConfig.face",
        "ErnicConfig.mlx5", "ErnicConfig.raw", "ErnicConfig.no_icrc",
        "ErnicIds.size", "ErnicIds.head", "ErnicIds.count", "ErnicRing.count",
        "Ernic.ops",
        "Ernic.env", "Ernic.cfg", "Ernic.face", "Ernic.keys",
        "Ernic.cqes", "Ernic.eqs", "Ernic.strict", "Ernic.pd",
        "Ernic.eq",
        "Ernic.cq", "Ernic.srq", "Ernic.qp", "Ernic.mcast", "Ernic.flow",
        "Ernic.num_flows",
        "Ernic.num_groups", "Ernic.rss", "Ernic.counter", "Ernic.uctx_used",
        "Ernic.num_pages", "Ernic.mem", "Ernic.num_bound", "Ernic.page_failed",
        "Ernic.copies", "Ernic.job", "Ernic.remains", "Ernic.work_done", "Ernic.work_end",
        "Ernic.num_gids", "Ernic.gid_changes", "Ernic.eq_more",
        "Ernic.udp_sport",
        "Ernic.events_at", "Ernic.timers", "Ernic.cq_timers", "Ernic.tx",
        "Ernic.side", "Ernic.timing", "Ernic.now", "Ernic.absent",
        "Ernic.rx_fault",
        "Ernic.rx_pkt", "Ernic.mlx5", "Ernic.mlx5_eth", "Ernic.flow_tables",
        "ErnicEq.line_size", "ErnicEq.line_head",
        "ErnicEq.line_count", "ErnicMcast.first", "ErnicMcast.next", "ErnicWqe.unit",
        "ErnicSendQueue.window_mask", "ErnicSendQueue.taken", "ErnicQp.ring_prev",
        "ErnicTrain.ip",
        "ErnicTrain.alt_sgid", "ErnicTrain.alt_dgid", "ErnicTrain.num_alt_sgid",
        "ErnicTrain.num_alt_dgid", "ErnicTrain.path_final",
        "ErnicTrain.data", "ErnicTrain.serial", "ErnicTx.busy",
        "ErnicTx.loop_full", "ErnicTx.icrc", "ErnicTx.loop_pos", "ErnicTx.loop_len",
        "ErnicTx.taken", "ErnicTx.departed", "ErnicTx.looks",
        "ErnicLimit.size", "ErnicLimit.held", "ErnicLevel.size", "ErnicLevel.count",
        "ErnicTimedRetry.held", "ErnicTimedRetry.line", "ErnicTimedRetry.waits",
        "ErnicTimedRetry.qps", "ErnicTimedRetry.head", "ErnicTimedRetry.count",
        "ErnicLru.prev", "ErnicLru.count", "ErnicLru.ids", "ErnicLru.entries",
        "ErnicDelayFifo.slot", "ErnicDelayFifo.due", "ErnicDelayFifo.size",
        "ErnicDelayFifo.slots", "ErnicDelayFifo.head", "ErnicDelayFifo.count",
        "ErnicTiming.p", "ErnicTiming.trace", "ErnicTiming.what",
        "ErnicTiming.places", "ErnicTiming.under_way", "ErnicTiming.link_busy",
        "ErnicTiming.loop_full", "ErnicMlx5Function.config",
        "ErnicMlx5Function.engine", "ErnicMlx5Capabilities.limits",
        "ErnicMlx5CommandQueue.ops",
        "ErnicMlx5CommandQueue.env", "ErnicMlx5CommandQueue.mem",
        "ErnicMlx5CommandQueue.execute", "ErnicMlx5CommandQueue.opaque",
        "ErnicMlx5CommandQueue.out", "ErnicMlx5Eth.sq", "ErnicMlx5Eth.rq",
        "ErnicMlx5Eth.tir", "ErnicMlx5Eth.tis", "ErnicMlx5Eth.rqt",
        "ErnicMlx5Eth.send", "ErnicMlx5Eth.flush",
        "ErnicFlowTable.num_groups", "ErnicFlowTable.group",
        "ErnicFlowTables.num_entries", "ErnicFlowTables.table",
        "ErnicFlowTables.group", "ErnicFlowTables.entry", "ErnicFlowTables.counter",
        "ErnicFlowTables.order",
    };
    uint32_t s, i, n = 0;

    for (s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];

        for (i = 0; i < of->num_fields; i++) {
            char *name = g_strdup_printf("%s.%s", of->name, of->field[i].name);

            if (of->field[i].kind == ERNIC_SK_DERIVED) {
                g_assert_cmpuint(n, <, ARRAY_SIZE(names));
                g_assert_cmpstr(name, ==, names[n++]);
            }
            g_free(name);
        }
    }
    g_assert_cmpuint(n, ==, ARRAY_SIZE(names));
}

/*
 * The compiler reports the bytes of a structure that belong to no field: all others
 * must be claimed. This finds new fields without a row. After an array of structures
 * gcc 12 loses track of the padding, so that four structures are checked only up to
 * one.
 */
#if __has_builtin(__builtin_clear_padding)
/* @obj has @size bytes, of which those of padding are 0. */
static void every_byte(const char *name, const uint8_t *obj, size_t size,
                       uint32_t bytes)
{
    const ErnicStateStruct *of = NULL;
    uint8_t *claim;
    uint32_t i;

    for (i = 0; i < ernic_state_num_structs; i++) {
        if (strcmp(ernic_state_structs[i]->name, name) == 0) {
            of = ernic_state_structs[i];
        }
    }
    g_assert_nonnull(of);
    g_assert_cmpuint(of->size, ==, size);
    claim = claims(of);
    for (i = 0; i < bytes; i++) {
        if (!claim[i] && obj[i]) {
            g_error("byte %u of %s has no row", i, name);
        }
    }
    g_free(claim);
}

#define CHECK(type, bytes)                                                  \
    do {                                                                    \
        type *obj = g_malloc(sizeof(type));                                 \
        memset(obj, 0xff, sizeof(type));                                    \
        __builtin_clear_padding(obj);                                       \
        every_byte(#type, (const uint8_t *)obj, sizeof(type), bytes);       \
        g_free(obj);                                                        \
        checked++;                                                          \
    } while (0)

static uint32_t every_byte_of_timing(void)
{
    uint32_t checked = 0;

    CHECK(ErnicStageState, sizeof(ErnicStageState));
    CHECK(ErnicCost, sizeof(ErnicCost)); CHECK(ErnicPcie, sizeof(ErnicPcie));
    CHECK(ErnicProfile, sizeof(ErnicProfile)); CHECK(ErnicLimit, sizeof(ErnicLimit));
    CHECK(ErnicLevel, sizeof(ErnicLevel));
    CHECK(ErnicTimedRetry, sizeof(ErnicTimedRetry)); CHECK(ErnicLru, sizeof(ErnicLru));
    CHECK(ErnicDelayFifo, sizeof(ErnicDelayFifo));
    CHECK(ErnicTimedResponse, sizeof(ErnicTimedResponse));
    CHECK(ErnicTimedDoorbell, sizeof(ErnicTimedDoorbell));
    CHECK(ErnicTimedPacket, sizeof(ErnicTimedPacket));
    CHECK(ErnicTimedCqe, sizeof(ErnicTimedCqe));
    CHECK(ErnicTiming, offsetof(ErnicTiming, places));
    return checked;
}

/* The first padding of ErnicMlx5 is after several arrays. */
static uint32_t every_byte_of_mlx5(void)
{
    uint32_t checked = 0;

    CHECK(ErnicMlx5, sizeof(ErnicMlx5));
    CHECK(ErnicMlx5Function, sizeof(ErnicMlx5Function));
    CHECK(ErnicMlx5Capabilities, sizeof(ErnicMlx5Capabilities));
    CHECK(ErnicMlx5Vport, sizeof(ErnicMlx5Vport));
    CHECK(ErnicMlx5CommandQueue, sizeof(ErnicMlx5CommandQueue));
    CHECK(ErnicMlx5Entry, sizeof(ErnicMlx5Entry));
    CHECK(ErnicMlx5Chain, sizeof(ErnicMlx5Chain));
    CHECK(ErnicMlx5Queues, sizeof(ErnicMlx5Queues));
    CHECK(ErnicMlx5Qp, sizeof(ErnicMlx5Qp)); CHECK(ErnicMlx5Cq, sizeof(ErnicMlx5Cq));
    CHECK(ErnicMlx5Srq, sizeof(ErnicMlx5Srq));
    CHECK(ErnicMlx5Contexts, sizeof(ErnicMlx5Contexts));
    CHECK(ErnicMlx5EthQueue, sizeof(ErnicMlx5EthQueue));
    CHECK(ErnicMlx5Tir, sizeof(ErnicMlx5Tir)); CHECK(ErnicMlx5Tis, sizeof(ErnicMlx5Tis));
    CHECK(ErnicMlx5Rqt, sizeof(ErnicMlx5Rqt)); CHECK(ErnicMlx5Eth, sizeof(ErnicMlx5Eth));
    CHECK(ErnicFlowTable, sizeof(ErnicFlowTable));
    CHECK(ErnicFlowGroup, sizeof(ErnicFlowGroup));
    CHECK(ErnicFlowDest, sizeof(ErnicFlowDest));
    CHECK(ErnicFlowEntry, sizeof(ErnicFlowEntry));
    CHECK(ErnicFlowCounter, sizeof(ErnicFlowCounter));
    CHECK(ErnicFlowTables, sizeof(ErnicFlowTables));
    return checked;
}

static void test_every_byte(void)
{
    uint32_t checked = every_byte_of_timing() + every_byte_of_mlx5();

    CHECK(ErnicConfig, sizeof(ErnicConfig));
    CHECK(ErnicGidEntry, sizeof(ErnicGidEntry));
    CHECK(ErnicPageFault, sizeof(ErnicPageFault));
    CHECK(ErnicEvents, sizeof(ErnicEvents)); CHECK(ErnicStats, sizeof(ErnicStats));
    CHECK(ErnicIds, sizeof(ErnicIds)); CHECK(ErnicRing, sizeof(ErnicRing));
    CHECK(Ernic, offsetof(Ernic, gid)); CHECK(ErnicBuf, sizeof(ErnicBuf));
    CHECK(ErnicPd, sizeof(ErnicPd)); CHECK(ErnicRss, sizeof(ErnicRss));
    CHECK(ErnicQpStats, sizeof(ErnicQpStats));
    CHECK(ErnicCounter, sizeof(ErnicCounter)); CHECK(ErnicEq, sizeof(ErnicEq));
    CHECK(ErnicCq, sizeof(ErnicCq)); CHECK(ErnicWq, sizeof(ErnicWq));
    CHECK(ErnicSrq, sizeof(ErnicSrq)); CHECK(ErnicMr, sizeof(ErnicMr));
    CHECK(ErnicMcast, sizeof(ErnicMcast)); CHECK(ErnicFlow, sizeof(ErnicFlow));
    CHECK(struct ernic_flow_key, sizeof(struct ernic_flow_key));
    CHECK(ErnicSge, sizeof(ErnicSge)); CHECK(ErnicWc, sizeof(ErnicWc));
    CHECK(struct ernic_av, sizeof(struct ernic_av));
    CHECK(struct ernic_wqe_ud, sizeof(struct ernic_wqe_ud));
    CHECK(struct ernic_wqe_reg_mr, sizeof(struct ernic_wqe_reg_mr));
    CHECK(struct ernic_wqe_bind_mw, sizeof(struct ernic_wqe_bind_mw));
    CHECK(ErnicMrUpdate, sizeof(ErnicMrUpdate));
    CHECK(ErnicWqe, sizeof(ErnicWqe)); CHECK(ErnicRecv, sizeof(ErnicRecv));
    CHECK(ErnicAv, sizeof(ErnicAv)); CHECK(ErnicQpAttr, sizeof(ErnicQpAttr));
    CHECK(ErnicSendQueue, sizeof(ErnicSendQueue));
    CHECK(ErnicRdRes, sizeof(ErnicRdRes));
    CHECK(ErnicRecvQueue, offsetof(ErnicRecvQueue, recv));
    CHECK(ErnicAckState, sizeof(ErnicAckState)); CHECK(ErnicCc, sizeof(ErnicCc));
    CHECK(ErnicSide, sizeof(ErnicSide)); CHECK(ErnicQp, offsetof(ErnicQp, rq));
    CHECK(ErnicPath, sizeof(ErnicPath)); CHECK(ErnicTx, sizeof(ErnicTx));
    CHECK(ErnicTrain, sizeof(ErnicTrain));
    CHECK(ErnicLastAck, sizeof(ErnicLastAck));
    CHECK(ErnicLeftAck, sizeof(ErnicLeftAck));
    CHECK(ErnicViolation, sizeof(ErnicViolation));
    CHECK(ErnicStrict, sizeof(ErnicStrict));
    g_assert_cmpuint(checked, ==, ernic_state_num_structs);
}
#undef CHECK
#else
static void test_every_byte(void)
{
    g_test_skip("the compiler has no __builtin_clear_padding");
}
#endif

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
static void test_busy(void)
{
    Busy b;
    Ernic *e;

    busy_init(&b);
    e = b.e;
    assert_whole(e);
    g_assert_cmpuint(e->eq[b.async.eqn].line_count, >=, 2);
    g_assert_cmpuint(e->port_events.pending, !=, 0);
    g_assert_cmpuint(e->num_pages, ==, 12 + 2 * 512);
    g_assert_cmpuint(e->num_bound, ==, 1);
    g_assert_true(e->tx->busy);
    g_assert_cmpuint(e->tx->packets, >, 0);
    g_assert_cmpuint(e->tx->loop_len, >, 0);
    g_assert_cmpuint(e->ready.head, !=, 0);
    g_assert_cmpuint(e->cq_timers->count, ==, 1);
    g_assert_cmpuint(e->timers->count, >, 0);
    g_assert_cmpuint(e->qp[b.in.qpn].rq.open, ==, ERNIC_CL_SEND);
    g_assert_true(e->qp[b.in.qpn].rq.recv_valid);
    g_assert_cmpuint(e->qp[b.rd.qpn].ack.rd_pending, ==, 1);
    g_assert_cmpuint(e->qp[b.out.qpn].sq.fetched -
                     e->qp[b.out.qpn].sq.wq.ci, >=, 4);
    g_assert_cmpuint(e->qp[b.out.qpn].sq.una_psn, !=,
                     e->qp[b.out.qpn].sq.max_psn);
    busy_fini(&b);
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

static void test_round_trip(void)
{
    GByteArray *first, *second;
    FakeEnv env;
    Ernic *e;
    Busy b;

    busy_init(&b);
    fake_env_init(&env);
    e = fresh(&env);
    first = save(b.e);
    g_assert_true(ernic_load(e, b.env.now, first->data, first->len));
    g_assert_cmpuint(env.wake, <=, b.env.now);
    assert_whole(e);
    second = save(e);
    assert_same(first, second);
    assert_derived(b.e, e);
    /* And into a device that has state of its own. */
    g_assert_true(ernic_load(b.peer, b.env.now, first->data, first->len));
    g_byte_array_free(second, true);
    second = save(b.peer);
    assert_same(first, second);
    g_byte_array_free(first, true);
    g_byte_array_free(second, true);
    ernic_free(e);
    fake_env_fini(&env);
    busy_fini(&b);
}

static void test_empty(void)
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
static void test_continues(void)
{
    GByteArray *first, *second;
    FakeEnv env;
    Ernic *e;
    Busy b;

    busy_init(&b);
    fake_env_init(&env);
    drop_trains(&b.env);
    memcpy(env.mem, b.env.mem, FAKE_MEM_SIZE);
    env.now = b.env.now;
    e = fresh(&env);
    first = save(b.e);
    g_assert_true(ernic_load(e, env.now, first->data, first->len));
    g_byte_array_free(first, true);
    drive(b.e, &b.env);
    drive(e, &env);
    assert_whole(b.e);
    assert_same_trains(&b.env, &env);
    first = save(b.e);
    second = save(e);
    assert_same(first, second);
    g_assert_cmpmem(b.env.mem, FAKE_MEM_SIZE, env.mem, FAKE_MEM_SIZE);
    g_byte_array_free(first, true);
    g_byte_array_free(second, true);
    ernic_free(e);
    fake_env_fini(&env);
    busy_fini(&b);
}

/* ---- hostile bytes ---------------------------------------------------------- */

static void assert_empty(const Ernic *e, const GByteArray *empty)
{
    GByteArray *now = save(e);

    assert_same(now, empty);
    g_byte_array_free(now, true);
}

static void test_truncated(void)
{
    GByteArray *state, *empty;
    FakeEnv env;
    Ernic *e;
    Busy b;
    guint len;

    busy_init(&b);
    fake_env_init(&env);
    e = fresh(&env);
    empty = save(e);
    state = save(b.e);
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
    busy_fini(&b);
}

/* Magic, format, configuration: another device, or another format. */
static void test_foreign(void)
{
    GByteArray *state;
    ErnicConfig cfg;
    FakeEnv env;
    Ernic *e;
    Busy b;
    guint at;

    busy_init(&b);
    fake_env_init(&env);
    fake_config(&cfg);
    cfg.max_qp++;
    e = ernic_new(&cfg, &fake_env_ops, &env);
    state = save(b.e);
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
    busy_fini(&b);
}

/* A section whose declared length exceeds its content. */
static void test_sections(void)
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

static void test_mutated(void)
{
    GByteArray *state, *empty;
    FakeTrain *train;
    FakeEnv env;
    Ernic *e;
    Busy b;
    guint at, step, accepted = 0, refused = 0, k;

    busy_init(&b);
    fake_env_init(&env);
    memcpy(env.mem, b.env.mem, FAKE_MEM_SIZE);
    e = fresh(&env);
    empty = save(e);
    state = save(b.e);
    fake_send(b.peer, &b.peer_rd, ERNIC_WR_SEND, 0, b.peer_buf, 900,
              b.peer_key);
    fake_run(b.peer);
    train = fake_take_train(&b.peer_env);
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
            if (ernic_load(e, b.env.now, state->data, state->len)) {
                exercise(e, &env, &b, &train->train);
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
    busy_fini(&b);
}

/* The byte of a removed field: 0 in our states; any that it could have is ignored. */
static void test_retired_row(void)
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/state/rows", test_rows);
    g_test_add_func("/state/derived-rows", test_derived_rows);
    g_test_add_func("/state/retired-row", test_retired_row);
    g_test_add_func("/state/every-byte", test_every_byte);
    g_test_add_func("/state/busy", test_busy);
    g_test_add_func("/state/empty", test_empty);
    g_test_add_func("/state/round-trip", test_round_trip);
    g_test_add_func("/state/continues", test_continues);
    g_test_add_func("/state/truncated", test_truncated);
    g_test_add_func("/state/foreign", test_foreign);
    g_test_add_func("/state/sections", test_sections);
    g_test_add_func("/state/mutated", test_mutated);
    return g_test_run();
}
