/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues. An event is a bit on the object it concerns, which waits in
 * line until its queue has room: none is lost, none is written twice.
 */
#ifndef ERNIC_EQ_H
#define ERNIC_EQ_H

#include "base/device.h"
#include "objects/buf.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicEq {
    bool used;
    uint32_t uctx;
    uint16_t vector;
    uint32_t depth;             /* power of two */
    uint32_t pi, ci;            /* free-running */
    uint32_t refs;              /* completion queues that report here */
    ErnicBuf buf;
    /* Objects with pending events, a ring of (class << 24) | number. */
    uint32_t *line;
    uint32_t line_size, line_head, line_count;
    bool broken;                /* guest memory did not answer */
};

uint8_t ernic_eq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_eq_create *cmd, uint32_t *eqn);
uint8_t ernic_eq_destroy(Ernic *e, uint32_t uctx, uint32_t eqn);
/* Objects that could ever stand in line. */
uint32_t ernic_eq_line_size(const ErnicConfig *cfg);
/*
 * Raise @type on object @id of class @cls, whose events @ev are; @eqn 0: there
 * is no event queue and the event is dropped. CQs tell their own event queue
 * (the asynchronous one if they have none), all others e->async_eq.
 */
void ernic_event_raise(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                       ErnicEvents *ev, uint8_t type, uint32_t detail);
/* Doorbell: entries up to @ci are consumed; writes what waited. */
uint8_t ernic_eq_consume(Ernic *e, uint32_t eqn, uint32_t ci);
/* An object goes away: its pending events with it. */
void ernic_event_forget(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                        ErnicEvents *ev);

#endif /* ERNIC_EQ_H */
