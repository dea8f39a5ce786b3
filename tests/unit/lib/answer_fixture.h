/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Dialogues shared by the tests of annex A19, about requests that are answered like a
 * READ of 0 bytes.
 */
#ifndef ANSWER_FIXTURE_H
#define ANSWER_FIXTURE_H

#include "dialog.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN

/* The peer sends the response; the engine sends the response. */
#define PEER_DONE(d, PSN, MSN)                                              \
    PEER(d, READ_RSP_ONLY, .psn = (PSN), .syndrome = DLG_ACK, .msn = (MSN))
#define SENT_DONE(d, PSN, MSN)                                              \
    SENT(d, READ_RSP_ONLY, .psn = (PSN), .syndrome = DLG_ACK, .msn = (MSN))

/* It is in RTS; the peer serves at most @asks READs and the like at a time. */
static inline void open_asking(Dialog *d, uint8_t asks)
{
    DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_rd_atomic = asks);
}

/* The same, and we serve at most @keeps of the peer's. */
static inline void open_keeping(Dialog *d, uint8_t keeps)
{
    DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_dest_rd_atomic = keeps);
}

/* The same with the queue pair's access flags @access. */
static inline void open_allowing(Dialog *d, uint32_t access)
{
    DLG_OPEN(d, ERNIC_QPT_RC, d->attr.access = cpu_to_le32(access));
}

/* Result of a bad request: NAK and event. */
#define INV_REQ ERNIC_NAK_INV_REQ, ERNIC_EV_QP_REQ_ERR
#define REM_ACC ERNIC_NAK_REM_ACC, ERNIC_EV_QP_ACCESS_ERR

#endif /* ANSWER_FIXTURE_H */
