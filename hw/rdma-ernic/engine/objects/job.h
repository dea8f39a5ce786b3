/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command in progress. A command that does not fit a slice of work (base/work.h)
 * returns ERNIC_AGAIN, and is executed again from its beginning in the next slice. Its
 * checks are repeated, because the engine has run in between; the job keeps what was
 * read and copied so far. Nothing of it is visible to the guest or saved: a reset drops
 * it, and the destination of a migration executes the command from the beginning.
 */
#ifndef ERNIC_OBJECTS_JOB_H
#define ERNIC_OBJECTS_JOB_H

#include "objects/buf.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicJob {
    bool active;                /* @cmd is in progress */
    struct ernic_cmd cmd;       /* the copy that it works from */
    uint32_t fetched;           /* bytes of @data that were read; 0: none */
    uint8_t data[sizeof(struct ernic_rss)];     /* the structure that @cmd names */

    bool filling;               /* ernic_buf_init() is in progress */
    ErnicBuf buf;               /* its buffer, of which @filled pages are read */
    uint32_t filled;
    uint64_t leaf[ERNIC_BUF_LIST];      /* the entries of a two-level list in use */
    ErnicBuf ready;             /* a buffer that waits for the rest of the command */
    bool ready_valid;           /* QP_CREATE: it is the send ring */

    bool copying;               /* ernic_cq_resize(): entries up to @copied are in */
    uint32_t copied;            /* the new ring, which is @ready */
};

ErnicJob *ernic_job_new(void);
/* End the command: release whatever it has not handed over. */
void ernic_job_end(Ernic *e);
void ernic_job_free(Ernic *e);
/* Page addresses that the job holds, as part of e->num_pages. */
uint32_t ernic_job_pages(const Ernic *e);
/* Bytes of the lists that it holds, as part of the account. */
uint64_t ernic_job_list_bytes(const Ernic *e);

#endif /* ERNIC_OBJECTS_JOB_H */
