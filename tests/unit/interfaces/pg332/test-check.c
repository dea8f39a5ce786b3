/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The checks of packets that PG332 makes: each row of the table by a packet with that
 * one defect, and each pair of rows by a packet with both, for which the card reports
 * the one that it checks first.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/packet_checks.h"
#include "pg332_peer.h"
#include "transport/qp.h"

#define ETH     ERNIC_ETH_LEN
#define OPTIONS 4                   /* bytes of IP options */

/* A frame under construction: a valid SEND Only, in sequence, before it is spoiled. */
typedef struct Shot {
    ErnicPath path;
    ErnicPkt pkt;
    ErnicOp op;
    bool v6, options, bad_icrc, bad_checksum, reserved;
    uint8_t version, flags, pad;
    int ip_length, udp_length;      /* added to the right length */
} Shot;

static void ip_version(Card *c, Shot *s)
{
    s->path.sgid = (ErnicGid) { { 0xfe, 0x80, [15] = 2 } };
    s->path.dgid = (ErnicGid) { { 0xfe, 0x80, [15] = 1 } };
    s->v6 = true;
}

static void not_enabled(Card *c, Shot *s)
{
    put_qp(c, PG332_QPCONF, 0);
}

static void rq_full(Card *c, Shot *s)
{
    ErnicWq *wq = &c->e->qp[QPN].rq.wq;

    wq->pi = wq->ci;
}

/* A WRITE is open. */
static void opcode_sequence(Card *c, Shot *s)
{
    ErnicRecvQueue *rq = &c->e->qp[QPN].rq;

    rq->open = ERNIC_CL_WRITE;
    rq->dmalen = 2 * PEER_MTU;
    rq->off = PEER_MTU;
}

static void pad(Card *c, Shot *s)
{
    s->op = ERNIC_OP_SEND_FIRST;
    s->pkt.payload_len = PEER_MTU;
    s->pad = 1;
}

/* One field of a shot gets another value. */
#define SET(field, v)   .at = offsetof(Shot, field), .size = sizeof_field(Shot, field), \
                        .value = v

/*
 * Row by row; a row without a defect of a single packet gives the reason. @hides: later
 * rows whose defect is then invisible or impossible.
 */
static const struct {
    const char *name, *hides;
    uint32_t at, size, value;
    void (*spoil)(Card *c, Shot *s);
} defects[] = {
    { "FCS" },                          /* links carry none */
    { "ICRC", "IPv4 header length,IP length", SET(bad_icrc, true) },    /* then unknown */
    { "source MAC", "IP length,queue pair number,queue pair not enabled",
      SET(path.smac[5], 0x80) },
    { "destination MAC", SET(path.dmac[5], 0x80) },
    { "source address", "IP version,IP length,queue pair number,queue pair not enabled",
      SET(path.sgid.raw[15], 0x80) },
    { "IP version", "IPv4 checksum,IPv4 header length,IPv4 flags,IP length,"
      "queue pair number,queue pair not enabled,destination address",
      .spoil = ip_version },
    { "IPv4 checksum", SET(bad_checksum, true) },
    { "IPv4 header length", SET(options, true) },
    { "IPv4 flags", SET(flags, 0) },
    { "fragment offset" },              /* no datagram to port 4791 */
    { "destination address", SET(path.dgid.raw[15], 0x80) },
    { "IP length", SET(ip_length, 1000) },
    { "UDP length", SET(udp_length, 4) },
    { "BTH version", SET(version, 1) },
    { "queue pair number", "queue pair not enabled", SET(pkt.dest_qp, 0x4711) },
    { "opcode", "opcode, not expected,queue pair not enabled,request PSN",
      SET(reserved, true) },
    { "opcode, not expected", "queue pair not enabled", SET(pkt.transport, ERNIC_UC) },
    { "queue pair not enabled",
      "request PSN,receive queue full,opcode sequence,pad count,payload length",
      .spoil = not_enabled },
    { "request PSN", SET(pkt.psn, (PEER_PSN + 5) & ERNIC_PSN_MASK) },
    { "receive queue full", .spoil = rq_full },
    { "opcode sequence", .spoil = opcode_sequence },
    { "pad count", "payload length", .spoil = pad },    /* spoils the length too */
    { "payload length", SET(pkt.payload_len, PEER_MTU + 4) },
    { "receive buffer" },               /* test_receive_buffer() */
    { "AETH syndrome" },                /* test_responses() */
    { "response" }, { "NAK of an invalid request" }, { "NAK of an access" },
    { "NAK of an operation" },
};

static bool has_shot(uint32_t i)
{
    return defects[i].spoil || defects[i].size;
}

static void spoil(Card *c, Shot *s, uint32_t i)
{
    uint64_t le = cpu_to_le64(defects[i].value);

    if (defects[i].spoil) {
        defects[i].spoil(c, s);
    } else {
        memcpy((uint8_t *)s + defects[i].at, &le, defects[i].size);
    }
}

static void shot_init(Shot *s)
{
    *s = (Shot) {
        .path = peer_path(), .op = ERNIC_OP_SEND_ONLY, .flags = 2,
        .pkt = { .transport = ERNIC_RC, .dest_qp = QPN, .psn = PEER_PSN,
                 .payload_len = 64, .pkey = ERNIC_PKEY_DEFAULT, .ackreq = true },
    };
}

static uint32_t emit_packet(Shot *s, uint8_t *buf)
{
    uint32_t len;

    s->pkt.op = ernic_opcode(ernic_bth_opcode(s->pkt.transport, s->op));
    len = ernic_pkt_emit_hdr(&s->pkt, buf) + s->pkt.payload_len;
    buf[0] = s->reserved ? 0x1f : buf[0];
    buf[1] |= s->version | s->pad << ERNIC_BTH_PAD_SHIFT;
    return len;
}

/* The IPv4 header, correct except for the wanted defect. */
static void spoil_ip4(const Shot *s, uint8_t *ip)
{
    ip[0] += s->options;
    stw_be_p(ip + 2, lduw_be_p(ip + 2) + s->options * OPTIONS + s->ip_length);
    ip[6] = s->flags << 5;
    stw_be_p(ip + 10, 0);
    stw_be_p(ip + 10, ernic_net_checksum(ip, (ip[0] & 0xf) * 4) ^ s->bad_checksum);
}

static void shoot(Card *c, Shot *s)
{
    g_autofree uint8_t *buf = g_malloc0(8192);
    uint8_t packet[8000] = { };
    uint32_t len = emit_packet(s, packet), head;
    uint8_t *ip = buf + ETH, *udp, *ib;
    ErnicIcrcCtx icrc;
    ErnicFrame f;

    head = ernic_net_emit(&s->path, len + ERNIC_ICRC_LEN, buf);
    udp = buf + head - ERNIC_UDP_LEN;
    if (s->options) {
        memmove(udp + OPTIONS, udp, ERNIC_UDP_LEN);
        memset(udp, 0, OPTIONS);
        udp += OPTIONS;
        head += OPTIONS;
    }
    if (!s->v6) {
        spoil_ip4(s, ip);
    } else {
        stw_be_p(ip + 4, lduw_be_p(ip + 4) + s->ip_length);
    }
    stw_be_p(udp + 4, lduw_be_p(udp + 4) + s->udp_length);
    ib = udp + ERNIC_UDP_LEN;
    memcpy(ib, packet, len);
    ernic_icrc_init_ip(&icrc, ip, s->v6);
    stl_le_p(ib + len, ernic_icrc_packet(&icrc, ib, len) ^ s->bad_icrc);
    head += len + ERNIC_ICRC_LEN;
    if (ernic_net_parse(&f, buf, head) == ERNIC_DROP_NONE) {
        ErnicTrain train = {
            .path = f.path, .ip = f.ip, .data = f.ib, .len = f.ib_len,
            .seg = f.ib_len,
        };

        ernic_rx(c->e, c->env.now, &train);
    } else {
        ernic_rx_bad_frame(c->e, c->env.now, buf, head);
    }
}

/* Each packet has the fate that its row describes. */
static void check_effect(Card *c, const Pg332Check *row)
{
    bool fatal = row->effect == PG332_NAK_FATAL || row->effect == PG332_FATAL;

    fake_run(c->e);
    switch (row->effect) {
    case PG332_NAK:
        peer_hears_ack(c, ERNIC_NAK_PSN_SEQ);
        break;
    case PG332_RNR:
        peer_hears_ack(c, ERNIC_AETH_RNR_NAK);
        break;
    case PG332_NAK_FATAL:
        peer_hears_ack(c, ERNIC_NAK_INV_REQ);
        break;
    default:
        peer_hears_nothing(c);
        break;
    }
    IS(get_qp(c, PG332_STATQP) & PG332_STATQP_FATAL, fatal);
    g_assert_cmphex(get(c, PG332_INTSTS), ==, PG332_INT_VALIDATION |
                    (fatal ? PG332_INT_FATAL : 0) |
                    (row->effect == PG332_RNR ? PG332_INT_RNR : 0));
    READS(c, SLOT(STATRQPIDB, 0), REG(INALLDRPPKTCNT, 1 | (row->drop ? 1 << 16 : 0)));
}

/* The defects of rows @i and @j in one packet: the card reports the first of them. */
static void check_rows(uint32_t i, uint32_t j)
{
    const Pg332Check *row = &ernic_pg332_checks[i];
    Card *c = &cards[0];
    uint64_t ring;
    Shot s;

    g_test_message("%s and %s", row->name, defects[j].name);
    card_open(&cards[0], 0, PG332_V3_1);
    WRITES(c, REG(IPv6XADD1, 1), REG(IPv6XADD4, 0xfe800000));
    ring = card_errors(c, 4, 256);
    shot_init(&s);
    spoil(c, &s, i);
    if (j != i) {
        spoil(c, &s, j);
    }
    shoot(c, &s);
    IS(get(c, PG332_ERRBUFWPTR), 1);
    IS(card_word(c, ring), 1u << row->bit);
    IS(get(c, PG332_ININVDUPCNT), 1);
    check_effect(c, row);
    card_close(&cards[0]);
}

TEST("/pg332-check/rows", test_rows)
{
    IS(ARRAY_SIZE(defects), ernic_pg332_num_checks);
    for (uint32_t i = 0; i < ernic_pg332_num_checks; i++) {
        const Pg332Check *row = &ernic_pg332_checks[i];

        g_assert_cmpstr(defects[i].name, ==, row->name);
        g_assert(i == 0 || row->order >= row[-1].order);
        g_assert(!row->drop || row->effect == PG332_DROP);
        if (!has_shot(i)) {
            continue;
        }
        check_rows(i, i);
        for (uint32_t j = i + 1; j < ernic_pg332_num_checks; j++) {
            g_auto(GStrv) hides = g_strsplit(defects[i].hides ?: "", ",", -1);

            if (has_shot(j) &&
                !g_strv_contains((const char *const *)hides, defects[j].name)) {
                check_rows(i, j);
            }
        }
    }
}

/* The document contains the same table. */
TEST("/pg332-check/document", test_document)
{
    g_autofree char *text = NULL;
    const char *at;

    g_assert(g_file_get_contents(ERNIC_DOCS "/ernic-interface.md", &text, NULL, NULL));
    at = strstr(text, "| Bit | Check |");
    for (uint32_t i = 0; i < ernic_pg332_num_checks; i++) {
        g_autofree char *row = g_strdup_printf("\n| %u | ", ernic_pg332_checks[i].bit);

        if (i && ernic_pg332_checks[i].bit == ernic_pg332_checks[i - 1].bit) {
            continue;
        }
        g_assert_nonnull(at);
        at = strstr(at, row);
    }
    g_assert_nonnull(at);
}

/* Without a defect nothing is refused, on either kind of link. */
CARD_TEST("/pg332-check/good", PG332_V4_2, test_good)
{
    Shot s;

    shot_init(&s);
    shoot(c, &s);
    fake_run(c->e);
    peer_hears_ack(c, ERNIC_AETH_ACK | ERNIC_AETH_CREDIT_NONE);
    PEER(c, SEND_ONLY, .psn = (PEER_PSN + 1) & ERNIC_PSN_MASK, .payload_len = 64);
    READS(c, SLOT(STATRQPIDB, 2), REG(INTSTS, PG332_INT_RECEIVE));
    /* A duplicate: counted, acknowledged, and not received again. */
    PEER(c, SEND_ONLY, .psn = (PEER_PSN + 1) & ERNIC_PSN_MASK, .payload_len = 64);
    peer_hears_ack(c, ERNIC_AETH_ACK | ERNIC_AETH_CREDIT_NONE);
    READS(c, SLOT(STATRQPIDB, 2), REG(ININVDUPCNT, 1 << 16));
}

static uint32_t bit_of(const char *name)
{
    uint32_t i;

    for (i = 0; strcmp(ernic_pg332_checks[i].name, name) != 0; i++) {
        g_assert_cmpuint(i, <, ernic_pg332_num_checks);
    }
    return 1u << ernic_pg332_checks[i].bit;
}

/*
 * A malformed frame arrives after the write that starts, or stops, its queue pair, and
 * before the slice that does so. Only a queue pair that runs has a peer.
 */
static void test_unsettled(gconstpointer data)
{
    bool starts = GPOINTER_TO_UINT(data);
    Card *c = &cards[0];
    uint64_t ring;
    uint32_t conf;
    Shot s;

    card_open(&cards[0], 0, PG332_V4_0);
    ring = card_errors(c, 4, 256);
    fake_run(c->e);
    conf = get(c, PG332_XRNICCONF);
    if (starts) {
        put(c, PG332_XRNICCONF, conf & ~PG332_CONF_ENABLE);
        fake_run(c->e);
        put(c, PG332_XRNICCONF, conf);
    } else {
        put(c, PG332_XRNICCONF, conf & ~PG332_CONF_ENABLE);
    }
    IS(c->e->unsettled, 1);
    shot_init(&s);
    s.path.smac[5] ^= 0x80;
    s.bad_checksum = true;
    shoot(c, &s);
    IS(card_word(c, ring), bit_of(starts ? "source MAC" : "IPv4 checksum"));
    IS(c->e->qp[QPN].used, starts);
    card_close(&cards[0]);
}

CARD_TEST("/pg332-check/receive-buffer", PG332_V3_1, test_receive_buffer)
{
    uint64_t ring = card_errors(c, 4, 256);

    PEER(c, SEND_ONLY, .psn = PEER_PSN, .payload_len = SLOT_BYTES + 4);
    IS(card_word(c, ring), 1u << 19);
    peer_hears_ack(c, ERNIC_NAK_INV_REQ);
    g_assert_cmphex(get_qp(c, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);
}

/* Responses: the bit, or none. */
TEST("/pg332-check/responses", test_responses)
{
    static const struct {
        uint8_t op, syndrome;
        uint32_t bit;
        bool fatal;
    } cases[] = {
        { ERNIC_OP_ACK, 0x1f },
        { ERNIC_OP_ACK, 0x45, 22, true },
        { ERNIC_OP_ACK, 0x9f, 22, true },
        { ERNIC_OP_ACK, 0x65, 22, true },
        { ERNIC_OP_READ_RSP_ONLY, 0x5f, 22, true },
        { ERNIC_OP_ACK, ERNIC_NAK_INV_REQ, 23, true },
        { ERNIC_OP_ACK, ERNIC_NAK_REM_ACC, 23, true },
        { ERNIC_OP_ACK, ERNIC_NAK_REM_OP, 23, true },
        { ERNIC_OP_READ_RSP_ONLY, 0x1f, 23, true },
        { ERNIC_OP_ACK, ERNIC_NAK_PSN_SEQ },
    };
    Card *c = &cards[0];
    uint64_t ring;

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        card_open(&cards[0], 0, PG332_V4_0);
        ring = card_errors(c, 4, 256);
        POST(c, SEND, 64);
        fake_run(c->e);
        fake_lose_trains(&c->env);
        /* An old one: ignored. */
        peer_says(c, cases[i].op, &(ErnicPkt) {
            .psn = (PSN - 1) & ERNIC_PSN_MASK, .syndrome = cases[i].syndrome,
        });
        IS(get(c, PG332_ERRBUFWPTR), 0);
        peer_says(c, cases[i].op, &(ErnicPkt) {
            .psn = PSN, .syndrome = cases[i].syndrome,
        });
        IS(card_word(c, ring), cases[i].bit ? 1u << cases[i].bit : 0);
        IS(get_qp(c, PG332_STATQP) & PG332_STATQP_FATAL, cases[i].fatal);
        fake_lose_trains(&c->env);
        card_close(&cards[0]);
    }
}

TESTS(add_tests)
{
    g_test_add_data_func("/pg332-check/starts", GUINT_TO_POINTER(true), test_unsettled);
    g_test_add_data_func("/pg332-check/stops", GUINT_TO_POINTER(false), test_unsettled);
}
