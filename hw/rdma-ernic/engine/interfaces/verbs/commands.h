/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands: 64 bytes in, 64 bytes out, checked by one table.
 */
#ifndef ERNIC_INTERFACES_VERBS_COMMANDS_H
#define ERNIC_INTERFACES_VERBS_COMMANDS_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define ERNIC_CMDF_KERNEL   0x01        /* not on behalf of a user context */

/* The dispatcher's data of a command; for tests and documentation. */
typedef struct ErnicCmdInfo {
    const char *name;
    uint8_t len;                /* payload bytes; all later bytes are 0 */
    uint8_t flags;              /* ERNIC_CMDF_* */
} ErnicCmdInfo;

/* NULL: no such command. */
const ErnicCmdInfo *ernic_cmd_info(uint8_t opcode);

/* Make @cmd, a private copy, the command in progress (objects/job.h); there is none. */
void ernic_cmd_begin(Ernic *e, const struct ernic_cmd *cmd);
/*
 * Execute the command in progress. Fills in @rsp except its phase. A command that fails
 * changes nothing. False: the slice of work has ended before the command; the next call
 * continues it.
 */
bool ernic_cmd_exec(Ernic *e, struct ernic_rsp *rsp);

const char *ernic_status_name(uint8_t status);

/*
 * qp_commands.c: those of queue pairs. Each returns an enum ernic_status; all check the
 * whole command before they change anything.
 */
uint8_t ernic_qp_create(Ernic *e, uint32_t uctx,
                        const struct ernic_qp_init *init, uint32_t *qpn);
uint8_t ernic_qp_modify(Ernic *e, uint32_t uctx, uint32_t qpn,
                        const struct ernic_qp_attr *attr);
uint8_t ernic_qp_query(Ernic *e, uint32_t uctx, uint32_t qpn,
                       struct ernic_qp_attr *attr);
uint8_t ernic_qp_destroy(Ernic *e, uint32_t uctx, uint32_t qpn);

#endif /* ERNIC_INTERFACES_VERBS_COMMANDS_H */
