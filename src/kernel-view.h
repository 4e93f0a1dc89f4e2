/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-record.h"

#include <errno.h>

/* What the kernel says of its own end of RCU's boot, where it has nodes for that
 * (kernel/src/Documentation/ABI): their texts, taken strictly, and how they go together with what is
 * remembered of our end. */

typedef enum KernelNode {
        KERNEL_NODE_ENDED,    /* 0, or 1 for good */
        KERNEL_NODE_ENDED_BY, /* a word */
        KERNEL_NODE_ENDED_MS, /* milliseconds since the kernel started (CLOCK_BOOTTIME) */
        KERNEL_NODE_PROMISE,  /* Y or N: user_booted_reported= */
        _KERNEL_NODE_MAX,
} KernelNode;

#define KERNEL_NODE_PATHS_MAX 2

/* What ended it. */
typedef enum KernelCause {
        KERNEL_CAUSE_NONE,        /* it has not ended */
        KERNEL_CAUSE_USER_BOOTED, /* the report */
        KERNEL_CAUSE_DELAY,       /* rcu_boot_end_delay ran out, or was set to what is past */
        KERNEL_CAUSE_FALLBACK,    /* it ran out, and the promised report had not come */
        KERNEL_CAUSE_UNLOAD,      /* the module went */
        KERNEL_CAUSE_OTHER,       /* a word that a newer kernel may have */
        _KERNEL_CAUSE_MAX,
} KernelCause;

#define KERNEL_WORD_MAX 32U

typedef struct KernelView {
        const char *path[_KERNEL_NODE_MAX]; /* where it is, below the root; NULL: not in this kernel */
        int error[_KERNEL_NODE_MAX]; /* 0: what the node says is below; -ENOENT: it has not been read */
        bool ended;
        KernelCause by;
        char by_word[KERNEL_WORD_MAX]; /* as the kernel spells it */
        usec_t ended_at;               /* whole milliseconds, rounded down */
        bool promised;
} KernelView;

/* The view of a kernel that has none of the nodes. */
#define KERNEL_VIEW_ABSENT                                          \
        {                                                           \
                .error = { [0 ... _KERNEL_NODE_MAX - 1] = -ENOENT } \
        }

/* How the kernel's end goes together with ours. */
typedef enum KernelVerdict {
        KERNEL_VERDICT_NONE,    /* there is nothing to compare, or it cannot be read */
        KERNEL_VERDICT_AGREES,  /* neither has ended, or both have for the same cause */
        KERNEL_VERDICT_GOES_ON, /* we have ended, the kernel has not */
        KERNEL_VERDICT_EARLIER, /* the kernel had ended when we had not decided to, or have not yet */
        KERNEL_VERDICT_LATER,   /* the kernel ended after we had decided to, but not because of us */
        _KERNEL_VERDICT_MAX,
} KernelVerdict;

/* Whether we told the kernel that boot has ended, by whichever of user_booted and rcu_boot_end_delay. */
typedef enum KernelTold {
        KERNEL_TOLD_YES,
        KERNEL_TOLD_UNASKED, /* the policy has neither in [After] */
        KERNEL_TOLD_ABSENT,  /* it has, but there was no such knob when we ended */
        KERNEL_TOLD_FAILED,  /* the write failed */
} KernelTold;

/* Where the node may be, below the root, in the order in which it is to be tried; NULL ends them early. */
const char *const *kernel_node_paths(KernelNode node) _const_;

/* Puts a node's text into the view: exactly as the kernel prints it, one final newline allowed, and nothing
 * that contradicts what is there already, so KERNEL_NODE_ENDED comes first. -EINVAL, then also in
 * view->error[node]; all else is untouched. */
int kernel_view_take(KernelView *view, KernelNode node, const char *text);

/* Why the node is of no use although it should be: a negative errno; 0 if it is, or need not be there. */
int kernel_view_fault(const KernelView *view, KernelNode node) _pure_;

/* Whether this kernel says anything of its end, and whether all of that can be used. */
bool kernel_view_is_present(const KernelView *view) _pure_;
bool kernel_view_is_usable(const KernelView *view) _pure_;

/* No window of time decides: our writes come after record->since, and the kernel stamps its end while it
 * handles them. Once the record says ENDED, they have been handled: so the view must not be older than the
 * record. */
KernelVerdict kernel_view_judge(const KernelView *view, const BootRecord *record) _pure_;
KernelTold kernel_view_told(const BootRecord *record) _pure_;

/* "agrees", ...; NULL for KERNEL_VERDICT_NONE. */
const char *kernel_verdict_to_string(KernelVerdict verdict) _const_;
