/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion rings. A ring is in one of three states: it waits for software (after an
 * interrupt, and at first), or it reports new entries by status alone, or by status and
 * interrupt. A doorbell of software ends the first one. The trigger mode decides when new
 * entries are reported.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/errors.h"
#include "bars/qdma/registers.h"
#include "device/clock.h"
#include "hw/rdma-ernic/trace.h"

FIELD(CMPT0, STATUS, 0, 1)      /* write the status to the ring */
FIELD(CMPT0, IRQ_ENABLE, 1, 1)
FIELD(CMPT0, MODE, 2, 3)
FIELD(CMPT0, FUNCTION, 5, 12)
FIELD(CMPT0, COUNT, 17, 4)      /* index of C2H_CNT_TH */
FIELD(CMPT0, TIMER, 21, 4)      /* index of C2H_TIMER_CNT */
FIELD(CMPT0, STATE, 25, 2)
FIELD(CMPT0, COLOR, 27, 1)      /* of the next entry */
FIELD(CMPT0, RING_SIZE, 28, 4)
FIELD(CMPT2, BASE, 0, 26)       /* bits 63:38 of the address; 37:6 are the word before */
FIELD(CMPT2, SIZE, 26, 2)
FIELD(CMPT2, PIDX, 28, 4)       /* bits 3:0 */
FIELD(CMPT3, PIDX, 0, 12)       /* bits 15:4 */
FIELD(CMPT3, CIDX, 12, 16)
FIELD(CMPT3, ERROR, 29, 2)
FIELD(CMPT4, RUNNING, 0, 1)     /* the timer */
FIELD(CMPT4, FULL_UPDATE, 1, 1) /* doorbells change more than the index */
FIELD(CMPT4, NO_CHECK, 2, 1)    /* of the room in the ring */
FIELD(CMPT4, VECTOR, 4, 11)
FIELD(CMPT4, AGGREGATE, 15, 1)
FIELD(CMPT5, BASE, 14, 4)       /* bits 5:2 */
/* The doorbell. */
FIELD(READ, CIDX, 0, 16)
FIELD(READ, COUNT, 16, 4)
FIELD(READ, TIMER, 20, 4)
FIELD(READ, MODE, 24, 3)
FIELD(READ, STATUS, 27, 1)
FIELD(READ, ARM, 28, 1)
/* The first word of an entry. */
FIELD(ENTRY, COLOR, 1, 1)
FIELD(ENTRY, ERROR, 2, 1)
FIELD(ENTRY, USED, 3, 1)        /* descriptors */
FIELD(ENTRY, LENGTH, 4, 16)
FIELD(ENTRY, QUEUE, 16, 11)     /* of OpenNIC, in place of the two before */

enum { WAITS, SENSITIVE, ARMED };                   /* STATE */
enum { NEVER, EVERY, USER_COUNT, USER, USER_TIMER, USER_TIMER_COUNT };     /* MODE */
enum { BAD_CIDX = 1, BAD_DESC, NO_PLACE };          /* ERROR */

#define ENTRY_MAX       64
/* ns of a clock of the QDMA, which counts ticks of timers. */
#define CLOCK_NS        4
#define STATUS_ACCESSES 2

static uint32_t *cmpt_of(ErnicQdma *q, uint32_t number)
{
    return q->queue[number].cmpt;
}

static uint32_t entries_of(ErnicQdma *q, const uint32_t *w)
{
    return qdma_places(q, FIELD_EX32(w[0], CMPT0, RING_SIZE));
}

static uint32_t pidx_of(const uint32_t *w)
{
    return FIELD_EX32(w[2], CMPT2, PIDX) | FIELD_EX32(w[3], CMPT3, PIDX) << 4;
}

static uint32_t cidx_of(const uint32_t *w)
{
    return FIELD_EX32(w[3], CMPT3, CIDX);
}

static void set_pidx(uint32_t *w, uint32_t index)
{
    w[2] = FIELD_DP32(w[2], CMPT2, PIDX, index & 0xf);
    w[3] = FIELD_DP32(w[3], CMPT3, PIDX, index >> 4);
}

/* Bus address of place @index. */
static uint64_t place_addr(const uint32_t *w, uint32_t index)
{
    uint64_t base = (uint64_t)FIELD_EX32(w[2], CMPT2, BASE) << 38 |
                    (uint64_t)w[1] << 6 | FIELD_EX32(w[5], CMPT5, BASE) << 2;

    return base + ((uint64_t)index << (3 + FIELD_EX32(w[2], CMPT2, SIZE)));
}

/* Entries that software has not read; both indices are within the ring. */
static uint32_t unread(const uint32_t *w, uint32_t entries, uint32_t to)
{
    uint32_t ci = cidx_of(w);

    return to >= ci ? to - ci : to + entries - ci;
}

static bool indices_ok(ErnicQdma *q, const uint32_t *w)
{
    uint32_t entries = entries_of(q, w);

    return pidx_of(w) < entries && cidx_of(w) < entries;
}

bool qdma_cmpt_valid(ErnicQdma *q, uint32_t number)
{
    const uint32_t *w = cmpt_of(q, number);

    return FIELD_EX32(w[3], CMPT3, VALID) &&
           qdma_owns(q, FIELD_EX32(w[0], CMPT0, FUNCTION), number);
}

uint32_t qdma_cmpt_function(ErnicQdma *q, uint32_t number)
{
    return FIELD_EX32(cmpt_of(q, number)[0], CMPT0, FUNCTION);
}

uint32_t qdma_cmpt_size(ErnicQdma *q, uint32_t number)
{
    return FIELD_EX32(cmpt_of(q, number)[0], CMPT0, RING_SIZE);
}

uint32_t qdma_cmpt_cidx(ErnicQdma *q, uint32_t number)
{
    return cidx_of(cmpt_of(q, number));
}

/* ---- reports ------------------------------------------------------------------ */

/* The colour is that of the last entry: it changes with the first one of a round. */
static uint64_t status_of(const uint32_t *w)
{
    uint32_t color = FIELD_EX32(w[0], CMPT0, COLOR) ^ !pidx_of(w);

    return pidx_of(w) | (uint64_t)cidx_of(w) << 16 |
           (uint64_t)color << QDMA_STATUS_COLOR_SHIFT |
           (uint64_t)(FIELD_EX32(w[0], CMPT0, STATE) != WAITS) <<
           QDMA_STATUS_STATE_SHIFT |
           (uint64_t)FIELD_EX32(w[3], CMPT3, ERROR) << QDMA_STATUS_ERROR_SHIFT;
}

static void report(ErnicPci *d, uint32_t number)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t *w = cmpt_of(q, number), vector = FIELD_EX32(w[4], CMPT4, VECTOR);
    uint32_t function = qdma_cmpt_function(q, number);
    bool irq = FIELD_EX32(w[0], CMPT0, IRQ_ENABLE) &&
               FIELD_EX32(w[0], CMPT0, STATE) == ARMED;
    uint64_t status, le;

    qdma_cmpt_timer_ends(q, number);
    if (irq) {
        w[0] = FIELD_DP32(w[0], CMPT0, STATE, WAITS);
    }
    status = status_of(w);
    trace_ernic_qdma_report(ernic_pci_id(d), number, status, irq);
    if (FIELD_EX32(w[0], CMPT0, STATUS)) {
        le = cpu_to_le64(status);
        qdma_dma(d, function, place_addr(w, entries_of(q, w)), &le, sizeof(le), true);
    }
    if (irq && FIELD_EX32(w[4], CMPT4, AGGREGATE)) {
        qdma_aggregate(d, vector, number, ERNIC_QDMA_C2H, status);
    } else if (irq) {
        qdma_irq(d, function, vector);
    }
}

/* The ring takes no more completions until its context is written. */
static void fails(ErnicPci *d, uint32_t number, uint32_t code, QdmaError error)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r = qdma_ring(q, number, ERNIC_QDMA_C2H);
    uint32_t *w = cmpt_of(q, number);

    w[3] &= ~R_CMPT3_VALID_MASK;
    w[3] = FIELD_DP32(w[3], CMPT3, ERROR, code);
    qdma_error(d, error, &r);
    /* The status of a packet's error waits as that of a packet does. */
    if (code != BAD_DESC || FIELD_EX32(w[0], CMPT0, STATE) != WAITS) {
        report(d, number);
    }
}

/* ---- triggers ------------------------------------------------------------------ */

static uint64_t period(ErnicQdma *q, const uint32_t *w)
{
    return (uint64_t)*qdma_reg(q, QDMA_C2H_TIMER_CNT,
                               FIELD_EX32(w[0], CMPT0, TIMER)) *
           *qdma_reg(q, QDMA_C2H_TIMER_TICK, 0) * CLOCK_NS;
}

void qdma_cmpt_timer_ends(ErnicQdma *q, uint32_t number)
{
    uint32_t *w = cmpt_of(q, number);

    q->due[number] = 0;
    w[4] = FIELD_DP32(w[4], CMPT4, RUNNING, 0);
}

static void start_timer(ErnicPci *d, uint32_t number)
{
    QEMUTimer *delay = &d->shell.worker.delay;
    ErnicQdma *q = d->shell.qdma;
    uint32_t *w = cmpt_of(q, number);

    if (!q->due[number]) {
        q->due[number] = MAX(ernic_pci_now() + period(q, w), 1);
        w[4] = FIELD_DP32(w[4], CMPT4, RUNNING, 1);
        if (!timer_pending(delay) || q->due[number] < timer_expire_time_ns(delay)) {
            timer_mod_ns(delay, q->due[number]);
        }
    }
}

static bool counts(uint32_t mode)
{
    return mode == USER_COUNT || mode == USER_TIMER_COUNT;
}

/* Reports entries if that is due. The shell never triggers by itself ("user"). */
static void evaluate(ErnicPci *d, uint32_t number, bool expired)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t *w = cmpt_of(q, number), mode = FIELD_EX32(w[0], CMPT0, MODE);
    uint32_t n = unread(w, entries_of(q, w), pidx_of(w));
    bool timed = mode == USER_TIMER || mode == USER_TIMER_COUNT;

    if (FIELD_EX32(w[0], CMPT0, STATE) == WAITS || !n) {
        return;
    }
    if (mode == EVERY || (timed && expired) ||
        (counts(mode) && n >= *qdma_reg(q, QDMA_C2H_CNT_TH,
                                        FIELD_EX32(w[0], CMPT0, COUNT)))) {
        report(d, number);
    } else if (timed) {
        start_timer(d, number);
    }
}

void qdma_cmpt_timers(ErnicPci *d, ErnicBudget *work)
{
    ErnicQdma *q = d->shell.qdma;
    uint64_t now = ernic_pci_now(), first = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < ERNIC_QDMA_QUEUES; i++) {
        if (q->due[i] && q->due[i] <= now && ernic_budget_left(work)) {
            ernic_budget_charge(work, ERNIC_WORK_ACCESS * STATUS_ACCESSES, 0);
            qdma_cmpt_timer_ends(q, i);
            if (qdma_cmpt_valid(q, i) && indices_ok(q, cmpt_of(q, i))) {
                evaluate(d, i, true);
            }
        }
        if (q->due[i]) {
            first = MIN(first, q->due[i]);
        }
    }
    if (first != UINT64_MAX) {
        timer_mod_ns(&d->shell.worker.delay, MIN(first, INT64_MAX));
    }
}

/* ---- entries -------------------------------------------------------------------- */

/* That of RecoNIC's shell also has what OpenNIC's drivers read. */
static uint64_t entry_of(ErnicPci *d, uint32_t number, uint32_t len, bool error)
{
    ErnicQdma *q = d->shell.qdma;
    uint64_t entry = (uint64_t)q->packet << 48 | (uint64_t)len << 32 |
                     error << R_ENTRY_ERROR_SHIFT |
                     FIELD_EX32(cmpt_of(q, number)[0], CMPT0, COLOR) <<
                     R_ENTRY_COLOR_SHIFT;

    if (d->shell.kind == ERNIC_SHELL_OPENNIC) {
        return entry | number << R_ENTRY_QUEUE_SHIFT;
    }
    return entry | R_ENTRY_USED_MASK |
           (len << R_ENTRY_LENGTH_SHIFT & R_ENTRY_LENGTH_MASK);
}

static bool write_entry(ErnicPci *d, uint32_t *w, uint64_t entry)
{
    uint64_t words[ENTRY_MAX / 8] = { cpu_to_le64(entry) };
    uint32_t index = pidx_of(w);

    if (!qdma_dma(d, FIELD_EX32(w[0], CMPT0, FUNCTION), place_addr(w, index), words,
                  8u << FIELD_EX32(w[2], CMPT2, SIZE), true)) {
        return false;
    }
    index++;
    if (index == entries_of(d->shell.qdma, w)) {
        index = 0;
        w[0] ^= R_CMPT0_COLOR_MASK;
    }
    set_pidx(w, index);
    return true;
}

bool qdma_cmpt_post(ErnicPci *d, uint32_t number, uint32_t len, bool error)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t *w = cmpt_of(q, number), entries = entries_of(q, w);

    if (!qdma_cmpt_valid(q, number)) {
        return false;
    }
    if (!indices_ok(q, w)) {
        fails(d, number, BAD_CIDX, QDMA_ERR_CMPT_CIDX);
        return false;
    }
    /* One place is always free, beside that of the status. */
    if (!FIELD_EX32(w[4], CMPT4, NO_CHECK) &&
        unread(w, entries, pidx_of(w)) == entries - 1) {
        fails(d, number, NO_PLACE, QDMA_ERR_CMPT_FULL);
        return false;
    }
    q->packet += !error;
    if (!write_entry(d, w, entry_of(d, number, len, error))) {
        fails(d, number, BAD_DESC, QDMA_ERR_C2H_DESC);
        return false;
    }
    if (error) {
        fails(d, number, BAD_DESC, QDMA_ERR_C2H_DESC);
    } else {
        evaluate(d, number, false);
    }
    return true;
}

/* Takes what else the doorbell may change. */
static void update(uint32_t *w, uint32_t value)
{
    w[0] = FIELD_DP32(w[0], CMPT0, COUNT, FIELD_EX32(value, READ, COUNT));
    w[0] = FIELD_DP32(w[0], CMPT0, TIMER, FIELD_EX32(value, READ, TIMER));
    w[0] = FIELD_DP32(w[0], CMPT0, MODE, FIELD_EX32(value, READ, MODE));
    w[0] = FIELD_DP32(w[0], CMPT0, STATUS, FIELD_EX32(value, READ, STATUS));
    w[0] = FIELD_DP32(w[0], CMPT0, IRQ_ENABLE, FIELD_EX32(value, READ, ARM));
}

bool qdma_cmpt_may_read(ErnicQdma *q, uint32_t number, uint32_t ci)
{
    const uint32_t *w = cmpt_of(q, number);
    uint32_t entries = entries_of(q, w);

    return indices_ok(q, w) && ci < entries &&
           unread(w, entries, ci) <= unread(w, entries, pidx_of(w));
}

void qdma_cmpt_doorbell(ErnicPci *d, uint32_t number, uint32_t value)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r = qdma_ring(q, number, ERNIC_QDMA_C2H);
    uint32_t *w = cmpt_of(q, number), ci = FIELD_EX32(value, READ, CIDX);

    if (!qdma_owns(q, FIELD_EX32(w[0], CMPT0, FUNCTION), number)) {
        qdma_error(d, QDMA_ERR_QUEUE, &r);
        return;
    }
    if (!FIELD_EX32(w[3], CMPT3, VALID)) {
        qdma_error(d, QDMA_ERR_CMPT_QUEUE, &r);
        return;
    }
    if (!qdma_cmpt_may_read(q, number, ci)) {
        fails(d, number, BAD_CIDX, QDMA_ERR_CMPT_CIDX);
        return;
    }
    w[3] = FIELD_DP32(w[3], CMPT3, CIDX, ci);
    if (FIELD_EX32(w[4], CMPT4, FULL_UPDATE)) {
        update(w, value);
    }
    w[0] = FIELD_DP32(w[0], CMPT0, STATE,
                      FIELD_EX32(value, READ, ARM) ? ARMED : SENSITIVE);
    evaluate(d, number, false);
}
