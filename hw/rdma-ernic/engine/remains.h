/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The remains of a reset: tables of the old objects and the memory that these own. The
 * engine is new at once. Its old objects are freed in slices of work, before it executes
 * the next command, so that there is at most one generation of them; until then their
 * memory is charged to the account.
 */
#ifndef ERNIC_REMAINS_H
#define ERNIC_REMAINS_H

#include "base/device.h"

/*
 * Take tables, numbers and account of @e, and leave none there. The result is independent
 * of @e and of its environment. @contexts: of keys of the mlx5 interface; or NULL.
 */
ErnicRemains *ernic_remains_take(Ernic *e, void *contexts);
/* Bytes of its tables; bytes that wait to be freed. */
uint64_t ernic_remains_tables(ErnicRemains *r);
uint64_t ernic_remains_bytes(ErnicRemains *r);
/* The account; an engine inherits it (base/mem.h). */
ErnicMem *ernic_remains_mem(ErnicRemains *r);
/* The clock of the old engine. */
ErnicClock *ernic_remains_clock(const ErnicRemains *r);
/* Free until the slice @work ends, at least one step. True: @r no longer exists. */
bool ernic_remains_reap(ErnicRemains *r, ErnicBudget *work);
/* Free all of it in this call. @r may be NULL. */
void ernic_remains_free(ErnicRemains *r);

#endif /* ERNIC_REMAINS_H */
