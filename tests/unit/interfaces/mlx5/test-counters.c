/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the port and of the virtual network interface, as ethtool reads them.
 */
#include "qemu/osdep.h"
#include "mlx5_eth_fixture.h"

#define GROUP(layout, field)    &ernic_mlx5_##layout.field
#define IEEE(field)     0x00, 0, GROUP(eth_802_3_cntrs_grp_data_layout, field)
#define IN_OUT(field)   0x01, 0, GROUP(eth_2863_cntrs_grp_data_layout, field)
#define SIZES(field)    0x02, 0, GROUP(eth_2819_cntrs_grp_data_layout, field)
#define PRIO(n, field)  0x10, n, GROUP(eth_per_prio_grp_data_layout, field)

/* Read @group into the answer's register; returns the syndrome. */
static ErnicMlx5Refusal read_group(Eth *eth, uint32_t group, uint32_t prio, uint8_t **set)
{
    const uint32_t at = ernic_mlx5_access_register_out.register_data.offset / 8;
    const uint32_t len = ernic_mlx5_ppcnt_reg.self.bits / 8;
    g_autofree char *text = g_strdup_printf("op_mod=1\nregister_id=0x5008\n"
        "register_data.local_port=1\nregister_data.grp=%u\nregister_data.prio_tc=%u",
        group, prio);
    ErnicMlx5Refusal refusal = eth_call_sized(eth, 0x805, text, len, at + len);

    *set = eth->out + at + ernic_mlx5_ppcnt_reg.counter_set.offset / 8;
    return refusal;
}

/* Numbers above 32 bits: the header has two halves of each. */
ETH_TEST("/mlx5/counters/port", test_port)
{
    static const struct {
        uint32_t group, prio;
        const ErnicMlx5Field *field;
        uint64_t value;
    } cases[] = {
        { IEEE(a_frames_transmitted_ok), 0x300000003 },
        { IEEE(a_frames_received_ok), 0x7000000070 },
        { IEEE(a_octets_transmitted_ok), 0xc000000c00 },
        { IEEE(a_octets_received_ok), 0x11000 },
        { IN_OUT(if_in_octets), 0x11000 },
        { IN_OUT(if_in_ucast_pkts), 0x8000000080 },
        { IN_OUT(if_in_multicast_pkts), 0x100000006 },
        { IN_OUT(if_in_broadcast_pkts), 0x100000007 },
        { IN_OUT(if_out_octets), 0xc000000c00 },
        { IN_OUT(if_out_ucast_pkts), 0xa0000000a },
        { IN_OUT(if_out_multicast_pkts), 0x10000000a },
        { IN_OUT(if_out_broadcast_pkts), 0x10000000b },
        { SIZES(ether_stats_octets), 0x11000 },
        { SIZES(ether_stats_pkts), 0x7000000070 },
        { SIZES(ether_stats_multicast_pkts), 0x100000006 },
        { SIZES(ether_stats_broadcast_pkts), 0x100000007 },
        { IEEE(a_multicast_frames_received_ok), 0x100000006 },
        { IEEE(a_broadcast_frames_received_ok), 0x100000007 },
        { IEEE(a_multicast_frames_xmitted_ok), 0x10000000a },
        { IEEE(a_broadcast_frames_xmitted_ok), 0x10000000b },
        { PRIO(0, rx_octets), 0x11000 }, { PRIO(0, tx_frames), 0x300000003 },
        { PRIO(1, rx_octets), 0 }, { PRIO(7, tx_frames), 0 },
    };

    eth->e->stats.tx_packets = 0x100000001;
    eth->e->stats.tx_frames = 0x200000002;
    eth->e->stats.rx_packets = 0x3000000030;
    eth->e->stats.rx_frames = 0x4000000040;
    eth->e->stats.tx_bytes = 0x4000000400;
    eth->e->stats.tx_frame_bytes = 0x8000000800;
    eth->e->stats.rx_bytes = 0x1000;
    eth->e->stats.rx_frame_bytes = 0x10000;
    eth->e->mlx5->received = (ErnicMlx5Traffic) {
        .packets = { 0x5000000050, 0x100000006, 0x100000007 },
    };
    eth->e->mlx5->sent = (ErnicMlx5Traffic) {
        .packets = { 0x900000009, 0x10000000a, 0x10000000b },
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t *set;

        g_test_message("%s", cases[i].field->name);
        IS(read_group(eth, cases[i].group, cases[i].prio, &set), ERNIC_MLX5_ACCEPTED);
        g_assert_cmphex(ernic_mlx5_get(set, cases[i].field), ==, cases[i].value);
    }
}

/* PortCounters of InfiniBand have few bits, and stop at their greatest number. */
ETH_TEST("/mlx5/counters/infiniband", test_infiniband)
{
    static const struct {
        uint64_t errors, discards, stored;
    } cases[] = { { 0, 0, 0 }, { 5, 5, 5 }, { 0xffff, 0xffff, 0xffff },
                  { 0x10000, 0x500000005, 0xffff } };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t *set;

        eth->e->stats.drop[ERNIC_DROP_BAD_ICRC] = cases[i].errors;
        eth->e->stats.tx_drops = cases[i].discards;
        IS(read_group(eth, 0x20, 0, &set), ERNIC_MLX5_ACCEPTED);
#define IB(field)  ernic_mlx5_get(set, &ernic_mlx5_ib_port_cntrs_grp_data_layout.field)
        IS(IB(port_rcv_errors), cases[i].stored);
        IS(IB(port_xmit_discards), cases[i].stored);
        IS(IB(symbol_error_counter), 0);
#undef IB
    }
}

/* The groups that the driver reads exist; all others do not. */
ETH_TEST("/mlx5/counters/groups", test_groups)
{
    static const uint8_t exist[] = {
        0x00, 0x01, 0x02, 0x03, 0x05, 0x10, 0x12, 0x16, 0x20,
    };
    uint8_t *set;

    for (uint32_t group = 0; group < 64; group++) {
        g_assert_cmpint(read_group(eth, group, 0, &set), ==,
                        memchr(exist, group, sizeof(exist)) ? ERNIC_MLX5_ACCEPTED :
                                                              ERNIC_MLX5_BAD_VALUE);
    }
    IS(read_group(eth, 0x10, 8, &set), ERNIC_MLX5_BAD_VALUE);
}

static const Mlx5Refused refusals[] = {
    R(0x805, BAD_VALUE, "", "op_mod=0,register_id=0x5008,.local_port=1 "
      "op_mod=1,register_id=0x5008,.local_port=2 "
      "op_mod=1,register_id=0x5008,.local_port=1,.clr=1", "register_data"),
    R(0x76f, BAD_MODIFIER, "", "op_mod=1"),
    R(0x76f, OTHER_FUNCTION, "", "other_vport=1 vport_number=1"),
};

static void refused(void *opaque, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    IS(eth_call_sized(opaque, opcode, text, 256, 0), why);
}

ETH_TEST("/mlx5/counters/refusals", test_refusals)
{
    mlx5_each_refused(refusals, ARRAY_SIZE(refusals), refused, eth);
}

ETH_TEST("/mlx5/counters/interface", test_interface)
{
    uint8_t *env = eth->out + ernic_mlx5_query_vnic_env_out.vport_env.offset / 8;

    eth->e->stats.drop[ERNIC_DROP_NO_RULE] = 0x500000005;
    eth->e->stats.drop[ERNIC_DROP_PORT_DOWN] = 6;
    eth->e->stats.cq_overruns = 7;
    ETH_OK(eth, 0x76f, "%s", "");
#define ENV(field)  ernic_mlx5_get(env, &ernic_mlx5_vnic_diagnostic_statistics.field)
    IS(ENV(nic_receive_steering_discard), 0x500000005);
    IS(ENV(receive_discard_vport_down), 6);
    IS(ENV(cq_overrun), 7);
#undef ENV
}
