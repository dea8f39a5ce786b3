/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stored states of all releases, one folder of tests/data/state each, load for ever; so
 * do shorter ones. Longer ones are refused.
 *
 * usage: test-state-releases --write FOLDER
 * stores the rows and the states of this release, when it is made.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "busy.h"
#include "faces/pg332/side_stream.h"
#include "faces/pg332/strict.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "state/description.h"
#include "state/state.h"
#include "state_file.h"
#include "strict_card.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "transport/tx.h"

static const char *const releases[] = { "0.1.0" };

/* The profile of stored states with a timing model. Its values never change. */
#define NS(n) ((n) * 1000ull)
static const ErnicProfile profile = {
    .core_ps = NS(1), .host_ps = NS(2), .wire_mbps = 8000, .wire_extra = 24,
    .wire_min = 60, .wire_flight = NS(50), .wqe_batch = 4, .wqe_miss = NS(1000),
    .wqe_fetches = 1, .key_update = NS(500), .context_entries = 4,
    .context_miss = NS(30), .key_entries = 4, .key_miss = NS(20),
    .read_overlap = 2, .dma_requests = 4, .dma_request = 512, .tx_packets = 4,
    .rx_packets = 4, .outstanding = 64, .retry_packets = 64, .ack_coalesce = 1,
    .stage = {
        [ERNIC_STAGE_DOORBELL] = { NS(100), 1 },
        [ERNIC_STAGE_WQE] = { NS(10), 2 },
        [ERNIC_STAGE_TX_CONTEXT] = { NS(20), 1 },
        [ERNIC_STAGE_DMA_READ] = { NS(300), 1, 0, 32 },
        [ERNIC_STAGE_BUILD] = { NS(40), 2, 3, 64 },
        [ERNIC_STAGE_RECEIVE] = { NS(60), 400, 9, 32 },
        [ERNIC_STAGE_DMA_WRITE] = { NS(80), 1, 0, 16 },
        [ERNIC_STAGE_CQE] = { NS(900), 5 },
        [ERNIC_STAGE_INTERRUPT] = { NS(2000), 1 },
    },
};

static void assert_whole(const Ernic *e)
{
    g_autoptr(GString) why = g_string_new(NULL);

    ernic_check(e, why);
    g_assert_cmpstr(why->str, ==, "");
}

/* ---- stored states ---------------------------------------------------------- */

typedef struct Stored {
    const char *name;
    ErnicConfig cfg;            /* of the device that saved it */
    /* The states that --write stores; each function returns the time. */
    uint64_t (*make)(GByteArray *out);
    void (*check)(const Ernic *e);
} Stored;

static uint64_t make_verbs(GByteArray *out)
{
    uint64_t now;
    Busy b;

    busy_init(&b);
    ernic_save(b.e, out);
    now = b.env.now;
    busy_fini(&b);
    return now;
}

static uint32_t in_use(const Ernic *e, const char *name)
{
    uint32_t i, id, n = 0;

    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        for (id = t->first; id < ernic_state_table_size(e, t); id++) {
            n += strcmp(t->name, name) == 0 &&
                 ernic_state_in_use(t, ernic_state_entry(e, t, id));
        }
    }
    return n;
}

/* busy.h has the list. */
static void check_verbs(const Ernic *e)
{
    static const struct {
        const char *table;
        uint32_t num;
    } want[] = {
        { "pd", 3 }, { "eq", 2 }, { "cq", 3 }, { "srq", 2 }, { "mr", 7 },
        { "qp", 10 }, { "mcast", 1 }, { "flow", 1 }, { "rss", 1 }, { "counter", 2 },
    };
    uint32_t i, open = 0, reads = 0, requests = 0, moderated = 0, windows = 0;

    for (i = 0; i < ARRAY_SIZE(want); i++) {
        g_assert_cmpuint(in_use(e, want[i].table), ==, want[i].num);
    }
    for (i = 1; i < e->cfg.max_qp; i++) {
        const ErnicQp *qp = &e->qp[i];

        open += qp->used && qp->rq.open == ERNIC_CL_SEND && qp->rq.off == 1024;
        reads += qp->used && qp->ack.rd_pending == 1;
        requests += qp->used ? qp->sq.fetched - qp->sq.wq.ci : 0;
    }
    for (i = 1; i < e->cfg.max_cq; i++) {
        moderated += e->cq[i].used && e->cq[i].mod_pending == 1;
    }
    for (i = 1; i < e->cfg.max_mr; i++) {
        windows += e->mr[i].kind == ERNIC_MR_WINDOW_2 && e->mr[i].valid;
    }
    g_assert_cmpuint(open, ==, 2);
    g_assert_cmpuint(reads, ==, 1);
    g_assert_cmpuint(requests, >=, 6);
    g_assert_cmpuint(moderated, ==, 1);
    g_assert_cmpuint(windows, ==, 1);
    g_assert_cmpuint(e->num_pages, ==, 12 + 2 * 512);
    g_assert_cmpuint(e->tx->packets, >, 0);
    g_assert_cmpuint(e->tx->loop_len, >, 0);
    g_assert_cmpuint(e->stats.tx_packets, >, 5);
}

/* Two queue pairs of one device; run until all FIFOs of the model hold an entry. */
static uint64_t make_verbs_timing(GByteArray *out)
{
    FakeEnv env;
    FakeQp a, b;
    FakeCq cq;
    FakeEq eq;
    Ernic *e;
    uint32_t pd, key, n;
    uint64_t mem, now;

    fake_env_init(&env);
    e = fake_ernic_timed(&env, &profile);
    pd = fake_create_pd(e);
    mem = fake_alloc(&env, 65536, 4096);
    key = fake_reg_mr(e, pd, mem, 65536, ERNIC_ACCESS_LOCAL_WRITE |
                      ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ);
    fake_create_eq(e, &eq, 64, 3, false);
    fake_create_cq(e, &cq, 256, eq.eqn);
    fake_create_qp(e, &a, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_create_qp(e, &b, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_connect(e, &a, b.qpn, 1);
    fake_connect(e, &b, a.qpn, 1);
    for (n = 0; n < 60; n++) {
        const ErnicTiming *t = e->timing;

        if (n < 12) {
            fake_rdma(e, &a, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, mem, 1500, key,
                      mem + 8192, key);
            fake_rdma(e, &b, ERNIC_WR_READ, ERNIC_WR_SIGNALED, mem, 3000, key,
                      mem + 8192, key);
        } else if (n % 3 == 0) {
            fake_arm_cq(e, &cq, false);
        }
        if (t->doorbells.count && t->tx.count && t->rx.count && t->cqes.count) {
            break;
        }
        fake_advance(e, 700);
    }
    g_assert_cmpuint(n, <, 60);
    ernic_save(e, out);
    now = env.now;
    fake_ernic_done(&env, e);
    return now;
}

static void check_timing(const Ernic *e)
{
    const ErnicTiming *t = e->timing;

    g_assert_cmpuint(t->doorbells.count, >, 0);
    g_assert_cmpuint(t->tx.count, >, 0);
    g_assert_cmpuint(t->server[ERNIC_STAGE_DOORBELL].items, >, 0);
    g_assert_cmpuint(t->context.count, >, 0);
    g_assert_cmpuint(t->requests.count, >, 0);
}

static void check_verbs_timing(const Ernic *e)
{
    check_timing(e);
    g_assert_cmpuint(in_use(e, "qp"), ==, 2);
    g_assert_cmpuint(e->timing->rx.count, >, 0);
    g_assert_cmpuint(e->timing->cqes.count, >, 0);
    g_assert_cmpuint(e->timing->key.count, >, 0);
    g_assert_cmpuint(e->timing->retry.kept.count, >, 0);
}

static uint64_t make_pg332_timing(GByteArray *out)
{
    uint64_t now;
    uint32_t n;
    Card c;

    card_timing = &profile;
    card_open(&c, 0, PG332_V3_1);
    for (n = 0; n < 40 && !c.e->timing->tx.count; n++) {
        if (n < 3) {
            POST(&c, .opcode = WRITE, .laddr = c.mem, .len = 0x3000, .rkey = KEY,
                 .raddr = VA);
        }
        fake_advance(c.e, 400);
    }
    put_qp(&c, PG332_RQCI, 0);
    ernic_save(c.e, out);
    now = c.env.now;
    card_close(&c);
    card_timing = NULL;
    return now;
}

static void check_pg332(const Ernic *e, uint32_t qpn)
{
    g_assert_true(e->qp[qpn].used);
    g_assert_cmphex(*ernic_regfile_at(e->regs, ERNIC_REG_QP, qpn - 1, PG332_QPCONF) &
                    PG332_QPCONF_ENABLE, !=, 0);
    g_assert_cmphex(*ernic_regfile_at(e->regs, ERNIC_REG_GLOBAL, 0,
                                      PG332_XRNICCONF) & PG332_CONF_ENABLE, !=, 0);
    g_assert_nonnull(e->side);
}

static void check_pg332_timing(const Ernic *e)
{
    check_pg332(e, QPN);
    check_timing(e);
    g_assert_cmpuint(e->qp[QPN].sq.fetched - e->qp[QPN].sq.wq.ci, >, 0);
}

static uint64_t make_pg332_strict(GByteArray *out)
{
    uint64_t now;

    open_card(PG332_V4_2, ERNIC_STRICT_REPORT);
    bring_to(RUNNING);
    PLAY(W_Q(2, QDEPTH, 0x00080008));
    g_assert_cmpuint(all_counts(), >, 0);
    ernic_save(card.e, out);
    now = card.env.now;
    card_close(&card);
    return now;
}

static void check_pg332_strict(const Ernic *e)
{
    uint32_t rule, num = 0;

    check_pg332(e, 2);
    for (rule = 0; rule < ernic_num_rules; rule++) {
        num += e->strict->last[rule].count;
    }
    g_assert_cmpuint(num, >, 0);
    g_assert_cmphex(e->strict->told[2], !=, 0);
}

static const Stored stored[] = {
    { "verbs", { .max_qp = 64, .max_cq = 64, .max_srq = 16, .max_eq = 8, .max_mr = 256,
                 .max_pd = 32, .max_uctx = 8, .num_vectors = 8, .mtu = 5,
                 .link_speed = 40000, .raw = true }, make_verbs, check_verbs },
    { "verbs-timing", { .max_qp = 64, .max_cq = 64, .max_srq = 16, .max_eq = 8,
                        .max_mr = 256, .max_pd = 32, .max_uctx = 8, .num_vectors = 8,
                        .mtu = 5, .link_speed = 40000, .raw = true,
                        .timing = &profile }, make_verbs_timing, check_verbs_timing },
    { "pg332-timing", { .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1,
                        .max_mr = 1, .max_pd = 1, .max_uctx = 1, .num_vectors = 1,
                        .mtu = 5, .link_speed = 100000, .pg332 = 1 + PG332_V3_1,
                        .timing = &profile }, make_pg332_timing, check_pg332_timing },
    { "pg332-strict", { .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1,
                        .max_mr = 1, .max_pd = 1, .max_uctx = 1, .num_vectors = 1,
                        .mtu = 5, .link_speed = 100000, .pg332 = 1 + PG332_V4_2,
                        .strict = ERNIC_STRICT_REPORT },
      make_pg332_strict, check_pg332_strict },
};

/* Load @state into a new device, check its objects, and continue its work. */
static void load_stored(const Stored *s, uint64_t now, const GByteArray *state)
{
    g_autoptr(GString) why = g_string_new(NULL);
    FakeEnv env;
    Ernic *e;
    int i;

    fake_env_init(&env);
    env.now = now;
    e = ernic_new(&s->cfg, &fake_env_ops, &env);
    ernic_load_why(e, now, state->data, state->len, why);
    g_assert_cmpstr(why->str, ==, "");
    assert_whole(e);
    s->check(e);
    for (i = 0; i < 20; i++) {
        fake_advance(e, 20000000);
    }
    assert_whole(e);
    ernic_free(e);
    fake_env_fini(&env);
}

static void test_stored(void)
{
    uint32_t r, i;

    for (r = 0; r < ARRAY_SIZE(releases); r++) {
        for (i = 0; i < ARRAY_SIZE(stored); i++) {
            g_autofree char *path = g_strdup_printf("%s/state/%s/%s.txt", ERNIC_DATA,
                                                    releases[r], stored[i].name);
            uint64_t now;
            GByteArray *state = state_file_read(path, &now);

            g_test_message("%s", path);
            load_stored(&stored[i], now, state);
            g_byte_array_unref(state);
        }
    }
}

/* ---- rows of releases ------------------------------------------------------- */

static const char *const kinds[] = {
    [ERNIC_SK_UINT] = "uint", [ERNIC_SK_BOOL] = "bool", [ERNIC_SK_BYTES] = "bytes",
    [ERNIC_SK_STRUCT] = "struct", [ERNIC_SK_OWNED] = "owned",
};

/* The stored rows of @of, one per line; size of numbers, and elements, at the end. */
static void print_rows(const ErnicStateStruct *of, GString *text)
{
    uint32_t i;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        if (f->kind != ERNIC_SK_DERIVED) {
            g_string_append_printf(text, "%s.%s %s %s %u %u\n", of->name, f->name,
                                   kinds[f->kind], f->of ? f->of->name : "-",
                                   f->kind == ERNIC_SK_UINT ? f->size : 0, f->num);
        }
    }
}

static bool same_row(char *const *was, char *const *is, uint32_t words)
{
    uint32_t i;

    for (i = 0; i + 1 < words; i++) {
        if (!was[i] || !is[i] || strcmp(was[i], is[i]) != 0) {
            return false;
        }
    }
    return atoi(was[i]) <= atoi(is[i]);
}

/* @was is the list of a release: today's rows of each structure begin with it. */
static void assert_appended(const char *was)
{
    g_auto(GStrv) old = g_strsplit(was, "\n", -1);
    uint32_t s, n = 0, k;

    for (s = 0; s < ernic_state_num_structs && *old[n]; s++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *prefix = g_strconcat(ernic_state_structs[s]->name, ".", NULL);
        g_auto(GStrv) now = NULL;

        print_rows(ernic_state_structs[s], text);
        now = g_strsplit(text->str, "\n", -1);
        for (k = 0; g_str_has_prefix(old[n], prefix); k++, n++) {
            g_auto(GStrv) a = g_strsplit(old[n], " ", -1);
            g_auto(GStrv) b = g_strsplit(now[k], " ", -1);

            if (!same_row(a, b, 5)) {
                g_error("\"%s\" of a release is \"%s\" now: rows are only appended",
                        old[n], now[k]);
            }
        }
    }
    g_assert_cmpstr(old[n], ==, "");
    g_assert_null(old[n + 1]);
}

static void test_rows(void)
{
    uint32_t r;

    for (r = 0; r < ARRAY_SIZE(releases); r++) {
        g_autofree char *path = g_strdup_printf("%s/state/%s/rows.txt", ERNIC_DATA,
                                                releases[r]);
        g_autofree char *text = NULL;
        g_autoptr(GError) err = NULL;

        g_file_get_contents(path, &text, NULL, &err);
        g_assert_no_error(err);
        assert_appended(text);
    }
}

static int write_release(const char *folder)
{
    g_autofree char *rows = g_strconcat(folder, "/rows.txt", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    uint32_t i;

    for (i = 0; i < ernic_state_num_structs; i++) {
        print_rows(ernic_state_structs[i], text);
    }
    g_assert_true(g_file_set_contents(rows, text->str, text->len, NULL));
    for (i = 0; i < ARRAY_SIZE(stored); i++) {
        g_autofree char *path = g_strdup_printf("%s/%s.txt", folder, stored[i].name);
        GByteArray *state = g_byte_array_new();
        uint64_t now = stored[i].make(state);

        load_stored(&stored[i], now, state);
        state_file_write(path, now, state);
        g_byte_array_unref(state);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        return write_release(argv[2]);
    }
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/state-releases/rows", test_rows);
    g_test_add_func("/state-releases/stored", test_stored);
    return g_test_run();
}
