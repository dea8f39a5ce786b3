// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device that fails: requests posted before and after come back, and draining ends.
 * The device cannot be used afterwards.
 */
#include <linux/pci.h>
#include "kverbs.h"

#define KV_DRAINED	4

/* Without access to memory it cannot answer the next command. */
static int kv_kill(struct kv_env *env)
{
	struct ib_port_attr attr;

	pci_clear_master(to_pci_dev(env->dev->dev.parent));
	return ib_query_port(env->dev, 1, &attr) == -EIO ? 0 : -EINVAL;
}

/* Requests posted before and after, and events: as in Error. */
static int kv_dead_flush(struct kv_end *end)
{
	const enum ib_cq_notify_flags next =
		IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret = 0;

	KV_CHECK(wait_for_completion_timeout(&end->event, KV_LATE));
	KV_CHECK(!kv_expect(end, 2, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(!kv_expect(end, 1, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(kv_quiet(end));
	KV_CHECK(!ib_req_notify_cq(end->cq, next));
	KV_CHECK(!wait_for_completion_timeout(&end->event, KV_SOON));
	KV_CHECK(!kv_send(end, 3, 0, 64, 0));
	KV_CHECK(wait_for_completion_timeout(&end->event, KV_LATE));
	KV_CHECK(!kv_post_recv(end, 4, 0, 64));
	KV_CHECK(ib_req_notify_cq(end->cq, next) == 1);
	KV_CHECK(wait_for_completion_timeout(&end->event, KV_LATE));
	KV_CHECK(!ib_modify_qp(end->qp, &attr, IB_QP_STATE));
	KV_CHECK(kv_reset(end) == -EIO);
	KV_CHECK(!kv_expect(end, 3, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(!kv_expect(end, 4, IB_WC_WR_FLUSH_ERR));
	KV_CHECK(kv_quiet(end));
out:
	return ret;
}

/* Ends of upper layers, which drain in every way that exists. */
static int kv_drained_init(struct kv_end end[KV_DRAINED], struct kv_env *env,
			   struct kv_end *peer)
{
	static const enum ib_poll_context ctx[KV_DRAINED] = {
		IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE,
		IB_POLL_WORKQUEUE,
	};
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 4 } };
	int i, ret = 0;

	for (i = 0; i < KV_DRAINED && !ret; i++) {
		/* the last one with a shared queue */
		if (i == KV_DRAINED - 1) {
			end[i].srq = ib_create_srq(env->pd, &srq);
			if (IS_ERR(end[i].srq))
				return PTR_ERR(end[i].srq);
		}
		ret = kv_core_init(&end[i], env, ctx[i]);
		if (!ret)
			ret = kv_connect(&end[i], peer);
	}
	return ret;
}

static int kv_test_dead(struct kv_env *env)
{
	struct kv_end p[2], drained[KV_DRAINED] = {};
	unsigned long start;
	int i, ret = kv_pair_init(p, env, IB_QPT_RC, 4);

	if (ret)
		return ret;
	KV_CHECK(!kv_drained_init(drained, env, &p[1]));
	KV_CHECK(!kv_post_recv(&p[0], 1, 0, 64));
	KV_CHECK(!ib_req_notify_cq(p[0].cq, IB_CQ_NEXT_COMP));
	/* stays posted: the peer has no receive request */
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, 0));
	KV_CHECK(!kv_kill(env));
	KV_CHECK(!kv_dead_flush(&p[0]));
	start = jiffies;
	for (i = 0; i < KV_DRAINED; i++)
		ib_drain_qp(drained[i].qp);
	KV_CHECK(time_before(jiffies, start + 8 * HZ));
out:
	for (i = 0; i < KV_DRAINED; i++) {
		kv_core_fini(&drained[i]);
		if (!IS_ERR_OR_NULL(drained[i].srq))
			ib_destroy_srq(drained[i].srq);
	}
	kv_pair_fini(p);
	return ret;
}

const struct kv_test kv_dead_tests[] = {
	{ "dead", kv_test_dead },
	{ }
};
