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
#include "links/shm/close.h"
#include "links/shm/pair.h"

/* Newer than the C library. The number is that of hosts with these options. */
#if !defined(SO_PASSRIGHTS) && SO_PASSCRED == 16
#define SO_PASSRIGHTS   83
#endif

#define MAGIC           0x53636972      /* "ricS" */
#define SEALS           (F_SEAL_SHRINK | F_SEAL_GROW)
/* The most descriptors of a message, SCM_MAX_FD of Linux. */
#define DESCRIPTORS     253

/* How often a list that changes meanwhile is copied again. */
#define COPIES          8

/* These are in shared memory. @version is odd while the writer changes the list. */
typedef struct Addresses {
    uint32_t version, num;
    uint32_t frames;            /* not 0: the port wants them */
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
    uint32_t magic, version, map_bytes, icrc, frames;
} Hello;

static Hello own_hello(const ErnicShmPair *p)
{
    return (Hello) {
        .magic = MAGIC, .version = ERNIC_SHM_VERSION, .map_bytes = sizeof(ErnicShmMap),
        .icrc = p->icrc, .frames = p->frames,
    };
}

/* ---- the memory ------------------------------------------------------------ */

static int make_memory(void)
{
    int fd = memfd_create("ernic-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 && (ftruncate(fd, sizeof(ErnicShmMap)) < 0 ||
                    fallocate(fd, 0, 0, sizeof(ErnicShmMap)) < 0 ||
                    fcntl(fd, F_ADD_SEALS, SEALS) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Memory of a peer: its size cannot change, and it is no file of huge pages. */
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
                             .data = p->map->data[!out], .frames = p->frames };
    return true;
}

/*
 * Both sides have mapped the memory. This seal refuses further writable mappings, and
 * with them to punch holes (shmem_fallocate() of Linux). So a page that exists stays, and
 * no access needs memory that the host may not have. The blocks may be those of pages
 * beyond the end: fallocate() makes the pages that are missing.
 */
static bool fix_memory(int fd)
{
    struct stat st;
    int seals;

    if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno != EPERM) {
        return false;
    }
    seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_FUTURE_WRITE && fstat(fd, &st) == 0 &&
           st.st_blocks * 512 >= sizeof(ErnicShmMap) &&
           fallocate(fd, 0, 0, sizeof(ErnicShmMap)) == 0;
}

/* ---- messages -------------------------------------------------------------- */

/* Sized for SCM_MAX_FD, because the kernel closes excess descriptors in this thread. */
typedef union Control {
    char buf[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    struct cmsghdr align;
} Control;

/* Newer kernels refuse the messages of a peer that have descriptors. */
static void refuse_descriptors(int fd)
{
#ifdef SO_PASSRIGHTS
    int no = 0;

    setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
#endif
}

/* Closes the descriptors in @msg, or the others if @keep is one. Returns their number. */
static uint32_t drop_descriptors(ErnicShmPair *p, struct msghdr *msg, int *keep)
{
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
    uint32_t n = 0, i;
    int fd;

    for (; cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        for (i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= cmsg->cmsg_len; i++, n++) {
            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
            if (keep && n == 0) {
                *keep = fd;
            } else {
                ernic_shm_close(p->closer, fd);
            }
        }
    }
    return n;
}

/*
 * Returns the bytes received, and the number of descriptors that came with them. All are
 * closed, except the first one if @keep is not NULL: the caller owns it, or it is -1.
 *
 * Each descriptor is one of this process, and the kernel closes those for which there is
 * none left. So a message with more than one stays in the socket, which a thread closes.
 * A peer that is up sends none: one such message is received at once, and no second one
 * while descriptors wait to be closed.
 */
static ssize_t receive(ErnicShmPair *p, void *buf, size_t len, int *keep, uint32_t *num)
{
    bool few = !p->up || ernic_shm_closing(NULL);
    struct iovec iov = { buf, len };
    Control control;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf,
        .msg_controllen = few ? CMSG_LEN(sizeof(int)) : sizeof(control.buf),
    };
    ssize_t n = recvmsg(p->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC |
                        (few ? MSG_PEEK : 0));

    if (keep) {
        *keep = -1;
    }
    *num = n < 0 ? 0 : drop_descriptors(p, &msg, keep);
    if (few && n > 0 && msg.msg_flags & MSG_CTRUNC) {
        *num = DESCRIPTORS;
    } else if (few && n > 0 && (keep || !*num)) {
        recv(p->fd, buf, 0, MSG_DONTWAIT);      /* @keep is another one for the file */
    }
    return n;
}

static bool send_hello(ErnicShmPair *p, int memory)
{
    Hello hello = own_hello(p);
    struct iovec iov = { &hello, sizeof(hello) };
    Control control = { 0 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *cmsg;

    if (memory >= 0) {
        msg.msg_control = control.buf;
        msg.msg_controllen = CMSG_SPACE(sizeof(int));
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &memory, sizeof(int));
    }
    return sendmsg(p->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(hello);
}

/* The peer has mapped our memory. */
static bool keep_memory(ErnicShmPair *p)
{
    bool ok = fix_memory(p->memory);

    close(p->memory);
    p->memory = -1;
    return ok;
}

static bool take_memory(ErnicShmPair *p, int memory)
{
    return is_sound(memory) && map_memory(p, memory) && fix_memory(memory);
}

ErnicShmPairState ernic_shm_pair_handshake(ErnicShmPair *p)
{
    Hello hello, own = own_hello(p);
    uint32_t num;
    int memory;
    ssize_t n = receive(p, &hello, sizeof(hello), &memory, &num);

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? ERNIC_SHM_WAIT : ERNIC_SHM_GONE;
    }
    p->up = n == sizeof(hello) && memcmp(&hello, &own, sizeof(own)) == 0 &&
            num == !p->caller && (p->caller ? keep_memory(p) : take_memory(p, memory));
    if (memory >= 0) {
        ernic_shm_close(p->closer, memory);
    }
    if (n == 0) {
        return ERNIC_SHM_GONE;
    }
    refuse_descriptors(p->fd);
    /* A refused caller gets an answer, too: it then sees why. */
    if (!p->caller && !send_hello(p, -1)) {
        p->up = false;
        return ERNIC_SHM_GONE;
    }
    return p->up ? ERNIC_SHM_UP : ERNIC_SHM_REFUSED;
}

/* ---- waking the peer ------------------------------------------------------- */

/*
 * One message: there is seldom a second one, and the socket stays readable for it. Its
 * content does not matter.
 */
ErnicShmPairState ernic_shm_pair_receive(ErnicShmPair *p)
{
    uint32_t num;
    uint8_t buf[8];
    ssize_t n = receive(p, buf, sizeof(buf), NULL, &num);

    if (num) {
        return ERNIC_SHM_REFUSED;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        return ERNIC_SHM_GONE;
    }
    return ERNIC_SHM_UP;
}

/*
 * A socket of our own does not block. An eventfd of the peer could: with a count just
 * below its limit. If the socket is full, the peer has messages to wake up for.
 */
bool ernic_shm_pair_wake(ErnicShmPair *p)
{
    uint8_t byte = 1;
    ssize_t n = send(p->fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL);

    p->owed = n < 0 && (errno == ENOMEM || errno == ENOBUFS);
    return !p->owed;
}

/* ---- addresses ------------------------------------------------------------- */

void ernic_shm_pair_announce(ErnicShmPair *p, const ErnicGid *gid, uint32_t num,
                             bool frames)
{
    Addresses *own = &p->map->addresses[!p->caller];

    num = MIN(num, ERNIC_SHM_ADDRESSES);
    p->announced += 2;
    __atomic_store_n(&own->version, p->announced - 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(own->gid, gid, num * sizeof(*gid));
    __atomic_store_n(&own->num, num, __ATOMIC_RELAXED);
    __atomic_store_n(&own->frames, frames, __ATOMIC_RELAXED);
    __atomic_store_n(&own->version, p->announced, __ATOMIC_RELEASE);
}

/* Copy the list into @to; false: it is being changed, or the peer says so. */
static bool copy_addresses(const Addresses *its, Addresses *to)
{
    to->version = __atomic_load_n(&its->version, __ATOMIC_ACQUIRE);
    to->num = __atomic_load_n(&its->num, __ATOMIC_RELAXED);
    to->num = MIN(to->num, ERNIC_SHM_ADDRESSES);
    to->frames = __atomic_load_n(&its->frames, __ATOMIC_RELAXED);
    memcpy(to->gid, its->gid, to->num * sizeof(its->gid[0]));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return !(to->version & 1) &&
           __atomic_load_n(&its->version, __ATOMIC_RELAXED) == to->version;
}

bool ernic_shm_pair_has_news(const ErnicShmPair *p)
{
    return __atomic_load_n(&p->map->addresses[p->caller].version, __ATOMIC_ACQUIRE) !=
           p->version;
}

/* If the peer keeps changing the list, the previous copy is kept. */
bool ernic_shm_pair_read_addresses(ErnicShmPair *p, uint64_t *work)
{
    const Addresses *its = &p->map->addresses[p->caller];
    Addresses copy;
    int i;

    if (!ernic_shm_pair_has_news(p)) {
        return false;
    }
    for (i = 0; i < COPIES; i++) {
        *work += sizeof(copy);
        if (copy_addresses(its, &copy)) {
            p->version = copy.version;
            p->num_gids = copy.num;
            p->wants_frames = copy.frames && p->frames;
            memcpy(p->gid, copy.gid, copy.num * sizeof(copy.gid[0]));
            break;
        }
    }
    return i < COPIES;
}

/* ---- life ------------------------------------------------------------------ */

static ErnicShmPair *pair_new(int fd, ErnicShmCloser *closer, bool caller,
                              const ErnicShmConfig *cfg)
{
    ErnicShmPair *p = g_new0(ErnicShmPair, 1);

    p->fd = fd;
    p->closer = closer;
    p->memory = -1;
    p->caller = caller;
    p->icrc = cfg->icrc;
    p->frames = cfg->frames;
    return p;
}

ErnicShmPair *ernic_shm_pair_call(int fd, ErnicShmCloser *closer,
                                  const ErnicShmConfig *cfg)
{
    ErnicShmPair *p = pair_new(fd, closer, true, cfg);

    refuse_descriptors(fd);
    p->memory = make_memory();
    if (p->memory < 0 || !map_memory(p, p->memory) || !send_hello(p, p->memory)) {
        ernic_shm_pair_free(p);
        return NULL;
    }
    return p;
}

ErnicShmPair *ernic_shm_pair_accept(int fd, ErnicShmCloser *closer,
                                    const ErnicShmConfig *cfg)
{
    return pair_new(fd, closer, false, cfg);
}

/* The peer sees the end at once, even if the socket is closed later. */
void ernic_shm_pair_free(ErnicShmPair *p)
{
    if (p->map) {
        munmap(p->map, sizeof(*p->map));
    }
    if (p->memory >= 0) {
        close(p->memory);
    }
    shutdown(p->fd, SHUT_RDWR);
    ernic_shm_close(p->closer, p->fd);
    g_free(p);
}
