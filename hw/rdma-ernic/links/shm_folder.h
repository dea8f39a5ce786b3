/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The meeting place of the shared-memory link: a folder with a socket of each port. A
 * newcomer connects to all sockets that are there, and later ones connect to it. So each
 * two ports have one connection, and no port is special.
 */
#ifndef ERNIC_LINKS_SHM_FOLDER_H
#define ERNIC_LINKS_SHM_FOLDER_H

typedef struct ErnicShmFolder {
    int fd;                     /* the listening socket */
    char *socket;               /* its path */
} ErnicShmFolder;

/*
 * Join the folder @path, which is created if it does not exist, for this user alone.
 * Calls @found with a connection to each other port; @found owns it. False: *@err is a
 * sentence for the user, owned by the caller, and @f is not open.
 */
bool ernic_shm_folder_join(ErnicShmFolder *f, const char *path,
                           void (*found)(void *opaque, int fd), void *opaque,
                           char **err);
/* A connection of a newcomer; -1: there is none. */
int ernic_shm_folder_accept(const ErnicShmFolder *f);
void ernic_shm_folder_leave(ErnicShmFolder *f);

#endif /* ERNIC_LINKS_SHM_FOLDER_H */
