/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the rules of PG332 are asked, and what strict mode makes of one that is
 * broken.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/rules.h"

static bool about(const ErnicRule *rule, const ErnicRegDef *def)
{
    uint32_t i;

    for (i = 0; i < rule->num_regs; i++) {
        if (def && rule->scope == def->scope && rule->regs[i] == def->offset) {
            return true;
        }
    }
    return !rule->num_regs;
}

/* Whether the write sets the enable bit of the first register of @scope. */
static bool enables(const ErnicRuleCase *c, ErnicRegScope scope)
{
    QEMU_BUILD_BUG_ON(PG332_XRNICCONF || PG332_QPCONF);
    QEMU_BUILD_BUG_ON(PG332_CONF_ENABLE != PG332_QPCONF_ENABLE);
    return c->def && c->def->scope == scope && !c->def->offset &&
           (c->value & ~c->old & PG332_CONF_ENABLE);
}

static bool asked(const ErnicRuleCase *c, ErnicRuleWhen when)
{
    switch ((ErnicRuleWhen)c->rule->when) {
    case ERNIC_RULE_ENABLE:
        return when == ERNIC_RULE_WRITE && enables(c, ERNIC_REG_GLOBAL);
    case ERNIC_RULE_QP_ENABLE:
        return when == ERNIC_RULE_WRITE && enables(c, ERNIC_REG_QP);
    case ERNIC_RULE_WRITE:
        return when == ERNIC_RULE_WRITE && about(c->rule, c->def);
    default:
        return when == c->rule->when;
    }
}

/*
 * Ask all rules of @when. Those that @c breaks are recorded, with @offset unless
 * the rule has one, and what @value finds. Returns the effects that are enforced,
 * a bit for each.
 */
static uint32_t ask(Ernic *e, ErnicRuleCase *c, ErnicRuleWhen when,
                    uint32_t offset, uint64_t (*value)(const ErnicRuleCase *c))
{
    uint32_t version = 1u << ernic_pg332_version(e), effects = 0, i;

    for (i = 0; i < ernic_num_rules; i++) {
        const ErnicRule *rule = &ernic_rules[i];

        c->rule = rule;
        if (!(rule->versions & version) || !asked(c, when) || !rule->broken(c)) {
            continue;
        }
        ernic_strict_broken(e, i, c->qpn, rule->field ? rule->at : offset,
                            value(c));
        if (rule->effect != ERNIC_RULE_AS_EVER && (rule->enforced & version)) {
            effects |= 1u << rule->effect;
        }
    }
    return e->cfg.strict == ERNIC_STRICT_ENFORCE ? effects : 0;
}

static uint64_t written(const ErnicRuleCase *c)
{
    return c->raw;
}

bool ernic_rules_write(Ernic *e, uint32_t offset, uint32_t *value)
{
    ErnicRuleCase c = { .e = e, .raw = *value };
    uint32_t mask, effects;
    ErnicRegRef ref;

    if (likely(!e->strict)) {
        return true;
    }
    if (ernic_regfile_find(e->regs, offset, &ref)) {
        c.def = ref.def;
        c.qpn = ref.def->scope == ERNIC_REG_QP ? ref.element + 1 : 0;
        mask = ref.def->write | ((*ernic_pg332_reg(e, PG332_XRNICADCONF) &
                                  PG332_ADCONF_OVERRIDE) ? ref.def->over : 0);
        c.old = *ref.value;
        c.value = (c.old & ~mask) | (c.raw & mask);
    }
    effects = ask(e, &c, ERNIC_RULE_WRITE, offset, written);
    if (effects & (1u << ERNIC_RULE_NOT_ENABLED)) {
        *value &= ~PG332_CONF_ENABLE;
    }
    return !(effects & (1u << ERNIC_RULE_IGNORED));
}

static uint64_t wqe_field(const ErnicRuleCase *c)
{
    return c->rule->at == 16 ? c->opcode : c->len;
}

void ernic_rules_request(Ernic *e, const ErnicQp *qp, uint8_t opcode,
                         uint32_t len, ErnicWqe *wqe)
{
    ErnicRuleCase c = { .e = e, .qpn = qp->qpn, .opcode = opcode, .len = len };

    if (unlikely(e->strict) &&
        ask(e, &c, ERNIC_RULE_REQUEST, 0, wqe_field)) {
        wqe->fault = ERNIC_FAULT_SEND_WQE;
    }
}

static uint64_t packet_field(const ErnicRuleCase *c)
{
    const ErnicPkt *pkt = c->pkt;

    return c->rule->at == 0 ? ernic_opcode_bth(pkt->op, pkt->transport) :
           c->rule->at == 12 ? pkt->va : pkt->dma_len;
}

bool ernic_rules_packet(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRuleCase c = { .e = e, .qpn = qp->qpn, .pkt = pkt };

    return likely(!e->strict) ||
           !ask(e, &c, ERNIC_RULE_PACKET, 0, packet_field);
}
