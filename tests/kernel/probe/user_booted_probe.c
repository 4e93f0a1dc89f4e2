// SPDX-License-Identifier: GPL-2.0-only
/* A subsystem that the notifier chain tells: it counts how often. */
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/user_booted.h>

static unsigned int reports;
module_param(reports, uint, 0400);

static int probe_user_booted(struct notifier_block *nb, unsigned long event, void *data)
{
	reports++;
	return NOTIFY_OK;
}

static struct notifier_block probe_nb = { .notifier_call = probe_user_booted };

static int __init probe_init(void)
{
	return user_booted_register_notifier(&probe_nb);
}

static void __exit probe_exit(void)
{
	user_booted_unregister_notifier(&probe_nb);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Counts reports that user space has booted");
MODULE_LICENSE("GPL");
