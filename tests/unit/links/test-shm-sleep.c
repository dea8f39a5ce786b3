/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link: ports that sleep until they are woken.
 */
#include "qemu/osdep.h"
#include <sys/socket.h>
#include "links/shm/ring.h"
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

static void pass_many(Lab *l, uint32_t from, uint32_t to, int num)
{
    ErnicTrain t = lab_train(l, from, to, data, 100, 100);

    for (int i = 0; i < num; i++) {
        pass(l, from, to, &t);
    }
}

/* The ring of a peer that is silent for long asks for a message, while others send. */
LAB_TEST("/shm-sleep/silent", 3, test_silent)
{
    ErnicTrain seldom = lab_train(l, 2, 0, data, 100, 100), newcomer;

    pass_many(l, 1, 0, ERNIC_SHM_SILENT);
    pass(l, 2, 0, &seldom);
    IS(stats(l, 2)->bells, 0);

    /* It is looked at, and falls asleep, before the last of them. */
    pass_many(l, 1, 0, ERNIC_SHM_SILENT + 1);
    g_assert_false(fd_ready(ernic_shm_fd(l->port[0])));
    for (int i = 0; i < 3; i++) {
        send_train(l, 2, &seldom);
        IS(stats(l, 2)->bells, 1);
        if (i == 0) {
            g_assert_false(ernic_shm_ready(l->port[0]));
            expect_none(l, 0);
            ernic_shm_serve(l->port[0]);
        }
        expect(l, 0, &seldom);
    }
    IS(stats(l, 1)->bells, 0);

    /* It has been silent for no train. */
    lab_join(l, 3, false);
    newcomer = lab_train(l, 3, 0, data, 100, 100);
    expect_none(l, 0);
    pass(l, 3, 0, &newcomer);
    IS(stats(l, 3)->bells, 0);
}

/* A message that there is room wakes the ring of its sender, too. */
LAB_TEST("/shm-sleep/room", 2, test_room)
{
    static const uint8_t full[4000];
    ErnicTrain t = lab_train(l, 0, 1, full, sizeof(full), sizeof(full)), got;

    while (ernic_shm_send(l->port[0], &t)) {
    }
    g_assert_true(ernic_shm_sleep(l->port[0]));
    while (ernic_shm_recv(l->port[1], &got)) {
    }
    IS(stats(l, 1)->bells, 1);
    ernic_shm_serve(l->port[0]);
    g_assert_false(ernic_shm_is_asleep(l->port[0]));
    pass_many(l, 1, 0, 1);
    IS(stats(l, 1)->bells, 1);
}

/* Each has a turn before one has its second, whoever was the last one. */
LAB_TEST("/shm-sleep/turns", 4, test_turns)
{
    ErnicTrain t[] = {
        lab_train(l, 1, 0, data, 100, 100), lab_train(l, 2, 0, data, 100, 100),
        lab_train(l, 3, 0, data, 100, 100),
    };

    for (int last = 0; last < 3; last++) {
        pass(l, 1 + last, 0, &t[last]);
        for (int i = 0; i < 12; i++) {
            send_train(l, 1 + i % 3, &t[i % 3]);
        }
        for (int i = 1; i <= 12; i++) {
            expect(l, 0, &t[(last + i) % 3]);
        }
        expect_none(l, 0);
    }
}

static Lab *late;               /* whose member 2 sends when a ring falls asleep */

bool __real_ernic_shm_ring_sleep(ErnicShmRing *r);
bool __wrap_ernic_shm_ring_sleep(ErnicShmRing *r);

bool __wrap_ernic_shm_ring_sleep(ErnicShmRing *r)
{
    Lab *l = g_steal_pointer(&late);

    if (l) {
        ErnicTrain t = lab_train(l, 2, 0, data, 100, 100);

        send_train(l, 2, &t);
    }
    return __real_ernic_shm_ring_sleep(r);
}

/* A train that arrives while its ring falls asleep is received. */
LAB_TEST("/shm-sleep/late", 3, test_late)
{
    ErnicTrain t = lab_train(l, 2, 0, data, 100, 100);

    pass_many(l, 1, 0, ERNIC_SHM_SILENT);
    late = l;
    expect(l, 0, &t);
    g_assert_null(late);
    IS(stats(l, 2)->bells, 0);
    expect_none(l, 0);

    /* A port that falls asleep does not. */
    late = l;
    g_assert_false(ernic_shm_sleep(l->port[0]));
    IS(stats(l, 2)->bells, 0);
    expect(l, 0, &t);
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

/* ---- two threads ---------------------------------------------------------------- */

#define TRAINS  100000

typedef struct End {
    ErnicShm *shm;
    ErnicTrain train;
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
    static uint8_t bytes[4000];
    End *end = opaque;
    const uint64_t *stalled = &ernic_shm_stats(end->shm)->drop[ERNIC_SHM_DROP_STALLED];
    uint64_t before;

    for (uint32_t i = 0; i < TRAINS; i++) {
        memcpy(bytes, &i, sizeof(i));
        end->train.data = bytes;
        end->train.len = end->train.seg = 4 + i % (sizeof(bytes) - 4);
        /* The reader of a busy host may rest for so long that the port drops trains. */
        do {
            before = *stalled;
            send_one(end);
        } while (*stalled != before);
        if (i % 512 == 0) {
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
    End end = (End) { .shm = l->port[0], .train = lab_train(l, 0, 1, data, 4, 4) };
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
