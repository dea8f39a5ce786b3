/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The virtual port of the function: address, filters, and the state of its link.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"

#define CONTEXT(field)          &ernic_mlx5_nic_vport_context.field
#define SELECT(field)           &ernic_mlx5_modify_nic_vport_field_select.field

/* Where the list begins in a context; an entry is an address, or a VLAN of 32 bits. */
#define LIST BYTE(nic_vport_context.current_uc_mac_address)

static const ErnicMlx5Field vlan = { "vlan", 0x14, 12, 1, NULL };

enum { STATE_DOWN, STATE_UP, STATE_FOLLOW };

QEMU_BUILD_BUG_ON(ERNIC_MLX5_VLAN_MAX < ERNIC_MLX5_LIST_MAX);

/* The fields that each bit of field_select changes. */
static const struct {
    const ErnicMlx5Field *select, *fields[5];
} selectable[] = {
    { SELECT(roce_en), { CONTEXT(roce_en) } },
    { SELECT(promisc), { CONTEXT(promisc_uc), CONTEXT(promisc_mc),
                         CONTEXT(promisc_all) } },
    { SELECT(change_event), { CONTEXT(event_on_mtu), CONTEXT(event_on_promisc_change),
                              CONTEXT(event_on_vlan_change),
                              CONTEXT(event_on_mc_address_change),
                              CONTEXT(event_on_uc_address_change) } },
    { SELECT(mtu), { CONTEXT(mtu) } },
    { SELECT(min_inline), { CONTEXT(min_wqe_inline_mode) } },
    { SELECT(node_guid), { CONTEXT(node_guid) } },
    { SELECT(port_guid), { CONTEXT(port_guid) } },
    { SELECT(disable_uc_local_lb), { CONTEXT(disable_uc_local_lb) } },
    { SELECT(disable_mc_local_lb), { CONTEXT(disable_mc_local_lb) } },
};

static uint64_t address_of(const uint8_t mac[6])
{
    uint64_t address = 0;
    int i;

    for (i = 0; i < 6; i++) {
        address = address << 8 | mac[i];
    }
    return address;
}

static void put_address(uint8_t *entry, uint64_t address)
{
    PUT(entry, mac_address_layout.mac_addr_47_32, address >> 32);
    PUT(entry, mac_address_layout.mac_addr_31_0, address);
}

static uint64_t get_address(const uint8_t *entry)
{
    return GET(entry, mac_address_layout.mac_addr_47_32) << 32 |
           GET(entry, mac_address_layout.mac_addr_31_0);
}

static uint8_t *permanent_address(uint8_t *context)
{
    return PART(context, nic_vport_context.permanent_address);
}

const uint8_t *ernic_mlx5_vport_mac(const ErnicMlx5Function *f)
{
    return PART(f->vport.context, nic_vport_context.permanent_address) +
           BYTE(mac_address_layout.mac_addr_47_32);
}

/* EUI-64 of the address, as for a GID without the universal bit flipped. */
static uint64_t guid_of(const uint8_t mac[6])
{
    uint64_t address = address_of(mac);

    return (address >> 24) << 40 | 0xfffeull << 24 | (address & 0xffffff);
}

void ernic_mlx5_vport_reset(ErnicMlx5Function *f)
{
    ErnicMlx5Vport *v = &f->vport;
    uint64_t guid = guid_of(f->config.mac);

    memset(v, 0, sizeof(*v));
    put_address(permanent_address(v->context), address_of(f->config.mac));
    PUT(v->context, nic_vport_context.mtu, f->config.max_mtu);
    PUT(v->context, nic_vport_context.system_image_guid, guid);
    PUT(v->context, nic_vport_context.node_guid, guid);
    PUT(v->context, nic_vport_context.port_guid, guid);
    v->admin_state = STATE_UP;
}

bool ernic_mlx5_vport_ok(const ErnicMlx5Function *f)
{
    const ErnicMlx5Vport *v = &f->vport;

    return v->num[ERNIC_MLX5_LIST_UC] <= ERNIC_MLX5_LIST_MAX &&
           v->num[ERNIC_MLX5_LIST_MC] <= ERNIC_MLX5_LIST_MAX &&
           v->num[ERNIC_MLX5_LIST_VLAN] <= ERNIC_MLX5_VLAN_MAX &&
           GET(v->context, nic_vport_context.mtu) <= f->config.max_mtu &&
           v->admin_state <= STATE_FOLLOW;
}

/* ---- the context ------------------------------------------------------------------- */

/* The length of an entry in a list of @type. */
static uint32_t entry_size(uint32_t type)
{
    return type == ERNIC_MLX5_LIST_VLAN ? 4 : 8;
}

/* A function of a test has no engine. */
static void charge_list(ErnicMlx5Function *f, uint32_t num)
{
    if (f->engine) {
        ernic_charge_objects(f->engine, num);
    }
}

static ErnicMlx5Refusal query_vport_context(ErnicMlx5Function *f,
                                            const ErnicMlx5Request *r)
{
    uint32_t type = GET(r->in, query_nic_vport_context_in.allowed_list_type), i, num;
    uint8_t *context = PART(r->out, query_nic_vport_context_out.nic_vport_context);
    uint32_t room = r->out + r->out_len > context + LIST ?
        (r->out + r->out_len - context - LIST) / entry_size(type) : 0;
    ErnicMlx5Vport *v = &f->vport;

    if (type >= ERNIC_MLX5_LISTS) {
        return ERNIC_MLX5_BAD_LIST;
    }
    memcpy(context, v->context, sizeof(v->context));
    PUT(context, nic_vport_context.allowed_list_type, type);
    /* All entries that the driver has room for. */
    num = MIN(v->num[type], room);
    charge_list(f, num);
    PUT(context, nic_vport_context.allowed_list_size, num);
    for (i = 0; i < num; i++) {
        uint8_t *entry = context + LIST + i * entry_size(type);

        if (type == ERNIC_MLX5_LIST_VLAN) {
            ernic_mlx5_put(entry, &vlan, v->vlans[i]);
        } else {
            put_address(entry, v->addresses[type][i]);
        }
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Check the list of a message, which ends at @end; and store it if @store is set. */
static ErnicMlx5Refusal take_list(ErnicMlx5Vport *v, const uint8_t *context,
                                  const uint8_t *end, bool store)
{
    uint32_t type = GET(context, nic_vport_context.allowed_list_type), i;
    uint32_t num = GET(context, nic_vport_context.allowed_list_size);

    if (type >= ERNIC_MLX5_LISTS ||
        (type != ERNIC_MLX5_LIST_VLAN && num > ERNIC_MLX5_LIST_MAX)) {
        return ERNIC_MLX5_BAD_LIST;
    }
    if (end < context + LIST || (end - context - LIST) / entry_size(type) < num) {
        return ERNIC_MLX5_SHORT_MESSAGE;
    }
    for (i = 0; i < num && store; i++) {
        const uint8_t *entry = context + LIST + i * entry_size(type);

        if (type == ERNIC_MLX5_LIST_VLAN) {
            v->vlans[i] = ernic_mlx5_get(entry, &vlan);
        } else {
            v->addresses[type][i] = get_address(entry);
        }
    }
    if (store) {
        v->num[type] = num;
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Whether @select names only fields that can be changed; lists are checked apart. */
static bool select_valid(const uint8_t *select)
{
    uint8_t known[4] = { };
    uint32_t i;

    ernic_mlx5_put(known, SELECT(addresses_list), 1);
    ernic_mlx5_put(known, SELECT(permanent_address), 1);
    for (i = 0; i < ARRAY_SIZE(selectable); i++) {
        ernic_mlx5_put(known, selectable[i].select, 1);
    }
    for (i = 0; i < sizeof(known); i++) {
        if (select[i] & ~known[i]) {
            return false;
        }
    }
    return true;
}

static ErnicMlx5Refusal check_modify(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                     const uint8_t *select, const uint8_t *context)
{
    if (!select_valid(select)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    if (ernic_mlx5_get(select, SELECT(mtu)) &&
        GET(context, nic_vport_context.mtu) > f->config.max_mtu) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (ernic_mlx5_get(select, SELECT(addresses_list))) {
        return take_list(&f->vport, context, r->in + r->in_len, false);
    }
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_vport_context(ErnicMlx5Function *f,
                                             const ErnicMlx5Request *r)
{
    const uint8_t *select = PART(r->in, modify_nic_vport_context_in.field_select);
    const uint8_t *context = PART(r->in, modify_nic_vport_context_in.nic_vport_context);
    ErnicMlx5Refusal refusal = check_modify(f, r, select, context);
    ErnicMlx5Vport *v = &f->vport;
    uint32_t i, k;

    if (refusal) {
        return refusal;
    }
    for (i = 0; i < ARRAY_SIZE(selectable); i++) {
        for (k = 0; k < ARRAY_SIZE(selectable[i].fields); k++) {
            const ErnicMlx5Field *field = selectable[i].fields[k];

            if (field && ernic_mlx5_get(select, selectable[i].select)) {
                ernic_mlx5_put(v->context, field, ernic_mlx5_get(context, field));
            }
        }
    }
    /* The bit that arms is separate from the events that it arms. */
    if (ernic_mlx5_get(select, SELECT(change_event))) {
        PUT(v->context, nic_vport_context.arm_change_event,
            GET(context, nic_vport_context.arm_change_event));
    }
    if (ernic_mlx5_get(select, SELECT(permanent_address))) {
        put_address(permanent_address(v->context),
                    get_address(permanent_address((uint8_t *)context)));
    }
    if (ernic_mlx5_get(select, SELECT(addresses_list))) {
        charge_list(f, GET(context, nic_vport_context.allowed_list_size));
        take_list(v, context, r->in + r->in_len, true);
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- the state of the link --------------------------------------------------------- */

/* op_mod 0: this function's port. The others belong to a switch. */
static ErnicMlx5Refusal query_vport(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    ErnicMlx5Vport *v = &f->vport;

    PUT(r->out, query_vport_state_out.admin_state, v->admin_state);
    PUT(r->out, query_vport_state_out.state,
        ernic_mlx5_link(f) && v->admin_state != STATE_DOWN ? STATE_UP : STATE_DOWN);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_vport(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t state = GET(r->in, modify_vport_state_in.admin_state);

    if (state > STATE_FOLLOW) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    f->vport.admin_state = state;
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(vport, .needs_engine = false,
    { 0x750, "QUERY_VPORT_STATE", RUNNING | OWN | NO_MODIFIER, query_vport },
    { 0x751, "MODIFY_VPORT_STATE", RUNNING | OWN | NO_MODIFIER, modify_vport },
    { 0x754, "QUERY_NIC_VPORT_CONTEXT", RUNNING | OWN, query_vport_context },
    { 0x755, "MODIFY_NIC_VPORT_CONTEXT", RUNNING | OWN, modify_vport_context },
);
