// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PCI function, and the order in which the parts of the driver start and stop.
 */
#include <linux/module.h>
#include "ernic.h"

static bool records = true;
module_param(records, bool, 0444);
MODULE_PARM_DESC(records, "post requests by records in memory, if the device has them");

/* The control page; the BAR holds doorbells and device memory as well. */
static_assert(ERNIC_ETH_OFFSET + sizeof(struct ernic_eth_regs) <= PAGE_SIZE);

static int ernic_check_regs(struct ernic_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	u32 features, offset;
	u64 end;

	if (readl(ernic_reg(dev, magic)) != ERNIC_MAGIC ||
	    readl(ernic_reg(dev, abi_version)) != ERNIC_ABI_VERSION) {
		dev_err(&pdev->dev, "unknown device or ABI version\n");
		return -ENODEV;
	}
	features = readl(ernic_reg(dev, features));
	dev->records = records && (features & ERNIC_FEATURE_RECORDS);
	dev->sq_db = dev->records && (features & ERNIC_FEATURE_DB_RECORD) ?
		     ERNIC_DB_RECORD : 0;
	offset = readl(ernic_reg(dev, db_offset));
	dev->db_shift = readl(ernic_reg(dev, db_shift));
	if (dev->db_shift < PAGE_SHIFT || dev->db_shift > 31) {
		dev_err(&pdev->dev, "two contexts share a page of doorbells\n");
		return -ENODEV;
	}
	end = offset + ((u64)readl(ernic_reg(dev, num_uctx)) << dev->db_shift);
	if (end > pci_resource_len(pdev, ERNIC_BAR_REGS)) {
		dev_err(&pdev->dev, "doorbells beyond the BAR\n");
		return -ENODEV;
	}
	dev->db_phys = pci_resource_start(pdev, ERNIC_BAR_REGS) + offset;
	dev->db = pci_iomap_range(pdev, ERNIC_BAR_REGS, offset, PAGE_SIZE);
	return dev->db ? 0 : -ENOMEM;
}

/*
 * Maps no more of the BAR than the driver uses: pages that the kernel has mapped
 * uncached cannot be write-combining, as device memory shall be.
 */
static int ernic_map_regs(struct ernic_dev *dev)
{
	int ret;

	dev->regs = pci_iomap_range(dev->pdev, ERNIC_BAR_REGS, 0, PAGE_SIZE);
	if (!dev->regs)
		return -ENOMEM;
	ret = ernic_check_regs(dev);
	if (ret)
		pci_iounmap(dev->pdev, dev->regs);
	return ret;
}

static void ernic_unmap_regs(struct ernic_dev *dev)
{
	pci_iounmap(dev->pdev, dev->db);
	pci_iounmap(dev->pdev, dev->regs);
}

static int ernic_pci_init(struct ernic_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_region(pdev, ERNIC_BAR_REGS, "ernic");
	if (ret)
		goto err_enable;
	/* the span of the region that covers the whole memory */
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(46));
	if (ret)
		goto err_region;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ret = ernic_map_regs(dev);
	if (ret)
		goto err_region;
	ret = ernic_dm_init(dev);
	if (ret)
		goto err_map;
	return 0;

err_map:
	ernic_unmap_regs(dev);
err_region:
	pci_release_region(pdev, ERNIC_BAR_REGS);
err_enable:
	pci_disable_device(pdev);
	return ret;
}

static void ernic_pci_fini(struct ernic_dev *dev)
{
	ernic_dm_fini(dev);
	ernic_unmap_regs(dev);
	pci_release_region(dev->pdev, ERNIC_BAR_REGS);
	pci_disable_device(dev->pdev);
}

static void ernic_fatal(struct work_struct *work)
{
	struct ernic_dev *dev =
		container_of(work, struct ernic_dev, fatal_work);

	ernic_eqs_sync(dev);
	/* not there yet if the device dies during probe, which fails by itself */
	if (dev->netdev)
		ernic_netdev_fatal(dev);
	ernic_event_fatal(dev);
}

static void ernic_flush(struct work_struct *work)
{
	struct ernic_dev *dev =
		container_of(work, struct ernic_dev, flush_work);

	ernic_eqs_sync(dev);
	ernic_flush_cqs(dev);
}

/* Ends the works of a device that died. */
static void ernic_fatal_end(struct ernic_dev *dev)
{
	cancel_work_sync(&dev->fatal_work);
	cancel_work_sync(&dev->flush_work);
}

static struct ernic_dev *ernic_alloc(struct pci_dev *pdev)
{
	struct ernic_dev *dev = ib_alloc_device(ernic_dev, ibdev);

	if (!dev)
		return NULL;
	dev->pdev = pdev;
	INIT_WORK(&dev->fatal_work, ernic_fatal);
	INIT_WORK(&dev->flush_work, ernic_flush);
	mutex_init(&dev->number_lock);
	ernic_table_init(&dev->cqs);
	ernic_table_init(&dev->qps);
	ernic_table_init(&dev->srqs);
	ernic_table_init(&dev->odps);
	return dev;
}

/* Afterwards the device executes commands and reports events. */
static int ernic_start(struct ernic_dev *dev)
{
	int ret;

	ernic_com_prepare(dev);
	/* not before the reset: rings of an earlier kernel may be in memory of this one */
	pci_set_master(dev->pdev);
	ret = ernic_irqs_init(dev);
	if (ret)
		return ret;
	ret = ernic_com_init(dev);
	if (ret)
		goto err_irqs;
	ret = ernic_cmd_query(dev, ERNIC_CMD_QUERY_DEVICE, 0, 0, &dev->attr,
			      sizeof(dev->attr));
	if (ret)
		goto err_com;
	ret = ernic_odp_init(dev);
	if (ret)
		goto err_com;
	ret = ernic_eqs_init(dev);
	if (ret)
		goto err_eqs;
	return 0;

err_eqs:
	ernic_com_stop(dev);
	ernic_fatal_end(dev);
	ernic_odp_fini(dev);
	ernic_eqs_fini(dev);
err_com:
	ernic_com_stop(dev);
	ernic_fatal_end(dev);
	ernic_com_fini(dev);
err_irqs:
	ernic_irqs_fini(dev);
	return ret;
}

static void ernic_stop(struct ernic_dev *dev)
{
	ernic_com_stop(dev);
	ernic_fatal_end(dev);
	ernic_odp_fini(dev);
	ernic_eqs_fini(dev);
	ernic_irqs_fini(dev);
	ernic_com_fini(dev);
}

static int ernic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ernic_dev *dev = ernic_alloc(pdev);
	int ret;

	if (!dev)
		return -ENOMEM;
	ret = ernic_pci_init(dev);
	if (ret)
		goto err_dealloc;
	ret = ernic_start(dev);
	if (ret)
		goto err_pci;
	ernic_ptp_init(dev);
	ret = ernic_netdev_register(dev);
	if (ret)
		goto err_ptp;
	ret = ernic_ib_register(dev);
	if (ret)
		goto err_net;
	ernic_debugfs_add(dev);
	pci_set_drvdata(pdev, dev);
	return 0;

err_net:
	ernic_fatal_end(dev);
	ernic_netdev_unregister(dev);
err_ptp:
	ernic_ptp_fini(dev);
	ernic_stop(dev);
err_pci:
	ernic_pci_fini(dev);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

static void ernic_remove(struct pci_dev *pdev)
{
	struct ernic_dev *dev = pci_get_drvdata(pdev);

	/* NULL if the device did not come back from a reset */
	if (!dev)
		return;
	pci_set_drvdata(pdev, NULL);
	ernic_debugfs_remove(dev);
	ernic_ib_unregister(dev);
	ernic_fatal_end(dev);
	ernic_netdev_unregister(dev);
	ernic_ptp_fini(dev);
	ernic_stop(dev);
	ernic_pci_fini(dev);
	ib_dealloc_device(&dev->ibdev);
}

/*
 * A function level reset by the user: the device loses all its state, so the driver
 * stops before it and starts again afterwards.
 */
static void ernic_reset_prepare(struct pci_dev *pdev)
{
	ernic_remove(pdev);
}

static void ernic_reset_done(struct pci_dev *pdev)
{
	int ret = ernic_probe(pdev, NULL);

	if (ret)
		dev_err(&pdev->dev, "not back from the reset: %d\n", ret);
}

/* Sleep is like such a reset: without power the device loses its state. */
static int ernic_suspend(struct device *d)
{
	ernic_remove(to_pci_dev(d));
	return 0;
}

static int ernic_resume(struct device *d)
{
	return ernic_probe(to_pci_dev(d), NULL);
}

static DEFINE_SIMPLE_DEV_PM_OPS(ernic_pm_ops, ernic_suspend, ernic_resume);

static const struct pci_error_handlers ernic_err_handlers = {
	.reset_prepare = ernic_reset_prepare,
	.reset_done = ernic_reset_done,
};

static const struct pci_device_id ernic_pci_ids[] = {
	{ PCI_DEVICE(ERNIC_PCI_VENDOR, ERNIC_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ernic_pci_ids);

static struct pci_driver ernic_pci_driver = {
	.name = "ernic",
	.id_table = ernic_pci_ids,
	.probe = ernic_probe,
	.remove = ernic_remove,
	.err_handler = &ernic_err_handlers,
	.driver.pm = pm_sleep_ptr(&ernic_pm_ops),
};

static int __init ernic_init(void)
{
	int ret;

	ernic_debugfs_init();
	ret = pci_register_driver(&ernic_pci_driver);
	if (ret)
		ernic_debugfs_exit();
	return ret;
}
module_init(ernic_init);

static void __exit ernic_exit(void)
{
	pci_unregister_driver(&ernic_pci_driver);
	ernic_debugfs_exit();
}
module_exit(ernic_exit);

MODULE_DESCRIPTION("RoCEv2 and Ethernet driver for rdma-ernic");
MODULE_LICENSE("GPL");
