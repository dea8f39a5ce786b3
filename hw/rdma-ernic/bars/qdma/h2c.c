/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The H2C stream engine: one descriptor is one packet. It takes one of each queue in
 * turn, and waits while the network cannot take a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net/eth.h"
#include "bars/qdma/port.h"
#include "bars/qdma/report.h"
#include "bars/qdma/stream.h"
#include "bars/qdma/turns.h"
#include "device/dma.h"
#include "net/ethernet.h"
#include "hw/rdma-ernic/trace.h"

/* Accesses to memory for a packet: descriptor, data, status. */
#define PACKET_ACCESSES 3

/* A descriptor of the stream engine in internal mode. */
typedef struct QdmaH2cDesc {
    uint32_t metadata;          /* the port does not use it */
    uint16_t len;
    uint16_t flags;             /* of bypass mode */
    uint64_t addr;
} QdmaH2cDesc;

QEMU_BUILD_BUG_ON(sizeof(QdmaH2cDesc) != 16);

static void fails(ErnicPci *d, QdmaError error, const QdmaRing *r)
{
    qdma_turns_set(&d->shell.qdma->stream, r->number, false);
    qdma_queue_fails(d, error, r);
}

/* Reads the descriptor at CIDX. False: there is none that the engine can execute. */
static bool fetch(ErnicPci *d, const QdmaRing *r, QdmaH2cDesc *desc)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t entries = qdma_ring_entries(q, r);

    if (!qdma_ring_runs(r)) {
        qdma_turns_set(&q->stream, r->number, false);
        return false;
    }
    if (!qdma_ring_owned(q, r)) {
        qdma_turns_set(&q->stream, r->number, false);
        qdma_error(d, QDMA_ERR_QUEUE, r);
        return false;
    }
    if (qdma_ring_cidx(r) >= entries || qdma_ring_pidx(r) >= entries) {
        fails(d, QDMA_ERR_PIDX, r);
        return false;
    }
    if (qdma_ring_is_mm(r) || FIELD_EX32(r->sw[1], SW1, BYPASS) ||
        FIELD_EX32(r->sw[1], SW1, DESC_SIZE) != QDMA_DESC_16) {
        fails(d, QDMA_ERR_PARAM, r);
        return false;
    }
    if (!ernic_pci_dma(d, qdma_ring_at(r, qdma_ring_cidx(r)), desc, sizeof(*desc),
                       false)) {
        fails(d, QDMA_ERR_FETCH, r);
        return false;
    }
    return true;
}

/* The reason why a frame cannot leave; NULL: it can. */
static const char *obstacle(const ErnicPci *d, const QdmaRing *r, uint32_t len)
{
    return len < ETH_HLEN || len > QDMA_FRAME_MAX ? "length" :
           !qdma_port_sends(d, r->number) ? "function" :
           !qdma_port_enabled(d, ERNIC_QDMA_H2C) ? "disabled" : NULL;
}

/* False: the function was reset or ejected meanwhile. */
static bool leave(ErnicPci *d, const uint8_t *frame, uint32_t len, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;

    q->stats.packets[ERNIC_QDMA_H2C]++;
    q->stats.packet_bytes[ERNIC_QDMA_H2C] += len;
    qdma_port_count(q, ERNIC_QDMA_H2C, frame, len);
    if (qdma_port_loops(d)) {
        qdma_c2h_packet(d, frame, len, work);
        return true;
    }
    return ernic_pci_eth_transmit(d, frame, len);
}

static QdmaStep packet(ErnicPci *d, const QdmaRing *r, ErnicBudget *work)
{
    uint8_t frame[QDMA_FRAME_MAX];
    QdmaH2cDesc desc;
    const char *why;
    uint32_t len;

    if (!fetch(d, r, &desc)) {
        return QDMA_WORKED;
    }
    len = le16_to_cpu(desc.len);
    trace_ernic_qdma_h2c(ernic_pci_id(d), r->number, le64_to_cpu(desc.addr), len);
    why = obstacle(d, r, len);
    if (why) {
        qdma_port_lost(d, ERNIC_QDMA_H2C, r->number, len, why);
        qdma_ring_complete(d, r);
        return QDMA_WORKED;
    }
    ernic_budget_charge(work, 0, len);
    if (!ernic_pci_dma(d, le64_to_cpu(desc.addr), frame, len, false)) {
        fails(d, QDMA_ERR_DMA, r);
        return QDMA_WORKED;
    }
    if (len < ETH_ZLEN) {
        memset(frame + len, 0, ETH_ZLEN - len);
        len = ETH_ZLEN;
    }
    qdma_ring_complete(d, r);
    return leave(d, frame, len, work) ? QDMA_WORKED : QDMA_GONE;
}

QdmaStep qdma_h2c_step(ErnicPci *d, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t number;
    QdmaRing r;

    if ((ernic_pci_eth_waits(d) && !qdma_port_loops(d)) ||
        !qdma_turns_next(&q->stream, &number)) {
        return QDMA_IDLE;
    }
    ernic_budget_charge(work, ERNIC_WORK_FRAME + ERNIC_WORK_ACCESS * PACKET_ACCESSES, 0);
    r = qdma_ring(q, number, ERNIC_QDMA_H2C);
    if (qdma_ring_cidx(&r) == qdma_ring_pidx(&r)) {
        qdma_turns_set(&q->stream, number, false);
        return QDMA_WORKED;
    }
    return packet(d, &r, work);
}
