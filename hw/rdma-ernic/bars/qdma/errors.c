/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Errors of the QDMA. A status register has a bit for each kind of error, and a bit of
 * GLBL_ERR_STAT follows if the mask of that register permits.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "bars/qdma/errors.h"
#include "bars/qdma/registers.h"
#include "hw/rdma-ernic/trace.h"

/* GLBL_ERR_INT */
#define INT_ARM         BIT(24)
#define INT_VECTOR(v)   extract32(v, 12, 11)
#define INT_FUNCTION(v) extract32(v, 0, 8)
/* GLBL_DSC_ERR_LOG0: valid, direction as contexts number it, queue. */
#define LOG0_VALID      BIT(31)
#define LOG0_DIR_SHIFT  30
#define LOG1_CIDX_SHIFT 12
/* C2H_FIRST_ERR_QID: the number of the bit. */
#define FIRST_BIT_SHIFT 16
/* Values of SW_ERROR. */
#define QUEUE_FETCH     1
#define QUEUE_DMA       2

/* Bits of GLBL_ERR_STAT, and of the register below it; how a queue shows the error. */
static const struct {
    const char *name;
    uint32_t global, status, bit;       /* status 0: there is none */
    uint32_t queue;
} errors[QDMA_ERRORS] = {
    [QDMA_ERR_FETCH] = { "fetch", BIT(2), QDMA_DSC_ERR_STS, BIT(2), QUEUE_FETCH },
    [QDMA_ERR_PARAM] = { "queue kind", BIT(2), QDMA_DSC_ERR_STS, BIT(4), QUEUE_FETCH },
    [QDMA_ERR_DMA] = { "data", BIT(2), QDMA_DSC_ERR_STS, BIT(20), QUEUE_DMA },
    [QDMA_ERR_PIDX] = { "index", BIT(2), QDMA_DSC_ERR_STS, BIT(21), QUEUE_FETCH },
    [QDMA_ERR_CANCEL] = { "cancelled", BIT(2), QDMA_DSC_ERR_STS, BIT(22), 0 },
    [QDMA_ERR_QUEUE] = { "queue number", BIT(3), QDMA_TRQ_ERR_STS, BIT(5), 0 },
    [QDMA_ERR_CONTEXT] = { "context", BIT(9), 0, 0, 0 },
    [QDMA_ERR_C2H_DESC] = { "packet", BIT(8), QDMA_C2H_ERR_STAT, BIT(4), 0 },
    [QDMA_ERR_C2H_COUNT] = { "buffers", BIT(8), QDMA_C2H_ERR_STAT, BIT(9), 0 },
    [QDMA_ERR_C2H_PORT] = { "port", BIT(8), QDMA_C2H_ERR_STAT, BIT(10), 0 },
    [QDMA_ERR_CMPT_QUEUE] = { "no completions", BIT(8), QDMA_C2H_ERR_STAT, BIT(12), 0 },
    [QDMA_ERR_CMPT_FULL] = { "full ring", BIT(8), QDMA_C2H_ERR_STAT, BIT(13), 0 },
    [QDMA_ERR_CMPT_CIDX] = { "read index", BIT(8), QDMA_C2H_ERR_STAT, BIT(14), 0 },
    [QDMA_ERR_INTERRUPT] = { "interrupt ring", BIT(8), QDMA_C2H_ERR_STAT, BIT(7), 0 },
};

void qdma_error_interrupt(ErnicPci *d)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t *arm = qdma_reg(q, QDMA_ERR_INT, 0);

    if ((*arm & INT_ARM) &&
        (*qdma_reg(q, QDMA_ERR_STAT, 0) & *qdma_reg(q, QDMA_ERR_MASK, 0))) {
        *arm &= ~INT_ARM;
        qdma_irq(d, INT_FUNCTION(*arm), INT_VECTOR(*arm));
    }
}

static void log_ring(ErnicQdma *q, const QdmaRing *r)
{
    *qdma_reg(q, QDMA_DSC_ERR_LOG0, 0) =
        LOG0_VALID | (uint32_t)r->dir << LOG0_DIR_SHIFT | r->number;
    *qdma_reg(q, QDMA_DSC_ERR_LOG1, 0) =
        FIELD_EX32(r->hw[0], HW0, CIDX) << LOG1_CIDX_SHIFT;
}

/* The first error since software cleared the status. */
static void log_first(ErnicQdma *q, uint32_t bit, uint32_t number)
{
    if (!*qdma_reg(q, QDMA_C2H_ERR_STAT, 0)) {
        *qdma_reg(q, QDMA_C2H_FIRST_ERR, 0) = ctz32(bit) << FIRST_BIT_SHIFT | number;
    }
}

void qdma_error(ErnicPci *d, QdmaError error, const QdmaRing *r)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t status = errors[error].status, number = r ? r->number : 0;

    q->stats.errors++;
    trace_ernic_guest_qdma_error(ernic_pci_id(d), errors[error].name, number,
                                 r ? r->dir : 0);
    ernic_pci_guest_error(d, "QDMA error: %s, queue %u", errors[error].name, number);
    if (status == QDMA_C2H_ERR_STAT) {
        log_first(q, errors[error].bit, number);
    }
    if (status) {
        *qdma_reg(q, status, 0) |= errors[error].bit;
    }
    if (r && status == QDMA_DSC_ERR_STS) {
        log_ring(q, r);
    }
    /* The mask follows its status. */
    if (!status || (*qdma_reg(q, status, 1) & errors[error].bit)) {
        *qdma_reg(q, QDMA_ERR_STAT, 0) |= errors[error].global;
        qdma_error_interrupt(d);
    }
}

uint32_t qdma_error_of_queue(QdmaError error)
{
    return errors[error].queue;
}
