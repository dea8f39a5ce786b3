/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cost of a small message in calls that can be counted: methods of the interface,
 * accesses to guest memory, looks at what has departed. The benchmark needs an idle
 * host; this does not. A row that is exceeded is a cost that each message now pays.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "interfaces/interface.h"

#define SMALL   8               /* bytes of a message */
#define BATCH   16              /* messages between the two measurements */

static uint32_t interface_calls, departed_calls;

#define COUNTED(RET, NAME, PARAMS, ...)                                     \
    static RET count_##NAME PARAMS                                          \
    {                                                                       \
        interface_calls++;                                                       \
        return ernic_interface_verbs.NAME(__VA_ARGS__);                          \
    }

COUNTED(bool, fetch, (Ernic *e, ErnicQp *qp, ErnicWqe *wqe), e, qp, wqe)
COUNTED(void, complete_send, (Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                              ErnicFault fault), e, qp, wqe, fault)
COUNTED(ErnicFault, gather, (Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                             uint64_t off, const ErnicPkt *pkt, uint8_t *to),
        e, qp, wqe, off, pkt, to)
COUNTED(uint32_t, outstanding, (const ErnicQp *qp), qp)
COUNTED(bool, take_recv, (Ernic *e, ErnicQp *qp, ErnicRecv *recv), e, qp, recv)
COUNTED(void, complete_recv, (Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                              ErnicWc *wc, ErnicFault fault), e, qp, recv, wc, fault)
COUNTED(uint64_t, ack_delay, (const Ernic *e, const ErnicPkt *pkt), e, pkt)
COUNTED(void, post, (Ernic *e, uint32_t cqn, const ErnicWc *wc), e, cqn, wc)
COUNTED(uint16_t, pkey, (const Ernic *e, const ErnicQp *qp), e, qp)
COUNTED(bool, pkey_ok, (const Ernic *e, const ErnicQp *qp, uint16_t pkey), e, qp, pkey)
COUNTED(void, sent, (Ernic *e, uint32_t qpn, const ErnicPkt *pkt), e, qpn, pkt)
COUNTED(ErnicVerdict, check_packet, (Ernic *e, const ErnicArrival *a), e, a)
COUNTED(void, came, (Ernic *e, ErnicQp *qp, const ErnicPkt *pkt), e, qp, pkt)
COUNTED(void, refused, (Ernic *e, const ErnicArrival *a, const ErnicVerdict *v), e, a, v)

static uint64_t count_tx_departed(void *env)
{
    departed_calls++;
    return fake_env_ops.tx_departed(env);
}

static ErnicInterfaceOps interface;
static ErnicEnvOps env;

static void open_counted(Dialog *d)
{
    interface = ernic_interface_verbs;
    interface.fetch = count_fetch;
    interface.complete_send = count_complete_send;
    interface.gather = count_gather;
    interface.outstanding = count_outstanding;
    interface.take_recv = count_take_recv;
    interface.complete_recv = count_complete_recv;
    interface.ack_delay = count_ack_delay;
    interface.post = count_post;
    interface.pkey = count_pkey;
    interface.pkey_ok = count_pkey_ok;
    interface.sent = count_sent;
    interface.check_packet = count_check_packet;
    interface.came = count_came;
    interface.refused = count_refused;
    env = fake_env_ops;
    env.tx_departed = count_tx_departed;
    dlg_open(d, ERNIC_QPT_RC);
    d->e->interface = &interface;
    d->e->ops = &env;
}

typedef struct Cost {
    uint32_t interface, reads, writes, departed;
} Cost;

typedef void Traffic(Dialog *d, uint32_t psn, uint32_t n);

static void requests(Dialog *d, uint8_t opcode, uint32_t n)
{
    while (n--) {
        dlg_post(d, opcode, 0, SMALL);
    }
    fake_run(d->e);
}

static void take_packets(Dialog *d, uint32_t n)
{
    while (n--) {
        dlg_take(d);
    }
    QUIET(d);
}

static void take_completions(Dialog *d, FakeCq *cq, uint32_t n)
{
    struct ernic_cqe cqe;

    while (n--) {
        g_assert_true(fake_poll_cq(d->e, cq, &cqe));
        IS(cqe.status, ERNIC_WC_SUCCESS);
    }
}

static void acked(Dialog *d, uint8_t opcode, uint32_t psn, uint32_t n)
{
    requests(d, opcode, n);
    take_packets(d, n);
    PEER_ACK(d, DLG_SQ_PSN + psn + n - 1, psn + n);
    take_completions(d, &d->scq, n);
}

static void write_out(Dialog *d, uint32_t psn, uint32_t n)
{
    acked(d, ERNIC_WR_WRITE, psn, n);
}

static void send_out(Dialog *d, uint32_t psn, uint32_t n)
{
    acked(d, ERNIC_WR_SEND, psn, n);
}

static void read_out(Dialog *d, uint32_t psn, uint32_t n)
{
    requests(d, ERNIC_WR_READ, n);
    take_packets(d, n);
    for (uint32_t i = 0; i < n; i++) {
        PEER_DATA(d, READ_RSP_ONLY, DLG_SQ_PSN + psn + i, 0, SMALL, .msn = psn + i + 1,
                  .syndrome = DLG_ACK);
    }
    take_completions(d, &d->scq, n);
}

static void write_in(Dialog *d, uint32_t psn, uint32_t n)
{
    d->hold = true;
    for (uint32_t i = 0; i < n; i++) {
        PEER_DATA(d, WRITE_ONLY, DLG_RQ_PSN + psn + i, 0, SMALL, .va = d->mem,
                  .rkey = d->key, .dma_len = SMALL, .ackreq = i == n - 1);
    }
    d->hold = false;
    take_packets(d, 1);
}

static void send_in(Dialog *d, uint32_t psn, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        dlg_recv(d, DLG_SINK, SMALL);
    }
    d->hold = true;
    for (uint32_t i = 0; i < n; i++) {
        PEER_DATA(d, SEND_ONLY, DLG_RQ_PSN + psn + i, 0, SMALL, .ackreq = i == n - 1);
    }
    d->hold = false;
    take_packets(d, 1);
    take_completions(d, &d->rcq, n);
}

static void read_in(Dialog *d, uint32_t psn, uint32_t n)
{
    d->hold = true;
    for (uint32_t i = 0; i < n; i++) {
        PEER_READ(d, DLG_RQ_PSN + psn + i, 0, SMALL);
    }
    d->hold = false;
    take_packets(d, n);
}

static Cost cost_of(Traffic *traffic, uint32_t n)
{
    uint64_t reads, writes;
    Cost cost;
    Dialog d;

    open_counted(&d);
    traffic(&d, 0, 1);                  /* what is done once is done */
    interface_calls = departed_calls = 0;
    reads = d.env.reads;
    writes = d.env.writes;
    traffic(&d, 1, n);
    cost = (Cost) {
        .interface = interface_calls, .reads = d.env.reads - reads,
        .writes = d.env.writes - writes, .departed = departed_calls,
    };
    dlg_close(&d);
    return cost;
}

/*
 * At most, for each message of a batch and for the batch itself: methods of the
 * interface, reads and writes of guest memory, looks at what has departed. A completion
 * is two writes.
 */
typedef struct Row {
    const char *name;
    Traffic *traffic;
    Cost message, batch;
} Row;

static const Row rows[] = {
    { "write-out", write_out, { 7, 2, 2, 0 }, { 5, 0, 0, 1 } },
    { "send-out", send_out, { 7, 2, 2, 0 }, { 5, 0, 0, 1 } },
    { "read-out", read_out, { 10, 1, 3, 0 }, { 1, 0, 0, 1 } },
    { "write-in", write_in, { 4, 0, 1, 0 }, { 3, 0, 0, 0 } },
    { "send-in", send_in, { 7, 1, 3, 0 }, { 3, 0, 0, 0 } },
    { "read-in", read_in, { 5, 1, 0, 0 }, { 1, 0, 0, 0 } },
};

static void at_most(const char *what, uint32_t one, uint32_t many, uint32_t message,
                    uint32_t batch)
{
    uint32_t each = DIV_ROUND_UP(many - one, BATCH - 1);

    g_test_message("%s: %u for each message, %u for the batch", what, each, one - each);
    g_assert_cmpuint(each, <=, message);
    g_assert_cmpuint(one, <=, message + batch);
}

ROW_TEST("/cost", rows, row, test_cost)
{
    const Cost *message = &row->message, *batch = &row->batch;
    Cost one = cost_of(row->traffic, 1), many = cost_of(row->traffic, BATCH);

    at_most("methods of the interface", one.interface, many.interface,
            message->interface, batch->interface);
    at_most("reads of guest memory", one.reads, many.reads, message->reads, batch->reads);
    at_most("writes of guest memory", one.writes, many.writes, message->writes,
            batch->writes);
    at_most("looks at what has departed", one.departed, many.departed,
            message->departed, batch->departed);
}
