/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Closing a descriptor that a peer may have passed, or a socket in whose queue such ones
 * are, can take long: a socket that lingers, a file of a server that does not answer.
 * A thread of each port does it, so that the peers of one port do not delay another.
 */
#ifndef ERNIC_LINKS_SHM_CLOSE_H
#define ERNIC_LINKS_SHM_CLOSE_H

typedef GThreadPool ErnicShmCloser;

ErnicShmCloser *ernic_shm_closer_new(void);
/* It closes what waits, and ends then. */
void ernic_shm_closer_free(ErnicShmCloser *c);
/* Close @fd soon. */
void ernic_shm_close(ErnicShmCloser *c, int fd);
/* The descriptors that wait for it; NULL: for any port, or are being closed. */
uint32_t ernic_shm_closing(ErnicShmCloser *c);

#endif /* ERNIC_LINKS_SHM_CLOSE_H */
