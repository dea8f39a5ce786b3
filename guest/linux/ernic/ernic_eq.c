// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MSI-X vectors and event queues: which vector serves which queue, and how events
 * get from the rings to ernic_event.c.
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include "ernic.h"

#define ERNIC_EQ_BYTES	(ERNIC_EQ_DEPTH * sizeof(struct ernic_eqe))

static void ernic_eq_drain(struct ernic_eq *eq)
{
	u32 seen = eq->ci;

	for (;;) {
		struct ernic_eqe *eqe = &eq->ring[eq->ci % ERNIC_EQ_DEPTH];
		u8 phase = !((eq->ci / ERNIC_EQ_DEPTH) & 1);

		if (READ_ONCE(eqe->phase) != phase)
			break;
		dma_rmb();
		ernic_event(eq->dev, eqe);
		eq->ci++;
	}
	if (eq->ci != seen)
		ernic_doorbell(eq->dev,
			       ERNIC_DB(ERNIC_DB_EQ, eq->eqn, eq->ci));
}

static irqreturn_t ernic_eq_irq(int irq, void *arg)
{
	struct ernic_eq *eq = arg;

	if (eq == &eq->dev->async_eq)
		ernic_com_irq(eq->dev);
	/* the works of a dead device report on its behalf: ernic_eqs_sync() */
	if (eq->on && !ernic_dead(eq->dev))
		ernic_eq_drain(eq);
	return IRQ_HANDLED;
}

static int ernic_eq_request(struct ernic_dev *dev, struct ernic_eq *eq,
			    unsigned int vector)
{
	unsigned int irq = pci_irq_vector(dev->pdev, vector);
	int ret;

	eq->dev = dev;
	ret = request_irq(irq, ernic_eq_irq, 0, eq->name, eq);
	if (!ret)
		eq->irq = irq;
	return ret;
}

static int ernic_eq_init(struct ernic_eq *eq, unsigned int vector, bool async)
{
	int ret;

	eq->ring = dma_alloc_coherent(&eq->dev->pdev->dev, ERNIC_EQ_BYTES,
				      &eq->dma, GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;
	ret = ernic_cmd_eq_create(eq->dev, eq, vector, async);
	if (ret)
		return ret;
	/* events whose interrupt has come before are read here */
	disable_irq(eq->irq);
	eq->on = true;
	ernic_eq_drain(eq);
	enable_irq(eq->irq);
	return 0;
}

static void ernic_eq_fini(struct ernic_eq *eq)
{
	if (eq->irq) {
		irq_set_affinity_and_hint(eq->irq, NULL);
		free_irq(eq->irq, eq);
		eq->irq = 0;
	}
	if (eq->ring)
		dma_free_coherent(&eq->dev->pdev->dev, ERNIC_EQ_BYTES,
				  eq->ring, eq->dma);
	eq->ring = NULL;
}

int ernic_irqs_init(struct ernic_dev *dev)
{
	struct ernic_eq *eq = &dev->async_eq;
	int n, ret;

	n = pci_alloc_irq_vectors(dev->pdev, ERNIC_VEC_COMP + 1,
				  ERNIC_VEC_COMP + num_online_cpus(),
				  PCI_IRQ_MSIX);
	if (n < 0)
		return dev_err_probe(&dev->pdev->dev, n,
				     "fewer than %u MSI-X vectors\n",
				     ERNIC_VEC_COMP + 1);
	dev->num_comp = n - ERNIC_VEC_COMP;
	strscpy(eq->name, "ernic-async", sizeof(eq->name));
	ret = ernic_eq_request(dev, eq, ERNIC_VEC_ASYNC);
	if (ret)
		pci_free_irq_vectors(dev->pdev);
	return ret;
}

void ernic_irqs_fini(struct ernic_dev *dev)
{
	ernic_eq_fini(&dev->async_eq);
	pci_free_irq_vectors(dev->pdev);
}

static int ernic_comp_eq_init(struct ernic_dev *dev, unsigned int i)
{
	int ret, cpu = cpumask_local_spread(i, dev_to_node(&dev->pdev->dev));
	struct ernic_eq *eq = &dev->comp_eqs[i];

	snprintf(eq->name, sizeof(eq->name), "ernic-comp%u", i);
	ret = ernic_eq_request(dev, eq, ERNIC_VEC_COMP + i);
	if (ret)
		return ret;
	irq_set_affinity_and_hint(eq->irq, cpumask_of(cpu));
	return ernic_eq_init(eq, ERNIC_VEC_COMP + i, false);
}

int ernic_eqs_init(struct ernic_dev *dev)
{
	unsigned int i;
	int ret;

	dev->num_comp = min(dev->num_comp, le32_to_cpu(dev->attr.max_eq) - 1);
	if (!dev->num_comp)
		return -ENOSPC;
	dev->comp_eqs = kcalloc(dev->num_comp, sizeof(*dev->comp_eqs),
				GFP_KERNEL);
	if (!dev->comp_eqs)
		return -ENOMEM;
	ret = ernic_eq_init(&dev->async_eq, ERNIC_VEC_ASYNC, true);
	for (i = 0; !ret && i < dev->num_comp; i++)
		ret = ernic_comp_eq_init(dev, i);
	return ret;
}

void ernic_eqs_sync(struct ernic_dev *dev)
{
	unsigned int i;

	synchronize_irq(dev->async_eq.irq);
	for (i = 0; dev->comp_eqs && i < dev->num_comp; i++)
		if (dev->comp_eqs[i].irq)
			synchronize_irq(dev->comp_eqs[i].irq);
}

void ernic_eq_read(struct ernic_eq *eq)
{
	/* no handler reads the ring meanwhile */
	disable_irq(eq->irq);
	/* softirqs that handlers of events raise run when these are enabled */
	local_bh_disable();
	if (!ernic_dead(eq->dev))
		ernic_eq_drain(eq);
	local_bh_enable();
	enable_irq(eq->irq);
}

void ernic_eqs_fini(struct ernic_dev *dev)
{
	unsigned int i;

	for (i = 0; dev->comp_eqs && i < dev->num_comp; i++)
		ernic_eq_fini(&dev->comp_eqs[i]);
	kfree(dev->comp_eqs);
	dev->comp_eqs = NULL;
}
