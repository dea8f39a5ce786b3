/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the mlx5 interface. It does what Linux's mlx5_core does at probe:
 * initialization segment, commands by polling, an event queue; then RDMA objects and a
 * queue pair of RC that is connected to itself. Stores are big-endian.
 */
#ifndef QTEST_ERNIC_MLX5_H
#define QTEST_ERNIC_MLX5_H

#include "ernic-card.h"

#define MLX5_MESSAGE    (16 + 16 * 512)     /* bytes of the longest one */
#define MLX5_VECTOR     3
/* Doorbells in a page for them. */
#define MLX5_UAR_CQ     0x20
#define MLX5_UAR_EQ_ARM 0x40
#define MLX5_UAR_EQ_SET 0x48
#define MLX5_BLUE_FLAME 0x800
/* Registers of the initialization segment, their values, and commands. */
#define MLX5_CMDIF          0x04
#define MLX5_CMDIF_REV      5
#define MLX5_QUEUE_HIGH     0x10
#define MLX5_QUEUE_LOW      0x14
#define MLX5_NIC_DISABLED   (1 << 8)
#define MLX5_HEALTH_SYNDROME 0x23c
#define MLX5_EQ_ERROR       0x0d
#define MLX5_QUERY_PAGES    0x107
#define MLX5_INIT_HCA       0x102

typedef struct Mlx5 {
    QErnicMachine *m;
    QPCIDevice dev;
    QPCIBar bar;
    uint64_t page, in, out, eq; /* command queue, mailboxes, event queue */
    uint32_t uar, eqn, ci;
    uint32_t log_qp;            /* that the capabilities are to have */
} Mlx5;

/* Objects, and what was posted. */
typedef struct Mlx5Rdma {
    uint32_t pd, key, cqn, qpn;
    uint64_t ring, cq, record;  /* both rings; two doorbell records of 8 bytes */
    uint16_t sent, received;
    uint32_t ci;
} Mlx5Rdma;

/* The driver takes the function at @devfn of the machine @x->m. */
void mlx5_take(Mlx5 *x, int devfn);
/* A machine with the device; @more: additional properties. */
void mlx5_begin(Mlx5 *x, const char *more);
/* Another machine with the same properties takes over the state of this one. */
void mlx5_migrate(Mlx5 *x, const char *more);

uint32_t mlx5_get(Mlx5 *x, uint32_t off);
void mlx5_put(Mlx5 *x, uint32_t off, uint32_t value);
/* Guest memory. */
uint64_t mlx5_zeroed(Mlx5 *x, size_t bytes);

/* Post @in as entry @number of the command queue. */
void mlx5_post(Mlx5 *x, uint32_t number, const uint8_t *in, uint32_t in_len,
               uint32_t out_len);
bool mlx5_is_done(Mlx5 *x, uint32_t number);
/* Wait for the answer of entry @number; returns its status. */
uint8_t mlx5_answer(Mlx5 *x, uint32_t number, uint8_t *out, uint32_t out_len);
/* Execute a command of 16 bytes with the word @b, and an answer of 16. */
uint8_t mlx5_command(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b, uint8_t *out);
void mlx5_accepts(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b);

/* Execute @in, a command of @opcode; returns the number in its answer. */
uint32_t mlx5_execute(Mlx5 *x, uint16_t opcode, uint8_t *in, uint32_t len);

void mlx5_probe(Mlx5 *x);
void mlx5_remove_driver(Mlx5 *x);
void mlx5_ring_eq(Mlx5 *x, uint32_t offset);
/* The vector of the next event, which is that of completed commands. */
uint32_t mlx5_wait_command_event(Mlx5 *x);

/* After mlx5_probe(): all objects; the queue pair is ready to send. */
void mlx5_rdma_open(Mlx5 *x, Mlx5Rdma *r);
/* A further queue pair in the same memory, @r->qpn; the status. @log_sq: at most 6. */
uint8_t mlx5_add_qp(Mlx5 *x, Mlx5Rdma *r, uint32_t log_sq);
/* Post requests for @len bytes of guest memory; mlx5_ring_sq() rings the doorbell. */
void mlx5_post_send(Mlx5 *x, Mlx5Rdma *r, uint64_t addr, uint32_t len);
void mlx5_post_recv(Mlx5 *x, Mlx5Rdma *r, uint64_t addr, uint32_t len);
void mlx5_ring_sq(Mlx5 *x, Mlx5Rdma *r);
/* The next completion entry, if there is one. */
bool mlx5_poll(Mlx5 *x, Mlx5Rdma *r, uint8_t cqe[64]);
/* The same when it has come. */
void mlx5_completion(Mlx5 *x, Mlx5Rdma *r, uint8_t cqe[64]);

#endif /* QTEST_ERNIC_MLX5_H */
