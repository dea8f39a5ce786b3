// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory windows. Binding is a work request, which the process posts itself.
 */
#include "ernic_verbs.h"

static_assert((int)IB_MW_TYPE_1 == 1 && (int)IB_MW_TYPE_2 == 2);

int ernic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibmw->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MW_ALLOC };
	struct ernic_pd *pd = to_pd(ibmw->pd);
	struct ernic_mw *mw = to_mw(ibmw);
	int ret = ernic_no_request(udata);

	if (ret)
		return ret;
	mw->uctx = pd->uctx;
	cmd.uctx = cpu_to_le32(mw->uctx);
	cmd.mw_alloc.pd = cpu_to_le32(pd->pdn);
	cmd.mw_alloc.type = ibmw->type;
	return ernic_cmd_exec(dev, &cmd, &ibmw->rkey);
}

/* The device finds the window by its number, whatever key it has by now. */
int ernic_dealloc_mw(struct ib_mw *ibmw)
{
	return ernic_destroy(to_dev(ibmw->device), ERNIC_CMD_MW_FREE,
			     to_mw(ibmw)->uctx, ibmw->rkey);
}
