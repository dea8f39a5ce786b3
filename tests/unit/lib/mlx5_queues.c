/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software of the mlx5 queues: objects, requests, completions.
 */
#include "qemu/osdep.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/verbs/commands.h"
#include "mlx5_queues.h"
#include "objects/cq.h"

#define PUT(at, layout, field, value) \
    ernic_mlx5_put(at, &ernic_mlx5_##layout.field, value)
#define GET(at, layout, field) \
    ((uint32_t)ernic_mlx5_get(at, &ernic_mlx5_##layout.field))

/* ---- objects --------------------------------------------------------------------- */

static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };

/* Entries of software: opcode "invalid", and owned by the device. */
static void clear_cq(Mlx5End *end)
{
    uint8_t *ring = fake_ptr(&end->env, end->cq.buf, MLX5_CQ_DEPTH * ERNIC_MLX5_CQE);

    for (uint32_t i = 0; i < MLX5_CQ_DEPTH; i++) {
        ring[i * ERNIC_MLX5_CQE + 63] = 0xf1;
    }
}

void mlx5_end_init(Mlx5End *end, uint8_t host)
{
    memset(end, 0, sizeof(*end));
    end->e = FAKE_ERNIC(&end->env, cfg.mlx5 = &config);
    end->e->mlx5->function.uars[MLX5_UAR / 8] |= 1 << MLX5_UAR % 8;
    ernic_set_link(end->e, end->env.now, true);
    fake_set_gid(end->e, 0, host);
    end->pd = fake_create_pd(end->e);
    fake_create_eq(end->e, &end->eq, 16, 0, true);
    fake_create_cq(end->e, &end->cq, MLX5_CQ_DEPTH, end->eq.eqn);
    end->cq_record = fake_alloc(&end->env, 8, 8);
    end->e->cq[end->cq.cqn].ci_addr = end->cq_record;
    *ernic_mlx5_cq(end->e, end->cq.cqn) = (ErnicMlx5Cq) {
        .uar = MLX5_UAR, .arm_number = ERNIC_MLX5_NOT_ARMED,
    };
    clear_cq(end);
    end->mem = fake_alloc(&end->env, MLX5_MEM, 4096);
    end->key = fake_reg_mr(end->e, end->pd, end->mem, MLX5_MEM, ERNIC_ACCESS_LOCAL_WRITE |
                           ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ |
                           ERNIC_ACCESS_REMOTE_ATOMIC | ERNIC_ACCESS_MW_BIND);
}

void mlx5_end_done(Mlx5End *end)
{
    Mlx5Cqe cqe;

    g_assert_false(mlx5_poll(end, &cqe));
    fake_ernic_done(&end->env, end->e);
}

void mlx5_create_qp(Mlx5End *end, Mlx5Queue *q, uint8_t type, const Mlx5List *srq)
{
    uint32_t rq_bytes = MLX5_RQ_DEPTH * MLX5_RQ_STRIDE;
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(end->pd), .send_cq = cpu_to_le32(end->cq.cqn),
        .recv_cq = cpu_to_le32(end->cq.cqn), .type = type,
        .srq = cpu_to_le32(srq ? srq->srq.srqn : FAKE_NONE),
        .sq_depth = cpu_to_le32(MLX5_DEPTH), .sq_stride = 1,
    };
    uint8_t status;

    /* One buffer: the receive ring, then the send ring. */
    *q = (Mlx5Queue) {
        .type = type, .record = fake_alloc(&end->env, 8, 8),
        .rq = fake_alloc(&end->env, rq_bytes + MLX5_DEPTH * ERNIC_MLX5_BLOCK, 4096),
    };
    q->sq = q->rq + rq_bytes;
    init.sq_buf.addr = cpu_to_le64(q->rq);
    if (!srq) {
        init.rq_depth = cpu_to_le32(MLX5_RQ_DEPTH);
        init.rq_stride = MLX5_RQ_STRIDE / 64;
    }
    status = ernic_qp_create(end->e, 0, &init, &q->qpn);
    OK(status);
    *ernic_mlx5_qp(end->e, q->qpn) = (ErnicMlx5Qp) {
        .uar = MLX5_UAR, .user_index = 0x700 + q->qpn, .record = q->record,
        .sq_offset = rq_bytes, .fast_register = true,
    };
    ernic_db_pages_derive(end->e);
}

void mlx5_connect(Mlx5End *end, const Mlx5Queue *q, uint32_t dest, uint8_t host)
{
    FakeQp fake = { .qpn = q->qpn, .type = q->type };

    fake_connect(end->e, &fake, dest, host);
}

static void create_srq(Mlx5End *end, Mlx5List *srq)
{
    memset(srq, 0, sizeof(*srq));
    fake_create_srq(end->e, &srq->srq, end->pd, MLX5_SRQ_DEPTH, 0);
    srq->record = fake_alloc(&end->env, 8, 8);
    *ernic_mlx5_srq(end->e, srq->srq.srqn) = (ErnicMlx5Srq) {
        .user_index = ERNIC_MLX5_NO_INDEX, .record = srq->record,
    };
}

/* ---- send requests --------------------------------------------------------------- */

uint8_t *mlx5_segment(Mlx5Wr *wr, uint32_t bytes)
{
    uint8_t *at = wr->bytes + wr->len;

    g_assert_cmpuint(wr->len + bytes, <=, sizeof(wr->bytes));
    wr->len += bytes;
    return at;
}

void mlx5_wr(Mlx5Wr *wr, uint8_t opcode, uint8_t ce, uint32_t imm)
{
    uint8_t *ctrl;

    memset(wr, 0, sizeof(*wr));
    ctrl = mlx5_segment(wr, 16);
    PUT(ctrl, wqe_ctrl_seg, opcode, opcode);
    PUT(ctrl, wqe_ctrl_seg, ce, ce);
    PUT(ctrl, wqe_ctrl_seg, imm, imm);
}

void mlx5_raddr(Mlx5Wr *wr, uint64_t addr, uint32_t rkey)
{
    uint8_t *seg = mlx5_segment(wr, 16);

    PUT(seg, wqe_raddr_seg, raddr, addr);
    PUT(seg, wqe_raddr_seg, rkey, rkey);
}

void mlx5_atomic(Mlx5Wr *wr, uint64_t swap_add, uint64_t compare)
{
    uint8_t *seg = mlx5_segment(wr, 16);

    PUT(seg, wqe_atomic_seg, swap_add, swap_add);
    PUT(seg, wqe_atomic_seg, compare, compare);
}

void mlx5_av(Mlx5Wr *wr, uint8_t host, uint32_t dest)
{
    static const uint8_t mac[5] = { 2 };
    uint8_t *seg = mlx5_segment(wr, 48), gid[16];

    fake_gid(gid, host);
    PUT(seg, wqe_av, qkey, 0x11111111);
    PUT(seg, wqe_av, extended, 1);
    PUT(seg, wqe_av, dqpn, dest);
    PUT(seg, wqe_av, grh, 1);
    PUT(seg, wqe_av, hop_limit, 64);
    PUT(seg, wqe_av, tclass, 2);
    for (uint32_t i = 0; i < sizeof(mac); i++) {
        ernic_mlx5_put_at(seg, &ernic_mlx5_wqe_av.rmac, i, mac[i]);
    }
    ernic_mlx5_put_at(seg, &ernic_mlx5_wqe_av.rmac, 5, host);
    for (uint32_t i = 0; i < sizeof(gid); i++) {
        ernic_mlx5_put_at(seg, &ernic_mlx5_wqe_av.rgid, i, gid[i]);
    }
}

void mlx5_data(Mlx5Wr *wr, uint64_t addr, uint32_t len, uint32_t lkey)
{
    uint8_t *seg = mlx5_segment(wr, 16);

    PUT(seg, wqe_data_seg, byte_count, len);
    PUT(seg, wqe_data_seg, lkey, lkey);
    PUT(seg, wqe_data_seg, addr, addr);
}

void mlx5_inline(Mlx5Wr *wr, const void *bytes, uint32_t len)
{
    uint8_t *seg = mlx5_segment(wr, ROUND_UP(4 + len, 16));

    PUT(seg, wqe_inline_seg, inline_data, 1);
    PUT(seg, wqe_inline_seg, inline_byte_count, len);
    memcpy(seg + 4, bytes, len);
}

uint16_t mlx5_write(Mlx5End *end, Mlx5Queue *q, Mlx5Wr *wr)
{
    uint32_t blocks = DIV_ROUND_UP(wr->len, ERNIC_MLX5_BLOCK), i;
    uint16_t counter = q->sq_pi;

    PUT(wr->bytes, wqe_ctrl_seg, wqe_index, counter);
    PUT(wr->bytes, wqe_ctrl_seg, qpn, q->qpn);
    if (!GET(wr->bytes, wqe_ctrl_seg, ds)) {
        PUT(wr->bytes, wqe_ctrl_seg, ds, wr->len / 16);
    }
    for (i = 0; i < blocks; i++, q->sq_pi++) {
        memcpy(fake_ptr(&end->env, q->sq + q->sq_pi % MLX5_DEPTH * ERNIC_MLX5_BLOCK,
                        ERNIC_MLX5_BLOCK),
               wr->bytes + i * ERNIC_MLX5_BLOCK, ERNIC_MLX5_BLOCK);
    }
    return counter;
}

void mlx5_announce(Mlx5End *end, const Mlx5Queue *q)
{
    uint8_t *record = fake_ptr(&end->env, q->record, 8);

    PUT(record, qp_doorbell_record, send_counter, q->sq_pi);
    ernic_bar_write(end->e, end->env.now, MLX5_UAR * ERNIC_MLX5_PAGE + 0x800, 8,
                    (uint64_t)q->qpn << 8);
}

void mlx5_ring(Mlx5End *end, Mlx5Queue *q)
{
    mlx5_announce(end, q);
    fake_run(end->e);
}

void mlx5_post_wr(Mlx5End *end, Mlx5Queue *q, Mlx5Wr *wr)
{
    mlx5_write(end, q, wr);
    mlx5_ring(end, q);
}

/* ---- receive requests ------------------------------------------------------------ */

static void write_recv(Mlx5End *end, uint64_t at, uint32_t room, uint64_t addr,
                       uint32_t len)
{
    uint8_t *seg = fake_ptr(&end->env, at, room);

    memset(seg, 0, room);
    PUT(seg, wqe_data_seg, byte_count, len);
    PUT(seg, wqe_data_seg, lkey, end->key);
    PUT(seg, wqe_data_seg, addr, addr);
    PUT(seg + 16, wqe_data_seg, lkey, ERNIC_MLX5_END_KEY);
}

void mlx5_post_recv(Mlx5End *end, Mlx5Queue *q, uint64_t addr, uint32_t len)
{
    write_recv(end, q->rq + q->rq_pi++ % MLX5_RQ_DEPTH * MLX5_RQ_STRIDE, MLX5_RQ_STRIDE,
               addr, len);
    PUT(fake_ptr(&end->env, q->record, 8), qp_doorbell_record, recv_counter, q->rq_pi);
}

void mlx5_post_srq(Mlx5End *end, Mlx5List *srq, uint64_t addr, uint32_t len,
                   uint16_t next)
{
    uint64_t slot = srq->srq.buf + srq->head * MLX5_SRQ_STRIDE;

    write_recv(end, slot + 16, MLX5_SRQ_STRIDE - 16, addr, len);
    PUT(fake_ptr(&end->env, slot, 16), wqe_srq_next_seg, next_wqe_index, next);
    srq->head = next;
    srq->pi++;
    PUT(fake_ptr(&end->env, srq->record, 8), qp_doorbell_record, recv_counter, srq->pi);
}

/* ---- completions ----------------------------------------------------------------- */

bool mlx5_poll(Mlx5End *end, Mlx5Cqe *cqe)
{
    uint32_t stride = end->cq_lead + ERNIC_MLX5_CQE;
    const uint8_t *at = fake_ptr(&end->env, end->cq.buf + end->cq.ci % MLX5_CQ_DEPTH *
                                            stride, stride) + end->cq_lead;

    if (GET(at, cqe64, opcode) == 0xf ||
        GET(at, cqe64, owner) != end->cq.ci / MLX5_CQ_DEPTH % 2) {
        return false;
    }
    *cqe = (Mlx5Cqe) {
        .opcode = GET(at, cqe64, opcode), .solicited = GET(at, cqe64, solicited),
        .counter = GET(at, cqe64, wqe_counter), .index = GET(at, cqe64, srqn),
        .qpn = GET(at, cqe64, qpn), .sent = GET(at, cqe64, sop),
    };
    if (cqe->opcode >= 13) {
        cqe->syndrome = GET(at, err_cqe, syndrome);
        cqe->vendor = GET(at, err_cqe, vendor_err_synd);
    } else {
        cqe->bytes = GET(at, cqe64, byte_cnt);
        cqe->imm = GET(at, cqe64, immediate);
        cqe->source = GET(at, cqe64, rqpn);
        cqe->grh = GET(at, cqe64, grh);
        cqe->l3 = GET(at, cqe64, sl);
        cqe->vlan = GET(at, cqe64, vlan_stripped) ? GET(at, cqe64, vlan_info) : 0;
    }
    end->cq.ci++;
    PUT(fake_ptr(&end->env, end->cq_record, 8), cq_doorbell_record, ci, end->cq.ci);
    return true;
}

void mlx5_arm(Mlx5End *end, uint8_t number, bool solicited)
{
    uint8_t doorbell[8] = { 0 };

    PUT(doorbell, cq_doorbell, cmd_sn, number);
    PUT(doorbell, cq_doorbell, solicited, solicited);
    PUT(doorbell, cq_doorbell, ci, end->cq.ci);
    PUT(doorbell, cq_doorbell, cqn, end->cq.cqn);
    ernic_bar_write(end->e, end->env.now, MLX5_UAR * ERNIC_MLX5_PAGE + 0x20, 8,
                    ldq_be_p(doorbell));
    fake_run(end->e);
}

void mlx5_exchange(Mlx5End *a, Mlx5End *b)
{
    uint32_t turns = 0;

    while (fake_deliver(a->e, b->e) + fake_deliver(b->e, a->e)) {
        g_assert_cmpuint(++turns, <, 1000);
    }
}

void mlx5_open_pair(Mlx5Pair *p, uint8_t type, Mlx5List *srq)
{
    memset(p, 0, sizeof(*p));
    mlx5_end_init(&p->a, 1);
    mlx5_end_init(&p->b, 2);
    if (srq) {
        create_srq(&p->b, srq);
    }
    mlx5_create_qp(&p->a, &p->aq, type, NULL);
    mlx5_create_qp(&p->b, &p->bq, type, srq);
    mlx5_connect(&p->a, &p->aq, p->bq.qpn, 2);
    mlx5_connect(&p->b, &p->bq, p->aq.qpn, 1);
}

void mlx5_close_pair(Mlx5Pair *p)
{
    mlx5_end_done(&p->a);
    mlx5_end_done(&p->b);
}
