/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Changes of a queue pair's attributes and state by software, whatever its interface.
 */
#ifndef ERNIC_TRANSPORT_QP_MODIFY_H
#define ERNIC_TRANSPORT_QP_MODIFY_H

#include "objects/qp.h"

/*
 * Check that @qp may enter state @to with the attributes of @mask (ERNIC_QPA_*), whose
 * values are in @attr. Returns an ernic_status; ERNIC_ERR_BUSY: pending READs and
 * atomics need more entries than max_dest_rd_atomic gives. The interface checks
 * CUR_STATE and PORT, which the context does not hold.
 */
uint8_t ernic_qp_modify_check(const Ernic *e, const ErnicQp *qp, uint8_t to,
                              uint32_t mask, const ErnicQpAttr *attr);
/* Make the change, which ernic_qp_modify_check() allows. */
void ernic_qp_change(Ernic *e, ErnicQp *qp, uint8_t to, uint32_t mask,
                     const ErnicQpAttr *attr);

#endif /* ERNIC_TRANSPORT_QP_MODIFY_H */
