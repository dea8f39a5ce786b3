/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The calls that the engine makes into its environment. The calls that the
 * environment makes into the engine are in engine.h.
 */
#ifndef ERNIC_BASE_ENV_H
#define ERNIC_BASE_ENV_H

#include "base/types.h"

typedef enum ErnicAtomicOp {
    ERNIC_ATOMIC_CMP_SWAP,
    ERNIC_ATOMIC_FETCH_ADD,
    ERNIC_ATOMIC_WRITE,
} ErnicAtomicOp;

#define ERNIC_REPORT_NAME 40
/* Pages that the environment lets ring by an event at once, at the most. */
#define ERNIC_DB_EVENTS 64

/* A rule of PG332, and its last violation (strict mode). */
typedef struct ErnicReport {
    const char *rule, *text;    /* its name, and the violation */
    char reg[ERNIC_REPORT_NAME];        /* the register, or field, by name */
    uint32_t offset;            /* in the window; of the field: in its record */
    uint32_t qpn;               /* 0: none in particular */
    uint64_t value;
    uint64_t time;              /* ns: the time of the call that found it */
    uint64_t count;             /* 0: never; then only rule and text are set */
} ErnicReport;

/* An index that PG332's hardware and user logic exchange: an element of their ports. */
typedef struct ErnicUserRecord {
    uint8_t kind;               /* enum pg332_user_kind */
    uint32_t qpn;
    uint32_t value;
} ErnicUserRecord;

/* Memory that nobody uses any more (deferred.h). */
typedef struct ErnicDeferred ErnicDeferred;

/*
 * All addresses are guest bus addresses. A call that returns false has had no visible
 * effect, except that dma_write may have written a part. None of these calls may call
 * back into the engine.
 */
typedef struct ErnicEnvOps {
    bool (*dma_read)(void *env, uint64_t addr, void *buf, uint64_t len);
    bool (*dma_write)(void *env, uint64_t addr, const void *buf,
                      uint64_t len);
    /*
     * Execute one atomic operation on the little-endian 64-bit word at @addr, which is
     * a multiple of 8. @arg is the summand, or the new value: of a word equal to
     * @compare, or (WRITE) of any. *@old is the old value in host byte order.
     */
    bool (*dma_atomic64)(void *env, uint64_t addr, ErnicAtomicOp op,
                         uint64_t arg, uint64_t compare, uint64_t *old);
    /*
     * Pass a train to the link, which has copied or sent it on return. False: the link
     * is busy; the engine keeps the train and offers it again after ernic_tx_ready().
     */
    bool (*tx)(void *env, const ErnicTrain *train);
    /*
     * Departure: the serial number of the newest train that has left the device; all
     * earlier ones have left with it. UINT64_MAX: the link holds no train that tx()
     * took. Links send in order. After this number has grown, the environment calls
     * ernic_run() soon, which completes requests. NULL: a train has left when tx()
     * returns.
     */
    uint64_t (*tx_departed)(void *env);
    void (*irq)(void *env, uint16_t vector);
    /*
     * Call ernic_run() at @ns, or as soon as possible if that is past. Only the last
     * call counts; UINT64_MAX: not before an event.
     */
    void (*wake_at)(void *env, uint64_t ns);
    /* A queue pair has broken a rule for the first time; may be NULL. */
    void (*violation)(void *env, const ErnicReport *report);
    /*
     * PG332 with user logic: ernic_user_next() has a record. The environment asks for it
     * soon, when no call into the engine is in progress.
     */
    void (*user_logic)(void *env);
    /*
     * From now on, or from now on not any more, the environment may call
     * ernic_page_rung() in place of ernic_bar_write() for doorbells of send queues in
     * doorbell page @page. A call that comes too late does no harm. NULL: it does not.
     */
    void (*page_event)(void *env, uint32_t page, bool on);
    /*
     * Call ernic_deferred_free() for @d soon, in any thread. NULL, or a configuration
     * without clock: the engine does so at once.
     */
    void (*free_later)(void *env, ErnicDeferred *d);
    /*
     * Whether that call has not returned yet for some @d of this environment. After the
     * last one, the environment calls ernic_cmd() or ernic_run() soon.
     */
    bool (*freeing)(void *env);
} ErnicEnvOps;

#endif /* ERNIC_BASE_ENV_H */
