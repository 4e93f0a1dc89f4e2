/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Owns the event loop and every edge; turns what they tell into events for the machine, and the machine's
 * actions into effects. The only file that knows both sides. */

typedef struct ManagerOptions {
        const char *root;        /* "/" unless --root= */
        const char *policy_path; /* --policy=: this file, whatever matches; NULL otherwise */
        bool foreground_log;
        bool post_stop; /* only make sure that boot ends if no daemon will see to it any more */
} ManagerOptions;

/* Runs until boot has ended. Blocks SIGTERM, SIGINT, SIGHUP and SIGPIPE in this thread, for good. 0, or a
 * negative errno that has been logged. */
int manager_run(const ManagerOptions *options);
