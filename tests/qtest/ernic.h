/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small guest driver for the tests: registers, commands and queues of one device.
 * All data is in guest memory.
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
    const char *id;             /* id of -device */
    uint64_t cmd_ring, rsp_ring;
    uint64_t scratch;           /* a page for structures of commands */
    uint32_t cmd_pi;

    /* Created by qernic_setup(), for all transfers. */
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

/* Initializes a device that libqos's graph does not provide. */
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

/* Allocates rings and enables the device. */
void qernic_enable(QErnic *q);
/* Steps the clock while a test waits; fails the test after a deadline. */
void qernic_wait(QErnic *q, uint64_t *deadline);
/* Executes a command; returns its status. @rsp may be NULL. */
uint8_t qernic_cmd(QErnic *q, struct ernic_cmd *cmd, struct ernic_rsp *rsp);
/* Posts a command without waiting for its response. */
void qernic_cmd_post(QErnic *q, struct ernic_cmd *cmd);
/* Executes a command with a handle as its only parameter. */
uint8_t qernic_cmd_handle(QErnic *q, uint8_t opcode, uint32_t handle);
/* The value of a counter in the monitor; @name may have parts, as "drops.psn". */
uint64_t qernic_stat(QErnic *q, const char *name);
/* Write trace event @event to a file from now on; the caller frees the result. */
char *qernic_log(QTestState *qts, const char *event);
/* After the end of QEMU: how often @event is in that file, which is removed. */
uint32_t qernic_logged(const char *path, const char *event);
void qernic_doorbell(QErnic *q, uint32_t uctx, uint64_t value);

/* Creates PD, EQ with vector 1, and a registered buffer; GID 0 is 10.0.0.@host. */
void qernic_setup(QErnic *q, uint8_t host);
/* Sets the device's address, with a VLAN or (0xffff) without. */
void qernic_set_gid(QErnic *q, uint8_t index, uint16_t vlan);
/* Creates a queue pair in RESET, with its own CQ. */
void qernic_qp_create(QErnic *q, QErnicQp *qp, uint8_t type);
/* Moves @qp to INIT, RTR and RTS, connected to @peer on any device. */
void qernic_qp_connect(QErnicQp *qp, const QErnicQp *peer);
uint8_t qernic_qp_modify(QErnicQp *qp, struct ernic_qp_attr *attr);
/* Posts a receive of @len bytes at offset @at of the buffer. */
void qernic_post_recv(QErnicQp *qp, uint64_t at, uint32_t len);
/*
 * Posts a request with one SGE of @len bytes at offset @at, and rings the doorbell.
 * The caller fills in the fields of @wqe that depend on the opcode.
 */
void qernic_post_send(QErnicQp *qp, struct ernic_wqe *wqe, uint64_t at, uint32_t len);
/* Waits for the next completion of @qp. */
void qernic_poll(QErnicQp *qp, struct ernic_cqe *cqe);
/* Whether a completion is available now. */
bool qernic_has_cqe(QErnicQp *qp);
void qernic_arm(QErnicQp *qp);

/* Connects an RC pair and sends a message, which waits because no receive is posted. */
void qernic_begin(QErnic *q, QErnicQp *x, QErnicQp *y);
/* Posts the receive for qernic_begin(); the message arrives. */
void qernic_end(QErnicQp *x, QErnicQp *y);
/*
 * Migrates to a new machine, which has only the device of the node, with the additional
 * properties @more, and uses that from now on. Returns the old machine, for
 * qernic_migrate_end().
 */
QTestState *qernic_migrate_to(QErnic *q, const char *more);
static inline QTestState *qernic_migrate(QErnic *q)
{
    return qernic_migrate_to(q, "");
}
/* The same, to a machine with these options. */
QTestState *qernic_migrate_as(QErnic *q, const char *args);
void qernic_migrate_end(QErnic *q, QTestState *from);
/* RC, UC, UD and GSI transfers between two devices after set-up, or within one. */
void qernic_transfers(QErnic *a, QErnic *b);
/* Sends from @a to a multicast group with queue pairs of @b as members. */
void qernic_multicast(QErnic *a, QErnic *b);
/* Attaches 900 queue pairs of @b to a group; @a sends to it, and to @b alone. */
void qernic_crowd(QErnic *a, QErnic *b);
/* Sends a datagram to @b while its machine is stopped; @b receives it afterwards. */
void qernic_stopped(QErnic *a, QErnic *b);
/* Sends a datagram and waits for the completion of the send request. */
void qernic_datagram(QErnicQp *from, const QErnicQp *to);

#endif /* QTEST_ERNIC_H */
