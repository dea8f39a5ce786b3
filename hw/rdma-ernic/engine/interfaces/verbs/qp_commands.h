/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands of queue pairs. Each returns an enum ernic_status; all check the
 * whole command before they change anything.
 */
#ifndef ERNIC_INTERFACES_VERBS_QP_COMMANDS_H
#define ERNIC_INTERFACES_VERBS_QP_COMMANDS_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

uint8_t ernic_qp_create(Ernic *e, uint32_t uctx,
                        const struct ernic_qp_init *init, uint32_t *qpn);
uint8_t ernic_qp_modify(Ernic *e, uint32_t uctx, uint32_t qpn,
                        const struct ernic_qp_attr *attr);
uint8_t ernic_qp_query(Ernic *e, uint32_t uctx, uint32_t qpn,
                       struct ernic_qp_attr *attr);
uint8_t ernic_qp_destroy(Ernic *e, uint32_t uctx, uint32_t qpn);

#endif /* ERNIC_INTERFACES_VERBS_QP_COMMANDS_H */
