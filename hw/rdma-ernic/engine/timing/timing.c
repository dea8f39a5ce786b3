/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The paths through the device: the stages that packets, stores and completions pass,
 * and the cost of each stage. transmit() and receive() define the order of stages.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "timing/timing.h"
#include "timing/timing_count.h"

#define PS_PER_NS       1000
#define ATOMIC_LEN      8
/* Bytes of a context, a key or a request, which the device reads or stores. */
#define ENTRY_LEN       64
/* Bytes of a store of software's, and of an interrupt message. */
#define STORE_LEN       8
#define MSIX_LEN        4
/* The origin moves forward long before a time in ps could exceed 64 bits. */
#define EPOCH_NS        (1ull << 32)

ErnicTiming *ernic_timing_new(const ErnicConfig *cfg)
{
    const ErnicProfile *p = cfg->timing;
    ErnicTiming *t = g_new0(ErnicTiming, 1);

    t->p = p;
    t->trace = cfg->timing_trace;
    t->since = ERNIC_NEVER;
    ernic_limit_init(&t->fetch, p->wqe_fetches);
    ernic_limit_init(&t->dma, p->dma_requests);
    ernic_limit_init(&t->rsp, p->read_overlap);
    ernic_limit_init(&t->posted, ernic_pcie_posted_tlps(&p->pcie));
    t->retry = (ErnicTimedRetry) {
        .kept.size = p->retry_packets, .qps = cfg->max_qp,
        .held = g_new0(uint32_t, cfg->max_qp),
        .line = g_new0(uint32_t, cfg->max_qp),
        .waits = g_new0(bool, cfg->max_qp),
    };
    t->requests.size = (uint64_t)p->outstanding * cfg->max_qp;
    t->under_way = g_new0(uint32_t, cfg->max_qp);
    ernic_lru_init(&t->context, cfg->max_qp, p->context_entries);
    ernic_lru_init(&t->key, cfg->max_mr, p->key_entries);
    t->fetched = g_new0(uint32_t, cfg->max_qp);
    ernic_delay_fifo_init(&t->doorbells, ERNIC_TIMING_DOORBELLS,
                          sizeof(ErnicTimedDoorbell));
    ernic_delay_fifo_init(&t->tx, p->tx_packets, sizeof(ErnicTimedPacket));
    ernic_delay_fifo_init(&t->rx, p->rx_packets, sizeof(ErnicTimedPacket));
    ernic_delay_fifo_init(&t->cqes, ERNIC_TIMING_CQES, sizeof(ErnicTimedCqe));
    t->irqs = ernic_timers_new(MAX(cfg->num_vectors,
                                  cfg->pg332 ? ERNIC_PG332_IRQS : 1) + 1);
    return t;
}

void ernic_timing_free(ErnicTiming *t)
{
    if (!t) {
        return;
    }
    g_free(t->retry.held);
    g_free(t->retry.line);
    g_free(t->retry.waits);
    g_free(t->under_way);
    ernic_lru_fini(&t->context);
    ernic_lru_fini(&t->key);
    g_free(t->fetched);
    ernic_delay_fifo_fini(&t->doorbells);
    ernic_delay_fifo_fini(&t->tx);
    ernic_delay_fifo_fini(&t->rx);
    ernic_delay_fifo_fini(&t->cqes);
    ernic_timers_free(t->irqs);
    g_free(t);
}

/* ---- time ------------------------------------------------------------------ */

static uint64_t moved(uint64_t at, uint64_t by)
{
    return at > by ? at - by : 0;
}

static void rebase(ErnicTiming *t, uint64_t ns)
{
    uint64_t by = ns * PS_PER_NS;
    uint32_t i;

    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        ernic_stage_rebase(&t->server[i], by);
    }
    ernic_limit_rebase(&t->fetch, by);
    ernic_limit_rebase(&t->dma, by);
    ernic_limit_rebase(&t->rsp, by);
    ernic_limit_rebase(&t->posted, by);
    t->tx_done = moved(t->tx_done, by);
    t->local_done = moved(t->local_done, by);
    for (i = 0; i < t->places; i++) {
        t->place[i].begin = moved(t->place[i].begin, by);
        t->place[i].end = moved(t->place[i].end, by);
    }
    t->read_done = moved(t->read_done, by);
    t->epoch += ns;
}

/* The span of a passage that begins now. */
static ErnicSpan begin(Ernic *e)
{
    ErnicTiming *t = e->timing;
    uint64_t ps;

    if (unlikely(t->since == ERNIC_NEVER)) {
        t->since = t->epoch = e->now;
    }
    /* More than one iteration only if the clock has jumped by months. */
    while (e->now - t->epoch >= EPOCH_NS) {
        rebase(t, MIN(e->now - t->epoch, UINT64_MAX / PS_PER_NS));
    }
    ps = (e->now - t->epoch) * PS_PER_NS;
    return (ErnicSpan) { ps, ps };
}

/* @ps as an absolute time in ns, rounded up. */
static uint64_t due_ns(const ErnicTiming *t, uint64_t ps)
{
    uint64_t ns = ps / PS_PER_NS + (ps % PS_PER_NS != 0);

    return MIN(ernic_sat_add(t->epoch, ns), ERNIC_NEVER - 1);
}

bool ernic_timing_held_due_ok(const ErnicTiming *t)
{
    uint64_t due = due_ns(t, ernic_sat_add(t->tx_done, t->p->wire_flight));

    /* After the origin has moved past the end, only an upper bound is known. */
    return t->tx_done ? t->held_due == due : t->held_due <= due;
}

/* ---- stages ---------------------------------------------------------------- */

/* The latency of a read of @len bytes that the device itself needs. */
static uint64_t own_read(const ErnicTiming *t, uint32_t len)
{
    return ernic_pcie_read(&t->p->pcie, len);
}

static void serve(ErnicTiming *t, ErnicStage stage, ErnicSpan *span,
                  uint32_t bytes, uint64_t work, uint64_t latency)
{
    ErnicStageState *s = &t->server[stage], was = *s;
    ErnicPassage p;

    ernic_stage_pass(s, span, work, latency, false);
    if (likely(!t->trace)) {
        return;
    }
    p = (ErnicPassage) {
        .what = t->what, .stage = stage, .bytes = bytes, .epoch = t->epoch,
        .start = s->free - work - (s->stalled - was.stalled),
        .end = s->free, .work = work, .out = span->tail,
    };
    p.in = p.start - (s->waited - was.waited);
    t->trace->passed(t->trace->opaque, &p);
}

/* Pass a stage of the core. @extra: additional ps of latency, of a cache miss. */
static void pass(ErnicTiming *t, ErnicStage stage, ErnicSpan *span,
                 uint32_t bytes, bool close, uint64_t extra)
{
    const ErnicCost *c = &t->p->stage[stage];
    uint64_t cycles = c->packet + (close ? c->close : 0) +
                      (c->width ? DIV_ROUND_UP(bytes, c->width) : 0);

    serve(t, stage, span, bytes, cycles * t->p->core_ps, c->latency + extra);
}

/*
 * Pass a stage of the host side, with the host clock. @len bytes also occupy the PCI
 * Express link; the slower of the two counts. DMA_READ is for payload only, and an
 * MMIO read of software's pays the latency both ways.
 */
static void pass_host(ErnicTiming *t, ErnicStage stage, ErnicSpan *span,
                      uint32_t len)
{
    const ErnicCost *c = &t->p->stage[stage];
    const ErnicPcie *pcie = &t->p->pcie;
    bool read = stage == ERNIC_STAGE_DMA_READ;
    uint64_t cycles = c->packet + (c->width ? DIV_ROUND_UP(len, c->width) : 0);
    uint64_t link = ernic_pcie_work(pcie, len, read ? ERNIC_PCIE_COMPLETION :
                                                      ERNIC_PCIE_WRITE);

    uint64_t way = read ? pcie->completion :
                   stage == ERNIC_STAGE_MMIO ? 2 * pcie->posted : pcie->posted;

    serve(t, stage, span, c->width ? len : 0,
          MAX(cycles * t->p->host_ps, link),
          c->latency + (pcie->speed ? way : 0));
}

/* The length of a frame in bytes, without FCS. */
static uint32_t frame_len(const ErnicPath *path, uint32_t len)
{
    return ERNIC_ETH_LEN + (path->vlan == ERNIC_NO_VLAN ? 0 : ERNIC_VLAN_LEN) +
           (ernic_gid_is_v4(&path->dgid) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN) +
           ERNIC_UDP_LEN + len;
}

static void pass_context(ErnicTiming *t, ErnicStage stage, ErnicSpan *span,
                         uint32_t qpn)
{
    pass(t, stage, span, 0, false,
         ernic_lru_use(&t->context, qpn) ? 0 :
         t->p->context_miss + own_read(t, ENTRY_LEN));
}

/* Fetch a batch of the posted requests, unless an earlier fetch brought this one. */
static void pass_wqe(ErnicTiming *t, ErnicSpan *span, uint32_t qpn,
                     uint32_t behind)
{
    uint32_t *here = &t->fetched[qpn];
    bool hit = *here > 0;
    uint32_t num = MIN(behind + 1, t->p->wqe_batch);
    uint64_t begin;

    *here = (hit ? *here : num) - 1;
    pass(t, ERNIC_STAGE_ARBITER, span, 0, false, 0);
    if (hit) {
        pass(t, ERNIC_STAGE_WQE, span, 0, false, 0);
        return;
    }
    begin = span->head = ernic_limit_at(&t->fetch, span->head);
    span->tail = MAX(span->tail, span->head);
    pass(t, ERNIC_STAGE_WQE, span, 0, false,
         t->p->wqe_miss + own_read(t, num * ENTRY_LEN));
    ernic_limit_take(&t->fetch, begin, span->tail);
}

/* A key is registered, bound or invalidated: its table is in memory, like contexts. */
static void pass_key_update(ErnicTiming *t, ErnicSpan *span)
{
    pass(t, ERNIC_STAGE_KEY, span, 0, false,
         t->p->key_update + ernic_pcie_write(&t->p->pcie, ENTRY_LEN));
}

/* Payload is read by separate requests, with a limit on those in progress. */
static void pass_dma_read(ErnicTiming *t, ErnicSpan *span, uint32_t bytes)
{
    ErnicSpan whole = *span;
    uint32_t done, n;

    for (done = 0; done < bytes; done += n) {
        uint64_t at = ernic_limit_at(&t->dma, span->head);
        ErnicSpan part = { at, at };

        n = MIN(bytes - done, t->p->dma_request);
        pass_host(t, ERNIC_STAGE_DMA_READ, &part, n);
        ernic_limit_take(&t->dma, at, part.tail);
        if (!done) {
            whole.head = part.head;
        }
        whole.tail = MAX(whole.tail, part.tail);
    }
    *span = whole;
}

/* A TLP leaves when there are credits for it, however fast the payload arrives. */
static void pass_dma_write(ErnicTiming *t, ErnicSpan *span, uint32_t bytes)
{
    const ErnicPcie *pcie = &t->p->pcie;
    uint64_t at = MAX(span->head, t->server[ERNIC_STAGE_DMA_WRITE].free);
    uint32_t done, n;

    for (done = 0; pcie->speed && done < bytes; done += n) {
        n = MIN(bytes - done, pcie->payload);
        at = ernic_limit_at(&t->posted, at);
        at = ernic_sat_add(at, ernic_pcie_work(pcie, n, ERNIC_PCIE_WRITE));
        ernic_limit_take(&t->posted, at, ernic_sat_add(at, pcie->credit_return));
        span->tail = MAX(span->tail, at);
    }
    pass_host(t, ERNIC_STAGE_DMA_WRITE, span, bytes);
}

static void pass_mac(ErnicTiming *t, ErnicSpan *span, uint32_t frame)
{
    const ErnicProfile *p = t->p;
    /* 8 bits per byte, 10^6 ps per us. */
    uint64_t work = DIV_ROUND_UP((MAX(frame, p->wire_min) + p->wire_extra) *
                                 8 * 1000000, p->wire_mbps);

    serve(t, ERNIC_STAGE_MAC, span, frame, work,
          p->stage[ERNIC_STAGE_MAC].latency);
}

ErnicTimedResponse *ernic_timing_place(ErnicTiming *t, uint32_t qpn)
{
    uint32_t i;

    for (i = 0; i < t->places; i++) {
        if (t->place[i].qpn == qpn) {
            return &t->place[i];
        }
    }
    return NULL;
}

/* The stages of a READ response packet before its payload; @r: its read slot. */
static void pass_response(ErnicTiming *t, ErnicTimedResponse *r,
                          ErnicSpan *span, bool start)
{
    if (!r->begun) {
        r->begun = true;
        r->begin = span->head = ernic_limit_at(&t->rsp, span->head);
        span->tail = MAX(span->tail, span->head);
        ernic_limit_begin(&t->rsp, r->begin);
    }
    if (start) {
        pass(t, ERNIC_STAGE_READ_RSP, span, 0, false, 0);
    }
}

static void transmit(ErnicTiming *t, ErnicSpan *span, uint32_t qpn,
                     const ErnicPkt *pkt, uint32_t frame, uint32_t behind)
{
    const ErnicOpcode *op = pkt->op;
    bool request = op->flags & ERNIC_OPF_REQ;
    ErnicTimedResponse *response = op->cls == ERNIC_CL_READ_RSP ?
                                   ernic_timing_place(t, qpn) : NULL;

    if (request && (op->seg & ERNIC_SEG_START)) {
        pass_wqe(t, span, qpn, behind);
    }
    if (!request && !response) {
        pass(t, ERNIC_STAGE_ACK, span, 0, false, 0);
    }
    pass_context(t, ERNIC_STAGE_TX_CONTEXT, span, qpn);
    if (response) {
        pass_response(t, response, span, op->seg & ERNIC_SEG_START);
    }
    pass_dma_read(t, span, pkt->payload_len);
    if (response) {
        response->end = span->tail;
    }
    pass(t, ERNIC_STAGE_BUILD, span, frame,
         request && (op->seg & ERNIC_SEG_END), 0);
    pass(t, ERNIC_STAGE_ICRC, span, frame, false, 0);
    pass_mac(t, span, frame);
}

/* FNV-1a hash of fields that differ between any two packets in flight. */
static uint64_t packet_id(const ErnicPath *path, const ErnicPkt *pkt)
{
    uint32_t word[] = {
        ldl_be_p(path->dgid.raw + 12), pkt->dest_qp, pkt->psn,
        ernic_opcode_bth(pkt->op, pkt->transport),
    };
    uint64_t id = 0xcbf29ce484222325ull;
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(word); i++) {
        id = (id ^ word[i]) * 0x100000001b3ull;
    }
    return id;
}

/* The properties of a received packet that determine its cost. */
typedef struct Inbound {
    uint32_t qpn, key, inv_key, payload;
    bool atomic;                /* 8 bytes are read and written */
    bool close;                 /* the end of a message, reported to software */
} Inbound;

/* @packet is not checked yet: one that cannot be parsed has no payload and no key. */
static void inspect(ErnicTiming *t, const ErnicTrain *packet, Inbound *in)
{
    ErnicPkt pkt;

    memset(in, 0, sizeof(*in));
    t->what = (ErnicTimedThing) { .kind = ERNIC_TIMED_RECEIVED };
    if (ernic_pkt_parse(&pkt, packet->data, packet->len) != ERNIC_DROP_NONE) {
        return;
    }
    if (unlikely(t->trace)) {
        t->what.name = pkt.op->name;
        t->what.qpn = pkt.dest_qp;
        t->what.psn = pkt.psn;
        t->what.id = packet_id(&packet->path, &pkt);
    }
    in->qpn = pkt.dest_qp;
    in->atomic = pkt.op->cls == ERNIC_CL_ATOMIC;
    in->payload = in->atomic || pkt.op->cls == ERNIC_CL_ATOMIC_RSP ? ATOMIC_LEN :
                  pkt.payload_len;
    in->key = pkt.rkey >> 8;
    in->inv_key = pkt.inv_rkey >> 8;
    in->close = (pkt.op->flags & ERNIC_OPF_CQE) ||
                ((pkt.op->cls == ERNIC_CL_READ_RSP ||
                  pkt.op->cls == ERNIC_CL_ATOMIC_RSP) &&
                 (pkt.op->seg & ERNIC_SEG_END));
}

static void receive(ErnicTiming *t, ErnicSpan *span, const Inbound *in,
                    uint32_t frame)
{
    pass(t, ERNIC_STAGE_RECEIVE, span, frame, in->close, 0);
    pass_context(t, ERNIC_STAGE_RX_CONTEXT, span, in->qpn);
    if (in->key) {
        pass(t, ERNIC_STAGE_KEY, span, 0, false,
             ernic_lru_use(&t->key, in->key) ? 0 :
             t->p->key_miss + own_read(t, ENTRY_LEN));
    }
    if (in->inv_key) {
        pass_key_update(t, span);
    }
    if (in->atomic) {
        pass_dma_read(t, span, ATOMIC_LEN);
    }
    if (in->payload) {
        pass_dma_write(t, span, in->payload);
    }
}

/* ---- packets --------------------------------------------------------------- */

void ernic_timing_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt,
                       const ErnicPath *path, uint32_t len, uint32_t behind,
                       uint32_t index)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span = begin(e);

    if (unlikely(t->trace)) {
        t->what = (ErnicTimedThing) {
            .kind = ERNIC_TIMED_SENT, .name = pkt->op->name, .qpn = qpn,
            .of_request = pkt->op->flags & ERNIC_OPF_REQ, .index = index,
            .psn = pkt->psn, .id = packet_id(path, pkt),
        };
    }
    transmit(t, &span, qpn, pkt, frame_len(path, len), behind);
    t->tx_done = span.tail;
    t->held_due = due_ns(t, ernic_sat_add(span.tail, t->p->wire_flight));
}

static void put_packet(ErnicDelayFifo *line, uint64_t now, uint64_t due,
                       const ErnicTrain *train)
{
    ErnicTimedPacket *p = ernic_delay_fifo_add(line, now, due);

    g_assert(train->len <= sizeof(p->data));
    p->path = train->path;
    p->serial = train->serial;
    p->len = train->len;
    p->ip_len = 0;
    if (train->ip) {
        p->ip_len = ERNIC_UDP_LEN + (ernic_gid_is_v4(&train->path.dgid) ?
                                     ERNIC_IP4_LEN : ERNIC_IP6_LEN);
        memcpy(p->ip, train->ip, p->ip_len);
    }
    memcpy(p->data, train->data, train->len);
}

void ernic_timing_train(const ErnicTimedPacket *p, ErnicTrain *train)
{
    *train = (ErnicTrain) {
        .path = p->path, .ip = p->ip_len ? p->ip : NULL, .data = p->data,
        .len = p->len, .seg = p->len, .serial = p->serial,
    };
}

bool ernic_timing_depart(Ernic *e, const ErnicTrain *train)
{
    ErnicTiming *t = e->timing;

    if (ernic_delay_fifo_full(&t->tx)) {
        return false;
    }
    put_packet(&t->tx, e->now, t->held_due, train);
    return true;
}

void ernic_timing_rx_packet(Ernic *e, const ErnicTrain *packet)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span = begin(e);
    Inbound in;

    inspect(t, packet, &in);
    receive(t, &span, &in, frame_len(&packet->path, packet->len));
    put_packet(&t->rx, e->now, due_ns(t, span.tail), packet);
}

void ernic_timing_rx(Ernic *e, const ErnicTrain *train)
{
    ErnicTrain packet = *train;
    uint32_t pos;

    for (pos = 0; pos < train->len; pos += train->seg) {
        packet.data = train->data + pos;
        packet.len = packet.seg = MIN(train->seg, train->len - pos);
        /* A packet longer than any valid one is dropped here. */
        if (ernic_delay_fifo_full(&e->timing->rx) ||
            packet.len > ERNIC_TIMING_PACKET) {
            e->timing->rx_overflows++;
            continue;
        }
        ernic_timing_rx_packet(e, &packet);
    }
}

/* ---- stores, completions, interrupts --------------------------------------- */

void ernic_timing_local(Ernic *e, uint32_t qpn, const char *name,
                        uint32_t index, uint32_t behind)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span = begin(e);

    t->what = (ErnicTimedThing) {
        .kind = ERNIC_TIMED_SENT, .name = name, .qpn = qpn, .of_request = true,
        .index = index,
    };
    pass_wqe(t, &span, qpn, behind);
    pass_key_update(t, &span);
    t->local_done = MAX(t->local_done, span.tail);
}

void ernic_timing_read(Ernic *e)
{
    ErnicSpan span = begin(e);

    e->timing->what = (ErnicTimedThing) { .kind = ERNIC_TIMED_ACCESS };
    pass_host(e->timing, ERNIC_STAGE_MMIO, &span, STORE_LEN);
    e->timing->read_done = span.tail;
}

uint64_t ernic_timing_command(Ernic *e)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span;

    if (!t->cmd_due) {
        span = begin(e);
        t->what = (ErnicTimedThing) { .kind = ERNIC_TIMED_ACCESS };
        pass(t, ERNIC_STAGE_COMMAND, &span, 0, false, own_read(t, ENTRY_LEN) +
             ernic_pcie_write(&t->p->pcie, ENTRY_LEN));
        t->cmd_due = due_ns(t, span.tail);
    }
    return t->cmd_due;
}

/* A processor does not store before its previous register read has returned. */
static ErnicSpan begin_store(Ernic *e)
{
    ErnicSpan span = begin(e);

    span.head = span.tail = MAX(span.tail, e->timing->read_done);
    return span;
}

void ernic_timing_store(Ernic *e)
{
    ErnicSpan span = begin_store(e);

    e->timing->what = (ErnicTimedThing) { .kind = ERNIC_TIMED_STORE };
    pass_host(e->timing, ERNIC_STAGE_DOORBELL, &span, STORE_LEN);
}

void ernic_timing_doorbell(Ernic *e, uint32_t where, uint64_t value)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span = begin_store(e);
    ErnicTimedDoorbell *db;

    t->what = (ErnicTimedThing) {
        .kind = ERNIC_TIMED_DOORBELL, .qpn = value >> 32 & 0xffffff,
        .index = value,
    };
    pass_host(t, ERNIC_STAGE_DOORBELL, &span, STORE_LEN);
    db = ernic_delay_fifo_add(&t->doorbells, e->now, due_ns(t, span.tail));
    db->where = where;
    db->value = value;
}

void ernic_timing_cqe(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                      ErnicTimedAfter after)
{
    ErnicTiming *t = e->timing;
    ErnicSpan span = begin(e);
    ErnicTimedCqe *cqe;

    if (after != ERNIC_AFTER_NOTHING) {
        uint64_t ps = after == ERNIC_AFTER_SENT ? t->tx_done : t->local_done;

        span.head = span.tail = MAX(span.tail, ps);
    }
    t->what = (ErnicTimedThing) {
        .kind = ERNIC_TIMED_CQE, .qpn = wc->qpn, .index = wc->index,
        .of_request = !(wc->flags & ERNIC_CQE_RQ),
    };
    pass_host(t, ERNIC_STAGE_CQE, &span, ENTRY_LEN);
    cqe = ernic_delay_fifo_add(&t->cqes, e->now, due_ns(t, span.tail));
    cqe->wc = *wc;
    cqe->cqn = cqn;
}

void ernic_timing_requests(Ernic *e, uint32_t qpn, uint32_t num)
{
    ErnicTiming *t = e->timing;
    uint32_t before = t->under_way[qpn];

    if (num != before) {
        t->under_way[qpn] = num;
        ernic_level_set(&t->requests, e->now, t->requests.count - before + num);
    }
}

/* Whether an index counts @cqe: that of the receive queue, or of requests. */
static bool is_counted(const ErnicTimedCqe *cqe, bool recv)
{
    return !(cqe->wc.flags & ERNIC_CQE_RQ) == !recv &&
           (!recv || cqe->wc.opcode == ERNIC_WC_RECV);
}

uint32_t ernic_timing_hidden(const Ernic *e, uint32_t qpn, bool recv)
{
    const ErnicDelayFifo *line = &e->timing->cqes;
    uint32_t i, n = 0;
    uint64_t due;

    for (i = 0; i < line->count; i++) {
        const ErnicTimedCqe *cqe = ernic_delay_fifo_at(line, i, &due);

        n += cqe->wc.qpn == qpn && is_counted(cqe, recv);
    }
    return n;
}

bool ernic_timing_hides_requests(const Ernic *e)
{
    const ErnicDelayFifo *line = &e->timing->cqes;
    uint64_t due;
    uint32_t i;

    for (i = 0; i < line->count; i++) {
        if (is_counted(ernic_delay_fifo_at(line, i, &due), false)) {
            return true;
        }
    }
    return false;
}

void ernic_timing_irq(Ernic *e, uint16_t vector)
{
    ErnicTiming *t = e->timing;
    uint32_t id = vector + 1;
    ErnicSpan span;

    /* An interrupt already on its way covers this event too. */
    if (t->irqs->pos[id]) {
        return;
    }
    span = begin(e);
    t->what = (ErnicTimedThing) {
        .kind = ERNIC_TIMED_INTERRUPT, .qpn = vector,
    };
    pass_host(t, ERNIC_STAGE_INTERRUPT, &span, MSIX_LEN);
    ernic_timer_set(t->irqs, id, due_ns(t, span.tail));
}

void ernic_timing_run_irqs(Ernic *e)
{
    uint32_t id;

    while ((id = ernic_timers_pop(e->timing->irqs, e->now))) {
        e->ops->irq(e->env, id - 1);
    }
}

uint64_t ernic_timing_next(const Ernic *e)
{
    const ErnicTiming *t = e->timing;
    uint64_t next = ernic_timers_next(t->irqs);

    next = MIN(next, ernic_delay_fifo_due(&t->doorbells));
    next = MIN(next, ernic_delay_fifo_due(&t->rx));
    next = MIN(next, ernic_delay_fifo_due(&t->cqes));
    if (!t->link_busy && !t->loop_full) {
        next = MIN(next, ernic_delay_fifo_due(&t->tx));
    }
    return next;
}

void ernic_timing_waiting(const Ernic *e)
{
    uint32_t num[ERNIC_TIMED_QUEUES], i;

    for (i = 0; i < ERNIC_TIMED_QUEUES; i++) {
        num[i] = ernic_timing_queued(e, i);
    }
    e->timing->trace->waiting(e->timing->trace->opaque, e->now, num);
}
