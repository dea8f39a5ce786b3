/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the kernels that the driver supports, 6.1 and later. No other
 * file asks for the version of the kernel.
 */
#ifndef ERNIC_COMPAT_H
#define ERNIC_COMPAT_H

#include <linux/ethtool.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/*
 * On-demand regions hand the page lists of the RDMA core to the device unchanged.
 * The format of these lists changed in 6.16.
 */
#if IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) && \
	defined(__LITTLE_ENDIAN) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define ERNIC_HAS_ODP
#endif

/* IB_UVERBS_ODP_SUPPORT_FLUSH and _ATOMIC_WRITE, without a name before 6.15 */
#define ERNIC_ODP_FLUSH		BIT(6)
#define ERNIC_ODP_ATOMIC_WRITE	BIT(7)

/* 6.2 introduced FLUSH and ATOMIC WRITE. 6.1 passes on the capability bits. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define ERNIC_KERNEL_FLUSH	true
#else
#define ERNIC_KERNEL_FLUSH	false	/* regions cannot have its access rights */
#define IB_DEVICE_FLUSH_GLOBAL	BIT_ULL(38)
#define IB_DEVICE_ATOMIC_WRITE	BIT_ULL(40)
#define IB_ACCESS_FLUSH_GLOBAL	BIT(8)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_clear(struct vm_area_struct *vma,
				  unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Since 6.11 create_cq() takes all attributes of the method. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define ernic_create_cq_arg	uverbs_attr_bundle
static inline struct ib_udata *ernic_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define ernic_create_cq_arg	ib_udata
static inline struct ib_udata *ernic_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define kernel_ethtool_ts_info	ethtool_ts_info
#endif

/*
 * 7.2 has these names, and parameters that the driver does not need: it has one port,
 * and no DMA handles, so that none is ever passed. Some are older. No kernel between
 * 6.12 and 7.2 is supported.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define ERNIC_DMAH_PARAM	struct ib_dmah *dmah,
/* The core needs a size and counter_init() of drivers, which this one lacks. */
#define ERNIC_QP_COUNTERS	false
#define ERNIC_PORT_PARAM	, u32 port
#define ernic_resize_arg	unsigned int
/* The core reports port events for changes of the net device, unless the driver does. */
#define ERNIC_REPORT_PORT_EVENT
#else
#define ERNIC_DMAH_PARAM
#define ERNIC_QP_COUNTERS	true
#define ERNIC_PORT_PARAM
#define ernic_resize_arg	int
#define ib_umem_get_va		ib_umem_get
#define resize_user_cq		resize_cq
#endif

#endif /* ERNIC_COMPAT_H */
