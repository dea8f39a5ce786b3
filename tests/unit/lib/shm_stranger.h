/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of the shared-memory link with a peer that a test writes by hand:
 * its socket, its memory and what it says.
 */
#ifndef SHM_STRANGER_H
#define SHM_STRANGER_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "links/shm/pair.h"
#include "shm_fixture.h"

#define HELLO_BYTES     20
#define PUNCH           (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define GOOD            (F_SEAL_SHRINK | F_SEAL_GROW)
#define MAX_FDS         80      /* more than may wait for a port to close them */

static uint8_t data[ERNIC_SHM_TRAIN_BYTES];

/* A port without properties. */
static const ErnicShmConfig plain;

/* A socket that is connected to the only port of @l. */
static inline int dial(const Lab *l)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    GDir *dir = g_dir_open(l->folder, 0, NULL);

    g_snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", l->folder,
               g_dir_read_name(dir));
    g_dir_close(dir);
    IS(connect(fd, (void *)&sa, sizeof(sa)), 0);
    return fd;
}

/* The port works with a peer that keeps to the rules. */
static inline void assert_works(Lab *l)
{
    ErnicTrain t, got;

    lab_join(l, 1, false);
    t = lab_train(l, 1, 0, data, 100, 100);
    send_train(l, 1, &t);
    g_assert_true(ernic_shm_recv(l->port[0], &got));
    g_assert_cmpmem(got.data, got.len, data, 100);
    lab_leave(l, 1);
}

static inline void say(int fd, const void *buf, size_t len, const int *fds,
                       uint32_t num_fds)
{
    union {
        char buf[CMSG_SPACE(MAX_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = { 0 };
    struct iovec iov = { (void *)buf, len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *cmsg;

    if (num_fds) {
        msg.msg_control = control.buf;
        msg.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(num_fds * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fds, num_fds * sizeof(int));
    }
    IS(sendmsg(fd, &msg, MSG_NOSIGNAL), len);
}

/* The hello of a good peer and its memory's size, overheard. */
static inline uint32_t overhear(uint8_t hello[HELLO_BYTES])
{
    ErnicShmPair *p;
    int fds[2];
    uint32_t bytes;

    IS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    p = ernic_shm_pair_call(fds[0], test_closer(), &plain);
    IS(recv(fds[1], hello, HELLO_BYTES, 0), HELLO_BYTES);
    memcpy(&bytes, hello + 8, sizeof(bytes));
    ernic_shm_pair_free(p);
    close(fds[1]);
    return bytes;
}

/* Memory with all its pages, but for @hole. */
static inline int memory_with(uint32_t bytes, int seals, bool hole)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    IS(ftruncate(fd, bytes), 0);
    IS(posix_fallocate(fd, 0, MAX(bytes, 1)), 0);
    IS(ftruncate(fd, bytes), 0);
    if (hole) {
        IS(fallocate(fd, PUNCH, bytes / 2 & ~4095u, 4096), 0);
    }
    IS(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static inline int memory(uint32_t bytes, int seals)
{
    return memory_with(bytes, seals, false);
}

static inline uint32_t open_fds(void)
{
    GDir *dir;
    uint32_t n = 0;

    while (ernic_shm_closing(NULL)) {
        g_usleep(100);
    }
    dir = g_dir_open("/proc/self/fd", 0, NULL);
    while (g_dir_read_name(dir)) {
        n++;
    }
    g_dir_close(dir);
    return n;
}

#endif /* SHM_STRANGER_H */
