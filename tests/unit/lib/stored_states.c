/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the states of tests/data/state are made: engines with traffic, by each interface,
 * with and without the timing model.
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "stored_states.h"
#include "strict_card.h"
#include "timing/timing.h"

/* The profile of stored states with a timing model. Its values never change. */
#define NS(n) ((n) * 1000ull)
static const ErnicProfile profile = {
    .core_ps = NS(1), .host_ps = NS(2), .wire_mbps = 8000, .wire_extra = 24,
    .wire_min = 60, .wire_flight = NS(50), .wqe_batch = 4, .wqe_miss = NS(1000),
    .wqe_fetches = 1, .key_update = NS(500), .context_entries = 4,
    .context_miss = NS(30), .key_entries = 4, .key_miss = NS(20),
    .read_overlap = 2, .dma_requests = 4, .dma_request = 512, .tx_packets = 4,
    .rx_packets = 4, .outstanding = 64, .retry_packets = 64, .ack_coalesce = 1,
    .stage = {
        [ERNIC_STAGE_DOORBELL] = { NS(100), 1 },
        [ERNIC_STAGE_WQE] = { NS(10), 2 },
        [ERNIC_STAGE_TX_CONTEXT] = { NS(20), 1 },
        [ERNIC_STAGE_DMA_READ] = { NS(300), 1, 0, 32 },
        [ERNIC_STAGE_BUILD] = { NS(40), 2, 3, 64 },
        [ERNIC_STAGE_RECEIVE] = { NS(60), 400, 9, 32 },
        [ERNIC_STAGE_DMA_WRITE] = { NS(80), 1, 0, 16 },
        [ERNIC_STAGE_CQE] = { NS(900), 5 },
        [ERNIC_STAGE_INTERRUPT] = { NS(2000), 1 },
    },
};

static uint64_t make_verbs(GByteArray *out)
{
    uint64_t now;
    Busy b;

    busy_init(&b);
    ernic_save(b.e, out);
    now = b.env.now;
    busy_fini(&b);
    return now;
}

/* Two queue pairs of one device; run until all FIFOs of the model hold an entry. */
static uint64_t make_verbs_timing(GByteArray *out)
{
    FakeEnv env;
    FakeQp a, b;
    FakeCq cq;
    FakeEq eq;
    Ernic *e = fake_ernic_timed(&env, &profile);
    uint32_t pd, key, n;
    uint64_t mem, now;

    pd = fake_create_pd(e);
    mem = fake_alloc(&env, 65536, 4096);
    key = fake_reg_mr(e, pd, mem, 65536, ERNIC_ACCESS_LOCAL_WRITE |
                      ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ);
    fake_create_eq(e, &eq, 64, 3, false);
    fake_create_cq(e, &cq, 256, eq.eqn);
    fake_create_qp(e, &a, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_create_qp(e, &b, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_connect(e, &a, b.qpn, 1);
    fake_connect(e, &b, a.qpn, 1);
    for (n = 0; n < 60; n++) {
        const ErnicTiming *t = e->timing;

        if (n < 12) {
            fake_rdma(e, &a, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, mem, 1500, key,
                      mem + 8192, key);
            fake_rdma(e, &b, ERNIC_WR_READ, ERNIC_WR_SIGNALED, mem, 3000, key,
                      mem + 8192, key);
        } else if (n % 3 == 0) {
            fake_arm_cq(e, &cq, false);
        }
        if (t->doorbells.count && t->tx.count && t->rx.count && t->cqes.count) {
            break;
        }
        fake_advance(e, 700);
    }
    g_assert_cmpuint(n, <, 60);
    ernic_save(e, out);
    now = env.now;
    fake_ernic_done(&env, e);
    return now;
}

static uint64_t make_pg332_timing(GByteArray *out)
{
    uint64_t now;
    Card c;

    card_timing = &profile;
    card_open(&c, 0, PG332_V3_1);
    for (uint32_t n = 0; n < 40 && !c.e->timing->tx.count; n++) {
        if (n < 3) {
            POST(&c, WRITE, 0x3000);
        }
        fake_advance(c.e, 400);
    }
    put_qp(&c, PG332_RQCI, 0);
    ernic_save(c.e, out);
    now = c.env.now;
    card_close(&c);
    card_timing = NULL;
    return now;
}

static uint64_t make_pg332_strict(GByteArray *out)
{
    uint64_t now;

    open_card(PG332_V4_2, ERNIC_STRICT_REPORT);
    bring_to(RUNNING);
    PLAY(W_Q(2, QDEPTH, 0x00080008));
    g_assert_cmpuint(all_counts(), >, 0);
    ernic_save(card.e, out);
    now = card.env.now;
    card_close(&card);
    return now;
}

const StoredState stored_states[STORED_STATES] = {
    { "verbs", { .max_qp = 64, .max_cq = 64, .max_srq = 16, .max_eq = 8, .max_mr = 256,
                 .max_pd = 32, .max_uctx = 8, .num_vectors = 8, .mtu = 5,
                 .link_speed = 40000, .raw = true }, make_verbs },
    { "verbs-timing", { .max_qp = 64, .max_cq = 64, .max_srq = 16, .max_eq = 8,
                        .max_mr = 256, .max_pd = 32, .max_uctx = 8, .num_vectors = 8,
                        .mtu = 5, .link_speed = 40000, .raw = true,
                        .timing = &profile }, make_verbs_timing },
    { "pg332-timing", { .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1,
                        .max_mr = 1, .max_pd = 1, .max_uctx = 1, .num_vectors = 1,
                        .mtu = 5, .link_speed = 100000, .pg332 = 1 + PG332_V3_1,
                        .timing = &profile }, make_pg332_timing },
    { "pg332-strict", { .max_qp = 33, .max_cq = 1, .max_srq = 1, .max_eq = 1,
                        .max_mr = 1, .max_pd = 1, .max_uctx = 1, .num_vectors = 1,
                        .mtu = 5, .link_speed = 100000, .pg332 = 1 + PG332_V4_2,
                        .strict = ERNIC_STRICT_REPORT },
      make_pg332_strict },
    { "mlx5", { .max_qp = 64, .max_cq = 64, .max_srq = 16, .max_eq = 8, .max_mr = 256,
                .max_pd = 32, .max_uctx = 8, .num_vectors = 8, .mtu = 5,
                .link_speed = 40000, .raw = true, .mlx5 = &stored_mlx5_config },
      stored_mlx5 },
};
