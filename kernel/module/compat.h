/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets sources that are written for a place in Linux 6.12 build as a module, and
 * for other kernels; included before anything else.
 */
#ifndef RCU_BOOT_END_COMPAT_H
#define RCU_BOOT_END_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/sysctl.h>
#include <linux/version.h>

/* The module is the sources' home, and they are all there. */
#define RCU_BOOT_END_MODULE
#define CONFIG_USER_BOOTED 1
#define CONFIG_RCU_BOOT_END 1

int user_booted_init(void);
void user_booted_exit(void);
int rcu_boot_end_init(void);
void rcu_boot_end_exit(void);

/* 6.11 made the table that a handler gets const. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define user_booted_sysctl(table_, ...) user_booted_sysctl(struct ctl_table *table, __VA_ARGS__)
#endif

/* Before 6.6, an empty entry ended a table, whose size nobody told. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static inline struct ctl_table_header *compat_register_sysctl(const char *path,
							      const struct ctl_table *entry)
{
	static struct ctl_table ended[2];

	ended[0] = *entry;
	return register_sysctl(path, ended);
}

#define register_sysctl compat_register_sysctl
#endif

/* 6.15 has hrtimer_setup() only, which also takes the function. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
static inline enum hrtimer_restart compat_hrtimer_fn(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

#define hrtimer_init(timer, clock, mode) hrtimer_setup(timer, compat_hrtimer_fn, clock, mode)
#endif

/* The sources have their own, and define it before they include anything. */
#undef pr_fmt

#endif /* RCU_BOOT_END_COMPAT_H */
