// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probe, resets and removal of functions. Two of one card are linked: the core binds the
 * second after the first, and unbinds it, suspends it and shuts it down before.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include "shell.h"
#include "shell_regs.h"

/* The second function of OpenNIC's shell. */
#define SECOND_DEVICE	0x913f

/* The windows of the other shells, through which the ERNIC reaches memory, end at 40. */
static const struct shell_kind reconic = {
	.name = "RecoNIC", .ops = &opennic_ops, .bar = SHELL_BAR, .dma_bits = 40, .ernic = true,
	.metadata_shift = 16, .entry_shift = 4,
};

static const struct shell_kind opennic = {
	.name = "OpenNIC", .ops = &opennic_ops, .bar = SHELL_BAR, .dma_bits = 40,
	.metadata_shift = 0, .entry_shift = 32,
};

static const struct shell_kind xib = {
	.name = "xib", .ops = &xib_ops, .bar = 0, .dma_bits = 64, .ernic = true,
};

/* ---- resets ---------------------------------------------------------------------- */

/* Under RTNL. */
static void leave(struct shell *s)
{
	if (!s->works)
		return;
	s->works = false;
	netif_device_detach(s->netdev);
	if (netif_running(s->netdev))
		shell_net_stop(s->netdev);
	/* No handler reads registers during the reset. */
	shell_ops(s)->stop(s);
}

/* Under RTNL; the second function needs what the first one has set up. */
static int start(struct shell *s)
{
	int err = s->function && !s->first->works ? -ENODEV : shell_ops(s)->start(s);

	s->works = !err;
	if (err)
		shell_ops(s)->stop(s);
	return err;
}

/* Under RTNL. The one that is away comes back later, the second one with the first. */
static void come_back(struct shell *s)
{
	int err;

	if (s->away || s->first->away)
		return;
	err = shell_ops(s)->reset(s);
	if (!err) {
		pci_set_master(s->pdev);
		err = start(s);
	}
	if (err) {
		dev_err(&s->pdev->dev, "does not work after a reset: %d\n", err);
		return;
	}
	if (netif_running(s->netdev))
		shell_net_begin(s);
	netif_device_attach(s->netdev);
}

/* That of the first function is one of the second, too. */
static void reset_prepare(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	shell_user_leave(s);
	rtnl_lock();
	if (s->second)
		leave(s->second);
	leave(s);
	s->away = true;
	rtnl_unlock();
}

static void reset_done(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);
	bool works;

	rtnl_lock();
	s->away = false;
	come_back(s);
	if (s->second)
		come_back(s->second);
	works = s->works;
	rtnl_unlock();
	if (works)
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

static void init_locks(struct shell *s)
{
	mutex_init(&s->contexts);
	mutex_init(&s->mm.lock);
	init_completion(&s->mm.done);
	spin_lock_init(&s->channels);
}

/* NULL if it is not memory of @size bytes. */
static void __iomem *map_bar(struct shell *s, int bar, resource_size_t size)
{
	if (!(pci_resource_flags(s->pdev, bar) & IORESOURCE_MEM) ||
	    pci_resource_len(s->pdev, bar) < size)
		return NULL;
	return pcim_iomap(s->pdev, bar, 0);
}

static int map_bars(struct shell *s)
{
	const struct shell_ops *ops = shell_ops(s);

	s->user = map_bar(s, s->kind->bar, ops->user_bytes);
	if (ops->qdma_bytes)
		s->qdma = map_bar(s, QDMA_BAR, ops->qdma_bytes);
	return s->user && (s->qdma || !ops->qdma_bytes) ? 0 : -ENODEV;
}

static int enable(struct shell *s)
{
	struct pci_dev *pdev = s->pdev;
	int err = pcim_enable_device(pdev);

	if (!err)
		err = pci_request_regions(pdev, "ernic_shell");
	if (!err)
		err = map_bars(s);
	if (!err)
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(s->kind->dma_bits));
	/* The work of an earlier kernel ends before it can interrupt this one. */
	if (!err)
		err = shell_ops(s)->reset(s);
	if (err)
		return err;
	pci_set_master(pdev);
	return shell_ops(s)->irqs(s);
}

/*
 * First functions that work. No lock of another device is taken for a look at them: the
 * bus locks its devices in another order for a reset.
 */
static LIST_HEAD(firsts);
static DEFINE_MUTEX(firsts_lock);

/* Under the lock. */
static struct shell *find_first(struct shell *s)
{
	struct shell *one;

	list_for_each_entry(one, &firsts, firsts) {
		if (one->pdev->bus == s->pdev->bus && shell_ops(one) == shell_ops(s) &&
		    PCI_SLOT(one->pdev->devfn) == PCI_SLOT(s->pdev->devfn))
			return one;
	}
	return NULL;
}

/* The core probes again when another device has got its driver. */
static int join_first(struct shell *s)
{
	struct device_link *link;
	struct shell *first;
	int err = -EPROBE_DEFER;

	if (!PCI_FUNC(s->pdev->devfn))
		return -ENODEV;		/* a machine has been given this function alone */
	mutex_lock(&firsts_lock);
	first = find_first(s);
	if (first) {
		link = device_link_add(&s->pdev->dev, &first->pdev->dev,
				       DL_FLAG_AUTOPROBE_CONSUMER);
		/* Otherwise the first one leaves, and has not waited for this link. */
		if (link && link->status == DL_STATE_CONSUMER_PROBE) {
			s->first = first;
			err = 0;
		}
	}
	mutex_unlock(&firsts_lock);
	return err;
}

static void list_first(struct shell *s, bool add)
{
	if (s->function)
		return;
	mutex_lock(&firsts_lock);
	if (add)
		list_add(&s->firsts, &firsts);
	else
		list_del(&s->firsts);
	mutex_unlock(&firsts_lock);
}

/* From now on the first function leaves and resets the second one with itself. */
static int begin(struct shell *s)
{
	int err;

	rtnl_lock();
	err = start(s);
	if (!err && s->function)
		WRITE_ONCE(s->first->second, s);
	rtnl_unlock();
	return err;
}

static void end(struct shell *s)
{
	rtnl_lock();
	if (s->function)
		WRITE_ONCE(s->first->second, NULL);
	rtnl_unlock();
	shell_ops(s)->stop(s);
	shell_ops(s)->reset(s);
	pci_clear_master(s->pdev);
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
	if (!id->driver_data)
		return -ENODEV;		/* any device, by driver_override */
	SET_NETDEV_DEV(nd, &pdev->dev);
	s = netdev_priv(nd);
	s->pdev = pdev;
	s->netdev = nd;
	s->first = s;
	s->kind = (const struct shell_kind *)id->driver_data;
	s->function = id->device == SECOND_DEVICE;
	pci_set_drvdata(pdev, s);
	nd->ethtool_ops = &shell_ethtool_ops;
	init_locks(s);
	shell_net_init(s);
	if (s->function)
		err = join_first(s);
	if (!err)
		err = enable(s);
	if (!err)
		err = begin(s);
	if (err)
		return err;
	err = register_all(s);
	if (err)
		end(s);
	else
		list_first(s, true);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct shell *s = pci_get_drvdata(pdev);

	list_first(s, false);
	shell_user_destroy(s);
	shell_net_unregister(s);
	end(s);
}

/* The machine ends, or another kernel begins: the card leaves memory alone. */
static void shutdown(struct pci_dev *pdev)
{
	reset_prepare(pdev);
	end(pci_get_drvdata(pdev));
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
