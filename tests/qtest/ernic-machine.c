/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Machines of the tests: their start and end, files, cables, migration, and a slot.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include <sys/wait.h>
#include "qemu/bswap.h"
#include "qemu/iov.h"
#include "hw/pci/pci_regs.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "ernic.h"

#define MIGRATION_SECONDS   60
#define QUIT_SECONDS        30
#define PC                  "-M pc -nodefaults "
#define KVM                 "-accel kvm"

void qernic_add_kinds(const char *path, const QErnicKind *kinds, size_t num,
                      void (*fn)(const void *more))
{
    for (size_t i = 0; i < num; i++) {
        g_autofree char *name = g_strconcat(path, kinds[i].name, NULL);

        qtest_add_data_func(name, kinds[i].more, fn);
    }
}

/* QEMU stays a zombie for qtest_quit(), which also kills one that does not end. */
void qernic_quit(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + QUIT_SECONDS * G_TIME_SPAN_SECOND;
    pid_t pid = qtest_pid(qts);
    siginfo_t ended = { };

    g_assert_cmpint(pid, >, 0);
    kill(pid, SIGTERM);
    while (!ended.si_pid && g_get_monotonic_time() < end) {
        g_usleep(500);
        g_assert_cmpint(waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT), ==, 0);
    }
    qtest_quit(qts);
}

void qernic_machine_end(QErnicMachine *m)
{
    if (m->qts) {
        qpci_free_pc(m->bus);
        alloc_destroy(&m->alloc);
        qernic_quit(m->qts);
        m->qts = NULL;
    }
}

static void free_machine(void *m)
{
    qernic_machine_end(m);
    g_free(m);
}

static QTestState *start(const char *args)
{
    return qtest_initf("%s%s", g_str_has_prefix(args, "-M ") ? "-nodefaults " : PC, args);
}

/*
 * The machine has KVM if the host has one that executes the firmware. Some hosts have a
 * /dev/kvm under which the processor stops with an internal error at once.
 */
static QTestState *start_kvm(const char *args, const char *kvm)
{
    g_autoptr(GString) without = g_string_new(args);
    QTestState *qts = start(args);

    if (!qernic_has_kvm(qts)) {
        return qts;
    }
    if (qernic_processor_halts(qts)) {
        qernic_real_time();
        return qts;
    }
    g_test_message("KVM executes no instruction here");
    qernic_quit(qts);
    g_string_erase(without, kvm - args, strlen(KVM));
    return start(without->str);
}

QErnicMachine *qernic_machine(const char *fmt, ...)
{
    QErnicMachine *m = g_new0(QErnicMachine, 1);
    g_autofree char *args = NULL;
    const char *kvm;
    va_list ap;

    va_start(ap, fmt);
    args = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    kvm = strstr(args, KVM);
    m->qts = kvm ? start_kvm(args, kvm) : start(args);
    if (strstr(args, "-accel tcg")) {
        qernic_real_time();
    }
    pc_alloc_init(&m->alloc, m->qts, 0);
    m->bus = qpci_new_pc(m->qts, &m->alloc);
    g_test_queue_destroy(free_machine, m);
    return m;
}

static QErnic *find(const char *id, QPCIBus *bus, int slot, QGuestAllocator *alloc)
{
    QErnic *q = g_new(QErnic, 1);

    qernic_init(q, id, bus, QPCI_DEVFN(slot, 0), alloc);
    g_test_queue_free(q);
    return q;
}

QErnic *qernic_at(QErnicMachine *m, const char *id, int slot)
{
    return find(id, m->bus, slot, &m->alloc);
}

QErnic *qernic_device(const char *fmt, ...)
{
    g_autofree char *more = NULL;
    va_list ap;

    va_start(ap, fmt);
    more = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    return qernic_at(qernic_machine("-object iothread,id=io0" VERBS_NIC ",id=ernic0,"
                                    "addr=04.0%s", more), "ernic0", 4);
}

QErnic *qernic_beside(QErnic *q, const char *id, int slot)
{
    return find(id, q->dev.bus, slot, q->alloc);
}

QErnic *qernic_host(QErnicMachine *m, const char *id, int slot, uint8_t host)
{
    QErnic *q = qernic_at(m, id, slot);

    qernic_setup(q, host);
    return q;
}

static void remove_file(void *path)
{
    unlink(path);
    g_free(path);
}

const char *qernic_temp(void)
{
    char *path;
    int fd = g_file_open_tmp("ernic-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_test_queue_destroy(remove_file, path);
    return path;
}

static void remove_folder(void *path)
{
    g_assert_cmpint(g_rmdir(path), ==, 0);
    g_free(path);
}

const char *qernic_folder(void)
{
    char *path = g_dir_make_tmp("ernic-XXXXXX", NULL);

    g_assert_nonnull(path);
    g_test_queue_destroy(remove_folder, path);
    return path;
}

QDict *qernic_get(QTestState *qts, const char *path, const char *property)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': %s } }", path, property);

    g_assert_true(qdict_haskey(rsp, "return"));
    return rsp;
}

void qernic_set(QTestState *qts, const char *path, const char *property,
                const char *value)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'qom-set', 'arguments': { 'path': %s,"
                             " 'property': %s, 'value': %s } }", path, property, value);
}

void qernic_refused(QTestState *qts, const char *says, const char *fmt, ...)
{
    g_autofree char *args = NULL, *all = NULL;
    const char *desc;
    QDict *rsp;
    va_list ap;

    va_start(ap, fmt);
    args = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    all = g_strdup_printf("{ 'driver': 'ernic', 'id': 'bad', %s%s }", args,
                          strstr(args, "'interface'") ? "" : ", 'interface': 'verbs'");
    rsp = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': %p }",
                    qobject_from_json(all, &error_abort));
    g_assert_true(qdict_haskey(rsp, "error"));
    desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_test_message("%s: %s", args, desc);
    g_assert_true(g_str_has_prefix(desc, says));
    qobject_unref(rsp);
}

void qernic_no_start(const char *says, const char *fmt, ...)
{
    g_autofree char *args = NULL, *command = NULL, *err = NULL;
    int status = 0;
    va_list ap;

    va_start(ap, fmt);
    args = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    command = g_strdup_printf("%s -display none -nodefaults %s",
                              getenv("QTEST_QEMU_BINARY"), args);
    g_assert_true(g_spawn_command_line_sync(command, NULL, &err, &status, NULL));
    g_test_message("%s: %s", args, err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_nonnull(strstr(err, says));
}

void qernic_stop(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'stop' }");
}

void qernic_cont(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'cont' }");
}

void qernic_set_link(QTestState *qts, const char *name, bool up)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': %s, 'up': %i } }", name, up);
}

static void close_fd(void *fd)
{
    close(GPOINTER_TO_INT(fd));
}

int qernic_cable(int *own)
{
    int fds[2];

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    for (int i = 0; i < 2; i++) {
        g_test_queue_destroy(close_fd, GINT_TO_POINTER(fds[i]));
    }
    *own = fds[0];
    return fds[1];
}

void qernic_to_wire(int fd, const uint8_t *frame, uint32_t len)
{
    uint32_t be = cpu_to_be32(len);
    struct iovec iov[] = { { &be, sizeof(be) }, { (void *)frame, len } };

    g_assert_cmpint(iov_send(fd, iov, 2, 0, len + sizeof(be)), ==, len + sizeof(be));
}

uint32_t qernic_from_wire(int fd, uint8_t *frame, uint32_t room)
{
    uint32_t len;

    g_assert_cmpint(recv(fd, &len, sizeof(len), MSG_WAITALL), ==, sizeof(len));
    len = be32_to_cpu(len);
    g_assert_cmpuint(len, <=, room);
    g_assert_cmpint(recv(fd, frame, len, MSG_WAITALL), ==, len);
    return len;
}

bool qernic_migrated(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + MIGRATION_SECONDS * G_TIME_SPAN_SECOND;
    bool done = false, failed = false;

    while (!done && !failed) {
        QDict *rsp = qtest_qmp_assert_success_ref(qts, "{ 'execute': 'query-migrate' }");
        const char *status = qdict_get_try_str(rsp, "status");

        done = g_strcmp0(status, "completed") == 0;
        failed = g_strcmp0(status, "failed") == 0;
        qobject_unref(rsp);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
    return done;
}

static void save(QTestState *qts, const char *path)
{
    g_autofree char *uri = g_strdup_printf("file:%s", path);

    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }",
                             uri);
    g_assert_true(qernic_migrated(qts));
}

bool qernic_load(QTestState *qts, const char *path)
{
    g_autofree char *uri = g_strdup_printf("file:%s", path);

    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate-incoming', 'arguments':"
                             " { 'uri': %s, 'exit-on-error': false } }", uri);
    return qernic_migrated(qts);
}

void qernic_state_save(QTestState *qts, QErnicState *s)
{
    s->path = qernic_temp();
    s->now = qtest_clock_step(qts, 1);
    save(qts, s->path);
    g_assert_true(g_file_get_contents(s->path, &s->bytes, &s->len, NULL));
    g_test_queue_free(s->bytes);
}

char *qernic_state_find(const QErnicState *s, const char *bytes, size_t len)
{
    char *at = memmem(s->bytes, s->len, bytes, len);

    g_assert_nonnull(at);
    return at;
}

bool qernic_state_loads(const QErnicState *s, const char *fmt, ...)
{
    g_autofree char *args = NULL;
    QErnicMachine *m;
    va_list ap;
    bool done;

    va_start(ap, fmt);
    args = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    m = qernic_machine("%s -incoming defer", args);
    g_assert_true(g_file_set_contents(s->path, s->bytes, s->len, NULL));
    qtest_clock_set(m->qts, s->now);
    done = qernic_load(m->qts, s->path);
    if (done) {
        qtest_clock_step(m->qts, 1000000);
        qtest_clock_step(m->qts, 10000000);
    }
    qernic_machine_end(m);
    return done;
}

QTestState *qernic_copy(QErnic *q, const char *args, int64_t ns)
{
    QErnicMachine *m = container_of(q->alloc, QErnicMachine, alloc);
    const char *path = qernic_temp();
    QTestState *from = m->qts;

    save(from, path);
    q->qts = m->qts = m->bus->qts = qtest_initf(PC "%s -incoming defer", args);
    /* The virtual clock migrates, but qtest's clock does not. */
    qtest_clock_set(q->qts, qtest_clock_step(from, 1) + ns);
    g_assert_true(qernic_load(q->qts, path));
    return from;
}

void qernic_migrate_as(QErnic *q, const char *args)
{
    qernic_quit(qernic_copy(q, args, 0));
}

void qernic_migrate(QErnic *q, const char *more)
{
    g_autofree char *args = g_strdup_printf(
        VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0%s", more);

    qernic_migrate_as(q, args);
}

/* ---- a slot whose hot-plug controller has registers in memory (SHPC) --------------- */

#define SLOT_WINDOW     0xe0000000
/* The first slot is off, its LED blinks. */
#define SLOT_STAYS      (1 << 8 | 2 << 2 | 3)

void qernic_slot_open(QErnicMachine *m)
{
    QPCIDevice *bridge = qpci_device_find(m->bus, QPCI_DEVFN(5, 0));

    qpci_config_writel(bridge, PCI_PRIMARY_BUS, 1 << 16 | 1 << 8);
    qpci_config_writel(bridge, PCI_MEMORY_BASE,
                       SLOT_WINDOW | 0xf00000 | SLOT_WINDOW >> 16);
    m->bus->mmio_alloc_ptr = QERNIC_SLOT_COMMAND & ~0xfff;
    qpci_iomap(bridge, 0, NULL);
    qpci_device_enable(bridge);
    g_free(bridge);
    qtest_writel(m->qts, QERNIC_SLOT_COMMAND, SLOT_STAYS);
    m->bus->mmio_alloc_ptr = SLOT_WINDOW;
}
