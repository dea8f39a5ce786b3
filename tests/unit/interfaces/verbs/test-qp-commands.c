/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pairs by command: what create and modify refuse, and that a refused command has
 * changed nothing.
 */
#include "qemu/osdep.h"
#include "interfaces/verbs/commands.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "qp_fixture.h"

static void good_init(Fixture *f, struct ernic_qp_init *init)
{
    *init = (struct ernic_qp_init) {
        .sq_buf.addr = cpu_to_le64(f->buf),
        .rq_buf.addr = cpu_to_le64(f->buf + 32768),
        .pd = cpu_to_le32(f->pd),
        .send_cq = cpu_to_le32(f->cq.cqn),
        .recv_cq = cpu_to_le32(f->cq.cqn),
        .srq = cpu_to_le32(FAKE_NONE),
        .sq_depth = cpu_to_le32(8),
        .rq_depth = cpu_to_le32(4),
        .type = ERNIC_QPT_RC,
        .sq_stride = 3,
        .rq_stride = 2,
    };
}

static uint8_t qp_create(Fixture *f, const struct ernic_qp_init *init, uint32_t *qpn)
{
    return fake_pass(f->e, ERNIC_CMD_QP_CREATE, 0, init, sizeof(*init), qpn);
}

/* One field of a good request changed to a little-endian number. */
#define F(field, v, status) { offsetof(struct ernic_qp_init, field), \
                              sizeof_field(struct ernic_qp_init, field), v, status }
#define GOOD(field, v)        F(field, v, ERNIC_OK)
#define PARAM(field, v)     F(field, v, ERNIC_ERR_PARAM)
#define HANDLE(field, v)    F(field, v, ERNIC_ERR_HANDLE)
#define RESERVED(field, v)  F(field, v, ERNIC_ERR_RESERVED)

static const struct {
    uint32_t offset, size;
    uint64_t value;
    uint8_t status;
} create_rows[] = {
    PARAM(type, ERNIC_QPT_COUNT), PARAM(type, 255), PARAM(flags, 2), PARAM(flags, 0x81),
    RESERVED(reserved[0], 1), RESERVED(reserved[3], 1), PARAM(sq_depth, 0),
    PARAM(sq_depth, 3), PARAM(sq_depth, 1 << 16), PARAM(sq_depth, 0x80000000),
    PARAM(sq_stride, 0), PARAM(sq_stride, ERNIC_SQ_STRIDE_MAX + 1), PARAM(rq_depth, 0),
    PARAM(rq_depth, 5), PARAM(rq_depth, 1 << 16), PARAM(rq_stride, 0),
    PARAM(rq_stride, ERNIC_RQ_STRIDE_MAX + 1), HANDLE(pd, 0), HANDLE(pd, 31),
    HANDLE(pd, 32), HANDLE(pd, 0xffffffff), HANDLE(send_cq, 0), HANDLE(send_cq, 63),
    HANDLE(send_cq, 0xffffffff), HANDLE(recv_cq, 64), HANDLE(srq, 0), HANDLE(srq, 9),
    HANDLE(srq, 0xfffffffe), RESERVED(sq_buf.reserved[0], 1), PARAM(sq_buf.levels, 3),
    PARAM(sq_buf.npages, 1), PARAM(rq_buf.page_shift, 12),
    PARAM(rq_buf.addr, UINT64_MAX - 63),
    /* With an SRQ there is no receive queue to describe. */
    RESERVED(srq, 1),
    /* These are valid. */
    GOOD(type, ERNIC_QPT_UD), GOOD(flags, ERNIC_QPF_SQ_SIG_ALL), GOOD(sq_depth, 1),
    GOOD(sq_depth, 1 << 15), GOOD(rq_depth, 1 << 15),
    GOOD(sq_stride, ERNIC_SQ_STRIDE_MAX), GOOD(rq_stride, ERNIC_RQ_STRIDE_MAX),
};
#undef F
#undef GOOD
#undef PARAM
#undef RESERVED

ENGINE_TEST("/qp-cmd/create/rows", test_create_rows)
{
    struct ernic_qp_init init;
    uint64_t le;
    uint32_t qpn;

    IS(f->srq.srqn, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(create_rows); i++) {
        g_autoptr(GByteArray) before = state_of(f);

        good_init(f, &init);
        le = cpu_to_le64(create_rows[i].value);
        memcpy((uint8_t *)&init + create_rows[i].offset, &le, create_rows[i].size);
        g_test_message("row %u", i);
        IS(qp_create(f, &init, &qpn), create_rows[i].status);
        if (create_rows[i].status == ERNIC_OK) {
            g_assert_cmpuint(qpn, >=, 2);
        } else {
            assert_unchanged(f, before);
        }
    }
}

ENGINE_TEST("/qp-cmd/create/good", test_create)
{
    struct ernic_qp_init init;
    uint32_t qpn, cq_refs = f->e->cq[f->cq.cqn].refs;
    uint32_t pd_refs = f->e->pd[f->pd].refs;
    ErnicQp *qp;

    good_init(f, &init);
    init.sq_depth = cpu_to_le32(256);
    OK(qp_create(f, &init, &qpn));
    qp = &f->e->qp[qpn];
    IS(qp->state, ERNIC_QPS_RESET);
    IS(qp->transport, ERNIC_RC);
    IS(qp->sq.wq.depth, 256);
    IS(qp->sq.wq.stride, 192);
    IS(qp->sq.window_mask, ERNIC_SQ_WINDOW - 1);
    IS(qp->rq.wq.stride, 128);
    IS(f->e->cq[f->cq.cqn].refs, cq_refs + 2);
    IS(f->e->pd[f->pd].refs, pd_refs + 1);
    /* An object that the queue pair uses cannot be destroyed before it. */
    IS(fake_destroy(f->e, ERNIC_CMD_CQ_DESTROY, f->cq.cqn), ERNIC_ERR_BUSY);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qpn));
    IS(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qpn), ERNIC_ERR_HANDLE);
    IS(f->e->cq[f->cq.cqn].refs, cq_refs);
    IS(f->e->pd[f->pd].refs, pd_refs);
    OK(fake_destroy(f->e, ERNIC_CMD_CQ_DESTROY, f->cq.cqn));
}

ENGINE_TEST("/qp-cmd/create/srq", test_create_srq)
{
    struct ernic_qp_init init;
    uint32_t qpn;

    good_init(f, &init);
    init.srq = cpu_to_le32(f->srq.srqn);
    memset(&init.rq_buf, 0, sizeof(init.rq_buf));
    IS(qp_create(f, &init, &qpn), ERNIC_ERR_PARAM);
    init.rq_depth = 0;
    IS(qp_create(f, &init, &qpn), ERNIC_ERR_PARAM);
    init.rq_stride = 0;
    OK(qp_create(f, &init, &qpn));
    IS(f->e->qp[qpn].srq, f->srq.srqn);
    IS(f->e->srq[f->srq.srqn].refs, 1);
    IS(fake_destroy(f->e, ERNIC_CMD_SRQ_DESTROY, f->srq.srqn), ERNIC_ERR_BUSY);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qpn));
    OK(fake_destroy(f->e, ERNIC_CMD_SRQ_DESTROY, f->srq.srqn));
}

/* QP1: only for the kernel, and only one. */
ENGINE_TEST("/qp-cmd/create/gsi", test_create_gsi)
{
    uint32_t uctx = fake_create_uctx(f->e), qpn, pd;
    struct ernic_qp_init init;
    FakeCq cq;

    f->env.uctx = uctx;
    pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &cq, 16, FAKE_NONE);
    good_init(f, &init);
    init.type = ERNIC_QPT_GSI;
    /* The kernel's objects are not this context's. */
    IS(qp_create(f, &init, &qpn), ERNIC_ERR_HANDLE);
    init.pd = cpu_to_le32(pd);
    init.send_cq = init.recv_cq = cpu_to_le32(cq.cqn);
    IS(qp_create(f, &init, &qpn), ERNIC_ERR_PERM);
    f->env.uctx = 0;
    good_init(f, &init);
    init.type = ERNIC_QPT_GSI;
    OK(qp_create(f, &init, &qpn));
    IS(qpn, 1);
    IS(qp_create(f, &init, &qpn), ERNIC_ERR_NO_RESOURCE);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, 1));
    OK(qp_create(f, &init, &qpn));
    IS(qpn, 1);
}

/* Page lists of both rings: the n-th access to memory fails. */
ENGINE_TEST("/qp-cmd/create/dma", test_create_dma)
{
    uint64_t list = fake_alloc(&f->env, 64, 8);
    struct ernic_qp_init init;
    uint32_t qpn, n;

    for (int i = 0; i < 8; i++) {
        fake_put64(&f->env, list + 8 * i, f->buf + 4096 * i);
    }
    good_init(f, &init);
    init.sq_buf.addr = init.rq_buf.addr = cpu_to_le64(list);
    init.sq_buf.npages = init.rq_buf.npages = cpu_to_le32(8);
    init.sq_buf.page_shift = init.rq_buf.page_shift = 12;
    init.sq_buf.levels = init.rq_buf.levels = 1;
    for (n = 1; n < 100; n++) {
        g_autoptr(GByteArray) before = state_of(f);

        f->env.refused = 0;
        fake_fail_dma(&f->env, n, false);
        if (qp_create(f, &init, &qpn) == ERNIC_OK) {
            break;
        }
        IS(f->env.refused, 1);
        assert_unchanged(f, before);
    }
    fake_fail_dma(&f->env, 0, false);
    IS(n, 4);         /* init, and two lists */
    IS(f->e->num_pages, 16);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qpn));
    IS(f->e->num_pages, 0);
}

/* Each pair of states: accepted exactly if the table has it, else no change. */
ENGINE_TEST("/qp-cmd/modify/edges", test_edges)
{
    struct ernic_qp_attr attr;
    uint32_t required, optional, taken = 0;
    FakeQp qp;

    fake_qp_attr(&attr, 9, 2);
    for (uint8_t type = 0; type < ERNIC_QPT_COUNT; type++) {
        for (uint8_t from = 0; from < ERNIC_QPS_COUNT; from++) {
            for (uint8_t to = 0; to < ERNIC_QPS_COUNT + 1; to++) {
                g_autoptr(GByteArray) before = NULL;
                uint8_t status;
                bool edge;

                if (from == ERNIC_QPS_SQE &&
                    type != ERNIC_QPT_UD && type != ERNIC_QPT_GSI) {
                    continue;   /* bring() takes this path for datagrams */
                }
                bring(f, &qp, type, from);
                before = state_of(f);
                edge = ernic_qp_edge(type, from, to, &required, &optional);
                status = fake_modify_qp(f->e, qp.qpn, (edge ? required : 0) |
                                        ERNIC_QPA_STATE, to, &attr);
                IS(status, edge ? ERNIC_OK : ERNIC_ERR_STATE);
                if (edge) {
                    IS(state(f, &qp), to);
                    taken++;
                } else {
                    assert_unchanged(f, before);
                }
                fake_run(f->e);
                fake_check(f->e);
                fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qp.qpn);
            }
        }
    }
    IS(taken, 6 * 19 + 2 * 22);
}

/* A required attribute missing, and one too many: all or none apply, up to RTS. */
ENGINE_TEST("/qp-cmd/modify/masks", test_masks)
{
    struct ernic_qp_attr attr;
    uint32_t required, optional;
    FakeQp qp;

    fake_qp_attr(&attr, 9, 2);
    for (uint32_t i = 0; i < ERNIC_QPT_COUNT * ERNIC_QPS_RTS; i++) {
        uint8_t type = i / ERNIC_QPS_RTS, from = i % ERNIC_QPS_RTS, to = from + 1;

        bring(f, &qp, type, from);
        attr.cur_state = from;
        g_assert_true(ernic_qp_edge(type, from, to, &required, &optional));
        for (uint32_t bit = 1; bit; bit <<= 1) {
            uint32_t mask = required ^ bit;
            g_autoptr(GByteArray) before = state_of(f);

            if (bit == ERNIC_QPA_STATE || (optional & bit)) {
                continue;
            }
            IS(fake_modify_qp(f->e, qp.qpn, mask | ERNIC_QPA_STATE, to, &attr),
               ERNIC_ERR_ATTR_MASK);
            assert_unchanged(f, before);
        }
        /* Without STATE the state stays: RTR to RTR is no edge. */
        if (from == ERNIC_QPS_RTR) {
            IS(fake_modify_qp(f->e, qp.qpn, required, to, &attr), ERNIC_ERR_STATE);
        }
        OK(fake_modify_qp(f->e, qp.qpn, required | ERNIC_QPA_STATE, to, &attr));
        fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qp.qpn);
    }
}

#define RST ERNIC_QPS_RESET, ERNIC_QPS_INIT
#define RTR ERNIC_QPS_INIT, ERNIC_QPS_RTR
#define RTS ERNIC_QPS_RTR, ERNIC_QPS_RTS
#define F(from, to, field, v, status) \
    { from, to, offsetof(struct ernic_qp_attr, field), \
      sizeof_field(struct ernic_qp_attr, field), v, status }
#define GOOD(edge, field, v)          F(edge, field, v, ERNIC_OK)
#define PARAM(edge, field, v)       F(edge, field, v, ERNIC_ERR_PARAM)
#define RESERVED(edge, field, v)    F(edge, field, v, ERNIC_ERR_RESERVED)

/*
 * One attribute of a good request changed, on the edge from @from to @to. Entry 15 of the
 * P_Keys and 1 of the GIDs are not valid; 224 is the beginning of a group.
 */
static const struct {
    uint8_t from, to;
    uint32_t offset, size;
    uint64_t value;
    uint8_t status;
} value_rows[] = {
    PARAM(RST, pkey_index, 15), GOOD(RST, pkey_index, 3), PARAM(RST, pkey_index, 16),
    PARAM(RST, pkey_index, 0xffff), PARAM(RST, port, 0), PARAM(RST, port, 2),
    GOOD(RST, access, 0), PARAM(RST, access, ERNIC_ACCESS_LOCAL_WRITE),
    PARAM(RST, access, ERNIC_ACCESS_MW_BIND), PARAM(RST, access, 0x80000000),
    RESERVED(RST, reserved[0], 1), RESERVED(RST, reserved[1], 1),
    RESERVED(RST, reserved1[15], 1), RESERVED(RST, sq_draining, 1),
    PARAM(RTR, path_mtu, 0), GOOD(RTR, path_mtu, 1), GOOD(RTR, path_mtu, 5),
    PARAM(RTR, path_mtu, 6), GOOD(RTR, dest_qpn, 0xffffff),
    PARAM(RTR, dest_qpn, 0x1000000), GOOD(RTR, rq_psn, 0xffffff),
    PARAM(RTR, rq_psn, 0x1000000), GOOD(RTR, max_dest_rd_atomic, 16),
    PARAM(RTR, max_dest_rd_atomic, 17), GOOD(RTR, min_rnr_timer, 31),
    PARAM(RTR, min_rnr_timer, 32), PARAM(RTR, av.sgid_index, 1),
    PARAM(RTR, av.sgid_index, 64), PARAM(RTR, av.sgid_index, 255),
    GOOD(RTR, av.flow_label, 0xfffff), PARAM(RTR, av.flow_label, 0x100000),
    RESERVED(RTR, av.reserved[0], 1), RESERVED(RTR, av.reserved[2], 1),
    PARAM(RTR, av.dgid[0], 1), PARAM(RTR, av.dgid[12], 224), GOOD(RTS, timeout, 31),
    PARAM(RTS, timeout, 32), GOOD(RTS, retry_cnt, 7), PARAM(RTS, retry_cnt, 8),
    GOOD(RTS, rnr_retry, 7), PARAM(RTS, rnr_retry, 8), GOOD(RTS, sq_psn, 0xffffff),
    PARAM(RTS, sq_psn, 0x1000000), GOOD(RTS, max_rd_atomic, 16),
    PARAM(RTS, max_rd_atomic, 17),
};

ENGINE_TEST("/qp-cmd/modify/values", test_values)
{
    struct ernic_cmd pkey = { .opcode = ERNIC_CMD_SET_PKEY };

    pkey.set_pkey.index = cpu_to_le16(3);
    pkey.set_pkey.pkey = cpu_to_le16(0x8123);
    OK(fake_cmd(f->e, &pkey, NULL));
    for (uint32_t i = 0; i < ARRAY_SIZE(value_rows); i++) {
        uint64_t le = cpu_to_le64(value_rows[i].value);
        struct ernic_qp_attr attr, got;
        uint8_t *at = (uint8_t *)&attr + value_rows[i].offset;
        uint32_t size = value_rows[i].size, qpn;
        g_autoptr(GByteArray) before = NULL;
        FakeQp qp;

        g_test_message("row %u", i);
        bring(f, &qp, ERNIC_QPT_RC, value_rows[i].from);
        qpn = qp.qpn;
        fake_qp_attr(&attr, 9, 2);
        memcpy(at, &le, size);
        before = state_of(f);
        IS(fake_modify_qp(f->e, qpn, fake_qp_mask(qp.type, value_rows[i].to),
                          value_rows[i].to, &attr), value_rows[i].status);
        if (value_rows[i].status) {
            assert_unchanged(f, before);
        } else {
            /* Attributes that were set can be queried. */
            OK(ernic_qp_query(f->e, 0, qpn, &got));
            g_assert_cmpmem((uint8_t *)&got + value_rows[i].offset, size, &le, size);
            IS(got.state, value_rows[i].to);
        }
        fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qpn);
    }
}

/* The path MTU is limited by that of the port. */
ENGINE_TEST("/qp-cmd/modify/port-mtu", test_port_mtu)
{
    struct ernic_qp_attr attr;
    FakeQp qp;

    f->e->cfg.mtu = 3;
    bring(f, &qp, ERNIC_QPT_UC, ERNIC_QPS_INIT);
    fake_qp_attr(&attr, 9, 2);
    attr.path_mtu = 4;
    IS(fake_modify_qp(f->e, qp.qpn, fake_qp_mask(qp.type, ERNIC_QPS_RTR), ERNIC_QPS_RTR,
                      &attr), ERNIC_ERR_PARAM);
    attr.path_mtu = 3;
    OK(fake_modify_qp(f->e, qp.qpn, fake_qp_mask(qp.type, ERNIC_QPS_RTR), ERNIC_QPS_RTR,
                      &attr));
    /* Datagrams ignore the attribute: their path MTU is the port's. */
    bring(f, &qp, ERNIC_QPT_UD, ERNIC_QPS_RTS);
    IS(ernic_qp_mtu(&f->e->qp[qp.qpn]), 1024);
}

ENGINE_TEST("/qp-cmd/modify/current-state", test_current_state)
{
    struct ernic_qp_attr attr;
    uint32_t mask = fake_qp_mask(ERNIC_QPT_RC, ERNIC_QPS_RTS) | ERNIC_QPA_CUR_STATE;
    FakeQp qp;

    bring(f, &qp, ERNIC_QPT_RC, ERNIC_QPS_RTR);
    fake_qp_attr(&attr, 9, 2);
    attr.cur_state = ERNIC_QPS_RTS;
    IS(fake_modify_qp(f->e, qp.qpn, mask, ERNIC_QPS_RTS, &attr), ERNIC_ERR_STATE);
    attr.cur_state = ERNIC_QPS_RTR;
    OK(fake_modify_qp(f->e, qp.qpn, mask, ERNIC_QPS_RTS, &attr));
}

ENGINE_TEST("/qp-cmd/modify/strangers", test_strangers)
{
    struct ernic_qp_attr attr;
    FakeQp qp;

    bring(f, &qp, ERNIC_QPT_RC, ERNIC_QPS_RTS);
    f->env.uctx = fake_create_uctx(f->e);
    IS(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL),
       ERNIC_ERR_HANDLE);
    IS(ernic_qp_query(f->e, f->env.uctx, qp.qpn, &attr), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qp.qpn), ERNIC_ERR_HANDLE);
    f->env.uctx = 0;
    IS(fake_modify_qp(f->e, 0, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL), ERNIC_ERR_HANDLE);
    IS(fake_modify_qp(f->e, 64, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL), ERNIC_ERR_HANDLE);
    IS(state(f, &qp), ERNIC_QPS_RTS);
}
