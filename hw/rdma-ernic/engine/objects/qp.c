/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pairs by number.
 */
#include "qemu/osdep.h"
#include "objects/qp.h"

ErnicQp *ernic_qp_get(Ernic *e, uint32_t uctx, uint32_t qpn)
{
    if (qpn == 0 || qpn >= e->qp_ids.size || !e->qp[qpn].used ||
        e->qp[qpn].uctx != uctx) {
        return NULL;
    }
    return &e->qp[qpn];
}
