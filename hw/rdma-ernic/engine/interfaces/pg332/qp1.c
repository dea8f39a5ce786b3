/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pair 1 of PG332: management datagrams. Software posts whole frames from
 * the Ethernet header on and finds, in its receive buffers, all headers from IP
 * on. A packet that leaves is made from the values of the frame, so that it is the
 * same on links that carry no frames.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "interfaces/pg332/pg332.h"
#include "trace.h"
#include "wire/frame.h"
#include "wire/ib_tables.h"

/* Any headers up to those behind BTH, with room to spare. */
#define HEAD_MAX        160
/* IP and UDP headers in a receive buffer; IPv4 is in the last bytes. */
#define IP_AREA         (ERNIC_IP6_LEN + ERNIC_UDP_LEN)

/* ---- to the wire ----------------------------------------------------------- */

/*
 * @head is the beginning of a frame of @len bytes, without ICRC. IP and UDP may
 * count the ICRC that is to come, or not. Returns why it cannot be sent, or NULL.
 */
static const char *check_frame(const Ernic *e, const uint8_t *head, uint32_t len,
                               ErnicFrame *f, ErnicPkt *pkt)
{
    ErnicDrop why = ernic_net_parse(f, head, len + ERNIC_ICRC_LEN);
    uint32_t ib_len;

    if (why != ERNIC_DROP_NONE) {
        return ernic_drop_name(why);
    }
    if ((uint32_t)(f->ib - head) > len) {
        return "too short";
    }
    ib_len = len - (f->ib - head) + ERNIC_ICRC_LEN;
    if (f->ib_len != ib_len && f->ib_len + ERNIC_ICRC_LEN != ib_len) {
        return "LENGTH and the UDP length";
    }
    why = ernic_pkt_parse(pkt, f->ib, ib_len);
    if (why != ERNIC_DROP_NONE) {
        return ernic_drop_name(why);
    }
    if (pkt->op->cls != ERNIC_CL_CNP &&
        (pkt->transport != ERNIC_UD || pkt->op->cls != ERNIC_CL_SEND)) {
        return "neither a datagram nor a CNP";
    }
    return pkt->payload_len > ernic_mtu_bytes(e->cfg.mtu) ? "too long" : NULL;
}

ErnicFault ernic_pg332_datagram(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                ErnicPath *path, ErnicPkt *pkt, uint32_t *off)
{
    uint8_t head[HEAD_MAX] = { };
    ErnicFrame f = { };
    ErnicFault fault;
    const char *why;

    fault = ernic_wqe_gather(e, qp->pd, wqe, 0, head,
                             MIN(wqe->len, sizeof(head)));
    if (fault) {
        return fault;
    }
    why = check_frame(e, head, wqe->len, &f, pkt);
    if (why) {
        trace_ernic_guest_pg332_frame(wqe->index, wqe->len, why);
        return ERNIC_FAULT_SEND_WQE;
    }
    memcpy(path, &f.path, sizeof(*path));       /* padding as well */
    /* Where there is a socket, its port is what the peer sees. */
    path->udp_sport = e->cfg.udp_sport ? e->cfg.udp_sport : path->udp_sport;
    *off = pkt->payload ? pkt->payload - head : wqe->len;
    return ERNIC_FAULT_NONE;
}

/* ---- from the wire --------------------------------------------------------- */

uint32_t ernic_pg332_recv_head(const ErnicPkt *pkt, const ErnicTrain *train,
                               uint32_t ib_len, uint8_t *head)
{
    uint32_t hdrs = ernic_opcode_hdr_len(pkt->op, ERNIC_UD);
    uint8_t made[IP_AREA];
    uint32_t len = ernic_net_emit_ip(&train->path, ib_len, made);

    memset(head, 0, IP_AREA - len);
    memcpy(head + IP_AREA - len, train->ip ? train->ip : made, len);
    /* BTH and DETH as they came: the payload follows them in memory. */
    memcpy(head + IP_AREA, pkt->payload - hdrs, hdrs);
    return IP_AREA + hdrs;
}
