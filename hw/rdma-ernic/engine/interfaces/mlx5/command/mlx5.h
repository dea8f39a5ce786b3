/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state of the mlx5 interface that is not in objects of the engine.
 */
#ifndef ERNIC_INTERFACES_MLX5_MLX5_H
#define ERNIC_INTERFACES_MLX5_MLX5_H

#include "interfaces/mlx5/command/queue.h"
#include "interfaces/mlx5/command/function.h"
#include "interfaces/mlx5/command/lists.h"

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

/* Records of the queues (rdma/records.h); index = number, as in the engine's tables. */
typedef struct ErnicMlx5Queues {
    struct ErnicMlx5Qp *qp;
    struct ErnicMlx5Cq *cq;
    struct ErnicMlx5Srq *srq;
} ErnicMlx5Queues;

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

#endif /* ERNIC_INTERFACES_MLX5_MLX5_H */
