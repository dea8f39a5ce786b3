/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The longest message, list of a free key, UMR request and large packet of the mlx5
 * interface: each call into the engine ends with its slice of work, and the rest follows
 * in later calls.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <unistd.h>
#include "base/work.h"
#include "cpu_time.h"
#include "interfaces/mlx5/eth/wqe.h"
#include "mlx5_objects.h"
#include "mlx5_send.h"
#include "mlx5_software.h"

/* A call may exceed its slice by the last step, and by one that frees memory. */
#define STEP    (256 + 512)

typedef struct Calls {
    uint32_t num;
    uint64_t work, most;        /* in all, and of one call */
    int64_t ns;                 /* the longest call took of a processor */
} Calls;

/* One call. False: the engine wants no other one at this time. */
static bool call(Ernic *e, FakeEnv *env, Calls *c)
{
    uint64_t before = e->work.done, work;
    int64_t start = cpu_ns();

    env->wake = UINT64_MAX;
    ernic_run(e, env->now);
    c->ns = MAX(c->ns, cpu_ns() - start);
    work = e->work.done - before;
    g_assert_cmpuint(work, <=, ERNIC_WORK_SLICE + STEP);
    c->most = MAX(c->most, work);
    c->work += work;
    c->num++;
    return env->wake <= env->now;
}

/* The work was as much as it is said to be, and was divided. */
static void ended(const Calls *c, uint64_t work)
{
    g_test_message("%u calls, at most %" PRIu64 " units, %.2f ms", c->num, c->most,
                   c->ns / 1e6);
    g_assert_cmpuint(c->work, >=, work);
    g_assert_cmpuint(c->num, >=, work / (ERNIC_WORK_SLICE + STEP));
}

/* MANAGE_PAGES with the longest list, and room for an answer of the same length. */
MLX5_TEST("/mlx5/calls/message", mlx5_boot, test_message)
{
    enum { LEN = ERNIC_MLX5_MESSAGE_MAX, BOXES = LEN / ERNIC_MLX5_BOX_DATA };
    g_autofree uint8_t *in = g_malloc0(LEN);
    g_autofree uint8_t *answer = NULL;
    Calls c = { 0 };
    Mlx5Posted p;
    uint64_t page = mlx5_open_queue(f->e, &f->env);

    ernic_mlx5_put(in, &ernic_mlx5_manage_pages_in.opcode, 0x108);
    ernic_mlx5_put(in, &ernic_mlx5_manage_pages_in.op_mod, 1);
    ernic_mlx5_put(in, &ernic_mlx5_manage_pages_in.input_num_entries, LEN / 8 - 2);
    p = mlx5_post(&f->env, page, 0, in, LEN, LEN);
    ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1);
    while (call(f->e, &f->env, &c)) {
        g_assert_cmpuint(f->e->mem.kind[ERNIC_MEM_MESSAGES], <=, 2 * LEN);
    }
    ended(&c, 2 * BOXES * ERNIC_WORK_COMMAND);
    g_assert_true(mlx5_is_done(&f->env, &p));
    answer = mlx5_answer(&f->env, &p);
    IS(ernic_mlx5_get(answer, &ernic_mlx5_plain_out.syndrome), ERNIC_MLX5_NO_PAGES);
    IS(f->e->mem.kind[ERNIC_MEM_MESSAGES], 0);
}

/* Bytes of the list that have memory of the host. */
static size_t resident(const ErnicBuf *buf)
{
    size_t size = sysconf(_SC_PAGESIZE), sum = 0, n, i;
    uintptr_t from = (uintptr_t)buf->page & ~(size - 1);
    g_autofree unsigned char *there = NULL;

    n = DIV_ROUND_UP((uintptr_t)(buf->page + buf->npages) - from, size);
    there = g_malloc(n);
    IS(mincore((void *)from, n * size, there), 0);
    for (i = 0; i < n; i++) {
        sum += there[i] & 1;
    }
    return sum * size;
}

/*
 * A key that is created free, with room for as many pages as there can be: CREATE_MKEY
 * does not write to its list of 128 MiB, which is zero when it is read. Huge pages of the
 * host may be at its ends.
 */
MLX5_TEST("/mlx5/calls/free-key", mlx5_start, test_free_key)
{
    enum { HUGE_PAGE = 2 << 20 };
    g_autofree char *text = NULL, *gone = NULL;
    uint64_t before;
    int64_t start;
    uint32_t n;
    ErnicBuf *buf;

    text = g_strdup_printf(FREE M "translations_octword_size=%u",
                           (ERNIC_MAX_PAGES - f->e->num_pages) / 2);
    before = f->e->work.done;
    start = cpu_ns();
    n = mlx5_accept(f->e, 0x200, text);
    g_test_message("%.2f ms", (cpu_ns() - start) / 1e6);
    buf = &f->e->mr[n].buf;
    g_assert_cmpuint(buf->npages, >=, ERNIC_MAX_PAGES - 64);
    g_assert_cmpuint(resident(buf), <=, 2 * HUGE_PAGE);
    g_assert_cmpuint(f->e->work.done - before, >=, buf->npages / ERNIC_BUF_LIST);
    for (uint32_t i = 0; i < buf->npages; i += 4099) {
        IS(buf->page[i], 0);
    }
    gone = g_strdup_printf("mkey_index=%u", n);
    mlx5_accept(f->e, 0x202, gone);
}

/* Requests with as many pages as a request can have, in a list in memory. */
WORLD_TEST("/mlx5/calls/umr", test_umr, Mlx5End, end,
           mlx5_end_init(end, 1), mlx5_end_done(end))
{
    enum { OCTOWORDS = 0xffff, PAGES = 2 * OCTOWORDS, BYTES = 16 * OCTOWORDS, NUM = 4 };
    ErnicMrInit init = { .kind = ERNIC_MR_FAST };
    Calls c = { 0 };
    uint32_t key, list_key;
    Mlx5Cqe cqe = { 0 };
    uint64_t list;
    ErnicBuf buf;
    Mlx5Queue q;
    Mlx5Wr wr;

    mlx5_create_qp(end, &q, ERNIC_QPT_RC, NULL);
    mlx5_connect(end, &q, q.qpn, 1);
    OK(ernic_buf_alloc(end->e, &buf, PAGES));
    OK(ernic_mr_add(end->e, end->pd, &init, &buf, &key));
    list = fake_alloc(&end->env, BYTES, 4096);
    list_key = fake_reg_mr(end->e, end->pd, list, BYTES, 0);
    for (uint32_t i = 0; i < PAGES; i++) {
        stq_be_p(fake_ptr(&end->env, list + i * 8, 8), (uint64_t)i << 12 | 3);
    }
    for (uint32_t i = 0; i < NUM; i++) {
        mlx5_wr(&wr, ERNIC_MLX5_OP_UMR, ERNIC_MLX5_CE_ALWAYS, key);
        ernic_mlx5_put(mlx5_segment(&wr, 48), &ernic_mlx5_wqe_umr_ctrl_seg.xlt_octowords,
                       OCTOWORDS);
        mlx5_segment(&wr, 64);
        mlx5_data(&wr, list, BYTES, list_key);
        mlx5_write(end, &q, &wr);
    }
    mlx5_announce(end, &q);
    while (call(end->e, &end->env, &c)) {
        /* The state has the rest of a request. */
        fake_take_over(&end->e);
    }
    ended(&c, NUM * (BYTES / 512));
    for (uint32_t i = 0; i < NUM; i++) {
        g_assert_true(mlx5_poll(end, &cqe));
        IS(cqe.syndrome, 0);
    }
    for (uint32_t i = 0; i < PAGES; i++) {
        IS(end->e->mr[key >> 8].buf.page[i], (uint64_t)i << 12);
    }
}

/* The largest packet, in very small frames, of as many pieces as there can be. */
SEND_TEST("/mlx5/calls/large-packet", 4, test_large_packet)
{
    enum { LEN = 1 << 19, MSS = 8, HEAD = 54, PIECES = 56, PIECE = LEN / PIECES };
    const FramesHead head = { .version = 4, .proto = 6 };
    uint8_t bytes[HEAD + 10];
    uint32_t frames = 0;
    Calls c = { 0 };
    FakeTrain *t;
    Mlx5Wr wr;
    bool more;

    frames_make(&head, bytes);
    mlx5_wr(&wr, ERNIC_MLX5_OP_LSO, ERNIC_MLX5_CE_ALWAYS, 0);
    send_eth(&wr, ERNIC_MLX5_SUM_L3 | ERNIC_MLX5_SUM_L4, MSS, bytes, HEAD);
    for (uint32_t i = 0; i < PIECES; i++) {
        mlx5_data(&wr, f->mem, i ? PIECE : LEN - (PIECES - 1) * PIECE, f->key);
    }
    send_write(f, &f->sq, &wr);
    send_ring(f, &f->sq);
    do {
        more = call(f->eth.e, &f->eth.env, &c);
        while ((t = fake_take_train(&f->eth.env))) {
            frames += DIV_ROUND_UP(t->train.len, t->train.seg);
            fake_train_free(t);
        }
    } while (more);
    ended(&c, LEN / MSS);
    IS(frames, LEN / MSS);
    CQE_IS(f, "opcode=0");
}
