/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interface of the engine to its environment. Every call carries the time in ns,
 * which never goes back. Calls may come in any order but do not nest: none is made
 * from inside an ErnicEnvOps call.
 */
#ifndef ERNIC_ENGINE_H
#define ERNIC_ENGINE_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* @ops and @env outlive the engine. @cfg is copied. */
Ernic *ernic_new(const ErnicConfig *cfg, const ErnicEnvOps *ops, void *env);
void ernic_free(Ernic *e);
/* Free what an engine has passed to free_later(). Any thread; it uses no engine. */
void ernic_deferred_free(ErnicDeferred *d);
/*
 * Return to the state after ernic_new(). The old objects are freed later, and no command
 * is executed before.
 */
void ernic_reset(Ernic *e);
/* The same, and all memory is freed in this call. */
void ernic_reset_at_once(Ernic *e);

/*
 * Begin a slice of work (base/work.h): commands, doorbells and packets until the next
 * call are charged to it, and commands do not exceed it. ernic_run() begins a slice of
 * its own.
 */
void ernic_slice(Ernic *e);
/* The same of a fraction: ERNIC_WORK_SLICE of base/budget.h has the units of a slice. */
void ernic_slice_of(Ernic *e, uint32_t units);
/* Whether there is work left in the slice. If not, the caller goes on in the next one. */
bool ernic_slice_left(const Ernic *e);
/* The units that are left. */
uint32_t ernic_slice_rest(const Ernic *e);
/* Whether the transport timer of a queue pair runs: a request is not acknowledged. */
bool ernic_unacked(const Ernic *e);
/*
 * Execute one command, copied by the caller, and fill in @rsp. False: the slice has
 * ended before the command, or memory is being freed, and @rsp is not set. Call again in
 * the next slice, and execute no other command before that; @cmd is not used if the
 * command is active.
 */
bool ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
               struct ernic_rsp *rsp);
/*
 * Whether a command is active. A reset drops it, and a saved state does not contain it.
 */
bool ernic_cmd_active(const Ernic *e);
/*
 * Timing model: the time in ns at which the next command, already posted at @now, may be
 * executed; asks to be woken then, until an ernic_run() that the command has to come
 * before. Without the model it is @now.
 */
uint64_t ernic_cmd_due(Ernic *e, uint64_t now);
/*
 * Timing model: software reads a register other than through ernic_reg_read(). The
 * value is available at once, but later stores are delayed by the time of the read.
 */
void ernic_mmio_read(Ernic *e, uint64_t now);
/*
 * One store to the doorbell page of context @uctx. Marks work and asks to be woken.
 * Returns an ernic_status, which a register interface may ignore: an error has already
 * been counted, traced and raised as an event.
 */
uint8_t ernic_doorbell(Ernic *e, uint64_t now, uint32_t uctx, uint64_t value);
/* The same for one at ERNIC_DB_RECORD, which only queues with a record have. */
uint8_t ernic_doorbell_record(Ernic *e, uint64_t now, uint32_t uctx, uint64_t value);
/*
 * Registers of PG332 by offset in their window, if the configuration has them; the
 * registers of the side stream follow the window. Accesses are aligned and have
 * 32 bits. An unassigned offset reads as 0 and ignores writes.
 */
uint32_t ernic_reg_read(Ernic *e, uint64_t now, uint32_t offset);
void ernic_reg_write(Ernic *e, uint64_t now, uint32_t offset, uint32_t value);
/* Whether software has enabled the interface of these registers (XRNICCONF[0]). */
bool ernic_reg_enabled(const Ernic *e);
/*
 * PG332: whether @frame of the link, from its Ethernet header on, is one of MAC control,
 * which the MAC does not pass on. A pause frame may stop the packets of this engine, or
 * let them go on: see ernic_paused().
 */
bool ernic_control(Ernic *e, uint64_t now, const uint8_t *frame, uint32_t len);
/*
 * The environment gives no packet of this engine to the link. When the pause ends, the
 * engine offers them again by itself.
 */
bool ernic_paused(const Ernic *e);
/*
 * PG332 with user logic, the configuration's user_logic. The record that the hardware
 * has for it now; false: none. It stays until ernic_user_taken(), which removes it, or
 * the part of it that @r has: there may be more by then.
 */
bool ernic_user_next(Ernic *e, ErnicUserRecord *r);
void ernic_user_taken(Ernic *e, const ErnicUserRecord *r);
/* User logic sends @r, of any content. False: it has no effect. */
bool ernic_user_ring(Ernic *e, uint64_t now, const ErnicUserRecord *r);
/* Bytes of BAR 0 of the mlx5 interface, and of its first part, without doorbells. */
#define ERNIC_MLX5_BAR         (4u << 20)
#define ERNIC_MLX5_BAR_SEGMENT (64u << 10)
/*
 * BAR 0 of the mlx5 interface, if the configuration has it, by offset in bytes:
 * accesses of @size 4 or 8 that are aligned. A value is the number that the big-endian
 * bytes stand for.
 */
uint64_t ernic_bar_read(Ernic *e, uint64_t now, uint32_t offset, uint32_t size);
void ernic_bar_write(Ernic *e, uint64_t now, uint32_t offset, uint32_t size,
                     uint64_t value);
/*
 * A doorbell of a send queue in @page has been rung, or more: the records of its queues
 * say what was posted. A part of the slice.
 */
void ernic_page_rung(Ernic *e, uint64_t now, uint32_t page);
/*
 * The same for doorbells of @page, any number, that the environment does not know yet.
 * False: the slice has ended, and the same call goes on in the next one.
 */
bool ernic_page_settle(Ernic *e, uint64_t now, uint32_t page);
/* The environment may have lost such calls: the same for all pages, in the next runs. */
void ernic_pages_rung(Ernic *e, uint64_t now);
/*
 * From now on, the environment may not, or may, access guest memory (Bus Master). To look
 * at a record that nobody has asked for is then no reason to end a queue: it waits.
 */
void ernic_pages_hold(Ernic *e, uint64_t now, bool on);
/*
 * While @on, some queues with records that have run empty do not ask for a doorbell: call
 * this often, as it looks at their records, in a slice. Off: they ask for it. Whether one
 * of them has something to do; otherwise the time of the next wake-up is as before.
 */
bool ernic_poll(Ernic *e, uint64_t now, bool on);
/* Whether the store has no effect, like the rest of a request in a BlueFlame buffer. */
bool ernic_bar_ignores(uint32_t offset, uint32_t size);
/* Whether an interrupt line is high. Rising edges go to irq(): 0, side stream 1. */
bool ernic_irq_level(const Ernic *e);
/*
 * Strict mode: iterate over the rules of the version, each with its violations since
 * the last reset. Start with *@pos 0. False: no more rules.
 */
bool ernic_next_rule(const Ernic *e, uint32_t *pos, ErnicReport *r);
/*
 * Whether @train goes to an address and an existing queue pair of this engine. One
 * device may have two engines on one link.
 */
bool ernic_expects(Ernic *e, uint64_t now, const ErnicTrain *train);
/*
 * Whether the link does not know for certain between which addresses the packets of
 * @train go. Then ernic_path_packet() finds it out for the packet at byte @pos, once:
 * ernic_rx() takes the path of *@packet as it is. ernic_rx() searches for the path of
 * other trains, so this is for a device with two engines.
 */
bool ernic_path_open(const Ernic *e, const ErnicTrain *train);
void ernic_path_packet(Ernic *e, const ErnicTrain *train, uint32_t pos,
                       ErnicTrain *packet);
/* Whether @train goes to an address of this engine, whatever its queue pair. */
bool ernic_has_address(const Ernic *e, const ErnicTrain *train);
/* Receive packets from the link; @train is borrowed. */
void ernic_rx(Ernic *e, uint64_t now, const ErnicTrain *train);
/*
 * Receive a RoCEv2 frame to this engine that ernic_net_parse() refuses; @frame begins
 * with the Ethernet header. The engine drops it and reports the reason to the interface.
 */
void ernic_rx_bad_frame(Ernic *e, uint64_t now, const uint8_t *frame,
                        uint32_t len);
/*
 * Whether software receives @frame, which an Ethernet link received and which is no
 * RoCEv2 packet for this engine. May be called at any time.
 */
bool ernic_wants_frame(Ernic *e, const uint8_t *frame, uint32_t len);
/*
 * The environment has accessed memory for a frame of a link, whether or not the engine
 * receives it: so many times, @bytes in all. It is a part of the slice.
 */
void ernic_link_work(Ernic *e, uint32_t accesses, uint32_t bytes);
/* Receive such a frame, or drop it with a reason that is counted. */
void ernic_rx_raw(Ernic *e, uint64_t now, const uint8_t *frame, uint32_t len);
/*
 * The number of packets that the engine has room for; it drops more than that. A link
 * with flow control asks before it calls ernic_rx(). 0 while multicast datagrams wait
 * for members of their group, and otherwise unlimited without timing model.
 */
uint32_t ernic_rx_room(const Ernic *e);
/* The link accepts trains again. */
void ernic_tx_ready(Ernic *e, uint64_t now);
/* Do a slice of work; ends with a call of wake_at(). */
void ernic_run(Ernic *e, uint64_t now);
/* The same within the slice of ernic_slice(). */
void ernic_run_within(Ernic *e, uint64_t now);
/* The link goes up or down. */
void ernic_set_link(Ernic *e, uint64_t now, bool up);

/*
 * state.c: append all state with a guest-visible effect to @out. It ends soon after
 * ERNIC_SAVE_END bytes of @out, and is then of no use.
 */
#define ERNIC_SAVE_END      (1u << 30)
void ernic_save(const Ernic *e, GByteArray *out);
/*
 * max_size.c: an empty array with room for the state, so that ernic_save() allocates
 * nothing; NULL: this host has no memory for it.
 */
GByteArray *ernic_save_new(const Ernic *e);
/* The same: bytes, at the most, whatever its software did; a longer one is refused. */
uint64_t ernic_save_most(const Ernic *e);
/*
 * Replace the state of an engine of the same configuration. @data may be from an older
 * release. False: @data is not a valid state, or is from a newer release; the engine is
 * then reset.
 */
bool ernic_load(Ernic *e, uint64_t now, const uint8_t *data, size_t len);
/* The same; on failure sets @why, which is not NULL, to the reason. */
bool ernic_load_why(Ernic *e, uint64_t now, const uint8_t *data, size_t len,
                    GString *why);

/*
 * check.c: whether all invariants hold. Appends the violated ones to @why, which may be
 * NULL.
 */
bool ernic_check(const Ernic *e, GString *why);

#endif /* ERNIC_ENGINE_H */
