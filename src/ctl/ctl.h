/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* What every verb of rcu-bootctl gets, and what it returns. */

/* Exit codes, documented in rcu-bootctl(1). */
enum {
        CTL_DONE = 0,
        CTL_FAILED = 1,
        CTL_USAGE = 2,
        CTL_NOT_ENDED = 3,
};

typedef struct Ctl {
        const char *root; /* --root=, "/" otherwise */
        int root_fd;
        bool json;
        bool no_pager;
        /* options of single verbs; NULL or false unless given */
        const char *reason;  /* end --reason=TEXT */
        const char *timeout; /* wait --timeout=SEC */
        const char *boot;    /* log --boot=ID */
        bool follow;         /* log -f */
} Ctl;

/* Verbs: argv[0] is the verb itself. They have printed their errors; they return an exit code. */
int ctl_verb_status(const Ctl *ctl, int argc, char **argv);
int ctl_verb_end(const Ctl *ctl, int argc, char **argv);
int ctl_verb_extend(const Ctl *ctl, int argc, char **argv);
int ctl_verb_milestone(const Ctl *ctl, int argc, char **argv);
int ctl_verb_wait(const Ctl *ctl, int argc, char **argv);
int ctl_verb_policy(const Ctl *ctl, int argc, char **argv);
int ctl_verb_log(const Ctl *ctl, int argc, char **argv);
int ctl_verb_knobs(const Ctl *ctl, int argc, char **argv);

/* The verbs of `policy`. */
int ctl_policy_list(const Ctl *ctl, int argc, char **argv);
int ctl_policy_show(const Ctl *ctl, int argc, char **argv);
int ctl_policy_check(const Ctl *ctl, int argc, char **argv);
int ctl_policy_explain(const Ctl *ctl, int argc, char **argv);
