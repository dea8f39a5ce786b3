/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two engines with the same objects, connected.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/mr.h"
#include "pair.h"

#define LIST_PAGES  64          /* entries of the list */
#define POOL_PAGES  6           /* pages that they name */

const PairRow pair_rows[PAIR_QPS] = {
    { ERNIC_QPT_RC, 3, .timeout = 10, .rnr_retry = 7 },
    { ERNIC_QPT_RC, 1, .srq = true, .timeout = 8, .rnr_retry = 2,
      .psn = 0xfffff8 },
    { ERNIC_QPT_RC, 5, .user = true, .timeout = 12, .rnr_retry = 7,
      .flags = ERNIC_QPF_SQ_SIG_ALL },
    { ERNIC_QPT_RC, 1, .timeout = 1, .rnr_retry = 0 },
    { ERNIC_QPT_UC, 3 },
    { ERNIC_QPT_UC, 1, .srq = true, .flags = ERNIC_QPF_SQ_SIG_ALL,
      .psn = 0xffffff },
    { ERNIC_QPT_UD, 3 },
    { ERNIC_QPT_UD, 3, .user = true },
    { ERNIC_QPT_GSI, 3 },
    { ERNIC_QPT_XRC_INI, 1, .timeout = 9, .rnr_retry = 7, .psn = 0xfffff0,
      .peer = 1 },
    { ERNIC_QPT_XRC_TGT, 1, .timeout = 9, .psn = 0xfffff0, .peer = -1 },
};

#define REMOTE_ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
                    ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC | \
                    ERNIC_ACCESS_FLUSH_GLOBAL)
#define PAINT_ALL  (FUZZ_RECV | FUZZ_LAND | FUZZ_RWRITE | FUZZ_RATOMIC | \
                    FUZZ_SEND | FUZZ_RREAD)

void pair_attr(const Pair *p, uint32_t side, uint32_t n,
               struct ernic_qp_attr *attr)
{
    const PairRow *row = &pair_rows[n];

    fake_qp_attr(attr, p->g[!side].qp[n + row->peer].q.qpn, side ? 1 : 2);
    attr->path_mtu = row->mtu;
    attr->rq_psn = attr->sq_psn = cpu_to_le32(row->psn);
    attr->timeout = row->timeout;
    attr->retry_cnt = 3;
    attr->rnr_retry = row->rnr_retry;
    attr->min_rnr_timer = 1;
    attr->max_rd_atomic = attr->max_dest_rd_atomic = 1 + n % 4;
}

static void add_key(Pair *p, uint32_t n, uint32_t key, uint64_t iova)
{
    p->key[n] = (PairKey) { key, iova };
}

static void region(Pair *p, Guest *g, uint32_t n, uint32_t pd, uint64_t len,
                   uint32_t access, uint8_t may)
{
    uint64_t addr;

    g->h.env.next = ROUND_UP(g->h.env.next, 4096);
    addr = guest_alloc(g, len, may);
    add_key(p, n, fake_reg_mr(g->h.e, pd, addr, len, access),
            access & ERNIC_ACCESS_ZERO_BASED ? 0 : addr);
}

/* Pages in no order, some of them twice. */
static void setup_list(Pair *p, Guest *g)
{
    uint64_t pages;

    p->list = guest_alloc(g, LIST_PAGES * 8, FUZZ_QUEUE);
    /* REG_MR may name more entries than there are: zeros. */
    guest_alloc(g, 256 * 8, FUZZ_QUEUE);
    g->h.env.next = ROUND_UP(g->h.env.next, 4096);
    pages = guest_alloc(g, POOL_PAGES * 4096, PAINT_ALL);
    for (uint32_t i = 0; i < LIST_PAGES; i++) {
        fake_put64(&g->h.env, p->list + 8 * i,
                   pages + 4096 * (i * 5 % POOL_PAGES));
    }
}

static void setup_keys(Pair *p, Guest *g)
{
    uint32_t other_pd = fake_create_pd(g->h.e);
    struct ernic_cmd cmd;

    setup_list(p, g);
    region(p, g, 0, p->pd, 32768, REMOTE_ALL | ERNIC_ACCESS_MW_BIND,
           PAINT_ALL);
    region(p, g, 1, p->pd, 5000, ERNIC_ACCESS_REMOTE_READ,
           FUZZ_SEND | FUZZ_RREAD);
    region(p, g, 2, p->pd, 8192,
           ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_MW_BIND, PAINT_ALL);
    region(p, g, 3, p->pd, 4096, REMOTE_ALL | ERNIC_ACCESS_ZERO_BASED,
           PAINT_ALL);
    region(p, g, 4, other_pd, 4096, REMOTE_ALL, 0);
    region(p, g, 5, p->pd, 6000, ERNIC_ACCESS_LOCAL_WRITE,
           FUZZ_SEND | FUZZ_RECV | FUZZ_LAND);
    cmd = fake_reg_list(p->pd, p->list, LIST_PAGES, 1);
    cmd.mr_reg.iova = cpu_to_le64(0x7000);
    cmd.mr_reg.offset = cpu_to_le32(0x123);
    cmd.mr_reg.length = cpu_to_le64(LIST_PAGES * 4096 - 0x123);
    cmd.mr_reg.access = cpu_to_le32(REMOTE_ALL);
    add_key(p, 6, fake_make(g->h.e, &cmd), 0x7000);
    g->h.env.uctx = p->uctx;
    region(p, g, 7, p->user_pd, 16384, REMOTE_ALL, PAINT_ALL);
    g->h.env.uctx = 0;
    add_key(p, PAIR_KEY_FAST, fake_alloc_mr(g->h.e, p->pd, 8), 0);
    add_key(p, PAIR_KEY_FAST + 1, fake_alloc_mr(g->h.e, p->pd, 64), 0x100);
    add_key(p, PAIR_KEY_FAST + 2, fake_alloc_mw(g->h.e, p->pd, 1),
            p->key[0].iova);
    add_key(p, PAIR_KEY_FAST + 3, fake_alloc_mw(g->h.e, p->pd, 2),
            p->key[0].iova);
}

static void setup(Pair *p, Guest *g, uint8_t number)
{
    guest_open(g, number, PAIR_WRITES, PAIR_READS);
    p->uctx = fake_create_uctx(g->h.e);
    p->pd = fake_create_pd(g->h.e);
    g->h.env.uctx = p->uctx;
    p->user_pd = fake_create_pd(g->h.e);
    g->h.env.uctx = 0;
    guest_create_cq(g, 0);
    guest_create_cq(g, p->uctx);
    guest_create_srq(g, p->pd);
    guest_create_xrc(g, p->pd, 0);
    setup_keys(p, g);
    for (uint32_t i = 0; i < PAIR_QPS; i++) {
        const PairRow *row = &pair_rows[i];

        guest_create_qp(g, row->type, row->user ? p->user_pd : p->pd,
                        row->user, row->srq, row->flags);
    }
}

/*
 * A key that work requests change is followed, so that what the input names
 * stays right: the variant byte of a region or window is the present one.
 */
static void sync_keys(FuzzHost *h)
{
    Pair *p = container_of(h, Pair, g[0].h);

    for (uint32_t i = PAIR_KEY_FAST; i < PAIR_KEYS; i++) {
        const ErnicMr *mr = &h->e->mr[p->key[i].key >> 8];

        p->key[i].key = (p->key[i].key & ~0xffu) | mr->variant;
        if (mr->valid) {
            p->key[i].iova = mr->iova;
        }
    }
}

void pair_open(Pair *p)
{
    struct ernic_qp_attr attr;

    memset(p->unrung, 0, sizeof(p->unrung));
    setup(p, &p->g[0], 1);
    setup(p, &p->g[1], 2);
    for (uint32_t i = 0; i < PAIR_QPS; i++) {
        pair_attr(p, 0, i, &attr);
        guest_connect(&p->g[0], i, ERNIC_QPS_RTS, &attr);
        pair_attr(p, 1, i, &attr);
        guest_connect(&p->g[1], i, ERNIC_QPS_RTS, &attr);
    }
    p->g[0].h.sync = sync_keys;
}
