/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ACCESS_REG: speed (PTYS), largest packet (PMTU) and counters (PPCNT) of the port.
 */
#include "qemu/osdep.h"
#include "faces/mlx5/function.h"
#include "faces/mlx5/port_counters.h"
#include "trace.h"

#define GET(bytes, field)       ernic_mlx5_get(bytes, &ernic_mlx5_##field)
#define PUT(bytes, field, v)    ernic_mlx5_put(bytes, &ernic_mlx5_##field, v)

/* PTYS: Ethernet, and the only speed, 100 Gbit/s (100GBASE-CR4). */
#define PROTO_ETHERNET  (1u << 2)
#define SPEED           (1u << 20)

#define MTU_MIN         64

void ernic_mlx5_port_registers_reset(ErnicMlx5Function *f)
{
    f->eth_proto_admin = SPEED;
    f->mtu = f->config.max_mtu;
}

static ErnicMlx5Refusal access_ptys(ErnicMlx5Function *f, const uint8_t *in,
                                    bool write, uint8_t *out)
{
    uint32_t admin = GET(in, ptys_reg.eth_proto_admin);

    if (GET(in, ptys_reg.local_port) != 1 ||
        GET(in, ptys_reg.proto_mask) != PROTO_ETHERNET) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (write) {
        if (admin & ~SPEED) {
            return ERNIC_MLX5_BAD_VALUE;
        }
        f->eth_proto_admin = admin;
    }
    PUT(out, ptys_reg.local_port, 1);
    PUT(out, ptys_reg.proto_mask, PROTO_ETHERNET);
    PUT(out, ptys_reg.eth_proto_capability, SPEED);
    PUT(out, ptys_reg.eth_proto_admin, f->eth_proto_admin);
    PUT(out, ptys_reg.eth_proto_oper, ernic_mlx5_link(f) ? f->eth_proto_admin : 0);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal access_pmtu(ErnicMlx5Function *f, const uint8_t *in,
                                    bool write, uint8_t *out)
{
    uint32_t admin = GET(in, pmtu_reg.admin_mtu);

    if (GET(in, pmtu_reg.local_port) != 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (write) {
        if (admin < MTU_MIN || admin > f->config.max_mtu) {
            return ERNIC_MLX5_BAD_VALUE;
        }
        f->mtu = admin;
    }
    PUT(out, pmtu_reg.local_port, 1);
    PUT(out, pmtu_reg.max_mtu, f->config.max_mtu);
    PUT(out, pmtu_reg.admin_mtu, f->mtu);
    PUT(out, pmtu_reg.oper_mtu, f->mtu);
    return ERNIC_MLX5_ACCEPTED;
}

static const struct {
    uint16_t id;
    const ErnicMlx5Layout *layout;
    ErnicMlx5Refusal (*access)(ErnicMlx5Function *f, const uint8_t *in, bool write,
                               uint8_t *out);
} registers[] = {
    { 0x5003, &ernic_mlx5_pmtu_reg.self, access_pmtu },
    { 0x5004, &ernic_mlx5_ptys_reg.self, access_ptys },
    { 0x5008, &ernic_mlx5_ppcnt_reg.self, ernic_mlx5_access_ppcnt },
};

ErnicMlx5Refusal ernic_mlx5_access_register(ErnicMlx5Function *f,
                                            const ErnicMlx5Request *r, uint8_t *out)
{
    enum { WRITE, READ };
    const uint32_t data = ernic_mlx5_access_register_in.register_data.offset / 8;
    uint32_t id = GET(r->in, access_register_in.register_id), i;

    if (r->op_mod > READ) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        if (registers[i].id == id) {
            return r->in_len < data + registers[i].layout->bits / 8 ?
                   ERNIC_MLX5_SHORT_MESSAGE :
                   registers[i].access(f, r->in + data, r->op_mod == WRITE, out + data);
        }
    }
    trace_ernic_mlx5_no_register(id);
    return ERNIC_MLX5_NO_REGISTER;
}

/* ---- the commands of the port and of the virtual port ------------------------------ */

enum { ENABLED = ERNIC_MLX5_IN_ENABLED, RUNNING = ERNIC_MLX5_IN_RUNNING };

static const ErnicMlx5CommandRow rows[] = {
    { 0x750, RUNNING, ernic_mlx5_query_vport },
    { 0x751, RUNNING, ernic_mlx5_modify_vport },
    { 0x754, RUNNING, ernic_mlx5_query_vport_context },
    { 0x755, RUNNING, ernic_mlx5_modify_vport_context },
    { 0x805, ENABLED | RUNNING, ernic_mlx5_access_register },
};

const ErnicMlx5CommandTable ernic_mlx5_port_commands = { rows, ARRAY_SIZE(rows) };
