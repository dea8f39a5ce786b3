/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues. An event is a bit of its object, and the object waits in a backlog
 * until the event queue has room: no event is lost, and none is written twice.
 */
#ifndef ERNIC_OBJECTS_EQ_H
#define ERNIC_OBJECTS_EQ_H

#include "base/device.h"
#include "objects/buf.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicEq {
    bool used;
    uint32_t uctx;
    uint16_t vector;
    uint32_t depth;             /* power of two */
    uint32_t pi, ci;            /* free-running */
    uint32_t refs;              /* completion queues that use it */
    ErnicBuf buf;
    /* The backlog: objects with pending events, a ring of (class << 24) | number. */
    uint32_t *line;
    uint32_t line_size, line_head, line_count;
    bool broken;                /* guest memory did not answer */
};

uint8_t ernic_eq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_eq_create *cmd, uint32_t *eqn);
uint8_t ernic_eq_destroy(Ernic *e, uint32_t uctx, uint32_t eqn);
/* Free what @eq owns. */
void ernic_eq_fini(Ernic *e, ErnicEq *eq);
/* Allocate an empty backlog; false: no memory. */
bool ernic_eq_alloc_line(Ernic *e, ErnicEq *eq);
/* The greatest number of objects that the backlog can hold. */
uint32_t ernic_eq_line_size(const ErnicConfig *cfg);
/*
 * Raise @type on object @id of class @cls with the events @ev. @eqn 0: there is
 * no event queue, and the event is dropped. A CQ reports to its own event queue,
 * or to e->async_eq if it has none; all other objects report to e->async_eq.
 */
void ernic_event_raise(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                       ErnicEvents *ev, uint8_t type, uint32_t detail);
/*
 * Doorbell: entries up to @ci are consumed; writes events from the backlog, as many as
 * the slice permits (base/work.h), but at least one.
 */
uint8_t ernic_eq_consume(Ernic *e, uint32_t eqn, uint32_t ci);
/* Continue with the backlogs of queues that have room, until the slice ends. */
void ernic_eq_run(Ernic *e);
/* After loading: set e->eq_more. */
void ernic_eq_derive(Ernic *e);
/* The object is destroyed: drop its pending events. */
void ernic_event_forget(Ernic *e, uint32_t eqn, ErnicEvClass cls, uint32_t id,
                        ErnicEvents *ev);

#endif /* ERNIC_OBJECTS_EQ_H */
