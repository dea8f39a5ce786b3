/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One page fault at a time for each queue pair: ask, wait, repeat.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/mr.h"
#include "trace.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/sched.h"

static bool same_page(const ErnicPageFault *a, const ErnicPageFault *b)
{
    return a->key == b->key && a->write == b->write &&
           a->off >> ERNIC_PAGE_SHIFT_MIN == b->off >> ERNIC_PAGE_SHIFT_MIN;
}

bool ernic_qp_page_fault(Ernic *e, ErnicQp *qp)
{
    ErnicPageFault *page = &qp->events.page;

    if (page->state == ERNIC_PAGE_ASKED) {
        return true;            /* one at a time */
    }
    if ((page->state == ERNIC_PAGE_FAILED && same_page(page, &e->absent)) ||
        !e->async_eq) {
        trace_ernic_page_unresolved(qp->qpn, e->absent.key, e->absent.off);
        page->state = ERNIC_PAGE_NONE;
        return false;
    }
    trace_ernic_page_fault(qp->qpn, e->absent.key, e->absent.off,
                           e->absent.len, e->absent.write);
    e->stats.page_faults++;
    *page = e->absent;
    page->state = ERNIC_PAGE_ASKED;
    ernic_qp_event(e, qp, ERNIC_EV_PAGE_FAULT);
    return true;
}

ErnicFault ernic_qp_dma_fault(Ernic *e, ErnicQp *qp, ErnicDma dma, bool remote)
{
    if (dma == ERNIC_DMA_OK) {
        return ERNIC_FAULT_NONE;
    }
    if (dma == ERNIC_DMA_ABSENT) {
        if (ernic_qp_page_fault(e, qp)) {
            return ERNIC_FAULT_PAGE;
        }
        dma = ERNIC_DMA_PROT;
    }
    if (remote) {
        return dma == ERNIC_DMA_PROT ? ERNIC_FAULT_REM_ACCESS :
                                       ERNIC_FAULT_REM_DMA;
    }
    return dma == ERNIC_DMA_PROT ? ERNIC_FAULT_RECV_PROT :
                                   ERNIC_FAULT_RECV_DMA;
}

uint8_t ernic_qp_page_resume(Ernic *e, const struct ernic_cmd_page_resume *cmd)
{
    uint32_t qpn = le32_to_cpu(cmd->qpn), key = le32_to_cpu(cmd->key);
    uint64_t off = le64_to_cpu(cmd->offset);
    ErnicPageFault *page;
    bool failed;

    if (cmd->failed > 1) {
        return ERNIC_ERR_PARAM;
    }
    if (qpn >= e->qp_ids.size || !e->qp[qpn].used) {
        return ERNIC_ERR_HANDLE;
    }
    page = &e->qp[qpn].events.page;
    trace_ernic_page_resume(qpn, key, off, cmd->failed);
    if (page->state == ERNIC_PAGE_ASKED && page->key == key &&
        page->off == off) {
        /* The page may have arrived in the meantime. */
        failed = cmd->failed &&
                 !ernic_mr_has_page(e, key, off, page->write);
        page->state = failed ? ERNIC_PAGE_FAILED : ERNIC_PAGE_NONE;
        e->page_failed |= failed;
        ernic_sched_mark(e, &e->qp[qpn]);
    }
    return ERNIC_OK;
}

void ernic_qp_pages_came(Ernic *e, const struct ernic_cmd_mr_pages *cmd)
{
    uint32_t key = le32_to_cpu(cmd->key), qpn;
    uint64_t first = le64_to_cpu(cmd->first), n = le64_to_cpu(cmd->npages);
    uint8_t shift = e->mr[key >> 8].odp->page_shift;
    bool left = false;

    if (e->page_failed) {
        ernic_charge_objects(e, e->qp_ids.size);
    }
    for (qpn = 1; e->page_failed && qpn < e->qp_ids.size; qpn++) {
        ErnicPageFault *page = &e->qp[qpn].events.page;

        if (page->state != ERNIC_PAGE_FAILED) {
            continue;
        }
        if (page->key == key && (page->off >> shift) - first < n) {
            page->state = ERNIC_PAGE_NONE;
        } else {
            left = true;
        }
    }
    e->page_failed = left;
}

void ernic_qp_pages_orphaned(Ernic *e)
{
    uint32_t qpn;

    ernic_charge_objects(e, e->qp_ids.size);
    for (qpn = 0; qpn < e->qp_ids.size; qpn++) {
        ErnicQp *qp = &e->qp[qpn];

        if (qp->used && (qp->sq.page_wait || qp->ack.page_wait ||
                         qp->events.page.state == ERNIC_PAGE_ASKED)) {
            qp->events.page.state = ERNIC_PAGE_NONE;
            ernic_sched_mark(e, qp);
        }
    }
}
