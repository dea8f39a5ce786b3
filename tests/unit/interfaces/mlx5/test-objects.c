/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of RDMA objects of the mlx5 interface: each one, each refusal, and
 * two engines whose objects are made by commands and that exchange data.
 */
#include "qemu/osdep.h"
#include "base/bytes.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/handler.h"
#include "mlx5_decode.h"
#include "mlx5_objects.h"
#include "mlx5_queues.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "wire/opcode.h"

static const ErnicMlx5CommandTable *const tables[] = {
    &ernic_mlx5_domain_commands, &ernic_mlx5_mkey_commands, &ernic_mlx5_cq_commands,
    &ernic_mlx5_qp_commands, &ernic_mlx5_srq_commands, &ernic_mlx5_gid_commands,
    &ernic_mlx5_counter_commands, &ernic_mlx5_tir_commands,
};

/* All of these commands need a function that runs. */
MLX5_TEST("/mlx5-objects/states", mlx5_boot, test_states)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < ARRAY_SIZE(tables); t++) {
        for (uint32_t i = 0; i < tables[t]->num; i++, n++) {
            f->e->mlx5->function.state = ERNIC_MLX5_DISABLED;
            mlx5_refuse(f->e, tables[t]->rows[i].opcode, "", ERNIC_MLX5_NOT_NOW);
            f->e->mlx5->function.state = ERNIC_MLX5_ENABLED;
            mlx5_refuse(f->e, tables[t]->rows[i].opcode, "", ERNIC_MLX5_NOT_NOW);
        }
    }
    IS(n, 51);
}

static uint32_t scarce;         /* commands that were refused for a lack of memory */

/*
 * Send the command with room for @room bytes more. Returns whether that is too little;
 * then nothing of the command is left.
 */
static bool lacks(Ernic *e, uint64_t room, uint16_t opcode, const char *text)
{
    uint64_t used = e->mem.used, bound = e->mem.bound, before = e->mem.refused;
    bool refused;
    Mlx5Answer a;

    e->mem.bound = used + room;
    mlx5_ask(e, opcode, text, &a);
    refused = e->mem.refused > before;
    e->mem.bound = bound;
    if (refused) {
        IS(a.refusal, ERNIC_MLX5_NO_RESOURCE);
        fake_run(e);
        IS(e->mem.used, used);
    }
    fake_check(e);
    return refused;
}

/* Try the command on an engine that has the same objects, with more room each time. */
static void starve(const Ernic *e, uint16_t opcode, const char *text)
{
    g_autoptr(GByteArray) state = fake_saved(e);
    Ernic *other = mlx5_another(e);
    uint64_t room = 0;

    g_assert_true(ernic_load(other, 0, state->data, state->len));
    while (lacks(other, room, opcode, text)) {
        room += 64;
        g_assert_cmpuint(room, <, 1 << 20);
    }
    scarce += room > 0;
    ernic_free(other);
}

/* Each command that takes memory is refused as a whole while there is too little. */
MLX5_TEST("/mlx5-objects/no-memory", mlx5_boot, test_no_memory)
{
    mlx5_before = starve;
    mlx5_objects(f);
    mlx5_ethernet(f);
    mlx5_accept(f->e, 0x502, INIT);
    mlx5_accept(f->e, 0x503, RTR);
    mlx5_accept(f->e, 0x504, RTS);
    mlx5_before = NULL;
    IS(scarce, 11);
}

MLX5_TEST("/mlx5-objects/queries", mlx5_start, test_queries)
{
    mlx5_expect(f->e, 0x201, "mkey_index=2", M "umr_en=0x1\n" M "rr=0x1\n" M "lw=0x1\n"
           M "access_mode_1_0=0x1\n" M "mkey_7_0=0x5a\n" M "pd=0x1\n"
           M "start_addr=0x7f0010\n" M "len=0x1f40\n" M "log_page_size=0xc\n"
           M "qpn=0xffffff\nbsf0_klm0_pas_mtt0_1[5]=0x1\n");
    mlx5_expect(f->e, 0x201, "mkey_index=3", M "length64=0x1\n" M "mkey_7_0=0x11\n");
    mlx5_expect(f->e, 0x201, "mkey_index=4", M "free=0x1\n" M "umr_en=0x1\n");
    mlx5_expect(f->e, 0x203, "", "terminate_scatter_list_mkey=0x100\n");
    mlx5_expect(f->e, 0x402, "cqn=1", "cq_context.log_cq_size=0x4\n"
           "cq_context.uar_page=0x10\ncq_context.cq_period=0x3\n"
           "cq_context.cq_max_count=0x2\ncq_context.dbr_addr=0x123400002000\n");
    mlx5_expect(f->e, 0x50b, "qpn=2", "qpc.user_index=0x702\nqpc.log_sq_size=0x5\n"
           "qpc.pd=0x1\nqpc.pm_state=0x3\nqpc.cqn_snd=0x1\n");
    mlx5_expect(f->e, 0x50b, "qpn=3", "qpc.st=0x2\n");
    mlx5_expect(f->e, 0x90f, "rmpn=1", "rmp_context.state=0x1\nrmp_context.wq.pd=0x1\n"
           "rmp_context.wq.log_wq_stride=0x6\nrmp_context.wq.log_wq_sz=0x4\n");
    mlx5_expect(f->e, 0x707, "xrc_srqn=2", "xrc_srq_context_entry.xrcd=0x2\n"
           "xrc_srq_context_entry.user_index=0x9\n");
    mlx5_accept(f->e, 0x403, "cqn=1\nmodify_field_select_resize_field_select=1\n"
           "cq_context.cq_period=9\ncq_context.cq_max_count=9");
    mlx5_expect(f->e, 0x402, "cqn=1", "cq_context.cq_period=0x9\n"
           "cq_context.cq_max_count=0x2\n");
    mlx5_accept(f->e, 0x403, "cqn=1\nmodify_field_select_resize_field_select=2\n"
           "cq_context.cq_period=7\ncq_context.cq_max_count=7");
    mlx5_expect(f->e, 0x402, "cqn=1", "cq_context.cq_period=0x9\n"
           "cq_context.cq_max_count=0x7\n");
}

/* One entry of the P_Key table, or the whole table; the rest of the answer is 0. */
MLX5_TEST("/mlx5-objects/pkeys", mlx5_boot, test_pkeys)
{
    const uint32_t at = 18, end = 16 + 128 * 4;
    Mlx5Answer a;

    f->e->pkey[2] = 0x8002;
    mlx5_ask(f->e, 0x765, "pkey_index=2", &a);
    IS(lduw_be_p(a.out + at), 0x8002);
    IS(lduw_be_p(a.out + at + 4), 0);
    mlx5_ask(f->e, 0x765, "pkey_index=127", &a);
    IS(lduw_be_p(a.out + at), 0);
    mlx5_ask(f->e, 0x765, "pkey_index=0xffff", &a);
    IS(lduw_be_p(a.out + at), 0xffff);
    IS(lduw_be_p(a.out + at + 8), 0x8002);
    g_assert_true(ernic_all_zero(a.out + end, sizeof(a.out) - end));
}

MLX5_TEST("/mlx5-objects/transitions", mlx5_start, test_transitions)
{
    const ErnicQpAttr *attr = &f->e->qp[QP_RC].attr;

    mlx5_refuse(f->e, 0x503, RTR, ERNIC_MLX5_BAD_STATE);
    mlx5_accept(f->e, 0x502, INIT "qpc.counter_set_id=1\n");
    IS(attr->access, ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ);
    IS(f->e->qp[QP_RC].counter, 1);
    /* One right is named, the others stay. */
    mlx5_accept(f->e, 0x50e, "qpn=2\nopt_param_mask=2\n");
    IS(attr->access, ERNIC_ACCESS_REMOTE_WRITE);
    mlx5_accept(f->e, 0x50e, "qpn=2\nopt_param_mask=4\nqpc.rae=1\n");
    IS(attr->access, ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_ATOMIC);
    /* A parameter that this transition does not have; then one without an effect. */
    mlx5_refuse(f->e, 0x503, RTR "opt_param_mask=0x20", ERNIC_MLX5_BAD_SELECT);
    mlx5_refuse(f->e, 0x503, RTR "opt_param_mask=0x40000000", ERNIC_MLX5_BAD_SELECT);
    mlx5_accept(f->e, 0x503, RTR "opt_param_mask=0x400");
    IS(attr->path_mtu, 3);
    IS(attr->dest_qpn, 0x77);
    IS(attr->max_dest_rd_atomic, 4);
    IS(attr->min_rnr_timer, 12);
    IS(attr->av.dgid.raw[15], 2);
    IS(attr->av.dmac[5], 5);
    mlx5_accept(f->e, 0x504, RTS);
    IS(attr->timeout, 14);
    IS(attr->max_rd_atomic, 8);
    mlx5_accept(f->e, 0x505, "qpn=2\nopt_param_mask=0x2000040\nqpc.min_rnr_nak=7\n");
    IS(attr->min_rnr_timer, 7);
    IS(f->e->qp[QP_RC].counter, 0);
    mlx5_expect(f->e, 0x50b, "qpn=2", "qpc.state=0x3\nqpc.mtu=0x3\nqpc.remote_qpn=0x77\n"
           "qpc.next_send_psn=0x321\nqpc.next_rcv_psn=0x123\nqpc.log_sra_max=0x3\n"
           "qpc.log_rra_max=0x2\nqpc.retry_count=0x6\nqpc.rnr_retry=0x5\n"
           "qpc.min_rnr_nak=0x7\nqpc.rwe=0x1\nqpc.rae=0x1\n" PATH "ack_timeout=0xe\n"
           PATH "vhca_port_num=0x1\n" PATH "rgid_rip[15]=0x2\n");
    mlx5_refuse(f->e, 0x506, "qpn=2", ERNIC_MLX5_BAD_STATE);
    mlx5_refuse(f->e, 0x50c, "qpn=2", ERNIC_MLX5_BAD_STATE);
    mlx5_accept(f->e, 0x507, "qpn=2");
    mlx5_expect(f->e, 0x50b, "qpn=2", "qpc.state=0x6\n");
    mlx5_accept(f->e, 0x50a, "qpn=2");
    mlx5_refuse(f->e, 0x507, "qpn=2", ERNIC_MLX5_BAD_STATE);
}

/* A queue pair that registers memory: it gets its domain with the first transition. */
MLX5_TEST("/mlx5-objects/umr", mlx5_start, test_umr)
{
    uint32_t qpn = mlx5_accept(f->e, 0x500, QP "qpc.st=0xc\nqpc.pd=0\nqpc.rq_type=3\n");

    g_assert_true(ernic_mlx5_qp(f->e, qpn)->umr);
    fake_check(f->e);
    mlx5_refuse(f->e, 0x502, "qpn=4\n" PATH "vhca_port_num=1\n", ERNIC_MLX5_NO_OBJECT);
    mlx5_accept(f->e, 0x502, "qpn=4\n" PATH "vhca_port_num=1\nqpc.pd=1\n");
    mlx5_accept(f->e, 0x503, "qpn=4\nqpc.pd=1\n");
    mlx5_accept(f->e, 0x504, "qpn=4\nqpc.pd=1\n");
    IS(f->e->qp[qpn].pd, 1);
    fake_check(f->e);
    mlx5_accept(f->e, 0x501, "qpn=4");
}

/* Without a domain, too, it has no shared receive queue but one that exists. */
MLX5_TEST("/mlx5-objects/umr-shared", mlx5_start, test_umr_shared)
{
    static const char *const none[] = { "0xffffff", "3", "2", "0" };    /* 2: of XRC */

    for (uint32_t i = 0; i < ARRAY_SIZE(none); i++) {
        g_autofree char *text = g_strdup_printf(QP "qpc.st=0xc\nqpc.pd=0\nqpc.rq_type=1\n"
                                                "qpc.srqn_rmpn_xrqn=%s\n", none[i]);

        mlx5_refuse(f->e, 0x500, text, ERNIC_MLX5_NO_OBJECT);
        fake_check(f->e);
    }
    mlx5_accept(f->e, 0x500, QP "qpc.st=0xc\nqpc.pd=0\nqpc.rq_type=1\n"
                "qpc.srqn_rmpn_xrqn=1\n");
    mlx5_refuse(f->e, 0x90e, "rmpn=1", ERNIC_MLX5_BUSY);
}

/* The message that is open for an XRC SRQ ends with it. */
MLX5_TEST("/mlx5-objects/xrc-open", mlx5_start, test_xrc_open)
{
    uint32_t qpn = mlx5_accept(f->e, 0x500, QP "qpc.st=3\nqpc.rq_type=1\nqpc.xrcd=2\n"
                               "qpc.no_sq=1\n");
    ErnicRecvQueue *rq = &f->e->qp[qpn].rq;

    rq->xrc_srq = 2;
    rq->open = ERNIC_CL_SEND;
    rq->recv_valid = true;
    mlx5_accept(f->e, 0x706, "xrc_srqn=2");
    IS(rq->xrc_srq, 0);
    IS(rq->open, ERNIC_CL_NONE);
    g_assert_false(rq->recv_valid);
    fake_check(f->e);
}

/* All kinds of queue pairs. */
static const struct {
    const char *text;
    uint8_t type;
    uint32_t sq, rq, srq;       /* depths; number */
} kinds[] = {
    { QP "", ERNIC_QPT_RC, 32, 8, 0 },
    { QP "qpc.st=1\n", ERNIC_QPT_UC, 32, 8, 0 },
    { QP "qpc.st=2\nqpc.rq_type=1\nqpc.srqn_rmpn_xrqn=1\n", ERNIC_QPT_UD, 32, 0, 1 },
    { QP "qpc.rq_type=3\n", ERNIC_QPT_RC, 32, 0, 0 },
    { QP "qpc.no_sq=1\nqpc.uar_page=0xffffff\n", ERNIC_QPT_RC, 0, 8, 0 },
    { QP "qpc.st=8\n", ERNIC_QPT_GSI, 32, 8, 0 },
    { QP "qpc.st=3\nqpc.rq_type=1\nqpc.xrcd=9\n", ERNIC_QPT_XRC_INI, 32, 0, 0 },
    { QP "qpc.st=3\nqpc.rq_type=1\nqpc.xrcd=2\nqpc.no_sq=1\n", ERNIC_QPT_XRC_TGT,
      0, 0, 0 },
};

MLX5_TEST("/mlx5-objects/kinds", mlx5_start, test_kinds)
{
    uint32_t qpn;

    for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autofree char *gone = NULL;
        const ErnicQp *qp;

        g_test_message("kind %u", i);
        qpn = mlx5_accept(f->e, 0x500, kinds[i].text);
        gone = g_strdup_printf("qpn=%u", qpn);
        qp = &f->e->qp[qpn];
        IS(qp->type, kinds[i].type);
        IS(qp->sq.wq.depth, kinds[i].sq);
        IS(qp->rq.wq.depth, kinds[i].rq);
        IS(qp->srq, kinds[i].srq);
        IS(ernic_mlx5_qp(f->e, qpn)->sq_offset, kinds[i].rq * 64);
        IS(qpn == 1, kinds[i].type == ERNIC_QPT_GSI);
        fake_check(f->e);
        mlx5_accept(f->e, 0x501, gone);
        mlx5_refuse(f->e, 0x501, gone, ERNIC_MLX5_NO_OBJECT);
    }
}

/* Keys of mode KLM are windows of both types; the first may become a region. */
MLX5_TEST("/mlx5-objects/windows", mlx5_start, test_windows)
{
    uint32_t n, pages;

    for (uint32_t type = 1; type <= 2; type++) {
        g_autofree char *gone = NULL, *text = NULL;
        const ErnicMr *mr;

        pages = f->e->num_pages;
        text = g_strdup_printf(KLM M "en_rinval=%u", type - 1);
        n = mlx5_accept(f->e, 0x200, text);
        gone = g_strdup_printf("mkey_index=%u", n);
        mr = &f->e->mr[n];
        IS(mr->kind, type == 1 ? ERNIC_MR_WINDOW_1 : ERNIC_MR_WINDOW_2);
        g_assert_false(mr->valid);
        IS(f->e->num_pages - pages, type == 1 ? 8 : 0);
        mlx5_expect(f->e, 0x201, gone, M "free=0x1\n" M "umr_en=0x1\n");
        fake_check(f->e);
        mlx5_accept(f->e, 0x202, gone);
        IS(f->e->num_pages, pages);
        mlx5_refuse(f->e, 0x202, gone, ERNIC_MLX5_NO_OBJECT);
    }
}

#define RESIZE "cqn=1\nop_mod=1\nmodify_field_select_resize_field_select=7\n"

static const Mlx5Refused refusals[] = {
    R(0x801, BUSY, "", "pd=1"),
    /* pd=2: a domain of XRC */
    R(0x801, NO_OBJECT, "", "pd=2 pd=0xffffff"),
    R(0x80f, NO_OBJECT, "", "xrcd=1 xrcd=3 xrcd=0xffffff"), R(0x80f, BUSY, "", "xrcd=2"),
    R(0x817, NO_OBJECT, "", "transport_domain=2 transport_domain=0xffffff"),
    R(0x200, NO_OBJECT, MTT, ".pd=3 .pd=2", "memory_key_mkey_entry"),
    /* .log_page_size=17: not aligned */
    R(0x200, BAD_VALUE, MTT, ".access_mode_1_0=2 .access_mode_1_0=3 .access_mode_4_2=1 "
      ".qpn=2 .bsf_en=1 pg_access=1 mkey_umem_valid=1 .length64=1 .log_page_size=11 "
      ".log_page_size=32 .len=8193 .len=0xffffffffffffffff "
      ".start_addr=0xffffffffffffff00 .rw=1,.lw=0 "
      ".log_page_size=17", "memory_key_mkey_entry"),
    R(0x200, BAD_VALUE, KLM, ".free=0 .umr_en=0 .translations_octword_size=0 "
      ".translations_octword_size=0x800001", "memory_key_mkey_entry"),
    R(0x200, NO_OBJECT, KLM, "memory_key_mkey_entry.pd=3"),
    R(0x200, NO_RESOURCE, KLM,
      "memory_key_mkey_entry.translations_octword_size=0x800000"),
    R(0x200, SHORT_MESSAGE, MTT,
      ".len=0x200000,.translations_octword_size=0x1000", "memory_key_mkey_entry"),
    R(0x200, BAD_VALUE, PA, ".free=1 "
      ".length64=0,.start_addr=0xfff,.len=0xffffffffffffffff", "memory_key_mkey_entry"),
    R(0x200, BAD_VALUE, FREE, ".umr_en=0 .translations_octword_size=0 "
      ".translations_octword_size=0xffffffff", "memory_key_mkey_entry"),
    R(0x200, NO_RESOURCE, FREE,
      "memory_key_mkey_entry.translations_octword_size=0x800000"),
    R(0x201, NO_OBJECT, "", "mkey_index=1 mkey_index=0xffffff"),
    R(0x201, BAD_VALUE, "", "mkey_index=2,pg_access=1"),
    R(0x202, NO_OBJECT, "", "mkey_index=5 mkey_index=0xffffff"),
    R(0x400, NO_OBJECT, CQ, ".c_eqn_or_apu_element=0 "
      ".c_eqn_or_apu_element=0xffffffff", "cq_context"),
    R(0x400, BAD_UAR, CQ, ".uar_page=17 .uar_page=0xffffff", "cq_context"),
    R(0x400, BAD_VALUE, CQ, ".cqe_sz=2 .cc=1 .dbr_addr=4 cq_umem_valid=1 .log_cq_size=21 "
      ".log_page_size=31 pas[0]=0x123400010800", "cq_context"),
    R(0x400, SHORT_MESSAGE, CQ, "cq_context.log_cq_size=20"), R(0x401, BUSY, "", "cqn=1"),
    R(0x401, NO_OBJECT, "", "cqn=2"), R(0x402, NO_OBJECT, "", "cqn=0xffffff"),
    R(0x403, NO_OBJECT, "", "cqn=2"), R(0x403, BAD_MODIFIER, "", "cqn=1,op_mod=2"),
    R(0x403, BAD_SELECT, "", "cqn=1,modify_field_select_resize_field_select=4 "
      "cqn=1,op_mod=1,modify_field_select_resize_field_select=1"),
    R(0x403, BAD_VALUE, RESIZE, "cq_umem_valid=1"),
    R(0x403, SHORT_MESSAGE, RESIZE, "cq_context.log_cq_size=20"),
    R(0x500, BAD_VALUE, QP, ".st=4 .rq_type=2 .dbr_addr=4 .wq_signature=1 "
      ".log_rq_stride=6 qpc_ext=1 input_qpn=9 wq_umem_valid=1", "qpc"),
    R(0x500, NO_OBJECT, QP, ".pd=2 .pd=0 .cqn_snd=2 .cqn_rcv=0xffffff "
      ".rq_type=1,.srqn_rmpn_xrqn=2 .st=3,.no_sq=1,.xrcd=1", "qpc"),
    R(0x500, BAD_UAR, QP, "qpc.uar_page=17"),
    R(0x500, SHORT_MESSAGE, QP, "qpc.log_sq_size=15"), R(0x501, NO_OBJECT, "", "qpn=1"),
    R(0x50b, NO_OBJECT, "", "qpn=0xffffff"), R(0x50b, BAD_VALUE, "", "qpn=2,qpc_ext=1"),
    R(0x502, NO_OBJECT, "", "qpn=9"),
    /* qpn=2: no port */
    R(0x502, BAD_VALUE, "", "qpn=2"),
    R(0x502, BAD_VALUE, INIT, "qpc.primary_address_path.pkey_index=1 qpc.cd_master=1"),
    R(0x502, NO_OBJECT, INIT, "qpc.counter_set_id=2"),
    R(0x502, BAD_SELECT, INIT, "opt_param_mask=0x20"), R(0x504, BAD_STATE, RTS, "qpn=2"),
    R(0x705, NO_OBJECT, XRC_SRQ, ".xrcd=1 .cqn=2 .pd=2", "xrc_srq_context_entry"),
    R(0x705, BAD_VALUE, XRC_SRQ, ".log_rq_stride=6 .cont_srq=1 "
      "xrc_srq_umem_valid=1", "xrc_srq_context_entry"),
    R(0x706, NO_OBJECT, "", "xrc_srqn=1"), R(0x707, NO_OBJECT, "", "xrc_srqn=1"),
    R(0x708, NO_OBJECT, "", "op_mod=1,xrc_srqn=1"),
    R(0x708, BAD_MODIFIER, "", "xrc_srqn=2"),
    R(0x708, BAD_VALUE, "", "op_mod=1,xrc_srqn=2,lwm=17"),
    R(0x90c, BAD_VALUE, RMP, "ctx.state=0 .wq_type=1 .log_wq_sz=16 .log_wq_stride=10 "
      ".log_wq_stride=3 .dbr_addr=2 .lwm=17", "ctx.wq"),
    R(0x90c, BAD_VALUE, RMP, "ctx.basic_cyclic_rcv_wqe=1"),
    R(0x90c, NO_OBJECT, RMP, "ctx.wq.pd=2"),
    R(0x90c, SHORT_MESSAGE, RMP, "ctx.wq.log_wq_sz=15"),
    R(0x90d, NO_OBJECT, "", "rmpn=2,rmp_state=1,ctx.state=1"),
    R(0x90d, BAD_VALUE, "", "rmpn=1 "
      "rmpn=1,rmp_state=1,ctx.state=1,bitmask.lwm=1,ctx.wq.lwm=17"),
    R(0x90e, NO_OBJECT, "", "rmpn=2"), R(0x90f, NO_OBJECT, "", "rmpn=2 rmpn=3"),
    R(0x765, BAD_VALUE, "", "pkey_index=128 port_num=2"),
    R(0x765, OTHER_FUNCTION, "", "other_vport=1 vport_number=1"),
    R(0x761, BAD_VALUE, GID, "roce_address_index=64 vhca_port_num=2 .roce_version=0 "
      ".roce_l3_type=1 .source_mac_47_32=0x100 "
      ".vlan_valid=1,.vlan_id=4095", "roce_address"),
    R(0x806, NO_OBJECT, GROUP, "qpn=9"),
    /* qpn=2: not of UD */
    R(0x806, BAD_VALUE, GROUP, "qpn=2 qpn=3,multicast_gid[0]=1"),
    R(0x807, NO_OBJECT, GROUP, "qpn=3"), R(0x772, NO_OBJECT, "", "counter_set_id=2"),
    R(0x773, NO_OBJECT, "", "counter_set_id=2"),
    R(0x773, OTHER_FUNCTION, "", "other_vport=1"), R(0x773, BAD_VALUE, "", "aggregate=1"),
    R(0x770, OTHER_FUNCTION, "", "vport_number=1"),
    R(0x770, BAD_VALUE, "", "clear=1 port_num=2"),
};

/* A refused command changes nothing in the engine. */
static void refused(void *opaque, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    Mlx5Fixture *f = opaque;
    g_autoptr(GByteArray) before = fake_saved(f->e);
    uint64_t used = f->e->mem.used;

    mlx5_refuse(f->e, opcode, text, why);
    IS(f->e->mem.used, used);
    fake_state_is(f->e, before);
}

MLX5_TEST("/mlx5-objects/refusals", mlx5_start, test_refusals)
{
    mlx5_each_refused(refusals, ARRAY_SIZE(refusals), refused, f);
}

/* A number of a domain of XRC that is free may become a protection domain. */
MLX5_TEST("/mlx5-objects/domains", mlx5_boot, test_domains)
{
    for (uint32_t n = 1; n < f->e->cfg.max_pd; n++) {
        IS(mlx5_accept(f->e, 0x80e, ""), n);
    }
    mlx5_refuse(f->e, 0x800, "", ERNIC_MLX5_NO_RESOURCE);
    mlx5_accept(f->e, 0x80f, "xrcd=3");
    IS(mlx5_accept(f->e, 0x800, ""), 3);
    mlx5_refuse(f->e, 0x80f, "xrcd=3", ERNIC_MLX5_NO_OBJECT);
    mlx5_accept(f->e, 0x801, "pd=3");
    for (uint32_t n = 1; n < f->e->cfg.max_pd; n++) {
        IS(mlx5_accept(f->e, 0x816, ""), n);
    }
    mlx5_refuse(f->e, 0x816, "", ERNIC_MLX5_NO_RESOURCE);
    mlx5_accept(f->e, 0x817, "transport_domain=3");
    IS(mlx5_accept(f->e, 0x816, ""), 3);
    /* They end with the life of the function. */
    mlx5_accept(f->e, 0x103, "");
    mlx5_accept(f->e, 0x102, "");
    IS(mlx5_accept(f->e, 0x816, ""), 1);
    for (uint32_t k = 1; k <= 255; k++) {
        IS(mlx5_accept(f->e, 0x771, "") & 0xff, k);
    }
    mlx5_refuse(f->e, 0x771, "", ERNIC_MLX5_NO_RESOURCE);
    g_assert_null(ernic_counter_get(f->e, 256));
}

MLX5_TEST("/mlx5-objects/gid", mlx5_start, test_gid)
{
    static const ErnicGid none;

    g_assert_true(ernic_gid_is_v4(&f->e->gid[0].gid));
    IS(f->e->gid[0].vlan, ERNIC_NO_VLAN);
    IS(f->e->gid[0].mac[5], 1);
    mlx5_accept(f->e, 0x761, GID "roce_address_index=5\nroce_address.vlan_valid=1\n"
           "roce_address.vlan_id=7");
    IS(f->e->gid[5].vlan, 7);
    mlx5_accept(f->e, 0x761, "roce_address_index=5");
    g_assert_cmpmem(&f->e->gid[5].gid, 16, &none, 16);
    mlx5_accept(f->e, 0x806, GROUP "qpn=3");
    IS(f->e->num_groups, 1);
    mlx5_accept(f->e, 0x807, GROUP "qpn=3");
    IS(f->e->num_groups, 0);
}

MLX5_TEST("/mlx5-objects/counters", mlx5_start, test_counters)
{
    const ErnicCounter *counter = &f->e->counter[1];

    f->e->counter[1].served_writes = 0x11;
    f->e->counter[1].served_reads = 0x12;
    f->e->counter[1].served_atomics = 0x13;
    f->e->counter[1].stats.rx_duplicates = f->e->stats.rx_duplicates = 5;
    f->e->counter[1].stats.tx_rnr_naks = f->e->stats.tx_rnr_naks = 7;
    f->e->stats.rx_packets = 9;
    f->e->stats.rx_bytes = 900;
    mlx5_expect(f->e, 0x773, "counter_set_id=1\nclear=1",
           "rx_write_requests=0x11\nrx_read_requests=0x12\nrx_atomic_requests=0x13\n"
           "out_of_buffer=0x7\nduplicate_request=0x5\n");
    IS(counter->stats.rx_duplicates | counter->served_writes | counter->served_reads |
       counter->served_atomics, 0);
    IS(f->e->stats.rx_duplicates, 5);
    mlx5_expect(f->e, 0x770, "", "received_ib_unicast.packets=0x9\n"
           "received_ib_unicast.octets=0x384\n");
}

static void gone(Ernic *e, uint32_t n)
{
    g_autofree char *text = g_strdup_printf("mkey_index=%u", n);

    mlx5_accept(e, 0x202, text);
}

/*
 * As many keys as a key has numbers. The tables of those beyond the usual number are
 * charged; without room for more of them, a key is refused until another one goes.
 */
TEST("/mlx5-objects/all-keys", test_all_keys)
{
    enum { KEYS = 1 << 24, TOP = KEYS - 3, FEW = ERNIC_MR_UNCHARGED + 10 };
    Mlx5Fixture fixture, *f = &fixture;
    uint64_t bound, off;
    const ErnicMr *mr;

    mlx5_boot_keys(f, KEYS);
    mlx5_accept(f->e, 0x800, "");
    for (uint32_t n = 2; n < FEW; n++) {
        IS(mlx5_accept(f->e, 0x200, PA), n);
    }
    IS(f->e->mem.kind[ERNIC_MEM_KEYS],
       ernic_mr_table_bytes(ERNIC_MR_UNCHARGED + ERNIC_MR_STEP));
    bound = f->e->mem.bound;
    f->e->mem.bound = f->e->mem.used;
    for (uint32_t n = FEW; n < ERNIC_MR_UNCHARGED + ERNIC_MR_STEP; n++) {
        IS(mlx5_accept(f->e, 0x200, PA), n);
    }
    mlx5_refuse(f->e, 0x200, PA, ERNIC_MLX5_NO_RESOURCE);
    gone(f->e, 7);
    IS(mlx5_accept(f->e, 0x200, PA), 7);
    f->e->mem.bound = bound;
    fake_take_over(&f->e);
    IS(f->e->mem.kind[ERNIC_MEM_KEYS],
       ernic_mr_table_bytes(ERNIC_MR_UNCHARGED + ERNIC_MR_STEP));
    /* The last numbers of all. */
    f->e->mr_ids.count -= TOP - f->e->mr_ids.fresh;
    f->e->mr_ids.fresh = TOP;
    g_assert_true(ernic_mr_charge_table(f->e));
    for (uint32_t n = TOP; n < KEYS; n++) {
        IS(mlx5_accept(f->e, 0x200, PA), n);
    }
    mlx5_refuse(f->e, 0x200, PA, ERNIC_MLX5_NO_RESOURCE);
    g_assert_true(ernic_mr_check_local(f->e, 1, (KEYS - 1u) << 8 | 0x11, 0x1000, 16, 0,
                                       &mr, &off));
    g_assert_true(mr == &f->e->mr[KEYS - 1]);
    IS(f->e->mem.kind[ERNIC_MEM_KEYS], ernic_mr_table_bytes(KEYS));
    gone(f->e, KEYS - 1);
    IS(mlx5_accept(f->e, 0x200, PA), KEYS - 1);
    ernic_free(f->e);
    fake_env_fini(&f->env);
}

/* The queue pairs of a counter that ends count in counter 0. */
MLX5_TEST("/mlx5-objects/counter-ends", mlx5_start, test_counter_ends)
{
    IS(mlx5_accept(f->e, 0x771, ""), 2);
    mlx5_accept(f->e, 0x502, INIT "qpc.counter_set_id=1\n");
    f->e->qp[QP_UD].counter = 2;
    mlx5_accept(f->e, 0x772, "counter_set_id=1");
    IS(f->e->qp[QP_RC].counter, 0);
    IS(f->e->qp[QP_UD].counter, 2);
    mlx5_refuse(f->e, 0x772, "counter_set_id=1", ERNIC_MLX5_NO_OBJECT);
    mlx5_refuse(f->e, 0x772, "", ERNIC_MLX5_NO_OBJECT);
}

/* The limit counts the requests that the record announces. */
MLX5_TEST("/mlx5-objects/limit", mlx5_start, test_limit)
{
    uint8_t *record = fake_ptr(&f->env, 0x123400002000, 4);

    stl_be_p(record, 5);
    mlx5_accept(f->e, 0x90d, "rmpn=1\nrmp_state=1\nctx.state=1\nbitmask.lwm=1\n"
           "ctx.wq.lwm=5");
    IS(f->e->srq[1].limit, 5);
    mlx5_expect(f->e, 0x90f, "rmpn=1", "rmp_context.wq.lwm=0x5\n");
    stl_be_p(record, 4);
    mlx5_accept(f->e, 0x708, "op_mod=1\nxrc_srqn=2\nlwm=5");
    IS(f->e->srq[2].limit, 0);         /* the event was raised */
    /* Its counter cannot be read. */
    fake_fail_dma(&f->env, 1, false);
    mlx5_refuse(f->e, 0x708, "op_mod=1\nxrc_srqn=2\nlwm=5", ERNIC_MLX5_DMA);
}

#define ALWAYS  ERNIC_MLX5_CE_ALWAYS

/* The GID of @host in the lines of @field. */
static void add_gid(GString *text, const char *field, uint8_t host)
{
    uint8_t gid[16];

    fake_gid(gid, host);
    for (uint32_t i = 0; i < sizeof(gid); i++) {
        g_string_append_printf(text, "%s[%u]=%u\n", field, i, gid[i]);
    }
}

static void set_gid(Ernic *e, uint8_t host)
{
    g_autoptr(GString) text = g_string_new("roce_address.roce_version=2\n"
                                           "roce_address.source_mac_47_32=0x200\n");

    add_gid(text, "roce_address.source_l3_address", host);
    g_string_append_printf(text, "roce_address.source_mac_31_0=%u\n", host);
    mlx5_accept(e, 0x761, text->str);
}

/* An end whose objects are all made by commands. Host 2 has entries of 128 bytes. */
static void open_end(Mlx5End *end, Mlx5Queue *q, uint8_t host)
{
    g_autofree char *cq = NULL, *key = NULL, *qp = NULL;
    Mlx5Fixture f;

    mlx5_boot(&f);
    *end = (Mlx5End) { .e = f.e, .eq = f.eq, .env = f.env };
    end->e->env = &end->env;
    ernic_set_link(end->e, end->env.now, true);
    set_gid(end->e, host);
    for (uint32_t i = 17; i <= MLX5_UAR; i++) {
        mlx5_accept(end->e, 0x802, "");
    }
    end->pd = mlx5_accept(end->e, 0x800, "");
    end->mem = fake_alloc(&end->env, MLX5_MEM, MLX5_MEM);
    key = g_strdup_printf(MTT M "rw=1\n" M "start_addr=%" PRIu64 "\n" M "len=%u\n"
                          M "log_page_size=16\nklm_pas_mtt[0]=%u\nklm_pas_mtt[1]=%u\n",
                          end->mem, MLX5_MEM, (uint32_t)(end->mem >> 32),
                          (uint32_t)end->mem);
    end->key = mlx5_accept(end->e, 0x200, key) << 8 | 0x5a;
    end->cq.buf = fake_alloc(&end->env, 8192, 4096);
    end->cq_lead = host == 2 ? 64 : 0;
    end->cq_record = fake_alloc(&end->env, 8, 8);
    memset(fake_ptr(&end->env, end->cq.buf, 8192), 0xf1, 8192);
    cq = g_strdup_printf(CQ "cq_context.log_cq_size=6\ncq_context.uar_page=20\n"
                         "cq_context.dbr_addr=%" PRIu64 "\npas[0]=%" PRIu64 "\n"
                         "cq_context.cq_period=0\ncq_context.cqe_sz=%u\n"
                         "pas[1]=%" PRIu64 "\n", end->cq_record, end->cq.buf,
                         end->cq_lead / 64, end->cq.buf + 4096);
    end->cq.cqn = mlx5_accept(end->e, 0x400, cq);
    q->type = ERNIC_QPT_RC;
    q->rq = fake_alloc(&end->env, 4096, 4096);
    q->sq = q->rq + MLX5_RQ_DEPTH * MLX5_RQ_STRIDE;
    q->record = fake_alloc(&end->env, 8, 8);
    qp = g_strdup_printf(QP "qpc.uar_page=20\nqpc.dbr_addr=%" PRIu64 "\n"
                         "pas[0]=%" PRIu64 "\n", q->record, q->rq);
    q->qpn = mlx5_accept(end->e, 0x500, qp);
}

static void connect_to(Mlx5End *end, uint32_t qpn, uint32_t dest, uint8_t host)
{
    g_autoptr(GString) rtr = g_string_new(RTR "qpc.next_rcv_psn=0x321\n"
                                          PATH "rmac_47_32=0x200\n");

    add_gid(rtr, PATH "rgid_rip", host);
    g_string_append_printf(rtr, PATH "rmac_31_0=%u\nqpc.remote_qpn=%u\n", host, dest);
    IS(qpn, 2);
    mlx5_accept(end->e, 0x502, INIT);
    mlx5_accept(end->e, 0x503, rtr->str);
    mlx5_accept(end->e, 0x504, RTS);
}

/* The completion queue of @a gets a ring of 2^@log entries, or not. */
static void ring_of(Mlx5End *a, uint32_t log, ErnicMlx5Refusal why)
{
    g_autofree char *text = g_strdup_printf("cqn=%u\nop_mod=1\n"
        "modify_field_select_resize_field_select=7\ncq_context.log_cq_size=%u\n"
        "pas[0]=%" PRIu64 "\n", a->cq.cqn, log, fake_alloc(&a->env, 4096, 4096));

    mlx5_refuse(a->e, 0x403, text, why);
}

/* A send and a write of several packets; then the ring of the sender's CQ moves. */
TEST("/mlx5-objects/data", test_data)
{
    static Mlx5End a, b;
    Mlx5Queue aq = { }, bq = { };
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    open_end(&a, &aq, 1);
    open_end(&b, &bq, 2);
    connect_to(&a, aq.qpn, bq.qpn, 2);
    connect_to(&b, bq.qpn, aq.qpn, 1);
    for (uint32_t i = 0; i < 3000; i++) {
        ((uint8_t *)fake_ptr(&a.env, a.mem, 3000))[i] = i * 7;
    }
    mlx5_post_recv(&b, &bq, b.mem + 8192, 4096);
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ALWAYS, 0);
    mlx5_data(&wr, a.mem, 3000, a.key);
    mlx5_post_wr(&a, &aq, &wr);
    mlx5_exchange(&a, &b);
    g_assert_true(mlx5_poll(&a, &cqe));
    IS(cqe.opcode, 0);
    IS(cqe.index, 0x702);
    g_assert_true(mlx5_poll(&b, &cqe));
    IS(cqe.opcode, 2);
    IS(cqe.bytes, 3000);
    for (uint32_t i = 0; i < 64; i++) {         /* unused bytes stay */
        IS(((uint8_t *)fake_ptr(&b.env, b.cq.buf, 64))[i], 0xf1);
    }
    g_assert_cmpmem(fake_ptr(&a.env, a.mem, 3000), 3000,
                    fake_ptr(&b.env, b.mem + 8192, 3000), 3000);
    /* The last entry of the old ring says that there is a new one. */
    ring_of(&a, 5, ERNIC_MLX5_ACCEPTED);
    g_assert_true(mlx5_poll(&a, &cqe));
    IS(cqe.opcode, 5);
    IS(a.e->cq[a.cq.cqn].depth, 32);
    mlx5_end_done(&b);
    fake_ernic_done(&a.env, a.e);
}

/* A smaller ring has room for the entries that software has not read, or is refused. */
TEST("/mlx5-objects/smaller-ring", test_smaller_ring)
{
    static Mlx5End a;
    Mlx5Queue q = { };
    const ErnicCq *cq;

    open_end(&a, &q, 1);
    cq = &a.e->cq[a.cq.cqn];
    for (uint32_t i = 0; i < 3; i++) {
        g_assert_true(ernic_mlx5_cqe_resize(a.e, a.cq.cqn));
    }
    ring_of(&a, 1, ERNIC_MLX5_BAD_STATE);
    IS(cq->pi, 3);
    ring_of(&a, 2, ERNIC_MLX5_ACCEPTED);
    IS(cq->pi - cq->ci, 4);
    IS(cq->depth, 4);
    ring_of(&a, 4, ERNIC_MLX5_BAD_STATE);           /* no room for the last entry */
    a.e->cq[a.cq.cqn].overwrites = true;
    ring_of(&a, 0, ERNIC_MLX5_ACCEPTED);            /* loses all others */
    IS(cq->pi - cq->ci, 1);
    fake_ernic_done(&a.env, a.e);
}
