/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of regions on demand: a dialogue whose region has absent pages,
 * the faults that software gets, and its two answers.
 */
#ifndef ODP_FIXTURE_H
#define ODP_FIXTURE_H

#include "dialog.h"
#include "trace-mark.h"

#define PAGE 4096u
#define RNR (ERNIC_AETH_RNR_NAK | 12)
#define R ERNIC_PAGE_READ
#define W (ERNIC_PAGE_READ | ERNIC_PAGE_WRITE)
#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC | \
             ERNIC_ACCESS_MW_BIND)

/* The head of a test with such a region. */
#define DEMAND_TEST(path, type, fn) DIALOG_TEST_BY(path, open_demand(d, type), fn)

/* Replace the region of a dialogue by one on demand, with all pages absent. */
static inline void open_demand(Dialog *d, uint8_t type)
{
    dlg_open(d, type);
    d->key = fake_reg_demand(d->e, d->pd, d->mem, DLG_MEM, ALL);
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
}

/* The status of giving @n pages from @first on the rights @flags. */
static inline uint8_t set_status(Dialog *d, uint64_t first, uint32_t n, uint32_t flags)
{
    return fake_set_pages(d->e, d->key, first, n, d->mem + first * PAGE, flags);
}

/* Give @n pages from @first on the rights @flags. */
static inline void set(Dialog *d, uint64_t first, uint32_t n, uint32_t flags)
{
    OK(set_status(d, first, n, flags));
}

/* Take the pages away: they are absent. */
static inline void unset(Dialog *d, uint64_t first, uint32_t n)
{
    OK(fake_set_pages(d->e, d->key, first, n, 0, 0));
}

/* The fault is for @len bytes at @off; returns its event. */
static inline struct ernic_eqe faulted(Dialog *d, uint64_t off, uint32_t len, bool write)
{
    struct ernic_eqe eqe = dlg_event_of(d, ERNIC_EV_PAGE_FAULT, d->qp.qpn);

    IS(eqe.detail, d->key);
    IS(eqe.offset, off);
    IS(eqe.length, len);
    IS(eqe.flags, write ? ERNIC_EQE_WRITE : 0);
    return eqe;
}

/* Software is asked for @len bytes at @off, and provides them all. */
static inline void asked(Dialog *d, uint64_t off, uint32_t len, bool write)
{
    struct ernic_eqe eqe = faulted(d, off, len, write);

    QUIET(d);
    set(d, off / PAGE, (off % PAGE + len - 1) / PAGE + 1, write ? W : R);
    fake_page_resume(d->e, &eqe, false);
}

/* The peer's request @psn met an absent page: RNR NAK, and software provides it. */
static inline void missed(Dialog *d, uint32_t psn, uint32_t msn, uint64_t off,
                          uint32_t len, bool write)
{
    SENT_NAK(d, RNR, psn, msn);
    asked(d, off, len, write);
}

/* Software is asked for @len bytes at @off, and does not have them. */
static inline void refused(Dialog *d, uint64_t off, uint32_t len, bool write)
{
    struct ernic_eqe eqe = faulted(d, off, len, write);

    fake_page_resume(d->e, &eqe, true);
}

#endif /* ODP_FIXTURE_H */
