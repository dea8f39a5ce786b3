/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name. A mutex counts the calls that had to wait.
 */
#ifndef QEMU_THREAD_H
#define QEMU_THREAD_H

#include <pthread.h>

typedef struct QemuMutex {
    pthread_mutex_t lock;
    unsigned waited;            /* atomic */
} QemuMutex;

static inline void qemu_mutex_init(QemuMutex *m)
{
    m->waited = 0;
    pthread_mutex_init(&m->lock, NULL);
}

static inline void qemu_mutex_destroy(QemuMutex *m)
{
    pthread_mutex_destroy(&m->lock);
}

static inline void qemu_mutex_lock(QemuMutex *m)
{
    if (pthread_mutex_trylock(&m->lock)) {
        __atomic_add_fetch(&m->waited, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_lock(&m->lock);
    }
}

static inline void qemu_mutex_unlock(QemuMutex *m)
{
    pthread_mutex_unlock(&m->lock);
}

#endif /* QEMU_THREAD_H */
