// SPDX-License-Identifier: GPL-2.0-only
/* What tests ask of a kernel: to wait for a grace period, and to post a callback. */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

static struct rcu_head probe_head;
static DECLARE_COMPLETION(probe_called);

static void probe_callback(struct rcu_head *head)
{
	complete(&probe_called);
}

/* Any write waits for a grace period. */
static int probe_sync_set(const char *val, const struct kernel_param *kp)
{
	synchronize_rcu();
	return 0;
}

/* Any write posts a callback, and waits until it has been called. */
static int probe_call_set(const char *val, const struct kernel_param *kp)
{
	reinit_completion(&probe_called);
	call_rcu(&probe_head, probe_callback);
	wait_for_completion(&probe_called);
	return 0;
}

static const struct kernel_param_ops probe_sync_ops = { .set = probe_sync_set };
static const struct kernel_param_ops probe_call_ops = { .set = probe_call_set };

module_param_cb(sync, &probe_sync_ops, NULL, 0200);
module_param_cb(call, &probe_call_ops, NULL, 0200);

/* The callback's code must not go before it has run. */
static void __exit probe_exit(void)
{
	rcu_barrier();
}

static int __init probe_init(void)
{
	return 0;
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Waits for grace periods on demand");
MODULE_LICENSE("GPL");
