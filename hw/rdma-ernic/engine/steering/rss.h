/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive side scaling: distributes frames of one rule to several receive work queues.
 */
#ifndef ERNIC_STEERING_RSS_H
#define ERNIC_STEERING_RSS_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicRss {
    bool used;
    uint8_t shift;              /* entries of wq[]: 2^shift */
    uint32_t uctx;
    uint32_t fields;            /* ERNIC_HASH_* */
    uint8_t key[ERNIC_RSS_KEY];
    uint32_t wq[ERNIC_RSS_TABLE_MAX];
};

/* *@number is above ERNIC_RSS_QPN. */
uint8_t ernic_rss_create(Ernic *e, uint32_t uctx, const struct ernic_rss *init,
                         uint32_t *number);
/* The caller drops its rules as well (ernic_flow_forget()). */
uint8_t ernic_rss_destroy(Ernic *e, uint32_t uctx, uint32_t number);
/* NULL unless @number exists and belongs to @uctx. */
const ErnicRss *ernic_rss_get(const Ernic *e, uint32_t uctx, uint32_t number);
/* Whether queue pair @qpn is in a table. The walk is charged. */
bool ernic_rss_uses(Ernic *e, uint32_t qpn);
/* The queue pair of @rss that receives @frame. */
uint32_t ernic_rss_pick(const ErnicRss *rss, const uint8_t *frame,
                        uint32_t len);
/* The Toeplitz hash of @len bytes, at most ERNIC_RSS_KEY - 4. */
uint32_t ernic_toeplitz(const uint8_t key[ERNIC_RSS_KEY], const uint8_t *data,
                        uint32_t len);

/* The RSS @number, which exists; NULL: it is the number of a queue pair. */
static inline const ErnicRss *ernic_rss_at(const Ernic *e, uint32_t number)
{
    return number < ERNIC_RSS_QPN ? NULL : &e->rss[number - ERNIC_RSS_QPN];
}

#endif /* ERNIC_STEERING_RSS_H */
