/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of fields, and access to a field of a structure.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/layout/fields.h"

/* The fields of a layout are the members after self. */
#define FIELDS(name) \
    ((const ErnicMlx5Field *)((const char *)&ernic_mlx5_##name + \
                              sizeof(ErnicMlx5Layout)))
#define NUM_FIELDS(name) \
    ((sizeof(ernic_mlx5_##name) - sizeof(ErnicMlx5Layout)) / sizeof(ErnicMlx5Field))

#define LAYOUT_OF(name, source, bits) \
    const struct ernic_mlx5_##name ernic_mlx5_##name = { \
        { #name, source, FIELDS(name), NUM_FIELDS(name), bits },
#define F(name, offset, width) { #name, offset, width, 1, NULL },
#define A(name, offset, width, count) { #name, offset, width, count, NULL },
#define S(name, offset, part) { #name, offset, 0, 1, &ernic_mlx5_##part.self },
#define SA(name, offset, part, count) \
    { #name, offset, 0, count, &ernic_mlx5_##part.self },
#define END(name) };
#include "interfaces/mlx5/layout/fields_all.h.inc"

const ErnicMlx5Layout *const ernic_mlx5_layouts[] = {
#define LAYOUT_OF(name, source, bits) &ernic_mlx5_##name.self,
#define F(name, offset, width)
#define A(name, offset, width, count)
#define S(name, offset, part)
#define SA(name, offset, part, count)
#define END(name)
#include "interfaces/mlx5/layout/fields_all.h.inc"
};
const uint32_t ernic_mlx5_num_layouts = ARRAY_SIZE(ernic_mlx5_layouts);

/* The bits of the byte at @bit, at most @left, and how far to shift them right. */
static unsigned bits_of_byte(uint32_t bit, unsigned left, unsigned *shift)
{
    unsigned n = MIN(left, 8 - bit % 8);

    *shift = 8 - bit % 8 - n;
    return n;
}

uint64_t ernic_mlx5_get_at(const void *base, const ErnicMlx5Field *field, uint32_t i)
{
    const uint8_t *bytes = base;
    uint32_t bit = field->offset + i * field->width;
    unsigned left = field->width, n, shift;
    uint64_t value = 0;

    for (; left; left -= n, bit += n) {
        n = bits_of_byte(bit, left, &shift);
        value = value << n | (bytes[bit / 8] >> shift & ((1u << n) - 1));
    }
    return value;
}

void ernic_mlx5_put_at(void *base, const ErnicMlx5Field *field, uint32_t i,
                       uint64_t value)
{
    uint8_t *bytes = base;
    uint32_t bit = field->offset + i * field->width;
    unsigned left = field->width, n, shift;

    for (; left; left -= n, bit += n) {
        uint8_t mask, *byte = &bytes[bit / 8];

        n = bits_of_byte(bit, left, &shift);
        mask = ((1u << n) - 1) << shift;
        *byte = (*byte & ~mask) | ((value >> (left - n)) << shift & mask);
    }
}

/* ---- what depends on a value elsewhere --------------------------------------- */

static const ErnicMlx5Variant capabilities[] = {
    { 0x00, &ernic_mlx5_cmd_hca_cap.self },
    { 0x01, &ernic_mlx5_per_protocol_networking_offload_caps.self },
    { 0x02, &ernic_mlx5_odp_cap.self },
    { 0x03, &ernic_mlx5_atomic_caps.self },
    { 0x04, &ernic_mlx5_roce_cap.self },
    { 0x07, &ernic_mlx5_flow_table_nic_cap.self },
    { 0x20, &ernic_mlx5_cmd_hca_cap_2.self },
};

static const ErnicMlx5Variant registers[] = {
    { 0x5003, &ernic_mlx5_pmtu_reg.self },
    { 0x5004, &ernic_mlx5_ptys_reg.self },
    { 0x5006, &ernic_mlx5_paos_reg.self },
    { 0x5007, &ernic_mlx5_pfcc_reg.self },
    { 0x5008, &ernic_mlx5_ppcnt_reg.self },
    { 0x6001, &ernic_mlx5_node_desc.self },
    { 0x7004, &ernic_mlx5_host_endianness.self },
};

static const ErnicMlx5Variant counter_groups[] = {
    { 0x00, &ernic_mlx5_eth_802_3_cntrs_grp_data_layout.self },
    { 0x01, &ernic_mlx5_eth_2863_cntrs_grp_data_layout.self },
    { 0x02, &ernic_mlx5_eth_2819_cntrs_grp_data_layout.self },
    { 0x03, &ernic_mlx5_eth_3635_cntrs_grp_data_layout.self },
    { 0x05, &ernic_mlx5_eth_extended_cntrs_grp_data_layout.self },
    { 0x10, &ernic_mlx5_eth_per_prio_grp_data_layout.self },
    { 0x12, &ernic_mlx5_phys_layer_cntrs.self },
    { 0x16, &ernic_mlx5_phys_layer_statistical_cntrs.self },
    { 0x20, &ernic_mlx5_ib_port_cntrs_grp_data_layout.self },
};

/* A page fault has the layout of its sub-type; here that of requests (WQE). */
static const ErnicMlx5Variant events[] = {
    { 0x00, &ernic_mlx5_eqe_comp.self },
    { 0x01, &ernic_mlx5_eqe_qp_srq.self },      /* path migrated */
    { 0x02, &ernic_mlx5_eqe_qp_srq.self },      /* communication established */
    { 0x03, &ernic_mlx5_eqe_qp_srq.self },      /* send queue drained */
    { 0x04, &ernic_mlx5_eqe_cq_err.self },
    { 0x05, &ernic_mlx5_eqe_qp_srq.self },      /* work queue, catastrophic */
    { 0x09, &ernic_mlx5_eqe_port_state.self },
    { 0x0a, &ernic_mlx5_eqe_cmd.self },
    { 0x0b, &ernic_mlx5_eqe_page_req.self },
    { 0x0c, &ernic_mlx5_eqe_page_fault_wqe.self },
    { 0x0d, &ernic_mlx5_eqe_vport_change.self },
    { 0x10, &ernic_mlx5_eqe_qp_srq.self },      /* invalid request */
    { 0x11, &ernic_mlx5_eqe_qp_srq.self },      /* access violation */
    { 0x12, &ernic_mlx5_eqe_qp_srq.self },      /* shared receive queue, catastrophic */
    { 0x13, &ernic_mlx5_eqe_qp_srq.self },      /* last request reached */
    { 0x14, &ernic_mlx5_eqe_qp_srq.self },      /* limit reached */
};

const ErnicMlx5Variants ernic_mlx5_capabilities = {
    "capability group", capabilities, ARRAY_SIZE(capabilities)
};
const ErnicMlx5Variants ernic_mlx5_registers = {
    "register", registers, ARRAY_SIZE(registers)
};
const ErnicMlx5Variants ernic_mlx5_counter_groups = {
    "counter group", counter_groups, ARRAY_SIZE(counter_groups)
};
const ErnicMlx5Variants ernic_mlx5_events = {
    "event type", events, ARRAY_SIZE(events)
};

const ErnicMlx5Layout *ernic_mlx5_variant(const ErnicMlx5Variants *variants,
                                          uint32_t value)
{
    uint32_t i;

    for (i = 0; i < variants->num; i++) {
        if (variants->rows[i].value == value) {
            return variants->rows[i].layout;
        }
    }
    return NULL;
}
