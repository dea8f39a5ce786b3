/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's thread polls before it sleeps, if events come soon after each other, and
 * not for long. The rules of it are in ernic-polling-unit.c.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "ernic-card.h"

#define SECONDS 120
#define PATIENCE 5                /* seconds, too */
#define POLLS   ",engine-thread=on,engine-poll-us=1000"
#define SHARED  ",iothread=io0,engine-poll-us=1000"

/* Two functions of one machine, which are connected by a link. */
typedef struct Polling {
    char *folder;
    QErnicMachine *m;
    QErnic *q;
    QErnicQp x, y, self;
    const char *log;
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

/* @more: the thread and the link of both functions. */
static void polling_open(Polling *p, const char *more)
{
    bool shm = strstr(more, "roce-shm=");
    g_autofree char *folder = g_dir_make_tmp("ernic-poll-XXXXXX", NULL);
    g_autofree char *link = g_strconcat(more, shm ? folder : ",roce-udp=127.0.0.1:0",
                                        NULL);
    QErnic *b;

    *p = (Polling) { .folder = g_steal_pointer(&folder) };
    p->m = qernic_machine(" -object iothread,id=io0"
                          VERBS_NIC ",id=ernic0,addr=04.0%s"
                          VERBS_NIC ",id=ernic1,addr=05.0%s", link, link);
    p->log = qernic_log(p->m->qts, "ernic_pci_*poll*");
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_pci_reset on"));
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_pci_life on"));
    g_free(qtest_hmp(p->m->qts, "trace-event ernic_db_polled on"));
    p->q = qernic_host(p->m, "ernic0", 4, 1);
    b = qernic_host(p->m, "ernic1", 5, 2);
    if (shm) {
        qernic_wait_while(p->m->qts, qernic_stat(b, "shm.peers") != 1);
    } else {
        card_introduce(p->q);
    }
    qernic_pair(p->q, b, &p->x, &p->y, ERNIC_QPT_RC);
    qernic_self(p->q, &p->self, ERNIC_QPT_RC);
}

static void polling_close(Polling *p)
{
    qernic_machine_end(p->m);
    g_assert_cmpint(g_rmdir(p->folder), ==, 0);
    g_free(p->folder);
}

/* Work for some milliseconds. */
static void post_work(Polling *p)
{
    for (int i = 0; i < QERNIC_DEPTH - 1; i++) {
        qernic_post_write(&p->self, 0, QERNIC_BUF / 2, p->q->buf + QERNIC_BUF / 2,
                          p->q->key);
    }
}

static void finish_work(Polling *p)
{
    for (int i = 0; i < QERNIC_DEPTH - 1; i++) {
        qernic_done(&p->self);
    }
}

/* A driver of queues with records rings if the record asks for it. */
static void message(QErnicQp *x, QErnicQp *y, uint32_t len)
{
    qernic_post_recv(y, 0x1000, len);
    qernic_send(x, 0, len);
    qernic_done(y);
    qernic_done(x);
}

static void send_one(Polling *p)
{
    message(&p->x, &p->y, 0x8000);
}

/*
 * Whether to skip the test, which has tried since @start: of @begun times polling paused
 * half, because the processors are busy.
 */
static bool too_busy(int64_t start, uint32_t begun, uint32_t pauses)
{
    int64_t tried = g_get_monotonic_time() - start;

    g_assert_cmpint(tried, <, SECONDS * G_TIME_SPAN_SECOND);
    if (tried < PATIENCE * G_TIME_SPAN_SECOND || !pauses || 2 * pauses < begun) {
        return false;
    }
    g_test_skip("the processors are busy: polling pauses");
    return true;
}

/*
 * Sends by these queue pairs until the log has more lines with @text than now. A thread
 * that works does not wait meanwhile. False: the test is skipped.
 */
static bool send_until(Polling *p, const char *text, QErnicQp *x, QErnicQp *y)
{
    int64_t start = g_get_monotonic_time();
    uint32_t n = logged(p, text), begun = logged(p, BEGUN), pauses = logged(p, PAUSED);

    while (logged(p, text) == n) {
        if (too_busy(start, logged(p, BEGUN) - begun, logged(p, PAUSED) - pauses)) {
            return false;
        }
        post_work(p);
        for (int i = 0; i < 4; i++) {
            message(x, y, 64);
        }
        finish_work(p);
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
WORLD_KINDS("/ernic-polling/memory", test_memory, Polling, p, polling_open,
            { "", POLLS ",roce-shm=" }, { "-iothread", SHARED ",roce-shm=" })
{
    for (int i = 0; i < 3; i++) {
        if (!send_until(p, FOUND, &p->x, &p->y)) {
            break;
        }
        check_sleeps(p);
    }
    polling_close(p);
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
    polling_close(p);
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

    qernic_qp_record(p->q, &x, ERNIC_QPT_RC);
    qernic_qp_record(p->q, &y, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &y);
    qernic_qp_connect(&y, &x);
    send_until(p, POLLED, &x, &y);
    check_sleeps(p);
    g_assert_cmpuint(qernic_wake(p->q, x.sq_record), ==, x.sq_pi);
    polling_close(p);
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
    polling_close(p);
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
        post_work(p);
        qernic_post_recv(&p->y, 0x1000, 64);
        qernic_send(&p->x, 0, 64);
        qernic_stop(p->m->qts);
        qernic_cont(p->m->qts);
        qernic_done(&p->y);
        qernic_done(&p->x);
        finish_work(p);
    } while (!polled_at(p, "ernic_pci_life ernic0 working -> stopped") &&
             !too_busy(start, logged(p, BEGUN), logged(p, PAUSED)));
    send_one(p);
    check_sleeps(p);
    polling_close(p);
}

/* Machines whose thread works; each ends with @event, until one of them polled then. */
static void end_polling(const char *more, void (*act)(Polling *), const char *event)
{
    int64_t start = g_get_monotonic_time();
    uint32_t begun = 0, pauses = 0;
    bool polled;
    Polling p;

    do {
        polling_open(&p, more);
        post_work(&p);
        act(&p);
        polled = polled_at(&p, event);
        begun += logged(&p, BEGUN);
        pauses += logged(&p, PAUSED);
        polling_close(&p);
    } while (!polled && !too_busy(start, begun, pauses));
}

/* The driver comes back, and the thread polls again. */
static void reset(Polling *p)
{
    qernic_flr(&p->q->dev);
    check_sleeps(p);
    qernic_init(p->q, "ernic0", p->m->bus, QPCI_DEVFN(4, 0), &p->m->alloc);
    qernic_setup(p->q, 1);
    qernic_pair(p->q, p->y.q, &p->x, &p->y, ERNIC_QPT_RC);
    qernic_self(p->q, &p->self, ERNIC_QPT_RC);
    send_until(p, BEGUN, &p->x, &p->y);
}

MACHINE_KINDS("/ernic-polling/reset", test_reset, LINKS)
{
    end_polling(more, reset, "ernic_pci_reset ernic0");
}

static void unplug(Polling *p)
{
    g_free(qtest_hmp(p->m->qts, "device_del ernic0"));
    qtest_outl(p->m->qts, 0xae08, 1 << 4);      /* the guest ejects the slot */
    qtest_qmp_eventwait(p->m->qts, "DEVICE_DELETED");
}

MACHINE_KINDS("/ernic-polling/unplug", test_unplug, LINKS)
{
    end_polling(more, unplug, "ernic_pci_life ernic0 working -> gone");
}
