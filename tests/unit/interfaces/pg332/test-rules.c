/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Walks the table of the rules of PG332: each is broken once and reported once, kept in
 * silence, and enforced as its row says. With --print writes the table as
 * docs/ernic-rules.md, which must match the table.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "doc_page.h"
#include "interfaces/pg332/strict.h"
#include "strict_card.h"

enum { BTH_SEND_ONLY = 0x04, BTH_WRITE_ONLY = 0x0a, BTH_READ = 0x0c,
       BTH_SWAP = 0x13, BTH_ADD = 0x14 };

static void a_read_waits(void)
{
    inject(BTH_READ, VA, 0x5c, 64, 0);
}

static void a_message_comes(void)
{
    inject(BTH_SEND_ONLY, 0, 0, 0, 64);
}

static void a_key_is_wrong(void)
{
    inject(BTH_WRITE_ONLY, VA, 0x5d, 64, 64);
    fake_run(card.e);
    g_assert_cmphex(get_qp(&card, PG332_STATQP) & PG332_STATQP_FATAL, !=, 0);
}

static const ErnicRule *rule_of(const char *name)
{
    for (uint32_t i = 0; i < ernic_num_rules; i++) {
        if (!strcmp(ernic_rules[i].name, name)) {
            return &ernic_rules[i];
        }
    }
    g_error("no rule %s", name);
}

static bool is_enforced(const ErnicRule *rule)
{
    return rule->enforced & rule->versions & (1u << card.version);
}

#define G(r, v)     { ERNIC_REG_GLOBAL, 0, PG332_##r, v }
#define R(r, v)     { ERNIC_REG_REGION, 0, PG332_##r, v }
#define Q(r, v)     { ERNIC_REG_QP, 2, PG332_##r, v }
#define Q1(r, v)    { ERNIC_REG_QP, 1, PG332_##r, v }
#define HOLE        { ERNIC_REG_GLOBAL, 0, 0x1fc, 1 }
#define MANY        6

/*
 * From @stage on, @before (and @hook) lead to the point where @bad breaks the rule and
 * @good does not; fresh: @good does without them, and with @good_hook.
 */
typedef struct WriteCase {
    const char *rule;
    uint8_t version;
    uint8_t stage;
    Pg332Write bad;
    Pg332Write good[MANY];
    Pg332Write before[MANY];
    void (*hook)(void);
    bool fresh;
    void (*good_hook)(void);
} WriteCase;

#define V3  PG332_V3_1
#define V42 PG332_V4_2

static const WriteCase write_cases[] = {
    { "no-register", V3, BARE, HOLE, { G(INTEN, 1) } },
    { "reserved-bits", V3, BARE, G(INTEN, 0xff), { G(INTEN, 0xfb) } },
    { "reserved-bits", V42, BARE, G(XRNICCONF, 0x01000000), { G(XRNICCONF, 0x00100000),
      G(CON_IO_CONF, 0x80000000) } },
    { "reserved-bits", V3, READY, Q(QPCONF, 2), { Q(STATQP, 0x77000600) } },
    { "read-only", V3, BARE, G(ERRBUFWPTR, 0), { G(INTSTS, 1) } },
    { "override-needed", V3, READY, Q(CQHEAD, 1), { G(XRNICADCONF, ADCONF | 1),
      Q(CQHEAD, 1) } },
    { "override-enabled", V3, RUNNING, Q(CQHEAD, 1), { Q(QPCONF, CONF & ~1),
      Q(CQHEAD, 1) }, { G(XRNICADCONF, ADCONF | 1) } },
    { "rq-alignment", V3, READY, Q(RQBA, 0x10100080), { Q(RQBA, 0x10100100) } },
    { "sq-cq-alignment", V3, READY, Q(SQBA, 0x10100010), { Q(SQBA, 0x10100020) } },
    { "sq-cq-alignment", V42, READY, Q(CQBA, 0x10100010), { Q(CQBA, 0x10100020) } },
    { "doorbell-alignment", V3, READY, Q(CQDBADD, 0x10002), { Q(CQDBADD, 0x10004) } },
    { "doorbell-alignment", V3, READY, Q(RQWPTRDBADD, 0x10001),
      { Q(RQWPTRDBADD, 0x10008) } },
    { "depth-power-of-two", V3, READY, Q(QDEPTH, 0x00180010), { Q(QDEPTH, 0x00200010) } },
    { "ack-policy", V3, SET, G(XRNICCONF, 0x18), { G(XRNICCONF, 0x10) } },
    { "pause-threshold", V3, BARE, G(XRNIC_BUF_THRESHOLD_ROCE, 513),
      { G(XRNIC_BUF_THRESHOLD_ROCE, 512 << 16 | 512) } },
    { "access-value", V3, BARE, R(ACCESSDESC, 0xf), { R(ACCESSDESC, 2) } },
    { "address-enabled", V3, READY, G(IPv4XADD, 0x0a000009),
      { G(IPv4XADD, 0x0a000001) } },
    { "queue-enabled", V3, RUNNING, Q(QDEPTH, 0x00200020), { Q(QDEPTH, RINGS) } },
    { "sqpsn-busy", V3, RUNNING, Q(SQPSN, 5), { Q(SQPSN, 5) }, { Q(SQPI, 1) },
      .fresh = true },
    { "lstrqreq-busy", V3, RUNNING, Q(LSTRQREQ, 0x0a000005), { Q(LSTRQREQ, 0x0a000005) },
      .hook = a_read_waits, .fresh = true },
    { "lstrqreq-opcode", V3, READY, Q(LSTRQREQ, 5), { Q(LSTRQREQ, 0x04000005),
      Q(LSTRQREQ, 0x0c000005), G(XRNICADCONF, ADCONF | 1), Q(LSTRQREQ, 0) } },
    { "sqpi-range", V3, RUNNING, Q(SQPI, 17), { Q(SQPI, 16) } },
    { "rqci-range", V3, RUNNING, Q(RQCI, 17), { Q(RQCI, 0) } },
    { "index-zero", V3, RUNNING, Q(SQPI, 0), { Q(SQPI, 2) }, { Q(SQPI, 1) } },
    { "sq-overrun", V3, RUNNING, Q(SQPI, 1), { Q(SQPI, 16) }, { Q(SQPI, 16) } },
    { "rq-overrun", V3, RUNNING, Q(RQCI, 1), { Q(RQCI, 1) }, .fresh = true,
      .good_hook = a_message_comes },
    { "post-disabled", V3, READY, Q(SQPI, 1), { Q(QPCONF, CONF), Q(SQPI, 1) } },
    { "post-recovery", V3, RUNNING, Q(SQPI, 1), { Q(SQPI, 0) },
      { Q(QPCONF, CONF | 0x40) } },
    { "post-override", V3, RUNNING, Q(SQPI, 1), { G(XRNICADCONF, ADCONF), Q(SQPI, 1) },
      { G(XRNICADCONF, ADCONF | 1) } },
    { "post-fatal", V3, RUNNING, Q(SQPI, 1), { Q(QPCONF, CONF | 0x40) },
      .hook = a_key_is_wrong },
    { "post-unconnected", V3, RUNNING, Q(SQPI, 1), { Q(DESTQPCONF, 2), Q(SQPI, 1) },
      { Q(DESTQPCONF, 0) } },
    { "post-unconnected", V3, RUNNING, Q(SQPI, 1), { Q(IPDESADDR4, 2), Q(SQPI, 1) },
      { Q(IPDESADDR1, 0) } },
    { "mac-unset", V3, SET, G(XRNICCONF, CONF_3), { G(MACXADDLSB, 1),
      G(XRNICCONF, CONF_3) }, { G(MACXADDLSB, 0), G(MACXADDMSB, 0) } },
    { "ip-unset", V3, SET, G(XRNICCONF, CONF_3), { G(IPv6XADD1, 1),
      G(XRNICCONF, CONF_3) }, { G(IPv4XADD, 0) } },
    { "errbuf-unset", V42, SET, G(XRNICCONF, CONF_4), { G(ERRBUFSZ, 0x01000040),
      G(XRNICCONF, CONF_4) }, { G(ERRBUFSZ, 0) } },
    { "errbuf-unset", V3, SET, G(XRNICCONF, CONF_3), { G(ERRBUFBAMSB, 1),
      G(XRNICCONF, CONF_3) }, { G(ERRBUFBA, 0) } },
    { "ipkterrq-unset", V42, SET, G(XRNICCONF, CONF_4), { G(IPKTERRQSZ, 64),
      G(XRNICCONF, CONF_4) }, { G(IPKTERRQSZ, 0) } },
    { "ipkterrq-unset", PG332_V4_0, SET, G(XRNICCONF, CONF_4), { G(IPKTERRQSZ, 64),
      G(XRNICCONF, CONF_4) }, { G(IPKTERRQSZ, 0) } },
    { "resperr-unset", V42, SET, G(XRNICCONF, CONF_4), { G(RESPERRSZ, 0x10000),
      G(XRNICCONF, CONF_4) }, { G(RESPERRSZ, 0) } },
    { "datbuf-unset", V42, SET, G(XRNICCONF, CONF_4), { G(DATBUFBA, 64),
      G(XRNICCONF, CONF_4) }, { G(DATBUFBA, 0) } },
    { "card-first", V3, READY, Q(QPCONF, CONF), { G(XRNICCONF, CONF_3), Q(QPCONF, CONF) },
      { G(XRNICCONF, CONF_3 & ~1) } },
    { "qp1-first", V3, READY, Q(QPCONF, CONF), { Q1(QPCONF, CONF), Q(QPCONF, CONF) },
      { Q1(QPCONF, 0) } },
    { "qp-number", V3, READY, Q(QPCONF, CONF), { G(XRNICCONF, CONF_3), Q(QPCONF, CONF) },
      { G(XRNICCONF, CONF_3 & ~0xff00) } },
    { "qp-number", V42, READY, Q(QPCONF, CONF), { G(XRNIC_CONF_QP_EN, 1),
      Q(QPCONF, CONF) }, { G(XRNIC_CONF_QP_EN, 0) } },
    { "queue-unset", V3, READY, Q(QPCONF, CONF), { Q(SQBA, 64), Q(QPCONF, CONF) },
      { Q(SQBA, 0), Q(SQBAMSB, 0) } },
    { "queue-unset", V3, READY, Q(QPCONF, CONF), { Q(QPCONF, CONF & ~0x20) },
      { Q(CQBA, 0) } },
    { "doorbell-unset", V3, READY, Q(QPCONF, CONF), { Q(QPCONF, CONF & ~0x10) },
      { Q(CQDBADD, 0) } },
    { "depth-unset", V3, READY, Q(QPCONF, CONF), { Q(QDEPTH, RINGS), Q(QPCONF, CONF) },
      { Q(QDEPTH, 0x10) } },
    { "depth-minimum", V42, READY, Q(QPCONF, CONF), { Q(QDEPTH, RINGS), Q(QPCONF, CONF) },
      { Q(QDEPTH, 0x00100008) } },
    { "buffer-size", V3, READY, Q(QPCONF, 0x0003043d), { Q(QPCONF, 0x0004043d) } },
    { "path-mtu", V3, READY, Q(QPCONF, 0x0002053d), { Q(QPCONF, 0x0002043d) } },
    { "still-recovering", V3, READY, Q(QPCONF, CONF | 0x40), { Q(QPCONF, CONF) } },
    { "retry-counts", V3, READY, Q(QPCONF, CONF), { Q(STATQP, 0x77000000),
      Q(QPCONF, CONF) }, { Q(STATQP, 0) } },
    { "stale-pointers", V3, READY, Q(QPCONF, CONF), { Q(STATRQPIDB, 0), Q(QPCONF, CONF) },
      { Q(QPCONF, (CONF & ~1) | 0x40), G(XRNICADCONF, ADCONF | 1), Q(STATRQPIDB, 1) } },
    { "not-drained", V3, RUNNING, Q(QPCONF, CONF & ~1), { Q(QPCONF, CONF & ~1) },
      { Q(SQPI, 1) }, .fresh = true },
};

static uint32_t given(const Pg332Write *w)
{
    uint32_t n = 0;

    while (n < MANY && (w[n].scope || w[n].reg || w[n].value)) {
        n++;
    }
    return n;
}

static void lead_to(const WriteCase *t, ErnicStrictMode mode)
{
    open_card(t->version, mode);
    bring_to(t->stage);
    pg332_play(&card, t->before, given(t->before));
    if (t->hook) {
        t->hook();
    }
}

/* The stored value: a running queue pair shows another one. */
static uint32_t bad_value(const WriteCase *t)
{
    return ernic_regfile_read(card.e->regs, pg332_offset(&card, &t->bad));
}

/* The value of the register after the bad write. */
static uint32_t after_bad(const WriteCase *t, ErnicStrictMode mode, uint32_t *before)
{
    uint32_t value;

    lead_to(t, mode);
    *before = bad_value(t);
    pg332_play(&card, &t->bad, 1);
    value = bad_value(t);
    card_close(&card);
    return value;
}

static void check_enforced(const WriteCase *t)
{
    const ErnicRule *rule = rule_of(t->rule);
    uint32_t old, ever = after_bad(t, ERNIC_STRICT_OFF, &old), now;

    card.version = t->version;
    IS(after_bad(t, ERNIC_STRICT_REPORT, &old), ever);
    now = after_bad(t, ERNIC_STRICT_ENFORCE, &old);
    if (!is_enforced(rule) || rule->effect == ERNIC_RULE_AS_EVER) {
        IS(now, ever);
    } else if (rule->effect == ERNIC_RULE_NOT_ENABLED) {
        IS(now, ever & ~1);
        IS(ever & 1, 1);
    } else {
        IS(rule->effect, ERNIC_RULE_IGNORED);
        IS(now, old);
        g_assert_cmphex(ever, !=, old);
    }
}

TEST("/pg332-rules/writes", test_writes)
{
    char reg[ERNIC_REG_NAME_MAX] = "none";
    ErnicRegRef ref;

    for (uint32_t i = 0; i < ARRAY_SIZE(write_cases); i++) {
        const WriteCase *t = &write_cases[i];

        g_test_message("%s, %s", t->rule, version_names[t->version]);
        lead_to(t, ERNIC_STRICT_REPORT);
        expect_silence("before");
        pg332_play(&card, &t->bad, 1);
        if (ernic_regfile_find(card.e->regs, pg332_offset(&card, &t->bad), &ref)) {
            ernic_reg_name(ref.def, ref.k, reg);
        }
        expect_broken(t->rule, reg, t->bad.number, pg332_offset(&card, &t->bad),
                      t->bad.value);
        card_close(&card);

        if (t->fresh) {
            open_card(t->version, ERNIC_STRICT_REPORT);
            bring_to(t->stage);
        } else {
            lead_to(t, ERNIC_STRICT_REPORT);
        }
        if (t->good_hook) {
            t->good_hook();
        }
        g_assert_cmpuint(given(t->good), >, 0);
        pg332_play(&card, t->good, given(t->good));
        expect_silence(t->rule);
        card_close(&card);
        check_enforced(t);
    }
}

typedef struct RequestCase {
    const char *rule;
    uint8_t version, opcode;
    uint32_t len;
    uint8_t good_opcode;
    uint32_t good_len;
    bool qp1;
    bool ever;                          /* fatal in every mode */
} RequestCase;

static const RequestCase request_cases[] = {
    { "wqe-opcode", PG332_V3_1, 5, 64, SEND, 64, .ever = true },
    { "wqe-opcode", PG332_V4_0, 0xff, 64, SEND_INV, 64, .ever = true },
    { "wqe-qp1-opcode", PG332_V3_1, WRITE, 64, SEND, 64, .qp1 = true, .ever = true },
    { "wqe-empty-send", PG332_V3_1, SEND, 0, SEND, 1 },
    { "wqe-empty-send", PG332_V4_2, SEND_IMM, 0, WRITE_IMM, 0 },
    { "wqe-too-long", PG332_V3_1, WRITE, (8 << 20) + 1, WRITE, 8 << 20, .ever = true },
    { "wqe-write-64k", PG332_V4_2, WRITE, 65537, WRITE, 65536 },
    { "wqe-read-length", PG332_V3_1, READ, 65, READ, 64 },
    { "wqe-read-length", PG332_V4_2, READ, 0, READ, 128 },
};

/* Post one request to queue pair @qpn, and let the card read it. */
static void request(uint8_t version, ErnicStrictMode mode, uint32_t qpn,
                    uint8_t opcode, uint32_t len)
{
    open_card(version, mode);
    bring_to(RUNNING);
    card_wqe(&card, (Wqe) { .opcode = opcode, .laddr = card.mem, .len = len,
                            .raddr = VA, .rkey = 0x5c });
    PLAY(W_Q(qpn, SQPI, 1));
    fake_run(card.e);
    fake_check(card.e);
}

static bool fatal(uint32_t qpn)
{
    const Pg332Write statqp = W_Q(qpn, STATQP, 0);

    return ernic_reg_read(card.e, card.env.now, pg332_offset(&card, &statqp)) &
           PG332_STATQP_FATAL;
}

TEST("/pg332-rules/requests", test_requests)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(request_cases); i++) {
        const RequestCase *t = &request_cases[i];
        const ErnicRule *rule = rule_of(t->rule);
        bool length = rule->at == 12;
        uint32_t qpn = t->qp1 ? 1 : 2;

        g_test_message("%s, %s", t->rule, version_names[t->version]);
        request(t->version, ERNIC_STRICT_REPORT, qpn, t->opcode, t->len);
        expect_broken(t->rule, length ? "WQE.LENGTH" : "WQE.OPCODE", qpn,
                      length ? 12 : 16, length ? t->len : t->opcode);
        IS(fatal(qpn), t->ever);
        card_close(&card);
        request(t->version, ERNIC_STRICT_REPORT, qpn, t->good_opcode, t->good_len);
        expect_silence(t->rule);
        card_close(&card);
        request(t->version, ERNIC_STRICT_ENFORCE, qpn, t->opcode, t->len);
        IS(fatal(qpn), rule->effect == ERNIC_RULE_FATAL);
        if (rule->effect == ERNIC_RULE_FATAL) {
            IS(card_word(&card, card.errq), qpn << 16 | 0x05);
        }
        card_close(&card);
    }
}

typedef struct PacketCase {
    const char *rule;
    uint8_t opcode;
    uint32_t off, dma_len;              /* va: VA + off */
    uint8_t good_opcode;
    uint32_t good_off, good_len;
    uint64_t value;
} PacketCase;

static const PacketCase packet_cases[] = {
    { "peer-atomic", BTH_SWAP, 0, 0, BTH_READ, 0, 64, BTH_SWAP },
    { "peer-atomic", BTH_ADD, 0, 0, BTH_WRITE_ONLY, 0, 64, BTH_ADD },
    { "peer-short-read", BTH_READ, 0, 4, BTH_READ, 0, 5, 4 },
    { "peer-alignment", BTH_READ, 8, 64, BTH_READ, 64, 64, VA + 8 },
    { "peer-alignment", BTH_WRITE_ONLY, 32, 64, BTH_WRITE_ONLY, 128, 64, VA + 32 },
    { "peer-write-length", BTH_WRITE_ONLY, 0, 100, BTH_WRITE_ONLY, 0, 128, 100 },
};

static void packet(ErnicStrictMode mode, uint8_t opcode, uint32_t off, uint32_t len)
{
    open_card(PG332_V4_0, mode);
    bring_to(RUNNING);
    inject(opcode, VA + off, 0x5c, len, opcode == BTH_WRITE_ONLY ? len : 0);
}

/* The card has answered with a NAK "invalid request". */
static bool refuses(void)
{
    FakeTrain *train = fake_take_train(&card.env);
    bool nak = train && train->train.data[0] == 0x11 &&
               train->train.data[12] == (ERNIC_AETH_NAK | ERNIC_NAK_INV_REQ);

    if (train) {
        fake_train_free(train);
    }
    return nak;
}

TEST("/pg332-rules/packets", test_packets)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(packet_cases); i++) {
        const PacketCase *t = &packet_cases[i];
        const ErnicRule *rule = rule_of(t->rule);

        g_test_message("%s", t->rule);
        packet(ERNIC_STRICT_REPORT, t->opcode, t->off, t->dma_len);
        expect_broken(t->rule, rule->field, 2, rule->at, t->value);
        fake_run(card.e);
        IS(refuses(), !strcmp(t->rule, "peer-atomic"));
        card_close(&card);
        packet(ERNIC_STRICT_REPORT, t->good_opcode, t->good_off, t->good_len);
        expect_silence(t->rule);
        card_close(&card);
        packet(ERNIC_STRICT_ENFORCE, t->opcode, t->off, t->dma_len);
        fake_run(card.e);
        g_assert(refuses() && fatal(2));
        IS(card_word(&card, card.errq), 2 << 16 | 0x04);
        card_close(&card);
    }
}

/* Whether @rule is in a table of cases. Each case begins with the name of its rule. */
static bool covers(const void *cases, uint32_t num, size_t size, const char *rule)
{
    for (uint32_t i = 0; i < num; i++) {
        const char *name = *(const char *const *)((const char *)cases + i * size);

        if (!strcmp(name, rule)) {
            return true;
        }
    }
    return false;
}
#define COVERS(cases, rule) \
    covers(cases, ARRAY_SIZE(cases), sizeof((cases)[0]), rule)

/* A rule without a case is an error. */
TEST("/pg332-rules/all-have-cases", test_all_have_cases)
{
    for (uint32_t i = 0; i < ernic_num_rules; i++) {
        const ErnicRule *rule = &ernic_rules[i];

        if (!COVERS(write_cases, rule->name) && !COVERS(request_cases, rule->name) &&
            !COVERS(packet_cases, rule->name)) {
            g_error("rule %s has no case", rule->name);
        }
        g_assert_cmpint(rule->effect, <, ERNIC_RULE_EFFECTS);
        IS(!!rule->field, rule->when >= ERNIC_RULE_REQUEST);
        for (uint32_t k = 0; rule->name[k]; k++) {
            g_assert(g_ascii_islower(rule->name[k]) || rule->name[k] == '-' ||
                     g_ascii_isdigit(rule->name[k]));
        }
        for (uint32_t k = 0; k < i; k++) {
            g_assert_cmpstr(rule->name, !=, ernic_rules[k].name);
        }
    }
}

/* A correct set-up and traffic break no rule, in any version and mode. */
TEST("/pg332-rules/clean", test_clean)
{
    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        for (unsigned mode = ERNIC_STRICT_REPORT; mode < ERNIC_STRICT_MODES; mode++) {
            open_card(version, mode);
            bring_to(RUNNING);
            a_message_comes();
            inject(BTH_WRITE_ONLY, VA + 64, 0x5c, 128, 128);
            inject(BTH_READ, VA + 64, 0x5c, 128, 0);
            card_wqe(&card, (Wqe) { .opcode = READ, .laddr = card.mem,
                                    .len = 128, .raddr = VA, .rkey = 0x5c });
            PLAY(Q(SQPI, 1), Q(RQCI, 1));
            fake_run(card.e);
            expect_silence("clean");
            g_assert(!fatal(2));
            card_close(&card);
        }
    }
}

/* Reported once for each queue pair, counted always, and reported anew after a reset. */
TEST("/pg332-rules/once", test_once)
{
    open_card(PG332_V3_1, ERNIC_STRICT_REPORT);
    PLAY(Q(QDEPTH, 3), Q(QDEPTH, 3), Q(QDEPTH, 5));
    IS(num_reports, 1);
    IS(last_report.value, 3);
    card.env.now += 1000;
    PLAY(W_Q(9, QDEPTH, 7), W_Q(9, QDEPTH, 9));
    IS(num_reports, 2);
    IS(last_report.qpn, 9);
    IS(last_report.time, card.env.now);
    IS(report_of("depth-power-of-two").count, 5);
    IS(report_of("depth-power-of-two").value, 9);
    ernic_reset(card.e);
    IS(all_counts(), 0);
    PLAY(Q(QDEPTH, 3));
    IS(num_reports, 3);
    card_close(&card);
}

/* Only rules of the card's version. */
TEST("/pg332-rules/versions", test_versions)
{
    uint32_t i, pos;
    ErnicReport r;

    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        open_card(version, ERNIC_STRICT_REPORT);
        for (i = 0, pos = 0; i < ernic_num_rules; i++) {
            if (ernic_rules[i].versions & (1u << version)) {
                g_assert(ernic_next_rule(card.e, &pos, &r));
                g_assert_cmpstr(r.rule, ==, ernic_rules[i].name);
                g_assert_cmpstr(r.text, ==, ernic_rules[i].text);
            }
        }
        g_assert(!ernic_next_rule(card.e, &pos, &r));
        card_close(&card);
    }
}

/* Counts and reports survive a migration; the mode must be equal. */
TEST("/pg332-rules/save", test_save)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    ErnicReport r;

    open_card(PG332_V4_2, ERNIC_STRICT_REPORT);
    PLAY(Q(QDEPTH, 3), Q(QDEPTH, 5), HOLE);
    r = report_of("depth-power-of-two");
    ernic_save(card.e, state);
    card_close(&card);
    for (unsigned mode = 0; mode < ERNIC_STRICT_MODES; mode++) {
        open_card(PG332_V4_2, mode);
        g_assert(ernic_load(card.e, card.env.now, state->data, state->len) ==
                 (mode == ERNIC_STRICT_REPORT));
        if (mode == ERNIC_STRICT_REPORT) {
            ErnicReport now = report_of("depth-power-of-two");

            g_assert_cmpmem(&now, sizeof(now), &r, sizeof(r));
            PLAY(Q(QDEPTH, 7));
            IS(num_reports, 0);
            IS(report_of("depth-power-of-two").count, 3);
            PLAY(W_Q(3, QDEPTH, 7));
            IS(num_reports, 1);
        }
        card_close(&card);
    }
}

/* The rules that the sequence breaks, joined; the caller frees it. */
static char *broken_by(const Pg332Software *s)
{
    GString *list = g_string_new(NULL);
    uint32_t pos = 0;
    ErnicReport r;

    open_card(s->version, ERNIC_STRICT_REPORT);
    pg332_play(&card, s->write, s->num);
    while (ernic_next_rule(card.e, &pos, &r)) {
        if (r.count) {
            g_string_append_printf(list, "%s`%s`", list->len ? ", " : "", r.rule);
        }
    }
    card_close(&card);
    return g_string_free(list, false);
}

TEST("/pg332-rules/software", test_software)
{
    for (uint32_t i = 0; i < pg332_num_software; i++) {
        const Pg332Software *s = &pg332_software[i];
        g_autoptr(GString) want = g_string_new(NULL);
        g_autofree char *have = broken_by(s);

        for (uint32_t k = 0; s->breaks[k]; k++) {
            g_string_append_printf(want, "%s`%s`", k ? ", " : "", s->breaks[k]);
        }
        g_test_message("%s, %s", s->name, version_names[s->version]);
        g_assert_cmpstr(have, ==, want->str);
    }
}

static void print_versions(GString *doc, uint32_t versions)
{
    const char *between = "";

    for (unsigned v = 0; v < PG332_VERSIONS; v++) {
        if (versions & (1u << v)) {
            g_string_append_printf(doc, "%s%s", between, version_names[v]);
            between = ", ";
        }
    }
}

static void print_regs(GString *doc, const ErnicRule *rule)
{
    char name[ERNIC_REG_NAME_MAX];
    ErnicRegRef ref;
    unsigned v;

    if (rule->field) {
        g_string_append(doc, rule->field);
    } else if (!rule->num_regs) {
        g_string_append(doc, rule->when == ERNIC_RULE_QP_ENABLE ? "QPCONF" : "any");
    }
    for (v = 0; !(rule->versions & (1u << v)); v++) {
    }
    for (uint32_t i = 0; i < rule->num_regs; i++) {
        ErnicRegFile *rf = ernic_regfile_new(v, 1);

        g_assert(ernic_regfile_find(rf, ernic_reg_blocks[v][rule->scope].base +
                                    rule->regs[i], &ref));
        ernic_reg_name(ref.def, ref.k, name);
        g_string_append_printf(doc, "%s%s", i ? ", " : "", name);
        ernic_regfile_free(rf);
    }
}

static void print_rule(GString *doc, const ErnicRule *rule)
{
    static const char *const effects[ERNIC_RULE_EFFECTS] = {
        "none", "write ignored", "not enabled", "fatal 05", "NAK, fatal 04",
    };

    g_string_append_printf(doc, "| `%s` | %s | ", rule->name, rule->text);
    print_regs(doc, rule);
    g_string_append_printf(doc, " | %s | ", rule->source);
    print_versions(doc, rule->versions);
    g_string_append_printf(doc, " | %s", effects[rule->effect]);
    if (rule->enforced & rule->versions && ~rule->enforced & rule->versions) {
        g_string_append(doc, " (");
        print_versions(doc, rule->enforced);
        g_string_append_c(doc, ')');
    }
    g_string_append(doc, " |\n");
}

static GString *print_doc(void)
{
    GString *doc = g_string_new("# Rules of PG332\n"
        "\n"
        "`test-pg332-rules --print` prints this page from the table in\n"
        "`hw/rdma-ernic/engine/interfaces/pg332/rules.c`; a unit test compares the two.\n"
        "[ernic-interface.md](ernic-interface.md#strict-mode) explains `ernic-strict`.\n"
        "\n"
        "| Column | Content |\n"
        "| --- | --- |\n"
        "| Rule | its name in reports |\n"
        "| Not allowed | the violation |\n"
        "| Where | the register, or the field of a request or packet |\n"
        "| Source | the description of a register, a table or a procedure of PG332,"
        " or where it was seen; \"unsupported\" is PG332's word |\n"
        "| Versions | those that have the rule |\n"
        "| Enforced | the consequence under `enforce`, and its versions if not all;"
        " \"none\": the violation works as in the other modes |\n"
        "\n"
        "| Rule | Not allowed | Where | Source | Versions | Enforced |\n"
        "| --- | --- | --- | --- | --- | --- |\n");

    for (uint32_t i = 0; i < ernic_num_rules; i++) {
        print_rule(doc, &ernic_rules[i]);
    }
    g_string_append(doc, "\n## Rules that known software breaks\n"
        "\n"
        "A unit test replays the register accesses of public software on a card\n"
        "with `ernic-strict=report` (`tests/unit/lib/pg332_software.c`):\n"
        "\n"
        "| Software | Version | Breaks |\n"
        "| --- | --- | --- |\n");
    for (uint32_t i = 0; i < pg332_num_software; i++) {
        g_autofree char *list = broken_by(&pg332_software[i]);

        g_string_append_printf(doc, "| %s | %s | %s |\n", pg332_software[i].name,
                               version_names[pg332_software[i].version],
                               *list ? list : "nothing");
    }
    return doc;
}

TEST("/pg332-rules/doc", test_doc)
{
    check_page("ernic-rules.md", print_doc);
}

int main(int argc, char **argv)
{
    if (page_printed(argc, argv, print_doc)) {
        return 0;
    }
    return unit_run(argc, argv);
}
