/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The meeting place of the shared-memory link. Ports join one after the other, with a
 * lock on the folder. So a socket that nobody listens to is a remnant.
 */
#include "qemu/osdep.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "links/shm_folder.h"

#define PREFIX          "ernic-"
#define BACKLOG         64
/* Wait at most a second for another port that is joining. */
#define LOCK_TRIES      1000
#define LOCK_WAIT_US    1000

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool set_address(struct sockaddr_un *sa, const char *path)
{
    memset(sa, 0, sizeof(*sa));
    sa->sun_family = AF_UNIX;
    return g_strlcpy(sa->sun_path, path, sizeof(sa->sun_path)) < sizeof(sa->sun_path);
}

/* The folder, locked; or -1. Closing it ends the lock. */
static int lock_folder(const char *path)
{
    int tries, fd;

    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        return -1;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    for (tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES) {
            int err = errno;

            close(fd);
            errno = err;
            return -1;
        }
        g_usleep(LOCK_WAIT_US);
    }
    return fd;
}

static bool listen_in(ErnicShmFolder *f, const char *path)
{
    struct sockaddr_un sa;

    f->socket = g_strdup_printf("%s/" PREFIX "%08x%08x", path, g_random_int(),
                                g_random_int());
    if (!set_address(&sa, f->socket)) {
        errno = ENAMETOOLONG;
        return false;
    }
    f->fd = new_socket();
    if (f->fd < 0 || bind(f->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
        return false;
    }
    if (listen(f->fd, BACKLOG) < 0) {
        int err = errno;

        unlink(f->socket);
        errno = err;
        return false;
    }
    return true;
}

/* Connect to the socket @path; a remnant of a process that is gone is removed. */
static int call_port(const char *path)
{
    struct sockaddr_un sa;
    int fd;

    if (!set_address(&sa, path) || (fd = new_socket()) < 0) {
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0) {
        return fd;
    }
    if (errno == ECONNREFUSED) {
        unlink(path);
    }
    close(fd);
    return -1;
}

static bool is_port(int dir, const char *name)
{
    struct stat st;

    return g_str_has_prefix(name, PREFIX) &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
}

/* Takes over @lock. */
static void call_others(const ErnicShmFolder *f, int lock, const char *path,
                        void (*found)(void *opaque, int fd), void *opaque)
{
    DIR *dir = fdopendir(lock);
    struct dirent *entry;
    int fd;

    if (!dir) {
        close(lock);
        return;
    }
    while ((entry = readdir(dir))) {
        g_autofree char *port = g_strdup_printf("%s/%s", path, entry->d_name);

        if (is_port(lock, entry->d_name) && strcmp(port, f->socket) != 0 &&
            (fd = call_port(port)) >= 0) {
            found(opaque, fd);
        }
    }
    closedir(dir);
}

bool ernic_shm_folder_join(ErnicShmFolder *f, const char *path,
                           void (*found)(void *opaque, int fd), void *opaque,
                           char **err)
{
    int lock = lock_folder(path);

    *f = (ErnicShmFolder) { .fd = -1 };
    if (lock >= 0 && listen_in(f, path)) {
        call_others(f, lock, path, found, opaque);
        return true;
    }
    *err = g_strdup_printf("%s: %s", path, g_strerror(errno));
    if (lock >= 0) {
        close(lock);
    }
    if (f->fd >= 0) {
        close(f->fd);
    }
    g_free(f->socket);
    return false;
}

int ernic_shm_folder_accept(const ErnicShmFolder *f)
{
    return accept4(f->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void ernic_shm_folder_leave(ErnicShmFolder *f)
{
    unlink(f->socket);
    close(f->fd);
    g_free(f->socket);
}
