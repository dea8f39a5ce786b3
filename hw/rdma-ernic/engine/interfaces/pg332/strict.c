/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The record of strict mode: violations are counted each time, and reported once for
 * each rule and queue pair, so that a loop in software causes one line, not millions.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/register_file.h"
#include "interfaces/pg332/strict.h"
#include "trace.h"

ErnicStrict *ernic_strict_new(const ErnicConfig *cfg)
{
    ErnicStrict *s;

    if (!cfg->strict) {
        return NULL;
    }
    g_assert(ernic_num_rules <= ERNIC_RULES_MAX);
    s = g_new0(ErnicStrict, 1);
    s->told = g_new0(uint64_t, cfg->max_qp);
    return s;
}

void ernic_strict_free(ErnicStrict *s)
{
    if (s) {
        g_free(s->told);
    }
    g_free(s);
}

/* The name of what was broken: a register, or a field. */
static void name_of(const Ernic *e, const ErnicRule *rule,
                    const ErnicViolation *v, char name[ERNIC_REPORT_NAME])
{
    ErnicRegRef ref;

    if (rule->field) {
        snprintf(name, ERNIC_REPORT_NAME, "%s", rule->field);
    } else if (ernic_regfile_find(e->regs, v->offset, &ref)) {
        ernic_reg_name(ref.def, ref.k, name);
    } else {
        snprintf(name, ERNIC_REPORT_NAME, "none");
    }
}

static void make_report(const Ernic *e, uint32_t i, ErnicReport *r)
{
    const ErnicViolation *v = &e->strict->last[i];

    *r = (ErnicReport) {
        .rule = ernic_rules[i].name, .text = ernic_rules[i].text,
        .count = v->count, .value = v->value, .time = v->time,
        .offset = v->offset, .qpn = v->qpn,
    };
    name_of(e, &ernic_rules[i], v, r->reg);
}

void ernic_strict_broken(Ernic *e, uint32_t rule, uint32_t qpn,
                         uint32_t offset, uint64_t value)
{
    ErnicStrict *s = e->strict;
    ErnicViolation *v = &s->last[rule];
    uint64_t bit = 1ull << rule;
    ErnicReport r;

    *v = (ErnicViolation) {
        .count = v->count + 1, .value = value, .time = e->now,
        .offset = offset, .qpn = qpn,
    };
    if (s->told[qpn] & bit) {
        return;
    }
    s->told[qpn] |= bit;
    make_report(e, rule, &r);
    trace_ernic_guest_pg332_rule(r.rule, r.qpn, r.reg, r.offset, r.value, r.time);
    if (e->ops->violation) {
        e->ops->violation(e->env, &r);
    }
}

bool ernic_strict_next(const Ernic *e, uint32_t *pos, ErnicReport *r)
{
    while (e->strict && *pos < ernic_num_rules) {
        uint32_t i = (*pos)++;

        if (ernic_rules[i].versions & (1u << (e->cfg.pg332 - 1))) {
            make_report(e, i, r);
            return true;
        }
    }
    return false;
}
