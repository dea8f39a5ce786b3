/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ethernet frames of the mlx5 interface between a small driver and the device's netdev:
 * queues, a flow table, frames both ways, and a large packet.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-mlx5.h"

#define HEAD        54              /* Ethernet, IPv4, TCP */
#define MSS         1000
#define CONTEXT     32              /* in messages that create or modify queues */
#define UDP         ",roce-udp=127.0.0.1:0"
#define USER_NET    ",netdev=user0 -netdev user,id=user0"

enum {
    CREATE_TIR = 0x900, CREATE_SQ = 0x904, MODIFY_SQ = 0x905, CREATE_RQ = 0x908,
    MODIFY_RQ = 0x909, CREATE_TIS = 0x912, SET_ROOT = 0x92f, CREATE_TABLE = 0x930,
    CREATE_GROUP = 0x933, SET_ENTRY = 0x936, ALLOC_DOMAIN = 0x816,
};

/* The driver, its queues, and the other end of the cable. */
typedef struct Cable {
    Mlx5 x;
    Mlx5Rdma r;
    int fd;                     /* the other end */
    uint32_t sqn, rqn, tirn, domain;
    uint64_t sq, rq, record;    /* rings, and doorbell records of 64 bytes each */
    uint64_t buf;
    uint16_t sent, posted;
} Cable;

/* A queue in state RDY, with 16 slots of 2^@log_stride bytes. */
static uint32_t create_queue(Cable *c, bool rq, uint64_t ring, uint64_t record,
                             uint32_t log_stride, uint32_t tis)
{
    uint8_t in[0x110 + 8] = { }, modify[0x110] = { };
    uint8_t *context = in + CONTEXT, *wq = context + 0x30;
    uint32_t number;

    stl_be_p(context + 8, c->r.cqn);
    if (!rq) {
        stw_be_p(context + 0x20, 1);
        stl_be_p(context + 0x2c, tis);
    }
    wq[0] = 1 << 4;                             /* a ring */
    stl_be_p(wq + 8, c->r.pd);
    stl_be_p(wq + 12, c->x.uar);
    stq_be_p(wq + 16, record);
    wq[0x21] = log_stride;
    wq[0x23] = 4;
    stq_be_p(wq + 0xc0, ring);
    number = mlx5_execute(&c->x, rq ? CREATE_RQ : CREATE_SQ, in, sizeof(in));
    stl_be_p(modify + 8, number);
    modify[CONTEXT + 1] = 1 << 4;
    mlx5_execute(&c->x, rq ? MODIFY_RQ : MODIFY_SQ, modify, sizeof(modify));
    return number;
}

static void set_root(Cable *c, uint32_t table)
{
    uint8_t root[0x40] = { };

    stl_be_p(root + 20, table);
    mlx5_execute(&c->x, SET_ROOT, root, sizeof(root));
}

/* One table, whose only entry sends all frames to a TIR of the receive queue. */
static void steer(Cable *c)
{
    uint8_t tir[0x110] = { }, table[0x40] = { }, group[0x400] = { };
    uint8_t entry[0x40 + 0x300 + 8] = { };
    uint32_t id;

    stl_be_p(tir + CONTEXT + 0x1c, c->rqn);
    stl_be_p(tir + CONTEXT + 0x24, c->domain);
    c->tirn = mlx5_execute(&c->x, CREATE_TIR, tir, sizeof(tir));
    id = mlx5_execute(&c->x, CREATE_TABLE, table, sizeof(table));
    stl_be_p(group + 20, id);
    stl_be_p(entry + 20, id);
    stl_be_p(entry + 0x40 + 4, mlx5_execute(&c->x, CREATE_GROUP, group, sizeof(group)));
    entry[0x40 + 0x0f] = 4;                     /* forward */
    entry[0x40 + 0x13] = 1;
    stl_be_p(entry + 0x40 + 0x300, 2u << 24 | c->tirn);
    mlx5_execute(&c->x, SET_ENTRY, entry, sizeof(entry));
    set_root(c, id);
}

/* @args: the device's further options, and those of its netdev. */
static void cable_begin(Cable *c, const char *args)
{
    uint8_t tis[0xc0] = { }, alloc[16] = { };

    mlx5_begin(&c->x, args);
    mlx5_probe(&c->x);
    mlx5_rdma_open(&c->x, &c->r);
    c->sq = mlx5_zeroed(&c->x, 4096);
    c->rq = mlx5_zeroed(&c->x, 4096);
    c->record = mlx5_zeroed(&c->x, 4096);
    c->buf = mlx5_zeroed(&c->x, 16384);
    c->domain = mlx5_execute(&c->x, ALLOC_DOMAIN, alloc, sizeof(alloc));
    stl_be_p(tis + CONTEXT + 0x24, c->domain);
    c->sqn = create_queue(c, false, c->sq, c->record, 6,
                          mlx5_execute(&c->x, CREATE_TIS, tis, sizeof(tis)));
    c->rqn = create_queue(c, true, c->rq, c->record + 64, 4, 0);
    steer(c);
}

static void cable_open(Cable *c, const char *more)
{
    g_autofree char *args = NULL;

    *c = (Cable) { };
    args = g_strdup_printf("%s,netdev=sock0 -netdev socket,fd=%d,id=sock0", more,
                           qernic_cable(&c->fd));
    cable_begin(c, args);
}

/* Headers without lengths and checksums, as those of a large packet. */
static void headers(uint8_t head[HEAD])
{
    static const uint8_t like[HEAD] = {
        2, 0, 0, 0, 0, 9, 0x52, 0x54, 0, 0, 0, 1, 8, 0,
        0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9,
        0x10, 0, 0x20, 0, 0, 0, 0, 1, 0, 0, 0, 0, 5 << 4, 0x18, 1, 0, 0, 0, 0, 0,
    };

    memcpy(head, like, HEAD);
}

/* A request of two blocks: @head in it, and @len bytes at buf. */
static void send_request(Cable *c, uint8_t opcode, uint32_t mss, const uint8_t *head,
                         uint32_t len)
{
    uint8_t wqe[128] = { [11] = 0x08 }, record[4];
    uint32_t at = 32 + ROUND_UP(HEAD - 2, 16);

    stl_be_p(wqe, c->sent << 8 | opcode);
    stl_be_p(wqe + 4, c->sqn << 8 | (at / 16 + 1));
    wqe[20] = 0xc0;                             /* both checksums */
    stw_be_p(wqe + 22, mss);
    stw_be_p(wqe + 28, HEAD);
    memcpy(wqe + 30, head, HEAD);
    stl_be_p(wqe + at, len);
    stl_be_p(wqe + at + 4, c->r.key);
    stq_be_p(wqe + at + 8, c->buf);
    qtest_memwrite(c->x.m->qts, c->sq + c->sent % 16 * 64, wqe, sizeof(wqe));
    c->sent += 2;
    stl_be_p(record, c->sent);
    qtest_memwrite(c->x.m->qts, c->record + 4, record, sizeof(record));
    qpci_io_writeq(&c->x.dev, c->x.bar, c->x.uar * 4096 + MLX5_BLUE_FLAME,
                   bswap64((uint64_t)c->sqn << 8));
}

/* Post @len bytes at buf. */
static void post_receive(Cable *c, uint32_t len)
{
    uint8_t slot[16], record[4];

    stl_be_p(slot, len);
    stl_be_p(slot + 4, c->r.key);
    stq_be_p(slot + 8, c->buf);
    qtest_memwrite(c->x.m->qts, c->rq + c->posted++ % 16 * 16, slot, sizeof(slot));
    stl_be_p(record, c->posted);
    qtest_memwrite(c->x.m->qts, c->record + 64, record, sizeof(record));
}

/* The frame has @len bytes of @data. */
static void check_frame(const uint8_t *frame, uint32_t frame_len, const uint8_t *data,
                        uint32_t len)
{
    g_assert_cmpuint(frame_len, ==, HEAD + len);
    g_assert_cmpmem(frame + HEAD, len, data, len);
}

/* A large packet, in frames of MSS bytes of data; the ring passes its end. */
WORLD_KINDS("/ernic-mlx5-frames/send", test_send, Cable, c, cable_open,
             { "", ",engine-thread=on" }, { "-udp", UDP },
             { "-main-loop", ",engine-thread=off" })
{
    uint8_t head[HEAD], data[3500], frame[2048], cqe[64];

    headers(head);
    for (uint32_t i = 0; i < sizeof(data); i++) {
        data[i] = i * 13 + (i >> 8);
    }
    qtest_memwrite(c->x.m->qts, c->buf, data, sizeof(data));
    for (uint32_t round = 0; round < 20; round++) {
        uint16_t before = c->sent;

        send_request(c, 0x0e, MSS, head, sizeof(data));
        mlx5_completion(&c->x, &c->r, cqe);
        g_assert_cmphex(cqe[63] >> 4, ==, 0);
        g_assert_cmpuint(lduw_be_p(cqe + 60), ==, before);
        g_assert_cmphex(ldl_be_p(cqe + 56), ==, 0x0e000000 | c->sqn);
        for (uint32_t at = 0; at < sizeof(data); at += MSS) {
            uint32_t len = qernic_from_wire(c->fd, frame, sizeof(frame));

            g_assert_cmpuint(ldl_be_p(frame + 38), ==, 1 + at);
            check_frame(frame, len, data + at, MIN(MSS, sizeof(data) - at));
        }
    }
    /* One frame; its length is in the headers. */
    stw_be_p(head + 16, 40 + MSS);
    send_request(c, 0x0a, 0, head, MSS);
    check_frame(frame, qernic_from_wire(c->fd, frame, sizeof(frame)), data, MSS);
}

/* Frames from the cable, of which the driver posts one request after the other. */
WORLD_KINDS("/ernic-mlx5-frames/receive", test_receive, Cable, c, cable_open,
             { "", ",engine-thread=on" }, { "-udp", UDP },
             { "-main-loop", ",engine-thread=off" },
             { "-iothread", ",iothread=io0" UDP })
{
    uint8_t frame[300], got[300], cqe[64];

    for (uint32_t round = 0; round < 40; round++) {
        headers(frame);
        for (uint32_t i = HEAD; i < sizeof(frame); i++) {
            frame[i] = round + i;
        }
        post_receive(c, sizeof(frame));
        qernic_to_wire(c->fd, frame, sizeof(frame));
        mlx5_completion(&c->x, &c->r, cqe);
        g_assert_cmphex(cqe[63] >> 4, ==, 2);
        g_assert_cmpuint(ldl_be_p(cqe + 44), ==, sizeof(frame));
        g_assert_cmpuint(lduw_be_p(cqe + 60), ==, round);
        qtest_memread(c->x.m->qts, c->buf, got, sizeof(got));
        g_assert_cmpmem(got, sizeof(got), frame, sizeof(frame));
    }
}

/* A backend that answers while it takes a frame: QEMU's own network, by ARP. */
MACHINE_KINDS("/ernic-mlx5-frames/answer", test_answer,
              { "", ",engine-thread=on" USER_NET },
              { "-main-loop", ",engine-thread=off" USER_NET })
{
    static const uint8_t request[HEAD] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6,
        4, 0, 1, 0x52, 0x54, 0, 0, 0, 1, 10, 0, 2, 15, 0, 0, 0, 0, 0, 0, 10, 0, 2, 2,
    };
    uint8_t frame[128], cqe[64];
    Cable c = { };

    cable_begin(&c, more);
    for (uint32_t round = 0; round < 3; round++) {
        post_receive(&c, sizeof(frame));
        send_request(&c, 0x0a, 0, request, 60 - HEAD);
        do {
            mlx5_completion(&c.x, &c.r, cqe);
        } while (cqe[63] >> 4 != 2);
        qtest_memread(c.x.m->qts, c.buf, frame, sizeof(frame));
        g_assert_cmpmem(frame, 6, request + 6, 6);
        g_assert_cmphex(lduw_be_p(frame + 20), ==, 2);          /* a reply */
        g_assert_cmpmem(frame + 28, 4, request + 38, 4);
    }
}
