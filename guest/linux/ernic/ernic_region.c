// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions of every kind: the commands that give them their keys, and their memory.
 */
#include "ernic_verbs.h"

static_assert(IB_ACCESS_LOCAL_WRITE == ERNIC_ACCESS_LOCAL_WRITE);
static_assert(IB_ACCESS_REMOTE_WRITE == ERNIC_ACCESS_REMOTE_WRITE);
static_assert(IB_ACCESS_REMOTE_READ == ERNIC_ACCESS_REMOTE_READ);
static_assert(IB_ACCESS_REMOTE_ATOMIC == ERNIC_ACCESS_REMOTE_ATOMIC);
static_assert(IB_ACCESS_MW_BIND == ERNIC_ACCESS_MW_BIND);
static_assert(IB_ZERO_BASED == ERNIC_ACCESS_ZERO_BASED);
static_assert(IB_ACCESS_ON_DEMAND == ERNIC_ACCESS_ON_DEMAND);
static_assert(IB_ACCESS_FLUSH_GLOBAL == ERNIC_ACCESS_FLUSH_GLOBAL);

int ernic_region_create(struct ernic_dev *dev, struct ernic_mr *mr,
			struct ernic_cmd *cmd)
{
	int ret;

	cmd->uctx = cpu_to_le32(mr->uctx);
	ret = ernic_cmd_exec(dev, cmd, &mr->ibmr.lkey);
	mr->ibmr.rkey = mr->ibmr.lkey;
	return ret;
}

int ernic_region_register(struct ernic_dev *dev, struct ernic_mr *mr,
			  struct ernic_pd *pd, struct ernic_cmd *cmd)
{
	cmd->opcode = ERNIC_CMD_MR_REG;
	cmd->mr_reg.pd = cpu_to_le32(pd->pdn);
	cmd->mr_reg.access = cpu_to_le32(mr->access & (ERNIC_ACCESS_FLAGS |
						       ERNIC_ACCESS_ON_DEMAND));
	return ernic_region_create(dev, mr, cmd);
}

void ernic_region_release(struct ernic_dev *dev, struct ernic_mr *mr)
{
	ib_umem_release(mr->umem);
	if (mr->list)
		dma_free_coherent(&dev->pdev->dev,
				  mr->max_pages * sizeof(*mr->list), mr->list,
				  mr->list_dma);
	kfree(mr);
}
