/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the timing model keeps: how busy each stage is, and what stands in its
 * lines. Records refer to queues, which are loaded before.
 */
#include "qemu/osdep.h"
#include "objects/cq.h"
#include "state/state.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "transport/retry_buffer.h"

/* ---- stages ---------------------------------------------------------------- */

static void save_limit(const ErnicLimit *l, GByteArray *out)
{
    uint32_t i;

    ernic_state_put(out, l->next, 4);
    ernic_state_put(out, l->count, 4);
    ernic_state_put(out, l->peak, 4);
    ernic_state_put(out, l->area, 8);
    for (i = 0; i < l->size; i++) {
        ernic_state_put(out, l->end[i], 8);
    }
}

static bool load_limit(ErnicLimit *l, ErnicReader *in)
{
    uint32_t i;

    l->next = ernic_state_read(in, 4);
    l->count = ernic_state_read(in, 4);
    l->peak = ernic_state_read(in, 4);
    l->area = ernic_state_read(in, 8);
    for (i = 0; i < l->size; i++) {
        l->end[i] = ernic_state_read(in, 8);
    }
    /* check_timing.c has the rest, for which these are indices. */
    return l->next < l->size && l->count <= l->size;
}

/* How many there are follows from the queue pairs. */
static void save_level(const ErnicLevel *l, GByteArray *out)
{
    ernic_state_put(out, l->peak, 4);
    ernic_state_put(out, l->area, 8);
    ernic_state_put(out, l->at, 8);
}

static void load_level(ErnicLevel *l, ErnicReader *in)
{
    l->peak = ernic_state_read(in, 4);
    l->area = ernic_state_read(in, 8);
    l->at = ernic_state_read(in, 8);
}

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

static void save_places(const ErnicTiming *t, GByteArray *out)
{
    uint32_t i;

    ernic_state_put(out, t->places, 4);
    for (i = 0; i < t->places; i++) {
        ernic_state_put(out, t->place[i].qpn, 4);
        ernic_state_put(out, t->place[i].begun, 1);
        ernic_state_put(out, t->place[i].begin, 8);
        ernic_state_put(out, t->place[i].end, 8);
    }
}

static bool load_places(ErnicTiming *t, ErnicReader *in)
{
    uint32_t n = ernic_state_read(in, 4), i;

    if (n > t->rsp.size) {
        return false;
    }
    for (i = 0; i < n; i++) {
        uint32_t qpn = ernic_state_read(in, 4);
        uint64_t begun = ernic_state_read(in, 1);
        uint64_t begin = ernic_state_read(in, 8), end = ernic_state_read(in, 8);

        if (begun > 1) {
            return false;
        }
        t->place[i] = (ErnicTimedResponse) { qpn, begun, begin, end };
        t->rsp.held += begun;
    }
    t->places = n;
    return true;
}

/* What is in a cache, from what was used last on. */
static void save_lru(const ErnicLru *c, GByteArray *out)
{
    uint32_t id;

    ernic_state_put(out, c->hits, 8);
    ernic_state_put(out, c->misses, 8);
    ernic_state_put(out, c->count, 4);
    for (id = ernic_lru_next(c, 0); id; id = ernic_lru_next(c, id)) {
        ernic_state_put(out, id, 4);
    }
}

static bool load_lru(ErnicLru *c, ErnicReader *in)
{
    uint64_t hits = ernic_state_read(in, 8);
    uint64_t misses = ernic_state_read(in, 8);
    uint32_t n = ernic_state_read(in, 4), i;
    bool ok = n <= c->entries && ernic_state_has(in, n, 4);
    uint32_t *ids;

    if (!ok) {
        return false;
    }
    ids = g_new(uint32_t, n);
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

static void save_fetched(const Ernic *e, GByteArray *out)
{
    uint32_t i;

    for (i = 0; i < e->cfg.max_qp; i++) {
        if (e->timing->fetched[i]) {
            ernic_state_put(out, i, 4);
            ernic_state_put(out, e->timing->fetched[i], 4);
        }
    }
    ernic_state_put(out, e->cfg.max_qp, 4);     /* behind the last */
}

static bool load_fetched(Ernic *e, ErnicReader *in)
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

/* ---- lines ----------------------------------------------------------------- */

typedef void SaveRecord(const Ernic *e, const void *record, GByteArray *out);
/* False: not valid. */
typedef bool LoadRecord(Ernic *e, void *record, ErnicReader *in);

static void save_line(const Ernic *e, const ErnicDelayFifo *l, SaveRecord *save,
                      GByteArray *out)
{
    uint64_t due;
    uint32_t i;

    ernic_state_put(out, l->peak, 4);
    ernic_state_put(out, l->area, 8);
    ernic_state_put(out, l->at, 8);
    ernic_state_put(out, l->count, 4);
    for (i = 0; i < l->count; i++) {
        const void *record = ernic_delay_fifo_at(l, i, &due);

        ernic_state_put(out, due, 8);
        save(e, record, out);
    }
}

static bool load_line(Ernic *e, ErnicDelayFifo *l, LoadRecord *load,
                      ErnicReader *in)
{
    uint32_t peak = ernic_state_read(in, 4), n, i;
    uint64_t area = ernic_state_read(in, 8), at = ernic_state_read(in, 8);
    uint64_t last = 0, due;

    n = ernic_state_read(in, 4);
    if (n > l->slots) {
        return false;
    }
    for (i = 0; i < n; i++) {
        due = ernic_state_read(in, 8);
        if (due < last || due == ERNIC_NEVER ||
            !load(e, ernic_delay_fifo_add(l, at, due), in) || in->failed) {
            return false;
        }
        last = due;
    }
    l->peak = peak;
    l->area = area;
    l->at = at;
    return true;
}

static void save_doorbell(const Ernic *e, const void *record, GByteArray *out)
{
    const ErnicTimedDoorbell *db = record;

    ernic_state_put(out, db->where, 4);
    ernic_state_put(out, db->value, 8);
}

static bool load_doorbell(Ernic *e, void *record, ErnicReader *in)
{
    ErnicTimedDoorbell *db = record;

    db->where = ernic_state_read(in, 4);
    db->value = ernic_state_read(in, 8);
    return true;
}

static void save_packet(const Ernic *e, const void *record, GByteArray *out)
{
    const ErnicTimedPacket *p = record;

    ernic_state_save_struct(e, &ernic_state_path, &p->path, out);
    ernic_state_put(out, p->ip_len, 4);
    g_byte_array_append(out, p->ip, p->ip_len);
    ernic_state_put(out, p->len, 4);
    g_byte_array_append(out, p->data, p->len);
}

static bool load_packet(Ernic *e, void *record, ErnicReader *in)
{
    ErnicTimedPacket *p = record;

    memset(p, 0, sizeof(*p));
    if (!ernic_state_load_struct(e, &ernic_state_path, &p->path, in)) {
        return false;
    }
    p->ip_len = ernic_state_read(in, 4);
    /* Whoever reads it knows its length from the addresses. */
    if (p->ip_len && p->ip_len != ERNIC_UDP_LEN +
        (ernic_gid_is_v4(&p->path.dgid) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN)) {
        return false;
    }
    ernic_state_read_bytes(in, p->ip, p->ip_len);
    p->len = ernic_state_read(in, 4);
    if (p->len == 0 || p->len > sizeof(p->data)) {
        return false;
    }
    ernic_state_read_bytes(in, p->data, p->len);
    return true;
}

static void save_cqe(const Ernic *e, const void *record, GByteArray *out)
{
    const ErnicTimedCqe *cqe = record;

    ernic_state_put(out, cqe->cqn, 4);
    ernic_state_save_struct(e, &ernic_state_wc, &cqe->wc, out);
}

static bool load_cqe(Ernic *e, void *record, ErnicReader *in)
{
    ErnicTimedCqe *cqe = record;

    cqe->cqn = ernic_state_read(in, 4);
    return ernic_state_load_struct(e, &ernic_state_wc, &cqe->wc, in) &&
           (e->cfg.pg332 ? cqe->cqn == 0 :
            cqe->cqn > 0 && cqe->cqn < e->cfg.max_cq && e->cq[cqe->cqn].used) &&
           cqe->wc.qpn < e->cfg.max_qp && e->qp[cqe->wc.qpn].used;
}

static void save_irqs(const Ernic *e, GByteArray *out)
{
    const ErnicTimers *t = e->timing->irqs;
    uint32_t id;

    for (id = 1; id < t->size; id++) {
        ernic_state_put(out, t->pos[id] ? t->due[id] : ERNIC_NEVER, 8);
    }
}

static void load_irqs(Ernic *e, ErnicReader *in)
{
    ErnicTimers *t = e->timing->irqs;
    uint32_t id;

    for (id = 1; id < t->size && !in->failed; id++) {
        ernic_timer_set(t, id, ernic_state_read(in, 8));
    }
}

/* ---- all of it ------------------------------------------------------------- */

void ernic_state_save_timing(const Ernic *e, GByteArray *out)
{
    const ErnicTiming *t = e->timing;
    uint32_t i;

    ernic_state_put(out, ernic_profile_hash(t->p), 8);
    ernic_state_put(out, t->since, 8);
    ernic_state_put(out, t->epoch, 8);
    ernic_state_put(out, t->tx_done, 8);
    ernic_state_put(out, t->local_done, 8);
    ernic_state_put(out, t->read_done, 8);
    ernic_state_put(out, t->cmd_due, 8);
    ernic_state_put(out, t->held_due, 8);
    ernic_state_put(out, t->rx_overflows, 8);
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        ernic_state_save_struct(e, &ernic_state_server, &t->server[i], out);
    }
    save_limit(&t->fetch, out);
    save_limit(&t->dma, out);
    save_limit(&t->rsp, out);
    save_limit(&t->posted, out);
    save_level(&t->requests, out);
    save_level(&t->retry.kept, out);
    save_places(t, out);
    save_lru(&t->context, out);
    save_lru(&t->key, out);
    save_fetched(e, out);
    save_line(e, &t->doorbells, save_doorbell, out);
    save_line(e, &t->tx, save_packet, out);
    save_line(e, &t->rx, save_packet, out);
    save_line(e, &t->cqes, save_cqe, out);
    save_irqs(e, out);
}

bool ernic_state_load_timing(Ernic *e, ErnicReader *in)
{
    ErnicTiming *t = e->timing;
    uint32_t i;

    if (ernic_state_read(in, 8) != ernic_profile_hash(t->p)) {
        return false;
    }
    t->since = ernic_state_read(in, 8);
    t->epoch = ernic_state_read(in, 8);
    t->tx_done = ernic_state_read(in, 8);
    t->local_done = ernic_state_read(in, 8);
    t->read_done = ernic_state_read(in, 8);
    t->cmd_due = ernic_state_read(in, 8);
    t->held_due = ernic_state_read(in, 8);
    t->rx_overflows = ernic_state_read(in, 8);
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        if (!ernic_state_load_struct(e, &ernic_state_server, &t->server[i],
                                     in)) {
            return false;
        }
    }
    if (!load_limit(&t->fetch, in) || !load_limit(&t->dma, in) ||
        !load_limit(&t->rsp, in) || !load_limit(&t->posted, in)) {
        return false;
    }
    load_level(&t->requests, in);
    load_level(&t->retry.kept, in);
    if (!load_places(t, in) ||
        !load_lru(&t->context, in) || !load_lru(&t->key, in) ||
        !load_fetched(e, in) ||
        !load_line(e, &t->doorbells, load_doorbell, in) ||
        !load_line(e, &t->tx, load_packet, in) ||
        !load_line(e, &t->rx, load_packet, in) ||
        !load_line(e, &t->cqes, load_cqe, in)) {
        return false;
    }
    load_irqs(e, in);
    count_requests(e);
    ernic_retry_buffer_load(e);
    return !in->failed;
}
