// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Objects by their number of 24 bits, in two levels.
 */
#include <errno.h>
#include <stdlib.h>

#include "ernic.h"

int ernic_table_add(struct ernic_context *ctx, struct ernic_table *table,
		    uint32_t n, void *obj)
{
	struct ernic_table_page **page =
		&table->page[(n & 0xffffff) / ERNIC_TABLE_STEP];
	int ret = 0;

	pthread_mutex_lock(&ctx->table_lock);
	if (!*page)
		*page = calloc(1, sizeof(**page));
	if (!*page) {
		ret = ENOMEM;
	} else {
		while ((*page)->obj[n % ERNIC_TABLE_STEP])
			pthread_cond_wait(&ctx->table_left, &ctx->table_lock);
		(*page)->obj[n % ERNIC_TABLE_STEP] = obj;
	}
	pthread_mutex_unlock(&ctx->table_lock);
	return ret;
}

void ernic_table_remove(struct ernic_context *ctx, struct ernic_table *table,
			uint32_t n)
{
	table->page[(n & 0xffffff) / ERNIC_TABLE_STEP]
		->obj[n % ERNIC_TABLE_STEP] = NULL;
	pthread_cond_broadcast(&ctx->table_left);
}

void ernic_table_fini(struct ernic_table *table)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table->page); i++)
		free(table->page[i]);
}
