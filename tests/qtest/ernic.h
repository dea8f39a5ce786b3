/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest driver of a few lines for the tests: registers, commands and queues
 * of one device, all in guest memory.
 */
#ifndef QTEST_ERNIC_H
#define QTEST_ERNIC_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "tests/qtest/libqos/qgraph.h"
#include "tests/qtest/libqos/libqos-malloc.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define QERNIC_RING_SHIFT   4
#define QERNIC_DEPTH        16          /* of every queue */
#define QERNIC_BUF          (256 * 1024)
#define QERNIC_QKEY         0x11111111

typedef struct QErnic {
    QOSGraphObject obj;
    QPCIDevice dev;
    QTestState *qts;
    QGuestAllocator *alloc;
    QPCIBar bar;
    const char *id;             /* of -device */
    uint64_t cmd_ring, rsp_ring;
    uint64_t scratch;           /* a page to pass structures in */
    uint32_t cmd_pi;

    /* qernic_setup(): what every transfer needs. */
    uint32_t pd, eq, key;
    uint64_t eq_ring, buf;
    uint8_t gid[16];
} QErnic;

typedef struct QErnicCq {
    uint32_t cqn, ci;
    uint64_t ring;
} QErnicCq;

typedef struct QErnicQp {
    QErnic *q;
    uint32_t qpn, sq_pi, rq_pi;
    uint64_t sq, rq;
    uint8_t type;
    QErnicCq cq;
} QErnicQp;

/* A device that was found by hand rather than by the graph. */
void qernic_init(QErnic *q, const char *id, QPCIBus *bus, int devfn,
                 QGuestAllocator *alloc);
void qernic_fini(QErnic *q);

#define qernic_reg(q, name) \
    qernic_read(q, offsetof(struct ernic_regs, name))
#define qernic_set_reg(q, name, value) \
    qernic_write(q, offsetof(struct ernic_regs, name), value)
uint32_t qernic_read(QErnic *q, uint64_t off);
void qernic_write(QErnic *q, uint64_t off, uint32_t value);
void qernic_write64(QErnic *q, uint64_t off, uint64_t value);

/* Fresh rings; the device enables. */
void qernic_enable(QErnic *q);
/* One step of time, for whatever is waited for; fails the test in the end. */
void qernic_wait(QErnic *q, uint64_t *deadline);
/* Run one command; returns its status. @rsp may be NULL. */
uint8_t qernic_cmd(QErnic *q, struct ernic_cmd *cmd, struct ernic_rsp *rsp);
/* Write a command, and do not wait. */
void qernic_cmd_post(QErnic *q, struct ernic_cmd *cmd);
/* A command that takes nothing but a handle. */
uint8_t qernic_cmd_handle(QErnic *q, uint8_t opcode, uint32_t handle);
/* One of the device's counters, as the monitor tells it; "drops.psn" as well. */
uint64_t qernic_stat(QErnic *q, const char *name);
void qernic_doorbell(QErnic *q, uint32_t uctx, uint64_t value);

/* PD, EQ of vector 1, buffer with a key to it, GID 0 of 10.0.0.@host. */
void qernic_setup(QErnic *q, uint8_t host);
/* The device's address, in a VLAN or (0xffff) in none. */
void qernic_set_gid(QErnic *q, uint8_t index, uint16_t vlan);
/* A queue pair with a CQ of its own, in RESET. */
void qernic_qp_create(QErnic *q, QErnicQp *qp, uint8_t type);
/* To INIT, RTR and RTS, connected to @peer on another device or the same. */
void qernic_qp_connect(QErnicQp *qp, const QErnicQp *peer);
uint8_t qernic_qp_modify(QErnicQp *qp, struct ernic_qp_attr *attr);
/* A receive of @len bytes at offset @at of the buffer. */
void qernic_post_recv(QErnicQp *qp, uint64_t at, uint32_t len);
/*
 * A request with one SGE of @len bytes at offset @at; the parts of @wqe that
 * depend on the opcode are the caller's. The doorbell is rung.
 */
void qernic_post_send(QErnicQp *qp, struct ernic_wqe *wqe, uint64_t at,
                      uint32_t len);
/* The next completion of @qp; polls until it is there. */
void qernic_poll(QErnicQp *qp, struct ernic_cqe *cqe);
/* Is there one now? */
bool qernic_has_cqe(QErnicQp *qp);
void qernic_arm(QErnicQp *qp);

/* An RC pair that has begun a message which cannot end: no receive is there. */
void qernic_begin(QErnic *q, QErnicQp *x, QErnicQp *y);
/* The receive is posted now, and the message arrives. */
void qernic_end(QErnicQp *x, QErnicQp *y);
/*
 * The machine is saved, and another that loads it takes its place, with the device
 * of the node alone. Returns the old one, for the end.
 */
QTestState *qernic_migrate(QErnic *q);
/* The same, to a device with @more properties. */
QTestState *qernic_migrate_to(QErnic *q, const char *more);
void qernic_migrate_end(QErnic *q, QTestState *from);
/* RC, UC, UD and GSI between two devices that are set up, or within one. */
void qernic_transfers(QErnic *a, QErnic *b);
/* A group of which queue pairs of @b are members. */
void qernic_multicast(QErnic *a, QErnic *b);
/* A datagram is sent, and nobody waits for it. */
void qernic_datagram(QErnicQp *from, const QErnicQp *to);

#endif /* QTEST_ERNIC_H */
