/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The send queues of each doorbell page whose counters are in records. The store that
 * rings such a queue says no more than that, so a page with few of them can ring by an
 * event without a value, which costs a virtual machine less than a store that the device
 * executes. The engine then reads the records of the page.
 */
#ifndef ERNIC_INTERFACES_COMMON_DB_PAGES_H
#define ERNIC_INTERFACES_COMMON_DB_PAGES_H

#include "interfaces/interface.h"

/* The most such queues of a page with an event: to read more records costs too much. */
#define ERNIC_DB_PAGE_QUEUES    16
/* The most queues that are watched while the environment polls. */
#define ERNIC_DB_WATCHED        8

typedef struct ErnicDbPage {
    uint16_t count;             /* its queues */
    bool crowded;               /* they were more than these, since they were half: */
    uint16_t number[ERNIC_DB_PAGE_QUEUES];
} ErnicDbPage;

/* Derived from the queues, but for what the environment says. */
struct ErnicDbPages {
    ErnicDbPage page[ERNIC_DB_PAGES];
    uint8_t events[ERNIC_DB_PAGES / 8];         /* pages with an event: bit by number */
    uint32_t num_events;        /* so many pages */
    uint32_t queues;            /* of all pages */
    uint32_t next;              /* queue whose record is read next; 0: none */
    bool again;                 /* and then all of them from the first one on */
    uint32_t settling;          /* the same of ernic_db_page_settle(), which goes on */
    bool held;                  /* nothing is read: the environment says so */
    bool polled;                /* it polls, these queues: */
    uint32_t num_watched;
    uint32_t watched[ERNIC_DB_WATCHED];
};

ErnicDbPages *ernic_db_pages_new(void);
/* No page has an event any more. */
void ernic_db_pages_free(Ernic *e);

/*
 * Send queue @number, which has its doorbell in @page, was created, or is gone. A page
 * that cannot be allocated is ignored.
 */
void ernic_db_page_add(Ernic *e, uint32_t page, uint32_t number);
void ernic_db_page_remove(Ernic *e, uint32_t page, uint32_t number);
/* @page was allocated, or deallocated; or all pages were deallocated. */
void ernic_db_page_changed(Ernic *e, uint32_t page);
void ernic_db_pages_gone(Ernic *e);
/* There is no queue any more. */
void ernic_db_pages_empty(Ernic *e);

/*
 * A doorbell of @page was rung: take what the records of its queues announce, as their
 * own doorbells would.
 */
void ernic_db_page_rung(Ernic *e, uint32_t page);
/*
 * The same, for the doorbells whose event may be on its way. False: the slice has ended
 * before the last queue, and the same call goes on.
 */
bool ernic_db_page_settle(Ernic *e, uint32_t page);
/* Any doorbell of any page may have been rung: the same for all queues, by and by. */
void ernic_db_pages_rung(Ernic *e);
/* While held, no record is read: pages that are rung meanwhile are looked at later. */
void ernic_db_pages_hold(Ernic *e, bool on);
/* Go on with that until the slice of work ends; whether there is more. */
void ernic_db_pages_run(Ernic *e);
bool ernic_db_pages_have_work(const Ernic *e);

/*
 * A queue has run empty. True: it is watched, and need not ask to be rung. A queue that
 * is not watched any more, as ernic_db_poll() says, has a turn.
 */
bool ernic_db_watch(Ernic *e, uint32_t number);
/*
 * Read the records of these queues; from now on there are such queues, or none. Whether
 * one is not watched any more.
 */
bool ernic_db_poll(Ernic *e, bool on);

/* After loading: which queues each page has. */
void ernic_db_pages_derive(Ernic *e);
/* Whether that is what is known of them. */
bool ernic_db_pages_ok(const Ernic *e);

#endif /* ERNIC_INTERFACES_COMMON_DB_PAGES_H */
