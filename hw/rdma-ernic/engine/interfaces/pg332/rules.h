/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rules that PG332 imposes on software and on peers, where they are asked:
 * before a register is written, after a send request was read, and before a
 * peer's request is served. Without strict mode all of these do nothing.
 */
#ifndef ERNIC_INTERFACES_PG332_RULES_H
#define ERNIC_INTERFACES_PG332_RULES_H

#include "interfaces/pg332/register_file.h"
#include "interfaces/pg332/strict.h"
#include "transport/qp.h"

/* The case to check. Registers still have their values from before a write. */
struct ErnicRuleCase {
    const Ernic *e;
    const ErnicRule *rule;
    uint32_t qpn;               /* 0: the card */

    /* A write: */
    const ErnicRegDef *def;     /* NULL: there is no register */
    uint32_t raw;               /* as software writes */
    uint32_t old, value;        /* as the register holds, and would hold */

    /* A send request: */
    uint8_t opcode;
    uint32_t len;

    const ErnicPkt *pkt;        /* a peer's request */
};

/*
 * Software is about to write *@value, which may lose its enable bit. False:
 * nothing is to be written.
 */
bool ernic_rules_write(Ernic *e, uint32_t offset, uint32_t *value);
/* A send request of @opcode (PG332's) and @len bytes; may set @wqe->fault. */
void ernic_rules_request(Ernic *e, const ErnicQp *qp, uint8_t opcode,
                         uint32_t len, ErnicWqe *wqe);
/* @pkt, a request of the peer's, is next in sequence. False: it is refused. */
bool ernic_rules_packet(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt);

#endif /* ERNIC_INTERFACES_PG332_RULES_H */
