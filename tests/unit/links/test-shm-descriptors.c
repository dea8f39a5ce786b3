/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link and the descriptors of its peers: their closing may take long,
 * and each is one of the process.
 */
#include "qemu/osdep.h"
#include <netinet/in.h>
#include <sys/resource.h>
#include "shm_stranger.h"

/* A descriptor whose closing waits: a socket that lingers with data that nobody reads. */
static int lingering(int *reader)
{
    struct linger linger = { 1, 2 };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t len = sizeof(sa);
    int server = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    IS(bind(server, (void *)&sa, sizeof(sa)), 0);
    IS(listen(server, 1), 0);
    IS(getsockname(server, (void *)&sa, &len), 0);
    IS(connect(fd, (void *)&sa, sizeof(sa)), 0);
    *reader = accept(server, NULL, NULL);
    close(server);
    IS(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0) {
    }
    return fd;
}

/* It comes as the memory, with a further message, or to a port that leaves. */
TEST("/shm-descriptors/slow-close", test_slow_close)
{
    uint8_t hello[HELLO_BYTES];
    uint32_t bytes = overhear(hello);
    int reader;
    gint64 start;
    Lab l;

    for (int row = 0; row < 3; row++) {
        int fd = lingering(&reader), good = memory(bytes, GOOD), s;

        lab_open(&l, 1);
        s = dial(&l);
        if (row == 1) {
            say(s, hello, sizeof(hello), &good, 1);
        }
        say(s, hello, sizeof(hello), &fd, 1);
        close(fd);
        start = g_get_monotonic_time();
        if (row < 2) {
            lab_serve(&l);
            IS(l.events[0][row ? ERNIC_SHM_PEER_BROKEN : ERNIC_SHM_PEER_REFUSED], 1);
        }
        lab_close(&l);
        g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC);
        g_assert_cmpuint(ernic_shm_closing(NULL), >, 0);
        close(good);
        close(s);
        close(reader);
        open_fds();
    }
}

/* More of them than the process has descriptors for: the kernel closes the others. */
LAB_TEST("/shm-descriptors/many", 1, test_many_descriptors)
{
    int fds[MAX_FDS], reader, s = dial(l), free_fd;
    struct rlimit old, few;
    uint8_t hello[HELLO_BYTES];
    gint64 start;

    overhear(hello);
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        fds[i] = i == MAX_FDS - 1 ? lingering(&reader) : dup(0);
    }
    say(s, hello, sizeof(hello), fds, MAX_FDS);
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        close(fds[i]);
    }
    IS(getrlimit(RLIMIT_NOFILE, &old), 0);
    free_fd = dup(0);
    close(free_fd);
    few = (struct rlimit) { free_fd + 16, old.rlim_max };
    IS(setrlimit(RLIMIT_NOFILE, &few), 0);
    start = g_get_monotonic_time();
    ernic_shm_serve(l->port[0]);
    ernic_shm_serve(l->port[0]);
    g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC);
    IS(setrlimit(RLIMIT_NOFILE, &old), 0);
    IS(stats(l, 0)->refused, 1);
    close(s);
    close(reader);
    open_fds();
    assert_works(l);
}

/* A peer that is up sends many while others wait to be closed: it adds none. */
TEST("/shm-descriptors/no-more", test_no_more_descriptors)
{
    int fds[MAX_FDS], reader, ends[2], good;
    uint8_t hello[HELLO_BYTES];
    ErnicShmPair *p;

    good = memory(overhear(hello), GOOD);
    IS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    p = ernic_shm_pair_accept(ends[0], test_closer(), &plain);
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        fds[i] = dup(0);
    }
    say(ends[1], hello, sizeof(hello), &good, 1);
    say(ends[1], hello, sizeof(hello), fds, MAX_FDS);
    IS(ernic_shm_pair_handshake(p), ERNIC_SHM_UP);
    ernic_shm_close(test_closer(), lingering(&reader));
    IS(ernic_shm_pair_receive(p), ERNIC_SHM_REFUSED);
    g_assert_cmpuint(ernic_shm_closing(NULL), <, MAX_FDS);
    ernic_shm_pair_free(p);
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        close(fds[i]);
    }
    close(good);
    close(ends[1]);
    close(reader);
    open_fds();
}

/* A peer of one port has it close many descriptors; a port elsewhere has newcomers. */
TEST("/shm-descriptors/slow-close-elsewhere", test_slow_close_elsewhere)
{
    uint8_t hello[HELLO_BYTES];
    int fds[MAX_FDS], reader, good = memory(overhear(hello), GOOD), s;
    ErnicShmConfig cfg = { 0 };
    ErnicShm *pair[2];
    char *err = NULL;
    Lab slow, other;

    lab_open(&slow, 1);
    lab_open(&other, 0);
    cfg.folder = other.folder;
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        fds[i] = i == 0 ? lingering(&reader) : dup(0);
    }
    s = dial(&slow);
    say(s, hello, sizeof(hello), &good, 1);
    say(s, hello, sizeof(hello), fds, MAX_FDS);
    for (uint32_t i = 0; i < MAX_FDS; i++) {
        close(fds[i]);
    }
    ernic_shm_serve(slow.port[0]);
    open_fds();
    ernic_shm_serve(slow.port[0]);
    g_assert_cmpuint(ernic_shm_closing(NULL), >, 64);
    for (uint32_t i = 0; i < 2; i++) {
        pair[i] = ernic_shm_new(&cfg, &err);
        g_assert_cmpstr(err, ==, NULL);
    }
    for (uint32_t i = 0; i < 8; i++) {
        ernic_shm_serve(pair[i % 2]);
    }
    g_assert_cmpuint(ernic_shm_closing(NULL), >, 64);
    IS(ernic_shm_stats(pair[0])->peers, 1);
    IS(ernic_shm_stats(pair[1])->peers, 1);
    ernic_shm_free(pair[0]);
    ernic_shm_free(pair[1]);
    lab_close(&slow);
    lab_close(&other);
    close(good);
    close(s);
    close(reader);
    open_fds();
}

/* A process without descriptors for newcomers neither loses them nor spins. */
LAB_TEST("/shm-descriptors/none", 1, test_no_descriptors)
{
    struct rlimit old, few;
    int fd = dial(l), more[8], i;

    IS(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (i = 0; i < ARRAY_SIZE(more); i++) {
        more[i] = dup(0);
    }
    few = (struct rlimit) { more[i - 1] + 1, old.rlim_max };
    IS(setrlimit(RLIMIT_NOFILE, &few), 0);
    g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
    ernic_shm_serve(l->port[0]);
    g_assert_false(fd_ready(ernic_shm_fd(l->port[0])));
    IS(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (i = 0; i < ARRAY_SIZE(more); i++) {
        close(more[i]);
    }
    while (!fd_ready(ernic_shm_fd(l->port[0]))) {
        g_usleep(1000);
    }
    lab_serve(l);
    close(fd);
    lab_serve(l);
    IS(l->events[0][ERNIC_SHM_PEER_GONE], 1);
    assert_works(l);
}
