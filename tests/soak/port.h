/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A machine's end of the traffic between two machines: one RC queue pair of its only
 * function. port_verbs.c, port_ernic.c and port_mlx5.c implement it, each for one
 * interface.
 */
#ifndef SOAK_PORT_H
#define SOAK_PORT_H

#include "io.h"

#define SLOTS       8               /* of the memory for sending, and of the peer's */
#define SLOT        4096            /* bytes */

enum port_op { PORT_SEND, PORT_WRITE, PORT_READ };

enum port_event {
    PORT_NOTHING,
    PORT_COMPLETED,                 /* the oldest request */
    PORT_RECEIVED,                  /* a message */
    PORT_FAILED,                    /* a request, or the queue pair */
};

/* The function's device ID, with its vendor ID in the low half. */
extern const uint32_t port_id;

/* Opens the function @devfn; its address is 10.0.0.@host, with @host 1 or 2. */
void port_open(uint8_t devfn, uint8_t host);
/*
 * Connects with the other host. @psn: of the first packet in each direction;
 * @timeout: the exponent of the ACK timeout.
 */
void port_connect(uint32_t psn, uint8_t timeout);
/* Ends the connection; afterwards port_poll() returns what was completed before. */
void port_stop(void);
/* Called when the function is gone: port_poll() returns what it has completed before. */
void port_lost(void);
/* Makes the queue pair ready for port_connect(), after port_poll() has nothing left. */
void port_reset(void);

/* Memory to send from, and memory for the peer; port_open() sets both. */
extern uint8_t *port_own, *port_shared;

static inline uint8_t *port_out(uint32_t slot)
{
    return port_own + slot * SLOT;
}

static inline uint8_t *port_in(uint32_t slot)
{
    return port_shared + slot * SLOT;
}

/* Posts a request of @len bytes of port_out(slot); the peer's slot is not for a SEND. */
void port_post(enum port_op op, uint32_t slot, uint32_t len, uint32_t peer_slot);
/* The next event; *message is valid until the next port_give_back(). */
enum port_event port_poll(const uint8_t **message);
void port_give_back(void);
/* Requests an interrupt for the next event. Poll again before you sleep. */
void port_arm(void);

#endif /* SOAK_PORT_H */
