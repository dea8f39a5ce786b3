/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A card with strict mode.
 */
#include "qemu/osdep.h"
#include "strict_card.h"
#include "wire/headers.h"

#define NEXT    100             /* the PSN that the peer uses first */

Card card;
ErnicReport last_report;
uint32_t num_reports;
static uint32_t psn;

static void hear(void *env, const ErnicReport *report)
{
    last_report = *report;
    num_reports++;
}

void open_card(unsigned version, ErnicStrictMode mode)
{
    static ErnicEnvOps ops;
    ErnicConfig cfg;

    memset(&card, 0, sizeof(card));
    fake_env_init(&card.env);
    ops = fake_env_ops;
    ops.violation = hear;
    card_config(&cfg, version);
    cfg.strict = mode;
    card.version = version;
    card.e = ernic_new(&cfg, &ops, &card.env);
    ernic_set_link(card.e, card.env.now, true);
    card.sq = fake_alloc(&card.env, 16 * 64, 256);
    card.rq = fake_alloc(&card.env, 16 * SLOT_BYTES, 256);
    card.mem = fake_alloc(&card.env, MEM, 4096);
    card.errq = fake_alloc(&card.env, 64 * 8, 8);
    num_reports = 0;
    psn = NEXT;
}

static void set_card(void)
{
    PLAY(W_G(ERRBUFBA, 0x10000), W_G(ERRBUFSZ, 0x01000040), W_G(IPKTERRQBA, card.errq),
         W_G(IPKTERRQBAMSB, card.errq >> 32), W_G(IPKTERRQSZ, 64),
         W_G(RESPERRPKTBA, 0x20000), W_G(RESPERRSZ, 0x01000040), W_G(DATBUFBA, 0x30000),
         W_G(DATBUFSZ, 0x10000400), W_G(INTEN, 0xfb), W_G(MACXADDLSB, 0x35010201),
         W_G(MACXADDMSB, 0x000a), W_G(IPv4XADD, 0x0a000001), W_G(XRNICADCONF, ADCONF));
    if (card.version != PG332_V3_1) {
        PLAY(W_G(XRNIC_CONF_QP_EN, 8));
    }
}

static void set_qp(uint32_t n)
{
    PLAY(W_Q_ADDR(n, RQBA, card.rq), W_Q_ADDR(n, SQBA, card.sq), W_Q(n, CQBA, 0x40000),
         W_Q(n, CQDBADD, 0x50000), W_Q(n, RQWPTRDBADD, 0x60000), W_Q(n, QDEPTH, RINGS));
}

static void set_peer(void)
{
    PLAY(W_Q(2, MACDESADDLSB, 0x35010202), W_Q(2, MACDESADDMSB, 0x000a),
         W_Q(2, IPDESADDR1, 0x0a000002), W_Q(2, DESTQPCONF, 2),
         W_Q(2, SQPSN, 7), W_Q(2, LSTRQREQ, 0x02000000 | (NEXT - 1)),
         W_Q(2, PD, PD), W_Q(2, STATQP, 0x77000000));
}

static void set_region(void)
{
    PLAY(W_R(PDPDNUM, PD), W_R(VIRTADDRLSB, (uint32_t)VA), W_R(VIRTADDRMSB, VA >> 32),
         W_R(BUFBASEADDRLSB, card.mem), W_R(BUFBASEADDRMSB, card.mem >> 32),
         W_R(BUFRKEY, 0x5c), W_R(WRRDBUFLEN, MEM), W_R(ACCESSDESC, 2));
}

void bring_to(Stage stage)
{
    if (stage >= SET) {
        set_card();
    }
    if (stage >= READY) {
        PLAY(W_G(XRNICCONF, card.version == PG332_V3_1 ? CONF_3 : CONF_4));
        set_region();
        set_qp(1);
        PLAY(W_Q(1, QPCONF, CONF));
        set_qp(2);
        set_peer();
    }
    if (stage == RUNNING) {
        PLAY(W_Q(2, QPCONF, CONF));
    }
}

/* ---- a peer's requests ---------------------------------------------------- */

void inject(uint8_t opcode, uint64_t va, uint32_t key, uint32_t dma_len, uint32_t payload)
{
    ErnicPath path = {
        .sgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
        .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
        .vlan = ERNIC_NO_VLAN, .udp_sport = 0x12b7, .hop_limit = 64,
    };
    ErnicPkt pkt = {
        .op = ernic_opcode(opcode), .transport = ERNIC_RC, .dest_qp = 2,
        .psn = psn++, .pkey = 0xffff, .ackreq = true, .va = va, .rkey = key,
        .dma_len = dma_len, .payload_len = payload,
    };
    uint8_t buf[2048] = { 0 };
    uint32_t len = ernic_pkt_emit_hdr(&pkt, buf);
    ErnicIcrcCtx icrc;
    ErnicTrain train;

    ernic_icrc_init(&icrc, &path);
    len = ernic_pkt_finish(&icrc, buf, len + payload);
    train = (ErnicTrain) { .path = path, .data = buf, .len = len, .seg = len };
    ernic_rx(card.e, card.env.now, &train);
    fake_check(card.e);
}

/* ---- what is recorded ----------------------------------------------------- */

ErnicReport report_of(const char *name)
{
    ErnicReport r;
    uint32_t pos = 0;

    while (ernic_next_rule(card.e, &pos, &r)) {
        if (!strcmp(r.rule, name)) {
            return r;
        }
    }
    g_error("%s has no rule %s", version_names[card.version], name);
}

uint64_t all_counts(void)
{
    uint64_t sum = 0;
    uint32_t pos = 0;
    ErnicReport r;

    while (ernic_next_rule(card.e, &pos, &r)) {
        sum += r.count;
    }
    return sum;
}

void expect_silence(const char *when)
{
    ErnicReport r;
    uint32_t pos = 0;

    while (ernic_next_rule(card.e, &pos, &r)) {
        if (r.count) {
            g_error("%s: %s was broken, by %s = %" PRIx64, when, r.rule, r.reg, r.value);
        }
    }
    IS(num_reports, 0);
}

void expect_broken(const char *name, const char *reg, uint32_t qpn,
                          uint32_t offset, uint64_t value)
{
    ErnicReport r = report_of(name);

    IS(r.count, 1);
    IS(all_counts(), 1);
    IS(num_reports, 1);
    g_assert_cmpstr(last_report.rule, ==, name);
    g_assert_cmpstr(r.reg, ==, reg);
    IS(r.qpn, qpn);
    IS(r.offset, offset);
    IS(r.value, value);
    IS(r.time, card.env.now);
    g_assert_cmpmem(&last_report, sizeof(last_report), &r, sizeof(r));
}
