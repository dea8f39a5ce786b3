// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handlers of events on two processors, destruction beside them and before them.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "kverbs.h"

#define KV_MEET_MS	5000	/* a handler that waits for another, at most */
#define KV_STAY_MS	200

static atomic_t kv_inside;	/* handlers that run */
static atomic_t kv_met;		/* handlers that ran while another did */
static atomic_t kv_may_leave;	/* set just before the destruction */
static atomic_t kv_left;	/* handlers that have returned */

static bool kv_until(const atomic_t *count, int want, int ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), ms);

	while (atomic_read(count) < want) {
		if (ktime_after(ktime_get(), end))
			return false;
		cpu_relax();
	}
	return true;
}

static void kv_meet(struct kv_end *end)
{
	atomic_inc(&kv_inside);
	if (kv_until(&kv_inside, 2, KV_MEET_MS))
		atomic_inc(&kv_met);
	complete(&end->event);
}

static void kv_stay(struct kv_end *end)
{
	atomic_inc(&kv_inside);
	kv_until(&kv_may_leave, 1, KV_MEET_MS);
	mdelay(KV_STAY_MS);
	atomic_inc(&kv_left);
}

/* Two ends, connected, with a completion vector each. */
static int kv_vectors_init(struct kv_end p[2], struct kv_env *env,
			   void (*handler)(struct kv_end *end))
{
	int i, ret = 0;

	memset(p, 0, 2 * sizeof(*p));
	if (env->dev->num_comp_vectors < 2)
		return -EOPNOTSUPP;
	for (i = 0; i < 2 && !ret; i++) {
		env->vector = i;
		ret = kv_end_init(&p[i], env, IB_QPT_RC, 8, NULL);
		p[i].handler = handler;
	}
	env->vector = 0;
	for (i = 0; i < 2 && !ret; i++)
		ret = kv_connect(&p[i], &p[1 - i]);
	atomic_set(&kv_inside, 0);
	atomic_set(&kv_met, 0);
	atomic_set(&kv_may_leave, 0);
	atomic_set(&kv_left, 0);
	return ret;
}

/* No lock of the driver keeps one handler from running beside the other. */
static int kv_test_beside(struct kv_env *env)
{
	struct kv_end p[2];
	int i, ret = kv_vectors_init(p, env, kv_meet);

	KV_CHECK(!ret);
	for (i = 0; i < 2; i++)
		KV_CHECK(!ib_req_notify_cq(p[i].cq, IB_CQ_NEXT_COMP));
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, IB_SEND_SIGNALED));
	for (i = 0; i < 2; i++)
		KV_CHECK(wait_for_completion_timeout(&p[i].event, KV_LATE));
	KV_CHECK(atomic_read(&kv_met) == 2);
out:
	kv_pair_fini(p);
	return ret;
}

/* Destruction waits for a handler that runs on another processor. */
static int kv_test_destroy_beside(struct kv_env *env)
{
	struct kv_end p[2];
	int ret = kv_vectors_init(p, env, kv_stay);

	/* the handler of the second vector runs on the second processor */
	set_cpus_allowed_ptr(current, cpumask_of(0));
	KV_CHECK(!ret);
	KV_CHECK(!ib_req_notify_cq(p[1].cq, IB_CQ_NEXT_COMP));
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, 0));
	KV_CHECK(kv_until(&kv_inside, 1, KV_MEET_MS));
	KV_CHECK(!atomic_read(&kv_left));
	WARN_ON(ib_destroy_qp(p[1].qp));
	p[1].qp = NULL;
	atomic_set(&kv_may_leave, 1);
	ib_destroy_cq(p[1].cq);
	p[1].cq = NULL;
	KV_CHECK(atomic_read(&kv_left) == 1);
out:
	kv_pair_fini(p);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return ret;
}

/* Keeps interrupts from its processor, but not for ever. */
static int kv_hold(void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	atomic_inc(&kv_inside);
	kv_until(&kv_may_leave, 1, KV_MEET_MS);
	local_irq_restore(flags);
	atomic_inc(&kv_left);
	return 0;
}

static bool kv_hold_second(void)
{
	struct task_struct *task = kthread_create(kv_hold, NULL, "kverbs-hold");

	if (IS_ERR(task))
		return false;
	kthread_bind(task, 1);
	wake_up_process(task);
	return kv_until(&kv_inside, 1, KV_MEET_MS);
}

static void kv_stray(struct ib_cq *cq, void *context)
{
	atomic_inc(context);
}

/* Queues until there are no more numbers; the one of them that is made later. */
struct kv_crowd {
	struct ib_cq **cq;
	u32 num;
	atomic_t events;
};

static int kv_crowd_add(struct kv_crowd *crowd, struct kv_env *env)
{
	struct ib_cq_init_attr attr = { .cqe = 1, .comp_vector = 1 };
	struct ib_cq *cq;

	if (crowd->num == env->dev->attrs.max_cq)
		return -ENOSPC;
	cq = ib_create_cq(env->dev, kv_stray, NULL, &crowd->events, &attr);
	if (!IS_ERR(cq))
		crowd->cq[crowd->num++] = cq;
	return PTR_ERR_OR_ZERO(cq);
}

static int kv_crowd_init(struct kv_crowd *crowd, struct kv_env *env)
{
	int ret;

	crowd->cq = kvcalloc(env->dev->attrs.max_cq, sizeof(*crowd->cq),
			     GFP_KERNEL);
	do {
		ret = crowd->cq ? kv_crowd_add(crowd, env) : -EINVAL;
	} while (!ret);
	return ret == -ENOMEM ? 0 : ret;
}

static void kv_crowd_fini(struct kv_crowd *crowd)
{
	while (crowd->num)
		ib_destroy_cq(crowd->cq[--crowd->num]);
	kvfree(crowd->cq);
}

/* An event that is handled late does not reach the next queue of the same number. */
static int kv_test_late_event(struct kv_env *env)
{
	struct kv_crowd crowd = {};
	struct kv_end p[2];
	int ret = kv_vectors_init(p, env, NULL);

	/* the second vector is that of the second processor */
	set_cpus_allowed_ptr(current, cpumask_of(0));
	KV_CHECK(!ret);
	KV_CHECK(!kv_crowd_init(&crowd, env));
	KV_CHECK(!ib_req_notify_cq(p[1].cq, IB_CQ_NEXT_COMP));
	KV_CHECK(!kv_post_recv(&p[1], 1, 0, 64));
	KV_CHECK(kv_hold_second());
	KV_CHECK(!kv_send(&p[0], 2, 0, 64, 0));
	KV_CHECK(!kv_expect(&p[1], 1, IB_WC_SUCCESS));
	KV_CHECK(!try_wait_for_completion(&p[1].event));
	WARN_ON(ib_destroy_qp(p[1].qp));
	p[1].qp = NULL;
	ib_destroy_cq(p[1].cq);
	p[1].cq = NULL;
	KV_CHECK(!kv_crowd_add(&crowd, env));
	/* in time: no interrupt of the second processor has been handled so far */
	KV_CHECK(!atomic_read(&kv_left));
	atomic_set(&kv_may_leave, 1);
	KV_CHECK(kv_until(&kv_left, 1, KV_MEET_MS));
	KV_CHECK(!atomic_read(&crowd.events));
	KV_CHECK(try_wait_for_completion(&p[1].event));
out:
	atomic_set(&kv_may_leave, 1);
	kv_crowd_fini(&crowd);
	kv_pair_fini(p);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return ret;
}

const struct kv_test kv_smp_tests[] = {
	{ "beside", kv_test_beside },
	{ "destroy_beside", kv_test_destroy_beside },
	{ "late_event", kv_test_late_event },
	{ }
};
