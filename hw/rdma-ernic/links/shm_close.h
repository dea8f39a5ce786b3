/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Closing a descriptor that a peer may have passed, or a socket in whose queue such ones
 * are, can take long: a socket that lingers, a file of a server that does not answer.
 * A thread does it for all ports of the process.
 */
#ifndef ERNIC_LINKS_SHM_CLOSE_H
#define ERNIC_LINKS_SHM_CLOSE_H

/* Close @fd soon. */
void ernic_shm_close(int fd);
/* The number of descriptors that wait for it. */
uint32_t ernic_shm_closing(void);

#endif /* ERNIC_LINKS_SHM_CLOSE_H */
