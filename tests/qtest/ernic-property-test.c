/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as the user sees it: valid and refused properties, counters, and messages.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "ernic-card.h"

/* A value in JSON, and the beginning of the error message. */
typedef struct Bad {
    const char *name, *value, *says;
} Bad;

static const Bad bad[] = {
    { "max-qp", "2", "max-qp is 2, not 3 to 16384" },
    { "max-qp", "16385", "max-qp is 16385, not 3 to 16384" },
    { "max-cq", "1", "max-cq is 1, not 2 to 16384" },
    { "max-srq", "4097", "max-srq is 4097, not 2 to 4096" },
    { "max-eq", "65", "max-eq is 65, not 2 to 64" },
    { "max-memory", "1048575", "max-memory is 1048575, not 1048576 or more" },
    { "max-mr", "0", "max-mr is 0, not 2 to 16777216" },
    { "max-pd", "16385", "max-pd is 16385, not 2 to 16384" },
    { "max-uctx", "1025", "max-uctx is 1025, not 2 to 1024" },
    { "max-uctx", "-1", "Parameter 'max-uctx' expects uint32_t" },
    { "vectors", "0", "vectors is 0, not 1 to 64" },
    { "vectors", "65", "vectors is 65, not 1 to 64" },
    { "vectors", "65536", "Parameter 'vectors' expects uint16_t" },
    { "roce-mtu", "1500", "roce-mtu is 1500, not 256, 512, 1024, 2048 or 4096" },
    { "roce-mtu", "8192", "roce-mtu is 8192, not 256, 512, 1024, 2048 or 4096" },
    { "link-speed", "0", "link-speed is 0, not 1 to 1600000" },
    { "link-speed", "1600001", "link-speed is 1600001, not 1 to 1600000" },
    { "device-memory", "4095",
      "device-memory is 4095, not a multiple of 4096 up to 1073741824" },
    { "device-memory", "1073745920",
      "device-memory is 1073745920, not a multiple of 4096 up to 1073741824" },
    { "roce-udp", "'nonsense'", "roce-udp: " },
    { "roce-udp", "'127.0.0.1:65536'", "roce-udp: " },
    { "roce-udp", "'192.0.2.1'", "roce-udp: UDP socket on 192.0.2.1:4791: " },
    { "roce-peers", "'10.0.0.1=127.0.0.1'", "roce-peers= needs roce-udp=" },
    { "roce-shm", "'/dev/null'", "roce-shm: /dev/null: Not a directory" },
    { "lab", "'/dev/null'", "lab: /dev/null: Not a directory" },
    { "lab", "''", "lab= names no folder" },
    { "lab", "'/nowhere/x'", "lab: /nowhere/x: there is no folder to make it in" },
    { "dump", "'/dev/null'", "dump= needs lab= or roce-shm=" },
    { "dump-limit", "'1M'", "dump-limit= needs lab= or roce-shm=" },
    { "icrc", "'off'", "icrc=off needs roce-shm= or lab=" },
    { "icrc", "'perhaps'", "Parameter 'icrc' does not accept value 'perhaps'" },
    { "adaptive-retransmission", "'perhaps'",
      "Parameter 'adaptive-retransmission' does not accept value 'perhaps'" },
    { "engine-poll-us", "1001", "engine-poll-us is 1001, not 0 to 1000" },
    { "retry-time", "0", "retry-time is 0, not 1 to 3600000" },
    { "retry-time", "3600001", "retry-time is 3600001, not 1 to 3600000" },
    { "engine-thread", "'perhaps'",
      "Parameter 'engine-thread' does not accept value 'perhaps'" },
    { "ioeventfd", "'perhaps'",
      "Parameter 'ioeventfd' does not accept value 'perhaps'" },
    { "ernic-version", "'3.0'", "ernic-version is 3.0, not auto, 3.1, 4.0 or 4.2" },
    { "ernic-qps", "8", "ernic-qps= needs interface=ernic" },
    { "ernic-reads", "8", "ernic-reads= needs interface=ernic" },
    { "user-logic", "'none'", "Property 'ernic.user-logic' can't find value 'none'" },
    { "timing", "'perhaps'", "Invalid parameter type for 'timing'" },
    { "timing-profile", "'generic-100g'", "timing-profile= needs timing=on" },
    { "timing-trace", "'trace.json'", "timing-trace= needs timing=on" },
    { "timing-trace-limit", "'much'", "Parameter 'timing-trace-limit' expects uint64" },
    { "shell", "'onic'", "shell is onic, not none, reconic, opennic or xib" },
    { "card-memory", "1048576", "card-memory= needs interface=ernic" },
    { "port-of", "'none'", "Device 'none' not found" },
    { "ernic-strict", "'report'", "ernic-strict= needs interface=ernic" },
    { "ernic-violations", "1", "Property 'ernic.ernic-violations' is not writable" },
    { "iothread", "'none'", "Device 'none' not found" },
    { "wire", "'none'", "Device 'none' not found" },
    { "mac", "'52:54'", "Property 'ernic.mac' doesn't take value '52:54'" },
    { "netdev", "'none'", "Property 'ernic.netdev' can't find value 'none'" },
    { "bootindex", "'first'", "Invalid parameter type" },
    { "add-peer", "'10.0.0.1=127.0.0.1'", "add-peer: the device has no roce-udp link" },
    { "remove-peer", "'10.0.0.1'", "remove-peer: the device has no roce-udp link" },
    { "roce-port", "'1'", "Property 'ernic.roce-port' is not writable" },
    { "statistics", "1", "Property 'ernic.statistics' is not writable" },
    { "interface", "'efa'", "interface is efa, not " },
    { "personality", "'efa'",
      "personality is efa, not " },
    { "pci-vendor-id", "1", "pci-vendor-id= needs interface=mlx5" },
    { "pci-device-id", "1", "pci-device-id= needs interface=mlx5" },
    { "no-such", "1", "Property 'ernic.no-such' not found" },
};

/* The interface that properties choose, also by its name in older releases. */
MACHINE_TEST("/ernic-property/interface", test_interface)
{
    static const struct {
        const char *properties, *interface;
    } rows[] = {
        { "", "mlx5" },
        { ",interface=mlx5", "mlx5" },
        { ",interface=verbs", "verbs" },
        { ",personality=verbs", "verbs" },
        { ",interface=ernic", "ernic" },
        { ",ernic-version=3.1", "ernic" },
        { ",shell=reconic", "ernic" },
        { ",shell=opennic", "ernic" },
        { ",shell=xib", "ernic" },
        { ",personality=verbs,ernic-version=4.0", "ernic" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        QErnicMachine *m = qernic_machine("-device ernic,id=nic%s", rows[i].properties);
        g_autoptr(QDict) now = qtest_qmp(m->qts, "{ 'execute': 'qom-get', 'arguments': {"
                                         " 'path': 'nic', 'property': 'interface' } }");
        g_autoptr(QDict) old = qtest_qmp(m->qts, "{ 'execute': 'qom-get', 'arguments': {"
                                         " 'path': 'nic', 'property': 'personality' } }");

        g_assert_cmpstr(qdict_get_str(now, "return"), ==, rows[i].interface);
        g_assert_cmpstr(qdict_get_str(old, "return"), ==, rows[i].interface);
        qernic_machine_end(m);
    }
}

/* A device that is refused leaves the files of the user alone. */
MACHINE_TEST("/ernic-property/refused-early", test_refused_early)
{
    const char *path = qernic_temp();
    g_autofree char *text = NULL;

    g_assert_true(g_file_set_contents(path, "of an earlier run", -1, NULL));
    qernic_refused(qernic_machine("%s", "")->qts,
                   "timing= and interface=mlx5 exclude each other",
                   "'interface': 'mlx5', 'timing': true, 'timing-trace': '%s'", path);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "of an earlier run");
}

/* Threads have names. */
#define NAMES       " -name debug-threads=on"

/* The threads that a machine with NAMES has for engines alone. */
static uint32_t engine_threads(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(qts));
    g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
    const char *task;
    uint32_t n = 0;

    g_assert_nonnull(tasks);
    while ((task = g_dir_read_name(tasks))) {
        g_autofree char *file = g_build_filename(path, task, "comm", NULL), *name = NULL;

        n += g_file_get_contents(file, &name, NULL, NULL) &&
             g_str_has_prefix(name, "IO ernic");
    }
    return n;
}

/* A thread cannot translate addresses by an IOMMU; the default is the main loop. */
MACHINE_TEST("/ernic-property/iommu", test_iommu)
{
    QTestState *qts = qernic_machine("-M q35 -object iothread,id=io0"
                                     " -device intel-iommu" NAMES
                                     " -device pcie-root-port,id=port0,chassis=1")->qts;

    qernic_refused(qts, "engine-thread=on and an IOMMU exclude each other",
                   "'bus': 'port0', 'engine-thread': 'on'");
    qernic_refused(qts, "iothread= and an IOMMU exclude each other",
                   "'bus': 'port0', 'iothread': 'io0'");
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             " 'driver': 'ernic', 'id': 'ernic0', 'bus': 'port0' } }");
    g_assert_cmpuint(engine_threads(qts), ==, 0);
}

#define NETDEV      "-netdev hubport,id=h0,hubid=0"
#define WIRE        "-device ernic-wire,id=w0"
#define IOTHREAD    "-object iothread,id=io0"
#define IOMMU       "-M q35 -device intel-iommu"

/* The device chooses, unless the user does. A folder follows an "=" at the end. */
MACHINE_TEST("/ernic-property/thread", test_thread)
{
    static const struct {
        const char *machine, *properties;
        uint32_t threads;
    } rows[] = {
        { "", "", 1 }, { "", ",interface=verbs", 1 }, { "", ",ernic-version=4.0", 1 },
        { "", ",roce-udp=127.0.0.1:0", 1 }, { "", ",roce-shm=", 1 }, { "", ",lab=", 1 },
        { "", ",interface=verbs,lab=", 1 },
        /* The netdev has RoCEv2, or frames alone. */
        { NETDEV, ",netdev=h0", 0 }, { NETDEV, ",interface=verbs,netdev=h0", 0 },
        { NETDEV, ",netdev=h0,engine-thread=on", 1 },
        { NETDEV, ",netdev=h0,roce-udp=127.0.0.1:0", 1 },
        { NETDEV, ",netdev=h0,roce-shm=", 1 },
        { WIRE, ",wire=w0", 0 }, { WIRE, ",interface=verbs,wire=w0", 0 },
        /* The user has said which. */
        { IOTHREAD, ",iothread=io0,lab=", 0 }, { "", ",engine-thread=off,lab=", 0 },
        /* None is possible. */
        { "-accel tcg -icount shift=3", ",lab=", 0 }, { "-accel tcg", ",lab=", 1 },
        { "", ",interface=verbs,timing=on", 0 },
        { IOMMU, ",lab=", 0 }, { IOMMU, "", 0 }, { "-M q35", ",lab=", 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autofree char *properties = g_strconcat(
            rows[i].properties, g_str_has_suffix(rows[i].properties, "=") ?
            qernic_folder() : NULL, NULL);
        QErnicMachine *m = qernic_machine("%s -device ernic,id=nic,addr=04.0%s"
                                          NAMES, rows[i].machine, properties);

        g_test_message("%s%s", rows[i].machine, properties);
        g_assert_cmpuint(engine_threads(m->qts), ==, rows[i].threads);
        qernic_machine_end(m);
    }
}

/* The engine moves to the main loop when the machine starts, and works there. */
MACHINE_KINDS("/ernic-property/iommu-after", test_iommu_after,
              { "", "" }, { "-thread", ",engine-thread=on" },
              { "-iothread", ",iothread=io0" }, { "-udp", ",roce-udp=127.0.0.1:0" })
{
    QErnicMachine *m = qernic_machine("-M q35 -object iothread,id=io0"
                                      VERBS_NIC ",id=ernic0,addr=04.0%s"
                                      " -device intel-iommu" NAMES, more);
    QErnic *q = qernic_host(m, "ernic0", 4, 1);
    QErnicQp x;

    qernic_self(q, &x, ERNIC_QPT_RC);
    qernic_post_write(&x, 0, 64, q->buf + 0x1000, q->key);
    qernic_done(&x);
    g_assert_cmpuint(engine_threads(m->qts), ==, 0);
}

/* Runs that have to be repeatable need the main loop, whichever thread was asked for. */
MACHINE_KINDS("/ernic-property/repeatable", test_repeatable,
              { "-icount", "-icount shift=3|-icount" },
              { "-record", "-icount shift=3,rr=record,rrfile=/dev/null|-icount" },
              { "-timing", "-global ernic.timing=on|timing=on" })
{
    static const char *const asked[] = { "engine-thread=on", "iothread=io0",
                                        "ioeventfd=on" };
    g_auto(GStrv) part = g_strsplit(more, "|", 2);

    for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
        g_autofree char *says = g_strdup_printf("%s and %s exclude each other",
                                                i == 1 ? "iothread=" : asked[i], part[1]);

        qernic_no_start(says, "-object iothread,id=io0 %s" VERBS_NIC ",%s", part[0],
                        asked[i]);
    }
}

/*
 * The least time in ms for which a request without a peer is repeated: 8 timeouts of
 * 67 ms, or that of adaptive retransmission.
 */
#define PLAIN       500
#define NS_IN_MS    1000000
#define RETRY_CONF  (1 << 16 | 7 << 11 | 7 << 8 | 14)

typedef struct Retries {
    const char *properties;
    int64_t least;
} Retries;

static void takes(QTestState *qts, int64_t since, const Retries *row)
{
    int64_t ms = (qtest_clock_step(qts, 1) - since) / NS_IN_MS;

    g_assert_cmpint(ms, >=, row->least);
    g_assert_cmpint(ms, <, row->least * 2);
}

static QErnicMachine *alone(const char *properties)
{
    return qernic_machine("-device ernic,id=nic,addr=04.0,roce-udp=127.0.0.1:0,"
                          "engine-thread=off,%s", properties);
}

MACHINE_TEST("/ernic-property/retry-time", test_retry_time)
{
    static const Retries rows[] = {
        { "interface=verbs", 10000 },
        { "interface=verbs,retry-time=3000", 3000 },
        { "interface=verbs,adaptive-retransmission=off", PLAIN },
        { "interface=verbs,timing=on", PLAIN },
        { "interface=verbs,timing=on,adaptive-retransmission=on", 10000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        QErnicMachine *m = alone(rows[i].properties);
        QErnic *q = qernic_host(m, "nic", 4, 1);
        struct ernic_cqe cqe;
        int64_t start;
        QErnicQp qp;

        qernic_qp_create(q, &qp, ERNIC_QPT_RC);
        qernic_qp_connect(&qp, &qernic_nobody);
        start = qtest_clock_step(m->qts, 1);
        qernic_send(&qp, 0, 64);
        for (int64_t ms = 0; ms < 2 * rows[i].least && !qernic_has_cqe(&qp); ms += 20) {
            qtest_clock_step(m->qts, 20 * NS_IN_MS);
        }
        takes(m->qts, start, &rows[i]);
        qernic_poll(&qp, &cqe);
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_RETRY_EXC_ERR);
        qernic_machine_end(m);
    }
}

static uint64_t timeouts_after(QErnic *q, uint32_t ms)
{
    qernic_pass(q->qts, ms / 20, 20 * NS_IN_MS);
    return qernic_stat(q, "pg332.ack_timeouts");
}

/* The ERNIC retries as PG332 says, unless a property says otherwise. */
MACHINE_TEST("/ernic-property/retry-time-pg332", test_retry_time_pg332)
{
    static const struct {
        const char *properties;
        bool goes_on;
    } rows[] = {
        { "ernic-version=3.1", false },
        { "ernic-version=3.1,adaptive-retransmission=off", false },
        { "ernic-version=3.1,adaptive-retransmission=on", true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        QErnicMachine *m = alone(rows[i].properties);
        QErnic *q = qernic_at(m, "nic", 4);
        uint64_t early;
        Card c;

        card_open(&c, q, PG332_V3_1, 1);
        card_open_qp(&c, 9, CARD_QPN);
        /* Else it retries for ever, as RecoNIC's software wants it. */
        card_put(&c, PG332_XRNICADCONF, 0);
        card_put_qp(&c, PG332_TIMEOUTCONF, RETRY_CONF);
        card_post(&c, CARD_SEND, 0, 64, 0, 0);
        early = timeouts_after(q, 4 * PLAIN);
        g_assert_cmpuint(early, >, 0);
        g_assert_cmpint(timeouts_after(q, 8 * PLAIN) > early, ==, rows[i].goes_on);
        qernic_machine_end(m);
    }
}

static bool in_table(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        if (g_str_equal(bad[i].name, name)) {
            return true;
        }
    }
    return false;
}

static QList *properties(QErnic *q, const char *driver)
{
    QDict *rsp = qtest_qmp(q->qts, "{ 'execute': 'device-list-properties',"
                           " 'arguments': { 'typename': %s } }", driver);
    QList *list = qobject_ref(qdict_get_qlist(rsp, "return"));

    g_assert_nonnull(list);
    qobject_unref(rsp);
    return list;
}

static bool has(const QList *list, const char *name)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(list, entry) {
        if (g_str_equal(qdict_get_str(qobject_to(QDict, qlist_entry_obj(entry)), "name"),
                        name)) {
            return true;
        }
    }
    return false;
}

/* Each property that not every PCI device has, has a row. */
ERNIC_TEST("properties-known", test_all_known)
{
    QList *own = properties(q, "ernic"), *pci = properties(q, "pci-testdev");
    const QListEntry *entry;
    const char *name;
    int n = 0;

    QLIST_FOREACH_ENTRY(own, entry) {
        name = qdict_get_str(qobject_to(QDict, qlist_entry_obj(entry)), "name");
        if (!has(pci, name)) {
            g_test_message("%s", name);
            g_assert_true(in_table(name));
            n++;
        }
    }
    g_assert_cmpint(n, >=, 17);
    qobject_unref(own);
    qobject_unref(pci);
}

ERNIC_TEST("properties-bad", test_bad)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        qernic_refused(q->qts, bad[i].says, "'%s': %s", bad[i].name, bad[i].value);
    }
}

/* Values that are refused only in combination. */
ERNIC_TEST("properties-bad-together", test_bad_together)
{
    static const Bad together[] = {
        { "'roce-udp': '127.0.0.1:0', 'roce-peers'", "'10.0.0.1'", "roce-peers: " },
        { "'netdev': 'hub2', 'engine-thread': 'off', 'iothread'", "'io2'",
          "iothread= and engine-thread=off exclude each other" },
        { "'timing': true, 'engine-thread'", "'on'",
          "engine-thread=on and timing=on exclude each other" },
        { "'roce-udp': '127.0.0.1:0', 'roce-shm'", "'/tmp'",
          "roce-shm= and roce-udp= exclude each other" },
        { "'lab': '/tmp', 'roce-udp'", "'127.0.0.1:0'",
          "lab= and roce-udp= exclude each other" },
        { "'lab': '/tmp', 'roce-shm'", "'/tmp'",
          "roce-shm= and lab= exclude each other" },
        { "'lab': '/tmp', 'dump'", "'/nowhere/x'",
          "Could not open '/nowhere/x': No such file or directory" },
        { "'lab': '/tmp', 'dump-limit'", "'much'", "dump-limit is much, not a size" },
        { "'lab': '/tmp', 'dump-limit'", "'1K'",
          "dump-limit is 1024, not 16384 or more" },
        { "'netdev': 'hub2', 'lab'", "'/tmp'", "netdev= and lab= exclude each other" },
        { "'shell': 'reconic', 'ernic-version'", "'1.0'",
          "ernic-version is 1.0, not auto, 3.1, 4.0 or 4.2" },
        { "'timing': true, 'timing-trace'", "'/dev/null'",
          "timing-trace: /dev/null: not a regular file" },
        { "'shell': 'opennic', 'ernic-version'", "'4.0'",
          "shell=opennic has no ERNIC but that of ernic-version=4.2" },
        { "'shell': 'opennic', 'vectors'", "2",
          "vectors is 2, not 3 to 64, with shell=opennic" },
        { "'shell': 'opennic', 'ernic-version': '4.2', 'vectors'", "5",
          "vectors is 5, not 6 to 64, with shell=opennic" },
        { "'shell': 'xib', 'ernic-version'", "'4.2'",
          "shell=xib has no ERNIC but that of ernic-version=3.1" },
        { "'shell': 'xib', 'card-memory'", "1048576", "shell=xib has no card-memory" },
        { "'shell': 'xib', 'vectors'", "8", "vectors is 8, not 3, with shell=xib" },
        { "'shell': 'opennic', 'ernic-qps'", "8", "ernic-qps= needs ernic-version=" },
        { "'ernic-version': '3.1', 'ernic-strict'", "'loud'",
          "ernic-strict is loud, not off, report or enforce" },
    };
    static const uint64_t card[] = { 1, 512 * KiB, 3 * MiB, 8 * GiB };
    QDict *port = qernic_get(q->qts, q->id, "roce-port");

    qernic_refused(q->qts, "roce-udp: ", "'roce-udp': '127.0.0.1:%s'",
                   qdict_get_str(port, "return"));
    qobject_unref(port);
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'object-add', 'arguments': {"
                             " 'qom-type': 'iothread', 'id': 'io2' } }");
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'netdev_add', 'arguments': {"
                             " 'type': 'hubport', 'id': 'hub2', 'hubid': 2 } }");
    for (size_t i = 0; i < ARRAY_SIZE(together); i++) {
        qernic_refused(q->qts, together[i].says, "%s: %s", together[i].name,
                       together[i].value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(card); i++) {
        g_autofree char *says = g_strdup_printf(
            "card-memory is %" PRIu64 ", not a power of two from 1M to 4G", card[i]);

        qernic_refused(q->qts, says, "'shell': 'reconic', 'card-memory': %" PRIu64,
                       card[i]);
    }
    /* A refused device holds no reference to its netdev or iothread. */
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'netdev_del', 'arguments': {"
                             " 'id': 'hub2' } }");
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'object-del', 'arguments': {"
                             " 'id': 'io2' } }");
}

static void query(QErnic *q, uint8_t opcode, void *data, uint32_t len)
{
    struct ernic_cmd cmd = {
        .opcode = opcode,
        .query = { .addr = cpu_to_le64(q->scratch), .length = cpu_to_le32(len) },
    };
    struct ernic_rsp rsp;

    g_assert_cmpuint(qernic_cmd(q, &cmd, &rsp), ==, ERNIC_OK);
    g_assert_cmpuint(le32_to_cpu(rsp.length), ==, len);
    qtest_memread(q->qts, q->scratch, data, len);
}

MACHINE_TEST("/ernic-properties-in-effect", test_in_effect)
{
    const uint32_t features = ERNIC_FEATURE_ETH | ERNIC_FEATURE_XRC |
                              ERNIC_FEATURE_FLUSH | ERNIC_FEATURE_ATOMIC_WRITE |
                              ERNIC_FEATURE_SRQ_RESIZE | ERNIC_FEATURE_RECORDS |
                              ERNIC_FEATURE_DB_RECORD | ERNIC_FEATURE_ETH_LSO;
    QErnicMachine *m = qernic_machine(
        VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0"
        " -netdev hubport,id=h0,hubid=0" VERBS_NIC ",id=net0,addr=06.0,netdev=h0,"
        "link-speed=25000,roce-mtu=1024,max-qp=10,vectors=3,device-memory=0,"
        "max-memory=24M");
    QErnic *plain = qernic_at(m, "ernic0", 4), *q = qernic_at(m, "net0", 6);
    struct ernic_device_attr attr;
    struct ernic_port_attr port;

    g_assert_cmphex(qernic_reg(plain, features), ==, features);
    qernic_enable(q);
    g_assert_cmphex(qernic_reg(q, features), ==, features | ERNIC_FEATURE_ROCE_ETH);
    g_assert_cmpuint(qernic_reg(q, link_speed), ==, 25000);
    g_assert_cmpuint(qernic_reg(q, num_vectors), ==, 3);
    g_assert_cmpuint(qernic_reg(q, mem_size), ==, 0);
    g_assert_cmpuint(qernic_reg(q, mem_offset), ==, 0);
    query(q, ERNIC_CMD_QUERY_PORT, &port, sizeof(port));
    g_assert_cmpuint(le32_to_cpu(port.link_speed), ==, 25000);
    g_assert_cmpuint(port.active, ==, 1);
    g_assert_cmpuint(port.max_mtu, ==, 3);
    g_assert_cmpuint(port.active_mtu, ==, 3);
    query(q, ERNIC_CMD_QUERY_DEVICE, &attr, sizeof(attr));
    g_assert_cmpuint(le32_to_cpu(attr.max_qp), ==, 8);
    g_assert_cmpuint(qernic_stat(q, "memory.bound"), ==, 24 * MiB);
}

/* The property has the values of QUERY_STATS and the counters of the interfaces. */
ERNIC_TEST("statistics", test_statistics)
{
    static const char *const first[] = {
        "tx_packets", "tx_bytes", "tx_trains", "rx_packets", "rx_bytes",
        "rx_trains", "tx_messages", "rx_messages", "tx_acks", "rx_acks",
    };
    static const char *const others[] = {
        "drops.bad_icrc", "drops.fault", "faults.retry_exceeded", "udp.tx_busy",
        "udp.drops.kernel", "shm.tx_busy", "shm.drops.stalled", "eth.tx_packets",
        "eth.rx_errors",
    };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QUERY_STATS };
    g_autofree char *hmp = NULL;
    uint64_t stats[ARRAY_SIZE(first)];

    qernic_setup(q, 1);
    qernic_transfers(q, q);
    cmd.query.addr = cpu_to_le64(q->scratch);
    cmd.query.length = cpu_to_le32(sizeof(stats));
    qernic_make(q, &cmd);
    qtest_memread(q->qts, q->scratch, stats, sizeof(stats));
    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        g_test_message("%s", first[i]);
        g_assert_cmpuint(le64_to_cpu(stats[i]), >, 0);
        g_assert_cmpuint(qernic_stat(q, first[i]), ==, le64_to_cpu(stats[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        g_test_message("%s", others[i]);
        g_assert_cmpuint(qernic_stat(q, others[i]), ==, 0);
    }
    hmp = qtest_hmp(q->qts, "qom-get ernic0 statistics");
    g_assert_nonnull(strstr(hmp, "\"tx_packets\": "));
    g_assert_null(strstr(hmp, "Error"));
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    g_assert_cmpuint(qernic_stat(q, "tx_packets"), ==, 0);
}

/* QEMU's log has each error of the guest at the registers, and nothing else. */
MACHINE_TEST("/ernic-guest-errors", test_log)
{
    static const char says[] = "ernic ernic0: no register of 2 bytes to read at 0x0\n"
        "ernic ernic0: no register of 4 bytes to write at 0xc\n"
        "ernic ernic0: doorbell 0x0 is not taken\n"
        "ernic ernic0: not enabled: ring registers out of range\n"
        "ernic ernic0: ring_shift is not written while enabled\n"
        "ernic ernic0: cmd_pi 4096 does not follow 0\n"
        "ernic ernic0: ctrl 0x10 is refused\n";
    const char *path = qernic_temp();
    g_autofree char *text = NULL;
    QErnic *q = qernic_device(",roce-udp=127.0.0.1:0 -d guest_errors -D %s", path);

    qpci_io_readw(&q->dev, q->bar, 0);
    qernic_set_reg(q, status, 1);
    qernic_doorbell(q, 0, 0);
    qernic_set_reg(q, control, ERNIC_CONTROL_ENABLE);
    qernic_setup(q, 1);
    qernic_transfers(q, q);
    qernic_set_reg(q, ring_shift, 1);
    qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
    qernic_enable(q);
    qernic_set_reg(q, cmd_pi, 4096);
    qernic_write(q, ERNIC_ETH_OFFSET, 0x10);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, says);
}
