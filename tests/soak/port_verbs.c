/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs interface's end of the traffic.
 */
#include "driver.h"
#include "port.h"

/* The buffer's parts: to send, for the peer, to receive. */
#define IN          (SLOTS * SLOT)
#define RECV        (2 * SLOTS * SLOT)

const uint32_t port_id = ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16;
uint8_t *port_own, *port_shared;

static Function function, peer_function;
static Qp qp, peer;
static uint32_t done, receives_given;
static bool stopped, lost;

static uint32_t recv_at(uint32_t n)
{
    return RECV + n % DEPTH * SLOT;
}

/* The peer runs the same program, so its numbers and addresses are the same. */
void port_open(uint8_t devfn, uint8_t host)
{
    function_open(&function, devfn, host);
    port_own = function.buf;
    port_shared = function.buf + IN;
    qp_create(&qp, &function);
    peer_function = function;
    peer_function.host = 3 - host;
    peer_function.buf = buf_of(3 - host);
    peer = qp;
    peer.f = &peer_function;
}

void port_connect(uint32_t psn, uint8_t timeout)
{
    qp_to_rts(&qp, &peer, psn, timeout);
    done = 0;
    stopped = lost = false;
    for (receives_given = 0; receives_given < DEPTH; receives_given++) {
        post_recv(&qp, recv_at(receives_given), SLOT);
    }
}

void port_stop(void)
{
    qp_to(&qp, ERNIC_QPS_ERR);
    stopped = true;
}

void port_lost(void)
{
    lost = stopped = true;
}

void port_reset(void)
{
    qp_to(&qp, ERNIC_QPS_RESET);
}

void port_post(enum port_op op, uint32_t slot, uint32_t len, uint32_t peer_slot)
{
    static const uint8_t opcodes[] = {
        [PORT_SEND] = ERNIC_WR_SEND, [PORT_WRITE] = ERNIC_WR_WRITE,
        [PORT_READ] = ERNIC_WR_READ,
    };

    post_send(&qp, opcodes[op], slot * SLOT, len, &peer_function, IN + peer_slot * SLOT);
}

enum port_event port_poll(const uint8_t **message)
{
    struct ernic_cqe cqe;

    while (!poll_cq(&qp, &cqe)) {
        /* In Error every request still completes. */
        if (!stopped || lost || done == qp.sq_pi + qp.rq_pi) {
            return PORT_NOTHING;
        }
    }
    done++;
    if (cqe.status != ERNIC_WC_SUCCESS) {
        return PORT_FAILED;
    }
    if (!(cqe.flags & ERNIC_CQE_RQ)) {
        return PORT_COMPLETED;
    }
    *message = function.buf + recv_at(cqe.wr_id);
    return PORT_RECEIVED;
}

void port_give_back(void)
{
    if (!stopped) {
        post_recv(&qp, recv_at(receives_given++), SLOT);
    }
}

void port_arm(void)
{
    struct ernic_eqe eqe;

    while (poll_eq(&function, &eqe)) {
    }
    arm_cq(&qp);
}
