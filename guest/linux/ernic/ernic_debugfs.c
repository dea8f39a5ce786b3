// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters of the timing model in debugfs: a folder for each device with a model,
 * with the PCI address as its name.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <hw/rdma-ernic/ernic_counters.h>
#include "ernic.h"

static struct dentry *ernic_debugfs_root;

#define ERNIC_TIMING_NAME(symbol, name) name,
static const char * const ernic_stage_names[] = {
	ERNIC_TIMING_STAGES(ERNIC_TIMING_NAME)
};

static const char * const ernic_queue_names[] = {
	ERNIC_TIMING_QUEUES(ERNIC_TIMING_NAME)
};

#undef ERNIC_TIMING_NAME

/*
 * The counters, for kfree(), or an error: -EOPNOTSUPP without a model, or if its
 * tables are different from the driver's.
 */
static struct ernic_timing_info *ernic_timing_get(struct ernic_dev *dev)
{
	struct ernic_timing_info *info = kzalloc(sizeof(*info), GFP_KERNEL);
	int ret;

	if (!info)
		return ERR_PTR(-ENOMEM);
	ret = ernic_cmd_query(dev, ERNIC_CMD_QUERY_TIMING, 0, 0, info,
			      sizeof(*info));
	if (!ret &&
	    (le16_to_cpu(info->num_stages) != ERNIC_TIMING_NUM_STAGES ||
	     le16_to_cpu(info->stage_size) != sizeof(info->stage[0]) ||
	     le16_to_cpu(info->num_queues) != ERNIC_TIMING_NUM_QUEUES ||
	     le16_to_cpu(info->queue_size) != sizeof(info->queue[0])))
		ret = -EOPNOTSUPP;
	if (ret) {
		kfree(info);
		return ERR_PTR(ret);
	}
	return info;
}

/* Writes the name as one word, so that lines can be split at blanks. */
static void ernic_put_name(struct seq_file *m, const char *name)
{
	int width = 24;

	for (; *name; name++, width--)
		seq_putc(m, *name == ' ' || *name == '-' ? '_' : *name);
	seq_printf(m, "%*s", max(width, 1), "");
}

/* Writes lines: a name and n numbers each, in the order of their structure's members. */
static void ernic_put_rows(struct seq_file *m, const char * const *names, int rows,
			   const __le64 *value, int n)
{
	int i, k;

	for (i = 0; i < rows; i++) {
		ernic_put_name(m, names[i]);
		for (k = 0; k < n; k++)
			seq_printf(m, " %20llu", le64_to_cpu(value[i * n + k]));
		seq_putc(m, '\n');
	}
}

static void ernic_put_times(struct seq_file *m,
			    const struct ernic_timing_info *info)
{
	seq_printf(m, "since %llu now %llu\n", le64_to_cpu(info->since),
		   le64_to_cpu(info->now));
}

static int timing_stages_show(struct seq_file *m, void *unused)
{
	struct ernic_timing_info *info = ernic_timing_get(m->private);

	if (IS_ERR(info))
		return PTR_ERR(info);
	ernic_put_times(m, info);
	seq_printf(m, "%-24s %20s %20s %20s %20s %20s\n", "stage", "items",
		   "busy", "stalled", "idle", "waited");
	ernic_put_rows(m, ernic_stage_names, ERNIC_TIMING_NUM_STAGES,
		       (const __le64 *)info->stage,
		       sizeof(info->stage[0]) / sizeof(__le64));
	kfree(info);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(timing_stages);

static int timing_queues_show(struct seq_file *m, void *unused)
{
	struct ernic_timing_info *info = ernic_timing_get(m->private);

	if (IS_ERR(info))
		return PTR_ERR(info);
	ernic_put_times(m, info);
	seq_printf(m, "%-24s %20s %20s %20s %20s\n", "queue", "size", "count",
		   "peak", "area");
	ernic_put_rows(m, ernic_queue_names, ERNIC_TIMING_NUM_QUEUES,
		       (const __le64 *)info->queue,
		       sizeof(info->queue[0]) / sizeof(__le64));
	kfree(info);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(timing_queues);

void ernic_debugfs_add(struct ernic_dev *dev)
{
	struct ernic_timing_info *info;

	if (!debugfs_initialized())
		return;
	info = ernic_timing_get(dev);
	if (IS_ERR(info))
		return;
	kfree(info);
	dev->debugfs = debugfs_create_dir(pci_name(dev->pdev),
					  ernic_debugfs_root);
	debugfs_create_file("timing_stages", 0444, dev->debugfs, dev,
			    &timing_stages_fops);
	debugfs_create_file("timing_queues", 0444, dev->debugfs, dev,
			    &timing_queues_fops);
}

void ernic_debugfs_remove(struct ernic_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
}

void ernic_debugfs_init(void)
{
	ernic_debugfs_root = debugfs_create_dir("ernic", NULL);
}

void ernic_debugfs_exit(void)
{
	debugfs_remove_recursive(ernic_debugfs_root);
}
