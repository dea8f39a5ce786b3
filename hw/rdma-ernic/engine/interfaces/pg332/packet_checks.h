/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The packets that PG332 refuses, the order in which it looks, and the effects: the
 * checks of its table 2-3 as rows of one table, and the fatal codes of its
 * IPKTERRQ as rows of another.
 */
#ifndef ERNIC_INTERFACES_PG332_PACKET_CHECKS_H
#define ERNIC_INTERFACES_PG332_PACKET_CHECKS_H

#include "base/drop.h"
#include "base/fault.h"
#include "interfaces/interface.h"

/* The consequence for the packet, and for its queue pair. */
typedef enum Pg332Effect {
    PG332_DROP,
    PG332_NAK,                  /* PSN sequence error */
    PG332_RNR,                  /* RNR NAK */
    PG332_NAK_FATAL,            /* NAK of an invalid request, fatal error */
    PG332_FATAL,                /* fatal error */
    PG332_EFFECTS
} Pg332Effect;

/* A check; rows stand in the order in which they are made. */
typedef struct Pg332Check {
    const char *name;
    uint8_t bit;                /* of the syndrome */
    uint8_t order;              /* PG332's: 1 is looked at first */
    uint8_t effect;             /* Pg332Effect */
    uint8_t drop;               /* ErnicDrop that counts it, or */
    uint8_t fault;              /* ErnicFault that carries it out */
    /*
     * NULL: no link of ours shows it, or (with a fault) the queue pair's own
     * roles find it.
     */
    bool (*fails)(const Ernic *e, const ErnicArrival *a);
} Pg332Check;

extern const Pg332Check ernic_pg332_checks[];
extern const uint32_t ernic_pg332_num_checks;

/* A method of the interface (interface.h). */
ErnicVerdict ernic_pg332_check_packet(Ernic *e, const ErnicArrival *a);
/* The check that failed, here or in one of the roles; NULL: none of these. */
const Pg332Check *ernic_pg332_check_of(const ErnicVerdict *v);

/* A fatal code: the first row that fits is the one. */
typedef struct Pg332Fatal {
    uint8_t code;
    uint8_t fault;              /* ErnicFault */
    /*
     * Whether the row fits @pkt, the packet at hand, which may be NULL. NULL: it always
     * does.
     */
    bool (*when)(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt);
    const char *cause;
} Pg332Fatal;

/* Whether no AETH has this syndrome. */
bool ernic_aeth_reserved(uint8_t syndrome);

extern const Pg332Fatal ernic_pg332_fatals[];
extern const uint32_t ernic_pg332_num_fatals;

/* 0: @fault is none that ends a queue pair of this interface. */
uint8_t ernic_pg332_fatal_code(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                               ErnicFault fault);

#endif /* ERNIC_INTERFACES_PG332_PACKET_CHECKS_H */
