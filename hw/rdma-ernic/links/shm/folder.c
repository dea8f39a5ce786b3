/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The meeting place of the shared-memory link. With a lock on the folder, a port makes
 * its socket, with the first free number as its name, and notes those that are there. So
 * a socket that nobody listens to is a remnant. The folder is opened once, and its name
 * is not used again. Each socket of others is opened before it is called, so that it is
 * one of this folder.
 */
#include "qemu/osdep.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "links/shm/close.h"
#include "links/shm/folder.h"

#define PREFIX          "ernic-"
#define BACKLOG         64
/* A newcomer waits for the lock of the folder for 100 ms. */
#define ENTER_TRIES     50
#define ENTER_US        2000

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* The address of the open file @fd, or of the file "/name" in the open folder @fd. */
static struct sockaddr_un address_of(int fd, const char *in)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    g_snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d%s", fd, in);
    return sa;
}

/* ---- the folder ------------------------------------------------------------- */

/* NULL: nobody but root and this user can exchange the sockets in it. */
static const char *why_unsafe(const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        return "it belongs to another user";
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX)) {
        return "others may write to it, and it is not sticky (chmod +t)";
    }
    return NULL;
}

/* Without the slashes at its end, for which a symbolic link would be followed. */
static char *name_of(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    return g_strndup(path, len);
}

/* NULL, or what is wrong. */
static const char *open_folder(ErnicShmFolder *f)
{
    g_autofree char *name = name_of(f->path);
    struct stat st;

    if (mkdir(name, 0700) < 0 && errno != EEXIST) {
        return errno == ENOENT ? "there is no folder to make it in" : g_strerror(errno);
    }
    f->dir = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->dir < 0 || fstat(f->dir, &st) < 0) {
        return g_strerror(errno);
    }
    return why_unsafe(&st);
}

/* All that may write to the folder may connect, whatever umask this process has. */
static bool open_to_others(const ErnicShmFolder *f, const struct stat *st)
{
    mode_t mode = S_IRUSR | S_IWUSR;

    if (st->st_mode & S_IWGRP) {
        mode |= S_IRGRP | S_IWGRP;
        /*
         * Outside this group it is not permitted; connect() of the others then reports
         * it.
         */
        if (fchownat(f->dir, f->socket, -1, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
            errno != EPERM) {
            return false;
        }
    }
    if (st->st_mode & S_IWOTH) {
        mode |= S_IROTH | S_IWOTH;
    }
    return fchmodat(f->dir, f->socket, mode, 0) == 0;
}

/*
 * The name is not followed: whoever owns the socket can make a symbolic link of it.
 * @inode: of the socket that is meant; 0: any.
 */
static int open_socket(const ErnicShmFolder *f, const char *name, uint64_t inode)
{
    int fd = openat(f->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st = { };

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
                    (inode && st.st_ino != inode))) {
        close(fd);
        errno = S_ISSOCK(st.st_mode) ? ENOENT : ENOTSOCK;
        return -1;
    }
    return fd;
}

/* Whether nobody has the socket @name any more: a live one has another type. */
static bool is_remnant(const ErnicShmFolder *f, const char *name)
{
    int file = open_socket(f, name, 0);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa = address_of(file, "");
    bool refused = file >= 0 && fd >= 0 &&
                   connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 &&
                   errno == ECONNREFUSED;

    if (fd >= 0) {
        close(fd);
    }
    if (file >= 0) {
        close(file);
    }
    return refused;
}

/* Needs the lock on the folder, because names are used again. */
static bool remove_remnant(const ErnicShmFolder *f, const char *name)
{
    return is_remnant(f, name) && unlinkat(f->dir, name, 0) == 0;
}

static bool bind_to(const ErnicShmFolder *f, const char *name)
{
    g_autofree char *path = g_strconcat("/", name, NULL);
    struct sockaddr_un sa = address_of(f->dir, path);

    return bind(f->fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

/* 0, or an errno; EADDRINUSE: another port has the name. */
static int try_name(const ErnicShmFolder *f, const char *name)
{
    if (bind_to(f, name)) {
        return 0;
    }
    if (errno != EADDRINUSE) {
        return errno;
    }
    return remove_remnant(f, name) && bind_to(f, name) ? 0 : EADDRINUSE;
}

/* Takes over @name, with which the socket is bound. */
static bool take_name(ErnicShmFolder *f, char *name, uint32_t number)
{
    struct stat st;

    f->socket = name;
    f->number = number;
    if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    f->inode = st.st_ino;
    return true;
}

/*
 * Give the socket the first number that is free. Those who may write to the folder can
 * use all of them; then it has none.
 */
static bool bind_in(ErnicShmFolder *f)
{
    g_autofree char *other = NULL;
    int err = EADDRINUSE;
    uint32_t number;

    for (number = 1; number <= ERNIC_SHM_ENTRIES && err == EADDRINUSE; number++) {
        g_autofree char *name = g_strdup_printf(PREFIX "%u", number);

        err = try_name(f, name);
        if (!err) {
            return take_name(f, g_steal_pointer(&name), number);
        }
    }
    if (err == EADDRINUSE) {
        other = g_strdup_printf(PREFIX "%08x%08x", g_random_int(), g_random_int());
        err = try_name(f, other);
    }
    errno = err;
    return !err && take_name(f, g_steal_pointer(&other), 0);
}

static bool listen_in(ErnicShmFolder *f, const struct stat *st)
{
    f->fd = new_socket();
    return f->fd >= 0 && bind_in(f) && open_to_others(f, st) &&
           listen(f->fd, BACKLOG) == 0;
}

/* ---- the others ------------------------------------------------------------- */

/* Note @name if it is the socket of another port. */
static void note(ErnicShmFolder *f, const char *name)
{
    ErnicShmOther *other;
    struct stat st;

    if (g_str_has_prefix(name, PREFIX) && strcmp(name, f->socket) != 0 &&
        fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode)) {
        other = g_malloc(sizeof(*other) + strlen(name) + 1);
        other->inode = st.st_ino;
        memcpy(other->name, name, strlen(name) + 1);
        g_ptr_array_add(f->others, other);
    }
}

static bool note_others(ErnicShmFolder *f)
{
    int fd = openat(f->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int n;

    if (!dir) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    for (n = 0; (entry = readdir(dir)) && n < ERNIC_SHM_ENTRIES; n++) {
        note(f, entry->d_name);
    }
    f->crowded = entry;
    closedir(dir);
    return true;
}

static bool connect_to(int fd, int file)
{
    struct sockaddr_un sa = address_of(file, "");

    return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

/* A connection to the socket, or -1. */
static int call_port(const ErnicShmFolder *f, const ErnicShmOther *other)
{
    int file = open_socket(f, other->name, other->inode);
    int fd = file < 0 ? -1 : new_socket(), err;

    if (fd >= 0 && connect_to(fd, file)) {
        close(file);
        return fd;
    }
    err = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (file >= 0) {
        close(file);
    }
    errno = err;
    return -1;
}

/* The port exists, and may accept us later. */
static bool is_for_now(int err)
{
    return err == EAGAIN || err == EINTR || err == EMFILE || err == ENFILE ||
           err == ENOBUFS || err == ENOMEM;
}

/* Its process has ended. If the folder is locked, the next newcomer removes it. */
static void remove_unused(const ErnicShmFolder *f, const char *name)
{
    if (flock(f->dir, LOCK_EX | LOCK_NB) == 0) {
        remove_remnant(f, name);
        flock(f->dir, LOCK_UN);
    }
}

void ernic_shm_folder_call(ErnicShmFolder *f, void (*found)(void *opaque, int fd),
                           void (*failed)(void *opaque, const char *name, int err),
                           void *opaque)
{
    uint32_t i, num = MIN(f->others->len, ERNIC_SHM_CALLS);

    for (i = 0; i < num; i++) {
        g_autofree ErnicShmOther *other = g_ptr_array_steal_index(f->others, 0);
        int fd = call_port(f, other), err = errno;

        if (fd >= 0) {
            found(opaque, fd);
        } else if (is_for_now(err)) {
            g_ptr_array_add(f->others, g_steal_pointer(&other));
        } else if (err == ECONNREFUSED) {
            remove_unused(f, other->name);
        } else if (err != ENOENT) {
            failed(opaque, other->name, err);
        }
    }
}

/* ---- life ------------------------------------------------------------------- */

/* If the user has removed our socket, another port may have the name. */
void ernic_shm_folder_hide(const ErnicShmFolder *f)
{
    struct stat st;

    if (f->socket && fstatat(f->dir, f->socket, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == f->inode) {
        unlinkat(f->dir, f->socket, 0);
    }
}

/* Restore the state from before a call of ernic_shm_folder_enter() that has failed. */
static void give_up(ErnicShmFolder *f)
{
    ernic_shm_folder_hide(f);
    g_clear_pointer(&f->socket, g_free);
    f->number = 0;
    g_ptr_array_set_size(f->others, 0);
    if (f->fd >= 0) {
        close(f->fd);
        f->fd = -1;
    }
}

bool ernic_shm_folder_enter(ErnicShmFolder *f)
{
    struct stat st;
    int err;

    if (flock(f->dir, LOCK_EX | LOCK_NB) < 0) {
        return false;
    }
    err = fstat(f->dir, &st) == 0 && listen_in(f, &st) && note_others(f) ? 0 : errno;
    if (err) {
        give_up(f);
    }
    flock(f->dir, LOCK_UN);
    errno = err;
    return !err;
}

void ernic_shm_folder_leave(ErnicShmFolder *f)
{
    ernic_shm_folder_hide(f);
    if (f->fd >= 0) {
        /* Nobody connects any more; connections that were not accepted end with it. */
        shutdown(f->fd, SHUT_RDWR);
        ernic_shm_close(f->closer, f->fd);
    }
    if (f->dir >= 0) {
        close(f->dir);
    }
    g_ptr_array_unref(f->others);
    g_free(f->socket);
    g_free(f->path);
}

/* Others who enter have the lock for a moment. True: entered, or still locked. */
static bool enter_soon(ErnicShmFolder *f)
{
    uint32_t i;

    for (i = 0; i < ENTER_TRIES; i++) {
        if (ernic_shm_folder_enter(f)) {
            return true;
        }
        if (errno != EWOULDBLOCK) {
            return false;
        }
        g_usleep(ENTER_US);
    }
    return true;
}

bool ernic_shm_folder_join(ErnicShmFolder *f, const char *path, ErnicShmCloser *closer,
                           char **err)
{
    const char *why;

    *f = (ErnicShmFolder) {
        .dir = -1, .fd = -1, .closer = closer, .path = g_strdup(path),
        .others = g_ptr_array_new_with_free_func(g_free),
    };
    why = open_folder(f);
    if (!why && !enter_soon(f)) {
        why = g_strerror(errno);
    }
    if (why) {
        *err = g_strdup_printf("%s: %s", path, why);
        ernic_shm_folder_leave(f);
    }
    return !why;
}

int ernic_shm_folder_accept(const ErnicShmFolder *f)
{
    return accept4(f->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
