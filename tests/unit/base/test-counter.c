/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of queue pairs: which queue pair counts where, what remains after queue
 * pairs are destroyed, and that their sum is what the device has counted.
 */
#include "qemu/osdep.h"
#include "objects/counter.h"
#include "fake_verbs.h"
#include "test.h"
#include "transport/qp.h"

#define ROWS (sizeof(ErnicQpStats) / sizeof(uint64_t))

/* Two connections of the device with itself: 0 and 1, 2 and 3. */
typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    FakeCq cq;
    FakeQp qp[4];
    uint64_t mem;
    uint32_t key;
} Fixture;

static void setup(Fixture *f)
{
    uint32_t pd;

    f->e = fake_ernic_new(&f->env);
    pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &f->cq, 256, FAKE_NONE);
    f->mem = fake_alloc(&f->env, 4096, 64);
    f->key = fake_reg_mr(f->e, pd, f->mem, 4096, ERNIC_ACCESS_LOCAL_WRITE |
                                                 ERNIC_ACCESS_REMOTE_WRITE |
                                                 ERNIC_ACCESS_REMOTE_READ);
    for (uint32_t i = 0; i < ARRAY_SIZE(f->qp); i++) {
        fake_create_qp(f->e, &f->qp[i], ERNIC_QPT_RC, pd, f->cq.cqn, f->cq.cqn,
                       FAKE_NONE);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(f->qp); i++) {
        fake_connect(f->e, &f->qp[i], f->qp[i ^ 1].qpn, 1);
    }
}

static uint32_t alloc(Fixture *f)
{
    return fake_make(f->e, &(struct ernic_cmd) { .opcode = ERNIC_CMD_COUNTER_ALLOC });
}

static uint8_t bind_number(Fixture *f, uint32_t qpn, uint32_t counter)
{
    return CMD(f->e, COUNTER_BIND, cmd.counter_bind.qpn = cpu_to_le32(qpn);
               cmd.counter_bind.counter = cpu_to_le32(counter));
}

static void bind_to(Fixture *f, uint32_t i, uint32_t counter)
{
    OK(bind_number(f, f->qp[i].qpn, counter));
}

/* Read a counter by command. */
static uint8_t query(Fixture *f, uint32_t counter, ErnicQpStats *stats)
{
    uint64_t at = fake_alloc(&f->env, sizeof(*stats), 8), *row = (void *)stats;
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_COUNTER_QUERY };
    struct ernic_rsp rsp;
    uint8_t status;

    cmd.query.addr = cpu_to_le64(at);
    cmd.query.length = cpu_to_le32(sizeof(*stats));
    cmd.query.handle = cpu_to_le32(counter);
    status = fake_cmd(f->e, &cmd, &rsp);
    if (!status) {
        IS(le32_to_cpu(rsp.length), sizeof(*stats));
        for (uint32_t i = 0; i < ROWS; i++) {
            row[i] = fake_get64(&f->env, at + 8 * i);
        }
    }
    return status;
}

/* Exactly the rows of @want are not 0. */
static void holds(Fixture *f, uint32_t counter, ErnicQpStats want)
{
    ErnicQpStats stats;

    OK(query(f, counter, &stats));
#define X(name) IS(stats.name, want.name);
    ERNIC_QP_STATS_LIST(X)
#undef X
}
#define HOLDS(f, counter, ...) holds(f, counter, (ErnicQpStats) { __VA_ARGS__ })

/* The sum of all counters, also of destroyed ones, is the device's. */
static void whole(Fixture *f)
{
    ErnicQpStats sum = { };

    for (uint32_t i = 0; i <= ERNIC_LIM_COUNTER; i++) {
#define X(name) sum.name += f->e->counter[i].stats.name;
        ERNIC_QP_STATS_LIST(X)
#undef X
    }
#define X(name) IS(sum.name, f->e->stats.name);
    ERNIC_QP_STATS_LIST(X)
#undef X
}

static uint8_t free_counter(Fixture *f, uint32_t counter)
{
    return fake_destroy(f->e, ERNIC_CMD_COUNTER_FREE, counter);
}

/* No receive is posted; then the sender is reset and destroyed: its counts stay. */
ENGINE_TEST("/counter/outlives", test_outlives)
{
    uint32_t sender = alloc(f), receiver = alloc(f);

    bind_to(f, 0, sender);
    bind_to(f, 1, receiver);
    fake_send(f->e, &f->qp[0], ERNIC_WR_SEND, ERNIC_WR_SIGNALED, f->mem, 16, f->key);
    fake_run(f->e);
    HOLDS(f, sender, .tx_messages = 1, .rx_rnr_naks = 1);
    HOLDS(f, receiver, .tx_rnr_naks = 1);
    fake_recv(f->e, &f->qp[1], f->mem + 128, 16, f->key);
    fake_advance(f->e, 10 * 1000 * 1000);
    HOLDS(f, sender, .tx_messages = 2, .rx_rnr_naks = 1, .retransmits = 1, .rx_acks = 1);
    HOLDS(f, receiver, .tx_rnr_naks = 1, .rx_messages = 1, .tx_acks = 1);

    OK(fake_modify_qp(f->e, f->qp[0].qpn,
                      ERNIC_QPA_STATE, ERNIC_QPS_RESET, &(struct ernic_qp_attr) { }));
    IS(f->e->qp[f->qp[0].qpn].counter, sender);
    IS(free_counter(f, sender), ERNIC_ERR_BUSY);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, f->qp[0].qpn));
    HOLDS(f, sender, .tx_messages = 2, .rx_rnr_naks = 1, .retransmits = 1, .rx_acks = 1);
    whole(f);
    OK(free_counter(f, sender));
    IS(free_counter(f, sender), ERNIC_ERR_HANDLE);
    IS(alloc(f), sender);
    HOLDS(f, sender, 0);
}

ENGINE_TEST("/counter/refused", test_refused)
{
    uint32_t one = alloc(f), i;
    ErnicQpStats stats;

    IS(query(f, one + 1, &stats), ERNIC_ERR_HANDLE);
    IS(query(f, UINT32_MAX, &stats), ERNIC_ERR_HANDLE);
    IS(free_counter(f, 0), ERNIC_ERR_HANDLE);
    IS(free_counter(f, ERNIC_LIM_COUNTER + 1), ERNIC_ERR_HANDLE);
    IS(bind_number(f, f->qp[0].qpn, one + 1), ERNIC_ERR_HANDLE);
    IS(bind_number(f, f->qp[0].qpn, ERNIC_LIM_COUNTER + 1), ERNIC_ERR_HANDLE);
    IS(bind_number(f, 0, one), ERNIC_ERR_HANDLE);
    IS(bind_number(f, f->qp[3].qpn + 1, one), ERNIC_ERR_HANDLE);
    IS(bind_number(f, UINT32_MAX, one), ERNIC_ERR_HANDLE);
    for (i = one; i < ERNIC_LIM_COUNTER; i++) {
        IS(alloc(f), i + 1);
    }
    IS(fake_cmd(f->e, &(struct ernic_cmd) { .opcode = ERNIC_CMD_COUNTER_ALLOC }, NULL),
       ERNIC_ERR_NO_RESOURCE);
}
