/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command in progress: what it has read so far.
 */
#include "qemu/osdep.h"
#include "objects/job.h"

ErnicJob *ernic_job_new(void)
{
    return g_new0(ErnicJob, 1);
}

void ernic_job_end(Ernic *e)
{
    ErnicJob *job = e->job;

    ernic_buf_fini(e, &job->buf);
    ernic_buf_fini(e, &job->ready);
    job->active = job->filling = job->copying = job->ready_valid = false;
    job->fetched = 0;
}

void ernic_job_free(Ernic *e)
{
    ernic_job_end(e);
    g_free(e->job);
    e->job = NULL;
}

uint32_t ernic_job_pages(const Ernic *e)
{
    return e->job->buf.npages + e->job->ready.npages;
}

uint64_t ernic_job_list_bytes(const Ernic *e)
{
    return ernic_buf_list_bytes(&e->job->buf) + ernic_buf_list_bytes(&e->job->ready);
}
