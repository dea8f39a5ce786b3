/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ernic-strict: warnings of PG332 rules that the guest breaks, the counts in the
 * monitor, enforcement, and migration of all of these.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "ernic-card.h"

#define QPN     2

static QDict *violations(QErnic *q)
{
    return qtest_qmp(q->qts, "{ 'execute': 'qom-get', 'arguments': {"
                     " 'path': %s, 'property': 'ernic-violations' } }", q->id);
}

static QDict *rule(const QDict *rsp, const char *name)
{
    QDict *dict = qdict_get_qdict(qdict_get_qdict(rsp, "return"), name);

    g_assert_nonnull(dict);
    return dict;
}

/* Rule @name was broken @count times, last by a write of @value at @offset. */
static void expect(QErnic *q, const char *name, uint64_t count, const char *reg,
                   uint32_t qpn, uint32_t offset, uint32_t value, uint64_t time)
{
    QDict *rsp = violations(q), *r = rule(rsp, name);

    g_assert_cmpuint(qdict_get_int(r, "count"), ==, count);
    if (!count) {
        g_assert_cmpuint(qdict_size(r), ==, 1);
        qobject_unref(rsp);
        return;
    }
    g_assert_cmpstr(qdict_get_str(r, "register"), ==, reg);
    g_assert_cmpuint(qdict_get_int(r, "queue-pair"), ==, qpn);
    g_assert_cmphex(qdict_get_int(r, "offset"), ==, offset);
    g_assert_cmphex(qdict_get_int(r, "value"), ==, value);
    g_assert_cmpuint(qdict_get_int(r, "time"), ==, time);
    qobject_unref(rsp);
}

/* Steps the clock; returns the new time. */
static uint64_t tick(QErnic *q)
{
    return qtest_clock_step(q->qts, 1000);
}

/* A device in @mode, and further options of QEMU. */
static QErnic *start(Card *c, const char *mode, const char *more)
{
    QErnic *q = qernic_device(",roce-udp=127.0.0.1:0,ernic-version=3.1,ernic-strict=%s%s",
                              mode, more);

    *c = (Card) { .q = q, .version = PG332_V3_1 };
    c->bar = qpci_iomap(&q->dev, ERNIC_BAR_PG332, NULL);
    return q;
}

static uint32_t qp_at(Card *c, uint32_t qpn, uint32_t reg)
{
    return card_at(c, ERNIC_REG_QP, qpn - 1, reg);
}

/* One report for each queue pair, with all of its fields. */
MACHINE_TEST("/ernic-strict-report", test_report)
{
    static const char *const says[] = {
        "ernic_guest_pg332_rule reserved-bits qpn 0x000000 INTEN offset 0x20180"
        " value 0xff at 1000 ns",
        "ernic_guest_pg332_rule depth-power-of-two qpn 0x000002 QDEPTH offset"
        " 0x2033c value 0x30010 at 2000 ns",
        "ernic_guest_pg332_rule depth-power-of-two qpn 0x000003 QDEPTH offset"
        " 0x2043c value 0x50010 at 2000 ns",
    };
    const char *path = qernic_temp();
    g_autofree char *text = NULL;
    g_autofree char *log = g_strconcat(" -trace ernic_guest_pg332_rule -D ", path, NULL);
    g_auto(GStrv) lines = NULL;
    Card c;
    QErnic *q = start(&c, "report", log);
    size_t i;

    qtest_clock_set(q->qts, 1000);
    card_put(&c, PG332_INTEN, 0xff);
    qtest_clock_set(q->qts, 2000);
    card_put_at(&c, qp_at(&c, 2, PG332_QDEPTH), 0x30010);
    card_put_at(&c, qp_at(&c, 2, PG332_QDEPTH), 0x30020);
    card_put_at(&c, qp_at(&c, 3, PG332_QDEPTH), 0x50010);
    g_assert_cmphex(card_get_at(&c, qp_at(&c, 3, PG332_QDEPTH)), ==, 0x50010);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", 0);
    for (i = 0; i < ARRAY_SIZE(says); i++) {
        g_assert_nonnull(lines[i]);
        g_assert_true(g_str_has_suffix(lines[i], says[i]));
    }
    g_assert_cmpstr(lines[i], ==, "");
    expect(q, "reserved-bits", 1, "INTEN", 0, 0x20180, 0xff, 1000);
    expect(q, "depth-power-of-two", 3, "QDEPTH", 3, 0x2043c, 0x50010, 2000);
}

/* The rules are those of the version; a reset of the device clears the counts. */
MACHINE_TEST("/ernic-strict-violations", test_violations)
{
    Card c;
    QErnic *q = start(&c, "report", "");
    QDict *rsp = violations(q);
    uint64_t now;
    char *hmp;

    g_assert_false(qdict_haskey(qdict_get_qdict(rsp, "return"), "depth-minimum"));
    g_assert_cmpuint(qdict_size(qdict_get_qdict(rsp, "return")), >, 40);
    qobject_unref(rsp);
    expect(q, "no-register", 0, NULL, 0, 0, 0, 0);
    now = tick(q);
    card_put_at(&c, 0x20, 7);
    card_put_at(&c, 0x20, 8);
    expect(q, "no-register", 2, "none", 0, 0x20, 8, now);
    hmp = qtest_hmp(q->qts, "qom-get %s ernic-violations", q->id);
    g_assert_nonnull(strstr(hmp, "\"no-register\": {"));
    g_free(hmp);
    qernic_flr(&q->dev);
    expect(q, "no-register", 0, NULL, 0, 0, 0, 0);
}

/* Without strict mode, nothing is reported. */
MACHINE_TEST("/ernic-strict-off", test_off)
{
    Card c;
    QErnic *q = start(&c, "off", "");
    QDict *rsp;

    card_put_at(&c, qp_at(&c, QPN, PG332_QDEPTH), 0x30010);
    rsp = violations(q);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"), ==,
                    "ernic-violations: ernic-strict is off");
    qobject_unref(rsp);
}
