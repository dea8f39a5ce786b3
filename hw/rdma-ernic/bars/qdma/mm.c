/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines, one for each direction: they take one descriptor of the
 * next queue that has one, and copy between guest memory and card memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "engine/base/budget.h"
#include "bars/qdma/mm.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/report.h"
#include "bars/qdma/turns.h"
#include "device/card.h"
#include "device/pace.h"
#include "hw/rdma-ernic/trace.h"

/* Accesses to memory for a descriptor and its completion, and for a piece of its data. */
#define DESC_ACCESSES   4
#define PIECE_ACCESSES  2
#define PIECE           8192

/* A descriptor of the memory-mapped engines: source, length, destination. */
typedef struct QdmaMmDesc {
    uint64_t from;
    uint32_t len;               /* 28 bits; the others do not matter */
    uint32_t reserved0;
    uint64_t to;
    uint64_t reserved1;
} QdmaMmDesc;
#define MM_LEN(v)       extract32(v, 0, 28)

QEMU_BUILD_BUG_ON(sizeof(QdmaMmDesc) != 32);

/* ---- one descriptor ------------------------------------------------------------ */

static bool job_valid(const ErnicQdmaJob *job)
{
    return !job->busy || (job->queue < ERNIC_QDMA_QUEUES && job->done <= job->len &&
                          job->len == MM_LEN(job->len));
}

bool qdma_mm_valid(const ErnicQdma *q)
{
    return job_valid(&q->job[ERNIC_QDMA_C2H]) && job_valid(&q->job[ERNIC_QDMA_H2C]);
}

/* Reads the descriptor at CIDX. False: there is none that the engine can execute. */
static bool fetch(ErnicPci *d, const QdmaRing *r)
{
    ErnicQdma *q = d->shell.qdma;
    bool h2c = r->dir == ERNIC_QDMA_H2C;
    QdmaMmDesc desc;

    if (!qdma_ring_fetch(d, r, &q->turns[r->dir], true, &desc, sizeof(desc))) {
        return false;
    }
    q->job[r->dir] = (ErnicQdmaJob) {
        .busy = true,
        .queue = r->number,
        .len = MM_LEN(le32_to_cpu(desc.len)),
        .bus = le64_to_cpu(h2c ? desc.from : desc.to),
        .card = le64_to_cpu(h2c ? desc.to : desc.from),
    };
    trace_ernic_qdma_mm(ernic_pci_id(d), r->number, r->dir, q->job[r->dir].bus,
                        q->job[r->dir].card, q->job[r->dir].len);
    return true;
}

/* Through a buffer: the guest may map the card's memory where it wants data to be. */
static bool copy(ErnicPci *d, const QdmaRing *r, const ErnicQdmaJob *job, uint32_t len)
{
    uint64_t bus = job->bus + job->done, card = job->card + job->done;
    uint8_t buf[PIECE];

    return r->dir == ERNIC_QDMA_H2C ? qdma_ring_dma(d, r, bus, buf, len, false) &&
                                      ernic_pci_card_rw(d, card, buf, len, true)
                                    : ernic_pci_card_rw(d, card, buf, len, false) &&
                                      qdma_ring_dma(d, r, bus, buf, len, true);
}

/* Copies as much as the slice permits. */
static void run_job(ErnicPci *d, uint8_t dir, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    ErnicQdmaJob *job = &q->job[dir];
    QdmaRing r = qdma_ring(q, job->queue, dir);
    uint32_t n;

    for (; job->done < job->len && ernic_budget_left(work); job->done += n) {
        n = MIN(job->len - job->done, PIECE);
        ernic_budget_charge(work, ERNIC_WORK_ACCESS * PIECE_ACCESSES, n);
        if (!copy(d, &r, job, n)) {
            job->busy = false;
            qdma_turns_set(&q->turns[dir], r.number, false);
            qdma_queue_fails(d, QDMA_ERR_DMA, &r);
            return;
        }
    }
    if (job->done == job->len) {
        job->busy = false;
        q->stats.bytes[dir] += job->len;
        q->stats.descriptors[dir]++;
        (*qdma_reg(q, dir == ERNIC_QDMA_H2C ? QDMA_H2C_MM_COUNT :
                                              QDMA_C2H_MM_COUNT, 0))++;
        qdma_ring_complete(d, &r);
    }
}

/* ---- its turn -------------------------------------------------------------------- */

static bool engine_runs(ErnicQdma *q, uint8_t dir)
{
    return *qdma_reg(q, dir == ERNIC_QDMA_H2C ? QDMA_H2C_MM_CTL : QDMA_C2H_MM_CTL, 0);
}

bool qdma_mm_step(ErnicPci *d, uint8_t dir, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t number;
    QdmaRing r;

    if (!engine_runs(q, dir)) {
        ernic_pace_stall(&d->shell.pace[dir]);
        return false;
    }
    if (!q->job[dir].busy) {
        if (!qdma_turns_next(&q->turns[dir], &number)) {
            ernic_pace_idle(&d->shell.pace[dir]);
            return false;
        }
        r = qdma_ring(q, number, dir);
        ernic_pace_cancel(&d->shell.pace[dir]);
        ernic_budget_charge(work, ERNIC_WORK_ACCESS * DESC_ACCESSES, 0);
        if (qdma_ring_cidx(&r) == qdma_ring_pidx(&r)) {
            qdma_turns_set(&q->turns[dir], number, false);
            return true;
        }
        if (!fetch(d, &r)) {
            return true;
        }
    }
    if (ernic_pace_waits(d, &d->shell.pace[dir], q->job[dir].queue, q->job[dir].len)) {
        return false;
    }
    run_job(d, dir, work);
    if (!q->job[dir].busy) {
        ernic_pace_done(&d->shell.pace[dir]);
    }
    return true;
}
