/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link: ports that sleep until they are woken.
 */
#include "qemu/osdep.h"
#include <sys/socket.h>
#include "shm_fixture.h"

static uint8_t data[100];

LAB_TEST("/shm-sleep/sleep", 3, test_sleep)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 100, 100);

    /* A port that does not sleep is not woken. */
    send_train(l, 0, &t);
    g_assert_false(fd_ready(ernic_shm_fd(l->port[1])));
    g_assert_false(ernic_shm_sleep(l->port[1]));
    expect(l, 1, &t);
    for (int i = 0; i < 3; i++) {
        g_assert_true(ernic_shm_sleep(l->port[1]));
        g_assert_false(fd_ready(ernic_shm_fd(l->port[1])));
        send_train(l, 0, &t);
        send_train(l, 0, &t);
        g_assert_true(fd_ready(ernic_shm_fd(l->port[1])));
        IS(stats(l, 0)->bells, i + 1);
        ernic_shm_serve(l->port[1]);
        g_assert_false(fd_ready(ernic_shm_fd(l->port[1])));
        expect(l, 1, &t);
        expect(l, 1, &t);
        expect_none(l, 1);
    }
}

/* A port that polls looks at memory, and is not woken after its first train. */
LAB_TEST("/shm-sleep/polls", 2, test_polls)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 100, 100);

    g_assert_true(ernic_shm_sleep(l->port[1]));
    g_assert_true(ernic_shm_is_asleep(l->port[1]));
    for (int i = 0; i < 3; i++) {
        g_assert_false(ernic_shm_ready(l->port[1]));
        send_train(l, 0, &t);
        IS(fd_ready(ernic_shm_fd(l->port[1])), i == 0);
        if (i == 0) {
            ernic_shm_serve(l->port[1]);
        }
        g_assert_true(ernic_shm_ready(l->port[1]));
        expect(l, 1, &t);
        g_assert_false(ernic_shm_is_asleep(l->port[1]));
        IS(stats(l, 0)->bells, 1);
    }
    /* The peer of a connection that has ended has nothing. */
    send_train(l, 0, &t);
    lab_leave(l, 0);
    ernic_shm_serve(l->port[1]);
    g_assert_false(ernic_shm_ready(l->port[1]));
}

/* Each of several peers wakes a sleeping port, and goes before it has slept again. */
LAB_TEST("/shm-sleep/several", 3, test_several)
{
    ErnicTrain t[] = {
        lab_train(l, 1, 0, data, 100, 100), lab_train(l, 2, 0, data, 100, 100),
    };

    for (int i = 0; i < 4; i++) {
        g_assert_true(ernic_shm_sleep(l->port[0]));
        send_train(l, 1 + i % 2, &t[i % 2]);
        g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
        ernic_shm_serve(l->port[0]);
        expect(l, 0, &t[i % 2]);
        IS(stats(l, 1)->bells + stats(l, 2)->bells, i + 1);
    }
    lab_leave(l, 2);
    g_assert_true(ernic_shm_sleep(l->port[0]));
    send_train(l, 1, &t[0]);
    g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
}

/* A port does not look at the rings of peers that have yet to send their message. */
LAB_TEST("/shm-sleep/announced", 3, test_announced)
{
    ErnicTrain t[] = {
        lab_train(l, 1, 0, data, 100, 100), lab_train(l, 2, 0, data, 100, 100),
    };

    g_assert_true(ernic_shm_sleep(l->port[0]));
    send_train(l, 1, &t[0]);
    ernic_shm_serve(l->port[0]);
    send_train(l, 2, &t[1]);
    expect(l, 0, &t[0]);
    g_assert_false(ernic_shm_ready(l->port[0]));
    expect_none(l, 0);
    ernic_shm_serve(l->port[0]);
    g_assert_true(ernic_shm_ready(l->port[0]));
    expect(l, 0, &t[1]);
}

/* The ring of a peer that is silent for long asks for a message, while others send. */
LAB_TEST("/shm-sleep/silent", 4, test_silent)
{
    ErnicTrain often = lab_train(l, 1, 0, data, 100, 100);
    ErnicTrain seldom = lab_train(l, 2, 0, data, 100, 100);
    ErnicTrain never = lab_train(l, 3, 0, data, 100, 100);

    for (int i = 0; i < 1000; i++) {
        pass(l, 1, 0, &often);
        if (i % 16 == 0) {
            pass(l, 2, 0, &seldom);
        }
    }
    IS(stats(l, 1)->bells, 0);
    IS(stats(l, 2)->bells, 0);
    g_assert_false(fd_ready(ernic_shm_fd(l->port[0])));
    send_train(l, 3, &never);
    IS(stats(l, 3)->bells, 1);
    ernic_shm_serve(l->port[0]);
    expect(l, 0, &never);
}

/* A sleeping port hears of a peer that came meanwhile. */
LAB_TEST("/shm-sleep/sleep-newcomer", 1, test_sleep_newcomer)
{
    ErnicTrain t;

    g_assert_true(ernic_shm_sleep(l->port[0]));
    lab_join(l, 1, false);
    t = lab_train(l, 1, 0, data, 100, 100);
    g_assert_true(ernic_shm_sleep(l->port[0]));
    send_train(l, 1, &t);
    g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
    ernic_shm_serve(l->port[0]);
    expect(l, 0, &t);
}

/* ---- no memory for a wake-up ------------------------------------------------------ */

static int refuse_sends;        /* an errno */

ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
    if (refuse_sends) {
        errno = refuse_sends;
        return -1;
    }
    return __real_send(fd, buf, len, flags);
}

LAB_TEST("/shm-sleep/no-wake-up", 2, test_no_wake_up)
{
    static const int errors[] = { ENOMEM, ENOBUFS };
    ErnicTrain t = lab_train(l, 0, 1, data, 100, 100);

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        g_assert_true(ernic_shm_sleep(l->port[1]));
        refuse_sends = errors[i];
        send_train(l, 0, &t);
        g_assert_false(fd_ready(ernic_shm_fd(l->port[1])));
        refuse_sends = 0;
        while (!fd_ready(ernic_shm_fd(l->port[0]))) {
            g_usleep(100);
        }
        ernic_shm_serve(l->port[0]);
        g_assert_true(fd_ready(ernic_shm_fd(l->port[1])));
        ernic_shm_serve(l->port[1]);
        expect(l, 1, &t);
    }
}

/* ---- threads -------------------------------------------------------------------- */

#define TRAINS  100000
#define SELDOM  2000

typedef struct End {
    ErnicShm *shm;
    ErnicTrain train;
    uint32_t num, burst;        /* of trains */
    uint32_t slept;
} End;

static void wait_for_fd(ErnicShm *shm)
{
    struct pollfd p = { .fd = ernic_shm_fd(shm), .events = POLLIN };

    /* Nothing but a lost wake-up lasts that long. */
    IS(poll(&p, 1, 30000), 1);
    ernic_shm_serve(shm);
}

static void send_one(End *end)
{
    while (!ernic_shm_send(end->shm, &end->train)) {
        wait_for_fd(end->shm);
        end->slept++;
    }
}

static gpointer send_all(gpointer opaque)
{
    uint8_t bytes[4000] = { 0 };
    End *end = opaque;
    const uint64_t *stalled = &ernic_shm_stats(end->shm)->drop[ERNIC_SHM_DROP_STALLED];
    uint64_t before;

    for (uint32_t i = 0; i < end->num; i++) {
        memcpy(bytes, &i, sizeof(i));
        end->train.data = bytes;
        end->train.len = end->train.seg = 4 + i % (sizeof(bytes) - 4);
        /* The reader of a busy host may rest for so long that the port drops trains. */
        do {
            before = *stalled;
            send_one(end);
        } while (*stalled != before);
        if (i % end->burst == 0) {
            g_usleep(i % 300);          /* so that the reader sleeps */
        }
    }
    return NULL;
}

/* Both sides sleep again and again: neither a train nor a wake-up is lost unseen. */
LAB_TEST("/shm-sleep/threads", 2, test_threads)
{
    uint32_t value, slept = 0;
    ErnicTrain got;
    End end = { l->port[0], lab_train(l, 0, 1, data, 4, 4), TRAINS, 512 };
    GThread *thread = g_thread_new("send", send_all, &end);

    for (uint32_t i = 0; i < TRAINS; i++) {
        while (!ernic_shm_recv(l->port[1], &got)) {
            if (ernic_shm_sleep(l->port[1])) {
                wait_for_fd(l->port[1]);
                slept++;
            }
        }
        memcpy(&value, got.data, sizeof(value));
        IS(value, i);
        IS(got.len, 4 + i % 3996);
        if (i % 700 == 0) {
            g_usleep(i % 500);          /* so that the writer has no room */
        }
    }
    g_thread_join(thread);
    g_assert_cmpuint(slept, >, 10);
    g_test_message("the reader slept %u times, the writer %u times", slept, end.slept);
    for (uint32_t i = 0; i < ERNIC_SHM_DROP_COUNT; i++) {
        if (i != ERNIC_SHM_DROP_STALLED) {
            IS(drops(l, 0, i), 0);
        }
    }
}

/* A reader that never sleeps misses no train of a peer whose ring falls asleep. */
LAB_TEST("/shm-sleep/threads-silent", 3, test_threads_silent)
{
    End end[] = {
        { l->port[0], lab_train(l, 0, 1, data, 4, 4), TRAINS, 512 },
        { l->port[2], lab_train(l, 2, 1, data, 4, 4), SELDOM, 1 },
    };
    GThread *thread[ARRAY_SIZE(end)];
    gint64 heard = g_get_monotonic_time();
    uint32_t value, next[ARRAY_SIZE(end)] = { 0 };
    ErnicTrain got;

    for (size_t i = 0; i < ARRAY_SIZE(end); i++) {
        thread[i] = g_thread_new("send", send_all, &end[i]);
    }
    while (next[0] < TRAINS || next[1] < SELDOM) {
        if (ernic_shm_recv(l->port[1], &got)) {
            memcpy(&value, got.data, sizeof(value));
            IS(value, next[memcmp(&got.path.sgid, &l->gid[2], sizeof(ErnicGid)) == 0]++);
            heard = g_get_monotonic_time();
        } else {
            ernic_shm_serve(l->port[1]);
            g_assert_cmpint(g_get_monotonic_time() - heard, <, 30 * G_USEC_PER_SEC);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(end); i++) {
        g_thread_join(thread[i]);
    }
    g_assert_cmpuint(stats(l, 2)->bells, >, 0);
    g_test_message("%" PRIu64 " of %u trains woke the reader", stats(l, 2)->bells,
                   SELDOM);
}
