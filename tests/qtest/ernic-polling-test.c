/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's thread polls before it sleeps, if events come soon after each other, and
 * not for long. The rules of it are in ernic-polling-unit.c.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

#define SECONDS 120
#define PATIENCE 5                /* seconds, too */
#define POLLS   ",engine-thread=on,engine-poll-us=1000"
#define SHARED  ",iothread=io0,engine-poll-us=1000"

/* Two functions of one machine, which are connected by a link. */
typedef struct Polling {
    QErnicMachine *m;
    QErnic *q, *peer;
    QErnicQp x, y, self;
    const char *log;
    char *options;              /* of the first one, but for its name and place */
    bool shm, both;             /* both poll, or the first one alone */
    uint64_t mmio;              /* where its BARs begin */
} Polling;

static uint32_t count(const char *log, const char *text)
{
    const char *at;
    uint32_t n = 0;

    for (at = log; (at = strstr(at, text)); at++) {
        n++;
    }
    return n;
}

static char *read_log(Polling *p)
{
    char *log;

    g_assert_true(g_file_get_contents(p->log, &log, NULL, NULL));
    return log;
}

/* Lines of the log with @text so far. */
static uint32_t logged(Polling *p, const char *text)
{
    g_autofree char *log = read_log(p);

    return count(log, text);
}

#define BEGUN   "ernic_pci_poll ernic0 on 1"
#define ENDED   "ernic_pci_poll ernic0 on 0"
#define FOUND   "ernic_pci_shm_polled ernic0"
#define PAUSED  "ernic_pci_poll_pause ernic0"
/* Some queue's record announced a request while the thread polled. */
#define POLLED  " polling 1\n"

/* Whether the thread polls at the end of @log, which may begin while it does. */
static bool polls(const char *log)
{
    const char *begun = g_strrstr(log, BEGUN), *ended = g_strrstr(log, ENDED);

    return begun && (!ended || ended < begun);
}

/* Whether the thread polled when the last line with @text came. */
static bool polled_at(Polling *p, const char *text)
{
    g_autofree char *log = read_log(p);
    char *at = g_strrstr(log, text);

    g_assert_nonnull(at);
    *at = '\0';
    return polls(log);
}

/* The processors that the test may use, and those for the thread that polls. */
static cpu_set_t all, rest;

static void use_all(void *unused)
{
    sched_setaffinity(0, sizeof(all), &all);
}

/*
 * The test and its machines share one processor, if there are others: the one that the
 * test has now, as those that run beside it do the same.
 */
static void use_one(void)
{
    int cpu = sched_getcpu();
    cpu_set_t one;

    g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
    g_assert_true(CPU_ISSET(cpu, &all));
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    rest = all;
    if (CPU_COUNT(&all) > 1) {
        CPU_CLR(cpu, &rest);
        sched_setaffinity(0, sizeof(one), &one);
        g_test_queue_destroy(use_all, NULL);
    }
}

/*
 * The thread that polls has the others: one that it shares would be taken from it. False:
 * it has not run yet, and so has no name.
 */
static bool place_thread(Polling *p)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(p->m->qts));
    g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
    const char *task, *begins = strstr(p->options, "iothread=") ? "IO io0" : "IO ernic";
    bool found = false;

    while ((task = g_dir_read_name(tasks))) {
        g_autofree char *file = g_build_filename(path, task, "comm", NULL), *name = NULL;

        if (g_file_get_contents(file, &name, NULL, NULL) &&
            g_str_has_prefix(name, begins) &&
            (p->both || strcmp(name, "IO ernic1\n") != 0)) {
            g_assert_cmpint(sched_setaffinity(atoi(task), sizeof(rest), &rest), ==, 0);
            found = true;
        }
    }
    return found;
}

/* The other function has met ernic0, which is new. */
static void introduce(Polling *p)
{
    if (p->shm) {
        qernic_wait_while(p->m->qts, qernic_stat(p->peer, "shm.peers") != 1);
    } else {
        card_introduce(p->peer);
    }
}

static void forget(Polling *p)
{
    if (p->shm) {
        qernic_wait_while(p->m->qts, qernic_stat(p->peer, "shm.peers") != 0);
    } else {
        qernic_set(p->m->qts, "ernic1", "remove-peer", "10.0.0.1");
        qernic_set(p->m->qts, "ernic1", "remove-peer", "10.0.0.2");
    }
}

/* The driver takes ernic0, which is new or was reset. */
static void connect_first(Polling *p)
{
    if (!strstr(p->options, "engine-thread=off")) {
        qernic_wait_while(p->m->qts, !place_thread(p));
    }
    p->m->bus->mmio_alloc_ptr = p->mmio;
    p->q = qernic_host(p->m, "ernic0", 4, 1);
    qernic_pair(p->q, p->peer, &p->x, &p->y, ERNIC_QPT_RC);
    qernic_self(p->q, &p->self, ERNIC_QPT_RC);
}

/* @more: the thread and the link of both functions. */
static void open_pair(Polling *p, const char *more, bool both)
{
    *p = (Polling) { .shm = strstr(more, "roce-shm="), .both = both };
    p->options = g_strconcat(more, p->shm ? qernic_folder() : ",roce-udp=127.0.0.1:0",
                             NULL);
    g_test_queue_free(p->options);
    use_one();
    p->m = qernic_machine(" -name debug-threads=on -object iothread,id=io0"
                          VERBS_NIC ",id=ernic0,addr=04.0%s"
                          VERBS_NIC ",id=ernic1,addr=05.0%s%s", p->options, p->options,
                          both ? "" : ",engine-poll-us=0");
    p->log = qernic_log(p->m->qts, "ernic_pci_*poll*");
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_pci_reset on"));
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_pci_life on"));
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_db_polled on"));
    p->peer = qernic_host(p->m, "ernic1", 5, 2);
    p->mmio = p->m->bus->mmio_alloc_ptr;
    introduce(p);
    connect_first(p);
}

/*
 * A second thread that polls would take the processor of the first one, or that of the
 * test.
 */
static void polling_open(Polling *p, const char *more)
{
    open_pair(p, more, false);
}

static void polling_open_both(Polling *p, const char *more)
{
    open_pair(p, more, true);
}

/*
 * Its doorbells follow each other soon, so that the thread polls in between, if it may.
 * The index in them is the one that the device has: they change nothing.
 */
static void stay_awake(Polling *p)
{
    for (int i = 0; i < 20; i++) {
        qernic_doorbell(p->q, 0, ERNIC_DB(ERNIC_DB_CQ, p->self.cq.cqn, p->self.cq.ci));
    }
}

/* It takes some slices, and need not end. */
static void post_work(Polling *p)
{
    qernic_post_write(&p->self, 0, QERNIC_BUF / 2, p->q->buf + QERNIC_BUF / 2, p->q->key);
}

static void send_one(Polling *p)
{
    qernic_message(&p->x, &p->y, 0x8000);
}

/*
 * Whether to skip the test, which has tried since @start: polling paused half of @begun
 * times, or once in the time that a test has, because the processors are busy.
 */
static bool too_busy(int64_t start, uint32_t begun, uint32_t pauses)
{
    int64_t tried = g_get_monotonic_time() - start;
    bool over = tried >= SECONDS * G_TIME_SPAN_SECOND;

    g_assert_false(over && !pauses);
    if (!over && (tried < PATIENCE * G_TIME_SPAN_SECOND || !pauses ||
                  2 * pauses < begun)) {
        return false;
    }
    g_test_skip("the processors are busy: polling pauses");
    return true;
}

/*
 * Sends by these queue pairs until the log has more lines with @text than now. False: the
 * test is skipped.
 */
static bool send_until(Polling *p, const char *text, QErnicQp *x, QErnicQp *y)
{
    int64_t start = g_get_monotonic_time();
    uint32_t n = logged(p, text), begun = logged(p, BEGUN), pauses = logged(p, PAUSED);

    while (logged(p, text) == n) {
        if (too_busy(start, logged(p, BEGUN) - begun, logged(p, PAUSED) - pauses)) {
            return false;
        }
        stay_awake(p);
        qernic_message(x, y, 64);
    }
    return true;
}

/* The thread sleeps, and stays asleep for a while. */
static void check_sleeps(Polling *p)
{
    int64_t deadline;
    bool slept = false;

    qernic_pass(p->m->qts, 20, 1000000000);     /* no timer is armed any more */
    deadline = g_get_monotonic_time() + SECONDS * G_TIME_SPAN_SECOND;
    while (!slept) {
        g_autofree char *before = read_log(p), *after = NULL;

        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(300000);
        after = read_log(p);
        slept = !polls(after) && count(before, BEGUN) == count(after, BEGUN);
    }
}

/*
 * A thread that polls finds the ACKs of the peer in memory, and later sleeps; then it is
 * woken again.
 */
static void find_and_sleep(Polling *p)
{
    for (int i = 0; i < 2; i++) {
        if (!send_until(p, FOUND, &p->x, &p->y)) {
            break;
        }
        check_sleeps(p);
    }
}

WORLD_KINDS("/ernic-polling/memory", test_memory, Polling, p, polling_open,
            { "", POLLS ",roce-shm=" }, { "-iothread", SHARED ",roce-shm=" })
{
    find_and_sleep(p);
}

/* The same if the thread of the peer polls, too. */
WORLD_KINDS("/ernic-polling/memory-both", test_memory_both, Polling, p,
            polling_open_both, { "", POLLS ",roce-shm=" })
{
    find_and_sleep(p);
}

/* A socket has no memory to look at: the event loop looks at its descriptor. */
WORLD_KINDS("/ernic-polling/descriptor", test_descriptor, Polling, p, polling_open,
            { "", POLLS }, { "-iothread", SHARED }, { "-events", POLLS ",ioeventfd=on" })
{
    send_until(p, BEGUN, &p->x, &p->y);
    check_sleeps(p);
    send_until(p, BEGUN, &p->x, &p->y);
    check_sleeps(p);
    g_assert_cmpuint(logged(p, FOUND), ==, 0);
}

/*
 * A send queue with a record does not ask for a doorbell while the thread polls, which
 * finds its requests; and asks before the thread sleeps.
 */
WORLD_KINDS("/ernic-polling/record", test_record, Polling, p, polling_open,
            { "", POLLS }, { "-shm", POLLS ",roce-shm=" },
            { "-events", POLLS ",ioeventfd=on" })
{
    QErnicQp x, y;

    qernic_pair_record(p->q, &x, &y);
    send_until(p, POLLED, &x, &y);
    check_sleeps(p);
    g_assert_cmpuint(qernic_wake(p->q, x.sq_record), ==, x.sq_pi);
}

/* Threads that never poll. */
WORLD_KINDS("/ernic-polling/off", test_off, Polling, p, polling_open,
            { "", ",engine-thread=on,roce-shm=" },
            { "-iothread", ",iothread=io0,engine-poll-us=0,roce-shm=" },
            { "-main-loop", ",engine-thread=off,roce-shm=" })
{
    for (int i = 0; i < 500; i++) {
        send_one(p);
    }
    g_assert_cmpuint(logged(p, BEGUN), ==, 0);
}

/* ---- the end of polling ------------------------------------------------------------ */

#define LINKS   { "", POLLS }, { "-shm", POLLS ",roce-shm=" },              \
                { "-iothread", SHARED ",roce-shm=" }

/*
 * The machine stops while the thread polls. A message that has been sent then is received
 * when the machine goes on, although the peer has no reason to wake the thread up.
 */
WORLD_KINDS("/ernic-polling/stop", test_stop, Polling, p, polling_open, LINKS)
{
    int64_t start = g_get_monotonic_time();

    do {
        stay_awake(p);
        qernic_post_recv(&p->y, 0x1000, 64);
        qernic_send(&p->x, 0, 64);
        qernic_stop(p->m->qts);
        qernic_cont(p->m->qts);
        qernic_done(&p->y);
        qernic_done(&p->x);
    } while (!polled_at(p, "ernic_pci_life ernic0 working -> stopped") &&
             !too_busy(start, logged(p, BEGUN), logged(p, PAUSED)));
    send_one(p);
    check_sleeps(p);
}

/* Its end of the connection would stay: a device has 1,024 of them. */
static void destroy_peers(Polling *p)
{
    g_assert_cmpuint(qernic_cmd_handle(p->peer, ERNIC_CMD_QP_DESTROY, p->y.qpn), ==,
                     ERNIC_OK);
    g_assert_cmpuint(qernic_cmd_handle(p->peer, ERNIC_CMD_CQ_DESTROY, p->y.cq.cqn), ==,
                     ERNIC_OK);
}

/* Ends with @event and begins anew, until the thread polled when @event came. */
static void end_polling(Polling *p, void (*act)(Polling *), void (*renew)(Polling *),
                        const char *event)
{
    int64_t start = g_get_monotonic_time();
    bool polled;

    do {
        act(p);
        polled = polled_at(p, event);
        if (polled) {
            check_sleeps(p);
        }
        guest_free(p->q->alloc, p->q->buf);
        destroy_peers(p);
        renew(p);
    } while (!polled && !too_busy(start, logged(p, BEGUN), logged(p, PAUSED)));
    if (polled) {
        send_until(p, BEGUN, &p->x, &p->y);
    }
    send_one(p);
    check_sleeps(p);
}

static void reset(Polling *p)
{
    uint8_t at = qpci_find_capability(&p->q->dev, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL;

    stay_awake(p);
    post_work(p);
    qpci_config_writew(&p->q->dev, at, PCI_EXP_DEVCTL_BCR_FLR);
}

/* The driver comes back, and the thread polls again. */
WORLD_KINDS("/ernic-polling/reset", test_reset, Polling, p, polling_open, LINKS)
{
    end_polling(p, reset, connect_first, "ernic_pci_reset ernic0");
}

static void unplug(Polling *p)
{
    g_free(qtest_hmp(p->m->qts, "device_del ernic0"));
    stay_awake(p);
    post_work(p);
    qtest_outl(p->m->qts, 0xae08, 1 << 4);      /* the guest ejects the slot */
    qtest_qmp_eventwait(p->m->qts, "DEVICE_DELETED");
    forget(p);
}

static void plug(Polling *p)
{
    g_autofree char *reply = qtest_hmp(p->m->qts, "device_add ernic,interface=verbs,"
                                       "id=ernic0,addr=04.0%s", p->options);

    g_assert_cmpstr(reply, ==, "");
    introduce(p);
    connect_first(p);
}

WORLD_KINDS("/ernic-polling/unplug", test_unplug, Polling, p, polling_open, LINKS)
{
    end_polling(p, unplug, plug, "ernic_pci_life ernic0 working -> gone");
}
