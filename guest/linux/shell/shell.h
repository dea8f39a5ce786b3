/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver of a card with RecoNIC's or OpenNIC's shell: one function, a net device of
 * one stream queue of the QDMA in each direction, and a character device for programs that
 * drive the ERNIC.
 *
 * shell_main.c    probe, reset, removal
 * shell_qdma.c    global registers and contexts
 * shell_errors.c  the error interrupt
 * shell_rings.c   the rings of the queue, its life and its work
 * shell_mm.c      copies between memory and that of the card
 * shell_net.c     the net device
 * shell_ethtool.c its ethtool operations
 * shell_user.c    the character device
 */
#ifndef SHELL_H
#define SHELL_H

#include <linux/completion.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include "shell_regs.h"

/* The queues, each of both directions: of frames, and of the card's memory. */
#define SHELL_QUEUE		0
#define SHELL_MM_QUEUE		1
#define SHELL_QUEUES_NUM	2
/* Which of the 16 ring sizes. */
#define SHELL_RING		0
#define SHELL_RING_CMPT		1
#define SHELL_RING_MM		2
/* Entries; a ring has one more place, for the status. */
#define SHELL_DESCS		1023
#define SHELL_CMPTS		2047
#define SHELL_MM_DESCS		15
/* Which of the 16 buffer sizes. */
#define SHELL_BUF		0

enum shell_vector {
	SHELL_VECTOR_TX, SHELL_VECTOR_RX, SHELL_VECTOR_MM, SHELL_VECTOR_ERROR, SHELL_VECTORS
};

/* One shell; they differ in what they do with the length of a frame. */
struct shell_kind {
	const char *name;
	u8 metadata_shift;		/* of the length, in a descriptor's metadata */
	u8 entry_shift;			/* and in a completion */
	bool ernic;
};

struct shell_ring {
	void *at;
	dma_addr_t bus;
	size_t bytes;
	u32 pidx, cidx;
};

struct shell_tx {
	struct shell_ring ring;
	struct sk_buff *skb[SHELL_DESCS];
	dma_addr_t bus[SHELL_DESCS];
};

struct shell_rx {
	struct shell_ring ring, cmpt;
	struct page *page[SHELL_DESCS];
	dma_addr_t bus[SHELL_DESCS];
	u64 colour;			/* of the next entry */
};

enum { SHELL_FROM_CARD, SHELL_TO_CARD };

struct shell_mm {
	struct mutex lock;		/* of one copy, or the life of the queue */
	struct shell_ring ring[2];	/* by direction; NULL: the card has no memory */
	struct completion done;
};

struct shell {
	struct pci_dev *pdev;
	struct net_device *netdev;
	const struct shell_kind *kind;
	void __iomem *qdma, *user;
	struct napi_struct napi;
	struct shell_tx tx;
	struct shell_rx rx;
	struct shell_mm mm;
	struct delayed_work link;
	struct work_struct restart;	/* after a frame that is never sent */
	struct mutex contexts;		/* of the registers that reach them */
	bool open;			/* the queue has its rings */
	bool failed;			/* an error has stopped the queue */
	struct shell_user *chardev;
};

static inline void qdma_write(struct shell *s, u32 reg, u32 value)
{
	writel(value, s->qdma + reg);
}

static inline u32 qdma_read(struct shell *s, u32 reg)
{
	return readl(s->qdma + reg);
}

static inline void shell_write(struct shell *s, u32 reg, u32 value)
{
	writel(value, s->user + reg);
}

static inline u32 shell_read(struct shell *s, u32 reg)
{
	return readl(s->user + reg);
}

/* shell_main.c */
int shell_reset_ernic(struct shell *s);

/* shell_qdma.c */
int qdma_init(struct shell *s);
int qdma_context(struct shell *s, enum qdma_op op, enum qdma_selector selector,
		 u32 number, const u32 *words);
bool qdma_queue_failed(struct shell *s, u32 number);

/* shell_errors.c */
void qdma_errors_init(struct shell *s);
irqreturn_t qdma_error_irq(int irq, void *data);

/* shell_rings.c */
int shell_rings_open(struct shell *s);
void shell_rings_close(struct shell *s);
/* Under the lock of the transmit queue. */
bool shell_tx_full(const struct shell *s);
void shell_tx_post(struct shell *s, struct sk_buff *skb, dma_addr_t bus, u32 len);
void shell_tx_ring(struct shell *s);
void shell_tx_clean(struct shell *s, int budget);
int shell_rx_poll(struct shell *s, int budget);
void shell_rx_return(struct shell *s, bool arm);

/* shell_mm.c */
void shell_mm_init(struct shell *s);
int shell_mm_open(struct shell *s);
void shell_mm_close(struct shell *s);
int shell_mm_copy(struct shell *s, int dir, void *buf, u64 card, size_t len);
irqreturn_t shell_mm_irq(int irq, void *data);

/* shell_net.c */
/* Before interrupts are requested. */
void shell_net_init(struct shell *s);
void shell_net_failed(struct shell *s);
int shell_net_register(struct shell *s);
void shell_net_unregister(struct shell *s);
int shell_net_open(struct net_device *nd);
int shell_net_stop(struct net_device *nd);

/* shell_ethtool.c */
extern const struct ethtool_ops shell_ethtool_ops;

/* shell_user.c */
int shell_user_create(struct shell *s);
void shell_user_destroy(struct shell *s);
/* No program reaches the card or its memory any more; until the card is back. */
void shell_user_leave(struct shell *s);
void shell_user_back(struct shell *s);

#endif /* SHELL_H */
