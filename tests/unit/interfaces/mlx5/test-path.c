/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The priority and the UDP source port that software chooses for an address path: in
 * packets, and in the answer to QUERY_QP.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "mlx5_queues.h"

#define SPORT   0xd123

/* A queue pair of @type whose first GID has the VLAN @vlan. */
static void open_end(Mlx5End *end, Mlx5Queue *q, uint8_t type, uint16_t vlan)
{
    mlx5_end_init(end, 1);
    end->e->gid[0].vlan = vlan;
    mlx5_create_qp(end, q, type, NULL);
    mlx5_connect(end, q, 0x77, 2);
}

/* The next train has these values. */
static void assert_path(Mlx5End *end, uint16_t vlan, uint16_t sport)
{
    FakeTrain *train = fake_take_train(&end->env);

    g_assert_nonnull(train);
    IS(train->train.path.vlan, vlan);
    if (sport) {
        IS(train->train.path.udp_sport, sport);
    } else {
        g_assert_cmphex(train->train.path.udp_sport, >=, 0xc000);
    }
    fake_train_free(train);
}

typedef struct Path {
    const char *name;
    uint16_t vlan, sport, config;       /* config: a port for all packets */
    uint8_t priority;
    uint16_t want_vlan, want_sport;     /* 0: any of the engine's choice */
} Path;

static const Path paths[] = {
    { "nothing", ERNIC_NO_VLAN, 0, 0, 0, ERNIC_NO_VLAN, 0 },
    { "no-vlan", ERNIC_NO_VLAN, SPORT, 0, 5, ERNIC_NO_VLAN, SPORT },
    { "vlan", 7, 0, 0, 0, 7, 0 },
    { "priority", 7, SPORT, 0, 5, 5 << 13 | 7, SPORT },
    { "highest", 4094, 1, 0, 7, 7 << 13 | 4094, 1 },
    { "link", 7, SPORT, 0xeeee, 1, 1 << 13 | 7, 0xeeee },
};

ROW_TEST("/mlx5-path/connection", paths, row, test_connection)
{
    Mlx5End end;
    Mlx5Queue q;
    Mlx5Wr wr;
    ErnicAv *av;

    open_end(&end, &q, ERNIC_QPT_UC, row->vlan);
    end.e->udp_sport = row->config;
    av = &end.e->qp[q.qpn].attr.av;
    av->priority = row->priority;
    av->udp_sport = row->sport;
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, 0, 0);
    mlx5_inline(&wr, "x", 1);
    mlx5_post_wr(&end, &q, &wr);
    assert_path(&end, row->want_vlan, row->want_sport);
    mlx5_end_done(&end);
}

ROW_TEST("/mlx5-path/datagram", paths, row, test_datagram)
{
    Mlx5End end;
    Mlx5Queue q;
    Mlx5Wr wr;

    open_end(&end, &q, ERNIC_QPT_UD, row->vlan);
    end.e->udp_sport = row->config;
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, 0, 0);
    mlx5_av(&wr, 2, 0x77);
    ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_av.sl, row->priority << 1);
    ernic_mlx5_put(wr.bytes + 16, &ernic_mlx5_wqe_av.udp_sport, row->sport);
    mlx5_inline(&wr, "x", 1);
    mlx5_post_wr(&end, &q, &wr);
    assert_path(&end, row->want_vlan, row->want_sport);
    mlx5_end_done(&end);
}
