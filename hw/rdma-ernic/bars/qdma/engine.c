/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines, one for each direction: they take one descriptor of the
 * next queue that has one, and copy between guest memory and card memory. The work is
 * done in slices.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "engine/base/budget.h"
#include "bars/qdma/engine.h"
#include "bars/qdma/errors.h"
#include "bars/qdma/registers.h"
#include "device/card.h"
#include "device/clock.h"
#include "device/dma.h"
#include "device/registers.h"
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

/* ---- queues with descriptors -------------------------------------------------- */

static void set_ready(ErnicQdma *q, const QdmaRing *r, bool ready)
{
    uint32_t *word = &q->ready[r->dir][r->number / 32];

    *word = deposit32(*word, r->number % 32, 1, ready);
}

static bool is_ready(const ErnicQdma *q, const QdmaRing *r)
{
    return q->ready[r->dir][r->number / 32] >> (r->number % 32) & 1;
}

/* The next queue in turn that has descriptors; false: there is none. */
static bool next_ready(ErnicQdma *q, uint8_t dir, QdmaRing *r)
{
    uint32_t from = q->next[dir] % ERNIC_QDMA_QUEUES, bits, i, word;

    for (i = 0; i <= ERNIC_QDMA_QUEUES / 32; i++) {
        word = (from / 32 + i) % (ERNIC_QDMA_QUEUES / 32);
        bits = q->ready[dir][word] & (i ? ~0u : ~0u << from % 32);
        if (bits) {
            *r = qdma_ring(q, word * 32 + ctz32(bits), dir);
            q->next[dir] = r->number + 1;
            return true;
        }
    }
    return false;
}

/* ---- one descriptor ------------------------------------------------------------ */

static bool job_valid(const ErnicQdmaJob *job)
{
    return !job->busy || (job->queue < ERNIC_QDMA_QUEUES && job->done <= job->len &&
                          job->len == MM_LEN(job->len));
}

bool qdma_engine_valid(const ErnicQdma *q)
{
    return job_valid(&q->job[ERNIC_QDMA_C2H]) && job_valid(&q->job[ERNIC_QDMA_H2C]);
}

static void fails(ErnicPci *d, QdmaError error, const QdmaRing *r)
{
    set_ready(d->shell.qdma, r, false);
    qdma_queue_fails(d, error, r);
}

/* Reads the descriptor at CIDX. False: there is none that the engine can execute. */
static bool fetch(ErnicPci *d, const QdmaRing *r)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t ci = FIELD_EX32(r->hw[0], HW0, CIDX), entries = qdma_ring_entries(q, r);
    bool h2c = r->dir == ERNIC_QDMA_H2C;
    QdmaMmDesc desc;

    if (!qdma_ring_owned(q, r)) {
        set_ready(q, r, false);
        qdma_error(d, QDMA_ERR_QUEUE, r);
        return false;
    }
    if (ci >= entries || FIELD_EX32(r->sw[0], SW0, PIDX) >= entries) {
        fails(d, QDMA_ERR_PIDX, r);
        return false;
    }
    if (!FIELD_EX32(r->sw[1], SW1, IS_MM) || FIELD_EX32(r->sw[1], SW1, BYPASS) ||
        FIELD_EX32(r->sw[1], SW1, DESC_SIZE) != QDMA_DESC_32) {
        fails(d, QDMA_ERR_PARAM, r);
        return false;
    }
    if (!ernic_pci_dma(d, qdma_ring_at(r, ci), &desc, sizeof(desc), false)) {
        fails(d, QDMA_ERR_FETCH, r);
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
static bool copy(ErnicPci *d, const ErnicQdmaJob *job, bool h2c, uint32_t len)
{
    uint64_t bus = job->bus + job->done, card = job->card + job->done;
    uint8_t buf[PIECE];

    return h2c ? ernic_pci_dma(d, bus, buf, len, false) &&
                 ernic_pci_card_rw(d, card, buf, len, true)
               : ernic_pci_card_rw(d, card, buf, len, false) &&
                 ernic_pci_dma(d, bus, buf, len, true);
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
        if (!copy(d, job, dir == ERNIC_QDMA_H2C, n)) {
            job->busy = false;
            fails(d, QDMA_ERR_DMA, &r);
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

/* ---- the slice ------------------------------------------------------------------- */

static bool engine_runs(ErnicQdma *q, uint8_t dir)
{
    return *qdma_reg(q, dir == ERNIC_QDMA_H2C ? QDMA_H2C_MM_CTL : QDMA_C2H_MM_CTL, 0);
}

/* One step of an engine. False: it has nothing to do. */
static bool step(ErnicPci *d, uint8_t dir, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r;

    if (!engine_runs(q, dir)) {
        return false;
    }
    if (!q->job[dir].busy) {
        if (!next_ready(q, dir, &r)) {
            return false;
        }
        ernic_budget_charge(work, ERNIC_WORK_ACCESS * DESC_ACCESSES, 0);
        if (FIELD_EX32(r.hw[0], HW0, CIDX) == FIELD_EX32(r.sw[0], SW0, PIDX)) {
            set_ready(q, &r, false);
            return true;
        }
        if (!fetch(d, &r)) {
            return true;
        }
    }
    run_job(d, dir, work);
    return true;
}

void qdma_engine_run(ErnicPci *d)
{
    ErnicQdma *q = d->shell.qdma;
    bool c2h = true, h2c = true;
    ErnicBudget work = ernic_budget_new(ernic_pci_clock(d));

    while (ernic_budget_left(&work) && (c2h || h2c)) {
        if (!ernic_pci_working(d) || !runstate_is_running()) {
            return;
        }
        h2c = step(d, ERNIC_QDMA_H2C, &work);
        c2h = step(d, ERNIC_QDMA_C2H, &work);
    }
    if (!ernic_budget_left(&work)) {
        ernic_pci_continue(d, &q->kick, q->bh);
    }
}

void ernic_qdma_kick(ErnicPci *d)
{
    if (d->shell.qdma) {
        ernic_pci_schedule(d, &d->shell.qdma->kick, d->shell.qdma->bh);
    }
}

/* ---- doorbells --------------------------------------------------------------------- */

enum { DB_INTERRUPT, DB_H2C, DB_C2H, DB_CMPT };

#define DB_PIDX(v)      extract32(v, 0, 16)
#define DB_ARM          BIT(16)

/* Software has posted descriptors, or arms the interrupt; it may do both at once. */
static void post(ErnicPci *d, QdmaRing r, uint32_t value)
{
    ErnicQdma *q = d->shell.qdma;

    if (!qdma_ring_owned(q, &r)) {
        qdma_error(d, QDMA_ERR_QUEUE, &r);
        return;
    }
    if (!FIELD_EX32(r.sw[1], SW1, ENABLE)) {
        qdma_error(d, QDMA_ERR_CANCEL, &r);
        return;
    }
    if (FIELD_EX32(r.sw[1], SW1, ERROR)) {
        ernic_guest_not_enabled(d, "QDMA doorbell", value);
        return;
    }
    if (value & DB_ARM) {
        r.sw[0] = FIELD_DP32(r.sw[0], SW0, IRQ_ARM, 1);
        qdma_ring_armed(d, &r);
    }
    if (DB_PIDX(value) >= qdma_ring_entries(q, &r)) {
        fails(d, QDMA_ERR_PIDX, &r);
        return;
    }
    r.sw[0] = FIELD_DP32(r.sw[0], SW0, PIDX, DB_PIDX(value));
    if (DB_PIDX(value) != FIELD_EX32(r.hw[0], HW0, CIDX)) {
        set_ready(q, &r, true);
        ernic_qdma_kick(d);
    }
}

void qdma_doorbell_write(ErnicPci *d, uint32_t off, uint32_t value)
{
    uint32_t number = (off - QDMA_DOORBELLS) / QDMA_DOORBELL_SIZE;
    ErnicQdma *q = d->shell.qdma;

    trace_ernic_qdma_doorbell(ernic_pci_id(d), number, off / 4 % 4, value);
    switch (off / 4 % 4) {
    case DB_H2C:
        post(d, qdma_ring(q, number, ERNIC_QDMA_H2C), value);
        break;
    case DB_C2H:
        post(d, qdma_ring(q, number, ERNIC_QDMA_C2H), value);
        break;
    default:
        ernic_guest_bad_write(d, off, 4, value);
        break;
    }
}

/* Software reads a doorbell so that earlier writes arrive. */
uint32_t qdma_doorbell_read(ErnicPci *d, uint32_t off)
{
    uint32_t number = (off - QDMA_DOORBELLS) / QDMA_DOORBELL_SIZE, doorbell = off / 4 % 4;
    uint8_t dir = doorbell == DB_H2C ? ERNIC_QDMA_H2C : ERNIC_QDMA_C2H;

    return doorbell == DB_H2C || doorbell == DB_C2H ?
           extract32(d->shell.qdma->queue[number].sw[dir][0], 0, 17) : 0;
}

void qdma_queue_ends(ErnicPci *d, uint32_t number, uint8_t dir)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r = qdma_ring(q, number, dir);
    ErnicQdmaJob *job = &q->job[dir];
    bool works = job->busy && job->queue == number;

    if (!works && (!is_ready(q, &r) ||
                   FIELD_EX32(r.hw[0], HW0, CIDX) == FIELD_EX32(r.sw[0], SW0, PIDX))) {
        set_ready(q, &r, false);
        return;
    }
    job->busy &= !works;
    set_ready(q, &r, false);
    qdma_error(d, QDMA_ERR_CANCEL, &r);
}
