/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A driver of a few lines for the mlx5 interface of functions of bus 0: the command
 * queue by polling, an event queue, one RC queue pair a function. As in driver.h,
 * everything is in memory of the program's own.
 */
#ifndef REPEAT_MLX5_H
#define REPEAT_MLX5_H

#include "io.h"

#define MLX5_PCI_ID     (0x15b3 | 0x1018 << 16)
#define MLX5_FUNCTIONS  2
#define MLX5_LOG_DEPTH  4
#define MLX5_DEPTH      (1u << MLX5_LOG_DEPTH)      /* of both rings */
#define MLX5_BUF        (128 * 1024)

enum mlx5_opcode { MLX5_WRITE = 0x08, MLX5_SEND = 0x0a, MLX5_READ = 0x10 };

typedef struct Mlx5Memory Mlx5Memory;

typedef struct Mlx5 {
    uint8_t devfn, host;            /* 10.0.0.host */
    uintptr_t bar;
    uint32_t uar, eqn, pd, key, cqn, qpn;
    uint32_t eq_ci, cq_ci, cq_events;
    uint32_t sent, received;        /* requests posted */
    Mlx5Memory *memory;
    uint8_t *buf;                   /* MLX5_BUF bytes; the peer may access them */
} Mlx5;

typedef struct Mlx5Completion {
    bool failed, receive;
    uint16_t request;               /* its number, modulo 2^16 */
    uint32_t length;
    uint64_t time;                  /* of the device's clock, in ns */
} Mlx5Completion;

/* Opens a function, which is @host, 1 to MLX5_FUNCTIONS; its queue pair is in Reset. */
void mlx5_open(Mlx5 *x, uint8_t devfn, uint8_t host);
/* The device's clock. */
uint64_t mlx5_time(const Mlx5 *x);
/*
 * Move from Reset to RTS, connected with the queue pair of the same number at @host.
 * @psn: of the first packet in each direction; @timeout: the exponent of the ACK
 * timeout.
 */
void mlx5_connect(Mlx5 *x, uint8_t host, uint32_t psn, uint8_t timeout);
void mlx5_to_error(Mlx5 *x);
/* All completions were polled. */
void mlx5_to_reset(Mlx5 *x);

/* Posts a receive of @len bytes at @at of buf. */
void mlx5_post_recv(Mlx5 *x, uint32_t at, uint32_t len);
/* Posts a request; for WRITE and READ, with @peer_at in the buffer of @host. */
void mlx5_post_send(Mlx5 *x, enum mlx5_opcode opcode, uint32_t at, uint32_t len,
                    uint8_t host, uint32_t peer_at);
/* Returns false if there is no new completion. */
bool mlx5_poll(Mlx5 *x, Mlx5Completion *to);
/* Requests an interrupt for the next completion; takes the events that there are. */
void mlx5_arm(Mlx5 *x);

#endif /* REPEAT_MLX5_H */
