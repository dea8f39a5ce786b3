// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages: SEND on all services, shared receive queues, datagrams, multicast.
 */
#include <linux/ip.h>
#include <linux/slab.h>
#include "kverbs.h"

static int kv_test_send(struct kv_env *env)
{
	struct ib_send_wr imm = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.send_flags = IB_SEND_SIGNALED,
		.ex.imm_data = cpu_to_be32(0x01020304),
	};
	static const enum ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC };
	struct kv_end p[2];
	struct ib_wc wc;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		ret = kv_pair_init(p, env, types[i], 8);
		if (ret)
			return ret;
		kv_fill(&p[0], 0, 5000, i);
		KV_CHECK(!kv_post_recv(&p[1], 11, 100, 8000));
		KV_CHECK(!kv_post_recv(&p[1], 12, 20000, 8000));
		KV_CHECK(!kv_send(&p[0], 21, 0, 5000, IB_SEND_SIGNALED));
		KV_CHECK(!kv_post(&p[0], &imm, 22, 0, 0));
		KV_CHECK(!kv_expect(&p[0], 21, IB_WC_SUCCESS));
		KV_CHECK(!kv_expect(&p[0], 22, IB_WC_SUCCESS));
		KV_CHECK(!kv_poll(&p[1], &wc));
		KV_CHECK(wc.wr_id == 11 && wc.status == IB_WC_SUCCESS);
		KV_CHECK(wc.opcode == IB_WC_RECV && wc.byte_len == 5000);
		KV_CHECK(wc.qp == p[1].qp && !wc.wc_flags);
		KV_CHECK(kv_holds(&p[1], 100, 5000, i));
		KV_CHECK(!kv_poll(&p[1], &wc));
		KV_CHECK(wc.wr_id == 12 && wc.wc_flags == IB_WC_WITH_IMM);
		KV_CHECK(wc.ex.imm_data == imm.ex.imm_data && !wc.byte_len);
		KV_CHECK(kv_quiet(&p[0]) && kv_quiet(&p[1]));
out:
		kv_pair_fini(p);
		if (ret)
			break;
	}
	return ret;
}

static int kv_test_inline(struct kv_env *env)
{
	struct kv_end p[2];
	int ret = kv_pair_init(p, env, IB_QPT_RC, 4);

	if (ret)
		return ret;
	kv_fill(&p[0], 0, 200, 3);
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 400));
	KV_CHECK(!kv_send(&p[0], 2, 0, 200,
			  IB_SEND_SIGNALED | IB_SEND_INLINE));
	/* the bytes were copied when it was posted */
	memset(p[0].buf, 0, 200);
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(!kv_expect(&p[1], 1, IB_WC_SUCCESS));
	KV_CHECK(kv_holds(&p[1], 0, 200, 3));
	KV_CHECK(kv_send(&p[0], 3, 0, 201, IB_SEND_INLINE) == -EINVAL);
out:
	kv_pair_fini(p);
	return ret;
}

/* bad_wr points to the request that was refused, and is not written otherwise. */
static int kv_test_bad_wr(struct kv_env *env)
{
	const struct ib_send_wr *bad = NULL;
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_send_wr wr[5] = {};
	struct ib_recv_wr recv[5] = {};
	struct kv_end p[2];
	int i, ret = kv_pair_init(p, env, IB_QPT_RC, 4);

	if (ret)
		return ret;
	for (i = 0; i < 5; i++) {
		wr[i].opcode = IB_WR_SEND;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
		recv[i].next = i < 3 ? &recv[i + 1] : NULL;
	}
	KV_CHECK(!ib_post_send(p[0].qp, wr, &bad) && !bad);
	KV_CHECK(!ib_post_recv(p[0].qp, recv, &bad_recv) && !bad_recv);
	KV_CHECK(!kv_reset(&p[0]) && !kv_connect(&p[0], &p[1]));
	wr[3].next = &wr[4];
	recv[3].next = &recv[4];
	KV_CHECK(ib_post_send(p[0].qp, wr, &bad) == -ENOMEM && bad == &wr[4]);
	KV_CHECK(ib_post_recv(p[0].qp, recv, &bad_recv) == -ENOMEM);
	KV_CHECK(bad_recv == &recv[4]);
out:
	kv_pair_fini(p);
	return ret;
}

/* Small rings that wrap many times; most requests are not signalled. */
static int kv_test_wrap(struct kv_env *env)
{
	struct kv_end p[2];
	u32 i, round;
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	for (round = 0; round < 300; round++) {
		for (i = 0; i < 8; i++)
			KV_CHECK(!kv_post_recv(&p[1], round * 8 + i, i * 64,
					       64));
		for (i = 0; i < 8; i++)
			KV_CHECK(!kv_send(&p[0], round * 8 + i, i * 64, 64,
					  i == 7 ? IB_SEND_SIGNALED : 0));
		KV_CHECK(kv_send(&p[0], 0, 0, 1, 0) == -ENOMEM);
		KV_CHECK(!kv_expect(&p[0], round * 8 + 7, IB_WC_SUCCESS));
		for (i = 0; i < 8; i++)
			KV_CHECK(!kv_expect(&p[1], round * 8 + i,
					    IB_WC_SUCCESS));
	}
out:
	kv_pair_fini(p);
	return ret;
}

/* Two queue pairs take requests of one shared queue alternately. */
struct kv_shared {
	struct ib_srq *srq;
	struct kv_end from[2], to[2];
};

#define KV_SLOT	4096	/* bytes of each of the 8 receive requests */

static void kv_shared_fini(struct kv_shared *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		kv_end_fini(&s->from[i]);
		kv_end_fini(&s->to[i]);
	}
	if (!IS_ERR_OR_NULL(s->srq))
		ib_destroy_srq(s->srq);
}

static int kv_shared_init(struct kv_shared *s, struct kv_env *env)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = 8, .max_sge = 2 },
		.srq_type = IB_SRQT_BASIC,
	};
	int i, ret;

	s->srq = ib_create_srq(env->pd, &init);
	ret = PTR_ERR_OR_ZERO(s->srq);
	for (i = 0; i < 2 && !ret; i++) {
		ret = kv_end_init(&s->from[i], env, IB_QPT_RC, 8, NULL);
		if (!ret)
			ret = kv_end_init(&s->to[i], env, IB_QPT_RC, 8, s->srq);
		if (!ret)
			ret = kv_connect(&s->from[i], &s->to[i]);
		if (!ret)
			ret = kv_connect(&s->to[i], &s->from[i]);
	}
	return ret;
}

/* Checks the message of sender i in this round, and posts its request again. */
static int kv_shared_take(struct kv_shared *s, int i, u32 round)
{
	u32 len = i ? KV_SLOT : 64;
	struct ib_wc wc;
	int ret;

	ret = kv_expect(&s->from[i], round, IB_WC_SUCCESS);
	if (ret)
		return ret;
	KV_CHECK(!kv_poll(&s->to[i], &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.qp == s->to[i].qp);
	KV_CHECK(wc.wr_id < 8 && wc.byte_len == len);
	KV_CHECK(kv_holds(&s->to[0], wc.wr_id * KV_SLOT, len, round + 100 * i));
	KV_CHECK(!kv_post_recv(&s->to[0], wc.wr_id, wc.wr_id * KV_SLOT,
			       KV_SLOT));
out:
	return ret;
}

static int kv_test_srq(struct kv_env *env)
{
	struct kv_shared *s = kzalloc(sizeof(*s), GFP_KERNEL);
	u32 i, round;
	int ret;

	if (!s)
		return -ENOMEM;
	ret = kv_shared_init(s, env);
	KV_CHECK(!ret);
	for (i = 0; i < 8; i++)
		KV_CHECK(!kv_post_recv(&s->to[0], i, i * KV_SLOT, KV_SLOT));
	KV_CHECK(kv_post_recv(&s->to[0], 0, 0, 64) == -ENOMEM);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 2; i++) {
			u32 len = i ? KV_SLOT : 64;

			kv_fill(&s->from[i], 0, len, round + 100 * i);
			KV_CHECK(!kv_send(&s->from[i], round, 0, len,
					  IB_SEND_SIGNALED));
		}
		/* in either order */
		for (i = 0; i < 2; i++)
			KV_CHECK(!kv_shared_take(s, (round + i) % 2, round));
	}
out:
	kv_shared_fini(s);
	kfree(s);
	return ret;
}

static int kv_send_ud(struct kv_end *from, struct ib_ah *ah, u32 qpn, u64 wr_id,
		      u32 len)
{
	struct ib_ud_wr wr = {
		.wr.opcode = IB_WR_SEND,
		.wr.send_flags = IB_SEND_SIGNALED,
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = KV_QKEY,
	};

	return kv_post(from, &wr.wr, wr_id, 0, len);
}

static struct ib_ah *kv_make_ah(struct kv_env *env, const union ib_gid *gid)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };

	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_grh(&attr, (union ib_gid *)gid, 0, env->gid_index, 64, 0);
	return rdma_create_ah(env->pd, &attr, 0);
}

static int kv_test_ud(struct kv_env *env)
{
	struct ib_ah *ah = kv_make_ah(env, &env->gid);
	struct kv_end p[2];
	struct iphdr *ip;
	struct ib_wc wc;
	int ret;

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	ret = kv_pair_init(p, env, IB_QPT_UD, 4);
	if (ret)
		goto no_pair;
	kv_fill(&p[0], 0, 300, 9);
	KV_CHECK(!kv_post_recv(&p[1], 5, 0, 1000));
	KV_CHECK(!kv_send_ud(&p[0], ah, p[1].qp->qp_num, 6, 300));
	KV_CHECK(!kv_expect(&p[0], 6, IB_WC_SUCCESS));
	KV_CHECK(!kv_poll(&p[1], &wc));
	KV_CHECK(wc.wr_id == 5 && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.byte_len == 340 && wc.src_qp == p[0].qp->qp_num);
	KV_CHECK(wc.wc_flags & IB_WC_GRH);
	KV_CHECK(kv_holds(&p[1], 40, 300, 9));
	ip = (struct iphdr *)(p[1].buf + 20);
	KV_CHECK(ip->version == 4);
	KV_CHECK(!memcmp(&ip->saddr, env->gid.raw + 12, 4));
out:
	kv_pair_fini(p);
no_pair:
	rdma_destroy_ah(ah, 0);
	return ret;
}

static int kv_test_mcast(struct kv_env *env)
{
	static const union ib_gid group = {
		.raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 }
	};
	struct ib_ah *ah = kv_make_ah(env, &group);
	union ib_gid gid = group;
	struct kv_end p[2];
	int ret;

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	ret = kv_pair_init(p, env, IB_QPT_UD, 4);
	if (ret)
		goto no_pair;
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 1000));
	KV_CHECK(!ib_attach_mcast(p[1].qp, &gid, 0));
	KV_CHECK(!kv_send_ud(&p[0], ah, 0xffffff, 2, 10));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(!kv_expect(&p[1], 1, IB_WC_SUCCESS));
	KV_CHECK(!ib_detach_mcast(p[1].qp, &gid, 0));
	KV_CHECK(!kv_post_recv(&p[1], 3, 0, 1000));
	KV_CHECK(!kv_send_ud(&p[0], ah, 0xffffff, 4, 10));
	KV_CHECK(!kv_expect(&p[0], 4, IB_WC_SUCCESS));
	KV_CHECK(kv_quiet(&p[1]));
	KV_CHECK(ib_detach_mcast(p[1].qp, &gid, 0));
out:
	kv_pair_fini(p);
no_pair:
	rdma_destroy_ah(ah, 0);
	return ret;
}

const struct kv_test kv_msg_tests[] = {
	{ "send", kv_test_send },
	{ "inline", kv_test_inline },
	{ "bad_wr", kv_test_bad_wr },
	{ "wrap", kv_test_wrap },
	{ "srq", kv_test_srq },
	{ "ud", kv_test_ud },
	{ "mcast", kv_test_mcast },
	{ }
};
