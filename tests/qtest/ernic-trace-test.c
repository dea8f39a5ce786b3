/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file of timing-trace=: all devices that name it share it, it is complete
 * whenever the machine is stopped, and it respects the limit. tests/timing tests its
 * content without QEMU.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "ernic.h"

static QList *read_trace(const char *path)
{
    g_autofree char *text = NULL;
    QObject *trace;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    trace = qobject_from_json(text, NULL);
    g_assert_nonnull(trace);
    g_assert_nonnull(qobject_to(QList, trace));
    return qobject_to(QList, trace);
}

/* Number of events of phase @ph; a name and category that are not NULL must match. */
static uint32_t count(const QList *trace, const char *ph, const char *name,
                      const char *cat)
{
    const QListEntry *e;
    uint32_t n = 0;

    QLIST_FOREACH_ENTRY(trace, e) {
        QDict *d = qobject_to(QDict, qlist_entry_obj(e));

        n += strcmp(qdict_get_str(d, "ph"), ph) == 0 &&
             (!name || strcmp(qdict_get_str(d, "name"), name) == 0) &&
             (!cat || g_strcmp0(qdict_get_try_str(d, "cat"), cat) == 0);
    }
    return n;
}

/* Transfers of a device that writes to @path; the machine is stopped afterwards. */
static QErnic *traced(const char *path, const char *more)
{
    QErnic *q = qernic_device(",roce-udp=127.0.0.1:0%s -global ernic.timing=on"
                              " -global ernic.timing-trace=%s", more, path);

    qernic_setup(q, 1);
    qernic_transfers(q, q);
    qernic_stop(q->qts);
    return q;
}

/* Two devices, one of them with both interfaces, write to one file. */
MACHINE_TEST("/ernic-trace", test_trace)
{
    const char *path = qernic_temp();
    QErnic *q = traced(path, VERBS_NIC ",id=other,addr=07.0,ernic-version=3.1");
    uint64_t sent = qernic_stat(q, "tx_packets");
    QList *trace = read_trace(path);

    g_assert_cmpuint(count(trace, "M", "process_name", NULL), ==, 3);
    g_assert_cmpuint(count(trace, "s", "packet", NULL), ==, sent);
    g_assert_cmpuint(count(trace, "f", "packet", NULL), ==, sent);
    g_assert_cmpuint(count(trace, "b", NULL, "request"), >, 10);
    g_assert_cmpuint(count(trace, "b", NULL, "request"), ==,
                     count(trace, "e", NULL, "request"));
    qobject_unref(trace);
}

/* The file is full long before the traffic ends, which has no other effect. */
MACHINE_TEST("/ernic-trace-limit", test_limit)
{
    enum { LIMIT = 16384 };
    const char *path = qernic_temp();
    g_autofree char *text = NULL;
    g_autofree char *limit = g_strdup_printf(",timing-trace-limit=%u", LIMIT);
    gsize len;

    traced(path, limit);
    qobject_unref(read_trace(path));
    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    g_assert_cmpuint(len, <=, LIMIT);
    g_assert_cmpuint(len, >, LIMIT / 2);
}
