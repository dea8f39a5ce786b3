/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One engine with queue pairs of every type and in every state, keys of every
 * kind, and work outstanding in both directions.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "world.h"

/* Requests that are posted at once. */
enum { WORK_NONE, WORK_SEND = 1, WORK_READ = 2, WORK_BAD = 4 };

const WorldRow world_rows[WORLD_ROWS] = {
    { ERNIC_QPT_RC, ERNIC_QPS_RTS, 3, .psn = 100 },
    { ERNIC_QPT_RC, ERNIC_QPS_RTS, 1, .psn = 0xfffffe, .work = WORK_SEND },
    { ERNIC_QPT_RC, ERNIC_QPS_RTS, 1, .psn = 0xfffff0, .work = WORK_READ },
    { ERNIC_QPT_RC, ERNIC_QPS_RTS, 2, .srq = true,
      .work = WORK_SEND | WORK_READ },
    { ERNIC_QPT_RC, ERNIC_QPS_RTS, 5, .v6 = true, .work = WORK_SEND },
    { ERNIC_QPT_RC, ERNIC_QPS_RESET, 3 },
    { ERNIC_QPT_RC, ERNIC_QPS_INIT, 3 },
    { ERNIC_QPT_RC, ERNIC_QPS_RTR, 3 },
    { ERNIC_QPT_RC, ERNIC_QPS_SQD, 3, .work = WORK_SEND | WORK_READ },
    { ERNIC_QPT_RC, ERNIC_QPS_ERR, 3 },
    { ERNIC_QPT_UC, ERNIC_QPS_RTS, 1 },
    { ERNIC_QPT_UC, ERNIC_QPS_RTR, 3, .srq = true, .psn = 0xffffff },
    { ERNIC_QPT_UC, ERNIC_QPS_SQE, 3, .work = WORK_BAD },
    { ERNIC_QPT_UD, ERNIC_QPS_RTS, 3 },
    { ERNIC_QPT_UD, ERNIC_QPS_RTS, 3, .srq = true },
    { ERNIC_QPT_UD, ERNIC_QPS_SQE, 3, .work = WORK_BAD },
    { ERNIC_QPT_GSI, ERNIC_QPS_RTS, 3 },
    { ERNIC_QPT_XRC_INI, ERNIC_QPS_RTS, 1, .psn = 0xfffff8,
      .work = WORK_SEND | WORK_READ },
    { ERNIC_QPT_XRC_TGT, ERNIC_QPS_RTS, 3, .psn = 0xfffffe },
    { ERNIC_QPT_RAW, ERNIC_QPS_RTS, 3 },
    { ERNIC_QPT_RAW, ERNIC_QPS_RTS, 3, .srq = true },
    { ERNIC_QPT_RWQ, ERNIC_QPS_RTS, 3 },
    { ERNIC_QPT_RWQ, ERNIC_QPS_RTS, 3 },
};

/* Whether rows of @type are among those of @mask. */
static bool has_type(uint32_t mask, uint8_t type)
{
    for (uint32_t i = 0; i < WORLD_ROWS; i++) {
        if ((mask & 1u << i) && world_rows[i].type == type) {
            return true;
        }
    }
    return false;
}

#define REMOTE_ANY (ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ | \
                    ERNIC_ACCESS_REMOTE_ATOMIC)
#define REMOTE_ALL (ERNIC_ACCESS_LOCAL_WRITE | REMOTE_ANY | \
                    ERNIC_ACCESS_FLUSH_GLOBAL)

const uint8_t world_group[16] = { [0] = 0xff, [1] = 0x0e, [15] = 9 };

static WorldKey *add_key(World *w, uint32_t n, uint32_t key, uint64_t iova,
                         uint64_t len, uint32_t access)
{
    w->key[n] = (WorldKey) {
        .key = key, .iova = iova, .len = len, .access = access & REMOTE_ANY,
    };
    return &w->key[n];
}

static void region(World *w, uint32_t pd, uint64_t len, uint32_t access,
                   uint32_t n)
{
    uint64_t addr;
    uint32_t key;

    w->g.h.env.next = ROUND_UP(w->g.h.env.next, 4096);
    addr = guest_alloc(&w->g, len, 0);
    key = fake_reg_mr(w->g.h.e, pd, addr, len, access);
    add_key(w, n, key, access & ERNIC_ACCESS_ZERO_BASED ? 0 : addr, len,
            pd == w->pd ? access : 0)->page[0] = addr;
}

/* Three pages of five, out of order: as MR_REG, or for REG_MR. */
static uint64_t page_list(World *w, WorldKey *key)
{
    static const uint8_t order[] = { 4, 0, 2 };
    uint64_t list = guest_alloc(&w->g, sizeof(order) * 8, FUZZ_QUEUE);
    uint64_t pages;

    w->g.h.env.next = ROUND_UP(w->g.h.env.next, 4096);
    pages = guest_alloc(&w->g, 5 * 4096, 0);
    for (uint32_t i = 0; i < sizeof(order); i++) {
        fake_put64(&w->g.h.env, list + 8 * i, pages + 4096 * order[i]);
        key->page[i] = pages + 4096 * order[i];
    }
    key->list = true;
    return list;
}

static void setup_keys(World *w)
{
    struct ernic_cmd cmd;
    WorldKey *key;

    w->lkey = fake_reg_mr(w->g.h.e, w->pd, w->g.pool, GUEST_POOL * GUEST_BUF,
                          ERNIC_ACCESS_LOCAL_WRITE);
    region(w, w->pd, 8192, REMOTE_ALL | ERNIC_ACCESS_MW_BIND, 0);
    region(w, w->pd, 5000, ERNIC_ACCESS_REMOTE_READ, 1);
    region(w, w->pd, 4096, REMOTE_ALL | ERNIC_ACCESS_ZERO_BASED, 2);
    region(w, w->other_pd, 4096, REMOTE_ALL, 3);
    key = add_key(w, 4, 0, 0xfffffffffffff000ull - 8192, 3 * 4096, REMOTE_ALL);
    cmd = fake_reg_list(w->pd, page_list(w, key), 3, 1);
    cmd.mr_reg.iova = cpu_to_le64(key->iova);
    cmd.mr_reg.access = cpu_to_le32(REMOTE_ALL);
    key->key = fake_make(w->g.h.e, &cmd);
    add_key(w, 5, w->lkey, w->g.pool, GUEST_POOL * GUEST_BUF, 0);
}

static void post(World *w, GuestQp *qp, struct ernic_wqe *wqe, uint32_t len,
                 uint8_t paint)
{
    struct ernic_sge sge;
    uint8_t slot[sizeof(*wqe) + sizeof(sge)];
    uint64_t addr = guest_buffer(&w->g);

    if (!addr || !guest_has_room(&qp->sq, qp->sq.pi)) {
        return;
    }
    sge = fake_sge(addr, len, w->lkey);
    memcpy(slot, wqe, sizeof(*wqe));
    memcpy(slot + sizeof(*wqe), &sge, sizeof(sge));
    guest_write_slot(&w->g, &qp->sq, qp->sq.pi, slot, sizeof(slot));
    guest_ring(&w->g, &qp->sq, qp->sq.pi + 1, addr, len, paint);
}

/* REG_MR and BIND_MW by the first queue pair: keys that can be taken back. */
static void setup_windows(World *w)
{
    uint32_t fast = fake_alloc_mr(w->g.h.e, w->pd, 4);
    uint32_t type_1 = fake_alloc_mw(w->g.h.e, w->pd, 1);
    uint32_t type_2 = fake_alloc_mw(w->g.h.e, w->pd, 2);
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_REG_MR };
    uint64_t bound = w->key[0].iova + 64;
    GuestQp *qp = &w->g.qp[0];
    WorldKey *key = add_key(w, 6, fast, 0x10000, 3 * 4096 - 100, REMOTE_ALL);

    wqe.reg_mr.key = cpu_to_le32(fast);
    wqe.reg_mr.access = cpu_to_le32(REMOTE_ALL);
    wqe.reg_mr.iova = cpu_to_le64(key->iova);
    wqe.reg_mr.length = cpu_to_le64(key->len);
    wqe.reg_mr.list_addr = cpu_to_le64(page_list(w, key));
    wqe.reg_mr.npages = cpu_to_le32(3);
    wqe.reg_mr.page_shift = 12;
    post(w, qp, &wqe, 0, 0);
    wqe = (struct ernic_wqe) { .opcode = ERNIC_WR_BIND_MW };
    wqe.bind_mw.rkey = cpu_to_le32(type_1);
    wqe.bind_mw.lkey = cpu_to_le32(w->key[0].key);
    wqe.bind_mw.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE);
    wqe.bind_mw.addr = cpu_to_le64(bound);
    wqe.bind_mw.length = cpu_to_le64(512);
    post(w, qp, &wqe, 0, 0);
    /* The device steps the variant of a type 1 window. */
    add_key(w, 7, (type_1 & ~0xffu) | ((type_1 + 1) & 0xff), bound, 512,
            ERNIC_ACCESS_REMOTE_WRITE)->page[0] = bound;
    wqe.bind_mw.rkey = wqe.bind_mw.new_rkey = cpu_to_le32(type_2);
    post(w, qp, &wqe, 0, 0);
    key = add_key(w, 8, type_2, bound, 512, ERNIC_ACCESS_REMOTE_WRITE);
    key->page[0] = bound;
    key->qpn = qp->q.qpn;
}

void world_attr(const WorldRow *row, uint32_t qpn, struct ernic_qp_attr *attr)
{
    fake_qp_attr(attr, 0x100 + qpn, 2);
    attr->path_mtu = row->mtu;
    attr->rq_psn = attr->sq_psn = cpu_to_le32(row->psn);
    attr->max_dest_rd_atomic = 3;
    attr->timeout = 8;
    attr->rnr_retry = 3;
    if (row->v6) {
        fuzz_gid6(attr->av.dgid, 2);
        attr->av.sgid_index = 1;
    }
}

void world_send(World *w, GuestQp *qp, uint8_t op, uint8_t flags, uint32_t len)
{
    struct ernic_wqe wqe = {
        .opcode = op, .flags = flags & ERNIC_WR_FLAGS & ~ERNIC_WR_INLINE,
        .count = cpu_to_le16(1), .wr_id = cpu_to_le64(qp->sq.pi),
    };
    bool fetch = op == ERNIC_WR_READ || op == ERNIC_WR_CMP_SWAP ||
                 op == ERNIC_WR_FETCH_ADD;

    if (qp->q.type >= ERNIC_QPT_XRC_TGT) {
        return;                 /* what a raw one sends could come back in a run */
    }
    len = MIN(len, GUEST_BUF);
    if (op == ERNIC_WR_CMP_SWAP || op == ERNIC_WR_FETCH_ADD ||
        op == ERNIC_WR_ATOMIC_WRITE) {
        len = 8;
    }
    if (guest_addresses(qp->q.type)) {
        wqe.ud.qkey = cpu_to_le32(0x11111111);
        wqe.ud.dest_qpn = cpu_to_le32(0x123);
        fake_gid(wqe.ud.av.dgid, 2);
        wqe.ud.av.hop_limit = 1;
        len = MIN(len, 4096);
    } else if (fuzz_names_memory(op)) {
        wqe.rdma.raddr = cpu_to_le64(0x1000);
        wqe.rdma.rkey = cpu_to_le32(0x77);
    }
    if (op == ERNIC_WR_FLUSH) {
        wqe.flush.length = cpu_to_le32(len);
        wqe.flush.type = ERNIC_FLUSH_GLOBAL;
        wqe.count = 0;
    } else if (qp->q.type == ERNIC_QPT_XRC_INI) {
        wqe.send.xrc_srq = cpu_to_le32(0x321);
    }
    post(w, qp, &wqe, len, fetch ? FUZZ_LAND : FUZZ_SEND);
}

void world_recv(World *w, GuestWq *wq, uint32_t len)
{
    struct {
        struct ernic_rwqe head;
        struct ernic_sge sge[3];
    } slot = { .head = { .num_sge = cpu_to_le16(3) } };
    uint64_t addr = guest_buffer(&w->g);
    uint32_t index = wq->pi, cut;

    if (!wq->ring || !guest_has_room(wq, index)) {
        return;
    }
    if (!addr) {                /* a message of no bytes still has a place */
        slot.head.num_sge = 0;
        len = 0;
    }
    len = MIN(len, GUEST_BUF);
    cut = MIN(len, 100);
    slot.head.wr_id = cpu_to_le64(index);
    slot.sge[0] = fake_sge(addr, cut, w->lkey);
    slot.sge[1] = fake_sge(addr + cut, 0, 0);
    slot.sge[2] = fake_sge(addr + cut, len - cut, w->lkey);
    guest_write_slot(&w->g, wq, index, &slot, sizeof(slot));
    guest_ring(&w->g, wq, index + 1, addr, len, addr ? FUZZ_RECV : 0);
}

void world_settle(World *w)
{
    fuzz_settle(&w->g.h, WORLD_RUNS);
    guest_poll(&w->g);
    fake_lose_trains(&w->g.h.env);
}

static void setup_qp(World *w, const WorldRow *row)
{
    bool shares = row->srq || row->type == ERNIC_QPT_XRC_TGT;
    uint32_t n = guest_create_qp(&w->g, row->type, w->pd, shares, row->srq,
                                 row->mtu == 1 ? ERNIC_QPF_SQ_SIG_ALL : 0);
    GuestQp *qp = &w->g.qp[n];
    bool past = row->state >= ERNIC_QPS_RTS;
    struct ernic_qp_attr attr;

    w->row[n] = row;
    world_attr(row, qp->q.qpn, &attr);
    guest_connect(&w->g, n, past ? ERNIC_QPS_RTS : row->state, &attr);
    if (row->state != ERNIC_QPS_RESET && row->state != ERNIC_QPS_ERR) {
        world_recv(w, &qp->rq, 2000);
    }
    if (row->work & WORK_SEND) {
        world_send(w, qp, ERNIC_WR_SEND_IMM, ERNIC_WR_SIGNALED, 700);
        world_send(w, qp, ERNIC_WR_WRITE, 0, 300);
    }
    if (row->work & WORK_READ) {
        world_send(w, qp, ERNIC_WR_READ, ERNIC_WR_SIGNALED, 1500);
        world_send(w, qp, ERNIC_WR_FETCH_ADD, ERNIC_WR_SIGNALED, 8);
    }
    if ((row->work & WORK_READ) && row->type == ERNIC_QPT_RC) {
        world_send(w, qp, ERNIC_WR_ATOMIC_WRITE, ERNIC_WR_SIGNALED, 8);
        world_send(w, qp, ERNIC_WR_FLUSH, ERNIC_WR_SIGNALED, 300);
    }
    if (row->work & WORK_BAD) {
        world_send(w, qp, ERNIC_WR_READ, ERNIC_WR_SIGNALED, 8);
    }
    if (row->state == ERNIC_QPS_SQD || row->state == ERNIC_QPS_ERR) {
        world_settle(w);
        guest_modify(&w->g, qp, ERNIC_QPA_STATE, row->state, NULL);
    }
}

static void taken_back(Guest *g, uint32_t rkey)
{
    World *w = container_of(g, World, g);

    for (uint32_t i = WORLD_KEY_INV; i < WORLD_KEYS; i++) {
        if (w->key[i].key == rkey) {
            w->key[i].access = 0;
        }
    }
}

static void add_rule(World *w, uint8_t last, uint32_t qpn, uint16_t layers)
{
    static const uint8_t mac[] = WORLD_MAC;
    struct ernic_flow_rule rule = {
        .qpn = cpu_to_le32(qpn), .layers = cpu_to_le16(layers),
    };
    uint32_t handle;
    uint8_t status;

    memcpy(rule.value.dmac, mac, sizeof(mac));
    rule.value.dmac[5] = last;
    memset(rule.mask.dmac, 0xff, sizeof(rule.mask.dmac));
    status = fake_create_flow(w->g.h.e, &rule, &handle);
    g_assert_cmpuint(status, ==, ERNIC_OK);
}

/* Rules for the raw queue pairs, and one for the receive work queues together. */
static void setup_rules(World *w)
{
    struct ernic_rss rss = {
        .fields = cpu_to_le32(ERNIC_HASH_FIELDS), .shift = 2,
        .key = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2 },
    };
    uint32_t i, n = 0, number;
    uint8_t status;

    for (i = 0; i < w->g.qps; i++) {
        uint32_t row = w->row[i] - world_rows, qpn = w->g.qp[i].q.qpn;

        if (w->row[i]->type == ERNIC_QPT_RAW) {
            add_rule(w, row, qpn, w->row[i]->srq ?
                     ERNIC_LAYER_IPV4 | ERNIC_LAYER_UDP : 0);
        } else if (w->row[i]->type == ERNIC_QPT_RWQ) {
            rss.wq[n++] = cpu_to_le32(qpn);
        }
    }
    if (n == 2) {
        rss.wq[2] = rss.wq[0];
        rss.wq[3] = rss.wq[1];
        status = fake_create_rss(w->g.h.e, &rss, &number);
        g_assert_cmpuint(status, ==, ERNIC_OK);
        add_rule(w, WORLD_RSS, number, 0);
    }
}

void world_open(World *w, uint32_t mask)
{
    guest_open(&w->g, 1, WORLD_WRITES, WORLD_READS);
    w->g.h.strict = true;
    w->g.taken_back = taken_back;
    memset(w->write, 0, sizeof(w->write));
    w->pd = fake_create_pd(w->g.h.e);
    w->other_pd = fake_create_pd(w->g.h.e);
    guest_create_cq(&w->g, 0);
    guest_create_cq(&w->g, 0);
    guest_create_srq(&w->g, w->pd);
    setup_keys(w);
    if (has_type(mask, ERNIC_QPT_XRC_TGT)) {
        guest_create_xrc(&w->g, w->pd, 1);
    }
    for (uint32_t i = 0; i < WORLD_ROWS; i++) {
        if (mask & 1u << i) {
            setup_qp(w, &world_rows[i]);
        }
    }
    setup_windows(w);
    setup_rules(w);
    for (uint32_t i = 0; i < 6; i++) {
        world_recv(w, &w->g.srq[GUEST_SRQ].wq, 1000);
    }
    for (uint32_t i = 0; i < 3 && w->g.xrcd; i++) {
        world_recv(w, &w->g.srq[GUEST_XRC_SRQ].wq, 1000);
    }
    for (uint32_t i = 0; i < w->g.qps; i++) {
        if (w->row[i]->type == ERNIC_QPT_UD) {
            fake_mcast(w->g.h.e, ERNIC_CMD_MCAST_ATTACH, world_group, w->g.qp[i].q.qpn);
        }
    }
    world_settle(w);
}
