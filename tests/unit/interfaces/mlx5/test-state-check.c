/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile saved states of the mlx5 interface: values that no command makes are refused,
 * and a state that is accepted can be used.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/rdma/records.h"
#include "mlx5_objects.h"
#include "mlx5_software.h"
#include "state/check.h"
#include "state/state.h"
#include "steering/flow_tables.h"

/* The place of a value in a structure that a pointer of Ernic leads to. */
typedef struct Place {
    uint32_t base, at, size;
    bool array;                 /* at: of a pointer to it */
    uint32_t offset;            /* in the array */
} Place;

#define IN(base, type, field) \
    { offsetof(Ernic, base), offsetof(type, field), sizeof_field(type, field) }
#define INTERFACE(field)         IN(mlx5, ErnicMlx5, field)
#define ETH(field)          IN(mlx5_eth, ErnicMlx5Eth, field)
#define FLOW(field)         IN(flow_tables, ErnicFlowTables, field)
#define ARRAY_OF(array)     (((ErnicMlx5 *)0)->queues.array)
#define QUEUE(array, id, field)                                                     \
    { offsetof(Ernic, mlx5), offsetof(ErnicMlx5, queues.array),                     \
      sizeof(ARRAY_OF(array)->field), true,                                         \
      (id) * sizeof(*ARRAY_OF(array)) + offsetof(typeof(*ARRAY_OF(array)), field) }
/* A byte of a context, or of a list of flags. */
#define BYTE(array, offset) \
    { offsetof(Ernic, mlx5), offsetof(ErnicMlx5, contexts.array), 1, true, offset }

/* Each row is a value that no command makes, and the reason that the reader gives. */
typedef struct Bad {
    const char *name;
    Place place;
    uint64_t value;
    const char *why;
} Bad;

static const Bad bad[] = {
    { "stage", INTERFACE(queue.stage), 3, "in is not valid" },
    { "message", INTERFACE(queue.entry.in_len), 7, "in is not valid" },
    { "answer", INTERFACE(queue.entry.out_len), UINT32_MAX, "in is not valid" },
    { "progress", INTERFACE(queue.entry.in_chain.left), 1, "in is not valid" },
    { "chain", INTERFACE(queue.entry.out_chain.out), 0, "in is not valid" },
    { "state", INTERFACE(function.state), 3, "ErnicMlx5Function.state out of range" },
    { "not-running", INTERFACE(function.state), 1, "mlx5-domains" },
    { "not-enabled", INTERFACE(function.state), 0, "mlx5-domains" },
    { "issi", INTERFACE(function.issi), 2, "mlx5-function" },
    { "first-uar", INTERFACE(function.uars[1]), 0x80, "mlx5-function" },
    { "addresses", INTERFACE(function.vport.num[0]), 129, "mlx5-function" },
    { "vlans", INTERFACE(function.vport.num[2]), 4097,
      "ErnicMlx5Vport.num out of range" },
    { "address", INTERFACE(function.vport.addresses[1][7]), 1ull << 48,
      "ErnicMlx5Vport.addresses out of range" },
    { "vlan", INTERFACE(function.vport.vlans[9]), 4096,
      "ErnicMlx5Vport.vlans out of range" },
    { "admin", INTERFACE(function.vport.admin_state), 3, "mlx5-function" },
    { "speed", INTERFACE(function.eth_proto_admin), 1, "mlx5-function" },
    { "port", INTERFACE(function.port_admin), 3, "mlx5-function" },
    { "mtu", INTERFACE(function.mtu), 9023, "mlx5-function" },
    { "small-mtu", INTERFACE(function.mtu), 63, "mlx5-function" },
    { "capability", INTERFACE(function.capabilities.value[0]), 2,
      "more than this device has" },
    { "interface", INTERFACE(nic_interface), 4, "ErnicMlx5.nic_interface out of range" },
    { "command-eq", INTERFACE(command_eq), 5, "mlx5-command-eq" },
    { "far-eq", INTERFACE(command_eq), UINT32_MAX, "mlx5-command-eq" },
    { "qp-uar", QUEUE(qp, QP_RC, uar), 1024, "mlx5-qps" },
    { "qp-index", QUEUE(qp, QP_RC, user_index), 1 << 24, "mlx5-qps" },
    { "qp-record", QUEUE(qp, QP_RC, record), 2, "mlx5-qps" },
    { "sq-offset", QUEUE(qp, QP_RC, sq_offset), 4000, "mlx5-qps" },
    { "rq-offset", QUEUE(qp, QP_RC, rq_offset), UINT32_MAX, "mlx5-qps" },
    { "cq-uar", QUEUE(cq, 1, uar), 1024, "mlx5-cqs" },
    { "cq-arm", QUEUE(cq, 1, arm_number), 5, "mlx5-cqs" },
    { "srq-head", QUEUE(srq, 1, head), 16, "mlx5-srqs" },
    { "srq-index", QUEUE(srq, 2, user_index), 1 << 24, "mlx5-srqs" },
    { "pd-0", BYTE(xrcd, 0), 1, "mlx5-domains" },
    { "domain-0", BYTE(transport, 0), 1, "mlx5-domains" },
    { "flag", BYTE(transport, 3), 2, "transport is neither 0 nor 1" },
    { "mkey-bsf", BYTE(mkey, MKEY_MTT * ERNIC_MLX5_MKC + 12), 0x40, "mlx5-mkeys" },
    { "queue-state", ETH(sq[1].state), 2, "sq-queue" },
    { "queue-states", ETH(rq[1].state), 4, "ErnicMlx5EthQueue.state out of range" },
    { "queue-size", ETH(rq[1].log_size), 16, "rq-queue" },
    { "queue-bytes", ETH(rq[1].log_size), 9, "rq-queue" },
    { "queue-stride", ETH(rq[1].log_stride), 3, "rq-queue" },
    { "queue-strides", ETH(rq[1].log_stride), 255, "rq-queue" },
    { "block", ETH(sq[1].log_stride), 7, "sq-queue" },
    { "last-turn", ETH(last), ERNIC_LIM_ETH_QUEUE + 1, "ErnicMlx5Eth.last out of range" },
    { "queue-record", ETH(sq[1].record), 4, "sq-queue" },
    { "queue-cq", ETH(sq[1].cq), 2, "sq-queue" },
    { "queue-far-cq", ETH(sq[1].cq), UINT32_MAX, "sq-queue" },
    { "queue-pd", ETH(rq[2].pd), 3, "rq-queue" },
    { "queue-xrcd", ETH(rq[2].pd), 2, "rq-queue" },
    { "queue-far-pd", ETH(rq[2].pd), UINT32_MAX, "rq-queue" },
    { "queue-counters", ETH(rq[1].pi), 5, "rq-queue" },
    { "queue-reset", ETH(rq[2].pi), 1, "rq-queue" },
    { "tir-queue", ETH(tir[1].queue), 0x9004, "tir-queue" },
    { "tir-rqt", ETH(tir[2].queue), 2, "tir-queue" },
    { "tir-kind", ETH(tir[2].indirect), 0, "tir-queue" },
    { "tir-domain", ETH(tir[1].transport_domain), 3, "tir-domain" },
    { "tis-domain", ETH(tis[1].transport_domain), UINT32_MAX, "tis-domain" },
    { "tir-hash", ETH(tir[1].hash), 3, "ErnicMlx5Tir.hash out of range" },
    { "tir-fields", ETH(tir[1].selected), 32, "ErnicMlx5Tir.selected out of range" },
    { "rqt-size", ETH(rqt[1].num), 257, "ErnicMlx5Rqt.num out of range" },
    { "rqt-empty", ETH(rqt[1].num), 0, "rqt-queues" },
    { "rqt-max", ETH(rqt[1].max), 1, "rqt-queues" },
    { "rqt-queue", ETH(rqt[1].rq[1]), 0x9004, "rqt-queues" },
    { "rqt-more", ETH(rqt[1].rq[2]), 0x9001, "rqt-queues" },
    { "no-queue", ETH(rq[2].used), 2, "used is neither 0 nor 1" },
    { "root", FLOW(root), 3, "flow-tables" },
    { "far-root", FLOW(root), UINT32_MAX, "flow-tables" },
    { "level", FLOW(table[1].level), 129, "flow-tables" },
    { "levels", FLOW(table[2].level), 1, "flow-tables" },
    { "table-size", FLOW(table[1].log_size), 17, "flow-tables" },
    { "miss", FLOW(table[1].miss), 3, "flow-tables" },
    { "miss-circle", FLOW(table[1].miss), 1, "flow-tables" },
    { "group-table", FLOW(group[1].table), 0, "flow-tables" },
    { "group-order", FLOW(group[1].first), 4, "flow-tables" },
    { "group-size", FLOW(group[2].last), 8, "flow-tables" },
    { "group-overlap", FLOW(group[2].first), 3, "flow-tables" },
    { "entry-group", FLOW(entry[1].group), 2, "flow-tables" },
    { "entry-index", FLOW(entry[1].index), 4, "flow-tables" },
    { "entry-same", FLOW(entry[2].index), 0, "flow-tables" },
    { "entry-value", FLOW(entry[1].value[40]), 1, "flow-tables" },
    { "entry-drop", FLOW(entry[1].drop), 1, "flow-tables" },
    { "entry-dests", FLOW(entry[1].num_dest), 5, "ErnicFlowEntry.num_dest out of range" },
    { "entry-counter", FLOW(entry[1].counter), 2, "flow-tables" },
    { "entry-tir", FLOW(entry[3].dest[0].id), 3, "entry-dest" },
    { "entry-far-tir", FLOW(entry[3].dest[0].id), UINT32_MAX, "entry-dest" },
    { "entry-loop", FLOW(entry[1].dest[0].id), 1, "flow-tables" },
};

static void spoil(Ernic *e, const Place *place, uint64_t value)
{
    uint8_t *p = *(uint8_t **)((uint8_t *)e + place->base) + place->at;

    stn_he_p(place->array ? *(uint8_t **)p + place->offset : p, place->size, value);
}

/* An engine with objects and a command in progress. */
static void busy(Mlx5Fixture *f)
{
    static const uint8_t in[3000] = { 0x01, 0x00, [7] = 1 };
    uint64_t page;

    mlx5_start(f);
    mlx5_ethernet(f);
    page = mlx5_open_queue(f->e, &f->env);
    mlx5_post(&f->env, page, 3, in, sizeof(in), 4112);
    ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1u << 3);
    ernic_slice(f->e);
    mlx5_queue_steps(&f->e->mlx5->queue, 3);
}

/* A refused state leaves an engine that can be used. */
ROW_TEST("/mlx5/state-check", bad, b, test_refused)
{
    g_autoptr(GString) why = g_string_new(NULL);
    GByteArray *state;
    Mlx5Fixture f;
    ErnicMlx5CommandQueue queue;
    Ernic *to;

    busy(&f);
    queue = f.e->mlx5->queue;
    to = mlx5_another(f.e);
    state = fake_saved(f.e);
    g_assert_true(ernic_load(to, f.env.now, state->data, state->len));
    g_byte_array_unref(state);
    spoil(f.e, &b->place, b->value);
    state = fake_saved(f.e);
    f.e->mlx5->queue = queue;           /* its lengths are those of the account */
    g_assert_false(ernic_load_why(to, f.env.now, state->data, state->len, why));
    g_test_message("%s", why->str);
    g_assert_nonnull(strstr(why->str, b->why));
    IS(to->mem.used, 0);
    g_byte_array_unref(state);
    mlx5_accept(to, 0x104, "");
    mlx5_accept(to, 0x102, "");
    ernic_free(to);
    ernic_free(f.e);
    fake_env_fini(&f.env);
}

/* A state that ends at any byte, or that has another interface, is refused. */
TEST("/mlx5/state-check/incomplete", test_incomplete)
{
    GByteArray *state, *other;
    Mlx5Fixture f;
    FakeEnv env;
    Ernic *e, *verbs;

    busy(&f);
    e = mlx5_another(f.e);
    state = fake_saved(f.e);
    for (guint len = 0; len < state->len; len += g_test_slow() ? 1 : 61) {
        g_autofree uint8_t *copy = g_memdup2(state->data, len);

        g_assert_false(ernic_load(e, f.env.now, copy, len));
    }
    verbs = FAKE_ERNIC(&env);
    other = fake_saved(verbs);
    g_assert_false(ernic_load(verbs, env.now, state->data, state->len));
    g_assert_false(ernic_load(e, f.env.now, other->data, other->len));
    /* A writer that knew as few sections as one before this interface. */
    stl_le_p(other->data + 12, 17);
    g_assert_false(ernic_load(e, f.env.now, other->data, other->len));
    g_assert_true(ernic_load(verbs, env.now, other->data, other->len));
    g_assert_true(ernic_load(e, f.env.now, state->data, state->len));
    g_byte_array_unref(state);
    g_byte_array_unref(other);
    ernic_free(e);
    fake_ernic_done(&env, verbs);
    fake_ernic_done(&f.env, f.e);
}

static void assert_broken(const ErnicInvariants *list)
{
    uint32_t k;

    for (uint32_t i = 0; i < list->count; i++) {
        for (k = 0; k < G_N_ELEMENTS(bad) && !strstr(bad[k].why, list->list[i].name);
             k++) {
        }
        if (k == G_N_ELEMENTS(bad)) {
            g_error("nothing breaks %s", list->list[i].name);
        }
    }
}

/* Every invariant has a row above, and each list belongs to its table. */
TEST("/mlx5/state-check/all-named", test_all_named)
{
    uint32_t first = ernic_state_num_tables - ernic_num_invariants_ethernet;

    assert_broken(&ernic_invariants_mlx5);
    assert_broken(&ernic_invariants_steering);
    for (uint32_t i = 0; i < ernic_num_invariants_ethernet; i++) {
        const ErnicInvariants *list = ernic_check_invariants(first + i);

        g_assert_true(list == &ernic_invariants_ethernet[i]);
        g_assert_true(!list->count || g_str_has_prefix(list->list[0].name,
                                       ernic_state_tables[first + i].name));
        assert_broken(list);
    }
}
