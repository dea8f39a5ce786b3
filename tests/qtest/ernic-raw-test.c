/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Raw packet queue pairs in the device: their frames on its netdev, with and without
 * a UDP link, and which part of the device receives a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-eth.h"

#define LEN     300             /* of frames */
#define TO      4096            /* where frames are received, in the buffer */

typedef struct World {
    QErnicMachine *m;
    QErnic *q;
    QErnicQp qp;
    int fd;                     /* the other end of the backend */
} World;

static void setup(World *w, const char *more)
{
    w->m = qernic_machine("-netdev socket,fd=%d,id=sock0 -object iothread,id=io0"
                          VERBS_NIC ",id=raw0,addr=06.0,netdev=sock0,"
                          "mac=52:54:00:00:00:42%s", qernic_cable(&w->fd), more);
    w->q = qernic_host(w->m, "raw0", 6, 1);
    qernic_self(w->q, &w->qp, ERNIC_QPT_RAW);
}

static uint32_t rule(World *w, struct ernic_flow_rule rule)
{
    rule.qpn = cpu_to_le32(w->qp.qpn);
    return qernic_make_with(w->q, ERNIC_CMD_FLOW_CREATE, &rule, sizeof(rule));
}

static void fill(uint8_t *frame, uint32_t len, const char *type)
{
    for (uint32_t i = 0; i < len; i++) {
        frame[i] = i * 5 + 1;
    }
    memcpy(frame, "\x02\x00\x00\x00\x00\x77\x52\x54\x00\x99\x99\x99", 12);
    memcpy(frame + 12, type, 2);
}

static void to_wire(World *w, const uint8_t *frame, uint32_t len)
{
    qernic_to_wire(w->fd, frame, len);
}

static void from_wire(World *w, const uint8_t *frame, uint32_t len)
{
    g_autofree uint8_t *got = g_malloc(len);

    g_assert_cmpuint(qernic_from_wire(w->fd, got, len), ==, len);
    g_assert_cmpmem(got, len, frame, len);
}

static void send_frame(World *w, const uint8_t *frame, uint32_t len)
{
    qtest_memwrite(w->q->qts, w->q->buf, frame, len);
    qernic_send(&w->qp, 0, len);
}

static void completes(World *w, uint8_t opcode, uint32_t len)
{
    struct ernic_cqe cqe;

    qernic_poll(&w->qp, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    g_assert_cmpuint(cqe.opcode, ==, opcode);
    g_assert_cmpuint(le32_to_cpu(cqe.byte_len), ==, len);
}

static void received(World *w, const uint8_t *frame, uint32_t len)
{
    g_autofree uint8_t *got = g_malloc(len);

    completes(w, ERNIC_WC_RECV, len);
    qtest_memread(w->q->qts, w->q->buf + TO, got, len);
    g_assert_cmpmem(got, len, frame, len);
    qtest_memset(w->q->qts, w->q->buf + TO, 0, len);
}

/* A frame to itself: it is received in the device, and sent when the netdev has it. */
static void sent_and_received(World *w, const uint8_t *frame, uint32_t len)
{
    uint8_t seen = 0, got[LEN];
    struct ernic_cqe cqe;

    for (int i = 0; i < 2; i++) {
        qernic_poll(&w->qp, &cqe);
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
        g_assert_cmpuint(le32_to_cpu(cqe.byte_len), ==, len);
        seen |= cqe.opcode == ERNIC_WC_SEND ? 1 : cqe.opcode == ERNIC_WC_RECV ? 2 : 4;
    }
    g_assert_cmphex(seen, ==, 3);
    qtest_memread(w->q->qts, w->q->buf + TO, got, len);
    g_assert_cmpmem(got, len, frame, len);
}

/* Waits until the counter @name is @was + 1. */
static void counts(World *w, const char *name, uint64_t was)
{
    qernic_wait_while(w->q->qts, qernic_stat(w->q, name) == was);
    g_assert_cmpuint(qernic_stat(w->q, name), ==, was + 1);
}

/* Sends frames, receives frames by a flow rule, then destroys the rule. */
WORLD_KINDS("/ernic-raw/frames", test_frames, World, w, setup,
            { "", ",engine-thread=on" },
            { "-udp", ",roce-udp=127.0.0.1:0" }, { "-main-loop", ",engine-thread=off" },
            { "-iothread", ",roce-udp=127.0.0.1:0,iothread=io0" })
{
    static const struct ernic_flow_rule type = {
        .value.ethertype = { 0x88, 0xb5 }, .mask.ethertype = { 0xff, 0xff },
    };
    uint8_t frame[LEN], other[LEN];
    uint32_t handle;

    fill(frame, LEN, "\x88\xb5");
    fill(other, LEN, "\x88\xb6");
    for (uint32_t i = 0; i < 3; i++) {
        send_frame(w, frame, LEN - i);
        from_wire(w, frame, LEN - i);
        completes(w, ERNIC_WC_SEND, LEN - i);
    }
    handle = rule(w, type);
    for (uint32_t i = 0; i < 3; i++) {
        qernic_post_recv(&w->qp, TO, LEN);
        to_wire(w, other, LEN);
        to_wire(w, frame, LEN - i);
        received(w, frame, LEN - i);
    }
    /* A sent frame that matches the own rule is received, and goes to the wire too. */
    qernic_post_recv(&w->qp, TO, LEN);
    send_frame(w, frame, LEN);
    from_wire(w, frame, LEN);
    sent_and_received(w, frame, LEN);
    g_assert_cmpuint(qernic_stat(w->q, "tx_frames"), ==, 4);
    g_assert_cmpuint(qernic_stat(w->q, "rx_frames"), ==, 4);
    g_assert_cmpuint(qernic_cmd_handle(w->q, ERNIC_CMD_FLOW_DESTROY, handle),
                     ==, ERNIC_OK);
    send_frame(w, frame, LEN);
    from_wire(w, frame, LEN);
    completes(w, ERNIC_WC_SEND, LEN);
}

static bool completes_soon(World *w)
{
    int i;

    for (i = 0; i < 500 && !qernic_has_cqe(&w->qp); i++) {
        qtest_clock_step(w->q->qts, 1000);
        g_usleep(1000);
    }
    return i < 500;
}

/* The peer does not read: the queue pair waits, loses nothing, and goes on. */
WORLD_KINDS("/ernic-raw/held", test_held, World, w, setup,
             { "", ",engine-thread=on" }, { "-main-loop", ",engine-thread=off" })
{
    uint8_t frame[8192];
    uint32_t sent = 0, i;

    fill(frame, sizeof(frame), "\x88\xb5");
    do {
        stl_be_p(frame + 14, sent++);
        send_frame(w, frame, sizeof(frame));
        g_assert_cmpuint(sent, <, 1000);
        if (!completes_soon(w)) {
            break;
        }
        completes(w, ERNIC_WC_SEND, sizeof(frame));
    } while (true);
    for (i = 0; i < sent; i++) {
        stl_be_p(frame + 14, i);
        from_wire(w, frame, sizeof(frame));
    }
    completes(w, ERNIC_WC_SEND, sizeof(frame));
}

/* The netdev is full: with a UDP link, frames are lost and the engine does not wait. */
WORLD_KINDS("/ernic-raw/full-udp", test_full, World, w, setup,
             { "", ",roce-udp=127.0.0.1:0" })
{
    uint8_t frame[2048];
    uint32_t i;

    fill(frame, sizeof(frame), "\x88\xb5");
    for (i = 0; i < 1000 && qernic_stat(w->q, "eth.tx_errors") < 3; i++) {
        send_frame(w, frame, sizeof(frame));
        completes(w, ERNIC_WC_SEND, sizeof(frame));
    }
    g_assert_cmpuint(i, >, 3);
    g_assert_cmpuint(qernic_stat(w->q, "eth.tx_errors"), ==, 3);
}

/* RoCEv2 packets to the device have priority, then flow rules, then the ring. */
WORLD_KINDS("/ernic-raw/whose", test_whose, World, w, setup, { "", "" })
{
    uint8_t roce[ETH_ROCE], frame[LEN];

    qeth_roce(roce, ETH_GOOD);
    fill(frame, LEN, "\x88\xb5");
    memcpy(roce, frame, 6);                     /* the address alone decides: any MAC */
    rule(w, (struct ernic_flow_rule) { });
    qernic_post_recv(&w->qp, TO, LEN);
    to_wire(w, roce, sizeof(roce));
    counts(w, "rx_packets", 0);
    to_wire(w, frame, LEN);
    received(w, frame, LEN);
    /* No receive is posted: the frame is lost; it does not go to the ring. */
    to_wire(w, frame, LEN);
    counts(w, "rx_frames", 1);
    g_assert_cmpuint(qernic_stat(w->q, "faults.rnr"), ==, 1);
}
