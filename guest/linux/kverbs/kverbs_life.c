// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The life of a queue pair, and of events: arming, draining, reset, destruction.
 */
#include <linux/delay.h>
#include "kverbs.h"

static int kv_test_events(struct kv_env *env)
{
	const enum ib_cq_notify_flags next =
		IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct kv_end p[2];
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	KV_CHECK(ib_req_notify_cq(p[1].cq, next) == 0);
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(!kv_send(&p[0], 1, 0, 8, 0));
	KV_CHECK(wait_for_completion_timeout(&p[1].event, KV_LATE));
	KV_CHECK(!kv_expect(&p[1], 1, IB_WC_SUCCESS));
	/* not armed: no event; the peer completes before the sender */
	KV_CHECK(!kv_post_recv(&p[1], 2, 0, 64));
	KV_CHECK(!kv_send(&p[0], 2, 0, 8, IB_SEND_SIGNALED));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(!wait_for_completion_timeout(&p[1].event, KV_SOON));
	/* armed after it: reported at once, and the next one by an event */
	KV_CHECK(ib_req_notify_cq(p[1].cq, next) == 1);
	KV_CHECK(!wait_for_completion_timeout(&p[1].event, KV_SOON));
	KV_CHECK(!kv_post_recv(&p[1], 5, 0, 64));
	KV_CHECK(!kv_send(&p[0], 5, 0, 8, 0));
	KV_CHECK(wait_for_completion_timeout(&p[1].event, KV_LATE));
	KV_CHECK(!kv_expect(&p[1], 2, IB_WC_SUCCESS));
	KV_CHECK(!kv_expect(&p[1], 5, IB_WC_SUCCESS));
	/* solicited ones only */
	KV_CHECK(!ib_req_notify_cq(p[1].cq, IB_CQ_SOLICITED));
	KV_CHECK(!kv_post_recv(&p[1], 3, 0, 64));
	KV_CHECK(!kv_post_recv(&p[1], 4, 0, 64));
	KV_CHECK(!kv_send(&p[0], 3, 0, 8, 0));
	KV_CHECK(!wait_for_completion_timeout(&p[1].event, KV_SOON));
	KV_CHECK(!kv_send(&p[0], 4, 0, 8, IB_SEND_SOLICITED));
	KV_CHECK(wait_for_completion_timeout(&p[1].event, KV_LATE));
out:
	kv_pair_fini(p);
	return ret;
}

static int kv_test_states(struct kv_env *env)
{
	struct kv_end end;
	int ret = kv_end_init(&end, env, IB_QPT_RC, 4, NULL);

	if (ret)
		return ret;
	KV_CHECK(kv_post_recv(&end, 1, 0, 64) == -EINVAL);
	KV_CHECK(kv_send(&end, 1, 0, 64, 0) == -EINVAL);
out:
	kv_end_fini(&end);
	return ret;
}

/* In Error all requests come back, also those that are posted later. */
static int kv_test_flush(struct kv_env *env)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct kv_end p[2];
	int ret = kv_pair_init(p, env, IB_QPT_RC, 4);

	if (ret)
		return ret;
	KV_CHECK(!kv_post_recv(&p[0], 1, 0, 64));
	/* stays posted: the peer has no receive request */
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, 0));
	KV_CHECK(!ib_modify_qp(p[0].qp, &attr, IB_QP_STATE));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(!kv_expect(&p[0], 1, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(!kv_send(&p[0], 3, 0, 64, 0));
	KV_CHECK(!kv_expect(&p[0], 3, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(!kv_post_recv(&p[0], 4, 0, 64));
	KV_CHECK(!kv_expect(&p[0], 4, IB_WC_WR_FLUSH_ERR));
out:
	kv_pair_fini(p);
	return ret;
}

/* Drains with a CQ of the core, as upper layers do. */
static int kv_test_drain(struct kv_env *env)
{
	struct kv_end end = {}, peer = {};
	int ret = kv_end_init(&peer, env, IB_QPT_RC, 8, NULL);

	if (ret)
		return ret;
	KV_CHECK(!kv_core_init(&end, env, IB_POLL_WORKQUEUE));
	KV_CHECK(!kv_connect(&end, &peer));
	ib_drain_qp(end.qp);
out:
	kv_core_fini(&end);
	kv_end_fini(&peer);
	return ret;
}

/* A reset removes completions that were not polled, and the counters restart. */
static int kv_test_reset(struct kv_env *env)
{
	struct kv_end p[2];
	u32 round, i;
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 3; i++) {
			KV_CHECK(!kv_post_recv(&p[1], 10 + i, 0, 64));
			KV_CHECK(!kv_send(&p[0], 20 + i, 0, 64,
					  IB_SEND_SIGNALED));
		}
		KV_CHECK(!kv_expect(&p[0], 20, IB_WC_SUCCESS));
		msleep(20);
		KV_CHECK(!kv_reset(&p[0]) && !kv_reset(&p[1]));
		KV_CHECK(kv_quiet(&p[0]) && kv_quiet(&p[1]));
		KV_CHECK(!kv_connect(&p[0], &p[1]));
		KV_CHECK(!kv_connect(&p[1], &p[0]));
	}
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, IB_SEND_SIGNALED));
	KV_CHECK(!kv_expect(&p[0], 2, IB_WC_SUCCESS));
	KV_CHECK(!kv_expect(&p[1], 1, IB_WC_SUCCESS));
out:
	kv_pair_fini(p);
	return ret;
}

/* A destroyed queue pair leaves no completions in a shared CQ. */
static int kv_test_destroy(struct kv_env *env)
{
	struct kv_end p[2], third = {};
	int ret = kv_pair_init(p, env, IB_QPT_RC, 8);

	if (ret)
		return ret;
	ret = kv_end_init(&third, env, IB_QPT_RC, 8, NULL);
	KV_CHECK(!ret);
	/* connected to itself: completes the receive before the send */
	KV_CHECK(!kv_connect(&third, &third));
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, IB_SEND_SIGNALED));
	msleep(20);
	/* its completion is in the CQ when it goes */
	KV_CHECK(!ib_destroy_qp(p[0].qp));
	p[0].qp = NULL;
	KV_CHECK(kv_quiet(&p[0]));
	KV_CHECK(!kv_post_recv(&third, 3, 0, 64));
	KV_CHECK(!kv_send(&third, 4, 0, 64, IB_SEND_SIGNALED));
	KV_CHECK(!kv_expect(&third, 3, IB_WC_SUCCESS));
	KV_CHECK(!kv_expect(&third, 4, IB_WC_SUCCESS));
out:
	kv_end_fini(&third);
	kv_pair_fini(p);
	return ret;
}

const struct kv_test kv_life_tests[] = {
	{ "events", kv_test_events },
	{ "states", kv_test_states },
	{ "flush", kv_test_flush },
	{ "drain", kv_test_drain },
	{ "reset", kv_test_reset },
	{ "destroy", kv_test_destroy },
	{ }
};
