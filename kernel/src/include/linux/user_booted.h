/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_USER_BOOTED_H
#define _LINUX_USER_BOOTED_H

#include <linux/types.h>

struct notifier_block;

#ifdef CONFIG_USER_BOOTED
/**
 * user_booted() - has user space reported that it has booted?
 *
 * Once true, it stays true.
 */
bool user_booted(void);

/**
 * user_booted_promised() - was user_booted_reported=1 given, so that a report can be waited for?
 *
 * A promise, not a guarantee: who waits needs a fallback.
 */
bool user_booted_promised(void);

/**
 * user_booted_register_notifier() - learn of the report when it comes
 * @nb: called once, with no event and no data, in process context; it may
 *	sleep, but not (un)register on this chain. The write that reports
 *	returns after all have been called.
 *
 * A report that came before is not told again: ask user_booted() afterwards,
 * and be ready to see both.
 *
 * Return: 0, or -EEXIST if @nb is registered already.
 */
int user_booted_register_notifier(struct notifier_block *nb);

/**
 * user_booted_unregister_notifier() - learn of it no more
 * @nb: what was registered; it is not running any more on return
 *
 * Return: 0, or -ENOENT if @nb was not registered.
 */
int user_booted_unregister_notifier(struct notifier_block *nb);

#else
static inline bool user_booted(void)
{
	return false;
}

static inline bool user_booted_promised(void)
{
	return false;
}

static inline int user_booted_register_notifier(struct notifier_block *nb)
{
	return 0;
}

static inline int user_booted_unregister_notifier(struct notifier_block *nb)
{
	return 0;
}
#endif

#endif /* _LINUX_USER_BOOTED_H */
