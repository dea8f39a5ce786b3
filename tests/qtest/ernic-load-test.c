/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Machines that are loaded from a file: into functions of another kind, before anyone
 * has joined their netdev, with a descriptor in progress that no QDMA can have, without
 * the sections that an older release does not have, with features that no release has,
 * with the PCIe link of an older release, and with page lists and objects that came
 * first; functions that go while these are sent, and some that go on after a state that
 * was refused.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-eth.h"

#define MACHINE     "-M q35" VERBS_NIC ",id=ernic0,addr=04.0,%s%s"
#define VERBS       "device-memory=0"
#define MLX5        "interface=mlx5"
/* The ids of the verbs interface, and of another adapter. */
#define VERBS_IDS   ",pci-vendor-id=0x1af4,pci-device-id=0x10f4"
#define OTHER_ID    ",pci-device-id=0x1017"

static void save(const char *properties, QErnicState *s)
{
    QErnicMachine *m = qernic_machine(MACHINE, properties, "");

    qernic_state_save(m->qts, s);
    qernic_machine_end(m);
}

static bool loads(const char *properties, const QErnicState *s)
{
    return qernic_state_loads(s, MACHINE, properties, "");
}

static const struct {
    const char *from, *to;
    bool loads;
} kinds[] = {
    { MLX5, MLX5, true },
    { MLX5 OTHER_ID, MLX5 OTHER_ID, true },
    { MLX5, MLX5 OTHER_ID },
    { MLX5, VERBS },
    { VERBS, MLX5 },
    { MLX5 VERBS_IDS, VERBS },
    { VERBS, MLX5 VERBS_IDS },
};

MACHINE_TEST("/ernic-load/kinds", test_kinds)
{
    QErnicState s;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_test_message("%s to %s", kinds[i].from, kinds[i].to);
        save(kinds[i].from, &s);
        g_assert_cmpint(loads(kinds[i].to, &s), ==, kinds[i].loads);
    }
}

/*
 * QEMU announces the address of a card when the state is loaded, and the socket of the
 * netdev does not listen before that. QEMU 10.0 then ends, unless it has the patch
 * scripts/qemu-10.0/stream-link.patch.
 */
MACHINE_TEST("/ernic-load/stream-server", test_stream_server)
{
    g_autofree char *wire = g_strconcat(qernic_temp(), ".wire", NULL);
    g_autofree char *properties = g_strdup_printf(
        "netdev=n0 -netdev stream,id=n0,server=on,addr.type=unix,addr.path=%s", wire);
    g_autofree char *incoming = NULL;
    QErnicState s;

    save(properties, &s);
    incoming = g_strconcat(" -incoming file:", s.path, NULL);
    g_assert_true(qernic_migrated(qernic_machine(MACHINE, properties, incoming)->qts));
    unlink(wire);
}

#define RECONIC     "shell=reconic,card-memory=1M"

/* Fields of the C2H engine of a QDMA; bytes are in the order of the stream. */
static const struct {
    const char *name;
    uint8_t busy;
    uint32_t queue, len, done;
    bool loads;
} jobs[] = {
    { "idle", 0, 0xffffffff, 0, 1, true },
    { "begun", 1, 511, 0xfffffff, 0, true },
    { "almost done", 1, 0, 0xfffffff, 0xfffffff, true },
    { "no such queue", 1, 512, 4096, 0 },
    { "beyond all queues", 1, 0xffffffff, 4096, 0 },
    { "more done than there is", 1, 0, 4096, 4097 },
    { "longer than a descriptor", 1, 0, 0x10000000, 0 },
};

MACHINE_TEST("/ernic-load/qdma", test_qdma)
{
    static const char section[] = "ernic/qdma";
    QErnicState s;
    char *at;

    save(RECONIC, &s);
    at = qernic_state_find(&s, section, strlen(section));
    at += strlen(section) + 4;                  /* the version */
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        g_test_message("%s", jobs[i].name);
        at[0] = jobs[i].busy;
        stl_be_p(at + 1, jobs[i].queue);
        stl_be_p(at + 5, jobs[i].len);
        stl_be_p(at + 9, jobs[i].done);
        g_assert_cmpint(loads(RECONIC, &s), ==, jobs[i].loads);
    }
}

/* A state without streams is one of the release before them. */
MACHINE_TEST("/ernic-load/before-streams", test_before_streams)
{
    QErnicState s;

    save(RECONIC, &s);
    qernic_state_find(&s, "ernic/qdma", 10);
    g_assert_null(memmem(s.bytes, s.len, "ernic/words", 11));
    g_assert_null(memmem(s.bytes, s.len, "ernic/streams", 13));
    g_assert_true(loads(RECONIC, &s));
}

#define NEW_FEATURES    (ERNIC_FEATURE_DB_RECORD | ERNIC_FEATURE_ETH_LSO)

/* Older releases refuse the section, which names the features that they lack. */
static void check_features(QErnicState *s, const char *function)
{
    static const char section[] = "\5\16ernic/features\0\0\0\1";
    size_t head = sizeof(section) - 1;
    char *at = qernic_state_find(s, section, head);

    g_assert_cmphex(ldl_be_p(at + head), ==, NEW_FEATURES);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {                   /* a newer release */
            stl_be_p(at + head, NEW_FEATURES | 1u << 30);
        } else if (i == 2) {            /* an older one */
            s->len -= head + 4;
            memmove(at, at + head + 4, s->bytes + s->len - at);
        }
        g_assert_cmpint(qernic_state_loads(s, VERBS_NIC "%s", function), ==, i != 1);
    }
}

MACHINE_TEST("/ernic-load/features", test_features)
{
    QErnic *q = qernic_device("%s", "");
    QErnicState s;

    qernic_state_save(q->qts, &s);
    g_assert_null(memmem(s.bytes, s.len, "ernic/features", 14));
    qernic_cont(q->qts);
    qernic_setup(q, 1);
    qernic_state_save(q->qts, &s);
    check_features(&s, ",id=ernic0,addr=04.0");
}

/* The Ethernet interface has large packets without ENABLE. */
ETH_TEST("/ernic-load/features-frames", test_features_frames, ERNIC_ETH_TX)
{
    QErnicState s;

    qernic_state_save(e->q->qts, &s);
    check_features(&s, ",id=eth0,addr=06.0");
}

/* Registers of the PCI Express capability: their last edit is the state's. */
static const struct {
    const char *name;
    uint8_t off;
    uint16_t clear, set;
    bool loads;
} link_edits[] = {
    { "another ASPM", PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_ASPMS, 0 },
    { "2.5 GT/s and one lane", PCI_EXP_LNKCAP,
      PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW, 0x11, true },
    { "the same now", PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW, 0x11,
      true },
    { "no target speed", PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS, 0, true },
    { "no speeds", PCI_EXP_LNKCAP2, 0xffff, 0, true },
};

/* The machine keeps the rate of the state, which was loaded last. */
static void check_old_rate(const QErnicState *s)
{
    QErnicMachine *m = qernic_machine(VERBS_NIC ",id=ernic0,addr=04.0 -incoming defer");
    QPCIDevice *dev = qpci_device_find(m->bus, QPCI_DEVFN(4, 0));
    uint8_t cap;

    qtest_clock_set(m->qts, s->now);
    g_assert_true(qernic_load(m->qts, s->path));
    cap = qpci_find_capability(dev, PCI_CAP_ID_EXP, 0);
    g_assert_cmphex(qpci_config_readl(dev, cap + PCI_EXP_LNKCAP) & 0x3ff, ==, 0x11);
    g_assert_cmphex(qpci_config_readw(dev, cap + PCI_EXP_LNKSTA) & 0x3ff, ==, 0x11);
    g_free(dev);
}

/* An older release has another rate of the link, and no other difference. */
MACHINE_TEST("/ernic-load/link", test_link)
{
    QErnic *q = qernic_device("%s", "");
    uint8_t cap = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    char bytes[PCI_EXP_LNKCAP2 + 4];
    QErnicState s;
    char *at;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = qpci_config_readb(&q->dev, cap + i);
    }
    qernic_state_save(q->qts, &s);
    at = qernic_state_find(&s, bytes, sizeof(bytes));
    for (size_t i = 0; i < ARRAY_SIZE(link_edits); i++) {
        char *reg = at + link_edits[i].off;
        uint16_t was = lduw_le_p(reg);

        g_test_message("%s", link_edits[i].name);
        stw_le_p(reg, (was & ~link_edits[i].clear) | link_edits[i].set);
        g_assert_cmphex(lduw_le_p(reg), !=, was);
        g_assert_cmpint(qernic_state_loads(&s, VERBS_NIC ",id=ernic0,addr=04.0"), ==,
                        link_edits[i].loads);
        if (!link_edits[i].loads) {
            stw_le_p(reg, was);
        }
    }
    check_old_rate(&s);
}

#define REGIONS     300             /* with lists of more than 1 MiB together */
#define PAGES       512             /* of each */

/* The first bytes of a part of list 1, and of the holes. */
#define PART        "\0\0\0\1\0\0\2\0\0\0\2"
#define HOLES       "\13ernic/lists"
#define SPANS       "\13ernic/spans"

/* A word of the stream, as far after the first of these bytes. */
static const struct {
    const char *name, *find;
    uint32_t at, value;
} edits[] = {
    { "a list of another number", PART, 0, 2 },
    { "no number", PART, 0, 0 },
    { "a longer list", PART, 4, 0xffffffff },
    { "a shorter list", PART, 4, 511 },
    { "a longer part", PART, 8, 513 },
    { "a shorter part", PART, 8, 511 },
    { "more holes than lists", HOLES, 16, REGIONS + 1 },
    { "a negative number of holes", HOLES, 16, -1 },
    { "fewer holes", HOLES, 16, REGIONS - 1 },
    { "a hole far away", HOLES, 20, 1 },
    { "a hole in another place", HOLES, 24, 1 },
    { "a hole for another list", HOLES, 28, REGIONS + 1 },
    { "more spans than lists", SPANS, 16, 2 * REGIONS },
    { "a negative number of spans", SPANS, 16, -1 },
    { "no spans", SPANS, 16, 0 },
    { "a span far away", SPANS, 20, 1 },
    { "a span in another place", SPANS, 24, 1 },
    { "a page list as a span", SPANS, 28, 1 },
    { "a span that was not sent", SPANS, 28, 2 * REGIONS },
};

/* The machine stops when no more than 20 kB wait, whatever the bandwidth. */
static void set_bandwidth(QErnic *q, int64_t bytes)
{
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'migrate-set-parameters',"
                             " 'arguments': { 'max-bandwidth': %" PRId64 ","
                             " 'avail-switchover-bandwidth': 1000000,"
                             " 'downtime-limit': 20 } }", bytes);
}

static void make_lists(QErnic *q, uint32_t key[REGIONS])
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_ALLOC };

    qernic_setup(q, 1);
    cmd.mr_alloc.pd = cpu_to_le32(q->pd);
    cmd.mr_alloc.max_pages = cpu_to_le32(PAGES);
    for (int i = 0; i < REGIONS; i++) {
        key[i] = qernic_make(q, &cmd);
    }
}

/* Page lists that were sent while the machine ran: they are there, and never trusted. */
MACHINE_TEST("/ernic-load/lists", test_lists)
{
    QErnic *q = qernic_device("%s", "");
    uint32_t key[REGIONS];
    QErnicState s;

    make_lists(q, key);
    set_bandwidth(q, 1 << 30);
    qernic_state_save(q->qts, &s);
    for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
        char *at = qernic_state_find(&s, edits[i].find, sizeof(PART) - 1) + edits[i].at;
        uint32_t was = ldl_be_p(at);

        g_test_message("%s", edits[i].name);
        stl_be_p(at, edits[i].value);
        g_assert_false(qernic_state_loads(&s, VERBS_NIC ",id=ernic0,addr=04.0"));
        stl_be_p(at, was);
    }
    qernic_cont(q->qts);                /* and migrates again */
    qernic_migrate_as(q, VERBS_NIC ",id=ernic0,addr=04.0");
    for (int i = 0; i < REGIONS; i++) {
        g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_MR_FREE, key[i]), ==, ERNIC_OK);
    }
}

/* Puts another number of holes into a snapshot, which is in the file @disk. */
static void edit_snapshot(const char *disk, uint32_t holes)
{
    g_autofree char *bytes = NULL;
    uint32_t value = cpu_to_be32(holes);
    int fd = open(disk, O_WRONLY);
    char *at;
    size_t len;

    g_assert_true(g_file_get_contents(disk, &bytes, &len, NULL));
    at = memmem(bytes, len, HOLES, sizeof(HOLES) - 1);
    g_assert_nonnull(at);
    g_assert_cmpint(pwrite(fd, &value, sizeof(value), at + 16 - bytes), ==,
                    sizeof(value));
    close(fd);
}

static void snapshot(QErnic *q, const char *command, bool works)
{
    g_autofree char *reply = qtest_hmp(q->qts, "%s", command);

    g_test_message("%s: %s", command, reply);
    g_assert_cmpint(!*reply, ==, works);
}

/* A device with a snapshot that is refused after its registers, in the file @disk. */
static QErnic *refused_snapshot(const char *disk, uint32_t key[REGIONS])
{
    g_autofree char *create = g_strdup_printf("qemu-img create -q -f qcow2 %s 1M", disk);
    QErnic *q;

    g_assert_true(g_spawn_command_line_sync(create, NULL, NULL, NULL, NULL));
    q = qernic_device(" -drive if=none,format=qcow2,file=%s", disk);
    make_lists(q, key);
    snapshot(q, "savevm good", true);
    edit_snapshot(disk, 3 * REGIONS);
    return q;
}

/* After a snapshot that was refused, the machine can be saved. */
MACHINE_TEST("/ernic-load/snapshot", test_snapshot)
{
    const char *disk = qernic_temp();
    uint32_t key[REGIONS];
    QErnic *q = refused_snapshot(disk, key);

    snapshot(q, "loadvm good", false);
    snapshot(q, "savevm after", true);
    edit_snapshot(disk, REGIONS);
    snapshot(q, "loadvm good", true);
    qernic_cont(q->qts);
    for (int i = 0; i < REGIONS; i++) {
        g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_MR_FREE, key[i]), ==, ERNIC_OK);
    }
}

/*
 * A snapshot whose registers are loaded, but that ends before they are checked: the
 * function is as after a reset when the machine goes on, or is saved.
 */
MACHINE_TEST("/ernic-load/half", test_half)
{
    uint32_t key[REGIONS];
    QErnic *q = refused_snapshot(qernic_temp(), key);

    for (int i = 0; i < 2; i++) {
        qernic_set_reg(q, control, ERNIC_CONTROL_RESET);
        snapshot(q, "loadvm good", false);
        g_assert_cmphex(qernic_reg(q, ring_shift), ==, QERNIC_RING_SHIFT);
        if (i == 1) {
            snapshot(q, "savevm after", true);
            g_assert_cmphex(qernic_reg(q, ring_shift), ==, 0);
        }
        qernic_cont(q->qts);
        g_assert_cmphex(qernic_reg(q, ring_shift), ==, 0);
        qernic_setup(q, 1);
    }
}

#define KEYS        2000            /* without lists: 190 kB of state */
#define QPS         60              /* 130 kB */
#define CHANGES     20              /* objects that come and go meanwhile */
#define STOPPED     (64 * 1024)     /* more than what is left for the end */

static uint32_t state_bytes(const QErnicState *s)
{
    return ldl_be_p(qernic_state_find(s, "RNICiCsT", 8) - 4);
}

static const char *migration_status(QErnic *q)
{
    QDict *rsp = qtest_qmp_assert_success_ref(q->qts, "{ 'execute': 'query-migrate' }");
    const char *status = g_intern_string(qdict_get_try_str(rsp, "status"));

    qobject_unref(rsp);
    return status;
}

/* Waits until @event is in the file @path, before the migration ends. */
static void wait_for(QErnic *q, const char *path, const char *event)
{
    g_autofree char *log = NULL;

    do {
        g_assert_cmpstr(migration_status(q), !=, "completed");
        g_usleep(1000);
        g_free(g_steal_pointer(&log));
        g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
    } while (!strstr(log, event));
}

/* Some objects change between the first span of the migration and its end. */
static void change_meanwhile(QErnic *q, struct ernic_cmd *cmd, uint32_t *key,
                             QErnicState *s)
{
    const char *log = qernic_log(q->qts, "ernic_precopy_span");
    g_autofree char *uri = NULL;
    QErnicQp qp;

    s->path = qernic_temp();
    s->now = qtest_clock_step(q->qts, 1);
    uri = g_strconcat("file:", s->path, NULL);
    set_bandwidth(q, 256 * 1024);
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'migrate', 'arguments':"
                             " { 'uri': %s } }", uri);
    wait_for(q, log, "ernic_precopy_span");
    for (int i = 0; i < KEYS; i += KEYS / CHANGES) {
        g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_MR_FREE, key[i]), ==, ERNIC_OK);
        key[i] = qernic_make(q, cmd);
    }
    qernic_qp_create(q, &qp, ERNIC_QPT_RC);
    g_assert_cmpstr(migration_status(q), ==, "active");
    set_bandwidth(q, 1 << 30);
    g_assert_true(qernic_migrated(q->qts));
    g_assert_true(g_file_get_contents(s->path, &s->bytes, &s->len, NULL));
    g_test_queue_free(s->bytes);
}

/* Objects migrate while they change: little is left for the time without a machine. */
MACHINE_TEST("/ernic-load/objects", test_objects)
{
    struct ernic_cmd list = { .opcode = ERNIC_CMD_MR_ALLOC }, cmd = list;
    QErnic *q = qernic_device("%s", "");
    uint32_t key[KEYS];
    QErnicState s;

    qernic_setup(q, 1);
    list.mr_alloc.pd = cmd.mr_alloc.pd = cpu_to_le32(q->pd);
    list.mr_alloc.max_pages = cpu_to_le32(PAGES);
    cmd.mr_alloc.max_pages = cpu_to_le32(1);
    for (int i = 0; i < REGIONS; i++) {
        qernic_make(q, &list);
    }
    for (int i = 0; i < KEYS; i++) {
        key[i] = qernic_make(q, &cmd);
    }
    for (int i = 0; i < QPS; i++) {
        QErnicQp qp;

        qernic_qp_create(q, &qp, ERNIC_QPT_RC);
    }
    change_meanwhile(q, &cmd, key, &s);
    g_test_message("%u bytes", state_bytes(&s));
    g_assert_cmpuint(state_bytes(&s), <, STOPPED);
    g_assert_true(qernic_state_loads(&s, VERBS_NIC ",id=ernic0,addr=04.0"));
    qernic_cont(q->qts);                /* and migrates again */
    qernic_migrate_as(q, VERBS_NIC ",id=ernic0,addr=04.0");
    for (int i = 0; i < KEYS; i++) {
        g_assert_cmpuint(qernic_cmd_handle(q, ERNIC_CMD_MR_FREE, key[i]), ==, ERNIC_OK);
    }
}

/* Adds what comes, at most @len bytes; false: the migration has ended. */
static bool read_some(int fd, GByteArray *stream, size_t len)
{
    size_t had = stream->len;
    ssize_t got;

    g_byte_array_set_size(stream, had + len);
    got = read(fd, stream->data + had, len);
    g_assert_true(got >= 0 || errno == EAGAIN);
    g_byte_array_set_size(stream, had + MAX(got, 0));
    g_usleep(got < 0 ? 1000 : 0);
    return got != 0;
}

/*
 * Begins a migration to a socket, and reads until its first list; returns the socket. The
 * socket has room for fewer bytes than the thread that sends lists writes at once.
 */
static int begin_to_socket(QErnic *q, GByteArray *stream)
{
    int fd[2], least = 1;

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), ==, 0);
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
    qtest_qmp_fds_assert_success(q->qts, &fd[1], 1, "{ 'execute': 'getfd',"
                                 " 'arguments': { 'fdname': 'to' } }");
    close(fd[1]);
    set_bandwidth(q, 1 << 30);
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'migrate', 'arguments':"
                             " { 'uri': 'fd:to' } }");
    while (!memmem(stream->data, stream->len, PART, sizeof(PART) - 1)) {
        g_assert_true(read_some(fd[0], stream, 4096));
    }
    return fd[0];
}

/*
 * The guest ejects the function while the thread of the migration waits for room for its
 * lists. The migration goes on without it, and the function may come back.
 */
MACHINE_TEST("/ernic-load/eject", test_eject)
{
    struct ernic_cmd list = { .opcode = ERNIC_CMD_MR_ALLOC };
    QErnicMachine *m = qernic_machine("-M q35" QERNIC_SLOT VERBS_NIC
                                      ",id=ernic0,bus=slot0,addr=01.0%s", "");
    g_autoptr(GByteArray) stream = g_byte_array_new();
    QErnic q = { };
    int fd;

    qernic_slot_open(m);
    qernic_init(&q, "ernic0", m->bus, QERNIC_SLOT_DEVFN, &m->alloc);
    qernic_setup(&q, 1);
    list.mr_alloc.pd = cpu_to_le32(q.pd);
    list.mr_alloc.max_pages = cpu_to_le32(PAGES);
    for (int i = 0; i < REGIONS; i++) {
        qernic_make(&q, &list);
    }
    fd = begin_to_socket(&q, stream);
    qtest_writew(m->qts, QERNIC_SLOT_COMMAND, QERNIC_SLOT_EJECT);
    while (read_some(fd, stream, 64 * 1024)) {
    }
    close(fd);
    qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
    g_assert_true(qernic_migrated(m->qts));
    g_assert_null(memmem(stream->data, stream->len, "RNICiCsT", 8));    /* its state */
    qernic_cont(m->qts);
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'device_add', 'arguments': {"
                             " 'driver': 'ernic', 'id': 'ernic0', 'bus': 'slot0',"
                             " 'addr': '01.0' } }");
}
