/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys that are opened and closed under traffic: fast registration, memory
 * windows of both types, local and remote invalidation.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/mr.h"
#include "sim.h"

#define FAST_PAGES  6
#define UNDER_BYTES 12000

static uint32_t alloc_key(SimQp *qp, SimWin *win)
{
    SimHost *h = qp->host;
    bool fast = win->kind == ERNIC_MR_FAST;
    struct ernic_cmd cmd = sim_cmd_new(h, fast ? ERNIC_CMD_MR_ALLOC :
                                                 ERNIC_CMD_MW_ALLOC);

    if (fast) {
        cmd.mr_alloc.pd = cpu_to_le32(h->pd);
        cmd.mr_alloc.max_pages = cpu_to_le32(FAST_PAGES);
    } else {
        cmd.mw_alloc.pd = cpu_to_le32(h->pd);
        cmd.mw_alloc.type = win->kind == ERNIC_MR_WINDOW_1 ? 1 : 2;
    }
    return sim_cmd_ok(h, &cmd);
}

/* The window keeps its pages and its list for all lives of its queue pair. */
static void take_pages(SimHost *h, SimWin *win)
{
    uint32_t i;

    if (win->mr.page) {
        return;
    }
    win->list = sim_mem_take(h, FAST_PAGES * 8, 8, SIM_SH_READ | SIM_SH_RING);
    win->mr.page = g_new0(uint64_t, FAST_PAGES);
    for (i = 0; i < FAST_PAGES; i++) {
        win->mr.page[i] = h->mem.base + h->mem.page[--h->mem.pages];
    }
}

void sim_win_init(SimQp *qp)
{
    SimHost *h = qp->host;
    uint32_t i;

    if (qp->type != ERNIC_QPT_RC || sim_percent(&qp->rng, 40)) {
        return;
    }
    for (i = 0; i < SIM_WINS; i++) {
        SimWin *win = &qp->win[i];

        win->kind = ERNIC_MR_FAST + sim_below(&qp->rng, 3);
        /* Only the kernel registers by work request. */
        if (win->kind == ERNIC_MR_FAST && (h->uctx || h->mem.pages < 64)) {
            win->kind = ERNIC_MR_WINDOW_2;
        }
        if (win->kind == ERNIC_MR_FAST) {
            take_pages(h, win);
        }
        win->mr.host = h;
        win->mr.parent = NULL;
        win->mr.length = 0;
        win->state = SIM_WIN_IDLE;
        win->users = 0;
        win->mr.key = alloc_key(qp, win);
        if (!win->mr.free) {
            win->mr.free = g_array_new(FALSE, FALSE, sizeof(SimExtent));
        }
        qp->wins++;
    }
}

static void release_under(SimWin *win)
{
    if (win->under.mr && win->under.got_len) {
        sim_piece_free(&win->under);
    }
    win->under.mr = NULL;
}

void sim_win_drop(SimQp *qp)
{
    SimHost *h = qp->host;
    uint32_t i;

    for (i = 0; i < qp->wins; i++) {
        SimWin *win = &qp->win[i];
        bool fast = win->kind == ERNIC_MR_FAST;
        struct ernic_cmd cmd = sim_cmd_new(h, fast ? ERNIC_CMD_MR_FREE
                                                   : ERNIC_CMD_MW_FREE);

        cmd.handle.handle = cpu_to_le32(win->mr.key);
        sim_cmd_ok(h, &cmd);
        release_under(win);
        if (fast) {
            SimPiece all = { .mr = &win->mr, .len = win->mr.length };

            sim_piece_shadow(&all, 0);
        }
    }
    qp->wins = 0;
}

/* ---- opening and closing ------------------------------------------------- */

static void open_fast(SimQp *qp, SimWin *win)
{
    SimMr *mr = &win->mr;

    mr->parent = NULL;
    mr->page_shift = 12;
    mr->npages = FAST_PAGES;
    mr->iova = sim_rng(&qp->rng) >> 2;
    mr->offset = mr->iova & 4095;
    mr->length = FAST_PAGES * SIM_PAGE - mr->offset -
                 sim_below(&qp->rng, SIM_PAGE);
    mr->access = win->reads ? ERNIC_ACCESS_REMOTE_READ
                            : ERNIC_ACCESS_REMOTE_WRITE |
                              ERNIC_ACCESS_LOCAL_WRITE;
    if (win->reads) {
        SimPiece all = { .mr = mr, .len = mr->length };

        mr->pattern = sim_rng(&qp->rng);
        sim_piece_fill(&all, mr->pattern, 0);
        sim_piece_shadow(&all, SIM_SH_READ);
    }
}

/* A window covers a part of a region of the same host. */
static bool open_window(SimQp *qp, SimWin *win)
{
    SimHost *h = qp->host;
    SimMr *mr = &win->mr;

    if (win->reads || !sim_piece_take(h->remote, &qp->rng, UNDER_BYTES, 1,
                                      &win->under)) {
        win->reads = true;
        win->under = (SimPiece) {
            .mr = h->source, .len = UNDER_BYTES,
            .off = sim_below(&qp->rng, h->source->length - UNDER_BYTES),
        };
    }
    if (win->under.mr->zero_based) {
        release_under(win);
        return false;
    }
    mr->parent = win->under.mr;
    mr->parent_off = win->under.off;
    mr->length = win->under.len;
    mr->iova = mr->parent->iova + mr->parent_off;
    mr->access = win->reads ? ERNIC_ACCESS_REMOTE_READ
                            : ERNIC_ACCESS_REMOTE_WRITE;
    if (win->reads) {
        SimPiece all = { .mr = mr, .len = mr->length };

        /* The source through the window: with its own content and key. */
        mr->pattern = sim_rng(&qp->rng);
        if (!win->under.got_len) {
            mr->pattern = win->under.mr->pattern;
            mr->pattern_off = win->under.off;
        } else {
            sim_piece_fill(&all, mr->pattern, 0);
        }
    }
    return true;
}

static uint32_t next_variant(uint32_t key)
{
    return (key & ~0xffu) | ((key + 1) & 0xff);
}

static bool open_key(SimQp *qp, SimWin *win)
{
    SimExtent all = { 0 };
    bool fast = win->kind == ERNIC_MR_FAST;
    SimMsg *m;

    win->reads = sim_percent(&qp->rng, 50);
    win->mr.pattern_off = 0;
    if (fast) {
        open_fast(qp, win);
    } else if (!open_window(qp, win)) {
        return false;
    }
    all.len = win->mr.length;
    g_array_set_size(win->mr.free, 0);
    g_array_append_val(win->mr.free, all);
    m = sim_msg_new(qp, fast ? ERNIC_WR_REG_MR : ERNIC_WR_BIND_MW, 0, true);
    m->win = win;
    m->rkey = win->mr.key;
    win->mr.key = next_variant(win->mr.key);
    win->state = SIM_WIN_OPENING;
    sim_post_extra(qp, m);
    return true;
}

static void close_key(SimQp *qp, SimWin *win)
{
    bool unbind = win->kind == ERNIC_MR_WINDOW_1;
    SimMsg *m = sim_msg_new(qp, unbind ? ERNIC_WR_BIND_MW : ERNIC_WR_LOCAL_INV,
                            0, true);

    m->win = win;
    m->rkey = win->mr.key;
    if (unbind) {
        win->mr.key = next_variant(win->mr.key);
        win->mr.length = 0;
    }
    win->state = SIM_WIN_CLOSING;
    sim_post_extra(qp, m);
}

bool sim_win_step(SimQp *qp)
{
    uint32_t i;

    for (i = 0; i < qp->wins && sim_sq_room(qp) && !qp->failed; i++) {
        SimWin *win = &qp->win[i];

        if (win->state == SIM_WIN_IDLE && sim_percent(&qp->rng, 30) &&
            qp->peer->next < qp->peer->planned) {
            return open_key(qp, win);
        }
        if (win->state == SIM_WIN_OPEN && !win->users &&
            sim_percent(&qp->rng, 8)) {
            close_key(qp, win);
            return true;
        }
    }
    return false;
}

static SimWin *find(SimQp *target, bool (*fits)(const SimWin *, bool), bool arg)
{
    uint32_t i;

    for (i = 0; i < target->wins; i++) {
        if (target->win[i].state == SIM_WIN_OPEN && fits(&target->win[i], arg)) {
            return &target->win[i];
        }
    }
    return NULL;
}

static bool serves(const SimWin *win, bool reads)
{
    return win->reads == reads;
}

static bool may_be_taken_back(const SimWin *win, bool unused)
{
    return win->kind != ERNIC_MR_WINDOW_1 && !win->users;
}

SimWin *sim_win_pick(SimQp *target, bool reads)
{
    return sim_percent(&target->rng, 60) ? find(target, serves, reads) : NULL;
}

SimWin *sim_win_to_invalidate(SimQp *target)
{
    SimWin *win = find(target, may_be_taken_back, false);

    if (win) {
        win->state = SIM_WIN_CLOSING;
    }
    return win;
}

/* One request less uses the key. */
void sim_win_put(SimWin *win)
{
    g_assert(win->users);
    win->users--;
}

void sim_win_closed(SimWin *win)
{
    win->state = SIM_WIN_IDLE;
    release_under(win);
}

/* Request @m has ended: update the state of the key that it named. */
void sim_win_done(SimMsg *m, bool ok)
{
    SimWin *win = m->win;

    if (!win) {
        return;
    }
    m->win = NULL;
    switch (m->op) {
    case ERNIC_WR_REG_MR:
    case ERNIC_WR_BIND_MW:
    case ERNIC_WR_LOCAL_INV:
        if (win->state == SIM_WIN_OPENING && ok) {
            win->state = SIM_WIN_OPEN;
        } else if (win->state == SIM_WIN_CLOSING && ok) {
            sim_win_closed(win);
        }
        break;
    case ERNIC_WR_SEND_INV:
        break;                      /* the receiver sees it happen */
    default:
        /* After an error the peer may still use it, until both are reset. */
        if (ok) {
            sim_win_put(win);
        }
    }
}
