// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probe, resets and removal of the function.
 */
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include "shell.h"

#define RESET_POLL_US	100
#define RESET_LIMIT_US	500000
/* The windows of the shell, through which the ERNIC reaches memory, end here. */
#define DMA_BITS	40

static const struct shell_kind reconic = {
	.name = "RecoNIC", .metadata_shift = 16, .entry_shift = 4, .ernic = true,
};

static const struct shell_kind opennic = {
	.name = "OpenNIC", .metadata_shift = 0, .entry_shift = 32,
};

/* ---- resets ---------------------------------------------------------------------- */

/* Writes @bit to a register of resets; the next register says when it is done. */
static int reset_part(struct shell *s, u32 reg, u32 bit)
{
	u32 value;
	int err;

	shell_write(s, reg, bit);
	err = readl_poll_timeout(s->user + reg + 4, value, value & bit, RESET_POLL_US,
				 RESET_LIMIT_US);
	if (err)
		dev_err(&s->pdev->dev, "reset %x of %x does not end\n", bit, reg);
	return err;
}

int shell_reset_ernic(struct shell *s)
{
	return reset_part(s, SHELL_RESET, SHELL_ERNIC);
}

/* All of the card begins anew: what a driver or a program has left does not matter. */
static int reset_card(struct shell *s)
{
	return reset_part(s, SHELL_SYSTEM_RESET, BIT(0));
}

static int init_card(struct shell *s)
{
	int err = qdma_init(s);

	return err ? err : shell_mm_open(s);
}

static void reset_prepare(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	shell_user_leave(s);
	rtnl_lock();
	netif_device_detach(s->netdev);
	if (netif_running(s->netdev))
		shell_net_stop(s->netdev);
	shell_mm_close(s);
	/* No handler reads registers during the reset. */
	qdma_write(s, QDMA_ERR_MASK, 0);
	synchronize_irq(pci_irq_vector(pdev, SHELL_VECTOR_ERROR));
	rtnl_unlock();
}

static void reset_done(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);
	int err;

	rtnl_lock();
	err = reset_card(s);
	if (!err) {
		pci_set_master(pdev);
		err = init_card(s);
	}
	if (!err && netif_running(s->netdev))
		err = shell_net_open(s->netdev);
	if (err)
		dev_err(&pdev->dev, "does not work after a reset: %d\n", err);
	else
		netif_device_attach(s->netdev);
	rtnl_unlock();
	if (!err)
		shell_user_back(s);
}

/* Sleep is like a reset: without power the card loses its state. */
static int suspend(struct device *dev)
{
	reset_prepare(to_pci_dev(dev));
	return 0;
}

static int resume(struct device *dev)
{
	reset_done(to_pci_dev(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(pm_ops, suspend, resume);

/* ---- interrupts -------------------------------------------------------------------- */

static irqreturn_t queue_irq(int irq, void *data)
{
	struct shell *s = data;

	napi_schedule(&s->napi);
	return IRQ_HANDLED;
}

static int request_irqs(struct shell *s)
{
	struct device *dev = &s->pdev->dev;
	int err;

	err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_TX), queue_irq, 0,
			       "ernic_shell-tx", s);
	if (!err)
		err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_RX),
				       queue_irq, 0, "ernic_shell-rx", s);
	if (!err)
		err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_MM),
				       shell_mm_irq, 0, "ernic_shell-mm", s);
	if (!err)
		err = devm_request_threaded_irq(dev, pci_irq_vector(s->pdev,
								    SHELL_VECTOR_ERROR),
						NULL, qdma_error_irq, IRQF_ONESHOT,
						"ernic_shell-error", s);
	return err;
}

/* ---- the function -------------------------------------------------------------------- */

static bool has_bar(struct pci_dev *pdev, int bar, resource_size_t size)
{
	return (pci_resource_flags(pdev, bar) & IORESOURCE_MEM) &&
	       pci_resource_len(pdev, bar) >= size;
}

static int map_bars(struct shell *s)
{
	int err;

	if (!has_bar(s->pdev, QDMA_BAR, SZ_128K) || !has_bar(s->pdev, SHELL_BAR, SZ_64K))
		return -ENODEV;
	err = pci_request_regions(s->pdev, "ernic_shell");
	if (err)
		return err;
	s->qdma = pcim_iomap(s->pdev, QDMA_BAR, 0);
	s->user = pcim_iomap(s->pdev, SHELL_BAR, 0);
	return s->qdma && s->user ? 0 : -ENOMEM;
}

static int enable(struct shell *s)
{
	struct pci_dev *pdev = s->pdev;
	int err = pcim_enable_device(pdev);

	if (!err)
		err = map_bars(s);
	if (!err)
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(DMA_BITS));
	/* The work of an earlier kernel ends before it can interrupt this one. */
	if (!err)
		err = reset_card(s);
	if (err)
		return err;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, SHELL_VECTORS, SHELL_VECTORS, PCI_IRQ_MSIX);
	if (err < 0) {
		dev_err(&pdev->dev, "needs %d vectors of MSI-X: %d\n", SHELL_VECTORS, err);
		return err;
	}
	return request_irqs(s);
}

static void quiet(struct shell *s)
{
	shell_mm_close(s);
	qdma_write(s, QDMA_ERR_MASK, 0);
	reset_card(s);
	pci_clear_master(s->pdev);
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *nd = devm_alloc_etherdev(&pdev->dev, sizeof(struct shell));
	struct shell *s;
	int err;

	if (!nd)
		return -ENOMEM;
	SET_NETDEV_DEV(nd, &pdev->dev);
	s = netdev_priv(nd);
	s->pdev = pdev;
	s->netdev = nd;
	s->kind = (const struct shell_kind *)id->driver_data;
	pci_set_drvdata(pdev, s);
	mutex_init(&s->contexts);
	shell_mm_init(s);
	shell_net_init(s);
	err = enable(s);
	if (!err)
		err = init_card(s);
	if (err)
		return err;
	err = shell_net_register(s);
	if (err) {
		quiet(s);
		return err;
	}
	if (s->kind->ernic)
		err = shell_user_create(s);
	if (err) {
		shell_net_unregister(s);
		quiet(s);
	}
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	shell_user_destroy(s);
	shell_net_unregister(s);
	quiet(s);
}

/* The machine ends, or another kernel begins: the card leaves memory alone. */
static void shutdown(struct pci_dev *pdev)
{
	reset_prepare(pdev);
	quiet(pci_get_drvdata(pdev));
}

/* Both shells have this identity, and differ in the class. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, 0x903f), .class = PCI_CLASS_MEMORY_OTHER << 8,
	  .class_mask = 0xffff00, .driver_data = (kernel_ulong_t)&reconic },
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, 0x903f), .class = PCI_CLASS_NETWORK_OTHER << 8,
	  .class_mask = 0xffff00, .driver_data = (kernel_ulong_t)&opennic },
	{ }
};
MODULE_DEVICE_TABLE(pci, ids);

static const struct pci_error_handlers handlers = {
	.reset_prepare = reset_prepare,
	.reset_done = reset_done,
};

static struct pci_driver shell_driver = {
	.name = "ernic_shell",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
	.shutdown = shutdown,
	.err_handler = &handlers,
	.driver.pm = pm_sleep_ptr(&pm_ops),
};
module_pci_driver(shell_driver);

MODULE_DESCRIPTION("Network and ERNIC of cards with RecoNIC's or OpenNIC's shell");
MODULE_LICENSE("GPL");
