/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile work requests and doorbells: two engines back to back, queue pairs of
 * every service on both, so that what is accepted is really executed.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "guest.h"
#include "input.h"
#include "objects/mr.h"
#include "objects/wqe.h"
#include "pair.h"

#define RUNS            16
#define ROUNDS          24
#define PACKET_READS    FUZZ_QUEUE

enum {
    WR_SEND, WR_RECV, WR_DOORBELL, WR_TIME, WR_WIRE, WR_MODIFY, WR_LAZY,
    WR_DMA, WR_BUSY, WR_RECONNECT, WR_TUNE, WR_COUNT
};

static Pair pair;

/* ---- the wire --------------------------------------------------------- */

/* One bit per train: lost, or come twice. */
static struct {
    uint32_t drop, twice;
} wire;

static bool next_bit(uint32_t *bits)
{
    bool bit = *bits & 1;

    *bits >>= 1;
    return bit;
}

static bool carry(Guest *from, Guest *to)
{
    FakeTrain *train = fake_take_train(&from->h.env);
    uint32_t times;

    if (!train) {
        return false;
    }
    times = next_bit(&wire.drop) ? 0 : next_bit(&wire.twice) ? 2 : 1;
    for (; times; times--) {
        fuzz_rx(&to->h, &train->train, fuzz_train_writes(&train->train),
                PACKET_READS);
    }
    fake_train_free(train);
    return true;
}

/* Until nothing moves any more, or long enough. */
static void exchange(void)
{
    bool moved = true;

    for (uint32_t round = 0; round < ROUNDS && moved; round++) {
        moved = false;
        for (uint32_t i = 0; i < 2; i++) {
            fuzz_settle(&pair.g[i].h, RUNS);
            while (carry(&pair.g[i], &pair.g[!i])) {
                moved = true;
            }
            guest_poll(&pair.g[i]);
        }
    }
    fake_lose_trains(&pair.g[0].h.env);
    fake_lose_trains(&pair.g[1].h.env);
}

/* ---- requests --------------------------------------------------------- */

static uint32_t read_sges(FuzzIn *in, Guest *g, struct ernic_sge *sge,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const PairKey *key = &pair.key[fuzz_u8(in) % PAIR_KEYS];
        uint32_t off = fuzz_u32(in), len = fuzz_u32(in);

        sge[i] = fake_sge(key->iova + off, len, key->key);
    }
    return n;
}

static void patch(FuzzIn *in, uint8_t *slot)
{
    while (in->left) {
        uint16_t at = fuzz_u16(in);

        slot[at % GUEST_STRIDE] ^= fuzz_u8(in);
    }
}

static void fill_ud(FuzzIn *in, struct ernic_wqe *wqe, const Guest *g)
{
    uint8_t how = fuzz_u8(in);
    const GuestQp *dest = &g->qp[fuzz_u8(in) % g->qps];

    wqe->ud.qkey = cpu_to_le32(how & 1 ? fuzz_u32(in) : PAIR_QKEY);
    wqe->ud.dest_qpn = cpu_to_le32(dest->q.qpn);
    /* The peer, or this device itself, or nobody. */
    fake_gid(wqe->ud.av.dgid, how & 2 ? (how & 4 ? 9 : g == &pair.g[0] ? 1 : 2)
                                      : g == &pair.g[0] ? 2 : 1);
    wqe->ud.av.hop_limit = 64;
    if (how & 8) {
        wqe->ud.pkey_index = cpu_to_le16(fuzz_u16(in));
    }
}

static void fill_memory(FuzzIn *in, struct ernic_wqe *wqe)
{
    const PairKey *key = &pair.key[fuzz_u8(in) % PAIR_KEYS];
    const PairKey *other = &pair.key[fuzz_u8(in) % PAIR_KEYS];
    uint8_t variant = fuzz_u8(in);
    uint64_t length = fuzz_u32(in);
    uint32_t off = fuzz_u32(in);

    if (wqe->opcode == ERNIC_WR_REG_MR) {
        wqe->reg_mr.key = cpu_to_le32(key->key ^ variant);
        wqe->reg_mr.access = cpu_to_le32(fuzz_u8(in));
        wqe->reg_mr.iova = cpu_to_le64((uint64_t)off << 8);
        wqe->reg_mr.length = cpu_to_le64(length);
        wqe->reg_mr.npages = cpu_to_le32(fuzz_u8(in));
        wqe->reg_mr.page_shift = 12 + fuzz_u8(in) % 3;
    } else {
        wqe->bind_mw.rkey = cpu_to_le32(key->key);
        wqe->bind_mw.new_rkey = cpu_to_le32(key->key ^ variant);
        wqe->bind_mw.lkey = cpu_to_le32(other->key);
        wqe->bind_mw.access = cpu_to_le32(fuzz_u8(in));
        wqe->bind_mw.addr = cpu_to_le64(other->iova + off);
        wqe->bind_mw.length = cpu_to_le64(length);
    }
}

static void fill_remote(FuzzIn *in, struct ernic_wqe *wqe)
{
    const PairKey *key = &pair.key[fuzz_u8(in) % PAIR_KEYS];
    uint8_t variant = fuzz_u8(in);

    wqe->rdma.raddr = cpu_to_le64(key->iova + fuzz_u32(in));
    wqe->rdma.rkey = cpu_to_le32(key->key ^ variant);
    if (wqe->opcode == ERNIC_WR_CMP_SWAP || wqe->opcode == ERNIC_WR_FETCH_ADD) {
        wqe->atomic.compare_add = cpu_to_le64(fuzz_u16(in));
        wqe->atomic.swap = cpu_to_le64(fuzz_u16(in));
    } else if (wqe->opcode == ERNIC_WR_FLUSH) {
        wqe->flush.length = cpu_to_le32(fuzz_u16(in));
        wqe->flush.type = fuzz_u8(in);
        wqe->flush.level = fuzz_u8(in);
    }
}

/* Lists lie where the guest has put them; reads elsewhere are a defect. */
static void settle_list(uint8_t *slot)
{
    struct ernic_wqe wqe;

    memcpy(&wqe, slot, sizeof(wqe));
    if (wqe.opcode == ERNIC_WR_REG_MR) {
        wqe.reg_mr.list_addr = cpu_to_le64(
            pair.list + le64_to_cpu(wqe.reg_mr.list_addr) % PAIR_LIST_STARTS);
        memcpy(slot, &wqe, sizeof(wqe));
    }
}

static void wr_send(FuzzIn *in)
{
    uint8_t who = fuzz_u8(in), how;
    Guest *g = &pair.g[who >> 7];
    GuestQp *qp = &g->qp[(who & 0x7f) % g->qps];
    uint32_t *unrung = &pair.unrung[who >> 7][qp - g->qp];
    struct ernic_wqe wqe = { .opcode = fuzz_u8(in), .flags = fuzz_u8(in) };
    struct ernic_sge sge[ERNIC_MAX_SGE];
    uint8_t slot[GUEST_STRIDE] = { 0 };
    uint32_t count;

    how = fuzz_u8(in);
    count = fuzz_u8(in);
    wqe.wr_id = cpu_to_le64(fuzz_u16(in));
    stl_le_p(wqe.imm, wqe.opcode == ERNIC_WR_SEND_INV ||
                      wqe.opcode == ERNIC_WR_LOCAL_INV ?
                      pair.key[fuzz_u8(in) % PAIR_KEYS].key : fuzz_u8(in));
    if (wqe.opcode == ERNIC_WR_REG_MR || wqe.opcode == ERNIC_WR_BIND_MW) {
        fill_memory(in, &wqe);
    } else if (guest_addresses(qp->q.type)) {
        fill_ud(in, &wqe, g);
    } else if (fuzz_names_memory(wqe.opcode)) {
        fill_remote(in, &wqe);
    }
    if (qp->q.type == ERNIC_QPT_XRC_INI && ernic_wr(wqe.opcode) &&
        !(ernic_wr(wqe.opcode)->flags & ERNIC_WRF_LOCAL)) {
        wqe.send.xrc_srq = cpu_to_le32(g->srq[GUEST_XRC_SRQ].q.srqn);
    }
    wqe.count = cpu_to_le16(count);
    memcpy(slot, &wqe, sizeof(wqe));
    if (wqe.flags & ERNIC_WR_INLINE) {
        memset(slot + sizeof(wqe), 0x5a, MIN(count, GUEST_STRIDE - 64));
    } else {
        count = read_sges(in, g, sge, MIN(count, ERNIC_MAX_SGE));
        memcpy(slot + sizeof(wqe), sge, count * sizeof(sge[0]));
    }
    patch(in, slot);
    settle_list(slot);
    guest_write_slot(g, &qp->sq, qp->sq.pi + *unrung, slot, sizeof(slot));
    ++*unrung;
    if (!(how & 1)) {
        guest_ring(g, &qp->sq, qp->sq.pi + *unrung, 0, 0, 0);
        *unrung = 0;
        exchange();
    }
}

static void wr_recv(FuzzIn *in)
{
    uint8_t who = fuzz_u8(in);
    Guest *g = &pair.g[who >> 7];
    GuestWq *wq = guest_rq(g, &g->qp[(who & 0x7f) % g->qps]);
    struct ernic_rwqe head = { .wr_id = cpu_to_le64(fuzz_u16(in)) };
    uint8_t slot[GUEST_STRIDE] = { 0 };
    struct ernic_sge sge[ERNIC_MAX_SGE];
    uint32_t n = fuzz_u8(in);

    head.num_sge = cpu_to_le16(n);
    memcpy(slot, &head, sizeof(head));
    n = read_sges(in, g, sge, MIN(n, ERNIC_MAX_SGE));
    memcpy(slot + sizeof(head), sge, n * sizeof(sge[0]));
    patch(in, slot);
    guest_write_slot(g, wq, wq->pi, slot, sizeof(slot));
    guest_ring(g, wq, wq->pi + 1, 0, 0, 0);
    exchange();
}

/* ---- doorbells -------------------------------------------------------- */

/* A doorbell of a queue that keeps books; false: it is of no such queue. */
static bool known(Guest *g, uint32_t uctx, uint32_t kind, uint32_t queue,
                  uint32_t index)
{
    uint32_t i;

    for (i = 0; i < g->qps && kind <= ERNIC_DB_RQ; i++) {
        GuestQp *qp = &g->qp[i];

        if (qp->q.qpn != queue || qp->uctx != uctx) {
            continue;
        }
        guest_ring(g, kind == ERNIC_DB_SQ ? &qp->sq : &qp->rq, index, 0, 0, 0);
        pair.unrung[g - pair.g][i] = 0;
        return true;
    }
    for (i = 0; i < ARRAY_SIZE(g->srq) && kind == ERNIC_DB_SRQ && uctx == 0; i++) {
        if (queue == g->srq[i].q.srqn) {
            guest_ring(g, &g->srq[i].wq, index, 0, 0, 0);
            return true;
        }
    }
    return false;
}

static void wr_doorbell(FuzzIn *in)
{
    uint8_t who = fuzz_u8(in), how = fuzz_u8(in), kind = fuzz_u8(in);
    Guest *g = &pair.g[who >> 7];
    GuestQp *qp = &g->qp[(who & 0x7f) % g->qps];
    uint32_t queue = fuzz_u8(in), index = fuzz_u32(in);
    uint32_t uctx = how & 1 ? fuzz_u8(in) % 3 : qp->uctx;
    GuestWq *wq;
    uint64_t value;
    uint8_t status;

    if (!(how & 2) && kind <= ERNIC_DB_SRQ) {
        wq = kind == ERNIC_DB_SQ ? &qp->sq : kind == ERNIC_DB_RQ ? &qp->rq :
             &g->srq[queue % ARRAY_SIZE(g->srq)].wq;
        queue = wq->number;
        index += wq->pi;
    } else if (!(how & 2) && kind <= ERNIC_DB_CQ_ARM_SOLICITED) {
        queue = g->cq[queue % g->cqs].cqn;
        index += g->cq[0].ci;
    }
    /* Completions are read up to the last: whatever is accepted was read. */
    if (kind > ERNIC_DB_SRQ && g->lazy) {
        return;
    }
    if (!known(g, uctx, kind, queue, index)) {
        value = ERNIC_DB(kind, queue, index) | (uint64_t)(how >> 4) << 60;
        status = fuzz_doorbell(&g->h, uctx, value, PAIR_READS);
        if ((status == ERNIC_OK) != fuzz_break("owner")) {
            if (kind <= ERNIC_DB_SRQ || fuzz_break("owner")) {
                fuzz_fail("owner", "kind %u queue %u obeyed for context %u",
                          kind, queue, uctx);
            }
        }
    }
    exchange();
}

/* ---- what else happens ------------------------------------------------ */

static void wr_modify(FuzzIn *in)
{
    uint8_t who = fuzz_u8(in), state = fuzz_u8(in) % ERNIC_QPS_COUNT;
    Guest *g = &pair.g[who >> 7];
    GuestQp *qp = &g->qp[(who & 0x7f) % g->qps];
    struct ernic_qp_attr attr;

    pair_attr(&pair, who >> 7, qp - g->qp, &attr);
    attr.sqd_notify = 1;
    guest_modify(g, qp, fake_qp_mask(qp->q.type, state) ^ fuzz_u32(in), state,
                 &attr);
    if (state == ERNIC_QPS_RESET) {
        pair.unrung[who >> 7][qp - g->qp] = 0;
    }
    exchange();
}

/* The queue pairs of row @n, from Reset. */
static void reconnect(uint32_t n)
{
    struct ernic_qp_attr attr;

    for (uint32_t i = 0; i < 2; i++) {
        GuestQp *qp = &pair.g[i].qp[n];

        guest_modify(&pair.g[i], qp, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL);
        pair.unrung[i][n] = 0;
        pair_attr(&pair, i, n, &attr);
        for (uint32_t state = ERNIC_QPS_INIT; state <= ERNIC_QPS_RTS; state++) {
            guest_modify(&pair.g[i], qp, fake_qp_mask(qp->q.type, state),
                         state, &attr);
        }
    }
}

static void wr_reconnect(FuzzIn *in)
{
    uint8_t n = fuzz_u8(in) % pair.g[0].qps;

    reconnect(n);
    if (pair_rows[n].peer) {
        reconnect(n + pair_rows[n].peer);
    }
    exchange();
}

static void wr_time(FuzzIn *in)
{
    uint64_t ns = fuzz_ns(in);

    for (uint32_t step = 0; step < 8; step++) {
        fuzz_pass(&pair.g[0].h, ns / 8, 8);
        fuzz_pass(&pair.g[1].h, ns / 8, 8);
        exchange();
    }
}

static void wr_tune(FuzzIn *in)
{
    uint8_t who = fuzz_u8(in), what = fuzz_u8(in), a = fuzz_u8(in);

    guest_tune(&pair.g[who & 1], what, a, fuzz_u16(in));
    exchange();
}

static void wr_wire(FuzzIn *in)
{
    wire.drop = fuzz_u32(in);
    wire.twice = fuzz_u32(in);
}

static void wr_lazy(FuzzIn *in)
{
    Guest *g = &pair.g[fuzz_u8(in) & 1];

    g->lazy = fuzz_u8(in) & 1;
    guest_poll(g);
}

static void wr_dma(FuzzIn *in)
{
    Guest *g = &pair.g[fuzz_u8(in) & 1];

    g->faulty = true;
    fake_fail_dma(&g->h.env, fuzz_u8(in), false);
}

static void wr_busy(FuzzIn *in)
{
    Guest *g = &pair.g[fuzz_u8(in) & 1];
    uint8_t link = fuzz_u8(in);

    g->h.env.tx_busy = link & 1;
    if (link & 2) {
        g->h.env.tx_keeps = true;
    } else {
        fake_tx_leave(&g->h.env);
    }
    if (!g->h.env.tx_busy) {
        fuzz_tx_ready(&g->h);
    }
}

static void check(void)
{
    fuzz_check(&pair.g[0].h);
    fuzz_check(&pair.g[1].h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FuzzStep *const steps[] = {
        [WR_SEND] = wr_send, [WR_RECV] = wr_recv, [WR_DOORBELL] = wr_doorbell,
        [WR_TIME] = wr_time, [WR_WIRE] = wr_wire, [WR_MODIFY] = wr_modify,
        [WR_LAZY] = wr_lazy, [WR_DMA] = wr_dma, [WR_BUSY] = wr_busy,
        [WR_RECONNECT] = wr_reconnect, [WR_TUNE] = wr_tune,
    };

    pair_open(&pair);
    wire.drop = wire.twice = 0;
    fuzz_records(data, size, 96, steps, ARRAY_SIZE(steps), check);
    for (uint32_t i = 0; i < 2; i++) {
        fake_fail_dma(&pair.g[i].h.env, 0, false);
        pair.g[i].h.env.tx_busy = false;
        fake_tx_leave(&pair.g[i].h.env);
        fuzz_tx_ready(&pair.g[i].h);
        guest_finish(&pair.g[i]);
    }
    fuzz_close(&pair.g[0].h);
    fuzz_close(&pair.g[1].h);
    return 0;
}

/* ---- input that means something --------------------------------------- */

static void put_sges(FuzzRng *rng, FuzzOut *out, uint32_t n)
{
    while (n--) {
        fuzz_put(out, 1, fuzz_rand(rng, PAIR_KEYS));
        fuzz_put(out, 4, fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 4096),
                 fuzz_rand(rng, 4) ? fuzz_rand(rng, 3000) :
                 fuzz_rand(rng, 20000));
    }
}

static void make_send(FuzzRng *rng, FuzzOut *out)
{
    uint8_t op = fuzz_rand(rng, ERNIC_WR_COUNT), n = 1 + fuzz_rand(rng, 2);
    uint8_t qp = fuzz_rand(rng, PAIR_QPS);
    bool atomic = op == ERNIC_WR_CMP_SWAP || op == ERNIC_WR_FETCH_ADD;
    bool word = atomic || op == ERNIC_WR_ATOMIC_WRITE;

    fuzz_put(out, 1, qp | fuzz_rand(rng, 2) << 7, op,
             fuzz_rand(rng, 16) & (fuzz_rand(rng, 3) ? 7 : 15),
             !fuzz_rand(rng, 6));
    n = op == ERNIC_WR_REG_MR || op == ERNIC_WR_BIND_MW ||
        op == ERNIC_WR_LOCAL_INV || op == ERNIC_WR_FLUSH ? 0 : word ? 1 : n;
    fuzz_put(out, 1, n);
    fuzz_put(out, 2, fuzz_rand(rng, 1000));
    fuzz_put(out, 1, PAIR_KEY_FAST + fuzz_rand(rng, 4));
    if (op == ERNIC_WR_REG_MR || op == ERNIC_WR_BIND_MW) {
        fuzz_put(out, 1, PAIR_KEY_FAST + fuzz_rand(rng, 4), fuzz_rand(rng, 3),
                 0);
        fuzz_put(out, 4, fuzz_rand(rng, 8192), 0);
        fuzz_put(out, 1, fuzz_rand(rng, 64), 1 + fuzz_rand(rng, 8), 0);
        return;
    }
    if (guest_addresses(pair_rows[qp].type)) {
        fuzz_put(out, 1, fuzz_rand(rng, 2) * 2, qp);
    } else if (fuzz_names_memory(op)) {
        fuzz_put(out, 1, fuzz_rand(rng, PAIR_KEYS), 0);
        fuzz_put(out, 4, 8 * fuzz_rand(rng, 100));
        fuzz_put(out, atomic * 4, atomic ? fuzz_rand(rng, UINT32_MAX) : 0);
        if (op == ERNIC_WR_FLUSH) {
            fuzz_put(out, 2, fuzz_rand(rng, 8000));
            fuzz_put(out, 1, fuzz_rand(rng, 4) ? 1 : fuzz_rand(rng, 4),
                     fuzz_rand(rng, 2));
        }
    }
    if (word) {
        fuzz_put(out, 5, 0);
        fuzz_put(out, 4, 8);
    } else {
        put_sges(rng, out, n);
    }
}

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, 4) ? fuzz_rand(rng, 2)
                                     : fuzz_rand(rng, WR_COUNT);
    uint32_t n;

    if (kind == WR_SEND) {
        make_send(rng, out);
    } else if (kind == WR_RECV) {
        n = 1 + fuzz_rand(rng, 3);
        fuzz_put(out, 1, fuzz_rand(rng, PAIR_QPS) | fuzz_rand(rng, 2) << 7);
        fuzz_put(out, 2, fuzz_rand(rng, 1000));
        fuzz_put(out, 1, n);
        put_sges(rng, out, n);
    } else {
        fuzz_put_bytes(out, rng, 9, 3, 8);
    }
    return kind;
}
