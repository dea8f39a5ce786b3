/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC face's end of the traffic.
 */
#include "ernic.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "port.h"

#define STOPPED     1               /* in STATQP */
#define ERROR_MARK  0xff000000u     /* of a completion entry */

const uint32_t port_id = ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16;
uint8_t *port_own, *port_shared;

static Face face;
static bool stopped;

void port_open(uint8_t devfn, uint8_t host)
{
    face_open(&face, devfn, host);
    port_own = face.memory->out;
    port_shared = face.memory->in;
    face.memory->cq_head = face.memory->rq_pi = 0;
    global_put(&face, PG332_INTEN, CAUSES);
}

void port_connect(uint32_t psn, uint8_t timeout)
{
    stopped = false;
    face_connect(&face, 3 - face.host, psn, timeout);
}

void port_stop(void)
{
    face_stop(&face);
    stopped = true;
}

void port_lost(void)
{
    stopped = true;
}

void port_reset(void)
{
    face_take_down(&face);
}

void port_post(enum port_op op, uint32_t slot, uint32_t len, uint32_t peer_slot)
{
    static const enum pg332_opcode opcodes[] = {
        [PORT_SEND] = PG332_OP_SEND, [PORT_WRITE] = PG332_OP_WRITE,
        [PORT_READ] = PG332_OP_READ,
    };

    post_request(&face, opcodes[op], slot * SLOT, len, peer_slot * SLOT);
    ring_doorbell(&face);
}

/*
 * An index that has moved by the depth looks as if it had not moved. So one buffer is
 * always kept, except before the first message.
 */
static bool any_message(void)
{
    return messages(&face, true) || (!face.received && face.memory->rq_pi == DEPTH);
}

enum port_event port_poll(const uint8_t **message)
{
    uint32_t entry;

    if (completions(&face, true)) {
        entry = face.memory->cq[face.completed++ % DEPTH];
        return entry & ERROR_MARK ? PORT_FAILED : PORT_COMPLETED;
    }
    if (any_message()) {
        *message = face.memory->rq[face.received % DEPTH];
        return PORT_RECEIVED;
    }
    return !stopped && (qp_get(&face, PG332_STATQP) & STOPPED) ? PORT_FAILED :
           PORT_NOTHING;
}

void port_give_back(void)
{
    give_back(&face, stopped ? UINT32_MAX : 1);
}

void port_arm(void)
{
    clear_causes(&face);
}
