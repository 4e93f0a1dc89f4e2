/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* The RCU knobs that a policy may name: nothing else in the file system can ever be written. */
typedef enum Knob {
        KNOB_EXPEDITED,
        KNOB_NORMAL,
        KNOB_WAKE_FROM_GP,
        KNOB_BOOT_END_DELAY,
        KNOB_USER_BOOTED,
        _KNOB_MAX,
} Knob;

#define FOREACH_KNOB(k) for (Knob k = 0; k < _KNOB_MAX; k++)

#define KNOB_PATHS_MAX 3

/* The two times at which knobs are written. */
typedef enum KnobStage {
        KNOB_STAGE_DURING,
        KNOB_STAGE_AFTER,
        _KNOB_STAGE_MAX,
} KnobStage;

typedef struct KnobInfo {
        const char *name;                  /* as policies spell it */
        const char *paths[KNOB_PATHS_MAX]; /* candidates below the root, tried in order; NULL ends them early
                                            */
        int64_t min[_KNOB_STAGE_MAX];      /* smallest number allowed in [During] and in [After] */
        int64_t max[_KNOB_STAGE_MAX]; /* largest; below min where the knob is not allowed in that section */
        bool restorable;     /* "restore" makes sense: reading tells what writing would bring back */
        bool may_come;       /* a module may bring it at any time */
        bool reads_back;     /* reading gives what was written; the delay and user_booted need not */
        const char *unit;    /* "ms", or NULL */
        const char *meaning; /* half a sentence, for `rcu-bootctl knobs` */
} KnobInfo;

/* What a policy says of a knob in one section. */
typedef enum KnobAction {
        KNOB_ACTION_NONE,     /* not named */
        KNOB_ACTION_VALUE,    /* this number */
        KNOB_ACTION_KEEP,     /* leave it as it is ([After]) */
        KNOB_ACTION_RESTORE,  /* the value from before anyone expedited ([After]) */
        KNOB_ACTION_DEADLINE, /* the policy's deadline in ms (rcu_boot_end_delay in [During]) */
        _KNOB_ACTION_MAX,
} KnobAction;

typedef struct KnobSetting {
        KnobAction action;
        int64_t value; /* for KNOB_ACTION_VALUE */
} KnobSetting;

/* How RCU behaves, whichever knobs made it so. rcu_normal beats rcu_expedited (kernel/rcu/tree_exp.h:
 * synchronize_rcu_expedited() begins with `if (rcu_gp_is_normal())`). */
typedef enum RcuMode {
        RCU_MODE_UNKNOWN,   /* neither knob can be read */
        RCU_MODE_DEFAULT,   /* neither is set: each caller gets what it asks for */
        RCU_MODE_EXPEDITED, /* every grace period is expedited */
        RCU_MODE_NORMAL,    /* no grace period is expedited */
        _RCU_MODE_MAX,
} RcuMode;

const KnobInfo *knob_info(Knob knob) _const_;

/* -EINVAL for a name that is no knob's. */
int knob_from_string(const char *name, Knob *ret);

/* The order in which knobs must be written in a stage: entry i of the order, 0 <= i < _KNOB_MAX. To
 * expedite, rcu_expedited before rcu_normal; to end, rcu_normal first, so that no moment in between is
 * slower or more intrusive than both sides. user_booted is told when all that it tells of is done; only the
 * delay follows, since the kernel takes whichever of the two is written first for what ended its own boot
 * (rcu_boot_ended_by). */
Knob knob_order(KnobStage stage, size_t i) _const_;

/* Parses a policy's value for the knob in a stage: a plain decimal number in range (no blank, no '+', no
 * leading zero, which would make it octal to the kernel), `keep`, `restore`,
 * `deadline`. -EINVAL: no such form; -ERANGE: a number out of range; -EOPNOTSUPP: the form or the knob has
 * no place in this section. Nothing else is let through, because the kernel would say EINVAL only at the
 * moment that matters. */
int knob_parse_setting(Knob knob, KnobStage stage, const char *value, KnobSetting *ret);

/* "1", "keep", "deadline", ...; an empty string for KNOB_ACTION_NONE. buf must hold 24 bytes; returns buf or
 * a constant. */
const char *knob_setting_to_string(const KnobSetting *s, char *buf, size_t size);

/* Parses what a knob's file says: an integer as the kernel prints it, one final newline allowed. -EINVAL. */
int knob_parse_reading(const char *text, int64_t *ret);

/* Whether nothing is amiss although the write failed (error: negative errno): a kernel whose own boot has
 * ended already says EBUSY to a delay of 0, whatever ended it; user_booted as a rule, which was written just
 * before. */
bool knob_error_is_benign(Knob knob, KnobStage stage, int error) _const_;

#define KNOB_DEFAULT_UNKNOWN INT64_C(-1)

/* What the kernel would have set by itself: the value that `restore` means where something else had
 * expedited before the daemon came. cmdline: the kernel's command line; realtime: a PREEMPT_RT kernel, where
 * rcu_normal_after_boot is the default (kernel/rcu/update.c). Of the command line counts what is meant to
 * last: rcupdate.rcu_normal=, rcupdate.rcu_normal_after_boot=, rcutree.rcu_normal_wake_from_gp=; but not
 * rcupdate.rcu_expedited=, which is there to expedite boot. KNOB_DEFAULT_UNKNOWN for rcu_normal_wake_from_gp
 * where the command line does not say: newer kernels choose by the number of CPUs (rcu_init(),
 * kernel/rcu/tree.c). */
int64_t knob_kernel_default(Knob knob, const char *cmdline, bool realtime);

/* The number that `restore` writes, 0 or 1: what was found at the start, unless that already was what
 * [During] asks for (then something earlier in boot had set it) or is negative (then nobody has decided):
 * the kernel's default, if that is known. Any number but 0 counts as 1, as it does to the kernel. */
int64_t knob_restore_value(const KnobSetting *during, int64_t found, int64_t kernel_default);

/* Readings that are missing (knob absent or unreadable) are passed as NULL. */
RcuMode rcu_mode_from_readings(const int64_t *expedited, const int64_t *normal);
const char *rcu_mode_to_string(RcuMode mode) _const_;
int rcu_mode_from_string(const char *s, RcuMode *ret);
/* The mode and its cause in words, for people. */
const char *rcu_mode_to_sentence(RcuMode mode, bool expedited_too) _const_;
