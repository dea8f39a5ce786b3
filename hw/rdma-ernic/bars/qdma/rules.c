/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rules of the QDMA as a table, and the record of those that were broken: each
 * violation is counted, and the first one of each rule and queue is reported.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qnum.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/queue.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/rules.h"
#include "device/clock.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

#define RING_ALIGN      4096
/* Beside the reported rules of a queue: its hardware context is of an earlier use. */
#define USED_SHIFT      30
#define USED(dir)       (1u << (USED_SHIFT + (dir)))

typedef struct Rule {
    const char *name;
    const char *text;           /* what is not allowed */
    QdmaMoment moment;
    bool (*broken)(ErnicPci *d, const QdmaAccess *s);
} Rule;

static QdmaRing ring_of(ErnicPci *d, const QdmaAccess *s)
{
    return qdma_ring(d->shell.qdma, s->queue, s->dir);
}

/* The ring as it will be. */
static QdmaRing next_ring(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    r.sw = s->words;
    return r;
}

/* ---- registers ---------------------------------------------------------------- */

static bool no_register(ErnicPci *d, const QdmaAccess *s)
{
    return s->refused;
}

static bool uses_entry(ErnicQdma *q, uint32_t table, uint32_t number, uint32_t i)
{
    const ErnicQdmaQueue *queue = &q->queue[number];
    const uint32_t *c2h = queue->sw[ERNIC_QDMA_C2H], *h2c = queue->sw[ERNIC_QDMA_H2C];

    if (table == QDMA_C2H_BUF_SZ) {
        return FIELD_EX32(c2h[1], SW1, ENABLE) &&
               FIELD_EX32(queue->prefetch[1], PREFETCH1, VALID) &&
               FIELD_EX32(queue->prefetch[0], PREFETCH0, BUFFER) == i;
    }
    return (qdma_cmpt_valid(q, number) && qdma_cmpt_size(q, number) == i) ||
           (FIELD_EX32(c2h[1], SW1, ENABLE) &&
            FIELD_EX32(c2h[1], SW1, RING_SIZE) == i) ||
           (FIELD_EX32(h2c[1], SW1, ENABLE) &&
            FIELD_EX32(h2c[1], SW1, RING_SIZE) == i);
}

static bool table_in_use(ErnicPci *d, const QdmaAccess *s)
{
    uint32_t table = s->at < QDMA_C2H_BUF_SZ ? QDMA_RNG_SZ : QDMA_C2H_BUF_SZ;
    uint32_t i = (s->at - table) / 4, number;
    ErnicQdma *q = d->shell.qdma;

    if (s->at < table || i >= 16 || *qdma_reg(q, s->at, 0) == (s->value & s->writable)) {
        return false;
    }
    for (number = 0; number < ERNIC_QDMA_QUEUES; number++) {
        if (uses_entry(q, table, number, i)) {
            return true;
        }
    }
    return false;
}

/* ---- contexts ----------------------------------------------------------------- */

static bool masked(ErnicPci *d, const QdmaAccess *s)
{
    uint32_t i;

    for (i = 0; i < s->num; i++) {
        if (*qdma_reg(d->shell.qdma, QDMA_IND_CTXT_MASK, i) != UINT32_MAX) {
            return true;
        }
    }
    return false;
}

static bool still_enabled(ErnicPci *d, const QdmaAccess *s)
{
    return FIELD_EX32(ring_of(d, s).sw[1], SW1, ENABLE);
}

static bool error_bits(ErnicPci *d, const QdmaAccess *s)
{
    return s->words[1] & (R_SW1_ERROR_MASK | R_SW1_ERROR_SENT_MASK | R_SW1_IRQ_DUE_MASK);
}

static bool ring_base(ErnicPci *d, const QdmaAccess *s)
{
    return s->words[2] % RING_ALIGN;
}

static bool ring_size(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = next_ring(d, s);

    return !qdma_ring_entries(d->shell.qdma, &r);
}

static bool descriptor_size(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = next_ring(d, s);
    uint32_t want = qdma_ring_is_mm(&r) ? QDMA_DESC_32 :
                    s->dir == ERNIC_QDMA_H2C ? QDMA_DESC_16 : QDMA_DESC_8;

    return !FIELD_EX32(r.sw[1], SW1, BYPASS) &&
           FIELD_EX32(r.sw[1], SW1, DESC_SIZE) != want;
}

static bool function_map(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = next_ring(d, s);

    return !qdma_ring_owned(d->shell.qdma, &r);
}

static bool no_vector(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = next_ring(d, s);

    return FIELD_EX32(r.sw[1], SW1, IRQ_ENABLE) &&
           !FIELD_EX32(r.sw[4], SW4, AGGREGATE) &&
           FIELD_EX32(r.sw[4], SW4, VECTOR) >= qdma_ring_vectors(d, &r);
}

static bool ends_busy(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return qdma_ring_runs(&r) && qdma_ring_pidx(&r) != qdma_ring_cidx(&r) &&
           (qdma_ring_is_mm(&r) || s->dir == ERNIC_QDMA_H2C);
}

/* ---- doorbells ---------------------------------------------------------------- */

static bool post_disabled(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return !qdma_ring_runs(&r);
}

/* Software may clear it after it has enabled the queue, as AMD's OpenNIC driver does. */
static bool not_cleared(ErnicPci *d, const QdmaAccess *s)
{
    return d->shell.qdma->record.reported[s->queue] & USED(s->dir);
}

static bool pidx_range(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return (s->value & 0xffff) >= qdma_ring_entries(d->shell.qdma, &r);
}

/* Descriptors from index @from up to @to, in a ring of @n. */
static uint32_t between(uint32_t from, uint32_t to, uint32_t n)
{
    return (to + n - from) % n;
}

/* Of what was posted nothing can be taken back. */
static bool overrun(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);
    uint32_t n = qdma_ring_entries(d->shell.qdma, &r), ci = qdma_ring_cidx(&r);
    uint32_t pi = qdma_ring_pidx(&r), to = s->value & 0xffff;

    return pi < n && ci < n && to < n && between(ci, to, n) < between(ci, pi, n);
}

static bool is_receive(const QdmaRing *r)
{
    return r->dir == ERNIC_QDMA_C2H && !qdma_ring_is_mm(r) &&
           FIELD_EX32(r->sw[1], SW1, ENABLE);
}

static bool no_completions(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return is_receive(&r) && !qdma_cmpt_valid(d->shell.qdma, s->queue);
}

static bool no_prefetch(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return is_receive(&r) &&
           !FIELD_EX32(d->shell.qdma->queue[s->queue].prefetch[1], PREFETCH1, VALID);
}

static bool engine_stopped(ErnicPci *d, const QdmaAccess *s)
{
    QdmaRing r = ring_of(d, s);

    return qdma_ring_is_mm(&r) &&
           !*qdma_reg(d->shell.qdma,
                      s->dir == ERNIC_QDMA_H2C ? QDMA_H2C_MM_CTL : QDMA_C2H_MM_CTL, 0);
}

static bool read_invalid(ErnicPci *d, const QdmaAccess *s)
{
    return !qdma_cmpt_valid(d->shell.qdma, s->queue);
}

static bool cidx_range(ErnicPci *d, const QdmaAccess *s)
{
    return qdma_cmpt_valid(d->shell.qdma, s->queue) &&
           !qdma_cmpt_may_read(d->shell.qdma, s->queue, s->value & 0xffff);
}

/* ---- the table ------------------------------------------------------------------ */

/* A rule's number is saved with the state, so new ones go last. */
static const Rule rules[] = {
    { "qdma-no-register", "a write to an offset without a writable register",
      QDMA_WRITES, no_register },
    { "qdma-table-in-use", "a ring or buffer size changes while an enabled queue uses it",
      QDMA_WRITES, table_in_use },
    { "qdma-mask", "a context is written with a mask that is not all ones",
      QDMA_CONTEXT, masked },
    { "qdma-still-enabled", "the software context of an enabled queue is written",
      QDMA_ENABLES, still_enabled },
    { "qdma-not-cleared", "descriptors are posted to a queue that began with the hardware"
      " context of an earlier use", QDMA_POSTS, not_cleared },
    { "qdma-error-bits", "a queue is enabled with an error, or an interrupt due, in its"
      " context", QDMA_ENABLES, error_bits },
    { "qdma-ring-base", "a descriptor ring that is not aligned to 4 KiB",
      QDMA_ENABLES, ring_base },
    { "qdma-ring-size", "a ring of no descriptors: its entry of GLBL_RNG_SZ is not set",
      QDMA_ENABLES, ring_size },
    { "qdma-descriptor-size", "descriptors that are not of 32 bytes (memory), 16 (H2C"
      " stream) or 8 (C2H stream)", QDMA_ENABLES, descriptor_size },
    { "qdma-function-map", "a queue is enabled that its function does not have",
      QDMA_ENABLES, function_map },
    { "qdma-vector", "a queue interrupts by a vector that its function does not have",
      QDMA_ENABLES, no_vector },
    { "qdma-ends-busy", "a queue ends before its descriptors are complete",
      QDMA_ENDS, ends_busy },
    { "qdma-post-disabled", "descriptors are posted to a queue that is not enabled, or"
      " has failed", QDMA_POSTS, post_disabled },
    { "qdma-pidx-range", "the producer index is not within the ring",
      QDMA_POSTS, pidx_range },
    { "qdma-overrun", "more descriptors are posted than the ring has room for, or fewer"
      " than before", QDMA_POSTS, overrun },
    { "qdma-no-completions", "buffers are posted before the completion context is valid",
      QDMA_POSTS, no_completions },
    { "qdma-no-prefetch", "buffers are posted before the prefetch context is valid",
      QDMA_POSTS, no_prefetch },
    { "qdma-engine-stopped", "descriptors are posted while the run bit of the"
      " memory-mapped engine is 0", QDMA_POSTS, engine_stopped },
    { "qdma-read-invalid", "the doorbell of a completion ring that is not valid",
      QDMA_READS, read_invalid },
    { "qdma-cidx-range", "more entries are read than were completed",
      QDMA_READS, cidx_range },
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(rules) > USED_SHIFT);
QEMU_BUILD_BUG_ON(ERNIC_QDMA_RULES != USED_SHIFT + ERNIC_QDMA_DIRS);

/* ---- the record ----------------------------------------------------------------- */

static void warn(ErnicPci *d, const Rule *rule, const ErnicQdmaViolation *v)
{
    g_autofree char *queue = v->queue == QDMA_NO_QUEUE ? g_strdup("no queue") :
                             g_strdup_printf("queue %u", v->queue);

    ernic_pci_warn_rule(d, &d->shell.warned, "ernic %s: rule %s: %s, offset 0x%x,"
                        " value 0x%x, at %" PRIu64 " ns: %s", ernic_pci_id(d),
                        rule->name, queue, v->offset, v->value, v->time, rule->text);
}

static void is_broken(ErnicPci *d, uint32_t i, const QdmaAccess *s)
{
    ErnicQdmaRecord *record = &d->shell.qdma->record;
    ErnicQdmaViolation *v = &record->last[i];

    *v = (ErnicQdmaViolation) {
        .count = v->count + 1, .queue = s->queue, .offset = s->at, .value = s->value,
        .time = ernic_pci_now(),
    };
    if (record->reported[s->queue] & BIT(i)) {
        return;
    }
    record->reported[s->queue] |= BIT(i);
    trace_ernic_guest_qdma_rule(ernic_pci_id(d), rules[i].name, s->queue, s->at,
                                s->value);
    warn(d, &rules[i], v);
}

static void note_use(ErnicPci *d, const QdmaAccess *s)
{
    uint32_t *bits = &d->shell.qdma->record.reported[s->queue];
    QdmaRing r;

    if (s->moment == QDMA_RENEWS) {
        *bits &= ~USED(s->dir);
    } else if (s->moment == QDMA_ENABLES) {
        r = ring_of(d, s);
        *bits = r.hw[0] || r.hw[1] ? *bits | USED(s->dir) : *bits & ~USED(s->dir);
    }
}

void qdma_rules(ErnicPci *d, const QdmaAccess *access)
{
    uint32_t i;

    if (!d->pg332.strict) {
        return;
    }
    for (i = 0; i < ARRAY_SIZE(rules); i++) {
        if (rules[i].moment == access->moment && rules[i].broken(d, access)) {
            is_broken(d, i, access);
        }
    }
    note_use(d, access);
}

static QDict *new_rule(const ErnicQdmaViolation *last)
{
    QDict *to = qdict_new();

    qdict_put(to, "count", qnum_from_uint(last->count));
    if (last->count && last->queue != QDMA_NO_QUEUE) {
        qdict_put(to, "queue", qnum_from_uint(last->queue));
    }
    if (last->count) {
        qdict_put(to, "offset", qnum_from_uint(last->offset));
        qdict_put(to, "value", qnum_from_uint(last->value));
        qdict_put(to, "time", qnum_from_uint(last->time));
    }
    return to;
}

void ernic_qdma_put_rules(const ErnicPci *d, QDict *to)
{
    uint32_t i;

    for (i = 0; d->shell.qdma && i < ARRAY_SIZE(rules); i++) {
        qdict_put(to, rules[i].name, new_rule(&d->shell.qdma->record.last[i]));
    }
}
