// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probe, resets and removal of functions. Two of one card are linked: the core binds the
 * second after the first, and unbinds it, suspends it and shuts it down before.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include "shell.h"

/* The second function of OpenNIC's shell. */
#define SECOND_DEVICE	0x913f

/* The windows of the other shells, through which the ERNIC reaches memory, end at 40. */
static const struct shell_kind reconic = {
	.name = "RecoNIC", .ops = &opennic_ops, .bar = 2, .dma_bits = 40, .ernic = true,
	.metadata_shift = 16, .entry_shift = 4,
};

static const struct shell_kind opennic = {
	.name = "OpenNIC", .ops = &opennic_ops, .bar = 2, .dma_bits = 40,
	.metadata_shift = 0, .entry_shift = 32,
};

static const struct shell_kind xib = {
	.name = "xib", .ops = &xib_ops, .bar = 0, .dma_bits = 64, .ernic = true,
};

/* ---- resets ---------------------------------------------------------------------- */

/* Under RTNL. */
static void leave(struct shell *s)
{
	netif_device_detach(s->netdev);
	if (netif_running(s->netdev))
		shell_net_stop(s->netdev);
	/* No handler reads registers during the reset. */
	shell_ops(s)->stop(s);
}

/* Under RTNL; the card was reset. */
static int come_back(struct shell *s)
{
	int err = shell_ops(s)->start(s);

	if (!err && netif_running(s->netdev))
		err = shell_net_open(s->netdev);
	if (err)
		dev_err(&s->pdev->dev, "does not work after a reset: %d\n", err);
	else
		netif_device_attach(s->netdev);
	return err;
}

/* That of the first function is one of the second, too. */
static void reset_prepare(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	shell_user_leave(s);
	rtnl_lock();
	if (s->second && !s->second->away)
		leave(s->second);
	if (!s->first->away)
		leave(s);
	s->away = true;
	rtnl_unlock();
}

static void reset_done(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);
	int err = 0;

	rtnl_lock();
	s->away = false;
	if (!s->first->away) {
		err = shell_ops(s)->reset(s);
		if (!err) {
			pci_set_master(pdev);
			err = come_back(s);
		}
		if (!err && s->second && !s->second->away)
			come_back(s->second);
	}
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

/* ---- the function -------------------------------------------------------------------- */

bool shell_has_bar(struct pci_dev *pdev, int bar, resource_size_t size)
{
	return (pci_resource_flags(pdev, bar) & IORESOURCE_MEM) &&
	       pci_resource_len(pdev, bar) >= size;
}

static int enable(struct shell *s)
{
	struct pci_dev *pdev = s->pdev;
	int err = pcim_enable_device(pdev);

	if (!err)
		err = shell_ops(s)->map(s);
	if (!err)
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(s->kind->dma_bits));
	/* The work of an earlier kernel ends before it can interrupt this one. */
	if (!err)
		err = shell_ops(s)->reset(s);
	if (err)
		return err;
	pci_set_master(pdev);
	err = shell_ops(s)->irqs(s);
	return err ? err : shell_ops(s)->start(s);
}

static void quiet(struct shell *s)
{
	shell_ops(s)->stop(s);
	shell_ops(s)->reset(s);
	pci_clear_master(s->pdev);
}

/* The first function has a driver: ours, because its identity is in the same table. */
static int join_first(struct shell *s)
{
	struct pci_dev *pdev = pci_get_slot(s->pdev->bus, s->pdev->devfn & ~7u);
	int err = -EPROBE_DEFER;

	if (!pdev)
		return -ENODEV;
	device_lock(&pdev->dev);
	if (pdev->dev.driver == s->pdev->dev.driver) {
		s->first = pci_get_drvdata(pdev);
		err = device_link_add(&s->pdev->dev, &pdev->dev,
				      DL_FLAG_AUTOPROBE_CONSUMER) ? 0 : -ENOMEM;
	}
	device_unlock(&pdev->dev);
	pci_dev_put(pdev);
	return err;
}

/* The first function leaves and resets the second one with itself. */
static void set_second(struct shell *s, struct shell *second)
{
	rtnl_lock();
	if (s->function)
		WRITE_ONCE(s->first->second, second);
	rtnl_unlock();
}

static int register_all(struct shell *s)
{
	int err = shell_net_register(s);

	if (err)
		return err;
	if (s->kind->ernic)
		err = shell_user_create(s);
	if (err)
		shell_net_unregister(s);
	return err;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *nd = devm_alloc_etherdev_mqs(&pdev->dev, sizeof(struct shell),
							SHELL_QUEUES_MAX,
							SHELL_QUEUES_MAX);
	struct shell *s;
	int err = 0;

	if (!nd)
		return -ENOMEM;
	SET_NETDEV_DEV(nd, &pdev->dev);
	s = netdev_priv(nd);
	s->pdev = pdev;
	s->netdev = nd;
	s->first = s;
	s->kind = (const struct shell_kind *)id->driver_data;
	s->function = id->device == SECOND_DEVICE;
	pci_set_drvdata(pdev, s);
	shell_net_init(s);
	if (s->function)
		err = join_first(s);
	if (!err)
		err = enable(s);
	if (err)
		return err;
	err = register_all(s);
	if (err)
		quiet(s);
	else
		set_second(s, s);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	set_second(s, NULL);
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

/* RecoNIC's and OpenNIC's have one identity, and differ in the class. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, 0x903f), .class = PCI_CLASS_MEMORY_OTHER << 8,
	  .class_mask = 0xffff00, .driver_data = (kernel_ulong_t)&reconic },
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, 0x903f), .class = PCI_CLASS_NETWORK_OTHER << 8,
	  .class_mask = 0xffff00, .driver_data = (kernel_ulong_t)&opennic },
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, SECOND_DEVICE),
	  .driver_data = (kernel_ulong_t)&opennic },
	{ PCI_DEVICE(PCI_VENDOR_ID_XILINX, 0x9038), .driver_data = (kernel_ulong_t)&xib },
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

MODULE_DESCRIPTION("Network and ERNIC of cards with RecoNIC's, OpenNIC's or the xib shell");
MODULE_LICENSE("GPL");
