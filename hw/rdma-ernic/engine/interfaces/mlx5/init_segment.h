/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BAR 0 of the mlx5 interface: the initialization segment and the pages of doorbells
 * after it. docs/mlx5-interface.md describes the interface.
 */
#ifndef ERNIC_INTERFACES_MLX5_INIT_SEGMENT_H
#define ERNIC_INTERFACES_MLX5_INIT_SEGMENT_H

#include "interfaces/mlx5/command/mlx5.h"

/* A doorbell page; also the unit of the initialization segment. */
#define ERNIC_MLX5_PAGE         4096u
#define ERNIC_MLX5_BAR_SIZE     (ERNIC_MLX5_UAR_END * ERNIC_MLX5_PAGE)

/* The interface of e->cfg.mlx5; NULL: the engine has another one. */
ErnicMlx5 *ernic_mlx5_new(Ernic *e);
void ernic_mlx5_free(ErnicMlx5 *m);

/*
 * Registers of BAR 0 by their offset in bytes, in accesses of @size 4 or 8 that are
 * aligned. A value is the number that the big-endian bytes stand for.
 */
uint64_t ernic_mlx5_read(Ernic *e, uint32_t offset, uint32_t size);
void ernic_mlx5_write(Ernic *e, uint32_t offset, uint32_t size, uint64_t value);

/* uar.c: a store to byte @offset of doorbell page @page. */
void ernic_mlx5_uar_write(Ernic *e, uint32_t page, uint32_t offset, uint32_t size,
                          uint64_t value);
/* Whether the store is the rest of a request in a BlueFlame buffer. */
bool ernic_mlx5_uar_ignores(uint32_t offset, uint32_t size);

/* Execute commands until the slice of work ends. */
void ernic_mlx5_run(Ernic *e);
/* Whether there is a command to execute. */
bool ernic_mlx5_has_work(const Ernic *e);

/*
 * All objects go, as at TEARDOWN_HCA: the records of the interface here, the objects of
 * the engine by ernic_mlx5_teardown_due() and the caller of ernic_mlx5_run().
 */
bool ernic_mlx5_teardown_due(const Ernic *e);
void ernic_mlx5_forget_objects(Ernic *e);
/* The contexts of keys, which may be many, now belong to the caller; NULL: none. */
void *ernic_mlx5_take_key_contexts(Ernic *e);

#endif /* ERNIC_INTERFACES_MLX5_INIT_SEGMENT_H */
