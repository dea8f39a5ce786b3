/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The commands to the kernel, with the parts that ernic.ko adds to them.
 */
#ifndef ERNIC_CMD_H
#define ERNIC_CMD_H

#include <infiniband/kern-abi.h>
#include <rdma/ernic-abi.h>
#include <kernel-abi/ernic-abi.h>

DECLARE_DRV_CMD(uernic_get_context, IB_USER_VERBS_CMD_GET_CONTEXT, empty,
		ernic_alloc_ucontext_resp);
DECLARE_DRV_CMD(uernic_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD, empty,
		ernic_alloc_pd_resp);
DECLARE_DRV_CMD(uernic_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		ernic_create_cq_req, ernic_create_cq_resp);
DECLARE_DRV_CMD(uernic_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		ernic_resize_cq_req, empty);
DECLARE_DRV_CMD(uernic_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		ernic_create_srq_req, ernic_create_srq_resp);
DECLARE_DRV_CMD(uernic_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		ernic_create_srq_req, ernic_create_srq_resp);
DECLARE_DRV_CMD(uernic_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		ernic_resize_srq_req, empty);
DECLARE_DRV_CMD(uernic_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		ernic_create_qp_req, ernic_create_qp_resp);
DECLARE_DRV_CMD(uernic_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		ernic_modify_qp_req, empty);
DECLARE_DRV_CMD(uernic_create_wq, IB_USER_VERBS_EX_CMD_CREATE_WQ,
		ernic_create_wq_req, empty);
DECLARE_DRV_CMD(uernic_create_rss, IB_USER_VERBS_EX_CMD_CREATE_QP,
		ernic_create_rss_req, ernic_create_qp_resp);
DECLARE_DRV_CMD(uernic_create_ah, IB_USER_VERBS_CMD_CREATE_AH, empty,
		ernic_create_ah_resp);

#endif /* ERNIC_CMD_H */
