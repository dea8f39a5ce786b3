/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state of the mlx5 interface: an engine is saved at a moment, and another one
 * continues with its guest memory.
 */
#include "qemu/osdep.h"
#include "mlx5_commands.h"
#include "mlx5_decode.h"
#include "mlx5_objects.h"
#include "mlx5_queues.h"
#include "mlx5_software.h"
#include "objects/job.h"
#include "steering/flow_tables.h"

/* All that a query returns is the same on the destination. */
MLX5_TEST("/mlx5/state/objects", mlx5_start, test_objects)
{
    static const struct {
        uint16_t opcode;
        const char *text;
    } queries[] = {
        { 0x201, "mkey_index=2" }, { 0x201, "mkey_index=3" }, { 0x201, "mkey_index=4" },
        { 0x402, "cqn=1" }, { 0x50b, "qpn=2" }, { 0x50b, "qpn=3" }, { 0x90f, "rmpn=1" },
        { 0x707, "xrc_srqn=2" }, { 0x100, "op_mod=0" }, { 0x100, "op_mod=1" },
        { 0x754, "" }, { 0x754, "allowed_list_type=1" }, { 0x10a, "" }, { 0x750, "" },
        { 0x907, "sqn=0x8001" }, { 0x90b, "rqn=0x9001" }, { 0x90b, "rqn=0x9002" },
        { 0x93b, "flow_counter_id=1" },
    };
    Mlx5Answer before[G_N_ELEMENTS(queries)], after;

    mlx5_ethernet(f);
    mlx5_accept(f->e, 0x502, INIT);
    mlx5_accept(f->e, 0x503, RTR);
    mlx5_accept(f->e, 0x504, RTS);
    mlx5_accept(f->e, 0x755, "field_select.addresses_list=1\n"
                "nic_vport_context.allowed_list_type=1\n"
                "nic_vport_context.allowed_list_size=1\n"
                "nic_vport_context.current_uc_mac_address[0]=0x1234567\n");
    for (uint32_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        mlx5_ask(f->e, queries[i].opcode, queries[i].text, &before[i]);
    }
    fake_take_over(&f->e);
    for (uint32_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        mlx5_ask(f->e, queries[i].opcode, queries[i].text, &after);
        g_test_message("%#x %s", queries[i].opcode, queries[i].text);
        IS(after.refusal, ERNIC_MLX5_ACCEPTED);
        g_assert_cmpmem(&after, sizeof(after), &before[i], sizeof(before[i]));
    }
    /* Numbers go on where they were: page 17, transport domain 2, a domain of XRC. */
    IS(mlx5_accept(f->e, 0x802, ""), 17);
    IS(mlx5_accept(f->e, 0x816, ""), 2);
    mlx5_refuse(f->e, 0x801, "pd=2", ERNIC_MLX5_NO_OBJECT);
    /* References exist: an RQ, an RQT, a TIR, a table, a counter. */
    mlx5_refuse(f->e, 0x90a, "rqn=0x9002", ERNIC_MLX5_BUSY);
    mlx5_refuse(f->e, 0x918, "rqtn=1", ERNIC_MLX5_BUSY);
    mlx5_refuse(f->e, 0x902, "tirn=2", ERNIC_MLX5_BUSY);
    mlx5_refuse(f->e, 0x931, "table_id=2", ERNIC_MLX5_BUSY);
    mlx5_refuse(f->e, 0x93a, "flow_counter_id=1", ERNIC_MLX5_BUSY);
}

/* A frame has the same destinations, and is counted on. */
MLX5_TEST("/mlx5/state/steering", mlx5_start, test_steering)
{
    uint8_t key[ERNIC_FLOW_KEY_BYTES] = { };
    ErnicFlowResult before, after;
    Mlx5Answer a;
    const uint8_t *counted = a.out + ernic_mlx5_plain_out.self.bits / 8;

    mlx5_ethernet(f);
    ernic_mlx5_put(key, &ernic_mlx5_fte_match_set_lyr_2_4.dmac_47_16, 0x525400ab);
    ernic_flow_tables_find(f->e, key, 60, &before);
    IS(before.num, 2);
    fake_take_over(&f->e);
    ernic_flow_tables_find(f->e, key, 100, &after);
    g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));
    mlx5_ask(f->e, 0x93b, "flow_counter_id=1", &a);
    FIELDS_ARE(traffic_counter, counted, "packets=2 octets=%u", 60 + 100);
}

/* A capability that software has lowered stays so; the others are the profile's. */
MLX5_TEST("/mlx5/state/capabilities", mlx5_boot, test_capabilities)
{
    uint8_t in[ERNIC_MLX5_MESSAGE_ROOM] = { };
    uint8_t *data = in + ernic_mlx5_set_hca_cap_in.capability.offset / 8;
    Mlx5Answer a;

    mlx5_accept(f->e, 0x103, "");
    f->e->mlx5->function.teardown = false;
    ernic_mlx5_capabilities_get(&f->e->mlx5->function.capabilities, 0, false, data);
    ernic_mlx5_put(in, &ernic_mlx5_set_hca_cap_in.opcode, 0x109);
    ernic_mlx5_put(data, &ernic_mlx5_cmd_hca_cap.log_max_qp, 5);
    mlx5_send_bytes(f->e, in, sizeof(in), &a);
    IS(a.refusal, ERNIC_MLX5_ACCEPTED);
    fake_take_over(&f->e);
    mlx5_expect(f->e, 0x100, "op_mod=1", "capability.log_max_qp=0x5\n"
                "capability.log_max_eq=0x3\n");
}

/* A message and an answer of several mailboxes, after @steps of its steps. */
static bool run_command(uint32_t steps, bool move, GByteArray *result)
{
    static const uint8_t in[3000] = { 0x01, 0x00, [7] = 1 };   /* QUERY_HCA_CAP */
    g_autofree uint8_t *answer = NULL;
    bool busy = true;
    Mlx5Fixture f;
    Mlx5Posted p;
    uint64_t page;

    mlx5_boot(&f);
    page = mlx5_open_queue(f.e, &f.env);
    p = mlx5_post(&f.env, page, 3, in, sizeof(in), 4112);
    ernic_bar_write(f.e, f.env.now, MLX5_DOORBELL, 4, 1u << 3);
    ernic_slice(f.e);
    for (uint32_t i = 0; i < steps && busy; i++) {
        busy = mlx5_queue_steps(&f.e->mlx5->queue, 1);
    }
    fake_check(f.e);
    if (move) {
        fake_take_over(&f.e);
        fake_check(f.e);
    }
    fake_run(f.e);
    g_assert_true(mlx5_is_done(&f.env, &p));
    IS(mlx5_status(&f.env, &p), ERNIC_MLX5_DELIVERY_OK);
    answer = mlx5_answer(&f.env, &p);
    g_byte_array_append(result, answer, p.out_len);
    mlx5_finish(&f);
    return busy;
}

TEST("/mlx5/state/mid-command", test_mid_command)
{
    g_autoptr(GByteArray) want = g_byte_array_new();
    uint32_t steps = 0;
    bool busy;

    run_command(0, false, want);
    do {
        g_autoptr(GByteArray) got = g_byte_array_new();

        busy = run_command(steps++, true, got);
        g_assert_cmpmem(got->data, got->len, want->data, want->len);
    } while (busy);
    g_assert_cmpuint(steps, >, 12);
}

/* An entry with lengths that no message has is refused, and leaves no trace. */
MLX5_TEST("/mlx5/state/refused-entry", mlx5_boot, test_refused_entry)
{
    static const struct {
        uint32_t in_len, out_len;
        ErnicMlx5Delivery status;
    } rows[] = {
        { 0, 16, ERNIC_MLX5_DELIVERY_IN_LENGTH },
        { UINT32_MAX, 16, ERNIC_MLX5_DELIVERY_IN_LENGTH },
        { ERNIC_MLX5_MESSAGE_MAX + 1, 16, ERNIC_MLX5_DELIVERY_IN_LENGTH },
        { 16, 0, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
        { 16, UINT32_MAX, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
    };
    const uint8_t in[16] = { 0x01, 0x0a };              /* QUERY_ISSI */
    uint64_t page = mlx5_open_queue(f->e, &f->env);

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Mlx5Posted p = mlx5_post(&f->env, page, i, in, 16, 16);

        stl_be_p(mlx5_entry(&f->env, &p) + 4, rows[i].in_len);
        stl_be_p(mlx5_entry(&f->env, &p) + 56, rows[i].out_len);
        ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1u << i);
        fake_run(f->e);
        g_assert_true(mlx5_is_done(&f->env, &p));
        IS(mlx5_status(&f->env, &p), rows[i].status);
        fake_check(f->e);
        fake_take_over(&f->e);
    }
}

/* A command whose work has not ended begins again on the destination. */
MLX5_TEST("/mlx5/state/mid-work", mlx5_start, test_mid_work)
{
    enum { PAGES = 1 << 18, LEN = 0x110 + PAGES * 8 };
    const Mlx5Command *c = mlx5_command_find(0x200);
    g_autofree uint8_t *in = g_malloc0(LEN);
    g_autofree uint8_t *answer = NULL;
    bool filling = false;
    Mlx5Posted p;
    uint64_t page = mlx5_open_queue(f->e, &f->env);

    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, 0x200);
    IS(c->in->bits / 8, 0x110);
    g_assert_true(mlx5_encode(c->in, M "access_mode_1_0=1\n" M "qpn=0xffffff\n" M "pd=1\n"
                              M "lw=1\n" M "lr=1\n" M "len=0x40000000\n"
                              M "translations_octword_size=0x20000\n"
                              M "log_page_size=12\n", in, in, LEN));
    for (uint32_t i = 0; i < PAGES; i++) {
        stq_be_p(in + 0x110 + i * 8, FAKE_MEM_BASE + i % 16 * 4096);
    }
    p = mlx5_post(&f->env, page, 0, in, LEN, 16);
    ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1);
    while (!filling) {
        ernic_run(f->e, f->env.now);
        g_assert_false(mlx5_is_done(&f->env, &p));
        filling = f->e->job->filling;
    }
    IS(f->e->mem.kind[ERNIC_MEM_MESSAGES], LEN + ERNIC_MLX5_MESSAGE_ROOM);
    fake_check(f->e);
    fake_take_over(&f->e);
    g_assert_false(f->e->job->filling);
    fake_run(f->e);
    g_assert_true(mlx5_is_done(&f->env, &p));
    answer = mlx5_answer(&f->env, &p);
    IS(answer[0], 0);
    g_assert_cmpuint(f->e->num_pages, >, PAGES);
    IS(f->e->mem.kind[ERNIC_MEM_MESSAGES], 0);
}

/* A completed command that found no room in its event queue is reported later. */
MLX5_TEST("/mlx5/state/waiting-events", mlx5_boot, test_waiting_events)
{
    enum { ARM = 16 * 4096 + 0x48 };
    const uint8_t in[16] = { 0x01, 0x0a };              /* QUERY_ISSI */
    const uint8_t *entry;
    uint32_t eqn;
    g_autofree char *text = NULL;
    uint64_t page = fake_alloc(&f->env, 4096, 4096);

    text = g_strdup_printf("eq_context_entry.log_eq_size=1\n"
                           "eq_context_entry.uar_page=16\nevent_bitmask[0]=0x400\n"
                           "pas[0]=%#" PRIx64, page);
    eqn = mlx5_accept(f->e, 0x301, text) & 0xff;
    IS(f->e->mlx5->command_eq, eqn);
    entry = fake_ptr(&f->env, page, 128);
    page = mlx5_open_queue(f->e, &f->env);
    for (uint32_t i = 0; i < 5; i++) {
        mlx5_post(&f->env, page, i, in, sizeof(in), 112);
        ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1u << i);
        fake_run(f->e);
    }
    IS(f->e->mlx5->completed, 0x1c);    /* the last three */
    fake_take_over(&f->e);
    IS(f->e->mlx5->completed, 0x1c);
    ernic_bar_write(f->e, f->env.now, ARM, 4, eqn << 24 | 1);
    IS(entry[1], 0x0a);
    IS(ldl_be_p(entry + 32), 0x1c);
    IS(f->e->mlx5->completed, 0);
}

/* QUERY_EQ returns what software wrote, and the counters; also after a load. */
MLX5_TEST("/mlx5/state/query-eq", mlx5_boot, test_query_eq)
{
    g_autofree char *create = NULL, *query = NULL, *counters = NULL;
    uint32_t eqn;
    uint64_t page = fake_alloc(&f->env, 4096, 4096);

    create = g_strdup_printf("eq_context_entry.log_eq_size=4\n"
                             "eq_context_entry.uar_page=16\nevent_bitmask[0]=0x400\n"
                             "pas[0]=%#" PRIx64, page);
    eqn = mlx5_accept(f->e, 0x301, create) & 0xff;
    query = g_strdup_printf("eq_number=%u", eqn);
    mlx5_expect(f->e, 0x303, query,
                "eq_context_entry.st=0xa\neq_context_entry.log_eq_size=0x4\n"
                "eq_context_entry.uar_page=0x10\nevent_bitmask=0x400\n");
    ernic_bar_write(f->e, f->env.now, 16 * ERNIC_MLX5_PAGE + 0x40, 4, eqn << 24);
    counters = g_strdup_printf("eq_context_entry.st=%#x\n"
                               "eq_context_entry.log_eq_size=0x4\n"
                               "event_bitmask=0x400\n", f->e->eq[eqn].armed ? 9 : 10);
    g_assert_true(f->e->eq[eqn].armed);
    for (uint32_t i = 0; i < 2; i++) {
        mlx5_expect(f->e, 0x303, query, counters);
        fake_take_over(&f->e);
    }
    mlx5_refuse(f->e, 0x303, "eq_number=0", ERNIC_MLX5_NO_OBJECT);
    mlx5_refuse(f->e, 0x303, "eq_number=255", ERNIC_MLX5_NO_OBJECT);
}

/* Deliver what @from has sent, in pieces, between which both engines are replaced. */
static uint32_t deliver(Mlx5End *from, Mlx5End *to)
{
    uint32_t n = 0;
    FakeTrain *train;

    while ((train = fake_take_train(&from->env))) {
        uint32_t piece = 7 * train->train.seg;

        for (uint32_t off = 0; off < train->train.len; off += piece, n++) {
            ErnicTrain part = train->train;

            part.data += off;
            part.len = MIN(piece, part.len - off);
            fake_take_over(&from->e);
            fake_take_over(&to->e);
            ernic_rx(to->e, to->env.now, &part);
            fake_take_over(&to->e);
            fake_run(to->e);
        }
        fake_train_free(train);
    }
    return n;
}

static void transfer(Mlx5Pair *p, bool send)
{
    enum { LEN = 60000, RESP_SEND = 2 };
    uint32_t n, moves = 0;
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    for (uint32_t i = 0; i < LEN; i++) {
        *(uint8_t *)fake_ptr(&p->a.env, p->a.mem + i, 1) = i * 13 + (i >> 8);
    }
    if (send) {
        mlx5_post_recv(&p->b, &p->bq, p->b.mem, LEN);
    }
    mlx5_wr(&wr, send ? ERNIC_MLX5_OP_SEND : ERNIC_MLX5_OP_WRITE,
            ERNIC_MLX5_CE_ALWAYS, 0);
    if (!send) {
        mlx5_raddr(&wr, p->b.mem, p->b.key);
    }
    mlx5_data(&wr, p->a.mem, LEN, p->a.key);
    mlx5_post_wr(&p->a, &p->aq, &wr);
    while ((n = deliver(&p->a, &p->b) + deliver(&p->b, &p->a))) {
        moves += n;
        g_assert_cmpuint(moves, <, 100);
    }
    g_assert_cmpuint(moves, >, 8);
    g_assert_cmpmem(fake_ptr(&p->a.env, p->a.mem, LEN), LEN,
                    fake_ptr(&p->b.env, p->b.mem, LEN), LEN);
    g_assert_true(mlx5_poll(&p->a, &cqe));
    IS(cqe.opcode, 0);
    IS(cqe.index, 0x700 + p->aq.qpn);
    IS(mlx5_poll(&p->b, &cqe), send);
    g_assert_true(!send || (cqe.opcode == RESP_SEND && cqe.bytes == LEN));
}

MLX5_PAIR_TEST("/mlx5/state/mid-transfer/write", ERNIC_QPT_RC, test_write)
{
    transfer(p, false);
}

MLX5_PAIR_TEST("/mlx5/state/mid-transfer/send", ERNIC_QPT_RC, test_send)
{
    transfer(p, true);
}
