// SPDX-License-Identifier: GPL-2.0-only
/*
 * RCU's boot, continued on a stock kernel from when this module is loaded until
 * user space has booted, a delay is over, or the module is unloaded.
 */
#define pr_fmt(fmt) "rcu_boot_end: " fmt

#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcu_boot_end.h>
#include <linux/user_booted.h>

/* Linux 6.2 has lazy callbacks, but RCU came to hurry them in 6.3. */
#ifdef HAVE_RCU_ASYNC_HURRY
#define HURRIES_CALLBACKS IS_ENABLED(CONFIG_RCU_LAZY)
#else
#define HURRIES_CALLBACKS false
#endif

static void rcu_boot_end_unload(void)
{
	user_booted_exit();
	rcu_boot_end_exit();
}

static int __init rcu_boot_end_load(void)
{
	int ret;

	ret = user_booted_init();
	if (ret)
		return ret;

	ret = rcu_boot_end_init();
	if (ret) {
		rcu_boot_end_unload();
		return ret;
	}
	if (!HURRIES_CALLBACKS)
		pr_info("This kernel has no lazy callbacks, or no way to hurry them: only grace periods are expedited.\n");
	rcu_start_user_boot();
	return 0;
}

module_init(rcu_boot_end_load);
module_exit(rcu_boot_end_unload);
MODULE_DESCRIPTION("Keeps RCU in the mode of boot until user space has booted");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
