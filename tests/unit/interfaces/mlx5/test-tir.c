/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * TIR, TIS, RQT, and the states of send and receive queues of the mlx5 interface.
 */
#include "qemu/osdep.h"
#include "mlx5_eth_fixture.h"

enum { RST, RDY, ERR = 3 };

#define TIR_TEST(path, fn) \
    WORLD_TEST(path, fn, Eth, eth, eth_setup(eth); \
               ETH_OK(eth, 0x912, "ctx.prio=3\nctx.transport_domain=1"); \
               IS(eth_number(eth), 1), eth_done(eth))

/* A TIR of a hash with a table of two queues; both keep what they refer to. */
TIR_TEST("/mlx5/ethernet/objects", test_objects)
{
    uint32_t rq[3], rqt, tir;

    for (uint32_t i = 0; i < ARRAY_SIZE(rq); i++) {
        rq[i] = eth_queue(eth, true, 3);
        IS(rq[i], ERNIC_MLX5_RQN + 1 + i);
    }
    ETH_OK(eth, 0x916, "rqt_context.rqt_max_size=128\nrqt_context.rqt_actual_size=2\n"
           "rqt_context.rq_num[0].rq_num=%u\nrqt_context.rq_num[1].rq_num=%u", rq[0],
           rq[1]);
    rqt = eth_number(eth);
    ETH_OK(eth, 0x900, "ctx.disp_type=1\nctx.indirect_table=%u\nctx.rx_hash_fn=2\n"
           "ctx.rx_hash_symmetric=1\nctx.transport_domain=1\n"
           "ctx.rx_hash_field_selector_outer.selected_fields=15", rqt);
    tir = eth_number(eth);
    IS(eth_call(eth, 0x90a, "rqn=%u", rq[1]), ERNIC_MLX5_BUSY);
    IS(eth_call(eth, 0x918, "rqtn=%u", rqt), ERNIC_MLX5_BUSY);
    ETH_OK(eth, 0x917, "rqtn=%u\nbitmask.rqn_list=1\nctx.rqt_actual_size=1\n"
           "ctx.rq_num[0].rq_num=%u", rqt, rq[2]);
    ETH_OK(eth, 0x90a, "rqn=%u", rq[1]);
    IS(eth_call(eth, 0x90a, "rqn=%u", rq[2]), ERNIC_MLX5_BUSY);
    ETH_OK(eth, 0x901, "tirn=%u\nbitmask.hash=1\nctx.rx_hash_fn=1", tir);
    IS(ernic_mlx5_tir_get(eth->f, tir)->hash, ERNIC_MLX5_HASH_XOR8);
    ETH_OK(eth, 0x901, "tirn=%u\nbitmask.self_lb_en=1\nctx.self_lb_block=3", tir);
    IS(ernic_mlx5_tir_get(eth->f, tir)->self_lb_block, 3);
    IS(ernic_mlx5_tir_get(eth->f, tir)->hash, ERNIC_MLX5_HASH_XOR8);
    ETH_OK(eth, 0x902, "tirn=%u", tir);
    ETH_OK(eth, 0x918, "rqtn=%u", rqt);
    ETH_OK(eth, 0x90a, "rqn=%u", rq[2]);
    ETH_OK(eth, 0x90a, "rqn=%u", rq[0]);
    IS(eth->e->cq[ETH_CQ].refs, 0);
    IS(eth->e->pd[ETH_PD].refs, 0);
}

static ErnicMlx5Refusal modify(Eth *eth, bool rq, uint32_t number, uint32_t from,
                               uint32_t to)
{
    return eth_call(eth, rq ? 0x909 : 0x905, "%s_state=%u\n%sn=%#x\nctx.state=%u",
                    rq ? "rq" : "sq", from, rq ? "rq" : "sq", number, to);
}

/* Every step from every state, and from the state that software believes. */
TIR_TEST("/mlx5/ethernet/states", test_states)
{
    static const struct {
        uint32_t from, to;
    } allowed[] = {
        { RST, RST }, { RST, RDY }, { RDY, RDY }, { RDY, ERR }, { RDY, RST },
        { ERR, ERR }, { ERR, RST },
    };
    uint32_t number, from, to, i;

    for (uint32_t kind = 0; kind < 2; kind++) {
        number = eth_queue(eth, kind, 3);
        for (from = 0; from < 16; from++) {
            for (to = 0; to < 16; to++) {
                ErnicMlx5EthQueue *q = kind ? ernic_mlx5_rq_get(eth->e, number) :
                                              ernic_mlx5_sq_get(eth->e, number);

                for (i = 0; i < ARRAY_SIZE(allowed) &&
                            (allowed[i].from != from || allowed[i].to != to); i++) {
                }
                q->state = from == 2 || from > ERR ? RST : from;
                IS(modify(eth, kind, number, from, to),
                   i < ARRAY_SIZE(allowed) ? ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_BAD_STATE);
            }
        }
        /* Software is wrong about the state. */
        ETH_OK(eth, kind ? 0x90a : 0x906, "%sn=%u", kind ? "rq" : "sq", number);
        number = eth_queue(eth, kind, 3);
        IS(modify(eth, kind, number, RDY, ERR), ERNIC_MLX5_BAD_STATE);
    }
}

TIR_TEST("/mlx5/ethernet/query", test_query)
{
    const uint32_t at = ernic_mlx5_query_sq_out.sq_context.offset / 8;
    uint32_t sqn = eth_queue(eth, false, 4), rqn = eth_queue(eth, true, 4);

    IS(sqn, ERNIC_MLX5_SQN + 1);
    IS(modify(eth, false, sqn, RST, RDY), 0);
    ETH_OK(eth, 0x907, "sqn=%u", sqn);
    FIELDS_ARE(sqc, eth->out + at, "state=%u cqn=%u", RDY, ETH_CQ);
    IS(modify(eth, true, rqn, RST, RDY), 0);
    ETH_OK(eth, 0x909, "rqn=%u\nrq_state=1\nctx.state=1\nmodify_bitmask=2\nctx.vsd=1",
           rqn);
    ETH_OK(eth, 0x90b, "rqn=%u", rqn);
    FIELDS_ARE(rqc, eth->out + at, "vsd=1 user_index=0x77");
    /* A TIS of a queue stays. */
    IS(eth_call(eth, 0x914, "tisn=1"), ERNIC_MLX5_BUSY);
    ETH_OK(eth, 0x906, "sqn=%u", sqn);
    ETH_OK(eth, 0x913, "tisn=1\nbitmask.prio=1\nctx.prio=5");
    IS(ernic_mlx5_tis_get(eth->f, 1)->prio, 5);
    ETH_OK(eth, 0x914, "tisn=1");
}

#define QUEUE   "ctx.cqn=5\nctx.wq.wq_type=1\nctx.wq.pd=3\nctx.wq.log_wq_sz=3\n" \
                "ctx.wq.dbr_addr=0x1000\n"
#define SQ      QUEUE "ctx.tis_lst_sz=1\nctx.tis_num_0=1\nctx.wq.log_wq_stride=6\n"
#define RQ      QUEUE "ctx.wq.log_wq_stride=4\n"
#define RQT     "rqt_context.rqt_max_size=4\nrqt_context.rqt_actual_size=1\n" \
                "rqt_context.rq_num[0].rq_num=0x9001\n"

/* SQ 0x8001 and RQ 0x9001 exist, TIS 1, TIR 1 with the RQ, and RQT 1. */
static const Mlx5Refused refusals[] = {
    R(0x904, NO_OBJECT, SQ, ".cqn=4 .cqn=0xffffff .wq.pd=4 .tis_num_0=2", "ctx"),
    R(0x904, BAD_VALUE, SQ, ".tis_lst_sz=2 .state=1 .hairpin=1 "
      ".allow_multi_pkt_send_wqe=1 .allow_swp=1 .reg_umr=1 "
      ".packet_pacing_rate_limit_index=1 .wq.wq_type=0 .wq.log_wq_stride=5 "
      ".wq.log_wq_sz=16 .wq.log_wq_pg_sz=20 .wq.dbr_addr=4 .wq.dbr_umem_valid=1 "
      ".wq.wq_umem_valid=1", "ctx"),
    R(0x904, SHORT_MESSAGE, SQ, "ctx.wq.log_wq_sz=15"),
    R(0x908, NO_OBJECT, RQ, ".cqn=4 .wq.pd=4", "ctx"),
    R(0x908, BAD_VALUE, RQ, ".state=1 .mem_rq_type=1 .scatter_fcs=1 .hairpin=1 "
      ".delay_drop_en=1 .wq.wq_type=3 .wq.log_wq_stride=3 .wq.log_wq_stride=10 "
      ".wq.wq_signature=1 .wq.shampo_enable=1", "ctx"),
    R(0x905, NO_OBJECT, "", "sqn=0x8000 sqn=0x9001"),
    R(0x905, BAD_SELECT, "", "sqn=0x8001,modify_bitmask=2 "
      "sqn=0x8001,ctx.packet_pacing_rate_limit_index=1"),
    R(0x906, NO_OBJECT, "", "sqn=0x8002 sqn=0xffffff"), R(0x907, NO_OBJECT, "", "sqn=0"),
    R(0x909, NO_OBJECT, "", "rqn=0x9000"),
    R(0x909, BAD_SELECT, "", "rqn=0x9001,modify_bitmask=4"),
    R(0x90a, NO_OBJECT, "", "rqn=0x9002"), R(0x90a, BUSY, "", "rqn=0x9001"),
    R(0x90b, NO_OBJECT, "", "rqn=0x8001"),
    R(0x900, NO_OBJECT, "", ".inline_rqn=0x8001 .disp_type=1,.indirect_table=2 "
      ".inline_rqn=0x9001 .inline_rqn=0x9001,.transport_domain=2", "ctx"),
    R(0x900, BAD_VALUE, "", ".disp_type=2 .inline_rqn=0x9001,.packet_merge_mask=1 "
      ".inline_rqn=0x9001,.tls_en=1 .inline_rqn=0x9001,.tunneled_offload_en=1", "ctx"),
    R(0x900, BAD_VALUE, "ctx.inline_rqn=0x9001\nctx.transport_domain=1\n",
      ".rx_hash_fn=3 .rx_hash_field_selector_outer.selected_fields=32", "ctx"),
    R(0x912, NO_OBJECT, "", ".transport_domain=0 .transport_domain=0xffffff", "ctx"),
    R(0x912, BAD_VALUE, "", ".tls_en=1 .underlay_qpn=2 .lag_tx_port_affinity=1", "ctx"),
    R(0x817, BUSY, "", "transport_domain=1"), R(0x901, NO_OBJECT, "", "tirn=2"),
    R(0x901, BAD_VALUE, "", "tirn=1,bitmask.hash=1,.rx_hash_fn=3 "
      "tirn=1,bitmask.packet_merge=1,.packet_merge_mask=2", "ctx"),
    R(0x902, NO_OBJECT, "", "tirn=0 tirn=0xffffff"), R(0x913, NO_OBJECT, "", "tisn=2"),
    R(0x913, BAD_SELECT, "", "tisn=1,bitmask.lag_tx_port_affinity=1"),
    R(0x914, BUSY, "", "tisn=1"), R(0x914, NO_OBJECT, "", "tisn=0"),
    R(0x916, BAD_VALUE, RQT, ".rqt_max_size=257 .rqt_actual_size=0 .rqt_actual_size=5 "
      ".list_q_type=1 .rq_vhca_id_format=1", "rqt_context"),
    R(0x916, NO_OBJECT, RQT, "rqt_context.rqt_actual_size=2"),
    R(0x916, SHORT_MESSAGE, RQT, ".rqt_max_size=128,.rqt_actual_size=128", "rqt_context"),
    R(0x917, NO_OBJECT, "", "rqtn=2"),
    R(0x917, BAD_VALUE, "rqtn=1\nbitmask.rqn_list=1\n", "ctx.rqt_actual_size=5"),
    R(0x917, NO_OBJECT, "rqtn=1\nbitmask.rqn_list=1\n", "ctx.rqt_actual_size=1"),
    R(0x918, NO_OBJECT, "", "rqtn=0"),
};

/* A refused command changes nothing, and holds no memory. */
static void refused(void *opaque, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    Eth *eth = opaque;
    g_autofree ErnicMlx5Eth *before = g_memdup2(eth->e->mlx5_eth, sizeof(*before));
    uint64_t used = eth->e->mem.used;

    IS(eth_call(eth, opcode, "%s", text), why);
    g_assert_cmpmem(eth->e->mlx5_eth, sizeof(*before), before, sizeof(*before));
    IS(eth->e->mem.used, used);
}

TIR_TEST("/mlx5/ethernet/refusals", test_refusals)
{
    eth_queue(eth, false, 3);
    eth_tir(eth, eth_queue(eth, true, 3));
    ETH_OK(eth, 0x916, "%s", RQT);
    mlx5_each_refused(refusals, ARRAY_SIZE(refusals), refused, eth);
}

/* The offset of a ring counts in 64ths of its pages; no domain of XRC is accepted. */
TIR_TEST("/mlx5/ethernet/ring", test_ring)
{
    ETH_OK(eth, 0x904, "%s", SQ "ctx.wq.log_wq_pg_sz=1\nctx.wq.page_offset=3");
    IS(eth->e->mlx5_eth->sq[1].buf.page_shift, 13);
    IS(eth->e->mlx5_eth->sq[1].buf.offset, 3 * 8192 / 64);
    eth->e->mlx5->contexts.xrcd[ETH_PD] = true;
    IS(eth_call(eth, 0x904, "%s", SQ), ERNIC_MLX5_NO_OBJECT);
}

/* Create as many objects as there can be. */
TIR_TEST("/mlx5/ethernet/limits", test_limits)
{
    uint32_t rqn = 0;

    for (uint32_t i = 0; i < ERNIC_LIM_ETH_QUEUE; i++) {
        eth_queue(eth, false, 0);
        rqn = eth_queue(eth, true, 0);
        eth_tir(eth, rqn);
        ETH_OK(eth, 0x916, "%s", RQT);
    }
    IS(eth_call(eth, 0x904, "%s", SQ), ERNIC_MLX5_NO_RESOURCE);
    IS(eth_call(eth, 0x908, "%s", RQ), ERNIC_MLX5_NO_RESOURCE);
    IS(eth_call(eth, 0x900, "ctx.inline_rqn=%u\nctx.transport_domain=1", rqn),
       ERNIC_MLX5_NO_RESOURCE);
    IS(eth_call(eth, 0x916, "%s", RQT), ERNIC_MLX5_NO_RESOURCE);
    for (uint32_t i = 1; i < ERNIC_LIM_TIS; i++) {
        ETH_OK(eth, 0x912, "ctx.transport_domain=1%s", "");
    }
    IS(eth_call(eth, 0x912, "ctx.transport_domain=1%s", ""), ERNIC_MLX5_NO_RESOURCE);
}
