/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface as the face of an engine: BAR 0 with the initialization segment
 * and the doorbell pages, the command queue, and what the face keeps beside the objects
 * of the engine. docs/mlx5-face.md describes the interface.
 */
#ifndef ERNIC_FACES_MLX5_MLX5_H
#define ERNIC_FACES_MLX5_MLX5_H

#include "faces/mlx5/command_queue.h"
#include "faces/mlx5/function.h"
#include "faces/mlx5/objects.h"
#include "faces/mlx5/queue.h"
#include "objects/eq.h"

/* A doorbell page; also the unit of the initialization segment. */
#define ERNIC_MLX5_PAGE         4096u
#define ERNIC_MLX5_BAR_SIZE     (ERNIC_MLX5_UAR_END * ERNIC_MLX5_PAGE)

/* Ethernet frames by destination. */
typedef enum ErnicMlx5Cast {
    ERNIC_MLX5_UNICAST,
    ERNIC_MLX5_MULTICAST,
    ERNIC_MLX5_BROADCAST,
    ERNIC_MLX5_CASTS
} ErnicMlx5Cast;

typedef struct ErnicMlx5Traffic {
    uint64_t packets[ERNIC_MLX5_CASTS], octets[ERNIC_MLX5_CASTS];
} ErnicMlx5Traffic;

struct ErnicMlx5 {
    ErnicMlx5Function function;
    ErnicMlx5CommandQueue queue;
    ErnicMlx5Queues queues;
    ErnicMlx5Contexts contexts;
    uint8_t nic_interface;      /* of the initialization segment; 0: enabled */
    uint32_t command_eq;        /* receives completions of commands; 0: none */
    /*
     * The command in progress was taken when command_eq existed. Software polls the one
     * that creates command_eq, and an event of it would be one too many.
     */
    bool by_event;
    uint32_t completed;         /* commands without an event so far: bit by number */
    ErnicMlx5Traffic received, sent;    /* through the port, in all lives */
};

/* The face of e->cfg.mlx5; NULL: the engine has another one. */
ErnicMlx5 *ernic_mlx5_new(Ernic *e);
void ernic_mlx5_free(ErnicMlx5 *m);

/*
 * Registers of BAR 0 by their offset in bytes, in accesses of @size 4 or 8 that are
 * aligned. A value is the number that the big-endian bytes stand for.
 */
uint64_t ernic_mlx5_read(Ernic *e, uint32_t offset, uint32_t size);
void ernic_mlx5_write(Ernic *e, uint32_t offset, uint32_t size, uint64_t value);

/* Execute commands until the slice of work ends. */
void ernic_mlx5_run(Ernic *e);
/* Is there a command to execute? */
bool ernic_mlx5_has_work(const Ernic *e);

/*
 * All objects go, as at TEARDOWN_HCA: the records of the face here, the objects of the
 * engine by ernic_mlx5_teardown_due() and the caller of ernic_mlx5_run().
 */
bool ernic_mlx5_teardown_due(const Ernic *e);
void ernic_mlx5_forget_objects(Ernic *e);
/* Those of the keys, which may be many, now belong to the caller; NULL: none. */
void *ernic_mlx5_take_key_contexts(Ernic *e);

/* events.c: the entries of event queues. */
extern const ErnicEqOps ernic_mlx5_eqs;
/* events.c: the doorbell page of an event queue that exists. */
uint32_t ernic_mlx5_eq_uar(const Ernic *e, uint32_t eqn);
/* events.c: report completed commands, if the event queue has room. */
void ernic_mlx5_report_commands(Ernic *e);

/* ethernet.c: count a frame. */
void ernic_mlx5_count_frame(ErnicMlx5Traffic *t, const uint8_t *frame, uint32_t len);

/* uar.c: a store to byte @offset of doorbell page @page. */
void ernic_mlx5_uar_write(Ernic *e, uint32_t page, uint32_t offset, uint32_t size,
                          uint64_t value);
/* uar.c: is the store the rest of a request in a BlueFlame buffer? */
bool ernic_mlx5_uar_ignores(uint32_t offset, uint32_t size);

#endif /* ERNIC_FACES_MLX5_MLX5_H */
