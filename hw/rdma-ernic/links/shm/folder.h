/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The meeting place of the shared-memory link: a folder with a socket of each port. A
 * newcomer connects to all sockets that are there, and later ones connect to it. So each
 * two ports have one connection, and no port is special.
 */
#ifndef ERNIC_LINKS_SHM_FOLDER_H
#define ERNIC_LINKS_SHM_FOLDER_H

#include "links/shm/close.h"

/* The entries of a folder that a newcomer looks at, and its connections in one call. */
#define ERNIC_SHM_ENTRIES   1024
#define ERNIC_SHM_CALLS     32

/* The name may be that of another socket later. */
typedef struct ErnicShmOther {
    uint64_t inode;
    char name[];
} ErnicShmOther;

typedef struct ErnicShmFolder {
    int dir;
    int fd;                     /* the listening socket; -1: not entered yet */
    ErnicShmCloser *closer;     /* of the port */
    char *path, *socket;        /* of the folder; the name of our socket in it */
    uint32_t number;            /* of the socket, from 1; 0: it has none, or not yet */
    uint64_t inode;             /* of the socket */
    GPtrArray *others;          /* ErnicShmOther: sockets to connect to */
    bool crowded;               /* it has more entries than those */
} ErnicShmFolder;

/*
 * Join the folder @path, which is created if it does not exist, for this user alone. It
 * must belong to this user or to root, and if others may write to it, it must be sticky.
 * False: *@err is a sentence for the user, owned by the caller, and @f is not open. If
 * another process has the lock of the folder, it is open and not entered yet. @closer has
 * to outlive @f.
 */
bool ernic_shm_folder_join(ErnicShmFolder *f, const char *path, ErnicShmCloser *closer,
                           char **err);
/* Try again. False: errno is EWOULDBLOCK while another process has the lock. */
bool ernic_shm_folder_enter(ErnicShmFolder *f);
/*
 * Connect to some of the others. @found owns the connection; @failed gets the name of a
 * socket and an errno. Call it again later as long as @f->others is not empty: a port
 * may have no room for further connections now.
 */
void ernic_shm_folder_call(ErnicShmFolder *f, void (*found)(void *opaque, int fd),
                           void (*failed)(void *opaque, const char *name, int err),
                           void *opaque);
/* A connection of a newcomer; -1 and errno: there is none. */
int ernic_shm_folder_accept(const ErnicShmFolder *f);
/* Remove our socket from the folder. */
void ernic_shm_folder_hide(const ErnicShmFolder *f);
void ernic_shm_folder_leave(ErnicShmFolder *f);

#endif /* ERNIC_LINKS_SHM_FOLDER_H */
