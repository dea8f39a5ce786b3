// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands and responses: reset, the rings, and the end of a device that does not
 * answer any more.
 */
#include <linux/jiffies.h>
#include "ernic.h"

/* A lost interrupt, or a device that has stopped, is detected within this time. */
#define ERNIC_CMD_LOOK		(HZ / 2)
/*
 * An emulated device may wait long for a processor of its host. Looks are counted, not
 * time: the guest's clock goes on while its whole QEMU is stopped.
 */
#define ERNIC_CMD_LOOKS		60

static const int ernic_errno[ERNIC_STATUS_COUNT] = {
	[ERNIC_OK] = 0,
	[ERNIC_ERR_OPCODE] = -EOPNOTSUPP,
	[ERNIC_ERR_RESERVED] = -EINVAL,
	[ERNIC_ERR_HANDLE] = -ENOENT,
	[ERNIC_ERR_PARAM] = -EINVAL,
	[ERNIC_ERR_STATE] = -EINVAL,
	[ERNIC_ERR_ATTR_MASK] = -EINVAL,
	[ERNIC_ERR_NO_RESOURCE] = -ENOMEM,
	[ERNIC_ERR_BUSY] = -EBUSY,
	[ERNIC_ERR_DMA] = -EFAULT,
	[ERNIC_ERR_PERM] = -EPERM,
	[ERNIC_ERR_FULL] = -ENOSPC,
};

static size_t ernic_ring_bytes(void)
{
	return sizeof(struct ernic_cmd) << ERNIC_CMD_SHIFT;
}

static bool ernic_com_answered(struct ernic_dev *dev, u32 index)
{
	u32 slot = index & ((1 << ERNIC_CMD_SHIFT) - 1);
	u8 phase = !((index >> ERNIC_CMD_SHIFT) & 1);

	return READ_ONCE(dev->com.rsps[slot].phase) == phase;
}

/*
 * A device that something else has reset is not enabled. The registers of an absent
 * device read as ones, FATAL included.
 */
static bool ernic_com_alive(struct ernic_dev *dev)
{
	u32 status = readl(ernic_reg(dev, status));

	return (status & (ERNIC_STATUS_ENABLED | ERNIC_STATUS_FATAL)) ==
	       ERNIC_STATUS_ENABLED;
}

/* True: answered. */
static bool ernic_com_wait(struct ernic_dev *dev, u32 index)
{
	int looks = 0;

	while (!wait_event_timeout(dev->com.wait,
				   ernic_com_answered(dev, index),
				   ERNIC_CMD_LOOK)) {
		if (!ernic_com_alive(dev) || ++looks == ERNIC_CMD_LOOKS)
			return ernic_com_answered(dev, index);
	}
	return true;
}

/* The reset has arrived when the read returns. */
static void ernic_com_reset(struct ernic_dev *dev)
{
	writel(ERNIC_CONTROL_RESET, ernic_reg(dev, control));
	readl(ernic_reg(dev, status));
}

static void ernic_com_die(struct ernic_dev *dev, u8 opcode)
{
	dev_err(&dev->pdev->dev,
		"command %u: no answer, status %#x, error %u; device reset\n",
		opcode, readl(ernic_reg(dev, status)),
		readl(ernic_reg(dev, error)));
	ernic_com_reset(dev);
	/* also ends DMA if the reset has not reached the device */
	pci_clear_master(dev->pdev);
	smp_store_release(&dev->com.dead, true);
	schedule_work(&dev->fatal_work);
	schedule_work(&dev->flush_work);
}

/*
 * Copies the answer. That of an older device is shorter: the rest is 0, and not what
 * an earlier command has left in the page.
 */
static void ernic_com_answer(struct ernic_com *com, size_t answer, void *out,
			     size_t out_len)
{
	size_t n = min(answer, out_len);

	memcpy(out, com->buf, n);
	memset(out + n, 0, out_len - n);
}

int ernic_com_exec(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle,
		   const void *in, size_t in_len, void *out, size_t out_len)
{
	struct ernic_com *com = &dev->com;
	struct ernic_rsp rsp;
	u32 index, slot;
	int ret = -EIO;

	if (WARN_ON(in_len > PAGE_SIZE || out_len > PAGE_SIZE))
		return -EINVAL;

	mutex_lock(&com->lock);
	if (com->dead)
		goto out;

	index = com->pi++;
	slot = index & ((1 << ERNIC_CMD_SHIFT) - 1);
	if (in)
		memcpy(com->buf, in, in_len);
	cmd->tag = cpu_to_le16(index);
	com->cmds[slot] = *cmd;
	/* writel() makes the entry visible before the doorbell */
	writel(com->pi, ernic_reg(dev, cmd_pi));

	if (!ernic_com_wait(dev, index)) {
		ernic_com_die(dev, cmd->opcode);
		goto out;
	}
	dma_rmb();
	rsp = com->rsps[slot];
	if (rsp.status >= ERNIC_STATUS_COUNT)
		goto out;
	ret = ernic_errno[rsp.status];
	if (!ret && handle)
		*handle = le32_to_cpu(rsp.handle);
	if (!ret && out)
		ernic_com_answer(com, le32_to_cpu(rsp.length), out, out_len);
out:
	mutex_unlock(&com->lock);
	return ret;
}

void ernic_com_irq(struct ernic_dev *dev)
{
	wake_up(&dev->com.wait);
}

/* Prepares for interrupts, and resets the device, which may be in any state. */
void ernic_com_prepare(struct ernic_dev *dev)
{
	mutex_init(&dev->com.lock);
	init_waitqueue_head(&dev->com.wait);
	ernic_com_reset(dev);
}

static int ernic_com_alloc(struct ernic_dev *dev)
{
	struct ernic_com *com = &dev->com;
	struct device *d = &dev->pdev->dev;

	com->cmds = dma_alloc_coherent(d, ernic_ring_bytes(), &com->cmds_dma,
				       GFP_KERNEL);
	com->rsps = dma_alloc_coherent(d, ernic_ring_bytes(), &com->rsps_dma,
				       GFP_KERNEL);
	com->buf = dma_alloc_coherent(d, PAGE_SIZE, &com->buf_dma, GFP_KERNEL);
	return com->cmds && com->rsps && com->buf ? 0 : -ENOMEM;
}

int ernic_com_init(struct ernic_dev *dev)
{
	struct ernic_com *com = &dev->com;
	int ret = ernic_com_alloc(dev);

	if (ret)
		goto err;
	writeq(com->cmds_dma, ernic_reg(dev, cmd_addr));
	writeq(com->rsps_dma, ernic_reg(dev, rsp_addr));
	writel(ERNIC_CMD_SHIFT, ernic_reg(dev, ring_shift));
	writel(ERNIC_CONTROL_ENABLE, ernic_reg(dev, control));
	if (readl(ernic_reg(dev, status)) & ERNIC_STATUS_ENABLED)
		return 0;
	dev_err(&dev->pdev->dev, "not enabled, error %u\n",
		readl(ernic_reg(dev, error)));
	ret = -EIO;
err:
	ernic_com_fini(dev);
	return ret;
}

void ernic_com_stop(struct ernic_dev *dev)
{
	mutex_lock(&dev->com.lock);
	ernic_com_reset(dev);
	smp_store_release(&dev->com.dead, true);
	mutex_unlock(&dev->com.lock);
}

void ernic_com_fini(struct ernic_dev *dev)
{
	struct ernic_com *com = &dev->com;
	struct device *d = &dev->pdev->dev;

	if (com->cmds)
		dma_free_coherent(d, ernic_ring_bytes(), com->cmds,
				  com->cmds_dma);
	if (com->rsps)
		dma_free_coherent(d, ernic_ring_bytes(), com->rsps,
				  com->rsps_dma);
	if (com->buf)
		dma_free_coherent(d, PAGE_SIZE, com->buf, com->buf_dma);
}
