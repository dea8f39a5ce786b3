// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The xib shell: its BAR, the MAC, and what a program has left in the ERNIC. The bridge,
 * XDMA, needs nothing.
 */
#include <linux/delay.h>
#include "shell_xib.h"

#define GT_RESET_US	1000

/* ---- resets ---------------------------------------------------------------------- */

/* Only what is set: the registers of queue pairs that the ERNIC has not read 0. */
static void clear(struct shell *s, u32 reg)
{
	if (shell_read(s, reg))
		shell_write(s, reg, 0);
}

/* Sizes of what the ERNIC writes without a queue pair. */
static const u32 sizes[] = {
	XIB_ERNIC_ERRBUFSZ, XIB_ERNIC_IPKTERRQSZ, XIB_ERNIC_DATBUFSZ, XIB_ERNIC_RESPERRSZ,
	XIB_ERNIC_RESPERRSZMSB,
};

/*
 * The shell has no reset of the ERNIC. Without enable bits and with regions and buffers of
 * no bytes it takes no packet and no request, and uses none of the memory that its
 * registers name. The next program that enables it sets the pointers of its queue pairs.
 */
static int stop_ernic(struct shell *s)
{
	int i;

	clear(s, XIB_ERNIC_CONF);
	clear(s, XIB_ERNIC_INTEN);
	for (i = 1; i <= XIB_ERNIC_QPS; i++)
		clear(s, XIB_ERNIC_QP_CONF(i));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		clear(s, sizes[i]);
	for (i = 0; i < XIB_REGIONS; i++) {
		clear(s, XIB_REGION_LENGTH(i));
		clear(s, XIB_REGION_ACCESS(i));		/* with upper bits of the length */
	}
	/* Its writes on the bus are in memory before the answer. */
	return shell_read(s, XIB_ERNIC_CONF) ? -EIO : 0;
}

/* Other bits stay: the gap between frames, the checks of what begins one. */
static void set_mac(struct shell *s, u32 reg, u32 fcs, bool on)
{
	u32 value = shell_read(s, reg) & ~XIB_MAC_ENABLE;

	shell_write(s, reg, value | fcs | (on ? XIB_MAC_ENABLE : 0));
}

static void enable_mac(struct shell *s, bool rx, bool tx)
{
	if (rx) {
		shell_write(s, XIB_MAC_GT_RESET, 1);
		usleep_range(GT_RESET_US, 2 * GT_RESET_US);
		shell_write(s, XIB_MAC_GT_RESET, 0);
	}
	/* Frames have no FCS in memory. */
	set_mac(s, XIB_MAC_RX, XIB_MAC_RX_CUT_FCS, rx);
	set_mac(s, XIB_MAC_TX, XIB_MAC_TX_ADD_FCS, tx);
}

static int reset_card(struct shell *s)
{
	int err;

	if (shell_read(s, XIB_MAC_GT_RESET) == ~0u)
		return -ENODEV;			/* nothing is there any more */
	enable_mac(s, false, false);
	err = axi_reset(s);
	return stop_ernic(s) ?: err;
}

static int start(struct shell *s)
{
	u32 status = shell_read(s, AXI_SR(AXI_MM2S));

	if (!(status & AXI_SR_SG) || !(status & AXI_SR_HALTED)) {
		dev_err(&s->pdev->dev, "no AXI DMA with descriptors: status %08x\n", status);
		return -ENODEV;
	}
	return 0;
}

static bool link_is_up(struct shell *s)
{
	shell_read(s, XIB_MAC_BLOCK_LOCK);	/* latched in hardware: what was */
	return shell_read(s, XIB_MAC_BLOCK_LOCK) & 1;
}

const struct shell_ops xib_ops = {
	.tx_bytes = sizeof(struct axi_desc),
	.rx_bytes = sizeof(struct axi_desc),
	.user_bytes = XIB_SIZE,
	.reset = reset_card,
	.reset_ernic = stop_ernic,
	.irqs = axi_request_irqs,
	.start = start,
	.stop = axi_stop,
	.mac = enable_mac,
	.link = link_is_up,
	.open = axi_open,
	.close = axi_close,
	.ack = axi_ack,
	.tx_post = axi_tx_post,
	.tx_ring = axi_tx_ring,
	.tx_done = axi_tx_done,
	.rx_post = axi_rx_post,
	.rx_next = axi_rx_next,
	.rx_return = axi_rx_return,
};
