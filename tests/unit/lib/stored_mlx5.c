/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A state of the mlx5 interface: all objects, queues with requests in progress, commands
 * without an event, and one in the middle of its message.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/wqe.h"
#include "interfaces/mlx5/eth/send.h"
#include "mlx5_objects.h"
#include "mlx5_send.h"
#include "mlx5_software.h"
#include "stored_states.h"

const ErnicMlx5Config stored_mlx5_config = { .max_mtu = 9022, .link_up = true };

/*
 * A first request of queue @number, whose ring begins at offset @at of the page of all
 * rings. All of them share the doorbell record.
 */
static void post(Mlx5Fixture *f, uint32_t number, uint32_t at, uint8_t *bytes,
                 uint32_t len)
{
    ernic_mlx5_put(bytes, &ernic_mlx5_wqe_ctrl_seg.ds, len / 16);
    ernic_mlx5_put(bytes, &ernic_mlx5_wqe_ctrl_seg.qpn, number);
    memcpy(fake_ptr(&f->env, FAKE_MEM_BASE + 0x10000 + at, len), bytes, len);
    stl_be_p(fake_ptr(&f->env, FAKE_MEM_BASE + 0x2004, 4),
             DIV_ROUND_UP(len, ERNIC_MLX5_BLOCK));
    ernic_bar_write(f->e, f->env.now, 16 * ERNIC_MLX5_PAGE + 0x800, 8,
                    (uint64_t)number << 8);
}

/* A large packet, a WRITE away, a READ of own memory; the link takes a first train. */
static void requests(Mlx5Fixture *f)
{
    enum { SELF = 4, SQ_AT = 512, KEY = MKEY_PA << 8 | 0x11 };
    const uint64_t data = FAKE_MEM_BASE + 0x20000;
    const FramesHead head = { .version = 4, .proto = 6 };
    uint8_t bytes[64];
    Mlx5Wr large;
    Mlx5Wr wr;

    g_assert_cmpuint(mlx5_accept(f->e, 0x500, QP), ==, SELF);
    mlx5_connect_qp(f->e, QP_RC, 0x77, 2);
    mlx5_connect_qp(f->e, SELF, SELF, 1);
    mlx5_accept(f->e, 0x905, "sqn=0x8001\nctx.state=1");
    ernic_set_link(f->e, f->env.now, true);
    frames_make(&head, bytes);
    mlx5_wr(&large, ERNIC_MLX5_OP_LSO, ERNIC_MLX5_CE_ALWAYS, 0);
    send_eth(&large, ERNIC_MLX5_SUM_L3 | ERNIC_MLX5_SUM_L4, 100, bytes, 54);
    mlx5_data(&large, data, 20000, KEY);
    post(f, 0x8001, 0, large.bytes, large.len);
    ernic_slice(f->e);
    g_assert_true(ernic_mlx5_eth_turn(f->e));
    f->env.tx_busy = true;
    mlx5_wr(&wr, ERNIC_MLX5_OP_WRITE, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_raddr(&wr, data, KEY);
    mlx5_data(&wr, data, 60000, KEY);
    post(f, QP_RC, SQ_AT, wr.bytes, wr.len);
    fake_run(f->e);
    mlx5_wr(&wr, ERNIC_MLX5_OP_READ, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_raddr(&wr, 0x7f0010, MKEY_MTT << 8 | 0x5a);
    mlx5_data(&wr, data, 4000, KEY);
    post(f, SELF, SQ_AT, wr.bytes, wr.len);
    fake_run(f->e);
}

/* Completed commands that have no room in their event queue, and one in progress. */
static void commands(Mlx5Fixture *f)
{
    static const uint8_t in[3000] = { 0x01, 0x00, [7] = 1 };    /* QUERY_HCA_CAP */
    uint64_t page = mlx5_open_queue(f->e, &f->env);
    g_autofree char *text = g_strdup_printf(
        "eq_context_entry.log_eq_size=1\neq_context_entry.uar_page=16\n"
        "event_bitmask[0]=0x400\npas[0]=%#" PRIx64, fake_alloc(&f->env, 4096, 4096));

    mlx5_accept(f->e, 0x301, text);
    for (uint32_t i = 0; i < 5; i++) {
        mlx5_post(&f->env, page, i, in, 16, 16);
        ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1u << i);
        fake_run(f->e);
    }
    mlx5_post(&f->env, page, 7, in, sizeof(in), 4112);
    ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1u << 7);
    ernic_slice(f->e);
    mlx5_queue_steps(&f->e->mlx5->queue, 3);
}

uint64_t stored_mlx5(GByteArray *out)
{
    Mlx5Fixture f;
    uint64_t now;

    mlx5_start(&f);
    mlx5_ethernet(&f);
    requests(&f);
    commands(&f);
    ernic_save(f.e, out);
    now = f.env.now;
    mlx5_finish(&f);
    return now;
}
