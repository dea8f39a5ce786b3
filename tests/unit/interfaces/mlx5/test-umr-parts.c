/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * UMR requests that load their list in parts, and what else happens to the region between
 * two parts: a region that opens has one list.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "mlx5_umr_fixture.h"

/* Numbers of a list: three parts. */
enum { NUM = 1536, OWN = 5, OTHER = 6 };

typedef struct Parts {
    Fixture f;
    bool pieces;
    uint64_t list[2];           /* of OWN and OTHER */
    ErnicMrUpdate u[2];
} Parts;

/* A free key that has room for NUM numbers; the previous one with its number is gone. */
static uint32_t make_key(Parts *p)
{
    ErnicMrInit init = { .kind = p->pieces ? ERNIC_MR_WINDOW_1 : ERNIC_MR_FAST };
    Ernic *e = p->f.end.e;
    uint32_t key;
    ErnicBuf buf;

    g_assert_cmpint(p->pieces ? ernic_buf_alloc_pieces(e, &buf, NUM / ERNIC_BUF_PIECE) :
                                ernic_buf_alloc(e, &buf, NUM), ==, ERNIC_OK);
    OK(ernic_mr_add(e, p->f.end.pd, &init, &buf, &key));
    return key;
}

/* Address @i of list @n: a page, or a piece of 512 bytes in the fixture's memory. */
static uint64_t address(const Parts *p, uint32_t n, uint32_t i)
{
    return p->pieces ? p->f.end.mem + n * 8192 + i : (n * NUM + i + 1ull) << 12;
}

static void make_list(Parts *p, uint32_t n)
{
    uint8_t *at;

    p->list[n] = fake_alloc(&p->f.end.env, NUM * 8, 4096);
    at = fake_ptr(&p->f.end.env, p->list[n], NUM * 8);
    for (uint32_t i = 0; i < NUM; i++) {
        uint64_t head = 512ull << 32 | p->f.end.key;

        stq_be_p(at + i * 8, p->pieces && i % 2 == 0 ? head : address(p, n, i));
    }
    p->u[n] = (ErnicMrUpdate) {
        .key = p->f.key, .set = ERNIC_UPDATE_BITS & ~ERNIC_UPDATE_PD,
        .want = ERNIC_MR_WANT_INVALID, .valid = true, .page_shift = 12,
        .iova = IOVA, .length = p->pieces ? NUM / 2 * 512 : NUM * 4096,
        .access = ERNIC_ACCESS_LOCAL_WRITE, .num = NUM,
        .list = { .addr = p->list[n], .len = NUM * 8,
                  .lkey = fake_reg_mr(p->f.end.e, p->f.end.pd, p->list[n], NUM * 8, 0) },
    };
}

/* One part of the request of OWN (@n 0) or OTHER (1); there are more of them, or not. */
static ErnicFault part(Parts *p, uint32_t n, bool more)
{
    ErnicFault fault;
    bool has;

    fault = ernic_mr_update(p->f.end.e, p->f.end.pd, n ? OTHER : OWN, &p->u[n], &has);
    IS(has, more);
    return fault;
}

/* The region is open, and all of its list is that of @n. */
static void assert_list(Parts *p, uint32_t n)
{
    const ErnicMr *mr = mr_of(&p->f);

    g_assert_true(mr->valid);
    for (uint32_t i = p->pieces; i < NUM; i += 1 + p->pieces) {
        IS(mr->buf.page[i], address(p, n, i));
    }
}

/*
 * Steps of the region: a digit is the next part of the request of OWN (0) or OTHER
 * (1), of which there are more (+), which is the last one (.), or which finds that the
 * region is no longer that of the request (!).
 */
typedef struct History {
    const char *name, *steps;
    int list;                   /* of the region in the end; -1: it is closed */
} History;

static const History histories[] = {
    { "alone", "0+ 0+ 0.", 0 },
    /* The request that begins later has the region. */
    { "other", "0+ 1+ 0! 1+ 1.", 1 },
    /* It opens the region and closes it again, and the earlier request goes on. */
    { "between", "0+ 1+ 1+ 1. close 0!", -1 },
    /* The other request fails with its first part: it has changed the list. */
    { "failed", "0+ fail 0!", -1 },
    /* The queue pair begins another request: its previous one ended without the rest. */
    { "again", "0+ again 0+ 0+ 0.", 0 },
    /* A key that is made anew has nothing of the request for the old one. */
    { "destroyed", "0+ destroy 0! create 0!", -1 },
};

static void step(Parts *p, const char *word, const ErnicMrUpdate *first)
{
    ErnicMrUpdate close = { .key = p->f.key, .set = ERNIC_UPDATE_VALID };
    uint32_t number = p->f.key >> 8;
    bool more;

    if (g_ascii_isdigit(*word)) {
        IS(part(p, *word - '0', word[1] == '+'),
           word[1] == '!' ? ERNIC_FAULT_REG_MR : ERNIC_FAULT_NONE);
    } else if (!strcmp(word, "close")) {
        IS(ernic_mr_update(p->f.end.e, p->f.end.pd, OTHER, &close, &more),
           ERNIC_FAULT_NONE);
    } else if (!strcmp(word, "fail")) {
        p->u[1].list.lkey = 0x77777700;
        IS(part(p, 1, false), ERNIC_FAULT_SEND_PROT);
    } else if (!strcmp(word, "again")) {
        p->u[0] = *first;
    } else if (!strcmp(word, "destroy")) {
        OK(ernic_mr_free(p->f.end.e, 0, p->f.key, p->pieces));
    } else {
        while (make_key(p) >> 8 != number) {
        }
    }
}

static void test_history(const History *h, bool pieces)
{
    g_auto(GStrv) words = g_strsplit(h->steps, " ", 0);
    ErnicMrUpdate first;
    Parts p;

    setup(&p.f, NULL);
    p.pieces = pieces;
    p.f.key = make_key(&p);
    make_list(&p, 0);
    make_list(&p, 1);
    first = p.u[0];
    for (char **word = words; *word; word++) {
        step(&p, *word, &first);
    }
    if (h->list < 0) {
        g_assert_false(mr_of(&p.f)->valid);
    } else {
        assert_list(&p, h->list);
    }
    teardown(&p.f, NULL);
}

ROW_TEST("/mlx5-umr-parts/pages", histories, h, test_pages)
{
    test_history(h, false);
}

ROW_TEST("/mlx5-umr-parts/pieces", histories, h, test_pieces)
{
    test_history(h, true);
}

enum { OCTOWORDS = 0x9000, PAGES_LONG = 2 * OCTOWORDS };

/* Write a request that opens @key with the pages from @first on. */
static void post_long(Mlx5End *end, Mlx5Queue *q, uint32_t key, uint64_t first)
{
    uint64_t list = fake_alloc(&end->env, OCTOWORDS * 16, 4096), i;
    uint32_t lkey = fake_reg_mr(end->e, end->pd, list, OCTOWORDS * 16, 0);
    uint8_t *at = fake_ptr(&end->env, list, OCTOWORDS * 16);
    Fixture f = { .end = { .e = end->e } };

    for (i = 0; i < PAGES_LONG; i++) {
        stq_be_p(at + i * 8, (first + i) << 12 | PRESENT);
    }
    start(&f, key, FLAG_WANT_FREE, MASK_FAST, OCTOWORDS);
    rights(&f, true);
    CONTEXT_OF(&f, len, PAGES_LONG * 4096ull);
    CONTEXT_OF(&f, log_page_size, 12);
    mlx5_data(&f.wr, list, OCTOWORDS * 16, lkey);
    mlx5_write(end, q, &f.wr);
}

/*
 * Both post a request for the same key. In every slice another engine continues with the
 * state of the previous one.
 */
WORLD_TEST("/mlx5-umr-parts/two-queue-pairs", test_two_queue_pairs, Mlx5End, end,
           mlx5_end_init(end, 1), mlx5_end_done(end))
{
    ErnicMrInit init = { .kind = ERNIC_MR_FAST };
    uint32_t key, failed = 0, slices = 0;
    Mlx5Cqe cqe = { 0 };
    Mlx5Queue q[2];
    ErnicBuf buf;
    uint64_t first;
    bool more;

    OK(ernic_buf_alloc(end->e, &buf, PAGES_LONG));
    OK(ernic_mr_add(end->e, end->pd, &init, &buf, &key));
    for (uint32_t i = 0; i < 2; i++) {
        mlx5_create_qp(end, &q[i], ERNIC_QPT_RC, NULL);
        mlx5_connect(end, &q[i], q[i].qpn, 1);
        post_long(end, &q[i], key, (i + 1) << 20);
    }
    mlx5_announce(end, &q[0]);
    mlx5_announce(end, &q[1]);
    do {
        end->env.wake = UINT64_MAX;
        ernic_run(end->e, end->env.now);
        more = end->env.wake <= end->env.now;
        fake_take_over(&end->e);
        slices++;
    } while (more);
    g_assert_cmpuint(slices, >, 1);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_true(mlx5_poll(end, &cqe));
        failed += cqe.syndrome == BIND_ERROR;
    }
    IS(failed, 1);
    g_assert_true(end->e->mr[key >> 8].valid);
    first = end->e->mr[key >> 8].buf.page[0];
    for (uint32_t i = 0; i < PAGES_LONG; i++) {
        IS(end->e->mr[key >> 8].buf.page[i], first + i * 4096ull);
    }
}
