/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Transfers through guest memory: within a device, between two devices of one
 * virtual machine, and with a migration in the middle.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

#define OUT     0               /* offsets in the buffer */
#define IN      (128 * 1024)
#define LENGTH  5000            /* five packets */
#define GRH     40

static void pattern(QErnic *q, uint64_t at, uint32_t len, uint8_t seed)
{
    card_pattern(q->qts, q->buf + at, len, seed);
}

/* @len bytes at @at of @a equal those at @bt of @b, and zeros follow the latter. */
static void same(QErnic *a, uint64_t at, QErnic *b, uint64_t bt, uint32_t len)
{
    g_autofree uint8_t *x = g_malloc(len + 1), *y = g_malloc(len + 1);

    qtest_memread(a->qts, a->buf + at, x, len + 1);
    qtest_memread(b->qts, b->buf + bt, y, len + 1);
    g_assert_cmpmem(x, len, y, len);
    g_assert_cmpuint(y[len], ==, 0);
}

static void expect(QErnicQp *qp, uint8_t opcode, uint32_t len)
{
    struct ernic_cqe cqe;

    qernic_poll(qp, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    g_assert_cmpuint(cqe.opcode, ==, opcode);
    g_assert_cmpuint(le32_to_cpu(cqe.qpn), ==, qp->qpn);
    if (opcode == ERNIC_WC_RECV) {
        g_assert_cmpuint(le32_to_cpu(cqe.byte_len), ==, len);
    }
}

static void message(QErnicQp *from, QErnicQp *to)
{
    pattern(from->q, OUT, LENGTH, 1);
    qtest_memset(to->q->qts, to->q->buf + IN, 0, LENGTH + 1);
    qernic_post_recv(to, IN, LENGTH);
    qernic_send(from, OUT, LENGTH);
    expect(from, ERNIC_WC_SEND, 0);
    expect(to, ERNIC_WC_RECV, LENGTH);
    same(from->q, OUT, to->q, IN, LENGTH);
}

static void rdma(QErnicQp *from, QErnicQp *to, uint8_t opcode)
{
    bool read = opcode == ERNIC_WR_READ;
    struct ernic_wqe wqe = {
        .opcode = opcode,
        .rdma = { .raddr = cpu_to_le64(to->q->buf + (read ? OUT : IN)),
                  .rkey = cpu_to_le32(to->q->key) },
    };
    QErnic *source = read ? to->q : from->q, *sink = read ? from->q : to->q;

    pattern(source, OUT, LENGTH, opcode);
    qtest_memset(sink->qts, sink->buf + IN, 0, LENGTH + 1);
    qernic_post_send(from, &wqe, read ? IN : OUT, LENGTH);
    expect(from, read ? ERNIC_WC_READ : ERNIC_WC_WRITE, 0);
    /* A UC WRITE completes when it is sent: wait for the data. */
    qernic_wait_while(sink->qts, from->type == ERNIC_QPT_UC &&
                      qtest_readb(sink->qts, sink->buf + IN + LENGTH - 1) == 0);
    same(source, OUT, sink, IN, LENGTH);
}

static void fetch_add(QErnicQp *from, QErnicQp *to)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_FETCH_ADD,
        .atomic = { .raddr = cpu_to_le64(to->q->buf + IN),
                    .rkey = cpu_to_le32(to->q->key), .compare_add = cpu_to_le64(5) },
    };

    qtest_writeq(to->q->qts, to->q->buf + IN, 0x1111111111111111);
    qernic_post_send(from, &wqe, OUT, 8);
    expect(from, ERNIC_WC_FETCH_ADD, 0);
    g_assert_cmphex(qtest_readq(from->q->qts, from->q->buf + OUT), ==,
                    0x1111111111111111);
    g_assert_cmphex(qtest_readq(to->q->qts, to->q->buf + IN), ==, 0x1111111111111116);
}

static void compare_swap(QErnicQp *from, QErnicQp *to, uint64_t compare)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_CMP_SWAP,
        .atomic = { .raddr = cpu_to_le64(to->q->buf + IN),
                    .rkey = cpu_to_le32(to->q->key), .compare_add = cpu_to_le64(compare),
                    .swap = cpu_to_le64(99) },
    };

    qtest_writeq(to->q->qts, to->q->buf + IN, 42);
    qernic_post_send(from, &wqe, OUT, 8);
    expect(from, ERNIC_WC_CMP_SWAP, 0);
    g_assert_cmpuint(qtest_readq(from->q->qts, from->q->buf + OUT), ==, 42);
    g_assert_cmpuint(qtest_readq(to->q->qts, to->q->buf + IN), ==,
                     compare == 42 ? 99 : 42);
}

#define DATAGRAM    500
#define GSI_QKEY    0x80010000

/* Does not wait for the completion. */
static void send_datagram(QErnicQp *from, const uint8_t gid[16],
                          const uint8_t mac[6], uint32_t qpn, uint32_t qkey)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND,
        .ud = { .qkey = cpu_to_le32(qkey), .dest_qpn = cpu_to_le32(qpn),
                .av.hop_limit = 64 },
    };

    memcpy(wqe.ud.av.dgid, gid, 16);
    memcpy(wqe.ud.av.dmac, mac, 6);
    pattern(from->q, OUT, DATAGRAM, 9);
    qernic_post_send(from, &wqe, OUT, DATAGRAM);
}

static void post_datagram(QErnicQp *from, const uint8_t gid[16],
                          const uint8_t mac[6], uint32_t qpn, uint32_t qkey)
{
    send_datagram(from, gid, mac, qpn, qkey);
    expect(from, ERNIC_WC_SEND, 0);
}

void qernic_datagram(QErnicQp *from, const QErnicQp *to)
{
    const uint8_t mac[6] = { 0x52, 0x54, 0, 0, 0, to->q->gid[15] };

    post_datagram(from, to->q->gid, mac, to->qpn,
                  to->type == ERNIC_QPT_GSI ? GSI_QKEY : QERNIC_QKEY);
}

static void expect_datagram(QErnicQp *from, QErnicQp *to)
{
    struct ernic_cqe cqe;

    qernic_poll(to, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    g_assert_cmpuint(cqe.opcode, ==, ERNIC_WC_RECV);
    g_assert_cmpuint(le32_to_cpu(cqe.byte_len), ==, DATAGRAM + GRH);
    g_assert_cmpuint(le32_to_cpu(cqe.src_qp), ==, from->qpn);
    g_assert_cmphex(cqe.flags & ERNIC_CQE_GRH, !=, 0);
    /* The GRH of 40 bytes precedes the payload. */
    same(from->q, OUT, to->q, IN + GRH, DATAGRAM);
}

static void datagram(QErnicQp *from, QErnicQp *to)
{
    qtest_memset(to->q->qts, to->q->buf + IN, 0, 1024);
    qernic_post_recv(to, IN, 1024);
    qernic_datagram(from, to);
    expect_datagram(from, to);
}

static void rc_all(QErnic *a, QErnic *b)
{
    QErnicQp x, y;

    qernic_pair(a, b, &x, &y, ERNIC_QPT_RC);
    /* Enough transfers for every ring to wrap. */
    for (int i = 0; i < QERNIC_DEPTH; i++) {
        message(&x, &y);
        message(&y, &x);
        rdma(&x, &y, ERNIC_WR_WRITE);
        rdma(&y, &x, ERNIC_WR_READ);
    }
    fetch_add(&x, &y);
    compare_swap(&x, &y, 42);
    compare_swap(&y, &x, 43);
}

static void uc_all(QErnic *a, QErnic *b)
{
    QErnicQp x, y;

    qernic_pair(a, b, &x, &y, ERNIC_QPT_UC);
    message(&x, &y);
    rdma(&y, &x, ERNIC_WR_WRITE);
}

static void ud_all(QErnic *a, QErnic *b)
{
    QErnicQp x, y;

    qernic_pair(a, b, &x, &y, ERNIC_QPT_UD);
    datagram(&x, &y);
    datagram(&y, &x);
}

/* Each device has only one GSI queue pair. */
static void gsi_all(QErnic *a, QErnic *b)
{
    QErnicQp x, y;

    qernic_qp_create(a, &x, ERNIC_QPT_GSI);
    g_assert_cmpuint(x.qpn, ==, 1);
    qernic_qp_connect(&x, &x);
    if (a == b) {
        datagram(&x, &x);
    } else {
        qernic_self(b, &y, ERNIC_QPT_GSI);
        datagram(&x, &y);
        datagram(&y, &x);
        g_assert_cmpuint(qernic_cmd_handle(b, ERNIC_CMD_QP_DESTROY, 1), ==, ERNIC_OK);
    }
    g_assert_cmpuint(qernic_cmd_handle(a, ERNIC_CMD_QP_DESTROY, 1), ==, ERNIC_OK);
}

void qernic_transfers(QErnic *a, QErnic *b)
{
    rc_all(a, b);
    uc_all(a, b);
    ud_all(a, b);
    gsi_all(a, b);
}

static const uint8_t group_gid[16] = { [10] = 0xff, 0xff, 224, 0, 0, 5 };
static const uint8_t group_mac[6] = { 0x01, 0x00, 0x5e, 0, 0, 5 };

static void membership(QErnicQp *qp, uint8_t opcode)
{
    struct ernic_cmd cmd = { .opcode = opcode };

    memcpy(cmd.mcast.gid, group_gid, sizeof(group_gid));
    cmd.mcast.qpn = cpu_to_le32(qp->qpn);
    qernic_make(qp->q, &cmd);
}

static void to_group(QErnicQp *from)
{
    post_datagram(from, group_gid, group_mac, 0xffffff, QERNIC_QKEY);
}

void qernic_multicast(QErnic *a, QErnic *b)
{
    QErnicQp from, to[3];

    qernic_self(a, &from, ERNIC_QPT_UD);
    qtest_memset(b->qts, b->buf + IN, 0, 1024);
    for (int i = 0; i < 3; i++) {
        qernic_self(b, &to[i], ERNIC_QPT_UD);
        qernic_post_recv(&to[i], IN, 1024);
        qernic_post_recv(&to[i], IN, 1024);
    }
    /* Two members, one of which attaches twice, and one queue pair outside the group. */
    membership(&to[0], ERNIC_CMD_MCAST_ATTACH);
    membership(&to[0], ERNIC_CMD_MCAST_ATTACH);
    membership(&to[1], ERNIC_CMD_MCAST_ATTACH);
    to_group(&from);
    expect_datagram(&from, &to[0]);
    expect_datagram(&from, &to[1]);
    membership(&to[0], ERNIC_CMD_MCAST_DETACH);
    to_group(&from);
    expect_datagram(&from, &to[1]);
    g_assert_false(qernic_has_cqe(&to[0]));
    g_assert_false(qernic_has_cqe(&to[2]));
}

/*
 * A datagram to so many members that the receiver delivers it in several slices, and
 * another one that arrives with it. Nobody rings a doorbell of the receiver: it has to
 * serve the second one by itself.
 */
void qernic_crowd(QErnic *a, QErnic *b)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MCAST_ATTACH };
    const uint8_t mac[6] = { 0x52, 0x54, 0, 0, 0, b->gid[15] };
    QErnicQp from, to, member;

    qernic_pair(a, b, &from, &to, ERNIC_QPT_UD);
    memcpy(cmd.mcast.gid, group_gid, sizeof(group_gid));
    for (int i = 0; i < 900; i++) {
        qernic_qp_create(b, &member, ERNIC_QPT_UD);
        cmd.mcast.qpn = cpu_to_le32(member.qpn);
        qernic_make(b, &cmd);
    }
    qtest_memset(b->qts, b->buf + IN, 0, 1024);
    qernic_post_recv(&to, IN, 1024);
    /* Both leave in one run of the sender. */
    qernic_stop(a->qts);
    send_datagram(&from, group_gid, group_mac, 0xffffff, QERNIC_QKEY);
    send_datagram(&from, b->gid, mac, to.qpn, QERNIC_QKEY);
    qernic_cont(a->qts);
    expect(&from, ERNIC_WC_SEND, 0);
    expect(&from, ERNIC_WC_SEND, 0);
    expect_datagram(&from, &to);
}

/*
 * A receive request precedes the datagram by time, and more doorbells than one slice
 * takes precede the request.
 */
void qernic_stopped(QErnic *a, QErnic *b)
{
    QErnicQp from, to;

    qernic_pair(a, b, &from, &to, ERNIC_QPT_UD);
    qtest_memset(b->qts, b->buf + IN, 0, 1024);
    qernic_stop(b->qts);
    for (int i = 0; i < 2047; i++) {
        qernic_doorbell(b, 0, (uint64_t)ERNIC_DB_SQ << 56 | 5ull << 32);
    }
    qernic_post_recv(&to, IN, 1024);
    qernic_datagram(&from, &to);
    qernic_cont(b->qts);
    expect_datagram(&from, &to);
}

ERNIC_TEST("loopback", test_loopback)
{
    qernic_setup(q, 1);
    qernic_transfers(q, q);
    qernic_multicast(q, q);
}

/* A machine with ernic0 and ernic1, which has these properties. */
static QErnicMachine *two_devices(const char *more)
{
    return qernic_machine("-object iothread,id=io0"
                          VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0"
                          VERBS_NIC ",id=ernic1,addr=05.0,roce-udp=127.0.0.1:0%s",
                          more);
}

static void forget(QErnicMachine *m)
{
    static const char *const ids[] = { "ernic0", "ernic1" };

    for (int i = 0; i < 4; i++) {
        qernic_set(m->qts, ids[i / 2], "remove-peer", i % 2 ? "10.0.0.2" : "10.0.0.1");
    }
}

MACHINE_KINDS("/ernic-two-devices", test_two, { "", "" },
              { "-iothread", ",iothread=io0" })
{
    QErnicMachine *m = two_devices(more);
    QErnic *a = qernic_host(m, "ernic0", 4, 1), *b = qernic_host(m, "ernic1", 5, 2);

    card_introduce(a);
    qernic_transfers(a, b);
    forget(m);
}

#define I440FX_PAM0 0x59        /* f0000 to fffff */

/* DMA to registers, ROM and unmapped addresses fails, with an iothread or without. */
MACHINE_KINDS("/ernic-not-ram", test_not_ram, { "", "" },
              { "-iothread", ",iothread=io0" })
{
    QErnicMachine *m = two_devices(more);
    QErnic *q = qernic_at(m, "ernic1", 5);
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QUERY_DEVICE };
    QPCIDevice bridge = { .bus = m->bus };
    uint64_t at[4];

    qernic_enable(q);
    at[0] = q->bar.addr + offsetof(struct ernic_regs, cmd_addr);
    at[1] = 0xfffff000;
    at[2] = 1ull << 40;
    at[3] = (128ull << 20) - 8;         /* extends beyond the end of RAM */
    cmd.query.length = cpu_to_le32(sizeof(struct ernic_device_attr));
    for (int i = 0; i < ARRAY_SIZE(at); i++) {
        cmd.query.addr = cpu_to_le64(at[i]);
        g_assert_cmpuint(qernic_cmd(q, &cmd, NULL), ==, ERNIC_ERR_DMA);
    }
    cmd.query.addr = cpu_to_le64(q->scratch);
    qernic_make(q, &cmd);
    /* The chipset makes the same address RAM, ROM and RAM again. */
    cmd.query.addr = cpu_to_le64(0xf0000);
    for (int i = 0; i < 6; i++) {
        qpci_config_writeb(&bridge, I440FX_PAM0, i % 2 ? 0 : 0x30);
        g_assert_cmpuint(qernic_cmd(q, &cmd, NULL), ==, i % 2 ? ERNIC_ERR_DMA : ERNIC_OK);
    }
}

void qernic_begin(QErnic *q, QErnicQp *x, QErnicQp *y)
{
    qernic_pair(q, q, x, y, ERNIC_QPT_RC);
    pattern(q, OUT, LENGTH, 3);
    qernic_send(x, OUT, LENGTH);
    qernic_pass(q->qts, 20, 1000);
    g_assert_false(qernic_has_cqe(x));
}

void qernic_end(QErnicQp *x, QErnicQp *y)
{
    qtest_memset(y->q->qts, y->q->buf + IN, 0, LENGTH + 1);
    qernic_post_recv(y, IN, LENGTH);
    expect(x, ERNIC_WC_SEND, 0);
    expect(y, ERNIC_WC_RECV, LENGTH);
    same(x->q, OUT, y->q, IN, LENGTH);
}

/* The registers at an offset in both register blocks, except the time. */
static uint32_t eth_or_ring(QErnic *q, uint32_t off)
{
    bool time = (off & ~7u) == offsetof(struct ernic_regs, time);

    return qernic_read(q, ERNIC_ETH_OFFSET + off) ^ (time ? 0 : qernic_read(q, off));
}

ERNIC_TEST("migrate", test_migrate)
{
    uint32_t regs[64];
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_write64(q, ERNIC_ETH_OFFSET + 0x18, 0x123456789abcdef0);
    qernic_write(q, ERNIC_ETH_OFFSET + 0x0c, 0x7788);
    qernic_begin(q, &x, &y);
    for (uint32_t off = 0; off < sizeof(regs); off += 4) {
        regs[off / 4] = eth_or_ring(q, off);
    }
    qernic_migrate(q, "");
    for (uint32_t off = 0; off < sizeof(regs); off += 4) {
        g_assert_cmphex(regs[off / 4], ==, eth_or_ring(q, off));
    }
    qernic_nop(q);
    /* The driver continues on the destination: it posts the receive now. */
    qernic_end(&x, &y);
    message(&y, &x);
    rdma(&x, &y, ERNIC_WR_READ);
    qernic_post_recv(&y, IN, LENGTH);
    qernic_send(&x, OUT, LENGTH);
    expect(&x, ERNIC_WC_SEND, 0);
}

#define DESTINATION VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0"

/* A refused state has no effect, whether its content or its length is wrong. */
ERNIC_TEST("migrate-refused", test_refused)
{
    static const char magic[] = "RNICiCsT";
    static const uint32_t lengths[] = { 0x80000000, UINT32_MAX, (1u << 30) + 1, 5 };
    QErnicMachine *to;
    QErnicState s;
    char *at;

    qernic_setup(q, 1);
    qernic_state_save(q->qts, &s);
    at = qernic_state_find(&s, magic, strlen(magic));
    for (uint32_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        uint32_t was = ldl_be_p(at - 4);

        stl_be_p(at - 4, lengths[i]);
        g_assert_false(qernic_state_loads(&s, DESTINATION));
        stl_be_p(at - 4, was);
    }
    *at = 'X';
    g_assert_true(g_file_set_contents(s.path, s.bytes, s.len, NULL));
    to = qernic_machine(DESTINATION " -incoming defer");
    g_assert_false(qernic_load(to->qts, s.path));
    q->dev.bus->qts = to->qts;          /* its function has the same address */
    g_assert_cmphex(qernic_reg(q, magic), ==, ERNIC_MAGIC);
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_LINK);
    g_assert_cmphex(qernic_reg(q, cmd_pi), ==, 0);
}

/* Registers 8192 bytes at @off of device memory, zero-based; returns the key. */
static uint32_t memory_key(QErnic *q, uint64_t off)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf.addr = cpu_to_le64(ERNIC_ADDR_MEMORY + off),
                    .length = cpu_to_le64(8192), .pd = cpu_to_le32(q->pd),
                    .access = cpu_to_le32(ERNIC_ACCESS_FLAGS) },
    };

    return qernic_make(q, &cmd);
}

static void memory_request(QErnicQp *qp, uint8_t opcode, uint32_t key,
                           uint64_t at, uint32_t len, uint8_t status)
{
    struct ernic_wqe wqe = { .opcode = opcode };
    struct ernic_cqe cqe;

    if (opcode == ERNIC_WR_FETCH_ADD) {
        wqe.atomic.rkey = cpu_to_le32(key);
        wqe.atomic.compare_add = cpu_to_le64(3);
    } else {
        wqe.rdma.raddr = cpu_to_le64(at);
        wqe.rdma.rkey = cpu_to_le32(key);
    }
    qernic_post_send(qp, &wqe, opcode == ERNIC_WR_WRITE ? OUT : IN, len);
    qernic_poll(qp, &cqe);
    g_assert_cmpuint(cqe.status, ==, status);
}

ERNIC_TEST("memory", test_memory)
{
    uint64_t base = qernic_reg(q, mem_offset), size = qernic_reg(q, mem_size);
    uint8_t sent[LENGTH], got[LENGTH];
    QErnicQp x, y;
    uint32_t key;

    qernic_setup(q, 1);
    qernic_pair(q, q, &x, &y, ERNIC_QPT_RC);
    key = memory_key(q, 4096);
    pattern(q, OUT, LENGTH, 9);
    qtest_memread(q->qts, q->buf + OUT, sent, LENGTH);
    memory_request(&x, ERNIC_WR_WRITE, key, 100, LENGTH, ERNIC_WC_SUCCESS);
    qpci_memread(&q->dev, q->bar, base + 4196, got, LENGTH);
    g_assert_cmpmem(got, LENGTH, sent, LENGTH);
    memory_request(&x, ERNIC_WR_READ, key, 100, LENGTH, ERNIC_WC_SUCCESS);
    same(q, OUT, q, IN, LENGTH);

    qpci_io_writeq(&q->dev, q->bar, base + 4096, 39);
    memory_request(&x, ERNIC_WR_FETCH_ADD, key, 0, 8, ERNIC_WC_SUCCESS);
    g_assert_cmpuint(qtest_readq(q->qts, q->buf + IN), ==, 39);
    g_assert_cmpuint(qpci_io_readq(&q->dev, q->bar, base + 4096), ==, 42);

    /* Access the last byte of device memory, and the byte after it. */
    key = memory_key(q, size - 4096);
    memory_request(&x, ERNIC_WR_WRITE, key, 4095, 1, ERNIC_WC_SUCCESS);
    g_assert_cmphex(qpci_io_readb(&q->dev, q->bar, base + size - 1), ==, sent[0]);
    memory_request(&x, ERNIC_WR_WRITE, key, 4095, 2, ERNIC_WC_REM_OP_ERR);
}
