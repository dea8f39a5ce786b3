/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * The user ABI between ernic.ko and libernic: the driver-specific parts of the
 * verbs commands. The layout of queues, work requests, completions and
 * doorbells is that of the device, hw/rdma-ernic/ernic_abi.h.
 *
 * Every queue is memory of the process, page-aligned, that the kernel pins and
 * hands to the device. The process clears completion rings before it creates
 * them. Depths are powers of two; strides are in units of 64 bytes.
 */
#ifndef ERNIC_UABI_H
#define ERNIC_UABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define ERNIC_UABI_VERSION 1

struct ernic_alloc_ucontext_resp {
	/*
	 * mmap() of the context's doorbell page: offset, bytes; PROT_WRITE to
	 * ring, PROT_READ to read the clock
	 */
	__aligned_u64 db_mmap_offset;
	__u32 db_mmap_size;
	/* number of the context; commands of this process carry it */
	__u32 uctx;
	__u32 max_sq_wr;
	__u32 max_rq_wr;
	__u32 max_srq_wr;
	__u32 max_cqe;
	__u16 max_inline;
	__u16 max_sge;
	__u8 sq_stride_max;
	__u8 rq_stride_max;
	/*
	 * Offset in the doorbell page of 64 bits of the device's clock: ns, as
	 * in completions. 0: there is no clock to read.
	 */
	__u16 db_time_offset;
	/*
	 * mmap() of struct ernic_clock_page: offset; a page, PROT_READ, shared.
	 * 0: there is no PTP clock.
	 */
	__aligned_u64 clock_mmap_offset;
	/*
	 * The greatest rate limit of a raw packet queue pair, in kb/s; 0: there
	 * are none.
	 */
	__u32 rate_limit_max;
	/* ERNIC_UCTX_* */
	__u32 flags;
};

/* in flags: queues may have records */
#define ERNIC_UCTX_RECORDS	(1U << 0)
/* and the doorbells of those that send are at ERNIC_DB_RECORD in the doorbell page */
#define ERNIC_UCTX_DB_RECORD	(1U << 1)

/*
 * The PTP clock, relative to the device's clock: when the device's clock shows d, the
 * PTP clock shows time + (d - device) * (1 + rate / 2^32), rounded down.
 */
struct ernic_clock_page {
	/* odd while the rest changes; equal before and after reading it */
	__u32 seq;
	/* difference of the rates, in 2^-32; positive: the PTP clock is faster */
	__s32 rate;
	/* times of both clocks at one moment, in ns */
	__aligned_u64 device;
	__aligned_u64 time;
};

struct ernic_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

struct ernic_create_cq_req {
	/* ring of depth entries of 64 bytes, cleared; cqe + 1 rounded up */
	__aligned_u64 buf_addr;
	/*
	 * Address of a 32-bit consumer counter that the process updates and the
	 * device reads when the ring looks full, so that polling needs no
	 * doorbell; 0: there is none. A multiple of 4.
	 */
	__aligned_u64 ci_addr;
	__u32 depth;
	__u32 reserved;
};

struct ernic_create_cq_resp {
	__u32 cqn;
	__u32 depth;
};

struct ernic_resize_cq_req {
	/* new ring, with the phases that ernic_abi.h describes */
	__aligned_u64 buf_addr;
	__u32 depth;
	__u32 reserved;
};

struct ernic_create_srq_req {
	__aligned_u64 buf_addr;
	__u32 depth;
	__u16 stride;
	__u16 reserved;
	/*
	 * Address of a struct ernic_record, cleared, a multiple of 8: requests are
	 * posted by it, and doorbells are not rung. 0: there is none.
	 */
	__aligned_u64 record_addr;
};

struct ernic_resize_srq_req {
	/* new ring of the same stride, which contains the posted requests */
	__aligned_u64 buf_addr;
	__u32 depth;
	__u32 reserved;
};

struct ernic_create_srq_resp {
	__u32 srqn;
	__u32 reserved;
};

struct ernic_create_qp_req {
	__aligned_u64 sq_addr;
	/* 0 with an SRQ */
	__aligned_u64 rq_addr;
	__u32 sq_depth;
	/* 0 with an SRQ */
	__u32 rq_depth;
	__u8 sq_stride;
	__u8 rq_stride;
	__u8 reserved[6];
	/* like record_addr above */
	__aligned_u64 sq_record_addr;
	__aligned_u64 rq_record_addr;
};

struct ernic_create_qp_resp {
	__u32 qpn;
	__u32 reserved;
};

/*
 * The input of a change with a rate limit. Without this request the device chooses the
 * burst.
 */
struct ernic_modify_qp_req {
	/* size of a burst after a pause, in bytes */
	__u32 rate_burst;
	__u32 reserved;
};

/* A receive work queue. */
struct ernic_create_wq_req {
	__aligned_u64 buf_addr;
	__u32 depth;
	__u16 stride;
	__u16 reserved;
	/* as in ernic_create_srq_req */
	__aligned_u64 record_addr;
};

/* A queue pair over an indirection table, instead of ernic_create_qp_req. */
struct ernic_create_rss_req {
	/* ERNIC_HASH_* */
	__u32 fields;
	/* 1: Toeplitz; the length of its key */
	__u8 function;
	__u8 key_len;
	__u16 reserved;
	__u8 key[40];
};

/*
 * Address handles are memory of the process; the kernel resolves the next hop. The
 * members are those of struct ernic_av.
 */
struct ernic_create_ah_resp {
	__u8 dmac[6];
	__u8 sgid_index;
	__u8 hop_limit;
};

/* Attributes and methods that the driver adds to the ioctl() interface. */
enum ernic_query_context_attrs {
	/* struct ernic_alloc_ucontext_resp */
	ERNIC_ATTR_QUERY_CONTEXT = (1U << UVERBS_ID_NS_SHIFT),
};

enum ernic_alloc_dm_attrs {
	/* 64 bits: the offset to mmap() the memory, in whole pages */
	ERNIC_ATTR_ALLOC_DM_OFFSET = (1U << UVERBS_ID_NS_SHIFT),
};

enum ernic_dm_methods {
	ERNIC_METHOD_DM_QUERY = (1U << UVERBS_ID_NS_SHIFT),
};

enum ernic_query_dm_attrs {
	ERNIC_ATTR_QUERY_DM_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	/* struct ernic_dm_resp */
	ERNIC_ATTR_QUERY_DM_RESP,
};

struct ernic_dm_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 length;
};

#endif /* ERNIC_UABI_H */
