// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenNIC's shell, and RecoNIC's, which is made of it: BARs, resets, interrupts, the MAC
 * and the table of queues.
 */
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/sizes.h>
#include "shell_qdma.h"

#define RESET_POLL_US	100
#define RESET_LIMIT_US	500000

static int map_bars(struct shell *s)
{
	int err;

	mutex_init(&s->contexts);
	qdma_mm_init(s);
	if (!shell_has_bar(s->pdev, QDMA_BAR, SZ_128K) ||
	    !shell_has_bar(s->pdev, SHELL_BAR, SZ_64K))
		return -ENODEV;
	err = pci_request_regions(s->pdev, "ernic_shell");
	if (err)
		return err;
	s->qdma = pcim_iomap(s->pdev, QDMA_BAR, 0);
	s->user = pcim_iomap(s->pdev, SHELL_BAR, 0);
	return s->qdma && s->user ? 0 : -ENOMEM;
}

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

static int reset_ernic(struct shell *s)
{
	return reset_part(s, SHELL_RESET, SHELL_ERNIC);
}

static int reset_card(struct shell *s)
{
	return reset_part(s, SHELL_SYSTEM_RESET, BIT(0));
}

static int start(struct shell *s)
{
	int err = qdma_init(s);

	return err ? err : qdma_mm_open(s);
}

static void stop(struct shell *s)
{
	qdma_mm_close(s);
	qdma_write(s, QDMA_ERR_MASK, 0);
	synchronize_irq(pci_irq_vector(s->pdev, SHELL_VECTOR_ERROR));
}

/* ---- interrupts -------------------------------------------------------------------- */

static irqreturn_t queue_irq(int irq, void *data)
{
	struct shell *s = data;

	napi_schedule(&s->queue.napi);
	return IRQ_HANDLED;
}

static int request_irqs(struct shell *s)
{
	struct device *dev = &s->pdev->dev;
	int err = pci_alloc_irq_vectors(s->pdev, SHELL_VECTORS, SHELL_VECTORS, PCI_IRQ_MSIX);

	if (err < 0) {
		dev_err(dev, "needs %d vectors of MSI-X: %d\n", SHELL_VECTORS, err);
		return err;
	}
	err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_TX), queue_irq, 0,
			       "ernic_shell-tx", s);
	if (!err)
		err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_RX),
				       queue_irq, 0, "ernic_shell-rx", s);
	if (!err)
		err = devm_request_irq(dev, pci_irq_vector(s->pdev, SHELL_VECTOR_MM),
				       qdma_mm_irq, 0, "ernic_shell-mm", s);
	if (!err)
		err = devm_request_threaded_irq(dev, pci_irq_vector(s->pdev,
								    SHELL_VECTOR_ERROR),
						NULL, qdma_error_irq, IRQF_ONESHOT,
						"ernic_shell-error", s);
	return err;
}

/* ---- the port ---------------------------------------------------------------------- */

/* One queue, to which all entries of the table lead. */
static void enable_queue(struct shell *s, bool on)
{
	int i;

	for (i = 0; i < SHELL_TABLE_SIZE; i++)
		shell_write(s, SHELL_TABLE(i), 0);
	shell_write(s, SHELL_QUEUES, SHELL_QUEUE << 16 | on);
}

static void enable_mac(struct shell *s, bool rx, bool tx)
{
	if (rx) {
		enable_queue(s, true);
		shell_write(s, SHELL_MAC_FEC_MODE, 3);
		shell_write(s, SHELL_MAC_FEC, 7);
	}
	shell_write(s, SHELL_MAC_RX, rx);
	shell_write(s, SHELL_MAC_TX, tx);
	if (!rx && !tx)
		enable_queue(s, false);
}

static bool link_is_up(struct shell *s)
{
	shell_read(s, SHELL_MAC_LINK);		/* latched: what was */
	return shell_read(s, SHELL_MAC_LINK) == SHELL_MAC_LINK_UP;
}

static u64 read_counter(struct shell *s, u32 reg)
{
	return shell_read(s, reg) | (u64)shell_read(s, reg + 4) << 32;
}

/* The driver counts frames, the shell's adapter those that it lost. */
static void add_stats(struct shell *s, struct rtnl_link_stats64 *stats)
{
	stats->tx_dropped += read_counter(s, SHELL_TX_LOST);
	stats->rx_missed_errors += read_counter(s, SHELL_RX_LOST);
}

const struct shell_ops opennic_ops = {
	.tx_bytes = sizeof(struct qdma_h2c_desc),
	.rx_bytes = sizeof(__le64),
	.report_bytes = sizeof(__le64),
	.reports = SHELL_CMPTS,
	.map = map_bars,
	.reset = reset_card,
	.reset_ernic = reset_ernic,
	.irqs = request_irqs,
	.start = start,
	.stop = stop,
	.mac = enable_mac,
	.link = link_is_up,
	.copy = qdma_mm_copy,
	.stats = add_stats,
	.open = qdma_stream_open,
	.close = qdma_stream_close,
	.tx_post = qdma_tx_post,
	.tx_ring = qdma_tx_ring,
	.tx_done = qdma_tx_done,
	.rx_post = qdma_rx_post,
	.rx_next = qdma_rx_next,
	.rx_return = qdma_rx_return,
};
