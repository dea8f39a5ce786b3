// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Objects by their number of 24 bits, in two levels.
 */
#include <errno.h>
#include <stdlib.h>

#include "ernic.h"

int ernic_table_reserve(struct ernic_table *table, uint32_t n)
{
	struct ernic_table_page **page =
		&table->page[(n & 0xffffff) / ERNIC_TABLE_STEP];

	if (!*page)
		*page = calloc(1, sizeof(**page));
	return *page ? 0 : ENOMEM;
}

void ernic_table_set(struct ernic_table *table, uint32_t n, void *obj)
{
	table->page[(n & 0xffffff) / ERNIC_TABLE_STEP]
		->obj[n % ERNIC_TABLE_STEP] = obj;
}

void ernic_table_fini(struct ernic_table *table)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table->page); i++)
		free(table->page[i]);
}
