// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Creating and connecting queue pairs, posting and polling.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "kverbs.h"

#define KV_MAX_SGE	4
#define KV_INLINE	200

/* The first IPv4 address that the device has. */
static int kv_find_gid(struct kv_env *env)
{
	int i;

	for (i = 0; i < 16; i++) {
		if (!rdma_query_gid(env->dev, 1, i, &env->gid) &&
		    ipv6_addr_v4mapped((struct in6_addr *)env->gid.raw)) {
			env->gid_index = i;
			return 0;
		}
	}
	pr_err("kverbs: no IPv4 address\n");
	return -ENOENT;
}

int kv_env_init(struct kv_env *env, struct ib_device *dev)
{
	int ret;

	env->dev = dev;
	env->vector = 0;
	ret = kv_find_gid(env);
	if (ret)
		return ret;
	/* with this flag pd->unsafe_global_rkey gives peers access to all memory */
	env->pd = ib_alloc_pd(dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	return PTR_ERR_OR_ZERO(env->pd);
}

void kv_env_fini(struct kv_env *env)
{
	ib_dealloc_pd(env->pd);
}

static void kv_event(struct ib_cq *cq, void *context)
{
	struct kv_end *end = context;

	if (end->handler)
		end->handler(end);
	else
		complete(&end->event);
}

static int kv_create_qp(struct kv_end *end, enum ib_qp_type type, u32 depth)
{
	struct ib_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.cap.max_send_wr = depth,
		.cap.max_recv_wr = end->srq ? 0 : depth,
		.cap.max_send_sge = KV_MAX_SGE,
		.cap.max_recv_sge = KV_MAX_SGE,
		.cap.max_inline_data = KV_INLINE,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};

	end->qp = ib_create_qp(end->env->pd, &init);
	return PTR_ERR_OR_ZERO(end->qp);
}

int kv_end_init(struct kv_end *end, struct kv_env *env, enum ib_qp_type type,
		u32 depth, struct ib_srq *srq)
{
	struct ib_cq_init_attr cq = {
		.cqe = 2 * depth,
		.comp_vector = env->vector,
	};
	int ret;

	memset(end, 0, sizeof(*end));
	end->env = env;
	end->srq = srq;
	init_completion(&end->event);
	end->buf = kzalloc(KV_BUF, GFP_KERNEL);
	if (!end->buf)
		return -ENOMEM;
	end->dma = ib_dma_map_single(env->dev, end->buf, KV_BUF,
				     DMA_BIDIRECTIONAL);
	end->cq = ib_create_cq(env->dev, kv_event, NULL, end, &cq);
	ret = PTR_ERR_OR_ZERO(end->cq);
	if (!ret)
		ret = kv_create_qp(end, type, depth);
	if (ret)
		kv_end_fini(end);
	return ret;
}

void kv_end_fini(struct kv_end *end)
{
	if (!end->buf)
		return;
	if (!IS_ERR_OR_NULL(end->qp))
		WARN_ON(ib_destroy_qp(end->qp));
	if (!IS_ERR_OR_NULL(end->cq))
		ib_destroy_cq(end->cq);
	ib_dma_unmap_single(end->env->dev, end->dma, KV_BUF,
			    DMA_BIDIRECTIONAL);
	kfree(end->buf);
	end->buf = NULL;
}

int kv_core_init(struct kv_end *end, struct kv_env *env,
		 enum ib_poll_context ctx)
{
	end->env = env;
	end->cq = ib_alloc_cq(env->dev, NULL, 32, 0, ctx);
	return PTR_ERR_OR_ZERO(end->cq) ?: kv_create_qp(end, IB_QPT_RC, 8);
}

void kv_core_fini(struct kv_end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		WARN_ON(ib_destroy_qp(end->qp));
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
}

static void kv_address(const struct kv_env *env, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, (union ib_gid *)&env->gid, 0, env->gid_index, 64,
			0);
}

static int kv_to_init(struct kv_end *end)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = KV_QKEY,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PORT |
			    IB_QP_PKEY_INDEX |
			    (end->qp->qp_type == IB_QPT_UD ? IB_QP_QKEY :
							     IB_QP_ACCESS_FLAGS));
}

static int kv_to_rtr(struct kv_end *end, const struct kv_end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};
	int mask = IB_QP_STATE;

	if (end->qp->qp_type != IB_QPT_UD) {
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN;
		attr.dest_qp_num = peer->qp->qp_num;
		kv_address(end->env, &attr.ah_attr);
	}
	if (end->qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return ib_modify_qp(end->qp, &attr, mask);
}

static int kv_to_rts(struct kv_end *end)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;

	if (end->qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(end->qp, &attr, mask);
}

int kv_connect(struct kv_end *end, const struct kv_end *peer)
{
	int ret = kv_to_init(end);

	if (!ret)
		ret = kv_to_rtr(end, peer);
	if (!ret)
		ret = kv_to_rts(end);
	if (ret)
		pr_err("kverbs: modify: %d\n", ret);
	return ret;
}

int kv_reset(struct kv_end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	return ib_modify_qp(end->qp, &attr, IB_QP_STATE);
}

int kv_pair_init(struct kv_end pair[2], struct kv_env *env,
		 enum ib_qp_type type, u32 depth)
{
	int ret;

	pair[1].buf = NULL;
	ret = kv_end_init(&pair[0], env, type, depth, NULL);
	if (!ret)
		ret = kv_end_init(&pair[1], env, type, depth, NULL);
	if (!ret)
		ret = kv_connect(&pair[0], &pair[1]);
	if (!ret)
		ret = kv_connect(&pair[1], &pair[0]);
	if (ret) {
		pr_err("kverbs: no pair: %d\n", ret);
		kv_pair_fini(pair);
	}
	return ret;
}

void kv_pair_fini(struct kv_end pair[2])
{
	kv_end_fini(&pair[0]);
	kv_end_fini(&pair[1]);
}

int kv_post_recv(struct kv_end *end, u64 wr_id, u32 offset, u32 len)
{
	struct ib_sge sge = { end->dma + offset, len,
			      end->env->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				 .num_sge = 1 };

	return end->srq ? ib_post_srq_recv(end->srq, &wr, NULL) :
			  ib_post_recv(end->qp, &wr, NULL);
}

int kv_post(struct kv_end *end, struct ib_send_wr *wr, u64 wr_id, u32 offset,
	    u32 len)
{
	struct ib_sge sge = { end->dma + offset, len,
			      end->env->pd->local_dma_lkey };

	if (wr->send_flags & IB_SEND_INLINE)
		sge.addr = (uintptr_t)end->buf + offset;
	wr->wr_id = wr_id;
	wr->sg_list = &sge;
	wr->num_sge = len ? 1 : 0;
	return ib_post_send(end->qp, wr, NULL);
}

int kv_send(struct kv_end *end, u64 wr_id, u32 offset, u32 len, int flags)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = flags };

	return kv_post(end, &wr, wr_id, offset, len);
}

int kv_poll(struct kv_end *end, struct ib_wc *wc)
{
	unsigned long late = jiffies + KV_LATE;
	int n;

	do {
		n = ib_poll_cq(end->cq, 1, wc);
		if (n)
			return n < 0 ? n : 0;
		usleep_range(1000, 1100);
	} while (time_before(jiffies, late));
	return -ETIMEDOUT;
}

int kv_expect(struct kv_end *end, u64 wr_id, enum ib_wc_status status)
{
	struct ib_wc wc;
	int ret = kv_poll(end, &wc);

	if (!ret && (wc.wr_id != wr_id || wc.status != status ||
		     wc.qp != end->qp)) {
		pr_err("kverbs: completion of %llx (%llx), status %d (%d)\n",
		       wc.wr_id, wr_id, wc.status, status);
		ret = -EIO;
	}
	return ret;
}

bool kv_quiet(struct kv_end *end)
{
	struct ib_wc wc;

	msleep(20);
	return ib_poll_cq(end->cq, 1, &wc) == 0;
}

void kv_fill(struct kv_end *end, u32 offset, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		end->buf[offset + i] = seed + i * 7;
}

bool kv_holds(const struct kv_end *end, u32 offset, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (end->buf[offset + i] != (u8)(seed + i * 7))
			return false;
	return true;
}
