/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of the mlx5 interface: its function, the command in progress, and what it
 * keeps beside the objects of the engine.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/rdma/records.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "state/spans.h"
#include "state/state.h"
#include "transport/qp.h"

/* ---- capabilities ---------------------------------------------------------- */

/*
 * Stored by the place of the field, because the rows of the profile may move: how many
 * values are not 0, and of each the group, the bit of its group, and the value.
 */
static void save_capabilities(const ErnicStateField *f, const Ernic *e, const void *obj,
                              GByteArray *out)
{
    const ErnicMlx5Capabilities *caps = obj;
    uint32_t n = 0, i;

    for (i = 0; i < ernic_mlx5_num_capabilities; i++) {
        n += caps->value[i] != 0;
    }
    ernic_state_put(out, n, 2);
    for (i = 0; i < ernic_mlx5_num_capabilities; i++) {
        if (caps->value[i]) {
            ernic_state_put(out, ernic_mlx5_profile[i].group, 1);
            ernic_state_put(out, ernic_mlx5_capability_bit(i), 4);
            ernic_state_put(out, caps->value[i], 4);
        }
    }
}

/* A capability that this release does not have, or not as much of it, is refused. */
static bool load_capabilities(const ErnicStateField *f, Ernic *e, void *obj,
                              ErnicReader *in)
{
    ErnicMlx5Capabilities *caps = obj;
    uint32_t n = ernic_state_read(in, 2), i, k;

    memset(caps->value, 0, sizeof(caps->value));
    for (i = 0; i < n && !in->failed; i++) {
        uint32_t group = ernic_state_read(in, 1), bit = ernic_state_read(in, 4);
        uint32_t value = ernic_state_read(in, 4);

        for (k = 0; k < ernic_mlx5_num_capabilities; k++) {
            if (ernic_mlx5_profile[k].group == group &&
                ernic_mlx5_capability_bit(k) == bit) {
                break;
            }
        }
        if (k == ernic_mlx5_num_capabilities ||
            value > ernic_mlx5_capability_most(caps, k)) {
            return ernic_state_refuse(in, "capability %u of group %u is %u, more than"
                                      " this device has", bit, group, value);
        }
        caps->value[k] = value;
    }
    return !in->failed;
}

static const ErnicStateOwned capabilities = { save_capabilities, load_capabilities };

/* ---- messages -------------------------------------------------------------- */

/*
 * The bytes of the message that were read, and those of the answer while it is written.
 */
static uint32_t bytes_in(const ErnicMlx5CommandQueue *q)
{
    return q->stage == ERNIC_MLX5_QUEUE_READ ? q->done : 0;
}

static uint32_t bytes_out(const ErnicMlx5CommandQueue *q)
{
    return q->stage == ERNIC_MLX5_QUEUE_WRITE ? q->entry.out_len : 0;
}

static void save_messages(const ErnicStateField *f, const Ernic *e, const void *obj,
                          GByteArray *out)
{
    const ErnicMlx5CommandQueue *q = obj;

    if (q->stage != ERNIC_MLX5_QUEUE_IDLE) {
        g_byte_array_append(out, q->in, bytes_in(q));
        g_byte_array_append(out, q->out, bytes_out(q));
    }
}

/* Stage, entry and done are loaded; they bound what is allocated. */
static bool load_messages(const ErnicStateField *f, Ernic *e, void *obj,
                          ErnicReader *in)
{
    ErnicMlx5CommandQueue *q = obj;

    if (q->stage == ERNIC_MLX5_QUEUE_IDLE) {
        return true;
    }
    if (!ernic_mlx5_command_queue_ok(q) ||
        !ernic_state_has(in, (uint64_t)bytes_in(q) + bytes_out(q), 1)) {
        q->stage = ERNIC_MLX5_QUEUE_IDLE;
        return false;
    }
    if (!ernic_mlx5_command_queue_alloc(q)) {
        q->stage = ERNIC_MLX5_QUEUE_IDLE;
        return ernic_state_no_memory(e, in);
    }
    ernic_state_read_bytes(in, q->in, bytes_in(q));
    ernic_state_read_bytes(in, q->out, bytes_out(q));
    return true;
}

static const ErnicStateOwned messages = { save_messages, load_messages };

#define S ErnicMlx5Chain
DESCRIBE(mlx5_chain,
    U(addr), U(number), UMAX(left, ERNIC_MLX5_MESSAGE_MAX), U(token), BOOL(out),
);
#undef S

#define S ErnicMlx5Entry
DESCRIBE(mlx5_entry,
    UMAX(in_len, ERNIC_MLX5_MESSAGE_MAX), UMAX(out_len, ERNIC_MLX5_MESSAGE_MAX),
    BYTES(in), STRUCT(in_chain, mlx5_chain),
    STRUCT(out_chain, mlx5_chain),
);
#undef S

#define S ErnicMlx5CommandQueue
DESCRIBE(mlx5_commands,
    DERIVED(ops), DERIVED(env), DERIVED(mem), DERIVED(execute), /* of the engine */
    DERIVED(opaque),
    U(completed), U(base), U(rung), UMAX(stage, ERNIC_MLX5_QUEUE_WRITE), U(addr),
    BYTES(bytes), STRUCT(entry, mlx5_entry),
    UMAX(done, ERNIC_MLX5_MESSAGE_MAX),
    OWNED(in, messages),        /* needs the rows above */
    DERIVED(out),               /* loaded with in */
);
#undef S

/* ---- the function ---------------------------------------------------------- */

#define S ErnicMlx5Capabilities
DESCRIBE(mlx5_capabilities,
    DERIVED(limits),            /* of the engine */
    OWNED(value, capabilities),
);
#undef S

#define S ErnicMlx5Vport
DESCRIBE(mlx5_vport,
    BYTES(context), ARRAY(num, ERNIC_MLX5_VLAN_MAX),
    { .name = "addresses", .offset = offsetof(S, addresses), .size = sizeof(uint64_t),
      .num = sizeof_field(S, addresses) / sizeof(uint64_t), .kind = ERNIC_SK_UINT,
      .max = (1ull << 48) - 1 },
    ARRAY(vlans, ERNIC_MLX5_VLAN_MAX - 1), U(admin_state),
);
#undef S

#define S ErnicMlx5Function
DESCRIBE(mlx5_function,
    DERIVED(config),            /* of the device that loads */
    DERIVED(engine),
    UMAX(state, ERNIC_MLX5_RUNNING), U(issi),
    STRUCT(capabilities, mlx5_capabilities), BYTES(uars),
    STRUCT(vport, mlx5_vport), U(eth_proto_admin), U(mtu),
    U(port_admin), BOOL(teardown),
    BYTES(node_desc),
);
#undef S

/* ---- beside the objects of the engine --------------------------------------- */

/* The element of the array that @f points to. */
static uint8_t *element(const ErnicStateField *f, const void *obj, size_t size,
                        uint32_t id)
{
    return *(uint8_t *const *)((const char *)obj + f->offset) + id * size;
}

/* One element for each object in use: which they are is known when this is loaded. */
static bool load_beside(Ernic *e, uint32_t n, ErnicReader *in)
{
    const ErnicSpanRow *row = &ernic_span_rows[n];
    const ErnicStateTable *t = &ernic_state_tables[row->table];
    uint32_t id = t->first;

    for (; !in->failed && ernic_state_next(e, t, &id); id++) {
        void *element = ernic_span_element(row, e, id);

        if (!row->of) {
            ernic_state_read_bytes(in, element, row->size);
        } else if (!ernic_state_load_struct(e, row->of, element, in)) {
            return false;
        }
    }
    return !in->failed;
}

/* Saves and loads the array of row @n of ernic_span_rows[]. */
#define BESIDE(var, n)                                                              \
    static void save_##var(const ErnicStateField *f, const Ernic *e,                \
                           const void *obj, GByteArray *out)                        \
    {                                                                               \
        ernic_spans_save(e, ERNIC_SPANS_##n, out);                                  \
    }                                                                               \
    static bool load_##var(const ErnicStateField *f, Ernic *e, void *obj,           \
                           ErnicReader *in)                                         \
    {                                                                               \
        return load_beside(e, ERNIC_SPANS_##n, in);                                 \
    }                                                                               \
    static const ErnicStateOwned var = { save_##var, load_##var }

BESIDE(qp_records, MLX5_QP);
BESIDE(cq_records, MLX5_CQ);
BESIDE(srq_records, MLX5_SRQ);
BESIDE(mkey_contexts, MKEY_CONTEXTS);
BESIDE(cq_contexts, CQ_CONTEXTS);
BESIDE(qp_contexts, QP_CONTEXTS);
BESIDE(srq_contexts, SRQ_CONTEXTS);
BESIDE(eq_contexts, EQ_CONTEXTS);
BESIDE(eq_events, EQ_EVENTS);

/* Flags by the number of a protection domain: up to the last one that is set. */
static void save_flags(const ErnicStateField *f, const Ernic *e, const void *obj,
                       GByteArray *out)
{
    const uint8_t *flags = element(f, obj, 1, 0);
    uint32_t n = e->cfg.max_pd;

    while (n && !flags[n - 1]) {
        n--;
    }
    ernic_state_put(out, n, 4);
    g_byte_array_append(out, flags, n);
}

static bool load_flags(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    bool *flags = (bool *)element(f, obj, 1, 0);
    uint32_t n = ernic_state_read(in, 4), i;

    if (n > e->cfg.max_pd || !ernic_state_has(in, n, 1)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        uint64_t v = ernic_state_read(in, 1);

        if (v > 1) {
            return ernic_state_refuse(in, "%s is neither 0 nor 1", f->name);
        }
        flags[i] = v;
    }
    return true;
}

static const ErnicStateOwned flags = { save_flags, load_flags };

#define S ErnicMlx5Qp
DESCRIBE(mlx5_qp,
    UMAX(uar, ERNIC_MLX5_UAR_MAX), UMAX(user_index, ERNIC_MLX5_NO_INDEX), U(record),
    U(sq_offset), U(rq_offset), BOOL(fast_register), BOOL(umr),
);
#undef S

#define S ErnicMlx5Cq
DESCRIBE(mlx5_cq,
    UMAX(uar, ERNIC_MLX5_UAR_MAX), UMAX(arm_number, ERNIC_MLX5_NOT_ARMED),
);
#undef S

#define S ErnicMlx5Srq
DESCRIBE(mlx5_srq, UMAX(user_index, ERNIC_MLX5_NO_INDEX), U(record), U(head));
#undef S

#define S ErnicMlx5Queues
DESCRIBE(mlx5_queues,
    OWNED_OF(qp, qp_records, mlx5_qp),
    OWNED_OF(cq, cq_records, mlx5_cq),
    OWNED_OF(srq, srq_records, mlx5_srq),
);
#undef S

#define S ErnicMlx5Contexts
DESCRIBE(mlx5_contexts,
    OWNED(mkey, mkey_contexts), OWNED(cq, cq_contexts), OWNED(qp, qp_contexts),
    OWNED(srq, srq_contexts), OWNED(xrcd, flags), OWNED(transport, flags),
    OWNED(eq, eq_contexts), OWNED(eq_events, eq_events),
);
#undef S

#define S ErnicMlx5
DESCRIBE(mlx5,
    STRUCT(function, mlx5_function), STRUCT(queue, mlx5_commands),
    STRUCT(queues, mlx5_queues), STRUCT(contexts, mlx5_contexts),
    UMAX(nic_interface, 3), U(command_eq), BOOL(by_event), U(completed),
    ARRAY(received.packets, UINT64_MAX), ARRAY(received.octets, UINT64_MAX),
    ARRAY(sent.packets, UINT64_MAX), ARRAY(sent.octets, UINT64_MAX),
);
#undef S
