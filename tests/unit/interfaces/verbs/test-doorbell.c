/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells: each kind with each reason to refuse it. A refused doorbell changes
 * nothing, is counted, and raises an event.
 */
#include "qemu/osdep.h"
#include "dialog.h"

typedef struct Kind {
    const char *name;
    uint8_t kind;
    bool event;                 /* a refusal has an object that its event names */
} Kind;

static const Kind kinds[] = {
    { "sq", ERNIC_DB_SQ, true },
    { "rq", ERNIC_DB_RQ, true },
    { "srq", ERNIC_DB_SRQ, true },
    { "cq", ERNIC_DB_CQ, true },
    { "cq-arm", ERNIC_DB_CQ_ARM, true },
    { "cq-arm-solicited", ERNIC_DB_CQ_ARM_SOLICITED, true },
    { "eq", ERNIC_DB_EQ, false },
};
QEMU_BUILD_BUG_ON(ARRAY_SIZE(kinds) != ERNIC_DB_KIND_COUNT);

static uint32_t queue_of(const Dialog *d, uint8_t kind)
{
    switch (kind) {
    case ERNIC_DB_SQ:
    case ERNIC_DB_RQ:
        return d->qp.qpn;
    case ERNIC_DB_SRQ:
        return d->srq.srqn;
    case ERNIC_DB_EQ:
        return d->eq.eqn;
    default:
        return d->scq.cqn;
    }
}

/* The greatest valid index when no request has been processed yet. */
static uint32_t limit_of(uint8_t kind)
{
    return kind <= ERNIC_DB_SRQ ? 64 : 0;
}

static uint8_t ring(Dialog *d, uint32_t uctx, uint64_t value)
{
    return ernic_doorbell(d->e, d->env.now, uctx, value);
}

static uint64_t bad_doorbells(Dialog *d)
{
    const uint64_t *stats = fake_query(d->e, ERNIC_CMD_QUERY_STATS, 0, 4096);

    return le64_to_cpu(stats[offsetof(ErnicStats, bad_doorbells) / 8]);
}

static void reported(Dialog *d, uint8_t kind, uint32_t queue)
{
    struct ernic_eqe eqe = dlg_event_of(d, ERNIC_EV_BAD_DOORBELL, queue);

    IS(eqe.detail, kind);
    dlg_no_event(d);
}

/* The head of a test of a Dialog *d with each Kind *k. */
#define KIND_TEST(path, fn) \
    DIALOG_ROW_TEST(path, kinds, k, dlg_init(d, ERNIC_QPT_RC, k->kind == ERNIC_DB_SRQ); \
                    dlg_to(d, ERNIC_QPS_RTS), fn)

/* No such queue: there is no object that an event could name. */
KIND_TEST("/doorbell/no-queue", test_no_queue)
{
    static const uint32_t numbers[] = { 0, 63, 64, 65, 0xffff, 0xffffff };

    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        IS(ring(d, 0, ERNIC_DB(k->kind, numbers[i], 0)), ERNIC_ERR_HANDLE);
    }
    IS(bad_doorbells(d), ARRAY_SIZE(numbers));
}

/* A queue that belongs to another page. */
KIND_TEST("/doorbell/other-page", test_other_page)
{
    uint32_t user = fake_create_uctx(d->e);

    for (uint32_t i = 0; i < 3; i++) {
        IS(ring(d, user + i, ERNIC_DB(k->kind, queue_of(d, k->kind), 0)),
           ERNIC_ERR_HANDLE);
    }
    IS(ring(d, UINT32_MAX, ERNIC_DB(k->kind, queue_of(d, k->kind), 0)),
       ERNIC_ERR_HANDLE);
    IS(bad_doorbells(d), 4);
}

/* A counter beyond the queue's depth. */
KIND_TEST("/doorbell/beyond", test_beyond)
{
    uint32_t queue = queue_of(d, k->kind), limit = limit_of(k->kind);
    const uint32_t bad[] = { limit + 1, limit + 1000, 0x7fffffff, 0x80000000 };

    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        IS(ring(d, 0, ERNIC_DB(k->kind, queue, bad[i])), ERNIC_ERR_FULL);
        if (k->event) {
            reported(d, k->kind, queue);
        }
    }
    QUIET(d);
    dlg_no_wc(d);
    IS(bad_doorbells(d), ARRAY_SIZE(bad));
    OK(ring(d, 0, ERNIC_DB(k->kind, queue, 0)));
}

/* The queue full; a producer index that goes back is refused. */
KIND_TEST("/doorbell/full", test_full)
{
    uint32_t queue = queue_of(d, k->kind);

    /* In SQD no request starts, so the send queue does not change. */
    dlg_state(d, ERNIC_QPS_SQD);
    OK(ring(d, 0, ERNIC_DB(k->kind, queue, limit_of(k->kind))));
    OK(ring(d, 0, ERNIC_DB(k->kind, queue, limit_of(k->kind))));
    if (k->kind <= ERNIC_DB_SRQ) {
        IS(ring(d, 0, ERNIC_DB(k->kind, queue, 63)), ERNIC_ERR_FULL);
        reported(d, k->kind, queue);
    }
    fake_run(d->e);
}

/* A flood of refusals fills the event queue once, and is one event from then on. */
DIALOG_TEST("/doorbell/flood", ERNIC_QPT_RC, test_flood)
{
    uint32_t n = 0, last = 0;
    struct ernic_eqe eqe;

    for (uint32_t i = 0; i < 10000; i++) {
        ring(d, 0, ERNIC_DB(ERNIC_DB_SQ, d->qp.qpn, 65));
        ring(d, 0, ERNIC_DB(ERNIC_DB_RQ, d->qp.qpn, 65));
    }
    ernic_set_link(d->e, d->env.now, false);
    while (fake_poll_eq(d->e, &d->eq, &eqe)) {
        fake_ring_eq(d->e, &d->eq);
        last = eqe.type;
        n++;
    }
    /* The last two were pending: the doorbells' event, and that of the port. */
    IS(n, d->eq.depth + 2);
    IS(last, ERNIC_EV_PORT_ERR);
    IS(bad_doorbells(d), 20000);
}

/* Reserved bits, and kinds that do not exist. */
DIALOG_TEST("/doorbell/reserved", ERNIC_QPT_RC, test_reserved)
{
    for (uint32_t bit = 60; bit < 64; bit++) {
        IS(ring(d, 0, ERNIC_DB(ERNIC_DB_SQ, d->qp.qpn, 0) | 1ull << bit),
           ERNIC_ERR_RESERVED);
    }
    for (uint32_t kind = ERNIC_DB_KIND_COUNT; kind < 16; kind++) {
        IS(ring(d, 0, ERNIC_DB(kind, d->qp.qpn, 0)), ERNIC_ERR_RESERVED);
    }
    IS(bad_doorbells(d), 4 + 16 - ERNIC_DB_KIND_COUNT);
}

/* Doorbells that each state of each type accepts (10.3.1); RC has no SQE. */
TEST("/doorbell/states", test_states)
{
    static const struct {
        uint8_t state;
        bool sq, rq;
    } rows[] = {
        { ERNIC_QPS_RESET, false, false }, { ERNIC_QPS_INIT, false, true },
        { ERNIC_QPS_RTR, false, true }, { ERNIC_QPS_RTS, true, true },
        { ERNIC_QPS_SQD, true, true }, { ERNIC_QPS_SQE, true, true },
        { ERNIC_QPS_ERR, true, true },
    };
    Dialog d;

    for (uint32_t n = 0; n < ARRAY_SIZE(rows) * (ERNIC_QPT_GSI + 1); n++) {
        uint32_t i = n % ARRAY_SIZE(rows), type = n / ARRAY_SIZE(rows);

        if (type == ERNIC_QPT_RC && rows[i].state == ERNIC_QPS_SQE) {
            continue;
        }
        dlg_open_in(&d, type, rows[i].state);
        IS(ring(&d, 0, ERNIC_DB(ERNIC_DB_SQ, d.qp.qpn, d.qp.sq_pi)),
           rows[i].sq ? ERNIC_OK : ERNIC_ERR_STATE);
        if (!rows[i].sq) {
            reported(&d, ERNIC_DB_SQ, d.qp.qpn);
        }
        IS(ring(&d, 0, ERNIC_DB(ERNIC_DB_RQ, d.qp.qpn, 0)),
           rows[i].rq ? ERNIC_OK : ERNIC_ERR_STATE);
        if (!rows[i].rq) {
            reported(&d, ERNIC_DB_RQ, d.qp.qpn);
        }
        dlg_close(&d);
    }
}

/* With an SRQ the queue pair has no receive queue of its own. */
DIALOG_TEST_BY("/doorbell/rq-of-srq", dlg_init(d, ERNIC_QPT_RC, true), test_rq_of_srq)
{
    dlg_to(d, ERNIC_QPS_RTS);
    IS(ring(d, 0, ERNIC_DB(ERNIC_DB_RQ, d->qp.qpn, 0)), ERNIC_ERR_STATE);
    reported(d, ERNIC_DB_RQ, d->qp.qpn);
}
