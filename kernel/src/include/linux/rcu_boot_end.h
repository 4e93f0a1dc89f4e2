/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_RCU_BOOT_END_H
#define _LINUX_RCU_BOOT_END_H

#include <linux/rcupdate.h>

#ifdef CONFIG_RCU_BOOT_END
/**
 * rcu_start_user_boot() - the kernel has booted, user space is about to
 *
 * RCU's boot, in which grace periods are expedited and callbacks hurried, goes
 * on until user space has booted, too, or a delay is over. Call it once.
 */
void rcu_start_user_boot(void);
#else
static inline void rcu_start_user_boot(void)
{
	rcu_end_inkernel_boot();
}
#endif

#endif /* _LINUX_RCU_BOOT_END_H */
