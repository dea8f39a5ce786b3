/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's environment in QEMU: guest memory, the link, interrupts, and a
 * clock with a wake-up time.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "block/aio-wait.h"
#include "hw/pci/msix.h"
#include "system/runstate.h"
#include "links/host_link.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "device/device.h"
#include "pci/env.h"
#include "device/memory.h"
#include "hw/rdma-ernic/trace.h"
/* The header's place depends on the version of QEMU. */
#if __has_include("exec/icount.h")
#include "exec/icount.h"
#else
#include "system/cpu-timers.h"
#endif

/* Only RAM: an access to a device would need the BQL and is refused. */
#define DMA_ATTRS ((MemTxAttrs) { .memory = 1 })

/* -icount: runs at one virtual time, and the time from then on until the next run. */
#define RUNS_AT_ONE_TIME    8
#define RUNS_NS             100000

/* ---- entering ------------------------------------------------------------- */

static uint64_t clock_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/*
 * The engine releases the lock after each slice and takes it again at once, before a
 * thread that waits for it has woken. Such a thread may hold the BQL: it is the next.
 */
void ernic_pci_lock(ErnicPci *d)
{
    qemu_mutex_lock(&d->next);
    qemu_mutex_lock(&d->lock);
    qemu_mutex_unlock(&d->next);
}

void ernic_pci_unlock(ErnicPci *d)
{
    qemu_mutex_unlock(&d->lock);
}

uint64_t ernic_pci_enter(ErnicPci *d)
{
    ernic_pci_lock(d);
    return clock_now();
}

/*
 * With the timing model or under -icount, nothing may depend on when the main loop
 * runs. Timers do the work, because -icount runs a timer at the instruction where it
 * is due, and MSI-X messages are sent at once.
 */
bool ernic_pci_virtual_time(const ErnicPci *d)
{
    return d->profile || icount_enabled();
}

static uint64_t host_clock(void)
{
    return get_clock();
}

ErnicClock *ernic_pci_clock(const ErnicPci *d)
{
    return ernic_pci_virtual_time(d) ? NULL : host_clock;
}

void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    if (ernic_pci_gone(d)) {
        return;                 /* timers and bottom halves no longer exist */
    }
    if (ernic_pci_virtual_time(d)) {
        timer_mod_ns(timer, clock_now());
    } else {
        qemu_bh_schedule(bh);
    }
}

/*
 * Under -icount the virtual time stands still while timers run: a timer that sets itself
 * to the current time runs again at once, and the main loop does nothing else. After
 * some runs at one time the next one is therefore later, so that time passes while work
 * is pending.
 */
void ernic_pci_continue(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    int64_t now = clock_now();

    if (ernic_pci_gone(d)) {
        return;
    }
    if (!ernic_pci_virtual_time(d)) {
        qemu_bh_schedule(bh);
        return;
    }
    if (timer_pending(timer)) {
        return;
    }
    d->runs_here = d->ran_at == now ? d->runs_here + 1 : 0;
    d->ran_at = now;
    if (icount_enabled() && d->runs_here >= RUNS_AT_ONE_TIME) {
        now += RUNS_NS;
    }
    timer_mod_ns(timer, now);
}

void ernic_pci_kick(ErnicPci *d)
{
    ernic_pci_schedule(d, &d->kick, d->bh);
}

static bool irq_at_once(const ErnicPci *d)
{
    return ernic_pci_virtual_time(d) && !d->thread;
}

void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work)
{
    MemReentrancyGuard *guard = &DEVICE(d)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    guard->engaged_in_io = true;
    work(d);
    guard->engaged_in_io = engaged;
}

/* The ERNIC face uses the last vector, its side stream the last but one. */
static uint64_t pg332_vectors(const ErnicPci *d, uint32_t risen)
{
    uint32_t last = d->cfg.num_vectors - 1;
    uint64_t vectors = 0;

    for (; risen; risen &= risen - 1) {
        vectors |= 1ull << (last - MIN(ctz32(risen), last));
    }
    return vectors;
}

static uint64_t pending_vectors(const ErnicPci *d)
{
    return qatomic_read(&d->irq_pending) |
           pg332_vectors(d, qatomic_read(&d->pg332.risen));
}

/* Takes the interrupts of @vector; false: there is none, or not any more. */
static bool take_irqs(ErnicPci *d, uint32_t vector)
{
    uint32_t last = d->cfg.num_vectors - 1, risen = 0, i;

    for (i = 0; i < 32; i++) {
        risen |= last - MIN(i, last) == vector ? 1u << i : 0;
    }
    risen &= qatomic_fetch_and(&d->pg332.risen, ~risen);
    return (qatomic_fetch_and(&d->irq_pending, ~(1ull << vector)) >> vector & 1) ||
           risen;
}

/*
 * A message is a write to any address. It may reset or eject this function, or change
 * its power state, before msix_notify() returns: nothing is remembered across it, and
 * calls from inside return at once. A vector is sent at most once in a run. In D3hot
 * the function sends none: they stay pending until it is in D0 again.
 */
static void send_irqs(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t todo = pending_vectors(d);

    if (d->irq_sending) {
        return;
    }
    d->irq_sending = true;
    for (; todo && ernic_pci_powered(d); todo &= todo - 1) {
        if (take_irqs(d, ctz64(todo))) {
            msix_notify(PCI_DEVICE(d), ctz64(todo));
        }
    }
    d->irq_sending = false;
    if (pending_vectors(d) && ernic_pci_powered(d)) {
        ernic_pci_irqs_later(d);        /* from a call inside, or a thread, meanwhile */
    }
    ernic_pci_pg332_intx(d);
}

static void irq_timer(void *opaque)
{
    ernic_pci_guarded(opaque, send_irqs);
}

void ernic_pci_irqs_later(ErnicPci *d)
{
    if (!ernic_pci_gone(d)) {
        qemu_bh_schedule(d->irq_bh);
    }
}

static void schedule_irqs(ErnicPci *d)
{
    if (ernic_pci_gone(d)) {
        return;
    }
    if (irq_at_once(d)) {
        timer_mod_ns(&d->irq_timer, clock_now());
    } else {
        qemu_bh_schedule(d->irq_bh);
    }
}

/* Do received packets wait, for which the engines have room? */
static bool link_waits(ErnicPci *d)
{
    return ernic_pci_host_waits(d) || ernic_pci_netq_waits(d);
}

/*
 * Arms the timer here, once for all changes made with the lock held. @ran: the device's
 * work has just run.
 */
static void leave(ErnicPci *d, bool ran)
{
    uint64_t wake = link_waits(d) ? 0 : MIN(d->wake, d->pg332.wake);

    if (!ernic_pci_working(d) || wake == UINT64_MAX) {
        timer_del(&d->timer);
    } else if (wake <= clock_now()) {
        if (ran) {
            ernic_pci_continue(d, &d->kick, d->bh);
        } else if (!timer_pending(&d->kick)) {
            ernic_pci_kick(d);
        }
    } else {
        timer_mod_ns(&d->timer, MIN(wake, (uint64_t)INT64_MAX));
    }
    if (!ran && ernic_pci_netq_unsent(d)) {
        ernic_pci_kick(d);
    }
    ernic_pci_host_changed(d);
    ernic_pci_unlock(d);
    if (irq_at_once(d) && ernic_pci_working(d)) {
        ernic_pci_guarded(d, send_irqs);
    }
}

void ernic_pci_leave(ErnicPci *d)
{
    leave(d, false);
}

/* The faces take turns in running first. */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now)
{
    d->pg332.first = !d->pg332.first;
    if (d->pg332.first) {
        ernic_pci_pg332_run(d, now);
    }
    ernic_run(d->engine, now);
    if (!d->pg332.first) {
        ernic_pci_pg332_run(d, now);
    }
}

/*
 * The machine counts as stopped before its devices learn of it. Meanwhile timers may
 * run, and QEMU would queue the frames that are sent and drop them. The work is done
 * when the machine runs again, at the same virtual time.
 */
static void env_work(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);

    if (!runstate_is_running()) {
        trace_ernic_pci_not_running(ernic_pci_id(d), now);
        ernic_pci_unlock(d);
        return;
    }
    if (ernic_pci_working(d)) {
        ernic_pci_netdev_run(d, now);
        ernic_pci_verbs_run(d, now);
        ernic_pci_engines_run(d, now);
        ernic_pci_host_run(d, now);
        ernic_pci_netq_deliver(d, now);
    }
    ernic_pci_rx_slice(d);              /* for frames of the netdev, until the next run */
    leave(d, true);
    if (!d->thread) {
        ernic_pci_netq_run(d);
    }
}

/* ---- guest memory --------------------------------------------------------- */

/*
 * Without the BQL, an access must never reach a device or write to ROM, because
 * the memory core would take the BQL for that. The guest may change the memory
 * layout at any time; only a mapping keeps its meaning. Reduces *@len to what can
 * be mapped at once. NULL: not RAM.
 */
static void *env_map(ErnicPci *d, uint64_t addr, hwaddr *len, bool write)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(d));
    hwaddr xlat, n = *len;
    ram_addr_t offset;
    void *map;

    if (!memory_access_is_direct(
            address_space_translate(as, addr, &xlat, &n, write, DMA_ATTRS),
            write, DMA_ATTRS)) {
        return NULL;
    }
    map = address_space_map(as, addr, len, write, DMA_ATTRS);
    if (map && !memory_region_from_host(map, &offset)) {
        /* No longer RAM: this is a bounce buffer, which is not written back. */
        address_space_unmap(as, map, *len, write, 0);
        map = NULL;
    }
    return map;
}

static void env_unmap(ErnicPci *d, void *map, hwaddr len, bool write)
{
    address_space_unmap(pci_get_address_space(PCI_DEVICE(d)), map, len, write,
                        write ? len : 0);
}

static bool env_copy(ErnicPci *d, uint64_t addr, uint8_t *buf, uint64_t len,
                     bool write)
{
    hwaddr n;
    void *map;

    smp_mb();                   /* keep accesses in the order of the calls */
    for (; len; addr += n, buf += n, len -= n) {
        n = len;
        map = env_map(d, addr, &n, write);
        if (!map) {
            return false;
        }
        memcpy(write ? map : buf, write ? buf : map, n);
        env_unmap(d, map, n, write);
    }
    return true;
}

static bool env_access(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                       bool write)
{
    if (d->thread) {
        return env_copy(d, addr, buf, len, write);
    }
    return pci_dma_rw(PCI_DEVICE(d), addr, buf, len,
                      write ? DMA_DIRECTION_FROM_DEVICE
                            : DMA_DIRECTION_TO_DEVICE, DMA_ATTRS) == MEMTX_OK;
}

bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write)
{
    RCU_READ_LOCK_GUARD();

    if (ernic_pci_gone(d)) {
        return false;           /* it has no address space any more */
    }
    if (addr >= ERNIC_ADDR_MEMORY) {
        return ernic_pci_mem_rw(d, addr, buf, len, write);
    }
    if (addr + len < addr || !env_access(d, addr, buf, len, write)) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), addr, len, write);
        return false;
    }
    return true;
}

static bool env_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    return ernic_pci_dma(env, addr, buf, len, false);
}

static bool env_dma_write(void *env, uint64_t addr, const void *buf,
                          uint64_t len)
{
    return ernic_pci_dma(env, addr, (void *)buf, len, true);
}

static uint64_t atomic_result(ErnicAtomicOp op, uint64_t old, uint64_t arg,
                              uint64_t compare)
{
    if (op == ERNIC_ATOMIC_FETCH_ADD) {
        return old + arg;
    }
    return op == ERNIC_ATOMIC_WRITE || old == compare ? arg : old;
}

/* Works on the host's memory, so that it is atomic for guest processors too. */
static uint64_t atomic_on(uint64_t *word, ErnicAtomicOp op, uint64_t arg,
                          uint64_t compare)
{
    uint64_t seen, was;

    smp_mb();
    was = qatomic_read(word);
    do {
        seen = was;
        was = qatomic_cmpxchg(word, seen,
                              cpu_to_le64(atomic_result(op, le64_to_cpu(seen),
                                                        arg, compare)));
    } while (was != seen);
    return le64_to_cpu(was);
}

static bool env_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op,
                             uint64_t arg, uint64_t compare, uint64_t *old)
{
    ErnicPci *d = env;
    hwaddr len = sizeof(*old);
    uint64_t *word;

    RCU_READ_LOCK_GUARD();
    if (ernic_pci_gone(d)) {
        return false;
    }
    if (addr >= ERNIC_ADDR_MEMORY) {
        word = ernic_pci_mem_word(d, addr);
        if (word) {
            *old = atomic_on(word, op, arg, compare);
            ernic_pci_mem_dirty(d, addr, sizeof(*word));
        }
        return word;
    }
    word = env_map(d, addr, &len, true);
    if (!word || len < sizeof(*old)) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), addr, sizeof(*old), true);
        if (word) {
            env_unmap(d, word, len, true);
        }
        return false;
    }
    *old = atomic_on(word, op, arg, compare);
    env_unmap(d, word, len, true);
    return true;
}

/* ---- link, interrupts, time ----------------------------------------------- */

/* Delivers to the other face of this function directly, without the link. */
static bool to_face(Ernic *e, uint64_t now, const ErnicTrain *train)
{
    if (!e || !ernic_expects(e, now, train)) {
        return false;
    }
    ernic_rx(e, now, train);
    return true;
}

/* The links of a device that is gone lose every train. */
static bool to_link(ErnicPci *d, ErnicPciFace face, const ErnicTrain *train)
{
    if (ernic_pci_gone(d)) {
        return true;
    }
    return ernic_pci_host_link(d) ? ernic_pci_host_tx(d, face, train)
                                  : ernic_pci_netdev_tx(d, face, train);
}

/*
 * Frames that software composed go to the netdev, also if RoCE uses a link of the host.
 * Packets of that link must not wait for a full netdev: with both links, a frame
 * that the netdev does not take is lost.
 */
static bool frame_to_netdev(ErnicPci *d, const ErnicTrain *train)
{
    if (ernic_pci_netdev_tx(d, ERNIC_PCI_VERBS, train)) {
        return true;
    }
    if (!ernic_pci_host_link(d)) {
        return false;
    }
    qatomic_inc(&d->net.eth.tx_errors);         /* the main loop counts there too */
    trace_ernic_pci_frame_lost(ernic_pci_id(d), train->len);
    return true;
}

static bool env_tx(void *env, const ErnicTrain *train)
{
    ErnicPci *d = env;

    if (train->frame) {
        return frame_to_netdev(d, train);
    }
    return to_face(d->pg332.engine, d->engine->now, train) ||
           to_link(d, ERNIC_PCI_VERBS, train);
}

/*
 * With a link of the host, all packets have departed that it has taken. Frames in the
 * netdev beside it do not count: packets of that link do not wait for them.
 */
static uint64_t departed(const ErnicPci *d, ErnicPciFace face)
{
    return ernic_pci_host_link(d) ? UINT64_MAX : ernic_pci_netdev_departed(d, face);
}

static uint64_t env_tx_departed(void *env)
{
    return departed(env, ERNIC_PCI_VERBS);
}

/* A slice of work for packets of a link, for both faces. */
void ernic_pci_rx_slice(ErnicPci *d)
{
    ernic_slice(d->engine);
    if (d->pg332.engine) {
        ernic_slice(d->pg332.engine);
    }
}

bool ernic_pci_rx_slice_left(const ErnicPci *d)
{
    return ernic_slice_left(d->engine) &&
           (!d->pg332.engine || ernic_slice_left(d->pg332.engine));
}

void ernic_pci_rx_work(ErnicPci *d, uint32_t accesses, uint32_t bytes)
{
    if (d->thread) {
        ernic_pci_netq_work(d, accesses, bytes);
    } else {
        ernic_link_work(d->engine, accesses, bytes);
    }
}

void ernic_pci_tx_ready(ErnicPci *d, uint64_t now)
{
    d->pg332.first = !d->pg332.first;
    if (d->pg332.engine && d->pg332.first) {
        ernic_tx_ready(d->pg332.engine, now);
    }
    ernic_tx_ready(d->engine, now);
    if (d->pg332.engine && !d->pg332.first) {
        ernic_tx_ready(d->pg332.engine, now);
    }
}

/*
 * A packet that neither face expects goes to the only face that has the address,
 * or else to a face that is in use. That face drops and counts it.
 */
static void rx_one(ErnicPci *d, uint64_t now, const ErnicTrain *train)
{
    Ernic *pg332 = d->pg332.engine;
    bool its = pg332 && (!ernic_pci_verbs_enabled(d) ||
                         ernic_expects(pg332, now, train) ||
                         (ernic_has_address(pg332, train) &&
                          !ernic_has_address(d->engine, train)));

    ernic_rx(its ? pg332 : d->engine, now, train);
}

/* Where two faces share an endpoint, the address that a packet is for chooses. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train)
{
    ErnicTrain packet;
    uint32_t pos;

    if (!d->pg332.engine || !ernic_path_open(d->engine, train)) {
        rx_one(d, now, train);
        return;
    }
    for (pos = 0; pos < train->len; pos += packet.len) {
        ernic_path_packet(d->engine, train, pos, &packet);
        rx_one(d, now, &packet);
    }
}

uint32_t ernic_pci_rx_room(const ErnicPci *d)
{
    uint32_t room = ernic_rx_room(d->engine);

    return d->pg332.engine ? MIN(room, ernic_rx_room(d->pg332.engine)) : room;
}

void ernic_pci_irq(ErnicPci *d, uint16_t vector)
{
    trace_ernic_pci_irq(ernic_pci_id(d), vector);
    qatomic_or(&d->irq_pending, 1ull << vector);
    schedule_irqs(d);           /* ernic_pci_leave() may send it earlier */
}

static void env_irq(void *env, uint16_t vector)
{
    ernic_pci_irq(env, vector);
}

static void env_wake_at(void *env, uint64_t ns)
{
    ErnicPci *d = env;

    d->wake = ns;
}

const ErnicEnvOps ernic_pci_env_ops = {
    .dma_read = env_dma_read,
    .dma_write = env_dma_write,
    .dma_atomic64 = env_dma_atomic64,
    .tx = env_tx,
    .tx_departed = env_tx_departed,
    .irq = env_irq,
    .wake_at = env_wake_at,
};

static bool pg332_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    return ernic_pci_shell_dma(env, addr, buf, len, false);
}

static bool pg332_dma_write(void *env, uint64_t addr, const void *buf,
                            uint64_t len)
{
    return ernic_pci_shell_dma(env, addr, (void *)buf, len, true);
}

/* Never called: PG332 has no atomics, and none of its keys permits one. */
static bool pg332_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op,
                               uint64_t arg, uint64_t compare, uint64_t *old)
{
    return false;
}

static bool pg332_tx(void *env, const ErnicTrain *train)
{
    ErnicPci *d = env;

    return (ernic_pci_verbs_enabled(d) &&
            to_face(d->engine, d->pg332.engine->now, train)) ||
           to_link(d, ERNIC_PCI_PG332, train);
}

static uint64_t pg332_tx_departed(void *env)
{
    return departed(env, ERNIC_PCI_PG332);
}

/* Kept apart from irq_pending, which a reset of the verbs face clears. */
static void pg332_irq(void *env, uint16_t vector)
{
    ErnicPci *d = env;

    qatomic_or(&d->pg332.risen, 1u << vector);
    schedule_irqs(d);           /* ernic_pci_leave() may send it earlier */
}

static void pg332_wake_at(void *env, uint64_t ns)
{
    ErnicPci *d = env;

    d->pg332.wake = ns;
}

static void pg332_violation(void *env, const ErnicReport *report)
{
    ernic_pci_pg332_warn(env, report);
}

const ErnicEnvOps ernic_pci_pg332_env_ops = {
    .dma_read = pg332_dma_read,
    .dma_write = pg332_dma_write,
    .dma_atomic64 = pg332_dma_atomic64,
    .tx = pg332_tx,
    .tx_departed = pg332_tx_departed,
    .irq = pg332_irq,
    .wake_at = pg332_wake_at,
    .violation = pg332_violation,
};

/* ---- life ----------------------------------------------------------------- */

static void env_drained(void *opaque)
{
}

void ernic_pci_drain(ErnicPci *d)
{
    if (d->thread) {
        aio_wait_bh_oneshot(d->ctx, env_drained, d);
    }
    ernic_pci_guarded(d, send_irqs);
}

/*
 * The device's work accesses only RAM, never its own registers. Its bottom half
 * therefore needs no re-entrancy guard; with an iothread, a guard would refuse
 * concurrent register accesses. Interrupts do need one.
 */
static void open_context(ErnicPci *d)
{
    if (d->thread) {
        object_ref(OBJECT(d->thread));
        d->ctx = d->fd_ctx = iothread_get_aio_context(d->thread);
        aio_timer_init(d->ctx, &d->timer, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                       env_work, d);
        aio_timer_init(d->ctx, &d->kick, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                       env_work, d);
    } else {
        d->ctx = qemu_get_aio_context();
        d->fd_ctx = iohandler_get_aio_context();
        timer_init_ns(&d->timer, QEMU_CLOCK_VIRTUAL, env_work, d);
        timer_init_ns(&d->kick, QEMU_CLOCK_VIRTUAL, env_work, d);
    }
    d->bh = aio_bh_new(d->ctx, env_work, d);
}

static void close_context(ErnicPci *d)
{
    timer_del(&d->timer);
    timer_del(&d->kick);
    g_clear_pointer(&d->bh, qemu_bh_delete);
    ernic_pci_drain(d);
}

void ernic_pci_env_init(ErnicPci *d)
{
    qemu_mutex_init(&d->next);
    qemu_mutex_init(&d->lock);
    qemu_mutex_init(&d->db_lock);
    d->wake = d->pg332.wake = UINT64_MAX;
    open_context(d);
    timer_init_ns(&d->irq_timer, QEMU_CLOCK_VIRTUAL, irq_timer, d);
    d->irq_bh = qemu_bh_new_guarded(send_irqs, d,
                                    &DEVICE(d)->mem_reentrancy_guard);
}

void ernic_pci_env_to_main(ErnicPci *d)
{
    IOThread *thread = d->thread;

    close_context(d);
    d->thread = NULL;
    open_context(d);
    object_unref(OBJECT(thread));
}

void ernic_pci_env_stop(ErnicPci *d)
{
    close_context(d);
    timer_del(&d->irq_timer);
    g_clear_pointer(&d->irq_bh, qemu_bh_delete);
}

void ernic_pci_env_fini(ErnicPci *d)
{
    if (d->thread) {
        object_unref(OBJECT(d->thread));
    }
    qemu_mutex_destroy(&d->next);
    qemu_mutex_destroy(&d->lock);
    qemu_mutex_destroy(&d->db_lock);
}
