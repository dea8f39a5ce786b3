/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queues of the mlx5 interface: two engines with this interface, whose software
 * writes requests and reads completions by the layouts.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/rdma/cqe.h"
#include "mlx5_objects.h"
#include "mlx5_queues.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "transport/qp_modify.h"
#include "transport/qp_state.h"

/* Opcodes and syndromes of completion entries (MLX5_CQE_*). */
enum {
    REQ = 0, RESP_WRITE_IMM, RESP_SEND, RESP_SEND_IMM, RESP_SEND_INV, RESIZE,
    REQ_ERR = 13, RESP_ERR = 14,
};
enum {
    LOCAL_LENGTH = 0x01, LOCAL_QP_OP = 0x02, LOCAL_PROT = 0x04, FLUSHED = 0x05,
    MW_BIND = 0x06, REMOTE_ACCESS = 0x13,
};
#define ALWAYS  ERNIC_MLX5_CE_ALWAYS
#define NSEC    1000000000ull

static void post(Mlx5Pair *p, Mlx5Wr *wr)
{
    mlx5_post_wr(&p->a, &p->aq, wr);
    mlx5_exchange(&p->a, &p->b);
}

/* A SEND of inline bytes. */
static void send(Mlx5Pair *p, const void *bytes, uint32_t len)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
    mlx5_inline(&wr, bytes, len);
    post(p, &wr);
}

static uint8_t *mem(Mlx5End *end, uint32_t off, uint32_t len)
{
    return fake_ptr(&end->env, end->mem + off, len);
}

static void fill(Mlx5End *end, uint32_t off, uint32_t len, uint8_t first)
{
    for (uint32_t i = 0; i < len; i++) {
        mem(end, off, len)[i] = first + i;
    }
}

static void assert_same(Mlx5Pair *p, uint32_t a, uint32_t b, uint32_t len)
{
    g_assert_cmpmem(mem(&p->a, a, len), len, mem(&p->b, b, len), len);
}

/* The next completion of @end is that of request @counter of @q. */
static Mlx5Cqe assert_done(Mlx5End *end, const Mlx5Queue *q, uint8_t opcode,
                           uint16_t counter)
{
    Mlx5Cqe cqe = { 0 };

    g_assert_true(mlx5_poll(end, &cqe));
    IS(cqe.opcode, opcode);
    IS(cqe.qpn, q->qpn);
    IS(cqe.index, 0x700 + q->qpn);
    IS(cqe.counter, counter);
    return cqe;
}

static void assert_error(Mlx5End *end, const Mlx5Queue *q, uint8_t opcode,
                         uint16_t counter, uint8_t syndrome)
{
    Mlx5Cqe cqe = assert_done(end, q, opcode, counter);

    IS(cqe.syndrome, syndrome);
    g_assert_cmpuint(cqe.vendor, !=, 0);
}

static const struct {
    const char *name;
    uint8_t opcode, recv;       /* recv: opcode of the receiver's entry */
    bool write;
} messages[] = {
    { "send", ERNIC_MLX5_OP_SEND, RESP_SEND, false },
    { "send-imm", ERNIC_MLX5_OP_SEND_IMM, RESP_SEND_IMM, false },
    { "write", ERNIC_MLX5_OP_WRITE, 0, true },
    { "write-imm", ERNIC_MLX5_OP_WRITE_IMM, RESP_WRITE_IMM, true },
};

/* Each message, by pointers and inline, of several packets, on RC or UC. */
static void messages_on(Mlx5Pair *p)
{
    Mlx5Wr wr;
    Mlx5Cqe cqe;
    uint32_t in, len;

    fill(&p->a, 0, 3000, 7);
    for (uint32_t i = 0; i < 2 * ARRAY_SIZE(messages); i++) {
        uint8_t opcode = messages[i / 2].opcode;
        uint16_t counter = p->aq.sq_pi;

        in = i % 2;
        len = in ? 200 : 3000;
        memset(mem(&p->b, 8192, 4096), 0, 4096);
        if (messages[i / 2].recv) {
            mlx5_post_recv(&p->b, &p->bq, p->b.mem + 8192, 4096);
        }
        mlx5_wr(&wr, opcode, ALWAYS, 0x11223344 + i);
        if (messages[i / 2].write) {
            mlx5_raddr(&wr, p->b.mem + 8192, p->b.key);
        }
        if (in) {
            mlx5_inline(&wr, mem(&p->a, 0, len), len);
        } else {
            mlx5_data(&wr, p->a.mem, 1000, p->a.key);
            mlx5_data(&wr, p->a.mem + 1000, 2000, p->a.key);
        }
        post(p, &wr);
        cqe = assert_done(&p->a, &p->aq, REQ, counter);
        IS(cqe.sent, opcode);
        assert_same(p, 0, 8192, len);
        if (messages[i / 2].recv) {
            cqe = assert_done(&p->b, &p->bq, messages[i / 2].recv, p->bq.rq_pi - 1);
            IS(cqe.bytes, len);
            IS(cqe.imm, messages[i / 2].recv == RESP_SEND ? 0 : 0x11223344 + i);
        }
    }
}

MLX5_PAIR_TEST("/mlx5-queue/messages/rc", ERNIC_QPT_RC, test_messages_rc)
{
    messages_on(p);
}

MLX5_PAIR_TEST("/mlx5-queue/messages/uc", ERNIC_QPT_UC, test_messages_uc)
{
    messages_on(p);
}

/* An atomic on byte 64 of the second end; returns what was there. */
static uint64_t atomic(Mlx5Pair *p, uint8_t opcode, uint64_t swap_add, uint64_t compare)
{
    uint16_t counter = p->aq.sq_pi;
    Mlx5Wr wr;

    mlx5_wr(&wr, opcode, ALWAYS, 0);
    mlx5_raddr(&wr, p->b.mem + 64, p->b.key);
    mlx5_atomic(&wr, swap_add, compare);
    mlx5_data(&wr, p->a.mem, 8, p->a.key);
    post(p, &wr);
    assert_done(&p->a, &p->aq, REQ, counter);
    return *(uint64_t *)mem(&p->a, 0, 8);
}

MLX5_PAIR_TEST("/mlx5-queue/atomics", ERNIC_QPT_RC, test_atomics)
{
    uint64_t *word = (uint64_t *)mem(&p->b, 64, 8);

    *word = 40;
    IS(atomic(p, ERNIC_MLX5_OP_FETCH_ADD, 2, 0), 40);
    IS(*word, 42);
    IS(atomic(p, ERNIC_MLX5_OP_CMP_SWAP, 77, 42), 42);
    IS(*word, 77);
}

MLX5_PAIR_TEST("/mlx5-queue/datagram", ERNIC_QPT_UD, test_datagram)
{
    Mlx5Wr wr;
    Mlx5Cqe cqe;

    fill(&p->a, 0, 300, 9);
    mlx5_post_recv(&p->b, &p->bq, p->b.mem, 4096);
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND_IMM, ALWAYS, 0xabcd0123);
    mlx5_av(&wr, 2, p->bq.qpn);
    mlx5_data(&wr, p->a.mem, 300, p->a.key);
    post(p, &wr);
    assert_done(&p->a, &p->aq, REQ, 0);
    cqe = assert_done(&p->b, &p->bq, RESP_SEND_IMM, 0);
    IS(cqe.bytes, 340);
    IS(cqe.imm, 0xabcd0123);
    IS(cqe.source, p->aq.qpn);
    IS(cqe.grh, 1);
    IS(cqe.l3, 2);            /* IPv4 */
    assert_same(p, 0, 40, 300);
    /* An address vector of 16 bytes has no GID. */
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
    mlx5_av(&wr, 2, p->bq.qpn);
    ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_av.extended, 0);
    mlx5_data(&wr, p->a.mem, 300, p->a.key);
    post(p, &wr);
    assert_error(&p->a, &p->aq, REQ_ERR, 2, LOCAL_QP_OP);
    IS(p->a.e->qp[p->aq.qpn].state, ERNIC_QPS_SQE);
}

/* Requests of 1 to 7 blocks pass the end of the ring at every place in them. */
MLX5_PAIR_TEST("/mlx5-queue/wrap", ERNIC_QPT_RC, test_wrap)
{
    uint32_t len, total = 0;
    uint8_t bytes[400];
    uint16_t counter;
    Mlx5Wr wr;

    for (uint32_t i = 0; i < 200; i++) {
        len = 1 + i * 37 % sizeof(bytes);
        memset(bytes, i, len);
        counter = p->aq.sq_pi;
        mlx5_wr(&wr, ERNIC_MLX5_OP_WRITE, ALWAYS, 0);
        mlx5_raddr(&wr, p->b.mem, p->b.key);
        mlx5_inline(&wr, bytes, len);
        post(p, &wr);
        assert_done(&p->a, &p->aq, REQ, counter);
        g_assert_cmpmem(mem(&p->b, 0, len), len, bytes, len);
        total += DIV_ROUND_UP(wr.len, ERNIC_MLX5_BLOCK);
    }
    g_assert_cmpuint(total, >, 10 * MLX5_DEPTH);
    g_assert_cmpuint(p->a.cq.ci, >, 3 * MLX5_CQ_DEPTH);
}

/* Two messages across the ring's end: the train of one is lost, or each answer. */
TEST("/mlx5-queue/loss", test_loss)
{
    for (uint32_t lost = 0, n = 0; lost < 3; lost++, n = 0) {
        FakeTrain *train;
        Mlx5Pair p;
        Mlx5Wr wr;

        mlx5_open_pair(&p, ERNIC_QPT_RC, NULL);
        mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, 0, 0);
        while (p.aq.sq_pi < MLX5_DEPTH - 3) {
            mlx5_post_wr(&p.a, &p.aq, &wr);
        }
        fill(&p.a, 0, 20300, lost);
        mlx5_post_recv(&p.b, &p.bq, p.b.mem, 20000);
        mlx5_post_recv(&p.b, &p.bq, p.b.mem + 20000, 300);
        mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
        mlx5_data(&wr, p.a.mem, 20000, p.a.key);
        mlx5_write(&p.a, &p.aq, &wr);
        mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
        mlx5_inline(&wr, mem(&p.a, 20000, 300), 300);
        mlx5_write(&p.a, &p.aq, &wr);
        mlx5_ring(&p.a, &p.aq);
        for (; (train = fake_take_train(&p.a.env)); fake_train_free(train)) {
            if (n++ != lost) {
                ernic_rx(p.b.e, p.b.env.now, &train->train);
                fake_run(p.b.e);
            }
        }
        IS(n, 2);
        while (lost == n && (train = fake_take_train(&p.b.env))) {
            fake_train_free(train);
        }
        mlx5_exchange(&p.a, &p.b);
        fake_advance(p.a.e, NSEC / 10);
        mlx5_exchange(&p.a, &p.b);
        for (uint16_t i = 0; i < 2; i++) {
            assert_done(&p.a, &p.aq, REQ, MLX5_DEPTH - 3 + i);
            assert_done(&p.b, &p.bq, RESP_SEND, i);
        }
        assert_same(&p, 0, 0, 20300);
        mlx5_close_pair(&p);
    }
}

/* Counters of 16 bits pass their end. */
MLX5_PAIR_TEST("/mlx5-queue/counter-wrap", ERNIC_QPT_RC, test_counter_wrap)
{
    Mlx5Wr wr;

    for (uint32_t i = 0; i < 65536 + 10; i++) {
        mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, i % 16 ? 0 : ALWAYS, 0);
        mlx5_write(&p->a, &p->aq, &wr);
        if (i % 16 == 0) {
            mlx5_ring(&p->a, &p->aq);
            assert_done(&p->a, &p->aq, REQ, i);
        }
    }
    mlx5_ring(&p->a, &p->aq);
}

/* Receive requests are announced by the record alone. */
MLX5_PAIR_TEST("/mlx5-queue/record", ERNIC_QPT_RC, test_record)
{
    Mlx5Cqe cqe;

    for (uint32_t i = 0; i < 3 * MLX5_RQ_DEPTH; i++) {
        mlx5_post_recv(&p->b, &p->bq, p->b.mem + i * 8, 8);
        send(p, &i, 4);
        assert_done(&p->a, &p->aq, REQ, i);
        assert_done(&p->b, &p->bq, RESP_SEND, i);
        IS(ldl_le_p(mem(&p->b, i * 8, 4)), i);
    }
    /* A record that claims more than the ring holds posts nothing. */
    p->bq.rq_pi += MLX5_RQ_DEPTH;
    mlx5_post_recv(&p->b, &p->bq, p->b.mem, 8);
    send(p, "x", 1);
    g_assert_false(mlx5_poll(&p->b, &cqe));
    p->bq.rq_pi -= MLX5_RQ_DEPTH + 1;
    mlx5_post_recv(&p->b, &p->bq, p->b.mem, 8);
    fake_advance(p->a.e, NSEC / 10);
    mlx5_exchange(&p->a, &p->b);
    assert_done(&p->a, &p->aq, REQ, 3 * MLX5_RQ_DEPTH);
    assert_done(&p->b, &p->bq, RESP_SEND, 3 * MLX5_RQ_DEPTH);
}

/* The slots of a shared receive queue are used in the order of their links. */
TEST("/mlx5-queue/srq", test_srq)
{
    static const uint16_t order[] = { 0, 5, 2, 7, 1, 3 };
    Mlx5List srq;
    Mlx5Cqe cqe;
    uint32_t i;
    Mlx5Pair p;

    mlx5_open_pair(&p, ERNIC_QPT_RC, &srq);
    for (i = 0; i + 1 < ARRAY_SIZE(order); i++) {
        mlx5_post_srq(&p.b, &srq, p.b.mem + i * 64, 64, order[i + 1]);
    }
    for (i = 0; i + 1 < ARRAY_SIZE(order); i++) {
        send(&p, &i, 4);
        assert_done(&p.a, &p.aq, REQ, i);
        cqe = assert_done(&p.b, &p.bq, RESP_SEND, order[i]);
        IS(ldl_le_p(mem(&p.b, i * 64, 4)), i);
    }
    /* A queue pair without user index: software finds the SRQ by its number. */
    ernic_mlx5_qp(p.b.e, p.bq.qpn)->user_index = ERNIC_MLX5_NO_INDEX;
    mlx5_post_srq(&p.b, &srq, p.b.mem, 64, 4);
    send(&p, "x", 1);
    assert_done(&p.a, &p.aq, REQ, i);
    g_assert_true(mlx5_poll(&p.b, &cqe));
    IS(cqe.index, srq.srq.srqn);
    mlx5_close_pair(&p);
}

/* A link that names no slot ends the shared receive queue. */
TEST("/mlx5-queue/srq-bad-link", test_srq_bad_link)
{
    Mlx5List srq;
    Mlx5Pair p;

    mlx5_open_pair(&p, ERNIC_QPT_RC, &srq);
    mlx5_post_srq(&p.b, &srq, p.b.mem, 64, MLX5_SRQ_DEPTH);
    send(&p, "x", 1);
    g_assert_true(p.b.e->srq[srq.srq.srqn].error);
    assert_error(&p.b, &p.bq, RESP_ERR, 0, LOCAL_QP_OP);
    IS(assert_done(&p.a, &p.aq, REQ_ERR, 0).syndrome, 0x14);
    mlx5_close_pair(&p);
}

/* A shared receive queue that has failed ends each queue pair that needs it. */
TEST("/mlx5-queue/srq-failed", test_srq_failed)
{
    Mlx5List srq;
    Mlx5Cqe cqe;
    Mlx5Pair p;

    mlx5_open_pair(&p, ERNIC_QPT_RC, &srq);
    p.b.e->srq[srq.srq.srqn].error = true;      /* by another queue pair */
    mlx5_post_srq(&p.b, &srq, p.b.mem, 64, 1);
    send(&p, "x", 1);
    IS(p.b.e->qp[p.bq.qpn].state, ERNIC_QPS_ERR);
    IS(assert_done(&p.a, &p.aq, REQ_ERR, 0).syndrome, 0x14);
    g_assert_false(mlx5_poll(&p.b, &cqe));
    mlx5_close_pair(&p);
}

/* The record of a receive queue, shared or not, cannot be read. */
TEST("/mlx5-queue/record-dma", test_record_dma)
{
    for (uint32_t shared = 0; shared < 2; shared++) {
        Mlx5List srq;
        Mlx5Cqe cqe;
        Mlx5Pair p;

        mlx5_open_pair(&p, ERNIC_QPT_RC, shared ? &srq : NULL);
        fake_fail_dma(&p.b.env, 1, false);
        send(&p, "x", 1);
        IS(p.b.e->qp[p.bq.qpn].state, ERNIC_QPS_ERR);
        IS(assert_done(&p.a, &p.aq, REQ_ERR, 0).syndrome, 0x14);
        g_assert_false(mlx5_poll(&p.b, &cqe));
        IS(shared && p.b.e->srq[srq.srq.srqn].error, shared);
        mlx5_close_pair(&p);
    }
}

/* ce says when a request completes with an entry. */
MLX5_PAIR_TEST("/mlx5-queue/unsignaled", ERNIC_QPT_RC, test_unsignaled)
{
    Mlx5Wr wr;

    for (uint8_t ce = 0; ce < 4; ce++) {
        mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, ce, 0);
        post(p, &wr);
        if (ce >= ALWAYS) {
            assert_done(&p->a, &p->aq, REQ, ce);
        }
    }
    /* An error, and after it flushed requests: those of ce 1 have no entry. */
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ERNIC_MLX5_CE_ERROR, 0);
    mlx5_data(&wr, p->a.mem, 8, 0x12345600);
    mlx5_write(&p->a, &p->aq, &wr);
    for (uint8_t ce = 0; ce < 4; ce++) {
        mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, ce, 0);
        mlx5_write(&p->a, &p->aq, &wr);
    }
    mlx5_ring(&p->a, &p->aq);
    assert_error(&p->a, &p->aq, REQ_ERR, 4, LOCAL_PROT);
    assert_error(&p->a, &p->aq, REQ_ERR, 5, FLUSHED);
    assert_error(&p->a, &p->aq, REQ_ERR, 7, FLUSHED);
    assert_error(&p->a, &p->aq, REQ_ERR, 8, FLUSHED);
}

static uint32_t notifications(const Mlx5End *end)
{
    return end->e->eq[end->eq.eqn].pi;
}

/* A late request to notify has the sequence number of an earlier one. */
MLX5_PAIR_TEST("/mlx5-queue/arm", ERNIC_QPT_RC, test_arm)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, ALWAYS, 0);
    post(p, &wr);
    assert_done(&p->a, &p->aq, REQ, 0);
    IS(notifications(&p->a), 0);
    mlx5_arm(&p->a, 0, false);
    IS(notifications(&p->a), 0);
    post(p, &wr);
    IS(notifications(&p->a), 1);
    /* The same number: it was made before software knew of the notification. */
    mlx5_arm(&p->a, 0, false);
    IS(notifications(&p->a), 1);
    assert_done(&p->a, &p->aq, REQ, 1);
    mlx5_arm(&p->a, 1, false);
    mlx5_arm(&p->a, 1, false);
    IS(notifications(&p->a), 1);
    post(p, &wr);
    IS(notifications(&p->a), 2);
    /* Armed with an entry that is not read, but has caused a notification. */
    mlx5_arm(&p->a, 2, false);
    IS(notifications(&p->a), 2);
    post(p, &wr);
    IS(notifications(&p->a), 3);
    /* Armed after a newer entry: at once. */
    post(p, &wr);
    mlx5_arm(&p->a, 3, false);
    IS(notifications(&p->a), 4);
    for (uint16_t n = 2; n <= 4; n++) {
        assert_done(&p->a, &p->aq, REQ, n);
    }
    /* Solicited: not by a request of our own. */
    mlx5_arm(&p->a, 0, true);
    post(p, &wr);
    assert_done(&p->a, &p->aq, REQ, 5);
    IS(notifications(&p->a), 4);
}

MLX5_PAIR_TEST("/mlx5-queue/solicited", ERNIC_QPT_RC, test_solicited)
{
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    mlx5_arm(&p->b, 0, true);
    for (uint32_t se = 0; se < 2; se++) {
        mlx5_post_recv(&p->b, &p->bq, p->b.mem, 64);
        mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
        ernic_mlx5_put(wr.bytes, &ernic_mlx5_wqe_ctrl_seg.se, se);
        mlx5_inline(&wr, "x", 1);
        post(p, &wr);
        assert_done(&p->a, &p->aq, REQ, se);
        cqe = assert_done(&p->b, &p->bq, RESP_SEND, se);
        IS(cqe.solicited, se);
        IS(notifications(&p->b), se);
    }
}

/* Let time pass until a request to receive is flushed; returns how much, ns. */
static uint64_t wait_flushed(Mlx5Pair *p, uint16_t counter)
{
    uint64_t begin = p->a.env.now;
    uint32_t pi = p->a.e->cq[p->a.cq.cqn].pi;

    while (p->a.e->cq[p->a.cq.cqn].pi == pi && p->a.env.now < begin + 10 * NSEC) {
        fake_advance(p->a.e, NSEC / 100000);
    }
    assert_error(&p->a, &p->aq, RESP_ERR, counter, FLUSHED);
    return p->a.env.now - begin;
}

/*
 * In Error there is no doorbell for requests to receive: the longer there are none, the
 * more seldom the engine looks for them. A command makes it look soon.
 */
MLX5_PAIR_TEST("/mlx5-queue/error-idle", ERNIC_QPT_RC, test_error_idle)
{
    uint32_t wakes;
    ErnicQp *qp = &p->a.e->qp[p->aq.qpn];

    ernic_qp_set_state(p->a.e, qp, ERNIC_QPS_ERR);
    fake_run(p->a.e);
    mlx5_post_recv(&p->a, &p->aq, p->a.mem, 64);
    g_assert_cmpuint(wait_flushed(p, 0), <=, NSEC / 1000);
    /* It wakes no more often than each 0.8 s, after about as long. */
    for (wakes = 0; p->a.env.now < 60 * NSEC; wakes++) {
        g_assert_cmpuint(p->a.env.wake, >, p->a.env.now);
        fake_advance(p->a.e, p->a.env.wake - p->a.env.now);
    }
    g_assert_cmpuint(wakes, <=, 100);
    mlx5_post_recv(&p->a, &p->aq, p->a.mem, 64);
    g_assert_cmpuint(wait_flushed(p, 1), <=, NSEC);
    fake_advance(p->a.e, 10 * NSEC);
    ernic_qp_change(p->a.e, qp, ERNIC_QPS_ERR, 0, &qp->attr);
    fake_run(p->a.e);
    mlx5_post_recv(&p->a, &p->aq, p->a.mem, 64);
    g_assert_cmpuint(wait_flushed(p, 2), <=, NSEC / 1000);
    /* In another state there is nothing to look for. */
    ernic_qp_change(p->a.e, qp, ERNIC_QPS_RESET, 0, &qp->attr);
    fake_advance(p->a.e, 10 * NSEC);
    IS(qp->timer_due, ERNIC_NEVER);
}

/* Requests that are not valid; each ends an own queue pair. */
typedef struct Bad {
    const char *name;
    uint8_t type, syndrome, opcode;
    const char *segments;       /* letters of add_segment() */
    uint32_t at;                /* of a segment in which @field has @value */
    const ErnicMlx5Field *field;
    uint32_t value;
} Bad;

static void add_segment(Mlx5Pair *p, Mlx5Wr *wr, char letter)
{
    switch (letter) {
    case 'r':
        return mlx5_raddr(wr, p->b.mem, p->b.key);
    case 'a':
        return mlx5_atomic(wr, 1, 2);
    case 'v':
        return mlx5_av(wr, 2, p->bq.qpn);
    case 'i':
        return mlx5_inline(wr, "x", 1);
    case 'd':
        return mlx5_data(wr, p->a.mem, 16, p->a.key);
    case 'm':                   /* more than a datagram may have */
        return mlx5_data(wr, p->a.mem, 4097, p->a.key);
    case 'z':                   /* 2^31 bytes */
        return mlx5_data(wr, p->a.mem, 0, p->a.key);
    default:                    /* as many segments as a request may have */
        mlx5_segment(wr, letter == 'u' ? 96 : ERNIC_MLX5_WQE_MAX);
    }
}

#define RC      ERNIC_QPT_RC
#define UD      ERNIC_QPT_UD
#define OP(op)  ERNIC_MLX5_OP_##op
#define CTRL(field) 0, &ernic_mlx5_wqe_ctrl_seg.field

static const Bad bad[] = {
    { "no-segments", RC, LOCAL_QP_OP, OP(SEND) },
    { "more-than-posted", RC, LOCAL_QP_OP, OP(SEND), "", CTRL(ds), 5 },
    { "opcode", RC, LOCAL_QP_OP, 0x0c, "" },
    { "high-opcode", RC, LOCAL_QP_OP, 0xff, "" },
    { "read-on-uc", ERNIC_QPT_UC, LOCAL_QP_OP, OP(READ), "" },
    { "inline-beyond", RC, LOCAL_QP_OP, OP(SEND), "i", 16,
      &ernic_mlx5_wqe_inline_seg.inline_byte_count, 13 },
    { "inline-read", RC, LOCAL_QP_OP, OP(READ), "ri" },
    { "many-segments", RC, LOCAL_QP_OP, OP(SEND), "*" },
    { "too-long", RC, LOCAL_LENGTH, OP(SEND), "zd" },
    { "no-remote", RC, LOCAL_QP_OP, OP(WRITE), "" },
    { "no-operands", RC, LOCAL_QP_OP, OP(CMP_SWAP), "r" },
    { "long-atomic", RC, LOCAL_LENGTH, OP(CMP_SWAP), "rad" },
    { "no-av", UD, LOCAL_QP_OP, OP(SEND), "" },
    { "over-mtu", UD, LOCAL_LENGTH, OP(SEND), "vm" },
    { "bad-gid", UD, LOCAL_QP_OP, OP(SEND), "v", 16, &ernic_mlx5_wqe_av.sgid_index,
      ERNIC_LIM_GID },
    { "short-umr", RC, LOCAL_QP_OP, OP(UMR), "u" },
};

WORLD_ROW_TEST("/mlx5-queue/bad", bad, b, test_bad, Mlx5Pair, p,
               mlx5_open_pair(p, b->type, NULL), mlx5_close_pair(p))
{
    Mlx5Wr wr;

    mlx5_wr(&wr, b->opcode, 0, 0);
    for (const char *letter = b->segments; letter && *letter; letter++) {
        add_segment(p, &wr, *letter);
    }
    if (b->field) {
        ernic_mlx5_put(wr.bytes + b->at, b->field, b->value);
    }
    if (!b->segments) {
        memset(wr.bytes + 4, 0, 4);
        wr.len = 0;
    }
    mlx5_write(&p->a, &p->aq, &wr);
    p->aq.sq_pi += !wr.len;
    mlx5_ring(&p->a, &p->aq);
    assert_error(&p->a, &p->aq, REQ_ERR, 0, b->syndrome);
    IS(p->a.e->qp[p->aq.qpn].state, b->type == RC ? ERNIC_QPS_ERR : ERNIC_QPS_SQE);
}

/* MLX5_CQE_SYNDROME_*, where no other test sees it in an entry. */
TEST("/mlx5-queue/syndromes", test_syndromes)
{
    IS(ernic_mlx5_syndrome(ERNIC_FAULT_BAD_RESPONSE), 0x10);
    IS(ernic_mlx5_syndrome(ERNIC_FAULT_REM_ACCESS), 0x11);
    IS(ernic_mlx5_syndrome(ERNIC_FAULT_OP_SEQ), 0x12);
    IS(ernic_mlx5_syndrome(ERNIC_FAULT_RETRY_EXC), 0x15);
    IS(ernic_mlx5_syndrome(ERNIC_FAULT_RNR_RETRY_EXC), 0x16);
}

/* Every access to guest memory may fail; the engine stays consistent. */
TEST("/mlx5-queue/dma", test_dma)
{
    uint64_t nth;
    Mlx5Cqe cqe;
    Mlx5Wr wr;
    Mlx5Pair p;

    for (nth = 1; ; nth++) {
        bool refused;

        mlx5_open_pair(&p, ERNIC_QPT_RC, NULL);
        mlx5_post_recv(&p.b, &p.bq, p.b.mem, 4096);
        mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
        mlx5_inline(&wr, mem(&p.a, 0, 200), 200);
        fake_fail_dma(&p.a.env, nth, false);
        fake_fail_dma(&p.b.env, nth, false);
        post(&p, &wr);
        refused = p.a.env.refused || p.b.env.refused;
        fake_fail_dma(&p.a.env, 0, false);
        fake_fail_dma(&p.b.env, 0, false);
        while (mlx5_poll(&p.a, &cqe) || mlx5_poll(&p.b, &cqe)) {
        }
        mlx5_close_pair(&p);
        if (!refused) {
            break;
        }
    }
    g_assert_cmpuint(nth, >, 5);
}

/* Inline bytes and pointers in any order, in several packets; saved in between. */
MLX5_PAIR_TEST("/mlx5-queue/mixed", ERNIC_QPT_RC, test_mixed)
{
    static const char *const text[] = { "a header", "the middle", "end" };
    g_autoptr(GString) want = g_string_new(NULL);
    const ErnicWqe *wqe;
    Mlx5Wr wr;

    fill(&p->a, 0, 3000, 7);
    mlx5_post_recv(&p->b, &p->bq, p->b.mem, 8192);
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(text); i++) {
        mlx5_inline(&wr, text[i], strlen(text[i]));
        mlx5_data(&wr, p->a.mem + i, 900 + i, p->a.key);
        g_string_append(want, text[i]);
        g_string_append_len(want, (char *)mem(&p->a, i, 900 + i), 900 + i);
    }
    p->a.env.tx_busy = true;
    mlx5_post_wr(&p->a, &p->aq, &wr);
    fake_take_over(&p->a.e);
    fake_tx_ready(p->a.e);
    fake_run(p->a.e);
    wqe = ernic_sq_slot(&p->a.e->qp[p->aq.qpn], 0);
    IS(wqe->num_sge, 6);
    IS(wqe->inlined, 0x15);
    mlx5_exchange(&p->a, &p->b);
    assert_done(&p->a, &p->aq, REQ, 0);
    IS(assert_done(&p->b, &p->bq, RESP_SEND, 0).bytes, want->len);
    g_assert_cmpmem(mem(&p->b, 0, want->len), want->len, want->str, want->len);
}

/* So many pieces have no room beside their entries. */
MLX5_PAIR_TEST("/mlx5-queue/many-pieces", ERNIC_QPT_RC, test_many_pieces)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
    mlx5_data(&wr, p->a.mem, 1, p->a.key);
    for (uint32_t i = 0; i < 62; i++) {
        mlx5_inline(&wr, "twelve bytes", 12);
    }
    post(p, &wr);
    assert_error(&p->a, &p->aq, REQ_ERR, 0, LOCAL_QP_OP);
}

/* Doorbells that name no queue, a foreign one, or an impossible counter. */
MLX5_PAIR_TEST("/mlx5-queue/doorbells", ERNIC_QPT_RC, test_doorbells)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_NOP, ALWAYS, 0);
    mlx5_write(&p->a, &p->aq, &wr);
    ernic_mlx5_ring_sq(p->a.e, MLX5_UAR + 1, (uint64_t)p->aq.qpn << 8);
    ernic_mlx5_ring_sq(p->a.e, MLX5_UAR, 0xffffffull << 8);
    ernic_mlx5_ring_cq(p->a.e, MLX5_UAR + 1, p->a.cq.cqn);
    ernic_mlx5_ring_cq(p->a.e, MLX5_UAR, 0xffffff);
    IS(p->a.e->stats.bad_doorbells, 4);
    p->aq.sq_pi += MLX5_DEPTH;
    mlx5_ring(&p->a, &p->aq);
    IS(p->a.e->stats.bad_doorbells, 5);
    p->aq.sq_pi -= MLX5_DEPTH;
    mlx5_ring(&p->a, &p->aq);
    assert_done(&p->a, &p->aq, REQ, 0);
}
