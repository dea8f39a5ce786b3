/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of the mlx5 interface as text, to a function that runs on an engine.
 */
#include "qemu/osdep.h"
#include "mlx5_commands.h"
#include "mlx5_decode.h"
#include "mlx5_objects.h"
#include "mlx5_software.h"

/* Room for lists after a message. */
#define LIST    512

const ErnicMlx5Config mlx5_config = { .max_mtu = 9022, .link_up = true };

void mlx5_send_bytes(Ernic *e, const uint8_t *in, uint32_t len, Mlx5Answer *a)
{
    memset(a, 0, sizeof(*a));
    ernic_slice(e);
    while (!ernic_mlx5_function_execute(&e->mlx5->function, in, len, a->out,
                                        sizeof(a->out))) {
        ernic_slice(e);
    }
    a->refusal = ernic_mlx5_get(a->out, &ernic_mlx5_plain_out.syndrome);
    g_assert_cmpuint(a->refusal, <, ERNIC_MLX5_REFUSALS);
    IS(ernic_mlx5_get(a->out, &ernic_mlx5_plain_out.status),
       ernic_mlx5_statuses[a->refusal].status);
}

void mlx5_ask(Ernic *e, uint16_t opcode, const char *text, Mlx5Answer *a)
{
    const Mlx5Command *command = mlx5_command_find(opcode);
    uint8_t in[ERNIC_MLX5_MESSAGE_ROOM] = { };
    uint32_t len = command->in->bits / 8 + LIST;

    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, opcode);
    g_assert_true(mlx5_encode(command->in, text, in, in, len));
    mlx5_send_bytes(e, in, len, a);
}

void (*mlx5_before)(const Ernic *e, uint16_t opcode, const char *text);

uint32_t mlx5_accept(Ernic *e, uint16_t opcode, const char *text)
{
    Mlx5Answer a;

    if (mlx5_before) {
        mlx5_before(e, opcode, text);
    }
    mlx5_ask(e, opcode, text, &a);
    g_assert_cmpstr(ernic_mlx5_statuses[a.refusal].reason, ==, "accepted");
    return ldl_be_p(a.out + 8) & 0xffffff;
}

void mlx5_refuse(Ernic *e, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    Mlx5Answer a;

    mlx5_ask(e, opcode, text, &a);
    g_assert_cmpstr(ernic_mlx5_statuses[a.refusal].reason, ==,
                    ernic_mlx5_statuses[why].reason);
}

void mlx5_expect(Ernic *e, uint16_t opcode, const char *text, const char *lines)
{
    const Mlx5Command *command = mlx5_command_find(opcode);
    g_autoptr(GString) all = g_string_new("\n");
    g_auto(GStrv) want = g_strsplit(lines, "\n", 0);
    uint8_t known[ERNIC_MLX5_MESSAGE_ROOM];
    Mlx5Answer a;

    mlx5_ask(e, opcode, text, &a);
    IS(a.refusal, ERNIC_MLX5_ACCEPTED);
    mlx5_decode(command->out, a.out, command->out->bits / 8, a.out, all, known);
    for (uint32_t i = 0; want[i] && want[i][0]; i++) {
        g_autofree char *line = g_strdup_printf("\n%s\n", want[i]);

        if (!strstr(all->str, line)) {
            g_test_message("no %s in %s", want[i], all->str);
        }
        g_assert_nonnull(strstr(all->str, line));
    }
}

void mlx5_boot_keys(Mlx5Fixture *f, uint32_t max_mr)
{
    f->e = FAKE_ERNIC(&f->env, cfg.mlx5 = &mlx5_config;
                      cfg.max_mr = max_mr ?: cfg.max_mr);
    fake_create_eq(f->e, &f->eq, 16, 0, true);
    mlx5_accept(f->e, 0x104, "");
    mlx5_accept(f->e, 0x102, "");
    mlx5_accept(f->e, 0x802, "");            /* page 16 */
}

void mlx5_boot(Mlx5Fixture *f)
{
    mlx5_boot_keys(f, 0);
}

void mlx5_start(Mlx5Fixture *f)
{
    mlx5_boot(f);
    mlx5_objects(f);
}

void mlx5_objects(Mlx5Fixture *f)
{
    IS(mlx5_accept(f->e, 0x800, ""), 1);
    IS(mlx5_accept(f->e, 0x80e, ""), 2);
    IS(mlx5_accept(f->e, 0x816, ""), 1);
    IS(mlx5_accept(f->e, 0x200, MTT), MKEY_MTT);
    IS(mlx5_accept(f->e, 0x200, PA), MKEY_PA);
    IS(mlx5_accept(f->e, 0x200, FREE), MKEY_FREE);
    IS(mlx5_accept(f->e, 0x400, CQ), 1);
    IS(mlx5_accept(f->e, 0x90c, RMP), 1);
    IS(mlx5_accept(f->e, 0x705, XRC_SRQ), 2);
    IS(mlx5_accept(f->e, 0x771, ""), 1);
    mlx5_accept(f->e, 0x761, GID);
    IS(mlx5_accept(f->e, 0x500, QP), QP_RC);
    IS(mlx5_accept(f->e, 0x500, QP "qpc.st=2\n"), QP_UD);
}

void mlx5_connect_qp(Ernic *e, uint32_t qpn, uint32_t dest, uint8_t host)
{
    g_autofree char *init = g_strdup_printf(INIT "qpn=%u\n", qpn);
    g_autofree char *rtr = g_strdup_printf(RTR "qpn=%u\nqpc.remote_qpn=%u\n"
                                           PATH "rgid_rip[15]=%u\n", qpn, dest, host);
    g_autofree char *rts = g_strdup_printf(RTS "qpn=%u\nqpc.next_send_psn=0x123\n", qpn);

    mlx5_accept(e, 0x502, init);
    mlx5_accept(e, 0x503, rtr);
    mlx5_accept(e, 0x504, rts);
}

#define WQ(log_stride) \
    "ctx.cqn=1\nctx.wq.wq_type=1\nctx.wq.pd=1\nctx.wq.log_wq_sz=2\n" \
    "ctx.wq.log_wq_stride=" log_stride "\nctx.wq.dbr_addr=" RECORD "\n" \
    "ctx.wq.pas[0].pa_h=0x1234\nctx.wq.pas[0].pa_l=0x10\n"
#define TABLE   "flow_table_context.log_size=3\nflow_table_context.level="
#define ENTRY   "flow_context.action=4\nflow_context.destination_list_size=1\n" \
                "flow_context.destination[0].destination_type="
#define VALUE   "flow_context.match_value.outer_headers.dmac_47_16="
#define MASK \
    "match_criteria_enable=1\nmatch_criteria.outer_headers.dmac_47_16=0xffffffff\n"

void mlx5_ethernet(Mlx5Fixture *f)
{
    Ernic *e = f->e;

    IS(mlx5_accept(e, 0x912, "ctx.transport_domain=1"), 1);
    mlx5_accept(e, 0x904, WQ("6") "ctx.tis_lst_sz=1\nctx.tis_num_0=1\n"
                "ctx.wq.uar_page=16\n");
    mlx5_accept(e, 0x908, WQ("4"));
    mlx5_accept(e, 0x908, WQ("4"));
    /* One has no protection domain, as Linux's queue that never gets buffers. */
    mlx5_accept(e, 0x908, "ctx.cqn=1\nctx.wq.wq_type=1\nctx.wq.log_wq_sz=4\n"
                "ctx.wq.log_wq_stride=4\n");
    mlx5_accept(e, 0x909, "rqn=0x9001\nctx.state=1");
    mlx5_accept(e, 0x916, "rqt_context.rqt_max_size=4\nrqt_context.rqt_actual_size=2\n"
                "rqt_context.rq_num[0].rq_num=0x9001\n"
                "rqt_context.rq_num[1].rq_num=0x9002\n");
    mlx5_accept(e, 0x900, "ctx.inline_rqn=0x9001\nctx.transport_domain=1");
    mlx5_accept(e, 0x900, "ctx.disp_type=1\nctx.indirect_table=1\nctx.rx_hash_fn=2\n"
                "ctx.transport_domain=1");
    mlx5_accept(e, 0x939, "");
    mlx5_accept(e, 0x930, TABLE "2");
    mlx5_accept(e, 0x930, TABLE "3");
    mlx5_accept(e, 0x92f, "table_id=1");
    mlx5_accept(e, 0x933, "table_id=1\nend_flow_index=3\n" MASK);
    mlx5_accept(e, 0x933, "table_id=1\nstart_flow_index=4\nend_flow_index=7\n" MASK);
    mlx5_accept(e, 0x933, "table_id=2\nend_flow_index=0\n");
    mlx5_accept(e, 0x936, "table_id=1\nflow_context.group_id=1\n" VALUE "0x525400ab\n"
                "flow_context.action=0xc\nflow_context.destination_list_size=2\n"
                "flow_context.flow_counter_list_size=1\n"
                "flow_context.destination[0].destination_type=1\n"
                "flow_context.destination[0].destination_id=2\n"
                "flow_context.destination[1].destination_type=2\n"
                "flow_context.destination[1].destination_id=2\n"
                "flow_context.destination[2].destination_id=1\n");
    mlx5_accept(e, 0x936, "table_id=1\nflow_context.group_id=1\nflow_index=1\n"
                VALUE "0x525400cd\nflow_context.action=2\n");
    mlx5_accept(e, 0x936, "table_id=2\nflow_context.group_id=3\n" ENTRY "2\n"
                "flow_context.destination[0].destination_id=1\n");
}

uint64_t mlx5_open_queue(Ernic *e, FakeEnv *env)
{
    uint64_t page = mlx5_queue_page(env);

    /* By the register, the function would change its owner: it runs already. */
    e->mlx5->queue.base = page;
    e->mlx5->nic_interface = 0;
    return page;
}

/* ---- saved state ------------------------------------------------------------------- */

Ernic *mlx5_another(const Ernic *e)
{
    return ernic_new(&e->cfg, &fake_env_ops, e->env);
}

/* ---- the end ----------------------------------------------------------------------- */

void mlx5_finish(Mlx5Fixture *f)
{
    fake_ernic_done(&f->env, f->e);
}
