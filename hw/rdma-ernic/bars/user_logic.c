/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The port of user logic: records of 8 bytes each way over a character device. The main
 * loop moves them, so that a character device that is slow or closed holds up nobody;
 * the engine keeps what has not left. While the machine is stopped and in D3hot records
 * wait, in both directions.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qapi/error.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "system/replay.h"
#include "system/runstate.h"
#include "bars/user_logic.h"
#include "device/lock.h"
#include "engine/base/budget.h"
#include "hw/rdma-ernic/trace.h"

/* Ports of queue pairs that are looked at in one unit of work. */
#define PORTS_OF_UNIT   32

bool ernic_pci_user_logic_is(const ErnicPci *d)
{
    return d->pg332.user.chr.chr != NULL;
}

bool ernic_pci_user_logic_check(const ErnicPci *d, Error **errp)
{
    if (ernic_pci_user_logic_is(d) && replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "user-logic= and record and replay exclude each other");
        return false;
    }
    return true;
}

/* The machine may be stopping, which the device learns a moment later. */
static bool may_run(const ErnicPci *d)
{
    return ernic_pci_working(d) && runstate_is_running();
}

/* ---- to user logic ------------------------------------------------------------- */

static gboolean has_room(void *unused, GIOCondition condition, void *opaque)
{
    ErnicPci *d = opaque;

    d->pg332.user.watch = 0;
    qemu_bh_schedule(d->pg332.user.bh);
    return G_SOURCE_REMOVE;
}

/* Takes the next record from the engine; it is the engine's until it has left. */
static bool begin_record(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;
    bool is;

    ernic_pci_lock(d);
    is = ernic_user_next(d->pg332.engine, &u->sending);
    ernic_pci_unlock(d);
    u->forgotten = false;
    return is;
}

static void end_record(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;

    u->sent = 0;
    if (!u->forgotten) {
        ernic_pci_lock(d);
        ernic_user_taken(d->pg332.engine, &u->sending);
        ernic_pci_unlock(d);
    }
    u->stats.sent++;
    trace_ernic_pci_user_sent(ernic_pci_id(d), u->sending.kind, u->sending.qpn,
                              u->sending.value);
}

static void stop_sending(ErnicUserLogic *u)
{
    if (u->watch) {
        g_source_remove(u->watch);
        u->watch = 0;
    }
    qatomic_set(&u->open, false);
    u->sent = 0;
}

/*
 * Nobody can read any more, though the connection is there: it would say so again at
 * once, for ever. One that cannot be ended still brings records.
 */
static void lost(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;

    trace_ernic_pci_user_lost(ernic_pci_id(d), u->sent);
    stop_sending(u);
    qemu_chr_fe_disconnect(&u->chr);
}

/* False: there is no record, or no room for all of it. */
static bool send_record(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;
    uint8_t bytes[PG332_USER_RECORD] = { };
    int n;

    if (!u->sent && !begin_record(d)) {
        return false;
    }
    bytes[0] = u->sending.kind;
    stw_le_p(bytes + 2, u->sending.qpn);
    stl_le_p(bytes + 4, u->sending.value);
    n = qemu_chr_fe_write(&u->chr, bytes + u->sent, sizeof(bytes) - u->sent);
    if (!u->open) {
        return false;                   /* the write has found that */
    }
    if (n < 0 && errno != EAGAIN) {
        lost(d);
        return false;
    }
    u->sent += MAX(n, 0);
    if (u->sent == sizeof(bytes)) {
        end_record(d);
        return true;
    }
    trace_ernic_pci_user_waits(ernic_pci_id(d), sizeof(bytes) - u->sent);
    u->watch = qemu_chr_fe_add_watch(&u->chr, G_IO_OUT | G_IO_HUP, has_room, d);
    if (!u->watch) {
        lost(d);                        /* it would never say that there is room */
    }
    return false;
}

static void send_records(ErnicPci *d, ErnicBudget *work)
{
    ErnicUserLogic *u = &d->pg332.user;

    while (u->open && !u->watch && ernic_budget_left(work) && may_run(d)) {
        ernic_budget_charge(work, ERNIC_WORK_FRAME +
                            2 * d->pg332.cfg.max_qp / PORTS_OF_UNIT, 0);
        if (!send_record(d)) {
            return;
        }
    }
}

/* ---- from user logic ----------------------------------------------------------- */

/* Not trusted: @bytes are read once, and the engine checks all but the reserved one. */
static bool execute(ErnicPci *d, uint64_t now, const uint8_t *bytes)
{
    ErnicUserRecord r = {
        .kind = bytes[0], .qpn = lduw_le_p(bytes + 2), .value = ldl_le_p(bytes + 4),
    };

    if (bytes[1]) {
        trace_ernic_guest_user_byte(ernic_pci_id(d), r.kind, bytes[1]);
        return false;
    }
    return ernic_user_ring(d->pg332.engine, now, &r);
}

static void execute_records(ErnicPci *d, ErnicBudget *work)
{
    ErnicUserLogic *u = &d->pg332.user;
    uint32_t at = 0;
    uint64_t now;

    if (u->come < PG332_USER_RECORD || !may_run(d)) {
        return;
    }
    now = ernic_pci_enter(d);
    for (; may_run(d) && u->come - at >= PG332_USER_RECORD && ernic_budget_left(work);
         at += PG332_USER_RECORD) {
        ernic_budget_charge(work, ERNIC_WORK_COMMAND, 0);
        u->stats.received++;
        u->stats.refused += !execute(d, now, u->in + at);
    }
    if (!ernic_pci_gone(d)) {           /* else the port was closed from inside */
        u->come -= at;
        memmove(u->in, u->in + at, u->come);
    }
    ernic_pci_leave(d);                 /* an interrupt may close the port */
}

static int can_receive(void *opaque)
{
    ErnicPci *d = opaque;

    return sizeof(d->pg332.user.in) - d->pg332.user.come;
}

static void receive(void *opaque, const uint8_t *buf, int size)
{
    ErnicPci *d = opaque;
    ErnicUserLogic *u = &d->pg332.user;
    uint32_t len = MIN(size, can_receive(d));

    memcpy(u->in + u->come, buf, len);
    u->come += len;
    /* Not here: a character device that has more calls this again from inside. */
    qemu_bh_schedule(u->bh);
}

/* ---- life ---------------------------------------------------------------------- */

/* The next one to connect begins with a record; it gets the one that was half sent. */
static void disconnect(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;

    stop_sending(u);
    u->come = 0;
}

static void event(void *opaque, QEMUChrEvent what)
{
    ErnicPci *d = opaque;
    ErnicUserLogic *u = &d->pg332.user;

    if (what != CHR_EVENT_OPENED && what != CHR_EVENT_CLOSED) {
        return;
    }
    trace_ernic_pci_user_open(ernic_pci_id(d), what == CHR_EVENT_OPENED,
                              u->come + u->sent);
    disconnect(d);
    qatomic_set(&u->open, what == CHR_EVENT_OPENED);
    qemu_bh_schedule(u->bh);
}

/* One slice, whatever comes: the main loop does other work in between. */
static void run(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicBudget work = ernic_budget_new(d->cfg.clock);

    execute_records(d, &work);
    qemu_chr_fe_accept_input(&d->pg332.user.chr);
    send_records(d, &work);
    if (!ernic_budget_left(&work)) {
        ernic_pci_user_logic_kick(d);   /* the port may have been closed meanwhile */
    }
}

void ernic_pci_user_logic_open(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;

    if (ernic_pci_user_logic_is(d)) {
        u->bh = qemu_bh_new_guarded(run, d, &DEVICE(d)->mem_reentrancy_guard);
        qemu_chr_fe_set_handlers(&u->chr, can_receive, receive, event, NULL, d, NULL,
                                 true);
    }
}

void ernic_pci_user_logic_close(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;

    if (u->bh) {
        qemu_chr_fe_set_handlers(&u->chr, NULL, NULL, NULL, NULL, NULL, NULL, true);
        disconnect(d);
        g_clear_pointer(&u->bh, qemu_bh_delete);
    }
}

/*
 * The rest of a record that has begun is still to come. Records that have come to the
 * destination of a migration wait for the state that arrives.
 */
void ernic_pci_user_logic_reset(ErnicPci *d)
{
    ErnicUserLogic *u = &d->pg332.user;
    uint32_t whole = QEMU_ALIGN_DOWN(u->come, PG332_USER_RECORD);

    u->forgotten = true;
    if (u->bh && !runstate_check(RUN_STATE_INMIGRATE)) {
        u->come -= whole;
        memmove(u->in, u->in + whole, u->come);
        qemu_bh_schedule(u->bh);        /* there is room for more */
    }
}

void ernic_pci_user_logic_has(void *env)
{
    ErnicPci *d = env;

    if (qatomic_read(&d->pg332.user.open)) {
        ernic_pci_user_logic_kick(d);
    }
}

void ernic_pci_user_logic_kick(ErnicPci *d)
{
    if (!ernic_pci_gone(d) && d->pg332.user.bh) {
        qemu_bh_schedule(d->pg332.user.bh);
    }
}
