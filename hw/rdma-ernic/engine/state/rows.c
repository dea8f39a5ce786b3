/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The walk over the rows of a structure: to bytes, from the bytes of this release or
 * of an older one, and through the ranges.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "state/rows.h"

/* ---- saving ---------------------------------------------------------------- */

static void save_field(const Ernic *e, const ErnicStateField *f,
                       const void *obj, GByteArray *out)
{
    const uint8_t *p = (const uint8_t *)obj + f->offset;

    switch ((ErnicStateKind)f->kind) {
    case ERNIC_SK_UINT:
    case ERNIC_SK_BOOL:
    case ERNIC_SK_BYTES:
        ernic_state_put_all(out, p, f->num, f->size);
        break;
    case ERNIC_SK_STRUCT:
        ernic_state_save_structs(e, f->of, p, f->num, out);
        break;
    case ERNIC_SK_OWNED:
        f->owned->save(f, e, obj, out);
        break;
    case ERNIC_SK_RETIRED:
        ernic_state_put(out, 0, 1);
        break;
    case ERNIC_SK_DERIVED:
        break;
    }
}

/* Whether @f is stored as it is in memory. */
static bool as_in_memory(const ErnicStateField *f)
{
    return f->kind == ERNIC_SK_BYTES || f->kind == ERNIC_SK_BOOL ||
           (f->kind == ERNIC_SK_UINT && G_BYTE_ORDER == G_LITTLE_ENDIAN);
}

/*
 * Rows that are stored as they are, from @i on without a gap, at once; returns how many.
 * An object has hundreds of rows, and a call for each takes longer than their copy.
 */
static uint32_t save_run(const ErnicStateStruct *of, uint32_t i, const void *obj,
                         GByteArray *out)
{
    uint32_t from = of->field[i].offset, to = from, n = 0;
    const ErnicStateField *f;

    for (; i + n < of->num_fields; n++) {
        f = &of->field[i + n];
        if (!as_in_memory(f) || f->offset != to) {
            break;
        }
        to += f->num * f->size;
    }
    if (n) {
        g_byte_array_append(out, (const uint8_t *)obj + from, to - from);
    }
    return n;
}

void ernic_state_save_struct(const Ernic *e, const ErnicStateStruct *of,
                             const void *obj, GByteArray *out)
{
    uint32_t i = 0, n;

    while (i < of->num_fields) {
        n = save_run(of, i, obj, out);
        if (!n) {
            save_field(e, &of->field[i], obj, out);
            n = 1;
        }
        i += n;
    }
}

void ernic_state_save_structs(const Ernic *e, const ErnicStateStruct *of,
                              const void *array, uint32_t n, GByteArray *out)
{
    const uint8_t *obj = array;

    for (; n; n--, obj += of->size) {
        ernic_state_save_struct(e, of, obj, out);
    }
}

/* ---- loading --------------------------------------------------------------- */

/* Elements of @f from number @n on, which the writer did not have. */
static void set_default(const ErnicStateField *f, uint8_t *p, uint32_t n)
{
    uint32_t i;

    for (; n < f->num; n++) {
        if (f->def) {
            stn_he_p(p + n * f->size, f->size, f->def);
        }
        for (i = 0; f->kind == ERNIC_SK_STRUCT && i < f->of->num_fields; i++) {
            const ErnicStateField *g = &f->of->field[i];

            set_default(g, p + n * f->size + g->offset, 0);
        }
    }
}

static bool load_bools(const ErnicStateField *f, uint8_t *p, uint32_t n,
                       ErnicReader *in)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        uint64_t v = ernic_state_read(in, 1);

        if (v > 1) {
            return ernic_state_refuse(in, "%s is neither 0 nor 1", f->name);
        }
        *(bool *)(p + i) = v;
    }
    return true;
}

/* @n elements are there, no more than the row has. */
static bool load_field(Ernic *e, const ErnicStateField *f, void *obj,
                       uint32_t n, ErnicReader *in)
{
    uint8_t *p = (uint8_t *)obj + f->offset, unused;
    bool ok = true;

    switch ((ErnicStateKind)f->kind) {
    case ERNIC_SK_UINT:
        ernic_state_read_all(in, p, n, f->size);
        break;
    case ERNIC_SK_BOOL:
        ok = load_bools(f, p, n, in);
        break;
    case ERNIC_SK_BYTES:
        ernic_state_read_bytes(in, p, n);
        break;
    case ERNIC_SK_STRUCT:
        ok = ernic_state_load_structs(e, f->of, p, n, in);
        break;
    case ERNIC_SK_OWNED:
        return f->owned->load(f, e, obj, in) && !in->failed ? true :
               ernic_state_refuse(in, "%s is not valid", f->name);
    case ERNIC_SK_RETIRED:
        return load_bools(f, &unused, n, in) && !in->failed;
    case ERNIC_SK_DERIVED:
        return true;
    }
    set_default(f, p, n);
    return ok && !in->failed;
}

bool ernic_state_load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                             ErnicReader *in)
{
    const uint32_t *elements = in->stream->elements[of->id];
    uint32_t i;

    if (!elements) {
        return ernic_state_refuse(in, "%s is not described", of->name);
    }
    for (i = 0; i < of->num_fields; i++) {
        if (!load_field(e, &of->field[i], obj, elements[i], in)) {
            return false;
        }
    }
    return true;
}

bool ernic_state_load_structs(Ernic *e, const ErnicStateStruct *of, void *array,
                              uint32_t n, ErnicReader *in)
{
    uint8_t *obj = array;

    for (; n; n--, obj += of->size) {
        if (!ernic_state_load_struct(e, of, obj, in)) {
            return false;
        }
    }
    return true;
}

/* ---- ranges ---------------------------------------------------------------- */

static bool in_range(const ErnicStateField *f, const uint8_t *p)
{
    uint32_t i;

    for (i = 0; i < f->num; i++) {
        uint64_t v = ldn_he_p(p + i * f->size, f->size);

        if (v > f->max || (f->bits && (v & ~f->max))) {
            return false;
        }
    }
    return true;
}

bool ernic_state_check_struct(const ErnicStateStruct *of, const void *obj,
                              const char *what, GString *why)
{
    uint32_t i, k;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];
        const uint8_t *p = (const uint8_t *)obj + f->offset;

        if (f->kind == ERNIC_SK_UINT && f->max != UINT64_MAX &&
            !in_range(f, p)) {
            if (why) {
                g_string_append_printf(why, "%s: %s.%s out of range\n", what,
                                       of->name, f->name);
            }
            return false;
        }
        for (k = 0; f->kind == ERNIC_SK_STRUCT && k < f->num; k++) {
            if (!ernic_state_check_struct(f->of, p + k * f->size, what, why)) {
                return false;
            }
        }
    }
    return true;
}
