/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues: objects with pending events wait in a backlog until their events
 * are written. An event raised again before it is written is written once.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/eq.h"
#include "timing/hooks.h"
#include "trace.h"

#define EQE_SIZE sizeof(struct ernic_eqe)
/*
 * The tail of an entry holds the phase and is written last: the guest must not
 * see it before the rest, and the bytes of one DMA write have no order.
 */
#define EQE_TAIL 8
QEMU_BUILD_BUG_ON(offsetof(struct ernic_eqe, phase) < EQE_SIZE - EQE_TAIL);

#define LINE_CLASS_SHIFT 24
#define LINE_ID_MASK ((1u << LINE_CLASS_SHIFT) - 1)
QEMU_BUILD_BUG_ON(ERNIC_LIM_QP > LINE_ID_MASK);
QEMU_BUILD_BUG_ON(ERNIC_LIM_EQ > 64);           /* e->eq_more */

static ErnicEvents *events_of(const Ernic *e, uint32_t entry)
{
    const ErnicEventsAt *at = &e->events_at[entry >> LINE_CLASS_SHIFT];

    return (ErnicEvents *)((char *)at->base +
                           (entry & LINE_ID_MASK) * at->stride);
}

uint32_t ernic_eq_line_size(const ErnicConfig *cfg)
{
    return cfg->max_cq + cfg->max_qp + cfg->max_srq + 1;
}

bool ernic_eq_alloc_line(Ernic *e, ErnicEq *eq)
{
    eq->line_size = ernic_eq_line_size(&e->cfg);
    eq->line_head = eq->line_count = 0;
    eq->line = ernic_mem_new(&e->mem, ERNIC_MEM_BACKLOGS, eq->line_size,
                             sizeof(*eq->line));
    return eq->line;
}

void ernic_eq_fini(Ernic *e, ErnicEq *eq)
{
    ernic_buf_fini(e, &eq->buf);
    ernic_mem_free(&e->mem, ERNIC_MEM_BACKLOGS, eq->line, eq->line_size,
                   sizeof(*eq->line));
}

static ErnicEq *eq_get(Ernic *e, uint32_t eqn)
{
    return eqn < e->eq_ids.size && e->eq[eqn].used ? &e->eq[eqn] : NULL;
}

uint8_t ernic_eq_add(Ernic *e, const ErnicEq *fresh, bool async, uint32_t *eqn)
{
    ErnicEq eq = *fresh;

    g_assert(!async || !e->async_eq);
    if (e->eq_ids.count == 0 || !ernic_eq_alloc_line(e, &eq)) {
        ernic_buf_fini(e, &eq.buf);
        return ERNIC_ERR_NO_RESOURCE;
    }
    eq.used = true;
    *eqn = ernic_ids_alloc(&e->eq_ids);
    e->eq[*eqn] = eq;
    if (async) {
        e->async_eq = *eqn;
    }
    trace_ernic_eq_create(*eqn, eq.depth, eq.vector, async);
    return ERNIC_OK;
}

uint8_t ernic_eq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_eq_create *cmd, uint32_t *eqn)
{
    uint32_t depth = le32_to_cpu(cmd->depth);
    uint16_t vector = le16_to_cpu(cmd->vector);
    ErnicEq fresh;
    uint8_t status;

    if (!ernic_depth_ok(depth, 2, ERNIC_MAX_EQ_DEPTH) ||
        vector >= e->cfg.num_vectors || cmd->async > 1) {
        return ERNIC_ERR_PARAM;
    }
    if (cmd->async && uctx) {
        return ERNIC_ERR_PERM;
    }
    if (cmd->async && e->async_eq) {
        return ERNIC_ERR_STATE;
    }
    if (e->eq_ids.count == 0) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    fresh = (ErnicEq) { .uctx = uctx, .vector = vector, .depth = depth };
    status = ernic_buf_init(e, &fresh.buf, &cmd->buf, (uint64_t)depth * EQE_SIZE);
    return status == ERNIC_OK ? ernic_eq_add(e, &fresh, cmd->async, eqn) : status;
}

static uint32_t *line_at(ErnicEq *eq, uint32_t n)
{
    return &eq->line[(eq->line_head + n) % eq->line_size];
}

uint8_t ernic_eq_destroy(Ernic *e, uint32_t uctx, uint32_t eqn)
{
    ErnicEq *eq = eq_get(e, eqn);
    uint32_t i;

    if (!eq) {
        return ERNIC_ERR_HANDLE;
    }
    if (eq->uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    if (eq->refs) {
        return ERNIC_ERR_BUSY;
    }
    ernic_charge_objects(e, eq->line_count);
    for (i = 0; i < eq->line_count; i++) {
        *events_of(e, *line_at(eq, i)) = (ErnicEvents) { 0 };
    }
    if (e->async_eq == eqn) {
        e->async_eq = 0;
    }
    e->eq_more &= ~(1ull << eqn);
    ernic_eq_fini(e, eq);
    *eq = (ErnicEq) { 0 };
    ernic_ids_free(&e->eq_ids, eqn);
    trace_ernic_eq_destroy(eqn);
    return ERNIC_OK;
}

/* ---- entries of verbs ---------------------------------------------------------- */

static bool encode_verbs(const Ernic *e, const ErnicEq *eq, uint8_t type,
                         uint32_t element, const ErnicEvents *ev, uint8_t *entry)
{
    struct ernic_eqe eqe = {
        .element = cpu_to_le32(element),
        .timestamp = cpu_to_le64(e->now),
        .type = type,
    };

    if (type == ERNIC_EV_BAD_DOORBELL) {
        eqe.detail = cpu_to_le32(ev->detail);
    } else if (type == ERNIC_EV_PAGE_FAULT) {
        eqe.detail = cpu_to_le32(ev->page.key);
        eqe.offset = cpu_to_le64(ev->page.off);
        eqe.length = cpu_to_le32(ev->page.len);
        eqe.flags = ev->page.write ? ERNIC_EQE_WRITE : 0;
    }
    memcpy(entry, &eqe, sizeof(eqe));
    return true;
}

static void own_verbs(const ErnicEq *eq, uint8_t *entry)
{
    entry[offsetof(struct ernic_eqe, phase)] = (eq->pi / eq->depth + 1) & 1;
}

const ErnicEqOps ernic_eqs_verbs = {
    .size = EQE_SIZE, .tail = EQE_TAIL, .encode = encode_verbs, .own = own_verbs,
};

/* ---- writing entries ----------------------------------------------------------- */

static bool write_entry(Ernic *e, uint32_t eqn, ErnicEq *eq, uint8_t *entry)
{
    const ErnicEqOps *ops = e->eqs;
    uint64_t off = (uint64_t)(eq->pi & (eq->depth - 1)) * ops->size;
    uint32_t body = ops->size - ops->tail;

    ops->own(eq, entry);
    if (!ernic_buf_write(e, &eq->buf, off, entry, body) ||
        !ernic_buf_write(e, &eq->buf, off + body, entry + body, ops->tail)) {
        trace_ernic_guest_eq_broken(eqn, eq->pi);
        eq->broken = true;
        return false;
    }
    eq->pi++;
    e->stats.events++;
    return true;
}

static void interrupt(Ernic *e, ErnicEq *eq)
{
    if (!eq->arms || eq->armed) {
        eq->armed = false;
        e->stats.interrupts++;
        ernic_timed_irq(e, eq->vector);
    }
}

void ernic_eq_arm(Ernic *e, uint32_t eqn)
{
    ErnicEq *eq = &e->eq[eqn];

    eq->armed = true;
    if (eq->pi != eq->ci) {
        interrupt(e, eq);
    }
}

bool ernic_eq_put(Ernic *e, uint32_t eqn, uint8_t *entry)
{
    ErnicEq *eq = &e->eq[eqn];

    if (eq->broken || eq->pi - eq->ci == eq->depth || !write_entry(e, eqn, eq, entry)) {
        return false;
    }
    interrupt(e, eq);
    return true;
}

/* Whether an event can be written. */
static bool more(const ErnicEq *eq)
{
    return eq->line_count && !eq->broken && eq->pi - eq->ci < eq->depth;
}

static void note_more(Ernic *e, uint32_t eqn)
{
    e->eq_more &= ~(1ull << eqn);
    e->eq_more |= (uint64_t)more(&e->eq[eqn]) << eqn;
}

/*
 * Write pending events while the ring has room, one at least, and until the slice ends.
 * Then interrupt once. ernic_eq_run() writes the rest.
 */
static void drain(Ernic *e, uint32_t eqn, ErnicEq *eq)
{
    bool wrote = false, first = true;

    while (more(eq) && (first || ernic_work_left(e))) {
        uint32_t entry = *line_at(eq, 0), id = entry & LINE_ID_MASK;
        ErnicEvents *ev = events_of(e, entry);
        uint8_t type = __builtin_ctz(ev->pending), bytes[ERNIC_EQE_MAX] = { 0 };

        g_assert(ev->queued && ev->pending);
        if (!(eq->masked & 1u << type) &&
            e->eqs->encode(e, eq, type, id, ev, bytes)) {
            if (!write_entry(e, eqn, eq, bytes)) {
                break;
            }
            trace_ernic_event(eqn, type, id);
            wrote = true;
        }
        first = false;
        ernic_charge(e, ERNIC_WORK_COMPLETE);
        ev->pending &= ev->pending - 1;
        if (!ev->pending) {
            ev->queued = false;
            eq->line_head = (eq->line_head + 1) % eq->line_size;
            eq->line_count--;
        }
    }
    note_more(e, eqn);
    if (wrote) {
        interrupt(e, eq);
    }
}

void ernic_eq_run(Ernic *e)
{
    uint64_t eqs;
    uint32_t eqn;

    for (eqs = e->eq_more; eqs && ernic_work_left(e); eqs &= eqs - 1) {
        eqn = __builtin_ctzll(eqs);
        drain(e, eqn, &e->eq[eqn]);
    }
}

void ernic_eq_derive(Ernic *e)
{
    uint32_t i;

    for (i = 1; i < e->cfg.max_eq; i++) {
        if (e->eq[i].used) {
            note_more(e, i);
        }
    }
}

void ernic_event_raise(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                       ErnicEvents *ev, uint8_t type, uint32_t detail)
{
    uint32_t entry = ((uint32_t)cls << LINE_CLASS_SHIFT) | id;
    ErnicEq *eq = &e->eq[eqn];

    g_assert(type < ERNIC_EV_COUNT && events_of(e, entry) == ev);
    if (!eqn) {
        trace_ernic_event_unheard(type, id);
        return;
    }
    g_assert(eq->used);
    ev->pending |= 1u << type;
    if (type == ERNIC_EV_BAD_DOORBELL) {
        ev->detail = detail;
    }
    if (!ev->queued) {
        g_assert(eq->line_count < eq->line_size);
        *line_at(eq, eq->line_count++) = entry;
        ev->queued = true;
    }
    drain(e, eqn, eq);
}

uint8_t ernic_eq_consume(Ernic *e, uint32_t eqn, uint32_t ci)
{
    ErnicEq *eq = &e->eq[eqn];

    if (ci - eq->ci > eq->pi - eq->ci) {
        trace_ernic_guest_eq_ci(eqn, ci, eq->ci, eq->pi);
        return ERNIC_ERR_FULL;
    }
    eq->ci = ci;
    drain(e, eqn, eq);
    return ERNIC_OK;
}

void ernic_event_forget(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                        ErnicEvents *ev)
{
    uint32_t entry = ((uint32_t)cls << LINE_CLASS_SHIFT) | id;
    ErnicEq *eq = &e->eq[eqn];
    uint32_t i, kept = 0;

    if (ev->queued) {
        g_assert(eqn && eq->used);
        ernic_charge_objects(e, eq->line_count);
        for (i = 0; i < eq->line_count; i++) {
            if (*line_at(eq, i) != entry) {
                *line_at(eq, kept++) = *line_at(eq, i);
            }
        }
        g_assert(kept == eq->line_count - 1);
        eq->line_count = kept;
        note_more(e, eqn);
    }
    *ev = (ErnicEvents) { 0 };
}
