/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface's end of the traffic.
 */
#include "ernic.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "port.h"

#define STOPPED     1               /* in STATQP */
#define ERROR_MARK  0xff000000u     /* of a completion entry */

const uint32_t port_id = ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16;
uint8_t *port_own, *port_shared;

static Interface interface;
static bool stopped;

void port_open(uint8_t devfn, uint8_t host)
{
    interface_open(&interface, devfn, host);
    port_own = interface.memory->out;
    port_shared = interface.memory->in;
    interface.memory->cq_head = interface.memory->rq_pi = 0;
    global_put(&interface, PG332_INTEN, CAUSES);
}

void port_connect(uint32_t psn, uint8_t timeout)
{
    stopped = false;
    interface_connect(&interface, 3 - interface.host, psn, timeout);
}

void port_stop(void)
{
    interface_stop(&interface);
    stopped = true;
}

void port_lost(void)
{
    stopped = true;
}

void port_reset(void)
{
    interface_take_down(&interface);
}

void port_post(enum port_op op, uint32_t slot, uint32_t len, uint32_t peer_slot)
{
    static const enum pg332_opcode opcodes[] = {
        [PORT_SEND] = PG332_OP_SEND, [PORT_WRITE] = PG332_OP_WRITE,
        [PORT_READ] = PG332_OP_READ,
    };

    post_request(&interface, opcodes[op], slot * SLOT, len, peer_slot * SLOT);
    ring_doorbell(&interface);
}

/*
 * An index that has moved by the depth looks as if it had not moved. So one buffer is
 * always kept, except before the first message.
 */
static bool any_message(void)
{
    return messages(&interface, true) ||
           (!interface.received && interface.memory->rq_pi == DEPTH);
}

enum port_event port_poll(const uint8_t **message)
{
    uint32_t entry;

    if (completions(&interface, true)) {
        entry = interface.memory->cq[interface.completed++ % DEPTH];
        return entry & ERROR_MARK ? PORT_FAILED : PORT_COMPLETED;
    }
    if (any_message()) {
        *message = interface.memory->rq[interface.received % DEPTH];
        return PORT_RECEIVED;
    }
    return !stopped && (qp_get(&interface, PG332_STATQP) & STOPPED) ? PORT_FAILED :
           PORT_NOTHING;
}

void port_give_back(void)
{
    give_back(&interface, stopped ? UINT32_MAX : 1);
}

void port_arm(void)
{
    clear_causes(&interface);
}
