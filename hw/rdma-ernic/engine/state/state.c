/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saving and loading: the sections of a stream and their order. The content of a
 * stream is hostile until ernic_check() has passed it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/timer.h"
#include "engine.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/strict.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/gid.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "state/spans.h"
#include "state/state.h"
#include "steering/flow.h"
#include "steering/flow_tables.h"
#include "timing/timing.h"
#include "trace.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"
#include "transport/tx.h"
#include "wire/icrc.h"

#define STATE_MAGIC     0x5473436943494e52ull

/* ---- the list of sections -------------------------------------------------- */

typedef struct Section {
    const char *tag;            /* 4 bytes of it are stored */
    const ErnicStateStruct *of; /* NULL: the objects of a table that are in use */
    uint32_t offset;            /* in Ernic: of it if embedded, else of its pointer */
    bool embedded;
    bool compare;               /* the structure has to be equal */
    bool always;                /* no writer had the structure and not the section */
    uint32_t table;             /* of ernic_state_tables[] */
} Section;

#define STRUCTURE(tag_, of_, member, ...) \
    { .tag = tag_, .of = &ernic_state_##of_, .offset = offsetof(Ernic, member), \
      __VA_ARGS__ }
#define TABLE(tag_, n, ...) { .tag = tag_, .table = n, __VA_ARGS__ }

/* A stream names how many of these its writer knew: a new one goes to the end. */
static const Section sections[] = {
    STRUCTURE("conf", config, cfg, .embedded = true, .compare = true, .always = true),
    { .tag = "devi", .of = &ernic_state_device, .embedded = true },
    TABLE("pd", 0), TABLE("eq", 1), TABLE("cq", 2), TABLE("srq", 3), TABLE("mr", 4),
    TABLE("qp", 5), TABLE("mcas", 6), TABLE("flow", 7), TABLE("rss", 8),
    TABLE("coun", 9),
    STRUCTURE("tx", tx, tx),
    STRUCTURE("side", side, side),
    { .tag = "prof", .of = &ernic_state_profile, .compare = true },  /* see find() */
    STRUCTURE("time", timing, timing),
    STRUCTURE("rule", strict, strict),
    STRUCTURE("mlx5", mlx5, mlx5, .always = true),
    STRUCTURE("ethe", mlx5_eth, mlx5_eth, .always = true),
    TABLE("sq", 10, .always = true), TABLE("rq", 11, .always = true),
    TABLE("tir", 12, .always = true), TABLE("tis", 13, .always = true),
    TABLE("rqt", 14, .always = true),
    STRUCTURE("stee", flow_tables, flow_tables, .always = true),
    TABLE("ftab", 15, .always = true), TABLE("fgro", 16, .always = true),
    TABLE("fent", 17, .always = true), TABLE("fcou", 18, .always = true),
    STRUCTURE("hand", handshake, handshake),
};

/* The structure of a section; NULL: an engine like this one has none, and no section. */
static void *find(const Ernic *e, const Section *s)
{
    char *member = (char *)e + s->offset;

    /* The one structure that another one points to. */
    if (s->of == &ernic_state_profile) {
        return e->timing ? (void *)e->timing->p : NULL;
    }
    return s->embedded ? member : *(void **)member;
}

static bool has_section(const Ernic *e, const Section *s)
{
    return s->of ? find(e, s) != NULL :
           ernic_state_table_base(e, &ernic_state_tables[s->table]) != NULL;
}

/* ---- saving ---------------------------------------------------------------- */

/*
 * Four bytes of its name, and its length, which end() fills in: with what was skipped.
 */
static guint begin(GByteArray *out, const char *name)
{
    char tag[4] = { 0 };

    memcpy(tag, name, MIN(strlen(name), sizeof(tag)));
    g_byte_array_append(out, (const guint8 *)tag, sizeof(tag));
    ernic_state_put(out, 0, 8);
    return out->len;
}

static uint64_t skipped_so_far(const Ernic *e)
{
    return e->precopy ? e->precopy->skipped : 0;
}

static void end(GByteArray *out, guint start, uint64_t skipped)
{
    stq_le_p(out->data + start - 8, out->len - start + skipped);
}

void ernic_save(const Ernic *e, GByteArray *out)
{
    uint32_t i;

    ernic_state_put(out, STATE_MAGIC, 8);
    ernic_state_put(out, ERNIC_STATE_FORMAT, 4);
    ernic_state_describe(out, G_N_ELEMENTS(sections));
    for (i = 0; i < G_N_ELEMENTS(sections) && out->len <= ERNIC_SAVE_END; i++) {
        const Section *s = &sections[i];
        uint64_t skipped = skipped_so_far(e);
        guint start;

        if (!has_section(e, s)) {
            continue;
        }
        start = begin(out, s->tag);
        if (s->of) {
            ernic_state_save_struct(e, s->of, find(e, s), out);
        } else {
            /* Objects in use: number and contents, by ascending number. */
            ernic_spans_save(e, s->table, out);
        }
        end(out, start, skipped_so_far(e) - skipped);
    }
}

/* ---- loading --------------------------------------------------------------- */

/* The section that has to come next, as a reader of its own. */
static bool enter(ErnicReader *in, const char *name, ErnicReader *section)
{
    char tag[4] = { 0 }, found[4];
    uint64_t len;

    memcpy(tag, name, MIN(strlen(name), sizeof(tag)));
    ernic_state_read_bytes(in, found, sizeof(found));
    len = ernic_state_read(in, 8);
    if (!ernic_state_has(in, len, 1)) {
        return false;
    }
    if (memcmp(found, tag, sizeof(tag)) != 0) {
        return ernic_state_refuse(in, "section %s is missing", name);
    }
    *section = *in;
    section->left = len;
    in->data += len;
    in->left -= len;
    return true;
}

/* The name of the first row of @of in which @a and @b differ; NULL: none. */
static const char *difference(Ernic *e, const ErnicStateStruct *of, const void *a,
                              const void *b)
{
    g_autoptr(GByteArray) one = g_byte_array_new(), other = g_byte_array_new();
    uint32_t i;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateStruct row = {
            .name = of->name, .id = of->id, .size = of->size,
            .num_fields = 1, .field = &of->field[i],
        };

        g_byte_array_set_size(one, 0);
        g_byte_array_set_size(other, 0);
        ernic_state_save_struct(e, &row, a, one);
        ernic_state_save_struct(e, &row, b, other);
        if (one->len != other->len ||
            (one->len && memcmp(one->data, other->data, one->len))) {
            return of->field[i].name;
        }
    }
    return NULL;
}

/* This is not taken over: it has to be what the engine has. */
static bool compare(Ernic *e, const Section *s, ErnicReader *in)
{
    g_autofree void *copy = g_malloc0(s->of->size);
    const char *name;

    if (!ernic_state_load_struct(e, s->of, copy, in)) {
        return false;
    }
    name = difference(e, s->of, find(e, s), copy);
    return !name || ernic_state_refuse(in, "another %s than here", name);
}

static bool load_table(Ernic *e, const ErnicStateTable *t, ErnicReader *in)
{
    uint32_t size = ernic_state_table_given(e, t), next = t->first, id;

    while (in->left) {
        void *obj;

        id = ernic_state_read(in, 4);
        if (in->failed || id < next || id >= size) {
            return ernic_state_refuse(in, "%s 0x%x does not exist", t->name, id);
        }
        obj = ernic_state_entry(e, t, id);
        if (!ernic_state_load_struct(e, t->of, obj, in)) {
            return false;
        }
        if (!ernic_state_in_use(t, obj)) {
            return ernic_state_refuse(in, "%s 0x%x is not in use", t->name, id);
        }
        next = id + 1;
    }
    return true;
}

static bool load_section(Ernic *e, const Section *s, ErnicReader *in)
{
    ErnicReader section;
    bool ok;

    if (!enter(in, s->tag, &section)) {
        return false;
    }
    ok = !s->of ? load_table(e, &ernic_state_tables[s->table], &section) :
         s->compare ? compare(e, s, &section) :
                      ernic_state_load_struct(e, s->of, find(e, s), &section);
    return ok && (section.left == 0 ||
                  ernic_state_refuse(in, "section %s is too long", s->tag));
}

/* Where in its ring each decoded request begins, and where the last one ends. */
static void derive_units(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t i;

    sq->taken = ernic_sq_done(sq);
    for (i = sq->wq.ci; i != sq->fetched; i++) {
        ErnicWqe *wqe = ernic_sq_slot(qp, i);

        wqe->unit = sq->taken;
        sq->taken += wqe->units;
    }
}

/* The fields of DERIVED rows that are not set where they are loaded. */
static void derive(Ernic *e)
{
    uint32_t i;

    memset(e->uctx_used, 0, sizeof(e->uctx_used));
    for (i = 1; i < e->uctx_ids.fresh && i <= ERNIC_LIM_UCTX; i++) {
        e->uctx_used[i] = true;
    }
    for (i = e->uctx_ids.head; i; i = e->uctx_ids.fifo[i]) {
        e->uctx_used[i] = false;
    }
    ernic_mr_derive(e);
    if (e->flow_tables) {
        ernic_flow_tables_derive(e->flow_tables);
        ernic_mlx5_eth_derive(e);
    }
    if (e->db_pages) {
        ernic_db_pages_derive(e);
    }
    ernic_gid_derive(e);
    ernic_mcast_derive(e);
    ernic_sched_derive(e);
    ernic_eq_derive(e);
    e->page_failed = true;              /* the next look corrects it */
    for (i = 1; i <= ERNIC_LIM_FLOW; i++) {
        if (e->flow[i].used) {
            ernic_flow_set_number(e, e->num_flows + 1);
        }
    }
    for (i = 1; i < e->cfg.max_cq; i++) {
        if (e->cq[i].used) {
            ernic_timer_set(e->cq_timers, i, e->cq[i].mod_due);
        }
    }
    for (i = 1; i < e->cfg.max_qp; i++) {
        if (e->qp[i].used) {
            ernic_timer_set(e->timers, i, e->qp[i].timer_due);
            ernic_retry_timer_derive(e, &e->qp[i]);
            derive_units(&e->qp[i]);
        }
    }
    if (e->regs) {
        ernic_pg332_restore(e);
        /* A pause of the source ends here: timers run once more. */
        e->resume = *ernic_pg332_reg(e, PG332_XRNIC_PAUSE_CONF) & PG332_PAUSE_ROCE ?
                    e->now : 0;
    }
    if (e->timing) {
        ernic_state_derive_timing(e);
    }
    ernic_state_derive_icrc(e);
    /* More packets may join those that are held. */
    if (e->tx->packets) {
        ernic_icrc_init(&e->tx->icrc, &e->tx->path);
    }
}

static bool load_all(Ernic *e, ErnicReader *in)
{
    uint32_t i;

    if (in->left > ernic_save_most(e)) {
        return ernic_state_refuse(in, "it is longer than any of this device");
    }
    if (ernic_state_read(in, 8) != STATE_MAGIC ||
        ernic_state_read(in, 4) != ERNIC_STATE_FORMAT) {
        return ernic_state_refuse(in, "it has another format");
    }
    if (!ernic_state_read_description(in, G_N_ELEMENTS(sections))) {
        return false;
    }
    for (i = 0; i < G_N_ELEMENTS(sections); i++) {
        const Section *s = &sections[i];

        if ((i < in->stream->sections || s->always) && has_section(e, s) &&
            !load_section(e, s, in)) {
            return false;
        }
    }
    return in->left == 0 ||
           ernic_state_refuse(in, "it has sections that this device has not");
}

bool ernic_load_why(Ernic *e, uint64_t now, const uint8_t *data, size_t len,
                    GString *why)
{
    ErnicStateStream stream = { .why = why };
    ErnicReader in = { .data = data, .left = len, .stream = &stream };
    bool ok;

    ernic_reset_at_once(e);     /* the state needs the room */
    e->now = now;
    e->touched = true;
    g_string_truncate(why, 0);
    ok = load_all(e, &in);
    if (ok) {
        derive(e);
        ok = ernic_check(e, why);
    }
    ernic_state_stream_fini(&stream);
    if (ok) {
        trace_ernic_load(len);
        e->ops->wake_at(e->env, now);
    } else {
        trace_ernic_load_refused(why->str);
        ernic_reset_at_once(e);
    }
    return ok;
}

bool ernic_load(Ernic *e, uint64_t now, const uint8_t *data, size_t len)
{
    g_autoptr(GString) why = g_string_new(NULL);

    return ernic_load_why(e, now, data, len, why);
}
