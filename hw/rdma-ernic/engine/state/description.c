/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The description of the writer at the beginning of a stream. It may have less than
 * this release in every respect, but for what owns memory; more is refused, as its
 * meaning is not known.
 */
#include "qemu/osdep.h"
#include "state/state.h"

void ernic_state_describe(GByteArray *out, uint32_t sections)
{
    uint32_t s, i;

    ernic_state_put(out, sections, 4);
    ernic_state_put(out, ernic_state_num_structs, 4);
    for (s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];
        uint32_t rows = 0;
        guint at = out->len;

        ernic_state_put(out, 0, 2);
        for (i = 0; i < of->num_fields; i++) {
            if (of->field[i].kind != ERNIC_SK_DERIVED) {
                ernic_state_put(out, of->field[i].num, 2);
                rows++;
            }
        }
        out->data[at] = rows;
        out->data[at + 1] = rows >> 8;
    }
}

/* Whether @f, or a structure in it, owns memory, which is there from the first on. */
static bool owns(const ErnicStateField *f)
{
    uint32_t i;

    for (i = 0; f->kind == ERNIC_SK_STRUCT && i < f->of->num_fields; i++) {
        if (owns(&f->of->field[i])) {
            return true;
        }
    }
    return f->kind == ERNIC_SK_OWNED;
}

static bool read_struct(const ErnicStateStruct *of, uint32_t *elements,
                        ErnicReader *in)
{
    uint32_t rows = ernic_state_read(in, 2), i;

    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        if (f->kind == ERNIC_SK_DERIVED) {
            continue;
        }
        if (rows) {
            rows--;
            elements[i] = ernic_state_read(in, 2);
        }
        if (elements[i] > f->num) {
            return ernic_state_refuse(in, "a newer release saved it: %s.%s has more"
                                      " elements", of->name, f->name);
        }
        if (owns(f) && elements[i] != f->num) {
            return ernic_state_refuse(in, "%s.%s is missing", of->name, f->name);
        }
    }
    return rows == 0 || ernic_state_refuse(in, "a newer release saved it: %s has more"
                                           " rows", of->name);
}

bool ernic_state_read_description(ErnicReader *in, uint32_t sections)
{
    ErnicStateStream *stream = in->stream;
    uint32_t n, s;

    stream->elements = g_new0(uint32_t *, ernic_state_num_structs);
    stream->sections = ernic_state_read(in, 4);
    n = ernic_state_read(in, 4);
    if (stream->sections > sections || n > ernic_state_num_structs) {
        return ernic_state_refuse(in, "a newer release saved it: it has more"
                                  " sections");
    }
    for (s = 0; s < n; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];

        stream->elements[s] = g_new0(uint32_t, of->num_fields);
        if (!read_struct(of, stream->elements[s], in) || in->failed) {
            return false;
        }
    }
    return !in->failed;
}

void ernic_state_stream_fini(ErnicStateStream *stream)
{
    uint32_t s;

    for (s = 0; stream->elements && s < ernic_state_num_structs; s++) {
        g_free(stream->elements[s]);
    }
    g_free(stream->elements);
}
