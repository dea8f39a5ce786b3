/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stages of the timing model that a request of each kind passes, and when a local one
 * completes.
 */
#include "qemu/osdep.h"
#include "objects/wqe.h"
#include "timed_pair.h"
#include "timing/timing.h"

/* One of the ends of a pair. */
typedef struct End {
    Ernic *e;
    FakeEnv *env;
    FakeQp *qp;
    FakeCq *cq;
    uint64_t mem;
    uint32_t key;
} End;

/* Until no packet is under way any more. */
static void exchange(Pair *p)
{
    for (uint32_t i = 0; i < 10; i++) {
        fake_run(p->peer);
        fake_deliver(p->peer, p->e);
        until(p, p->env.now - p->start + 10000);
        fake_deliver(p->e, p->peer);
    }
}

/* A region of REG_MR that is not valid yet, and the request that makes it so. */
static uint32_t reg_mr(End *end, struct ernic_wqe *wqe)
{
    uint32_t key = fake_alloc_mr(end->e, end->qp->pd, 1) + 1;

    fake_put64(end->env, end->mem + 8192, end->mem);
    *wqe = (struct ernic_wqe) {
        .opcode = ERNIC_WR_REG_MR, .flags = ERNIC_WR_SIGNALED,
        .reg_mr = {
            .key = GUINT32_TO_LE(key),
            .access = GUINT32_TO_LE(ERNIC_ACCESS_LOCAL_WRITE |
                                    ERNIC_ACCESS_REMOTE_WRITE),
            .length = GUINT64_TO_LE(4096), .npages = GUINT32_TO_LE(1),
            .list_addr = GUINT64_TO_LE(end->mem + 8192), .page_shift = 12,
        },
    };
    return key;
}

static void bind_mw(End *end, struct ernic_wqe *wqe)
{
    uint32_t key = fake_alloc_mw(end->e, end->qp->pd, 2);

    wqe->bind_mw = (struct ernic_wqe_bind_mw) {
        .rkey = GUINT32_TO_LE(key), .new_rkey = GUINT32_TO_LE(key + 1),
        .lkey = GUINT32_TO_LE(end->key), .addr = GUINT64_TO_LE(end->mem),
        .access = GUINT32_TO_LE(ERNIC_ACCESS_REMOTE_READ),
        .length = GUINT64_TO_LE(64),
    };
}

static void post_wqe(End *end, const struct ernic_wqe *wqe, uint32_t len)
{
    struct ernic_sge sge = fake_sge(end->mem, len, end->key);

    fake_post_send(end->e, end->qp, wqe, &sge);
    fake_ring_sq(end->e, end->qp);
}

/* A key that may be invalidated, at @at. */
static uint32_t valid_key(Pair *p, End *at)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;
    uint32_t key = reg_mr(at, &wqe);

    post_wqe(at, &wqe, 0);
    exchange(p);
    g_assert_true(fake_poll_cq(at->e, at->cq, &cqe));
    IS(cqe.status, ERNIC_WC_SUCCESS);
    return key;
}

/* @opcode from @a to @b, with the preparation that it needs. */
static void request(Pair *p, uint8_t opcode, End *a, End *b)
{
    const ErnicWr *wr = ernic_wr(opcode);
    struct ernic_wqe wqe = { .opcode = opcode, .flags = ERNIC_WR_SIGNALED };

    if (opcode == ERNIC_WR_REG_MR) {
        reg_mr(a, &wqe);
    } else if (opcode == ERNIC_WR_BIND_MW) {
        bind_mw(a, &wqe);
    } else if (wr->flags & ERNIC_WRF_INV) {
        uint32_t key = GUINT32_TO_LE(valid_key(p, wr->flags & ERNIC_WRF_LOCAL ? a : b));

        memcpy(wqe.imm, &key, sizeof(key));
    }
    if (wr->flags & ERNIC_WRF_ATOMIC) {
        wqe.atomic.raddr = GUINT64_TO_LE(b->mem);
        wqe.atomic.rkey = GUINT32_TO_LE(b->key);
    } else if (wr->flags & ERNIC_WRF_RETH) {
        wqe.rdma.raddr = GUINT64_TO_LE(b->mem);
        wqe.rdma.rkey = GUINT32_TO_LE(b->key);
    } else if (a->qp->type == ERNIC_QPT_UD) {
        wqe.ud.dest_qpn = GUINT32_TO_LE(b->qp->qpn);
        wqe.ud.qkey = GUINT32_TO_LE(0x11111111);
        wqe.ud.av.hop_limit = 64;
        fake_gid(wqe.ud.av.dgid, b->e == p->e ? 1 : 2);
    }
    wqe.flush.type |= opcode == ERNIC_WR_FLUSH ? ERNIC_FLUSH_GLOBAL : 0;
    wqe.count = GUINT16_TO_LE(!!wr->max_sge);
    fake_recv(b->e, b->qp, b->mem + 4096, 4096, b->key);
    exchange(p);
    p->start = p->env.now;
    post_wqe(a, &wqe, wr->flags & (ERNIC_WRF_ATOMIC | ERNIC_WRF_WORD) ? 8 : 64);
    exchange(p);
}

/* Items that passed @stage of the timed engine since @before. */
static uint64_t passed(const Pair *p, const ErnicStageState *before, ErnicStage stage)
{
    return p->e->timing->server[stage].items - before[stage].items;
}

/* The stages of a request that the timed engine sends. */
static void sent_stages(const Pair *p, const ErnicWr *wr, const ErnicStageState *before)
{
    bool local = wr->flags & ERNIC_WRF_LOCAL;
    bool asks = (wr->flags & ERNIC_WRF_RESPONSE) && !(wr->flags & ERNIC_WRF_WORD) &&
                wr->max_sge;
    uint64_t again = local && (wr->flags & ERNIC_WRF_INV);  /* valid_key() */

    IS(passed(p, before, ERNIC_STAGE_WQE), 1 + again);
    IS(passed(p, before, ERNIC_STAGE_KEY), local + again);
    IS(passed(p, before, ERNIC_STAGE_TX_CONTEXT), !local);
    IS(passed(p, before, ERNIC_STAGE_DMA_READ), wr->max_sge && !asks);
    IS(passed(p, before, ERNIC_STAGE_BUILD), !local);
    IS(passed(p, before, ERNIC_STAGE_MAC), !local);
    IS(passed(p, before, ERNIC_STAGE_DMA_WRITE), asks);
    IS(passed(p, before, ERNIC_STAGE_CQE), 1 + again);
}

/* The stages of a request that it receives. */
static void received_stages(const Pair *p, const ErnicWr *wr, bool acked,
                            const ErnicStageState *before)
{
    bool read = wr->wc_opcode == ERNIC_WC_READ;
    bool atomic = wr->flags & ERNIC_WRF_ATOMIC;
    bool flush = wr->wc_opcode == ERNIC_WC_FLUSH;
    bool write = wr->wc_opcode == ERNIC_WC_WRITE || (wr->flags & ERNIC_WRF_WORD);
    /* some of them were passed in valid_key() */
    uint64_t inv = !!(wr->flags & ERNIC_WRF_INV);

    IS(passed(p, before, ERNIC_STAGE_RECEIVE), 1);
    IS(passed(p, before, ERNIC_STAGE_RX_CONTEXT), 1);
    IS(passed(p, before, ERNIC_STAGE_KEY), read + atomic + write + flush + 2 * inv);
    IS(passed(p, before, ERNIC_STAGE_DMA_WRITE), !read && !flush);
    IS(passed(p, before, ERNIC_STAGE_READ_RSP), read);
    IS(passed(p, before, ERNIC_STAGE_DMA_READ), read + atomic);
    IS(passed(p, before, ERNIC_STAGE_MAC), acked);
    IS(passed(p, before, ERNIC_STAGE_CQE),
       inv + !(read || atomic || flush || (write && !(wr->flags & ERNIC_WRF_IMM))));
}

/* @opcode on a service, from the timed engine or (@back) to it. */
static void one_opcode(uint8_t opcode, uint8_t service, uint8_t type, bool back)
{
    const ErnicWr *wr = ernic_wr(opcode);
    ErnicStageState before[ERNIC_STAGE_COUNT];
    struct ernic_cqe cqe;
    End end[2];
    Pair p;

    open_pair(&p, &hand, type);
    end[back] = (End) { p.e, &p.env, &p.qp, &p.cq, p.mem, p.key };
    end[!back] = (End) {
        p.peer, &p.peer_env, &p.peer_qp, &p.peer_cq, p.peer_mem, p.peer_key
    };
    memcpy(before, p.e->timing->server, sizeof(before));
    request(&p, opcode, &end[0], &end[1]);
    g_assert_true(fake_poll_cq(end[0].e, end[0].cq, &cqe));
    IS(cqe.status, ERNIC_WC_SUCCESS);
    IS(cqe.opcode, wr->wc_opcode);
    if (back) {
        received_stages(&p, wr, service == ERNIC_RC, before);
    } else {
        sent_stages(&p, wr, before);
    }
    close_pair(&p);
}

/* Each row of the table of work requests, on each service, there and back. */
TEST("/timing/opcodes", test_opcodes)
{
    static const struct {
        uint8_t service, type;
    } services[] = {
        { ERNIC_RC, ERNIC_QPT_RC }, { ERNIC_UC, ERNIC_QPT_UC },
        { ERNIC_UD, ERNIC_QPT_UD },
    };

    for (uint32_t opcode = 0; opcode < ERNIC_WR_COUNT; opcode++) {
        const ErnicWr *wr = ernic_wr(opcode);

        for (uint32_t s = 0; s < ARRAY_SIZE(services); s++) {
            if (!(wr->transports & 1 << services[s].service)) {
                continue;
            }
            g_test_message("%s, service %u", wr->name, s);
            one_opcode(opcode, services[s].service, services[s].type, false);
            if (!(wr->flags & ERNIC_WRF_LOCAL)) {
                one_opcode(opcode, services[s].service, services[s].type, true);
            }
        }
    }
}

/*
 * REG_MR: the store 102, wqe 1000 + 10 and 2 of work, key 25 + 500, with its work done
 * by the time that the tail arrives, then the completion: 90 and 10 of work.
 */
PAIR_TEST("/timing/local", test_local, RC)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;
    End one = (End) { p->e, &p->env, &p->qp, &p->cq, p->mem, p->key };

    reg_mr(&one, &wqe);
    p->start = p->env.now;
    post_wqe(&one, &wqe, 0);
    until(p, 102 + 1012 + 525 + 99);
    g_assert_false(fake_poll_cq(p->e, &p->cq, &cqe));
    until(p, 102 + 1012 + 525 + 100);
    g_assert_true(fake_poll_cq(p->e, &p->cq, &cqe));
    IS(cqe.opcode, ERNIC_WC_REG_MR);
}
