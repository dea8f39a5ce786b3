/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters that ethtool shows: those of the port (PPCNT of ACCESS_REG) and of the
 * virtual network interface (QUERY_VNIC_ENV). A counter without a row is 0.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/port/counters.h"

/* Groups of counters (grp). */
enum {
    IEEE_802_3 = 0x00, RFC_2863 = 0x01, RFC_2819 = 0x02, RFC_3635 = 0x03,
    EXTENDED = 0x05, PRIORITY = 0x10, PHYSICAL = 0x12, STATISTICAL = 0x16,
    INFINIBAND = 0x20,
};

static bool group_exists(uint32_t group)
{
    switch (group) {
    case IEEE_802_3: case RFC_2863: case RFC_2819: case RFC_3635: case EXTENDED:
    case PRIORITY: case PHYSICAL: case STATISTICAL: case INFINIBAND:
        return true;
    default:
        return false;
    }
}

#define PRIORITIES      8

/* A counter: two numbers of the engine, of RoCE packets and of other frames. */
#define ROW(group, layout, field, packets, frames) \
    { group, &ernic_mlx5_##layout.field, \
      offsetof(ErnicStats, packets), offsetof(ErnicStats, frames) }
#define ROW_802_3(...)  ROW(IEEE_802_3, eth_802_3_cntrs_grp_data_layout, __VA_ARGS__)
#define ROW_2863(...)   ROW(RFC_2863, eth_2863_cntrs_grp_data_layout, __VA_ARGS__)
#define ROW_2819(...)   ROW(RFC_2819, eth_2819_cntrs_grp_data_layout, __VA_ARGS__)
#define ROW_PRIO(...)   ROW(PRIORITY, eth_per_prio_grp_data_layout, __VA_ARGS__)

static const struct {
    uint32_t group;
    const ErnicMlx5Field *field;
    uint32_t packets, frames;   /* offsets in ErnicStats */
} counters[] = {
    ROW_802_3(a_frames_transmitted_ok, tx_packets, tx_frames),
    ROW_802_3(a_frames_received_ok, rx_packets, rx_frames),
    ROW_802_3(a_octets_transmitted_ok, tx_bytes, tx_frame_bytes),
    ROW_802_3(a_octets_received_ok, rx_bytes, rx_frame_bytes),
    ROW_2863(if_in_octets, rx_bytes, rx_frame_bytes),
    ROW_2863(if_out_octets, tx_bytes, tx_frame_bytes),
    ROW_2819(ether_stats_octets, rx_bytes, rx_frame_bytes),
    ROW_2819(ether_stats_pkts, rx_packets, rx_frames),
    /* All frames are in the lowest class. */
    ROW_PRIO(rx_octets, rx_bytes, rx_frame_bytes),
    ROW_PRIO(rx_frames, rx_packets, rx_frames),
    ROW_PRIO(tx_octets, tx_bytes, tx_frame_bytes),
    ROW_PRIO(tx_frames, tx_packets, tx_frames),
};

/* Frames by destination; all RoCE packets count as unicast. */
#define CAST(group, layout, field, sent, cast) \
    { group, &ernic_mlx5_##layout.field, sent, ERNIC_MLX5_##cast }
#define CAST_802_3(...) CAST(IEEE_802_3, eth_802_3_cntrs_grp_data_layout, __VA_ARGS__)
#define CAST_2863(...)  CAST(RFC_2863, eth_2863_cntrs_grp_data_layout, __VA_ARGS__)
#define CAST_2819(...)  CAST(RFC_2819, eth_2819_cntrs_grp_data_layout, __VA_ARGS__)

static const struct {
    uint32_t group;
    const ErnicMlx5Field *field;
    bool sent;
    ErnicMlx5Cast cast;
} casts[] = {
    CAST_802_3(a_multicast_frames_xmitted_ok, true, MULTICAST),
    CAST_802_3(a_broadcast_frames_xmitted_ok, true, BROADCAST),
    CAST_802_3(a_multicast_frames_received_ok, false, MULTICAST),
    CAST_802_3(a_broadcast_frames_received_ok, false, BROADCAST),
    CAST_2863(if_in_ucast_pkts, false, UNICAST),
    CAST_2863(if_in_multicast_pkts, false, MULTICAST),
    CAST_2863(if_in_broadcast_pkts, false, BROADCAST),
    CAST_2863(if_out_ucast_pkts, true, UNICAST),
    CAST_2863(if_out_multicast_pkts, true, MULTICAST),
    CAST_2863(if_out_broadcast_pkts, true, BROADCAST),
    CAST_2819(ether_stats_multicast_pkts, false, MULTICAST),
    CAST_2819(ether_stats_broadcast_pkts, false, BROADCAST),
};

static const ErnicStats *stats_of(const ErnicMlx5Function *f)
{
    static const ErnicStats none;

    return f->engine ? &f->engine->stats : &none;
}

static uint64_t number(const ErnicStats *stats, uint32_t offset)
{
    return *(const uint64_t *)((const char *)stats + offset);
}

static void put_casts(const ErnicMlx5Function *f, uint32_t group, uint8_t *set)
{
    uint32_t i;

    for (i = 0; f->engine && i < ARRAY_SIZE(casts); i++) {
        const ErnicStats *stats = stats_of(f);
        const ErnicMlx5 *m = f->engine->mlx5;
        uint64_t roce = casts[i].sent ? stats->tx_packets : stats->rx_packets;

        if (casts[i].group == group) {
            ernic_mlx5_put(set, casts[i].field,
                           (casts[i].sent ? &m->sent : &m->received)->
                           packets[casts[i].cast] +
                           (casts[i].cast == ERNIC_MLX5_UNICAST ? roce : 0));
        }
    }
}

uint64_t ernic_mlx5_receive_errors(const ErnicStats *stats)
{
    uint64_t errors = 0;
    uint32_t i;

    for (i = 1; i < ERNIC_DROP_COUNT; i++) {
        errors += stats->drop[i];
    }
    return errors;
}

/* IBTA PortCounters (16.1.3.5), which stop at their greatest number. */
static void put_infiniband(const ErnicStats *stats, uint8_t *set)
{
    PUT(set, ib_port_cntrs_grp_data_layout.port_rcv_errors,
        MIN(ernic_mlx5_receive_errors(stats), UINT16_MAX));
    PUT(set, ib_port_cntrs_grp_data_layout.port_xmit_discards,
        MIN(stats->tx_drops, UINT16_MAX));
}

ErnicMlx5Refusal ernic_mlx5_access_ppcnt(ErnicMlx5Function *f, const uint8_t *in,
                                         bool write, uint8_t *out)
{
    const uint32_t data = BYTE(ppcnt_reg.counter_set);
    uint32_t group = GET(in, ppcnt_reg.grp), prio = GET(in, ppcnt_reg.prio_tc), i;
    const ErnicStats *stats = stats_of(f);

    /* The counters of a function cannot be cleared. */
    if (write || GET(in, ppcnt_reg.clr) || GET(in, ppcnt_reg.local_port) != 1 ||
        !group_exists(group) ||
        (group == PRIORITY && prio >= PRIORITIES)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    PUT(out, ppcnt_reg.local_port, 1);
    PUT(out, ppcnt_reg.grp, group);
    PUT(out, ppcnt_reg.prio_tc, prio);
    for (i = 0; i < ARRAY_SIZE(counters); i++) {
        if (counters[i].group == group && (group != PRIORITY || !prio)) {
            ernic_mlx5_put(out + data, counters[i].field,
                           number(stats, counters[i].packets) +
                           number(stats, counters[i].frames));
        }
    }
    put_casts(f, group, out + data);
    if (group == INFINIBAND) {
        put_infiniband(stats, out + data);
    }
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal query_vnic_env(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint8_t *env = PART(r->out, query_vnic_env_out.vport_env);
    const ErnicStats *stats = stats_of(f);

    PUT(env, vnic_diagnostic_statistics.nic_receive_steering_discard,
        stats->drop[ERNIC_DROP_NO_RULE]);
    PUT(env, vnic_diagnostic_statistics.receive_discard_vport_down,
        stats->drop[ERNIC_DROP_PORT_DOWN]);
    PUT(env, vnic_diagnostic_statistics.cq_overrun, stats->cq_overruns);
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(port_counter, .needs_engine = false,
    { 0x76f, "QUERY_VNIC_ENV", RUNNING | OWN | NO_MODIFIER, query_vnic_env },
);
