// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tools ask of the RDMA device: hardware counters, attributes in sysfs,
 * and what rdma(8) shows of resources.
 */
#include <hw/rdma-ernic/ernic_counters.h>
#include <rdma/restrack.h>
#include "ernic_verbs.h"

/* Those of the first list, then of the second behind NONE; no faults. */
static const struct rdma_stat_desc ernic_stats[] = {
#define ERNIC_STAT_DESC(n) { .name = #n },
	ERNIC_STATS_LIST(ERNIC_STAT_DESC)
#undef ERNIC_STAT_DESC
#define ERNIC_STAT_ONE(n) + 1
#define ERNIC_STATS_ROWS (0 ERNIC_STATS_LIST(ERNIC_STAT_ONE))
#define ERNIC_DROP_DESC(symbol, text) { .name = "drop_" text },
	ERNIC_DROP_REASONS(ERNIC_DROP_DESC)
#undef ERNIC_DROP_DESC
};

struct rdma_hw_stats *ernic_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(ernic_stats,
					  ARRAY_SIZE(ernic_stats),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int ernic_read_stats(struct ernic_dev *dev, __le64 *value)
{
	return ernic_cmd_query(dev, ERNIC_CMD_QUERY_STATS, 0, 0, value,
			       ERNIC_STATS_FAULTS * sizeof(*value));
}

int ernic_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		    u32 port, int index)
{
	__le64 *value;
	int i, at, ret;

	if (!port)
		return -EOPNOTSUPP;
	value = kcalloc(ERNIC_STATS_FAULTS, sizeof(*value), GFP_KERNEL);
	if (!value)
		return -ENOMEM;
	ret = ernic_read_stats(to_dev(ibdev), value);
	for (i = 0; !ret && i < ARRAY_SIZE(ernic_stats); i++) {
		at = i < ERNIC_STATS_ROWS ?
		     i : ERNIC_STATS_DROPS + 1 + i - ERNIC_STATS_ROWS;
		stats->value[i] = le64_to_cpu(value[at]);
	}
	kfree(value);
	return ret ?: ARRAY_SIZE(ernic_stats);
}

/* There is no firmware: the version of the contract stands in its place. */
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
