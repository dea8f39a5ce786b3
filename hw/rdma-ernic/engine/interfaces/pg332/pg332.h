/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers of PG332 as the way to drive the engine: what a write does, and
 * where a queue pair's counters are read. Registers hold the set-up, and the
 * counters of a queue pair that does not run; those of one that runs are the
 * engine's. docs/ernic-interface.md has the choices made here.
 */
#ifndef ERNIC_INTERFACES_PG332_PG332_H
#define ERNIC_INTERFACES_PG332_PG332_H

#include "interfaces/interface.h"
#include "interfaces/pg332/register_file.h"
#include "transport/qp.h"

/* The register file that @cfg asks for; NULL: none. */
ErnicRegFile *ernic_pg332_regs(const ErnicConfig *cfg);
/* Set all state that follows from registers, after they were loaded. */
void ernic_pg332_restore(Ernic *e);
uint32_t ernic_pg332_read(Ernic *e, uint32_t offset);
void ernic_pg332_write(Ernic *e, uint32_t offset, uint32_t value);
/*
 * Start and stop the queue pairs that a global register concerns, until the slice ends.
 * False: there are more, and until then no queue pair does any work.
 */
bool ernic_pg332_settle(Ernic *e);
/* The same for @qpn, of any value, before it is looked at. */
void ernic_pg332_settle_qp(Ernic *e, uint32_t qpn);
/* Whether the register at @offset does more than hold a value or take a doorbell. */
bool ernic_pg332_sets_up(const Ernic *e, uint32_t offset);
/* A doorbell that was stored at @offset has arrived. */
void ernic_pg332_doorbell(Ernic *e, uint32_t offset, uint32_t value);

/*
 * The same at once, for the register @reg of @qpn: user logic has sent @value. False:
 * strict mode ignores it.
 */
bool ernic_pg332_ring(Ernic *e, uint32_t qpn, uint32_t reg, uint32_t value);

/* register_access.c: registers by name, without the effects that writes have. */
enum pg332_version ernic_pg332_version(const Ernic *e);
/* A global register, by its offset in the block. */
uint32_t *ernic_pg332_reg(const Ernic *e, uint32_t offset);
/* A register of the slot of @qpn, and a pair of them: an address. */
uint32_t *ernic_pg332_qp_reg(const Ernic *e, uint32_t qpn, uint32_t offset);
uint64_t ernic_pg332_qp_addr(const Ernic *e, uint32_t qpn, uint32_t low,
                             uint32_t high);
/*
 * The index of @count entries, which @reg of @qp shows. After 2^32 of them the count is 0
 * as before the first, when the register still has its 0.
 */
uint32_t ernic_pg332_shown(const Ernic *e, const ErnicQp *qp, uint32_t reg,
                           uint32_t count, uint32_t depth);
/* The index up to which requests of @qp are posted. */
uint32_t ernic_pg332_posted(const Ernic *e, const ErnicQp *qp);
/* Whether the configuration lets @qpn run. */
bool ernic_pg332_in_bound(const Ernic *e, uint32_t qpn);
/* Bits that the numbers of queue pairs need, where hardware packs or cuts them. */
uint32_t ernic_pg332_qpn_bits(const Ernic *e);
/* Set the bit of @qpn in the banks that begin at @bank. */
void ernic_pg332_bank(Ernic *e, uint32_t bank, uint32_t qpn);

/* Whether a cause in INTSTS is enabled. */
bool ernic_pg332_irq(const Ernic *e);
/* Latch causes (PG332_INT_*); interrupt if one that is enabled is new. */
void ernic_pg332_raise(Ernic *e, uint32_t causes);
/* The interrupt was @was before a change: send a message if it is raised now. */
void ernic_pg332_rise(Ernic *e, bool was);

/* regions.c: the keys of the interface. */
extern const ErnicKeyOps ernic_pg332_keys;
/*
 * regions.c: whether @key opens these bytes to a peer in domain @pd. *@bus is the bus
 * address of @addr.
 */
bool ernic_pg332_key_opens(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                           uint64_t len, uint32_t access, uint64_t *bus);

/* qp1.c: methods of the interface (interface.h). */
ErnicFault ernic_pg332_datagram(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                ErnicPath *path, ErnicPkt *pkt, uint32_t *off);
uint32_t ernic_pg332_recv_head(const ErnicPkt *pkt, const ErnicTrain *train,
                               uint32_t ib_len, uint8_t *head);
/*
 * The longest frame that queue pair 1 takes: Ethernet, VLAN, IP, UDP, BTH, DETH,
 * immediate data, the greatest path MTU and its pad.
 */
#define ERNIC_PG332_FRAME_MAX   (14 + 4 + 40 + 8 + 12 + 8 + 4 + 4096 + 3)

/* pause.c: ernic_control() of engine.h. */
bool ernic_pg332_control(Ernic *e, const uint8_t *frame, uint32_t len);

/* status.c: what a status register of the pipeline shows now. */
uint32_t ernic_pg332_pipeline(const Ernic *e, uint32_t offset, uint32_t stored);
/* A method of the interface (interface.h). */
void ernic_pg332_pressed(Ernic *e);

/* write_buffer.c: a method of the interface (interface.h). */
ErnicFault ernic_pg332_gather(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                              uint64_t off, const ErnicPkt *pkt, uint8_t *to);

/* counters.c: methods of the interface (interface.h). */
void ernic_pg332_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
void ernic_pg332_came(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
void ernic_pg332_refused(Ernic *e, const ErnicArrival *a,
                         const ErnicVerdict *v);

/*
 * Indices as registers and memory show them: 1 to the depth, then 1 again. @count runs
 * freely, and is that of an entry which there was.
 */
static inline uint32_t ernic_pg332_place(uint32_t count, uint32_t depth)
{
    return ((count - 1) & (depth - 1)) + 1;
}

/* The same of a register that software has written; 0 is the one before the first. */
static inline uint32_t ernic_pg332_index(uint32_t count, uint32_t depth)
{
    return count ? ernic_pg332_place(count, depth) : 0;
}

/* How far the index @to is ahead of @from; @to may be any number. */
static inline uint32_t ernic_pg332_ahead(uint32_t from, uint32_t to,
                                         uint32_t depth)
{
    return from ? (to - from) & (depth - 1) :
           to ? ernic_pg332_index(to, depth) : 0;
}

/* Messages that have come whole, into places taken one after the other. */
static inline uint32_t ernic_pg332_received(const ErnicQp *qp)
{
    return qp->rq.wq.ci - qp->rq.recv_valid;
}

#endif /* ERNIC_INTERFACES_PG332_PG332_H */
