/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Asynchronous events of the engine as entries of the mlx5 event queue: each that
 * Linux's mlx5_core and mlx5_ib know of queue pairs, SRQs, completion queues and the
 * port, except for those of path migration, which the device does not have.
 */
#include "qemu/osdep.h"
#include "mlx5_decode.h"
#include "mlx5_objects.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "transport/qp.h"

#define EQE     64

/* MLX5_EVENT_TYPE_*, from include/linux/mlx5/device.h. */
static const struct {
    uint8_t event, cls;
    uint32_t id;
    uint8_t type, sub_type;
} cases[] = {
    { ERNIC_EV_COMM_EST, ERNIC_EVC_QP, QP_RC, 0x02 },
    { ERNIC_EV_SQ_DRAINED, ERNIC_EVC_QP, QP_RC, 0x03 },
    { ERNIC_EV_QP_FATAL, ERNIC_EVC_QP, QP_RC, 0x05 },
    { ERNIC_EV_QP_REQ_ERR, ERNIC_EVC_QP, QP_UD, 0x10 },
    { ERNIC_EV_QP_ACCESS_ERR, ERNIC_EVC_QP, QP_RC, 0x11 },
    { ERNIC_EV_LAST_WQE, ERNIC_EVC_QP, QP_RC, 0x13 },
    { ERNIC_EV_SRQ_ERR, ERNIC_EVC_SRQ, 1, 0x12 },
    { ERNIC_EV_SRQ_LIMIT, ERNIC_EVC_SRQ, 2, 0x14 },
    { ERNIC_EV_CQ_ERR, ERNIC_EVC_CQ, 1, 0x04 },
};

static const uint8_t *entry_of(Mlx5Fixture *f, uint32_t n)
{
    return fake_ptr(&f->env, f->eq.buf + n * EQE, EQE);
}

static ErnicEvents *events_of(Ernic *e, uint8_t cls, uint32_t id)
{
    return cls == ERNIC_EVC_QP ? &e->qp[id].events :
           cls == ERNIC_EVC_SRQ ? &e->srq[id].events : &e->cq[id].events;
}

MLX5_TEST("/mlx5-events/objects", mlx5_start, test_objects)
{
    const uint32_t data = ernic_mlx5_eqe.event_data.offset / 8;
    const uint8_t *entry;
    uint32_t n = f->e->eq[f->eq.eqn].pi;

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ernic_event_raise(f->e, f->e->async_eq, cases[i].cls, cases[i].id,
                          events_of(f->e, cases[i].cls, cases[i].id), cases[i].event, 0);
        fake_run(f->e);
        IS(f->e->eq[f->eq.eqn].pi, n + i + 1);
        entry = entry_of(f, n + i);
        IS(ernic_mlx5_get(entry, &ernic_mlx5_eqe.event_type), cases[i].type);
        g_assert_cmpuint(cases[i].cls == ERNIC_EVC_CQ ?
                         ernic_mlx5_get(entry + data, &ernic_mlx5_eqe_cq_err.cqn) :
                         ernic_mlx5_get(entry + data, &ernic_mlx5_eqe_qp_srq.qp_srq_n),
                         ==, cases[i].id);
        IS(ernic_mlx5_get(entry, &ernic_mlx5_eqe.owner), 0);
    }
}

/* The cable is unplugged, and plugged in. */
MLX5_TEST("/mlx5-events/port", mlx5_start, test_port)
{
    static const uint8_t sub_types[] = { 1, 4 };        /* down, active */
    const uint32_t data = ernic_mlx5_eqe.event_data.offset / 8;
    uint32_t n;

    ernic_set_link(f->e, f->env.now, true);
    fake_run(f->e);
    n = f->e->eq[f->eq.eqn].pi;
    for (uint32_t i = 0; i < ARRAY_SIZE(sub_types); i++) {
        ernic_set_link(f->e, f->env.now, i);
        fake_run(f->e);
        IS(f->e->eq[f->eq.eqn].pi, n + i + 1);
        FIELDS_ARE(eqe, entry_of(f, n + i), "event_type=0x09 event_sub_type=%u",
                   sub_types[i]);
        FIELDS_ARE(eqe_port_state, entry_of(f, n + i) + data, "port=%u", 1 << 4);
    }
}
