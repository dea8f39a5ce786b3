/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues: their commands, their entries, and events of completed commands.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/events.h"
#include "interfaces/mlx5/command/lists.h"
#include "trace.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define EQE             64
#define EVENT_COMMAND   0x0a
/* log_page_size counts from pages of 4096 bytes. */
#define PAGE_SHIFT      12
#define PORT            1
/* Least number of entries; the greatest is ERNIC_MAX_EQ_DEPTH. */
#define DEPTH_MIN       2

/* The object of an event, which decides where its number is. */
typedef enum Subject { SUBJECT_CQ, SUBJECT_CQ_ERROR, SUBJECT_QP, SUBJECT_PORT } Subject;

/* MLX5_EVENT_TYPE_*, and MLX5_PORT_CHANGE_SUBTYPE_* of Linux. */
static const struct {
    bool known;
    uint8_t type, sub_type;
    Subject subject;
} events[ERNIC_EV_COUNT] = {
    [ERNIC_EV_COMPLETION] = { true, 0x00, 0, SUBJECT_CQ },
    [ERNIC_EV_CQ_ERR] = { true, 0x04, 0, SUBJECT_CQ_ERROR },
    [ERNIC_EV_QP_FATAL] = { true, 0x05, 0, SUBJECT_QP },
    [ERNIC_EV_QP_REQ_ERR] = { true, 0x10, 0, SUBJECT_QP },
    [ERNIC_EV_QP_ACCESS_ERR] = { true, 0x11, 0, SUBJECT_QP },
    [ERNIC_EV_COMM_EST] = { true, 0x02, 0, SUBJECT_QP },
    [ERNIC_EV_SQ_DRAINED] = { true, 0x03, 0, SUBJECT_QP },
    [ERNIC_EV_LAST_WQE] = { true, 0x13, 0, SUBJECT_QP },
    [ERNIC_EV_SRQ_ERR] = { true, 0x12, 0, SUBJECT_QP },
    [ERNIC_EV_SRQ_LIMIT] = { true, 0x14, 0, SUBJECT_QP },
    [ERNIC_EV_PORT_ACTIVE] = { true, 0x09, 4, SUBJECT_PORT },
    [ERNIC_EV_PORT_ERR] = { true, 0x09, 1, SUBJECT_PORT },
    [ERNIC_EV_GID_CHANGE] = { true, 0x09, 8, SUBJECT_PORT },
};

/* ---- entries ----------------------------------------------------------------------- */

static bool encode(const Ernic *e, const ErnicEq *eq, uint8_t type, uint32_t element,
                   const ErnicEvents *ev, uint8_t *entry)
{
    uint8_t *data = PART(entry, eqe.event_data);

    if (!events[type].known) {
        return false;
    }
    PUT(entry, eqe.event_type, events[type].type);
    PUT(entry, eqe.event_sub_type, events[type].sub_type);
    switch (events[type].subject) {
    case SUBJECT_CQ:
        PUT(data, eqe_comp.cqn, element);
        break;
    case SUBJECT_CQ_ERROR:
        PUT(data, eqe_cq_err.cqn, element);
        PUT(data, eqe_cq_err.syndrome, 1);      /* overrun */
        break;
    case SUBJECT_QP:
        PUT(data, eqe_qp_srq.qp_srq_n, element);
        break;
    case SUBJECT_PORT:
        PUT(data, eqe_port_state.port, PORT << 4);
        break;
    }
    return true;
}

/* The driver sets the bit in all entries before it creates the queue. */
static void set_owner(const ErnicEq *eq, uint8_t *entry)
{
    PUT(entry, eqe.owner, eq->pi / eq->depth & 1);
}

const ErnicEqOps ernic_mlx5_eqs = {
    .size = EQE, .tail = 4, .encode = encode, .own = set_owner,
};

void ernic_mlx5_report_commands(Ernic *e)
{
    ErnicMlx5 *m = e->mlx5;
    uint8_t entry[EQE] = { 0 };

    if (!m->command_eq) {
        m->completed = 0;               /* software polls */
        return;
    }
    if (!m->completed) {
        return;
    }
    PUT(entry, eqe.event_type, EVENT_COMMAND);
    PUT(PART(entry, eqe.event_data), eqe_cmd.vector, m->completed);
    if (ernic_eq_put(e, m->command_eq, entry)) {
        trace_ernic_mlx5_commands(m->command_eq, m->completed);
        m->completed = 0;
    }
}

/* ---- commands ---------------------------------------------------------------------- */

/* Events of the engine that are not in @mask; completions do not depend on it. */
static uint32_t masked(uint64_t mask)
{
    uint32_t bits = 0, i;

    for (i = 0; i < ERNIC_EV_COUNT; i++) {
        if (i != ERNIC_EV_COMPLETION &&
            (!events[i].known || !(mask >> events[i].type & 1))) {
            bits |= 1u << i;
        }
    }
    return bits;
}

/* All events but completions, which a completion queue sends to a queue by number. */
#define ASYNC   ((1u << ERNIC_EV_COUNT) - 1 - (1u << ERNIC_EV_COMPLETION))

static ErnicMlx5Refusal create_eq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *eqc = PART(r->in, create_eq_in.eq_context_entry);
    uint64_t mask = GET(r->in, create_eq_in.event_bitmask);
    ErnicEq eq = {
        .vector = GET(eqc, eqc.intr), .depth = 1u << GET(eqc, eqc.log_eq_size),
        .masked = masked(mask), .arms = true,
    };
    ErnicMlx5List list = {
        .at = BYTE(create_eq_in.pas),
        .page_shift = GET(eqc, eqc.log_page_size) + PAGE_SHIFT,
        .offset = GET(eqc, eqc.page_offset), .bytes = (uint64_t)eq.depth * EQE,
    };
    bool async = (eq.masked & ASYNC) != ASYNC, command = mask >> EVENT_COMMAND & 1;
    Ernic *e = f->engine;
    ErnicMlx5Refusal refusal;
    uint8_t status;
    uint32_t eqn;

    if (!ernic_mlx5_has_uar(f, GET(eqc, eqc.uar_page))) {
        return ERNIC_MLX5_BAD_UAR;
    }
    if (!ernic_depth_ok(eq.depth, DEPTH_MIN, ERNIC_MAX_EQ_DEPTH) ||
        eq.vector >= e->cfg.num_vectors) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if ((async && e->async_eq) || (command && e->mlx5->command_eq)) {
        return ERNIC_MLX5_BUSY;
    }
    refusal = ernic_mlx5_read_list(e, r, &list, &eq.buf);
    if (refusal) {
        return refusal;
    }
    status = ernic_eq_add(e, &eq, async, &eqn);
    if (status != ERNIC_OK) {
        return ernic_mlx5_refusal(status);
    }
    e->mlx5->command_eq = command ? eqn : e->mlx5->command_eq;
    memcpy(e->mlx5->contexts.eq[eqn], eqc, ERNIC_MLX5_EQC);
    e->mlx5->contexts.eq_events[eqn] = mask;
    PUT(r->out, create_eq_out.eq_number, eqn);
    return ERNIC_MLX5_ACCEPTED;
}

uint32_t ernic_mlx5_eq_uar(const Ernic *e, uint32_t eqn)
{
    return GET(e->mlx5->contexts.eq[eqn], eqc.uar_page);
}

static ErnicMlx5Refusal destroy_eq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t eqn = GET(r->in, destroy_eq_in.eq_number);
    uint8_t status = ernic_eq_destroy(f->engine, 0, eqn);

    if (status == ERNIC_OK && f->engine->mlx5->command_eq == eqn) {
        f->engine->mlx5->command_eq = 0;
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal query_eq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { BROKEN = 0xa, ARMED = 0x9, FIRED = 0xa };
    uint8_t *eqc = PART(r->out, query_eq_out.eq_context_entry);
    uint32_t eqn = GET(r->in, query_eq_in.eq_number);
    Ernic *e = f->engine;
    const ErnicEq *eq;

    if (eqn >= e->eq_ids.size || !e->eq[eqn].used) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    eq = &e->eq[eqn];
    memcpy(eqc, e->mlx5->contexts.eq[eqn], ERNIC_MLX5_EQC);
    PUT(eqc, eqc.status, eq->broken ? BROKEN : 0);
    PUT(eqc, eqc.st, eq->armed ? ARMED : FIRED);
    PUT(eqc, eqc.consumer_counter, eq->ci & 0xffffff);
    PUT(eqc, eqc.producer_counter, eq->pi & 0xffffff);
    PUT(r->out, query_eq_out.event_bitmask, e->mlx5->contexts.eq_events[eqn]);
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(event, .needs_engine = true,
    { 0x301, "CREATE_EQ", RUNNING, create_eq },
    { 0x302, "DESTROY_EQ", RUNNING, destroy_eq },
    { 0x303, "QUERY_EQ", RUNNING, query_eq },
);
