// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * XRC: domains and targets. The kernel owns targets and the process only has a handle;
 * their messages complete in SRQs.
 */
#include <errno.h>
#include <stdlib.h>

#include "ernic.h"
#include "ernic_cmd.h"

struct ibv_xrcd *ernic_open_xrcd(struct ibv_context *ibctx,
				 struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	int ret;

	if (!xrcd)
		return NULL;
	ret = ibv_cmd_open_xrcd(ibctx, xrcd, sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	return ret ? ernic_create_failed(xrcd, ret) : &xrcd->xrcd;
}

int ernic_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int ret = ibv_cmd_close_xrcd(xrcd);

	if (!ret)
		free(xrcd);
	return ret;
}

struct ibv_qp *ernic_create_tgt(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr)
{
	struct uernic_create_qp_resp resp = {};
	struct uernic_create_qp cmd = {};
	struct ernic_qp *qp;
	int ret;

	/* librdmacm passes a protection domain as well, which targets do not have. */
	if ((attr->comp_mask & ~IBV_QP_INIT_ATTR_PD) != IBV_QP_INIT_ATTR_XRCD)
		return ernic_create_failed(NULL, EOPNOTSUPP);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	ret = ibv_cmd_create_qp_ex(ibctx, &qp->vqp, attr, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	return ret ? ernic_create_failed(qp, ret) : &qp->vqp.qp;
}

struct ibv_qp *ernic_open_qp(struct ibv_context *ibctx,
			     struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct ernic_qp *qp = calloc(1, sizeof(*qp));
	int ret;

	if (!qp)
		return NULL;
	ret = ibv_cmd_open_qp(ibctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	return ret ? ernic_create_failed(qp, ret) : &qp->vqp.qp;
}

int ernic_destroy_tgt(struct ibv_qp *ibqp)
{
	int ret = ibv_cmd_destroy_qp(ibqp);

	if (!ret)
		free(to_ernic_qp(ibqp));
	return ret;
}
