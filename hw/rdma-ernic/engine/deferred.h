/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deferred free: the objects and tables of an engine that was reset or that ends, and
 * large blocks of one that goes on, are freed by a thread of the environment. The engine
 * hands them over in constant time, whatever their number, and is new at once. Until
 * they are free it executes no command, so they do not add up.
 */
#ifndef ERNIC_DEFERRED_H
#define ERNIC_DEFERRED_H

#include "base/device.h"

/* Whether there is a thread, and results may depend on the time of the host. */
static inline bool ernic_deferred_on(const Ernic *e)
{
    return e->ops->free_later && e->cfg.clock;
}

/*
 * Take tables, numbers and account of @e, and leave none there. The result is independent
 * of @e and of its environment. @contexts: of keys of the mlx5 interface; or NULL.
 */
ErnicDeferred *ernic_deferred_take(Ernic *e, void *contexts);
/* Bytes of its tables. */
uint64_t ernic_deferred_tables(const ErnicDeferred *d);

/* Free @d, of an engine that was reset: by the environment's thread, if it may wait. */
void ernic_deferred_hand_over(Ernic *e, ErnicDeferred *d);
/* The same with the large blocks that @e has freed, if there are any. */
void ernic_deferred_blocks(Ernic *e);
/* Whether the thread still frees something of @e. */
bool ernic_deferred_waits(Ernic *e);

#endif /* ERNIC_DEFERRED_H */
