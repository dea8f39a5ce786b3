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
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/pg332/strict.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "state/state.h"
#include "pg332_card.h"
#include "stored_states.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "transport/tx.h"

/* The states that each has stored are the first ones of stored_states[]. */
static const struct {
    const char *name;
    uint32_t states;
} releases[] = { { "0.1.0", 4 } };

/* ---- stored states ---------------------------------------------------------- */

/* A file has the time in ns, 64 bits in little endian, and then the state. */
static GByteArray *read_state(const char *path, uint64_t *now)
{
    GByteArray *state;
    GError *err = NULL;
    char *data;
    gsize len;

    g_file_get_contents(path, &data, &len, &err);
    g_assert_no_error(err);
    state = g_byte_array_new_take((guint8 *)data, len);
    g_assert_cmpuint(len, >, sizeof(*now));
    *now = ldq_le_p(state->data);
    return g_byte_array_remove_range(state, 0, sizeof(*now));
}

static void write_state(const char *path, uint64_t now, const GByteArray *state)
{
    g_autoptr(GByteArray) file = g_byte_array_new();

    now = cpu_to_le64(now);
    g_byte_array_append(file, (const guint8 *)&now, sizeof(now));
    g_byte_array_append(file, state->data, state->len);
    g_assert_true(g_file_set_contents(path, (char *)file->data, file->len, NULL));
}

static uint32_t in_use(const Ernic *e, const char *name)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        for (uint32_t id = t->first; id < ernic_state_table_given(e, t); id++) {
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
    uint32_t open = 0, reads = 0, requests = 0, moderated = 0, windows = 0;

    for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
        IS(in_use(e, want[i].table), want[i].num);
    }
    for (uint32_t i = 1; i < e->cfg.max_qp; i++) {
        const ErnicQp *qp = &e->qp[i];

        open += qp->used && qp->rq.open == ERNIC_CL_SEND && qp->rq.off == 1024;
        reads += qp->used && qp->ack.rd_pending == 1;
        requests += qp->used ? qp->sq.fetched - qp->sq.wq.ci : 0;
    }
    for (uint32_t i = 1; i < e->cfg.max_cq; i++) {
        moderated += e->cq[i].used && e->cq[i].mod_pending == 1;
    }
    for (uint32_t i = 1; i < e->cfg.max_mr; i++) {
        windows += e->mr[i].kind == ERNIC_MR_WINDOW_2 && e->mr[i].valid;
    }
    IS(open, 2);
    IS(reads, 1);
    g_assert_cmpuint(requests, >=, 6);
    IS(moderated, 1);
    IS(windows, 1);
    IS(e->num_pages, 12 + 2 * 512);
    g_assert_cmpuint(e->tx->packets, >, 0);
    g_assert_cmpuint(e->tx->loop_len, >, 0);
    g_assert_cmpuint(e->stats.tx_packets, >, 5);
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
    IS(in_use(e, "qp"), 2);
    g_assert_cmpuint(e->timing->rx.count, >, 0);
    g_assert_cmpuint(e->timing->cqes.count, >, 0);
    g_assert_cmpuint(e->timing->key.count, >, 0);
    g_assert_cmpuint(e->timing->retry.kept.count, >, 0);
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

static void check_pg332_strict(const Ernic *e)
{
    uint32_t num = 0;

    check_pg332(e, 2);
    for (uint32_t rule = 0; rule < ernic_num_rules; rule++) {
        num += e->strict->last[rule].count;
    }
    g_assert_cmpuint(num, >, 0);
    g_assert_cmphex(e->strict->told[2], !=, 0);
}

static void check_mlx5(const Ernic *e)
{
    static const struct {
        const char *table;
        uint32_t num;
    } want[] = {
        { "pd", 2 }, { "eq", 2 }, { "cq", 1 }, { "srq", 2 }, { "mr", 3 }, { "qp", 3 },
        { "sq", 1 }, { "rq", 3 }, { "tir", 2 }, { "tis", 1 }, { "rqt", 1 },
        { "table", 2 }, { "group", 3 }, { "entry", 3 },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
        IS(in_use(e, want[i].table), want[i].num);
    }
    IS(e->mlx5->queue.stage, ERNIC_MLX5_QUEUE_READ);
    IS(e->mlx5->completed, 0x1c);
    /* Requests of two queue pairs, and the rest of a large packet. */
    IS(e->qp[2].sq.fetched, 1);
    IS(e->qp[4].sq.fetched, 1);
    IS(e->mlx5_eth->sq[1].pi, 2);
    g_assert_cmpuint(e->mlx5_eth->sq[1].sent, >, 0);
    g_assert_cmpuint(e->tx->packets, >, 0);
}

static void (*const checks[STORED_STATES])(const Ernic *e) = {
    check_verbs, check_verbs_timing, check_pg332_timing, check_pg332_strict, check_mlx5,
};

/* Load @state into a new device, check its objects, and continue its work. */
static void load_stored(uint32_t n, uint64_t now, const GByteArray *state)
{
    const StoredState *s = &stored_states[n];
    g_autoptr(GString) why = g_string_new(NULL);
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    env.now = now;
    e = ernic_new(&s->cfg, &fake_env_ops, &env);
    ernic_load_why(e, now, state->data, state->len, why);
    g_assert_cmpstr(why->str, ==, "");
    fake_check(e);
    checks[n](e);
    for (int i = 0; i < 20; i++) {
        fake_advance(e, 20000000);
    }
    fake_ernic_done(&env, e);
}

TEST("/state-releases/stored", test_stored)
{
    for (uint32_t r = 0; r < ARRAY_SIZE(releases); r++) {
        for (uint32_t i = 0; i < releases[r].states; i++) {
            g_autofree char *path = g_strdup_printf("%s/state/%s/%s", ERNIC_DATA,
                                                    releases[r].name,
                                                    stored_states[i].name);
            uint64_t now;
            g_autoptr(GByteArray) state = read_state(path, &now);

            g_test_message("%s", path);
            load_stored(i, now, state);
        }
    }
}

/* The rows that the next release will store. */
TEST("/state-releases/made", test_made)
{
    for (uint32_t i = 0; i < STORED_STATES; i++) {
        g_autoptr(GByteArray) state = g_byte_array_new();
        uint64_t now = stored_states[i].make(state);

        g_test_message("%s", stored_states[i].name);
        load_stored(i, now, state);
    }
}

/*
 * One bit of each 37th byte, in the short form of each 185th: what is accepted holds the
 * invariants, and loads again. The fuzz targets of saved states find the same defects.
 */
ROW_TEST("/state-releases/changed", stored_states, s, test_changed)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    uint64_t now = s->make(state);
    guint step = g_test_slow() ? 37 : 185;
    uint32_t accepted = 0, refused = 0;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    e = ernic_new(&s->cfg, &fake_env_ops, &env);
    for (guint at = 0; at < state->len; at += step) {
        state->data[at] ^= 1u << at % 8;
        if (ernic_load(e, now, state->data, state->len)) {
            g_autoptr(GByteArray) again = fake_saved(e);

            fake_check(e);
            g_assert_true(ernic_load(e, now, again->data, again->len));
            accepted++;
        } else {
            refused++;
        }
        state->data[at] ^= 1u << at % 8;
    }
    g_test_message("%u accepted, %u refused", accepted, refused);
    g_assert_cmpuint(accepted, >, 11100 / step);
    g_assert_cmpuint(refused, >, 2590 / step);
    fake_ernic_done(&env, e);
}

/* ---- rows of releases ------------------------------------------------------- */

#define LINE    90

static const char *const kinds[] = {
    [ERNIC_SK_UINT] = "uint", [ERNIC_SK_BOOL] = "bool", [ERNIC_SK_BYTES] = "bytes",
    [ERNIC_SK_STRUCT] = "struct", [ERNIC_SK_OWNED] = "owned",
    [ERNIC_SK_RETIRED] = "bool",
};

/* The name, without the word "struct" of some. */
static const char *name_of(const ErnicStateStruct *of)
{
    const char *blank = strchr(of->name, ' ');

    return blank ? blank + 1 : of->name;
}

/* Append @word to @text, on a new line if the last one has no room. */
static void add_word(GString *text, const char *word)
{
    const char *line = strrchr(text->str, '\n');
    size_t len = line ? strlen(line + 1) : text->len;

    if (len) {
        g_string_append_c(text, len + 1 + strlen(word) > LINE ? '\n' : ' ');
    }
    g_string_append(text, word);
}

/* The name of @of, and a word for each stored row; elements at the end. */
static void print_rows(const ErnicStateStruct *of, GString *text)
{
    g_autofree char *head = g_strconcat(name_of(of), ":", NULL);

    add_word(text, head);
    for (uint32_t i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];
        g_autoptr(GString) word = g_string_new(f->name);

        if (f->kind == ERNIC_SK_DERIVED) {
            continue;
        }
        g_string_append_printf(word, ":%s", kinds[f->kind]);
        if (f->kind == ERNIC_SK_UINT) {
            g_string_append_printf(word, "%u", 8 * f->size);
        }
        if (f->of) {
            g_string_append_printf(word, "(%s)", name_of(f->of));
        }
        if (f->num != 1) {
            g_string_append_printf(word, "*%u", f->num);
        }
        add_word(text, word->str);
    }
    g_string_append_c(text, '\n');
}

/* @is is the row @was, with as many elements or more. */
static bool same_row(const char *was, const char *is)
{
    size_t len = strcspn(was, "*");

    return is && strcspn(is, "*") == len && strncmp(was, is, len) == 0 &&
           (was[len] ? atoi(was + len + 1) : 1) <= (is[len] ? atoi(is + len + 1) : 1);
}

/* @was has the words of a release: today's of each structure begin with them. */
static void assert_appended(char *const *was)
{
    uint32_t k;

    for (uint32_t s = 0; s < ernic_state_num_structs && *was; s++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_auto(GStrv) now = NULL;

        print_rows(ernic_state_structs[s], text);
        now = g_strsplit_set(g_strchomp(text->str), "\n ", -1);
        for (k = 0; *was && (k == 0 || !g_str_has_suffix(*was, ":")); k++, was++) {
            if (!same_row(*was, now[k])) {
                g_error("\"%s\" of a release is \"%s\" now: rows are only appended",
                        *was, now[k]);
            }
        }
    }
    g_assert_null(*was);
}

TEST("/state-releases/rows", test_rows)
{
    for (uint32_t r = 0; r < ARRAY_SIZE(releases); r++) {
        g_autofree char *path = g_strdup_printf("%s/state/%s/rows.txt", ERNIC_DATA,
                                                releases[r].name);
        g_auto(GStrv) words = NULL;
        char *text;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        words = g_strsplit_set(g_strchomp(text), "\n ", -1);
        g_free(text);
        assert_appended(words);
    }
}

static int write_release(const char *folder)
{
    g_autofree char *rows = g_strconcat(folder, "/rows.txt", NULL);
    g_autoptr(GString) text = g_string_new(NULL);

    for (uint32_t i = 0; i < ernic_state_num_structs; i++) {
        print_rows(ernic_state_structs[i], text);
    }
    g_assert_true(g_file_set_contents(rows, text->str, text->len, NULL));
    for (uint32_t i = 0; i < STORED_STATES; i++) {
        g_autofree char *path = g_build_filename(folder, stored_states[i].name, NULL);
        g_autoptr(GByteArray) state = g_byte_array_new();
        uint64_t now = stored_states[i].make(state);

        load_stored(i, now, state);
        write_state(path, now, state);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        return write_release(argv[2]);
    }
    return unit_run(argc, argv);
}
