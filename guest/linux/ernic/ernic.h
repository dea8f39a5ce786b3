/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device, and the functions of each file of the driver.
 * Calls between files point downwards only: main, then the network card and the
 * verbs, then events, then commands (scripts/checks/calls.py).
 */
#ifndef ERNIC_H
#define ERNIC_H

#include <linux/completion.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <hw/rdma-ernic/ernic_abi.h>
#include "ernic_compat.h"

#ifndef CONFIG_64BIT
#error a doorbell is one store of 64 bits
#endif

#define ERNIC_NONE		0xffffffff	/* no SRQ, no event queue */
#define ERNIC_CMD_SHIFT		4
#define ERNIC_EQ_DEPTH		1024

/* MSI-X vectors; the driver needs at least three */
enum ernic_vector {
	ERNIC_VEC_ASYNC,	/* commands and asynchronous events */
	ERNIC_VEC_ETH,
	ERNIC_VEC_COMP,		/* completions; all further vectors too */
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

/* One command at a time, under the lock; the page buf carries its data. */
struct ernic_com {
	struct mutex lock;	/* from a command to its response */
	wait_queue_head_t wait;
	struct ernic_cmd *cmds;
	struct ernic_rsp *rsps;
	void *buf;
	dma_addr_t cmds_dma;
	dma_addr_t rsps_dma;
	dma_addr_t buf_dma;
	u32 pi;
	bool dead;		/* the device was reset and gets no more commands */
};

/* Makes an object's destruction wait until no handler uses the object. */
struct ernic_ref {
	refcount_t users;	/* 1 belongs to the object's owner */
	struct completion unused;
};

struct ernic_dev {
	struct ib_device ibdev;
	struct pci_dev *pdev;
	struct net_device *netdev;
	void __iomem *regs;	/* the page of control registers */
	void __iomem *db;	/* the doorbell page of context 0 */
	phys_addr_t db_phys;
	u32 db_shift;
	struct ernic_com com;
	struct ernic_eq async_eq;
	struct ernic_eq *comp_eqs;
	unsigned int num_comp;
	bool ib_on;		/* the device is registered with the RDMA core */
	bool port_changed;	/* while it was not */
	atomic_t link_downed;	/* number of link failures */
	struct work_struct fatal_work;
	struct work_struct flush_work;	/* completes requests of a dead device */
	struct ernic_device_attr attr;
	bool records;		/* queues may have a struct ernic_record */
	u32 sq_db;		/* offset of their send doorbells in a doorbell page */
	struct dentry *debugfs;	/* NULL: no timing model */
	struct ernic_ptp *ptp;	/* NULL: no PTP clock */
	/* device memory: pages in the BAR, and a bit for each page in use */
	phys_addr_t dm_phys;
	unsigned long dm_pages;
	unsigned long *dm_taken;
	struct mutex dm_lock;	/* of dm_taken */
	/* faults and advice; NULL: no on-demand regions */
	struct workqueue_struct *odp_wq;
	struct xarray odps;		/* on-demand regions by number */
	atomic_t advices;		/* waiting in odp_wq */
	/*
	 * Held around commands that allocate a number, and around commands that
	 * free one until its events have been read and the number has left its
	 * table: no number is reused before.
	 */
	struct mutex number_lock;
	/* objects by number, as events name them; see ernic_table_get() */
	struct xarray cqs;
	struct xarray qps;
	struct xarray srqs;
};

#define ernic_reg(d, field) \
	((d)->regs + offsetof(struct ernic_regs, field))
#define ernic_eth_reg(d, field) \
	((d)->regs + ERNIC_ETH_OFFSET + offsetof(struct ernic_eth_regs, field))

/* FLUSH needs the device, and a kernel that knows its access rights. */
static inline bool ernic_has_flush(struct ernic_dev *dev)
{
	return ERNIC_KERNEL_FLUSH &&
	       (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_FLUSH);
}

static inline void ernic_doorbell(struct ernic_dev *dev, u64 value)
{
	writeq(value, dev->db);
}

/* The same for a send queue; those of the kernel have records, or none has. */
static inline void ernic_send_doorbell(struct ernic_dev *dev, u64 value)
{
	writeq(value, dev->db + dev->sq_db);
}

/*
 * The device has stopped answering and was reset: it reaches no memory, its
 * objects are gone, and commands fail with -EIO.
 */
static inline bool ernic_dead(struct ernic_dev *dev)
{
	/* also makes everything visible that the device wrote before it died */
	return smp_load_acquire(&dev->com.dead);
}

/* The event queue of a completion vector of the RDMA core. */
static inline struct ernic_eq *ernic_comp_eq(struct ernic_dev *dev,
					     unsigned int vector)
{
	return &dev->comp_eqs[vector % dev->num_comp];
}

/* ---- ernic_table.c: objects by number, and references to them ------------ */

void ernic_table_init(struct xarray *table);
/* Adds the object of ref, with one reference of its own. 0 or -ENOMEM. */
int ernic_table_add(struct xarray *table, u32 n, struct ernic_ref *ref);
/* A reference to the object with this number, or NULL. In any context. */
struct ernic_ref *ernic_table_get(struct xarray *table, u32 n);
/* The same as ernic_table_get(), for the first number from *n on, which *n becomes. */
struct ernic_ref *ernic_table_next(struct xarray *table, unsigned long *n);
/* From here on ernic_table_get() does not find the object. */
void ernic_table_erase(struct xarray *table, u32 n);
void ernic_ref_put(struct ernic_ref *ref);
/*
 * Waits, after ernic_table_erase(), until all references are put: no handler uses
 * the object any more, and none will. May sleep.
 */
void ernic_ref_wait(struct ernic_ref *ref);

/* Goes through a table, with a reference to each object in turn. */
#define ernic_table_for_each(table, n, ref) \
	for ((n) = 0; ((ref) = ernic_table_next(table, &(n))); \
	     (n)++, ernic_ref_put(ref))

/* ---- ernic_com.c: commands and their responses --------------------------- */

void ernic_com_prepare(struct ernic_dev *dev);
int ernic_com_init(struct ernic_dev *dev);
/* Resets the device. After it, DMA has ended and commands fail. */
void ernic_com_stop(struct ernic_dev *dev);
void ernic_com_fini(struct ernic_dev *dev);
void ernic_com_irq(struct ernic_dev *dev);
/*
 * Executes cmd. in_len bytes of in are put into the page buf before the command,
 * and out_len bytes are copied from it to out afterwards, 0 after the end of the
 * device's answer; both may be NULL.
 * The command names the page as ernic_com_buf(). *handle becomes that of the new
 * object; NULL: there is none. Returns 0 or a negative errno; -EIO if the device
 * does not answer; it is then reset and dead.
 */
int ernic_com_exec(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle,
		   const void *in, size_t in_len, void *out, size_t out_len);

static inline u64 ernic_com_buf(struct ernic_dev *dev)
{
	return dev->com.buf_dma;
}

/* ---- ernic_cmd.c: commands by the data that they have -------------------- */

/* Executes a command without data; handle as for ernic_com_exec(). */
int ernic_cmd_exec(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle);
/* The same under number_lock, for a command that allocates a number of a table. */
int ernic_cmd_create(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle);
/* A command with len bytes of attributes, which cmd->qp then describes; without a lock. */
int ernic_cmd_attr(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle,
		   const void *attr, size_t len);
int ernic_cmd_query(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle,
		    void *out, size_t len);
int ernic_cmd_alloc(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 *handle);
/* Returns 0 also if the device is dead: it has forgotten the object. */
int ernic_cmd_free(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle);
int ernic_cmd_set_gid(struct ernic_dev *dev, u8 index, const u8 *gid,
		      const u8 *mac, u16 vlan);
int ernic_cmd_set_pkey(struct ernic_dev *dev, u16 index, u16 pkey);
int ernic_cmd_eq_create(struct ernic_dev *dev, struct ernic_eq *eq,
			u16 vector, bool async);
int ernic_cmd_qp_modify(struct ernic_dev *dev, u32 uctx, u32 qpn,
			const struct ernic_qp_attr *attr);

/* ---- ernic_eq.c: interrupts and event queues ----------------------------- */

int ernic_irqs_init(struct ernic_dev *dev);
void ernic_irqs_fini(struct ernic_dev *dev);
/* After an error too, ernic_eqs_fini() has to follow. */
int ernic_eqs_init(struct ernic_dev *dev);
/* After ernic_com_stop(): the device must not write to the rings any more. */
void ernic_eqs_fini(struct ernic_dev *dev);
/*
 * The device is dead: waits until no interrupt reads an event queue. Afterwards
 * none does, so that only the caller calls completion handlers.
 */
void ernic_eqs_sync(struct ernic_dev *dev);
/*
 * Reads all events that the device has written, also those whose interrupt is late.
 * May sleep.
 */
void ernic_eq_read(struct ernic_eq *eq);

/* ---- ernic_event.c: from events to their handlers ------------------------ */

/* Called in an interrupt. */
void ernic_event(struct ernic_dev *dev, const struct ernic_eqe *eqe);
/* The device is registered: events reach the core, and those of its port have. */
void ernic_event_on(struct ernic_dev *dev);
/* The device is dead: reports it to the users of all objects. */
void ernic_event_fatal(struct ernic_dev *dev);

/* ---- ernic_netdev.c: the network card ------------------------------------ */

int ernic_netdev_register(struct ernic_dev *dev);
void ernic_netdev_unregister(struct ernic_dev *dev);
/* The device is dead: detaches the network card from the stack. */
void ernic_netdev_fatal(struct ernic_dev *dev);

/* ---- ernic_dm.c: device memory ------------------------------------------- */

int ernic_dm_init(struct ernic_dev *dev);
void ernic_dm_fini(struct ernic_dev *dev);
/* All of it, in bytes. */
u64 ernic_dm_size(struct ernic_dev *dev);

/* ---- ernic_ptp.c: the PTP clock; the device works without it ------------- */

void ernic_ptp_init(struct ernic_dev *dev);
void ernic_ptp_fini(struct ernic_dev *dev);
/* The number of /dev/ptpN, or -1. */
int ernic_ptp_index(struct ernic_dev *dev);
/* Maps the page of the clock, read-only. */
int ernic_ptp_mmap(struct ernic_dev *dev, struct vm_area_struct *vma);

/* ---- ernic_odp.c: on-demand regions -------------------------------------- */

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

/* ---- ernic_debugfs.c: debugfs may fail or be absent; nothing depends on it */

void ernic_debugfs_init(void);
void ernic_debugfs_exit(void);
void ernic_debugfs_add(struct ernic_dev *dev);
/* Waits for readers; files that are still open give -EIO. */
void ernic_debugfs_remove(struct ernic_dev *dev);

/* ---- ernic_flush.c: requests and armed queues of a dead device ----------- */

/* Calls the handlers of the kernel's completion queues that have something. */
void ernic_flush_cqs(struct ernic_dev *dev);

/* ---- ernic_verbs.c: the RDMA device -------------------------------------- */

int ernic_ib_register(struct ernic_dev *dev);
void ernic_ib_unregister(struct ernic_dev *dev);

#endif /* ERNIC_H */
