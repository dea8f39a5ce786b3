/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The small driver of the mlx5 interface. Offsets of fields are those of the layouts in
 * hw/rdma-ernic/engine/interfaces/mlx5.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-mlx5.h"

#define ENTRY       64
#define BOX         1024            /* distance of mailboxes */
#define BOXES       16
#define EQ_LOG      4
#define DEVFN       QPCI_DEVFN(4, 0)
#define MACHINE     " -object iothread,id=io0" \
                    " -device ernic,id=ernic0,addr=04.0,interface=mlx5%s"

QEMU_BUILD_BUG_ON(MLX5_MESSAGE != 16 + BOXES * 512);

/* ns in which the health counter moves: twice its period. */
#define HEALTH_NS   20000000

/* Registers of the initialization segment. */
enum { DOORBELL = 0x18, INITIALIZING = 0x1fc, HEALTH = 0x1010 };

enum {
    QUERY_HCA_CAP = 0x100, TEARDOWN_HCA = 0x103, ENABLE_HCA = 0x104, DISABLE_HCA = 0x105,
    QUERY_ISSI = 0x10a, SET_ISSI = 0x10b, CREATE_MKEY = 0x200, CREATE_EQ = 0x301,
    DESTROY_EQ = 0x302, CREATE_CQ = 0x400, CREATE_QP = 0x500, RST2INIT_QP = 0x502,
    INIT2RTR_QP = 0x503, RTR2RTS_QP = 0x504, SET_ROCE_ADDRESS = 0x761, ALLOC_PD = 0x800,
    ALLOC_UAR = 0x802, DEALLOC_UAR = 0x803,
};

uint32_t mlx5_get(Mlx5 *x, uint32_t off)
{
    return bswap32(qpci_io_readl(&x->dev, x->bar, off));
}

void mlx5_put(Mlx5 *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->dev, x->bar, off, bswap32(value));
}

uint64_t mlx5_zeroed(Mlx5 *x, size_t bytes)
{
    uint64_t addr = guest_alloc(&x->m->alloc, bytes);

    qtest_memset(x->m->qts, addr, 0, bytes);
    return addr;
}

void mlx5_take(Mlx5 *x, int devfn)
{
    QPCIDevice *dev = qpci_device_find(x->m->bus, devfn);

    g_assert_nonnull(dev);
    x->dev = *dev;
    g_free(dev);
    qpci_device_enable(&x->dev);
    x->bar = qpci_iomap(&x->dev, 0, NULL);
    x->page = mlx5_zeroed(x, 4096);
    x->in = mlx5_zeroed(x, BOXES * BOX);
    x->out = mlx5_zeroed(x, BOXES * BOX);
    x->eq = mlx5_zeroed(x, 4096);
}

void mlx5_begin(Mlx5 *x, const char *more)
{
    *x = (Mlx5) { };
    x->m = qernic_machine(MACHINE, more);
    x->log_qp = 10;
    mlx5_take(x, DEVFN);
}

void mlx5_migrate(Mlx5 *x, const char *more)
{
    g_autofree char *args = g_strdup_printf(MACHINE, more);

    qernic_migrate_as(&(QErnic) { .alloc = &x->m->alloc }, args);
}

static void boxes(Mlx5 *x, uint64_t first, const uint8_t *message, uint32_t len)
{
    uint32_t at, n = 0;

    for (at = 16; at < len; at += 512, n++) {
        uint8_t box[576] = { };

        memcpy(box, message + at, MIN(len - at, 512));
        stq_be_p(box + 560, first + (n + 1) * BOX);
        stl_be_p(box + 568, n);
        box[573] = 1;
        qtest_memwrite(x->m->qts, first + n * BOX, box, sizeof(box));
    }
}

/* Post @in as entry @number. */
void mlx5_post(Mlx5 *x, uint32_t number, const uint8_t *in, uint32_t in_len,
                 uint32_t out_len)
{
    static const uint8_t zeros[MLX5_MESSAGE];
    uint8_t entry[ENTRY] = { [0] = 7, [60] = 1, [63] = 1 };

    boxes(x, x->in, in, in_len);
    boxes(x, x->out, zeros, out_len);
    stl_be_p(entry + 4, in_len);
    stq_be_p(entry + 8, in_len > 16 ? x->in : 0);
    memcpy(entry + 16, in, 16);
    stq_be_p(entry + 48, out_len > 16 ? x->out : 0);
    stl_be_p(entry + 56, out_len);
    qtest_memwrite(x->m->qts, x->page + number * ENTRY, entry, sizeof(entry));
    mlx5_put(x, DOORBELL, 1u << number);
}

bool mlx5_is_done(Mlx5 *x, uint32_t number)
{
    return !(qtest_readb(x->m->qts, x->page + number * ENTRY + 63) & 1);
}

/* Wait for the answer of entry @number; returns its status. */
uint8_t mlx5_answer(Mlx5 *x, uint32_t number, uint8_t *out, uint32_t out_len)
{
    uint64_t entry = x->page + number * ENTRY;

    qernic_wait_while(x->m->qts, !mlx5_is_done(x, number));
    g_assert_cmphex(qtest_readb(x->m->qts, entry + 63), ==, 0);
    qtest_memread(x->m->qts, entry + 32, out, 16);
    for (uint32_t at = 16; at < out_len; at += 512) {
        qtest_memread(x->m->qts, x->out + (at - 16) / 512 * BOX, out + at,
                      MIN(out_len - at, 512));
    }
    return out[0];
}

/* Execute a command of 16 bytes with the word @b, and an answer of 16. */
uint8_t mlx5_command(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b, uint8_t *out)
{
    uint8_t in[16] = { };

    stw_be_p(in, opcode);
    stw_be_p(in + 6, op_mod);
    stl_be_p(in + 8, b);
    mlx5_post(x, 31, in, sizeof(in), 16);
    return mlx5_answer(x, 31, out, 16);
}

void mlx5_accepts(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b)
{
    uint8_t out[16];

    g_assert_cmphex(mlx5_command(x, opcode, op_mod, b, out), ==, 0);
}

static void attach(Mlx5 *x)
{
    uint32_t health;

    g_assert_cmphex(mlx5_get(x, MLX5_CMDIF) >> 16, ==, MLX5_CMDIF_REV);
    g_assert_cmphex(mlx5_get(x, MLX5_QUEUE_LOW) & 0xff, ==, 5 << 4 | 6);
    g_assert_cmphex(mlx5_get(x, INITIALIZING) >> 31, ==, 0);
    mlx5_put(x, MLX5_QUEUE_HIGH, x->page >> 32);
    mlx5_put(x, MLX5_QUEUE_LOW, x->page);
    g_assert_cmphex(mlx5_get(x, MLX5_QUEUE_LOW), ==, (uint32_t)x->page | 5 << 4 | 6);
    health = mlx5_get(x, HEALTH);
    qernic_pass(x->m->qts, 1, HEALTH_NS);
    g_assert_cmphex(mlx5_get(x, HEALTH), !=, health);
}

static void query_capabilities(Mlx5 *x)
{
    uint8_t in[16] = { 1 }, out[16 + 4096];

    in[7] = 1;                                  /* general, current values */
    mlx5_post(x, 0, in, sizeof(in), sizeof(out));
    g_assert_cmphex(mlx5_answer(x, 0, out, sizeof(out)), ==, 0);
    /* log_max_qp, bits 0x9b to 0x9f of the group: the default of max-qp is 1024. */
    g_assert_cmpuint(out[16 + 0x13] & 0x1f, ==, x->log_qp);
}

uint32_t mlx5_execute(Mlx5 *x, uint16_t opcode, uint8_t *in, uint32_t len)
{
    uint8_t out[16];

    stw_be_p(in, opcode);
    mlx5_post(x, 1, in, len, sizeof(out));
    g_assert_cmphex(mlx5_answer(x, 1, out, sizeof(out)), ==, 0);
    return ldl_be_p(out + 8) & 0xffffff;
}

/* All events that mlx5_core asks for, of commands and asynchronous ones. */
static void create_eq(Mlx5 *x)
{
    uint8_t in[272 + 8] = { };

    for (int i = 0; i < 1 << EQ_LOG; i++) {
        qtest_writeb(x->m->qts, x->eq + i * 64 + 63, 1);
    }
    stl_be_p(in + 16 + 12, EQ_LOG << 24 | x->uar);
    stl_be_p(in + 16 + 20, MLX5_VECTOR);
    stq_be_p(in + 88, 1 << 0x0a | 1 << 0x09 | 1 << 0x04);
    stq_be_p(in + 272, x->eq);
    x->eqn = mlx5_execute(x, CREATE_EQ, in, sizeof(in)) & 0xff;
    x->ci = 0;
}

void mlx5_ring_eq(Mlx5 *x, uint32_t offset)
{
    mlx5_put(x, x->uar * 4096 + offset, x->eqn << 24 | (x->ci & 0xffffff));
}

/* The vector of the next event, which is that of completed commands. */
uint32_t mlx5_wait_command_event(Mlx5 *x)
{
    uint64_t at = x->eq + x->ci % (1u << EQ_LOG) * 64;
    uint8_t eqe[64];

    qernic_wait_while(x->m->qts, (qtest_readb(x->m->qts, at + 63) ^ x->ci >> EQ_LOG) & 1);
    qtest_memread(x->m->qts, at, eqe, sizeof(eqe));
    g_assert_cmphex(eqe[1], ==, 0x0a);
    x->ci++;
    return ldl_be_p(eqe + 32);
}

void mlx5_probe(Mlx5 *x)
{
    uint8_t out[16];

    attach(x);
    mlx5_accepts(x, ENABLE_HCA, 0, 0);
    mlx5_accepts(x, QUERY_ISSI, 0, 0);
    mlx5_accepts(x, SET_ISSI, 0, 1);
    query_capabilities(x);
    mlx5_accepts(x, MLX5_QUERY_PAGES, 1, 0);
    mlx5_accepts(x, MLX5_QUERY_PAGES, 2, 0);
    mlx5_accepts(x, MLX5_INIT_HCA, 0, 0);
    g_assert_cmphex(mlx5_command(x, ALLOC_UAR, 0, 0, out), ==, 0);
    x->uar = ldl_be_p(out + 8);
    g_assert_cmpuint(x->uar, ==, 16);
    create_eq(x);                               /* polled: without an event */
    mlx5_ring_eq(x, MLX5_UAR_EQ_ARM);
}

void mlx5_remove_driver(Mlx5 *x)
{
    mlx5_accepts(x, DESTROY_EQ, 0, x->eqn);
    mlx5_accepts(x, DEALLOC_UAR, 0, x->uar);
    mlx5_accepts(x, TEARDOWN_HCA, 0, 0);
    mlx5_accepts(x, DISABLE_HCA, 0, 0);
}

/* Contexts in messages: of keys, completion queues and addresses; of queue pairs. */
#define CONTEXT     16
#define QPC         24
#define LIST        272             /* of pages, after a context */
#define PATH        (QPC + 24)
#define LOG_CQ      4
#define LOG_RQ      3
#define LOG_SQ      5
#define SLOT        64              /* bytes, of all rings */
#define SQ_AT       (SLOT << LOG_RQ)
#define SEND        0x0a
#define END_KEY     0x100

/* A field of @width bits at @bit of @p. */
static void field(uint8_t *p, uint32_t bit, uint32_t width, uint64_t value)
{
    for (uint32_t i = 0; i < width; i++) {
        uint32_t at = bit + width - 1 - i;

        if (value >> i & 1) {
            p[at / 8] |= 0x80 >> at % 8;
        }
    }
}

/* ::ffff:10.0.0.1 */
static void put_gid(uint8_t *p)
{
    memset(p + 10, 0xff, 2);
    stl_be_p(p + 12, 0x0a000001);
}

/* A key for all memory, and the completion queue. */
static void create_memory(Mlx5 *x, Mlx5Rdma *r)
{
    uint8_t pd[16] = { }, mkey[LIST] = { }, cq[LIST + 8] = { }, gid[48] = { };

    r->pd = mlx5_execute(x, ALLOC_PD, pd, sizeof(pd));
    field(mkey + CONTEXT, 18, 4, 0xf);          /* local and remote rights */
    field(mkey + CONTEXT, 32, 24, 0xffffff);    /* of any queue pair */
    field(mkey + CONTEXT, 96, 1, 1);            /* the whole bus */
    field(mkey + CONTEXT, 104, 24, r->pd);
    r->key = mlx5_execute(x, CREATE_MKEY, mkey, sizeof(mkey)) << 8;
    for (uint32_t i = 0; i < 1 << LOG_CQ; i++) {
        qtest_writeb(x->m->qts, r->cq + i * 64 + 63, 0xf1);
    }
    field(cq + CONTEXT, 99, 5, LOG_CQ);
    field(cq + CONTEXT, 104, 24, x->uar);
    field(cq + CONTEXT, 160, 32, x->eqn);
    stq_be_p(cq + CONTEXT + 56, r->record + 8);
    stq_be_p(cq + LIST, r->cq);
    r->cqn = mlx5_execute(x, CREATE_CQ, cq, sizeof(cq));
    put_gid(gid + CONTEXT);
    field(gid + CONTEXT, 160, 32, 1);
    field(gid + CONTEXT, 216, 8, 2);            /* RoCE version 2 */
    mlx5_execute(x, SET_ROCE_ADDRESS, gid, sizeof(gid));
}

uint8_t mlx5_add_qp(Mlx5 *x, Mlx5Rdma *r, uint32_t log_sq)
{
    uint8_t in[LIST + 16] = { }, out[16], status;

    field(in + QPC, 19, 2, 3);
    field(in + QPC, 40, 24, r->pd);
    field(in + QPC, 73, 4, LOG_RQ);
    field(in + QPC, 77, 3, 2);                  /* 16 << 2 bytes */
    field(in + QPC, 81, 4, log_sq);
    field(in + QPC, 104, 24, x->uar);
    field(in + QPC, 1000, 24, r->cqn);
    field(in + QPC, 1256, 24, r->cqn);
    stq_be_p(in + QPC + 160, r->record);
    stq_be_p(in + LIST, r->ring);
    stq_be_p(in + LIST + 8, r->ring);           /* of a longer ring */
    stw_be_p(in, CREATE_QP);
    mlx5_post(x, 1, in, sizeof(in), sizeof(out));
    status = mlx5_answer(x, 1, out, sizeof(out));
    r->qpn = ldl_be_p(out + 8) & 0xffffff;
    return status;
}

/* Connect it to itself. A receiver without a request lets the sender try for ever. */
static void connect_qp(Mlx5 *x, Mlx5Rdma *r)
{
    uint8_t init[LIST] = { }, rtr[LIST] = { }, rts[LIST] = { };

    field(init, 72, 24, r->qpn);
    field(init + PATH, 296, 8, 1);
    field(init + QPC, 1168, 2, 3);
    mlx5_execute(x, RST2INIT_QP, init, sizeof(init));
    field(rtr, 72, 24, r->qpn);
    field(rtr + QPC, 64, 3, 3);
    field(rtr + QPC, 168, 24, r->qpn);
    field(rtr + QPC, 1187, 5, 1);
    field(rtr + PATH, 88, 8, 64);
    field(rtr + PATH, 320, 32, 1);
    put_gid(rtr + PATH + 16);
    mlx5_execute(x, INIT2RTR_QP, rtr, sizeof(rtr));
    field(rts, 72, 24, r->qpn);
    field(rts + QPC, 909, 3, 7);
    field(rts + QPC, 912, 3, 7);
    field(rts + PATH, 64, 5, 14);
    mlx5_execute(x, RTR2RTS_QP, rts, sizeof(rts));
}

void mlx5_rdma_open(Mlx5 *x, Mlx5Rdma *r)
{
    *r = (Mlx5Rdma) {
        .ring = mlx5_zeroed(x, 4096), .cq = mlx5_zeroed(x, 4096),
        .record = mlx5_zeroed(x, 4096),
    };
    create_memory(x, r);
    g_assert_cmphex(mlx5_add_qp(x, r, LOG_SQ), ==, 0);
    connect_qp(x, r);
}

static void put_data(uint8_t *segment, uint64_t addr, uint32_t len, uint32_t key)
{
    stl_be_p(segment, len);
    stl_be_p(segment + 4, key);
    stq_be_p(segment + 8, addr);
}

void mlx5_post_send(Mlx5 *x, Mlx5Rdma *r, uint64_t addr, uint32_t len)
{
    uint32_t slot = r->sent % (1u << LOG_SQ);
    uint8_t wqe[SLOT] = { [11] = 0x08 };        /* always with a completion */

    stl_be_p(wqe, r->sent << 8 | SEND);
    stl_be_p(wqe + 4, r->qpn << 8 | 2);
    put_data(wqe + 16, addr, len, r->key);
    qtest_memwrite(x->m->qts, r->ring + SQ_AT + slot * SLOT, wqe, sizeof(wqe));
    r->sent++;
}

void mlx5_post_recv(Mlx5 *x, Mlx5Rdma *r, uint64_t addr, uint32_t len)
{
    uint32_t slot = r->received++ % (1u << LOG_RQ);
    uint8_t wqe[SLOT] = { }, record[4];

    put_data(wqe, addr, len, r->key);
    put_data(wqe + 16, 0, 0, END_KEY);
    qtest_memwrite(x->m->qts, r->ring + slot * SLOT, wqe, sizeof(wqe));
    stl_be_p(record, r->received);
    qtest_memwrite(x->m->qts, r->record, record, sizeof(record));
}

void mlx5_ring_sq(Mlx5 *x, Mlx5Rdma *r)
{
    uint8_t record[4];

    stl_be_p(record, r->sent);
    qtest_memwrite(x->m->qts, r->record + 4, record, sizeof(record));
    qpci_io_writeq(&x->dev, x->bar, x->uar * 4096 + MLX5_BLUE_FLAME,
                   bswap64((uint64_t)r->qpn << 8));
}

bool mlx5_poll(Mlx5 *x, Mlx5Rdma *r, uint8_t cqe[64])
{
    uint64_t at = r->cq + r->ci % (1u << LOG_CQ) * 64;
    uint8_t record[4];

    qtest_memread(x->m->qts, at, cqe, 64);
    if (cqe[63] >> 4 == 0xf || (cqe[63] ^ r->ci >> LOG_CQ) & 1) {
        return false;
    }
    stl_be_p(record, ++r->ci);
    qtest_memwrite(x->m->qts, r->record + 8, record, sizeof(record));
    return true;
}

void mlx5_completion(Mlx5 *x, Mlx5Rdma *r, uint8_t cqe[64])
{
    qernic_wait_while(x->m->qts, !mlx5_poll(x, r, cqe));
}
