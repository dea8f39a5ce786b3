/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of addresses: the GID table, the P_Key table and multicast groups.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "interfaces/mlx5/command/handler.h"
#include "objects/gid.h"
#include "objects/mcast.h"
#include "objects/qp.h"
#include "trace.h"

/* Entries of the P_Key table: the least number that pkey_table_size can name. */
#define PKEYS           128
#define ALL_PKEYS       0xffffu

QEMU_BUILD_BUG_ON(ERNIC_LIM_PKEY > PKEYS);

/* MLX5_ROCE_VERSION_2; MLX5_ROCE_L3_TYPE_*. */
enum { ROCE_V2 = 2 };
enum { L3_IPV4, L3_IPV6 };

/* A valid source address of RoCEv2, with the type that it says. */
static bool address_ok(const uint8_t *address, const ErnicGidEntry *entry)
{
    bool v4 = ernic_gid_is_v4(&entry->gid);

    return GET(address, roce_addr_layout.roce_version) == ROCE_V2 &&
           GET(address, roce_addr_layout.roce_l3_type) == (v4 ? L3_IPV4 : L3_IPV6) &&
           !ernic_gid_is_mcast(&entry->gid) &&
           !(v4 && !ldl_be_p(entry->gid.raw + 12)) && !(entry->mac[0] & 1) &&
           (entry->vlan == ERNIC_NO_VLAN || entry->vlan < 0xfff);
}

static ErnicMlx5Refusal set_roce_address(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *address = PART(r->in, set_roce_address_in.roce_address);
    const uint8_t *gid = PART(address, roce_addr_layout.source_l3_address);
    uint32_t index = GET(r->in, set_roce_address_in.roce_address_index);
    ErnicGidEntry entry = { };

    if (index >= ERNIC_LIM_GID || GET(r->in, set_roce_address_in.vhca_port_num) > 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    /* An address of 0 removes the entry, whatever its version. */
    if (!ernic_all_zero(gid, sizeof(entry.gid.raw))) {
        memcpy(entry.gid.raw, gid, sizeof(entry.gid.raw));
        memcpy(entry.mac, PART(address, roce_addr_layout.source_mac_47_32),
               sizeof(entry.mac));
        entry.vlan = GET(address, roce_addr_layout.vlan_valid) ?
                     GET(address, roce_addr_layout.vlan_id) : ERNIC_NO_VLAN;
        if (!address_ok(address, &entry)) {
            return ERNIC_MLX5_BAD_VALUE;
        }
    }
    ernic_gid_set(f->engine, index, &entry);
    trace_ernic_set_gid(index, ldq_be_p(gid), ldq_be_p(gid + 8));
    return ERNIC_MLX5_ACCEPTED;
}

/* One entry, or as many as the answer has room for. Those of the engine come first. */
static ErnicMlx5Refusal query_pkey(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t at = BYTE(query_hca_vport_pkey_out.pkey);
    uint32_t size = ernic_mlx5_pkey.self.bits / 8;
    uint32_t first = GET(r->in, query_hca_vport_pkey_in.pkey_index), num = 1, i;

    if (GET(r->in, query_hca_vport_pkey_in.port_num) > 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (first == ALL_PKEYS) {
        first = 0;
        num = PKEYS;
    }
    if (first >= PKEYS) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    for (i = 0; i < num && at + (i + 1) * size <= r->out_len; i++) {
        uint16_t pkey = first + i < ERNIC_LIM_PKEY ? f->engine->pkey[first + i] : 0;

        ernic_mlx5_put(r->out + at + i * size, &ernic_mlx5_pkey.pkey, pkey);
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Both messages have the same layout. */
static ErnicMlx5Refusal multicast(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { ATTACH = 0x806 };
    uint32_t qpn = GET(r->in, attach_to_mcg_in.qpn);
    bool attach = GET(r->in, attach_to_mcg_in.opcode) == ATTACH;
    ErnicGid gid;

    if (!ernic_qp_get(f->engine, 0, qpn)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(gid.raw, PART(r->in, attach_to_mcg_in.multicast_gid), sizeof(gid.raw));
    return ernic_mlx5_refusal(attach ? ernic_mcast_attach(f->engine, &gid, qpn) :
                                       ernic_mcast_detach(f->engine, &gid, qpn));
}

COMMANDS(gid, .needs_engine = true,
    { 0x761, "SET_ROCE_ADDRESS", RUNNING, set_roce_address },
    { 0x765, "QUERY_HCA_VPORT_PKEY", RUNNING | OWN, query_pkey },
    { 0x806, "ATTACH_TO_MCG", RUNNING, multicast },
    { 0x807, "DETACH_FROM_MCG", RUNNING, multicast },
);
