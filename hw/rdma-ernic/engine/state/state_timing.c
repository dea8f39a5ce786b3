/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of the timing model: its profile, how busy each stage is, and the records
 * that its FIFOs delay. Records refer to queues, which are loaded before them.
 */
#include "qemu/osdep.h"
#include "objects/cq.h"
#include "state/state.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "transport/retry_buffer.h"
#include "transport/tx.h"

/* ---- the profile ----------------------------------------------------------- */

#define S ErnicCost
DESCRIBE(cost, U(latency), U(packet), U(close), U(width));
#undef S

#define S ErnicPcie
DESCRIBE(pcie,
    U(speed), U(lanes), U(payload), U(completion), U(posted), U(headers), U(data),
    U(credit_return),
);
#undef S

/* A parameter that a writer did not have is equal only if it has its default here. */
#define S ErnicProfile
DESCRIBE(profile,
    U(core_ps), U(host_ps), U(wire_mbps), U(wire_extra), U(wire_min), U(wire_flight),
    U(wqe_batch), U(wqe_miss), U(wqe_fetches), U(context_entries), U(context_miss),
    U(key_entries), U(key_miss), U(key_update), U(read_overlap), U(dma_requests),
    U(dma_request), U(tx_packets), U(rx_packets), U(outstanding), U(retry_packets),
    DERIVED(shell),             /* of the device that loads: no engine uses it */
    U(ack_coalesce), U(ack_delay), STRUCT(pcie, pcie),
    STRUCTS(stage, cost),
);
#undef S

/* ---- stages ---------------------------------------------------------------- */

#define S ErnicStageState
DESCRIBE(stage, U(free), U(last), U(items), U(busy), U(stalled), U(idle), U(waited));
#undef S

static void save_ends(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicLimit *l = obj;

    ernic_state_put_all(out, l->end, l->size, sizeof(*l->end));
}

/* Indices are checked here, so that check_timing.c may use them. */
static bool load_ends(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicLimit *l = obj;

    ernic_state_read_all(in, l->end, l->size, sizeof(*l->end));
    return l->next < l->size && l->count <= l->size;
}

static const ErnicStateOwned ends = { save_ends, load_ends };

#define S ErnicLimit
DESCRIBE(limit,
    U(next), U(count), U(peak), U(area), OWNED(end, ends),
    DERIVED(size),              /* of the profile */
    DERIVED(held),              /* of the responses that have begun */
);
#undef S

#define S ErnicLevel
DESCRIBE(level,
    U(peak), U(area), U(at),
    DERIVED(size),              /* of the profile */
    DERIVED(count),             /* of the queue pairs */
);
#undef S

#define S ErnicTimedRetry
DESCRIBE(retry,
    STRUCT(kept, level),
    /* These come from the queue pairs; those that wait ask again. */
    DERIVED(held), DERIVED(line), DERIVED(waits), DERIVED(qps), DERIVED(head),
    DERIVED(count),
);
#undef S

static void count_requests(Ernic *e)
{
    ErnicTiming *t = e->timing;
    uint32_t i;

    for (i = 0; i < e->cfg.max_qp; i++) {
        const ErnicQp *qp = &e->qp[i];

        t->under_way[i] = qp->used ? qp->sq.started - qp->sq.wq.ci : 0;
        t->requests.count += t->under_way[i];
    }
}

/* ---- responses to READs ---------------------------------------------------- */

#define S ErnicTimedResponse
DESCRIBE(timed_response, U(qpn), BOOL(begun), U(begin), U(end));
#undef S

static void save_places(const ErnicStateField *f, const Ernic *e, const void *obj,
                        GByteArray *out)
{
    const ErnicTiming *t = obj;

    ernic_state_put(out, t->places, 4);
    ernic_state_save_structs(e, f->of, t->place, t->places, out);
}

static bool load_places(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint32_t n = ernic_state_read(in, 4), i;
    ErnicTiming *t = obj;

    if (n > t->rsp.size) {
        return false;
    }
    for (i = 0; i < n; i++) {
        if (!ernic_state_load_struct(e, f->of, &t->place[i], in)) {
            return false;
        }
        t->rsp.held += t->place[i].begun;
    }
    t->places = n;
    return true;
}

static const ErnicStateOwned places = { save_places, load_places };

/* ---- caches ---------------------------------------------------------------- */

/* The numbers in a cache, most recently used first. */
static void save_numbers(const ErnicStateField *f, const Ernic *e, const void *obj,
                         GByteArray *out)
{
    const ErnicLru *c = obj;
    uint32_t id;

    ernic_state_put(out, c->count, 4);
    for (id = ernic_lru_next(c, 0); id; id = ernic_lru_next(c, id)) {
        ernic_state_put(out, id, 4);
    }
}

static bool load_numbers(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicLru *c = obj;
    uint64_t hits = c->hits, misses = c->misses;
    uint32_t n = ernic_state_read(in, 4), i;
    bool ok = n <= c->entries && ernic_state_has(in, n, 4);
    uint32_t *ids;

    if (!ok) {
        return false;
    }
    ids = g_try_new(uint32_t, MAX(n, 1));
    if (!ids) {
        return ernic_state_refuse(in, "this host has no memory for its objects");
    }
    for (i = 0; i < n; i++) {
        ids[i] = ernic_state_read(in, 4);
    }
    /* Used again in the order in which they were; none may be there twice. */
    for (i = n; ok && i-- > 0;) {
        ok = ids[i] > 0 && ids[i] < c->ids && !ernic_lru_use(c, ids[i]);
    }
    g_free(ids);
    c->hits = hits;
    c->misses = misses;
    return ok;
}

static const ErnicStateOwned numbers = { save_numbers, load_numbers };

#define S ErnicLru
DESCRIBE(lru,
    U(hits), U(misses), OWNED(next, numbers), DERIVED(prev), DERIVED(count),
    DERIVED(ids),               /* of the configuration */
    DERIVED(entries),           /* of the profile */
);
#undef S

static void save_fetched(const ErnicStateField *f, const Ernic *e, const void *obj,
                         GByteArray *out)
{
    uint32_t i;

    for (i = 0; i < e->cfg.max_qp; i++) {
        if (e->timing->fetched[i]) {
            ernic_state_put(out, i, 4);
            ernic_state_put(out, e->timing->fetched[i], 4);
        }
    }
    ernic_state_put(out, e->cfg.max_qp, 4);     /* after the last */
}

static bool load_fetched(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint32_t next = 0, id;

    while (!in->failed) {
        id = ernic_state_read(in, 4);
        if (id == e->cfg.max_qp) {
            return true;
        }
        if (id < next || id > e->cfg.max_qp) {
            return false;
        }
        e->timing->fetched[id] = ernic_state_read(in, 4);
        if (e->timing->fetched[id] == 0 ||
            e->timing->fetched[id] >= e->timing->p->wqe_batch) {
            return false;
        }
        next = id + 1;
    }
    return false;
}

static const ErnicStateOwned fetched = { save_fetched, load_fetched };

/* ---- FIFOs ----------------------------------------------------------------- */

#define S ErnicDelayFifo
DESCRIBE(fifo,
    U(peak), U(area), U(at),
    /*
     * These come from the configuration and the profile; records are stored after this.
     */
    DERIVED(slot), DERIVED(due), DERIVED(size), DERIVED(slots), DERIVED(head),
    DERIVED(count),
);
#undef S

static void save_fifo(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicDelayFifo *l = (const void *)((const char *)obj + f->offset);
    uint64_t due;
    uint32_t i;

    ernic_state_save_struct(e, &ernic_state_fifo, l, out);
    ernic_state_put(out, l->count, 4);
    for (i = 0; i < l->count; i++) {
        const void *record = ernic_delay_fifo_at(l, i, &due);

        ernic_state_put(out, due, 8);
        ernic_state_save_struct(e, f->of, record, out);
    }
}

static bool load_fifo(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicDelayFifo *l = (void *)((char *)obj + f->offset), was = *l;
    uint64_t last = 0, due;
    uint32_t n, i;

    if (!ernic_state_load_struct(e, &ernic_state_fifo, &was, in)) {
        return false;
    }
    n = ernic_state_read(in, 4);
    if (n > l->slots) {
        return false;
    }
    for (i = 0; i < n; i++) {
        void *record;

        due = ernic_state_read(in, 8);
        if (due < last || due == ERNIC_NEVER) {
            return false;
        }
        record = ernic_delay_fifo_add(l, was.at, due);
        memset(record, 0, l->size);
        if (!ernic_state_load_struct(e, f->of, record, in)) {
            return false;
        }
        last = due;
    }
    l->peak = was.peak;
    l->area = was.area;
    l->at = was.at;
    return true;
}

static const ErnicStateOwned fifo = { save_fifo, load_fifo };

#define S ErnicTimedDoorbell
DESCRIBE(timed_doorbell, U(where), U(value));
#undef S

static void save_ip(const ErnicStateField *f, const Ernic *e, const void *obj,
                    GByteArray *out)
{
    const ErnicTimedPacket *p = obj;

    g_byte_array_append(out, p->ip, p->ip_len);
}

/* Its reader takes the length from the addresses. */
static bool load_ip(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicTimedPacket *p = obj;

    if (p->ip_len && p->ip_len != ERNIC_UDP_LEN +
        (ernic_gid_is_v4(&p->path.dgid) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN)) {
        return false;
    }
    ernic_state_read_bytes(in, p->ip, p->ip_len);
    return true;
}

static const ErnicStateOwned ip = { save_ip, load_ip };

static void save_data(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicTimedPacket *p = obj;

    g_byte_array_append(out, p->data, p->len);
}

static bool load_data(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicTimedPacket *p = obj;

    if (p->len == 0 || p->len > sizeof(p->data)) {
        return false;
    }
    ernic_state_read_bytes(in, p->data, p->len);
    return true;
}

static const ErnicStateOwned data = { save_data, load_data };

#define S ErnicTimedPacket
DESCRIBE(timed_packet,
    STRUCT(path, path), U(ip_len), OWNED(ip, ip), U(len),
    OWNED(data, data), U(serial),
);
#undef S

#define S ErnicTimedCqe
DESCRIBE(timed_cqe, U(cqn), STRUCT(wc, wc));
#undef S

/* ---- interrupts ------------------------------------------------------------ */

/* A deadline for each vector. */
static void save_irqs(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicTimers *t = e->timing->irqs;
    uint32_t id;

    for (id = 1; id < t->size; id++) {
        ernic_state_put(out, t->pos[id] ? t->due[id] : ERNIC_NEVER, 8);
    }
}

static bool load_irqs(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicTimers *t = e->timing->irqs;
    uint32_t id;

    for (id = 1; id < t->size && !in->failed; id++) {
        ernic_timer_set(t, id, ernic_state_read(in, 8));
    }
    return true;
}

static const ErnicStateOwned irqs = { save_irqs, load_irqs };

/* ---- all of it ------------------------------------------------------------- */

#define S ErnicTiming
DESCRIBE(timing,
    DERIVED(p),                 /* a section of its own, and compared */
    DERIVED(trace), DERIVED(what),      /* of the device that loads */
    U(since), U(epoch), STRUCTS(server, stage),
    STRUCT(fetch, limit), STRUCT(dma, limit),
    STRUCT(rsp, limit), OWNED_OF(place, places, timed_response),
    DERIVED(places), STRUCT(posted, limit),
    STRUCT(retry, retry), STRUCT(requests, level),
    DERIVED(under_way),         /* of the queue pairs */
    STRUCT(context, lru), STRUCT(key, lru),
    OWNED(fetched, fetched), OWNED_OF(doorbells, fifo, timed_doorbell),
    OWNED_OF(tx, fifo, timed_packet), OWNED_OF(rx, fifo, timed_packet),
    OWNED_OF(cqes, fifo, timed_cqe), OWNED(irqs, irqs), U(tx_done),
    U(local_done), U(read_done), U(cmd_due), U(held_due), U(rx_overflows),
    DERIVED(link_busy), DERIVED(loop_full),     /* asked again */
);
#undef S

void ernic_state_derive_timing(Ernic *e)
{
    const ErnicTx *tx = e->tx;

    count_requests(e);
    ernic_retry_buffer_load(e);
    /* With the model, packets are held because its FIFO is full, whatever the link is. */
    e->tx->busy = tx->packets && !tx->frame &&
                  ernic_delay_fifo_full(&e->timing->tx);
}
