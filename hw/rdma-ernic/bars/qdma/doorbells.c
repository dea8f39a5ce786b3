/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells of the QDMA: descriptors that software has posted, entries that it has read,
 * and interrupts that it arms.
 */
#include "qemu/osdep.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/doorbells.h"
#include "bars/qdma/port.h"
#include "bars/qdma/report.h"
#include "bars/qdma/rules.h"
#include "bars/qdma/stream.h"
#include "bars/qdma/turns.h"
#include "device/card.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

enum { DB_INTERRUPT, DB_H2C, DB_C2H, DB_CMPT };

#define DB_PIDX(v)      extract32(v, 0, 16)
#define DB_ARM          BIT(16)

static bool has_work(const QdmaRing *r)
{
    return qdma_ring_cidx(r) != qdma_ring_pidx(r);
}

/* Where the queue waits for its engine; NULL: buffers wait for packets. */
static ErnicQdmaTurns *turns_of(ErnicPci *d, const QdmaRing *r)
{
    ErnicQdma *q = d->shell.qdma;

    return qdma_ring_is_mm(r) ? &q->turns[r->dir] :
           r->dir == ERNIC_QDMA_H2C ? &q->port[qdma_port_of(d, r)].stream : NULL;
}

/* The doorbells of a function begin with its first queue. */
static uint32_t queue_at(ErnicQdma *q, uint32_t function, uint32_t off)
{
    return FIELD_EX32(q->fmap[function][0], FMAP0, FIRST) +
           (off - QDMA_DOORBELLS) / QDMA_DOORBELL_SIZE;
}

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
        if (turns_of(d, &r)) {
            qdma_turns_set(turns_of(d, &r), r.number, false);
        }
        qdma_queue_fails(d, QDMA_ERR_PIDX, &r);
        return;
    }
    r.sw[0] = FIELD_DP32(r.sw[0], SW0, PIDX, DB_PIDX(value));
    if (has_work(&r) && turns_of(d, &r)) {
        qdma_turns_set(turns_of(d, &r), r.number, true);
        ernic_pci_card_kick(d);
    }
}

/* A function has no doorbells of queues of the other one. */
static bool reaches(ErnicPci *d, uint32_t function, uint32_t number)
{
    ErnicPci *second = d->shell.second;

    return number < ERNIC_QDMA_QUEUES && (!second || ernic_pci_hidden(second) ||
                                          qdma_owns(d->shell.qdma, function, number));
}

void qdma_doorbell_write(ErnicPci *d, uint32_t function, uint32_t off, uint32_t value)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t number = queue_at(q, function, off), kind = off / 4 % 4;

    trace_ernic_qdma_doorbell(ernic_pci_id(d), number, kind, value);
    if (kind != DB_INTERRUPT && !reaches(d, function, number)) {
        qdma_error(d, QDMA_ERR_QUEUE, NULL);
        return;
    }
    if (kind != DB_INTERRUPT) {
        qdma_rules(d, &(QdmaAccess) {
            .moment = kind == DB_CMPT ? QDMA_READS : QDMA_POSTS, .queue = number,
            .dir = kind == DB_H2C ? ERNIC_QDMA_H2C : ERNIC_QDMA_C2H,
            .at = off, .value = value,
        });
    }
    switch (kind) {
    case DB_H2C:
        post(d, qdma_ring(q, number, ERNIC_QDMA_H2C), value);
        break;
    case DB_C2H:
        post(d, qdma_ring(q, number, ERNIC_QDMA_C2H), value);
        break;
    case DB_CMPT:
        qdma_cmpt_doorbell(d, number, value);
        break;
    default:
        qdma_aggregation_doorbell(d, value);
        break;
    }
}

/* Software reads a doorbell so that earlier writes arrive. */
uint32_t qdma_doorbell_read(ErnicPci *d, uint32_t function, uint32_t off)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t number = queue_at(q, function, off);

    if (!reaches(d, function, number)) {
        return 0;
    }
    switch (off / 4 % 4) {
    case DB_H2C:
        return extract32(q->queue[number].sw[ERNIC_QDMA_H2C][0], 0, 17);
    case DB_C2H:
        return extract32(q->queue[number].sw[ERNIC_QDMA_C2H][0], 0, 17);
    case DB_CMPT:
        return qdma_cmpt_cidx(q, number);
    default:
        return 0;
    }
}

/* The kind of the queue is that of the context that ends: it waits in one place. */
void qdma_queue_ends(ErnicPci *d, uint32_t number, uint8_t dir)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r = qdma_ring(q, number, dir);
    ErnicQdmaJob *job = &q->job[dir];
    bool works = job->busy && job->queue == number;
    ErnicQdmaTurns *stream = &q->port[qdma_port_of(d, &r)].stream;
    bool waits = qdma_turns_has(&q->turns[dir], number) ||
                 (dir == ERNIC_QDMA_H2C && qdma_turns_has(stream, number));

    job->busy &= !works;
    qdma_turns_set(&q->turns[dir], number, false);
    if (dir == ERNIC_QDMA_H2C) {
        qdma_turns_set(stream, number, false);
        qdma_h2c_ends(d, &r);
    }
    if (works || (waits && has_work(&r))) {
        qdma_error(d, QDMA_ERR_CANCEL, &r);
    }
}
