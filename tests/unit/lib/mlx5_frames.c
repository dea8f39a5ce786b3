/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The software end of Ethernet queues of the mlx5 interface.
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "mlx5_frames.h"

/* The key that ends a list of data segments. */
#define END_KEY     0x100

/* The numbers of a completion queue and of a protection domain are allocated. */
static void make_objects(Frames *f)
{
    ErnicCqInit init = { .depth = FRAMES_CQ_DEPTH, .ci_addr = f->cq_record };
    ErnicBuf buf = { .base = f->cq_ring };
    Ernic *e = f->eth.e;
    uint32_t cqn;

    e->cq[ETH_CQ].used = e->pd[ETH_PD].used = false;
    OK(ernic_cq_add(e, &init, &buf, &cqn));
    IS(cqn, FRAMES_CQ);
    ETH_OK(&f->eth, 0x800, "%s", "");
    g_assert_true(e->pd[FRAMES_PD].used);
}

void frames_setup(Frames *f)
{
    memset(f, 0, sizeof(*f));
    eth_setup(&f->eth);
    f->cq_ring = fake_alloc(&f->eth.env, FRAMES_CQ_DEPTH * 64, 4096);
    f->cq_record = fake_alloc(&f->eth.env, 64, 64);
    f->mem = fake_alloc(&f->eth.env, FRAMES_MEM, 4096);
    /* No entry is in the pass that the ring is in. */
    memset(fake_ptr(&f->eth.env, f->cq_ring, FRAMES_CQ_DEPTH * 64), 0xff,
           FRAMES_CQ_DEPTH * 64);
    make_objects(f);
    ETH_OK(&f->eth, 0x200, "memory_key_mkey_entry.length64=1\n"
           "memory_key_mkey_entry.qpn=0xffffff\nmemory_key_mkey_entry.pd=%d\n"
           "memory_key_mkey_entry.lw=1\nmemory_key_mkey_entry.lr=1\n"
           "memory_key_mkey_entry.mkey_7_0=0x11", FRAMES_PD);
    f->key = ernic_mlx5_get(f->eth.out, &ernic_mlx5_create_mkey_out.mkey_index) << 8 |
             0x11;
    ETH_OK(&f->eth, 0x912, "ctx.transport_domain=1");
    ernic_set_link(f->eth.e, f->eth.env.now, true);
}

void frames_done(Frames *f)
{
    fake_check(f->eth.e);
    eth_done(&f->eth);
}

void frames_move(Frames *f)
{
    fake_take_over(&f->eth.e);
    f->eth.f = &f->eth.e->mlx5->function;
    ernic_slice(f->eth.e);
}

void frames_queue(Frames *f, FramesQueue *q, bool rq, uint32_t log, uint32_t log_stride,
                  const char *more)
{
    uint32_t page = MAX(log + log_stride, 12);
    Eth *eth = &f->eth;

    *q = (FramesQueue) {
        .log = log, .log_stride = log_stride,
        .ring = fake_alloc(&eth->env, 1u << (log + log_stride), 1u << page),
        .record = fake_alloc(&eth->env, 64, 64),
    };
    ETH_OK(eth, rq ? 0x908 : 0x904,
           "ctx.cqn=%d\nctx.user_index=0x77\n" WQ("wq_type=1") WQ("pd=%d")
           WQ("log_wq_sz=%u") WQ("log_wq_stride=%u") WQ("dbr_addr=%#" PRIx64)
           WQ("log_wq_pg_sz=%u") WQ("pas[0].pa_h=%#x") WQ("pas[0].pa_l=%#x") "%s",
           FRAMES_CQ, FRAMES_PD, log, log_stride, q->record, page - 12,
           (uint32_t)(q->ring >> 32), (uint32_t)q->ring >> 12, more);
    q->number = eth_number(eth);
    ETH_OK(eth, rq ? 0x909 : 0x905, "%sn=%#x\nctx.state=1", rq ? "rq" : "sq", q->number);
}

void frames_root(Frames *f, uint32_t tir, uint32_t tag)
{
    uint32_t table = eth_table(&f->eth, 10, 8, 0);
    uint32_t group = eth_group(&f->eth, table, tag, tag, "");

    eth_entry(&f->eth, table, group, tag, "", false, tir);
    ETH_OK(&f->eth, 0x92f, "table_id=%u", table);
}

void frames_post(Frames *f, FramesQueue *q, const FramesPiece *piece, uint32_t n)
{
    uint32_t stride = 1u << q->log_stride, slot = q->pi++ & ((1u << q->log) - 1), i;
    uint8_t *at = fake_ptr(&f->eth.env, q->ring + slot * stride, stride);

    for (i = 0; i < n; i++) {
        ernic_mlx5_put(at + i * 16, &ernic_mlx5_wqe_data_seg.byte_count, piece[i].len);
        ernic_mlx5_put(at + i * 16, &ernic_mlx5_wqe_data_seg.lkey, piece[i].key);
        ernic_mlx5_put(at + i * 16, &ernic_mlx5_wqe_data_seg.addr, piece[i].addr);
    }
    if (n < stride / 16) {
        ernic_mlx5_put(at + n * 16, &ernic_mlx5_wqe_data_seg.byte_count, 0);
        ernic_mlx5_put(at + n * 16, &ernic_mlx5_wqe_data_seg.lkey, END_KEY);
    }
    ernic_mlx5_put(fake_ptr(&f->eth.env, q->record, 8),
                   &ernic_mlx5_qp_doorbell_record.recv_counter, q->pi);
}

bool frames_poll(Frames *f)
{
    uint32_t slot = f->cq_ci % FRAMES_CQ_DEPTH;

    memcpy(f->cqe, fake_ptr(&f->eth.env, f->cq_ring + slot * 64, 64), 64);
    if (CQE(f, opcode) == 15 || CQE(f, owner) != (f->cq_ci / FRAMES_CQ_DEPTH & 1)) {
        return false;
    }
    ernic_mlx5_put(fake_ptr(&f->eth.env, f->cq_record, 8),
                   &ernic_mlx5_cq_doorbell_record.ci, ++f->cq_ci);
    return true;
}

void frames_receive(Frames *f, const uint8_t *frame, uint32_t len)
{
    g_assert_true(ernic_wants_frame(f->eth.e, frame, len));
    ernic_rx_raw(f->eth.e, f->eth.env.now, frame, len);
}

/* ---- frames -------------------------------------------------------------------- */

uint16_t frames_sum(const uint8_t *bytes, uint32_t len)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < len; i++) {
        sum += i % 2 ? bytes[i] : bytes[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static uint16_t add(uint16_t a, uint32_t b)
{
    uint32_t sum = a + (b & 0xffff) + (b >> 16);

    return (sum & 0xffff) + (sum >> 16);
}

/* TCP or UDP header and payload at @l4. */
static uint32_t make_l4(const FramesHead *h, uint8_t *l4, uint16_t pseudo)
{
    bool tcp = h->proto == 6;
    uint32_t len = (tcp ? 20 : 8) + h->payload, i;

    memset(l4, 0, 20);
    stw_be_p(l4, h->sport);
    stw_be_p(l4 + 2, h->dport);
    if (tcp) {
        stl_be_p(l4 + 4, 0xfffffff0);
        l4[12] = 5 << 4;
        l4[13] = h->tcp_flags;
    } else {
        stw_be_p(l4 + 4, len);
    }
    for (i = 0; i < h->payload; i++) {
        l4[len - h->payload + i] = i * 7 + (i >> 8);
    }
    stw_be_p(l4 + (tcp ? 16 : 6), ~add(add(frames_sum(l4, len), pseudo), len));
    return len;
}

static uint32_t make_ip(const FramesHead *h, uint8_t *ip)
{
    uint32_t addr = h->version == 4 ? 4 : 16, head = h->version == 4 ? 20 : 40, len = 0;
    uint16_t pseudo = add(add(frames_sum(h->src, addr), frames_sum(h->dst, addr)),
                          h->proto);

    memset(ip, 0, head);
    ip[0] = h->version == 4 ? 0x45 : 0x60;
    memcpy(ip + head - 2 * addr, h->src, addr);
    memcpy(ip + head - addr, h->dst, addr);
    if (h->proto == 6 || h->proto == 17) {
        len = make_l4(h, ip + head, pseudo);
    } else {
        len = h->payload;
        memset(ip + head, 0x5a, len);
    }
    if (h->version == 4) {
        stw_be_p(ip + 2, head + len);
        stw_be_p(ip + 4, 0xfffe);
        ip[8] = 64;
        ip[9] = h->proto;
        stw_be_p(ip + 10, ~frames_sum(ip, 20));
    } else {
        stw_be_p(ip + 4, len);
        ip[6] = h->proto;
        ip[7] = 64;
    }
    return head + len;
}

uint32_t frames_make(const FramesHead *h, uint8_t *to)
{
    static const uint8_t none[6];
    uint32_t at = 12, len;

    memcpy(to, memcmp(h->dmac, none, 6) ? h->dmac : eth_config.mac, 6);
    memcpy(to + 6, "\x02\x00\x00\x00\x00\x09", 6);
    if (h->tag) {
        stw_be_p(to + at, h->service ? 0x88a8 : 0x8100);
        stw_be_p(to + at + 2, h->tag);
        at += 4;
    }
    if (h->tag2) {
        stw_be_p(to + at, 0x8100);
        stw_be_p(to + at + 2, h->tag2);
        at += 4;
    }
    stw_be_p(to + at, h->version == 4 ? 0x800 : h->version ? 0x86dd : 0x88b5);
    at += 2;
    len = h->version ? make_ip(h, to + at) : h->payload;
    if (!h->version) {
        memset(to + at, 0x33, len);
    }
    return at + len;
}
