/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the kernel's verbs, inside the kernel: those that upper layers such as NVMe
 * use, and the others. Both ends are on one device.
 */
#ifndef KVERBS_H
#define KVERBS_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>

#define KV_BUF		(64 * 1024)	/* bytes of memory of each end */
#define KV_QKEY		0x1234
#define KV_SOON		(HZ / 20)	/* an event that must not come would have come */
#define KV_LATE		(30 * HZ)	/* an event that must come has, even on a busy host */

/* Objects that all tests share. */
struct kv_env {
	struct ib_device *dev;
	struct ib_pd *pd;
	union ib_gid gid;
	u8 gid_index;
	u32 vector;			/* of the CQs that are created next */
};

/* One end: a queue pair, its queues, its memory. */
struct kv_end {
	struct kv_env *env;
	struct ib_cq *cq;		/* of both directions */
	struct ib_srq *srq;		/* or NULL */
	struct ib_qp *qp;
	struct completion event;	/* of the CQ, without a handler */
	void (*handler)(struct kv_end *end);	/* or NULL */
	u8 *buf;
	u64 dma;
};

struct kv_test {
	const char *name;
	int (*run)(struct kv_env *env);
};

extern const struct kv_test kv_msg_tests[], kv_mem_tests[], kv_life_tests[],
	kv_smp_tests[], kv_dead_tests[];

/* Ends the test with -EIO and prints the place. */
#define KV_CHECK(cond) do {						\
	if (!(cond)) {							\
		pr_err("kverbs: %s:%d: %s\n", __func__, __LINE__, #cond); \
		ret = -EIO;						\
		goto out;						\
	}								\
} while (0)

int kv_env_init(struct kv_env *env, struct ib_device *dev);
void kv_env_fini(struct kv_env *env);

/* depth: of each queue; the CQ has as much as both. srq may be NULL. */
int kv_end_init(struct kv_end *end, struct kv_env *env, enum ib_qp_type type,
		u32 depth, struct ib_srq *srq);
void kv_end_fini(struct kv_end *end);
/*
 * An end without memory, whose CQ the core polls, as in upper layers. Uses end->srq
 * unless it is NULL.
 */
int kv_core_init(struct kv_end *end, struct kv_env *env,
		 enum ib_poll_context ctx);
void kv_core_fini(struct kv_end *end);
/* Move to RTS; UD ignores peer. */
int kv_connect(struct kv_end *end, const struct kv_end *peer);
int kv_reset(struct kv_end *end);
/* Two ends, connected; memory of zeros. */
int kv_pair_init(struct kv_end pair[2], struct kv_env *env,
		 enum ib_qp_type type, u32 depth);
void kv_pair_fini(struct kv_end pair[2]);

int kv_post_recv(struct kv_end *end, u64 wr_id, u32 offset, u32 len);
/* The message is [offset, offset + len) of the end's memory. */
int kv_post(struct kv_end *end, struct ib_send_wr *wr, u64 wr_id, u32 offset,
	    u32 len);
int kv_send(struct kv_end *end, u64 wr_id, u32 offset, u32 len, int flags);
/* The next completion; -ETIMEDOUT after KV_LATE. */
int kv_poll(struct kv_end *end, struct ib_wc *wc);
/* 0 if the next completion is of wr_id and has this status. */
int kv_expect(struct kv_end *end, u64 wr_id, enum ib_wc_status status);
/* There is no completion, and none comes soon. */
bool kv_quiet(struct kv_end *end);
void kv_fill(struct kv_end *end, u32 offset, u32 len, u8 seed);
bool kv_holds(const struct kv_end *end, u32 offset, u32 len, u8 seed);

#endif /* KVERBS_H */
