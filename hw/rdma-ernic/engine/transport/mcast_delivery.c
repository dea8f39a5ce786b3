/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The store of multicast datagrams that have not reached all members. Each record is a
 * header in host layout and the packet; nothing of it leaves the device.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/mcast.h"
#include "objects/qp.h"
#include "trace.h"
#include "transport/mcast_delivery.h"
#include "wire/frame.h"

typedef struct CopyHdr {
    ErnicPath path;
    uint32_t len;
    uint32_t ip_len;            /* 0: the link saw no IP header */
    uint8_t ip[ERNIC_IP6_LEN];
} CopyHdr;

ErnicMcastDelivery *ernic_mcast_delivery_new(void)
{
    return g_new0(ErnicMcastDelivery, 1);
}

static void free_store(Ernic *e)
{
    ErnicMcastDelivery *c = e->copies;

    ernic_mem_free(&e->mem, ERNIC_MEM_COPIES, c->store, ERNIC_MCAST_STORE, 1);
    *c = (ErnicMcastDelivery) {
        .slices = c->slices, .open = c->open, .first = c->first,
    };
}

void ernic_mcast_delivery_free(Ernic *e)
{
    free_store(e);
    g_free(e->copies);
    e->copies = NULL;
}

/*
 * Deliver @pkt to the members from entry *@next of the table on, until the share of work
 * with @end is used. True: to all of them; *@members counts them.
 */
static bool deliver_to(Ernic *e, const ErnicPkt *pkt, const ErnicTrain *train,
                       uint64_t end, uint32_t *next, uint32_t *members,
                       ErnicCopyFn *deliver)
{
    uint32_t qpn;

    while (ernic_work_left_of(e, end)) {
        qpn = ernic_mcast_next(e, &train->path.dgid, next);
        if (!qpn) {
            ernic_charge_walk(e, ERNIC_LIM_MCAST_GROUP);
            return true;
        }
        ++*members;
        ernic_charge_copy(e, pkt->payload_len);
        deliver(e, &e->qp[qpn], pkt, train);
    }
    return false;
}

static bool keep(Ernic *e, const ErnicTrain *train, const uint8_t *buf, uint32_t len)
{
    ErnicMcastDelivery *c = e->copies;
    CopyHdr hdr = { .path = train->path, .len = len };

    if (len > ERNIC_MCAST_STORE - sizeof(hdr) ||
        c->tail > ERNIC_MCAST_STORE - sizeof(hdr) - len) {
        return false;
    }
    if (!c->store) {
        c->store = ernic_mem_new_raw(&e->mem, ERNIC_MEM_COPIES, ERNIC_MCAST_STORE, 1);
    }
    if (!c->store) {
        return false;
    }
    if (train->ip) {
        hdr.ip_len = ernic_gid_is_v4(&train->path.dgid) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN;
        memcpy(hdr.ip, train->ip, hdr.ip_len);
    }
    memcpy(c->store + c->tail, &hdr, sizeof(hdr));
    memcpy(c->store + c->tail + sizeof(hdr), buf, len);
    c->tail += sizeof(hdr) + len;
    return true;
}

uint8_t ernic_mcast_delivery_add(Ernic *e, const ErnicPkt *pkt, const ErnicTrain *train,
                         const uint8_t *buf, uint32_t len, ErnicCopyFn *deliver)
{
    uint32_t next = 0, members = 0;
    bool first = e->copies->head == e->copies->tail;

    if (first && deliver_to(e, pkt, train, UINT64_MAX, &next, &members, deliver)) {
        return members ? ERNIC_DROP_NONE : ERNIC_DROP_NO_QP;
    }
    if (!keep(e, train, buf, len)) {
        return ERNIC_DROP_COPIES;
    }
    if (first) {
        e->copies->next = next;
        e->copies->members = members;
        trace_ernic_mcast_delivery_wait(members);
    }
    return ERNIC_DROP_NONE;
}

static void run_until(Ernic *e, uint64_t end, ErnicCopyFn *deliver)
{
    ErnicMcastDelivery *c = e->copies;
    CopyHdr hdr;
    ErnicTrain train;
    ErnicPkt pkt;

    while (c->head != c->tail && ernic_work_left_of(e, end)) {
        g_assert(c->store && c->head < c->tail && c->tail <= ERNIC_MCAST_STORE);
        memcpy(&hdr, c->store + c->head, sizeof(hdr));
        train = (ErnicTrain) {
            .path = hdr.path, .ip = hdr.ip_len ? hdr.ip : NULL,
            .data = c->store + c->head + sizeof(hdr), .len = hdr.len, .seg = hdr.len,
        };
        memset(&pkt, 0, sizeof(pkt));
        if (ernic_pkt_parse(&pkt, train.data, train.len) == ERNIC_DROP_NONE &&
            !deliver_to(e, &pkt, &train, end, &c->next, &c->members, deliver)) {
            return;
        }
        e->stats.drop[ERNIC_DROP_NO_QP] += !c->members;
        c->next = c->members = 0;
        c->head += sizeof(hdr) + hdr.len;
    }
    if (c->store && c->head == c->tail) {
        free_store(e);
    }
}

void ernic_mcast_delivery_run(Ernic *e, ErnicCopyFn *deliver)
{
    ErnicMcastDelivery *c = e->copies;

    c->slices += ernic_mcast_delivery_blocks(e) ? 1 : c->slices ? -1 : 0;
    c->open = c->slices && (c->open || c->slices == ERNIC_MCAST_SLICES);
    c->first = !c->first;
    if (c->first) {
        run_until(e, e->work.done + ERNIC_WORK_SLICE / 2, deliver);
    }
}

void ernic_mcast_delivery_run_rest(Ernic *e, ErnicCopyFn *deliver)
{
    run_until(e, UINT64_MAX, deliver);
}
