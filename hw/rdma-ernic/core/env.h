/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The seam: six calls that the engine makes into its environment. The calls
 * that the environment makes into the engine are in engine.h.
 */
#ifndef ERNIC_ENV_H
#define ERNIC_ENV_H

#include "types.h"

typedef enum ErnicAtomicOp {
    ERNIC_ATOMIC_CMP_SWAP,
    ERNIC_ATOMIC_FETCH_ADD,
} ErnicAtomicOp;

/*
 * All addresses are guest bus addresses. A call that returns false has had no
 * effect that the guest was promised; dma_write may have written part.
 * None of these calls may call back into the engine.
 */
typedef struct ErnicEnvOps {
    bool (*dma_read)(void *env, uint64_t addr, void *buf, uint64_t len);
    bool (*dma_write)(void *env, uint64_t addr, const void *buf,
                      uint64_t len);
    /*
     * One atomic operation on the little-endian 64-bit word at @addr, which
     * is a multiple of 8. @arg is the summand, or what replaces a word equal
     * to @compare. The word as it was goes to *@old, in host byte order.
     */
    bool (*dma_atomic64)(void *env, uint64_t addr, ErnicAtomicOp op,
                         uint64_t arg, uint64_t compare, uint64_t *old);
    /*
     * Hand a train to the link, which has copied or sent it on return. False:
     * the link is busy; the engine keeps the train and offers it again after
     * ernic_tx_ready().
     */
    bool (*tx)(void *env, const ErnicTrain *train);
    void (*irq)(void *env, uint16_t vector);
    /*
     * Call ernic_run() at @ns, or as soon as possible if that is past. Only
     * the last call counts; UINT64_MAX: not before something happens.
     */
    void (*wake_at)(void *env, uint64_t ns);
} ErnicEnvOps;

#endif /* ERNIC_ENV_H */
