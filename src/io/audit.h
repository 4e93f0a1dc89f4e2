/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"

#include <sys/types.h>

/* The audit trail: each transition one structured entry in the journal; where there is no journal, one line
 * in the kernel's log. */

typedef struct Audit Audit;

/* foreground: also one line each on standard error. Where root_fd is not the running machine's root, nothing
 * goes to the journal. -ENOMEM. */
int audit_open(int root_fd, bool foreground, Audit **ret);
Audit *audit_free(Audit *a);
DEFINE_TRIVIAL_CLEANUP_FUNC(Audit *, audit_free);

/* An entry that the machine asked for. jobs: pending jobs, for BOOT_AUDIT_DEADLINE (may be NULL). */
void audit_transition(
                Audit *a, const BootRecord *record, const BootAction *action, usec_t now, char *const *jobs);

/* A policy file that was skipped, with its faults. */
void audit_policy_rejected(Audit *a, const char *path, char *const *errors);

/* A message that was refused: what it asked, and why not. suppressed: others since the last entry, of which
 * only the number is told (inbox.h limits them). */
void audit_refused(Audit *a, const char *what, pid_t pid, uid_t uid, unsigned suppressed);

void audit_device_uninitialized(Audit *a, const char *milestone, const char *syspath);

/* Anything else worth a line: priority as syslog(3). */
void audit_log(Audit *a, int priority, const char *format, ...) _printf_(3, 4);
