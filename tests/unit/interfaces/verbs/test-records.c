/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records: requests that software posts without a doorbell for each. Which request rings
 * is in the record of a send queue; receive queues never ring.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "trace-mark.h"
#include "transport/qp.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN
#define POLL ERNIC_FLUSH_POLL_NS

/* A dialogue in @state, whose queues have records. */
static void open_in(Dialog *d, uint8_t type, bool srq, uint8_t state)
{
    g_setenv("ERNIC_FAKE_RECORDS", "1", true);
    if (state > ERNIC_QPS_RTS) {
        dlg_open_in(d, type, state);
    } else {
        dlg_init(d, type, srq);
        dlg_to(d, state);
    }
    g_unsetenv("ERNIC_FAKE_RECORDS");
    fake_run(d->e);
}

#define RECORD_TEST(path, type, srq, fn) \
    DIALOG_TEST_BY(path, open_in(d, type, srq, ERNIC_QPS_RTS), fn)

static struct ernic_record *record(Dialog *d, uint64_t at)
{
    return fake_ptr(&d->env, at, sizeof(struct ernic_record));
}

static uint32_t wake(Dialog *d)
{
    return le32_to_cpu(record(d, d->qp.sq_record)->wake);
}

static void set_pi(Dialog *d, uint64_t at, uint32_t pi)
{
    record(d, at)->pi = cpu_to_le32(pi);
}

/* A SEND of 16 bytes into the ring, and into the record; no doorbell. */
static void write_send(Dialog *d)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_SEND, ERNIC_WR_SIGNALED);
    struct ernic_sge sge = fake_sge(d->mem, 16, d->key);

    wqe.count = cpu_to_le16(1);
    fake_post_send(d->e, &d->qp, &wqe, &sge);
    set_pi(d, d->qp.sq_record, d->qp.sq_pi);
}

/* The doorbell, whose index the device ignores. */
static void ring(Dialog *d)
{
    OK(ernic_doorbell(d->e, d->env.now, 0,
                      ERNIC_DB(ERNIC_DB_SQ, d->qp.qpn, 0x12345678)));
}

static void post_send(Dialog *d)
{
    write_send(d);
    ring(d);
}

static void sent(Dialog *d, uint32_t psn)
{
    SENT_DATA(d, SEND_ONLY, psn, 0, 16, .ackreq = dlg_acks(d));
}

/* ---- send queues ----------------------------------------------------------- */

/* An idle queue asks for the doorbell of the next request, and sees no other. */
RECORD_TEST("/records/idle", ERNIC_QPT_RC, false, test_idle)
{
    IS(wake(d), 0);
    write_send(d);
    QUIET(d);
    ring(d);
    sent(d, SQ);
    IS(wake(d), 1);
    ACKED(d, SQ, 0, 1);
    IS(wake(d), 1);
}

/* Software posts between the first look and the publication: the second look sees it. */
typedef struct Race {
    Dialog *d;
    const ErnicEnvOps *ops;
    uint32_t writes;            /* of the record */
} Race;

static Race race;

static bool race_write(void *env, uint64_t addr, const void *buf, uint64_t len)
{
    bool ok = race.ops->dma_write(env, addr, buf, len);

    if (addr == race.d->qp.sq_record + 4) {
        IS(len, 4);
        if (race.writes++ == 0) {
            /* Its doorbell is lost: software had read the old wake index. */
            write_send(race.d);
        }
    }
    return ok;
}

RECORD_TEST("/records/race", ERNIC_QPT_RC, false, test_race)
{
    ErnicEnvOps ops = *d->e->ops;

    race = (Race) { .d = d, .ops = d->e->ops };
    ops.dma_write = race_write;
    d->e->ops = &ops;
    post_send(d);
    sent(d, SQ);
    sent(d, SQ + 1);
    IS(race.writes, 2);
    IS(wake(d), 2);
    d->e->ops = race.ops;
    ACKED(d, SQ + 1, 0, 2);
}

/* While the queue waits for something else it is awake, and needs no doorbell. */
RECORD_TEST("/records/blocked", ERNIC_QPT_RC, false, test_blocked)
{
    post_send(d);
    sent(d, SQ);
    PEER_NAK(d, ERNIC_AETH_RNR_NAK | 12, SQ, 0);
    post_send(d);
    QUIET(d);
    write_send(d);              /* no doorbell */
    dlg_wait(d, 700 * 1000);    /* 0.64 ms, 9.7.5.2.8 */
    sent(d, SQ);
    sent(d, SQ + 1);
    sent(d, SQ + 2);
    ACKED(d, SQ + 2, 0, 3);
}

/* In SQD nothing starts; afterwards everything that was posted does. */
RECORD_TEST("/records/sqd", ERNIC_QPT_RC, false, test_sqd)
{
    dlg_state(d, ERNIC_QPS_SQD);
    post_send(d);
    write_send(d);
    QUIET(d);
    dlg_state(d, ERNIC_QPS_RTS);
    sent(d, SQ);
    sent(d, SQ + 1);
    ACKED(d, SQ + 1, 0, 2);
}

/* In Error, requests are flushed: those that were posted, and those that ring. */
RECORD_TEST("/records/error", ERNIC_QPT_RC, false, test_error)
{
    post_send(d);
    write_send(d);
    dlg_state(d, ERNIC_QPS_ERR);
    fake_run(d->e);
    SEND_WCS(d, 0, 1, WR_FLUSH_ERR);
    IS(wake(d), 2);
    post_send(d);
    fake_run(d->e);
    SEND_WC(d, 2, WR_FLUSH_ERR);
}

/* Requests that are posted in SQE are flushed, also those that its end overtakes. */
DIALOG_TEST_BY("/records/sqe", open_in(d, ERNIC_QPT_UC, false, ERNIC_QPS_SQE), test_sqe)
{
    IS(wake(d), 1);
    post_send(d);
    fake_run(d->e);
    SEND_WC(d, 1, WR_FLUSH_ERR);
    post_send(d);
    write_send(d);
    dlg_state(d, ERNIC_QPS_RTS);
    fake_run(d->e);
    SEND_WCS(d, 2, 3, WR_FLUSH_ERR);
    IS(wake(d), 4);
    post_send(d);
    sent(d, SQ);
    SEND_WC(d, 4, SUCCESS);
}

/* Reset: software clears the record, and the device begins from 0. */
RECORD_TEST("/records/reset", ERNIC_QPT_RC, false, test_reset)
{
    post_send(d);
    sent(d, SQ);
    dlg_recv(d, DLG_SINK, 16);
    dlg_state(d, ERNIC_QPS_RESET);
    memset(record(d, d->qp.sq_record), 0, sizeof(struct ernic_record));
    memset(record(d, d->qp.rq_record), 0, sizeof(struct ernic_record));
    d->qp.sq_pi = d->qp.rq_pi = 0;
    dlg_to(d, ERNIC_QPS_RTS);
    fake_run(d->e);
    IS(wake(d), 0);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
    post_send(d);
    sent(d, SQ);
    ACKED(d, SQ, 0, 1);
}

/* More requests than the ring holds, or fewer than before: as a bad doorbell. */
RECORD_TEST("/records/send-hostile", ERNIC_QPT_RC, false, test_send_hostile)
{
    static const uint32_t bad[] = { 65, 1000, 0x7fffffff, 0x80000000, 0xffffffff };

    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        set_pi(d, d->qp.sq_record, bad[i]);
        ring(d);
        QUIET(d);
        IS(d->e->stats.bad_doorbells, i + 1);
        IS(dlg_event_of(d, ERNIC_EV_BAD_DOORBELL, d->qp.qpn).detail, ERNIC_DB_SQ);
        dlg_no_event(d);
    }
    set_pi(d, d->qp.sq_record, 0);
    post_send(d);
    sent(d, SQ);
    ACKED(d, SQ, 0, 1);
}

/* A guest that counts on and on gets its turns, and no more. */
static bool flood_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    if (addr == race.d->qp.sq_record) {
        write_send(race.d);
        race.writes++;
    }
    return race.ops->dma_read(env, addr, buf, len);
}

RECORD_TEST("/records/flood", ERNIC_QPT_UC, false, test_flood)
{
    ErnicEnvOps ops = *d->e->ops;

    race = (Race) { .d = d, .ops = d->e->ops };
    ops.dma_read = flood_read;
    d->e->ops = &ops;
    ring(d);
    ernic_run(d->e, d->env.now);
    g_assert_cmpuint(race.writes, <, 1000);
    d->e->ops = race.ops;
    dlg_drain(d);
    SEND_WCS(d, 0, d->qp.sq_pi - 1, SUCCESS);
}

/* Each access to the record fails: the queue pair ends, and says so. */
TEST("/records/send-dma", test_send_dma)
{
    for (uint32_t nth = 0; nth < 3; nth++) {
        WITH_DIALOG(d, open_in(d, ERNIC_QPT_RC, false, ERNIC_QPS_RTS)) {
            uint64_t failed = d->e->stats.fault[ERNIC_FAULT_SEND_FETCH];

            ring(d);
            fake_fail_dma(&d->env, nth + 1, false);
            fake_run(d->e);
            STATE_IS(d, ERR);
            dlg_event(d, ERNIC_EV_QP_FATAL);
            IS(d->e->stats.fault[ERNIC_FAULT_SEND_FETCH], failed + 1);
        }
    }
}

/* ---- receive queues -------------------------------------------------------- */

/* A message finds the request; without one the peer gets an RNR NAK. */
RECORD_TEST("/records/recv", ERNIC_QPT_RC, false, test_recv)
{
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
    dlg_recv_many(d, 2, DLG_SINK, 16);
    dlg_serve_send(d, RQ, 1, 0);
    dlg_recv(d, DLG_SINK, 16);
    dlg_serve_send(d, RQ + 1, 2, 1);
    dlg_serve_send(d, RQ + 2, 3, 2);
}

/* The record is read once for all requests that it announces. */
RECORD_TEST("/records/recv-reads", ERNIC_QPT_RC, false, test_recv_reads)
{
    uint64_t reads;

    dlg_recv_many(d, 8, DLG_SINK, 16);
    dlg_serve_send(d, RQ, 1, 0);
    reads = d->env.reads;
    for (uint32_t i = 1; i < 8; i++) {
        dlg_serve_send(d, RQ + i, 1 + i, i);
    }
    IS(d->env.reads - reads, 7);        /* the slots */
}

/* In Error, requests are flushed: those that were posted, and later ones by and by. */
RECORD_TEST("/records/recv-error", ERNIC_QPT_RC, false, test_recv_error)
{
    dlg_recv_many(d, 3, DLG_SINK, 16);
    dlg_state(d, ERNIC_QPS_ERR);
    fake_run(d->e);
    RECV_WCS(d, 0, 2, WR_FLUSH_ERR);
    dlg_recv(d, DLG_SINK, 16);
    dlg_no_wc(d);
    dlg_wait(d, POLL);
    RECV_WC(d, 3, WR_FLUSH_ERR);
    dlg_wait(d, 100 * POLL);
    dlg_recv(d, DLG_SINK, 16);
    dlg_wait(d, 200 * POLL);
    RECV_WC(d, 4, WR_FLUSH_ERR);
}

RECORD_TEST("/records/recv-hostile", ERNIC_QPT_RC, false, test_recv_hostile)
{
    set_pi(d, d->qp.rq_record, 65);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
    IS(d->e->stats.bad_doorbells, 1);
    IS(dlg_event_of(d, ERNIC_EV_BAD_DOORBELL, d->qp.qpn).detail, ERNIC_DB_RQ);
    set_pi(d, d->qp.rq_record, 0);
    dlg_recv(d, DLG_SINK, 16);
    dlg_serve_send(d, RQ, 1, 0);
    /* Its doorbell is accepted, and says nothing. */
    OK(ernic_doorbell(d->e, d->env.now, 0, ERNIC_DB(ERNIC_DB_RQ, d->qp.qpn, 77)));
}

RECORD_TEST("/records/recv-dma", ERNIC_QPT_RC, false, test_recv_dma)
{
    fake_fail_dma(&d->env, 1, false);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_NAK | ERNIC_NAK_REM_OP, RQ, 0);
    STATE_IS(d, ERR);
    dlg_event(d, ERNIC_EV_QP_FATAL);
    IS(d->e->stats.fault[ERNIC_FAULT_RECV_DMA], 1);
}

/* ---- shared receive queues ------------------------------------------------- */

static uint8_t modify(Dialog *d, uint32_t limit, uint32_t depth, uint64_t ring)
{
    return CMD(d->e, SRQ_MODIFY, cmd.srq.handle = cpu_to_le32(d->srq.srqn);
               cmd.srq.limit = cpu_to_le32(limit); cmd.srq.depth = cpu_to_le32(depth);
               cmd.srq.buf.addr = cpu_to_le64(ring));
}

/* The limit counts requests that the record announces, also those not looked at yet. */
RECORD_TEST("/records/srq-limit", ERNIC_QPT_RC, true, test_srq_limit)
{
    dlg_recv_many(d, 3, DLG_SINK, 16);
    OK(modify(d, 3, 0, 0));
    dlg_no_event(d);
    dlg_recv(d, DLG_SINK, 16);
    dlg_serve_send(d, RQ, 1, 0);
    dlg_no_event(d);
    dlg_serve_send(d, RQ + 1, 2, 1);
    dlg_event_of(d, ERNIC_EV_SRQ_LIMIT, d->srq.srqn);
}

/* A resize counts them as well. */
RECORD_TEST("/records/srq-resize", ERNIC_QPT_RC, true, test_srq_resize)
{
    uint64_t small = fake_alloc(&d->env, 4 * d->srq.stride, 4096);

    dlg_recv_many(d, 5, DLG_SINK, 16);
    IS(modify(d, 0, 4, small), ERNIC_ERR_PARAM);
    dlg_serve_send(d, RQ, 1, 0);
    for (uint32_t i = 1; i < 5; i++) {
        memcpy(fake_ptr(&d->env, small + i % 4 * d->srq.stride, d->srq.stride),
               fake_ptr(&d->env, d->srq.buf + i * d->srq.stride, d->srq.stride),
               d->srq.stride);
    }
    OK(modify(d, 0, 4, small));
    for (uint32_t i = 1; i < 5; i++) {
        dlg_serve_send(d, RQ + i, 1 + i, i);
    }
}

RECORD_TEST("/records/srq-hostile", ERNIC_QPT_RC, true, test_srq_hostile)
{
    set_pi(d, d->srq.record, 65);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
    IS(dlg_event_of(d, ERNIC_EV_BAD_DOORBELL, d->srq.srqn).detail, ERNIC_DB_SRQ);
    OK(ernic_doorbell(d->e, d->env.now, 0, ERNIC_DB(ERNIC_DB_SRQ, d->srq.srqn, 99)));
}

RECORD_TEST("/records/srq-dma", ERNIC_QPT_RC, true, test_srq_dma)
{
    fake_fail_dma(&d->env, 1, false);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_AETH_NAK | ERNIC_NAK_REM_OP, RQ, 0);
    STATE_IS(d, ERR);
    dlg_event_of(d, ERNIC_EV_SRQ_ERR, d->srq.srqn);
    dlg_event(d, ERNIC_EV_QP_FATAL);
    dlg_event(d, ERNIC_EV_LAST_WQE);
}

/* ---- saving ---------------------------------------------------------------- */

/* Records that are ahead of the device, and a queue that waits for its doorbell. */
RECORD_TEST("/records/save", ERNIC_QPT_RC, false, test_save)
{
    post_send(d);
    write_send(d);
    dlg_recv_many(d, 2, DLG_SINK, 16);
    RELOAD(d->e, d->env.now);
    sent(d, SQ);
    sent(d, SQ + 1);
    dlg_serve_send(d, RQ, 1, 0);
    g_assert_true(d->e->qp[d->qp.qpn].sq.asleep);
    RELOAD(d->e, d->env.now);
    g_assert_true(d->e->qp[d->qp.qpn].sq.asleep);
    dlg_serve_send(d, RQ + 1, 2, 1);
    ACKED(d, SQ + 1, 0, 2);
    write_send(d);
    QUIET(d);
    ring(d);
    sent(d, SQ + 2);
    PEER_ACK(d, SQ + 2, 3);
    SEND_WC(d, 2, SUCCESS);
}

/* A queue that is saved while the environment polls asks for its doorbell afterwards. */
RECORD_TEST("/records/save-polled", ERNIC_QPT_RC, false, test_save_polled)
{
    ernic_poll(d->e, d->env.now, true);
    post_send(d);
    sent(d, SQ);
    ACKED(d, SQ, 0, 1);
    IS(wake(d), 0);
    RELOAD(d->e, d->env.now);
    ernic_pages_rung(d->e, d->env.now);
    fake_run(d->e);
    IS(wake(d), 1);
    write_send(d);
    QUIET(d);
    ring(d);
    sent(d, SQ + 1);
}

/* ---- commands -------------------------------------------------------------- */

/* All of @init is in memory; the command says that it has @len bytes. */
static uint8_t create(Dialog *d, struct ernic_qp_init *init, uint32_t len)
{
    memcpy(fake_ptr(&d->env, d->env.base, sizeof(*init)), init, sizeof(*init));
    return fake_pass(d->e, ERNIC_CMD_QP_CREATE, 0, init, len, NULL);
}

static struct ernic_qp_init init_of(const Dialog *d, uint8_t type)
{
    struct ernic_qp_init init = {
        .sq_buf.addr = cpu_to_le64(d->mem), .rq_buf.addr = cpu_to_le64(d->mem),
        .pd = cpu_to_le32(d->pd), .send_cq = cpu_to_le32(d->scq.cqn),
        .recv_cq = cpu_to_le32(d->rcq.cqn), .srq = cpu_to_le32(FAKE_NONE),
        .sq_depth = cpu_to_le32(4), .rq_depth = cpu_to_le32(4), .type = type,
        .sq_stride = 1, .rq_stride = 1,
    };

    return init;
}

/* The structure may end before the records; addresses are multiples of 8. */
DIALOG_TEST("/records/create", ERNIC_QPT_RC, test_create)
{
    struct ernic_qp_init init = init_of(d, ERNIC_QPT_RC);

    IS(create(d, &init, 63), ERNIC_ERR_PARAM);
    OK(create(d, &init, 64));
    OK(create(d, &init, 72));
    OK(create(d, &init, 80));
    init.sq_record = cpu_to_le64(d->mem + 64);
    init.rq_record = cpu_to_le64(d->mem + 72);
    OK(create(d, &init, 64));   /* without them */
    OK(create(d, &init, 80));
    init.sq_record = cpu_to_le64(d->mem + 68);
    IS(create(d, &init, 80), ERNIC_ERR_PARAM);
    init.sq_record = 0;
    init.rq_record = cpu_to_le64(d->mem + 1);
    IS(create(d, &init, 80), ERNIC_ERR_PARAM);
    /* Without a receive queue there is no record for one. */
    init = init_of(d, ERNIC_QPT_XRC_INI);
    init.recv_cq = init.rq_depth = 0;
    init.rq_stride = 0;
    memset(&init.rq_buf, 0, sizeof(init.rq_buf));
    OK(create(d, &init, 80));
    init.rq_record = cpu_to_le64(d->mem);
    IS(create(d, &init, 80), ERNIC_ERR_RESERVED);
}

DIALOG_TEST("/records/create-srq", ERNIC_QPT_RC, test_create_srq)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_CREATE };

    cmd.srq.buf.addr = cpu_to_le64(d->mem);
    cmd.srq.pd = cpu_to_le32(d->pd);
    cmd.srq.depth = cpu_to_le32(4);
    cmd.srq.stride = cpu_to_le16(1);
    cmd.srq.record = cpu_to_le64(d->mem + 64);
    OK(fake_cmd(d->e, &cmd, NULL));
    cmd.srq.record = cpu_to_le64(d->mem + 60);
    IS(fake_cmd(d->e, &cmd, NULL), ERNIC_ERR_PARAM);
    cmd.srq.record = 0;
    cmd.srq.reserved1[2] = 1;
    IS(fake_cmd(d->e, &cmd, NULL), ERNIC_ERR_RESERVED);
}
