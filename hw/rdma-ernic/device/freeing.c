/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The thread that frees, and the queue of its jobs. A device may go before its memory is
 * free: the number of its jobs outlives it.
 */
#include "qemu/osdep.h"
#include "qemu/queue.h"
#include "device/freeing.h"
#include "hw/rdma-ernic/trace.h"

struct ErnicFreeing {
    uint32_t refs;              /* atomic: one of the device, and one of each job */
    QEMUBH *bh;                 /* to schedule after a job; or NULL; worker.lock */
};

typedef struct FreeJob FreeJob;
struct FreeJob {
    QSIMPLEQ_ENTRY(FreeJob) next;
    ErnicFreeing *of;
    ErnicDeferred *memory;
};

typedef QSIMPLEQ_HEAD(, FreeJob) FreeJobs;

static struct {
    bool started;               /* BQL */
    QemuMutex lock;
    QemuCond more;
    FreeJobs jobs;
    QemuThread thread;
} worker;

static void unref(ErnicFreeing *of)
{
    qemu_mutex_lock(&worker.lock);
    if (qatomic_fetch_dec(&of->refs) == 1) {
        g_free(of);
    } else if (of->bh) {
        qemu_bh_schedule(of->bh);       /* commands may wait for it */
    }
    qemu_mutex_unlock(&worker.lock);
}

static FreeJob *next_job(void)
{
    FreeJob *job;

    qemu_mutex_lock(&worker.lock);
    while (QSIMPLEQ_EMPTY(&worker.jobs)) {
        qemu_cond_wait(&worker.more, &worker.lock);
    }
    job = QSIMPLEQ_FIRST(&worker.jobs);
    QSIMPLEQ_REMOVE_HEAD(&worker.jobs, next);
    qemu_mutex_unlock(&worker.lock);
    return job;
}

static void *work(void *opaque)
{
    for (;;) {
        FreeJob *job = next_job();

        ernic_deferred_free(job->memory);
        unref(job->of);
        g_free(job);
    }
    return NULL;
}

void ernic_pci_freeing_open(ErnicPci *d)
{
    d->freeing = g_new0(ErnicFreeing, 1);
    d->freeing->refs = 1;
    if (worker.started) {
        return;
    }
    worker.started = true;
    qemu_mutex_init(&worker.lock);
    qemu_cond_init(&worker.more);
    QSIMPLEQ_INIT(&worker.jobs);
    qemu_thread_create(&worker.thread, "ernic-free", work, NULL, QEMU_THREAD_DETACHED);
}

void ernic_pci_freeing_wakes(ErnicPci *d, QEMUBH *bh)
{
    qemu_mutex_lock(&worker.lock);
    d->freeing->bh = bh;
    qemu_mutex_unlock(&worker.lock);
}

void ernic_pci_freeing_close(ErnicPci *d)
{
    unref(g_steal_pointer(&d->freeing));
}

void ernic_pci_free_later(void *env, ErnicDeferred *memory)
{
    ErnicPci *d = env;
    FreeJob *job = g_new0(FreeJob, 1);

    job->of = d->freeing;
    job->memory = memory;
    trace_ernic_pci_free_later(ernic_pci_id(d), qatomic_fetch_inc(&d->freeing->refs));
    qemu_mutex_lock(&worker.lock);
    QSIMPLEQ_INSERT_TAIL(&worker.jobs, job, next);
    qemu_cond_signal(&worker.more);
    qemu_mutex_unlock(&worker.lock);
}

bool ernic_pci_freeing(void *env)
{
    ErnicPci *d = env;

    return qatomic_read(&d->freeing->refs) > 1;
}
