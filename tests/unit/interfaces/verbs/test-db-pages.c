/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells without a value: which pages may have them, and what is found in the records
 * of their send queues.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "dialog.h"
#include "page_events.h"
#include "transport/qp.h"

#define MOST        ERNIC_DB_PAGE_QUEUES
#define LEN         16

/* The objects of a context. */
typedef struct Owner {
    uint32_t uctx, pd, key;
    FakeCq cq;
    uint64_t mem;
} Owner;

typedef struct Pages {
    FakeEnv env;
    Ernic *e;
    Owner kernel;
} Pages;

static void own(Pages *p, Owner *o, uint32_t uctx)
{
    p->env.uctx = o->uctx = uctx;
    fake_create_cq(p->e, &o->cq, 256, FAKE_NONE);
    o->pd = fake_create_pd(p->e);
    o->mem = fake_alloc(&p->env, 4096, 4096);
    o->key = fake_reg_mr(p->e, o->pd, o->mem, 4096, ERNIC_ACCESS_LOCAL_WRITE);
    p->env.uctx = 0;
}

static void begin(Pages *p)
{
    memset(p, 0, sizeof(*p));
    p->e = fake_ernic_new(&p->env);
    listen_pages(p->e);
    fake_use_records(p->e, true);
    own(p, &p->kernel, 0);
}

static void end(Pages *p)
{
    fake_ernic_done(&p->env, p->e);
    IS(g_hash_table_size(pages), 0);
}

#define PAGES_TEST(path, fn) WORLD_TEST(path, fn, Pages, p, begin(p), end(p))

/* A queue pair of UC in RTS, to a peer that does not exist. */
static void make_qp(Pages *p, const Owner *o, FakeQp *qp)
{
    p->env.uctx = o->uctx;
    fake_create_qp(p->e, qp, ERNIC_QPT_UC, o->pd, o->cq.cqn, o->cq.cqn, FAKE_NONE);
    fake_connect(p->e, qp, 0x775533, 2);
    p->env.uctx = 0;
    fake_run(p->e);
}

static struct ernic_record *record(Pages *p, const FakeQp *qp)
{
    return fake_ptr(&p->env, qp->sq_record, sizeof(struct ernic_record));
}

/* A SEND, announced by the record and not rung. */
static void announce(Pages *p, const Owner *o, FakeQp *qp)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND, .flags = ERNIC_WR_SIGNALED, .count = cpu_to_le16(1),
    };
    struct ernic_sge sge = fake_sge(o->mem, LEN, o->key);

    fake_post_send(p->e, qp, &wqe, &sge);
    record(p, qp)->pi = cpu_to_le32(qp->sq_pi);
}

/* Runs of the engine; the number of packets that it sends. */
static uint32_t sent(Pages *p)
{
    uint32_t before = p->env.trains->len;

    fake_run(p->e);
    return p->env.trains->len - before;
}

static uint32_t rung(Pages *p, uint32_t page)
{
    ernic_slice(p->e);
    ernic_page_rung(p->e, p->env.now, page);
    return sent(p);
}

static void destroy(Pages *p, uint8_t opcode, uint32_t uctx, uint32_t handle)
{
    p->env.uctx = uctx;
    OK(fake_destroy(p->e, opcode, handle));
    p->env.uctx = 0;
}

/* Sixteen queues of a page are all found; with one more the page has no event. */
PAGES_TEST("/verbs/db-pages/threshold", test_threshold)
{
    FakeQp qp[MOST + 1], other;
    Owner user;

    for (uint32_t i = 0; i < MOST; i++) {
        make_qp(p, &p->kernel, &qp[i]);
        g_assert_true(has_event(0));
    }
    for (uint32_t i = 0; i < MOST; i++) {
        announce(p, &p->kernel, &qp[i]);
        IS(sent(p), 0);
        IS(rung(p, 0), 1);
        IS(rung(p, 0), 0);
        IS(record(p, &qp[i])->wake, cpu_to_le32(1));
    }
    make_qp(p, &p->kernel, &qp[MOST]);
    g_assert_false(has_event(0));
    own(p, &user, fake_create_uctx(p->e));
    make_qp(p, &user, &other);
    /* An event that is still there may ring: all queues are looked at. */
    for (uint32_t i = 0; i <= MOST; i++) {
        announce(p, &p->kernel, &qp[i]);
    }
    IS(rung(p, 0), MOST + 1);
    for (uint32_t i = 0; i <= MOST; i++) {
        announce(p, &p->kernel, &qp[i]);
    }
    ernic_page_settle(p->e, p->env.now, 0);
    g_assert_false(ernic_db_pages_have_work(p->e));
    IS(sent(p), MOST + 1);
    /* With half as many, it has an event again, and is found by it. */
    for (uint32_t i = 0; i <= MOST; i++) {
        g_assert_true(has_event(0) == (MOST + 1 - i <= MOST / 2));
        for (uint32_t n = i; has_event(0) && n <= MOST; n++) {
            announce(p, &p->kernel, &qp[n]);
            IS(rung(p, 0), 1);
        }
        destroy(p, ERNIC_CMD_QP_DESTROY, 0, qp[i].qpn);
    }
    g_assert_true(has_event(0));
    make_qp(p, &p->kernel, &qp[0]);
    announce(p, &p->kernel, &qp[0]);
    IS(rung(p, 0), 1);
    IS(p->e->stats.bad_doorbells, 0);
}

/* A page is that of a context, from its first queue on until the context ends. */
PAGES_TEST("/verbs/db-pages/contexts", test_contexts)
{
    uint32_t uctx = fake_create_uctx(p->e);
    FakeQp ours, theirs, plain;
    Owner o;

    own(p, &o, uctx);
    fake_use_records(p->e, false);
    make_qp(p, &o, &plain);
    IS(g_hash_table_size(pages), 0);
    fake_use_records(p->e, true);
    make_qp(p, &p->kernel, &ours);
    IS(g_hash_table_size(pages), 1);
    make_qp(p, &o, &theirs);
    g_assert_true(has_event(uctx));
    announce(p, &p->kernel, &ours);
    announce(p, &o, &theirs);
    IS(rung(p, uctx + 1), 0);
    IS(rung(p, uctx), 1);
    IS(record(p, &theirs)->wake, cpu_to_le32(1));
    IS(record(p, &ours)->wake, 0);
    IS(rung(p, uctx), 0);
    /* Doorbells that nobody has seen yet, of any page. */
    ernic_page_settle(p->e, p->env.now, uctx);
    ernic_page_settle(p->e, p->env.now, uctx + 1);
    ernic_page_settle(p->e, p->env.now, ERNIC_DB_PAGES);
    ernic_page_settle(p->e, p->env.now, UINT32_MAX);
    IS(sent(p), 0);
    ernic_page_settle(p->e, p->env.now, 0);
    IS(sent(p), 1);
    destroy(p, ERNIC_CMD_QP_DESTROY, uctx, theirs.qpn);
    destroy(p, ERNIC_CMD_QP_DESTROY, uctx, plain.qpn);
    g_assert_true(has_event(uctx));
    IS(rung(p, uctx), 0);
    destroy(p, ERNIC_CMD_MR_FREE, uctx, o.key);
    destroy(p, ERNIC_CMD_CQ_DESTROY, uctx, o.cq.cqn);
    destroy(p, ERNIC_CMD_PD_FREE, uctx, o.pd);
    destroy(p, ERNIC_CMD_UCTX_FREE, 0, uctx);
    g_assert_false(has_event(uctx));
    IS(rung(p, uctx), 0);
}

/* ---- polling ------------------------------------------------------------------ */

#define WATCHED     ERNIC_DB_WATCHED

static uint32_t polled(Pages *p, bool on)
{
    ernic_slice(p->e);
    ernic_poll(p->e, p->env.now, on);
    return sent(p);
}

static uint32_t watched(Pages *p)
{
    return p->e->db_pages->num_watched;
}

/* Eight queues need no doorbell, and do not ask for one before polling has ended. */
PAGES_TEST("/verbs/db-pages/polled", test_polled)
{
    FakeQp qp[WATCHED + 1];

    IS(polled(p, true), 0);
    for (uint32_t i = 0; i <= WATCHED; i++) {
        make_qp(p, &p->kernel, &qp[i]);
    }
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < WATCHED; i++) {
            announce(p, &p->kernel, &qp[i]);
        }
        IS(sent(p), 0);
        IS(polled(p, true), WATCHED);
        IS(polled(p, true), 0);
        for (uint32_t i = 0; i < WATCHED; i++) {
            IS(record(p, &qp[i])->wake, 0);
        }
    }
    /* The ninth asks. */
    announce(p, &p->kernel, &qp[WATCHED]);
    IS(polled(p, true), 0);
    IS(rung(p, 0), 1);
    IS(record(p, &qp[WATCHED])->wake, cpu_to_le32(1));
    announce(p, &p->kernel, &qp[0]);
    IS(polled(p, false), 1);
    IS(watched(p), 0);
    for (uint32_t i = 0; i < WATCHED; i++) {
        IS(record(p, &qp[i])->wake, cpu_to_le32(3 + !i));
        announce(p, &p->kernel, &qp[i]);
    }
    IS(polled(p, true), 0);
    IS(rung(p, 0), WATCHED);
}

/* A doorbell that software rings nevertheless changes nothing. */
PAGES_TEST("/verbs/db-pages/polled-rung", test_polled_rung)
{
    FakeQp qp;

    IS(polled(p, true), 0);
    make_qp(p, &p->kernel, &qp);
    for (uint32_t i = 0; i < 2 * WATCHED; i++) {
        announce(p, &p->kernel, &qp);
        IS(rung(p, 0), 1);
        IS(polled(p, true), 0);
    }
    announce(p, &p->kernel, &qp);
    IS(polled(p, true), 1);
    IS(record(p, &qp)->wake, 0);
}

/* Without access to memory nothing is read, and nothing is lost. */
PAGES_TEST("/verbs/db-pages/polled-held", test_polled_held)
{
    FakeQp qp;

    for (uint32_t last = 0; last < 2; last++) {
        IS(polled(p, true), 0);
        make_qp(p, &p->kernel, &qp);
        ernic_pages_hold(p->e, p->env.now, true);
        announce(p, &p->kernel, &qp);
        IS(polled(p, true), 0);
        IS(polled(p, last), 0);
        IS(p->e->qp[qp.qpn].state, ERNIC_QPS_RTS);
        ernic_pages_hold(p->e, p->env.now, false);
        IS(last ? polled(p, true) : sent(p), 1);
        IS(record(p, &qp)->wake, last ? 0 : cpu_to_le32(1));
        IS(polled(p, false), 0);
        IS(record(p, &qp)->wake, cpu_to_le32(1));
    }
}

/* Queues that are destroyed, or go to Reset, and all after a reset. */
PAGES_TEST("/verbs/db-pages/polled-gone", test_polled_gone)
{
    FakeQp qp[3];

    IS(polled(p, true), 0);
    for (uint32_t i = 0; i < 3; i++) {
        make_qp(p, &p->kernel, &qp[i]);
        IS(watched(p), i + 1);
    }
    destroy(p, ERNIC_CMD_QP_DESTROY, 0, qp[0].qpn);
    OK(fake_modify_qp(p->e, qp[1].qpn, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL));
    announce(p, &p->kernel, &qp[1]);
    announce(p, &p->kernel, &qp[2]);
    IS(polled(p, true), 1);
    destroy(p, ERNIC_CMD_QP_DESTROY, 0, qp[2].qpn);
    IS(polled(p, true), 0);
    IS(watched(p), 0);
    make_qp(p, &p->kernel, &qp[0]);
    IS(watched(p), 1);
    ernic_reset(p->e);
    IS(polled(p, true), 0);
    IS(watched(p), 0);
}

/* An invalid index is reported once; a queue in Error flushes what is announced. */
PAGES_TEST("/verbs/db-pages/polled-bad", test_polled_bad)
{
    struct ernic_cqe cqe;
    FakeQp qp, err;

    IS(polled(p, true), 0);
    make_qp(p, &p->kernel, &qp);
    make_qp(p, &p->kernel, &err);
    OK(fake_modify_qp(p->e, err.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    fake_run(p->e);
    announce(p, &p->kernel, &err);
    record(p, &qp)->pi = cpu_to_le32(UINT32_MAX);
    for (uint32_t i = 0; i < 3; i++) {
        IS(polled(p, true), 0);
        IS(p->e->stats.bad_doorbells, 1);
    }
    g_assert_true(fake_poll_cq(p->e, &p->kernel.cq, &cqe));
    IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
    g_assert_false(fake_poll_cq(p->e, &p->kernel.cq, &cqe));
}

/* A reset takes the events away, and so does the end of the engine. */
PAGES_TEST("/verbs/db-pages/reset", test_reset)
{
    FakeQp qp;

    make_qp(p, &p->kernel, &qp);
    announce(p, &p->kernel, &qp);
    g_assert_true(has_event(0));
    ernic_reset(p->e);
    g_assert_false(has_event(0));
    IS(rung(p, 0), 0);
    ernic_pages_rung(p->e, p->env.now);
    IS(sent(p), 0);
    ernic_set_link(p->e, p->env.now, true);
    fake_set_gid(p->e, 0, 1);
    own(p, &p->kernel, 0);
    make_qp(p, &p->kernel, &qp);
    announce(p, &p->kernel, &qp);
    IS(rung(p, 0), 1);
}

/* A queue in Reset is not looked at: software may not have cleared its record yet. */
PAGES_TEST("/verbs/db-pages/stale", test_stale)
{
    FakeQp qp, other;

    make_qp(p, &p->kernel, &qp);
    make_qp(p, &p->kernel, &other);
    announce(p, &p->kernel, &qp);
    IS(rung(p, 0), 1);
    OK(fake_modify_qp(p->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL));
    announce(p, &p->kernel, &other);
    IS(rung(p, 0), 1);
    *record(p, &qp) = (struct ernic_record) { };
    qp.sq_pi = 0;
    fake_connect(p->e, &qp, 0x775533, 2);
    IS(sent(p), 0);
    announce(p, &p->kernel, &qp);
    IS(rung(p, 0), 1);
}

/*
 * In SQE, requests are flushed whose doorbell is an event on its way when software leaves
 * the state; the queue asks for the doorbells of later ones.
 */
PAGES_TEST("/verbs/db-pages/sqe", test_sqe)
{
    struct ernic_cqe cqe;
    uint32_t pi;
    FakeQp qp;

    make_qp(p, &p->kernel, &qp);
    p->kernel.key ^= 1;
    announce(p, &p->kernel, &qp);
    p->kernel.key ^= 1;
    IS(rung(p, 0), 0);
    IS(p->e->qp[qp.qpn].state, ERNIC_QPS_SQE);
    IS(fake_poll_cq(p->e, &p->kernel.cq, &cqe), true);
    announce(p, &p->kernel, &qp);
    /* A command that fails changes nothing, and so looks at nothing. */
    pi = p->e->qp[qp.qpn].sq.wq.pi;
    IS(fake_modify_qp(p->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RTR, NULL),
       ERNIC_ERR_STATE);
    IS(p->e->qp[qp.qpn].sq.wq.pi, pi);
    OK(fake_modify_qp(p->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RTS, NULL));
    IS(sent(p), 0);
    IS(fake_poll_cq(p->e, &p->kernel.cq, &cqe), true);
    IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
    IS(record(p, &qp)->wake, cpu_to_le32(2));
    IS(rung(p, 0), 0);
    announce(p, &p->kernel, &qp);
    IS(sent(p), 0);
    IS(rung(p, 0), 1);
}

/* Records that are not valid count as doorbells that are not; the others are taken. */
PAGES_TEST("/verbs/db-pages/hostile", test_hostile)
{
    FakeQp qp[2];

    make_qp(p, &p->kernel, &qp[0]);
    make_qp(p, &p->kernel, &qp[1]);
    record(p, &qp[0])->pi = cpu_to_le32(65);
    announce(p, &p->kernel, &qp[1]);
    IS(rung(p, 0), 1);
    IS(p->e->stats.bad_doorbells, 1);
    IS(rung(p, 0), 0);
    IS(p->e->stats.bad_doorbells, 2);
    record(p, &qp[0])->pi = 0;
    IS(rung(p, 0), 0);
    announce(p, &p->kernel, &qp[1]);
    ernic_slice(p->e);
    fake_fail_dma(&p->env, 1, true);            /* of all records, for good */
    ernic_page_rung(p->e, p->env.now, 0);
    fake_run(p->e);
    IS(p->e->qp[qp[0].qpn].state, ERNIC_QPS_ERR);
    IS(p->e->qp[qp[1].qpn].state, ERNIC_QPS_ERR);
    fake_fail_dma(&p->env, 0, false);
}

/* After a load, or a stop, all queues are looked at, whatever their number. */
PAGES_TEST("/verbs/db-pages/all", test_all)
{
    FakeQp qp[40];
    uint32_t slices;

    ernic_pages_rung(p->e, p->env.now);
    g_assert_false(ernic_db_pages_have_work(p->e));
    for (uint32_t i = 0; i < ARRAY_SIZE(qp); i++) {
        make_qp(p, &p->kernel, &qp[i]);
        announce(p, &p->kernel, &qp[i]);
    }
    RELOAD(p->e, p->env.now);
    IS(sent(p), 0);
    ernic_slice(p->e);
    ernic_charge(p->e, ERNIC_WORK_SLICE);
    ernic_pages_rung(p->e, p->env.now);
    IS(p->env.wake, p->env.now);
    /* It stops when the slice ends. */
    for (slices = 0; ernic_db_pages_have_work(p->e); slices++) {
        g_assert_cmpuint(slices, <, 100);
        ernic_slice(p->e);
        ernic_charge(p->e, ERNIC_WORK_SLICE - 50);
        ernic_db_pages_run(p->e);
        g_assert_cmpuint(p->e->work.done, <, p->e->work.end + 16);
    }
    g_assert_cmpuint(slices, >, 2);
    IS(sent(p), ARRAY_SIZE(qp));
    /* Asked for again in the middle: the first queue is found even so. */
    ernic_pages_rung(p->e, p->env.now);
    ernic_slice(p->e);
    ernic_charge(p->e, ERNIC_WORK_SLICE - 50);
    ernic_db_pages_run(p->e);
    announce(p, &p->kernel, &qp[0]);
    ernic_pages_rung(p->e, p->env.now);
    IS(sent(p), 1);
}

/* Without access to memory, an idle queue is left alone; what was rung is seen later. */
PAGES_TEST("/verbs/db-pages/hold", test_hold)
{
    FakeQp qp[2];

    make_qp(p, &p->kernel, &qp[0]);
    make_qp(p, &p->kernel, &qp[1]);
    ernic_pages_hold(p->e, p->env.now, true);
    announce(p, &p->kernel, &qp[0]);
    fake_fail_dma(&p->env, 1, true);
    IS(rung(p, 0), 0);
    ernic_pages_rung(p->e, p->env.now);
    g_assert_false(ernic_db_pages_have_work(p->e));
    IS(sent(p), 0);
    fake_fail_dma(&p->env, 0, false);
    IS(p->e->qp[qp[0].qpn].state, ERNIC_QPS_RTS);
    IS(p->e->qp[qp[1].qpn].state, ERNIC_QPS_RTS);
    ernic_pages_hold(p->e, p->env.now, false);
    IS(p->env.wake, p->env.now);
    IS(sent(p), 1);
    /* The walk stops where it is. */
    announce(p, &p->kernel, &qp[1]);
    ernic_pages_rung(p->e, p->env.now);
    ernic_pages_hold(p->e, p->env.now, true);
    IS(sent(p), 0);
    ernic_pages_hold(p->e, p->env.now, false);
    IS(sent(p), 1);
}

/* A page of many rings costs little more than the slice, however often it is rung. */
PAGES_TEST("/verbs/db-pages/charged", test_charged)
{
    FakeQp qp[MOST];
    uint64_t done;

    for (uint32_t i = 0; i < MOST; i++) {
        make_qp(p, &p->kernel, &qp[i]);
    }
    ernic_slice(p->e);
    done = p->e->work.done;
    ernic_page_rung(p->e, p->env.now, 0);
    IS(p->e->work.done - done, ERNIC_WORK_DOORBELL + MOST * (1 + ERNIC_WORK_ACCESS));
    fake_run(p->e);
}
