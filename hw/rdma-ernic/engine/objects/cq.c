/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion queues: writing entries, notification and its moderation, overrun.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/timer.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/job.h"
#include "trace.h"

#define CQE_SIZE ERNIC_CQ_ENTRY
/* Written last, as it holds the phase; see eq.c. */
#define CQE_TAIL 8
QEMU_BUILD_BUG_ON(sizeof(struct ernic_cqe) != CQE_SIZE);
QEMU_BUILD_BUG_ON(offsetof(struct ernic_cqe, flags) != CQE_SIZE - 1);

/* Entries copied at once to a new ring. */
#define COPY_ENTRIES 64

#define NO_EQ 0xffffffffu
#define NS_PER_US 1000

/* ---- commands ------------------------------------------------------------ */

ErnicCq *ernic_cq_get(Ernic *e, uint32_t uctx, uint32_t cqn)
{
    if (cqn >= e->cq_ids.size || !e->cq[cqn].used ||
        e->cq[cqn].uctx != uctx) {
        return NULL;
    }
    return &e->cq[cqn];
}

/* The same as ernic_cq_get(), but returns an ernic_status. */
static uint8_t cq_find(Ernic *e, uint32_t uctx, uint32_t cqn, ErnicCq **cq)
{
    *cq = ernic_cq_get(e, uctx, cqn);
    if (*cq) {
        return ERNIC_OK;
    }
    return cqn < e->cq_ids.size && e->cq[cqn].used ? ERNIC_ERR_PERM :
                                                     ERNIC_ERR_HANDLE;
}

/* The event queue of @cq; 0: none. */
static uint32_t error_queue(const Ernic *e, const ErnicCq *cq)
{
    bool own = cq->eq && !(e->eq[cq->eq].masked & 1u << ERNIC_EV_CQ_ERR);

    return own ? cq->eq : e->async_eq;
}

uint32_t ernic_cq_event_queue(const Ernic *e, const ErnicCq *cq)
{
    bool error = cq->events.pending & 1u << ERNIC_EV_CQ_ERR;

    return cq->eq && !error ? cq->eq : error_queue(e, cq);
}

uint8_t ernic_cq_add(Ernic *e, const ErnicCqInit *init, ErnicBuf *buf, uint32_t *cqn)
{
    *cqn = ernic_ids_alloc(&e->cq_ids);
    if (!*cqn) {
        ernic_buf_fini(e, buf);
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->cq[*cqn] = (ErnicCq) {
        .used = true, .uctx = init->uctx, .depth = init->depth,
        .overwrites = init->overwrites, .lead = init->lead,
        .ci_addr = init->ci_addr, .eq = init->eq,
        .mod_due = ERNIC_NEVER, .buf = *buf,
    };
    if (init->eq) {
        e->eq[init->eq].refs++;
    }
    trace_ernic_cq_create(*cqn, init->depth, init->eq, init->uctx);
    return ERNIC_OK;
}

void ernic_cq_set_ring(Ernic *e, uint32_t cqn, ErnicBuf *buf, uint32_t depth,
                       uint8_t lead)
{
    ErnicCq *cq = &e->cq[cqn];

    ernic_buf_fini(e, &cq->buf);
    cq->buf = *buf;
    memset(buf, 0, sizeof(*buf));
    trace_ernic_cq_resize(cqn, cq->depth, depth);
    cq->depth = depth;
    cq->lead = lead;
}

uint8_t ernic_cq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_cq_create *cmd, uint32_t *cqn)
{
    uint32_t depth = le32_to_cpu(cmd->depth);
    uint32_t eq = le32_to_cpu(cmd->eq);
    ErnicCqInit init = {
        .uctx = uctx, .eq = eq == NO_EQ ? 0 : eq, .depth = depth,
        .ci_addr = le64_to_cpu(cmd->ci_addr),
    };
    ErnicBuf buf;
    uint8_t status;

    if (cmd->handle) {
        return ERNIC_ERR_RESERVED;
    }
    if (!ernic_depth_ok(depth, 2, ERNIC_MAX_CQ_DEPTH) || init.ci_addr % 4) {
        return ERNIC_ERR_PARAM;
    }
    if (eq != NO_EQ && (eq >= e->eq_ids.size || !e->eq[eq].used)) {
        return ERNIC_ERR_HANDLE;
    }
    /* Every context may use the event queues of the kernel. */
    if (eq != NO_EQ && e->eq[eq].uctx && e->eq[eq].uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    if (e->cq_ids.count == 0) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    status = ernic_buf_init(e, &buf, &cmd->buf, (uint64_t)depth * CQE_SIZE);
    if (status != ERNIC_OK) {
        return status;
    }
    return ernic_cq_add(e, &init, &buf, cqn);
}

uint8_t ernic_cq_destroy(Ernic *e, uint32_t uctx, uint32_t cqn)
{
    ErnicCq *cq;
    uint8_t status = cq_find(e, uctx, cqn, &cq);

    if (status != ERNIC_OK) {
        return status;
    }
    if (cq->refs) {
        return ERNIC_ERR_BUSY;
    }
    ernic_event_forget(e, ernic_cq_event_queue(e, cq), ERNIC_EVC_CQ, cqn, &cq->events);
    ernic_timer_set(e->cq_timers, cqn, ERNIC_NEVER);
    if (cq->eq) {
        g_assert(e->eq[cq->eq].refs);
        e->eq[cq->eq].refs--;
    }
    ernic_buf_fini(e, &cq->buf);
    *cq = (ErnicCq) { 0 };
    ernic_ids_free(&e->cq_ids, cqn);
    trace_ernic_cq_destroy(cqn);
    return ERNIC_OK;
}

/* ---- the consumer's side ------------------------------------------------- */

/*
 * Entries up to @ci are consumed; false: @ci is beyond the entries in the ring. An
 * older counter is no error and changes nothing: another thread may have stored a
 * newer one to memory before this doorbell arrived.
 */
static bool consume(ErnicCq *cq, uint32_t ci)
{
    if (cq->pi - ci > cq->depth) {
        return false;
    }
    if (cq->pi - ci < cq->pi - cq->ci) {
        cq->ci = ci;
    }
    if (cq->pi - cq->sol_pi > cq->pi - cq->ci) {
        cq->sol_pi = cq->ci;
    }
    return true;
}

/* Read the consumer counter that software keeps in memory. */
static void read_ci(Ernic *e, uint32_t cqn, ErnicCq *cq)
{
    uint8_t record[4];
    uint32_t ci;

    if (!cq->ci_addr) {
        return;
    }
    ernic_charge_copy(e, sizeof(record));
    if (!e->ops->dma_read(e->env, cq->ci_addr, record, sizeof(record))) {
        trace_ernic_guest_cq_ci_dma(cqn, cq->ci_addr);
        return;
    }
    ci = e->cqes->consumed(record, cq->pi);
    if (!consume(cq, ci)) {
        trace_ernic_guest_cq_ci(cqn, ci, cq->ci, cq->pi);
    }
}

/* ---- entries ------------------------------------------------------------- */

static void verbs_encode(const Ernic *e, const ErnicWc *wc, uint8_t *entry)
{
    struct ernic_cqe cqe = {
        .wr_id = cpu_to_le64(wc->wr_id),
        .qpn = cpu_to_le32(wc->qpn),
        .byte_len = cpu_to_le32(wc->byte_len),
        .src_qp = cpu_to_le32(wc->src_qp),
        .index = cpu_to_le32(wc->index),
        .vendor_err = cpu_to_le32(wc->fault),
        .timestamp = cpu_to_le64(e->now),
        .vlan = cpu_to_le16(wc->vlan),
        .pkey_index = cpu_to_le16(wc->pkey_index),
        .opcode = wc->opcode,
        .status = wc->status,
        .flags = wc->flags,
    };

    memcpy(cqe.imm, wc->imm, sizeof(cqe.imm));
    memcpy(cqe.smac, wc->smac, sizeof(cqe.smac));
    memcpy(entry, &cqe, sizeof(cqe));
}

static void verbs_set_pass(uint8_t *entry, bool odd)
{
    uint8_t *flags = entry + offsetof(struct ernic_cqe, flags);

    *flags = (*flags & ~ERNIC_CQE_PHASE) | (odd ? 0 : ERNIC_CQE_PHASE);
}

static uint32_t verbs_consumed(const uint8_t *record, uint32_t pi)
{
    return ldl_le_p(record);
}

const ErnicCqeOps ernic_cqe_verbs = {
    .encode = verbs_encode,
    .set_pass = verbs_set_pass,
    .consumed = verbs_consumed,
};

/* Write @entry as the next one: its mark last. */
static bool write_entry(Ernic *e, const ErnicCq *cq, uint8_t *entry)
{
    uint64_t off = (uint64_t)(cq->pi & (cq->depth - 1)) * (cq->lead + CQE_SIZE) +
                   cq->lead;

    e->cqes->set_pass(entry, cq->pi / cq->depth % 2);
    return ernic_buf_write(e, &cq->buf, off, entry, CQE_SIZE - CQE_TAIL) &&
           ernic_buf_write(e, &cq->buf, off + CQE_SIZE - CQE_TAIL,
                           entry + CQE_SIZE - CQE_TAIL, CQE_TAIL);
}

/* Copy entries [@from, @from + @n), which are contiguous in both rings. */
static bool copy_entries(Ernic *e, const ErnicCq *cq, const ErnicBuf *to,
                         uint32_t depth, uint32_t from, uint32_t n)
{
    uint8_t cqe[COPY_ENTRIES][CQE_SIZE];
    uint32_t i;

    ernic_charge_copy(e, n * CQE_SIZE);
    ernic_charge_copy(e, n * CQE_SIZE);
    if (!ernic_buf_read(e, &cq->buf, (uint64_t)(from & (cq->depth - 1)) * CQE_SIZE,
                        cqe, n * CQE_SIZE)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        e->cqes->set_pass(cqe[i], (from + i) / depth % 2);
    }
    return ernic_buf_write(e, to, (uint64_t)(from & (depth - 1)) * CQE_SIZE, cqe,
                           n * CQE_SIZE);
}

/*
 * Copy the entries that are not consumed to the ring job->ready of @depth, until the
 * slice ends. Entries that are posted in the meantime follow. Those that are consumed in
 * the meantime are copied as well: their phase shows the consumer that they are old, and
 * their contents no longer matter. Software uses the new ring after the response.
 */
static uint8_t move_entries(Ernic *e, ErnicCq *cq, uint32_t depth)
{
    ErnicJob *job = e->job;
    uint32_t n;

    job->copying = true;
    while (job->copied != cq->pi) {
        if (!ernic_work_left(e)) {
            return ERNIC_AGAIN;
        }
        n = MIN(cq->pi - job->copied, COPY_ENTRIES);
        n = MIN(n, cq->depth - (job->copied & (cq->depth - 1)));
        n = MIN(n, depth - (job->copied & (depth - 1)));
        if (!copy_entries(e, cq, &job->ready, depth, job->copied, n)) {
            return ERNIC_ERR_DMA;
        }
        job->copied += n;
    }
    return ERNIC_OK;
}

static uint8_t check_resize(Ernic *e, uint32_t cqn, ErnicCq *cq,
                            const struct ernic_cmd_cq_create *cmd)
{
    uint32_t depth = le32_to_cpu(cmd->depth);

    if (cmd->ci_addr || cmd->eq) {
        return ERNIC_ERR_RESERVED;
    }
    if (cq->overrun) {
        return ERNIC_ERR_STATE;
    }
    if (!ernic_depth_ok(depth, 2, ERNIC_MAX_CQ_DEPTH)) {
        return ERNIC_ERR_PARAM;
    }
    read_ci(e, cqn, cq);
    return cq->pi - cq->ci > depth ? ERNIC_ERR_PARAM : ERNIC_OK;
}

uint8_t ernic_cq_resize(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_cq_create *cmd)
{
    uint32_t cqn = le32_to_cpu(cmd->handle);
    uint32_t depth = le32_to_cpu(cmd->depth);
    ErnicBuf *ready = &e->job->ready;
    ErnicCq *cq;
    uint8_t status = cq_find(e, uctx, cqn, &cq);

    if (status == ERNIC_OK) {
        status = check_resize(e, cqn, cq, cmd);
    }
    if (status == ERNIC_OK && !e->job->filling && !e->job->copying) {
        e->job->copied = cq->ci;        /* before software can consume more */
    }
    if (status == ERNIC_OK && !e->job->copying) {
        status = ernic_buf_init(e, ready, &cmd->buf, (uint64_t)depth * CQE_SIZE);
    }
    if (status == ERNIC_OK) {
        status = move_entries(e, cq, depth);
    }
    if (status == ERNIC_AGAIN) {
        return status;
    }
    if (status == ERNIC_OK) {
        ernic_cq_set_ring(e, cqn, ready, depth, 0);
    }
    ernic_job_end(e);
    return status;
}

/* ---- notification --------------------------------------------------------- */

static void cq_notify(Ernic *e, uint32_t cqn, ErnicCq *cq)
{
    cq->arm = ERNIC_CQ_DISARMED;
    cq->notified = cq->pi;
    cq->mod_pending = 0;
    if (cq->mod_due != ERNIC_NEVER) {
        cq->mod_due = ERNIC_NEVER;
        ernic_timer_set(e->cq_timers, cqn, ERNIC_NEVER);
    }
    /* There is no event while an error waits elsewhere. */
    if (cq->eq && ernic_cq_event_queue(e, cq) == cq->eq) {
        ernic_event_raise(e, cq->eq, ERNIC_EVC_CQ, cqn, &cq->events,
                          ERNIC_EV_COMPLETION, 0);
    }
}

/* Notify of mod_pending completions: at once, or later with moderation. */
static void moderate(Ernic *e, uint32_t cqn, ErnicCq *cq)
{
    uint64_t due = e->now + (uint64_t)cq->mod_period_us * NS_PER_US;

    if (cq->mod_period_us == 0 || cq->mod_pending >= cq->mod_count) {
        cq_notify(e, cqn, cq);
    } else if (due < cq->mod_due) {
        cq->mod_due = due;
        ernic_timer_set(e->cq_timers, cqn, due);
    }
}

void ernic_cq_set_moderation(Ernic *e, uint32_t cqn, uint16_t count,
                             uint16_t period_us)
{
    ErnicCq *cq = &e->cq[cqn];

    cq->mod_count = count;
    cq->mod_period_us = period_us;
    trace_ernic_cq_moderate(cqn, count, period_us);
    if (cq->mod_pending) {
        moderate(e, cqn, cq);
    }
}

uint8_t ernic_cq_moderate(Ernic *e, uint32_t uctx,
                          const struct ernic_cmd_cq_moderate *cmd)
{
    uint32_t cqn = le32_to_cpu(cmd->handle);
    ErnicCq *cq;
    uint8_t status = cq_find(e, uctx, cqn, &cq);

    if (status == ERNIC_OK) {
        ernic_cq_set_moderation(e, cqn, le16_to_cpu(cmd->count),
                                le16_to_cpu(cmd->period_us));
    }
    return status;
}

void ernic_cq_moderation_run(Ernic *e)
{
    uint64_t end = ernic_work_share(e);
    uint32_t cqn;

    while ((cqn = ernic_timers_pop(e->cq_timers, e->now))) {
        ernic_charge(e, ERNIC_WORK_TURN);
        cq_notify(e, cqn, &e->cq[cqn]);
        if (!ernic_work_left_of(e, end)) {
            break;
        }
    }
}

/* ---- the device's side --------------------------------------------------- */

static bool overrun(Ernic *e, uint32_t cqn, ErnicCq *cq)
{
    uint32_t eqn = error_queue(e, cq);

    cq->overrun = true;
    e->stats.cq_overruns++;
    trace_ernic_guest_cq_overrun(cqn, cq->pi, cq->ci);
    if (eqn != ernic_cq_event_queue(e, cq)) {
        ernic_event_forget(e, cq->eq, ERNIC_EVC_CQ, cqn, &cq->events);
    }
    ernic_event_raise(e, eqn, ERNIC_EVC_CQ, cqn, &cq->events, ERNIC_EV_CQ_ERR, 0);
    return false;
}

bool ernic_cq_has_room(Ernic *e, uint32_t cqn, uint32_t depth)
{
    ErnicCq *cq = &e->cq[cqn];

    if (cq->pi - cq->ci >= depth) {
        read_ci(e, cqn, cq);
    }
    if (cq->pi - cq->ci >= depth && cq->overwrites) {
        consume(cq, cq->pi - depth + 1);
    }
    return cq->pi - cq->ci < depth;
}

bool ernic_cq_append(Ernic *e, uint32_t cqn, uint8_t *entry)
{
    ErnicCq *cq = &e->cq[cqn];

    if (!ernic_cq_has_room(e, cqn, cq->depth) ||
        !write_entry(e, cq, entry)) {
        return false;
    }
    cq->pi++;
    return true;
}

bool ernic_cq_post_entry(Ernic *e, uint32_t cqn, uint8_t *entry, bool solicited)
{
    ErnicCq *cq = &e->cq[cqn];

    g_assert(cq->used && cq->pi - cq->ci <= cq->depth);
    ernic_charge(e, ERNIC_WORK_COMPLETE);
    if (cq->overrun) {
        return false;
    }
    /* An entry that cannot be written is lost, as in an overrun. */
    if (!ernic_cq_append(e, cqn, entry)) {
        return overrun(e, cqn, cq);
    }
    e->stats.completions++;
    if (solicited) {
        cq->sol_pi = cq->pi;
    }
    if (cq->arm == ERNIC_CQ_ARMED_ANY ||
        (cq->arm == ERNIC_CQ_ARMED_SOLICITED && solicited)) {
        cq->mod_pending++;
        moderate(e, cqn, cq);
    }
    return true;
}

bool ernic_cq_post(Ernic *e, uint32_t cqn, const ErnicWc *wc)
{
    bool solicited = wc->status != ERNIC_WC_SUCCESS ||
                     (wc->flags & ERNIC_CQE_SOLICITED);
    uint8_t entry[CQE_SIZE] = { 0 };

    e->cqes->encode(e, wc, entry);
    if (!ernic_cq_post_entry(e, cqn, entry, solicited)) {
        return false;
    }
    trace_ernic_cqe(cqn, wc->qpn, wc->index, wc->opcode, wc->status);
    return true;
}

/* ---- doorbells ----------------------------------------------------------- */

uint8_t ernic_cq_consume(Ernic *e, uint32_t cqn, uint32_t ci)
{
    ErnicCq *cq = &e->cq[cqn];

    if (!consume(cq, ci)) {
        trace_ernic_guest_cq_ci(cqn, ci, cq->ci, cq->pi);
        return ERNIC_ERR_FULL;
    }
    return ERNIC_OK;
}

uint8_t ernic_cq_arm(Ernic *e, uint32_t cqn, uint32_t seen, bool solicited)
{
    ErnicCq *cq = &e->cq[cqn];
    bool unseen;

    /*
     * With ci_addr, software reports what it consumed in memory: @seen consumes
     * nothing, and it may be older than all entries of the ring.
     */
    if (cq->ci_addr ? cq->pi - seen > INT32_MAX : !consume(cq, seen)) {
        trace_ernic_guest_cq_ci(cqn, seen, cq->ci, cq->pi);
        return ERNIC_ERR_FULL;
    }
    /* 11.4.2.2: any completion outweighs solicited ones until it fires. */
    cq->arm = MAX(cq->arm, solicited ? ERNIC_CQ_ARMED_SOLICITED :
                                       ERNIC_CQ_ARMED_ANY);
    trace_ernic_cq_arm(cqn, seen, cq->pi, cq->arm);
    /*
     * A @seen before the last solicited entry means that the caller may not have
     * seen that entry: notify now.
     */
    unseen = cq->arm == ERNIC_CQ_ARMED_ANY ? cq->pi != seen :
             cq->pi - cq->sol_pi < cq->pi - seen;
    if (unseen) {
        cq_notify(e, cqn, cq);
    }
    return ERNIC_OK;
}
