// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs its tests when the module is loaded: all that one processor can run; with
 * "smp" those that need two; with "dead" those that the device does not survive.
 * Prints "kverbs: ok NAME" or "kverbs: not ok NAME" for each, after the reason of a
 * failure, and "kverbs: done" at the end.
 */
#include <linux/module.h>
#include "kverbs.h"

static char *device = "ernic0";
module_param(device, charp, 0444);

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the one test to run");

static bool smp;
module_param(smp, bool, 0444);
MODULE_PARM_DESC(smp, "run the tests that need two processors");

static bool dead;
module_param(dead, bool, 0444);
MODULE_PARM_DESC(dead, "run the tests of a device that fails");

static void kv_run(struct kv_env *env, const struct kv_test *test)
{
	int ret;

	for (; test->name; test++) {
		if (only && strcmp(only, test->name))
			continue;
		ret = test->run(env);
		pr_info("kverbs: %s %s\n", ret ? "not ok" : "ok", test->name);
	}
}

static int __init kv_init(void)
{
	struct kv_env env;
	struct ib_device *dev;
	int ret;

	dev = ib_device_get_by_name(device, RDMA_DRIVER_UNKNOWN);
	if (!dev)
		return -ENODEV;
	ret = kv_env_init(&env, dev);
	if (!ret) {
		if (dead) {
			kv_run(&env, kv_dead_tests);
		} else if (smp) {
			kv_run(&env, kv_smp_tests);
		} else {
			kv_run(&env, kv_msg_tests);
			kv_run(&env, kv_mem_tests);
			kv_run(&env, kv_life_tests);
		}
		kv_env_fini(&env);
		pr_info("kverbs: done\n");
	}
	ib_device_put(dev);
	return ret;
}

static void __exit kv_exit(void)
{
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("tests of kernel verbs");
MODULE_LICENSE("GPL");
