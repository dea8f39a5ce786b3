/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file of timing-trace=: all devices that name it share it, it is complete
 * whenever the machine is stopped, and it respects the limit. tests/timing tests its
 * content without QEMU.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "ernic.h"

#define LIMIT   16384

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

static void stop(QErnic *q)
{
    qobject_unref(qtest_qmp(q->qts, "{ 'execute': 'stop' }"));
}

static char *new_path(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("ernic-trace-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    return path;
}

/* Two devices, one of them with both faces, write to one file. */
static void *with_trace(GString *cmd_line, void *arg)
{
    char *path = new_path();

    g_string_append_printf(
        cmd_line, " -global ernic.timing=on -global ernic.timing-trace=%s"
        " -device ernic,id=other,addr=07.0,ernic-version=3.1 ", path);
    return path;
}

static void test_trace(void *obj, void *data, QGuestAllocator *alloc)
{
    g_autofree char *path = data;
    QErnic *q = obj;
    uint64_t sent;
    QList *trace;

    qernic_setup(q, 1);
    qernic_transfers(q, q);
    sent = qernic_stat(q, "tx_packets");
    stop(q);
    trace = read_trace(path);
    g_assert_cmpuint(count(trace, "M", "process_name", NULL), ==, 3);
    g_assert_cmpuint(count(trace, "s", "packet", NULL), ==, sent);
    g_assert_cmpuint(count(trace, "f", "packet", NULL), ==, sent);
    g_assert_cmpuint(count(trace, "b", NULL, "request"), >, 10);
    g_assert_cmpuint(count(trace, "b", NULL, "request"), ==,
                     count(trace, "e", NULL, "request"));
    qobject_unref(trace);
    unlink(path);
    qos_invalidate_command_line();
}

static void *with_limit(GString *cmd_line, void *arg)
{
    char *path = new_path();

    g_string_append_printf(
        cmd_line, " -global ernic.timing=on -global ernic.timing-trace=%s"
        " -global ernic.timing-trace-limit=%u ", path, LIMIT);
    return path;
}

/* The file is full long before the traffic ends, which has no other effect. */
static void test_limit(void *obj, void *data, QGuestAllocator *alloc)
{
    g_autofree char *path = data, *text = NULL;
    QErnic *q = obj;
    gsize len;

    qernic_setup(q, 1);
    qernic_transfers(q, q);
    stop(q);
    qobject_unref(read_trace(path));
    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    g_assert_cmpuint(len, <=, LIMIT);
    g_assert_cmpuint(len, >, LIMIT / 2);
    unlink(path);
    qos_invalidate_command_line();
}

static void test_refused(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;
    QDict *rsp = qtest_qmp(q->qts, "{ 'execute': 'device_add', 'arguments': {"
                           " 'driver': 'ernic', 'id': 'bad', 'timing': true,"
                           " 'timing-trace': '/dev/null' } }");

    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"), ==,
                    "timing-trace: /dev/null: not a regular file");
    qobject_unref(rsp);
}

static void register_tests(void)
{
    QOSGraphTestOptions traced = { .before = with_trace };
    QOSGraphTestOptions limited = { .before = with_limit };

    qos_add_test("trace", "ernic", test_trace, &traced);
    qos_add_test("trace-limit", "ernic", test_limit, &limited);
    qos_add_test("trace-refused", "ernic", test_refused, NULL);
}

libqos_init(register_tests);
