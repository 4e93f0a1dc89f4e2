/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <systemd/sd-event.h>

/* The directory /run/rcu-bootd/milestones/: an entry's name, whatever the entry is, is a milestone. */

typedef struct MilestoneDir MilestoneDir;
typedef void (*milestone_dir_handler_t)(void *userdata, const char *name);

/* Creates and watches it. Negative errno. */
int milestone_dir_open(int root_fd,
                sd_event *event,
                milestone_dir_handler_t handler,
                void *userdata,
                MilestoneDir **ret);
MilestoneDir *milestone_dir_free(MilestoneDir *d);
DEFINE_TRIVIAL_CLEANUP_FUNC(MilestoneDir *, milestone_dir_free);

/* Reports every entry there is now: to be called once after opening (watch first, then look, so that nothing
 * falls between); done again by itself when the kernel's queue of events overflowed, and the directory is
 * made again when someone removed it. */
int milestone_dir_scan(MilestoneDir *d);
