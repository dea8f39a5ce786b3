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
#include "device/traffic.h"
#include "hw/rdma-ernic/trace.h"

/* PG302: the most buffers of a packet. */
#define BUFFERS_MAX     31
/* Accesses to memory: descriptor and buffer; completion and status. */
#define BUFFER_ACCESSES 2
#define PACKET_ACCESSES 2
/* A frame on its way to a queue. */
typedef struct Frame {
    uint32_t port, len;
    const uint8_t *bytes;
    ErnicBudget *work;          /* NULL: the slice of its link */
} Frame;

static void lost(ErnicPci *d, const Frame *f, uint32_t queue, const char *why)
{
    qdma_port_lost(d, f->port, ERNIC_QDMA_C2H, queue, f->len, why);
}

/* The queue takes no more packets until its contexts are written. */
static void fails(ErnicPci *d, QdmaError error, const QdmaRing *r, const Frame *f)
{
    ErnicQdma *q = d->shell.qdma;
    ErnicQdmaJob *job = &q->job[ERNIC_QDMA_C2H];

    q->queue[r->number].prefetch[0] |= R_PREFETCH0_ERROR_MASK;
    /* A queue that the contexts call memory-mapped may be that engine's. */
    qdma_turns_set(&q->turns[ERNIC_QDMA_C2H], r->number, false);
    job->busy &= job->queue != r->number;
    lost(d, f, r->number, "error");
    qdma_queue_fails(d, error, r);
    qdma_cmpt_post(d, r->number, f->len, true);
}

/* Reads @num descriptors from CIDX on: addresses of buffers. */
static bool fetch(ErnicPci *d, const QdmaRing *r, uint64_t *addr, uint32_t num)
{
    uint32_t ci = qdma_ring_cidx(r);
    uint32_t first = MIN(num, qdma_ring_entries(d->shell.qdma, r) - ci);

    return qdma_ring_dma(d, r, qdma_ring_at(r, ci), addr, first * sizeof(*addr), false) &&
           (first == num || qdma_ring_dma(d, r, qdma_ring_at(r, 0), addr + first,
                                          (num - first) * sizeof(*addr), false));
}

static bool scatter(ErnicPci *d, const QdmaRing *r, const uint64_t *addr, uint32_t size,
                    const Frame *f)
{
    uint32_t pos, n;

    for (pos = 0; pos < f->len; pos += n, addr++) {
        n = MIN(f->len - pos, size);
        if (!qdma_ring_dma(d, r, le64_to_cpu(*addr), (void *)(f->bytes + pos), n, true)) {
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

static void charge(ErnicPci *d, const Frame *f, uint32_t accesses, uint32_t bytes)
{
    if (f->work) {
        ernic_budget_charge(f->work, ERNIC_WORK_ACCESS * accesses, bytes);
    } else {
        ernic_pci_rx_work(qdma_port_device(d, f->port), accesses, bytes);
    }
}

/* Stores a frame of the queue, whose contexts are in order. */
static void store(ErnicPci *d, const QdmaRing *r, const Frame *f)
{
    ErnicQdma *q = d->shell.qdma;
    ErnicQdmaPortStats *stats = &q->port[f->port].stats;
    uint32_t prefetch = q->queue[r->number].prefetch[0];
    uint32_t size = *qdma_reg(q, QDMA_C2H_BUF_SZ,
                              FIELD_EX32(prefetch, PREFETCH0, BUFFER));
    uint32_t entries = qdma_ring_entries(q, r), ci = qdma_ring_cidx(r);
    uint32_t num = size ? DIV_ROUND_UP((uint64_t)f->len, size) : UINT32_MAX;
    bool other = !qdma_port_is(d, f->port, FIELD_EX32(prefetch, PREFETCH0, PORT));
    uint64_t addr[BUFFERS_MAX];

    if (other || num > BUFFERS_MAX) {
        qdma_error(d, num > BUFFERS_MAX ? QDMA_ERR_C2H_COUNT : QDMA_ERR_C2H_PORT, r);
        lost(d, f, r->number, "prefetch context");
        return;
    }
    if ((qdma_ring_pidx(r) + entries - ci) % entries < num) {
        lost(d, f, r->number, "no buffers");
        return;
    }
    charge(d, f, num * BUFFER_ACCESSES + PACKET_ACCESSES, 0);
    if (!fetch(d, r, addr, num)) {
        fails(d, QDMA_ERR_FETCH, r, f);
        return;
    }
    if (!scatter(d, r, addr, size, f)) {
        fails(d, QDMA_ERR_DMA, r, f);
        return;
    }
    r->hw[0] = FIELD_DP32(r->hw[0], HW0, CIDX, (ci + num) % entries);
    if (!qdma_cmpt_post(d, r->number, f->len, false)) {
        lost(d, f, r->number, "completion");
        return;
    }
    stats->packets[ERNIC_QDMA_C2H]++;
    stats->packet_bytes[ERNIC_QDMA_C2H] += f->len;
    trace_ernic_qdma_c2h(ernic_pci_id(d), r->number, f->len, num);
}

/* A frame for queue @number, if there is one. */
static void to_queue(ErnicPci *d, uint32_t number, const Frame *f)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t entries;
    const char *why;
    QdmaRing r;

    if (number >= ERNIC_QDMA_QUEUES) {
        lost(d, f, number, "no such queue");
        return;
    }
    r = qdma_ring(q, number, ERNIC_QDMA_C2H);
    why = closed(q, &r);
    if (why) {
        lost(d, f, number, why);
        return;
    }
    entries = qdma_ring_entries(q, &r);
    if (!qdma_ring_owned(q, &r)) {
        qdma_error(d, QDMA_ERR_QUEUE, &r);
        lost(d, f, number, "function");
    } else if (!usable(q, &r)) {
        fails(d, QDMA_ERR_PARAM, &r, f);
    } else if (qdma_ring_cidx(&r) >= entries || qdma_ring_pidx(&r) >= entries) {
        fails(d, QDMA_ERR_PIDX, &r, f);
    } else {
        store(d, &r, f);
    }
}

void qdma_c2h_packet(ErnicPci *d, uint32_t port, const uint8_t *frame, uint32_t len,
                     ErnicBudget *work)
{
    const Frame f = { port, len, frame, work };
    uint32_t number = qdma_port_queue(d, port, frame, len);

    if (!qdma_port_enabled(d, port, ERNIC_QDMA_C2H)) {
        return;                         /* the MAC does not see it */
    }
    if (len > ERNIC_MAC_FRAME_MAX) {
        lost(d, &f, number, "length");
        return;
    }
    ernic_mac_count(&d->shell.qdma->port[port].mac[ERNIC_QDMA_C2H], frame, len);
    charge(d, &f, 0, len);
    to_queue(d, number, &f);
}

/* A second port is of no use while the first one has no power. */
bool ernic_qdma_receive(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    ErnicPci *first = ernic_pci_first(d);
    uint32_t port = d != first;

    if (!first->shell.qdma) {
        return false;
    }
    if ((!port || ernic_pci_working(first)) && !qdma_port_loops(first, port)) {
        qdma_c2h_packet(first, port, frame, len, NULL);
    }
    return true;
}
