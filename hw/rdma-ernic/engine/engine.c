/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lifecycle of the engine and its entry points. ernic_run() defines the order of the
 * work: timers, packets received by loopback, queue pairs with work, transmission.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/timer.h"
#include "base/work.h"
#include "deferred.h"
#include "engine.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/side_stream.h"
#include "interfaces/pg332/strict.h"
#include "interfaces/verbs/commands.h"
#include "interfaces/verbs/doorbell.h"
#include "lifecycle.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/gid.h"
#include "objects/job.h"
#include "objects/mr.h"
#include "timing/timing.h"
#include "timing/timing_count.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/completer.h"
#include "transport/mcast_delivery.h"
#include "transport/qp.h"
#include "transport/retry_buffer.h"
#include "transport/rx.h"
#include "transport/sched.h"
#include "transport/turn.h"
#include "transport/tx.h"
#include "wire/headers.h"

QEMU_BUILD_BUG_ON(ERNIC_MLX5_BAR != ERNIC_MLX5_BAR_SIZE ||
                  ERNIC_MLX5_BAR_SEGMENT != ERNIC_MLX5_UAR_FIRST * ERNIC_MLX5_PAGE);

/*
 * The number of queue pairs to look at, of those that wait for their train to leave:
 * all, if a train has left since the last look, up to *@departed. A link may report a
 * train as gone, and later as waiting again: so the one that has waited longest counts,
 * too.
 */
static uint32_t engine_left(const Ernic *e, uint64_t *departed)
{
    if (!e->departing.head) {
        return 0;
    }
    *departed = ernic_tx_departed(e);
    if (*departed != e->tx->departed) {
        return e->departing.count;
    }
    return e->tx->looks ? MIN(e->tx->looks, e->departing.count) :
           e->qp[e->departing.head].sq.tx_serial <= *departed ? e->departing.count : 0;
}

/*
 * Wake the queue pairs whose last packet has left the device: their transport timers
 * start, or (UC, UD) their requests complete. Each look is charged; the next slice
 * continues with the first one, because those that still wait go to the end.
 */
static void engine_departed(Ernic *e)
{
    uint64_t departed;
    ErnicQp *qp;

    e->tx->looks = engine_left(e, &departed);
    if (e->tx->looks) {
        e->tx->departed = departed;
    }
    for (; e->tx->looks && ernic_work_left(e); e->tx->looks--) {
        qp = ernic_sched_take_from(e, ERNIC_RING_DEPARTURE);
        if (!qp) {
            continue;
        }
        if (qp->sq.tx_serial > departed) {
            ernic_sched_add(e, qp, ERNIC_RING_DEPARTURE);
        }
        ernic_charge(e, 1);
        ernic_completer_departed(e, qp, departed);
    }
}

/* Whether a queue of Ethernet frames has work that it can do now. */
static bool engine_eth_work(const Ernic *e)
{
    return e->mlx5 && ernic_mlx5_eth_has_work(e);
}

/* Whether there are commands of the mlx5 interface that it can execute now. */
static bool engine_mlx5_work(Ernic *e)
{
    return e->mlx5 && ernic_mlx5_has_work(e) && !ernic_deferred_waits(e);
}

/* Timing model: when the next command may be executed; ERNIC_NEVER: none waits. */
static uint64_t engine_command_due(const Ernic *e)
{
    return e->timing && e->timing->cmd_due ? e->timing->cmd_due : ERNIC_NEVER;
}

/* Report the time of the next work to the environment, or @command if that is earlier. */
static void engine_wake_by(Ernic *e, uint64_t command)
{
    uint64_t departed;
    bool work = ernic_sched_ready(e) || (!e->tx->busy && e->tx->packets) ||
                e->tx->loop_len || ernic_mcast_delivery_wait(e) || e->eq_more ||
                (!e->tx->busy && e->tx->num_left) || engine_left(e, &departed) ||
                engine_mlx5_work(e) || engine_eth_work(e) || e->unsettled ||
                (e->db_pages && ernic_db_pages_have_work(e));
    uint64_t next = MIN(ernic_timers_next(e->timers),
                        ernic_timers_next(e->cq_timers));

    ernic_deferred_blocks(e);
    if (e->paused) {
        next = MIN(next, e->resume);
    }
    if (e->mlx5) {
        next = MIN(next, ernic_mlx5_rq_poll_due(e));
    }
    if (e->timing) {
        next = MIN(next, ernic_timing_next(e));
        if (unlikely(e->timing->trace)) {
            ernic_timing_waiting(e);
        }
    }
    e->ops->wake_at(e->env, work ? e->now : MIN(next, command));
}

/* At the end of each call. */
static void engine_wake(Ernic *e)
{
    engine_wake_by(e, engine_command_due(e));
}

/* Timing model: carry out the doorbells that arrive at @until or earlier. */
static void engine_doorbells(Ernic *e, uint64_t until)
{
    ErnicDelayFifo *fifo = &e->timing->doorbells;
    const ErnicTimedDoorbell *db;

    while ((db = ernic_delay_fifo_peek(fifo, until))) {
        ernic_timing_taken(e, ERNIC_TIMED_DOORBELL, fifo->count);
        if (e->regs) {
            ernic_pg332_doorbell(e, db->where, db->value);
        } else {
            ernic_doorbell_exec(e, db->where, db->value);
        }
        ernic_delay_fifo_pop(fifo, e->now);
    }
    ernic_timing_taken(e, ERNIC_TIMED_DOORBELL, 0);
}

/*
 * Timing model: before a command or a write to a configuration register, carry out
 * all doorbells stored earlier. Write all pending completions too: the command may
 * destroy their queues.
 */
static void engine_catch_up(Ernic *e)
{
    engine_doorbells(e, ERNIC_NEVER);
    ernic_qp_post_due(e, ERNIC_NEVER);
}

/* Timing model: make room for one more doorbell. */
static void engine_doorbell_room(Ernic *e)
{
    if (ernic_delay_fifo_full(&e->timing->doorbells)) {
        engine_doorbells(e, ernic_delay_fifo_due(&e->timing->doorbells));
    }
}

/* A call of software or of the link begins, which may change anything. */
static void engine_enter(Ernic *e, uint64_t now)
{
    e->now = now;
    e->touched = true;
}

void ernic_slice(Ernic *e)
{
    ernic_work_start(e);
}

void ernic_slice_of(Ernic *e, uint32_t units)
{
    ernic_budget_start_of(&e->work, units);
}

bool ernic_slice_left(const Ernic *e)
{
    return ernic_work_left(e);
}

uint32_t ernic_slice_rest(const Ernic *e)
{
    return ernic_work_left(e) ? e->work.end - e->work.done : 0;
}

bool ernic_unacked(const Ernic *e)
{
    return e->num_unacked;
}

bool ernic_cmd_active(const Ernic *e)
{
    return e->job->active;
}

/* The command follows in the same call, before a completion does. */
static void engine_begin(Ernic *e, const struct ernic_cmd *cmd)
{
    if (e->timing) {
        e->timing->cmd_due = 0;
        /* A query of the timing model must not change what it measures. */
        if (cmd->opcode != ERNIC_CMD_QUERY_TIMING) {
            engine_catch_up(e);
        }
    }
    ernic_cmd_begin(e, cmd);
}

bool ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
               struct ernic_rsp *rsp)
{
    bool waits, done;

    engine_enter(e, now);
    /* Objects that are gone leave their room before others are created. */
    waits = ernic_deferred_waits(e);
    if (e->job->active) {
        trace_ernic_cmd_resume(e->job->cmd.opcode, le16_to_cpu(e->job->cmd.tag));
    } else if (!waits) {
        engine_begin(e, cmd);
    }
    done = !waits && ernic_cmd_exec(e, rsp);
    engine_wake(e);
    return done;
}

uint64_t ernic_cmd_due(Ernic *e, uint64_t now)
{
    uint64_t due;

    engine_enter(e, now);
    if (!e->timing || e->job->active) {
        return now;
    }
    due = ernic_timing_command(e);
    engine_wake(e);
    return due;
}

void ernic_mmio_read(Ernic *e, uint64_t now)
{
    engine_enter(e, now);
    if (e->timing) {
        ernic_timing_read(e);
    }
}

uint8_t ernic_doorbell(Ernic *e, uint64_t now, uint32_t uctx, uint64_t value)
{
    uint8_t status;

    engine_enter(e, now);
    if (!e->timing) {
        status = ernic_doorbell_exec(e, uctx, value);
    } else {
        engine_doorbell_room(e);
        ernic_timing_doorbell(e, uctx, value);
        status = ERNIC_OK;
    }
    engine_wake(e);
    return status;
}

uint8_t ernic_doorbell_record(Ernic *e, uint64_t now, uint32_t uctx, uint64_t value)
{
    uint8_t status;

    engine_enter(e, now);
    status = ernic_doorbell_exec_record(e, uctx, value);
    engine_wake(e);
    return status;
}

uint32_t ernic_reg_read(Ernic *e, uint64_t now, uint32_t offset)
{
    uint32_t window = ernic_reg_window(e->cfg.pg332 - 1);

    engine_enter(e, now);
    if (offset >= window + PG332_SIDE_TIMING) {
        /* A query of the timing model must not change what it measures. */
        return ernic_timing_word(e, offset - window - PG332_SIDE_TIMING);
    }
    ernic_mmio_read(e, now);
    return offset < window ? ernic_pg332_read(e, offset) :
                             ernic_side_read(e, offset - window);
}

void ernic_reg_write(Ernic *e, uint64_t now, uint32_t offset, uint32_t value)
{
    uint32_t window = ernic_reg_window(e->cfg.pg332 - 1);

    engine_enter(e, now);
    if (e->timing && offset < window) {
        if (ernic_pg332_sets_up(e, offset)) {
            engine_catch_up(e);
        }
        engine_doorbell_room(e);
    }
    if (offset < window) {
        ernic_pg332_write(e, offset, value);
    } else {
        ernic_side_write(e, offset - window, value);
    }
    engine_wake(e);
}

bool ernic_control(Ernic *e, uint64_t now, const uint8_t *frame, uint32_t len)
{
    bool its;

    engine_enter(e, now);
    its = ernic_pg332_control(e, frame, len);
    engine_wake(e);
    return its;
}

bool ernic_paused(const Ernic *e)
{
    return e->paused;
}

bool ernic_user_next(Ernic *e, ErnicUserRecord *r)
{
    return ernic_handshake_next(e, r);
}

void ernic_user_taken(Ernic *e, const ErnicUserRecord *r)
{
    ernic_handshake_taken(e, r);
}

bool ernic_user_ring(Ernic *e, uint64_t now, const ErnicUserRecord *r)
{
    bool ok;

    engine_enter(e, now);
    ok = ernic_handshake_permits(e, r);
    if (ok && e->timing) {
        engine_doorbells(e, ERNIC_NEVER);       /* software's stores were earlier */
    }
    ok = ok && ernic_handshake_ring(e, r);
    engine_wake(e);
    return ok;
}

bool ernic_reg_enabled(const Ernic *e)
{
    return *ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ENABLE;
}

uint64_t ernic_bar_read(Ernic *e, uint64_t now, uint32_t offset, uint32_t size)
{
    engine_enter(e, now);
    return ernic_mlx5_read(e, offset, size);
}

bool ernic_bar_ignores(uint32_t offset, uint32_t size)
{
    return offset >= ERNIC_MLX5_BAR_SEGMENT &&
           ernic_mlx5_uar_ignores(offset % ERNIC_MLX5_PAGE, size);
}

void ernic_bar_write(Ernic *e, uint64_t now, uint32_t offset, uint32_t size,
                     uint64_t value)
{
    engine_enter(e, now);
    ernic_mlx5_write(e, offset, size, value);
    engine_wake(e);
}

void ernic_page_rung(Ernic *e, uint64_t now, uint32_t page)
{
    engine_enter(e, now);
    ernic_db_page_rung(e, page);
    engine_wake(e);
}

bool ernic_page_settle(Ernic *e, uint64_t now, uint32_t page)
{
    bool done;

    engine_enter(e, now);
    done = ernic_db_page_settle(e, page);
    engine_wake(e);
    return done;
}

void ernic_pages_rung(Ernic *e, uint64_t now)
{
    e->now = now;
    if (e->db_pages) {
        ernic_db_pages_rung(e);
        engine_wake(e);
    }
}

void ernic_pages_hold(Ernic *e, uint64_t now, bool on)
{
    e->now = now;
    if (e->db_pages) {
        ernic_db_pages_hold(e, on);
        engine_wake(e);
    }
}

bool ernic_poll(Ernic *e, uint64_t now, bool on)
{
    e->now = now;
    if (!e->db_pages || !ernic_db_poll(e, on)) {
        return false;
    }
    engine_wake(e);
    return true;
}

bool ernic_irq_level(const Ernic *e)
{
    return ernic_pg332_irq(e) || ernic_side_irq(e);
}

bool ernic_next_rule(const Ernic *e, uint32_t *pos, ErnicReport *r)
{
    return ernic_strict_next(e, pos, r);
}

bool ernic_has_address(const Ernic *e, const ErnicTrain *train)
{
    bool local = ernic_gid_is_local(e, &train->path.dgid);
    uint32_t i;

    for (i = 0; i < train->num_alt_dgid && !local; i++) {
        local = ernic_gid_is_local(e, &train->alt_dgid[i]);
    }
    return local;
}

/* A register may have started or stopped the queue pair that the BTH at @buf names. */
static void engine_settle_packet(Ernic *e, const uint8_t *buf, uint32_t len)
{
    if (e->unsettled && len >= ERNIC_BTH_LEN) {
        ernic_pg332_settle_qp(e, ernic_bth_dest_qp(buf));
    }
}

/* The same for all packets of @train. */
static void engine_settle(Ernic *e, const ErnicTrain *train)
{
    uint32_t pos;

    for (pos = 0; e->unsettled && pos < train->len; pos += train->seg) {
        engine_settle_packet(e, train->data + pos, train->len - pos);
    }
}

bool ernic_expects(Ernic *e, uint64_t now, const ErnicTrain *train)
{
    engine_enter(e, now);
    engine_settle(e, train);
    return ernic_has_address(e, train) && ernic_rx_expects(e, train);
}

/* A port that is down drops all received packets. */
static bool engine_hears(Ernic *e, uint32_t packets)
{
    e->stats.drop[ERNIC_DROP_PORT_DOWN] += e->port_active ? 0 : packets;
    return e->port_active;
}

bool ernic_path_open(const Ernic *e, const ErnicTrain *train)
{
    return ernic_rx_path_open(e, train);
}

void ernic_path_packet(Ernic *e, const ErnicTrain *train, uint32_t pos,
                       ErnicTrain *packet)
{
    ernic_rx_path(e, train, pos, packet);
}

static void engine_take(Ernic *e, const ErnicTrain *train)
{
    if (e->timing) {
        ernic_timing_rx(e, train);
    } else {
        ernic_rx_train(e, train);
    }
}

void ernic_rx(Ernic *e, uint64_t now, const ErnicTrain *train)
{
    ErnicTrain packet;
    uint32_t pos;

    engine_enter(e, now);
    engine_settle(e, train);
    if (!engine_hears(e, ernic_train_packets(train))) {
        /* Dropped. */
    } else if (unlikely(ernic_rx_path_open(e, train))) {
        for (pos = 0; pos < train->len; pos += packet.len) {
            ernic_rx_path(e, train, pos, &packet);
            engine_take(e, &packet);
        }
    } else {
        engine_take(e, train);
    }
    engine_wake(e);
}

void ernic_rx_bad_frame(Ernic *e, uint64_t now, const uint8_t *frame,
                        uint32_t len)
{
    ErnicFrame f = { };
    ErnicDrop drop = ernic_net_parse(&f, frame, len);

    engine_enter(e, now);
    engine_settle_packet(e, f.ib, f.ib ? f.ib_len : 0);
    if (engine_hears(e, 1)) {
        ernic_rx_frame(e, &f, frame, len, drop);
    }
    engine_wake(e);
}

void ernic_link_work(Ernic *e, uint32_t accesses, uint32_t bytes)
{
    ernic_budget_charge(&e->work, ERNIC_WORK_ACCESS * accesses, bytes);
}

bool ernic_wants_frame(Ernic *e, const uint8_t *frame, uint32_t len)
{
    return e->interface->wants_frame(e, frame, len, NULL);
}

void ernic_rx_raw(Ernic *e, uint64_t now, const uint8_t *frame, uint32_t len)
{
    engine_enter(e, now);
    if (engine_hears(e, 1)) {
        e->interface->take_frame(e, frame, len, NULL);
    }
    engine_wake(e);
}

uint32_t ernic_rx_room(const Ernic *e)
{
    if (ernic_mcast_delivery_blocks(e)) {
        return 0;
    }
    return e->timing ? e->timing->rx.slots - e->timing->rx.count : UINT32_MAX;
}

void ernic_tx_ready(Ernic *e, uint64_t now)
{
    e->now = now;
    if (e->timing) {
        e->timing->link_busy = false;
        ernic_tx_depart(e);
    } else {
        e->tx->busy = false;
    }
    ernic_tx_flush(e);
    engine_wake(e);
}

void ernic_set_link(Ernic *e, uint64_t now, bool up)
{
    e->now = now;
    if (e->port_active != up) {
        e->port_active = up;
        trace_ernic_link(up);
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_PORT, 1, &e->port_events,
                          up ? ERNIC_EV_PORT_ACTIVE : ERNIC_EV_PORT_ERR, 0);
    }
    if (!up) {
        e->paused = false;
        /* Packets that wait for the link are lost when it goes down. */
        e->tx->busy = false;
        /* Trains that it has taken are lost, too: nobody reports their departure. */
        e->tx->taken = 0;
        if (e->timing) {
            e->timing->link_busy = false;
        }
        ernic_tx_flush(e);
    }
    engine_wake(e);
}

/* Runs at least one of each kind that is due, whatever is left of the slice. */
static void engine_timers(Ernic *e)
{
    uint64_t end = ernic_work_share(e);
    uint32_t qpn;

    while ((qpn = ernic_timers_pop(e->timers, e->now))) {
        ernic_charge(e, ERNIC_WORK_TURN);
        ernic_ack_due(e, &e->qp[qpn]);
        ernic_completer_timeout(e, &e->qp[qpn]);
        if (!ernic_work_left_of(e, end)) {
            break;
        }
    }
    ernic_cq_moderation_run(e);
}

/*
 * Serve trains of loopback, until the slice ends or datagrams wait for members of their
 * group. Serving a packet sends none, so the loopback buffer does not grow in this loop.
 */
static void engine_loopback(Ernic *e)
{
    ErnicTx *tx = e->tx;
    ErnicTrain train;

    while (ernic_work_left(e) && !ernic_mcast_delivery_blocks(e) &&
           ernic_tx_loop_next(e, &tx->loop_pos, &train)) {
        if (train.frame) {
            e->interface->take_frame(e, train.data, train.len, &train);
        } else {
            ernic_rx_train(e, &train);
        }
    }
    if (tx->loop_pos == tx->loop_len) {
        tx->loop_pos = tx->loop_len = 0;
        tx->loop_full = false;
    }
}

/*
 * Timing model: serve due packets until the slice ends. All other work has a slice of its
 * own, so that a flood of packets does not prevent it.
 */
static void engine_due_packets(Ernic *e)
{
    ErnicTiming *t = e->timing;
    const ErnicTimedPacket *p;
    ErnicTrain train;

    while (ernic_work_left(e) && !ernic_mcast_delivery_blocks(e) &&
           (p = ernic_delay_fifo_peek(&t->rx, e->now))) {
        ernic_timing_train(p, &train);
        ernic_timing_taken(e, ERNIC_TIMED_RECEIVED, t->rx.count);
        ernic_rx_train(e, &train);
        ernic_delay_fifo_pop(&t->rx, e->now);
    }
    ernic_timing_taken(e, ERNIC_TIMED_RECEIVED, 0);
    if (!ernic_work_left(e)) {
        ernic_work_start(e);
    }
}

/*
 * Timing model: make due doorbells, packets, completions and interrupts visible, in
 * the order of their way through the device. The queues of the others are short.
 */
static void engine_due(Ernic *e)
{
    engine_doorbells(e, e->now);
    engine_due_packets(e);
    ernic_qp_post_due(e, e->now);
    ernic_timing_run_irqs(e);
    ernic_tx_depart(e);
}

/*
 * One turn of one queue pair. Work that does not need the link (flushing, draining,
 * local operations) continues while the link is busy.
 */
static void engine_turn(Ernic *e, ErnicQp *qp)
{
    bool flush = ernic_turn_flush(e, qp);
    bool send = ernic_turn_respond(e, qp);

    ernic_charge(e, ERNIC_WORK_TURN);

    send |= ernic_turn_send(e, qp);
    if (e->timing) {
        ernic_timing_requests(e, qp->qpn, qp->sq.started - qp->sq.wq.ci);
        ernic_retry_buffer_sync(e, qp);
    }
    if (flush || (send && !e->tx->busy)) {
        ernic_sched_mark(e, qp);
    } else if (send) {
        ernic_sched_add(e, qp, ERNIC_RING_WAITING);
    }
}

/* A turn of a queue of Ethernet frames; false: none has work that it can do now. */
static bool engine_eth_turn(Ernic *e)
{
    return e->mlx5 && ernic_work_left(e) && ernic_mlx5_eth_turn(e);
}

/* Send the held train; for a loopback train, serve the others first to make room. */
static void engine_depart(Ernic *e)
{
    if (!ernic_tx_flush(e) && e->tx->loop_full) {
        engine_loopback(e);
        ernic_tx_flush(e);
    }
}

/* Turns until the slice ends, or no queue has work that it can do now. */
static void engine_turns(Ernic *e)
{
    bool more = true;
    ErnicQp *qp;

    while (ernic_work_left(e) && more) {
        qp = ernic_sched_take(e);
        if (qp) {
            engine_turn(e, qp);
        }
        more = engine_eth_turn(e) || qp;
        if (e->tx->loop_full) {
            engine_depart(e);
        }
    }
}

/* Serve all that is due, then queue pairs in turn, until the slice ends. */
static void engine_work(Ernic *e)
{
    ernic_eq_run(e);
    ernic_rx_copies(e);
    if (e->timing) {
        engine_due(e);
    }
    if (e->db_pages) {
        ernic_db_pages_run(e);          /* doorbells come before commands */
    }
    if (e->mlx5 && !ernic_deferred_waits(e)) {
        ernic_mlx5_run(e);
        if (ernic_mlx5_teardown_due(e)) {
            ernic_teardown(e);
        }
    }
    if (e->mlx5) {
        ernic_mlx5_rq_poll(e);
    }
    engine_departed(e);
    engine_timers(e);
    engine_loopback(e);
    if (e->tx->num_left) {
        ernic_ack_left(e);
    }
    /*
     * A queue pair that waits for its train to leave is ready again after the train
     * is sent; every turn is charged, so the loop ends.
     */
    do {
        engine_turns(e);
        engine_depart(e);
    } while (ernic_work_left(e) && (ernic_sched_ready(e) || engine_eth_work(e)));
    engine_departed(e);
    ernic_rx_copies_rest(e);
}

void ernic_run_within(Ernic *e, uint64_t now)
{
    uint64_t command;

    e->now = now;
    if (e->paused && e->resume <= now) {
        e->paused = false;
        ernic_tx_ready(e, now);
    }
    if (!e->unsettled || ernic_pg332_settle(e)) {
        engine_work(e);
    }
    /* Commands come before a run: what is overdue then cannot be executed. */
    command = engine_command_due(e);
    engine_wake_by(e, command > now ? command : ERNIC_NEVER);
}

void ernic_run(Ernic *e, uint64_t now)
{
    ernic_work_start(e);
    ernic_run_within(e, now);
}
