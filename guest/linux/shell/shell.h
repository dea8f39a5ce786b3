/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver of a card with RecoNIC's, OpenNIC's or the xib shell: each function has a
 * net device, and a character device for programs that drive the ERNIC. Each queue of the
 * net device has rings of both directions. The engines that move frames, the QDMA and the
 * AXI DMA, have a table of operations each, struct shell_ops.
 *
 * shell_main.c    probe, reset, removal
 * shell_net.c     the net device
 * shell_ethtool.c its ethtool operations
 * shell_rings.c   memory of the rings, pages and frames in them, queues that fail
 * shell_user.c    the character device
 *
 * shell_opennic.c OpenNIC's shell and RecoNIC's, which is made of it: BARs, reset, MAC
 * shell_qdma.c    global registers and contexts
 * shell_errors.c  the error interrupt
 * shell_stream.c  stream queues
 * shell_mm.c      copies between memory and that of the card
 *
 * shell_xib.c     the xib shell: BAR, MAC, ERNIC
 * shell_axi_dma.c the channels of its AXI DMA, and their interrupts
 */
#ifndef SHELL_H
#define SHELL_H

#include <linux/completion.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/u64_stats_sync.h>

/* Descriptors of a ring. */
#define SHELL_DESCS		1023
/* Queues of a net device. */
#define SHELL_QUEUES_MAX	4
/* Entries of the table that spreads frames over them, and words of the key. */
#define SHELL_TABLE_SIZE	128
#define SHELL_KEY_WORDS		10
/* Bytes of a frame, without FCS. */
#define SHELL_FRAME_MAX		9596

struct shell;
struct shell_queue;

struct shell_ops {
	/* Bytes of a descriptor of each direction; entries of a further ring, or none. */
	u8 tx_bytes, rx_bytes, report_bytes;
	u16 reports;
	/* Of the BAR with the registers of MAC and ERNIC, and of that of a QDMA. */
	u32 user_bytes, qdma_bytes;

	/* All of the card begins anew: what a driver or a program has left does not matter. */
	int (*reset)(struct shell *s);
	int (*reset_ernic)(struct shell *s);
	/* Requests the interrupts, and says how many queues they are enough for. */
	int (*irqs)(struct shell *s);
	/* Bus mastering is on, and the card was reset: registers that no queue has. */
	int (*start)(struct shell *s);
	/* No queue is open: handlers that have seen one have ended after this. */
	void (*stop)(struct shell *s);
	void (*mac)(struct shell *s, bool rx, bool tx);
	/* Writes table and key; NULL: there is one queue. */
	void (*spread)(struct shell *s);
	bool (*link)(struct shell *s);
	/* Between memory and the card's, SHELL_FROM_CARD or SHELL_TO_CARD; may be NULL. */
	int (*copy)(struct shell *s, int dir, void *buf, u64 card, size_t len);
	/* Adds what the card has counted; may be NULL. */
	void (*stats)(struct shell *s, struct rtnl_link_stats64 *stats);

	/* The rings have memory, and are empty of frames to send. The first poll arms. */
	int (*open)(struct shell_queue *q);
	/* The engine does not use the rings afterwards; otherwise an error. */
	int (*close)(struct shell_queue *q);
	/* Interrupts again for causes that come after this; may be NULL. */
	void (*ack)(struct shell_queue *q);
	/* Under the lock of the transmit queue: a frame in place @i; all up to the index. */
	void (*tx_post)(struct shell_queue *q, u32 i, dma_addr_t bus, u32 len);
	void (*tx_ring)(struct shell_queue *q);
	/* The place after the last frame that was sent. */
	u32 (*tx_done)(struct shell_queue *q);
	/* An empty page in place @i. */
	void (*rx_post)(struct shell_queue *q, u32 i);
	/* Takes the report of a frame: its bytes; 0: there is none, -1: it is not possible. */
	int (*rx_next)(struct shell_queue *q);
	/* Returns pages. Armed, the next interrupt comes at once if there is a frame. */
	void (*rx_return)(struct shell_queue *q, bool arm);
};

/* One shell. */
struct shell_kind {
	const char *name;
	const struct shell_ops *ops;
	u8 bar;				/* of the registers of MAC and ERNIC */
	u8 dma_bits;
	bool ernic;
	/* Of the length of a frame, in a descriptor's metadata and in a completion. */
	u8 metadata_shift, entry_shift;
};

struct shell_ring {
	void *at;
	dma_addr_t bus;
	size_t bytes;
	u32 pidx, cidx;
};

/* Of one direction of a queue, which has one writer at a time. */
struct shell_counts {
	struct u64_stats_sync sync;
	u64 packets, bytes, dropped;
};

struct shell_tx {
	struct shell_ring ring;
	struct sk_buff *skb[SHELL_DESCS];
	dma_addr_t bus[SHELL_DESCS];
	u32 rung;			/* the index that the engine knows */
	struct shell_counts counts;
};

struct shell_rx {
	struct shell_ring ring, report;
	struct page *page[SHELL_DESCS];
	dma_addr_t bus[SHELL_DESCS];
	u64 colour;			/* of the next report */
	struct shell_counts counts;
};

struct shell_queue {
	struct shell *s;
	u32 number;			/* in the net device */
	char name[32];			/* of its interrupt */
	struct napi_struct napi;
	struct shell_tx tx;
	struct shell_rx rx;
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
	/* Two functions, one card: the first has what they share. */
	u32 function;
	struct shell *first, *second;	/* itself, or the other; under RTNL */
	struct list_head firsts;	/* of such functions */
	u32 queues, queues_max;		/* in use; that may be */
	u32 table[SHELL_TABLE_SIZE];
	__le32 key[SHELL_KEY_WORDS];
	int mm_vector, error_irq;	/* of the function; of the system */
	struct shell_mm mm;
	struct delayed_work link;
	struct work_struct restart;	/* after an error, or a frame that is never sent */
	unsigned long restart_at, restart_pause;	/* jiffies: of the next one */
	struct mutex contexts;		/* of the registers that reach them */
	spinlock_t channels;		/* of the control registers of the AXI DMA */
	bool running;			/* the channels run */
	bool works;			/* it was started, and has not left; under RTNL */
	bool away;			/* in a reset, or asleep */
	bool open;			/* the queues have their rings */
	bool failed;			/* an error has stopped a queue */
	struct shell_user *chardev;
	/* As long as the net device, which takes the NAPI of each out of its list. */
	struct shell_queue queue[SHELL_QUEUES_MAX];
};

static inline const struct shell_ops *shell_ops(const struct shell *s)
{
	return s->kind->ops;
}

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

static inline void shell_count(struct shell_counts *c, u32 bytes)
{
	u64_stats_update_begin(&c->sync);
	c->packets++;
	c->bytes += bytes;
	u64_stats_update_end(&c->sync);
}

static inline void shell_count_dropped(struct shell_counts *c)
{
	u64_stats_update_begin(&c->sync);
	c->dropped++;
	u64_stats_update_end(&c->sync);
}

static inline u32 shell_after(u32 index, u32 entries)
{
	return index + 1 < entries ? index + 1 : 0;
}

/* shell_opennic.c */
extern const struct shell_ops opennic_ops;

/* shell_xib.c */
extern const struct shell_ops xib_ops;

/* shell_rings.c */
/* An error has stopped a queue: none is polled until they begin anew. */
void shell_rings_failed(struct shell *s);
int shell_rings_open(struct shell_queue *q);
void shell_rings_close(struct shell_queue *q);
/* Under the lock of the transmit queue. */
bool shell_tx_full(const struct shell_queue *q);
void shell_tx_post(struct shell_queue *q, struct sk_buff *skb, dma_addr_t bus, u32 len);
void shell_tx_clean(struct shell_queue *q, int budget);
int shell_rx_poll(struct shell_queue *q, int budget);

/* shell_net.c */
int shell_net_queues(struct shell *s, u32 queues);
void shell_net_counts(struct shell_counts *of, struct shell_counts *to);
/* Before interrupts are requested. */
void shell_net_init(struct shell *s);
int shell_net_register(struct shell *s);
void shell_net_unregister(struct shell *s);
int shell_net_begin(struct shell *s);
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
