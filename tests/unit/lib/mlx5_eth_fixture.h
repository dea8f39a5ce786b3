/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An engine with the mlx5 interface, whose function runs, with a protection domain and a
 * completion queue. Commands are text, see mlx5_decode.h.
 */
#ifndef TESTS_UNIT_MLX5_ETH_FIXTURE_H
#define TESTS_UNIT_MLX5_ETH_FIXTURE_H

#include "fake_verbs.h"
#include "mlx5_decode.h"
#include "mlx5_commands.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/init_segment.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "steering/flow_tables.h"
#include "test.h"

#define ETH_PD  3
#define ETH_CQ  5

typedef struct Eth {
    FakeEnv env;
    Ernic *e;
    ErnicMlx5Function *f;
    uint8_t out[2 * ERNIC_MLX5_MESSAGE_ROOM];   /* the last answer */
} Eth;

static const ErnicMlx5Config eth_config = {
    .mac = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 }, .max_mtu = 9022, .link_up = true,
};

/* Send @text with @opcode, and @tail bytes after the layout; returns the syndrome. */
static inline ErnicMlx5Refusal eth_call_sized(Eth *eth, uint16_t opcode, const char *text,
                                              uint32_t tail, uint32_t out_len)
{
    const Mlx5Command *command = mlx5_command_find(opcode);
    uint8_t in[2 * ERNIC_MLX5_MESSAGE_ROOM] = { };
    uint32_t in_len = command->in->bits / 8 + tail;

    memset(eth->out, 0, sizeof(eth->out));
    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, opcode);
    g_assert_true(mlx5_encode(command->in, text, in, in, in_len));
    g_assert_true(ernic_mlx5_function_execute(eth->f, in, in_len, eth->out,
                                              out_len ?: command->out->bits / 8));
    return ernic_mlx5_get(eth->out, &ernic_mlx5_plain_out.syndrome);
}

G_GNUC_PRINTF(3, 4)
static inline ErnicMlx5Refusal eth_call(Eth *eth, uint16_t opcode, const char *format,
                                        ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    /* Room for one element of a list. */
    return eth_call_sized(eth, opcode, text, 64, 0);
}

/* The number that all messages that create an object return at the same place. */
static inline uint32_t eth_number(const Eth *eth)
{
    return ernic_mlx5_get(eth->out, &ernic_mlx5_create_tir_out.tirn);
}

#define ETH_OK(...)     g_assert_cmpint(eth_call(__VA_ARGS__), ==, ERNIC_MLX5_ACCEPTED)

static inline void eth_setup(Eth *eth)
{
    eth->e = FAKE_ERNIC(&eth->env, cfg.mlx5 = &eth_config; cfg.raw = true);
    eth->f = &eth->e->mlx5->function;
    ernic_slice(eth->e);
    ETH_OK(eth, 0x104, "%s", "");
    ETH_OK(eth, 0x102, "%s", "");
    ETH_OK(eth, 0x816, "%s", "");               /* transport domain 1 */
    eth->e->pd[ETH_PD].used = true;
    eth->e->cq[ETH_CQ].used = true;
}

static inline void eth_done(Eth *eth)
{
    ernic_free(eth->e);
    fake_env_fini(&eth->env);
}

/* ---- queues and what selects them --------------------------------------------- */

#define WQ(part)    "ctx.wq." part "\n"

/* A queue of 2^@log slots in one page; @rq: a receive queue with slots of 16 bytes. */
static inline uint32_t eth_queue(Eth *eth, bool rq, uint32_t log)
{
    uint64_t ring = fake_alloc(&eth->env, 4096, 4096);
    uint64_t record = fake_alloc(&eth->env, 64, 64);

    ETH_OK(eth, rq ? 0x908 : 0x904,
           "%sctx.cqn=%d\nctx.user_index=0x77\n" WQ("wq_type=1") WQ("pd=%d")
           WQ("log_wq_sz=%u") WQ("log_wq_stride=%d") WQ("dbr_addr=%#" PRIx64)
           WQ("pas[0].pa_h=%#x") WQ("pas[0].pa_l=%#x"),
           rq ? "" : "ctx.tis_lst_sz=1\nctx.tis_num_0=1\n", ETH_CQ, ETH_PD, log,
           rq ? 4 : 6, record, (uint32_t)(ring >> 32), (uint32_t)ring >> 12);
    return eth_number(eth);
}

static inline uint32_t eth_tir(Eth *eth, uint32_t rqn)
{
    ETH_OK(eth, 0x900, "ctx.inline_rqn=%#x\nctx.transport_domain=1", rqn);
    return eth_number(eth);
}

/* ---- flow tables -------------------------------------------------------------- */

static inline uint32_t eth_table(Eth *eth, uint32_t level, uint32_t log, uint32_t miss)
{
    ETH_OK(eth, 0x930, "flow_table_context.level=%u\nflow_table_context.log_size=%u\n"
           "flow_table_context.table_miss_action=%d\n"
           "flow_table_context.table_miss_id=%u", level, log, !!miss, miss);
    return eth_number(eth);
}

/* A group for the fields that @mask names, all of whose bits count. */
static inline uint32_t eth_group(Eth *eth, uint32_t table, uint32_t first, uint32_t last,
                                 const char *mask)
{
    ETH_OK(eth, 0x933, "table_id=%u\nstart_flow_index=%u\nend_flow_index=%u\n"
           "match_criteria_enable=%d\n%s", table, first, last, !!*mask, mask);
    return eth_number(eth);
}

/* Frames with @value go to a table, or else to a TIR. */
static inline void eth_entry(Eth *eth, uint32_t table, uint32_t group, uint32_t index,
                             const char *value, bool to_table, uint32_t to)
{
    ETH_OK(eth, 0x936, "table_id=%u\nflow_index=%u\nflow_context.group_id=%u\n"
           "flow_context.action=4\nflow_context.flow_tag=%#x\n"
           "flow_context.destination_list_size=1\n"
           "flow_context.destination[0].destination_type=%d\n"
           "flow_context.destination[0].destination_id=%u\n%s", table, index, group,
           index, to_table ? 1 : 2, to, value);
}

/* The head of a test of an Eth *eth. */
#define ETH_TEST(path, fn) WORLD_TEST(path, fn, Eth, eth, eth_setup(eth), eth_done(eth))

#endif /* TESTS_UNIT_MLX5_ETH_FIXTURE_H */
