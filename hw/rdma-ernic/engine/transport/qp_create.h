/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pairs that software creates and destroys, whatever its interface: their
 * numbers, and their references to other objects.
 */
#ifndef ERNIC_TRANSPORT_QP_CREATE_H
#define ERNIC_TRANSPORT_QP_CREATE_H

#include "objects/qp.h"

/* The objects that a new queue pair uses; the interface has checked that they exist. */
typedef struct ErnicQpInit {
    uint8_t type;               /* enum ernic_qp_type */
    uint8_t flags;              /* ERNIC_QPF_* */
    uint32_t uctx;
    uint32_t pd;                /* XRC target: its domain; 0: none yet */
    uint32_t send_cq, recv_cq, srq;     /* 0: none */
} ErnicQpInit;

/*
 * Create a queue pair in Reset, number *@qpn. It owns the pages of both rings from now
 * on. ERNIC_ERR_NO_RESOURCE: the numbers or the memory are used up, or there is a GSI
 * queue pair; then the pages of the rings are free.
 */
uint8_t ernic_qp_add(Ernic *e, const ErnicQpInit *init, ErnicWq *sq, ErnicWq *rq,
                     uint32_t *qpn);
/* Give @qp, which has none, the protection domain @pd; or it has @pd already. */
void ernic_qp_set_pd(Ernic *e, ErnicQp *qp, uint32_t pd);
/* Destroy @qp. ERNIC_ERR_BUSY: an RSS table uses it. */
uint8_t ernic_qp_remove(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_QP_CREATE_H */
