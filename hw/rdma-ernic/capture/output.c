/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lock belongs to the open file: devices of one process exclude each other, too, and
 * no lock is left over from a process that was killed.
 */
#include "qemu/osdep.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include "capture/output.h"

int ernic_output_open(const char *path, struct stat *st, const char **why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);

    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode)) {
        return fd;
    }
    /* A FIFO without a reader has the error ENXIO. */
    *why = fd >= 0 || errno == ENXIO ? "not a regular file" : g_strerror(errno);
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* File systems without locks work as before. */
bool ernic_output_begin(int fd, const char **why)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        *why = "another device or process writes it";
        return false;
    }
    if (ftruncate(fd, 0) < 0) {
        *why = g_strerror(errno);
        return false;
    }
    return true;
}
