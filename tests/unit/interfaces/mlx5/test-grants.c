/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Drivers compute from the sizes of requests in the capabilities how many segments and
 * inline bytes they grant to programs. Requests with exactly as many are executed.
 */
#include "qemu/osdep.h"
#include "mlx5_frames.h"
#include "mlx5_queues.h"
#include "objects/srq.h"

/* Bytes of segments. */
enum { CONTROL = 16, REMOTE = 16, POINTER = 16, VECTOR = 48, HEADER = 4 };
/* The kernel counts no more of a request of RC than this. */
#define KERNEL_RC   512
/* Data of each pointer; they do not touch one another. */
#define PIECE       7
#define STEP        16

/*
 * The bytes that sq_overhead() of the provider (rdma-core 44 to 65) and of mlx5_ib (6.1
 * to 7.2) reserve in front of the data: for RC and UC those of the request that binds a
 * window or registers a region.
 */
typedef struct Grant {
    const char *name;
    uint8_t type, opcode;
    uint32_t overhead;
    uint32_t most;              /* bytes of a request with pointers; 0: no limit */
} Grant;

static const Grant grants[] = {
    { "provider/rc/send", ERNIC_QPT_RC, ERNIC_MLX5_OP_SEND, 192 },
    { "provider/rc/write", ERNIC_QPT_RC, ERNIC_MLX5_OP_WRITE, 192 },
    { "provider/rc/read", ERNIC_QPT_RC, ERNIC_MLX5_OP_READ, 192 },
    { "provider/uc/send", ERNIC_QPT_UC, ERNIC_MLX5_OP_SEND, 192 },
    { "provider/uc/write", ERNIC_QPT_UC, ERNIC_MLX5_OP_WRITE, 192 },
    { "provider/ud/send", ERNIC_QPT_UD, ERNIC_MLX5_OP_SEND, CONTROL + VECTOR },
    { "kernel/rc/send", ERNIC_QPT_RC, ERNIC_MLX5_OP_SEND, 132, KERNEL_RC },
    { "kernel/rc/write", ERNIC_QPT_RC, ERNIC_MLX5_OP_WRITE, 132, KERNEL_RC },
    { "kernel/rc/read", ERNIC_QPT_RC, ERNIC_MLX5_OP_READ, 132, KERNEL_RC },
    { "kernel/uc/write", ERNIC_QPT_UC, ERNIC_MLX5_OP_WRITE, 128 },
    { "kernel/ud/send", ERNIC_QPT_UD, ERNIC_MLX5_OP_SEND, CONTROL + VECTOR },
};

static uint32_t capability(const ErnicMlx5Field *field)
{
    uint8_t data[0x1000 / 8] = { 0 };
    ErnicMlx5Capabilities caps = { };

    ernic_mlx5_capabilities_reset(&caps);
    g_assert_true(ernic_mlx5_capabilities_get(&caps, 0, false, data));
    return ernic_mlx5_get(data, field);
}

static uint8_t *mem(Mlx5End *end, uint32_t off, uint32_t len)
{
    return fake_ptr(&end->env, end->mem + off, len);
}

static void open_filled(Mlx5Pair *p, uint8_t type, Mlx5List *srq)
{
    mlx5_open_pair(p, type, srq);
    for (uint32_t i = 0; i < 4096; i++) {
        *mem(&p->a, i, 1) = i * 7;
        *mem(&p->b, i, 1) = i * 11;
    }
}

static void begin(Mlx5Pair *p, Mlx5Wr *wr, const Grant *g)
{
    mlx5_wr(wr, g->opcode, ERNIC_MLX5_CE_ALWAYS, 0);
    if (g->type == ERNIC_QPT_UD) {
        mlx5_av(wr, 2, p->bq.qpn);
    }
    if (g->opcode != ERNIC_MLX5_OP_SEND) {
        mlx5_raddr(wr, p->b.mem, p->b.key);
    } else {
        mlx5_post_recv(&p->b, &p->bq, p->b.mem, 4096);
    }
}

/* The request succeeds; the second end has all @len bytes from this offset on. */
static uint32_t finish(Mlx5Pair *p, Mlx5Wr *wr, const Grant *g, uint32_t len)
{
    Mlx5Cqe cqe;

    g_assert_cmpuint(wr->len, <=, capability(&ernic_mlx5_cmd_hca_cap.max_wqe_sz_sq));
    mlx5_post_wr(&p->a, &p->aq, wr);
    mlx5_exchange(&p->a, &p->b);
    g_assert_true(mlx5_poll(&p->a, &cqe));
    IS(cqe.opcode, 0);
    if (g->opcode != ERNIC_MLX5_OP_SEND) {
        return 0;
    }
    g_assert_true(mlx5_poll(&p->b, &cqe));
    IS(cqe.bytes, len + (g->type == ERNIC_QPT_UD ? 40 : 0));
    return g->type == ERNIC_QPT_UD ? 40 : 0;
}

static void test_pointers(gconstpointer data)
{
    uint32_t max = capability(&ernic_mlx5_cmd_hca_cap.max_wqe_sz_sq), i, n, at;
    const Grant *g = data;
    Mlx5Wr wr;
    Mlx5Pair p;

    n = g->most ? (MIN(max, g->most) - CONTROL - REMOTE) / POINTER :
                  (max - g->overhead) / POINTER;
    /* The number that mlx5_ib announces for all services: every one has to grant it. */
    g_assert_cmpuint(n, >=, (MIN(max, 512) - CONTROL - REMOTE) / POINTER);
    open_filled(&p, g->type, NULL);
    begin(&p, &wr, g);
    for (i = 0; i < n; i++) {
        mlx5_data(&wr, p.a.mem + i * STEP, PIECE, p.a.key);
    }
    at = finish(&p, &wr, g, n * PIECE);
    for (i = 0; i < n; i++) {
        g_assert_cmpmem(mem(&p.a, i * STEP, PIECE), PIECE,
                        mem(&p.b, at + i * PIECE, PIECE), PIECE);
    }
    mlx5_close_pair(&p);
}

static void test_inline(gconstpointer data)
{
    uint32_t max = capability(&ernic_mlx5_cmd_hca_cap.max_wqe_sz_sq), n, at;
    const Grant *g = data;
    Mlx5Wr wr;
    Mlx5Pair p;

    n = max - g->overhead - HEADER;
    open_filled(&p, g->type, NULL);
    begin(&p, &wr, g);
    mlx5_inline(&wr, mem(&p.a, 0, n), n);
    at = finish(&p, &wr, g, n);
    g_assert_cmpmem(mem(&p.a, 0, n), n, mem(&p.b, at, n), n);
    mlx5_close_pair(&p);
}

/* A request as long as the capability is executed, with any segments. */
WORLD_TEST("/mlx5-grants/longest", test_longest, Mlx5Pair, p,
           open_filled(p, ERNIC_QPT_RC, NULL), mlx5_close_pair(p))
{
    uint32_t max = capability(&ernic_mlx5_cmd_hca_cap.max_wqe_sz_sq), n, i;
    const Grant g = { "longest", ERNIC_QPT_RC, ERNIC_MLX5_OP_SEND };
    Mlx5Wr wr;

    /* Linux's network device needs 16 blocks. */
    IS(max, 16 * ERNIC_MLX5_BLOCK);
    n = (max - CONTROL) / POINTER;
    begin(p, &wr, &g);
    for (i = 0; i < n; i++) {
        mlx5_data(&wr, p->a.mem + i * STEP, PIECE, p->a.key);
    }
    finish(p, &wr, &g, n * PIECE);
    n = max - CONTROL - HEADER;
    begin(p, &wr, &g);
    mlx5_inline(&wr, mem(&p->a, 0, n), n);
    finish(p, &wr, &g, n);
    g_assert_cmpmem(mem(&p->a, 0, n), n, mem(&p->b, 0, n), n);
}

/* @n pointers, which fill the slot at @at. */
static void write_pointers(Mlx5End *end, uint64_t at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *seg = fake_ptr(&end->env, at + i * POINTER, POINTER);

        ernic_mlx5_put(seg, &ernic_mlx5_wqe_data_seg.byte_count, PIECE);
        ernic_mlx5_put(seg, &ernic_mlx5_wqe_data_seg.lkey, end->key);
        ernic_mlx5_put(seg, &ernic_mlx5_wqe_data_seg.addr, end->mem + i * STEP);
    }
}

/* A message of as many bytes as @n pieces have arrives in them. */
static void receive(Mlx5Pair *p, uint32_t n)
{
    uint32_t len = n * PIECE;
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_data(&wr, p->a.mem, len, p->a.key);
    mlx5_post_wr(&p->a, &p->aq, &wr);
    mlx5_exchange(&p->a, &p->b);
    g_assert_true(mlx5_poll(&p->a, &cqe));
    IS(cqe.opcode, 0);
    g_assert_true(mlx5_poll(&p->b, &cqe));
    IS(cqe.bytes, len);
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpmem(mem(&p->a, i * PIECE, PIECE), PIECE,
                        mem(&p->b, i * STEP, PIECE), PIECE);
    }
}

/*
 * An SRQ: the provider rounds the size of a slot with its link up to a power of two, and
 * grants what then fits.
 */
TEST("/mlx5-grants/receive-srq", test_receive_srq)
{
    uint32_t n = capability(&ernic_mlx5_cmd_hca_cap.max_wqe_sz_rq) / POINTER;
    uint32_t stride = 1u << g_bit_storage((1 + n) * POINTER - 1);
    Mlx5List list;
    ErnicWq *wq;
    Mlx5Pair p;

    open_filled(&p, ERNIC_QPT_RC, &list);
    wq = &p.b.e->srq[list.srq.srqn].wq;
    wq->depth = 4;
    wq->stride = stride;
    g_assert_cmpuint(4 * stride, <=, MLX5_SRQ_DEPTH * MLX5_SRQ_STRIDE);
    n = stride / POINTER - 1;
    write_pointers(&p.b, list.srq.buf + POINTER, n);
    ernic_mlx5_put(fake_ptr(&p.b.env, list.srq.buf, POINTER),
                   &ernic_mlx5_wqe_srq_next_seg.next_wqe_index, 1);
    ernic_mlx5_put(fake_ptr(&p.b.env, list.record, 8),
                   &ernic_mlx5_qp_doorbell_record.recv_counter, 1);
    receive(&p, n);
    mlx5_close_pair(&p);
}

static const FramesHead tcp = {
    .version = 4, .proto = 6, .src = { 10, 0, 0, 9 }, .dst = { 10, 0, 0, 1 },
    .sport = 1000, .dport = 2000, .tcp_flags = 0x10, .payload = 301,
};

/* An Ethernet queue: the kernel fills slots of the size that the capability announces. */
FRAMES_TEST("/mlx5-grants/receive-frame", test_receive_frame)
{
    enum { MOST = 64 };
    uint8_t frame[2048];
    uint32_t log = capability(&ernic_mlx5_cmd_hca_cap.log_max_stride_sz_rq);
    uint32_t num = (1 << log) / POINTER, len = frames_make(&tcp, frame), i, n;
    FramesPiece piece[MOST];

    g_assert_cmpuint(num, <=, MOST);
    frames_queue(f, &f->rq, true, 3, log, "");
    frames_root(f, eth_tir(&f->eth, f->rq.number), 0);
    g_assert_cmpuint(len, >, (num - 1) * PIECE);
    for (i = 0; i < num; i++) {
        piece[i] = (FramesPiece) { f->mem + i * STEP, PIECE, f->key };
    }
    piece[num - 1].len = len;
    frames_post(f, &f->rq, piece, num);
    frames_receive(f, frame, len);
    CQE_IS(f, "opcode=2");
    for (i = 0; i < num; i++) {
        n = MIN(len - i * PIECE, piece[i].len);
        g_assert_cmpmem(fake_ptr(&f->eth.env, piece[i].addr, n), n, frame + i * PIECE, n);
    }
}

TESTS(add_tests)
{
    for (const Grant *g = grants; g < grants + ARRAY_SIZE(grants); g++) {
        unit_add_row("/mlx5-grants/pointers", g->name, g, test_pointers);
        if (g->opcode != ERNIC_MLX5_OP_READ) {
            unit_add_row("/mlx5-grants/inline", g->name, g, test_inline);
        }
    }
}
