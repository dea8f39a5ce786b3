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
    uint32_t pd, eq, key, queue_pairs;
    volatile struct ernic_eqe *eq_ring;
    uint8_t *buf;                   /* BUF bytes, registered with a key */
    /* Of the send queues that are created, which post_send() does not know; NULL: none */
    struct ernic_record *record;
} Function;

typedef struct Qp {
    Function *f;
    uint32_t qpn, cqn, sq_pi, rq_pi, cq_ci, psn;
    uint8_t timeout;
    uint8_t *sq, *rq;
    volatile struct ernic_cqe *cq;
} Qp;

/* Sets up the functions of bus 0, at most FUNCTIONS; returns their number. */
int functions_open(Function *f);
/* Reads the counters into @to, which has 4096 bytes; returns their number. */
uint32_t function_counters(Function *f, uint64_t *to);
/*
 * Registers @length bytes from address 0 on: a list of @npages pages in two levels, of
 * which @list is the upper one. Returns the key.
 */
uint32_t register_list(Function *f, uint64_t list, uint32_t npages, uint64_t length);
/* Opens one of them, which is @host, 1 to FUNCTIONS. */
void function_open(Function *f, uint8_t devfn, uint8_t host);
/* The buffer of a host, in its own machine too if that runs the same program. */
uint8_t *buf_of(uint8_t host);
/* Creates and connects two RC queue pairs. */
void qp_connect(Qp *x, Function *f, Qp *y, Function *g);
/* The parts of this: each function has at most FUNCTIONS queue pairs. */
void qp_create(Qp *qp, Function *f);
/* Move from Reset to RTS. @psn: of the first packet each way; @timeout: an exponent. */
void qp_to_rts(Qp *qp, const Qp *peer, uint32_t psn, uint8_t timeout);
/* Move to Error or Reset. */
void qp_to(Qp *qp, uint8_t state);
/* Posts a receive of @len bytes at @at in the buffer of @qp. */
void post_recv(Qp *qp, uint32_t at, uint32_t len);
/* Posts a request; for WRITE and READ, with @peer_at in the buffer of @peer. */
void post_send(Qp *qp, uint8_t opcode, uint32_t at, uint32_t len,
               const Function *peer, uint32_t peer_at);
/* Return false if there is no new entry. */
bool poll_cq(Qp *qp, struct ernic_cqe *cqe);
bool poll_eq(Function *f, struct ernic_eqe *eqe);
void arm_cq(Qp *qp);

#endif /* REPEAT_DRIVER_H */
