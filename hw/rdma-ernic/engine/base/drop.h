/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The reasons to drop a received frame or packet without an answer: enum and names,
 * from the list that the guest uses as well.
 */
#ifndef ERNIC_BASE_DROP_H
#define ERNIC_BASE_DROP_H

#include "hw/rdma-ernic/ernic_counters.h"

typedef enum ErnicDrop {
#define ERNIC_DROP_ENUM(sym, name) ERNIC_DROP_##sym,
    ERNIC_DROPS(ERNIC_DROP_ENUM)
#undef ERNIC_DROP_ENUM
    ERNIC_DROP_COUNT
} ErnicDrop;

/* The name of @reason for traces and counters; never NULL. */
static inline const char *ernic_drop_name(ErnicDrop reason)
{
    static const char *const names[ERNIC_DROP_COUNT] = {
#define ERNIC_DROP_NAME(sym, name) [ERNIC_DROP_##sym] = name,
        ERNIC_DROPS(ERNIC_DROP_NAME)
#undef ERNIC_DROP_NAME
    };

    return (unsigned)reason < ERNIC_DROP_COUNT ? names[reason] : "invalid";
}

#endif /* ERNIC_BASE_DROP_H */
