/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the driver share: the device, and the layers' functions.
 * Includes point downwards: main, net and verbs use cmd, cmd uses com.
 */
#ifndef ERNIC_H
#define ERNIC_H

#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <hw/rdma-ernic/ernic_abi.h>

#ifndef CONFIG_64BIT
#error a doorbell is one store of 64 bits
#endif

/*
 * Regions on demand hand the lists of the core to the device as they are: since
 * 6.16 they are others.
 */
#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) && \
	defined(__LITTLE_ENDIAN) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define ERNIC_HAS_ODP
#endif

#define ERNIC_NONE		0xffffffff	/* no SRQ, no event queue */
#define ERNIC_CMD_SHIFT		4
#define ERNIC_EQ_DEPTH		1024

/* MSI-X vectors; with fewer than three the driver does not load */
enum ernic_vector {
	ERNIC_VEC_ASYNC,	/* commands and asynchronous events */
	ERNIC_VEC_ETH,
	ERNIC_VEC_COMP,		/* completions, and all vectors behind it */
};

/* An event queue and the vector that serves it. */
struct ernic_eq {
	struct ernic_dev *dev;
	struct ernic_eqe *ring;
	dma_addr_t dma;
	u32 ci;
	u32 eqn;
	bool on;		/* the queue exists: events may be read */
	unsigned int irq;	/* 0: not requested */
	char name[24];
};

/* One command at a time, under the lock; answers go through the page buf. */
struct ernic_com {
	struct mutex lock;	/* from a command to its answer */
	wait_queue_head_t wait;
	struct ernic_cmd *cmds;
	struct ernic_rsp *rsps;
	void *buf;
	dma_addr_t cmds_dma;
	dma_addr_t rsps_dma;
	dma_addr_t buf_dma;
	u32 pi;
	bool dead;		/* reset, and given no command any more */
};

struct ernic_dev {
	struct ib_device ibdev;
	struct pci_dev *pdev;
	struct net_device *netdev;
	void __iomem *regs;
	void __iomem *db;	/* of context 0 */
	phys_addr_t db_phys;
	u32 db_shift;
	struct ernic_com com;
	struct ernic_eq async_eq;
	struct ernic_eq *comp_eqs;
	unsigned int num_comp;
	bool ib_on;		/* the RDMA core knows the device */
	atomic_t link_downed;	/* how often */
	struct work_struct fatal_work;
	struct work_struct flush_work;	/* who waits for completions is woken */
	struct ernic_device_attr attr;
	struct dentry *debugfs;	/* NULL: no timing model */
	struct ernic_ptp *ptp;	/* NULL: no PTP clock */
	/* its own memory: pages in the BAR, a bit for each that is taken */
	phys_addr_t dm_phys;
	unsigned long dm_pages;
	unsigned long *dm_taken;
	struct mutex dm_lock;	/* of dm_taken */
	/* faults and advice; NULL: there are no regions on demand */
	struct workqueue_struct *odp_wq;
	struct xarray odps;		/* regions on demand by number */
	atomic_t advices;		/* that wait for their turn */
	/*
	 * Around commands that give a number and, until the table has lost it,
	 * around those that take one: none is given again before.
	 */
	struct mutex number_lock;
	/* numbers to objects; the events' handler runs under this lock */
	spinlock_t table_lock;
	struct xarray cqs;
	struct xarray qps;
	struct xarray srqs;
};

#define ernic_reg(d, field) \
	((d)->regs + offsetof(struct ernic_regs, field))
#define ernic_eth_reg(d, field) \
	((d)->regs + ERNIC_ETH_OFFSET + offsetof(struct ernic_eth_regs, field))

/* Rights for FLUSH: of the device, and of a kernel that lets regions have them. */
static inline bool ernic_has_flush(struct ernic_dev *dev)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) &&
	       (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_FLUSH);
}

static inline void ernic_doorbell(struct ernic_dev *dev, u64 value)
{
	writeq(value, dev->db);
}

static inline void ernic_table_erase(struct ernic_dev *dev,
				     struct xarray *table, u32 n)
{
	unsigned long flags;

	/* behind this no event of the object is being delivered */
	spin_lock_irqsave(&dev->table_lock, flags);
	xa_erase(table, n);
	spin_unlock_irqrestore(&dev->table_lock, flags);
}

/*
 * The device has stopped answering and was reset: it reaches no memory, its
 * objects are gone, commands fail with -EIO.
 */
static inline bool ernic_dead(struct ernic_dev *dev)
{
	/* what it has written before is seen behind it */
	return smp_load_acquire(&dev->com.dead);
}

/* The event queue of a completion vector of the RDMA core. */
static inline u32 ernic_comp_eqn(struct ernic_dev *dev, unsigned int vector)
{
	return dev->comp_eqs[vector % dev->num_comp].eqn;
}

/* ernic_com.c */
void ernic_com_prepare(struct ernic_dev *dev);
int ernic_com_init(struct ernic_dev *dev);
/* Resets the device: behind it DMA has ended, and commands fail. */
void ernic_com_stop(struct ernic_dev *dev);
void ernic_com_fini(struct ernic_dev *dev);
void ernic_com_irq(struct ernic_dev *dev);
/*
 * Executes cmd. With in, in_len bytes are put into memory first; with out, up
 * to out_len bytes are fetched after it. The command's address is that of the
 * page buf, as ernic_com_buf() gives it. Returns 0 or a negative errno; -EIO
 * when the device does not answer, which is then reset and dead.
 */
int ernic_com_exec(struct ernic_dev *dev, struct ernic_cmd *cmd,
		   struct ernic_rsp *rsp, const void *in, size_t in_len,
		   void *out, size_t out_len);

static inline u64 ernic_com_buf(struct ernic_dev *dev)
{
	return dev->com.buf_dma;
}

/* ernic_cmd.c: one function for each command */
int ernic_cmd_query(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle,
		    void *out, size_t len);
int ernic_cmd_alloc(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 *handle);
/* 0 also when the device is dead: what it forgot need not be freed. */
int ernic_cmd_free(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle);
int ernic_cmd_set_gid(struct ernic_dev *dev, u8 index, const u8 *gid,
		      const u8 *mac, u16 vlan);
int ernic_cmd_set_pkey(struct ernic_dev *dev, u16 index, u16 pkey);
int ernic_cmd_eq_create(struct ernic_dev *dev, struct ernic_eq *eq,
			u16 vector, bool async);
int ernic_cmd_qp_modify(struct ernic_dev *dev, u32 uctx, u32 qpn,
			const struct ernic_qp_attr *attr);

/* ernic_eq.c */
int ernic_irqs_init(struct ernic_dev *dev);
void ernic_irqs_fini(struct ernic_dev *dev);
int ernic_eqs_init(struct ernic_dev *dev);
/* After ernic_com_stop(): the device must not write to the rings any more. */
void ernic_eqs_fini(struct ernic_dev *dev);

/* ernic_net.c */
int ernic_net_register(struct ernic_dev *dev);
void ernic_net_unregister(struct ernic_dev *dev);
/* The device is dead: takes the network card away from the stack. */
void ernic_net_fatal(struct ernic_dev *dev);

/* ernic_dm.c */
int ernic_dm_init(struct ernic_dev *dev);
void ernic_dm_fini(struct ernic_dev *dev);
/* Bytes, in all */
u64 ernic_dm_size(struct ernic_dev *dev);

/* ernic_ptp.c: a device without the clock has one thing less, no more */
void ernic_ptp_init(struct ernic_dev *dev);
void ernic_ptp_fini(struct ernic_dev *dev);
/* The number of /dev/ptpN, or -1 */
int ernic_ptp_index(struct ernic_dev *dev);
/* The page of the clock, to read */
int ernic_ptp_mmap(struct ernic_dev *dev, struct vm_area_struct *vma);

/* ernic_odp.c */
#ifdef ERNIC_HAS_ODP
int ernic_odp_init(struct ernic_dev *dev);
void ernic_odp_fini(struct ernic_dev *dev);
void ernic_odp_caps(struct ernic_dev *dev, struct ib_device_attr *p);
void ernic_odp_fault(struct ernic_dev *dev, const struct ernic_eqe *eqe);
#else
static inline int ernic_odp_init(struct ernic_dev *dev) { return 0; }
static inline void ernic_odp_fini(struct ernic_dev *dev) { }
static inline void ernic_odp_caps(struct ernic_dev *dev,
				  struct ib_device_attr *p) { }
static inline void ernic_odp_fault(struct ernic_dev *dev,
				   const struct ernic_eqe *eqe) { }
#endif

/* ernic_debugfs.c: debugfs may fail, or be absent; nothing depends on it */
void ernic_debugfs_init(void);
void ernic_debugfs_exit(void);
void ernic_debugfs_add(struct ernic_dev *dev);
/* Behind this nobody reads; files that are open give -EIO. */
void ernic_debugfs_remove(struct ernic_dev *dev);

/* ernic_flush.c: the device is dead, and there are requests, or armed queues. */
void ernic_flush_work(struct work_struct *work);

/* ernic_verbs.c */
int ernic_ib_register(struct ernic_dev *dev);
void ernic_ib_unregister(struct ernic_dev *dev);
void ernic_ib_event(struct ernic_dev *dev, u8 type, u32 element);
/* The device is dead: tells all who hold objects of it. */
void ernic_ib_fatal(struct ernic_dev *dev);

#endif /* ERNIC_H */
