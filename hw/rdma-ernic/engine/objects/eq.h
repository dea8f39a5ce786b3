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
    uint32_t masked;            /* events that are dropped: bit per enum ernic_event */
    /* Software arms the queue for one interrupt; else each event interrupts. */
    bool arms, armed;
};

/* The entries of an interface's event queues. */
struct ErnicEqOps {
    uint32_t size;              /* bytes of an entry, at most ERNIC_EQE_MAX */
    uint32_t tail;              /* bytes at its end that are written after the rest */
    /*
     * Encode entry eq->pi for event @type of object @element; @ev is the object's.
     * @entry is 0. False: software does not know this event, and it is dropped.
     */
    bool (*encode)(const Ernic *e, const ErnicEq *eq, uint8_t type, uint32_t element,
                   const ErnicEvents *ev, uint8_t *entry);
    /* Mark @entry as entry eq->pi: its phase, or owner. */
    void (*own)(const ErnicEq *eq, uint8_t *entry);
};

#define ERNIC_EQE_MAX   64

/* The methods for struct ernic_eqe. */
extern const ErnicEqOps ernic_eqs_verbs;

uint8_t ernic_eq_create(Ernic *e, uint32_t uctx,
                        const struct ernic_cmd_eq_create *cmd, uint32_t *eqn);
/*
 * Add an event queue with the properties of @fresh, whose buffer it owns from now on.
 * @async: it receives all events but those of completion queues that have another one;
 * there is none yet. ERNIC_ERR_NO_RESOURCE: all numbers or the memory are used, and the
 * pages of the buffer are free.
 */
uint8_t ernic_eq_add(Ernic *e, const ErnicEq *fresh, bool async, uint32_t *eqn);
/*
 * Write an entry that is not an object's event; its owner is filled in. False: there is
 * no room, or the queue is broken.
 */
bool ernic_eq_put(Ernic *e, uint32_t eqn, uint8_t *entry);
/* Interrupt as soon as there is an entry that is not consumed: now, or once later. */
void ernic_eq_arm(Ernic *e, uint32_t eqn);
uint8_t ernic_eq_destroy(Ernic *e, uint32_t uctx, uint32_t eqn);
/* Free what @eq owns. */
void ernic_eq_fini(Ernic *e, ErnicEq *eq);
/* Allocate an empty backlog; false: no memory. */
bool ernic_eq_alloc_line(Ernic *e, ErnicEq *eq);
/* The greatest number of objects that the backlog can hold. */
uint32_t ernic_eq_line_size(const ErnicConfig *cfg);
/*
 * Raise @type on object @id of class @cls with the events @ev. @eqn 0: there is
 * no event queue, and the event is dropped. A CQ reports to ernic_cq_event_queue();
 * all other objects report to e->async_eq.
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
