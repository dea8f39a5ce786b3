/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rules that PG332, or hardware that was seen at work, imposes on software
 * and on peers: one table, from which docs/ernic-rules.md is printed, and a
 * function for each kind of check.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/rules.h"

#define WRITE_4_2_MAX   (64u << 10)
#define DEPTH_MIN       16
#define LINE            64              /* bytes that the RX port writes */
#define READ_MIN        4               /* READs have to be longer */
#define THRESHOLD_MAX   512
#define PMTU_MAX        4
#define RETRY_COUNTS    (PG332_STATQP_RETRY | PG332_STATQP_RNR_RETRY)

/* A check of one expression: whether it is true of the case @c. */
#define CHECK(name, ...) \
    static bool name(const ErnicRuleCase *c) \
    { \
        return __VA_ARGS__; \
    }

/* ---- what checks look at -------------------------------------------------- */

static uint32_t global(const ErnicRuleCase *c, uint32_t offset)
{
    return *ernic_pg332_reg(c->e, offset);
}

static uint32_t slot(const ErnicRuleCase *c, uint32_t offset)
{
    return *ernic_pg332_qp_reg(c->e, c->qpn, offset);
}

static bool address_set(const ErnicRuleCase *c, uint32_t low, uint32_t high)
{
    return slot(c, low) || slot(c, high);
}

CHECK(card_enabled, global(c, PG332_XRNICCONF) & PG332_CONF_ENABLE)
CHECK(qp_enabled, c->qpn && (slot(c, PG332_QPCONF) & PG332_QPCONF_ENABLE))
CHECK(override, global(c, PG332_XRNICADCONF) & PG332_ADCONF_OVERRIDE)

/* The engine's, while the queue pair runs; else NULL. */
static const ErnicQp *running(const ErnicRuleCase *c)
{
    const ErnicQp *qp = &c->e->qp[c->qpn];

    return qp->used ? qp : NULL;
}

static uint32_t sq_depth(const ErnicRuleCase *c)
{
    return slot(c, PG332_QDEPTH) & 0xffff;
}

static uint32_t rq_depth(const ErnicRuleCase *c)
{
    return slot(c, PG332_QDEPTH) >> 16;
}

static bool power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

/* ---- registers as such ---------------------------------------------------- */

/* Bits that a write may have set though it does not change them. */
static uint32_t shown(const ErnicRegDef *def)
{
    static const struct {
        uint8_t scope, offset;
        uint32_t bits;
    } more[] = {
        { ERNIC_REG_GLOBAL, PG332_CON_IO_CONF, PG332_CON_IO_READY },
        { ERNIC_REG_QP, PG332_STATQP, 0x777f0e1f },     /* read and written back */
        /* Their low bits have rules of their own. */
        { ERNIC_REG_QP, PG332_RQBA, 0xff },
        { ERNIC_REG_QP, PG332_SQBA, 0x1f },
        { ERNIC_REG_QP, PG332_CQBA, 0x1f },
    };
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(more); i++) {
        if (more[i].scope == def->scope && more[i].offset == def->offset) {
            return more[i].bits;
        }
    }
    return 0;
}

CHECK(no_register, !c->def)

static bool reserved_bits(const ErnicRuleCase *c)
{
    uint32_t known;

    if (!c->def) {
        return false;
    }
    known = c->def->write | c->def->over | c->def->w1c;
    return known && (c->raw & ~(known | shown(c->def)));
}

CHECK(read_only, c->def && !(c->def->write | c->def->over | c->def->w1c))
CHECK(needs_override, c->def && c->def->over && !override(c))
CHECK(override_enabled, c->def && c->def->over && override(c) && qp_enabled(c))
CHECK(rq_unaligned, c->raw % 256)
CHECK(sq_unaligned, c->raw % 32)
CHECK(doorbell_unaligned, c->value % 4)

static bool depth_uneven(const ErnicRuleCase *c)
{
    uint32_t sq = c->value & 0xffff, rq = c->value >> 16;

    return (sq && !power_of_two(sq)) || (rq && !power_of_two(rq));
}

CHECK(ack_policy, (c->value & PG332_CONF_ACK) == PG332_CONF_ACK)
CHECK(threshold, (c->value & 0xffff) > THRESHOLD_MAX || c->value >> 16 > THRESHOLD_MAX)
CHECK(access_value, (c->value & PG332_ACCESS) > PG332_ACCESS_READ_WRITE)

/* ---- registers at the wrong time ------------------------------------------ */

CHECK(changed_enabled, c->value != c->old && (c->qpn ? qp_enabled(c) : card_enabled(c)))

static bool sqpsn_busy(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);

    return qp && qp->sq.wq.pi != qp->sq.wq.ci;
}

static bool lstrqreq_busy(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);

    return qp && (qp->rq.open != ERNIC_CL_NONE || qp->ack.rd_pending);
}

/* Must name the end of a request, or 0 as part of a recovery. */
static bool lstrqreq_opcode(const ErnicRuleCase *c)
{
    const ErnicOpcode *op = ernic_opcode(c->value >> 24);

    return (c->value || !override(c)) &&
           (!op || ernic_opcode_transport(c->value >> 24) != ERNIC_RC ||
            !(op->flags & ERNIC_OPF_REQ) || !(op->seg & ERNIC_SEG_END));
}

/* ---- indices -------------------------------------------------------------- */

CHECK(sqpi_range, qp_enabled(c) && c->value > sq_depth(c))
CHECK(rqci_range, qp_enabled(c) && c->value > rq_depth(c))
CHECK(index_zero, qp_enabled(c) && !override(c) && !c->value && c->old)

static bool sq_overrun(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);
    const ErnicWq *wq;

    if (!qp || !c->value || c->value > qp->sq.wq.depth) {
        return false;
    }
    wq = &qp->sq.wq;
    return ernic_pg332_ahead(ernic_pg332_posted(c->e, qp), c->value, wq->depth) >
           wq->depth - (wq->pi - wq->ci);
}

static bool rq_overrun(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);
    const ErnicWq *wq;
    uint32_t done;

    if (!qp || !c->value || c->value > qp->rq.wq.depth) {
        return false;
    }
    wq = &qp->rq.wq;
    done = wq->pi - wq->depth;
    return ernic_pg332_ahead(ernic_pg332_index(done, wq->depth), c->value,
                             wq->depth) > ernic_pg332_received(qp) - done;
}

/* ---- doorbells ------------------------------------------------------------ */

CHECK(rings, c->value && c->value != c->old)
CHECK(rings_disabled, rings(c) && !(card_enabled(c) && qp_enabled(c)))
CHECK(rings_recovery, rings(c) && qp_enabled(c) &&
      (slot(c, PG332_QPCONF) & PG332_QPCONF_RECOVERY))
CHECK(rings_override, rings(c) && qp_enabled(c) && override(c))

static bool rings_fatal(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);

    return rings(c) && qp && qp->state == ERNIC_QPS_ERR &&
           !(slot(c, PG332_QPCONF) & PG332_QPCONF_RECOVERY);
}

CHECK(rings_unconnected, rings(c) && qp_enabled(c) && c->qpn != ERNIC_QPN_GSI &&
      (!slot(c, PG332_DESTQPCONF) ||
       !address_set(c, PG332_MACDESADDLSB, PG332_MACDESADDMSB) ||
       !(address_set(c, PG332_IPDESADDR1, PG332_IPDESADDR2) ||
         address_set(c, PG332_IPDESADDR3, PG332_IPDESADDR4))))

/* ---- the card is enabled -------------------------------------------------- */

static bool all_zero(const ErnicRuleCase *c)
{
    uint32_t bits = 0, i;

    for (i = 0; i < c->rule->num_regs; i++) {
        bits |= global(c, c->rule->regs[i]);
    }
    return !bits;
}

/* Registers are the two halves of an address, and a size. */
CHECK(no_buffer, !global(c, c->rule->regs[2]) ||
      !(global(c, c->rule->regs[0]) | global(c, c->rule->regs[1])))

/* ---- a queue pair is enabled, or no more ---------------------------------- */

CHECK(before_card, !card_enabled(c))
CHECK(before_qp1, c->qpn != ERNIC_QPN_GSI &&
      !(*ernic_pg332_qp_reg(c->e, ERNIC_QPN_GSI, PG332_QPCONF) &
        PG332_QPCONF_ENABLE))
CHECK(out_of_bound, !ernic_pg332_in_bound(c->e, c->qpn))
CHECK(no_queue, !address_set(c, PG332_RQBA, PG332_RQBAMSB) ||
      !address_set(c, PG332_SQBA, PG332_SQBAMSB) ||
      ((c->value & PG332_QPCONF_CQE) &&
       !address_set(c, PG332_CQBA, PG332_CQBAMSB)))
CHECK(no_doorbell, (c->value & PG332_QPCONF_NO_HS) &&
      !(address_set(c, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB) &&
        address_set(c, PG332_CQDBADD, PG332_CQDBADDMSB)))
CHECK(no_depth, !sq_depth(c) || !rq_depth(c))
CHECK(depth_small, !no_depth(c) && (sq_depth(c) < DEPTH_MIN || rq_depth(c) < DEPTH_MIN))
CHECK(buffer_size, !power_of_two(c->value >> PG332_QPCONF_RQ_BUF_SHIFT))
CHECK(path_mtu, (c->value & PG332_QPCONF_PMTU) >> PG332_QPCONF_PMTU_SHIFT > PMTU_MAX)
CHECK(under_recovery, c->value & PG332_QPCONF_RECOVERY)
CHECK(no_retry_counts, c->qpn != ERNIC_QPN_GSI && !(slot(c, PG332_STATQP) & RETRY_COUNTS))
CHECK(stale_pointers, (c->old & PG332_QPCONF_RECOVERY) &&
      (slot(c, PG332_CQHEAD) || slot(c, PG332_SQPI) ||
       slot(c, PG332_RQCI) || slot(c, PG332_STATRQPIDB) ||
       slot(c, PG332_STATCURSQPTR)))

static bool not_drained(const ErnicRuleCase *c)
{
    const ErnicQp *qp = running(c);

    return qp && (c->old & ~c->value & PG332_QPCONF_ENABLE) &&
           qp->sq.wq.pi != qp->sq.wq.ci;
}

/* ---- send requests -------------------------------------------------------- */

static bool is_send(uint8_t opcode)
{
    return opcode == PG332_OP_SEND || opcode == PG332_OP_SEND_IMM ||
           opcode == PG332_OP_SEND_INV;
}

static bool is_write(uint8_t opcode)
{
    return opcode == PG332_OP_WRITE || opcode == PG332_OP_WRITE_IMM;
}

CHECK(wqe_opcode, !is_send(c->opcode) && !is_write(c->opcode) &&
      c->opcode != PG332_OP_READ)
CHECK(wqe_qp1_opcode, c->qpn == ERNIC_QPN_GSI && !wqe_opcode(c) &&
      c->opcode != PG332_OP_SEND)
CHECK(wqe_empty_send, is_send(c->opcode) && !c->len)
CHECK(wqe_too_long, c->len > PG332_MESSAGE_MAX)
CHECK(wqe_write_64k, is_write(c->opcode) && c->len > WRITE_4_2_MAX &&
      c->len <= PG332_MESSAGE_MAX)
CHECK(wqe_read_length, c->opcode == PG332_OP_READ && (!c->len || c->len % LINE))

/* ---- requests of peers ---------------------------------------------------- */

CHECK(peer_atomic, c->pkt->op->cls == ERNIC_CL_ATOMIC)
CHECK(peer_short_read, c->pkt->op->cls == ERNIC_CL_READ && c->pkt->dma_len <= READ_MIN)
CHECK(has_range, c->pkt->op->cls == ERNIC_CL_READ ||
      (c->pkt->op->cls == ERNIC_CL_WRITE &&
       (c->pkt->op->seg & ERNIC_SEG_START)))
CHECK(peer_unaligned, has_range(c) && c->pkt->va % LINE)
CHECK(peer_write_length, has_range(c) && c->pkt->op->cls == ERNIC_CL_WRITE &&
      c->pkt->dma_len % LINE)

/* ---- the table ------------------------------------------------------------ */

#define REGS(s, ...) \
    .scope = ERNIC_REG_##s, .regs = { __VA_ARGS__ }, \
    .num_regs = sizeof((uint16_t[]) { __VA_ARGS__ }) / sizeof(uint16_t)
#define RULE(name_, w, fx, fn, text_, src, ...) \
    { .name = name_, .when = ERNIC_RULE_##w, .effect = ERNIC_RULE_##fx, \
      .broken = fn, .text = text_, .source = src, \
      .versions = ERNIC_REG_ANY, .enforced = ERNIC_REG_ANY, __VA_ARGS__ }
#define WQE(field_, at_) .field = "WQE." field_, .at = at_
#define PKT(field_, at_) .field = field_, .at = at_

const ErnicRule ernic_rules[] = {
    /* Registers as such. */
    RULE("no-register", WRITE, AS_EVER, no_register,
         "a write to an offset without a register in this version",
         "register space"),
    RULE("reserved-bits", WRITE, AS_EVER, reserved_bits,
         "a 1 in a reserved bit: software has to write 0",
         "register space"),
    RULE("read-only", WRITE, AS_EVER, read_only,
         "a write to a read-only register",
         "register space"),
    RULE("override-needed", WRITE, AS_EVER, needs_override,
         "a write to a pointer without the override, XRNICADCONF[0]",
         "XRNICADCONF"),
    RULE("override-enabled", WRITE, IGNORED, override_enabled,
         "a write to a pointer, by override, while its queue pair is enabled",
         "recovery, step 6"),
    RULE("rq-alignment", WRITE, AS_EVER, rq_unaligned,
         "a receive queue that is not aligned to 256 bytes: the low bits are ignored",
         "RQBA", REGS(QP, PG332_RQBA)),
    RULE("sq-cq-alignment", WRITE, AS_EVER, sq_unaligned,
         "a send or completion queue that is not aligned to 32 bytes",
         "SQBA, CQBA", REGS(QP, PG332_SQBA, PG332_CQBA)),
    RULE("doorbell-alignment", WRITE, IGNORED, doorbell_unaligned,
         "a doorbell word that is not aligned to 4 bytes",
         "doorbells of 4 bytes", REGS(QP, PG332_RQWPTRDBADD, PG332_CQDBADD)),
    RULE("depth-power-of-two", WRITE, IGNORED, depth_uneven,
         "a queue depth that is not a power of two",
         "QDEPTH", REGS(QP, PG332_QDEPTH)),
    RULE("ack-policy", WRITE, IGNORED, ack_policy,
         "XRNICCONF[4:3] is 11, which is not a policy",
         "XRNICCONF", REGS(GLOBAL, PG332_XRNICCONF)),
    RULE("pause-threshold", WRITE, IGNORED, threshold,
         "XON or XOFF above 512, the limit of AMD's drivers",
         "AMD's drivers", REGS(GLOBAL, PG332_XRNIC_BUF_THRESHOLD_ROCE,
                               PG332_XRNIC_BUF_THRESHOLD_NON_ROCE)),
    RULE("access-value", WRITE, AS_EVER, access_value,
         "ACCESSDESC[3:0] is not 0, 1 or 2, and grants no right",
         "ACCESSDESC", REGS(REGION, PG332_ACCESSDESC)),

    /* Registers at the wrong time. */
    RULE("address-enabled", WRITE, IGNORED, changed_enabled,
         "the card's MAC or IP address changes while the card is enabled",
         "set-up, step 1",
         REGS(GLOBAL, PG332_MACXADDLSB, PG332_MACXADDMSB, PG332_IPv4XADD,
              PG332_IPv6XADD1, PG332_IPv6XADD2, PG332_IPv6XADD3,
              PG332_IPv6XADD4)),
    RULE("queue-enabled", WRITE, IGNORED, changed_enabled,
         "the address or depth of a queue changes while its queue pair is enabled",
         "set-up, step 3",
         REGS(QP, PG332_RQBA, PG332_RQBAMSB, PG332_SQBA, PG332_SQBAMSB,
              PG332_CQBA, PG332_CQBAMSB, PG332_QDEPTH)),
    RULE("sqpsn-busy", WRITE, IGNORED, sqpsn_busy,
         "SQPSN is written while requests are outstanding",
         "set-up, step 4", REGS(QP, PG332_SQPSN)),
    RULE("lstrqreq-busy", WRITE, IGNORED, lstrqreq_busy,
         "LSTRQREQ is written within a message, or before the response to a READ",
         "set-up, step 4", REGS(QP, PG332_LSTRQREQ)),
    RULE("lstrqreq-opcode", WRITE, AS_EVER, lstrqreq_opcode,
         "LSTRQREQ[31:24] is not the opcode of a last or only packet of a request",
         "set-up, step 4", REGS(QP, PG332_LSTRQREQ)),

    /* Indices and doorbells. */
    RULE("sqpi-range", WRITE, IGNORED, sqpi_range,
         "SQPI is above the depth: indices run from 1 to the depth",
         "pointers", REGS(QP, PG332_SQPI)),
    RULE("rqci-range", WRITE, IGNORED, rqci_range,
         "RQCI is above the depth",
         "pointers", REGS(QP, PG332_RQCI)),
    RULE("index-zero", WRITE, IGNORED, index_zero,
         "an index returns to 0, its value before the first entry",
         "pointers", REGS(QP, PG332_SQPI, PG332_RQCI)),
    RULE("sq-overrun", WRITE, IGNORED, sq_overrun,
         "more requests are posted than the send queue has room for",
         "pointers", REGS(QP, PG332_SQPI)),
    RULE("rq-overrun", WRITE, IGNORED, rq_overrun,
         "more buffers are returned than have been filled",
         "receive queue", REGS(QP, PG332_RQCI)),
    RULE("post-disabled", WRITE, IGNORED, rings_disabled,
         "requests are posted before card and queue pair are enabled",
         "set-up, step 5", REGS(QP, PG332_SQPI)),
    RULE("post-recovery", WRITE, IGNORED, rings_recovery,
         "requests are posted under recovery",
         "recovery, step 1", REGS(QP, PG332_SQPI)),
    RULE("post-override", WRITE, IGNORED, rings_override,
         "requests are posted while XRNICADCONF[0] is set",
         "recovery, step 14", REGS(QP, PG332_SQPI)),
    RULE("post-fatal", WRITE, AS_EVER, rings_fatal,
         "requests are posted after a fatal error, without recovery",
         "recovery, step 1", REGS(QP, PG332_SQPI)),
    RULE("post-unconnected", WRITE, IGNORED, rings_unconnected,
         "requests are posted without the peer's queue pair, MAC or IP address",
         "set-up, step 4", REGS(QP, PG332_SQPI)),

    /* The card is enabled. */
    RULE("mac-unset", ENABLE, NOT_ENABLED, all_zero,
         "the card is enabled before it has a MAC address",
         "set-up, step 1",
         REGS(GLOBAL, PG332_MACXADDLSB, PG332_MACXADDMSB)),
    RULE("ip-unset", ENABLE, NOT_ENABLED, all_zero,
         "the card is enabled before it has an IP address",
         "set-up, step 1",
         REGS(GLOBAL, PG332_IPv4XADD, PG332_IPv6XADD1, PG332_IPv6XADD2,
              PG332_IPv6XADD3, PG332_IPv6XADD4)),
    RULE("errbuf-unset", ENABLE, NOT_ENABLED, no_buffer,
         "the card is enabled before it has error buffers",
         "set-up, step 1; 4.2 stalls", .enforced = ERNIC_REG_V4_2,
         REGS(GLOBAL, PG332_ERRBUFBA, PG332_ERRBUFBAMSB, PG332_ERRBUFSZ)),
    RULE("ipkterrq-unset", ENABLE, NOT_ENABLED, no_buffer,
         "the card is enabled before it has a queue of fatal errors",
         "set-up, step 1; 4.2 stalls, 4.0 does not", .enforced = ERNIC_REG_V4_2,
         REGS(GLOBAL, PG332_IPKTERRQBA, PG332_IPKTERRQBAMSB,
              PG332_IPKTERRQSZ)),
    RULE("resperr-unset", ENABLE, NOT_ENABLED, no_buffer,
         "the card is enabled before it has buffers for retries of responses",
         "set-up, step 1; 4.2 stalls", .enforced = ERNIC_REG_V4_2,
         REGS(GLOBAL, PG332_RESPERRPKTBA, PG332_RESPERRPKTBAMSB,
              PG332_RESPERRSZ)),
    RULE("datbuf-unset", ENABLE, NOT_ENABLED, no_buffer,
         "the card is enabled before it has buffers for retries of WRITEs",
         "set-up, step 1; 4.2 stalls", .enforced = ERNIC_REG_V4_2,
         REGS(GLOBAL, PG332_DATBUFBA, PG332_DATBUFBAMSB, PG332_DATBUFSZ)),

    /* A queue pair is enabled, or no more. */
    RULE("card-first", QP_ENABLE, AS_EVER, before_card,
         "a queue pair is enabled before the card",
         "set-up, step 1"),
    RULE("qp1-first", QP_ENABLE, AS_EVER, before_qp1,
         "a queue pair is enabled before queue pair 1",
         "set-up, step 3"),
    RULE("qp-number", QP_ENABLE, AS_EVER, out_of_bound,
         "a queue pair above the configured number is enabled",
         "XRNICCONF, XRNIC_CONF_QP_EN"),
    RULE("queue-unset", QP_ENABLE, NOT_ENABLED, no_queue,
         "a queue pair is enabled before its queues have addresses",
         "set-up, step 3"),
    RULE("doorbell-unset", QP_ENABLE, AS_EVER, no_doorbell,
         "a queue pair is enabled, with QPCONF[4], before its doorbell words have"
         " addresses", "set-up, step 3"),
    RULE("depth-unset", QP_ENABLE, NOT_ENABLED, no_depth,
         "a queue pair is enabled with a depth of 0",
         "QDEPTH"),
    RULE("depth-minimum", QP_ENABLE, NOT_ENABLED, depth_small,
         "a queue pair is enabled with a depth below 16, which stops a 4.2",
         "seen on 4.2", .versions = ERNIC_REG_V4_2),
    RULE("buffer-size", QP_ENABLE, NOT_ENABLED, buffer_size,
         "QPCONF[31:16], the size of receive buffers, is not a power of two",
         "QPCONF"),
    RULE("path-mtu", QP_ENABLE, NOT_ENABLED, path_mtu,
         "QPCONF[10:8], the path MTU, is above 4",
         "QPCONF"),
    RULE("still-recovering", QP_ENABLE, AS_EVER, under_recovery,
         "a queue pair is enabled while QPCONF[6], under recovery, is set: it does"
         " not run", "recovery, step 13"),
    RULE("retry-counts", QP_ENABLE, AS_EVER, no_retry_counts,
         "a queue pair is enabled while the remaining retries in STATQP are 0",
         "AMD's answer record 75247"),
    RULE("stale-pointers", QP_ENABLE, AS_EVER, stale_pointers,
         "a queue pair leaves recovery while pointers are not 0",
         "recovery, step 8"),
    RULE("not-drained", WRITE, AS_EVER, not_drained,
         "a queue pair is disabled before CQHEAD equals SQPI",
         "recovery, steps 3 to 6", REGS(QP, PG332_QPCONF)),

    /* Send requests. */
    RULE("wqe-opcode", REQUEST, FATAL, wqe_opcode,
         "an unknown opcode",
         "table 2-1", WQE("OPCODE", 16)),
    RULE("wqe-qp1-opcode", REQUEST, FATAL, wqe_qp1_opcode,
         "an opcode other than SEND on queue pair 1",
         "AMD's drivers", WQE("OPCODE", 16)),
    RULE("wqe-empty-send", REQUEST, FATAL, wqe_empty_send,
         "a SEND of 0 bytes",
         "unsupported", WQE("LENGTH", 12)),
    RULE("wqe-too-long", REQUEST, FATAL, wqe_too_long,
         "a length of more than 8 MiB",
         "unsupported", WQE("LENGTH", 12)),
    RULE("wqe-write-64k", REQUEST, AS_EVER, wqe_write_64k,
         "a WRITE of more than 64 KiB, on which a 4.2 hung",
         "seen on 4.2", WQE("LENGTH", 12), .versions = ERNIC_REG_V4_2),
    RULE("wqe-read-length", REQUEST, FATAL, wqe_read_length,
         "a READ whose response is not a multiple of 64 bytes",
         "unsupported", WQE("LENGTH", 12)),

    /* Requests of peers. */
    RULE("peer-atomic", PACKET, NAK, peer_atomic,
         "an atomic operation",
         "table 2-3, bit 17", PKT("BTH.OPCODE", 0)),
    RULE("peer-short-read", PACKET, NAK, peer_short_read,
         "a READ of 4 bytes or fewer",
         "unsupported", PKT("RETH.LENGTH", 24)),
    RULE("peer-alignment", PACKET, NAK, peer_unaligned,
         "a READ or WRITE at an address that is not aligned to 64 bytes",
         "unsupported", PKT("RETH.VA", 12)),
    RULE("peer-write-length", PACKET, NAK, peer_write_length,
         "a WRITE whose length is not a multiple of 64 bytes",
         "unsupported", PKT("RETH.LENGTH", 24)),
};
const uint32_t ernic_num_rules = ARRAY_SIZE(ernic_rules);
QEMU_BUILD_BUG_ON(ARRAY_SIZE(ernic_rules) > ERNIC_RULES_MAX);
