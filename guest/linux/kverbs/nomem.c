// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes one call of a kernel function fail, for tests of drivers: the call of "symbol"
 * by a process named "comm", after "skip" others, returns "value" and does nothing.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static char *symbol = "dma_alloc_attrs";
module_param(symbol, charp, 0444);

static char *comm = "ethtool";
module_param(comm, charp, 0444);

static int skip;
module_param(skip, int, 0444);

static long value;
module_param(value, long, 0444);

static bool failed;
module_param(failed, bool, 0444);
MODULE_PARM_DESC(failed, "the call has come");

/* Runs in place of the function, and returns to its caller. */
static noinline notrace long nomem_instead(void)
{
	return value;
}

static int nomem_before(struct kprobe *p, struct pt_regs *regs)
{
	if (failed || strcmp(current->comm, comm) || skip-- > 0)
		return 0;
	failed = true;
	instruction_pointer_set(regs, (unsigned long)nomem_instead);
	return 1;
}

/* A probe with a post handler is never optimized to a jump, which cannot skip. */
static void nomem_after(struct kprobe *p, struct pt_regs *regs,
			unsigned long flags)
{
}

static struct kprobe nomem_probe = {
	.pre_handler = nomem_before,
	.post_handler = nomem_after,
};

static int __init nomem_init(void)
{
	nomem_probe.symbol_name = symbol;
	return register_kprobe(&nomem_probe);
}

static void __exit nomem_exit(void)
{
	unregister_kprobe(&nomem_probe);
}

module_init(nomem_init);
module_exit(nomem_exit);
MODULE_DESCRIPTION("one call of a kernel function fails");
MODULE_LICENSE("GPL");
