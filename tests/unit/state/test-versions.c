/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * States of a release with fewer rows, elements, structures, sections or registers
 * load, and the missing part has its reset value; states with more are refused, with a
 * reason that names the excess.
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "pg332_card.h"
#include "state/state.h"
#include "transport/qp.h"
#include "transport/tx.h"

#define HEAD        12          /* magic and format */
#define SECTIONS    30          /* the highest that this release knows */

/* @state has to load, or to be refused with a reason that contains @why. */
static void load(Ernic *e, const GByteArray *state, const char *why)
{
    g_autoptr(GString) found = g_string_new(NULL);
    bool ok = ernic_load_why(e, fake_env_of(e)->now, state->data, state->len, found);

    g_test_message("%s", found->str);
    if (why) {
        g_assert_false(ok);
        g_assert_nonnull(strstr(found->str, why));
    } else {
        g_assert_cmpstr(found->str, ==, "");
        g_assert_true(ok);
    }
    fake_check(e);
}

/* ---- a writer of another release --------------------------------------------- */

/*
 * It stores @elements of row @row of structure @of, and with 0 elements none of the
 * later rows.
 */
typedef struct Other {
    const char *of, *row;
    uint32_t elements;
    uint32_t structs, sections;         /* 0: all */
} Other;

static uint32_t row_number(const ErnicStateStruct *of, const char *row)
{
    uint32_t i;

    for (i = 0; i < of->num_fields && strcmp(of->field[i].name, row) != 0; i++) {
    }
    g_assert_cmpuint(i, <, of->num_fields);
    return i;
}

/*
 * Structures that the writer does not know came into the rows of others later: it does
 * not have these rows, and none of the later ones.
 */
static bool is_later(const Other *o, const ErnicStateStruct *of, uint32_t i)
{
    for (uint32_t k = 0; k <= i; k++) {
        if (o->structs && of->field[k].kind == ERNIC_SK_STRUCT &&
            of->field[k].of->id >= MAX(o->structs, ERNIC_SS_last_ack)) {
            return true;
        }
    }
    return false;
}

static uint32_t elements(const Other *o, const ErnicStateStruct *of, uint32_t i)
{
    uint32_t row;

    if (is_later(o, of, i)) {
        return 0;
    }
    if (!o->of || strcmp(o->of, of->name) != 0) {
        return of->field[i].num;
    }
    row = row_number(of, o->row);
    return i < row || (i > row && o->elements) ? of->field[i].num :
           i == row ? o->elements : 0;
}

static void put_struct(const Other *o, const Ernic *e, const ErnicStateStruct *of,
                       const void *obj, GByteArray *out)
{
    for (uint32_t i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];
        const uint8_t *p = (const uint8_t *)obj + f->offset;

        for (uint32_t k = 0; k < elements(o, of, i); k++) {
            switch (f->kind) {
            case ERNIC_SK_STRUCT:
                put_struct(o, e, f->of, p + k * f->size, out);
                break;
            case ERNIC_SK_OWNED:
                f->owned->save(f, e, obj, out);
                break;
            case ERNIC_SK_RETIRED:
                ernic_state_put(out, 0, 1);
                break;
            case ERNIC_SK_DERIVED:
                break;
            default:
                ernic_state_put(out, ldn_he_p(p + k * f->size, f->size), f->size);
                break;
            }
        }
    }
}

static void put_description(const Other *o, GByteArray *out)
{
    uint32_t structs = o->structs ? o->structs : ernic_state_num_structs;

    ernic_state_put(out, o->sections ? o->sections : SECTIONS, 4);
    ernic_state_put(out, structs, 4);
    for (uint32_t s = 0; s < structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];
        uint32_t rows = 0, n = 0;

        for (uint32_t i = 0; i < of->num_fields; i++) {
            rows += of->field[i].kind != ERNIC_SK_DERIVED && elements(o, of, i) > 0;
        }
        ernic_state_put(out, rows, 2);
        for (uint32_t i = 0; i < of->num_fields && n < rows; i++) {
            if (of->field[i].kind != ERNIC_SK_DERIVED) {
                ernic_state_put(out, elements(o, of, i), 2);
                n++;
            }
        }
    }
}

static guint begin(GByteArray *out, const char *name)
{
    char tag[5] = "";

    g_strlcpy(tag, name, sizeof(tag));
    g_byte_array_append(out, (const guint8 *)tag, 4);
    ernic_state_put(out, 0, 8);
    return out->len;
}

static void put_section(const Other *o, const Ernic *e, const char *name,
                        const ErnicStateStruct *of, const void *obj, GByteArray *out)
{
    guint start = begin(out, name);

    put_struct(o, e, of, obj, out);
    stq_le_p(out->data + start - 8, out->len - start);
}

static void put_table(const Other *o, const Ernic *e, const ErnicStateTable *t,
                      GByteArray *out)
{
    guint start = begin(out, t->name);

    for (uint32_t id = t->first; id < ernic_state_table_given(e, t); id++) {
        const void *obj = ernic_state_entry(e, t, id);

        if (ernic_state_in_use(t, obj)) {
            ernic_state_put(out, id, 4);
            put_struct(o, e, t->of, obj, out);
        }
    }
    stq_le_p(out->data + start - 8, out->len - start);
}

/* The state of @e, a device without PG332 and timing model, as @o writes it. */
static GByteArray *write_as(const Other *o, const Ernic *e)
{
    uint32_t sections = o->sections ? o->sections : SECTIONS, i;
    g_autoptr(GByteArray) now = fake_saved(e);
    GByteArray *out = g_byte_array_new();

    g_byte_array_append(out, now->data, HEAD);
    put_description(o, out);
    put_section(o, e, "config", &ernic_state_config, &e->cfg, out);
    put_section(o, e, "device", &ernic_state_device, e, out);
    for (i = 0; i < ernic_state_num_tables && i + 2 < sections &&
                ernic_state_table_base(e, &ernic_state_tables[i]); i++) {
        put_table(o, e, &ernic_state_tables[i], out);
    }
    if (i + 2 < sections) {
        put_section(o, e, "tx", &ernic_state_tx, e->tx, out);
    }
    if (!o->of && !o->structs && !o->sections) {
        /* With nothing left out this is an ordinary writer. */
        g_assert_cmpmem(now->data, now->len, out->data, out->len);
    }
    return out;
}

/* ---- shorter ---------------------------------------------------------------- */

static uint64_t last_counter(Ernic *e, uint64_t value)
{
    const ErnicStateStruct *of = ernic_state_structs[ERNIC_SS_stats];
    uint8_t *p = (uint8_t *)&e->stats + of->field[of->num_fields - 1].offset;

    if (value) {
        stn_he_p(p, 8, value);
    }
    return ldn_he_p(p, 8);
}

/* Rows at the end of a structure, and elements at the end of a row. */
BUSY_TEST("/state-versions/shorter", test_shorter)
{
    const ErnicStateStruct *stats = ernic_state_structs[ERNIC_SS_stats];
    const Other others[] = {
        { 0 },
        { "ErnicStats", stats->field[stats->num_fields - 1].name },
        { "ErnicStats", "drop", 3 },
        { "ErnicAckState", "count" },
        { "ErnicConfig", "pg332" },
        { "ErnicTrain", "frame", 1 },
        { "ErnicTx", "domain" },
        { "ErnicCq", "overwrites" },
        { "ErnicBuf", "pieces" },
    };

    last_counter(b->e, 77);
    b->e->stats.drop[2] = 5;
    b->e->stats.drop[3] = 6;
    b->e->qp[b->in.qpn].ack.count = 9;
    for (uint32_t i = 0; i < ARRAY_SIZE(others); i++) {
        const Other *o = &others[i];
        g_autoptr(GByteArray) state = write_as(o, b->e), again = NULL;

        g_test_message("%s", o->row ? o->row : "all");
        load(b->peer, state, NULL);
        IS(last_counter(b->peer, 0), i == 1 ? 0 : 77);
        IS(b->peer->stats.drop[2], 5);
        IS(b->peer->stats.drop[3], i == 2 ? 0 : 6);
        IS(b->peer->qp[b->in.qpn].ack.count, i == 3 ? 0 : 9);
        again = write_as(o, b->peer);
        g_assert_cmpmem(state->data, state->len, again->data, again->len);
    }
}

/* Two devices; one of them has a protection domain. */
typedef struct Two {
    FakeEnv env[2];
    Ernic *one, *other;
} Two;

static void open_two(Two *t)
{
    t->one = fake_ernic_new(&t->env[0]);
    t->other = fake_ernic_new(&t->env[1]);
    fake_create_pd(t->one);
}

#define TWO_TEST(path, fn) \
    WORLD_TEST(path, fn, Two, t, open_two(t), fake_ernic_done(&t->env[0], t->one); \
               fake_ernic_done(&t->env[1], t->other))

/* Sections and structures at the end of their lists. */
TWO_TEST("/state-versions/fewer", test_fewer)
{
    static const Other others[] = {
        { .structs = ERNIC_SS_wc },             /* without the timing model's */
        { .sections = 13 },                     /* up to "tx" */
        { .sections = 11 },                     /* without counters and "tx" */
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(others); i++) {
        g_autoptr(GByteArray) state = write_as(&others[i], t->one);

        fake_create_uctx(t->other);
        load(t->other, state, NULL);
        g_assert_true(t->other->pd[1].used);
    }
}

typedef struct Sample {
    uint8_t kept;
    uint32_t num;
    bool flag;
    uint16_t list[3];
} Sample;

#define S Sample
static const ErnicStateField sample_fields[] = {
    U(kept), U(num, .def = 1000), BOOL(flag, .def = 1),
    ROWS(list, UINT, .max = UINT64_MAX, .def = 3),
};
#undef S
static const ErnicStateStruct sample = {
    .name = "Sample", .id = ERNIC_SS_config, .size = sizeof(Sample),
    .field = sample_fields, .num_fields = G_N_ELEMENTS(sample_fields),
};

/* A row may have another default than 0. */
TEST("/state-versions/default", test_default)
{
    uint32_t rows[] = { 1, 0, 0, 1 }, *all[] = { rows };
    ErnicStateStream stream = { .elements = all, .why = g_string_new(NULL) };
    const uint8_t bytes[] = { 42, 0x34, 0x12 };
    ErnicReader in = { .data = bytes, .left = sizeof(bytes), .stream = &stream };
    Sample s = { 0 };

    g_assert_true(ernic_state_load_struct(NULL, &sample, &s, &in));
    IS(in.left, 0);
    IS(s.kept, 42);
    IS(s.num, 1000);
    g_assert_true(s.flag);
    IS(s.list[0], 0x1234);
    IS(s.list[1], 3);
    IS(s.list[2], 3);
    g_string_free(stream.why, true);
}

/* ---- longer, and wrong -------------------------------------------------------- */

static guint description_len(void)
{
    g_autoptr(GByteArray) out = g_byte_array_new();

    ernic_state_describe(out, SECTIONS);
    return out->len;
}

/* The offset of the description of structure @id, which begins with its rows. */
static guint rows_at(const GByteArray *state, uint32_t id)
{
    guint at = HEAD + 8;

    while (id--) {
        at += 2 + 2 * lduw_le_p(state->data + at);
    }
    return at;
}

/* One more row, of one element; or one more element in the first row. */
TWO_TEST("/state-versions/longer", test_longer)
{
    static const char why[] = "newer release saved it";
    g_autoptr(GByteArray) state = fake_saved(t->one);

    for (uint32_t s = 0; s < ernic_state_num_structs; s++) {
        g_autoptr(GByteArray) more = g_byte_array_new();
        guint at = rows_at(state, s), rows = lduw_le_p(state->data + at);
        guint after = at + 2 + 2 * rows;

        g_byte_array_append(more, state->data, after);
        g_byte_array_append(more, (const guint8 *)"\1", 2);
        g_byte_array_append(more, state->data + after, state->len - after);
        stw_le_p(more->data + at, rows + 1);
        load(t->one, more, why);

        stw_le_p(state->data + at + 2, lduw_le_p(state->data + at + 2) + 1);
        load(t->one, state, why);
        stw_le_p(state->data + at + 2, lduw_le_p(state->data + at + 2) - 1);
    }
    stl_le_p(state->data + HEAD, SECTIONS + 1);
    load(t->one, state, why);
    stl_le_p(state->data + HEAD, UINT32_MAX);
    load(t->one, state, why);
    stl_le_p(state->data + HEAD, SECTIONS);
    stl_le_p(state->data + HEAD + 4, UINT32_MAX);
    load(t->one, state, why);
    stl_le_p(state->data + HEAD + 4, ernic_state_num_structs);
    load(t->one, state, NULL);
    IS(rows_at(state, ernic_state_num_structs), HEAD + description_len());
}

/* Memory that objects own is never left out, nor are the main structures of sections. */
BUSY_TEST("/state-versions/missing", test_missing)
{
    static const struct {
        Other other;
        const char *why;
    } cases[] = {
        { { "ErnicQp", "rd" }, "ErnicQp.rd is missing" },
        { { "ErnicSendQueue", "wqe" }, "ErnicSendQueue.wqe is missing" },
        { { "Ernic", "mr" }, "Ernic.mr is missing" },
        { { "ErnicQp", "sq" }, "ErnicQp.sq is missing" },
        { { .structs = ERNIC_SS_qp }, "ErnicQp is not described" },
        { { .structs = ERNIC_SS_path }, "ErnicTx is not described" },
        { { "ErnicConfig", "max_qp" }, "another max_qp than here" },
        { { "ErnicPd", "used" }, "pd 0x1 is not in use" },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autoptr(GByteArray) state = write_as(&cases[i].other, b->e);

        load(b->peer, state, cases[i].why);
    }
}

/* ---- free numbers -------------------------------------------------------------- */

/*
 * An older release has all free numbers in their order. Those at its beginning that look
 * as if they were never given out may have been: then they have variants.
 */
TEST("/state-versions/free-numbers", test_free_numbers)
{
    static const uint8_t order[] = { 5, 6, 7, 1, 2, 3, 4 };
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    ErnicStateStream stream = { };
    ErnicReader in;
    FakeEnv env;
    Ernic *e = FAKE_ERNIC(&env, cfg.max_mr = 8);

    ernic_state_put(bytes, ARRAY_SIZE(order), 4);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        ernic_state_put(bytes, order[i], 4);
    }
    ernic_state_put(bytes, 8, 4);
    for (int i = 0; i < 8; i++) {
        ernic_state_put(bytes, 10 + i, 1);
    }
    in = (ErnicReader) { .data = bytes->data, .left = bytes->len, .stream = &stream };
    g_assert_true(ernic_state_free_ids.load(NULL, e, &e->mr_ids, &in));
    g_assert_true(ernic_state_variants.load(NULL, e, e, &in));
    IS(in.left, 0);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        IS(e->mr[order[i]].variant, 10 + order[i]);
        IS(ernic_ids_alloc(&e->mr_ids), order[i]);
    }
    ernic_free(e);
    fake_env_fini(&env);
}

/* ---- registers of PG332 ------------------------------------------------------ */

static uint32_t buf_rkey(const Card *c)
{
    return *ernic_regfile_at(c->e->regs, ERNIC_REG_REGION, REGION, PG332_BUFRKEY);
}

/*
 * A release that did not know a register of a region: the register gets its reset
 * value. A register that does not exist here is refused.
 */
CARD_TEST("/state-versions/registers", PG332_V4_2, test_registers)
{
    g_autoptr(GByteArray) state = g_byte_array_new(), less = g_byte_array_new();
    guint at = HEAD + description_len(), section, is_reg, num, words, i, k, gone;
    const uint8_t *p;

    put_region(c, PG332_BUFRKEY, 0x77);
    ernic_save(c->e, state);
    at += 12 + ldq_le_p(state->data + at + 4);          /* the configuration */
    section = at;
    g_assert_cmpmem(state->data + at, 4, "devi", 4);
    num = ldl_le_p(state->data + at + 12);
    words = ldl_le_p(state->data + at + 16);
    is_reg = at + 20;
    gone = is_reg + PG332_BUFRKEY / 4;
    IS(state->data[gone], 1);

    g_byte_array_append(less, state->data, is_reg + words);
    less->data[gone] = 0;
    p = state->data + is_reg + words;
    for (i = 0; i < num; i++) {
        for (k = 0; k < words; k++) {
            if (state->data[is_reg + k]) {
                g_byte_array_append(less, p, is_reg + k == gone ? 0 : 4);
                p += 4;
            }
        }
    }
    g_byte_array_append(less, p, state->data + state->len - p);
    stq_le_p(less->data + section + 4, ldq_le_p(less->data + section + 4) - 4 * num);
    load(c->e, less, NULL);
    IS(buf_rkey(c), 0);
    load(c->e, state, NULL);
    IS(buf_rkey(c), 0x77);

    /* The block of global registers, which comes next, has holes. */
    is_reg = p + 8 - state->data;
    words = ldl_le_p(p + 4);
    for (k = 0; state->data[is_reg + k]; k++) {
    }
    g_assert_cmpuint(k, <, words);
    state->data[is_reg + k] = 1;
    load(c->e, state, "it has more registers");
    state->data[is_reg + k] = 0;
    stl_le_p(state->data + is_reg - 4, words + 1);
    load(c->e, state, "it has more registers");
}
