/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The connection of two ports of the shared-memory link. The memory is sealed, so that
 * the peer cannot make it smaller, and every value in it is checked when it is used.
 */
#include "qemu/osdep.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "links/shm_pair.h"

#define MAGIC           0x53636972      /* "ricS" */
#define VERSION         1
#define SEALS           (F_SEAL_SHRINK | F_SEAL_GROW)
/* Messages that one call reads; a peer may send any number of them. */
#define MESSAGES        8

/* In shared memory. */
typedef struct Addresses {
    uint32_t version, num;
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
} QEMU_ALIGNED(4096) Addresses;

/* Element 0 is of the port that has connected: it writes there. */
struct ErnicShmMap {
    ErnicShmWords words[2] QEMU_ALIGNED(4096);
    Addresses addresses[2];
    uint8_t data[2][ERNIC_SHM_RING_BYTES];
};

/* The first message in each direction; the caller's comes with the memory. */
typedef struct Hello {
    uint32_t magic, version, map_bytes, icrc;
} Hello;

static Hello own_hello(const ErnicShmPair *p)
{
    return (Hello) {
        .magic = MAGIC, .version = VERSION, .map_bytes = sizeof(ErnicShmMap),
        .icrc = p->icrc,
    };
}

/* ---- the memory ------------------------------------------------------------ */

static int make_memory(void)
{
    int fd = memfd_create("ernic-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 && (ftruncate(fd, sizeof(ErnicShmMap)) < 0 ||
                    fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/*
 * Memory of a peer: its size cannot change, and a page that is missing is made, and not
 * an error as in a file of huge pages.
 */
static bool is_sound(int fd)
{
    struct statfs fs;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 &&
           st.st_size == sizeof(ErnicShmMap) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == TMPFS_MAGIC;
}

static bool map_memory(ErnicShmPair *p, int fd)
{
    int out = !p->caller;
    void *map = mmap(NULL, sizeof(ErnicShmMap), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     0);

    if (map == MAP_FAILED) {
        return false;
    }
    p->map = map;
    p->tx = (ErnicShmRing) { .words = &p->map->words[out], .data = p->map->data[out] };
    p->rx = (ErnicShmRing) { .words = &p->map->words[!out],
                             .data = p->map->data[!out] };
    return true;
}

/* ---- the first messages ---------------------------------------------------- */

typedef union Control {
    char buf[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
} Control;

static bool send_hello(ErnicShmPair *p, int memory)
{
    Hello hello = own_hello(p);
    struct iovec iov = { &hello, sizeof(hello) };
    Control control = { 0 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *cmsg;

    if (memory >= 0) {
        msg.msg_control = control.buf;
        msg.msg_controllen = sizeof(control.buf);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &memory, sizeof(int));
    }
    return sendmsg(p->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(hello);
}

/* Returns the bytes received; *@memory: a descriptor, which the caller owns, or -1. */
static ssize_t receive_hello(ErnicShmPair *p, Hello *hello, int *memory)
{
    struct iovec iov = { hello, sizeof(*hello) };
    Control control;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        /* Not CMSG_SPACE(), which has room for a second descriptor. */
        .msg_control = control.buf, .msg_controllen = CMSG_LEN(sizeof(int)),
    };
    struct cmsghdr *cmsg;
    ssize_t n = recvmsg(p->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *memory = -1;
    if (n < 0) {
        return n;
    }
    cmsg = CMSG_FIRSTHDR(&msg);
    if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
        cmsg->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(memory, CMSG_DATA(cmsg), sizeof(int));
    }
    return n;
}

/* The memory of the peer, if it connected to us. */
static bool take_memory(ErnicShmPair *p, int memory)
{
    return p->caller ? memory < 0
                     : memory >= 0 && is_sound(memory) && map_memory(p, memory);
}

ErnicShmGreeting ernic_shm_pair_greet(ErnicShmPair *p)
{
    Hello hello, own = own_hello(p);
    ssize_t n;
    int memory;

    n = receive_hello(p, &hello, &memory);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? ERNIC_SHM_WAIT : ERNIC_SHM_GONE;
    }
    p->up = n == sizeof(hello) && memcmp(&hello, &own, sizeof(own)) == 0 &&
            take_memory(p, memory);
    if (memory >= 0) {
        close(memory);
    }
    if (n == 0) {
        return ERNIC_SHM_GONE;
    }
    /* Also if we refuse: the caller then sees why. */
    if (!p->caller && !send_hello(p, -1)) {
        p->up = false;
        return ERNIC_SHM_GONE;
    }
    return p->up ? ERNIC_SHM_UP : ERNIC_SHM_REFUSED;
}

/* ---- the bell -------------------------------------------------------------- */

bool ernic_shm_pair_hear(ErnicShmPair *p)
{
    uint8_t buf[8];
    ssize_t n;
    int i;

    for (i = 0; i < MESSAGES; i++) {
        n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        if (n < 0) {
            break;
        }
    }
    return true;
}

/*
 * A socket of our own does not block. An eventfd of the peer could: with a count just
 * below its limit. If the socket is full, the peer has messages to wake up for.
 */
void ernic_shm_pair_ring(ErnicShmPair *p)
{
    uint8_t bell = 1;
    ssize_t n = send(p->fd, &bell, sizeof(bell), MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)n;
}

/* ---- addresses ------------------------------------------------------------- */

void ernic_shm_pair_announce(ErnicShmPair *p, const ErnicGid *gid, uint32_t num)
{
    Addresses *own = &p->map->addresses[!p->caller];

    num = MIN(num, ERNIC_SHM_ADDRESSES);
    memcpy(own->gid, gid, num * sizeof(*gid));
    __atomic_store_n(&own->num, num, __ATOMIC_RELAXED);
    __atomic_fetch_add(&own->version, 1, __ATOMIC_RELEASE);
}

/* A list that changes meanwhile gets another number, and is copied again. */
static void copy_addresses(ErnicShmPair *p)
{
    const Addresses *its = &p->map->addresses[p->caller];
    uint32_t version = __atomic_load_n(&its->version, __ATOMIC_ACQUIRE);

    if (version != p->version) {
        p->version = version;
        p->num_gids = __atomic_load_n(&its->num, __ATOMIC_RELAXED);
        p->num_gids = MIN(p->num_gids, ERNIC_SHM_ADDRESSES);
        memcpy(p->gid, its->gid, p->num_gids * sizeof(its->gid[0]));
    }
}

bool ernic_shm_pair_has(ErnicShmPair *p, const ErnicGid *gid)
{
    uint32_t i;

    copy_addresses(p);
    for (i = 0; i < p->num_gids; i++) {
        if (memcmp(&p->gid[i], gid, sizeof(*gid)) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- life ------------------------------------------------------------------ */

static ErnicShmPair *pair_new(int fd, bool caller, bool icrc)
{
    ErnicShmPair *p = g_new0(ErnicShmPair, 1);

    p->fd = fd;
    p->caller = caller;
    p->icrc = icrc;
    return p;
}

ErnicShmPair *ernic_shm_pair_call(int fd, bool icrc)
{
    ErnicShmPair *p = pair_new(fd, true, icrc);
    int memory = make_memory();
    bool ok = memory >= 0 && map_memory(p, memory) && send_hello(p, memory);

    if (memory >= 0) {
        close(memory);
    }
    if (!ok) {
        ernic_shm_pair_free(p);
        return NULL;
    }
    return p;
}

ErnicShmPair *ernic_shm_pair_accept(int fd, bool icrc)
{
    return pair_new(fd, false, icrc);
}

void ernic_shm_pair_free(ErnicShmPair *p)
{
    if (p->map) {
        munmap(p->map, sizeof(*p->map));
    }
    close(p->fd);
    g_free(p);
}
