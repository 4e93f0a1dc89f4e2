// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of RCU's boot: not when init starts, but when user space has booted.
 *
 * Until boot has ended, grace periods are expedited and callbacks are not
 * lazy. What ends it, whichever comes first:
 *
 *  - user space's report, kernel.user_booted=1;
 *  - rcu_boot_end_delay milliseconds since the kernel started, the fallback
 *    where user_booted_reported=1 promised a report;
 *  - a write of 0, or of a number that is past, to rcu_boot_end_delay.
 *
 * Built in, this continues the boot that RCU starts with. As a module, it
 * brings boot's mode back, from when it is loaded.
 */
#define pr_fmt(fmt) "rcu: " fmt

#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/rcu_boot_end.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/user_booted.h>
#include <linux/workqueue.h>

#include "rcu.h"

/* The range of CONFIG_RCU_BOOT_END_DELAY, and the fallback where the delay is 0. */
#define BOOT_END_DELAY_MAX_MS		120000
#define BOOT_END_FALLBACK_MS		120000

enum boot_end_cause {
	BOOT_END_NONE,
	BOOT_END_USER_BOOTED,
	BOOT_END_DELAY,
	BOOT_END_FALLBACK,
	BOOT_END_UNLOAD,
};

static const char * const boot_end_cause_names[] = {
	[BOOT_END_NONE]		= "none",
	[BOOT_END_USER_BOOTED]	= "user_booted",
	[BOOT_END_DELAY]	= "delay",
	[BOOT_END_FALLBACK]	= "fallback",
	[BOOT_END_UNLOAD]	= "unload",
};

/* Protects all below. Not taken by the timer, so that it can be cancelled. */
static DEFINE_MUTEX(boot_end_lock);
static unsigned int boot_end_delay_ms = CONFIG_RCU_BOOT_END_DELAY;
static bool boot_end_started;
static enum boot_end_cause boot_ended_by;
static u64 boot_end_ms;
static struct hrtimer boot_end_timer;

#ifdef RCU_BOOT_END_MODULE
/* The kernel's own boot ended before init: go back to its mode. */
static void boot_end_hold(void)
{
	rcu_expedite_gp();
	rcu_async_hurry();
}

static void boot_end_release(void)
{
	rcu_async_relax();
	rcu_unexpedite_gp();
}
#else
/* RCU has been in boot's mode since the kernel started. */
static void boot_end_hold(void)
{
}

static void boot_end_release(void)
{
	rcu_end_inkernel_boot();
}
#endif

static bool boot_end_is_due(void)
{
	return ktime_compare(ktime_get_boottime(), ms_to_ktime(boot_end_delay_ms)) >= 0;
}

static void boot_end(enum boot_end_cause cause)
{
	lockdep_assert_held(&boot_end_lock);

	hrtimer_cancel(&boot_end_timer);
	boot_end_release();
	boot_end_ms = ktime_to_ms(ktime_get_boottime());
	boot_ended_by = cause;
}

/*
 * CLOCK_BOOTTIME goes on in suspend, and cannot be set: a timer that becomes due
 * in suspend fires on resume at the latest, and no jump of the wall clock
 * touches it.
 */
static bool boot_end_arm(void)
{
	lockdep_assert_held(&boot_end_lock);

	if (boot_end_is_due()) {
		boot_end(BOOT_END_DELAY);
		return true;
	}
	hrtimer_start(&boot_end_timer, ms_to_ktime(boot_end_delay_ms), HRTIMER_MODE_ABS);
	return false;
}

static ssize_t rcu_boot_ended_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	bool ended;

	mutex_lock(&boot_end_lock);
	ended = boot_ended_by != BOOT_END_NONE;
	mutex_unlock(&boot_end_lock);
	return sysfs_emit(buf, "%d\n", ended);
}

static ssize_t rcu_boot_ended_by_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	enum boot_end_cause cause;

	mutex_lock(&boot_end_lock);
	cause = boot_ended_by;
	mutex_unlock(&boot_end_lock);
	return sysfs_emit(buf, "%s\n", boot_end_cause_names[cause]);
}

static ssize_t rcu_boot_ended_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u64 ms;

	mutex_lock(&boot_end_lock);
	ms = boot_end_ms;
	mutex_unlock(&boot_end_lock);
	return sysfs_emit(buf, "%llu\n", ms);
}

static struct kobj_attribute rcu_boot_ended_attr = __ATTR_RO(rcu_boot_ended);
static struct kobj_attribute rcu_boot_ended_by_attr = __ATTR_RO(rcu_boot_ended_by);
static struct kobj_attribute rcu_boot_ended_ms_attr = __ATTR_RO(rcu_boot_ended_ms);

static const struct attribute * const boot_end_attrs[] = {
	&rcu_boot_ended_attr.attr,
	&rcu_boot_ended_by_attr.attr,
	&rcu_boot_ended_ms_attr.attr,
	NULL
};

/* Without the lock: what it tells does not change any more. */
static void boot_end_announce(void)
{
	const struct attribute * const *attr;

	if (boot_ended_by == BOOT_END_FALLBACK)
		pr_warn("Boot ended by the fallback, %llu ms after the kernel started: user_booted_reported=1 promised a report, and none came in time. Have user space write 1 to /proc/sys/kernel/user_booted when it has booted, give it longer (rcu_boot_end_delay), or boot without user_booted_reported.\n",
			boot_end_ms);
	else
		pr_info("Boot ended by %s, %llu ms after the kernel started.\n",
			boot_end_cause_names[boot_ended_by], boot_end_ms);

	for (attr = boot_end_attrs; *attr; attr++)
		sysfs_notify(kernel_kobj, NULL, (*attr)->name);
}

static void boot_end_work_fn(struct work_struct *work)
{
	bool ended = false;

	mutex_lock(&boot_end_lock);
	/* Somebody may have ended boot, or put it off, since the timer fired. */
	if (boot_ended_by == BOOT_END_NONE && boot_end_is_due()) {
		boot_end(user_booted_promised() ? BOOT_END_FALLBACK : BOOT_END_DELAY);
		ended = true;
	}
	mutex_unlock(&boot_end_lock);
	if (ended)
		boot_end_announce();
}

static DECLARE_WORK(boot_end_work, boot_end_work_fn);

/* In interrupt context, where one can neither take the lock nor tell anybody. */
static enum hrtimer_restart boot_end_timer_fn(struct hrtimer *timer)
{
	schedule_work(&boot_end_work);
	return HRTIMER_NORESTART;
}

static int boot_end_user_booted(struct notifier_block *nb, unsigned long event, void *data)
{
	bool ended = false;

	mutex_lock(&boot_end_lock);
	/* Before the start, the report is kept: rcu_start_user_boot() asks for it. */
	if (boot_end_started && boot_ended_by == BOOT_END_NONE) {
		boot_end(BOOT_END_USER_BOOTED);
		ended = true;
	}
	mutex_unlock(&boot_end_lock);
	if (ended)
		boot_end_announce();
	return NOTIFY_OK;
}

static struct notifier_block boot_end_nb = {
	.notifier_call = boot_end_user_booted,
};

void rcu_start_user_boot(void)
{
	bool ended = true;

	mutex_lock(&boot_end_lock);
	hrtimer_init(&boot_end_timer, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	boot_end_timer.function = boot_end_timer_fn;
	boot_end_hold();
	boot_end_started = true;
	if (!boot_end_delay_ms && user_booted_promised())
		boot_end_delay_ms = BOOT_END_FALLBACK_MS;
	if (user_booted())
		boot_end(BOOT_END_USER_BOOTED);
	else
		ended = boot_end_arm();	/* nobody could report so far: no broken promise */
	mutex_unlock(&boot_end_lock);
	if (ended)
		boot_end_announce();
}

/* Decimal only: a leading zero would make "010000" an octal 4096. */
static int boot_end_delay_parse(const char *text, unsigned int *ms)
{
	unsigned int value;

	if (kstrtouint(text, 10, &value) || value > BOOT_END_DELAY_MAX_MS)
		return -EINVAL;
	*ms = value;
	return 0;
}

/* Also called for the boot parameter, before anything else here has run. */
static int boot_end_delay_set(const char *text, const struct kernel_param *kp)
{
	bool ended = false;
	unsigned int ms;
	int ret;

	ret = boot_end_delay_parse(text, &ms);
	if (ret)
		return ret;

	mutex_lock(&boot_end_lock);
	if (boot_ended_by != BOOT_END_NONE) {
		ret = -EBUSY;
	} else {
		boot_end_delay_ms = ms;
		if (boot_end_started)
			ended = boot_end_arm();
	}
	mutex_unlock(&boot_end_lock);
	if (ended)
		boot_end_announce();
	return ret;
}

/* 0 once boot has ended, so that no number promises an end that has been. */
static int boot_end_delay_get(char *buf, const struct kernel_param *kp)
{
	unsigned int ms;

	mutex_lock(&boot_end_lock);
	ms = boot_ended_by == BOOT_END_NONE ? boot_end_delay_ms : 0;
	mutex_unlock(&boot_end_lock);
	return sysfs_emit(buf, "%u\n", ms);
}

static const struct kernel_param_ops boot_end_delay_ops = {
	.set = boot_end_delay_set,
	.get = boot_end_delay_get,
};

#ifndef RCU_BOOT_END_MODULE
#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "rcupdate."
#endif
module_param_cb(rcu_boot_end_delay, &boot_end_delay_ops, NULL, 0644);
MODULE_PARM_DESC(rcu_boot_end_delay, "ms since the kernel started at which boot ends at the latest");

#ifndef RCU_BOOT_END_MODULE
static
#endif
int __init rcu_boot_end_init(void)
{
	int ret;

	ret = user_booted_register_notifier(&boot_end_nb);
	if (ret)
		return ret;
	/* Built in, a report ends boot also where nobody can read that it did. */
	return sysfs_create_files(kernel_kobj, boot_end_attrs);
}

#ifdef RCU_BOOT_END_MODULE
/*
 * Also after an init that failed. The parameter's node goes after this: a write
 * that comes then finds that boot has ended.
 */
void rcu_boot_end_exit(void)
{
	bool ended = false;

	user_booted_unregister_notifier(&boot_end_nb);
	mutex_lock(&boot_end_lock);
	if (boot_end_started && boot_ended_by == BOOT_END_NONE) {
		boot_end(BOOT_END_UNLOAD);
		ended = true;
	}
	mutex_unlock(&boot_end_lock);
	if (ended)
		boot_end_announce();
	cancel_work_sync(&boot_end_work);
	sysfs_remove_files(kernel_kobj, boot_end_attrs);
}
#else
late_initcall(rcu_boot_end_init);
#endif
