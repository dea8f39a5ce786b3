/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counts the pages of a test program: include this in its only source file.
 */
#ifndef COUNTED_PAGES_H
#define COUNTED_PAGES_H

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/pages.h"

/* Bytes that the host gave and got back; malloc() does not call these functions. */
static uint64_t given, returned;

#if ERNIC_OWN_PAGES
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    given += len;
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

int munmap(void *addr, size_t len)
{
    returned += len;
    return syscall(SYS_munmap, addr, len);
}
#endif

#endif /* COUNTED_PAGES_H */
