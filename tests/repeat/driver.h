/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A driver of a few lines for functions of bus 0: commands, queue pairs, work.
 * Everything is in memory of the program's own, which is where its addresses say.
 */
#ifndef REPEAT_DRIVER_H
#define REPEAT_DRIVER_H

#include "hw/rdma-ernic/ernic_abi.h"
#include "io.h"

#define FUNCTIONS   4
#define DEPTH       16              /* of every queue */
#define CQ_DEPTH    (2 * DEPTH)
#define EQ_DEPTH    64
#define BUF         (FUNCTIONS * 64 * 1024)

typedef struct Function {
    uint8_t devfn, host;            /* 10.0.0.host */
    volatile struct ernic_regs *regs;
    uintptr_t db;                   /* doorbell page of context 0 */
    uint32_t cmd_pi, eq_ci;
    uint32_t pd, eq, key;
    volatile struct ernic_eqe *eq_ring;
    uint8_t *buf;                   /* BUF bytes, with a key to them */
} Function;

typedef struct Qp {
    Function *f;
    uint32_t qpn, cqn, sq_pi, rq_pi, cq_ci;
    uint8_t *sq, *rq;
    volatile struct ernic_cqe *cq;
} Qp;

/* The functions of bus 0, up to FUNCTIONS, ready for work; how many there are. */
int functions_open(Function *f);
/* The counters: answers with how many there are, in @to of 4096 bytes. */
uint32_t function_counters(Function *f, uint64_t *to);
/* Two RC queue pairs that are connected. */
void qp_connect(Qp *x, Function *f, Qp *y, Function *g);
/* @len bytes at @at of the buffer of @qp. */
void post_recv(Qp *qp, uint32_t at, uint32_t len);
/* The same, and @peer_at of the buffer of @peer. */
void post_send(Qp *qp, uint8_t opcode, uint32_t at, uint32_t len,
               const Function *peer, uint32_t peer_at);
/* False: there is none. */
bool poll_cq(Qp *qp, struct ernic_cqe *cqe);
bool poll_eq(Function *f, struct ernic_eqe *eqe);
void arm_cq(Qp *qp);

#endif /* REPEAT_DRIVER_H */
