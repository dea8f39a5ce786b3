/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network card: its data path (ernic_net.c), its ethtool operations
 * (ernic_ethtool.c), and the net device that has both (ernic_netdev.c).
 */
#ifndef ERNIC_NET_H
#define ERNIC_NET_H

#include "ernic.h"

#define ERNIC_NET_SHIFT		8	/* descriptors of a ring, at first: 2^n */
#define ERNIC_NET_SHIFT_MIN	6

struct ernic_net_tx {
	struct sk_buff *skb;	/* on the last descriptor of its frame */
	dma_addr_t dma;
	u32 len;
	bool page;
};

struct ernic_net_rx {
	struct page *page;
	dma_addr_t dma;
};

/* A ring for each direction: memory for the device, and the contents of its slots. */
struct ernic_net_rings {
	struct ernic_eth_txd *txd;
	struct ernic_eth_rxd *rxd;
	struct ernic_eth_state *state;
	dma_addr_t txd_dma;
	dma_addr_t rxd_dma;
	dma_addr_t state_dma;
	struct ernic_net_tx *tx;
	struct ernic_net_rx *rx;
	u8 tx_shift;
	u8 rx_shift;
};

/* The rings exist while the card is open. Counters are free-running. */
struct ernic_net {
	struct ernic_dev *dev;
	struct napi_struct napi;
	struct ernic_net_rings ring;
	bool on;		/* the device uses the rings; under the address lock */
	u32 tx_pi;
	u32 tx_ci;
	u32 rx_pi;
	u32 rx_ci;
	u64 tx_tso_packets;	/* large packets that the device has sent */
};

static inline u32 ernic_net_tx_slot(const struct ernic_net *net, u32 k)
{
	return k & ((1u << net->ring.tx_shift) - 1);
}

static inline u32 ernic_net_rx_slot(const struct ernic_net *net, u32 k)
{
	return k & ((1u << net->ring.rx_shift) - 1);
}

/* ---- ernic_net.c --------------------------------------------------------- */

netdev_tx_t ernic_net_xmit(struct sk_buff *skb, struct net_device *nd);
netdev_features_t ernic_net_features_check(struct sk_buff *skb,
					   struct net_device *nd,
					   netdev_features_t features);
int ernic_net_poll(struct napi_struct *napi, int budget);
void ernic_net_set_rx_mode(struct net_device *nd);
int ernic_net_open(struct net_device *nd);
int ernic_net_stop(struct net_device *nd);
/*
 * Changes the rings to 2^shift descriptors, under RTNL. After an error the card keeps
 * the rings that it has.
 */
int ernic_net_resize(struct net_device *nd, u8 tx_shift, u8 rx_shift);

/* ---- ernic_ethtool.c ----------------------------------------------------- */

extern const struct ethtool_ops ernic_ethtool_ops;

#endif /* ERNIC_NET_H */
