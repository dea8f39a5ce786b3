// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PCI function: BAR, MSI-X vectors, event queues, and the order in which
 * the parts of the driver come and go.
 */
#include <linux/module.h>
#include "ernic.h"

static void ernic_async_event(struct ernic_dev *dev,
			      const struct ernic_eqe *eqe)
{
	u32 n = le32_to_cpu(eqe->element);

	ernic_ib_event(dev, eqe->type, n);
	if (eqe->type == ERNIC_EV_BAD_DOORBELL)
		dev_warn_ratelimited(&dev->pdev->dev,
				     "bad doorbell, kind %u queue %u\n",
				     le32_to_cpu(eqe->detail), n);
}

static void ernic_eq_drain(struct ernic_dev *dev, struct ernic_eq *eq)
{
	u32 seen = eq->ci;

	for (;;) {
		struct ernic_eqe *eqe = &eq->ring[eq->ci % ERNIC_EQ_DEPTH];
		u8 phase = !((eq->ci / ERNIC_EQ_DEPTH) & 1);

		if (READ_ONCE(eqe->phase) != phase)
			break;
		dma_rmb();
		ernic_async_event(dev, eqe);
		eq->ci++;
	}
	if (eq->ci != seen)
		ernic_doorbell(dev, ERNIC_DB(ERNIC_DB_EQ, eq->eqn, eq->ci));
}

static irqreturn_t ernic_irq_async(int irq, void *arg)
{
	struct ernic_dev *dev = arg;

	ernic_com_irq(dev);
	if (READ_ONCE(dev->events_on))
		ernic_eq_drain(dev, &dev->eqs[ERNIC_VEC_ASYNC]);
	return IRQ_HANDLED;
}

static irqreturn_t ernic_irq_comp(int irq, void *arg)
{
	struct ernic_dev *dev = arg;

	if (READ_ONCE(dev->events_on))
		ernic_eq_drain(dev, &dev->eqs[ERNIC_VEC_COMP]);
	return IRQ_HANDLED;
}

static int ernic_events_init(struct ernic_dev *dev)
{
	size_t bytes = ERNIC_EQ_DEPTH * sizeof(struct ernic_eqe);
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(dev->eqs); i++) {
		struct ernic_eq *eq = &dev->eqs[i];

		eq->ring = dmam_alloc_coherent(&dev->pdev->dev, bytes,
					       &eq->dma, GFP_KERNEL);
		if (!eq->ring)
			return -ENOMEM;
		ret = ernic_cmd_eq_create(dev, eq, i, i == ERNIC_VEC_ASYNC);
		if (ret)
			return ret;
	}
	/* an event that came before this is drained with the next one */
	smp_store_release(&dev->events_on, true);
	return 0;
}

static int ernic_irqs_init(struct ernic_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int ret;

	ret = pci_alloc_irq_vectors(pdev, ERNIC_VEC_COUNT, ERNIC_VEC_COUNT,
				    PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	ret = request_irq(pci_irq_vector(pdev, ERNIC_VEC_ASYNC),
			  ernic_irq_async, 0, "ernic-async", dev);
	if (ret)
		goto err_vectors;
	ret = request_irq(pci_irq_vector(pdev, ERNIC_VEC_COMP),
			  ernic_irq_comp, 0, "ernic-comp", dev);
	if (ret)
		goto err_async;
	return 0;

err_async:
	free_irq(pci_irq_vector(pdev, ERNIC_VEC_ASYNC), dev);
err_vectors:
	pci_free_irq_vectors(pdev);
	return ret;
}

static void ernic_irqs_fini(struct ernic_dev *dev)
{
	free_irq(pci_irq_vector(dev->pdev, ERNIC_VEC_COMP), dev);
	free_irq(pci_irq_vector(dev->pdev, ERNIC_VEC_ASYNC), dev);
	pci_free_irq_vectors(dev->pdev);
}

static int ernic_pci_init(struct ernic_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	u32 offset;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = pcim_iomap_regions(pdev, BIT(ERNIC_BAR_REGS), "ernic");
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	pci_set_master(pdev);

	dev->regs = pcim_iomap_table(pdev)[ERNIC_BAR_REGS];
	if (readl(ernic_reg(dev, magic)) != ERNIC_MAGIC ||
	    readl(ernic_reg(dev, abi_version)) != ERNIC_ABI_VERSION) {
		dev_err(&pdev->dev, "not a device that this driver knows\n");
		return -ENODEV;
	}
	offset = readl(ernic_reg(dev, db_offset));
	dev->db_shift = readl(ernic_reg(dev, db_shift));
	if (dev->db_shift < PAGE_SHIFT) {
		dev_err(&pdev->dev, "doorbells of two contexts in a page\n");
		return -ENODEV;
	}
	dev->db = dev->regs + offset;
	dev->db_phys = pci_resource_start(pdev, ERNIC_BAR_REGS) + offset;
	return 0;
}

static int ernic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ernic_dev *dev;
	int ret;

	dev = ib_alloc_device(ernic_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->pdev = pdev;
	spin_lock_init(&dev->table_lock);
	xa_init(&dev->cqs);
	xa_init(&dev->qps);
	xa_init(&dev->srqs);
	pci_set_drvdata(pdev, dev);

	ret = ernic_pci_init(dev);
	if (ret)
		goto err_dealloc;
	ernic_com_prepare(dev);
	ret = ernic_irqs_init(dev);
	if (ret)
		goto err_dealloc;
	ret = ernic_com_init(dev);
	if (ret)
		goto err_irqs;
	ret = ernic_cmd_query(dev, ERNIC_CMD_QUERY_DEVICE, 0, 0, &dev->attr,
			      sizeof(dev->attr));
	if (ret)
		goto err_com;
	ret = ernic_events_init(dev);
	if (ret)
		goto err_com;
	ret = ernic_net_register(dev);
	if (ret)
		goto err_com;
	ret = ernic_ib_register(dev);
	if (ret)
		goto err_net;
	return 0;

err_net:
	ernic_net_unregister(dev);
err_com:
	ernic_com_fini(dev);
err_irqs:
	ernic_irqs_fini(dev);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

static void ernic_remove(struct pci_dev *pdev)
{
	struct ernic_dev *dev = pci_get_drvdata(pdev);

	ib_unregister_device(&dev->ibdev);
	ernic_net_unregister(dev);
	ernic_com_fini(dev);
	ernic_irqs_fini(dev);
	ib_dealloc_device(&dev->ibdev);
}

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
};
module_pci_driver(ernic_pci_driver);

MODULE_DESCRIPTION("RoCEv2 and Ethernet driver for rdma-ernic");
MODULE_LICENSE("GPL");
