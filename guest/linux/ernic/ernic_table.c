// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects by number. Events and faults name objects by number; whoever handles one
 * holds a reference while it does, and no lock: vectors run in parallel.
 */
#include "ernic.h"

void ernic_table_init(struct xarray *table)
{
	xa_init_flags(table, XA_FLAGS_LOCK_IRQ);
}

int ernic_table_add(struct xarray *table, u32 n, struct ernic_ref *ref)
{
	refcount_set(&ref->users, 1);
	init_completion(&ref->unused);
	return xa_err(xa_store_irq(table, n, ref, GFP_KERNEL));
}

struct ernic_ref *ernic_table_get(struct xarray *table, u32 n)
{
	struct ernic_ref *ref;
	unsigned long flags;

	xa_lock_irqsave(table, flags);
	ref = xa_load(table, n);
	if (ref)
		refcount_inc(&ref->users);
	xa_unlock_irqrestore(table, flags);
	return ref;
}

struct ernic_ref *ernic_table_next(struct xarray *table, unsigned long *n)
{
	struct ernic_ref *ref;
	unsigned long flags;

	xa_lock_irqsave(table, flags);
	ref = xa_find(table, n, ULONG_MAX, XA_PRESENT);
	if (ref)
		refcount_inc(&ref->users);
	xa_unlock_irqrestore(table, flags);
	return ref;
}

void ernic_table_erase(struct xarray *table, u32 n)
{
	xa_erase_irq(table, n);
}

void ernic_ref_put(struct ernic_ref *ref)
{
	if (refcount_dec_and_test(&ref->users))
		complete(&ref->unused);
}

void ernic_ref_wait(struct ernic_ref *ref)
{
	ernic_ref_put(ref);
	wait_for_completion(&ref->unused);
}
