/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life and the migrated state of the QDMA.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/mm.h"
#include "bars/qdma/port.h"
#include "bars/qdma/qdma.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/slice.h"
#include "bars/qdma/turns.h"
#include "device/card.h"
#include "device/pace.h"

void ernic_qdma_reset(ErnicPci *d)
{
    ErnicQdma *q = d->shell.qdma;

    if (q) {
        memset(q->job, 0, sizeof(q->job));
        memset(q->turns, 0, sizeof(q->turns));
        ernic_pace_reset(d);
        memset(q->port, 0, sizeof(q->port));
        memset(q->queue, 0, sizeof(q->queue));
        memset(q->fmap, 0, sizeof(q->fmap));
        memset(q->int_ring, 0, sizeof(q->int_ring));
        memset(q->due, 0, sizeof(q->due));
        timer_del(&d->shell.worker.delay);
        q->packet = 0;
        q->stats = (ErnicQdmaStats) { };
        q->record = (ErnicQdmaRecord) { };
        qdma_regs_reset(d);
    }
}

/* Whether the context of a direction, or of completions, is that of the function. */
static void queue_reset(ErnicQdma *q, uint32_t number, uint32_t function)
{
    ErnicQdmaQueue *queue = &q->queue[number];
    uint8_t dir;
    QdmaRing r;

    for (dir = 0; dir < ERNIC_QDMA_DIRS; dir++) {
        r = qdma_ring(q, number, dir);
        if (FIELD_EX32(r.sw[0], SW0, FUNCTION) == function) {
            q->job[dir].busy &= q->job[dir].queue != number;
            qdma_turns_set(&q->turns[dir], number, false);
            memset(r.sw, 0, sizeof(queue->sw[dir]));
            memset(r.hw, 0, sizeof(queue->hw[dir]));
            queue->credit[dir] = 0;
        }
    }
    if (qdma_cmpt_function(q, number) == function) {
        qdma_cmpt_timer_ends(q, number);
        memset(queue->cmpt, 0, sizeof(queue->cmpt));
        memset(queue->prefetch, 0, sizeof(queue->prefetch));
    }
}

void ernic_qdma_function_reset(ErnicPci *d, uint32_t function)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t i;

    for (i = 0; i < ERNIC_QDMA_QUEUES; i++) {
        queue_reset(q, i, function);
    }
    qdma_aggregation_reset(q, function);
    ernic_pace_stall(&d->shell.pace[ERNIC_QDMA_DIRS + function]);
    memset(&q->port[function].stream, 0, sizeof(q->port[function].stream));
    memset(q->fmap[function], 0, sizeof(q->fmap[function]));
}

static void qdma_run(void *opaque)
{
    ErnicPci *d = opaque;

    if (!qdma_mm_valid(d->shell.qdma)) {
        ernic_qdma_reset(d);            /* of a state that was only loaded in part */
    }
    qdma_slice_run(d);
}

void ernic_qdma_open(ErnicPci *d)
{
    d->shell.qdma = g_new0(ErnicQdma, 1);
    ernic_pci_card_open(d, qdma_run, NULL);
    ernic_qdma_reset(d);
}

/* ---- migration ------------------------------------------------------------ */

static bool has_qdma(void *opaque)
{
    ErnicPci *d = opaque;

    return d->shell.qdma;
}

/* A stream may have this for a device without a QDMA. */
static int qdma_pre_load(void *opaque)
{
    return has_qdma(opaque) ? 0 : -EINVAL;
}

static int qdma_post_load(void *opaque, int version)
{
    ErnicPci *d = opaque;

    qdma_regs_loaded(d);
    if (!qdma_mm_valid(d->shell.qdma)) {
        ernic_qdma_reset(d);
        error_report("ernic: the incoming state of the QDMA is not valid");
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription queue_vmstate = ERNIC_VMSTATE(
    "ernic/qdma-queue",
    VMSTATE_UINT32_2DARRAY(sw, ErnicQdmaQueue, ERNIC_QDMA_DIRS, 8),
    VMSTATE_UINT32_2DARRAY(hw, ErnicQdmaQueue, ERNIC_QDMA_DIRS, 2),
    VMSTATE_UINT32_ARRAY(credit, ErnicQdmaQueue, ERNIC_QDMA_DIRS),
    VMSTATE_UINT32_ARRAY(cmpt, ErnicQdmaQueue, 6),
    VMSTATE_UINT32_ARRAY(prefetch, ErnicQdmaQueue, 2));

static const VMStateDescription job_vmstate = ERNIC_VMSTATE(
    "ernic/qdma-job",
    VMSTATE_BOOL(busy, ErnicQdmaJob),
    VMSTATE_UINT32(queue, ErnicQdmaJob),
    VMSTATE_UINT32(len, ErnicQdmaJob),
    VMSTATE_UINT32(done, ErnicQdmaJob),
    VMSTATE_UINT64(bus, ErnicQdmaJob),
    VMSTATE_UINT64(card, ErnicQdmaJob));

static const VMStateDescription state_vmstate = ERNIC_VMSTATE(
    "ernic/qdma-state",
    VMSTATE_STRUCT_ARRAY(job, ErnicQdma, ERNIC_QDMA_DIRS, 1, job_vmstate,
                         ErnicQdmaJob),
    VMSTATE_UINT32_ARRAY(turns[0].bits, ErnicQdma, ERNIC_QDMA_QUEUES / 32),
    VMSTATE_UINT32_ARRAY(turns[1].bits, ErnicQdma, ERNIC_QDMA_QUEUES / 32),
    VMSTATE_UINT32(turns[0].next, ErnicQdma),
    VMSTATE_UINT32(turns[1].next, ErnicQdma),
    VMSTATE_UINT32_ARRAY(regs, ErnicQdma, ERNIC_QDMA_CSR_SIZE / 4),
    VMSTATE_STRUCT_ARRAY(queue, ErnicQdma, ERNIC_QDMA_QUEUES, 1, queue_vmstate,
                         ErnicQdmaQueue),
    VMSTATE_UINT32_2DARRAY(fmap, ErnicQdma, ERNIC_QDMA_FUNCTIONS, 2),
    VMSTATE_UINT64_ARRAY(stats.descriptors, ErnicQdma, ERNIC_QDMA_DIRS),
    VMSTATE_UINT64_ARRAY(stats.bytes, ErnicQdma, ERNIC_QDMA_DIRS),
    VMSTATE_UINT64(stats.errors, ErnicQdma));

/* Contexts may have any value: software can write any, and each use checks them. */
const VMStateDescription ernic_qdma_vmstate = {
    ERNIC_VMSTATE_V1("ernic/qdma"),
    .needed = has_qdma,
    .pre_load = qdma_pre_load,
    .post_load = qdma_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(shell.qdma, ErnicPci, state_vmstate, ErnicQdma),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription mac_vmstate = ERNIC_MAC_VMSTATE("ernic/qdma-mac");

/* The fields of a port; the numbers of queues come first in its section. */
#define PORT_MAC_STATE(n) \
    VMSTATE_STRUCT_ARRAY(port[n].mac, ErnicQdma, ERNIC_QDMA_DIRS, 1, mac_vmstate, \
                         ErnicMac), \
    VMSTATE_UINT64_ARRAY(port[n].stats.packets, ErnicQdma, ERNIC_QDMA_DIRS), \
    VMSTATE_UINT64_ARRAY(port[n].stats.packet_bytes, ErnicQdma, ERNIC_QDMA_DIRS), \
    VMSTATE_UINT64_ARRAY(port[n].stats.dropped, ErnicQdma, ERNIC_QDMA_DIRS), \
    VMSTATE_UINT64_ARRAY(port[n].stats.dropped_bytes, ErnicQdma, ERNIC_QDMA_DIRS)
#define PORT_TURNS_STATE(n) \
    VMSTATE_UINT32_ARRAY(port[n].stream.bits, ErnicQdma, ERNIC_QDMA_QUEUES / 32), \
    VMSTATE_UINT32(port[n].stream.next, ErnicQdma)

static const VMStateDescription stream_state_vmstate = ERNIC_VMSTATE(
    "ernic/streams-state",
    PORT_TURNS_STATE(0),
    VMSTATE_UINT32_2DARRAY(int_ring, ErnicQdma, ERNIC_QDMA_INT_RINGS, 4),
    VMSTATE_UINT64_ARRAY(due, ErnicQdma, ERNIC_QDMA_QUEUES),
    VMSTATE_UINT16(packet, ErnicQdma),
    PORT_MAC_STATE(0));

static const VMStateDescription second_state_vmstate = ERNIC_VMSTATE(
    "ernic/port1-state",
    PORT_TURNS_STATE(1),
    PORT_MAC_STATE(1));

/* Whether a stream has been used since the last reset. */
static bool has_streams(void *opaque)
{
    const ErnicQdma *q = ((ErnicPci *)opaque)->shell.qdma;

    return q && !(buffer_is_zero(&q->port[0], sizeof(q->port[0])) &&
                  buffer_is_zero(q->int_ring, sizeof(q->int_ring)) &&
                  buffer_is_zero(q->due, sizeof(q->due)) && !q->packet);
}

/* Queues of port 1 may be used without a second port: their frames are lost. */
static bool may_have_second(const ErnicPci *d)
{
    return d->shell.qdma && (d->shell.second || qdma_port_divided(d));
}

static bool has_second(void *opaque)
{
    const ErnicPci *d = opaque;

    return may_have_second(d) &&
           !buffer_is_zero(&d->shell.qdma->port[1], sizeof(d->shell.qdma->port[1]));
}

static int second_pre_load(void *opaque)
{
    return may_have_second(opaque) ? 0 : -EINVAL;
}

/*
 * QEMU takes a section whose name begins with that of the one before as a part of it, so
 * the name is another one. Each use checks what it takes from here, too.
 */
const VMStateDescription ernic_qdma_stream_vmstate = {
    ERNIC_VMSTATE_V1("ernic/streams"),
    .needed = has_streams,
    .pre_load = qdma_pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(shell.qdma, ErnicPci, stream_state_vmstate, ErnicQdma),
        VMSTATE_END_OF_LIST()
    }
};

/* The same for the second port. */
const VMStateDescription ernic_qdma_second_vmstate = {
    ERNIC_VMSTATE_V1("ernic/port1"),
    .needed = has_second,
    .pre_load = second_pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(shell.qdma, ErnicPci, second_state_vmstate, ErnicQdma),
        VMSTATE_END_OF_LIST()
    }
};

/* ---- strict mode ------------------------------------------------------------- */

static bool has_record(void *opaque)
{
    const ErnicQdma *q = ((ErnicPci *)opaque)->shell.qdma;

    return q && !buffer_is_zero(&q->record, sizeof(q->record));
}

static int record_pre_load(void *opaque)
{
    const ErnicPci *d = opaque;

    return d->shell.qdma && d->pg332.strict ? 0 : -EINVAL;
}

static int record_post_load(void *opaque, int version)
{
    ErnicQdma *q = ((ErnicPci *)opaque)->shell.qdma;
    uint32_t i;

    for (i = 0; i < ERNIC_QDMA_RULES; i++) {
        if (q->record.last[i].queue > ERNIC_QDMA_QUEUES) {
            return -EINVAL;
        }
    }
    return 0;
}

static const VMStateDescription violation_vmstate = ERNIC_VMSTATE(
    "ernic/rules-last",
    VMSTATE_UINT64(count, ErnicQdmaViolation),
    VMSTATE_UINT64(time, ErnicQdmaViolation),
    VMSTATE_UINT32(queue, ErnicQdmaViolation),
    VMSTATE_UINT32(offset, ErnicQdmaViolation),
    VMSTATE_UINT32(value, ErnicQdmaViolation));

static const VMStateDescription record_vmstate = ERNIC_VMSTATE(
    "ernic/rules-state",
    VMSTATE_STRUCT_ARRAY(record.last, ErnicQdma, ERNIC_QDMA_RULES, 1,
                         violation_vmstate, ErnicQdmaViolation),
    VMSTATE_UINT32_ARRAY(record.reported, ErnicQdma, ERNIC_QDMA_QUEUES + 1));

const VMStateDescription ernic_qdma_rules_vmstate = {
    ERNIC_VMSTATE_V1("ernic/rules"),
    .needed = has_record,
    .pre_load = record_pre_load,
    .post_load = record_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(shell.qdma, ErnicPci, record_vmstate, ErnicQdma),
        VMSTATE_END_OF_LIST()
    }
};
