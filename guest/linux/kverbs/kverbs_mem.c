// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory: WRITE, READ, atomics, and regions that work requests register.
 */
#include <linux/scatterlist.h>
#include "kverbs.h"

static int kv_rdma(struct kv_end *end, enum ib_wr_opcode opcode, u64 wr_id,
		   u32 offset, u32 len, u64 raddr, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode,
		.wr.send_flags = IB_SEND_SIGNALED,
		.remote_addr = raddr,
		.rkey = rkey,
	};

	return kv_post(end, &wr.wr, wr_id, offset, len);
}

static int kv_test_rdma(struct kv_env *env)
{
	u32 rkey = env->pd->unsafe_global_rkey;
	struct kv_end p[2];
	struct ib_wc wc;
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	kv_fill(&p[0], 0, 30000, 1);
	KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_WRITE, 1, 0, 30000,
			  p[1].dma + 77, rkey));
	KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_READ, 2, 32768, 30000,
			  p[1].dma + 77, rkey));
	KV_CHECK(!kv_poll(&p[0], &wc) && wc.wr_id == 1);
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RDMA_WRITE);
	KV_CHECK(!kv_poll(&p[0], &wc) && wc.wr_id == 2);
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RDMA_READ);
	KV_CHECK(kv_holds(&p[1], 77, 30000, 1));
	KV_CHECK(kv_holds(&p[0], 32768, 30000, 1));
	KV_CHECK(!kv_post_recv(&p[1], 3, 0, 0));
	KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_WRITE_WITH_IMM, 4, 0, 16,
			  p[1].dma, rkey));
	KV_CHECK(!kv_expect(&p[0], 4, IB_WC_SUCCESS));
	KV_CHECK(!kv_poll(&p[1], &wc) && wc.wr_id == 3);
	KV_CHECK(wc.opcode == IB_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 16);
out:
	kv_pair_fini(p);
	return ret;
}

/* Registers the memory of end from offset on, with a new key. */
static int kv_reg(struct kv_end *end, struct ib_mr *mr, u32 offset, u32 len)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC,
	};
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg_set_buf(&sg, end->buf + offset, len);
	sg_dma_address(&sg) = end->dma + offset;
	sg_dma_len(&sg) = len;
	if (ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr.key = mr->rkey;
	return kv_post(end, &wr.wr, 100, 0, 0);
}

static int kv_test_atomic(struct kv_env *env)
{
	struct ib_atomic_wr wr = { .wr.send_flags = IB_SEND_SIGNALED };
	struct ib_mr *mr = NULL;
	struct kv_end p[2];
	u64 *word, *old;
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	mr = ib_alloc_mr(env->pd, IB_MR_TYPE_MEM_REG, 1);
	KV_CHECK(!IS_ERR(mr));
	KV_CHECK(!kv_reg(&p[1], mr, 8, 8));
	KV_CHECK(!kv_expect(&p[1], 100, IB_WC_SUCCESS));
	wr.remote_addr = mr->iova;
	wr.rkey = mr->rkey;
	word = (u64 *)(p[1].buf + 8);
	old = (u64 *)p[0].buf;
	*word = 1000;
	wr.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare_add = 234;
	KV_CHECK(!kv_post(&p[0], &wr.wr, 1, 0, 8));
	KV_CHECK(!kv_expect(&p[0], 1, IB_WC_SUCCESS));
	KV_CHECK(*old == 1000 && *word == 1234);
	wr.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	wr.compare_add = 1234;
	wr.swap = 99;
	KV_CHECK(!kv_post(&p[0], &wr.wr, 2, 0, 8));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(*old == 1234 && *word == 99);
out:
	kv_pair_fini(p);
	if (!IS_ERR_OR_NULL(mr))
		WARN_ON(ib_dereg_mr(mr));
	return ret;
}

static int kv_test_reg_mr(struct kv_env *env)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_mr *mr;
	struct kv_end p[2];
	int i, ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	mr = ib_alloc_mr(env->pd, IB_MR_TYPE_MEM_REG, 16);
	KV_CHECK(!IS_ERR(mr));
	for (i = 0; i < 3; i++) {
		KV_CHECK(!kv_reg(&p[1], mr, 555, 40000));
		KV_CHECK(!kv_expect(&p[1], 100, IB_WC_SUCCESS));
		kv_fill(&p[0], 0, 40000, i);
		KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_WRITE, 1, 0, 40000,
				  mr->iova, mr->rkey));
		KV_CHECK(!kv_expect(&p[0], 1, IB_WC_SUCCESS));
		KV_CHECK(kv_holds(&p[1], 555, 40000, i));
		inv.ex.invalidate_rkey = mr->rkey;
		KV_CHECK(!kv_post(&p[1], &inv, 2, 0, 0));
		KV_CHECK(!kv_expect(&p[1], 2, IB_WC_SUCCESS));
	}
	/* an invalidated key gives no access */
	KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_WRITE, 3, 0, 16, mr->iova,
			  mr->rkey));
	KV_CHECK(!kv_expect(&p[0], 3, IB_WC_REM_ACCESS_ERR));
out:
	kv_pair_fini(p);
	if (!IS_ERR_OR_NULL(mr))
		WARN_ON(ib_dereg_mr(mr));
	return ret;
}

static int kv_test_send_inv(struct kv_env *env)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_mr *mr;
	struct kv_end p[2];
	struct ib_wc wc;
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	mr = ib_alloc_mr(env->pd, IB_MR_TYPE_MEM_REG, 16);
	KV_CHECK(!IS_ERR(mr));
	KV_CHECK(!kv_reg(&p[1], mr, 0, 8192));
	KV_CHECK(!kv_expect(&p[1], 100, IB_WC_SUCCESS));
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	wr.ex.invalidate_rkey = mr->rkey;
	KV_CHECK(!kv_post(&p[0], &wr, 2, 0, 8));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(!kv_poll(&p[1], &wc) && wc.wr_id == 1);
	KV_CHECK(wc.wc_flags == IB_WC_WITH_INVALIDATE);
	KV_CHECK(wc.ex.invalidate_rkey == mr->rkey);
	KV_CHECK(!kv_rdma(&p[0], IB_WR_RDMA_READ, 3, 0, 16, mr->iova,
			  mr->rkey));
	KV_CHECK(!kv_expect(&p[0], 3, IB_WC_REM_ACCESS_ERR));
out:
	kv_pair_fini(p);
	if (!IS_ERR_OR_NULL(mr))
		WARN_ON(ib_dereg_mr(mr));
	return ret;
}

static int kv_test_limits(struct kv_env *env)
{
	u32 max = env->dev->attrs.max_fast_reg_page_list_len;
	struct ib_mr *mr;
	int ret = 0;

	KV_CHECK(max >= 256);
	mr = ib_alloc_mr(env->pd, IB_MR_TYPE_MEM_REG, max);
	KV_CHECK(!IS_ERR(mr));
	KV_CHECK(!ib_dereg_mr(mr));
	mr = ib_alloc_mr(env->pd, IB_MR_TYPE_MEM_REG, max + 1);
	KV_CHECK(mr == ERR_PTR(-EINVAL));
out:
	return ret;
}

const struct kv_test kv_mem_tests[] = {
	{ "rdma", kv_test_rdma },
	{ "atomic", kv_test_atomic },
	{ "reg_mr", kv_test_reg_mr },
	{ "send_inv", kv_test_send_inv },
	{ "limits", kv_test_limits },
	{ }
};
