// SPDX-License-Identifier: GPL-2.0-only
/*
 * User space tells the kernel that it has booted.
 *
 * The kernel knows when it starts init, but not when the system is ready for
 * what it is there for: that is user space's to say, by writing 1 to the
 * sysctl kernel.user_booted. Subsystems that do things differently during boot
 * learn of it from a notifier chain.
 *
 * An init that does not know the sysctl would leave them waiting. Hence the
 * boot parameter user_booted_reported=1, by which the administrator promises
 * that the report will come.
 */
#define pr_fmt(fmt) "user_booted: " fmt

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kmemleak.h>
#include <linux/kstrtox.h>
#include <linux/lockdep.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/user_booted.h>
#include <linux/wait.h>

static bool user_booted_reported __ro_after_init;
#ifdef RCU_BOOT_END_MODULE
module_param(user_booted_reported, bool, 0444);
MODULE_PARM_DESC(user_booted_reported, "user space will write 1 to kernel.user_booted");
#else
core_param(user_booted_reported, user_booted_reported, bool, 0444);
#endif

static BLOCKING_NOTIFIER_HEAD(user_booted_chain);

/* Who writes 1 while another writer's 1 is told around waits until it is. */
static DEFINE_MUTEX(user_booted_lock);
static bool user_booted_flag;

static struct ctl_table_header *user_booted_header;

/*
 * Never freed: who sleeps in poll(2), or waits by epoll(7), is on the wait queue
 * for as long as that takes, also when a module that brought the sysctl is
 * gone. So what lockdep knows the queue's lock by must not be a module's either.
 */
struct user_booted_poll {
	struct ctl_table_poll table;
	struct lock_class_key key;
	char name[sizeof("user_booted")];
};

bool user_booted(void)
{
	return READ_ONCE(user_booted_flag);
}
EXPORT_SYMBOL_GPL(user_booted);

bool user_booted_promised(void)
{
	return user_booted_reported;
}
EXPORT_SYMBOL_GPL(user_booted_promised);

int user_booted_register_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&user_booted_chain, nb);
}
EXPORT_SYMBOL_GPL(user_booted_register_notifier);

int user_booted_unregister_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_unregister(&user_booted_chain, nb);
}
EXPORT_SYMBOL_GPL(user_booted_unregister_notifier);

/* What proc_sys_poll_notify() does, which is not exported to modules. */
static void user_booted_wake_pollers(struct ctl_table_poll *poll)
{
	atomic_inc(&poll->event);
	wake_up_interruptible(&poll->wait);
}

static void user_booted_report(struct ctl_table_poll *poll)
{
	mutex_lock(&user_booted_lock);
	if (!user_booted_flag) {
		WRITE_ONCE(user_booted_flag, true);
		pr_info("user space has booted\n");
		blocking_notifier_call_chain(&user_booted_chain, 0, NULL);
		user_booted_wake_pollers(poll);
	}
	mutex_unlock(&user_booted_lock);
}

static int user_booted_write(struct ctl_table_poll *poll, const char *text)
{
	unsigned int value;

	/* Not proc_douintvec(), which takes "1 0" for 1. */
	if (kstrtouint(text, 10, &value) || value > 1)
		return -EINVAL;
	if (value)
		user_booted_report(poll);
	else if (user_booted())
		return -EINVAL;
	return 0;
}

static int user_booted_sysctl(const struct ctl_table *table, int write,
			      void *buffer, size_t *lenp, loff_t *ppos)
{
	unsigned int value = user_booted();
	struct ctl_table show = { .data = &value, .maxlen = sizeof(value) };
	int ret;

	if (!write)
		return proc_douintvec(&show, 0, buffer, lenp, ppos);

	if (*ppos)
		return -EINVAL;
	ret = user_booted_write(table->poll, buffer);
	if (!ret)
		*ppos += *lenp;
	return ret;
}

static struct ctl_table user_booted_table[] = {
	{
		.procname	= "user_booted",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= user_booted_sysctl,
	},
};

#ifndef RCU_BOOT_END_MODULE
static
#endif
int __init user_booted_init(void)
{
	struct user_booted_poll *poll;

	poll = kzalloc(sizeof(*poll), GFP_KERNEL);
	if (!poll)
		return -ENOMEM;
	strscpy(poll->name, "user_booted", sizeof(poll->name));
	lockdep_register_key(&poll->key);
	__init_waitqueue_head(&poll->table.wait, poll->name, &poll->key);

	user_booted_table[0].poll = &poll->table;
	user_booted_header = register_sysctl("kernel", user_booted_table);
	if (!user_booted_header) {
		lockdep_unregister_key(&poll->key);
		kfree(poll);
		return -ENOMEM;
	}
	kmemleak_not_leak(poll);
	return 0;
}

#ifdef RCU_BOOT_END_MODULE
void user_booted_exit(void)
{
	struct ctl_table_poll *poll = user_booted_table[0].poll;

	unregister_sysctl_table(user_booted_header);
	/* They look again, and see EPOLLERR | EPOLLHUP. */
	user_booted_wake_pollers(poll);
}
#else
fs_initcall(user_booted_init);
#endif
