/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name.
 */
#ifndef QEMU_THREAD_H
#define QEMU_THREAD_H

#include <pthread.h>

typedef struct QemuMutex {
    pthread_mutex_t lock;
} QemuMutex;

static inline void qemu_mutex_init(QemuMutex *m)
{
    pthread_mutex_init(&m->lock, NULL);
}

static inline void qemu_mutex_destroy(QemuMutex *m)
{
    pthread_mutex_destroy(&m->lock);
}

static inline void qemu_mutex_lock(QemuMutex *m)
{
    pthread_mutex_lock(&m->lock);
}

static inline void qemu_mutex_unlock(QemuMutex *m)
{
    pthread_mutex_unlock(&m->lock);
}

#endif /* QEMU_THREAD_H */
