/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of the mlx5 interface as text, to a function that runs on an engine.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "engine.h"
#include "faces/mlx5/commands.h"
#include "mlx5_decode.h"
#include "mlx5_objects.h"

/* Room for lists after a message. */
#define LIST    512

static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };

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
    g_assert_cmphex(ernic_mlx5_get(a->out, &ernic_mlx5_plain_out.status), ==,
                    ernic_mlx5_statuses[a->refusal].status);
}

static void call(Ernic *e, uint16_t opcode, const char *text, Mlx5Answer *a)
{
    const ErnicMlx5Command *command = ernic_mlx5_command_find(opcode);
    uint8_t in[ERNIC_MLX5_MESSAGE_ROOM] = { };
    uint32_t len = command->in->bits / 8 + LIST;

    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, opcode);
    g_assert_true(mlx5_encode(command->in, text, in, in, len));
    mlx5_send_bytes(e, in, len, a);
}

uint32_t mlx5_accept(Ernic *e, uint16_t opcode, const char *text)
{
    Mlx5Answer a;

    call(e, opcode, text, &a);
    g_assert_cmpstr(ernic_mlx5_statuses[a.refusal].reason, ==, "accepted");
    return ldl_be_p(a.out + 8) & 0xffffff;
}

void mlx5_refuse(Ernic *e, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    Mlx5Answer a;

    call(e, opcode, text, &a);
    g_assert_cmpstr(ernic_mlx5_statuses[a.refusal].reason, ==,
                    ernic_mlx5_statuses[why].reason);
}

void mlx5_expect(Ernic *e, uint16_t opcode, const char *text, const char *lines)
{
    const ErnicMlx5Command *command = ernic_mlx5_command_find(opcode);
    g_autoptr(GString) all = g_string_new("\n");
    g_auto(GStrv) want = g_strsplit(lines, "\n", 0);
    uint8_t known[ERNIC_MLX5_MESSAGE_ROOM];
    uint32_t i;
    Mlx5Answer a;

    call(e, opcode, text, &a);
    g_assert_cmpint(a.refusal, ==, ERNIC_MLX5_ACCEPTED);
    mlx5_decode(command->out, a.out, command->out->bits / 8, a.out, all, known);
    for (i = 0; want[i] && want[i][0]; i++) {
        g_autofree char *line = g_strdup_printf("\n%s\n", want[i]);

        if (!strstr(all->str, line)) {
            g_test_message("no %s in %s", want[i], all->str);
        }
        g_assert_nonnull(strstr(all->str, line));
    }
}

void mlx5_boot(Mlx5Fixture *f)
{
    ErnicConfig cfg;

    fake_env_init(&f->env);
    fake_config(&cfg);
    cfg.mlx5 = &config;
    f->e = ernic_new(&cfg, &fake_env_ops, &f->env);
    fake_create_eq(f->e, &f->eq, 16, 0, true);
    mlx5_accept(f->e, 0x104, "");
    mlx5_accept(f->e, 0x102, "");
    mlx5_accept(f->e, 0x802, "");            /* page 16 */
}

void mlx5_start(Mlx5Fixture *f)
{
    mlx5_boot(f);
    g_assert_cmpuint(mlx5_accept(f->e, 0x800, ""), ==, 1);
    g_assert_cmpuint(mlx5_accept(f->e, 0x80e, ""), ==, 2);
    g_assert_cmpuint(mlx5_accept(f->e, 0x816, ""), ==, 1);
    g_assert_cmpuint(mlx5_accept(f->e, 0x200, MTT), ==, MKEY_MTT);
    g_assert_cmpuint(mlx5_accept(f->e, 0x200, PA), ==, MKEY_PA);
    g_assert_cmpuint(mlx5_accept(f->e, 0x200, FREE), ==, MKEY_FREE);
    g_assert_cmpuint(mlx5_accept(f->e, 0x400, CQ), ==, 1);
    g_assert_cmpuint(mlx5_accept(f->e, 0x90c, RMP), ==, 1);
    g_assert_cmpuint(mlx5_accept(f->e, 0x705, XRC_SRQ), ==, 2);
    g_assert_cmpuint(mlx5_accept(f->e, 0x771, ""), ==, 1);
    mlx5_accept(f->e, 0x761, GID);
    g_assert_cmpuint(mlx5_accept(f->e, 0x500, QP), ==, QP_RC);
    g_assert_cmpuint(mlx5_accept(f->e, 0x500, QP "qpc.st=2\n"), ==, QP_UD);
}

void mlx5_assert_valid(Mlx5Fixture *f)
{
    g_autoptr(GString) why = g_string_new(NULL);
    bool ok = ernic_check(f->e, why);

    g_assert_cmpstr(why->str, ==, "");
    g_assert_true(ok);
}

void mlx5_finish(Mlx5Fixture *f)
{
    mlx5_assert_valid(f);
    ernic_free(f->e);
    fake_env_fini(&f->env);
}
