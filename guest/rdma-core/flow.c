// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Rules that steer frames to raw packet queue pairs. The kernel does all the work.
 */
#include <errno.h>
#include <stdlib.h>

#include "ernic.h"

struct ibv_flow *ernic_create_flow(struct ibv_qp *ibqp,
				   struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow = calloc(1, sizeof(*flow));
	int ret;

	if (!flow)
		return NULL;
	ret = ibv_cmd_create_flow(ibqp, flow, attr, NULL, 0);
	return ret ? ernic_create_failed(flow, ret) : flow;
}

int ernic_destroy_flow(struct ibv_flow *flow)
{
	int ret = ibv_cmd_destroy_flow(flow);

	if (!ret)
		free(flow);
	return ret;
}
