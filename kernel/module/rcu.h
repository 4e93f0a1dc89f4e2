/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module needs of kernel/rcu/rcu.h: RCU exports these to modules, but
 * declares them in that header of its own only.
 */
#ifndef RCU_BOOT_END_RCU_H
#define RCU_BOOT_END_RCU_H

void rcu_expedite_gp(void);
void rcu_unexpedite_gp(void);

#ifdef HAVE_RCU_ASYNC_HURRY
void rcu_async_hurry(void);
void rcu_async_relax(void);
#else
/* Such a kernel has no boot in which callbacks are in a hurry. */
static inline void rcu_async_hurry(void)
{
}

static inline void rcu_async_relax(void)
{
}
#endif

/* The default of the Kconfig option. */
#define CONFIG_RCU_BOOT_END_DELAY 15000

#endif /* RCU_BOOT_END_RCU_H */
