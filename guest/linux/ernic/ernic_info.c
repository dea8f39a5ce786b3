// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Information for tools: attributes in sysfs, and details of resources for rdma(8).
 */
#include <rdma/restrack.h>
#include "ernic_verbs.h"

/* There is no firmware: this is the version of the ABI instead. */
void ernic_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.0.0",
		 le32_to_cpu(to_dev(ibdev)->attr.abi_version));
}

static struct pci_dev *ernic_sysfs_pdev(struct device *d)
{
	return rdma_device_to_drv_device(d, struct ernic_dev, ibdev)->pdev;
}

static ssize_t hw_rev_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%#x\n", ernic_sysfs_pdev(d)->revision);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "ernic\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	struct pci_dev *pdev = ernic_sysfs_pdev(d);

	return sysfs_emit(buf, "%04x:%04x\n", pdev->vendor, pdev->device);
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *ernic_attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL
};

const struct attribute_group ernic_attr_group = {
	.attrs = ernic_attrs,
};

struct ernic_res {
	const char *name;
	u64 value;
};

static int ernic_put_res(struct sk_buff *msg, const struct ernic_res *res,
			 size_t n)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	size_t i;

	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (rdma_nl_put_driver_u64(msg, res[i].name, res[i].value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

int ernic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct ernic_qp *qp = to_qp(ibqp);
	const struct ernic_res res[] = {
		{ "uctx", qp->uctx },
		{ "sq_wr", qp->cap.max_send_wr },
		{ "sq_sge", qp->cap.max_send_sge },
		{ "rq_wr", qp->cap.max_recv_wr },
		{ "rq_sge", qp->cap.max_recv_sge },
		{ "inline", qp->cap.max_inline_data },
	};

	return ernic_put_res(msg, res, ARRAY_SIZE(res));
}

int ernic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct ernic_cq *cq = to_cq(ibcq);
	const struct ernic_res res[] = {
		{ "uctx", cq->uctx },
		{ "hw_cqn", cq->cqn },
	};

	return ernic_put_res(msg, res, ARRAY_SIZE(res));
}

int ernic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct ernic_mr *mr = to_mr(ibmr);
	const struct ernic_res res[] = {
		{ "uctx", mr->uctx },
		{ "iova", mr->iova },
		{ "access", mr->access },
	};

	return ernic_put_res(msg, res, ARRAY_SIZE(res));
}
