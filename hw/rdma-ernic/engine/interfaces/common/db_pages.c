/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pages of doorbells that ring by events, and the queues of each.
 *
 * A page rings by an event if it is allocated and has had such a queue since then,
 * because to make and remove an event takes KVM longer than many doorbells. One that has
 * had too many queues gets an event again when it has half as many, so that the others
 * are searched for once in as many commands.
 *
 * A page keeps its event while it has no queue, unless others need it: no more pages than
 * may have an event have one for the queues of later times.
 *
 * A page with an event has a list of its few queues. The walk over all queues is for a
 * machine that starts, because events are not part of a saved state, and for a page that
 * rings while its event is being removed because it has too many queues.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/common/db_pages.h"
#include "trace.h"

static const ErnicDbPageOps *page_ops(const Ernic *e)
{
    return e->interface->db_pages;
}

static bool has_event(const Ernic *e, uint32_t page)
{
    return e->db_pages->events[page / 8] & 1u << page % 8;
}

static void set_event(Ernic *e, uint32_t page, bool on)
{
    if (on == has_event(e, page) || !e->ops->page_event) {
        return;
    }
    e->db_pages->events[page / 8] ^= 1u << page % 8;
    e->db_pages->num_events += on ? 1 : -1;
    trace_ernic_db_page_event(page, on);
    e->ops->page_event(e->env, page, on);
}

/* ---- the queues of a page --------------------------------------------------- */

/* The event of a page without queues, if there are too many: one for each change. */
static void take_idle_event(Ernic *e)
{
    ErnicDbPages *pages = e->db_pages;
    uint32_t page;

    for (page = 0; page < ERNIC_DB_PAGES && pages->num_events > ERNIC_DB_EVENTS; page++) {
        if (has_event(e, page) && !pages->page[page].count) {
            set_event(e, page, false);
        }
    }
    ernic_charge_walk(e, page);
}

static void update(Ernic *e, uint32_t page)
{
    const ErnicDbPage *p = &e->db_pages->page[page];

    set_event(e, page, (p->count || has_event(e, page)) && !p->crowded &&
                       page_ops(e)->exists(e, page));
    if (e->db_pages->num_events > ERNIC_DB_EVENTS) {
        take_idle_event(e);
    }
}

static bool in_range(const Ernic *e, uint32_t page)
{
    return page >= page_ops(e)->first && page < ERNIC_DB_PAGES;
}

void ernic_db_page_add(Ernic *e, uint32_t page, uint32_t number)
{
    ErnicDbPage *p = &e->db_pages->page[in_range(e, page) ? page : 0];

    if (!in_range(e, page)) {
        return;
    }
    if (p->count < ERNIC_DB_PAGE_QUEUES && !p->crowded) {
        p->number[p->count] = number;
    } else {
        p->crowded = true;
    }
    p->count++;
    e->db_pages->queues++;
    update(e, page);
}

/* The queues of a page that was crowded, but for @gone, which are few again. */
static void list(Ernic *e, uint32_t page, uint32_t gone)
{
    const ErnicDbPageOps *ops = page_ops(e);
    ErnicDbPage *p = &e->db_pages->page[page];
    uint32_t number, n = 0, steps = 0;

    for (number = ops->next(e, 0); number && n < p->count;
         number = ops->next(e, number)) {
        steps++;
        if (number != gone && ops->page_of(e, number) == page) {
            p->number[n++] = number;
        }
    }
    p->crowded = false;
    ernic_charge_objects(e, steps);
}

void ernic_db_page_remove(Ernic *e, uint32_t page, uint32_t number)
{
    ErnicDbPage *p = &e->db_pages->page[in_range(e, page) ? page : 0];
    uint32_t i;

    if (!in_range(e, page)) {
        return;
    }
    g_assert(p->count && e->db_pages->queues);
    p->count--;
    e->db_pages->queues--;
    for (i = 0; !p->crowded && i < p->count; i++) {
        if (p->number[i] == number) {
            p->number[i] = p->number[p->count];
        }
    }
    if (p->crowded && p->count <= ERNIC_DB_PAGE_QUEUES / 2) {
        list(e, page, number);
    }
    update(e, page);
}

void ernic_db_page_changed(Ernic *e, uint32_t page)
{
    update(e, page);
}

void ernic_db_pages_gone(Ernic *e)
{
    uint32_t page;

    for (page = 0; page < ERNIC_DB_PAGES; page++) {
        set_event(e, page, false);
    }
}

void ernic_db_pages_empty(Ernic *e)
{
    ErnicDbPages *pages = e->db_pages;
    uint32_t page;

    memset(pages->page, 0, sizeof(pages->page));
    for (page = 0; page < ERNIC_DB_PAGES; page++) {
        if (has_event(e, page)) {
            update(e, page);
        }
    }
    pages->queues = 0;
    pages->num_watched = 0;
    pages->next = pages->settling = 0;
    pages->again = false;
}

/* ---- doorbells -------------------------------------------------------------- */

static void look(Ernic *e, uint32_t number)
{
    ernic_charge(e, 1);
    page_ops(e)->look(e, number);
}

void ernic_db_page_rung(Ernic *e, uint32_t page)
{
    const ErnicDbPage *p = &e->db_pages->page[page];
    uint32_t i;

    g_assert(page < ERNIC_DB_PAGES);
    ernic_charge(e, ERNIC_WORK_DOORBELL);
    if (!page_ops(e)->exists(e, page)) {
        return;
    }
    if (p->crowded || e->db_pages->held) {
        ernic_db_pages_rung(e);
        return;
    }
    for (i = 0; i < p->count; i++) {
        look(e, p->number[i]);
    }
}

/* The page may have lost its event a moment ago: whether it has one says nothing. */
bool ernic_db_page_settle(Ernic *e, uint32_t page)
{
    const ErnicDbPageOps *ops = page_ops(e);
    ErnicDbPages *pages = e->db_pages;
    uint32_t number;

    if (!in_range(e, page)) {
        return true;
    }
    if (!pages->page[page].crowded) {
        ernic_db_page_rung(e, page);
        return true;
    }
    for (number = pages->settling ?: ops->next(e, 0); number && ernic_work_left(e);
         number = ops->next(e, number)) {
        ernic_charge_objects(e, 1);
        if (ops->page_of(e, number) == page) {
            look(e, number);
        }
    }
    pages->settling = number;
    return !number;
}

void ernic_db_pages_rung(Ernic *e)
{
    ErnicDbPages *pages = e->db_pages;

    if (!pages->queues) {
        return;
    }
    trace_ernic_db_pages_rung(pages->next);
    pages->again = pages->next;
    pages->next = pages->next ?: page_ops(e)->next(e, 0);
}

void ernic_db_pages_hold(Ernic *e, bool on)
{
    e->db_pages->held = on;
}

bool ernic_db_pages_have_work(const Ernic *e)
{
    return e->db_pages->next && !e->db_pages->held;
}

void ernic_db_pages_run(Ernic *e)
{
    const ErnicDbPageOps *ops = page_ops(e);
    ErnicDbPages *pages = e->db_pages;
    uint32_t page;

    while (ernic_db_pages_have_work(e) && ernic_work_left(e)) {
        page = ops->page_of(e, pages->next);
        if (in_range(e, page) && ops->exists(e, page)) {
            look(e, pages->next);
            if (ops->watch) {
                ops->watch(e, pages->next, false);      /* it may have been watched */
            }
        }
        ernic_charge_objects(e, 1);
        pages->next = ops->next(e, pages->next);
        if (!pages->next && pages->again) {
            pages->again = false;
            pages->next = ops->next(e, 0);
        }
    }
}

/* ---- life ------------------------------------------------------------------- */

ErnicDbPages *ernic_db_pages_new(void)
{
    return g_new0(ErnicDbPages, 1);
}

void ernic_db_pages_free(Ernic *e)
{
    if (e->db_pages) {
        ernic_db_pages_gone(e);
        g_free(e->db_pages);
        e->db_pages = NULL;
    }
}

void ernic_db_pages_derive(Ernic *e)
{
    const ErnicDbPageOps *ops = page_ops(e);
    uint32_t number;

    ernic_db_pages_empty(e);
    for (number = ops->next(e, 0); number; number = ops->next(e, number)) {
        ernic_db_page_add(e, ops->page_of(e, number), number);
    }
}

/* Whether @p lists @number, of a page that is not crowded, once. */
static bool lists(const ErnicDbPage *p, uint32_t number)
{
    uint32_t n = 0, i;

    for (i = 0; i < MIN(p->count, ERNIC_DB_PAGE_QUEUES); i++) {
        n += p->number[i] == number;
    }
    return n == 1;
}

bool ernic_db_pages_ok(const Ernic *e)
{
    const ErnicDbPageOps *ops = page_ops(e);
    const ErnicDbPage *p = e->db_pages->page;
    uint16_t count[ERNIC_DB_PAGES] = { };
    uint32_t number, page, sum = 0;

    for (number = ops->next(e, 0); number; number = ops->next(e, number)) {
        page = ops->page_of(e, number);
        if (!in_range(e, page)) {
            continue;
        }
        sum++;
        count[page]++;
        if (!p[page].crowded && !lists(&p[page], number)) {
            return false;
        }
    }
    for (page = 0; page < ERNIC_DB_PAGES; page++) {
        if (p[page].count != count[page] || p[page].crowded > p[page].count) {
            return false;
        }
    }
    return e->db_pages->queues == sum;
}
