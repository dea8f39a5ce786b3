// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenNIC's shell, and RecoNIC's, which is made of it: BARs, resets, interrupts, MACs and
 * tables of queues. A second port is a second function, which uses the QDMA and the
 * registers of the first one.
 */
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/sizes.h>
#include "shell_qdma.h"

#define RESET_POLL_US	100
#define RESET_LIMIT_US	500000

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

/* Of the whole card, by its first function. */
static int reset_card(struct shell *s)
{
	return s->function ? 0 : reset_part(s, SHELL_SYSTEM_RESET, BIT(0));
}

static int start(struct shell *s)
{
	int err;

	if (s->function)
		return qdma_function(s, SHELL_QUEUES_MAX);
	err = qdma_init(s);
	if (err)
		return err;
	qdma_errors_init(s);
	err = qdma_function(s, SHELL_QUEUES_NUM);
	return err ? err : qdma_mm_open(s);
}

static void stop(struct shell *s)
{
	if (s->function) {
		qdma_function(s, 0);
		synchronize_irq(s->first->error_irq);
		return;
	}
	qdma_mm_close(s);
	qdma_write(s, QDMA_ERR_MASK, 0);
	synchronize_irq(s->error_irq);
}

/* ---- interrupts -------------------------------------------------------------------- */

static irqreturn_t queue_irq(int irq, void *data)
{
	struct shell_queue *q = data;

	napi_schedule(&q->napi);
	return IRQ_HANDLED;
}

/* Those of the first function that no queue has: the card's memory, errors. */
static int request_others(struct shell *s)
{
	struct device *dev = &s->pdev->dev;
	int err;

	s->mm_vector = s->queues_max;
	s->error_irq = pci_irq_vector(s->pdev, s->queues_max + 1);
	err = devm_request_irq(dev, pci_irq_vector(s->pdev, s->mm_vector), qdma_mm_irq, 0,
			       "ernic_shell-mm", s);
	return err ? err : devm_request_threaded_irq(dev, s->error_irq, NULL,
						     qdma_error_irq, IRQF_ONESHOT,
						     "ernic_shell-error", s);
}

/* Both directions of a queue have one vector. */
static int request_irqs(struct shell *s)
{
	int others = s->function ? 0 : 2, num, err = 0;
	u32 i;

	num = pci_alloc_irq_vectors(s->pdev, 1 + others, SHELL_QUEUES_MAX + others,
				    PCI_IRQ_MSIX);
	if (num < 0) {
		dev_err(&s->pdev->dev, "needs %d vectors of MSI-X: %d\n", 1 + others, num);
		return num;
	}
	s->queues_max = num - others;
	for (i = 0; !err && i < s->queues_max; i++) {
		snprintf(s->queue[i].name, sizeof(s->queue[i].name), "ernic_shell%u-queue%u",
			 s->function, i);
		err = devm_request_irq(&s->pdev->dev, pci_irq_vector(s->pdev, i), queue_irq,
				       0, s->queue[i].name, &s->queue[i]);
	}
	return err || !others ? err : request_others(s);
}

/* ---- the port ---------------------------------------------------------------------- */

/* The table chooses one of the queues, counted from the first one of the function. */
static void spread(struct shell *s)
{
	u32 i;

	for (i = 0; i < SHELL_KEY_WORDS; i++)
		shell_write(s, SHELL_KEY(s->function, i), le32_to_cpu(s->key[i]));
	for (i = 0; i < SHELL_TABLE_SIZE; i++)
		shell_write(s, SHELL_TABLE(s->function, i), s->table[i]);
}

static void mac_write(struct shell *s, u32 reg, u32 value)
{
	shell_write(s, SHELL_MAC(s->function, reg), value);
}

static void enable_mac(struct shell *s, bool rx, bool tx)
{
	u32 queues = SHELL_FIRST_QUEUE(s->function) << 16;

	if (rx) {
		spread(s);
		shell_write(s, SHELL_QUEUES(s->function), queues | s->queues);
		mac_write(s, SHELL_MAC_FEC_MODE, 3);
		mac_write(s, SHELL_MAC_FEC, 7);
	}
	mac_write(s, SHELL_MAC_RX, rx);
	mac_write(s, SHELL_MAC_TX, tx);
	if (!rx && !tx)
		shell_write(s, SHELL_QUEUES(s->function), queues);
}

static bool link_is_up(struct shell *s)
{
	u32 reg = SHELL_MAC(s->function, SHELL_MAC_LINK);

	shell_read(s, reg);			/* latched: what was */
	return shell_read(s, reg) == SHELL_MAC_LINK_UP;
}

static u64 read_counter(struct shell *s, u32 reg)
{
	u32 at = SHELL_MAC(s->function, reg);

	return shell_read(s, at) | (u64)shell_read(s, at + 4) << 32;
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
	.user_bytes = SZ_64K,
	.qdma_bytes = SZ_128K,
	.reset = reset_card,
	.reset_ernic = reset_ernic,
	.irqs = request_irqs,
	.start = start,
	.stop = stop,
	.mac = enable_mac,
	.spread = spread,
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
