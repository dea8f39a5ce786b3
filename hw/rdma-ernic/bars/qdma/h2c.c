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
#include "device/pace.h"
#include "net/transmit.h"
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
QEMU_BUILD_BUG_ON(ERNIC_PACES != ERNIC_QDMA_DIRS + ERNIC_QDMA_PORTS);

static ErnicPace *pace_of(ErnicPci *d, uint32_t port)
{
    return &d->shell.pace[ERNIC_QDMA_DIRS + port];
}

/* The number of the descriptor at CIDX for ernic_pace_waits(). */
static uint32_t name_of(const QdmaRing *r)
{
    return r->number << 16 | qdma_ring_cidx(r);
}

void qdma_h2c_ends(ErnicPci *d, const QdmaRing *r)
{
    ErnicPace *p = pace_of(d, qdma_port_of(d, r));

    if (p->owner >> 16 == r->number) {
        ernic_pace_cancel(p);
    }
}

/* The reason why a frame cannot leave; NULL: it can. */
static const char *obstacle(ErnicPci *d, uint32_t port, const QdmaRing *r, uint32_t len)
{
    return len < ETH_HLEN || len > ERNIC_MAC_FRAME_MAX ? "length" :
           !qdma_port_device(d, port) ? "no port" :
           !qdma_port_sends(d, port, r->number) ? "function" :
           !qdma_port_enabled(d, port, ERNIC_QDMA_H2C) ? "disabled" : NULL;
}

/* False: the card was reset or ejected meanwhile. A port that was is not used here. */
static bool leave(ErnicPci *d, uint32_t port, const uint8_t *frame, uint32_t len,
                  ErnicBudget *work)
{
    ErnicQdmaPort *p = &d->shell.qdma->port[port];
    uint32_t resets = d->resets;

    p->stats.packets[ERNIC_QDMA_H2C]++;
    p->stats.packet_bytes[ERNIC_QDMA_H2C] += len;
    ernic_mac_count(&p->mac[ERNIC_QDMA_H2C], frame, len);
    if (qdma_port_loops(d, port)) {
        qdma_c2h_packet(d, port, frame, len, work);
        return true;
    }
    ernic_pci_eth_transmit(qdma_port_device(d, port), frame, len);
    return d->resets == resets;
}

static QdmaStep packet(ErnicPci *d, uint32_t port, const QdmaRing *r, ErnicBudget *work)
{
    ErnicQdmaTurns *turns = &d->shell.qdma->port[port].stream;
    uint8_t frame[ERNIC_MAC_FRAME_MAX];
    QdmaH2cDesc desc;
    const char *why;
    uint32_t len;

    if (!qdma_ring_fetch(d, r, turns, false, &desc, sizeof(desc))) {
        return QDMA_WORKED;
    }
    len = le16_to_cpu(desc.len);
    if (ernic_pace_waits(d, pace_of(d, port), name_of(r), len)) {
        turns->next = r->number;
        return QDMA_IDLE;
    }
    ernic_pace_done(pace_of(d, port));
    trace_ernic_qdma_h2c(ernic_pci_id(d), r->number, le64_to_cpu(desc.addr), len);
    why = obstacle(d, port, r, len);
    if (why) {
        qdma_port_lost(d, port, ERNIC_QDMA_H2C, r->number, len, why);
        qdma_ring_complete(d, r);
        return QDMA_WORKED;
    }
    ernic_budget_charge(work, 0, len);
    if (!qdma_ring_dma(d, r, le64_to_cpu(desc.addr), frame, len, false)) {
        qdma_turns_set(turns, r->number, false);
        qdma_queue_fails(d, QDMA_ERR_DMA, r);
        return QDMA_WORKED;
    }
    if (len < ETH_ZLEN) {
        memset(frame + len, 0, ETH_ZLEN - len);
        len = ETH_ZLEN;
    }
    qdma_ring_complete(d, r);
    return leave(d, port, frame, len, work) ? QDMA_WORKED : QDMA_GONE;
}

QdmaStep qdma_h2c_step(ErnicPci *d, uint32_t port, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    ErnicQdmaTurns *turns = &q->port[port].stream;
    uint32_t number;
    QdmaRing r;

    if (qdma_port_waits(d, port)) {
        ernic_pace_stall(pace_of(d, port));
        return QDMA_IDLE;
    }
    if (!qdma_turns_next(turns, &number)) {
        ernic_pace_idle(pace_of(d, port));
        return QDMA_IDLE;
    }
    ernic_budget_charge(work, ERNIC_WORK_FRAME + ERNIC_WORK_ACCESS * PACKET_ACCESSES, 0);
    r = qdma_ring(q, number, ERNIC_QDMA_H2C);
    /* In a saved state any queue may wait for any port. */
    if (qdma_ring_cidx(&r) == qdma_ring_pidx(&r) || qdma_port_of(d, &r) != port) {
        qdma_turns_set(turns, number, false);
        return QDMA_WORKED;
    }
    return packet(d, port, &r, work);
}
