/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test as the peer of card 0: it sends packets and frames with any defect.
 */
#ifndef PG332_PEER_H
#define PG332_PEER_H

#include "wire/frame.h"
#include "pg332_card.h"
#include "wire/headers.h"

#define PEER_PSN    PSN_OF(1)       /* that the card expects first */
#define PEER_MTU    4096

/* The path from the peer to the card. */
ErnicPath peer_path(void);
/*
 * The peer sends @op with the fields of @pkt; dest_qp, pkey, migreq are filled in and
 * the payload is zeros. The card serves it and sends its answers.
 */
void peer_says(Card *c, ErnicOp op, const ErnicPkt *pkt);
#define PEER(c, OP, ...) \
    peer_says(c, ERNIC_OP_##OP, &(ErnicPkt) { __VA_ARGS__ })

/*
 * The next packet that @c has sent; false: there is none. Its payload is no longer valid.
 */
bool peer_hears(Card *c, ErnicPkt *pkt);
/* The packet is an acknowledgement with this syndrome, and the last one. */
void peer_hears_ack(Card *c, uint8_t syndrome);
void peer_hears_nothing(Card *c);

/*
 * How a queue pair can end: for each row of the table of fatal codes, in its order, a
 * dialogue of card 0 with its peer.
 */
typedef struct Pg332End {
    uint8_t code;
    void (*provoke)(Card *c);
} Pg332End;

extern Pg332End pg332_ends[];
extern uint32_t pg332_num_ends;

#endif /* PG332_PEER_H */
