/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saving and loading: the walk over the descriptions, and the order of the
 * sections. What is loaded is hostile until ernic_check() has passed it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/timer.h"
#include "engine.h"
#include "faces/pg332/pg332.h"
#include "faces/pg332/side_stream.h"
#include "objects/cq.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "state/state.h"
#include "steering/flow.h"
#include "trace.h"
#include "transport/qp.h"
#include "transport/tx.h"
#include "wire/icrc.h"

#define STATE_MAGIC     0x5473436943494e52ull

/* ---- numbers and bytes ----------------------------------------------------- */

void ernic_state_put(GByteArray *out, uint64_t v, uint32_t size)
{
    uint8_t le[8];

    stq_le_p(le, v);
    g_byte_array_append(out, le, size);
}

bool ernic_state_has(ErnicReader *in, uint64_t n, uint32_t size)
{
    if (in->failed || n > in->left / size) {
        in->failed = true;
    }
    return !in->failed;
}

void ernic_state_read_bytes(ErnicReader *in, void *to, uint32_t n)
{
    if (!ernic_state_has(in, n, 1)) {
        memset(to, 0, n);
        return;
    }
    memcpy(to, in->data, n);
    in->data += n;
    in->left -= n;
}

uint64_t ernic_state_read(ErnicReader *in, uint32_t size)
{
    uint8_t le[8] = { 0 };

    ernic_state_read_bytes(in, le, size);
    return ldq_le_p(le);
}

static void store(void *p, uint32_t size, uint64_t v)
{
    switch (size) {
    case 1:
        *(uint8_t *)p = v;
        break;
    case 2:
        *(uint16_t *)p = v;
        break;
    case 4:
        *(uint32_t *)p = v;
        break;
    default:
        *(uint64_t *)p = v;
        break;
    }
}

/* ---- structures ------------------------------------------------------------ */

static void save_field(const Ernic *e, const ErnicStateField *f,
                       const void *obj, GByteArray *out)
{
    const uint8_t *p = (const uint8_t *)obj + f->offset;
    uint32_t i;

    switch ((ErnicStateKind)f->kind) {
    case ERNIC_SK_UINT:
    case ERNIC_SK_BOOL:
        for (i = 0; i < f->num; i++) {
            ernic_state_put(out, ernic_state_get(p + i * f->size, f->size),
                            f->size);
        }
        break;
    case ERNIC_SK_BYTES:
        g_byte_array_append(out, p, f->num);
        break;
    case ERNIC_SK_STRUCT:
        for (i = 0; i < f->num; i++) {
            ernic_state_save_struct(e, f->of, p + i * f->size, out);
        }
        break;
    case ERNIC_SK_OWNED:
        f->owned->save(e, obj, out);
        break;
    case ERNIC_SK_DERIVED:
        break;
    }
}

void ernic_state_save_struct(const Ernic *e, const ErnicStateStruct *of,
                             const void *obj, GByteArray *out)
{
    uint32_t i;

    for (i = 0; i < of->num_fields; i++) {
        save_field(e, &of->field[i], obj, out);
    }
}

static bool load_field(Ernic *e, const ErnicStateField *f, void *obj,
                       ErnicReader *in)
{
    uint8_t *p = (uint8_t *)obj + f->offset;
    uint64_t v;
    uint32_t i;

    for (i = 0; i < f->num; i++) {
        switch ((ErnicStateKind)f->kind) {
        case ERNIC_SK_UINT:
            store(p + i * f->size, f->size, ernic_state_read(in, f->size));
            break;
        case ERNIC_SK_BOOL:
            v = ernic_state_read(in, 1);
            if (v > 1) {
                return false;
            }
            *(bool *)(p + i * f->size) = v;
            break;
        case ERNIC_SK_BYTES:
            ernic_state_read_bytes(in, p, f->num);
            return !in->failed;
        case ERNIC_SK_STRUCT:
            if (!ernic_state_load_struct(e, f->of, p + i * f->size, in)) {
                return false;
            }
            break;
        case ERNIC_SK_OWNED:
            return f->owned->load(e, obj, in) && !in->failed;
        case ERNIC_SK_DERIVED:
            break;
        }
    }
    return !in->failed;
}

bool ernic_state_load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                             ErnicReader *in)
{
    uint32_t i;

    for (i = 0; i < of->num_fields; i++) {
        if (!load_field(e, &of->field[i], obj, in)) {
            return false;
        }
    }
    return true;
}

/* ---- sections -------------------------------------------------------------- */

/* Four bytes of its name and how long it is, filled in by the caller. */
static guint begin(GByteArray *out, const char *name)
{
    char tag[4] = { 0 };

    memcpy(tag, name, MIN(strlen(name), sizeof(tag)));
    g_byte_array_append(out, (const guint8 *)tag, sizeof(tag));
    ernic_state_put(out, 0, 8);
    return out->len;
}

static void end(GByteArray *out, guint start)
{
    stq_le_p(out->data + start - 8, out->len - start);
}

/* The section that has to come next, as a reader of its own. */
static bool enter(ErnicReader *in, const char *name, ErnicReader *section)
{
    char tag[4] = { 0 }, found[4];
    uint64_t len;

    memcpy(tag, name, MIN(strlen(name), sizeof(tag)));
    ernic_state_read_bytes(in, found, sizeof(found));
    len = ernic_state_read(in, 8);
    if (memcmp(found, tag, sizeof(tag)) != 0 || !ernic_state_has(in, len, 1)) {
        return false;
    }
    *section = (ErnicReader) { .data = in->data, .left = len };
    in->data += len;
    in->left -= len;
    return true;
}

static void save_struct(const Ernic *e, const ErnicStateStruct *of,
                        const void *obj, const char *name, GByteArray *out)
{
    guint start = begin(out, name);

    ernic_state_save_struct(e, of, obj, out);
    end(out, start);
}

static bool load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                        const char *name, ErnicReader *in)
{
    ErnicReader section;

    return enter(in, name, &section) &&
           ernic_state_load_struct(e, of, obj, &section) && !section.left;
}

/* Objects in use: number and contents, by ascending number. */
static void save_table(const Ernic *e, const ErnicStateTable *t,
                       GByteArray *out)
{
    uint32_t size = ernic_state_table_size(e, t), id;
    guint start = begin(out, t->name);

    for (id = t->first; id < size; id++) {
        const void *obj = ernic_state_entry(e, t, id);

        if (ernic_state_in_use(t, obj)) {
            ernic_state_put(out, id, 4);
            ernic_state_save_struct(e, t->of, obj, out);
        }
    }
    end(out, start);
}

static bool load_table(Ernic *e, const ErnicStateTable *t, ErnicReader *in)
{
    uint32_t size = ernic_state_table_size(e, t), next = t->first, id;
    ErnicReader section;

    if (!enter(in, t->name, &section)) {
        return false;
    }
    while (section.left) {
        void *obj;

        id = ernic_state_read(&section, 4);
        if (section.failed || id < next || id >= size) {
            return false;
        }
        obj = ernic_state_entry(e, t, id);
        if (!ernic_state_load_struct(e, t->of, obj, &section) ||
            !ernic_state_in_use(t, obj)) {
            return false;
        }
        next = id + 1;
    }
    return true;
}

static uint32_t version(const Ernic *e)
{
    return e->timing ? ERNIC_STATE_VERSION_TIMING : ERNIC_STATE_VERSION;
}

void ernic_save(const Ernic *e, GByteArray *out)
{
    uint32_t i;

    ernic_state_put(out, STATE_MAGIC, 8);
    ernic_state_put(out, version(e), 4);
    save_struct(e, &ernic_state_config, &e->cfg, "config", out);
    save_struct(e, &ernic_state_device, e, "device", out);
    for (i = 0; i < ernic_state_num_tables; i++) {
        save_table(e, &ernic_state_tables[i], out);
    }
    save_struct(e, &ernic_state_tx, e->tx, "tx", out);
    if (e->side) {
        save_struct(e, &ernic_state_side, e->side, "side", out);
    }
    if (e->timing) {
        guint start = begin(out, "time");

        ernic_state_save_timing(e, out);
        end(out, start);
    }
    if (e->strict) {
        guint start = begin(out, "rule");

        ernic_state_save_strict(e, out);
        end(out, start);
    }
}

/* The configuration is not taken over: it has to be the one we have. */
static bool same_config(Ernic *e, ErnicReader *in)
{
    GByteArray *own = g_byte_array_new();
    ErnicReader section;
    bool same;

    ernic_state_save_struct(e, &ernic_state_config, &e->cfg, own);
    same = enter(in, "config", &section) && section.left == own->len &&
           memcmp(section.data, own->data, own->len) == 0;
    g_byte_array_free(own, true);
    return same;
}

/* What has DERIVED rows and is not set where it is loaded. */
static void derive(Ernic *e)
{
    uint32_t i;

    memset(e->uctx_used, 0, sizeof(e->uctx_used));
    for (i = 1; i < e->uctx_ids.size && i <= ERNIC_LIM_UCTX; i++) {
        e->uctx_used[i] = true;
    }
    for (i = 0; i < e->uctx_ids.count; i++) {
        e->uctx_used[e->uctx_ids.fifo[i]] = false;
    }
    e->num_bound = 0;
    for (i = 1; i < e->cfg.max_mr; i++) {
        e->num_bound += e->mr[i].valid && e->mr[i].kind == ERNIC_MR_WINDOW_2;
    }
    e->num_groups = ernic_mcast_groups(e);
    e->page_failed = true;              /* who looks finds out */
    for (i = 1; i <= ERNIC_LIM_FLOW; i++) {
        e->num_flows += e->flow[i].used;
    }
    for (i = 1; i < e->cfg.max_cq; i++) {
        if (e->cq[i].used) {
            ernic_timer_set(e->cq_timers, i, e->cq[i].mod_due);
        }
    }
    for (i = 1; i < e->cfg.max_qp; i++) {
        if (e->qp[i].used) {
            ernic_timer_set(e->timers, i, e->qp[i].timer_due);
        }
    }
    if (e->regs) {
        ernic_pg332_restore(e);
    }
    /* More packets may join those that are held. */
    if (e->tx->packets) {
        ernic_icrc_init(&e->tx->icrc, &e->tx->path);
    }
}

static bool load_all(Ernic *e, ErnicReader *in)
{
    ErnicReader timing, strict;
    uint32_t i;

    if (ernic_state_read(in, 8) != STATE_MAGIC ||
        ernic_state_read(in, 4) != version(e) || !same_config(e, in) ||
        !load_struct(e, &ernic_state_device, e, "device", in)) {
        return false;
    }
    for (i = 0; i < ernic_state_num_tables; i++) {
        if (!load_table(e, &ernic_state_tables[i], in)) {
            return false;
        }
    }
    if (!load_struct(e, &ernic_state_tx, e->tx, "tx", in) ||
        (e->side &&
         !load_struct(e, &ernic_state_side, e->side, "side", in))) {
        return false;
    }
    if (e->timing && (!enter(in, "time", &timing) ||
                      !ernic_state_load_timing(e, &timing) || timing.left)) {
        return false;
    }
    if (e->strict && (!enter(in, "rule", &strict) ||
                      !ernic_state_load_strict(e, &strict) || strict.left)) {
        return false;
    }
    return !in->left;
}

bool ernic_load(Ernic *e, uint64_t now, const uint8_t *data, size_t len)
{
    ErnicReader in = { .data = data, .left = len };
    GString *why = g_string_new(NULL);
    bool ok;

    ernic_reset(e);
    e->now = now;
    ok = load_all(e, &in);
    if (ok) {
        derive(e);
        ok = ernic_check(e, why);
    } else {
        g_string_printf(why, "format, %zu bytes before the end", in.left);
    }
    if (ok) {
        trace_ernic_load(len);
        e->ops->wake_at(e->env, now);
    } else {
        trace_ernic_load_refused(why->str);
        ernic_reset(e);
    }
    g_string_free(why, true);
    return ok;
}
