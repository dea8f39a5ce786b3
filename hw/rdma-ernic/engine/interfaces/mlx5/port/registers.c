/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ACCESS_REG: speed (PTYS), largest packet (PMTU), status (PAOS), flow control (PFCC) and
 * counters (PPCNT) of the port, and the description of the node.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/port/counters.h"
#include "trace.h"

/* PTYS: Ethernet, and its modes in the order of their speeds. */
#define PROTO_ETHERNET  (1u << 2)
static const struct {
    uint32_t mbps, mode;
} modes[] = {
    { 1000, 1u << 1 },          /* 1000BASE-KX */
    { 10000, 1u << 12 },        /* 10GBASE-CR */
    { 20000, 1u << 5 },         /* 20GBASE-KR2 */
    { 25000, 1u << 27 },        /* 25GBASE-CR */
    { 40000, 1u << 6 },         /* 40GBASE-CR4 */
    { 50000, 1u << 30 },        /* 50GBASE-CR2 */
    { 100000, 1u << 20 },       /* 100GBASE-CR4 */
};

/* The only mode of the port: the fastest that is not above its speed, or the slowest. */
static uint32_t mode_of(const ErnicMlx5Function *f)
{
    uint32_t mbps = f->config.link_speed ?: 100000, i = ARRAY_SIZE(modes) - 1;

    while (i && modes[i].mbps > mbps) {
        i--;
    }
    return modes[i].mode;
}

static bool known_modes(uint32_t admin)
{
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(modes); i++) {
        admin &= ~modes[i].mode;
    }
    return !admin;
}

/* The text that software reads before it has written one. */
#define NODE_DESC       "rdma-ernic"
QEMU_BUILD_BUG_ON(sizeof(NODE_DESC) > ERNIC_MLX5_NODE_DESC);

#define MTU_MIN         64

/* PAOS: states of the port. */
enum { PORT_UP = 1, PORT_DOWN = 2 };

void ernic_mlx5_port_registers_reset(ErnicMlx5Function *f)
{
    f->eth_proto_admin = mode_of(f);
    f->mtu = f->config.max_mtu;
    f->port_admin = PORT_UP;
    memset(f->node_desc, 0, sizeof(f->node_desc));
    memcpy(f->node_desc, NODE_DESC, strlen(NODE_DESC));
}

bool ernic_mlx5_port_registers_ok(const ErnicMlx5Function *f)
{
    /* The device that loads may have another speed. */
    return known_modes(f->eth_proto_admin) && f->mtu >= MIN(MTU_MIN, f->config.max_mtu) &&
           f->mtu <= f->config.max_mtu &&
           (f->port_admin == PORT_UP || f->port_admin == PORT_DOWN);
}

static ErnicMlx5Refusal access_ptys(ErnicMlx5Function *f, const uint8_t *in,
                                    bool write, uint8_t *out)
{
    uint32_t admin = GET(in, ptys_reg.eth_proto_admin), mode = mode_of(f);

    if (GET(in, ptys_reg.local_port) != 1 ||
        GET(in, ptys_reg.proto_mask) != PROTO_ETHERNET) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (write) {
        if (admin & ~mode) {
            return ERNIC_MLX5_BAD_VALUE;
        }
        f->eth_proto_admin = admin;
    }
    PUT(out, ptys_reg.local_port, 1);
    PUT(out, ptys_reg.proto_mask, PROTO_ETHERNET);
    mode = f->eth_proto_admin ? mode : 0;
    PUT(out, ptys_reg.eth_proto_capability, mode_of(f));
    PUT(out, ptys_reg.eth_proto_admin, mode);
    PUT(out, ptys_reg.eth_proto_oper, ernic_mlx5_link(f) ? mode : 0);
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

static ErnicMlx5Refusal access_node_desc(ErnicMlx5Function *f, const uint8_t *in,
                                         bool write, uint8_t *out)
{
    if (write) {
        memcpy(f->node_desc, in, sizeof(f->node_desc));
    }
    memcpy(out, f->node_desc, sizeof(f->node_desc));
    return ERNIC_MLX5_ACCEPTED;
}

/*
 * Other functions may use the port, so that the state that one of them asks for is only
 * kept, and does not change the link.
 */
static ErnicMlx5Refusal access_paos(ErnicMlx5Function *f, const uint8_t *in,
                                    bool write, uint8_t *out)
{
    uint32_t admin = GET(in, paos_reg.admin_status);

    if (GET(in, paos_reg.local_port) != 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (write && GET(in, paos_reg.ase)) {
        if (admin != PORT_UP && admin != PORT_DOWN) {
            return ERNIC_MLX5_BAD_VALUE;
        }
        f->port_admin = admin;
    }
    PUT(out, paos_reg.local_port, 1);
    PUT(out, paos_reg.admin_status, f->port_admin);
    PUT(out, paos_reg.oper_status, ernic_mlx5_link(f) ? PORT_UP : PORT_DOWN);
    return ERNIC_MLX5_ACCEPTED;
}

/* There are no pause frames: all fields are 0. */
static ErnicMlx5Refusal access_pfcc(ErnicMlx5Function *f, const uint8_t *in,
                                    bool write, uint8_t *out)
{
    if (GET(in, pfcc_reg.local_port) != 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (write && (GET(in, pfcc_reg.pptx) || GET(in, pfcc_reg.aptx) ||
                  GET(in, pfcc_reg.pprx) || GET(in, pfcc_reg.aprx) ||
                  GET(in, pfcc_reg.pfctx) || GET(in, pfcc_reg.pfcrx))) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    PUT(out, pfcc_reg.local_port, 1);
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
    { 0x5006, &ernic_mlx5_paos_reg.self, access_paos },
    { 0x5007, &ernic_mlx5_pfcc_reg.self, access_pfcc },
    { 0x5008, &ernic_mlx5_ppcnt_reg.self, ernic_mlx5_access_ppcnt },
    { 0x6001, &ernic_mlx5_node_desc.self, access_node_desc },
};

static ErnicMlx5Refusal access_register(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { WRITE, READ };
    const uint32_t data = BYTE(access_register_in.register_data);
    uint32_t id = GET(r->in, access_register_in.register_id), i;

    if (r->op_mod > READ) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        if (registers[i].id == id) {
            return r->in_len < data + registers[i].layout->bits / 8 ?
                   ERNIC_MLX5_SHORT_MESSAGE :
                   registers[i].access(f, r->in + data, r->op_mod == WRITE,
                                       r->out + data);
        }
    }
    trace_ernic_mlx5_no_register(id);
    return ERNIC_MLX5_NO_REGISTER;
}

COMMANDS(register, .needs_engine = false,
    { 0x805, "ACCESS_REG", ENABLED | RUNNING, access_register },
);
