/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The checks of PG332's table 2-3 in its order. A row that fails is the one that
 * is reported, whatever else is wrong with the packet.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/pg332/packet_checks.h"
#include "interfaces/pg332/rules.h"
#include "interfaces/pg332/side_stream.h"
#include "objects/gid.h"
#include "transport/qp_transitions.h"
#include "transport/responder.h"
#include "wire/frame.h"
#include "wire/psn.h"

#define OPCODE_BIT      17
#define IP4_FLAGS_DF    2               /* of three bits: 010b */
#define IP4_MIN_LEN     (ERNIC_IP4_LEN + ERNIC_UDP_LEN)

/* A check of one expression: whether packet @a fails it. */
#define FAILS(name, ...) \
    static bool name(const Ernic *e, const ErnicArrival *a) \
    { \
        return __VA_ARGS__; \
    }

/* ---- what a check looks at --------------------------------------------------- */

static bool is_v4(const ErnicArrival *a)
{
    return ernic_path_is_v4(a->path);
}

/* The IPv4 header as it came; NULL: there is none to look at. */
static const uint8_t *ip4(const ErnicArrival *a)
{
    return is_v4(a) ? a->ip : NULL;
}

/* Bytes from the IP header to the frame's end, if nobody has checked them. */
static uint32_t ip_room(const ErnicArrival *a)
{
    return a->frame ? a->frame + a->frame_len - a->ip : 0;
}

/* The connection that the packet names. */
static const ErnicQp *conn(const ErnicArrival *a)
{
    return a->qp && a->qp->transport == ERNIC_RC ? a->qp : NULL;
}

/* The connection that the packet names, if it serves packets. */
static const ErnicQp *serves(const ErnicArrival *a)
{
    const ErnicQp *qp = conn(a);

    return qp && ernic_qp_may(qp, ERNIC_MAY_PROC_RECV) ? qp : NULL;
}

/*
 * Whether it is a request to a connection that serves; @diff: its PSN less the expected.
 */
static bool request(const ErnicArrival *a, int32_t *diff)
{
    const ErnicQp *qp = serves(a);

    if (!qp || !a->pkt->op || !(a->pkt->op->flags & ERNIC_OPF_REQ)) {
        return false;
    }
    *diff = ernic_psn_diff(a->pkt->psn, qp->rq.epsn);
    return true;
}

static bool expected(const ErnicArrival *a)
{
    int32_t diff;

    return request(a, &diff) && diff == 0;
}

static bool datagram(const ErnicArrival *a)
{
    return a->qp && a->qp->transport == ERNIC_UD &&
           ernic_qp_may(a->qp, ERNIC_MAY_PROC_RECV);
}

/* ---- Ethernet and IP --------------------------------------------------------- */

FAILS(icrc, a->icrc_bad)

static bool source_mac(const Ernic *e, const ErnicArrival *a)
{
    const ErnicQp *qp = conn(a);

    return a->ip && qp && memcmp(a->path->smac, qp->attr.av.dmac, 6) != 0;
}

FAILS(dest_mac, a->ip && memcmp(a->path->dmac, e->gid[0].mac, 6) != 0)

static bool ip_version(const Ernic *e, const ErnicArrival *a)
{
    const ErnicQp *qp = conn(a);

    return qp && is_v4(a) != ernic_gid_is_v4(&qp->attr.av.dgid);
}

static bool source_ip(const Ernic *e, const ErnicArrival *a)
{
    const ErnicQp *qp = conn(a);

    return qp && !ip_version(e, a) &&
           memcmp(&a->path->sgid, &qp->attr.av.dgid, sizeof(ErnicGid)) != 0;
}

FAILS(header_length, ip4(a) && (ip4(a)[0] & 0xf) * 4 != ERNIC_IP4_LEN)

/* Over all of the header, whatever length it says to have. */
static bool checksum(const Ernic *e, const ErnicArrival *a)
{
    uint32_t len = ip4(a) ? (ip4(a)[0] & 0xf) * 4 : 0;

    return len && (!a->frame || len <= ip_room(a)) &&
           ernic_net_checksum(ip4(a), len) != 0;
}

FAILS(flags, ip4(a) && ip4(a)[6] >> 5 != IP4_FLAGS_DF)

static bool dest_ip(const Ernic *e, const ErnicArrival *a)
{
    const ErnicQp *qp = conn(a);

    return qp ? memcmp(&a->path->dgid, &e->gid[qp->attr.av.sgid_index].gid,
                       sizeof(ErnicGid)) != 0 :
                !ernic_gid_is_local(e, &a->path->dgid);
}

/* The length that the IP header gives, counted from its own first byte. */
static uint32_t ip_length(const ErnicArrival *a)
{
    return is_v4(a) ? lduw_be_p(a->ip + 2) :
                      ERNIC_IP6_LEN + lduw_be_p(a->ip + 4);
}

static bool ip_length_range(const Ernic *e, const ErnicArrival *a)
{
    uint32_t least = is_v4(a) ? IP4_MIN_LEN : ERNIC_IP6_LEN + ERNIC_UDP_LEN;

    return a->frame &&
           (ip_length(a) < least || ip_length(a) > ip_room(a));
}

/* ---- UDP and BTH ------------------------------------------------------------- */

/* Against IP, and against the headers that the opcode has. */
static bool udp_length(const Ernic *e, const ErnicArrival *a)
{
    uint32_t ip_len = is_v4(a) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN;

    if (a->frame && lduw_be_p(a->ip + ip_len + 4) != ip_length(a) - ip_len) {
        return true;
    }
    return a->form == ERNIC_DROP_TOO_SHORT || a->form == ERNIC_DROP_BAD_LENGTH ||
           (a->form == ERNIC_DROP_BAD_PAD && (a->pkt->op->flags & ERNIC_OPF_RSP));
}

FAILS(bth_version, a->form == ERNIC_DROP_BAD_TVER)
FAILS(no_queue_pair, a->dest_qp == 0 || a->dest_qp >= e->cfg.max_qp)

/* Atomics are not among what PG332 knows; their responses come to nothing. */
static bool unknown_opcode(const Ernic *e, const ErnicArrival *a)
{
    const ErnicOpcode *op = a->pkt->op;

    if (a->form == ERNIC_DROP_BAD_OPCODE) {
        return true;
    }
    return op && op->cls != ERNIC_CL_CNP &&
           (op->cls == ERNIC_CL_RESERVED || op->cls == ERNIC_CL_ATOMIC ||
            op->cls == ERNIC_CL_ATOMIC_WRITE || op->cls == ERNIC_CL_FLUSH ||
            (a->qp && a->pkt->transport != a->qp->transport));
}

FAILS(opcode, a->form == ERNIC_DROP_NONE && unknown_opcode(e, a) &&
      a->pkt->transport == ERNIC_RC && expected(a))
FAILS(not_enabled, !a->qp || !ernic_qp_may(a->qp, ERNIC_MAY_PROC_RECV))

/* ---- requests ------------------------------------------------------------------ */

static bool psn(const Ernic *e, const ErnicArrival *a)
{
    int32_t diff;

    return request(a, &diff) && diff > 0;
}

/* No buffer, or no room in the side stream for what comes beside the data. */
static bool rq_full(const Ernic *e, const ErnicArrival *a)
{
    if (expected(a) && (a->pkt->op->hdrs & (ERNIC_HDR_IMM | ERNIC_HDR_IETH)) &&
        !ernic_side_room(e)) {
        return true;
    }
    return (expected(a) || datagram(a)) &&
           (a->pkt->op->flags & ERNIC_OPF_RQE) && !a->qp->rq.recv_valid &&
           a->qp->rq.wq.pi == a->qp->rq.wq.ci;
}

FAILS(opcode_sequence, expected(a) && !ernic_responder_in_sequence(a->qp, a->pkt))

/* A payload of the path MTU, a multiple of 4, needs no pad. */
FAILS(pad, expected(a) && (a->pkt->op->hdrs & ERNIC_HDR_DATA) &&
      (a->form == ERNIC_DROP_BAD_PAD ||
       (!(a->pkt->op->seg & ERNIC_SEG_END) && a->pkt->pad)))
FAILS(payload, expected(a) && (a->pkt->op->hdrs & ERNIC_HDR_DATA) &&
      !ernic_responder_length_fits(a->qp, a->pkt))

/* ---- responses ----------------------------------------------------------------- */

bool ernic_aeth_reserved(uint8_t syndrome)
{
    switch (syndrome & ERNIC_AETH_KIND_MASK) {
    case ERNIC_AETH_ACK:
    case ERNIC_AETH_RNR_NAK:
        return false;
    case ERNIC_AETH_NAK:
        return syndrome > ERNIC_NAK_INV_RD;
    default:
        return true;
    }
}

/*
 * Whether an answer to something that is under way has a reserved syndrome; older
 * answers are not looked at.
 */
static bool aeth(const Ernic *e, const ErnicArrival *a)
{
    const ErnicQp *qp = serves(a);
    const ErnicOpcode *op = a->pkt->op;

    return qp && op && (op->flags & ERNIC_OPF_RSP) &&
           (op->hdrs & ERNIC_HDR_AETH) && ernic_aeth_reserved(a->pkt->syndrome) &&
           ernic_psn_distance(qp->sq.una_psn, a->pkt->psn) <
           ernic_psn_distance(qp->sq.una_psn, qp->sq.max_psn);
}

/* ---- the table ------------------------------------------------------------------ */

/* The bit and the order of a row of table 2-3. */
#define CHECK(bit_, order_, name_, effect_, ...) \
    { .name = name_, .bit = bit_, .order = order_, \
      .effect = PG332_##effect_, __VA_ARGS__ }
#define DROPS(why)      .drop = ERNIC_DROP_##why
#define FAULT(what)     .fault = ERNIC_FAULT_##what

const Pg332Check ernic_pg332_checks[] = {
    CHECK(31, 1, "FCS", DROP),          /* frames come without */
    CHECK(30, 2, "ICRC", DROP, DROPS(BAD_ICRC), .fails = icrc),
    CHECK(28, 4, "source MAC", DROP, DROPS(MAC), .fails = source_mac),
    CHECK(0, 4, "destination MAC", DROP, DROPS(MAC), .fails = dest_mac),
    CHECK(27, 5, "source address", DROP, DROPS(ADDRESS), .fails = source_ip),
    CHECK(2, 5, "IP version", DROP, DROPS(ADDRESS), .fails = ip_version),
    CHECK(9, 6, "IPv4 checksum", DROP, DROPS(IP_HEADER), .fails = checksum),
    CHECK(3, 7, "IPv4 header length", DROP, DROPS(IP_HEADER),
          .fails = header_length),
    CHECK(5, 8, "IPv4 flags", DROP, DROPS(FRAGMENT), .fails = flags),
    /* Later fragments have no UDP header, and are not RoCE. */
    CHECK(6, 8, "fragment offset", DROP),
    CHECK(8, 8, "destination address", DROP, DROPS(ADDRESS), .fails = dest_ip),
    CHECK(10, 8, "IP length", DROP, DROPS(BAD_LENGTH),
          .fails = ip_length_range),
    CHECK(12, 9, "UDP length", DROP, DROPS(BAD_LENGTH), .fails = udp_length),
    CHECK(13, 10, "BTH version", DROP, DROPS(BAD_TVER), .fails = bth_version),
    CHECK(14, 10, "queue pair number", DROP, DROPS(NO_QP),
          .fails = no_queue_pair),
    CHECK(OPCODE_BIT, 10, "opcode", NAK_FATAL, FAULT(OP_UNSUPPORTED), .fails = opcode),
    /* Nobody to answer, or not the one whose turn it is. */
    CHECK(OPCODE_BIT, 10, "opcode, not expected", DROP, DROPS(BAD_OPCODE),
          .fails = unknown_opcode),
    CHECK(15, 11, "queue pair not enabled", DROP, DROPS(QP_STATE),
          .fails = not_enabled),
    CHECK(21, 12, "request PSN", NAK, FAULT(PSN_AHEAD), .fails = psn),
    CHECK(20, 13, "receive queue full", RNR, FAULT(RNR), .fails = rq_full),
    CHECK(16, 14, "opcode sequence", NAK_FATAL, FAULT(OP_SEQ),
          .fails = opcode_sequence),
    CHECK(18, 14, "pad count", NAK_FATAL, FAULT(PACKET_LENGTH), .fails = pad),
    CHECK(19, 14, "payload length", NAK_FATAL, FAULT(PACKET_LENGTH),
          .fails = payload),
    /* A message, not a packet, has more than the receive buffer holds. */
    CHECK(19, 14, "receive buffer", NAK_FATAL, FAULT(RECV_LENGTH)),
    CHECK(22, 14, "AETH syndrome", FATAL, FAULT(BAD_RESPONSE), .fails = aeth),
    /* The completer's, who knows what each of them answers. */
    CHECK(23, 14, "response", FATAL, FAULT(BAD_RESPONSE)),
    CHECK(23, 14, "NAK of an invalid request", FATAL, FAULT(NAK_INV_REQ)),
    CHECK(23, 14, "NAK of an access", FATAL, FAULT(NAK_REM_ACCESS)),
    CHECK(23, 14, "NAK of an operation", FATAL, FAULT(NAK_REM_OP)),
};
const uint32_t ernic_pg332_num_checks = ARRAY_SIZE(ernic_pg332_checks);

static ErnicVerdict verdict(const Pg332Check *c)
{
    return (ErnicVerdict) {
        .drop = c->drop, .fault = c->fault, .syndrome = 1u << c->bit,
    };
}

/* The check of table 2-3 that fails; NULL: none. */
static const Pg332Check *failed(const Ernic *e, const ErnicArrival *a)
{
    uint32_t i;

    for (i = 0; i < ernic_pg332_num_checks; i++) {
        const Pg332Check *c = &ernic_pg332_checks[i];

        /* If the frame itself is at fault, there is no packet to check. */
        if (!a->buf && c->order > 9) {
            break;
        }
        if (c->fails && c->fails(e, a)) {
            return c;
        }
    }
    return NULL;
}

ErnicVerdict ernic_pg332_check_packet(Ernic *e, const ErnicArrival *a)
{
    const Pg332Check *c = failed(e, a);
    ErnicVerdict v = c ? verdict(c) : (ErnicVerdict) { };
    bool asked = c ? c->fault == ERNIC_FAULT_OP_UNSUPPORTED :
                     a->buf && expected(a);

    /* A packet that strict mode refuses counts as not supported. */
    if (asked && a->form == ERNIC_DROP_NONE &&
        !ernic_rules_packet(e, a->qp, a->pkt)) {
        v = (ErnicVerdict) {
            .fault = ERNIC_FAULT_OP_UNSUPPORTED, .syndrome = 1u << OPCODE_BIT,
        };
    }
    return v;
}

const Pg332Check *ernic_pg332_check_of(const ErnicVerdict *v)
{
    uint32_t i;

    for (i = 0; i < ernic_pg332_num_checks; i++) {
        const Pg332Check *c = &ernic_pg332_checks[i];

        if (v->syndrome ? v->syndrome == 1u << c->bit :
            !c->fails && v->fault && v->fault == c->fault) {
            return c;
        }
    }
    return NULL;
}
