/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Access to the registers of PG332 by name, for the files of this folder; and the
 * interrupt, which follows from two of them.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "timing/hooks.h"
#include "trace.h"

/* ---- registers by name --------------------------------------------------- */

enum pg332_version ernic_pg332_version(const Ernic *e)
{
    return e->cfg.pg332 - 1;
}

uint32_t *ernic_pg332_reg(const Ernic *e, uint32_t offset)
{
    return ernic_regfile_at(e->regs, ERNIC_REG_GLOBAL, 0, offset);
}

uint32_t *ernic_pg332_qp_reg(const Ernic *e, uint32_t qpn, uint32_t offset)
{
    return ernic_regfile_at(e->regs, ERNIC_REG_QP, qpn - 1, offset);
}

uint64_t ernic_pg332_qp_addr(const Ernic *e, uint32_t qpn, uint32_t low,
                             uint32_t high)
{
    return *ernic_pg332_qp_reg(e, qpn, low) |
           (uint64_t)*ernic_pg332_qp_reg(e, qpn, high) << 32;
}

/* ---- indices ------------------------------------------------------------- */

uint32_t ernic_pg332_shown(const Ernic *e, const ErnicQp *qp, uint32_t reg,
                           uint32_t count, uint32_t depth)
{
    return count ? ernic_pg332_place(count, depth) :
                   *ernic_pg332_qp_reg(e, qp->qpn, reg);
}

uint32_t ernic_pg332_posted(const Ernic *e, const ErnicQp *qp)
{
    const ErnicWq *wq = &qp->sq.wq;

    return wq->pi || *ernic_pg332_qp_reg(e, qp->qpn, PG332_CQHEAD) ?
           ernic_pg332_place(wq->pi, wq->depth) : 0;
}

/* ---- interrupts ---------------------------------------------------------- */

bool ernic_pg332_irq(const Ernic *e)
{
    return *ernic_pg332_reg(e, PG332_INTSTS) & *ernic_pg332_reg(e, PG332_INTEN);
}

void ernic_pg332_rise(Ernic *e, bool was)
{
    if (!was && ernic_pg332_irq(e)) {
        e->stats.interrupts++;
        ernic_timed_irq(e, 0);
    }
}

void ernic_pg332_raise(Ernic *e, uint32_t causes)
{
    bool was = ernic_pg332_irq(e);

    *ernic_pg332_reg(e, PG332_INTSTS) |= causes;
    trace_ernic_pg332_raise(causes, *ernic_pg332_reg(e, PG332_INTSTS));
    ernic_pg332_rise(e, was);
}

uint32_t ernic_pg332_qpn_bits(const Ernic *e)
{
    return g_bit_storage(e->cfg.max_qp - 2);
}

void ernic_pg332_bank(Ernic *e, uint32_t bank, uint32_t qpn)
{
    /* Seen on 4.2: of C_NUM_QP queue pairs, the last has bit 0. */
    if (ernic_pg332_version(e) != PG332_V3_1) {
        qpn &= (1u << ernic_pg332_qpn_bits(e)) - 1;
    }
    *ernic_pg332_reg(e, bank + qpn / 32 * 4) |= 1u << (qpn % 32);
}

/* ---- numbers of queue pairs ---------------------------------------------- */

/* The bound on numbers that the configuration sets; one more is let pass. */
bool ernic_pg332_in_bound(const Ernic *e, uint32_t qpn)
{
    uint32_t n = ernic_pg332_version(e) == PG332_V3_1 ?
        (*ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_V3_CONF_QPS) /
        (PG332_V3_CONF_QPS & -PG332_V3_CONF_QPS) :
        *ernic_pg332_reg(e, PG332_XRNIC_CONF_QP_EN);

    return qpn <= n + 1;
}
