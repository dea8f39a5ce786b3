/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of PG332: a queue pair with QPCONF[4] clear exchanges its
 * indices with user logic, by ports of their own. The hardware keeps what user logic has
 * not taken yet: the number of completions, and the last index of the receive queue. So
 * user logic that is slow, or absent, delays nothing and loses nothing.
 */
#ifndef ERNIC_INTERFACES_PG332_HANDSHAKE_H
#define ERNIC_INTERFACES_PG332_HANDSHAKE_H

#include "base/device.h"

/* The part that user logic has not taken yet. */
typedef struct ErnicHandshakeQp {
    uint32_t completed;         /* completions since the last record */
    uint32_t received;          /* the new STATRQPIDB; 0: none */
    bool again;                 /* it has come again since its record began */
} ErnicHandshakeQp;

struct ErnicHandshake {
    uint32_t turn;              /* the port of a queue pair that is looked at first */
    ErnicHandshakeQp *qp;       /* owned; by number */
};

/* NULL: @cfg has no user logic. */
ErnicHandshake *ernic_handshake_new(const ErnicConfig *cfg);
void ernic_handshake_free(ErnicHandshake *h);

/*
 * Queue pair @qpn begins with these CQHEAD and STATRQPIDB. If one of them is 0, records
 * of its kind that were not taken are of an earlier queue pair of this number.
 */
void ernic_handshake_begin(Ernic *e, uint32_t qpn, uint32_t head, uint32_t pi);
/* Queue pair @qpn reports one more completion, and the new index of its receive queue. */
void ernic_handshake_completed(Ernic *e, uint32_t qpn);
void ernic_handshake_received(Ernic *e, uint32_t qpn, uint32_t index);

/* ernic_user_next() and ernic_user_taken() of engine.h. */
bool ernic_handshake_next(Ernic *e, ErnicUserRecord *r);
void ernic_handshake_taken(Ernic *e, const ErnicUserRecord *r);

/*
 * handshake_ring.c: ernic_user_ring() in two steps, whether @r may ring, and then the
 * ring. False: @r has no effect.
 */
bool ernic_handshake_permits(const Ernic *e, const ErnicUserRecord *r);
bool ernic_handshake_ring(Ernic *e, const ErnicUserRecord *r);

#endif /* ERNIC_INTERFACES_PG332_HANDSHAKE_H */
