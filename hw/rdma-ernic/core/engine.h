/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine as its environment sees it. Every call carries the time in ns,
 * which never goes back. Calls may come in any order and do not nest: none is
 * made from inside an ErnicEnvOps call.
 */
#ifndef ERNIC_ENGINE_H
#define ERNIC_ENGINE_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* @ops and @env outlive the engine. @cfg is copied. */
Ernic *ernic_new(const ErnicConfig *cfg, const ErnicEnvOps *ops, void *env);
void ernic_free(Ernic *e);
/* Everything at once to the state after ernic_new(). */
void ernic_reset(Ernic *e);

/* One command, copied by the caller; always fills in @rsp. */
void ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
               struct ernic_rsp *rsp);
/*
 * Timing model: when the command that is next, which has been posted by @now,
 * may be carried out, ns; asks to be woken then. Without the model: @now.
 */
uint64_t ernic_cmd_due(Ernic *e, uint64_t now);
/*
 * Timing model: software reads a register that is not ernic_reg_read()'s. Its
 * answer is there at once, but what is stored next waits for as long as it takes.
 */
void ernic_mmio_read(Ernic *e, uint64_t now);
/*
 * One store to the doorbell page of context @uctx. Marks work and asks to be
 * woken. Returns an ernic_status, which a register face ignores: it was
 * counted, traced and raised as an event.
 */
uint8_t ernic_doorbell(Ernic *e, uint64_t now, uint32_t uctx, uint64_t value);
/*
 * Registers of PG332, by offset in their window, if the configuration has them:
 * aligned 32 bits; where nothing is, 0 is read and nothing written. Behind the
 * window are those of the side stream.
 */
uint32_t ernic_reg_read(Ernic *e, uint64_t now, uint32_t offset);
void ernic_reg_write(Ernic *e, uint64_t now, uint32_t offset, uint32_t value);
/* Has software enabled the face of these registers (XRNICCONF[0])? */
bool ernic_reg_enabled(const Ernic *e);
/* Is a line high? irq() tells that one rises: vector 0, or 1 of the side stream. */
bool ernic_irq_level(const Ernic *e);
/*
 * Strict mode: the rules of the version, one by one, with what broke each since
 * the last reset. *@pos is 0 at first. False: that was all.
 */
bool ernic_next_rule(const Ernic *e, uint32_t *pos, ErnicReport *r);
/*
 * Is @train to an address of this engine, and to a queue pair that it has? One
 * device may have two engines on one link.
 */
bool ernic_expects(const Ernic *e, const ErnicTrain *train);
/* Is it to an address of this engine, whoever it names there? */
bool ernic_has_address(const Ernic *e, const ErnicTrain *train);
/* Packets from the link; @train is borrowed. */
void ernic_rx(Ernic *e, uint64_t now, const ErnicTrain *train);
/*
 * A RoCEv2 frame to this engine that ernic_net_parse() refuses, from its Ethernet
 * header on: it is dropped, and the face told why.
 */
void ernic_rx_bad_frame(Ernic *e, uint64_t now, const uint8_t *frame,
                        uint32_t len);
/*
 * A frame that came by an Ethernet link and is no RoCEv2 packet for this engine:
 * does a rule of software's want it? It may be asked at any time.
 */
bool ernic_wants_frame(const Ernic *e, const uint8_t *frame, uint32_t len);
/* One that a rule wants, for the queue pair of that rule. */
void ernic_rx_raw(Ernic *e, uint64_t now, const uint8_t *frame, uint32_t len);
/*
 * Packets for which there is room; what is more is lost. A link that can push
 * back asks before it calls ernic_rx(). Without a timing model there is no end.
 */
uint32_t ernic_rx_room(const Ernic *e);
/* The link takes trains again. */
void ernic_tx_ready(Ernic *e, uint64_t now);
/* Work, bounded; ends in wake_at(). */
void ernic_run(Ernic *e, uint64_t now);
/* The link goes up or down. */
void ernic_set_link(Ernic *e, uint64_t now, bool up);

/* state.c: all state with an effect that the guest can see, appended to @out. */
void ernic_save(const Ernic *e, GByteArray *out);
/*
 * No state is longer, in bytes, whatever the guest does: 16,384 queue pairs with 64
 * requests each, and 2^24 kept pages, need less than this.
 */
#define ERNIC_STATE_MAX     (1u << 30)
/*
 * Into an engine of the same configuration, whose state it replaces. The bytes may be
 * those of an older release. False: they are not a valid state, or that of a newer
 * release; the engine is then reset.
 */
bool ernic_load(Ernic *e, uint64_t now, const uint8_t *data, size_t len);
/* The same; @why, which is not NULL, gets the reason. */
bool ernic_load_why(Ernic *e, uint64_t now, const uint8_t *data, size_t len,
                    GString *why);

/* check.c: do all invariants hold? Appends what does not to @why. */
bool ernic_check(const Ernic *e, GString *why);

#endif /* ERNIC_ENGINE_H */
