/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What strict mode keeps: the mode itself, which has to be that of the device
 * that loads, then a record for each rule, then who has been told.
 */
#include "qemu/osdep.h"
#include "faces/pg332/strict.h"
#include "state/state.h"

void ernic_state_save_strict(const Ernic *e, GByteArray *out)
{
    uint32_t i;

    ernic_state_put(out, e->cfg.strict, 1);
    ernic_state_put(out, ernic_num_rules, 4);
    for (i = 0; i < ernic_num_rules; i++) {
        ernic_state_save_struct(e, &ernic_state_violation, &e->strict->last[i],
                                out);
    }
    for (i = 0; i < e->cfg.max_qp; i++) {
        ernic_state_put(out, e->strict->told[i], 8);
    }
}

bool ernic_state_load_strict(Ernic *e, ErnicReader *in)
{
    uint64_t unknown = ernic_num_rules < 64 ? ~0ull << ernic_num_rules : 0;
    uint32_t i;

    if (ernic_state_read(in, 1) != e->cfg.strict ||
        ernic_state_read(in, 4) != ernic_num_rules) {
        return false;
    }
    for (i = 0; i < ernic_num_rules; i++) {
        ErnicViolation *v = &e->strict->last[i];

        if (!ernic_state_load_struct(e, &ernic_state_violation, v, in) ||
            v->qpn >= e->cfg.max_qp) {
            return false;
        }
    }
    for (i = 0; i < e->cfg.max_qp; i++) {
        e->strict->told[i] = ernic_state_read(in, 8);
        if (e->strict->told[i] & unknown) {
            return false;
        }
    }
    return !in->failed;
}
