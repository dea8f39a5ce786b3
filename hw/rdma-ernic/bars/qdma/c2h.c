/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The C2H stream engine: a frame goes into as many buffers of its queue as it needs, and
 * has one completion. A frame whose queue has no buffers is lost, because the port has no
 * room to keep it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net/eth.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/port.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/report.h"
#include "bars/qdma/stream.h"
#include "bars/qdma/turns.h"
#include "device/dma.h"
#include "device/traffic.h"
#include "hw/rdma-ernic/trace.h"

/* PG302: the most buffers of a packet. */
#define BUFFERS_MAX     31
/* Accesses to memory: descriptor and buffer; completion and status. */
#define BUFFER_ACCESSES 2
#define PACKET_ACCESSES 2
/* The port of the frames, as contexts number it. */
#define PORT            0

/* The queue takes no more packets until its contexts are written. */
static void fails(ErnicPci *d, QdmaError error, const QdmaRing *r, uint32_t len)
{
    ErnicQdma *q = d->shell.qdma;
    ErnicQdmaJob *job = &q->job[ERNIC_QDMA_C2H];

    q->queue[r->number].prefetch[0] |= R_PREFETCH0_ERROR_MASK;
    /* A queue that the contexts call memory-mapped may be that engine's. */
    qdma_turns_set(&q->turns[ERNIC_QDMA_C2H], r->number, false);
    job->busy &= job->queue != r->number;
    qdma_port_lost(d, ERNIC_QDMA_C2H, r->number, len, "error");
    qdma_queue_fails(d, error, r);
    qdma_cmpt_post(d, r->number, len, true);
}

/* Reads @num descriptors from CIDX on: addresses of buffers. */
static bool fetch(ErnicPci *d, const QdmaRing *r, uint64_t *addr, uint32_t num)
{
    uint32_t ci = qdma_ring_cidx(r);
    uint32_t first = MIN(num, qdma_ring_entries(d->shell.qdma, r) - ci);

    return ernic_pci_dma(d, qdma_ring_at(r, ci), addr, first * sizeof(*addr), false) &&
           (first == num || ernic_pci_dma(d, qdma_ring_at(r, 0), addr + first,
                                          (num - first) * sizeof(*addr), false));
}

static bool scatter(ErnicPci *d, const uint64_t *addr, uint32_t size,
                    const uint8_t *frame, uint32_t len)
{
    uint32_t pos, n;

    for (pos = 0; pos < len; pos += n, addr++) {
        n = MIN(len - pos, size);
        if (!ernic_pci_dma(d, le64_to_cpu(*addr), (void *)(frame + pos), n, true)) {
            return false;
        }
    }
    return true;
}

/* Why the queue takes no packets, which is no error of software; NULL: it does. */
static const char *closed(ErnicQdma *q, const QdmaRing *r)
{
    const uint32_t *prefetch = q->queue[r->number].prefetch;

    return !FIELD_EX32(r->sw[1], SW1, ENABLE) ? "disabled" :
           FIELD_EX32(r->sw[1], SW1, ERROR) ? "stopped" :
           !FIELD_EX32(prefetch[1], PREFETCH1, VALID) ? "no prefetch context" :
           !qdma_cmpt_valid(q, r->number) ? "no completion context" : NULL;
}

/* Whether the contexts are those of a stream queue that the engine can use. */
static bool usable(ErnicQdma *q, const QdmaRing *r)
{
    return !qdma_ring_is_mm(r) && !FIELD_EX32(r->sw[1], SW1, BYPASS) &&
           FIELD_EX32(r->sw[1], SW1, DESC_SIZE) == QDMA_DESC_8 &&
           !FIELD_EX32(q->queue[r->number].prefetch[0], PREFETCH0, BYPASS);
}

static void charge(ErnicPci *d, ErnicBudget *work, uint32_t accesses, uint32_t bytes)
{
    if (work) {
        ernic_budget_charge(work, ERNIC_WORK_ACCESS * accesses, bytes);
    } else {
        ernic_pci_rx_work(d, accesses, bytes);
    }
}

/* Stores a frame of the queue, whose contexts are in order. */
static void store(ErnicPci *d, const QdmaRing *r, const uint8_t *frame, uint32_t len,
                  ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t prefetch = q->queue[r->number].prefetch[0];
    uint32_t size = *qdma_reg(q, QDMA_C2H_BUF_SZ,
                              FIELD_EX32(prefetch, PREFETCH0, BUFFER));
    uint32_t entries = qdma_ring_entries(q, r), ci = qdma_ring_cidx(r);
    uint32_t num = size ? DIV_ROUND_UP((uint64_t)len, size) : UINT32_MAX;
    uint64_t addr[BUFFERS_MAX];

    if (FIELD_EX32(prefetch, PREFETCH0, PORT) != PORT || num > BUFFERS_MAX) {
        qdma_error(d, num > BUFFERS_MAX ? QDMA_ERR_C2H_COUNT : QDMA_ERR_C2H_PORT, r);
        qdma_port_lost(d, ERNIC_QDMA_C2H, r->number, len, "prefetch context");
        return;
    }
    if ((qdma_ring_pidx(r) + entries - ci) % entries < num) {
        qdma_port_lost(d, ERNIC_QDMA_C2H, r->number, len, "no buffers");
        return;
    }
    charge(d, work, num * BUFFER_ACCESSES + PACKET_ACCESSES, 0);
    if (!fetch(d, r, addr, num)) {
        fails(d, QDMA_ERR_FETCH, r, len);
        return;
    }
    if (!scatter(d, addr, size, frame, len)) {
        fails(d, QDMA_ERR_DMA, r, len);
        return;
    }
    r->hw[0] = FIELD_DP32(r->hw[0], HW0, CIDX, (ci + num) % entries);
    if (!qdma_cmpt_post(d, r->number, len, false)) {
        qdma_port_lost(d, ERNIC_QDMA_C2H, r->number, len, "completion");
        return;
    }
    q->stats.packets[ERNIC_QDMA_C2H]++;
    q->stats.packet_bytes[ERNIC_QDMA_C2H] += len;
    trace_ernic_qdma_c2h(ernic_pci_id(d), r->number, len, num);
}

void qdma_c2h_packet(ErnicPci *d, const uint8_t *frame, uint32_t len, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t number = qdma_port_queue(d, frame, len), entries;
    const char *why;
    QdmaRing r;

    if (!qdma_port_enabled(d, ERNIC_QDMA_C2H)) {
        return;                         /* the MAC does not see it */
    }
    if (len > QDMA_FRAME_MAX) {
        qdma_port_lost(d, ERNIC_QDMA_C2H, number, len, "length");
        return;
    }
    qdma_port_count(q, ERNIC_QDMA_C2H, frame, len);
    charge(d, work, 0, len);
    if (number >= ERNIC_QDMA_QUEUES) {
        qdma_port_lost(d, ERNIC_QDMA_C2H, number, len, "no such queue");
        return;
    }
    r = qdma_ring(q, number, ERNIC_QDMA_C2H);
    why = closed(q, &r);
    if (why) {
        qdma_port_lost(d, ERNIC_QDMA_C2H, number, len, why);
        return;
    }
    entries = qdma_ring_entries(q, &r);
    if (!qdma_ring_owned(q, &r)) {
        qdma_error(d, QDMA_ERR_QUEUE, &r);
        qdma_port_lost(d, ERNIC_QDMA_C2H, number, len, "function");
    } else if (!usable(q, &r)) {
        fails(d, QDMA_ERR_PARAM, &r, len);
    } else if (qdma_ring_cidx(&r) >= entries || qdma_ring_pidx(&r) >= entries) {
        fails(d, QDMA_ERR_PIDX, &r, len);
    } else {
        store(d, &r, frame, len, work);
    }
}

bool ernic_qdma_receive(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    if (!d->shell.qdma) {
        return false;
    }
    if (!qdma_port_loops(d)) {
        qdma_c2h_packet(d, frame, len, NULL);
    }
    return true;
}
