/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion queues: entries in order, arming, moderation, overrun.
 */
#ifndef ERNIC_OBJECTS_CQ_H
#define ERNIC_OBJECTS_CQ_H

#include "base/device.h"
#include "base/wc.h"
#include "objects/buf.h"
#include "objects/eq.h"
#include "hw/rdma-ernic/ernic_abi.h"

typedef enum ErnicCqArm {
    ERNIC_CQ_DISARMED,
    ERNIC_CQ_ARMED_SOLICITED,
    ERNIC_CQ_ARMED_ANY,
} ErnicCqArm;

struct ErnicCq {
    bool used;
    bool overrun;               /* takes no more entries */
    bool overwrites;            /* a full ring loses its oldest entry instead */
    uint8_t arm;                /* ErnicCqArm */
    uint32_t uctx;
    uint32_t eq;                /* 0: none */
    uint32_t depth;             /* power of two */
    uint32_t pi, ci;            /* free-running */
    uint32_t sol_pi;            /* ci to pi: index after the last entry that
                                   is solicited or an error; ci: none is left */
    uint64_t ci_addr;           /* 0: doorbell only */
    uint16_t mod_count, mod_period_us;
    uint16_t mod_pending;       /* completions that moderation holds back */
    uint64_t mod_due;           /* latest time of the event, or ERNIC_NEVER */
    uint32_t refs;              /* queues with completions here */
    uint32_t notified;          /* pi at the last notification */
    uint8_t lead;               /* unused bytes before each entry: 0 or 64 */
    ErnicBuf buf;
    ErnicEvents events;
};

/* A new queue, as the interface describes it after its checks. */
typedef struct ErnicCqInit {
    uint32_t uctx;
    uint32_t eq;                /* exists; 0: none */
    uint32_t depth;             /* power of two, 2 to ERNIC_MAX_CQ_DEPTH */
    uint64_t ci_addr;           /* multiple of 4; 0: doorbell only */
    bool overwrites;            /* never overrun: see ErnicCq */
    uint8_t lead;               /* as in ErnicCq */
} ErnicCqInit;

/*
 * Create queue *@cqn with the ring @buf, whose pages it owns from now on.
 * ERNIC_ERR_NO_RESOURCE: all numbers are used, and the pages of @buf are free.
 */
uint8_t ernic_cq_add(Ernic *e, const ErnicCqInit *init, ErnicBuf *buf, uint32_t *cqn);
/*
 * Use the ring @buf of @depth entries, with @lead bytes before each; the counters stay,
 * and the old ring is freed.
 */
void ernic_cq_set_ring(Ernic *e, uint32_t cqn, ErnicBuf *buf, uint32_t depth,
                       uint8_t lead);
/* Hold an event back for up to @count completions or @period_us; 0: do not. */
void ernic_cq_set_moderation(Ernic *e, uint32_t cqn, uint16_t count,
                             uint16_t period_us);

/* Bytes of an entry, in all interfaces. */
#define ERNIC_CQ_ENTRY  64

/*
 * How an interface writes entries. ernic_new() copies its operations to e->cqes.
 */
struct ErnicCqeOps {
    /* Write @wc to the 64 bytes of @entry, which are 0; not what set_pass() sets. */
    void (*encode)(const Ernic *e, const ErnicWc *wc, uint8_t *entry);
    /*
     * Mark @entry as new in the pass of the ring that @odd names: the first one, 0, is
     * even. The mark is in the last 8 bytes, which are written after the others.
     */
    void (*set_pass)(uint8_t *entry, bool odd);
    /*
     * The consumer counter in the 4 bytes that software keeps at ci_addr, as a number
     * of 32 bits; @pi is the producer counter.
     */
    uint32_t (*consumed)(const uint8_t *record, uint32_t pi);
};

/* The methods for struct ernic_cqe. */
extern const ErnicCqeOps ernic_cqe_verbs;

uint8_t ernic_cq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_cq_create *cmd, uint32_t *cqn);
/*
 * Move the entries not yet consumed to a new ring. All counters keep their values:
 * entry k is in slot k modulo the new depth. A failure changes nothing.
 */
uint8_t ernic_cq_resize(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_cq_create *cmd);
uint8_t ernic_cq_moderate(Ernic *e, uint32_t uctx,
                          const struct ernic_cmd_cq_moderate *cmd);
uint8_t ernic_cq_destroy(Ernic *e, uint32_t uctx, uint32_t cqn);
/* NULL unless @cqn exists and belongs to @uctx. */
ErnicCq *ernic_cq_get(Ernic *e, uint32_t uctx, uint32_t cqn);

/*
 * The event queue in whose backlog events of @cq wait: its own, or the asynchronous one
 * if it has none, or if an error waits and its own one has completions only. 0: none.
 */
uint32_t ernic_cq_event_queue(const Ernic *e, const ErnicCq *cq);

/*
 * Write one completion. False: the queue has overrun, now or before, and the
 * caller moves its queue pair to Error. The first overrun raises CQ_ERR.
 */
bool ernic_cq_post(Ernic *e, uint32_t cqn, const ErnicWc *wc);
/*
 * The same for @entry, of ERNIC_CQ_ENTRY bytes and in the format of the interface.
 * @solicited: also if only solicited entries cause an event.
 */
bool ernic_cq_post_entry(Ernic *e, uint32_t cqn, uint8_t *entry, bool solicited);
/*
 * Whether a ring of @depth, at most that of the queue, would have room for one more than
 * the entries that are not consumed. One that overwrites loses its oldest entries for
 * it.
 */
bool ernic_cq_has_room(Ernic *e, uint32_t cqn, uint32_t depth);
/*
 * Write @entry, of ERNIC_CQ_ENTRY bytes and in the format of the interface, as the next
 * one. False: there is no room for it, or the DMA has failed; then it is not in the
 * queue.
 */
bool ernic_cq_append(Ernic *e, uint32_t cqn, uint8_t *entry);
/*
 * Doorbells. Arming raises the event at once if the queue holds an entry that the
 * consumer has not counted in @seen. Without ci_addr, @seen also consumes entries.
 */
uint8_t ernic_cq_consume(Ernic *e, uint32_t cqn, uint32_t ci);
uint8_t ernic_cq_arm(Ernic *e, uint32_t cqn, uint32_t seen, bool solicited);
/* Raise moderated events that are due, one at least and a share of the slice at most. */
void ernic_cq_moderation_run(Ernic *e);

#endif /* ERNIC_OBJECTS_CQ_H */
