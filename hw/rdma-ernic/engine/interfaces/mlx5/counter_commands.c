/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of counters: those of queue pairs, which the first transition binds, and
 * those of the virtual port.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/port/counters.h"
#include "objects/counter.h"

/* Numbers of counters have 8 bits. */
#define COUNTER_MAX     (ERNIC_MLX5_COUNTER_SETS - 1)

/* The engine's counters that the answer has; the others are 0. */
static const struct {
    const ErnicMlx5Field *field;
    size_t offset;
} counters[] = {
#define COUNTER(name, of) \
    { &ernic_mlx5_query_q_counter_out.name, offsetof(ErnicCounter, of) }
    COUNTER(rx_write_requests, served_writes),
    COUNTER(rx_read_requests, served_reads),
    COUNTER(rx_atomic_requests, served_atomics),
    COUNTER(out_of_buffer, stats.tx_rnr_naks),
    COUNTER(out_of_sequence, stats.rx_out_of_sequence),
    COUNTER(duplicate_request, stats.rx_duplicates),
    COUNTER(rnr_nak_retry_err, stats.rx_rnr_naks),
    COUNTER(packet_seq_err, stats.rx_naks),
    COUNTER(implied_nak_seq_err, stats.implied_naks),
    COUNTER(local_ack_timeout_err, stats.ack_timeouts),
#undef COUNTER
};

static ErnicMlx5Refusal alloc_q_counter(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number;
    uint8_t status = ernic_counter_alloc(f->engine, &number);

    ernic_charge_walk(f->engine, COUNTER_MAX);
    if (status == ERNIC_OK && number > COUNTER_MAX) {
        ernic_counter_free(f->engine, number);
        status = ERNIC_ERR_NO_RESOURCE;
    }
    if (status == ERNIC_OK) {
        PUT(r->out, alloc_q_counter_out.counter_set_id, number);
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal dealloc_q_counter(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number = GET(r->in, dealloc_q_counter_in.counter_set_id);
    ErnicMlx5Refusal refusal;

    /* Linux ends the counter of a queue pair in Error before the queue pair itself. */
    ernic_counter_unbind(f->engine, number);
    refusal = ernic_mlx5_refusal(ernic_counter_free(f->engine, number));
    if (!refusal) {
        f->engine->mlx5_eth->out_of_buffer[number] = 0;
    }
    return refusal;
}

static ErnicMlx5Refusal query_q_counter(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number = GET(r->in, query_q_counter_in.counter_set_id), i;
    const ErnicCounter *counter = ernic_counter_get(f->engine, number);

    if (GET(r->in, query_q_counter_in.aggregate)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!counter) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    for (i = 0; i < ARRAY_SIZE(counters); i++) {
        ernic_mlx5_put(r->out, counters[i].field,
                       *(const uint64_t *)((const char *)counter + counters[i].offset));
    }
    /* Receive queues of Ethernet frames have counters of the same numbers. */
    if (number < ERNIC_MLX5_COUNTER_SETS) {
        PUT(r->out, query_q_counter_out.out_of_buffer, counter->stats.tx_rnr_naks +
            f->engine->mlx5_eth->out_of_buffer[number]);
    }
    if (GET(r->in, query_q_counter_in.clear)) {
        ernic_counter_clear(f->engine, number);
        f->engine->mlx5_eth->out_of_buffer[number % ERNIC_MLX5_COUNTER_SETS] = 0;
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Packets of queue pairs count as unicast: the engine does not count them by address. */
static ErnicMlx5Refusal query_vport_counter(ErnicMlx5Function *f,
                                            const ErnicMlx5Request *r)
{
    const ErnicStats *stats = &f->engine->stats;

    if (GET(r->in, query_vport_counter_in.port_num) > 1 ||
        GET(r->in, query_vport_counter_in.clear)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
#define TRAFFIC(name, packet, octet) do { \
        uint8_t *at = PART(r->out, query_vport_counter_out.name); \
        PUT(at, traffic_counter.packets, packet); \
        PUT(at, traffic_counter.octets, octet); \
    } while (0)
#define TRAFFIC_ETH(name, of) do { \
        TRAFFIC(name##_unicast, (of).packets[ERNIC_MLX5_UNICAST], \
                (of).octets[ERNIC_MLX5_UNICAST]); \
        TRAFFIC(name##_multicast, (of).packets[ERNIC_MLX5_MULTICAST], \
                (of).octets[ERNIC_MLX5_MULTICAST]); \
        TRAFFIC(name##_broadcast, (of).packets[ERNIC_MLX5_BROADCAST], \
                (of).octets[ERNIC_MLX5_BROADCAST]); \
    } while (0)
    TRAFFIC(received_errors, ernic_mlx5_receive_errors(stats), 0);
    TRAFFIC(transmit_errors, stats->tx_drops, 0);
    TRAFFIC(received_ib_unicast, stats->rx_packets, stats->rx_bytes);
    TRAFFIC(transmitted_ib_unicast, stats->tx_packets, stats->tx_bytes);
    TRAFFIC_ETH(received_eth, f->engine->mlx5->received);
    TRAFFIC_ETH(transmitted_eth, f->engine->mlx5->sent);
#undef TRAFFIC_ETH
#undef TRAFFIC
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(counter, .needs_engine = true,
    { 0x770, "QUERY_VPORT_COUNTER", RUNNING | OWN, query_vport_counter },
    { 0x771, "ALLOC_Q_COUNTER", RUNNING, alloc_q_counter },
    { 0x772, "DEALLOC_Q_COUNTER", RUNNING, dealloc_q_counter },
    { 0x773, "QUERY_Q_COUNTER", RUNNING | OWN, query_q_counter },
);
