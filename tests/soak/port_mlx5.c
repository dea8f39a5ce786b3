/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface's end of the traffic.
 */
#include "mlx5.h"
#include "port.h"

/* The buffer's parts: to send, for the peer, to receive. */
#define IN          (SLOTS * SLOT)
#define RECV        (2 * SLOTS * SLOT)

const uint32_t port_id = MLX5_PCI_ID;
uint8_t *port_own, *port_shared;

static Mlx5 function;
static uint32_t done;
static bool stopped, lost;

static uint32_t recv_at(uint32_t n)
{
    return RECV + n % MLX5_DEPTH * SLOT;
}

void port_open(uint8_t devfn, uint8_t host)
{
    mlx5_open(&function, devfn, host);
    port_own = function.buf;
    port_shared = function.buf + IN;
}

void port_connect(uint32_t psn, uint8_t timeout)
{
    mlx5_connect(&function, 3 - function.host, psn, timeout);
    done = 0;
    stopped = lost = false;
    while (function.received < MLX5_DEPTH) {
        mlx5_post_recv(&function, recv_at(function.received), SLOT);
    }
}

void port_stop(void)
{
    mlx5_to_error(&function);
    stopped = true;
}

void port_lost(void)
{
    lost = stopped = true;
}

void port_reset(void)
{
    mlx5_to_reset(&function);
}

void port_post(enum port_op op, uint32_t slot, uint32_t len, uint32_t peer_slot)
{
    static const enum mlx5_opcode opcodes[] = {
        [PORT_SEND] = MLX5_SEND, [PORT_WRITE] = MLX5_WRITE, [PORT_READ] = MLX5_READ,
    };

    mlx5_post_send(&function, opcodes[op], slot * SLOT, len, 3 - function.host,
                   IN + peer_slot * SLOT);
}

enum port_event port_poll(const uint8_t **message)
{
    Mlx5Completion completion;

    while (!mlx5_poll(&function, &completion)) {
        /* In Error every request still completes. */
        if (!stopped || lost || done == function.sent + function.received) {
            return PORT_NOTHING;
        }
    }
    done++;
    if (completion.failed) {
        return PORT_FAILED;
    }
    if (!completion.receive) {
        return PORT_COMPLETED;
    }
    *message = function.buf + recv_at(completion.request);
    return PORT_RECEIVED;
}

void port_give_back(void)
{
    if (!stopped) {
        mlx5_post_recv(&function, recv_at(function.received), SLOT);
    }
}

void port_arm(void)
{
    mlx5_arm(&function);
}
