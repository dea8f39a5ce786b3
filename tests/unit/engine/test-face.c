/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of a face is complete: every method of every face is set, so that the
 * roles call without a look. And the table is all that a face needs: two engines with
 * the face of block_face.h, whose queues count blocks, records and lists, talk to each
 * other.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "block_face.h"
#include "test.h"
#include "transport/qp.h"

#define RETRY_NS    (100 * 1000 * 1000)

typedef void Method(void);

static const struct {
    const char *name;
    const ErnicFaceOps *face;
} faces[] = {
    { "verbs", &ernic_face_verbs },
    { "pg332", &ernic_face_pg332 },
    { "mlx5", &ernic_face_mlx5 },
    { "block", &block_face },
};

/* A method is each pointer from the first one to the end of a table. */
#define FIRST_METHOD    offsetof(ErnicFaceOps, fetch)

static uint32_t missing(const void *table, size_t from, size_t size)
{
    uint32_t n = 0;
    Method *method;

    for (; from < size; from += sizeof(method)) {
        memcpy(&method, (const uint8_t *)table + from, sizeof(method));
        if (!method) {
            g_test_message("no method at offset %zu", from);
            n++;
        }
    }
    IS(from, size);
    return n;
}

TEST("/face/complete", test_complete)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(faces); i++) {
        const ErnicFaceOps *face = faces[i].face;

        g_test_message("%s", faces[i].name);
        IS(missing(face, FIRST_METHOD, sizeof(*face)), 0);
        g_assert_nonnull(face->keys);
        IS(missing(face->keys, 0, sizeof(*face->keys)), 0);
        g_assert_nonnull(face->cqes);
        IS(missing(face->cqes, 0, sizeof(*face->cqes)), 0);
    }
}

/* The walk finds each missing method. */
TEST("/face/walk", test_walk)
{
    for (size_t at = FIRST_METHOD; at < sizeof(ErnicFaceOps); at += sizeof(Method *)) {
        ErnicFaceOps face = ernic_face_verbs;

        memset((uint8_t *)&face + at, 0, sizeof(Method *));
        IS(missing(&face, FIRST_METHOD, sizeof(face)), 1);
    }
}

typedef struct Pair {
    Block a, b;
    BlockQp aq, bq;
    BlockSrq srq;               /* of the second end, if it has one */
    uint32_t lose;              /* the train that is lost, counted down; 0: none */
} Pair;

static void to_rts(Block *b, const BlockQp *qp, uint32_t dest, uint8_t host)
{
    FakeQp fake = { .qpn = qp->qpn, .type = ERNIC_QPT_RC };
    struct ernic_qp_attr attr;

    fake_qp_attr(&attr, dest, host);
    fake_qp_to(b->e, &fake, ERNIC_QPS_RTS, &attr);
}

/* @shared: the receive requests of the second end are in a list. */
static void open_pair(Pair *p, bool shared)
{
    memset(p, 0, sizeof(*p));
    block_init(&p->a, 1);
    block_init(&p->b, 2);
    if (shared) {
        block_create_srq(&p->b, &p->srq);
    }
    block_create_qp(&p->a, &p->aq, NULL);
    block_create_qp(&p->b, &p->bq, shared ? &p->srq : NULL);
    to_rts(&p->a, &p->aq, p->bq.qpn, 2);
    to_rts(&p->b, &p->bq, p->aq.qpn, 1);
}

static void close_pair(Pair *p)
{
    BlockCqe cqe;

    g_assert_false(block_poll(&p->a, &cqe));
    g_assert_false(block_poll(&p->b, &cqe));
    block_done(&p->a);
    block_done(&p->b);
}

#define PAIR_TEST(path, fn) \
    WORLD_TEST(path, fn, Pair, p, open_pair(p, false), close_pair(p))

static uint32_t deliver(Pair *p, Block *from, Block *to)
{
    FakeTrain *train;
    uint32_t n = 0;

    for (; (train = fake_take_train(&from->env)); n++) {
        if (!p->lose || --p->lose) {
            ernic_rx(to->e, to->env.now, &train->train);
            fake_run(to->e);
        }
        fake_train_free(train);
    }
    return n;
}

static void settle(Pair *p)
{
    while (deliver(p, &p->a, &p->b) + deliver(p, &p->b, &p->a)) {
        continue;
    }
}

static void pass(Pair *p, uint64_t ns)
{
    fake_advance(p->a.e, ns);
    fake_advance(p->b.e, ns);
    settle(p);
}

static uint8_t *memory(Block *b, uint32_t off, uint32_t len)
{
    return fake_ptr(&b->env, b->mem + off, len);
}

static void fill(uint8_t *bytes, uint32_t len, uint32_t seed)
{
    while (len--) {
        *bytes++ = seed = seed * 1103515245 + 12345;
    }
}

/* Post a request of @blocks blocks of end a; with bytes in it if they fit. */
static void write_send(Pair *p, uint8_t blocks, uint32_t off, uint32_t len, uint8_t flags)
{
    BlockHead head = {
        .wr_id = cpu_to_le64(p->aq.sq_pi), .opcode = ERNIC_WR_SEND,
        .addr = cpu_to_le64(p->a.mem + off), .len = cpu_to_le32(len),
        .lkey = cpu_to_le32(p->a.key), .blocks = blocks, .flags = flags,
    };

    block_write(&p->a, &p->aq, &head, memory(&p->a, off, len));
}

static void ring(Pair *p)
{
    OK(block_ring(&p->a, p->aq.qpn, p->aq.sq_pi));
}

static void recv_at(Pair *p, uint32_t off, uint32_t len)
{
    block_write_recv(&p->b, &p->bq, p->b.mem + off, len);
    block_record(&p->b, &p->bq, p->bq.rq_pi);
}

static BlockCqe completion(Block *b, bool recv, uint16_t counter, uint8_t status)
{
    BlockCqe cqe;

    g_assert_true(block_poll(b, &cqe));
    IS(cqe.recv, recv);
    IS(cqe.status, status);
    IS(cqe.counter, counter);
    return cqe;
}

/* The @len bytes at @off have come to the other end. */
static void same(Pair *p, uint32_t off, uint32_t len)
{
    g_assert_cmpmem(memory(&p->a, off, len), len, memory(&p->b, off, len), len);
}

/* One SEND of @blocks blocks and @len bytes, which arrive. */
static void exchange(Pair *p, uint8_t blocks, uint32_t len, uint8_t flags)
{
    uint16_t at = p->aq.sq_pi, slot = p->bq.rq_pi % BLOCK_RQ_DEPTH;
    BlockCqe cqe;

    fill(memory(&p->a, 0, len), len, at + len);
    memset(memory(&p->b, 0, len + 1), 0, len + 1);
    recv_at(p, 0, len);
    write_send(p, blocks, 0, len, flags);
    ring(p);
    settle(p);
    completion(&p->a, false, at, ERNIC_WC_SUCCESS);
    cqe = completion(&p->b, true, slot, ERNIC_WC_SUCCESS);
    IS(cqe.byte_len, len);
    same(p, 0, len);
    IS(*memory(&p->b, len, 1), 0);
}

/* Every size, inline and not, across the edge of the ring at each slot. */
PAIR_TEST("/face/block/sizes", test_sizes)
{
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t blocks = 1; blocks <= BLOCK_MOST; blocks++) {
            uint32_t most = (blocks - 1) * BLOCK_BYTES;

            exchange(p, blocks, 1 + blocks * 517, 0);
            exchange(p, blocks, MIN(most, ERNIC_MAX_INLINE), ERNIC_WR_INLINE);
        }
        exchange(p, 1, 7, 0);          /* another place in the next round */
    }
}

/* 16-bit counters wrap several times per test. */
PAIR_TEST("/face/block/counters-wrap", test_counters_wrap)
{
    uint32_t sent = 0;

    while (sent < 2 * 65536 + 100) {
        exchange(p, BLOCK_MOST, 100, 0);
        exchange(p, 1, 3, 0);
        sent += BLOCK_MOST + 1;
    }
    IS(ernic_sq_done(&p->a.e->qp[p->aq.qpn].sq), sent);
    IS(p->aq.sq_pi, (uint16_t)sent);
}

/* As many requests at once as the ring has blocks for, and none more. */
PAIR_TEST("/face/block/full", test_full)
{
    static const uint8_t blocks[] = { 3, 16, 1, 12 };
    uint16_t at = 0;

    for (uint32_t i = 0; i < G_N_ELEMENTS(blocks); i++) {
        fill(memory(&p->a, i * 4096, 3000), 3000, i);
        recv_at(p, i * 4096, 4096);
        write_send(p, blocks[i], i * 4096, 3000, 0);
    }
    IS(block_ring(&p->a, p->aq.qpn, p->aq.sq_pi + 1), ERNIC_ERR_FULL);
    ring(p);
    settle(p);
    for (uint32_t i = 0; i < G_N_ELEMENTS(blocks); at += blocks[i++]) {
        completion(&p->a, false, at, ERNIC_WC_SUCCESS);
        completion(&p->b, true, i, ERNIC_WC_SUCCESS);
        same(p, i * 4096, 3000);
    }
    IS(at, BLOCK_DEPTH);
}

static void to_error(Block *b, uint32_t qpn)
{
    OK(fake_modify_qp(b->e, qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    fake_run(b->e);
}

/*
 * In Error each request completes with the counter of its first block, whether or not
 * it was decoded before.
 */
TEST("/face/block/flush", test_flush)
{
    for (uint32_t decoded = 0; decoded < 2; decoded++) {
        static const uint8_t blocks[] = { 3, 16, 5, 1 };
        uint16_t at = 20;
        Pair p;

        open_pair(&p, false);
        exchange(&p, 16, 10, 0);
        exchange(&p, 4, 10, 0);         /* so that the edge is inside */
        for (uint32_t i = 0; i < G_N_ELEMENTS(blocks); i++) {
            write_send(&p, blocks[i], 0, 100, 0);
        }
        if (decoded) {
            ring(&p);                   /* the sent packets are not acknowledged */
            to_error(&p.a, p.aq.qpn);
        } else {
            to_error(&p.a, p.aq.qpn);
            ring(&p);
        }
        for (uint32_t i = 0; i < G_N_ELEMENTS(blocks); at += blocks[i++]) {
            IS(completion(&p.a, false, at, ERNIC_WC_WR_FLUSH_ERR).wr_id, at);
        }
        close_pair(&p);
    }
}

/* A request at fault ends with its reason; those after it are decoded again. */
PAIR_TEST("/face/block/fault", test_fault)
{
    recv_at(p, 0, 100);
    write_send(p, 2, 0, 100, 0);
    p->a.key ^= 1;
    write_send(p, 7, 0, 100, 0);
    p->a.key ^= 1;
    write_send(p, 16, 0, 100, 0);
    write_send(p, 4, 0, 100, 0);
    ring(p);
    settle(p);
    completion(&p->a, false, 0, ERNIC_WC_SUCCESS);
    completion(&p->b, true, 0, ERNIC_WC_SUCCESS);
    completion(&p->a, false, 2, ERNIC_WC_LOC_PROT_ERR);
    completion(&p->a, false, 9, ERNIC_WC_WR_FLUSH_ERR);
    completion(&p->a, false, 25, ERNIC_WC_WR_FLUSH_ERR);
}

/* Invalid block counts: none, too many, more than are posted. */
TEST("/face/block/bad-blocks", test_bad_blocks)
{
    static const uint8_t claimed[] = { 0, BLOCK_MOST + 1, 255, 3 };
    uint32_t n;

    for (uint32_t i = 0; i < G_N_ELEMENTS(claimed); i++) {
        BlockCqe cqe;
        Pair p;

        open_pair(&p, false);
        write_send(&p, 1, 0, 100, 0);
        write_send(&p, 1, 0, 100, 0);
        *(uint8_t *)fake_ptr(&p.a.env, p.aq.sq + offsetof(BlockHead, blocks), 1) =
            claimed[i];
        ring(&p);
        settle(&p);
        completion(&p.a, false, 0, ERNIC_WC_LOC_QP_OP_ERR);
        for (n = 0; block_poll(&p.a, &cqe); n++) {
            IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
        }
        IS(n, 1);
        close_pair(&p);
    }
}

/* The record announces no request: RNR, until it does. */
PAIR_TEST("/face/block/rnr", test_rnr)
{
    block_write_recv(&p->b, &p->bq, p->b.mem, 4096);
    fill(memory(&p->a, 0, 2000), 2000, 5);
    write_send(p, 5, 0, 2000, 0);
    ring(p);
    settle(p);
    IS(p->b.e->stats.tx_rnr_naks, 1);
    /* A record that claims more than the ring holds posts nothing. */
    block_record(&p->b, &p->bq, BLOCK_RQ_DEPTH + 1);
    pass(p, RETRY_NS);
    g_assert_cmpuint(p->b.e->stats.tx_rnr_naks, >=, 2);
    IS(p->b.e->stats.rx_messages, 0);
    block_record(&p->b, &p->bq, 1);
    pass(p, RETRY_NS);
    completion(&p->a, false, 0, ERNIC_WC_SUCCESS);
    completion(&p->b, true, 0, ERNIC_WC_SUCCESS);
    same(p, 0, 2000);
}

/* Flushing finds requests that no doorbell announces, also those posted later. */
PAIR_TEST("/face/block/flush-recv", test_flush_recv)
{
    recv_at(p, 0, 100);
    recv_at(p, 0, 100);
    to_error(&p->b, p->bq.qpn);
    completion(&p->b, true, 0, ERNIC_WC_WR_FLUSH_ERR);
    completion(&p->b, true, 1, ERNIC_WC_WR_FLUSH_ERR);
    recv_at(p, 0, 100);
    fake_advance(p->b.e, 2 * BLOCK_POLL);
    completion(&p->b, true, 2, ERNIC_WC_WR_FLUSH_ERR);
}

static void send_shared(Pair *p, uint16_t slot, uint32_t off)
{
    uint16_t at = p->aq.sq_pi;

    fill(memory(&p->a, off, 600), 600, off);
    write_send(p, 1, off, 600, 0);
    ring(p);
    settle(p);
    completion(&p->a, false, at, ERNIC_WC_SUCCESS);
    completion(&p->b, true, slot, ERNIC_WC_SUCCESS);
    same(p, off, 600);
}

static void event(Block *b, uint8_t type)
{
    struct ernic_eqe eqe;

    fake_run(b->e);
    g_assert_true(fake_poll_eq(b->e, &b->eq, &eqe));
    while (eqe.type == ERNIC_EV_COMM_EST) {
        g_assert_true(fake_poll_eq(b->e, &b->eq, &eqe));
    }
    IS(eqe.type, type);
}

/* Requests of an SRQ are taken in the order of the list, which software rebuilds. */
WORLD_TEST("/face/block/srq", test_srq, Pair, p, open_pair(p, true), close_pair(p))
{
    static const uint16_t order[] = { 0, 5, 2, 7, 1 };

    for (uint32_t i = 0; i < 4; i++) {
        block_post_srq(&p->b, &p->srq, p->b.mem + i * 1024, 1024, order[i + 1]);
    }
    p->b.e->srq[p->srq.srq.srqn].limit = 2;
    for (uint32_t i = 0; i < 2; i++) {
        send_shared(p, order[i], i * 1024);
    }
    /* Returned: slot 5, then slot 0, at the end of the list. */
    block_post_srq(&p->b, &p->srq, p->b.mem + 4 * 1024, 1024, 5);
    block_post_srq(&p->b, &p->srq, p->b.mem + 5 * 1024, 1024, 0);
    send_shared(p, 2, 2 * 1024);
    send_shared(p, 7, 3 * 1024);
    send_shared(p, 1, 4 * 1024);
    event(&p->b, ERNIC_EV_SRQ_LIMIT);
    send_shared(p, 5, 5 * 1024);
    /* Empty: RNR. An invalid slot number ends the SRQ. */
    block_post_srq(&p->b, &p->srq, p->b.mem, 1024, BLOCK_SRQ_DEPTH);
    write_send(p, 1, 0, 600, 0);
    ring(p);
    settle(p);
    event(&p->b, ERNIC_EV_SRQ_ERR);
    g_assert_true(p->b.e->srq[p->srq.srq.srqn].error);
    pass(p, RETRY_NS);
    completion(&p->b, true, 0, ERNIC_WC_LOC_QP_OP_ERR);
    completion(&p->a, false, p->aq.sq_pi - 1, ERNIC_WC_REM_OP_ERR);
}

/* A message of several packets, of which one train after the other is lost. */
TEST("/face/block/loss", test_loss)
{
    for (uint32_t lost = 1; lost <= 4; lost++) {
        uint16_t slot = 0;
        Pair p;

        open_pair(&p, false);
        exchange(&p, BLOCK_MOST, 10, 0);
        fill(memory(&p.a, 0, 20000), 20000, lost);
        fill(memory(&p.a, 20000, 300), 300, lost);
        recv_at(&p, 0, 20000);
        recv_at(&p, 20000, 300);
        write_send(&p, 13, 0, 20000, 0);
        write_send(&p, 16, 20000, 300, ERNIC_WR_INLINE);
        p.lose = lost;
        ring(&p);
        settle(&p);
        pass(&p, 4 * RETRY_NS);
        IS(p.lose, 0);
        completion(&p.a, false, 16, ERNIC_WC_SUCCESS);
        completion(&p.a, false, 29, ERNIC_WC_SUCCESS);
        completion(&p.b, true, ++slot, ERNIC_WC_SUCCESS);
        completion(&p.b, true, ++slot, ERNIC_WC_SUCCESS);
        same(&p, 0, 20300);
        close_pair(&p);
    }
}

/* Decoded requests that wait for the link continue after save and load. */
PAIR_TEST("/face/block/state", test_state)
{
    exchange(p, 11, 10, 0);
    fill(memory(&p->a, 0, 8000), 8000, 1);
    recv_at(p, 0, 4000);
    recv_at(p, 4000, 4000);
    p->a.env.tx_busy = true;
    write_send(p, 9, 0, 4000, 0);
    write_send(p, 16, 4000, 4000, 0);
    ring(p);
    g_assert_cmpuint(p->a.e->qp[p->aq.qpn].sq.taken, >, 11);
    RELOAD(p->a.e, p->a.env.now);
    p->a.env.tx_busy = false;
    ernic_tx_ready(p->a.e, p->a.env.now);
    fake_run(p->a.e);
    settle(p);
    pass(p, RETRY_NS);
    completion(&p->a, false, 11, ERNIC_WC_SUCCESS);
    completion(&p->a, false, 20, ERNIC_WC_SUCCESS);
    completion(&p->b, true, 1, ERNIC_WC_SUCCESS);
    completion(&p->b, true, 2, ERNIC_WC_SUCCESS);
    same(p, 0, 8000);
}
