/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving packets: ICRC, form, queue pair, state, keys and addresses, in the order
 * of IBTA vol. 1, 9.6. Then the data path forks: to the responder, to the completer,
 * or (CNP) to congestion control.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "base/work.h"
#include "objects/gid.h"
#include "trace.h"
#include "transport/completer.h"
#include "objects/qp.h"
#include "transport/mcast_delivery.h"
#include "transport/qp_transitions.h"
#include "transport/responder.h"
#include "transport/rx.h"
#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/* Number of packets whose queue pairs are prefetched. */
#define RX_AHEAD    4
#define CACHE_LINE  64

static void rx_drop(Ernic *e, const ErnicPkt *pkt, ErnicDrop why)
{
    e->stats.drop[why]++;
    trace_ernic_rx_drop(pkt->dest_qp, pkt->psn, ernic_drop_name(why));
}

/*
 * 9.6.1: a connection accepts packets from its peer to its own address only. The same
 * address in two VLANs is two addresses; links that see no headers know no VLAN.
 */
static bool rx_address_ok(const Ernic *e, const ErnicQp *qp,
                          const ErnicPkt *pkt, const ErnicTrain *train)
{
    const ErnicPath *path = &train->path;
    const ErnicGidEntry *own = &e->gid[qp->attr.av.sgid_index];

    if (qp->transport == ERNIC_UD) {
        /* Only the multicast QPN addresses a group. */
        return pkt->dest_qp == ERNIC_QPN_MULTICAST ||
               ernic_gid_is_local(e, &path->dgid);
    }
    return memcmp(&path->sgid, &qp->attr.av.dgid, sizeof(path->sgid)) == 0 &&
           memcmp(&path->dgid, &own->gid, sizeof(path->dgid)) == 0 &&
           (!train->ip ||
            ERNIC_VLAN_ID(path->vlan) == ERNIC_VLAN_ID(own->vlan));
}

static ErnicDrop rx_check(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                          const ErnicTrain *train)
{
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_RECV)) {
        return ERNIC_DROP_QP_STATE;
    }
    if (qp->transport == ERNIC_RAW) {
        return ERNIC_DROP_TRANSPORT;    /* rules select its frames, not numbers */
    }
    if (pkt->op->cls == ERNIC_CL_CNP) {
        /* It counts from the peer only: others must not slow the connection down. */
        return qp->transport == ERNIC_UD ? ERNIC_DROP_TRANSPORT :
               rx_address_ok(e, qp, pkt, train) ? ERNIC_DROP_NONE :
                                                  ERNIC_DROP_ADDRESS;
    }
    /* One end of XRC sends requests, the other one responses. */
    if (pkt->transport != qp->transport ||
        (qp->transport == ERNIC_XRC &&
         !(pkt->op->flags & ERNIC_OPF_REQ) != (qp->type == ERNIC_QPT_XRC_INI))) {
        return ERNIC_DROP_TRANSPORT;
    }
    if (!e->interface->pkey_ok(e, qp, pkt->pkey)) {
        e->bad_pkey++;
        return ERNIC_DROP_PKEY;
    }
    if (qp->transport == ERNIC_UD &&
        pkt->qkey != (qp->type == ERNIC_QPT_GSI ? ERNIC_QKEY_GSI :
                                                  qp->attr.qkey)) {
        e->bad_qkey++;
        return ERNIC_DROP_QKEY;
    }
    return rx_address_ok(e, qp, pkt, train) ? ERNIC_DROP_NONE :
                                              ERNIC_DROP_ADDRESS;
}

static void rx_cnp(Ernic *e, ErnicQp *qp)
{
    e->stats.rx_cnps++;
    e->interface->cnp(e, qp);
}

static void rx_marked(Ernic *e, ErnicQp *qp)
{
    e->stats.rx_ecn_marked++;
    if (qp->transport != ERNIC_UD) {
        e->interface->marked(e, qp);
    }
}

static ErnicDrop rx_to_qp(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                          const ErnicTrain *train)
{
    ErnicDrop why = rx_check(e, qp, pkt, train);

    if (why) {
        rx_drop(e, pkt, why);
        return why;
    }
    e->interface->came(e, qp, pkt);
    trace_ernic_rx_packet(qp->qpn, pkt->op->name, pkt->psn, pkt->payload_len);
    if (pkt->op->cls == ERNIC_CL_CNP) {
        rx_cnp(e, qp);
        return ERNIC_DROP_NONE;
    }
    if ((train->path.tclass & ERNIC_ECN_MASK) == ERNIC_ECN_CE) {
        rx_marked(e, qp);
    }
    if (pkt->op->flags & ERNIC_OPF_REQ) {
        ernic_responder_packet(e, qp, pkt, train);
    } else {
        ernic_completer_packet(e, qp, pkt);
    }
    return ERNIC_DROP_NONE;
}

static void rx_copy(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                    const ErnicTrain *train)
{
    e->rx_fault = ERNIC_FAULT_NONE;
    e->rx_pkt = pkt;
    rx_to_qp(e, qp, pkt, train);
    e->rx_pkt = NULL;
}

static void rx_multicast(Ernic *e, const ErnicPkt *pkt, const ErnicTrain *train,
                         const uint8_t *buf, uint32_t len)
{
    uint8_t why;

    if (pkt->transport != ERNIC_UD ||
        !ernic_gid_is_mcast(&train->path.dgid)) {
        rx_drop(e, pkt, ERNIC_DROP_NO_QP);
        return;
    }
    why = ernic_mcast_delivery_add(e, pkt, train, buf, len, rx_copy);
    if (why) {
        rx_drop(e, pkt, why);
    }
}

void ernic_rx_copies(Ernic *e)
{
    ernic_mcast_delivery_run(e, rx_copy);
}

void ernic_rx_copies_rest(Ernic *e)
{
    ernic_mcast_delivery_run_rest(e, rx_copy);
}

static ErnicDrop rx_parse(ErnicPkt *pkt, const uint8_t *buf, uint32_t len)
{
    ErnicDrop why = ernic_pkt_parse(pkt, buf, len);

    return why == ERNIC_DROP_BAD_OPCODE ?
           ernic_pkt_parse_reserved(pkt, buf, len) : why;
}

/* The queue pair that the BTH at @buf names, if the BTH is complete. */
static ErnicQp *rx_dest(Ernic *e, const uint8_t *buf, uint32_t len,
                        uint32_t *qpn)
{
    *qpn = len < ERNIC_BTH_LEN ? 0 : ernic_bth_dest_qp(buf);
    return *qpn && *qpn < e->cfg.max_qp && e->qp[*qpn].used ? &e->qp[*qpn] :
                                                              NULL;
}

/* Serve the packet, or act on the verdict of the interface. */
static void rx_checked(Ernic *e, const ErnicArrival *a, const ErnicTrain *train)
{
    ErnicVerdict v = e->interface->check_packet(e, a);

    e->rx_pkt = a->pkt;
    if (v.drop) {
        rx_drop(e, a->pkt, v.drop);
    } else if (v.fault) {
        e->interface->came(e, a->qp, a->pkt);
        if (a->pkt->op->flags & ERNIC_OPF_REQ) {
            ernic_responder_refuse(e, a->qp, a->pkt, v.fault);
        } else {
            ernic_completer_refuse(e, a->qp, a->pkt, v.fault);
        }
    } else if (a->qp) {
        v.drop = rx_to_qp(e, a->qp, a->pkt, train);
        v.fault = e->rx_fault;
    } else {
        rx_multicast(e, a->pkt, train, a->buf, a->len);
    }
    e->rx_pkt = NULL;
    if (v.drop || v.fault) {
        e->interface->refused(e, a, &v);
    }
}

static void rx_packet(Ernic *e, const ErnicTrain *train,
                      const ErnicIcrcCtx *icrc, const uint8_t *buf,
                      uint32_t len)
{
    ErnicPkt pkt;
    ErnicArrival a = {
        .path = &train->path, .ip = train->ip, .buf = buf, .len = len,
        .pkt = &pkt, .form = rx_parse(&pkt, buf, len),
        .icrc_bad = !e->cfg.no_icrc && len >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN &&
                    !ernic_icrc_ok(icrc, buf, len),
    };

    e->rx_fault = ERNIC_FAULT_NONE;
    e->stats.rx_packets++;
    e->stats.rx_bytes += len;
    ernic_charge_copy(e, len);
    a.qp = rx_dest(e, buf, len, &a.dest_qp);
    rx_checked(e, &a, train);
}

/*
 * The remaining checks of @f, a frame that was parsed up to its fault: the ICRC, if its
 * headers permit to find one, and its queue pair.
 */
static void rx_bad_frame(Ernic *e, const ErnicFrame *f, const uint8_t *frame,
                         uint32_t len, ErnicDrop drop)
{
    ErnicPkt pkt = { 0 };
    ErnicArrival a = {
        .path = &f->path, .ip = f->ip, .frame = frame, .frame_len = len,
        .pkt = &pkt,
    };
    ErnicVerdict v;

    if (f->ib && f->ib_len >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN) {
        bool options = f->ib - f->ip != ERNIC_UDP_LEN +
                       (f->is_v6 ? ERNIC_IP6_LEN : ERNIC_IP4_LEN);
        ErnicIcrcCtx icrc;

        if (!options) {
            ernic_icrc_init_ip(&icrc, f->ip, f->is_v6);
            a.icrc_bad = !ernic_icrc_ok(&icrc, f->ib, f->ib_len);
        }
        a.qp = rx_dest(e, f->ib, f->ib_len, &a.dest_qp);
    }
    v = e->interface->check_packet(e, &a);
    v.drop = v.drop ? v.drop : drop;
    rx_drop(e, &pkt, v.drop);
    e->interface->refused(e, &a, &v);
}

void ernic_rx_frame(Ernic *e, const ErnicFrame *f, const uint8_t *frame, uint32_t len,
                    ErnicDrop drop)
{
    if (drop == ERNIC_DROP_NOT_ROCE) {
        return;
    }
    e->stats.rx_packets++;
    e->stats.rx_bytes += len;
    ernic_charge_copy(e, len);
    if (drop) {
        rx_bad_frame(e, f, frame, len, drop);
    }
}

bool ernic_rx_expects(const Ernic *e, const ErnicTrain *train)
{
    uint32_t qpn;

    if (train->len < ERNIC_BTH_LEN) {
        return false;
    }
    qpn = ernic_bth_dest_qp(train->data);
    return qpn < e->cfg.max_qp && e->qp[qpn].used;
}

/*
 * The packets of a train may be for as many queue pairs, none of which is in a cache.
 * Prefetch the contexts while earlier packets are served, whether or not the packet is
 * valid. Always inline: gcc treats a call of a function that only prefetches as a call
 * without effect.
 */
static inline void __attribute__((always_inline))
rx_prefetch(const Ernic *e, const ErnicTrain *train, uint32_t pos)
{
    const uint8_t *qp;
    uint32_t qpn, i;

    if (pos >= train->len || train->len - pos < ERNIC_BTH_LEN) {
        return;
    }
    qpn = ernic_bth_dest_qp(train->data + pos);
    if (qpn >= e->cfg.max_qp) {
        return;
    }
    qp = (const uint8_t *)&e->qp[qpn];
    for (i = 0; i < offsetof(ErnicQp, rq.recv); i += CACHE_LINE) {
        __builtin_prefetch(qp + i, 1);
    }
}

void ernic_rx_train(Ernic *e, const ErnicTrain *train)
{
    ErnicIcrcCtx icrc;
    uint32_t pos, ahead = 0;

    g_assert(!train->len || train->seg);        /* else the train has no end */
    e->stats.rx_trains++;
    if (train->ip) {
        ernic_icrc_init_ip(&icrc, train->ip,
                           !ernic_gid_is_v4(&train->path.dgid));
    } else {
        ernic_icrc_init(&icrc, &train->path);
    }
    for (pos = 0; pos < train->len; pos += train->seg) {
        for (; ahead < RX_AHEAD; ahead++) {
            rx_prefetch(e, train, pos + ahead * train->seg);
        }
        ahead--;
        rx_packet(e, train, &icrc, train->data + pos,
                  MIN(train->seg, train->len - pos));
    }
}
